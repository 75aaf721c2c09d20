"""Quantised operators of com.microsoft, which only ONNX Runtime has."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any

from hypothesis import strategies as st

from ..samples import Array, Sample, any_shape, array, axis_of, broadcastable, length, shapes
from .contributed_attention import DOMAIN
from .fused import contributed
from .quantization import BYTES, codes, scale, target, triple, zero_point


def _without(draw: st.DrawFn, inputs: list[Array], *positions: int) -> list[Array | None]:
    """Now and then these zero points are left out."""
    absent = draw(st.integers(0, 5)) == 5
    return [None if i in positions and absent else x for i, x in enumerate(inputs)]


def _binary(operator: str, draw: st.DrawFn) -> Sample:
    kind, shape = draw(st.sampled_from(BYTES)), any_shape(draw, max_dims=4)
    a, b = (codes(draw, broadcastable(draw, shape) if draw(st.booleans()) else shape, kind) for _ in range(2))
    inputs = [*triple(draw, a, ()), *triple(draw, b, ())]
    reach = [float(inputs[i]) * 128 for i in (1, 4)]
    result = target(draw, kind, sum(reach) if operator == "QLinearAdd" else reach[0] * reach[1], shape=())
    return contributed(operator, _without(draw, [*inputs, *result], 2, 5, 7))


def _unary(operator: str, draw: st.DrawFn) -> Sample:
    """A function of one tensor of any rank."""
    kind, shape = draw(st.sampled_from(BYTES)), any_shape(draw, max_dims=4)
    inputs = triple(draw, codes(draw, shape, kind), ())
    largest = 1.0 if operator == "QLinearSigmoid" else 128 * float(inputs[1])
    alpha = draw(st.sampled_from([None, 0.25, -0.3])) if operator == "QLinearLeakyRelu" else None
    return contributed(operator, _without(draw, [*inputs, *target(draw, kind, largest)], 2, 4), alpha=alpha)


def _softmax(draw: st.DrawFn) -> Sample:
    kind, shape = draw(st.sampled_from(BYTES)), any_shape(draw, 1, 4)
    x = triple(draw, codes(draw, shape, kind), ())
    result = [scale(draw, (), "float32", 1 / 256, 1 / 64), zero_point(draw, (), kind)]
    axis = draw(st.none() | st.integers(-len(shape), len(shape) - 1))
    return contributed("QLinearSoftmax", [*x, *result], axis=axis, opset=draw(st.sampled_from([1, 11, 12, 13, 21])))


def _average_pool(draw: st.DrawFn) -> Sample:
    kind, rank = draw(st.sampled_from(BYTES)), draw(st.integers(1, 3))
    kernel, spatial = draw(shapes(rank, rank, 1, 3)), draw(shapes(rank, rank, 3, 6))
    batch, channels = length(draw, 2), draw(st.integers(1, 3))
    last = draw(st.sampled_from([None, 0, 1]))
    x = codes(draw, (batch, *spatial, channels) if last else (batch, channels, *spatial), kind)
    pad = draw(st.sampled_from(["pads", "pads", None, "SAME_UPPER", "SAME_LOWER", "VALID"]))
    pads = [draw(st.integers(0, n - 1)) for n in (*kernel, *kernel)]
    inputs = triple(draw, x, ())
    return contributed(
        "QLinearAveragePool",
        _without(draw, [*inputs, *target(draw, kind, 128 * float(inputs[1]), shape=())], 2, 4),
        kernel_shape=list(kernel),
        auto_pad=pad if pad != "pads" else None,
        pads=pads if pad == "pads" else None,
        strides=[draw(st.integers(1, 3)) for _ in range(rank)] if draw(st.booleans()) else None,
        ceil_mode=draw(st.sampled_from([None, 0, 1])),
        count_include_pad=draw(st.sampled_from([None, 0, 1])),
        channels_last=last,
    )


def _global_average_pool(draw: st.DrawFn) -> Sample:
    kind, last = draw(st.sampled_from(BYTES)), draw(st.sampled_from([None, 0, 1]))
    inputs = triple(draw, codes(draw, (length(draw, 5), *draw(shapes(2, 4, 1, 5))), kind), ())
    result = target(draw, kind, 64 * float(inputs[1]))
    return contributed("QLinearGlobalAveragePool", [*inputs, *result], channels_last=last)


def _concat(draw: st.DrawFn) -> Sample:
    kind, shape = draw(st.sampled_from(BYTES)), draw(shapes(1, 4, 1, 4))
    axis = axis_of(draw, len(shape))
    parts: list[Array] = []
    for _ in range(draw(st.integers(1, 3))):
        size = length(draw, 3)
        part = tuple(size if i == axis % len(shape) else n for i, n in enumerate(shape))
        parts += triple(draw, codes(draw, part, kind), ())
    return contributed("QLinearConcat", [*target(draw, kind, 128 * float(parts[1])), *parts], axis=axis)


def _column_parameters(draw: st.DrawFn, columns: int, kind: str) -> list[Array]:
    """Scale and zero point of b, one or one per column."""
    shape = draw(st.sampled_from([(), (1,), (columns,)]))
    return [scale(draw, shape, "float32"), zero_point(draw, shape, kind)]


def _gemm(draw: st.DrawFn) -> Sample:
    """Results quantised or real; y_scale and y_zero_point come together."""
    kinds = draw(st.sampled_from([("int8", "int8"), ("uint8", "uint8"), ("uint8", "int8")]))
    rows, inner, columns = (length(draw, 5) for _ in range(3))
    trans_a, trans_b = (draw(st.sampled_from([None, 0, 1])) for _ in range(2))
    a = codes(draw, (inner, rows) if trans_a else (rows, inner), kinds[0])
    b = codes(draw, (columns, inner) if trans_b else (inner, columns), kinds[1])
    inputs = [*triple(draw, a, ()), b, *_column_parameters(draw, columns, kinds[1])]
    bias = draw(st.sampled_from([None, (), (1,), (columns,), (1, columns), (rows, 1), (rows, columns)]))
    c = None if bias is None else array(draw, bias, "int32", -5000, 5000)
    largest = inner**0.5 * 4e3 * float(inputs[1]) * float(inputs[4].max(initial=0.1))
    result: list[Any] = target(draw, kinds[0], largest) if draw(st.booleans()) else [None, None]
    alpha = draw(st.sampled_from([None, 1.0, 0.5, 1.7]))
    return contributed("QGemm", [*inputs, c, *result], alpha=alpha, transA=trans_a, transB=trans_b)


def _integer_product(draw: st.DrawFn, *, dynamic: bool) -> Sample:
    """A product of a, quantised already or on the way, and of quantised b, whose parameters may be its columns'."""
    kinds = draw(st.sampled_from([("int8", "int8"), ("uint8", "uint8"), ("uint8", "int8")]))
    rows, inner, columns = (length(draw, 5) for _ in range(3))
    stack = draw(shapes(0, 2, 1, 3))
    a, b = ((*broadcastable(draw, stack), *ends) for ends in ((rows, inner), (inner, columns)))
    weights = codes(draw, b, kinds[1])
    of_b, zero_of_b = _column_parameters(draw, columns, kinds[1])
    bias = array(draw, (columns,), "float32", -50, 50) if draw(st.booleans()) else None
    zero_of_b = zero_of_b if draw(st.booleans()) else None
    if dynamic:
        return contributed("DynamicQuantizeMatMul", [array(draw, a, "float32"), weights, of_b, zero_of_b, bias])
    left = triple(draw, codes(draw, a, kinds[0]), draw(st.sampled_from([(), (1,)])))
    zero_of_a = left[2] if draw(st.booleans()) else None
    return contributed("MatMulIntegerToFloat", [left[0], weights, left[1], of_b, zero_of_a, zero_of_b, bias])


DRAW: Mapping[str, Callable[[st.DrawFn], Sample]] = {
    f"{DOMAIN}:{name}": draw
    for name, draw in {
        **{name: functools.partial(_binary, name) for name in ("QLinearAdd", "QLinearMul")},
        **{name: functools.partial(_unary, name) for name in ("QLinearSigmoid", "QLinearLeakyRelu")},
        "QLinearSoftmax": _softmax,
        "QLinearAveragePool": _average_pool,
        "QLinearGlobalAveragePool": _global_average_pool,
        "QLinearConcat": _concat,
        "QGemm": _gemm,
        "MatMulIntegerToFloat": functools.partial(_integer_product, dynamic=False),
        "DynamicQuantizeMatMul": functools.partial(_integer_product, dynamic=True),
    }.items()
}
