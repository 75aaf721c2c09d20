"""EXPLICIT bounds of LinearAttention and CausalConvWithState.

LinearAttention may step from token to token or in chunks, as products of the chunk's queries and keys. Both add the same terms
|q|·|k|·|v| with the same decay, the chunk with sums of decays for products of their exponentials. A delta rule multiplies the
state by (I − βkkᵀ), whose norm is the larger of 1 and |1 − β|k|²|: its errors are carried as the 2-norm of each column, since
elementwise they would grow without need.
"""

from __future__ import annotations

import math

import numpy as np

from reference.node import Array, Node
from reference.ops.activation import swish
from reference.verify.bounds import explicit, sum_error
from reference.verify.bounds.attention import SCALE
from reference.verify.bounds.functions import K_T, ulps
from reference.verify.bounds.running_error import apply, exactly, operator, products, stored
from reference.verify.setting import Setting


def _by_head(x: Array, heads: int) -> Array:
    """(B, T, heads·d) as (T, B, heads, d)."""
    return x.reshape(*x.shape[:2], heads, -1).swapaxes(0, 1)


def _norm(x: Array) -> Array:
    """2-norm of each column of (…, d_k, d_v), with length 1."""
    return np.asarray(np.sqrt((x * x).sum(-2, keepdims=True)))


def _decay_errors(decay: Array, chunk: int, setting: Setting) -> tuple[Array, Array]:
    """Relative errors of the decay of each step: of its exponential, and of what the sum of its chunk's decays loses."""
    u, sums = setting.u, np.zeros(decay.shape)
    for start in range(0, len(decay), chunk):
        part = np.abs(decay[start : start + chunk])
        sums[start : start + chunk] = np.expm1(setting.gamma(len(part)) * part.sum(0))
    return np.expm1((K_T * u + setting.u_in) * np.abs(decay)) + (2 * ulps("Exp", setting) + 1) * u, sums


def linear_attention(node: Node, setting: Setting) -> list[Array]:
    """LinearAttention-27: output and last state."""
    heads, queries = int(node.attributes["kv_num_heads"]), int(node.attributes["q_num_heads"])
    rule, chunk = node.attribute("update_rule", "gated_delta"), max(1, int(node.attribute("chunk_size", 64)))
    q, k, v = _by_head(node.real(0), queries), _by_head(node.real(1), heads), _by_head(node.real(2), heads)
    steps, batch, _, d_k = k.shape
    q = q.reshape(steps, batch, heads, queries // heads, d_k) * (node.attribute("scale", 0.0) or 1 / math.sqrt(d_k))
    decay = _by_head(node.real(4), heads)[..., None] if "gated" in rule else np.zeros((steps, 1, 1, 1, 1))
    rates = node.real(5).swapaxes(0, 1)[..., None, None] if "delta" in rule else None
    state = node.real(3) if node.given(3) else np.zeros((batch, heads, d_k, v.shape[3]))
    u, exponential, sums = setting.u, *_decay_errors(decay, chunk, setting)
    exponential = exponential * ("gated" in rule)
    roundings = sum_error.random_walk(d_k + min(chunk, steps) + 4, setting) + 3 * setting.u_in
    columns = _norm if rates is not None else np.asarray
    # size: Σ|k|·|v| of the chunk and |state| before it, decayed; error: of the state, elementwise or by column.
    size, error, sized = np.abs(state), np.zeros(state.shape), np.zeros(state.shape)
    outputs = np.zeros((*q.shape[:-1], v.shape[3]))
    for t in range(steps):
        if t % chunk == 0:
            size, error = np.abs(state), error + columns(sized)
        kept, column, value = np.exp(decay[t]), k[t, ..., None], v[t, :, :, None, :]
        state, size = state * kept, size * kept
        error = columns(error * kept * (1 + exponential[t]) + exponential[t] * np.abs(state))
        sized = size * (roundings + sums[t])
        if rates is not None:
            seen, rate = np.swapaxes(column, -1, -2), np.abs(rates[t])
            local = rate * (roundings * np.abs(value) + np.abs(seen) @ sized)
            value = rates[t] * (value - seen @ state)
            squared = (column * column).sum(-2, keepdims=True)
            error = (np.maximum(1.0, np.abs(1 - rates[t] * squared)) + 2 * u) * error + np.sqrt(squared) * local * (1 + 2 * u)
        state, size = state + column * value, size + np.abs(column * value)
        rounded = (2 * u + 3 * setting.u_in) * np.abs(column * value) + u * np.abs(state) + 2 * setting.eta
        error, sized = error + columns(rounded), size * (roundings + sums[t])
        brought = np.linalg.norm(q[t], axis=-1, keepdims=True) * error if rates is not None else np.abs(q[t]) @ error
        constant = (SCALE * u + 2 * setting.u_attribute) * np.abs(q[t] @ state)
        outputs[t] = brought + np.abs(q[t]) @ (sized + roundings * error) + constant + (d_k + 2) * setting.eta
    output = outputs.swapaxes(0, 1).reshape(node.results[0].shape)
    return [output, np.broadcast_to(error + columns(sized), state.shape)]


def causal_conv_with_state(node: Node, setting: Setting) -> list[Array]:
    """CausalConvWithState-27: a sum over the taps of each channel, and y·sigmoid(y) of it; the last state is a copy."""
    x, weight = node.real(0), node.real(1)
    taps, length = weight.shape[2], x.shape[2]
    past = node.real(3) if node.given(3) else np.zeros((*x.shape[:2], taps - 1))
    sequence = np.concatenate([past, x], axis=2)
    windows = np.lib.stride_tricks.sliding_window_view(sequence, taps, axis=2)[:, :, :length]
    bias = [exactly(np.broadcast_to(node.real(2)[:, None], x.shape))] if node.given(2) else []
    filters = exactly(np.broadcast_to(weight[:, 0, None, :, None], (*windows.shape[1:3], taps, 1)))
    flat = [exactly(b.value[..., None, None]) for b in bias]
    total = products(setting, [(exactly(windows[..., None, :]), filters)], *flat).at(np.s_[..., 0, 0])
    copies = np.zeros(node.results[1].shape) if len(node.results) > 1 else np.zeros(0)
    if node.attribute("activation", "none") == "none":
        return [total.error, copies]
    total = stored(setting, total)
    return [apply(operator("Swish", explicit.swish, swish, setting), total, curvature=0.5).error, copies]
