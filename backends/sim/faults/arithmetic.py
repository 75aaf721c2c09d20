"""Arithmetic of fewer bits than NumPy's: conversions, sums that are rounded after each term, functions from a table."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Step = Callable[[Array], Array]
"""A sum in float64 → what the accumulator holds of it, in float32."""

ENTRIES = 64
"""Entries of a table for a unit of the argument."""


def converted(x: Array, dtype: np.dtype[Any]) -> Array:
    """Numbers in another type; those beyond an integer type are clipped to it."""
    if dtype.kind not in "iu":
        return x.astype(dtype)
    info = np.iinfo(dtype)
    inside = np.where(x >= float(info.max), info.max, np.where(x < float(info.min), 0, x).astype(dtype))
    return np.where(x < float(info.min), info.min, inside).astype(dtype)


def tf32(x: Array) -> Array:
    """float32 rounded to 11 significant bits, halves away from zero."""
    if x.dtype != np.float32:
        return x
    bits = (x.view(np.uint32) + np.uint32(0x1000)) & np.uint32(0xFFFFE000)
    return np.where(np.isfinite(x), bits.view(np.float32), x)


def toward_zero(x: Array) -> Array:
    y = x.astype(np.float32)
    return np.where(np.abs(y.astype(np.float64)) > np.abs(x), np.nextafter(y, np.float32(0)), y)


def away(x: Array) -> Array:
    y = x.astype(np.float32)
    further = np.nextafter(y, np.copysign(np.float32(np.inf), y))
    return np.where(np.abs(y.astype(np.float64)) < np.abs(x), further, y)


def sums(step: Step) -> Any:
    """Products of matrices whose sums are rounded by `step` after every term; () of vectors."""

    def change(inputs: tuple[Array, ...], call: Any) -> Array | None:
        a, b = inputs
        if min(a.ndim, b.ndim) < 2:
            return None
        total = np.zeros((*np.broadcast_shapes(a.shape[:-2], b.shape[:-2]), a.shape[-2], b.shape[-1]), np.float32)
        for k in range(a.shape[-1]):
            product = a[..., :, k, None].astype(np.float64) * b[..., k, None, :].astype(np.float64)
            total = step(total.astype(np.float64) + product)
        return total

    return change


def table(function: Callable[[Array], Array]) -> Any:
    """A function interpolated between the entries of a table."""

    def change(inputs: tuple[Array, ...], call: Any) -> Array:
        x = np.clip(np.nan_to_num(inputs[0].astype(np.float64), nan=0.0), -16.0, 16.0) * ENTRIES
        below = np.floor(x)
        left, right = function(below / ENTRIES), function((below + 1) / ENTRIES)
        y = left + (x - below) * (right - left)
        return np.where(np.isnan(inputs[0]), np.nan, y)

    return change
