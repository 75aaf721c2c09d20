"""EXPLICIT bound of Det: backward error of elimination, forward error of the explicit formula.

Elimination with pivoting gives the determinant of A + ΔA times 1 + γ_n, with |ΔA| ≤ γ_n·|L||U| (Higham, Accuracy and Stability,
2nd ed., theorem 9.3, section 14.6), and |L| ≤ 1. To first order that changes the determinant by Σ|cofactor|·|ΔA|; what is
left over, Hadamard's inequality bounds by products of column norms. Explicit formulas of matrices up to 4 by 4 have
γ_2n·per|A|, with the permanent in place of the determinant. On random data the elements of ΔA are independent, about √(2n)
roundings of what elimination makes of their column. Leading minors, and so products of pivots in any order, are no larger than
products of column or row norms.
"""

from __future__ import annotations

import itertools

import numpy as np

from reference.dtypes import FLOATS
from reference.node import Array, Node
from reference.verify.setting import Setting

ROUNDING, RARE = 0.43, 6.0
"""Root mean square of a rounding error in units of u·|value| (√0.18, as in `reference.propagation`), and how many of it random
data stay within."""

EXPLICIT = 4
"""Matrices up to this size have formulas that libraries use."""


def _upper(matrices: Array) -> Array:
    """|U| of elimination with row pivoting, (count, n, n)."""
    u = matrices.copy()
    each = np.arange(len(u))
    for k in range(u.shape[1] - 1):
        row = k + np.abs(u[:, k:, k]).argmax(axis=1)
        u[each, k], u[each, row] = u[each, row].copy(), u[each, k].copy()
        pivot = np.where(u[:, k, k] == 0, 1.0, u[:, k, k])
        factor = u[:, k + 1 :, k] / pivot[:, None]
        u[:, k + 1 :] -= factor[:, :, None] * u[:, None, k]
    return np.asarray(np.abs(np.triu(u)))


def _cofactors(matrices: Array) -> Array:
    """|cofactors| (count, n, n), from singular values, so that singular matrices have theirs too."""
    left, values, right = np.linalg.svd(matrices)
    n = values.shape[1]
    others = np.where(np.eye(n, dtype=bool), 1.0, values[:, None, :]).prod(axis=2)
    return np.asarray(np.abs((left * others[:, None, :]) @ right))


def _permanent(matrices: Array) -> Array:
    """Permanents (count) of |matrices|."""
    n = matrices.shape[1]
    rows, size = np.arange(n), np.abs(matrices)
    return np.asarray(sum(size[:, rows, list(p)].prod(axis=1) for p in itertools.permutations(range(n))))


def determinant(node: Node, setting: Setting) -> list[Array]:
    """Det of every matrix; infinite where a product on the way may overflow."""
    x, y = node.real(0), node.results[0]
    n = x.shape[-1]
    if x.size == 0:
        return [np.zeros(y.shape)]
    matrices = np.where(np.isfinite(x), x, 0.0).reshape(-1, n, n)
    upper, columns = _upper(matrices), np.sqrt((matrices * matrices).sum(axis=1))
    grown = np.maximum(upper.sum(axis=1), 2 * columns)[:, None, :]
    change = (setting.gamma(n + 1) * grown if n > 1 else 0.0) + setting.u_in * np.abs(matrices) + setting.eta_in
    cofactors = _cofactors(matrices)
    first = (cofactors * change).sum(axis=(1, 2))
    if setting.random:
        usual = np.sqrt(2 * n * (upper * upper).sum(axis=1))[:, None, :] * setting.u + setting.u_in * np.abs(matrices)
        first = np.minimum(first, RARE * ROUNDING * np.sqrt(((cofactors * usual) ** 2).sum(axis=(1, 2))))
    with np.errstate(divide="ignore", invalid="ignore"):
        relative = np.sqrt((np.broadcast_to(change, matrices.shape) ** 2).sum(axis=1)) / columns
        rest = np.expm1(np.log1p(relative).sum(axis=1)) - relative.sum(axis=1)
        rest = np.where(columns.all(axis=1), np.maximum(rest, 0.0) * columns.prod(axis=1), 0.0)
    reach = np.maximum(*(np.maximum(np.sqrt((matrices * matrices).sum(axis=a)), 1.0).prod(axis=1) for a in (1, 2)))
    error = first + rest + setting.gamma(n - 1) * np.abs(y.reshape(-1)) + (n - 1) ** 2 * setting.eta * reach
    full = reach > FLOATS[setting.arithmetic.compute].largest
    if 1 < n <= EXPLICIT:
        permanent = _permanent(matrices)
        error = np.maximum(error, (setting.gamma(2 * n) + n * setting.u_in) * permanent)
        full |= permanent > FLOATS[setting.arithmetic.compute].largest
    return [np.where(full, np.inf, error).reshape(y.shape)]
