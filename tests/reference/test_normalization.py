"""Normalisations against values worked out by hand; epsilon chosen so that square roots come out whole."""

import numpy as np
import pytest

from reference.evaluator import apply
from reference.ops.normalization import (
    batch_normalization,
    batch_normalization_7,
    group_normalization,
    group_normalization_18,
    instance_normalization,
    layer_normalization,
    local_response_normalization,
    lp_normalization,
    mean_variance_normalization,
    rms_normalization,
)

X = np.array([[[1, 3], [2, 6]], [[5, 7], [4, 0]]], np.float64)  # (N, C, W) = (2, 2, 2)
TWO = np.array([2.0, 10.0])


def test_batch_inference_per_channel():
    y = batch_normalization(X, TWO, np.array([1.0, 0.0]), np.array([1.0, 2.0]), np.array([3.0, 15.0]), epsilon=1.0)
    np.testing.assert_array_equal(y, [[[1, 3], [0, 10]], [[5, 7], [5, -5]]])


def test_batch_of_one_dimension_and_non_spatial_version_7():
    y = batch_normalization(np.array([1.0, 5.0]), *(np.array([v]) for v in (2.0, 1.0, 1.0, 3.0)), epsilon=1.0)
    np.testing.assert_array_equal(y, [1, 5])
    scale = np.array([[1.0, 2.0], [3.0, 4.0]])
    y = batch_normalization_7(X, scale, 0 * scale, 0 * scale, 0 * scale, epsilon=1.0, spatial=0)
    np.testing.assert_array_equal(y[0], [[1, 6], [6, 24]])


def test_batch_training_returns_running_moments():
    x = np.array([[[1.0, 3.0]], [[5.0, 7.0]]])  # mean 4, variance 5
    one = np.ones(1)
    y, mean, var = batch_normalization(x, one, 0 * one, 8 * one, 1 * one, epsilon=4.0, momentum=0.75, training_mode=1)
    np.testing.assert_array_equal(y, (x - 4) / 3)
    assert (mean[0], var[0]) == (7.0, 2.0)


TRAINED = np.array([[[[1.0, 3.0]]], [[[5.0, 7.0]]]])  # (2, 1, 1, 2): mean 4, variance 5


@pytest.mark.parametrize("version", [1, 6, 7, 9])
def test_batch_training_before_version_14(version):
    """From running moments 8 and 1: 3/4·8 + 4/4 and 3/4·1 + 5/4, then the batch's own."""
    one = np.ones(1)
    inputs, attributes = [TRAINED, one, 0 * one, 8 * one, one], {"epsilon": 4.0, "momentum": 0.75}
    y, *moments = apply("BatchNormalization", version, inputs, attributes, n_outputs=5)
    np.testing.assert_array_equal(y, (TRAINED - 4) / 3)
    assert [m.tolist() for m in moments] == [[7], [2], [4], [5]]


@pytest.mark.parametrize("version", [1, 6])
def test_batch_before_version_7_trains_unless_told_that_it_is_tested(version):
    """Tested: (x - 8)/2. Else as with more outputs."""
    one = np.ones(1)
    inputs, attributes = [TRAINED, one, 0 * one, 8 * one, 0 * one], {"epsilon": 4.0}
    y = apply("BatchNormalization", version, inputs, attributes | {"is_test": 1})
    assert len(y) == 1
    np.testing.assert_array_equal(y[0], (TRAINED - 8) / 2)
    np.testing.assert_array_equal(apply("BatchNormalization", version, inputs, attributes)[0], (TRAINED - 4) / 3)


@pytest.mark.parametrize("version", [6, 7])
def test_batch_training_of_each_element(version):
    """Over the two samples: means 3 and 5, variances 4."""
    scale = np.array([[[2.0, 4.0]]])
    inputs, attributes = [TRAINED, scale, 0 * scale, 0 * scale, 0 * scale], {"epsilon": 0.0, "momentum": 0.5, "spatial": 0}
    y, mean, var, saved_mean, saved_var = apply("BatchNormalization", version, inputs, attributes, n_outputs=5)
    np.testing.assert_array_equal(y[:, 0, 0], [[-2, -4], [2, 4]])
    np.testing.assert_array_equal([mean, var], [[[[1.5, 2.5]]], [[[2, 2]]]])
    np.testing.assert_array_equal([saved_mean, saved_var], [[[[3, 5]]], [[[4, 4]]]])
    with pytest.raises(ValueError, match=r"running moments of shape \(1,\), expected 2 elements"):
        apply("BatchNormalization", version, [TRAINED, *[np.ones(1)] * 4], {"spatial": 0}, n_outputs=5)


@pytest.mark.parametrize("training_mode", [0, 1])
def test_batch_parameters_do_not_broadcast(training_mode):
    with pytest.raises(ValueError, match=r"a parameter has shape \(1,\), expected \(2,\) for an input of shape \(2, 2, 2\)"):
        batch_normalization(X, np.ones(1), TWO, TWO, TWO, training_mode=training_mode)


def test_batch_of_one_dimension_in_training():
    """One channel of mean 3 and variance 4."""
    one = np.ones(1)
    y, mean, var = batch_normalization(np.array([1.0, 5.0]), one, one, one, one, epsilon=0.0, momentum=0.5, training_mode=1)
    np.testing.assert_array_equal(y, [0, 2])
    assert (mean.tolist(), var.tolist()) == ([2], [2.5])


def test_default_epsilon_is_the_float32_attribute():
    zero, one = np.zeros(1), np.ones(1)
    y = batch_normalization(np.ones((1, 1, 1)), one, zero, zero, zero)
    assert y[0, 0, 0] == 1 / np.sqrt(float(np.float32(1e-5)))


def test_instance():
    y = instance_normalization(X, TWO, np.array([0.0, 1.0]), epsilon=3.0)
    np.testing.assert_allclose(y[0], [[-1, 1], [1 - 20 / np.sqrt(7), 1 + 20 / np.sqrt(7)]], rtol=1e-15)


@pytest.mark.parametrize("axis", [1, -2])
def test_layer_over_two_axes_with_moments(axis):
    x = np.array([[[1.0, 3.0], [1.0, 3.0]]])
    y, mean, inverse = layer_normalization(x, TWO, np.array([0.0, 1.0]), axis=axis, epsilon=3.0, n_outputs=3)
    np.testing.assert_array_equal(y, [[[-1, 6], [-1, 6]]])
    np.testing.assert_array_equal(mean, [[[2]]])
    np.testing.assert_array_equal(inverse, [[[0.5]]])
    np.testing.assert_array_equal(layer_normalization(x, TWO, axis=axis, epsilon=3.0), [[[-1, 5], [-1, 5]]])


def test_layer_of_a_large_mean_keeps_its_digits():
    x = np.array([2.0**40, 2.0**40 + 2])
    np.testing.assert_array_equal(layer_normalization(x, np.ones(1), epsilon=3.0), [-0.5, 0.5])


def test_group_scale_per_group_in_18_and_per_channel_in_21():
    x = np.array([[[1.0], [3.0], [1.0], [3.0]]])  # two groups of two channels, each normalised to -1/2, 1/2
    old = group_normalization_18(x, TWO, np.array([0.0, 1.0]), num_groups=2, epsilon=3.0)
    np.testing.assert_array_equal(old.ravel(), [-1, 1, -4, 6])
    new = group_normalization(x, np.array([2.0, 4.0, 6.0, 8.0]), np.arange(4.0), num_groups=2, epsilon=3.0)
    np.testing.assert_array_equal(new.ravel(), [-1, 3, -1, 7])


def test_root_mean_square():
    x = np.array([[1.0, 7.0], [3.0, 1.0]])
    y = rms_normalization(x, np.array([5.0, 10.0]), epsilon=0.0)
    np.testing.assert_allclose(y, [[1, 14], [3 * np.sqrt(5), 2 * np.sqrt(5)]], rtol=1e-15)
    assert rms_normalization(x, np.ones(1), axis=0, epsilon=1.0)[0, 1] == 7 / 4


def test_lp_norms_and_the_zero_vector():
    x = np.array([[3.0, -4.0], [0.0, 0.0]])
    np.testing.assert_allclose(lp_normalization(x), [[0.6, -0.8], [0, 0]], rtol=1e-15)
    np.testing.assert_array_equal(lp_normalization(x, p=1), [[3 / 7, -4 / 7], [0, 0]])
    np.testing.assert_array_equal(lp_normalization(x, axis=0), [[1, -1], [0, 0]])


def test_mean_variance_per_channel():
    x = np.array([1.0, 3.0, 5.0, 5.0]).reshape(1, 2, 2, 1)
    np.testing.assert_allclose(mean_variance_normalization(x).ravel(), [-1, 1, 0, 0], rtol=2e-9)


def test_an_even_lrn_window_leans_to_later_channels():
    x = np.array([1.0, 2.0, 3.0]).reshape(1, 3, 1)
    y = local_response_normalization(x, size=2, alpha=2.0, beta=1.0, bias=1.0)
    np.testing.assert_array_equal(y.ravel(), [1 / 6, 2 / 14, 3 / 10])
    y = local_response_normalization(x, size=3, alpha=3.0, beta=0.5, bias=2.0)
    np.testing.assert_allclose(y.ravel(), [1 / np.sqrt(7), 2 / 4, 3 / np.sqrt(15)], rtol=1e-15)


def test_instance_normalization_of_version_1():
    attributes = {"epsilon": 3.0, "consumed_inputs": [0, 0, 0]}
    (y,) = apply("InstanceNormalization", 1, [X[..., None], np.array([2.0, 10.0]), np.array([0.0, 1.0])], attributes)
    np.testing.assert_array_equal(y[0, 0].ravel(), [-1, 1])


def test_parameters_that_do_not_fit():
    one = np.ones(1)
    for message, call in (
        (r"shape \(1,\), expected \(2,\)", lambda: instance_normalization(X, one, one)),
        (r"shape \(1,\), expected \(2,\)", lambda: group_normalization(X, one, one, num_groups=1)),
        (r"shape \(2,\), expected \(1,\)", lambda: group_normalization_18(X, TWO, TWO, num_groups=1)),
        ("do not make up 3 groups", lambda: group_normalization(X, TWO, TWO, num_groups=3)),
        ("does not broadcast", lambda: layer_normalization(X, np.ones((2, 2, 2, 2)))),
        ("does not broadcast", lambda: rms_normalization(X[:1], np.ones((2, 2, 2)))),
        ("axis 3 of a tensor of rank 3", lambda: layer_normalization(X, one, axis=3)),
        ("axis -4 of a tensor of rank 3", lambda: rms_normalization(X, one, axis=-4)),
        ("axis 3 of a tensor of rank 3", lambda: lp_normalization(X, axis=3)),
        ("p is 1 or 2, not 3", lambda: lp_normalization(X, p=3)),
        ("axis 3 of a tensor of rank 3", lambda: mean_variance_normalization(X, axes=[0, 3])),
        ("size 0 for an input", lambda: local_response_normalization(X, size=0)),
    ):
        with pytest.raises(ValueError, match=message):
            call()
