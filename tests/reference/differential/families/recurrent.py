"""Recurrent layers, and the two recurrences that are linear in their state."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from hypothesis import strategies as st

from ..samples import Array, Sample, array, call, kinds_of, version_of

GATES = {"RNN": 1, "GRU": 3, "LSTM": 4}

FUNCTIONS = {"RNN": 1, "GRU": 2, "LSTM": 3}
"""Activations for each direction."""

TAKES_ALPHA = ("Affine", "LeakyRelu", "ThresholdedRelu", "ScaledTanh", "HardSigmoid", "Elu")
TAKES_BETA = ("Affine", "ScaledTanh", "HardSigmoid")
ACTIVATIONS = ("Relu", "Tanh", "Sigmoid", *TAKES_ALPHA, "Softsign", "Softplus")


def _activations(draw: st.DrawFn, operator: str, directions: int) -> dict[str, Any]:
    """The attribute `activations`, often with the alphas and betas of those that take them."""
    if draw(st.booleans()):
        return {}
    names = [draw(st.sampled_from(ACTIVATIONS)) for _ in range(FUNCTIONS[operator] * directions)]
    chosen: dict[str, Any] = {"activations": names}
    if draw(st.booleans()) or "ScaledTanh" in names:
        real = st.sampled_from([0.3, 0.7, 1.1])
        chosen["activation_alpha"] = [draw(real) for name in names if name in TAKES_ALPHA] or None
        chosen["activation_beta"] = [draw(real) for name in names if name in TAKES_BETA] or None
    return chosen


def _layer(operator: str, draw: st.DrawFn) -> Sample:
    version = version_of(draw, operator, since=7)
    kind = draw(st.sampled_from(["float32", *kinds_of(operator, version)]))
    plain = draw(st.booleans())
    steps, batch, inputs, hidden = (draw(st.sampled_from([2, 1, 3, 4, 5] * 4 + [0])) for _ in range(4))
    direction = draw(st.sampled_from(["forward", "reverse", "bidirectional"]))
    directions = 2 if direction == "bidirectional" else 1
    layout = draw(st.sampled_from([None, None, 0, 1])) if version >= 14 else None
    rows = GATES[operator] * hidden

    def given(*shape: int, batched: bool = False) -> Array:
        """A tensor of the layer; batch before the first axis where the layout says so."""
        first = (shape[1], shape[0], *shape[2:]) if batched and layout else shape
        return array(draw, first, kind, -1, 1)

    def maybe(*shape: int, batched: bool = False) -> Array | None:
        return given(*shape, batched=batched) if draw(st.booleans()) else None

    lengths = draw(st.lists(st.integers(0, steps), min_size=batch, max_size=batch))
    tensors = [
        given(steps, batch, inputs, batched=True),
        given(directions, rows, inputs),
        given(directions, rows, hidden),
        maybe(directions, 2 * rows),
        np.array(lengths, np.int32) if not plain and draw(st.booleans()) else None,
        maybe(directions, batch, hidden, batched=True),
    ]
    special: dict[str, Any] = {}
    if operator == "LSTM":
        tensors += [maybe(directions, batch, hidden, batched=True), maybe(directions, 3 * hidden)]
        special["input_forget"] = draw(st.sampled_from([None, 0, 1])) if not plain else None
    if operator == "GRU":
        special["linear_before_reset"] = draw(st.sampled_from([None, 0, 1]))
    return call(
        operator,
        tensors,
        version=version,
        outputs=draw(st.integers(1, 3 if operator == "LSTM" else 2)),
        direction=direction,
        layout=layout,
        hidden_size=draw(st.sampled_from([hidden, hidden, None])),
        clip=draw(st.sampled_from([None, 0.5, 3.0])) if not plain else None,
        **special,
        **(_activations(draw, operator, directions) if not plain else {}),
    )


def _linear_attention(draw: st.DrawFn) -> Sample:
    kind = draw(st.sampled_from(kinds_of("LinearAttention", 27)))
    rule = draw(st.sampled_from([None, "linear", "gated", "delta", "gated_delta"]))
    batch, steps, shared, group, d_k, d_v = (draw(st.integers(1, n)) for n in (3, 5, 3, 3, 4, 4))
    gated, delta = rule in (None, "gated", "gated_delta"), rule in (None, "delta", "gated_delta")
    decays = shared * draw(st.sampled_from([1, d_k]))
    rates = draw(st.sampled_from([1, shared]))
    return call(
        "LinearAttention",
        [
            array(draw, (batch, steps, shared * group * d_k), kind),
            array(draw, (batch, steps, shared * d_k), kind, -1, 1),
            array(draw, (batch, steps, shared * d_v), kind),
            array(draw, (batch, shared, d_k, d_v), kind) if draw(st.booleans()) else None,
            array(draw, (batch, steps, decays), kind, -2, 0) if gated else None,
            array(draw, (batch, steps, rates), kind, 0, 1) if delta else None,
        ],
        version=27,
        outputs=2,
        q_num_heads=shared * group,
        kv_num_heads=shared,
        scale=draw(st.sampled_from([None, 0.0, 0.5])),
        update_rule=rule,
        chunk_size=draw(st.sampled_from([None, 1, 2])),
    )


def _causal_conv(draw: st.DrawFn) -> Sample:
    kind = draw(st.sampled_from(kinds_of("CausalConvWithState", 27)))
    batch, channels, length, kernel = (draw(st.integers(1, n)) for n in (3, 3, 6, 4))
    return call(
        "CausalConvWithState",
        [
            array(draw, (batch, channels, length), kind, -2, 2),
            array(draw, (channels, 1, kernel), kind, -1, 1),
            array(draw, (channels,), kind, -1, 1) if draw(st.booleans()) else None,
            array(draw, (batch, channels, kernel - 1), kind, -2, 2) if draw(st.booleans()) else None,
        ],
        version=27,
        outputs=2,
        activation=draw(st.sampled_from([None, "none", "silu", "swish"])),
    )


DRAW: Mapping[str, Callable[[st.DrawFn], Sample]] = {
    **{name: functools.partial(_layer, name) for name in GATES},
    "LinearAttention": _linear_attention,
    "CausalConvWithState": _causal_conv,
}
