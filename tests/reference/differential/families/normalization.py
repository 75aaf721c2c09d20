"""Normalisations."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
from hypothesis import strategies as st

from ..samples import Array, Sample, any_shape, array, axis_of, broadcastable, call, common_kind, version_of

EPSILONS = st.sampled_from([None, None, 1e-3, 0.5])


def _data(draw: st.DrawFn, shape: tuple[int, ...], kind: str) -> Array:
    """Values of which, now and then, many are equal, or some are no numbers."""
    x = array(draw, shape, kind, -9, 9, specials=draw(st.integers(0, 7)) == 7)
    return np.zeros_like(x) + x.reshape(-1)[:1] if x.size and draw(st.integers(0, 9)) == 9 else x


def _batch_normalization(draw: st.DrawFn) -> Sample:
    """Training, in which versions before 14 name all five outputs, or not; with spatial=0 in version 7 parameters of each
    element, before it of each channel and without training only."""
    version = version_of(draw, "BatchNormalization")
    kind = scale_kind = mean_kind = common_kind(draw, "BatchNormalization", version)
    if version >= 14 and draw(st.booleans()):
        scale_kind = common_kind(draw, "BatchNormalization", version, 1) if version > 14 else kind
        mean_kind = common_kind(draw, "BatchNormalization", version, 3)
    shape = any_shape(draw, 4 if version == 1 else 2 if version < 9 else 1, 4 if version == 1 else 5, 4)
    training = draw(st.booleans())
    attributes = {"epsilon": draw(EPSILONS), "momentum": draw(st.sampled_from([None, 0.0, 0.5, 0.75, 1.0]))}
    if version == 1:
        attributes["consumed_inputs"] = [0, 0, 0, 1, 1]
    if version < 7:
        attributes["is_test"] = draw(st.sampled_from([None, 0])) if training else 1
    if version < 9:
        attributes["spatial"] = draw(st.sampled_from([None, 1] if training and version < 7 else [None, 1, 0]))
    if version >= 14:
        attributes["training_mode"] = 1 if training else draw(st.sampled_from([None, 0]))
    channels = shape[1:] if version == 7 and attributes["spatial"] == 0 else shape[1:2] if len(shape) > 1 else (1,)
    x = _data(draw, shape, kind)
    scale, b, mean = (array(draw, channels, t) for t in (scale_kind, scale_kind, mean_kind))
    return call(
        "BatchNormalization",
        [x, scale, b, mean, array(draw, channels, mean_kind, 0, 4)],
        version=version,
        outputs=1 if not training else draw(st.integers(1, 3)) if version >= 14 else 5,
        **attributes,
    )


def _instance_normalization(draw: st.DrawFn) -> Sample:
    version = version_of(draw, "InstanceNormalization")
    kind = common_kind(draw, "InstanceNormalization", version)
    x = _data(draw, any_shape(draw, 3), kind)
    parameters = [array(draw, x.shape[1:2], kind) for _ in range(2)]
    consumed = {"consumed_inputs": [0, 0, 0]} if version == 1 else {}
    return call("InstanceNormalization", [x, *parameters], version=version, epsilon=draw(EPSILONS), **consumed)


def _part(draw: st.DrawFn, x: Array, axis: int | None, kind: str) -> Array:
    """A parameter for the axes that are normalised, or one that broadcasts to them."""
    shape = x.shape[-1 if axis is None else axis :]
    return array(draw, shape if draw(st.booleans()) else broadcastable(draw, shape), kind)


def _layer_normalization(draw: st.DrawFn) -> Sample:
    kind = common_kind(draw, "LayerNormalization", 17)
    x = _data(draw, any_shape(draw, 1), kind)
    axis = draw(st.none() | st.just(axis_of(draw, x.ndim)))
    return call(
        "LayerNormalization",
        [x, _part(draw, x, axis, kind), *([_part(draw, x, axis, kind)] if draw(st.booleans()) else [])],
        version=17,
        outputs=draw(st.integers(1, 3)),
        axis=axis,
        epsilon=draw(EPSILONS),
        stash_type=draw(st.sampled_from([None, 1])),
    )


def _rms_normalization(draw: st.DrawFn) -> Sample:
    """The result has the scale's type."""
    kind = common_kind(draw, "RMSNormalization", 23)
    x = _data(draw, any_shape(draw, 1), kind)
    axis = draw(st.none() | st.just(axis_of(draw, x.ndim)))
    scale = _part(draw, x, axis, kind if draw(st.booleans()) else common_kind(draw, "RMSNormalization", 23, 1))
    stash = draw(st.sampled_from([None, 1]))
    return call("RMSNormalization", [x, scale], version=23, axis=axis, epsilon=draw(EPSILONS), stash_type=stash)


def _group_normalization(draw: st.DrawFn) -> Sample:
    """scale and bias for each group in version 18, for each channel in version 21."""
    version = version_of(draw, "GroupNormalization")
    kind = common_kind(draw, "GroupNormalization", version)
    batch, width, *spatial = any_shape(draw, 2, 5, 4)
    groups = draw(st.integers(1, 3))
    parameters = [array(draw, (groups if version == 18 else groups * width,), kind) for _ in range(2)]
    stash = {"stash_type": draw(st.sampled_from([None, 1]))} if version >= 21 else {}
    x = _data(draw, (batch, groups * width, *spatial), kind)
    return call("GroupNormalization", [x, *parameters], version=version, num_groups=groups, epsilon=draw(EPSILONS), **stash)


def _lp_normalization(draw: st.DrawFn) -> Sample:
    version = version_of(draw, "LpNormalization")
    x = _data(draw, any_shape(draw, 1), common_kind(draw, "LpNormalization", version))
    axis = draw(st.none() | st.just(axis_of(draw, x.ndim)))
    return call("LpNormalization", [x], version=version, axis=axis, p=draw(st.sampled_from([None, 1, 2])))


def _mean_variance_normalization(draw: st.DrawFn) -> Sample:
    version = version_of(draw, "MeanVarianceNormalization")
    x = _data(draw, any_shape(draw, 4, 4), common_kind(draw, "MeanVarianceNormalization", version))
    negative = draw(st.booleans())
    axes = draw(st.none() | st.lists(st.integers(0, 3), min_size=1, unique=True))
    axes = [a - 4 for a in axes] if axes and negative else axes
    return call("MeanVarianceNormalization", [x], version=version, axes=axes)


def _lrn(draw: st.DrawFn) -> Sample:
    """Mostly of rank 4, often with as many images as channels: onnx.reference takes no more and is right for no fewer."""
    version = version_of(draw, "LRN")
    batch, *shape = any_shape(draw, 2) if draw(st.integers(0, 4)) == 4 else any_shape(draw, 4, 4)
    shape = [shape[0] if draw(st.booleans()) else batch, *shape]
    x = _data(draw, tuple(shape), common_kind(draw, "LRN", version))
    factors = {
        "alpha": draw(st.sampled_from([None, 0.03125, 0.5])),
        "beta": draw(st.sampled_from([None, 0.5, 1.0, 2.0])),
        "bias": draw(st.sampled_from([None, 0.25, 2.0])),
    }
    return call("LRN", [x], version=version, size=draw(st.integers(1, 6)), **factors)


DRAW: Mapping[str, Callable[[st.DrawFn], Sample]] = {
    "BatchNormalization": _batch_normalization,
    "InstanceNormalization": _instance_normalization,
    "LayerNormalization": _layer_normalization,
    "RMSNormalization": _rms_normalization,
    "GroupNormalization": _group_normalization,
    "LpNormalization": _lp_normalization,
    "MeanVarianceNormalization": _mean_variance_normalization,
    "LRN": _lrn,
}
