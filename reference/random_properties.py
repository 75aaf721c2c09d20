"""Judges the values of random operators by what ONNX says of them: type, shape, range and distribution.

Every statistical limit is a proven inequality that holds for each number of values, so that a correct generator fails a
tensor with probability FALSE_ALARM at most: each of a tensor's tests gets an equal share of it. Rounding to the output
type, and generators of fewer bits than float64, are allowed for by a bound on the probability of one value. What ONNX
does not say is not judged: how a seed becomes values, and whether `high` itself may occur.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reference import dtypes as types
from reference.ops.error_function import erfc
from reference.ops.random import class_probabilities, probabilities, type_of

Array = NDArray[Any]
Attributes = Mapping[str, Any]

FALSE_ALARM = 1e-9
"""Probability that a correct generator's tensor has a violation, at most."""

GENERATOR_BITS = 23
"""Random bits that are asked of a generator, or the type's own where it has fewer: float32 made by filling a mantissa."""

GROUPS = 8
"""Bernoulli's elements are counted together, and in this many groups of similar probability."""


def violations(
    operator: str, inputs: Sequence[Array | None], attributes: Attributes, output: Array, drawn: str | None = None
) -> list[str]:
    """What contradicts ONNX in the output of a random operator, one line each; nothing if it is right.

    `inputs` and `output` are in their declared types; `drawn` is the format of the generator where that is narrower. With
    another type or shape than expected, values are not looked at. Raises ValueError for other operators and for inputs that
    the operator does not allow.
    """
    if operator not in CHECKS:
        raise ValueError(f"{operator} is no random operator")
    x = inputs[0] if inputs else None
    name, shape = _expected(operator, x, attributes)
    got = types.name_of(output.dtype)
    lines = [] if got == name else [f"the type is {got} in place of {name}"]
    if output.shape != shape:
        lines.append(f"the shape is {output.shape} in place of {shape}")
    if lines or output.size == 0:
        return lines
    y = types.to_real(output)
    if y.dtype.kind == "f" and np.isnan(y).any():
        return [f"{np.isnan(y).sum()} of {y.size} values are NaN"]
    return CHECKS[operator](y, drawn or name, attributes, x)


def dropout_violations(x: Array, given: Array, y: Array, mask: Array | None) -> list[str]:
    """What contradicts ONNX in the outputs of a Dropout that trains: output = data·mask/(1 - ratio), and an element is kept
    with probability 1 - ratio, independently of the others.

    x, y and the ratio `given` are in their declared types, and 1/(1 - ratio) may be computed in the narrower one; x is
    finite. A mask that the node does not name is read off the zeros of the output.
    """
    name, data, got, ratio = types.name_of(x.dtype), types.to_real(x), types.to_real(y), float(given)
    u = max(types.FLOATS[kind].unit_roundoff for kind in (name, types.name_of(given.dtype)))
    scaling = u * (2 + ratio / (1 - ratio))
    if (y.dtype, y.shape) != (x.dtype, x.shape) or (mask is not None and mask.shape != x.shape):
        return [f"{y.dtype}{y.shape} and mask {None if mask is None else mask.shape} for data {x.dtype}{x.shape}"]
    kept = np.asarray(got != 0 if mask is None else mask.astype(bool))
    want = data * kept / (1 - ratio)
    with np.errstate(all="ignore"):
        far = ~(np.abs(got - want) <= 4 * types.quantum(want, name) + scaling * np.abs(want))
    off = far & ~(types.round_to(want, name) == got)
    if off.any():
        return [f"{off.sum()} of {y.size} elements are not data·mask/(1 - ratio)"]
    told = kept if mask is not None else kept[data != 0]
    share, slack = FALSE_ALARM / (1 + 2 * x.ndim), _resolution(name)
    if told.size and _out_of_reach(told.sum(), told.size, 1 - ratio, slack, share):
        return [f"{told.sum()} of {told.size} elements are kept, about {told.size * (1 - ratio):.0f} expected"]
    if told.size < x.size:
        return []
    return _dependence(kept, lambda a, b: np.array(ratio**2 + (1 - ratio) ** 2), 2 * slack, share)


def repetition(attributes: Attributes, first: Array, second: Array) -> list[str]:
    """What contradicts a seed in the outputs of two fresh sessions on the same model and inputs: any other bit.

    ONNX has a seed in each operator but no word on what it keeps, so this is the sense of the word. Without a seed, both
    equal and other values are right.
    """
    if attributes.get("seed") is None:
        return []
    if (first.shape, first.dtype) != (second.shape, second.dtype):
        return [f"the same seed gave {first.dtype}{first.shape} and {second.dtype}{second.shape}"]
    differing = int((np.atleast_1d(first) != np.atleast_1d(second)).sum())
    return [f"the same seed gave other values in {differing} of {first.size} elements"] if differing else []


def _expected(operator: str, x: Array | None, attributes: Attributes) -> tuple[str, tuple[int, ...]]:
    dtype = attributes.get("dtype")
    if operator in ("RandomNormal", "RandomUniform"):
        return type_of(dtype or 1, None), tuple(attributes["shape"])
    if x is None:
        raise ValueError(f"{operator} has no input")
    if operator == "Multinomial":
        return type_of(dtype or 6, None), (x.shape[0], attributes.get("sample_size", 1))
    return type_of(dtype, types.name_of(x.dtype)), x.shape


def _resolution(name: str) -> float:
    """Probability of one value in [0, 1) from a generator that is good enough for the type."""
    return float(2.0 ** -min(types.FLOATS[name].precision - 1, GENERATOR_BITS))


def _out_of_reach(total: Array, n: Array | int, mean: Array | float, slack: float, share: float) -> NDArray[np.bool_]:
    """Whether a sum of n independent values in [0, 1] is too far from n·mean, of which `slack` is not certain.

    Both tails are at most exp(-n·KL(total/n ‖ mean)): Hoeffding, "Probability inequalities for sums of bounded random
    variables", 1963, theorem 1.
    """
    part = np.asarray(total, np.float64) / n
    q = np.clip(part, np.maximum(np.subtract(mean, slack), 0), np.minimum(np.add(mean, slack), 1))
    with np.errstate(divide="ignore", invalid="ignore"):
        above = np.where(part > 0, part * np.log(part / q), 0.0)
        below = np.where(part < 1, (1 - part) * np.log((1 - part) / (1 - q)), 0.0)
    return np.asarray(n * (above + below) > math.log(2 / share))


def _distribution(below: Array, slack: float, share: float) -> list[str]:
    """Distance of an empirical distribution from F, given F at each value: Massart's constant in the inequality of
    Dvoretzky, Kiefer and Wolfowitz, P(D > d) ≤ 2·exp(-2nd²), 1990, which holds for every F."""
    n = below.size
    ordered = np.sort(below, axis=None)
    steps = np.arange(n + 1) / n
    distance = max((steps[1:] - ordered).max(), (ordered - steps[:-1]).max())
    limit = math.sqrt(math.log(2 / share) / (2 * n)) + slack
    if distance <= limit:
        return []
    return [f"the distribution is {distance:.3g} away from the expected one, at most {limit:.3g} for {n} values"]


def _tails(below: Array, slack: float, share: float) -> list[str]:
    """Numbers of values in the outer 32nds, where two distributions may differ much that are never far apart."""
    lines = []
    for side, count in (("low", int((below < 1 / 32).sum())), ("high", int((below > 31 / 32).sum()))):
        if _out_of_reach(np.array(count), below.size, 1 / 32, slack, share):
            lines.append(f"{count} of {below.size} values are in the {side} tail, about {below.size / 32:.0f} expected")
    return lines


def _repeats(y: Array, cell: float, share: float) -> list[str]:
    """Values that occur again. As long as there are d values or fewer, another one is new with probability 1 - d·cell at
    least, so d is no less than the binomial variable of that probability."""
    distinct = np.unique(y).size
    new = 1 - distinct * cell
    if distinct >= y.size * new or not _out_of_reach(np.array(distinct), y.size, new, 0.0, share):
        return []
    return [f"{y.size - distinct} of {y.size} values occur again, about {y.size * (1 - new):.3g} expected at most"]


def _pairings(shape: Sequence[int]) -> Iterator[tuple[str, Any, Any]]:
    """Disjoint pairs along each axis, as two indices: neighbours, and elements half an axis apart."""
    for axis, length in enumerate(shape):
        before, half = (slice(None),) * axis, length // 2
        if half:
            yield f"neighbours along axis {axis}", (*before, slice(0, 2 * half, 2)), (*before, slice(1, 2 * half, 2))
        if half > 1:
            yield f"halves along axis {axis}", (*before, slice(0, half)), (*before, slice(half, 2 * half))


def _dependence(y: Array, agreement: Callable[[Any, Any], Array], slack: float, share: float) -> list[str]:
    """Pairs of elements that agree too often or too rarely; agreement(a, b) is the probability if they are independent."""
    lines = []
    for where, a, b in _pairings(y.shape):
        same = y[a] == y[b]
        expected = np.broadcast_to(agreement(a, b), same.shape).mean()
        if _out_of_reach(same.sum(), same.size, expected, slack, share):
            lines.append(f"{where} agree in {same.sum()} of {same.size} pairs, about {expected * same.size:.0f} expected")
    return lines


def _uniform(y: Array, name: str, attributes: Attributes, _: Array | None) -> list[str]:
    """The mean's limit: a uniform value on [0, 1] has E exp(t(U - 1/2)) ≤ exp(t²/24), so its means are off by d with
    probability 2·exp(-6nd²) at most."""
    low, high = (float(np.float32(attributes.get(key, default))) for key, default in (("low", 0.0), ("high", 1.0)))
    first, last = types.round_to(np.array([low, high]), name)
    if y.min() < first or y.max() > last:
        return [f"values reach from {y.min():.9g} to {y.max():.9g}, out of [{low:.9g}, {high:.9g}]"]
    if low == high:
        return []
    share, cell = FALSE_ALARM / (5 + 2 * y.ndim), _resolution(name)
    spacing = float(types.quantum(np.nextafter(np.array(max(abs(low), abs(high))), 0), name)) / (high - low)
    cell += 0 if 2 * spacing <= cell else spacing  # rounding joins no two values that are two spacings apart
    unit = np.clip((y - low) / (high - low), 0, 1)
    off, limit = abs(float(unit.mean()) - 0.5), math.sqrt(math.log(2 / share) / (6 * y.size)) + 2 * cell
    mean = [f"the mean is {y.mean():.6g}, {off:.3g} of the range off, at most {limit:.3g}"] if off > limit else []
    sides = _dependence(unit >= 0.5, lambda a, b: np.array(0.5), cell, share)
    shape = _distribution(unit, 2 * cell, share) + _tails(unit, 2 * cell, share)
    return [*mean, *shape, *_repeats(y, cell, share), *sides]


def _moments(z: Array, relative: float, absolute: float, share: float) -> list[str]:
    """Mean, spread and largest of standard normal values that were rounded by relative·|z| + absolute at most.

    Tails: P(|Z| > t) ≤ exp(-t²/2), and for Z², a mean of n beyond t: (t·exp(1 - t))^(n/2) (Chernoff).
    """
    lines, n = [], z.size
    mean, allowance = float(z.mean()), relative + absolute
    limit = math.sqrt(2 * math.log(1 / share) / n) + allowance
    if abs(mean) > limit:
        lines.append(f"the mean is {abs(mean):.3g} standard deviations off, at most {limit:.3g}")
    spread = math.sqrt(float((z * z).mean()))
    nearest = min(max(1.0, (spread - absolute) / (1 + relative)), (spread + absolute) / (1 - relative))
    t = nearest**2
    if t == 0 or n / 2 * (t - 1 - math.log(t)) > math.log(2 / share):
        lines.append(f"the standard deviation is {spread:.6g} times the expected one")
    limit = math.sqrt(2 * math.log(n / share)) * (1 + relative) + absolute
    if np.abs(z).max() > limit:
        lines.append(f"a value lies {np.abs(z).max():.3g} standard deviations from the mean, at most {limit:.3g}")
    return lines


def _normal(y: Array, name: str, attributes: Attributes, _: Array | None) -> list[str]:
    """Where the type may overflow, infinities are right and only the distribution is judged."""
    mean, scale = (float(np.float32(attributes.get(key, default))) for key, default in (("mean", 0.0), ("scale", 1.0)))
    form = types.FLOATS[name]
    if scale == 0:
        constant = types.round_to(np.array(mean), name)
        return [] if (y == constant).all() else [f"not all values are {constant}, the mean, although scale is 0"]
    share, u, offset = FALSE_ALARM / (7 + 2 * y.ndim), form.unit_roundoff, abs(mean / scale)
    # |x|·density(x) is at most 0.4·|mean/scale| + 0.25, the density 0.4/scale: times the spacing, a value's probability
    cell = _resolution(name) + 2 * u * (0.4 * offset + 0.25) + 0.4 * form.smallest_subnormal / abs(scale)
    reach = min(max(form.largest - abs(mean), 0.0) / abs(scale), 100.0)  # e^(-100²/2) is 0
    overflow = math.exp(-(reach**2) / 2)
    z = (y - mean) / abs(scale)
    lines = []
    if overflow * y.size < share:
        if np.isinf(y).any():
            return [f"{np.isinf(y).sum()} of {y.size} values are infinite"]
        lines = _moments(z, u, u * offset + form.smallest_subnormal / abs(scale), share)
    sides = _dependence(z >= 0, lambda a, b: np.array(0.5), cell, share)
    below, slack = 0.5 * erfc(-z / math.sqrt(2)), cell + overflow
    shape = _distribution(below, slack, share) + _tails(below, slack, share)
    return [*lines, *shape, *_repeats(y, slack, share), *sides]


def _bernoulli(y: Array, _: str, attributes: Attributes, x: Array | None) -> list[str]:
    assert x is not None
    p, ones = probabilities(types.to_real(x)), y.astype(np.float64)
    if not ((ones == 0) | (ones == 1)).all():
        return [f"{((ones != 0) & (ones != 1)).sum()} of {y.size} values are neither 0 nor 1"]
    certain = np.isin(p, (0, 1)) & (ones != p)
    lines = [f"{certain.sum()} elements of probability 0 or 1 have the other value"] if certain.any() else []
    share, slack = FALSE_ALARM / (GROUPS + 1 + 2 * y.ndim), _resolution(types.name_of(x.dtype))
    order = np.argsort(p, axis=None)
    for group in [order, *np.array_split(order, GROUPS)]:
        chosen, count = p.ravel()[group], ones.ravel()[group].sum()
        if group.size and _out_of_reach(count, group.size, chosen.mean(), slack, share):
            lines.append(
                f"{count:.0f} of {group.size} elements with probabilities from {chosen[0]:.3g} to {chosen[-1]:.3g} are 1, "
                f"about {chosen.sum():.0f} expected"
            )
            break
    return lines + _dependence(ones, lambda a, b: p[a] * p[b] + (1 - p[a]) * (1 - p[b]), 2 * slack, share)


def _multinomial(y: Array, _: str, attributes: Attributes, x: Array | None) -> list[str]:
    """Probabilities may be off by the input type's roundings of a cumulative sum."""
    assert x is not None
    p, samples = class_probabilities(types.to_real(x)), y.shape[1]
    rows, classes = p.shape
    if y.min() < 0 or y.max() >= classes:
        return [f"classes reach from {y.min()} to {y.max()}, out of [0, {classes})"]
    impossible = np.take_along_axis(p, y.astype(np.int64), 1) == 0
    if impossible.any():
        return [f"{impossible.sum()} of {y.size} classes have probability 0"]
    share, slack = FALSE_ALARM / (rows * classes + classes + 4), (classes + 1) * _resolution(types.name_of(x.dtype))
    cells = np.arange(rows)[:, None] * classes + y.astype(np.int64)
    counts = np.bincount(cells.ravel(), minlength=p.size).reshape(p.shape)
    lines = []
    for row, k in np.argwhere(_out_of_reach(counts, samples, p, slack, share))[:1]:
        lines.append(f"row {row} has class {k} {counts[row, k]} times in {samples}, about {samples * p[row, k]:.0f} expected")
    totals, expected = counts.sum(axis=0), p.mean(axis=0)
    for k in np.flatnonzero(_out_of_reach(totals, y.size, expected, slack, share))[:1]:
        lines.append(f"class {k} came {totals[k]} times in {y.size}, about {y.size * expected[k]:.0f} expected")
    return lines + _dependence(y, lambda a, b: (p[a[0]] * p[b[0]]).sum(axis=1, keepdims=True), 2 * slack, share)


CHECKS: Mapping[str, Callable[[Array, str, Attributes, Array | None], list[str]]] = {
    "Bernoulli": _bernoulli,
    "Multinomial": _multinomial,
    "RandomNormal": _normal,
    "RandomNormalLike": _normal,
    "RandomUniform": _uniform,
    "RandomUniformLike": _uniform,
}
"""Operator → its check: values (float64 for real types), their type, attributes, the input in its own type."""
