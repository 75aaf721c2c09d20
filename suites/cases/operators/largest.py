"""The largest and smallest elements along an axis: TopK. Recipe lattice makes ties, of which the first index counts."""

from __future__ import annotations

from suites.cases.operators.sizes import WIDTHS
from suites.cases.operators.sweep import Sweep, joined
from suites.cases.operators.table import Row


def _largest(x: str, axis: int | None, k: str, largest: str, sorting: str, feed: bool) -> str | None:
    """TopK of some, all, one or none of an axis."""
    lengths = [int(n) for n in x.split("x")]
    place = -1 if axis is None else axis
    if not -len(lengths) <= place < len(lengths):
        return None
    length = lengths[place]
    count = {"some": (length + 1) // 2, "all": length, "one": min(length, 1), "none": 0, "all but one": max(length - 1, 1)}[k]
    return joined(
        f"x:{x}.k:{count}",
        "" if axis is None else f"axis:{axis}",
        largest and f"largest:{largest}",
        sorting and f"sorted:{sorting}",
        "feed:k" if feed else "",
    )


def _largest_10(x: str, axis: int | None, k: str, feed: bool) -> str | None:
    return _largest(x, axis, k, "", "", feed)


def _largest_1(x: str, axis: int | None, k: str) -> str | None:
    middle = _largest(x, axis, k, "", "", False)
    if middle is None or axis is None:
        return middle
    tensor, count, place = middle.split(".")
    return joined(tensor, place, count)


_TOPK = {
    "x": ("3x5x7", "11", "5x9", "2x3x4x5", "1x17", "3x1", "2x33", "65"),
    "axis": (None, 1, 0, -2, -1, 2, -3),
    "k": ("some", "one", "all", "all but one"),
    "largest": ("", "0", "1"),
    "sorting": ("", "1"),
    "feed": (False, True),
}
_TOPK_STORED = {**_TOPK, "feed": (False,), "sorting": ("",), "axis": (None, 0, 1, -2)}
_TOPK_UNSORTED = {**_TOPK_STORED, "sorting": ("0",)}
_TOPK_10 = {name: _TOPK[name] for name in ("x", "axis", "k", "feed")}
_TOPK_1 = {"x": _TOPK["x"], "axis": (None, 1, 0, 2), "k": _TOPK["k"]}
_TOPK_WIDTHS = " ".join(f"x:{w}.k:{min(w, 5)} x:2x{w}.k:{(w + 1) // 2}.largest:0" for w in WIDTHS)

CASES = (
    Sweep("TopK-11", "f32", "normal lattice", _largest, _TOPK),
    Sweep("TopK-11", "i64", "lattice", _largest, _TOPK_STORED, one_in=3),
    Sweep("TopK-24", "f32", "lattice", _largest, _TOPK_STORED, one_in=3),
    Sweep("TopK-11", "f32", "normal", _largest, _TOPK_UNSORTED),
    Sweep("TopK-10", "f32", "lattice", _largest_10, _TOPK_10, one_in=3),
    Sweep("TopK-1", "f32", "lattice", _largest_1, _TOPK_1, one_in=3),
    Row("TopK-11", "f32", "lattice", _TOPK_WIDTHS),
    Row("TopK-11", "i64 i32 i8 u8", "extreme lattice", "x:3x9.k:4 x:3x9.k:9.largest:0 x:65.k:17"),
    Row("TopK-11", "f16 f64 i16 u16 u32 u64", "lattice", "x:3x9.k:4 x:3x9.k:2.axis:0.largest:0"),
    Row("TopK-24", "bf16 f16", "normal lattice", "x:3x9.k:4 x:3x9.k:2.axis:0.largest:0"),
    Row("TopK-11", "f32 f16", "extreme", "x:3x17.k:6 x:3x17.k:17.largest:0"),
    Row("TopK-1 TopK-10", "f64 f16", "normal", "x:3x9.k:4"),
    Row("TopK-11", "f32", "normal", "x:16x4099.k:7 x:65537.k:3"),
)
