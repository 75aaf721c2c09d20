"""How far each tensor of a short graph may lie from its real value, in the worst case: every node's own bound, and what the
errors of its operands become in it.

Compilers reorder: (a + b)·s may be computed as a·s + b·s with a·s and b·s far larger than the result. So sums and products
carry the size that their terms could have, the same graph of absolute values, and roundings count against that. Where all sizes
are small multiples of one power of two, every order and fusion gives the same bits, and nothing else is right. Worst cases grow
quickly (docs/numerics.md): this is for chains of a few nodes, `reference.propagation` for whole models.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence

import numpy as np
import onnx
from onnx import numpy_helper

from reference import dtypes, evaluator, magnitudes
from reference.node import Array, Node
from reference.propagation import BY_VALUE, MOVES, WITH_BODIES
from reference.verify import modes, sensitivity, setting_of
from reference.verify.arithmetic import DEFAULT, RUNGS, exactness
from reference.verify.compare import Expected
from reference.verify.control import inner_operators
from reference.verify.expectation import expectations
from reference.verify.profile import Profile
from reference.verify.setting import Setting

PRODUCTS = frozenset(["Conv", "ConvTranspose", "Einsum", "Gemm", "MatMul", "Mul"])
"""Sums of products: a product of multiples of g and h is one of g·h."""

SUMS = frozenset(["Add", "CumSum", "ReduceL1", "ReduceSum", "Sub", "Sum"])
MEANS = frozenset(["AveragePool", "GlobalAveragePool", "Mean", "ReduceMean"])
AFFINE = frozenset(["BatchNormalization", "Div", "HardSigmoid", "LeakyRelu", "PRelu"])
"""Operators that are linear in their first input where the others are constant."""

ALONG_INPUT = frozenset(["CumSum", "ReduceL1", "ReduceMean", "ReduceSum"])
"""Operators whose second input names axes."""

LINEAR = PRODUCTS | SUMS | MEANS | AFFINE

REFACTORED = 4
"""Roundings that folding a factor or a summand into constants may cost beyond those of the nodes themselves."""


@dataclasses.dataclass(frozen=True)
class Known:
    """What is known of a tensor. error: the most that a right device may be away from the value, None: nothing. size: what its
    terms could add up to. step: a power of two that all terms are multiples of. reduced: an arithmetic below the type's own
    was allowed on the way."""

    error: Array | None
    size: Array
    step: float
    reduced: bool = False
    interval: tuple[Array, Array] | None = None
    flushes: bool = False


def expected(model: onnx.ModelProto, feeds: Mapping[str, Array], profile: Profile) -> dict[str, tuple[Expected, bool]]:
    """Tensor of the main graph → what it must be, and whether an arithmetic below the type's own is allowed for it. Sequences
    are left out. Raises EvaluationError."""
    known: dict[str, Known] = {}
    for name, array in (*feeds.items(), *((t.name, numpy_helper.to_array(t)) for t in model.graph.initializer)):
        known[name] = _exact(array)
    found: dict[str, tuple[Expected, bool]] = {}
    for step in evaluator.steps(model, feeds):
        node = Node.evaluated(step)
        if node.operator in WITH_BODIES:
            results = _controlled(node, known)
        else:
            brought = [known.get(name) if name else None for name in step.call.inputs]
            results = _of_node(node, brought, setting_of(node, profile))
        for i, name in enumerate(node.output_names):
            if name:
                known[name] = results[i]
                if isinstance(node.results[i], np.ndarray):
                    found[name] = (_expected(node, i, results[i]), results[i].reduced)
    return found


def _expected(node: Node, i: int, known: Known) -> Expected:
    name, value, dtype = node.output_names[i], node.results[i], node.output_types[i]
    if known.error is None:
        return Expected(name, value, 0.0, dtype)
    if dtypes.is_float(dtype):
        return Expected(name, value, known.error, dtype, flushes=known.flushes, saturates=known.reduced)
    if np.isnan(known.error).any():
        return Expected(name, value, np.nan, dtype)
    if dtypes.is_integer(dtype):
        return Expected(name, value, 0.0, dtype, interval=known.interval or (value - known.error, value + known.error))
    return Expected(name, value, 0.0, dtype, open=known.error > 0)


def lowest_bit(x: Array) -> float:
    """The largest power of two that every element is a multiple of; infinite where all are 0."""
    real = np.asarray(x, np.float64)
    real = real[(real != 0) & np.isfinite(real)]
    if not real.size:
        return np.inf
    fraction, exponent = np.frexp(real)
    whole = np.ldexp(fraction, 53).astype(np.int64)
    return float(np.ldexp((whole & -whole).astype(np.float64), exponent - 53).min())


def _exact(value: object, reduced: bool = False) -> Known:
    """A tensor without an error, by its values; of a sequence only that."""
    if not isinstance(value, np.ndarray) or value.dtype.kind in "OUSbc":
        return Known(None, np.zeros(()), np.inf, reduced)
    size = np.abs(value.astype(np.float64))
    return Known(None, size, lowest_bit(size), reduced)


def _unknown(value: object) -> Known:
    return Known(np.full(np.shape(value) if isinstance(value, np.ndarray) else (), np.nan), np.zeros(()), 0.0)


def _controlled(node: Node, known: Mapping[str, Known]) -> list[Known]:
    """If, Loop, Scan, SequenceMap: exact where nothing around them has an error and everything inside them is exact on
    results as small as these."""
    inside = inner_operators(node)
    possible = all(k.error is None for k in known.values())
    possible &= all(name in modes.EXACT or name in PRODUCTS or name in SUMS for name in inside)
    return [
        _exact(v) if possible and _small(v, t) else _unknown(v) for v, t in zip(node.results, node.output_types, strict=True)
    ]


def _small(value: object, dtype: str) -> bool:
    if not isinstance(value, np.ndarray) or not dtypes.is_float(dtype):
        return True
    size = np.abs(value)
    return bool(size.max(initial=0.0) <= 2.0 ** min(8, dtypes.FLOATS[dtype].precision) * lowest_bit(size))


def _of_node(node: Node, brought: Sequence[Known | None], setting: Setting) -> list[Known]:
    """What is known of every output."""
    given = [k for k in brought if k is not None]
    exact = all(k.error is None for k in given)
    if not all(isinstance(v, np.ndarray) for v in node.results) or any(isinstance(x, list) for x in node.inputs):
        return [_exact(v) if exact else _unknown(v) for v in node.results]
    reduced = any(k.reduced for k in given)
    if node.operator == "QuantizeLinear":
        return [_quantised(node, brought, setting)]
    if node.operator in LINEAR and dtypes.is_float(node.output_types[0]):
        first = _linear(node, brought, setting, exact)
        return [first, *(_exact(v) if exact else _unknown(v) for v in node.results[1:])]
    if node.operator in MOVES:
        return [_moved(node, brought, k, reduced) for k in range(len(node.results))]
    if exact and (node.operator in modes.EXACT or not any(dtypes.is_float(t) for t in node.output_types)):
        return [_stored(_exact(v, reduced), v, t) for v, t in zip(node.results, node.output_types, strict=True)]
    return _differentiated(node, brought, setting, reduced or _is_reduced(node, setting))


def _is_reduced(node: Node, setting: Setting) -> bool:
    own = RUNGS[DEFAULT.get(setting.dtype, "fp32")]
    return exactness(setting.arithmetic) > exactness(own)


def _stored(known: Known, value: Array, dtype: str) -> Known:
    """With half a step of its type where an exact value is none of the type's numbers."""
    if known.error is not None or not dtypes.is_float(dtype):
        return known
    error = np.where(dtypes.round_to(value, dtype) == value, 0.0, 0.5 * dtypes.quantum(value, dtype))
    return dataclasses.replace(known, error=error) if error.any() else known


def _error(known: Known | None, shape: tuple[int, ...]) -> Array:
    return np.zeros(shape) if known is None or known.error is None else np.broadcast_to(known.error, shape)


# Sums of products


def _linear(node: Node, brought: Sequence[Known | None], setting: Setting, exact: bool) -> Known:
    pairs = zip(node.inputs, brought, strict=True)
    sizes = [None if x is None or k is None else np.broadcast_to(k.size, x.shape) for x, k in pairs]
    if node.operator in ALONG_INPUT:
        sizes[1:] = node.inputs[1:]
    absolute = _absolute(node, sizes)
    size, step = np.asarray(absolute.results[0]), _step(node, brought)
    reduced = any(k.reduced for k in brought if k) or _is_reduced(node, setting)
    y, dtype = node.results[0], node.output_types[0]
    if exact and size.max(initial=0.0) <= 2.0 ** _bits(setting, dtype) * step:
        return _stored(Known(None, size, step, any(k.reduced for k in brought if k)), y, dtype)
    own = np.broadcast_to(np.asarray(expectations(absolute, setting)[0].bound, np.float64), y.shape)
    error = own + REFACTORED * setting.u * size + 0.5 * dtypes.quantum(size, dtype)
    if not exact:
        error = error + _carried(node, brought)
    return Known(error, size + error, 0.0, reduced, flushes=setting.arithmetic.flushes)


def _absolute(node: Node, sizes: Sequence[Array | None]) -> Node:
    """The node on absolute values, so that nothing cancels."""
    operator = "Add" if node.operator == "Sub" else node.operator
    attributes = {name: abs(v) if isinstance(v, float) and name != "epsilon" else v for name, v in node.attributes.items()}
    inputs = list(sizes)
    x = inputs[0]
    assert x is not None
    if operator == "BatchNormalization":
        inputs[3] = None if inputs[3] is None else -inputs[3]  # which is subtracted
    elif operator in ("LeakyRelu", "PRelu"):  # the slope, or 1
        slope = np.asarray(attributes.get("alpha", 0.01) if operator == "LeakyRelu" else inputs[1])
        return dataclasses.replace(node, inputs=tuple(inputs), results=(np.asarray(x * np.maximum(slope, 1.0)),))
    elif operator == "HardSigmoid":
        result = np.asarray(x * attributes.get("alpha", 0.2) + attributes.get("beta", 0.5))
        return dataclasses.replace(node, inputs=tuple(inputs), results=(result,))
    changed = dataclasses.replace(node, operator=operator, inputs=tuple(inputs), attributes=attributes)
    with np.errstate(all="ignore"):
        return dataclasses.replace(changed, results=changed.again(inputs))


def _step(node: Node, brought: Sequence[Known | None]) -> float:
    """The power of two that all terms of a linear operator's result are multiples of; 0 where there is none."""
    steps = [k.step for k in brought if k is not None]
    if node.operator in SUMS:
        return min(steps if node.operator in ("Add", "Sub", "Sum") else steps[:1])
    if node.operator in ("Mul", "MatMul", "Einsum"):
        return float(np.prod(steps))
    if node.operator in PRODUCTS:
        product = steps[0] * steps[1] * (_lowest_bit_of(node, "alpha", 1.0) if node.operator == "Gemm" else 1.0)
        bias = [step * _lowest_bit_of(node, "beta", 1.0) for step in steps[2:]]
        return min([product, *bias])
    if node.operator in MEANS:
        sizes = magnitudes.of(node)
        ones = node.again([np.ones_like(node.real(0)), *node.inputs[1:]])[0]
        divisors = np.asarray(sizes.terms / ones) if sizes is not None and node.operator != "Mean" else np.zeros(1)
        return steps[0] / float(divisors.max()) if np.all(np.frexp(divisors)[0] == 0.5) else 0.0
    if node.operator == "Div":
        return steps[0] / float(np.abs(node.real(1)).max()) if np.all(np.frexp(np.abs(node.real(1)))[0] == 0.5) else 0.0
    if node.operator == "LeakyRelu":
        return steps[0] * min(1.0, _lowest_bit_of(node, "alpha", 0.01))
    if node.operator == "PRelu":
        return steps[0] * min(1.0, steps[1])
    if node.operator == "HardSigmoid":
        return min(steps[0] * _lowest_bit_of(node, "alpha", 0.2), _lowest_bit_of(node, "beta", 0.5), 1.0)
    return 0.0


def _lowest_bit_of(node: Node, attribute: str, default: float) -> float:
    """Of a floating-point attribute as models store it."""
    return lowest_bit(np.asarray(node.attribute(attribute, default), np.float32))


def _bits(setting: Setting, dtype: str) -> int:
    """Significant bits that everything on the way of a sum of products keeps."""
    arithmetic = setting.arithmetic
    formats = [dtypes.FLOATS[name].precision for name in (arithmetic.inputs, dtype) if name is not None]
    return min(arithmetic.precision, *formats)


def _carried(node: Node, brought: Sequence[Known | None]) -> Array:
    """What the operands' errors become: the operator on |x| + error, less that on |x|."""
    if node.operator in AFFINE:
        total = np.zeros(node.results[0].shape)
        for i, k in enumerate(brought):
            if k is not None and k.error is not None:
                total = total + sensitivity.gain(node, i, k.error)[0]
        return total
    sizes = [None if x is None else np.abs(x) for x in node.inputs]
    ends = [None if s is None else s + _error(k, s.shape) for s, k in zip(sizes, brought, strict=True)]
    if node.operator in ALONG_INPUT:
        sizes, ends = [sizes[0], *node.inputs[1:]], [ends[0], *node.inputs[1:]]
    grown = _absolute(node, ends).results[0] - _absolute(node, sizes).results[0]
    return np.asarray(np.abs(grown) * sensitivity.SECOND_ORDER)


# Everything else


DATA: Mapping[str, Sequence[int]] = {"Pad": (0, 2), "Where": (1, 2)}
"""Movements whose further inputs are data: those of `DATA`, all of Concat, Max and Min, limits of Clip."""


def _moved(node: Node, brought: Sequence[Known | None], output: int, reduced: bool) -> Known:
    """Errors and sizes go where the elements go; an element that is chosen by value has the error of any."""
    value = node.results[output]
    every = range(len(node.inputs)) if node.operator in ("Clip", "Concat", "Max", "Min") else DATA.get(node.operator, (0,))
    data = [i for i in every if i < len(brought) and brought[i] is not None]
    if any(k is not None and k.error is not None and i not in data for i, k in enumerate(brought)):
        return _unknown(value)
    step = min((k.step for i in data if (k := brought[i]) is not None), default=np.inf)
    inexact = any((k := brought[i]) is not None and k.error is not None for i in data)
    flushes = any((k := brought[i]) is not None and k.flushes for i in data)
    if node.operator in BY_VALUE:
        largest = max((float(np.max(_error(brought[i], node.real(i).shape), initial=0.0)) for i in data), default=0.0)
        error = np.full(value.shape, largest) if inexact else None
        if node.operator in ("Relu", "Clip") and inexact:
            error = np.array(_error(brought[0], value.shape))
        return Known(error, np.abs(value) + (0.0 if error is None else error), step, reduced, flushes=flushes)
    sizes = [_with(node, brought, i, "size") if i in data else x for i, x in enumerate(node.inputs)]
    size = np.abs(node.again(sizes)[output]).astype(np.float64)
    if not inexact:
        return Known(None, size, step, reduced)
    errors = [_with(node, brought, i, "error") if i in data else x for i, x in enumerate(node.inputs)]
    return Known(np.abs(node.again(errors)[output]).astype(np.float64), size, step, reduced, flushes=flushes)


def _with(node: Node, brought: Sequence[Known | None], i: int, what: str) -> Array | None:
    """An input with its error or size in place of its values."""
    x, k = node.inputs[i], brought[i]
    if x is None:
        return None
    found = None if k is None else k.error if what == "error" else k.size
    return np.array(np.broadcast_to(np.zeros(()) if found is None else found, x.shape))


def _quantised(node: Node, brought: Sequence[Known | None], setting: Setting) -> Known:
    """Between the smallest and the largest integer that any value within the operand's error is rounded to."""
    value, reduced = node.results[0], any(k.reduced for k in brought if k)
    if any(k is not None and k.error is not None for k in brought[1:]) or dtypes.is_float(node.output_types[0]):
        return _unknown(value)
    error = _error(brought[0], node.real(0).shape)
    ends = []
    for sign in (-1.0, 1.0):
        x = node.real(0) + sign * error
        inputs = (x, *node.inputs[1:])
        moved = dataclasses.replace(node, inputs=inputs, results=node.again(inputs)) if error.any() else node
        interval = expectations(moved, setting)[0].interval
        ends.append(np.asarray(moved.results[0], np.float64) if interval is None else interval[int(sign > 0)])
    low, high = ends
    real = value.astype(np.float64)
    widest = np.maximum(high - real, real - low)
    if not widest.any():
        return _exact(value, reduced)
    return Known(widest, np.abs(real) + widest, 1.0, reduced, (low, high))


def _differentiated(node: Node, brought: Sequence[Known | None], setting: Setting, reduced: bool) -> list[Known]:
    """The node's own bound, and what its operands' errors become in it."""
    bounds = [_own(e) for e in expectations(node, setting)]
    for i, k in enumerate(brought):
        if k is None or k.error is None:
            continue
        gains = (
            sensitivity.dequantised(node, k.error)
            if node.operator == "DequantizeLinear" and i == 0
            else sensitivity.gain(node, i, k.error)
        )
        bounds = [b + g for b, g in zip(bounds, gains, strict=True)]
    found = []
    for bound, value, dtype in zip(bounds, node.results, node.output_types, strict=True):
        if not np.any(bound):
            found.append(_stored(_exact(value, reduced), value, dtype))
            continue
        if dtypes.is_float(dtype):
            bound = bound + 0.5 * dtypes.quantum(np.abs(value) + bound, dtype) * (
                dtypes.FLOATS[dtype].unit_roundoff > setting.u
            )
        found.append(Known(bound, np.abs(value.astype(np.float64)) + bound, 0.0, reduced, flushes=setting.arithmetic.flushes))
    if node.operator == "DequantizeLinear" and all(k is None or k.error is None for k in brought):
        found[0] = _lattice_of(node, found[0], setting)
    return found


def _own(expectation: Expected) -> Array:
    """The bound on one output, of integers the distance to the farther end of their interval."""
    if expectation.interval is not None:
        low, high = expectation.interval
        real = expectation.value.astype(np.float64)
        return np.asarray(np.maximum(high - real, real - low))
    return np.array(np.broadcast_to(np.asarray(expectation.bound, np.float64), expectation.value.shape))


def _lattice_of(node: Node, found: Known, setting: Setting) -> Known:
    """DequantizeLinear: exact where the products have few enough bits."""
    step, value = lowest_bit(node.real(1)), node.results[0]
    size = np.abs(value)
    if size.max(initial=0.0) <= 2.0 ** _bits(setting, node.output_types[0]) * step:
        return Known(None, size, step, found.reduced)
    return found
