"""Judges a device's outputs by tolerances derived from operator, type and declared arithmetic (docs/numerics.md)."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Mapping, Sequence

import numpy as np
import onnx

from reference import dtypes
from reference.node import Array, Node
from reference.verify import integers, modes, ordering, properties
from reference.verify.arithmetic import DEFAULT, LADDER, RUNGS, Arithmetic, exactness
from reference.verify.compare import Expected, fits
from reference.verify.diagnosis import Diagnosis, Question, diagnose, extent
from reference.verify.diagnosis.hypothesis import REFUSALS
from reference.verify.diagnosis.precision import FEWEST_BITS
from reference.verify.expectation import expectations
from reference.verify.profile import Profile
from reference.verify.requantise import Requantise
from reference.verify.setting import Setting
from reference.verify.verdict import TensorVerdict, judge

__all__ = ["DEFAULT", "RUNGS", "Arithmetic", "Diagnosis", "Profile", "TensorVerdict", "verify"]

WIDE = ("float64", "float32", "float16", "bfloat16")

PRECISION = frozenset(
    [
        *("accumulator-biased", "accumulator-narrow", "accumulator-truncates", "float64-as-float32", "inputs-bfloat16"),
        *("inputs-float16", "inputs-tf32", "outputs-narrow", "precision-low", "subnormals-flushed", "wild-element"),
    ]
)
"""Causes that a declaration of lower precision would excuse."""


CONVERTED = {"inputs-float16": ("float16", "tf32"), "inputs-tf32": ("tf32",), "inputs-bfloat16": ("bfloat16",)}
"""Causes that say in which format the operands of a lower rung must be."""

UNDECLARED = {
    "kind 'fixed-double-rounding'": Requantise("fixed-double-rounding"),
    **{f"kind 'fixed-double-rounding', shift {n}": Requantise("fixed-double-rounding", shift=n) for n in range(15, 0, -1)},
    "multiplier_bits 16": Requantise("fixed", multiplier_bits=16),
    "in_float16": Requantise(in_float16=True),
}
"""Ways to requantise that devices have and forget to declare, as a profile names them (`profile.Profile`)."""


def verify(
    model: onnx.ModelProto,
    feeds: Mapping[str, Array],
    outputs: Mapping[str, Array],
    profile: Profile | None = None,
    *,
    random: bool = False,
    previous: Sequence[Array] = (),
    before: tuple[onnx.ModelProto, Mapping[str, Array]] | None = None,
    diagnosed: bool = True,
) -> list[TensorVerdict]:
    """One verdict for each graph output of a single-node model, in graph order: a pure function of the arguments.

    profile: the arithmetic that the device declares or was found to have; what it leaves out is held to `DEFAULT`. A right
    result at a rung below the default is `pass_reduced`. random: the inputs have no order, so that the statistics of rounding
    errors are judged too (`statistics`). previous: outputs of the case before, which a stale buffer would still hold; before:
    that case's model and feeds, whose right result a device would return that is one run late. Both change the diagnosis of a
    mismatch only, which `diagnosed` asks for. Raises EvaluationError for a model that the reference refuses.
    """
    node = Node.of(model, feeds)
    sequences = any(isinstance(result, list) for result in node.results)
    outputs = outputs if sequences else {name: _tensor(value) for name, value in outputs.items()}
    profile = profile or Profile()
    if properties.is_random(node):
        return _random(node, outputs, model, profile)
    setting = setting_of(node, profile, random=random)
    if sequences:
        return [_of_sequence(node, v.name, outputs) for v in model.graph.output]
    asked, (node, outputs) = node, ordering.in_order(node, outputs)
    expected = {e.name: e for e in expectations(node, setting)}
    verdicts = []
    for name in [v.name for v in model.graph.output]:
        if name not in outputs:
            verdicts.append(TensorVerdict(name, "mismatch", f"the compiled model has no output {name}", tier="shape"))
            continue
        verdict = _judged(node, expected[name], outputs[name], setting)
        if verdict.status == "mismatch":
            if diagnosed:
                index = node.output_names.index(name)
                late = _expected_before(before, profile)
                about = (verdict.tier, verdict.numbers, outputs, tuple(previous), late)
                question = Question(node, index, outputs[name], expected[name], setting, *about)
                verdict = dataclasses.replace(verdict, diagnosis=tuple(diagnose(question)))
            verdict = _with_fitting_rung(verdict, node, outputs[name], setting, diagnosed=diagnosed)
            if node is not asked:
                verdict = dataclasses.replace(verdict, message=f"{verdict.message}; counted in the order of the sorted result")
        verdicts.append(verdict)
    return verdicts


def _tensor(value: object) -> Array:
    """What a device returned as a plain array, since a subclass may compare otherwise; what is none as an array of objects,
    which has no tensor's type."""
    try:
        return np.asarray(value)
    except ValueError:  # rows of different lengths
        return np.asarray([None])


def _expected_before(case: tuple[onnx.ModelProto, Mapping[str, Array]] | None, profile: Profile) -> tuple[Expected, ...]:
    """What the outputs of the case before must have been; () where the reference refuses it."""
    if case is None:
        return ()
    try:
        node = Node.of(*case)
        return tuple(expectations(node, setting_of(node, profile)))
    except REFUSALS:
        return ()


def _of_sequence(node: Node, name: str, outputs: Mapping[str, Array]) -> TensorVerdict:
    """The verdict on a sequence, which only moves its tensors: that of its worst element."""
    right, got = node.results[node.output_names.index(name)], outputs.get(name)
    if not isinstance(got, list | tuple) or len(got) != len(right):
        found = f"{len(got)} tensors" if isinstance(got, list | tuple) else "no sequence"
        return TensorVerdict(name, "mismatch", f"{name}: {found}, the reference has {len(right)}", tier="shape")
    dtype = node.output_types[node.output_names.index(name)].rpartition("(")[2].rstrip(")")
    judged = [
        judge(Expected(f"{name}[{i}]", y, 0.0, dtype), np.asarray(x)) for i, (y, x) in enumerate(zip(right, got, strict=True))
    ]
    wrong = [verdict for verdict in judged if verdict.status != "pass"]
    return (
        dataclasses.replace(wrong[0], name=name)
        if wrong
        else TensorVerdict(name, "pass", numbers={"compared": len(right), "wrong": 0})
    )


def _random(node: Node, outputs: Mapping[str, Array], model: onnx.ModelProto, profile: Profile) -> list[TensorVerdict]:
    """Verdicts on random numbers, by their properties; all outputs of the node are looked at together."""
    missing = [v.name for v in model.graph.output if v.name not in outputs]
    if missing:
        return [TensorVerdict(name, "mismatch", f"the compiled model has no output {name}", tier="shape") for name in missing]
    dtype = node.output_types[0]
    lower = dict(_reduced_types(node, profile)).get(dtype)
    drawn = lower.compute if lower and dtypes.FLOATS[lower.compute].precision < dtypes.FLOATS[dtype].precision else None
    results = [outputs.get(name, y) for name, y in zip(node.output_names, node.results, strict=True)]
    found = properties.verify_random(node, results, drawn)
    return [verdict for verdict in found if verdict.name]


def setting_of(node: Node, profile: Profile, *, random: bool = False) -> Setting:
    """Which arithmetic a node is held to: the profile's, else the type's own; not below float32 where the operator asks for
    that itself."""
    dtype = _main_type(node)
    single, default = dtype == "float64" and modes.is_single(node), _own(node, dtype)
    arithmetic = profile.arithmetic(modes.class_of(node.operator), dtype) or default
    for other, lower in _reduced_types(node, profile):  # a unit that has no numbers so wide converts these as well
        if exactness(lower) >= exactness(arithmetic):
            dtype, arithmetic = other, lower
    held = max(arithmetic, default, key=exactness) if single else arithmetic
    quantised = profile.arithmetic("quantization", node.output_types[0]) if node.operator in modes.INTERVALS else None
    if quantised is not None and dtypes.is_integer(node.output_types[0]):
        held = dataclasses.replace(held, requantise=quantised.requantise)
    return Setting(held, dtype, random, held.intermediates)


def _reduced_types(node: Node, profile: Profile) -> list[tuple[str, Arithmetic]]:
    """Floating-point types of a node, inputs and outputs, that the device computes below their own arithmetic."""
    floats = dict.fromkeys(t for t in (*node.types, *node.output_types) if t is not None and dtypes.is_float(t))
    declared = [(t, profile.arithmetic(modes.class_of(node.operator), t)) for t in floats]
    return [(t, a) for t, a in declared if a is not None and exactness(a) > exactness(_own(node, t))]


def _judged(node: Node, expected: Expected, got: Array, setting: Setting) -> TensorVerdict:
    """The verdict under the setting, or at a lower rung that the field admits for every device."""
    verdict = judge(expected, got)
    if verdict.status == "pass" and _reduced(node, setting):
        verdict = dataclasses.replace(verdict, status="pass_reduced")
    if verdict.status == "mismatch" and not modes.moves(node):
        verdict = _with_flushed_operands(verdict, node, got, setting)
    if verdict.status == "mismatch" and node.operator in ("Cast", "CastLike") and expected.dtype in WIDE:
        verdict = _with_another_rounding(verdict, expected, node, got)
    if (
        expected.interval is not None
        and integers.requantises(node, node.output_names.index(expected.name))
        and fits(expected, got)
    ):
        return _requantised(verdict, node, got, setting)
    return verdict


def _reduced(node: Node, setting: Setting) -> bool:
    """Whether the setting is below what the type's own arithmetic would be."""
    arithmetic, default = setting.arithmetic, _own(node, setting.dtype)
    if exactness(arithmetic) != exactness(default):
        return exactness(arithmetic) > exactness(default)
    return arithmetic.precision < default.precision or arithmetic.faithful or arithmetic.flushes


def _own(node: Node, dtype: str) -> Arithmetic:
    """The type's own arithmetic, or float32's where the operator asks for that."""
    return RUNGS["fp32" if dtype == "float64" and modes.is_single(node) else DEFAULT.get(dtype, "fp32")]


def _main_type(node: Node) -> str:
    """The floating-point type whose arithmetic computes the node: of its inputs, else of its outputs."""
    floats = [t for t in (*node.types, *node.output_types) if t is not None and dtypes.is_float(t)]
    return floats[0] if floats else node.output_types[0]


def _compared(name: str, node: Node, got: Array, setting: Setting) -> TensorVerdict:
    """The verdict on one output under another arithmetic or for another node than the case's own."""
    return judge(next(e for e in expectations(node, setting) if e.name == name), got)


def _with_fitting_rung(verdict: TensorVerdict, node: Node, got: Array, setting: Setting, *, diagnosed: bool) -> TensorVerdict:
    """Names the most exact lower rung at which the output would be right, if there is one, and unless something that is no
    matter of precision explains it wholly. Where nothing explains it, that rung does, if no element is far from right."""
    far = verdict.numbers.get("worst_ratio", 0.0) >= extent.WILD_RATIO
    explained = any(
        (d.complete and d.cause not in PRECISION) or (far and d.cause == "wild-element") for d in verdict.diagnosis[:1]
    )
    if not dtypes.is_float(setting.dtype) or verdict.tier in ("shape", "type") or explained:
        return verdict
    formats = next((CONVERTED.get(d.cause) for d in verdict.diagnosis[:1] if d.complete), None)
    for name in LADDER.get(setting.dtype, ()):
        if exactness(RUNGS[name]) <= exactness(setting.arithmetic):
            continue
        if formats and (RUNGS[name].inputs or RUNGS[name].compute) not in formats:
            continue
        lower = dataclasses.replace(setting, arithmetic=RUNGS[name])
        if _compared(verdict.name, node, got, lower).status == "pass":
            found = verdict.diagnosis or (_imprecise(verdict, node, got, name) if diagnosed else ())
            message = f"{verdict.message}; right for the arithmetic '{name}'"
            return dataclasses.replace(verdict, message=message, diagnosis=found)
    return verdict


def _imprecise(verdict: TensorVerdict, node: Node, got: Array, rung: str) -> tuple[Diagnosis, ...]:
    """What the rung that fits says by itself: too few bits; nothing of an output with an element that is far from right."""
    reference = node.results[node.output_names.index(verdict.name)]
    value = dtypes.to_real(got)
    if reference.shape != value.shape or reference.dtype.kind != "f" or value.dtype.kind != "f":
        return ()
    with np.errstate(all="ignore"):
        same = (value == reference) | (np.isnan(value) & np.isnan(reference))
        error = np.where(same, 0.0, np.abs(value - reference))
        near = error <= 2.0**-FEWEST_BITS * np.abs(reference)
    return (Diagnosis("precision-low", f"no error is larger than the arithmetic '{rung}' makes them"),) if near.all() else ()


def _with_another_rounding(verdict: TensorVerdict, expected: Expected, node: Node, got: Array) -> TensorVerdict:
    """Cast to a narrower type may give either neighbour: ONNX does not say how it rounds (onnx issue 3876), but to float8 and
    less."""
    real = node.real(0)
    step = dtypes.quantum(real, expected.dtype)
    found = judge(dataclasses.replace(expected, value=real, bound=step * (1 - 2.0**-20)), got)
    if found.status == "pass":
        return dataclasses.replace(found, status="pass_reduced", message="does not round to nearest even")
    return verdict


def _with_flushed_operands(verdict: TensorVerdict, node: Node, got: Array, setting: Setting) -> TensorVerdict:
    """Right if subnormal operands count as zero, of their sign or positive, all of them or those of the parameters (whose
    constants a compiler folds): flushing is a property of the unit, which ONNX leaves alone."""
    subnormal = [
        x is not None
        and dtype is not None
        and dtypes.is_float(dtype)
        and (x != 0) & (np.abs(x) < dtypes.FLOATS[dtype].smallest_normal)
        for x, dtype in zip(node.inputs, node.types, strict=True)
    ]
    for first, signed in itertools.product((0, 1), (True, False)):
        if not any(np.any(mask) for mask in subnormal[first:]):
            break
        inputs = [
            x if x is None or i < first or mask is False else np.where(mask, np.copysign(0.0, x) if signed else 0.0, x)
            for i, (x, mask) in enumerate(zip(node.inputs, subnormal, strict=True))
        ]
        try:
            flushed = dataclasses.replace(node, inputs=tuple(inputs), results=node.again(inputs))
        except REFUSALS:  # a Range whose step is flushed
            continue
        expected = next(e for e in expectations(flushed, setting) if e.name == verdict.name)
        found = judge(dataclasses.replace(expected, flushes=True), got)
        if found.status == "pass":
            return dataclasses.replace(found, status="pass_reduced", message="flushes subnormal operands")
        if found.status == "inconclusive":
            verdict = found
    return verdict


def _requantised(verdict: TensorVerdict, node: Node, got: Array, setting: Setting) -> TensorVerdict:
    """A requantised output with the largest distance from the real value beyond rounding, δ; small ones are pass_reduced. A
    way to requantise that would explain it and is not declared is named."""
    found = integers.deviations(node, got, node.output_names.index(verdict.name))
    numbers = {**verdict.numbers, **found}
    if verdict.status == "mismatch" and found["delta_needed"] <= integers.REDUCED_DELTA:
        delta = found["delta_needed"]
        text = f"rounds with δ = {delta:.3g}" if delta else "does not round half-ways to even"
        text += _way_of_requantising(verdict.name, node, got, setting) if delta else ""
        return TensorVerdict(verdict.name, "pass_reduced", text, {**numbers, "wrong": 0})
    message = verdict.message
    if verdict.status == "mismatch":
        message += _way_of_requantising(verdict.name, node, got, setting)
    return dataclasses.replace(verdict, message=message, numbers=numbers)


def _way_of_requantising(name: str, node: Node, got: Array, setting: Setting) -> str:
    """What ends a message where a less exact requantiser than the setting's would be right."""
    for text, way in UNDECLARED.items():
        arithmetic = dataclasses.replace(setting.arithmetic, requantise=way)
        if _compared(name, node, got, dataclasses.replace(setting, arithmetic=arithmetic)).status == "pass":
            return f"; right for a requantiser with {text}"
    return ""
