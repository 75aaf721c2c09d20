"""Memory of the simulated device: unified with the host's, so that buffers are used where they lie."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator, Sequence

import numpy as np

from backends.elements import memory as array_at
from backends.host import HostBuffer
from backends.interface import MapMode, RunError

ALIGNMENT = 64
"""Bytes that allocated addresses are a multiple of: a cache line of every host that runs this."""


class DeviceBuffer(HostBuffer):
    """One allocation. Views keep its memory alive after `release`; mapping it then is an error."""

    def __init__(self, owner: Memory, array: np.ndarray) -> None:
        super().__init__(array)
        self._owner = owner

    @contextlib.contextmanager
    def map(self, mode: MapMode) -> Iterator[np.ndarray]:
        if self not in self._owner.live:
            raise RunError("this buffer was released", phase="read")
        with super().map(mode) as array:
            yield array

    def release(self) -> None:
        self._owner.live.discard(self)


class Memory:
    """What a device has allocated. `live` are the buffers not yet released."""

    def __init__(self) -> None:
        self.live: set[DeviceBuffer] = set()

    def allocate(self, shape: Sequence[int], dtype: np.dtype) -> DeviceBuffer:
        """A zeroed buffer at an aligned address."""
        nbytes = math.prod(shape) * dtype.itemsize
        block = np.zeros(nbytes + ALIGNMENT, np.uint8)
        start = -block.ctypes.data % ALIGNMENT
        return self._register(block[start : start + nbytes].view(dtype).reshape(shape))

    def adopt(self, address: int, nbytes: int) -> DeviceBuffer:
        """A buffer over memory of somebody else's."""
        return self._register(array_at(address, nbytes))

    def close(self) -> None:
        """Release everything."""
        self.live.clear()

    def _register(self, array: np.ndarray) -> DeviceBuffer:
        buffer = DeviceBuffer(self, array)
        self.live.add(buffer)
        return buffer
