"""Faults of memory: what host and device see of each other's writes, and what is copied though it is said not to be."""

from __future__ import annotations

import dataclasses
import weakref
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from backends.sim.binding import SimBinding
from backends.sim.device import SimDevice
from backends.sim.engine import Engine
from backends.sim.faults import seeds
from backends.sim.faults.seams import bindings, replace
from backends.sim.memory import Region
from backends.sim.queue import Fence

LINE = 64
"""Bytes of a cache line."""


@seeds("no-invalidate")
def no_invalidate(device: SimDevice) -> None:
    """A region is read once, when it is bound first, and never again."""
    read, known = device.memory.to_device, weakref.WeakSet[Region]()

    def once(region: Region) -> None:
        if region not in known:
            known.add(region)
            read(region)

    replace(device.memory, to_device=once)


# How much of a region the other side sees

Part = Callable[[int], slice]

READ: Mapping[str, Part] = {
    "input-last-line-stale": lambda n: slice(0, max(n - n % LINE, min(n, LINE))),
    "input-first-line-only": lambda n: slice(0, LINE),
}
"""Fault → the bytes of a region of n bytes that the device reads anew after it has read all of them once."""


def _reads(part: Part) -> Callable[[SimDevice], None]:
    def seed(device: SimDevice) -> None:
        read, known = device.memory.to_device, weakref.WeakSet[Region]()

        def partly(region: Region) -> None:
            before = region.device.copy()
            read(region)
            if region in known and region.host is not region.device:
                seen = part(region.nbytes)
                before[seen] = region.device[seen]
                region.device[...] = before
            known.add(region)

        replace(device.memory, to_device=partly)

    return seed


WRITTEN: Mapping[str, Part] = {
    "flush-first-line": lambda n: slice(0, LINE),
    "tail-not-flushed": lambda n: slice(0, n - n % (LINE // 2)),
    "dirty-line-written-back": lambda n: slice(min(n, LINE), n),
}
"""Fault → the bytes of a region of n bytes of which the host sees what the device wrote."""


def _flushes(part: Part) -> Callable[[SimDevice], None]:
    def seed(device: SimDevice) -> None:
        flush = device.memory.to_host

        def partly(region: Region) -> None:
            if region.newer and region.host is not None and region.host is not region.device:
                seen = part(region.nbytes)
                kept = region.host.copy()
                flush(region)
                kept[seen] = region.host[seen]
                region.host[...] = kept
            flush(region)

        replace(device.memory, to_host=partly)

    return seed


for _name, _part in READ.items():
    seeds(_name)(_reads(_part))
for _name, _part in WRITTEN.items():
    seeds(_name)(_flushes(_part))


@seeds("gaps-flushed")
def gaps_flushed(device: SimDevice) -> None:
    """The bytes between the elements are brought to the host too, as the device's cache happens to hold them."""

    def whole(region: Region) -> None:
        written, region.newer = region.newer, []
        if written and region.host is not None and region.host is not region.device:
            region.host[...] = region.device
            device.memory._count(region)

    replace(device.memory, to_host=whole)


@seeds("import-never-flushed")
def import_never_flushed(device: SimDevice) -> None:
    """What the device wrote to imported memory stays in its cache."""
    flush = device.memory.to_host

    def own_only(region: Region) -> None:
        if region.imported:
            region.newer = []
        flush(region)

    replace(device.memory, to_host=own_only)


@seeds("upload-first-bytes")
def upload_first_bytes(device: SimDevice) -> None:
    """A map that writes brings the first 256 bytes to the device."""
    upload = device.memory.upload

    def first(region: Region, data: np.ndarray) -> None:
        kept = region.device.copy()
        kept[:256] = data[:256]
        upload(region, kept)

    replace(device.memory, upload=first)


@seeds("map-not-uploaded")
def map_not_uploaded(device: SimDevice) -> None:
    """Only the first map of a region that writes is brought to the device."""
    upload, known = device.memory.upload, weakref.WeakSet[Region]()

    def once(region: Region, data: np.ndarray) -> None:
        if region not in known:
            known.add(region)
            upload(region, data)

    replace(device.memory, upload=once)


@seeds("input-as-scratch")
def input_as_scratch(device: SimDevice) -> None:
    """The result is also written over the input, as an operation in place would, though the output lies elsewhere."""

    def compute(self: SimBinding, engine: Engine) -> None:
        SimBinding._compute(self, engine)
        for result, _ in list(self.targets.values())[:1]:
            for region, _ in self.sources.values():
                region.device[: result.nbytes] = result.device[: region.nbytes]

    def arrive(self: SimBinding, fence: Fence) -> None:
        for region, place in self.sources.values():
            region.newer = [place]
            self.device.memory.to_host(region)
        SimBinding._arrive(self, fence)

    bindings(device, _compute=compute, _arrive=arrive)


# Copies


def _adoption(device: SimDevice, alignment: int, **rules: Any) -> None:
    """Memory is imported by another rule than the one that is declared."""
    memory = device.memory
    memory.rules = dataclasses.replace(memory.rules, alignment=alignment, **rules)


@seeds("copies-unless-page-aligned")
def copies_unless_page_aligned(device: SimDevice) -> None:
    _adoption(device, 4096)


@seeds("refuses-unless-line-aligned")
def refuses_unless_line_aligned(device: SimDevice) -> None:
    _adoption(device, 128, unaligned="refuse")


@seeds("copied-though-adopted")
def copied_though_adopted(device: SimDevice) -> None:
    """Imported memory is copied at every run, and said to be used in place."""
    adopt = device.memory.adopt

    def copied(address: int, nbytes: int) -> Region:
        region = adopt(address, nbytes)
        region.copied = True
        device.memory.in_use += nbytes
        return region

    replace(device.memory, adopt=copied)
    bindings(device, adopted=lambda self, name: True)


@seeds("import-snapshot")
def import_snapshot(device: SimDevice) -> None:
    """Imported memory is copied when it is bound, and said to be used in place."""
    adopt, read = device.memory.adopt, device.memory.to_device

    def snapshot(address: int, nbytes: int) -> Region:
        region = adopt(address, nbytes)
        read(region)
        return region

    def never(region: Region) -> None:
        if not region.imported:
            read(region)

    replace(device.memory, adopt=snapshot, to_device=never)


@seeds("adoption-denied")
def adoption_denied(device: SimDevice) -> None:
    """Memory that is used in place is said to be copied."""
    bindings(device, adopted=lambda self, name: False)


@seeds("copies-in-secret")
def copies_in_secret(device: SimDevice) -> None:
    """Imported inputs are staged at every run, which nobody counts but the clock."""

    def submit(self: SimBinding, *arguments: Any, **options: Any) -> Any:
        for region, _ in self.sources.values():
            if region.imported:
                device.timeline.spend(4 * region.nbytes / device.timeline.rates.bandwidth)
        return SimBinding.submit(self, *arguments, **options)

    bindings(device, submit=submit)


@seeds("copies-not-counted")
def copies_not_counted(device: SimDevice) -> None:
    replace(device, copies=lambda: 0)
