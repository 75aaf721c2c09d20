"""Indices, limits and masks that come as inputs, misunderstood: negative indices, steps, lengths, masks."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

import numpy as np

from reference.node import Array, Node
from reference.verify.diagnosis.hypothesis import Hypothesis, Question
from reference.verify.diagnosis.parameters import instead, label, substituted
from reference.verify.diagnosis.placement import computed

INDICES = frozenset(["indices", "I", "target", "labels", "position_ids", "batch_indices", "write_indices"])
"""Names of inputs that hold positions."""

BOUNDS = frozenset(["starts", "ends"])

MASKS = frozenset(["attn_mask", "condition", "mask", "key_padding_mask"])


def hypotheses(question: Question) -> Iterator[Hypothesis]:
    node = question.node
    for i, x in enumerate(node.inputs):
        if not isinstance(x, np.ndarray):
            continue
        name = label(node, i)
        for text, new in (*_positions(node, name, x), *_others(node, name, x)):
            yield from question.of_inputs("attribute-value", text, substituted(node, {i: new}))
    if node.operator == "Attention" and node.attributes.get("is_causal"):
        yield from _causal(question)
    if node.operator == "SpaceToDepth":
        yield from _space_to_depth(question)


def _positions(node: Node, name: str, x: Array) -> Iterator[tuple[str, Array]]:
    if name not in INDICES | BOUNDS or x.dtype.kind not in "iu":
        return
    if x.size and x.min() < 0:
        yield f"the reference computed with negative {name} clamped to 0", np.maximum(x, 0)
        yield f"the reference computed with the magnitudes of negative {name}", np.abs(x)
        yield f"the reference computed with negative {name} one further from the end", np.where(x < 0, x - 1, x)
        yield f"the reference computed with negative {name} one nearer to the end", np.where(x < -1, x + 1, x)
    yield f"the reference computed with {name} one too large", x + 1
    yield f"the reference computed with {name} one too small", np.maximum(x - 1, 0)
    if name in INDICES and x.ndim and x.shape[-1] > 1:
        yield f"the reference computed with the last axis of {name} in reverse order", x[..., ::-1]
    if name in BOUNDS:
        yield f"the reference computed with {name} 0", np.zeros_like(x)
        yield instead(name, x[::-1], x), x[::-1]


def _others(node: Node, name: str, x: Array) -> Iterator[tuple[str, Array]]:
    data = node.inputs[0]
    if name == "steps":
        yield instead(name, np.ones_like(x), x), np.ones_like(x)
        yield instead(name, np.abs(x), x), np.abs(x)
        yield instead(name, x[::-1], x), x[::-1]
    if name == "sequence_lens" and isinstance(data, np.ndarray) and data.ndim:
        axis = int(node.attributes.get("time_axis", node.attributes.get("layout", 0)))
        yield f"the reference computed with {name} ignored", np.full_like(x, data.shape[axis])
        yield f"the reference computed with {name} one too small", np.maximum(x - 1, 0)
    if name in MASKS and x.dtype == np.bool_:
        yield f"the reference computed with {name} inverted", ~x
        yield f"the reference computed with {name} ignored", np.ones_like(x)
    if name == "k" and x.size == 1 and x.dtype.kind == "i":
        for new in (-x, np.zeros_like(x), x + 1, x - 1):
            yield instead(name, new.item(), x.item()), new
    if name in ("min", "max", "ratio", "iou_threshold", "score_threshold") and x.dtype.kind == "f":
        yield instead(name, 0.0, x), np.zeros_like(x)


def _causal(question: Question) -> Iterator[Hypothesis]:
    """is_causal aligned to the last key instead of the first, and the diagonal itself left out."""
    node = question.node
    q, k = node.inputs[0], node.inputs[1]
    if q is None or k is None or any(x is not None for x in node.inputs[3:4]):
        return
    rows, columns = (x.shape[2] if x.ndim == 4 else x.shape[1] for x in (q, k))
    if len(node.inputs) > 4 and (past := node.inputs[4]) is not None:
        columns += past.shape[2]
    for text, diagonal in (("the last key", columns - rows), ("the first key", 0), ("the key before", -1)):
        mask = np.tril(np.ones((rows, columns), bool), diagonal)
        inputs = [*node.inputs, *[None] * (4 - len(node.inputs))]
        inputs[3] = mask
        sentence = f"the reference with the causal mask aligned to {text}"
        yield from question.of_node(
            "attribute-value", sentence, computed(_with_types(node, len(inputs)), inputs, is_causal=None)
        )


def _with_types(node: Node, count: int) -> Node:
    types = [*node.types, *[None] * (count - len(node.types))]
    types[3] = "bool"
    return dataclasses.replace(node, types=tuple(types))


def _space_to_depth(question: Question) -> Iterator[Hypothesis]:
    """Blocks after channels instead of before them, as DepthToSpace has it with mode CRD; versions below 28 have no mode."""
    node, x = question.node, question.node.inputs[0]
    size = int(node.attributes.get("blocksize", 1))
    if not isinstance(x, np.ndarray) or x.ndim != 4 or question.reference.ndim != 4:
        return
    channels = np.arange(question.reference.shape[1]).reshape(size * size, -1).T.reshape(-1)
    text = "the reference computed with mode CRD instead of DCR"
    yield from question.of_value("attribute-value", text, question.reference[:, channels], 0.0)
