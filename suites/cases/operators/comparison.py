"""Truth values, comparisons, bits and choices: patterns of broadcasting, lengths, types, older versions."""

from __future__ import annotations

from suites.cases.operators.shapes import (
    BROADCAST,
    CHIEF,
    EMPTY,
    EQUAL,
    FLOATS,
    INTEGERS,
    LENGTHS,
    LONG,
    RANKS,
    TAILS,
    UNSIGNED,
    constants,
    each,
    lengths,
    two,
)
from suites.cases.operators.spread import Spread
from suites.cases.operators.table import Row

_TRUTH = "And-7 Or-7 Xor-7"
_FIVE = "Equal-19 Greater-13 GreaterOrEqual-16 Less-13 LessOrEqual-16"
_BITS = "BitwiseAnd-18 BitwiseOr-18 BitwiseXor-18"
_SHORT = "a:2x3x5x7.b:5x1 a:33.b:33"

_SHIFTED = " ".join(f"{middle}.direction:{('LEFT', 'RIGHT')[i % 2]}" for i, middle in enumerate(two("x", "y", CHIEF).split()))
_SHIFTS = " ".join(f"x:{n}.y:{n}.direction:{side}" for n in TAILS.split() for side in ("LEFT", "RIGHT"))

_THREE = (
    ("scalar", "3x5x7", "3x5x7"),
    ("3x5x7", "scalar", "scalar"),
    ("3x5x7", "scalar", "3x5x7"),
    ("scalar", "scalar", "scalar"),
    ("1", "5x7", "7"),
    ("5x1", "1x7", "5x7"),
    ("5x1", "1x7", "scalar"),
    ("7", "2x3x5x7", "5x1"),
    ("2x3x5x7", "3x1x1", "7"),
    ("2x3x1x1", "5x7", "2x3x5x7"),
    ("3x1x1", "1x5x1", "1x1x7"),
    ("3x17", "3x17", "17"),
    ("3x17", "3x1", "3x17"),
    ("1x1x1x1", "3x5", "5"),
    ("2x1x3x1x2x1x2x3", "3", "2x1"),
    ("3", "2x1x3x1x2x1x2x3", "1x1x2x3"),
    ("2x3x2x5x3", "2x1x3", "3x1x5x1"),
    ("0x3", "3", "1"),
    ("1x3", "0x3", "scalar"),
    ("3x1", "1x0", "3x0"),
)
"""Condition and both choices, each of which may be stretched."""

_CHOICES = " ".join(f"condition:{c}.x:{x}.y:{y}" for c, x, y in _THREE)
_CHOICES_LENGTHS = " ".join(f"condition:{n}.x:{n}.y:{n}" for n in TAILS.split())
_CHOICES_STORED = " ".join(
    f"condition:{shape}.x:3x17.y:3x17.const:{names}"
    for shape in ("3x17", "17", "scalar")
    for names in ("condition", "x", "y", "x_y", "condition_x", "condition_y")
)

CASES = (
    Spread(_TRUTH, "bool", "uniform", f"{two('a', 'b', BROADCAST)} {constants('a', 'b')}"),
    Row(_TRUTH, "bool", "uniform", lengths("a", "b", TAILS)),
    Row("Not-1", "bool", "uniform", f"{each('x', LENGTHS)} {each('x', RANKS)}"),
    # Comparisons: ties, signed zeros, NaN; neighbours at the ends of every type, unsigned ones above the signed range.
    Row(_FIVE, "f32", "lattice", two("a", "b", (*EQUAL, *EMPTY))),
    Spread(_FIVE, "f32", "lattice", two("a", "b", BROADCAST)),
    Spread(_FIVE, "f16 bf16 f64 i8 i64 u8 u64", "extreme", two("a", "b", CHIEF)),
    Spread(_FIVE, f"{FLOATS} {INTEGERS}", "extreme lattice", lengths("a", "b", TAILS)),
    Spread(_FIVE, FLOATS, "special zero", lengths("a", "b", TAILS)),
    Spread(_FIVE, "f32 f16 i8 i64", "extreme", lengths("a", "b", LONG)),
    Spread(_FIVE, "f32 f16 i8 i64", "extreme", constants("a", "b")),
    Spread("Equal-19", "bool str", "uniform", two("a", "b", CHIEF)),
    Row("Equal-7", "bool i32 i64", "normal", _SHORT),
    Row("Equal-11", f"bool f32 f16 f64 {INTEGERS}", "normal", _SHORT),
    Row("Equal-13", f"bool f32 f16 bf16 f64 {INTEGERS}", "normal", _SHORT),
    Row("Greater-7 Less-7", "f32 f16 f64", "special", _SHORT),
    Spread("Greater-9 Less-9 GreaterOrEqual-12 LessOrEqual-12", f"f32 f16 f64 {INTEGERS}", "extreme", _SHORT, times=2),
    # Bits.
    Spread(_BITS, "i32", "uniform", two("a", "b", BROADCAST)),
    Spread(_BITS, "u8 i16 u32 i64", "uniform extreme", two("a", "b", CHIEF)),
    Spread(_BITS, INTEGERS, "uniform extreme", lengths("a", "b", TAILS)),
    Spread(_BITS, "u8 i64", "uniform", constants("a", "b")),
    Spread("BitwiseNot-18", INTEGERS, "uniform extreme", each("x", TAILS)),
    Spread("BitwiseNot-18", "u8 i64", "extreme", each("x", RANKS)),
    Spread("BitShift-11", UNSIGNED, "uniform extreme", f"{_SHIFTED} {_SHIFTS}"),
    Row(
        "BitShift-11",
        UNSIGNED,
        "extreme",
        "x:3x17.y:17.direction:LEFT.const:y x:3x17.y:scalar.direction:RIGHT.const:y x:scalar.y:33.direction:RIGHT.const:x",
    ),
    # NaN and infinities at every place of a vector.
    Spread("IsNaN-20 IsInf-20", f"{FLOATS} f8e5m2 f8e4m3fn", "special", each("x", TAILS)),
    Spread("IsNaN-20 IsInf-20", f"{FLOATS} f8e5m2fnuz f8e4m3fnuz", "special", each("x", RANKS)),
    Row(
        "IsInf-20",
        f"{FLOATS} f8e5m2",
        "special",
        "x:33.detect_negative:0 x:33.detect_positive:0 x:33.detect_negative:0.detect_positive:0",
    ),
    Row("IsNaN-13", FLOATS, "special", each("x", "33 2x3x5x7")),
    Row("IsNaN-9", "f32 f16 f64", "special", each("x", "33 2x3x5x7")),
    Row("IsInf-10", "f32 f64", "special", "x:33 x:2x3x5x7 x:33.detect_negative:0 x:33.detect_positive:0 x:scalar"),
    # Choices: which side stays as it is, to the bit.
    Row("Where-16", "f32", "special", _CHOICES),
    Spread("Where-16", "f16 i64", "extreme index", _CHOICES),
    Spread("Where-16", f"{FLOATS} bool i8 u16 i64", "extreme index", _CHOICES_LENGTHS),
    Row("Where-16", "f32 i8 i64", "index", _CHOICES_STORED),
    Row("Where-16", "f32 f16 bf16", "special", "condition:257.x:257.y:257 condition:33.x:33.y:33 condition:7x1.x:9.y:scalar"),
    Row("Where-16", "str c64", "uniform", "condition:3x5.x:3x5.y:3x5 condition:5.x:3x1.y:scalar"),
    Row("Where-9", f"f32 f16 f64 bool {INTEGERS}", "index", "condition:33.x:33.y:33 condition:3x1x7.x:2x3x5x7.y:5x7"),
)
