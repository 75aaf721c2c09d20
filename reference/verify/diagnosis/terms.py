"""A term too few or too many in each sum, maximum or product: loops over a contraction axis or a window that end early,
start late or count an element twice.

A term is taken out by putting the operation's neutral element in its place, so divisors stay what they are.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from reference import ingredients
from reference.node import Array, Node
from reference.ops import pooling, windows
from reference.verify.diagnosis.hypothesis import REFUSALS, Hypothesis, Question, changed
from reference.verify.diagnosis.parameters import substituted

Index = tuple[Any, ...]


@dataclasses.dataclass(frozen=True)
class Term:
    """A term of every sum: the elements `where` of input number `index`. neutral: what stands for nothing there; twice: what
    counts for two, None where nothing does."""

    index: int
    where: Index
    text: str
    neutral: Array | float = 0.0
    twice: Callable[[Array], Array] | None = None


def hypotheses(question: Question) -> Iterator[Hypothesis]:
    """Terms of sums, of normalisers and windows, then keys."""
    node = question.node
    try:
        terms = list(_terms(node))
    except REFUSALS:  # a node whose attributes or shapes are none of ONNX's
        terms = []
    for term in terms:
        text, put = f"the reference without {term.text}", functools.partial(_put, node, term, twice=False)
        yield from question.of_inputs("term-dropped", text, put)
    for term in terms:
        if term.twice:
            text = f"the reference with {term.text} counted twice"
            yield from question.of_inputs("term-duplicated", text, functools.partial(_put, node, term, twice=True))
    yield from _normalised(question)
    yield from _windows(question)
    yield from _keys(question)


def _put(node: Node, term: Term, *, twice: bool) -> list[Array | None]:
    inputs = list(node.inputs)
    x = inputs[term.index]
    if x is None:
        return inputs
    wide = x.astype(np.int32) if x.dtype.kind in "iu" and x.dtype.itemsize < 4 and twice else x.copy()
    wide[term.where] = term.twice(wide[term.where]) if twice and term.twice else term.neutral
    inputs[term.index] = wide
    return inputs


def _terms(node: Node) -> Iterator[Term]:
    """The first and the last term of every sum that the operator makes."""
    if not node.inputs or not isinstance(node.inputs[0], np.ndarray):
        return
    if node.operator in PRODUCTS:
        yield from _factors(node, *PRODUCTS[node.operator])
    elif node.operator in CONVOLUTIONS:
        yield from _kernels(node, *CONVOLUTIONS[node.operator])
    elif node.operator == "Einsum":
        yield from _contracted(node)
    elif node.operator in REDUCTIONS:
        yield from _reduced(node)
    elif node.operator in ("Sum", "Mean", "Max", "Min") and len(node.inputs) > 1:
        neutral, twice = _neutral(node, f"Reduce{node.operator}")
        for i, which in ((len(node.inputs) - 1, "last"), (0, "first")):
            yield Term(i, (...,), f"the {which} of its {len(node.inputs)} inputs", neutral, twice)


def _double(x: Array) -> Array:
    return x + x


PRODUCTS: dict[str, tuple[int, int | None]] = {
    "MatMul": (0, None),
    "Gemm": (0, None),
    "MatMulInteger": (0, 2),
    "QLinearMatMul": (0, 2),
}
"""Operator → (its first matrix, that matrix' zero point) by number of input."""

LAYOUT = ("auto_pad", "ceil_mode", "dilations", "pads", "strides")
"""Attributes that say where windows lie."""

CONVOLUTIONS: dict[str, tuple[int, int | None]] = {
    "Conv": (1, None),
    "ConvInteger": (1, 3),
    "ConvTranspose": (1, None),
    "QLinearConv": (3, 5),
}
"""Operator → (its weights, their zero point)."""

REDUCTIONS: dict[str, tuple[float, Callable[[Array], Array] | None]] = {
    "ArgMax": (-np.inf, None),
    "ArgMin": (np.inf, None),
    "GlobalAveragePool": (0.0, _double),
    "GlobalMaxPool": (-np.inf, None),
    "ReduceL1": (0.0, _double),
    "ReduceL2": (0.0, lambda x: x * np.sqrt(2)),
    "ReduceLogSum": (0.0, _double),
    "ReduceLogSumExp": (-np.inf, lambda x: x + np.log(2)),
    "ReduceMax": (-np.inf, None),
    "ReduceMean": (0.0, _double),
    "ReduceMin": (np.inf, None),
    "ReduceProd": (1.0, lambda x: x * x),
    "ReduceSum": (0.0, _double),
    "ReduceSumSquare": (0.0, lambda x: x * np.sqrt(2)),
}
"""Operator → (what adds nothing, what counts an element twice)."""


def _neutral(node: Node, operator: str) -> tuple[Array | float, Callable[[Array], Array] | None]:
    """As in the table; the ends of an integer type stand for the infinities."""
    number, twice = REDUCTIONS[operator]
    x = node.inputs[0]
    assert isinstance(x, np.ndarray)
    if x.dtype.kind in "iu" and np.isinf(number):
        info = np.iinfo(x.dtype)
        return (info.min if number < 0 else info.max), twice
    return number, twice


def _zero(node: Node, index: int | None) -> Array | float:
    """A zero point as what stands for 0: of one element, else unknown."""
    x = node.inputs[index] if index is not None and index < len(node.inputs) else None
    if x is None:
        return 0.0
    if x.size != 1:
        raise ValueError("one zero point for all is expected")
    return np.asarray(x.reshape(()))


def _factors(node: Node, index: int, zero_point: int | None) -> Iterator[Term]:
    x = node.inputs[index]
    assert isinstance(x, np.ndarray)
    axis = 0 if node.operator == "Gemm" and node.attribute("transA", 0) else x.ndim - 1
    k = x.shape[axis]
    twice = _double if zero_point is None else None
    for which, at in (("last", k - 1), ("first", 0)) if k > 1 else ():
        where = ((slice(None),) * axis) + (at,)
        yield Term(index, where, f"the {which} of the {k} products of each sum (k = {at})", _zero(node, zero_point), twice)


def _kernels(node: Node, index: int, zero_point: int | None) -> Iterator[Term]:
    """Kernel rows and columns, input channels of each group, the single last tap of all."""
    w = node.inputs[index]
    assert isinstance(w, np.ndarray)
    zero = _zero(node, zero_point)
    twice = _double if zero_point is None else None
    names = {1: ["element"], 2: ["row", "column"], 3: ["plane", "row", "column"]}.get(w.ndim - 2, [])
    channels: list[tuple[str, Index, int]] = []
    if node.operator == "ConvTranspose":
        groups = int(node.attribute("group", 1))
        each = w.shape[0] // groups
        channels = [(which, (np.arange(groups) * each + at,), each) for which, at in (("last", each - 1), ("first", 0))]
    else:
        channels = [(which, (slice(None), at), w.shape[1]) for which, at in (("last", w.shape[1] - 1), ("first", 0))]
    for which, where, n in channels:
        if n > 1:
            yield Term(index, where, f"the {which} of the {n} input channels of each sum", zero, twice)
    for which, at in (("last", -1), ("first", 0)):
        for axis, name in enumerate(names, 2):
            if w.shape[axis] > 1:
                where = ((slice(None),) * axis) + (at,)
                yield Term(index, where, f"the {which} of the {w.shape[axis]} kernel {name}s", zero, twice)
        between = [slice(None)] if node.operator == "ConvTranspose" else []
        taps = (*channels[0 if at else 1][1], *between, *[at] * (w.ndim - 2))
        yield Term(index, taps, f"the {which} product of each sum", zero, twice)


def _contracted(node: Node) -> Iterator[Term]:
    """Axes of an operand whose label the output lacks."""
    operands, _, output = node.attributes["equation"].replace(" ", "").partition("->")
    if "." in operands or not output:
        return
    for i, labels in enumerate(operands.split(",")):
        x = node.inputs[i]
        for axis, label in enumerate(labels):
            if x is None or label in output or labels in operands.split(",")[:i] or x.shape[axis] < 2:
                continue
            for which, at in (("last", x.shape[axis] - 1), ("first", 0)):
                where = ((slice(None),) * axis) + (at,)
                yield Term(i, where, f"the {which} of the {x.shape[axis]} terms along '{label}'", 0.0, _double)


def _reduced(node: Node) -> Iterator[Term]:
    """First and last index along each axis that disappears, and the single first and last element."""
    x = node.inputs[0]
    assert isinstance(x, np.ndarray)
    neutral, twice = _neutral(node, node.operator)
    axes = reduced_axes(node, x.ndim)
    for which, at in (("last", -1), ("first", 0)):
        for axis in axes:
            if x.shape[axis] > 1:
                where: list[int | slice] = [slice(None)] * x.ndim
                where[axis] = at
                yield Term(0, tuple(where), f"the {which} of the {x.shape[axis]} terms along axis {axis}", neutral, twice)
        if len(axes) > 1:
            single = tuple(at if axis in axes else slice(None) for axis in range(x.ndim))
            yield Term(0, single, f"the {which} term of each sum", neutral, twice)


def reduced_axes(node: Node, rank: int) -> tuple[int, ...]:
    """The axes that a reduction or a global pooling takes away."""
    if node.operator.startswith("Global"):
        return tuple(range(2, rank))
    if node.operator.startswith("Arg"):
        return (int(node.attribute("axis", 0)) % rank,)
    axes = node.inputs[1] if node.given(1) else node.attribute("axes", None)
    if axes is None or len(axes) == 0:
        return () if node.attribute("noop_with_empty_axes", 0) else tuple(range(rank))
    return tuple(int(a) % rank for a in axes)


def _normalised(question: Question) -> Iterator[Hypothesis]:
    """Softmax whose normaliser lacks a term or has one twice; moments of normalisations without the last element."""
    node = question.node
    try:
        inner = ingredients.of(node)
        y = question.reference
        if node.operator in ("Softmax", "LogSoftmax") and "probability" in inner:
            axis = ingredients.softmax_axes(node)[-1]
            for which, at in (("last", -1), ("first", 0)):
                p = np.take(inner["probability"], [at], axis)
                for cause, sign, how in (("term-dropped", -1, "without"), ("term-duplicated", 1, "with twice")):
                    total = 1 + sign * p
                    value = y / total if node.operator == "Softmax" else y - np.log(total)
                    text = (
                        f"the reference normalised by a sum {how} the {which} of {y.shape[axis]} exponentials along axis {axis}"
                    )
                    yield from question.of_value(cause, text, value)
        elif node.operator in ("LayerNormalization", "RMSNormalization", "InstanceNormalization"):
            yield from _moments(question)
    except REFUSALS:
        return


def _moments(question: Question) -> Iterator[Hypothesis]:
    """Sums of a normalisation without the last element, divided by the whole number of elements."""
    node = question.node
    x = node.real(0)
    instance = node.operator == "InstanceNormalization"
    first = 2 if instance else int(node.attribute("axis", -1)) % x.ndim
    flat = x.reshape(*x.shape[:first], -1)
    n, kept = flat.shape[-1], flat[..., :-1]
    mean = 0.0 if node.operator.startswith("RMS") else kept.sum(-1, keepdims=True) / n
    variance = ((kept - mean) ** 2).sum(-1, keepdims=True) / n
    scale = node.real(1).reshape(-1, *[1] * (x.ndim - 2)) if instance else node.real(1)
    y = ((flat - mean) / np.sqrt(variance + node.attribute("epsilon", 1e-5))).reshape(x.shape) * scale
    if node.given(2):
        y = y + (node.real(2).reshape(-1, *[1] * (x.ndim - 2)) if instance else node.real(2))
    if question.index == 0:
        yield from question.of_value("term-dropped", f"the reference with moments that lack the last of {n} elements", y)


def _windows(question: Question) -> Iterator[Hypothesis]:
    """Pooling windows that lack their last row or column; divisors stay what they are."""
    node = question.node
    x, kernel = node.inputs[0] if node.inputs else None, node.attribute("kernel_shape", None)
    if node.operator not in ("AveragePool", "MaxPool", "LpPool") or not isinstance(x, np.ndarray) or not kernel:
        return
    names = {1: ["element"], 2: ["row", "column"], 3: ["plane", "row", "column"]}.get(len(kernel), [])
    for axis, name in enumerate(names):
        if kernel[axis] < 2 or node.attribute("auto_pad", "NOTSET") != "NOTSET":
            continue
        shorter = [k - (a == axis) for a, k in enumerate(kernel)]
        try:
            less = changed(node, node.inputs, kernel_shape=shorter)
            shape = question.reference.shape
            inside = tuple(slice(0, n) for n in shape)
            value = less.results[question.index][inside]
            if node.operator == "AveragePool":
                had = pooling.window_counts(x, **node.attributes)[1]
                has = pooling.window_counts(x, **less.attributes)[1][tuple(slice(0, n) for n in had.shape)]
                value = value * has / had
        except REFUSALS:
            continue
        text = f"the reference without the last of the {kernel[axis]} {name}s of each window"
        yield from question.of_value("term-dropped", text, value)
    yield from _last_taps(question, x, kernel)


def _last_taps(question: Question, x: Array, kernel: Sequence[int]) -> Iterator[Hypothesis]:
    """Pooling windows that lack their last element, or their first."""
    node, average = question.node, question.node.operator == "AveragePool"
    if question.index or node.operator == "LpPool":
        return
    try:
        layout = {name: v for name, v in node.attributes.items() if name in LAYOUT}
        axes = windows.axes_of(x.shape[2:], kernel, **layout)
        shown = windows.windows(x, axes, 0 if average else _neutral(node, "ReduceMax")[0])
        taps = shown.reshape(*shown.shape[: x.ndim], -1)
        divisor = pooling.window_counts(x, **node.attributes)[1] if average else 1
        for which, tap, others in (("last", -1, slice(None, -1)), ("first", 0, slice(1, None))):
            value = question.reference - taps[..., tap] / divisor if average else taps[..., others].max(-1)
            text = f"the reference without the {which} of the {taps.shape[-1]} elements of each window"
            yield from question.of_value("term-dropped", text, value)
    except REFUSALS:
        return


def _keys(question: Question) -> Iterator[Hypothesis]:
    """Attention that leaves the last or the first key out, or has it twice."""
    node = question.node
    if node.operator not in ("Attention", "MultiHeadAttention") or len(node.inputs) < 3:
        return
    q, k, v = node.inputs[:3]
    if q is None or k is None or v is None or k.ndim != v.ndim or k.ndim not in (3, 4) or k.shape[-2] < 2:
        return
    count = k.shape[-2]
    every = np.arange(count)
    named = [("term-dropped", "without the last", every[:-1])]
    if not node.attribute("is_causal", 0) and not node.attribute("unidirectional", 0):
        named += [("term-dropped", "without the first", every[1:])]
    named += [("term-duplicated", "with twice the last", np.append(every, count - 1))]
    for cause, how, kept in named:
        yield from question.of_inputs(cause, f"the reference {how} of the {count} keys", functools.partial(_chosen, node, kept))


def _chosen(node: Node, kept: Array) -> list[Array | None]:
    """The inputs of attention with some keys only, their values and their column of the mask."""
    new: dict[int, Array | None] = {i: np.take(node.real(i), kept, -2) for i in (1, 2)}
    mask = node.inputs[3] if node.operator == "Attention" and node.given(3) else None
    if mask is not None and mask.ndim and mask.shape[-1] == node.real(1).shape[-2]:
        new[3] = np.take(mask, kept, -1)
    return substituted(node, new)
