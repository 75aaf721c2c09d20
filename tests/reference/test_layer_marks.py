"""What ONNX leaves open in layers with a state, in attention, losses and Dropout, by hand."""

import numpy as np
import pytest

from reference import marks
from reference.node import Node

from .differential.samples import call


def zeros(*shape: int) -> np.ndarray:
    return np.zeros(shape, np.float32)


def open_elements(operator, inputs, outputs=1, **attributes):
    """The mask of every output, in its shape."""
    sample = call(operator, inputs, outputs=outputs, **attributes)
    node = Node.of(sample.model, sample.feeds)
    masks = [marks.left_open(node, i) for i in range(outputs)]
    return [np.broadcast_to(False if m is None else m, r.shape) for m, r in zip(masks, node.results, strict=True)]


@pytest.mark.parametrize("layout", [0, 1])
def test_steps_behind_the_end_of_a_sequence_and_states_of_an_empty_one(layout):
    x = zeros(2, 3, 1) if layout else zeros(3, 2, 1)
    inputs = [x, zeros(1, 1, 1), zeros(1, 1, 1), None, np.array([2, 0], np.int32)]
    y, state = open_elements("RNN", inputs, 2, version=14, layout=layout)
    assert (y if layout else y.transpose(2, 0, 1, 3))[:, :, 0, 0].tolist() == [[False, False, True], [True] * 3]
    assert state.ravel().tolist() == [False, True]
    assert not any(mask.any() for mask in open_elements("RNN", inputs[:3], 2, version=14, layout=layout))


def test_an_activation_without_alpha_beside_one_that_takes_it():
    inputs = [zeros(1, 1, 1), zeros(1, 3, 1), zeros(1, 3, 1)]
    for names, alphas, wanted in (
        (["Tanh", "Elu"], [0.5], True),
        (["Elu", "Elu"], [0.5], False),
        (["Tanh", "Elu"], None, False),
    ):
        (y,) = open_elements("GRU", inputs, version=14, activations=names, activation_alpha=alphas)
        assert y.all() == wanted


def test_the_mean_of_no_targets():
    inputs = [zeros(0, 2), np.zeros(0, np.int64)]
    assert open_elements("NegativeLogLikelihoodLoss", inputs, version=13)[0]
    assert not open_elements("NegativeLogLikelihoodLoss", inputs, version=13, reduction="sum")[0]
    loss, probability = open_elements("SoftmaxCrossEntropyLoss", inputs, 2, version=13)
    assert loss
    assert not probability.any()


def test_dropout():
    x, half, train = zeros(2), np.array(0.5, np.float32), np.array(True)
    assert [m.all() for m in open_elements("Dropout", [x, half, train], 2, version=13)] == [True, True]
    assert [m.any() for m in open_elements("Dropout", [x, half], 2, version=13)] == [False, False]
    assert [m.any() for m in open_elements("Dropout", [x, np.zeros((), np.float32), train], 2, version=13)] == [False, False]
    assert [m.all() for m in open_elements("Dropout", [x], 2, version=10)] == [False, True]
    assert [m.all() for m in open_elements("Dropout", [x], 2, version=6)] == [True, True]
    assert [m.all() for m in open_elements("Dropout", [x], 2, version=6, is_test=1)] == [False, True]


def test_attention():
    q, k = zeros(1, 1, 1, 2), zeros(1, 1, 3, 2)
    short, infinite = zeros(1, 1), np.full((1, 1, 3, 2), np.inf, np.float32)
    huge = np.full((1, 3), 1e30, np.float32)
    for inputs, attributes, wanted in (
        ([q, k, k], {"version": 23}, False),
        ([q, k, k], {"version": 23, "scale": -1.0}, True),
        ([q, k, k], {"version": 23, "scale": 0.0}, True),
        ([q, k, k, short], {"version": 23}, False),
        ([q, k, k, short], {"version": 24}, True),
        ([q, k, infinite], {"version": 23}, False),
        ([q, k, infinite], {"version": 23, "is_causal": 1}, True),
        ([q, k, k, huge], {"version": 23}, False),
        ([q, k, k, huge], {"version": 23, "softmax_precision": 10}, True),
    ):
        y, key, value, scores = open_elements("Attention", inputs, 4, **attributes)
        assert y.all() == scores.all() == wanted, attributes
        assert not key.any()
        assert not value.any()


def test_padding_of_a_chunk_and_of_the_cache():
    x, past = zeros(2, 2, 8), zeros(2, 1, 4, 8)
    lengths, bound, valid = np.array([2, 0], np.int32), np.array([3], np.int32), np.array([1, 0], np.int32)
    inputs = [x, x, x, past, past, lengths, bound, *[None] * 9, valid]
    attributes = {"num_heads": 1, "kv_num_heads": 1, "qk_output": 1}
    y, key, value, scores = open_elements("GroupQueryAttention", inputs, 4, version=1, domain="com.microsoft", **attributes)
    assert y[..., 0].tolist() == [[False, True], [True, True]]
    assert key[:, 0, :, 0].tolist() == [[False, False, False, True], [False, True, True, True]]
    assert (value == key).all()
    assert scores[:, 0, :, 0].tolist() == [[False, True], [True, True]]


def test_fourier_transforms():
    x = np.array([[[1, 0], [2, 0]], [[np.inf, 0], [0, 0]]], np.float32)
    assert open_elements("DFT", [x], version=17)[0].any(axis=(1, 2)).tolist() == [False, True]
    half = np.array([[[1, 0], [1, 1], [1, 0]], [[1, 0], [1, 1], [1, 1]]], np.float32)
    assert open_elements("DFT", [half], version=17, inverse=1, onesided=1)[0].any(axis=(1, 2)).tolist() == [False, True]
    odd = [half, np.array(5)]  # a real signal of five values may have that imaginary part
    assert not open_elements("DFT", odd, version=17, inverse=1, onesided=1)[0].any()


def test_windows_determinants_and_patches():
    assert open_elements("HannWindow", [np.array(1)], version=17, periodic=0)[0].all()
    assert not open_elements("HannWindow", [np.array(1)], version=17)[0].any()
    matrices = np.array([[[np.inf, 0], [0, 1]], [[1, 0], [0, 1]]], np.float32)
    assert open_elements("Det", [matrices], version=11)[0].tolist() == [True, False]
    # Blocks of two over three places: the middle one belongs to both.
    blocks = [np.ones((1, 2, 2), bool), np.array([3]), np.array([2])]
    assert open_elements("Col2Im", blocks, version=18)[0].ravel().tolist() == [False, True, False]


def test_bands_whose_edge_is_a_whole_bin():
    """Without a lower limit, edge i of 4 has 1 + f/700 = 4^(i/4): 0, 290, 700 and 1280 Hz; 16·700/11200 is a whole bin."""
    sample = call("MelWeightMatrix", [*(np.array(n) for n in (2, 15, 11200)), np.float32(0), np.float32(2100)], version=17)
    mask = marks.ties(Node.of(sample.model, sample.feeds), 0)
    assert mask is not None
    assert mask.tolist() == [[True, True]]
    sample = call("MelWeightMatrix", [*(np.array(n) for n in (2, 15, 11000)), np.float32(0), np.float32(2100)], version=17)
    assert marks.ties(Node.of(sample.model, sample.feeds), 0) is None
