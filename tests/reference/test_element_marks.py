"""What ONNX leaves open in arithmetic, activations, reductions and casts, by hand."""

import numpy as np
import pytest

from reference import dtypes, marks
from reference.node import Node

from .differential.samples import call

INF, NAN = np.inf, np.nan


def open_elements(operator, inputs, *, version=25, outputs=1, **attributes):
    """The mask of the first output as a list."""
    sample = call(operator, inputs, version=version, outputs=outputs, **attributes)
    node = Node.of(sample.model, sample.feeds)
    mask = marks.left_open(node, 0)
    return np.broadcast_to(False if mask is None else mask, node.results[0].shape).tolist()


def cast(x, to, version=25):
    return open_elements("Cast", [np.asarray(x)], version=version, to=dtypes.ONNX[to])


def single(*values):
    return np.array(values, np.float32)


def test_casts_of_reals():
    assert cast(single(127.5, 128, -129, NAN, INF), "int8") == [False, True, True, True, True]
    assert cast(single(7.4, 7.5, -8.5, -0.5), "int4") == [False, True, False, False]
    assert cast(single(0.5, -0.0, -1, NAN), "float8_e8m0fnu") == [False, True, True, False]
    assert cast(single(NAN, INF), "float4_e2m1fn", 28) == [True, False]
    assert cast(single(NAN, INF), "float8_e4m3fn") == [False, False]
    assert cast(single(1, NAN, INF), "str") == [True, False, False]
    assert cast(single(NAN, 0.1), "bool") == [False, False]


def test_casts_of_integers_bool_and_strings():
    assert cast(np.array([300, -1]), "uint8") == [False, False]
    assert cast(np.array([-1, 0]), "float8_e8m0fnu") == [True, False]
    assert cast(np.array([7]), "str") == [False]
    assert cast(np.array([True]), "str") == [True]
    words = np.array(["7", "2.5", "300", "INF"], object)
    assert cast(words, "int8") == [False, True, True, True]
    assert cast(words, "float32") == [False] * 4
    assert cast(words, "bool") == [True] * 4


def test_shifts_beyond_the_width_are_open_before_opset_28():
    x, amount = np.array([1, 1], np.uint8), np.array([7, 8], np.uint8)
    assert open_elements("BitShift", [x, amount], version=11, direction="LEFT") == [False, True]
    assert open_elements("BitShift", [x, amount], version=28, direction="LEFT") == [False, False]


@pytest.mark.parametrize(
    ("operator", "x", "wanted"),
    [
        ("ReduceSum", [2**31 - 1, 1], True),
        ("ReduceSum", [-(2**31), 0], False),
        ("ReduceProd", [2**16, 2**15], True),
        ("ReduceSumSquare", [46341, 0], True),  # 46341² = 2,147,488,281
        ("ReduceL1", [-(2**31), 0], True),
        ("ReduceL2", [-(2**31), 0], True),
        ("ReduceMean", [2**31 - 1, 2**31 - 1], False),
        ("ReduceLogSum", [0, 0], True),
        ("ReduceLogSum", [2, -1], False),
    ],
)
def test_integer_reductions(operator, x, wanted):
    assert open_elements(operator, [np.array(x, np.int32)], keepdims=0) == wanted


def test_reductions_of_nothing():
    for kind, wanted in (("float32", False), ("int32", True)):
        assert open_elements("ReduceLogSumExp", [np.zeros(0, kind)], keepdims=0) == wanted
        assert open_elements("ReduceMean", [np.zeros(0, kind)], keepdims=0)
        assert not open_elements("ReduceSum", [np.zeros(0, kind)], keepdims=0)


def test_the_order_of_top_k():
    x, k = single(1, 3, 2), np.array([2])
    assert open_elements("TopK", [x, k], outputs=2, sorted=0) == [True, True]
    assert open_elements("TopK", [x, k], outputs=2) == [False, False]


def test_nan_in_hardmax():
    x = single(1, NAN, 1, 2).reshape(1, 2, 2)
    assert open_elements("Hardmax", [x]) == [[[True, True], [False, False]]]
    assert open_elements("Hardmax", [x], version=11) == [[[True, True], [True, True]]]


def test_gates_that_close_at_infinity():
    x = single(INF, -INF, 1)
    assert open_elements("Swish", [x], alpha=2.0) == [False, True, False]
    assert open_elements("Swish", [x], alpha=-2.0) == [True, False, False]
    assert open_elements("SwiGLU", [x, x], version=28) == [False, True, False]


def test_infinities_between_limits_of_clip():
    x = single(-INF, INF)
    assert open_elements("Clip", [x, np.float32(0)]) == [False, True]
    assert open_elements("Clip", [x], version=6, max=1.0) == [True, False]


def test_integers_that_shrink_out_of_range_and_erf_of_integers():
    assert open_elements("Shrink", [np.array([1, 9], np.uint8)], bias=2.0) == [True, False]
    assert open_elements("Erf", [np.array([0, 1])], version=9) == [False, True]
