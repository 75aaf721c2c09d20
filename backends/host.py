"""Buffers and fences for runtimes that work on host memory and return when they are done."""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Iterator

import numpy as np

from backends.interface import Buffer, Executable, Fence, MapMode, RunError


class HostBuffer(Buffer):
    """A NumPy array used where it lies: for runtimes that read and write host memory."""

    def __init__(self, array: np.ndarray) -> None:
        self._array: np.ndarray | None = array

    @property
    def array(self) -> np.ndarray:
        """Raises RunError once the buffer was released."""
        if self._array is None:
            raise RunError("this buffer was released", phase="read")
        return self._array

    @array.setter
    def array(self, array: np.ndarray) -> None:
        self._array = array

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

    def release(self) -> None:
        """Views, and runtimes that hold on to the array, keep it alive."""
        self._array = None


class ImportedBuffer(HostBuffer):
    """Bytes of somebody else's, which have no type until they are bound."""


class CompletedFence(Fence):
    """The fence of a synchronous runtime: the work was complete when `submit` returned."""

    def wait(self, timeout: float | None = None) -> None:
        return None

    def done(self) -> bool:
        return True


def check_names(executable: Executable, inputs: Collection[str], outputs: Collection[str] | None) -> None:
    """For runtimes that take what is bound as it comes. Raises RunError for a name that the model does not have, and for an
    input to which nothing is bound."""
    for bound, specs, what in ((inputs, executable.inputs, "input"), (outputs or (), executable.outputs, "output")):
        known = [spec.name for spec in specs]
        unknown = [name for name in bound if name not in known]
        if unknown:
            raise RunError(f"the model has no {what} {', '.join(unknown)}", phase="load", code="unknown_name")
    missing = [spec.name for spec in executable.inputs if spec.name not in inputs]
    if missing:
        raise RunError(f"nothing is bound to {', '.join(missing)}", phase="load", code="missing_input")
