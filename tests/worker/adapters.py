"""Backends that misbehave in every way that real vendor code was seen or feared to.

The model of a request is not ONNX but the name of a behaviour, e.g. b"segfault:run"; the part after the colon is the
phase in which it shows ("compile" or "run"). b"double" doubles its input and is right.
"""

from __future__ import annotations

import ctypes
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from backends.interface import (
    Backend,
    Capabilities,
    CompileError,
    Device,
    DeviceInfo,
    DeviceLost,
    Executable,
    NodePlacement,
    OutOfMemory,
    RunError,
    TensorSpec,
    Unsupported,
)

NOISE = bytes(range(256)) + b"\xff\xfe\xfd vendor banner\n"
STICKY = {"wrong": False, "gone": False}


class Unpicklable(Exception):
    """Holds what no process can send to another."""

    def __init__(self) -> None:
        super().__init__("holds a lock")
        self.lock = threading.Lock()


class Unprintable(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no text for you")


def fork_sleeper() -> None:
    """A grandchild that keeps every descriptor of its parent, the channel's pipe included."""
    if os.fork() == 0:
        time.sleep(300)
        os._exit(0)


def hold_gil() -> None:
    """Sleep in C without giving the GIL away."""
    ctypes.PyDLL(None).sleep(300)


def backtrack() -> None:
    """A catastrophic regular expression: pure C that never comes back."""
    re.match(r"(a+)+$", "a" * 64 + "b")


def busy() -> None:
    while True:
        pass


def ignore_signals() -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    time.sleep(300)


def stop_itself() -> None:
    """Not even faulthandler's thread runs any more: only the parent's deadline is left."""
    os.kill(os.getpid(), signal.SIGSTOP)


def round_towards_zero() -> None:
    """The floating-point mode of this thread, for good."""
    ctypes.CDLL("libm.so.6").fesetround(0xC00)  # FE_TOWARDZERO of x86


def print_noise() -> None:
    os.write(1, NOISE)
    os.write(2, b"stderr too\n")
    ctypes.CDLL(None).printf(b"through C stdio\n")
    print("through Python")


def print_a_lot() -> None:
    os.write(1, b"HEAD" + b"x" * 100_000 + b"TAIL")


def close_the_pipe() -> None:
    """Daemon-like vendor code that closes every descriptor it does not know."""
    os.closerange(3, 256)
    time.sleep(300)


def die_later() -> None:
    """The reply is sent; a vendor thread brings the process down afterwards."""
    threading.Timer(0.2, os.abort).start()


def leave_the_gil_held() -> None:
    """The reply is sent; then a vendor thread never gives the GIL back."""
    threading.Timer(0.2, hold_gil).start()


def exits(code: int) -> None:
    os._exit(code)


def throws(error: BaseException) -> None:
    raise error


ACTIONS: dict[str, Any] = {
    "abort": os.abort,
    "segfault": lambda: ctypes.string_at(0),
    "exit3": lambda: exits(3),
    "exit0": lambda: exits(0),
    "exit1": lambda: exits(1),
    "sigkill": lambda: os.kill(os.getpid(), signal.SIGKILL),
    "sleep": lambda: time.sleep(300),
    "busy": busy,
    "gil": hold_gil,
    "backtrack": backtrack,
    "ignore": ignore_signals,
    "stop": stop_itself,
    "fork": fork_sleeper,
    "fork_segfault": lambda: (fork_sleeper(), ctypes.string_at(0)),
    "fork_sleep": lambda: (fork_sleeper(), time.sleep(300)),
    "noise": print_noise,
    "flood": print_a_lot,
    "noise_segfault": lambda: (print_noise(), ctypes.string_at(0)),
    "rounding": round_towards_zero,
    "sticky": lambda: STICKY.update(wrong=True),
    "gone": lambda: STICKY.update(gone=True),
    "close_pipe": close_the_pipe,
    "die_later": die_later,
    "gil_later": leave_the_gil_held,
    "unsupported": lambda: throws(Unsupported("no such kernel", code="QNN_3110")),
    "compile_error": lambda: throws(CompileError("finalise failed", code="1002", accepted=True)),
    "run_error": lambda: throws(RunError("DMA timeout", code="0x7")),
    "read_error": lambda: throws(RunError("cannot map", phase="read")),
    "out_of_memory": lambda: throws(OutOfMemory("no TCM left", code="12")),
    "lost": lambda: throws(DeviceLost("PCIe link down", code="-19")),
    "surrogate_error": lambda: throws(RunError("\udcff\x1b[31m\x00", code="\udc80")),
    "unpicklable": lambda: throws(Unpicklable()),
    "unprintable": lambda: throws(Unprintable()),
    "unicode": lambda: throws(ValueError("Gerät \N{SNOWMAN} \udcff kaputt")),
    "huge": lambda: throws(ValueError("y" * 5_000_000)),
    "system_exit": lambda: throws(SystemExit(7)),
    "interrupt": lambda: throws(KeyboardInterrupt()),
    "recursion": lambda: throws(RecursionError("deep")),
}
RESULTS: dict[str, Any] = {
    "list": [1, 2],
    "none": None,
    "wrong_name": {"z": np.zeros(3, np.float32)},
    "extra_name": {"y": np.zeros(3, np.float32), "z": np.zeros(3, np.float32)},
    "no_name": {},
    "object_array": {"y": np.array([object()])},
    "not_array": {"y": [1.0, 2.0]},
    "structured": {"y": np.zeros(2, [("a", "i4")])},
    "wrong_shape": {"y": np.zeros((7, 1), np.float32)},
    "strings": {"y": np.array(["a", "b\u00e9"], dtype=object)},
}


class AdapterExecutable(Executable):
    def __init__(self, device: AdapterDevice, behaviour: str, phase: str) -> None:
        self.device = device
        self.behaviour = behaviour
        self.phase = phase

    @property
    def inputs(self) -> Sequence[TensorSpec]:
        if self.behaviour == "wrong_inputs":
            return [TensorSpec("other", (3,), "float32")]
        return [TensorSpec("x", (3,), "float32")]

    @property
    def outputs(self) -> Sequence[TensorSpec]:
        return [TensorSpec("y", (3,), "float32")]

    def placement(self) -> list[NodePlacement]:
        if self.behaviour == "bad_placement":
            raise KeyError("no evidence")
        return [NodePlacement("double", "Add", "adapter", on_device=True)]

    def run(self, feeds: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        if self.phase == "run" and self.behaviour in ACTIONS:
            ACTIONS[self.behaviour]()
        if self.behaviour in RESULTS:
            return RESULTS[self.behaviour]
        self.device.require_life()
        doubled = feeds["x"] * 2
        return {"y": doubled + 1 if STICKY["wrong"] else doubled}


class AdapterDevice(Device):
    def __init__(self, info: DeviceInfo, options: Mapping[str, str]) -> None:
        self.info = info
        self.options = options

    def capabilities(self) -> Capabilities:
        return Capabilities(operators={"Add": frozenset({"float32"})}, alignment=64)

    def require_life(self) -> None:
        """DeviceLost until it is opened again; with option dead, for as long as the file is there."""
        if STICKY["gone"] or os.path.exists(self.options.get("dead", "")):
            raise DeviceLost("no answer")

    def compile(self, model: bytes, options: Mapping[str, str] | None = None) -> AdapterExecutable:
        self.require_life()
        behaviour, _, phase = model.decode().partition(":")
        if behaviour == "options":
            raise CompileError(repr(sorted((options or {}).items())))
        if phase == "compile" and behaviour in ACTIONS:
            ACTIONS[behaviour]()
        if behaviour == "not_executable":
            return None  # type: ignore[return-value]
        return AdapterExecutable(self, behaviour, phase)

    def probe(self) -> dict[str, Any]:
        """By value, like the real one: what doubling gives, and a product that the rounding mode decides."""
        self.require_life()
        y = self.compile(b"double").run({"x": np.float32([1, 2, 3])})["y"]
        tie = np.float32([1 + 2.0**-12]) * np.float32([1 + 3 * 2.0**-12])
        coarse = os.path.exists(self.options.get("coarse", ""))
        return {"conv": bool((y == [2, 4, 6]).all()), "mul_rounding": 1.0 if coarse else float(tie[0])}


class Adapter(Backend):
    """Two devices, "one" and "two". Options name files, whose presence switches on: dead (every request is DeviceLost),
    crash (opening crashes), coarse (the probe sees a reduced precision); reject is unknown."""

    name = "adapter"

    def discover(self) -> list[DeviceInfo]:
        return [DeviceInfo("adapter", name, "simulated", versions={"pid": str(os.getpid())}) for name in ("one", "two")]

    def open(self, info: DeviceInfo, options: Mapping[str, str]) -> AdapterDevice:
        if "reject" in options:
            raise ValueError("unknown option 'reject'; known are dead, crash and coarse")
        if os.path.exists(options.get("crash", "")):
            os.abort()
        STICKY["gone"] = False
        device = AdapterDevice(info, options)
        device.require_life()
        return device


class InProcess(Adapter):
    """The same, to be run without a worker."""

    name = "adapter-in-process"
    in_process: ClassVar[bool] = True


def addresses(device: AdapterDevice, model: bytes, feeds: Mapping[str, np.ndarray], *args: Any) -> dict[str, Any]:
    """An exercise: runs twice and says where."""
    executable = device.compile(model)
    first, second = executable.run(feeds)["y"], executable.run(feeds)["y"]
    return {"pid": os.getpid(), "first": first, "second": second, "args": args, "big": 2**63, "low": -(2**40)}


def both(device: AdapterDevice, model: bytes, feeds: Mapping[str, np.ndarray], *, partner: Device) -> list[str]:
    return [device.info.name, partner.info.backend]


def unsendable(device: AdapterDevice, model: bytes, feeds: Mapping[str, np.ndarray]) -> object:
    return threading.Lock()


def spawn(device: AdapterDevice, model: bytes, feeds: Mapping[str, np.ndarray]) -> int:
    """A vendor's helper process in the worker's group."""
    return subprocess.Popen([sys.executable, "-c", "import time; time.sleep(300)"]).pid
