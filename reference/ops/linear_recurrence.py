"""Recurrences that are linear in their state: LinearAttention and CausalConvWithState. The state before the first step
is an input, that after the last one an output."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reference.ops.activation import swish

Array = NDArray[Any]

UPDATE_RULES = ("linear", "gated", "delta", "gated_delta")


def linear_attention(
    query: Array,
    key: Array,
    value: Array,
    past_state: Array | None = None,
    decay: Array | None = None,
    beta: Array | None = None,
    *,
    chunk_size: int = 64,
    kv_num_heads: int,
    q_num_heads: int,
    scale: float = 0.0,
    update_rule: str = "gated_delta",
) -> tuple[Array, Array]:
    """LinearAttention-27: for each token S' = S + k⊗v and o = scale·S'ᵀq. "gated" rules take exp(decay)·S for S, "delta"
    rules beta·(v - Sᵀk) for v. Query (B, T, q heads·d_k), key (B, T, kv heads·d_k), value (B, T, kv heads·d_v), state
    (B, kv heads, d_k, d_v), zero where absent; decay (B, T, kv heads) or (B, T, kv heads·d_k), beta (B, T, kv heads) or
    (B, T, 1). Output (B, T, q heads·d_v) and the last state.

    Each kv head serves as many consecutive query heads; scale=0 stands for 1/√d_k; chunk_size changes no value. Open in
    ONNX: a decay or beta that the rule does not name (without effect here). Raises ValueError for other rules, missing
    inputs, heads and shapes that do not fit.
    """
    if update_rule not in UPDATE_RULES:
        raise ValueError(f"update_rule {update_rule!r}, expected one of {', '.join(UPDATE_RULES)}")
    if kv_num_heads < 1 or q_num_heads < 1 or q_num_heads % kv_num_heads:
        raise ValueError(f"{q_num_heads} query heads for {kv_num_heads} key and value heads, expected a multiple")
    q, k, v = _heads(query, "query", q_num_heads), _heads(key, "key", kv_num_heads), _heads(value, "value", kv_num_heads)
    steps, batch, _, d_k = q.shape
    if k.shape != (steps, batch, kv_num_heads, d_k) or v.shape[:3] != k.shape[:3]:
        raise ValueError(f"query, key and value of shapes {query.shape}, {key.shape} and {value.shape}")
    rates = _rates(beta, k) if "delta" in update_rule else None
    factors = np.exp(_decays(decay, k)) if "gated" in update_rule else None
    shape = batch, kv_num_heads, d_k, v.shape[3]
    state = np.zeros(shape) if past_state is None else past_state.copy()
    if state.shape != shape:
        raise ValueError(f"past_state of shape {state.shape}, expected {shape}")
    # The query heads of a key and value head are the rows of one product with its state.
    q = q.reshape(steps, batch, kv_num_heads, q_num_heads // kv_num_heads, d_k) * (scale or 1 / math.sqrt(d_k))
    output = np.empty((*q.shape[:4], v.shape[3]))
    for t in range(steps):
        if factors is not None:
            state *= factors[t]
        added = v[t, :, :, None, :]
        if rates is not None:
            added = rates[t] * (added - k[t, :, :, None, :] @ state)
        state += k[t, ..., None] * added
        output[t] = q[t] @ state
    return output.swapaxes(0, 1).reshape(batch, steps, q_num_heads * v.shape[3]), state


def _heads(x: Array, name: str, heads: int) -> Array:
    """(B, T, heads·d) as (T, B, heads, d). Raises ValueError."""
    if x.ndim != 3 or x.shape[2] % heads:
        raise ValueError(f"{name} of shape {x.shape}, expected three axes, the last one of {heads} heads")
    return x.reshape(*x.shape[:2], heads, x.shape[2] // heads).swapaxes(0, 1)


def _decays(decay: Array | None, k: Array) -> Array:
    """Decays that broadcast against states: (T, B, heads, d_k or 1, 1). Raises ValueError."""
    if decay is None:
        raise ValueError("a gated rule needs the input decay")
    decays = _heads(decay, "decay", k.shape[2])
    if decays.shape not in (k.shape, (*k.shape[:3], 1)):
        raise ValueError(f"decay of shape {decay.shape}, expected one value a head, or one for each element of key")
    return decays[..., None]


def _rates(beta: Array | None, k: Array) -> Array:
    """Update rates that broadcast against (1, d_v) of every head: (T, B, heads or 1, 1, 1). Raises ValueError."""
    steps, batch, heads, _ = k.shape
    if beta is None:
        raise ValueError("a delta rule needs the input beta")
    if beta.shape not in ((batch, steps, heads), (batch, steps, 1)):
        raise ValueError(f"beta of shape {beta.shape}, expected {(batch, steps, heads)} or {(batch, steps, 1)}")
    return beta.swapaxes(0, 1)[..., None, None]


def causal_conv_with_state(
    x: Array, weight: Array, bias: Array | None = None, past_state: Array | None = None, *, activation: str = "none"
) -> tuple[Array, Array]:
    """CausalConvWithState-27: x (batch, channels, length), weight (channels, 1, k), bias (channels): each channel with its
    own kernel over past_state (batch, channels, k - 1), zero where absent, followed by x; "silu" and "swish" put
    y·sigmoid(y) for y. Output like x, and the last k - 1 positions of past_state and x together. Raises ValueError for
    other activations and shapes that do not fit."""
    if activation not in ("none", "silu", "swish"):
        raise ValueError(f"activation {activation!r}, expected none, silu or swish")
    if x.ndim != 3 or weight.ndim != 3 or weight.shape[:2] != (x.shape[1], 1) or weight.shape[2] < 1:
        raise ValueError(f"input of shape {x.shape} and weight of shape {weight.shape}, expected (N, C, L) and (C, 1, k)")
    batch, channels, length = x.shape
    kernel = weight.shape[2]
    past = np.zeros((batch, channels, kernel - 1)) if past_state is None else past_state
    if past.shape != (batch, channels, kernel - 1):
        raise ValueError(f"past_state of shape {past.shape}, expected {(batch, channels, kernel - 1)}")
    if bias is not None and bias.shape != (channels,):
        raise ValueError(f"bias of shape {bias.shape}, expected {(channels,)}")
    sequence = np.concatenate([past, x], axis=2)
    y = np.zeros(x.shape) if bias is None else np.broadcast_to(bias[:, None], x.shape).copy()
    for tap in range(kernel):
        y += weight[:, :, tap] * sequence[:, :, tap : tap + length]
    return y if activation == "none" else swish(y), sequence[:, :, length:]
