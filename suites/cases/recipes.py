"""Recipes: how the values of a tensor are spread, from raw words of a counter-based generator.

A tensor's words are those of Philox4x64-10 (Salmon et al., SC'11) keyed by BLAKE2b-128 of the case's id and the
tensor's name. NumPy's distributions, and its log and exp, differ between versions and processors; raw words, integer
arithmetic and single IEEE 754 operations do not. So nothing here calls a transcendental function or a global generator,
and the same id gives the same bits everywhere.
"""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import math
import threading
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reference import dtypes
from suites.cases.node import Node
from suites.cases.terms import TERMS

Array = NDArray[Any]

GRID_BITS = 8
"""Significant bits of the grid recipe: what bfloat16 has, so that conversion to float16, bfloat16 or tf32 changes
nothing.
"""

_NORMAL_SCALE = 1 / 53509.91992145008
"""Reciprocal of the standard deviation of a sum of eight uniform 16-bit integers, sqrt(8·(2^32 − 1)/12)."""


_PHILOX = np.random.Philox(key=0)  # a new one would fetch entropy from the system first, which costs ten times as much
_FRESH = _PHILOX.state
_BLOCK = 4
"""Words of one counter."""
_LOCK = threading.Lock()


class Draw:
    """The random words of one tensor."""

    def __init__(self, id: str, name: str) -> None:
        key = hashlib.blake2b(f"{id}\0{name}".encode(), digest_size=16).digest()
        self._key = np.frombuffer(key, "<u8").astype(np.uint64)
        self._drawn = 0

    def words(self, n: int) -> NDArray[np.uint64]:
        """The next n words of 64 bits."""
        blocks, skipped = divmod(self._drawn, _BLOCK)
        self._drawn += n
        with _LOCK:
            _PHILOX.state = {**_FRESH, "state": {"counter": np.array([blocks, 0, 0, 0], np.uint64), "key": self._key}}
            return np.asarray(_PHILOX.random_raw(skipped + n), np.uint64)[skipped:]

    def below(self, n: int, bound: int) -> NDArray[np.int64]:
        """n integers in [0, bound), 0 if the bound is not positive; bound at most 2^40 (bias below 2^-24)."""
        return (self.words(n) % np.uint64(max(bound, 1))).astype(np.int64)

    def fraction(self, n: int) -> NDArray[np.float64]:
        """n multiples of 2^-53 in [0, 1)."""
        return (self.words(n) >> np.uint64(11)).astype(np.float64) * 2.0**-53

    def normal(self, n: int) -> NDArray[np.float64]:
        """n values of mean 0 and variance 1, nearly normal, at most 4.9: sums of eight 16-bit lanes."""
        lanes = self.words(2 * n).view(np.uint16).reshape(n, 8)  # in an order that does not matter
        sums = lanes.sum(axis=1, dtype=np.int64) - 4 * 0xFFFF
        return np.asarray(sums, np.float64) * _NORMAL_SCALE

    def permutation(self, n: int) -> NDArray[np.int64]:
        """A random order of n things."""
        return np.argsort(self.words(n), kind="stable")


def integer_range(dtype: str) -> tuple[int, int]:
    """Smallest and largest value of an integer type; bool is 0 and 1."""
    if dtype == "bool":
        return 0, 1
    bits = int(dtype.removeprefix("u").removeprefix("int"))
    return (0, 2**bits - 1) if dtype.startswith("u") else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)


def carrier(dtype: str) -> type[np.int64] | type[np.uint64] | type[np.float64]:
    """The 64-bit type in which values of `dtype` are made."""
    if dtypes.is_float(dtype) or dtype.startswith("complex"):
        return np.float64
    return np.uint64 if dtype == "uint64" else np.int64


def _exact_integers(dtype: str) -> int:
    """How many consecutive integers from 0 on a type holds exactly, at most 2^24."""
    if dtypes.is_float(dtype):
        return int(2 ** min(dtypes.FLOATS[dtype].precision, 24))
    low, high = integer_range(dtype)
    return min(high - low + 1, 2**24)


@functools.cache
def _prime_below(n: int) -> int:
    """The largest prime up to n: strides of a layout that divide the modulus would leave a permutation unseen."""
    return next((p for p in range(n, 1, -1) if all(p % d for d in range(2, math.isqrt(p) + 1))), 1)


# Recipes for floating-point types: (draw, n, dtype, node) → float64, rounded to the type by the caller.


def normal(draw: Draw, n: int, dtype: str, node: Node) -> Array:
    return draw.normal(n)


def _grid(draw: Draw, n: int, dtype: str, node: Node) -> Array:
    """Normal, with 8 significant bits."""
    return dtypes.round_to(draw.normal(n), "bfloat16")


def _tiny(draw: Draw, n: int, dtype: str, node: Node) -> Array:
    """Normal times 2^-10: variances below the usual epsilon of a normalisation."""
    return draw.normal(n) * 2.0**-10


def _uniform(draw: Draw, n: int, dtype: str, node: Node) -> Array:
    """Uniform in [-4, 4)."""
    return draw.fraction(n) * 8 - 4


def _wide(draw: Draw, n: int, dtype: str, node: Node) -> Array:
    """Uniform in [-40, 40): where exp, and what is made of it, is tiny or huge."""
    return draw.fraction(n) * 80 - 40


def _positive(draw: Draw, n: int, dtype: str, node: Node) -> Array:
    """Mantissa and exponent uniform: from 2^-6 to 2^6."""
    exponent = draw.below(n, 12) - 6
    return np.ldexp(1 + draw.fraction(n), exponent)


def _unit(draw: Draw, n: int, dtype: str, node: Node) -> Array:
    """Uniform in (-1, 1); what rounds to ±1 becomes ±1/2."""
    values = dtypes.round_to(draw.fraction(n) * 2 - 1, dtype)
    return np.where(np.abs(values) >= 1, values / 2, values)


def _half(draw: Draw, n: int, dtype: str, node: Node) -> Array:
    """Half-way between two integers, k + 1/2, with |k| up to 140 where the type holds that exactly."""
    limit = int(min(140, 2.0 ** (dtypes.FLOATS[dtype].precision - 2)))
    return (draw.below(n, 2 * limit) - limit) + 0.5


def _index(draw: Draw, n: int, dtype: str, node: Node) -> Array:
    """Flat index from a random start on, modulo the largest prime that the type holds exactly."""
    modulus = _prime_below(_exact_integers(dtype))
    return ((np.arange(n) + draw.below(1, modulus)) % modulus).astype(np.float64)


def _place(draw: Draw, n: int, dtype: str, node: Node) -> Array:
    """Flat index from a random start on, modulo the largest prime below 2^10: sums of two are whole numbers in float16 too."""
    modulus = min(1021, _prime_below(_exact_integers(dtype)))
    return ((np.arange(n) + draw.below(1, modulus)) % modulus).astype(np.float64)


def _zero(draw: Draw, n: int, dtype: str, node: Node) -> Array:
    return np.zeros(n)


def specials(dtype: str) -> Array:
    """NaN, infinities, zeros, subnormals, the edges of the format, ±1: those that the type has."""
    form = dtypes.FLOATS[dtype]
    largest_subnormal = form.smallest_normal - form.smallest_subnormal
    values = [form.smallest_subnormal, largest_subnormal, form.smallest_normal, form.largest, 1.0, 0.0]
    values += [math.inf] if form.has_inf else []
    signed = [s for v in values for s in (v, -v)]
    return np.array(signed + ([math.nan, math.nan] if form.has_nan else []))


def _special(draw: Draw, n: int, dtype: str, node: Node) -> Array:
    """Normal, with every special value at random places, a quarter of all if there is room."""
    return scatter(draw, draw.normal(n), specials(dtype), n // 4)


def _extreme(draw: Draw, n: int, dtype: str, node: Node) -> Array:
    """Normal, with the largest and smallest finite magnitudes at random places."""
    form = dtypes.FLOATS[dtype]
    edges = np.array([form.largest, form.largest / 2, form.smallest_normal, form.smallest_subnormal])
    return scatter(draw, draw.normal(n), np.concatenate([edges, -edges]), n // 2)


def scatter(draw: Draw, values: Array, placed: Array, count: int) -> Array:
    """`values` with `count` of them, but every one of `placed` once if there is room, replaced by `placed` at random
    places.
    """
    n = len(values)
    count = min(n, max(len(placed), count))
    places = draw.permutation(n)[:count]
    values[places] = placed[(np.arange(count) + draw.below(1, len(placed))) % len(placed)]
    return values


def _lattice(draw: Draw, n: int, dtype: str, node: Node) -> Array:
    """Small signed integers, so that every partial result of a linear operator is exact: see `lattice_magnitude`."""
    magnitude, density = lattice_magnitude(node)
    values = draw.below(n, 2 * magnitude + 1) - magnitude
    kept = draw.fraction(n) < density
    return np.where(kept, values, 0).astype(np.float64)


# Recipes for integer types: (draw, n, dtype, node) → int64 (uint64 for uint64).


def _every_integer(draw: Draw, n: int, dtype: str, node: Node) -> Array:
    """Uniform over the whole type."""
    low, high = integer_range(dtype)
    bits = (high - low).bit_length()
    words = draw.words(n) >> np.uint64(64 - bits)
    if dtype == "uint64":
        return words
    return words.astype(np.int64) if bits == 64 else words.astype(np.int64) + low


def small_integers(draw: Draw, n: int, dtype: str, node: Node) -> Array:
    """Rounded normal of standard deviation 32 or a quarter of the type's largest value; magnitudes for unsigned
    types.
    """
    low, high = integer_range(dtype)
    values = np.rint(draw.normal(n) * min(32.0, (high + 1) / 4)).astype(np.int64)
    return np.clip(np.abs(values) if low == 0 else values, max(low, -(2**62)), min(high, 2**62)).astype(carrier(dtype))


def _positive_integers(draw: Draw, n: int, dtype: str, node: Node) -> Array:
    return (draw.below(n, min(100, integer_range(dtype)[1])) + 1).astype(carrier(dtype))


def _index_integers(draw: Draw, n: int, dtype: str, node: Node) -> Array:
    if dtype == "bool":
        return draw.below(n, 2)
    low, _ = integer_range(dtype)
    offset = low if low >= -128 else 0
    return (_index(draw, n, dtype, node).astype(np.int64) + offset).astype(carrier(dtype))


def _extreme_integers(draw: Draw, n: int, dtype: str, node: Node) -> Array:
    """The type's edges and the edges of the narrower types that a device may truncate it to, at random places."""
    low, high = integer_range(dtype)
    edges = [
        0,
        1,
        2,
        high,
        high - 1,
        low,
        low + 1,
        -1,
        *(s * 2**k + d for k in (7, 8, 15, 16) for s in (1, -1) for d in (-1, 0, 1)),
    ]
    edges += [s * 2**k + d for k in (31, 32, 33) for s in (1, -1) for d in (-3, -1, 0, 1, 3)]
    edges += [s * (2**k + 1) for k in (24, 53) for s in (1, -1)]
    usable = sorted({e for e in edges if low <= e <= high})
    return scatter(draw, _every_integer(draw, n, dtype, node), np.array(usable, carrier(dtype)), n // 2)


def _lattice_integers(draw: Draw, n: int, dtype: str, node: Node) -> Array:
    values = _lattice(draw, n, dtype, node).astype(np.int64)
    return (np.abs(values) if integer_range(dtype)[0] == 0 else values).astype(carrier(dtype))


def _zero_integers(draw: Draw, n: int, dtype: str, node: Node) -> Array:
    return np.zeros(n, carrier(dtype))


Generator = Callable[[Draw, int, str, Node], Array]


@dataclasses.dataclass(frozen=True)
class Recipe:
    """How values are spread: for floating-point types and for integer types (None: the recipe is not for those).

    random: reals without order or structure, so that rounding errors over a tensor behave like random ones.
    """

    reals: Generator | None
    integers: Generator | None = None
    random: bool = False


RECIPES: Mapping[str, Recipe] = {
    "normal": Recipe(normal, small_integers, random=True),
    "grid": Recipe(_grid, random=True),
    "uniform": Recipe(_uniform, _every_integer, random=True),
    "index": Recipe(_index, _index_integers),
    "lattice": Recipe(_lattice, _lattice_integers),
    "special": Recipe(_special),
    "extreme": Recipe(_extreme, _extreme_integers),
    "positive": Recipe(_positive, _positive_integers, random=True),
    "unit": Recipe(_unit, random=True),
    "half": Recipe(_half),
    "tiny": Recipe(_tiny, random=True),
    "wide": Recipe(_wide),
    "wrap": Recipe(None, _every_integer),  # as uniform, but roles.headroom leaves the values as they are
    "zero": Recipe(_zero, _zero_integers),
    "place": Recipe(_place),
}


def lattice_magnitude(node: Node) -> tuple[int, float]:
    """(magnitude m, density d): the lattice recipe draws integers in [-m, m] and keeps a share d of them.

    Sums of K products of `degree` such factors must stay within 2^bits, bits being those of the narrowest arithmetic on
    the ladder of the type (11 for float32 and float16, 8 for bfloat16). If even m = 1 is too much, zeros are strewn in,
    so that the expected sum of magnitudes is a quarter of the limit.
    """
    terms, degree = TERMS[node.operator](node) if node.operator in TERMS else (1, 1)
    if dtypes.is_float(node.dtype):
        bits = min(dtypes.FLOATS[node.dtype].precision, 11)
    else:
        bits = min(integer_range(node.dtype)[1].bit_length(), 24)
    limit = 2**bits
    magnitude = 1
    while magnitude < 127 and terms * (magnitude + 1) ** degree <= limit:
        magnitude += 1
    if terms * magnitude**degree <= limit:
        return magnitude, 1.0
    share = limit / (4.0 * terms)
    return 1, share if degree == 1 else float(np.sqrt(share))
