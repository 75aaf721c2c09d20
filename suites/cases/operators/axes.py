"""Reductions: axes, kept and dropped dimensions, lengths of sums, types, older versions with the axes as an attribute."""

from __future__ import annotations

from collections.abc import Iterator

from suites.cases.operators.shapes import FLOATS, LENGTHS, TAILS
from suites.cases.operators.spread import Spread
from suites.cases.operators.sweep import joined, pairwise
from suites.cases.operators.table import Entry, Row, names

_SUMS = "ReduceL1-18 ReduceL2-18 ReduceMean-18 ReduceSum-13 ReduceSumSquare-18 ReduceLogSumExp-18"
_POSITIVE = "ReduceLogSum-18"
_PRODUCT = "ReduceProd-18"
_EXTREMES = "ReduceMax-20 ReduceMin-20"
_EVERY = f"{_SUMS} {_POSITIVE} {_PRODUCT} {_EXTREMES}"
_WHOLE = "i32 i64 u32 u64"
_EMPTIED = _EVERY.replace("ReduceMean-18 ", "")  # the mean of nothing is undefined


def _version(version: int) -> str:
    """The sums and extremes in an older version; the axes of ReduceSum-13 are an input already."""
    chosen = f"{_SUMS} {_POSITIVE} {_EXTREMES}"
    return " ".join(f"{name}-{version}" for name in names(chosen) if (name, version) != ("ReduceSum", 13))


_SHAPES = "65 5x17 3x5x7 3x1x5 2x3x5x7 2x3x2x5x3 2x1x3x2x1x5 2x1x3x1x2x1x2x3"
_AXES = "1 -1 0 none 0_2 2_-1 -1_0 1_2_3 0_-2 0_1_2_3_4 -3_1_5 0_7_3_-2"


def _reduced(place: str, keepdims: str, noop: str, feed: str) -> str | None:
    """Axes stored or fed, an empty list of them or none."""
    if feed and "axes" not in place:
        return None
    return joined(place, keepdims and f"keepdims:{keepdims}", noop and f"noop_with_empty_axes:{noop}", feed and f"feed:{feed}")


def _attributed(place: str, keepdims: str) -> str | None:
    """The axes as an attribute."""
    return joined(place, keepdims and f"keepdims:{keepdims}")


def _places() -> Iterator[str]:
    """Every shape with all of the axes that it has, and with no axes given."""
    for shape in _SHAPES.split():
        rank = shape.count("x") + 1
        yield f"data:{shape}"
        for axes in _AXES.split():
            numbers = [int(axis) for axis in axes.split("_")] if axes != "none" else []
            if all(-rank <= axis < rank for axis in numbers) and len({axis % rank for axis in numbers}) == len(numbers):
                yield f"data:{shape}.axes:{axes}"


_PLACES = tuple(_places())
_GIVEN = [place for place in _PLACES if "none" not in place]
_COUNTED = [place for place in _GIVEN if "-" not in place]  # before version 11 no axis is negative
_KEPT = ("", "0", "1")

_SWEPT = " ".join(pairwise(_reduced, {"place": _PLACES, "keepdims": _KEPT, "noop": ("", "1", "0"), "feed": ("", "axes")}))
_SOME = " ".join(_SWEPT.split()[::7])
_ATTRIBUTES = " ".join(pairwise(_attributed, {"place": _GIVEN, "keepdims": _KEPT})[::8])
_POSITIVES = " ".join(pairwise(_attributed, {"place": _COUNTED, "keepdims": _KEPT})[::6])

# The reduced dimension is the inner one, the outer one, between two others.
_INNER = " ".join(f"data:3x{n}.axes:1" for n in LENGTHS.split())
_OUTER = " ".join(f"data:{n}x5.axes:0.keepdims:0" for n in TAILS.split())
_BETWEEN = " ".join(f"data:2x{n}x3.axes:-2" for n in TAILS.split())
_KEPT_LENGTHS = " ".join(f"data:3x{n}.axes:0.keepdims:0" for n in TAILS.split())

_RANKLESS = "data:scalar data:scalar.keepdims:0 data:scalar.axes:none data:scalar.axes:none.noop_with_empty_axes:1"
_EMPTY = "data:3x0x5.axes:1 data:3x0x5.axes:0_2.keepdims:0 data:0.keepdims:0 data:0x3.axes:1 data:2x0x3.axes:1_2.keepdims:0"
_LONG = "data:3x4096.axes:1 data:4099x3.axes:0 data:2x16384.axes:-1.keepdims:0 data:16381x2.axes:0 data:2x181x179.axes:1_2"
_LONGEST = "data:1x65536.axes:1 data:65537.keepdims:0 data:2x257x127.axes:2_1 data:65521x1.axes:0"

CASES: tuple[Entry, ...] = (
    Spread(f"{_SUMS} {_PRODUCT} {_EXTREMES}", "f32", "normal", _SWEPT),
    Row(_POSITIVE, "f32", "positive", _SOME),
    Spread(f"{_SUMS} {_PRODUCT} {_EXTREMES}", f"f16 bf16 f64 {_WHOLE}", "normal", _SOME),
    Spread(_EXTREMES, "i8 u8 bool", "uniform", _SOME),
    # Versions 1 to 13, with the axes as an attribute; version 18 of extremes, which has no bool.
    Spread(_version(13), "f32 f16 bf16 f64 i64", "positive", _ATTRIBUTES, one_in=2),
    Spread(_version(11), "f32 f16 f64 i32", "positive", _ATTRIBUTES, one_in=2),
    Spread(_version(1), "f32 f16 f64", "positive", _POSITIVES),
    Spread("ReduceProd-13 ReduceProd-11", "f32 f16 f64", "normal", _ATTRIBUTES, one_in=3),
    Spread("ReduceProd-1", "f32 f16 f64", "normal", _POSITIVES, one_in=3),
    Row("ReduceMax-12 ReduceMin-12 ReduceMax-13 ReduceMin-13", "i8 u8", "extreme", "data:2x3x5x7.axes:1_-1 data:65"),
    Row("ReduceMax-18 ReduceMin-18", "f32 f16 i8 u8 i64 u64", "extreme", "data:2x3x5x7.axes:1_-1 data:65"),
    # Lengths of sums: tails of vectors, where the reduced dimension is and where it is not the inner one.
    Spread(f"{_SUMS} {_POSITIVE} {_PRODUCT}", FLOATS, "positive grid", f"{_INNER} {_OUTER} {_BETWEEN} {_KEPT_LENGTHS}"),
    Spread(_EXTREMES, "f16 i8 i64 bool", "uniform", f"{_OUTER} {_BETWEEN} {_KEPT_LENGTHS}"),
    Spread(_EXTREMES, "f32 f16 i8 i32", "normal", _INNER),
    Spread("ReduceSum-13 ReduceL1-18 ReduceSumSquare-18", "f32 f16 bf16 i32 i64", "lattice", f"{_OUTER} {_BETWEEN}"),
    Spread("ReduceSum-13 ReduceProd-18 ReduceMean-18 ReduceL1-18", _WHOLE, "uniform", f"{_OUTER} {_BETWEEN}"),
    # A scalar; nothing to reduce, which gives the neutral element; no result.
    Row(_EVERY, "f32", "positive", _RANKLESS),
    Row(_EMPTIED, "f32", "positive", _EMPTY),
    Spread(_EMPTIED, f"f16 {_WHOLE}", "positive", f"{_RANKLESS} {_EMPTY}"),
    Row(_EXTREMES, "bool i8", "uniform", f"{_RANKLESS} {_EMPTY}"),
    Row(_POSITIVE, _WHOLE, "positive", "data:scalar.axes:none"),
    # NaN, infinities, the ends of the format: each in some lines only.
    Row(f"{_SUMS} {_POSITIVE} {_EXTREMES}", "f32 f16", "special", "data:33x9.axes:1 data:9x33.axes:0"),
    Row(f"ReduceLogSumExp-18 {_EXTREMES}", "f32 f16", "extreme", "data:33x9.axes:1 data:9x33.axes:0"),
    Row("ReduceLogSumExp-18", FLOATS, "wide tiny zero", "data:5x33.axes:1"),
    Row(_SUMS, "f32 f16", "zero tiny", "data:5x33.axes:1"),
    # Long sums.
    Row(f"{_SUMS} ReduceMax-20 ReduceMin-20", "f32", "normal", f"{_LONG} {_LONGEST}"),
    Row("ReduceSum-13 ReduceMean-18 ReduceL2-18 ReduceLogSumExp-18", "f32", "positive", f"{_LONG} {_LONGEST}"),
    Row("ReduceSum-13 ReduceMean-18 ReduceMax-20 ReduceSumSquare-18", "f16", "normal", _LONG),
    Row("ReduceSum-13 ReduceL1-18", "f32 f16 bf16", "lattice", _LONG),
    Row("ReduceSum-13 ReduceMean-18 ReduceMax-20", "i32 i64", "uniform", _LONG),
    Row("ReduceLogSum-18", "f32", "positive", _LONG),
)
