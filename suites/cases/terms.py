"""How many terms the sums of an operator have: what the lattice recipe and integer inputs leave room for."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

from suites.cases.node import Node, Parameter

# node → (K, number of factors in each term). A bias counts as one more term.


def _kernel(node: Node, weights: str, channel: int) -> int:
    shape = node.shape(weights)
    return math.prod(shape[2:]) * shape[channel]


def _convolution(node: Node) -> tuple[int, int]:
    return _kernel(node, "w", 1) + 1, 2


def _transposed_convolution(node: Node) -> tuple[int, int]:
    shape, group = node.shape("w"), int(node.attribute("group", 1))
    return math.prod(shape[2:]) * (shape[0] // max(group, 1)) + 1, 2


def _matrix(node: Node) -> tuple[int, int]:
    shape = node.shape("a")
    return (shape[-1] if shape else 1), 2


def _gemm(node: Node) -> tuple[int, int]:
    inner = node.shape("a")[0 if node.attribute("transA", 0) else 1]
    factor = math.ceil(abs(node.attribute("alpha", 1.0)))
    return inner * max(factor, 1) + math.ceil(abs(node.attribute("beta", 1.0))), 2


def _quantized_gemm(node: Node) -> tuple[int, int]:
    return node.shape("a")[0 if node.attribute("transA", 0) else 1] + 1, 2


def _einsum(node: Node) -> tuple[int, int]:
    left, _, right = node.attribute("equation", "").replace(" ", "").partition("->")
    sizes: dict[str, int] = {}
    for labels, entry in zip(left.split(","), node.inputs, strict=False):
        first, _, last = labels.partition("...")
        sizes.update(zip(first, entry.shape, strict=False))
        sizes.update(zip(reversed(last), reversed(entry.shape), strict=False))
    return math.prod(size for label, size in sizes.items() if label not in right), len(node.inputs)


def _reduced(node: Node) -> int:
    shape, given = node.shape("data"), node.input("axes")
    axes = given.values if isinstance(given, Parameter) else node.attribute("axes", ())
    if not axes:
        return 1 if node.attribute("noop_with_empty_axes", 0) else max(math.prod(shape), 1)
    assert isinstance(axes, tuple | list)
    return max(math.prod(shape[int(a)] for a in axes if -len(shape) <= a < len(shape)), 1)


def _reduction(node: Node) -> tuple[int, int]:
    return _reduced(node), 1


def _squares(node: Node) -> tuple[int, int]:
    return _reduced(node), 2


def _window(node: Node) -> tuple[int, int]:
    return math.prod(node.attribute("kernel_shape", ())), 1


def _plane(node: Node) -> tuple[int, int]:
    return math.prod(node.shape("x")[2:]), 1


def _running(node: Node) -> tuple[int, int]:
    return max((*node.shape("x"), 1)), 1


def _operands(node: Node) -> tuple[int, int]:
    return len(node.inputs), 1


def _product(node: Node) -> tuple[int, int]:
    return 1, 2


TERMS: Mapping[str, Callable[[Node], tuple[int, int]]] = {
    "Add": _operands,
    "AveragePool": _window,
    "Conv": _convolution,
    "ConvInteger": _convolution,
    "ConvTranspose": _transposed_convolution,
    "CumSum": _running,
    "Einsum": _einsum,
    "Gemm": _gemm,
    "FusedConv": _convolution,
    "GlobalAveragePool": _plane,
    "MatMul": _matrix,
    "MatMulInteger": _matrix,
    "Mean": _operands,
    "Mul": _product,
    "QGemm": _quantized_gemm,
    "QLinearConv": _convolution,
    "QLinearMatMul": _matrix,
    "ReduceL1": _reduction,
    "ReduceMean": _reduction,
    "ReduceSum": _reduction,
    "ReduceSumSquare": _squares,
    "Sub": _operands,
    "Sum": _operands,
}
"""Operator → terms of one output element and factors of a term, at most."""
