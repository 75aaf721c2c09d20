"""Col2Im against values worked out by hand, and as the adjoint of cutting patches out."""

import numpy as np
import pytest

from reference.ops.patches import col2im
from reference.ops.windows import axes_of, windows


def lengths(*values):
    return np.array(values, np.int64)


def test_overlapping_blocks_add_up():
    # three blocks of 2 on 4 elements; row 0 holds their first elements
    x = np.array([[[1.0, 2, 3], [10, 20, 30]]])
    assert col2im(x, lengths(4), lengths(2)).tolist() == [[[1, 12, 23, 30]]]


def test_stride_leaves_gaps_and_dilation_spreads():
    x = np.array([[[1.0, 2], [10, 20]]])
    assert col2im(x, lengths(6), lengths(2), strides=[3]).tolist() == [[[1, 10, 0, 2, 20, 0]]]
    assert col2im(x, lengths(4), lengths(2), dilations=[2]).tolist() == [[[1, 2, 10, 20]]]


def test_padding_is_dropped():
    # padded 5 long: blocks of 2 at 0 … 3, the first of which starts in the padding
    x = np.array([[[1.0, 2, 3, 4], [10, 20, 30, 40]]])
    assert col2im(x, lengths(3), lengths(2), pads=[1, 1]).tolist() == [[[12, 23, 34]]]
    assert col2im(x[..., :3], lengths(3), lengths(2), pads=[1, 0]).tolist() == [[[12, 23, 30]]]
    assert col2im(x[..., :3], lengths(3), lengths(2), pads=[0, 1]).tolist() == [[[1, 12, 23]]]


def test_channels_come_before_the_elements_of_a_block():
    x = np.arange(8.0).reshape(1, 8, 1)
    assert col2im(x, lengths(2, 2), lengths(2, 2)).tolist() == [[[[0, 1], [2, 3]], [[4, 5], [6, 7]]]]


def test_blocks_are_in_lexicographic_order():
    # the text's example: blocks of 9 x 18 on 10 x 20 are (0,0), (0,1), (0,2), (1,0), (1,1), (1,2)
    x = np.zeros((1, 9 * 18, 6))
    x[0, 0] = [1, 2, 3, 4, 5, 6]  # the first element of each
    y = col2im(x, lengths(10, 20), lengths(9, 18))
    assert y[0, 0, :2, :3].tolist() == [[1, 2, 3], [4, 5, 6]]


@pytest.mark.parametrize(
    ("image", "block", "layout"),
    [
        ((9,), (3,), {"strides": [2], "pads": [2, 1]}),
        ((7, 8), (3, 2), {"strides": [2, 3], "dilations": [2, 1], "pads": [1, 0, 2, 3]}),
        ((4, 5, 6), (2, 3, 2), {"strides": [1, 2, 2], "dilations": [2, 1, 3], "pads": [0, 1, 2, 1, 0, 0]}),
    ],
)
def test_it_is_the_adjoint_of_cutting_patches_out(image, block, layout):
    """<patches(image), x> = <image, col2im(x)> for every image and x."""
    rng, n = np.random.default_rng(2), len(image)
    z = rng.integers(-9, 10, (2, 3, *image)).astype(np.float64)
    cut = windows(z, axes_of(image, block, **layout))
    order = [0, 1, *range(2 + n, 2 + 2 * n), *range(2, 2 + n)]
    patches = cut.transpose(order).reshape(2, 3 * int(np.prod(block)), -1)
    x = rng.integers(-9, 10, patches.shape).astype(np.float64)
    y = col2im(x, lengths(*image), lengths(*block), **layout)
    assert y.shape == z.shape
    assert (patches * x).sum() == (z * y).sum()


def test_types():
    wrapped = col2im(np.array([[[100, 100], [100, 100]]], np.int8), lengths(3), lengths(2))
    assert (wrapped.tolist(), wrapped.dtype) == ([[[100, -56, 100]]], np.int8)
    either = col2im(np.array([[[True, False], [True, False]]]), lengths(3), lengths(2))
    assert (either.tolist(), either.dtype) == ([[[True, True, False]]], bool)
    assert col2im(np.full((1, 2, 2), 1 + 2j), lengths(3), lengths(2)).tolist() == [[[1 + 2j, 2 + 4j, 1 + 2j]]]
    assert col2im(np.zeros((0, 4, 6)), lengths(3, 4), lengths(2, 2)).shape == (0, 1, 3, 4)


@pytest.mark.parametrize(
    ("shape", "image", "block", "attributes"),
    [
        ((1, 3, 3), (4,), (2,), {}),  # no multiple of a block
        ((1, 2, 4), (4,), (2,), {}),  # one block too many
        ((1, 2, 1), (1,), (2,), {}),  # the block does not fit
        ((1, 2, 1), (2, 2), (2,), {}),
        ((2, 1), (2,), (2,), {}),
        ((1, 2, 3), (4,), (2,), {"strides": [0]}),
        ((1, 2, 2), (4,), (2,), {"pads": [0, -1]}),
        ((1, 2, 3), (4,), (2,), {"pads": [0]}),
        ((1, 2, 3), (4,), (2,), {"dilations": [1, 1]}),
        ((1, 0, 5), (4,), (0,), {}),
    ],
)
def test_what_does_not_fit_is_refused(shape, image, block, attributes):
    with pytest.raises(ValueError, match=r"rank|hold|below|exceeds|entries"):
        col2im(np.zeros(shape), lengths(*image), lengths(*block), **attributes)


def test_strings_are_refused():
    with pytest.raises(ValueError, match="strings"):
        col2im(np.array([[["a"]]], object), lengths(1), lengths(1))
