"""Matrix products: MatMul, Gemm, MatMulInteger, Einsum. Integers stay in their own type and wrap around."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


def matmul(a: Array, b: Array) -> Array:
    """MatMul-13 (1, 9 alike): leading axes broadcast; 1-D operands gain an axis that the result loses."""
    return np.asarray(np.matmul(a, b))


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
    y = _scaled(alpha, np.matmul(a.T if transA else a, b.T if transB else b))
    return y if c is None else np.asarray(y + _scaled(beta, np.broadcast_to(c, y.shape)))


def _per_row(zero_point: Array) -> Array:
    """A vector of row values (M) as a column (M, 1); scalars and full-rank tensors as they are."""
    return zero_point[:, None] if zero_point.ndim == 1 and zero_point.size > 1 else zero_point


def integer_accumulator(a: Array, b: Array, a_zero_point: Array | None, b_zero_point: Array | None) -> Array:
    """Exact sums Σ(a - a_zero_point)(b - b_zero_point) as float64 (8-bit data: below 2^53 for up to 2^37 terms).

    Zero points: scalar, per row (M) or (..., M, 1) of a, per column (N) or (..., 1, N) of b.
    """
    left, right = a.astype(np.float64), b.astype(np.float64)
    if a_zero_point is not None:
        left = left - _per_row(a_zero_point).astype(np.float64)
    if b_zero_point is not None:
        right = right - b_zero_point.astype(np.float64)
    return np.asarray(np.matmul(left, right))


def matmul_integer(a: Array, b: Array, a_zero_point: Array | None = None, b_zero_point: Array | None = None) -> Array:
    """MatMulInteger-10: 8-bit matrices and zero points (scalar, per row of a, per column of b) → int32, modulo 2^32."""
    return integer_accumulator(a, b, a_zero_point, b_zero_point).astype(np.int64).astype(np.int32)


def einsum(*operands: Array, equation: str) -> Array:
    """Einsum-12: spaces are ignored; without `->` the labels that occur once follow in alphabetical order."""
    return np.asarray(np.einsum(equation.replace(" ", ""), *operands, optimize=len(operands) > 1))
