"""Normalisations by batch, layer, group, instance and neighbourhood."""

from __future__ import annotations

from suites.cases.operators.sweep import joined
from suites.cases.operators.table import Row
from suites.cases.operators.windows import shape, swept

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


_LENGTHS = (1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 128, 129, 255, 256, 257)
_EPSILONS = ("", "1e-2", "1e-3", "1")


def _batch(x: str, epsilon: str, momentum: str, stored: str, names: str = "input_mean input_var", kind: str = "") -> str:
    """BatchNormalization of x (N, C, …); kind: type of the moments, where another."""
    channels, (mean, var) = x.split("x")[1], names.split()
    return joined(
        f"x:{x}.scale:{channels}.b:{channels}.{mean}:{channels}{kind}.{var}:{channels}{kind}",
        f"epsilon:{epsilon}" if epsilon else "",
        f"momentum:{momentum}" if momentum else "",
        f"const:{stored.format(mean=mean, var=var)}" if stored else "",
    )


_ALL_STORED, _MOMENTS_STORED = "scale_b_{mean}_{var}", "{mean}_{var}"
_BATCHES = {
    "x": ("2x3x5x7", "1x1x4", "3x7", "2x4x3x2x3", "1x16x3x3", "5x17x2", "4x8x1x1", "1x33x5", "2x65", "1x1x1x1"),
    "epsilon": _EPSILONS,
    "momentum": ("", "5e-1"),
    "stored": (_ALL_STORED, "", _MOMENTS_STORED),
}
_BATCH_MORE = swept(_batch, _BATCHES)
_BATCH_EARLY = swept(_batch, {**_BATCHES, "names": ("mean var",)})
_TRAINED = " ".join(
    f"x:{x}.scale:{channels}.b:{channels}.input_mean:{channels}.input_var:{channels}{epsilon}{momentum}.training_mode:1.outputs:3"
    for x, channels in (("2x3x5x7", 3), ("5x4", 4), ("1x2x9", 2), ("3x7x2x3x2", 7), ("2x1x8x8", 1))
    for epsilon, momentum in (("", ""), (".epsilon:1e-2", ".momentum:5e-1"), ("", ".momentum:0"), ("", ".momentum:1"))
)
# Version 15 lets scale and moments have wider types than x.
_WIDER_MOMENTS = " ".join(
    f"x:{x}.scale:{c}:f32.b:{c}:f32.input_mean:{c}:f32.input_var:{c}:f32" for x, c in (("2x3x5x7", 3), ("3x7", 7), ("1x4x9", 4))
)
_PER_ELEMENT = " ".join(
    f"x:{n}x{rest}.scale:{rest}.b:{rest}.mean:{rest}.var:{rest}.spatial:0" for n, rest in ((2, "3x5"), (3, "2x3x4"))
)


def _layer(x: tuple[int, ...], axis: str, bias: bool, epsilon: str, stored: str, name: str = "b") -> str:
    """LayerNormalization, or without a bias RMSNormalization, over the axes from `axis` on."""
    inner = shape(*x[int(axis or -1) :])
    return joined(
        f"x:{shape(*x)}.scale:{inner}",
        f"{name}:{inner}" if bias else "",
        f"axis:{axis}" if axis else "",
        f"epsilon:{epsilon}" if epsilon else "",
        f"const:{stored}{'_' + name if bias and stored else ''}" if stored else "",
    )


_LAYERS = {
    "x": ((3, 5, 7), (2, 4, 8), (5, 1, 16), (1, 3, 33), (4, 2, 3), (2, 3, 17), (1, 1, 1)),
    "axis": ("", "-1", "1", "2", "0", "-2", "-3"),
    "bias": (True, False),
    "epsilon": _EPSILONS,
    "stored": ("scale", ""),
}
_LAYER_MORE = swept(_layer, _LAYERS)
_RMS_MORE = swept(_layer, {**_LAYERS, "bias": (False,)})
_LAYER_LENGTHS = " ".join(f"x:3x{n}.scale:{n}.b:{n}" for n in (*_LENGTHS, 1023, 1025))
# A variance of nothing but rounding errors, or of many elements, decides nothing about halves.
_LAYER_MORE_LONG = " ".join(middle for middle in _LAYER_MORE.split() if not middle.startswith("x:1x1x1."))
_LAYER_LENGTHS_SHORT = " ".join(f"x:3x{n}.scale:{n}.b:{n}" for n in _LENGTHS[2:])
_RMS_LENGTHS = " ".join(f"x:3x{n}.scale:{n}" for n in (*_LENGTHS, 1023, 1025))
_LAYER_OUTPUTS = "x:3x5x7.scale:5x7.axis:1.outputs:3 x:2x3x4x5.scale:5.b:5.outputs:2 x:4x16.scale:16.outputs:3"
_STAGED = "x:3x5x7.scale:7.b:7.stash_type:{type} x:2x3x4.scale:3x4.axis:1.stash_type:{type}"


def _instance(x: str, epsilon: str, stored: str) -> str:
    channels = x.split("x")[1]
    return joined(
        f"input:{x}.scale:{channels}.b:{channels}",
        f"epsilon:{epsilon}" if epsilon else "",
        f"const:{stored}" if stored else "",
    )


_INSTANCES = swept(
    _instance,
    {
        "x": ("2x3x5x7", "1x1x4x4", "3x7x11", "1x4x3x2x3", "1x17x2x2", "2x8x16", "1x2x33", "2x1x1x65", "1x3x8x8"),
        "epsilon": _EPSILONS,
        "stored": ("scale_b", "", "scale"),
    },
)
_INSTANCE_LENGTHS = " ".join(f"input:1x2x{n}.scale:2.b:2" for n in _LENGTHS[1:])


def _group(x: str, groups: int, epsilon: str, stored: str) -> str:
    channels = x.split("x")[1]
    return joined(
        f"x:{x}.scale:{channels}.bias:{channels}",
        f"epsilon:{epsilon}" if epsilon else "",
        f"num_groups:{groups}",
        f"const:{stored}" if stored else "",
    )


_GROUPS = " ".join(
    swept(_group, {"x": shapes, "groups": groups, "epsilon": _EPSILONS, "stored": ("scale_bias", "")})
    for groups, shapes in (
        ((1, 2, 3, 6), ("2x6x5x7", "1x6x3", "1x12x2x2", "3x6x2x1x3")),
        ((1, 2, 4, 8), ("1x8x4x4", "2x16x3", "1x8x9", "1x32x2x2")),
        ((1, 5), ("1x5x3x3", "2x5x7")),
    )
)


def _response(x: str, size: int, alpha: str, beta: str, bias: str) -> str:
    fields = {"alpha": alpha, "beta": beta, "bias": bias, "size": str(size)}
    return joined(f"x:{x}", *(f"{name}:{value}" for name, value in fields.items() if value))


_RESPONSES = swept(
    _response,
    {
        "x": ("2x7x5x3", "1x5x3x7", "1x1x4x4", "3x2x3x3", "1x16x2x2", "1x17x1x3"),
        "size": (3, 5, 1, 4, 7, 9),
        "alpha": ("", "1e-1", "1", "3e-1"),
        "beta": ("", "5e-1", "1"),
        "bias": ("", "2", "5e-1"),
    },
)


def _unit_length(x: str, axis: str, p: str) -> str:
    return joined(f"input:{x}", f"axis:{axis}" if axis else "", f"p:{p}" if p else "")


_UNIT_LENGTHS = " ".join(
    swept(_unit_length, {"x": shapes, "axis": ("", "-1", *axes), "p": ("", "1", "2")})
    for shapes, axes in (
        (("3x5x7", "2x1x16", "4x17x3"), ("0", "1", "2", "-2", "-3")),
        (("5x7", "1x33", "8x8"), ("0", "1", "-2")),
        (("11", "64", "1"), ("0",)),
        (("2x3x4x5", "1x2x3x2"), ("0", "1", "3", "-3")),
    )
)
_CENTRED = " ".join(
    joined(f"x:{x}", axes and f"axes:{axes}")
    for x, choices in (
        ("2x3x5x7", ("", "0_2_3", "2_3", "1", "-1", "0_1_2_3", "1_2_3")),
        ("1x4x3x3", ("", "2_3")),
        ("3x8x2x4", ("", "3_1")),
        ("5x7", ("0", "1", "-2")),
        ("2x3x4x2x3", ("0_2_3_4", "-1_-3")),
    )
    for axes in choices
)
_CENTRED_AXES = " ".join(middle for middle in _CENTRED.split() if "axes" in middle)  # ONNX 1.23 cannot infer version 13 without
_SWEEPS = (
    Row("BatchNormalization-15", "f32", "normal tiny", _BATCH_MORE),
    Row("BatchNormalization-15", "f16 bf16", "normal", f"{_BATCH_MORE} {_WIDER_MOMENTS}"),
    Row("BatchNormalization-9 BatchNormalization-7", "f32", "normal", _BATCH_EARLY, one_in=4),
    Row("BatchNormalization-7", "f32", "normal", _PER_ELEMENT),
    Row("BatchNormalization-14", "f32", "normal", _BATCH_MORE, one_in=4),
    Row("BatchNormalization-15 BatchNormalization-14", "f32", "normal", _TRAINED),
    Row("LayerNormalization-17", "f32", "normal tiny", f"{_LAYER_MORE} {_LAYER_LENGTHS}"),
    Row("LayerNormalization-17", "f32", "normal", _LAYER_OUTPUTS),
    Row("LayerNormalization-17", "f16", "normal", f"{_LAYER_MORE_LONG} {_LAYER_LENGTHS_SHORT} {_LAYER_OUTPUTS}", one_in=2),
    Row("LayerNormalization-17", "f32 f16 bf16", "normal", _STAGED.format(type="f32")),
    Row("LayerNormalization-17", "bf16", "normal", f"{_STAGED.format(type='bf16')} {_LAYER_LENGTHS_SHORT}"),
    Row("RMSNormalization-23", "f32", "normal tiny", f"{_RMS_MORE} {_RMS_LENGTHS}"),
    Row("RMSNormalization-23", "f16 bf16", "normal", f"{_RMS_MORE} {_RMS_LENGTHS}", one_in=2),
    Row("InstanceNormalization-6", "f32", "normal tiny", f"{_INSTANCES} {_INSTANCE_LENGTHS}"),
    Row("InstanceNormalization-22", "f32 f16 bf16", "normal", _INSTANCES, one_in=2),
    Row("GroupNormalization-21", "f32", "normal tiny", _GROUPS),
    Row("GroupNormalization-21", "f16 bf16", "normal", _GROUPS, one_in=2),
    Row("LRN-13", "f32", "normal grid", _RESPONSES),
    Row("LRN-13", "f16", "normal", _RESPONSES, one_in=3),
    Row("LRN-1", "f32", "normal", _RESPONSES, one_in=3),
    Row("LpNormalization-22", "f32 f16 bf16", "normal", _UNIT_LENGTHS, one_in=2),
    Row("LpNormalization-1", "f32", "normal tiny", _UNIT_LENGTHS, one_in=4),
    Row("MeanVarianceNormalization-13", "f32", "normal uniform", _CENTRED_AXES),
    Row("MeanVarianceNormalization-9", "f32", "normal", _CENTRED),
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
    *_SWEEPS,
)
