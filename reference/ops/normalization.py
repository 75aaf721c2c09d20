"""Normalisations in float64, variances in two passes. `stash_type` names a precision and so changes no real value."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]

EPSILON = float(np.float32(1e-5))
"""The default of every `epsilon`: attributes are float32."""


def _channelwise(parameter: Array, rank: int) -> Array:
    """(C) or, for non-spatial BatchNormalization-7, (C, spatial), aligned with axis 1 of a tensor of that rank."""
    return parameter.reshape((1, *parameter.shape, *[1] * (rank - 1 - parameter.ndim))) if rank > 1 else parameter


def _moments(x: Array, axes: tuple[int, ...]) -> tuple[Array, Array]:
    """Mean and population variance over `axes`, which stay with length 1."""
    mean = x.mean(axis=axes, keepdims=True)
    return mean, np.square(x - mean).mean(axis=axes, keepdims=True)


def batch_normalization(
    x: Array,
    scale: Array,
    b: Array,
    mean: Array,
    var: Array,
    *,
    epsilon: float = EPSILON,
    momentum: float = float(np.float32(0.9)),
    spatial: int = 1,
    training_mode: int = 0,
) -> Array | tuple[Array, Array, Array]:
    """BatchNormalization-15 (7, 9, 14 alike): x (N, C, spatial) or (N), parameters (C).

    Version 7's spatial=0: parameters (C, spatial). With `training_mode` (14 on): Y from the batch's own moments, then
    the running mean and variance.
    """
    running = mean, var
    if training_mode:
        batch_mean, batch_var = _moments(x, (0, *range(2, x.ndim)))
        mean, var = batch_mean.reshape(mean.shape), batch_var.reshape(var.shape)
    g, c, m, v = (_channelwise(parameter, x.ndim) for parameter in (scale, b, mean, var))
    y = np.asarray((x - m) / np.sqrt(v + epsilon) * g + c)
    if not training_mode:
        return y
    updated = [old * momentum + new * (1 - momentum) for old, new in zip(running, (mean, var), strict=True)]
    return y, updated[0], updated[1]


def instance_normalization(x: Array, scale: Array, b: Array, *, epsilon: float = EPSILON) -> Array:
    """InstanceNormalization-22 (6 alike): moments of each (n, c) over the spatial axes; scale and b (C)."""
    mean, var = _moments(x, tuple(range(2, x.ndim)))
    return np.asarray((x - mean) / np.sqrt(var + epsilon) * _channelwise(scale, x.ndim) + _channelwise(b, x.ndim))


def layer_normalization(
    x: Array,
    scale: Array,
    b: Array | None = None,
    *,
    axis: int = -1,
    epsilon: float = EPSILON,
    stash_type: int = 1,
    n_outputs: int = 1,
) -> Array | tuple[Array, ...]:
    """LayerNormalization-17: moments over the axes from `axis` on; Y and, if wanted, Mean and InvStdDev (..., 1)."""
    mean, var = _moments(x, tuple(range(axis % x.ndim, x.ndim)))
    inverse = 1 / np.sqrt(var + epsilon)
    y = (x - mean) * inverse * scale
    results = (np.asarray(y if b is None else y + b), mean, inverse)
    return results[0] if n_outputs == 1 else results[:n_outputs]


def _normalized_groups(x: Array, num_groups: int, epsilon: float) -> Array:
    grouped = x.reshape(x.shape[0], num_groups, x.shape[1] // num_groups, *x.shape[2:])
    mean, var = _moments(grouped, tuple(range(2, grouped.ndim)))
    return np.asarray((grouped - mean) / np.sqrt(var + epsilon))


def group_normalization_18(x: Array, scale: Array, bias: Array, *, num_groups: int, epsilon: float = EPSILON) -> Array:
    """GroupNormalization-18: x (N, C, spatial), scale and bias (num_groups): one value per group."""
    y = _normalized_groups(x, num_groups, epsilon)
    return np.asarray(y * _channelwise(scale, y.ndim) + _channelwise(bias, y.ndim)).reshape(x.shape)


def group_normalization(
    x: Array, scale: Array, bias: Array, *, num_groups: int, epsilon: float = EPSILON, stash_type: int = 1
) -> Array:
    """GroupNormalization-21: x (N, C, spatial), scale and bias (C): one value per channel."""
    y = _normalized_groups(x, num_groups, epsilon).reshape(x.shape)
    return np.asarray(y * _channelwise(scale, x.ndim) + _channelwise(bias, x.ndim))


def rms_normalization(x: Array, scale: Array, *, axis: int = -1, epsilon: float = EPSILON, stash_type: int = 1) -> Array:
    """RMSNormalization-23: x/sqrt(mean of x² + epsilon)·scale, the mean over the axes from `axis` on."""
    square = np.square(x).mean(axis=tuple(range(axis % x.ndim, x.ndim)), keepdims=True)
    return np.asarray(x / np.sqrt(square + epsilon) * scale)


def lp_normalization(x: Array, *, axis: int = -1, p: int = 2) -> Array:
    """LpNormalization-22 (1 alike): x divided by its L1 or L2 norm along `axis`; 0 where that norm is 0."""
    norm = np.abs(x).sum(axis=axis, keepdims=True) if p == 1 else np.sqrt(np.square(x).sum(axis=axis, keepdims=True))
    return np.asarray(np.where(norm == 0, 0.0, x / np.where(norm == 0, 1.0, norm)))


def mean_variance_normalization(x: Array, *, axes: Sequence[int] = (0, 2, 3)) -> Array:
    """MeanVarianceNormalization-13 (9 alike): (x - mean)/(deviation + 1e-9), as ONNX's function body has it."""
    mean, var = _moments(x, tuple(axes))
    return np.asarray((x - mean) / (np.sqrt(var) + float(np.float32(1e-9))))


def local_response_normalization(
    x: Array, *, size: int, alpha: float = float(np.float32(1e-4)), beta: float = 0.75, bias: float = 1.0
) -> Array:
    """LRN-13 (1 alike): x/(bias + alpha/size·Σx²)^beta over channels c-floor((size-1)/2) … c+ceil((size-1)/2)."""
    channels, before = x.shape[1], (size - 1) // 2
    widths = [(0, 0)] * x.ndim
    widths[1] = (before, size - 1 - before)
    squares = np.pad(np.square(x), widths)
    total = sum((squares[:, i : i + channels] for i in range(size)), start=np.zeros(()))
    return np.asarray(x / (bias + alpha / size * total) ** beta)
