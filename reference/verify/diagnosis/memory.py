"""Memory that a node should have written and did not: it still holds the outputs of an earlier run, or what allocators fill
unwritten memory with."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np

from reference import dtypes
from reference.node import Array
from reference.verify.diagnosis.finding import Diagnosis
from reference.verify.diagnosis.hypothesis import Hypothesis, Question

FAR = 2.0**30
"""Beyond this factor from the reference's largest and smallest magnitudes no fault of arithmetic leads so many elements."""

RANDOM_SHARE = 0.1
"""Share of the elements that must be far too large, and as many far too small, for bytes to be any."""

FEWEST_BYTES = 512
"""Bytes of a tensor from which on their frequencies say something."""

CLASSES = 8
"""Into how many classes of equal size numbers are sorted, to see whether some go with others."""

DEVIATIONS = 5.0
"""Standard deviations by which χ² may exceed its mean."""

PATTERNS: dict[str, bytes] = {
    "0": b"\x00",
    **{f"0x{byte:02X}": bytes([byte]) for byte in (0xCD, 0xAA, 0xA5, 0xFF, 0xCC, 0x55, 0x5A, 0xDD, 0xFD, 0xAB, 0xBE, 0xEE)},
    "0xDEADBEEF": bytes.fromhex("EFBEADDE"),
    "0xBAADF00D": bytes.fromhex("0DF0ADBA"),
    "0xCAFEBABE": bytes.fromhex("BEBAFECA"),
    "0xFEEEFEEE": bytes.fromhex("EEFEEEFE"),
    "0xDEADBEEF (big-endian)": bytes.fromhex("DEADBEEF"),
}
"""What debuggers, allocators and drivers fill unwritten memory with → its bytes, little-endian where not said otherwise."""


def hypotheses(question: Question) -> Iterator[Hypothesis]:
    """Of the whole output; parts of it are `extent`'s."""
    for text, value in stale(question):
        yield from question.of_value("stale", text, value, 0.0)
    for old in question.late:
        if old.dtype == question.expected.dtype:
            text = "the reference of the case before: results come one run late"
            yield from question.of_value("stale", text, old.value, old.bound)
    for name, value in poison(question, question.got.reshape(-1)[:1]):
        what = "0 everywhere" if name == "0" else f"the bytes {name} everywhere: memory that nobody wrote"
        yield from question.of_value("uninitialised", what, value, 0.0)


def stale(question: Question) -> Iterator[tuple[str, Array]]:
    """(text, value) of what buffers may still hold: outputs of the case before, whole or as far as they fill this one, and
    the inputs of this."""
    got = question.got
    for number, old in enumerate(question.previous):
        if not isinstance(old, np.ndarray) or old.dtype == object or got.dtype == object:
            continue
        which = f"output {number} of the case before" if len(question.previous) > 1 else "the output of the case before"
        if old.shape == got.shape:
            yield which, dtypes.to_real(np.asarray(old).astype(got.dtype))
        elif old.nbytes >= got.nbytes:
            held = np.frombuffer(np.ascontiguousarray(old).tobytes()[: got.nbytes], got.dtype).reshape(got.shape)
            yield f"the first bytes of {which}", dtypes.to_real(held)
    for i, (x, dtype) in enumerate(zip(question.node.inputs, question.node.types, strict=False)):
        if not isinstance(x, np.ndarray) or x.shape != got.shape or dtype != question.expected.dtype:
            continue
        if not np.array_equal(x.reshape(-1), question.reference.reshape(-1)):  # else the right output holds it too, in order
            yield f"input {i}, unchanged", x


def poison(question: Question, sample: Array) -> Iterator[tuple[str, Array]]:
    """(pattern, tensor of the output's shape that is filled with it) for the patterns that a sample of elements starts with."""
    got = question.got
    if got.dtype == object or sample.size == 0:
        return
    found = np.ascontiguousarray(sample)[:1].tobytes()
    for name, pattern in PATTERNS.items():
        held = bytes(itertools.islice(itertools.cycle(pattern), got.dtype.itemsize))
        if held == found:
            yield name, dtypes.to_real(np.full(got.shape, np.frombuffer(held, got.dtype)[0]))
            return


def described(question: Question) -> Iterator[Diagnosis]:
    """Bytes that were never numbers: floating-point numbers of any magnitude, or every byte as often as any other."""
    if not question.same_shape or question.got.dtype.kind == "b":
        return
    if question.got.dtype == object or question.expected.value.dtype == object:
        yield from _empty_strings(question)
        return
    if _any_bytes(question):
        text = "every byte value is about as frequent, whatever the reference holds there, as in memory that nobody wrote"
        yield Diagnosis("uninitialised", text)
    elif dtypes.is_float(question.expected.dtype):
        yield from _any_magnitude(question)


def _empty_strings(question: Question) -> Iterator[Diagnosis]:
    """Strings of which those that are wrong are empty, as a new string is."""
    empty = np.frompyfunc(lambda x: isinstance(x, str) and not x, 1, 1)(question.got).astype(bool)
    if question.expected.dtype == "str" and np.all(empty[question.wrong]):
        right, size = int(np.count_nonzero(~question.wrong)), question.wrong.size
        text = f"{size - right} of {size} strings are empty, as in memory that nobody wrote"
        yield Diagnosis("uninitialised", text)


def _any_bytes(question: Question) -> bool:
    """Whether bytes are uniform and independent of the reference, and are not its own in another order."""
    got, reference = question.got.reshape(-1), question.reference.reshape(-1)
    if got.nbytes < FEWEST_BYTES or got.dtype.kind == "c" or dtypes.name_of(got.dtype) != question.expected.dtype:
        return False
    counts = np.bincount(np.ascontiguousarray(got).view(np.uint8), minlength=256)
    if not _by_chance(counts, np.full(256, counts.mean()), 255):
        return False
    y, x = (dtypes.to_real(z).astype(np.float64) for z in (got, reference))
    table = np.zeros((CLASSES, CLASSES))
    np.add.at(table, (_classes(y), _classes(x)), 1.0)
    alone = table.sum(1, keepdims=True) * table.sum(0) / table.sum()
    return _by_chance(table, alone, (CLASSES - 1) ** 2) and not np.array_equal(np.sort(y), np.sort(x))


def _classes(x: Array) -> Array:
    """The class of every number; equal numbers share one, NaN are the largest."""
    limits = np.sort(x)[np.arange(1, CLASSES) * x.size // CLASSES]
    return np.searchsorted(limits, x, side="right")


def _by_chance(counts: Array, expected: Array, freedom: int) -> bool:
    """Whether counts differ from expected ones no more than chance makes them (Pearson's χ²)."""
    used = expected > 0
    chi = float((((counts - expected)[used]) ** 2 / expected[used]).sum())
    return bool(chi <= freedom + DEVIATIONS * np.sqrt(2 * freedom))


def _any_magnitude(question: Question) -> Iterator[Diagnosis]:
    got, reference = (np.abs(dtypes.to_real(x).astype(np.float64)) for x in (question.got, question.reference))
    known = reference[np.isfinite(reference) & (reference > 0)]
    if not known.size:
        return
    large = np.count_nonzero(~(got <= known.max() * FAR))
    small = np.count_nonzero((got > 0) & (got * FAR < known.min()))
    if min(large, small) >= RANDOM_SHARE * got.size:
        yield Diagnosis("uninitialised", "elements are of any magnitude, as in memory that nobody wrote")
