"""Roles of layers: positions, masks, labels, probabilities and states that a layer can be in."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from suites.cases.node import Node, Parameter, Tensor
from suites.cases.recipes import Draw, carrier
from suites.cases.roles.role import Array, Role


def labels(scores: str) -> Role:
    """Classes of `scores` (N, C, ...); a quarter is ignore_index where that is given."""

    def role(values: Array, draw: Draw, node: Node, tensor: Tensor) -> Array:
        classes = draw.below(values.size, node.shape(scores)[1]).reshape(values.shape)
        ignored = node.attribute("ignore_index")
        if ignored is not None:
            classes = np.where(draw.below(values.size, 4).reshape(values.shape) == 0, ignored, classes)
        return classes.astype(carrier(tensor.dtype))

    return role


def class_weight(values: Array, draw: Draw, node: Node, tensor: Tensor) -> Array:
    """From 1/4 to 1, so that no sum of them is near 0."""
    return (1 + 3 * draw.fraction(values.size)).reshape(values.shape) / 4


def probability(values: Array, draw: Draw, node: Node, tensor: Tensor) -> Array:
    """In [0, 1), of 8 bits; 0 and 1 under the recipe "zero"."""
    if node.recipe == "zero":
        return draw.below(values.size, 2).reshape(values.shape).astype(np.float64)
    return draw.below(values.size, 256).reshape(values.shape) / 256


def positions(values: Array, draw: Draw, node: Node, tensor: Tensor) -> Array:
    """Rows of cos_cache; one number alone is where the rows of `input` begin in it."""
    rows = node.shape("cos_cache")[0]
    taken = node.shape("input")[-2] if tensor.shape == (1,) else 1
    return draw.below(values.size, rows - taken + 1).reshape(values.shape)


def cosine(values: Array, draw: Draw, node: Node, tensor: Tensor) -> Array:
    """Within (-1, 1)."""
    return (2 * draw.fraction(values.size) - 1).reshape(values.shape)


def key_mask(values: Array, draw: Draw, node: Node, tensor: Tensor) -> Array:
    """MultiHeadAttention: 1 for keys that count, the first one always and two in three of the others; of rank 1 the numbers of
    keys that do."""
    if len(tensor.shape) == 1:
        return 1 + draw.below(values.size, _keys(node))
    kept = (draw.below(values.size, 3) > 0).reshape(values.shape).astype(np.int64)
    kept[..., 0] = 1
    return kept


def _keys(node: Node) -> int:
    """How many keys MultiHeadAttention attends to."""
    past = node.shape("past_key")[2] if node.input("past_key") else 0
    key = node.input("key")
    if key is None:
        return node.shape("query")[1]
    return past + key.shape[2 if len(key.shape) == 4 else 1]


def beams(values: Array, draw: Draw, node: Node, tensor: Tensor) -> Array:
    """cache_indirection (batch, beams, rows): which beam a row comes from."""
    return draw.below(values.size, tensor.shape[1]).reshape(values.shape)


def decay(values: Array, draw: Draw, node: Node, tensor: Tensor) -> Array:
    """In [-1, 0], so that a gated state fades."""
    return -draw.fraction(values.size).reshape(values.shape)


def update_rate(values: Array, draw: Draw, node: Node, tensor: Tensor) -> Array:
    """In [0, 1/2)."""
    return draw.fraction(values.size).reshape(values.shape) / 2


def halved(values: Array, draw: Draw, node: Node, tensor: Tensor) -> Array:
    """Half of it: keys of delta rules, whose squares times the rate feed the state back."""
    return values / 2


def spectrum(values: Array, draw: Draw, node: Node, tensor: Tensor) -> Array:
    """DFT: half of a real signal's spectrum has no imaginary part at frequency 0, nor at the last one of an even length."""
    if not (node.attribute("inverse", 0) and node.attribute("onesided", 0)):
        return values
    axis, length = node.input("axis"), node.input("dft_length")
    place = axis.values if isinstance(axis, Parameter) else node.attribute("axis", 1 if node.version == 17 else -2)
    assert isinstance(place, int)
    turned = np.moveaxis(values, place, 0)
    n = length.values if isinstance(length, Parameter) else 2 * (len(turned) - 1)
    assert isinstance(n, int)
    turned[0, ..., 1] = 0
    if n % 2 == 0 and n // 2 < len(turned):
        turned[n // 2, ..., 1] = 0
    return values


ROLES: Mapping[str, Mapping[str, Role]] = {
    "Bernoulli": {"input": probability},
    "DFT": {"input": spectrum},
    "GroupQueryAttention": {"cos_cache": cosine, "sin_cache": cosine},
    "LinearAttention": {"decay": decay, "beta": update_rate, "key": halved},
    "MultiHeadAttention": {"key_padding_mask": key_mask, "cache_indirection": beams},
    "NegativeLogLikelihoodLoss": {"target": labels("input"), "weight": class_weight},
    "RotaryEmbedding": {"position_ids": positions, "cos_cache": cosine, "sin_cache": cosine},
    "SoftmaxCrossEntropyLoss": {"labels": labels("scores"), "weights": class_weight},
}
"""Operator → tensor → role."""
