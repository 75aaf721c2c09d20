"""Elements chosen by index: Gather, GatherElements, GatherND."""

from __future__ import annotations

from suites.cases.operators.sizes import WIDTHS
from suites.cases.operators.sweep import Sweep, joined
from suites.cases.operators.table import Row

_BYTES = "f16 i8 i64 bool"
_OTHERS = "bf16 f64 u8 i16 u16 i32 u32 u64 str"


def _gather(data: str, axis: int | None, indices: str, kind: str, const: str) -> str | None:
    if not -data.count("x") - 1 <= (axis or 0) <= data.count("x"):
        return None
    named = "" if axis is None else f"axis:{axis}"
    return joined(f"data:{data}", f"indices:{indices}{kind}", named, const and f"const:{const}")


_GATHER = {
    "data": ("5x7x3", "7x5", "11", "2x3x4x5", "1x7", "2x1x3x1x5"),
    "axis": (1, 0, -1, None, 2, -2, 3, -3, -4),
    "indices": ("4", "scalar", "1", "2x3", "1x1", "0", "9", "2x1x3", "17", "1x2x1x3"),
    "kind": ("", ":i32"),
    "const": ("", "indices", "data", "data_indices"),
}
_GATHER_OLD = {**_GATHER, "axis": (1, 0, None, 2), "const": ("",)}
# Rows as long as vectors: a kernel that copies blocks.
_ROWS = " ".join(f"data:5x{w}.indices:3 data:{w}x3.indices:7 data:3x{w}.indices:5.axis:1" for w in WIDTHS)
_EMBEDDINGS = "data:1009x31.indices:2x7 data:257x64.indices:3x5.const:data data:1009x1.indices:33"
_SOME = "data:5x7x3.indices:2x3.axis:1 data:7x5.indices:4:i32.axis:-1 data:11.indices:scalar"


def _elements(data: str, axis: int | None, count: int, shorter: bool, kind: str, const: str) -> str | None:
    """GatherElements with `count` indices along the axis; `shorter`: fewer than data along another axis."""
    lengths = [int(n) for n in data.split("x")]
    rank, place = len(lengths), axis or 0
    if not -rank <= place < rank or (shorter and rank == 1):
        return None
    lengths[place] = count
    if shorter:
        other = (place + 1) % rank
        lengths[other] = max(lengths[other] - 1, 1)
    named = "" if axis is None else f"axis:{axis}"
    indices = f"indices:{'x'.join(map(str, lengths))}{kind}"
    return joined(f"data:{data}", indices, named, const and f"const:{const}")


_ELEMENTS = {
    "data": ("3x5x7", "5x3", "11", "2x3x4x5", "1x7", "2x1x3x1x5"),
    "axis": (1, 0, -1, None, 2, -2, -3, 3),
    "count": (4, 1, 9, 17, 0),
    "shorter": (False, True),
    "kind": ("", ":i32"),
    "const": ("", "indices", "data"),
}
_SOME_ELEMENTS = "data:3x5x7.indices:3x4x7.axis:1 data:5x3.indices:5x4:i32.axis:-1 data:11.indices:17"


def _tuples(data: str, leading: str, depth: int, batch: int, const: str) -> str | None:
    """GatherND with tuples of `depth` indices behind the `leading` axes, the first `batch` of which are data's own."""
    lengths = data.split("x")
    if batch + depth > len(lengths):
        return None
    shape = "x".join([*lengths[:batch], *(leading.split("x") if leading else []), str(depth)])
    return joined(f"data:{data}", f"indices:{shape}", f"batch_dims:{batch}" if batch else "", const and f"const:{const}")


_TUPLES = {
    "data": ("3x5x7", "2x3x4x5", "5x7", "11", "2x3x2x3x2"),
    "leading": ("4", "", "2x3", "1", "9", "2x1x3", "0"),
    "depth": (1, 2, 3, 4),
    "batch": (0, 1, 2),
    "const": ("", "indices", "data"),
}
_SOME_TUPLES = "data:3x5x7.indices:3x2x1.batch_dims:1 data:5x7.indices:4x2"

CASES = (
    Sweep("Gather-13", "f32", "index", _gather, _GATHER),
    Sweep("Gather-13", "i8", "index", _gather, {**_GATHER, "const": ("", "indices")}, one_in=4),
    Sweep("Gather-11", "f32", "index", _gather, {**_GATHER, "const": ("",)}, one_in=4),
    Sweep("Gather-1", "f32", "index", _gather, _GATHER_OLD, one_in=4),
    Row("Gather-13", "f32", "index", _ROWS),
    Row("Gather-13", "f32 f16", "index", _EMBEDDINGS),
    Row("Gather-13", "u16 u32 u64 f16 i16 str bool", "index", _SOME),
    Row("Gather-1 Gather-11", "f16 i8 i64 bool", "index", "data:5x7x3.indices:2x3.axis:1 data:11.indices:scalar"),
    Row("Gather-13", "i8 u8", "index", "data:2048x512.indices:2048 data:512x1200.indices:2048.axis:1"),
    Row("Gather-13", "f16", "index", "data:2048x512.indices:2x1031"),
    Sweep("GatherElements-13", "f32", "index", _elements, _ELEMENTS),
    Sweep("GatherElements-11", "i8", "index", _elements, {**_ELEMENTS, "const": ("",)}, one_in=3),
    Row("GatherElements-13", "f32", "index", " ".join(f"data:3x{w}.indices:3x{w}.axis:1" for w in WIDTHS)),
    Row("GatherElements-13", "u16 u32 u64 f16 i64 str bool", "index", _SOME_ELEMENTS),
    Row("GatherElements-11", "f32 f16 i64", "index", _SOME_ELEMENTS),
    Row("GatherElements-13", "f32 f16", "special", "data:5x17.indices:5x17.axis:1"),
    Row("GatherElements-13", "i8", "index", "data:1024x1024.indices:1024x1024.axis:1"),
    Sweep("GatherND-13", "f32", "index", _tuples, _TUPLES),
    Sweep("GatherND-12", "i8", "index", _tuples, {**_TUPLES, "const": ("",)}, one_in=3),
    Sweep("GatherND-11", "f32", "index", _tuples, {**_TUPLES, "batch": (0,), "const": ("",)}, one_in=3),
    Row("GatherND-13", "u16 u32 u64 f16 i64 str bool", "index", _SOME_TUPLES),
    Row("GatherND-13", "f32", "index", " ".join(f"data:5x3x{w}.indices:4x2" for w in WIDTHS[::2])),
)
