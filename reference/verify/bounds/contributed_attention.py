"""EXPLICIT bounds of com.microsoft's attention operators: what comes before the shared part in `attention`."""

from __future__ import annotations

import math

import numpy as np

from reference.node import Array, Node
from reference.ops import contributed_attention as contributed
from reference.ops.attention import merge_heads, visible_keys
from reference.ops.contributed_attention import Chunk
from reference.verify.bounds.attention import Heads, biased, capped, scores, turned, weighted
from reference.verify.bounds.normalization import normalised
from reference.verify.bounds.running_error import Computed, exactly, settled
from reference.verify.setting import Setting


def _given(node: Node, count: int) -> list[Array | None]:
    """The first `count` inputs, None where one is left out."""
    return [*node.inputs, *[None] * count][:count]


def multi_head_attention(node: Node, setting: Setting) -> list[Array]:
    """MultiHeadAttention-1: output, present key and value, scores. A bias costs queries, keys and values a rounding."""
    query, key, value, bias, mask, added_bias, past_key, past_value, used, beams = _given(node, 10)
    assert query is not None
    q, k, v = (exactly(x) for x in contributed.unpacked(query, key, value, int(node.attributes["num_heads"])))
    if bias is not None:
        heads = contributed.with_bias(q.value, k.value, v.value, bias)
        sizes = contributed.with_bias(np.abs(q.value), np.abs(k.value), np.abs(v.value), np.abs(bias))
        converted = [setting.u_in * size + 2 * setting.eta_in for size in sizes]
        bounds = [setting.u * np.abs(x) + setting.eta + more for x, more in zip(heads, converted, strict=True)]
        q, k, v = (settled(setting, x, error) for x, error in zip(heads, bounds, strict=True))
    new, held = k.value.shape[2], []
    for x, past in ((k, past_key), (v, past_value)):
        errors = contributed.cached(x.error, None if past is None else np.zeros(past.shape), used, beams)
        held.append((Computed(contributed.cached(x.value, past, used, beams)[0], errors[0]), errors[1]))
    (k, present_key), (v, present_value) = held
    scale = node.attribute("scale", 0.0) or 1 / math.sqrt(max(q.value.shape[3], 1))
    found = scores(Heads(q, k, v, scale), setting)
    batch, _, rows, columns = found.value.shape
    biases = [] if added_bias is None else [contributed.fitting(added_bias, found.value.shape)]
    if mask is not None:
        counts = contributed.kept_keys(mask, batch, rows, columns)
        biases.append(np.where(counts, 0.0, node.attribute("mask_filter_value", -10000.0)))
    if node.attribute("unidirectional", 0):
        seen = visible_keys(np.array([columns - new]), rows, columns, causal=True)
        biases.append(np.where(seen, 0.0, -np.inf))
    logits = biased(found, setting, *biases)
    closed = np.full((1, 1, 1, 1), columns == 0)
    output = node.results[0].reshape(batch, rows, q.value.shape[1], -1).swapaxes(1, 2)
    result = weighted(logits, v, output, closed, setting)
    return [merge_heads(result.output), present_key, present_value, logits.error]


def _prepared(node: Node, x: Array, weight: Array | None, which: str, chunk: Chunk, setting: Setting) -> Computed:
    """Queries or keys after the optional normalisation and rotation of GroupQueryAttention."""
    cos, sin, ids = _given(node, 10)[7:]
    default = node.attribute("qk_norm_epsilon", contributed.NORM_EPSILON)
    epsilon = float(node.attribute(f"{which}_norm_epsilon", default))
    y, error = contributed.normalized(x, weight, (epsilon, epsilon)), np.zeros(x.shape)
    if weight is not None:
        error = normalised(x, (-1,), weight, epsilon, y, setting, centred=False)
    if not node.attribute("do_rotary", 0) or cos is None or sin is None:
        return Computed(y, error)
    interleaved = bool(node.attribute("rotary_interleaved", 0))

    def evaluate(x: Array, cos: Array, sin: Array) -> Array:
        return contributed.rotated(x, chunk, cos, sin, ids, interleaved=interleaved)

    brought = np.maximum(*(evaluate(error, np.abs(cos), sign * np.abs(sin)) for sign in (1.0, -1.0)))
    own = turned(evaluate, np.abs(y) + error, cos, sin, setting)
    return settled(setting, evaluate(y, cos, sin), own + brought)


def group_query_attention(node: Node, setting: Setting) -> list[Array]:
    """GroupQueryAttention-1: output, present key and value, and the scores that `qk_output` names."""
    query, key, value, past_key, past_value, lengths, total = node.inputs[:7]
    bias, sink, _, _, q_weight, k_weight, query_lengths = _given(node, 17)[10:]
    assert query is not None
    assert lengths is not None
    assert total is not None
    heads, shared = int(node.attributes["num_heads"]), int(node.attributes["kv_num_heads"])
    raw = contributed.grouped(query, key, value, heads, shared)
    chunk = contributed.chunk_of(lengths, int(total.reshape(())), query_lengths, *raw[0].shape[:3:2])
    local = int(node.attribute("local_window_size", -1))
    window = local if node.attribute("sliding_window_cache", 0) else None
    q = _prepared(node, raw[0], q_weight, "q", chunk, setting)
    new = _prepared(node, raw[1], k_weight, "k", chunk, setting), exactly(raw[2])
    held = []
    for x, past in zip(new, (past_key, past_value), strict=True):
        values = contributed.timelines(x.value, past, chunk, window)
        errors = contributed.timelines(x.error, None if past is None else np.zeros(past.shape), chunk, window)
        held.append((Computed(values[0], errors[0]), errors[1]))
    (k, present_key), (v, present_value) = held
    scale = node.attribute("scale", 0.0) or 1 / math.sqrt(max(q.value.shape[3], 1))
    cap = capped(scores(Heads(q, k, v, scale), setting), float(node.attribute("softcap", 0.0)), setting)
    rows, columns = cap.value.shape[2:]
    causal = bool(node.attribute("causal", 1))
    seen = visible_keys(chunk.past, rows, columns, causal=causal, left=local - 1 if local > 0 else -1, lengths=chunk.total)
    padding = (np.arange(rows) >= chunk.new[:, None])[:, None, :, None]
    added = [] if bias is None else [contributed.fitting(bias, cap.value.shape)]
    logits = biased(cap, setting, *added)
    visible = settled(setting, np.where(seen, logits.value, -np.inf), logits.error)
    if sink is None and node.attribute("smooth_softmax", -1) == 1:
        sink = np.zeros(heads)
    result = weighted(*_with_sink(visible, v, sink, setting), _by_heads(node.results[0], heads), padding, setting)
    shown = np.where(seen & ~padding, logits.error, 0.0)
    if node.attribute("qk_output", 0) == 2:
        shown = result.probabilities[..., :columns]
    return [merge_heads(result.output), present_key, present_value, shown][: len(node.results)]


def _by_heads(y: Array, heads: int) -> Array:
    """(batch, rows, heads·size) → (batch, heads, rows, size)."""
    return y.reshape(*y.shape[:2], heads, -1).swapaxes(1, 2)


def _with_sink(logits: Computed, v: Computed, sink: Array | None, setting: Setting) -> tuple[Computed, Computed]:
    """One more logit, whose value is 0."""
    if sink is None:
        return logits, v
    column = np.broadcast_to(sink.astype(np.float64)[:, None, None], (*logits.value.shape[:-1], 1))
    wide = np.concatenate([logits.value, column], -1), np.concatenate([logits.error, setting.u_in * np.abs(column)], -1)
    row = np.zeros((*v.value.shape[:2], 1, v.value.shape[3]))
    return Computed(*wide), Computed(np.concatenate([v.value, row], 2), np.concatenate([v.error, row], 2))
