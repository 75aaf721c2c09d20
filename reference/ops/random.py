"""Random numbers as pure functions of operator, seed and shape.

ONNX fixes no generator, so no runtime gives these values: a device's are judged by `reference.random_properties`. The
words are those of Philox4x64-10 keyed by BLAKE2b-128 of the operator's name and the float32 bits of `seed`, or of the
name alone. NumPy's distributions may change between versions, raw words do not.
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reference import dtypes as types
from reference.ops.conversion import convert

Array = NDArray[Any]
Types = tuple[str | None, ...]


def _unit(operator: str, seed: float | None, shape: Sequence[int], bits: int = 53) -> NDArray[np.float64]:
    """Multiples of 2^-bits in [0, 1), all equally likely."""
    key = operator.encode() + (b"" if seed is None else struct.pack("<f", seed))
    philox = np.random.Philox(key=int.from_bytes(hashlib.blake2b(key, digest_size=16).digest(), "little"))
    count = int(np.prod(shape, dtype=np.int64))
    words = np.asarray(philox.random_raw(count), np.uint64) if count else np.zeros(0, np.uint64)
    return ((words >> np.uint64(64 - bits)).astype(np.float64) * 2.0**-bits).reshape(shape)


def type_of(dtype: int | None, given: str | None) -> str:
    """Name of the output type: the attribute's, else the input's."""
    name = given if dtype is None else types.NAMES.get(dtype)
    if name is None:
        raise ValueError(f"dtype {dtype} is no tensor type of the reference")
    return name


def _real(name: str) -> str:
    if not types.is_float(name):
        raise ValueError(f"random reals as {name}, a floating-point type was expected")
    return name


def _normal(operator: str, name: str, shape: Sequence[int], mean: float, scale: float, seed: float | None) -> Array:
    """Box and Muller, "A note on the generation of random normal deviates", 1958."""
    _real(name)
    radius, turn = _unit(operator, seed, (2, *shape))
    return np.asarray(mean + scale * (np.sqrt(-2 * np.log1p(-radius)) * np.cos(2 * np.pi * turn)))


def _uniform(operator: str, name: str, shape: Sequence[int], low: float, high: float, seed: float | None) -> Array:
    """As many bits as the type has, so that [0, 1) holds each value as it is and never 1."""
    return np.asarray(low + (high - low) * _unit(operator, seed, shape, types.FLOATS[_real(name)].precision))


def random_normal(
    *, shape: Sequence[int], dtype: int = 1, mean: float = 0.0, scale: float = 1.0, seed: float | None = None
) -> Array:
    """RandomNormal-22 (1 alike, without bfloat16): normal values of mean `mean` and standard deviation `scale`."""
    return _normal("RandomNormal", type_of(dtype, None), shape, mean, scale, seed)


def random_normal_like(
    x: Array, *, dtypes: Types, dtype: int | None = None, mean: float = 0.0, scale: float = 1.0, seed: float | None = None
) -> Array:
    """RandomNormalLike-22 (1 alike): as RandomNormal, in x's shape and, unless `dtype` names another, x's type."""
    return _normal("RandomNormalLike", type_of(dtype, dtypes[0]), x.shape, mean, scale, seed)


def random_uniform(
    *, shape: Sequence[int], dtype: int = 1, low: float = 0.0, high: float = 1.0, seed: float | None = None
) -> Array:
    """RandomUniform-22 (1 alike, without bfloat16): values spread evenly between `low` and `high`.

    Open in ONNX: whether `high` itself may occur; unrounded it does not here.
    """
    return _uniform("RandomUniform", type_of(dtype, None), shape, low, high, seed)


def random_uniform_like(
    x: Array, *, dtypes: Types, dtype: int | None = None, low: float = 0.0, high: float = 1.0, seed: float | None = None
) -> Array:
    """RandomUniformLike-22 (1 alike): as RandomUniform, in x's shape and, unless `dtype` names another, x's type."""
    return _uniform("RandomUniformLike", type_of(dtype, dtypes[0]), x.shape, low, high, seed)


def probabilities(x: Array) -> NDArray[np.float64]:
    """Bernoulli's input. Raises ValueError for one out of [0, 1]."""
    p = x.astype(np.float64)
    if not ((p >= 0) & (p <= 1)).all():
        raise ValueError("a probability is not in [0, 1]")
    return p


def bernoulli(x: Array, *, dtypes: Types, dtype: int | None = None, seed: float | None = None) -> Array:
    """Bernoulli-22 (15 alike): 1 with probability x, else 0; x's shape and, unless `dtype` names another, x's type.

    The text is followed; the function body of both versions draws 1 where a uniform number exceeds x, that is with
    probability 1 - x.
    """
    ones = _unit("Bernoulli", seed, x.shape) < probabilities(x)
    return convert(ones, type_of(dtype, dtypes[0]))


def class_probabilities(x: Array) -> NDArray[np.float64]:
    """Softmax of Multinomial's input (batch, classes). Raises ValueError where a row has none: no class, NaN, infinity."""
    logits = x.astype(np.float64)
    if x.ndim != 2 or x.shape[1] == 0:
        raise ValueError(f"log-probabilities of shape {x.shape}, (batch, classes) was expected")
    largest = logits.max(axis=1, keepdims=True)
    if not np.isfinite(largest).all():
        raise ValueError("a row of log-probabilities has no largest finite value")
    weights = np.exp(logits - largest)
    return np.asarray(weights / weights.sum(axis=1, keepdims=True), np.float64)


def multinomial(x: Array, *, dtype: int = 6, sample_size: int = 1, seed: float | None = None) -> Array:
    """Multinomial-22 (7 alike): x (batch, classes) unnormalised log-probabilities → (batch, sample_size) classes."""
    limits = np.cumsum(class_probabilities(x), axis=1)
    limits /= limits[:, -1:]  # now exactly 1 from the last possible class on, which no draw reaches
    draws = _unit("Multinomial", seed, (x.shape[0], sample_size))
    rows = [np.searchsorted(limit, draw, side="right") for limit, draw in zip(limits, draws, strict=True)]
    return np.array(rows, types.numpy_dtype(type_of(dtype, None))).reshape(x.shape[0], sample_size)
