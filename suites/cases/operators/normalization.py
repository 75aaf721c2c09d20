"""Normalisations by batch, layer, group, instance and neighbourhood."""

from __future__ import annotations

from suites.cases.operators.table import Row

_BATCH = (
    "x:2x3x5x7.scale:3.b:3.input_mean:3.input_var:3.const:scale_b_input_mean_input_var "
    "x:2x5x9.scale:5.b:5.input_mean:5.input_var:5.epsilon:1e-2.const:scale_b_input_mean_input_var "
    "x:3x7.scale:7.b:7.input_mean:7.input_var:7.const:scale_b_input_mean_input_var"
)
_LAYER = (
    "x:3x5x7.scale:7.b:7.const:scale_b "
    "x:3x5x7.scale:7.const:scale "
    "x:2x3x5x7.scale:5x7.b:5x7.axis:2.const:scale_b "
    "x:3x5x7.scale:3x5x7.axis:0.epsilon:1e-3.const:scale"
)
_RMS = "x:3x5x7.scale:7.const:scale x:2x3x5x7.scale:5x7.axis:2.const:scale x:3x5x7.scale:7.epsilon:1e-3.const:scale"
_INSTANCE = (
    "input:2x3x5x7.scale:3.b:3.const:scale_b input:1x5x11.scale:5.b:5.epsilon:1e-2.const:scale_b input:1x2x3x4x5.scale:2.b:2"
)
_GROUP = (
    "x:2x6x5x7.scale:6.bias:6.num_groups:2.const:scale_bias "
    "x:1x6x11.scale:6.bias:6.epsilon:1e-3.num_groups:3.const:scale_bias "
    "x:2x4x3x5.scale:4.bias:4.num_groups:1.const:scale_bias "
    "x:2x4x3x5.scale:4.bias:4.num_groups:4"
)

CASES = (
    Row("BatchNormalization-15", "f32", "normal grid tiny", _BATCH),
    Row("BatchNormalization-15", "f32", "normal special", "x:2x3x5x7.scale:3.b:3.input_mean:3.input_var:3"),
    Row("BatchNormalization-15", "f16", "normal", _BATCH),
    Row(
        "BatchNormalization-15",
        "bf16 f64",
        "normal",
        "x:3x7.scale:7.b:7.input_mean:7.input_var:7.const:scale_b_input_mean_input_var",
    ),
    Row(
        "BatchNormalization-15",
        "f32",
        "normal",
        "x:2x3x5x7.scale:3.b:3.input_mean:3.input_var:3.momentum:8e-1.training_mode:1.outputs:3",
    ),
    Row("LayerNormalization-17", "f32", "normal grid tiny uniform", _LAYER),
    Row(
        "LayerNormalization-17",
        "f32",
        "normal",
        "x:3x5x7.scale:7.b:7.outputs:3.const:scale_b x:5x1031.scale:1031.b:1031.const:scale_b x:11.scale:11",
    ),
    Row("LayerNormalization-17", "f32", "zero special", "x:3x5x7.scale:7.b:7.const:scale_b"),
    Row("LayerNormalization-17", "f16", "normal tiny", _LAYER),
    Row("LayerNormalization-17", "bf16 f64", "normal", "x:3x5x7.scale:7.b:7.const:scale_b"),
    Row("RMSNormalization-23", "f32", "normal grid tiny", _RMS),
    Row("RMSNormalization-23", "f32", "normal", "x:5x1031.scale:1031.const:scale x:11.scale:11"),
    Row("RMSNormalization-23", "f16 bf16", "normal", "x:3x5x7.scale:7.const:scale"),
    Row("InstanceNormalization-6", "f32", "normal grid tiny uniform", _INSTANCE),
    Row("InstanceNormalization-6", "f16", "normal", _INSTANCE),
    Row("InstanceNormalization-6", "f64", "normal", "input:2x3x5x7.scale:3.b:3.const:scale_b"),
    Row("GroupNormalization-21", "f32", "normal grid tiny", _GROUP),
    Row("GroupNormalization-21", "f16 bf16", "normal", "x:2x6x5x7.scale:6.bias:6.num_groups:2.const:scale_bias"),
    Row(
        "LRN-13",
        "f32",
        "normal grid",
        "x:2x7x5x3.size:3 x:1x5x3x7.alpha:1e-1.beta:5e-1.bias:2.size:5 x:1x3x5x7.alpha:1.size:1 x:2x6x3x7.alpha:3e-1.size:3",
    ),
    Row("LRN-13", "f32", "normal", "x:2x6x11.alpha:3e-1.size:4"),
    Row("LRN-13", "f16 f64", "normal", "x:2x7x5x3.alpha:1e-1.size:3"),
    Row(
        "LpNormalization-1",
        "f32",
        "normal grid",
        "input:3x5x7 input:3x5x7.axis:1 input:3x5x7.axis:0.p:1 input:3x5x7.axis:-2.p:2",
    ),
    Row("LpNormalization-1", "f32", "positive", "input:11 input:5x1031"),
    Row("LpNormalization-1", "f16 f64", "normal", "input:3x5x7.axis:1"),
)
