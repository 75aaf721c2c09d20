"""Logic, comparisons and bit operations, element by element, with NumPy-style broadcasting. Comparisons give bool."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


def logical_and(a: Array, b: Array) -> Array:
    """And-7."""
    return np.asarray(np.logical_and(a, b))


def logical_or(a: Array, b: Array) -> Array:
    """Or-7."""
    return np.asarray(np.logical_or(a, b))


def logical_xor(a: Array, b: Array) -> Array:
    """Xor-7."""
    return np.asarray(np.logical_xor(a, b))


def logical_not(x: Array) -> Array:
    """Not-1."""
    return np.asarray(np.logical_not(x))


def equal(a: Array, b: Array) -> Array:
    """Equal-7: a = b; NaN equals nothing, -0 equals 0."""
    return np.asarray(np.equal(a, b))


def greater(a: Array, b: Array) -> Array:
    """Greater-7: a > b; false with NaN."""
    return np.asarray(np.greater(a, b))


def less(a: Array, b: Array) -> Array:
    """Less-7: a < b; false with NaN."""
    return np.asarray(np.less(a, b))


def greater_or_equal(a: Array, b: Array) -> Array:
    """GreaterOrEqual-12: a >= b; false with NaN."""
    return np.asarray(np.greater_equal(a, b))


def less_or_equal(a: Array, b: Array) -> Array:
    """LessOrEqual-12: a <= b; false with NaN."""
    return np.asarray(np.less_equal(a, b))


def is_nan(x: Array) -> Array:
    """IsNaN-9."""
    return np.asarray(np.isnan(x))


def is_infinite(x: Array, *, detect_negative: int = 1, detect_positive: int = 1) -> Array:
    """IsInf-10: whether x is an infinity of a sign that is to be detected."""
    positive = np.isposinf(x) & bool(detect_positive)
    return np.asarray(positive | (np.isneginf(x) & bool(detect_negative)))


def bit_shift(x: Array, y: Array, *, direction: str) -> Array:
    """BitShift-28 (11 alike, for unsigned types): x shifted by y bits "LEFT" or "RIGHT", bits falling off; on the right,
    signed types fill with their sign. A negative y, or one of at least the width of the type, shifts everything out. Open
    in ONNX before 28: such a y. Raises ValueError for another direction."""
    if direction not in ("LEFT", "RIGHT"):
        raise ValueError(f"direction is LEFT or RIGHT, not {direction!r}")
    width = x.dtype.type(8 * x.dtype.itemsize)
    inside = (y >= 0) & (y < width)
    amount = np.where(inside, y, y.dtype.type(0))
    if direction == "LEFT":
        return np.where(inside, np.left_shift(x, amount), x.dtype.type(0))
    return np.where(inside, np.right_shift(x, amount), np.where(x < 0, ~x.dtype.type(0), x.dtype.type(0)))


def bitwise_and(a: Array, b: Array) -> Array:
    """BitwiseAnd-18."""
    return np.asarray(np.bitwise_and(a, b))


def bitwise_or(a: Array, b: Array) -> Array:
    """BitwiseOr-18."""
    return np.asarray(np.bitwise_or(a, b))


def bitwise_xor(a: Array, b: Array) -> Array:
    """BitwiseXor-18."""
    return np.asarray(np.bitwise_xor(a, b))


def bitwise_not(x: Array) -> Array:
    """BitwiseNot-18: all bits inverted (two's complement: -1 - x)."""
    return np.asarray(np.invert(x))
