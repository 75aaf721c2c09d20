"""Casts between all types, and views of the same bits as another type."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import ml_dtypes
import numpy as np
from hypothesis import strategies as st
from onnx import TensorProto

from reference import dtypes

from ..samples import Array, Sample, any_shape, array, call, kind_of, kinds_of, version_of

WHOLE = ["0", "7", "-1", "12", "100", "+5", "007", "16777217", "9223372036854775807"]
FRACTIONS = ["3.25", "-0.5", "1e-5", "1E8", "-1.5e3", ".5", "2.", "0.1", "65520", "1e39", "1e-46"]
SPECIAL = ["INF", "-inf", "+Inf", "NaN", "nan"]


def _values(draw: st.DrawFn, kind: str, to: str) -> Array:
    """Reals of all sizes, many of them halfway between two values of a narrower type; strings that are numbers."""
    shape = any_shape(draw, max_dims=4)
    if kind == "str":
        words = WHOLE if dtypes.is_integer(to) or to == "bool" else WHOLE + FRACTIONS + SPECIAL
        words = [w for w in words if not (to.startswith("u") and w.startswith("-"))]
        return np.random.default_rng(draw(st.integers(0, 2**32 - 1))).choice(np.array(words, object), shape)
    if not dtypes.is_float(kind):
        return array(draw, shape, kind, -300, 300, extremes=True)
    low = 0.01 if dtypes.SCALE in (kind, to) else -4
    x = dtypes.to_real(array(draw, shape, "float64", low, 4, specials=low < 0)) * 2.0 ** draw(st.integers(-20, 20))
    return dtypes.cast(x, kind)


def _options(draw: st.DrawFn, version: int, to: str) -> dict[str, Any]:
    saturate = draw(st.sampled_from([None, 0, 1])) if version >= 19 else None
    mode = draw(st.sampled_from([None, "up", "down", "nearest"])) if version >= 24 and to == dtypes.SCALE else None
    return {"saturate": saturate, "round_mode": mode}


def _cast(draw: st.DrawFn) -> Sample:
    version = version_of(draw, "Cast")
    source, to = kind_of(draw, "Cast", version), kind_of(draw, "Cast", version)
    named = TensorProto.DataType.Name(dtypes.ONNX[to]) if version == 1 else dtypes.ONNX[to]
    return call("Cast", [_values(draw, source, to)], version=version, to=named, **_options(draw, version, to))


def _cast_like(draw: st.DrawFn) -> Sample:
    version = version_of(draw, "CastLike")
    source, to = kind_of(draw, "CastLike", version), kind_of(draw, "CastLike", version)
    like = array(draw, any_shape(draw, max_dims=1), to)
    return call("CastLike", [_values(draw, source, to), like], version=version, **_options(draw, version, to))


def _bit_cast(draw: st.DrawFn) -> Sample:
    kind = kind_of(draw, "BitCast", 26)
    to = draw(st.sampled_from([k for k in kinds_of("BitCast", 26) if _width(k) == _width(kind)]))
    x = array(draw, any_shape(draw), kind, -300, 300, extremes=True)
    return call("BitCast", [x], version=26, to=dtypes.ONNX[to])


def _width(kind: str) -> int:
    """Bits of an element."""
    dtype = dtypes.numpy_dtype(kind)
    if dtypes.is_float(kind):
        return int(ml_dtypes.finfo(dtype).bits)
    return int(ml_dtypes.iinfo(dtype).bits) if dtypes.is_integer(kind) else 8 * dtype.itemsize


DRAW: Mapping[str, Callable[[st.DrawFn], Sample]] = {"Cast": _cast, "CastLike": _cast_like, "BitCast": _bit_cast}
