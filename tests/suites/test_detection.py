"""Every fault of the simulated device is found by a requirement that must find it, and named; the catalogue is as it says."""

from __future__ import annotations

import importlib
from collections import Counter
from typing import get_args

import pytest

from backends.sim import faults, profile
from reference.verify.diagnosis.causes import CAUSES as VALUE_CAUSES
from results.verdict import OUTCOME
from suites import detection
from suites import faults as command
from suites.exercises.causes import CAUSES as MEMORY_CAUSES
from suites.requirement import catalogue as requirements

PUBLIC = {
    "attributes": 0.25,
    "crash": 0.18,
    "memory": 0.13,
    "types": 0.10,
    "special": 0.09,
    "rounding": 0.08,
    "fallback": 0.06,
    "fusion": 0.05,
    "determinism": 0.03,
    "layout": 0.02,
    "latency": 0.02,
}
"""Kind → its share of public reports."""


@pytest.mark.parametrize("name", faults.catalogue())
def test_fault_is_caught_and_named(name):
    result = detection.examine(name, hurry=True)
    assert result.caught, f"none of {result.checks} tests of {', '.join(result.fault.caught_by)} fails"
    assert result.named, f"first diagnoses {dict(result.first)}, right would be {' or '.join(result.fault.causes)}"


def test_every_seed_has_an_entry_and_every_entry_a_seed():
    for part in get_args(faults.Part):
        importlib.import_module(f"backends.sim.faults.{part}")
    assert set(faults.SEEDS) == set(faults.catalogue())


@pytest.mark.parametrize("fault", faults.catalogue().values(), ids=lambda fault: fault.name)
def test_entry_names_what_exists(fault):
    failing = {verdict.value for verdict, row in OUTCOME.items() if row.pytest == "failed"}
    assert set(fault.caught_by) <= set(requirements())
    assert set(fault.causes) <= {*VALUE_CAUSES, *MEMORY_CAUSES, *failing}
    assert fault.causes
    assert fault.device in profile.names()
    assert ("OPS-001" in fault.caught_by) == bool(fault.operators)
    known = {detection.operator_of(check) for check in detection.checks()["OPS-001"]}
    assert set(fault.operators) <= known


def test_there_are_faults_of_every_kind_and_part():
    everything = faults.catalogue().values()
    assert len(everything) >= 120
    kinds, parts = Counter(fault.kind for fault in everything), Counter(fault.part for fault in everything)
    assert set(kinds) == set(faults.KINDS)
    assert set(parts) == set(get_args(faults.Part))
    for kind, share in PUBLIC.items():
        assert kinds[kind] >= share * len(everything) / 2, f"{kinds[kind]} of {len(everything)} faults are of kind {kind}"
    chosen = [fault.name for fault in everything if fault.imitates.startswith("chosen")]
    assert len(chosen) <= 0.15 * len(everything), chosen


def test_checks_pass_on_a_device_without_a_fault(monkeypatch):
    """What is counted as a failure is the fault's doing: its tests pass when it is not seeded."""
    monkeypatch.setattr(faults, "seed", lambda device, name: None)
    for name in ("view-writable", "after-ignored", "outputs-misordered", "cache-ignores-options"):
        result = detection.examine(name)
        assert result.checks
        assert not result.failures, result.failures[0]
        assert not result.caught
        assert not result.named


def test_what_is_named_is_the_most_frequent_first_diagnosis():
    fault = faults.catalogue()["view-writable"]
    right, wrong = (detection.Failure("ZC-020", "", cause, "") for cause in ("view-writable", "leak"))
    elsewhere = detection.Failure("ZC-001", "", "leak", "")
    assert detection.Result(fault, [right, right, wrong, elsewhere, elsewhere], 5, 0.0).named
    assert not detection.Result(fault, [right, wrong], 2, 0.0).named
    other = detection.Result(fault, [elsewhere], 1, 0.0)
    assert not other.caught
    assert other.also_by == Counter({"ZC-001": 1})


def test_list_show_and_unknown_name(capsys):
    assert command.main(["--part", "queue"]) == 0
    listed = capsys.readouterr().out
    assert "after-ignored" in listed
    assert "view-writable" not in listed
    assert command.main(["view-writable"]) == 0
    assert "--fault=view-writable" in capsys.readouterr().out
    assert command.main(["view-writeable"]) == 4
    shown = capsys.readouterr()
    assert "did you mean view-writable" in shown.err
    assert len(shown.err.splitlines()) == 1


def test_score_says_what_was_missed(capsys, monkeypatch, tmp_path):
    fault = faults.catalogue()["view-writable"]
    missed = detection.Result(fault, [], 7, 0.1)
    monkeypatch.setattr(command, "score", lambda names, processes, report: [report(missed) or missed])
    healthy = detection.Health("generic", Counter({"pass": 5}), [])
    monkeypatch.setattr(command, "healthy", lambda processes: [healthy])
    page = tmp_path / "detection.md"
    assert command.main(["view-writable", "--score", "--markdown", str(page)]) == 1
    assert "MISSED" in capsys.readouterr().out
    text = page.read_text(encoding="utf-8")
    assert text.index("Missed, or named otherwise") < text.index("## Faults")
    assert "**missed**" in text
    assert "0 false alarms in 5 tests" in text
