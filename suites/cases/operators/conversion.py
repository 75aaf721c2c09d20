"""Changing the element type; tensors made of shapes."""

from __future__ import annotations

from suites.cases.operators import casting, constants
from suites.cases.operators.shapes import INTEGERS
from suites.cases.operators.table import Entry, Row

_TO_ALL = " ".join(
    f"input:3x5x7.to:{to}" for to in ["f32", "f16", "bf16", "f64", "i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64", "bool"]
)
_TO_FLOATS = " ".join(f"input:3x5x7.to:{to}" for to in ["f32", "f16", "bf16", "f64"])
_TO_FLOAT8 = " ".join(
    f"input:3x5x7{saturate}.to:{to}"
    for to in ["f8e4m3fn", "f8e4m3fnuz", "f8e5m2", "f8e5m2fnuz"]
    for saturate in ("", ".saturate:0")
)

CASES: tuple[Entry, ...] = (
    *(Row("Cast-21", dtype, "normal", _TO_ALL) for dtype in ("f32", "f16")),
    Row("Cast-21", "bf16 f64", "normal", " ".join(f"input:3x5x7.to:{to}" for to in ["f32", "f16", "f64", "i32", "bool"])),
    *(Row("Cast-21", dtype, "normal", _TO_ALL) for dtype in INTEGERS.split()),
    Row(
        "Cast-21",
        "i32 i64 u64",
        "extreme",
        " ".join(f"input:3x5x7.to:{to}" for to in ["f32", "f64", "i8", "u8", "i16", "i32", "i64", "bool"]),
    ),
    Row("Cast-21", "bool", "uniform", _TO_ALL),
    Row("Cast-21", "f32", "half", " ".join(f"input:3x5x7.to:{to}" for to in ["i8", "u8", "i32", "i64"])),
    Row("Cast-21", "f32 f16 f64", "special extreme", _TO_FLOATS),
    Row("Cast-21", "f32", "special", "input:3x5x7.to:bool"),
    Row("Cast-21", "f32 f16 bf16", "normal", " ".join(_TO_FLOAT8.split()[::2])),
    Row(
        "Cast-21",
        "f32",
        "special extreme",
        " ".join(f"input:3x5x7.{s}to:{t}" for t in ["f8e4m3fn", "f8e5m2"] for s in ("saturate:0.", "saturate:1.")),
    ),
    Row("Cast-21", "f8e4m3fn f8e4m3fnuz f8e5m2 f8e5m2fnuz", "normal", "input:3x5x7.to:f32 input:3x5x7.to:f16"),
    Row("Cast-21", "i4 u4", "uniform", "input:3x5x7.to:f32 input:3x5x7.to:i8 input:3x5x7.to:u8 input:3x5x7.to:i32"),
    Row("Cast-21", "i8 u8 i32 f32", "normal", "input:3x5x7.to:i4 input:3x5x7.to:u4"),
    Row("Cast-21", "f32", "normal", "input:scalar.to:f16 input:0x3.to:i32 input:11.to:f16 input:2x3x2x5x3.to:i64"),
    Row(
        "CastLike-21",
        "f32",
        "normal",
        "input:3x5x7.target_type:1:f16 input:3x5x7.target_type:scalar:i32 input:3x5x7.target_type:2x3:bool",
    ),
    Row("CastLike-21", "i8 u8 bool", "uniform", "input:3x5x7.target_type:1:f32 input:3x5x7.target_type:2:i64"),
    Row("CastLike-21", "f16 i32 i64", "normal", "input:3x5x7.target_type:1:f32 input:3x5x7.target_type:2:u8"),
    Row(
        "EyeLike-9",
        "f32",
        "zero",
        "input:3x5 input:5x3.k:1 input:5x7.k:-2 input:3x5.dtype:f16 input:5x5.dtype:i64.k:9 input:7x1",
    ),
    Row("EyeLike-9", "f64 f16 i32 i64 i8 u8 bool", "zero", "input:5x7.k:1"),
    Row("ConstantOfShape-21", "f32", "", "input:2_3.value:15e-1 input:5 input:none.value:-inf input:0_3.value:1"),
    Row("ConstantOfShape-21", "f32 f16", "", "input:2_3_5.value:-25e-2.feed:input"),
    Row("ConstantOfShape-21", "i8 u8 i32 i64 bool", "", "input:2_3_5.value:1 input:2_3.value:1.feed:input"),
    Row("ConstantOfShape-21", "i64", "", "input:2_3.value:9007199254740993 input:3.value:-1"),
    Row(
        "Range-11",
        "f32 f64",
        "",
        "start:0.limit:1e1.delta:3 start:1.limit:-2.delta:-4e-1 start:0.limit:1.delta:1e-1.feed:start_limit_delta",
    ),
    Row("Range-11", "i16 i32 i64", "", "start:0.limit:10.delta:3 start:7.limit:-9.delta:-2 start:3.limit:3.delta:1"),
    Row("Range-11", "i32 i64", "", "start:-5.limit:17.delta:4.feed:start_limit_delta"),
    Row("Shape-21 Size-21", "f32 f16 i8 u8 i32 i64 bool", "index", "data:2x3x5x7"),
    Row("Shape-21 Size-21", "f32", "zero", "data:scalar data:11 data:0x3 data:2x3x2x5x3"),
    Row(
        "Shape-21",
        "f32",
        "zero",
        "data:2x3x5x7.start:1 data:2x3x5x7.end:-1 data:2x3x5x7.end:3.start:-3 data:2x3x5x7.end:9.start:2",
    ),
    *casting.CASES,
    *constants.CASES,
)
