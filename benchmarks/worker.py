"""What the isolation of devices in workers costs: per call, and per restart after a crash.

    python -m benchmarks.worker [--calls 1000] [--backend qnn ...]

Rows: a trivial adapter in process and in a worker, then each further backend that can be opened here (restart only).
"call" is one observe of a model that doubles three numbers; "restart" ends the worker, starts another, opens the device
and probes it; "probe" is a second probe, vendor libraries warm. Medians, of restarts and probes over 5.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable

import numpy as np
from tabulate import tabulate

from backends.interface import Backend, Device, DeviceInfo, Executable, TensorSpec
from backends.worker import DeviceGone, DeviceSession

RESTARTS = 5
FEEDS = {"x": np.float32([1, 2, 3])}


class Doubling(Executable):
    inputs = (TensorSpec("x", (3,), "float32"),)
    outputs = (TensorSpec("y", (3,), "float32"),)

    def run(self, feeds):
        return {"y": feeds["x"] * 2}


class TrivialDevice(Device):
    def __init__(self, info):
        self.info = info

    def compile(self, model, options=None):
        return Doubling()

    def probe(self):
        return {"conv": True}


class Trivial(Backend):
    """Does nothing that takes time."""

    name = "trivial"

    def discover(self):
        return [DeviceInfo("trivial", "trivial", "simulated")]

    def open(self, info, options):
        return TrivialDevice(info)


def milliseconds(function: Callable[[], object]) -> float:
    start = time.perf_counter()
    function()
    return (time.perf_counter() - start) * 1e3


def restarts(session: DeviceSession) -> tuple[float, float]:
    """Medians in milliseconds of a restart, its probe included, and of another probe after it."""
    again, probes = [], []
    for _ in range(RESTARTS):
        session.observe(b"", FEEDS)  # restart() keeps a worker that has served nothing
        again.append(milliseconds(session.restart))
        probes.append(milliseconds(session.probe))
    return statistics.median(again), statistics.median(probes)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--calls", type=int, default=1000)
    parser.add_argument("--backend", action="append", help="default: qnn")
    arguments = parser.parse_args()
    rows = []
    for where, in_process in (("in process", True), ("worker", False)):
        with DeviceSession(f"{__file__}:Trivial", in_process=in_process) as session:
            call = statistics.median(milliseconds(lambda: session.observe(b"", FEEDS)) for _ in range(arguments.calls))
            rows.append(["trivial", where, call, *restarts(session)])
    for backend in arguments.backend or ["qnn"]:
        try:
            with DeviceSession(backend, in_process=False) as session:
                rows.append([backend, "worker", None, *restarts(session)])
        except (DeviceGone, ValueError) as error:
            rows.append([backend, f"not here: {error}"])
    print(tabulate(rows, ["backend", "where", "call ms", "restart ms", "probe ms"], floatfmt=".3f", missingval="-"))


if __name__ == "__main__":
    main()
