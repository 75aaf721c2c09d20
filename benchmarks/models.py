"""The operators and graphs that `benchmarks.reference` times: ordinary sizes, around one image of 64 × 56 × 56."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import helper, numpy_helper

Array = NDArray[Any]
Feeds = dict[str, Array]
VERSION = 21


@dataclasses.dataclass(frozen=True)
class Operator:
    """A single node. float64 arrays stand for tensors of the model's floating-point type; None is an absent input."""

    name: str
    operator: str
    inputs: Sequence[Array | None]
    attributes: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    version: int = VERSION
    outputs: Sequence[str] = ("y",)

    def model(self, dtype: str) -> tuple[onnx.ModelProto, Feeds]:
        names = [f"x{i}" if x is not None else "" for i, x in enumerate(self.inputs)]
        feeds = {name: _in(x, dtype) for name, x in zip(names, self.inputs, strict=True) if x is not None}
        node = helper.make_node(self.operator, names, self.outputs, **self.attributes)
        return _model([node], feeds, {}, self.outputs, self.version)


@dataclasses.dataclass(frozen=True)
class Graph:
    """Nodes in order; the first input is fed, weights are initialisers."""

    name: str
    nodes: Callable[[], Sequence[onnx.NodeProto]]
    fed: Feeds
    weights: Feeds

    def model(self, dtype: str) -> tuple[onnx.ModelProto, Feeds]:
        fed, weights = ({name: _in(x, dtype) for name, x in values.items()} for values in (self.fed, self.weights))
        return _model(self.nodes(), fed, weights, ["y"], VERSION)


def _in(x: Array, dtype: str) -> Array:
    return x.astype(dtype) if x.dtype == np.float64 else np.asarray(x)


def _model(
    nodes: Sequence[onnx.NodeProto], feeds: Feeds, weights: Feeds, outputs: Sequence[str], version: int
) -> tuple[onnx.ModelProto, Feeds]:
    """A model of these nodes, whose outputs have the types that ONNX infers, and its feeds."""
    inputs = [helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(x.dtype), x.shape) for n, x in feeds.items()]
    graph = helper.make_graph(
        nodes,
        "benchmark",
        inputs,
        [onnx.ValueInfoProto(name=name) for name in outputs],
        [numpy_helper.from_array(x, n) for n, x in weights.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", version)], ir_version=10)
    return onnx.shape_inference.infer_shapes(model), feeds


def operators() -> list[Operator]:
    """The single nodes, with the same data in every run."""
    rng = np.random.default_rng(0)

    def real(*shape: int) -> Array:
        return rng.normal(size=shape)

    def whole(low: int, high: int, *shape: int, dtype: str = "uint8") -> Array:
        return rng.integers(low, high, shape).astype(dtype)

    x, channels = real(1, 64, 56, 56), real(64)
    scale, zero = np.float32(0.02), np.uint8(128)
    image, weights = whole(0, 256, 1, 64, 56, 56), whole(-128, 128, 64, 64, 3, 3, dtype="int8")
    left, right = whole(0, 256, 256, 512), whole(0, 256, 512, 512)
    same = {"pads": [1, 1, 1, 1]}
    grid = rng.uniform(-1, 1, (1, 28, 28, 2))
    sequence = [real(32, 8, 64), real(1, 512, 64), real(1, 512, 128), real(1, 1024)]
    gated = [real(32, 8, 64), real(1, 384, 64), real(1, 384, 128), real(1, 768)]
    heads = [real(1, 8, 64, 64) for _ in range(3)]
    return [
        Operator("Conv 3x3", "Conv", [x, real(64, 64, 3, 3), channels], same),
        Operator("Conv 1x1", "Conv", [x, real(64, 64, 1, 1), channels]),
        Operator("Conv 7x7", "Conv", [real(1, 3, 112, 112), real(32, 3, 7, 7)], {"strides": [2, 2], "pads": [3, 3, 3, 3]}),
        Operator("Conv depthwise", "Conv", [x, real(64, 1, 3, 3), channels], {**same, "group": 64}),
        Operator(
            "ConvTranspose",
            "ConvTranspose",
            [x, real(64, 64, 3, 3), channels],
            {**same, "strides": [2, 2], "output_padding": [1, 1]},
        ),
        Operator("MaxPool", "MaxPool", [x], {**same, "kernel_shape": [3, 3], "strides": [2, 2]}),
        Operator("AveragePool", "AveragePool", [x], {**same, "kernel_shape": [3, 3], "strides": [2, 2]}),
        Operator("GlobalAveragePool", "GlobalAveragePool", [x]),
        Operator("Resize linear", "Resize", [x, None, np.float32([1, 1, 2, 2])], {"mode": "linear"}),
        Operator("Resize nearest", "Resize", [x, None, np.float32([1, 1, 2, 2])], {"mode": "nearest"}),
        Operator("GridSample", "GridSample", [real(1, 16, 28, 28), grid]),
        Operator("LSTM", "LSTM", sequence, {"hidden_size": 128}),
        Operator("GRU", "GRU", gated, {"hidden_size": 128}),
        Operator("Attention", "Attention", heads, version=23),
        Operator("MatMul", "MatMul", [x, real(56, 56)]),
        Operator("Gemm", "Gemm", [real(256, 512), real(512, 512), real(512)]),
        Operator("Einsum", "Einsum", [real(4, 8, 64, 64), real(4, 8, 64, 64)], {"equation": "bhid,bhjd->bhij"}),
        Operator("Softmax", "Softmax", [x]),
        Operator("LogSoftmax", "LogSoftmax", [x]),
        Operator("LayerNormalization", "LayerNormalization", [x, real(56), real(56)]),
        Operator("InstanceNormalization", "InstanceNormalization", [x, channels, channels]),
        Operator("GroupNormalization", "GroupNormalization", [x, channels, channels], {"num_groups": 8}),
        Operator("BatchNormalization", "BatchNormalization", [x, channels, channels, channels, np.abs(channels)]),
        Operator("LRN", "LRN", [x], {"size": 5}),
        Operator("ReduceSum", "ReduceSum", [x, np.array([1])]),
        Operator("ReduceMean", "ReduceMean", [x, np.array([2, 3])]),
        Operator("ReduceL2", "ReduceL2", [x, np.array([-1])]),
        Operator("CumSum", "CumSum", [x, np.array(3)]),
        Operator("ArgMax", "ArgMax", [x], {"axis": 1}),
        Operator("TopK", "TopK", [x, np.array([5])], outputs=["y", "indices"]),
        Operator("Add", "Add", [x, real(64, 1, 1)]),
        Operator("Mul", "Mul", [x, x]),
        Operator("Div", "Div", [x, np.abs(x)]),
        Operator("Pow", "Pow", [np.abs(x), real(1)]),
        Operator("Relu", "Relu", [x]),
        Operator("Gelu", "Gelu", [x]),
        Operator("Sigmoid", "Sigmoid", [x]),
        Operator("Tanh", "Tanh", [x]),
        Operator("Exp", "Exp", [x]),
        Operator("Erf", "Erf", [x]),
        Operator("Clip", "Clip", [x, np.array(-1.0), np.array(1.0)]),
        Operator("Where", "Where", [x > 0, x, channels.reshape(64, 1, 1)]),
        Operator("Transpose", "Transpose", [x], {"perm": [0, 2, 3, 1]}),
        Operator("Concat", "Concat", [x, x], {"axis": 1}),
        Operator("Slice", "Slice", [x, np.array([0, 0]), np.array([32, 56]), np.array([1, 3]), np.array([1, 2])]),
        Operator("Pad", "Pad", [x, np.array([0, 0, 1, 1, 0, 0, 1, 1])], {"mode": "reflect"}),
        Operator("Gather", "Gather", [x, whole(0, 64, 32, dtype="int64")], {"axis": 1}),
        Operator("GatherElements", "GatherElements", [x, whole(0, 56, 1, 64, 56, 56, dtype="int64")], {"axis": 3}),
        Operator(
            "ScatterElements",
            "ScatterElements",
            [real(64, 56), whole(0, 56, 64, 56, dtype="int64"), real(64, 56)],
            {"axis": 1, "reduction": "add"},
        ),
        Operator("QuantizeLinear", "QuantizeLinear", [x.astype(np.float32), scale, zero]),
        Operator("DequantizeLinear", "DequantizeLinear", [image, scale, zero]),
        Operator("ConvInteger", "ConvInteger", [image, weights.astype(np.uint8), zero], same),
        Operator("MatMulInteger", "MatMulInteger", [left, right, zero, zero]),
        Operator("MatMul int32", "MatMul", [whole(-9, 9, 256, 512, dtype="int32"), whole(-9, 9, 512, 512, dtype="int32")]),
        Operator("QLinearConv", "QLinearConv", [image, scale, zero, weights, scale, np.int8(0), np.float32(3), zero], same),
        Operator("QLinearMatMul", "QLinearMatMul", [left, scale, zero, right, scale, zero, np.float32(3), zero]),
    ]


def graphs() -> list[Graph]:
    """A residual block, an encoder layer, a recurrent classifier and a quantised convolution block."""
    return [_convolution_block(), _transformer_layer(), _recurrent(), _quantised_block()]


def _convolution_block() -> Graph:
    rng = np.random.default_rng(1)
    weights: Feeds = {f"w{i}": rng.normal(size=(64, 64, 3, 3)) / 24 for i in (1, 2)}
    for i in (1, 2):
        weights |= {f"{name}{i}": rng.uniform(0.5, 1.5, 64) for name in ("gain", "shift", "mean", "variance")}

    def nodes() -> list[onnx.NodeProto]:
        made = []
        for i, source in ((1, "x"), (2, "r1")):
            made += [
                helper.make_node("Conv", [source, f"w{i}"], [f"c{i}"], pads=[1, 1, 1, 1]),
                helper.make_node(
                    "BatchNormalization", [f"c{i}", f"gain{i}", f"shift{i}", f"mean{i}", f"variance{i}"], [f"n{i}"]
                ),
            ]
            made += [helper.make_node("Relu", ["n1"], ["r1"])] * (i == 1)
        return [*made, helper.make_node("Add", ["n2", "x"], ["s"]), helper.make_node("Relu", ["s"], ["y"])]

    return Graph("convolution block", nodes, {"x": rng.normal(size=(1, 64, 56, 56))}, weights)


def _transformer_layer(length: int = 64, width: int = 256, heads: int = 8) -> Graph:
    rng = np.random.default_rng(2)
    shapes = {"wq": (width, width), "wk": (width, width), "wv": (width, width), "wo": (width, width)}
    shapes |= {"w1": (width, 4 * width), "w2": (4 * width, width)}
    weights: Feeds = {name: rng.normal(size=shape) / 16 for name, shape in shapes.items()}
    weights |= {name: rng.uniform(0.5, 1.5, width) for name in ("g1", "b1", "g2", "b2")}
    weights |= {"split": np.array([1, length, heads, -1]), "join": np.array([1, length, width]), "scale": np.array(32.0**-0.5)}

    def nodes() -> list[onnx.NodeProto]:
        made = []
        for name, order in (("q", [0, 2, 1, 3]), ("k", [0, 2, 3, 1]), ("v", [0, 2, 1, 3])):
            made += [
                helper.make_node("MatMul", ["x", f"w{name}"], [f"{name}0"]),
                helper.make_node("Reshape", [f"{name}0", "split"], [f"{name}1"]),
                helper.make_node("Transpose", [f"{name}1"], [name], perm=order),
            ]
        return [
            *made,
            helper.make_node("MatMul", ["q", "k"], ["s0"]),
            helper.make_node("Mul", ["s0", "scale"], ["s"]),
            helper.make_node("Softmax", ["s"], ["p"]),
            helper.make_node("MatMul", ["p", "v"], ["a0"]),
            helper.make_node("Transpose", ["a0"], ["a1"], perm=[0, 2, 1, 3]),
            helper.make_node("Reshape", ["a1", "join"], ["a2"]),
            helper.make_node("MatMul", ["a2", "wo"], ["a"]),
            helper.make_node("Add", ["a", "x"], ["r1"]),
            helper.make_node("LayerNormalization", ["r1", "g1", "b1"], ["n1"]),
            helper.make_node("MatMul", ["n1", "w1"], ["f0"]),
            helper.make_node("Gelu", ["f0"], ["f1"]),
            helper.make_node("MatMul", ["f1", "w2"], ["f"]),
            helper.make_node("Add", ["f", "n1"], ["r2"]),
            helper.make_node("LayerNormalization", ["r2", "g2", "b2"], ["y"]),
        ]

    return Graph("transformer layer", nodes, {"x": rng.normal(size=(1, length, width))}, weights)


def _recurrent() -> Graph:
    rng = np.random.default_rng(3)
    weights: Feeds = {
        "w": rng.normal(size=(1, 512, 64)),
        "r": rng.normal(size=(1, 512, 128)) / 11,
        "b": rng.normal(size=(1, 1024)),
    }
    weights |= {"dense": rng.normal(size=(128, 10)), "axis": np.array([0])}

    def nodes() -> list[onnx.NodeProto]:
        return [
            helper.make_node("LSTM", ["x", "w", "r", "b"], ["", "h"], hidden_size=128),
            helper.make_node("Squeeze", ["h", "axis"], ["last"]),
            helper.make_node("Gemm", ["last", "dense"], ["score"]),
            helper.make_node("Softmax", ["score"], ["y"]),
        ]

    return Graph("LSTM and MatMul", nodes, {"x": rng.normal(size=(32, 8, 64))}, weights)


def _quantised_block() -> Graph:
    rng = np.random.default_rng(4)
    weights: Feeds = {f"w{i}": rng.integers(-128, 128, (64, 64, 3, 3)).astype(np.int8) for i in (1, 2)}
    weights |= {f"b{i}": rng.integers(-1000, 1000, 64).astype(np.int32) for i in (1, 2)}
    weights |= {"sx": np.float32(0.02), "zx": np.uint8(128), "sw": np.float32(0.01), "zw": np.int8(0), "sy": np.float32(0.5)}

    def nodes() -> list[onnx.NodeProto]:
        return [
            helper.make_node("QuantizeLinear", ["x", "sx", "zx"], ["q0"]),
            helper.make_node("QLinearConv", ["q0", "sx", "zx", "w1", "sw", "zw", "sy", "zx", "b1"], ["q1"], pads=[1, 1, 1, 1]),
            helper.make_node("QLinearConv", ["q1", "sy", "zx", "w2", "sw", "zw", "sy", "zx", "b2"], ["q2"], pads=[1, 1, 1, 1]),
            helper.make_node("DequantizeLinear", ["q2", "sy", "zx"], ["y"]),
        ]

    return Graph("quantised convolution block", nodes, {"x": rng.normal(size=(1, 64, 56, 56)).astype(np.float32)}, weights)
