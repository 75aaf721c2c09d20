"""What operators allow the simulated device's compiler to do with types that its engine has no kernel for.

`lowering` says how each set is used.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import onnx

MOVES = frozenset(
    {
        "BitCast",
        "Cast",
        "CastLike",
        "Compress",
        "Concat",
        "ConcatFromSequence",
        "DepthToSpace",
        "Expand",
        "EyeLike",
        "Flatten",
        "Gather",
        "GatherElements",
        "GatherND",
        "Identity",
        "Loop",
        "If",
        "NonZero",
        "OneHot",
        "Optional",
        "OptionalGetElement",
        "OptionalHasElement",
        "Pad",
        "Reshape",
        "ReverseSequence",
        "Scan",
        "Scatter",
        "ScatterElements",
        "ScatterND",
        "SequenceAt",
        "SequenceConstruct",
        "SequenceEmpty",
        "SequenceErase",
        "SequenceInsert",
        "Shape",
        "Size",
        "Slice",
        "SpaceToDepth",
        "Split",
        "SplitToSequence",
        "Squeeze",
        "TensorScatter",
        "Tile",
        "Transpose",
        "Trilu",
        "Unsqueeze",
        "Where",
    }
)
"""Every element of the output is an element of an input, or depends on no more than whether one is zero."""

ORDERS = frozenset(
    {
        "ArgMax",
        "ArgMin",
        "Clip",
        "Equal",
        "Greater",
        "GreaterOrEqual",
        "Less",
        "LessOrEqual",
        "Max",
        "MaxPool",
        "Min",
        "ReduceMax",
        "ReduceMin",
        "Relu",
        "TopK",
        "Unique",
    }
)
"""The output depends on the order of the elements and selects among them."""

RINGS = frozenset(["Add", "CumSum", "Gemm", "MatMul", "Mul", "Neg", "ReduceSum", "ReduceSumSquare", "Sub", "Sum"])
"""Sums and products: computing wider and wrapping at the end equals wrapping at every step."""

EXACT = (MOVES | ORDERS) | {
    "Abs",
    "CenterCropPad",
    "Ceil",
    "Constant",
    "ConstantOfShape",
    "DequantizeLinear",
    "Dropout",
    "DynamicQuantizeLinear",
    "Floor",
    "GlobalMaxPool",
    "Hardmax",
    "IsInf",
    "IsNaN",
    "MaxRoiPool",
    "MaxUnpool",
    "Mod",
    "Neg",
    "NonMaxSuppression",
    "QuantizeLinear",
    "Range",
    "Round",
    "Sign",
    "ThresholdedRelu",
}
"""The unit takes and gives the elements as they are, whatever format it computes in: they are moved, compared, selected or
brought to whole numbers; of Range, how many there are is decided before the unit sees them."""

SCALED = frozenset(["DequantizeLinear", "QGemm", "QuantizeLinear"])
"""Operators of com.microsoft between integers and reals, which the unit scales as those of ai.onnx."""

NEAREST = {"GridSample": b"linear", "Resize": b"nearest", "Upsample": b"nearest"}
"""Operators that move elements where their mode is nearest → the default mode."""

SCATTERS = frozenset({"Scatter", "ScatterElements", "ScatterND"})
"""They move elements, but with `reduction` they add: halves are computed in float32."""

INT64_FIRST = frozenset(["Div", "Gemm", "Mod", "Pow", "ReduceL1", "ReduceMean", "ReduceSum", "ReduceSumSquare"])
"""The engine's kernels for 32 bits go through floats, or trap on overflow: 32-bit integers are computed in int64."""

DOUBLES = frozenset(["DFT", "STFT", "Tanh"])
"""The engine's float32 kernels err beyond float32's bounds (Tanh near the smallest normal); they are computed in float64."""

WINDOWS = frozenset(["AveragePool", "Conv", "ConvInteger", "ConvTranspose", "LpPool", "MaxPool"])
"""Operators with a layout of windows."""

REALS = frozenset({"float32", "float64"})
SIGNED = frozenset({"int8", "int16", "int32", "int64"})
UNSIGNED = frozenset({"uint8", "uint16", "uint32", "uint64"})
INTEGERS = SIGNED | UNSIGNED
ARRAYS = REALS | SIGNED | UNSIGNED | {"float16", "bool"}

FUNCTIONS: dict[str, frozenset[str]] = {
    "CenterCropPad": ARRAYS | {"str"},
    "DepthToSpace": ARRAYS | {"bfloat16"},
    "Elu": REALS,
    "GroupNormalization": REALS,
    "HardSigmoid": REALS,
    "HardSwish": REALS,
    "LeakyRelu": REALS,
    "MeanVarianceNormalization": REALS,
    "Mish": REALS,
    "NegativeLogLikelihoodLoss": REALS | {"int32", "int64"},
    "PRelu": REALS | INTEGERS,
    "ReduceLogSum": REALS,
    "ReduceLogSumExp": REALS,
    "Selu": REALS,
    "SoftmaxCrossEntropyLoss": REALS | {"int32", "int64"},
    "Softplus": REALS,
    "Softsign": REALS,
    "SpaceToDepth": ARRAYS | {"bfloat16"},
    "Swish": REALS,
    "ThresholdedRelu": REALS,
}
"""Operators → types for which ONNX's own function body stands in where the engine has no kernel."""

DECLINED: dict[str, frozenset[str]] = {
    "Bernoulli": REALS | {"float16", "bfloat16"},
    "GRU": frozenset({"float64"}),
    "LSTM": frozenset({"float64"}),
    "Cos": frozenset({"float64"}),
    "CumProd": INTEGERS,
    "Einsum": INTEGERS,
    "Gather": frozenset({"str"}),
    "ReduceL1": frozenset({"uint64"}),
    "ReduceL2": INTEGERS,
    "ReduceLogSum": INTEGERS,
    "ReduceLogSumExp": INTEGERS,
    "ReduceMean": frozenset({"int64", "uint64"}),
    "ReduceProd": INTEGERS,
    "Shrink": frozenset({"float64"}),
    "Sin": frozenset({"float64"}),
}
"""Operators → types whose kernel is wrong and not replaced: it goes through floats; Bernoulli draws the
complement; those of GRU and LSTM refuse to run; Gather copies a string a block; Cos
and Sin of float64 err by 8 ulp near their zeros."""


ZERO_POINTS: dict[str, tuple[int, ...]] = {
    "QLinearAdd": (2, 5, 7),
    "QLinearAveragePool": (2, 4),
    "QLinearLeakyRelu": (2, 4),
    "QLinearMul": (2, 5, 7),
    "QLinearSigmoid": (2, 4),
}
"""Contributed operators → zero points that may be left out, which the engine takes as given."""


def restriction(node: onnx.NodeProto, types: Collection[str]) -> str:
    """Why this use of an otherwise supported operator is declined, "" if it is not: the engine lacks or breaks it."""
    integers = not INTEGERS.isdisjoint(types)
    attributes = {a.name: onnx.helper.get_attribute_value(a) for a in node.attribute}
    if node.op_type in ("GRU", "LSTM", "RNN") and attributes.get("layout"):
        return "with layout=1"
    if node.op_type == "MaxUnpool" and len(node.input) > 2 and node.input[2]:
        return "with output_shape"
    if node.op_type == "Gemm" and integers and (attributes.get("alpha", 1.0), attributes.get("beta", 1.0)) != (1.0, 1.0):
        return "of integers with alpha or beta"
    if node.op_type == "Attention" and any(node.output[3:]):
        return "with qk_matmul_output"
    if node.op_type == "Attention" and any(node.input[6:]):
        return "with nonpad_kv_seqlen"
    if node.op_type in WINDOWS:
        return _window_restriction(node.op_type, attributes)
    if node.op_type == "Col2Im" and len(attributes.get("dilations", ())) != 2 and max(attributes.get("dilations", (1,))) > 1:
        return "with dilations of other than two axes"
    if node.op_type == "RoiAlign" and attributes.get("mode") == b"max":
        return "with mode max"
    stretched = attributes.get("keep_aspect_ratio_policy", b"stretch") == b"stretch"
    if node.op_type == "Resize" and not stretched and min(attributes.get("axes", (0,))) < 0:
        return "with keep_aspect_ratio_policy along negative axes"
    if any(index >= len(node.input) or not node.input[index] for index in ZERO_POINTS.get(node.op_type, ())):
        return "without zero points"
    if node.op_type == "MultiHeadAttention" and not all([*node.input, "", ""][1:3]):
        return "of packed tensors"
    if node.op_type == "GroupQueryAttention" and any(node.input[14:16]):
        return "with a normalisation of heads"
    if node.op_type == "MatMulNBits" and attributes.get("accuracy_level") == 4:
        return "with accuracy_level 4 (the engine gives 0 where the scales are no constants)"
    if node.op_type == "QLinearSoftmax":
        return "(the engine cuts 1/y_scale to a whole number)"
    if node.op_type == "RandomNormal" and attributes.get("scale", 1.0) == 0:
        return "with a deviation of 0"
    if node.op_type == "StringNormalizer":
        return "(it depends on the locales of the host)"
    return ""


def _window_restriction(operator: str, attributes: Mapping[str, Any]) -> str:
    """Layouts of windows that the engine refuses, or lays out as if there were no dilations (pools)."""
    dilated = any(dilation > 1 for dilation in attributes.get("dilations", ()))
    if operator != "ConvTranspose" and dilated and attributes.get("auto_pad", b"").startswith(b"SAME"):
        return "with dilations and auto_pad"
    added = attributes.get("output_padding", ())
    if any(n >= stride for n, stride in zip(added, attributes.get("strides", (1,) * len(added)), strict=False)):
        return "with output_padding of a stride or more"
    pads, kernel = attributes.get("pads", ()), attributes.get("kernel_shape", ())
    if operator.endswith("Pool") and any(pad >= n for pad, n in zip(pads, (*kernel, *kernel), strict=False)):
        return "with pads as long as the kernel"
    return ""


def is_exact(node: onnx.NodeProto) -> bool:
    """Whether the unit does not round this node's elements: see `EXACT`."""
    attributes = {a.name: onnx.helper.get_attribute_value(a) for a in node.attribute}
    if node.domain not in ("", "ai.onnx"):
        return node.op_type in SCALED
    if node.op_type in SCATTERS:
        return bool(attributes.get("reduction", b"none") == b"none")
    if node.op_type in NEAREST:
        return bool(attributes.get("mode", NEAREST[node.op_type]) == b"nearest")
    return node.op_type in EXACT
