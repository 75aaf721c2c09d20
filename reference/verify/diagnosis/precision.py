"""Arithmetic of fewer bits than declared: inputs, results or sums that are rounded to a narrower format.

Rounded inputs and results are rebuilt; how sums were accumulated, in an order that nobody knows, shows in the statistics of
the errors (`described`).
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterator, Sequence

import numpy as np

from reference import dtypes, magnitudes
from reference.dtypes import FLOATS
from reference.node import Array, Node
from reference.verify import statistics
from reference.verify.arithmetic import RUNGS
from reference.verify.bounds import accumulation
from reference.verify.diagnosis import accumulators
from reference.verify.diagnosis.finding import Diagnosis
from reference.verify.diagnosis.fitting import explains
from reference.verify.diagnosis.hypothesis import Hypothesis, Question

NARROWER = {
    "float64": ("float32", "tf32", "float16", "bfloat16"),
    "float32": ("float16", "bfloat16", "tf32"),
    "float16": ("bfloat16",),
    "bfloat16": (),
}
"""Tensor type → formats that units round to on the way; float16 and tf32 have the same bits, and float16 is the likelier."""

CAUSES = {"float32": "float64-as-float32", "tf32": "inputs-tf32", "float16": "inputs-float16", "bfloat16": "inputs-bfloat16"}

LARGE = 2**20
"""Elements from which on only the likeliest roundings are tried."""

OFF_GRID = 0.5
"""Share of the reference's elements that must not be numbers of a format, for a result of such numbers to mean something."""

LOST = 0.5
"""Bits that must be missing before a distribution is called one of fewer bits."""

FEWEST_BITS = 5.5
"""Errors larger than those of so many bits are hardly those of rounding."""

NARROW_BITS = 8.0
"""Missing bits from which on a bias is that of sums in a narrow format rather than of the direction of rounding."""

SCATTER = 0.1
"""Median of the errors' sizes over their root mean square, below which few elements make up the error."""

FEWEST = 64
"""Elements that a distribution needs."""

OFTEN = 0.1
"""Share of the elements that must have an error: functions are exact on a part of their range, and sums of short numbers often
are."""

SHARED = 2.0
"""Roundings of constants that all elements may share: alpha or a reciprocal, and the product with it."""

FEWEST_CHANNELS = 5
"""Channels from which on their mean errors tell a direction."""


def hypotheses(question: Question) -> Iterator[Hypothesis]:
    """The closest rebuilt output first, since loose bounds would let several formats pass."""
    dtype = question.expected.dtype
    if not dtypes.is_float(dtype) or not question.same_shape or dtypes.name_of(question.got.dtype) != dtype:
        return
    found = [*_inputs(question), *_results(question), *_attributes(question), *accumulators.hypotheses(question)]
    got = dtypes.to_real(question.got)
    fitting = (h for h in found if h.cause != "outputs-narrow" or explains(question, h))
    yield from sorted(fitting, key=lambda h: _residual(h, got))


def _residual(hypothesis: Hypothesis, got: Array) -> float:
    """Mean distance of the elements that have one."""
    distance = np.abs(got - dtypes.round_to(hypothesis.expected.value, hypothesis.expected.dtype))
    known = distance[np.isfinite(distance)]
    return float(known.mean()) if known.size else math.inf


def truncated(x: Array, name: str) -> Array:
    """The real x rounded towards zero in format `name`."""
    step = dtypes.quantum(x, name)
    return np.where(np.isfinite(x), np.trunc(x / step) * step, x)


def _reals(question: Question) -> list[int]:
    """Numbers of the inputs of the type that the node computes in."""
    node = question.node
    kinds = enumerate(zip(node.inputs, node.types, strict=False))
    return [i for i, (x, t) in kinds if isinstance(x, np.ndarray) and t == question.setting.dtype and x.dtype == np.float64]


def _chosen(question: Question) -> list[tuple[str, list[int]]]:
    """(which, numbers) of inputs that are rounded together: all; without the bias; only one."""
    reals = _reals(question)
    found = [("inputs", reals)] if reals else []
    if question.got.size >= LARGE:
        return found
    if len(reals) > 2:
        found.append((f"inputs {reals[0]} and {reals[1]}", reals[:2]))
    return found + ([(f"input {i}", [i]) for i in reals] if len(reals) > 1 else [])


def _inputs(question: Question) -> Iterator[Hypothesis]:
    """Inputs in a narrower format, what follows as declared; float64 in float32 from there on, too."""
    node, dtype = question.node, question.setting.dtype
    for name in NARROWER.get(dtype, ()):
        for how, rounded in (("rounded", dtypes.round_to), ("truncated", truncated)):
            for which, chosen in _chosen(question) if how == "rounded" or question.got.size < LARGE else ():
                inputs = [rounded(x, name) if i in chosen and x is not None else x for i, x in enumerate(node.inputs)]
                if not any(np.any(a != b) for a, b in zip(inputs, node.inputs, strict=True) if a is not b and a is not None):
                    continue
                either = name == "float16" and dtype == "float32" and _same_in_tf32(node, inputs, chosen, rounded)
                formats = f"{name} or tf32 (the same on this data)" if either else name
                text = f"the reference computed on {which} {how} to {formats}"
                yield from question.of_inputs(CAUSES[name], text, inputs)
    if dtype == "float64" and not question.setting.arithmetic.faithful:
        single = dataclasses.replace(question, setting=dataclasses.replace(question.setting, arithmetic=RUNGS["fp32"]))
        reals = _reals(question)
        inputs = [dtypes.round_to(x, "float32") if i in reals and x is not None else x for i, x in enumerate(node.inputs)]
        yield from single.of_inputs("float64-as-float32", "the reference computed in float32", inputs)


def _same_in_tf32(
    node: Node, inputs: Sequence[Array | None], chosen: Sequence[int], rounded: Callable[[Array, str], Array]
) -> bool:
    """Whether tf32, whose numbers have as many bits and more range, would make the same of the chosen inputs."""
    return all(
        np.array_equal(x, rounded(given, "tf32"), equal_nan=True)
        for i, (x, given) in enumerate(zip(inputs, node.inputs, strict=True))
        if i in chosen and x is not None and given is not None
    )


def _results(question: Question) -> Iterator[Hypothesis]:
    """Results that are all numbers of a narrower format, computed on inputs as they are or in that format, too."""
    got, reference = dtypes.to_real(question.got), question.reference.astype(np.float64)
    bound = np.broadcast_to(np.asarray(question.expected.bound, np.float64), got.shape)
    finite = np.isfinite(got) & np.isfinite(reference)
    for name in NARROWER.get(question.expected.dtype, ()):
        if not np.array_equal(dtypes.round_to(got[finite], name), got[finite]):
            continue
        here = dtypes.round_to(reference, question.expected.dtype)[finite]
        if np.count_nonzero(dtypes.round_to(here, name) != here) <= OFF_GRID * here.size:
            continue
        cause = "float64-as-float32" if name == "float32" else "outputs-narrow"
        step = dtypes.quantum(np.abs(reference) + bound, name)
        within = bound * (1 + FLOATS[name].unit_roundoff)
        text = f"the reference with results that pass through {name}"
        yield from question.of_value(cause, f"{text}, rounded to nearest", dtypes.round_to(reference, name), within)
        yield from question.of_value(cause, f"{text}, rounded to nearest", reference, within + 0.5 * step)
        yield from question.of_value(cause, f"{text}, truncated", truncated(reference, name), within)
        yield from question.of_value(cause, f"{text}, truncated", reference, within + step)
        reals = _reals(question)
        inputs = [dtypes.round_to(x, name) if i in reals and x is not None else x for i, x in enumerate(question.node.inputs)]
        for found in question.of_inputs(cause, text, inputs):
            value, near = found.expected.value, np.asarray(found.expected.bound, np.float64)
            wide = near + 0.5 * dtypes.quantum(np.abs(value) + near, name)
            yield from question.of_value(cause, f"the reference computed on inputs and stored in {name}", value, wide)


def _attributes(question: Question) -> Iterator[Hypothesis]:
    """Floating-point attributes rounded to 16 bits."""
    for name, value in question.node.attributes.items():
        if not isinstance(value, float):
            continue
        for form in ("float16", "bfloat16"):
            held = float(dtypes.round_to(np.asarray(value), form))
            if held != value:
                text = f"the reference computed with {name} {held:.9g}, which is {value:.9g} rounded to {form}"
                yield from question.of_attributes("attribute-value", text, **{name: held})


def described(question: Question) -> Iterator[Diagnosis]:
    """What the distribution of the errors alone tells: how many bits they are of, and whether they have a direction."""
    dtype = question.expected.dtype
    if not dtypes.is_float(dtype) or not question.same_shape or dtypes.name_of(question.got.dtype) != dtype:
        return
    error = dtypes.to_real(question.got) - question.reference
    yield from _short_sums(question, error)
    spread = _spread(question)
    if spread is not None:
        yield from _sums(question, spread, error)
    else:
        yield from _relative(question, error)


def _short_sums(question: Question, error: Array) -> Iterator[Diagnosis]:
    """Sums of short numbers, which are exact up to the bits that the accumulator has."""
    needed = accumulation.needed_bits(question.node) if question.index == 0 and question.wrong.any() else None
    if needed is None:
        return
    held = float(np.min(needed[question.wrong]))
    small = np.abs(error[question.wrong]) <= 2.0**-FEWEST_BITS * np.abs(question.reference).max()
    if FEWEST_BITS <= held < question.setting.arithmetic.precision and np.all(small) and np.mean(needed < held) >= OFTEN:
        bits = question.setting.arithmetic.precision
        text = f"sums that need up to {math.floor(held)} bits are exact, longer ones are not, of {bits} bits"
        yield Diagnosis("accumulator-narrow", text)


def _spread(question: Question) -> statistics.Spread | None:
    """The law of a sum's errors, for diagnosis also on data that has an order."""
    if question.expected.spread is not None:
        return question.expected.spread
    if question.index or not dtypes.is_float(question.setting.dtype) or magnitudes.of(question.node) is None:
        return None
    return statistics.spread(question.node, question.setting)


def _scattered(ratio: Array) -> bool:
    """Whether errors are spread over many elements, as those of rounding are."""
    if ratio.size < FEWEST:
        return False
    size = np.abs(ratio)
    return bool(np.median(size) >= SCATTER * np.sqrt(np.mean(size * size)) > 0)


def _sums(question: Question, spread: statistics.Spread, error: Array) -> Iterator[Diagnosis]:
    """Of a linear operator: effective bits of the accumulator and the direction of its rounding."""
    use = np.isfinite(error) & np.isfinite(spread.sigma) & (spread.sigma > 0)
    if question.expected.open is not None:
        use &= ~np.broadcast_to(question.expected.open, use.shape)
    found = statistics.statistics(spread, error, question.reference, use)
    if found is None:
        return
    if question.tier != "tier 3" and not _scattered(_erring((error / spread.sigma)[use])):
        return
    bits, lost = found.effective_bits, spread.bits - found.effective_bits
    if bits < FEWEST_BITS:
        return
    narrow = Diagnosis("accumulator-narrow", f"errors are spread like those of sums in {bits:.1f} bits, not {spread.bits}")
    if lost >= NARROW_BITS:
        yield narrow
    z, z_sign = _directions(question, spread, error, use)
    biased = max(abs(z), abs(z_sign)) > statistics.TAU
    if biased and abs(z_sign) >= abs(z):
        way = "towards zero" if z_sign < 0 else "away from zero"
        cause = "accumulator-truncates" if z_sign < 0 else "accumulator-biased"
        yield Diagnosis(cause, f"errors point {way} (z = {z_sign:.3g}), as of sums that are not rounded to nearest")
    elif biased:
        way = "plus" if z > 0 else "minus"
        text = f"errors point towards {way} infinity (z = {z:.3g}), as of sums that are not rounded to nearest"
        yield Diagnosis("accumulator-biased", text)
    if lost < NARROW_BITS and lost > LOST:
        yield narrow


def _directions(question: Question, spread: statistics.Spread, error: Array, use: Array) -> tuple[float, float]:
    """z and z_sign without what all elements, or those of a channel, share: the error of a factor or of a bias.

    Means of channels take the place of their elements in z, and are taken out of z_sign. Both are 0 where sums need not be
    rounded to nearest.
    """
    arithmetic, reference = question.setting.arithmetic, question.reference
    if arithmetic.rounding != "nearest" or arithmetic.fused:
        return 0.0, 0.0
    ratio = np.where(use, error / spread.sigma, 0.0)
    sign = np.where(use, np.sign(reference), 0.0)
    z = _normalised(ratio)
    if question.node.operator in _CONSTANT and not spread.unbiased and spread.channel is None:
        scaled = np.where(use, reference / spread.sigma, 0.0)
        slope = float((ratio * scaled).sum() / (scaled * scaled).sum())
        ratio = ratio - scaled * np.clip(slope, -SHARED * question.setting.u, SHARED * question.setting.u)
    if question.node.operator in _BIASED and question.node.given(2) and ratio.ndim > 1:
        others = tuple(a for a in range(ratio.ndim) if a != 1)
        count = use.sum(others, keepdims=True)
        means = ratio.sum(others, keepdims=True) / np.maximum(count, 1)
        known = means[count > 0]
        z = float(np.sqrt(known.size) * known.mean() / known.std(ddof=1)) if known.size >= FEWEST_CHANNELS else 0.0
        ratio = np.where(use, ratio - means, 0.0)
    one_sign = abs(sign.sum()) == np.count_nonzero(use)
    return z, z * float(sign.flat[np.argmax(use)]) if one_sign else _normalised(ratio * sign)


_BIASED = ("Conv", "ConvTranspose", "Gemm")
_CONSTANT = (*statistics.BIASED_BY_CONSTANTS, "Gemm")
"""Operators with a bias per channel; operators whose results share a factor."""


def _normalised(x: Array) -> float:
    """Σx/√Σx²."""
    size = float(np.sqrt((x * x).sum()))
    return float(x.sum()) / size if size else 0.0


def _relative(question: Question, error: Array) -> Iterator[Diagnosis]:
    """Of any other operator: bits of the relative error, else of the error in units of its bound, which allows for operands
    that cancel."""
    size = np.abs(question.reference.astype(np.float64))
    bound = np.broadcast_to(np.asarray(question.expected.bound, np.float64), size.shape)
    use = np.isfinite(error) & np.isfinite(size) & (size > 0)
    if not use.any():
        return
    own = min(question.setting.arithmetic.precision, FLOATS[question.expected.dtype].precision)
    large = use & (size >= 1e-3 * float(np.median(size[use])))
    ratio = _erring(error[large] / size[large])
    if _scattered(ratio):
        bits = -math.log2(_rms(ratio) / math.sqrt(statistics.ROUNDING))
        if FEWEST_BITS <= bits < own - LOST:
            yield Diagnosis("precision-low", f"errors are spread like those of {bits:.1f}-bit arithmetic, not {own} bits")
            return
    use &= (bound > 0) & np.isfinite(bound)
    ratio = _erring(error[use] / bound[use])
    if _scattered(ratio) and _rms(error[use]) <= 2.0**-FEWEST_BITS * _rms(size[use]):
        bits = own - math.log2(float(np.abs(ratio).max()))
        if bits < own - LOST:
            text = f"errors are spread like those of arithmetic of fewer than {math.ceil(bits)} bits, not {own}"
            yield Diagnosis("precision-low", text)


def _erring(ratio: Array) -> Array:
    """Those that are not 0, none where they are few."""
    found = ratio[ratio != 0]
    return np.asarray(found if found.size >= OFTEN * ratio.size else found[:0])


def _rms(x: Array) -> float:
    """Root mean square."""
    return float(np.sqrt(np.mean(x * x)))
