"""Cases of the dtype suite: what moves or hardly changes values, in every type; exercises fill them."""

from __future__ import annotations

from suites.cases.operators.table import Row, ids

_NARROW = "f8e4m3fn f8e4m3fnuz f8e5m2 f8e5m2fnuz"
_WIDE = "f64 f32 i64 u64 i32 u32"
_HALF = "f16 bf16 i16 u16"
_BYTE = "i8 u8 bool"
_OTHER = "str c64 c128"

MOVED = tuple(
    ids(
        [
            Row("Identity-21", _HALF, "index", "input:256x257"),
            Row("Identity-21", f"{_WIDE} {_OTHER}", "index", "input:61x67"),
            Row("Identity-21", f"{_BYTE} {_NARROW}", "index", "input:17x31"),
            Row("Identity-21", "i4 u4", "index", "input:17x31"),
            Row("Identity-25", "f4e2m1 i2 u2", "index", "input:17x31"),
            Row("Transpose-21", f"{_WIDE} {_HALF}", "index", "data:61x67"),
            Row("Transpose-21", f"{_BYTE} {_NARROW} {_OTHER} i4 u4", "index", "data:17x31"),
            Row("Transpose-25", "f4e2m1 i2 u2", "index", "data:17x31"),
            Row("Reshape-21", f"{_WIDE} {_HALF}", "index", "data:64x63.shape:32_126"),
            Row("Reshape-21", f"{_BYTE} {_NARROW} {_OTHER} i4 u4", "index", "data:15x35.shape:21_25"),
            Row("Concat-13", f"{_WIDE} {_HALF}", "index", "inputs0:31x61.inputs1:31x71.axis:1"),
            Row("Concat-13", f"{_BYTE} str c64", "index", "inputs0:13x17.inputs1:13x19.axis:1"),
            Row("Slice-13", f"{_WIDE} {_HALF}", "index", "data:61x67.starts:1_-1.ends:60_-67.axes:0_1.steps:1_-1"),
            Row("Slice-13", f"{_BYTE} str c64", "index", "data:17x31.starts:1_-1.ends:17_-31.axes:0_1.steps:1_-1"),
            Row("Gather-13", f"{_WIDE} {_HALF}", "index", "data:61x67.indices:53"),
            Row("Gather-13", f"{_BYTE} str c64", "index", "data:17x31.indices:13"),
        ]
    )
)
"""Filled with bit patterns: all of them up to 16 bits, the edges of the format beyond."""

_REALS = "f64 f32 f16 bf16"

NEUTRAL = {
    "Add": "zero",
    "Sub": "zero",
    "Mul": "one",
    "Div": "one",
    "MatMul": "identity",
    "Gemm": "identity",
    "Conv": "identity",
    "ConvTranspose": "identity",
    "Max": "lowest",
    "Min": "highest",
}
"""Operator → the second operand that leaves the first as it is. Operators without one leave theirs as it is anyway."""

SIGNIFICANT = tuple(
    ids(
        [
            Row("Add-14 Sub-14 Mul-14 Div-14", _REALS, "normal", "a:7x31.b:7x31"),
            Row("MatMul-13", _REALS, "normal", "a:31x7.b:7x7"),
            Row("Gemm-13", _REALS, "normal", "a:31x7.b:7x7"),
            Row("Conv-22", _REALS, "normal", "x:1x7x5x11.w:7x7x1x1"),
            Row("ConvTranspose-22", "f32 f16", "normal", "x:1x7x5x11.w:7x7x1x1"),
            Row("Max-13 Min-13", _REALS, "normal", "data_0:7x31.data_1:7x31"),
            Row("ReduceSum-13", _REALS, "normal", "data:7x31x1.axes:2"),
            Row("ReduceMax-20", _REALS, "normal", "data:7x31x1.axes:2"),
            Row("AveragePool-22", _REALS, "normal", "x:1x7x5x11.kernel_shape:1_1"),
            Row("MaxPool-22", _REALS, "normal", "x:1x7x5x11.kernel_shape:1_1"),
            Row("LeakyRelu-16", _REALS, "normal", "x:7x31.alpha:1"),
            Row("Clip-13", "f64 f32 f16", "normal", "input:7x31.min:-1e3.max:1e3"),
            Row("Resize-19", "f32 f16", "normal", "x:1x7x5x11.sizes:1_7_5_11.mode:linear"),
            Row("Cast-21", "f32", "normal", "input:7x31.to:f64"),
            Row("Cast-21", "f16 bf16", "normal", "input:7x31.to:f32"),
        ]
    )
)
"""Filled with values that need every significand bit, and with a neutral second operand."""


def _lengths(fields: str, first: int = 1) -> str:
    """The fields with every length up to 17 for N: one more element than two vectors of eight."""
    return " ".join(fields.replace("N", str(n)) for n in range(first, 18))


POSITIONS = tuple(
    ids(
        [
            Row("Relu-14 Neg-13 IsNaN-20", "f32", "normal", _lengths("x:N")),
            Row("Max-13 Min-13", "f32", "normal", _lengths("data_0:N.data_1:N")),
            Row("Max-13", "f16", "normal", _lengths("data_0:N.data_1:N")),
            Row("Add-14", "f32 f16", "normal", _lengths("a:N.b:N")),
            Row("Greater-13", "f32", "normal", _lengths("a:N.b:N")),
            Row("Clip-13", "f32", "normal", _lengths("input:N.min:-1.max:1")),
            Row("ReduceMax-20", "f32 f16", "normal", _lengths("data:NxN.axes:1")),
            Row("ReduceMin-20", "f32", "normal", _lengths("data:NxN.axes:1")),
            Row("ReduceSum-13", "f32", "normal", _lengths("data:NxN.axes:1", 2)),
            Row("ArgMax-13", "f32", "normal", _lengths("data:NxN.axis:1")),
        ]
    )
)
"""Of every length up to 17; reductions along rows, as many as they are long."""

_INTEGERS = "i64 u64 i32 u32 i16 u16"

EXTREMES = tuple(
    ids(
        [
            Row("Add-14 Sub-14 Mul-14", _INTEGERS, "wrap", "a:67x1.b:1x67"),
            Row("Add-14 Sub-14 Mul-14", "i8 u8", "wrap", "a:256x1.b:1x256"),
            Row("Max-13 Min-13", _INTEGERS, "uniform", "data_0:67x1.data_1:1x67"),
            Row("Max-13 Min-13", "i8 u8", "uniform", "data_0:256x1.data_1:1x256"),
            Row("Equal-19 Greater-13", _INTEGERS, "uniform", "a:67x1.b:1x67"),
            Row("Equal-19 Greater-13", "i8 u8", "uniform", "a:256x1.b:1x256"),
            Row("BitwiseAnd-18 BitwiseXor-18", "i64 u64 i32", "uniform", "a:67x1.b:1x67"),
            Row("Sign-13", f"{_INTEGERS} i8 u8", "uniform", "input:67"),
            Row("Abs-13", f"{_INTEGERS} i8 u8", "uniform", "x:67"),
            Row("Neg-13", "i64 i32 i16 i8", "uniform", "x:67"),
            Row("Clip-13", "i64", "uniform", "input:67.min:-8589934593.max:9007199254740993"),
            Row("Clip-13", "i64", "uniform", "input:67.min:-2147483649.max:2147483648"),
            Row("Clip-13", "u64", "uniform", "input:67.min:4294967297.max:18446744073709551614"),
            Row("Clip-13", "i32 u32", "uniform", "input:67.min:3.max:2147483646"),
            Row("Cast-21", "i64", "uniform", "input:67.to:i32 input:67.to:u8 input:67.to:u64 input:67.to:bool input:67.to:f64"),
            Row("Cast-21", "i64 u64 i32", "uniform", "input:67.to:f32"),
            Row("Cast-21", "i32 u32 i16 u16 i8 u8", "uniform", "input:67.to:i64"),
            Row("ReduceMax-20 ReduceMin-20", "i64 u64 i32 u32", "uniform", "data:67x3.axes:1"),
            Row("ArgMax-13", "i64 i32", "uniform", "data:67x3.axis:1"),
            Row("Gather-13", "i64 u64 i32", "uniform", "data:67x3.indices:5"),
            Row("TopK-11", "i64 i32", "uniform", "x:11x7.k:3"),
        ]
    )
)
"""Filled with the edges of the type and of narrower types, every one with every other; 8-bit types with all values."""

WITHOUT_LOWEST = frozenset(["Abs"])
"""Operators whose result on the smallest number of a signed type ONNX does not give: units wrap or saturate."""

IN_RANGE = tuple(
    ids(
        [
            Row(
                "Cast-21",
                "f32 f64",
                "normal",
                "input:1031.to:i64 input:1031.to:i32 input:1031.to:u32 input:1031.to:i16 input:1031.to:u64",
            ),
            Row("Cast-21", "f32 f16 bf16", "normal", "input:1031.to:i8 input:1031.to:u8 input:1031.to:i32"),
        ]
    )
)
"""Reals to integers, filled with what the integer type holds after its fraction is cut off."""

HALF_WAY = tuple(
    ids(
        [
            Row("Round-22", _REALS, "half", "x:1023"),
            Row("QuantizeLinear-21", "f32 f16 bf16", "normal", "x:2047.y_scale:scalar.y_zero_point:scalar:u8"),
            Row("QuantizeLinear-21", "f32 f16", "normal", "x:2047.y_scale:scalar.y_zero_point:scalar:i8"),
            Row(
                "QuantizeLinear-21", "f32", "normal", "x:2047.y_scale:scalar.y_zero_point:scalar:i8.const:y_scale_y_zero_point"
            ),
            Row("QuantizeLinear-21", "f32", "normal", "x:2047.y_scale:scalar.y_zero_point:scalar:u16"),
            Row("QuantizeLinear-21", "f32", "normal", "x:127.y_scale:scalar.y_zero_point:scalar:i4"),
            Row("QuantizeLinear-21", "f32", "normal", "x:7x293.y_scale:7.y_zero_point:7:i8.axis:0"),
            Row("Cast-21", "f32 f64", "normal", "input:256x255.to:f16 input:256x255.to:bf16"),
            Row("Cast-21", "f64", "normal", "input:61x67.to:f32"),
            Row("Cast-21", "f32", "normal", " ".join(f"input:761.to:{t}" for t in _NARROW.split())),
        ]
    )
)
"""Filled with what lies half-way between two results, and with its neighbours on both sides."""

_ODD = "input:1 input:3 input:7 input:3x5 input:33"

PACKED = tuple(
    ids(
        [
            Row("Identity-21", "i4 u4", "index", _ODD),
            Row("Identity-21", "i4 u4", "index", "input:7.const:input"),
            Row("Transpose-21", "i4 u4", "index", "data:3x5 data:5x7.const:data"),
            Row("Reshape-21", "i4 u4", "index", "data:3x5.shape:5_3"),
            Row("Cast-21", "i4 u4", "index", "input:7.to:f32 input:3x5.to:f32 input:7.to:f32.const:input input:17.to:f16"),
            Row("Cast-25", "i2 u2", "index", "input:7.to:f32 input:3x5.to:f32"),
            Row("Cast-21", "f32 i32", "index", "input:7.to:i4 input:3x5.to:u4"),
            Row("DequantizeLinear-21", "i4 u4", "index", "x:7.x_scale:scalar:f32 x:3x5.x_scale:scalar:f32.const:x_x_scale"),
            Row("DequantizeLinear-21", "i4 u4", "index", "x:5x7.x_scale:5:f32.axis:0.const:x_x_scale"),
            Row("DequantizeLinear-21", "i4 u4", "index", "x:3x10.x_scale:3x2:f32.axis:1.block_size:5.const:x_x_scale"),
            Row(
                "DequantizeLinear-21",
                "i4 u4",
                "index",
                "x:3x5.x_scale:5:f32.x_zero_point:5.axis:1.const:x_x_scale_x_zero_point",
            ),
            Row("QuantizeLinear-21", "f32", "normal", "x:7.y_scale:scalar.y_zero_point:scalar:i4"),
            Row("QuantizeLinear-21", "f32", "normal", "x:3x5.y_scale:scalar.y_zero_point:scalar:u4"),
        ]
    )
)
"""Types smaller than a byte, with rows and tensors that end within one."""

BOOLS = ("Cast-21.bool.input:67.to:i32.in:index",)
"""Shows what a bool is taken for."""

OTHER_BOOLS = ("Not-1.bool.x:67.in:index", "Where-16.f32.condition:67.x:67.y:67.in:index", "And-7.bool.a:67.b:67.in:index")
"""What must agree with it."""

OTHER_TYPE = {
    "Relu-14.f32.x:3x5.in:place": "Relu-14.i32.x:3x5.in:index",
    "Add-14.f32.a:3x5.b:3x5.in:place": "Add-14.i32.a:3x5.b:3x5.in:index",
    "Neg-13.i32.x:3x5.in:index": "Neg-13.f32.x:3x5.in:place",
    "Add-14.f16.a:3x5.b:3x5.in:place": "Add-14.bf16.a:3x5.b:3x5.in:place",
    "Add-14.i64.a:3x5.b:3x5.in:index": "Add-14.f64.a:3x5.b:3x5.in:place",
    "Add-14.i8.a:3x5.b:3x5.in:index": "Add-14.u8.a:3x5.b:3x5.in:index",
}
"""Case → one of another type of the same size, whose buffers the first must not take."""
