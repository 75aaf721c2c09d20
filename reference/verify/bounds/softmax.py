"""EXPLICIT bounds of Softmax, LogSoftmax and ReduceLogSumExp, and of the exponentials inside attention (docs/numerics.md).

Any algorithm that subtracts a maximum is covered: three passes, two, or one that rescales when a larger element comes (online,
blocked); a quotient or a product with a reciprocal; exp by base e or 2. Where no bound exists, as for 16-bit sums of very many
terms, it is NaN.
"""

from __future__ import annotations

import dataclasses
import math

import numpy as np

from reference import ingredients
from reference.dtypes import FLOATS
from reference.node import Array, Node
from reference.verify.bounds import sum_error
from reference.verify.bounds.functions import K_T, ulps
from reference.verify.setting import Setting


@dataclasses.dataclass(frozen=True)
class Exponentials:
    """exp(x − max) over some axes, which have length 1 in `total` and the errors of sums.

    relative: error of each exponential; in_sum: relative error of Σ exp with all that comes from its terms; rescaled: what
    rescaling adds to any sum that is weighted by exponentials; least: absolute error of one that underflows.
    """

    maximum: Array
    shifted: Array
    total: Array
    probability: Array
    relative: Array
    in_sum: Array
    rescaled: Array
    least: float


def _rescalings(probability: Array, axes: tuple[int, ...], setting: Setting) -> Array:
    """How often an online sum rescales a term, on average over its weight: 1 + ln N for random data, else at most as often as
    there are larger elements."""
    n = np.count_nonzero(probability, axis=axes, keepdims=True)
    rows = np.moveaxis(probability, axes, tuple(range(-len(axes), 0)))
    rows = rows.reshape(*rows.shape[: rows.ndim - len(axes)], math.prod(probability.shape[a] for a in axes))
    falling = -np.sort(-rows, axis=-1)
    position = np.arange(falling.shape[-1])
    fresh = np.concatenate([np.ones((*falling.shape[:-1], 1), bool), falling[..., 1:] < falling[..., :-1]], axis=-1)
    larger = np.maximum.accumulate(np.where(fresh, position, 0), axis=-1)  # elements above: those before the first equal one
    worst = 1 + (falling * larger).sum(-1).reshape(n.shape)
    return np.asarray(np.minimum(worst, 1 + np.log(np.maximum(n, 1))) if setting.random else worst)


SENSIBLE = 0.05
"""Error of an argument up to which anybody would compute it so."""


def exponentials(x: Array, axes: tuple[int, ...], setting: Setting, error: Array | float = 0.0) -> Exponentials:
    """The exponentials of softmax of x, whose elements have an absolute error already."""
    u, c = setting.u, ulps("Exp", setting)
    largest = x.max(axes, keepdims=True, initial=-np.inf)
    with np.errstate(all="ignore"):
        t = x - largest
        e = np.exp(t)
        total = e.sum(axes, keepdims=True)
        p = e / total
        argument = error + K_T * np.abs(t) * u + 2 * setting.u_in * np.maximum(np.abs(x), np.abs(largest))
        # exp2(x·log2 e − max·log2 e), as fused kernels have it, rounds the products before they are subtracted.
        products = (np.abs(x) + np.abs(largest)) * u
        argument = argument + np.where(products < SENSIBLE, products, 0.0)
        relative = np.where(p == 0, 0.0, np.expm1(argument) * (1 + 2 * c * u) + 2 * c * u)
        least = max(setting.eta, c * FLOATS[setting.arithmetic.compute].smallest_subnormal)
        # Rescaling multiplies by the exponential of a difference of maxima, whose sum |t| counts with the argument.
        rescaled = (2 * c + 1) * u * _rescalings(p, axes, setting)
        count = np.count_nonzero(e, axis=axes, keepdims=True)
        spread = (p * relative).sum(axes, keepdims=True) + count * least / total
        in_sum = (1 + spread) * (1 + sum_error.relative_error(e, axes, setting)) * (1 + rescaled) - 1
    return Exponentials(largest, t, total, p, relative, in_sum, rescaled, least)


def quotient(numerator: Array, denominator: Array, rounding: float) -> Array:
    """Relative error of a quotient from those of its parts; NaN where the denominator may vanish."""
    with np.errstate(all="ignore"):
        worst = (1 + numerator) * (1 + rounding) / (1 - denominator) - 1
    return np.where(denominator < 1, worst, np.nan)


def probability_error(inside: Exponentials, setting: Setting) -> Array:
    """Bound of exp(x − max)/Σ."""
    relative = quotient(inside.relative, inside.in_sum, (2 * ulps("Div", setting) + 2) * setting.u)
    with np.errstate(all="ignore"):
        bound = inside.probability * relative + inside.least / inside.total * (1 + relative)
    return np.where(inside.shifted == -np.inf, 0.0, bound)


def softmax(node: Node, setting: Setting) -> list[Array]:
    """Softmax and LogSoftmax with the maximum subtracted."""
    u, x = setting.u, node.real(0)
    if x.size == 0:
        return [np.zeros(node.results[0].shape)]
    inside = exponentials(x, ingredients.softmax_axes(node), setting)
    if node.operator == "Softmax":
        return [np.where(np.isfinite(x) | (x == -np.inf), probability_error(inside, setting), 0.0)]
    with np.errstate(all="ignore"):
        log = np.log(inside.total)
        bound = u * (np.abs(inside.shifted) + np.abs(inside.shifted - log))
        bound = bound + _log_error(inside.in_sum, log, setting)
        bound = bound + u * (np.abs(x) + np.abs(inside.maximum + log))  # x − (max + ln s)
        bound = bound + 2 * setting.u_in * np.maximum(np.abs(x), np.abs(inside.maximum))
    return [np.where(np.isfinite(x), bound, 0.0)]


def _log_error(relative: Array, log: Array, setting: Setting) -> Array:
    """Bound of the logarithm of a sum with a relative error."""
    with np.errstate(all="ignore"):
        moved = np.where(relative < 1, -np.log1p(-np.minimum(relative, 1.0)), np.nan)
        return moved + 2 * ulps("Log", setting) * setting.u * (np.abs(log) + moved)


def log_sum_exp(node: Node, setting: Setting) -> list[Array]:
    """ReduceLogSumExp with the maximum subtracted, or without where no exponential leaves the unit's range: then exp's argument
    is x itself and the logarithm's value the result."""
    x, y, u = node.real(0), node.results[0], setting.u
    if x.size == 0:
        return [np.zeros(y.shape)]
    axes, form = ingredients.reduced_axes(node), FLOATS[setting.arithmetic.compute]
    inside = exponentials(x, axes, setting)
    with np.errstate(all="ignore"):
        log = np.log(inside.total)
        total = inside.maximum + log
        # Without the maximum, exponentials as small as the unit's roundoff still have to be normal numbers.
        lowest = np.log(form.smallest_normal / form.unit_roundoff)
        plain = (total < np.log(form.largest)) & (inside.maximum > lowest)
        longer = K_T * u * np.maximum(np.abs(x) - np.abs(inside.shifted), 0.0)
        more = np.where(inside.probability == 0, 0.0, inside.probability * longer).sum(axes, keepdims=True)
        relative = inside.in_sum + np.where(plain, more, 0.0)
        value = np.where(plain, np.maximum(np.abs(log), np.abs(total)), np.abs(log))
        given = setting.u_in * np.where(np.isfinite(x), np.abs(x), 0.0).max(axes, keepdims=True)
        bound = _log_error(relative, value, setting) + u * np.abs(total) + 2 * given
    return [np.where(np.isfinite(y), bound.reshape(y.shape), 0.0)]
