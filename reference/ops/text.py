"""Numbers written as strings and read from them, as Cast has them: plain and scientific notation, INF and NaN."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reference import dtypes as types

Array = NDArray[Any]

NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
SPECIAL = {"inf": math.inf, "+inf": math.inf, "-inf": -math.inf, "nan": math.nan}
"""The reserved words, in lower case."""


def _read(text: str) -> tuple[float, Fraction | None]:
    """The float64 nearest to the number in the text, and the number itself; None for infinities, NaN and numbers that
    float64 overflows or underflows, whose exact form may be enormous. Raises ValueError."""
    special = SPECIAL.get(text.lower())
    if special is not None:
        return special, None
    if not NUMBER.fullmatch(text):
        raise ValueError(f"{text!r} is no number")
    near = float(text)
    return near, Fraction(text) if math.isfinite(near) and near != 0 else None


def _rounded_to_odd(near: float, exact: Fraction) -> float:
    """Of the two float64 around `exact` the one with an odd last bit, so that rounding once more to a narrower format
    gives what rounding `exact` would (Boldo and Melquiond, 2008)."""
    if exact == Fraction(near) or int(np.float64(near).view(np.int64)) & 1:
        return near
    return math.nextafter(near, math.inf if exact > Fraction(near) else -math.inf)


def _strings(x: Array) -> Iterator[str]:
    return (v.decode() if isinstance(v, bytes) else str(v) for v in x.ravel().tolist())


def reals(x: Array, *, exactly: bool) -> Array:
    """The numbers in the strings x as float64 that later round to a narrower format as the numbers themselves would; with
    `exactly` rounded to nearest float64. Raises ValueError for text that is no number."""
    values = [near if exactly or exact is None else _rounded_to_odd(near, exact) for near, exact in map(_read, _strings(x))]
    return np.array(values, np.float64).reshape(x.shape)


def integers(x: Array, name: str) -> Array:
    """The numbers in the strings x as integers whose low bits are those of the integer type `name`: uint64, or float64 if
    one of them is infinite or NaN. Fractions are cut off, or for 4 and 2 bits rounded, as those of reals are."""
    pairs = [_read(text) for text in _strings(x)]
    if any(exact is None and near != 0 for near, exact in pairs):
        return np.array([near for near, _ in pairs], np.float64).reshape(x.shape)
    whole = round if name.endswith(("int4", "int2")) else int
    return np.array([0 if exact is None else whole(exact) % 2**64 for _, exact in pairs], np.uint64).reshape(x.shape)


def _plain(number: str) -> str:
    """A decimal number without exponent and with a decimal point."""
    text = format(Decimal(number), "f")
    return text if "." in text else f"{text}.0"


def written(x: Array, source: str) -> Array:
    """Strings for the values of x, whose declared type is `source`: integers in decimal, bool as 1 and 0, reals in plain
    notation with as few digits as tell the value, rounded to that type, from its neighbours in it, or as NaN, INF and -INF."""
    flat = types.round_to(x.ravel(), source) if types.is_float(source) else x.ravel()
    result = np.empty(flat.shape, object)
    if not types.is_float(source):
        result[:] = [str(int(v)) for v in flat]
        return result.reshape(x.shape)
    for word, hit in (("NaN", np.isnan(flat)), ("INF", np.isposinf(flat)), ("-INF", np.isneginf(flat))):
        result[hit] = word
    pending = np.flatnonzero(np.isfinite(flat))
    for digits in range(17):
        texts = [f"{v:.{digits}e}" for v in flat[pending].tolist()]
        same = types.round_to(np.array(texts, np.float64), source) == flat[pending]
        result[pending[same]] = [_plain(text) for text, done in zip(texts, same, strict=True) if done]
        pending = pending[~same]
    return result.reshape(x.shape)
