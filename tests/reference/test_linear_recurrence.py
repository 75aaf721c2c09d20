"""LinearAttention and CausalConvWithState of the reference: each rule by hand, heads, states handed on, shapes."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from reference.evaluator import apply

LN2 = math.log(2)


def attend(*inputs: Any, q_num_heads: int = 1, kv_num_heads: int = 1, **attributes: Any) -> tuple[NDArray[Any], ...]:
    arrays = [None if x is None else np.asarray(x, np.float64) for x in inputs]
    heads = {"q_num_heads": q_num_heads, "kv_num_heads": kv_num_heads}
    return apply("LinearAttention", 27, arrays, attributes | heads, n_outputs=2)


def convolve(*inputs: Any, **attributes: Any) -> tuple[NDArray[Any], ...]:
    arrays = [None if x is None else np.asarray(x, np.float64) for x in inputs]
    return apply("CausalConvWithState", 27, arrays, attributes, n_outputs=2)


def tokens(*rows: Any) -> NDArray[Any]:
    """(1, T, d) of T rows."""
    return np.array(rows, np.float64).reshape(1, len(rows), -1)


# Two tokens, d_k = 2, d_v = 1; the state is a column of two numbers.
QUERY, KEY, VALUE = tokens([1, 10], [1, 10]), tokens([1, 2], [3, 4]), tokens(5, 7)
HALVED = tokens(0, -LN2)
BETA = tokens(1, 2)


@pytest.mark.parametrize(
    ("rule", "decay", "beta", "states"),
    [
        # (1, 2)·5 = (5, 10), then + (3, 4)·7.
        ("linear", None, None, [[5, 10], [26, 38]]),
        # The second token halves (5, 10) first, or its second row alone.
        ("gated", HALVED, None, [[5, 10], [23.5, 33]]),
        ("gated", tokens([0, 0], [0, -LN2]), None, [[5, 10], [26, 33]]),
        # Second token: 7 less 3·5 + 4·10 = 55, twice: (5, 10) - 96·(3, 4).
        ("delta", None, BETA, [[5, 10], [-283, -374]]),
        # Of (2.5, 5): 7 less 27.5, twice: (2.5, 5) - 41·(3, 4).
        ("gated_delta", HALVED, BETA, [[5, 10], [-120.5, -159]]),
    ],
)
def test_rules(rule: str, decay: Any, beta: Any, states: list[list[float]]) -> None:
    y, state = attend(QUERY, KEY, VALUE, None, decay, beta, update_rule=rule, scale=1.0)
    np.testing.assert_allclose(y[0, :, 0], np.array(states) @ [1, 10], rtol=1e-15)
    np.testing.assert_allclose(state[0, 0, :, 0], states[1], rtol=1e-15)
    # The second token alone goes on from the state after the first.
    rest = [None if x is None else x[:, 1:] for x in (decay, beta)]
    past = np.reshape(states[0], (1, 1, 2, 1))
    y, state = attend(QUERY[:, 1:], KEY[:, 1:], VALUE[:, 1:], past, *rest, update_rule=rule, scale=1.0, chunk_size=1)
    np.testing.assert_allclose(y[0, 0, 0], np.dot(states[1], [1, 10]), rtol=1e-15)
    np.testing.assert_allclose(state[0, 0, :, 0], states[1], rtol=1e-15)
    np.testing.assert_array_equal(past[0, 0, :, 0], states[0])


def test_the_default_rule_is_gated_delta_and_the_default_scale_that_of_attention() -> None:
    expected, _ = attend(QUERY, KEY, VALUE, None, HALVED, BETA, scale=1 / math.sqrt(2), update_rule="gated_delta")
    np.testing.assert_array_equal(attend(QUERY, KEY, VALUE, None, HALVED, BETA)[0], expected)


def test_query_heads_share_the_heads_of_keys_in_order() -> None:
    """d_k = d_v = 1. States 2·3 and 5·7 serve the query heads 1, 10 and 100, 1000."""
    heads = {"q_num_heads": 4, "kv_num_heads": 2, "update_rule": "linear", "scale": 1.0}
    y, state = attend(tokens([1, 10, 100, 1000]), tokens([2, 5]), tokens([3, 7]), **heads)
    np.testing.assert_array_equal(y.ravel(), [6, 60, 3500, 35000])
    np.testing.assert_array_equal(state.ravel(), [6, 35])


def test_decay_and_beta_of_each_head_or_of_all() -> None:
    """Two heads with state 8 and key 1: 8·e^g + β·(1 - 8·e^g)."""
    q, k, v, past = tokens([1, 1]), tokens([1, 1]), tokens([1, 1]), np.full((1, 2, 1, 1), 8.0)
    heads = {"q_num_heads": 2, "kv_num_heads": 2}
    _, state = attend(q, k, v, past, tokens([-LN2, -2 * LN2]), tokens([0.5, 2]), **heads)
    np.testing.assert_allclose(state.ravel(), [2.5, 0], rtol=1e-15, atol=1e-15)
    _, state = attend(q, k, v, past, tokens([-LN2, -2 * LN2]), tokens(0.5), **heads)
    np.testing.assert_allclose(state.ravel(), [2.5, 1.5], rtol=1e-15)


def test_samples_of_a_batch_and_no_tokens() -> None:
    both = [np.concatenate([x, 2 * x]) for x in (QUERY, KEY, VALUE)]
    y, state = attend(*both, update_rule="linear")
    for n, factor in enumerate((1, 2)):
        alone = attend(factor * QUERY, factor * KEY, factor * VALUE, update_rule="linear")
        np.testing.assert_array_equal(y[n : n + 1], alone[0])
        np.testing.assert_array_equal(state[n : n + 1], alone[1])
    y, state = attend(QUERY[:, :0], KEY[:, :0], VALUE[:, :0], update_rule="linear")
    assert y.shape == (1, 0, 1)
    np.testing.assert_array_equal(state, np.zeros((1, 1, 2, 1)))


@pytest.mark.parametrize(
    ("inputs", "attributes", "message"),
    [
        ([QUERY, KEY, VALUE], {"update_rule": "kda"}, "update_rule 'kda', expected one of linear, gated, delta, gated_delta"),
        ([QUERY, KEY, VALUE], {}, "a delta rule needs the input beta"),
        ([QUERY, KEY, VALUE], {"update_rule": "gated"}, "a gated rule needs the input decay"),
        ([QUERY, KEY, VALUE], {"kv_num_heads": 2}, "1 query heads for 2 key and value heads, expected a multiple"),
        ([QUERY, KEY, VALUE], {"q_num_heads": 3}, r"query of shape \(1, 2, 2\), expected three axes, the last one of 3 heads"),
        ([QUERY, KEY[:, 1:], VALUE], {}, r"query, key and value of shapes \(1, 2, 2\), \(1, 1, 2\) and \(1, 2, 1\)"),
        ([QUERY, KEY, VALUE, np.zeros((1, 2, 1))], {"update_rule": "linear"}, r"expected \(1, 1, 2, 1\)"),
        ([QUERY, KEY, VALUE, None, tokens(0), BETA], {}, r"decay of shape \(1, 1, 1\), expected one value a head"),
        ([QUERY, KEY, VALUE, None, HALVED, KEY], {}, r"beta of shape \(1, 2, 2\), expected \(1, 2, 1\)"),
    ],
)
def test_what_does_not_fit_in_attention(inputs: list[Any], attributes: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        attend(*inputs, **attributes)


X = np.array([[[1.0, 2.0, 3.0], [1.0, 1.0, 1.0]]])  # two channels
WEIGHT = np.array([[[1.0, 10.0]], [[0.0, -1.0]]])


def test_convolution_looks_back_only() -> None:
    """Channel 0: 10·x plus the x before it; channel 1: -x."""
    y, state = convolve(X, WEIGHT)
    np.testing.assert_array_equal(y, [[[10, 21, 32], [-1, -1, -1]]])
    np.testing.assert_array_equal(state, [[[3], [1]]])
    y, state = convolve(X, WEIGHT, [100.0, 0.5], [[[7.0], [7.0]]])
    np.testing.assert_array_equal(y, [[[117, 121, 132], [-0.5, -0.5, -0.5]]])
    np.testing.assert_array_equal(state, [[[3], [1]]])


def test_an_input_shorter_than_the_kernel_keeps_part_of_the_state() -> None:
    weight = [[[1.0, 10.0, 100.0, 1000.0]]]
    y, state = convolve([[[4.0]]], weight, None, [[[1.0, 2.0, 3.0]]])
    np.testing.assert_array_equal(y, [[[4321]]])
    np.testing.assert_array_equal(state, [[[2, 3, 4]]])
    y, state = convolve([[[4.0]]], weight)
    np.testing.assert_array_equal(y, [[[4000]]])
    np.testing.assert_array_equal(state, [[[0, 0, 4]]])
    y, state = convolve(np.zeros((1, 1, 0)), weight, [5.0], [[[1.0, 2.0, 3.0]]])
    assert y.shape == (1, 1, 0)
    np.testing.assert_array_equal(state, [[[1, 2, 3]]])


def test_a_kernel_of_one_has_an_empty_state() -> None:
    y, state = convolve(X, [[[2.0]], [[3.0]]])
    np.testing.assert_array_equal(y, [[[2, 4, 6], [3, 3, 3]]])
    assert state.shape == (1, 2, 0)


@pytest.mark.parametrize("activation", ["silu", "swish"])
def test_fused_activation(activation: str) -> None:
    """y = ln 3: y·3/4."""
    y, state = convolve([[[math.log(3)]]], [[[5.0, 1.0]]], activation=activation)
    np.testing.assert_allclose(y.item(), math.log(3) * 0.75, rtol=1e-15)
    assert state.item() == math.log(3)


@pytest.mark.parametrize(
    ("inputs", "attributes", "message"),
    [
        ([X, WEIGHT], {"activation": "relu"}, "activation 'relu', expected none, silu or swish"),
        ([X, WEIGHT[:1]], {}, r"input of shape \(1, 2, 3\) and weight of shape \(1, 1, 2\)"),
        ([X, WEIGHT[:, :, :0]], {}, r"weight of shape \(2, 1, 0\)"),
        ([X, WEIGHT, [1.0]], {}, r"bias of shape \(1,\), expected \(2,\)"),
        ([X, WEIGHT, None, X], {}, r"past_state of shape \(1, 2, 3\), expected \(1, 2, 1\)"),
    ],
)
def test_what_does_not_fit_in_a_convolution(inputs: list[Any], attributes: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        convolve(*inputs, **attributes)
