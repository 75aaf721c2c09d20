"""The same elements in the same order under another shape: Reshape, Flatten, Squeeze, Unsqueeze, Identity."""

from __future__ import annotations

from suites.cases.operators.table import Row

_BYTES = "f16 i8 i64 bool"
_OTHERS = "bf16 f64 u8 i16 u16 i32 u32 u64 str"
_FLOAT8 = "f8e4m3fn f8e4m3fnuz f8e5m2 f8e5m2fnuz"

# 0 copies a length, -1 is what remains; at every place and together.
_SHAPES = {
    "2x3x4x5": (
        "-1_5 5_-1 2_-1_5 0_-1 -1_0 0_0_-1 0_-1_5 -1_3_4_5 2_-1_4_5 2_3_-1_5 2_3_4_-1 0_3_4_5 2_0_4_5 2_3_0_5 2_3_4_0 "
        "0_0_0_0 0_0_0_-1 -1_0_0_0 6_20 24_5 120 1_120 120_1 2_1_3_1_4_1_5 2_3_2_2_5 5_4_3_2 4_5_6 0_-1_1 1_-1_1 "
        "1_2_3_1_4_5_1_1 2_3_4_5_1 -1_1_1_1"
    ),
    "7": "7 -1 0 1_7 7_1 1_-1_1 0_1 0_-1 1_1_1_1_1_1_1_7",
    "1": "none 1 1_1_1 -1 0 0_-1 -1_1_1_1_1",
    "scalar": "none 1 -1 1_1 1_-1_1",
    "1x5x1x7": "5_7 0_5_7 35 -1_7 0_0_-1 7_5 1_1_5_7",
    "2x2x2x2x2x2x2x2": "-1 16_16 0_0_0_0_0_0_0_-1 4_4_4_4 2_128",
    "31x17": "17_31 527 0_1_17 -1_31",
}
_RESHAPES = " ".join(f"data:{data}.shape:{shape}" for data, shapes in _SHAPES.items() for shape in shapes.split())
_EMPTY = (
    "data:0x3.shape:0_3 data:0x3.shape:0_0 data:0x3x5.shape:0_15 data:3x0.shape:3_0 data:2x0x5.shape:0_0_5_1 "
    "data:0x3.shape:0_7.allowzero:1 data:0x3.shape:5_0_2.allowzero:1 data:3x0.shape:0.allowzero:1 "
    "data:2x3x5.shape:5_6.allowzero:1 data:2x3x5.shape:-1.allowzero:1 data:2x3x5.shape:2_-1.allowzero:1 "
    "data:0x3x5.shape:0_3_5.allowzero:1 data:0x3x5.shape:0_0_0.allowzero:1 data:2x3x5.shape:0_-1.allowzero:0"
)
_SOME_RESHAPES = "data:2x3x5x7.shape:0_-1_7 data:2x3x5x7.shape:7_5_3_2 data:3x1x7.shape:-1 data:9.shape:3_3"
_FED = " ".join(
    f"data:2x3x4x5.shape:{shape}.feed:shape" for shape in ("6_20", "-1", "0_-1", "0_0_-1_5", "2_3_4_5_1", "120", "-1_0_0_0")
)

_FLATTENED = " ".join(
    f"input:{shape}{axis}"
    for shape in ("2x3x5x7", "3x5", "2x3x2x5x3", "1x7x1", "0x3x5", "3x0x5")
    for axis in ("", *(f".axis:{a}" for a in range(-shape.count("x") - 1, shape.count("x") + 2)))
)
_FLATTENED_RANK_4 = _FLATTENED.split(" input:3x5")[0]
_FLATTENED_OLD = " ".join(f"input:2x3x5x7.axis:{axis}" for axis in range(5))

_SQUEEZED = {
    "1x3x1x5": "0 2 -2 -4 0_2 2_0 -4_-2 0_-2 -2_0",
    "1x1x1": "0 1 -1 0_1 0_2 2_1 0_1_2 -1_-2_-3",
    "3x1": "1 -1",
    "1x7": "0 -2",
    "1": "0 -1",
    "2x1x3x1x5x1": "1_3_5 -1 3 5_1 -1_-3_-5 1_-1",
    "1x0x1x3": "0 0_2 -2",
    "1x1x1x1x1x1x1x3": "0_1_2_3_4_5_6 6 -2",
}
_UNSQUEEZED = {
    "3x5": "0 1 2 -1 -2 -3 0_1 0_3 1_2 3_0 -1_-2 -4_-1 0_-1 2_0_4 0_1_2_3_4 -1_0_2",
    "7": "0 1 -1 -2 0_2 1_2 0_1_2_4 -1_0",
    "scalar": "0 -1 0_1 -1_-2 0_1_2_3",
    "2x3x5x7": "0 2 4 -1 -5 0_5 2_3",
    "0x3": "0 1 -1",
}


def _with_axes(table: dict[str, str]) -> str:
    return " ".join(f"data:{shape}.axes:{axes}" for shape, choices in table.items() for axes in choices.split())


def _counted_from_the_front(table: dict[str, str]) -> str:
    """Those that versions before 11 admit; ONNX's shape inference of these wants axes in ascending order."""
    choices = [middle.partition(".axes:") for middle in _with_axes(table).split() if "-" not in middle]
    return " ".join("".join(parts) for parts in choices if parts[2].split("_") == sorted(parts[2].split("_")))


_WITHOUT_AXES = "data:1x3x1x5 data:3x5 data:1x1x1 data:2x1x3x1x5x1 data:1 data:scalar data:1x0x1"


def _fed(table: dict[str, str]) -> str:
    return " ".join(f"{middle}.feed:axes" for middle in _with_axes(table).split()[::4])


_SOME_SQUEEZED = "data:1x3x1x5.axes:-2_0 data:1x3x1x5 data:2x1x3.axes:1"
_SOME_UNSQUEEZED = "data:3x5.axes:1_-1 data:7.axes:0 data:3x5.axes:3_0"
_IDENTICAL = "input:3x5x7 input:17 input:1x1x1x1"

CASES = (
    Row("Reshape-21", "f32", "index", f"{_RESHAPES} {_EMPTY} {_FED}"),
    Row("Reshape-14 Reshape-25", "f32", "index", _EMPTY),
    Row("Reshape-5 Reshape-13 Reshape-19 Reshape-25", "f32", "index", _SOME_RESHAPES),
    Row("Reshape-21", f"{_BYTES} {_OTHERS} {_FLOAT8} i4 u4", "index", " ".join(_SOME_RESHAPES.split()[1::2])),
    Row("Reshape-25", "f4e2m1 i2 u2", "index", " ".join(_SOME_RESHAPES.split()[1::2])),
    Row("Reshape-21", "f32 i8", "index", "data:2x3x5x7.shape:6_35.const:data data:3x5.shape:-1.const:data"),
    Row("Reshape-21", "f16 i8 u8 i32 bool", "index", "data:1x512x2048.shape:2048_-1"),
    Row("Flatten-21", "f32", "index", _FLATTENED),
    Row("Flatten-13 Flatten-11 Flatten-25", "f32", "index", _FLATTENED_RANK_4),
    Row("Flatten-1 Flatten-9", "f32", "index", _FLATTENED_OLD),
    Row("Flatten-21", f"{_BYTES} {_OTHERS} {_FLOAT8} i4 u4", "index", "input:2x3x5x7.axis:-2"),
    Row("Flatten-25", "f4e2m1 i2 u2", "index", "input:2x3x5x7.axis:-2"),
    Row("Squeeze-21", "f32", "index", f"{_with_axes(_SQUEEZED)} {_WITHOUT_AXES} {_fed(_SQUEEZED)}"),
    Row("Squeeze-11 Squeeze-13", "f32", "index", f"{_SOME_SQUEEZED} data:1x3x1x5.axes:2_0 {_WITHOUT_AXES}"),
    Row("Squeeze-1", "f32", "index", f"{_counted_from_the_front(_SQUEEZED)} {_WITHOUT_AXES}"),
    Row("Squeeze-23 Squeeze-24 Squeeze-25", "f32", "index", _SOME_SQUEEZED),
    Row("Squeeze-21", f"{_BYTES} {_OTHERS} {_FLOAT8} i4 u4", "index", "data:2x1x3.axes:1"),
    Row("Squeeze-25", "f4e2m1 i2 u2", "index", "data:2x1x3.axes:1"),
    Row("Unsqueeze-21", "f32", "index", f"{_with_axes(_UNSQUEEZED)} {_fed(_UNSQUEEZED)}"),
    Row("Unsqueeze-11 Unsqueeze-13", "f32", "index", f"{_SOME_UNSQUEEZED} data:scalar.axes:-1_-2"),
    Row("Unsqueeze-1", "f32", "index", _counted_from_the_front(_UNSQUEEZED)),
    Row("Unsqueeze-23 Unsqueeze-24 Unsqueeze-25", "f32", "index", _SOME_UNSQUEEZED),
    Row("Unsqueeze-21", f"{_BYTES} {_OTHERS} {_FLOAT8} i4 u4", "index", "data:3x5.axes:3_0"),
    Row("Unsqueeze-25", "f4e2m1 i2 u2", "index", "data:3x5.axes:3_0"),
    Row("Identity-1 Identity-13 Identity-14 Identity-16 Identity-19 Identity-23 Identity-24", "f32", "index", _IDENTICAL),
    Row("Identity-21", "f8e4m3fnuz f8e5m2fnuz", "index", _IDENTICAL),
    Row("Identity-25", "f4e2m1 i2 u2 i4 u4 bool", "index", "input:3x5x7"),
    Row("Identity-21", "f16 i8 u8", "index", "input:1048577"),
)
