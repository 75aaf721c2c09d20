"""Tensor element types: names, ONNX and NumPy types, and exact rounding of reals to each floating-point format.

Types are named as NumPy and ml_dtypes name them; the short names are those of case ids.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Mapping
from typing import Any

import ml_dtypes
import numpy as np
from numpy.typing import NDArray
from onnx import TensorProto

SHORT: dict[str, str] = {
    "f64": "float64",
    "f32": "float32",
    "f16": "float16",
    "bf16": "bfloat16",
    "f8e4m3fn": "float8_e4m3fn",
    "f8e4m3fnuz": "float8_e4m3fnuz",
    "f8e5m2": "float8_e5m2",
    "f8e5m2fnuz": "float8_e5m2fnuz",
    "f8e8m0": "float8_e8m0fnu",
    "f6e2m3": "float6_e2m3fn",
    "f6e3m2": "float6_e3m2fn",
    "f4e2m1": "float4_e2m1fn",
    "i64": "int64",
    "i32": "int32",
    "i16": "int16",
    "i8": "int8",
    "i4": "int4",
    "i2": "int2",
    "u64": "uint64",
    "u32": "uint32",
    "u16": "uint16",
    "u8": "uint8",
    "u4": "uint4",
    "u2": "uint2",
    "bool": "bool",
    "c64": "complex64",
    "c128": "complex128",
    "str": "str",
}
"""Short name → name."""

ONNX: dict[str, int] = {
    "float64": TensorProto.DOUBLE,
    "float32": TensorProto.FLOAT,
    "float16": TensorProto.FLOAT16,
    "bfloat16": TensorProto.BFLOAT16,
    "float8_e4m3fn": TensorProto.FLOAT8E4M3FN,
    "float8_e4m3fnuz": TensorProto.FLOAT8E4M3FNUZ,
    "float8_e5m2": TensorProto.FLOAT8E5M2,
    "float8_e5m2fnuz": TensorProto.FLOAT8E5M2FNUZ,
    "float8_e8m0fnu": TensorProto.FLOAT8E8M0,
    "float6_e2m3fn": 27,  # FLOAT6E2M3 and FLOAT6E3M2: onnx has the names from 1.23 on
    "float6_e3m2fn": 28,
    "float4_e2m1fn": TensorProto.FLOAT4E2M1,
    "int64": TensorProto.INT64,
    "int32": TensorProto.INT32,
    "int16": TensorProto.INT16,
    "int8": TensorProto.INT8,
    "int4": TensorProto.INT4,
    "int2": TensorProto.INT2,
    "uint64": TensorProto.UINT64,
    "uint32": TensorProto.UINT32,
    "uint16": TensorProto.UINT16,
    "uint8": TensorProto.UINT8,
    "uint4": TensorProto.UINT4,
    "uint2": TensorProto.UINT2,
    "bool": TensorProto.BOOL,
    "complex64": TensorProto.COMPLEX64,
    "complex128": TensorProto.COMPLEX128,
    "str": TensorProto.STRING,
}
"""Name → TensorProto.DataType."""

NAMES: dict[int, str] = {code: name for name, code in ONNX.items()}
"""TensorProto.DataType → name."""


@dataclasses.dataclass(frozen=True)
class FloatFormat:
    """A binary floating-point format: `precision` significant bits (the hidden one included), `emin` the exponent of the
    smallest normal number 2^emin, `largest` the largest finite value.

    Sources: IEEE 754-2019, OCP 8-bit Floating Point Specification 1.0, OCP Microscaling Formats 1.0, ONNX technical details
    "float8". The scales of the second, float8_e8m0fnu, are powers of two: they have neither sign nor zero.
    """

    precision: int
    emin: int
    largest: float
    has_inf: bool = True
    has_nan: bool = True
    has_negative_zero: bool = True

    @property
    def unit_roundoff(self) -> float:
        """u = 2^-precision: the largest relative error of rounding to nearest."""
        return float(2.0**-self.precision)

    @property
    def smallest_normal(self) -> float:
        return float(2.0**self.emin)

    @property
    def smallest_subnormal(self) -> float:
        return float(2.0 ** (self.emin - self.precision + 1))


SCALE = "float8_e8m0fnu"

FLOATS: dict[str, FloatFormat] = {
    "float64": FloatFormat(53, -1022, float(np.finfo(np.float64).max)),
    "float32": FloatFormat(24, -126, float(np.finfo(np.float32).max)),
    "bf16x3": FloatFormat(16, -126, (2 - 2.0**-15) * 2.0**127),
    "tf32": FloatFormat(11, -126, (2 - 2.0**-10) * 2.0**127),
    "float16": FloatFormat(11, -14, 65504.0),
    "bfloat16": FloatFormat(8, -126, (2 - 2.0**-7) * 2.0**127),
    "float8_e4m3fn": FloatFormat(4, -6, 448.0, has_inf=False),
    "float8_e4m3fnuz": FloatFormat(4, -7, 240.0, has_inf=False, has_negative_zero=False),
    "float8_e5m2": FloatFormat(3, -14, 57344.0),
    "float8_e5m2fnuz": FloatFormat(3, -15, 57344.0, has_inf=False, has_negative_zero=False),
    SCALE: FloatFormat(1, -127, 2.0**127, has_inf=False, has_negative_zero=False),
    "float6_e2m3fn": FloatFormat(4, 0, 7.5, has_inf=False, has_nan=False),
    "float6_e3m2fn": FloatFormat(3, -2, 28.0, has_inf=False, has_nan=False),
    "float4_e2m1fn": FloatFormat(2, 0, 6.0, has_inf=False, has_nan=False),
}
"""Name → format, of tensor types and of what only units compute in (`INSIDE`)."""

EXPONENT = np.int64(0x7FF0_0000_0000_0000)
"""The bits of a float64 that hold its exponent."""

NATIVE: Mapping[str, type[np.floating[Any]]] = {"float32": np.float32, "float16": np.float16}
"""Formats into which NumPy converts a float64 with one rounding, to nearest even."""

INSIDE = frozenset(["bf16x3", "tf32"])
"""Formats of a unit's inputs. bf16x3: a float32 as a sum of bfloat16 parts, whose smallest products are left out."""


def numpy_dtype(name: str) -> np.dtype[Any]:
    """The NumPy (or ml_dtypes) dtype of a tensor type; strings are objects."""
    if name == "str":
        return np.dtype(object)
    return np.dtype(getattr(ml_dtypes, name)) if hasattr(ml_dtypes, name) else np.dtype(name)


@functools.cache
def name_of(dtype: np.dtype[Any]) -> str:
    """The tensor type of a NumPy dtype."""
    return "str" if dtype.kind in "OUT" else dtype.name


def is_float(name: str) -> bool:
    """Whether `name` is a real floating-point tensor type."""
    return name in FLOATS and name not in INSIDE


def is_integer(name: str) -> bool:
    """Whether `name` is an integer tensor type."""
    return name.startswith(("int", "uint"))


def to_real(array: NDArray[Any]) -> NDArray[Any]:
    """Floating-point arrays as float64 (every format fits exactly); others as they are."""
    if array.dtype == np.float64:
        return array
    with np.errstate(invalid="ignore"):  # a signalling NaN becomes a quiet one
        return array.astype(np.float64) if is_float(name_of(array.dtype)) else array


def quantum(x: NDArray[np.float64], name: str) -> NDArray[np.float64]:
    """Spacing of the format's numbers around the real x, same shape: one ulp in the sense of Goldberg and of OpenCL C 7.4.

    For what is not finite: around the format's largest number.
    """
    form, x = FLOATS[name], np.asarray(x, np.float64)
    power = (x.view(np.int64) & EXPONENT).view(np.float64)  # 2^floor(log2 |x|), 0 for subnormal float64, ∞ for ∞ and NaN
    with np.errstate(under="ignore"):
        step = np.maximum(power * 2.0 ** (1 - form.precision), form.smallest_subnormal)
    return np.asarray(np.where(np.isinf(step), quantum(np.asarray(form.largest), name), step) if np.isinf(step).any() else step)


def round_to(x: NDArray[np.float64], name: str, *, saturate: bool = False) -> NDArray[np.float64]:
    """The real x rounded to nearest, ties to even, in format `name`; float64 of the same shape.

    Beyond the largest finite value: infinity, or NaN for formats without infinities, or the largest value with `saturate`
    and for formats that have neither. For float8_e8m0fnu see `round_to_scale`.
    """
    x = np.asarray(x, np.float64)
    form = FLOATS[name]
    if name == "float64":
        return x
    if name == SCALE:
        return round_to_scale(x, "nearest", saturate=saturate)
    with np.errstate(all="ignore"):
        if name in NATIVE and not saturate:
            return x.astype(NATIVE[name]).astype(np.float64)
        step = quantum(x, name)
        y = np.where(np.isfinite(x), np.rint(x / step) * step, x)
        beyond = np.abs(y) > form.largest
        if saturate or not (form.has_inf or form.has_nan):
            limit = np.copysign(form.largest, y)
        else:
            limit = np.copysign(np.inf, y) if form.has_inf else np.full_like(y, np.nan)
        y = np.where(beyond, limit, y)
    return np.asarray(y if form.has_negative_zero else np.where(y == 0, 0.0, y), np.float64)


def round_to_scale(x: NDArray[np.float64], mode: str, *, saturate: bool) -> NDArray[np.float64]:
    """The real x as a float8_e8m0fnu, a power of two; float64 of the same shape. Source: Cast-24.

    mode: "up" (away from zero), "down" (toward zero) or "nearest" (ties up). Outside of [2^-127, 2^127], which zero is too:
    the nearer end with `saturate`, else NaN. Open in ONNX: values below zero, NaN here. Raises ValueError for another mode.
    """
    x = np.asarray(x, np.float64)
    least = {"up": np.nextafter(0.5, 1), "nearest": 0.75, "down": 1.0}.get(mode)
    if least is None:
        raise ValueError(f"round_mode is up, down or nearest, not {mode!r}")
    form = FLOATS[SCALE]
    inside = np.clip(x, form.smallest_normal, form.largest)
    fraction, exponent = np.frexp(inside)  # fractions in [1/2, 1)
    y = np.ldexp(1.0, exponent - 1 + (fraction >= least))
    y = np.where(np.isnan(x) | (x < 0) | ((x != inside) & (not saturate)), np.nan, y)
    return np.asarray(y, np.float64)


def cast(x: NDArray[np.float64], name: str) -> NDArray[Any]:
    """The real x rounded as in `round_to` and stored as an array of that type."""
    with np.errstate(all="ignore"):
        return (np.asarray(x, np.float64) if name in NATIVE else round_to(x, name)).astype(numpy_dtype(name))
