"""The sums and matrix products of the linear operators: BLAS and NumPy, or inside `exact.sums()` exact and rounded once.

Integers stay in their type and wrap around.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reference import exact

Array = NDArray[Any]

SHORT = 128
"""Lines up to this length are as well added term by term: np.sum pairs longer ones only, and starts slowly on each."""


def matmul(a: Array, b: Array, *addends: Array) -> Array:
    """a @ b (+ addends of reals, which broadcast to the shape of the product), axes as np.matmul has them."""
    if a.dtype.kind in "iu":
        return exact.integer_matmul(a, b, a.dtype)
    if exact.wanted():
        return exact.matmul(a, b, *addends)
    y = np.asarray(np.matmul(a, b))
    for addend in addends:
        y += addend
    return y


def total(x: Array, axes: tuple[int, ...], *, keepdims: bool = False) -> Array:
    """Σx along the axes."""
    if exact.wanted() and x.dtype.kind == "f":
        return exact.total(x, axes, keepdims=keepdims)
    if x.dtype.kind == "f" and axes == (x.ndim - 1,) and x.shape[-1] <= SHORT:
        y = np.asarray(np.einsum("...i->...", x))
        return y[..., None] if keepdims else y
    return np.asarray(np.sum(x, axis=axes, dtype=x.dtype, keepdims=keepdims))


def _length(x: Array, axes: tuple[int, ...]) -> np.float64:
    return np.float64(math.prod(x.shape[a] for a in axes))


def mean(x: Array, axes: tuple[int, ...], *, keepdims: bool = False) -> Array:
    """Σx/n of reals along the axes; the mean of nothing is NaN."""
    return np.asarray(total(x, axes, keepdims=keepdims) / _length(x, axes))


def scale(x: Array, axes: tuple[int, ...]) -> Array:
    """The power of two at the largest |x| along `axes`, which stay with length 1, where sums or squares may leave float64's
    range; elsewhere 1."""
    with np.errstate(invalid="ignore"):
        largest = np.max(np.abs(x), axes, keepdims=True, initial=0.0, where=np.isfinite(x))
    exponent = np.frexp(largest)[1] - 1
    return np.ldexp(1.0, np.where(np.abs(exponent) > SAFE, exponent, 0))


SAFE = 480
"""Exponents of numbers whose squares float64 adds up without overflow or underflow."""


def of_squares(x: Array, axes: tuple[int, ...], *, keepdims: bool = False) -> Array:
    """Σx² along the axes."""
    if exact.wanted() and x.dtype.kind == "f":
        y = exact.total(np.stack(exact.two_product(x, x), -1), (*axes, x.ndim), keepdims=True)[..., 0]
        return y if keepdims else np.squeeze(y, axis=axes)
    first = x.ndim - len(axes)
    if x.dtype.kind == "f" and axes == tuple(range(first, x.ndim)):
        lines = x.reshape(*x.shape[:first], math.prod(x.shape[first:]))
        y = np.asarray(np.einsum("...i,...i->...", lines, lines))  # no array of squares
        return y.reshape((*y.shape, *[1] * len(axes))) if keepdims else y
    return total(np.square(x), axes, keepdims=keepdims)


def mean_of_squares(x: Array, axes: tuple[int, ...], *, keepdims: bool = False) -> Array:
    """Σx²/n of reals along the axes; that of nothing is NaN."""
    return np.asarray(of_squares(x, axes, keepdims=keepdims) / _length(x, axes))


def cumulative(x: Array, axis: int) -> Array:
    """Running sums along an axis."""
    if exact.wanted() and x.dtype.kind == "f":
        return exact.cumulative(x, axis)
    return np.asarray(np.cumsum(x, axis=axis, dtype=x.dtype))


def of_all(*terms: Array) -> Array:
    """The sum of tensors, which broadcast."""
    if exact.wanted() and terms[0].dtype.kind == "f":
        return exact.total(np.stack(np.broadcast_arrays(*terms)), 0)
    y = terms[0]
    for i, term in enumerate(terms[1:]):
        own = i > 0 and np.broadcast_shapes(y.shape, term.shape) == y.shape
        y = np.asarray(np.add(y, term, out=y if own else None))  # the sum of scalars is none that can be written to
    return y


def einsum(equation: str, *operands: Array) -> Array:
    """np.einsum of an equation without spaces."""
    if exact.wanted() and operands[0].dtype.kind == "f":
        return exact.einsum(equation, *operands)
    return np.asarray(np.einsum(equation, *operands, optimize=len(operands) > 1))
