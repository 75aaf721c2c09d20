"""What quantisation and resizing leave open, and their results next to a half-way, by hand."""

import numpy as np

from reference import marks
from reference.node import Node

from .differential.samples import call

MICROSOFT = "com.microsoft"


def single(*values):
    return np.array(values, np.float32)


def one(value, dtype=np.float32):
    return np.array(value, dtype)


def marked(rule, operator, inputs, *, version=21, outputs=1, **attributes):
    """The mask of every output as a flat list."""
    sample = call(operator, inputs, version=version, outputs=outputs, **attributes)
    node = Node.of(sample.model, sample.feeds)
    masks = [rule(node, i) for i in range(outputs)]
    pairs = zip(masks, node.results, strict=True)
    return [np.broadcast_to(False if mask is None else mask, result.shape).ravel().tolist() for mask, result in pairs]


def contributed(rule, operator, inputs, **options):
    return marked(rule, operator, inputs, version=1, domain=MICROSOFT, **options)


ZERO = one(0, np.uint8)


def test_a_range_of_nothing():
    for x, wanted in ((single(0, 0), True), (single(), True), (single(0, 1), False)):
        masks = marked(marks.left_open, "DynamicQuantizeLinear", [x], version=11, outputs=3)
        assert masks == [[wanted] * x.size, [wanted], [wanted]]


def test_dynamic_half_ways():
    # -1 to 1: zero point 127.5. 0 to 255: scale 1
    masks = marked(marks.ties, "DynamicQuantizeLinear", [single(-1, 0.25, 1)], version=11, outputs=3)
    assert masks == [[True] * 3, [False], [True]]
    masks = marked(marks.ties, "DynamicQuantizeLinear", [single(0.5, 1.25, 255)], version=11, outputs=3)
    assert masks == [[True, False, False], [False], [False]]


def test_half_ways_that_single_precision_may_miss():
    # 3/2, 2 and 5/2, exactly, then a ten-millionth and a five-hundredth off
    inputs = [np.array([3, 4, 5], np.uint8), one(0.5), ZERO, np.zeros(3, np.uint8), one(1), ZERO, one(1), ZERO]
    assert contributed(marks.ties, "QLinearAdd", inputs) == [[True, False, True]]
    inputs[1] = one(0.5000001)
    assert contributed(marks.ties, "QLinearAdd", inputs) == [[True, False, True]]
    inputs[1] = one(0.501)
    assert contributed(marks.ties, "QLinearAdd", inputs) == [[False, False, False]]


def test_a_real_product_has_no_half_ways():
    a = np.array([[1, 2]], np.uint8)
    inputs = [a, one(0.5), ZERO, a.T, one(0.5), ZERO]
    assert contributed(marks.ties, "QGemm", inputs) == [[False]]
    assert contributed(marks.ties, "QGemm", [*inputs, None, one(0.5), ZERO]) == [[True]]  # 5/4 over 1/2


def test_products_of_dynamically_quantised_half_ways():
    # scale 1: 0.5 is half-way, 2 is not; the row of 0 and 2 has no part in it
    a, b = single([0.5, 255], [0, 2]), np.array([[1, 0], [1, 1]], np.uint8)
    assert contributed(marks.ties, "DynamicQuantizeMatMul", [a, b, one(1)]) == [[True, False, False, False]]
    # -1 to 1: the zero point is half-way
    assert contributed(marks.ties, "DynamicQuantizeMatMul", [single([-1, 1]), b, one(1)]) == [[True, True]]


def test_averages_of_nothing_and_windows_off_the_beginning():
    x = [np.array([[[1, 2, 3, 4]]], np.uint8), one(1), ZERO, one(1), ZERO]
    # kernel 2 by 2 from 2 before the beginning on: (. .) (1 2) (3 4)
    found = contributed(marks.left_open, "QLinearAveragePool", x, kernel_shape=[2], strides=[2], pads=[2, 0])
    assert found == [[True, False, False]]
    counted = {"kernel_shape": [2], "strides": [2], "pads": [2, 0], "count_include_pad": 1}
    assert contributed(marks.left_open, "QLinearAveragePool", x, **counted) == [[False] * 3]
    # two windows of one element, 3 apart, are centred on four by a padding of 0
    found = contributed(marks.left_open, "QLinearAveragePool", x, kernel_shape=[1], strides=[3], auto_pad="SAME_UPPER")
    assert found == [[False, False]]
    x[0] = np.array([[[1, 2, 3, 4, 5]]], np.uint8)
    found = contributed(marks.left_open, "QLinearAveragePool", x, kernel_shape=[1], strides=[3], auto_pad="SAME_UPPER")
    assert found == [[True, True]]
    x[0] = np.array([[[1], [2]]], np.uint8)
    last = {"kernel_shape": [1], "strides": [1], "pads": [1, 0], "channels_last": 1}
    assert contributed(marks.left_open, "QLinearAveragePool", x, **last) == [[True, False, False]]


def test_a_gate_that_closes_on_an_infinity():
    x = single(-np.inf, np.inf, -1)
    assert contributed(marks.left_open, "QuickGelu", [x]) == [[True, False, False]]
    assert contributed(marks.left_open, "QuickGelu", [x], alpha=-1.0) == [[False, True, False]]
    assert contributed(marks.left_open, "FastGelu", [x, single(1, 1, 1)]) == [[True, False, False]]
    assert contributed(marks.left_open, "BiasGelu", [x, single(1, 1, 1)]) == [[True, False, False]]


def test_a_mean_that_nothing_defines():
    x = single([1, 2])
    found = contributed(marks.left_open, "SkipSimplifiedLayerNormalization", [x, x, single(1, 1)], outputs=4)
    assert found == [[False] * 2, [True], [False], [False] * 2]


def test_resized_integers_beyond_their_type():
    # cubic overshoots both ends
    x = np.array([0, 255], np.uint8)
    sizes = np.array([4])
    found = marked(marks.left_open, "Resize", [x, None, None, sizes], mode="cubic")
    assert found == [[True, False, False, True]]
    assert marked(marks.left_open, "Resize", [x, None, None, sizes], mode="linear") == [[False] * 4]


def test_early_resizing_between_elements():
    # columns at 0, 4/3, 8/3: nothing says which neighbour is nearest
    found = marked(marks.left_open, "Resize", [single(1, 2, 3, 4), single(0.75)], version=10)
    assert found == [[False, True, True]]


def test_a_grid_of_one_element_whose_corners_are_aligned():
    theta = np.ones((1, 2, 3), np.float32)
    for shape, align, wanted in (((1, 2), 1, True), ((1, 2), 0, False), ((2, 2), 1, False)):
        size = np.array([1, 1, *shape])
        found = marked(marks.left_open, "AffineGrid", [theta, size], version=20, align_corners=align)
        assert found == [[wanted] * (2 * shape[0] * shape[1])]


def test_a_string_outside():
    x, grid = np.array([[["a", "b"]]], object), single([[[-0.5], [3.0]]]).reshape(1, 2, 1)
    assert marked(marks.left_open, "GridSample", [x, grid], version=20, mode="nearest") == [[False, True]]
    border = {"mode": "nearest", "padding_mode": "border"}
    assert marked(marks.left_open, "GridSample", [x, grid], version=20, **border) == [[False, False]]
