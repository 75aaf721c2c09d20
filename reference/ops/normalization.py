"""Normalisations in float64, variances in two passes. `stash_type` names a precision and so changes no real value."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reference.ops import sums
from reference.ops.arguments import axes_in, axis_in

Array = NDArray[Any]

EPSILON = float(np.float32(1e-5))
"""The default of every `epsilon`: attributes are float32."""

MOMENTUM = float(np.float32(0.9))
"""The default of BatchNormalization's `momentum`."""


def _channelwise(parameter: Array, rank: int) -> Array:
    """(C) or, for non-spatial BatchNormalization-7, (C, spatial), aligned with axis 1 of a tensor of that rank."""
    return parameter.reshape((1, *parameter.shape, *[1] * (rank - 1 - parameter.ndim))) if rank > 1 else parameter


def _moments(x: Array, axes: tuple[int, ...]) -> tuple[Array, Array, Array]:
    """Mean and population variance over `axes`, which stay with length 1, and x less its mean."""
    mean = sums.mean(x, axes, keepdims=True)
    centred = x - mean
    return mean, sums.mean_of_squares(centred, axes, keepdims=True), centred


def _batch_normalized(x: Array, parameters: Sequence[Array], epsilon: float) -> Array:
    """x under scale, B, mean and variance, each (C) or (C, spatial), C being 1 for an x of one axis. Raises ValueError."""
    channels = x.shape[1:2] if x.ndim > 1 else (1,)
    for parameter in parameters:
        if parameter.shape not in (channels, x.shape[1:]):
            raise ValueError(f"a parameter has shape {parameter.shape}, expected {channels} for an input of shape {x.shape}")
    g, c, m, v = (_channelwise(parameter, x.ndim) for parameter in parameters)
    return np.asarray((x - m) / np.sqrt(v + epsilon) * g + c)


def _batch_trained(
    x: Array, scale: Array, b: Array, running: tuple[Array, Array], momentum: float, epsilon: float, spatial: int = 1
) -> tuple[Array, ...]:
    """Y under the batch's own moments, the running mean and variance after the batch, the batch's own mean and
    variance; without `spatial` one moment for each element of a sample. Raises ValueError for running moments of
    another size."""
    own = _moments(x, (0, *range(2, x.ndim)) if spatial else (0,))[:2]
    if any(moment.size != own[0].size for moment in running):
        raise ValueError(f"running moments of shape {running[0].shape}, expected {own[0].size} elements")
    mean, var = (new.reshape(old.shape) for old, new in zip(running, own, strict=True))
    updated = (old * momentum + new * (1 - momentum) for old, new in zip(running, (mean, var), strict=True))
    return _batch_normalized(x, (scale, b, mean, var), epsilon), *updated, mean, var


def batch_normalization(
    x: Array,
    scale: Array,
    b: Array,
    mean: Array,
    var: Array,
    *,
    epsilon: float = EPSILON,
    momentum: float = MOMENTUM,
    training_mode: int = 0,
) -> Array | tuple[Array, ...]:
    """BatchNormalization-15 (14 alike): x (N, C, spatial) or (N), parameters (C). With `training_mode` Y comes from the
    batch's own moments, and the running mean and variance follow it; variances are those of the population."""
    if training_mode:
        return _batch_trained(x, scale, b, (mean, var), momentum, epsilon)[:3]
    return _batch_normalized(x, (scale, b, mean, var), epsilon)


def batch_normalization_7(
    x: Array,
    scale: Array,
    b: Array,
    mean: Array,
    var: Array,
    *,
    epsilon: float = EPSILON,
    momentum: float = MOMENTUM,
    spatial: int = 1,
    n_outputs: int = 1,
) -> Array | tuple[Array, ...]:
    """BatchNormalization-9 (7 alike, whose spatial=0 has parameters (C, spatial)): a node that names more than Y trains:
    Y, running mean and variance, saved mean and variance. Open in ONNX: the saved variance, and whether a variance is
    that of the population (both are here)."""
    if n_outputs > 1:
        return _batch_trained(x, scale, b, (mean, var), momentum, epsilon, spatial)
    return _batch_normalized(x, (scale, b, mean, var), epsilon)


def batch_normalization_1(
    x: Array,
    scale: Array,
    b: Array,
    mean: Array,
    var: Array,
    *,
    epsilon: float = EPSILON,
    is_test: int = 0,
    momentum: float = MOMENTUM,
    spatial: int = 1,
) -> Array | tuple[Array, ...]:
    """BatchNormalization-6 (1 alike): trains as `batch_normalization_7` does unless `is_test`. Open in ONNX: spatial=0 with
    parameters (C), which cannot keep a moment for each element (ValueError when training)."""
    return batch_normalization_7(
        x, scale, b, mean, var, epsilon=epsilon, momentum=momentum, spatial=spatial, n_outputs=1 if is_test else 5
    )


def _check_parameters(x: Array, shape: tuple[int, ...], *parameters: Array) -> None:
    """Raises ValueError for parameters of another shape, which NumPy might broadcast, and an x without channels."""
    for parameter in parameters:
        if x.ndim < 2 or parameter.shape != shape:
            raise ValueError(f"a parameter has shape {parameter.shape}, expected {shape} for an input of shape {x.shape}")


def _check_broadcast(x: Array, *parameters: Array) -> None:
    """Raises ValueError for parameters that do not broadcast to the shape of x, or would widen it."""
    for parameter in parameters:
        if np.broadcast_shapes(x.shape, parameter.shape) != x.shape:
            raise ValueError(f"a parameter of shape {parameter.shape} does not broadcast to the input's shape {x.shape}")


def instance_normalization(x: Array, scale: Array, b: Array, *, epsilon: float = EPSILON) -> Array:
    """InstanceNormalization-22 (1, 6 alike): moments of each (n, c) over the spatial axes; scale and b (C)."""
    _check_parameters(x, x.shape[1:2], scale, b)
    _, var, centred = _moments(x, tuple(range(2, x.ndim)))
    return np.asarray(centred / np.sqrt(var + epsilon) * _channelwise(scale, x.ndim) + _channelwise(b, x.ndim))


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
    _check_broadcast(x, *(parameter for parameter in (scale, b) if parameter is not None))
    mean, var, y = _moments(x, tuple(range(axis_in(axis, x.ndim), x.ndim)))
    inverse = 1 / np.sqrt(var + epsilon)
    y *= inverse
    y *= scale
    if b is not None:
        y += b
    return y if n_outputs == 1 else (y, mean, inverse)[:n_outputs]


def _normalized_groups(x: Array, num_groups: int, epsilon: float) -> Array:
    if x.ndim < 2 or num_groups < 1 or x.shape[1] % num_groups:
        raise ValueError(f"the channels of shape {x.shape} do not make up {num_groups} groups")
    grouped = x.reshape(x.shape[0], num_groups, x.shape[1] // num_groups, *x.shape[2:])
    _, var, centred = _moments(grouped, tuple(range(2, grouped.ndim)))
    return np.asarray(centred / np.sqrt(var + epsilon))


def group_normalization_18(x: Array, scale: Array, bias: Array, *, num_groups: int, epsilon: float = EPSILON) -> Array:
    """GroupNormalization-18: x (N, C, spatial), scale and bias (num_groups): one value per group."""
    y = _normalized_groups(x, num_groups, epsilon)
    _check_parameters(x, (num_groups,), scale, bias)
    return np.asarray(y * _channelwise(scale, y.ndim) + _channelwise(bias, y.ndim)).reshape(x.shape)


def group_normalization(
    x: Array, scale: Array, bias: Array, *, num_groups: int, epsilon: float = EPSILON, stash_type: int = 1
) -> Array:
    """GroupNormalization-21: x (N, C, spatial), scale and bias (C): one value per channel."""
    y = _normalized_groups(x, num_groups, epsilon).reshape(x.shape)
    _check_parameters(x, x.shape[1:2], scale, bias)
    return np.asarray(y * _channelwise(scale, x.ndim) + _channelwise(bias, x.ndim))


def rms_normalization(x: Array, scale: Array, *, axis: int = -1, epsilon: float = EPSILON, stash_type: int = 1) -> Array:
    """RMSNormalization-23: x/sqrt(mean of x² + epsilon)·scale, the mean over the axes from `axis` on."""
    _check_broadcast(x, scale)
    square = sums.mean_of_squares(x, tuple(range(axis_in(axis, x.ndim), x.ndim)), keepdims=True)
    return np.asarray(x / np.sqrt(square + epsilon) * scale)


def lp_normalization(x: Array, *, axis: int = -1, p: int = 2) -> Array:
    """LpNormalization-22 (1 alike): x divided by its L1 or L2 norm along `axis`; 0 where that norm is 0. Raises ValueError
    for another p."""
    if p not in (1, 2):
        raise ValueError(f"p is 1 or 2, not {p}")
    axis = axis_in(axis, x.ndim)
    x = x / sums.scale(x, (axis,))
    norm = sums.total(np.abs(x), (axis,), keepdims=True) if p == 1 else np.sqrt(sums.of_squares(x, (axis,), keepdims=True))
    return np.asarray(np.where(norm == 0, 0.0, x / np.where(norm == 0, 1.0, norm)))


def mean_variance_normalization(x: Array, *, axes: Sequence[int] = (0, 2, 3)) -> Array:
    """MeanVarianceNormalization-13 (9 alike): (x - mean)/(deviation + 1e-9), as ONNX's function body has it."""
    _, var, centred = _moments(x, axes_in(axes, x.ndim))
    return np.asarray(centred / (np.sqrt(var) + float(np.float32(1e-9))))


def local_response_normalization(
    x: Array, *, size: int, alpha: float = float(np.float32(1e-4)), beta: float = 0.75, bias: float = 1.0
) -> Array:
    """LRN-13 (1 alike): x/(bias + alpha/size·Σx²)^beta over channels c-floor((size-1)/2) … c+ceil((size-1)/2)."""
    if x.ndim < 2 or size < 1:
        raise ValueError(f"size {size} for an input of shape {x.shape}, expected a positive number and channels")
    channels, before = x.shape[1], (size - 1) // 2
    squares = np.zeros((x.shape[0], channels + size - 1, *x.shape[2:]))
    np.square(x, out=squares[:, before : before + channels])
    total = sums.of_all(*(squares[:, i : i + channels] for i in range(size)))
    base = np.multiply(total, alpha / size, out=total)
    base += bias
    return np.asarray(x / np.power(base, beta, out=base))
