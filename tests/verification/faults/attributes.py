"""Faults of attributes: the device computes another operator than the model asks for."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from reference.node import Array, Node
from tests.verification.faults.kind import Fault, again, data, in_buffer, on, typed, with_first

Random = np.random.Generator
ALONG = (
    "ArgMax", "Concat", "DequantizeLinear", "Gather", "LogSoftmax", "LpNormalization", "QuantizeLinear", "Softmax", "Split",
    "TopK",
)  # fmt: skip
REDUCTIONS = ("ReduceL2", "ReduceLogSumExp", "ReduceMax", "ReduceMean", "ReduceSum", "ReduceSumSquare")
WINDOWED = ("AveragePool", "Conv", "LpPool", "MaxPool")
POOLS = ("AveragePool", "MaxPool")


def _axis(node: Node) -> int | None:
    """The axis that the node names; None where it names none."""
    if node.operator in REDUCTIONS:
        return int(node.real(1).reshape(-1)[0])
    return node.attributes.get("axis")


def _along(node: Node, axis: int) -> list[Array]:
    """The operator along another axis, in the extents that result."""
    if node.operator in REDUCTIONS:
        return again(node, {1: np.array([axis])})
    if node.operator in ("DequantizeLinear", "QuantizeLinear"):  # channels are as many as before, counted cyclically
        x = data(node)
        index = np.arange(x.shape[axis]) % data(node, 1).size
        return again(node, {1: data(node, 1)[index], 2: data(node, 2)[index]}, axis=axis)
    return again(node, axis=axis)


def _possible(node: Node, axis: int) -> bool:
    """Whether the operator exists along that axis."""
    try:
        _along(node, axis)
    except (ValueError, IndexError):
        return False
    return True


def _next_axis(node: Node) -> int:
    axis, rank = _axis(node), data(node).ndim
    assert axis is not None
    return (axis % rank + 1) % rank


def _axis_moved(node: Node) -> bool:
    return _axis(node) is not None and data(node).ndim > 1 and _possible(node, _next_axis(node))


def _clamped(node: Node) -> bool:
    axis = _axis(node)
    return axis is not None and axis < 0 and axis % data(node).ndim != 0 and _possible(node, 0)


def _magnitude(node: Node) -> bool:
    axis, rank = _axis(node), data(node).ndim
    return axis is not None and axis < 0 and -axis < rank and -axis != axis % rank and _possible(node, -axis)


def _changed(**attributes: Any) -> Any:
    return lambda node, rng: again(node, **attributes)


def _without(name: str) -> Any:
    """The attribute's default in ONNX: what the operator does without it."""

    def perform(node: Node, rng: Random) -> list[Array]:
        bare = Node(**{**vars(node), "attributes": {k: v for k, v in node.attributes.items() if k != name}})
        return in_buffer(node, typed(node, bare.again(node.inputs)))

    return perform


def _has(*names: str) -> Any:
    return lambda node: all(name in node.attributes for name in names)


def _pads(node: Node) -> list[int]:
    return [int(p) for p in (node.real(1) if node.operator == "Pad" else node.attribute("pads", []))]


def _padded(node: Node, pads: list[int]) -> list[Array]:
    return again(node, {1: np.array(pads)}) if node.operator == "Pad" else again(node, pads=pads)


def _other_pads(node: Node, rng: Random, way: str) -> list[Array]:
    """Other pads of the same sum along each axis, so that extents stay: or, swapped between the axes, in those that result."""
    pads = _pads(node)
    n = len(pads) // 2
    begin, end = np.array(pads[:n]), np.array(pads[n:])
    if way == "exchanged":
        begin, end = end, begin
    elif way == "all at the end":
        begin, end = np.zeros(n, int), begin + end
    elif way == "all at the beginning":
        begin, end = begin + end, np.zeros(n, int)
    elif way == "shifted":
        last = [i for i in range(n) if end[i] > 0][-1]
        begin[last], end[last] = begin[last] + 1, end[last] - 1
    elif way == "swapped axes":
        begin, end = (np.concatenate([part[:-2], part[:-3:-1]]) for part in (begin, end))
    else:
        begin, end = np.zeros(n, int), np.zeros(n, int)
    return _padded(node, [int(p) for p in (*begin, *end)])


def _pads_fit(node: Node, way: str) -> bool:
    pads = _pads(node)
    if not any(pads):
        return False
    try:
        _other_pads(node, np.random.default_rng(0), way)
    except (ValueError, IndexError):
        return False
    return True


def _pads_fault(
    way: str, causes: tuple[str, ...], tier: str = "tier 1", operators: tuple[str, ...] = (*WINDOWED, "Pad")
) -> Fault:
    return Fault(
        f"padding {way}",
        causes,
        tier,
        on(*operators, when=functools.partial(_pads_fit, way=way)),
        functools.partial(_other_pads, way=way),
    )


def _pooled_with_zeros(node: Node, rng: Random) -> list[Array]:
    """MaxPool whose padding is 0, not the lowest number."""
    x, pads = data(node), node.attributes["pads"]
    widths = [(0, 0), (0, 0), (pads[0], pads[2]), (pads[1], pads[3])]
    return typed(node, node.again([np.pad(x, widths)], pads=[0, 0, 0, 0]))


def _padded_with_zero(node: Node, rng: Random) -> list[Array]:
    """QLinearConv whose padding is the integer 0, not the zero point."""
    x, pads = data(node), node.attributes["pads"]
    widths = [(0, 0), (0, 0), (pads[0], pads[2]), (pads[1], pads[3])]
    return again(node, {0: np.pad(x, widths)}, pads=[0, 0, 0, 0])


def _pad_value(node: Node, rng: Random) -> list[Array]:
    return again(node, {2: np.zeros_like(data(node, 2))})


def _cropped(node: Node, rng: Random, **attributes: Any) -> list[Array]:
    """Another stride or dilation within the loops of the declared extents, which it does not leave."""
    y = typed(node, node.again(node.inputs, **attributes))[0]
    shape = node.results[0].shape
    found = np.zeros(shape, y.dtype)
    inside = tuple(slice(min(a, b)) for a, b in zip(shape, y.shape, strict=True))
    found[inside] = y[inside]
    return with_first(node, found)


def _exchanged(name: str) -> Any:
    return lambda node, rng: again(node, **{name: list(node.attributes[name])[::-1]})


def _uneven(name: str) -> Any:
    return lambda node: name in node.attributes and len(set(node.attributes[name])) > 1


def _groups(node: Node, rng: Random, way: str) -> list[Array]:
    x, group = data(node), int(node.attributes["group"])
    order = np.arange(x.shape[1]).reshape(group, -1)
    if way == "interleaved":  # channel c belongs to group c modulo group
        return again(node, {0: x[:, order.reshape(-1, group).T.reshape(-1)]})
    if way == "first":
        return again(node, {0: x[:, np.tile(order[0], group)]})
    w = data(node, 1)
    return again(node, {1: w.reshape(group, -1, *w.shape[1:]).swapaxes(0, 1).reshape(w.shape)})


def _counted(node: Node) -> bool:
    return any(_pads(node))


def _coordinates(mode: str) -> Fault:
    return Fault(
        f"coordinates by {mode}",
        ("coordinates",),
        "tier 1",
        on("Resize", when=lambda n: n.attribute("coordinate_transformation_mode", "half_pixel") != mode),
        _changed(coordinate_transformation_mode=mode),
    )


def _value(operator: str, name: str, value: float) -> Fault:
    return Fault(f"{name} is {value}", ("attribute-value",), "tier 1", on(operator, when=_has(name)), _changed(**{name: value}))


def _default(name: str, *operators: str, recipes: tuple[str, ...] = (), others: tuple[str, ...] = ()) -> Fault:
    of = " of padding" if operators == ("Pad",) else ""
    return Fault(
        f"{name}{of} ignored", ("attribute-default", "attribute-value", *others), "tier 1", on(*operators, when=_has(name)),
        _without(name), recipes,
    )  # fmt: skip


FAULTS: tuple[Fault, ...] = (
    Fault(
        "next axis",
        ("axis-wrong", "axis-negative"),  # which a negative one, misunderstood, may be
        "tier 1",
        on(*ALONG, *REDUCTIONS, when=_axis_moved),
        lambda node, rng: _along(node, _next_axis(node)),
    ),
    Fault(
        "negative axis taken for 0",
        ("axis-negative", "axis-wrong"),
        "tier 1",
        on(*ALONG, *REDUCTIONS, when=_clamped),
        lambda node, rng: _along(node, 0),
    ),
    Fault(
        "sign of the axis lost",
        ("axis-negative", "axis-wrong"),
        "tier 1",
        on(*ALONG, *REDUCTIONS, when=_magnitude),
        lambda node, rng: _along(node, -(_axis(node) or 0)),
    ),
    _pads_fault("exchanged", ("pads-side",)),
    _pads_fault("swapped axes", ("pads-side",)),
    # Where each axis has one element or none at its end, all at the beginning is one further.
    _pads_fault("all at the beginning", ("pads-side", "pads-off-by-one")),
    _pads_fault("all at the end", ("pads-side", "pads-ignored")),
    _pads_fault("shifted", ("pads-off-by-one", "pads-side")),
    _pads_fault("ignored", ("pads-ignored",), "shape", (*WINDOWED, "Pad", "QLinearConv")),
    Fault("padding of the maximum is 0", ("pads-value",), "tier 1", on("MaxPool", when=_has("pads")), _pooled_with_zeros),
    Fault("padding is not the zero point", ("pads-value",), "tier 1", on("QLinearConv", when=_has("pads")), _padded_with_zero),
    Fault("padding is 0", ("pads-value",), "tier 1", on("Pad", when=lambda n: n.given(2)), _pad_value),
    Fault(
        "strides ignored", ("stride-ignored",), "shape", on(*WINDOWED, "ConvTranspose", when=_has("strides")),
        _changed(strides=[1, 1]),
    ),
    Fault(
        "strides ignored, extents kept", ("stride-ignored",), "tier 1",
        on(*WINDOWED, "ConvTranspose", when=_has("strides")), functools.partial(_cropped, strides=[1, 1]),
    ),
    Fault(
        "strides swapped", ("stride-ignored",), "shape", on(*WINDOWED, "ConvTranspose", when=_uneven("strides")),
        _exchanged("strides"),
    ),
    Fault(
        "dilations ignored", ("dilation-ignored",), "shape", on(*WINDOWED, "ConvTranspose", when=_has("dilations")),
        _changed(dilations=[1, 1]),
    ),
    Fault(
        "dilations ignored, extents kept", ("dilation-ignored",), "tier 1",
        on(*WINDOWED, "ConvTranspose", when=_has("dilations")), functools.partial(_cropped, dilations=[1, 1]),
    ),
    Fault(
        "dilations swapped", ("dilation-ignored",), "shape",
        on(*WINDOWED, "ConvTranspose", when=_uneven("dilations")), _exchanged("dilations"),
    ),
    Fault("ceil_mode ignored", ("ceil-mode",), "shape", on(*POOLS, when=_has("ceil_mode")), _changed(ceil_mode=0)),
    Fault(
        "extents rounded up", ("ceil-mode",), "shape",
        on(*POOLS, when=lambda n: "strides" in n.attributes and "ceil_mode" not in n.attributes), _changed(ceil_mode=1),
    ),
    Fault(
        "padding counts", ("count-include-pad",), "tier 1",
        on("AveragePool", when=lambda n: _counted(n) and not n.attribute("count_include_pad", 0)),
        _changed(count_include_pad=1),
    ),
    Fault(
        "padding does not count", ("count-include-pad",), "tier 1",
        on("AveragePool", when=lambda n: _counted(n) and bool(n.attribute("count_include_pad", 0))),
        _changed(count_include_pad=0),
    ),
    *(
        Fault(
            f"groups: {way}", ("groups-mixed",), "tier 1", on("Conv", when=_has("group")), functools.partial(_groups, way=way)
        )
        for way in ("interleaved", "first", "filters interleaved")
    ),
    *map(_coordinates, ("half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel")),
    _default("alpha", "Elu", "Gemm", "HardSigmoid", "LRN", "LeakyRelu"),
    _default("beta", "HardSigmoid", "LRN"),
    _default("bias", "LRN"),
    _default("approximate", "Gelu"),
    _default("epsilon", "LayerNormalization", "RMSNormalization", "BatchNormalization"),
    _default("exclusive", "CumSum"),
    _default("is_causal", "Attention"),
    _default("interleaved", "RotaryEmbedding"),
    _default("largest", "TopK"),
    _default("mode", "DepthToSpace", "Resize"),
    _default("mode", "Pad", others=("pads-value",)),  # the default pads with a constant
    _default("nearest_mode", "Resize", others=("coordinates",)),  # it is part of the rule
    _default("reduction", "ScatterElements"),
    _default("scale", "Attention"),
    _default("upper", "Trilu"),
    _default("perm", "Transpose", others=("axes-permuted",)),
    _value("LeakyRelu", "alpha", 0.25),
    _value("Elu", "alpha", 1.6),
    _value("Gemm", "beta", 1.5),
    _value("LayerNormalization", "epsilon", 1e-3),
    _value("BatchNormalization", "epsilon", 1e-1),
    Fault("rows and columns of blocks", ("attribute-value", "attribute-default"), "tier 1", on("DepthToSpace"),
          lambda node, rng: again(node, mode="CRD" if node.attribute("mode", "DCR") == "DCR" else "DCR")),
)  # fmt: skip
"""Another operator than was asked for."""
