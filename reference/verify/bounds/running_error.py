"""Running error analysis: a formula evaluated on real tensors that carry a bound of their computed counterparts' error.

Every rule adds what the operation itself rounds in a unit of roundoff u to what its operands bring along (Higham, Accuracy and
Stability, 2nd ed., 3.3). Errors are half-widths, float64; infinite: the element may overflow on the way and is left open;
NaN: no bound exists (n·u ≥ 1). Both stay with everything that depends on the element.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from reference.dtypes import FLOATS
from reference.node import Array, Node
from reference.verify.setting import Setting

Function = Callable[[Array], tuple[Array, Array]]
"""Points → a function's real values there, and how far a unit's own evaluation may lie from them."""


@dataclasses.dataclass(frozen=True)
class Computed:
    """A real tensor and how far the unit's tensor may lie from it, of one shape."""

    value: Array
    error: Array

    @property
    def size(self) -> Array:
        """The largest magnitude that the unit's tensor may have."""
        return np.abs(self.value) + self.error

    def at(self, index: Any) -> Computed:
        """A part, by NumPy's indexing."""
        return Computed(self.value[index], self.error[index])


def exactly(x: Array) -> Computed:
    """A tensor that the unit has as it is."""
    x = np.asarray(x, np.float64)
    return Computed(x, np.zeros(x.shape))


def sum_roundoff(setting: Setting, roundings: Array | float) -> Array:
    """γ_n, NaN where there is none."""
    gamma = setting.gamma(roundings)
    return np.where(np.isinf(gamma), np.nan, gamma)


def settled(setting: Setting, value: Array, error: Array) -> Computed:
    """A result: what is infinite or NaN in the reals is so exactly, and what may leave the unit's range is open."""
    value, error = np.broadcast_arrays(value, error)
    beyond = np.abs(value) + error > FLOATS[setting.arithmetic.compute].largest
    return Computed(value, np.where(np.isfinite(value), np.where(beyond, np.inf, error), 0.0))


def read(setting: Setting, x: Computed) -> Computed:
    """An operand as the unit reads it, converted to its input format."""
    if not setting.u_in and not setting.eta_in:
        return x
    error = x.error + setting.u_in * np.where(np.isfinite(x.value), x.size, 0.0) + setting.eta_in * (x.size > 0)
    return Computed(x.value, error)


def stored(setting: Setting, x: Computed) -> Computed:
    """A tensor that passes through memory in the tensor's own type, as states do that are outputs too."""
    own, unit = FLOATS[setting.dtype], FLOATS[setting.arithmetic.compute]
    if own.unit_roundoff <= unit.unit_roundoff:
        return x
    return Computed(x.value, x.error + own.unit_roundoff * np.where(np.isfinite(x.value), x.size, 0.0))


def _times(size: Array, error: Array) -> Array:
    """size·error; an open error stays open where the size is 0."""
    with np.errstate(invalid="ignore"):
        return np.where(error == 0, 0.0, np.where(np.isinf(error), np.inf, size * error))


def add(setting: Setting, *terms: Computed) -> Computed:
    """The sum of the terms in any order."""
    value = sum(x.value for x in terms)
    size = sum(x.size for x in terms)
    error = sum(x.error for x in terms) + sum_roundoff(setting, len(terms) - 1) * size
    return settled(setting, np.asarray(value), np.asarray(error))


def multiply(setting: Setting, a: Computed, b: Computed) -> Computed:
    """a·b, rounded once."""
    a, b = read(setting, a), read(setting, b)
    value = a.value * b.value
    error = _times(np.abs(a.value), b.error) + _times(b.size, a.error)
    return settled(setting, value, error + setting.u * (np.abs(value) + error) + setting.eta * (value != 0))


def _spread(a: Array, b: Array) -> Array:
    """The matrix product of magnitudes; what is open or without bound in a row or column is so in all that it meets."""
    strange = [np.where(np.isnan(x), 1e6, np.isinf(x).astype(np.float64)) for x in (a, b)]
    clean = np.matmul(*(np.where(np.isfinite(x), x, 0.0) for x in (a, b)))
    if not any(x.any() for x in strange):
        return np.asarray(clean)
    met = np.matmul(strange[0], np.ones_like(b)) + np.matmul(np.ones_like(a), strange[1])
    return np.where(met >= 1e6, np.nan, np.where(met > 0, np.inf, clean))


def products(setting: Setting, pairs: Sequence[tuple[Computed, Computed]], *terms: Computed) -> Computed:
    """Σ of matrix products and of further terms, all added in any order."""
    pairs = [(read(setting, a), read(setting, b)) for a, b in pairs]
    value = sum((np.matmul(a.value, b.value) for a, b in pairs), np.zeros(())) + sum(x.value for x in terms)
    error = sum((_spread(np.abs(a.value), b.error) + _spread(a.error, b.size) for a, b in pairs), np.zeros(()))
    error = error + sum(x.error for x in terms)
    size = sum((_spread(a.size, b.size) for a, b in pairs), np.zeros(())) + sum(x.size for x in terms)
    count = sum(a.value.shape[-1] for a, _ in pairs) + len(terms)
    error = error + sum_roundoff(setting, count) * size + count * setting.eta * (size > 0)
    # A partial sum may overflow in one order and not in another.
    largest = FLOATS[setting.arithmetic.compute].largest
    total = settled(setting, np.asarray(value), np.where(size > largest, np.inf, error))
    if not np.isinf(total.value).any():
        return total
    finite = [(np.where(np.isfinite(x.size), x.size, 0.0) for x in pair) for pair in pairs]
    overflows = sum((_spread(a, b) for a, b in finite), np.zeros(())) > largest  # NaN beside an infinity of the other sign
    return Computed(total.value, np.where(overflows & np.isinf(total.value), np.inf, total.error))


def mixed(setting: Setting, weight: Computed, a: Computed, b: Computed) -> Computed:
    """(1 − weight)·a + weight·b, or a + weight·(b − a): an error of the weight acts on the difference only."""
    weight, a, b = read(setting, weight), read(setting, a), read(setting, b)
    w, rest = np.abs(weight.value) + weight.error, np.abs(1 - weight.value) + weight.error
    difference = b.value - a.value
    value = a.value + weight.value * difference
    brought = _times(np.abs(difference), weight.error) + _times(rest, a.error) + _times(w, b.error)
    rounded = 2 * rest * a.size + 2 * w * (a.size + b.size) + np.abs(value)
    return settled(setting, value, brought * (1 + 4 * setting.u) + setting.u * rounded + 2 * setting.eta)


def apply(function: Function, x: Computed, curvature: float = 0.0) -> Computed:
    """A function of each element. Its values at the ends of the interval around x bound it there if it is monotonous; else
    `curvature` is the largest |f''|."""
    reach = np.where(np.isfinite(x.error) & np.isfinite(x.value), x.error, 0.0)
    values, own = function(np.stack([x.value, x.value - reach, x.value + reach]))
    with np.errstate(invalid="ignore"):
        moved = np.abs(values[1:] - values[0]).max(axis=0, initial=0.0)
    error = np.where(reach == 0, 0.0, moved + curvature / 2 * reach**2) + own.max(axis=0)
    return Computed(values[0], np.where(np.isfinite(x.error), np.where(np.isfinite(values[0]), error, 0.0), x.error))


def operator(
    name: str,
    bound: Callable[[Node, Setting], list[Array]],
    evaluate: Callable[[Array], Array],
    setting: Setting,
    **attributes: float | str,
) -> Function:
    """An ONNX operator as a function, with the bound that verification has for it."""

    def function(points: Array) -> tuple[Array, Array]:
        with np.errstate(all="ignore"):
            values = np.asarray(evaluate(points))
            node = Node(name, "", 24, (points,), (setting.dtype,), attributes, (setting.dtype,), (values,))
            return values, np.nan_to_num(bound(node, setting)[0], nan=0.0, posinf=np.inf)

    return function
