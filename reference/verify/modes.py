"""Operator → the mode in which its result is judged (docs/numerics.md). Integer and boolean results are always exact, but for
the requantised ones."""

from __future__ import annotations

from collections.abc import Callable

from reference.verify import accumulation, explicit, functions, integers
from reference.verify.node import Array, Node, Setting

Bound = Callable[[Node, Setting], list[Array]]

EXACT = frozenset(
    [
        "Abs",
        "And",
        "ArgMax",
        "ArgMin",
        "BitShift",
        "BitwiseAnd",
        "BitwiseNot",
        "BitwiseOr",
        "BitwiseXor",
        "Cast",
        "CastLike",
        "Ceil",
        "Clip",
        "Compress",
        "Concat",
        "ConstantOfShape",
        "ConvInteger",
        "DepthToSpace",
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
        "IsInf",
        "IsNaN",
        "Less",
        "LessOrEqual",
        "MatMulInteger",
        "Max",
        "MaxPool",
        "Min",
        "Mod",
        "Neg",
        "NonZero",
        "Not",
        "OneHot",
        "Or",
        "Pad",
        "ReduceMax",
        "ReduceMin",
        "Relu",
        "Reshape",
        "ReverseSequence",
        "Round",
        "Scatter",
        "Shape",
        "Sign",
        "Size",
        "Slice",
        "SpaceToDepth",
        "Split",
        "Squeeze",
        "ThresholdedRelu",
        "Tile",
        "TopK",
        "Transpose",
        "Trilu",
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

INTERVALS = frozenset(integers.REAL)
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
    module = BOUNDS[operator].__module__.rsplit(".", 1)[-1]
    return {"accumulation": "ACCUM", "functions": "ULP_REAL", "explicit": "EXPLICIT", "integers": "INT_INTERVAL"}[module]
