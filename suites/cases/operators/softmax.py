"""Softmax, LogSoftmax and Hardmax: axes of each rank, lengths of lines; before version 13 all dimensions from the axis on are
one line.
"""

from __future__ import annotations

from collections.abc import Iterator

from suites.cases.operators.shapes import FLOATS, LENGTHS
from suites.cases.operators.spread import Spread
from suites.cases.operators.table import Row

_ALONG = "Softmax-13 LogSoftmax-13"
_ALL = f"{_ALONG} Hardmax-13"
_SHAPES = "13 7x5 3x5x7 1x9x1 2x3x5x4 2x3x1x5 2x3x2x5x3 2x1x3x2x1x5 1x2x1x3x2x1x5 2x1x3x1x2x1x2x3"


def _axes(negative: bool) -> Iterator[str]:
    """Every axis of each shape, some counted from the end."""
    for shape in _SHAPES.split():
        rank = shape.count("x") + 1
        yield from (f"input:{shape}.axis:{axis}" for axis in range(-rank if negative else 0, rank))


_FLATTENED = " ".join([*_axes(negative=False), "input:7x5", "input:2x3x5x4"])
_TWO_WAY = " ".join([*_axes(negative=True), "input:7x5", "input:2x3x5x4"])
_EVERY_THIRD = " ".join(_TWO_WAY.split()[::3])
_LINES = " ".join(f"input:{n}x3.axis:0 input:2x{n}x3.axis:-2" for n in LENGTHS.split()[1::2])
_ROWS = " ".join(f"input:3x{n}" for n in LENGTHS.split())
_LONG_LINES = "input:2x1021 input:1031x2.axis:0 input:2x2048 input:4099"
_NONE = "input:0 input:3x0.axis:0 input:0x5 input:3x0x5.axis:2"

CASES = (
    Spread(_ALL, "f32", "normal", _TWO_WAY),
    Spread(_ALL, "f16 bf16 f64", "normal uniform", _EVERY_THIRD),
    Spread("Softmax-11 LogSoftmax-11 Hardmax-11", "f32", "normal", _TWO_WAY, one_in=2),
    Spread("Softmax-11 LogSoftmax-11 Hardmax-11", "f16 f64", "normal", _EVERY_THIRD, one_in=3),
    Spread("Softmax-1 LogSoftmax-1 Hardmax-1", "f32 f16", "normal", _FLATTENED, one_in=3),
    Spread(_ALL, FLOATS, "normal uniform", _ROWS),
    Spread(_ALL, "f32 f16", "wide normal", _LINES),
    # Equal elements share; of the largest ones, Hardmax takes the first; lines with infinities or NaN leave the others alone.
    Row(_ALL, "f32 f16", "zero extreme special", "input:5x33 input:33x5.axis:0"),
    Row("Hardmax-13", FLOATS, "extreme lattice zero", "input:3x5x7.axis:1 input:7x65 input:17"),
    Row(_ALL, "f32", "normal", f"{_LONG_LINES} {_NONE}"),
    Spread(_ALL, "f16", "normal", f"{_LONG_LINES} {_NONE}"),
)
