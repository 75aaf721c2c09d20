"""Weights in blocks of few bits, and linear quantisation, as ONNX Runtime's domain com.microsoft has them.

Source: ONNX Runtime's docs/ContribOperators.md; the meaning of `g_idx`, which the text only calls deprecated, is that of ONNX
Runtime's kernels.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from reference.ops import quantization, sums

Array = NDArray[Any]


def unpack(packed: Array, bits: int) -> Array:
    """uint8 (..., n) of 8/bits numbers each, the lowest bits first → uint8 (..., 8·n/bits)."""
    shifts = np.arange(0, 8, bits, dtype=np.uint8)
    return np.asarray(((packed[..., None] >> shifts) & np.uint8(2**bits - 1)).reshape(*packed.shape[:-1], -1))


def _block_zero_points(zero_points: Array | None, n: int, blocks: int, bits: int) -> Array:
    """Zero points as float64 (n, blocks): 2^(bits - 1), or packed along the blocks of each row, or one number per block."""
    if zero_points is None:
        return np.full((n, blocks), 2.0 ** (bits - 1))
    if zero_points.dtype != np.uint8:
        return zero_points.reshape(n, blocks)
    return unpack(zero_points.reshape(n, -(-blocks * bits // 8)), bits)[:, :blocks].astype(np.float64)


def matmul_n_bits_weights(
    b: Array,
    scales: Array,
    zero_points: Array | None = None,
    g_idx: Array | None = None,
    *,
    K: int,
    N: int,
    block_size: int,
    bits: int = 4,
) -> Array:
    """The matrix (N, K) that MatMulNBits multiplies by, transposed: (quantised - zero point)·scale of each block, float64."""
    blocks, blob = -(-K // block_size), block_size * bits // 8
    if b.shape != (N, blocks, blob):
        raise ValueError(f"B has shape {b.shape}, blocks of {block_size} numbers of {bits} bits need {(N, blocks, blob)}")
    quantised = unpack(b.reshape(N, blocks * blob), bits)[:, :K].astype(np.float64)
    group = np.arange(K) // block_size if g_idx is None else g_idx[:K]
    zero = _block_zero_points(zero_points, N, blocks, bits)
    return np.asarray((quantised - zero[:, group]) * scales.reshape(N, blocks)[:, group])


def matmul_n_bits(
    a: Array,
    b: Array,
    scales: Array,
    zero_points: Array | None = None,
    g_idx: Array | None = None,
    bias: Array | None = None,
    *,
    K: int,
    N: int,
    block_size: int,
    bits: int = 4,
    accuracy_level: int = 0,
    weight_prepacked: int = 0,
) -> Array:
    """MatMulNBits-1: a (..., K) times the dequantised B (N, K), transposed, plus bias (N) → (..., N).

    B is uint8 (N, blocks, block_size·bits/8), numbers of 2, 4 or 8 bits in blocks along K, the lowest bits of a byte first;
    scales (N, blocks); zero_points uint8 (N, ceil(blocks·bits/8)), packed like B, or (N, blocks) in the type of a, or
    2^(bits - 1). Deprecated `g_idx` (K, or K padded to whole blocks) names the block whose scale and zero point count.
    B without elements is an omitted product, zeros. `accuracy_level` names a precision and so changes no real value.
    Raises ValueError for other bits, block sizes and shapes, and for prepacked weights, whose layout is a device's own.
    """
    if bits not in (2, 4, 8):
        raise ValueError(f"bits is 2, 4 or 8, not {bits}")
    if block_size < 16 or block_size & (block_size - 1):
        raise ValueError(f"block_size is a power of two from 16 on, not {block_size}")
    if weight_prepacked:
        raise ValueError(f"the layout of weights prepacked as {weight_prepacked} is not defined by the specification")
    if a.shape[-1] != K:
        raise ValueError(f"A has {a.shape[-1]} columns, K is {K}")
    if b.size:
        weights = matmul_n_bits_weights(b, scales, zero_points, g_idx, K=K, N=N, block_size=block_size, bits=bits)
        return sums.matmul(a, weights.T, *(() if bias is None else (bias,)))
    return np.broadcast_to(np.zeros(()) if bias is None else bias, (*a.shape[:-1], N))


def _axis(scale: Array, axis: int | None) -> int:
    """`axis`, needed only where there is more than one scale; raises ValueError where it is missing then."""
    if axis is None and scale.size != 1:
        raise ValueError(f"without axis there is one scale, not {scale.size}")
    return 0 if axis is None else axis


def quantize_linear(
    x: Array,
    y_scale: Array,
    y_zero_point: Array | None = None,
    *,
    axis: int | None = None,
    dtypes: tuple[str | None, ...] = (),
) -> Array:
    """QuantizeLinear-1 of com.microsoft: as ONNX's with integer types of 4, 8 or 16 bits; without `axis` per tensor."""
    return quantization.quantize_linear(x, y_scale, y_zero_point, axis=_axis(y_scale, axis), dtypes=dtypes)


def dequantize_linear(x: Array, x_scale: Array, x_zero_point: Array | None = None, *, axis: int | None = None) -> Array:
    """DequantizeLinear-1 of com.microsoft: as ONNX's, of integers of 4, 8, 16 or 32 bits; without `axis` per tensor."""
    return quantization.dequantize_linear(x, x_scale, x_zero_point, axis=_axis(x_scale, axis))
