"""A run that is killed, over and over, loses the case in flight and nothing else, and leaves no process behind."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time

import psutil
import pytest

from results import journal
from results.verdict import Verdict
from tests.suites.test_command_line import ROOT, only_journal, run

KILLS = 20
SUITE = "suites/test_operators.py"
SELECTION = ("--ops", "Add,Sub,Mul,Div", "--backend-option", "how=slow")
BACKEND = f"{ROOT}/tests/suites/misbehaving.py:Misbehaving"


def lines(folder):
    """How many whole lines the journal in `folder` has, 0 before there is one."""
    return sum(path.read_bytes().count(b"\n") for path in folder.glob("*.jsonl"))


def start(folder, *arguments):
    return subprocess.Popen(
        [
            sys.executable,
            "-m",
            "pytest",
            SUITE,
            f"--backend={BACKEND}",
            "-p",
            "no:cacheprovider",
            "-q",
            f"--results={folder}",
            *SELECTION,
            *arguments,
        ],
        cwd=ROOT,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


@pytest.mark.skipif(os.name == "nt", reason="SIGKILL")
def test_twenty_kills(tmp_path):
    chance = random.Random(7)
    resume = ()
    completed = 0
    for kill in range(KILLS):
        before = lines(tmp_path)
        process = start(tmp_path, *resume)
        target = before + chance.randrange(1, 16)
        deadline = time.monotonic() + 60
        while lines(tmp_path) < target and process.poll() is None and time.monotonic() < deadline:
            time.sleep(chance.uniform(0.0, 0.004))
        family = [process.pid, *(child.pid for child in psutil.Process(process.pid).children(recursive=True))]
        process.send_signal(signal.SIGKILL)
        process.wait(30)
        (path,) = tmp_path.glob("*.jsonl")
        read = journal.read(path)
        assert len(read.in_flight) <= kill + 1
        assert len(read.records) >= completed
        assert {r.verdict for r in read.records} <= {Verdict.PASS}
        assert len({r.test for r in read.records}) == len(read.records), "a case ran twice"
        completed = len(read.records)
        resume = ("--resume", str(path))
        _, alive = psutil.wait_procs([psutil.Process(p) for p in family if psutil.pid_exists(p)], timeout=10)
        assert not alive, f"{alive} outlived the run"
    assert completed > 0
    done = run(*SELECTION, *resume, results=tmp_path, backend=BACKEND, suite=SUITE)
    assert done.returncode == 0, done.stdout
    read = only_journal(tmp_path)
    assert read.complete
    assert len(read.by_test) == len(read.records) > completed
