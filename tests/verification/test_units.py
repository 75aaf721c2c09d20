"""The emulated units compute what they say, bit by bit: against rational numbers, NumPy's float32, and each other."""

from __future__ import annotations

import dataclasses
import math
from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest

from tests.verification.orders import ORDERS, Terms, sum_products, sum_terms
from tests.verification.units import UNITS, Fused, Unit, add, convert, divide, flushed, multiply, round_to, square_root, store

ROUNDINGS = ("nearest", "toward_zero", "down", "up")
FP32 = UNITS["fp32"]


def rational(x, precision, rounding, emin):
    """The rational x rounded to `precision` bits, in integers."""
    if x == 0:
        return Fraction(0)
    exponent = abs(x.numerator).bit_length() - x.denominator.bit_length()
    exponent -= abs(x) < Fraction(2) ** exponent
    step = Fraction(2) ** (max(exponent, emin) - precision + 1)
    steps = x / step
    low = math.floor(steps)
    if rounding == "nearest":
        return round(steps) * step
    up = {"toward_zero": x < 0, "down": False, "up": True}[rounding]
    return (low if low == steps or not up else low + 1) * step


def mixed(rng, n, bits=53, spread=8):
    """Numbers of `bits` bits or fewer, of both signs and many exponents."""
    lengths = rng.integers(1, bits + 1, n)
    whole = np.floor(rng.uniform(0, 1, n) * 2.0**lengths) + 1
    return np.ldexp(whole * rng.choice([-1, 1], n), rng.integers(-spread, spread, n))


@pytest.mark.parametrize("rounding", ROUNDINGS)
@pytest.mark.parametrize(("precision", "emin"), [(24, -126), (11, -14), (8, -126), (23, -126), (3, -4)])
def test_rounding_equals_that_of_rational_numbers(rounding, precision, emin):
    rng = np.random.default_rng(precision)
    ties = np.ldexp((2 * rng.integers(2 ** (precision - 1), 2**precision, 500) + 1.0), -precision)
    small = np.ldexp(mixed(rng, 500, precision + 3), emin - precision - 4)
    x = np.concatenate([np.ldexp(mixed(rng, 1000), -40), ties, -ties, small, [0.0, 1.0, 1 - 2.0**-53, 1 + 2.0**-52]])
    x = x[np.abs(x) < 2.0 ** (-emin)]
    expected = [float(rational(Fraction(v), precision, rounding, emin)) for v in x]
    np.testing.assert_array_equal(round_to(x, precision, rounding, emin), expected)


@pytest.mark.parametrize("dtype", [np.float32, np.float16, ml_dtypes.bfloat16])
def test_rounding_to_nearest_equals_the_types_of_numpy(dtype):
    info = ml_dtypes.finfo(dtype)
    rng = np.random.default_rng(3)
    x = rng.normal(size=5000) * 2.0 ** rng.integers(info.minexp - 30, info.maxexp + 3, 5000)
    with np.errstate(over="ignore"):
        x = x.astype(np.float32).astype(np.float64)  # ml_dtypes rounds float64 by way of float32
    x = np.concatenate([x, [0.0, -0.0, np.inf, -np.inf, np.nan, float(info.max)]])
    with np.errstate(all="ignore"):
        expected = x.astype(dtype).astype(np.float64)
    got = round_to(x, info.nmant + 1, "nearest", info.minexp)
    np.testing.assert_array_equal(got, expected)
    np.testing.assert_array_equal(np.signbit(got), np.signbit(expected))


def test_directed_rounding_beyond_the_largest_number_goes_to_it_or_to_infinity():
    x, largest = np.array([1e39, -1e39]), float(np.finfo(np.float32).max)
    for rounding, expected in {
        "nearest": [np.inf, -np.inf],
        "toward_zero": [largest, -largest],
        "down": [largest, -np.inf],
        "up": [np.inf, -largest],
    }.items():
        np.testing.assert_array_equal(round_to(x, 24, rounding, -126), expected)


@pytest.mark.parametrize("rounding", ROUNDINGS)
@pytest.mark.parametrize("precision", [53, 24, 11, 7])
@pytest.mark.parametrize("operation", ["add", "multiply", "divide"])
def test_operations_are_the_exact_result_rounded_once(operation, precision, rounding):
    unit = Unit(precision=precision, rounding=rounding, emin=-1022)
    rng = np.random.default_rng(precision)
    a, b = mixed(rng, 1500, min(precision, 24), 20), mixed(rng, 1500, min(precision, 24), 20)
    a[:200] = b[:200] * 2.0 ** rng.integers(-precision - 2, precision + 2, 200)  # half-ways of sums, whole quotients
    a[200:300] = np.ldexp(1.0, rng.integers(0, 20, 100))  # powers of two, less a little
    b[200:300] = -np.ldexp(mixed(rng, 100, 3, 1), -precision - 4)
    emulated = {"add": add, "multiply": multiply, "divide": divide}[operation](a, b, unit)
    exact = {"add": Fraction.__add__, "multiply": Fraction.__mul__, "divide": Fraction.__truediv__}[operation]
    expected = [float(rational(exact(Fraction(x), Fraction(y)), precision, rounding, -1022)) for x, y in zip(a, b, strict=True)]
    np.testing.assert_array_equal(emulated, expected)


@pytest.mark.parametrize("rounding", ROUNDINGS)
def test_square_roots_are_rounded_once(rounding):
    x = np.concatenate([np.random.default_rng(1).uniform(0, 4, 1000), np.arange(1, 50.0) ** 2])
    root = square_root(x, Unit(rounding=rounding)).astype(np.float32)
    neighbours = (np.nextafter(root, np.float32(0)), root, np.nextafter(root, np.float32(np.inf)))
    for value, *three in zip(x, *neighbours, strict=True):
        square, (below, got, above) = Fraction(value), (Fraction(float(v)) for v in three)
        if rounding == "nearest":
            assert ((below + got) / 2) ** 2 <= square <= ((got + above) / 2) ** 2
        elif rounding == "up":
            assert below**2 < square <= got**2
        else:
            assert got**2 <= square < above**2


def operands(k, m=9, n=11, seed=0, dtype=np.float32):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(m, k)).astype(dtype).astype(np.float64), rng.normal(size=(k, n)).astype(dtype).astype(np.float64)


@pytest.mark.parametrize("k", [1, 2, 37, 256])
@pytest.mark.parametrize(("unit", "dtype"), [("fp32", np.float32), ("fp16", np.float16), ("fp64", np.float64)])
def test_a_chain_equals_accumulation_in_numpy_bit_for_bit(unit, dtype, k):
    a, b = operands(k, dtype=dtype)
    total = a[:, 0, None].astype(dtype) * b[None, 0].astype(dtype)
    for i in range(1, k):
        total = total + a[:, i, None].astype(dtype) * b[None, i].astype(dtype)
    np.testing.assert_array_equal(sum_products(a, b, UNITS[unit], "chain").astype(dtype), total)


def test_a_fused_multiply_add_rounds_once_each_step():
    a, b = operands(40)
    got = sum_products(a, b, FP32, "fma")
    for i, j in ((0, 0), (3, 7), (8, 10)):
        total = Fraction(0)
        for x, y in zip(a[i], b[:, j], strict=True):
            total = rational(total + Fraction(x) * Fraction(y), 24, "nearest", -126)
        assert got[i, j] == float(total)


@pytest.mark.parametrize("rounding", ["nearest", "toward_zero", "down"])
def test_an_unlimited_fused_block_is_the_exact_sum_rounded(rounding):
    a, b = operands(48)
    got = sum_products(a, b, Unit(rounding=rounding, fused=Fused(None, 64)), "fused")
    for i, row in enumerate(a):
        for j, column in enumerate(b.T):
            exact = sum((Fraction(x) * Fraction(y) for x, y in zip(row, column, strict=True)), Fraction(0))
            assert got[i, j] == float(rational(exact, 24, rounding, -126))


def test_fused_blocks_truncate_below_the_largest_product():
    a, b = np.array([[1.0, 2.0**-10, -(2.0**-14), 1.5]]), np.ones((4, 1))
    assert sum_products(a, b, Unit(fused=Fused(10, 3)), "fused") == 2.5 + 2.0**-10
    assert sum_products(a, b, Unit(fused=Fused(9, 3)), "fused") == 2.5
    assert sum_products(a, b, Unit(fused=Fused(14, 3)), "fused") == 2.5 + 2.0**-10 - 2.0**-14
    assert sum_products(a, b, Unit(fused=Fused(10, 4)), "fused") == 2.5 + 2.0**-10


@pytest.mark.parametrize("fraction", [13, 23, 25])
def test_fused_blocks_lie_within_their_bound(fraction):
    a, b = np.abs(operands(512)[0]), np.abs(operands(512)[1])
    width = 8
    error = np.abs(sum_products(a, b, Unit(fused=Fused(fraction, width)), "fused") - a @ b)
    bound = 512 / width * ((width + 1) * 2.0**-fraction + 2.0**-24) * (a @ b)
    assert np.all(error <= bound)
    assert error.max() > 2.0**-fraction


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("k", [1, 2, 3, 7, 8, 9, 31, 33, 130])
def test_every_order_adds_every_term_once(order, k):
    rng = np.random.default_rng(k)
    a, b = rng.integers(-50, 50, (4, k)).astype(np.float64), rng.integers(-50, 50, (k, 5)).astype(np.float64)
    np.testing.assert_array_equal(sum_products(a, b, FP32, order), a @ b)
    np.testing.assert_array_equal(sum_products(a, b, FP32, order, first=np.ones((4, 5))), a @ b + 1)
    np.testing.assert_array_equal(sum_terms(b, FP32, order), b.sum(0))
    batched = np.stack([a, 2 * a, -a])
    np.testing.assert_array_equal(sum_products(batched, b, FP32, order), batched @ b)


def test_compensated_and_pairwise_sums_are_better_than_a_chain():
    a, b = operands(1024, 20, 20)
    errors = {order: sum_products(a, b, FP32, order) - a @ b for order in ("chain", "pairwise", "kahan")}
    rms = {order: float(np.sqrt(np.mean(error**2))) for order, error in errors.items()}
    assert rms["kahan"] < rms["pairwise"] < rms["chain"] / 3


def test_a_narrower_accumulator_doubles_the_error_with_each_bit():
    a, b = operands(256, 32, 32)
    rms = [float(np.sqrt(np.mean((sum_products(a, b, Unit(precision=p), "chain") - a @ b) ** 2))) for p in range(24, 15, -1)]
    ratios = np.array(rms[1:]) / rms[:-1]
    assert np.all((ratios > 1.8) & (ratios < 2.2))


def test_an_accumulator_of_sixteen_bits_stagnates_and_overflows():
    unit = UNITS["fp16"]
    ones = np.ones((4096, 1))
    assert sum_terms(ones, unit) == 2048
    assert np.isinf(sum_terms(ones * 1000, unit))
    assert sum_terms(ones, dataclasses.replace(unit, rounding="up")) > 4096


def test_flushing_concerns_the_stage_it_names():
    x = np.array([1e-40, -1e-40, 1.0, 0.0])
    for stage, named in (("inputs", "inputs"), ("outputs", "outputs"), ("inputs", "all"), ("outputs", "all")):
        np.testing.assert_array_equal(flushed(x, Unit(flushes=named), stage), [0, 0, 1, 0])
    np.testing.assert_array_equal(flushed(x, Unit(flushes="inputs"), "outputs"), x)
    np.testing.assert_array_equal(flushed(x, Unit(flushes="partial"), "outputs"), [1e-40, 0, 1, 0])
    assert np.signbit(flushed(x, Unit(flushes="all"), "inputs")[1])


@pytest.mark.parametrize(("unit", "dtype"), [("fp16-in", np.float16), ("bf16-in", ml_dtypes.bfloat16)])
def test_operands_are_converted_like_a_cast(unit, dtype):
    x = np.random.default_rng(5).normal(size=1000).astype(np.float32)
    np.testing.assert_array_equal(convert(x.astype(np.float64), UNITS[unit]), x.astype(dtype).astype(np.float64))
    assert store(x.astype(np.float64), "float32", FP32).dtype == np.float32


def test_exact_products_that_no_float64_holds_are_refused():
    a, b = operands(4, dtype=np.float64)
    with pytest.raises(ValueError, match="26 bits"):
        sum_products(a, b, UNITS["fp64"], "fma")
    assert Terms.of_product(a, b).count == 4
