"""Sums that may overflow on the way: which infinities are right, and that nothing else is."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from reference.verify import Profile, verify
from tests.verification.single_nodes import model


def status(operator, inputs, got, version=13, **attributes):
    made, feeds = model(operator, inputs, ("float16",), version, **attributes)
    return verify(made, feeds, {"y0": np.asarray(got, np.float16)})[0].status


def row(*values):
    return np.array([values], np.float16)


ONES = np.ones((4, 1), np.float16)


@pytest.mark.parametrize(
    ("values", "right"),
    [
        ((30000, 30000, 30000, 30000), [np.inf]),  # the exact sum overflows
        ((-30000, -30000, -30000, -30000), [-np.inf]),
        ((40000, 30000, -20000, 10), [np.inf, 50016.0]),  # beyond the range in some orders
        ((-40000, -30000, 20000, 10), [-np.inf, -50016.0]),
        ((60000, 60000, -60000, -60000), [np.inf, -np.inf, np.nan, 0.0, 1.0]),  # to both sides: left open
        ((30000, 20000, -10000, 10), [40000.0]),  # never
    ],
)
def test_infinities_are_right_at_the_end_where_terms_add_up_to_them(values, right):
    x = row(*values)
    for got in (np.inf, -np.inf, np.nan, 0.0):
        expected = any(np.array_equal(got, r, equal_nan=True) for r in right)
        assert (status("MatMul", [x, ONES], [[got]]) != "mismatch") == expected, got
    for got in right:
        assert status("MatMul", [x, ONES], [[got]]) != "mismatch"


OVERFLOWING = {
    "Conv": lambda x: ([x.reshape(1, 1, 2, 2), np.ones((1, 1, 2, 2), np.float16)], {}, (1, 1, 1, 1)),
    "ReduceSum": lambda x: ([x, np.array([1])], {}, (1, 1)),
    "Gemm": lambda x: ([x, ONES], {}, (1, 1)),
    "Einsum": lambda x: ([x, ONES], {"equation": "ij,jk->ik"}, (1, 1)),
    "ReduceMean": lambda x: ([x, np.array([1])], {}, (1, 1)),
    "GlobalAveragePool": lambda x: ([x.reshape(1, 1, 2, 2)], {}, (1, 1, 1, 1)),
}


@pytest.mark.parametrize("operator", OVERFLOWING)
def test_every_order_of_an_overflowing_sum_is_right_and_zero_is_not(operator):
    x = row(-40000, -30000, 20000, 10)
    inputs, attributes, shape = OVERFLOWING[operator](x)
    mean = "Mean" in operator or "Average" in operator
    seen = set()
    with np.errstate(over="ignore"):
        for order in itertools.permutations(range(4)):
            total = np.float16(0)
            for i in order:
                total = np.float16(total + x[0, i])
            seen.add(float(total / np.float16(4) if mean else total))
    assert -np.inf in seen
    assert len(seen) > 1
    version = 18 if operator == "ReduceMean" else 13
    for got in seen:
        assert status(operator, inputs, np.full(shape, got), version, **attributes) != "mismatch", got
    for got in (0.0, np.inf, np.nan):
        assert status(operator, inputs, np.full(shape, got), version, **attributes) == "mismatch", got


def test_gemm_may_overflow_before_it_is_scaled():
    x = row(40000, 30000, 10, 10)
    for got in (np.inf, 7000.0):
        assert status("Gemm", [x, ONES], [[got]], alpha=0.1) != "mismatch", got
    assert status("Gemm", [x, ONES], [[-np.inf]], alpha=0.1) == "mismatch"


def test_a_sum_of_squares_is_never_infinite_on_the_other_side():
    x = row(255, 20, 1, 0)
    for got in (np.inf, 65440.0):
        assert status("ReduceSumSquare", [x, np.array([1])], [[got]], 18) != "mismatch", got
    for got in (-np.inf, 0.0):
        assert status("ReduceSumSquare", [x, np.array([1])], [[got]], 18) == "mismatch", got


def test_infinity_stored_as_zero_is_found_in_finite_data_too():
    x, w = np.full((1, 8, 8, 8), 300, np.float16), np.full((8, 8, 2, 2), -300, np.float16)
    assert status("Conv", [x, w], np.full((1, 8, 7, 7), -np.inf)) == "pass"
    assert status("Conv", [x, w], np.zeros((1, 8, 7, 7))) == "mismatch"


def test_a_saturating_unit_may_return_any_partial_sum():
    x = row(40000, 30000, -20000, 10)
    made, feeds = model("MatMul", [x, ONES], ("float16",), 13)
    saturating = Profile.of({"float16": {"rung": "fp16", "saturates": True}})
    got = {"y0": np.array([[45504.0]], np.float16)}
    assert verify(made, feeds, got, saturating)[0].status != "mismatch"


@pytest.mark.parametrize("profile", [{"rung": "fp16", "saturates": True}, "fp16-faithful"])
def test_a_unit_that_saturates_on_the_way_returns_what_is_left_of_the_largest_number(profile):
    x = row(40000, 30000, -20000, 10)
    made, feeds = model("MatMul", [x, ONES], ("float16",), 13)
    seen = set()
    for order in itertools.permutations(range(4)):
        total = np.float16(0)
        for i in order:
            with np.errstate(over="ignore"):
                total = np.clip(np.float16(total + x[0, i]), np.float16(-65504), np.float16(65504))
        seen.add(float(total))
    assert len(seen) > 1
    held = Profile.of({"float16": profile})
    for got in seen:
        assert verify(made, feeds, {"y0": np.array([[got]], np.float16)}, held)[0].status != "mismatch", got
    for got in (0.0, -np.inf, np.nan, -65504.0):
        assert verify(made, feeds, {"y0": np.array([[got]], np.float16)}, held)[0].status == "mismatch", got


def test_a_wrong_shape_is_diagnosed_also_where_sums_overflow():
    x = np.full((1, 1, 6, 5), 60000, np.float16)
    made, feeds = model("AveragePool", [x], ("float16",), 11, kernel_shape=[3, 2], pads=[1, 0, 1, 1], strides=[2, 1])
    found = verify(made, feeds, {"y0": np.full((1, 1, 5, 3), 60000, np.float16)})[0]
    assert (found.status, found.tier) == ("mismatch", "shape")
