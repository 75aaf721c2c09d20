"""How many terms an operator sums, as the rules that depend on it count them: from shapes, border pixels like all others."""

from __future__ import annotations

import math

from reference.node import Array, Node


def operand(node: Node, index: int) -> Array:
    """Input number `index`, which is there."""
    x = node.inputs[index]
    assert x is not None
    return x


def summed(node: Node) -> int:
    """Products in an output of MatMul, Gemm, Conv and ConvTranspose, without a bias."""
    x, w = operand(node, 0), operand(node, 1)
    if node.operator == "Conv":
        return math.prod(w.shape[1:])
    if node.operator == "ConvTranspose":
        return math.prod(w.shape[2:]) * int(w.shape[0]) // int(node.attribute("group", 1))
    if node.operator == "Gemm" and node.attribute("transA", 0):
        return int(x.shape[0])
    return int(x.shape[-1])


def reduced(node: Node) -> int:
    """Elements under one output of a reduction, or along the axis of Softmax, or under the window of a pool."""
    x = operand(node, 0)
    if node.operator in ("AveragePool", "LpPool", "MaxPool"):
        return math.prod(node.attributes["kernel_shape"])
    if node.operator in ("GlobalAveragePool", "GlobalMaxPool"):
        return math.prod(x.shape[2:])
    if node.operator == "Softmax":
        return int(x.shape[int(node.attribute("axis", -1))])
    axes = [int(a) for a in operand(node, 1).reshape(-1)] if node.given(1) else range(x.ndim)
    return math.prod(int(x.shape[a]) for a in axes)
