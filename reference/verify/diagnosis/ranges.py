"""What becomes of numbers in integer types: wrapped around or clipped."""

from __future__ import annotations

import numpy as np

from reference import dtypes
from reference.node import Array


def limits_of(dtype: str) -> tuple[int, int]:
    """(smallest, largest) of an integer type."""
    bits = bits_of(dtype)
    return (0, 2**bits - 1) if dtype.startswith("u") else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)


def bits_of(dtype: str) -> int:
    """Width of an integer type."""
    return int(dtype.lstrip("uint"))


def wrapped(whole: Array, dtype: str) -> Array:
    """Whole numbers (integers, float64 or Python's) modulo 2^n, in an integer type of n bits."""
    low, high = limits_of(dtype)
    if whole.dtype.kind in "iu":
        whole = whole.astype(object)
    return stored((whole - low) % (high - low + 1) + low, dtype)


def saturated(real: Array, dtype: str) -> Array:
    """Numbers clipped to the range of an integer type and cut to whole ones; 0 for NaN."""
    low, high = limits_of(dtype)
    if real.dtype.kind != "f":
        return stored(np.clip(real.astype(object), low, high), dtype)
    clean = np.nan_to_num(real, nan=0.0, posinf=np.inf, neginf=-np.inf)
    inside = np.clip(clean, float(low), np.nextafter(float(high), 0.0) if high >= 2**53 else float(high))
    return np.where(clean >= float(high), np.asarray(high, dtypes.numpy_dtype(dtype)), stored(np.trunc(inside), dtype))


def stored(whole: Array, dtype: str) -> Array:
    """Whole numbers of the range in an integer type; by way of 64 bits, since ml_dtypes converts nothing else exactly."""
    wide = np.uint64 if dtype.startswith("u") else np.int64
    return np.asarray(np.asarray(whole).astype(wide).astype(dtypes.numpy_dtype(dtype)))
