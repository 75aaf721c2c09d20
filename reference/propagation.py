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
import onnx.inliner

from reference import dtypes, evaluator, magnitudes
from reference.evaluator import EvaluationError
from reference.node import Array, Node
from reference.ops.quantization import spread

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

CHOICES = frozenset(["Clip", "Concat", "Max", "Min", "Where"])
"""Operators among them whose further inputs are data too."""

BY_VALUE = frozenset(["Clip", "GlobalMaxPool", "Max", "MaxPool", "Min", "ReduceMax", "ReduceMin", "Relu"])
"""Operators among them that choose by value: applied to variances, they would choose otherwise."""

ROUNDED_ONCE = frozenset(["Add", "Sub", "Mul", "Div", "Sqrt", "Reciprocal", "Cast", "CastLike", "DequantizeLinear"])
"""Operators that IEEE 754 rounds correctly: only the result is rounded."""

ONE_TO_ONE = MOVES | ROUNDED_ONCE | frozenset(["Erf", "Exp", "Gelu", "LeakyRelu", "Log", "Pow", "Sigmoid", "Swish", "Tanh"])
"""Operators whose output elements depend on one element of each input: signs do not matter, one probe is exact."""

SHAPED_BY_THE_REST = frozenset(["Range", "Resize", "Upsample"])
"""Operators whose further floating-point inputs say how many elements there are: only the first is data (Range: none)."""

WITH_BODIES = frozenset(["If", "Loop", "Scan", "SequenceMap"])
"""Operators that evaluate subgraphs, whose errors are not followed."""


def _contracted(node: Node) -> float:
    """The length that FusedMatMul sums over."""
    shape = node.real(0).shape
    return float(shape[-2] if node.attribute("transA", 0) and len(shape) > 1 else shape[-1])


def _attended(node: Node) -> float:
    """The longest sums of attention: over the elements of a head, and over the keys."""
    keys = node.results[1] if len(node.results) > 1 and node.results[1].ndim == 4 else node.real(1)
    heads = node.attribute("num_heads", node.attribute("q_num_heads", 1))
    query = node.real(0)
    return float(max(query.shape[-1] // (1 if query.ndim == 4 else heads), keys.shape[-2]))


INNER_TERMS: Mapping[str, Callable[[Node], float]] = {
    "Attention": _attended,
    "DFT": lambda node: float(max(node.real(0).shape)),
    "DeformConv": lambda node: float(np.prod(node.real(1).shape[1:])),
    "FusedConv": lambda node: float(np.prod(node.real(1).shape[1:])),
    "FusedMatMul": _contracted,
    "GroupQueryAttention": _attended,
    **dict.fromkeys(("GRU", "LSTM", "RNN"), lambda node: float(node.real(1).shape[2] + node.real(2).shape[2])),
    **dict.fromkeys(("Resize", "Upsample"), lambda node: float(max(node.real(0).shape, default=1)) ** 2),  # of coordinates
    "MatMulNBits": lambda node: float(node.attributes["K"]),
    "MultiHeadAttention": _attended,
    "ReduceL2": lambda node: (node.real(0).size / max(1, node.results[0].size)) ** 2,  # all terms have one sign
    "STFT": lambda node: float(node.real(2).size if node.given(2) else node.real(0).shape[1]),
}
"""Operator → terms of the longest sum inside it. A chain of K random terms has (K + 1)/4 times the variance
of its operands' rounding (NUMERICS' tier 2: (K + 1)(Q + 2S²)/6 with S² = Q, against 2Q);
an error that is a multiple of a length counts as its square."""


def variances(model: onnx.ModelProto, feeds: Mapping[str, Any], *, accumulator: str = "float32") -> dict[str, Array]:
    """Tensor name → variance of its error, float64 of the tensor's shape, for every tensor of the main graph; functions of the
    model are followed inside.

    accumulator: format of sums and functions inside a node (float64 tensors take float64); results are rounded to their own
    type. Feeds and initialisers have no error. For integers the variance is in units of the integer. NaN where the error
    cannot be followed: behind If, Loop and Scan, in sequences, behind integer operators that are no data movement (a
    requantised product), and where the number of elements depends on values. Raises EvaluationError.
    """
    if accumulator not in dtypes.FLOATS:
        raise EvaluationError(f"accumulator is a floating-point format ({', '.join(dtypes.FLOATS)}), not {accumulator!r}")
    known: dict[str, Array] = {}
    flat = onnx.inliner.inline_local_functions(model) if isinstance(model, onnx.ModelProto) and model.functions else model
    for step in evaluator.steps(flat, feeds):
        node = Node.evaluated(step)
        brought = [known.get(name) if name else None for name in step.call.inputs]
        for name, variance in zip(node.output_names, _of_node(node, brought, accumulator), strict=True):
            if name:
                known[name] = variance
    return known


def _of_node(node: Node, brought: Sequence[Array | None], accumulator: str) -> list[Array]:
    """The variance of every output."""
    unknown = [np.full(v.shape if isinstance(v, np.ndarray) else (), np.nan) for v in node.results]
    tensors = [*(x for x in node.inputs if x is not None), *node.results]
    if node.operator in WITH_BODIES or not all(isinstance(x, np.ndarray) for x in tensors):
        return unknown
    exact = [v is None or not np.any(v) for v in brought]
    if all(exact) and not any(dtypes.is_float(t) for t in node.output_types):
        return [np.zeros(v.shape) for v in node.results]
    if any(not e and not _is_data(node, i) for i, e in enumerate(exact)):
        return unknown  # a shape, an index or a count that may be wrong
    if any(v is not None and np.isnan(v).any() for v in brought) and node.operator not in MOVES:
        return unknown
    with np.errstate(all="ignore"):
        if node.operator in SUMS:
            sizes = magnitudes.of(node)
            assert sizes is not None
            total = [
                SUMS[node.operator](node, brought) + _own_of_sum(node, sizes, accumulator) + _stored(node, 0),
                *unknown[1:],
            ]
        elif node.operator in ("QuantizeLinear", "DynamicQuantizeLinear") or dtypes.is_integer(node.output_types[0]):
            total = _requantised(node, brought, accumulator)
        else:
            total = _differentiated(node, brought, accumulator)
    return [np.broadcast_to(v, value.shape) for v, value in zip(total, node.results, strict=True)]


def _is_data(node: Node, i: int) -> bool:
    """Whether an error of input i is an error of the values, not of where they go or how many there are."""
    kind = node.types[i]
    if node.operator in ("Pad", "Where"):
        return i in ((0, 2) if node.operator == "Pad" else (1, 2))
    if node.operator in MOVES and node.operator not in CHOICES:
        return i == 0
    if node.operator in SHAPED_BY_THE_REST:
        return i == 0 and node.operator != "Range"
    if kind is None or dtypes.is_float(kind):
        return True
    return node.operator in CHOICES or node.operator in ("Cast", "CastLike", "DequantizeLinear")


def _unit(kind: str, accumulator: str) -> float:
    """Unit roundoff inside a node that computes values of type `kind`."""
    return dtypes.FLOATS["float64" if kind == "float64" else accumulator].unit_roundoff


def _stored(node: Node, i: int) -> Array:
    """Variance of rounding output i to its type."""
    kind = node.output_types[i]
    if not dtypes.is_float(kind):
        return np.zeros(())
    return np.asarray(ROUNDING * (dtypes.FLOATS[kind].unit_roundoff * node.results[i].astype(np.float64)) ** 2)


def _own_of_sum(node: Node, sizes: magnitudes.Magnitudes, accumulator: str) -> Array:
    """Variance of a sum of products before it is stored: NUMERICS' tier 2, for the worst order of summation."""
    s = node.results[0].astype(np.float64)
    partial_sums = (sizes.terms + 1) * (sizes.Q + 2 * s * s) / 6
    return np.asarray(ROUNDING * _unit(node.output_types[0], accumulator) ** 2 * partial_sums)


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


def _requantised(node: Node, brought: Sequence[Array | None], accumulator: str) -> list[Array]:
    """Rounding to a step s turns a small error σ into a whole step with probability E|error|/s, E|error| = σ·√(2/π)."""
    if node.operator in MOVES - BY_VALUE:
        moved = [
            x if x is None or not _is_data(node, i) else np.zeros(x.shape) if v is None else np.asarray(v)
            for i, (x, v) in enumerate(zip(node.inputs, brought, strict=True))
        ]
        return [np.abs(v) for v in node.again(moved)]
    if node.operator not in ("QuantizeLinear", "DynamicQuantizeLinear"):
        return [np.full(v.shape, np.nan) for v in node.results]
    variance = np.zeros(()) if brought[0] is None else brought[0]
    if node.operator == "QuantizeLinear":
        scale = spread(node.real(1), node.real(0).shape, int(node.attribute("axis", 1)), int(node.attribute("block_size", 0)))
        rest = []
    else:
        scale = node.results[1]
        rest = [_differentiated(node, brought, accumulator)[1], np.zeros(())]
    kind = node.output_types[0]
    size = dtypes.quantum(node.results[0], kind) if dtypes.is_float(kind) else 1.0
    sigma = np.sqrt(variance) / scale
    return [np.maximum(sigma**2, np.sqrt(2 / np.pi) * sigma * size), *rest]


def _signs(shape: tuple[int, ...], *key: Any) -> Array:
    """±1 for each element, the same in every process and NumPy version."""
    digest = hashlib.blake2b(repr(key).encode(), digest_size=16).digest()
    count = int(np.prod(shape))
    words = np.random.Philox(key=np.frombuffer(digest, "<u8")).random_raw(max(1, -(-count // 64))).astype("<u8")
    bits = np.unpackbits(words.view(np.uint8))[:count].reshape(shape)
    return np.asarray(2.0 * bits - 1.0)


def _differentiated(node: Node, brought: Sequence[Array | None], accumulator: str) -> list[Array]:
    """Variances along random signs, each input by itself, and what the node adds: as a sum of products does where it has
    magnitudes; else an operator that rounds inside is taken as one that computes exactly from inputs rounded once more
    (backward stable), as often as its inner sums are long."""
    unit = _unit(node.output_types[0], accumulator)
    inside = INNER_TERMS.get(node.operator)
    sizes = magnitudes.of(node) if inside is None and node.operator not in MOVES else None
    longer = 1.0 if inside is None else max(1.0, (inside(node) + 1) / 4)
    exact = sizes is not None or node.operator in MOVES or node.operator in ROUNDED_ONCE
    total = [
        np.zeros(v.shape) if node.operator in MOVES else np.zeros(v.shape) + _stored(node, i)
        for i, v in enumerate(node.results)
    ]
    if sizes is not None:
        total[0] = total[0] + _own_of_sum(node, sizes, accumulator)
    for i, (x, kind) in enumerate(zip(node.inputs, node.types, strict=True)):
        if x is None or kind is None or not (dtypes.is_float(kind) or brought[i] is not None) or not _is_data(node, i):
            continue
        real = np.asarray(x, np.float64)
        variance = np.zeros(real.shape) if brought[i] is None else np.asarray(brought[i], np.float64)
        if not exact:
            variance = variance + longer * ROUNDING * (unit * real) ** 2
        if not np.any(variance):
            continue
        for k, gained in enumerate(_gain(node, i, real, variance)):
            total[k] = total[k] + gained
    return total


def _gain(node: Node, i: int, x: Array, variance: Array) -> list[Array]:
    """What the variance of input i gives to each output; NaN where a moved input changes the number of elements."""
    step = np.sqrt(variance)
    finite = np.isfinite(x) & np.isfinite(variance)
    largest = np.sqrt(np.mean(variance, where=finite)) if finite.any() else 0.0
    # So large that float64's own rounding does not show in the difference, so small that the operator is linear.
    scale = 2.0**-26 * np.sqrt(np.mean(x * x, where=finite)) / largest if largest > 0 and np.any(x) else 1.0
    gains = [np.zeros(v.shape) for v in node.results]
    probes = 1 if node.operator in ONE_TO_ONE else PROBES
    for p in range(probes):
        moved = step * scale * _signs(x.shape, node.output_names, i, p)
        ends = [node.again([*node.inputs[:i], end, *node.inputs[i + 1 :]]) for end in (x + moved, x - moved)]
        for k, (high, low) in enumerate(zip(*ends, strict=True)):
            if high.shape != gains[k].shape or low.shape != gains[k].shape:
                gains[k] = np.full(gains[k].shape, np.nan)
            elif high.dtype.kind == "f":
                gains[k] = gains[k] + ((high - low) / (2 * scale)) ** 2 / probes
    return gains
