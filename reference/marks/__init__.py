"""Elements that no single value is right for: those that ONNX leaves open, which are recorded but never judged, and those
whose exact value sits on a decision, where the last bit of a coordinate or quotient picks one of two results."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from reference import evaluator, ops, signature, table
from reference.marks import contributed, element, layer, movement, quantization, window
from reference.node import Array, Node

Mask = Array | None
Rule = Callable[[Node], Mask | Sequence[Mask]]
"""A mask that broadcasts to every output, or one for each; None where no element is marked."""


def left_open(node: Node, output: int) -> Mask:
    """Mask of the elements of output number `output` that ONNX leaves to the implementation; None where there are none."""
    return _marked(OPEN, node, output)


def ties(node: Node, output: int) -> Mask:
    """Mask of the elements of output number `output` whose exact value sits on a decision; None where there are none."""
    return _marked(TIES, node, output)


def _marked(rules: Mapping[str, Rule], node: Node, output: int) -> Mask:
    rule = rules.get(node.operator) if node.domain in table.DOMAINS else None
    found = rule(node) if rule else None
    if isinstance(found, Sequence):
        return found[output] if output < len(found) else None
    return found


def _companion(versions: Mapping[int, Callable[..., Array]]) -> Rule:
    """A rule that lies beside the operator's function and takes what that takes; the newest that the opset has."""

    def rule(node: Node) -> Mask:
        since = [v for v in versions if v <= node.version]
        with np.errstate(all="ignore"):
            companion = versions[max(since)]
            types = {"dtypes": node.types} if "dtypes" in evaluator.keywords(companion) else {}
            marked = companion(*node.inputs, **signature.without_legacy(node.attributes), **types)
        return marked if marked.any() else None

    return rule


OPEN: dict[str, Rule] = {
    **dict.fromkeys(("BlackmanWindow", "HammingWindow", "HannWindow"), _companion({17: ops.signal.window_open})),
    "Col2Im": _companion({18: ops.patches.col2im_open}),
    "DFT": _companion({17: ops.signal.dft_17_open, 20: ops.signal.dft_open}),
    "AffineGrid": _companion({20: ops.sampling.affine_grid_open}),
    "DeformConv": _companion({19: ops.sampling.deform_conv_open}),
    "Det": _companion({11: ops.linear_algebra.det_open}),
    "GridSample": _companion({16: ops.sampling.grid_sample_open}),
    "MaxUnpool": _companion({9: ops.regions.max_unpool_open}),
    "NonMaxSuppression": _companion({10: ops.regions.non_max_suppression_open}),
    "RoiAlign": _companion({10: ops.regions.roi_align_10_open, 16: ops.regions.roi_align_open}),
    "ArgMax": element.nan_along_axis,
    "ArgMin": element.nan_along_axis,
    "Attention": layer.attention,
    "AveragePool": window.pool,
    "BatchNormalization": element.saved_variance,
    "BiasGelu": contributed.closed_gate,
    "BitShift": element.shift,
    "Cast": element.cast,
    "CastLike": element.cast,
    "Celu": element.nan,
    "Clip": element.absent_limit,
    "ConvTranspose": window.conv_transpose,
    "Div": element.divisor,
    "Dropout": layer.dropped,
    "Einsum": element.integer_products,
    "DynamicQuantizeLinear": quantization.no_range,
    "Erf": element.integer_error_function,
    "FastGelu": contributed.closed_gate,
    "GRU": layer.recurrence,
    "Gelu": element.infinite_argument,
    "Gemm": element.integer_products,
    "GlobalMaxPool": element.nan_among_candidates,
    "GroupQueryAttention": layer.padding,
    "HardSigmoid": element.nan,
    "HardSwish": element.infinite_argument,
    "Hardmax": element.nan_line,
    "LSTM": layer.recurrence,
    "LogSoftmax": element.infinite_line,
    "LpPool": window.pool,
    "Max": element.nan_among_candidates,
    "MaxPool": window.pool,
    "MeanVarianceNormalization": element.constant_lines,
    "Min": element.nan_among_candidates,
    "Mish": element.infinite_argument,
    "Mod": element.divisor,
    "NegativeLogLikelihoodLoss": layer.mean_of_nothing,
    "NonZero": movement.nonzero,
    "Pow": element.integer_power,
    "QuantizeLinear": element.nan,
    "QLinearAveragePool": contributed.averages,
    "QuickGelu": contributed.closed_gate,
    "RNN": layer.recurrence,
    "ReduceL1": element.integer_overflow,
    "ReduceL2": element.integer_overflow,
    "ReduceLogSum": element.nothing_reduced,
    "ReduceLogSumExp": element.nothing_reduced,
    "ReduceMax": element.nan_among_candidates,
    "ReduceMean": element.nothing_reduced,
    "ReduceMin": element.nan_among_candidates,
    "ReduceProd": element.integer_overflow,
    "ReduceSum": element.integer_overflow,
    "ReduceSumSquare": element.integer_overflow,
    "Relu": element.nan,
    "Resize": element.resized,
    "Scan": movement.behind_sequences,
    "ScatterElements": movement.scattered,
    "ScatterND": movement.scattered,
    "Shrink": element.integer_overflow,
    "Sign": element.nan,
    "SkipSimplifiedLayerNormalization": contributed.unused_mean,
    "Softmax": element.infinite_line,
    "SoftmaxCrossEntropyLoss": layer.mean_of_nothing,
    "Softsign": element.infinite_argument,
    "StringNormalizer": movement.letters,
    "StringSplit": movement.white_space,
    "SwiGLU": element.infinite_argument,
    "Swish": element.infinite_argument,
    "TfIdfVectorizer": movement.shared_coordinate,
    "TopK": element.top,
    "Upsample": element.beyond_integers,
    "Unique": movement.unique,
}
"""Operator → its open elements."""

TIES: dict[str, Rule] = {
    "GridSample": _companion({16: ops.sampling.grid_sample_ties}),
    "MaxRoiPool": _companion({1: ops.regions.max_roi_pool_ties}),
    "MelWeightMatrix": _companion({17: ops.signal.mel_ties}),
    "NonMaxSuppression": _companion({10: ops.regions.non_max_suppression_ties}),
    "QuantizeLinear": _companion({1: ops.quantization.quantize_ties}),
    "Resize": _companion({10: ops.resize.resize_10_ties, 11: ops.resize.resize_ties}),
    "RoiAlign": _companion({10: ops.regions.roi_align_10_ties, 16: ops.regions.roi_align_ties}),
    "Upsample": _companion({1: ops.resize.upsample_1_ties, 7: ops.resize.upsample_7_ties, 9: ops.resize.resize_10_ties}),
    **quantization.TIES,
}
"""Operator → its elements on a decision."""
