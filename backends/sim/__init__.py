"""The simulated device: a healthy device of no vendor, computing with ONNX Runtime's CPU kernels.

`lowering` says what the device supports, `compiler` lowers models, `memory` holds buffers, `engine` computes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from backends import machine, options, registry
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
    MemoryKind,
    NodePlacement,
    Options,
    Queue,
    TensorSpec,
    Unsupported,
)
from backends.sim import compiler, lowering, memory
from backends.sim.engine import Engine


class SimBackend(Backend):
    """A simulated device. It runs in process: it computes with ONNX Runtime's CPU kernels alone."""

    name = "sim"
    needs = "ONNX Runtime, its engine"
    extra = "cpu"
    in_process = True

    def unavailable(self) -> str | None:
        return registry.missing("onnxruntime", "ONNX Runtime, the engine of the simulated device", self.extra)

    def discover(self) -> list[DeviceInfo]:
        versions = machine.versions([*registry.providers("onnxruntime"), "numpy", "onnx", "ml_dtypes"])
        engine = next((f"{name} {versions[name]}" for name in versions if name.startswith("onnxruntime")), "onnxruntime")
        info = DeviceInfo(
            backend=self.name,
            name="generic",
            kind="simulated",
            vendor="NPU-CTS",
            soc="generic simulated device",
            runtime=f"sim on {engine}",
            compiler=f"sim on {engine}",
            host=machine.host(),
            versions=versions,
        )
        return [info]

    def open(self, info: DeviceInfo, options: Options) -> Device:
        _check(options)
        found = {device.name: device for device in self.discover()}
        if info.name not in found:
            raise ValueError(f"sim has no device {info.name!r}; it has {', '.join(found)}")
        return SimDevice(found[info.name])


def _check(given: Options) -> None:
    options.check(given, (), SimBackend.name)


class SimDevice(Device):
    """One opened simulated device with its own memory."""

    def __init__(self, info: DeviceInfo) -> None:
        self.info = info
        self.memory = memory.Memory()

    def capabilities(self) -> Capabilities:
        return Capabilities(
            operators=lowering.support_table(),
            precision={"float64": "fp64", "float32": "fp32", "float16": "fp32", "bfloat16": "fp32"},
            alignment=1,
            memory_kinds=frozenset({"host"}),
            dynamic_shapes=True,
        )

    def compile(self, model: bytes, options: Options | None = None) -> Executable:
        _check(options or {})
        return SimExecutable(self, compiler.compile_model(model))

    def import_(self, memory: ExternalMemory) -> Buffer:
        """Host memory in place, as raw bytes that `bind` lays out as the tensor; its owner keeps it alive."""
        if memory.kind != "host":
            return super().import_(memory)
        return self.memory.adopt(memory.handle + memory.offset, memory.nbytes)

    def close(self) -> None:
        self.memory.close()


class SimExecutable(Executable):
    """A compiled program on its device."""

    def __init__(self, device: SimDevice, program: compiler.Program) -> None:
        self.device = device
        self.memory = device.memory
        self.program = program
        self.engine = Engine(program.model)

    @property
    def inputs(self) -> Sequence[TensorSpec]:
        return self.engine.inputs

    @property
    def outputs(self) -> Sequence[TensorSpec]:
        return self.engine.outputs

    def placement(self) -> Sequence[NodePlacement]:
        """Every node runs on the device, in one partition; `engine` names the wider type of a lowered node."""
        return [NodePlacement(n.name, n.operator, self.device.info.name, True, 0, n.engine) for n in self.program.nodes]

    def allocate(self, name: str, kind: MemoryKind = "host") -> Buffer:
        spec = next(s for s in (*self.inputs, *self.outputs) if s.name == name)
        if kind != "host" or spec.nbytes is None:
            why = f"{kind} memory" if kind != "host" else f"memory for {spec.dtype}{list(spec.shape)}"
            raise Unsupported(f"sim allocates host memory for tensors of fixed shape only, not {why}", phase="allocate")
        return self.memory.allocate([d or 0 for d in spec.shape], self.engine.numpy(name))

    def bind(self, inputs: Mapping[str, Buffer], outputs: Mapping[str, Buffer] | None = None) -> Binding:
        return SimBinding(self, inputs, outputs)

    def run(self, feeds: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        return self.engine.run(feeds)

    def release(self) -> None:
        self.engine.release()


class SimBinding(Binding):
    """Bound buffers are used where they lie. Outputs of dynamic shape are the device's, allocated by each run."""

    def __init__(self, executable: SimExecutable, inputs: Mapping[str, Buffer], outputs: Mapping[str, Buffer] | None) -> None:
        self._executable = executable
        self._inputs = {name: self._tensor(name, buffer) for name, buffer in inputs.items()}
        self._targets: dict[str, np.ndarray] = {}
        self._addresses = {name: buffer.address for name, buffer in inputs.items()}
        bound: dict[str, Buffer] = {}
        for spec in executable.outputs:
            if outputs is None and spec.nbytes is None:
                bound[spec.name] = HostBuffer(np.empty([0] * max(1, len(spec.shape)), executable.engine.numpy(spec.name)))
                continue
            bound[spec.name] = executable.allocate(spec.name) if outputs is None else outputs[spec.name]
            self._targets[spec.name] = self._tensor(spec.name, bound[spec.name])
            self._addresses[spec.name] = bound[spec.name].address
        self.outputs = bound

    def _tensor(self, name: str, buffer: Buffer) -> np.ndarray:
        """The array of a buffer; raw bytes, as `import_` gives them, take the shape and type of the tensor."""
        if not isinstance(buffer, HostBuffer):
            raise Unsupported(f"{type(buffer).__name__} cannot be bound to {name}: it is not host memory", phase="load")
        spec = next(s for s in (*self._executable.inputs, *self._executable.outputs) if s.name == name)
        array, dtype = buffer.array, self._executable.engine.numpy(name)
        if array.dtype == np.uint8 and array.dtype != dtype and spec.nbytes == array.nbytes:
            array = array.view(dtype)
        if array.dtype == dtype and spec.nbytes == array.nbytes:
            array = array.reshape([d or 0 for d in spec.shape])
        return array

    def submit(self, queue: Queue | None = None, after: Sequence[Fence] = ()) -> Fence:
        for fence in after:
            fence.wait()
        results = self._executable.engine.run(self._inputs, self._targets)
        for name, buffer in self.outputs.items():
            if name not in self._targets and isinstance(buffer, HostBuffer):
                buffer.array = results[name]
        return CompletedFence()

    def adopted(self, name: str) -> bool | None:
        """By address: of the array that the engine reads or writes, against the buffer's."""
        array = self._inputs.get(name, self._targets.get(name))
        return None if array is None else int(array.ctypes.data) == self._addresses[name]
