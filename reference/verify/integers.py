"""INT_INTERVAL: which integers a correct requantiser may return for the real value r + zero point.

y in [ceil(r + zp − e), floor(r + zp + e)], clipped, e = 1/2 + δ + (4·R + |r + zp|)·u_rq, with δ and u_rq as the device declares
its requantisation (docs/numerics.md). What R is, and what is not four roundings of it, stands in `requantised`.
"""

from __future__ import annotations

import numpy as np

from reference.dtypes import is_integer
from reference.node import Array, Node
from reference.ops import quantization
from reference.verify import requantised
from reference.verify.requantised import REAL, unit_roundoff, zero_point_is_open
from reference.verify.setting import Setting

__all__ = ["REAL", "REDUCED_DELTA", "delta_needed", "deviations", "interval", "neighbours", "requantises", "scale"]

U_SINGLE = 2.0**-24
ZERO_POINT_OUTPUT = 2
"""Which output of DynamicQuantizeLinear its zero point is."""

REDUCED_DELTA = 0.1875
"""Up to here a requantiser of low width is right at a lower rung; truncation needs 0.44, one step off 0.95."""


def requantises(node: Node, output: int) -> bool:
    """Whether output number `output` is an integer that `interval` judges: the first one, and the zero point that
    DynamicQuantizeLinear computes."""
    if node.operator not in REAL or not is_integer(node.output_types[output]):
        return False
    return output == 0 or (node.operator == "DynamicQuantizeLinear" and output == ZERO_POINT_OUTPUT)


def interval(node: Node, setting: Setting, output: int = 0) -> tuple[Array, Array]:
    """(lowest, highest) integer allowed per element of an output that `requantises`, as float64."""
    info = _range(node.output_types[output])
    result = node.results[output].astype(np.float64)
    if output == ZERO_POINT_OUTPUT:
        real = _real_value(node, output)
        e = np.asarray(0.5 + 4 * real * unit_roundoff(node, setting))
        low, high = np.ceil(real - e), np.floor(real + e)
    else:
        low, high = _around(node, setting, result)
    low, high = np.fmin(low, result), np.fmax(high, result)  # infinities have no e; operands may overflow in a division's type
    return np.clip(low, *info), np.clip(high, *info)


def _around(node: Node, setting: Setting, result: Array) -> tuple[Array, Array]:
    """ceil(r + zp − e) and floor(r + zp + e); at half-ways that are met exactly, the even side."""
    found, declared = requantised.of(node, setting), setting.arithmetic.requantise
    with np.errstate(invalid="ignore", over="ignore"):
        delta = declared.delta(found.magnitude, found.multiplier)
        e = 0.5 + delta + (found.size + np.abs(found.real)) * unit_roundoff(node, setting) + found.inside
        low, high = np.ceil(found.real - e), np.floor(found.real + e)
        half_way = found.real - np.floor(found.real) == 0.5
    if declared.to_even and not declared.in_float16:
        even = half_way & found.decided & (delta == 0)
        low, high = np.where(even, result, low), np.where(even, result, high)
    if _zero_point_open(node, unit_roundoff(node, setting)):
        return low - 1, high + 1
    return low, high


def delta_needed(node: Node, got: Array, output: int = 0) -> float:
    """Largest |y − r − zp| − 1/2 over the unsaturated elements, not below 0: what a declared δ would have to be."""
    return deviations(node, got, output)["delta_needed"]


def deviations(node: Node, got: Array, output: int = 0) -> dict[str, float]:
    """What is on record of an output that `requantises`.

    delta_needed: largest |y − r − zp| − 1/2, not below 0; beyond the type's range, from half a step outside it.
    requantised_bias: mean of y − r − zp over the unsaturated elements, which truncation moves to −1/2; left out without any.
    """
    low, high = _range(node.output_types[output])
    y, real = got.astype(np.float64), _real_value(node, output)
    shifts = (0, -1, 1) if output == 0 and _zero_point_open(node, U_SINGLE) else (0,)
    away = min((_away(y, real + shift, low, high) for shift in shifts), key=lambda a: np.abs(a).max(initial=0.0))
    numbers = {"delta_needed": float(np.maximum(np.abs(away) - 0.5, 0.0).max(initial=0.0))}
    inside = (real >= low) & (real <= high)
    if inside.any():
        numbers["requantised_bias"] = float(np.mean(away, where=inside))
    return numbers


def _away(y: Array, real: Array, low: float, high: float) -> Array:
    """y − real, which counts from half a step outside the range where it lies beyond; 0 where it is NaN."""
    return np.where(np.isnan(real), 0.0, y - np.clip(real, low - 0.5, high + 0.5))


def _real_value(node: Node, output: int) -> Array:
    """The real value of an output before rounding and clipping."""
    if output == ZERO_POINT_OUTPUT:
        return quantization.dynamic_quantize_linear_zero_point_real(node.real(0))
    return requantised.real_value(node)


def _zero_point_open(node: Node, u: float) -> bool:
    return node.operator == "DynamicQuantizeLinear" and zero_point_is_open(node, u)


LOGARITHMS = ("ReduceLogSum", "ReduceLogSumExp")


TOLD = 2.0**37
"""Largest magnitude at which the real value, a float64 with errors of its own, tells a whole number from one beside it."""


def neighbours(node: Node) -> tuple[Array, Array] | None:
    """(floor, ceiling) of the exact result on integers, where ONNX does not say how it is rounded; None beyond 2^52, where
    float64 cannot tell them apart; beyond `TOLD` either neighbour of the reference's own result, which is exact. A logarithm in
    single precision may also come out below a whole number, and then be cut."""
    data = len(node.inputs) if node.operator == "Mean" else 1
    real = node.again([x.astype(np.float64) if i < data and x is not None else x for i, x in enumerate(node.inputs)])[0]
    if np.abs(real).max(initial=0.0) >= 2.0**52:
        return None
    nearly = np.rint(real)
    with np.errstate(invalid="ignore"):  # an infinite logarithm
        whole = np.abs(real - nearly) <= 2.0**-40 * np.maximum(np.abs(real), 1.0)  # the real value is a float64 itself
    low, high = np.where(whole, nearly, np.floor(real)), np.where(whole, nearly, np.ceil(real))
    large, exact = np.abs(real) >= TOLD, node.results[0].astype(np.float64)
    low, high = np.where(large, exact - 1, low), np.where(large, exact + 1, high)
    return np.where(whole, low - 1, low) if node.operator in LOGARITHMS else low, high


def _range(name: str) -> tuple[float, float]:
    bits = int(name.lstrip("uint"))
    return (0.0, 2.0**bits - 1) if name.startswith("u") else (-(2.0 ** (bits - 1)), 2.0 ** (bits - 1) - 1)


def scale(node: Node, setting: Setting) -> list[Array]:
    """DynamicQuantizeLinear's second output, a division of a difference; the integers are judged by their interval."""
    relative = 4 * unit_roundoff(node, setting) + 2 * setting.u_in
    return [np.zeros(r.shape) if i != 1 else relative * np.abs(r) for i, r in enumerate(node.results)]
