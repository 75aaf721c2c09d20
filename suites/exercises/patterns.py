"""Arrays that hold what a type can hold: bit patterns, full significands, edges of integers, half-way values."""

from __future__ import annotations

import numpy as np

BITS = {"int4": 4, "uint4": 4, "float4_e2m1fn": 4, "int2": 2, "uint2": 2}
"""Types that NumPy holds in a byte though they have fewer bits."""

PRECISION = {"float64": 53, "float32": 24, "float16": 11, "bfloat16": 8}
"""Significand bits, the hidden one included."""

TEXTS = ("", "a", " ", "é", "日本語", "\N{GRINNING FACE}", "tab\tand\nline", "x" * 1000, "0", "nan")

MIX = 0x9E3779B97F4A7C15
"""2^64 divided by the golden ratio: multiples of it are spread evenly, modulo any power of two."""


def scrambled(n: int) -> np.ndarray:
    """n different 64-bit words, the same everywhere."""
    words: np.ndarray = np.arange(1, n + 1, dtype=np.uint64) * np.uint64(MIX)
    return words


def bit_patterns(dtype: np.dtype, n: int) -> np.ndarray:
    """n elements: every bit pattern in turn of types up to 16 bits; beyond, the edges of the format, then arbitrary words."""
    if dtype.kind == "O":
        texts = np.empty(n, object)
        texts[:] = [TEXTS[i % len(TEXTS)] for i in range(n)]
        return texts
    if dtype.kind == "b":
        return np.asarray(scrambled(n) >> np.uint64(63) != 0)
    if dtype.kind == "c":
        parts: np.ndarray = bit_patterns(np.dtype(f"f{dtype.itemsize // 2}"), 2 * n).view(dtype)
        return parts
    bits = BITS.get(dtype.name, 8 * dtype.itemsize)
    if bits < 8 and dtype.name.startswith("int"):  # a signed type keeps its sign in the whole byte
        return np.asarray(np.arange(n) % 2**bits - 2 ** (bits - 1)).astype(dtype)
    if bits <= 16:
        codes = np.arange(n, dtype=np.uint64) * np.uint64(40503) % np.uint64(2**bits)
    else:
        codes = scrambled(n) >> np.uint64(64 - bits)
        edges = _edges_of_reals(bits) if dtype.kind == "f" else _edges_of_words(bits)
        codes[: len(edges)] = edges[:n]
    return codes.astype(f"u{dtype.itemsize}").view(dtype)


def _edges_of_reals(bits: int) -> np.ndarray:
    """Both signs of telling significands at every exponent of float32 (of float64: at every eighth, and around the edges of
    narrower types): zeros, subnormals, infinities, and NaN quiet, signalling and with other payloads."""
    width, bias = (23, 127) if bits == 32 else (52, 1023)
    top = 2 * bias + 1
    exponents = {*range(0, top + 1, 1 if bits == 32 else 8), 1, 2, top - 1, top}
    exponents |= {
        bias + d for d in (-150, -149, -127, -126, -25, -24, -15, -14, -1, 0, 1, 15, 16, 127, 128) if 0 <= bias + d <= top
    }
    full = 2**width - 1
    significands = (0, 1, full, full // 3, 2 ** (width - 1))
    codes = [sign << (bits - 1) | e << width | s for e in sorted(exponents) for s in significands for sign in (0, 1)]
    return np.array(codes, np.uint64)


def _edges_of_words(bits: int) -> np.ndarray:
    """One bit set, one bit clear, all bits below one set, all, none."""
    mask = 2**bits - 1
    single = [1 << k for k in range(bits)]
    return np.array([0, mask, *single, *(mask ^ s for s in single), *(s - 1 for s in single)], np.uint64)


def significant(dtype: np.dtype, n: int) -> np.ndarray:
    """n values between 1/16 and 32 of both signs whose last significand bit is set."""
    p = PRECISION[dtype.name]
    words = scrambled(n)
    fraction = (words >> np.uint64(64 - (p - 1))) | np.uint64(1) | np.uint64(2 ** (p - 1))
    exponent = (words % np.uint64(9)).astype(np.int64) - 4
    values = np.ldexp(fraction.astype(np.float64), exponent - (p - 1))
    return np.where(words & np.uint64(16), values, -values).astype(dtype)


def integer_edges(dtype: np.dtype) -> list[int]:
    """The type's edges, those of narrower types, and where float32 and float64 stop holding every integer."""
    info = np.iinfo(dtype)
    low, high = int(info.min), int(info.max)
    if dtype.itemsize == 1:
        return list(range(low, high + 1))
    near = [s * 2**k + d for k in (8, 16, 24, 31, 32, 33, 53) for s in (1, -1) for d in (-1, 0, 1)]
    near += [s * 2**31 + d for s in (1, -1) for d in (-3, 3)]
    edges = {0, 1, 2, 3, 7, -1, -2, -3, low, low + 1, high - 1, high, *near}
    return sorted(e for e in edges if low <= e <= high)


def half_steps(source: np.dtype, n: int, scale: float) -> np.ndarray:
    """(k + 1/2)·scale and its neighbours on both sides, k as many whole numbers around 0 as there is room for."""
    middle = ((np.arange(-(-n // 3)) - n // 6 + 0.5) * scale).astype(source)
    infinity = source.type(np.inf)
    both = np.stack([middle, np.nextafter(middle, infinity), np.nextafter(middle, -infinity)], axis=1)
    return both.reshape(-1)[:n].astype(source)


def in_range(source: np.dtype, low: int, high: int) -> np.ndarray:
    """Reals of the source type that lie in [low, high] once their fraction is cut off; fractions, and the edges from inside."""
    powers = [float(s * 2**k) for k in range(64) for s in (1, -1) if low <= s * 2**k <= high]
    near = [p + f for p in powers for f in (-0.5, 0.0, 0.5) if abs(p) < 2.0**22]
    small = [k + f for k in range(-130, 131) for f in (0.0, 0.25, 0.5, 0.75, 0.999)]
    with np.errstate(over="ignore"):
        values = np.array([*powers, float(low), float(high), *near, *small], np.float64).astype(source)
    candidates = np.concatenate([values, np.nextafter(values, source.type(0))]).astype(np.float64)
    kept = [v for v in np.unique(candidates).tolist() if np.isfinite(v) and low <= int(v) <= high]
    return np.array(kept).astype(source)


def ties(source: np.dtype, target: np.dtype, n: int) -> np.ndarray:
    """Source values half-way between neighbours of the target type, and their own neighbours on both sides."""
    width = 8 * target.itemsize
    magnitudes = np.arange(2 ** (width - 1) - 1) if width <= 16 else (scrambled(n) >> np.uint64(65 - width))
    codes = magnitudes.astype(f"u{target.itemsize}")
    with np.errstate(all="ignore"):
        lower, upper = codes.view(target).astype(np.float64), (codes + codes.dtype.type(1)).view(target).astype(np.float64)
        middle = (lower + upper) / 2
        usable = middle[np.isfinite(middle) & (middle.astype(source).astype(np.float64) == middle)].astype(source)
        infinity = source.type(np.inf)
        both = np.stack([usable, np.nextafter(usable, infinity), np.nextafter(usable, source.type(0))], axis=1).reshape(-1)
    spread = both[(np.arange(n) * (2 * (len(both) // (2 * n)) + 1)) % len(both)] if len(both) > n else np.resize(both, n)
    return np.where(np.arange(n) % 2, spread, -spread).astype(source)
