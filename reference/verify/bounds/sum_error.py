"""a(N): how far a sum of N terms may be off in any order, for any data and for random data.

γ_N holds for any data. Where `Setting.random` says that the data has no structure, rounding errors of units that round to
nearest are independent: each has an rms of at most u·|partial sum|/√3, and DEVIATIONS times the rms of them all bounds their
sum. The partial sums of terms alike grow evenly, which gives (1.5·√N + 2)·u of Σ|terms|; where a few terms outweigh the others
they start large, up to (2.6·√N + 2)·u. Terms below u·S may be lost whole, which no chance evens out.
"""

from __future__ import annotations

import math

import numpy as np

from reference.dtypes import round_to
from reference.node import Array
from reference.verify.bounds.running_error import sum_roundoff
from reference.verify.setting import Setting

GRIDS = ("float16", "bfloat16")

DEVIATIONS = 4.5
"""Times the rms error of the worst order; two roundings more are added outright."""


def walks(setting: Setting) -> bool:
    """Whether rounding errors may be taken as independent and without bias."""
    return setting.random and not setting.arithmetic.faithful and setting.arithmetic.fused is None


def random_walk(n: Array | float, setting: Setting) -> Array:
    """a(n) relative to Σ|terms|, whatever share of it each term has. NaN where there is no bound."""
    worst = sum_roundoff(setting, n)
    return np.fmin(worst, (DEVIATIONS * np.sqrt(np.asarray(n) / 3) + 2) * setting.u) if walks(setting) else worst


def _growth(terms: Array, axes: tuple[int, ...]) -> Array:
    """√Σ(partial sum/S)² of the worst order, the largest terms first."""
    rows = np.moveaxis(terms, axes, tuple(range(terms.ndim - len(axes), terms.ndim)))
    rows = rows.reshape(*rows.shape[: rows.ndim - len(axes)], math.prod(terms.shape[a] for a in axes))
    falling = -np.sort(-rows, axis=-1)
    partial = np.cumsum(falling, axis=-1)
    with np.errstate(invalid="ignore", divide="ignore"):
        share = np.where(falling > 0, partial / partial[..., -1:], 0.0)
    return np.asarray(np.sqrt((share * share).sum(-1)).reshape(terms.sum(axes, keepdims=True).shape))


def relative_error(terms: Array, axes: tuple[int, ...], setting: Setting, roots: Array | None = None) -> Array:
    """a(N) of Σ terms of one sign along `axes`, which stay with length 1; NaN where there is no bound.

    roots: the terms are the squares of these; squares of numbers on a 16-bit grid have few bits and round in the same
    direction more often, N/12·u (empirical).
    """
    terms = np.where(np.isfinite(terms), terms, 0.0)
    n = np.count_nonzero(terms, axis=axes, keepdims=True)
    worst = sum_roundoff(setting, n)
    if not walks(setting):
        return worst
    total = terms.sum(axes, keepdims=True)
    lost = np.where(terms < setting.u * total, terms, 0.0).sum(axes, keepdims=True) / np.where(total > 0, total, 1.0)
    typical = (DEVIATIONS / np.sqrt(3) * _growth(terms, axes) + 2) * setting.u + lost
    if roots is not None and any(np.array_equal(round_to(roots, grid), roots, equal_nan=True) for grid in GRIDS):
        typical = typical + n / 12 * setting.u
    return np.asarray(np.fmin(worst, typical))
