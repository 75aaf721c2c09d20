"""Attention, rotary positions and the cache of keys and values."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
from hypothesis import strategies as st

from reference import dtypes

from ..samples import Array, Sample, any_shape, array, call, kinds_of, length, version_of

PRECISIONS = ("float32", "float16", "float64", "bfloat16")


def _mask(draw: st.DrawFn, shape: tuple[int, ...], kind: str, *, short: bool, needed: int) -> Array | None:
    """attn_mask for scores of that shape: boolean or added, with axes of length 1 or left out, and with `short` now and then
    a last axis that ends before the scores', after `needed`."""
    how = draw(st.sampled_from([None, "bool", kind]))
    if how is None:
        return None
    last = (
        draw(st.integers(max(needed, 2), shape[3])) if short and shape[3] > max(needed, 2) and draw(st.booleans()) else shape[3]
    )
    sides = [n if draw(st.booleans()) else 1 for n in shape[:3]] + [last]
    sides = sides[draw(st.integers(0, 3)) :]
    mask = array(draw, tuple(sides), how)
    if how == "bool":
        return mask | (array(draw, mask.shape, "int8", 0, 3) > 0)
    closed = array(draw, mask.shape, "int8", 0, 5) == 0
    return np.where(closed, np.asarray(-np.inf, mask.dtype), mask) if draw(st.booleans()) else mask


def _packed(x: Array) -> Array:
    """(batch, heads, length, size) → (batch, length, heads·size)."""
    return x.swapaxes(1, 2).reshape(x.shape[0], x.shape[2], x.shape[1] * x.shape[3])


def _attention(draw: st.DrawFn) -> Sample:
    version = version_of(draw, "Attention")
    kind = draw(st.sampled_from(["float32", *kinds_of("Attention", version)]))
    values = draw(st.sampled_from([kind, kind, kind, "float32"]))
    batch, rows, new, size, value_size = (length(draw, n) for n in (3, 4, 5, 4, 4))
    if draw(st.integers(0, 9)) == 9:
        rows, new = draw(st.integers(1, 40)), draw(st.integers(1, 40))
    shared = draw(st.integers(1, 3))
    heads = shared * draw(st.integers(1, 3))
    state = draw(st.sampled_from(["none", "past", "nonpad"] if version >= 24 else ["none", "past"]))
    past = draw(st.integers(0, 4)) if state == "past" else 0
    lengths = np.array(draw(st.lists(st.integers(0, new), min_size=batch, max_size=batch)), np.int64)
    needed = int(lengths.max(initial=0)) if state == "nonpad" else 0
    q, k, v = (
        array(draw, (batch, h, n, d), t, -2, 2)
        for h, n, d, t in ((heads, rows, size, kind), (shared, new, size, kind), (shared, new, value_size, values))
    )
    packed = draw(st.booleans())
    inputs: list[Array | None] = [_packed(x) if packed else x for x in (q, k, v)]
    inputs.append(_mask(draw, (batch, heads, rows, past + new), kind, short=version >= 24, needed=needed))
    if state == "past":
        inputs += [array(draw, (batch, shared, past, d), t, -2, 2) for d, t in ((size, kind), (value_size, values))]
    if state == "nonpad":
        inputs += [None, None, lengths]
    windows = [draw(st.sampled_from([None, -1, 0, 1, 3])) if version >= 25 else None for _ in range(2)]
    return call(
        "Attention",
        inputs,
        version=version,
        outputs=1 if state == "nonpad" else draw(st.sampled_from([1, 3, 4, 4])),
        q_num_heads=heads if packed else None,
        kv_num_heads=shared if packed else None,
        is_causal=draw(st.sampled_from([None, 0, 1])),
        scale=draw(st.sampled_from([None, None, 0.25, 1.7])),
        softcap=draw(st.sampled_from([None, None, None, 0.0, 2.0, -2.0])),
        softmax_precision=dtypes.ONNX[draw(st.sampled_from(PRECISIONS))] if draw(st.integers(0, 3)) == 3 else None,
        qk_matmul_output_mode=draw(st.sampled_from([None, 0, 1, 2, 3])),
        left_window_size=windows[0],
        right_window_size=windows[1],
    )


def _rotary_embedding(draw: st.DrawFn) -> Sample:
    kind = draw(st.sampled_from(kinds_of("RotaryEmbedding", 23)))
    batch, heads, rows, pairs, rest = (draw(st.integers(n, m)) for n, m in ((1, 3), (1, 3), (1, 4), (1, 3), (0, 2)))
    positions = draw(st.integers(1, 6)) if draw(st.booleans()) else None
    partial = rest > 0 or draw(st.booleans())
    x = array(draw, (batch, heads, rows, 2 * pairs + rest), kind)
    packed = draw(st.booleans())
    cache = (batch, rows, pairs) if positions is None else (positions, pairs)
    return call(
        "RotaryEmbedding",
        [
            _packed(x) if packed else x,
            array(draw, cache, kind, -1, 1),
            array(draw, cache, kind, -1, 1),
            None if positions is None else array(draw, (batch, rows), "int64", 0, positions - 1),
        ],
        version=23,
        interleaved=draw(st.sampled_from([None, 0, 1])),
        num_heads=heads if packed or draw(st.booleans()) else None,
        rotary_embedding_dim=2 * pairs if partial else draw(st.sampled_from([None, 0])),
    )


def _tensor_scatter(draw: st.DrawFn) -> Sample:
    kind = draw(st.sampled_from(kinds_of("TensorScatter", 24)))
    shape = any_shape(draw, 2, 5)
    axis = draw(st.integers(1, len(shape) - 1))
    mode = draw(st.sampled_from([None, "linear", "circular"]))
    written = draw(st.integers(0, shape[axis]))
    most = shape[axis] - written if mode != "circular" else 2 * shape[axis]
    starts = array(draw, shape[:1], "int64", 0, most)
    update = (*shape[:axis], written, *shape[axis + 1 :])
    named = draw(st.sampled_from([axis, axis - len(shape)]))
    return call(
        "TensorScatter",
        [
            array(draw, shape, kind, specials=True),
            array(draw, update, kind, specials=True),
            starts if draw(st.booleans()) else None,
        ],
        version=24,
        axis=None if named == -2 and draw(st.booleans()) else named,
        mode=mode,
    )


DRAW: Mapping[str, Callable[[st.DrawFn], Sample]] = {
    "Attention": _attention,
    "RotaryEmbedding": _rotary_embedding,
    "TensorScatter": _tensor_scatter,
}
