"""ONNX's quantisation: one scale, one per index of an axis or per block, with and without a zero point, every type."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import ml_dtypes
import numpy as np
from hypothesis import strategies as st

from reference import dtypes

from ..samples import Array, Sample, any_shape, array, broadcastable, call, kinds_of, length, shapes, version_of

BYTES = ("int8", "uint8")


def scale(draw: st.DrawFn, shape: tuple[int, ...], kind: str, low: float = 0.02, high: float = 2.0) -> Array:
    """Positive numbers; half of the time powers of two, by which quotients are exact."""
    if kind == "int32":
        return array(draw, shape, kind, 1, 7)
    exact = draw(st.booleans()) or kind == dtypes.SCALE
    values = array(draw, shape, "float64", np.log2(low), np.log2(high))
    return dtypes.cast(2.0 ** (np.rint(values) if exact else values), kind)


def zero_point(draw: st.DrawFn, shape: tuple[int, ...], kind: str) -> Array:
    """Of an integer type any number, of int32 and of floating-point types 0."""
    if kind == "int32" or dtypes.is_float(kind):
        return np.zeros(shape, dtypes.numpy_dtype(kind))
    info = ml_dtypes.iinfo(dtypes.numpy_dtype(kind))
    return array(draw, shape, kind, int(info.min), int(info.max), extremes=True)


def codes(draw: st.DrawFn, shape: tuple[int, ...], kind: str) -> Array:
    """Quantised numbers over the whole range of the type."""
    if dtypes.is_float(kind):
        largest = dtypes.FLOATS[kind].largest
        return array(draw, shape, kind, -largest, largest)
    info = ml_dtypes.iinfo(dtypes.numpy_dtype(kind))
    return array(draw, shape, kind, int(info.min), int(info.max), extremes=True)


def _granularity(draw: st.DrawFn, version: int) -> tuple[tuple[int, ...], tuple[int, ...], dict[str, Any]]:
    """Shapes of the tensor and of its scale, and the attributes axis and block_size that say so."""
    shape = any_shape(draw, max_dims=4)
    least = 21 if draw(st.booleans()) else 13
    if version < least or not shape:
        return shape, draw(st.sampled_from([(), (1,)])) if version >= 13 else (), {}
    axis = draw(st.integers(0, len(shape) - 1))
    named = draw(st.sampled_from([axis, axis - len(shape)]))
    attributes = {"axis": None if axis == 1 and draw(st.booleans()) else named}
    if least == 13:
        return shape, (shape[axis],), attributes
    block = draw(st.integers(1, max(shape[axis], 1)))
    blocks = -(-shape[axis] // block)
    return shape, (*shape[:axis], blocks, *shape[axis + 1 :]), {**attributes, "block_size": block}


def _quantize(draw: st.DrawFn) -> Sample:
    version = version_of(draw, "QuantizeLinear")
    shape, parameters, attributes = _granularity(draw, version)
    kind = draw(st.sampled_from(["float32", *kinds_of("QuantizeLinear", version)]))
    scales = kinds_of("QuantizeLinear", version, 1)
    scaled = draw(st.sampled_from(["float32", kind, *scales])) if version >= 23 else kind if version >= 19 else "float32"
    target = draw(st.sampled_from(["int8", "uint8", *kinds_of("QuantizeLinear", version, 2)]))
    named = draw(st.booleans()) and version >= 21
    absent = named or draw(st.integers(0, 3)) == 3
    largest = dtypes.FLOATS[target].largest if dtypes.is_float(target) else float(ml_dtypes.iinfo(target).max)
    return call(
        "QuantizeLinear",
        [
            array(draw, shape, kind, -largest, largest, specials=True, extremes=True),
            scale(draw, parameters, scaled),
            None if absent else zero_point(draw, parameters, target),
        ],
        version=version,
        saturate=draw(st.sampled_from([None, 0, 1])) if target.startswith("float8") else None,
        output_dtype=dtypes.ONNX[target] if named else None,
        precision=dtypes.ONNX[draw(st.sampled_from(["float32", "float16", "bfloat16"]))]
        if version >= 23 and draw(st.integers(0, 3)) == 3
        else None,
        **attributes,
    )


def _dequantize(draw: st.DrawFn) -> Sample:
    version = version_of(draw, "DequantizeLinear")
    shape, parameters, attributes = _granularity(draw, version)
    kind = draw(st.sampled_from(["int8", "uint8", *kinds_of("DequantizeLinear", version)]))
    scaled = draw(st.sampled_from(["float32", *kinds_of("DequantizeLinear", version, 1)])) if version >= 19 else "float32"
    targets = ["float32", "float16", "bfloat16"]
    named = version >= 23 and (scaled == dtypes.SCALE or draw(st.booleans()))
    return call(
        "DequantizeLinear",
        [
            codes(draw, shape, kind),
            scale(draw, parameters, scaled),
            zero_point(draw, parameters, kind) if draw(st.booleans()) else None,
        ],
        version=version,
        output_dtype=dtypes.ONNX[draw(st.sampled_from(targets))] if named else None,
        **attributes,
    )


def _dynamic(draw: st.DrawFn) -> Sample:
    low, high = draw(st.sampled_from([(-4, 4), (0, 1), (-3, -1), (2, 2), (0, 0)]))
    shape = tuple(max(n, 1) for n in any_shape(draw))
    return call("DynamicQuantizeLinear", [array(draw, shape, "float32", low, high)], version=11, outputs=3)


def _one(draw: st.DrawFn) -> tuple[int, ...]:
    """Shape of a parameter that is one number."""
    return draw(st.sampled_from([(), (), (1,)]))


def triple(draw: st.DrawFn, tensor: Array, shape: tuple[int, ...], scaled: str = "float32") -> list[Array]:
    """A quantised tensor, its scale and its zero point."""
    return [tensor, scale(draw, shape, scaled), zero_point(draw, shape, dtypes.name_of(tensor.dtype))]


def target(
    draw: st.DrawFn, kind: str, largest: float, scaled: str = "float32", shape: tuple[int, ...] | None = None
) -> list[Array]:
    """Scale and zero point of a result up to `largest`: some of it is saturated. One number each, of any such shape."""
    reach = max(largest, 1e-3) / draw(st.sampled_from([20, 100, 400]))
    shape = _one(draw) if shape is None else shape
    return [dtypes.cast(np.full(shape, reach), scaled), zero_point(draw, shape, kind)]


def _conv(draw: st.DrawFn) -> Sample:
    rank = draw(st.integers(1, 3))
    kinds = [draw(st.sampled_from(BYTES)) for _ in range(3)]
    kinds = kinds if draw(st.booleans()) else [kinds[0], kinds[1], kinds[0]]
    group, channels, features = draw(st.integers(1, 3)), draw(st.integers(1, 3)), draw(st.integers(1, 3))
    kernel, dilations = draw(shapes(rank, rank, 1, 3)), draw(shapes(rank, rank, 1, 2))
    spatial = tuple((k - 1) * d + 1 + draw(st.integers(0, 3)) for k, d in zip(kernel, dilations, strict=True))
    pad = draw(st.sampled_from(["pads", "SAME_UPPER", "SAME_LOWER", "VALID", None]))
    pads = [draw(st.integers(0, 2)) for _ in range(2 * rank)]
    x = codes(draw, (length(draw, 2), group * channels, *spatial), kinds[0])
    w = codes(draw, (group * features, channels, *kernel), kinds[1])
    each = (group * features,) if draw(st.booleans()) else ()
    inputs = [*triple(draw, x, _one(draw)), *triple(draw, w, each)]
    if len(each) and draw(st.booleans()):
        inputs[5] = np.full(each, inputs[5][0])
    largest = 4e3 * channels * float(np.prod(kernel)) ** 0.5 * float(inputs[1].max() * inputs[4].max())
    bias = array(draw, (group * features,), "int32", -20000, 20000) if draw(st.booleans()) else None
    return call(
        "QLinearConv",
        [*inputs, *target(draw, kinds[2], largest), *([] if bias is None else [bias])],
        version=10,
        auto_pad=pad if pad != "pads" else None,
        pads=pads if pad == "pads" else None,
        strides=[draw(st.integers(1, 2)) for _ in range(rank)] if draw(st.booleans()) else None,
        dilations=list(dilations),
        kernel_shape=list(kernel) if draw(st.booleans()) else None,
        group=group if group > 1 or draw(st.booleans()) else None,
    )


def _matmul(draw: st.DrawFn) -> Sample:
    """Matrices and stacks of them, seldom vectors; scales of rows and columns; from version 21 on of 8-bit reals too."""
    version = version_of(draw, "QLinearMatMul")
    kinds = [draw(st.sampled_from([*BYTES * 3, *kinds_of("QLinearMatMul", version)])) for _ in range(3)]
    scaled = draw(st.sampled_from(["float32", *(kinds_of("QLinearMatMul", version, 1) if version > 10 else [])]))
    rows, inner, columns = (length(draw, 5) for _ in range(3))
    stack = draw(shapes(0, 2, 1, 3))
    a = codes(draw, (*broadcastable(draw, stack), rows, inner), kinds[0])
    b = codes(draw, (*broadcastable(draw, stack), inner, columns), kinds[1])
    along = draw(st.sampled_from(["", "", "column", "row"])) if not stack else ""
    of_a = (rows,) if along == "row" else _one(draw)
    of_b = (columns,) if along == "column" else _one(draw)
    inputs = [*triple(draw, a, of_a, scaled), *triple(draw, b, of_b, scaled)]
    sizes = [float(np.abs(x.astype(np.float64)).mean()) if x.size else 1.0 for x in inputs]
    largest = inner**0.5 * sizes[0] * sizes[1] * sizes[3] * sizes[4]
    return call("QLinearMatMul", [*inputs, *target(draw, kinds[2], largest, scaled)], version=version)


DRAW: Mapping[str, Callable[[st.DrawFn], Sample]] = {
    "QuantizeLinear": _quantize,
    "DequantizeLinear": _dequantize,
    "DynamicQuantizeLinear": _dynamic,
    "QLinearConv": _conv,
    "QLinearMatMul": _matmul,
}
