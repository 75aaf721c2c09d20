"""Operators of one operand: functions, signs, rounding, at each length, rank and type."""

from __future__ import annotations

from suites.cases.operators.shapes import FLOATS, INTEGERS, LENGTHS, LONG, RANKS, SIGNED, TAILS, each
from suites.cases.operators.spread import Spread
from suites.cases.operators.table import Row

_EVERYWHERE = "Asinh-22 Atan-22 Cos-22 Cosh-22 Sin-22 Sinh-22 Tan-22 Erf-13 Exp-13"
_WITHIN_ONE = "Acos-22 Asin-22 Atanh-22"
_POSITIVE = "Log-13 Acosh-22"
_ROOTS = "Sqrt-13 Reciprocal-13"
_ROUNDING = "Ceil-13 Floor-13 Round-22"
_SIGNS = "Abs-13 Neg-13"

_INPUT = each("input", LENGTHS)
_INPUT_RANKS = each("input", RANKS)
_X = each("x", LENGTHS)
_X_RANKS = each("x", RANKS)
_MORE = "7x9 33 2x3x5x7"

CASES = (
    # Functions: tails of vectors in each type; NaN, infinities and subnormals wherever they fall in a vector; ranks.
    Spread(_EVERYWHERE, FLOATS, "normal uniform grid", _INPUT, times=2),
    Spread(_EVERYWHERE, "f32 f16", "special extreme", _INPUT),
    Row(_EVERYWHERE, "f32", "uniform", _INPUT_RANKS),
    Spread(_EVERYWHERE, FLOATS, "wide tiny", each("input", TAILS)),
    Row(_EVERYWHERE, "f32", "tiny", "input:65"),
    Row(_EVERYWHERE, "f32", "normal", each("input", LONG)),
    Spread(_WITHIN_ONE, FLOATS, "unit tiny", _INPUT),
    Spread(_WITHIN_ONE, "f32 f16", "special", each("input", TAILS)),
    Row(_WITHIN_ONE, "f32", "unit", _INPUT_RANKS),
    Row(_WITHIN_ONE, FLOATS, "tiny extreme", "input:65"),
    Spread(_POSITIVE, FLOATS, "positive", _INPUT),
    Spread(_POSITIVE, "f32 f16", "special extreme", each("input", TAILS)),
    Row(_POSITIVE, "f32", "positive", _INPUT_RANKS),
    Spread(_ROOTS, FLOATS, "positive normal", _X),
    Spread(_ROOTS, "f32 f16", "special extreme", each("x", TAILS)),
    Row(_ROOTS, "f32", "positive", _X_RANKS),
    Spread("Exp-6 Log-6", "f32 f16 f64", "positive special", each("input", _MORE)),
    Spread("Sqrt-6 Reciprocal-6", "f32 f16 f64", "positive special", each("x", _MORE)),
    Row("Erf-9", "f32 f16 f64", "normal special", each("input", _MORE)),
    Spread("Asinh-9 Cosh-9 Sinh-9 Atan-7 Cos-7 Sin-7 Tan-7", "f32 f16 f64", "uniform special", each("input", _MORE)),
    # Rounding: half-way, beyond the whole numbers of the type, and -0.5 to -0.
    Spread(_ROUNDING, FLOATS, "half uniform special extreme", _X),
    Row(_ROUNDING, "f32", "half", _X_RANKS),
    Spread("Ceil-6 Floor-6 Round-11", "f32 f16 f64", "half special", each("x", _MORE)),
    # Signs: of every type; of zeros, of the lowest and of numbers that float32 does not tell apart.
    Spread(_SIGNS, f"{FLOATS} {SIGNED}", "extreme normal", each("x", TAILS), times=2),
    Spread(_SIGNS, FLOATS, "special", each("x", TAILS)),
    Spread(_SIGNS, f"{FLOATS} {SIGNED}", "extreme normal", _X_RANKS),
    Spread("Abs-13", "u8 u16 u32 u64", "extreme", each("x", "1 15 17 33 129 257 scalar 2x3x5x7")),
    Row("Abs-6", f"f32 f16 f64 {INTEGERS}", "extreme", each("x", "7x9 33")),
    Row("Neg-6", f"f32 f16 f64 {SIGNED}", "extreme", each("x", "7x9 33")),
    Spread("Sign-13", "f32 f16 bf16 i8 i64 u8 u64", "extreme normal", each("input", TAILS)),
    Spread("Sign-13", FLOATS, "special", each("input", TAILS)),
    Spread("Sign-13", "f32 f16 i8 u64", "extreme", _INPUT_RANKS),
    Row("Sign-9", f"f32 f16 f64 {INTEGERS}", "extreme", each("input", "7x9 33")),
)
