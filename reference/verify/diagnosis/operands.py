"""Operands in each other's place, left out, or with the other sign."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import onnx

from reference import dtypes, signature
from reference.node import Array, Node
from reference.verify.diagnosis.hypothesis import Hypothesis, Question
from reference.verify.diagnosis.parameters import label, substituted
from reference.verify.diagnosis.placement import computed

MOST = 28
"""Pairs of operands that are tried at most."""

PAIRS: Mapping[str, tuple[tuple[tuple[int, ...], tuple[int, ...]], ...]] = {
    "MatMulInteger": (((0, 2), (1, 3)),),
    "QLinearAdd": (((0, 1, 2), (3, 4, 5)),),
    "QLinearMatMul": (((0, 1, 2), (3, 4, 5)),),
    "QLinearMul": (((0, 1, 2), (3, 4, 5)),),
}
"""Operator → operands that consist of several inputs: tensor, scale, zero point."""

SHAPING = frozenset(
    [
        *("Col2Im", "ConstantOfShape", "EyeLike", "Expand", "MelWeightMatrix", "OneHot", "Pad", "Range", "Reshape", "Resize"),
        *("BlackmanWindow", "CenterCropPad", "DFT", "HammingWindow", "HannWindow", "STFT", "Slice", "Tile", "TopK", "Upsample"),
        *("AffineGrid", "Loop", "MaxUnpool", "Scan", "Split", "SplitToSequence", "If", "Dropout", "Bernoulli", "Multinomial"),
    ]
)
"""Operators whose inputs say how large the output is, or what else no operand says: swapped they would mean anything."""

BIASES: Mapping[str, tuple[int, ...]] = {
    "BatchNormalization": (2,),
    "BiasGelu": (1,),
    "CausalConvWithState": (2,),
    "Conv": (2,),
    "ConvTranspose": (2,),
    "DeformConv": (3,),
    "DynamicQuantizeMatMul": (4,),
    "FastGelu": (1,),
    "FusedConv": (2, 3),
    "GRU": (3,),
    "Gemm": (2,),
    "GroupNormalization": (2,),
    "InstanceNormalization": (2,),
    "LSTM": (3,),
    "LayerNormalization": (2,),
    "MatMulIntegerToFloat": (6,),
    "MatMulNBits": (5,),
    "MultiHeadAttention": (3,),
    "QGemm": (6,),
    "QLinearConv": (8,),
    "RNN": (3,),
    "SkipLayerNormalization": (3, 4),
    "SkipSimplifiedLayerNormalization": (3,),
}
"""Operator → inputs that are added and that a model may do without."""

NEUTRAL: Mapping[str, Mapping[int, float]] = {
    "BatchNormalization": {1: 1.0, 3: 0.0, 4: 1.0},
    "GroupNormalization": {1: 1.0},
    "InstanceNormalization": {1: 1.0},
    "LayerNormalization": {1: 1.0},
    "PRelu": {1: 0.0},
    "RMSNormalization": {1: 1.0},
    "SimplifiedLayerNormalization": {1: 1.0},
    "SkipLayerNormalization": {1: 0.0, 2: 1.0},
    "SkipSimplifiedLayerNormalization": {1: 0.0, 2: 1.0},
}
"""Operator → inputs that a model must give, and the value that does nothing."""


def hypotheses(question: Question) -> Iterator[Hypothesis]:
    """The likelier ones first: swapped, then left out, then negated."""
    yield from _swapped(question)
    yield from _dropped(question)
    yield from _ignored(question)
    yield from _negated(question)


def _swapped(question: Question) -> Iterator[Hypothesis]:
    node = question.node
    for first, second in PAIRS.get(node.operator, ()):
        yield from _exchanged(question, first, second)
    if node.operator in SHAPING:
        return
    for i, j in itertools.islice(itertools.combinations(range(len(node.inputs)), 2), MOST):
        if _alike(node, i, j):
            yield from _exchanged(question, (i,), (j,))


def _alike(node: Node, i: int, j: int) -> bool:
    a, b = node.inputs[i], node.inputs[j]
    return isinstance(a, np.ndarray) and isinstance(b, np.ndarray) and node.types[i] == node.types[j]


def _exchanged(question: Question, first: Sequence[int], second: Sequence[int]) -> Iterator[Hypothesis]:
    node = question.node
    order = list(range(len(node.inputs)))
    for i, j in zip(first, second, strict=True):
        if j < len(order):
            order[i], order[j] = j, i
    types = tuple(node.types[i] for i in order)
    inputs = [node.inputs[i] for i in order]
    other = dataclasses.replace(node, types=types)
    text = f"the reference with {label(node, first[0])} and {label(node, second[0])} swapped"
    yield from question.of_node("operands-swapped", text, computed(other, inputs))


def _dropped(question: Question) -> Iterator[Hypothesis]:
    node = question.node
    for i in BIASES.get(node.operator, ()):
        bias = node.inputs[i] if i < len(node.inputs) else None
        if not isinstance(bias, np.ndarray) or not bias.any():
            continue
        name = label(node, i)
        text = f"the reference without the bias {name}"
        yield from question.of_inputs("bias-dropped", text, substituted(node, {i: np.zeros_like(bias)}))
        if node.operator in ("GRU", "LSTM", "RNN") and bias.ndim == 2 and bias.shape[1] % 2 == 0:
            half = bias.shape[1] // 2
            keep = np.arange(2 * half) < half
            for what, mask in (("of the input", ~keep), ("of the state", keep)):
                text = f"the reference without the half {what} of the bias {name}"
                yield from question.of_inputs("bias-dropped", text, substituted(node, {i: bias * mask}))
        text = f"the reference with the bias {name} added twice"
        yield from question.of_inputs("term-duplicated", text, substituted(node, {i: 2 * bias}))


def _ignored(question: Question) -> Iterator[Hypothesis]:
    """Optional inputs, and those that would do nothing with another value; zero points are for the family of integers."""
    node = question.node
    formals = _optional(node)
    for i, x in enumerate(node.inputs):
        name = label(node, i)
        if x is None or i in BIASES.get(node.operator, ()) or "zero_point" in name:
            continue
        if i in formals:
            cause = "pads-value" if node.operator == "Pad" and name == "constant_value" else "attribute-default"
            text = f"the reference with the input {name} ignored"
            yield from question.of_inputs(cause, text, substituted(node, {i: None}))
        neutral = NEUTRAL.get(node.operator, {}).get(i)
        if neutral is not None:
            text = f"the reference with the input {name} ignored"
            yield from question.of_inputs("attribute-default", text, substituted(node, {i: np.full_like(x, neutral)}))


def _optional(node: Node) -> list[int]:
    """Numbers of the inputs that a model may leave out; without a schema, all but the first may be."""
    found = signature.schema(node.operator, node.domain, node.version)
    if found is None:
        return list(range(1, len(node.inputs)))
    kind = onnx.defs.OpSchema.FormalParameterOption.Optional
    return [i for i, formal in enumerate(found.inputs) if formal.option == kind]


def _negated(question: Question) -> Iterator[Hypothesis]:
    node = question.node
    for i, (x, dtype) in enumerate(zip(node.inputs, node.types, strict=True)):
        if not isinstance(x, np.ndarray) or dtype is None or (node.operator in SHAPING and i):
            continue
        signed = dtypes.is_float(dtype) or (x.dtype.kind == "i" and dtype == node.types[0])
        if signed and x.any():
            yield from question.of_inputs(
                "sign-flipped", f"the reference with {label(node, i)} negated", substituted(node, {i: -x})
            )
            magnitudes: Array = np.abs(x)
            if not np.array_equal(magnitudes, x):
                text = f"the reference with the magnitudes of {label(node, i)}"
                yield from question.of_inputs("sign-flipped", text, substituted(node, {i: magnitudes}))
