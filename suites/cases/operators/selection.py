"""Elements chosen by their value or by a condition: Unique, Compress, NonZero, OneHot."""

from __future__ import annotations

from suites.cases.operators.sizes import NARROW, WIDTHS
from suites.cases.operators.sweep import Sweep, joined
from suites.cases.operators.table import Row

# Unique: recipe lattice repeats values.
_UNIQUE = {
    "x": ("23", "3x5x7", "5x4", "1", "1x7", "64", "2x2x2x2"),
    "axis": ("", "0", "1", "-1", "-2"),
    "sorting": ("", "0", "1"),
    "outputs": ("", "1", "2", "3"),
}


def _unique(x: str, axis: str, sorting: str, outputs: str) -> str | None:
    if axis and not -x.count("x") - 1 <= int(axis) <= x.count("x"):
        return None
    return joined(f"x:{x}", axis and f"axis:{axis}", sorting and f"sorted:{sorting}", outputs and f"outputs:{outputs}")


def _compress(data: str, axis: str, short: int, const: str) -> str | None:
    """Compress with a condition as long as the axis, or shorter."""
    lengths = [int(n) for n in data.split("x")]
    if axis and not -len(lengths) <= int(axis) < len(lengths):
        return None
    length = 1
    for n in lengths if not axis else [lengths[int(axis)]]:
        length *= n
    if length < short:
        return None
    return joined(f"input:{data}.condition:{length - short}", axis and f"axis:{axis}", const and f"const:{const}")


_COMPRESS = {
    "data": ("3x5x7", "5x4", "11", "2x3x4x5", "1x7", "33", "3x65"),
    "axis": ("", "0", "1", "-1", "-2", "2"),
    "short": (0, 1, 2),
    "const": ("", "condition", "input"),
}


def _one_hot(indices: str, depth: str, axis: str, kind: str, depth_kind: str, feed: bool, const: bool) -> str | None:
    """OneHot of int64 indices, values of `kind`."""
    rank = indices.count("x") + 1
    if axis and not -rank - 1 <= int(axis) <= rank:
        return None
    return joined(
        f"indices:{indices}.values:2{kind}.depth:{depth}{depth_kind}",
        axis and f"axis:{axis}",
        "const:values" if const else "",
        "feed:depth" if feed else "",
    )


_ONE_HOT = {
    "indices": ("5", "2x3", "2x1x3", "17", "0", "1x1"),
    "depth": ("7", "1", "2", "16", "33"),
    "axis": ("", "0", "1", "-1", "-2", "2", "-3"),
    "kind": (":f32", ""),
    "depth_kind": ("", ":i32"),
    "feed": (False, True),
    "const": (False, True),
}
_NONZERO = " ".join(f"x:{s}" for s in ("1", "1x1", "2x3", "5x0", "2x3x4x5", "2x1x3x1x2", *map(str, WIDTHS)))

CASES = (
    Sweep("Unique-11", "f32 i64", "lattice", _unique, _UNIQUE),
    Row("Unique-11", "f64 i8 str", "lattice", "x:23 x:23.sorted:0 x:5x3.axis:0 x:5x3.axis:1.sorted:0"),
    Row("Unique-11", "i64", "extreme", "x:65 x:65.sorted:0 x:17x1.axis:0"),
    Sweep("Compress-11", "f32", "index", _compress, _COMPRESS),
    Sweep("Compress-9", "f32", "index", _compress, {**_COMPRESS, "axis": ("", "0", "1", "2"), "const": ("",)}),
    Row("Compress-11", "i8 i64 u16 str", "index", "input:5x9.condition:9.axis:1 input:5x4.condition:17"),
    Row("Compress-11", "f32", "index", " ".join(f"input:{w}.condition:{w} input:3x{w}.condition:3.axis:0" for w in NARROW)),
    Row("Compress-11", "f32 f16", "index", "input:1024x1024.condition:1024.axis:1"),
    Row("NonZero-13", "f32", "lattice", _NONZERO),
    Row("NonZero-13", "bool i64", "uniform", _NONZERO),
    Row("NonZero-9", "f32 bool i64", "lattice", "x:3x5x7 x:11 x:2x0"),
    Row("NonZero-13", "f32 f16", "special", "x:65 x:5x9"),
    Row("NonZero-13", "f16 bf16 f64 i8 u8 i16 u16 u32 u64", "lattice", "x:3x5x7 x:33"),
    Sweep("OneHot-11", "i64", "normal", _one_hot, _ONE_HOT),
    Sweep("OneHot-9", "i64", "normal", _one_hot, {**_ONE_HOT, "feed": (False,), "const": (False,)}, one_in=3),
    Row(
        "OneHot-11",
        "i64",
        "normal",
        "indices:2x3.values:2:i32.depth:5 indices:2x3.values:2:i8.depth:5 indices:7.values:2:str.depth:5",
    ),
)
