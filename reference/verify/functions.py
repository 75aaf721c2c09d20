"""ULP_REAL: how far a function's result may lie from the real value, in ulp of the unit's format.

Source of the limits: OpenCL C 3.0, 7.4 "Relative error as ulps", full profile for single precision and the half-precision
table for 16-bit units; functions that OpenCL leaves out are compositions, whose formulas stand in `explicit`.
"""

from __future__ import annotations

import numpy as np

from reference.dtypes import FLOATS, quantum
from reference.node import Array, Node
from reference.ops import quantization
from reference.verify.setting import Setting

ULPS: dict[str, tuple[float, float]] = {
    "Acos": (4, 2),
    "Acosh": (4, 2),
    "Add": (0.5, 0.5),
    "Asin": (4, 2),
    "Asinh": (4, 2),
    "Atan": (5, 2),
    "Atanh": (5, 2),
    "Cos": (4, 2),
    "Cosh": (4, 2),
    "DequantizeLinear": (1, 1),
    "Div": (2.5, 1),
    "Erf": (16, 4),
    "Exp": (3, 2),
    "LeakyRelu": (1, 1),
    "Log": (3, 2),
    "Mul": (0.5, 0.5),
    "PRelu": (0.5, 0.5),
    "Pow": (16, 4),
    "Range": (2, 2),
    "Reciprocal": (2.5, 1),
    "Shrink": (0.5, 0.5),
    "Sin": (4, 2),
    "Sinh": (4, 2),
    "Sqrt": (3, 0.5),
    "Sub": (0.5, 0.5),
    "Tan": (5, 2),
    "Tanh": (5, 2),
}
"""Operator → (limit in single precision, limit in half precision); 0.5 is correct rounding, doubled for faithful units."""


def ulp_real(node: Node, setting: Setting) -> list[Array]:
    """c ulp around the real value, plus what converting the inputs can change (first order, by evaluating the neighbours)."""
    full, half = ULPS[node.operator]
    c = half if setting.half else full
    c = c * setting.arithmetic.rho if c < 1 else c
    if node.types[0] == "int32":  # DequantizeLinear of biases: the integer itself is rounded first
        c += 1
    error = c * quantum(node.results[0], setting.arithmetic.compute)
    if any(isinstance(value, float) for value in node.attributes.values()) or node.operator in ("LeakyRelu", "Shrink"):
        error = error + 2 * setting.u_attribute * np.abs(node.results[0])
    if setting.u_in:
        error = error + conversion(node, setting)
    return [error]


def conversion(node: Node, setting: Setting) -> Array:
    """How far the result moves when the inputs move by their conversion errors: all in one direction, or against each other
    as in a − b. A neighbour outside the function's domain says nothing."""
    found = [np.zeros(node.results[0].shape)]
    for signs in ((1, 1), (-1, -1), (1, -1), (-1, 1))[: 4 if len(node.inputs) > 1 else 2]:
        inputs = [
            None if x is None or t is None else setting.moved(x, t, signs[i % 2])
            for i, (x, t) in enumerate(zip(node.inputs, node.types, strict=True))
        ]
        with np.errstate(all="ignore"):
            moved = node.again(inputs)[0]
            if moved.shape == node.results[0].shape:  # the length of a Range may change with its limits
                found.append(np.abs(moved - node.results[0]))
    return np.asarray(np.nan_to_num(np.fmax.reduce(found), nan=0.0, posinf=np.inf))


def quotient(node: Node, setting: Setting) -> list[Array]:
    """QuantizeLinear to a floating-point type: x/scale in the unit, or in a type that the node names for it (both operands and
    the quotient are rounded to that), then the rounding to that type."""
    y, named = node.results[0], quantization.division_type(node.attribute("precision", 0), node.types)
    inside = 3 * FLOATS[named].unit_roundoff if named else 0.0
    return [ULPS["Div"][setting.half] * quantum(y, setting.arithmetic.compute) + (2 * setting.u_in + inside) * np.abs(y)]
