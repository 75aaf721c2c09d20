"""Where an output is wrong: in a row, a column, a channel, from some element on, everywhere but at index 0, in single elements.

A region is where the wrong elements lie; what stands there instead is rebuilt: zero, unwritten memory, an older output, or a
repetition of what index 0 has. Where none of that fits, `described` says where the wrong elements lie.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

import numpy as np

from reference import dtypes
from reference.node import Array, Node
from reference.verify import statistics
from reference.verify.compare import elements
from reference.verify.diagnosis import memory
from reference.verify.diagnosis.finding import Diagnosis
from reference.verify.diagnosis.hypothesis import Hypothesis, Question, likely, strict

VECTORS = (128, 64, 32, 16, 8, 4, 2)
"""Elements of a vector register or of a tile, the widest first."""

FILLED = 0.5
"""Share of a region's elements that must be wrong, for the region to be where the fault is."""

WILD_SHARE = 2**8
"""One wrong element among so many is a wild one; up to WILD_MOST always are."""

WILD_MOST = 3
WILD_LEAST = 16
"""Elements that a tensor must have for single ones to be told from a part of it."""

UNLIKELY = 2.0**-10
"""Share of right elements whose errors may be unlikely, though within their bounds."""

WILD_RATIO = 8.0
"""Errors in units of the bound that are none of rounding; where all other elements are exact, any are."""

CHANNELED = frozenset(
    [
        *("AveragePool", "BatchNormalization", "Conv", "ConvInteger", "ConvTranspose", "GlobalAveragePool", "GlobalLpPool"),
        *("GlobalMaxPool", "GroupNormalization", "InstanceNormalization", "LRN", "LpPool", "MaxPool", "MaxUnpool"),
        *("QLinearConv", "QLinearAveragePool", "QLinearGlobalAveragePool"),
    ]
)
"""Operators whose axis 1 holds channels also in three axes; elsewhere those are rows."""


@dataclasses.dataclass(frozen=True)
class Region:
    """A part of the output. cause: None where what stands there tells."""

    cause: str | None
    text: str
    mask: Array


def hypotheses(question: Question) -> Iterator[Hypothesis]:
    """Only where the output has the right shape."""
    if not question.same_shape or question.got.dtype == object or question.expected.value.dtype == object:
        return
    yield from _later(question)
    wrong = question.wrong
    bound = np.broadcast_to(np.asarray(question.expected.bound, np.float64), wrong.shape)
    for region in regions(question.node, wrong):
        sample = question.got[region.mask & wrong][:1]
        for cause, fill, value in _fills(question, sample):
            mixed = np.where(region.mask, value, question.reference)
            text = f"the reference with {fill} in {region.text}"
            yield from question.of_value(region.cause or cause, text, mixed, np.where(region.mask, 0.0, bound))


def _fills(question: Question, sample: Array) -> Iterator[tuple[str, str, Array]]:
    """(cause, text, value) of what may stand where nothing was written."""
    for name, value in memory.poison(question, sample):
        yield "uninitialised", name if name == "0" else f"the bytes {name}", value
    for text, value in memory.stale(question):
        yield "stale", text, value


def axis_cause(node: Node, axis: int, rank: int) -> str:
    """The word for an index along an axis that is missing: a channel, a row or a column."""
    if axis == 1 and (rank >= 4 or (rank == 3 and node.operator in CHANNELED)):
        return "channel-dropped"
    return "column-dropped" if axis == rank - 1 else "row-dropped"


def regions(node: Node, wrong: Array) -> Iterator[Region]:
    """The parts of the output that hold all wrong elements, the smallest and most telling first."""
    if not wrong.any() or wrong.all() or wrong.ndim == 0:
        return
    found = [*_lines(node, wrong), *_tails(wrong), *_later_regions(wrong), *_rest(wrong)]
    for region in found:
        least = 1 if region.cause == "tail-wrong" else 2
        if np.count_nonzero(wrong & region.mask) >= max(least, FILLED * np.count_nonzero(region.mask)):
            yield region


def _spans(wrong: Array) -> list[tuple[int, int]]:
    """(first, last) index along each axis that has wrong elements."""
    spans = []
    for axis in range(wrong.ndim):
        here = np.flatnonzero(wrong.any(tuple(a for a in range(wrong.ndim) if a != axis)))
        spans.append((int(here[0]), int(here[-1])))
    return spans


def _slab(shape: tuple[int, ...], axis: int, first: int, last: int) -> Array:
    mask = np.zeros(shape, bool)
    mask[(slice(None),) * axis + (slice(first, last + 1),)] = True
    return mask


def _lines(node: Node, wrong: Array) -> Iterator[Region]:
    """A single index along an axis."""
    for axis, (first, last) in enumerate(_spans(wrong)):
        extent = wrong.shape[axis]
        if first == last and extent >= 3 and not (axis == 0 and wrong.ndim >= 3):
            cause = axis_cause(node, axis, wrong.ndim)
            kind = cause.removesuffix("-dropped")
            which = f"the last {kind}" if first == extent - 1 else f"{kind} {first}"
            yield Region(cause, f"{which} (index {first} of {extent} along axis {axis})", _slab(wrong.shape, axis, first, last))


def _tails(wrong: Array) -> Iterator[Region]:
    """What lies beyond the last whole vector along the last axis, the one before, or in the order of memory."""
    spans = _spans(wrong)
    for axis in range(wrong.ndim - 1, max(wrong.ndim - 3, -1), -1):
        first, extent = spans[axis][0], wrong.shape[axis]
        width = _vector(extent, first)
        if width:
            text = f"the elements beyond the last multiple of {width} along axis {axis} ({first} to {extent - 1})"
            yield Region("tail-wrong", text, _slab(wrong.shape, axis, first, extent - 1))
    first = int(np.argmax(wrong.reshape(-1)))
    width = _vector(wrong.size, first)
    if width and wrong.ndim > 1:
        text = f"the elements beyond the last multiple of {width} of the whole tensor ({first:,} to {wrong.size - 1:,})"
        yield Region("tail-wrong", text, (np.arange(wrong.size) >= first).reshape(wrong.shape))


def _vector(extent: int, first: int) -> int:
    """The widest vector whose last multiple is `first`, 0 if there is none or no such vector fits."""
    return next((w for w in VECTORS if extent % w and w <= first and extent // w * w == first), 0)


def _later_regions(wrong: Array) -> Iterator[Region]:
    """All but index 0 along the channels or the batch."""
    spans = _spans(wrong)
    for axis, cause, least in ((1, "later-channels", 3), (0, "later-batches", 2)):
        if wrong.ndim >= least and spans[axis] == (1, wrong.shape[axis] - 1):
            kind = cause.removeprefix("later-").removesuffix("es" if axis == 0 else "s")
            yield Region(cause, f"every {kind} but the first", _slab(wrong.shape, axis, 1, wrong.shape[axis] - 1))


def _rest(wrong: Array) -> Iterator[Region]:
    """From some element on in the order of memory; the smallest block that holds all wrong elements."""
    flat = wrong.reshape(-1)
    first, last = int(np.argmax(flat)), flat.size - 1 - int(np.argmax(flat[::-1]))
    if last == flat.size - 1 and first:
        text = f"everything from element {first:,} of {flat.size:,} on"
        yield Region(None, text, (np.arange(flat.size) >= first).reshape(wrong.shape))
    box = np.zeros(wrong.shape, bool)
    spans = _spans(wrong)
    box[tuple(slice(a, b + 1) for a, b in spans)] = True
    text = "the block [" + ", ".join(f"{a}:{b + 1}" for a, b in spans) + "]"
    if not box.all():
        yield Region(None, text, box)
    if first or last < flat.size - 1:
        run = (np.arange(flat.size) >= first) & (np.arange(flat.size) <= last)
        yield Region(None, f"elements {first:,} to {last:,} of {flat.size:,}", run.reshape(wrong.shape))


def _later(question: Question) -> Iterator[Hypothesis]:
    """Later channels and elements of the batch that repeat the first, or are computed with its parameters."""
    y, node = question.reference, question.node
    for axis, cause, least in ((1, "later-channels", 3), (0, "later-batches", 2)):
        kind = cause.removeprefix("later-").removesuffix("es" if axis == 0 else "s")
        if y.ndim >= least and y.shape[axis] > 1:
            first = np.take(y, [0], axis)
            yield from question.of_value(
                cause, f"the reference with its first {kind} in place of every other", np.broadcast_to(first, y.shape).copy()
            )
    if y.ndim < 2:
        return
    for i, x in enumerate(node.inputs):
        if not isinstance(x, np.ndarray) or x.dtype == object or i == 0 or x.ndim == 0 or x.shape[0] < 2:
            continue
        along = y.shape[1] if y.ndim > 2 else y.shape[-1]
        weights = i == 1 and node.operator in ("Conv", "ConvInteger") and x.shape[0] == along
        if (x.size == x.shape[0] == along or weights) and not _chooses(node, i):
            text = f"the reference computed with what input {i} holds for the first channel in every channel"
            yield from question.of_inputs("later-channels", text, _with(node, i, x))
        elif x.ndim == y.ndim and x.ndim >= 3 and x.shape[0] == y.shape[0]:
            text = f"the reference computed with the first element of input {i}'s batch in every one"
            yield from question.of_inputs("later-batches", text, _with(node, i, x))


def _chooses(node: Node, i: int) -> bool:
    """Whether input number i holds axes, extents or indices rather than parameters of channels."""
    x = node.inputs[i]
    return x is not None and x.dtype == np.int64


def _with(node: Node, i: int, x: Array) -> list[Array | None]:
    repeated = np.broadcast_to(x[:1], x.shape).copy()
    return [repeated if j == i else other for j, other in enumerate(node.inputs)]


def described(question: Question) -> Iterator[Diagnosis]:
    """Where the wrong elements lie; the elements that it explains are the right ones elsewhere."""
    if not question.same_shape or question.got.dtype == object or dtypes.name_of(question.got.dtype) != question.expected.dtype:
        return
    judged = elements(strict(question.expected), question.got)
    wrong, size = judged.wrong, judged.wrong.size
    least = WILD_RATIO if question.expected.spread is None else min(WILD_RATIO, statistics.FARTHEST / likely(size))
    wild = wrong & (judged.ratio >= least)
    others = wrong & ~wild
    if np.count_nonzero(others) <= size * UNLIKELY and not np.any(elements(question.expected, question.got).wrong & others):
        wrong = wild if wild.any() else wrong
    count = int(np.count_nonzero(wrong))
    right = ~wrong & ~judged.open
    share = (int(np.count_nonzero(right)), int(np.count_nonzero(right & judged.exact)), int(np.count_nonzero(~judged.open)))
    if not count or not share[0]:
        return
    named = [region for region in regions(question.node, wrong) if region.cause]
    far = bool(np.all(judged.ratio[wrong] >= least)) or share[0] == share[1]
    few = size >= WILD_LEAST and count <= max(WILD_MOST, size // WILD_SHARE)
    if few and far and not named:
        yield Diagnosis("wild-element", f"the reference but for {_places(question, wrong)}", *share)
    for region in named:
        yield Diagnosis(str(region.cause), f"the reference but for {region.text}", *share)


def _places(question: Question, wrong: Array) -> str:
    """The wrong elements by position, the first three of them."""
    positions = np.argwhere(wrong)
    shown = [
        f"{[int(i) for i in at]} ({question.got[tuple(at)]!s} instead of {question.reference[tuple(at)]!s})"
        for at in positions[:3]
    ]
    more = f" and {len(positions) - 3} more" if len(positions) > 3 else ""
    return f"{len(positions)} element{'s' if len(positions) > 1 else ''}: {', '.join(shown)}{more}"
