"""Anything a run measures → JSON that every parser accepts: no NaN tokens, no lone surrogates, ASCII only, one line."""

from __future__ import annotations

import dataclasses
import enum
import json
import math
from collections.abc import Mapping, Set
from typing import Any, NoReturn

import numpy as np

TEXT_LIMIT = 65_536  # characters kept of one string: half from its start, half from its end
ITEM_LIMIT = 1_000  # elements of an array; a journal holds numbers about tensors, not tensors

NON_FINITE = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}

_LEFT_OUT = object()


def plain(value: object, notes: list[str], where: str = "value") -> Any:
    """`value` as JSON types; what cannot be stored is left out, and a note says so.

    Non-finite floats become "nan", "inf" and "-inf"; NumPy and ml_dtypes scalars the Python number; sets sorted lists.
    """
    stored = _plain(value, notes, where)
    return None if stored is _LEFT_OUT else stored


def _plain(value: object, notes: list[str], where: str) -> Any:
    if value is None or value is True or value is False:
        return value
    if type(value) is str and len(value) <= TEXT_LIMIT and value.isascii():  # as nearly all are: the tests below cost more
        return value
    if type(value) is float or type(value) is int:
        return _number(value, notes, where)
    if isinstance(value, enum.Enum):
        value = value.value
    if isinstance(value, str):
        return _text(str(value), notes, where)
    if isinstance(value, (int, float, np.generic, np.ndarray)):
        return _number(value, notes, where)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        value = {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    if type(value) is dict or isinstance(value, Mapping):
        members = {_text(str(key), notes, where): _plain(item, notes, f"{where}.{key}") for key, item in value.items()}
        return {key: item for key, item in members.items() if item is not _LEFT_OUT}
    if type(value) is not list and isinstance(value, Set):
        value = sorted(value, key=str)
    if isinstance(value, (list, tuple)):
        items = [_plain(item, notes, f"{where}[{index}]") for index, item in enumerate(value)]
        return [item for item in items if item is not _LEFT_OUT]
    return _leave_out(type(value).__name__, notes, where)


def _leave_out(what: str, notes: list[str], where: str) -> object:
    notes.append(f"not stored: {where} ({what})")
    return _LEFT_OUT


def _number(value: Any, notes: list[str], where: str) -> Any:
    if isinstance(value, np.ndarray):
        if value.size > ITEM_LIMIT:
            return _leave_out(f"array of {value.size} elements", notes, where)
        return _plain(value.tolist(), notes, where)
    if isinstance(value, np.generic):
        item = value.item()
        if not isinstance(item, (int, float, str)):  # long double and ml_dtypes scalars are not Python numbers yet
            try:
                item = float(item)
            except (TypeError, ValueError):
                return _leave_out(type(value).__name__, notes, where)
        return _plain(item, notes, where)
    if isinstance(value, int):
        # No parser in use reads more than 64 bits exactly, and Python refuses to print very long integers.
        return int(value) if value.bit_length() <= 64 else _leave_out(f"integer of {value.bit_length()} bits", notes, where)
    if math.isfinite(value):
        return float(value)
    return "nan" if math.isnan(value) else "inf" if value > 0 else "-inf"


def _text(text: str, notes: list[str], where: str) -> str:
    if len(text) > TEXT_LIMIT:
        half = TEXT_LIMIT // 2
        notes.append(f"cut: {where} ({len(text)} characters)")
        text = f"{text[:half]}\n[... {len(text) - 2 * half} characters left out ...]\n{text[-half:]}"
    # Vendor text decoded with surrogateescape holds lone surrogates, which other JSON parsers reject.
    return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode("utf-8")


def revive(number: object) -> object:
    """The float of "nan", "inf" and "-inf"; anything else as it is."""
    return NON_FINITE.get(number, number) if isinstance(number, str) else number


def encode(value: Mapping[str, Any]) -> bytes:
    """One line of ASCII, its newline included. The value must be what `plain` returns."""
    return json.dumps(value, allow_nan=False, separators=(",", ":")).encode("ascii") + b"\n"


def decode(line: str) -> Any:
    """The value of one line. Raises ValueError for anything that is not strict JSON."""
    return _DECODER.decode(line)


def _refuse(token: str) -> NoReturn:
    raise ValueError(f"{token} is not JSON")


_DECODER = json.JSONDecoder(parse_constant=_refuse)
