"""Operator → the mode in which its result is judged (docs/numerics.md). Integer and boolean results are always exact, but for
the requantised ones."""

from __future__ import annotations

from collections.abc import Callable

from reference.node import Array, Node
from reference.verify import integers
from reference.verify.bounds import (
    accumulation,
    attention,
    contributed_attention,
    determinant,
    explicit,
    functions,
    fused,
    integer_products,
    interpolation,
    linear_recurrence,
    losses,
    normalization,
    recurrent,
    regions,
    resizing,
    signal,
    softmax,
)
from reference.verify.setting import Setting

Bound = Callable[[Node, Setting], list[Array]]

EXACT = frozenset(
    [
        "Abs",
        "And",
        "ArgMax",
        "ArgMin",
        "BitCast",
        "BitShift",
        "BitwiseAnd",
        "BitwiseNot",
        "BitwiseOr",
        "BitwiseXor",
        "Cast",
        "CastLike",
        "Ceil",
        "CenterCropPad",
        "Clip",
        "Compress",
        "Concat",
        "ConcatFromSequence",
        "Constant",
        "ConstantOfShape",
        "ConvInteger",
        "DepthToSpace",
        "Dropout",
        "Equal",
        "Expand",
        "EyeLike",
        "Flatten",
        "Floor",
        "Gather",
        "GatherElements",
        "GatherND",
        "GlobalMaxPool",
        "Greater",
        "GreaterOrEqual",
        "Hardmax",
        "Identity",
        "ImageDecoder",
        "IsInf",
        "IsNaN",
        "Less",
        "LessOrEqual",
        "MatMulInteger",
        "Max",
        "MaxPool",
        "MaxRoiPool",
        "MaxUnpool",
        "Min",
        "Mod",
        "Neg",
        "NonMaxSuppression",
        "NonZero",
        "Not",
        "OneHot",
        "Optional",
        "OptionalGetElement",
        "OptionalHasElement",
        "Or",
        "Pad",
        "ReduceMax",
        "ReduceMin",
        "RegexFullMatch",
        "Relu",
        "Reshape",
        "ReverseSequence",
        "Round",
        "Scatter",
        "SequenceAt",
        "SequenceConstruct",
        "SequenceEmpty",
        "SequenceErase",
        "SequenceInsert",
        "SequenceLength",
        "Shape",
        "Sign",
        "Size",
        "Slice",
        "SpaceToDepth",
        "Split",
        "SplitToSequence",
        "Squeeze",
        "StringConcat",
        "StringNormalizer",
        "StringSplit",
        "TensorScatter",
        "ThresholdedRelu",
        "Tile",
        "TopK",
        "Transpose",
        "Trilu",
        "Unique",
        "Unsqueeze",
        "Where",
        "Xor",
    ]
)

BOUNDS: dict[str, Bound] = {
    **dict.fromkeys(functions.ULPS, functions.ulp_real),
    "AffineGrid": interpolation.affine_grid,
    "Attention": attention.attention,
    "AveragePool": accumulation.means,
    "BatchNormalization": normalization.batch_normalization,
    "BiasGelu": fused.bias_gelu,
    "BlackmanWindow": signal.window,
    "CausalConvWithState": linear_recurrence.causal_conv_with_state,
    "Celu": explicit.exponential_unit,
    "Col2Im": accumulation.folded,
    "Conv": accumulation.products,
    "ConvTranspose": accumulation.products,
    "CumProd": accumulation.cumulative_products,
    "CumSum": accumulation.sums,
    "DFT": signal.fourier,
    "DeformConv": interpolation.deform_conv,
    "Det": determinant.determinant,
    "DynamicQuantizeLinear": integers.scale,
    "DynamicQuantizeMatMul": integer_products.dynamic_quantize_matmul,
    "Einsum": accumulation.einsum,
    "Elu": explicit.exponential_unit,
    "FastGelu": fused.fast_gelu,
    "FusedConv": fused.fused_conv,
    "FusedMatMul": fused.fused_matmul,
    "GRU": recurrent.gru,
    "Gelu": explicit.gelu,
    "Gemm": accumulation.gemm,
    "GlobalAveragePool": accumulation.means,
    "GlobalLpPool": explicit.lp_pool,
    "GridSample": interpolation.grid_sample,
    "GroupNormalization": normalization.group_normalization,
    "GroupQueryAttention": contributed_attention.group_query_attention,
    "HammingWindow": signal.window,
    "HannWindow": signal.window,
    "HardSigmoid": explicit.hard_sigmoid,
    "HardSwish": explicit.hard_swish,
    "InstanceNormalization": normalization.instance_normalization,
    "LRN": normalization.lrn,
    "LSTM": recurrent.lstm,
    "LayerNormalization": normalization.layer_normalization,
    "LinearAttention": linear_recurrence.linear_attention,
    "LogSoftmax": softmax.softmax,
    "LpNormalization": normalization.lp_normalization,
    "LpPool": explicit.lp_pool,
    "MatMul": accumulation.products,
    "MatMulIntegerToFloat": integer_products.matmul_integer_to_float,
    "MatMulNBits": fused.matmul_n_bits,
    "Mean": accumulation.means,
    "MeanVarianceNormalization": normalization.mean_variance_normalization,
    "MelWeightMatrix": signal.mel,
    "Mish": explicit.mish,
    "MultiHeadAttention": contributed_attention.multi_head_attention,
    "NegativeLogLikelihoodLoss": losses.negative_log_likelihood,
    "QGemm": integer_products.qgemm,
    "QLinearMatMul": integer_products.qlinear_matmul,
    "QuantizeLinear": functions.quotient,
    "QuickGelu": fused.quick_gelu,
    "RMSNormalization": normalization.layer_normalization,
    "RNN": recurrent.rnn,
    "ReduceL1": accumulation.sums,
    "ReduceL2": explicit.norm_two,
    "ReduceLogSum": explicit.log_sum,
    "ReduceLogSumExp": softmax.log_sum_exp,
    "ReduceMean": explicit.mean,
    "ReduceProd": accumulation.products_of_many,
    "ReduceSum": accumulation.sums,
    "ReduceSumSquare": accumulation.sum_of_squares,
    "Resize": resizing.resize,
    "RoiAlign": regions.roi_align,
    "RotaryEmbedding": attention.rotary_embedding,
    "STFT": signal.short_time,
    "ScatterElements": accumulation.scattered,
    "ScatterND": accumulation.scattered,
    "Selu": explicit.exponential_unit,
    "Sigmoid": explicit.sigmoid,
    "SimplifiedLayerNormalization": fused.simplified_layer_normalization,
    "SkipLayerNormalization": fused.skip_layer_normalization,
    "SkipSimplifiedLayerNormalization": fused.skip_layer_normalization,
    "Softmax": softmax.softmax,
    "SoftmaxCrossEntropyLoss": losses.softmax_cross_entropy,
    "Softplus": explicit.softplus,
    "Softsign": explicit.softsign,
    "Sum": accumulation.sums,
    "SwiGLU": fused.swiglu,
    "Swish": explicit.swish,
    "TfIdfVectorizer": accumulation.counted,
    "Upsample": resizing.resize,
}

OPENING = (accumulation, attention, contributed_attention, fused, linear_recurrence, normalization, recurrent, softmax)

OVERFLOWING = frozenset(
    name
    for name, bound in BOUNDS.items()
    if bound in (explicit.norm_two, explicit.mean) or bound.__module__ in [module.__name__ for module in OPENING]
)
"""Operators whose bound is infinite on purpose where an intermediate sum may overflow, whatever the exact result is."""

ROUNDED_INTEGERS = frozenset(["Mean", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp", "ReduceMean", "Shrink"])
"""Operators whose exact result on integers may be none; ONNX does not say how it is rounded, so both neighbours are right."""

INTERPOLATES = {"GridSample": "linear", "Resize": "nearest", "Upsample": "nearest"}
"""Operators that round what they interpolate between integers in the same way → the default of their `mode`."""


def rounds_integers(node: Node) -> bool:
    """Whether both neighbours of the exact result are right for integers, as where an operator interpolates."""
    return node.operator in ROUNDED_INTEGERS or (node.operator in INTERPOLATES and not copies(node))


def copies(node: Node) -> bool:
    """Whether an operator of `INTERPOLATES` takes the nearest element."""
    default = INTERPOLATES.get(node.operator)
    return default is not None and node.attribute("mode", default) == "nearest"


STAGED = {"GroupNormalization": 21, "LayerNormalization": 17, "RMSNormalization": 23}
"""Operators whose moments are computed in the type that the attribute stash_type names → the version that has it."""


def is_single(node: Node) -> bool:
    """Whether the operator asks for float32 whatever the type of its tensors."""
    return node.version >= STAGED.get(node.operator, 99) and node.attribute("stash_type", 1) == 1


INTERVALS = frozenset(integers.REAL)

WITHOUT_BOUND = frozenset(
    [
        "Bernoulli",
        "If",
        "Loop",
        "Multinomial",
        "RandomNormal",
        "RandomNormalLike",
        "RandomUniform",
        "RandomUniformLike",
        "Scan",
        "SequenceMap",
    ]
)
"""Operators that the reference evaluates, but that no bound is derived for: whatever a device gives is inconclusive."""

SIGNED_ZERO = frozenset(
    [
        "Abs",
        "BitCast",
        "CenterCropPad",
        "Concat",
        "ConcatFromSequence",
        "Compress",
        "DepthToSpace",
        "Expand",
        "Flatten",
        "Gather",
        "GatherElements",
        "GatherND",
        "Identity",
        "Neg",
        "OneHot",
        "Pad",
        "Reshape",
        "ReverseSequence",
        "Scatter",
        "Slice",
        "SpaceToDepth",
        "Split",
        "Squeeze",
        "TensorScatter",
        "Tile",
        "TopK",
        "Transpose",
        "Trilu",
        "Unsqueeze",
        "Where",
    ]
)
"""Operators that must keep the sign of zero whatever their attributes."""


def moves(node: Node) -> bool:
    """Whether the node moves data as it is: the sign of zero must stay, and subnormal numbers too. Elsewhere the sign is not
    judged, and subnormal operands may count as zero."""
    if node.operator in ("ScatterElements", "ScatterND"):
        return bool(node.attribute("reduction", "none") == "none")
    return node.operator in SIGNED_ZERO or (node.operator in ("Resize", "Upsample") and copies(node))


def mode_of(operator: str) -> str:
    """Name of the mode. Raises KeyError for an operator that has none."""
    if operator in INTERVALS:  # float8 results of QuantizeLinear are a rounded quotient
        return "INT_INTERVAL"
    if operator in EXACT:
        return "EXACT"
    if operator in WITHOUT_BOUND:
        return "UNBOUNDED"
    if operator in PRODUCTS:
        return "PRODUCT"
    return BY_MODULE.get(BOUNDS[operator].__module__.rsplit(".", 1)[-1], "EXPLICIT")


BY_MODULE = {"accumulation": "ACCUM", "functions": "ULP_REAL", "integer_products": "ACCUM", "integers": "INT_INTERVAL"}
"""Module of a bound → mode; all others are explicit formulas."""

PRODUCTS = frozenset(["CumProd", "ReduceProd"])

CLASSES: dict[str, str] = {
    **dict.fromkeys(
        ["Add", "Div", "Mul", "PRelu", "Shrink", "Sub", "LeakyRelu", "Range", "CumProd", "ReduceProd"], "elementwise"
    ),
    **dict.fromkeys(["Attention", "GroupQueryAttention", "LogSoftmax", "MultiHeadAttention", "ReduceLogSumExp"], "softmax"),
    **dict.fromkeys(["Softmax", "SoftmaxCrossEntropyLoss"], "softmax"),
    **dict.fromkeys(
        ["FusedConv", "FusedMatMul", "ReduceMean", "Resize", "Upsample", "GridSample", "RoiAlign", "DeformConv"], "linear"
    ),
    **dict.fromkeys(["AffineGrid", "Col2Im", "DFT", "Det", "GRU", "LSTM", "LinearAttention", "RNN", "STFT"], "linear"),
    **dict.fromkeys(["CausalConvWithState", "MatMulNBits"], "linear"),
    **dict.fromkeys(["DequantizeLinear", "QuantizeLinear"], "quantization"),
}
"""Operator → class of the precision profile, where name and mode do not tell it."""

BY_MODE = {"EXACT": "movement", "ACCUM": "linear", "INT_INTERVAL": "quantization", "ULP_REAL": "function"}


def class_of(operator: str) -> str:
    """Class of an operator in the precision profile (`profile.CLASSES`). Raises KeyError for an operator that has no mode."""
    if operator in CLASSES:
        return CLASSES[operator]
    if "Normalization" in operator or operator in ("LRN", "ReduceL2"):
        return "normalization"
    return BY_MODE.get(mode_of(operator), "function")
