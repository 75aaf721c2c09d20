"""GridSample, AffineGrid, DeformConv against values worked out by hand: ends, half-ways, padding, groups."""

import numpy as np
import pytest

from reference.ops.convolution import conv
from reference.ops.sampling import (
    affine_grid,
    deform_conv,
    deform_conv_open,
    grid_sample,
    grid_sample_open,
    grid_sample_ties,
)

LINE = [10, 20, 40, 80]


def along(values, *grid, function=grid_sample, dtype=np.float64, **attributes):
    """One axis sampled at the given normalized coordinates."""
    return function(np.array([[values]], dtype), np.array(grid, np.float64).reshape(1, -1, 1), **attributes)[0, 0].tolist()


def test_normalized_coordinates_of_both_alignments():
    # four elements: x = 2g + 3/2 between outer edges, x = 3/2·(g + 1) between the middles of the ends
    assert along(LINE, -0.75, 0, 0.25, 0.75) == [10, 30, 40, 80]
    assert along(LINE, -1, 0, 0.5, 1, align_corners=1) == [10, 30, 50, 80]


@pytest.mark.parametrize(
    ("padding_mode", "wanted"),
    [
        ("zeros", [0, 0, 5, 40, 0]),
        ("border", [10, 10, 10, 80, 80]),
        # -3/2 is 1/2 behind the edge at -1/2, 9/2 is 5/2; -9/2 goes to 7/2, which is an edge itself
        ("reflection", [80, 15, 10, 80, 60]),
    ],
)
def test_linear_outside_the_outer_edges(padding_mode, wanted):
    # x = -9/2, -3/2, -1/2, 7/2, 9/2
    assert along(LINE, -3, -1.5, -1, 1, 1.5, padding_mode=padding_mode) == wanted


def test_reflection_at_the_middles_of_the_ends_goes_on_until_inside():
    # x = 9/2 → 3/2; x = 9 → -3 → 3; x = -3/2 → 3/2
    assert along(LINE, 2, 5, -2, padding_mode="reflection", align_corners=1) == [30, 80, 30]
    assert along([7], -3, 0, 9, padding_mode="reflection", align_corners=1) == [7, 7, 7]
    # one element between edges at -1/2 and 1/2
    assert along([7], -3, 0, 9, padding_mode="reflection") == [7, 7, 7]


def test_nearest_takes_the_even_index_half_way():
    # x = -1/2, 1/2, 3/2, 5/2, 7/2: indices 0, 0, 2, 2, 4
    half_ways = (-1, -0.5, 0, 0.5, 1)
    assert along(LINE, *half_ways, mode="nearest") == [10, 10, 40, 40, 0]
    assert along(LINE, *half_ways, mode="nearest", padding_mode="border") == [10, 10, 40, 40, 80]
    assert along(LINE, *half_ways, mode="nearest", padding_mode="reflection") == [10, 10, 40, 40, 80]


def test_reflection_comes_before_rounding():
    # x = -3/2 is reflected to 1/2, which goes to 0; rounded first it would be -2, reflected to 1
    assert along(LINE, -1.5, mode="nearest", padding_mode="reflection") == [10]


def test_nearest_beyond_the_precision_of_float64():
    # two elements: x = g + 1/2
    assert along([1, 2], 2.0**-60, 0, -(2.0**-60), mode="nearest") == [2, 1, 1]
    # x = g - 3/2 behind the edge: 1/2 + g with its sign turned
    near = [-2 + 2.0**-52, -2, -2 - 2.0**-51]
    assert along([1, 2], *near, mode="nearest", padding_mode="reflection") == [1, 1, 2]


def test_cubic_kernel():
    # Keys with a = -3/4: 19/32 at a distance of 1/2, -3/32 at 3/2; the sum of all is 1
    assert along([32, 0, 0, 0, 0, 0], -2 / 3, 0, mode="cubic") == pytest.approx([19, 0])
    assert along([0, 32, 0, 32, 0, 0], -1 / 3, mode="cubic") == pytest.approx([19 - 3])
    assert along([29] * 8, -0.3, 0.1, mode="cubic") == pytest.approx([29, 29])
    assert along(LINE, -0.75, -0.25, 0.25, 0.75, mode="cubic") == LINE


def test_cubic_names_of_version_16():
    assert along(LINE, 0.1, mode="bicubic") == along(LINE, 0.1, mode="cubic")
    assert along(LINE, 0.1, mode="bilinear") == along(LINE, 0.1)


def test_cubic_border_counts_a_location_outside_as_the_end():
    # x = -7/10: the end; x = -3/10: taps 10 10 10 20, the last at a distance of 13/10 weighs -3/4·147/1000
    assert along(LINE, -1.1, -0.9, mode="cubic", padding_mode="border") == pytest.approx([10, 10 - 7.5 * 0.147])
    marked = along(LINE, -1.5, -1.1, -0.9, 0, np.nan, np.inf, function=grid_sample_open, mode="cubic", padding_mode="border")
    assert marked == [False, True, False, False, True, True]
    assert along(LINE, -1.1, -0.9, np.nan, function=grid_sample_open, mode="cubic") == [False, False, True]


@pytest.mark.parametrize("mode", ["nearest", "linear", "cubic"])
def test_no_finite_location_lies_outside(mode):
    assert along(LINE, np.nan, np.inf, -np.inf, 3e38, mode=mode) == [0, 0, 0, 0]
    assert along(LINE, np.inf, -np.inf, mode=mode, padding_mode="border") == [80, 10]


def test_a_weight_of_zero_adds_nothing():
    assert along([1, np.inf, 3], -1, 0, 1, align_corners=1) == [1, np.inf, 3]
    assert along([np.inf, 1, 2], -2, 1, padding_mode="zeros") == [0, 1]


def test_the_grid_lists_the_innermost_axis_first():
    x = np.arange(24.0).reshape(1, 1, 2, 3, 4)
    grid = np.array([1.0, -1.0, 0.0]).reshape(1, 1, 1, 1, 3)
    # last column, first row, half-way between the two depths
    assert grid_sample(x, grid, align_corners=1).tolist() == [[[[[(3 + 15) / 2]]]]]
    assert grid_sample(x, grid, align_corners=1, mode="nearest").tolist() == [[[[[3]]]]]


def test_each_image_has_its_own_grid():
    x = np.arange(8.0).reshape(2, 1, 2, 2)
    grid = np.array([[[[-1.0, -1.0]]], [[[1.0, 0.0]]]])
    assert grid_sample(x, grid, align_corners=1).ravel().tolist() == [0, 6]


def test_other_types_stay():
    assert along([0, 255], -0.5, 0, align_corners=1, dtype=np.uint8) == [63, 127]  # 63.75 and 127.5
    assert along([-3, 0], 0, align_corners=1, dtype=np.int8) == [-1]
    assert along([3, 3], 0.1, 0.3, align_corners=1, dtype=np.int32) == [3, 3]
    assert along([2j, 4], 0, align_corners=1, dtype=np.complex64) == [2 + 1j]
    assert along(["a", "b"], -0.5, 3, dtype=object, mode="nearest") == ["a", ""]
    assert along([True, False], -0.5, 3, dtype=bool, mode="nearest") == [True, False]


def test_ties_are_half_ways_that_matter():
    ties = {"function": grid_sample_ties, "mode": "nearest"}
    # x = 1/2, just beside it, 9/10
    assert along(LINE, -0.5, -0.5 + 2.0**-22, -0.5 + 2.0**-10, -0.3, **ties) == [True, True, False, False]
    # x = -1/2: either 0 or outside, which is 0 as well unless it is zero
    assert along(LINE, -1, -9, **ties) == [True, False]
    assert along(LINE, -1, -9, **ties, padding_mode="border") == [False, False]
    assert along(LINE, -1, -1.5, **ties, padding_mode="reflection") == [False, True]
    assert along(LINE, -0.5, function=grid_sample_ties) == [False]
    assert along([0, 2], 0, 0.25, function=grid_sample_ties, dtype=np.int8, align_corners=1) == [True, False]


@pytest.mark.parametrize(
    ("attributes", "grid"),
    [
        ({"mode": "area"}, (1, 2, 1)),
        ({"padding_mode": "wrap"}, (1, 2, 1)),
        ({}, (2, 2, 1)),
        ({}, (1, 2, 2)),
        ({}, (1, 2, 2, 1)),
    ],
)
def test_what_does_not_fit_is_an_error(attributes, grid):
    with pytest.raises(ValueError, match=r"unknown|does not fit"):
        grid_sample(np.zeros((1, 1, 4)), np.zeros(grid), **attributes)


def test_empty_tensors():
    assert grid_sample(np.zeros((1, 2, 4)), np.zeros((1, 0, 1))).shape == (1, 2, 0)
    with pytest.raises(ValueError, match="no element"):
        grid_sample(np.zeros((1, 2, 0)), np.zeros((1, 3, 1)))


def test_affine_grid_in_the_plane():
    identity = np.array([[[1.0, 0, 0], [0, 1, 0]]])
    size = np.array([1, 5, 2, 3])
    grid = affine_grid(identity, size)
    np.testing.assert_allclose(grid[0, :, :, 0], [[-2 / 3, 0, 2 / 3]] * 2)
    np.testing.assert_allclose(grid[0, :, :, 1], [[-0.5] * 3, [0.5] * 3])
    np.testing.assert_array_equal(affine_grid(identity, size, align_corners=1)[0, 1], [[-1, 1], [0, 1], [1, 1]])
    other = np.array([[[1.0, 2, 3], [4, 5, 6]]])
    np.testing.assert_array_equal(affine_grid(other, size, align_corners=1)[0, 0, 2], [1 - 2 + 3, 4 - 5 + 6])


def test_affine_grid_in_space():
    theta = np.array([[[0.0, 0, 1, 0], [1, 0, 0, 0], [0, 1, 0, 10]]])
    grid = affine_grid(theta, np.array([1, 1, 2, 3, 2]), align_corners=1)
    # x, y, z = 1, 0, -1 → z, x, y + 10
    np.testing.assert_array_equal(grid[0, 0, 1, 1], [-1, 1, 10])


def test_affine_grid_of_one_element_is_its_middle():
    identity = np.array([[[1.0, 0, 0], [0, 1, 0]]])
    for align_corners in (0, 1):
        grid = affine_grid(identity, np.array([1, 1, 1, 1]), align_corners=align_corners)
        np.testing.assert_array_equal(grid, [[[[0, 0]]]])
    with pytest.raises(ValueError, match="does not fit"):
        affine_grid(identity, np.array([2, 1, 1, 1]))


def test_deformed_without_offsets_is_a_convolution():
    rng = np.random.default_rng(2)
    x, w, b = rng.integers(-9, 9, (2, 4, 6, 5)), rng.integers(-9, 9, (6, 2, 3, 2)), rng.integers(-9, 9, 6)
    layout = {"pads": [1, 0, 2, 1], "strides": [2, 1], "dilations": [1, 2], "group": 2}
    wanted = conv(x.astype(float), w.astype(float), b.astype(float), **layout)
    offset = np.zeros((2, 2 * 12, *wanted.shape[2:]))
    got = deform_conv(x.astype(float), w.astype(float), offset, b.astype(float), offset_group=2, **layout)
    np.testing.assert_array_equal(got, wanted)


def test_offsets_sample_between_elements_and_zeros_around():
    x, w = np.array([[[1.0, 2, 4, 8]]]), np.ones((1, 1, 1))
    # at 1/2, 1/2, 13/4 and 15/4; 6 = 3/4·8
    offset = np.array([[[0.5, -0.5, 1.25, 0.75]]])
    assert deform_conv(x, w, offset).tolist() == [[[1.5, 1.5, 6, 2]]]
    assert deform_conv_open(x, w, offset).tolist() == [[[False, False, True, True]]]
    padded = np.array([[[0.5, -0.5, 1.25, 0.75, 0]]])
    assert deform_conv(x, w, padded, pads=[0, 1]).tolist() == [[[1.5, 1.5, 6, 2, 0]]]
    assert not deform_conv_open(x, w, padded, pads=[0, 1]).any()


def test_offsets_come_tap_by_tap_row_before_column():
    x = np.array([[[[1.0, 2, 3], [4, 5, 6]]]])
    w = np.array([[[[1.0, 10]]]])
    offset = np.zeros((1, 4, 2, 2))
    offset[:, 2] = 1  # the second tap one row down
    assert deform_conv(x, w, offset).tolist() == [[[[51, 62], [4, 5]]]]
    mask = np.ones((1, 2, 2, 2))
    mask[:, 1, 0, 0] = 0.5
    assert deform_conv(x, w, offset, None, mask).tolist() == [[[[26, 62], [4, 5]]]]
    assert deform_conv(x, w, offset, np.array([100.0])).tolist() == [[[[151, 162], [104, 105]]]]


def test_each_offset_group_moves_its_own_channels():
    x = np.array([[[[1.0, 2]], [[10, 20]]]])
    offset = np.zeros((1, 4, 1, 2))
    offset[:, 3] = 1  # the second channel one column to the right
    assert deform_conv(x, np.ones((1, 2, 1, 1)), offset, offset_group=2).tolist() == [[[[21, 2]]]]


def test_a_location_that_is_no_number_is_outside():
    x, w, offset = np.array([[[1.0, 2]]]), np.ones((1, 1, 1)), np.array([[[np.nan, np.inf]]])
    assert deform_conv(x, w, offset).tolist() == [[[0, 0]]]
    assert deform_conv_open(x, w, offset).all()


def test_deformed_empty_batches_give_empty_batches():
    x, w, offset = np.zeros((0, 2, 3, 3)), np.ones((4, 2, 2, 2)), np.zeros((0, 16, 2, 2))
    mask = np.ones((0, 8, 2, 2))
    assert deform_conv(x, w, offset, None, mask, offset_group=2).shape == (0, 4, 2, 2)
    assert deform_conv_open(x, w, offset, None, mask, offset_group=2).shape == (0, 1, 2, 2)


def test_deformed_shapes_are_checked():
    x, w = np.zeros((1, 2, 4)), np.zeros((1, 2, 3))
    with pytest.raises(ValueError, match="offset of shape"):
        deform_conv(x, w, np.zeros((1, 3, 4)))
    with pytest.raises(ValueError, match="mask of shape"):
        deform_conv(x, w, np.zeros((1, 3, 2)), None, np.zeros((1, 2, 2)))
    with pytest.raises(ValueError, match="kernel_shape"):
        deform_conv(x, w, np.zeros((1, 3, 2)), kernel_shape=[2])
    with pytest.raises(ValueError, match="groups"):
        deform_conv(x, w, np.zeros((1, 3, 2)), group=2)
