"""Expectations under pytest: taken up before the tests are collected, held against these and the device, met by each report."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from results.record import EXPECTED, Record
from suites import recording
from suites.expectation import Expectation, Expectations, load

EXPECTATIONS = pytest.StashKey[Expectations]()


def configure(config: pytest.Config) -> None:
    """Takes `--expectations` up. Raises UsageError."""
    if config.option.expectations is None:
        return
    config.stash[EXPECTATIONS] = found = load(config.option.expectations)
    if not hasattr(config, "workerinput"):  # whose controller has checked them
        if getattr(config.option, "strict", False):  # pytest's own
            found.check_dates()
        found.check_operators()


def check_collected(config: pytest.Config, nodeids: Sequence[str]) -> None:
    """Raises UsageError where the expectations do not fit the tests that were collected."""
    found = config.stash.get(EXPECTATIONS, None)
    if found is not None and not hasattr(config, "workerinput"):
        check = found.check_all if recording.has_everything(config) else found.check_tests
        check(map(recording.canonical, nodeids))


def of(item: pytest.Item) -> Expectation | None:
    """The entry that claims a test, None where the run has no expectations."""
    found = item.config.stash.get(EXPECTATIONS, None)
    return None if found is None else found.of(recording.canonical(item.nodeid))


def described(config: pytest.Config) -> dict[str, Any]:
    """What a journal's header says of them, among the options that selected the tests."""
    found = config.stash.get(EXPECTATIONS, None)
    return {} if found is None else {"expectations": [file.described() for file in found.files]}


def report_as(report: pytest.TestReport, record: Record) -> None:
    """Gives the report the outcome of a record that is more than its verdict: what a profile makes a must is not skipped, and
    expectations turn failures into expected ones and passes into failures.
    """
    text = f"{record.verdict.value}: {record.reason}"
    if record.outcome == "failed":
        report.outcome = "failed"
        report.longrepr = "\n".join([text, *(f"diagnosis: {line}" for line in record.diagnosis)])
    elif record.outcome == "xfailed":
        report.outcome = "skipped"
        report.wasxfail = next(note for note in record.notes if note.startswith(EXPECTED))
        report.longrepr = text
