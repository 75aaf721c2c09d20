"""The one place that compares a device's tensor with the reference, element by element, without skipping any."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reference import dtypes
from reference.verify.statistics import Spread

Array = NDArray[Any]


@dataclasses.dataclass(frozen=True)
class Expected:
    """What one output must be.

    value: exact, float64 for reals. bound: half-width of the interval around it that a stored result must lie in; 0 asks for
    the rounded value itself. flushes: subnormal results may be zero.
    signed_zero: −0 and +0 differ. open: where ONNX leaves the result open; so is every
    element whose bound is infinite, as where an intermediate result may overflow. Where the bound is NaN, none can decide.
    interval: (lowest, highest) integer allowed. reaches: (lowest, highest) number or infinity that is right too, NaN where
    there is none: a partial sum may overflow.
    """

    name: str
    value: Array
    bound: Array | float
    dtype: str
    flushes: bool = False
    signed_zero: bool = False
    open: Array | None = None
    interval: tuple[Array, Array] | None = None
    spread: Spread | None = None
    reaches: tuple[Array, Array] | None = None
    saturates: bool = False
    clamps: bool = False


def fits(expected: Expected, got: Array) -> bool:
    """Whether shape and type are right, so that elements can be compared."""
    return got.shape == expected.value.shape and dtypes.name_of(got.dtype) == expected.dtype


@dataclasses.dataclass(frozen=True)
class Elements:
    """What is said of every element. Arrays have the tensor's shape.

    wrong: outside its bound. open: not judged. exact: the rounded reference to the bit. error: |got − reference|, in the
    tensor's own unit. ratio: error over bound, at least 1 where wrong. special: wrong in class (NaN, infinity) or sign of zero.
    """

    wrong: Array
    open: Array
    exact: Array
    error: Array
    ratio: Array
    special: Array


def elements(expected: Expected, got: Array) -> Elements:
    """Judges every element of a tensor of the right shape and type."""
    bound = np.broadcast_to(np.asarray(expected.bound, np.float64), got.shape)
    if dtypes.is_float(expected.dtype):
        wrong, exact, error, ratio, special = _reals(expected, bound, dtypes.to_real(got))
    else:
        wrong, error = _exact(expected, got)
        exact, ratio = error == 0, np.where(wrong, np.maximum(error, 1.0), 0.0)
        special = np.zeros(got.shape, bool)
    undecided = np.isposinf(bound) | np.isnan(bound)
    if expected.open is not None:
        undecided = undecided | expected.open
    return Elements(
        wrong & ~undecided,
        undecided,
        exact,
        np.where(undecided, 0, error),
        np.where(undecided, 0.0, ratio),
        special & ~undecided,
    )


def _reals(expected: Expected, bound: Array, y: NDArray[np.float64]) -> tuple[Array, Array, Array, Array, Array]:
    """(wrong, exact, |error|, |error|/bound, wrong in class) for floating-point outputs. Where the bound is 0 the value is
    the rounded reference."""
    form = dtypes.FLOATS[expected.dtype]
    reference = expected.value.astype(np.float64)
    with np.errstate(all="ignore"):
        stored = dtypes.round_to(reference, expected.dtype)
        same = (y == stored) | (np.isnan(y) & np.isnan(stored))
        exact = same & ((y != 0) | (np.signbit(y) == np.signbit(stored))) if expected.signed_zero else same
        if not np.any(bound) and exact.all():  # as in most cases that move data
            none, zeros = np.zeros(y.shape, bool), np.zeros(y.shape)
            return none, exact, zeros, zeros, none
        error = np.where(same & ((bound == 0) | ~np.isfinite(y)), 0.0, np.abs(y - reference))
        error = np.where(np.isnan(error), np.inf, error)
        right = exact if exact.all() else exact | _is_allowed(expected, bound, error, y, stored)
        ratio = np.where(error == 0, 0.0, error / np.maximum(bound, form.smallest_subnormal * 2.0**-10))
        classes = (np.isfinite(y) != np.isfinite(stored)) | (np.isnan(y) != np.isnan(stored)) | ((y == 0) & (stored == 0))
    return ~right, same & right, error, np.where(right, np.minimum(ratio, 1.0), np.maximum(ratio, 1.0)), ~right & classes


def _is_allowed(expected: Expected, bound: Array, error: Array, y: NDArray[np.float64], stored: Array) -> Array:
    """Where a number other than the rounded reference is right too."""
    form, reference = dtypes.FLOATS[expected.dtype], expected.value.astype(np.float64)
    right = np.isfinite(reference) & np.isfinite(y) & (error <= bound)
    if expected.flushes:
        right |= (np.abs(reference) < form.smallest_normal) & (np.abs(y) <= np.minimum(bound, form.smallest_normal))
    edge = form.largest + 0.5 * dtypes.quantum(np.asarray(form.largest), expected.dtype)
    if not expected.clamps:
        right |= np.isinf(y) & (np.sign(y) == np.sign(reference)) & (np.abs(reference) + bound > edge)
    if expected.reaches is not None:
        right |= (expected.reaches[0] <= y) & (y <= expected.reaches[1])
    if expected.signed_zero:
        right &= (y != 0) | (np.signbit(y) == np.signbit(stored))
    if expected.saturates:
        right |= (np.abs(reference) + bound >= form.largest) & (y == np.copysign(form.largest, reference))
    return right


def _exact(expected: Expected, got: Array) -> tuple[Array, Array]:
    """(wrong, |error|) for every other type: integers within their interval, the rest equal."""
    reference = expected.value
    if not dtypes.is_integer(expected.dtype):
        if expected.dtype.startswith("complex"):
            wrong = _differ(got.real, reference.real) | _differ(got.imag, reference.imag)
        else:
            wrong = _unequal(got, reference) if got.dtype == object else np.asarray(got != reference)
        return wrong, wrong.astype(np.float64)
    if expected.interval is None and np.array_equal(got, reference):
        return np.zeros(got.shape, bool), np.zeros(got.shape)
    wide = object if got.dtype.itemsize == 8 else np.int64  # differences of 64-bit integers need Python's
    error = np.asarray(np.abs(got.astype(wide) - reference.astype(wide)), np.float64)
    if expected.interval is not None:
        low, high = expected.interval
        y = got.astype(np.float64)
        return np.asarray((y < low) | (y > high)), error
    return np.asarray(error > expected.bound), error


def _unequal(got: Array, reference: Array) -> Array:
    """Where strings differ; what is no string differs from any."""
    return np.asarray(np.frompyfunc(lambda a, b: not isinstance(a, str) or a != b, 2, 1)(got, reference), bool)


def _differ(a: Array, b: Array) -> Array:
    """Where real parts differ; NaN equals NaN."""
    with np.errstate(invalid="ignore"):  # signalling NaN
        return np.asarray((a != b) & ~(np.isnan(a) & np.isnan(b)))
