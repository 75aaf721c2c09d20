"""Judges a device's outputs by tolerances derived from operator, type and declared arithmetic (docs/numerics.md)."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

import numpy as np
import onnx

from reference import dtypes, marks
from reference.node import Array, Node
from reference.verify import integers, modes
from reference.verify.arithmetic import DEFAULT, LADDER, RUNGS, Arithmetic
from reference.verify.compare import Expected, TensorVerdict, compare, fits
from reference.verify.setting import Setting

__all__ = ["DEFAULT", "RUNGS", "Arithmetic", "TensorVerdict", "verify"]

ORDER = tuple(RUNGS)
WIDE = ("float64", "float32", "float16", "bfloat16")


def verify(
    model: onnx.ModelProto,
    feeds: Mapping[str, Array],
    outputs: Mapping[str, Array],
    precision: Mapping[str, str] | None = None,
) -> list[TensorVerdict]:
    """One verdict for each graph output of a single-node model, in graph order.

    precision: tensor type → rung (`RUNGS`) that the device declares or was found to have; types that it leaves out are held to
    `DEFAULT`. A right result at a rung below the default is `pass_reduced`. The verdicts are a pure function of the arguments.
    """
    node = Node.of(model, feeds)
    dtype = _main_type(node)
    single = dtype == "float64" and modes.is_single(node)
    default = "fp32" if single else DEFAULT.get(dtype, "fp32")
    arithmetic = RUNGS[(precision or {}).get(dtype, default)]
    setting = Setting(max(arithmetic, RUNGS[default], key=_exactness) if single else arithmetic, dtype)
    reduced = _exactness(setting.arithmetic) > _exactness(RUNGS[default])
    verdicts = []
    expectations = {e.name: e for e in _expectations(node, setting)}
    for name in [v.name for v in model.graph.output]:
        expected = expectations[name]
        if name not in outputs:
            verdicts.append(TensorVerdict(name, "mismatch", f"the compiled model has no output {name}"))
            continue
        verdict = compare(expected, outputs[name])
        if reduced and verdict.status == "pass":
            verdict = dataclasses.replace(verdict, status="pass_reduced")
        if verdict.status == "mismatch" and node.operator not in modes.SIGNED_ZERO:
            verdict = _with_flushed_operands(verdict, node, outputs[name], setting)
        if verdict.status == "mismatch" and node.operator in ("Cast", "CastLike") and expected.dtype in WIDE:
            verdict = _with_another_rounding(verdict, expected, node, outputs[name])
        if node.operator in modes.INTERVALS and expected.interval is not None and fits(expected, outputs[name]):
            verdict = _requantised(verdict, node, outputs[name])
        elif verdict.status == "mismatch" and dtypes.is_float(dtype):
            verdict = _with_fitting_rung(verdict, node, outputs[name], setting)
        verdicts.append(verdict)
    return verdicts


def _main_type(node: Node) -> str:
    """The floating-point type whose arithmetic computes the node: of its inputs, else of its outputs."""
    floats = [t for t in (*node.types, *node.output_types) if t is not None and dtypes.is_float(t)]
    return floats[0] if floats else node.output_types[0]


def _exactness(rung: Arithmetic) -> int:
    return ORDER.index(rung.name)


def _expectations(node: Node, setting: Setting) -> list[Expected]:
    """What each output must be under one arithmetic. Raises KeyError for an operator that has no mode."""
    modes.mode_of(node.operator)
    bounds: list[Array] | None = None
    if node.operator in modes.BOUNDS and dtypes.is_float(setting.dtype):
        with np.errstate(all="ignore"):
            bounds = modes.BOUNDS[node.operator](node, setting)
    result = []
    for i, (name, value, dtype) in enumerate(zip(node.output_names, node.results, node.output_types, strict=True)):
        undecided = marks.left_open(node, i)
        if node.operator in modes.WITHOUT_BOUND:
            result.append(Expected(name, value, np.nan, dtype, open=undecided))
            continue
        requantised = i == 0 and node.operator in modes.INTERVALS and dtypes.is_integer(dtype)
        interval = integers.interval(node, setting) if requantised else None
        if dtypes.is_integer(dtype) and modes.rounds_integers(node):
            interval = integers.neighbours(node)
            if interval is None:
                result.append(Expected(name, value, 1.0, dtype, open=undecided))
                continue
        if not dtypes.is_float(dtype):
            result.append(Expected(name, value, 0.0, dtype, open=undecided, interval=interval))
            continue
        if node.operator == "QuantizeLinear":
            real = integers.REAL[node.operator](*node.inputs, **node.attributes)
            value = np.where(np.abs(real) <= dtypes.FLOATS[dtype].largest, real, value)  # what the device rounds
        error = bounds[i] if bounds and i < len(bounds) else np.zeros(value.shape)
        finite = np.isfinite(value)
        if node.operator in modes.OVERFLOWING:
            error = np.where(np.isnan(error) & ~finite, 0.0, error)
        else:
            # An infinite or NaN result is exact. At infinite arguments a bound is 0·∞; the rounding of the limit is left.
            limit = 4 * setting.u * np.maximum(np.abs(value), 1.0)
            error = np.where(finite, np.where(np.isnan(error), limit, error), 0.0)
        result.append(
            Expected(
                name,
                value,
                _stored(error, value, dtype, setting),
                dtype,
                flushes=setting.arithmetic.flushes and node.operator in modes.BOUNDS,
                signed_zero=node.operator in modes.SIGNED_ZERO,
                open=undecided,
            )
        )
    return result


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


def _compared(name: str, node: Node, got: Array, setting: Setting) -> TensorVerdict:
    """The verdict on one output under another arithmetic or for another node than the case's own."""
    return compare(next(e for e in _expectations(node, setting) if e.name == name), got)


def _with_fitting_rung(verdict: TensorVerdict, node: Node, got: Array, setting: Setting) -> TensorVerdict:
    """Names the most exact lower rung at which the output would be right, if there is one."""
    for name in LADDER.get(setting.dtype, ()):
        if _exactness(RUNGS[name]) <= _exactness(setting.arithmetic):
            continue
        if _compared(verdict.name, node, got, Setting(RUNGS[name], setting.dtype)).status == "pass":
            return dataclasses.replace(verdict, message=f"{verdict.message}; right for the arithmetic '{name}'")
    return verdict


def _with_another_rounding(verdict: TensorVerdict, expected: Expected, node: Node, got: Array) -> TensorVerdict:
    """Cast to a narrower type may give either neighbour: ONNX does not say how it rounds (onnx issue 3876), but to float8 and
    less."""
    real = node.real(0)
    step = dtypes.quantum(real, expected.dtype)
    found = compare(dataclasses.replace(expected, value=real, bound=step * (1 - 2.0**-20)), got)
    if found.status == "pass":
        return dataclasses.replace(found, status="pass_reduced", message="does not round to nearest even")
    return verdict


def _with_flushed_operands(verdict: TensorVerdict, node: Node, got: Array, setting: Setting) -> TensorVerdict:
    """Right if subnormal operands count as zero, all of them or those of the parameters (whose constants a compiler folds):
    flushing is a property of the unit, which ONNX leaves alone."""
    subnormal = [
        x is not None
        and dtype is not None
        and dtypes.is_float(dtype)
        and (x != 0) & (np.abs(x) < dtypes.FLOATS[dtype].smallest_normal)
        for x, dtype in zip(node.inputs, node.types, strict=True)
    ]
    for first in (0, 1):
        if not any(np.any(mask) for mask in subnormal[first:]):
            break
        inputs = [
            x if x is None or i < first or mask is False else np.where(mask, 0.0, x)
            for i, (x, mask) in enumerate(zip(node.inputs, subnormal, strict=True))
        ]
        flushed = dataclasses.replace(node, inputs=tuple(inputs), results=node.again(inputs))
        found = _compared(verdict.name, flushed, got, setting)
        if found.status == "pass":
            return dataclasses.replace(found, status="pass_reduced", message="flushes subnormal operands")
    return verdict


def _requantised(verdict: TensorVerdict, node: Node, got: Array) -> TensorVerdict:
    """A requantised output with the largest distance from the real value beyond rounding, δ; small ones are pass_reduced."""
    delta = integers.delta_needed(node, got)
    numbers = {**verdict.numbers, "delta_needed": delta}
    if verdict.status == "mismatch" and delta <= integers.REDUCED_DELTA:
        return TensorVerdict(verdict.name, "pass_reduced", f"rounds with δ = {delta:.3g}", {**numbers, "wrong": 0})
    return dataclasses.replace(verdict, numbers=numbers)
