"""Attention operators of com.microsoft. Specification: their schemas in ONNX Runtime (docs/ContribOperators.md), and what
ONNX Runtime's CPU kernels do where those are silent; each such choice is named in a docstring.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from reference.ops.attention import (
    cache_rows,
    capped,
    merge_heads,
    probabilities,
    rotate,
    shared_product,
    split_heads,
    visible_keys,
)
from reference.ops.normalization import rms_normalization

Array = NDArray[Any]

NORM_EPSILON = float(np.float32(1e-6))


def rotary_embedding(
    x: Array,
    position_ids: Array,
    cos_cache: Array,
    sin_cache: Array,
    *,
    interleaved: int = 0,
    is_packed_batching: int = 0,
    num_heads: int = 0,
    rotary_embedding_dim: int = 0,
    scale: float = 1.0,
) -> Array:
    """RotaryEmbedding-1: x (batch, heads, length, size) or (batch, length, heads·size), turned by the angles of its positions.

    position_ids (batch, length), or one element: the position of every batch entry's first row. Caches (positions, dim/2).
    Without `num_heads`, heads of an input of rank 3 are twice as long as a row of the caches. `is_packed_batching` only says
    what the rows are. Raises ValueError for positions outside the caches and for a `scale`, whose meaning is not written down.
    """
    if scale != 1:
        raise ValueError(f"a scale of {scale} is not supported: only 1 is")
    if rotary_embedding_dim and not num_heads:
        raise ValueError("rotary_embedding_dim needs num_heads")
    width = cos_cache.shape[-1]
    heads = x if x.ndim == 4 else split_heads(x, num_heads or x.shape[2] // max(2 * width, 1))
    if 2 * width != (rotary_embedding_dim or heads.shape[3]):
        raise ValueError(f"cosines for {2 * width} entries do not turn {rotary_embedding_dim or heads.shape[3]}")
    rows = heads.shape[2]
    if position_ids.size != 1 and position_ids.shape != (len(heads), rows):
        raise ValueError(f"position_ids has shape (1) or {(len(heads), rows)}, not {position_ids.shape}")
    positions = position_ids.reshape(1, 1) + np.arange(rows) if position_ids.size == 1 else position_ids
    cos, sin = (cache_rows(cache, positions)[:, None] for cache in (cos_cache, sin_cache))
    y = rotate(heads, cos, sin, interleaved=bool(interleaved))
    return y if x.ndim == 4 else merge_heads(y)


def unpacked(query: Array, key: Array | None, value: Array | None, num_heads: int) -> tuple[Array, Array, Array]:
    """Queries, keys and values (batch, heads, length, size) out of any of MultiHeadAttention's layouts."""
    if query.ndim == 5:
        if key is not None or value is not None or query.shape[2:4] != (num_heads, 3):
            raise ValueError("a packed query has shape (batch, length, num_heads, 3, head_size) and brings keys and values")
        q, k, v = (query[:, :, :, i].swapaxes(1, 2) for i in range(3))
        return q, k, v
    q = split_heads(query, num_heads)
    if key is not None and key.ndim == 5 and value is None:
        if key.shape[2:4] != (num_heads, 2):
            raise ValueError("a packed key has shape (batch, length, num_heads, 2, head_size)")
        return q, key[:, :, :, 0].swapaxes(1, 2), key[:, :, :, 1].swapaxes(1, 2)
    if key is None or value is None or key.ndim != value.ndim or key.ndim not in (3, 4):
        raise ValueError("key and value are both of rank 3 or both of rank 4, or packed into one tensor of rank 5")
    if key.ndim == 4:
        return q, key, value
    return q, split_heads(key, num_heads), split_heads(value, num_heads)


def with_bias(q: Array, k: Array, v: Array, bias: Array) -> list[Array]:
    sizes = [x.shape[1] * x.shape[3] for x in (q, k, v)]
    if bias.shape != (sum(sizes),):
        raise ValueError(f"bias has shape ({sum(sizes)}), not {bias.shape}")
    parts = np.split(bias, np.cumsum(sizes)[:2])
    return [x + part.reshape(x.shape[1], 1, x.shape[3]) for x, part in zip((q, k, v), parts, strict=True)]


def kept_keys(mask: Array, batch: int, rows: int, columns: int) -> Array:
    """key_padding_mask in any of its shapes → whether a key counts: boolean (batch, 1, rows or 1, columns)."""
    if mask.shape in ((batch,), (3 * batch + 2,)):
        return np.asarray((np.arange(columns) < mask[:batch, None])[:, None, None])
    if mask.shape == (batch, columns):
        return np.asarray(mask[:, None, None] > 0)
    if mask.shape == (batch, rows, columns):
        return np.asarray(mask[:, None] > 0)
    shapes = [(batch,), (3 * batch + 2,), (batch, columns), (batch, rows, columns)]
    raise ValueError(f"key_padding_mask has one of the shapes {shapes}, not {mask.shape}")


def _from_beams(cache: Array, beams: Array) -> Array:
    """cache (batch·beams, heads, rows, size) with each row from the beam that beams (batch, beams, rows) names."""
    batch, width, rows = beams.shape
    if (batch * width, rows) != (len(cache), cache.shape[2]) or np.any((beams < 0) | (beams >= width)):
        raise ValueError(f"cache_indirection does not name beams for {len(cache)} batch entries and {cache.shape[2]} past rows")
    origin = (np.arange(batch)[:, None, None] * width + beams).reshape(len(cache), 1, rows)
    return np.asarray(cache[origin, np.arange(cache.shape[1])[:, None], np.arange(rows)])


def cached(new: Array, past: Array | None, used: Array | None, beams: Array | None) -> tuple[Array, Array]:
    """Keys (or values) to attend to, and the present cache: past and new, or new written into the past after `used` rows.
    Of these, `beams` says where they come from."""
    if past is None or used is None:
        whole = new if past is None else np.concatenate([past, new], axis=2)
        return whole, whole
    start = int(used.reshape(()))
    end = start + new.shape[2]
    if not 0 <= start <= end <= past.shape[2]:
        raise ValueError(f"rows {start} to {end} are not all inside a cache of {past.shape[2]} rows")
    present = past.copy()
    present[:, :, start:end] = new
    old = past[:, :, :start] if beams is None else _from_beams(past[:, :, :start], beams[:, :, :start])
    return np.concatenate([old, new], axis=2), present


def multi_head_attention(
    query: Array,
    key: Array | None = None,
    value: Array | None = None,
    bias: Array | None = None,
    key_padding_mask: Array | None = None,
    attention_bias: Array | None = None,
    past_key: Array | None = None,
    past_value: Array | None = None,
    past_sequence_length: Array | None = None,
    cache_indirection: Array | None = None,
    *,
    num_heads: int,
    mask_filter_value: float = -10000.0,
    scale: float = 0.0,
    unidirectional: int = 0,
) -> tuple[Array, Array, Array, Array]:
    """MultiHeadAttention-1: output (batch, length, heads·size), present key, present value, scores.

    Query, key, value (batch, length, heads·size), all three packed (batch, length, heads, 3, size), the latter two packed
    (batch, length, heads, 2, size), or key and value as a cache (batch, heads, length, size), which takes neither `bias` nor
    past. Masked keys have `mask_filter_value` added to their score; later keys have -inf with `unidirectional`. With
    past_sequence_length, new rows overwrite the past's. As in ONNX Runtime: lengths of keys count the past, a mask of
    3·batch + 2 entries begins with them, a scale of 0 is the default one, and the scores are those that softmax receives.
    cache_indirection (batch/beams, beams, max length) names the beam whose cache holds a past row. Raises ValueError for a mask
    of the new keys alone: ONNX Runtime does not say what becomes of the past.
    """
    if cache_indirection is not None and past_sequence_length is None:
        raise ValueError("cache_indirection needs past_sequence_length")
    if (past_key is None) != (past_value is None):
        raise ValueError("past_key and past_value have to be given together")
    if key is not None and key.ndim == 4 and (bias is not None or past_key is not None):
        raise ValueError("a key of rank 4 is a cache: neither bias nor past_key goes with it")
    q, k, v = unpacked(query, key, value, num_heads)
    if bias is not None:
        q, k, v = with_bias(q, k, v, bias)
    added = k.shape[2]
    (k, present_key), (v, present_value) = (
        cached(new, past, past_sequence_length, cache_indirection) for new, past in ((k, past_key), (v, past_value))
    )
    factor = scale or 1 / math.sqrt(max(q.shape[3], 1))
    logits = shared_product(q * factor, k.swapaxes(2, 3))
    batch, heads, rows, columns = logits.shape
    if attention_bias is not None:
        logits = logits + fitting(attention_bias, logits.shape)
    if key_padding_mask is not None:
        logits = logits + np.where(kept_keys(key_padding_mask, batch, rows, columns), 0.0, mask_filter_value)
    if unidirectional:
        seen = visible_keys(np.array([columns - added]), rows, columns, causal=True)
        logits = logits + np.where(seen, 0.0, -np.inf)
    weights = probabilities(logits, np.full((batch, heads, rows), columns == 0))
    return merge_heads(shared_product(weights, v)), present_key, present_value, logits


def fitting(bias: Array, shape: tuple[int, ...]) -> Array:
    """attention_bias, (batch or 1, heads or 1, rows, columns), checked against the scores' shape."""
    if bias.ndim != 4 or bias.shape[2:] != shape[2:] or any(n not in (1, m) for n, m in zip(bias.shape, shape, strict=True)):
        raise ValueError(f"attention_bias of shape {bias.shape} does not fit scores of shape {shape}")
    return bias


class Chunk(NamedTuple):
    """Lengths of a step, by batch entry: tokens in all, new and past ones; `bound` is total_sequence_length. `first`: nothing
    precedes the step; `padded`: it has query_seqlens."""

    total: Array
    new: Array
    past: Array
    bound: int
    first: bool
    padded: bool


def chunk_of(seqlens_k: Array, bound: int, query_seqlens: Array | None, batch: int, rows: int) -> Chunk:
    total = seqlens_k.reshape(-1).astype(np.int64) + 1
    if len(total) != batch or np.any(total < 1) or np.any(total > bound):
        raise ValueError(f"seqlens_k holds {batch} lengths of 0 to {bound - 1}, not {seqlens_k.tolist()}")
    new = np.minimum(rows, total) if query_seqlens is None else query_seqlens.astype(np.int64)
    if new.shape != (batch,) or np.any(new < 0) or np.any(new > np.minimum(rows, total)):
        raise ValueError(f"query_seqlens holds {batch} lengths of at most {rows} rows and the total, not {new.tolist()}")
    first = query_seqlens is None and rows == bound
    if query_seqlens is None and not first and rows > 1 and batch > 1:
        raise ValueError("several rows after a past need a batch of one, or query_seqlens")
    return Chunk(total, new, total - new, bound, first, query_seqlens is not None)


def rotated(
    x: Array, chunk: Chunk, cos_cache: Array, sin_cache: Array, position_ids: Array | None, *, interleaved: bool
) -> Array:
    """Queries or keys turned by the angles of their positions: those given, or counted on from the past."""
    row = np.arange(x.shape[2])
    if position_ids is None:
        positions = chunk.past[:, None] + row
    else:
        if position_ids.shape != (len(x), len(row)):
            raise ValueError(f"position_ids has shape {(len(x), len(row))}, not {position_ids.shape}")
        positions = position_ids[:1, :1] + row if chunk.first else position_ids
    # Padding rows, whose results are open, may lie beyond the caches.
    positions = np.where(row < chunk.new[:, None], positions, 0)
    cos, sin = (cache_rows(cache, positions)[:, None] for cache in (cos_cache, sin_cache))
    return rotate(x, cos, sin, interleaved=interleaved)


def resident(lengths: Array, capacity: int, window: int) -> Array:
    """How many of the last `lengths` positions a window-sized cache holds: evictions come in blocks."""
    block = capacity - window + 1
    excess = np.maximum(lengths - capacity, 0)
    return np.asarray(lengths - block * -(-excess // block))


def _gathered(source: Array, index: Array, valid: Array) -> Array:
    """source (batch, heads, rows, size) at row index (batch, n), and 0 where that is not valid."""
    y = np.empty((*source.shape[:2], index.shape[1], source.shape[3]))
    for result, rows, place, there in zip(y, source, index, valid, strict=True):
        np.take(rows, place, axis=1, mode="clip", out=result)
        result[:, ~there] = 0.0
    return y


def timelines(new: Array, past: Array | None, chunk: Chunk, window: int | None) -> tuple[Array, Array]:
    """Keys (or values) by position (batch, heads, bound, size), and the present cache. `window`: a cache that holds only the
    last positions, in order, at its start. Rows that hold nothing are 0."""
    past = new[:, :, :0] if past is None else past
    rows = past.shape[2]
    held = chunk.past if window is None else resident(chunk.past, rows, window)
    if np.any(held > rows):
        raise ValueError(f"past_key holds {rows} rows, fewer than the {int(held.max())} tokens before the step")
    position = np.arange(chunk.bound)
    start = (chunk.past - held)[:, None]
    old = position < chunk.past[:, None]
    index = np.where(old, position - start, rows + position - chunk.past[:, None])
    timeline = _gathered(np.concatenate([past, new], axis=2), index, (position >= start) & (position < chunk.total[:, None]))
    row = np.arange(max(rows, chunk.bound) if window is None else rows)
    kept = chunk.total if window is None else resident(chunk.total, rows, window)
    return timeline, _gathered(timeline, row + (chunk.total - kept)[:, None], row < kept[:, None])


def grouped(query: Array, key: Array | None, value: Array | None, heads: int, shared: int) -> tuple[Array, Array, Array]:
    """GroupQueryAttention's queries, keys and values (batch, heads, length, size), packed into one tensor or not."""
    if key is None or value is None:
        if key is not value:
            raise ValueError("key and value have to be given together")
        q, k, v = np.split(split_heads(query, heads + 2 * shared), [heads, heads + shared], axis=1)
        return q, k, v
    if key.shape != value.shape or key.shape[:2] != query.shape[:2]:
        raise ValueError(f"key {key.shape} and value {value.shape} have to be alike and as long as the query, {query.shape}")
    return split_heads(query, heads), split_heads(key, shared), split_heads(value, shared)


def _check_cache(past_key: Array | None, past_value: Array | None, chunk: Chunk, rows: int, window: int | None) -> None:
    """Raises ValueError where a cache is missing, or too small for its window or for a chunk that may be padded."""
    if (past_key is None) != (past_value is None):
        raise ValueError("past_key and past_value have to be given together")
    if past_key is None:
        if window is not None or chunk.padded:
            raise ValueError("sliding_window_cache and query_seqlens need past_key and past_value")
    elif window is not None and not 0 < window <= past_key.shape[2]:
        raise ValueError(f"a window of {window} does not fit into a cache of {past_key.shape[2]} rows")
    elif window is None and chunk.padded and np.any(chunk.past + rows > max(past_key.shape[2], chunk.bound)):
        raise ValueError(f"the cache has no room for {rows} rows after {chunk.past.tolist()}")


def normalized(x: Array, weight: Array | None, epsilons: tuple[float | None, float]) -> Array:
    """Heads after an RMS normalisation, if there is a weight for it; the first epsilon, if given, goes before the second."""
    return x if weight is None else rms_normalization(x, weight, epsilon=epsilons[1] if epsilons[0] is None else epsilons[0])


def _attended(
    q: Array,
    keys: Array,
    values: Array,
    chunk: Chunk,
    bias: Array | None,
    sink: Array | None,
    *,
    causal: bool,
    scale: float,
    softcap: float,
    window: int,
    qk_output: int,
) -> tuple[Array, ...]:
    """Output of queries (batch, heads, rows, size) over keys by position, padding rows are 0; and, for a `qk_output` of 1 or 2,
    logits or probabilities."""
    logits = capped(shared_product(q * (scale or 1 / math.sqrt(max(q.shape[3], 1))), keys.swapaxes(2, 3)), softcap)
    if bias is not None:
        logits = logits + fitting(bias, logits.shape)
    rows, columns = logits.shape[2:]
    left = window - 1 if window > 0 else -1
    seen = visible_keys(chunk.past, rows, columns, causal=causal, left=left, lengths=chunk.total)
    padding = np.broadcast_to((np.arange(rows) >= chunk.new[:, None])[:, None], logits.shape[:3])
    weights = probabilities(np.where(seen, logits, -np.inf), padding, None if sink is None else sink[:, None])
    y = merge_heads(shared_product(weights, values))
    if qk_output == 1:
        return y, np.where(seen & ~padding[..., None], logits, 0.0)
    return (y, weights) if qk_output else (y,)


def group_query_attention(
    query: Array,
    key: Array | None,
    value: Array | None,
    past_key: Array | None,
    past_value: Array | None,
    seqlens_k: Array,
    total_sequence_length: Array,
    cos_cache: Array | None = None,
    sin_cache: Array | None = None,
    position_ids: Array | None = None,
    attention_bias: Array | None = None,
    head_sink: Array | None = None,
    k_scale: Array | None = None,
    v_scale: Array | None = None,
    q_norm_weight: Array | None = None,
    k_norm_weight: Array | None = None,
    query_seqlens: Array | None = None,
    *,
    num_heads: int,
    kv_num_heads: int,
    causal: int = 1,
    do_rotary: int = 0,
    k_norm_epsilon: float | None = None,
    k_quant_type: str = "NONE",
    kv_cache_bit_width: int = 0,
    local_window_size: int = -1,
    q_norm_epsilon: float | None = None,
    qk_norm_epsilon: float = NORM_EPSILON,
    qk_output: int = 0,
    rotary_interleaved: int = 0,
    scale: float = 0.0,
    sliding_window_cache: int = 0,
    smooth_softmax: int = -1,
    softcap: float = 0.0,
    v_quant_type: str = "NONE",
    n_outputs: int = 1,
) -> tuple[Array, ...]:
    """GroupQueryAttention-1: output (batch, length, heads·size), present key, present value, and the scores `qk_output` names.

    Query (batch, length, heads·size) with key and value, or all packed along the last axis. The cache (batch, kv heads, length,
    size) is as long as the longer of the past's and total_sequence_length. Open are output rows from query_seqlens and cache
    rows from seqlens_k + 1 on: 0 here. As in ONNX Runtime: the softcap precedes attention_bias, a window counts the own
    position, scores of keys that may not be seen are 0, and a scale of 0 is the default one. Raises ValueError for quantised
    caches, whose rounding is not written down, and for keys that are not as many as queries.
    """
    if (k_quant_type, v_quant_type, kv_cache_bit_width) != ("NONE", "NONE", 0) or k_scale is not None or v_scale is not None:
        raise ValueError("a quantised cache is not supported by the reference")
    if local_window_size == 0 or local_window_size < -1 or (not causal and local_window_size != -1):
        raise ValueError(f"local_window_size is positive and causal, or -1, not {local_window_size}")
    if qk_output not in (0, 1, 2) or (n_outputs > 3 and not qk_output):
        raise ValueError(f"qk_output is 1 or 2 with a fourth output, else 0, not {qk_output}")
    if query_seqlens is not None and not causal:
        raise ValueError("query_seqlens needs causal attention")
    if (q_norm_weight is None) != (k_norm_weight is None) or (do_rotary and (cos_cache is None or sin_cache is None)):
        raise ValueError("the two norm weights, and for do_rotary the two caches, have to be given together")
    q, k, v = grouped(query, key, value, num_heads, kv_num_heads)
    chunk = chunk_of(seqlens_k, int(total_sequence_length.reshape(())), query_seqlens, *q.shape[:3:2])
    window = local_window_size if sliding_window_cache else None
    _check_cache(past_key, past_value, chunk, q.shape[2], window)
    q = normalized(q, q_norm_weight, (q_norm_epsilon, qk_norm_epsilon))
    k = normalized(k, k_norm_weight, (k_norm_epsilon, qk_norm_epsilon))
    if do_rotary and cos_cache is not None and sin_cache is not None:
        interleaved = bool(rotary_interleaved)
        q, k = (rotated(x, chunk, cos_cache, sin_cache, position_ids, interleaved=interleaved) for x in (q, k))
    keys, present_key = timelines(k, past_key, chunk, window)
    values, present_value = timelines(v, past_value, chunk, window)
    y, *scores = _attended(
        q,
        keys,
        values,
        chunk,
        attention_bias,
        np.zeros(num_heads) if head_sink is None and smooth_softmax == 1 else head_sink,
        causal=bool(causal),
        scale=scale,
        softcap=softcap,
        window=local_window_size,
        qk_output=qk_output,
    )
    return y, present_key, present_value, *scores
