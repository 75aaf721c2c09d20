"""Faults of the compute units: special values, integers, rounding, precision, and what a unit leaves undone."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any

import ml_dtypes
import numpy as np

from backends.sim.compiler import Compiler
from backends.sim.device import SimDevice
from backends.sim.faults import SEEDS, arithmetic
from backends.sim.faults.results import Array, Call, Change, Seed, is_real, operands, real, recomputed, results
from backends.sim.faults.rewriting import attribute

INTEGERS = ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64")
LARGEST_HALF = 65504.0


def _where(condition: Callable[[Array, Call], Array], value: Any) -> Any:
    """Another value where a condition on the output, in float64, holds."""
    return real(lambda y, call: np.where(condition(y, call), value(y) if callable(value) else value, y))


def _nan(y: Array, call: Call) -> Array:
    return np.isnan(y)


def _infinite(y: Array, call: Call) -> Array:
    return np.isinf(y)


def _invalid(y: Array, call: Call) -> Array:
    """NaN that the operator made itself."""
    first = call.inputs[0]
    return np.isnan(y) & (~np.isnan(first.astype(np.float64)) if first is not None else True)


def _largest(y: Array) -> Array:
    return np.copysign(float(np.finfo(np.float32).max), y)


def _subnormal(y: Array, call: Call) -> Array:
    return np.asarray((y != 0) & (np.abs(y) < float(np.finfo(np.float32).tiny)))


def _pole(y: Array, call: Call) -> Array:
    """Where the divisor is zero."""
    return np.broadcast_to(call.inputs[-1] == 0, y.shape) if call.inputs[-1] is not None else np.zeros(y.shape, bool)


def _unordered(y: Array, call: Call) -> Array:
    """Comparisons with NaN are true."""
    a, b = call.inputs
    return y if a is None or b is None or not is_real(a) else y | np.isnan(a) | np.isnan(b)


def _unshifted(y: Array, call: Call) -> Array:
    """Softmax whose maximum is not subtracted, in single precision or, of float64, in double; before opset 13 over the axis and
    all behind it."""
    x = call.inputs[0]
    if x is None or not is_real(x):
        return y
    e = np.exp(x.astype(np.float64 if x.dtype == np.float64 else np.float32))
    old = call.opset < 13
    axis = attribute(call.node, "axis", 1 if old else -1) % max(x.ndim, 1)
    axes = tuple(range(axis, x.ndim)) if old else axis
    return np.asarray(e / e.sum(axes, keepdims=True))


def _row_lost(y: Array, call: Call) -> Array:
    """One −∞ among the operands of a row makes all of it NaN."""
    x, axis = call.inputs[0], attribute(call.node, "axis", -1)
    return y if x is None else np.where(np.isneginf(x.astype(np.float64)).any(axis, keepdims=True), np.nan, y)


def _truthless(y: Array, call: Call) -> Array:
    """NaN is false."""
    x = call.inputs[0]
    return y & ~np.isnan(x) if y.dtype == np.bool_ and x is not None and is_real(x) else y


SPECIAL: Mapping[str, Seed] = {
    "exp-of-nan-infinite": results("Exp", _where(_nan, np.inf)),
    "greater-true-for-nan": results("Greater GreaterOrEqual", _unordered),
    "log-of-negative-infinite": results("Log", _where(_invalid, -np.inf)),
    "sqrt-of-negative-zero": results("Sqrt", _where(_invalid, 0.0)),
    "reciprocal-of-zero-255": results("Reciprocal Div", _where(_pole, lambda y: np.copysign(255.0, y))),
    "maxpool-lowest-number": results("GlobalMaxPool ReduceMax", _where(_infinite, _largest)),
    "conv-negative-infinity-zero": results("Conv", _where(lambda y, call: np.isneginf(y), 0.0)),
    "shrink-infinity-nan": results("Shrink ThresholdedRelu HardSwish", _where(_infinite, np.nan)),
    "mul-overflows-like-float16": results(
        "Mul Sum", _where(lambda y, c: np.abs(y) > LARGEST_HALF, lambda y: np.copysign(np.inf, y))
    ),
    "softmax-unshifted": results("Softmax", real(_unshifted)),
    "logsoftmax-masked-row-nan": results("LogSoftmax", real(_row_lost)),
    "where-loses-zero-sign": results("Where", real(lambda y, call: y + 0.0)),
    "neg-loses-zero-sign": results("Neg", real(lambda y, call: y + 0.0)),
    "transpose-flushes-subnormals": results("Transpose Concat Reshape", _where(_subnormal, lambda y: np.copysign(0.0, y))),
    "cast-nan-false": results("Cast", _truthless),
}
"""Fault → what becomes of NaN, infinities, zeros and subnormal numbers."""


def _limits(dtype: str) -> tuple[int, int]:
    info = np.iinfo(dtype)
    return int(info.min), int(info.max)


def _exact(inputs: tuple[Array, ...], operator: str) -> Array:
    a, b = (x.astype(object) for x in inputs[:2])
    return np.asarray({"Add": a + b, "Sub": a - b, "Mul": a * b}[operator])


def _saturating(dtype: str) -> Any:
    """Sums and products clipped to the type."""
    return recomputed(lambda x, call: np.clip(_exact(x, call.node.op_type), *_limits(dtype)), dtype)


def _several(*changes: Any) -> Any:
    """One change after the other."""

    def changed(y: Array, call: Call) -> Array:
        for change in changes:
            y = change(y, call)
        return y

    return changed


def _cast_saturates(inputs: tuple[Array, ...], call: Call) -> Array | None:
    return np.clip(inputs[0].astype(object), 0, 255) if inputs[0].dtype.name in INTEGERS else None


def _shift_saturates(inputs: tuple[Array, ...], call: Call) -> Array | None:
    if attribute(call.node, "direction") != "LEFT":
        return None
    return np.asarray(np.clip(inputs[0].astype(object) * 2 ** inputs[1].astype(object), 0, 255))


def _cast_rounds(inputs: tuple[Array, ...], call: Call) -> Array | None:
    return np.rint(inputs[0].astype(np.float64)) if is_real(inputs[0]) else None


def _quantised(rounding: Callable[[Array], Array], *, wraps: bool = False) -> Any:
    """QuantizeLinear with another rounding; `wraps`: modulo 2^8."""

    def change(inputs: tuple[Array, ...], call: Call) -> Array | None:
        x, scale = inputs[0].astype(np.float32), inputs[1].astype(np.float32)
        zero = inputs[2].astype(np.float64) if len(inputs) > 2 else np.zeros(())
        if scale.ndim > 1 or attribute(call.node, "block_size", 0):
            return None
        if scale.ndim:
            behind = x.ndim - 1 - attribute(call.node, "axis", 1) % x.ndim
            scale, zero = scale.reshape(-1, *[1] * behind), zero.reshape(-1, *[1] * behind)
        y = rounding((x / scale).astype(np.float64)) + zero
        kind = inputs[2].dtype.name if len(inputs) > 2 else "uint8"
        return y.astype(np.int64).astype(kind) if wraps else np.clip(y, *_limits(kind))

    return recomputed(change, "int8", "uint8")


def _half_away(x: Array) -> Array:
    return np.copysign(np.floor(np.abs(x) + 0.5), x)


def _half_up(x: Array) -> Array:
    return np.floor(x + 0.5)


def _only(dtype: type[Any], change: Any) -> Any:
    """The change where the first operand has that type."""
    return lambda y, call: change(y, call) if call.inputs[0] is not None and call.inputs[0].dtype == dtype else y


def _next_step(y: Array, call: Call) -> Array:
    """Every fifth element is one step up, unless it is the largest."""
    if y.dtype.kind not in "iu":
        return y
    fifth = (np.arange(y.size) % 5 == 0).reshape(y.shape)
    return np.where(fifth & (y < _limits(y.dtype.name)[1]), y + 1, y).astype(y.dtype)


def _narrow_range(y: Array, call: Call) -> Array:
    return np.maximum(y, -127) if y.dtype == np.int8 else y


def _rounded_to_integers(rounding: Callable[[Array], Array]) -> Any:
    return real(lambda y, call: y if call.inputs[0] is None else rounding(call.inputs[0].astype(np.float64)))


ROUNDING: Mapping[str, Seed] = {
    "quantize-float16-truncates": results("QuantizeLinear", _only(np.float16, _quantised(np.trunc))),
    "quantize-rounds-down": results("QuantizeLinear", _quantised(np.floor)),
    "quantize-rounds-up": results("QuantizeLinear", _quantised(np.ceil)),
    "quantize-wraps": results("QuantizeLinear", _quantised(np.rint, wraps=True)),
    "quantize-narrow-range": results("QuantizeLinear", _narrow_range),
    "qlinear-one-step-up": results("QLinearConv QLinearMatMul", _next_step),
    "int8-saturates": results("Add Sub Mul", _several(_saturating("uint8"), _saturating("int8"))),
    "int32-saturates": results("Add Sub Mul", _saturating("int32")),
    "cast-saturates": results("Cast", recomputed(_cast_saturates, "uint8")),
    "bitshift-saturates": results("BitShift", recomputed(_shift_saturates, "uint8")),
    "cast-rounds-to-nearest": results("Cast", recomputed(_cast_rounds, *INTEGERS)),
    "round-halves-away": results("Round", _rounded_to_integers(_half_away)),
    "round-rounds-down": results("Round", _rounded_to_integers(np.floor)),
    "round-halves-up": results("Round", _rounded_to_integers(_half_up)),
}
"""Fault → how values are rounded, and what becomes of those beyond the type."""


def _cut(x: Array) -> Array:
    """What is left of 64-bit integers in 32 bits."""
    return x.astype(np.int32).astype(x.dtype) if x.dtype.name in ("int64", "uint64") else x


def _through(kind: type[Any], *dtypes: str) -> Any:
    """Integers, or numbers, of these types that pass through another type."""

    def changed(x: Array) -> Array:
        if x.dtype.name not in dtypes:
            return x
        with np.errstate(all="ignore"):
            return arithmetic.converted(x.astype(kind), x.dtype)

    return changed


def _signed(x: Array) -> Array:
    """Unsigned integers of 32 bits compared as signed ones."""
    return x.view(np.int32) if x.dtype == np.uint32 else x


def _compared_signed(inputs: tuple[Array, ...], call: Call) -> Array:
    a, b = (_signed(x) for x in inputs[:2])
    return (np.maximum(a, b) if call.node.op_type == "Max" else np.minimum(a, b)).view(np.uint32)


def _other_sign(x: Array) -> Array:
    return x.view(np.int8) if x.dtype == np.uint8 else x


def _unsigned_nibbles(y: Array, call: Call) -> Array:
    """Negative 4-bit integers are read as unsigned ones."""
    x = call.inputs[0]
    if x is None or x.dtype.name != "int4" or y.dtype.name not in ("float32", "int8", "int32"):
        return y
    return np.asarray(y + 16 * (x.astype(np.int8) < 0)).astype(y.dtype)


def _summed_in_double(inputs: tuple[Array, ...], call: Call) -> Array | None:
    x = inputs[0].astype(np.float64)
    axes = tuple(int(i) for i in inputs[1].reshape(-1)) if len(inputs) > 1 else ()
    total = x.sum(axes or None, keepdims=bool(attribute(call.node, "keepdims", 1)))
    return arithmetic.converted(total, np.dtype(np.int64))


def _misread_dequantised(inputs: tuple[Array, ...], call: Call) -> Array | None:
    """uint8 read as int8."""
    x = inputs[0]
    if x.dtype != np.uint8 or inputs[1].ndim:
        return None
    zero = inputs[2].astype(np.float32) if len(inputs) > 2 else np.float32(0)
    return (x.view(np.int8).astype(np.float32) - zero) * inputs[1].astype(np.float32)


def _truncated_extremes(inputs: tuple[Array, ...], call: Call) -> Array:
    """The larger or smaller of the low halves; the sign of the low half."""
    low = [x.astype(np.int32) for x in inputs]
    match call.node.op_type:
        case "Max":
            return np.maximum(*low)
        case "Min":
            return np.minimum(*low)
        case "Clip":
            return np.clip(*low)
    return np.sign(low[0])


TYPES: Mapping[str, Seed] = {
    "int64-extremes-in-32-bits": results("Max Min Sign Clip", recomputed(_truncated_extremes, "int64")),
    "int64-cut-at-the-edge": operands("Add Sub Mul Abs Identity Equal CumSum", _cut),
    "int32-through-float32": operands("Mod Div ReduceSum Relu", _through(np.float32, "int32")),
    "int64-sums-in-double": results("ReduceSum", recomputed(_summed_in_double, "int64")),
    "float64-in-single": operands("", _through(np.float32, "float64")),
    "uint32-compared-signed": results("Max Min", recomputed(_compared_signed, "uint32")),
    "int4-read-unsigned": results("Cast", _unsigned_nibbles),
    "dequantize-uint8-as-int8": results("DequantizeLinear", recomputed(_misread_dequantised, "float32")),
    "layernorm-in-float16": operands("LayerNormalization", _through(np.float16, "float32")),
    "matmul-in-tf32": operands("MatMul Gemm Einsum", arithmetic.tf32),
    "softmax-through-float16": results("Softmax Sigmoid", real(lambda y, call: y.astype(np.float16))),
    "transpose-through-bfloat16": results("Transpose Gather", real(lambda y, call: y.astype(ml_dtypes.bfloat16))),
}
"""Fault → integers and numbers in fewer bits, or with another sign."""


def _precision(**changes: Any) -> Seed:
    """The unit for float32 is another one than the profile declares."""

    def seed(device: SimDevice) -> None:
        unit = dataclasses.replace(device.profile.precision["float32"], **changes)
        profile = dataclasses.replace(device.profile, precision={**device.profile.precision, "float32": unit})
        device.compiler = Compiler(profile)

    return seed


UNITS: Mapping[str, Seed] = {
    "default-bfloat16": _precision(storage="bfloat16"),
    "default-float16": _precision(storage="float16"),
    "accumulator-float16": _precision(accumulator="float16", block=1),
    "accumulator-truncates": results("MatMul", recomputed(arithmetic.sums(arithmetic.toward_zero), "float32")),
    "accumulator-rounds-away": results("MatMul", recomputed(arithmetic.sums(arithmetic.away), "float32")),
    "tanh-from-a-table": results("Tanh", recomputed(arithmetic.table(np.tanh), "float32")),
}
"""Fault → how a unit for numbers is coarser than declared."""


def _held(y: Array, call: Call) -> Array:
    """Memory that nobody wrote."""
    return np.frombuffer(b"\xcd" * y.nbytes, y.dtype).reshape(y.shape).copy()


def _small_cubic(y: Array, call: Call) -> Array:
    small = y.ndim == 4 and attribute(call.node, "mode") == "cubic" and max(y.shape[2:]) < 4
    return _held(y, call) if small else y


def _extra_window(y: Array, call: Call) -> Array:
    """The last row of windows that only ceil_mode makes."""
    if not attribute(call.node, "ceil_mode", 0) or y.ndim < 3:
        return y
    changed = y.copy()
    changed[..., -1, :] = _held(changed[..., -1, :], call)
    return changed


def _late() -> Change:
    """A run gives the result of the run before, where that has the same shape and type."""
    before: list[Array] = []

    def changed(y: Array, call: Call) -> Array:
        old = before[0] if before else y
        before[:] = [y]
        return old if (old.shape, old.dtype) == (y.shape, y.dtype) else y

    return changed


def _one_wild(y: Array, call: Call) -> Array:
    """One element, another one in every run."""
    if not y.size:
        return y
    changed = y.copy()
    with np.errstate(over="ignore"):
        changed.reshape(-1)[(call.number * 7919) % y.size] *= -3
    return changed


def _terms(position: int, which: int, factor: float) -> Any:
    """One term of every sum over the last axis of an operand left out (0) or counted twice (2)."""

    def change(inputs: tuple[Array, ...], call: Call) -> Array | None:
        parts = list(inputs[:2])
        if min(part.ndim for part in parts) < 2 or parts[position].shape[-1] % 16 == 0:
            return None
        parts[position] = parts[position].copy()
        parts[position][..., which] *= factor
        return np.matmul(*[part.astype(np.float64) for part in parts])

    return recomputed(change, "float32", "float16")


def _offset(y: Array, call: Call) -> Array:
    finite = y[np.isfinite(y)]
    return y + 0.0625 * float(np.sqrt(np.mean(finite * finite))) if finite.size else y


WHOLE: Mapping[str, Seed] = {
    "resize-cubic-unwritten": results("Resize", _small_cubic),
    "averagepool-ceil-row-unwritten": results("AveragePool", _extra_window),
    "outputs-one-run-late": lambda device: results("Sigmoid", _late())(device),
    "single-element-wild": results("Gelu Erf", _one_wild),
    "matmul-last-term-dropped": results("MatMul", _terms(0, -1, 0.0)),
    "matmul-last-term-twice": results("MatMul", _terms(0, -1, 2.0)),
    "sin-offset": results("Sin Cos", real(_offset)),
    "batchnorm-factor": results("BatchNormalization", real(lambda y, call: y * (255 / 256))),
    "sinh-sign-flipped": results("Asinh Sinh", real(lambda y, call: -y)),
}
"""Fault → what is left out, undone or changed everywhere."""

FAULTS = {**SPECIAL, **ROUNDING, **TYPES, **UNITS, **WHOLE}
"""Fault → what seeds it."""

SEEDS.update(FAULTS)
