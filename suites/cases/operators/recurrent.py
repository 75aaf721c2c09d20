"""Operators with a state or a memory: recurrent layers and attention."""

from __future__ import annotations

from suites.cases.operators.table import Row

# {g}: rows of weights, hidden units times gates; {b}: of biases, those of input and of state.
_LAYERS = (
    "x:5x3x4.w:1x{g}x4.r:1x{g}x5.hidden_size:5 "
    "x:7x2x3.w:1x{g}x3.r:1x{g}x5.b:1x{b}.direction:reverse.hidden_size:5 "
    "x:3x2x4.w:2x{g}x4.r:2x{g}x5.b:2x{b}.direction:bidirectional.hidden_size:5"
)
_ATTENTION = (
    "q:2x3x5x8.k:2x3x7x8.v:2x3x7x4 q:1x4x5x8.k:1x2x7x8.v:1x2x7x8.is_causal:1 q:1x2x3x8.k:1x2x5x8.v:1x2x5x8.attn_mask:3x5"
)

CASES = (
    Row("GRU-14", "f32", "normal", _LAYERS.format(g=15, b=30)),
    Row("GRU-14", "f32", "normal", "x:5x2x3.w:1x15x3.r:1x15x5.b:1x30.hidden_size:5.linear_before_reset:1"),
    Row("LSTM-14", "f32", "normal", _LAYERS.format(g=20, b=40)),
    Row("RNN-14", "f32", "normal", _LAYERS.format(g=5, b=10)),
    Row("Attention-23", "f32", "normal", _ATTENTION),
)
