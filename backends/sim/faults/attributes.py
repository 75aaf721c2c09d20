"""Operators that compute with other attributes than the model gives, or leave some out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import onnx
from onnx import helper

from backends.sim.faults.rewriting import (
    Graph,
    Nodes,
    Seed,
    attribute,
    attributes,
    chain,
    edited,
    reshaped,
    with_attributes,
    with_inputs,
)

REDUCTIONS = (
    "ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp ReduceMax ReduceMean ReduceMin ReduceProd ReduceSum ReduceSumSquare"
)


PADS_GIVEN = 11
"""Opset from which on the widths of Pad are an input."""


def _instead(name: str, given: Any, other: Any) -> Any:
    """`other` where an attribute has the value `given`."""
    return lambda node, graph: {name: other} if attribute(node, name) == given else {}


def _reversed(name: str, size: int = 2) -> Any:
    """A list of `size` numbers in reverse order."""

    def changes(node: onnx.NodeProto, graph: Graph) -> Mapping[str, Any]:
        value = attribute(node, name, [])
        return {name: list(value)[::-1]} if len(value) == size and list(value) != list(value)[::-1] else {}

    return changes


def _kernel(node: onnx.NodeProto, graph: Graph) -> Mapping[str, Any]:
    """Height and width of a pool's window exchanged, where such windows lie in the padded image and leave no element between
    them out."""
    kernel, shape = list(attribute(node, "kernel_shape", [])), graph.shapes.get(node.input[0])
    if len(kernel) != 2 or kernel == kernel[::-1] or shape is None:
        return {}
    pads, same = attribute(node, "pads", [0] * 4), attribute(node, "auto_pad", "NOTSET").startswith("SAME")
    strides, dilations = (attribute(node, name, [1, 1]) for name in ("strides", "dilations"))
    for i, k in enumerate(kernel[::-1]):
        span, before, after = (k - 1) * dilations[i] + 1, pads[i], pads[i + 2]
        fits = span >= strides[i] if same else max(before, after) < k and span <= shape[i + 2] + before + after
        if not fits:
            return {}
    return {"kernel_shape": kernel[::-1]}


def _pads(node: onnx.NodeProto, graph: Graph) -> Mapping[str, Any]:
    """Padding at the beginning and at the end exchanged."""
    pads = list(attribute(node, "pads", []))
    half = len(pads) // 2
    return {"pads": [*pads[half:], *pads[:half]]} if pads[half:] != pads[:half] else {}


def _integers(node: onnx.NodeProto, graph: Graph) -> Mapping[str, Any]:
    return {"fmod": 0} if attribute(node, "fmod") and "int" in graph.types[node.input[0]] else {}


def _window(node: onnx.NodeProto, graph: Graph) -> Mapping[str, Any]:
    return {"alpha": attribute(node, "alpha", 1e-4) * attribute(node, "size")}


def _inverse(node: onnx.NodeProto, graph: Graph) -> Mapping[str, Any]:
    """The inverse permutation, where it gives the same extents or may give others."""
    perm = list(attribute(node, "perm", []))
    return {"perm": [int(i) for i in np.argsort(perm)]} if len(perm) > 2 else {}


def _next_axis(node: onnx.NodeProto, graph: Graph) -> Mapping[str, Any]:
    shape = graph.shapes.get(node.input[0]) or ()
    axis = attribute(node, "axis", -1)
    return {"axis": (axis + 1) % len(shape)} if len(shape) > 1 and axis % len(shape) < len(shape) - 1 else {}


def _magnitude(node: onnx.NodeProto, graph: Graph) -> Mapping[str, Any]:
    """A negative axis counted from the front."""
    axis, shape = attribute(node, "axis", -1), graph.shapes.get(node.input[0]) or ()
    return {"axis": -axis - 1} if -axis - 1 < len(shape) and axis < 0 else {}


ATTRIBUTES: Mapping[str, Seed] = {
    "resize-nearest-mode-ignored": attributes("Resize", {"nearest_mode": None}),
    "resize-always-half-pixel": attributes("Resize", {"coordinate_transformation_mode": None}),
    "resize-ties-down": attributes("Resize", _instead("nearest_mode", "round_prefer_ceil", "round_prefer_floor")),
    "resize-align-corners-as-asymmetric": attributes(
        "Resize", _instead("coordinate_transformation_mode", "align_corners", "asymmetric")
    ),
    "resize-antialias-ignored": attributes("Resize", {"antialias": None}),
    "resize-exclude-outside-ignored": attributes("Resize", {"exclude_outside": None}),
    "resize-aspect-ratio-ignored": attributes("Resize", {"keep_aspect_ratio_policy": None}),
    "convtranspose-auto-pad-ignored": attributes("ConvTranspose", {"auto_pad": None}),
    "convtranspose-output-padding-ignored": attributes("ConvTranspose", {"output_padding": None}),
    "convtranspose-pads-ignored": attributes("ConvTranspose", {"pads": None}),
    "conv-pads-exchanged": attributes("Conv", _pads),
    "conv-same-lower-as-upper": attributes("Conv", _instead("auto_pad", "SAME_LOWER", "SAME_UPPER")),
    "conv-dilations-ignored": attributes("Conv", {"dilations": None}),
    "conv-strides-swapped": attributes("Conv", _reversed("strides")),
    "pool-ceil-mode-ignored": attributes("AveragePool MaxPool", {"ceil_mode": None}),
    "pool-kernel-swapped": attributes("AveragePool MaxPool", _kernel),
    "averagepool-padding-counts": attributes("AveragePool", lambda node, graph: {"count_include_pad": 1}),
    "averagepool-padding-never-counts": attributes("AveragePool", {"count_include_pad": None}),
    "maxpool-storage-order-ignored": attributes("MaxPool", {"storage_order": None}),
    "softmax-axis-ignored": attributes("Softmax LogSoftmax", {"axis": None}),
    "hardmax-next-axis": attributes("Hardmax", _next_axis),
    "reduce-keepdims-ignored": attributes(REDUCTIONS, {"keepdims": None}),
    "arg-last-index-ignored": attributes("ArgMax ArgMin", {"select_last_index": None}),
    "cumsum-exclusive-ignored": attributes("CumSum", {"exclusive": None}),
    "cumsum-reverse-ignored": attributes("CumSum", {"reverse": None}),
    "depthtospace-always-dcr": attributes("DepthToSpace", {"mode": None}),
    "topk-always-largest": attributes("TopK", {"largest": None}),
    "pad-reflect-as-edge": attributes("Pad", _instead("mode", "reflect", "edge")),
    "gemm-beta-ignored": attributes("Gemm", {"beta": None}),
    "normalization-epsilon-ignored": attributes(
        "LayerNormalization RMSNormalization GroupNormalization", lambda node, graph: {"epsilon": 1e-12}
    ),
    "gelu-always-tanh": attributes("Gelu", lambda node, graph: {"approximate": "tanh"}),
    "leakyrelu-slope-ignored": attributes("LeakyRelu", {"alpha": None}),
    "lrn-alpha-not-divided": attributes("LRN", _window),
    "scatter-reduction-ignored": attributes("ScatterElements ScatterND", {"reduction": None}),
    "trilu-always-upper": attributes("Trilu", {"upper": None}),
    "mod-fmod-ignored": attributes("Mod", _integers),
    "isinf-detects-both": attributes("IsInf", {"detect_negative": None, "detect_positive": None}),
    "transpose-inverse": attributes("Transpose", _inverse),
    "lpnormalization-axis-from-front": attributes("LpNormalization", _magnitude),
}
"""Fault → what it does to attributes; None leaves one out, so that ONNX's default holds."""


def _zero_padding(node: onnx.NodeProto, graph: Graph) -> Nodes:
    """MaxPool over an image that was padded with zeros."""
    pads = list(attribute(node, "pads", []))
    several = len([name for name in node.output if name]) > 1
    if not any(pads) or attribute(node, "ceil_mode", 0) or several or graph.opset < 2:  # the device has no Pad of version 1
        return [node]
    half, padded = len(pads) // 2, graph.name(node.input[0])
    widths = [0, 0, *pads[:half], 0, 0, *pads[half:]]
    pad = helper.make_node("Pad", [node.input[0]], [padded])
    if graph.opset < PADS_GIVEN:
        pad.attribute.append(helper.make_attribute("pads", widths))
    else:
        pad.input.append(graph.store(np.array(widths, np.int64)))
    return [pad, with_inputs(with_attributes(node, {"pads": None}), {0: padded})]


def _shifted_padding(node: onnx.NodeProto, graph: Graph) -> Nodes:
    """Pad with one element more at the beginning of the last axis and one less at its end."""
    pads = graph.constant(node.input[1])
    if pads is None or len(node.input) > 3 or pads[-1] < 1:
        return [node]
    moved = pads.copy()
    moved[len(pads) // 2 - 1] += 1
    moved[-1] -= 1
    return [with_inputs(node, {1: graph.store(moved)})]


def _pad_with_zero(node: onnx.NodeProto, graph: Graph) -> Nodes:
    return [with_inputs(node, {2: ""})] if len(node.input) > 2 else [node]


def _clamped_indices(node: onnx.NodeProto, graph: Graph) -> Nodes:
    """Negative indices taken for 0."""
    clamped = graph.name(node.input[1])
    kind = helper.tensor_dtype_to_np_dtype(graph.code(node.input[1]))
    zero = graph.store(np.zeros((), kind))
    return [helper.make_node("Max", [node.input[1], zero], [clamped]), with_inputs(node, {1: clamped})]


def _length_ratio(node: onnx.NodeProto, graph: Graph) -> Nodes:
    """Resize by the ratio of the lengths instead of the given scales."""
    scales = graph.constant(node.input[2]) if len(node.input) > 2 else None
    before, after = graph.shapes.get(node.input[0]), graph.shapes.get(node.output[0])
    if scales is None or not scales.size or not before or not after:
        return [node]
    axes = attribute(node, "axes", range(len(before)))
    return [with_inputs(node, {2: graph.store(np.array([after[a] / before[a] for a in axes], np.float32))})]


def _flattened(node: onnx.NodeProto, graph: Graph) -> Nodes:
    """Softmax over the axis and all behind it, as before version 13."""
    shape = graph.shapes.get(node.input[0])
    if not shape:
        return [node]
    axis = attribute(node, "axis", -1) % len(shape)
    rows = [*shape[:axis], int(np.prod(shape[axis:]))]
    return chain(
        graph,
        node.input[0],
        node.output[0],
        ("Reshape", {"also": [np.array(rows, np.int64)]}),
        (node.op_type, {"axis": -1}),
        ("Reshape", {"also": [np.array(shape, np.int64)]}),
    )


def _mixed_groups(node: onnx.NodeProto, graph: Graph) -> Iterator[onnx.NodeProto]:
    """Conv in which channel c belongs to group c modulo group."""
    shape, group = graph.shapes.get(node.input[0]), attribute(node, "group", 1)
    if not shape or group == 1 or shape[1] == group:
        yield node
        return
    order = np.arange(shape[1]).reshape(-1, group).T.reshape(-1)
    mixed = graph.name(node.input[0])
    yield helper.make_node("Gather", [node.input[0], graph.store(order)], [mixed], axis=1)
    yield with_inputs(node, {0: mixed})


def _without(position: int) -> Any:
    """An optional input left out."""
    return lambda node, graph: [with_inputs(node, {position: ""}) if len(node.input) > position else node]


def _one_for_all(position: int, *, negative_axis: bool = False) -> Any:
    """One scale or zero point, the first, for all channels."""

    def edit(node: onnx.NodeProto, graph: Graph) -> Nodes:
        value = graph.constant(node.input[position]) if len(node.input) > position else None
        if value is None or value.ndim != 1 or (negative_axis and attribute(node, "axis", 1) >= 0):
            return [node]
        return [with_inputs(node, {position: graph.store(np.full_like(value, value[0]))})]

    return edit


def _depthwise_bias(node: onnx.NodeProto, graph: Graph) -> Nodes:
    """A stored bias of a grouped convolution is left out."""
    grouped = attribute(node, "group", 1) > 1 and len(node.input) > 2
    return [with_inputs(node, {2: ""}) if grouped and graph.constant(node.input[2]) is not None else node]


def _squeezed(node: onnx.NodeProto, graph: Graph) -> Nodes:
    """The first axis of a reduction alone, where it has several."""
    axes = graph.constant(node.input[1]) if len(node.input) > 1 else None
    if axes is None or axes.size < 2 or attribute(node, "keepdims", 1) == 0:
        return [node]
    reshaped(graph, node)
    return [with_inputs(node, {1: graph.store(axes[:1])})]


EDITS: Mapping[str, Seed] = {
    "maxpool-pads-with-zero": edited("MaxPool", _zero_padding),
    "pad-one-off": edited("Pad", _shifted_padding),
    "pad-value-ignored": edited("Pad", _pad_with_zero),
    "gather-negative-clamped": edited("Gather GatherElements", _clamped_indices),
    "resize-ratio-of-lengths": edited("Resize", _length_ratio),
    "softmax-flattened": edited("Softmax LogSoftmax", _flattened),
    "conv-groups-interleaved": edited("Conv", _mixed_groups),
    "conv-grouped-bias-dropped": edited("Conv", _depthwise_bias),
    "dequantize-zero-point-ignored": edited("DequantizeLinear", _without(2)),
    "quantize-negative-axis": edited("QuantizeLinear", _one_for_all(1, negative_axis=True)),
    "quantize-one-zero-point": edited("QuantizeLinear DequantizeLinear", _one_for_all(2)),
    "qlinearconv-one-scale": edited("QLinearConv", _one_for_all(4)),
    "reduce-first-axis-only": edited(REDUCTIONS, _squeezed),
}
"""Fault → what it does to nodes."""
