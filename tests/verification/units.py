"""Arithmetic units as accelerators have them, emulated bit by bit: what verification is proven on.

A `Unit` says how numbers are rounded; `add`, `subtract`, `multiply`, `divide`, `square_root` and `function` compute in it,
`convert` brings a tensor into it and `store` brings a result into its tensor's type. How sums are made of them stands in
`orders`. Numbers travel as float64, which holds every format of at most 53 bits. Exact results of operations are first
rounded to odd in float64; rounding that to p ≤ 51 bits in any direction equals rounding the exact result (Boldo and
Melquiond, Emulation of FMA and correctly rounded sums, IEEE Transactions on Computers 57, 2008).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import numpy as np

from reference import dtypes
from reference.dtypes import FLOATS
from reference.exact import two_product, two_sum
from reference.node import Array

CARRIER = 53
"""Bits of float64."""


@dataclasses.dataclass(frozen=True)
class Fused:
    """A block of a tensor core: `width` products are aligned to the largest of them, truncated to `fraction` bits after its
    leading one (None: not at all), and added exactly; accumulator and block then meet in one rounded addition. With
    `accumulator` that is aligned and truncated among the products."""

    fraction: int | None
    width: int
    accumulator: bool = False


@dataclasses.dataclass(frozen=True)
class Unit:
    """How a unit rounds.

    inputs: format that operands are converted to, None: none. input_rounding, rounding: "nearest" (ties to even),
    "toward_zero", "down" or "up". precision, emin: significant bits and exponent of the smallest normal number of the
    accumulator, whose largest exponent is 1 − emin. products: "exact" or "rounded" before they are added. flushes: "none",
    "all" (operands and results), "inputs", "outputs", or "partial": results of every second element of the last axis only.
    fused: the block of `orders.fused`. output: format that results pass through on their way to the tensor, None: none.
    """

    inputs: str | None = None
    input_rounding: str = "nearest"
    precision: int = 24
    rounding: str = "nearest"
    products: str = "rounded"
    flushes: str = "none"
    fused: Fused | None = None
    output: str | None = None
    emin: int = -126


UNITS: dict[str, Unit] = {
    "fp64": Unit(precision=53, emin=-1022),
    "fp32": Unit(),
    "fp32-faithful": Unit(rounding="toward_zero", flushes="all"),
    "tf32": Unit(inputs="tf32", products="exact"),
    "fp16-in": Unit(inputs="float16", products="exact"),
    "bf16-in": Unit(inputs="bfloat16", products="exact"),
    "fp16": Unit(inputs="float16", precision=11, emin=-14),
    "bf16": Unit(inputs="bfloat16", precision=8),
}
"""Unit that a device has which declares this rung."""


def round_to(x: Array, precision: int, rounding: str = "nearest", emin: int = -1022) -> Array:
    """The float64 x rounded to `precision` significant bits, subnormal below 2^emin; beyond the largest number of that
    exponent range infinity, or the largest number where it rounds towards that."""
    x = np.ascontiguousarray(x, np.float64)
    y = _cut(x, CARRIER - precision, rounding) if precision < CARRIER else x
    small = (np.abs(x) < 2.0**emin) & (x != 0)
    if emin > -1022 and small.any():
        step = 2.0 ** (emin - precision + 1)
        whole = {"nearest": np.rint, "toward_zero": np.trunc, "down": np.floor, "up": np.ceil}[rounding]
        y = np.where(small, np.copysign(whole(x / step) * step, x), y)
    largest = (2 - 2.0 ** (1 - precision)) * 2.0 ** (1 - emin) if emin > -1022 else np.inf
    beyond = (np.abs(y) > largest) & np.isfinite(x)
    if beyond.any():
        clamps = {"nearest": False, "toward_zero": True, "down": x > 0, "up": x < 0}[rounding]
        y = np.where(beyond, np.copysign(np.where(clamps, largest, np.inf), x), y)
    return y


def _cut(x: Array, drop: int, rounding: str) -> Array:
    """x without its `drop` last bits. The bits of a float64 are an integer whose order is that of its magnitude, so a carry
    out of the significand lands in the exponent, where it belongs."""
    bits = x.view(np.int64)
    mask = np.int64((1 << drop) - 1)
    if rounding == "nearest":
        moved = bits + (np.int64((1 << (drop - 1)) - 1) + ((bits >> drop) & 1))
    elif rounding == "toward_zero":
        moved = bits
    else:
        outward = x < 0 if rounding == "down" else x > 0
        moved = np.where(outward, bits + mask, bits)
    return np.where(np.isfinite(x), (moved & ~mask).view(np.float64), x)


def rounded(high: Array, low: Array, unit: Unit) -> Array:
    """high + low, of which high is the nearest float64, as a result of the unit."""
    low = np.where(np.isfinite(high), low, 0.0)
    if unit.precision == CARRIER:
        past = {"nearest": low != low, "toward_zero": np.sign(low) * np.sign(high) < 0, "down": low < 0, "up": low > 0}[
            unit.rounding
        ]
        y = np.where(past, np.nextafter(high, np.copysign(np.inf, low)), high)
    else:
        high = np.ascontiguousarray(high)
        even = (high.view(np.int64) & 1) == 0
        odd = np.where((low != 0) & even, np.nextafter(high, np.copysign(np.inf, low)), high)
        y = round_to(odd, unit.precision, unit.rounding, unit.emin)
    return flushed(y, unit, "outputs")


def flushed(x: Array, unit: Unit, stage: str) -> Array:
    """x with subnormal numbers replaced by zeros, if the unit does so at this stage, "inputs" or "outputs"."""
    partial = unit.flushes == "partial" and stage == "outputs"
    if not partial and unit.flushes not in ("all", stage):
        return x
    small = (np.abs(x) < 2.0**unit.emin) & (x != 0)
    if partial and x.ndim:
        small = small & (np.arange(x.shape[-1]) % 2 == 1)
    return np.where(small, np.copysign(0.0, x), x)


def convert(x: Array, unit: Unit) -> Array:
    """A tensor (float64) as the unit reads it."""
    if unit.inputs is not None:
        form = FLOATS[unit.inputs]
        x = round_to(x, form.precision, unit.input_rounding, form.emin)
    return flushed(x, unit, "inputs")


def store(y: Array, dtype: str, unit: Unit) -> Array:
    """A result of the unit (float64) in a floating-point tensor of `dtype`, rounded to nearest."""
    if unit.output is not None:
        y = dtypes.round_to(y, unit.output)
    return dtypes.cast(flushed(y, unit, "outputs"), dtype)


def add(a: Array, b: Array, unit: Unit) -> Array:
    """a + b."""
    with np.errstate(all="ignore"):
        return rounded(*two_sum(*np.broadcast_arrays(a, b)), unit)


def subtract(a: Array, b: Array, unit: Unit) -> Array:
    """a − b."""
    return add(a, -np.asarray(b), unit)


def multiply(a: Array, b: Array, unit: Unit) -> Array:
    """a·b."""
    with np.errstate(all="ignore"):
        return rounded(*two_product(*np.broadcast_arrays(a, b)), unit)


def divide(a: Array, b: Array, unit: Unit) -> Array:
    """a/b, by the sign of the remainder."""
    with np.errstate(all="ignore"):
        a, b = np.broadcast_arrays(a, b)
        quotient = np.asarray(a / b)
        high, low = two_product(quotient, b)
        rest = (a - high) - low
        direction = np.where(np.isfinite(quotient) & np.isfinite(b), np.sign(rest) * np.sign(b), 0.0)
        return rounded(quotient, direction * np.spacing(np.abs(quotient)) / 4, unit)


def square_root(a: Array, unit: Unit) -> Array:
    """√a, by the sign of the remainder."""
    with np.errstate(all="ignore"):
        root = np.sqrt(np.asarray(a, np.float64))
        high, low = two_product(root, root)
        rest = np.where(np.isfinite(root), (a - high) - low, 0.0)
        return rounded(root, np.sign(rest) * np.spacing(np.abs(root)) / 4, unit)


def function(f: Callable[[Array], Array], x: Array, unit: Unit, ulps: float = 0.0, seed: int = 0) -> Array:
    """f(x), off by at most `ulps` of the unit (a library's error, uniform by seed) before it is rounded. Results that the unit
    can hold are right, as exp(0) = 1 is in every library."""
    with np.errstate(all="ignore"):
        y = np.asarray(f(x), np.float64)
        right = rounded(y, np.zeros(()), unit)
        if not ulps:
            return right
        step = np.ldexp(1.0, np.maximum(np.frexp(y)[1], unit.emin + 1) - unit.precision)
        off = y + np.random.default_rng(seed).uniform(-ulps, ulps, y.shape) * step
        return np.where(np.isfinite(y) & (y != right), rounded(off, np.zeros(()), unit), right)
