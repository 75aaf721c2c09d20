"""Values from outside as the evaluator carries them: floating-point tensors as float64, checked against what is declared."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from reference import dtypes, signature
from reference.graph import Declared, EvaluationError, Graph, Value


def carried(value: Any) -> Any:
    """Floating-point arrays as float64, also inside sequences."""
    if isinstance(value, list):
        return [carried(item) for item in value]
    if value is None:
        return None
    array = np.asarray(value)
    if array.dtype.kind == "U":  # of one width, which results would be cut to
        array = array.astype(object)
    if not array.dtype.isnative:
        array = array.astype(array.dtype.newbyteorder("="))
    return dtypes.to_real(array)


def fed(graph: Graph, feeds: Mapping[str, Any]) -> dict[str, Value]:
    """The feeds as values. Raises EvaluationError for one that is missing, unknown, or of another type or shape."""
    inputs = {declared.name: declared for declared in graph.inputs}
    unknown = sorted(map(str, feeds.keys() - inputs.keys()))
    if unknown:
        raise EvaluationError(f"'{unknown[0]}' was fed, but the graph's inputs are {', '.join(map(repr, inputs)) or 'none'}")
    values = {}
    lengths: dict[str, tuple[int, str]] = {}
    for name, declared in inputs.items():
        if name not in feeds:
            if name in graph.initializers:
                continue
            raise EvaluationError(f"no value was fed for graph input '{name}'")
        value = _copied(name, feeds[name])
        kind = _type_of(declared, value)
        if isinstance(value, np.ndarray) and declared.shape is not None:
            _check_shape(name, declared.shape, value.shape, lengths)
        values[name] = Value(carried(value), kind)
    return values


def _copied(name: str, value: Any) -> Any:
    """A feed as an array, a list of arrays or None; copied, because results share memory with it."""
    try:
        if isinstance(value, list | tuple):
            return [np.array(item) for item in value]
        return None if value is None else np.array(value)
    except ValueError as error:
        raise EvaluationError(f"the value fed for graph input '{name}' is no tensor: {error}") from error


def _type_of(declared: Declared, value: Any) -> str | None:
    """The type of a feed, which must be the declared one."""
    name, kind = declared.name, declared.type
    if value is None:
        if not (kind or "").startswith("optional("):
            raise EvaluationError(f"graph input '{name}' is {kind} and cannot be empty")
    elif isinstance(value, list):
        if "seq(" not in (kind or "seq("):
            raise EvaluationError(f"graph input '{name}' is {kind}, but a list was fed")
        for got in (dtypes.name_of(v.dtype) for v in value):
            if kind is not None and got != signature.element(kind):
                raise EvaluationError(f"graph input '{name}' is {kind}, but a list with {got} was fed")
    else:
        got = dtypes.name_of(value.dtype)
        if kind is not None and got != signature.element(kind):
            raise EvaluationError(f"graph input '{name}' is {kind}, but {got} was fed")
        return kind or got
    return kind


def _check_shape(name: str, declared: Sequence[Any], shape: Sequence[int], lengths: dict[str, tuple[int, str]]) -> None:
    """Raises EvaluationError where a fed shape contradicts the declared one; a symbol has one length in all inputs."""
    fits = len(declared) == len(shape) and all(not isinstance(d, int) or d == n for d, n in zip(declared, shape, strict=True))
    if not fits:
        text = ", ".join("?" if d is None else str(d) for d in declared)
        raise EvaluationError(f"graph input '{name}' has shape ({text}), but {tuple(shape)} was fed")
    for symbol, length in zip(declared, shape, strict=True):
        if isinstance(symbol, str):
            known, by = lengths.setdefault(symbol, (length, name))
            if known != length:
                raise EvaluationError(f"'{symbol}' is {known} in graph input '{by}', but {length} in '{name}'")


def in_place_of(name: str, computed: Value, given: Any) -> Value:
    """A given tensor as the value that following nodes read. Raises EvaluationError if it has another type or shape."""
    if isinstance(computed.data, np.ndarray) and not isinstance(given, list):
        given = np.asarray(given)
        kind, shape = dtypes.name_of(given.dtype), given.shape
        if kind != computed.type or shape != computed.data.shape:
            raise EvaluationError(f"'{name}' is {computed.type} {computed.data.shape}, but {kind} {shape} was given")
    return Value(carried(given), computed.type)
