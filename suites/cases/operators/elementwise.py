"""Arithmetic and functions of single elements, with broadcasting."""

from __future__ import annotations

from suites.cases.operators.table import Row

_SAME = "a:2x3x5x7.b:2x3x5x7"
_BROADCAST = "a:2x3x5x7.b:3x1x7"
_BOTH = "a:1x5x1x7.b:2x1x3x1"
_SHAPES = f"{_SAME} {_BROADCAST} {_BOTH}"
_CORNERS = (
    "a:5x1.b:1x7 a:scalar.b:3x5 a:3x5.b:1 a:0x3.b:3 a:2x3x2x5x3.b:3 a:scalar.b:scalar a:2x3x5x7.b:1x3x1x1.const:b a:7.b:2x3x5x7"
)
_X = "x:2x3x5x7"
_X_CORNERS = "x:scalar x:11 x:0x3 x:2x3x2x5x3"
_INPUT = "input:2x3x5x7"
_INPUT_CORNERS = "input:scalar input:11 input:0x3"
_INTEGERS = "i8 u8 i16 i32 i64"
_UNSIGNED = "u16 u32 u64"

_FUNCTIONS = "Asinh-9 Atan-7 Cos-7 Cosh-9 Sin-7 Sinh-9 Tan-7"
_FUNCTIONS_16 = "Erf-13 Exp-13"

CASES = (
    # Two operands.
    Row("Add-14 Sub-14 Mul-14 Div-14", "f32", "normal grid", _SHAPES),
    Row("Add-14 Sub-14 Mul-14 Div-14", "f32", "normal", _CORNERS),
    Row("Add-14 Sub-14 Mul-14 Div-14", "f32", "special extreme", f"{_SAME} {_BOTH}"),
    Row("Add-14 Sub-14 Mul-14", "f32 f16 bf16", "lattice", f"{_SAME} {_BROADCAST}"),
    Row("Add-14 Sub-14 Mul-14 Div-14", "f16", "normal special", f"{_SAME} {_BROADCAST}"),
    Row("Add-14 Sub-14 Mul-14 Div-14", "bf16 f64", "normal", _BROADCAST),
    Row("Add-14 Sub-14 Mul-14 Div-14", _INTEGERS, "uniform extreme", _BROADCAST),
    Row("Add-14 Sub-14 Mul-14", f"{_INTEGERS} {_UNSIGNED}", "wrap", _BROADCAST),
    Row("Add-14 Sub-14 Mul-14 Div-14", "i32 i64", "normal", f"{_BOTH} a:scalar.b:3x5"),
    Row("Add-14 Sub-14 Mul-14 Div-14", _UNSIGNED, "uniform", _BROADCAST),
    Row("Add-14 Mul-14", "f32", "normal", "a:7x11x13x17.b:17 a:1x19x23x31.b:1x19x1x1"),
    Row("Pow-15", "f32", "positive normal", "x:2x3x5x7.y:2x3x5x7 x:2x3x5x7.y:3x1x7 x:3x5.y:scalar x:3x5.y:1.const:y"),
    Row("Pow-15", "f32", "special", "x:2x3x5x7.y:2x3x5x7"),
    Row("Pow-15", "f16", "positive normal", "x:2x3x5x7.y:2x3x5x7"),
    Row("Pow-15", "f64", "positive", "x:3x5x7.y:3x5x7"),
    Row("Pow-15", "i32 i64", "normal", "x:3x5x7.y:3x5x7 x:3x5x7.y:7 x:3x5.y:scalar"),
    Row("Pow-15", "i32 i64", "uniform", "x:3x5x7.y:3x5x7 x:3x5x7.y:7"),
    Row("Pow-15", "f32", "positive", "x:3x5x7.y:3x5x7:i32 x:3x5x7.y:7:i64"),
    Row("Mod-13", "i8 u8 i16 u16 i32 u32 i64 u64", "normal extreme", "a:2x3x5x7.b:3x1x7"),
    Row("Mod-13", "i8 i32 i64", "normal", "a:2x3x5x7.b:2x3x5x7.fmod:1 a:3x5.b:scalar"),
    Row("Mod-13", "f32", "normal grid", "a:2x3x5x7.b:2x3x5x7.fmod:1 a:2x3x5x7.b:3x1x7.fmod:1"),
    Row("Mod-13", "f16 f64", "normal", "a:2x3x5x7.b:2x3x5x7.fmod:1"),
    # Any number of operands.
    Row("Max-13 Min-13", "f32", "normal special", "data_0:2x3x5x7.data_1:3x1x7 data_0:3x5.data_1:3x5.data_2:3x5"),
    Row(
        "Max-13 Min-13",
        "f32",
        "normal",
        "data_0:11 data_0:scalar.data_1:3x5 data_0:0x3.data_1:3 data_0:5x1.data_1:1x7.data_2:scalar",
    ),
    Row("Max-13 Min-13", "f16", "normal special", "data_0:2x3x5x7.data_1:3x1x7"),
    Row("Max-13 Min-13", "bf16 f64", "normal", "data_0:2x3x5x7.data_1:3x1x7"),
    Row("Max-13 Min-13", f"{_INTEGERS} {_UNSIGNED}", "extreme", "data_0:2x3x5x7.data_1:3x1x7"),
    Row("Mean-13 Sum-13", "f32", "normal grid", "data_0:2x3x5x7.data_1:3x1x7 data_0:3x5.data_1:3x5.data_2:3x5"),
    Row("Mean-13 Sum-13", "f32", "normal", "data_0:11 data_0:scalar.data_1:3x5 data_0:5x1.data_1:1x7.data_2:scalar"),
    Row("Mean-13 Sum-13", "f16", "normal", "data_0:2x3x5x7.data_1:3x1x7"),
    Row("Sum-13", "f32 f16 bf16", "lattice", "data_0:2x3x5x7.data_1:3x1x7.data_2:5x7"),
    Row("Mean-13 Sum-13", "f32", "special", "data_0:3x5x7.data_1:3x5x7"),
    # One operand: functions.
    Row(_FUNCTIONS, "f32", "normal grid special extreme", _INPUT),
    Row(_FUNCTIONS, "f32", "normal", _INPUT_CORNERS),
    Row(_FUNCTIONS, "f16", "normal special", _INPUT),
    Row(_FUNCTIONS, "f64", "normal", "input:3x5x7"),
    Row(_FUNCTIONS_16, "f32", "normal grid special extreme", _INPUT),
    Row(_FUNCTIONS_16, "f32", "normal", _INPUT_CORNERS),
    Row(_FUNCTIONS_16, "f16", "normal special", _INPUT),
    Row(_FUNCTIONS_16, "bf16 f64", "normal", "input:3x5x7"),
    Row("Erf-13 Exp-13", "f32", "normal", "input:3x31x37x41"),
    Row("Acos-7 Asin-7 Atanh-9", "f32", "unit special", f"{_INPUT} input:11 input:scalar"),
    Row("Acos-7 Asin-7 Atanh-9", "f16 f64", "unit", _INPUT),
    Row("Acosh-9", "f32", "normal positive special", f"{_INPUT} input:11"),
    Row("Acosh-9", "f16 f64", "positive", _INPUT),
    Row("Log-13", "f32", "positive normal special", f"{_INPUT} input:11 input:scalar"),
    Row("Log-13", "f16", "positive special", _INPUT),
    Row("Log-13", "bf16 f64", "positive", _INPUT),
    Row("Sqrt-13 Reciprocal-13", "f32", "positive normal special extreme", f"{_X} x:11"),
    Row("Sqrt-13 Reciprocal-13", "f32", "positive", _X_CORNERS),
    Row("Sqrt-13 Reciprocal-13", "f16", "positive normal special", _X),
    Row("Sqrt-13 Reciprocal-13", "bf16 f64", "positive", _X),
    # One operand: sign and rounding.
    Row("Abs-13 Neg-13", "f32 f16", "normal special extreme", _X),
    Row("Abs-13 Neg-13", "f32", "normal", _X_CORNERS),
    Row("Abs-13 Neg-13", "bf16 f64", "normal", _X),
    Row("Abs-13 Neg-13", "i8 i16 i32 i64", "extreme", _X),
    Row("Abs-13", f"u8 {_UNSIGNED}", "extreme", _X),
    Row("Sign-13", "f32 f16", "normal special", _INPUT),
    Row("Sign-13", "f32", "normal", _INPUT_CORNERS),
    Row("Sign-13", "bf16 f64", "normal", _INPUT),
    Row("Sign-13", f"{_INTEGERS} {_UNSIGNED}", "extreme", _INPUT),
    Row("Ceil-13 Floor-13 Round-11", "f32 f16", "normal half special", _X),
    Row("Ceil-13 Floor-13 Round-11", "f32", "uniform extreme", _X),
    Row("Ceil-13 Floor-13 Round-11", "f32", "half", _X_CORNERS),
    Row("Ceil-13 Floor-13 Round-11", "f64", "half", _X),
    Row("Ceil-13 Floor-13", "bf16", "half", _X),
    # Clipping.
    Row("Clip-13", "f32", "normal special", "input:2x3x5x7.min:-5e-1.max:125e-2 input:2x3x5x7.min:0 input:2x3x5x7.max:6"),
    Row("Clip-13", "f16", "normal", "input:2x3x5x7.min:0 input:2x3x5x7.max:6 input:3x5x7"),
    Row("Clip-13", "f32", "normal", "input:11 input:scalar.min:0.max:1 input:0x3.min:0.max:1 input:3x5x7.min:1.max:-1"),
    Row(
        "Clip-13",
        "f32",
        "normal",
        "input:3x5x7.min:-1e-1.max:3e-1.feed:min_max input:3x5x7.max:0.feed:max input:3x5.min:-inf.max:inf",
    ),
    Row("Clip-13", "f16", "normal special", "input:2x3x5x7.min:-5e-1.max:125e-2"),
    Row("Clip-13", "f64", "normal", "input:2x3x5x7.min:-5e-1.max:125e-2"),  # the function body of Clip-13 is ill-typed in bf16
    Row("Clip-13", "i8 i16 i32 i64", "extreme", "input:2x3x5x7.min:-100.max:99"),
    Row("Clip-13", "u8 u16 u32 u64", "extreme", "input:2x3x5x7.min:3.max:201"),
)
