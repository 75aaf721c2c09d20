"""Fused operators of ONNX Runtime's domain com.microsoft: one formula for what ONNX writes as several nodes.

Source: ONNX Runtime's docs/ContribOperators.md and the schemas and function bodies behind it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reference.ops import activation, convolution, matrix, normalization, sums
from reference.ops.arguments import axis_in

Array = NDArray[Any]

# Float attributes are float32 in a model, and so are their defaults.
QUICK_GELU_ALPHA = float(np.float32(1.702))
SKIP_EPSILON = float(np.float32(1e-12))


def _biased(x: Array, bias: Array | None) -> Array:
    """x + bias, bias (length of the last axis). Raises ValueError for another shape."""
    if bias is None:
        return x
    if bias.shape != x.shape[-1:]:
        raise ValueError(f"bias has shape {bias.shape}, the last axis needs {x.shape[-1:]}")
    return np.asarray(x + bias)


def bias_gelu(a: Array, b: Array) -> Array:
    """BiasGelu-1: Gelu (by erf) of a + b, b one-dimensional along the last axis. Raises ValueError for another b."""
    return activation.gelu(_biased(a, b))


def fast_gelu(x: Array, bias: Array | None = None) -> Array:
    """FastGelu-1: z/2·(1 + tanh(0.797885·z + 0.035677·z³)) of z = x + bias, bias one-dimensional along the last axis.

    The constants have six digits in the text and in the function body; kernels that take √(2/π) and 0.044715·√(2/π)
    compute `activation.gelu` with approximate="tanh". Open: -inf gives 0 here. Raises ValueError for another bias.
    """
    z = _biased(x, bias)
    return np.where(np.isneginf(z), -0.0, z * activation.sigmoid(2 * (0.797885 * z + 0.035677 * z**3)))


def quick_gelu(x: Array, *, alpha: float = QUICK_GELU_ALPHA) -> Array:
    """QuickGelu-1: x·sigmoid(alpha·x). Open: an infinite x whose gate closes gives 0 here."""
    return activation.swish(x, alpha=alpha)


def simplified_layer_normalization(
    x: Array,
    scale: Array,
    *,
    axis: int = -1,
    epsilon: float = normalization.EPSILON,
    stash_type: int = 1,
    n_outputs: int = 1,
) -> Array | tuple[Array, Array]:
    """SimplifiedLayerNormalization-1: x·inv_std_var·scale with inv_std_var = 1/sqrt(mean of x² + epsilon), the mean over
    the axes from `axis` on; Y and, if wanted, inv_std_var (..., 1). ONNX Runtime registers it in ONNX's own domain.
    """
    y = normalization.rms_normalization(x, scale, axis=axis, epsilon=epsilon)
    if n_outputs == 1:
        return y
    axes = tuple(range(axis_in(axis, x.ndim), x.ndim))
    square = sums.of_squares(x, axes, keepdims=True) / np.float64(math.prod(x.shape[a] for a in axes))
    return y, np.asarray(1 / np.sqrt(square + epsilon))


def _with_skip(x: Array, skip: Array, bias: Array | None) -> Array:
    """x + skip + bias; skip broadcasts to the shape of x and never widens it (ValueError)."""
    return _biased(x + np.broadcast_to(skip, x.shape), bias)


def skip_layer_normalization(
    x: Array,
    skip: Array,
    gamma: Array,
    beta: Array | None = None,
    bias: Array | None = None,
    *,
    epsilon: float = SKIP_EPSILON,
) -> tuple[Array, ...]:
    """SkipLayerNormalization-1: layer normalisation of s = x + skip + bias over the last axis, times gamma plus beta.

    x (..., hidden), skip of its shape or one that broadcasts to it, others (hidden) → output, mean (..., 1),
    inv_std_var (..., 1), s. Raises ValueError for shapes that do not fit.
    """
    total = _with_skip(x, skip, bias)
    return *normalization.layer_normalization(total, gamma, beta, epsilon=epsilon, n_outputs=3), total


def skip_simplified_layer_normalization(
    x: Array, skip: Array, gamma: Array, bias: Array | None = None, *, epsilon: float = SKIP_EPSILON
) -> tuple[Array, ...]:
    """SkipSimplifiedLayerNormalization-1: s/sqrt(mean of s² + epsilon)·gamma of s = x + skip + bias over the last axis.

    Shapes and errors as SkipLayerNormalization's → output, mean, inv_std_var, s. Open: the mean, which the formula has
    no use for, is 0 here.
    """
    total = _with_skip(x, skip, bias)
    y, inverse = simplified_layer_normalization(total, gamma, epsilon=epsilon, n_outputs=2)
    return y, np.zeros_like(inverse), inverse, total


def transposed(x: Array, trans: int, trans_batch: int) -> Array:
    """The first axis moved before the last one (`trans_batch`), then the last two swapped (`trans`); vectors as they are."""
    if x.ndim < 2:
        return x
    x = np.moveaxis(x, 0, -2) if trans_batch else x
    return np.swapaxes(x, -1, -2) if trans else x


def fused_matmul(
    a: Array,
    b: Array,
    *,
    alpha: float = 1.0,
    transA: int = 0,
    transB: int = 0,
    transBatchA: int = 0,
    transBatchB: int = 0,
) -> Array:
    """FusedMatMul-1: alpha·A'B' as numpy.matmul has it.

    transBatchA makes (M, batch, K) a (batch, M, K), and with transA (K, batch, M) the same; likewise for B.
    """
    return np.asarray(alpha * matrix.matmul(transposed(a, transA, transBatchA), transposed(b, transB, transBatchB)))


def _clip(x: Array, low: float, high: float) -> Array:
    return np.asarray(np.minimum(np.maximum(x, low), high))


ACTIVATIONS: dict[str, tuple[int, Callable[..., Array]]] = {
    "": (0, lambda x: x),
    "Clip": (2, _clip),
    "HardSigmoid": (2, lambda x, alpha, beta: activation.hard_sigmoid(x, alpha=alpha, beta=beta)),
    "LeakyRelu": (1, lambda x, alpha: activation.leaky_relu(x, alpha=alpha)),
    "Relu": (0, activation.relu),
    "Sigmoid": (0, activation.sigmoid),
    "Silu": (0, activation.swish),
    "Tanh": (0, activation.tanh),
}
"""`activation` of FusedConv → (number of activation_params, function of the value and of them)."""


def fused_conv(
    x: Array,
    w: Array,
    b: Array | None = None,
    z: Array | None = None,
    *,
    activation: str = "",
    activation_params: Sequence[float] = (),
    **attributes: Any,
) -> Array:
    """FusedConv-1: activation(Conv(x, w, b) + z), attributes as Conv's; z has the shape of the result.

    The text names no activations; these are the ones of ONNX Runtime's kernels, with their parameters in ONNX's order.
    Raises ValueError for others, for a wrong number of parameters and for what Conv refuses.
    """
    if activation not in ACTIVATIONS:
        raise ValueError(f"activation is one of {', '.join(filter(None, ACTIVATIONS))}, not {activation!r}")
    count, function = ACTIVATIONS[activation]
    if len(activation_params) != count:
        raise ValueError(f"{activation or 'no activation'} takes {count} activation_params, not {len(activation_params)}")
    y = convolution.conv(x, w, b, **attributes)
    return function(y if z is None else y + np.broadcast_to(z, y.shape), *activation_params)
