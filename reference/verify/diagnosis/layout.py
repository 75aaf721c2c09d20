"""Elements in another order: axes permuted, height and width swapped, channels last, other extents, outputs exchanged.

A tensor's buffer may be taken for that of a permuted tensor, or a permuted buffer for the tensor; or the axes themselves are
taken in another order, where the extents allow it.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

import numpy as np

from reference.node import Array
from reference.verify.diagnosis.hypothesis import REFUSALS, Hypothesis, Question
from reference.verify.diagnosis.parameters import instead, label, shown, substituted
from reference.verify.diagnosis.placement import Move, computed, half_width, in_order, moved
from reference.verify.diagnosis.weights import PARAMETERS
from reference.verify.diagnosis.windows import windows_of
from reference.verify.expectation import expectations

Permutation = tuple[int, ...]

RANK = 5
"""Permutations of more axes are too many to try."""

FEW = 4
"""Permutations of more axes are tried on outputs, which costs no evaluation, but not on inputs."""


def hypotheses(question: Question) -> Iterator[Hypothesis]:
    """Outputs first, which need no evaluation, then inputs."""
    if not isinstance(question.reference, np.ndarray):
        return
    yield from _exchanged(question)
    yield from _transpositions(question)
    yield from _outputs(question)
    yield from _inputs(question)
    yield from _both(question)
    yield from _swapped_windows(question)
    yield from _other_extents(question)


def permutations(rank: int) -> list[Permutation]:
    """All orders of the axes but their own: channels last and first before others."""
    if not 2 <= rank <= RANK:
        return []
    found = [to_last(rank), to_first(rank)] if rank > 2 else []
    found += [p for p in itertools.permutations(range(rank)) if p != tuple(range(rank))]
    return list(dict.fromkeys(found))


def to_last(rank: int) -> Permutation:
    """NCHW → NHWC."""
    return (0, *range(2, rank), 1)


def to_first(rank: int) -> Permutation:
    """NHWC → NCHW."""
    return (0, rank - 1, *range(1, rank - 1))


def settled(order: Permutation, shape: Sequence[int]) -> Permutation:
    """The order of the axes that lays the elements out in the same places and leaves a single channel where it is: an image of
    one channel is the same in NCHW and in NHWC, so that what is seen of it is height and width."""
    if len(order) < 4 or shape[1] != 1:
        return order
    others = [axis for axis in order if axis != 1]
    return (others[0], 1, *others[1:])


def orders(shape: Sequence[int]) -> list[Permutation]:
    """Orders of the axes of a buffer that lay its elements out in other places."""
    found = dict.fromkeys(settled(order, shape) for order in permutations(len(shape)))
    return [order for order in found if order != tuple(range(len(shape)))]


def word(order: Permutation) -> str:
    """What a permutation is called."""
    rank = len(order)
    if rank > 3 and order in (to_last(rank), to_first(rank)):
        return "channels-last"
    if rank > 3 and order[:2] == (0, 1):
        return "spatial-swapped"
    return "axes-permuted"


def buffers(order: Permutation, name: str) -> Iterator[tuple[str, str, Move]]:
    """(cause, text, move) of a buffer in that order taken for the tensor's own, and of the tensor's own taken for one."""
    rank, back = len(order), tuple(int(i) for i in np.argsort(order))
    reverse = order == tuple(range(rank))[::-1]
    causes = ["reshape-misread", "axes-permuted"] if reverse and rank > 2 else [word(order)] + ["reshape-misread"] * reverse
    written, read = (
        f"with {name} laid out with its axes in the order {shown(order)}",
        f"with {name} read with its axes in the order {shown(order)}",
    )
    if reverse:
        written, read = f"with {name} laid out column by column", f"with {name} read column by column"
    if causes[0] == "channels-last":
        ways = ("NHWC", "NCHW") if order == to_last(rank) else ("NCHW", "NHWC")
        written, read = (
            f"with the buffer of {name} in {ways[0]} taken for {ways[1]}",
            f"with the buffer of {name} taken for {ways[0]}",
        )
    for cause in causes:
        yield cause, written, lambda x: x.transpose(order).reshape(x.shape)
        yield cause, read, lambda x: x.reshape([x.shape[i] for i in order]).transpose(back)


def _exchanged(question: Question) -> Iterator[Hypothesis]:
    """Another output of the same node."""
    node = question.node
    if len(node.results) < 2:
        return
    try:
        with np.errstate(all="ignore"):
            others = expectations(node, question.setting)
    except REFUSALS:
        return
    for i, other in enumerate(others):
        if i == question.index or not isinstance(other.value, np.ndarray) or other.dtype != question.expected.dtype:
            continue
        try:
            width = half_width(other)
        except REFUSALS:
            continue
        name = other.name or f"output {i}"
        yield from question.of_value("outputs-swapped", f"the reference of the output {name}", other.value, width)


def _transpositions(question: Question) -> Iterator[Hypothesis]:
    """Transpose without its perm, which ONNX then has reverse the axes, or with another: the inverse first. The elements in
    order may fill the extents that were asked for."""
    node = question.node
    if node.operator != "Transpose" or node.inputs[0] is None or node.inputs[0].ndim > RANK:
        return
    rank = node.inputs[0].ndim
    given = tuple(node.attributes.get("perm") or range(rank)[::-1])
    inverse = tuple(int(i) for i in np.argsort(given))
    implied = tuple(range(rank))[::-1]
    for perm in dict.fromkeys([inverse, tuple(range(rank)), implied, *permutations(rank)]):
        if perm == given:
            continue
        cause = "attribute-default" if perm == implied != inverse else "axes-permuted"
        text = f"{instead('perm', perm, given)}{', which is its default' if cause == 'attribute-default' else ''}"
        make = computed(node, node.inputs, perm=list(perm))
        yield from question.of_node(cause, text, make)
        if question.same_shape:
            yield from moved(question, cause, f"{text}, its elements in order", in_order(question.got.shape), make)


def _outputs(question: Question) -> Iterator[Hypothesis]:
    kept = orders(question.reference.shape)
    for order in permutations(question.reference.ndim):
        text = f"the reference with its axes in the order {shown(order)}"
        permutes = question.node.operator == "Transpose"
        yield from moved(question, "axes-permuted" if permutes else word(order), text, _transposed(order))
        if question.same_shape and order in kept:
            for cause, how, move in buffers(order, "the output"):
                yield from moved(question, "axes-permuted" if permutes else cause, f"the reference {how}", move)
    if not question.same_shape and question.got.size == question.reference.size:
        shape = question.got.shape
        text = f"the reference with the extents {shown(shape)} instead of {shown(question.reference.shape)}"
        yield from moved(question, "reshape-misread", text, lambda x: x.reshape(shape))


def _transposed(order: Sequence[int]) -> Move:
    return lambda x: x.transpose(order)


def _inputs(question: Question) -> Iterator[Hypothesis]:
    """Every operand that is data, not weights, with its elements in another order."""
    node = question.node
    for i, x in enumerate(node.inputs):
        if not isinstance(x, np.ndarray) or not 2 <= x.ndim <= FEW or i in PARAMETERS.get(node.operator, ()):
            continue
        name, distinct = label(node, i), orders(x.shape)
        for order in permutations(x.ndim):
            kept = buffers(order, name) if question.same_shape and order in distinct else ()
            for cause, how, move in (*kept, _axes(order, name)):
                try:
                    other = move(x)
                except REFUSALS:
                    continue
                cause = "axes-permuted" if node.operator == "Transpose" else cause
                if other.shape != x.shape or not _same(other, x):
                    yield from question.of_inputs(cause, f"the reference {how}", substituted(node, {i: other}))


def _axes(order: Permutation, name: str) -> tuple[str, str, Move]:
    return word(order), f"with the axes of {name} in the order {shown(order)}", _transposed(order)


def _same(a: Array, b: Array) -> bool:
    return np.array_equal(a, b, equal_nan=a.dtype.kind == "f")


def _both(question: Question) -> Iterator[Hypothesis]:
    """The operator on permuted axes, its result permuted back: channels last, height and width swapped."""
    node = question.node
    x = node.inputs[0] if node.inputs else None
    if not isinstance(x, np.ndarray) or not 3 <= x.ndim <= RANK or question.reference.ndim != x.ndim:
        return
    if node.operator == "Transpose":
        return
    rank = x.ndim
    swapped = (0, 1, *range(2, rank)[::-1])
    named = [
        ("channels-last", "computed on the first input as if it were NHWC", to_first(rank), to_last(rank)),
        ("channels-last", "computed on the first input as if the channels came second to last", to_last(rank), to_first(rank)),
        ("spatial-swapped", "computed with the spatial axes of the first input and of the output swapped", swapped, swapped),
    ]
    for cause, text, there, back in named if rank > 3 else named[:2]:
        inputs = substituted(node, {0: x.transpose(there)})

        yield from moved(question, cause, f"the reference {text}", _transposed(back), computed(node, inputs))


def _swapped_windows(question: Question) -> Iterator[Hypothesis]:
    """Height and width of what attributes and small inputs give for each spatial axis."""
    node = question.node
    reverse: dict[str, list[int]] = {}
    windows = windows_of(node)
    if windows is not None:
        n = len(windows.kernel)
        pads = [*windows.pads[:n][::-1], *windows.pads[n:][::-1]]
        lists = {"kernel_shape": windows.kernel[::-1], "strides": windows.strides[::-1], "dilations": windows.dilations[::-1]}
        reverse = {k: list(v) for k, v in {**lists, "pads": pads}.items() if k in node.attributes}
        if "kernel_shape" in reverse and node.operator not in PARAMETERS:
            text = instead("kernel_shape", reverse["kernel_shape"], windows.kernel)
            yield from question.of_attributes("spatial-swapped", text, kernel_shape=reverse["kernel_shape"])
    if len(reverse) > 1 and node.operator not in PARAMETERS:
        text = f"the reference computed with height and width swapped in {', '.join(reverse)}"
        yield from question.of_attributes("spatial-swapped", text, **reverse)
    if {"output_height", "output_width"} <= set(node.attributes):
        height, width = node.attributes["output_width"], node.attributes["output_height"]
        text = "the reference computed with output_height and output_width swapped"
        yield from question.of_attributes("spatial-swapped", text, output_height=height, output_width=width)
    for i, x in enumerate(node.inputs):
        if isinstance(x, np.ndarray) and label(node, i) in ("scales", "sizes") and x.size > 3:
            flipped = np.concatenate([x[:2], x[2:][::-1]])
            text = f"the reference computed with height and width swapped in {label(node, i)}"
            yield from question.of_inputs("spatial-swapped", text, substituted(node, {i: flipped}))


def _other_extents(question: Question) -> Iterator[Hypothesis]:
    """The first input with its extents in another order and its elements in their own, computed and stored back."""
    node = question.node
    x = node.inputs[0] if node.inputs else None
    if not isinstance(x, np.ndarray) or not 2 <= x.ndim <= FEW:
        return
    shape = question.got.shape
    for extents in dict.fromkeys(itertools.permutations(x.shape)):
        if extents != x.shape:
            text = f"the reference with {label(node, 0)} read with the extents {shown(extents)} instead of {shown(x.shape)}"
            yield from moved(
                question, "reshape-misread", text, in_order(shape), computed(node, substituted(node, {0: x.reshape(extents)}))
            )
