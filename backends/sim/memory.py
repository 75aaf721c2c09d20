"""Memory of the simulated device: regions, what host and device see of them, and how long they live.

Host and device never share bytes unless the profile says that their memory is one and coherent. In unified memory the device
works on its cache: `to_device` before a run reads what the host wrote, `to_host` at a fence lets the host see what the device
wrote; neither is a copy that anybody counts. In discrete memory, and where memory of the host cannot be used in place, the
same two steps are copies. A region lives until its buffer is released and no view, binding or run holds on to it; its bytes
are then poisoned and used for the next region of that size.
"""

from __future__ import annotations

import ctypes
import dataclasses
import threading
import weakref
from collections.abc import Iterable
from typing import Any, Protocol

import numpy as np

from backends import elements
from backends.interface import OutOfMemory, RunError, Unsupported
from backends.sim import profile
from backends.sim.clock import Clock
from backends.sim.queue import Fence

CANARY, ALLOCATED, FREED = 0xC6, 0xA5, 0xDD
"""Bytes beside regions, in new ones, and in those given back."""

LARGEST = 1 << 46
"""Bytes of an import that no host has."""

POOLED = 1 << 20
"""Largest region, in bytes, whose memory is kept for the next one of its size."""

HOST_LINE = 64
"""Bytes that allocated addresses are a multiple of, where the profile asks for less: a cache line of every host."""


class Written(Protocol):
    """A tensor's place in a region."""

    def carry(self, source: np.ndarray, target: np.ndarray) -> None:
        """Copies the tensor's elements, and nothing between them."""


@dataclasses.dataclass(eq=False)
class Region:
    """device: the bytes that the device sees, within `block` and its guards. host: those that the host sees, None where it sees
    them through copies only; the same array as `device` in coherent memory. copied: `to_device` and `to_host` are copies.
    imported: the host's bytes are somebody else's. newer: where the device wrote what has not reached the host yet. holders:
    who needs the region. pending: fences of runs that use it and that nobody has waited for; writing: of those that write
    it."""

    nbytes: int
    block: np.ndarray
    device: np.ndarray
    host: np.ndarray | None
    copied: bool = False
    imported: bool = False
    newer: list[Written] = dataclasses.field(default_factory=list)
    holders: int = 1
    pending: weakref.WeakSet[Fence] = dataclasses.field(default_factory=weakref.WeakSet)
    writing: weakref.WeakSet[Fence] = dataclasses.field(default_factory=weakref.WeakSet)

    @property
    def address(self) -> int | None:
        """Where the host sees it."""
        return None if self.host is None else int(self.host.ctypes.data)


class Memory:
    """All regions of a device."""

    def __init__(self, rules: profile.Memory, clock: Clock) -> None:
        self.rules = rules
        self.clock = clock
        self.in_use = 0
        self.copies = 0
        self.live: set[Region] = set()
        self.lock = threading.RLock()
        self._free: dict[int, list[np.ndarray]] = {}
        self._closed = False

    def allocate(self, nbytes: int) -> Region:
        """A region of the device's own. Raises OutOfMemory beyond its capacity."""
        self._reserve(nbytes)
        block = self._block(nbytes)
        device = self._inside(block, nbytes)
        host = None if self.rules.discrete else device if self.rules.coherent else self._host_side(nbytes)
        return self._register(Region(nbytes, block, device, host, copied=self.rules.discrete))

    def adopt(self, address: int, nbytes: int) -> Region:
        """A region over the host's memory. Raises Unsupported where the device does not take it."""
        rules = self.rules
        if nbytes < 0 or nbytes > LARGEST:
            raise Unsupported(f"memory of {nbytes} bytes", phase="allocate", code="sim.size")
        if not rules.imports:
            raise Unsupported("this device does not use host memory in place", phase="allocate", code="sim.import")
        fits = address % rules.alignment == 0 and nbytes % rules.size_multiple == 0
        if not fits and rules.unaligned == "refuse":
            taken = f"the device imports multiples of {rules.alignment} and {rules.size_multiple}"
            raise Unsupported(f"address {address:#x} of {nbytes} bytes: {taken}", phase="allocate", code="sim.alignment")
        host = elements.memory(address, nbytes)
        if fits and rules.coherent:
            return self._register(Region(nbytes, host, host, host, imported=True))
        if not fits:
            self._reserve(nbytes)
        block = self._block(nbytes)
        return self._register(Region(nbytes, block, self._inside(block, nbytes), host, copied=not fits, imported=True))

    def to_device(self, region: Region) -> None:
        """The device sees what the host wrote, unless it has itself written since."""
        if region.host is None or region.newer or region.host is region.device:
            return
        region.device[...] = region.host
        self._count(region)

    def to_host(self, region: Region) -> None:
        """The host sees what the device wrote; bytes between the elements stay the host's."""
        written, region.newer = region.newer, []
        if written and region.host is not None and region.host is not region.device:
            for place in written:
                place.carry(region.device, region.host)
            self._count(region)

    def download(self, region: Region) -> np.ndarray:
        """A copy for the host of a region that it does not see."""
        self._count(region)
        return region.device.copy()

    def upload(self, region: Region, data: np.ndarray) -> None:
        """The way back."""
        region.device[...] = data
        self._count(region)

    def view(self, region: Region) -> np.ndarray:
        """The host's bytes, or the device's own where they are mapped, read-only; the region lives as long as they do."""
        if self.rules.views == "none":
            raise Unsupported("this device gives no views", phase="read", code="sim.view")
        shown = region.device if region.host is None else region.host
        if not region.nbytes:
            return shown
        lease: Any = (ctypes.c_ubyte * region.nbytes).from_address(shown.ctypes.data)
        lease.owner = shown  # the bytes themselves
        self.hold(region)
        weakref.finalize(lease, self.drop, region).atexit = False
        array: np.ndarray = np.frombuffer(lease, np.uint8)
        array.flags.writeable = False
        return array

    def hold(self, region: Region) -> None:
        """One more that needs the region. Raises RunError for one that is gone."""
        with self.lock:
            if not region.holders:
                raise RunError("this buffer was released", phase="load", code="sim.released")
            region.holders += 1

    def drop(self, region: Region) -> None:
        """One less."""
        with self.lock:
            region.holders -= 1
            if not region.holders:
                self.free(region)

    def free(self, region: Region) -> None:
        """Poisons the device's bytes and keeps them for the next region of that size."""
        with self.lock:
            self.live.discard(region)
            if region.block is region.host:
                return
            region.device[...] = FREED
            if region.copied or not region.imported:
                self.in_use -= region.nbytes
            if region.nbytes <= POOLED:
                self._free.setdefault(region.nbytes, []).append(region.block)

    def check(self, region: Region) -> None:
        """Raises RunError where the device has written beside the region."""
        if region.block is region.device:
            return
        start = int(region.device.ctypes.data - region.block.ctypes.data) if region.nbytes else self.rules.guard
        if (region.block[:start] != CANARY).any() or (region.block[start + region.nbytes :] != CANARY).any():
            raise RunError(f"the device wrote beside a region of {region.nbytes} bytes", code="sim.guard")

    def uses(self, fence: Fence, reads: Iterable[Region], writes: Iterable[tuple[Region, Written]]) -> None:
        """A run was submitted that reads and writes these regions."""
        for region, place in writes:
            region.pending.add(fence)
            region.writing.add(fence)
            region.newer = [*(other for other in region.newer if other != place), place]
        for region in reads:
            region.pending.add(fence)

    def users(self, region: Region) -> list[Fence]:
        """Runs that use a region and that nobody has waited for."""
        with self.lock:
            return list(region.pending)

    def done(self, fence: Fence, reads: Iterable[Region], writes: Iterable[tuple[Region, Written]]) -> None:
        """A run was waited for: the host sees what it wrote, unless another one is still writing there, or it failed."""
        with self.lock:
            for region in reads:
                region.pending.discard(fence)
            for region, place in writes:
                region.pending.discard(fence)
                for other in [other for other in region.writing if other is fence or other.done()]:
                    region.writing.discard(other)
                if fence.failed:
                    region.newer = [other for other in region.newer if other != place]
                if not region.writing:
                    self.to_host(region)

    def close(self) -> None:
        """Gives everything back that nobody holds; what views still show stays as it is."""
        with self.lock:
            self._closed = True
            self._free.clear()
            self.live.clear()

    def _reserve(self, nbytes: int) -> None:
        with self.lock:
            if self._closed:
                raise RunError("the device was closed", phase="allocate", code="sim.closed")
            if self.in_use + nbytes > self.rules.capacity:
                text = f"{nbytes} bytes asked for, {self.in_use} of {self.rules.capacity} in use"
                raise OutOfMemory(text, code="sim.out_of_memory")
            self.in_use += nbytes

    def _block(self, nbytes: int) -> np.ndarray:
        with self.lock:
            waiting = self._free.get(nbytes)
            block = waiting.pop() if waiting else self._new(nbytes)
        block[...] = CANARY
        self._inside(block, nbytes)[...] = ALLOCATED
        return block

    def _new(self, nbytes: int) -> np.ndarray:
        guard = self.rules.guard
        return np.empty(2 * guard + nbytes + self._alignment(), np.uint8)

    def _inside(self, block: np.ndarray, nbytes: int) -> np.ndarray:
        """The aligned bytes between the guards of a block."""
        start = self.rules.guard + (-(block.ctypes.data + self.rules.guard)) % self._alignment()
        return block[start : start + nbytes]

    def _host_side(self, nbytes: int) -> np.ndarray:
        """What the host sees of unified memory that is not coherent."""
        block = self._new(nbytes)
        inside = self._inside(block, nbytes)
        inside[...] = ALLOCATED
        return inside

    def _alignment(self) -> int:
        return max(self.rules.alignment, HOST_LINE)

    def _register(self, region: Region) -> Region:
        self.live.add(region)
        return region

    def _count(self, region: Region) -> None:
        if region.copied:
            self.copies += 1
            self.clock.transfer(region.nbytes)
