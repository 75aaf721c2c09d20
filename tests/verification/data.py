"""Recipes of test data: what a tensor holds, so that one property of a device shows. Everything follows from a generator.

`fill(recipe, shape, dtype, rng, terms, factors)` gives an array in the tensor type `dtype`. Recipes for reals:
normal — standard normal, all bits of the type used; grid — the same on the grid of bfloat16, so that no unit converts it;
positive — uniform in [1/2, 3/2); lattice — integers, with Σ|products| ≤ 2^precision for `terms` products of `factors` factors,
so that sums are exact in any order; wide — normal times powers of two from 2^-20 to 2^20; index — distinct values in random
order; special — normal with NaN, infinities, zeros of both signs, subnormal and the largest numbers among them; subnormal —
normal, three of four times a sixteenth of the smallest normal number; ties — odd multiples of 1/2.
Integers: values of the whole type within 62 bits; with "lattice" small ones, with "index" distinct ones.
"""

from __future__ import annotations

from collections.abc import Sequence

import ml_dtypes
import numpy as np

from reference import dtypes
from reference.node import Array

RECIPES = ("normal", "grid", "positive", "lattice", "wide", "index", "special", "subnormal", "ties")


def fill(recipe: str, shape: Sequence[int], dtype: str, rng: np.random.Generator, terms: int = 1, factors: int = 1) -> Array:
    """An array of the recipe. Raises KeyError for an unknown one."""
    if recipe not in RECIPES:
        raise KeyError(recipe)
    if dtype == "bool":
        return rng.integers(0, 2, shape).astype(bool)
    if not dtypes.is_float(dtype):
        return _integers(recipe, shape, dtype, rng)
    return dtypes.cast(_reals(recipe, shape, dtype, rng, terms, factors), dtype)


def _integers(recipe: str, shape: Sequence[int], dtype: str, rng: np.random.Generator) -> Array:
    held = dtypes.numpy_dtype(dtype)
    info = ml_dtypes.iinfo(held)
    if recipe == "lattice":
        return rng.integers(max(info.min, -9), min(info.max, 9), shape, endpoint=True).astype(held)
    if recipe == "index":
        return rng.permutation(int(np.prod(shape))).reshape(shape).astype(held)
    return rng.integers(max(info.min, -(2**61)), min(info.max, 2**61), shape, endpoint=True).astype(held)


def _reals(recipe: str, shape: Sequence[int], dtype: str, rng: np.random.Generator, terms: int, factors: int) -> Array:
    form = dtypes.FLOATS[dtype]
    x = rng.standard_normal(shape)
    if recipe == "grid":
        return dtypes.round_to(x, "bfloat16")
    if recipe == "positive":
        return rng.uniform(0.5, 1.5, shape)
    if recipe == "lattice":
        return _lattice(shape, 2.0**form.precision / (terms + 1), factors, rng)
    if recipe == "wide":
        return x * 2.0 ** rng.integers(-20, 21, shape) if form.emin < -100 else x * 2.0 ** rng.integers(-5, 6, shape)
    if recipe == "index":
        return rng.permutation(np.arange(1.0, x.size + 1)).reshape(shape)
    if recipe == "special":
        return _special(x, form, rng)
    if recipe == "subnormal":
        return np.where(rng.random(shape) < 0.25, x, x * form.smallest_normal / 16)
    if recipe == "ties":
        return np.rint(x * 24) + 0.5
    return x


def _lattice(shape: Sequence[int], room: float, factors: int, rng: np.random.Generator) -> Array:
    """Integers of at most 7 bits; where not even ±1 leaves room for all terms, most of them are 0."""
    largest = int(min(127.0, room ** (1 / factors)))
    if largest >= 1:
        return rng.integers(-largest, largest, shape, endpoint=True).astype(np.float64)
    density = (0.5 * room) ** (1 / factors)
    return rng.choice([-1.0, 1.0], shape) * (rng.random(shape) < density)


def _special(x: Array, form: dtypes.FloatFormat, rng: np.random.Generator) -> Array:
    values = [np.nan, np.inf, -np.inf, 0.0, -0.0, form.smallest_subnormal, -form.smallest_normal / 2, form.largest]
    x = x.copy()
    chosen = rng.permutation(x.size)[: max(len(values), x.size // 25)]
    x.flat[chosen] = np.resize(values, len(chosen))
    return x
