"""A device that keeps to the interface passes the suites on memory and state; each way not to is found, with its cause."""

from __future__ import annotations

from pathlib import Path

import pytest

from backends.worker import DeviceSession
from results.verdict import Verdict
from suites.cases.identifier import parse
from suites.device import DeviceUnderTest, RunState
from suites.exercises import aliasing, alignment, cost, fences, lifetime, stability, zero_copy
from suites.judge import judge
from tests.suites.toy import FAULTS

TOY = f"{Path(__file__).parent / 'toy.py'}:ToyBackend"
RELU, NEG = "Relu-14.f32.x:2x3x5x7.in:normal", "Neg-13.f32.x:64x64.in:normal"
ADD, SPLIT = "Add-14.f32.a:65.b:65.in:normal", "Split-18.f32.input:6x4.axis:0.num_outputs:2.outputs:2.in:normal"
ROWS, INTEGERS = "Relu-14.f32.x:3x5x7.in:normal", "Neg-13.i32.x:3x5x7.in:uniform"
MANY, FEW = (f"Slice-13.f32.data:{rows}x1024.starts:3.ends:6.axes:0.in:normal" for rows in (1024, 8))
LARGE = "Relu-14.f32.x:1024x1024.in:grid"
OFFSETS = (0, 1, 4, 16, 4095)


def found(how, exercise, case_id, *arguments):
    """Verdict, and causes of what was found, of one exercise on the toy."""
    session = DeviceSession(TOY, options={"how": how} if how else {}, in_process=True)
    try:
        state = RunState(session)
        case = parse(case_id)
        given = [parse(a).model_bytes if isinstance(a, str) and "-1" in a else a for a in arguments]
        run = DeviceUnderTest(state).exercise(exercise, case, *given)
        assert run.observation.ended == "ran", run.observation
        judgement = judge(run, run.observation)
        return judgement.verdict, {line.partition(":")[0] for line in judgement.diagnosis}, judgement
    finally:
        session.close()


SHORT = {"CYCLES": 40, "RUNS": 8, "MODELS": 4}

CHECKS = {
    "stale_input": ("stale-input", zero_copy.mutate_after_bind, RELU, "import"),
    "copied": ("copied", zero_copy.copies, RELU),
    "bind_copies": ("time-hidden-copy", cost.by_size, MANY, FEW),
    "beyond": ("beyond-buffer", alignment.at_offsets, ADD, "outputs", *OFFSETS),
    "before": ("beyond-buffer", zero_copy.bound_output, RELU, "import"),
    "elsewhere": ("output-elsewhere", zero_copy.bound_output, RELU, "allocate"),
    "unwritten_tail": ("not-written", zero_copy.bound_output, RELU, "import"),
    "unwritten": ("stale-output", zero_copy.bound_output, RELU, "allocate"),
    "fence_early": ("fence-early", fences.sufficient, RELU),
    "first_run": ("first-run-differs", stability.repeated, RELU),
    "leak": ("leak", stability.cycles, RELU),
    "handles": ("leak", stability.cycles, RELU),
    "recycled": ("memory-recycled", lifetime.view_outlives, RELU),
    "too_small": ("not-refused", zero_copy.too_small, NEG, "inputs"),
    "type_taken": ("type-taken", zero_copy.other_type, ROWS, INTEGERS),
    "input_overwritten": ("input-overwritten", zero_copy.bound_output, RELU, "import"),
    "view_writable": ("view-writable", lifetime.views, RELU),
    "stale_view": ("view-dead", lifetime.views, RELU),
    "order": ("order-ignored", fences.chain, NEG, 2, 1),
    "alias": ("alias-wrong", aliasing.in_place, NEG, "allocate"),
    "two_outputs": ("alias-wrong", aliasing.one_for_two_outputs, SPLIT),
    "held": ("memory-recycled", zero_copy.held_outputs, RELU),
    "shared_output": ("runs-disturb", zero_copy.held_outputs, RELU),
    "noise": ("runs-differ", stability.repeated, RELU),
    "understated": ("alignment-understated", alignment.at_offsets, ADD, "inputs", *OFFSETS),
    "rounds_address": ("", alignment.at_offsets, ADD, "inputs", *OFFSETS),
    "padding": ("padding-counted", alignment.at_pitches, ROWS, "outputs", 0, 4, 64),
    "memory_error": ("refusal-unclean", stability.exhausted, LARGE),
    "not_given_back": ("leak", stability.exhausted, LARGE),
    "dlpack_copy": ("copied", zero_copy.as_array, RELU, "__dlpack__"),
    "export_copy": ("", zero_copy.export, RELU),
    "stale_map": ("map-lost", zero_copy.mapping, RELU),
    "forgets_buffers": ("", lifetime.owners, RELU, "allocate"),
    "threads": ("runs-disturb", stability.threads, RELU),
    "shared_state": ("", stability.many_alive, RELU),
}
"""Fault → cause ("" where values alone tell), the exercise that finds it, its case and arguments."""


@pytest.fixture(autouse=True)
def _short(monkeypatch):
    for name, value in SHORT.items():
        monkeypatch.setattr(stability, name, value)


@pytest.mark.parametrize("how", CHECKS)
def test_each_fault_is_found_with_its_cause(how):
    cause, exercise, *arguments = CHECKS[how]
    verdict, causes, judgement = found(how, exercise, *arguments)
    assert verdict is Verdict.MISMATCH, judgement
    assert not cause or cause in causes, judgement


@pytest.mark.parametrize("how", {check[1:]: how for how, check in CHECKS.items()}.values())
def test_a_device_without_it_passes(how):
    _, exercise, *arguments = CHECKS[how]
    verdict, causes, judgement = found("", exercise, *arguments)
    assert verdict is Verdict.PASS, judgement
    assert not causes


def test_every_fault_of_the_toy_is_asked_for():
    assert set(CHECKS) == set(FAULTS)
