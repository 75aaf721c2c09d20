"""Keeps the journal while pytest runs: in the one process that sees every report, also under pytest-xdist."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from pathlib import Path, PurePath
from typing import Any

import pytest

from results import journal, summary
from results.header import header
from results.record import Record
from results.verdict import Verdict

SUITES = Path(__file__).resolve().parent


def belongs(config: pytest.Config, nodeid: str) -> bool:
    """Whether a pytest node lies in the suites (and not, say, in tests/)."""
    path = nodeid.partition("::")[0]
    places = (
        config.rootpath / path,
        SUITES.parent / path,
        SUITES / path,
    )  # a wheel's node ids are relative to the suites
    return any(place.is_file() and place.resolve().is_relative_to(SUITES) for place in places)


def case_of(nodeid: str) -> str:
    """The case id within a node id, the test's own name for a test without cases."""
    path, bracket, rest = nodeid.partition("[")
    return rest[:-1] if bracket else path.rpartition("::")[2]


def previous(config: pytest.Config) -> dict[str, Record]:
    """What the journal of --resume holds already, by pytest node id: all but the cases that did not run. Raises UsageError."""
    if not config.option.resume:
        return {}
    try:
        records = journal.read(config.option.resume).by_test
    except journal.JournalError as error:
        raise pytest.UsageError(f"--resume: {error}") from None
    return {test: record for test, record in records.items() if record.verdict is not Verdict.NOT_RUN}


def canonical(nodeid: str) -> str:
    """A node id that does not depend on the folder pytest was started in, nor on where the suites are installed."""
    path, separator, rest = nodeid.partition("::")
    return f"suites/{PurePath(path).name}{separator}{rest}"


SELECTING = ("case", "ops", "dtype", "family", "keyword", "markexpr", "deselect", "budget")
"""Options that decide which cases run, by their names in pytest's configuration."""


def selection_of(config: pytest.Config) -> dict[str, Any]:
    """The selecting options that were given."""
    given = {name: getattr(config.option, name, None) for name in SELECTING}
    return {name: value for name, value in given.items() if value}


def take_over_selection(config: pytest.Config) -> None:
    """A resumed run selects what its first part selected. Raises UsageError where the user asks for something else."""
    if not config.option.resume:
        return
    try:
        then = journal.read(config.option.resume).header["selection"].get("options", {})
    except journal.JournalError as error:
        raise pytest.UsageError(f"--resume: {error}") from None
    now = selection_of(config)
    now.pop("budget", None)  # how long to go on is the new run's own matter
    then.pop("budget", None)
    if now and now != then:
        first = ", ".join(f"{name}={value}" for name, value in then.items()) or "everything"
        raise pytest.UsageError(f"--resume: that run selected {first}; leave selecting options out to go on with the same")
    for name, value in then.items():
        setattr(config.option, name, value)


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
        self.stopped = "no footer"
        self.config = config
        self.records: dict[str, Record] = dict(resumed)
        self._resumed = frozenset(resumed)

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
            raise pytest.UsageError(f"{error.strerror}: {error.filename}") from None

    @pytest.hookimpl
    def pytest_runtest_logstart(self, nodeid: str) -> None:
        if canonical(nodeid) not in self._resumed and belongs(self.config, nodeid):
            self.writer.started(case_of(nodeid), canonical(nodeid))

    @pytest.hookimpl
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        record = getattr(report, "npu_cts", None)
        if record is not None and record["test"] not in self._resumed:
            self.records[record["test"]] = Record.from_json(record)
            self.writer.completed(self.records[record["test"]])

    def finish(self, reason: journal.Reason) -> None:
        """Writes the footer and closes the file."""
        self.stopped = reason
        self.writer.finish(reason, journal.counts(self.records))

    def summary(self, layout: summary.Layout) -> str:
        """The end of the run as text."""
        return summary.summarise(
            self.header, list(self.records.values()), layout, path=_shown(self.writer.path), stopped=self.stopped
        )


def _shown(path: Path) -> Path:
    """The path as one would type it here."""
    return path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path


def _reopened(path: Path, head: Mapping[str, Any], sync: bool) -> journal.JournalWriter:
    """The journal of --resume with a line that says how it goes on. Raises UsageError for that of another device."""
    try:
        old = journal.read(path).header
        for what in ("backend", "name", "kind", "soc", "firmware", "driver", "runtime", "compiler"):
            now, then = (str(h["device"][what]) for h in (head, old))
            if now != then:
                word = "device" if what == "name" else what
                raise pytest.UsageError(
                    f"--resume: {path} is a run with {word} {then}, this one would have {now}; start a new run"
                )
        if head["suite"]["version"] != old["suite"]["version"]:
            raise pytest.UsageError(f"--resume: {path} is by version {old['suite']['version']} of the suite; start a new run")
        writer = journal.JournalWriter.resume(path, sync)
    except journal.JournalError as error:
        raise pytest.UsageError(f"--resume: {error}") from None
    writer.resumed(head)
    return writer


def _create(folder: Path, name: str, head: Mapping[str, Any], sync: bool) -> journal.JournalWriter:
    """A journal under a name that no other run of the same second has taken."""
    for suffix in ("", *(f"-{n}" for n in range(2, 100))):
        try:
            return journal.JournalWriter.create(folder / f"{name}{suffix}.jsonl", head, sync)
        except FileExistsError as error:
            if not (folder / f"{name}{suffix}.jsonl").exists():  # a file where the folder should be
                raise pytest.UsageError(f"{error.strerror}: {error.filename}") from None
    raise pytest.UsageError(f"{folder} holds a hundred journals of this second; choose another --results folder")
