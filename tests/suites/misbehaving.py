"""A stack outside the tree that computes on ONNX Runtime and misbehaves as option `how` says when it meets Softmax."""

from __future__ import annotations

import ctypes
import os
import time
from collections.abc import Mapping

import numpy as np
import onnx

from backends.interface import (
    Backend,
    Capabilities,
    CompileError,
    Device,
    DeviceInfo,
    DeviceLost,
    Executable,
    Options,
    OutOfMemory,
    TensorSpec,
    Unsupported,
)
from backends.onnxruntime import OnnxRuntimeBackend

WAYS = (
    "abort", "segfault", "exit", "sleep", "spin", "rubbish", "raise", "downcast", "sticky", "wrong", "late",
    "compile_error", "accepted", "unsupported", "overclaim", "lost", "memory", "noise", "slow", "brick", "half_an_error",
    "damage",
)  # fmt: skip


class Misbehaving(Backend):
    name = "misbehaving"

    def discover(self) -> list[DeviceInfo]:
        return [DeviceInfo(self.name, "toy", "emulated", vendor="nobody", runtime="onnxruntime")]

    def open(self, info: DeviceInfo, options: Options) -> Device:
        if set(options) - {"how", "switch"} or options.get("how") not in WAYS:
            raise ValueError(f"option how must be one of {', '.join(WAYS)}")
        if "switch" in options:
            os.environ["SWITCH"] = options["switch"]
            if os.path.exists(options["switch"]):
                raise DeviceLost("the device does not come back")
        return MisbehavingDevice(info, options["how"])


class MisbehavingDevice(Device):
    def __init__(self, info: DeviceInfo, how: str) -> None:
        self.info = info
        self.how = how
        self.spoilt = False
        backend = OnnxRuntimeBackend()
        self.inner = backend.open(backend.discover()[0], {"threads": "1"})

    def capabilities(self) -> Capabilities:
        return Capabilities(operators={"Softmax": frozenset({"float32"})} if self.how == "overclaim" else None)

    def compile(self, model: bytes, options: Options | None = None) -> Executable:
        meets = any(node.op_type == "Softmax" for node in onnx.load_from_string(model).graph.node)
        if meets and self.how in ("unsupported", "overclaim"):
            raise Unsupported("no Softmax here", code="E_DECLINED")
        if meets and self.how in ("compile_error", "accepted"):
            raise CompileError("graph finalisation failed", code="1002", accepted=self.how == "accepted")
        return MisbehavingExecutable(self, self.inner.compile(model, options), meets)


class MisbehavingExecutable(Executable):
    def __init__(self, device: MisbehavingDevice, inner: Executable, meets: bool) -> None:
        self.device: MisbehavingDevice = device
        self.inner = inner
        self.meets = meets

    @property
    def inputs(self) -> list[TensorSpec]:
        return list(self.inner.inputs)

    @property
    def outputs(self) -> list[TensorSpec]:
        return list(self.inner.outputs)

    def run(self, feeds: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        how = self.device.how
        if how == "slow":
            time.sleep(0.02)
        if self.meets and how in HARD:
            HARD[how]()
        if how == "damage" and self.device.spoilt and not self.meets:
            raise AttributeError("what an earlier case damaged")
        if self.meets and how == "rubbish":
            return ["not", "a", "dictionary"]  # type: ignore[return-value]
        if how == "late" and self.meets and self.device.spoilt:
            return {name: y + np.asarray(1, y.dtype) for name, y in self.inner.run(feeds).items()}
        outputs = self.inner.run(feeds)
        if how == "wrong" and self.meets:
            return {name: y + np.asarray(1, y.dtype) for name, y in outputs.items()}
        if (how == "sticky" and self.device.spoilt) or how == "downcast":
            outputs = {
                name: y.astype(np.float16).astype(y.dtype) if y.dtype == np.float32 else y for name, y in outputs.items()
            }
        self.device.spoilt = self.device.spoilt or self.meets
        return outputs


def _raise(error: Exception) -> None:
    raise error


def _brick() -> None:
    open(os.environ["SWITCH"], "w").close()
    os.abort()


class HalfAnError(Unsupported):
    """An easy mistake: the base class's constructor was not called."""

    def __init__(self) -> None:
        pass


HARD = {
    "brick": _brick,
    "half_an_error": lambda: _raise(HalfAnError()),
    "abort": os.abort,
    "segfault": lambda: ctypes.string_at(0),
    "exit": lambda: os._exit(3),
    "sleep": lambda: time.sleep(10_000),
    "spin": lambda: [None for _ in iter(int, 1)],
    "raise": lambda: _raise(KeyError("an adapter's own mistake")),
    "lost": lambda: _raise(DeviceLost("the device fell off the bus")),
    "memory": lambda: _raise(OutOfMemory("no memory left", code="ENOMEM")),
    "noise": lambda: os.write(1, bytes(range(256)) * 40) and None,
}
