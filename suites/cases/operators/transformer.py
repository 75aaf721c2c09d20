"""Attention, the rotary positions before it, and the recurrences and gates that models put in its place."""

from __future__ import annotations

from suites.cases.operators.sweep import Sweep, joined
from suites.cases.operators.table import Row

_ATTENTION = (
    "q:2x3x5x8.k:2x3x7x8.v:2x3x7x4 q:1x4x5x8.k:1x2x7x8.v:1x2x7x8.is_causal:1 q:1x2x3x8.k:1x2x5x8.v:1x2x5x8.attn_mask:3x5"
)


def _attention(
    layout: str,
    heads: tuple[int, int],
    length: tuple[int, int],
    size: tuple[int, int],
    mask: str,
    past: int,
    causal: bool,
    scale: str,
    cap: str,
    shown: tuple[int, int | None],
    precision: str = "",
) -> str | None:
    """One Attention. layout: batch, then "4" or "3" for the rank; heads: of queries and of keys; length: of queries and of new
    keys; mask: "", "2", "4", "b" (batch, 1), with "!" for a boolean one; shown: outputs and qk_matmul_output_mode.
    """
    batch, rank = layout[0], layout[1]
    (queries, shared), (rows, new), (d, e) = heads, length, size
    columns = past + new
    kind = ":bool" if mask.endswith("!") else ""
    shapes = {"": "", "2": f"{rows}x{columns}", "4": f"{batch}x{queries}x{rows}x{columns}", "b": f"{batch}x1x{rows}x{columns}"}
    shape = shapes[mask.rstrip("!")]
    if past and causal and rows < new:
        return None  # ONNX Runtime lets a single query see every key
    outputs, mode = shown
    if past and outputs == 1:
        outputs = 3  # the cache goes on

    def tensor(name: str, number: int, count: int, width: int) -> str:
        return f"{name}:{batch}x{number}x{count}x{width}" if rank == "4" else f"{name}:{batch}x{count}x{number * width}"

    return joined(
        tensor("q", queries, rows, d),
        tensor("k", shared, new, d),
        tensor("v", shared, new, e),
        shape and f"attn_mask:{shape}{kind}",
        f"past_key:{batch}x{shared}x{past}x{d}.past_value:{batch}x{shared}x{past}x{e}" if past else "",
        "is_causal:1" if causal else "",
        "" if rank == "4" else f"kv_num_heads:{shared}.q_num_heads:{queries}",
        "" if mode is None else f"qk_matmul_output_mode:{mode}",
        scale and f"scale:{scale}",
        cap and f"softcap:{cap}",
        precision and f"softmax_precision:{precision}",
        f"outputs:{outputs}" if outputs > 1 else "",
    )


_CASES = {
    "layout": ("24", "13", "14", "23"),
    "heads": ((2, 2), (4, 2), (1, 1), (6, 1), (3, 3)),
    "length": ((5, 5), (1, 7), (3, 8), (4, 2), (1, 1), (17, 16)),
    "size": ((8, 8), (4, 6), (1, 1), (16, 3)),
    "mask": ("", "2", "4", "b", "2!", "4!"),
    "past": (0, 3, 1),
    "causal": (False, True),
    "scale": ("", "5e-1", "1"),
    "cap": ("", "5", "5e-1"),
    "shown": ((1, None), (3, None), (4, 0), (4, 1), (4, 2), (4, 3)),
}
_SHORT = {**_CASES, "layout": ("24", "13"), "heads": ((2, 2), (4, 2)), "length": ((5, 5), (1, 7)), "size": ((8, 8),)}

ATTENTION = (
    Row("Attention-23", "f32", "normal", _ATTENTION),
    Sweep("Attention-23", "f32", "normal", _attention, _CASES),
    Sweep("Attention-24", "f32", "normal", _attention, {**_CASES, "shown": ((1, None), (3, None), (4, 0), (4, 3))}, one_in=2),
    Sweep("Attention-23", "f16 f64", "normal", _attention, _SHORT, one_in=2),
    Sweep("Attention-24", "f16 bf16 f64", "normal", _attention, _SHORT, one_in=2),
    Sweep("Attention-23", "f32 f16", "normal", _attention, {**_SHORT, "precision": ("f32", "f16", "f64")}, one_in=2),
    Row(
        "Attention-23",
        "f32",
        "grid wide zero positive tiny",
        "q:1x2x5x8.k:1x2x7x8.v:1x2x7x8 q:1x2x5x8.k:1x2x5x8.v:1x2x5x8.is_causal:1",
    ),
    # lengths of what is no padding, for each batch entry
    Row(
        "Attention-24",
        "f32",
        "normal",
        "q:2x2x3x8.k:2x2x7x8.v:2x2x7x8.nonpad_kv_seqlen:3_7 q:2x2x3x8.k:2x2x7x8.v:2x2x7x8.nonpad_kv_seqlen:4_6.is_causal:1 "
        "q:2x2x1x8.k:2x2x7x8.v:2x2x7x8.nonpad_kv_seqlen:1_7 q:2x2x3x8.k:2x2x7x8.v:2x2x7x8.attn_mask:3x7.nonpad_kv_seqlen:5_3 "
        ""
        "q:1x4x3x8.k:1x2x7x8.v:1x2x7x8.nonpad_kv_seqlen:5.feed:nonpad_kv_seqlen",
    ),
    # lengths around vectors, and a head of prime size
    Row(
        "Attention-23",
        "f32",
        "normal",
        " ".join(f"q:1x1x2x7.k:1x1x{n}x7.v:1x1x{n}x5" for n in (1, 15, 16, 17, 31, 32, 33, 64, 65, 129)),
    ),
)


def _rotation(
    layout: str, heads: int, size: int, part: int, interleaved: int | None, by_position: bool, const: bool
) -> str | None:
    """RotaryEmbedding of (batch, heads, length, size) or (batch, length, heads·size); part: of each head, 0 for all."""
    batch, length, rank = (int(n) for n in layout.split("_"))
    turned = part or size
    if turned > size or (rank == 3 and part and not heads):
        return None
    half = turned // 2
    x = f"{batch}x{heads}x{length}x{size}" if rank == 4 else f"{batch}x{length}x{heads * size}"
    cache = f"{length + 5}x{half}" if by_position else f"{batch}x{length}x{half}"
    return joined(
        f"x:{x}",
        f"cos_cache:{cache}.sin_cache:{cache}",
        f"position_ids:{batch}x{length}" if by_position else "",
        "" if interleaved is None else f"interleaved:{interleaved}",
        "" if rank == 4 else f"num_heads:{heads}",
        f"rotary_embedding_dim:{part}" if part else "",
        "const:cos_cache_sin_cache" if const else "",
    )


ROTATIONS = (
    Sweep(
        "RotaryEmbedding-23",
        "f32 f16 bf16",
        "normal",
        _rotation,
        {
            "layout": ("1_5_4", "2_3_3", "1_1_4", "2_7_4", "3_1_3"),
            "heads": (2, 1, 5),
            "size": (8, 4, 6, 16, 2, 34),
            "part": (0, 4, 2),
            "interleaved": (None, 0, 1),
            "by_position": (True, False),
            "const": (True, False),
        },
    ),
    Row("RotaryEmbedding-23", "f32", "grid zero place", "x:1x2x3x8.cos_cache:1x3x4.sin_cache:1x3x4"),
)


def _linear(
    rule: str, heads: tuple[int, int], length: int, size: tuple[int, int], past: bool, each: bool, scale: str, chunk: int | None
) -> str:
    """LinearAttention; each: a decay for each element of a key, a rate for each head."""
    (queries, shared), (d, e), batch = heads, size, 2 if length < 5 else 1
    start = f"{batch}x{length}x"
    return joined(
        f"query:{start}{queries * d}.key:{start}{shared * d}.value:{start}{shared * e}",
        f"past_state:{batch}x{shared}x{d}x{e}" if past else "",
        f"decay:{start}{shared * d if each else shared}" if "gated" in rule else "",
        f"beta:{start}{shared if each else 1}" if "delta" in rule else "",
        "" if chunk is None else f"chunk_size:{chunk}",
        f"kv_num_heads:{shared}.q_num_heads:{queries}",
        scale and f"scale:{scale}",
        f"update_rule:{rule}",
    )


def _causal(x: str, kernel: int, bias: bool, past: bool, activation: str, const: bool) -> str:
    batch, channels, _ = x.split("x")
    return joined(
        f"input:{x}.weight:{channels}x1x{kernel}",
        f"bias:{channels}" if bias else "",
        f"past_state:{batch}x{channels}x{kernel - 1}" if past else "",
        activation and f"activation:{activation}",
        f"const:weight{'_bias' if bias else ''}" if const else "",
    )


RECURRENCES = (
    Sweep(
        "LinearAttention-27",
        "f32 f16 bf16",
        "normal",
        _linear,
        {
            "rule": ("linear", "gated", "delta", "gated_delta"),
            "heads": ((2, 2), (4, 2), (1, 1), (3, 1)),
            "length": (5, 1, 3, 9),
            "size": ((4, 4), (3, 5), (8, 2), (1, 1)),
            "past": (False, True),
            "each": (False, True),
            "scale": ("", "5e-1", "1"),
            "chunk": (None, 1, 2, 64),
        },
    ),
    Sweep(
        "CausalConvWithState-27",
        "f32 f16 bf16",
        "normal",
        _causal,
        {
            "x": ("2x3x7", "1x1x1", "1x5x3", "2x8x16", "1x17x2"),
            "kernel": (4, 1, 3, 2),
            "bias": (True, False),
            "past": (True, False),
            "activation": ("", "silu", "swish", "none"),
            "const": (True, False),
        },
    ),
    Row("CausalConvWithState-27", "f32", "lattice grid special", "input:2x3x7.weight:3x1x4.bias:3.past_state:2x3x3"),
)

GATES = (
    Row(
        "SwiGLU-28",
        "f32 f16 bf16 f64",
        "normal wide special",
        "a:3x17.b:3x17 a:2x3x5.b:2x3x5.alpha:1702e-3 a:7.b:7.alpha:5e-1 a:scalar.b:scalar a:3x64.b:3x64.alpha:-1",
    ),
    Row("SwiGLU-28", "f32", "grid tiny zero extreme", "a:3x17.b:3x17 a:0x3.b:0x3"),
)

CASES = (*ATTENTION, *ROTATIONS, *RECURRENCES, *GATES)
