"""B, Q and the number of products of linear operators against the products themselves, written out or by counting ones."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import helper

from reference import dtypes, exact, magnitudes
from reference.node import Node


def node(operator, inputs, version=22, outputs=("float64",), **attributes):
    """A single node, evaluated; None for an absent input."""
    feeds = {f"x{i}": np.asarray(x) for i, x in enumerate(inputs) if x is not None}
    names = [f"x{i}" if x is not None else "" for i, x in enumerate(inputs)]
    graph = helper.make_graph(
        [helper.make_node(operator, names, [f"y{i}" for i in range(len(outputs))], **attributes)],
        "g",
        [helper.make_tensor_value_info(n, dtypes.ONNX[dtypes.name_of(x.dtype)], x.shape) for n, x in feeds.items()],
        [helper.make_tensor_value_info(f"y{i}", dtypes.ONNX[name], None) for i, name in enumerate(outputs)],
    )
    return Node.of(helper.make_model(graph, opset_imports=[helper.make_opsetid("", version)]), feeds)


def check(found, b, q, terms):
    np.testing.assert_allclose(found.B, b, rtol=1e-14)
    np.testing.assert_allclose(found.Q, q, rtol=1e-14)
    np.testing.assert_array_equal(np.broadcast_to(found.terms, np.shape(found.B)), np.broadcast_to(terms, np.shape(b)))
    assert found.terms.dtype == found.B.dtype == found.Q.dtype == np.float64


def test_matrix_product():
    # rows 1·3 - 2·4 and 0·3 + 5·4
    found = magnitudes.of(node("MatMul", [np.array([[1.0, -2], [0, 5]]), np.array([[3.0], [4]])]))
    check(found, [[11], [20]], [[9 + 64], [400]], 2)


def test_gemm_scales_and_the_bias_is_one_product():
    a, b, c = np.array([[1.0], [-2]]), np.array([[3.0, 1]]), np.array([-1.0])
    found = magnitudes.of(node("Gemm", [a, b, c], transA=1, transB=1, alpha=-2.0, beta=3.0))
    # 2·(1·3 + 2·1) + 3·1; 4·(9 + 4) + 9
    check(found, [[13]], [[61]], 3)
    assert magnitudes.of(node("Gemm", [a, b], transA=1, transB=1)).terms == 2


@pytest.mark.parametrize(
    ("equation", "shapes", "terms"),
    [
        ("ij,jk->ik", [(2, 3), (3, 4)], 3),
        ("ij, kl->", [(2, 3), (4, 5)], 120),
        ("...ij,...j", [(2, 3), (5, 3)], 3),
        ("ii->i", [(3, 3)], 1),
    ],
)
def test_einsum(equation, shapes, terms):
    operands = [np.random.default_rng(1).normal(size=shape) for shape in shapes]
    found = magnitudes.of(node("Einsum", operands, equation=equation))
    plain = equation.replace(" ", "")
    check(found, np.einsum(plain, *map(np.abs, operands)), np.einsum(plain, *map(np.square, operands)), terms)


WINDOWS = [
    {},
    {"pads": [1, 0, 2, 1]},
    {"strides": [2, 3], "dilations": [1, 2], "pads": [2, 2, 2, 2]},
    {"auto_pad": "SAME_LOWER", "strides": [2, 2]},
]


@pytest.mark.parametrize("layout", WINDOWS)
@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("group", [1, 2])
@pytest.mark.parametrize("operator", ["Conv", "ConvTranspose"])
def test_convolutions_count_no_padding(operator, group, bias, layout):
    rng = np.random.default_rng(group)
    x, w, b = rng.normal(size=(2, 4, 7, 6)), rng.normal(size=(4, 4 // group, 3, 2)), rng.normal(size=4)
    given = node(
        operator, [x, w, *[b[: w.shape[1] * group if operator == "ConvTranspose" else 4]] * bias], group=group, **layout
    )
    found = magnitudes.of(given)
    inputs = [x, w, *given.inputs[2:]]
    without = given.again([np.ones_like(x), np.ones_like(w)])[0]
    check(found, given.again([np.abs(v) for v in inputs])[0], given.again([v * v for v in inputs])[0], without + bias)


def test_counts_of_a_transposed_convolution():
    # taps of input i at 2i, 2i + 1, 2i + 2: the even ones between two inputs meet twice
    found = magnitudes.of(node("ConvTranspose", [np.ones((1, 1, 3)), np.ones((1, 1, 3))], strides=[2], output_padding=[1]))
    np.testing.assert_array_equal(found.terms, [1, 1, 2, 1, 2, 1, 1, 0])


def test_reductions_and_means():
    x = np.array([[1.0, -2, 3], [4, 0, -6]])
    axes = np.array([1])
    check(magnitudes.of(node("ReduceSum", [x, axes])), [[6], [10]], [[14], [52]], 3)
    check(magnitudes.of(node("ReduceL1", [x, axes])), [[6], [10]], [[14], [52]], 3)
    check(magnitudes.of(node("ReduceSumSquare", [x, axes])), [[14], [52]], [[1 + 16 + 81], [256 + 1296]], 3)
    check(magnitudes.of(node("ReduceMean", [x, axes])), [[2], [10 / 3]], [[14 / 9], [52 / 9]], 3)
    check(magnitudes.of(node("ReduceMean", [x], keepdims=0)), 16 / 6, 66 / 36, 6)
    check(magnitudes.of(node("GlobalAveragePool", [x[None]])), [[[2], [10 / 3]]], [[[14 / 9], [52 / 9]]], 3)
    check(magnitudes.of(node("GlobalLpPool", [x[None]], p=1)), [[[6], [10]]], [[[14], [52]]], 3)


def test_sums_and_means_of_inputs():
    a, b = np.array([1.0, -2]), np.array([[3.0], [-4]])
    check(magnitudes.of(node("Sum", [a, b, a])), [[5, 7], [6, 8]], [[11, 17], [18, 24]], 3)
    check(magnitudes.of(node("Mean", [a, b])), [[2, 2.5], [2.5, 3]], [[2.5, 13 / 4], [17 / 4, 5]], 2)


@pytest.mark.parametrize(
    ("attributes", "terms"),
    [
        ({}, [1, 2, 3]),
        ({"reverse": 1}, [3, 2, 1]),
        ({"exclusive": 1}, [0, 1, 2]),
        ({"exclusive": 1, "reverse": 1}, [2, 1, 0]),
    ],
)
def test_running_sums(attributes, terms):
    given = node("CumSum", [np.array([[1.0, -2, 3]]), np.array(1)], **attributes)
    b, q = (given.again([np.array([sizes], np.float64), np.array(1)])[0] for sizes in ((1, 2, 3), (1, 4, 9)))
    check(magnitudes.of(given), b, q, terms)


@pytest.mark.parametrize("include", [0, 1])
def test_average_pool_divides_by_what_its_window_counts(include):
    found = magnitudes.of(
        node("AveragePool", [np.array([[[2.0, -4]]])], kernel_shape=[2], pads=[1, 0], count_include_pad=include)
    )
    first = 2 if include else 1  # windows (0, 2) and (2, -4)
    check(found, [[[2 / first, 3]]], [[[(2 / first) ** 2, 5]]], [1, 2])


def test_norms_of_windows_are_linear_for_one_only():
    x = np.array([[[2.0, -4, 1]]])
    check(magnitudes.of(node("LpPool", [x], kernel_shape=[2], p=1)), [[[6, 5]]], [[[20, 17]]], 2)
    assert magnitudes.of(node("LpPool", [x], kernel_shape=[2])) is None
    assert magnitudes.of(node("GlobalLpPool", [x])) is None


def test_scattered_updates():
    data, updates = np.array([1.0, -2, 3]), np.array([4.0, -5, 6])
    given = node("ScatterElements", [data, np.array([1, 1, 0]), updates], reduction="add")
    check(magnitudes.of(given), [7, 11, 3], [37, 45, 9], [2, 3, 1])
    given = node("ScatterND", [data, np.array([[1], [1], [0]]), updates], reduction="add")
    check(magnitudes.of(given), [7, 11, 3], [37, 45, 9], [2, 3, 1])
    assert magnitudes.of(node("ScatterND", [data, np.array([[0]]), updates[:1]])) is None


def test_resize_has_a_weight_per_tap_and_axis():
    # doubled, half_pixel: weights 1, (3/4, 1/4), (1/4, 3/4), 1, the ends from two taps on one element
    found = magnitudes.of(node("Resize", [np.array([1.0, -3]), None, np.float32([2])], mode="linear"))
    check(found, [1, 1.5, 2.5, 3], [1 / 16 + 9 / 16, 9 / 16 + 9 / 16, 1 / 16 + 81 / 16, 9 * 10 / 16], 2)
    found = magnitudes.of(node("Resize", [np.ones((2, 2)), None, np.float32([1, 2])], mode="cubic"))
    np.testing.assert_array_equal(found.terms, np.full((1, 4), 4))
    # Keys' weights at distances 5/4, 1/4, 3/4, 7/4 with a = -3/4: -27, 225, 67, -9 over 256
    np.testing.assert_allclose(found.B[0, 1], (27 + 225 + 67 + 9) / 256)
    np.testing.assert_allclose(found.Q[0, 1], (27**2 + 225**2 + 67**2 + 9**2) / 256**2)
    assert magnitudes.of(node("Resize", [np.ones(2), None, np.float32([2])])) is None


def test_resize_outside_of_its_region_is_one_value():
    given = [np.array([1.0, -3]), np.float32([0, 2]), np.float32([1])]
    attributes = {"coordinate_transformation_mode": "tf_crop_and_resize", "extrapolation_value": -5.0, "mode": "linear"}
    # four outputs at 0, 2/3, 4/3, 2: the last two lie outside
    found = magnitudes.of(node("Resize", given, **attributes))
    np.testing.assert_allclose(found.B[-2:], [5, 5])
    np.testing.assert_allclose(found.Q[-2:], [25, 25])
    np.testing.assert_array_equal(found.terms, [1, 2, 1, 1])


def test_earlier_versions_of_resize():
    # asymmetric: 0, 1/2, 1, 3/2
    x, wanted = np.array([2.0, -4]), ([2, 3, 4, 4], [4, 5, 16, 8], [1, 2, 1, 2])
    for operator, version in (("Resize", 10), ("Upsample", 9)):
        check(magnitudes.of(node(operator, [x, np.float32([2])], version=version, mode="linear")), *wanted)
    check(magnitudes.of(node("Upsample", [x], version=7, scales=[2.0], mode="linear")), *wanted)
    found = magnitudes.of(node("Upsample", [x.reshape(1, 1, 1, 2)], 1, height_scale=1.0, width_scale=2.0, mode="bilinear"))
    check(found, *([[[values]]] for values in wanted))


def test_integers_count_from_their_zero_points():
    a, b = np.array([[3, 1]], np.uint8), np.array([[4], [2]], np.uint8)
    zero = np.array(2, np.uint8)
    check(magnitudes.of(node("MatMulInteger", [a, b, zero, zero], outputs=["int32"])), [[2 + 0]], [[4]], 2)
    x, w = np.array([[[3, 1]]], np.uint8), np.array([[[4, 3]]], np.uint8)
    found = magnitudes.of(node("ConvInteger", [x, w, zero, zero], pads=[1, 0], outputs=["int32"]))
    check(found, [[[1, 3]]], [[[1, 5]]], [1, 2])
    assert magnitudes.of(node("ConvInteger", [x, w], outputs=["int32"])).B == 15


def test_quantised_operators_count_in_real_values():
    half, zero, one = np.float32(0.5), np.array(2, np.uint8), np.float32(1)
    a, b = np.array([[3, 1]], np.uint8), np.array([[4, 4], [2, 3]], np.uint8)
    found = magnitudes.of(
        node("QLinearMatMul", [a, half, zero, b, np.float32([1, 2]), np.full(2, 2, np.uint8), one, zero], outputs=["uint8"])
    )
    check(found, [[1, 0.5 * 4 + 0.5 * 2]], [[1, 4 + 1]], 2)
    x, w, bias = np.array([[[3, 1]]], np.uint8), np.array([[[4, 3]]], np.uint8), np.array([-6], np.int32)
    given = node("QLinearConv", [x, half, zero, w, half, zero, one, zero, bias], outputs=["uint8"])
    check(magnitudes.of(given), [[[(2 + 1 + 6) / 4]]], [[[(4 + 1 + 36) / 16]]], 3)


def test_what_is_not_finite_counts_as_nothing():
    found = magnitudes.of(node("ReduceSum", [np.array([[1.0, np.inf, -2], [np.nan, 1e200, 1]]), np.array([1])]))
    check(found, [[3], [1e200]], [[5], [np.inf]], 3)
    found = magnitudes.of(node("MatMul", [np.array([[1e200, 1]]), np.array([[0.0], [2]])]))
    np.testing.assert_array_equal([found.B, found.Q], [[[2]], [[np.inf]]])


def test_a_sum_of_one_is_kept_apart_from_its_square():
    x = np.array([[[2.0, -3]]])
    check(magnitudes.of(node("Sum", [x])), np.abs(x), x * x, 1)
    check(magnitudes.of(node("AveragePool", [x], kernel_shape=[1])), np.abs(x), x * x, 1)


def test_other_operators_have_none():
    assert magnitudes.of(node("Relu", [np.ones(2)])) is None


def test_magnitudes_are_computed_in_float64_inside_exact_sums():
    found = magnitudes.of(node("ReduceSum", [np.array([1e16, 1.0, 1])]))
    with exact.sums():
        assert found.B in (1e16, 1e16 + 2)
