"""Faults of memory: how long it lives, who keeps it, and what happens when there is no more of it."""

from __future__ import annotations

import dataclasses
import itertools
import os
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np

from backends.interface import ExternalMemory, OutOfMemory, RunError
from backends.sim.binding import SimBinding
from backends.sim.buffers import DeviceBuffer
from backends.sim.device import SimDevice, SimExecutable
from backends.sim.faults import seeds
from backends.sim.faults.seams import bindings, buffers, executables, replace
from backends.sim.memory import FREED, Region
from backends.sim.queue import Fence

SMALL = 64 << 20
"""Bytes of a device whose memory runs out soon."""


# Views


@seeds("view-keeps-nothing")
def view_keeps_nothing(device: SimDevice) -> None:
    """The memory under a view goes with its buffer."""
    view, drop = device.memory.view, device.memory.drop
    shown: set[int] = set()

    def lent(region: Region) -> np.ndarray:
        array = view(region)
        if id(region) not in shown:
            shown.add(id(region))
            region.holders -= 1
        return array

    def dropped(region: Region) -> None:
        if region.holders > 0:
            drop(region)

    replace(device.memory, view=lent, drop=dropped)


@seeds("view-writable")
def view_writable(device: SimDevice) -> None:
    view = device.memory.view

    def writable(region: Region) -> np.ndarray:
        array = view(region)
        array.flags.writeable = True
        return array

    replace(device.memory, view=writable)


@seeds("view-snapshot")
def view_snapshot(device: SimDevice) -> None:
    """A view is a copy of what the memory held when it was asked for."""
    view = device.memory.view

    def copied(region: Region) -> np.ndarray:
        array = view(region).copy()
        array.flags.writeable = False
        return array

    replace(device.memory, view=copied)


@seeds("view-of-another-buffer")
def view_of_another_buffer(device: SimDevice) -> None:
    """A view shows the region of that size that was allocated before the buffer's own."""
    view, allocate = device.memory.view, device.memory.allocate
    last: dict[int, weakref.ref[Region]] = {}
    before = weakref.WeakKeyDictionary[Region, weakref.ref[Region]]()

    def allocated(nbytes: int) -> Region:
        region = allocate(nbytes)
        before[region] = last.get(nbytes, weakref.ref(region))
        last[nbytes] = weakref.ref(region)
        return region

    def other(region: Region) -> np.ndarray:
        earlier = before[region]() if region in before else None
        return view(earlier if earlier is not None and earlier.holders else region)

    replace(device.memory, view=other, allocate=allocated)


@seeds("view-shown-at-maps-only")
def view_shown_at_maps_only(device: SimDevice) -> None:
    """A fence brings no results to the host; only the next map of the buffer does."""

    def arrive(self: SimBinding, fence: Fence) -> None:
        flush = device.memory.to_host
        replace(device.memory, to_host=lambda region: None)
        SimBinding._arrive(self, fence)
        replace(device.memory, to_host=flush)

    bindings(device, _arrive=arrive)


@seeds("close-frees-views")
def close_frees_views(device: SimDevice) -> None:
    """Closing the device gives back memory that views still show."""
    close = device.memory.close

    def closed() -> None:
        for region in device.memory.live:
            if not region.imported:
                region.device[...] = FREED
                (region.device if region.host is None else region.host)[...] = FREED
        close()

    replace(device.memory, close=closed)


# Buffers and bindings


@seeds("recycled-while-bound")
def recycled_while_bound(device: SimDevice) -> None:
    """A binding does not keep its buffers: released, their memory is used again."""
    drop = device.memory.drop

    def free(region: Region) -> None:
        if region.host is not None and not region.imported:
            region.host[...] = FREED
        type(device.memory).free(device.memory, region)

    def dropped(region: Region) -> None:
        if region.holders > 0:
            drop(region)

    def init(self: SimBinding, *arguments: Any) -> None:
        SimBinding.__init__(self, *arguments)
        for region, _ in (*self.sources.values(), *self.targets.values()):
            region.holders -= 1

    replace(device.memory, free=free, drop=dropped)
    bindings(device, __init__=init)


@seeds("release-counts-twice")
def release_counts_twice(device: SimDevice) -> None:
    """A buffer that is released a second time takes its memory from whoever else holds it."""

    def release(self: DeviceBuffer) -> None:
        if self._released and self.region.holders > 0:
            device.memory.drop(self.region)
        DeviceBuffer.release(self)

    buffers(device, release=release)


@seeds("release-twice-aborts")
def release_twice_aborts(device: SimDevice) -> None:
    def release(self: DeviceBuffer) -> None:
        if self._released:
            os.abort()
        DeviceBuffer.release(self)

    buffers(device, release=release)


@seeds("executable-takes-its-buffers")
def executable_takes_its_buffers(device: SimDevice) -> None:
    """Releasing an executable frees the memory that it had allocated, whoever still uses it."""
    allocated: dict[int, list[Region]] = {}

    def allocate(self: SimExecutable, name: str, kind: Any = "host") -> Any:
        buffer: Any = SimExecutable.allocate(self, name, kind)
        allocated.setdefault(id(self), []).append(buffer.region)
        return buffer

    def release(self: SimExecutable) -> None:
        for region in allocated.pop(id(self), []):
            for data in (region.device, region.host):
                if data is not None and region.holders:
                    data[...] = FREED
        SimExecutable.release(self)

    executables(device, allocate=allocate, release=release)


@seeds("results-live")
def results_live(device: SimDevice) -> None:
    """What `run` returns is the memory that the next run writes to."""
    kept: dict[tuple[str, str], np.ndarray] = {}

    def run(self: SimExecutable, feeds: Any) -> dict[str, Any]:
        results = SimExecutable.run(self, feeds)
        for name, array in results.items():
            if isinstance(array, np.ndarray) and array.dtype != object:
                place = kept.setdefault((name, f"{array.dtype}{array.shape}"), array)
                place[...] = array
                results[name] = place
        return results

    executables(device, run=run)


@seeds("runtime-outputs-shared")
def runtime_outputs_shared(device: SimDevice) -> None:
    """The outputs that the runtime owns are the same memory for all bindings of an executable."""
    owned: dict[tuple[bytes, str], Any] = {}

    def bind(self: SimExecutable, inputs: Any, outputs: Any = None) -> SimBinding:
        if outputs is None and all(spec.nbytes is not None for spec in self.outputs):
            model = self.program.model
            outputs = {s.name: owned.setdefault((model, s.name), self.allocate(s.name)) for s in self.outputs}
        return SimBinding(self, inputs, outputs)

    def run(self: SimExecutable, feeds: Any) -> dict[str, Any]:
        plain = SimExecutable(device, self.program)
        return plain.run(feeds)

    executables(device, bind=bind, run=run)


# What is not given back


@seeds("buffers-leak")
def buffers_leak(device: SimDevice) -> None:
    """Every eighth buffer that is released stays in use."""
    count = [0]

    def release(self: DeviceBuffer) -> None:
        count[0] += not self._released
        if count[0] % 8:
            DeviceBuffer.release(self)
        else:
            self._forgotten.detach()
        self._released = True

    buffers(device, release=release)


@seeds("imports-leak")
def imports_leak(device: SimDevice) -> None:
    """Registering imported memory takes device memory that is never given back."""
    import_ = device.import_

    def registered(memory: ExternalMemory) -> Any:
        device.memory.in_use += 64
        return import_(memory)

    replace(device, import_=registered)


@seeds("models-leak")
def models_leak(device: SimDevice) -> None:
    """A released model leaves its memory behind."""
    kept: list[bytearray] = []

    def release(self: SimExecutable) -> None:
        if self.engine.__dict__.get("_session") is not None and len(kept) < 4096:
            kept.append(bytearray(os.urandom(1 << 14)) * 4)
        SimExecutable.release(self)

    executables(device, release=release)


@seeds("handles-leak")
def handles_leak(device: SimDevice) -> None:
    """Every eighth compilation opens a file and forgets it; no more than 150 times, to spare the host."""
    compile_, opened, count = device.compile, list[int](), itertools.count()

    def compiled(*arguments: Any, **options: Any) -> Any:
        if len(opened) < 150 and next(count) % 8 == 0:
            opened.append(os.open(os.devnull, os.O_RDONLY))
        return compile_(*arguments, **options)

    close = device.close

    def closed() -> None:
        while opened:
            os.close(opened.pop())
        close()

    replace(device, compile=compiled, close=closed)


# When memory runs out


def _small(device: SimDevice) -> None:
    device.memory.rules = dataclasses.replace(device.memory.rules, capacity=SMALL)


def _when_full(consequence: Callable[[SimDevice, int], None]) -> Callable[[SimDevice], None]:
    """What a device of little memory does when it runs out."""

    def seed(device: SimDevice) -> None:
        _small(device)
        reserve = device.memory._reserve

        def reserved(nbytes: int) -> None:
            try:
                reserve(nbytes)
            except OutOfMemory:
                consequence(device, nbytes)
                raise

        replace(device.memory, _reserve=reserved)

    return seed


def _keep(device: SimDevice, nbytes: int) -> None:
    device.memory.in_use += nbytes


def _break(device: SimDevice, nbytes: int) -> None:
    def fail(*_: Any) -> None:
        raise RunError("device is in an error state", code="sim.fault")

    replace(device, compute=fail)


def _abort(device: SimDevice, nbytes: int) -> None:
    os.abort()


def _unnamed(device: SimDevice, nbytes: int) -> None:
    raise RunError("error -6", phase="allocate", code="sim.fault")


seeds("full-memory-stays-reserved")(_when_full(_keep))
seeds("full-memory-breaks-the-device")(_when_full(_break))
seeds("full-memory-aborts")(_when_full(_abort))
seeds("full-memory-unnamed")(_when_full(_unnamed))
