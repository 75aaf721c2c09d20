"""INT_INTERVAL: which integers a correct requantiser may return for the real value r + zero point.

y in [ceil(r + zp − e), floor(r + zp + e)], clipped, e = 1/2 + (4·R + |r + zp|)·u_rq with u_rq = 2^-24 for requantisation in
single precision (docs/numerics.md).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from reference.ops import quantization
from reference.verify.node import Array, Node, Setting

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
    distance = np.where(np.isfinite(real), distance, 0.0)
    return float(max(0.0, distance.max(initial=0.0)))


def interval(node: Node) -> tuple[Array, Array]:
    """(lowest, highest) integer allowed per element, as float64."""
    real = np.asarray(REAL[node.operator](*node.inputs, **node.attributes), np.float64)
    with np.errstate(invalid="ignore"):
        e = (
            0.5 + 5 * (np.abs(real) + 128) * U_REQUANTISE
        )  # |r| ≤ |r + zp| + |zp|; zero points beyond 128 only add slack below 1e-4
        low, high = np.ceil(real - e), np.floor(real + e)
    name = node.output_types[0]
    info = _range(name)
    return np.clip(low, *info), np.clip(high, *info)


def _range(name: str) -> tuple[float, float]:
    bits = int(name.lstrip("uint"))
    return (0.0, 2.0**bits - 1) if name.startswith("u") else (-(2.0 ** (bits - 1)), 2.0 ** (bits - 1) - 1)


def scale(node: Node, setting: Setting) -> list[Array]:
    """DynamicQuantizeLinear's second output, a division of a difference; the integers are judged by their interval."""
    return [np.zeros(r.shape) if i != 1 else 4 * U_REQUANTISE * np.abs(r) for i, r in enumerate(node.results)]
