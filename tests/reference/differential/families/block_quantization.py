"""Weights in blocks of few bits, and com.microsoft's own linear quantisation, which only ONNX Runtime has."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import ml_dtypes
from hypothesis import strategies as st

from ..samples import Array, Sample, any_shape, array, length, shapes
from .contributed_attention import DOMAIN
from .fused import contributed
from .quantization import codes, scale, zero_point

INTEGERS = ("int8", "uint8", "int16", "uint16", "int4", "uint4")


def _matmul(draw: st.DrawFn) -> Sample:
    """With 2, 4 or 8 bits, zero points packed, of a's type or absent, and blocks in order or as g_idx names them."""
    kind, bits, block = (
        draw(st.sampled_from(["float32", "float16"])),
        draw(st.sampled_from([4, 4, 2, 8])),
        draw(st.sampled_from([16, 32])),
    )
    inner, columns = draw(st.integers(1, 70)), draw(st.integers(1, 4))
    blocks = -(-inner // block)
    zero = draw(st.sampled_from(["none", "packed", "packed", kind]))
    zeros = {
        "none": None,
        "packed": array(draw, (columns, -(-blocks * bits // 8)), "uint8", 0, 255),
        kind: array(draw, (columns, blocks), kind, 0, 2**bits - 1),
    }
    ordered = draw(st.integers(0, 3)) < 3
    return contributed(
        "MatMulNBits",
        [
            array(draw, (length(draw, 3), *draw(shapes(0, 2, 1, 3)), inner), kind, -2, 2),
            array(draw, (columns, blocks, block * bits // 8), "uint8", 0, 255),
            array(draw, (columns, blocks), kind, -0.25, 0.25),
            zeros[zero],
            None if ordered else array(draw, (inner,), "int32", 0, blocks - 1),
            array(draw, (columns,), kind) if draw(st.booleans()) else None,
        ],
        K=inner,
        N=columns,
        bits=bits if bits != 4 or draw(st.booleans()) else None,
        block_size=block,
        accuracy_level=draw(st.sampled_from([None, 0, 1])),
    )


def _granularity(draw: st.DrawFn) -> tuple[tuple[int, ...], tuple[int, ...], int | None]:
    """Shapes of the tensor and of its scale, and the axis if there is more than one scale."""
    shape = any_shape(draw, max_dims=4)
    if not shape or draw(st.booleans()):
        return shape, (), None
    axis = draw(st.integers(0, len(shape) - 1))
    return shape, (shape[axis],), draw(st.sampled_from([axis, axis - len(shape)]))


def _quantize(draw: st.DrawFn) -> Sample:
    (shape, parameters, axis), kind = _granularity(draw), draw(st.sampled_from(INTEGERS))
    largest = float(ml_dtypes.iinfo(kind).max)
    x = array(draw, shape, draw(st.sampled_from(["float32", "float32", "float16"])), -largest, largest, specials=True)
    steps = scale(draw, parameters, x.dtype.name)
    absent = kind == "uint8" and draw(st.booleans())
    return contributed("QuantizeLinear", [x, steps, None if absent else zero_point(draw, parameters, kind)], axis=axis)


def _dequantize(draw: st.DrawFn) -> Sample:
    (shape, parameters, axis), kind = _granularity(draw), draw(st.sampled_from([*INTEGERS, "int32"]))
    zero: Array | None = zero_point(draw, parameters, kind) if draw(st.booleans()) else None
    steps = scale(draw, parameters, draw(st.sampled_from(["float32", "float32", "float16"])))
    return contributed("DequantizeLinear", [codes(draw, shape, kind), steps, zero], axis=axis)


DRAW: Mapping[str, Callable[[st.DrawFn], Sample]] = {
    f"{DOMAIN}:MatMulNBits": _matmul,
    f"{DOMAIN}:QuantizeLinear": _quantize,
    f"{DOMAIN}:DequantizeLinear": _dequantize,
}
