"""Convolutions and their transposes, of one to three dimensions; integer convolution."""

from __future__ import annotations

from suites.cases.operators.table import Row

# The image is fed, weights and bias are stored unless the line says otherwise.
_MAIN = (
    "x:1x3x7x5.w:4x3x3x3.const:w "
    "x:2x3x8x9.w:5x3x3x3.b:5.pads:1_1_1_1.const:w_b "
    "x:1x5x9x11.w:7x5x3x5.b:7.pads:1_0_2_3.strides:2_3.const:w_b "
    "x:1x6x11x7.w:8x3x3x3.pads:2_2_2_2.dilations:2_2.group:2.const:w "
    "x:2x5x7x9.w:5x1x3x3.b:5.pads:1_1_1_1.group:5.const:w_b"
)
_MORE = (
    "x:1x3x7x5.w:4x3x1x1.b:4.const:w_b "
    "x:1x7x13x5.w:3x7x1x1.strides:2_2.const:w "
    "x:1x3x9x7.w:2x3x5x3.auto_pad:SAME_UPPER.strides:2_2.const:w "
    "x:1x3x9x8.w:2x3x4x3.auto_pad:SAME_LOWER.const:w "
    "x:1x3x9x7.w:2x3x3x2.auto_pad:VALID.strides:1_2.const:w "
    "x:1x3x13x11.w:4x3x3x2.pads:0_1_2_0.strides:3_2.dilations:2_3.const:w "
    "x:1x4x9x7.w:8x1x3x3.pads:1_1_1_1.strides:2_1.group:4.const:w "
    "x:1x3x7x5.w:4x3x3x3.b:4 "
    "x:1x3x7x5.w:4x3x3x3.b:4.const:b "
    "x:1x3x7x5.w:4x3x3x2.kernel_shape:3_2.const:w "
    "x:1x1x5x5.w:1x1x5x5.const:w "
    "x:3x2x5x7.w:3x2x7x3.pads:3_1_3_1.const:w "
    "x:1x3x17.w:5x3x4.b:5.pads:2_1.strides:2.const:w_b "
    "x:2x6x19.w:6x1x5.dilations:2.group:6.const:w "
    "x:1x2x5x7x6.w:3x2x3x2x3.b:3.pads:1_0_1_1_1_0.strides:2_1_2.const:w_b "
    "x:1x3x5x4x7.w:2x3x1x3x2.dilations:1_1_2.const:w"
)
_LARGE = (
    "x:1x67x13x11.w:31x67x3x3.b:31.pads:1_1_1_1.const:w_b x:1x257x7x5.w:65x257x1x1.const:w "
    "x:1x3x97x89.w:16x3x7x7.pads:3_3_3_3.strides:2_2.const:w"
)

_TRANSPOSED = (
    "x:1x3x5x4.w:3x2x3x3.const:w "
    "x:2x3x5x4.w:3x5x3x2.b:5.pads:1_0_0_1.strides:2_3.const:w_b "
    "x:1x4x5x7.w:4x3x3x3.b:6.pads:1_1_1_1.strides:2_2.group:2.output_padding:1_1.const:w_b "
    "x:1x3x4x5.w:3x2x2x3.dilations:2_2.const:w"
)
_TRANSPOSED_MORE = (
    "x:1x3x5x4.w:3x2x3x3.auto_pad:SAME_UPPER.strides:2_2.const:w "
    "x:1x3x5x4.w:3x2x4x3.auto_pad:SAME_LOWER.strides:2_3.const:w "
    "x:1x3x5x4.w:3x2x3x3.strides:2_2.output_shape:11_9.const:w "
    "x:1x3x5x4.w:3x2x3x3.strides:2_2.output_shape:10_8.const:w "
    "x:1x5x5x4.w:5x1x3x3.pads:1_1_1_1.strides:2_1.group:5.const:w "
    "x:1x3x5x4.w:3x2x3x3.b:2 "
    "x:1x3x7.w:3x4x5.b:4.pads:1_2.strides:3.const:w_b "
    "x:1x2x3x4x5.w:2x3x2x3x2.strides:1_2_2.const:w"
)

# {w}: suffix of the weights' type, "" where it is the image's.
_INTEGER = (
    "x:1x3x7x5.w:4x3x3x3{w}.const:w "
    "x:1x3x7x5.w:4x3x3x3{w}.x_zero_point:scalar.w_zero_point:scalar{w}.pads:1_0_1_2.strides:2_1"
    ".const:w_x_zero_point_w_zero_point "
    "x:1x6x7x5.w:4x3x3x3{w}.x_zero_point:scalar.dilations:1_2.group:2.const:w_x_zero_point"
)

CASES = (
    Row("Conv-11", "f32", "normal grid lattice", f"{_MAIN} {_MORE}"),
    Row("Conv-11", "f32", "normal grid", _LARGE),
    Row("Conv-11", "f32", "index positive", "x:1x3x7x5.w:4x3x3x3.pads:1_1_1_1.const:w"),
    Row("Conv-11", "f32 f16", "special", "x:1x3x19x17.w:4x3x2x2.const:w"),
    Row(
        "Conv-11",
        "f16",
        "normal lattice",
        f"{_MAIN} x:1x3x17.w:5x3x4.b:5.pads:2_1.strides:2.const:w_b x:1x257x7x5.w:65x257x1x1.const:w",
    ),
    Row("Conv-11", "f64", "normal", "x:2x3x8x9.w:5x3x3x3.b:5.pads:1_1_1_1.const:w_b"),
    Row("Conv-22", "f32", "normal grid lattice", _MAIN),
    Row(
        "Conv-22",
        "f16 bf16",
        "normal lattice",
        "x:2x3x8x9.w:5x3x3x3.b:5.pads:1_1_1_1.const:w_b x:2x5x7x9.w:5x1x3x3.b:5.pads:1_1_1_1.group:5.const:w_b",
    ),
    Row("ConvTranspose-11", "f32", "normal grid lattice", f"{_TRANSPOSED} {_TRANSPOSED_MORE}"),
    Row("ConvTranspose-11", "f16", "normal lattice", _TRANSPOSED),
    Row("ConvTranspose-11", "f64", "normal", "x:1x3x5x4.w:3x2x3x3.const:w"),
    Row("ConvTranspose-22", "f32", "normal lattice", _TRANSPOSED),
    *(
        Row("ConvInteger-10", dtype, "uniform extreme", _INTEGER.format(w=weights))
        for dtype, weights in (("u8", ""), ("u8", ":i8"), ("i8", ""), ("i8", ":u8"))
    ),
)
