"""Quantisation and operators on quantised tensors."""

from __future__ import annotations

from suites.cases.operators import quantized_products, quantizing
from suites.cases.operators.table import Row

_SCALAR = "x:2x3x5x7.y_scale:scalar.y_zero_point:scalar:{q}.const:y_scale_y_zero_point"
_CHANNEL = "x:2x3x5x7.y_scale:3.y_zero_point:3:{q}.axis:1.const:y_scale_y_zero_point"
_LAST = "x:2x3x5.y_scale:5.y_zero_point:5:{q}.axis:-1.const:y_scale_y_zero_point"
_BACK_SCALAR = "x:2x3x5x7.x_scale:scalar:f32.x_zero_point:scalar.const:x_scale_x_zero_point"
_BACK_CHANNEL = "x:2x3x5x7.x_scale:3:f32.x_zero_point:3.axis:1.const:x_scale_x_zero_point"
_BACK_PLAIN = "x:3x5x7.x_scale:scalar:f32.const:x_scale"
_CONSTANTS = "const:x_scale_x_zero_point_w_w_scale_w_zero_point_y_scale_y_zero_point"
# {t}: suffix of the type of weights, "" where it is the input's; {c}: their channels or "scalar".
_CONV = "x:{x}.x_scale:scalar.x_zero_point:scalar.w:{w}{t}.w_scale:{c}.w_zero_point:{c}{t}.y_scale:scalar.y_zero_point:scalar"
_MATMUL = (
    "a:{a}.a_scale:scalar:f32.a_zero_point:scalar.b:{b}{t}.b_scale:scalar:f32.b_zero_point:scalar{t}"
    ".y_scale:scalar:f32.y_zero_point:scalar"
)
_MATMUL_CONSTANTS = "const:a_scale_a_zero_point_b_b_scale_b_zero_point_y_scale_y_zero_point"


def _convolutions(weights: str = "") -> str:
    """QLinearConv per tensor and per channel, with bias, groups and asymmetric windows; `weights` is the suffix of
    their type.
    """

    def line(x: str, w: str, channels: str, bias: str, attributes: str) -> str:
        stored = _CONSTANTS + ("_b" if bias else "")
        middle = _CONV.format(x=x, w=w, t=weights, c=channels)
        return f"{middle}{bias}{attributes}.{stored}"

    return " ".join(
        (
            line("1x3x7x5", "4x3x3x3", "scalar", "", ""),
            line("2x3x8x9", "5x3x3x3", "scalar", ".b:5", ".pads:1_1_1_1"),
            line("1x3x9x11", "4x3x3x2", "4", ".b:4", ".pads:1_0_2_1.strides:2_3"),
            line("1x6x7x9", "6x1x3x3", "6", "", ".pads:1_1_1_1.group:6"),
            line("1x6x7x9", "3x2x3x3", "3", ".b:3", ".group:3"),
            line("1x16x5x3", "7x16x1x1", "scalar", ".b:7", ""),
        )
    )


def _products(weights: str = "") -> str:
    """QLinearMatMul with the same."""
    return " ".join(
        f"{_MATMUL.format(a=a, b=b, t=weights)}.{_MATMUL_CONSTANTS}"
        for a, b in (("5x7", "7x3"), ("2x5x7", "2x7x3"), ("3x67", "67x11"))
    )


CASES = (
    Row(
        "QuantizeLinear-23",
        "i32",
        "normal uniform",
        "x:2x3x5x7.y_scale:scalar:f32.y_zero_point:scalar:i8.const:y_scale_y_zero_point",
    ),
    Row(
        "QuantizeLinear-21",
        "f32",
        "normal uniform half extreme",
        " ".join(f.format(q=q) for q in ("u8", "i8") for f in (_SCALAR, _CHANNEL, _LAST)),
    ),
    Row(
        "QuantizeLinear-21",
        "f32",
        "normal uniform",
        " ".join(f.format(q=q) for q in ("u16", "i16", "i4", "u4") for f in (_SCALAR, _CHANNEL)),
    ),
    Row(
        "QuantizeLinear-21",
        "f32",
        "normal",
        " ".join(_SCALAR.format(q=q) for q in ("f8e4m3fn", "f8e5m2", "f8e4m3fnuz", "f8e5m2fnuz")),
    ),
    Row(
        "QuantizeLinear-21",
        "f16",
        "normal half",
        " ".join(f.format(q=q) for q in ("u8", "i8") for f in (_SCALAR, _CHANNEL)),
    ),
    Row(
        "QuantizeLinear-21",
        "f32",
        "normal",
        "x:3x5x7.y_scale:scalar.const:y_scale x:3x5x7.y_scale:scalar.y_zero_point:scalar:u8 "
        "x:11.y_scale:scalar.output_dtype:i16.const:y_scale",
    ),
    Row(
        "QuantizeLinear-21",
        "f32",
        "normal",
        "x:4x6.y_scale:2x6.y_zero_point:2x6:i8.axis:0.block_size:2.const:y_scale_y_zero_point",
    ),
    Row(
        "QuantizeLinear-21",
        "f32",
        "normal",
        "x:0x3.y_scale:scalar.const:y_scale x:scalar.y_scale:scalar.y_zero_point:scalar:i8.const:y_scale_y_zero_point",
    ),
    Row(
        "DequantizeLinear-21",
        "u8 i8",
        "uniform extreme",
        f"{_BACK_SCALAR} {_BACK_CHANNEL} {_BACK_PLAIN} x:2x3x5.x_scale:5:f32.x_zero_point:5.axis:-1.const:x_scale_x_zero_point",
    ),
    Row("DequantizeLinear-21", "u16 i16 u4 i4", "uniform", f"{_BACK_SCALAR} {_BACK_CHANNEL}"),
    Row("DequantizeLinear-21", "i32", "uniform extreme", f"{_BACK_PLAIN} x:2x3x5x7.x_scale:3:f32.axis:1.const:x_scale"),
    Row("DequantizeLinear-21", "f8e4m3fn f8e5m2 f8e4m3fnuz f8e5m2fnuz", "normal", _BACK_PLAIN),
    Row(
        "DequantizeLinear-21",
        "u8 i8",
        "uniform",
        "x:3x5x7.x_scale:scalar:f16.x_zero_point:scalar.const:x_scale_x_zero_point "
        "x:3x5x7.x_scale:scalar:f32.x_zero_point:scalar",
    ),
    Row(
        "DequantizeLinear-21",
        "i8 i4",
        "uniform",
        "x:4x6.x_scale:2x6:f32.axis:0.block_size:2.const:x_scale "
        "x:5x32.x_scale:5x2:f32.x_zero_point:5x2.axis:1.block_size:16.const:x_x_scale_x_zero_point",
    ),
    Row("DynamicQuantizeLinear-11", "f32", "normal uniform grid positive unit", "x:3x5x7 x:11 x:2x3x5x7"),
    Row("QLinearConv-10", "u8 i8", "uniform", _convolutions()),
    Row("QLinearConv-10", "u8", "uniform", _convolutions(":i8")),
    Row("QLinearMatMul-21", "u8 i8", "uniform", _products()),
    Row("QLinearMatMul-21", "u8", "uniform extreme", _products(":i8")),
    *quantizing.CASES,
    *quantized_products.CASES,
)
