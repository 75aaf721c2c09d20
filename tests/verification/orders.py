"""Orders in which emulated units add products: every one that hardware and libraries use.

`sum_products(a, b, unit, order)` is a matrix product, `sum_terms(terms, unit, order)` any sum; `order` is a key of `ORDERS`.
Loops run over the terms, everything else over all outputs at once.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Iterator

import numpy as np

from reference.exact import two_product, two_sum
from reference.node import Array
from tests.verification.units import Fused, Unit, add, multiply, rounded, subtract


@dataclasses.dataclass(frozen=True)
class Terms:
    """`count` terms, each an array of the outputs' shape: factors(k) are its two factors, or the term itself."""

    count: int
    factors: Callable[[int], tuple[Array, ...]]

    @classmethod
    def of(cls, terms: Array) -> Terms:
        """The terms along the first axis."""
        return cls(len(terms), lambda k: (terms[k],))

    @classmethod
    def of_product(cls, a: Array, b: Array) -> Terms:
        """Those of the matrix product of a (…, M, K) and b (…, K, N)."""
        return cls(a.shape[-1], lambda k: (a[..., :, k, None], b[..., None, k, :]))

    def preceded(self, first: Array) -> Terms:
        """The terms after another one, such as a bias."""
        return Terms(self.count + 1, lambda k: self.factors(k - 1) if k else (first,))

    def exact(self, k: int) -> tuple[Array, Array]:
        """Term k as high + low exactly; low is 0 for factors of at most 26 bits."""
        factors = self.factors(k)
        if len(factors) == 1:
            return factors[0], np.zeros(())
        return two_product(*np.broadcast_arrays(*factors))

    def __call__(self, k: int, unit: Unit) -> Array:
        """Term k as the unit adds it. Raises ValueError for a product that must stay exact and does not fit a float64."""
        factors = self.factors(k)
        if len(factors) == 1:
            return rounded(factors[0], np.zeros(()), unit)
        if unit.products == "rounded":
            return multiply(*factors, unit)
        high, low = self.exact(k)
        if np.any(low):
            raise ValueError("exact products are for factors of at most 26 bits")
        return high


def _chain(terms: Terms, unit: Unit, indices: range) -> Array:
    total = terms(indices[0], unit)
    if unit.products == "exact":  # the first product passes through the accumulator too
        total = rounded(total, np.zeros(()), unit)
    for k in indices[1:]:
        total = add(total, terms(k, unit), unit)
    return total


def chain(terms: Terms, unit: Unit) -> Array:
    """One after the other."""
    return _chain(terms, unit, range(terms.count))


def reverse(terms: Terms, unit: Unit) -> Array:
    """From the last to the first."""
    return _chain(terms, unit, range(terms.count)[::-1])


def fma(terms: Terms, unit: Unit) -> Array:
    """One after the other; products are not rounded before they are added."""
    return chain(terms, dataclasses.replace(unit, products="exact"))


def tree(parts: list[Array], unit: Unit) -> Array:
    """Neighbours are added until one is left."""
    while len(parts) > 1:
        pairs = [add(a, b, unit) for a, b in zip(parts[::2], parts[1::2], strict=False)]
        parts = pairs + parts[len(pairs) * 2 :]
    return parts[0]


def pairwise(terms: Terms, unit: Unit) -> Array:
    """Halves of 2^n terms are added to each other. Holds one partial sum of each size, as a binary counter."""
    sums: list[tuple[int, Array]] = []
    for k in range(terms.count):
        size, total = 1, _chain(terms, unit, range(k, k + 1))
        while sums and sums[-1][0] == size:
            total, size = add(sums.pop()[1], total, unit), 2 * size
        sums.append((size, total))
    return functools.reduce(lambda low, high: add(high, low, unit), [total for _, total in reversed(sums)])


def blocked(terms: Terms, unit: Unit, width: int) -> Array:
    """Chains of `width` terms, and their sums one after the other."""
    starts = range(0, terms.count, width)
    parts = (_chain(terms, unit, range(s, min(s + width, terms.count))) for s in starts)
    return functools.reduce(lambda a, b: add(a, b, unit), parts)


def split(terms: Terms, unit: Unit, lanes: int) -> Array:
    """The terms in `lanes` successive parts, each summed as a chain: split-K."""
    return blocked(terms, unit, -(-terms.count // lanes))


def simd(terms: Terms, unit: Unit, lanes: int) -> Array:
    """Every lane sums each `lanes`-th term; a tree adds the lanes."""
    return tree([_chain(terms, unit, range(i, terms.count, lanes)) for i in range(min(lanes, terms.count))], unit)


def kahan(terms: Terms, unit: Unit) -> Array:
    """Compensated summation (Kahan, 1965)."""
    total = terms(0, unit)
    lost = np.zeros_like(total)
    for k in range(1, terms.count):
        term = subtract(terms(k, unit), lost, unit)
        grown = add(total, term, unit)
        lost = subtract(subtract(grown, total, unit), term, unit)
        total = grown
    return rounded(total, np.zeros(()), unit)


def fused(terms: Terms, unit: Unit) -> Array:
    """Blocks of a tensor core, `unit.fused` or 8 products without truncation; block and accumulator meet in one rounding."""
    form = unit.fused or Fused(None, 8)
    total: Array | None = None
    for block in _blocks(terms, form.width):
        if total is not None and form.accumulator:
            block = [*block, (total, np.zeros(()))]
        parts = block if form.fraction is None else _aligned([high for high, _ in block], form.fraction)
        if total is not None and not form.accumulator:
            parts = [*parts, (total, np.zeros(()))]
        total = _exact_sum(parts, unit)
    assert total is not None
    return total


def _blocks(terms: Terms, width: int) -> Iterator[list[tuple[Array, Array]]]:
    for start in range(0, terms.count, width):
        yield [terms.exact(k) for k in range(start, min(start + width, terms.count))]


def _aligned(products: list[Array], fraction: int) -> list[tuple[Array, Array]]:
    """Products cut towards zero to `fraction` bits below the leading bit of the largest one."""
    exponent = np.frexp(functools.reduce(np.maximum, [np.abs(p) for p in products]))[1] - 1
    step = np.ldexp(1.0, exponent - fraction)
    with np.errstate(all="ignore"):
        return [(np.where(np.isfinite(p), np.trunc(p / step) * step, p), np.zeros(())) for p in products]


def _exact_sum(parts: list[tuple[Array, Array]], unit: Unit) -> Array:
    """Σ parts rounded once: their expansion of three float64 holds 150 bits and more."""
    with np.errstate(all="ignore"):
        high, middle, low = parts[0][0], np.zeros(()), np.zeros(())
        for part in [parts[0][1], *(x for pair in parts[1:] for x in pair)]:
            if np.ndim(part) == 0 and part == 0:
                continue
            high, rest = two_sum(high, part)
            middle, rest = two_sum(middle, rest)
            low = low + rest
        middle, low = two_sum(middle, low)
        top, rest = two_sum(high, middle)
        top, rest = two_sum(top, rest + low)
        plain = functools.reduce(np.add, [p for p, _ in parts])
        return rounded(np.where(np.isfinite(top), top, plain), rest, unit)


ORDERS: dict[str, Callable[[Terms, Unit], Array]] = {
    "chain": chain,
    "reversed": reverse,
    "pairwise": pairwise,
    "blocked8": functools.partial(blocked, width=8),
    "blocked32": functools.partial(blocked, width=32),
    "blocked128": functools.partial(blocked, width=128),
    "fma": fma,
    "kahan": kahan,
    "fused": fused,
    "split4": functools.partial(split, lanes=4),
    "simd8": functools.partial(simd, lanes=8),
    "simd16": functools.partial(simd, lanes=16),
}
"""Name → sum of terms in a unit, float64 on the unit's grid."""


def sum_terms(terms: Terms | Array, unit: Unit, order: str = "chain") -> Array:
    """Σ terms (an array has them along its first axis); 0 where there are none."""
    if not isinstance(terms, Terms):
        empty, terms = np.zeros(terms.shape[1:]), Terms.of(terms)
        if terms.count == 0:
            return empty
    return ORDERS[order](terms, unit)


def sum_products(a: Array, b: Array, unit: Unit, order: str = "chain", first: Array | None = None) -> Array:
    """a (…, M, K) times b (…, K, N), operands as the unit has converted them: (…, M, N), float64 on the unit's grid.

    first: a term before all others, such as a bias, that broadcasts to the result.
    """
    terms = Terms.of_product(a, b)
    shape = (*np.broadcast_shapes(a.shape[:-2], b.shape[:-2]), a.shape[-2], b.shape[-1])
    if first is not None:
        terms = terms.preceded(np.broadcast_to(first, shape))
    return sum_terms(terms, unit, order) if terms.count else np.zeros(shape)
