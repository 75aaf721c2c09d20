"""Memory objects of OpenCL as buffers of the suite.

Who may touch memory when is what the standard is strict about (OpenCL 1.2, 5.2.1 and 5.4.2): the host may access the memory
behind a CL_MEM_USE_HOST_PTR or CL_MEM_ALLOC_HOST_PTR object only while it is mapped, and a kernel only while it is not; what
the host writes becomes visible to kernels by unmapping, what kernels write to the host by mapping. So memory with an address
is held mapped as long as no work is submitted. `Binding.submit` unmaps it in the queue before the kernels and maps it again
behind them, and the fence is complete when that mapping is. Devices that share the host's memory do nothing at either; others
copy, which `copies` counts. Submissions that share such memory run one after the other for the same reason.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from backends.elements import memory as array_at
from backends.interface import Buffer, ExternalMemory, MapMode, MemoryKind, RunError, Unsupported
from backends.opencl.elements import SCALARS
from backends.opencl.errors import translated
from backends.opencl.program import Tensor, nbytes

if TYPE_CHECKING:
    from backends.opencl import OpenClDevice


def done(event: Any) -> bool:
    """Whether a command is complete, or has failed."""
    return bool(event.command_execution_status <= 0)


class Allocation:
    """One memory object. It lives as long as a buffer or a view of it does, and longer than device and executables."""

    def __init__(self, device: OpenClDevice, mem: Any, size: int, *, hold: bool) -> None:
        self.device = device
        self.mem = mem
        self.size = size
        self.address: int | None = None
        self.pending: Any = None  # event of the last submitted work on this memory
        self._held: Any = None
        self._adopted: bool | None = None
        self._asked = False
        if hold:
            self._held = self._map(device.commands)
            self.wait()
        self._copied = not device.unified and self.adopted() is False

    @property
    def held(self) -> bool:
        """Whether the host's mapping is kept open between submissions."""
        return self._held is not None

    def hold(self, queue: Any) -> Any:
        """Map for the host, in the queue's order; the event of it."""
        self._held = self._map(queue)
        self.transferred()
        return self.pending

    def _map(self, queue: Any) -> Any:
        import pyopencl as cl

        flags = cl.map_flags.READ | cl.map_flags.WRITE
        array, event = cl.enqueue_map_buffer(queue, self.mem, flags, 0, (self.size,), np.uint8, is_blocking=False)
        address = int(array.ctypes.data)
        if self.address not in (None, address):
            raise RunError(f"mapped at {address:#x}, before at {self.address:#x}: views are lost", phase="read")
        self.address, self.pending = address, event
        return array.base

    def transferred(self) -> None:
        """It was mapped or unmapped, which copies where kernels have memory of their own."""
        if self._copied:
            self.device.copied()

    def yield_to_device(self, queue: Any) -> Any:
        """Unmap for kernels, once earlier work has mapped it; the event of it."""
        held, self._held = self._held, None
        self.transferred()
        return held.release(queue, self._unfinished())

    def _unfinished(self) -> list[Any]:
        return [] if self.pending is None or done(self.pending) else [self.pending]

    def wait(self) -> None:
        """Until submitted work on this memory is done."""
        if self.pending is not None:
            self.pending.wait()

    def adopted(self) -> bool | None:
        """Whether kernels are given the host's own address: proof that no copy stands between.

        That the mapped address is the imported one proves nothing, since the standard demands it of devices that cache, too.
        """
        if not self._asked:
            self._asked = True
            same = self.address is not None and self.device.address_in_kernel(self.mem) == self.address
            self._adopted = True if same else None if self.device.unified else False
        return self._adopted

    def __del__(self) -> None:
        with contextlib.suppress(Exception):  # the driver may be gone at the end of the process
            if self._held is not None:
                self._held.release(self.device.commands, self._unfinished()).wait()


class OpenClBuffer(Buffer):
    """Part of an allocation. `tensor` is shape and type in memory, None for imported bytes, which `bind` lays out."""

    def __init__(
        self,
        allocation: Allocation,
        tensor: Tensor | None,
        size: int,
        offset: int = 0,
        strides: tuple[int, ...] | None = None,
        first: int = 0,
    ) -> None:
        self._allocation: Allocation | None = allocation
        self.tensor = tensor
        self.size = size
        self.offset = offset
        self.strides = strides
        self.first = first

    @property
    def allocation(self) -> Allocation:
        if self._allocation is None:
            raise RunError("this buffer was released", phase="load")
        return self._allocation

    @property
    def address(self) -> int | None:
        address = self.allocation.address
        return None if address is None or self.size == 0 else address + self.offset

    @contextlib.contextmanager
    def map(self, mode: MapMode) -> Iterator[np.ndarray]:
        """Memory that is held mapped waits for the work submitted last; other memory is mapped meanwhile."""
        allocation = self.allocation
        with translated("read"):
            allocation.wait()
        if allocation.held:
            yield self._array(allocation, mode != "r")
            return
        import pyopencl as cl

        flags = {"r": cl.map_flags.READ, "w": cl.map_flags.WRITE, "rw": cl.map_flags.READ | cl.map_flags.WRITE}[mode]
        commands = allocation.device.commands
        if self.size == 0:
            yield self._shape(np.empty(0, np.uint8))
            return
        with translated("read"):
            array, _ = cl.enqueue_map_buffer(commands, allocation.mem, flags, self.offset, (self.size,), np.uint8)
        allocation.transferred()
        try:
            shaped = self._shape(array)
            shaped.flags.writeable = mode != "r"
            yield shaped
        finally:
            with translated("read"):
                array.base.release(commands).wait()

    def view(self) -> np.ndarray:
        return self._shared(writeable=False)

    def _shared(self, *, writeable: bool = True) -> np.ndarray:
        if not self.allocation.held or not self.allocation.device.unified:
            raise Unsupported("views need memory that host and device share", phase="read", code="opencl.unified")
        return self._array(self.allocation, writeable)

    def __dlpack__(self, **options: Any) -> Any:
        """The memory itself, as the host's."""
        return self._shared().__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        place: tuple[int, int] = self._shared().__dlpack_device__()
        return place

    def export(self, kind: MemoryKind) -> ExternalMemory:
        """The cl_mem, valid in the context of this device for as long as this buffer lives; its address where it has one."""
        if kind == "cl_mem":
            return ExternalMemory("cl_mem", self.allocation.mem.int_ptr, self.offset, self.size, self.strides, self.first)
        if kind == "host" and self.allocation.device.unified and self.address is not None:
            return ExternalMemory("host", self.address, 0, self.size, self.strides, self.first)
        return super().export(kind)

    def release(self) -> None:
        """The last buffer waits for the device, after which imported memory is its owner's again."""
        self._allocation = None

    def write(self, array: np.ndarray) -> None:
        """Copy an array of the tensor's shape and type in."""
        self._copy(self._shaped(array), to_device=True)

    def read(self) -> np.ndarray:
        """A copy of the contents."""
        array = self._shape(np.empty(self.size, np.uint8))
        self._copy(array, to_device=False)
        return array

    def _copy(self, array: np.ndarray, *, to_device: bool) -> None:
        import pyopencl as cl

        if array.nbytes:
            flat = array.reshape(-1).view(np.uint8)
            pair = (self.allocation.mem, flat) if to_device else (flat, self.allocation.mem)
            cl.enqueue_copy(self.allocation.device.commands, *pair)
            self.allocation.device.copied()

    def _shaped(self, array: np.ndarray) -> np.ndarray:
        assert self.tensor is not None
        expected = (self.tensor.shape, SCALARS[self.tensor.dtype].element.numpy)
        if (array.shape, array.dtype) != expected:
            raise RunError(f"{array.dtype}{list(array.shape)} given for {expected[1]}{list(expected[0])}", code="opencl.feed")
        return np.asarray(array, order="C")

    def _array(self, allocation: Allocation, writeable: bool) -> np.ndarray:
        """The held memory as an array that keeps the allocation alive; read-only for good unless `writeable`."""
        if self.size == 0 or allocation.address is None:
            return self._shape(np.empty(0, np.uint8))
        data = array_at(allocation.address + self.offset, self.size, allocation)
        return self._shape(data if writeable else np.frombuffer(data.data.toreadonly(), np.uint8))

    def _shape(self, data: np.ndarray) -> np.ndarray:
        if self.tensor is None:
            return data
        return data.view(SCALARS[self.tensor.dtype].element.numpy).reshape(self.tensor.shape)


def allocate(device: OpenClDevice, tensor: Tensor, *, host: bool) -> OpenClBuffer:
    """A buffer for one tensor: where the host can map it cheaply (`host`), or where the device likes it best."""
    import pyopencl as cl

    flags = cl.mem_flags.READ_WRITE | (cl.mem_flags.ALLOC_HOST_PTR if host else 0)
    size = nbytes(tensor)
    with translated("allocate"):
        mem = cl.Buffer(device.context, flags, max(1, size))
        allocation = Allocation(device, mem, max(1, size), hold=host and device.unified)
    device.live.add(allocation)
    return OpenClBuffer(allocation, tensor, size)


def adopt(device: OpenClDevice, memory: ExternalMemory) -> OpenClBuffer:
    """A buffer over host memory or a cl_mem. Raises Unsupported for what the device does not take."""
    if memory.nbytes < 0 or memory.offset < 0 or memory.handle <= 0 < memory.nbytes:
        text = f"{memory.nbytes} bytes from {memory.offset} of handle {memory.handle:#x}"
        raise Unsupported(text, phase="allocate", code="opencl.import")
    if memory.kind == "cl_mem":
        allocation = _adopt_object(device, memory)
        return OpenClBuffer(allocation, None, memory.nbytes, memory.offset, memory.strides, memory.first)
    allocation, offset = _adopt_host(device, memory)
    return OpenClBuffer(allocation, None, memory.nbytes, offset, memory.strides, memory.first)


def _adopt_object(device: OpenClDevice, memory: ExternalMemory) -> Allocation:
    import pyopencl as cl

    found = next((known for known in device.live if known.mem.int_ptr == memory.handle), None)
    if found is None:
        with translated("allocate"):
            mem = cl.Buffer.from_int_ptr(memory.handle, retain=True)
            if mem.get_info(cl.mem_info.CONTEXT) != device.context:
                raise Unsupported("a cl_mem of another context", phase="allocate", code="CL_INVALID_CONTEXT")
            found = Allocation(device, mem, mem.size, hold=False)
        device.live.add(found)
    if memory.offset + memory.nbytes > found.size:
        text = f"{memory.nbytes} bytes from {memory.offset} of a cl_mem of {found.size}"
        raise Unsupported(text, phase="allocate", code="CL_INVALID_BUFFER_SIZE")
    return found


def _adopt_host(device: OpenClDevice, memory: ExternalMemory) -> tuple[Allocation, int]:
    """(allocation, offset in it). Memory inside that of a living object is a part of it: what happens to two objects over the
    same host memory is undefined (OpenCL 1.2, 5.2.1)."""
    import pyopencl as cl

    start = memory.handle + memory.offset
    if memory.nbytes == 0:
        mem = cl.Buffer(device.context, cl.mem_flags.READ_WRITE, 1)
        return Allocation(device, mem, 1, hold=False), 0
    if start % device.alignment:
        text = f"address {start:#x} is no multiple of {device.alignment} bytes"
        raise Unsupported(text, phase="allocate", code="opencl.alignment")
    if memory.nbytes % device.size_multiple:
        text = f"{memory.nbytes} bytes are no multiple of {device.size_multiple}"
        raise Unsupported(text, phase="allocate", code="opencl.size")
    for known in device.live:
        if known.address is not None and known.address <= start and start + memory.nbytes <= known.address + known.size:
            return known, start - known.address
    flags = cl.mem_flags.READ_WRITE | cl.mem_flags.USE_HOST_PTR
    with translated("allocate"):
        mem = cl.Buffer(device.context, flags, hostbuf=array_at(start, memory.nbytes))
        allocation = Allocation(device, mem, memory.nbytes, hold=True)
    device.live.add(allocation)
    return allocation, 0
