"""How operators are lowered to kernels. One table row an operator; whatever no row covers is Unsupported.

The target is a device whose memory is of interest, so operators are few: data movement of every type of 8 to 64 bits,
elementwise arithmetic, sums of products, softmax. Shapes are static, shape operands constant.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence

from backends.interface import CompileError, Unsupported
from backends.opencl import elements, kernels
from backends.opencl.elements import NUMBERS, REALS, SCALARS, SIGNED
from backends.opencl.layout import Access, broadcast, whole
from backends.opencl.program import Node, Target, Tensor


def _move(node: Node) -> None:
    """The elements in their order: Identity, Reshape and what only renames axes."""
    width = SCALARS[node.x.dtype].element.bits
    node.emit(kernels.move(width), whole(node.outputs[0], node.y.shape), whole(node.inputs[0], node.x.shape))


def _expand(node: Node) -> None:
    width = SCALARS[node.x.dtype].element.bits
    shape = node.y.shape
    node.emit(kernels.move(width), whole(node.outputs[0], shape), broadcast(node.inputs[0], node.x.shape, shape))


def _transpose(node: Node) -> None:
    axes = tuple(node.attributes.get("perm", range(len(node.x.shape))[::-1]))
    walked = Access(node.inputs[0], node.y.shape, axes)
    node.emit(kernels.move(SCALARS[node.x.dtype].element.bits), whole(node.outputs[0], node.y.shape), walked)


def _concat(node: Node) -> None:
    axis = node.attributes["axis"] % len(node.x.shape)
    at = 0
    for name in node.inputs:
        part = node.tensor(name)
        target = dataclasses.replace(whole(node.outputs[0], part.shape), start=((axis, at),))
        node.emit(kernels.move(SCALARS[part.dtype].element.bits), target, whole(name, part.shape))
        at += part.shape[axis]


def _split(node: Node) -> None:
    axis = node.attributes.get("axis", 0) % len(node.x.shape)
    at = 0
    for name in node.outputs:
        part = node.tensor(name)
        source = dataclasses.replace(whole(node.inputs[0], part.shape), start=((axis, at),))
        node.emit(kernels.move(SCALARS[part.dtype].element.bits), whole(name, part.shape), source)
        at += part.shape[axis]


def _cast(node: Node) -> None:
    types = (node.x.dtype, node.y.dtype)
    if types[1] not in node.program.target.computed:
        raise Unsupported(f"Cast {node.label}: from {types[0]} to {types[1]}", code="opencl.type")
    source = kernels.move(SCALARS[types[0]].element.bits) if types[0] == types[1] else kernels.cast(*types)
    node.emit(source, whole(node.outputs[0], node.y.shape), whole(node.inputs[0], node.x.shape))


def _abs(node: Node) -> None:
    _elementwise(node, "fabs(a)" if node.x.dtype in REALS else "a < 0 ? -(W)a : (W)a", node.inputs)


def _clip(node: Node) -> None:
    low, high = [*node.inputs[1:], "", ""][:2]
    value, names = "a", [node.inputs[0]]
    for limit, comparison in ((low, "<"), (high, ">")):
        if limit:
            letter = "abc"[len(names)]
            value = f"({value} {comparison} {letter} ? {letter} : {value})"
            names.append(limit)
    _elementwise(node, value, names)


def _gelu(node: Node) -> None:
    approximate = node.attributes.get("approximate", b"none") == b"tanh"
    expression = "a / (1 + exp(a * (C)-1.5957691216057308 * (1 + (C)0.044715 * a * a)))" if approximate else GELU
    _elementwise(node, expression, node.inputs[:1])


def _variadic(expression: str) -> Callable[[Node], None]:
    """Two at a time, from the left."""

    def lower(node: Node) -> None:
        if len(node.inputs) == 1:
            return _move(node)
        left = node.inputs[0]
        for n, right in enumerate(node.inputs[1:], 2):
            target = node.outputs[0] if n == len(node.inputs) else node.temporary(node.y)
            _elementwise(node, expression, [left, right], target)
            left = target
        return None

    return lower


def _plain(expression: str) -> Callable[[Node], None]:
    return lambda node: _elementwise(node, expression, node.inputs)


def _elementwise(node: Node, expression: str, names: Sequence[str], target: str = "") -> None:
    source = kernels.elementwise(expression, node.x.dtype, len(names))
    shape = node.y.shape
    operands = [broadcast(name, node.tensor(name).shape, shape) for name in names]
    node.emit(source, whole(target or node.outputs[0], shape), *operands)


def _matmul(node: Node) -> None:
    """Vectors are matrices of one row or column that the output lacks."""
    a, b = node.x, node.tensor(node.inputs[1])
    y = node.y.shape
    rows, columns = len(a.shape) > 1, len(b.shape) > 1
    batch = y[: len(y) - rows - columns]
    left = broadcast(node.inputs[0], a.shape[:-2], batch).axes + ((len(a.shape) - 2,) if rows else ()) + (None,) * columns
    right = broadcast(node.inputs[1], b.shape[:-2], batch).axes + (None,) * rows + ((len(b.shape) - 1,) if columns else ())
    terms = (a.shape[-1],)
    node.emit(
        kernels.contraction(a.dtype),
        whole(node.outputs[0], y),
        Access(node.inputs[0], y, left),
        Access(node.inputs[1], y, right),
        inner=[
            Access(node.inputs[0], terms, (len(a.shape) - 1,)),
            Access(node.inputs[1], terms, (len(b.shape) - 2 if columns else 0,)),
        ],
    )


def _convolution(node: Node) -> None:
    """A sum of products over a copy of x with zeros around it, or over x itself where nothing is padded."""
    x, w, y = node.x, node.tensor(node.inputs[1]), node.y
    spatial, group = range(len(x.shape) - 2), node.attributes.get("group", 1)
    kernel = tuple(node.attributes.get("kernel_shape", w.shape[2:]))
    if x.shape[1] != w.shape[1] * group or w.shape[0] % group or kernel != tuple(w.shape[2:]):
        what = f"{x.shape[1]} channels, weights {list(w.shape)}, group {group}, kernel_shape {list(kernel)}"
        raise CompileError(f"Conv {node.label}: {what} contradict each other", code="opencl.contradiction")
    strides = node.attributes.get("strides", [1] * len(spatial))
    dilations = node.attributes.get("dilations", [1] * len(spatial))
    name = _padded(node, _pads(node, strides, dilations))
    outputs, channels = y.shape[1] // group, w.shape[1]
    index = (y.shape[0], group, outputs, *y.shape[2:])
    once = (1,) * len(spatial)
    axes = tuple(2 + n for n in spatial)
    held = (None,) * len(spatial)
    target = Access(node.outputs[0], index, (0, 1, 1, *axes), steps=(1, outputs, 1, *once))
    operands = [
        Access(name, index, (0, 1, None, *axes), steps=(1, channels, 1, *strides)),
        Access(node.inputs[1], index, (None, 0, 0, *held), steps=(1, outputs, 1, *once)),
    ]
    bias = len(node.inputs) > 2 and bool(node.inputs[2])
    if bias:
        operands.append(Access(node.inputs[2], index, (None, 0, 0, *held), steps=(1, outputs, 1, *once)))
    inner = [Access(name, w.shape[1:], (1, *axes), steps=(1, *dilations)), Access(node.inputs[1], w.shape[1:], (1, *axes))]
    node.emit(kernels.contraction(x.dtype, bias=bias), target, *operands, inner=inner)


def _pads(node: Node, strides: Sequence[int], dilations: Sequence[int]) -> list[int]:
    """Begins, then ends."""
    automatic = node.attributes.get("auto_pad", b"NOTSET").decode()
    rank = len(strides)
    if automatic == "NOTSET":
        return list(node.attributes.get("pads", [0] * 2 * rank))
    if automatic == "VALID":
        return [0] * 2 * rank
    kernel = node.tensor(node.inputs[1]).shape[2:]
    missing = [
        max(0, (node.y.shape[2 + n] - 1) * strides[n] + (kernel[n] - 1) * dilations[n] + 1 - node.x.shape[2 + n])
        for n in range(rank)
    ]
    smaller, larger = [total // 2 for total in missing], [total - total // 2 for total in missing]
    return smaller + larger if automatic == "SAME_UPPER" else larger + smaller


def _padded(node: Node, pads: Sequence[int]) -> str:
    """The name of x with zeros around its spatial axes."""
    if not any(pads):
        return node.inputs[0]
    x, rank = node.x, len(pads) // 2
    around = tuple(extent + pads[n] + pads[rank + n] for n, extent in enumerate(x.shape[2:]))
    name = node.temporary(Tensor((*x.shape[:2], *around), x.dtype))
    start = tuple((2 + n, pads[n]) for n in range(rank))
    node.emit(kernels.elementwise("(C)0", x.dtype, 0), whole(name, (*x.shape[:2], *around)))
    inside = dataclasses.replace(whole(name, x.shape), start=start)
    node.emit(kernels.move(SCALARS[x.dtype].element.bits), inside, whole(node.inputs[0], x.shape))
    return name


def _reduce_sum(node: Node) -> None:
    given = node.constant(1)
    rank = len(node.x.shape)
    if (given is None or given.size == 0) and node.attributes.get("noop_with_empty_axes", 0):
        return _move(node)
    reduced = set(range(rank)) if given is None or given.size == 0 else {int(axis) % rank for axis in given.ravel()}
    kept = tuple(axis for axis in range(rank) if axis not in reduced)
    lost = tuple(sorted(reduced))
    shape = tuple(node.x.shape[axis] for axis in kept)
    node.emit(
        kernels.reduce_sum(node.x.dtype),
        whole(node.outputs[0], node.y.shape),
        Access(node.inputs[0], shape, kept),
        inner=[Access(node.inputs[0], tuple(node.x.shape[axis] for axis in lost), lost)],
    )
    return None


def _softmax(node: Node) -> None:
    rank = len(node.x.shape)
    if rank == 0:
        raise Unsupported(f"Softmax {node.label}: of a scalar", code="opencl.shape")
    axis = node.attributes.get("axis", -1) % rank
    lines = tuple(n for n in range(rank) if n != axis)
    shape = tuple(node.x.shape[n] for n in lines)
    y, x = node.outputs[0], node.inputs[0]
    inner = [Access(name, (node.x.shape[axis],), (axis,)) for name in (x, y)]
    node.emit(kernels.softmax(node.x.dtype), Access(y, shape, lines), Access(x, shape, lines), inner=inner)


@dataclasses.dataclass(frozen=True)
class Operator:
    """How one operator is lowered. types: of its first type constraint. since: the first opset with today's meaning.

    complete: whether all that ONNX allows of these types compiles, so that it may be declared; not so where a shape operand
    may be fed, and where Cast may lead to a type without kernels. divides: right only where quotients and roots are correctly
    rounded, which OpenCL leaves open in float32.
    """

    lower: Callable[[Node], None]
    types: frozenset[str]
    since: int = 1
    complete: bool = True
    divides: bool = False


GELU = "(C)0.5 * a * erfc(a * (C)-0.70710678118654752)"
"""erfc keeps the digits that 1 + erf loses left of 0."""

WIDE = REALS | {"int32", "uint32", "int64", "uint64"}
EVERY = elements.EVERY

OPERATORS: dict[str, Operator] = {
    "Identity": Operator(_move, EVERY),
    "Reshape": Operator(_move, EVERY, 5, complete=False),
    "Flatten": Operator(_move, EVERY),
    "Squeeze": Operator(_move, EVERY, 13, complete=False),
    "Unsqueeze": Operator(_move, EVERY, 13, complete=False),
    "Expand": Operator(_expand, EVERY, 8, complete=False),
    "Transpose": Operator(_transpose, EVERY),
    "Concat": Operator(_concat, EVERY, 4),
    "Split": Operator(_split, EVERY, 2, complete=False),
    "Cast": Operator(_cast, NUMBERS | {"bool"}, 6, complete=False),
    "Neg": Operator(_plain("-(W)a"), REALS | SIGNED, 6),
    "Abs": Operator(_abs, NUMBERS, 6),
    "Not": Operator(_plain("!a"), frozenset({"bool"})),
    "And": Operator(_plain("a && b"), frozenset({"bool"}), 7),
    "Or": Operator(_plain("a || b"), frozenset({"bool"}), 7),
    "Relu": Operator(_plain("a < 0 ? 0 : a"), REALS | SIGNED, 6),
    "Sqrt": Operator(_plain("sqrt(a)"), REALS, 6, divides=True),
    "Exp": Operator(_plain("exp(a)"), REALS, 6),
    "Tanh": Operator(_plain("tanh(a)"), REALS, 6),
    "Erf": Operator(_plain("erf(a)"), REALS),
    "Sigmoid": Operator(_plain("1 / (1 + exp(-a))"), REALS, 6),
    "Gelu": Operator(_gelu, REALS, 20),
    "Add": Operator(_plain("(W)a + (W)b"), NUMBERS, 7),
    "Sub": Operator(_plain("(W)a - (W)b"), NUMBERS, 7),
    "Mul": Operator(_plain("(W)a * (W)b"), NUMBERS, 7),
    "Div": Operator(_plain("a / b"), REALS, 7, divides=True),
    "Max": Operator(_variadic("a != a || a > b ? a : b"), NUMBERS, 8),
    "Min": Operator(_variadic("a != a || a < b ? a : b"), NUMBERS, 8),
    "Clip": Operator(_clip, NUMBERS, 11),
    "Conv": Operator(_convolution, REALS),
    "MatMul": Operator(_matmul, WIDE),
    "ReduceSum": Operator(_reduce_sum, WIDE, 13, complete=False),
    "Softmax": Operator(_softmax, REALS, 13),
}


def types(operator: str, target: Target) -> frozenset[str]:
    """Types that `operator` compiles for."""
    row = OPERATORS[operator]
    if row.divides and not target.divides:
        return frozenset()
    return row.types if row.types is EVERY else row.types & target.computed


def declared(target: Target) -> Mapping[str, frozenset[str]]:
    """What may be declared of a device."""
    return {name: types(name, target) for name, row in OPERATORS.items() if row.complete}
