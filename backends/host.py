"""Buffers and fences for runtimes that work on host memory and return when they are done."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import numpy as np

from backends.interface import Buffer, Fence, MapMode


class HostBuffer(Buffer):
    """A NumPy array used where it lies: for runtimes that read and write host memory."""

    def __init__(self, array: np.ndarray) -> None:
        self.array = array

    @contextlib.contextmanager
    def map(self, mode: MapMode) -> Iterator[np.ndarray]:
        """The array itself, read-only for mode "r"."""
        array = self.array.view()
        array.flags.writeable = mode != "r"
        yield array

    def view(self) -> np.ndarray:
        array = self.array.view()
        array.flags.writeable = False
        return array

    @property
    def address(self) -> int | None:
        return int(self.array.ctypes.data)


class CompletedFence(Fence):
    """The fence of a synchronous runtime: the work was complete when `submit` returned."""

    def wait(self, timeout: float | None = None) -> None:
        return None

    def done(self) -> bool:
        return True
