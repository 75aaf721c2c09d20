"""Bounds of the attention operators: naive and blocked algorithms in emulated units lie within them, faults do not."""

from __future__ import annotations

import math

import numpy as np
import pytest

from reference import dtypes
from tests.verification.bounds import RANDOM, decided, node_of, ratio, sample, setting_of
from tests.verification.orders import sum_products, sum_terms
from tests.verification.units import UNITS, add, divide, function, multiply, round_to, store, subtract

SEEDS = 20
"""Batch entries of every tensor; each is a sample of its own."""

SIZES = ((1, 1, 4), (3, 7, 8), (4, 64, 16), (2, 1024, 64))
"""Rows, columns and size of a head."""

UNITS_AND_TYPES = (("fp32", "float32"), ("fp16", "float16"), ("bf16", "bfloat16"), ("fp32", "bfloat16"))


def heads(recipe, rows, columns, size, dtype, kv_heads=1, q_heads=2, batch=SEEDS):
    q = sample("normal" if recipe == "positive" else recipe, (batch, q_heads, rows, size), dtype, 1)
    k = sample(recipe, (batch, kv_heads, columns, size), dtype, 2)
    v = sample("normal" if recipe == "wide" else recipe, (batch, kv_heads, columns, size), dtype, 3)
    return q, k, v


def shared(x, q):
    return np.repeat(x, q.shape[1] // x.shape[1], axis=1)


def dot(a, b, unit, order):
    return sum_products(a, b, unit, order)


def scores(q, k, unit, order, scaled="scores", scale=None):
    """scale·QK', with the scale on the scores, on q, or as a root on both."""
    factor = 1 / math.sqrt(q.shape[-1]) if scale is None else scale
    one = round_to(np.array(factor), unit.precision)
    if scaled == "scores":
        return multiply(dot(q, k.swapaxes(2, 3), unit, order), one, unit)
    if scaled == "q":
        return dot(multiply(q, one, unit), k.swapaxes(2, 3), unit, order)
    root = round_to(np.sqrt(one), unit.precision)
    return dot(multiply(q, root, unit), multiply(k, root, unit).swapaxes(2, 3), unit, order)


def exponential(x, unit):
    return function(np.exp, x, unit, ulps=1.5)


def naive(q, k, v, unit, *, order="chain", scaled="scores", bias=None, softcap=0.0, between=None, scale=None):
    """Scores, softmax and weighted sum as three tensors, which pass through the format `between`."""
    kept = (lambda x: x) if between is None else (lambda x: dtypes.round_to(x, between))
    s = kept(scores(q, shared(k, q), unit, order, scaled, scale))
    if softcap:
        s = multiply(function(np.tanh, divide(s, np.array(softcap), unit), unit, ulps=1.5), np.array(softcap), unit)
    s = s if bias is None else kept(add(s, bias, unit))
    e = exponential(subtract(s, s.max(-1, keepdims=True), unit), unit)
    total = sum_terms(np.moveaxis(e, -1, 0), unit, order)[..., None]
    return dot(kept(divide(e, total, unit)), shared(v, q), unit, order)


def flash(q, k, v, unit, *, block=16, bias=None):
    """Blocks of keys with an online softmax; the weighted sum is divided at the end."""
    k, v = shared(k, q), shared(v, q)
    largest = np.full((*q.shape[:3], 1), -np.inf)
    total, y = np.zeros(largest.shape), np.zeros((*q.shape[:3], v.shape[3]))
    for start in range(0, k.shape[2], block):
        part = np.s_[:, :, start : start + block]
        s = scores(q, k[part], unit, "chain", "q")
        s = s if bias is None else add(s, np.broadcast_to(bias, (*q.shape[:3], k.shape[2]))[..., start : start + block], unit)
        new = np.maximum(largest, s.max(-1, keepdims=True))
        with np.errstate(invalid="ignore"):
            safe = np.where(np.isneginf(new), 0.0, new)
            e = np.where(np.isneginf(s), 0.0, exponential(subtract(s, safe, unit), unit))
            shrunk = np.where(np.isneginf(largest), 0.0, exponential(subtract(largest, safe, unit), unit))
        total = add(multiply(total, shrunk, unit), sum_terms(np.moveaxis(e, -1, 0), unit, "chain")[..., None], unit)
        y = add(multiply(y, shrunk, unit), dot(e, v[part], unit, "chain"), unit)
        largest = new
    with np.errstate(invalid="ignore"):
        return np.where(total == 0, 0.0, divide(y, np.where(total == 0, 1.0, total), unit))


ALGORITHMS = {
    "naive": naive,
    "naive, pairwise, scale on q": lambda q, k, v, u: naive(q, k, v, u, order="pairwise", scaled="q"),
    "naive, lanes, root of the scale": lambda q, k, v, u: naive(q, k, v, u, order="simd8", scaled="root"),
    "flash": flash,
}


@pytest.mark.parametrize(
    ("unit", "dtype", "size", "recipe"),
    [
        *((*unit, SIZES[1], recipe) for unit in UNITS_AND_TYPES for recipe in (*RANDOM, "constant", "ramp")),
        *((*unit, SIZES[0], "normal") for unit in UNITS_AND_TYPES),
        *((*unit, SIZES[2], recipe) for unit in UNITS_AND_TYPES[:2] for recipe in ("normal", "wide", "ramp")),
    ],
)
def test_every_attention_lies_within_its_bound(unit, dtype, size, recipe):
    q, k, v = heads(recipe, *size, dtype)
    node, setting = node_of("Attention", [q, k, v], 3), setting_of(unit, dtype, random=recipe in RANDOM)
    real = [dtypes.to_real(x) for x in (q, k, v)]
    for name, algorithm in ALGORITHMS.items():
        got = store(algorithm(*real, UNITS[unit]), dtype, UNITS[unit])
        assert not ratio(node, got, setting) > 1, name
    assert ratio(node, k, setting, 1) == ratio(node, v, setting, 2) == 0


@pytest.mark.parametrize("recipe", ["normal", "positive"])
def test_a_long_attention_lies_within_its_bound(recipe):
    q, k, v = heads(recipe, *SIZES[3], "float32", q_heads=1, batch=4)
    node, setting = node_of("Attention", [q, k, v]), setting_of("fp32", "float32", random=True)
    real = [dtypes.to_real(x) for x in (q, k, v)]
    for algorithm in (naive, flash):
        assert ratio(node, store(algorithm(*real, UNITS["fp32"]), "float32", UNITS["fp32"]), setting) < 1
    assert decided(node, setting) == 1


def test_scores_stored_in_sixteen_bits_pass_where_that_is_declared():
    q, k, v = heads("normal", 3, 32, 16, "float32")
    node, real = node_of("Attention", [q, k, v]), [dtypes.to_real(x) for x in (q, k, v)]
    got = store(naive(*real, UNITS["fp32"], between="bfloat16"), "float32", UNITS["fp32"])
    assert ratio(node, got, setting_of("fp32", "float32", random=True)) > 1
    assert ratio(node, got, setting_of("fp32", "float32", random=True, storage="bfloat16")) < 1


@pytest.mark.parametrize("mode", [0, 1, 2, 3])
def test_every_output_of_scores_has_its_bound(mode):
    q, k, v = heads("normal", 3, 16, 8, "float32")
    mask, u = sample("normal", (3, 16), "float32", 4), UNITS["fp32"]
    node = node_of("Attention", [q, k, v, mask], 4, qk_matmul_output_mode=mode, softcap=2.0)
    setting = setting_of("fp32", "float32", random=True)
    s = scores(dtypes.to_real(q), shared(dtypes.to_real(k), q), u, "chain")
    cap = multiply(function(np.tanh, divide(s, np.array(2.0), u), u, ulps=1.5), np.array(2.0), u)
    logits = add(cap, dtypes.to_real(mask), u)
    e = exponential(subtract(logits, logits.max(-1, keepdims=True), u), u)
    shown = (s, cap, logits, divide(e, sum_terms(np.moveaxis(e, -1, 0), u, "chain")[..., None], u))
    assert ratio(node, store(shown[mode], "float32", u), setting, 3) < 1
    assert ratio(node, store(shown[mode] * (1 + 1e-3), "float32", u), setting, 3) > 1
    for other in shown[:mode] + shown[mode + 1 :]:
        assert ratio(node, store(other, "float32", u), setting, 3) > 1


def causal(rows, columns, past=0):
    return np.where(np.arange(columns) <= np.arange(rows)[:, None] + past, 0.0, -np.inf)


def test_masks_pasts_and_windows_lie_within_their_bounds():
    q, k, v = heads("normal", 6, 6, 8, "float32")
    past_k, past_v = (sample("normal", (SEEDS, 1, 5, 8), "float32", 7 + i) for i in range(2))
    real, u, setting = [dtypes.to_real(x) for x in (q, k, v)], UNITS["fp32"], setting_of("fp32", "float32", random=True)
    whole = [real[0], *(np.concatenate([dtypes.to_real(p), x], 2) for p, x in ((past_k, real[1]), (past_v, real[2])))]
    node = node_of("Attention", [q, k, v, None, past_k, past_v], 3, is_causal=1)
    for algorithm in (naive, flash):
        assert ratio(node, store(algorithm(*whole, u, bias=causal(6, 11, 5)), "float32", u), setting) < 1
        assert ratio(node, store(algorithm(*whole, u, bias=causal(6, 11, 4)), "float32", u), setting) > 1  # off by one
    kept = np.random.default_rng(5).uniform(size=(6, 6)) < 0.5
    kept[2] = False
    masked = node_of("Attention", [q, k, v, kept])
    assert ratio(masked, store(flash(*real, u, bias=np.where(kept, 0.0, -np.inf)), "float32", u), setting) < 1


def test_sixteen_bits_named_for_the_softmax_are_allowed_there():
    q, k, v = heads("normal", 3, 8, 8, "float32")
    node, plain = (node_of("Attention", [q, k, v], **a) for a in ({"softmax_precision": 10}, {}))
    s = scores(dtypes.to_real(q), shared(dtypes.to_real(k), q), UNITS["fp32"], "chain")
    half = UNITS["fp16"]
    s = dtypes.round_to(s, "float16")
    e = exponential(subtract(s, s.max(-1, keepdims=True), half), half)
    p = divide(e, sum_terms(np.moveaxis(e, -1, 0), half, "chain")[..., None], half)
    got = store(dot(p, shared(dtypes.to_real(v), q), UNITS["fp32"], "chain"), "float32", UNITS["fp32"])
    setting = setting_of("fp32", "float32", random=True)
    assert ratio(node, got, setting) < 1 < ratio(plain, got, setting)


def test_faults_of_attention_are_found():
    q, k, v = heads("normal", 4, 16, 16, "float32", kv_heads=2, q_heads=4)
    u, setting = UNITS["fp32"], setting_of("fp32", "float32", random=True)
    a, b, c = (dtypes.to_real(x) for x in (q, k, v))
    node = node_of("Attention", [q, k, v])

    def rejects(y, of=node):
        return ratio(of, store(y, "float32", u), setting) > 1

    assert not rejects(naive(a, b, c, u))
    assert rejects(naive(a, b, c, u, scale=1 / 16))  # 1/d for 1/√d
    assert rejects(naive(a, np.tile(b, (1, 2, 1, 1)), np.tile(c, (1, 2, 1, 1)), u))  # heads interleaved
    assert rejects(naive(a, b[:, :, :-1], c[:, :, :-1], u))  # the last key is dropped
    assert rejects(naive(a[..., :-1], b[..., :-1], c, u, scale=0.25))  # the last of the head's elements is dropped
    assert rejects(naive(a, b, c, u, between="bfloat16"))
    assert rejects(naive(*(dtypes.round_to(x, "bfloat16") for x in (a, b, c)), u))
    capped = node_of("Attention", [q, k, v], softcap=5.0)
    assert not rejects(naive(a, b, c, u, softcap=5.0), capped)
    assert rejects(naive(a, b, c, u), capped)
    scaled = node_of("Attention", [q, k, v], scale=0.5)
    assert rejects(naive(a, b, c, u), scaled)
    assert not rejects(naive(a, b, c, u, scale=0.5), scaled)


def test_a_row_that_may_overflow_is_open_and_one_that_sees_nothing_is_zero():
    q = np.full((1, 1, 2, 4), 200.0, np.float16)
    q[:, :, 1] = 0.001
    node = node_of("Attention", [q, np.full_like(q, 100.0), q], scale=1.0)
    assert decided(node, setting_of("fp16", "float16")) == 0.5
    closed = node_of("Attention", [q, q, q, np.zeros((2, 2), bool)])
    assert ratio(closed, np.zeros_like(q), setting_of("fp32", "float16")) == 0
    assert ratio(closed, np.full_like(q, 1e-6), setting_of("fp32", "float16")) == np.inf


# Rotation


def rotated(x, cos, sin, unit, *, interleaved=False):
    n = cos.shape[-1]
    a, b = (x[..., ::2], x[..., 1::2]) if interleaved else (x[..., :n], x[..., n:])
    first = subtract(multiply(a, cos, unit), multiply(b, sin, unit), unit)
    second = add(multiply(a, sin, unit), multiply(b, cos, unit), unit)
    return np.stack([first, second], -1).reshape(x.shape) if interleaved else np.concatenate([first, second], -1)


@pytest.mark.parametrize(("unit", "dtype"), UNITS_AND_TYPES)
def test_rotations_lie_within_their_bound_and_swapped_pairs_do_not(unit, dtype):
    angle = np.random.default_rng(1).uniform(0, 6, (SEEDS, 5, 4))
    x, cos, sin = sample("normal", (SEEDS, 2, 5, 8), dtype), *(dtypes.cast(f(angle), dtype) for f in (np.cos, np.sin))
    u, setting = UNITS[unit], setting_of(unit, dtype)
    real = [dtypes.to_real(t) for t in (x, cos[:, None], sin[:, None])]
    for interleaved in (False, True):
        node = node_of("RotaryEmbedding", [x, cos, sin], interleaved=int(interleaved))
        assert ratio(node, store(rotated(*real, u, interleaved=interleaved), dtype, u), setting) < 1
        assert ratio(node, store(rotated(*real, u, interleaved=not interleaved), dtype, u), setting) > 1
        assert ratio(node, store(rotated(real[0], real[1], -real[2], u, interleaved=interleaved), dtype, u), setting) > 1


# com.microsoft


def flat(x):
    """(batch, heads, rows, size) → (batch, rows, heads·size)."""
    return np.ascontiguousarray(x.swapaxes(1, 2)).reshape(x.shape[0], x.shape[2], -1)


@pytest.mark.parametrize("unit", ["fp32", "fp16"])
def test_multi_head_attention_with_bias_and_mask(unit):
    dtype, u = {"fp32": "float32", "fp16": "float16"}[unit], UNITS[unit]
    q, k, v = heads("normal", 3, 8, 8, dtype, kv_heads=2)
    bias, added = sample("normal", (48,), dtype, 5), sample("normal", (SEEDS, 2, 3, 8), dtype, 6)
    kept = np.random.default_rng(2).integers(0, 2, (SEEDS, 8)).astype(np.int32)
    kept[:, 0] = 1
    inputs = [flat(q), flat(k), flat(v), bias, kept, added]
    node = node_of("MultiHeadAttention", inputs, 4, version=1, domain="com.microsoft", num_heads=2)
    parts = [p.reshape(2, 1, 8) for p in np.split(dtypes.to_real(bias), 3)]
    a, b, c = (add(dtypes.to_real(x), p, u) for x, p in zip((q, k, v), parts, strict=True))
    mask = add(dtypes.to_real(added), np.where(kept, 0.0, -1e4)[:, None, None], u)
    setting = setting_of(unit, dtype, random=True)
    assert ratio(node, store(flat(naive(a, b, c, u, bias=mask)), dtype, u), setting) < 1
    assert ratio(node, store(flat(flash(a, b, c, u, bias=mask)), dtype, u), setting) < 1
    assert ratio(node, store(b, dtype, u), setting, 1) <= 1
    assert ratio(node, store(flat(naive(a, b, c, u)), dtype, u), setting) > 1  # the mask is forgotten
    assert ratio(node, store(flat(naive(a, b, dtypes.to_real(v), u, bias=mask)), dtype, u), setting) > 1  # a bias is


@pytest.mark.parametrize("unit", ["fp32", "fp16"])
def test_group_query_attention_with_rotation_past_sink_and_window(unit):
    dtype, u = {"fp32": "float32", "fp16": "float16"}[unit], UNITS[unit]
    q, k, v = heads("normal", 1, 1, 8, dtype, kv_heads=2, q_heads=4)
    past = [sample("normal", (SEEDS, 2, 6, 8), dtype, 8 + i) for i in range(2)]
    angle = np.arange(7)[:, None] * np.array([1.0, 0.3, 0.1, 0.03])
    cos, sin = (dtypes.cast(f(angle), dtype) for f in (np.cos, np.sin))
    sink = sample("normal", (4,), dtype, 11)
    inputs = [flat(q), flat(k), flat(v), *past, np.full(SEEDS, 6, np.int32), np.array(7, np.int32), cos, sin]
    kinds = {"num_heads": 4, "kv_num_heads": 2, "do_rotary": 1, "local_window_size": 5, "softcap": 3.0}
    node = node_of("GroupQueryAttention", [*inputs, None, None, sink], 3, version=1, domain="com.microsoft", **kinds)
    angles = [dtypes.to_real(t)[6:] for t in (cos, sin)]

    def result(column=6, window=5, tiled=False):
        turn = (
            [t + 0 * angles[0] for t in angles] if column == 6 else [dtypes.to_real(t)[column : column + 1] for t in (cos, sin)]
        )
        a, b = (rotated(dtypes.to_real(x), *turn, u) for x in (q, k))
        b, c = (np.concatenate([dtypes.to_real(p), x], 2) for p, x in zip(past, (b, dtypes.to_real(v)), strict=True))
        b, c = (np.tile(x, (1, 2, 1, 1)) if tiled else x for x in (b, c))
        s = scores(a, shared(b, a), u, "chain")
        s = multiply(function(np.tanh, divide(s, np.array(3.0), u), u, ulps=1.5), np.array(3.0), u)
        s = np.where(np.arange(7) > 6 - window, s, -np.inf)
        s = np.concatenate([s, np.broadcast_to(dtypes.to_real(sink)[:, None, None], (*s.shape[:3], 1))], -1)
        e = exponential(subtract(s, s.max(-1, keepdims=True), u), u)
        total = sum_terms(np.moveaxis(e, -1, 0), u, "chain")[..., None]
        return store(flat(dot(divide(e, total, u)[..., :-1], shared(c, a), u, "chain")), dtype, u)

    setting = setting_of(unit, dtype, random=True)
    assert ratio(node, result(), setting) < 1
    assert ratio(node, result(column=5), setting) > 1  # another position's angle
    assert ratio(node, result(window=4), setting) > 1
    assert ratio(node, result(tiled=True), setting) > 1  # heads interleaved
