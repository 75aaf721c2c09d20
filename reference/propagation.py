"""How rounding errors travel through a whole graph: the variance of every tensor's error, to first order.

Worst-case bounds grow without use from node to node (docs/numerics.md), so errors are taken as independent and unbiased: a
node adds its own variance to what its inputs bring along. Sums of products carry variances through the same operator applied
to squares; every other operator is differentiated along random signs, Var y = E[(J·(√Var x ∘ r))²] with r = ±1, which is exact
where each output depends on one element of each input (Hutchinson, Communications in Statistics 19, 1990).
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import onnx

from reference import dtypes, evaluator, magnitudes
from reference.node import Array, Node

ROUNDING = 0.18
"""Mean square of a rounding error in units of (u·|y|)²: uniform over half an ulp, significands logarithmic."""

PROBES = 16
"""Sign patterns for each input; the relative standard error of an element's variance is about √(2/PROBES)."""

MOVES = frozenset(
    [
        "Abs",
        "Clip",
        "Compress",
        "Concat",
        "DepthToSpace",
        "Dropout",
        "Expand",
        "Flatten",
        "Gather",
        "GatherElements",
        "GatherND",
        "GlobalMaxPool",
        "Identity",
        "Max",
        "MaxPool",
        "Min",
        "Neg",
        "Pad",
        "ReduceMax",
        "ReduceMin",
        "Relu",
        "Reshape",
        "ReverseSequence",
        "Slice",
        "SpaceToDepth",
        "Split",
        "Squeeze",
        "Tile",
        "Transpose",
        "Trilu",
        "Unsqueeze",
        "Where",
    ]
)
"""Operators whose results are elements of their inputs, up to the sign: they round nothing."""

ROUNDED_ONCE = frozenset(["Add", "Sub", "Mul", "Div", "Sqrt", "Reciprocal", "Cast", "CastLike", "DequantizeLinear"])
"""Operators that IEEE 754 rounds correctly: only the result is rounded."""

ONE_TO_ONE = MOVES | ROUNDED_ONCE | frozenset(["Erf", "Exp", "Gelu", "LeakyRelu", "Log", "Pow", "Sigmoid", "Swish", "Tanh"])
"""Operators whose output elements depend on one element of each input: signs do not matter, one probe is exact."""


def variances(model: onnx.ModelProto, feeds: Mapping[str, Any], *, accumulator: str = "float32") -> dict[str, Array]:
    """Tensor name → variance of its error, float64 of the tensor's shape, for every tensor of the main graph.

    accumulator: format of sums and functions inside a node (float64 tensors take float64); results are rounded to their own
    type. Feeds and initialisers have no error. For integers the variance is in units of the integer; where a requantised
    tensor's error cannot be followed (an integer operator that is no data movement), it is NaN. Raises EvaluationError.
    """
    known: dict[str, Array] = {}
    for step in evaluator.steps(model, feeds):
        node = Node.evaluated(step)
        brought = [known.get(name) if name else None for name in step.call.inputs]
        for name, variance in zip(node.output_names, _of_node(node, brought, accumulator), strict=True):
            known[name] = variance
    return known


def _of_node(node: Node, brought: Sequence[Array | None], accumulator: str) -> list[Array]:
    """The variance of every output."""
    shapes = [np.shape(value) for value in node.results]
    if any(not isinstance(value, np.ndarray) for value in node.results):
        return [np.full((), np.nan) for _ in shapes]
    if all(v is None or not np.any(v) for v in brought) and not any(dtypes.is_float(t) for t in node.output_types):
        return [np.zeros(shape) for shape in shapes]
    with np.errstate(all="ignore"):
        if node.operator in SUMS:
            total = [SUMS[node.operator](node, brought)]
            total[0] = total[0] + _own_of_sum(node, accumulator)
        elif node.operator in ("QuantizeLinear", "DynamicQuantizeLinear") or dtypes.is_integer(node.output_types[0]):
            total = _requantised(node, brought)
        else:
            total = _differentiated(node, brought, accumulator)
    return [np.broadcast_to(v, shape) for v, shape in zip(total, shapes, strict=True)]


def _unit(kind: str, accumulator: str) -> float:
    """Unit roundoff inside a node that computes values of type `kind`."""
    return dtypes.FLOATS["float64" if kind == "float64" else accumulator].unit_roundoff


def _stored(node: Node, i: int) -> Array:
    """Variance of rounding output i to its type."""
    kind = node.output_types[i]
    if not dtypes.is_float(kind):
        return np.zeros(())
    return np.asarray(ROUNDING * (dtypes.FLOATS[kind].unit_roundoff * node.results[i].astype(np.float64)) ** 2)


def _own_of_sum(node: Node, accumulator: str) -> Array:
    """Variance that a sum of products adds itself: NUMERICS' tier 2, for the worst order of summation."""
    sizes = magnitudes.of(node)
    assert sizes is not None
    s = node.results[0].astype(np.float64)
    partial_sums = (sizes.terms + 1) * (sizes.Q + 2 * s * s) / 6
    inside = ROUNDING * _unit(node.output_types[0], accumulator) ** 2 * partial_sums
    return np.asarray(inside + _stored(node, 0))


def _product(node: Node, brought: Sequence[Array | None]) -> Array:
    """Conv, ConvTranspose, MatMul, Gemm, Einsum: Var(Σab) = Σ(Var a·b² + a²·Var b), plus a bias's own."""
    scale = {name: float(node.attribute(name, 1.0)) ** 2 for name in ("alpha", "beta") if node.operator == "Gemm"}
    operands = len(node.inputs) if node.operator == "Einsum" else 2
    squares = [None if x is None else x.astype(np.float64) ** 2 for x in node.inputs]
    nothing = [None if x is None else np.zeros_like(x, np.float64) for x in squares]
    total = np.zeros(node.results[0].shape)
    for i, variance in enumerate(brought):
        if variance is None or not np.any(variance):
            continue
        inputs = [*squares[:operands], *nothing[operands:]] if i < operands else list(nothing)
        inputs[i] = np.asarray(variance)
        total = total + node.again(inputs, **scale)[0]
    return total


def _sum(node: Node, brought: Sequence[Array | None]) -> Array:
    """ReduceSum and CumSum: the variances' own sum; means: divided by their divisor once more."""
    variance = brought[0]
    if variance is None:
        return np.zeros(node.results[0].shape)
    total = node.again([variance, *node.inputs[1:]])[0]
    if node.operator in ("ReduceSum", "CumSum"):
        return total
    sizes = magnitudes.of(node)
    assert sizes is not None
    # A mean of ones is terms/divisor: less than 1 where padding counts.
    ones = node.again([np.ones_like(node.real(0)), *node.inputs[1:]])[0]
    return np.asarray(total * ones / sizes.terms)


SUMS: Mapping[str, Callable[[Node, Sequence[Array | None]], Array]] = {
    "AveragePool": _sum,
    "Conv": _product,
    "ConvTranspose": _product,
    "CumSum": _sum,
    "Einsum": _product,
    "Gemm": _product,
    "GlobalAveragePool": _sum,
    "MatMul": _product,
    "ReduceMean": _sum,
    "ReduceSum": _sum,
}
"""Operators whose outputs are sums over many elements: their variances are exact."""


def _requantised(node: Node, brought: Sequence[Array | None]) -> list[Array]:
    """Rounding to integers turns a small error σ into a step of 1 with probability E|error| = σ·√(2/π)."""
    unknown = [np.full(v.shape, np.nan) for v in node.results]
    if node.operator in MOVES:
        moved = [x if v is None else v for x, v in zip(node.inputs, brought, strict=True)]
        return list(node.again(moved))
    if node.operator not in ("QuantizeLinear", "DynamicQuantizeLinear"):
        return unknown
    variance = np.zeros(()) if brought[0] is None else brought[0]
    scale = node.real(1) if node.operator == "QuantizeLinear" else node.results[1]
    if scale.size != 1:
        shape = [1] * node.results[0].ndim
        axis = int(node.attribute("axis", 1))
        if scale.ndim != 1:
            return unknown
        shape[axis] = scale.size
        scale = scale.reshape(shape)
    sigma = np.sqrt(variance) / scale
    rounded = np.maximum(sigma**2, np.sqrt(2 / np.pi) * sigma)
    return [np.broadcast_to(rounded, node.results[0].shape), *[np.zeros(v.shape) for v in node.results[1:]]]


def _signs(shape: tuple[int, ...], *key: Any) -> Array:
    """±1 for each element, the same in every process and NumPy version."""
    digest = hashlib.blake2b(repr(key).encode(), digest_size=16).digest()
    count = int(np.prod(shape))
    words = np.random.Philox(key=np.frombuffer(digest, "<u8")).random_raw(max(1, -(-count // 64))).astype("<u8")
    bits = np.unpackbits(words.view(np.uint8))[:count].reshape(shape)
    return np.asarray(2.0 * bits - 1.0)


def _differentiated(node: Node, brought: Sequence[Array | None], accumulator: str) -> list[Array]:
    """Variances along random signs, each input by itself; an operator that rounds inside is taken as one that computes
    exactly from inputs rounded once more (backward stable)."""
    total = [np.zeros(v.shape) + _stored(node, i) for i, v in enumerate(node.results)]
    unit = _unit(node.output_types[0], accumulator)
    exact = node.operator in MOVES or node.operator in ROUNDED_ONCE
    total = [np.zeros(v.shape) for v in node.results] if node.operator in MOVES else total
    for i, (x, kind) in enumerate(zip(node.inputs, node.types, strict=True)):
        if x is None or kind is None or not (dtypes.is_float(kind) or brought[i] is not None):
            continue
        real = np.asarray(x, np.float64)
        variance = np.zeros(real.shape) if brought[i] is None else np.asarray(brought[i], np.float64)
        if not exact:
            variance = variance + ROUNDING * (unit * real) ** 2
        if not np.any(variance):
            continue
        for k, gained in enumerate(_gain(node, i, real, variance)):
            total[k] = total[k] + gained
    return total


def _gain(node: Node, i: int, x: Array, variance: Array) -> list[Array]:
    """What the variance of input i gives to each output."""
    step = np.sqrt(variance)
    # So large that float64's own rounding does not show in the difference, so small that the operator is linear.
    scale = 2.0**-26 * np.sqrt(np.nanmean(x * x)) / np.sqrt(np.nanmean(variance)) if np.any(x) else 1.0
    gains = [np.zeros(v.shape) for v in node.results]
    probes = 1 if node.operator in ONE_TO_ONE else PROBES
    for p in range(probes):
        moved = step * scale * _signs(x.shape, node.output_names, i, p)
        ends = [node.again([*node.inputs[:i], end, *node.inputs[i + 1 :]]) for end in (x + moved, x - moved)]
        for k, (high, low) in enumerate(zip(*ends, strict=True)):
            if high.dtype.kind == "f":
                gains[k] = gains[k] + ((high - low) / (2 * scale)) ** 2 / probes
    return gains
