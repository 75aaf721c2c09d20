"""Keeps the journal while pytest runs: in the one process that sees every report, also under pytest-xdist."""

from __future__ import annotations

import contextlib
import datetime
import functools
from collections.abc import Callable, Mapping
from pathlib import Path, PurePath
from typing import Any, Literal

import pytest

from results import journal, summary
from results.header import header
from results.record import Record
from results.verdict import Verdict
from suites import profile_selection
from suites.cases.errors import CaseIdError
from suites.cases.identifier import parse
from suites.device import LOST
from suites.options import usage_error

SUITES = Path(__file__).resolve().parent


def belongs(config: pytest.Config, nodeid: str) -> bool:
    """Whether a pytest node lies in the suites (and not, say, in tests/)."""
    return _lies_in_suites(config.rootpath, nodeid.partition("::")[0])


@functools.cache
def _lies_in_suites(rootpath: Path, path: str) -> bool:
    places = (
        rootpath / path,
        SUITES.parent / path,
        SUITES / path,
    )  # a wheel's node ids are relative to the suites
    return any(place.is_file() and place.resolve().is_relative_to(SUITES) for place in places)


def case_of(nodeid: str) -> str:
    """The case id within a node id, the test's own name for a test without cases."""
    path, bracket, rest = nodeid.partition("[")
    return rest[:-1] if bracket else path.rpartition("::")[2]


def bare(nodeid: str, verdict: Verdict, reason: str) -> Record:
    """A record that nobody judged: of a test without a case, or one that ended before its verdict."""
    case_id, about = case_of(nodeid), dict[str, Any]()
    with contextlib.suppress(CaseIdError):
        case = parse(case_id)
        about = {
            "operator": case.operator,
            "domain": case.domain,
            "opset": case.opset,
            "dtype": case.dtype,
            "family": case.family,
        }
    return Record(id=case_id, test=canonical(nodeid), requirement="", verdict=verdict, reason=reason, **about)


def previous(config: pytest.Config) -> dict[str, Record]:
    """What the journal of --resume holds already, by pytest node id. Raises UsageError."""
    if not config.option.resume:
        return {}
    try:
        return journal.read(config.option.resume).by_test
    except journal.JournalError as error:
        raise usage_error(f"--resume: {error}") from None


def settled(records: Mapping[str, Record]) -> dict[str, Record]:
    """Those that a resumed run need not repeat: all but the cases that did not run."""
    return {test: record for test, record in records.items() if record.verdict is not Verdict.NOT_RUN}


def canonical(nodeid: str) -> str:
    """A node id that does not depend on the folder pytest was started in, nor on where the suites are installed."""
    path, separator, rest = nodeid.partition("::")
    return f"suites/{_name(path)}{separator}{rest}"


@functools.cache
def _name(path: str) -> str:
    return PurePath(path).name


SELECTING = ("case", "ops", "dtype", "family", "profile", "quick", "keyword", "markexpr", "deselect", "budget")
"""Options that decide which cases run, by their names in pytest's configuration."""


def selection_of(config: pytest.Config) -> dict[str, Any]:
    """The selecting options that were given."""
    given: dict[str, Any] = {name: getattr(config.option, name, None) for name in SELECTING}
    given["profile"] = profile_selection.described(given["profile"])
    given["tests"] = [canonical(argument) for argument in config.args if ".py" in argument]
    return {name: value for name, value in given.items() if value}


NARROWING = ({*SELECTING} - {"budget"}) | {"ignore", "ignore_glob", "lf", "stepwise"}
"""Options, by their names in pytest's configuration, with which less than every test is collected."""


def has_everything(config: pytest.Config) -> bool:
    """Whether every test of the suites is collected: the whole folder was named, and no option narrows that."""
    named = [(config.invocation_params.dir / argument).resolve() for argument in config.args if "::" not in argument]
    return any(SUITES.is_relative_to(path) for path in named) and not any(getattr(config.option, n, None) for n in NARROWING)


def take_over_selection(config: pytest.Config) -> None:
    """A resumed run selects what its first part selected. Raises UsageError where the user asks for something else."""
    if not config.option.resume:
        return
    try:
        then = journal.read(config.option.resume).header["selection"].get("options")
    except journal.JournalError as error:
        raise usage_error(f"--resume: {error}") from None
    if not isinstance(then, dict) or not all(_is_choice(name, value) for name, value in then.items()):
        raise usage_error(f"--resume: {config.option.resume} holds a selection that no run writes; start a new run")
    now = selection_of(config)
    now.pop("budget", None)  # how long to go on is the new run's own matter
    if "expectations" in then and config.option.expectations is None:
        config.option.expectations = ",".join(file["name"] for file in then["expectations"])
    then = {name: value for name, value in then.items() if name not in ("budget", "expectations")}
    if (now or "tests" in then) and now != then:
        first = ", ".join(f"{name}={value}" for name, value in then.items()) or "everything"
        advice = "name the same tests" if "tests" in then else "leave selecting options out to go on with the same"
        raise usage_error(f"--resume: that run selected {first}; {advice}")
    for name in SELECTING:
        if name in then:
            value = then[name]
            setattr(config.option, name, ",".join(value) if isinstance(value, dict) else value)


def _is_choice(name: str, value: object) -> bool:
    """Whether a value is what a selecting option holds; profiles are a mapping to their numbers of cases."""
    if name == "expectations":
        keys = ("name", "sha256")
        return isinstance(value, list) and all(
            isinstance(file, dict) and all(isinstance(file.get(key), str) for key in keys) for file in value
        )
    kinds = dict if name == "profile" else list
    texts = isinstance(value, kinds) and all(isinstance(word, str) for word in value)
    return name in (*SELECTING, "tests") and (texts or isinstance(value, str | float | int))


class Recorder:
    """A journal being written."""

    def __init__(
        self,
        writer: journal.JournalWriter,
        config: pytest.Config,
        head: Mapping[str, Any],
        resumed: Mapping[str, Record],
    ) -> None:
        self.writer = writer
        self.header = head
        self.stopped: journal.Reason | Literal["no footer"] = "no footer"
        self.config = config
        self.records: dict[str, Record] = dict(resumed)
        self._resumed = frozenset(settled(resumed))
        self._running: set[str] = set()  # tests that are started and not completed
        self._done: set[str] = set(self._resumed)  # tests with a record that holds
        self._broken = False  # the journal can no longer be written

    @classmethod
    def open(cls, config: pytest.Config, facts: Mapping[str, Any], *, sync: bool) -> Recorder:
        """Creates the journal, or goes on with the one of --resume. Raises UsageError. `facts` is what `header` takes."""
        head = header(**facts)
        try:
            if config.option.resume:
                return cls(_reopened(Path(config.option.resume), head, sync), config, head, previous(config))
            folder = Path(config.option.results) if config.option.results else config.invocation_params.dir / "results" / "runs"
            time = datetime.datetime.now(datetime.UTC).strftime("%Y%m%dT%H%M%S")
            name = f"{facts['backend']}-{facts['device'].name}-{time}"
            name = "".join(c if c.isalnum() or c in "-_" else "_" for c in name)
            return cls(_create(folder, name, head, sync), config, head, {})
        except OSError as error:
            raise usage_error(f"{error.strerror}: {error.filename}") from None

    @pytest.hookimpl
    def pytest_runtest_logstart(self, nodeid: str) -> None:
        test = canonical(nodeid)
        if test not in self._resumed and belongs(self.config, nodeid):
            self._running.add(test)
            self._write(lambda: self.writer.started(case_of(nodeid), test))

    @pytest.hookimpl(trylast=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        line = getattr(report, "npu_cts", None)
        test = canonical(report.nodeid)
        if line is not None and test not in self._resumed:
            self._complete(Record.from_line(line), line)
            del report.npu_cts  # pytest keeps every report to the end
        elif line is None and report.failed and test not in self._done and belongs(self.config, report.nodeid):
            # a pytest-xdist worker died with the test
            reason = " ".join(str(report.longrepr).split())[:300]
            record = bare(report.nodeid, Verdict.HARNESS_ERROR, reason)
            self._complete(record, record.to_line())

    def _complete(self, record: Record, line: str) -> None:
        self._write(lambda: self.writer.completed(line))
        self._running.discard(record.test)
        self._done.add(record.test)
        self.records[record.test] = record

    def _write(self, action: Callable[[], None]) -> None:
        """Ends the run in one line where the journal cannot be written, as on a full disk."""
        if self._broken:
            return
        try:
            action()
        except OSError as error:
            self._broken = True
            text = f"{error.strerror}: {error.filename}; what was measured before is in it"
            pytest.exit(text, returncode=int(pytest.ExitCode.INTERRUPTED))

    def finish(self, exitstatus: int) -> None:
        """Writes the footer, unless the disk is full, and closes the file."""
        self.stopped = self._reason(exitstatus)
        with contextlib.suppress(OSError, journal.JournalError):
            written = self.records
            if self.stopped == "interrupted":  # maybe between writing and counting
                written = journal.read(self.writer.path).by_test
            self.writer.finish(self.stopped, journal.counts(written))
        self.writer.close()

    def _reason(self, exitstatus: int) -> journal.Reason:
        """Why the run ended. -x and internal errors, too, leave tests without a record."""
        not_run = [r.reason for test, r in self.records.items() if r.verdict is Verdict.NOT_RUN and test in self._done]
        if exitstatus == pytest.ExitCode.INTERRUPTED or len(self._done) < self.header["selection"]["collected"]:
            return "interrupted"
        if any(reason.startswith(LOST) for reason in not_run):
            return "device_lost"
        return "budget" if not_run else "finished"

    def summary(self, layout: summary.Layout) -> str:
        """The end of the run as text."""
        return summary.summarise(
            self.header,
            list(self.records.values()),
            layout,
            path=_shown(self.writer.path),
            in_flight=[case_of(test) for test in sorted(self._running)],
            stopped=self.stopped,
        )


def _shown(path: Path) -> Path:
    """The path as one would type it here."""
    return path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path


def _reopened(path: Path, head: Mapping[str, Any], sync: bool) -> journal.JournalWriter:
    """The journal of --resume with a line that says how it goes on. Raises UsageError for that of another device."""
    try:
        old = journal.read(path).header
        for what in ("backend", "name", "kind", "soc", "firmware", "driver", "runtime", "compiler"):
            now, then = (str(h["device"].get(what)) for h in (head, old))
            if now != then:
                word = "device" if what == "name" else what
                raise usage_error(f"--resume: {path} is a run with {word} {then}, this one would have {now}; start a new run")
        if head["suite"]["version"] != old["suite"].get("version"):
            raise usage_error(f"--resume: {path} is by version {old['suite'].get('version')} of the suite; start a new run")
        now, then = (str(h["selection"].get("collected")) for h in (head, old))
        if now != then:
            raise usage_error(f"--resume: {path} is a run of {then} tests, this one has {now}; name the same tests")
        if head["options"] != old["options"]:
            raise usage_error(f"--resume: {path} is a run with backend options {old['options']}; give the same ones")
        if _expectations(head).keys() != _expectations(old).keys():
            now, then = (", ".join(_expectations(h).values()) or "none" for h in (head, old))
            raise usage_error(f"--resume: {path} is a run with expectations {then}, this one has {now}; give the same content")
        writer = journal.JournalWriter.resume(path, sync)
    except journal.JournalError as error:
        raise usage_error(f"--resume: {error}") from None
    writer.resumed(head)
    return writer


def _expectations(head: Mapping[str, Any]) -> dict[str, str]:
    """The files of known failures that a run was held to: SHA-256 → name with a part of it."""
    files = head["selection"].get("options", {}).get("expectations", [])
    return {file["sha256"]: f"{file['name']} (SHA-256 {file['sha256'][:12]})" for file in files}


def _create(folder: Path, name: str, head: Mapping[str, Any], sync: bool) -> journal.JournalWriter:
    """A journal under a name that no other run of the same second has taken."""
    for suffix in ("", *(f"-{n}" for n in range(2, 100))):
        try:
            return journal.JournalWriter.create(folder / f"{name}{suffix}.jsonl", head, sync)
        except FileExistsError as error:
            if not (folder / f"{name}{suffix}.jsonl").exists():  # a file where the folder should be
                raise usage_error(f"{error.strerror}: {error.filename}") from None
    raise usage_error(f"{folder} holds a hundred journals of this second; choose another --results folder")
