"""Changing the element type: Cast, CastLike, BitCast."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from suites.cases.operators.sizes import WIDTHS
from suites.cases.operators.table import Row

_REALS = "f32 f16 bf16 f64"
_WORDS = "i8 u8 i16 u16 i32 u32 i64 u64"
_FLOAT8 = "f8e4m3fn f8e4m3fnuz f8e5m2 f8e5m2fnuz"
_NIBBLES = "i4 u4"
_CRUMBS = "i2 u2"
_SCALE = "f8e8m0"
_OPSET_13 = f"{_REALS} {_WORDS} bool"
_OPSET_25 = f"{_OPSET_13} {_FLOAT8} {_NIBBLES} {_CRUMBS}"


def _to(targets: str, shape: str = "3x5x7", **attributes: str) -> str:
    named = "".join(f".{name}:{value}" for name, value in attributes.items())
    return " ".join(f"input:{shape}{named}.to:{target}" for target in targets.split())


def _pairs(operators: str, sources: str, targets: str, recipe: str = "normal", shape: str = "3x5x7") -> Iterator[Row]:
    """From each of the sources to each of the targets, also to itself."""
    return (Row(operators, source, recipe, _to(targets, shape)) for source in sources.split())


def _to_and_from(operators: str, some: str, others: str) -> Iterator[Row]:
    """What a version has in addition: its new types beside those that there were."""
    yield from _pairs(operators, some, f"{some} {others}")
    yield from _pairs(operators, others, some)


def _like(operators: str, source: str, recipe: str, shape: str, targets: str, target: str = "1", ending: str = "") -> Row:
    """CastLike of one type to others; the tensor whose type counts has the shape `target`."""
    others = [name for name in targets.split() if name != source]
    return Row(operators, source, recipe, " ".join(f"input:{shape}.target_type:{target}:{name}{ending}" for name in others))


_LENGTHS = " ".join(_to(target, shape) for target in ("f16", "bf16", "i8") for shape in map(str, WIDTHS))
_LENGTHS_BACK = " ".join(_to("f32", shape) for shape in map(str, WIDTHS))
_PACKED_LENGTHS = " ".join(_to("i4 u4", shape) for shape in ("scalar", "1", "2", "7", "8x3", "33"))
_UNPACKED_LENGTHS = " ".join(_to("f32 i8", shape) for shape in ("scalar", "1", "2", "7", "8x3", "33"))
_SAME_BITS = ("i8 u8", "i16 u16 f16 bf16", "i32 u32 f32", "i64 u64 f64", "i2 u2")

CASES = (
    Row("Cast-25", f"{_OPSET_13} {_FLOAT8}", "normal", _to(_OPSET_25)),
    *_to_and_from("Cast-25", _CRUMBS, "f32 f16 bf16 i8 u8 i32 i64 bool f8e4m3fn i4 u4"),
    *_pairs("Cast-25", "f4e2m1", _OPSET_25),
    *_pairs("Cast-13", "f32 bf16 u8 i32 i64 bool", "f32 f16 bf16 i8 i64 bool", shape="3x5"),
    *_pairs("Cast-6", "f32 f16 u8 i64 bool", "f32 f16 i8 i64 bool", shape="3x5"),
    *_pairs("Cast-9", "f32 i8 bool", "f32 u8 i32 bool", shape="3x5"),
    *_to_and_from("Cast-19", _FLOAT8, "f32 f16 bf16 f64 u8 i32"),
    *_to_and_from("Cast-21", _NIBBLES, "f32 f16 bf16 i8 u8 i32 f8e4m3fn bool"),
    *_pairs("Cast-23", "f4e2m1", f"f32 f16 bf16 i8 u8 i32 i4 u4 bool {_FLOAT8}"),
    # Numbers as text: digits of whole numbers only, others are open in ONNX.
    *_pairs("Cast-9 Cast-21", _WORDS, "str", shape="3x5"),
    Row("Cast-21", "i64 u64 i8", "extreme", _to("str")),
    # Ties and overflow: whole numbers beyond the target's significand, values around and beyond the largest number.
    Row("Cast-21", "i16 u16 i32 u32 i64 u64", "uniform extreme", _to("f32 f16 bf16")),
    Row("Cast-21", "i32 u32 i64 u64", "extreme", _to("f64 i8 u8 i16 u16 u32 i32 bool")),
    Row("Cast-21", "i8 u8 i16 u16", "extreme", _to("i8 u8 i16 u16 i32 u32 i64 u64 i4 u4")),
    Row("Cast-21", _REALS, "place", _to(f"bf16 f16 {_FLOAT8}")),
    Row("Cast-13 Cast-21", _REALS, "special extreme", _to(_REALS)),
    Row("Cast-21", _REALS, "special", _to("bool")),
    Row("Cast-21", _REALS, "half wide", _to(f"{_WORDS} bool")),
    *(
        Row("Cast-19 Cast-21 Cast-25", dtype, "extreme", _to(_FLOAT8, saturate=saturate))
        for dtype, saturate in product(("f32", "bf16"), "01")
    ),
    Row("Cast-19 Cast-21 Cast-25", "f16", "extreme", _to(_FLOAT8, saturate="1")),
    Row("Cast-19 Cast-21 Cast-25", "f16", "special extreme", _to("f8e4m3fn f8e4m3fnuz f8e5m2fnuz", saturate="0")),
    # Infinities: as version 24 explains them, FNUZ types have none before and the largest number from then on.
    Row("Cast-19 Cast-21 Cast-25", "f32 bf16 f64", "special", f"{_to(_FLOAT8, saturate='0')} {_to('f8e4m3fn f8e5m2')}"),
    Row("Cast-25", "f32 f16 bf16", "special", _to("f8e4m3fnuz f8e5m2fnuz", saturate="1")),
    Row("Cast-21", "f64", "extreme", f"{_to(_FLOAT8, saturate='0')} {_to(_FLOAT8)}"),
    Row("Cast-21", _FLOAT8, "extreme", f"{_to(f'f32 f16 bf16 {_FLOAT8}')} {_to(_FLOAT8, saturate='0')}"),
    Row("Cast-21", _FLOAT8, "special", _to("f32 f16 bf16 f8e4m3fn")),
    # Scales are powers of two: rounded up unless round_mode says otherwise.
    *(
        Row("Cast-24 Cast-25", "f32 f16 bf16 f64", "positive", _to(_SCALE, **attributes))
        for attributes in ({}, *({"round_mode": mode} for mode in ("up", "down", "nearest")), {"saturate": "0"})
    ),
    Row("Cast-24 Cast-25", "i8 u8 i32 i64", "positive", _to(_SCALE)),
    Row("Cast-24 Cast-25", _SCALE, "positive", _to(_REALS)),
    Row("Cast-21", "f32", "normal", f"{_LENGTHS} {_PACKED_LENGTHS}"),
    Row("Cast-21", "f16 bf16 u8", "index", _LENGTHS_BACK),
    Row("Cast-21", "i8 u8 i32", "normal", _PACKED_LENGTHS),
    Row("Cast-21", "i4 u4", "uniform", f"{_UNPACKED_LENGTHS} {_to('i4 u4 f16 i32', '3x7')}"),
    Row("Cast-25", "i2 u2", "uniform", f"{_UNPACKED_LENGTHS} {_to('i4 u4 f16 i32', '3x7')}"),
    Row("Cast-21", "f32 i64", "normal", _to("f16 bf16 i32 u8 bool", "2x0x3")),
    Row("Cast-21", "f32", "uniform", _to("f16 i8", "1024x1031")),
    Row("Cast-21", "f16 u8 i8", "index", _to("f32", "1024x1031")),
    Row("Cast-21", "i64 u8", "index", _to("i32", "1024x1024")),
    *(_like("CastLike-21", dtype, "normal", "3x5", "f32 f16 bf16 u8 i32 i64 bool") for dtype in _OPSET_13.split()),
    *(
        _like("CastLike-15 CastLike-19 CastLike-25", dtype, "normal", "3x5", "f32 f16 u8 i64 bool", "2x3")
        for dtype in ("f32", "f16", "i32")
    ),
    *(_like("CastLike-21", dtype, "normal", "3x5", "f16 i32 bool", "0") for dtype in ("f32", "i64")),
    *(_like("CastLike-21", dtype, "normal", "7", "f16 i32 u8", "3", ".const:target_type") for dtype in ("f32", "i64")),
    *(
        _like("CastLike-19 CastLike-25", dtype, "extreme", "3x5x7", _FLOAT8, ending=ending)
        for dtype in ("f32", "bf16")
        for ending in ("", ".saturate:0")
    ),
    Row("BitCast-26", _FLOAT8, "uniform", _to(f"i8 u8 {_FLOAT8}")),
    *(Row("BitCast-26", source, "uniform", _to(types)) for types in _SAME_BITS for source in types.split()),
)
