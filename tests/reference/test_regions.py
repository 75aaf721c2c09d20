"""RoiAlign, MaxRoiPool, NonMaxSuppression, MaxUnpool against values worked out by hand: counts, borders, thresholds, ties."""

import numpy as np
import pytest

from reference.ops.pooling import max_pool
from reference.ops.regions import (
    max_roi_pool,
    max_roi_pool_ties,
    max_unpool,
    max_unpool_open,
    non_max_suppression,
    non_max_suppression_open,
    non_max_suppression_ties,
    roi_align,
    roi_align_10,
    roi_align_open,
    roi_align_ties,
)

PLANE = np.arange(16.0).reshape(1, 1, 4, 4)
"""4·row + column: interpolation gives the same formula between the elements."""
ROW = np.array([[[[10.0, 11, 12, 13]]]])
LEGACY = {"coordinate_transformation_mode": "output_half_pixel"}


def aligned(x, *rois, function=roi_align, images=None, **attributes):
    """Results of regions of one channel."""
    images = np.zeros(len(rois), np.int64) if images is None else np.array(images)
    return function(x, np.array(rois, np.float64).reshape(-1, 4), images, **attributes)[:, 0].tolist()


def test_half_pixels():
    square = {"output_height": 2, "output_width": 2, "sampling_ratio": 1}
    # the region 0 to 4 begins at the coordinate -1/2, bins are 2 long: points at 1/2 and 5/2; without the shift at 1 and 3
    assert aligned(PLANE, [0, 0, 4, 4], **square) == [[[2.5, 4.5], [10.5, 12.5]]]
    assert aligned(PLANE, [0, 0, 4, 4], **square, **LEGACY) == [[[5, 7], [13, 15]]]
    assert aligned(PLANE, [0, 0, 4, 4], **square, function=roi_align_10) == [[[5, 7], [13, 15]]]
    assert aligned(PLANE, [0, 0, 8, 8], **square, spatial_scale=0.5) == [[[2.5, 4.5], [10.5, 12.5]]]


def test_coordinates_are_x_before_y():
    # 4 wide, 2 high from row 1: rows 0.5 + 1 ± 1/2, columns as above
    got = aligned(PLANE, [0, 1, 4, 3], output_height=2, output_width=2, sampling_ratio=1)
    assert got == [[[4.5, 6.5], [8.5, 10.5]]]


def test_average_and_maximum_of_the_points():
    # two points to a bin and axis: 0 1 | 2 3
    attributes = {"output_height": 2, "output_width": 2, "sampling_ratio": 2}
    assert aligned(PLANE, [0, 0, 4, 4], **attributes) == [[[2.5, 4.5], [10.5, 12.5]]]
    assert aligned(PLANE, [0, 0, 4, 4], **attributes, mode="max") == [[[5, 7], [13, 15]]]
    assert aligned(PLANE, [0, 0, 4, 4], output_height=2, output_width=2, mode="max") == [[[5, 7], [13, 15]]]


def test_maximum_is_taken_after_interpolation():
    # one point in the middle of four elements, a quarter of each
    assert aligned(np.full((1, 1, 2, 2), 8.0), [0, 0, 2, 2], sampling_ratio=1, mode="max") == [[[8]]]
    assert aligned(np.full((1, 1, 2, 2), -8.0), [0, 0, 2, 2], sampling_ratio=1, mode="max") == [[[-8]]]


def test_adaptive_count_is_the_ceiling_of_the_exact_width():
    x = np.arange(8.0).reshape(1, 1, 1, 8)
    wide = {"output_width": 3, "mode": "max"}
    # 30·0.1f exceeds 3 by 4e-8: two points to a bin of 1, at ±1/4 around 0, 1, 2
    more = aligned(x, [0, 0, 30, 10], spatial_scale=float(np.float32(0.1)), **wide)
    np.testing.assert_allclose(more, [[[0.25, 1.25, 2.25]]], rtol=1e-6)
    # 3·1 does not
    assert aligned(x, [0, 0, 3, 1], **wide) == [[[0, 1, 2]]]
    assert aligned(x, [0, 0, 3, 1], **wide, function=roi_align_ties) == [[[True] * 3]]
    assert aligned(x, [0, 0, 3.5, 0.5], **wide, function=roi_align_ties) == [[[False] * 3]]


def test_points_outside():
    one = {"sampling_ratio": 1, **LEGACY}
    # points at -1, just before, at 4 (the length), just behind; a row at 1/2 counts as the only one
    assert aligned(ROW, [-2, 0, 0, 1], **one) == [[[10]]]
    assert aligned(ROW, [-2.0001, 0, 0, 1], **one) == [[[0]]]
    assert aligned(ROW, [3, 0, 5, 1], **one) == [[[13]]]
    assert aligned(ROW, [3, 0, 5.0001, 1], **one) == [[[0]]]
    edges = [[-2, 0, 0, 1], [-2.0001, 0, 0, 1], [3, 0, 5, 1], [1, 0, 2, 1], [1, 0, 2, 3]]
    assert aligned(ROW, *edges, function=roi_align_ties, **one) == [[[True]], [[False]], [[True]], [[False]], [[False]]]
    assert aligned(ROW, [40, 40, 50, 50]) == [[[0]]]


def test_the_side_of_the_border_is_exact():
    # the point is -1 - 2^-61, which float64 has as -1
    assert aligned(ROW, [-2, 0, -(2.0**-60), 1], sampling_ratio=1, **LEGACY) == [[[0]]]


def test_small_and_reversed_regions():
    # at least 1 long without the shift; a point at the corner with it, if a count is given
    assert aligned(ROW, [1, 0, 1, 0], **LEGACY) == [[[11.5]]]
    assert aligned(ROW, [1, 0, 1, 0], **LEGACY, function=roi_align_open) == [[[True]]]
    assert aligned(ROW, [1.5, 0.5, 1.5, 0.5], sampling_ratio=1) == [[[11]]]
    assert aligned(ROW, [1.5, 0.5, 1.5, 0.5]) == [[[0]]]
    assert aligned(ROW, [1.5, 0.5, 1.5, 0.5], function=roi_align_open) == [[[True]]]
    assert aligned(ROW, [1.5, 0.5, 1.5, 0.5], function=roi_align_open, sampling_ratio=1) == [[[False]]]
    # from 7/2 backwards in steps of 2
    assert aligned(ROW, [4, 0, 0, 1], output_width=2, sampling_ratio=1) == [[[12.5, 10.5]]]


def test_infinite_elements_count_where_they_weigh():
    x = np.array([[[[1.0, np.inf, -np.inf, 4, np.nan]]]])
    regions = [0, 0, 1, 1], [1, 0, 2, 1], [1.5, 0, 2.5, 1], [3, 0, 4, 1], [4, 0, 5, 1]
    np.testing.assert_array_equal(np.ravel(aligned(x, *regions, sampling_ratio=1)), [1, np.inf, np.nan, 4, np.nan])


def test_each_region_has_its_image():
    x = np.concatenate([PLANE, PLANE + 100])
    assert aligned(x, [0, 0, 2, 2], [0, 0, 2, 2], images=[1, 0], sampling_ratio=1) == [[[102.5]], [[2.5]]]
    assert aligned(x) == []
    with pytest.raises(ValueError, match="batch_indices"):
        aligned(x, [0, 0, 1, 1], images=[2])
    with pytest.raises(ValueError, match="rois"):
        aligned(x, [0, 0, 1, np.nan])
    with pytest.raises(ValueError, match="unknown"):
        aligned(x, [0, 0, 1, 1], mode="sum")


GRID = np.arange(1.0, 37).reshape(1, 1, 6, 6)


def pooled(*rois, function=max_roi_pool, shape=(2, 2), x=GRID, **attributes):
    return function(x, np.array(rois, np.float64), pooled_shape=shape, **attributes)[:, 0].tolist()


def test_corners_are_rounded_away_from_zero_and_bins_overlap():
    # 1/2 → 1, 5/2 → 3, 7/2 → 4: columns 1 to 3 in bins of 3/2: 1 2 | 2 3; rows 1 to 4: 1 2 | 3 4
    assert pooled([0, 0.5, 0.5, 2.5, 3.5]) == [[[15, 16], [27, 28]]]
    assert pooled([0, 1, 1, 5, 7], spatial_scale=0.5) == [[[15, 16], [27, 28]]]
    # -1/2 → -1: columns -1 to 1 in bins of 3/2: 0 | 0 1
    assert pooled([0, -0.5, 0, 1, 0], shape=(1, 2)) == [[[1, 2]]]


def test_bins_outside_are_zero_and_reversed_regions_one_long():
    assert pooled([0, 0, 0, 20, 20]) == [[[36, 0], [0, 0]]]
    assert pooled([0, 7, 7, 9, 9]) == [[[0, 0], [0, 0]]]
    assert pooled([0, 4, 4, 1, 1]) == [[[29, 29], [29, 29]]]
    assert pooled([0, 0, 0, 0, 0], x=-GRID) == [[[-1, -1], [-1, -1]]]


def test_pooled_regions_name_their_image():
    x = np.concatenate([GRID, GRID + 100])
    assert pooled([1, 0, 0, 0, 0], [0, 0, 0, 0, 0], x=x, shape=(1, 1)) == [[[101]], [[1]]]
    for image in (2, -1, 0.5):
        with pytest.raises(ValueError, match="batch numbers"):
            pooled([image, 0, 0, 1, 1], x=x)
    with pytest.raises(ValueError, match="rois"):
        pooled([0, 0, 0, np.inf, 1])


def test_ties_of_pooled_regions():
    ties = {"function": max_roi_pool_ties, "x": np.zeros((1, 1, 20, 20))}
    assert pooled([0, 0.5, 0, 3, 3], [0, 0.4, 0, 3, 3], **ties) == [[[True] * 2] * 2, [[False] * 2] * 2]
    # ten elements in six bins of 5/3: ends at 5 and 10; in four bins of 5/2 nothing is rounded
    assert pooled([0, 0, 0, 9, 9], shape=(1, 6), **ties) == [[[False, False, True, True, False, True]]]
    assert pooled([0, 0, 0, 9, 9], shape=(1, 4), **ties) == [[[False] * 4]]


def select(boxes, scores, most=10, overlap=None, least=None, function=non_max_suppression, **attributes):
    """Boxes that one image and class keeps, or a mask."""
    limits = [None if v is None else np.array([v]) for v in (most, overlap, least)]
    got = function(np.array([boxes], np.float64), np.array([[scores]], np.float64), *limits, **attributes)
    return got[:, 2].tolist() if function is non_max_suppression else bool(got.item())


def test_an_overlap_at_the_threshold_stays():
    boxes, scores = [[0, 0, 1, 1], [0, 0, 0.5, 1]], [0.9, 0.8]
    assert select(boxes, scores, overlap=0.5) == [0, 1]
    assert select(boxes, scores, overlap=0.4999) == [0]
    assert select(boxes, scores, overlap=0.5, function=non_max_suppression_ties)
    assert not select(boxes, scores, overlap=0.4999, function=non_max_suppression_ties)


def test_boxes_that_almost_meet():
    for gap, tie in ((0, True), (2.0**-22, True), (2.0**-10, False)):
        boxes = [[0, 0, 1, 1], [0, 1 + gap, 1, 2]]
        assert select(boxes, [2, 1], overlap=0) == [0, 1]
        assert select(boxes, [2, 1], overlap=0, function=non_max_suppression_ties) == tie
    # each box shares 2/3 with the next one, 3/7 with the one behind it
    row = [[0, 2 * i, 10, 2 * i + 10] for i in range(6)]
    assert select(row, [6, 5, 4, 3, 2, 1], overlap=0.5) == [0, 2, 4]


def test_overlap_and_threshold_are_compared_exactly():
    # 7/10 exceeds 0.7f, 3/10 is below 0.3f, although the quotients round to them
    assert select([[0, 0, 10, 1], [0, 0, 7, 1]], [2, 1], overlap=float(np.float32(0.7))) == [0]
    assert select([[0, 0, 10, 1], [0, 0, 3, 1]], [2, 1], overlap=float(np.float32(0.3))) == [0, 1]
    # 8398696·47366 exceeds 10642865/2^24 of 8496545·73807 by 2^-24: one part in 2^63
    height, width = 73807, 8496545
    assert 8398696 * 47366 * 2**24 - 10642865 * height * width == 1
    boxes = [[0, 0, height, width], [0, 0, 47366, 8398696]]
    assert select(boxes, [2, 1], overlap=10642865 / 2**24) == [0]
    assert select(boxes, [2, 1], overlap=10642866 / 2**24) == [0, 1]


def test_any_diagonal_and_centres():
    boxes = [[1, 1, 0, 0], [0, 1, 1, 0], [2, 2, 3, 3]]
    assert select(boxes, [1, 2, 3], overlap=0.5) == [2, 1]
    # centre and size: the same unit square twice, and a neighbour that touches it
    centred = [[0.5, 0.5, 1, 1], [0.5, 0.5, 1, 1], [1.5, 0.5, 1, 1]]
    assert select(centred, [3, 2, 1], overlap=0.5, center_point_box=1) == [0, 2]
    # x before y: 2 wide and 1 high around (1, 1/2), and 1 wide and 2 high around (1/2, 1), share 1 of 3
    crossed = [[1, 0.5, 2, 1], [0.5, 1, 1, 2]]
    assert select(crossed, [2, 1], overlap=0.34, center_point_box=1) == [0, 1]
    assert select(crossed, [2, 1], overlap=0.33, center_point_box=1) == [0]


def test_without_area_nothing_overlaps():
    assert select([[1, 1, 1, 2], [1, 1, 1, 2], [0, 0, 3, 3]], [3, 2, 1]) == [0, 1, 2]
    # touching squares have an overlap of 0, which is not greater than the default threshold
    assert select([[0, 0, 1, 1], [0, 1, 1, 2], [0, 0.9, 1, 2]], [3, 2, 1]) == [0, 1]
    assert select([[0, 0, 1, 1], [5, 5, 6, 6]], [3, 2], function=non_max_suppression_ties) is False
    assert select([[0, 0, 1, 1], [0, 1, 1, 2]], [3, 2], function=non_max_suppression_ties) is True


def test_equal_scores_go_by_number():
    boxes = [[0, 0, 1, 1], [2, 2, 3, 3], [4, 4, 5, 5]]
    assert select(boxes, [0.5, 0.7, 0.5]) == [1, 0, 2]
    assert select(boxes, [0.5, 0.7, 0.5], function=non_max_suppression_open)
    assert not select(boxes, [0.5, 0.7, 0.5], least=0.6, function=non_max_suppression_open)
    assert not select(boxes, [0.5, 0.7, 0.6], function=non_max_suppression_open)


def test_limits():
    boxes = [[0, 0, 1, 1], [2, 2, 3, 3], [4, 4, 5, 5]]
    # less than the threshold is removed, so equal stays
    assert select(boxes, [0.5, 0.25, 0.75], least=0.5) == [2, 0]
    assert select(boxes, [0.5, 0.25, 0.75], most=2) == [2, 0]
    assert select(boxes, [0.5, 0.25, 0.75], most=0) == []
    assert select(boxes, [0.5, 0.25, 0.75], most=None) == []
    assert select(boxes, [-1, -3, -2]) == [0, 2, 1]
    with pytest.raises(ValueError, match="iou_threshold"):
        select(boxes, [1, 2, 3], overlap=1.5)
    with pytest.raises(ValueError, match="one element"):
        select(boxes, [1, 2, 3], overlap=[0.5, 0.5])


def test_rows_go_by_batch_then_class_then_score():
    boxes = np.array([[[0, 0, 1, 1], [2, 2, 3, 3]]] * 2, np.float64)
    scores = np.array([[[1, 2], [4, 3]], [[5, 6], [0, -1]]], np.float64)
    got = non_max_suppression(boxes, scores, np.array(1))
    np.testing.assert_array_equal(got, [[0, 0, 1], [0, 1, 0], [1, 0, 1], [1, 1, 0]])
    assert got.dtype == np.int64
    empty = non_max_suppression(np.zeros((1, 0, 4)), np.zeros((1, 2, 0)), np.array(3))
    assert empty.shape == (0, 3)
    with pytest.raises(ValueError, match="expected"):
        non_max_suppression(boxes, scores[:1])


def unpool(values, indices, output_shape=None, function=max_unpool, **attributes):
    shape = None if output_shape is None else np.array(output_shape)
    return function(np.array(values, np.float64), np.array(indices), shape, **attributes).tolist()


def test_unpooled_shape_from_the_attributes():
    # (2 - 1)·stride + kernel - pads
    assert unpool([[[5, 6]]], [[[1, 2]]], kernel_shape=[2], strides=[2]) == [[[0, 5, 6, 0]]]
    assert unpool([[[5, 6]]], [[[0, 2]]], kernel_shape=[2]) == [[[5, 0, 6]]]
    assert unpool([[[5, 6]]], [[[0, 3]]], kernel_shape=[3], strides=[2], pads=[0, 1]) == [[[5, 0, 0, 6]]]


def test_indices_count_through_the_whole_output():
    values = [[[5], [6]], [[7], [8]]]
    got = unpool(values, [[[1], [2]], [[5], [7]]], kernel_shape=[2])
    assert got == [[[0, 5], [6, 0]], [[0, 7], [0, 8]]]


def test_unpooling_into_a_given_shape_inverts_pooling():
    x = np.zeros((1, 1, 5, 5))
    x[0, 0, 1, 1], x[0, 0, 1, 3], x[0, 0, 3, 0], x[0, 0, 2, 2] = 1, 2, 3, 4
    best, where = max_pool(x, kernel_shape=[2, 2], strides=[2, 2], n_outputs=2)
    np.testing.assert_array_equal(max_unpool(best, where, np.array(x.shape), kernel_shape=[2, 2], strides=[2, 2]), x)


def test_different_values_with_one_index():
    assert unpool([[[5, 6, 7, 7]]], [[[0, 0, 2, 2]]], kernel_shape=[1]) == [[[6, 0, 7, 0]]]
    marked = unpool([[[5, 6, 7, 7]]], [[[0, 0, 2, 2]]], function=max_unpool_open, kernel_shape=[1])
    assert marked == [[[True, False, False, False]]]


def test_unpooled_places_are_checked():
    for index in (-1, 3):
        with pytest.raises(ValueError, match="indices"):
            unpool([[[5, 6]]], [[[0, index]]], kernel_shape=[2])
    with pytest.raises(ValueError, match="indices"):
        unpool([[[5, 6]]], [[[0]]], kernel_shape=[2])
    with pytest.raises(ValueError, match="output_shape"):
        unpool([[[5, 6]]], [[[0, 1]]], [1, 2, 5], kernel_shape=[2])
