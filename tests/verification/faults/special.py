"""Faults of special values: NaN, infinities, zeros with a sign, subnormal numbers."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from reference import dtypes
from reference.dtypes import FLOATS
from reference.node import Array, Node
from tests.verification.faults.kind import Fault, data, on, right, typed, with_first

Random = np.random.Generator
REALS = (
    "Add", "AveragePool", "Concat", "Conv", "Einsum", "Erf", "Exp", "Expand", "Gather", "GatherElements", "MatMul", "MaxPool",
    "Mul", "Neg", "PRelu", "Relu", "ScatterElements", "Sin", "Softplus", "Sub", "Tanh", "Tile", "Transpose", "Where",
)  # fmt: skip
KEEPING_NAN = tuple(operator for operator in REALS if operator not in ("MaxPool", "Relu"))  # ONNX leaves those open
SIGNED = (
    "Concat", "Expand", "Gather", "GatherElements", "Neg", "Reshape", "ScatterND", "Slice", "Split", "Tile", "Transpose",
    "Trilu", "Where",
)  # fmt: skip
MOVED = tuple(operator for operator in SIGNED if operator != "Split")


def _holds(condition: Callable[[Array, Node], Array]) -> Callable[[Node], bool]:
    """Whether the right output is real and has such values."""

    def when(node: Node) -> bool:
        if not dtypes.is_float(node.output_types[0]):
            return False
        with np.errstate(all="ignore"):
            return bool(np.any(condition(right(node)[0].astype(np.float64), node)))

    return when


def _small(y: Array, node: Node) -> Array:
    return (y != 0) & (np.abs(y) < FLOATS[node.output_types[0]].smallest_normal)


def _nan(y: Array, node: Node) -> Array:
    return np.isnan(y)


def _infinite(y: Array, node: Node) -> Array:
    return np.isinf(y)


def _negative_zero(y: Array, node: Node) -> Array:
    return (y == 0) & np.signbit(y)


def _beyond_float16(y: Array, node: Node) -> Array:
    """Numbers that float16 does not hold, but those that may come of sums which overflow in the tensor's own type too."""
    return (np.abs(y) >= 65520) & (np.abs(y) <= FLOATS[node.output_types[0]].largest / 16)


def _replaced(
    where: Callable[[Array, Node], Array], by: Callable[[Array, Node], Array]
) -> Callable[[Node, Random], list[Array]]:
    def perform(node: Node, rng: Random) -> list[Array]:
        y = right(node)[0].astype(np.float64)
        with np.errstate(all="ignore"):
            return with_first(node, np.where(where(y, node), by(y, node), y).astype(right(node)[0].dtype))

    return perform


def _odd(y: Array, node: Node) -> Array:
    """Subnormal numbers in every second element only."""
    return _small(y, node) & (np.arange(y.size) % 2 == 1).reshape(y.shape)


def _unshifted(node: Node, rng: Random) -> list[Array]:
    """Softmax in single precision without the maximum subtracted: infinity by infinity is NaN."""
    x, axis = data(node).astype(np.float32), node.attribute("axis", -1)
    with np.errstate(all="ignore"):
        e = np.exp(x)
        y = e / e.sum(axis, keepdims=True, dtype=np.float32)
    return typed(node, [y.astype(np.float64)])


def _overflows(node: Node) -> bool:
    return node.types[0] == "float32" and bool(np.nanmax(data(node), initial=0.0) > 90)


def _largest(y: Array, node: Node) -> Array:
    return np.copysign(FLOATS[node.output_types[0]].largest, y)


def _fault(name: str, cause: str, operators: tuple[str, ...], where: Callable[[Array, Node], Array],
           by: Callable[[Array, Node], Array], recipes: tuple[str, ...]) -> Fault:  # fmt: skip
    return Fault(name, (cause,), "special", on(*operators, when=_holds(where)), _replaced(where, by), recipes)


FAULTS: tuple[Fault, ...] = (
    _fault("subnormal results are zero", "subnormals-flushed", MOVED, _small, lambda y, n: np.copysign(0.0, y), ("subnormal",)),
    _fault("subnormal results are zero in every second lane", "subnormals-flushed", REALS, _odd,
           lambda y, n: np.copysign(0.0, y), ("subnormal",)),
    _fault("NaN becomes 0", "nan-lost", KEEPING_NAN, _nan, lambda y, n: np.zeros_like(y), ("special",)),
    _fault("NaN becomes infinity", "nan-lost", KEEPING_NAN, _nan, lambda y, n: np.full_like(y, np.inf), ("special",)),
    Fault("softmax without its maximum", ("nan-made",), "special", on("Softmax", when=_overflows), _unshifted, ("wide",)),
    _fault("infinity becomes NaN", "nan-made", REALS, _infinite, lambda y, n: np.full_like(y, np.nan), ("special",)),
    _fault("infinity becomes the largest number", "infinity-clamped", REALS, _infinite, _largest, ("special",)),
    _fault("overflows beyond float16", "infinity-made", (*REALS, "ReduceSumSquare"), _beyond_float16,
           lambda y, n: np.copysign(np.inf, y), ("wide", "special")),
    _fault("zero loses its sign", "zero-sign-lost", SIGNED, _negative_zero, lambda y, n: np.zeros_like(y), ("special",)),
)  # fmt: skip
"""Special values that become others."""
