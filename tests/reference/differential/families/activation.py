"""Activations, and softmax with its relatives."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping

import numpy as np
from hypothesis import strategies as st

from ..samples import Sample, any_shape, array, broadcastable, call, kind_of, version_of
from .elementwise import unary

FACTORS = st.sampled_from([None, 0.25, 0.3, 1.0, 2.5, -0.5])


def _parametrised(operator: str, names: tuple[str, ...], draw: st.DrawFn) -> Sample:
    """One operand and factors as attributes."""
    version = version_of(draw, operator)
    x = array(draw, any_shape(draw), kind_of(draw, operator, version), -9, 9, specials=True, extremes=True)
    return call(operator, [x], version=version, **{name: draw(FACTORS) for name in names})


def _prelu(draw: st.DrawFn) -> Sample:
    """A slope a channel before opset 7, after it one that broadcasts to x."""
    version = version_of(draw, "PRelu")
    kind = kind_of(draw, "PRelu", version)
    shape = any_shape(draw, min_dims=0 if version >= 7 else 2)
    slopes = broadcastable(draw, shape) if version >= 7 else (draw(st.sampled_from([1, shape[1]])),)
    return call("PRelu", [array(draw, shape, kind, specials=True), array(draw, slopes, kind)], version=version)


def _gelu(draw: st.DrawFn) -> Sample:
    x = array(draw, any_shape(draw), kind_of(draw, "Gelu", 20), -9, 9, specials=True)
    return call("Gelu", [x], version=20, approximate=draw(st.sampled_from([None, "none", "tanh"])))


def _swiglu(draw: st.DrawFn) -> Sample:
    kind, shape = kind_of(draw, "SwiGLU", 28), any_shape(draw)
    return call("SwiGLU", [array(draw, shape, kind) for _ in range(2)], version=28, alpha=draw(FACTORS))


def _along_axis(operator: str, draw: st.DrawFn) -> Sample:
    """Softmax and the like: over all axes from `axis` on before opset 13, where negative ones came with opset 11."""
    version = version_of(draw, operator)
    kind = kind_of(draw, operator, version)
    shape = any_shape(draw, min_dims=1)
    rank = len(shape)
    axis = draw(st.integers(0 if version < 11 else -rank, rank - 1))
    default = draw(st.booleans()) and (rank > 1 or version >= 13)
    x = array(draw, shape, kind, -30, 30, specials=True)
    if kind in ("float32", "float64") and draw(st.booleans()):
        x = np.asarray(np.rint(x), x.dtype)  # equal largest values
    return call(operator, [x], version=version, axis=None if default else axis)


DRAW: Mapping[str, Callable[[st.DrawFn], Sample]] = {
    **{
        name: functools.partial(unary, name, -12, 12)
        for name in ("Relu", "Sigmoid", "Tanh", "Softplus", "Softsign", "HardSwish", "Mish")
    },
    **{name: functools.partial(_parametrised, name, ("alpha",)) for name in ("Celu", "Elu", "LeakyRelu", "Swish")},
    "ThresholdedRelu": functools.partial(_parametrised, "ThresholdedRelu", ("alpha",)),
    "Selu": functools.partial(_parametrised, "Selu", ("alpha", "gamma")),
    "HardSigmoid": functools.partial(_parametrised, "HardSigmoid", ("alpha", "beta")),
    "Shrink": functools.partial(_parametrised, "Shrink", ("bias", "lambd")),
    "PRelu": _prelu,
    "Gelu": _gelu,
    "SwiGLU": _swiglu,
    **{name: functools.partial(_along_axis, name) for name in ("Softmax", "LogSoftmax", "Hardmax")},
}
