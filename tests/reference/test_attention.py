"""Attention, rotary positions and cache updates against values worked out by hand.

Scores that differ by ln 3 weigh 3 to 1; equal scores give the mean of the values; a quarter turn sends (a, b) to (-b, a).
"""

import numpy as np
import pytest

from reference.evaluator import EvaluationError, apply
from reference.ops.attention import attention, attention_23, attention_ingredients, rotary_embedding, tensor_scatter

LN3 = float(np.log(3.0))


def assert_close(got, wanted):
    """Equal but for the roundings of a softmax."""
    np.testing.assert_allclose(np.ravel(got), np.ravel(wanted), rtol=1e-14, atol=1e-15)


def single(*values):
    """One batch entry and one head of size 1: (1, 1, length, 1)."""
    return np.array(values, np.float64).reshape(1, 1, -1, 1)


def seen(**attributes):
    """Which keys get weight, as rows of 0 and 1, when every score is 0 in four rows and six columns (`keys` for others)."""
    keys = attributes.pop("keys", 6)
    inputs = attributes.pop("inputs", ())
    p = attention(single(0, 0, 0, 0), single(*[0] * keys), single(*[0] * keys), *inputs, qk_matmul_output_mode=3, **attributes)
    return ["".join("1" if w else "0" for w in row) for row in p[3][0, 0]]


def test_equal_scores_give_the_mean_and_ln_3_a_quarter():
    v = single(4, 8)
    assert attention(single(0), single(5, -7), v)[0] == 6
    assert_close(attention(single(1), single(LN3, 0), v, scale=1.0)[0], single(5))


def test_the_default_scale_is_one_over_the_root_of_the_head_size():
    q, k = np.ones((1, 1, 1, 4)), np.zeros((1, 1, 2, 4))
    k[0, 0, 1, :2] = LN3
    y, _, _, scores = attention(q, k, single(4, 8))
    assert_close(scores.ravel(), [0, LN3])
    assert_close(y, single(7))


def test_scores_beyond_the_range_of_exp():
    assert attention(single(1), single(2000, 0), single(4, 8), scale=1.0)[0] == 4
    assert attention(single(1), single(-2000, -2000), single(4, 8), scale=1.0)[0] == 6


def test_successive_query_heads_share_a_key_head():
    q = np.zeros((1, 4, 1, 1))
    v = np.array([1.0, 5.0]).reshape(1, 2, 1, 1)
    assert attention(q, v, v)[0].ravel().tolist() == [1, 1, 5, 5]
    with pytest.raises(ValueError, match="multiple"):
        attention(q[:, :3], v, v)


def test_heads_of_rank_3_lie_side_by_side_in_the_last_axis():
    q = np.zeros((1, 1, 2))
    k = np.zeros((1, 2, 2))
    v = np.array([[[1.0, 2, 30, 40], [3, 4, 50, 60]]])
    y, present_key, present_value, scores = attention(q, k, v, q_num_heads=2, kv_num_heads=2)
    assert y.tolist() == [[[2, 3, 40, 50]]]
    assert present_key.shape == (1, 2, 2, 1)
    assert present_value[0, 1].tolist() == [[30, 40], [50, 60]]
    assert scores.shape == (1, 2, 1, 2)


def test_boolean_masks_choose_and_real_ones_add():
    q, k, v = single(0), single(0, 0, 0), single(4, 8, 6)
    assert attention(q, k, v, np.array([True, False, True]))[0] == 5
    assert_close(attention(q, k, v, np.array([[LN3, 0, -np.inf]]))[0], single(5))
    with pytest.raises(ValueError, match="boolean"):
        attention(q, k, v, np.array([1, 0, 1]))
    with pytest.raises(ValueError, match="broadcast"):
        attention(q, k, v, np.zeros((2, 3)))


def test_a_mask_of_rank_3_is_by_head():
    mask = np.array([[[True, False]], [[False, True]]])
    y = attention(np.zeros((1, 2, 1, 1)), np.zeros((1, 1, 2, 1)), single(4, 8), mask)[0]
    assert y.ravel().tolist() == [4, 8]


@np.errstate(invalid="ignore")
def test_a_row_that_sees_no_key_is_zero():
    mask = np.array([[False, False], [True, True]])
    y, _, _, p = attention(single(np.inf, 0), single(1, 1), single(4, 8), mask, qk_matmul_output_mode=3)
    assert y.ravel().tolist() == [0, 6]
    assert p[0, 0].tolist() == [[0, 0], [0.5, 0.5]]
    assert attention(single(1), single(), single())[0] == 0


@np.errstate(invalid="ignore")
def test_infinite_scores_are_no_mask():
    assert np.isnan(attention(single(-np.inf), single(1, 1), single(4, 8))[0])
    assert np.isnan(attention(single(1), single(np.inf, 0), single(4, 8))[0])


def test_causal_rows_see_as_far_as_themselves():
    assert seen(is_causal=1) == ["100000", "110000", "111000", "111100"]
    past = (None, single(0, 0), single(0, 0))
    assert seen(is_causal=1, keys=4, inputs=past) == ["111000", "111100", "111110", "111111"]


@np.errstate(invalid="ignore")
def test_causal_rows_of_an_outer_cache_end_at_its_length():
    assert seen(is_causal=1, inputs=(None, None, None, np.array([6]))) == ["111000", "111100", "111110", "111111"]
    assert seen(is_causal=1, inputs=(None, None, None, np.array([5]))) == ["110000", "111000", "111100", "111110"]
    assert seen(is_causal=1, inputs=(None, None, None, np.array([2]))) == ["000000", "000000", "100000", "110000"]
    assert seen(inputs=(None, None, None, np.array([2]))) == ["110000"] * 4


def test_each_batch_entry_has_its_own_length():
    zeros = np.zeros((2, 1, 2, 1))
    v = np.array([[4.0, 8], [4, 8]]).reshape(2, 1, 2, 1)
    y = attention(zeros[:, :, :1], zeros, v, None, None, None, np.array([1, 2]))[0]
    assert y.ravel().tolist() == [4, 6]
    with pytest.raises(ValueError, match="every batch entry"):
        attention(zeros, zeros, v, None, None, None, np.array([1]))


def test_windows_bound_the_distance_on_each_side():
    assert seen(left_window_size=2, right_window_size=1) == ["110000", "111000", "111100", "011110"]
    assert seen(left_window_size=0) == ["111111", "011111", "001111", "000111"]
    assert seen(right_window_size=0, is_causal=1) == seen(is_causal=1)
    past = (None, single(0, 0), single(0, 0))
    assert seen(left_window_size=1, right_window_size=0, keys=4, inputs=past) == ["011000", "001100", "000110", "000011"]
    with pytest.raises(ValueError, match="window"):
        seen(left_window_size=-2)


def test_the_fourth_output_follows_the_scores():
    q, k, v = single(1), single(LN3, 0), single(4, 8)
    mask = np.array([-1.0, 0.0])
    # tanh(ln 3/2) = 1/2: the softcap makes 1 of ln 3, the mask 0 of 1, so both keys weigh the same.
    outputs = [attention(q, k, v, mask, scale=1.0, softcap=2.0, qk_matmul_output_mode=mode) for mode in range(4)]
    for got, wanted in zip(outputs, [[LN3, 0], [1, 0], [0, 0], [0.5, 0.5]], strict=True):
        assert_close(got[3].ravel(), wanted)
        assert_close(got[0], single(6))
    assert attention(q, k, v, mask, scale=1.0, qk_matmul_output_mode=1)[3].ravel().tolist() == [LN3, 0]
    with pytest.raises(ValueError, match="mode"):
        attention(q, k, v, qk_matmul_output_mode=4)


def test_a_softcap_leaves_masked_keys_masked():
    y = attention(single(1), single(50, 60), single(4, 8), np.array([True, False]), softcap=0.5)[0]
    assert y == 4


def test_short_masks_go_on_closed_from_version_24():
    q, k, v = single(0), single(0, 0, 0), single(4, 8, 6)
    assert attention(q, k, v, np.array([True, True]))[0] == 6
    assert attention(q, k, v, np.array([0.5]))[0] == 4
    assert_close(attention_23(q, k, v, np.array([0.5]))[0], 6)
    with pytest.raises(ValueError, match="broadcast"):
        attention_23(q, k, v, np.array([True, True]))
    with pytest.raises(ValueError, match="nonpad"):
        attention(q, k, v, np.array([True]), None, None, np.array([2]))


def test_versions_through_the_evaluator():
    inputs = [x.astype(np.float16) for x in (single(0), single(0, 0, 0), single(4, 8, 6), np.array([0.5]))]
    assert_close([apply("Attention", version, inputs, {})[0] for version in (23, 24, 25)], [6, 4, 4])
    with pytest.raises(EvaluationError):
        apply("Attention", 22, inputs, {})


def test_the_past_precedes_the_new_keys():
    y, present_key, present_value, _ = attention(single(1), single(0), single(8), None, single(LN3), single(4), scale=1.0)
    assert_close(y, single(5))
    assert present_key.ravel().tolist() == [LN3, 0]
    assert present_value.ravel().tolist() == [4, 8]
    with pytest.raises(ValueError, match="together"):
        attention(single(1), single(0), single(8), None, single(LN3))
    with pytest.raises(ValueError, match="exclude"):
        attention(single(1), single(0), single(8), None, single(LN3), single(4), np.array([1]))


@np.errstate(invalid="ignore")
def test_softmax_precision_rounds_only_what_it_cannot_hold():
    def weights(key, precision, dtype):
        inputs = (single(1), single(key, 1), single(0, 0))
        p = attention(*inputs, scale=1.0, softmax_precision=precision, qk_matmul_output_mode=3, dtypes=(dtype,))[3]
        return p.ravel()

    above = 1 + 2.0**-12
    assert weights(above, 10, "float32").tolist() == [0.5, 0.5]
    assert weights(above, 16, "float16").tolist() == [0.5, 0.5]
    for precision, dtype in ((1, "float32"), (11, "float32"), (10, "float16"), (1, "bfloat16")):
        assert weights(above, precision, dtype)[0] > 0.5
    assert np.isnan(weights(70000.0, 10, "float32")).all()
    assert weights(70000.0, 1, "float32").tolist() == [1, 0]
    with pytest.raises(ValueError, match="softmax_precision"):
        weights(1.0, 7, "float32")


def test_shapes_that_do_not_fit():
    q, k = np.zeros((1, 2, 1, 3)), np.zeros((1, 2, 4, 3))
    with pytest.raises(ValueError, match="rank"):
        attention(q, k[0], k)
    with pytest.raises(ValueError, match="q_num_heads"):
        attention(q[0], k[0], k[0])
    with pytest.raises(ValueError, match="heads"):
        attention(q[0], k[0], k[0], q_num_heads=2, kv_num_heads=3)
    with pytest.raises(ValueError, match="rank 4 has 2 heads"):
        attention(q, k, k, kv_num_heads=1)
    with pytest.raises(ValueError, match="differ"):
        attention(q, k, k[:, :, :3])
    with pytest.raises(ValueError, match="fit"):
        attention(q, k[..., :2], k)


def test_ingredients_of_the_bound():
    q = np.array([[1.0, -1.0]]).reshape(1, 1, 1, 2)
    q = np.concatenate([q, 2 * q], axis=1)
    k = np.array([[LN3, 0.0], [2.0, 2.0]]).reshape(1, 1, 2, 2)
    parts = attention_ingredients(q, k, single(4, 8), np.array([1.0, 1.0]), scale=1.0, qk_matmul_output_mode=2)
    assert_close(parts["scores"][0, :, 0], [[LN3, 0], [2 * LN3, 0]])
    assert_close(parts["products"][0, :, 0], [[LN3, 4], [2 * LN3, 8]])
    assert_close(parts["logits"], parts["scores"] + 1)
    assert_close(parts["maxima"].ravel(), [LN3 + 1, 2 * LN3 + 1])
    assert_close(parts["probabilities"][0, :, 0], [[0.75, 0.25], [0.9, 0.1]])
    assert parts["values"][0, 1].ravel().tolist() == [4, 8]
    assert_close(parts["output"].ravel(), [5, 4.4])
    broadcast = attention_ingredients(q, k, single(4, 8), np.array([1.0]), version=23)
    assert np.isfinite(broadcast["logits"]).all()


QUARTER = np.zeros((1, 1, 2)), np.ones((1, 1, 2))


def test_a_quarter_turn_of_halves_and_of_neighbours():
    x = np.array([1.0, 2, 3, 4]).reshape(1, 1, 1, 4)
    assert rotary_embedding(x, *QUARTER).ravel().tolist() == [-3, -4, 1, 2]
    assert rotary_embedding(x, *QUARTER, interleaved=1).ravel().tolist() == [-2, 1, -4, 3]


def test_a_rotation_may_stop_short_of_the_head():
    x = np.array([1.0, 2, 3, 4, 5, 6]).reshape(1, 1, 1, 6)
    assert rotary_embedding(x, *QUARTER, rotary_embedding_dim=4).ravel().tolist() == [-3, -4, 1, 2, 5, 6]
    with pytest.raises(ValueError, match="expected"):
        rotary_embedding(x, *QUARTER)


def test_positions_pick_rows_of_the_caches():
    cos, sin = np.array([[1.0], [0.0], [-1.0]]), np.array([[0.0], [1.0], [0.0]])
    x = np.array([[[1.0, 2, 10, 20], [1, 2, 10, 20]]])
    y = rotary_embedding(x, cos, sin, np.array([[2, 1]]), num_heads=2)
    assert y.tolist() == [[[-1, -2, -10, -20], [-2, 1, -20, 10]]]
    four = x.reshape(1, 2, 2, 2).swapaxes(1, 2)
    assert (rotary_embedding(four, cos, sin, np.array([[2, 1]])).swapaxes(1, 2).reshape(1, 2, 4) == y).all()
    for outside in (3, -1):
        with pytest.raises(ValueError, match="positions"):
            rotary_embedding(x, cos, sin, np.array([[0, outside]]), num_heads=2)
    with pytest.raises(ValueError, match="num_heads"):
        rotary_embedding(x, cos, sin, np.array([[2, 1]]))
    with pytest.raises(ValueError, match="rank 2"):
        rotary_embedding(x, cos[None], sin[None], np.array([[2, 1]]), num_heads=2)


CACHE = np.arange(8).reshape(2, 4, 1)
UPDATE = np.array([[-1, -2], [-3, -4]]).reshape(2, 2, 1)


def test_an_update_starts_at_each_entry_s_index():
    assert tensor_scatter(CACHE, UPDATE)[..., 0].tolist() == [[-1, -2, 2, 3], [-3, -4, 6, 7]]
    assert tensor_scatter(CACHE, UPDATE, np.array([2, 1]))[..., 0].tolist() == [[0, 1, -1, -2], [4, -3, -4, 7]]
    wrapped = tensor_scatter(CACHE, UPDATE, np.array([3, 5]), mode="circular")
    assert wrapped[..., 0].tolist() == [[-2, 1, 2, -1], [4, -3, -4, 7]]
    assert CACHE[0, 0, 0] == 0


def test_an_update_along_another_axis():
    cache = np.array([["a", "b", "c"], ["d", "e", "f"]], object)
    assert tensor_scatter(cache, np.array([["x"], ["y"]], object), np.array([2, 0]), axis=-1).tolist() == [
        ["a", "b", "x"],
        ["y", "e", "f"],
    ]
    whole = tensor_scatter(np.zeros((1, 2, 3)), np.ones((1, 2, 1)), np.array([1]), axis=2)
    assert whole.tolist() == [[[0, 1, 0], [0, 1, 0]]]


@pytest.mark.parametrize(
    ("arguments", "attributes", "message"),
    [
        ((CACHE, UPDATE, np.array([0, 3])), {}, "inside"),
        ((CACHE, UPDATE, np.array([-1, 0])), {}, "inside"),
        ((CACHE, UPDATE), {"axis": 0}, "axis"),
        ((CACHE, UPDATE), {"axis": 3}, "axis"),
        ((CACHE, UPDATE), {"mode": "ring"}, "mode"),
        ((UPDATE, CACHE), {}, "fit"),
        ((CACHE, UPDATE[:1]), {}, "fit"),
    ],
)
def test_updates_that_do_not_fit(arguments, attributes, message):
    with pytest.raises(ValueError, match=message):
        tensor_scatter(*arguments, **attributes)
