"""RNN, GRU and LSTM of the reference: gates of one unit computed by hand, directions, lengths, layouts, activations."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from reference.evaluator import apply

NAN = np.nan
LN2, LN3 = math.log(2), math.log(3)
ONE = np.ones((1, 1, 1))
OUTPUTS = {"RNN": 2, "GRU": 2, "LSTM": 3}


def run(operator: str, *inputs: Any, version: int = 22, **attributes: Any) -> tuple[NDArray[Any], ...]:
    arrays = [None if x is None else np.asarray(x) for x in inputs]
    return apply(operator, version, arrays, attributes, n_outputs=OUTPUTS[operator])


def sequence(*x: float) -> NDArray[Any]:
    """The values of one sequence of one input: (steps, 1, 1)."""
    return np.array(x, np.float64).reshape(-1, 1, 1)


def running_sum(x: Any, direction: str, lengths: Any = None, initial: Any = None, **attributes: Any) -> tuple[Any, ...]:
    """h' = x + h, from an RNN of one unit."""
    ones = np.ones((2 if direction == "bidirectional" else 1, 1, 1))
    activations = ["Affine"] * len(ones)
    return run("RNN", x, ones, ones, None, lengths, initial, direction=direction, activations=activations, **attributes)


@pytest.mark.parametrize("version", [1, 7, 14, 22])
def test_rnn_by_hand(version: int) -> None:
    """2·1 + 1 = 3; 2·2 + 3·3 + 1 = 14; -20 + 3·14 + 1 = 23; a step to -100 ends at 0."""
    b = [[0.75, 0.25]]
    y, last = run("RNN", sequence(1, 2, -10, -100), 2 * ONE, 3 * ONE, b, version=version, activations=["Relu"], hidden_size=1)
    np.testing.assert_array_equal(y.ravel(), [3, 14, 23, 0])
    assert y.shape == (4, 1, 1, 1)
    np.testing.assert_array_equal(last, [[[0]]])


def test_rows_of_weights_are_units() -> None:
    """Unit 0 takes x and then unit 1; unit 1 takes 10·x and nothing else."""
    y, last = run("RNN", sequence(1, 0), [[[1.0], [10.0]]], [[[0.0, 1.0], [0.0, 0.0]]], activations=["Affine"])
    np.testing.assert_array_equal(y[:, 0, 0], [[1, 10], [10, 0]])
    np.testing.assert_array_equal(last, [[[10, 0]]])


def test_the_default_is_tanh_once_or_twice() -> None:
    for attributes in ({}, {"activations": ["Tanh", "Tanh"]}, {"activations": ["Tanh"]}):
        y, _ = run("RNN", sequence(LN2), ONE, ONE, **attributes)
        np.testing.assert_allclose(y.ravel(), [0.6], rtol=1e-15)


# Three sequences 1, 2, 4 of lengths 3, 2 and 0 that begin at 0, 10 and 5.
X = np.array([[1.0], [2.0], [4.0]]).repeat(3, axis=1)[:, :, None]
LENGTHS = np.array([3, 2, 0], np.int32)
INITIAL = np.array([[[0.0], [10.0], [5.0]]])
FORWARD = [[1, 11, 0], [3, 13, 0], [7, 0, 0]]
REVERSE = [[7, 13, 0], [6, 12, 0], [4, 0, 0]]
LAST = [7, 13, 5]


@pytest.mark.parametrize(("direction", "expected"), [("forward", FORWARD), ("reverse", REVERSE)])
def test_lengths(direction: str, expected: list[list[float]]) -> None:
    x = X.copy()
    x[2, 1], x[:, 2] = NAN, NAN
    y, last = running_sum(x, direction, LENGTHS, INITIAL)
    np.testing.assert_array_equal(y[:, 0, :, 0], expected)
    np.testing.assert_array_equal(last[0, :, 0], LAST)


def test_both_directions_with_lengths_and_batches_first() -> None:
    initial = INITIAL.repeat(2, axis=0)
    y, last = running_sum(X, "bidirectional", LENGTHS, initial)
    np.testing.assert_array_equal(y[:, :, :, 0], np.stack([FORWARD, REVERSE], axis=1))
    np.testing.assert_array_equal(last[:, :, 0], [LAST, LAST])
    first, last_first = running_sum(X.swapaxes(0, 1), "bidirectional", LENGTHS, initial.swapaxes(0, 1), layout=1)
    np.testing.assert_array_equal(first, y.transpose(2, 0, 1, 3))
    np.testing.assert_array_equal(last_first, last.swapaxes(0, 1))


def test_full_lengths_are_no_lengths() -> None:
    for direction in ("forward", "reverse"):
        for got, expected in zip(running_sum(X, direction, np.full(3, 3, np.int32)), running_sum(X, direction), strict=True):
            np.testing.assert_array_equal(got, expected)


def test_no_steps_and_no_batch() -> None:
    y, last = running_sum(X[:0], "forward", None, INITIAL)
    assert y.shape == (0, 1, 3, 1)
    np.testing.assert_array_equal(last, INITIAL)
    y, last = running_sum(X[:, :0], "bidirectional")
    assert (y.shape, last.shape) == ((3, 2, 0, 1), (2, 0, 1))


@pytest.mark.parametrize(
    ("name", "parameters", "x", "expected"),
    [
        ("Relu", (), [-1.0, 2.0], [0.0, 2.0]),
        ("Tanh", (), [LN2], [0.6]),
        ("Sigmoid", (), [LN3], [0.75]),
        ("Affine", (), [2.0], [2.0]),
        ("Affine", (3.0, 4.0), [2.0], [10.0]),
        ("LeakyRelu", (), [-1.0, 2.0], [-float(np.float32(0.01)), 2.0]),
        ("LeakyRelu", (0.25,), [-1.0], [-0.25]),
        # The threshold itself passes, which it does not in the operator of this name.
        ("ThresholdedRelu", (), [0.5, 1.0, 2.0, NAN], [0.0, 1.0, 2.0, 0.0]),
        ("ThresholdedRelu", (2.0,), [1.5, 2.0], [0.0, 2.0]),
        ("ScaledTanh", (5.0, 2.0), [LN2 / 2], [3.0]),
        ("HardSigmoid", (), [1.0, 9.0], [float(np.float32(0.2)) + 0.5, 1.0]),
        ("HardSigmoid", (0.25, 0.5), [1.0, -9.0], [0.75, 0.0]),
        ("Elu", (), [-LN2, 2.0], [-0.5, 2.0]),
        ("Elu", (2.0,), [-LN2], [-1.0]),
        ("Softsign", (), [1.0, -3.0], [0.5, -0.75]),
        ("Softplus", (), [0.0, LN3], [LN2, 2 * LN2]),
    ],
)
def test_activations(name: str, parameters: tuple[float, ...], x: list[float], expected: list[float]) -> None:
    attributes = {f"activation_{which}": [v] for which, v in zip(("alpha", "beta"), parameters, strict=False)}
    y, _ = run("RNN", sequence(*x), ONE, 0 * ONE, activations=[name], **attributes)
    np.testing.assert_allclose(y.ravel(), expected, rtol=1e-15)


def test_only_activations_with_parameters_take_them() -> None:
    two = np.ones((2, 1, 1))
    attributes = {"activations": ["Relu", "Affine"], "activation_alpha": [3.0], "activation_beta": [1.0]}
    y, _ = run("RNN", sequence(2), two, 0 * two, direction="bidirectional", **attributes)
    np.testing.assert_array_equal(y.ravel(), [2, 7])


def test_clip_bounds_the_argument_of_the_activation() -> None:
    attributes = {"activations": ["Affine"], "activation_alpha": [2.0], "clip": 1.0}
    y, _ = run("RNN", sequence(-5, 0.5, 5), ONE, 0 * ONE, **attributes)
    np.testing.assert_array_equal(y.ravel(), [-2, 1, 2])


GRU_BIAS = [[2.0, 3.0, 7.0, 0.0, 0.0, 5.0]]  # z = 2 and r = 3; 7 beside the inputs and 5 beside the state for the candidate
GRU_W, GRU_R = [[[0.0], [0.0], [1.0]]], [[[0.0], [0.0], [10.0]]]
LINEAR = {"activations": ["Affine", "Affine"]}


@pytest.mark.parametrize("version", [1, 3, 7, 14, 22])
def test_gru_resets_the_state_before_the_product(version: int) -> None:
    """ĥ = 1 + (3·4)·10 + 7 + 5 = 133, h' = (1 - 2)·133 + 2·4 = -125."""
    y, last = run("GRU", ONE, GRU_W, GRU_R, GRU_BIAS, None, 4 * ONE, version=version, **LINEAR)
    assert (y.item(), last.item()) == (-125, -125)


@pytest.mark.parametrize("version", [3, 7, 14, 22])
def test_gru_resets_the_product_with_its_bias(version: int) -> None:
    """ĥ = 1 + 7 + 3·(4·10 + 5) = 143, h' = (1 - 2)·143 + 2·4 = -135."""
    y, _ = run("GRU", ONE, GRU_W, GRU_R, GRU_BIAS, None, 4 * ONE, version=version, linear_before_reset=1, **LINEAR)
    assert y.item() == -135


@pytest.mark.parametrize("linear_before_reset", [0, 1])
def test_gru_gates_are_blocks_of_units(linear_before_reset: int) -> None:
    """Two units from h = (8, 16) with z = (1/2, 1/4) and r = (1, 0); unit 1 feeds both candidates. r multiplies h, so
    that ĥ = (0, 0), or with linear_before_reset the products (16, 16), so that ĥ = (16, 0)."""
    r = np.zeros((1, 6, 2))
    r[0, 4:, 1] = 1
    bias = [[0.5, 0.25, 1.0, 0.0, 0.0, 0.0] + [0.0] * 6]
    attributes = {"linear_before_reset": linear_before_reset, **LINEAR}
    y, _ = run("GRU", ONE, np.zeros((1, 6, 1)), r, bias, None, [[[8.0, 16.0]]], **attributes)
    np.testing.assert_array_equal(y.ravel(), [12, 4] if linear_before_reset else [4, 4])


def test_gru_defaults_are_sigmoid_and_tanh() -> None:
    """z = 3/4, r = 1/2, ĥ = tanh(ln 2) = 0.6: 0.6/4 + 4·3/4."""
    y, _ = run("GRU", ONE, np.zeros((1, 3, 1)), np.zeros((1, 3, 1)), [[LN3, 0.0, LN2, 0.0, 0.0, 0.0]], None, 4 * ONE)
    np.testing.assert_allclose(y.item(), 3.15, rtol=1e-15)


LSTM_BIAS = [[1.0, 1.0, 2.0, 3.0, 1.0, 2.0, 3.0, 4.0]]  # i = 2, o = 3, f = 5, ĉ = 7 from both halves
LSTM_ZERO = np.zeros((1, 4, 1))
LSTM_R = [[[1.0], [0.0], [0.0], [0.0]]]  # the state adds to i
PEEPHOLES = [[1.0, 2.0, 3.0]]
LSTM_LINEAR = {"activations": ["Affine"] * 3}


def lstm(*rest: Any, steps: int = 1, **attributes: Any) -> tuple[NDArray[Any], ...]:
    """An LSTM of one unit without inputs, with LSTM_BIAS, from c = 11."""
    return run("LSTM", np.zeros((steps, 1, 1)), LSTM_ZERO, LSTM_R, LSTM_BIAS, None, None, 11 * ONE, *rest, **attributes)


@pytest.mark.parametrize("version", [1, 7, 14, 22])
def test_lstm_by_hand(version: int) -> None:
    """c' = 5·11 + 2·7 = 69, h' = 3·69 = 207; then i = 209, c' = 5·69 + 209·7 = 1808, h' = 3·1808."""
    y, last_h, last_c = lstm(steps=2, version=version, **LSTM_LINEAR)
    np.testing.assert_array_equal(y.ravel(), [207, 5424])
    assert (last_h.item(), last_c.item()) == (5424, 1808)


def test_peepholes_of_i_and_f_see_the_old_cell_that_of_o_the_new_one() -> None:
    """i = 2 + 11 = 13, f = 5 + 3·11 = 38, c' = 38·11 + 13·7 = 509, o = 3 + 2·509 = 1021."""
    _, last_h, last_c = lstm(PEEPHOLES, **LSTM_LINEAR)
    assert (last_h.item(), last_c.item()) == (1021 * 509, 509)


def test_coupled_gates_forget_what_they_do_not_take_in() -> None:
    """f = 1 - 2: c' = -11 + 14 = 3; with peepholes i = 13, f = -12, c' = -132 + 91 = -41, o = 3 - 82 = -79."""
    _, last_h, last_c = lstm(input_forget=1, **LSTM_LINEAR)
    assert (last_h.item(), last_c.item()) == (9, 3)
    _, last_h, last_c = lstm(PEEPHOLES, input_forget=1, **LSTM_LINEAR)
    assert (last_h.item(), last_c.item()) == (-79 * -41, -41)


def test_lstm_activations_in_the_order_of_gates_candidate_and_cell() -> None:
    """ĉ = 10·7 + 1 = 71, c' = 5·11 + 2·71 = 197, h' = 3·(100·197 + 2)."""
    _, last_h, last_c = lstm(activation_alpha=[1.0, 10.0, 100.0], activation_beta=[0.0, 1.0, 2.0], **LSTM_LINEAR)
    assert (last_h.item(), last_c.item()) == (59106, 197)


def test_lstm_defaults_are_sigmoid_tanh_tanh() -> None:
    """i = 3/4, o = 1/4, f = 1/2, ĉ = 0.6: c' = 1/2 + 0.45."""
    bias = [[LN3, -LN3, 0.0, LN2, 0.0, 0.0, 0.0, 0.0]]
    _, last_h, last_c = run("LSTM", 0 * ONE, LSTM_ZERO, LSTM_ZERO, bias, None, None, ONE)
    np.testing.assert_allclose((last_h.item(), last_c.item()), (math.tanh(0.95) / 4, 0.95), rtol=1e-15)


def test_clip_bounds_what_the_output_activation_sees_but_not_the_cell() -> None:
    """f and ĉ become 4: c' = 4·11 + 2·4 = 52, h' = 3·4; then i = 4 (14 clipped), c' = 4·52 + 4·4."""
    y, _, last_c = lstm(steps=2, clip=4.0, **LSTM_LINEAR)
    np.testing.assert_array_equal(y.ravel(), [12, 12])
    assert last_c.item() == 224


def test_lstm_directions_have_their_own_weights_and_states() -> None:
    """The reverse direction alone has a peephole, and doubled biases: i = 4 + 1, c' = 10·1 + 5·14 = 80, h' = 6·80."""
    bias = np.concatenate([LSTM_BIAS, 2 * np.array(LSTM_BIAS)])
    p, c = [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0]], [[[11.0]], [[1.0]]]
    both, lengths = np.zeros((2, 4, 1)), np.array([1], np.int32)
    attributes = {"direction": "bidirectional", "activations": ["Affine"] * 6}
    y, last_h, last_c = run("LSTM", np.zeros((2, 1, 1)), both, both, bias, lengths, None, c, p, **attributes)
    np.testing.assert_array_equal(last_c.ravel(), [69, 80])
    np.testing.assert_array_equal(last_h.ravel(), [207, 480])
    np.testing.assert_array_equal(y[:, :, 0, 0], [[207, 480], [0, 0]])
    first = run("LSTM", np.zeros((1, 2, 1)), both, both, bias, lengths, None, np.swapaxes(c, 0, 1), p, layout=1, **attributes)
    for got, expected in zip(first, (y.transpose(2, 0, 1, 3), last_h.swapaxes(0, 1), last_c.swapaxes(0, 1)), strict=True):
        np.testing.assert_array_equal(got, expected)


@pytest.mark.parametrize(
    ("inputs", "attributes", "message"),
    [
        ({}, {"direction": "foward"}, "direction 'foward', expected one of forward, reverse, bidirectional"),
        ({}, {"direction": "bidirectional"}, r"W of shape \(1, 4, 1\), expected \(2, 4, 1\)"),
        ({}, {"hidden_size": 2}, r"W of shape \(1, 4, 1\), expected \(1, 8, 1\)"),
        ({}, {"layout": 2}, "layout 2, expected 0 or 1"),
        ({}, {"clip": -1.0}, "clip -1.0, expected a threshold that is not negative"),
        ({}, {"activations": ["Tanh"]}, "1 activations, expected 3"),
        ({}, {"activations": ["Tanh", "Gelu", "Tanh"]}, "activation 'Gelu', expected one of Relu, Tanh"),
        ({}, {"activations": ["Tanh", "ScaledTanh", "Tanh"]}, "ScaledTanh needs an alpha and a beta"),
        ({0: np.zeros((2, 3))}, {}, r"X of shape \(2, 3\), expected three axes"),
        ({2: np.zeros((1, 4, 2))}, {"hidden_size": 1}, r"R of shape \(1, 4, 2\), expected \(1, 4, 1\)"),
        ({3: np.zeros((1, 4))}, {}, r"B of shape \(1, 4\), expected \(1, 8\)"),
        ({4: np.array([3], np.int32)}, {}, r"sequence_lens \[3\], expected lengths of 0 to 2"),
        ({4: np.array([1, 1], np.int32)}, {}, r"sequence_lens of shape \(2,\), expected \(1,\)"),
        ({6: np.zeros((1, 2, 1))}, {}, r"initial state of shape \(1, 2, 1\), expected \(1, 1, 1\)"),
        ({7: np.zeros((1, 4))}, {}, r"P of shape \(1, 4\), expected \(1, 3\)"),
    ],
)
def test_what_does_not_fit(inputs: dict[int, Any], attributes: dict[str, Any], message: str) -> None:
    all_inputs = [np.zeros((2, 1, 1)), LSTM_ZERO, LSTM_ZERO, None, None, None, None, None]
    for position, tensor in inputs.items():
        all_inputs[position] = tensor
    with pytest.raises(ValueError, match=message):
        run("LSTM", *all_inputs, **attributes)
