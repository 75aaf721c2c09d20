"""Elements that ONNX leaves open in pooling and transposed convolution; see `reference.marks`."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from reference.node import Array, Node
from reference.ops import pooling

Mask = Array | None


def pool(node: Node) -> Sequence[Mask]:
    """AveragePool, MaxPool, LpPool: all results where the text's padding for SAME_* is negative, which would move the first
    window away from the beginning; averages and maxima of windows that hold no element, maxima where one is NaN; of equal
    maxima, whose index it is."""
    names = ("kernel_shape", "auto_pad", "ceil_mode", "dilations", "pads", "strides", "count_include_pad")
    layout = {name: node.attributes[name] for name in names if name in node.attributes}
    included = layout.pop("count_include_pad", 0)
    x, n_outputs = node.inputs[0], len(node.results)
    assert x is not None
    if pooling.has_negative_padding(x, **layout):
        return [np.ones(node.results[0].shape, bool)] * n_outputs
    if node.operator == "LpPool":
        return [None]
    unknown = pooling.window_counts(x, count_include_pad=included, **layout)[1] == 0
    if node.operator == "AveragePool":
        return [unknown]
    if x.dtype.kind == "f" and np.isnan(x).any():
        unknown = unknown | (node.again([np.isnan(x).astype(np.float64)])[0] == 1)
    return [unknown, unknown | pooling.tied_windows(x, **layout)] if n_outputs > 1 else [unknown]


def conv_transpose(node: Node) -> Mask:
    """ConvTranspose where output_shape or SAME_* asks for more than the taps reach: the total padding is negative, and nothing
    says how it is halved. One more than that, unless with SAME_UPPER, lies at the end in ONNX's own node case."""
    x, w, *bias = node.inputs
    assert x is not None
    shape, auto_pad = node.attribute("output_shape", None), node.attribute("auto_pad", "NOTSET")
    if shape is None and not auto_pad.startswith("SAME"):
        return None
    reached = node.again([x[:0], w, *bias], output_shape=None, auto_pad="VALID")[0].shape[2:]
    missing = np.subtract(node.results[0].shape[2:], reached).max(initial=0)
    return np.ones(node.results[0].shape, bool) if missing > (auto_pad != "SAME_UPPER") else None
