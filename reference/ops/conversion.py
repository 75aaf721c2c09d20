"""Casts between tensor types. Real results are float64 values already rounded to the target type, so that chains are
exact."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
from numpy.typing import NDArray
from onnx import TensorProto

from reference import dtypes as types
from reference.ops import text

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


def convert(
    x: Array,
    name: str,
    *,
    source: str | None = None,
    saturate: bool = True,
    round_mode: str = "up",
    infinities_saturate: bool = True,
) -> Array:
    """x as tensor type `name`; `source` is its declared type where it differs from that of the array. Raises ValueError for
    complex numbers and for strings that are no number."""
    source = source or types.name_of(x.dtype)
    if source == name and not types.is_float(name):
        return x
    if source.startswith("complex") or name.startswith("complex"):
        raise ValueError(f"there is no cast from {source} to {name} in ONNX")
    if name == "str":
        return text.written(x, source)
    if source == "str":
        x = text.integers(x, name) if types.is_integer(name) else text.reals(x, exactly=name == "float64")
    if name == "bool":
        return np.asarray(x != 0)
    if types.is_integer(name):
        dtype = types.numpy_dtype(name)
        return real_to_integer(x, dtype) if x.dtype == np.float64 else integer_to_integer(x, dtype)
    whole = x.astype(np.int64) if source in ("int2", "int4", "uint2", "uint4") else x
    exact = whole.astype(np.float64) if name == "float64" or x.dtype == np.float64 else integer_to_real(whole)
    if name == types.SCALE:
        return types.round_to_scale(exact, round_mode, saturate=saturate)
    if not types.FLOATS[name].has_nan:
        exact = np.where(np.isnan(exact), 0.0, exact)
    if not infinities_saturate and name.endswith("fnuz"):
        exact = np.where(np.isinf(exact), np.nan, exact)
    return types.round_to(exact, name, saturate=saturate and name.startswith("float8"))


def _named(to: int | str) -> str:
    """The tensor type that the attribute names: a TensorProto.DataType, its word in Cast-1. Raises ValueError."""
    code = TensorProto.DataType.Value(to.upper()) if isinstance(to, str) else to
    if code not in types.NAMES:
        raise ValueError(f"Cast to type {to}, which is no tensor type")
    return types.NAMES[code]


def cast(
    x: Array, *, to: int | str, saturate: int = 1, round_mode: str = "up", dtypes: tuple[str | None, ...] = (None,)
) -> Array:
    """Cast-28 (1 to 18 and 24 to 28 alike): x as tensor type `to`, shape unchanged.

    To real: rounded to nearest even; out of range is infinity, for float8 the largest value with `saturate`, else infinity or
    NaN; float8_e8m0fnu rounds by `round_mode` (`dtypes.round_to_scale`). To integer: reals truncate toward zero (to 4 and 2
    bits they round to nearest even), integers keep their low bits. To bool: whether it is not zero (NaN is not). Strings
    are numbers in plain or scientific notation, INF or NaN. Open in ONNX: NaN to integer (0 here), real out of an integer's
    range (`real_to_integer`), NaN to formats without it (0, as ONNX's node cases have it; its technical details ask for the
    largest number), digits of strings (as few as tell the value), strings with a fraction to integer (as reals) and to bool
    (as numbers). Raises ValueError for strings that are no number.
    """
    return convert(x, _named(to), source=dtypes[0], saturate=bool(saturate), round_mode=round_mode)


def cast_19(x: Array, *, to: int, saturate: int = 1, dtypes: tuple[str | None, ...] = (None,)) -> Array:
    """Cast-19 to Cast-23: `cast`, but infinities are NaN in the FNUZ formats even with `saturate`."""
    return convert(x, _named(to), source=dtypes[0], saturate=bool(saturate), infinities_saturate=False)


def _target(dtypes: tuple[str | None, ...]) -> str:
    if dtypes[1] is None:
        raise ValueError("the type of the second input of CastLike is not known")
    return dtypes[1]


def cast_like(x: Array, target: Array, *, dtypes: tuple[str | None, ...], saturate: int = 1, round_mode: str = "up") -> Array:
    """CastLike-25 (15 and 24 alike): `cast` of x to the type of `target`, whose values do not matter."""
    return convert(x, _target(dtypes), source=dtypes[0], saturate=bool(saturate), round_mode=round_mode)


def cast_like_19(x: Array, target: Array, *, dtypes: tuple[str | None, ...], saturate: int = 1) -> Array:
    """CastLike-19 to CastLike-23: `cast_19` of x to the type of `target`, whose values do not matter."""
    return convert(x, _target(dtypes), source=dtypes[0], saturate=bool(saturate), infinities_saturate=False)


def _bits(name: str) -> int:
    """The width of an element of a tensor type."""
    dtype = types.numpy_dtype(name)
    if types.is_float(name):
        return int(ml_dtypes.finfo(dtype).bits)  # type: ignore[no-untyped-call]
    return int(ml_dtypes.iinfo(dtype).bits) if types.is_integer(name) else 8 * dtype.itemsize  # type: ignore[no-untyped-call]


def bit_cast(x: Array, *, to: int, dtypes: tuple[str | None, ...]) -> Array:
    """BitCast-26: the bits of x read as tensor type `to`, shape unchanged; a complex64 has its real part in the low half.

    Bits of NaN are those that float64 keeps of it, except for one that becomes the same type. Open in ONNX: bool, here a byte
    of 0 or 1, and every other byte true. Raises ValueError for strings and for types of another width.
    """
    source, target = dtypes[0], _named(to)
    if source is None:
        raise ValueError("the type of the input of BitCast is not known")
    if "str" in (source, target) or _bits(source) != _bits(target):
        raise ValueError(f"BitCast from {source} to {target}: both must have as many bits, and neither may be str")
    if source == target:
        return x
    stored = types.cast(x, source) if types.is_float(source) else x
    bits = stored.view(f"u{stored.itemsize}")
    if _bits(source) < 8:
        bits = bits & bits.dtype.type(2 ** _bits(source) - 1)
    return np.asarray(bits != 0) if target == "bool" else types.to_real(bits.view(types.numpy_dtype(target)))
