"""Positions of extremes along an axis, running sums and products."""

from __future__ import annotations

from collections.abc import Iterator

from suites.cases.operators.shapes import INTEGERS, TAILS
from suites.cases.operators.spread import Spread
from suites.cases.operators.sweep import joined, pairwise
from suites.cases.operators.table import Entry, Row

_POSITIONS = "ArgMax-13 ArgMin-13"
_SHAPES = "13 7x33 3x5x7 3x1x5 2x3x5x4 2x3x2x5x3 2x1x3x2x1x5 2x1x3x1x2x1x2x3"


def _along(tensor: str) -> Iterator[str]:
    """Each axis of each shape, the first and the last two counted from the end."""
    for shape in _SHAPES.split():
        rank = shape.count("x") + 1
        yield from (f"{tensor}:{shape}.axis:{axis}" for axis in (*range(rank), -1, *([-2, -rank] if rank > 2 else [])))


def _position(place: str, keepdims: str, last: str) -> str:
    return joined(place, keepdims and f"keepdims:{keepdims}", last and f"select_last_index:{last}")


def _running(place: str, exclusive: str, reverse: str, kind: str, feed: str) -> str:
    """The axis is an int64 or an int32, stored or fed."""
    return joined(
        f"{place}{kind}", exclusive and f"exclusive:{exclusive}", reverse and f"reverse:{reverse}", feed and f"feed:{feed}"
    )


_FLAGS = ("", "1", "0")
_PLACES = ("data:13", "data:7x33", *_along("data"))
_LASTS = " ".join(pairwise(_position, {"place": _PLACES, "keepdims": ("", "0", "1"), "last": _FLAGS}))
_SOME = " ".join(_LASTS.split()[::10])
_FIRSTS = " ".join(
    pairwise(_position, {"place": [p for p in _PLACES if "-" not in p], "keepdims": ("", "0"), "last": ("",)})[::4]
)
_LINES = " ".join(f"data:3x{n}.axis:1 data:{n}x3.axis:0.select_last_index:1" for n in TAILS.split())
_SUMMED = " ".join(
    pairwise(
        _running,
        {
            "place": ("x:0x3.axis:1", *_along("x")),
            "exclusive": _FLAGS,
            "reverse": _FLAGS,
            "kind": ("", ":i32"),
            "feed": ("", "axis"),
        },
    )
)
_SOME_SUMMED = " ".join(_SUMMED.split()[::9])
_STEPS = " ".join(f"x:3x{n}.axis:1 x:{n}x5.axis:0.exclusive:1 x:2x{n}x3.axis:1.reverse:1" for n in TAILS.split())

CASES: tuple[Entry, ...] = (
    # Ties: the recipe extreme repeats the largest and smallest elements, zero has nothing else.
    Spread(_POSITIONS, "f32", "extreme zero", _LASTS, one_in=2),
    Spread(_POSITIONS, f"f16 bf16 f64 {INTEGERS}", "extreme lattice zero", _SOME),
    Spread(_POSITIONS, "f32 f16 i8 i64", "extreme normal", _LINES),
    Row(_POSITIONS, "f32 f16", "special half", "data:33x9.axis:1 data:9x33.axis:0.select_last_index:1"),
    Spread("ArgMax-12 ArgMin-12", "f32 i8 i64", "extreme", _SOME, one_in=2),
    Spread("ArgMax-11 ArgMin-11 ArgMax-1 ArgMin-1", "f32 f16 f64 i8 u8 i32 i64", "extreme normal", _FIRSTS),
    Row(_POSITIONS, "f32 i32", "normal zero", "data:2x4099.axis:1 data:4099x2.axis:0.select_last_index:1"),
    # Running sums and products.
    Row("CumSum-14", "f32", "normal", _SUMMED, one_in=2),
    Row("CumProd-26", "f32", "normal", _SOME_SUMMED),
    Spread("CumSum-14 CumProd-26", "f16 bf16 f64 i32 i64 u32 u64", "normal lattice", _SOME_SUMMED),
    Spread("CumSum-14", "f32 i64", "normal lattice", _STEPS, one_in=2),
    Row("CumSum-14", "f32 f16 bf16 f64", "special", "x:33x3.axis:0 x:3x33.axis:1.exclusive:1.reverse:1"),
    Row("CumSum-14", "f32 i64", "normal", "x:2x4099.axis:1 x:4099x2.axis:0.reverse:1"),
    Row("CumSum-11", "f32 f64 i32 i64 u32 u64", "normal", "x:3x5x7.axis:-2 x:33.axis:0:i32.exclusive:1.reverse:1"),
    Row("CumProd-26", "f32 f16 bf16 f64", "special lattice", "x:33x3.axis:0 x:3x33.axis:1.exclusive:1.reverse:1"),
)
