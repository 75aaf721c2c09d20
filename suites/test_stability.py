"""Stability: the same results after a thousand cycles, after memory ran out, and while other work runs."""

from __future__ import annotations

import pytest

from suites.cases import memory
from suites.cases.case import Case
from suites.cases.identifier import parse
from suites.device import DeviceUnderTest
from suites.exercises import lifetime, stability
from suites.exercises.evidence import Evidence
from suites.judge import verify
from suites.requirement import cases, requirement


@requirement("STAB-001")
@cases((memory.LARGE,))
def test_memory_runs_out(case: Case, device: DeviceUnderTest) -> None:
    run = device.exercise(stability.exhausted, case)
    if run.observation.evidence is not None:
        told = Evidence.of(run.observation.evidence)
        if not told.findings and not told.numbers["memory"]["ran_out"]:
            pytest.skip(f"{told.numbers['memory']['bytes']} bytes do not exhaust the device's memory")
    verify(case, run)


@requirement("STAB-002")
@cases(memory.FEW[:2])
def test_cycles_of_compile_run_release(case: Case, device: DeviceUnderTest) -> None:
    verify(case, device.exercise(stability.cycles, case))


@requirement("STAB-003")
@cases((*memory.MIXED, *memory.SQUARE))
def test_repeated_runs(case: Case, device: DeviceUnderTest) -> None:
    verify(case, device.exercise(stability.repeated, case))


@requirement("STAB-004")
@cases(memory.FEW)
def test_two_executables_in_turn(case: Case, device: DeviceUnderTest) -> None:
    other = parse(memory.FEW[1])
    verify(case, device.exercise(stability.interleaved, case, other.model_bytes, *other.feeds.values()))


@requirement("STAB-005")
@cases(memory.FEW)
def test_reloading(case: Case, device: DeviceUnderTest) -> None:
    verify(case, device.exercise(stability.reloaded, case, parse(memory.FEW[1]).model_bytes))


@requirement("STAB-006")
@cases(memory.FEW)
def test_many_executables(case: Case, device: DeviceUnderTest) -> None:
    verify(case, device.exercise(stability.many_alive, case))


@requirement("STAB-007")
@cases(memory.FEW)
def test_threads(case: Case, device: DeviceUnderTest) -> None:
    verify(case, device.exercise(stability.threads, case))


@requirement("STAB-008")
@cases(memory.FEW)
def test_after_release(case: Case, device: DeviceUnderTest) -> None:
    verify(case, device.exercise(lifetime.after_release, case))


@requirement("STAB-009")
@cases(tuple(memory.SAME_PORTS))
def test_models_of_the_same_ports(case: Case, device: DeviceUnderTest) -> None:
    other = parse(memory.SAME_PORTS[case.id])
    verify(case, device.exercise(stability.interleaved, case, other.model_bytes, *other.feeds.values()))
