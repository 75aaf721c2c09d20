"""How far a run is: one line, in place of a letter for each of many thousand tests."""

from __future__ import annotations

import time
from collections import Counter

import pytest

SAID = ("passed", "failed", "skipped", "xfailed")

EVERY = 0.2
"""Seconds between two looks of a terminal; elsewhere, as in a log of CI, a line is written each tenth of the run."""


class Progress:
    """Counts the reports of the suites' tests; `total` are those that will run."""

    def __init__(self, terminal: pytest.TerminalReporter, total: int) -> None:
        self._terminal = terminal
        self._total = total
        self._counts: Counter[str] = Counter()
        self._seen: set[str] = set()
        self._shown = (0, time.monotonic())  # tests, moment

    @pytest.hookimpl(tryfirst=True)
    def pytest_report_teststatus(self, report: pytest.TestReport) -> tuple[str, str, str] | None:
        """No letter and no word, so that pytest itself writes nothing."""
        if getattr(report, "npu_cts", None) is None:
            return None
        return _outcome(report), "", ""

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if getattr(report, "npu_cts", None) is None or report.nodeid in self._seen:
            return
        self._seen.add(report.nodeid)
        self._counts[_outcome(report)] += 1
        done, now = len(self._seen), time.monotonic()
        if self._terminal.isatty:
            if now - self._shown[1] >= EVERY or done == self._total:
                self._terminal.rewrite(self._line(done), erase=True)
                self._shown = done, now
        elif 10 * done // self._total > 10 * self._shown[0] // self._total:
            self._terminal.write_line(self._line(done))
            self._shown = done, now

    def _line(self, done: int) -> str:
        counts = ", ".join(f"{self._counts[name]:,} {name}" for name in SAID if self._counts[name])
        return f"{100 * done // self._total:3d} %  {done:,} of {self._total:,}: {counts}"


def _outcome(report: pytest.TestReport) -> str:
    """As pytest's last line counts it."""
    return "xfailed" if hasattr(report, "wasxfail") else report.outcome
