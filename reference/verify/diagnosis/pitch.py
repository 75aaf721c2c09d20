"""Rows at another distance than they have: padding taken for data, or data skipped."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator

import numpy as np

from reference.node import Array
from reference.verify.diagnosis import memory
from reference.verify.diagnosis.hypothesis import Hypothesis, Question
from reference.verify.diagnosis.parameters import label, substituted
from reference.verify.diagnosis.placement import half_width

CAUSE = "row-pitch"

ALIGNMENTS = (4, 8, 16, 32, 64, 128, 256)
"""To which rows are aligned, in elements or in bytes."""

NEAR = (1, -1, 2, -2, 3, -3)


def hypotheses(question: Question) -> Iterator[Hypothesis]:
    """The output's rows, planes and pixels, which need no evaluation, then those of each input."""
    if not isinstance(question.reference, np.ndarray) or not question.same_shape:
        return
    yield from _output(question)
    for i, x in enumerate(question.node.inputs):
        if isinstance(x, np.ndarray) and x.ndim >= 2 and x.size > 1 and x.dtype.kind in "fiub":
            yield from _input(question, i, x)


def pitches(row: int, bits: int) -> list[int]:
    """Distances other than the row's own length, in elements: aligned, or one unit longer where they are already, as against
    conflicts of banks; then a few elements off."""
    aligned = []
    for alignment in ALIGNMENTS:
        for elements in (alignment, alignment * 8 // bits if bits else alignment):
            if elements > 1:
                up = -(-row // elements) * elements
                aligned.append(up if up != row else row + elements)
    found = [*aligned, *(row + near for near in NEAR)]
    return [p for p in dict.fromkeys(found) if p > 0 and p != row and p < 4 * row + 16]


def lengths(shape: tuple[int, ...]) -> list[int]:
    """Lengths of what may be stored apart: rows, planes, images; not the whole tensor."""
    found = [math.prod(shape[i:]) for i in range(len(shape) - 1, 0, -1)]
    return [n for n in dict.fromkeys(found) if 1 <= n < math.prod(shape)]


def _bits(dtype: str | None) -> int:
    """Of an element, as its type's name says; 0 where it does not."""
    found = re.search(r"\d+", dtype or "")
    return int(found.group()) if found else 0


def spread(flat: Array, row: int, pitch: int, fill: object) -> Array:
    """The first elements of a buffer that holds the rows `pitch` apart, with `fill` between them; as many as there were."""
    rows = flat.reshape(-1, row)[:, : min(row, pitch)]
    buffer: Array = np.full((len(rows), pitch), fill, flat.dtype)
    buffer[:, : rows.shape[1]] = rows
    return _extended(buffer.reshape(-1), flat.size, fill)[: flat.size]


def gathered(flat: Array, row: int, pitch: int, fill: object) -> Array:
    """Rows read `pitch` apart from a buffer that holds them without distance; `fill` beyond its end."""
    count = flat.size // row
    buffer = _extended(flat, (count - 1) * pitch + row, fill)
    starts = np.arange(count)[:, None] * pitch + np.arange(row)
    return np.asarray(buffer[starts].reshape(-1))


def _extended(flat: Array, size: int, fill: object) -> Array:
    if flat.size >= size:
        return flat
    return np.concatenate([flat, np.full(size - flat.size, fill, flat.dtype)])


def _output(question: Question) -> Iterator[Hypothesis]:
    value = question.reference
    if value.dtype.kind not in "fiub" or value.size < 4 or np.all(question.got == question.got.flat[0]):
        return  # a constant output shows no rows
    width = half_width(question.expected).reshape(-1).astype(np.float64)
    shape, flat = value.shape, value.reshape(-1)
    for row in lengths(shape):
        for pitch in pitches(row, _bits(question.expected.dtype)):
            for how, move in (("written", spread), ("read", gathered)):
                text = f"the reference with the output {how} in rows {pitch} elements apart instead of {row}"
                placed, error = move(flat, row, pitch, 0).reshape(shape), move(width, row, pitch, np.inf).reshape(shape)
                apart = move(np.zeros(flat.size, bool), row, pitch, fill=True).reshape(shape)
                for name, value in memory.poison(question, question.got[apart][:1]):
                    held = f"{text}, {name if name == '0' else f'the bytes {name}'} between and beyond them"
                    yield from question.of_value(CAUSE, held, np.where(apart, value, placed), np.where(apart, 0.0, error))
                yield from question.of_value(CAUSE, text, placed, error)  # whatever stands there: left open


def _input(question: Question, at: int, x: Array) -> Iterator[Hypothesis]:
    node, flat = question.node, x.reshape(-1)
    for row in lengths(x.shape)[:2]:
        for pitch in pitches(row, _bits(node.types[at] if at < len(node.types) else None)):
            for how, move in (("read", gathered), ("stored", spread)):
                other = move(flat, row, pitch, 0).reshape(x.shape)
                text = f"the reference with {label(node, at)} {how} in rows {pitch} elements apart instead of {row}"
                yield from question.of_inputs(CAUSE, text, substituted(node, {at: other}))
