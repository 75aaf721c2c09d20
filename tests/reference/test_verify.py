"""The verdict on right and on wrong results, from emulated arithmetic: what passes, what fails, and by how little."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from reference import dtypes, table
from reference.evaluator import evaluate
from reference.verify import Profile, modes, verify
from reference.verify.compare import Expected
from reference.verify.verdict import judge

RNG = np.random.default_rng(20)


def model(operator, inputs, outputs=("float32",), version=21, **attributes):
    """A single-node model and its feeds; `outputs` are the types of y0, y1, …"""
    feeds = {f"x{i}": np.asarray(x) for i, x in enumerate(inputs)}
    names = [f"y{i}" for i in range(len(outputs))]
    graph = helper.make_graph(
        [helper.make_node(operator, list(feeds), names, **attributes)],
        "g",
        [helper.make_tensor_value_info(n, dtypes.ONNX[dtypes.name_of(x.dtype)], x.shape) for n, x in feeds.items()],
        [helper.make_tensor_value_info(n, dtypes.ONNX[t], None) for n, t in zip(names, outputs, strict=True)],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", version)]), feeds


def status(operator, inputs, got, precision=None, **attributes):
    """The status of the verdict on `got` as the only output."""
    m, feeds = model(operator, inputs, (dtypes.name_of(got.dtype),), **attributes)
    (verdict,) = verify(m, feeds, {"y0": got}, Profile.of(precision))
    assert verdict.numbers.get("compared", got.size) == got.size
    return verdict.status


def normal(*shape, dtype=np.float32):
    return RNG.normal(size=shape).astype(dtype)


def chain(a, b, dtype=np.float32):
    """A matrix product accumulated term by term in `dtype`, each product rounded."""
    total = np.zeros((a.shape[0], b.shape[1]), dtype)
    for k in range(a.shape[1]):
        total = (total + (a[:, k, None] * b[None, k]).astype(dtype)).astype(dtype)
    return total


@pytest.mark.parametrize("k", [1, 2, 17, 256, 1024])
def test_every_order_of_summation_passes(k):
    a, b = normal(5, k), normal(k, 7)
    exact = (a.astype(np.float64) @ b.astype(np.float64)).astype(np.float32)
    for got in (exact, chain(a, b), chain(a[:, ::-1], b[::-1]), a @ b):
        assert status("MatMul", [a, b], got) == "pass"


def test_a_dropped_last_term_fails():
    a, b = np.abs(normal(5, 64)) + 0.5, np.abs(normal(64, 7)) + 0.5
    assert status("MatMul", [a, b], chain(a[:, :-1], b[:-1])) == "mismatch"


def test_sixteen_bit_inputs_fail_as_float32_and_pass_reduced_when_declared():
    a, b = normal(8, 256), normal(256, 8)
    got = chain(a.astype(np.float16).astype(np.float32), b.astype(np.float16).astype(np.float32))
    assert status("MatMul", [a, b], got) == "mismatch"
    assert status("MatMul", [a, b], got, {"float32": "fp16-in"}) == "pass_reduced"


def test_the_message_names_the_arithmetic_that_would_fit():
    a, b = normal(8, 64), normal(64, 8)
    m, feeds = model("MatMul", [a, b])
    got = a.astype(np.float16).astype(np.float32) @ b.astype(np.float16).astype(np.float32)
    (verdict,) = verify(m, feeds, {"y0": got.astype(np.float32)})
    assert "right for the arithmetic 'tf32'" in verdict.message


@pytest.mark.parametrize("operator", ["Add", "Sub", "Mul"])
@pytest.mark.parametrize("dtype", [np.float32, np.float16])
def test_one_ulp_off_a_correctly_rounded_operation_fails(operator, dtype):
    a, b = normal(50, dtype=dtype), normal(50, dtype=dtype)
    right = {"Add": np.add, "Sub": np.subtract, "Mul": np.multiply}[operator](a, b)
    assert status(operator, [a, b], right) == "pass"
    wrong = right.copy()
    wrong[31] = np.nextafter(wrong[31], dtype(np.inf))
    assert status(operator, [a, b], wrong) == "mismatch"


def test_exponential_may_err_three_ulp_not_four():
    x = np.linspace(-5, 5, 101).astype(np.float32)
    right = np.exp(x.astype(np.float64)).astype(np.float32)
    step = np.spacing(right)
    assert status("Exp", [x], right + 2 * step) == "pass"
    assert status("Exp", [x], right + 4 * step) == "mismatch"


@pytest.mark.parametrize(
    ("operator", "x", "wrong"),
    [
        ("Sigmoid", np.nan, 0.0),
        ("Exp", np.inf, 3.4028235e38),
        ("Reciprocal", 0.0, 255.0),
        ("Neg", 0.0, 0.0),
        ("Abs", -0.0, -0.0),
        ("Sqrt", -1.0, 0.0),
        ("Identity", 1e-40, 0.0),
        ("Exp", 1.0, np.nan),
        ("Exp", 1.0, np.inf),
    ],
)
def test_lost_special_values_fail(operator, x, wrong):
    x = np.array([1.0, x], np.float32)
    m, feeds = model(operator, [x])
    right = dtypes.cast(evaluate(m, feeds)["y0"], "float32")
    assert status(operator, [x], right) == "pass"
    got = right.copy()
    got[1] = wrong
    assert status(operator, [x], got) == "mismatch"


def test_a_flushing_unit_may_return_zero_for_a_subnormal_and_nothing_else():
    a, b = np.array([1e-30, 1.0], np.float32), np.array([1e-9, 1.0], np.float32)
    flushed = np.array([0.0, 1.0], np.float32)
    assert status("Mul", [a, b], flushed) == "mismatch"
    assert status("Mul", [a, b], flushed, {"float32": "fp32-faithful"}) == "pass_reduced"
    assert status("Mul", [a, b], np.array([1.1e-38, 1.0], np.float32), {"float32": "fp32-faithful"}) == "mismatch"


def test_integers_are_exact_also_beyond_two_to_the_53():
    a, b = np.array([2**53 + 1, -5], np.int64), np.array([0, -7], np.int64)
    assert status("Add", [a, b], a + b) == "pass"
    assert status("Add", [a, b], (a.astype(np.float64) + b).astype(np.int64)) == "mismatch"


def test_wrong_shape_and_wrong_type_are_mismatches():
    x = normal(3, 4)
    assert status("Transpose", [x], np.ascontiguousarray(x)) == "mismatch"
    assert status("Identity", [x], x) == "pass"
    m, feeds = model("Identity", [x])
    (verdict,) = verify(m, feeds, {"y0": x.astype(np.float64)})
    assert verdict.status == "mismatch"
    assert "float64" in verdict.message


def test_infinite_quotients_saturate():
    inputs = [np.float32([np.inf, -np.inf, 3]), np.float32(1), np.uint8(7)]
    assert status("QuantizeLinear", inputs, np.uint8([255, 0, 10])) == "pass"
    assert status("QuantizeLinear", inputs, np.uint8([0, 0, 10])) == "mismatch"


def test_integers_over_integer_steps():
    inputs = [np.int32([7, 9, -5]), np.int32(2), np.int8(0)]  # 7/2, 9/2 and -5/2
    assert status("QuantizeLinear", inputs, np.int8([4, 4, -2])) == "pass"
    assert status("QuantizeLinear", inputs, np.int8([4, 6, -2])) == "mismatch"


def test_a_division_in_the_type_of_a_narrower_scale():
    # 2049 is 2048 in float16: the text's type, or a better one
    inputs = [np.float32([2049]), np.float16(1), np.int16(0)]
    for got, expected in ((2048, "pass"), (2049, "pass"), (2060, "mismatch")):
        assert status("QuantizeLinear", inputs, np.int16([got]), version=23) == expected


def test_truncating_quantiser_fails_and_both_neighbours_of_a_tie_pass():
    x = np.array([0.6, -0.6, 1.7, 3.99], np.float32)
    scale, zero = np.array(1.0, np.float32), np.array(0, np.int8)
    assert status("QuantizeLinear", [x, scale, zero], np.array([1, -1, 2, 4], np.int8)) == "pass"
    assert status("QuantizeLinear", [x, scale, zero], np.trunc(x).astype(np.int8)) == "mismatch"


def test_an_integer_that_onnx_leaves_open_is_recorded_not_judged():
    x = np.array([np.nan, 1e20, 3.7], np.float32)
    cast = {"to": TensorProto.INT32}
    assert status("Cast", [x], np.array([0, 5, 3], np.int32), **cast) == "pass"
    assert status("Cast", [x], np.array([0, 5, 4], np.int32), **cast) == "mismatch"
    assert status("Cast", [x[:2]], np.array([7, 5], np.int32), **cast) == "implementation_defined"


def test_softmax_in_single_precision_passes_and_with_sixteen_bit_exponentials_fails():
    x = normal(4, 100) * 3
    e = np.exp(x - x.max(-1, keepdims=True))
    assert status("Softmax", [x], e / e.sum(-1, keepdims=True)) == "pass"
    coarse = e.astype(np.float16).astype(np.float32)
    assert status("Softmax", [x], coarse / coarse.sum(-1, keepdims=True)) == "mismatch"


def test_layer_normalisation_with_the_epsilon_outside_the_root_fails():
    x, gain = normal(6, 32) * 1e-3, np.ones(32, np.float32)
    d = x - x.mean(-1, keepdims=True)
    v = (d * d).mean(-1, keepdims=True)
    assert status("LayerNormalization", [x, gain], d / np.sqrt(v + np.float32(1e-5))) == "pass"
    assert status("LayerNormalization", [x, gain], d / (np.sqrt(v) + np.float32(1e-5))) == "mismatch"


def test_overflow_is_accepted_only_where_the_bound_reaches_it():
    expected = Expected("y", np.array([65519.0, 65000.0]), np.array([2.0, 2.0]), "float16")
    assert judge(expected, np.array([np.inf, 65000.0], np.float16)).status == "pass"
    assert judge(expected, np.array([65504.0, np.inf], np.float16)).status == "mismatch"


def test_empty_tensors_compare_as_equal():
    x = np.zeros((0, 3), np.float32)
    assert status("Exp", [x], x) == "pass"


def test_every_operator_of_the_table_has_a_mode():
    missing = []
    for operator in (*table.ONNX, *table.MICROSOFT):
        try:
            modes.mode_of(operator)
        except KeyError:
            missing.append(operator)
    assert not missing, f"no verification mode for {', '.join(missing)}"


def test_no_operator_has_two_modes():
    assert not modes.EXACT & modes.BOUNDS.keys()
    assert not modes.WITHOUT_BOUND & (modes.EXACT | modes.BOUNDS.keys() | modes.INTERVALS)


def test_an_operator_without_a_bound_is_inconclusive_not_right():
    body = helper.make_graph(
        [helper.make_node("Exp", ["x1"], ["e"])], "body", [], [helper.make_tensor_value_info("e", TensorProto.FLOAT, None)]
    )
    x = normal(3)
    m, feeds = model("If", [np.bool_(True)], then_branch=body, else_branch=body)
    m.graph.input.append(helper.make_tensor_value_info("x1", TensorProto.FLOAT, x.shape))
    assert verify(m, feeds | {"x1": x}, {"y0": np.exp(x)})[0].status == "inconclusive"


def test_control_flow_over_exact_operators_is_exact():
    body = helper.make_graph(
        [helper.make_node("Neg", ["x1"], ["e"])], "body", [], [helper.make_tensor_value_info("e", TensorProto.FLOAT, None)]
    )
    x = normal(3)
    m, feeds = model("If", [np.bool_(True)], then_branch=body, else_branch=body)
    m.graph.input.append(helper.make_tensor_value_info("x1", TensorProto.FLOAT, x.shape))
    assert verify(m, feeds | {"x1": x}, {"y0": -x})[0].status == "pass"
    assert verify(m, feeds | {"x1": x}, {"y0": x})[0].status == "mismatch"


def test_what_training_drops_is_judged_by_its_properties():
    x = normal(400)
    m, feeds = model("Dropout", [x, np.float32(0.5), np.bool_(True)], version=22)
    dropped = np.where(RNG.random(400) < 0.5, 0, 2 * x).astype(np.float32)
    assert verify(m, feeds, {"y0": dropped})[0].status == "implementation_defined"
    assert verify(m, feeds, {"y0": np.zeros(400, np.float32)})[0].status == "mismatch"
    assert verify(m, feeds, {"y0": dropped * 3})[0].tier == "properties"
    m, feeds = model("Dropout", [x, np.float32(0.5)], version=22)
    assert verify(m, feeds, {"y0": dropped})[0].status == "mismatch"


def test_models_of_several_nodes_are_refused():
    m, feeds = model("Exp", [normal(2)])
    m.graph.node.append(onnx.helper.make_node("Exp", ["y0"], ["z"]))
    with pytest.raises(ValueError, match="2 nodes"):
        verify(m, feeds, {"y0": normal(2)})


@pytest.mark.parametrize("operator", ["Sigmoid", "Elu", "Selu", "Celu", "Softplus", "Tanh"])
def test_limits_at_infinity_are_judged(operator):
    x = np.array([-np.inf, np.inf, 1.0], np.float32)
    m, feeds = model(operator, [x])
    right = dtypes.cast(evaluate(m, feeds)["y0"], "float32")
    assert status(operator, [x], right) == "pass"
    assert status(operator, [x], right + np.float32([0.1, 0, 0])) == "mismatch"


def test_no_bound_is_inconclusive_and_integers_on_the_lattice_are_exact_all_the_same():
    a, b = normal(4, 300), normal(300, 4)
    arithmetic = {"float32": "bf16"}
    assert status("MatMul", [a, b], a @ b, arithmetic) == "inconclusive"
    a, b = np.rint(a / 2), np.rint(b / 2)
    assert status("MatMul", [a, b], a @ b, arithmetic) == "pass_reduced"
    assert status("MatMul", [a, b], a @ b + 1, arithmetic) == "mismatch"


def test_flushed_operands_are_reduced_but_data_movement_keeps_them():
    x, slope = np.float32([-1.0, -2.0, 3.0]), np.float32([1e-40, 0.5, 1e-40])
    flushed = np.float32([-0.0, -1.0, 3.0])
    assert status("PRelu", [x, slope], flushed) == "pass_reduced"
    assert status("Identity", [slope], np.float32([0.0, 0.5, 0.0])) == "mismatch"


def test_a_truncating_cast_is_reduced_and_a_wrong_one_fails():
    x = np.float32([1.0009, 2.0])
    to = {"to": TensorProto.FLOAT16}
    assert status("Cast", [x], x.astype(np.float16), **to) == "pass"
    down = np.array([1.0, 2.0], np.float16)
    assert status("Cast", [x], down, **to) == "pass_reduced"
    assert status("Cast", [x], np.array([1.002, 2.0], np.float16), **to) == "mismatch"


def test_a_coarse_requantiser_is_reduced_and_delta_is_on_record():
    x = np.arange(-40, 40, dtype=np.float32) * np.float32(0.37)
    scale, zero = np.array(0.5, np.float32), np.array(0, np.int8)
    m, feeds = model("QuantizeLinear", [x, scale, zero], ("int8",))
    real = x.astype(np.float64) / 0.5
    coarse = np.floor(real + 0.5 - 0.1).astype(np.int8)
    (verdict,) = verify(m, feeds, {"y0": coarse})
    assert verdict.status == "pass_reduced"
    assert 0.05 < verdict.numbers["delta_needed"] <= 0.1875
    (verdict,) = verify(m, feeds, {"y0": np.floor(real).astype(np.int8)})
    assert verdict.status == "mismatch"


def test_a_requantised_output_of_another_type_is_a_mismatch():
    x, scale, zero = np.float32([0.6, 1.7]), np.array(1.0, np.float32), np.array(0, np.int8)
    m, feeds = model("QuantizeLinear", [x, scale, zero], ("int8",))
    for wrong in (np.uint8([1, 2]), np.int32([1, 2]), np.float32([1, 2])):
        (verdict,) = verify(m, feeds, {"y0": wrong})
        assert verdict.status == "mismatch"


def test_a_missing_output_is_a_mismatch():
    m, feeds = model("Exp", [normal(3)])
    (verdict,) = verify(m, feeds, {})
    assert verdict.status == "mismatch"
    assert "y0" in verdict.message


@pytest.mark.parametrize(("x", "right", "wrong"), [([2, 4], [3], [2, 4]), ([2, 3], [2, 3], [1, 4])])
def test_an_integer_mean_is_a_neighbour_of_the_exact_one(x, right, wrong):
    for expected, results in (("pass", right), ("mismatch", wrong)):
        for result in results:
            got = np.array([result], np.int32)
            assert status("ReduceMean", [np.int32([x]), np.array([1])], got, keepdims=0) == expected


def test_an_interpolated_integer_is_a_neighbour_of_the_exact_one():
    # 0, 3/4, 9/4, 3
    inputs = [np.int8([0, 3]), np.float32([]), np.float32([2])]
    for values, expected in (([0, 0, 2, 3], "pass"), ([0, 1, 3, 3], "pass"), ([0, 1, 2, 2], "mismatch")):
        assert status("Resize", inputs, np.int8(values), mode="linear") == expected
    # a cubic overshoots what int8 holds: it may wrap or saturate
    exact = evaluate(*model("Resize", [np.float32([-128, 127]), *inputs[1:]], mode="cubic"))["y0"]
    whole = np.rint(exact).astype(np.int64)
    assert whole.max() > 127
    for got in (whole.astype(np.int8), np.int8(np.clip(whole, -128, 127))):
        assert status("Resize", [np.int8([-128, 127]), *inputs[1:]], got, mode="cubic") == "pass"


def test_an_infinity_among_the_terms_is_judged():
    x, axes = np.float32([[1, np.inf, 2]]), np.array([1])
    for operator in ("ReduceSumSquare", "ReduceL2", "ReduceSum"):
        assert status(operator, [x, axes], np.float32([np.inf]), keepdims=0) == "pass"
        assert status(operator, [x, axes], np.float32([7.0]), keepdims=0) == "mismatch"


def test_sixteen_bit_inputs_near_the_edge_of_a_domain_pass_at_their_rung():
    x = np.float32([0.9996, -0.9997, 0.5, 2e-5])
    half = x.astype(np.float16).astype(np.float64)
    for operator, function in (("Acos", np.arccos), ("Asin", np.arcsin), ("Tanh", np.tanh)):
        got = function(half).astype(np.float32)
        assert status(operator, [x], got, {"float32": "fp16-in"}) == "pass_reduced"
    base, exponent = np.float32([-1.9996, 2.0003]), np.array([3, 2], np.int32)
    got = (base.astype(np.float16).astype(np.float64) ** exponent).astype(np.float32)
    assert status("Pow", [base, exponent], got, {"float32": "fp16-in"}) == "pass_reduced"


def test_complex_tensors_are_compared_exactly():
    x = np.array([1 + 2j, -3j], np.complex64)
    assert status("Identity", [x], x) == "pass"
    assert status("Identity", [x], x + np.complex64(1)) == "mismatch"
    x[0] = complex(np.nan, 2)
    assert status("Identity", [x], x) == "pass"
    assert status("Identity", [x], np.conj(x)) == "mismatch"


def test_a_scalar_of_64_bits_is_compared():
    x = np.array(2**62 + 1)
    assert status("Identity", [x], x) == "pass"
    assert status("Identity", [x], x - 1) == "mismatch"


def test_products_and_softmax_of_a_correct_unit_pass_in_every_type():
    x = RNG.uniform(1, 2, (3, 50))
    assert status("ReduceProd", [x, np.array([1])], np.multiply.accumulate(x, 1)[:, -1:]) == "pass"
    half = np.float16([[0, -1.2, -17.3]])  # e^-17.3 = 3.07e-8 becomes 5.96e-8, the smallest number, and stays that over 1.3
    e = np.exp(half.astype(np.float64)).astype(np.float16)
    assert status("Softmax", [half], (e / e.sum(dtype=np.float16)).astype(np.float16), version=13) == "pass"


def test_a_coarse_unit_may_be_an_ulp_off_on_the_lattice_but_never_a_step():
    a, b = np.rint(normal(4, 30)), np.rint(normal(30, 4))
    got = np.nextafter(a @ b, np.float32(np.inf))
    assert status("MatMul", [a, b], got) == "mismatch"
    assert status("MatMul", [a, b], got, {"float32": "fp16-faithful"}) == "pass_reduced"
    assert status("MatMul", [a, b], a @ b + 1, {"float32": "fp16-faithful"}) == "mismatch"


def test_an_integer_mean_beyond_float64_is_judged_in_integers():
    x, axes = np.array([[2**60 + 1, 2**60 + 3]]), np.array([1])
    assert status("ReduceMean", [x, axes], np.array([2**60 + 2]), keepdims=0) == "pass"
    assert status("ReduceMean", [x, axes], np.array([2**60 + 2 - 64]), keepdims=0) == "mismatch"


def test_a_range_of_another_length_is_a_mismatch_at_every_rung():
    limits = [np.array(v) for v in (0.0, 1.0, 0.1)]
    assert status("Range", limits, np.arange(10) * 0.1) == "pass"
    assert status("Range", limits, np.arange(11) * 0.1) == "mismatch"


def test_a_root_of_squares_that_underflow():
    x = np.array([[[1e-4]]], np.float16)  # the square, 1e-8, is 0 in float16
    assert status("LpPool", [x], np.zeros((1, 1, 1), np.float16), kernel_shape=[1]) == "inconclusive"
    assert status("LpPool", [x], np.zeros((1, 1, 1), np.float16), {"float16": "fp32"}, kernel_shape=[1]) == "mismatch"
    assert status("LpPool", [x], np.zeros((1, 1, 1), np.float16), kernel_shape=[1], p=1) == "mismatch"


def test_moments_of_float64_are_asked_for_in_float32():
    """stash_type is 1: the operator casts to float32, so that more digits are none of a device's business."""
    x = normal(3, 50, dtype=np.float64)
    single = x.astype(np.float32).astype(np.float64)
    exact = (single - single.mean(1, keepdims=True)) / np.sqrt(single.var(1, keepdims=True) + 1e-5)
    scale = np.ones(50)
    assert status("LayerNormalization", [x, scale], exact) == "pass"
    assert status("LayerNormalization", [x, scale], exact, {"float64": "fp64"}) == "pass"
    assert status("LayerNormalization", [x, scale], exact, stash_type=11) == "mismatch"
    assert status("LayerNormalization", [x, scale], exact * 1.001) == "mismatch"


def test_batch_normalization_of_one_axis():
    x, one = np.array([1, 2], np.float32), np.ones(1, np.float32)
    got = ((x - 1) / np.sqrt(np.float32(1 + 1e-5))).astype(np.float32)
    assert status("BatchNormalization", [x, one, 0 * one, one, one], got) == "pass"
    assert status("BatchNormalization", [x, one, 0 * one, one, one], got + np.float32(0.01)) == "mismatch"


def test_a_variance_that_one_pass_loses_is_inconclusive():
    x = np.array([[-8.265625, -8.703125]], np.float16)  # 72 - 72 in float16, where the variance is 0.048
    m, feeds = model("LayerNormalization", [x, np.ones(2, np.float16)], ("float16",))
    (verdict,) = verify(m, feeds, {"y0": np.array([[60, -60]], np.float16)})
    assert verdict.status == "inconclusive"


def test_a_logarithm_of_integers_may_be_cut_just_below_a_whole_number():
    x = np.array([[4], [3]], np.uint32)
    m, feeds = model("ReduceLogSumExp", [x], ("uint32",), version=13, axes=[1])
    for got, status in ([4, 3], "pass"), ([3, 2], "pass"), ([4, 1], "mismatch"), ([5, 3], "mismatch"):
        assert verify(m, feeds, {"y0": np.array(got, np.uint32)[:, None]})[0].status == status
