"""What the operators of com.microsoft leave open."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from reference.node import Array, Node
from reference.ops import pooling


def closed_gate(node: Node) -> Array:
    """BiasGelu, FastGelu, QuickGelu: infinities times a gate that is 0, NaN by the formula where the limit may be meant."""
    return np.asarray(np.isinf(node.real(0)) & (node.results[0] == 0))


def averages(node: Node) -> Array:
    """QLinearAveragePool: all results where the text's padding for SAME_* is negative, and averages of no element."""
    names = ("kernel_shape", "auto_pad", "ceil_mode", "pads", "strides", "count_include_pad")
    layout = {name: node.attributes[name] for name in names if name in node.attributes}
    included, last = layout.pop("count_include_pad", 0), node.attribute("channels_last", 0)
    x = np.moveaxis(node.real(0), -1, 1) if last else node.real(0)
    if pooling.has_negative_padding(x, **layout):
        return np.ones((), bool)
    empty = pooling.window_counts(x, count_include_pad=included, **layout)[1] == 0
    return np.asarray(empty[..., None] if last else empty)


def unused_mean(node: Node) -> Sequence[Array | None]:
    """SkipSimplifiedLayerNormalization: an output named mean, which its formula has no use for."""
    return [np.ones((), bool) if i == 1 else None for i in range(len(node.results))]
