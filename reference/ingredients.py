"""What explicit error bounds are made of: the exact inner quantities of softmax, normalisations and the like.

An operator that is not listed needs nothing but its inputs and its result. Every entry is float64.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

import numpy as np

from reference.node import Array, Node

Ingredients = Mapping[str, Array]


def of(node: Node) -> Ingredients:
    """The inner quantities by name; empty for an operator whose bound needs none."""
    found = INGREDIENTS.get((node.domain, node.operator))
    if found is None:
        return {}
    with np.errstate(all="ignore"):
        return found(node)


def softmax_axes(node: Node) -> tuple[int, ...]:
    """The axes that a Softmax or LogSoftmax sums over: one, or before opset 13 all from `axis` on."""
    rank = node.real(0).ndim
    axis = int(node.attribute("axis", -1 if node.version >= 13 else 1)) % max(1, rank)
    return (axis,) if node.version >= 13 else tuple(range(axis, rank))


def _exponentials(x: Array, axes: tuple[int, ...]) -> Ingredients:
    """maximum m and sum Σexp(x − m) with length 1 along `axes`, shifted x − m and probability of every element."""
    largest = x.max(axes, keepdims=True, initial=-np.inf)
    shifted = x - largest
    e = np.exp(shifted)
    total = e.sum(axes, keepdims=True)
    return {"maximum": largest, "shifted": shifted, "sum": total, "probability": e / total}


def _softmax(node: Node) -> Ingredients:
    return _exponentials(node.real(0), softmax_axes(node))


def reduced_axes(node: Node) -> tuple[int, ...]:
    """The axes that a reduction runs over, by attribute or by input."""
    x = node.real(0)
    axes = node.attribute("axes", None) if len(node.inputs) < 2 else node.inputs[1]
    if axes is None or len(axes) == 0:
        axes = () if node.attribute("noop_with_empty_axes", 0) else range(x.ndim)
    return tuple(int(a) % x.ndim for a in axes)


def _log_sum_exp(node: Node) -> Ingredients:
    return _exponentials(node.real(0), reduced_axes(node))


def moments(x: Array, axes: tuple[int, ...]) -> Ingredients:
    """mean, variance (population) and mean_magnitude mean|x|, with length 1 along `axes`, and the number of terms."""
    terms = np.float64(math.prod(x.shape[a] for a in axes))
    mean = x.sum(axes, keepdims=True) / terms
    deviation = x - mean
    return {
        "mean": mean,
        "variance": (deviation * deviation).sum(axes, keepdims=True) / terms,
        "mean_magnitude": np.abs(x).sum(axes, keepdims=True) / terms,
        "mean_square": (x * x).sum(axes, keepdims=True) / terms,
        "terms": np.asarray(terms),
    }


def _trailing(node: Node) -> Ingredients:
    """LayerNormalization, RMSNormalization: over all axes from `axis` on."""
    x = node.real(0)
    return moments(x, tuple(range(int(node.attribute("axis", -1)) % x.ndim, x.ndim)))


def _spatial(node: Node) -> Ingredients:
    """InstanceNormalization: over the spatial axes."""
    x = node.real(0)
    return moments(x, tuple(range(2, x.ndim)))


def _grouped(node: Node) -> Ingredients:
    """GroupNormalization: moments of shape (N, groups, 1, 1)."""
    x, groups = node.real(0), int(node.attributes["num_groups"])
    return moments(x.reshape(x.shape[0], groups, x.shape[1] // groups, math.prod(x.shape[2:])), (2, 3))


def _chosen_axes(node: Node) -> Ingredients:
    """MeanVarianceNormalization: over the attribute's axes."""
    x = node.real(0)
    return moments(x, tuple(int(a) % x.ndim for a in node.attribute("axes", [0, 2, 3])))


def _gelu(node: Node) -> Ingredients:
    """argument z of erf or tanh, and that function's value."""
    x, y = node.real(0), node.results[0]
    if node.attribute("approximate", "none") == "tanh":
        z = np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)
        return {"argument": z, "function": np.tanh(z)}
    return {"argument": x / np.sqrt(2), "function": np.where(x == 0, 0.0, 2 * y / np.where(x == 0, 1.0, x) - 1)}


INGREDIENTS: Mapping[tuple[str, str], Callable[[Node], Ingredients]] = {
    ("", "Gelu"): _gelu,
    ("", "GroupNormalization"): _grouped,
    ("", "InstanceNormalization"): _spatial,
    ("", "LayerNormalization"): _trailing,
    ("", "LogSoftmax"): _softmax,
    ("", "MeanVarianceNormalization"): _chosen_axes,
    ("", "RMSNormalization"): _trailing,
    ("", "ReduceLogSumExp"): _log_sum_exp,
    ("", "Softmax"): _softmax,
    ("com.microsoft", "Gelu"): _gelu,
}
"""(domain, operator) → its inner quantities."""
