"""Rounding of exact quotients. Numerators and divisors are unevaluated sums of float64 arrays (Shewchuk 1997), so that
half-ways are decided as rational numbers decide them.

Every quantising operator gives a `Quotient`; `stored` makes the operator's result of it, `real` the value before rounding and
saturation, around which the verifier lays its interval.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable
from typing import Any, ParamSpec

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

from reference.exact import two_product, two_sum

Array = NDArray[Any]
Terms = tuple[Array, ...]
"""A sum that is left unevaluated because no float64 holds it: arrays that broadcast, the largest first."""

Parameters = ParamSpec("Parameters")

BEYOND = 2.0**24
"""What infinite quotients are taken for: far outside every quantised type."""

UNSURE = 2.0**-26
"""Up to here from a half-way, a quotient below BEYOND is decided by exact arithmetic: float64 errs by 2^-28 at most."""

TIE_DISTANCE = 2.0**-20
"""How far from a half-way a quotient is still a tie, which single precision may take for the other side."""


def times(terms: Terms, factor: Array) -> Terms:
    """(Σ terms)·factor, exactly."""
    products = [two_product(term, factor) for term in terms]
    return (*(high for high, _ in products), *(low for _, low in products))


def _sum(terms: Terms) -> Array:
    """Σ terms in float64."""
    return functools.reduce(np.add, reversed(terms))


def _sign(terms: Terms) -> Array:
    """Sign of the exact Σ terms, all of one shape: that of the largest component of its expansion (Shewchuk 1997, th. 10)."""
    expansion: list[Array] = []
    for term in terms:
        carried, grown = term, []
        for component in expansion:
            carried, rest = two_sum(carried, component)
            grown.append(rest)
        expansion = [*grown, carried]
    sign = np.zeros(terms[0].shape)
    for component in expansion:
        sign = np.where(component == 0, sign, np.sign(component))
    return sign


def near_tie(real: Array, distance: float = TIE_DISTANCE) -> Array:
    """Mask of the numbers within `distance` of a half-way between two integers."""
    with np.errstate(invalid="ignore"):
        return np.asarray(np.abs(real - np.floor(real) - 0.5) <= distance)


@np.errstate(all="ignore")
def round_quotient(numerator: Terms, divisor: Terms) -> Array:
    """Σ numerator/Σ divisor, rounded half to even, float64: exactly up to ±BEYOND. Open in ONNX: NaN gives 0 here."""
    quotient = np.asarray(_sum(numerator) / _sum(divisor))
    rounded = np.asarray(np.rint(quotient))
    moved = np.asarray(np.abs(quotient - rounded))
    if not moved.max(initial=0.0) < 0.5 - UNSURE:
        unsure = ~(moved < 0.5 - UNSURE)  # infinities and NaN too
        above, below = (tuple(np.broadcast_to(t, rounded.shape)[unsure] for t in terms) for terms in (numerator, divisor))
        rounded[unsure] = _decided(quotient[unsure], above, below)
    return rounded


def _decided(quotient: Array, numerator: Terms, divisor: Terms) -> Array:
    """The exact quotients, rounded half to even, next to these of float64; arrays (n)."""
    quotient = np.clip(np.nan_to_num(quotient, nan=0.0, posinf=BEYOND, neginf=-BEYOND), -BEYOND, BEYOND)
    whole = np.floor(quotient)
    halfway = times(divisor, whole + 0.5)
    side = _sign((*numerator, *(-t for t in halfway))) * np.sign(_sum(divisor))
    above = (side > 0) | ((side == 0) & (whole % 2 == 1))
    return np.where(near_tie(quotient, UNSURE), whole + above, np.rint(quotient))


def saturated(values: Array, dtype: np.dtype[Any]) -> Array:
    """Whole float64 numbers below 2^31 as an integer type of at most 16 bits, clipped to its range."""
    limits: Any = ml_dtypes.iinfo(dtype)  # type: ignore[no-untyped-call]
    return np.clip(values, int(limits.min), int(limits.max)).astype(np.int32).astype(dtype)


@dataclasses.dataclass(frozen=True)
class Quotient:
    """What a quantising operator rounds: Σ numerator/Σ divisor, and the zero point that is added afterwards. All arrays
    broadcast to the result; the zero point has its type."""

    numerator: Terms
    divisor: Terms
    zero_point: Array

    def real(self) -> Array:
        """Numerator/divisor + zero point, float64."""
        with np.errstate(all="ignore"):
            return np.asarray(_sum(self.numerator) / _sum(self.divisor) + self.zero_point.astype(np.float64))

    def stored(self) -> Array:
        """saturate(round half even(numerator/divisor) + zero point) in the zero point's type."""
        rounded = round_quotient(self.numerator, self.divisor)
        return saturated(rounded + self.zero_point.astype(np.float64), self.zero_point.dtype)


def stored(exact: Callable[Parameters, Quotient]) -> Callable[Parameters, Array]:
    """The operator whose exact quotient is given: rounded and saturated."""

    @functools.wraps(exact)
    def operator(*inputs: Parameters.args, **attributes: Parameters.kwargs) -> Array:
        return exact(*inputs, **attributes).stored()

    return operator


def real(exact: Callable[Parameters, Quotient]) -> Callable[Parameters, Array]:
    """The operator's value before rounding and saturation, float64, from the operator's own inputs."""

    @functools.wraps(exact)
    def value(*inputs: Parameters.args, **attributes: Parameters.kwargs) -> Array:
        return exact(*inputs, **attributes).real()

    return value
