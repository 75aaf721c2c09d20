"""A session's other promises: exercises, partners, the in-process twin, other interpreters, and words for the user."""

from __future__ import annotations

import os
import sys

import numpy as np
import pytest

from backends.worker import DeviceGone, DeviceSession
from tests.worker import adapters
from tests.worker.conftest import ADAPTERS, FEEDS, assert_works, left_after


@pytest.mark.parametrize("name", ["Adapter", "InProcess"])
def test_exercise(open_session, name):
    session = open_session(name)
    observation = session.exercise(adapters.addresses, b"double", FEEDS, 7, "text", np.int8([1]))
    assert (observation.ended, observation.phase) == ("ran", "read")
    evidence = observation.evidence
    assert (evidence["pid"] == os.getpid()) == (name == "InProcess")
    np.testing.assert_array_equal(evidence["first"], np.float32([2, 4, 6]))
    assert (evidence["big"], evidence["low"]) == (2**63, -(2**40))
    assert evidence["args"][:2] == (7, "text")
    assert evidence["args"][2].dtype == np.int8
    assert set(observation.seconds) == {"compile", "run", "read"}


@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
@pytest.mark.parametrize("phase", ["compile", "run"])
def test_a_crash_in_an_exercise_knows_its_phase(session, phase):
    observation = session.exercise(adapters.addresses, f"segfault:{phase}".encode(), FEEDS)
    assert (observation.ended, observation.phase, observation.exit) == ("crash", phase, "signal SIGSEGV")
    assert_works(session)


@pytest.mark.parametrize("name", ["Adapter", "InProcess"])
def test_evidence_that_cannot_be_sent(open_session, name):
    observation = open_session(name).exercise(adapters.unsendable, b"double", FEEDS)
    assert observation.ended == "adapter_error"
    assert "_thread.lock cannot be sent" in observation.error


def test_only_functions_that_the_worker_can_import(session):
    with pytest.raises(ValueError, match="not a module-level function"):
        session.exercise(lambda device, model, feeds: None, b"double", FEEDS)


def test_partner(open_session):
    session = open_session(device="two", partner=f"{ADAPTERS}:InProcess")
    assert session.partner_info.name == "one"
    assert session.exercise(adapters.both, b"double", FEEDS).evidence == ["two", "adapter"]


def test_what_the_session_knows(open_session):
    session = open_session(device="two")
    assert session.info.name == "two"
    assert session.info.versions["pid"] != str(os.getpid())
    assert session.capabilities.declares("Add", "float32") is True
    assert session.capabilities.alignment == 64
    assert session.fingerprint["conv"] is True
    assert session.probe() == session.fingerprint
    assert session.partner_info is None


@pytest.mark.parametrize("name", ["Adapter", "InProcess"])
@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"device": "three"}, "backend .* has no device 'three'; it has one, two"),
        ({"options": {"reject": "yes"}}, "unknown option 'reject'; known are dead, crash and coarse"),
    ],
)
def test_mistakes_of_the_user_are_told_in_the_backends_words(open_session, name, arguments, words):
    with pytest.raises(ValueError, match=words):
        open_session(name, **arguments)


def test_no_such_backend(open_session):
    with pytest.raises(ValueError, match="no class 'Nothing'"):
        open_session("Nothing")


def test_in_process(open_session):
    session = open_session("InProcess")
    assert session.info.versions["pid"] == str(os.getpid())
    assert assert_works(session).seconds.keys() == {"compile", "load", "run", "read"}
    assert session.observe(b"system_exit:run", FEEDS).error.startswith("SystemExit: 7")
    assert session.observe(b"lost:run", FEEDS).notes == ["reopen: worker 1 goes on"]
    session.restart()
    assert assert_works(session).worker == 2
    with pytest.raises(KeyboardInterrupt):
        session.observe(b"interrupt:run", FEEDS)
    assert_works(session)


def test_in_process_outputs_are_the_callers(open_session):
    session = open_session("InProcess")
    first = assert_works(session).outputs["y"]
    first[...] = 0
    assert_works(session)


def test_another_interpreter(open_session, monkeypatch):
    """As on a far side, the project has to be importable there; nothing of this process's sys.path is taken along."""
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(sys.path))
    session = open_session(place=f"popen//python={sys.executable}")
    assert_works(session)


def test_a_place_without_the_project(open_session, monkeypatch, tmp_path):
    monkeypatch.delenv("PYTHONPATH", raising=False)
    with pytest.raises(DeviceGone, match="No module named 'backends'"):  # -S: nor what is installed in this environment
        open_session(place=f"popen//python={sys.executable} -S//chdir={tmp_path}")
    with pytest.raises(DeviceGone, match=r"the worker did not start: .*/does/not/exist"):
        open_session(place="popen//python=/does/not/exist")
    with pytest.raises(ValueError, match="not an execnet spec"):
        open_session(place="board")


SSH = """#!{python}
# ssh -C host command: the far side is a process that sees of us only that its pipes close.
import os, subprocess, sys, threading

far = subprocess.Popen(sys.argv[3], shell=True, stdin=-1, stdout=-1, bufsize=0, start_new_session=True)

def pump(source, sink):
    while data := os.read(source, 65536):
        os.write(sink, data)

threading.Thread(target=pump, args=(0, far.stdin.fileno()), daemon=True).start()
pump(far.stdout.fileno(), 1)
code = far.wait()
os._exit(code if code >= 0 else 128 - code)  # as a shell reports signals
"""


@pytest.mark.skipif(os.name != "posix", reason="a script stands in for ssh")
def test_far_away(open_session, groups, monkeypatch, tmp_path):
    """Over a stand-in for ssh: no signal reaches the far side, which ends itself when the connection does."""
    (tmp_path / "ssh").write_text(SSH.format(python=sys.executable))
    (tmp_path / "ssh").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(sys.path))
    session = open_session(place=f"ssh=user@board//python={sys.executable}", grace=1.0)
    assert_works(session)
    crashed = session.observe(b"segfault:run", FEEDS)
    assert (crashed.ended, crashed.exit) == ("crash", "signal SIGSEGV")
    groups.add_current(session)
    assert assert_works(session).worker == 2
    assert session.observe(b"sleep:run", FEEDS).exit == "deadline 1 s in phase run"
    groups.add_current(session)
    assert assert_works(session).worker == 3
    session.close()
    assert left_after(groups, 3) == []


def test_arguments_that_cannot_be_sent_leave_the_worker_alone(session):
    with pytest.raises(TypeError, match="cannot be sent"):
        session.observe(b"double", {"x": object()})
    assert assert_works(session).worker == 1


def test_sessions_are_context_managers(groups):
    with DeviceSession(f"{ADAPTERS}:Adapter") as session:
        groups.add_current(session)
        assert_works(session)
