"""Fused operators of com.microsoft: epsilon and data chosen so that square roots come out whole, every attribute and optional
input, shapes that do not fit."""

import math

import numpy as np
import pytest

from reference import evaluator
from reference.ops import activation
from reference.ops.fused import (
    bias_gelu,
    fast_gelu,
    fused_conv,
    fused_matmul,
    quick_gelu,
    simplified_layer_normalization,
    skip_layer_normalization,
    skip_simplified_layer_normalization,
)

LN3 = math.log(3)
INF = np.inf


def real(*values):
    return np.array(values, np.float64)


def run(operator, *inputs, **attributes):
    """As a model's node, which does not warn of infinities."""
    return evaluator.apply(operator, 1, inputs, attributes, domain="com.microsoft")[0]


def test_bias_gelu_adds_along_the_last_axis():
    # Φ(1) = 0.84134474606854294858
    y = bias_gelu(np.array([[1.0, -3.0], [0.0, -2.0]]), real(0, 2))
    np.testing.assert_allclose(y, [[0.84134474606854294858, -0.15865525393145705142], [0, 0]], rtol=1e-15)
    with pytest.raises(ValueError, match="bias has shape"):
        bias_gelu(np.zeros((2, 2)), real(1))


def test_fast_gelu_has_the_constants_of_the_text():
    # at ±1 the argument of tanh is 0.797885 + 0.035677
    wanted = [(1 + math.tanh(0.833562)) / 2, -(1 - math.tanh(0.833562)) / 2]
    np.testing.assert_allclose(fast_gelu(real(1, -1)), wanted, rtol=1e-14)
    np.testing.assert_allclose(fast_gelu(real(0.25, -3), real(0.75, 2)), wanted, rtol=1e-14)
    assert run("FastGelu", real(INF, -INF, 0, -1e200)).tolist() == [INF, 0, 0, 0]
    assert math.isnan(fast_gelu(real(math.nan))[0])
    with pytest.raises(ValueError, match="bias has shape"):
        fast_gelu(np.zeros((2, 3)), np.zeros((2, 3)))


def test_constants_of_six_digits_move_fast_gelu_by_less_than_four_units_of_single_precision():
    x = np.linspace(-12, 12, 100_001)
    assert np.abs(fast_gelu(x) - activation.gelu(x, approximate="tanh")).max() < 4 * 2.0**-24


def test_quick_gelu():
    np.testing.assert_allclose(quick_gelu(real(LN3, -LN3), alpha=1.0), [0.75 * LN3, -0.25 * LN3], rtol=1e-15)
    np.testing.assert_allclose(quick_gelu(real(1)), [1 / (1 + math.exp(-float(np.float32(1.702))))], rtol=1e-15)
    assert run("QuickGelu", real(INF, -INF)).tolist() == [INF, 0]


@pytest.mark.parametrize("domain", ["", "com.microsoft"])
def test_simplified_layer_normalisation_is_found_in_both_domains(domain):
    x = np.array([[1, 7], [3, 1]], np.float32)  # squares have means 25 and 5
    y, inverse = evaluator.apply(
        "SimplifiedLayerNormalization",
        1,
        [x, np.array([5, 10], np.float32)],
        {"epsilon": 0.0},
        domain=domain,
        n_outputs=2,
    )
    np.testing.assert_allclose(y, [[1, 14], [15 / math.sqrt(5), 10 / math.sqrt(5)]], rtol=1e-15)
    np.testing.assert_allclose(inverse, [[0.2], [1 / math.sqrt(5)]], rtol=1e-15)


def test_simplified_layer_normalisation_over_several_axes():
    x = np.array([[[1.0, 7], [7, 1]]])
    y, inverse = simplified_layer_normalization(x, np.ones((2, 2)), axis=1, epsilon=11.0, n_outputs=2)
    np.testing.assert_array_equal(y, x / 6)
    np.testing.assert_array_equal(inverse, [[[1 / 6]]])
    zero = simplified_layer_normalization(np.zeros((1, 2)), np.ones(2), n_outputs=2)[1]
    np.testing.assert_array_equal(zero, [[1 / math.sqrt(float(np.float32(1e-5)))]])


@pytest.mark.parametrize("skip", [np.full((2, 1, 2), 1.0), np.full((1, 1, 2), 1.0), np.full((1, 2), 1.0)])
def test_skip_layer_normalisation_and_every_output(skip):
    x = np.array([[[0.0, 1.0]], [[5.0, 6.0]]])  # with skip and bias (1, 3) and (6, 8): mean 2 and 7, variance 1
    y, mean, inverse, total = skip_layer_normalization(x, skip, real(2, 10), real(0, 1), real(0, 1), epsilon=3.0)
    np.testing.assert_array_equal(y, [[[-1, 6]], [[-1, 6]]])
    np.testing.assert_array_equal(mean, [[[2]], [[7]]])
    np.testing.assert_array_equal(inverse, [[[0.5]], [[0.5]]])
    np.testing.assert_array_equal(total, [[[1, 3]], [[6, 8]]])


def test_skip_layer_normalisation_without_optional_inputs():
    x = np.array([[1.0, 3.0]])
    y, _, inverse, total = skip_layer_normalization(x, -x, real(1, 1))
    assert (y.tolist(), total.tolist()) == ([[0, 0]], [[0, 0]])
    assert inverse[0, 0] == 1 / math.sqrt(float(np.float32(1e-12)))
    with pytest.raises(ValueError, match="broadcast"):
        skip_layer_normalization(x, np.zeros((2, 2)), real(1, 1))


def test_skip_simplified_layer_normalisation():
    x, skip = np.array([[0.0, 5.0]]), np.array([[1.0, 1.0]])
    y, mean, inverse, total = skip_simplified_layer_normalization(x, skip, real(6, 12), real(0, 1), epsilon=11.0)
    np.testing.assert_array_equal(total, [[1, 7]])  # mean of the squares 25
    np.testing.assert_array_equal(y, [[1, 14]])
    assert (mean.tolist(), inverse.tolist()) == ([[0]], [[1 / 6]])
    assert skip_simplified_layer_normalization(x, skip, real(1, 1))[3].tolist() == [[1, 6]]


def test_matrix_product_with_alpha_and_transposed_operands():
    a, b = np.array([[1.0, 2], [3, 4]]), np.array([[1.0, 0], [1, 1]])
    assert fused_matmul(a, b, alpha=0.5).tolist() == [[1.5, 1], [3.5, 2]]
    assert fused_matmul(a, b, transA=1).tolist() == [[4, 3], [6, 4]]
    assert fused_matmul(a, b, transB=1).tolist() == [[1, 3], [3, 7]]
    assert fused_matmul(a[0], b, transA=1, transBatchA=1).tolist() == [3, 2]  # a vector is never transposed


@pytest.mark.parametrize(("trans", "left", "right"), [(0, "mbck", "kcn"), (1, "kbcm", "nck")])
def test_matrix_product_with_the_first_axis_behind_the_batch(trans, left, right):
    lengths = {"m": 2, "b": 3, "c": 4, "k": 5, "n": 3}
    a, b = (np.arange(120.0)[: math.prod(s)].reshape(s) for s in ([lengths[axis] for axis in axes] for axes in (left, right)))
    wanted = np.einsum(f"{left},{right}->bcmn", a, b)
    y = fused_matmul(a, b, transA=trans, transBatchA=1, transB=trans, transBatchB=1)
    np.testing.assert_array_equal(y, wanted)


@pytest.mark.parametrize(
    ("activation", "parameters", "wanted"),
    [
        ("", [], [-2, 0, 4]),
        ("Relu", [], [0, 0, 4]),
        ("Tanh", [], [math.tanh(-2), 0, math.tanh(4)]),
        ("Sigmoid", [], [1 / (1 + math.exp(2)), 0.5, 1 / (1 + math.exp(-4))]),
        ("Silu", [], [-2 / (1 + math.exp(2)), 0, 4 / (1 + math.exp(-4))]),
        ("LeakyRelu", [0.25], [-0.5, 0, 4]),
        ("Clip", [-1.0, 3.0], [-1, 0, 3]),
        ("HardSigmoid", [0.25, 0.5], [0, 0.5, 1]),
    ],
)
def test_activations_of_a_convolution(activation, parameters, wanted):
    x, w = real(-1, 0, 2).reshape(1, 1, 3), np.full((1, 1, 1), 2.0)
    y = fused_conv(x, w, activation=activation, activation_params=parameters)
    np.testing.assert_allclose(y[0, 0], wanted, rtol=1e-15)


def test_a_convolution_adds_z_before_its_activation():
    x, w = real(1, -3).reshape(1, 1, 2), np.ones((1, 1, 2))
    y = fused_conv(x, w, real(1), np.array([[[-1.0, 1.0, -1.0]]]), activation="Relu", pads=[1, 1])
    # sums 1, -2, -3; with bias 2, -1, -2; with z 1, 0, -3
    assert y.tolist() == [[[1, 0, 0]]]


def test_activations_that_are_no_such_thing():
    x = np.zeros((1, 1, 1))
    with pytest.raises(ValueError, match="not 'Gelu'"):
        fused_conv(x, x, activation="Gelu")
    with pytest.raises(ValueError, match="takes 2 activation_params, not 1"):
        fused_conv(x, x, activation="Clip", activation_params=[1.0])
