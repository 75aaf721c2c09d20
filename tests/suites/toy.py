"""A device in NumPy that keeps to the interface, and does not as soon as option `how` names one of `FAULTS`."""

from __future__ import annotations

import ctypes
import itertools
import threading
from collections.abc import Mapping, Sequence

import numpy as np
import onnx
from onnx import numpy_helper

from backends.elements import memory as array_at
from backends.host import CompletedFence, HostBuffer
from backends.interface import (
    Backend,
    Binding,
    Buffer,
    Capabilities,
    Device,
    DeviceInfo,
    Executable,
    ExternalMemory,
    Fence,
    Options,
    OutOfMemory,
    Queue,
    RunError,
    TensorSpec,
    Unsupported,
)

FAULTS = (
    "stale_input", "copied", "bind_copies", "beyond", "before", "elsewhere", "unwritten_tail", "unwritten", "fence_early",
    "first_run", "leak", "handles", "recycled", "too_small", "type_taken", "input_overwritten", "view_writable", "order",
    "alias", "held", "noise", "understated", "padding", "memory_error", "not_given_back", "shared_output", "rounds_address",
    "dlpack_copy", "export_copy", "two_outputs", "stale_map", "stale_view", "forgets_buffers", "threads", "shared_state",
)  # fmt: skip

CAPACITY = 64 * 2**20
OPERATORS = {
    "Relu": lambda x: (np.maximum(x, x.dtype.type(0)),),
    "Neg": lambda x: (-x,),
    "Add": lambda a, b: (a + b,),
    "Transpose": lambda x: (np.ascontiguousarray(x.T),),
    "Split": lambda x: tuple(np.split(x, 2)),
    "Slice": lambda x, starts, ends, axes: (x[int(starts[0]) : int(ends[0])],),
}


class ToyBackend(Backend):
    name = "toy"
    in_process = True

    def discover(self) -> list[DeviceInfo]:
        return [DeviceInfo(self.name, "toy", "simulated", runtime="numpy")]

    def open(self, info: DeviceInfo, options: Options) -> Device:
        how = options.get("how", "")
        assert how in ("", *FAULTS), how
        return ToyDevice(info, how)


class ToyBuffer(HostBuffer):
    def __init__(self, device: ToyDevice, array: np.ndarray, memory: ExternalMemory | None = None) -> None:
        super().__init__(array)
        self.device = device
        self.memory = memory
        self.nbytes = 0 if memory else array.nbytes
        self.shadow = array.copy() if device.how == "stale_map" else None

    def map(self, mode):
        if self.shadow is not None and self.memory is None:
            self.array  # noqa: B018  # raises after release
            return HostBuffer(self.shadow).map(mode) if mode == "r" else super().map(mode)
        return super().map(mode)

    def view(self) -> np.ndarray:
        if self.device.how == "view_writable":
            return self.array.view()
        if self.device.how == "stale_view":
            copy = self.array.copy()
            copy.flags.writeable = False
            return copy
        return super().view()

    def export(self, kind):
        array = self.array.copy() if self.device.how == "export_copy" else self.array
        self.device.kept.append(array)
        return ExternalMemory("host", array.ctypes.data, 0, array.nbytes)

    def __dlpack__(self, *, stream=None):
        return (self.array.copy() if self.device.how == "dlpack_copy" else self.array).__dlpack__()

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()

    def release(self) -> None:
        if self._array is None:
            return
        if self.device.how == "recycled":
            self.device.pool.setdefault((self.array.shape, self.array.dtype.str), []).append(self.array)
        if self.device.how != "not_given_back":
            self.device.in_use -= self.nbytes
        super().release()

    def __del__(self) -> None:
        self.release()


class ToyDevice(Device):
    def __init__(self, info: DeviceInfo, how: str) -> None:
        self.info = info
        self.how = how
        self.in_use = 0
        self.copied = 0
        self.pool: dict[tuple, list[np.ndarray]] = {}
        self.kept: list = []

    def capabilities(self) -> Capabilities:
        features = {"allocate", "import", "strided-import", "bind-outputs", "view", "export", "dlpack", "async", "queues"}
        features |= {"copies", "deterministic", "threads"}
        alignment = 4 if self.how == "understated" else 1
        return Capabilities(precision={"float32": "fp32"}, alignment=alignment, features=frozenset(features))

    def compile(self, model: bytes, options: Options | None = None) -> Executable:
        graph = onnx.load_from_string(model).graph
        if graph.node[0].op_type not in OPERATORS:
            raise Unsupported(f"no {graph.node[0].op_type}")
        if self.how == "leak":
            self.in_use += 64
        if self.how == "handles":
            self.kept.append(open(__file__))  # noqa: SIM115
        return ToyExecutable(self, graph)

    def import_(self, memory: ExternalMemory) -> Buffer:
        address = memory.handle + memory.offset
        if self.how == "understated" and address % 16:
            raise Unsupported("not aligned to 16 bytes", phase="allocate")
        if self.how == "rounds_address":
            address -= address % 16
        return ToyBuffer(self, array_at(address, memory.nbytes), memory)

    def copies(self) -> int:
        return self.copied

    def allocated(self) -> int:
        return self.in_use

    def take(self, shape, dtype) -> ToyBuffer:
        nbytes = int(np.prod(shape)) * np.dtype(dtype).itemsize
        if self.in_use + nbytes > CAPACITY:
            raise RunError("allocation failed") if self.how == "memory_error" else OutOfMemory("memory is full")
        self.in_use += nbytes
        waiting = self.pool.get((tuple(shape), np.dtype(dtype).str))
        return ToyBuffer(self, waiting.pop() if waiting else np.zeros(shape, dtype))


class ToyExecutable(Executable):
    def __init__(self, device: ToyDevice, graph: onnx.GraphProto) -> None:
        self.device = device
        self.operator = graph.node[0].op_type
        self.constants = [numpy_helper.to_array(tensor) for tensor in graph.initializer]
        self._inputs, self._outputs = [spec_of(v) for v in graph.input], [spec_of(v) for v in graph.output]
        self.runs = 0
        self.returned: dict[str, np.ndarray] = {}
        self.scratch: dict[str, np.ndarray] = {}
        self.own: dict[str, ToyBuffer] = {}
        self.released = False

    @property
    def inputs(self) -> Sequence[TensorSpec]:
        return self._inputs

    @property
    def outputs(self) -> Sequence[TensorSpec]:
        return self._outputs

    def allocate(self, name, kind="host") -> Buffer:
        spec = next(s for s in (*self._inputs, *self._outputs) if s.name == name)
        return self.device.take(spec.shape, spec.dtype)

    def bind(self, inputs, outputs=None) -> Binding:
        return ToyBinding(self, inputs, outputs)

    def run(self, feeds):
        if self.released:
            raise RunError("the executable was released")
        if self.device.how == "threads":  # the inputs of one call are another's, if both are in here
            self.scratch = dict(feeds)
            threading.Event().wait(0.001)
            feeds = self.scratch
        results = super().run(feeds)
        if self.device.how == "held":
            for name, array in results.items():
                self.returned.setdefault(name, array)[...] = array
            return dict(self.returned)
        return results

    def release(self) -> None:
        self.released = True


def spec_of(value: onnx.ValueInfoProto) -> TensorSpec:
    kind = value.type.tensor_type
    dtype = onnx.helper.tensor_dtype_to_np_dtype(kind.elem_type)
    shape = tuple(d.dim_value for d in kind.shape.dim)
    return TensorSpec(value.name, shape, dtype.name, nbytes=int(np.prod(shape)) * dtype.itemsize)


class LateFence(Fence):
    """Work that is done when somebody waits for it."""

    def __init__(self, work) -> None:
        self.work = work

    def wait(self, timeout=None) -> None:
        work, self.work = self.work, None
        if work:
            work()

    def done(self) -> bool:
        return self.work is None


class ToyBinding(Binding):
    def __init__(self, executable: ToyExecutable, inputs: Mapping[str, Buffer], outputs: Mapping[str, Buffer] | None) -> None:
        self.executable, self.device, self.how = executable, executable.device, executable.device.how
        if self.how not in ("alias", "two_outputs"):
            refuse_overlap(inputs, outputs or {})
        if self.how == "shared_output" and outputs is None:
            outputs = executable.own = executable.own or {s.name: executable.allocate(s.name) for s in executable.outputs}
            for buffer in outputs.values():
                buffer.release = lambda: None
        self.outputs = outputs or {spec.name: executable.allocate(spec.name) for spec in executable.outputs}
        self.inputs = dict(inputs)
        self.sources = {spec.name: self.tensor(spec, inputs[spec.name]) for spec in executable.inputs}
        self.targets = {spec.name: self.tensor(spec, self.outputs[spec.name]) for spec in executable.outputs}
        if self.how == "stale_input":
            self.sources = {name: array.copy() for name, array in self.sources.items()}
        if self.how == "bind_copies":
            self.kept = [np.array(array) + 0 for array in self.sources.values()]
        if self.how == "elsewhere":
            self.targets = {name: array.copy() for name, array in self.targets.items()}
            self.outputs = {name: HostBuffer(array) for name, array in self.targets.items()}
        if self.how == "forgets_buffers":
            for name, buffer in inputs.items():
                if isinstance(buffer, ToyBuffer) and buffer.memory is None:
                    self.sources[name] = array_at(buffer.address, buffer.array.nbytes).view(buffer.array.dtype)
                    self.sources[name] = self.sources[name].reshape(buffer.array.shape)
            self.inputs = {}

    def tensor(self, spec: TensorSpec, buffer: Buffer) -> np.ndarray:
        array, dtype = buffer.array, np.dtype(spec.dtype)
        memory = getattr(buffer, "memory", None)
        if memory is None:
            if self.how == "type_taken" and array.nbytes == spec.nbytes:
                return array.view(dtype)
            if (array.shape, array.dtype) != (spec.shape, dtype):
                raise RunError(f"{array.dtype}{array.shape} bound to {spec.name}", phase="load")
            return array
        strides = memory.strides
        last = spec.nbytes if strides is None else sum((d - 1) * s for d, s in zip(spec.shape, strides, strict=True))
        last += 0 if strides is None else dtype.itemsize
        if memory.nbytes < last:
            if self.how != "too_small":
                raise RunError(f"{memory.nbytes} bytes bound to {spec.name}", phase="load")
            return np.resize(array[: memory.nbytes // 4 * 4].view(dtype), spec.shape)
        return np.ndarray(spec.shape, dtype, array, strides=strides)

    def submit(self, queue: Queue | None = None, after: Sequence[Fence] = ()) -> Fence:
        if self.how == "order":
            return LateFence(self.compute)
        for fence in after:
            fence.wait()
        if self.how == "fence_early":
            threading.Timer(0.005, self.compute).start()
        else:
            self.compute()
        return CompletedFence()

    def compute(self) -> None:
        executable = self.executable
        executable.runs += 1
        if self.how == "copied":
            self.device.copied += len(self.sources)
        sources = [array if self.how == "alias" else np.array(array) for array in self.sources.values()]
        if self.how == "alias":
            for target in self.targets.values():
                target[...] = 0
        results = OPERATORS[executable.operator](*sources, *executable.constants)
        if self.how == "first_run" and executable.runs == 1:
            results = tuple(result + 1 for result in results)
        if self.how == "noise" and executable.runs % 5 == 0:
            results = tuple(np.nextafter(result, np.float32(9)) if result.dtype.kind == "f" else result for result in results)
        if self.how == "shared_state":
            results = self.device.kept.pop() if len(self.device.kept) > 3 else results
            self.device.kept.append(results)
        for (name, target), result in zip(self.targets.items(), results, strict=True):
            self.store(name, target, result)

    def store(self, name: str, target: np.ndarray, result: np.ndarray) -> None:
        imported = getattr(self.outputs[name], "memory", None) is not None
        if self.how == "unwritten":
            return
        kept = np.array(target.reshape(-1)[-2:])
        target[...] = result
        if self.how == "unwritten_tail":
            target.reshape(-1)[-2:] = kept
        edge = {"beyond": target.nbytes, "before": -4}.get(self.how)
        if edge is not None and imported:
            ctypes.memset(target.ctypes.data + edge, 0, 4)
        if self.how == "padding" and imported and target.ndim > 1 and target.strides[-2] > target.shape[-1] * target.itemsize:
            ctypes.memset(target.ctypes.data + target.shape[-1] * target.itemsize, 0, 1)
        if self.how == "input_overwritten":
            next(iter(self.sources.values())).reshape(-1)[:1] += 1

    def adopted(self, name: str) -> bool:
        return True


def refuse_overlap(inputs: Mapping[str, Buffer], outputs: Mapping[str, Buffer]) -> None:
    """Raises Unsupported where an output shares bytes with an input or another output."""
    sources, targets = (
        [buffer.array for buffer in buffers.values() if isinstance(buffer, HostBuffer)] for buffers in (inputs, outputs)
    )
    pairs = itertools.chain(itertools.product(sources, targets), itertools.combinations(targets, 2))
    if any(np.may_share_memory(first, second) for first, second in pairs):
        raise Unsupported("an output shares memory with another tensor", phase="load")
