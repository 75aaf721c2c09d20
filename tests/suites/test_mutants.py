"""The mutants of the simulated device: what is changed, what is left out, and what counts as killed."""

from __future__ import annotations

import dataclasses
import os
import signal
import time
from pathlib import Path

import pytest

pytest.importorskip("mutmut", reason="pip install -e .[mutation]")

from benchmarks import mutant_runs
from benchmarks.mutant_runs import OPENING, Healthy, Seen
from benchmarks.mutant_sources import REACHED, Module, Mutant, instrumented

SOURCE = '''"""A module."""

LIMIT = 3


def clipped(value, name):
    """At most the limit."""
    label = name("clipped")
    if value < 0:
        why = f"{value} is negative"
        raise ValueError(why, code="x.negative")
    if value > LIMIT:
        return LIMIT
    return value + 0


class Box:
    @property
    def size(self):
        return 7 * self.edge
'''


def test_changes_are_of_what_runs_and_words_are_none() -> None:
    module = Module("backends.sim.example", SOURCE)
    mutants = [mutant for label in module.mutations if (mutant := module.mutant(label)) is not None]
    assert {(mutant.place[1], mutant.old, mutant.new) for mutant in mutants} == {
        (8, 'label = name("clipped")', "label = None"),
        (9, "if value < 0:", "if value <= 0:"),
        (9, "if value < 0:", "if value < 1:"),
        (11, 'raise ValueError(why, code="x.negative")', 'raise ValueError(code="x.negative")'),
        (12, "if value > LIMIT:", "if value >= LIMIT:"),
        (14, "return value + 0", "return value - 0"),
        (14, "return value + 0", "return value + 1"),
        (20, "return 7 * self.edge", "return 7 / self.edge"),
        (20, "return 7 * self.edge", "return 8 * self.edge"),
    }
    assert {mutant.function for mutant in mutants} == {"clipped", "Box.size"}


def test_marks_tell_what_was_reached() -> None:
    reached: set[tuple[str, int]] = set()
    names: dict[str, object] = {REACHED: reached}
    exec(compile(instrumented("example", SOURCE), "example", "exec"), names)
    assert names["clipped"](2, str) == 2  # type: ignore[operator]
    assert reached == {("example", line) for line in (8, 9, 12, 14)}


def test_tests_are_chosen_by_what_they_reach_of_as_many_kinds_as_there_are() -> None:
    place, other = ("memory", 5), ("memory", 9)
    tests = {
        OPENING: Seen(0.1, "", 2),
        **{f"suites/test_operators.py::test_operator[Add-14.f32.{n}]": Seen(n / 10, "pass", 1) for n in range(1, 9)},
        "suites/test_operators.py::test_operator[Mul-14.f32.1]": Seen(0.9, "pass", 1),
        "suites/test_layout.py::test_ranks[x]": Seen(0.05, "pass"),
    }
    before = Healthy({place: 0, other: 1}, tests)
    mutant = Mutant("memory", "f", place, 'if node == "Sub":', "", "")
    chosen = mutant_runs.selection(mutant, before, 2, quick=True)
    assert len(chosen) == 2
    assert any("Mul" in name for name in chosen)
    named = dataclasses.replace(mutant, old='if node == "Add":')
    assert sum("Add" in name for name in mutant_runs.selection(named, before, 6, quick=True)) == 5
    at_opening = dataclasses.replace(mutant, place=other)
    assert "suites/test_layout.py::test_ranks[x]" in mutant_runs.selection(at_opening, before, 20, quick=False)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs os.fork")
def test_hangs_and_crashes_end(tmp_path: Path) -> None:
    jobs = {
        "writes": (30.0, lambda result: result.write_bytes(b"done")),
        "hangs": (0.3, lambda result: time.sleep(60)),
        "crashes": (30.0, lambda result: os.kill(os.getpid(), signal.SIGKILL)),
        "raises": (30.0, lambda result: 1 // 0),
    }
    found = {n: (c, e) for n, c, e in mutant_runs.forked(((n, *job) for n, job in jobs.items()), 2, tmp_path)}
    assert found["writes"] == (b"done", "")
    assert found["hangs"] == (b"", "timeout")
    assert found["crashes"] == (b"", "exit code -9")
    assert found["raises"] == (b"", "exit code 1")
