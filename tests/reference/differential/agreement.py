"""Whether a peer's outputs are what the reference says, within the error of a peer that computes in the tensors' own types."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any

import numpy as np

from reference import dtypes, marks, propagation, random_properties
from reference.evaluator import EvaluationError, Value, evaluate_typed
from reference.node import Node
from reference.verify import TensorVerdict, integers, modes, verify
from reference.verify.bounds import functions

from .samples import Sample

Array = np.ndarray[Any, Any]

TOLERANCE = {"float64": 1e-9, "complex128": 1e-9, "float32": 2e-5, "complex64": 2e-5, "float16": 1e-2, "bfloat16": 8e-2}
"""Where no bound is derived: relative to the largest finite magnitude of the output, or to the inputs, see `_reach`."""

SLACK = 1.5
"""The limits of elementary functions, which are OpenCL's, bind devices. The peers promise none: some of their functions in
single precision, which differ between processors, are up to 15 % beyond."""


DEVIATIONS = 16
"""Standard deviations of a propagated error that a peer's result may be off in a graph of several nodes."""


def disagreement(sample: Sample, outputs: list[Any]) -> str:
    """What is different, in one line; empty if nothing is."""
    try:
        found = evaluate_typed(sample.model, sample.feeds)
    except EvaluationError as error:
        return f"outputs in place of an error: {error}"
    if len(sample.model.graph.node) > 1:
        return _in_graph(sample, found, outputs)
    node = Node.of(sample.model, sample.feeds)
    if (lines := _random(sample, node, outputs)) is not None:
        return "; ".join(lines)
    if _bounded(node.operator) and all(_is_tensor(v) for v in found.values()):
        pairs = zip(found.items(), map(np.asarray, outputs), strict=True)
        given = {name: _settled(value, got, node, i) for i, ((name, value), got) in enumerate(pairs)}
        verdicts = verify(_declared(sample), sample.feeds, given)
        undecided = {v.name for v in verdicts if v.status == "inconclusive"}
        texts = [f"{v.name}: {v.message}" for v in verdicts if v.status == "mismatch" and not _nearly(node, v)]
    else:
        undecided, texts = set(found), []
    texts += [
        _difference(name, value.data, value.type or "", got, node, i)
        for i, ((name, value), got) in enumerate(zip(found.items(), outputs, strict=True))
        if name in undecided
    ]
    return "; ".join(t for t in texts if t)


def _in_graph(sample: Sample, found: Mapping[str, Value], outputs: list[Any]) -> str:
    """The first difference of outputs of a graph of several nodes that is beyond all that propagated errors explain."""
    half = any(x.dtype == np.float16 for x in sample.feeds.values())
    variances = propagation.variances(sample.model, sample.feeds, accumulator="float16" if half else "float32")
    for (name, value), got in zip(found.items(), outputs, strict=True):
        if got.shape != value.data.shape or dtypes.name_of(got.dtype) != value.type:
            return f"{name}: {got.dtype}{got.shape} in place of {value.type}{value.data.shape}"
        error = np.abs(dtypes.to_real(got) - dtypes.round_to(value.data, value.type))
        wrong = ~(error <= DEVIATIONS * np.sqrt(variances[name]))
        if wrong.any():
            return f"{name}: {got[wrong][0]!r} in place of {value.data[wrong][0]!r}"
    return ""


def _nearly(node: Node, verdict: TensorVerdict) -> bool:
    """Whether an elementary function misses its limit by a little, see `SLACK`."""
    limit, _ = functions.ULPS.get(node.operator, (0.0, 0.0))
    return limit > 1 and verdict.numbers.get("worst_ratio", np.inf) <= SLACK


def _is_tensor(value: Value) -> bool:
    return isinstance(value.data, np.ndarray) and "(" not in (value.type or "")


def _random(sample: Sample, node: Node, outputs: list[Any]) -> list[str] | None:
    """What contradicts the distribution of a random operator; None for other operators and where nothing is random."""
    if node.operator in random_properties.CHECKS:
        inputs = [sample.input(i) for i in range(len(sample.node.input))]
        return random_properties.violations(node.operator, inputs, node.attributes, np.asarray(outputs[0]))
    if node.operator != "Dropout" or marks.left_open(node, 0) is None:
        return None
    y = np.asarray(outputs[0])
    ratio = sample.input(1) if node.given(1) else np.asarray(node.attribute("ratio", 0.5), np.float32)
    mask = np.asarray(outputs[1]) if len(outputs) > 1 else None
    if node.version >= 12 and not node.given(1) and (y == sample.input(0)).all():
        return []  # the text calls this a copy, too
    return random_properties.dropout_violations(sample.input(0), ratio, y, mask)


def _bounded(operator: str) -> bool:
    """Whether verification has a bound for the operator."""
    try:
        return modes.mode_of(operator) != "UNBOUNDED"
    except KeyError:
        return False


def _settled(value: Value, got: Array, node: Node, index: int) -> Array:
    """A peer's output with the reference's elements where these sit on a decision: either side is right there."""
    kind, ties = value.type or "", marks.ties(node, index)
    expected = dtypes.cast(value.data, kind) if dtypes.is_float(kind) else value.data
    if got.shape != expected.shape:  # a length may be what is decided, or open
        return expected if _undecided(node, index).all() else got
    return got if ties is None or got.dtype != expected.dtype else np.where(ties, expected, got)


def _undecided(node: Node, index: int) -> Array:
    """Mask of the elements that are open or tied."""
    masks = [m for m in (marks.left_open(node, index), marks.ties(node, index)) if m is not None]
    return functools.reduce(np.logical_or, masks, np.zeros((), bool))


def _declared(sample: Sample) -> Any:
    """The model with the types of its outputs, which verification asks for."""
    model = type(sample.model)()
    model.CopyFrom(sample.model)
    for name, value in evaluate_typed(sample.model, sample.feeds).items():
        info = next(v for v in model.graph.output if v.name == name)
        info.type.tensor_type.elem_type = dtypes.ONNX[value.type or "float32"]
    return model


def _difference(name: str, expected: Any, kind: str, got: Any, node: Node | None, index: int) -> str:
    """The first difference of one output."""
    kind = kind.removeprefix("optional(").removesuffix(")") if kind.startswith("optional(") else kind
    if expected is None or got is None:
        return "" if expected is got else f"{name}: {got!r} in place of {expected!r}"
    if isinstance(expected, list) != isinstance(got, list):
        return f"{name}: {type(got).__name__} in place of {type(expected).__name__}"
    if isinstance(expected, list):
        if len(expected) != len(got):
            return f"{name}: {len(got)} elements in place of {len(expected)}"
        element = kind.removeprefix("seq(").removesuffix(")")
        return next((t for e, g in zip(expected, got, strict=True) if (t := _difference(name, e, element, g, node, -1))), "")
    got = np.asarray(got)
    if dtypes.name_of(got.dtype) != kind:
        return f"{name}: {got.dtype} in place of {kind}"
    skipped = np.zeros((), bool) if node is None or index < 0 else _undecided(node, index)
    if got.shape != expected.shape:
        return "" if skipped.all() else f"{name}: shape {got.shape} in place of {expected.shape}"
    if not dtypes.is_float(kind) and not kind.startswith("complex"):
        wrong = expected != got
        if node is not None and dtypes.is_integer(kind) and modes.rounds_integers(node):
            interval = integers.neighbours(node)
            wrong &= False if interval is None else (got < interval[0]) | (got > interval[1])
        wrong &= ~skipped
        return "" if not wrong.any() else f"{name}: {got[wrong][0]!r} in place of {expected[wrong][0]!r}"
    y = dtypes.to_real(got)
    want = dtypes.round_to(expected, kind) if dtypes.is_float(kind) else expected
    finite = np.isfinite(want)
    size = float(np.abs(want[finite]).max(initial=0.0))
    relative = 0.0 if node is not None and node.operator in modes.EXACT else _tolerance(kind, node)
    close = np.isclose(y, want, rtol=relative, atol=relative * size, equal_nan=True)
    wrong = ~close & ~skipped
    if wrong.any() and relative and node is not None and index >= 0:
        with np.errstate(invalid="ignore"):
            wrong &= ~(np.abs(y - want) <= relative * size + _reach(node, index, relative))
    return "" if not wrong.any() else f"{name}: {y[wrong][0]!r} in place of {want[wrong][0]!r}"


def _tolerance(kind: str, node: Node | None) -> float:
    """That of the coarsest type that takes part: the output's, those of the inputs, and one that an attribute names."""
    kinds = [kind] if node is None else [kind, *node.types, dtypes.NAMES.get(node.attribute("softmax_precision", 0))]
    return max(TOLERANCE.get(k or "", 0.0) for k in kinds)


def _reach(node: Node, index: int, relative: float) -> Array:
    """How far an output moves if each real input moves by `relative` of itself, the furthest of a few directions: where terms
    cancel, a result is right that is right for inputs so close by. 0 where it jumps."""
    random, y = np.random.default_rng(0), node.results[index]
    reach = np.zeros(y.shape)
    for _ in range(8):
        ways = [
            x * relative * random.choice([-1.0, 1.0], x.shape) if isinstance(x, np.ndarray) and x.dtype == np.float64 else None
            for x in node.inputs
        ]
        try:
            up, down = (
                node.again([x if d is None or x is None else x + sign * d for x, d in zip(node.inputs, ways, strict=True)])[
                    index
                ]
                for sign in (1, -1)
            )
        except ValueError:  # an input that has no neighbours, such as a probability of 1
            return reach
        with np.errstate(invalid="ignore"):
            move, bend = np.abs(up - down) / 2, np.abs(up + down - 2 * y)
            reach = np.where(bend <= move, np.maximum(reach, move), reach)
    return reach
