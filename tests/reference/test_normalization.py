"""Normalisations against values worked out by hand; epsilon chosen so that square roots come out whole."""

import numpy as np
import pytest

from reference.ops.normalization import (
    batch_normalization,
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
    y = batch_normalization(X, scale, 0 * scale, 0 * scale, 0 * scale, epsilon=1.0, spatial=0)
    np.testing.assert_array_equal(y[0], [[1, 6], [6, 24]])


def test_batch_training_returns_running_moments():
    x = np.array([[[1.0, 3.0]], [[5.0, 7.0]]])  # mean 4, variance 5
    one = np.ones(1)
    y, mean, var = batch_normalization(x, one, 0 * one, 8 * one, 1 * one, epsilon=4.0, momentum=0.75, training_mode=1)
    np.testing.assert_array_equal(y, (x - 4) / 3)
    assert (mean[0], var[0]) == (7.0, 2.0)


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
