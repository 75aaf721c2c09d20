"""Attention, the rotary positions and the key/value cache around it. Scores, softmax and sums are real numbers in float64.

Inside, queries are (batch, heads, rows, size), keys and values (batch, shared heads, columns, size), and scores (batch,
heads, rows, columns); every `heads / shared heads` successive query heads use one key/value head.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from reference import dtypes as types
from reference.ops.activation import softmax

Array = NDArray[Any]

PRECISIONS = {1: "float32", 10: "float16", 11: "float64", 16: "bfloat16"}
"""Attention's `softmax_precision`: the element types of TensorProto that it may name."""


def split_heads(x: Array, heads: int) -> Array:
    """(batch, rows, heads·size) → (batch, heads, rows, size). ValueError for another rank, or if heads do not divide evenly."""
    if x.ndim != 3 or heads <= 0 or x.shape[2] % heads:
        raise ValueError(f"a shape of (batch, length, a multiple of {heads} heads) is expected, not {x.shape}")
    batch, rows, hidden = x.shape
    return x.reshape(batch, rows, heads, hidden // heads).swapaxes(1, 2)


def merge_heads(x: Array) -> Array:
    """(batch, heads, rows, size) → (batch, rows, heads·size)."""
    batch, heads, rows, size = x.shape
    return np.reshape(x.swapaxes(1, 2), (batch, rows, heads * size))


def shared_product(a: Array, b: Array) -> Array:
    """a (batch, heads, rows, n) times b (batch, shared heads, n, columns), (batch, heads, rows, columns). Raises ValueError
    unless heads are a multiple of shared heads, and for other lengths that differ."""
    (batch, heads, rows, inner), shared = a.shape, b.shape[1]
    if shared == 0 or heads % shared:
        raise ValueError(f"the number of query heads, {heads}, is no multiple of that of keys and values, {shared}")
    if (b.shape[0], b.shape[2]) != (batch, inner):
        raise ValueError(f"queries, keys and values do not fit: shapes {a.shape} and {b.shape} cannot be multiplied")
    folded = a.reshape(batch, shared, heads // shared * rows, inner)
    return np.reshape(np.matmul(folded, b), (batch, heads, rows, b.shape[3]))


def visible_keys(
    offsets: Array,
    rows: int,
    columns: int,
    *,
    causal: bool,
    left: int = -1,
    right: int = -1,
    lengths: Array | None = None,
) -> Array:
    """Whether row i, a query at position offset + i, may see column j: boolean (batch or 1, 1, rows, columns).

    `offsets` and `lengths` (batch or 1): causal means j ≤ position; left and right bound the distance unless -1; columns from
    a length on are padding.
    """
    column = np.arange(columns)
    distance = column - (offsets[:, None] + np.arange(rows))[..., None]
    seen = np.ones(distance.shape, bool)
    if causal:
        seen &= distance <= 0
    if left >= 0:
        seen &= distance >= -left
    if right >= 0:
        seen &= distance <= right
    if lengths is not None:
        seen &= column < lengths[:, None, None]
    return seen[:, None]


def capped(scores: Array, softcap: float) -> Array:
    """softcap·tanh(scores/softcap), or the scores themselves for a softcap of 0."""
    return np.asarray(softcap * np.tanh(scores / softcap)) if softcap else scores


def probabilities(logits: Array, closed: Array, sink: Array | None = None) -> Array:
    """Softmax along the last axis, and 0 in the rows that are `closed`, broadcast to (batch, heads, rows): they see no key.

    A `sink`, broadcast to those rows too, is one more logit whose share nobody receives.
    """
    if sink is None:
        weights = softmax(logits)
    else:
        column = np.broadcast_to(sink[..., None], (*logits.shape[:-1], 1))
        weights = softmax(np.concatenate([logits, column], axis=-1))[..., :-1]
    return np.where(closed[..., None], 0.0, weights) if closed.any() else weights


class Steps(NamedTuple):
    """What an attention passes through, in its order; present keys and values are k and v."""

    q: Array
    k: Array
    v: Array
    scale: float
    scores: Array
    capped: Array
    logits: Array
    probabilities: Array
    y: Array


def _projections(q: Array, k: Array, v: Array, q_num_heads: int | None, kv_num_heads: int | None) -> tuple[Array, Array, Array]:
    if not q.ndim == k.ndim == v.ndim or q.ndim not in (3, 4):
        raise ValueError(f"Q, K and V have to be all of rank 3 or all of rank 4, not {q.ndim}, {k.ndim} and {v.ndim}")
    if q.ndim == 3:
        if q_num_heads is None or kv_num_heads is None:
            raise ValueError("inputs of rank 3 need q_num_heads and kv_num_heads")
        return split_heads(q, q_num_heads), split_heads(k, kv_num_heads), split_heads(v, kv_num_heads)
    for name, wanted, found in (("q_num_heads", q_num_heads, q.shape[1]), ("kv_num_heads", kv_num_heads, k.shape[1])):
        if wanted not in (None, found):
            raise ValueError(f"{name} is {wanted}, but the input of rank 4 has {found} heads")
    return q, k, v


def _with_past(k: Array, v: Array, past_key: Array | None, past_value: Array | None) -> tuple[Array, Array, int]:
    """Keys and values after those of the past, and how many these are."""
    if past_key is None or past_value is None:
        if past_key is not past_value:
            raise ValueError("past_key and past_value have to be given together")
        past = 0
    else:
        k, v, past = np.concatenate([past_key, k], axis=2), np.concatenate([past_value, v], axis=2), past_key.shape[2]
    if k.shape[:3] != v.shape[:3]:
        raise ValueError(f"keys of shape {k.shape} and values of shape {v.shape} differ in batch, heads or length")
    return k, v, past


def _additive(mask: Array | None, shape: tuple[int, ...], *, pad: bool, needed: int) -> Array:
    """attn_mask as what is added to scores of that shape, to which it broadcasts; with `pad`, a last axis of at least `needed`
    goes on with -inf."""
    bias = np.zeros(()) if mask is None else mask
    if bias.dtype.kind not in "bf":
        raise ValueError(f"attn_mask is boolean or of the type of Q, not {bias.dtype}")
    bias = np.where(bias, 0.0, -np.inf) if bias.dtype.kind == "b" else bias
    if pad and bias.ndim and bias.shape[-1] < shape[-1]:
        if bias.shape[-1] < needed:
            raise ValueError(f"attn_mask covers {bias.shape[-1]} keys, but nonpad_kv_seqlen asks for {needed}")
        bias = np.pad(bias, [(0, 0)] * (bias.ndim - 1) + [(0, shape[-1] - bias.shape[-1])], constant_values=-np.inf)
    try:
        np.broadcast_to(bias, shape)
    except ValueError:
        raise ValueError(f"attn_mask of shape {bias.shape} does not broadcast to the scores, {shape}") from None
    return bias


def _cast(logits: Array, precision: int | None, own: str) -> Array:
    """Logits rounded to the type that `softmax_precision` names, if a number of their own type may not fit it."""
    if precision is None:
        return logits
    if precision not in PRECISIONS:
        raise ValueError(f"softmax_precision is one of {sorted(PRECISIONS)}, not {precision}")
    wide, narrow = types.FLOATS[own], types.FLOATS[PRECISIONS[precision]]
    fits = narrow.precision >= wide.precision and narrow.emin <= wide.emin and narrow.largest >= wide.largest
    return logits if fits else types.round_to(logits, PRECISIONS[precision])


def attention_steps(
    q: Array,
    k: Array,
    v: Array,
    attn_mask: Array | None = None,
    past_key: Array | None = None,
    past_value: Array | None = None,
    nonpad_kv_seqlen: Array | None = None,
    *,
    is_causal: int = 0,
    kv_num_heads: int | None = None,
    left_window_size: int = -1,
    q_num_heads: int | None = None,
    right_window_size: int = -1,
    scale: float | None = None,
    softcap: float = 0.0,
    softmax_precision: int | None = None,
    short_masks: bool = True,
    dtypes: tuple[str | None, ...] = (),
) -> Steps:
    """Attention's inputs and attributes → its steps. `short_masks`: a mask that ends early goes on with -inf."""
    if nonpad_kv_seqlen is not None and (past_key is not None or nonpad_kv_seqlen.shape != q.shape[:1]):
        raise ValueError("nonpad_kv_seqlen holds a length for every batch entry and excludes past_key")
    if min(left_window_size, right_window_size) < -1:
        raise ValueError(f"a window reaches -1 (unbounded) or more keys, not {min(left_window_size, right_window_size)}")
    q, k, v = _projections(q, k, v, q_num_heads, kv_num_heads)
    k, v, past = _with_past(k, v, past_key, past_value)
    # Empty heads have the score 0 whatever their scale.
    factor = 1 / math.sqrt(max(q.shape[3], 1)) if scale is None else scale
    scores = shared_product(q * factor, k.swapaxes(2, 3))
    rows, columns = scores.shape[2:]
    seen = visible_keys(
        np.array([past]) if nonpad_kv_seqlen is None else nonpad_kv_seqlen - rows,
        rows,
        columns,
        causal=bool(is_causal),
        left=left_window_size,
        right=right_window_size,
        lengths=nonpad_kv_seqlen,
    )
    needed = 0 if nonpad_kv_seqlen is None else int(nonpad_kv_seqlen.max(initial=0))
    bias = _additive(attn_mask, scores.shape, pad=short_masks, needed=needed) + np.where(seen, 0.0, -np.inf)
    cap = capped(scores, softcap)
    logits = cap + bias
    inside = _cast(logits, softmax_precision, (dtypes[0] if dtypes else None) or "float32")
    weights = probabilities(inside, np.asarray(np.isneginf(bias).all(axis=-1)))
    return Steps(q, k, v, factor, scores, cap, logits, weights, shared_product(weights, v))


def attention(
    *inputs: Array | None,
    qk_matmul_output_mode: int = 0,
    short_masks: bool = True,
    dtypes: tuple[str | None, ...] = (),
    **attributes: Any,
) -> tuple[Array, Array, Array, Array]:
    """Attention-25 (24 alike): softmax(softcap(scale·QK') + mask)·V → Y, present key, present value, scores.

    Inputs and attributes are those of `attention_steps`. Q, K, V (batch, heads, length, size) or (batch, length, heads·size);
    masks broadcast to (batch, heads, rows, columns), and a last axis that is shorter, even of length 1, goes on with -inf. The
    last output holds by mode: 0 scale·QK', 1 after the softcap, 2 after the mask, 3 probabilities. Rows whose mask is -inf
    throughout give 0; other rows with NaN among their logits, +inf, or nothing but -inf are NaN. `softmax_precision` rounds
    the logits where it names a type that the inputs' does not fit into; otherwise it changes no real value. Integer masks
    raise ValueError.
    """
    if qk_matmul_output_mode not in (0, 1, 2, 3):
        raise ValueError(f"qk_matmul_output_mode is 0, 1, 2 or 3, not {qk_matmul_output_mode}")
    steps = attention_steps(*inputs, short_masks=short_masks, dtypes=dtypes, **attributes)  # type: ignore[arg-type]
    shown = (steps.scores, steps.capped, steps.logits, steps.probabilities)[qk_matmul_output_mode]
    packed = inputs[0] is not None and inputs[0].ndim == 3
    return merge_heads(steps.y) if packed else steps.y, steps.k, steps.v, shown


def attention_23(
    *inputs: Array | None, dtypes: tuple[str | None, ...] = (), **attributes: Any
) -> tuple[Array, Array, Array, Array]:
    """Attention-23: as version 24, but a mask has to broadcast: its last axis is 1 or complete."""
    return attention(*inputs, short_masks=False, dtypes=dtypes, **attributes)


def attention_ingredients(
    *inputs: Array | None, version: int = 25, qk_matmul_output_mode: int = 0, **attributes: Any
) -> dict[str, Array]:
    """What an error bound of Attention needs, from the operator's own inputs and attributes and its `version`.

    products |scale|·Σ|q||k|, scores scale·Σqk, logits after softcap and mask, maxima of the logits' rows (rows, 1),
    probabilities: (batch, heads, rows, columns); values (batch, heads, columns, size), repeated for the heads that share
    them; output (batch, heads, rows, size).
    """
    steps = attention_steps(*inputs, short_masks=version >= 24, **attributes)  # type: ignore[arg-type]
    return {
        "products": shared_product(np.abs(steps.q * steps.scale), np.abs(steps.k).swapaxes(2, 3)),
        "scores": steps.scores,
        "logits": steps.logits,
        "maxima": np.max(steps.logits, axis=-1, keepdims=True, initial=-np.inf),
        "probabilities": steps.probabilities,
        "values": np.repeat(steps.v, steps.q.shape[1] // steps.v.shape[1], axis=1),
        "output": steps.y,
    }


def cache_rows(cache: Array, positions: Array) -> Array:
    """cache (length, size) at integer positions: (..., size). Raises ValueError for positions outside the cache."""
    if cache.ndim != 2:
        raise ValueError(f"with positions, a cache of cosines or sines has rank 2, not {cache.ndim}")
    if positions.size and not 0 <= positions.min() <= positions.max() < len(cache):
        raise ValueError(f"positions {positions.min()} to {positions.max()} are not all inside a cache of {len(cache)} rows")
    return np.asarray(cache[positions])


def rotate(x: Array, cos: Array, sin: Array, *, interleaved: bool) -> Array:
    """Pairs (a, b) of the first 2·n entries of the last axis → (a·cos - b·sin, a·sin + b·cos); the others stay.

    cos and sin broadcast to x but for their last axis, n. Pairs are halves apart, or neighbours if `interleaved`.
    """
    n = cos.shape[-1]
    if sin.shape != cos.shape or 2 * n > x.shape[-1]:
        raise ValueError(f"cosines {cos.shape} and sines {sin.shape} do not fit heads of {x.shape[-1]}")
    a, b = (x[..., 0 : 2 * n : 2], x[..., 1 : 2 * n : 2]) if interleaved else (x[..., :n], x[..., n : 2 * n])
    pairs = np.stack([a * cos - b * sin, a * sin + b * cos], axis=-1 if interleaved else -2)
    return np.concatenate([pairs.reshape(*x.shape[:-1], 2 * n), x[..., 2 * n :]], axis=-1)


def rotary_embedding(
    x: Array,
    cos_cache: Array,
    sin_cache: Array,
    position_ids: Array | None = None,
    *,
    interleaved: int = 0,
    num_heads: int | None = None,
    rotary_embedding_dim: int = 0,
) -> Array:
    """RotaryEmbedding-23: x (batch, heads, length, size) or (batch, length, heads·size), turned by the angles of its positions.

    Caches (positions, dim/2) are indexed by position_ids (batch, length); without those they are (batch, length, dim/2). The
    entries of a head beyond `rotary_embedding_dim` (0: the whole head) stay. Positions outside the cache raise ValueError.
    """
    if x.ndim == 3 and not num_heads:
        raise ValueError("an input of rank 3 needs num_heads")
    heads = x if x.ndim == 4 else split_heads(x, num_heads or 0)
    cos, sin = (c if position_ids is None else cache_rows(c, position_ids) for c in (cos_cache, sin_cache))
    turned = rotary_embedding_dim or heads.shape[3]
    wanted = (heads.shape[0], heads.shape[2], turned // 2)
    if turned % 2 or cos.shape != wanted:
        raise ValueError(f"cosines of shape {cos.shape} do not turn {turned} entries: {wanted} is expected")
    y = rotate(heads, cos[:, None], sin[:, None], interleaved=bool(interleaved))
    return y if x.ndim == 4 else merge_heads(y)


def tensor_scatter(
    past_cache: Array, update: Array, write_indices: Array | None = None, *, axis: int = -2, mode: str = "linear"
) -> Array:
    """TensorScatter-24: past_cache with update written along `axis` from each batch entry's write index (0 if absent) on.

    Circular: indices modulo the axis' length. Linear: an update that runs over the end raises ValueError.
    """
    rank = past_cache.ndim
    if not -rank <= axis < rank or axis % rank == 0:
        raise ValueError(f"axis is within [-{rank}, {rank - 1}] and not the batch axis, not {axis}")
    if mode not in ("linear", "circular"):
        raise ValueError(f"mode is linear or circular, not {mode!r}")
    cache = np.moveaxis(past_cache.copy(), axis, 1)
    rows = np.moveaxis(update, axis, 1)
    if cache.shape[:1] + cache.shape[2:] != rows.shape[:1] + rows.shape[2:] or rows.shape[1] > cache.shape[1]:
        raise ValueError(f"an update of shape {update.shape} does not fit into a cache of shape {past_cache.shape}")
    start = np.zeros(len(cache), np.int64) if write_indices is None else write_indices
    index = start[:, None] + np.arange(rows.shape[1])
    if mode == "circular":
        index = index % max(cache.shape[1], 1)
    elif index.size and not 0 <= index.min() <= index.max() < cache.shape[1]:
        raise ValueError(f"indices {index.min()} to {index.max()} are not all inside a cache of {cache.shape[1]} rows")
    cache[np.arange(len(cache))[:, None], index] = rows
    return np.moveaxis(cache, 1, axis)
