"""The opened simulated device: compiles, binds, runs. Numbers are made in `SimDevice.compute` alone."""

from __future__ import annotations

import weakref
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from backends import interface, options
from backends.elements import Element
from backends.interface import (
    Buffer,
    Capabilities,
    Device,
    DeviceInfo,
    Executable,
    ExternalMemory,
    MemoryKind,
    NodePlacement,
    Options,
    RunError,
    TensorSpec,
    Unsupported,
)
from backends.sim.buffers import DeviceBuffer, ObjectBuffer, Place
from backends.sim.clock import Clock
from backends.sim.compiler import Compiler, Program
from backends.sim.engine import Engine
from backends.sim.memory import Memory
from backends.sim.profile import Profile
from backends.sim.queue import Queue

COMPILE_OPTIONS = {
    "cpu_fallback": "1 lets the host compute what the device declines; 0 is the default",
    "cache": "folder in which compiled models are kept",
    "optimization": "none computes each node by itself; all, the default, fuses what the profile names",
}
OPTIMIZATIONS = ("none", "all")
LAYOUT = "layout."
"""Prefix of the option that asks for the layout of one input or output."""

ALWAYS = ("allocate", "bind-outputs", "in-place", "async", "copies", "compile-cache", "deterministic", "threads")
"""Features of every profile."""


def check_options(given: Options) -> dict[str, str]:
    """The options of a compilation. Raises ValueError for an unknown one."""
    checked = options.check(given, COMPILE_OPTIONS, "sim", (LAYOUT,))
    options.choice(checked, "cpu_fallback", "01", "0")
    options.choice(checked, "optimization", OPTIMIZATIONS, "all")
    return checked


class SimDevice(Device):
    """One opened device. Its parts are plain attributes, so that a fault can replace a method of one of them."""

    def __init__(self, info: DeviceInfo, profile: Profile, given: Options) -> None:
        self.info = info
        self.profile = profile
        self.options = dict(given)
        self.timeline = Clock(profile.clock)
        self.memory = Memory(profile.memory, self.timeline)
        self.compiler = Compiler(profile)
        self.queues: list[weakref.ref[Queue]] = []
        self._own = self._queue()
        self._closed = False

    def capabilities(self) -> Capabilities:
        memory, layout = self.profile.memory, self.profile.layout
        features = set(ALWAYS)
        features |= {"import", "strided-import", "export"} if memory.imports and not memory.discrete else set()
        features |= {"view", "dlpack", "array-interface"} if memory.views == "read-only" else set()
        features |= {"queues"} if memory.queues else set()
        return Capabilities(
            operators=self.compiler.support_table(),
            precision=self.profile.rungs,
            layouts=layout.offered,
            alignment=memory.alignment,
            size_multiple=memory.size_multiple,
            memory_kinds=frozenset({"host"}),
            dynamic_shapes=not self.profile.shapes.static,
            max_rank=self.profile.shapes.max_rank,
            features=frozenset(features),
            optimizations=OPTIMIZATIONS if self.profile.operators.fused else OPTIMIZATIONS[:1],
        )

    def compile(self, model: bytes, options: Options | None = None) -> Executable:
        self._check_open()
        program = self.compiler.compile(model, check_options({**self.options, **(options or {})}))
        return SimExecutable(self, program)

    def compute(self, program: Program, engine: Engine, inputs: Mapping[str, Any]) -> dict[str, Any]:
        """One inference: arrays by input name → arrays by output name."""
        return engine.run(inputs)

    def queue(self) -> interface.Queue:
        """Another thread of work, or the only one where the profile has no more."""
        self._check_open()
        return self._queue() if self.profile.memory.queues else self._own

    def import_(self, memory: ExternalMemory) -> Buffer:
        """Host memory in place. Its owner keeps it alive as long as the device uses it."""
        if memory.kind != "host":
            return super().import_(memory)
        region = self.memory.adopt(memory.handle + memory.offset, memory.nbytes)
        return DeviceBuffer(self.memory, region, None, memory)

    def copies(self) -> int:
        return self.memory.copies

    def allocated(self) -> int:
        return self.memory.in_use

    def clock(self) -> float:
        return self.timeline.now

    def _check_open(self) -> None:
        if self._closed:
            raise RunError("the device was closed", phase="load", code="sim.closed")

    def close(self) -> None:
        self._closed = True
        for reference in self.queues:
            queue = reference()
            if queue is not None:
                queue.close()
        self.memory.close()

    def _queue(self) -> Queue:
        queue = Queue()
        self.queues = [known for known in self.queues if known() is not None] + [weakref.ref(queue)]
        return queue

    def own_queue(self, queue: interface.Queue | None) -> Queue:
        """The queue to submit to; the implicit one for None."""
        if queue is not None and not isinstance(queue, Queue):
            raise RunError(f"{type(queue).__name__} is no queue of this device", phase="load", code="sim.queue")
        return self._own if queue is None else queue


class SimExecutable(Executable):
    """A compiled program on its device."""

    def __init__(self, device: SimDevice, program: Program) -> None:
        self.device: SimDevice = device
        self.program = program
        self.engine = Engine(program.model)
        pitch = device.profile.memory.pitch_multiple
        self.places = {
            spec.name: Place.rows([d or 0 for d in spec.shape], element, pitch)
            for spec in (*self.engine.inputs, *self.engine.outputs)
            if (element := self.engine.element(spec.name)) is not None and spec.nbytes is not None
        }
        self._inputs = [self._spec(spec) for spec in self.engine.inputs]
        self._outputs = [self._spec(spec) for spec in self.engine.outputs]

    def _spec(self, spec: TensorSpec) -> TensorSpec:
        """The tensor's shape and type with the memory rules of the device."""
        place = self.places.get(spec.name)
        if place is None:
            return TensorSpec(spec.name, spec.shape, spec.dtype, nbytes=None)
        rules = self.device.profile.memory
        nbytes = -(-place.span // rules.size_multiple) * rules.size_multiple
        strides = None if place.contiguous else place.strides
        return TensorSpec(spec.name, spec.shape, spec.dtype, strides, nbytes, rules.alignment)

    @property
    def inputs(self) -> Sequence[TensorSpec]:
        return self._inputs

    @property
    def outputs(self) -> Sequence[TensorSpec]:
        return self._outputs

    def spec(self, name: str) -> TensorSpec:
        """Of an input or output. Raises RunError for a name that is neither."""
        found = next((spec for spec in (*self._inputs, *self._outputs) if spec.name == name), None)
        if found is None:
            raise RunError(f"the model has no input or output {name}", phase="load", code="sim.name")
        return found

    def placement(self) -> Sequence[NodePlacement]:
        """As the compiler partitioned the model; `engine` says how a node was changed."""
        return [
            NodePlacement(
                n.name, n.operator, self.device.info.name if n.on_device else "host", n.on_device, n.partition, n.engine
            )
            for n in self.program.nodes
        ]

    def allocate(self, name: str, kind: MemoryKind = "host") -> Buffer:
        spec = self.spec(name)
        if kind != "host" or spec.nbytes is None:
            why = f"{kind} memory" if kind != "host" else f"memory for {spec.dtype}{list(spec.shape)}"
            raise Unsupported(f"sim allocates host memory for tensors of fixed shape only, not {why}", phase="allocate")
        memory = self.device.memory
        return DeviceBuffer(memory, memory.allocate(spec.nbytes), self.places[name])

    def bind(self, inputs: Mapping[str, Buffer], outputs: Mapping[str, Buffer] | None = None) -> interface.Binding:
        from backends.sim.binding import SimBinding  # which needs this module

        return SimBinding(self, inputs, outputs)

    def run(self, feeds: Mapping[str, Any]) -> dict[str, Any]:
        buffers: dict[str, Buffer] = {}
        binding = None
        try:
            for name in self._names & feeds.keys():
                buffers[name] = self._filled(name, feeds[name])
            binding = self.bind(buffers)
            binding.submit().wait()
            results = {}
            for name, buffer in binding.outputs.items():
                with buffer.map("r") as source:
                    results[name] = source if isinstance(buffer, ObjectBuffer) else np.array(source)
            return results
        finally:
            for buffer in (*buffers.values(), *(binding.outputs.values() if binding else ())):
                buffer.release()

    @property
    def _names(self) -> set[str]:
        return {spec.name for spec in self._inputs}

    def _filled(self, name: str, value: Any) -> Buffer:
        """A buffer that holds an input; of the array's own shape where the model leaves it open."""
        element = self.engine.element(name)
        if element is None or element.name == "str" or not isinstance(value, np.ndarray):
            return ObjectBuffer(value)
        buffer = self.allocate(name) if name in self.places else self.device_buffer(value.shape, element)
        try:
            self._fill(name, buffer, value)
        except BaseException:
            buffer.release()
            raise
        return buffer

    def _fill(self, name: str, buffer: Buffer, value: np.ndarray) -> None:
        with buffer.map("w") as target:
            if target.shape != value.shape or target.dtype != value.dtype:
                what = f"{value.dtype}{list(value.shape)} for {target.dtype}{list(target.shape)}"
                raise RunError(f"input {name}: {what}", code="sim.input_mismatch")
            target[...] = value

    def device_buffer(self, shape: Sequence[int], element: Element) -> DeviceBuffer:
        """Memory for a tensor of a shape that the model leaves open."""
        place = Place.rows(shape, element, self.device.profile.memory.pitch_multiple)
        return DeviceBuffer(self.device.memory, self.device.memory.allocate(place.span), place)

    def release(self) -> None:
        self.engine.release()
