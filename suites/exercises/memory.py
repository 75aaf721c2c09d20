"""Guarded memory: blocks with canaries on both sides at a chosen distance from a page, and tensors laid out in them."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

from backends.interface import Buffer, Capabilities, Device, ExternalMemory, TensorSpec, Unsupported

PAGE = 4096
"""Bytes that a block without offset is aligned to, unless the device asks for more."""

GUARD = 1024
"""Bytes of canaries on either side: more than the longest vector store or cache line that could run over an edge."""

CANARY = ((np.arange(2 * PAGE, dtype=np.uint32) * 37 + 11) % 251).astype(np.uint8)
"""Differs from byte to byte and has no period that a vector unit has."""

POISONS = (0xA5, 0x3C)
"""Bytes that outputs are filled with before a run; what shows both of them after two runs was written by neither."""

UNWRITTEN = 0x3B
"""Byte that imported memory holds at first: as float32 a small positive number, which Relu does not hide."""


class Block:
    """`nbytes` bytes at `offset` from a multiple of `page`, between canaries."""

    def __init__(self, nbytes: int, offset: int = 0, page: int = PAGE) -> None:
        self.whole = np.empty(page + GUARD + offset + nbytes + GUARD, np.uint8)
        start = GUARD + -(self.whole.ctypes.data + GUARD) % page + offset
        self.bytes = self.whole[start : start + nbytes]
        self._before = self.whole[start - GUARD : start]
        self._behind = self.whole[start + nbytes : start + nbytes + GUARD]
        self._before[:] = CANARY[:GUARD]
        self._behind[:] = CANARY[-GUARD:]
        self.base = int(self.bytes.ctypes.data) - offset if nbytes else 0

    def damage(self) -> str:
        """Where canaries are gone, "" while all are there."""
        found = []
        for where, guard, canary in (("before", self._before, CANARY[:GUARD]), ("behind", self._behind, CANARY[-GUARD:])):
            (wrong,) = np.nonzero(guard != canary)
            if wrong.size:
                nearest = GUARD - int(wrong[-1]) if where == "before" else int(wrong[0]) + 1
                found.append(f"{wrong.size} bytes {where} it are overwritten, the nearest {nearest} from its edge")
        return " and ".join(found)


def shape_of(spec: TensorSpec) -> tuple[int, ...]:
    """Raises Unsupported for a shape that is not known before the run."""
    if None in spec.shape:
        raise Unsupported(f"{spec.name} has no fixed shape to lay out", phase="allocate")
    return tuple(d or 0 for d in spec.shape)


def extent(spec: TensorSpec) -> int:
    """Bytes of a compiled input or output."""
    dense = math.prod(shape_of(spec)) * np.dtype(spec.dtype).itemsize
    return dense if spec.nbytes is None else spec.nbytes


def laid_out(bytes: np.ndarray, spec: TensorSpec, strides: tuple[int, ...] | None = None) -> np.ndarray:
    """The array of a tensor over bytes, with the spec's strides or others; unaligned addresses are no matter."""
    return np.ndarray(shape_of(spec), np.dtype(spec.dtype), bytes, strides=strides or spec.strides)


def last_byte(spec: TensorSpec, strides: tuple[int, ...] | None = None) -> int:
    """Bytes from the first element to the end of the last, without padding behind it; strides are the spec's or others."""
    shape, item = shape_of(spec), np.dtype(spec.dtype).itemsize
    steps = strides or spec.strides
    return math.prod(shape) * item if steps is None else sum((d - 1) * s for d, s in zip(shape, steps, strict=True)) + item


class Place:
    """A tensor of one compiled input or output in memory that the device has a buffer for."""

    def __init__(self, spec: TensorSpec, buffer: Buffer) -> None:
        self.spec = spec
        self.buffer = buffer
        self._written: np.ndarray | None = None

    @contextmanager
    def _array(self, mode: str) -> Iterator[np.ndarray]:
        with self.buffer.map("w" if mode == "w" else "r") as array:
            yield array

    def write(self, values: np.ndarray) -> None:
        """As who feeds the device does it: within a map, which flushes."""
        with self._array("w") as array:
            array[...] = values
        self._written = np.array(values)

    def poison(self, byte: int) -> None:
        """Fill the tensor with one byte."""
        with self._array("w") as array:
            array[...] = np.full(array.nbytes, byte, np.uint8)[: array.nbytes].view(array.dtype).reshape(array.shape)

    def read(self) -> np.ndarray:
        """A copy of the tensor, as a map shows it."""
        with self._array("r") as array:
            return np.array(array)

    def changed(self) -> bool:
        """Whether the tensor is not what was written last."""
        return self._written is not None and self.read().tobytes() != self._written.tobytes()

    def damage(self) -> str:
        """What happened around the tensor."""
        return ""


class Imported(Place):
    """A tensor in a guarded block of ours that the device imports."""

    def __init__(
        self,
        device: Device,
        spec: TensorSpec,
        offset: int = 0,
        strides: tuple[int, ...] | None = None,
        nbytes: int | None = None,
    ) -> None:
        """`strides` other than the spec's ask for a strided import, `nbytes` for a buffer of another size than the tensor."""
        declared: Capabilities = device.capabilities()
        needed = extent(spec) if strides is None else last_byte(spec, strides)
        multiple = declared.size_multiple or 1
        self.offered = -(-needed // multiple) * multiple if nbytes is None else nbytes
        page = math.lcm(PAGE, declared.alignment or 1, spec.alignment)
        self.block = Block(self.offered, offset, page)
        self.block.bytes[:] = UNWRITTEN
        self.array = self.block.bytes
        if nbytes is None:
            self.array = laid_out(self.block.bytes, spec, strides)
        self.address = self.block.base + offset
        self.memory = ExternalMemory("host", self.block.base, offset, self.offered, strides)
        super().__init__(spec, device.import_(self.memory))
        self._image: np.ndarray | None = None

    @contextmanager
    def _array(self, mode: str) -> Iterator[np.ndarray]:
        with self.buffer.map("w" if mode == "w" else "r"):
            yield self.array

    def write(self, values: np.ndarray) -> None:
        super().write(values)
        self._image = np.array(self.block.bytes)

    def poison(self, byte: int) -> None:
        """All bytes, those between rows included."""
        with self._array("w"):
            self.block.bytes[:] = byte
        self._image = None

    def changed(self) -> bool:
        with self._array("r"):
            return self._image is not None and not np.array_equal(self._image, self.block.bytes)

    def gaps(self) -> np.ndarray:
        """The bytes between and behind the elements, copied."""
        inside = np.zeros(self.block.bytes.size, bool)
        item = self.array.dtype.itemsize
        marks = np.ndarray((*self.array.shape, item), bool, inside, strides=(*self.array.strides, 1))
        marks[...] = True
        with self._array("r"):
            return np.array(self.block.bytes[~inside])

    def packed(self) -> np.ndarray | None:
        """What the tensor would be if its elements followed each other; None if they do."""
        shape, dtype = self.array.shape, self.array.dtype
        if self.array.strides == np.empty(shape, dtype).strides:
            return None
        return np.array(np.ndarray(shape, dtype, self.block.bytes))

    def at(self, address: int) -> np.ndarray | None:
        """What the tensor would be if it began at another address, None where that is not memory of ours."""
        start, size = address - int(self.block.whole.ctypes.data), self.block.bytes.size
        if not 0 <= start <= self.block.whole.size - size:
            return None
        return np.array(laid_out(self.block.whole[start : start + size], self.spec, self.memory.strides))

    def damage(self) -> str:
        with self._array("r"):
            return self.block.damage()
