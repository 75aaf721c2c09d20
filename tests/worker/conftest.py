"""Sessions whose processes are counted, and the request that every recovery is proved with."""

from __future__ import annotations

import ctypes
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest

from backends.worker import DeviceSession, Observation

ADAPTERS = Path(__file__).with_name("adapters.py")
SHORT = {"compile": 1.0, "load": 1.0, "run": 1.0, "read": 1.0}
FEEDS = {"x": np.float32([1, 2, 3])}


def group_members(groups: set[int]) -> list[psutil.Process]:
    """Processes that still run in one of these process groups."""
    members = []
    for process in psutil.process_iter(["status"]):
        try:
            if os.getpgid(process.pid) in groups and process.info["status"] != psutil.STATUS_ZOMBIE:
                members.append(process)
        except (ProcessLookupError, PermissionError, psutil.NoSuchProcess):
            continue
    return members


def left_after(groups: set[int], seconds: float) -> list[psutil.Process]:
    """Members of these groups that are still there after so long; [] as soon as there are none."""
    end = time.monotonic() + seconds
    while (left := group_members(groups)) and time.monotonic() < end:
        time.sleep(0.02)
    return left


class Groups(set[int]):
    """Process groups of the workers that were started."""

    def add_current(self, session: DeviceSession) -> None:
        self.add(int(session.info.versions["pid"]))


@pytest.fixture
def groups() -> Iterator[Groups]:
    """Collects process groups; at the end of the test nobody may be left in them."""
    collected = Groups()
    yield collected
    assert left_after(collected, 1) == []


@pytest.fixture
def open_session(groups: Groups) -> Iterator[Callable[..., DeviceSession]]:
    """Opens sessions of the adapters with short deadlines and closes them."""
    sessions = []

    def open_one(name: str = "Adapter", **arguments: Any) -> DeviceSession:
        arguments.setdefault("deadlines", SHORT)
        session = DeviceSession(f"{ADAPTERS}:{name}", **arguments)
        sessions.append(session)
        groups.add_current(session)
        return session

    yield open_one
    for session in sessions:
        groups.add_current(session)
        session.close()


@pytest.fixture
def session(open_session: Callable[..., DeviceSession]) -> DeviceSession:
    return open_session()


def assert_works(session: DeviceSession) -> Observation:
    """The next request passes, by value."""
    observation = session.observe(b"double", FEEDS)
    assert (observation.ended, observation.phase) == ("ran", "read"), observation
    np.testing.assert_array_equal(observation.outputs["y"], np.float32([2, 4, 6]))
    return observation


def rounding_mode() -> int:
    """This thread's C rounding mode, 0 being to nearest."""
    return int(ctypes.CDLL("libm.so.6").fegetround())
