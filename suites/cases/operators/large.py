"""Cases over a million elements, for what shows in large tensors only: indices of 16 bits and 20, splits among threads,
tiles and their borders, several passes over a memory smaller than the tensor.

Cheap operators, mostly narrow types and inputs that are cheap to make: each case takes some 40 ms with the verification.
"""

from __future__ import annotations

from collections.abc import Mapping

from suites.cases.operators.spread import Spread
from suites.cases.operators.table import Row

# ONNX's shape inference works out the sum of two vectors, in case it is a shape, which is slow: hence the rank of 2.
_PAIR = "a:1x1000003.b:1x1000003 a:1031x977.b:977 a:1031x977.b:1031x1 a:16x257x251.b:257x1"
_ONE = "x:1000003 x:1031x977"
_LINES = "data:1000003.axes:0 data:1031x977.axes:1 data:1031x977.axes:0.keepdims:0 data:16x257x251.axes:0_2"

LARGE: Mapping[str, tuple[Row | Spread, ...]] = {
    "elementwise": (
        Spread("Add-14 Mul-14 Sub-14", "i8 u8 i32 f32", "index", _PAIR),
        Spread("Max-13 Min-13", "f32 i8 i32", "index", "data_0:1000003.data_1:1000003 data_0:1031x977.data_1:977"),
        Spread("Neg-13 Abs-13", "i8 i32 i16 f32", "index", _ONE),
        Row("Clip-13", "f32 i8", "index", "input:1000003.min:5.max:99"),
        Row("Floor-13", "f32", "index", "x:1000003"),
        Row("Sign-13", "i8 u8", "index", "input:1000003"),
    ),
    "logical": (
        Spread("Less-13 Equal-19 GreaterOrEqual-16", "f32 f16 i8 i32", "index", "a:1000003.b:1000003 a:1031x977.b:977"),
        Row("And-7 Or-7 Xor-7", "bool", "uniform", "a:1000003.b:1000003 a:1031x977.b:977"),
        Row("BitwiseXor-18", "u8 i32", "index", "a:1000003.b:1000003"),
        Row("BitwiseNot-18", "u8 i16", "index", "x:1000003"),
        Row("Not-1", "bool", "uniform", "x:1000003"),
        Row("IsNaN-20", "f32 f16", "index", "x:1000003"),
        Row("Where-16", "f16 i8", "index", "condition:1000003.x:1000003.y:scalar condition:1031x1.x:1031x977.y:977"),
    ),
    "activation": (
        Spread("Relu-14", "i8 i32 i16 f16", "index", _ONE),
        Row("LeakyRelu-16", "f16", "index", "x:1000003"),
    ),
    "reduction": (
        Spread("ReduceSum-13", "f32 i32", "lattice", _LINES),
        Spread("ReduceMax-20 ReduceMin-20", "f32 i8 u8", "index", _LINES),
        Spread("ArgMax-13 ArgMin-13", "f32 i8", "index", "data:1000003 data:1031x977.axis:1 data:1031x977.axis:0"),
    ),
}
"""Family → its large cases."""
