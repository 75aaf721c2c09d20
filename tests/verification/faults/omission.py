"""Faults of extent: what is left out, done twice, or done only for a part of the tensor."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from reference import dtypes
from reference.node import Array, Node
from reference.verify import modes
from reference.verify.arithmetic import RUNGS
from reference.verify.setting import Setting
from tests.verification.correct.windows import columns
from tests.verification.faults.kind import Fault, again, data, on, right, typed, with_first

Random = np.random.Generator
BIAS = {
    "BatchNormalization": 2, "Conv": 2, "ConvTranspose": 2, "GRU": 3, "Gemm": 2, "GroupNormalization": 2,
    "InstanceNormalization": 2, "LSTM": 3, "LayerNormalization": 2, "QLinearConv": 8, "RNN": 3,
}  # fmt: skip
MANY = (
    "Add", "AveragePool", "Cast", "Clip", "Concat", "Conv", "ConvInteger", "ConvTranspose", "DynamicQuantizeLinear", "Einsum",
    "Erf", "Expand", "GRU", "Gather", "GatherElements", "GatherND", "Gemm", "GlobalAveragePool", "GlobalMaxPool", "GridSample",
    "GroupNormalization", "HardSigmoid", "HardSwish", "InstanceNormalization", "LRN", "LSTM", "LayerNormalization", "Log",
    "LpNormalization", "LpPool", "MatMul", "Max", "MaxPool", "PRelu", "Pad", "QLinearConv", "QuantizeLinear", "RNN",
    "Reciprocal", "ReduceL2", "ReduceLogSumExp", "ReduceMax", "ReduceSum", "Resize", "RotaryEmbedding", "ScatterElements",
    "ScatterND", "Selu", "Sin", "Softmax", "Softplus", "SpaceToDepth", "Sqrt", "Tanh", "Tile", "Transpose", "Trilu", "Where",
)  # fmt: skip
CHANNELS = (
    "Add", "AveragePool", "BatchNormalization", "Conv", "ConvTranspose", "GridSample", "GroupNormalization",
    "InstanceNormalization", "LRN", "LpPool", "MaxPool", "PRelu", "QLinearConv", "Resize",
)  # fmt: skip
BATCHES = (*CHANNELS, "Attention", "MatMul")
REDUCTIONS = ("ReduceL2", "ReduceMean", "ReduceSum", "ReduceSumSquare")
LINEAR = ("Conv", "ConvTranspose", "Einsum", "Gemm", "MatMul", "ReduceMean", "ReduceSum")


def _without_bias(node: Node, rng: Random) -> list[Array]:
    i = BIAS[node.operator]
    return again(node, {i: np.zeros_like(data(node, i))})


def _scaled_term(node: Node, which: int, factor: float) -> list[Array]:
    """The first (0) or last (−1) term of each sum times a factor: 0 leaves it out, 2 adds it twice."""
    if node.operator in REDUCTIONS:
        x = data(node).copy()
        x[tuple(which if a in {int(i) % x.ndim for i in node.real(1)} else slice(None) for a in range(x.ndim))] *= factor
        return again(node, {0: x})
    index, place = {
        "Conv": (1, (slice(None), which, which, which)),
        "ConvTranspose": (1, (which, slice(None), which, which)),
        "Gemm": (0, (which, slice(None)) if node.attribute("transA", 0) else (slice(None), which)),
        "Einsum": (0, (..., which)),
        "MatMul": (0, (..., which)),
    }[node.operator]
    operand = data(node, index).copy()
    operand[place] *= factor
    return again(node, {index: operand})


def _term_without_last_key(node: Node, rng: Random) -> list[Array]:
    return again(node, {1: data(node, 1)[:, :, :-1], 2: data(node, 2)[:, :, :-1]})


def _window_without_last(node: Node, rng: Random) -> list[Array]:
    found = columns(node, data(node), tuple(node.attributes["kernel_shape"]))
    count = (found.padded if node.attribute("count_include_pad", 0) else found.data).sum(0)
    return with_first(node, typed(node, [found.values[:, :, :-1].sum(2) / count])[0])


def _denominator_without_last(node: Node, rng: Random) -> list[Array]:
    axis = node.attribute("axis", -1)
    y = node.results[0]
    last = np.take(y, [-1], axis)
    with np.errstate(all="ignore"):
        return typed(node, [np.where(last < 1, y / (1 - last), y)])


def _zero_point_term(node: Node, rng: Random) -> list[Array]:
    a = data(node).copy()
    a[:, -1] = data(node, 2)
    return again(node, {0: a})


def _overwritten(place: tuple[Any, ...], value: float = 0.0) -> Any:
    """A part of the first output that nobody computes holds zeros."""

    def perform(node: Node, rng: Random) -> list[Array]:
        y = right(node)[0].copy()
        y[place] = value
        return with_first(node, y)

    return perform


def _channel_dropped(node: Node, rng: Random) -> list[Array]:
    y = right(node)[0].copy()
    y[:, int(rng.integers(y.shape[1]))] = 0
    return with_first(node, y)


def _tail(node: Node, rng: Random, rows: bool, repeated: bool) -> list[Array]:
    """Elements beyond the last whole vector of eight, of the tensor or of each row: zeros, or what came eight before."""
    y = right(node)[0].copy()
    flat = y if rows else y.reshape(1, -1)
    start = flat.shape[-1] // 8 * 8
    tail = flat.shape[-1] - start
    flat[..., start:] = flat[..., start - 8 : start - 8 + tail] if repeated else 0
    return with_first(node, flat)


def _has_tail(node: Node, rows: bool) -> bool:
    y = node.results[0]
    length = y.shape[-1] if rows and y.ndim else y.size
    return length > 8 and length % 8 > (1 if rows else 0) and (not rows or y.ndim > 1)


def _first_only(node: Node, rng: Random, axis: int, repeated: bool) -> list[Array]:
    y = right(node)[0].copy()
    later = (slice(None),) * axis + (slice(1, None),)
    y[later] = y[(slice(None),) * axis + (slice(0, 1),)] if repeated else 0
    return with_first(node, y)


def _longer(axis: int) -> Any:
    return lambda node: node.results[0].ndim >= 3 and node.results[0].shape[axis] > 1


def _beyond_bound(node: Node, rng: Random) -> list[Array]:
    """One element is an ulp beyond the largest error that is allowed to a float32 unit, or an integer step."""
    y = right(node)[0].copy()
    i = int(rng.integers(y.size))
    if not dtypes.is_float(node.output_types[0]):
        y.flat[i] += np.asarray(1 if y.flat[i] < 100 else -1).astype(y.dtype)
        return with_first(node, y)
    dtype, exact = node.output_types[0], float(node.results[0].flat[i])
    error = 0.0
    if node.operator in modes.BOUNDS:
        bound = modes.BOUNDS[node.operator](node, Setting(RUNGS["fp64" if dtype == "float64" else "fp32"], dtype))[0]
        error = float(np.broadcast_to(bound, node.results[0].shape).flat[i])
    if not np.isfinite(error):
        return with_first(node, y)
    step = float(dtypes.quantum(np.asarray(abs(exact) + error), dtype))
    y.flat[i] = dtypes.cast(np.asarray(exact + np.copysign(error * (1 + 2.0**-20) + 1.5 * step, exact)), dtype)
    return with_first(node, y)


def _wild(node: Node, rng: Random) -> list[Array]:
    """One element is far away."""
    y = right(node)[0].copy()
    i = int(rng.integers(y.size))
    if dtypes.is_float(node.output_types[0]):
        y.flat[i] = dtypes.cast(np.asarray(-3.0 * float(node.results[0].flat[i]) - 1.0), node.output_types[0])
    else:
        y.flat[i] = y.flat[i] ^ np.asarray(64, y.dtype)
    return with_first(node, y)


def _stale(node: Node, rng: Random) -> list[Array]:
    """The output of other data of the same kind: the first input in another order."""
    x = data(node)
    return again(node, {0: rng.permutation(x.reshape(-1)).reshape(x.shape)})


def _bytes(node: Node, rng: Random, pattern: int | None) -> list[Array]:
    """Memory as it was: one byte repeated, or anything."""
    y = right(node)[0]
    held = rng.integers(0, 256, y.nbytes, np.uint8) if pattern is None else np.full(y.nbytes, pattern, np.uint8)
    return with_first(node, held.view(y.dtype).reshape(y.shape))


def _matrix(node: Node) -> bool:
    return node.results[0].ndim >= 2 and min(node.results[0].shape[-2:]) > 1


def _part(name: str, cause: str, when: Any, operators: tuple[str, ...], perform: Any) -> Fault:
    return Fault(name, (cause,), "tier 1", on(*operators, when=when), perform)


FAULTS: tuple[Fault, ...] = (
    Fault(
        "bias dropped", ("bias-dropped",), "tier 1", on(*BIAS, when=lambda n: n.given(BIAS[n.operator])), _without_bias
    ),
    Fault("last term dropped", ("term-dropped",), "tier 1", on(*LINEAR, "ReduceL2", "ReduceSumSquare"),
          lambda node, rng: _scaled_term(node, -1, 0.0)),
    Fault("first term dropped", ("term-dropped",), "tier 1", on(*LINEAR, "ReduceL2", "ReduceSumSquare"),
          lambda node, rng: _scaled_term(node, 0, 0.0)),
    Fault("last term of windows dropped", ("term-dropped",), "tier 1", on("AveragePool"), _window_without_last),
    Fault("last term of the denominator dropped", ("term-dropped",), "tier 1", on("Softmax"), _denominator_without_last),
    Fault("last key dropped", ("term-dropped",), "tier 1", on("Attention", when=lambda n: not n.attribute("is_causal", 0)),
          _term_without_last_key),
    Fault("last product of integers dropped", ("term-dropped",), "tier 1", on("QLinearMatMul"), _zero_point_term),
    Fault("last term duplicated", ("term-duplicated",), "tier 1", on(*LINEAR), lambda node, rng: _scaled_term(node, -1, 2.0)),
    Fault("first term duplicated", ("term-duplicated",), "tier 1", on(*LINEAR), lambda node, rng: _scaled_term(node, 0, 2.0)),
    _part("last row dropped", "row-dropped", _matrix, MANY, _overwritten((..., -1, slice(None)))),
    _part("last column dropped", "column-dropped", _matrix, MANY, _overwritten((..., -1))),
    Fault("channel dropped", ("channel-dropped", "row-dropped"), "tier 1",  # of three axes, the second may be that of rows
          on(*CHANNELS, when=_longer(1)), _channel_dropped),
    _part("tail is zero", "tail-wrong", functools.partial(_has_tail, rows=False), MANY,
          functools.partial(_tail, rows=False, repeated=False)),
    _part("tail is repeated", "tail-wrong", functools.partial(_has_tail, rows=False), MANY,
          functools.partial(_tail, rows=False, repeated=True)),
    _part("tail of rows is zero", "tail-wrong", functools.partial(_has_tail, rows=True), MANY,
          functools.partial(_tail, rows=True, repeated=False)),
    _part("tail of rows is repeated", "tail-wrong", functools.partial(_has_tail, rows=True), MANY,
          functools.partial(_tail, rows=True, repeated=True)),
    _part("later channels are zero", "later-channels", _longer(1), CHANNELS,
          functools.partial(_first_only, axis=1, repeated=False)),
    _part("later channels repeat the first", "later-channels", _longer(1), CHANNELS,
          functools.partial(_first_only, axis=1, repeated=True)),
    _part("later batches are zero", "later-batches", _longer(0), BATCHES,
          functools.partial(_first_only, axis=0, repeated=False)),
    _part("later batches repeat the first", "later-batches", _longer(0), BATCHES,
          functools.partial(_first_only, axis=0, repeated=True)),
    Fault("one element an ulp beyond its bound", ("wild-element",), "tier 1",
          on(*(o for o in MANY if o not in ("DynamicQuantizeLinear", "QLinearConv", "QuantizeLinear"))), _beyond_bound),
    Fault("one element far away", ("wild-element",), "tier 1", on(*MANY, "ArgMax", "Attention", "Less"), _wild),
    Fault("output of the run before", ("stale",), "tier 1", on(*MANY), _stale),
    Fault("output of zeros", ("uninitialised",), "tier 1", on(*MANY), functools.partial(_bytes, pattern=0)),
    Fault("output of one byte", ("uninitialised",), "tier 1", on(*MANY), functools.partial(_bytes, pattern=0xCD)),
    Fault("output of set bits", ("uninitialised", "nan-made"), "special",
          on(*MANY, when=lambda n: dtypes.is_float(n.output_types[0])), functools.partial(_bytes, pattern=0xFF)),
    Fault("output of any bytes", ("uninitialised",), "tier 1", on(*MANY), functools.partial(_bytes, pattern=None)),
)  # fmt: skip
"""What is missing, twice, or there in part only."""
