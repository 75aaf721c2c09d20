"""Determinants."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]

EXACT = 24
"""Matrices of at most this size are eliminated in integers, at 5 ms each; beyond it LU in float64 is used."""


def _ratio(value: float) -> tuple[int, int]:
    return value.as_integer_ratio()


def _quotient(numerator: int, denominator: int) -> float:
    """The nearest float64."""
    try:
        return numerator / denominator
    except OverflowError:
        return float("inf") if numerator > 0 else float("-inf")


_ratios: Any = np.frompyfunc(_ratio, 1, 2)
_quotients: Any = np.frompyfunc(_quotient, 2, 1)


def _eliminated(rows: Array) -> Array:
    """Determinants (count) of matrices (count, m, m) of Python integers: every division of Bareiss' elimination is exact.

    Bareiss, "Sylvester's identity and multistep integer-preserving Gaussian elimination", 1968.
    """
    count, m, _ = rows.shape
    matrix = np.arange(count)
    sign = np.ones(count, object)
    previous = np.ones((count, 1, 1), object)
    for k in range(m - 1):
        row = k + (rows[:, k:, k] != 0).argmax(axis=1)
        sign[row != k] *= -1
        rows[matrix, k], rows[matrix, row] = rows[matrix, row], rows[matrix, k]
        pivot = rows[:, k : k + 1, k : k + 1].copy()
        rest = rows[:, k + 1 :, k + 1 :] * pivot - rows[:, k + 1 :, k : k + 1] * rows[:, k : k + 1, k + 1 :]
        rows[:, k + 1 :, k + 1 :] = rest // previous
        # A column of zeros makes the pivot 0 and with it all that follows, whatever it is divided by.
        previous = np.where(pivot == 0, 1, pivot)
    return sign * rows[:, -1, -1]


def _exact(x: Array) -> Array:
    """Determinants (count) of finite x (count, m, m), correctly rounded: each row is brought to integers first."""
    numerators, denominators = _ratios(x)
    common = denominators.max(axis=2)
    whole = numerators * (common[:, :, None] // denominators)
    return np.asarray(_quotients(_eliminated(whole), common.prod(axis=1)), np.float64)


def det(x: Array) -> Array:
    """Det-22 (11 alike, without bfloat16): x (..., M, M) → (...), 1 for M = 0. Exact up to M = 24, but for one rounding.

    NaN for a matrix that holds one. Open in ONNX: infinities. Raises ValueError for matrices that are not square.
    """
    if x.ndim < 2 or x.shape[-1] != x.shape[-2]:
        raise ValueError(f"shape {x.shape} does not end in a square matrix")
    if x.size == 0 or x.shape[-1] > EXACT:
        return np.where(np.isnan(x).any(axis=(-2, -1)), np.nan, np.linalg.det(x))
    flat = x.reshape(-1, *x.shape[-2:])
    finite, unknown = np.isfinite(flat).all(axis=(1, 2)), np.isnan(flat).any(axis=(1, 2))
    result = np.full(len(flat), np.nan)
    endless = ~finite & ~unknown
    result[endless] = np.linalg.det(flat[endless])
    if finite.any():
        result[finite] = _exact(flat[finite])
    return result.reshape(x.shape[:-2])


def det_open(x: Array) -> Array:
    """Mask of `det`'s open elements: determinants of matrices with infinities."""
    return np.asarray(np.isinf(x).any(axis=(-2, -1)))
