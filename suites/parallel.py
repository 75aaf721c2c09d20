"""Whether a run shares its tests out to several processes, where the user leaves that to the suite."""

from __future__ import annotations

from pathlib import Path

import pytest

from backends import registry
from suites import options, selection

MOST = 8
"""Processes: each collects every test for itself."""

SUITES = Path(__file__).parent.name
OPERATORS = "test_operators.py"
UNTIMED = {OPERATORS, "test_graphs.py"}
"""Tests that look at results alone."""


def choose(config: pytest.Config) -> None:
    """Asks pytest-xdist for a process per core where all operators run on a device that lives in pytest's own process, or where
    nothing but operators and graphs does on one that processes may share.

    A real device is one, and stays with one process unless the user says -n; so does the host's CPU where tests take times. A
    few tests are done before a second process has started.
    """
    option = config.option
    if hasattr(config, "workerinput"):  # one of the processes that were asked for
        return
    given = option.resume or option.device_host or option.partner
    if getattr(option, "numprocesses", 0) is not None or option.collectonly or given:
        return
    named = {Path(argument).name for argument in config.args}
    if selection.is_narrowed(config) or option.profile is not None or named.isdisjoint({SUITES, OPERATORS}):
        return
    if _is_shared(config, untimed=named <= UNTIMED):
        option.numprocesses = "logical"
        option.maxprocesses = option.maxprocesses or MOST


def _is_shared(config: pytest.Config, *, untimed: bool) -> bool:
    try:
        backend, given = registry.load(config.option.backend or "sim"), options.backend_options(config)
        return bool(backend.runs_in_process(given) or (untimed and backend.shares(config.option.device, given)))
    except (registry.BackendNotFound, pytest.UsageError):
        return False  # whoever opens the backend says why
