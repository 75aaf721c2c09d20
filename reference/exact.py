"""Sums and products of float64 and of integers, whatever cancels in them: exact, and rounded once at the end.

Operands are cut into slices of few bits, whole numbers so small that BLAS and NumPy add their products without rounding
(Ozaki, Ogita, Oishi and Rump, Error-free transformations of matrix multiplication, Numerical Algorithms 59, 2012). The
sums over slices are the digits of the result in base 2^width: carries make them small, then they are added up.

Inside `exact.sums()` the reference's linear operators come here by way of `reference.ops.sums`.
"""

from __future__ import annotations

import contextlib
import contextvars
import math
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]

PRECISION = 53
"""Whole numbers up to 2^53 are float64 values, and so are sums of them that stay there."""

_wanted: contextvars.ContextVar[bool] = contextvars.ContextVar("exact sums", default=False)


@contextlib.contextmanager
def sums(wanted: bool = True) -> Iterator[None]:
    """Within it, the reference's linear operators add and multiply exactly and round once; or, unless `wanted`, in float64."""
    token = _wanted.set(wanted)
    try:
        yield
    finally:
        _wanted.reset(token)


def wanted() -> bool:
    """Whether the caller is inside `exact.sums()`."""
    return _wanted.get()


def two_sum(a: Array, b: Array) -> tuple[Array, Array]:
    """a + b = high + low exactly, high the rounded sum (Knuth), for sums that do not overflow."""
    high = a + b
    of_b = high - a
    return high, (a - (high - of_b)) + (b - of_b)


@np.errstate(all="ignore")
def two_product(a: Array | float, b: Array | float) -> tuple[Array, Array]:
    """a·b = high + low exactly, high the rounded product (Dekker, 1971).

    low is 0 where a factor exceeds 2^996 or the product overflows, and loses bits where the product is below 2^-969.
    """

    def halves(x: Array) -> tuple[Array, Array]:
        shifted = x * 134217729.0  # 2^27 + 1
        upper = shifted - (shifted - x)
        return upper, x - upper

    a, b = np.asarray(a), np.asarray(b)
    high = np.asarray(a * b)
    a1, a2 = halves(a)
    b1, b2 = halves(b)
    low = ((a1 * b1 - high) + a1 * b2 + a2 * b1) + a2 * b2
    return high, np.where(np.isfinite(low), low, 0.0)


def _width(terms: int, factors: int) -> int:
    """Bits of a slice so that `terms` products of `factors` slices each add up to at most 2^53."""
    return (PRECISION - (max(terms, 1) - 1).bit_length()) // factors


def _slices(x: Array, axis: tuple[int, ...], width: int) -> tuple[dict[int, Array], Array]:
    """x = Σ slices[i]·2^(exponent - width·(i + 1)) exactly, for finite x: whole numbers below 2^width, one exponent for
    all elements along `axis`.

    A float64 has three or four slices in a product, a float32 two; lines of wide range have more (empty ones left out).
    """
    exponent = np.frexp(np.max(np.abs(x), axis=axis, keepdims=True, initial=0.0))[1]
    slices, index = {}, 0
    while x.any():
        shift = exponent - width * (index + 1)
        whole = np.trunc(np.ldexp(x, -shift))
        if whole.any():
            slices[index] = whole
            x = x - np.ldexp(whole, shift)
        index += 1
    return slices, exponent


def _add(digits: list[Array], index: int, whole: Array, width: int) -> None:
    """Adds whole numbers up to 2^53 to digits[index]; what exceeds 2^(width - 1) goes to digits[index - 1] at once, so that
    thousands of numbers find room."""
    carry = np.rint(whole * 2.0**-width)
    digits[index] += whole - carry * 2.0**width
    digits[index - 1] += carry


def _expansion(digits: list[Array], exponent: Array, width: int) -> list[Array]:
    """Σ_k digits[k]·2^(exponent - width·k) as three float64, each of which is the rest of the sum so far; overwrites digits."""
    for k in range(len(digits) - 1, 0, -1):
        whole, digits[k] = digits[k], np.zeros_like(digits[k])
        _add(digits, k, whole, width)
    # The first digit that is not 0 now outweighs all others together, so nothing cancels any more.
    high = middle = low = np.zeros(())
    for k, digit in enumerate(digits):
        high, rest = two_sum(high, np.ldexp(digit, exponent - width * k))
        middle, rest = two_sum(middle, rest)
        low = low + rest
    return [high, middle, low]


def _in_range(digits: list[Array], exponent: Array, width: int) -> list[Array]:
    """`_expansion`, also where a first digit of 2^1024 would overflow although the sum does not."""
    parts = _expansion(digits, exponent, width)
    if np.isfinite(parts[0]).all():
        return parts
    quarters = _expansion(digits, exponent - 2, width)
    return [np.where(np.isfinite(parts[0]), part, np.ldexp(quarter, 2)) for part, quarter in zip(parts, quarters, strict=True)]


def _rounded(parts: list[Array]) -> Array:
    """The sum of an expansion, rounded once: the lower two are rounded to odd, which keeps what decides a tie (Boldo and
    Melquiond, 2008)."""
    high, middle, low = parts
    rest, lost = two_sum(middle, low)
    even = (rest.view(np.int64) & 1) == 0
    return np.asarray(high + np.where(even & (lost != 0), np.nextafter(rest, np.copysign(np.inf, lost)), rest))


def _finite(x: Array) -> Array:
    return x if np.isfinite(x).all() else np.where(np.isfinite(x), x, 0.0)


@np.errstate(all="ignore")
def total(x: Array, axis: int | tuple[int, ...] | None = None, *, keepdims: bool = False) -> Array:
    """Σx along `axis` (None: all axes), correctly rounded; of infinities, NaN or an overflow what np.sum gives."""
    axes = tuple(range(x.ndim)) if axis is None else (axis,) if isinstance(axis, int) else axis
    width = _width(math.prod(x.shape[a] for a in axes), 1)
    slices, exponent = _slices(_finite(x), axes, width)
    digits = [np.zeros(exponent.shape) for _ in range(max(slices, default=-1) + 2)]
    for index, part in slices.items():
        _add(digits, index + 1, np.sum(part, axis=axes, keepdims=True), width)
    y = _rounded(_in_range(digits, exponent, width))
    y = np.where(np.isfinite(x).all(axis=axes, keepdims=True) & np.isfinite(y), y, np.sum(x, axis=axes, keepdims=True))
    return y if keepdims else np.squeeze(y, axis=axes)


@np.errstate(all="ignore")
def cumulative(x: Array, axis: int) -> Array:
    """Running sums of x along `axis`, each as `total` of the elements up to there."""
    width = _width(x.shape[axis], 1)
    slices, exponent = _slices(_finite(x), (axis,), width)
    digits = [np.zeros(x.shape) for _ in range(max(slices, default=-1) + 2)]
    for index, part in slices.items():
        _add(digits, index + 1, np.cumsum(part, axis=axis), width)
    y = _rounded(_in_range(digits, exponent, width))
    usable = np.logical_and.accumulate(np.isfinite(x), axis=axis) & np.isfinite(y)
    return np.where(usable, y, np.cumsum(x, axis=axis))


def _product(a: Array, b: Array) -> list[Array]:
    """a @ b as an expansion; a (..., M, K) and b (..., K, N) finite."""
    width = _width(a.shape[-1], 2)
    left, rows = _slices(a, (-1,), width)
    right, columns = _slices(b, (-2,), width)
    shape = (*np.broadcast_shapes(a.shape[:-2], b.shape[:-2]), a.shape[-2], b.shape[-1])
    digits = [np.zeros(shape) for _ in range(max(left, default=-1) + max(right, default=-1) + 3)]
    for i, p in left.items():
        for j, q in right.items():
            _add(digits, i + j + 1, np.matmul(p, q), width)
    return _in_range(digits, rows + columns - width, width)


@np.errstate(all="ignore")
def matmul(a: Array, b: Array, *addends: Array) -> Array:
    """a @ b (+ addends, which broadcast to its shape), correctly rounded; a subnormal result to one ulp.

    Of infinities, NaN or an overflow what NumPy gives. Axes are those of np.matmul; raises ValueError as it does.
    """
    plain = np.matmul(a, b)
    matrix, other = (a[None] if a.ndim == 1 else a), (b[:, None] if b.ndim == 1 else b)
    parts = [part.reshape(plain.shape) for part in _product(_finite(matrix), _finite(other))]
    y = total(np.stack(np.broadcast_arrays(*parts, *addends)), 0) if addends else _rounded(parts)
    finite = np.isfinite(matrix).all(-1, keepdims=True) & np.isfinite(other).all(-2, keepdims=True)
    return np.where(finite.reshape(plain.shape) & np.isfinite(y), y, sum(addends, start=plain))


def subscripts(equation: str, operands: tuple[Array, ...]) -> tuple[list[list[int]], list[int]]:
    """The labels of each operand's axes and of the result's, as numbers; axes of an ellipsis count from -1 backwards."""
    left, arrow, right = equation.partition("->")
    spare = [x.ndim - len(names.replace("...", "")) for names, x in zip(left.split(","), operands, strict=True)]

    def labels(names: str, width: int) -> list[int]:
        before, dots, after = names.partition("...")
        return [*map(ord, before), *range(-width if dots else 0, 0), *map(ord, after)]

    inputs = [labels(names, width) for names, width in zip(left.split(","), spare, strict=True)]
    if not arrow:
        letters = left.replace("...", "").replace(",", "")
        right = "..." * ("..." in left) + "".join(sorted(c for c in letters if letters.count(c) == 1))
    return inputs, labels(right, max(spare))


def _aligned(x: Array, labels: list[int], order: list[int]) -> Array:
    """x with one axis for each label in `order`, of length 1 where it has none; a label that comes twice is a diagonal."""
    numbers = [order.index(label) for label in labels]
    kept = sorted(set(numbers))
    view = np.einsum(x, numbers, kept)
    return np.expand_dims(view, tuple(i for i in range(len(order)) if i not in kept))


def _contraction(a: Array, b: Array, kept: int) -> Array:
    """The sum of a·b, which broadcast, over all axes but the first `kept`, as one matrix product."""
    lengths = np.broadcast_shapes(a.shape, b.shape)
    rows = [i for i in range(kept) if b.shape[i] == 1]
    columns = [i for i in range(kept) if a.shape[i] == 1 and i not in rows]
    batch = [i for i in range(kept) if i not in rows and i not in columns]

    def matrix(x: Array, own: list[int], others: list[int]) -> Array:
        full = np.broadcast_to(x, (*x.shape[:kept], *lengths[kept:]))
        ordered = full.transpose([*batch, *own, *others, *range(kept, len(lengths))])
        shape = [lengths[i] for i in batch]
        return ordered.reshape(*shape, math.prod(lengths[i] for i in own), math.prod(lengths[kept:]))

    order = [*batch, *rows, *columns]
    y = matmul(matrix(a, rows, columns), matrix(b, columns, rows).swapaxes(-1, -2))
    return y.reshape([lengths[i] for i in order]).transpose(np.argsort(order))


@np.errstate(all="ignore")
def einsum(equation: str, *operands: Array) -> Array:
    """np.einsum of an equation without spaces, correctly rounded: two operands by `matmul`, more by the exact products of
    all their elements at once, which takes as much memory as there are products."""
    plain = np.asarray(np.einsum(equation, *operands, optimize=len(operands) > 1))
    inputs, output = subscripts(equation, operands)
    order = [*output, *sorted({label for labels in inputs for label in labels} - set(output))]
    first, *rest = (_aligned(x, labels, order) for x, labels in zip(operands, inputs, strict=True))
    if len(rest) == 1:
        return _contraction(first, rest[0], len(output))
    parts = [first]
    for x in rest:
        parts = [half for part in parts for half in two_product(part, x)]
    stacked = np.stack(np.broadcast_arrays(*parts), -1)
    y = total(stacked, tuple(range(len(output), stacked.ndim)))
    return np.where(np.isfinite(y), y, plain)


def _limbs(x: Array, width: int, bits: int) -> list[Array]:
    """The digits of x modulo 2^bits in base 2^width, the lowest first, as float64."""
    residue, mask = x.astype(np.uint64), np.uint64(2**width - 1)
    return [((residue >> np.uint64(shift)) & mask).astype(np.float64) for shift in range(0, bits, width)]


def integer_matmul(a: Array, b: Array, dtype: np.dtype[Any]) -> Array:
    """a @ b of integers in type `dtype`, exact modulo 2^bits: by BLAS, which NumPy has for floats only.

    Operands whose sums could exceed 2^53 are cut into limbs.
    """
    terms = a.shape[-1]
    size = terms * math.prod(max(int(x.max(initial=0)), -int(x.min(initial=0))) for x in (a, b))
    if size <= 2**PRECISION:
        return np.asarray(np.matmul(a.astype(np.float64), b.astype(np.float64)).astype(np.int64).astype(dtype))
    width, bits = _width(terms, 2), 8 * dtype.itemsize
    y = np.zeros((), np.uint64)
    right = _limbs(b, width, bits)
    for i, p in enumerate(_limbs(a, width, bits)):
        for j, q in enumerate(right):
            if (i + j) * width < bits:
                y = y + (np.matmul(p, q).astype(np.uint64) << np.uint64((i + j) * width))
    return y.astype(dtype)
