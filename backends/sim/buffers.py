"""Buffers of the simulated device: a region, and where in it the elements of a tensor lie."""

from __future__ import annotations

import contextlib
import dataclasses
import math
import weakref
from collections.abc import Iterator, Sequence
from typing import Any, get_args

import numpy as np

from backends import elements
from backends.elements import Element
from backends.interface import Buffer, ExternalMemory, MapMode, MemoryKind, RunError, Unsupported
from backends.sim.memory import Memory, Region


@dataclasses.dataclass(frozen=True)
class Place:
    """Where a tensor lies in the bytes of a region: `strides` and `first` in bytes. Types smaller than a byte are packed, and
    have no strides."""

    shape: tuple[int, ...]
    element: Element
    strides: tuple[int, ...]
    first: int = 0

    @classmethod
    def rows(cls, shape: Sequence[int], element: Element, pitch: int) -> Place:
        """In order, with rows a multiple of `pitch` bytes apart."""
        strides: list[int] = []
        step = element.bits // 8
        for axis, extent in enumerate(reversed(shape)):
            strides.append(step)
            step *= max(extent, 1)
            if axis == 0 and len(shape) > 1:
                step = -(-step // pitch) * pitch
        return cls(tuple(shape), element, tuple(reversed(strides)))

    @property
    def packed(self) -> bool:
        """Whether elements share bytes."""
        return self.element.bits < 8

    @property
    def span(self) -> int:
        """Bytes to allocate for a tensor in order: that of its elements and of the padding behind each row."""
        if self.packed or not self.shape:
            return self.element.nbytes(self.shape)
        return 0 if 0 in self.shape else self.shape[0] * self.strides[0]

    @property
    def extent(self) -> tuple[int, int]:
        """Offsets of the first byte and of the byte after the last that hold elements."""
        if self.packed or math.prod(self.shape) == 0:
            return 0, self.element.nbytes(self.shape)
        reaches = [(extent - 1) * stride for extent, stride in zip(self.shape, self.strides, strict=True)]
        low, high = sum(min(reach, 0) for reach in reaches), sum(max(reach, 0) for reach in reaches)
        return self.first + low, self.first + high + self.element.bits // 8

    @property
    def contiguous(self) -> bool:
        """Whether elements follow each other without gaps."""
        return self.packed or self == Place.rows(self.shape, self.element, 1)

    def array(self, data: np.ndarray) -> np.ndarray:
        """The tensor in `data`, where it lies. Not for packed types."""
        dtype = self.element.numpy
        if math.prod(self.shape) == 0:
            return np.empty(self.shape, dtype)
        return np.ndarray(self.shape, dtype, data, self.first, self.strides)

    def read(self, data: np.ndarray) -> np.ndarray:
        """The tensor in `data`: where it lies, or unpacked. Any byte but 0 is true."""
        if self.packed:
            return elements.unpack(data[: self.element.nbytes(self.shape)], self.shape, self.element.numpy, self.element.bits)
        if self.element.name == "bool":
            truth: np.ndarray = np.not_equal(dataclasses.replace(self, element=BYTE).array(data), 0)
            return truth
        return self.array(data)

    def carry(self, source: np.ndarray, target: np.ndarray) -> None:
        """Copies the tensor's elements, and nothing between them."""
        if self.packed:
            target[: self.span] = source[: self.span]
        else:
            self.array(target)[...] = self.array(source)

    def write(self, data: np.ndarray, value: np.ndarray) -> None:
        """Stores a tensor in `data`. Raises RunError for another shape or type."""
        if value.shape != self.shape or value.dtype != self.element.numpy:
            what = f"{value.dtype}{list(value.shape)}, bound to {self.element.name}{list(self.shape)}"
            raise RunError(f"the output is {what}", code="sim.output_mismatch")
        if self.packed:
            packed = elements.pack(value, self.element.bits)
            data[: packed.size] = packed
        else:
            self.array(data)[...] = value


BYTE = Element("uint8", 2, 8)


class DeviceBuffer(Buffer):
    """A region with one holder. `place` is None for imported bytes, which `bind` lays out as the tensor."""

    def __init__(self, memory: Memory, region: Region, place: Place | None, external: ExternalMemory | None = None) -> None:
        self.memory = memory
        self.region = region
        self.place = place
        self.external = external
        self._released = False
        self._forgotten = weakref.finalize(self, memory.drop, region)
        self._forgotten.atexit = False
        self._shown: np.ndarray | None = None

    @contextlib.contextmanager
    def map(self, mode: MapMode) -> Iterator[np.ndarray]:
        """Waits for the runs that use the memory; in discrete memory a copy there, and back for modes that write."""
        self._check()
        if mode not in get_args(MapMode):
            raise RunError(f"map mode {mode!r} is none of {', '.join(get_args(MapMode))}", phase="read", code="sim.mode")
        memory, region = self.memory, self.region
        for fence in memory.users(region):
            fence.settle()
        memory.clock.spend(memory.clock.rates.map)
        memory.to_host(region)
        data = region.host
        if data is None:
            data = memory.download(region) if "r" in mode else region.device.copy()
        tensor = self._tensor(data)
        if mode == "r":
            tensor.flags.writeable = False
        yield tensor
        if mode != "r" and not self._released:
            if self.place is not None and self.place.packed:
                self.place.write(data, tensor)
            if region.host is None:
                memory.upload(region, data)

    def view(self) -> np.ndarray:
        self._check()
        if self.place is not None and self.place.packed:
            raise Unsupported(f"elements of {self.place.element.name} share bytes: no view", phase="read", code="sim.view")
        return self._tensor(self.memory.view(self.region))

    @property
    def address(self) -> int | None:
        return self.region.address

    def export(self, kind: MemoryKind) -> ExternalMemory:
        """Unified memory under its host address; whoever imports it must not outlive this buffer."""
        self._check()
        address = self.region.address
        if kind != "host" or address is None:
            return super().export(kind)
        return ExternalMemory("host", address, 0, self.region.nbytes)

    def __dlpack__(self, **options: Any) -> Any:
        return self.view().__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.view().__dlpack_device__()

    @property
    def __array_interface__(self) -> dict[str, Any]:
        """Of a view that lives as long as this object, which is what an array made of it holds on to."""
        if self._shown is None:
            self._shown = self.view()
        return self._shown.__array_interface__

    def release(self) -> None:
        if not self._released:
            self._released = True
            self._forgotten.detach()
            self.memory.drop(self.region)

    def _check(self) -> None:
        if self._released:
            raise RunError("this buffer was released", phase="read", code="sim.released")

    def _tensor(self, data: np.ndarray) -> np.ndarray:
        if self.place is None:
            return data.view()
        return self.place.read(data) if self.place.packed else self.place.array(data)


class ObjectBuffer(Buffer):
    """What has no bytes of a fixed size: strings, sequences, and tensors of a shape that only a run can tell."""

    def __init__(self, value: Any) -> None:
        self.value = value

    @contextlib.contextmanager
    def map(self, mode: MapMode) -> Iterator[np.ndarray]:
        yield self.value
