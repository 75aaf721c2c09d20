"""Arithmetic of the reference at its edges: wrapping, truncation, halves, signs, infinities, old broadcasting."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from reference.evaluator import apply

INF, NAN = np.inf, np.nan


def run(operator: str, *inputs: Any, version: int = 22, **attributes: Any) -> NDArray[Any]:
    """The only output of one operator; inputs that are lists become float64 arrays."""
    arrays = [x if x is None or isinstance(x, np.ndarray) else np.asarray(x, np.float64) for x in inputs]
    (result,) = apply(operator, version, arrays, attributes)
    return result


def check(got: NDArray[Any], expected: Any) -> None:
    """Equal bit for bit in value, NaN equal to NaN, signs of zeros included."""
    expected = np.asarray(expected)
    np.testing.assert_array_equal(got, expected)
    if got.dtype.kind == "f":
        zeros = expected == 0
        np.testing.assert_array_equal(np.signbit(got[zeros]), np.signbit(expected[zeros]))


@pytest.mark.parametrize(
    ("operator", "a", "b", "expected"),
    [
        ("Add", 127, 1, -128),
        ("Sub", -128, 1, 127),
        ("Mul", 64, 2, -128),
        ("Mul", -128, -1, -128),
        ("Div", 7, 2, 3),
        ("Div", -7, 2, -3),
        ("Div", 7, -2, -3),
        ("Div", -7, -2, 3),
        ("Div", -128, -1, -128),
        ("Div", -128, 1, -128),
        ("Div", -128, 127, -1),
        ("Div", 5, 0, 0),
        ("Mod", 7, 3, 1),
        ("Mod", -7, 3, 2),
        ("Mod", 7, -3, -2),
        ("Mod", -7, -3, -1),
        ("Mod", -128, -1, 0),
        ("Mod", 5, 0, 0),
    ],
)
def test_signed_bytes(operator: str, a: int, b: int, expected: int) -> None:
    got = run(operator, np.array([a], np.int8), np.array([b], np.int8))
    assert got.dtype == np.int8
    assert got.tolist() == [expected]


@pytest.mark.parametrize("dtype", [np.int8, np.int16, np.int32, np.int64])
def test_lowest_integer_has_no_negative(dtype: Any) -> None:
    lowest = np.array([np.iinfo(dtype).min], dtype)
    for operator in ("Neg", "Abs"):
        got = run(operator, lowest)
        assert got.dtype == dtype
        assert got == lowest, operator
    assert run("Div", lowest, np.array([-1], dtype)) == lowest
    assert run("Sign", lowest).tolist() == [-1]


def test_unsigned_arithmetic_wraps() -> None:
    top = np.array([2**64 - 1], np.uint64)
    assert run("Add", top, np.array([1], np.uint64)).tolist() == [0]
    assert run("Sub", np.array([0], np.uint8), np.array([1], np.uint8)).tolist() == [255]
    assert run("Div", top, np.array([2], np.uint64)).tolist() == [2**63 - 1]
    assert run("Div", np.array([250], np.uint8), np.array([255], np.uint8)).tolist() == [0]
    assert run("Mod", top, np.array([10], np.uint64)).tolist() == [5]


def test_integer_scalars_wrap_too() -> None:
    got = run("Add", np.array(127, np.int8), np.array(1, np.int8))
    assert got.shape == ()
    assert int(got) == -128


def test_real_division_follows_ieee() -> None:
    check(run("Div", [1, -1, 0, INF, 1], [0, 0, 0, INF, -INF]), [INF, -INF, NAN, NAN, -0.0])


def test_c_remainder_has_the_sign_of_the_dividend() -> None:
    check(run("Mod", [5.5, -5.5, 5.5, -6.0], [2, 2, -2, 3], fmod=1), [1.5, -1.5, 1.5, -0.0])
    check(run("Mod", [INF, 1, 2.5, NAN], [1, 0, INF, 1], fmod=1), [NAN, NAN, 2.5, NAN])
    signed = run("Mod", np.array([-7, 7, -128], np.int8), np.array([3, -3, -1], np.int8), fmod=1)
    assert signed.tolist() == [-1, 1, 0]


def test_integer_powers_are_exact_and_wrap() -> None:
    got = run("Pow", np.array([3, 2, -2, 2, 0, 7], np.int64), np.array([39, 63, 63, 64, 0, 0], np.int64))
    assert got.tolist() == [3**39, -(2**63), -(2**63), 0, 1, 1]
    got = run("Pow", np.array([46341, -3], np.int32), np.array([2, 3], np.uint8))
    assert got.dtype == np.int32
    assert got.tolist() == [46341**2 - 2**32, -27]


def test_negative_integer_powers_truncate() -> None:
    got = run("Pow", np.array([2, 1, -1, -1, -5, 0], np.int32), np.array([-1, -7, -2, -3, -1, -1], np.int32))
    assert got.tolist() == [0, 1, 1, -1, 0, 0]


def test_power_has_the_type_of_its_base() -> None:
    got = run("Pow", np.array([2, 10, -2], np.int64), [0.5, 2.0, 0.5])
    assert got.dtype == np.int64
    assert got.tolist() == [1, 100, 0]
    got = run("Pow", [1.5, -1.0, -0.0, 0.0], np.array([2, 2**53 + 1, 3, 0], np.int64))
    check(got, [2.25, -1.0, -0.0, 1.0])
    check(run("Pow", [-8.0, 4.0, 0.0, NAN, 1.0], [1 / 3, 0.5, -1.0, 0.0, NAN]), [NAN, 2.0, INF, 1.0, 1.0])


def test_sign_and_magnitude_of_reals() -> None:
    check(run("Abs", [-0.0, -INF, NAN]), [0.0, INF, NAN])
    check(run("Neg", [0.0, INF, NAN]), [-0.0, -INF, NAN])
    check(run("Sign", [-3.5, 2.0, INF, -INF, NAN]), [-1.0, 1.0, 1.0, -1.0, NAN])


def test_extremes_are_variadic_broadcast_and_keep_nan() -> None:
    check(run("Max", [1, NAN, -INF]), [1, NAN, -INF])
    check(run("Max", [[1], [5]], [2, NAN], [3]), [[3, NAN], [5, NAN]])
    check(run("Min", [NAN, 1, -INF], [0, NAN, NAN]), [NAN, NAN, NAN])
    got = run("Min", np.array([200, 3], np.uint8), np.array([100], np.uint8))
    assert got.dtype == np.uint8
    assert got.tolist() == [100, 3]


def test_sum_and_mean_are_variadic() -> None:
    check(run("Sum", [1, 2], [[10], [20]], [100]), [[111, 112], [121, 122]])
    check(run("Mean", [1, 2], [2, 4], [6, 0]), [3, 2])
    check(run("Sum", 1.0, 2.0, 4.0), 7.0)
    check(run("Mean", [1, INF]), [1, INF])


def test_clip_by_inputs() -> None:
    check(run("Clip", [-5, 0.5, 5, NAN, INF], np.array(-1.0), np.array(1.0)), [-1, 0.5, 1, NAN, 1])
    check(run("Clip", [-INF, 5], None, np.array(1.0)), [-INF, 1])
    check(run("Clip", [-INF, INF], np.array(0.0)), [0, INF])
    check(run("Clip", [0.0, 10.0], np.array(3.0), np.array(2.0)), [2, 2])
    got = run("Clip", np.array([-128, 7, 127], np.int8), np.array(-3, np.int8), np.array(3, np.int8), version=12)
    assert got.dtype == np.int8
    assert got.tolist() == [-3, 3, 3]


def test_clip_by_attributes() -> None:
    check(run("Clip", [-5, 0.5, NAN], version=6, min=-1.0, max=0.25), [-1, 0.25, NAN])
    limit = (2 - 2.0**-23) * 2.0**127
    check(run("Clip", [-INF, 1e300], version=6), [-limit, limit])
    check(run("Clip", [-INF, 1e300], version=1, max=1.0), [-INF, 1.0])


def test_rounding() -> None:
    check(run("Round", [0.5, 1.5, 2.5, -0.5, -1.5, -2.5, 2.4999, INF]), [0, 2, 2, -0.0, -2, -2, 2, INF])
    check(run("Floor", [-0.5, 0.5, -0.0, -INF, NAN]), [-1, 0, -0.0, -INF, NAN])
    check(run("Ceil", [-0.5, 0.5, 2.0, INF]), [-0.0, 1, 2, INF])


@pytest.mark.parametrize(
    ("operator", "x", "expected"),
    [
        ("Reciprocal", [4.0, 0.0, -0.0, -INF], [0.25, INF, -INF, -0.0]),
        ("Sqrt", [9.0, -0.0, -1.0, INF], [3.0, -0.0, NAN, INF]),
        ("Exp", [0.0, -INF, INF, NAN], [1.0, 0.0, INF, NAN]),
        ("Log", [1.0, 0.0, -1.0, INF], [0.0, -INF, NAN, INF]),
        ("Sin", [0.0, -0.0, INF], [0.0, -0.0, NAN]),
        ("Cos", [0.0, -INF], [1.0, NAN]),
        ("Tan", [-0.0, INF], [-0.0, NAN]),
        ("Asin", [-0.0, 1.5], [-0.0, NAN]),
        ("Acos", [1.0, -1.5], [0.0, NAN]),
        ("Atan", [-0.0, NAN], [-0.0, NAN]),
        ("Sinh", [-0.0, -INF], [-0.0, -INF]),
        ("Cosh", [0.0, -INF], [1.0, INF]),
        ("Asinh", [-0.0, -INF], [-0.0, -INF]),
        ("Acosh", [1.0, 0.5, INF], [0.0, NAN, INF]),
        ("Atanh", [1.0, -1.0, 2.0, -0.0], [INF, -INF, NAN, -0.0]),
        ("Erf", [-INF, INF, NAN, -0.0], [-1.0, 1.0, NAN, -0.0]),
    ],
)
def test_special_values(operator: str, x: list[float], expected: list[float]) -> None:
    check(run(operator, x), expected)


@pytest.mark.parametrize(
    ("operator", "x", "expected"),
    [
        ("Exp", 1.0, 2.718281828459045235),
        ("Log", 2.0, 0.693147180559945309),
        ("Sin", math.pi / 6, 0.5),
        ("Cos", math.pi / 3, 0.5),
        ("Tan", math.pi / 4, 1.0),
        ("Asin", 0.5, math.pi / 6),
        ("Acos", 0.5, math.pi / 3),
        ("Atan", 1.0, math.pi / 4),
        ("Sinh", math.log(2), 0.75),
        ("Cosh", math.log(2), 1.25),
        ("Asinh", 0.75, math.log(2)),
        ("Acosh", 1.25, math.log(2)),
        ("Atanh", 0.6, math.log(2)),
        ("Erf", 0.5, 0.520499877813046537682746653892),
        ("Sin", 1e22, -0.852200849767188801772),
        ("Cos", 1e22, 0.523214785395138945497),
    ],
)
def test_known_values(operator: str, x: float, expected: float) -> None:
    np.testing.assert_allclose(run(operator, [x]), [expected], rtol=1e-15)


def test_where_broadcasts_all_three() -> None:
    got = run("Where", np.array([[True], [False]]), np.array([1, 2], np.uint8), np.array([[9]], np.uint8))
    assert got.dtype == np.uint8
    assert got.tolist() == [[1, 2], [9, 9]]
    check(run("Where", np.array([True, False]), [NAN, NAN], [1, -0.0]), [NAN, -0.0])


def test_numpy_broadcasting_with_empty_dimensions() -> None:
    assert run("Add", np.zeros((2, 0, 3)), np.zeros((1, 3))).shape == (2, 0, 3)
    assert run("Div", np.zeros((0,), np.int32), np.array([0], np.int32)).shape == (0,)


def test_limited_broadcasting_of_the_first_opsets() -> None:
    a = np.zeros((2, 3, 4, 5))
    b = np.arange(12.0).reshape(3, 4)
    got = run("Add", a, b, version=6, broadcast=1, axis=1)
    check(got, np.broadcast_to(b[None, :, :, None], a.shape))
    check(run("Sub", a, np.arange(5.0), version=1, broadcast=1), np.broadcast_to(-np.arange(5.0) + 0.0, a.shape))
    check(run("Mul", a + 1, [[7]], version=6, broadcast=1), np.full(a.shape, 7.0))
    assert run("Pow", a, b, version=1, broadcast=1, axis=-3).shape == a.shape
    with pytest.raises(ValueError, match="broadcast is not set"):
        run("Add", a, b, version=6)
    with pytest.raises(ValueError, match="is no part of"):
        run("Add", a, b, version=6, broadcast=1)


def test_integers_to_whole_real_powers_are_exact() -> None:
    x = np.array([3, -3, 2, 7, -1, 9], np.int64)
    got = run("Pow", x, [39.0, 39.0, -1.0, 0.0, 1e300, 0.5])
    assert got.dtype == np.int64
    assert got.tolist() == [3**39, -(3**39), 0, 1, 1, 3]  # 3^39 has 62 bits
    assert run("Pow", np.array([2**53 + 1], np.int64), [1.0]).tolist() == [2**53 + 1]


def test_floor_remainder_of_reals() -> None:
    check(run("Mod", [5.5, -5.5, 5.5, -5.5], [2, 2, -2, -2], version=28), [1.5, 0.5, -0.5, -1.5])
    check(run("Mod", [0.0, -0.0, INF, 1.0, NAN], [-2, 2, 1, 0, 1], version=28), [-0.0, 0.0, NAN, NAN, NAN])
    check(run("Mod", [3.0, -3.0, 3.0, -3.0], [INF, INF, -INF, -INF], version=28), [3, INF, -INF, -3])


def test_erf_of_integers_before_13() -> None:
    got = run("Erf", np.array([-100, -1, 0, 1, 100], np.int8), version=9)
    assert got.dtype == np.int8
    assert got.tolist() == [0] * 5


def test_arguments_that_do_not_fit() -> None:
    with pytest.raises(ValueError, match=r"max has shape \(2,\), expected one element"):
        run("Clip", [1.0], None, [1.0, 2.0])
    with pytest.raises(ValueError, match="axis 4 of a tensor of rank 4"):
        run("Add", np.zeros((2, 3, 4, 5)), np.zeros((3, 4)), version=6, broadcast=1, axis=4)
    with pytest.raises(ValueError, match="is no part of"):
        run("Add", np.zeros(3), np.zeros((2, 3)), version=6, broadcast=1)
    with pytest.raises(ValueError, match="broadcast"):
        run("Add", np.zeros(3), np.zeros(2))


def test_legacy_attributes_say_nothing() -> None:
    check(run("Add", [1.0], [2.0], version=1, consumed_inputs=[0, 0]), [3])
    check(run("Relu", [-1.0], version=1, consumed_inputs=[0]), [0])
