"""Activation functions, and those along an axis (Softmax, Hardmax)."""

from __future__ import annotations

from suites.cases.operators.table import Row

_X = "x:2x3x5x7"
_CORNERS = "x:scalar x:11 x:0x3 x:2x3x2x5x3"
_OLD = "Elu-6 HardSigmoid-6 HardSwish-14 Mish-18 Selu-6 Softplus-1 ThresholdedRelu-10"
_NEW = "Gelu-20 LeakyRelu-16 Sigmoid-13"
_ALONG = "Softmax-13 LogSoftmax-13"

CASES = (
    Row(f"{_OLD} {_NEW} Relu-14", "f32", "normal grid special extreme", _X),
    Row(f"{_OLD} {_NEW} Relu-14", "f32", "uniform", _CORNERS),
    Row(f"{_OLD} {_NEW} Relu-14", "f16", "normal special", _X),
    Row(f"{_NEW} Relu-14", "bf16 f64", "normal", "x:3x5x7"),
    Row("Relu-14", "i8 i16 i32 i64", "extreme", _X),
    Row("Softplus-1 Mish-18 Elu-6 Selu-6 Sigmoid-13 Gelu-20", "f32 f16", "wide", _X),
    Row("Tanh-13", "f32 f16", "wide", "input:2x3x5x7"),
    Row("Softsign-1 Tanh-13", "f32", "normal grid special extreme", "input:2x3x5x7"),
    Row("Softsign-1 Tanh-13", "f32", "uniform", "input:scalar input:11 input:0x3"),
    Row("Softsign-1 Tanh-13", "f16", "normal special", "input:2x3x5x7"),
    Row("Tanh-13", "bf16 f64", "normal", "input:3x5x7"),
    Row("Relu-14 Sigmoid-13 Gelu-20", "f32", "normal", "x:3x31x37x41"),
    Row("Swish-24", "f32", "normal grid special", f"{_X} x:3x5x7.alpha:15e-1"),
    Row("Swish-24", "f16 bf16", "normal", _X),
    Row("Gelu-20", "f32", "normal grid uniform", "x:2x3x5x7.approximate:tanh x:3x5x7.approximate:none"),
    Row("Gelu-20", "f16", "normal", "x:2x3x5x7.approximate:tanh"),
    Row("Elu-6 Celu-12", "f32", "normal uniform", "x:3x5x7.alpha:5e-1 x:3x5x7.alpha:2"),
    Row("Celu-12", "f32", "normal grid special", f"{_X} x:11"),
    Row("LeakyRelu-16", "f32 f16", "normal uniform", "x:3x5x7.alpha:1e-1 x:3x5x7.alpha:-5e-1 x:3x5x7.alpha:0"),
    Row("ThresholdedRelu-10", "f32 f16", "normal half", "x:3x5x7.alpha:5e-1 x:3x5x7.alpha:0"),
    Row("HardSigmoid-6", "f32 f16", "uniform", "x:3x5x7.alpha:25e-2.beta:4e-1"),
    Row("Selu-6", "f32", "uniform", "x:3x5x7.alpha:2.gamma:3"),
    Row("Shrink-9", "f32 f16", "normal special", "input:2x3x5x7.bias:15e-1.lambd:15e-1 input:3x5x7"),
    Row("Shrink-9", "f32", "half", "input:11.lambd:5e-1"),
    Row("Shrink-9", "i8 u8 i32 i64", "normal", "input:3x5x7.bias:1.lambd:2"),
    Row("PRelu-16", "f32", "normal grid special", "x:2x3x5x7.slope:3x1x1.const:slope x:2x3x5x7.slope:2x3x5x7"),
    Row("PRelu-16", "f32", "normal", "x:2x3x5x7.slope:1.const:slope x:3x5.slope:scalar x:11.slope:11.const:slope"),
    Row("PRelu-16", "f16", "normal", "x:2x3x5x7.slope:3x1x1.const:slope"),
    Row("PRelu-16", "i32 i64", "normal", "x:2x3x5x7.slope:3x1x1.const:slope"),
    Row(
        _ALONG,
        "f32",
        "normal grid uniform",
        "input:3x5x7 input:3x5x7.axis:1 input:3x5x7.axis:2 input:3x5x7.axis:0 input:2x3x5x7.axis:-2",
    ),
    Row(
        _ALONG,
        "f32",
        "normal",
        "input:11 input:3x1.axis:-1 input:2x3x2x5x3.axis:2 input:0x3 input:13x1009 input:7x4099",
    ),
    Row(_ALONG, "f32", "special extreme positive zero", "input:13x11.axis:1"),
    Row(_ALONG, "f16", "normal uniform special", "input:3x5x7 input:3x5x7.axis:1"),
    Row(_ALONG, "bf16 f64", "normal", "input:3x5x7.axis:1"),
    Row("Hardmax-13", "f32 f16", "normal lattice", "input:3x5x7 input:3x5x7.axis:1 input:2x3x5x7.axis:-3 input:11"),
    Row("Hardmax-13", "bf16 f64", "normal", "input:3x5x7"),
)
