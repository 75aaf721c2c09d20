"""What ONNX leaves open in pooling, convolution, matrix products and normalisation, by hand."""

import numpy as np
import pytest

from reference import marks
from reference.node import Node

from .differential.samples import call

INF, NAN = np.inf, np.nan


def row(*values, dtype=np.float32):
    return np.array([[values]], dtype)


def open_elements(operator, inputs, *, version=22, outputs=1, **attributes):
    """The mask of every output as a flat list."""
    sample = call(operator, inputs, version=version, outputs=outputs, **attributes)
    node = Node.of(sample.model, sample.feeds)
    masks = [marks.left_open(node, i) for i in range(outputs)]
    pairs = zip(masks, node.results, strict=True)
    return [np.broadcast_to(False if mask is None else mask, result.shape).ravel().tolist() for mask, result in pairs]


def test_windows_that_hold_no_element():
    # Two of padding before three elements: windows (. .) (0 1) (2)
    layout = {"kernel_shape": [2], "strides": [2], "pads": [2, 0], "ceil_mode": 1}
    assert open_elements("AveragePool", [row(1, 2, 3)], **layout) == [[True, False, False]]
    assert open_elements("AveragePool", [row(1, 2, 3)], count_include_pad=1, **layout) == [[False] * 3]
    assert open_elements("MaxPool", [row(1, 2, 3)], outputs=2, **layout) == [[True, False, False]] * 2
    assert open_elements("LpPool", [row(1, 2, 3)], **layout) == [[False] * 3]


@pytest.mark.parametrize("operator", ["AveragePool", "LpPool", "MaxPool"])
def test_negative_padding(operator):
    # One window of one element in three: (1 - 1)·3 + 1 - 3 = -2
    assert open_elements(operator, [row(1, 2, 3)], kernel_shape=[1], strides=[3], auto_pad="SAME_UPPER") == [[True]]
    assert open_elements(operator, [row(1, 2, 3)], kernel_shape=[3], strides=[3], auto_pad="SAME_UPPER") == [[False]]


def test_the_index_of_equal_maxima_and_maxima_with_nan():
    assert open_elements("MaxPool", [row(1, 1, 0, 2)], kernel_shape=[2], outputs=2) == [[False] * 3, [True, False, False]]
    assert open_elements("MaxPool", [row(0, NAN, 2, 3)], kernel_shape=[2], outputs=2) == [[True, True, False]] * 2
    lowest = row(-INF, -INF)
    assert open_elements("MaxPool", [lowest], kernel_shape=[2], pads=[1, 0], outputs=2) == [[False] * 2, [False, True]]


def test_transposed_convolution_beyond_its_taps():
    # Taps reach (2 - 1)·2 + 1 = 3 elements.
    x, w = row(1, 2), row(1)
    for attributes, wanted in (
        ({"output_shape": [3]}, False),
        ({"output_shape": [4]}, False),  # ONNX's node case convtranspose_output_shape has it at the end
        ({"output_shape": [5]}, True),
        ({"auto_pad": "SAME_LOWER"}, False),
        ({"auto_pad": "SAME_UPPER"}, True),
        ({"auto_pad": "VALID"}, False),
    ):
        (mask,) = open_elements("ConvTranspose", [x, w], strides=[2], **attributes)
        assert set(mask) == {wanted}, attributes


def test_products_of_integers_beyond_their_type():
    a, b = np.array([[2**30, 2**30], [1, 1]], np.int32), np.array([[1], [1]], np.int32)
    assert open_elements("Gemm", [a, b]) == [[True, False]]
    assert open_elements("Einsum", [a, b], equation="ij,jk->ik") == [[True, False]]
    assert open_elements("Gemm", [a, -b, -b], beta=2.0) == [[True, False]]
    assert open_elements("Gemm", [b.T, b], alpha=0.5) == [[True]]
    unsigned = [np.ones((1, 1), np.uint32)] * 3
    assert open_elements("Gemm", unsigned, beta=-1.0) == [[True]]
    assert open_elements("Gemm", [a.astype(np.float32), b.astype(np.float32)], alpha=0.5) == [[False, False]]


def test_normalisation_of_equal_values():
    x = np.array([[[[1, 1]], [[1, 2]]]], np.float32)
    assert open_elements("MeanVarianceNormalization", [x], version=13) == [[True, True, False, False]]
    assert open_elements("MeanVarianceNormalization", [x], version=13, axes=[1]) == [[True, False] * 2]
