"""Matrix products: MatMul, Gemm, MatMulInteger, Einsum. Integers stay in their own type and wrap around."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from reference import exact
from reference.ops import sums

Array = NDArray[Any]


def matmul(a: Array, b: Array) -> Array:
    """MatMul-13 (1, 9 alike): leading axes broadcast; 1-D operands gain an axis that the result loses."""
    return sums.matmul(a, b)


def _scaled(factor: float, value: Array) -> Array:
    """factor·value. Integers: exact for whole factors, else truncated as C converts (ONNX leaves it open)."""
    if value.dtype.kind == "f":
        return np.asarray(factor * value)
    if float(factor).is_integer():
        return np.asarray(value * np.array(int(factor)).astype(value.dtype))
    return np.trunc(factor * value.astype(np.float64)).astype(value.dtype)


def gemm(
    a: Array,
    b: Array,
    c: Array | None = None,
    *,
    alpha: float = 1.0,
    beta: float = 1.0,
    broadcast: int = 0,
    transA: int = 0,
    transB: int = 0,
) -> Array:
    """Gemm-13 (all versions): alpha·A'B' + beta·C, (M, K)·(K, N) + C broadcast to (M, N).

    `broadcast` (versions 1 and 6) only permits what later versions always do, so its value changes no result.
    """
    a, b = a.T if transA else a, b.T if transB else b
    c = None if c is None else np.broadcast_to(c, (a.shape[0], b.shape[1]))
    if exact.wanted() and a.dtype.kind == "f":
        return _exact_gemm(a, b, c, alpha, beta)
    y = sums.matmul(a, b) if alpha == 1 else _scaled(alpha, sums.matmul(a, b))
    if c is not None:
        y += c if beta == 1 else _scaled(beta, c)
    return y


def _exact_gemm(a: Array, b: Array, c: Array | None, alpha: float, beta: float) -> Array:
    """alpha·AB + beta·C, rounded once: what alpha·A loses in rounding is a second factor beside it."""
    scaled = np.concatenate(exact.two_product(alpha, a), axis=1)
    return exact.matmul(scaled, np.concatenate([b, b]), *(() if c is None else exact.two_product(beta, c)))


def per_row(zero_point: Array) -> Array:
    """A vector of row values (M) as a column (M, 1); scalars and full-rank tensors as they are."""
    return zero_point[:, None] if zero_point.ndim == 1 and zero_point.size != 1 else zero_point


def centred(
    a: Array, b: Array, a_zero_point: Array | None, b_zero_point: Array | None
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """8-bit matrices less their zero points: scalar, per row (M) or (..., M, 1) of a, per column (N) or (..., 1, N) of b."""
    left, right = a.astype(np.int32), b.astype(np.int32)
    if a_zero_point is not None:
        left = left - per_row(a_zero_point).astype(np.int32)
    if b_zero_point is not None:
        right = right - b_zero_point.astype(np.int32)
    return left, right


def integer_accumulator(a: Array, b: Array, a_zero_point: Array | None, b_zero_point: Array | None) -> Array:
    """Exact sums Σ(a - a_zero_point)(b - b_zero_point) as float64 (8-bit data: below 2^53 for up to 2^37 terms)."""
    return np.matmul(*(x.astype(np.float64) for x in centred(a, b, a_zero_point, b_zero_point)))


def matmul_integer(a: Array, b: Array, a_zero_point: Array | None = None, b_zero_point: Array | None = None) -> Array:
    """MatMulInteger-10: 8-bit matrices and zero points (scalar, per row of a, per column of b) → int32, modulo 2^32."""
    return exact.integer_matmul(*centred(a, b, a_zero_point, b_zero_point), np.dtype(np.int32))


def einsum(*operands: Array, equation: str) -> Array:
    """Einsum-12: spaces are ignored; without `->` the labels that occur once follow in alphabetical order."""
    return sums.einsum(equation.replace(" ", ""), *operands)
