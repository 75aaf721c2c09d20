"""Whether a run shares its tests out to several processes, where the user leaves that to the suite."""

from __future__ import annotations

from pathlib import Path

import pytest

from backends import registry
from suites import options, selection

MOST = 8
"""Processes: each collects every test for itself."""


def choose(config: pytest.Config) -> None:
    """Asks pytest-xdist for a process per core where all operators run on a device that lives in pytest's own process.

    A real device is one, and stays with one process unless the user says -n; a few tests are done before a second process has
    started.
    """
    option = config.option
    if hasattr(config, "workerinput"):  # one of the processes that were asked for
        return
    given = option.resume or option.device_host or option.partner
    if getattr(option, "numprocesses", 0) is not None or option.collectonly or given:
        return
    if selection.is_narrowed(config) or option.profile is not None or not _has_all_operators(config):
        return
    if _runs_in_process(config):
        option.numprocesses = "logical"
        option.maxprocesses = option.maxprocesses or MOST


def _has_all_operators(config: pytest.Config) -> bool:
    named = {Path(argument).name for argument in config.args}
    return not named.isdisjoint({Path(__file__).parent.name, "test_operators.py"})


def _runs_in_process(config: pytest.Config) -> bool:
    try:
        return bool(registry.load(config.option.backend or "sim").runs_in_process(options.backend_options(config)))
    except (registry.BackendNotFound, pytest.UsageError):
        return False  # whoever opens the backend says why
