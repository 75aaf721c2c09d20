"""Arrays, records of the interface and containers ↔ Python builtins.

execnet carries None, bool, int, float, str, bytes, list, dict and tuple. Here a tuple always is a tagged value
`(tag, content…)`, so that decoding needs no guessing; everything else stands for itself.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np

from backends.interface import Capabilities, DeviceInfo, ExternalMemory, NodePlacement, TensorSpec
from backends.worker.log import printable

RECORDS = {record.__name__: record for record in (Capabilities, DeviceInfo, ExternalMemory, NodePlacement, TensorSpec)}
SMALL = range(-(2**31), 2**31)  # execnet fails on integers below this range


def encode(value: object) -> Any:
    """Builtins that stand for `value`. Raises TypeError, naming the type, for what no rule covers."""
    if value is None or type(value) in (bool, float, bytes):
        return value
    if isinstance(value, np.ndarray | np.generic):
        tag = "array" if isinstance(value, np.ndarray) else "scalar"
        return (tag, *_encode_array(np.asarray(value)))
    if isinstance(value, int):
        return int(value) if value in SMALL else ("int", hex(value))
    if isinstance(value, str):
        return _encodable(str(value))
    if isinstance(value, float | complex):
        return float(value) if isinstance(value, float) else ("complex", value.real, value.imag)
    if isinstance(value, bytearray | memoryview):
        return bytes(value)
    if dataclasses.is_dataclass(value) and not isinstance(value, type) and RECORDS.get(type(value).__name__):
        fields = {field.name: encode(getattr(value, field.name)) for field in dataclasses.fields(value)}
        return ("record", type(value).__name__, fields)
    if isinstance(value, Mapping):
        if all(type(key) is str for key in value):
            return {_encodable(key): encode(item) for key, item in value.items()}
        return ("mapping", [[encode(key), encode(item)] for key, item in value.items()])
    if isinstance(value, list):
        return [encode(item) for item in value]
    if isinstance(value, tuple):
        return ("tuple", [encode(item) for item in value])
    if isinstance(value, set | frozenset):
        return ("frozenset", [encode(item) for item in value])
    raise TypeError(f"{type(value).__module__}.{type(value).__qualname__} cannot be sent between processes")


def decode(value: Any) -> Any:
    """What `encode` was given: sets come back frozen, mappings as dicts, arrays C-contiguous, writable and owned."""
    if isinstance(value, dict):
        return {key: decode(item) for key, item in value.items()}
    if isinstance(value, list):
        return [decode(item) for item in value]
    if not isinstance(value, tuple):
        return value
    tag, *content = value
    match tag:
        case "array":
            return _decode_array(*content)
        case "scalar":
            return _decode_array(*content)[()]
        case "int":
            return int(content[0], 16)
        case "complex":
            return complex(*content)
        case "record":
            return RECORDS[content[0]](**decode(content[1]))
        case "mapping":
            return {decode(key): decode(item) for key, item in content[0]}
        case "tuple":
            return tuple(decode(item) for item in content[0])
        case "frozenset":
            return frozenset(decode(item) for item in content[0])
    raise ValueError(f"unknown tag {tag!r}")


def sendable_dtype(dtype: np.dtype) -> bool:
    """Whether arrays of this dtype are tensors that can be sent: NumPy's and ml_dtypes' numbers, and strings."""
    return dtype.kind in "biufcSUOT" or dtype.type.__module__ == "ml_dtypes"


def _encode_array(array: np.ndarray) -> tuple[str, list[int], Any]:
    """dtype name, shape, and the bytes in C order (or, for strings and objects, a list of encoded elements)."""
    dtype = array.dtype
    if dtype.type.__module__ == "ml_dtypes":
        return f"ml_dtypes.{dtype.name}", list(array.shape), array.tobytes()
    if dtype.kind in "OT":
        return "object", list(array.shape), [encode(item) for item in array.ravel().tolist()]
    if dtype.kind in "biufcSU":
        return dtype.str, list(array.shape), array.tobytes()
    raise TypeError(f"an array of dtype {dtype} cannot be sent between processes")


def _decode_array(name: str, shape: list[int], content: Any) -> np.ndarray:
    if name == "object":
        objects = np.empty(len(content), dtype=object)
        objects[:] = [decode(item) for item in content]
        return objects.reshape(shape)
    if name.startswith("ml_dtypes."):
        import ml_dtypes  # 10 ms that most workers never need

        dtype = np.dtype(getattr(ml_dtypes, name.removeprefix("ml_dtypes.")))
    else:
        dtype = np.dtype(name)
    array: np.ndarray = np.empty(shape, dtype)
    if array.nbytes:
        array[...] = np.frombuffer(content, dtype).reshape(shape)
    return array


def _encodable(text: str) -> str:
    """Lone surrogates cannot be encoded as UTF-8; they are escaped."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return printable(text)
    return text
