"""What becomes of NaN, infinities, subnormal numbers and the sign of zero on devices that do not keep them.

A replacement is supposed only where the device's number differs in kind from the exact one; what stands there instead is
compared as in any other hypothesis.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from reference import dtypes, ingredients
from reference.node import Array
from reference.verify.diagnosis.hypothesis import Hypothesis, Question


def hypotheses(question: Question) -> Iterator[Hypothesis]:
    """For outputs of the right shape only, floating-point ones and truth values."""
    dtype = question.expected.dtype
    if dtype == "bool" and question.same_shape and question.got.dtype == np.bool_:
        yield from _truths(question)
    if not dtypes.is_float(dtype) or not question.same_shape or dtypes.name_of(question.got.dtype) != dtype:
        return
    with np.errstate(all="ignore"):
        got, reference = dtypes.to_real(question.got), question.reference.astype(np.float64)
        stored = dtypes.round_to(reference, dtype)
        yield from _flushed(question, got, reference)
        yield from _nan_lost(question, got, stored)
        yield from _infinity_clamped(question, got, stored)
        yield from _overflows(question)
        yield from _made(question, got, stored)
        yield from _zero_signs(question, got, stored)


ON_THE_WAY = 4
"""Results up to so many times the smallest normal number come of subnormal ones: asin(x) as 2·atan(x/2…)."""


def _replaced(question: Question, mask: Array, number: Array | float) -> tuple[Array, Array]:
    """(the exact result with `number` where `mask` is set, a bound of 0 there)."""
    bound = np.broadcast_to(np.asarray(question.expected.bound, np.float64), mask.shape)
    return np.where(mask, number, question.reference), np.where(mask, 0.0, bound)


def _share(mask: Array, candidates: Array) -> str:
    """ " in 3 of 7 places" where not all candidates are replaced."""
    n, of = np.count_nonzero(mask), np.count_nonzero(candidates)
    return "" if n == of else f" in {n:,} of {of:,} places"


def _flushed(question: Question, got: Array, reference: Array) -> Iterator[Hypothesis]:
    """Subnormal results, all or some, also those that a product with a fraction makes subnormal on the way; subnormal operands
    of all inputs or of one; both."""
    cause, form = "subnormals-flushed", dtypes.FLOATS[question.expected.dtype]
    for factor, what in ((1, "subnormal results"), (ON_THE_WAY, f"results below {ON_THE_WAY * form.smallest_normal:.3g}")):
        small = (np.abs(reference) < factor * form.smallest_normal) & (reference != 0)
        lost = small & (got == 0)
        if not lost.any():
            continue
        text = f"the reference with 0 in place of {what}{_share(lost, small)}"
        for zero in (np.copysign(0.0, reference), np.zeros(())):
            yield from question.of_value(cause, text, *_replaced(question, lost, zero))
    node = question.node
    tiny = [
        None
        if not isinstance(x, np.ndarray) or t is None or not dtypes.is_float(t)
        else (np.abs(x) < dtypes.FLOATS[t].smallest_normal) & (x != 0)
        for x, t in zip(node.inputs, node.types, strict=False)
    ]
    here = [i for i, mask in enumerate(tiny) if mask is not None and mask.any()]
    for chosen in ([here] if here else []) + ([[i] for i in here] if len(here) > 1 else []):
        inputs = [
            np.where(np.asarray(tiny[i]), np.copysign(0.0, x), x) if i in chosen and x is not None else x
            for i, x in enumerate(node.inputs)
        ]
        which = "subnormal inputs" if chosen == here else f"the subnormal numbers of input {chosen[0]}"
        for found in question.of_inputs(cause, f"the reference computed with 0 in place of {which}", inputs):
            yield found
            value = found.expected.value
            flushed = np.where(np.abs(value) < form.smallest_normal, np.copysign(0.0, value), value)
            text = f"the reference computed with 0 in place of {which}, and of subnormal results"
            yield from question.of_value(cause, text, flushed, found.expected.bound)


def _truths(question: Question) -> Iterator[Hypothesis]:
    """Comparisons, and conversions to truth values, in which NaN counts as any number does."""
    reals = {i: x for i, x in _reals(question).items() if np.isnan(x).any() and _broadcasts(x, question.got.shape)}
    if not reals:
        return
    unordered = np.zeros(question.got.shape, bool)
    for x in reals.values():
        unordered |= np.isnan(x)
    for name, value in (("true", True), ("false", False)):
        text = f"the reference with {name} wherever an operand is NaN"
        yield from question.of_value("nan-lost", text, np.where(unordered, value, question.reference))


def _nan_lost(question: Question, got: Array, stored: Array) -> Iterator[Hypothesis]:
    """A number where NaN is right: a constant, an operand's element, or what comes of NaN operands replaced by a number."""
    cause, largest = "nan-lost", dtypes.FLOATS[question.expected.dtype].largest
    lost = np.isnan(stored) & ~np.isnan(got)
    if not lost.any():
        return
    where = _share(lost, np.isnan(stored))
    numbers = {"0": 0.0, "−inf": -np.inf, "inf": np.inf, f"{largest:.6g}": largest, f"{-largest:.6g}": -largest, "1": 1.0}
    for name, number in numbers.items():
        yield from question.of_value(
            cause, f"the reference with {name} in place of NaN{where}", *_replaced(question, lost, number)
        )
    reals = _reals(question)
    for i, x in reals.items():
        if _broadcasts(x, lost.shape):
            text = f"the reference with the element of input {i} in place of NaN{where}"
            yield from question.of_value(cause, text, *_replaced(question, lost, np.broadcast_to(x, lost.shape)))
    for name, number in {"0": 0.0, "−inf": -np.inf, "inf": np.inf}.items():
        inputs = [np.where(np.isnan(x), number, x) if i in reals and x is not None else x for i, x in _numbered(question)]
        yield from question.of_inputs(cause, f"the reference computed with {name} in place of NaN", inputs)


def _reals(question: Question) -> dict[int, Array]:
    """The floating-point inputs by number."""
    types = (*question.node.types, *[None] * len(question.node.inputs))
    return {
        i: x for i, x in _numbered(question) if isinstance(x, np.ndarray) and types[i] is not None and x.dtype == np.float64
    }


def _numbered(question: Question) -> list[tuple[int, Array | None]]:
    return list(enumerate(question.node.inputs))


def _broadcasts(x: Array, shape: tuple[int, ...]) -> bool:
    try:
        return np.broadcast_shapes(x.shape, shape) == shape
    except ValueError:
        return False


def _infinity_clamped(question: Question, got: Array, stored: Array) -> Iterator[Hypothesis]:
    """The largest finite number of the output's type or of a narrower one in place of infinity, or of infinite inputs; 0 in
    place of infinity, of both signs or of one: cuDNN 9.19 stores float16 −inf as 0."""
    cause, infinite = "infinity-clamped", np.isinf(stored)
    lost = infinite & np.isfinite(got)
    limits = dict.fromkeys([question.expected.dtype, "float16", "bfloat16", "float32"])
    zeroed = lost & (got == 0)
    if zeroed.any():
        for sign, which in ((-1, "−inf"), (1, "inf"), (0, "infinity")):
            of = infinite & ((stored < 0) == (sign < 0)) if sign else infinite
            text = f"the reference with 0 in place of {which}{_share(zeroed & of, of)}"
            yield from question.of_value(cause, text, *_replaced(question, zeroed & of, 0.0))
    own = dtypes.FLOATS[question.expected.dtype].largest
    magnitudes = np.unique(np.abs(got[lost]))
    if magnitudes.size == 1 and magnitudes[0] not in (0, *(dtypes.FLOATS[name].largest for name in limits)):
        text = f"the reference with {magnitudes[0]:.6g} in place of infinity{_share(lost, infinite)}"
        yield from question.of_value(cause, text, *_replaced(question, lost, np.copysign(magnitudes[0], stored)))
    for name in [n for n in limits if dtypes.FLOATS[n].largest <= own]:
        largest = dtypes.FLOATS[name].largest
        if lost.any():
            text = f"the reference with {name}'s largest number {largest:.6g} in place of infinity{_share(lost, infinite)}"
            yield from question.of_value(cause, text, *_replaced(question, lost, np.copysign(largest, stored)))
        reals = {i: x for i, x in _reals(question).items() if np.isinf(x).any()}
        if reals:
            inputs = [
                np.where(np.isinf(x), np.copysign(largest, x), x) if i in reals and x is not None else x
                for i, x in _numbered(question)
            ]
            text = f"the reference computed with {name}'s largest number {largest:.6g} in place of infinite inputs"
            yield from question.of_inputs(cause, text, inputs)


def _overflows(question: Question) -> Iterator[Hypothesis]:
    """Formulas whose intermediate results overflow, and results that pass through a type of less range."""
    largest = dtypes.FLOATS[question.setting.arithmetic.compute].largest
    for limit in dict.fromkeys([largest, 65504.0]):
        for formula, value in _naive(question, limit):
            cause = "nan-made" if np.isnan(value).any() else "infinity-made"
            text = f"the reference computed as {formula}, where intermediate results overflow beyond {limit:.6g}"
            yield from question.of_value(cause, text, value)
    own = dtypes.FLOATS[question.expected.dtype].largest
    reference = question.reference.astype(np.float64)
    for name in [n for n in ("float16", "bfloat16", "float32") if dtypes.FLOATS[n].largest < own]:
        beyond = np.isinf(dtypes.round_to(reference, name)) & np.isfinite(reference)
        if beyond.any():
            text = f"the reference with infinity beyond {name}'s largest number {dtypes.FLOATS[name].largest:.6g}"
            yield from question.of_value("infinity-made", text, *_replaced(question, beyond, np.copysign(np.inf, reference)))


def _naive(question: Question, limit: float) -> Iterator[tuple[str, Array]]:
    """Textbook formulas of functions that are computed otherwise because these overflow."""
    node = question.node
    if question.index or not node.inputs or not isinstance(node.inputs[0], np.ndarray) or node.inputs[0].dtype != np.float64:
        return
    x = node.inputs[0]

    def kept(y: Array) -> Array:
        return np.where(np.abs(y) > limit, np.copysign(np.inf, y), y)

    e = kept(np.exp(x))
    if node.operator in ("Softmax", "LogSoftmax") and x.ndim:
        total = kept(e.sum(ingredients.softmax_axes(node), keepdims=True))
        naive = e / total if node.operator == "Softmax" else x - np.log(total)
        yield f"{'exp(x)/Σexp(x)' if node.operator == 'Softmax' else 'x − log(Σexp(x))'} without subtracting the maximum", naive
    if node.operator in ("ReduceLogSumExp", "ReduceL2"):
        y = question.reference
        outgrown = y > np.log(limit) if node.operator == "ReduceLogSumExp" else np.abs(y) > np.sqrt(limit)
        formula = "log(Σexp(x)) without subtracting the maximum" if node.operator == "ReduceLogSumExp" else "√(Σx²)"
        yield formula, np.where(outgrown & ~np.isnan(y), np.inf, y)
    formulas = {
        "Sigmoid": [("exp(x)/(1 + exp(x))", e / (1 + e))],
        "Softplus": [("log(1 + exp(x))", np.log1p(e))],
        "Tanh": [("(exp(2x) − 1)/(exp(2x) + 1)", (kept(e * e) - 1) / (kept(e * e) + 1))],
        "Mish": [("x·tanh(log(1 + exp(x)))", x * np.tanh(np.log1p(e)))],
    }
    yield from formulas.get(node.operator, [])


def _made(question: Question, got: Array, stored: Array) -> Iterator[Hypothesis]:
    """NaN or infinity in place of a number, with the condition that tells where, if there is one. NaN of set bits only are
    memory that nobody wrote."""
    made = np.isnan(got) & ~np.isnan(stored)
    if made.any() and not _all_bits_set(question.got[made]):
        n = np.count_nonzero(made)
        where = f" in {n:,} elements" if n < made.size else " everywhere"
        for name, mask in (("infinity", np.isinf(stored)), ("0", stored == 0), ("negative numbers", stored < 0)):
            if np.array_equal(mask, made):
                where = f" in place of {name}"
        yield from question.of_value("nan-made", f"the reference with NaN{where}", *_replaced(question, made, np.nan))
    made = np.isinf(got) & np.isfinite(stored)
    if made.any():
        n, least = np.count_nonzero(made), float(np.abs(stored[made]).min())
        where = f"in {n:,} elements"
        if np.array_equal(np.isfinite(stored) & (np.abs(stored) >= least), made):
            where = f"for every magnitude from {least:.6g} on"
        for name, sign in (("of the number's sign", np.sign(stored)), ("of the other sign", -np.sign(stored)), ("> 0", 1.0)):
            value = np.where(sign == 0, 1.0, sign) * np.inf
            text = f"the reference with infinity {name} {where}"
            yield from question.of_value("infinity-made", text, *_replaced(question, made, value))


def _all_bits_set(elements: Array) -> bool:
    return bool(np.all(np.ascontiguousarray(elements).view(np.uint8) == 0xFF))


def _zero_signs(question: Question, got: Array, stored: Array) -> Iterator[Hypothesis]:
    zero = (got == 0) & (stored == 0) & (np.signbit(got) != np.signbit(stored))
    for name, other, number in (("0", "−0", 0.0), ("−0", "0", -0.0)):
        candidates = (stored == 0) & (np.signbit(stored) != np.signbit(number))
        mask = zero & candidates
        if mask.any():
            text = f"the reference with {name} in place of {other}{_share(mask, candidates)}"
            yield from question.of_value("zero-sign-lost", text, *_replaced(question, mask, number))
