"""Casts between tensor types. Real results are float64 values already rounded to the target type, so that chains are
exact."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
from numpy.typing import NDArray
from onnx import TensorProto

from reference import dtypes as types

Array = NDArray[Any]


def integer_range(dtype: np.dtype[Any]) -> tuple[int, int]:
    """Smallest and largest value of an integer type, ml_dtypes' narrow ones included."""
    info = ml_dtypes.iinfo(dtype)  # type: ignore[no-untyped-call]
    return int(info.min), int(info.max)


def real_to_integer(x: Array, dtype: np.dtype[Any]) -> Array:
    """Reals truncated toward zero; to 4 and 2 bits rounded to nearest even, as ONNX's technical details "int4" ask.

    Open in ONNX: NaN is 0 here; a value out of range keeps its low bits while it fits int64, as ONNX's node cases do, and
    is the nearest end beyond that.
    """
    low, high = integer_range(dtype)
    whole = (np.rint if high <= 15 else np.trunc)(np.where(np.isnan(x), 0.0, x))
    # The largest 64-bit integers are no float64, the powers of two above them are: those bound what can be converted.
    small = np.abs(whole) < 2.0**63
    result = integer_to_integer(np.where(small, whole, 0.0).astype(np.int64), dtype)
    result = np.where(small, result, np.where(whole < 0, dtype.type(low), dtype.type(high)))
    if high >= 2**63:
        large = (whole >= 2.0**63) & (whole < 2.0**64)
        result = np.where(large, np.where(large, whole, 0.0).astype(np.uint64), result)
    return result.astype(dtype)


def integer_to_integer(x: Array, dtype: np.dtype[Any]) -> Array:
    """The low bits of x, read as `dtype` (two's complement)."""
    low, high = integer_range(dtype)
    wide = x.astype(np.uint64 if x.dtype == np.uint64 else np.int64)
    if high > 127:
        return wide.astype(dtype)
    # ml_dtypes' narrow integers clip or wrap depending on its version: reduce by hand.
    bits = (high - low).bit_length()
    residue = (wide & wide.dtype.type(high - low)).astype(np.int64)
    return np.where(residue > high, residue - (1 << bits), residue).astype(dtype)


def integer_to_real(x: Array) -> Array:
    """Integers as float64 that later round to any narrower format as the integers themselves would.

    Integers of more than 53 bits are rounded to odd, which keeps what decides a tie (Boldo and Melquiond, 2008).
    """
    if x.dtype.itemsize < 8:
        return x.astype(np.float64)
    lost = x.dtype.type(2047)
    odd = ((x >> 11) | ((x & lost) != 0).astype(x.dtype)) << 11
    large = (x >= 2**53) | (x <= -(2**53)) if x.dtype.kind == "i" else x >= 2**53
    return np.where(large, odd, x).astype(np.float64)


def convert(x: Array, name: str, *, saturate: bool = True) -> Array:
    """x as tensor type `name`. Raises ValueError unless both types are real, integer or bool."""
    source = types.name_of(x.dtype)
    if source not in ("bool", "float64") and not source.startswith(("int", "uint")):
        raise ValueError(f"Cast from {source} is not in the reference")
    if name == "bool":
        return np.asarray(x != 0)
    if types.is_float(name):
        whole = x.astype(np.int64) if source in ("int2", "int4", "uint2", "uint4") else x
        exact = whole.astype(np.float64) if name == "float64" or source == "float64" else integer_to_real(whole)
        if name == "float4_e2m1fn":
            exact = np.where(np.isnan(exact), 0.0, exact)
        return types.round_to(exact, name, saturate=saturate and name.startswith("float8"))
    if name.startswith(("int", "uint")):
        dtype = types.numpy_dtype(name)
        return real_to_integer(x, dtype) if source == "float64" else integer_to_integer(x, dtype)
    raise ValueError(f"Cast to {name} is not in the reference")


def cast(x: Array, *, to: int | str, saturate: int = 1, round_mode: str = "up") -> Array:
    """Cast-6 to Cast-25: x as tensor type `to`, a TensorProto.DataType (its name in Cast-1), shape unchanged.

    To real: rounded to nearest even; out of range is infinity, for float8 the largest value with `saturate`, else
    infinity or NaN. To integer: reals truncate toward zero (to 4 and 2 bits they round to nearest even), integers keep
    their low bits. To bool: whether it is not zero (NaN is not). Open in ONNX: NaN to integer (0 here), real out of an
    integer's range (`real_to_integer`), NaN to float4 (kept). Strings, complex numbers and float8_e8m0fnu raise ValueError.
    """
    code = TensorProto.DataType.Value(to) if isinstance(to, str) else to
    if code not in types.NAMES:
        raise ValueError(f"Cast to {TensorProto.DataType.Name(code)} is not in the reference")
    return convert(x, types.NAMES[code], saturate=bool(saturate))


def cast_like(x: Array, target: Array, *, dtypes: tuple[str | None, ...], saturate: int = 1, round_mode: str = "up") -> Array:
    """CastLike-15 to CastLike-25: `cast` of x to the type of `target`, whose values do not matter."""
    name = dtypes[1]
    if name is None:
        raise ValueError("the type of the second input of CastLike is not known")
    return convert(x, name, saturate=bool(saturate))
