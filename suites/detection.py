"""How many of the faults that the simulated device can have the suite finds, and how many of them it names.

Each fault is seeded into its device, and the tests of the requirements that must find it run on it, in this process and without
pytest around them. A fault is caught if a test of those requirements fails, and named if the first diagnosis of most of its
failures is a right one. Where a device refuses, crashes or hangs, the verdict itself is what is named.
"""

from __future__ import annotations

import concurrent.futures
import dataclasses
import functools
import importlib
import inspect
import itertools
import multiprocessing
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from importlib import resources
from pathlib import Path
from typing import Any

import pytest

from backends.interface import Phase
from backends.sim import faults, profile
from backends.sim.faults import Fault
from backends.worker import DeviceGone, DeviceSession
from results import journal
from results.record import Record
from results.verdict import Verdict
from suites.cases.identifier import parse
from suites.device import DeviceUnderTest, RunState, Subject
from suites.requirement import catalogue

DEADLINES: Mapping[Phase, float] = {"compile": 20.0, "run": 1.5}
"""Seconds for faults that may block: a simulated device without one needs a hundredth of them."""

SAMPLE = 120
"""Tests of a requirement, and of one operator, that a fault meets at first."""

OPERATORS = "operators"
"""The suite of which a fault's `operators` are run, and no others."""


@dataclasses.dataclass(frozen=True)
class Check:
    """A test function with one set of arguments. case: "" for a test without one."""

    requirement: str
    suite: str
    function: Callable[..., None]
    case: str
    arguments: Mapping[str, Any]


@dataclasses.dataclass(frozen=True)
class Failure:
    """A test that failed. cause: its first diagnosis, or its verdict where there is none."""

    requirement: str
    case: str
    cause: str
    reason: str


@dataclasses.dataclass(frozen=True)
class Result:
    """What became of a fault. checks: how many tests ran on it."""

    fault: Fault
    failures: Sequence[Failure]
    checks: int
    seconds: float

    @property
    def caught_by(self) -> Counter[str]:
        """Failures of the requirements that must find the fault."""
        return Counter(f.requirement for f in self.failures if f.requirement in self.fault.caught_by)

    @property
    def also_by(self) -> Counter[str]:
        """Failures of others."""
        return Counter(f.requirement for f in self.failures if f.requirement not in self.fault.caught_by)

    @property
    def first(self) -> Counter[str]:
        """First diagnoses of the failures that count."""
        return Counter(f.cause for f in self.failures if f.requirement in self.fault.caught_by)

    @property
    def caught(self) -> bool:
        return bool(self.caught_by)

    @property
    def named(self) -> bool:
        """Whether the most frequent first diagnosis is a right one; right ones count together."""
        right = sum(count for cause, count in self.first.items() if cause in self.fault.causes)
        return right > max((count for cause, count in self.first.items() if cause not in self.fault.causes), default=0)


@functools.cache
def checks() -> Mapping[str, Sequence[Check]]:
    """Requirement → its tests, with every case and argument."""
    found: dict[str, list[Check]] = {}
    for path in sorted(resources.files("suites").iterdir(), key=lambda entry: entry.name):
        if path.name.startswith("test_") and path.name.endswith(".py"):
            module = importlib.import_module(f"suites.{path.name.removesuffix('.py')}")
            for name, function in vars(module).items():
                if name.startswith("test_"):
                    for check in _expanded(function, path.name.removesuffix(".py").removeprefix("test_")):
                        found.setdefault(check.requirement, []).append(check)
    return found


def _expanded(function: Callable[..., None], suite: str) -> Iterator[Check]:
    """A test function with all that its marks parametrise it with."""
    marks = {"requirement": ("",), "cases": ((),)} | {m.name: m.args for m in getattr(function, "pytestmark", [])}
    parameters = [m.args for m in getattr(function, "pytestmark", []) if m.name == "parametrize"]
    source = marks["cases"][0]
    cases = (source() if callable(source) else source) or [""]
    for values in itertools.product(cases, *(choices for _, choices in parameters)):
        arguments = dict(zip((name for name, _ in parameters), values[1:], strict=True))
        yield Check(marks["requirement"][0], suite, function, values[0], arguments)


def own(fault: Fault) -> list[Check]:
    """The tests of the requirements that must find the fault; of the operator suite, those of its operators."""
    found = [check for requirement in fault.caught_by for check in checks()[requirement]]
    return [check for check in found if check.suite != OPERATORS or operator_of(check) in fault.operators]


def sampled(tests: Sequence[Check]) -> tuple[list[Check], list[Check]]:
    """An even sample, of each requirement and operator at most `SAMPLE`, and the other tests."""
    groups: dict[tuple[str, str], list[int]] = {}
    for position, check in enumerate(tests):
        groups.setdefault((check.requirement, operator_of(check)), []).append(position)
    first = {group[i * len(group) // SAMPLE] for group in groups.values() for i in range(SAMPLE)}
    return [tests[i] for i in sorted(first)], [check for i, check in enumerate(tests) if i not in first]


def operator_of(check: Check) -> str:
    """Of its case, "" for a test without one."""
    return check.case.split(".", 1)[0].rpartition("-")[0]


def beside(fault: Fault) -> list[Check]:
    """One test of each other requirement of the same suites."""
    suites = {check.suite for check in own(fault)}
    firsts = (tests[0] for requirement, tests in checks().items() if requirement not in fault.caught_by)
    return [check for check in firsts if check.suite in suites]


def examine(name: str, *, hurry: bool = False) -> Result:
    """Seeds a fault and runs a sample of its tests, more of them until it is caught, and one of each other requirement beside
    them; in a `hurry`, only its own, until it is caught and named."""
    fault, start = faults.catalogue()[name], time.monotonic()
    result = Result(fault, [], 0, 0.0)
    with DeviceSession("sim", fault.device, {"fault": name}, deadlines=DEADLINES if fault.isolated else None) as session:
        state = RunState(session)
        if hurry:
            state.confirmed = Everything()
        sample, rest = sampled(own(fault))
        last = len(sample) + len(rest)
        for number, check in enumerate((*sample, *rest) if hurry else (*sample, *rest, *beside(fault))):
            if not hurry and result.caught and len(sample) <= number < last:
                continue
            failure = _perform(check, state)
            failures = result.failures if failure is None else [*result.failures, failure]
            result = Result(fault, failures, result.checks + 1, time.monotonic() - start)
            if state.blocked or (hurry and result.named):
                break
    return result


class Everything(set[Any]):
    """As failures that need no confirmation in a fresh process."""

    def __contains__(self, _: object) -> bool:
        return True


def _perform(check: Check, state: RunState) -> Failure | None:
    """Runs one test as pytest would; what it left on record if it failed."""
    state.record = None
    subject = Subject("" if check.suite == OPERATORS else check.suite, catalogue()[check.requirement].get("feature", ""))
    known: dict[str, Any] = {"device": DeviceUnderTest(state, subject), **check.arguments}
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        wanted = inspect.signature(check.function).parameters
        if "case" in wanted:
            known["case"] = parse(check.case)
        if "tmp_path" in wanted:
            known["tmp_path"] = Path(folder)
        try:
            check.function(**known)
        except pytest.skip.Exception:
            return None
        except DeviceGone as error:
            state.lost = str(error)
        except (pytest.fail.Exception, AssertionError) as error:
            return _failure(check, state.record, str(error))
    return None


def _failure(check: Check, record: Record | None, text: str) -> Failure | None:
    """None for a mistake of the suite or the simulation, which is no fault of the device."""
    if record is None:
        return Failure(check.requirement, check.case, Verdict.MISMATCH.value, text)
    if record.verdict is Verdict.HARNESS_ERROR:
        return None
    cause = record.diagnosis[0].partition(":")[0] if record.diagnosis else record.verdict.value
    return Failure(check.requirement, check.case, cause, record.reason)


def score(names: Iterable[str], processes: int, report: Callable[[Result], None]) -> list[Result]:
    """Examines faults, several at once, and reports each as it is done; in the order of their names."""
    with _pool(processes) as pool:
        waiting = [pool.submit(examine, name) for name in names]
        try:
            for done in concurrent.futures.as_completed(waiting):
                report(done.result())
        except KeyboardInterrupt:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
        return [done.result() for done in waiting]


@dataclasses.dataclass(frozen=True)
class Health:
    """The whole suite on a device without a fault."""

    device: str
    verdicts: Counter[str]
    failed: Sequence[str]


def healthy(processes: int) -> list[Health]:
    """Every simulated device, whose failures are false alarms."""
    with _pool(processes) as pool:
        return list(pool.map(_run_all, profile.names()))


def _run_all(device: str) -> Health:
    root = Path(str(resources.files("suites"))).parent
    with tempfile.TemporaryDirectory() as folder:
        words = ("-m", "suites.cli", "run", "--backend=sim", f"--device={device}", "-q", "-n", "0", "--results", folder)
        done = subprocess.run([sys.executable, *words], cwd=root, capture_output=True, text=True, check=False)
        journals = list(Path(folder).glob("*.jsonl"))
        if not journals:
            return Health(device, Counter(), [" ".join((done.stdout + done.stderr).split())[-300:]])
        records = journal.read(journals[0]).by_test.values()
    return Health(device, Counter(r.verdict.value for r in records), [r.test for r in records if r.outcome == "failed"])


def _pool(processes: int) -> concurrent.futures.ProcessPoolExecutor:
    return concurrent.futures.ProcessPoolExecutor(processes, multiprocessing.get_context("spawn"))
