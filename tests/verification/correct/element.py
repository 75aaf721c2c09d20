"""Arithmetic and functions, element by element."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.special import erf

from reference import dtypes
from reference.node import Array, Node
from tests.verification.correct.kind import Implementation
from tests.verification.units import Unit, add, convert, divide, function, multiply, round_to, store, subtract

HALF, ONE = np.asarray(0.5), np.asarray(1.0)


def binary(node: Node, unit: Unit, operation: Callable[[Array, Array, Unit], Array]) -> list[Array]:
    """Add, Sub, Mul, Div of reals; of integers modulo 2^bits."""
    dtype = node.output_types[0]
    if not dtypes.is_float(dtype):
        plain: Any = {"Add": np.add, "Sub": np.subtract, "Mul": np.multiply}[node.operator]
        with np.errstate(over="ignore"):
            return [plain(node.inputs[0], node.inputs[1])]
    return [store(operation(convert(node.real(0), unit), convert(node.real(1), unit), unit), dtype, unit)]


def unary(node: Node, unit: Unit, f: Callable[[Array], Array], ulps: float = 0.0) -> list[Array]:
    """A library's function, off by at most `ulps` before the last rounding."""
    return [store(function(f, convert(node.real(0), unit), unit, ulps), node.output_types[0], unit)]


def sigmoid(node: Node, unit: Unit, way: str) -> list[Array]:
    """1/(1 + exp(−x)), or exp(x)/(1 + exp(x)) for negative x, or by tanh."""
    x = convert(node.real(0), unit)
    if way == "tanh":
        y = add(HALF, multiply(HALF, function(np.tanh, multiply(HALF, x, unit), unit), unit), unit)
    else:
        e = function(np.exp, -x if way == "one-sided" else -np.abs(x), unit, 2.0)
        y = divide(ONE, add(ONE, e, unit), unit)
        if way == "two-sided":
            y = np.where(x < 0, divide(e, add(ONE, e, unit), unit), y)
    return [store(y, node.output_types[0], unit)]


def gelu(node: Node, unit: Unit, halved_first: bool = False) -> list[Array]:
    """Gelu by erf, or by tanh if the attribute asks for it."""
    x = convert(node.real(0), unit)

    def constant(value: float) -> Array:
        return round_to(np.asarray(value), unit.precision, "nearest", unit.emin)

    if node.attribute("approximate", "none") == "tanh":
        cube = multiply(multiply(x, x, unit), x, unit)
        inner = add(x, multiply(constant(0.044715), cube, unit), unit)
        inside = function(np.tanh, multiply(constant(np.sqrt(2 / np.pi)), inner, unit), unit, 1.0)
    else:
        inside = function(erf, multiply(x, constant(np.sqrt(0.5)), unit), unit, 1.0)
    grown = add(ONE, inside, unit)
    half = multiply(HALF, x, unit)
    y = multiply(half, grown, unit) if halved_first else multiply(x, multiply(HALF, grown, unit), unit)
    return [store(y, node.output_types[0], unit)]


def leaky(node: Node, unit: Unit, maximum: np.ufunc = np.maximum) -> list[Array]:
    """LeakyRelu, and Relu as max(x, 0), which NaN wins, or with np.fmax loses: ONNX leaves it open."""
    x = convert(node.real(0), unit)
    alpha = round_to(np.asarray(node.attribute("alpha", 0.01)), unit.precision, "nearest", unit.emin)
    y = maximum(x, 0.0) if node.operator == "Relu" else np.where(x < 0, multiply(x, alpha, unit), x)
    return [store(y, node.output_types[0], unit)]


def elu(node: Node, unit: Unit, way: str) -> list[Array]:
    """Elu by expm1 or by exp − 1."""
    x = convert(node.real(0), unit)
    negative = np.minimum(x, 0.0)
    if way == "expm1":
        grown = function(np.expm1, negative, unit, 1.0)
    else:
        grown = subtract(function(np.exp, negative, unit, 1.0), ONE, unit)
    alpha = round_to(np.asarray(node.attribute("alpha", 1.0)), unit.precision, "nearest", unit.emin)
    return [store(np.where(x > 0, x, multiply(alpha, grown, unit)), node.output_types[0], unit)]


def batch_normalization(node: Node, unit: Unit, folded: bool = False) -> list[Array]:
    """BatchNormalization in inference; `folded` into one factor and one addend for each channel."""
    x = convert(node.real(0), unit)
    scale, b, mean, variance = (convert(node.real(i), unit).reshape(-1, *[1] * (x.ndim - 2)) for i in range(1, 5))
    root = function(np.sqrt, add(variance, np.asarray(node.attribute("epsilon", 1e-5)), unit), unit)
    if folded:
        factor = divide(scale, root, unit)
        y = add(multiply(x, factor, unit), subtract(b, multiply(mean, factor, unit), unit), unit)
    else:
        y = add(multiply(divide(subtract(x, mean, unit), root, unit), scale, unit), b, unit)
    return [store(y, node.output_types[0], unit)]


def _functions(f: Callable[[Array], Array], ulps: float) -> dict[str, Implementation]:
    return {"rounded": functools.partial(unary, f=f), "library": functools.partial(unary, f=f, ulps=ulps)}


IMPLEMENTATIONS: dict[str, dict[str, Implementation]] = {
    "Add": {"plain": functools.partial(binary, operation=add)},
    "BatchNormalization": {"plain": batch_normalization, "folded": functools.partial(batch_normalization, folded=True)},
    "Div": {"plain": functools.partial(binary, operation=divide)},
    "Elu": {way: functools.partial(elu, way=way) for way in ("expm1", "exp")},
    "Exp": _functions(np.exp, 1.0),
    "Gelu": {"plain": gelu, "halved first": functools.partial(gelu, halved_first=True)},
    "LeakyRelu": {"plain": leaky},
    "Mul": {"plain": functools.partial(binary, operation=multiply)},
    "Neg": {"plain": functools.partial(unary, f=np.negative)},
    "Relu": {"plain": leaky, "NaN loses": functools.partial(leaky, maximum=np.fmax)},
    "Round": {"plain": functools.partial(unary, f=np.rint)},
    "Sigmoid": {way: functools.partial(sigmoid, way=way) for way in ("one-sided", "two-sided", "tanh")},
    "Sub": {"plain": functools.partial(binary, operation=subtract)},
    "Tanh": _functions(np.tanh, 1.0),
}
"""Operator → algorithm → implementation."""
