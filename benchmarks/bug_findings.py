"""Whether the suite saw a bug: what failed with the wheels that have it, and passed with those that have not."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence

from benchmarks.bug_table import Bug, fits
from results.record import Record

Records = Mapping[str, Record]
"""pytest node id → record, as `results.journal.Journal.by_test` has them."""


@dataclasses.dataclass(frozen=True)
class Finding:
    """What one environment with the bug showed.

    caught: tests that show the bug there and pass in every right environment; where there is none, those whose record names
    the bug. named: those of them whose record names it. still: tests that show and name it here and in a right environment too.
    others: tests that fail here for other reasons, or in a right environment as well.
    """

    packages: str
    caught: Sequence[Record]
    named: Sequence[Record]
    still: Sequence[Record]
    others: int
    ran: int

    @property
    def good(self) -> bool:
        """Caught, named, and gone where it is repaired."""
        return bool(self.named) and not self.still


def said(record: Record) -> str:
    """All that a record says of why its case did not pass: verdict, reason, diagnosis, notes, the vendor's words, the exit."""
    vendor = (record.vendor.code, record.vendor.text)
    return "\n".join([record.verdict.value, record.reason, *record.diagnosis, *record.notes, *vendor, record.exit])


def compare(bug: Bug, packages: str, wrong: Records, right: Sequence[Records]) -> Finding:
    """The finding of one environment with the bug against all without it."""
    shown = {test: record for test, record in wrong.items() if record.verdict.value in bug.verdicts}
    naming = {test for test, record in shown.items() if fits(bug, said(record))}
    if right:
        caught = [test for test in shown if all(_passes(bug, records.get(test)) for records in right)]
    else:
        caught = [test for test in shown if test in naming]
    still = [test for test in naming if any(_shows(bug, records.get(test)) for records in right)]
    failing = {test for test, record in wrong.items() if record.outcome == "failed"} | set(shown)
    return Finding(
        packages,
        _shortest_first(shown[test] for test in caught),
        _shortest_first(shown[test] for test in caught if test in naming),
        _shortest_first(shown[test] for test in still),
        others=len(failing - set(caught)),
        ran=len(wrong),
    )


def _passes(bug: Bug, record: Record | None) -> bool:
    return record is not None and record.outcome == "passed" and record.verdict.value not in bug.verdicts


def _shows(bug: Bug, record: Record | None) -> bool:
    return record is not None and record.verdict.value in bug.verdicts and fits(bug, said(record))


def _shortest_first(records: Iterable[Record]) -> list[Record]:
    return sorted(records, key=lambda record: (len(record.id), record.test))
