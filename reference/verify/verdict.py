"""The verdict on a whole tensor: shape and type, special values, the bound on every element, then the statistics of all."""

from __future__ import annotations

import dataclasses
import reprlib
from typing import Literal

import numpy as np

from reference import dtypes
from reference.node import Array
from reference.verify import statistics
from reference.verify.compare import Elements, Expected, elements, fits
from reference.verify.diagnosis.finding import Diagnosis

Status = Literal["pass", "pass_reduced", "mismatch", "implementation_defined", "inconclusive"]

DECIDES = 0.1
"""A bound above this share of the result's own root mean square is met by wrong results too: it decides nothing."""

MOST = 0.5
"""Share of elements without a bound, by the arithmetic and not by ONNX, from which on the others say too little."""


@dataclasses.dataclass(frozen=True)
class TensorVerdict:
    """What is said of one output. `numbers` go to the journal also on pass, so that drift shows.

    tier: what a mismatch failed: "shape", "type", "special", "exact", "interval", "tier 1" (the bound on every element),
    "tier 2" (root mean square, largest error), "tier 3" (bias), "properties" (of random numbers); "" without a mismatch.
    diagnosis: causes that explain a mismatch, the best first.

    Numbers: compared, elements compared, always the tensor's size. wrong: elements outside their bound. open: elements that
    are not judged. worst_ratio: largest |got − reference| / bound, for floats with one. worst_ulp: largest error of floats, in
    ulp of the stored type. worst_error: largest difference of integers. worst_index: flat index of the worst element.
    rms_ratio, far, effective_bits, z, z_sign: of `statistics`, for sums of products of random data.
    """

    name: str
    status: Status
    message: str = ""
    numbers: dict[str, float | int] = dataclasses.field(default_factory=dict)
    tier: str = ""
    diagnosis: tuple[Diagnosis, ...] = ()


def judge(expected: Expected, got: Array) -> TensorVerdict:
    """The verdict on one output. Every element is compared; statistics are judged where `expected.spread` is known."""
    name = expected.name
    if got.shape != expected.value.shape:
        text = f"{name} has shape {got.shape}, the reference {expected.value.shape}"
        return TensorVerdict(name, "mismatch", text, tier="shape")
    if not fits(expected, got):
        text = f"{name} has type {dtypes.name_of(got.dtype)}, the model says {expected.dtype}"
        return TensorVerdict(name, "mismatch", text, tier="type")
    judged = elements(expected, got)
    found = _statistics(expected, got, judged)
    numbers = _numbers(expected, judged, found)
    if judged.wrong.any():
        return TensorVerdict(name, "mismatch", _worst(expected, got, judged), numbers, _tier(expected, judged))
    if found and (found.too_large or found.too_far or found.biased):
        text = _unlikely(name, expected, got, found)
        return TensorVerdict(name, "mismatch", text, numbers, "tier 2" if found.too_large or found.too_far else "tier 3")
    if np.isnan(expected.bound).any():
        text = f"{name}: no bound can decide {np.count_nonzero(np.isnan(expected.bound))} of {got.size} elements"
        return TensorVerdict(name, "inconclusive", text, numbers)
    lost = np.count_nonzero(np.isposinf(expected.bound)) if np.ndim(expected.bound) else 0
    if lost > MOST * got.size:
        text = f"{name}: an intermediate result may overflow or cancel in {lost} of {got.size} elements: no bound can decide"
        return TensorVerdict(name, "inconclusive", text, numbers)
    if not found and _too_wide(expected, judged):
        text = f"{name}: right results scatter as widely as wrong ones here: no bound can decide"
        return TensorVerdict(name, "inconclusive", text, numbers)
    return TensorVerdict(name, "implementation_defined" if got.size and judged.open.all() else "pass", "", numbers)


def _statistics(expected: Expected, got: Array, judged: Elements) -> statistics.Statistics | None:
    if expected.spread is None:
        return None
    with np.errstate(all="ignore"):
        error = dtypes.to_real(got) - expected.value
    return statistics.statistics(expected.spread, error, expected.value, ~judged.open & ~judged.special)


def _numbers(expected: Expected, judged: Elements, found: statistics.Statistics | None) -> dict[str, float | int]:
    numbers: dict[str, float | int] = {"compared": judged.wrong.size, "wrong": int(np.count_nonzero(judged.wrong))}
    if judged.open.any():
        numbers["open"] = int(np.count_nonzero(judged.open))
    if judged.wrong.size == 0:
        return numbers
    real = dtypes.is_float(expected.dtype)
    worst = _worst_index(judged)
    numbers["worst_index"] = worst
    if real and np.any(expected.bound):
        numbers["worst_ratio"] = float(judged.ratio.flat[worst])
    if real or dtypes.is_integer(expected.dtype):
        error = judged.error
        if real and error.any():
            with np.errstate(all="ignore"):
                error = error / dtypes.quantum(expected.value, expected.dtype)
        numbers["worst_ulp" if real else "worst_error"] = float(np.max(np.where(np.isnan(error), np.inf, error)))
    return numbers | (found.numbers() if found else {})


def _worst_index(judged: Elements) -> int:
    return int(np.argmax(np.where(judged.wrong, judged.ratio, -1.0) if judged.wrong.any() else judged.ratio))


def _tier(expected: Expected, judged: Elements) -> str:
    """What the worst kind of wrong element fails."""
    if judged.special.any() and judged.special[judged.wrong].all():
        return "special"
    if expected.interval is not None:
        return "interval"
    return "exact" if not np.any(np.broadcast_to(expected.bound, judged.wrong.shape)[judged.wrong]) else "tier 1"


def _worst(expected: Expected, got: Array, judged: Elements) -> str:
    """One line on the worst element."""
    worst = _worst_index(judged)
    at = tuple(int(i) for i in np.unravel_index(worst, got.shape))
    message = (
        f"{expected.name}: {np.count_nonzero(judged.wrong)} of {got.size} elements wrong; worst at {list(at)}: "
        f"got {_shown(got[at])}, expected {_shown(expected.value[at])}"
    )
    bound = float(np.broadcast_to(np.asarray(expected.bound, np.float64), got.shape)[at])
    if bound and np.isfinite(judged.ratio.flat[worst]):
        return f"{message} within {bound:.3g} ({judged.ratio.flat[worst]:.3g} times the bound)"
    return message if bound or expected.interval is not None else f"{message} exactly"


def _shown(value: object) -> str:
    """A number as it is, a string in quotes and shortened."""
    return reprlib.repr(value) if isinstance(value, str | bytes) else str(value)


def _unlikely(name: str, expected: Expected, got: Array, found: statistics.Statistics) -> str:
    """One line on errors that are no rounding errors."""
    assert expected.spread
    if found.too_far and not found.too_large:
        at = tuple(int(i) for i in np.unravel_index(found.farthest, got.shape))
        return (
            f"{name}: the error at {list(at)} is {found.far:.3g} times what {expected.spread.bits} significand bits explain "
            f"(at most {statistics.FARTHEST:g}): got {got[at]!s}, expected {expected.value[at]!s}"
        )
    if found.too_large:
        return (
            f"{name}: errors are {found.rms:.3g} times what {expected.spread.bits} significand bits explain over "
            f"{found.elements} elements (at most {found.limit:.3g}): effectively {found.effective_bits:.1f} bits"
        )
    z, way = (found.z, "one direction") if abs(found.z) >= abs(found.z_sign) else (found.z_sign, "or away from zero")
    return f"{name}: errors point towards {way} (z = {z:.3g}, at most {statistics.TAU}): not rounded to nearest"


def _too_wide(expected: Expected, judged: Elements) -> bool:
    """Whether the bound would let wrong results pass: it exceeds a tenth of the result, storing it aside."""
    if not dtypes.is_float(expected.dtype) or not np.any(expected.bound):
        return False
    with np.errstate(all="ignore"):
        use = ~judged.open & np.isfinite(expected.value)
        bound = np.broadcast_to(np.asarray(expected.bound, np.float64), use.shape)
        inside = np.maximum(bound - 0.5 * dtypes.quantum(np.abs(expected.value) + bound, expected.dtype), 0.0)
        size = _rms(expected.value[use]) or 1.0
        return bool(_rms(inside[use]) > DECIDES * size + dtypes.FLOATS[expected.dtype].smallest_normal)


def _rms(x: Array) -> float:
    """Root mean square; scaled, so that squares do not overflow."""
    largest = float(np.abs(x).max(initial=0.0))
    return largest * float(np.sqrt(np.mean((x / largest) ** 2))) if largest else 0.0
