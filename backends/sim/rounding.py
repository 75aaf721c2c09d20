"""The device's arithmetic, out of the engine's float32: operands and results rounded to the format that tensors are stored
in, and sums of products rounded to the accumulator's after every block."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from backends.interface import CompileError
from backends.sim.decompositions import Names, Nodes
from backends.sim.lowering import TO_ONNX
from backends.sim.profile import Unit
from backends.sim.support import is_exact

Shape = tuple[int, ...]
Shapes = Mapping[str, Shape | None]
Round = Callable[[str, str, str, bool, Names], Nodes]

SMALLEST_NORMAL = {"float16": 2.0**-14, "bfloat16": 2.0**-126, "float32": 2.0**-126}
"""Format → its smallest normal number."""

NARROW = ("float16", "bfloat16")
"""Formats of accumulators that the engine's sums have to be rounded to."""

SCAN = 9
"""Opset from which on sums can be rounded block by block; the operator was another one before."""


def rounded(source: str, target: str, form: str, flushes: bool, name: Names) -> Nodes:
    """`target` = `source`, a float32 tensor, rounded to a narrower format; subnormals become zero where the unit flushes."""
    narrow, wide = name(target), name(target) if flushes else target
    yield helper.make_node("Cast", [source], [narrow], to=TO_ONNX[form])
    yield helper.make_node("Cast", [narrow], [wide], to=TensorProto.FLOAT)
    if flushes:
        magnitude, least, tiny, kept, factor = (name(target) for _ in range(5))
        limit = numpy_helper.from_array(np.array(SMALLEST_NORMAL[form], np.float32))
        yield helper.make_node("Abs", [wide], [magnitude])
        yield helper.make_node("Constant", [], [least], value=limit)
        yield helper.make_node("Less", [magnitude, least], [tiny])
        yield helper.make_node("Not", [tiny], [kept])
        yield helper.make_node("Cast", [kept], [factor], to=TensorProto.FLOAT)
        yield helper.make_node("Mul", [wide, factor], [target])


class Rounding:
    """Puts the roundings of the units around translated nodes; `needed`, whether any unit rounds otherwise than the engine.

    What only moves, compares or selects elements takes and gives them as they are, but for those that come to it unrounded.
    held: tensors that pass between fused nodes and are not stored.
    """

    def __init__(
        self, units: Mapping[str, Unit], shapes: Shapes, held: Collection[str], name: Names, opset: int, round_: Round = rounded
    ) -> None:
        self.needed = any(u.storage != dtype or u.flushes or u.accumulator in NARROW for dtype, u in units.items())
        self._units = units
        self._shapes = shapes
        self._held = held
        self._name = name
        self._opset = opset
        self._round = round_
        self._stored: set[str] = set()

    def around(self, node: onnx.NodeProto, placed: list[onnx.NodeProto], types: Mapping[str, str]) -> list[onnx.NodeProto]:
        """The nodes that `node` was translated to, with the roundings of its unit; the same list where it needs none."""
        unit = next((self._units[types[n]] for n in node.input if types.get(n) in self._units), None)
        result = placed
        if unit is not None and unit.accumulator in NARROW:
            result = self._accumulated(node, result, unit)
        if not is_exact(node) or any(name in self._held for name in node.input):
            result = self._between_stores(node, result, types)
        return result

    def _accumulated(self, node: onnx.NodeProto, placed: list[onnx.NodeProto], unit: Unit) -> list[onnx.NodeProto]:
        if node.domain not in ("", "ai.onnx") or node.op_type not in BLOCKED or self._opset < SCAN:
            return placed
        shapes = [self._shapes.get(name) for name in (*node.input[:2], node.output[0])]
        result: list[onnx.NodeProto] = []
        for inner in placed:
            if inner.op_type == node.op_type and all(shape is not None and 0 not in shape for shape in shapes):
                known = [shape for shape in shapes if shape is not None]
                result.extend(BLOCKED[node.op_type](inner, known, Accumulator(unit, self._name, self._round)))
            else:
                result.append(inner)
        return result

    def _between_stores(
        self, node: onnx.NodeProto, placed: list[onnx.NodeProto], types: Mapping[str, str]
    ) -> list[onnx.NodeProto]:
        before: list[onnx.NodeProto] = []
        after: list[onnx.NodeProto] = []
        renamed: dict[str, str] = {}
        for name in dict.fromkeys([*node.input, *node.output]):
            unit = self._units.get(types.get(name, ""))
            if unit is None or (unit.storage == types[name] and not unit.flushes) or name in self._held or name in self._stored:
                continue
            renamed[name] = self._name(name)
            if name in node.output:
                after.extend(self._converted(renamed[name], name, types[name], unit))
                self._stored.add(name)
            else:
                before.extend(self._converted(name, renamed[name], types[name], unit))
        return [*before, *rename(placed, renamed), *after] if renamed else placed

    def _converted(self, source: str, target: str, dtype: str, unit: Unit) -> Nodes:
        """`target` = `source` of `dtype`, as the unit stores it."""
        if dtype == "float32":
            yield from self._round(source, target, unit.storage, unit.flushes, self._name)
            return
        wide, stored = self._name(target), self._name(target)
        yield helper.make_node("Cast", [source], [wide], to=TensorProto.FLOAT)
        yield from self._round(wide, stored, unit.storage, unit.flushes, self._name)
        yield helper.make_node("Cast", [stored], [target], to=TO_ONNX[dtype])


def rename(nodes: Sequence[onnx.NodeProto], names: Mapping[str, str]) -> list[onnx.NodeProto]:
    """Copies of nodes whose inputs and outputs have other names."""
    result = []
    for node in nodes:
        copy = onnx.NodeProto()
        copy.CopyFrom(node)
        for field in (copy.input, copy.output):
            field[:] = [names.get(name, name) for name in field]
        result.append(copy)
    return result


class Accumulator:
    """Sums of products in blocks, each added exactly and then to the sum, which is rounded."""

    def __init__(self, unit: Unit, name: Names, round_: Round) -> None:
        self.block = unit.block
        self.name = name
        self._unit = unit
        self._round = round_

    def total(self, partial: str, shape: Shape, target: str) -> Nodes:
        """`target` of `shape` = the sum over the first axis of `partial`, one after the other, rounded after each."""
        start, before, term, raw, after = (self.name(target) for _ in range(5))
        body = helper.make_graph(
            [
                helper.make_node("Add", [before, term], [raw]),
                *self._round(raw, after, self._unit.accumulator, self._unit.flushes, self.name),
            ],
            "block",
            [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name in (before, term)],
            [helper.make_tensor_value_info(after, TensorProto.FLOAT, shape)],
        )
        yield _zeros(shape, start)
        yield helper.make_node("Scan", [start, partial], [target], num_scan_inputs=1, body=body)

    def filled(self, source: str, shape: Shape, axis: int, size: int) -> tuple[str, list[onnx.NodeProto]]:
        """(name, nodes): `source` of `shape`, filled up with zeros to `size` along one axis."""
        if shape[axis] == size:
            return source, []
        zeros, filled = self.name(source), self.name(source)
        missing = (*shape[:axis], size - shape[axis], *shape[axis + 1 :])
        return filled, [_zeros(missing, zeros), helper.make_node("Concat", [source, zeros], [filled], axis=axis)]

    def shaped(self, source: str, shape: Sequence[int], target: str = "") -> tuple[str, list[onnx.NodeProto]]:
        """(name, nodes): `source` with another shape."""
        sizes, target = self.name(source), target or self.name(source)
        constant = helper.make_node("Constant", [], [sizes], value=numpy_helper.from_array(np.array(shape, np.int64)))
        return target, [constant, helper.make_node("Reshape", [source, sizes], [target])]

    def turned(self, source: str, axes: Sequence[int]) -> tuple[str, list[onnx.NodeProto]]:
        """(name, nodes): `source` with its axes in another order."""
        target = self.name(source)
        return target, [helper.make_node("Transpose", [source], [target], perm=list(axes))]


def _zeros(shape: Shape, name: str) -> onnx.NodeProto:
    return helper.make_node("Constant", [], [name], value=numpy_helper.from_array(np.zeros(shape, np.float32)))


def _matmul(node: onnx.NodeProto, shapes: Sequence[Shape], sums: Accumulator) -> Nodes:
    """MatMul: a stack of products of `block` columns with `block` rows, then their sum."""
    (a, b), (left, right, result) = node.input, shapes
    left, right = (1, *left) if len(left) == 1 else left, (*right, 1) if len(right) == 1 else right
    rank = max(len(left), len(right))
    left, right = (1,) * (rank - len(left)) + left, (1,) * (rank - len(right)) + right
    count = max(1, -(-left[-1] // sums.block))
    whole = count * sums.block
    chain = (
        ("shaped", left),
        ("filled", left, rank - 1, whole),
        ("shaped", (*left[:-1], count, sums.block)),
        ("turned", (rank - 1, *range(rank - 1), rank)),
    )
    a, nodes = _chain(sums, a, chain)
    yield from nodes
    chain = (
        ("shaped", right),
        ("filled", right, rank - 2, whole),
        ("shaped", (*right[:-2], count, sums.block, right[-1])),
        ("turned", (rank - 2, *range(rank - 2), rank - 1, rank)),
    )
    b, nodes = _chain(sums, b, chain)
    yield from nodes
    partial, total = sums.name("partial"), sums.name("total")
    yield helper.make_node("MatMul", [a, b], [partial])
    batch = np.broadcast_shapes(left[:-2], right[:-2])
    yield from sums.total(partial, (*batch, left[-2], right[-1]), total)
    yield from sums.shaped(total, result, node.output[0])[1]


def _chain(sums: Accumulator, source: str, steps: Sequence[tuple[object, ...]]) -> tuple[str, list[onnx.NodeProto]]:
    """(name, nodes) of methods of the accumulator applied one after the other."""
    nodes: list[onnx.NodeProto] = []
    for method, *arguments in steps:
        source, more = getattr(sums, str(method))(source, *arguments)
        nodes.extend(more)
    return source, nodes


def _gemm(node: onnx.NodeProto, shapes: Sequence[Shape], sums: Accumulator) -> Nodes:
    """Gemm: the product as MatMul's, then alpha, beta and C."""
    attributes = {a.name: helper.get_attribute_value(a) for a in node.attribute}
    operands, sizes = list(node.input[:2]), list(shapes)
    for index, transposed in enumerate(("transA", "transB")):
        if attributes.get(transposed):
            operands[index], nodes = sums.turned(operands[index], (1, 0))
            sizes[index] = sizes[index][::-1]
            yield from nodes
    product, bias = sums.name("product"), list(node.input[2:3])
    yield from _matmul(helper.make_node("MatMul", operands, [product]), sizes, sums)
    terms = [(product, attributes.get("alpha", 1.0)), *((name, attributes.get("beta", 1.0)) for name in bias if name)]
    scaled = []
    for name, factor in terms:
        scaled.append(sums.name(name))
        number = sums.name("factor")
        yield helper.make_node("Constant", [], [number], value=numpy_helper.from_array(np.array(factor, np.float32)))
        yield helper.make_node("Mul", [name, number], [scaled[-1]])
    yield helper.make_node("Add" if len(scaled) > 1 else "Identity", scaled, list(node.output))


def _conv(node: onnx.NodeProto, shapes: Sequence[Shape], sums: Accumulator) -> Nodes:
    """Conv: a grouped convolution gives the sums of `block` products or of one channel's, whichever are more."""
    (n, channels, *plane), (m, depth, *kernel), (_, _, *result) = shapes
    given = {a.name: helper.get_attribute_value(a) for a in node.attribute}
    groups = given.get("group", 1)
    if channels != depth * groups or tuple(given.get("kernel_shape", kernel)) != tuple(kernel):
        what = f"{channels} channels in {groups} groups, weights {[m, depth, *kernel]}, attributes {given}"
        raise CompileError(f"Conv {node.name}: {what} contradict each other", code="sim.contradiction")
    per = max(1, sums.block // max(1, math.prod(kernel)))
    count = max(1, -(-depth // per))
    whole, own = count * per, m // groups
    chain: Sequence[tuple[object, ...]] = (
        ("shaped", (n, groups, depth, *plane)),
        ("filled", (n, groups, depth, *plane), 2, whole),
        ("shaped", (n, groups * whole, *plane)),
    )
    x, nodes = _chain(sums, node.input[0], chain)
    yield from nodes
    chain = (
        ("shaped", (groups, own, depth, *kernel)),
        ("filled", (groups, own, depth, *kernel), 2, whole),
        ("shaped", (groups, own, count, per, *kernel)),
        ("turned", (0, 2, 1, *range(3, 4 + len(kernel)))),
        ("shaped", (groups * count * own, per, *kernel)),
    )
    w, nodes = _chain(sums, node.input[1], chain)
    yield from nodes
    inner = onnx.NodeProto()
    inner.CopyFrom(node)
    kept = [a for a in node.attribute if a.name != "group"]
    del inner.attribute[:], inner.input[:], inner.output[:]
    raw, total = sums.name("raw"), sums.name("total")
    inner.attribute.extend([*kept, helper.make_attribute("group", groups * count)])
    inner.input.extend([x, w])
    inner.output.append(raw)
    yield inner
    chain = (
        ("shaped", (n, groups, count, own, *result)),
        ("turned", (2, 0, 1, *range(3, 4 + len(result)))),
    )
    partial, nodes = _chain(sums, raw, chain)
    yield from nodes
    yield from sums.total(partial, (n, groups, own, *result), total)
    biased = len(node.input) > 2 and bool(node.input[2])
    folded, nodes = sums.shaped(total, (n, m, *result), "" if biased else node.output[0])
    yield from nodes
    if biased:
        bias, nodes = sums.shaped(node.input[2], (m, *[1] * len(result)))
        yield from nodes
        yield helper.make_node("Add", [folded, bias], [node.output[0]])


Blocked = Callable[[onnx.NodeProto, Sequence[Shape], Accumulator], Iterator[onnx.NodeProto]]

BLOCKED: dict[str, Blocked] = {"Conv": _conv, "Gemm": _gemm, "MatMul": _matmul}
"""Operator → its sums rounded to the accumulator's format, from a float32 node and the shapes of two inputs and the output."""
