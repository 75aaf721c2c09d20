"""Groups of channels, and heads that share keys: ignored, or members mixed between them."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence

import numpy as np

from reference.node import Array, Node
from reference.verify.diagnosis.hypothesis import Hypothesis, Question
from reference.verify.diagnosis.parameters import instead, substituted
from reference.verify.diagnosis.placement import computed, moved
from reference.verify.diagnosis.windows import WEIGHTS

SHARED = {
    "Attention": ("q_num_heads", "kv_num_heads", (1, 2), (4, 5)),
    "GroupQueryAttention": ("num_heads", "kv_num_heads", (1, 2), (3, 4)),
}
"""Operator → attributes with the numbers of heads of queries and of keys; inputs with keys and values; those of the past."""


def hypotheses(question: Question) -> Iterator[Hypothesis]:
    node = question.node
    if not node.inputs or not isinstance(node.inputs[0], np.ndarray):
        return
    if node.operator in WEIGHTS and node.inputs[0].ndim >= 3:
        yield from _convolution(question)
    if node.operator == "GroupNormalization" and node.inputs[0].ndim >= 2:
        yield from _normalization(question)
    if node.operator in SHARED:
        yield from _heads(question)


def interleaved(channels: int, groups: int) -> Array:
    """Order in which channels of blocks are members of interleaved groups: c → (c % groups)·size + c // groups."""
    return np.arange(channels).reshape(groups, -1).T.reshape(-1)


def _orders(channels: int, groups: int) -> list[tuple[str, Array]]:
    blocks = np.arange(channels).reshape(groups, -1)
    return [
        (f"taken in the order of {groups} interleaved groups", interleaved(channels, groups)),
        (f"taken in the order of {channels // groups} interleaved groups", interleaved(channels, channels // groups)),
        ("taken from the group before", np.roll(blocks, 1, axis=0).reshape(-1)),
        ("taken from the next group", np.roll(blocks, -1, axis=0).reshape(-1)),
        ("taken from the groups in reverse order", blocks[::-1].reshape(-1)),
    ]


def _convolution(question: Question) -> Iterator[Hypothesis]:
    node = question.node
    at = WEIGHTS[node.operator]
    x, w = node.inputs[0], node.inputs[at] if at < len(node.inputs) else None
    group = int(node.attributes.get("group", 1))
    assert x is not None
    if w is None or group < 2 or not x.shape[1] or x.shape[1] % group:
        return
    first = np.tile(np.arange(x.shape[1] // group), group)
    text = f"the reference with group ignored: all {group} groups read the channels of the first one"
    yield from question.of_inputs("groups-mixed", text, substituted(node, {0: x[:, first]}))
    outputs = question.reference.shape[1] if question.reference.ndim > 1 else 0
    for what, order in _orders(x.shape[1], group):
        text = f"the reference with the input channels {what}"
        yield from question.of_inputs("groups-mixed", text, substituted(node, {0: x[:, order]}))
    if outputs and outputs % group == 0:
        for what, order in _orders(outputs, group):
            yield from moved(question, "groups-mixed", f"the reference with the output channels {what}", _taken(order))
    if w.shape[0] % group == 0:
        for what, order in _orders(w.shape[0], group):
            text = f"the reference with the weights {what}"
            yield from question.of_inputs("groups-mixed", text, substituted(node, {WEIGHTS[node.operator]: w[order]}))
    text = instead("group", 1, group)
    yield from question.of_attributes("groups-mixed", text, group=1)


def _taken(order: Array) -> Callable[[Array], Array]:
    return lambda y: y[:, order]


def _normalization(question: Question) -> Iterator[Hypothesis]:
    """Channels of interleaved groups are normalised together, or other numbers of them."""
    node = question.node
    x, scale, bias = (node.real(i) for i in range(3))
    channels, group = x.shape[1], int(node.attributes.get("num_groups", 1))
    if group < 1 or not channels or channels % group or len(scale) not in (channels, group):
        return
    for what, order in _orders(channels, group)[:2]:
        parameters = [p[order] if len(p) == channels else p for p in (scale, bias)]
        inputs = [x[:, order], *parameters]

        text = f"the reference with the channels {what}"
        yield from moved(question, "groups-mixed", text, _taken(np.argsort(order)), computed(node, inputs))
    for other in (1, channels, channels // group):
        if other != group:
            yield from question.of_attributes("groups-mixed", instead("num_groups", other, group), num_groups=other)


def _heads(question: Question) -> Iterator[Hypothesis]:
    """Heads of queries share keys and values in blocks; here they take them in turn, or all take the first."""
    node = question.node
    name, shared, present, past = SHARED[node.operator]
    query, key = node.inputs[0], node.inputs[1] if len(node.inputs) > 1 else None
    if query is None or not isinstance(key, np.ndarray):
        return
    heads = int(node.attributes.get(name) or (query.shape[1] if query.ndim == 4 else 0))
    fewer = int(node.attributes.get(shared) or (key.shape[1] if key.ndim == 4 else 0))
    if not 0 < fewer < heads or heads % fewer:
        return
    orders = [
        (f"head h taking keys and values of head h mod {fewer}", np.arange(heads) % fewer),
        ("all heads taking keys and values of the first", np.zeros(heads, int)),
        ("the heads of keys in reverse order", np.arange(heads)[::-1] // (heads // fewer)),
    ]
    for text, order in orders:
        attributes = {shared: heads} if shared in node.attributes else {}
        inputs = functools.partial(_shared, node, (*present, *past), fewer, order)
        yield from question.of_inputs("groups-mixed", f"the reference with {text}", inputs, **attributes)


def _shared(node: Node, which: Sequence[int], heads: int, order: Array) -> list[Array | None]:
    """The inputs with those of keys and values that are there in another order of their heads."""
    given = [i for i in which if node.given(i)]
    return substituted(node, {i: _with_heads(node.real(i), heads, order) for i in given})


def _with_heads(x: Array, heads: int, order: Array) -> Array:
    """Keys or values (batch, heads, length, size) or (batch, length, heads·size), with their heads taken in that order."""
    if x.ndim == 4:
        return x[:, order]
    split = x.reshape(*x.shape[:2], heads, -1)
    return split[:, :, order].reshape(*x.shape[:2], -1)
