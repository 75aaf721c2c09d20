"""Keeps the journal while pytest runs: in the one process that sees every report, also under pytest-xdist."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from pathlib import Path
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


class Recorder:
    """A journal being written. `previous` holds what a resumed journal has already, by pytest node id."""

    def __init__(
        self,
        writer: journal.JournalWriter,
        config: pytest.Config,
        head: Mapping[str, Any],
        previous: Mapping[str, Record],
    ) -> None:
        self.writer = writer
        self.header = head
        self.stopped = "no footer"
        self.config = config
        self.records: dict[str, Record] = dict(previous)
        self._resumed = frozenset(previous)

    @classmethod
    def open(cls, config: pytest.Config, facts: Mapping[str, Any], *, sync: bool) -> Recorder:
        """Creates the journal, or goes on with the one of --resume. Raises UsageError. `facts` is what `header` takes."""
        try:
            if config.option.resume:
                return cls._resume(config, facts, sync)
            folder = Path(config.option.results) if config.option.results else config.invocation_params.dir / "results" / "runs"
            time = datetime.datetime.now(datetime.UTC).strftime("%Y%m%dT%H%M%S")
            name = f"{facts['backend']}-{facts['device'].name}-{time}"
            name = "".join(c if c.isalnum() or c in "-_" else "_" for c in name)
            head = header(**facts)
            return cls(_create(folder, name, head, sync), config, head, {})
        except OSError as error:
            raise pytest.UsageError(f"{error.strerror}: {error.filename}") from None

    @classmethod
    def _resume(cls, config: pytest.Config, facts: Mapping[str, Any], sync: bool) -> Recorder:
        path = Path(config.option.resume)
        try:
            old = journal.read(path)
            writer = journal.JournalWriter.resume(path, sync)
        except journal.JournalError as error:
            raise pytest.UsageError(str(error)) from None
        now = (str(facts["backend"]), str(facts["device"].name))
        then = (str(old.header["backend"]), str(old.header["device"]["name"]))
        if now != then:
            writer.close()
            raise pytest.UsageError(
                f"{path} is a run of {' '.join(then)}, not of {' '.join(now)}: name that backend and device to resume it"
            )
        head = header(**facts)
        writer.resumed(head)
        kept = {test: r for test, r in old.by_test.items() if r.verdict is not Verdict.NOT_RUN}
        return cls(writer, config, head, kept)

    def before(self, nodeid: str) -> Record | None:
        """The record that a resumed journal already holds for this test."""
        return self.records[nodeid] if nodeid in self._resumed else None

    @pytest.hookimpl
    def pytest_runtest_logstart(self, nodeid: str) -> None:
        if nodeid not in self._resumed and belongs(self.config, nodeid):
            self.writer.started(case_of(nodeid), nodeid)

    @pytest.hookimpl
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        record = getattr(report, "npu_cts", None)
        if record is not None and report.nodeid not in self._resumed:
            self.records[report.nodeid] = Record.from_json(record)
            self.writer.completed(self.records[report.nodeid])

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


def _create(folder: Path, name: str, head: Mapping[str, Any], sync: bool) -> journal.JournalWriter:
    """A journal under a name that no other run of the same second has taken."""
    for suffix in ("", *(f"-{n}" for n in range(2, 100))):
        try:
            return journal.JournalWriter.create(folder / f"{name}{suffix}.jsonl", head, sync)
        except FileExistsError as error:
            if not (folder / f"{name}{suffix}.jsonl").exists():  # a file where the folder should be
                raise pytest.UsageError(f"{error.strerror}: {error.filename}") from None
    raise pytest.UsageError(f"{folder} holds a hundred journals of this second; choose another --results folder")
