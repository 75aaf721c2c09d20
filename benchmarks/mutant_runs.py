"""Runs of the suites on simulated devices whose code was changed, each in a process forked off one that collected the tests.

That process has loaded everything but the simulated device, whose modules come from memory: instrumented ones for the healthy
device, to learn which test reaches which statement; the mutant and its neighbours for a mutant.
"""

from __future__ import annotations

import collections
import dataclasses
import faulthandler
import importlib.abc
import importlib.machinery
import importlib.util
import itertools
import os
import pickle
import re
import signal
import sys
import time
import types
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import pytest

from backends.worker import DeviceSession
from benchmarks.mutant_sources import FOLDER, PACKAGE, REACHED, Mutant, Place
from results.record import Record
from suites import plugin
from suites.device import RunState

OPERATORS = "test_operators.py"
PATIENCE, GRACE, LONGEST = 10.0, 10.0, 300.0
"""A test may take so many times what it takes on the healthy device, and so many seconds more; on the healthy one, so long."""

FURTHER = 3
"""Tests of a kind that reach a mutant before one is chosen that does not."""

OPENING = "opening the device"
"""Stands for a test in what was reached."""

Code = Mapping[str, types.CodeType]
Job = Callable[[Path], None]


@dataclasses.dataclass(frozen=True)
class Seen:
    """One test on a device. reached: a bit for each statement, by `Healthy.places`."""

    seconds: float
    verdict: str
    reached: int = 0


@dataclasses.dataclass(frozen=True)
class Healthy:
    """What happens on a healthy device. places: statement → its number. tests: those that do not fail, and `OPENING`."""

    places: Mapping[Place, int]
    tests: Mapping[str, Seen]

    def reaches(self, test: str, place: Place) -> bool:
        """Whether a test comes by a statement."""
        number = self.places.get(place)
        return number is not None and bool(self.tests[test].reached >> number & 1)


Baseline = Mapping[str, Healthy]
"""By device profile."""


@dataclasses.dataclass(frozen=True)
class Ending:
    """How a run on a mutant ended. by: the failing test, with the device. tests: how many ran. changed: verdicts before and
    after that differ."""

    failed: bool
    by: str = ""
    tests: int = 0
    changed: Mapping[tuple[str, str], int] = dataclasses.field(default_factory=dict)


class Loader(importlib.machinery.SourceFileLoader):
    """A module of the simulated device, from memory."""

    def __init__(self, name: str, path: str, code: types.CodeType, reached: set[Place]) -> None:
        super().__init__(name, path)
        self._code = code
        self._reached = reached

    def get_code(self, fullname: str) -> types.CodeType:
        return self._code

    def exec_module(self, module: types.ModuleType) -> None:
        module.__dict__[REACHED] = self._reached
        super().exec_module(module)


class Finder(importlib.abc.MetaPathFinder):
    """Finds the simulated device's modules in memory."""

    def __init__(self, code: Code) -> None:
        self.reached: set[Place] = set()
        self._code = code

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: types.ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname not in self._code:
            return None
        file = str(FOLDER / ("__init__.py" if fullname == PACKAGE else f"{fullname.rpartition('.')[2]}.py"))
        loader = Loader(fullname, file, self._code[fullname], self.reached)
        return importlib.util.spec_from_file_location(fullname, file, loader=loader)


class Watcher:
    """What became of the test that ran last."""

    def __init__(self) -> None:
        self.verdict = ""
        self.failed = False
        self.seconds = 0.0

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        line = getattr(report, "npu_cts", None)
        if line is not None:
            self.verdict = Record.from_line(line).verdict.value
            self.seconds = report.duration
        self.failed |= report.failed or self.verdict == "not_run"


def _played(
    session: pytest.Session, profile: str, tests: Mapping[pytest.Item, float], finder: Finder
) -> Iterator[tuple[str, Seen, bool]]:
    """(test, what it did, whether it failed) of every test on one device, which is opened here. tests: each with the seconds
    after which the process is ended."""
    started = time.monotonic()
    finder.reached.clear()
    faulthandler.dump_traceback_later(max(tests.values()), exit=True)
    state = RunState(DeviceSession("sim", profile))
    session.config.stash[plugin.STATE] = state
    session.config.stash[plugin.RESUMED] = {}
    yield OPENING, Seen(time.monotonic() - started, ""), False
    for test, following in itertools.zip_longest(tests, itertools.islice(tests, 1, None)):
        watcher = Watcher()
        faulthandler.dump_traceback_later(tests[test], exit=True)
        finder.reached.clear()
        session.config.pluginmanager.register(watcher)
        session.config.hook.pytest_runtest_protocol(item=test, nextitem=following)
        session.config.pluginmanager.unregister(watcher)
        yield test.nodeid, Seen(watcher.seconds, watcher.verdict), watcher.failed
    state.session.close()
    faulthandler.cancel_dump_traceback_later()


def learn(session: pytest.Session, profile: str, code: Code, result: Path) -> None:
    """All tests on a healthy device."""
    finder = Finder(code)
    sys.meta_path.insert(0, finder)
    places: dict[Place, int] = {}
    found = {}
    for name, seen, failed in _played(session, profile, dict.fromkeys(session.items, LONGEST), finder):
        reached = {places.setdefault(place, len(places)) for place in finder.reached.copy()}
        if not failed:
            found[name] = dataclasses.replace(seen, reached=sum(1 << number for number in reached))
    result.write_bytes(pickle.dumps(Healthy(places, found)))


def attack(session: pytest.Session, chosen: Mapping[str, Sequence[str]], before: Baseline, code: Code, result: Path) -> None:
    """The chosen tests of each device profile on a mutant, until one fails."""
    by_name = {item.nodeid: item for item in session.items}
    finder = Finder(code)
    sys.meta_path.insert(0, finder)
    changed: collections.Counter[tuple[str, str]] = collections.Counter()
    for profile, names in chosen.items():
        result.write_bytes(pickle.dumps(Ending(True, f"{profile}: {OPENING}")))
        tests = {by_name[name]: PATIENCE * before[profile].tests[name].seconds + GRACE for name in names}
        for name, seen, failed in _played(session, profile, tests, finder):
            if failed:
                result.write_bytes(pickle.dumps(Ending(True, f"{profile}: {name}")))
                return
            verdict = before[profile].tests[name].verdict
            if seen.verdict != verdict:
                changed[verdict, seen.verdict] += 1
    result.write_bytes(pickle.dumps(Ending(False, "", sum(map(len, chosen.values())), dict(changed))))


def selection(mutant: Mutant, healthy: Healthy, most: int, *, quick: bool) -> list[str]:
    """At most so many tests that reach a mutant, of as many kinds as there are, in order of their time; up to half of them are
    of operators that the mutant names. Where opening the device reaches it, any test may show what comes of it. quick: kinds
    that take little time and do not skip, rather than all kinds but operators."""
    opening = healthy.reaches(OPENING, mutant.place)
    reaching = {name: healthy.reaches(name, mutant.place) for name in healthy.tests if name != OPENING}
    names = [name for name in reaching if opening or reaching[name]]
    names.sort(key=lambda name: (not reaching[name], zlib.crc32(name.encode())))
    words = set(re.findall(r"\w+", f"{mutant.old} {mutant.new}"))
    related = [name for name in names if OPERATORS in name and _operator(name) in words][: most // 2]
    ranks: collections.Counter[str] = collections.Counter(_kind(name) for name in related)
    ranked = [(-1, name) for name in related]
    for name in names:
        if name not in related:
            ranked.append((ranks[_kind(name)], name))
            ranks[_kind(name)] += 1
    skips = {name: quick and not healthy.tests[name].verdict.startswith("pass") for name in names}
    cost = {name: healthy.tests[name].seconds if quick else float(OPERATORS in name) for name in names}
    ranked = [(rank if reaching[name] else rank + FURTHER, name) for rank, name in ranked]
    chosen = sorted(ranked, key=lambda row: (skips[row[1]], row[0], cost[row[1]]))[:most]
    return [name for _, name in sorted(chosen, key=lambda row: healthy.tests[row[1]].seconds)]


def _operator(name: str) -> str:
    """Of a test of operators."""
    return name.partition("[")[2].partition(".")[0].rpartition("-")[0]


def _kind(name: str) -> str:
    """Operator and type for a test of operators, the function for any other."""
    head, _, case = name.partition("[")
    return ".".join(case.split(".", 2)[:2]) if OPERATORS in head else head


class Collected:
    """pytest's plugin that hands the collected tests, and no opened device, to `work`."""

    def __init__(self, work: Callable[[pytest.Session], None]) -> None:
        self._work = work

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_finish(self, session: pytest.Session) -> None:
        session.config.option.collectonly = True  # nothing is opened in this process

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        session.config.option.collectonly = False
        session.items[:] = [item for item in session.items if item.get_closest_marker("requirement")]
        for name in [name for name in sys.modules if name == PACKAGE or name.startswith(f"{PACKAGE}.")]:
            del sys.modules[name]
        self._work(session)
        return True


@dataclasses.dataclass
class _Running:
    name: str
    process: int
    ends: float
    result: Path


def forked(jobs: Iterable[tuple[str, float, Job]], processes: int, folder: Path) -> Iterator[tuple[str, bytes, str]]:
    """(name, what the job wrote, how it ended otherwise: "" for by itself) of jobs of (name, limit in seconds, function), each
    in a process of its own, in the order in which they end."""
    waiting = iter(jobs)
    running: list[_Running] = []
    exhausted = False
    while running or not exhausted:
        while not exhausted and len(running) < processes:
            job = next(waiting, None)
            exhausted = job is None
            if job is not None:
                running.append(_start(*job, folder))
        for child in tuple(running):
            ended = _ended(child)
            if ended is not None:
                running.remove(child)
                content = child.result.read_bytes() if child.result.exists() else b""
                child.result.unlink(missing_ok=True)
                yield child.name, content, ended
        time.sleep(0.01)


def _start(name: str, limit: float, work: Job, folder: Path) -> _Running:
    result = folder / f"{zlib.crc32(name.encode()):08x}-{time.monotonic_ns()}"
    sys.stdout.flush()
    sys.stderr.flush()
    process = os.fork()
    if process:
        return _Running(name, process, time.monotonic() + limit, result)
    code = 1
    try:
        faulthandler.disable()
        silence = os.open(os.devnull, os.O_RDWR)
        for descriptor in (0, 1, 2):
            os.dup2(silence, descriptor)
        work(result)
        code = 0
    finally:
        os._exit(code)


def _ended(child: _Running) -> str | None:
    """None while it runs."""
    ended, status = os.waitpid(child.process, os.WNOHANG)
    if not ended and time.monotonic() > child.ends:
        os.kill(child.process, signal.SIGKILL)
        os.waitpid(child.process, 0)
        return "timeout"
    if not ended:
        return None
    code = os.waitstatus_to_exitcode(status)
    return "" if code == 0 else f"exit code {code}"
