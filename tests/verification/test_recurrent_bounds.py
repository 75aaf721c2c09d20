"""Bounds of recurrent layers and linear recurrences: cells in emulated units lie within them in every order of their sums, with
states in the unit or in memory; gates, resets, clips and decays that are confused do not."""

from __future__ import annotations

import numpy as np
import pytest

from reference import dtypes
from tests.verification.bounds import decided, node_of, ratio, sample, setting_of
from tests.verification.orders import sum_products
from tests.verification.units import UNITS, add, divide, function, multiply, store, subtract

SEEDS = 20
"""Batch entries; each is a sample of its own."""

UNITS_AND_TYPES = (("fp32", "float32"), ("fp16", "float16"), ("bf16", "bfloat16"), ("fp32", "float16"))
SIZES = ((1, 1, 1), (6, 3, 4), (12, 8, 16))
"""Steps, inputs, hidden elements."""


def parameters(gates, size, dtype, directions=1, gain=0.5):
    """x, w, r, b of a layer that neither forgets nor saturates at once."""
    steps, inputs, hidden = size

    def weights(n, scale, seed):
        drawn = dtypes.to_real(sample("normal", (directions, gates * hidden, n), "float32", seed))
        return dtypes.cast(scale * drawn, dtype)

    x, b = sample("normal", (steps, SEEDS, inputs), dtype, 1), sample("tiny", (directions, 2 * gates * hidden), dtype, 4)
    return x, weights(inputs, gain, 2), weights(hidden, gain / np.sqrt(hidden), 3), b


def sigmoid(x, unit, by="exp"):
    """1/(1 + exp(−x)) or (1 + tanh(x/2))/2."""
    if by == "tanh":
        half = multiply(x, np.array(0.5), unit)
        return multiply(add(tanh(half, unit), np.ones(()), unit), np.array(0.5), unit)
    return divide(np.ones(()), add(function(np.exp, -x, unit, ulps=1.5), np.ones(()), unit), unit)


def tanh(x, unit, by="tanh"):
    """tanh by itself, or 1 − 2/(1 + exp(2x))."""
    if by == "exp":
        e = function(np.exp, multiply(x, np.array(2.0), unit), unit, ulps=1.5)
        return subtract(np.ones(()), divide(np.array(2.0), add(e, np.ones(()), unit), unit), unit)
    return function(np.tanh, x, unit, ulps=1.5)


def sums(x, h, w, r, biases, unit, order):
    """x·Wᵀ + h·Rᵀ + biases: two products whose sums meet, or one of both, biases first or last."""
    if order == "joined":
        first = add(*biases, unit)
        return sum_products(np.concatenate([x, h], -1), np.concatenate([w, r], -1).T, unit, "chain", first=first)
    total = add(sum_products(x, w.T, unit, order), sum_products(h, r.T, unit, order), unit)
    return add(add(total, biases[0], unit), biases[1], unit)


def rnn_step(x, states, w, r, b, unit, order, by):
    return (tanh(sums(x, states[0], w, r, b, unit, order), unit, "exp" if by == "exp" else "tanh"),)


def gru_step(x, states, w, r, b, unit, order, by, linear=False, swapped=False, reset_late=False):
    (h,), n = states, states[0].shape[-1]
    gate = [sigmoid(sums(x, h, w[k], r[k], [p[k] for p in b], unit, order), unit, by) for k in (np.s_[:n], np.s_[n : 2 * n])]
    update, reset = gate[::-1] if swapped else gate
    last = np.s_[2 * n :]
    if linear:
        recurrent = add(sum_products(h, r[last].T, unit, "chain"), b[1][last], unit)
        own = add(sum_products(x, w[last].T, unit, "chain"), b[0][last], unit)
        candidate = add(own, multiply(reset, recurrent, unit), unit)
    else:
        held = h if reset_late else multiply(reset, h, unit)
        candidate = sums(x, held, w[last], r[last], [p[last] for p in b], unit, order)
    new = tanh(candidate, unit, "exp" if by == "exp" else "tanh")
    if order == "joined":
        return (add(new, multiply(update, subtract(h, new, unit), unit), unit),)
    return (add(multiply(subtract(np.ones(()), update, unit), new, unit), multiply(update, h, unit), unit),)


def lstm_step(x, states, w, r, b, unit, order, by, gates="iofc", clip=None, peepholes=None):
    h, c = states
    total = sums(x, h, w, r, b, unit, order).reshape(len(h), 4, -1)
    part = {name: total[:, k] for k, name in enumerate(gates)}
    limited = (lambda t: t) if clip is None else (lambda t: np.clip(t, -clip, clip))
    form = "exp" if by == "exp" else "tanh"
    seen = (lambda t, *_: t) if peepholes is None else (lambda t, k, c: add(t, multiply(peepholes[k], c, unit), unit))
    i, f = (sigmoid(limited(seen(part[g], k, c)), unit, by) for g, k in (("i", 0), ("f", 2)))
    c = add(multiply(f, c, unit), multiply(i, tanh(limited(part["c"]), unit, form), unit), unit)
    o = sigmoid(limited(seen(part["o"], 1, c)), unit, by)
    return multiply(o, tanh(limited(c), unit, form), unit), c


STEPS = {"RNN": (1, 1, rnn_step), "GRU": (3, 1, gru_step), "LSTM": (4, 2, lstm_step)}
"""Operator → gates, states, step."""


def run(operator, parts, unit, dtype, order="chain", by="exp", stored=False, **kinds):
    """Y (steps, 1, batch, hidden) and the last states, in the tensors' type."""
    x, w, r, b = (dtypes.to_real(p) for p in parts)
    _, n_states, step = STEPS[operator]
    halves = np.split(b[0], 2)
    states, y = tuple(np.zeros((x.shape[1], r.shape[2])) for _ in range(n_states)), []
    for t in range(len(x)):
        states = step(x[t], states, w[0], r[0], halves, unit, order, by, **kinds)
        y.append(states[0])
        if stored:
            states = tuple(dtypes.round_to(s, dtype) for s in states)
    return [store(v, dtype, unit) for v in (np.stack(y)[:, None], *(s[None] for s in states))]


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize(("unit", "dtype"), UNITS_AND_TYPES)
@pytest.mark.parametrize("operator", STEPS)
def test_every_cell_lies_within_its_bound(operator, unit, dtype, size):
    gates, states, _ = STEPS[operator]
    parts, setting = parameters(gates, size, dtype), setting_of(unit, dtype)
    node = node_of(operator, parts, states + 1, version=22, hidden_size=size[2])
    for order, forms in (("chain", ("exp", "tanh")), ("pairwise", ("exp",)), ("joined", ("tanh",))):
        for by in forms:
            got = run(operator, parts, UNITS[unit], dtype, order, by, stored=order == "pairwise")
            for i, y in enumerate(got):
                assert not ratio(node, y, setting, i) > 1, (order, by, i)


def test_the_bound_of_a_long_sequence_still_decides():
    for operator, (gates, states, _) in STEPS.items():
        parts = parameters(gates, (64, 8, 16), "float32", gain=0.3)
        node, setting = node_of(operator, parts, states + 1, version=22, hidden_size=16), setting_of("fp32", "float32")
        assert decided(node, setting) == 1
        assert ratio(node, run(operator, parts, UNITS["fp32"], "float32")[0], setting) < 1
        wrong = run(
            operator,
            [parts[0], *(dtypes.cast(dtypes.round_to(dtypes.to_real(p), "bfloat16"), "float32") for p in parts[1:])],
            UNITS["fp32"],
            "float32",
        )[0]
        assert ratio(node, wrong, setting) > 1, operator


def test_variants_of_the_cells_lie_within_their_bounds_and_are_told_apart():
    setting, u = setting_of("fp32", "float32"), UNITS["fp32"]
    size = (10, 4, 6)
    gru, lstm = parameters(3, size, "float32"), parameters(4, size, "float32")
    before, after = (node_of("GRU", gru, version=22, hidden_size=6, linear_before_reset=k) for k in (0, 1))
    own, linear = (run("GRU", gru, u, "float32", linear=k)[0] for k in (False, True))
    assert ratio(before, own, setting) < 1 < ratio(before, linear, setting)
    assert ratio(after, linear, setting) < 1 < ratio(after, own, setting)
    assert ratio(before, run("GRU", gru, u, "float32", swapped=True)[0], setting) > 1
    assert ratio(before, run("GRU", gru, u, "float32", reset_late=True)[0], setting) > 1
    plain, clipped = (node_of("LSTM", lstm, version=22, hidden_size=6, **a) for a in ({}, {"clip": 0.5}))
    right = run("LSTM", lstm, u, "float32")[0]
    assert ratio(plain, right, setting) < 1 < ratio(clipped, right, setting)
    assert ratio(clipped, run("LSTM", lstm, u, "float32", clip=0.5)[0], setting) < 1
    for order in ("ifoc", "ifco", "icfo"):
        assert ratio(plain, run("LSTM", lstm, u, "float32", gates=order)[0], setting) > 1, order
    p = sample("normal", (1, 18), "float32", 9)
    seen = node_of("LSTM", [*lstm, None, None, None, p], version=22, hidden_size=6)
    peeped = run("LSTM", lstm, u, "float32", peepholes=np.split(dtypes.to_real(p)[0], 3))[0]
    assert ratio(seen, peeped, setting) < 1 < ratio(seen, right, setting)


def test_reduced_arithmetic_inside_a_float32_cell_is_found():
    setting = setting_of("fp32", "float32")
    for operator, (gates, _, _) in STEPS.items():
        parts = parameters(gates, (6, 8, 8), "float32")
        node = node_of(operator, parts, version=22, hidden_size=8)
        for unit in ("tf32", "fp16-in", "bf16-in"):
            converted = [dtypes.cast(dtypes.round_to(dtypes.to_real(p), UNITS[unit].inputs), "float32") for p in parts]
            got = run(operator, converted, UNITS["fp32"], "float32")[0]
            assert ratio(node, got, setting) > 1, (operator, unit)
            assert ratio(node, got, setting_of(unit, "float32")) < 1, (operator, unit)


@pytest.mark.parametrize("layout", [0, 1])
def test_directions_lengths_and_layouts_keep_bounds_at_their_elements(layout):
    x, w, r, b = parameters(1, (5, 3, 4), "float32", directions=2)
    lengths = np.random.default_rng(3).integers(1, 6, SEEDS).astype(np.int32)
    given = np.ascontiguousarray(x.swapaxes(0, 1)) if layout else x
    node = node_of("RNN", [given, w, r, b, lengths], 2, version=22, hidden_size=4, direction="bidirectional", layout=layout)
    u, setting = UNITS["fp32"], setting_of("fp32", "float32")
    y = np.zeros((5, 2, SEEDS, 4), np.float32)
    for entry, length in enumerate(lengths):
        for d in range(2):
            part = np.ascontiguousarray(x[:length, entry : entry + 1][:: -1 if d else 1])
            got = run("RNN", [part, w[d : d + 1], r[d : d + 1], b[d : d + 1]], u, "float32")[0][:, 0, 0]
            y[:length, d, entry] = got[:: -1 if d else 1]
    got = np.ascontiguousarray(y.transpose(2, 0, 1, 3)) if layout else y
    assert ratio(node, got, setting) < 1
    assert ratio(node, np.ascontiguousarray(got[::-1]), setting) > 1


@pytest.mark.parametrize(
    ("name", "alpha", "beta"),
    [
        ("Relu", None, None),
        ("Affine", 0.5, 0.1),
        ("LeakyRelu", 0.1, None),
        ("ThresholdedRelu", 0.2, None),
        ("ThresholdedRelu", -0.2, None),
        ("ScaledTanh", 1.5, 0.7),
        ("HardSigmoid", 0.3, 0.4),
        ("Elu", 0.8, None),
        ("Softsign", None, None),
        ("Softplus", None, None),
        ("Sigmoid", None, None),
    ],
)
def test_every_activation_has_its_bound(name, alpha, beta):
    functions = {
        "Relu": lambda x: np.maximum(x, 0),
        "Affine": lambda x: alpha * x + beta,
        "LeakyRelu": lambda x: np.where(x < 0, alpha * x, x),
        "ThresholdedRelu": lambda x: np.where(x >= alpha, x, 0),
        "ScaledTanh": lambda x: alpha * np.tanh(beta * x),
        "HardSigmoid": lambda x: np.clip(alpha * x + beta, 0, 1),
        "Elu": lambda x: np.where(x < 0, alpha * np.expm1(x), x),
        "Softsign": lambda x: x / (1 + np.abs(x)),
        "Softplus": lambda x: np.log1p(np.exp(x)),
        "Sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    }
    kinds = {k: [v] for k, v in (("activation_alpha", alpha), ("activation_beta", beta)) if v is not None}
    parts = parameters(1, (6, 3, 4), "float32")
    node = node_of("RNN", parts, version=22, hidden_size=4, activations=[name], **kinds)
    x, w, r, b = parts
    h, y, wrong = np.zeros((SEEDS, 4), np.float32), [], []
    for t in range(6):
        total = x[t] @ w[0].T + h @ r[0].T + b[0, :4] + b[0, 4:]
        h = functions[name](total).astype(np.float32)
        y.append(h)
        wrong.append(np.tanh(total).astype(np.float32))
    setting = setting_of("fp32", "float32")
    assert ratio(node, np.stack(y)[:, None], setting) < 1
    assert ratio(node, np.stack(wrong)[:, None], setting) > 1


# Linear recurrences


def linear_inputs(steps, dtype, rule, heads=2, d_k=8, d_v=6, batch=SEEDS):
    q, k, v = (sample("normal", (batch, steps, heads * d), dtype, i) for i, d in enumerate((d_k, d_k, d_v)))
    k = dtypes.cast(dtypes.to_real(k) / np.sqrt(d_k), dtype)
    decay = dtypes.cast(-np.abs(dtypes.to_real(sample("normal", (batch, steps, heads), "float32", 5))) * 0.2, dtype)
    beta = dtypes.cast(dtypes.to_real(sample("positive", (batch, steps, heads), "float32", 6)) / 1.5, dtype)
    return q, k, v, None, decay if "gated" in rule else None, beta if "delta" in rule else None


def stepwise(inputs, unit, scale=None, gate_last=False):
    """Token by token: output (B, T, heads·d_v) and the last state."""
    q, k, v, _, decay, beta = (None if x is None else dtypes.to_real(x) for x in inputs)
    batch, steps, _ = q.shape
    q, k, v = (x.reshape(batch, steps, 2, -1) for x in (q, k, v))
    factor = 1 / np.sqrt(8) if scale is None else scale
    state, y = np.zeros((batch, 2, 8, 6)), []
    for t in range(steps):
        rate = None if decay is None else function(np.exp, decay[:, t], unit, ulps=1.5)[..., None, None]
        if rate is not None and not gate_last:
            state = multiply(state, rate, unit)
        added = v[:, t, :, None]
        if beta is not None:
            seen = sum_products(k[:, t, :, None], state, unit, "chain")
            added = multiply(beta[:, t, :, None, None], subtract(added, seen, unit), unit)
        state = add(state, multiply(k[:, t, ..., None], added, unit), unit)
        if rate is not None and gate_last:
            state = multiply(state, rate, unit)
        y.append(multiply(sum_products(q[:, t, :, None], state, unit, "pairwise"), np.array(factor), unit)[:, :, 0])
    return np.stack(y, 1).reshape(batch, steps, -1), state


def chunked(inputs, unit, width=16):
    """Rules without delta in chunks: queries meet the keys of their chunk, decays as differences of their sums."""
    q, k, v, _, decay, _ = (None if x is None else dtypes.to_real(x) for x in inputs)
    batch, steps, _ = q.shape
    q, k, v = (x.reshape(batch, steps, 2, -1).swapaxes(1, 2) for x in (q, k, v))
    decay = np.zeros((batch, 2, steps)) if decay is None else decay.swapaxes(1, 2)
    state, y = np.zeros((batch, 2, 8, 6)), []
    exp = lambda x: function(np.exp, x, unit, ulps=1.5)  # noqa: E731
    for start in range(0, steps, width):
        part = np.s_[:, :, start : start + width]
        sums, running = [], np.zeros((batch, 2))
        for t in range(decay[part].shape[2]):
            running = add(running, decay[part][:, :, t], unit)
            sums.append(running)
        total = np.stack(sums, 2)
        rows = total.shape[2]
        weight = np.where(
            np.tri(rows, dtype=bool), exp(np.minimum(subtract(total[..., None], total[..., None, :], unit), 0)), 0.0
        )
        near = sum_products(
            multiply(sum_products(q[part], k[part].swapaxes(2, 3), unit, "chain"), weight, unit), v[part], unit, "chain"
        )
        far = multiply(sum_products(q[part], state, unit, "chain"), exp(total)[..., None], unit)
        y.append(multiply(add(near, far, unit), np.array(1 / np.sqrt(8)), unit))
        left = multiply(k[part], exp(subtract(total[..., -1:], total, unit))[..., None], unit)
        state = add(
            multiply(state, exp(total[..., -1])[..., None, None], unit),
            sum_products(left.swapaxes(2, 3), v[part], unit, "chain"),
            unit,
        )
    return np.concatenate(y, 2).swapaxes(1, 2).reshape(batch, steps, -1), state


@pytest.mark.parametrize("steps", [1, 5, 48])
@pytest.mark.parametrize(("unit", "dtype"), UNITS_AND_TYPES)
@pytest.mark.parametrize("rule", ["linear", "gated", "delta", "gated_delta"])
def test_every_linear_attention_lies_within_its_bound(rule, unit, dtype, steps):
    inputs = linear_inputs(steps, dtype, rule)
    kinds = {"q_num_heads": 2, "kv_num_heads": 2, "update_rule": rule, "chunk_size": 16}
    node, u = node_of("LinearAttention", inputs, 2, version=27, **kinds), UNITS[unit]
    for algorithm in (stepwise, chunked) if "delta" not in rule else (stepwise,):
        for i, y in enumerate(algorithm(inputs, u)):
            assert not ratio(node, store(y, dtype, u), setting_of(unit, dtype, random=True), i) > 1, (algorithm, i)


def test_faults_of_linear_attention_are_found():
    u, setting = UNITS["fp32"], setting_of("fp32", "float32", random=True)
    inputs = linear_inputs(48, "float32", "gated_delta")
    node = node_of("LinearAttention", inputs, 2, version=27, q_num_heads=2, kv_num_heads=2)
    assert ratio(node, store(stepwise(inputs, u)[0], "float32", u), setting) < 1
    assert ratio(node, store(stepwise(inputs, u, scale=1 / 8)[0], "float32", u), setting) > 1
    assert ratio(node, store(stepwise(inputs, u, gate_last=True)[0], "float32", u), setting) > 1
    assert ratio(node, store(stepwise((*inputs[:4], None, inputs[5]), u)[0], "float32", u), setting) > 1
    assert ratio(node, store(stepwise((*inputs[:5], None), u)[0], "float32", u), setting) > 1
    narrow = tuple(
        None if x is None else dtypes.cast(dtypes.round_to(dtypes.to_real(x), "bfloat16"), "float32") for x in inputs
    )
    assert ratio(node, store(stepwise(narrow, u)[0], "float32", u), setting) > 1


@pytest.mark.parametrize("activation", ["none", "silu"])
@pytest.mark.parametrize(("unit", "dtype"), UNITS_AND_TYPES)
def test_a_causal_convolution_lies_within_its_bound_and_a_shifted_one_does_not(unit, dtype, activation):
    x, weight, bias = (
        sample("normal", (SEEDS, 3, 20), dtype),
        sample("normal", (3, 1, 4), dtype, 1),
        sample("normal", (3,), dtype, 2),
    )
    past, u, setting = sample("normal", (SEEDS, 3, 3), dtype, 3), UNITS[unit], setting_of(unit, dtype)
    node = node_of("CausalConvWithState", [x, weight, bias, past], 2, version=27, activation=activation)
    sequence = np.concatenate([dtypes.to_real(past), dtypes.to_real(x)], 2)

    def convolved(taps):
        total = np.broadcast_to(dtypes.to_real(bias)[:, None], x.shape)
        for k in range(4):
            total = add(total, multiply(dtypes.to_real(weight)[:, :, taps[k]], sequence[:, :, k : k + 20], u), u)
        return total if activation == "none" else multiply(total, sigmoid(total, u), u)

    assert ratio(node, store(convolved((0, 1, 2, 3)), dtype, u), setting) <= 1
    assert ratio(node, store(convolved((3, 2, 1, 0)), dtype, u), setting) > 1
    assert ratio(node, dtypes.cast(sequence[:, :, 20:], dtype), setting, 1) == 0
    assert ratio(node, dtypes.cast(sequence[:, :, 19:22], dtype), setting, 1) == np.inf
