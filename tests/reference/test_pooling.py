"""Pooling against values worked out by hand: ceil windows, windows in padding, dilation, indices."""

import numpy as np
import pytest

from reference.ops.pooling import (
    average_pool,
    global_average_pool,
    global_lp_pool,
    global_max_pool,
    lp_pool,
    max_pool,
)


def row(*values, dtype=np.float64):
    return np.array([[values]], dtype)


def test_ceil_mode_adds_a_shorter_window():
    x = row(1, 2, 3, 4, 5)
    np.testing.assert_array_equal(average_pool(x, kernel_shape=[2], strides=[2]), row(1.5, 3.5))
    np.testing.assert_array_equal(average_pool(x, kernel_shape=[2], strides=[2], ceil_mode=1), row(1.5, 3.5, 5))


def test_what_ceil_mode_adds_counts_neither_as_data_nor_as_padding():
    # 0 | 1 2 3 4 | 0: windows (0 1 2) (2 3 4) and (4 0 beyond)
    attributes = {"kernel_shape": [3], "strides": [2], "pads": [1, 1], "ceil_mode": 1}
    np.testing.assert_array_equal(average_pool(row(1, 2, 3, 4), count_include_pad=1, **attributes), row(1, 3, 2))
    np.testing.assert_array_equal(average_pool(row(1, 2, 3, 4), **attributes), row(1.5, 3, 4))


def test_a_window_that_would_start_in_the_end_padding_is_dropped():
    # free = 3 + 1 + 1 - 1 = 4, stride 3: ceil gives 3 windows at 0, 3, 6; 6 >= 3 + 1
    x = row(1, 2, 3)
    np.testing.assert_array_equal(average_pool(x, kernel_shape=[1], strides=[3], pads=[0, 1], ceil_mode=1), row(1))
    assert max_pool(x, kernel_shape=[2], strides=[3], pads=[1, 1], ceil_mode=1).shape == (1, 1, 2)
    assert lp_pool(row(1, 2), kernel_shape=[1], strides=[4], ceil_mode=1).shape == (1, 1, 1)


def test_ceil_mode_lets_a_kernel_reach_beyond_its_axis_by_less_than_a_stride():
    # ceil((2 - 3)/2 + 1) = 1 window over both elements and one beyond
    np.testing.assert_array_equal(average_pool(row(2, 4), kernel_shape=[3], strides=[2], ceil_mode=1), row(3))
    np.testing.assert_array_equal(max_pool(row(-2, -4), kernel_shape=[3], strides=[2], ceil_mode=1), row(-2))
    for attributes in ({"strides": [2]}, {"strides": [1], "ceil_mode": 1}):
        with pytest.raises(ValueError, match="exceeds axis 0"):
            max_pool(row(2, 4), kernel_shape=[3], **attributes)


def test_padding_counts_only_if_asked():
    x, attributes = row(2, 4, 6), {"kernel_shape": [3], "pads": [1, 1]}
    np.testing.assert_array_equal(average_pool(x, **attributes), row(3, 4, 5))
    np.testing.assert_array_equal(average_pool(x, count_include_pad=1, **attributes), row(2, 4, 10 / 3))


def test_a_window_wholly_in_padding_has_no_average_and_the_lowest_maximum():
    x = row(2, 4)
    attributes = {"kernel_shape": [2], "strides": [2], "pads": [2, 0]}
    np.testing.assert_array_equal(average_pool(x, **attributes), row(np.nan, 3))
    np.testing.assert_array_equal(average_pool(x, count_include_pad=1, **attributes), row(0, 3))
    best, where = max_pool(x, n_outputs=2, **attributes)
    np.testing.assert_array_equal(best, row(-np.inf, 4))
    np.testing.assert_array_equal(where, row(-1, 1))


def test_dilated_averages_count_the_elements_they_touch():
    # extent 3, positions (-1, 1) (0, 2) (1, 3) (2, 4)
    y = average_pool(row(1, 2, 3, 4), kernel_shape=[2], dilations=[2], pads=[1, 1])
    np.testing.assert_array_equal(y, row(2, 2, 3, 3))


def test_automatic_padding_of_an_even_kernel():
    x = row(1, 2, 3, 4)
    np.testing.assert_array_equal(max_pool(x, kernel_shape=[2], auto_pad="SAME_UPPER"), row(2, 3, 4, 4))
    np.testing.assert_array_equal(max_pool(x, kernel_shape=[2], auto_pad="SAME_LOWER"), row(1, 2, 3, 4))


def test_padding_of_a_maximum_is_no_zero():
    np.testing.assert_array_equal(max_pool(row(-3, -2, -5), kernel_shape=[3], pads=[1, 1]), row(-2, -2, -2))
    x = row(-128, -7, dtype=np.int8)
    y = max_pool(x, kernel_shape=[2], pads=[1, 1])
    np.testing.assert_array_equal(y, row(-128, -7, -7))
    assert y.dtype == np.int8


def test_indices_in_both_storage_orders():
    x = np.array([[[[1, 5, 2], [8, 3, 9]]]] * 2, np.float64).reshape(1, 2, 2, 3)
    _, rows = max_pool(x, kernel_shape=[2, 2], n_outputs=2)
    np.testing.assert_array_equal(rows, [[[[3, 5]], [[9, 11]]]])
    _, columns = max_pool(x, kernel_shape=[2, 2], storage_order=1, n_outputs=2)
    np.testing.assert_array_equal(columns, [[[[1, 5]], [[7, 11]]]])
    assert rows.dtype == np.int64


def test_indices_of_ties_infinities_and_nan():
    best, where = max_pool(row(-np.inf, -np.inf, 7, 7, np.nan, 9), kernel_shape=[2], strides=[2], n_outputs=2)
    np.testing.assert_array_equal(where, row(0, 2, 4))
    np.testing.assert_array_equal(best, row(-np.inf, 7, np.nan))


def test_maximum_with_and_without_indices_agree():
    x = np.random.default_rng(3).integers(-9, 9, (2, 3, 9, 7, 5)).astype(float)
    attributes = {"kernel_shape": [3, 2, 2], "strides": [2, 1, 3], "dilations": [1, 2, 1], "pads": [1, 1, 0, 1, 1, 1]}
    best, where = max_pool(x, n_outputs=2, ceil_mode=1, **attributes)
    np.testing.assert_array_equal(max_pool(x, ceil_mode=1, **attributes), best)
    np.testing.assert_array_equal(x.ravel()[where], best)


@pytest.mark.parametrize(("p", "wanted"), [(1, (7, 4)), (2, (5, 4)), (3, (91 ** (1 / 3), 4))])
def test_lp_norm_of_windows(p, wanted):
    np.testing.assert_allclose(lp_pool(row(3, -4), kernel_shape=[2], pads=[0, 1], p=p), row(*wanted), rtol=1e-15)


def test_global_pools_keep_unit_axes():
    x = np.array([[[[1, -2], [2, 4]], [[0, 0], [3, 4]]]], np.float64)
    np.testing.assert_array_equal(global_average_pool(x), [[[[1.25]], [[1.75]]]])
    np.testing.assert_array_equal(global_max_pool(x), [[[[4]], [[4]]]])
    np.testing.assert_array_equal(global_lp_pool(x), [[[[5]], [[5]]]])
    np.testing.assert_array_equal(global_lp_pool(x, p=1), [[[[9]], [[7]]]])


def test_lp_norms_of_large_and_small_windows():
    x = row(3e200, -4e200, 3e-200, 4e-200)
    np.testing.assert_allclose(lp_pool(x, kernel_shape=[2], strides=[2]), row(5e200, 5e-200), rtol=1e-15)
    np.testing.assert_allclose(global_lp_pool(x, p=1), row(7e200), rtol=1e-15)
    np.testing.assert_allclose(lp_pool(row(2e30, 1.0), kernel_shape=[2], p=20), row(2e30), rtol=1e-15)
    np.testing.assert_array_equal(lp_pool(row(np.inf, 1, 0, np.nan), kernel_shape=[2]), row(np.inf, 1, np.nan))
    np.testing.assert_allclose(lp_pool(row(4, 9), kernel_shape=[2], p=0.5), row(25), rtol=1e-15)  # (2 + 3)², version 1


@pytest.mark.parametrize("p", [0, -1, np.inf])
def test_lp_norms_that_do_not_exist(p):
    for norm in (lp_pool(row(1, 2), kernel_shape=[2], p=1), global_lp_pool(row(1, 2), p=1)):
        assert norm == 3
    with pytest.raises(ValueError, match="expected a positive number"):
        lp_pool(row(1, 2), kernel_shape=[2], p=p)
    with pytest.raises(ValueError, match="expected a positive number"):
        global_lp_pool(row(1, 2), p=p)


def test_ceil_mode_of_valid_padding_adds_a_window_as_onnx_infers_shapes():
    attributes = {"kernel_shape": [2], "strides": [2], "auto_pad": "VALID"}
    np.testing.assert_array_equal(max_pool(row(0, 1, 2, 3, 4), **attributes), row(1, 3))
    np.testing.assert_array_equal(max_pool(row(0, 1, 2, 3, 4), ceil_mode=1, **attributes), row(1, 3, 4))


@pytest.mark.parametrize(
    ("attributes", "message"),
    [
        ({"kernel_shape": [2, 2]}, "kernel_shape has 2 entries for 1 spatial axes, expected 1"),
        ({"kernel_shape": [2], "pads": [1]}, "pads has 1 entries for 1 spatial axes, expected 2"),
        ({"kernel_shape": [2], "strides": [0]}, "strides is .0., expected positive numbers"),
        ({"kernel_shape": [2], "dilations": [1, 1]}, "dilations has 2 entries"),
        ({"kernel_shape": [2], "auto_pad": "SAME"}, "auto_pad is NOTSET, SAME_UPPER"),
        ({"kernel_shape": [9]}, "exceeds axis 0"),
    ],
)
def test_attributes_that_do_not_fit(attributes, message):
    for pool in (average_pool, max_pool, lp_pool):
        with pytest.raises(ValueError, match=message):
            pool(row(1, 2, 3), **attributes)


def test_global_pools_of_nothing():
    np.testing.assert_array_equal(global_max_pool(np.zeros((1, 2, 0))), np.full((1, 2, 1), -np.inf))
    np.testing.assert_array_equal(global_average_pool(np.zeros((1, 2))), np.zeros((1, 2)))
    with pytest.raises(ValueError, match="expected batch and channel"):
        global_max_pool(np.zeros(3))
