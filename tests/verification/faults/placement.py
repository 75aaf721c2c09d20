"""Faults of layout: right values in wrong places, or values read from wrong places."""

from __future__ import annotations

import functools
from collections.abc import Callable

import numpy as np

from reference.node import Array, Node
from tests.verification.faults.kind import Fault, again, data, on, right, with_first

Random = np.random.Generator
SPATIAL = (
    "AveragePool", "BatchNormalization", "Conv", "ConvInteger", "ConvTranspose", "DepthToSpace", "GridSample",
    "GroupNormalization", "InstanceNormalization", "LRN", "LpPool", "MaxPool", "PRelu", "QLinearConv", "Resize", "SpaceToDepth",
)  # fmt: skip
WINDOWED = ("AveragePool", "Conv", "ConvTranspose", "MaxPool", "QLinearConv")
ROWS = (
    "Add", "Clip", "Concat", "Conv", "Einsum", "Erf", "GatherElements", "GridSample", "GroupNormalization", "HardSwish",
    "InstanceNormalization", "LRN", "Less", "LpNormalization", "LpPool", "MatMul", "Max", "MaxPool", "Mul", "PRelu", "Pad",
    "Relu", "Resize", "RotaryEmbedding", "ScatterElements", "Sin", "Softmax", "SpaceToDepth", "Tile", "Transpose", "Trilu",
)  # fmt: skip
MANY = (
    *ROWS, "AveragePool", "Expand", "GRU", "Gather", "LSTM", "LayerNormalization", "Log", "RNN", "ReduceL2", "ReduceMax",
    "ReduceSum", "ScatterND", "Slice", "Sqrt", "Sub", "Tanh", "Where",
)  # fmt: skip


def _rank(node: Node) -> int:
    return node.results[0].ndim


def read(change: Callable[[Array], Array], index: int = 0) -> Callable[[Node, Random], list[Array]]:
    """An input is read in another way."""
    return lambda node, rng: again(node, {index: change(data(node, index))})


def written(change: Callable[[Array], Array]) -> Callable[[Node, Random], list[Array]]:
    """The first output is written in another way."""
    return lambda node, rng: with_first(node, change(right(node)[0]))


def as_channels_last(x: Array) -> Array:
    """The elements in NHWC order, read as NCHW."""
    return np.moveaxis(x, 1, -1).reshape(x.shape)


def as_channels_first(x: Array) -> Array:
    """The elements in NCHW order, read as NHWC and brought to NCHW."""
    return np.moveaxis(x.reshape(x.shape[0], *x.shape[2:], x.shape[1]), -1, 1)


def swapped(x: Array) -> Array:
    """The last two axes are swapped in the buffer."""
    return x.swapaxes(-1, -2).reshape(x.shape)


def extents_swapped(x: Array) -> Array:
    """The last two extents are swapped, the elements stay in order."""
    return x.reshape(*x.shape[:-2], x.shape[-1], x.shape[-2])


def weights_in(order: str) -> Callable[[Array], Array]:
    """OIHW weights whose buffer is read in another order of axes, such as "OHWI"."""

    def change(w: Array) -> Array:
        axes = [order.index(letter) for letter in "OIHW"]
        return w.reshape([w.shape["OIHW".index(letter)] for letter in order]).transpose(axes)

    return change


def transposed_buffer(b: Array) -> Array:
    """[K,N] read as [N,K]."""
    return b.reshape(*b.shape[:-2], b.shape[-1], b.shape[-2]).swapaxes(-1, -2)


def _pitch(x: Array) -> int:
    return (x.shape[-1] // 16 + 1) * 16


def padding_taken_for_data(x: Array) -> Array:
    """Rows lie at a pitch of 16 elements and are read as if they were dense."""
    rows = x.reshape(-1, x.shape[-1])
    buffer = np.zeros((len(rows), _pitch(x)), x.dtype)
    buffer[:, : x.shape[-1]] = rows
    return buffer.reshape(-1)[: x.size].reshape(x.shape)


def data_skipped(x: Array) -> Array:
    """Dense rows are read as if they lay at a pitch of 16 elements; behind the tensor there are zeros."""
    rows = x.size // x.shape[-1]
    buffer = np.zeros(rows * _pitch(x), x.dtype)
    buffer[: x.size] = x.reshape(-1)
    return buffer.reshape(rows, -1)[:, : x.shape[-1]].reshape(x.shape)


def _other_permutation(node: Node, rng: Random, way: str) -> list[Array]:
    perm = list(node.attributes["perm"])
    other = {"inverse": list(np.argsort(perm)), "reversed": list(range(len(perm)))[::-1], "none": list(range(len(perm)))}[way]
    return again(node, perm=[int(axis) for axis in other])


def _column_major(node: Node, rng: Random) -> list[Array]:
    return with_first(node, right(node)[0].reshape(-1).reshape(node.results[0].shape, order="F"))


def _operands_swapped(node: Node, rng: Random) -> list[Array]:
    return again(node, {0: data(node, 1), 1: data(node, 0)})


def _other_axis(b: Array) -> Array:
    """(…, n, 1) along the last axis instead."""
    return b.swapaxes(-1, -2)


def _cyclic(node: Node, rng: Random) -> list[Array]:
    x, b = data(node), data(node, 1)
    return again(node, {1: np.resize(b.reshape(-1), x.size).reshape(x.shape)})


def _bias_along(node: Node, rng: Random) -> list[Array]:
    """A bias goes along the last axis in Conv, along the first one in Gemm."""
    b = data(node, 2)
    if node.operator == "Gemm":
        return again(node, {2: b[:, None]})
    bare = node.again([data(node, 0), data(node, 1)])[0]
    return with_first(node, (bare + b).astype(right(node)[0].dtype))


def _outputs_swapped(node: Node, rng: Random) -> list[Array]:
    outputs = right(node)
    return [outputs[0], *outputs[:0:-1]] if node.operator == "LayerNormalization" else outputs[::-1]


def _square_kernel(node: Node) -> bool:
    w = data(node, 3 if node.operator == "QLinearConv" else 1)
    return w.shape[-1] == w.shape[-2] > 1


def _square_matrices(node: Node) -> bool:
    a, b = data(node, 0), data(node, 1)
    return a.shape == b.shape and a.shape[-1] == a.shape[-2]


def _alike(node: Node) -> bool:
    shapes = [(r.shape, t) for r, t in zip(node.results, node.output_types, strict=True)]
    skipped = shapes[1:] if node.operator == "LayerNormalization" else shapes
    return len(skipped) > 1 and len(set(skipped)) == 1


def _weights(name: str, order: str) -> Fault:
    return Fault(name, ("weights-layout",), "tier 1", on("Conv", "ConvTranspose"), read(weights_in(order), 1))


GATES = {"GRU": [1, 0, 2], "LSTM": [0, 2, 3, 1]}
"""Where PyTorch has the gates of ONNX: r,z,h for z,r,h and i,f,c,o for i,o,f,c."""


def _gates_moved(node: Node, rng: Random) -> list[Array]:
    order = GATES[node.operator]
    changed = {}
    for i in (1, 2, 3):
        x = data(node, i)
        blocks = x.reshape(1, 2 if i == 3 else 1, len(order), -1, *x.shape[2:])
        changed[i] = blocks[:, :, order].reshape(x.shape)
    return again(node, changed)


FAULTS: tuple[Fault, ...] = (
    *(
        Fault(
            f"permutation {way}",
            ("axes-permuted", *(["attribute-default"] if way == "reversed" else [])),  # what ONNX does without perm
            "tier 1",
            on("Transpose"),
            functools.partial(_other_permutation, way=way),
        )
        for way in ("inverse", "reversed", "none")
    ),
    Fault(
        "first axis written last",
        ("axes-permuted",),
        "tier 1",
        on(*MANY, when=lambda n: _rank(n) >= 3),
        written(lambda y: np.moveaxis(y, 0, -1)),
    ),
    Fault(
        "matrix written transposed",
        ("axes-permuted",),
        "tier 1",
        on("Gemm", "MatMul", "Softmax", "Reshape", when=lambda n: _rank(n) == 2),
        written(np.transpose),
    ),
    Fault("column-major", ("axes-permuted", "reshape-misread"), "tier 1", on("Reshape"), _column_major),
    Fault("spatial axes of the input swapped", ("spatial-swapped",), "tier 1", on(*SPATIAL), read(swapped)),
    Fault("spatial axes of the output swapped", ("spatial-swapped",), "tier 1", on(*SPATIAL), written(swapped)),
    Fault(
        "spatial axes of the kernel swapped",
        ("spatial-swapped", "weights-layout"),
        "tier 1",
        on("Conv", "ConvTranspose", when=_square_kernel),
        read(lambda w: w.swapaxes(2, 3), 1),
    ),
    Fault("input read as NHWC", ("channels-last",), "tier 1", on(*SPATIAL), read(as_channels_first)),
    Fault("input stored as NHWC", ("channels-last",), "tier 1", on(*SPATIAL), read(as_channels_last)),
    Fault("output written as NHWC", ("channels-last",), "tier 1", on(*SPATIAL), written(as_channels_last)),
    Fault(
        "extents of the input swapped",
        ("reshape-misread",),
        "tier 1",
        on("Transpose", "AveragePool", "MaxPool", when=lambda n: data(n).ndim == 4),
        read(extents_swapped),
    ),
    Fault(
        "extents of the output swapped",
        ("reshape-misread",),
        "shape",
        on("Reshape", when=lambda n: _rank(n) >= 2),
        lambda node, rng: [extents_swapped(right(node)[0])],
    ),
    _weights("weights read as OHWI", "OHWI"),
    _weights("weights read as HWIO", "HWIO"),
    _weights("weights read as IOHW", "IOHW"),
    Fault("gates in another framework's order", ("weights-layout",), "tier 1", on("GRU", "LSTM"), _gates_moved),
    Fault("weights read transposed", ("weights-transposed",), "tier 1", on("Gemm", "MatMul"), read(transposed_buffer, 1)),
    Fault("operands swapped", ("operands-swapped",), "tier 1", on("Sub", "Div", "Less", "Pow"), _operands_swapped),
    Fault("matrices swapped", ("operands-swapped",), "tier 1", on("MatMul", when=_square_matrices), _operands_swapped),
    Fault(
        "operand along the other axis",
        ("broadcast-misread",),
        "tier 1",
        on("Add", "Sub", "Mul", "Div", when=lambda n: data(n, 1).shape == (13, 1)),
        read(_other_axis, 1),
    ),
    Fault(
        "operand repeated without regard to axes",
        ("broadcast-misread",),
        "tier 1",
        on("Add", "Sub", "Mul", "Div", when=lambda n: data(n, 1).size < data(n).size),
        _cyclic,
    ),
    Fault(
        "bias along the other axis",
        ("broadcast-misread",),
        "tier 1",
        on(
            "Conv",
            "Gemm",
            when=lambda n: n.given(2) and n.results[0].shape[-1] == data(n, 2).size and n.results[0].shape[-1] in (7, 33),
        ),
        _bias_along,
    ),
    Fault("padding of input rows taken for data", ("row-pitch",), "tier 1", on(*ROWS), read(padding_taken_for_data)),
    Fault("data between input rows skipped", ("row-pitch",), "tier 1", on(*ROWS), read(data_skipped)),
    Fault("padding of output rows taken for data", ("row-pitch",), "tier 1", on(*ROWS), written(padding_taken_for_data)),
    Fault("data between output rows skipped", ("row-pitch",), "tier 1", on(*ROWS), written(data_skipped)),
    Fault(
        "outputs swapped",
        ("outputs-swapped",),
        "tier 1",
        on("GRU", "LSTM", "RNN", "Split", "LayerNormalization", when=_alike),
        _outputs_swapped,
    ),
)
"""Right values, wrong places."""
