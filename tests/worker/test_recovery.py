"""What a session does after a request went wrong: probe, reopen, new worker, reset command, giving up."""

from __future__ import annotations

import os
import platform
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

from backends.worker import DeviceGone, DeviceSession, link, transport
from tests.worker.conftest import ADAPTERS, FEEDS, assert_works, group_members, left_after, rounding_mode

pytestmark = pytest.mark.skipif(os.name != "posix", reason="signals and process groups of POSIX")
ROOT = Path(__file__).parents[2]


@pytest.fixture
def switch(tmp_path):
    """A file that an adapter's option names; it is switched on by creating it."""
    return tmp_path / "switch"


def test_a_lost_device_is_reopened_in_the_same_worker(session):
    observation = session.observe(b"gone:run", FEEDS)
    assert (observation.ended, observation.error) == ("device_lost", "no answer")
    assert observation.notes == ["reopen: worker 1 goes on"]
    assert assert_works(session).worker == 1


def test_the_whole_ladder(open_session, switch):
    session = open_session(options={"dead": str(switch)}, reset_command=f"rm {switch}")
    switch.touch()
    observation = session.observe(b"double", FEEDS)
    assert observation.ended == "device_lost"
    assert observation.notes == ["reset command: worker 3 goes on"]
    assert assert_works(session).worker == 3


def test_giving_up_tells_the_story(open_session, groups, switch):
    session = open_session(options={"dead": str(switch)}, reset_command="echo no relay >&2; exit 4")
    switch.touch()
    assert session.observe(b"double", FEEDS).ended == "device_lost"
    with pytest.raises(DeviceGone) as gone:
        session.observe(b"double", FEEDS)
    story = str(gone.value)
    for text in ("reopen: reopen ended in device_lost: no answer", "new worker: open ended in device_lost: no answer",
                 "reset command: echo no relay >&2; exit 4 ended with exit code 4: no relay"):  # fmt: skip
        assert text in story
    assert left_after(groups, 1) == []
    with pytest.raises(DeviceGone):
        session.restart()
    with pytest.raises(DeviceGone):
        session.probe()


def test_a_crash_while_reopening_is_part_of_the_story(open_session, switch):
    session = open_session(options={"crash": str(switch)})
    switch.touch()
    assert session.observe(b"segfault:run", FEEDS).exit == "signal SIGSEGV"
    with pytest.raises(DeviceGone, match="new worker: open ended by signal SIGABRT"):
        session.observe(b"double", FEEDS)


def test_a_device_that_cannot_be_opened_at_all(open_session, switch):
    switch.touch()
    with pytest.raises(DeviceGone, match="could not be opened: open ended by signal SIGABRT"):
        open_session(options={"crash": str(switch)})
    with pytest.raises(DeviceGone, match="could not be opened: open ended in device_lost: no answer"):
        open_session(options={"dead": str(switch)})


def test_a_sticky_fault_is_seen_by_value_and_costs_the_worker(session):
    assert session.observe(b"sticky:run", FEEDS).outputs["y"].tolist() == [3, 5, 7]
    assert session.probe()["conv"] is False
    assert session.notes == [
        "the device's fingerprint changed in worker 1: conv was True, is False", "new worker: worker 2 goes on"
    ]  # fmt: skip
    assert_works(session)


def test_every_so_many_passes_the_device_is_probed(open_session):
    session = open_session(probe_every=3)
    assert session.observe(b"sticky:run", FEEDS).notes == []
    assert session.observe(b"double", FEEDS).notes == []
    assert "fingerprint changed in worker 1" in session.observe(b"double", FEEDS).notes[0]
    assert assert_works(session).worker == 2


def test_after_a_failure_the_device_is_probed(session):
    session.observe(b"sticky:run", FEEDS)
    observation = session.observe(b"run_error:run", FEEDS)
    assert observation.ended == "run_error"
    assert "conv was True, is False" in observation.notes[0]
    assert assert_works(session).worker == 2


@pytest.mark.skipif(platform.machine() != "x86_64" or sys.platform != "linux", reason="rounding mode of glibc on x86")
def test_a_changed_rounding_mode_is_found_and_never_the_parents(session):
    assert session.observe(b"rounding:run", FEEDS).ended == "ran"
    assert rounding_mode() == 0
    assert np.float32(1) + np.float32(3 * 2.0**-25) == np.float32(1 + 2.0**-23)
    session.probe()
    assert "mul_rounding was 1.0009" in session.notes[0]
    assert session.worker == 2


def test_a_lasting_change_of_precision_is_noted_once_and_lived_with(open_session, switch):
    session = open_session(options={"coarse": str(switch)})
    switch.touch()
    notes = session.observe(b"run_error:run", FEEDS).notes
    assert "worker 2 goes on with it" in notes[-1]
    assert session.fingerprint["mul_rounding"] == 1.0
    assert session.observe(b"run_error:run", FEEDS).notes == []
    assert assert_works(session).worker == 2


def test_a_death_between_requests_is_not_blamed_on_the_next(session):
    assert session.observe(b"die_later:run", FEEDS).ended == "ran"
    time.sleep(0.5)
    observation = assert_works(session)
    assert observation.notes == [
        "worker 1 ended between requests: signal SIGABRT", "new worker: worker 2 goes on"
    ]  # fmt: skip


@pytest.mark.parametrize("elements", [3, 10**6])
def test_a_worker_hung_between_requests_is_not_blamed_on_the_next(session, monkeypatch, elements):
    """With the GIL held, a small message stays unanswered, and a large one is not even taken from the pipe."""
    monkeypatch.setattr(link, "BEGIN_LIMIT", 1.0)
    monkeypatch.setattr(transport, "SEND_LIMIT", 1.0)
    assert session.observe(b"gil_later:run", FEEDS).ended == "ran"
    time.sleep(0.5)
    observation = session.observe(b"double", {"x": np.ones(elements, np.float32)})
    assert observation.ended == "ran"
    assert observation.outputs["y"].sum() == 2 * elements
    assert observation.notes[0].startswith("worker 1 ended between requests: ")


def test_restart_gives_a_fresh_worker_once(session, groups):
    session.observe(b"sticky:run", FEEDS)
    session.restart()
    assert session.worker == 2
    session.restart()
    assert session.worker == 2  # nothing has touched it yet
    assert left_after(groups, 1) == []
    assert_works(session)


def test_close_leaves_nobody(session, groups):
    session.observe(b"fork:run", FEEDS)
    assert len(group_members(groups)) == 2
    session.close()
    assert left_after(groups, 1) == []
    session.close()


def test_ctrl_c_comes_through_at_once(open_session, groups):
    session = open_session(deadlines={"run": 60})
    threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()
    start = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        session.observe(b"sleep:run", FEEDS)
    assert time.monotonic() - start < 1.5
    assert left_after(groups, 1) == []
    assert assert_works(session).worker == 2


PARENT = """
import sys
import numpy as np
from backends.worker import DeviceSession

session = DeviceSession(sys.argv[1], deadlines={"run": float(sys.argv[3])})
if sys.argv[2] != "gil:run":
    session.observe(b"fork:run", {"x": np.ones(3, np.float32)})
print(session.info.versions["pid"], flush=True)
if sys.argv[2] == "exit":
    sys.exit()
if sys.argv[2] == "idle":
    sys.stdin.read()
session.observe(sys.argv[2].encode(), {"x": np.ones(3, np.float32)})
"""


@pytest.mark.parametrize(
    ("behaviour", "deadline", "within"),
    [("idle", 60, 3), ("sleep:run", 60, 3), ("busy:run", 60, 3), ("gil:run", 2, 6)],
)
def test_a_killed_parent_leaves_no_orphans(groups, behaviour, deadline, within):
    """Beside the worker there is a forked grandchild, which keeps the pipe open. Where the GIL is held, no Python in
    the worker sees that the parent is gone, but its deadline ends it (it would leave the grandchild: there is none)."""
    command = [sys.executable, "-c", PARENT, f"{ADAPTERS}:Adapter", behaviour, str(deadline)]
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as parent:
        group = int(parent.stdout.readline())
        groups.add(group)
        time.sleep(0.3)
        assert len(group_members({group})) == (1 if behaviour == "gil:run" else 2)
        parent.kill()
        parent.wait()
    left = left_after({group}, within)
    for process in left:
        process.kill()
    assert left == []


@pytest.mark.skipif(sys.platform != "linux", reason="prctl")
def test_a_stopped_worker_goes_with_its_killed_parent(groups):
    command = [sys.executable, "-c", PARENT, f"{ADAPTERS}:Adapter", "idle", "60"]
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as parent:
        group = int(parent.stdout.readline())
        groups.add(group)
        os.killpg(group, signal.SIGSTOP)
        parent.kill()
        parent.wait()
    assert left_after({group}, 4) == []


def test_a_parent_that_forgets_to_close_leaves_nobody(groups):
    command = [sys.executable, "-c", PARENT, f"{ADAPTERS}:Adapter", "exit", "60"]
    start = time.monotonic()
    done = subprocess.run(command, cwd=ROOT, capture_output=True, check=True)
    assert time.monotonic() - start < 5
    assert left_after({int(done.stdout)}, 1) == []
    assert done.stderr == b""


def test_a_forgotten_session_ends_its_worker(groups):
    session = DeviceSession(f"{ADAPTERS}:Adapter")
    groups.add_current(session)
    assert len(group_members(groups)) == 1
    del session
    assert left_after(groups, 1) == []


def test_logs_are_removed(session, tmp_path, monkeypatch):
    """Of workers that were closed, and of those that crashed."""
    monkeypatch.setattr("tempfile.tempdir", None)
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    session.restart()
    session.observe(b"segfault:run", FEEDS)
    session.observe(b"segfault:run", FEEDS)
    assert len(list(tmp_path.glob("npu-cts-worker-*.log"))) == 1
    session.close()
    assert list(tmp_path.iterdir()) == []
