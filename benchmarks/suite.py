"""How fast the operator suite is, beside ONNX's own backend runner, both under pytest on ONNX Runtime's CPU, in one run.

    python -m benchmarks.suite [--rounds 3]         cases per second of both, and the ratio
    python -m benchmarks.suite --simulated          the whole suite on the simulated device, as the README types it
    python -m benchmarks.suite --cost               what the harness costs beside the backend and the reference

Each round runs one after the other, as users would type them, each as a process of its own, start and collection included.
Cases are those that ran: skipped ones count for neither.
"""

from __future__ import annotations

import argparse
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import pytest
from tabulate import tabulate

ROOT = Path(__file__).parents[1]

ONNX_RUNNER = """
import onnx.backend.test
import onnxruntime.backend as backend

cases = onnx.backend.test.BackendTest(backend, __name__).test_cases
OnnxBackendNodeModelTest = cases["OnnxBackendNodeModelTest"]
"""
"""ONNX's node tests as its documentation runs them; its tests of whole models would be downloaded."""

OURS = ("suites/test_operators.py", "--backend=onnxruntime", "--expectations=onnxruntime")
"""Known failures are not repeated in fresh processes, as ONNX's runner repeats none."""

FASTER = 6.0
"""The least ratio wanted."""

HARNESS, WHOLE = 1e-3, 75.0
"""The most seconds wanted: of the harness a case, of the whole suite on the simulated device."""


class Timing(NamedTuple):
    """One run: tests that ran, and seconds from start to end."""

    cases: int
    seconds: float


def run(arguments: Sequence[str]) -> Timing:
    """A pytest run in a process of its own. Raises SystemExit where no test ran."""
    start = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *arguments],
        cwd=ROOT,
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    seconds = time.perf_counter() - start
    last = done.stdout.strip().splitlines()[-1] if done.stdout.strip() else ""
    ran = sum(int(count) for count in re.findall(r"(\d+) (?:passed|failed|xfailed)", last))
    if not ran:
        raise SystemExit(f"no test ran: pytest {' '.join(arguments)}: {last or done.stderr.strip()[-300:]}")
    return Timing(ran, seconds)


def side_by_side(rounds: int) -> bool:
    """Prints cases per second of ours and ONNX's, in turn; returns whether the ratio is as wanted."""
    with tempfile.TemporaryDirectory() as folder:
        theirs = Path(folder, "test_onnx_backend.py")
        theirs.write_text(ONNX_RUNNER)
        timings: dict[str, list[Timing]] = {"NPU-CTS": [], "ONNX": []}
        for _ in range(rounds):
            timings["ONNX"].append(run([str(theirs)]))
            timings["NPU-CTS"].append(run([*OURS, "--results", folder]))
    rates = {name: statistics.median(t.cases / t.seconds for t in found) for name, found in timings.items()}
    rows = [
        (name, found[0].cases, f"{statistics.median(t.seconds for t in found):.1f}", f"{rates[name]:.0f}")
        for name, found in timings.items()
    ]
    ratio = rates["NPU-CTS"] / rates["ONNX"]
    print(tabulate(rows, ["runner", "cases", "seconds", "cases per second"], disable_numparse=True))
    print(f"ratio {ratio:.1f} (wanted: at least {FASTER:g}), medians of {rounds}")
    return ratio >= FASTER


def simulated() -> bool:
    """Prints the time of the whole suite on the simulated device; returns whether it is as wanted."""
    with tempfile.TemporaryDirectory() as folder:
        timing = run(["suites", "--backend=sim", "--results", folder])
    print(f"pytest suites --backend=sim: {timing.cases:,} ran in {timing.seconds:.1f} s (wanted: {WHOLE:g})")
    return timing.seconds <= WHOLE


class Stopwatch:
    """A pytest plugin that adds up the CPU time in the backend and in the reference with its verification."""

    def __init__(self) -> None:
        self.spent = {"backend": 0.0, "reference": 0.0}
        self.tests = 0
        self.running = 0.0
        self._start = 0.0

    def pytest_configure(self) -> None:
        from backends.worker import DeviceSession
        from suites import judge

        self._wrap(DeviceSession, "observe", "backend")
        self._wrap(judge, "verify_outputs", "reference")

    def _wrap(self, owner: object, name: str, what: str) -> None:
        function = getattr(owner, name)

        def timed(*arguments: object, **options: object) -> object:
            start = time.process_time()
            try:
                return function(*arguments, **options)
            finally:
                self.spent[what] += time.process_time() - start

        setattr(owner, name, timed)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtestloop(self) -> object:
        start, before = time.process_time(), dict(self.spent)
        result = yield
        self.running = time.process_time() - start
        self.spent = {name: seconds - before[name] for name, seconds in self.spent.items()}
        return result

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.tests += report.when == "call"


def cost() -> bool:
    """Prints milliseconds of CPU time a case in one process; returns whether the harness costs as little as wanted."""
    watch = Stopwatch()
    with tempfile.TemporaryDirectory() as folder:
        arguments = [
            "suites/test_operators.py",
            "--backend=sim",
            "-q",
            "-n",
            "0",
            "--results",
            folder,
            "-p",
            "no:cacheprovider",
        ]
        pytest.main(arguments, plugins=[watch])
    harness = watch.running - sum(watch.spent.values())
    rows = [(name, f"{1e3 * s / watch.tests:.2f}") for name, s in {**watch.spent, "harness": harness}.items()]
    print(tabulate(rows, ["part", "ms a case"], disable_numparse=True))
    print(f"{watch.tests:,} cases; wanted of the harness: at most {1e3 * HARNESS:g} ms")
    return harness / watch.tests <= HARNESS


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3, metavar="N", help="rounds of both runners (default: 3)")
    parser.add_argument("--simulated", action="store_true", help="time the whole suite on the simulated device")
    parser.add_argument("--cost", action="store_true", help="measure the harness")
    options = parser.parse_args()
    if options.rounds < 1:
        parser.error(f"--rounds {options.rounds}: at least 1")
    if options.cost:
        return 0 if cost() else 1
    return 0 if (simulated() if options.simulated else side_by_side(options.rounds)) else 1


if __name__ == "__main__":
    sys.exit(main())
