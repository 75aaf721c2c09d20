"""Elements replaced by index: ScatterElements, ScatterND, Scatter, TensorScatter."""

from __future__ import annotations

from suites.cases.operators.sizes import WIDTHS
from suites.cases.operators.sweep import Sweep, joined
from suites.cases.operators.table import Row

_BYTES = "f16 i8 i64 bool"
_OTHERS = "bf16 f64 u8 i16 u16 i32 u32 u64 str"


def _elements(
    data: str, axis: int | None, count: int, shorter: bool, kind: str, reduction: str = "", const: str = ""
) -> str | None:
    """ScatterElements with `count` updates along the axis, repeated ones where a reduction combines them."""
    lengths = [int(n) for n in data.split("x")]
    rank, place = len(lengths), axis or 0
    combines = reduction not in ("", "none")
    if not -rank <= place < rank or (shorter and rank == 1) or (count > lengths[place] and not combines):
        return None
    lengths[place] = count
    if shorter:
        other = (place + 1) % rank
        lengths[other] = max(lengths[other] - 1, 1)
    shape = "x".join(map(str, lengths))
    named = "" if axis is None else f"axis:{axis}"
    tensors = f"data:{data}.indices:{shape}{kind}.updates:{shape}"
    return joined(tensors, named, reduction and f"reduction:{reduction}", const and f"const:{const}")


_ELEMENTS = {
    "data": ("3x5x7", "5x3", "11", "2x3x4x5", "1x7", "2x1x3x1x5"),
    "axis": (1, 0, -1, None, 2, -2, -3, 3),
    "count": (3, 1, 2, 4, 5, 0),
    "shorter": (False, True),
    "kind": ("", ":i32"),
}
_STORED = {**_ELEMENTS, "reduction": ("", "none"), "const": ("", "indices", "data", "updates", "indices_updates")}
_COMBINED = {**_ELEMENTS, "count": (9, 3, 1, 17), "reduction": ("add", "max", "min", "mul")}
_COMBINED_16 = {**_COMBINED, "reduction": ("add", "mul")}
_OLD = {**_ELEMENTS, "axis": (1, 0, 2, -1)}
_SOME_ELEMENTS = "data:3x5x7.indices:3x4x7.updates:3x4x7.axis:1 data:5x3.indices:5x2:i32.updates:5x2.axis:-1"
_REDUCED_ELEMENTS = " ".join(f"data:3x5.indices:3x9.updates:3x9.axis:1.reduction:{r}" for r in ("add", "mul", "max", "min"))


def _tuples(data: str, leading: str, depth: int, reduction: str = "", const: str = "") -> str | None:
    """ScatterND of slices, or of elements where depth is data's rank."""
    lengths = data.split("x")
    if depth > len(lengths):
        return None
    places = leading.split("x") if leading else []
    cells = rows = 1
    for length in lengths[:depth]:
        cells *= int(length)
    for length in places:
        rows *= int(length)
    if rows > cells and reduction in ("", "none"):
        return None
    updates = "x".join([*places, *lengths[depth:]]) or "scalar"
    tensors = f"data:{data}.indices:{'x'.join([*places, str(depth)])}.updates:{updates}"
    return joined(tensors, reduction and f"reduction:{reduction}", const and f"const:{const}")


_TUPLES = {
    "data": ("5x7x3", "2x3x4x5", "5x7", "11", "2x3x2x3x2"),
    "leading": ("2", "", "2x3", "1", "5", "2x1x2", "0"),
    "depth": (1, 2, 3, 4),
}
_STORED_TUPLES = {**_TUPLES, "reduction": ("", "none"), "const": ("", "indices", "data", "updates", "indices_updates")}
_COMBINED_TUPLES = {**_TUPLES, "leading": ("9", "2x5", "1", "17"), "reduction": ("add", "max", "min", "mul")}
_SOME_TUPLES = "data:5x7x3.indices:4x2.updates:4x3 data:5x7x3.indices:3x1.updates:3x7x3"
_REDUCED_TUPLES = " ".join(f"data:5x3.indices:9x1.updates:9x3.reduction:{r}" for r in ("add", "mul", "max", "min"))


def _cache(shape: str, axis: int | None, update: int, mode: str, start: bool) -> str | None:
    """TensorScatter: the update of a cache (batch, ..., sequence, ...), from a start of each batch entry on."""
    lengths = shape.split("x")
    place = -2 if axis is None else axis
    if not -len(lengths) <= place < len(lengths) or place % len(lengths) == 0 or update > int(lengths[place]):
        return None
    batch = lengths[0]
    lengths[place] = str(update)
    return joined(
        f"past_cache:{shape}.update:{'x'.join(lengths)}",
        f"write_indices:{batch}" if start else "",
        "" if axis is None else f"axis:{axis}",
        mode and f"mode:{mode}",
    )


_CACHES = {
    "shape": ("2x3x7x5", "3x9x4", "1x2x8x8", "2x5x6"),
    "axis": (None, 1, -1, 2, -2),
    "update": (1, 3, 2, 5),
    "mode": ("", "circular", "linear"),
    "start": (True, False),
}
_SOME_CACHES = "past_cache:2x3x7x5.update:2x3x2x5.write_indices:2 past_cache:2x7x5.update:2x3x5.write_indices:2.mode:circular"

CASES = (
    Sweep("ScatterElements-18", "f32", "index", _elements, _STORED),
    Sweep("ScatterElements-18", "i8", "index", _elements, _ELEMENTS, one_in=3),
    Sweep("ScatterElements-11", "f32", "index", _elements, _ELEMENTS, one_in=3),
    Sweep("Scatter-9", "f32", "index", _elements, _OLD, one_in=2),
    Sweep("ScatterElements-18", "f32 i64", "lattice", _elements, _COMBINED),
    Sweep("ScatterElements-16", "f32", "lattice", _elements, _COMBINED_16),
    Row("ScatterElements-18", "f32 f16 f64", "normal", _REDUCED_ELEMENTS),
    Row("ScatterElements-18", "bf16 f64 i8 u8 i16 u16 u32 u64", "lattice", _REDUCED_ELEMENTS),
    Row("ScatterElements-18", "u16 u32 u64 f16 str", "index", _SOME_ELEMENTS),
    Row("Scatter-9 ScatterElements-11 ScatterElements-13", "i8 f16 i64", "index", _SOME_ELEMENTS),
    Row("ScatterElements-18", "f32", "index", " ".join(f"data:3x{w}.indices:3x{w}.updates:3x{w}.axis:1" for w in WIDTHS)),
    Row("ScatterElements-18", "i8", "index", "data:1024x1024.indices:1024x16.updates:1024x16.axis:1"),
    Sweep("ScatterND-18", "f32", "index", _tuples, _STORED_TUPLES),
    Sweep("ScatterND-18", "i8", "index", _tuples, _TUPLES, one_in=3),
    Sweep("ScatterND-11", "f32", "index", _tuples, _TUPLES, one_in=3),
    Sweep("ScatterND-18", "f32 i64", "lattice", _tuples, _COMBINED_TUPLES),
    Sweep("ScatterND-16", "f32", "lattice", _tuples, {**_COMBINED_TUPLES, "reduction": ("add", "mul")}),
    Row("ScatterND-18", "f32 f16 f64", "normal", _REDUCED_TUPLES),
    Row("ScatterND-18", "bf16 f64 i8 u8 i16 u16 u32 u64", "lattice", _REDUCED_TUPLES),
    Row("ScatterND-18", "u16 u32 u64 f16 str", "index", _SOME_TUPLES),
    Row("ScatterND-11 ScatterND-13", "i8 f16 i64", "index", _SOME_TUPLES),
    Row("ScatterND-18", "i8", "index", "data:1024x1024.indices:64x1.updates:64x1024"),
    Sweep("TensorScatter-24", "f32", "index", _cache, _CACHES),
    Row("TensorScatter-24", f"{_BYTES} {_OTHERS} f8e4m3fn f8e5m2 f8e4m3fnuz f8e5m2fnuz i4 u4 f4e2m1", "index", _SOME_CACHES),
)
