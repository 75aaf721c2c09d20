"""Operator → the mode in which its result is judged (docs/numerics.md). Integer and boolean results are always exact, but for
the requantised ones."""

from __future__ import annotations

from collections.abc import Callable

from reference.node import Array, Node
from reference.verify import accumulation, explicit, functions, integers
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
    "AveragePool": accumulation.means,
    "BatchNormalization": explicit.batch_normalization,
    "Celu": explicit.exponential_unit,
    "Conv": accumulation.products,
    "ConvTranspose": accumulation.products,
    "CumSum": accumulation.sums,
    "DynamicQuantizeLinear": integers.scale,
    "Einsum": accumulation.einsum,
    "Elu": explicit.exponential_unit,
    "Gelu": explicit.gelu,
    "Gemm": accumulation.gemm,
    "GlobalAveragePool": accumulation.means,
    "GlobalLpPool": explicit.lp_pool,
    "GroupNormalization": explicit.group_normalization,
    "HardSigmoid": explicit.hard_sigmoid,
    "HardSwish": explicit.hard_swish,
    "InstanceNormalization": explicit.instance_normalization,
    "LRN": explicit.lrn,
    "LayerNormalization": explicit.layer_normalization,
    "LogSoftmax": explicit.softmax,
    "LpNormalization": explicit.lp_normalization,
    "LpPool": explicit.lp_pool,
    "MatMul": accumulation.products,
    "Mean": accumulation.means,
    "MeanVarianceNormalization": explicit.mean_variance_normalization,
    "Mish": explicit.mish,
    "RMSNormalization": explicit.layer_normalization,
    "QuantizeLinear": functions.quotient,
    "ReduceL1": accumulation.sums,
    "ReduceL2": explicit.norm_two,
    "ReduceLogSum": explicit.log_sum,
    "ReduceLogSumExp": explicit.log_sum_exp,
    "ReduceMean": accumulation.means,
    "ReduceProd": accumulation.products_of_many,
    "ReduceSum": accumulation.sums,
    "ReduceSumSquare": accumulation.sum_of_squares,
    "Resize": explicit.resize,
    "ScatterElements": accumulation.scattered,
    "ScatterND": accumulation.scattered,
    "Selu": explicit.exponential_unit,
    "Sigmoid": explicit.sigmoid,
    "Softmax": explicit.softmax,
    "Softplus": explicit.softplus,
    "Softsign": explicit.softsign,
    "Sum": accumulation.sums,
    "Swish": explicit.swish,
    "Upsample": explicit.resize,
}

OVERFLOWING = frozenset(
    name
    for name, bound in BOUNDS.items()
    if bound.__module__ == accumulation.__name__
    or bound in (explicit.layer_normalization, explicit.instance_normalization, explicit.group_normalization)
    or bound in (explicit.batch_normalization, explicit.mean_variance_normalization, explicit.norm_two)
)
"""Operators whose bound is infinite on purpose where an intermediate sum may overflow, whatever the exact result is."""

ROUNDED_INTEGERS = frozenset(["Mean", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp", "ReduceMean", "Shrink"])
"""Operators whose exact result on integers may be none; ONNX does not say how it is rounded, so both neighbours are right."""

INTERPOLATES = {"GridSample": "linear", "Resize": "nearest", "Upsample": "nearest"}
"""Operators that round what they interpolate between integers in the same way → the default of their `mode`."""


def rounds_integers(node: Node) -> bool:
    """Whether both neighbours of the exact result are right for integers, as where an operator interpolates."""
    default = INTERPOLATES.get(node.operator)
    return node.operator in ROUNDED_INTEGERS or (default is not None and node.attribute("mode", default) != "nearest")


STAGED = {"GroupNormalization": 21, "LayerNormalization": 17, "RMSNormalization": 23}
"""Operators whose moments are computed in the type that the attribute stash_type names → the version that has it."""


def is_single(node: Node) -> bool:
    """Whether the operator asks for float32 whatever the type of its tensors."""
    return node.version >= STAGED.get(node.operator, 99) and node.attribute("stash_type", 1) == 1


INTERVALS = frozenset(integers.REAL)

WITHOUT_BOUND = frozenset(
    [
        "AffineGrid",
        "Attention",
        "Bernoulli",
        "BiasGelu",
        "BlackmanWindow",
        "CausalConvWithState",
        "Col2Im",
        "CumProd",
        "DFT",
        "DeformConv",
        "Det",
        "DynamicQuantizeMatMul",
        "FastGelu",
        "FusedConv",
        "FusedMatMul",
        "GRU",
        "GridSample",
        "GroupQueryAttention",
        "HammingWindow",
        "HannWindow",
        "If",
        "LSTM",
        "LinearAttention",
        "Loop",
        "MatMulIntegerToFloat",
        "MatMulNBits",
        "MelWeightMatrix",
        "MultiHeadAttention",
        "Multinomial",
        "NegativeLogLikelihoodLoss",
        "QGemm",
        "QLinearAdd",
        "QLinearAveragePool",
        "QLinearConcat",
        "QLinearGlobalAveragePool",
        "QLinearLeakyRelu",
        "QLinearMul",
        "QLinearSigmoid",
        "QLinearSoftmax",
        "QuickGelu",
        "RNN",
        "RandomNormal",
        "RandomNormalLike",
        "RandomUniform",
        "RandomUniformLike",
        "RoiAlign",
        "RotaryEmbedding",
        "STFT",
        "Scan",
        "SequenceMap",
        "SimplifiedLayerNormalization",
        "SkipLayerNormalization",
        "SkipSimplifiedLayerNormalization",
        "SoftmaxCrossEntropyLoss",
        "SwiGLU",
        "TfIdfVectorizer",
    ]
)
"""Operators that the reference evaluates, but that no bound is derived for: whatever a device gives is inconclusive."""

SIGNED_ZERO = frozenset(
    [
        "Abs",
        "Concat",
        "Compress",
        "DepthToSpace",
        "Expand",
        "Flatten",
        "Gather",
        "GatherElements",
        "GatherND",
        "Identity",
        "Neg",
        "Reshape",
        "ReverseSequence",
        "Slice",
        "SpaceToDepth",
        "Split",
        "Squeeze",
        "Tile",
        "Transpose",
        "Unsqueeze",
        "Where",
    ]
)
"""Operators that must keep the sign of zero; elsewhere it is not judged."""


def mode_of(operator: str) -> str:
    """Name of the mode. Raises KeyError for an operator that has none."""
    if operator in INTERVALS:  # float8 results of QuantizeLinear are a rounded quotient
        return "INT_INTERVAL"
    if operator in EXACT:
        return "EXACT"
    if operator in WITHOUT_BOUND:
        return "UNBOUNDED"
    module = BOUNDS[operator].__module__.rsplit(".", 1)[-1]
    return {"accumulation": "ACCUM", "functions": "ULP_REAL", "explicit": "EXPLICIT", "integers": "INT_INTERVAL"}[module]
