"""The one interface between the suite and a device stack: Backend → Device → Executable → Binding.

A vendor subclasses `Backend`, `Device`, `Executable` (and `Binding`/`Buffer` for zero-copy) in a file of their own and
runs `pytest suites --backend=file.py:Class`. This module needs NumPy alone.

Conventions
- A model is a serialised ONNX ModelProto (`bytes`); tensors are NumPy arrays; dtypes are named as NumPy and ml_dtypes name
  them ("float32", "bfloat16", "int4", "bool"); sizes, offsets, strides and alignments are in bytes; durations in seconds.
- Calls come from one thread, the main thread of the device worker.
- Failures are raised as one of the error classes below, with the vendor's code and text kept verbatim. Any other exception
  that leaves an adapter is reported as an error of the adapter, not of the device.
"""

from __future__ import annotations

import abc
import contextlib
import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Literal

import numpy as np

Phase = Literal["discover", "allocate", "compile", "load", "run", "read", "verify"]
PHASES: tuple[Phase, ...] = ("discover", "allocate", "compile", "load", "run", "read", "verify")
MemoryKind = Literal["host", "dmabuf", "nt_handle", "iosurface", "cl_mem", "dlpack"]
MapMode = Literal["r", "w", "rw"]
Options = Mapping[str, str]

FEATURES: Mapping[str, str] = {
    "allocate": "`Executable.allocate` gives buffers of the device's choice",
    "import": "`Device.import_` uses host memory in place",
    "strided-import": "`Device.import_` takes `ExternalMemory.strides`",
    "bind-outputs": "`Executable.bind` takes output buffers",
    "in-place": "one buffer may be bound to an input and to an output of the same shape and type",
    "view": "`Buffer.view` gives long-lived read-only views",
    "export": "`Buffer.export` gives a handle that `Device.import_` of the same stack takes",
    "dlpack": "buffers have `__dlpack__` and `__dlpack_device__`",
    "array-interface": "buffers have `__array_interface__`",
    "async": "`Binding.submit` may return before the work is done",
    "queues": "`Device.queue` gives queues whose work may overlap",
    "copies": "`Device.copies` counts",
    "compile-cache": "`Device.compile` takes the option `cache`, a folder",
    "deterministic": "the same executable gives the same bits for the same inputs",
    "threads": "calls may come from several threads at once",
}
"""What a device may declare beside operators, in `Capabilities.features`, and what each word means."""

LAYOUTS: Mapping[str, tuple[int, ...]] = {"NHWC": (0, 2, 3, 1), "OHWI": (0, 2, 3, 1), "NK": (1, 0)}
"""Layout of a compiled input or output → its axes, as a permutation of the model's: NCHW, OIHW, [K, N]. "NC1HWC0" is no
permutation: channels are split into C1 blocks of C0, the last one filled up with zeros, and the block's channels lie last."""


class BackendError(Exception):
    """What a device stack could not do. `phase` is where, `code` and `text` are the vendor's own words, verbatim."""

    default_phase: ClassVar[Phase] = "run"

    def __init__(self, text: str, *, phase: Phase | None = None, code: str = "") -> None:
        super().__init__(text)
        self.text = text
        self.phase: Phase = phase or self.default_phase
        self.code = code


class Unsupported(BackendError):
    """The runtime declined by its own query or by a documented error code. Nothing else may say so."""

    default_phase = "compile"


class CompileError(BackendError):
    """The model was not turned into an executable. `accepted` says that the runtime's own query had claimed it before."""

    default_phase = "compile"

    def __init__(self, text: str, *, phase: Phase | None = None, code: str = "", accepted: bool = False) -> None:
        super().__init__(text, phase=phase, code=code)
        self.accepted = accepted


class RunError(BackendError):
    """Binding, executing or reading back failed."""


class OutOfMemory(BackendError):
    """Device or host memory was exhausted; the device is expected to go on working."""

    default_phase = "allocate"


class DeviceLost(BackendError):
    """The device no longer answers; only reopening it, or a new process, can help."""


@dataclasses.dataclass(frozen=True)
class DeviceInfo:
    """One device that a backend found. `kind` keeps simulated, emulated and real results visibly apart everywhere."""

    backend: str
    name: str  # what `--device` selects, e.g. "NPU", "CPU", "generic"
    kind: Literal["simulated", "emulated", "hardware"]
    vendor: str = ""
    soc: str = ""
    firmware: str = ""
    driver: str = ""
    runtime: str = ""  # e.g. "onnxruntime 1.32.0"
    compiler: str = ""
    host: str = ""  # CPU and operating system that the runtime ran on
    power_mode: str = ""
    versions: Mapping[str, str] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True)
class Capabilities:
    """What a device declares. A field left at None is undeclared: it is probed once, never assumed.

    operators: operator type → dtypes of its first type constraint, e.g. {"Conv": {"float32", "float16"}}; domains other than
        ai.onnx are written "com.microsoft:Gelu".
    precision: tensor dtype, or class of operators and dtype, → rung of the arithmetic that computes it, or a rung with further
        declarations, e.g. {"float32": "fp32", "linear:float32": {"rung": "fp32", "rounding": "toward-zero"}}
        (docs/numerics.md).
    layouts: names of `LAYOUTS`, or "NC1HWC0", that the compile option `layout.TENSOR` takes.
    alignment: bytes that the address of an imported buffer must be a multiple of.
    size_multiple: bytes that the size of an imported buffer must be a multiple of.
    max_rank: largest rank of a tensor. dynamic_shapes: whether models may leave dimensions open.
    memory_kinds: what `Device.import_` and `Executable.allocate` take.
    features: words of `FEATURES`. Left at None, everything is tried, and what is declined is unsupported.
    optimizations: levels that the compile option `optimization` takes, from the one that rewrites the least on.
    """

    operators: Mapping[str, frozenset[str]] | None = None
    precision: Mapping[str, str | Mapping[str, Any]] | None = None
    layouts: frozenset[str] | None = None
    alignment: int | None = None
    size_multiple: int | None = None
    memory_kinds: frozenset[str] | None = None
    dynamic_shapes: bool | None = None
    max_rank: int | None = None
    features: frozenset[str] | None = None
    optimizations: tuple[str, ...] | None = None

    def declares(self, operator: str, dtype: str) -> bool | None:
        """True or False as declared, None where the device declares nothing about operators."""
        if self.operators is None:
            return None
        return dtype in self.operators.get(operator, frozenset())


@dataclasses.dataclass(frozen=True)
class NodePlacement:
    """Where the runtime says that one node ran; from its own evidence, never inferred."""

    node: str  # name of the node in the model that was compiled
    operator: str
    device: str  # the runtime's word, e.g. "QNNExecutionProvider", "NPU"
    on_device: bool  # False: fell back to another device than the one under test
    partition: int | None = None
    engine: str = ""


@dataclasses.dataclass(frozen=True)
class TensorSpec:
    """Shape, type and memory constraints of one compiled input or output. A dimension of None is dynamic.

    The shape is that of the memory: with the compile option `layout.TENSOR`, the shape in that layout.
    """

    name: str
    shape: tuple[int | None, ...]
    dtype: str
    strides: tuple[int, ...] | None = None  # bytes; None: contiguous, C order
    nbytes: int | None = None  # bytes to allocate, row pitch and vendor padding included; None while the shape is dynamic
    alignment: int = 1
    memory_kinds: frozenset[str] = frozenset({"host"})


@dataclasses.dataclass(frozen=True)
class ExternalMemory:
    """Memory that somebody else owns and the device is asked to use in place. `handle` is an address or an OS handle.

    strides: bytes between elements along each axis of the tensor that will be bound; None: as its `TensorSpec` says. All lie
    within `nbytes` bytes from `offset`, negative strides included: the first element is at `offset` plus `first`.
    """

    kind: MemoryKind
    handle: int
    offset: int
    nbytes: int
    strides: tuple[int, ...] | None = None
    first: int = 0


class Buffer(abc.ABC):
    """Memory of one tensor."""

    @abc.abstractmethod
    def map(self, mode: MapMode) -> contextlib.AbstractContextManager[np.ndarray]:
        """Context manager giving an array of the tensor's shape and dtype: contents visible on entry, flushed on exit."""

    def view(self) -> np.ndarray:
        """Read-only array over the same memory; it stays valid, and keeps the memory alive, for as long as it lives."""
        raise Unsupported("this backend offers no long-lived views", phase="read")

    @property
    def address(self) -> int | None:
        """Host address of the first byte, None where the memory has none."""
        return None

    def export(self, kind: MemoryKind) -> ExternalMemory:
        """A handle under which another stack may import this memory."""
        raise Unsupported(f"this backend cannot export memory as {kind}", phase="allocate")

    def release(self) -> None:  # noqa: B027  # nothing to do unless a backend says so
        """Give the memory back as soon as no view needs it. Idempotent."""


class Fence(abc.ABC):
    """Completion of submitted work."""

    @abc.abstractmethod
    def wait(self, timeout: float | None = None) -> None:
        """Block until the work is complete and its results are visible. Raises TimeoutError after `timeout` seconds."""

    @abc.abstractmethod
    def done(self) -> bool:
        """Whether the work is complete, without blocking."""


class Queue:
    """An ordered stream of submitted work. Backends with one implicit queue need no subclass."""


class Binding(abc.ABC):
    """An executable with buffers bound to all inputs and outputs."""

    outputs: Mapping[str, Buffer]

    @abc.abstractmethod
    def submit(self, queue: Queue | None = None, after: Sequence[Fence] = ()) -> Fence:
        """Run once, not before every fence in `after` is done."""

    def adopted(self, name: str) -> bool | None:
        """Whether the runtime uses the bound memory itself (True) or a copy (False); None: it cannot tell."""
        return None


class Executable(abc.ABC):
    """A compiled model."""

    device: Device

    @property
    @abc.abstractmethod
    def inputs(self) -> Sequence[TensorSpec]:
        """In the order of the model's graph inputs."""

    @property
    @abc.abstractmethod
    def outputs(self) -> Sequence[TensorSpec]:
        """In the order of the model's graph outputs."""

    def placement(self) -> Sequence[NodePlacement] | None:
        """Node → device from the runtime's own evidence, None where it gives none."""
        return None

    def allocate(self, name: str, kind: MemoryKind = "host") -> Buffer:
        """Memory of the device's choice for one input or output."""
        raise Unsupported(f"this backend does not allocate {kind} memory", phase="allocate")

    def bind(self, inputs: Mapping[str, Buffer], outputs: Mapping[str, Buffer] | None = None) -> Binding:
        """Bind buffers to names; `outputs` None leaves them to the runtime; the caller releases them as any others.

        Compile-only backends raise Unsupported.
        """
        raise Unsupported("this backend compiles only; it has nothing to run on", phase="load")

    def run(self, feeds: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """One inference with copies in and out: arrays by input name → arrays by output name, owned by the caller.

        Raises RunError for an input that is missing, or of another shape or type than its buffer.
        """
        missing = [spec.name for spec in self.inputs if spec.name not in feeds]
        if missing:
            raise RunError(f"no value for input {', '.join(missing)}", phase="load")
        buffers: list[Buffer] = []
        try:
            inputs: dict[str, Buffer] = {}
            for spec in self.inputs:
                array = np.asarray(feeds[spec.name])
                inputs[spec.name] = self.allocate(spec.name)
                buffers.append(inputs[spec.name])
                with inputs[spec.name].map("w") as target:
                    if (array.shape, array.dtype) != (target.shape, target.dtype):
                        what = f"{array.dtype}{list(array.shape)}, not {target.dtype}{list(target.shape)}"
                        raise RunError(f"input {spec.name} is {what}", phase="load")
                    target[...] = array
            binding = self.bind(inputs)
            buffers += binding.outputs.values()
            binding.submit().wait()
            results = {}
            for name, buffer in binding.outputs.items():
                with buffer.map("r") as source:
                    results[name] = np.array(source)
            return results
        finally:
            for buffer in buffers:
                buffer.release()

    def export(self) -> bytes:
        """The compiled artefact (context binary, blob) as the vendor's tools would store it."""
        raise Unsupported("this backend exports no compiled artefact", phase="compile")

    def release(self) -> None:  # noqa: B027
        """Free the compiled model. Idempotent."""


class Device(abc.ABC):
    """An opened device."""

    info: DeviceInfo

    @abc.abstractmethod
    def compile(self, model: bytes, options: Options | None = None) -> Executable:
        """Compile a serialised ONNX ModelProto. Raises Unsupported, CompileError, OutOfMemory, DeviceLost.

        Options that the suite itself gives, which a backend may decline with Unsupported: `layout.TENSOR` = a layout that the
        capabilities name, for one input or output; `cache` = a folder in which compiled models are kept; `optimization` = a
        level that the capabilities name.
        """

    def capabilities(self) -> Capabilities:
        """What this device declares about itself."""
        return Capabilities()

    def queue(self) -> Queue:
        """A new queue, for backends that have more than the implicit one."""
        return Queue()

    def import_(self, memory: ExternalMemory) -> Buffer:
        """Use somebody else's memory in place.

        Raises Unsupported for a kind, an address, a size or strides that the device does not take. Where the runtime takes
        them but works on a copy, `Binding.adopted` says so.
        """
        raise Unsupported(f"this backend cannot import {memory.kind} memory", phase="allocate")

    def probe(self) -> dict[str, Any]:
        """Health by value and a fingerprint of the precision in use (`backends.probe`). Raises what compile and run raise."""
        from backends.probe import fingerprint  # needs onnx, which this module must not

        return fingerprint(self)

    def copies(self) -> int | None:
        """Tensor copies between host and device since opening, None where the stack cannot count them."""
        return None

    def allocated(self) -> int | None:
        """Bytes of device memory in use, None where the stack cannot tell."""
        return None

    def clock(self) -> float | None:
        """Seconds on a clock of the device's own that includes everything submitted and waited for; None: the host's counts."""
        return None

    def close(self) -> None:  # noqa: B027
        """Release the device. Idempotent."""


class Backend(abc.ABC):
    """A device stack. Construction must not load vendor libraries; `discover` and `open` may.

    name: what `--backend` selects. needs: what has to be there, in words, for `--list-backends`. extra: the pip extra that
    brings it. in_process: run without a device worker (only for stacks that cannot take the process down).
    """

    name: ClassVar[str]
    needs: ClassVar[str] = ""
    extra: ClassVar[str] = ""
    in_process: ClassVar[bool] = False

    def unavailable(self) -> str | None:
        """None when this backend can run here, else one line that says what is missing. Must not load vendor libraries."""
        return None

    def runs_in_process(self, options: Options) -> bool:
        """Whether a device opened with these options can do without a worker."""
        return self.in_process

    def shares(self, device: str | None, options: Options) -> bool:
        """Whether several processes may each open this device (None: the default one) and compute on it at once, none of them
        noticing but by its times, as with the CPU of the host."""
        return self.runs_in_process(options)

    @abc.abstractmethod
    def discover(self) -> list[DeviceInfo]:
        """Devices usable here, the default one first."""

    @abc.abstractmethod
    def open(self, info: DeviceInfo, options: Options) -> Device:
        """Open one device. Options are the user's `--backend-option key=value`; an unknown key is a ValueError naming it."""
