"""Losses over classes, and Dropout."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from reference.ops.activation import log_softmax

Array = NDArray[Any]


def negative_log_likelihood_loss(
    x: Array, target: Array, weight: Array | None = None, *, ignore_index: int | None = None, reduction: str = "mean"
) -> Array:
    """NegativeLogLikelihoodLoss-22 (12, 13 alike): -x[n, target[n, d], d]·weight[target[n, d]] of x (N, C, d...), target
    (N, d...), weight (C), as it is ("none"), summed up ("sum") or divided by the sum of the weights used ("mean").

    A target that equals ignore_index, which need not be a class, has neither loss nor weight; a mean of nothing is NaN.
    Raises ValueError for other targets outside [0, C), other reductions and shapes that do not fit.
    """
    if reduction not in ("none", "sum", "mean"):
        raise ValueError(f"reduction {reduction!r}, expected none, sum or mean")
    if x.ndim < 2 or target.shape != x.shape[:1] + x.shape[2:]:
        raise ValueError(f"targets of shape {target.shape} for scores of shape {x.shape}")
    classes = x.shape[1]
    if weight is not None and weight.shape != (classes,):
        raise ValueError(f"weights of shape {weight.shape} for {classes} classes")
    used = np.full(target.shape, True) if ignore_index is None else target != ignore_index
    if np.any(used & ((target < 0) | (target >= classes))):
        raise ValueError(f"a target outside the {classes} classes is not ignore_index")
    loss, weights = np.zeros(target.shape), np.zeros(target.shape)
    if np.any(used):
        index = np.where(used, target, 0)
        chosen = np.take_along_axis(x, np.expand_dims(index, 1), axis=1).squeeze(1)
        weights = np.where(used, 1.0 if weight is None else weight[index], 0.0)
        loss = np.where(used, -chosen * weights, 0.0)
    if reduction == "none":
        return loss
    total = np.sum(loss)
    return np.asarray(total if reduction == "sum" else total / np.sum(weights))


def softmax_cross_entropy_loss(
    scores: Array, labels: Array, weights: Array | None = None, *, ignore_index: int | None = None, reduction: str = "mean"
) -> tuple[Array, Array]:
    """SoftmaxCrossEntropyLoss-13 (12 alike): `negative_log_likelihood_loss` of the logarithm of the softmax over axis 1,
    and that logarithm. Raises ValueError as there."""
    if scores.ndim < 2:
        raise ValueError(f"scores of shape {scores.shape}, expected (N, C, ...)")
    log_prob = log_softmax(scores, axis=1)
    return negative_log_likelihood_loss(log_prob, labels, weights, ignore_index=ignore_index, reduction=reduction), log_prob


def dropout(
    x: Array, ratio: Array | None = None, training_mode: Array | None = None, *, seed: int | None = None
) -> tuple[Array, Array]:
    """Dropout-22 (12, 13 alike): x itself and a mask of true; when training, mask·x/(1 - ratio) and the mask, each of
    whose elements is false with probability `ratio` (1/2 by default) and independent of the others.

    ONNX fixes no generator: only y = x·mask/(1 - ratio), the frequency of the mask and, with `seed`, that it is the same
    every time hold of other implementations. Here the generator is the Mersenne Twister, seeded by 0 without `seed`.
    The text of 12 and 13 also calls the output a copy where `ratio` is absent. Raises ValueError for a ratio outside
    [0, 1).
    """
    training = training_mode is not None and bool(np.asarray(training_mode).reshape(()))
    return _dropped(x, 0.5 if ratio is None else float(np.asarray(ratio).reshape(())), training, seed or 0)


def dropout_10(x: Array, *, ratio: float = 0.5) -> tuple[Array, Array]:
    """Dropout-10: x itself and a mask of true; this version has no way to train."""
    return _dropped(x, ratio, False, 0)


def dropout_7(x: Array, *, ratio: float = 0.5) -> tuple[Array, Array]:
    """Dropout-7: Dropout-10 with a mask in the type of x."""
    return dropout_1(x, is_test=1, ratio=ratio)


def dropout_1(x: Array, *, is_test: int = 0, ratio: float = 0.5) -> tuple[Array, Array]:
    """Dropout-6 (1 alike): as `dropout` when training, which it does unless `is_test`; the mask has the type of x. Open in
    ONNX: the mask of a test, which is not filled (1 here)."""
    y, mask = _dropped(x, ratio, not is_test, 0)
    return y, mask.astype(x.dtype)


def _dropped(x: Array, ratio: float, training: bool, seed: int) -> tuple[Array, Array]:
    if not training:
        return x, np.full(x.shape, True)
    if not 0 <= ratio < 1:
        raise ValueError(f"ratio {ratio}, expected 0 up to 1, not 1 itself")
    mask = np.asarray(np.random.RandomState(seed % 2**32).uniform(size=x.shape) >= ratio)
    return np.asarray(x * mask / (1 - ratio)), mask
