"""Attention of ONNX Runtime's domain: MultiHeadAttention, GroupQueryAttention and the rotary positions before them."""

from __future__ import annotations

from suites.cases.operators.sweep import Sweep, joined
from suites.cases.operators.table import Row


def _many_heads(
    batch: int,
    heads: int,
    length: tuple[int, int],
    size: tuple[int, int],
    packing: str,
    bias: bool,
    mask: str,
    added: str,
    past: int,
    scale: str,
    ahead: bool,
    filtered: str,
    outputs: int,
) -> str | None:
    """One MultiHeadAttention. packing: "apart", "qkv", "kv" or "cache" (keys and values of rank 4); mask: shape of
    key_padding_mask ("1": lengths, "2", "3"); added: batch and heads of attention_bias; ahead: unidirectional.
    """
    (rows, new), (d, e) = length, size
    if (packing in ("qkv", "kv") and d != e) or (packing == "qkv" and rows != new):
        return None
    if packing in ("qkv", "kv", "cache") and (bias or past):
        return None
    if (packing == "cache" and d != e) or (ahead and (packing == "cache" or rows != new)) or (past and d != e):
        return None  # a cache holds keys and values of one size; which of its keys come later is not said
    columns = past + new
    query = f"query:{batch}x{rows}x{heads}x3x{d}" if packing == "qkv" else f"query:{batch}x{rows}x{heads * d}"
    keys = {
        "apart": f"key:{batch}x{new}x{heads * d}.value:{batch}x{new}x{heads * e}",
        "kv": f"key:{batch}x{new}x{heads}x2x{d}",
        "cache": f"key:{batch}x{heads}x{new}x{d}.value:{batch}x{heads}x{new}x{e}",
        "qkv": "",
    }
    masks = {"": "", "1": str(batch), "2": f"{batch}x{columns}", "3": f"{batch}x{rows}x{columns}"}
    parts = {"": "", "full": f"{batch}x{heads}", "one": "1x1", "heads": f"1x{heads}", "batch": f"{batch}x1"}
    return joined(
        query,
        keys[packing],
        f"bias:{heads * (2 * d + e)}" if bias else "",
        mask and f"key_padding_mask:{masks[mask]}",
        added and f"attention_bias:{parts[added]}x{rows}x{columns}",
        f"past_key:{batch}x{heads}x{past}x{d}.past_value:{batch}x{heads}x{past}x{e}" if past else "",
        filtered and f"mask_filter_value:{filtered}",
        f"num_heads:{heads}",
        scale and f"scale:{scale}",
        "unidirectional:1" if ahead else "",
        f"outputs:{3 if past else outputs}" if past or outputs > 1 else "",
    )


_MANY = {
    "batch": (2, 1),
    "heads": (2, 1, 4),
    "length": ((4, 4), (1, 7), (5, 3), (3, 3), (1, 1)),
    "size": ((8, 8), (4, 6), (16, 16), (2, 2)),
    "packing": ("apart", "cache"),
    "bias": (False, True),
    "mask": ("", "1", "2", "3"),
    "added": ("", "full", "one", "heads", "batch"),
    "past": (0, 3),
    "scale": ("", "5e-1"),
    "ahead": (False, True),
    "filtered": ("", "-1e1"),
    "outputs": (1, 3),
}


def _grouped(
    batch: int,
    heads: tuple[int, int],
    step: tuple[int, int],
    size: int,
    packed: bool,
    rotary: str,
    room: int,
    window: int | None,
    cap: str,
    scale: str,
    added: bool,
    sink: bool,
    norm: bool,
) -> str | None:
    """One GroupQueryAttention. step: past and new tokens of each batch entry (new is 1 or past is 0, as for one request);
    rotary: "" none, "half" or "pairs"; room: rows of the cache behind what is needed."""
    (queries, shared), (past, rows), total = heads, step, sum(step)
    if (batch > 1 and past and rows > 1) or (rotary and size % 16):
        return None
    width = (queries + 2 * shared if packed else queries) * size
    rows_of_cache = past + room if room else past
    cache = f"{batch}x{shared}x{max(rows_of_cache, 1) if past else 0}x{size}"
    return joined(
        f"query:{batch}x{rows}x{width}",
        "" if packed else f"key:{batch}x{rows}x{shared * size}.value:{batch}x{rows}x{shared * size}",
        f"past_key:{cache}.past_value:{cache}" if past else "",
        f"cos_cache:{total + 2}x{size // 2}.sin_cache:{total + 2}x{size // 2}" if rotary else "",
        f"attention_bias:{batch}x{queries}x{rows}x{total}" if added else "",
        f"head_sink:{queries}" if sink else "",
        f"q_norm_weight:{size}.k_norm_weight:{size}" if norm else "",
        f"seqlens_k:{'_'.join([str(total - 1)] * batch)}.total_sequence_length:{total}",
        "do_rotary:1" if rotary else "",
        f"kv_num_heads:{shared}",
        "" if window is None else f"local_window_size:{window}",
        f"num_heads:{queries}",
        "rotary_interleaved:1" if rotary == "pairs" else "",
        scale and f"scale:{scale}",
        cap and f"softcap:{cap}",
        "outputs:3",
    )


_GROUPED = {
    "batch": (1, 2),
    "heads": ((4, 2), (2, 2), (3, 1), (8, 2)),
    "step": ((0, 5), (4, 1), (0, 1), (7, 1), (0, 9), (3, 2)),
    "size": (16, 8, 32),
    "packed": (False, True),
    "rotary": ("", "half", "pairs"),
    "room": (0, 4),
    "window": (None, 3, 1, 16),
    "cap": ("", "5"),
    "scale": ("", "5e-1"),
    "added": (False, True),
    "sink": (False, True),
    "norm": (False, True),
}

_PLAIN = {"added": (False,), "sink": (False,), "norm": (False,), "window": (None, 2)}


def _rotation(layout: str, heads: int, size: int, interleaved: int | None, whole: bool, given: bool, const: bool) -> str:
    """RotaryEmbedding; whole: positions of every row, else where the rows begin; given: num_heads is named."""
    batch, length, rank = (int(n) for n in layout.split("_"))
    x = f"{batch}x{heads}x{length}x{size}" if rank == 4 else f"{batch}x{length}x{heads * size}"
    cache = f"{length + 5}x{size // 2}"
    return joined(
        f"input:{x}",
        f"position_ids:{batch}x{length}" if whole else "position_ids:1",
        f"cos_cache:{cache}.sin_cache:{cache}",
        "" if interleaved is None else f"interleaved:{interleaved}",
        f"num_heads:{heads}" if given else "",
        "const:cos_cache_sin_cache" if const else "",
    )


CASES = (
    Sweep("ms:MultiHeadAttention-1", "f32", "normal", _many_heads, _MANY),
    Sweep(
        "ms:MultiHeadAttention-1", "f32", "normal", _many_heads, {**_MANY, "packing": ("apart",), "batch": (2,), "past": (3, 0)}
    ),
    Row(
        "ms:MultiHeadAttention-1",
        "f16 bf16",
        "normal",
        "query:2x4x16.key:2x4x16.value:2x4x16.num_heads:2 query:1x1x16.key:1x7x16.value:1x7x16.num_heads:1",
    ),
    Row(
        "ms:MultiHeadAttention-1",
        "f32",
        "normal",
        "query:2x3x2x3x8.num_heads:2 query:1x5x4x3x4.attention_bias:1x4x5x5.num_heads:4 query:2x3x16.key:2x7x2x2x8.num_heads:2",
    ),
    Row("ms:MultiHeadAttention-1", "f32", "grid zero wide tiny", "query:2x4x16.key:2x4x16.value:2x4x16.num_heads:2"),
    Sweep("ms:GroupQueryAttention-1", "f32", "normal", _grouped, {**_GROUPED, "norm": (False,)}),
    # without what few devices have
    Sweep("ms:GroupQueryAttention-1", "f32", "normal", _grouped, {**_GROUPED, **_PLAIN}),
    Sweep(
        "ms:GroupQueryAttention-1",
        "f32",
        "normal",
        _grouped,
        {**_GROUPED, **_PLAIN, "rotary": ("half",), "packed": (True, False)},
    ),
    Sweep("ms:GroupQueryAttention-1", "f16", "normal", _grouped, {**_GROUPED, **_PLAIN, "size": (16,), "heads": ((4, 2),)}),
    Row(
        "ms:GroupQueryAttention-1",
        "f32",
        "normal",
        _grouped(1, (4, 2), (0, 5), 16, False, "", 0, None, "", "", False, False, True) or "",
    ),
    Row(
        "ms:GroupQueryAttention-1",
        "f32",
        "grid zero wide",
        _grouped(1, (4, 2), (0, 5), 16, False, "half", 0, None, "", "", False, False, False) or "",
    ),
    Sweep(
        "ms:RotaryEmbedding-1",
        "f32 f16",
        "normal",
        _rotation,
        {
            "layout": ("1_5_3", "2_3_4", "1_1_3", "2_7_3", "3_1_4"),
            "heads": (2, 1, 5),
            "size": (8, 16, 4, 6, 34, 2),
            "interleaved": (None, 0, 1),
            "whole": (True, False),
            "given": (False, True),
            "const": (True, False),
        },
    ),
    Row(
        "ms:RotaryEmbedding-1",
        "f32",
        "normal grid",
        "input:1x3x32.position_ids:1x3.cos_cache:8x4.sin_cache:8x4.num_heads:2.rotary_embedding_dim:8 "
        "input:2x2x3x16.position_ids:2x3.cos_cache:8x2.sin_cache:8x2.interleaved:1.num_heads:2.rotary_embedding_dim:4",
    ),
)
