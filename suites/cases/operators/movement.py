"""Moving elements without changing them."""

from __future__ import annotations

from suites.cases.operators import padding, repetition, reshaping, slicing, transposition
from suites.cases.operators.table import Row

_TYPES = "f16 bf16 f64 i8 u8 i16 i32 i64 bool"
_CONCAT = (
    "inputs0:2x3x5.inputs1:2x7x5.axis:1 inputs0:2x3x5.inputs1:2x3x1.inputs2:2x3x4.axis:-1 inputs0:5.inputs1:3.inputs2:7.axis:0"
)
_EXPAND = (
    "input:3x1.shape:2_3_5 input:3x5.shape:1_1 input:scalar.shape:2_3 input:1x3x1x7.shape:2_1_5_1 "
    "input:1.shape:0_3 input:5.shape:3_5.feed:shape"
)
_FLATTEN = "input:2x3x5x7 input:2x3x5x7.axis:0 input:2x3x5x7.axis:4 input:2x3x5x7.axis:-1 input:11.axis:0 input:scalar.axis:0"
_IDENTITY = "input:2x3x5x7 input:scalar input:0x3 input:11"
_PAD = (
    "data:2x3x5x7.pads:0_1_2_0_1_0_0_3 "
    "data:2x3x5.pads:1_0_2_0_3_1.constant_value:15e-1 "
    "data:3x5x7.pads:0_2_3_0_1_2.mode:reflect "
    "data:3x5x7.pads:0_2_3_0_1_2.mode:edge "
    "data:3x5x7.pads:0_2_3_0_1_2.mode:wrap "
    "data:3x5x7.pads:0_-1_2_0_2_-3 "
    "data:2x3x5x7.pads:1_2_0_3.axes:1_-1 "
    "data:11.pads:3_2.mode:reflect "
    "data:3x5x7.pads:0_1_2_0_3_1.feed:pads"
)
_RESHAPE = (
    "data:2x3x5x7.shape:6_35 data:2x3x5x7.shape:-1 data:2x3x5x7.shape:0_-1_7 data:2x3x5x7.shape:7_5_3_2 "
    "data:1.shape:none "
    "data:2x3x5.shape:5_1_6.feed:shape data:0x3.shape:3_0.allowzero:1 data:scalar.shape:1_1_1 "
    "data:2x3x2x5x3.shape:0_0_-1_3"
)
_SLICE = (
    "data:5x7x11.starts:1_2.ends:4_9.axes:0_2 "
    "data:5x7x11.starts:0_0_0.ends:5_7_11.axes:0_1_2.steps:2_3_4 "
    "data:5x7x11.starts:-1_-2.ends:-100_1.axes:1_-1.steps:-1_-3 "
    "data:5x7x11.starts:1_1.ends:1000_-1 "
    "data:5x7x11.starts:3.ends:3.axes:1 "
    "data:5x7x11.starts:-3.ends:9223372036854775807.axes:-2 "
    "data:13.starts:10.ends:-14.steps:-4.axes:0".replace("steps:-4.axes:0", "axes:0.steps:-4")
    + " data:5x7x11.starts:1_2:i32.ends:4_9:i32.axes:0_2:i32.steps:1_2:i32"
    + " data:5x7x11.starts:1.ends:6.axes:1.feed:starts_ends"
)
_SPLIT = (
    "input:7x6x5.split:1_2_3.axis:1 input:8x3.num_outputs:2 input:7x5.num_outputs:3 input:3x5x8.axis:-1.num_outputs:4 "
    "input:11.split:4_7 input:5x3.split:2_0_3"
)
_SQUEEZE = "data:1x3x1x5.axes:0 data:1x3x1x5.axes:-2_0 data:1x3x1x5 data:1.axes:0 data:3x1x5.axes:1.feed:axes"
_TILE = (
    "input:2x3x5.repeats:1_2_3 input:5.repeats:3 input:2x3.repeats:0_2 input:3x1x2x5.repeats:2_1_1_2 "
    "input:2x3.repeats:2_2.feed:repeats"
)
_TRANSPOSE = (
    "data:2x3x5x7.perm:0_2_3_1 data:2x3x5x7.perm:0_3_1_2 data:2x3x5x7 data:2x3x5x7.perm:3_0_2_1 data:5x7 "
    "data:11 data:2x3x2x5x3.perm:4_1_3_0_2 "
    "data:3x5x7.perm:1_0_2 data:0x3x5.perm:2_0_1 data:1x5x1x7.perm:2_3_0_1"
)
_TRILU = (
    "input:5x7 input:5x7.upper:0 input:2x7x5.k:1 input:2x5x7.k:-2.upper:0 input:5x7.k:9 "
    "input:5x7.k:-9.upper:0 input:3x5x5.k:-1.feed:k"
)
_UNSQUEEZE = "data:3x5.axes:0 data:3x5.axes:1_-1 data:scalar.axes:0 data:3x5.axes:3_0 data:3x5.axes:1.feed:axes"
_DEPTH = "input:2x12x3x5.blocksize:2 input:2x12x3x5.blocksize:2.mode:CRD input:1x18x2x3.blocksize:3.mode:DCR"
_SPACE = "input:2x3x4x6.blocksize:2 input:1x2x9x6.blocksize:3 input:1x5x10x15.blocksize:5"

CASES = (
    Row("Concat-13", "f32", "index special", _CONCAT),
    Row(
        "Concat-13",
        "f32",
        "index",
        "inputs0:3x5.axis:1 inputs0:0x5.inputs1:3x5.axis:0 inputs0:2x3x5.inputs1:2x3x5.axis:0.const:inputs1",
    ),
    Row("Concat-13", "f64 i32 i64 u64", "extreme", "inputs0:2x3x5.inputs1:2x7x5.axis:1"),
    Row("Transpose-21", "f64 i64 u64", "extreme", "data:2x3x5x7.perm:0_2_3_1"),
    Row("Reshape-21", "f64 i64", "extreme", "data:2x3x5x7.shape:6_35"),
    Row("Concat-13", f"{_TYPES} str", "index", "inputs0:2x3x5.inputs1:2x7x5.axis:1"),
    Row("Expand-13", "f32", "index", _EXPAND),
    Row("Expand-13", _TYPES, "index", "input:3x1.shape:2_3_5"),
    Row("Flatten-21", "f32", "index", _FLATTEN),
    Row("Flatten-21", _TYPES, "index", "input:2x3x5x7.axis:2"),
    Row("Identity-21", "f32", "special index", _IDENTITY),
    Row("Identity-21", f"{_TYPES} u16 u32 u64 str i4 u4 f8e4m3fn f8e5m2", "index", "input:2x3x5x7"),
    Row("Identity-21", "i64 i32 u64", "extreme", "input:2x3x5x7"),
    Row("Pad-21", "f32", "index", _PAD),
    Row("Pad-21", "f32", "special", "data:2x3x5x7.pads:0_1_2_0_1_0_0_3 data:3x5x7.pads:0_2_3_0_1_2.mode:edge"),
    Row(
        "Pad-21",
        "f16 bf16 f64 i8 u8 i32 i64",
        "index",
        "data:2x3x5.pads:1_0_2_0_3_1.constant_value:3 data:3x5x7.pads:0_2_3_0_1_2.mode:reflect",
    ),
    Row("Pad-21", "bool", "index", "data:2x3x5.pads:1_0_2_0_3_1.constant_value:1"),
    Row("Reshape-21", "f32", "index", _RESHAPE),
    Row("Reshape-21", "f32", "special", "data:2x3x5x7.shape:6_35"),
    Row("Reshape-21", _TYPES, "index", "data:2x3x5x7.shape:0_-1_7"),
    Row("Slice-13", "f32", "index", _SLICE),
    Row("Slice-13", _TYPES, "index", "data:5x7x11.starts:-1_-2.ends:-100_1.axes:1_-1.steps:-1_-3"),
    Row("Split-18", "f32", "index", _SPLIT),
    Row("Split-18", _TYPES, "index", "input:7x6x5.split:1_2_3.axis:1"),
    Row("Squeeze-21", "f32", "index", _SQUEEZE),
    Row("Squeeze-21", _TYPES, "index", "data:1x3x1x5.axes:-2_0"),
    Row("Tile-13", "f32", "index", _TILE),
    Row("Tile-13", _TYPES, "index", "input:2x3x5.repeats:1_2_3"),
    Row("Transpose-21", "f32", "index", _TRANSPOSE),
    Row("Transpose-21", "f32", "special", "data:2x3x5x7.perm:0_2_3_1"),
    Row("Transpose-21", "f32", "index", "data:3x31x37x41.perm:0_2_3_1 data:97x211"),
    Row("Transpose-21", f"{_TYPES} i4", "index", "data:2x3x5x7.perm:0_3_1_2"),
    Row("Trilu-14", "f32", "index", _TRILU),
    Row("Trilu-14", "f16 f64 i8 u8 i32 i64 bool", "index", "input:2x7x5.k:1"),
    Row("Unsqueeze-21", "f32", "index", _UNSQUEEZE),
    Row("Unsqueeze-21", _TYPES, "index", "data:3x5.axes:1_-1"),
    Row("DepthToSpace-13", "f32", "index special", _DEPTH),
    Row("DepthToSpace-13", "f16 i8 u8 i32 i64 bool f64", "index", "input:2x12x3x5.blocksize:2.mode:CRD"),
    Row("SpaceToDepth-13", "f32", "index special", _SPACE),
    Row("SpaceToDepth-13", "f16 i8 u8 i32 i64 bool f64", "index", "input:2x3x4x6.blocksize:2"),
    *transposition.CASES,
    *reshaping.CASES,
    *slicing.CASES,
    *padding.CASES,
    *repetition.CASES,
)
