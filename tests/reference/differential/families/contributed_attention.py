"""Attention operators of com.microsoft, which only ONNX Runtime has."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from hypothesis import strategies as st

from reference import dtypes

from ..samples import Array, Sample, array, call

DOMAIN = "com.microsoft"
KINDS = ("float32", "float32", "float16")


def _counts(draw: st.DrawFn, shape: tuple[int, ...], low: int, high: int) -> Array:
    return array(draw, shape, "int32", low, high)


def _padding_mask(draw: st.DrawFn, batch: int, rows: int, total: int) -> Array | None:
    """key_padding_mask in any of its shapes; every query row keeps a key, or else float32 rounds all its scores alike."""
    form = draw(st.sampled_from(["none", "lengths", "ends", "keys", "rows"]))
    if form == "none" or total == 0:
        return None
    if form in ("lengths", "ends"):
        lengths = _counts(draw, (batch,), 1, total)
        extra = [np.arange(batch + 1, dtype=np.int32) * n for n in (rows, total)] if form == "ends" else []
        return np.concatenate([lengths, *extra])
    mask = _counts(draw, (batch, total) if form == "keys" else (batch, rows, total), 0, 1)
    mask[..., 0] = 1
    return mask


def _multi_head_attention(draw: st.DrawFn) -> Sample:
    kind = draw(st.sampled_from(KINDS))
    batch, heads, size, value_size = (
        draw(st.integers(1, 3)),
        draw(st.integers(1, 3)),
        *(draw(st.integers(1, 4)) for _ in "kv"),
    )
    rows, new = (draw(st.sampled_from([1, 2, 3, 4, 5, 40])) for _ in range(2))
    form = draw(
        st.sampled_from(["plain", "past", "shared", "cache", "plain", "past", "shared", "cache", "packed", "packed keys"])
    )
    if form in ("shared", "cache", "packed", "packed keys"):
        value_size = size
    if form == "packed":
        new = rows
    if form == "shared":
        rows = new = 1
    past = draw(st.integers(0, 4)) if form in ("past", "shared") else 0
    total = past + new

    def given(*shape: int) -> Array:
        return array(draw, shape, kind, -2, 2)

    inputs: list[Any]
    if form == "packed":
        inputs = [given(batch, rows, heads, 3, size), None, None]
    elif form == "packed keys":
        inputs = [given(batch, rows, heads * size), given(batch, new, heads, 2, size), None]
    elif form == "cache":
        inputs = [given(batch, rows, heads * size), *(given(batch, heads, new, size) for _ in "kv")]
    else:
        inputs = [given(batch, rows, heads * size), given(batch, new, heads * size), given(batch, new, heads * value_size)]
    inputs.append(given(heads * (2 * size + value_size)) if form != "cache" and draw(st.booleans()) else None)
    inputs.append(_padding_mask(draw, batch, rows, total) if form != "shared" else None)
    sides = draw(st.sampled_from([1, batch])), draw(st.sampled_from([1, heads]))
    inputs.append(given(*sides, rows, total) if draw(st.booleans()) else None)
    if form == "past":
        inputs += [given(batch, heads, past, size), given(batch, heads, past, value_size)]
    if form == "shared":
        room = total + draw(st.integers(0, 2))
        inputs += [given(batch, heads, room, size), given(batch, heads, room, size), np.array([past], np.int32)]
        inputs.append(_counts(draw, (1, batch, room), 0, batch - 1) if draw(st.booleans()) else None)
    sample = call(
        "MultiHeadAttention",
        inputs,
        version=1,
        domain=DOMAIN,
        outputs=draw(st.sampled_from([3, 4] if form == "shared" else [1, 3, 4])),
        num_heads=heads,
        mask_filter_value=draw(st.sampled_from([None, -10000.0, -2.5])),
        scale=draw(st.sampled_from([None, 0.0, 0.5])),
        unidirectional=draw(st.sampled_from([None, 0, 1])),
    )
    for output in sample.model.graph.output[3:]:  # its type is a parameter of its own
        output.type.tensor_type.elem_type = dtypes.ONNX[kind]
    return sample


def _step(draw: st.DrawFn) -> tuple[str, int, int, Array, int, Array | None]:
    """A GroupQueryAttention step: its kind, batch, rows, total tokens, their bound, and valid rows if they are given."""
    form = draw(st.sampled_from(["prompt", "padded", "decode", "chunk", "given", "windowed"]))
    batch, rows = draw(st.integers(1, 3)), draw(st.sampled_from([1, 2, 3, 4, 6, 35]))
    if form in ("decode", "windowed") and draw(st.booleans()):
        total = _counts(draw, (batch,), 1, 12)
        return form, batch, 1, total, int(total.max()), None
    if form in ("prompt", "padded"):
        total = np.full(batch, rows, np.int32) if form == "prompt" else _counts(draw, (batch,), 1, rows)
        total[0] = rows
        return form, batch, rows, total, rows, None
    if form == "given":
        valid, past = _counts(draw, (batch,), 0, rows), _counts(draw, (batch,), 0, 4)
        total = np.maximum(past + valid, 1)
        bound = max(int(total.max()), rows) + draw(st.integers(0, 2))
        return form, batch, rows, total, bound, valid
    total = np.array([rows + draw(st.integers(1, 6))], np.int32)
    return form, 1, rows, total, int(total[0]), None


def _group_query_attention(draw: st.DrawFn) -> Sample:
    kind = draw(st.sampled_from(KINDS))
    form, batch, rows, total, bound, valid = _step(draw)
    shared, size = draw(st.integers(1, 2)), draw(st.sampled_from([8, 16, 32]))
    heads = shared * draw(st.integers(1, 3))
    past = total - (np.minimum(rows, total) if valid is None else valid)
    window = draw(st.sampled_from([None, None, 1, 3]))
    capacity = int(past.max()) + draw(st.integers(0, 3))
    attributes: dict[str, Any] = {}
    if form == "given":
        capacity = max(capacity, int((past + rows).max()))
    if form == "windowed":
        window = draw(st.integers(1, 5))
        capacity = window + draw(st.integers(0, 3))
        attributes["sliding_window_cache"] = 1
    cached = form not in ("prompt", "padded") or draw(st.booleans())
    packed = draw(st.booleans())

    def given(*shape: int) -> Array:
        return array(draw, shape, kind, -2, 2)

    inputs: list[Any] = [given(batch, rows, (heads + 2 * shared if packed else heads) * size)]
    inputs += [None, None] if packed else [given(batch, rows, shared * size) for _ in "kv"]
    inputs += [given(batch, shared, capacity, size) if cached else None for _ in "kv"]
    inputs += [(total - 1).astype(np.int32), np.array([bound], np.int32)]
    rotary: list[Any] = [None, None, None]
    if size > 8 and draw(st.booleans()):
        positions = bound + rows + draw(st.integers(0, 2))
        width = draw(st.sampled_from([n for n in (8, 16) if 2 * n <= size]))
        rotary[:2] = [given(positions, width), given(positions, width)]
        rotary[2] = array(draw, (batch, rows), "int64", 0, positions - rows) if draw(st.booleans()) else None
        attributes |= {"do_rotary": 1, "rotary_interleaved": draw(st.sampled_from([None, 0, 1]))}
    sides = draw(st.sampled_from([1, batch])), draw(st.sampled_from([1, heads]))
    inputs += [*rotary, given(*sides, rows, bound) if draw(st.booleans()) else None]
    inputs += [given(heads) if draw(st.booleans()) else None]
    inputs += [None] * 4 + [valid] if valid is not None else []
    shown = draw(st.sampled_from([None, 0, 1, 2])) if form != "windowed" else None
    return call(
        "GroupQueryAttention",
        inputs,
        version=1,
        domain=DOMAIN,
        outputs=4 if shown else 3 if cached else draw(st.sampled_from([1, 3])),
        num_heads=heads,
        kv_num_heads=shared,
        local_window_size=window,
        causal=0 if window is None and valid is None and draw(st.integers(0, 4)) == 4 else None,
        scale=draw(st.sampled_from([None, None, 0.0, 0.5])),
        softcap=draw(st.sampled_from([None, None, 0.0, 2.0])),
        smooth_softmax=draw(st.sampled_from([None, None, -1, 0, 1])),
        qk_output=shown,
        **attributes,
    )


def _rotary_embedding(draw: st.DrawFn) -> Sample:
    kind = draw(st.sampled_from(KINDS))
    batch, heads, rows, pairs = (draw(st.integers(1, n)) for n in (3, 3, 4, 3))
    positions = rows + draw(st.integers(0, 5))
    rest = draw(st.integers(0, 2))
    size = 2 * pairs + rest
    packed = draw(st.booleans())
    one = draw(st.booleans())
    named = rest > 0 or draw(st.booleans())
    return call(
        "RotaryEmbedding",
        [
            array(draw, (batch, rows, heads * size) if packed else (batch, heads, rows, size), kind),
            array(draw, (1,) if one else (batch, rows), "int64", 0, positions - rows if one else positions - 1),
            array(draw, (positions, pairs), kind, -1, 1),
            array(draw, (positions, pairs), kind, -1, 1),
        ],
        version=1,
        domain=DOMAIN,
        interleaved=draw(st.sampled_from([None, 0, 1])),
        is_packed_batching=draw(st.sampled_from([None, 0, 1])),
        num_heads=heads if named else None,
        rotary_embedding_dim=2 * pairs if rest else None,
    )


DRAW: Mapping[str, Callable[[st.DrawFn], Sample]] = {
    f"{DOMAIN}:MultiHeadAttention": _multi_head_attention,
    f"{DOMAIN}:GroupQueryAttention": _group_query_attention,
    f"{DOMAIN}:RotaryEmbedding": _rotary_embedding,
}
