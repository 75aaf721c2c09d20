"""Right results out of kernels that are right, for operators whose own kernel is wrong or missing.

The engine reduces and raises to powers in float64, so that sums beyond 2^53 are rounded and products saturate, and its
int64 division traps on the one quotient that overflows. Each function yields nodes that replace `node`, computing
modulo 2^64. Its maxima and minima over several elements lose NaN.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

Names = Callable[[str], str]
Nodes = Iterator[onnx.NodeProto]
Replacement = Callable[[onnx.NodeProto, Names, int], Nodes]
"""(node, fresh names, opset) → the nodes in its place."""

EXPONENT_BITS = 6
"""Powers are exact for exponents below 2^6; from there on every base but -1, 0 and 1 has overflowed."""


def _constant(values: int | list[int], name: str) -> onnx.NodeProto:
    return helper.make_node("Constant", [], [name], value=numpy_helper.from_array(np.array(values, np.int64)))


def _changed(node: onnx.NodeProto, operator: str, inputs: list[str], outputs: list[str]) -> onnx.NodeProto:
    """A node with the attributes of `node` but another operator, inputs and outputs; nameless, as names are unique."""
    copy = onnx.NodeProto()
    copy.CopyFrom(node)
    copy.ClearField("name")
    copy.op_type = operator
    del copy.input[:]
    copy.input.extend(inputs)
    del copy.output[:]
    copy.output.extend(outputs)
    return copy


def divide(node: onnx.NodeProto, name: Names, opset: int) -> Nodes:
    """Div and Mod: x / -1 is -x, x mod -1 is x mod 1; everything else does not overflow."""
    x, y = node.input
    minus_one, one, overflows, divisor = name("minus_one"), name("one"), name("overflows"), name("divisor")
    yield _constant(-1, minus_one)
    yield _constant(1, one)
    yield helper.make_node("Equal", [y, minus_one], [overflows])
    yield helper.make_node("Where", [overflows, one, y], [divisor])
    if node.op_type == "Mod":
        yield _changed(node, "Mod", [x, divisor], list(node.output))
        return
    quotient, negated = name("quotient"), name("negated")
    yield helper.make_node("Div", [x, divisor], [quotient])
    yield helper.make_node("Neg", [x], [negated])
    yield helper.make_node("Where", [overflows, negated, quotient], list(node.output))


def reduce_sum(node: onnx.NodeProto, name: Names, opset: int) -> Nodes:
    """ReduceSum in two halves of 32 bits, each of whose sums is exact in float64 up to 2^21 elements."""
    x, *axes = node.input
    base, low, rest, high = name("base"), name("low"), name("rest"), name("high")
    low_sum, high_sum, shifted = name("low_sum"), name("high_sum"), name("shifted")
    yield _constant(2**32, base)
    yield helper.make_node("Mod", [x, base], [low])
    yield helper.make_node("Sub", [x, low], [rest])
    yield helper.make_node("Div", [rest, base], [high])
    yield _changed(node, "ReduceSum", [low, *axes], [low_sum])
    yield _changed(node, "ReduceSum", [high, *axes], [high_sum])
    yield helper.make_node("Mul", [high_sum, base], [shifted])
    yield helper.make_node("Add", [shifted, low_sum], list(node.output))


def reduce_of(node: onnx.NodeProto, name: Names, opset: int) -> Nodes:
    """ReduceSumSquare and ReduceL1: ReduceSum of the squares or magnitudes."""
    x, *axes = node.input
    terms = name("terms")
    square = node.op_type == "ReduceSumSquare"
    yield helper.make_node("Mul" if square else "Abs", [x, x] if square else [x], [terms])
    inner = _changed(node, "ReduceSum", [terms, *axes], list(node.output))
    attribute = next((a for a in inner.attribute if a.name == "axes"), None)
    if attribute is not None and opset >= 13:  # ReduceSum took axes as an input five versions before the others
        axes_name = name("axes")
        yield _constant(list(attribute.ints), axes_name)
        inner.input.append(axes_name)
        inner.attribute.remove(attribute)
    yield from reduce_sum(inner, name, opset)


def power(node: onnx.NodeProto, name: Names, opset: int) -> Nodes:
    """Pow by squaring; the engine's own for negative exponents and those beyond `EXPONENT_BITS`."""
    base, exponent = node.input
    one, two, zero, limit = name("one"), name("two"), name("zero"), name("limit")
    for value, label in ((1, one), (2, two), (0, zero), (2**EXPONENT_BITS, limit)):
        yield _constant(value, label)
    product, remaining = one, exponent
    for _ in range(EXPONENT_BITS):
        bit, is_set, factor, raised = name("bit"), name("is_set"), name("factor"), name("raised")
        squared, halved = name("squared"), name("halved")
        yield helper.make_node("Mod", [remaining, two], [bit])
        yield helper.make_node("Equal", [bit, one], [is_set])
        yield helper.make_node("Where", [is_set, base, one], [factor])
        yield helper.make_node("Mul", [product, factor], [raised])
        yield helper.make_node("Mul", [base, base], [squared])
        yield helper.make_node("Div", [remaining, two], [halved])
        product, base, remaining = raised, squared, halved
    native, small, negative, positive, exact = (name(n) for n in ("native", "small", "negative", "positive", "exact"))
    yield _changed(node, "Pow", list(node.input), [native])
    yield helper.make_node("Less", [exponent, limit], [small])
    yield helper.make_node("Less", [exponent, zero], [negative])
    yield helper.make_node("Not", [negative], [positive])
    yield helper.make_node("And", [small, positive], [exact])
    yield helper.make_node("Where", [exact, product, native], list(node.output))


def relu(node: onnx.NodeProto, name: Names, opset: int) -> Nodes:
    """Relu: the greater of x and 0."""
    zero = name("zero")
    yield _constant(0, zero)
    yield helper.make_node("Max", [node.input[0], zero], list(node.output))


def gemm(node: onnx.NodeProto, name: Names, opset: int) -> Nodes:
    """Gemm with alpha = beta = 1: MatMul and Add."""
    attributes = {a.name: helper.get_attribute_value(a) for a in node.attribute}
    operands = list(node.input[:2])
    for index, transposed in enumerate(("transA", "transB")):
        if attributes.get(transposed):
            turned = name("turned")
            yield helper.make_node("Transpose", [operands[index]], [turned], perm=[1, 0])
            operands[index] = turned
    bias = list(node.input[2:3])
    product = name("product") if any(bias) else node.output[0]
    yield helper.make_node("MatMul", operands, [product])
    if any(bias):
        yield helper.make_node("Add", [product, bias[0]], list(node.output))


def keep_nan(node: onnx.NodeProto, name: Names, opset: int) -> Nodes:
    """Maximum or minimum over several elements: NaN wherever the same operator finds a NaN among them.

    NaN counts as 1 for a maximum and as -1 for a minimum, so that neither padding nor an empty set looks like one. Before
    version 9 ONNX has nothing that finds a NaN.
    """
    if opset < 9:
        yield node
        return
    x, *axes = node.input
    is_nan, flag, mask, found = name("is_nan"), name("flag"), name("mask"), name("found")
    zero, not_a_number, any_nan, selected = name("zero"), name("nan"), name("any_nan"), name("selected")
    least = node.op_type == "ReduceMin"
    yield helper.make_node("IsNaN", [x], [is_nan])
    yield helper.make_node("Cast", [is_nan], [flag], to=TensorProto.FLOAT)
    yield helper.make_node("Neg" if least else "Identity", [flag], [mask])
    yield _changed(node, node.op_type, [mask, *axes], [found])
    for value, label in ((0.0, zero), (np.nan, not_a_number)):
        tensor = numpy_helper.from_array(np.array(value, np.float32))
        yield helper.make_node("Constant", [], [label], value=tensor)
    yield helper.make_node("Less" if least else "Greater", [found, zero], [any_nan])
    yield _changed(node, node.op_type, [x, *axes], [selected])
    yield helper.make_node("Where", [any_nan, not_a_number, selected], list(node.output))


def global_maximum(node: onnx.NodeProto, name: Names, opset: int) -> Nodes:
    """GlobalMaxPool: as `keep_nan`, and -inf where nothing else is there, for which the engine has the lowest number."""
    x = node.input[0]
    maximum, infinite, lowest, other = name("maximum"), name("infinite"), name("lowest"), name("other")
    flag, found, zero, only = name("flag"), name("found"), name("zero"), name("only")
    yield from keep_nan(_changed(node, node.op_type, [x], [maximum]), name, opset)
    for value, label in ((0.0, zero), (-np.inf, lowest)):
        yield helper.make_node("Constant", [], [label], value=numpy_helper.from_array(np.array(value, np.float32)))
    yield helper.make_node("Equal", [x, lowest], [infinite])
    yield helper.make_node("Not", [infinite], [other])
    yield helper.make_node("Cast", [other], [flag], to=TensorProto.FLOAT)
    yield _changed(node, node.op_type, [flag], [found])
    yield helper.make_node("Equal", [found, zero], [only])
    yield helper.make_node("Where", [only, lowest, maximum], list(node.output))


def keep_sign(node: onnx.NodeProto, name: Names, opset: int) -> Nodes:
    """Where: the engine's kernel turns a -0 of x into +0. All zeros are made +0, and reciprocals tell which were not."""
    condition, x, y = node.input
    chosen, selected, of_x, of_y, reciprocal = (name(n) for n in ("chosen", "selected", "of_x", "of_y", "reciprocal"))
    zero, one, minus = name("zero"), name("one"), name("minus")
    is_zero, below, lost, sign = name("is_zero"), name("below"), name("lost"), name("sign")
    for value, label in ((0.0, zero), (1.0, one), (-1.0, minus)):
        yield helper.make_node("Constant", [], [label], value=numpy_helper.from_array(np.array(value, np.float32)))
    yield _changed(node, "Where", [condition, x, y], [chosen])
    yield helper.make_node("Add", [chosen, zero], [selected])
    yield helper.make_node("Reciprocal", [x], [of_x])
    yield helper.make_node("Reciprocal", [y], [of_y])
    yield helper.make_node("Where", [condition, of_x, of_y], [reciprocal])
    yield helper.make_node("Equal", [selected, zero], [is_zero])
    yield helper.make_node("Less", [reciprocal, zero], [below])
    yield helper.make_node("And", [is_zero, below], [lost])
    yield helper.make_node("Where", [lost, minus, one], [sign])
    yield helper.make_node("Mul", [selected, sign], list(node.output))


def resize(node: onnx.NodeProto, name: Names, opset: int) -> Nodes:
    """Resize: half_pixel_symmetric by sizes is half_pixel, which the engine computes with fewer roundings."""
    copy = onnx.NodeProto()
    copy.CopyFrom(node)
    by_sizes = len(node.input) > 3 and node.input[3]
    for attribute in copy.attribute:
        if by_sizes and attribute.name == "coordinate_transformation_mode" and attribute.s == b"half_pixel_symmetric":
            attribute.s = b"half_pixel"
    yield copy


def local_response(node: onnx.NodeProto, name: Names, opset: int) -> Nodes:
    """LRN: the engine refuses even sizes; the window's mean of squares is then an average pool over the channels."""
    attributes = {a.name: helper.get_attribute_value(a) for a in node.attribute}
    size = attributes["size"]
    if size % 2:
        yield node
        return
    x = node.input[0]
    squares, flat, planes, pooled, mean, shape = (name(n) for n in ("squares", "flat", "planes", "pooled", "mean", "shape"))
    rows, one, scaled, base, divisor = (name(n) for n in ("rows", "one", "scaled", "base", "divisor"))
    numbers = {key: attributes.get(key, default) for key, default in (("alpha", 1e-4), ("beta", 0.75), ("bias", 1.0))}
    labels = {key: name(key) for key in numbers}
    for key, value in numbers.items():
        yield helper.make_node("Constant", [], [labels[key]], value=numpy_helper.from_array(np.array(value, np.float32)))
    yield _constant([0, 0, -1], rows)
    yield helper.make_node("Mul", [x, x], [squares])
    yield helper.make_node("Reshape", [squares, rows], [flat])
    if opset < 13:
        yield helper.make_node("Unsqueeze", [flat], [planes], axes=[1])
    else:
        yield _constant([1], one)
        yield helper.make_node("Unsqueeze", [flat, one], [planes])
    before = (size - 1) // 2
    pads = [before, 0, size - 1 - before, 0]
    yield helper.make_node("AveragePool", [planes], [pooled], kernel_shape=[size, 1], pads=pads, count_include_pad=1)
    yield helper.make_node("Shape", [x], [shape])
    yield helper.make_node("Reshape", [pooled, shape], [mean])
    yield helper.make_node("Mul", [mean, labels["alpha"]], [scaled])
    yield helper.make_node("Add", [scaled, labels["bias"]], [base])
    yield helper.make_node("Pow", [base, labels["beta"]], [divisor])
    yield helper.make_node("Div", [x, divisor], list(node.output))


def round_first(node: onnx.NodeProto, name: Names, opset: int) -> Nodes:
    """Cast of reals to 4 or 2 bits: the engine rounds halves away from zero, ONNX to even."""
    exact, whole = name("exact"), name("whole")
    yield helper.make_node("Cast", [node.input[0]], [exact], to=TensorProto.DOUBLE)
    yield helper.make_node("Round", [exact], [whole])
    yield _changed(node, "Cast", [whole], list(node.output))


def bounded_slice(dtype: str) -> Replacement:
    """Slice with indices of a type: the engine takes the type's largest number, as an end of a slice that steps back, for the
    beginning of the axis."""

    def replace(node: onnx.NodeProto, name: Names, opset: int) -> Nodes:
        data, starts, ends, *others = node.input
        largest, bounded = name("largest"), name("bounded")
        tensor = numpy_helper.from_array(np.array([np.iinfo(dtype).max - 1], dtype))
        yield helper.make_node("Constant", [], [largest], value=tensor)
        yield helper.make_node("Min", [ends, largest], [bounded])
        yield _changed(node, "Slice", [data, starts, bounded, *others], list(node.output))

    return replace


INT64: dict[str, Replacement] = {
    "Div": divide,
    "Gemm": gemm,
    "Mod": divide,
    "Pow": power,
    "ReduceL1": reduce_of,
    "ReduceSum": reduce_sum,
    "ReduceSumSquare": reduce_of,
    "Relu": relu,
}
"""Operator → its exact replacement when it computes in int64."""

FLOAT32: dict[str, Replacement] = {
    "GlobalMaxPool": global_maximum,
    "LRN": local_response,
    "MaxPool": keep_nan,
    "ReduceMax": keep_nan,
    "ReduceMin": keep_nan,
    "Resize": resize,
    "Where": keep_sign,
}
"""Operator → its replacement when it computes in float32."""
