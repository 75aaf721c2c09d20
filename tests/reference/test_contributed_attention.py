"""com.microsoft's attention operators against values worked out by hand.

Scores that differ by ln 3 weigh 3 to 1; equal scores give the mean of the values; a quarter turn sends (a, b) to (-b, a).
"""

import numpy as np
import pytest

from reference.evaluator import apply
from reference.ops.contributed_attention import group_query_attention, multi_head_attention, rotary_embedding

LN3 = float(np.log(3.0))


def line(*values):
    """One batch entry, one head of size 1: (1, length, 1)."""
    return np.array(values, np.float64).reshape(1, -1, 1)


def cache(*values):
    """One batch entry, one head of size 1, as a cache: (1, 1, length, 1)."""
    return np.array(values, np.float64).reshape(1, 1, -1, 1)


def assert_close(got, wanted):
    """Equal but for the roundings of a softmax."""
    np.testing.assert_allclose(np.ravel(got), np.ravel(wanted), rtol=1e-14, atol=1e-15)


# RotaryEmbedding

COS, SIN = np.array([[1.0], [0.0], [-1.0]]), np.array([[0.0], [1.0], [0.0]])
"""No turn, a quarter, a half."""


def test_positions_count_on_from_one_or_are_given_each():
    x = np.array([[[1.0, 2], [1, 2]], [[3, 4], [3, 4]]])
    assert rotary_embedding(x, np.array([1]), COS, SIN).tolist() == [[[-2, 1], [-1, -2]], [[-4, 3], [-3, -4]]]
    given = np.array([[2, 1], [0, 0]])
    assert rotary_embedding(x, given, COS, SIN).tolist() == [[[-1, -2], [-2, 1]], [[3, 4], [3, 4]]]
    assert rotary_embedding(x, given, COS, SIN, is_packed_batching=1).tolist() == [[[-1, -2], [-2, 1]], [[3, 4], [3, 4]]]
    for wrong in (np.array([2]), np.array([[0, 1], [0, -1]])):
        with pytest.raises(ValueError, match="positions"):
            rotary_embedding(x, wrong, COS, SIN)
    with pytest.raises(ValueError, match="position_ids"):
        rotary_embedding(x, np.array([[0, 1, 2]]), COS, SIN)


def test_heads_and_partial_rotation():
    x = np.array([[[1.0, 2, 10, 20]]])
    quarter = np.array([1])
    assert rotary_embedding(x, quarter, COS, SIN).tolist() == [[[-2, 1, -20, 10]]]
    assert rotary_embedding(x, quarter, COS, SIN, num_heads=1, rotary_embedding_dim=2).tolist() == [[[-2, 1, 10, 20]]]
    assert rotary_embedding(x.reshape(1, 2, 1, 2), quarter, COS, SIN).ravel().tolist() == [-2, 1, -20, 10]
    wide = np.zeros((2, 2)), np.ones((2, 2))
    assert rotary_embedding(x, quarter, *wide).ravel().tolist() == [-10, -20, 1, 2]
    assert rotary_embedding(x, quarter, *wide, interleaved=1).ravel().tolist() == [-2, 1, -20, 10]
    for attributes, message in (
        ({"rotary_embedding_dim": 2}, "num_heads"),
        ({"num_heads": 1}, "turn"),
        ({"scale": 2.0}, "scale"),
    ):
        with pytest.raises(ValueError, match=message):
            rotary_embedding(x, quarter, COS, SIN, **attributes)


# MultiHeadAttention


def test_a_row_attends_to_all_keys():
    y, key, value, scores = multi_head_attention(line(1), line(LN3, 0), line(4, 8), num_heads=1)
    assert_close(y, line(5))
    assert key.ravel().tolist() == [LN3, 0]
    assert value.ravel().tolist() == [4, 8]
    assert scores.ravel().tolist() == [LN3, 0]
    assert_close(multi_head_attention(line(2), line(LN3, 0), line(4, 8), num_heads=1, scale=0.5)[0], 5)


def test_the_default_scale_depends_on_the_head_size():
    query, key = np.ones((1, 1, 4)), np.zeros((1, 2, 4))
    key[0, 0, :2] = LN3
    assert multi_head_attention(query, key, line(4, 8), num_heads=1)[3][0, 0, 0, 0] == LN3
    assert multi_head_attention(query, key, line(4, 8), num_heads=1, scale=0.0)[3][0, 0, 0, 0] == LN3


def test_packed_layouts_and_caches_mean_the_same():
    query = np.array([[[1.0, 2], [3, 4]]])
    key, value = query + 4, query + 8
    wanted = multi_head_attention(query, key, value, num_heads=2)
    heads = [x.reshape(1, 2, 2, 1) for x in (query, key, value)]
    packed = [
        multi_head_attention(np.stack(heads, axis=3), num_heads=2),
        multi_head_attention(query, np.stack(heads[1:], axis=3), num_heads=2),
        multi_head_attention(query, *(x.swapaxes(1, 2) for x in heads[1:]), num_heads=2),
    ]
    for got in packed:
        for output, expected in zip(got, wanted, strict=True):
            np.testing.assert_array_equal(output, expected)


def test_bias_is_added_to_query_key_and_value():
    bias = np.array([1.0, LN3, 4])
    y, key, value, _ = multi_head_attention(line(0), line(0, -LN3), line(0, 4), bias, num_heads=1)
    assert_close(y, line(5))
    assert key.ravel().tolist() == [LN3, 0]
    assert value.ravel().tolist() == [4, 8]
    for wrong, keys in ((bias[:2], line(0)), (bias, cache(0))):
        with pytest.raises(ValueError, match="bias"):
            multi_head_attention(line(0), keys, keys, wrong, num_heads=1)


@pytest.mark.parametrize(
    "mask",
    [[2], [2, 0, 1, 0, 3], [[1, 1, 0]], [[[1, 1, 0]]]],
    ids=["length", "lengths and offsets", "by key", "by row and key"],
)
def test_masked_keys_have_a_value_added_to_their_scores(mask):
    inputs = line(0), line(0, 0, 0), line(4, 8, 100), None, np.array(mask, np.int32)
    assert multi_head_attention(*inputs, num_heads=1)[0] == 6
    # Weights 1, 1 and 1/3: (4 + 8 + 100/3)/(7/3).
    y = multi_head_attention(*inputs, num_heads=1, mask_filter_value=-LN3)[0]
    assert_close(y, line(136 / 7))


def test_a_row_whose_keys_are_all_masked_is_as_if_none_were():
    y = multi_head_attention(line(1), line(LN3, 0), line(4, 8), None, np.array([0]), num_heads=1)[0]
    np.testing.assert_allclose(y, line(5), rtol=1e-11)


def test_attention_bias_broadcasts_over_batch_and_heads():
    query, key = np.zeros((2, 1, 2)), np.zeros((2, 2, 2))
    value = np.broadcast_to(np.array([[4.0, 4], [8, 8]]), (2, 2, 2))
    by_head = np.array([[[[LN3, 0]], [[0, 0]]]])
    y = multi_head_attention(query, key, value, None, None, by_head, num_heads=2)[0]
    assert_close(y, [[[5, 6]], [[5, 6]]])
    with pytest.raises(ValueError, match="attention_bias"):
        multi_head_attention(query, key, value, None, None, by_head[..., :1], num_heads=2)


def test_later_keys_are_closed_to_a_unidirectional_row():
    zero, value = line(0, 0, 0), line(3, 5, 10)
    assert_close(multi_head_attention(zero, zero, value, num_heads=1, unidirectional=1)[0], [3, 4, 6])
    past = cache(0), cache(1)
    y = multi_head_attention(zero, zero, value, None, None, None, *past, num_heads=1, unidirectional=1)[0]
    assert_close(y, [2, 3, 4.75])
    # Keys after the last row's position stay closed to it, too.
    assert_close(multi_head_attention(line(0, 0), zero, value, num_heads=1, unidirectional=1)[0], [3, 4])


def test_a_past_grows_or_is_written_into():
    new = line(0), line(0), line(8)
    y, key, value, _ = multi_head_attention(*new, None, None, None, cache(0, 0), cache(3, 4), num_heads=1)
    assert_close(y, 5)
    assert (key.shape, value.ravel().tolist()) == ((1, 1, 3, 1), [3, 4, 8])
    inputs = (*new, None, None, None, cache(0, 0, 7), cache(4, 9, 9), np.array([1]))
    y, key, value, _ = multi_head_attention(*inputs, num_heads=1)
    assert (y, key.ravel().tolist(), value.ravel().tolist()) == (6, [0, 0, 7], [4, 8, 9])
    with pytest.raises(ValueError, match="inside"):
        multi_head_attention(*inputs[:-1], np.array([3]), num_heads=1)


def test_beams_read_each_other_s_past():
    zero = np.zeros((2, 1, 1))
    new = np.array([[[6.0]], [[60.0]]])
    past_value = np.array([[2.0, 4, 0], [20, 40, 0]]).reshape(2, 1, 3, 1)
    beams = np.array([[[0, 1, 1], [0, 0, 0]]], np.int32)
    inputs = zero, zero, new, None, None, None, np.zeros((2, 1, 3, 1)), past_value, np.array([2], np.int32)
    y, _, value, _ = multi_head_attention(*inputs, beams, num_heads=1)
    # 2, 40 and the own 6; 2, 4 and the own 60.
    assert_close(y, [16, 22])
    assert value.reshape(2, 3).tolist() == [[2, 4, 6], [20, 40, 60]]
    for wrong in (beams + 1, beams[:, :, :1], beams[:, :1]):
        with pytest.raises(ValueError, match="cache_indirection"):
            multi_head_attention(*inputs, wrong, num_heads=1)
    with pytest.raises(ValueError, match="past_sequence_length"):
        multi_head_attention(*inputs[:-1], None, beams, num_heads=1)


PACKED = np.zeros((1, 2, 1, 3, 1))


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        ((PACKED, line(0)), "packed query"),
        ((PACKED[:, :, :, :2],), "packed query"),
        ((line(0), PACKED), "packed key"),
        ((line(0),), "rank"),
        ((line(0), line(0), cache(0)), "rank"),
        ((cache(0), line(0), line(0)), "shape"),
        ((line(0), line(0), line(0, 0)), "fit"),
        ((line(0), line(0), line(0), None, np.ones((1, 2))), "key_padding_mask"),
        ((line(0), line(0), line(0), None, np.ones((1, 1)), None, cache(0), cache(0)), "key_padding_mask"),
        ((line(0), line(0), line(0), None, None, None, cache(0)), "together"),
        ((line(0), cache(0), cache(0), None, None, None, cache(0), cache(0)), "cache"),
    ],
)
def test_layouts_that_do_not_exist(inputs, message):
    with pytest.raises(ValueError, match=message):
        multi_head_attention(*inputs, num_heads=1)


# GroupQueryAttention


def grouped(query, key, value, past=(None, None), lengths=None, bound=None, *rest, **attributes):
    """One head unless said otherwise; by default a first prompt."""
    seqlens = np.array([query.shape[1]] * len(query) if lengths is None else lengths, np.int32) - 1
    total = np.array([max(seqlens) + 1 if bound is None else bound], np.int32)
    attributes = {"num_heads": 1, "kv_num_heads": 1, **attributes}
    return group_query_attention(query, key, value, *past, seqlens, total, *rest, **attributes)


def test_a_prompt_is_causal_unless_told_otherwise():
    zero, value = line(0, 0, 0), line(3, 5, 10)
    y, key, present, *_ = grouped(zero, zero, value)
    assert_close(y, [3, 4, 6])
    assert (key.shape, present.ravel().tolist()) == ((1, 1, 3, 1), [3, 5, 10])
    assert_close(grouped(zero, zero, value, causal=0)[0], [6, 6, 6])


def test_query_heads_share_a_key_head_packed_or_not():
    query, key, value = np.zeros((1, 1, 4)), np.zeros((1, 1, 2)), np.array([[[1.0, 5.0]]])
    heads = {"num_heads": 4, "kv_num_heads": 2}
    assert grouped(query, key, value, **heads)[0].tolist() == [[[1, 1, 5, 5]]]
    assert grouped(np.concatenate([query, key, value], axis=2), None, None, **heads)[0].tolist() == [[[1, 1, 5, 5]]]


def test_each_entry_of_a_batch_has_its_own_past():
    zero, value = np.zeros((2, 1, 1)), np.array([9.0, 7]).reshape(2, 1, 1)
    past = np.zeros((2, 1, 3, 1)), np.array([[3.0, np.nan, np.nan], [1, 4, 6]]).reshape(2, 1, 3, 1)
    y, _, present, scores = grouped(zero, zero, value, past, [2, 4], qk_output=2)
    assert y.ravel().tolist() == [6, 4.5]
    assert present.reshape(2, 4).tolist() == [[3, 9, 0, 0], [1, 4, 6, 7]]
    assert scores.reshape(2, 4).tolist() == [[0.5, 0.5, 0, 0], [0.25] * 4]
    long = tuple(np.pad(x, [(0, 0), (0, 0), (0, 3), (0, 0)]) for x in past)
    assert grouped(zero, zero, value, long, [2, 4])[2].shape == (2, 1, 6, 1)


def test_a_prompt_may_be_padded_on_the_right():
    zero = np.zeros((2, 3, 1))
    value = np.array([[4.0, 8, np.nan], [3, 5, 10]]).reshape(2, 3, 1)
    y, _, present = grouped(zero, zero, value, (None, None), [2, 3])
    assert_close(y, [4, 6, 0, 3, 4, 6])
    assert present.reshape(2, 3).tolist() == [[4, 8, 0], [3, 5, 10]]


def test_chunks_may_be_padded_after_a_past():
    zero = np.zeros((3, 2, 1))
    value = np.array([[8.0, 9], [8, np.nan], [np.nan, np.nan]]).reshape(3, 2, 1)
    past = np.zeros((3, 1, 4, 1)), np.array([[4.0, 0, 0, 0], [2, 2, 0, 0], [5, 7, 0, 0]]).reshape(3, 1, 4, 1)
    inputs = zero, zero, value, past, [3, 3, 2], 4
    rest = [None] * 9
    y, _, present = grouped(*inputs, *rest, np.array([2, 1, 0]))
    assert_close(y, [6, 7, 4, 0, 0, 0])
    assert present.reshape(3, 4).tolist() == [[4, 8, 9, 0], [2, 2, 8, 0], [5, 7, 0, 0]]
    with pytest.raises(ValueError, match="batch of one"):
        grouped(*inputs)
    for wrong in ([3, 1, 0], [-1, 1, 0], [2, 1]):
        with pytest.raises(ValueError, match="query_seqlens"):
            grouped(*inputs, *rest, np.array(wrong))
    with pytest.raises(ValueError, match="causal"):
        grouped(*inputs, *rest, np.array([2, 1, 0]), causal=0)
    with pytest.raises(ValueError, match="no room"):
        grouped(zero, zero, value, past, [3, 4, 2], 4, *rest, np.array([2, 1, 0]))


def test_a_window_counts_the_own_position():
    zero, value = line(0, 0, 0), line(3, 5, 10)
    assert grouped(zero, zero, value, local_window_size=1)[0].ravel().tolist() == [3, 5, 10]
    assert grouped(zero, zero, value, local_window_size=2)[0].ravel().tolist() == [3, 4, 7.5]
    for attributes in ({"local_window_size": 0}, {"local_window_size": 2, "causal": 0}):
        with pytest.raises(ValueError, match="local_window_size"):
            grouped(zero, zero, value, **attributes)


def test_a_window_sized_cache_evicts_in_blocks():
    # Capacity 6 and window 4 evict 3 rows at a time: the table of ONNX Runtime's docs/contrib_ops/cpu/gqa.md.
    held = [[0], [0, 1], [0, 1, 2], [0, 1, 2, 3], [0, 1, 2, 3, 4], [0, 1, 2, 3, 4, 5], [3, 4, 5, 6], [3, 4, 5, 6, 7]]
    past = cache(*[0] * 6), cache(*[np.nan] * 6)
    attributes = {"sliding_window_cache": 1, "local_window_size": 4}
    for t, wanted in enumerate(held):
        y, *present = grouped(line(0), line(0), line(t), past, [t + 1], **attributes)
        assert_close(y, np.mean(range(max(0, t - 3), t + 1)))
        assert present[1].ravel()[: len(wanted)].tolist() == wanted
        past = tuple(present)
    # Four more at once, of which the first still sees position 5: positions 6 to 11 stay.
    y, _, value = grouped(line(0, 0, 0, 0), line(0, 0, 0, 0), line(8, 9, 10, 11), past, [12], **attributes)
    assert_close(y, [6.5, 7.5, 8.5, 9.5])
    assert value.ravel().tolist() == [6, 7, 8, 9, 10, 11]
    for wrong in ({"local_window_size": 7}, {"local_window_size": -1}):
        with pytest.raises(ValueError, match="window"):
            grouped(line(0), line(0), line(0), past, [13], **{**attributes, **wrong})
    with pytest.raises(ValueError, match="past_key"):
        grouped(line(0), line(0), line(0), **attributes)


def test_the_softcap_comes_before_the_bias():
    # tanh(ln 3/2) = 1/2 makes 1 of ln 3 with a softcap of 2, and the bias 0 of 1.
    bias = np.array([[[[-1.0, 0.0]]]])
    past = cache(LN3), cache(4)
    rest = None, None, None, bias
    for mode, wanted in ((1, [0, 0]), (2, [0.5, 0.5])):
        y, _, _, scores = grouped(line(1), line(0), line(8), past, [2], 2, *rest, softcap=2.0, qk_output=mode)
        assert_close(y, line(6))
        assert_close(scores, wanted)
    scores = grouped(line(1, 2), line(LN3, 1), line(0, 0), qk_output=1)[3]
    np.testing.assert_array_equal(scores[0, 0], [[LN3, 0], [2 * LN3, 2]])
    with pytest.raises(ValueError, match="attention_bias"):
        grouped(line(1), line(0), line(8), past, [2], 2, None, None, None, bias[..., :1])
    with pytest.raises(ValueError, match="qk_output"):
        grouped(line(1), line(0), line(8), n_outputs=4)


def test_a_sink_takes_a_share_that_nobody_receives():
    past = cache(0), cache(4)
    step = line(0), line(0), line(8), past, [2], 2
    # e^0 beside two e^0: weights of a third; e^(ln 3) = 3: of a fifth.
    assert_close(grouped(*step, smooth_softmax=1)[0], 4)
    sink = None, None, None, None, np.array([LN3])
    assert_close(grouped(*step, *sink)[0], line(12 / 5))
    assert_close(grouped(*step, *sink, smooth_softmax=1)[0], line(12 / 5))


TURN = np.array([[1.0], [0.0], [-1.0], [0.0]]), np.array([[0.0], [1.0], [0.0], [-1.0]])
"""Position n turns by n quarters."""


def turned(positions=None, past=(None, None), lengths=None, bound=None, rows=2, **attributes):
    """Present keys of a new key (1, 2) in each row."""
    key = np.tile(np.array([1.0, 2]), (1, rows, 1))
    ids = None if positions is None else np.array([positions])
    return grouped(key, key, key, past, lengths, bound, *TURN, ids, do_rotary=1, **attributes)[1][0, 0].tolist()


def test_keys_turn_by_their_position():
    assert turned() == [[1, 2], [-2, 1]]
    past = np.full((1, 1, 2, 2), 5.0), np.full((1, 1, 2, 2), 5.0)
    assert turned(past=past, lengths=[4], bound=4) == [[5, 5], [5, 5], [-1, -2], [2, -1]]
    assert turned([3, 0], past=past, lengths=[4], bound=4) == [[5, 5], [5, 5], [2, -1], [1, 2]]


def test_a_first_prompt_uses_only_the_first_position():
    assert turned([1, 0]) == [[-2, 1], [-1, -2]]
    with pytest.raises(ValueError, match="positions"):
        turned([3, 0])
    with pytest.raises(ValueError, match="position_ids"):
        turned([3])


def test_queries_turn_as_keys_do():
    # Both turned by a quarter: the score of the own key stays 1·1 + 2·2.
    key = np.array([[[1.0, 2]]])
    step = key, key, key, (None, None), [1], 1, *TURN, np.array([[1]])
    assert grouped(*step, do_rotary=1, scale=1.0, qk_output=1)[3] == 5
    with pytest.raises(ValueError, match="caches"):
        grouped(key, key, key, do_rotary=1)


def test_neighbours_turn_if_interleaved_and_the_rest_of_a_head_stays():
    key = np.array([[[1.0, 2, 3, 4]]])
    step = key, key, key, (None, None), [1], 1, np.zeros((1, 2)), np.ones((1, 2))
    assert grouped(*step, do_rotary=1)[1].ravel().tolist() == [-3, -4, 1, 2]
    assert grouped(*step, do_rotary=1, rotary_interleaved=1)[1].ravel().tolist() == [-2, 1, -4, 3]
    short = key, key, key, (None, None), [1], 1, np.zeros((1, 1)), np.ones((1, 1))
    assert grouped(*short, do_rotary=1)[1].ravel().tolist() == [-2, 1, 3, 4]


def test_heads_may_be_normalised_before_they_turn():
    # (3, 4) has a mean square of 12.5; with an epsilon of 12.5 its root is 5.
    key = np.array([[[3.0, 4.0]]])
    weights = np.array([5.0, 10]), np.array([1.0, 1])
    step = key, key, key, (None, None), [1], 1, *[None] * 7, *weights
    outputs = grouped(*step, qk_norm_epsilon=12.5, scale=1.0, qk_output=1)
    assert_close(outputs[1].ravel(), [0.6, 0.8])
    assert_close(outputs[3], 3 * 0.6 + 8 * 0.8)
    own = grouped(*step, k_norm_epsilon=12.5, q_norm_epsilon=87.5, scale=1.0, qk_output=1)
    assert_close(own[3], (3 * 0.6 + 8 * 0.8) / 2)
    with pytest.raises(ValueError, match="norm"):
        grouped(*step[:-1])


NEW = line(0), line(0), line(0)


@pytest.mark.parametrize(
    ("inputs", "attributes", "message"),
    [
        (NEW, {"k_quant_type": "PER_TENSOR"}, "not supported"),
        (NEW, {"kv_cache_bit_width": 8}, "not supported"),
        ((*NEW, (None, None), [1], 1, *[None] * 5, np.ones(1)), {}, "not supported"),
        ((*NEW, (cache(0), None)), {}, "together"),
        ((line(0), line(0), None), {}, "together"),
        ((line(0), line(0, 0), line(0, 0)), {}, "alike"),
        ((*NEW, (None, None), [2], 1), {}, "seqlens_k"),
        ((*NEW, (None, None), [0], 1), {}, "seqlens_k"),
        ((*NEW, (cache(0), cache(0)), [4], 4), {}, "fewer"),
    ],
)
def test_what_is_not_supported_or_does_not_fit(inputs, attributes, message):
    with pytest.raises(ValueError, match=message):
        grouped(*inputs, **attributes)


def test_they_are_found_in_their_domain():
    x = np.array([[[1.0, 2]]], np.float32)
    got = apply("RotaryEmbedding", 1, [x, np.array([1]), *(c.astype(np.float32) for c in TURN)], {}, domain="com.microsoft")
    assert got[0].tolist() == [[[-2, 1]]]
    new = [np.zeros((1, 1, 1), np.float32)] * 3
    lengths = [None, None, np.array([0], np.int32), np.array([1], np.int32)]
    attributes = {"num_heads": 1, "kv_num_heads": 1}
    assert len(apply("GroupQueryAttention", 1, [*new, *lengths], attributes, domain="com.microsoft", n_outputs=3)) == 3
    assert apply("MultiHeadAttention", 1, new, {"num_heads": 1}, domain="com.microsoft")[0].shape == (1, 1, 1)
