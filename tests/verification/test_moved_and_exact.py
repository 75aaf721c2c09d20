"""Results that allow no error: moved data with its zeros, means over powers of two, the linear side of activations; and single
far elements among very many right ones."""

from __future__ import annotations

import numpy as np
import pytest

from reference.verify import verify
from tests.verification.single_nodes import model

ZEROS = np.array([[[[-0.0, 1.0], [2.0, -0.0]]]], np.float32)


def verdict(operator, inputs, got, version=18, *, random=False, **attributes):
    made, feeds = model(operator, inputs, ("float32",), version, **attributes)
    return verify(made, feeds, {"y0": np.asarray(got, np.float32)}, random=random)[0]


MOVED = {
    "ScatterElements": ([np.ones((1, 1, 2, 2), np.float32), np.zeros((1, 1, 2, 2), np.int64), ZEROS], {"axis": 0}),
    "ScatterND": ([np.ones((1, 1, 2, 2), np.float32), np.zeros((1, 1), np.int64), ZEROS], {}),
    "Resize": ([ZEROS, None, np.ones(4, np.float32)], {"mode": "nearest"}),
}


@pytest.mark.parametrize("operator", MOVED)
def test_moved_zeros_keep_their_sign(operator):
    inputs, attributes = MOVED[operator]
    assert verdict(operator, inputs, ZEROS, **attributes).status == "pass"
    lost = verdict(operator, inputs, ZEROS + np.float32(0), **attributes)
    assert (lost.status, lost.tier) == ("mismatch", "special")
    assert lost.diagnosis[0].cause == "zero-sign-lost"


@pytest.mark.parametrize("operator", MOVED)
def test_moved_subnormals_stay(operator):
    inputs, attributes = MOVED[operator]
    small = np.where(ZEROS == 1, np.float32(1e-40), ZEROS)
    inputs = [small if x is ZEROS else x for x in inputs]
    assert verdict(operator, inputs, small, **attributes).status == "pass"
    assert verdict(operator, inputs, np.where(small == np.float32(1e-40), 0, small), **attributes).status == "mismatch"


def test_a_reduction_need_not_keep_the_sign_of_zero():
    inputs = [np.zeros((1, 1, 2, 2), np.float32), np.zeros((1, 1, 2, 2), np.int64), ZEROS]
    assert verdict("ScatterElements", inputs, ZEROS + np.float32(0), axis=0, reduction="add").status == "pass"


@pytest.mark.parametrize("operator", ["ReduceMean", "GlobalAveragePool", "AveragePool"])
def test_means_of_integers_over_a_power_of_two_are_exact(operator):
    x = np.arange(32, dtype=np.float32).reshape(1, 2, 4, 4)
    more = {"ReduceMean": [np.array([2, 3])]}.get(operator, [])
    attributes = {"kernel_shape": [4, 4]} if operator == "AveragePool" else {}
    right = np.array([7.5, 23.5], np.float32).reshape(1, 2, 1, 1)
    assert verdict(operator, [x, *more], right, **attributes).status == "pass"
    assert verdict(operator, [x, *more], np.nextafter(right, np.float32(99)), **attributes).status == "mismatch"


def test_means_over_other_numbers_may_round_every_term():
    x = np.arange(1, 99, dtype=np.float32).reshape(2, 49)
    by_factor = np.cumsum(x * np.float32(1 / 49), 1, dtype=np.float32)[:, -1:]
    assert np.any(by_factor != x.mean(1, keepdims=True))
    assert verdict("ReduceMean", [x, np.array([1])], by_factor).status == "pass"


def test_windows_in_the_padding_are_means_of_other_numbers():
    x = np.arange(1, 17, dtype=np.float32).reshape(1, 1, 4, 4)
    got = verdict("AveragePool", [x], [[[[14 / 4]]]], kernel_shape=[2, 2], pads=[0, 0, 0, 0], strides=[4, 4])
    assert got.status == "pass"
    made = {"kernel_shape": [4, 4], "pads": [1, 1, 0, 0], "strides": [4, 4]}
    third = np.float32(1 / 9)
    by_factor = (x[0, 0, :3, :3] * third).sum(dtype=np.float32)
    assert verdict("AveragePool", [x], [[[[by_factor]]]], **made).status == "pass"


@pytest.mark.parametrize("operator", ["LeakyRelu", "PRelu"])
def test_the_linear_side_of_an_activation_is_the_input(operator):
    x = np.array([-2.0, 0.0, 1.5, np.finfo(np.float32).max], np.float32)
    inputs = [x] if operator == "LeakyRelu" else [x, np.array([0.01], np.float32)]
    right = np.where(x < 0, x * np.float32(0.01), x)
    assert verdict(operator, inputs, right, 16).status == "pass"
    for i, wrong in ((2, np.nextafter(np.float32(1.5), np.float32(2))), (3, np.float32(np.inf))):
        got = right.copy()
        got[i] = wrong
        assert verdict(operator, inputs, got, 16).status == "mismatch"


def test_a_far_element_among_very_many_is_found_and_not_excused():
    rng = np.random.default_rng(5)
    a, b = (rng.normal(size=(128, 128)).astype(np.float32) for _ in range(2))
    got = a @ b
    got[96, 57] += 1
    found = verdict("MatMul", [a, b], got, random=True)
    assert found.diagnosis[0].cause == "wild-element"
    assert "[96, 57]" in found.diagnosis[0].text
    assert "right for the arithmetic" not in found.message


def test_a_requantiser_that_nobody_declared_is_named():
    x = np.array([[10, 3]], np.uint8)
    one, zero = np.float32(1.0), np.uint8(0)
    inputs = [x, np.float32(0.15), zero, np.eye(2, dtype=np.uint8), one, zero, one, zero]  # 1.5 and 0.45
    made, feeds = model("QLinearMatMul", inputs, ("uint8",), 21)
    feeds["x1"] = np.float32(0.145)  # 1.45, which rounds to 1.5 and then to 2
    found = verify(made, feeds, {"y0": np.array([[2, 0]], np.uint8)})[0]
    assert (found.status, "fixed-double-rounding" in found.message) == ("pass_reduced", True)
