"""What becomes of the values of every type: bits that only move, full significands, special values at every position, edges of
integers, half-way values."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np

from backends.interface import Device, Executable
from suites.exercises import patterns
from suites.exercises.evidence import Arrays, Evidence

SPECIALS = ("nan", "inf", "-inf", "-0", "subnormal", "-subnormal")


def moved(device: Device, model: bytes, feeds: Arrays) -> dict[str, Any]:
    """Every input but indices holds bit patterns of its type; what comes back has the declared type."""
    told = Evidence()
    executable = device.compile(model)
    data = {
        name: array if name == "indices" else patterns.bit_patterns(array.dtype, array.size).reshape(array.shape)
        for name, array in feeds.items()
    }
    results = _run(executable, data)
    for spec in executable.outputs:
        found = "str" if results[spec.name].dtype.kind in "OUT" else results[spec.name].dtype.name
        told.expect(found == spec.dtype, "type-differs", f"{spec.name} comes back as {found}, declared {spec.dtype}")
    told.ran("bit patterns", data, results)
    executable.release()
    return told.plain()


def significands(device: Device, model: bytes, feeds: Arrays, neutral: str) -> dict[str, Any]:
    """The first input needs all bits of its significand; `neutral` says what the second holds, so that the first comes out.

    How many bits did come out is recorded.
    """
    told = Evidence()
    executable = device.compile(model)
    first, *others = feeds
    x = patterns.significant(feeds[first].dtype, feeds[first].size).reshape(feeds[first].shape)
    data = {first: x, **{name: _neutral(feeds[name], neutral) for name in others}}
    results = _run(executable, data)
    told.ran("full significands", data, results)
    got = next(iter(results.values()))
    if got.size == x.size:
        with np.errstate(all="ignore"):
            error = np.abs(got.astype(np.float64).reshape(-1) / x.astype(np.float64).reshape(-1) - 1).max()
        bits = patterns.PRECISION[x.dtype.name] if error == 0 else -math.log2(error) if np.isfinite(error) else 0.0
        told.number("significand", bits=round(float(bits), 1), exact=int(error == 0))
    executable.release()
    return told.plain()


def _neutral(array: np.ndarray, neutral: str) -> np.ndarray:
    """The operand that changes nothing, in the shape and type of `array`."""
    if neutral == "identity":
        rows, columns = array.shape[:2]
        return np.eye(rows, columns).reshape(array.shape).astype(array.dtype)
    value = {"zero": 0.0, "one": 1.0, "lowest": -1000.0, "highest": 1000.0}[neutral]
    return np.full(array.shape, value).astype(array.dtype)


def positions(device: Device, model: bytes, feeds: Arrays) -> dict[str, Any]:
    """Special values among ordinary ones, at every position in turn; of a matrix, in every row at another position.

    Of a vector, NaN stands in one operand or the other, and half a vector further another special value in the first.
    """
    told = Evidence()
    executable = device.compile(model)
    names = list(feeds)
    size = feeds[names[0]].size
    others = itertools.cycle(SPECIALS[1:])
    runs: list[tuple[str, dict[str, np.ndarray]]] = []
    if feeds[names[0]].ndim == 2:
        for kind in SPECIALS:
            runs.append((f"{kind} on the diagonal", {name: _with_diagonal(array, kind) for name, array in feeds.items()}))
    elif size == 1:
        for kind in SPECIALS:
            runs.append((kind, {**feeds, names[0]: _with_special(feeds[names[0]], kind, 0)}))
    else:
        for position in range(size):
            name, kind, further = names[position % len(names)], next(others), (position + (size + 1) // 2) % size
            data = {**feeds, names[0]: _with_special(feeds[names[0]], kind, further)}
            data[name] = _with_special(data[name], "nan", position)
            runs.append((f"nan at {position} of {name}, {kind} at {further} of {names[0]}", data))
    for label, data in runs:
        told.ran(label, data, _run(executable, data))
    executable.release()
    return told.plain()


def _special(kind: str, dtype: np.dtype) -> Any:
    smallest = {"float32": 2.0**-140, "float16": 2.0**-20}[dtype.name]
    return {"-0": -0.0, "subnormal": smallest, "-subnormal": -smallest}.get(kind) or float(kind)


def _with_special(array: np.ndarray, kind: str, position: int) -> np.ndarray:
    changed = np.array(array)
    changed.reshape(-1)[position] = _special(kind, array.dtype)
    return changed


def _with_diagonal(array: np.ndarray, kind: str) -> np.ndarray:
    changed = np.array(array)
    np.fill_diagonal(changed, _special(kind, array.dtype))
    return changed


def extremes(device: Device, model: bytes, feeds: Arrays, lowest: int) -> dict[str, Any]:
    """Every input but indices holds the edges of its integer type, from another one on in each. lowest: 0 leaves out the
    smallest number of a signed type."""
    told = Evidence()
    executable = device.compile(model)
    data = {}
    for turn, (name, array) in enumerate(feeds.items()):
        signed = array.dtype.kind == "i"
        edges = patterns.integer_edges(array.dtype)[1 if signed and not lowest else 0 :]
        data[name] = array if name == "indices" else np.resize(np.roll(np.array(edges, array.dtype), 5 * turn), array.shape)
    told.ran("edges", data, _run(executable, data))
    executable.release()
    return told.plain()


def to_integers(device: Device, model: bytes, feeds: Arrays, low: int, high: int) -> dict[str, Any]:
    """Reals that the integer type [low, high] holds once their fraction is cut off, in as many runs as it takes."""
    told = Evidence()
    executable = device.compile(model)
    ((name, array),) = feeds.items()
    values = patterns.in_range(array.dtype, low, high)
    for start in range(0, len(values), array.size):
        data = {name: np.resize(values[start : start + array.size], array.shape)}
        told.ran(f"from {values[start]!s} on", data, _run(executable, data))
    executable.release()
    return told.plain()


def half_way(device: Device, model: bytes, feeds: Arrays, target: str, scale: float) -> dict[str, Any]:
    """The first input lies half-way between two results, or next to that. target: type of the result of a Cast, "" where whole
    steps are rounded to. scale: of a quantisation whose scale is a constant; a scale that is fed is 1/2."""
    told = Evidence()
    executable = device.compile(model)
    name, array = next(iter(feeds.items()))
    if target:
        values = patterns.ties(array.dtype, np.dtype(target), array.size)
    else:
        values = patterns.half_steps(array.dtype, array.size, scale)
    data = {**feeds, name: values.reshape(array.shape)}
    if "y_scale" in feeds:
        data["y_scale"] = np.full(feeds["y_scale"].shape, 0.5).astype(feeds["y_scale"].dtype)
    told.ran("half-way values", data, _run(executable, data))
    executable.release()
    return told.plain()


def _run(executable: Executable, data: Arrays) -> dict[str, np.ndarray]:
    """An inference; a compiler may have dropped an input that nothing reads."""
    return executable.run({spec.name: data[spec.name] for spec in executable.inputs})
