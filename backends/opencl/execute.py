"""Executables, bindings, queues and fences: kernels in command queues, events between them."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from backends.host import check_names
from backends.interface import (
    LAYOUTS,
    Binding,
    Buffer,
    Executable,
    Fence,
    MemoryKind,
    NodePlacement,
    Queue,
    RunError,
    TensorSpec,
    Unsupported,
)
from backends.opencl import kernels, memory
from backends.opencl.aliasing import staged
from backends.opencl.elements import SCALARS
from backends.opencl.errors import translate, translated
from backends.opencl.layout import Layout, contiguous, overlaps_itself, reach, whole
from backends.opencl.memory import Allocation, OpenClBuffer, done
from backends.opencl.program import Program, Step, Tensor, nbytes

if TYPE_CHECKING:
    from backends.opencl import OpenClDevice

POLL = 5e-5
"""Seconds between two looks at an event, which has no wait with a limit."""


class OpenClQueue(Queue):
    """An in-order command queue."""

    def __init__(self, commands: Any) -> None:
        self.commands = commands


class OpenClFence(Fence):
    """The event behind the last command of a submission."""

    def __init__(self, event: Any) -> None:
        self.event = event

    def wait(self, timeout: float | None = None) -> None:
        deadline = None if timeout is None else time.monotonic() + timeout
        while deadline is not None and not self.done():
            if time.monotonic() >= deadline:
                raise TimeoutError(f"not done within {timeout} s")
            time.sleep(POLL)
        with translated("run"):
            self.event.wait()

    def done(self) -> bool:
        """Also where the work failed: then `wait` raises."""
        return done(self.event)


class OpenClExecutable(Executable):
    """A program, its kernels built and its constants on the device. `orders` are layouts: tensor → axes as memory has them."""

    def __init__(self, device: OpenClDevice, program: Program, layouts: Mapping[str, str]) -> None:
        self.device: OpenClDevice = device
        self.program = program
        self._released = False
        self.orders = {name: self._order(name, layout) for name, layout in layouts.items()}
        self._inputs = [self._spec(name) for name in program.inputs]
        self._outputs = [self._spec(name) for name in program.outputs]
        for step in program.steps:
            device.kernel(step.source)
        used = {access.tensor for step in program.steps for access in step.operands}
        self.constants = {name: self._upload(name, program.constants[name]) for name in used & program.constants.keys()}

    def _order(self, name: str, layout: str) -> tuple[int, ...]:
        if name not in (*self.program.inputs, *self.program.outputs):
            raise Unsupported(f"layout.{name}: the model has no such input or output", code="opencl.layout")
        rank = len(self.program.tensors[name].shape)
        if layout not in LAYOUTS or len(LAYOUTS[layout]) != rank:
            raise Unsupported(f"layout.{name}={layout} for a tensor of rank {rank}", code="opencl.layout")
        return LAYOUTS[layout]

    def stored(self, name: str) -> Tensor:
        """Shape and type as memory has them."""
        tensor = self.program.tensors[name]
        order = self.orders.get(name)
        return tensor if order is None else Tensor(tuple(tensor.shape[axis] for axis in order), tensor.dtype)

    def _spec(self, name: str) -> TensorSpec:
        stored = self.stored(name)
        kinds = self.device.capabilities().memory_kinds or frozenset()
        width = SCALARS[stored.dtype].element.bits // 8
        return TensorSpec(name, stored.shape, stored.dtype, nbytes=nbytes(stored), alignment=width, memory_kinds=kinds)

    def _upload(self, name: str, array: np.ndarray) -> OpenClBuffer:
        buffer = memory.allocate(self.device, self.program.tensors[name], host=False)
        with translated("load"):
            buffer.write(array)
        return buffer

    @property
    def inputs(self) -> Sequence[TensorSpec]:
        return self._inputs

    @property
    def outputs(self) -> Sequence[TensorSpec]:
        return self._outputs

    def placement(self) -> Sequence[NodePlacement]:
        """Every node of a program became kernels of this device; there is nowhere else to go."""
        return [NodePlacement(label, operator, self.device.info.name, True, 0) for label, operator in self.program.nodes]

    def allocate(self, name: str, kind: MemoryKind = "host") -> Buffer:
        if kind not in ("host", "cl_mem"):
            return super().allocate(name, kind)
        if name not in (*self.program.inputs, *self.program.outputs):
            raise RunError(f"the model has no input or output {name}", phase="allocate")
        return memory.allocate(self.device, self.stored(name), host=True)

    def bind(self, inputs: Mapping[str, Buffer], outputs: Mapping[str, Buffer] | None = None) -> OpenClBinding:
        self._check_alive()
        check_names(self, inputs, outputs)
        if outputs is None:
            outputs = {name: self.allocate(name) for name in self.program.outputs}
        return OpenClBinding(self, inputs, outputs)

    def run(self, feeds: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """By the way of ordinary buffers, written and read by commands."""
        self._check_alive()
        missing = [name for name in self.program.inputs if name not in feeds]
        if missing:
            raise RunError(f"nothing is fed to {', '.join(missing)}", code="opencl.feed")
        names = [*self.program.inputs, *self.program.outputs]
        buffers = {name: memory.allocate(self.device, self.stored(name), host=False) for name in names}
        try:
            with translated("run"):
                for name in self.program.inputs:
                    buffers[name].write(np.asarray(feeds[name]))
            binding = self.bind(
                {name: buffers[name] for name in self.program.inputs}, {name: buffers[name] for name in self.program.outputs}
            )
            binding.submit().wait()
            with translated("read"):
                return {name: buffers[name].read() for name in self.program.outputs}
        finally:
            for buffer in buffers.values():
                buffer.release()

    def release(self) -> None:
        self._released = True
        for buffer in self.constants.values():
            buffer.release()

    def _check_alive(self) -> None:
        if self._released:
            raise RunError("this executable was released", phase="load", code="opencl.released")


class OpenClBinding(Binding):
    """Kernels with their arguments. Values inside the graph have buffers of this binding's own, so that bindings may overlap;
    its own submissions run one after the other."""

    def __init__(self, executable: OpenClExecutable, inputs: Mapping[str, Buffer], outputs: Mapping[str, Buffer]) -> None:
        self._executable = executable
        self._device = executable.device
        program = executable.program
        self._bound = {name: self._checked(name, inputs) for name in program.inputs}
        self._bound |= {name: self._checked(name, outputs) for name in program.outputs}
        self.outputs = {name: self._bound[name] for name in program.outputs}
        layouts = {name: self._layout(name, buffer) for name, buffer in self._bound.items()}
        self._buffers = {**self._bound, **executable.constants}
        self._prepare(program.steps, layouts)
        if aliased := staged(program, self._bound, self._places):
            self._prepare(self._moved(aliased), layouts)
        with translated("load"):
            self._shapes = [self._upload(step.count, place) for step, place in zip(self._steps, self._places, strict=True)]
            self._kernels = [self._device.kernel(step.source) for step in self._steps]
        self._last: Any = None

    def _prepare(self, steps: Sequence[Step], layouts: Mapping[str, Layout]) -> None:
        """Buffers for the values inside the graph, and descriptors of every operand."""
        program = self._executable.program
        inside = {access.tensor for step in steps for access in step.operands} - self._buffers.keys()
        self._buffers |= {name: memory.allocate(self._device, program.tensors[name], host=False) for name in inside}
        known = {name: layouts.get(name) or contiguous(program.tensors[name].shape) for name in self._buffers}
        self._steps = steps
        self._places = [
            [
                *(access.descriptor(known[access.tensor]) for access in step.operands),
                *(access.descriptor(known[access.tensor], relative=True) for access in step.inner),
            ]
            for step in steps
        ]

    def _moved(self, outputs: Sequence[str]) -> list[Step]:
        """The program's steps, then moves of these outputs from where they were computed to where they are bound."""
        program = self._executable.program
        steps = list(program.steps)
        for name in outputs:
            tensor, beside = program.tensors[name], f"{name}/opencl/staged"
            program.tensors[beside] = tensor
            steps = [step.renamed(name, beside) for step in steps]
            source = kernels.move(SCALARS[tensor.dtype].element.bits)
            steps.append(Step(source, (whole(name, tensor.shape), whole(beside, tensor.shape))))
        return steps

    def _checked(self, name: str, given: Mapping[str, Buffer]) -> OpenClBuffer:
        buffer = given.get(name)
        if buffer is None:
            raise RunError(f"no buffer is bound to {name}", phase="load", code="opencl.bind")
        if not isinstance(buffer, OpenClBuffer) or buffer.allocation.device is not self._device:
            raise Unsupported(f"{type(buffer).__name__} cannot be bound to {name}: not this device's", phase="load")
        return buffer

    def _layout(self, name: str, buffer: OpenClBuffer) -> Layout:
        """Where the buffer has the tensor's elements. Raises RunError where it is not theirs, Unsupported for odd strides."""
        program, stored = self._executable.program, self._executable.stored(name)
        order = self._executable.orders.get(name) or tuple(range(len(stored.shape)))
        width = SCALARS[stored.dtype].element.bits // 8
        if buffer.tensor is not None and buffer.tensor != stored:
            text = f"{buffer.tensor.dtype}{list(buffer.tensor.shape)} bound to {name}, {stored.dtype}{list(stored.shape)}"
            raise RunError(text, phase="load", code="opencl.bind")
        if buffer.strides is None:
            if buffer.size < nbytes(stored):
                text = f"{buffer.size} bytes bound to {name}, which needs {nbytes(stored)}"
                raise RunError(text, phase="load", code="opencl.bind")
            strides, first = contiguous(stored.shape).strides, buffer.offset
        else:
            self._check_strides(name, buffer, stored, width)
            strides, first = tuple(stride // width for stride in buffer.strides), buffer.offset + buffer.first
        if first % width:
            raise Unsupported(f"{name} starts at byte {first}, no multiple of {width}", phase="load", code="opencl.strides")
        by_axis = dict(zip(order, strides, strict=True))
        return Layout(first // width, tuple(by_axis[axis] for axis in range(len(program.tensors[name].shape))))

    def _check_strides(self, name: str, buffer: OpenClBuffer, stored: Tensor, width: int) -> None:
        assert buffer.strides is not None
        if len(buffer.strides) != len(stored.shape):
            raise RunError(f"{len(buffer.strides)} strides for {name} of rank {len(stored.shape)}", phase="load")
        if any(stride % width for stride in buffer.strides):
            text = f"strides {buffer.strides} of {name} are no multiples of {width} bytes"
            raise Unsupported(text, phase="load", code="opencl.strides")
        if name in self._executable.program.outputs and overlaps_itself(stored.shape, buffer.strides):
            raise Unsupported(f"elements of output {name} share places", phase="load", code="opencl.strides")
        low, high = reach(stored.shape, buffer.strides)
        if 0 not in stored.shape and (buffer.first + low < 0 or buffer.first + high + width > buffer.size):
            text = f"{name} reaches from byte {buffer.first + low} to {buffer.first + high + width} of {buffer.size}"
            raise RunError(text, phase="load", code="opencl.bind")

    def _upload(self, count: int, descriptors: Sequence[tuple[int, ...]]) -> Any:
        """Argument 0 of a kernel."""
        import pyopencl as cl

        slot = max(map(len, descriptors))
        numbers = np.zeros(2 + slot * len(descriptors), np.int64)
        numbers[:2] = count, slot
        for n, descriptor in enumerate(descriptors):
            numbers[2 + n * slot :][: len(descriptor)] = descriptor
        flags = cl.mem_flags.READ_ONLY | cl.mem_flags.COPY_HOST_PTR
        return cl.Buffer(self._device.context, flags, hostbuf=numbers)

    def submit(self, queue: Queue | None = None, after: Sequence[Fence] = ()) -> OpenClFence:
        """Unmap, kernels, map, each in the queue behind the one before; nothing is waited for here."""
        import pyopencl as cl

        commands = queue.commands if isinstance(queue, OpenClQueue) else self._device.commands
        before = [] if self._last is None or done(self._last) else [self._last]
        for fence in after:
            if isinstance(fence, OpenClFence):
                before.append(fence.event)
            else:
                fence.wait()
        allocations = list({id(a): a for a in (buffer.allocation for buffer in self._buffers.values())}.values())
        given: list[Allocation] = []
        try:
            event = cl.enqueue_marker(commands, wait_for=before)
            for allocation in allocations:
                if allocation.held:
                    allocation.yield_to_device(commands)
                    given.append(allocation)
            event = self._enqueue(commands) or event
        except cl.Error as error:
            raise translate(error, "run") from error
        finally:
            with translated("run"):
                for allocation in given:
                    event = allocation.hold(commands)
        for allocation in allocations:
            allocation.pending = event
        self._last = event
        with translated("run"):
            commands.flush()
        return OpenClFence(event)

    def _enqueue(self, commands: Any) -> Any:
        """The event of the last kernel, None where there is nothing to compute."""
        import pyopencl as cl

        event = None
        for step, kernel, shape in zip(self._steps, self._kernels, self._shapes, strict=True):
            if step.count:
                operands = [self._buffers[access.tensor].allocation.mem for access in step.operands]
                outputs, inputs = operands[:1], operands[1:]
                kernel.set_args(shape, *inputs, *outputs)
                group = self._device.group
                size = -(-step.count // group) * group
                event = cl.enqueue_nd_range_kernel(commands, kernel, (size,), (group,))
        return event

    def adopted(self, name: str) -> bool | None:
        """By the address that a kernel is given."""
        buffer = self._bound[name]
        if buffer.size == 0:
            return None
        with translated("load"):
            return buffer.allocation.adopted()
