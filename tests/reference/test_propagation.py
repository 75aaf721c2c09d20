"""Variances of rounding errors through graphs: by hand on small ones, against ONNX Runtime's real errors on larger ones."""

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import numpy_helper, parser

from reference.evaluator import evaluate
from reference.propagation import ROUNDING, variances

U32, U16 = 2.0**-24, 2.0**-11


def model(text: str, **initializers: np.ndarray) -> onnx.ModelProto:
    m = parser.parse_model(f'<ir_version: 10, opset_import: ["" : 21]> {text}')
    m.graph.initializer.extend(numpy_helper.from_array(value, name) for name, value in initializers.items())
    return m


def f32(*values: float) -> np.ndarray:
    return np.array(values, np.float32)


def test_a_rounded_sum_is_moved_and_rounded_no_further():
    m = model("g (float[2] x) => (float[2] z) { y = Add(x, x) i = Identity(y) z = Slice(i, s, e, a, t) }",
              s=np.array([1]), e=np.array([-9]), a=np.array([0]), t=np.array([-1]))  # fmt: skip
    got = variances(m, {"x": f32(1, 3)})
    np.testing.assert_allclose(got["y"], ROUNDING * (U32 * np.array([2, 6])) ** 2)
    np.testing.assert_array_equal(got["z"], got["y"][::-1])


def test_a_product_scales_what_its_operands_bring():
    # y = 2x rounded; z = 5y: 25·Var y, and one rounding of 5·2x
    m = model("g (float[1] x, float[1] w) => (float[1] z) { y = Add(x, x) z = Mul(y, w) }")
    got = variances(m, {"x": f32(3), "w": f32(5)})
    np.testing.assert_allclose(got["z"], 25 * got["y"] + ROUNDING * (U32 * 30) ** 2, rtol=1e-9)


def test_a_matrix_product_sums_variances_through_squares():
    m = model("g (float[1,2] x, float[2,1] w) => (float[1,1] z) { y = Add(x, x) z = MatMul(y, w) }")
    got = variances(m, {"x": f32(1, 1).reshape(1, 2), "w": f32(3, 4).reshape(2, 1)})
    # P = (6, 8): S = 14, Q = 100, K = 2; tier 2: (K+1)(Q + 2S²)/6 = 246 squared partial sums
    own = ROUNDING * U32**2 * (246 + 14**2)
    np.testing.assert_allclose(got["z"], [[(9 + 16) * ROUNDING * (U32 * 2) ** 2 + own]], rtol=1e-12)


def test_a_mean_divides_by_the_square_of_its_terms():
    m = model("g (float[4] x) => (float[1] z) { y = Add(x, x) z = ReduceMean(y, a) }", a=np.array([0]))
    got = variances(m, {"x": f32(1, 1, 1, 1)})
    # Products 4·(2/4): S = 2, Q = 1, K = 4, so 5·(1 + 2·4)/6 = 7.5 squared partial sums; S² = 4; brought 4·4/16 = 1
    np.testing.assert_allclose(got["z"], [ROUNDING * U32**2 * (7.5 + 4 + 1)])


def test_padding_that_counts_is_part_of_the_divisor():
    # Windows (0, y0) and (y1, 0): each is y/2, so Var y/4
    m = model(
        """g (float[1,1,2] x) => (z) {
            y = Add(x, x) z = AveragePool<kernel_shape = [2], strides = [2], pads = [1, 1], count_include_pad = 1>(y)
        }"""
    )
    got = variances(m, {"x": f32(1, 1).reshape(1, 1, 2)}, accumulator="float64")
    stored = ROUNDING * U32**2
    np.testing.assert_allclose(got["z"], np.full((1, 1, 2), ROUNDING * (U32 * 2) ** 2 / 4 + stored), rtol=1e-9)


def test_a_linear_operator_without_a_rule_of_its_own_is_stored_once():
    # Σ|x| of 3 and 4: S = 7, Q = 25, K = 2: 3·(25 + 98)/6 squared partial sums, and 7² for the result
    m = model("g (float[2] x) => (float[1] y) { y = ReduceL1(x, a) }", a=np.array([0]))
    np.testing.assert_allclose(variances(m, {"x": f32(3, -4)})["y"], [ROUNDING * U32**2 * (61.5 + 49)])


def test_narrow_tensors_are_rounded_to_their_own_type():
    m = model("g (float16[1] x) => (float16[1] y) { y = Add(x, x) }")
    got = variances(m, {"x": np.ones(1, np.float16)})
    np.testing.assert_allclose(got["y"], [ROUNDING * (U16 * 2) ** 2])


def test_an_error_becomes_a_step_by_chance_when_quantised():
    m = model(
        """g (float[1] x, float s, uint8 z) => (float[1] d) {
            y = Add(x, x) q = QuantizeLinear(y, s, z) d = DequantizeLinear(q, s, z)
        }"""
    )
    got = variances(m, {"x": f32(1), "s": np.float32(0.5), "z": np.uint8(0)})
    sigma = np.sqrt(got["y"]) / 0.5
    np.testing.assert_allclose(got["q"], np.sqrt(2 / np.pi) * sigma)
    np.testing.assert_allclose(got["d"], got["q"] * 0.25 + ROUNDING * (U32 * 2) ** 2, rtol=1e-6)


def test_feeds_and_integers_without_history_are_exact():
    m = model("g (int64[2] x) => (int64[2] y, float[2] c) { y = Mul(x, x) c = Cast<to = 1>(y) }")
    got = variances(m, {"x": np.array([2, 3])})
    assert not got["y"].any()
    np.testing.assert_allclose(got["c"], ROUNDING * (U32 * np.array([4, 9])) ** 2)


def test_a_requantised_product_cannot_be_followed():
    m = model("g (float[1] x, float s, uint8 z) => (uint8[1] p) { y = Add(x, x) q = QuantizeLinear(y, s, z) p = Add(q, q) }")
    assert np.isnan(variances(m, {"x": f32(1), "s": np.float32(0.5), "z": np.uint8(0)})["p"]).all()


def random(seed: int, *shape: int, gain: float = 1.0) -> np.ndarray:
    return (gain * np.random.default_rng(seed).standard_normal(shape)).astype(np.float32)


def convolution_block() -> tuple[onnx.ModelProto, dict[str, np.ndarray]]:
    m = model(
        """g (float[1,16,28,28] x) => (y) {
            a = Conv<pads = [1,1,1,1]>(x, w1, b1)  r = Relu(a)
            c = Conv<pads = [1,1,1,1], group = 32>(r, w2)  s = Sigmoid(c)  t = Mul(c, s)
            d = Conv(t, w3)  e = BatchNormalization(d, bs, bb, bm, bv)
            p = MaxPool<kernel_shape = [2,2], strides = [2,2]>(e)  y = AveragePool<kernel_shape = [2,2]>(p)
        }""",
        w1=random(1, 32, 16, 3, 3, gain=1 / 12), b1=random(2, 32, gain=0.1), w2=random(3, 32, 1, 3, 3, gain=1 / 3),
        w3=random(4, 16, 32, 1, 1, gain=0.2), bs=1 + random(5, 16, gain=0.1), bb=random(6, 16), bm=random(7, 16),
        bv=1 + random(8, 16) ** 2,
    )  # fmt: skip
    return m, {"x": random(0, 1, 16, 28, 28)}


def transformer_layer() -> tuple[onnx.ModelProto, dict[str, np.ndarray]]:
    m = model(
        """g (float[1,48,64] x) => (y) {
            q = MatMul(x, wq)  k = MatMul(x, wk)  v = MatMul(x, wv)
            kt = Transpose<perm = [0,2,1]>(k)  s = MatMul(q, kt)  sd = Div(s, root)  p = Softmax(sd)
            c = MatMul(p, v)  o = MatMul(c, wo)  r1 = Add(x, o)  n1 = LayerNormalization(r1, g1, b1)
            h = MatMul(n1, w1)  a = Gelu(h)  f = MatMul(a, w2)  r2 = Add(n1, f)  y = LayerNormalization(r2, g2, b2)
        }""",
        **{f"w{c}": random(i, 64, 64, gain=1 / 8) for i, c in enumerate("qkvo")},
        root=np.float32(8), w1=random(10, 64, 256, gain=1 / 8), w2=random(11, 256, 64, gain=1 / 16),
        g1=1 + random(12, 64, gain=0.1), b1=random(13, 64, gain=0.1),
        g2=1 + random(14, 64, gain=0.1), b2=random(15, 64, gain=0.1),
    )  # fmt: skip
    return m, {"x": random(20, 1, 48, 64)}


@pytest.mark.parametrize("graph", [convolution_block, transformer_layer])
def test_the_variance_predicts_the_errors_of_a_real_runtime(graph):
    m, feeds = graph()
    expected, sigma = evaluate(m, feeds)["y"], np.sqrt(variances(m, feeds)["y"])
    session = onnxruntime.InferenceSession(m.SerializeToString(), providers=["CPUExecutionProvider"])
    error = session.run(None, feeds)[0] - expected
    ratio = np.sqrt(np.mean((error / sigma) ** 2))
    assert 0.3 < ratio < 1.5
    assert np.sqrt(np.mean(sigma**2)) < 1e-5 * np.sqrt(np.mean(expected**2))


def test_an_input_of_bfloat16_precision_is_far_outside_what_float32_explains():
    m, feeds = transformer_layer()
    expected, sigma = evaluate(m, feeds)["y"], np.sqrt(variances(m, feeds)["y"])
    coarse = (feeds["x"].view(np.uint32) & 0xFFFF0000).view(np.float32)
    error = evaluate(m, {"x": coarse})["y"] - expected
    assert np.sqrt(np.mean((error / sigma) ** 2)) > 1000


def test_functions_of_the_model_are_followed_inside():
    text = """g (float[1] x) => (y) {{ d = Add(x, x) y = {call} }}
        <opset_import: ["" : 21], domain: "own"> Twice (a) => (b) {{ t = Add(a, a) b = Mul(t, a) }}"""
    inside = model(text.format(call="own.Twice(d)"))
    inside.opset_import.add(domain="own", version=1)
    flat = model("g (float[1] x) => (y) { d = Add(x, x) t = Add(d, d) y = Mul(t, d) }")
    np.testing.assert_array_equal(variances(inside, {"x": f32(3)})["y"], variances(flat, {"x": f32(3)})["y"])


def test_what_a_subgraph_does_is_unknown():
    m = model(
        """g (float[1] x, bool c) => (y, z) {
            d = Add(x, x)
            y = If (c) <then_branch = t () => (float[1] a) { a = Neg(d) }, else_branch = e () => (float[1] b) { b = Abs(d) }>
            z = Add(y, d)
        }"""
    )
    got = variances(m, {"x": f32(1), "c": np.bool_(True)})
    assert np.isnan(got["y"]).all()
    assert np.isnan(got["z"]).all()


def test_inputs_that_say_how_many_elements_there_are_do_not_err():
    m = model("g (float[1,1,4] x, float[3] s) => (y) { y = Resize(x, , s) }")
    got = variances(m, {"x": f32(1, 2, 3, 4).reshape(1, 1, 4), "s": f32(1, 1, 1.5)})
    assert got["y"].shape == (1, 1, 6)
    assert np.isfinite(got["y"]).all()


def test_an_output_that_is_left_out_does_not_shift_the_others():
    m = model('g (float[2,8] x, float[8] s) => (y, i) { d = Add(x, x) y, "", i = LayerNormalization(d, s) }')
    whole = model("g (float[2,8] x, float[8] s) => (y, m, i) { d = Add(x, x) y, m, i = LayerNormalization(d, s) }")
    feeds = {"x": random(0, 2, 8), "s": random(1, 8)}
    np.testing.assert_allclose(variances(m, feeds)["i"], variances(whole, feeds)["i"], rtol=2)


@pytest.mark.parametrize(
    "call",
    [
        "y = ReduceL1(x, a)",
        "y = ReduceL2(x, a)",
        "y = ReduceSumSquare(x, a)",
        "y = Softmax(x)",
        "r = Reshape(x, s) y = Attention<q_num_heads = 4, kv_num_heads = 4>(r, r, r)",
    ],
)
def test_long_sums_inside_an_operator_are_not_taken_for_one_rounding(call):
    m = model(f"g (float[64,1024] x) => (y) {{ {call} }}", a=np.array([1]), s=np.array([2, 32, 1024]))
    m.opset_import[0].version = 23
    feeds = {"x": random(0, 64, 1024)}
    session = onnxruntime.InferenceSession(m.SerializeToString(), providers=["CPUExecutionProvider"])
    error = session.run(None, feeds)[0] - evaluate(m, feeds)["y"]
    predicted = np.sqrt(np.mean(variances(m, feeds)["y"]))
    assert 0.1 < np.sqrt(np.mean(error**2)) / predicted < 2


def test_the_same_variances_every_time():
    m, feeds = transformer_layer()
    first, second = variances(m, feeds)["y"], variances(m, feeds)["y"]
    np.testing.assert_array_equal(first, second)
