"""The one function that compares a device's tensor with the reference, element by element, without skipping any."""

from __future__ import annotations

import dataclasses
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from reference import dtypes

Array = NDArray[Any]


@dataclasses.dataclass(frozen=True)
class TensorVerdict:
    """What is said of one output. `numbers` go to the journal also on pass, so that drift shows.

    compared: elements compared, always the tensor's size. wrong: elements outside their bound. worst_ratio: largest
    |got − reference| / bound, for floats with one. worst_ulp: largest error of floats, in ulp of the stored type.
    worst_error: largest difference of integers. worst_index: flat index of the worst element.
    """

    name: str
    status: Literal["pass", "pass_reduced", "mismatch", "implementation_defined", "inconclusive"]
    message: str = ""
    numbers: dict[str, float | int] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True)
class Expected:
    """What one output must be.

    value: exact, float64 for reals. bound: half-width of the interval around it that a stored result must lie in; 0 asks for
    the rounded value itself. flushes: subnormal results may be zero.
    signed_zero: −0 and +0 differ. open: where ONNX leaves the result open; so is every
    element whose bound is infinite, as where an intermediate result may overflow. Where the bound is NaN, none can decide.
    interval: (lowest, highest) integer allowed.
    """

    name: str
    value: Array
    bound: Array | float
    dtype: str
    flushes: bool = False
    signed_zero: bool = False
    open: Array | None = None
    interval: tuple[Array, Array] | None = None


def fits(expected: Expected, got: Array) -> bool:
    """Whether shape and type are right, so that elements can be compared."""
    return got.shape == expected.value.shape and dtypes.name_of(got.dtype) == expected.dtype


def compare(expected: Expected, got: Array) -> TensorVerdict:
    """Shape, type, special values and the bound on every element."""
    name = expected.name
    if got.shape != expected.value.shape:
        return TensorVerdict(name, "mismatch", f"{name} has shape {got.shape}, the reference {expected.value.shape}")
    if dtypes.name_of(got.dtype) != expected.dtype:
        return TensorVerdict(name, "mismatch", f"{name} has type {dtypes.name_of(got.dtype)}, the model says {expected.dtype}")
    if dtypes.is_float(expected.dtype):
        wrong, error, ratio = _reals(expected, dtypes.to_real(got))
        error = error / dtypes.quantum(expected.value, expected.dtype)
    else:
        wrong, error = _exact(expected, got)
        ratio = np.where(wrong, np.maximum(error, 1.0), 0.0)
    undecided = np.zeros(got.shape, bool) if expected.open is None else np.broadcast_to(expected.open, got.shape)
    bound = np.broadcast_to(np.asarray(expected.bound, np.float64), got.shape)
    undecided = undecided | np.isposinf(bound) | np.isnan(bound)
    return _verdict(
        expected, got, wrong & ~undecided, np.where(undecided, 0.0, ratio), np.where(undecided, 0, error), undecided
    )


def _reals(expected: Expected, y: NDArray[np.float64]) -> tuple[Array, Array, Array]:
    """(wrong, |error|, |error|/bound) for floating-point outputs. Where the bound is 0 the value is the rounded reference."""
    form = dtypes.FLOATS[expected.dtype]
    reference = expected.value.astype(np.float64)
    bound = np.broadcast_to(np.asarray(expected.bound, np.float64), reference.shape)
    with np.errstate(all="ignore"):
        stored = dtypes.round_to(reference, expected.dtype)
        same = (y == stored) | (np.isnan(y) & np.isnan(stored))
        error = np.where(same & ((bound == 0) | ~np.isfinite(y)), 0.0, np.abs(y - reference))
        error = np.where(np.isnan(error), np.inf, error)
        right = same | (np.isfinite(reference) & np.isfinite(y) & (error <= bound))
        if expected.flushes:
            right |= (np.abs(reference) < form.smallest_normal) & (np.abs(y) <= np.minimum(bound, form.smallest_normal))
        edge = form.largest + 0.5 * dtypes.quantum(np.asarray(form.largest), expected.dtype)
        right |= np.isinf(y) & (np.sign(y) == np.sign(reference)) & (np.abs(reference) + bound >= edge)
        if expected.signed_zero:
            right &= (y != 0) | (np.signbit(y) == np.signbit(stored))
        ratio = np.where(error == 0, 0.0, error / np.maximum(bound, form.smallest_subnormal * 2.0**-10))
    return ~right, error, np.where(right, np.minimum(ratio, 1.0), np.maximum(ratio, 1.0))


def _exact(expected: Expected, got: Array) -> tuple[Array, Array]:
    """(wrong, |error|) for every other type: integers within their interval, the rest equal."""
    reference = expected.value
    if not dtypes.is_integer(expected.dtype):
        if expected.dtype.startswith("complex"):
            wrong = _differ(got.real, reference.real) | _differ(got.imag, reference.imag)
        else:
            wrong = np.asarray(got != reference)
        return wrong, wrong.astype(np.float64)
    wide = object if got.dtype.itemsize == 8 else np.int64  # differences of 64-bit integers need Python's
    error = np.asarray(np.abs(got.astype(wide) - reference.astype(wide)), np.float64)
    if expected.interval is not None:
        low, high = expected.interval
        y = got.astype(np.float64)
        return np.asarray((y < low) | (y > high)), error
    return np.asarray(error > expected.bound), error


def _differ(a: Array, b: Array) -> Array:
    """Where real parts differ; NaN equals NaN."""
    with np.errstate(invalid="ignore"):  # signalling NaN
        return np.asarray((a != b) & ~(np.isnan(a) & np.isnan(b)))


def _verdict(expected: Expected, got: Array, wrong: Array, ratio: Array, error: Array, undecided: Array) -> TensorVerdict:
    numbers: dict[str, float | int] = {"compared": int(got.size), "wrong": int(np.count_nonzero(wrong))}
    if undecided.any():
        numbers["open"] = int(np.count_nonzero(undecided))
    if got.size == 0:
        return TensorVerdict(expected.name, "pass", "", numbers)
    worst = int(np.argmax(np.where(wrong, ratio, -1.0) if wrong.any() else ratio))
    real = dtypes.is_float(expected.dtype)
    numbers["worst_index"] = worst
    if real and np.any(expected.bound):
        numbers["worst_ratio"] = float(ratio.flat[worst])
    if real or dtypes.is_integer(expected.dtype):
        numbers["worst_ulp" if real else "worst_error"] = float(np.max(np.where(np.isnan(error), np.inf, error)))
    if not wrong.any() and np.isnan(expected.bound).any():
        message = f"{expected.name}: no bound can decide {np.count_nonzero(np.isnan(expected.bound))} of {got.size} elements"
        return TensorVerdict(expected.name, "inconclusive", message, numbers)
    if not wrong.any():
        return TensorVerdict(expected.name, "implementation_defined" if undecided.all() else "pass", "", numbers)
    at = tuple(int(i) for i in np.unravel_index(worst, got.shape))
    message = (
        f"{expected.name}: {numbers['wrong']} of {got.size} elements wrong; worst at {list(at)}: "
        f"got {got[at]!s}, expected {expected.value[at]!s}"
    )
    bound = float(np.broadcast_to(np.asarray(expected.bound, np.float64), got.shape)[at])
    if bound and np.isfinite(ratio.flat[worst]):
        message += f" within {bound:.3g} ({ratio.flat[worst]:.3g} times the bound)"
    elif not bound and expected.interval is None:
        message += " exactly"
    return TensorVerdict(expected.name, "mismatch", message, numbers)
