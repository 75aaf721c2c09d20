"""Which single-node models there are to be sampled: operator → variant → inputs and attributes.

Extents differ, are odd or prime, and no two axes agree, so that the data tells hypotheses apart; "square" variants have equal
axes where a fault would otherwise show in the shape alone.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from onnx import TensorProto

from reference.node import Array


@dataclasses.dataclass(frozen=True)
class Data:
    """An input that the recipe fills; the type is the sample's own unless given."""

    shape: tuple[int, ...]
    dtype: str | None = None


@dataclasses.dataclass(frozen=True)
class Positive:
    """Positive reals in the sample's type, uniform in [low, high): scales and variances; powers of two for lattices."""

    shape: tuple[int, ...]
    low: float = 0.5
    high: float = 1.5


Input = Data | Positive | Array
Inputs = Callable[[int], tuple[Input, ...]]


@dataclasses.dataclass(frozen=True)
class Specification:
    """inputs: size → inputs. size: the default one. outputs: types, None for the sample's own. terms: size → number of
    terms of a sum; factors: how many data meet in a term. gain: what reals are multiplied with."""

    inputs: Inputs
    size: int = 0
    attributes: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    outputs: tuple[str | None, ...] = (None,)
    terms: Callable[[int], int] = lambda k: k
    factors: int = 1
    gain: float = 1.0


def _integers(*values: int) -> Array:
    return np.array(values, np.int64)


def _matrix(**variants: Inputs) -> dict[str, Specification]:
    return {name: Specification(inputs, 33 if name == "square" else 64, factors=2) for name, inputs in variants.items()}


def _gemm() -> dict[str, Specification]:
    plain = _matrix(
        plain=lambda k: (Data((37, k)), Data((k, 31)), Data((31,))),
        bare=lambda k: (Data((37, k)), Data((k, 31))),
        square=lambda k: (Data((33, k)), Data((k, 33)), Data((33,))),
    )
    transposed = Specification(lambda k: (Data((37, k)), Data((31, k)), Data((31,))), 64, {"transB": 1}, factors=2)
    scaled = Specification(plain["plain"].inputs, 64, {"alpha": 0.7, "beta": 1.7}, factors=2)
    return {**plain, "transposed": transposed, "scaled": scaled}


def _conv(
    x: tuple[int, int, int],
    m: int = 7,
    kernel: tuple[int, int] = (3, 3),
    *,
    bias: bool = False,
    group: int = 1,
    **attributes: Any,
) -> Specification:
    """Conv of x (N, size/taps channels a group, H, W)."""
    n, h, w = x
    taps = kernel[0] * kernel[1]

    def inputs(k: int) -> tuple[Input, ...]:
        c = max(1, k // taps)
        return (Data((n, c * group, h, w)), Data((m, c, *kernel)), *([Data((m,))] if bias else []))

    given = {"kernel_shape": list(kernel), **({"group": group} if group > 1 else {}), **attributes}
    return Specification(inputs, 5 * taps, given, factors=2)


def _transposed(*, bias: bool = False, **attributes: Any) -> Specification:
    """ConvTranspose of x (2, size/9, 11, 10)."""

    def inputs(k: int) -> tuple[Input, ...]:
        c = max(1, k // 9)
        return (Data((2, c, 11, 10)), Data((c, 7, 3, 3)), *([Data((7,))] if bias else []))

    return Specification(inputs, 45, {"kernel_shape": [3, 3], **attributes}, factors=2)


def _pool(shape: tuple[int, ...], kernel: tuple[int, int] = (3, 2), **attributes: Any) -> Specification:
    terms = kernel[0] * kernel[1]
    return Specification(lambda k: (Data(shape),), 0, {"kernel_shape": list(kernel), **attributes}, terms=lambda k: terms)


def _pools(**more: Specification) -> dict[str, Specification]:
    return {
        "plain": _pool((2, 7, 19, 13)),
        "pads": _pool((2, 7, 19, 13), (3, 3), pads=[2, 0, 1, 1]),
        "strides": _pool((2, 7, 41, 37), strides=[2, 3]),
        "dilations": _pool((2, 7, 23, 19), dilations=[2, 3]),
        "ceil": _pool((2, 7, 20, 23), (3, 3), strides=[2, 3], ceil_mode=1),
        **more,
    }


def _along(rank: tuple[str, ...] = ("last", "middle", "negative", "square"), **attributes: Any) -> dict[str, Specification]:
    """Operators that work along one axis that an attribute names, and keep it."""
    known = {
        "last": Specification(lambda k: (Data((37, k)),), 41, {"axis": -1, **attributes}),
        "middle": Specification(lambda k: (Data((7, k, 17)),), 13, {"axis": 1, **attributes}),
        "negative": Specification(lambda k: (Data((7, k, 17)),), 13, {"axis": -2, **attributes}),
        "square": Specification(lambda k: (Data((7, k, k)),), 13, {"axis": 1, **attributes}),
    }
    return {name: known[name] for name in rank}


def _reduction(factors: int = 1) -> dict[str, Specification]:
    return {
        "middle": Specification(lambda k: (Data((37, k, 31)), _integers(1)), 64, {"keepdims": 1}, factors=factors),
        "last": Specification(lambda k: (Data((1147, k)), _integers(-1)), 64, {"keepdims": 0}, factors=factors),
        "square": Specification(lambda k: (Data((k, k, k)), _integers(1)), 33, {"keepdims": 0}, factors=factors),
        "negative": Specification(lambda k: (Data((k, k, k)), _integers(-2)), 33, {"keepdims": 0}, factors=factors),
    }


def _binary(second: type[Data] | type[Positive] = Data, first: type[Data] | type[Positive] = Data) -> dict[str, Specification]:
    return {
        "plain": Specification(lambda k: (first((3, 5, 11, 13)), second((3, 5, 11, 13))), factors=2),
        "broadcast": Specification(lambda k: (first((3, 5, 11, 13)), second((5, 1, 1))), factors=2),
        "square": Specification(lambda k: (first((7, 13, 13)), second((13, 1))), factors=2),
    }


def _element(gain: float = 1.0, **variants: Mapping[str, Any]) -> dict[str, Specification]:
    """Functions of one tensor; variants are attributes."""
    return {
        name: Specification(lambda k: (Data((5, 17, 19)),), 0, attributes, gain=gain)
        for name, attributes in (variants or {"plain": {}}).items()
    }


def _quantise(dtype: str, zero: int, channels: bool = False) -> Specification:
    count = (7,) if channels else ()
    scale = np.linspace(0.03, 0.11, 7, dtype=np.float32) if channels else np.float32(0.0437)
    zeros = (np.arange(7) * 3 + zero - 9 if channels else np.full(count, zero)).astype(dtype)
    inputs = (Data((3, 7, 11, 13), "float32"), np.asarray(scale), zeros)
    return Specification(lambda k: inputs, 0, {"axis": 1} if channels else {}, (dtype,), gain=2.0)


def _dequantise(dtype: str, channels: bool = False) -> Specification:
    _, scale, zeros = _quantise(dtype, 11, channels).inputs(0)
    return Specification(
        lambda k: (Data((3, 7, 11, 13), dtype), scale, zeros), 0, {"axis": 1} if channels else {}, ("float32",)
    )


def _qlinear_conv(channels: bool = False, bias: bool = False, **attributes: Any) -> Specification:
    """QLinearConv of uint8 x and int8 w; y's scale brings sums of size/9·9 products into its range."""

    def inputs(k: int) -> tuple[Input, ...]:
        c = max(1, k // 9)
        w_scale = np.linspace(0.011, 0.037, 7, dtype=np.float32) if channels else np.float32(0.0233)
        y_scale = np.float32(0.0233 * 0.0173 * 5400 * np.sqrt(9 * c) / 45)
        return (
            Data((2, c, 13, 11), "uint8"), np.array(0.0173, np.float32), np.array(119, np.uint8),
            Data((7, c, 3, 3), "int8"), np.asarray(w_scale), np.zeros(7 if channels else (), np.int8),
            np.array(y_scale), np.array(131, np.uint8),
            *([np.arange(-3000, 4000, 1000, dtype=np.int32)] if bias else []),
        )  # fmt: skip

    return Specification(inputs, 45, {"kernel_shape": [3, 3], **attributes}, ("uint8",))


def _qlinear_matmul(channels: bool = False) -> Specification:
    def inputs(k: int) -> tuple[Input, ...]:
        b_scale = np.linspace(0.011, 0.037, 31, dtype=np.float32) if channels else np.float32(0.0233)
        b_zero = (np.arange(31) - 15).astype(np.int8) if channels else np.int8(-7)
        y_scale = np.float32(0.0233 * 0.0173 * 5400 * np.sqrt(k) / 45)
        return (
            Data((37, k), "uint8"), np.array(0.0173, np.float32), np.array(119, np.uint8),
            Data((k, 31), "int8"), np.asarray(b_scale), np.asarray(b_zero),
            np.array(y_scale), np.array(131, np.uint8),
        )  # fmt: skip

    return Specification(inputs, 64, {}, ("uint8",))


def _resize(mode: str, **attributes: Any) -> Specification:
    inputs = (Data((2, 3, 13, 11)), np.zeros(0, np.float32), np.zeros(0, np.float32), _integers(2, 3, 29, 19))
    return Specification(lambda k: inputs, 0, {"mode": mode, **attributes})


def _layer(outputs: int = 1, gain: float = 1.0, bias: bool = True, **attributes: Any) -> Specification:
    def inputs(k: int) -> tuple[Input, ...]:
        return (Data((67, k)), Positive((k,)), *([Data((k,))] if bias else []))

    return Specification(inputs, 48, {"axis": -1, **attributes}, (None,) * outputs, gain=gain)


def _attention(**attributes: Any) -> Specification:
    return Specification(lambda k: (Data((2, 3, 17, k)), Data((2, 3, 23, k)), Data((2, 3, 23, k))), 16, attributes)


def _fixed(*inputs: Input, outputs: tuple[str | None, ...] = (None,), **attributes: Any) -> Specification:
    """A model whose extents do not depend on a size."""
    return Specification(lambda k: inputs, 0, attributes, outputs)


def _batch_norm() -> Specification:
    per_channel = (Positive((13,)), Data((13,)), Data((13,)), Positive((13,), 0.1, 2.0))
    return Specification(lambda k: (Data((3, 13, 7, 11)), *per_channel), 0, {"epsilon": 1e-2})


def _chosen(shape: tuple[int, ...], below: int, *, distinct: bool = False) -> Array:
    """Indices from 0 to below − 1, the same in every sample; no two alike along axis 0 where they are `distinct`."""
    rng = np.random.default_rng(below)
    if distinct:
        return np.asarray(np.argsort(rng.random((below, *shape[1:])), axis=0)[: shape[0]], np.int64)
    return rng.integers(0, below, shape)


def _recurrent(gates: int) -> Specification:
    """RNN, GRU, LSTM of 6 steps, 5 sequences and 17 hidden units, with all outputs but LSTM's last cell."""
    inputs = (
        Data((6, 5, 13)), Data((1, gates * 17, 13)), Data((1, gates * 17, 17)), Data((1, 2 * gates * 17)),
    )  # fmt: skip
    return Specification(lambda k: inputs, 0, {"hidden_size": 17}, (None, None), gain=0.5)


SPECIFICATIONS: dict[str, dict[str, Specification]] = {
    "Add": _binary(),
    "ArgMax": {n: dataclasses.replace(s, outputs=("int64",)) for n, s in _along(keepdims=0).items()},
    "Attention": {"plain": _attention(), "causal": _attention(is_causal=1), "scaled": _attention(scale=0.35)},
    "AveragePool": _pools(counted=_pool((2, 7, 19, 13), (3, 3), pads=[2, 0, 1, 1], count_include_pad=1)),
    "BatchNormalization": {"plain": _batch_norm()},
    "Cast": {
        "float16": _fixed(Data((5, 17, 19), "float32"), outputs=("float16",), to=TensorProto.FLOAT16),
        "bfloat16": _fixed(Data((5, 17, 19), "float32"), outputs=("bfloat16",), to=TensorProto.BFLOAT16),
        "int32": dataclasses.replace(
            _fixed(Data((5, 17, 19), "float32"), outputs=("int32",), to=TensorProto.INT32), gain=100.0
        ),
        "int8": _fixed(Data((5, 17, 19), "int32"), outputs=("int8",), to=TensorProto.INT8),
        "from_int8": _fixed(Data((5, 17, 19), "int8"), outputs=("float32",), to=TensorProto.FLOAT),
        "from_int4": _fixed(Data((5, 17, 19), "int4"), outputs=("float32",), to=TensorProto.FLOAT),
    },
    "Clip": {"plain": _fixed(Data((5, 17, 19)), Positive((), 0.1, 0.2), Positive((), 0.9, 1.0))},
    "Concat": {
        "middle": _fixed(Data((5, 7, 17)), Data((5, 5, 17)), Data((5, 6, 17)), axis=1),
        "negative": _fixed(Data((5, 7, 17)), Data((5, 5, 17)), axis=-2),
        "square": _fixed(Data((13, 13, 7)), Data((13, 13, 7)), axis=1),
    },
    "Conv": {
        "plain": _conv((2, 13, 11)),
        "oblong": _conv((2, 13, 11), kernel=(3, 2)),
        "bias": _conv((2, 13, 11), bias=True),
        "square": _conv((2, 13, 9), bias=True),
        "pads": _conv((2, 13, 11), pads=[1, 2, 2, 0]),
        "strides": _conv((2, 37, 41), strides=[2, 3]),
        "dilations": _conv((2, 17, 20), dilations=[2, 3]),
        "groups": _conv((2, 13, 11), 6, group=3),
        "pointwise": _conv((2, 13, 11), kernel=(1, 1)),
    },
    "ConvInteger": {
        "plain": _fixed(
            Data((2, 5, 13, 11), "uint8"), Data((7, 5, 3, 3), "int8"), np.array(119, np.uint8),
            kernel_shape=[3, 3], outputs=("int32",),
        ),
    },
    "ConvTranspose": {
        "plain": _transposed(),
        "bias": _transposed(bias=True),
        "pads": _transposed(pads=[1, 0, 0, 1]),
        "strides": _transposed(strides=[2, 3]),
        "dilations": _transposed(dilations=[2, 3]),
    },
    "CumSum": {
        "plain": _fixed(Data((7, 13, 17)), _integers(1)[0]),
        "exclusive": _fixed(Data((7, 13, 17)), _integers(1)[0], exclusive=1),
    },
    "DepthToSpace": {
        "plain": _fixed(Data((2, 12, 7, 11)), blocksize=2, mode="DCR"),
        "columns": _fixed(Data((2, 12, 7, 11)), blocksize=2, mode="CRD"),
    },
    "DequantizeLinear": {
        "plain": _dequantise("uint8"),
        "channels": _dequantise("uint8", channels=True),
        "signed": _dequantise("int8"),
        "int4": _fixed(Data((3, 7, 11, 14), "int4"), np.array(0.0437, np.float32), outputs=("float32",)),
        "uint4": _fixed(Data((3, 7, 11, 13), "uint4"), np.array(0.0437, np.float32), outputs=("float32",)),
    },
    "Div": _binary(Positive),
    "DynamicQuantizeLinear": {"plain": _fixed(Data((5, 17, 19), "float32"), outputs=("uint8", "float32", "uint8"))},
    "Einsum": {
        "plain": Specification(
            lambda k: (Data((7, 13, k)), Data((7, k, 11))), 64, {"equation": "bij,bjk->bik"}, factors=2
        ),
    },
    "Elu": _element(alpha={"alpha": 1.7}),
    "Erf": _element(),
    "Exp": _element(),
    "Expand": {"plain": _fixed(Data((5, 1, 13)), _integers(5, 9, 13))},
    "GRU": {"plain": _recurrent(3)},
    "Gather": {
        "middle": _fixed(Data((11, 13, 17)), _integers(5, 2, 12, 0, 7, 2, 9), axis=1),
        "negative": _fixed(Data((11, 13, 17)), _integers(5, -2, 12, 0, -7, 2, 9), axis=-2),
        "square": _fixed(Data((13, 13, 9)), _integers(5, 2, 12, 0, 7, 2, 9, 1, 3, 4, 6, 8, 11), axis=1),
    },
    "GatherElements": {"plain": _fixed(Data((11, 13, 17)), _chosen((7, 13, 17), 11), axis=0)},
    "GatherND": {"plain": _fixed(Data((11, 13, 17)), _chosen((31, 2), 11))},
    "Gelu": _element(plain={}, tanh={"approximate": "tanh"}),
    "Gemm": _gemm(),
    "GlobalAveragePool": {"plain": _fixed(Data((7, 73, 5, 6)))},
    "GlobalMaxPool": {"plain": _fixed(Data((7, 73, 5, 6)))},
    "GridSample": {"plain": _fixed(Data((2, 3, 11, 13)), Positive((2, 17, 19, 2), -0.95, 0.95))},
    "GroupNormalization": {"plain": _fixed(Data((3, 12, 7, 5)), Positive((12,)), Data((12,)), num_groups=3)},
    "HardSigmoid": _element(alpha={"alpha": 0.3, "beta": 0.4}),
    "HardSwish": _element(3.0),
    "InstanceNormalization": {"plain": _fixed(Data((3, 7, 11, 13)), Positive((7,)), Data((7,)))},
    "LRN": {"plain": _fixed(Data((2, 11, 7, 5)), size=5, alpha=0.3, beta=0.6, bias=1.5)},
    "LSTM": {"plain": _recurrent(4)},
    "LayerNormalization": {
        "plain": _layer(),
        "bare": _layer(bias=False),
        "moments": _layer(3),
        "epsilon": _layer(gain=2.0**-8, epsilon=3e-4),
    },
    "LeakyRelu": _element(alpha={"alpha": 0.3}),
    "Less": {name: dataclasses.replace(x, outputs=("bool",)) for name, x in _binary().items()},
    "Log": {"plain": _fixed(Positive((5, 17, 19), 0.1, 4.0))},
    "LogSoftmax": _along(),
    "LpNormalization": {"plain": _fixed(Data((7, 13, 17)), axis=1)},
    "LpPool": {"plain": _pool((2, 7, 19, 13)), "pads": _pool((2, 7, 19, 13), (3, 3), pads=[2, 0, 1, 1])},
    "MatMul": _matrix(
        plain=lambda k: (Data((37, k)), Data((k, 31))),
        batched=lambda k: (Data((3, 13, k)), Data((3, k, 29))),
        square=lambda k: (Data((33, 33)), Data((33, 33))),
        large=lambda k: (Data((97, k)), Data((k, 89))),
    ),
    "MatMulInteger": {"plain": _fixed(Data((37, 64), "uint8"), Data((64, 31), "int8"), outputs=("int32",))},
    "Max": _binary(),
    "MaxPool": _pools(),
    "Mul": _binary(),
    "Neg": _element(),
    "PRelu": {"plain": _fixed(Data((3, 7, 11, 13)), Data((7, 1, 1)))},
    "Pad": {
        "constant": _fixed(Data((3, 7, 11, 13)), _integers(0, 1, 2, 3, 0, 2, 1, 4), Positive((), 1.5, 1.75)),
        "reflect": _fixed(Data((3, 7, 11, 13)), _integers(0, 0, 2, 3, 0, 0, 1, 4), mode="reflect"),
        "edge": _fixed(Data((3, 7, 11, 13)), _integers(0, 0, 2, 3, 0, 0, 1, 4), mode="edge"),
    },
    "Pow": _binary(Data, Positive),
    "QLinearConv": {
        "plain": _qlinear_conv(),
        "channels": _qlinear_conv(channels=True),
        "pads": _qlinear_conv(pads=[1, 2, 2, 0]),
        "bias": _qlinear_conv(bias=True),
    },
    "QLinearMatMul": {"plain": _qlinear_matmul(), "channels": _qlinear_matmul(channels=True)},
    "QuantizeLinear": {
        "plain": _quantise("uint8", 119),
        "signed": _quantise("int8", -7),
        "channels": _quantise("uint8", 119, channels=True),
        "unit": _fixed(Data((5, 17, 19), "float32"), np.array(1.0, np.float32), np.array(-3, np.int8), outputs=("int8",)),
    },
    "RMSNormalization": {"plain": _layer(bias=False), "epsilon": _layer(bias=False, gain=2.0**-8, epsilon=3e-4)},
    "RNN": {"plain": _recurrent(1)},
    "Reciprocal": {"plain": _fixed(Positive((5, 17, 19), 0.1, 4.0))},
    "ReduceL2": _reduction(2),
    "ReduceLogSumExp": _reduction(),
    "ReduceMax": _reduction(),
    "ReduceMean": _reduction(),
    "ReduceSum": _reduction(),
    "ReduceSumSquare": _reduction(2),
    "Relu": _element(),
    "Reshape": {
        "plain": _fixed(Data((3, 5, 11, 13)), _integers(15, 11, 13)),
        "flat": _fixed(Data((35, 37)), _integers(37, 35)),
    },
    "Resize": {
        "linear": _resize("linear"),
        "nearest": _resize("nearest"),
        "cubic": _resize("cubic"),
        "corners": _resize("linear", coordinate_transformation_mode="align_corners"),
        "asymmetric": _resize("nearest", coordinate_transformation_mode="asymmetric", nearest_mode="floor"),
        "halves": _fixed(
            Data((2, 3, 26, 22)), np.zeros(0, np.float32), np.array([1, 1, 0.5, 2], np.float32),
            mode="nearest", coordinate_transformation_mode="asymmetric", nearest_mode="round_prefer_ceil",
        ),
    },
    "RotaryEmbedding": {
        "plain": _fixed(Data((2, 3, 17, 16)), Data((31, 8)), Data((31, 8)), _chosen((2, 17), 31)),
        "interleaved": _fixed(Data((2, 3, 17, 16)), Data((31, 8)), Data((31, 8)), _chosen((2, 17), 31), interleaved=1),
    },
    "Round": _element(),
    "ScatterElements": {
        "plain": _fixed(Data((11, 13, 17)), _chosen((5, 13, 17), 11, distinct=True), Data((5, 13, 17)), axis=0),
        "add": _fixed(Data((11, 13, 17)), _chosen((5, 13, 17), 11), Data((5, 13, 17)), axis=0, reduction="add"),
    },
    "ScatterND": {"plain": _fixed(Data((11, 13, 17)), _chosen((7, 1), 11, distinct=True), Data((7, 13, 17)))},
    "Selu": _element(),
    "Sigmoid": _element(3.0),
    "Sin": _element(3.0),
    "Slice": {
        "plain": _fixed(Data((17, 19, 23)), _integers(2, 3), _integers(15, -2), _integers(0, 2), _integers(1, 2)),
        "backwards": _fixed(Data((17, 19, 23)), _integers(15, 3), _integers(2, 18), _integers(0, 1), _integers(-1, 1)),
    },
    "Softmax": _along(),
    "Softplus": _element(3.0),
    "SpaceToDepth": {"plain": _fixed(Data((2, 3, 14, 22)), blocksize=2)},
    "Split": {
        "equal": _fixed(Data((13, 9, 17)), axis=1, num_outputs=3, outputs=(None,) * 3),
        "negative": _fixed(Data((13, 9, 17)), axis=-2, num_outputs=3, outputs=(None,) * 3),
        "uneven": _fixed(Data((13, 9, 17)), _integers(2, 4, 3), axis=1, outputs=(None,) * 3),
    },
    "Sqrt": {"plain": _fixed(Positive((5, 17, 19), 0.1, 4.0))},
    "Sub": _binary(),
    "Tanh": _element(),
    "Tile": {"plain": _fixed(Data((5, 7, 11)), _integers(2, 1, 3))},
    "TopK": {
        "middle": _fixed(Data((13, 17, 19)), _integers(5), axis=1, outputs=(None, "int64")),
        "smallest": _fixed(Data((13, 17, 19)), _integers(5), axis=1, largest=0, outputs=(None, "int64")),
        "square": _fixed(Data((7, 17, 17)), _integers(17), axis=1, outputs=(None, "int64")),
    },
    "Transpose": {
        "plain": _fixed(Data((3, 5, 11, 13)), perm=[2, 0, 3, 1]),
        "matrix": _fixed(Data((37, 41)), perm=[1, 0]),
        "spatial": _fixed(Data((3, 5, 11, 13)), perm=[0, 1, 3, 2]),
    },
    "Trilu": {"plain": _fixed(Data((5, 17, 19))), "lower": _fixed(Data((5, 17, 19)), _integers(2)[0], upper=0)},
    "Where": {"plain": _fixed(_chosen((5, 17, 19), 2).astype(bool), Data((5, 17, 19)), Data((17, 1)))},
}  # fmt: skip
"""Operator → variant → what its model looks like."""
