"""INT_INTERVAL: which integers a correct requantiser may return for the real value r + zero point.

y in [ceil(r + zp − e), floor(r + zp + e)], clipped, e = 1/2 + (4·R + |r + zp|)·u_rq with u_rq = 2^-24 for requantisation in
single precision (docs/numerics.md).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from reference import dtypes
from reference.node import Array, Node
from reference.ops import quantization
from reference.verify.setting import Setting

U_REQUANTISE = 2.0**-24
REAL: dict[str, Callable[..., Array]] = {
    "QuantizeLinear": quantization.quantize_linear_real,
    "DynamicQuantizeLinear": quantization.dynamic_quantize_linear_real,
    "QLinearConv": quantization.qlinear_conv_real,
    "QLinearMatMul": quantization.qlinear_matmul_real,
}
"""Operator → function that gives the real value r + zp before rounding and clipping, from the operator's own inputs."""


REDUCED_DELTA = 0.1875
"""Up to here a requantiser of low width is right at a lower rung; truncation needs 0.44, one step off 0.95."""


def delta_needed(node: Node, got: Array) -> float:
    """Largest |y − r − zp| − 1/2 over the unsaturated elements, not below 0: what a declared δ would have to be."""
    real = np.asarray(REAL[node.operator](*node.inputs, **node.attributes), np.float64)
    low, high = _range(node.output_types[0])
    y = got.astype(np.float64)
    distance = np.abs(y - np.clip(real, low, high)) - 0.5
    distance = np.where(np.isnan(real), 0.0, distance)
    return float(max(0.0, distance.max(initial=0.0)))


def interval(node: Node, setting: Setting) -> tuple[Array, Array]:
    """(lowest, highest) integer allowed per element, as float64; a unit coarser than single precision widens it."""
    real = np.asarray(REAL[node.operator](*node.inputs, **node.attributes), np.float64)
    size = np.abs(real) + _zero_point(node)  # ≥ R
    with np.errstate(invalid="ignore"):
        e = 0.5 + (4 * size + np.abs(real)) * _u(node, setting) + 2 * setting.u_in * size + setting.eta_in
        low, high = np.ceil(real - e), np.floor(real + e)
    result = node.results[0].astype(np.float64)  # infinities have no e, and operands may overflow in the division's type
    low, high = np.fmin(low, result), np.fmax(high, result)
    info = _range(node.output_types[0])
    return np.clip(low, *info), np.clip(high, *info)


LOGARITHMS = ("ReduceLogSum", "ReduceLogSumExp")


def neighbours(node: Node) -> tuple[Array, Array] | None:
    """(floor, ceiling) of the exact result on integers, where ONNX does not say how it is rounded; None beyond 2^52, where
    float64 cannot tell them apart. A logarithm in single precision may also come out below a whole number, and then be cut."""
    data = len(node.inputs) if node.operator == "Mean" else 1
    real = node.again([x.astype(np.float64) if i < data and x is not None else x for i, x in enumerate(node.inputs)])[0]
    if np.abs(real).max(initial=0.0) >= 2.0**52:
        return None
    nearly = np.rint(real)
    with np.errstate(invalid="ignore"):  # an infinite logarithm
        whole = np.abs(real - nearly) <= 2.0**-40 * np.maximum(np.abs(real), 1.0)  # the real value is a float64 itself
    low, high = np.where(whole, nearly, np.floor(real)), np.where(whole, nearly, np.ceil(real))
    return np.where(whole, low - 1, low) if node.operator in LOGARITHMS else low, high


def _zero_point(node: Node) -> float:
    """The largest magnitude of a zero point of the output, 0 where there is none."""
    if node.operator == "DynamicQuantizeLinear":
        return float(np.abs(node.results[2].astype(np.float64)).max())
    index = 2 if node.operator == "QuantizeLinear" else 7
    return float(np.abs(node.real(index)).max(initial=0.0)) if node.given(index) else 0.0


def _u(node: Node, setting: Setting) -> float:
    """Roundoff of requantisation: single precision, or if they are coarser the unit's and that of the division."""
    named = (
        quantization.division_type(node.attribute("precision", 0), node.types) if node.operator == "QuantizeLinear" else None
    )
    return max(U_REQUANTISE, setting.u, dtypes.FLOATS[named].unit_roundoff if named else 0.0)


def _range(name: str) -> tuple[float, float]:
    bits = int(name.lstrip("uint"))
    return (0.0, 2.0**bits - 1) if name.startswith("u") else (-(2.0 ** (bits - 1)), 2.0 ** (bits - 1) - 1)


def scale(node: Node, setting: Setting) -> list[Array]:
    """DynamicQuantizeLinear's second output, a division of a difference; the integers are judged by their interval."""
    relative = 4 * _u(node, setting) + 2 * setting.u_in
    return [np.zeros(r.shape) if i != 1 else relative * np.abs(r) for i, r in enumerate(node.results)]
