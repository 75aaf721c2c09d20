"""Operators of two and more operands: patterns of broadcasting, lengths, types, older versions."""

from __future__ import annotations

from suites.cases.operators.shapes import (
    BROADCAST,
    CHIEF,
    EMPTY,
    EQUAL,
    FLOATS,
    INTEGERS,
    LONG,
    TAILS,
    constants,
    lengths,
    two,
)
from suites.cases.operators.spread import Spread
from suites.cases.operators.sweep import Sweep, joined
from suites.cases.operators.table import Entry, Row

_FOUR = "Add-14 Sub-14 Mul-14 Div-14"
_PATTERNS = two("a", "b", BROADCAST)
_SHORT = "a:2x3x5x7.b:5x1 a:17.b:17"

_VARIADIC = "Max-13 Min-13 Mean-13 Sum-13"
_MANY = ("1", "2", "3", "4", "5", "8", "9")
_OPERANDS = ("3x5", "5", "scalar", "2x1x5", "1", "2x3x1", "3x1", "1x1x1x5", "3x5")


def _variadic(shapes: tuple[str, ...]) -> str:
    return ".".join(f"data_{i}:{shape}" for i, shape in enumerate(shapes))


_ALIKE = " ".join(_variadic(("7x9",) * int(n)) for n in _MANY)
_UNLIKE = " ".join(_variadic(_OPERANDS[: int(n)]) for n in _MANY)
_STORED = (
    "data_0:3x17.data_1:17.const:data_1 data_0:17.data_1:3x17.const:data_0 "
    "data_0:5x7.data_1:scalar.data_2:5x1.const:data_1_data_2"
)
_REAL_LIMITS = ("", "0", "-inf", "inf", "1", "-1")
_SIGNED_LIMITS = ("", "0", "-128", "127", "-1", "1")
_UNSIGNED_LIMITS = ("", "0", "200", "255", "128")
_CLIPPED = {"tensor": ("17", "2x3x5x7", "scalar", "3x0", "257", "2x1x3x1x2x1x2x3"), "feed": ("", "min_max")}


def _power(version: int, base: str, exponent: str) -> Row:
    """One type of base, one of exponent."""
    suffix = "" if base == exponent else f":{exponent}"
    recipe = "normal" if base in ("i32", "i64") else "positive"
    return Row(f"Pow-{version}", base, recipe, f"x:3x5x7.y:7{suffix}")


def _clip(tensor: str, low: str, high: str, feed: str) -> str | None:
    """Limits by value; `feed` names those that are graph inputs."""
    if feed and not (low and high):
        return None
    if (low == "inf" and not high) or (high == "-inf" and not low):  # ONNX leaves open whether an absent limit is infinite
        return None
    return joined(f"input:{tensor}", low and f"min:{low}", high and f"max:{high}", feed and f"feed:{feed}")


CASES: tuple[Entry, ...] = (
    # Add, Sub, Mul, Div: each rank and no elements; each type with each pattern and length for some of the operators.
    Row(_FOUR, "f32", "normal", two("a", "b", (*EQUAL, *EMPTY))),
    Spread(_FOUR, "f32", "normal", _PATTERNS, times=2),
    Spread(_FOUR, "f16 bf16 f64", "normal grid", two("a", "b", CHIEF)),
    Spread(_FOUR, INTEGERS, "uniform extreme normal", two("a", "b", CHIEF)),
    Spread(_FOUR, FLOATS, "normal extreme", lengths("a", "b")),
    Spread(_FOUR, INTEGERS, "normal extreme", lengths("a", "b", TAILS)),
    Spread(_FOUR, FLOATS, "special", lengths("a", "b", TAILS)),
    Spread(_FOUR, "f32 f16 i8 i32", "normal", lengths("a", "b", LONG)),
    Spread(_FOUR, "f32 f16 i8 i32", "normal", constants("a", "b")),
    Spread("Add-14 Sub-14 Mul-14", INTEGERS, "wrap", "a:257.b:257 a:33x1.b:1x17 a:3x65.b:scalar"),
    Spread("Add-7 Sub-7 Mul-7", "i32 i64 u32 u64", "normal", _SHORT, times=2),
    Spread("Add-7 Sub-7 Mul-7 Div-7", "f32 f16 f64", "normal", _SHORT, times=2),
    Spread("Add-13 Sub-13 Mul-13 Div-13", f"{FLOATS} i32 i64 u32 u64", "normal", _SHORT, times=2),
    Row("Div-14", "f32 f16 bf16", "lattice half positive", "a:2x3x5x7.b:2x3x5x7 a:129.b:129"),
    # Pow: patterns, types of base and exponent, older versions with one type for both.
    Row("Pow-15", "f32", "positive", two("x", "y", BROADCAST)),
    Spread("Pow-15", "f16 i32 i64", "positive", two("x", "y", CHIEF)),
    Spread("Pow-15", f"{FLOATS} i32 i64", "positive normal", lengths("x", "y", TAILS)),
    Row("Pow-15", "f32 i64", "positive", constants("x", "y")),
    *(_power(15, base, exponent) for base in f"{FLOATS} i32 i64".split() for exponent in f"i32 i64 u32 u64 {FLOATS}".split()),
    *(_power(13, base, exponent) for base in ("f32", "bf16", "i32", "i64") for exponent in ("i64", "f32", "u64")),
    *(_power(12, base, exponent) for base in ("f32", "i32", "i64") for exponent in ("i32", "f64")),
    Row("Pow-7", "f32 f16 f64", "positive normal", "x:3x5x7.y:7 x:17.y:17 x:3x5.y:scalar.const:y"),
    # Mod: the sign is the divisor's, with fmod the dividend's.
    Spread("Mod-13", "i8 i64 u8 u32", "extreme normal uniform", two("a", "b", CHIEF)),
    Spread("Mod-13", INTEGERS, "normal uniform extreme", lengths("a", "b", TAILS)),
    Spread("Mod-13", f"{INTEGERS} f32 f16 f64", "normal extreme", " ".join(f"a:{n}.b:{n}.fmod:1" for n in (3, 8, 17, 65))),
    Row("Mod-13", "f32 f16 bf16 f64", "normal half special", "a:2x3x5x7.b:5x1.fmod:1 a:17.b:scalar.fmod:1"),
    Row("Mod-10", INTEGERS, "extreme", "a:2x3x5x7.b:5x1 a:17.b:17.fmod:1"),
    Row("Mod-10", "f32 f16 f64", "normal", "a:2x3x5x7.b:5x1.fmod:1"),
    Row("Mod-13", "i8 i64", "extreme", constants("a", "b")),
    # Max, Min, Mean, Sum: one to nine operands, alike and stretched.
    Row(_VARIADIC, "f32", "normal", two("data_0", "data_1", EQUAL)),
    Spread(_VARIADIC, "f32", "normal", two("data_0", "data_1", BROADCAST)),
    Spread(_VARIADIC, "f16 bf16 f64", "normal", two("data_0", "data_1", CHIEF)),
    Spread("Max-13 Min-13", "i8 i64 u8 u32", "extreme uniform", two("data_0", "data_1", CHIEF)),
    Row(_VARIADIC, "f32", "normal", f"{_ALIKE} {_UNLIKE} {_STORED}"),
    Spread(_VARIADIC, "f16", "normal", f"{_ALIKE} {_UNLIKE} {_STORED}"),
    Spread("Max-13 Min-13", "i8 i32 i64 u8", "extreme", f"{_ALIKE} {_UNLIKE} {_STORED}"),
    Spread("Max-13 Min-13", f"{FLOATS} {INTEGERS}", "extreme normal", lengths("data_0", "data_1", TAILS)),
    Spread("Mean-13 Sum-13", FLOATS, "normal grid extreme", lengths("data_0", "data_1", TAILS)),
    Row("Max-13 Min-13", FLOATS, "special", "data_0:33.data_1:33 data_0:5x7.data_1:scalar data_0:129"),
    Spread("Max-12 Min-12", f"f32 f16 f64 {INTEGERS}", "extreme", "data_0:2x3x5x7.data_1:5x1 data_0:17.data_1:17.data_2:17"),
    Row(
        "Max-8 Min-8 Mean-8 Sum-8", "f32 f16 f64", "normal", "data_0:2x3x5x7.data_1:5x1 data_0:17.data_1:17.data_2:17 data_0:9"
    ),
    Row("Max-6 Min-6 Mean-6 Sum-6", "f32 f16", "normal", "data_0:17.data_1:17.data_2:17 data_0:3x5.data_1:3x5 data_0:9"),
    # Clip: either limit, none, infinite ones, the lower above the upper; stored and fed; as attributes before version 11.
    Sweep("Clip-13", "f32", "normal", _clip, {"low": ("-5e-1", *_REAL_LIMITS), "high": ("125e-2", *_REAL_LIMITS), **_CLIPPED}),
    Sweep("Clip-13", "i8", "extreme", _clip, {"low": ("-100", *_SIGNED_LIMITS), "high": ("99", *_SIGNED_LIMITS), **_CLIPPED}),
    Sweep("Clip-13", "u8", "extreme", _clip, {"low": ("3", *_UNSIGNED_LIMITS), "high": ("201", *_UNSIGNED_LIMITS), **_CLIPPED}),
    # What float64 and float32, or 32 bits, cannot tell apart.
    Row(
        "Clip-13",
        "i64",
        "extreme",
        "input:65.min:-9223372036854775807.max:9223372036854775806 input:33.min:-4294967297.max:4294967297",
    ),
    Row("Clip-13", "i64", "extreme", "input:65.min:9007199254740993 input:33.max:-9007199254740993 input:17.min:2147483648"),
    Row(
        "Clip-13",
        "u64",
        "extreme",
        "input:65.min:9223372036854775808 input:33.max:18446744073709551614 input:17.min:4294967296",
    ),
    Row("Clip-13", "i32", "extreme", "input:65.min:-2147483647.max:2147483646 input:33.min:-16777217.max:16777217"),
    Row("Clip-13", "u32", "extreme", "input:65.min:2147483648 input:33.max:2147483649 input:17.min:16777217.max:4294967294"),
    Row("Clip-13", "f32 f16 i8 i64", "normal", " ".join(f"input:{n}.min:-1.max:1" for n in TAILS.split())),
    Row("Clip-12", "f32 i8 i64 u64", "normal", "input:17.min:1.max:9 input:2x3x5x7.min:3 input:3x5.max:2.feed:max"),
    Row("Clip-11", "f32 f16", "normal", "input:17.min:-1.max:5e-1 input:2x3x5x7.min:0 input:3x5.max:2.feed:max input:9"),
    Row("Clip-6", "f32 f16", "normal", "input:17.max:5e-1.min:-1 input:2x3x5x7.min:0 input:3x5.max:2 input:9"),
)
