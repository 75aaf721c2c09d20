"""Means, maxima and norms of windows and of whole planes."""

from __future__ import annotations

from suites.cases.operators.table import Row

_WINDOWS = (
    "x:1x3x7x5.kernel_shape:3_2 "
    "x:2x3x9x11.kernel_shape:3_3.pads:1_1_1_1.strides:2_2 "
    "x:1x5x9x8.kernel_shape:3_2.pads:1_0_2_1.strides:3_2 "
    "x:1x3x9x7.kernel_shape:3_3.strides:2_2.ceil_mode:1 "
    "x:1x3x8x10.kernel_shape:3_3.pads:1_1_1_1.strides:2_3.ceil_mode:1"
)
_MORE = (
    "x:1x3x9x7.kernel_shape:3_2.auto_pad:SAME_UPPER.strides:2_2 "
    "x:1x3x9x8.kernel_shape:4_3.auto_pad:SAME_LOWER "
    "x:1x3x9x7.kernel_shape:3_2.auto_pad:VALID.strides:2_1 "
    "x:1x3x11x9.kernel_shape:3_2.dilations:2_3 "
    "x:1x3x11x9.kernel_shape:3_3.pads:2_1_0_1.strides:2_1.dilations:2_1.ceil_mode:1 "
    "x:2x3x17.kernel_shape:4.pads:1_2.strides:3 "
    "x:1x2x5x7x6.kernel_shape:2_3_2.pads:0_1_1_1_0_0.strides:2_2_1 "
    "x:1x3x5x7.kernel_shape:5_7 "
    "x:1x3x7x5.kernel_shape:1_1.strides:2_3"
)
_INCLUDING = (
    "x:1x3x7x5.kernel_shape:3_3.pads:1_1_1_1.count_include_pad:1 "
    "x:1x3x9x8.kernel_shape:3_2.pads:1_0_2_1.strides:3_2.count_include_pad:1 "
    "x:1x3x8x10.kernel_shape:3_3.pads:1_1_1_1.strides:2_3.ceil_mode:1.count_include_pad:1"
)
_POWERS_OF_TWO = "x:1x3x7x5.kernel_shape:2_2 x:2x3x9x11.kernel_shape:4_2.strides:2_3 x:1x3x17.kernel_shape:4.strides:3"
_GLOBAL = "x:2x3x5x7 x:1x5x11 x:1x2x3x4x5 x:3x7x1x1 x:1x3x37x41"
_INDICES = (
    "x:2x3x9x11.kernel_shape:3_3.pads:1_1_1_1.strides:2_2.outputs:2 "
    "x:1x3x7x5.kernel_shape:3_2.strides:2_1.storage_order:1.outputs:2"
)

CASES = (
    Row(
        "AveragePool-19",
        "f32 f16",
        "normal",
        "x:2x1x7x5.kernel_shape:3_3.pads:1_1_1_1 x:1x16x24x24.kernel_shape:3_3.pads:1_1_1_1",
    ),
    Row("AveragePool-19", "f32", "normal grid", f"{_WINDOWS} {_MORE} {_INCLUDING}"),
    Row("AveragePool-19", "f32 f16", "lattice", _POWERS_OF_TWO),
    Row("AveragePool-19", "f32", "special", "x:2x3x9x11.kernel_shape:3_3.pads:1_1_1_1.strides:2_2"),
    Row("AveragePool-19", "f16", "normal", f"{_WINDOWS} {_INCLUDING}"),
    Row("AveragePool-19", "f64", "normal", "x:1x3x7x5.kernel_shape:3_2"),
    Row("MaxPool-12", "f32", "normal special", f"{_WINDOWS} {_MORE}"),
    Row("MaxPool-12", "f32", "index", f"{_WINDOWS} {_INDICES}"),
    Row("MaxPool-12", "f32 f64", "normal", _INDICES),
    Row("MaxPool-12", "f16", "normal special", _WINDOWS),
    Row("MaxPool-12", "i8 u8", "uniform extreme", _WINDOWS),
    Row("AveragePool-22 MaxPool-22", "f32", "normal", _WINDOWS),
    Row("AveragePool-22 MaxPool-22", "bf16", "normal", "x:2x3x9x11.kernel_shape:3_3.pads:1_1_1_1.strides:2_2"),
    Row("LpPool-18", "f32", "normal grid", f"{_WINDOWS} x:1x3x7x5.kernel_shape:3_2.p:1 x:1x3x7x5.kernel_shape:3_2.p:3"),
    Row("LpPool-18", "f16", "normal", "x:1x3x7x5.kernel_shape:3_2 x:1x3x7x5.kernel_shape:3_2.p:1"),
    Row("GlobalAveragePool-1", "f32", "normal grid", _GLOBAL),
    Row("GlobalAveragePool-1", "f32 f16", "lattice", "x:2x3x4x8 x:1x5x16"),
    Row("GlobalMaxPool-1", "f32", "normal special", _GLOBAL),
    Row("GlobalAveragePool-1 GlobalMaxPool-1", "f16 f64", "normal", "x:2x3x5x7"),
)
