"""Convolutions against values worked out by hand: odd padding, dilation, groups, transposed shapes, zero points."""

import itertools

import numpy as np
import pytest

from reference.ops.convolution import conv, conv_integer, conv_transpose


def one_image(*values):
    return np.array([[values]], np.float64)


def test_asymmetric_padding_and_stride():
    x, w = one_image(1, 2, 3, 4), one_image(1, 10)
    # padded 0 0 1 2 3 4 0, windows of 2 every 2: (0,0) (1,2) (3,4)
    np.testing.assert_array_equal(conv(x, w, pads=[2, 1], strides=[2]), one_image(0, 21, 43))


@pytest.mark.parametrize(
    ("auto_pad", "wanted"),
    [("SAME_UPPER", (21, 32, 43, 4)), ("SAME_LOWER", (10, 21, 32, 43)), ("VALID", (21, 32, 43))],
)
def test_odd_automatic_padding_goes_to_the_named_side(auto_pad, wanted):
    np.testing.assert_array_equal(conv(one_image(1, 2, 3, 4), one_image(1, 10), auto_pad=auto_pad), one_image(*wanted))


def test_same_padding_is_never_negative():
    # kernel 1, stride 3: ceil(6/3) = 2 outputs at positions 0 and 3, although (2-1)*3 + 1 - 6 < 0
    y = conv(one_image(1, 2, 3, 4, 5, 6), one_image(1), auto_pad="SAME_UPPER", strides=[3])
    np.testing.assert_array_equal(y, one_image(1, 4))


def test_dilation_counts_into_same_padding():
    # extent 3: one element of padding on each side
    y = conv(one_image(1, 2, 3), one_image(1, 10), auto_pad="SAME_UPPER", dilations=[2])
    np.testing.assert_array_equal(y, one_image(20, 31, 2))


def by_definition(x, w, b, group, strides, dilations, pads):
    """The sum that defines Conv, written out element by element."""
    n, _, height, width = x.shape
    m, depth, kh, kw = w.shape
    oh = (height + pads[0] + pads[2] - (kh - 1) * dilations[0] - 1) // strides[0] + 1
    ow = (width + pads[1] + pads[3] - (kw - 1) * dilations[1] - 1) // strides[1] + 1
    y = np.zeros((n, m, oh, ow))
    for i, o, r, c in np.ndindex(*y.shape):
        total = b[o]
        for d, u, v in itertools.product(range(depth), range(kh), range(kw)):
            row, column = r * strides[0] + u * dilations[0] - pads[0], c * strides[1] + v * dilations[1] - pads[1]
            if 0 <= row < height and 0 <= column < width:
                total += w[o, d, u, v] * x[i, o // (m // group) * depth + d, row, column]
        y[i, o, r, c] = total
    return y


@pytest.mark.parametrize(("group", "depth", "outputs"), [(1, 3, 2), (3, 1, 3), (3, 1, 6), (2, 2, 4)])
def test_two_dimensions_with_groups_equal_the_definition(group, depth, outputs):
    rng = np.random.default_rng(group)
    x = rng.integers(-9, 10, (2, group * depth, 7, 5)).astype(np.float64)
    w = rng.integers(-9, 10, (outputs, depth, 3, 2)).astype(np.float64)
    b = rng.integers(-9, 10, outputs).astype(np.float64)
    attributes = {"strides": [2, 1], "dilations": [1, 2], "pads": [0, 2, 1, 1]}
    np.testing.assert_array_equal(conv(x, w, b, group=group, **attributes), by_definition(x, w, b, group, **attributes))


def test_three_dimensions():
    x = np.arange(8.0).reshape(1, 1, 2, 2, 2)
    np.testing.assert_array_equal(conv(x, np.ones((1, 1, 2, 2, 2)), np.array([0.5])).ravel(), [28.5])


def test_empty_batch_keeps_the_output_shape():
    assert conv(np.zeros((0, 2, 5, 5)), np.zeros((3, 2, 3, 3))).shape == (0, 3, 3, 3)


@pytest.mark.parametrize("shapes", [((1, 3, 4), (2, 2, 2), 1), ((1, 4, 4), (3, 2, 2), 2), ((1, 1, 2), (1, 1, 3), 1)])
def test_what_does_not_fit_is_refused(shapes):
    x, w, group = shapes
    with pytest.raises(ValueError, match=r"fit|exceeds"):
        conv(np.zeros(x), np.zeros(w), group=group)


def test_transposed_stride_padding_and_output_padding():
    # input i spreads (1, 10, 100) from position 2i on: 1 10 100+2 20 200
    full = (1, 10, 102, 20, 200)
    x, w = one_image(1, 2), one_image(1, 10, 100)
    np.testing.assert_array_equal(conv_transpose(x, w, strides=[2]), one_image(*full))
    np.testing.assert_array_equal(conv_transpose(x, w, strides=[2], output_padding=[1]), one_image(*full, 0))
    np.testing.assert_array_equal(conv_transpose(x, w, strides=[2], pads=[1, 2]), one_image(10, 102))


@pytest.mark.parametrize(
    ("auto_pad", "wanted"),
    [("SAME_UPPER", (1, 10, 102, 20)), ("SAME_LOWER", (10, 102, 20, 200)), ("NOTSET", (10, 102, 20, 200))],
)
def test_transposed_output_shape_splits_odd_padding(auto_pad, wanted):
    y = conv_transpose(one_image(1, 2), one_image(1, 10, 100), strides=[2], output_shape=[4], auto_pad=auto_pad)
    np.testing.assert_array_equal(y, one_image(*wanted))


def test_transposed_output_shape_beyond_the_taps_holds_the_bias():
    y = conv_transpose(one_image(1, 2), one_image(1, 10, 100), np.array([0.5]), strides=[2], output_shape=[7])
    np.testing.assert_array_equal(y, one_image(1.5, 10.5, 102.5, 20.5, 200.5, 0.5, 0.5))


def test_same_transposed_gives_input_times_stride():
    x, w = np.ones((1, 1, 3, 3)), np.arange(9.0).reshape(1, 1, 3, 3)
    y = conv_transpose(x, w, strides=[2, 2], auto_pad="SAME_UPPER")
    assert y.shape == (1, 1, 6, 6)
    np.testing.assert_array_equal(y[0, 0, :3, :3], [[0, 1, 2], [3, 4, 8], [6, 8, 8 + 6 + 2 + 0]])


def test_an_infinite_weight_reaches_only_where_its_tap_does():
    x, w = one_image(1, -1, 0), one_image(1, np.inf)
    # 1·(1, inf), -1·(1, inf), 0·(1, inf) one after the other
    with np.errstate(invalid="ignore"):
        np.testing.assert_array_equal(conv_transpose(x, w, np.array([0.5])), one_image(1.5, np.inf, -np.inf, np.nan))
        np.testing.assert_array_equal(conv_transpose(x, w, pads=[1, 1]), one_image(np.inf, -np.inf))


def test_pads_that_leave_less_than_nothing_are_refused():
    with pytest.raises(ValueError, match="cut more"):
        conv_transpose(one_image(1, 2), one_image(1, 10), pads=[2, 2])


@pytest.mark.parametrize("group", [1, 2])
def test_transposed_is_the_adjoint_of_conv(group):
    """<conv(x, w), y> = <x, conv_transpose(y, w)> for every x and y, which ties the two operators' indices together."""
    rng = np.random.default_rng(7)
    attributes = {"strides": [2, 3], "dilations": [2, 1], "pads": [1, 0, 2, 1], "group": group}
    x, w = rng.integers(-5, 6, (2, 4, 9, 8)).astype(float), rng.integers(-5, 6, (6, 4 // group, 3, 2)).astype(float)
    forward = conv(x, w, **attributes)
    y = rng.integers(-5, 6, forward.shape).astype(float)
    back = conv_transpose(y, w, output_padding=[1, 1], **attributes)
    assert back.shape == x.shape
    assert (forward * y).sum() == (x * back).sum()


def test_integer_zero_points_pad_with_real_zero_and_wrap_to_int32():
    x, w = np.array([[[130, 128]]], np.uint8), np.array([[[3, 4]], [[3, 4]]], np.uint8)
    y = conv_integer(x, w, np.uint8(128).reshape(()), np.array([1, 3], np.uint8), pads=[1, 1])
    # x - 128 = 0 | 2 0 | 0; weights (2, 3) and (0, 1)
    np.testing.assert_array_equal(y, [[[6, 4, 0], [2, 0, 0]]])
    assert y.dtype == np.int32
    many = np.full((1, 40000, 1), 255, np.uint8)
    assert conv_integer(many, many)[0, 0, 0] == 40000 * 255 * 255 - 2**32
