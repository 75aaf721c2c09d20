"""How a request ends, for everything that vendor code can do; and that the next request on the same session passes."""

from __future__ import annotations

import os
import time

import numpy as np
import pytest

from tests.worker.conftest import FEEDS, assert_works, left_after

pytestmark = pytest.mark.skipif(os.name != "posix", reason="signals and process groups of POSIX")


@pytest.mark.parametrize("phase", ["compile", "run"])
@pytest.mark.parametrize(
    ("behaviour", "exit_text"),
    [
        ("abort", "signal SIGABRT"),
        ("segfault", "signal SIGSEGV"),
        ("exit3", "exit code 3"),
        ("exit0", "exit code 0"),
        ("sigkill", "signal SIGKILL"),
        ("fork_segfault", "signal SIGSEGV"),
    ],
)
def test_crash(session, groups, behaviour, exit_text, phase):
    observation = session.observe(f"{behaviour}:{phase}".encode(), FEEDS)
    assert (observation.ended, observation.phase, observation.exit) == ("crash", phase, exit_text)
    assert observation.outputs == {}
    assert observation.worker == 1
    assert observation.notes == ["new worker: worker 2 goes on"]
    assert left_after(groups, 1) == []  # of the first worker's group, the grandchild included
    assert assert_works(session).worker == 2


@pytest.mark.parametrize("behaviour", ["sleep", "busy", "gil", "backtrack", "ignore", "fork_sleep"])
def test_hang(session, groups, behaviour):
    start = time.monotonic()
    observation = session.observe(f"{behaviour}:run".encode(), FEEDS)
    assert (observation.ended, observation.phase, observation.exit) == ("timeout", "run", "deadline 1 s in phase run")
    assert 0.9 < observation.seconds["run"] < 2.5
    assert time.monotonic() - start < 4
    assert "Timeout (0:00:01)!" in observation.log
    assert "adapters.py" in observation.log  # the traceback says where it hung
    assert left_after(groups, 1) == []
    assert_works(session)


def test_hang_in_compile(session):
    observation = session.observe(b"gil:compile", FEEDS)
    assert (observation.ended, observation.exit) == ("timeout", "deadline 1 s in phase compile")
    assert_works(session)


def test_stopped_process_meets_the_deadline_of_the_parent(open_session):
    session = open_session(grace=0.3)
    observation = session.observe(b"stop:run", FEEDS)
    assert (observation.ended, observation.exit) == ("timeout", "deadline 1 s in phase run")
    assert_works(session)


def test_deadlines_of_one_request_are_scaled(open_session):
    session = open_session(timeout_scale=0.5, deadlines={"run": 20})
    observation = session.observe(b"sleep:run", FEEDS, deadlines={"run": 1})
    assert observation.exit == "deadline 0.5 s in phase run"


def test_exit_code_1_before_the_deadline_is_a_crash(open_session):
    session = open_session()
    observation = session.observe(b"exit1:run", FEEDS)
    assert (observation.ended, observation.exit) == ("crash", "exit code 1")


def test_closed_pipe(session):
    observation = session.observe(b"close_pipe:run", FEEDS)
    assert (observation.ended, observation.phase) == ("crash", "run")
    assert observation.exit == "signal SIGKILL"  # its own watchdog, or the parent after it
    assert_works(session)


@pytest.mark.parametrize(
    ("behaviour", "ended", "phase", "error", "code"),
    [
        ("unsupported", "unsupported", "compile", "no such kernel", "QNN_3110"),
        ("compile_error", "compile_error", "compile", "finalise failed", "1002"),
        ("run_error", "run_error", "run", "DMA timeout", "0x7"),
        ("read_error", "run_error", "read", "cannot map", ""),
        ("out_of_memory", "out_of_memory", "allocate", "no TCM left", "12"),
        ("lost", "device_lost", "run", "PCIe link down", "-19"),
        ("surrogate_error", "run_error", "run", "\\udcff\\x1b[31m\\x00", "\\udc80"),
    ],
)
def test_backend_errors(session, behaviour, ended, phase, error, code):
    """The phase that the error names wins over the one in which it was raised."""
    observation = session.observe(f"{behaviour}:run".encode(), FEEDS)
    assert (observation.ended, observation.phase) == (ended, phase)
    assert (observation.error, observation.code) == (error, code)
    assert observation.accepted == (behaviour == "compile_error")
    assert observation.exit == ""
    assert assert_works(session).worker == 1


@pytest.mark.parametrize(
    ("behaviour", "error"),
    [
        ("unpicklable", "Unpicklable: holds a lock"),
        ("unprintable", "Unprintable: <its str() raises RuntimeError>"),
        ("unicode", "ValueError: Gerät \N{SNOWMAN} \\udcff kaputt"),
        ("system_exit", "SystemExit: 7"),
        ("interrupt", "KeyboardInterrupt: "),
        ("recursion", "RecursionError: deep"),
    ],
)
def test_other_exceptions_are_the_adapters(session, behaviour, error):
    observation = session.observe(f"{behaviour}:run".encode(), FEEDS)
    assert (observation.ended, observation.phase) == ("adapter_error", "run")
    assert observation.error.startswith(error)
    assert observation.error.endswith("in throws)")
    assert "Traceback (most recent call last)" in observation.log
    assert assert_works(session).worker == 1


def test_huge_text_is_cut(session):
    observation = session.observe(b"huge:run", FEEDS)
    assert observation.ended == "adapter_error"
    assert len(observation.error) < 9000
    assert len(observation.log) < 20_000
    assert "characters left out" in observation.error


@pytest.mark.parametrize(
    ("behaviour", "error"),
    [
        ("list", "TypeError: run returned list, not a dict of arrays"),
        ("none", "TypeError: run returned NoneType, not a dict of arrays"),
        ("wrong_name", "ValueError: run returned outputs named ['z'], executable.outputs names ['y']"),
        ("extra_name", "ValueError: run returned outputs named ['y', 'z'], executable.outputs names ['y']"),
        ("no_name", "ValueError: run returned outputs named [], executable.outputs names ['y']"),
        ("object_array", "TypeError: run returned an array of dtype object for output 'y', not a tensor"),
        ("not_array", "TypeError: run returned list for output 'y', not an array"),
        ("structured", "TypeError: run returned an array of dtype [('a', '<i4')] for output 'y', not a tensor"),
        ("wrong_inputs", "ValueError: executable.inputs names ['other'], which the model's inputs ['x'] do not have"),
        ("not_executable", "TypeError: compile returned NoneType, not an Executable"),
    ],
)
@pytest.mark.parametrize("name", ["Adapter", "InProcess"])
def test_rubbish_results(open_session, name, behaviour, error):
    session = open_session(name)
    observation = session.observe(behaviour.encode(), FEEDS)
    assert observation.ended == "adapter_error"
    assert observation.error.startswith(error)
    assert observation.outputs == {}
    assert_works(session)


@pytest.mark.parametrize("name", ["Adapter", "InProcess"])
def test_shapes_and_strings_are_left_to_the_judge(open_session, name):
    session = open_session(name)
    observation = session.observe(b"wrong_shape", FEEDS)
    assert observation.ended == "ran"
    assert observation.outputs["y"].shape == (7, 1)
    assert session.observe(b"strings", FEEDS).outputs["y"].tolist() == ["a", "bé"]


def test_a_bad_placement_is_noted_and_no_verdict(session):
    observation = session.observe(b"bad_placement", FEEDS)
    assert observation.ended == "ran"
    assert observation.placement is None
    assert observation.notes[0].startswith("placement() failed: KeyError: 'no evidence'")


def test_prints_belong_to_the_request(session):
    observation = session.observe(b"noise:run", FEEDS)
    for text in ("\\x00\\x01", "\\x80\\x81", "vendor banner", "stderr too", "through C stdio", "through Python"):
        assert text in observation.log
    assert observation.log.replace("\n", "").replace("\t", "").isprintable()
    assert assert_works(session).log == ""


def test_prints_before_a_crash_are_kept(session):
    observation = session.observe(b"noise_segfault:run", FEEDS)
    assert observation.exit == "signal SIGSEGV"
    assert "through C stdio" in observation.log
    assert "Fatal Python error: Segmentation fault" in observation.log


def test_a_flood_keeps_head_and_tail(session):
    observation = session.observe(b"flood:run", FEEDS)
    assert observation.log.startswith("HEAD")
    assert observation.log.endswith("TAIL")
    assert "bytes left out" in observation.log
    assert len(observation.log) < 9000


def test_compile_only(session):
    observation = session.observe(b"segfault:run", FEEDS, compile_only=True)
    assert (observation.ended, observation.phase) == ("compiled", "compile")
    assert [node.node for node in observation.placement] == ["double"]
    assert list(observation.seconds) == ["compile"]


def test_options_reach_compile(session):
    assert session.observe(b"options", FEEDS, options={"mode": "fast"}).error == "[('mode', 'fast')]"


def test_what_a_good_request_says(session):
    observation = assert_works(session)
    assert list(observation.seconds) == ["compile", "load", "run", "read"]
    assert observation.worker == 1
    assert observation.notes == []
    assert observation.outputs["y"].flags.writeable
    assert np.may_share_memory(observation.outputs["y"], FEEDS["x"]) is False
