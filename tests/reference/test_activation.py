"""Activations and softmax of the reference: exact values, both tails, NaN and infinities, old and new axes."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from reference.evaluator import apply

INF, NAN = np.inf, np.nan
LN2, LN3 = math.log(2), math.log(3)
SELU_ALPHA, SELU_GAMMA = float(np.float32(1.6732632423543772)), float(np.float32(1.0507009873554805))


def run(operator: str, *inputs: Any, version: int = 24, **attributes: Any) -> NDArray[Any]:
    (result,) = apply(operator, version, [np.asarray(x) for x in inputs], attributes)
    return result


def assert_close(got: NDArray[Any], expected: Any, rtol: float = 1e-15) -> None:
    np.testing.assert_allclose(got, expected, rtol=rtol, atol=0)


# With x = ln 2 and ln 3 every exponential is a small integer, so that the values are fractions.
@pytest.mark.parametrize(
    ("operator", "attributes", "x", "expected"),
    [
        ("Relu", {}, [-1.0, 0.0, 2.5, -INF, INF], [0.0, 0.0, 2.5, 0.0, INF]),
        ("LeakyRelu", {"alpha": 0.25}, [-2.0, 3.0, -INF, INF], [-0.5, 3.0, -INF, INF]),
        ("LeakyRelu", {}, [-1.0], [-float(np.float32(0.01))]),
        ("Elu", {"alpha": 2.0}, [-LN2, 3.0, -INF, INF], [-1.0, 3.0, -2.0, INF]),
        ("Elu", {}, [-1e-300, -1e-20], [-1e-300, -1e-20]),
        ("Selu", {}, [-LN2, -INF, 2.0], [-SELU_ALPHA * SELU_GAMMA / 2, -SELU_ALPHA * SELU_GAMMA, 2 * SELU_GAMMA]),
        ("Selu", {"alpha": 3.0, "gamma": 2.0}, [-LN2, 1.0], [-3.0, 2.0]),
        ("Celu", {"alpha": 2.0}, [-2 * LN2, 5.0, -INF, 1e308], [-1.0, 5.0, -2.0, 1e308]),
        ("ThresholdedRelu", {"alpha": 2.0}, [2.0, 2.5, -3.0, INF, NAN], [0.0, 2.5, 0.0, INF, 0.0]),
        ("Sigmoid", {}, [0.0, LN3, -LN3, INF, -INF, -700.0], [0.5, 0.75, 0.25, 1.0, 0.0, math.exp(-700)]),
        ("HardSigmoid", {"alpha": 0.25, "beta": 0.5}, [-3.0, -1.0, 1.0, 3.0, INF], [0.0, 0.25, 0.75, 1.0, 1.0]),
        ("HardSigmoid", {}, [1.0], [float(np.float32(0.2)) + 0.5]),
        ("HardSwish", {}, [-3.0, -1.5, 0.0, 1.5, 3.0, 4.0, INF, -INF], [0, -0.375, 0, 1.125, 3, 4, INF, 0]),
        ("Tanh", {}, [0.0, LN2, -LN3, INF, -INF], [0.0, 0.6, -0.8, 1.0, -1.0]),
        ("Softplus", {}, [0.0, LN3, 1000.0, -1000.0, INF], [LN2, 2 * LN2, 1000.0, 0.0, INF]),
        ("Softplus", {}, [-700.0], [math.exp(-700)]),
        ("Softsign", {}, [-1.0, 3.0, 1e308, INF, -INF], [-0.5, 0.75, 1.0, 1.0, -1.0]),
        ("Mish", {}, [0.0, LN2, -LN2, 1000.0, INF, -INF], [0, 0.8 * LN2, -5 / 13 * LN2, 1000, INF, 0]),
        ("Mish", {}, [-700.0], [-700 * math.exp(-700)]),
        ("Swish", {}, [LN3, -LN3, 1000.0, INF, -INF], [0.75 * LN3, -0.25 * LN3, 1000, INF, 0]),
        ("Swish", {"alpha": 2.0}, [LN2], [0.8 * LN2]),
        ("Shrink", {"lambd": 1.5, "bias": 0.5}, [-2.0, -1.5, 1.5, 2.0, NAN, INF], [-1.5, 0, 0, 1.5, 0, INF]),
    ],
)
def test_values(operator: str, attributes: dict[str, Any], x: list[float], expected: list[float]) -> None:
    assert_close(run(operator, x, **attributes), expected)


@pytest.mark.parametrize(
    "operator",
    [
        "Relu",
        "LeakyRelu",
        "Elu",
        "Selu",
        "Celu",
        "Sigmoid",
        "HardSigmoid",
        "HardSwish",
        "Tanh",
        "Softplus",
        "Softsign",
        "Gelu",
        "Mish",
        "Swish",
    ],
)
def test_nan_stays_and_shapes_stay(operator: str) -> None:
    assert np.isnan(run(operator, [NAN])).all()
    assert run(operator, np.zeros((2, 0, 3))).shape == (2, 0, 3)
    assert run(operator, np.array(1.0)).shape == ()


def test_gelu_keeps_the_digits_of_its_left_tail() -> None:
    # x/2·erfc(-x/√2) with erfc(√2·5) = 2·Φ(-10): Φ(-10) = 7.6198530241605260660e-24
    assert_close(run("Gelu", [-10.0]), [-7.6198530241605260660e-23], rtol=1e-13)
    # Φ(1) = 0.84134474606854294858
    assert_close(run("Gelu", [1.0, -1.0, 0.0]), [0.84134474606854294858, -0.15865525393145705142, 0.0], rtol=1e-15)
    assert run("Gelu", [INF, -INF, -50.0]).tolist() == [INF, 0.0, 0.0]


def test_gelu_by_tanh() -> None:
    z = math.sqrt(2 / math.pi) * (1 + 0.044715)
    assert_close(run("Gelu", [1.0, -1.0], approximate="tanh"), [(1 + math.tanh(z)) / 2, -(1 - math.tanh(z)) / 2], rtol=1e-14)
    assert run("Gelu", [INF, -INF, 0.0, 1e200], approximate="tanh").tolist() == [INF, 0.0, 0.0, 1e200]
    with pytest.raises(ValueError, match="none or tanh"):
        run("Gelu", [1.0], approximate="sigmoid")


def test_swiglu_gates_its_second_input() -> None:
    gate, value = np.array([LN3, -LN3, 0.0, -INF]), np.array([4.0, 8.0, INF, 5.0])
    assert_close(run("SwiGLU", gate, value, version=28), [3 * LN3, -2 * LN3, NAN, 0.0])
    assert_close(run("SwiGLU", gate[:2] / 2, value[:2], version=28, alpha=2.0), [1.5 * LN3, -LN3])
    with pytest.raises(ValueError, match=r"gate of shape \(4,\) and value of shape \(1,\), expected equal shapes"):
        run("SwiGLU", gate, value[:1], version=28)


def test_selu_1_has_shorter_constants() -> None:
    assert_close(run("Selu", [1.0, -INF], version=1), np.float32(1.0507) * np.array([1.0, -np.float64(np.float32(1.6732))]))


def test_integers() -> None:
    assert run("Relu", np.array([-128, 0, 127], np.int8)).tolist() == [0, 0, 127]
    assert run("PRelu", np.array([-3, 4, -(2**31)], np.int32), np.array([2], np.int32)).tolist() == [-6, 4, 0]
    got = run("Shrink", np.array([-2, -1, 0, 1, 2], np.int8), lambd=1.5, bias=1.5)
    assert got.dtype == np.int8
    assert got.tolist() == [0, 0, 0, 0, 0]
    assert run("Shrink", np.array([9, 1], np.uint8), lambd=1.5, bias=2.0).tolist() == [7, 0]


def test_slopes_broadcast_one_way() -> None:
    x = np.array([[[-1.0, 1.0], [-2.0, 2.0]]])
    assert_close(run("PRelu", x, [0.5, 3.0]), [[[-0.5, 1], [-1, 2]]])
    assert_close(run("PRelu", x, [[0.5], [3.0]]), [[[-0.5, 1], [-6, 2]]])
    assert_close(run("PRelu", x, [0.5, 3.0], version=6), [[[-0.5, 1], [-6, 2]]])
    assert_close(run("PRelu", x, [0.25], version=1), [[[-0.25, 1], [-0.5, 2]]])
    with pytest.raises(ValueError, match="broadcast"):
        run("PRelu", np.zeros((2, 1)), np.zeros((2, 3)))


LINES = np.log([[1.0, 2.0, 1.0], [3.0, 4.0, 1.0]])


def test_softmax_along_each_axis() -> None:
    assert_close(run("Softmax", LINES), [[0.25, 0.5, 0.25], [0.375, 0.5, 0.125]])
    assert_close(run("Softmax", LINES, axis=-2), [[1 / 4, 1 / 3, 1 / 2], [3 / 4, 2 / 3, 1 / 2]])
    assert_close(run("Softmax", LINES + 1e6), [[0.25, 0.5, 0.25], [0.375, 0.5, 0.125]], rtol=1e-9)
    assert_close(run("Softmax", [[1000.0, -1000.0]]), [[1.0, 0.0]])


def test_softmax_before_13_takes_all_axes_from_its_axis_on() -> None:
    x = np.stack([LINES, np.zeros((2, 3))])
    got = run("Softmax", x, version=11)
    assert_close(got[0], np.array([[1, 2, 1], [3, 4, 1]]) / 12)
    assert_close(got[1], np.full((2, 3), 1 / 6))
    assert_close(run("Softmax", x, version=11, axis=-1), run("Softmax", x))
    assert_close(run("Softmax", x, version=1, axis=0), run("Softmax", x.reshape(-1)).reshape(x.shape))
    assert_close(run("LogSoftmax", x, version=1)[1], np.full((2, 3), -math.log(6)))
    assert run("Hardmax", x, version=11).tolist() == [[[0, 0, 0], [0, 1, 0]], [[1, 0, 0], [0, 0, 0]]]


@pytest.mark.parametrize("operator", ["Softmax", "LogSoftmax"])
def test_softmax_of_infinities(operator: str) -> None:
    rows = [[INF, 0.0], [-INF, -INF], [NAN, 0.0], [INF, INF]]
    assert np.isnan(run(operator, rows)).all()
    expected = [0.0, 1.0] if operator == "Softmax" else [-INF, 0.0]
    assert_close(run(operator, [[-INF, 5.0], [0.0, 0.0]])[0], expected)


def test_log_softmax_keeps_digits_just_below_zero() -> None:
    assert_close(run("LogSoftmax", LINES[0]), np.log([0.25, 0.5, 0.25]))
    assert_close(run("LogSoftmax", [0.0, -50.0, -1e4]), [-math.exp(-50), -50.0, -1e4])


def test_hardmax_takes_the_first_of_equals() -> None:
    assert run("Hardmax", [[2.0, 5.0, 5.0], [-INF, -INF, -INF]]).tolist() == [[0, 1, 0], [1, 0, 0]]
    assert run("Hardmax", [[2.0, 5.0], [3.0, 5.0]], axis=0).tolist() == [[0, 1], [1, 0]]


@pytest.mark.parametrize("operator", ["Softmax", "LogSoftmax", "Hardmax"])
@pytest.mark.parametrize("version", [1, 13])
def test_softmax_of_nothing(operator: str, version: int) -> None:
    assert run(operator, np.zeros((2, 0)), version=version).shape == (2, 0)
    assert run(operator, np.zeros((0, 3)), version=version).shape == (0, 3)


def test_shrink_keeps_large_integers() -> None:
    x = np.array([2**53 + 1, 2**53, -(2**53) - 1, 2**63 - 1], np.int64)
    assert run("Shrink", x, lambd=2.0**53).tolist() == [2**53 + 1, 0, -(2**53) - 1, 2**63 - 1]
    assert run("Shrink", np.array([2**64 - 1, 3], np.uint64), lambd=2.5, bias=2.5).tolist() == [2**64 - 4, 0]
    # -3 + 2.5 = -0.5 and 3 - 2.5 = 0.5 become 0, ±6 become ±3
    assert run("Shrink", np.array([-3, 3, -6, 6], np.int16), lambd=1.0, bias=2.5).tolist() == [0, 0, -3, 3]
    assert run("Shrink", np.array([-3, 3], np.int16), lambd=INF).tolist() == [0, 0]


@pytest.mark.parametrize("operator", ["Softmax", "LogSoftmax", "Hardmax"])
def test_axes_beyond_the_rank(operator: str) -> None:
    for version, axis in ((13, 2), (13, -3), (11, 3), (1, -3)):
        with pytest.raises(ValueError, match=f"axis {axis} of a tensor of rank 2"):
            run(operator, LINES, version=version, axis=axis)
    assert run(operator, LINES, version=1, axis=2).shape == (2, 3)


def test_slopes_of_the_first_versions() -> None:
    x = np.full((1, 2, 1, 2), -1.0)
    for slope in ([2.0, 3.0], [[[2.0]], [[3.0]]], [[[[2.0]], [[3.0]]]]):
        assert_close(run("PRelu", x, slope, version=6), [[[[-2, -2]], [[-3, -3]]]])
    with pytest.raises(ValueError, match="broadcast"):
        run("PRelu", x, np.zeros(3), version=6)
