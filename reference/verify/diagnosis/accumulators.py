"""Sums accumulated in a narrow format, one product after another: what a loop over a 16-bit accumulator returns, to the bit."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np

from reference import dtypes
from reference.node import Array, Node
from reference.verify.diagnosis.hypothesis import REFUSALS, Hypothesis, Question
from reference.verify.diagnosis.terms import reduced_axes

AFFORDABLE = 2**20
"""Products of the whole tensor up to which chains are rebuilt."""

LONGEST = 2**11
"""Products in a sum."""

FORMATS = ("float16", "bfloat16")


def hypotheses(question: Question) -> Iterator[Hypothesis]:
    """For sums of products of types wider than the accumulator."""
    node, dtype = question.node, question.setting.dtype
    if question.index or node.operator not in TERMS or not dtypes.is_float(dtype) or dtype == "bfloat16":
        return
    for form, narrow in itertools.product(FORMATS, (False, True)):
        if form == dtype and narrow:
            continue
        inputs = [dtypes.round_to(x, form) if narrow and x is not None and x.dtype == np.float64 else x for x in node.inputs]
        try:
            orders = TERMS[node.operator](node, inputs)
        except REFUSALS:
            return
        for order, (products, divisor) in orders:
            if products.size == 0 or products.shape[0] > LONGEST or products.size > AFFORDABLE:
                continue
            for rounded in (True, False):
                value = _chain(products, form, rounded=rounded)
                if value.shape != question.got.shape:
                    continue
                value = dtypes.round_to(value / divisor, form) if divisor != 1 else value
                how = " of rounded products" if rounded else ""
                on = f" on inputs rounded to {form}" if narrow else ""
                text = f"the reference with sums{how} accumulated in {form}, {order}{on}"
                yield from question.of_value("accumulator-narrow", text, value, 0.0)


def _chain(products: Array, form: str, *, rounded: bool) -> Array:
    """((P_0 + P_1) + P_2) + …, rounded after every addition."""
    terms = dtypes.round_to(products, form) if rounded else products
    y = dtypes.round_to(terms[0], form)
    for term in terms[1:]:
        y = dtypes.round_to(y + term, form)
    return y


Orders = list[tuple[str, tuple[Array, float]]]
"""(order, (products with the sum's axis in front, divisor of the sum))."""


def _matrix(node: Node, inputs: list[Array | None]) -> Orders:
    """MatMul and Gemm without alpha and beta: along k, the third operand last."""
    a, b = inputs[:2]
    assert a is not None
    assert b is not None
    if node.operator == "Gemm":
        if node.attribute("alpha", 1.0) != 1.0 or node.attribute("beta", 1.0) != 1.0:
            return []
        a, b = (x.T if node.attribute(name, 0) else x for x, name in ((a, "transA"), (b, "transB")))
    if a.ndim < 2 or b.ndim < 2 or a.shape[-1] > LONGEST or node.results[0].size * a.shape[-1] > AFFORDABLE:
        return []
    products = np.stack([a[..., :, k, None] * b[..., k, None, :] for k in range(a.shape[-1])])
    bias = inputs[2] if len(inputs) > 2 else None
    if bias is not None:
        products = np.concatenate([products, np.broadcast_to(bias, products.shape[1:])[None]])
    return [("k in order", (products, 1.0))]


def _convolution(node: Node, inputs: list[Array | None]) -> Orders:
    """Conv: by input channels and taps, or by taps and input channels, the bias last."""
    x, w, *rest = inputs
    assert x is not None
    assert w is not None
    taps = list(np.ndindex(*w.shape[1:]))
    if len(taps) > LONGEST or len(taps) * node.results[0].size > AFFORDABLE or len(taps) * x.size > AFFORDABLE:
        return []
    products = {}
    for tap in taps:
        single = np.zeros(w.shape)
        single[(slice(None), *tap)] = w[(slice(None), *tap)]
        products[tap] = node.again([x, single])[0]
    bias = rest[0].reshape(-1, *[1] * (x.ndim - 2)) if rest and rest[0] is not None else None
    last = [] if bias is None else [np.broadcast_to(bias, node.results[0].shape)]
    by_tap = sorted(taps, key=lambda tap: (tap[1:], tap[0]))
    return [
        (order, (np.stack([products[t] for t in chosen] + last), 1.0))
        for order, chosen in (("channel by channel", taps), ("tap by tap", by_tap))
    ]


def _reduction(node: Node, inputs: list[Array | None]) -> Orders:
    """Sums and means along axes, in the order of memory."""
    x = inputs[0]
    assert x is not None
    axes = reduced_axes(node, x.ndim)
    if not axes or x.size > AFFORDABLE:
        return []
    terms = np.moveaxis(x, axes, range(len(axes)))
    n = int(np.prod(terms.shape[: len(axes)]))
    products = terms.reshape(n, *node.results[0].shape)
    return [("in the order of memory", (products, 1.0 if node.operator == "ReduceSum" else float(n)))]


TERMS = {
    "Conv": _convolution,
    "Gemm": _matrix,
    "GlobalAveragePool": _reduction,
    "MatMul": _matrix,
    "ReduceMean": _reduction,
    "ReduceSum": _reduction,
}
"""Operator → its products in the orders of loops that are usual."""
