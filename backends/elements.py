"""Element types in memory: their widths, and the packing of those smaller than a byte.

Elements of 4 and 2 bits are packed as ONNX packs them, first element in the low bits (TensorProto.raw_data);
in NumPy they take a byte an element (ml_dtypes).
"""

from __future__ import annotations

import ctypes
import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import ml_dtypes
import numpy as np


class Element(NamedTuple):
    """A type: its name as NumPy and ml_dtypes have it ("str" for strings), ONNX's TensorProto.DataType, its bits."""

    name: str
    onnx: int
    bits: int

    @property
    def numpy(self) -> np.dtype:
        """The dtype of arrays: a byte an element for the packed types, objects for strings."""
        if self.name == "str":
            return np.dtype(object)
        return np.dtype(getattr(ml_dtypes, self.name, self.name))

    def nbytes(self, shape: Sequence[int]) -> int:
        """Bytes of a packed tensor of this shape."""
        return -(-math.prod(shape) * self.bits // 8)


def pack(array: np.ndarray, bits: int) -> np.ndarray:
    """Elements of 4 or 2 bits, one a byte, into uint8 bytes; the last byte is filled up with zeros."""
    per_byte = 8 // bits
    codes = np.frombuffer(array.tobytes(), np.uint8) & ((1 << bits) - 1)
    padded = np.zeros(-(-codes.size // per_byte) * per_byte, np.uint8)
    padded[: codes.size] = codes
    shifts = np.arange(per_byte, dtype=np.uint8) * bits
    packed: np.ndarray = np.bitwise_or.reduce(padded.reshape(-1, per_byte) << shifts, axis=1)
    return packed.astype(np.uint8)


def unpack(packed: np.ndarray, shape: Sequence[int], dtype: np.dtype, bits: int) -> np.ndarray:
    """Bytes as written by `pack` → array of `shape` and `dtype`, one element a byte."""
    shifts = np.arange(8 // bits, dtype=np.uint8) * bits
    codes = ((packed[:, None] >> shifts) & ((1 << bits) - 1)).reshape(-1)[: math.prod(shape)]
    if dtype.name.startswith("int"):  # signed ml_dtypes types keep their sign in the whole byte
        sign = np.int8(1 << (bits - 1))
        return ((codes.astype(np.int8) ^ sign) - sign).astype(dtype).reshape(shape)
    return codes.view(dtype).reshape(shape)


def memory(address: int, nbytes: int, owner: Any = None) -> np.ndarray:
    """uint8 array over `nbytes` bytes at `address`; `owner` lives as long as the array does."""
    if nbytes == 0:
        return np.empty(0, np.uint8)
    block: Any = (ctypes.c_ubyte * nbytes).from_address(address)
    block.owner = owner
    array: np.ndarray = np.frombuffer(block, np.uint8)
    return array
