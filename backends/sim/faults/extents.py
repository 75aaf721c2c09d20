"""Faults of memory: where it begins and ends, how far apart rows lie, and how elements lie in bytes."""

from __future__ import annotations

import dataclasses
import weakref
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from backends import elements
from backends.interface import Buffer, ExternalMemory, RunError, TensorSpec
from backends.sim.binding import SimBinding
from backends.sim.buffers import DeviceBuffer, Place
from backends.sim.device import SimDevice, SimExecutable
from backends.sim.faults import seeds
from backends.sim.faults.seams import bindings, buffers, executables, replace
from backends.sim.memory import Region
from backends.sim.queue import Fence

LINE = 64
"""Bytes of a cache line."""

BEYOND: Mapping[str, Callable[[int], int]] = {
    "writes-element-beyond": lambda n: 4,
    "writes-line-beyond": lambda n: -n % LINE or LINE,
    "writes-twice-the-size": lambda n: min(n, 512),
}
"""Fault → bytes behind an imported region of n bytes that are written with it."""


def _writes_beyond(count: Callable[[int], int]) -> Callable[[SimDevice], None]:
    def seed(device: SimDevice) -> None:
        flush = device.memory.to_host

        def more(region: Region) -> None:
            if region.newer and region.imported and region.address:
                elements.memory(region.address + region.nbytes, count(region.nbytes))[:] = 0
            flush(region)

        replace(device.memory, to_host=more)

    return seed


for _name, _count in BEYOND.items():
    seeds(_name)(_writes_beyond(_count))


@seeds("size-padding-written")
def size_padding_written(device: SimDevice) -> None:
    """Memory whose size is no multiple of what the device asks for is copied back with the padding."""
    flush, multiple = device.memory.to_host, device.profile.memory.size_multiple

    def padded(region: Region) -> None:
        if region.newer and region.imported and region.address:
            elements.memory(region.address + region.nbytes, -region.nbytes % multiple)[:] = 0
        flush(region)

    replace(device.memory, to_host=padded)


MOVED: Mapping[str, Callable[[ExternalMemory], int]] = {
    "import-offset-ignored": lambda memory: 0,
    "import-base-rounded-down": lambda memory: memory.offset - (memory.handle + memory.offset) % 16,
    "import-base-rounded-up": lambda memory: memory.offset + -(memory.handle + memory.offset) % 16,
}
"""Fault → the offset at which memory is imported in place of the one that was asked for."""


def _imports_at(offset: Callable[[ExternalMemory], int]) -> Callable[[SimDevice], None]:
    def seed(device: SimDevice) -> None:
        import_ = device.import_
        replace(device, import_=lambda memory: import_(dataclasses.replace(memory, offset=offset(memory))))

    return seed


for _name, _offset in MOVED.items():
    seeds(_name)(_imports_at(_offset))


@seeds("small-buffer-taken")
def small_buffer_taken(device: SimDevice) -> None:
    """Imported memory that ends before its tensor does is taken; of what lies beyond, one cache line is written."""

    def take(self: SimBinding, name: str, buffer: Buffer, bound: dict[str, Any]) -> None:
        place = self.executable.places.get(name)
        if isinstance(buffer, DeviceBuffer) and buffer.region.imported and place and buffer.region.nbytes < place.span:
            small, buffer.region = buffer.region, device.memory.allocate(place.span)
            short[buffer.region] = small
        SimBinding._take(self, name, buffer, bound)

    def flush(region: Region) -> None:
        host(region)
        small = short.get(region)
        if small is not None and small.address and region.host is not None:
            target = elements.memory(small.address, small.nbytes + LINE)
            target[:] = region.host[: target.size]

    short = weakref.WeakKeyDictionary[Region, Region]()
    host = device.memory.to_host
    replace(device.memory, to_host=flush)
    bindings(device, _take=take)


@seeds("address-of-the-guard")
def address_of_the_guard(device: SimDevice) -> None:
    """A buffer's address is that of the allocation, not of its data behind the header."""
    header = property(lambda self: None if self.region.address is None else self.region.address - LINE)
    buffers(device, address=header)


@seeds("memory-moves")
def memory_moves(device: SimDevice) -> None:
    """The first run moves an allocated output; whoever asked for its address before has the old one."""
    moved = weakref.WeakSet[Region]()

    def allocate(self: SimExecutable, name: str, kind: Any = "host") -> Any:
        buffer: Any = SimExecutable.allocate(self, name, kind)
        first = buffer.address
        buffer.__class__ = type("DeviceBuffer", (DeviceBuffer,), {"address": property(lambda self: first)})
        return buffer

    def arrive(self: SimBinding, fence: Fence) -> None:
        for region, _ in self.targets.values():
            if not region.imported and region.host is not None and region not in moved:
                moved.add(region)
                region.host = region.host.copy()
        SimBinding._arrive(self, fence)

    kind = type("SimBinding", (SimBinding,), {"_arrive": arrive})
    executables(device, allocate=allocate, bind=lambda self, inputs, outputs=None: kind(self, inputs, outputs))


# Rows and strides


def _laid_out(device: SimDevice, change: Callable[[SimBinding, TensorSpec, DeviceBuffer, Place], Place]) -> None:
    """Tensors lie elsewhere in their buffers than the device was told."""

    def lay_out(self: SimBinding, name: str, buffer: DeviceBuffer) -> Place:
        return change(self, self.executable.spec(name), buffer, SimBinding.lay_out(self, name, buffer))

    bindings(device, lay_out=lay_out)


def _is_input(binding: SimBinding, spec: TensorSpec) -> bool:
    return spec in binding.executable.inputs


def _packed_rows(inputs: bool) -> Callable[[SimDevice], None]:
    def change(binding: SimBinding, spec: TensorSpec, buffer: DeviceBuffer, place: Place) -> Place:
        return Place.rows(place.shape, place.element, 1) if _is_input(binding, spec) is inputs else place

    return lambda device: _laid_out(device, change)


def _import_strides(inputs: bool) -> Callable[[SimDevice], None]:
    def change(binding: SimBinding, spec: TensorSpec, buffer: DeviceBuffer, place: Place) -> Place:
        strided = buffer.external is not None and buffer.external.strides is not None
        return binding.executable.places[spec.name] if strided and _is_input(binding, spec) is inputs else place

    return lambda device: _laid_out(device, change)


seeds("row-pitch-ignored-on-input")(_packed_rows(True))
seeds("row-pitch-ignored-on-output")(_packed_rows(False))
seeds("import-strides-ignored-on-input")(_import_strides(True))
seeds("import-strides-ignored-on-output")(_import_strides(False))


@seeds("negative-strides-unrunnable")
def negative_strides_unrunnable(device: SimDevice) -> None:
    """Negative strides are taken when memory is imported, and end the run that meets them."""

    def change(binding: SimBinding, spec: TensorSpec, buffer: DeviceBuffer, place: Place) -> Place:
        if any(stride < 0 for stride in place.strides):
            raise RunError("strides of size_t out of range", phase="load", code="sim.fault")
        return place

    _laid_out(device, change)


class SwappedNibbles(Place):
    """The first element of a byte is taken from its high bits."""

    def read(self, data: np.ndarray) -> np.ndarray:
        return Place.read(self, data if not self.packed else (data >> 4) | (data << 4))


def _nibbles_swapped(device: SimDevice) -> None:
    def change(binding: SimBinding, spec: TensorSpec, buffer: DeviceBuffer, place: Place) -> Place:
        return SwappedNibbles(place.shape, place.element, place.strides, place.first)

    _laid_out(device, change)


seeds("nibbles-swapped-in-memory")(_nibbles_swapped)
