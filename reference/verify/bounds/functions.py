"""ULP_REAL: how far a function's result may lie from the real value, in ulp of the unit's format.

The limits and their sources stand in functions.toml; functions that it leaves out are compositions, whose formulas stand in
`explicit`.
"""

from __future__ import annotations

import numpy as np

from reference.dtypes import FLOATS, quantum
from reference.node import Array, Node
from reference.ops import quantization
from reference.verify.bounds import limits
from reference.verify.setting import Setting

ULPS: dict[str, tuple[float, float]] = {
    name: (entry.limits["full"].ulp, entry.limits["half"].ulp)
    for name, entry in limits.table().items()
    if entry.kind == "operator"
}
"""Operator of this mode → (limit in single precision, limit in half precision); 0.5 is correct rounding."""


K_T = 3.0
"""Roundings of exp's argument: the difference, the factor log2(e), and the product with it."""


def ulps(function: str, setting: Setting) -> float:
    """Limit of an elementary function in ulp of the unit."""
    return limits.limit(function, setting.functions).constant


def function_error(function: str, y: Array, setting: Setting) -> Array:
    """An elementary function's own error where its value is y."""
    return ulps(function, setting) * setting.arithmetic.rho * quantum(y, setting.arithmetic.compute)


def ulp_real(node: Node, setting: Setting) -> list[Array]:
    """max(c·ulp, A·u) around the real value, plus what converting the inputs can change (first order, by evaluating the
    neighbours)."""
    y, compute = node.results[0], setting.arithmetic.compute
    arguments = [x for x in node.inputs if x is not None]
    error = limits.limit(node.operator, setting.functions).error(y, arguments, compute, setting.arithmetic.rho)
    if node.types[0] == "int32":  # DequantizeLinear of biases: the integer itself is rounded first
        error = error + quantum(y, compute)
    if any(isinstance(value, float) for value in node.attributes.values()) or node.operator in ("LeakyRelu", "Shrink"):
        error = error + 2 * setting.u_attribute * np.abs(y)
    if node.operator == "Range":
        error = error + progression(node, setting)
    if node.operator in ("LeakyRelu", "PRelu"):
        x = node.real(0)
        error = np.where(x >= 0, 0.0, error)  # x itself
        if setting.arithmetic.flushes:  # a unit to which x is zero may take its sign for the other
            small = np.abs(x) < FLOATS[compute].smallest_normal
            error = np.where(small, np.maximum(error, np.abs(x) + np.abs(y)), error)
    if setting.u_in:
        error = error + conversion(node, setting)
    return [error]


def progression(node: Node, setting: Setting) -> Array:
    """What a Range's i-th element may lose: as start + i·delta, or by adding delta i times, as ONNX's function body does."""
    y = node.results[0]
    start = np.abs(node.real(0)).reshape(-1)[:1]  # a scalar, or the one element of an axis
    return setting.u * np.arange(y.size) * np.maximum(start, np.abs(y))


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
    own = limits.limit("Div", setting.functions).constant * quantum(y, setting.arithmetic.compute)
    return [own + (2 * setting.u_in + inside) * np.abs(y)]
