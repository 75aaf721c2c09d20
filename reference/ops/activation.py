"""Activations and softmax on float64, in forms without cancellation or overflow: the value is that of the real
function.

Where a formula of ONNX gives inf·0 or inf/inf at an infinite input, ONNX leaves the result open; here it is the limit
of the function (0 on the left of Gelu, Mish, Swish and HardSwish, ±1 for Softsign). Devices that evaluate the formula
return NaN there.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reference.ops import sums
from reference.ops.arguments import axis_in, border_in
from reference.ops.error_function import erfc

Array = NDArray[Any]

# Float attributes are float32 in a model, and so are their defaults.
LEAKY_SLOPE = float(np.float32(0.01))
HARD_SIGMOID_SLOPE = float(np.float32(0.2))
SELU_ALPHA, SELU_GAMMA = 1.67326319217681884765625, 1.05070102214813232421875
SELU_1_ALPHA, SELU_1_GAMMA = float(np.float32(1.6732)), float(np.float32(1.0507))


def relu(x: Array) -> Array:
    """Relu-6: max(0, x); NaN stays NaN."""
    return np.asarray(np.maximum(x, x.dtype.type(0)))


def leaky_relu(x: Array, *, alpha: float = LEAKY_SLOPE) -> Array:
    """LeakyRelu-6: alpha·x below zero, x from there on."""
    return np.where(x < 0, alpha * x, x)


def parametric_relu(x: Array, slope: Array) -> Array:
    """PRelu-7: slope·x below zero, x from there on; slope broadcasts to the shape of x and never widens it
    (ValueError). Integers wrap."""
    return np.where(x < 0, np.broadcast_to(slope, x.shape) * x, x)


def parametric_relu_1(x: Array, slope: Array) -> Array:
    """PRelu-1, PRelu-6: one slope a channel (axis 1), or a single one. Open in ONNX: a slope of the rank of x broadcasts
    here."""
    if slope.size == 1:
        return parametric_relu(x, slope.reshape(()))
    return parametric_relu(x, slope.reshape(slope.shape + (1,) * (x.ndim - 1 - slope.ndim)))


def elu(x: Array, *, alpha: float = 1.0) -> Array:
    """Elu-6: alpha·(e^x - 1) below zero, x from there on."""
    return np.where(x < 0, alpha * np.expm1(x), x)


def selu(x: Array, *, alpha: float = SELU_ALPHA, gamma: float = SELU_GAMMA) -> Array:
    """Selu-6: gamma·alpha·(e^x - 1) up to zero, gamma·x above."""
    return np.where(x <= 0, gamma * alpha * np.expm1(x), gamma * x)


def selu_1(x: Array, *, alpha: float = SELU_1_ALPHA, gamma: float = SELU_1_GAMMA) -> Array:
    """Selu-1: Selu-6 with shorter constants."""
    return selu(x, alpha=alpha, gamma=gamma)


def celu(x: Array, *, alpha: float = 1.0) -> Array:
    """Celu-12: max(0, x) + min(0, alpha·(e^(x/alpha) - 1))."""
    return np.asarray(np.maximum(x, 0.0) + np.minimum(0.0, alpha * np.expm1(x / alpha)))


def thresholded_relu(x: Array, *, alpha: float = 1.0) -> Array:
    """ThresholdedRelu-10: x above alpha, else 0 (so NaN gives 0)."""
    return np.where(x > alpha, x, 0.0)


def sigmoid(x: Array) -> Array:
    """Sigmoid-6: 1/(1 + e^(-x))."""
    small = np.exp(-np.abs(x))
    return np.asarray(np.maximum(small, x >= 0) / (1 + small))  # the numerator is 1 from 0 on, e^x below


def hard_sigmoid(x: Array, *, alpha: float = HARD_SIGMOID_SLOPE, beta: float = 0.5) -> Array:
    """HardSigmoid-6: max(0, min(1, alpha·x + beta)); NaN stays NaN."""
    return np.asarray(np.maximum(0.0, np.minimum(1.0, alpha * x + beta)))


def hard_swish(x: Array) -> Array:
    """HardSwish-14: x·max(0, min(1, x/6 + 1/2)). Open in ONNX: -inf gives 0 here."""
    return np.where(np.isneginf(x), -0.0, x * (np.clip(x + 3.0, 0.0, 6.0) / 6.0))


def tanh(x: Array) -> Array:
    """Tanh-6."""
    return np.asarray(np.tanh(x))


def softplus(x: Array) -> Array:
    """Softplus-1: ln(e^x + 1)."""
    return np.asarray(np.maximum(x, 0.0) + np.log1p(np.exp(-np.abs(x))))


def softsign(x: Array) -> Array:
    """Softsign-1: x/(1 + |x|). Open in ONNX: ±inf gives ±1 here."""
    return np.where(np.isinf(x), np.sign(x), x / (1 + np.abs(x)))


def gelu(x: Array, *, approximate: str = "none") -> Array:
    """Gelu-20: x/2·(1 + erf(x/√2)), or with approximate="tanh" x/2·(1 + tanh(√(2/π)·(x + 0.044715·x³))).
    Open in ONNX: -inf gives 0 here. Raises ValueError for another approximation."""
    if approximate == "tanh":
        return _times_gate(x, sigmoid(2 * math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))
    if approximate == "none":
        return _times_gate(x, erfc(-x * math.sqrt(0.5)) / 2)
    raise ValueError(f"approximate is none or tanh, not {approximate!r}")


def mish(x: Array) -> Array:
    """Mish-18: x·tanh(ln(1 + e^x)). Open in ONNX: -inf gives 0 here."""
    small = np.exp(-np.abs(x))
    # With w = e^x, tanh(ln(1 + w)) = w(w + 2)/(w(w + 2) + 2); on the right both sides are divided by w².
    left = small * (small + 2)
    right = 1 + 2 * small
    return _times_gate(x, np.where(x < 0, left / (left + 2), right / (right + 2 * small**2)))


def swish(x: Array, *, alpha: float = 1.0) -> Array:
    """Swish-24: x·sigmoid(alpha·x). Open in ONNX: an infinite x whose gate closes gives 0 here."""
    return _times_gate(x, sigmoid(alpha * x))


def swiglu(gate: Array, value: Array, *, alpha: float = 1.0) -> Array:
    """SwiGLU-28: swish(gate)·value with `swish`'s alpha, element by element. Raises ValueError for different shapes, which
    do not broadcast here."""
    if gate.shape != value.shape:
        raise ValueError(f"gate of shape {gate.shape} and value of shape {value.shape}, expected equal shapes")
    return np.asarray(swish(gate, alpha=alpha) * value)


def _times_gate(x: Array, gate: Array) -> Array:
    """x·gate for a gate that closes faster than x grows: ±0 where it is shut."""
    y, endless = np.asarray(x * gate), np.isinf(x)
    return np.where(endless & (gate == 0), np.copysign(0.0, x), y) if endless.any() else y


def shrink(x: Array, *, bias: float = 0.0, lambd: float = 0.5) -> Array:
    """Shrink-9: x + bias below -lambd, x - bias above lambd, else 0 (so NaN gives 0). Open in ONNX: for integers the
    exact result is truncated toward zero here, and wraps."""
    if x.dtype.kind in "iu":
        # Python's integers as limits: NumPy would compare 64-bit elements with a real as float64.
        limit = lambd if math.isfinite(lambd) else math.copysign(2.0**64, lambd)
        outside = np.where(x > math.floor(limit), _plus(x, -bias), x.dtype.type(0))
        return np.where(x < math.ceil(-limit), _plus(x, bias), outside)
    return np.where(x < -lambd, x + bias, np.where(x > lambd, x - bias, 0.0))


def _plus(x: Array, bias: float) -> Array:
    """The integers x plus a real number, truncated toward zero."""
    whole = math.floor(bias)
    step = np.array(whole % 2 ** (8 * x.dtype.itemsize), np.uint64).astype(x.dtype)
    floor = x + step
    return np.asarray(np.where((x < -whole) & (bias != whole), floor + x.dtype.type(1), floor))


def _largest(x: Array, axis: int) -> Array:
    """The largest value along axis, which stays with length 1: e^ of x less that cannot overflow. NaN is the largest."""
    if axis == x.ndim - 1 and x.size:  # np.max starts slowly on each line
        return np.take_along_axis(x, np.argmax(x, axis=axis, keepdims=True), axis)
    return np.asarray(np.max(x, axis=axis, keepdims=True, initial=-np.inf))


def softmax(x: Array, *, axis: int = -1) -> Array:
    """Softmax-13: e^x/Σe^x along axis. A line with +inf or NaN, or all -inf, is NaN."""
    axis = axis_in(axis, x.ndim)
    y = np.asarray(x - _largest(x, axis))
    np.exp(y, out=y)
    y /= sums.total(y, (axis,), keepdims=True)
    return y


def log_softmax(x: Array, *, axis: int = -1) -> Array:
    """LogSoftmax-13: ln softmax(x) along axis. A line with +inf or NaN, or all -inf, is NaN."""
    axis = axis_in(axis, x.ndim)
    if x.size == 0:
        return x.copy()
    largest = np.argmax(x, axis=axis, keepdims=True)
    t = x - np.take_along_axis(x, largest, axis)
    weights = np.exp(t)
    # The largest weight is exactly 1: leaving it to log1p keeps the digits of a sum just above 1.
    own = np.take_along_axis(weights, largest, axis) - 1
    np.put_along_axis(weights, largest, own, axis)
    return np.asarray(t - np.log1p(sums.total(weights, (axis,), keepdims=True)))


def hardmax(x: Array, *, axis: int = -1) -> Array:
    """Hardmax-13: 1 at the first largest value along axis, 0 elsewhere. Open in ONNX: NaN counts as largest here."""
    axis = axis_in(axis, x.ndim)
    y = np.zeros_like(x)
    if x.size:
        np.put_along_axis(y, np.expand_dims(np.argmax(x, axis=axis), axis), 1, axis)
    return y


def _flattened(function: Callable[..., Array], x: Array, axis: int) -> Array:
    """`function` over all axes from `axis` on as one, as before opset 13. axis is in [-rank, rank]."""
    axis = border_in(axis, x.ndim)
    lines = x.reshape(math.prod(x.shape[:axis]), math.prod(x.shape[axis:]))
    return function(lines, axis=1).reshape(x.shape)


def softmax_1(x: Array, *, axis: int = 1) -> Array:
    """Softmax-1, Softmax-11: `softmax` over all axes from `axis` on together."""
    return _flattened(softmax, x, axis)


def log_softmax_1(x: Array, *, axis: int = 1) -> Array:
    """LogSoftmax-1, LogSoftmax-11: `log_softmax` over all axes from `axis` on together."""
    return _flattened(log_softmax, x, axis)


def hardmax_1(x: Array, *, axis: int = 1) -> Array:
    """Hardmax-1, Hardmax-11: `hardmax` over all axes from `axis` on together."""
    return _flattened(hardmax, x, axis)
