"""Borders: Pad and Trilu."""

from __future__ import annotations

from suites.cases.operators.sizes import NARROW
from suites.cases.operators.sweep import Sweep, joined
from suites.cases.operators.table import Row

Amounts = tuple[int, int]

# Before and after an axis; negative amounts cut. Beside a constant, only borders of one kind have a meaning without doubt.
_BORDERS: tuple[Amounts, ...] = ((1, 2), (0, 0), (0, 3), (2, 0), (4, 4), (-1, 0), (0, -2), (-1, -1), (-1, 2), (3, -2))
_ONE_SIDED = tuple(b for b in _BORDERS if b[0] * b[1] >= 0)
_COPYING: tuple[Amounts, ...] = tuple(b for b in _ONE_SIDED if min(b) >= 0)


def _places(rank: int, axes: str) -> list[int]:
    """The axes that are padded, counted from the front, in the order in which they are written."""
    if not axes:
        return list(range(rank))
    written = {"last": [rank - 1], "first": [0], "negative": [-1, -rank], "reversed": [rank - 1, 0]}
    return written[axes]


def _amounts(rank: int, axes: str, first: Amounts, last: Amounts) -> str:
    """The attribute or input `pads`."""
    borders = [{0: first, rank - 1: last}.get(place % rank, (0, 0)) for place in _places(rank, axes)]
    return "_".join(str(border[side]) for side in (0, 1) for border in borders)


def _allowed(shape: str, mode: str, *borders: Amounts) -> bool:
    """Whether the mode gives borders as wide as that a meaning."""
    lengths = [int(n) for n in (shape.split("x")[0], shape.split("x")[-1])]
    for length, border in zip(lengths, borders, strict=True):
        if mode and mode != "constant" and (border not in _ONE_SIDED or max(border) >= length):
            return False
        if length + min(border[0], 0) + min(border[1], 0) < 1:
            return False
    return True


def _pad(shape: str, mode: str, first: Amounts, last: Amounts, axes: str, value: str, feed: str) -> str | None:
    """Pad-18 on, which takes axes; Pad-11 where there are none."""
    rank = shape.count("x") + 1
    twice = len({a % rank for a in _places(rank, axes)}) < len(_places(rank, axes))
    if twice or (value and mode not in ("", "constant")) or not _allowed(shape, mode, first, last):
        return None
    names = ["pads", *(["constant_value"] if value else []), *(["axes"] if axes else [])]
    if any(name not in names for name in feed.split("-") if feed):
        return None
    return joined(
        f"data:{shape}",
        f"pads:{_amounts(rank, axes, first, last)}",
        value and f"constant_value:{value}",
        axes and f"axes:{'_'.join(map(str, _places(rank, axes)))}",
        mode and f"mode:{mode}",
        feed and f"feed:{feed.replace('-', '_')}",
    )


def _pad_2(shape: str, mode: str, first: Amounts, last: Amounts, value: str) -> str | None:
    """Pad-2, of attributes."""
    if (value and mode not in ("", "constant")) or not _allowed(shape, mode, first, last):
        return None
    pads = _amounts(shape.count("x") + 1, "", first, last)
    return joined(f"data:{shape}", f"pads:{pads}", mode and f"mode:{mode}", value and f"value:{value}")


_SHAPES = ("5x7x6", "5x6x7x8", "9", "6x5", "5x1x3x2x6")
_MODES = ("", "reflect", "edge", "constant")
_PAD_11 = {
    "mode": _MODES,
    "first": _BORDERS,
    "last": _BORDERS,
    "shape": _SHAPES,
    "value": ("", "3", "0"),
    "feed": ("", "pads", "pads-constant_value"),
    "axes": ("",),
}
_PAD_18 = {**_PAD_11, "axes": ("", "last", "first", "negative", "reversed"), "feed": ("", "pads", "axes")}
_PAD_19 = {**_PAD_18, "mode": (*_MODES, "wrap")}
_PAD_STORED = {**_PAD_19, "feed": ("",), "axes": ("", "negative")}
_PAD_2 = {"mode": _MODES, "first": _BORDERS, "last": _BORDERS, "shape": _SHAPES, "value": ("", "3", "-15e-1")}
# Narrow rows: a mirror that turns round at once, a border wider than what it copies, a length of one.
_EDGES = " ".join(
    f"data:{shape}.pads:{pads}.mode:{mode}"
    for mode, shape, pads in (
        ("reflect", "2", "1_1"),
        ("reflect", "3x2", "2_1_2_1"),
        ("reflect", "5", "4_4"),
        ("edge", "1", "3_2"),
        ("edge", "2x1", "3_3_0_5"),
        ("edge", "3x1x2", "0_2_9_0_1_9"),
        ("wrap", "3", "3_3"),
        ("wrap", "2x3", "2_3_2_3"),
        ("wrap", "1x2", "1_0_1_2"),
        ("constant", "0x3", "2_1_1_1"),
        ("constant", "3x0", "0_2_0_3"),
    )
)
_WIDTHS = " ".join(
    f"data:2x{w}.pads:0_1_0_2 data:2x{w + 3}.pads:0_2_0_3.mode:reflect data:2x{w}.pads:1_3_1_0.mode:edge" for w in NARROW
)
_VALUES = " ".join(f"data:3x5.pads:1_0_2_1.constant_value:{v}" for v in ("inf", "-inf", "nan", "-0", "-25e-2"))
_FLOAT8 = "f8e4m3fn f8e4m3fnuz f8e5m2 f8e5m2fnuz"
_SOME = "data:2x3x5.pads:1_0_2_0_3_1 data:3x5x7.pads:0_2_3_0_1_2.mode:edge data:5x7.pads:1_-2_0_3"
_PACKED = "data:3x5.pads:0_1_1_2 data:3x5.pads:0_2_0_0.mode:edge data:4x6.pads:1_0_0_-1"
_LARGE = "data:1x16x250x250.pads:0_0_3_3_0_0_3_3 data:1x16x250x250.pads:0_0_3_3_0_0_3_3.mode:reflect"


def _triangle(shape: str, k: str, upper: str, feed: bool) -> str | None:
    if feed and not k:
        return None
    return joined(f"input:{shape}", k and f"k:{k}", upper and f"upper:{upper}", "feed:k" if feed else "")


_TRIANGLES = {
    "shape": ("5x7", "7x5", "2x5x7", "1x7", "7x1", "2x3x4x5", "17x16", "0x5"),
    "k": ("", "0", "1", "-1", "2", "-2", "5", "-5", "7", "-7", "9", "-9", "9223372036854775807", "-9223372036854775807"),
    "upper": ("", "0", "1"),
    "feed": (False, True),
}
_SMALL_TRIANGLES = {**_TRIANGLES, "shape": ("5x7", "7x5", "2x4x4"), "k": ("", "1", "-1", "2", "-3"), "feed": (False,)}

CASES = (
    Sweep("Pad-21", "f32", "index", _pad, _PAD_19),
    Sweep("Pad-21", "i8", "index", _pad, _PAD_STORED, one_in=4),
    Sweep("Pad-25", "f32", "index", _pad, _PAD_STORED, one_in=4),
    Sweep("Pad-18", "f32", "index", _pad, _PAD_18, one_in=3),
    Sweep("Pad-13 Pad-11", "f32", "index", _pad, {**_PAD_11, "feed": ("",)}, one_in=4),
    Sweep("Pad-11", "i64", "index", _pad, {**_PAD_11, "feed": ("",), "shape": _SHAPES[:2]}, one_in=8),
    Sweep("Pad-2", "f32", "index", _pad_2, _PAD_2, one_in=3),
    Sweep("Pad-2", "f64", "index", _pad_2, {**_PAD_2, "shape": _SHAPES[:2]}, one_in=8),
    Row("Pad-21", "f32", "index", f"{_EDGES} {_WIDTHS}"),
    Row("Pad-21", "f32 f16 f64", "index", _VALUES),
    Row("Pad-21", f"bf16 f64 u8 i16 u16 i32 u32 u64 bool {_FLOAT8}", "index", _SOME),
    Row("Pad-21", "i4 u4", "index", _PACKED),
    Row("Pad-25", "i2 u2 f4e2m1 i4", "index", _PACKED),
    Row("Pad-23 Pad-24 Pad-25", "f16 i8", "index", _SOME),
    Row("Pad-21", "f16 i8 u8", "index", _LARGE),
    Sweep("Trilu-14", "f32", "index", _triangle, _TRIANGLES, one_in=2),
    Sweep("Trilu-14", "i8 i64", "index", _triangle, _SMALL_TRIANGLES),
    Row("Trilu-14", "f16 bf16 u16 i16 u32 u64 bool", "index", "input:2x7x5.k:1 input:5x7.k:-1.upper:0"),
    Row("Trilu-14", "f32 f16", "special", "input:9x8 input:8x9.k:-2.upper:0"),
    Row("Trilu-14", "u8", "index", "input:1024x1031.k:-3"),
)
