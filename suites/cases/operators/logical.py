"""Truth values, comparisons, bits, choices."""

from __future__ import annotations

from suites.cases.operators.table import Row

_SAME = "a:2x3x5x7.b:2x3x5x7"
_BROADCAST = "a:2x3x5x7.b:3x1x7"
_CORNERS = "a:5x1.b:1x7 a:scalar.b:3x5 a:0x3.b:3 a:3x5.b:1"
_COMPARISONS = "Equal-19 Greater-13 GreaterOrEqual-16 Less-13 LessOrEqual-16"
_WIDTHS = "i8 u8 i16 u16 i32 u32 i64 u64"

CASES = (
    Row("And-7 Or-7 Xor-7", "bool", "uniform", f"{_SAME} {_BROADCAST} {_CORNERS} a:1x5x1x7.b:2x1x3x1"),
    Row("Not-1", "bool", "uniform", "x:2x3x5x7 x:11 x:scalar x:0x3"),
    Row(_COMPARISONS, "f32", "normal special index", _SAME),
    Row(_COMPARISONS, "f32", "grid lattice", _BROADCAST),
    Row(_COMPARISONS, "f32", "normal", _CORNERS),
    Row(_COMPARISONS, "f16", "normal special lattice", _BROADCAST),
    Row(_COMPARISONS, "bf16 f64", "lattice", _BROADCAST),
    Row(_COMPARISONS, _WIDTHS, "extreme", _BROADCAST),
    Row(_COMPARISONS, "i32 i64", "lattice", _SAME),
    Row("Equal-19", "bool", "uniform", f"{_SAME} {_BROADCAST}"),
    Row("Equal-19", "str", "uniform", "a:3x5x7.b:7"),
    Row("BitwiseAnd-18 BitwiseOr-18 BitwiseXor-18", _WIDTHS, "uniform", _BROADCAST),
    Row("BitwiseAnd-18 BitwiseOr-18 BitwiseXor-18", "u8 i32", "extreme", f"{_SAME} a:scalar.b:3x5"),
    Row("BitwiseNot-18", _WIDTHS, "extreme", "x:2x3x5x7"),
    Row(
        "BitShift-11",
        "u8 u16 u32 u64",
        "uniform",
        f"{'x:2x3x5x7.y:2x3x5x7'}.direction:LEFT x:2x3x5x7.y:3x1x7.direction:RIGHT",
    ),
    Row("BitShift-11", "u8 u32", "extreme", "x:3x5x7.y:7.direction:RIGHT x:3x5.y:scalar.direction:LEFT"),
    Row("IsInf-20", "f32 f16", "special", "x:2x3x5x7 x:3x5x7.detect_negative:0 x:3x5x7.detect_positive:0 x:11"),
    Row("IsInf-20", "f32", "special", "x:3x5.detect_negative:0.detect_positive:0 x:0x3"),
    Row("IsInf-20 IsNaN-20", "bf16 f64 f8e4m3fn f8e5m2", "special", "x:3x5x7"),
    Row("IsNaN-20", "f32 f16", "special", "x:2x3x5x7 x:11"),
    Row("IsNaN-20", "f32", "special normal", "x:scalar x:0x3"),
    Row(
        "Where-16",
        "f32 f16",
        "normal special",
        "condition:2x3x5x7.x:2x3x5x7.y:2x3x5x7 condition:3x1x7.x:2x3x5x7.y:scalar",
    ),
    Row(
        "Where-16",
        "f32",
        "index",
        "condition:2x3x5x7.x:5x7.y:2x1x1x7 condition:scalar.x:3x5.y:3x5 condition:5x1.x:1x7.y:scalar",
    ),
    Row(
        "Where-16",
        "f32",
        "index",
        "condition:0x3.x:3.y:1x3 condition:3x5.x:3x5.y:1.const:y condition:3x5.x:3x5.y:3x5.const:condition",
    ),
    Row("Where-16", "bf16 f64 i8 u8 i16 i32 i64 bool", "index", "condition:3x1x7.x:2x3x5x7.y:5x7"),
    Row("Where-16", "i64", "extreme", "condition:2x3x5x7.x:2x3x5x7.y:2x3x5x7"),
)
