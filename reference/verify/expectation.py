"""What every output of a node must be under one arithmetic: its exact value, and how far a right result may lie from it."""

from __future__ import annotations

import numpy as np

from reference import dtypes, marks
from reference.node import Array, Node
from reference.verify import control, integers, modes, statistics
from reference.verify.bounds import accumulation
from reference.verify.compare import Expected
from reference.verify.setting import Setting


def expectations(node: Node, setting: Setting) -> list[Expected]:
    """What each output must be under one arithmetic. Raises KeyError for an operator that has no mode."""
    modes.mode_of(node.operator)
    bounds: list[Array] = []
    if node.operator in modes.BOUNDS and dtypes.is_float(setting.dtype):
        with np.errstate(all="ignore"):
            bounds = modes.BOUNDS[node.operator](node, setting)
    result = []
    for i, (name, value, dtype) in enumerate(zip(node.output_names, node.results, node.output_types, strict=True)):
        undecided = marks.left_open(node, i)
        if node.operator in modes.WITHOUT_BOUND and not control.is_exact(node, modes.EXACT.__contains__):
            result.append(Expected(name, value, np.nan, dtype, open=undecided))
        elif dtypes.is_float(dtype):
            error = bounds[i] if i < len(bounds) else np.zeros(value.shape)
            result.append(_real(node, setting, i, error, undecided))
        else:
            result.append(_whole(node, setting, i, undecided))
    return result


def _whole(node: Node, setting: Setting, i: int, undecided: Array | None) -> Expected:
    """An output of any other type: equal, within the interval of requantisation, or next to a result that is no integer."""
    name, value, dtype = node.output_names[i], node.results[i], node.output_types[i]
    if not dtypes.is_integer(dtype):
        exact = not dtype.startswith("complex") or node.operator in modes.EXACT or modes.copies(node)
        # No bound is derived for complex numbers.
        return Expected(name, value, 0.0 if exact else np.nan, dtype, open=undecided)
    interval = integers.interval(node, setting, i) if integers.requantises(node, i) else None
    if modes.rounds_integers(node):
        interval, tied = integers.neighbours(node), marks.ties(node, i)
        if tied is not None:
            undecided = tied if undecided is None else undecided | tied
        if interval is None:
            return Expected(name, value, 1.0, dtype, open=undecided)
    return Expected(name, value, 0.0, dtype, open=undecided, interval=interval)


def _real(node: Node, setting: Setting, i: int, error: Array, undecided: Array | None) -> Expected:
    """A floating-point output whose computation may err by `error`."""
    value, dtype = node.results[i], node.output_types[i]
    if node.operator == "QuantizeLinear":
        real = integers.REAL[node.operator](*node.inputs, **node.attributes)
        value = np.where(np.abs(real) <= dtypes.FLOATS[dtype].largest, real, value)  # what the device rounds
    finite, computes = np.isfinite(value), node.operator in modes.BOUNDS
    if node.operator in modes.OVERFLOWING:
        error = np.where(~np.isposinf(error) & ~finite, 0.0, error)
    else:
        # An infinite or NaN result is exact. At infinite arguments a bound is 0·∞; the rounding of the limit is left.
        with np.errstate(invalid="ignore"):  # a signalling NaN
            limit = 4 * setting.u * np.abs(value) if _infinite(node) else np.nan
        error = np.where(finite, np.where(np.isnan(error), limit, error), 0.0)
    unit = dtypes.FLOATS[setting.arithmetic.compute]
    if computes and unit.unit_roundoff > dtypes.FLOATS[dtype].unit_roundoff:  # also what it only passes on
        error = np.where(finite & (error == 0), unit.unit_roundoff * np.abs(value), error)
    if computes:
        error = np.where(_overflowing(node, setting, i) | _beyond(node, setting, i), np.inf, error)
    return Expected(
        node.output_names[i],
        value,
        _stored(error, value, dtype, setting),
        dtype,
        flushes=setting.arithmetic.flushes and (computes or node.operator == "Mod"),
        signed_zero=modes.moves(node),
        open=undecided,
        spread=statistics.spread(node, setting) if i == 0 and setting.random else None,
        reaches=accumulation.reaches(node, setting) if i == 0 and computes else None,
        saturates=setting.arithmetic.saturates or (setting.arithmetic.faithful and computes),
        clamps=node.operator == "QuantizeLinear" and bool(node.attribute("saturate", 1)),
    )


def _overflowing(node: Node, setting: Setting, i: int) -> Array | bool:
    """Mask of the elements that inputs beyond the range of the unit's input format have a part in: what becomes of them is the
    unit's own matter."""
    unit = dtypes.FLOATS[setting.arithmetic.inputs or setting.arithmetic.compute]
    own = dtypes.FLOATS.get(setting.dtype)
    if own is None or unit.largest >= own.largest:
        return False
    edge = unit.largest + 0.5 * float(
        dtypes.quantum(np.asarray(unit.largest), setting.arithmetic.inputs or setting.arithmetic.compute)
    )
    beyond = [
        x is not None and dtypes.is_float(t or "") and (np.abs(x) >= edge) & np.isfinite(x)
        for x, t in zip(node.inputs, node.types, strict=True)
    ]
    if not any(np.any(mask) for mask in beyond):
        return False
    inputs = [
        x if x is None or mask is False else np.where(mask, np.nan, x) for x, mask in zip(node.inputs, beyond, strict=True)
    ]
    with np.errstate(all="ignore"):
        try:
            lost = node.again(inputs)[i]
        except ValueError:  # a Range of no numbers
            return True
    return np.asarray(np.isnan(lost) | (lost != node.results[i]))


def _beyond(node: Node, setting: Setting, i: int) -> Array | bool:
    """Mask of the elements that a unit of a narrower range has no number for: too large a result, or one that is infinite, NaN
    or finite only because an operand underflows in the unit's input format (1/x, log x)."""
    inside, own = dtypes.FLOATS[setting.arithmetic.compute], dtypes.FLOATS.get(setting.dtype)
    if own is None or inside.largest >= own.largest:
        return False
    unit = dtypes.FLOATS[setting.arithmetic.inputs or setting.arithmetic.compute]
    value = node.results[i]
    inputs = [
        np.where(np.abs(x) < unit.smallest_normal, np.copysign(0.0, x), x) if x is not None and dtypes.is_float(t or "") else x
        for x, t in zip(node.inputs, node.types, strict=True)
    ]
    with np.errstate(all="ignore"):
        too_large = np.isfinite(value) & (np.abs(value) >= inside.largest)
        try:
            lost = node.again(inputs)[i]
        except ValueError:  # a Range whose step underflows
            return np.asarray(too_large)
    if lost.shape != value.shape:
        return np.asarray(too_large)
    same = (lost == value) | (np.isnan(lost) & np.isnan(value))
    return np.asarray(too_large | (~same & ~(np.isfinite(lost) & np.isfinite(value))))


def _infinite(node: Node) -> bool:
    """Whether an input has elements that are no numbers."""
    reals = (x for x, t in zip(node.inputs, node.types, strict=True) if x is not None and dtypes.is_float(t or ""))
    return any(not np.isfinite(x).all() for x in reals)


def _stored(error: Array, value: Array, dtype: str, setting: Setting) -> Array:
    """The bound after storing the result in the tensor's type; zero stays zero, which asks for the rounded value itself, and
    NaN stays NaN, which says that there is no bound."""
    form, unit = dtypes.FLOATS[dtype], dtypes.FLOATS[setting.arithmetic.compute]
    slack = 2.0**-26  # the reference and its bound are float64 themselves
    with np.errstate(all="ignore"):
        width = error * (1 + slack) + 0.5 * unit.smallest_subnormal
        if setting.arithmetic.compute == "float64":
            width = width * 2 + unit.unit_roundoff * np.abs(value)  # as large an error again in the reference
        if form.unit_roundoff > unit.unit_roundoff or form.emin > unit.emin:
            width = width * (1 + form.unit_roundoff) + 0.5 * dtypes.quantum(np.abs(value) + width, dtype)
    return np.where(error == 0, 0.0, width)
