"""Tensors made of shapes and attributes: Constant, ConstantOfShape, Range, EyeLike, Shape, Size."""

from __future__ import annotations

from suites.cases.operators.sizes import WIDTHS
from suites.cases.operators.sweep import Sweep, joined
from suites.cases.operators.table import Row

_INTEGERS = "i8 u8 i16 u16 i32 u32 i64 u64"
_FLOAT8 = "f8e4m3fn f8e4m3fnuz f8e5m2 f8e5m2fnuz"


def _ends(start: str) -> str:
    return " ".join(f"data:2x3x5x7.end:{end}{start}" for end in ("0", "2", "4", "-1", "-4", "-9", "9"))


_SHAPES = " ".join(_ends(start) for start in (".start:0", ".start:1", ".start:-1", ".start:3", ".start:9", ".start:-9"))
_STARTS = " ".join(f"data:2x3x5x7.start:{start}" for start in ("0", "4", "-2", "-5", "7"))
_RANKS = " ".join(f"data:{s}" for s in ("scalar", "1", "0", "2x0x3", "1x1x1", "2x1x2x1x2x1x2x3", "257"))

# Counts that do not come out even, of either sign, none, one; lengths around vector widths.
_WHOLE = (
    "start:0.limit:10.delta:3 start:10.limit:0.delta:-3 start:-7.limit:8.delta:5 start:5.limit:5.delta:1 "
    "start:5.limit:0.delta:1 start:0.limit:5.delta:-1 start:0.limit:1.delta:100 "
    "start:-1.limit:-2.delta:-1 start:0.limit:9.delta:3 start:9.limit:0.delta:-3"
)
_COUNTS = " ".join(f"start:3.limit:{3 + 2 * w}.delta:2" for w in WIDTHS)
_REAL = (
    "start:0.limit:1.delta:25e-2 start:0.limit:1.delta:3e-1 start:1.limit:0.delta:-25e-2 start:-15e-1.limit:25e-1.delta:5e-1 "
    "start:0.limit:0.delta:1 start:1.limit:0.delta:1 start:0.limit:3e7.delta:1e7 start:1e-1.limit:1.delta:1e-1 "
    "start:1e10.limit:2e10.delta:3e9 start:0.limit:1e-10.delta:3e-11"
)
_LARGE_WHOLE = (
    "start:50.limit:2300000050.delta:400000000 "
    "start:9223372036854775807.limit:9223372036854775800.delta:-3 start:9007199254740993.limit:9007199254740999.delta:2 "
    "start:-2147483649.limit:2147483649.delta:1073741825 start:9223372036854775800.limit:9223372036854775807.delta:5"
)
_FED_RANGES = " ".join(
    f"start:{s}.limit:{e}.delta:{d}.feed:{f}"
    for s, e, d, f in (
        ("0", "10", "3", "limit"),
        ("7", "-9", "-2", "start_limit_delta"),
        ("5", "5", "1", "start_limit_delta"),
        ("1", "8", "2", "delta"),
        ("2", "19", "4", "start_limit"),
    )
)


def _eye(shape: str, k: str, dtype: str) -> str:
    return joined(f"input:{shape}", dtype and f"dtype:{dtype}", k and f"k:{k}")


_EYES = {
    "shape": ("5x7", "7x5", "5x5", "1x9", "9x1", "17x16", "0x5", "1x1"),
    "k": ("", "0", "1", "-1", "2", "-3", "4", "-4", "7", "-9", "100"),
    "dtype": ("", "f32", "f16", "i64", "bool", "u8", "f64", "i32"),
}
_FILLED = " ".join(f"input:{s}.value:3" for s in ("7", "2_3_5", "1_1", "0", "2_0_3", "none", "1_2_1_2_1_2", *map(str, WIDTHS)))

CASES = (
    Row("Shape-21", "f32", "zero", f"{_SHAPES} {_STARTS} {_RANKS}"),
    Row("Shape-15", "f32", "zero", f"{_ends('.start:1')} {_STARTS}"),
    Row("Shape-1 Shape-13 Size-1 Size-13 Size-19", "f32", "zero", _RANKS),
    Row("Shape-19 Shape-23 Shape-24 Shape-25 Size-23 Size-24 Size-25", "i8", "zero", "data:2x3x5x7 data:0x3"),
    Row("Shape-21 Size-21", f"{_FLOAT8} i4 u4 u16 u32 u64 i16 bf16 f64 str", "index", "data:3x5x7"),
    Row("Size-21", "f32", "zero", _RANKS),
    Row("Range-11", "i16 i32 i64", "", f"{_WHOLE} {_FED_RANGES}"),
    Row("Range-11", "i64 f32", "", _COUNTS),
    Row(
        "Range-11",
        "f32 f64",
        "",
        f"{_REAL} start:7.limit:-9.delta:-2.feed:start_limit_delta start:1.limit:8.delta:2.feed:delta",
    ),
    Row("Range-11", "i64", "", f"{_LARGE_WHOLE} start:50.limit:2300000050.delta:400000000.feed:start_limit_delta"),
    Row("Range-11", "i32", "", "start:0.limit:2147483647.delta:1073741824 start:2147483640.limit:2147483647.delta:3"),
    Row("Range-11", "i16", "", "start:-32768.limit:32767.delta:8192 start:32000.limit:32767.delta:300"),
    Sweep("EyeLike-9", "f32", "zero", _eye, _EYES, one_in=3),
    Row("EyeLike-22", "f32 i64 bf16", "zero", "input:5x7.k:1 input:3x3.dtype:bf16 input:7x5.dtype:f16.k:-3 input:17x16"),
    Row("EyeLike-9 EyeLike-22", "u8 i64 f64 f16 bool", "zero", "input:3x5.k:-1"),
    Row("ConstantOfShape-21", "f32", "", _FILLED),
    Row(
        "ConstantOfShape-9 ConstantOfShape-20 ConstantOfShape-23 ConstantOfShape-24 ConstantOfShape-25",
        "f32 i8",
        "",
        "input:2_3.value:1 input:none.value:1 input:0_3.value:1 input:5.value:1.feed:input",
    ),
    Row("ConstantOfShape-21", f"{_INTEGERS} f64 f16 bf16", "", "input:3_5.value:3 input:7.value:1.feed:input"),
    Row("ConstantOfShape-21", "f32 f16 f64", "", "input:5.value:inf input:5.value:nan input:5.value:-0 input:3_5.value:-15e-1"),
    Row("ConstantOfShape-9 ConstantOfShape-21", "f32", "", "input:2_3 input:none input:0 input:3_1.feed:input"),
    Row("ConstantOfShape-21", "i32", "", "input:5.value:-2147483648 input:5.value:2147483647"),
    Row("ConstantOfShape-21", "i64 u64", "", "input:5.value:9223372036854775807"),
    Row("ConstantOfShape-21", "f32 i8", "", "input:1024_1031.value:7"),
    Row(
        "Constant-13 Constant-12 Constant-21",
        "f32",
        "",
        "value_float:15e-1 value_floats:15e-1_-2_0_1e10 value:3 value_float:inf value_floats:nan",
    ),
    Row(
        "Constant-13 Constant-12 Constant-21",
        "i64",
        "",
        "value_int:9007199254740993 value_ints:1_-2_9223372036854775807 value:-7",
    ),
    Row("Constant-13 Constant-21", "str", "", "value_string:word value_strings:a_bc_def"),
    Row("Constant-9 Constant-11 Constant-13 Constant-23 Constant-25", "u8 i64 f32 f64 bool", "", "value:1"),
    Row("Constant-21", f"{_INTEGERS} f16 bf16 {_FLOAT8} i4 u4", "", "value:1"),
)
