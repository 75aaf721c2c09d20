"""Right results near the ends of a format's range, in whatever order a device computes; and wrong ones that hide there."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import TensorProto, helper

from reference.dtypes import numpy_dtype
from reference.node import Node
from reference.verify import Profile, verify
from tests.verification.single_nodes import model

AXIS = np.array([1])
FLUSHING = Profile.of({"float32": "fp32-faithful"})


def half(*values):
    return np.array([values], np.float16)


def single(*values):
    return np.array([values], np.float32)


def double(*values):
    return np.array([values], np.float64)


def verdict(operator, inputs, got, version=13, profile=None, **attributes):
    got = np.asarray(got)
    made, feeds = model(operator, inputs, (got.dtype.name,), version, **attributes)
    return verify(made, feeds, {"y0": got}, profile)[0]


CHAIN = {"equation": "ij,jk,kl->il"}
RIGHT = {
    "squares of large doubles": ("LpNormalization", [double(3e200, 4e200)], double(0.6, 0.8), 22, {"axis": 1}),
    "squares of small doubles": ("LpNormalization", [double(3e-200, 4e-200)], double(0.6, 0.8), 22, {"axis": 1}),
    "a sum of large doubles": ("ReduceLogSum", [double(1e308, 1e308), AXIS], double(np.log(2) + np.log(1e308)), 18, {}),
    "products of either sign overflow": ("MatMul", [single(-1e38, 1e20), single(3e38, 1e20).T.copy()], single(np.nan), 13, {}),
    "two of three factors overflow": ("Einsum", [half(300), half(300), half(0.001)], half(np.inf), 13, CHAIN),
    "infinity meets a zero": ("Einsum", [half(300), half(300), half(0)], half(np.nan), 13, CHAIN),
    "two of three factors underflow": ("Einsum", [half(1e-4), half(1e-4), half(1e4)], half(0), 13, CHAIN),
    "squares overflow": ("LpNormalization", [half(300, 400)], half(0, 0), 22, {"axis": 1}),
    "squares underflow": ("LpNormalization", [half(1e-4, 1e-4)], half(np.inf, np.inf), 22, {"axis": 1}),
    "a sum overflows before its logarithm": ("ReduceLogSum", [half(40000, 40000), AXIS], half(np.inf), 18, {}),
    "squares of doubles underflow": ("ReduceL2", [double(1e-170, 1e-170), AXIS], double(0), 18, {}),
    "alpha times an operand": ("Gemm", [half(100), half(0.001)], half(np.inf), 13, {"alpha": 1000.0}),
    "the mean of subnormals, divided first": (
        "ReduceMean", [np.array([[1, 1], [4, 4]], np.float16) * np.float16(2**-24), AXIS],
        np.array([[0], [4]], np.float16) * np.float16(2**-24), 18, {},
    ),
    "twice the argument overflows": ("Gelu", [single(2e38)], single(np.inf), 20, {}),
}  # fmt: skip


@pytest.mark.parametrize("what", RIGHT)
def test_a_right_result_is_no_mismatch(what):
    operator, inputs, got, version, attributes = RIGHT[what]
    assert verdict(operator, inputs, got, version, **attributes).status != "mismatch"


def test_an_overflowing_square_of_a_response_normalisation():
    x = np.full((1, 1, 1, 1), 6656, np.float16)
    assert verdict("LRN", [x], np.zeros_like(x), 13, size=1).status != "mismatch"


def test_a_gain_may_overflow_when_it_is_folded():
    x, scale, shift, mean, variance = (np.array([v], np.float16) for v in (0.0, 300.0, 0.0, 0.001, 0.0))
    inputs = [x.reshape(1, 1), scale, shift, mean, variance]
    assert verdict("BatchNormalization", inputs, half(-np.inf), 15, epsilon=1e-5).status != "mismatch"


def test_a_flushed_remainder_is_right_at_that_rung_only():
    inputs = [single(1.5 * 2**-126), single(2**-126)]
    assert verdict("Mod", inputs, single(0), 13, FLUSHING, fmod=1).status != "mismatch"
    assert verdict("Mod", inputs, single(0), 13, fmod=1).status == "mismatch"


def test_of_two_zeros_either_may_be_the_larger():
    made, feeds = model("TopK", [np.array([0.0, -0.0], np.float32), np.array([1])], ("float32", "int64"), 11, sorted=0)
    for index in (0, 1):
        got = {"y0": np.array([(0.0, -0.0)[index]], np.float32), "y1": np.array([index])}
        assert [v.status for v in verify(made, feeds, got)] == ["pass", "pass"]
    got = {"y0": np.array([0.0], np.float32), "y1": np.array([1])}  # the other zero's sign
    assert "mismatch" in [v.status for v in verify(made, feeds, got)]


ROWS = np.ones((4, 3), np.float16)


def rows(first, result):
    """Sums of four rows, the others of which are right."""
    x = ROWS.copy()
    x[0] = first
    return verdict("ReduceSum", [x, AXIS], np.array([[result], [3], [3], [3]], np.float16), 13).status


@pytest.mark.parametrize("wrong", [5.0, np.inf, -np.inf])
def test_a_sum_with_nan_is_nan_also_where_others_overflow(wrong):
    assert rows([np.nan, 40000, 40000], wrong) == "mismatch"
    assert rows([np.nan, 40000, 40000], np.nan) == "pass"


@pytest.mark.parametrize("wrong", [123.0, np.inf, -np.inf, np.nan])
def test_a_sum_that_cancels_within_the_range_is_judged(wrong):
    assert rows([40000, -40000, 0], wrong) == "mismatch"
    assert rows([40000, -40000, 0], 0.0) != "mismatch"


def test_a_window_in_the_padding_has_fewer_terms_that_may_overflow():
    x = np.full((1, 1, 4), 60000, np.float16)
    for first, status in ((np.inf, "mismatch"), (60000, "pass")):
        got = np.array([[[first, 60000, 60000, 60000, 60000]]], np.float16)
        assert verdict("AveragePool", [x], got, 11, kernel_shape=[2], pads=[1, 1]).status == status


@pytest.mark.parametrize("operator", ["Identity", "Neg", "Relu", "Max"])
def test_a_rung_below_does_not_let_moved_infinities_be_clamped(operator):
    x = single(np.inf, 1)
    got = single(3.4028235e38, 1) * np.float32(-1 if operator == "Neg" else 1)
    assert verdict(operator, [x], got, 13, FLUSHING).status == "mismatch"


def products(dtype, k=512):
    rng = np.random.default_rng(k)
    a, b = (rng.normal(size=shape).astype(dtype) for shape in ((64, k), (k, 48)))
    made, feeds = model("MatMul", [a, b], (np.dtype(dtype).name,), 13)
    return made, feeds, (a.astype(np.float32) @ b.astype(np.float32)).astype(dtype)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_a_single_wrong_element_does_not_hide_in_the_bound_of_a_long_sum(dtype):
    made, feeds, got = products(numpy_dtype(dtype))
    assert verify(made, feeds, {"y0": got}, random=True)[0].status == "pass"
    at = np.unravel_index(np.argmax(np.abs(got.astype(np.float32))), got.shape)
    got[at] = 0
    found = verify(made, feeds, {"y0": got}, random=True)[0]
    assert (found.status, found.tier) == ("mismatch", "tier 2")
    assert str([int(i) for i in at]) in found.message + found.diagnosis[0].text


def test_moderate_numbers_add_up_to_no_nan_whatever_the_bound():
    made, feeds, got = products(numpy_dtype("bfloat16"))
    assert verify(made, feeds, {"y0": np.full_like(got, np.nan)})[0].status == "mismatch"


@pytest.mark.parametrize("got", [[[1], [1, 2]], None, "text", [[1.0, 2.0]], {"a": 1}])
def test_whatever_a_device_returns_is_judged(got):
    made, feeds = model("Relu", [single(1, 2)], ("float32",), 13)
    assert verify(made, feeds, {"y0": got})[0].status == "mismatch"


@pytest.mark.parametrize("got", [[0.1] * 4, None, 3])
def test_random_numbers_that_are_no_tensor(got):
    made, feeds = model("RandomNormal", [], ("float32",), 13, shape=[4])
    assert verify(made, feeds, {"y0": got})[0].status == "mismatch"


def test_strings_that_hold_arrays():
    x, y = (helper.make_tensor_value_info(name, TensorProto.STRING, [2]) for name in ("x", "y"))
    made = helper.make_model(helper.make_graph([helper.make_node("Identity", ["x"], ["y"])], "g", [x], [y]))
    got = np.empty(2, object)
    got[0], got[1] = np.array(["a", "b"]), "b"
    assert verify(made, {"x": np.array(["a", "b"], object)}, {"y": got})[0].status == "mismatch"


def test_gates_that_are_exchanged_are_named():
    rng = np.random.default_rng(1)
    x, w, r, b = (rng.normal(size=s).astype(np.float32) for s in ((5, 2, 3), (1, 20, 3), (1, 20, 5), (1, 40)))
    exchanged = [0, 0, 0, 0]
    for n, (tensor, sets) in enumerate(((x, 0), (w, 1), (r, 1), (b, 2))):
        blocks = tensor if not sets else tensor.reshape(1, sets, 4, 5, *tensor.shape[2:])[:, :, [1, 0, 2, 3]]
        exchanged[n] = blocks.reshape(tensor.shape)
    made, feeds = model("LSTM", [x, w, r, b], ("float32",), 22, hidden_size=5)
    got = Node.of(made, dict(zip(feeds, exchanged, strict=True))).results[0].astype(np.float32)
    found = verify(made, feeds, {"y0": got})[0]
    assert found.diagnosis[0].cause == "weights-layout"
    assert "o,i,f,c" in found.diagnosis[0].text


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize(("away", "status"), [(0, "pass"), (1, "pass"), (2, "mismatch"), (-2, "mismatch")])
def test_means_of_large_integers_are_either_neighbour(sign, away, status):
    """Whose real value, a float64, no more tells a whole number from one beside it."""
    values = sign * np.array([[2**48 + 5, 2**48 + 6, 2**48 + 9]], np.int64)  # a mean of 2^48 + 6 2/3
    assert verdict("ReduceMean", [values, AXIS], np.array([[sign * (2**48 + 6 + away)]], np.int64), 18).status == status
