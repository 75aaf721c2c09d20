"""Elements that ONNX leaves open in layers with a state, in attention, losses and Dropout; see `reference.marks`."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from reference import dtypes
from reference.node import Array, Node
from reference.ops import contributed_attention
from reference.ops.recurrent import ACTIVATIONS

Mask = Array | None


def recurrence(node: Node) -> Sequence[Mask]:
    """RNN, GRU, LSTM: Y behind the end of a sequence and the final states of an empty one, of which the text says nothing;
    everything where an activation without alpha (or beta) may take an entry that another one then misses."""
    taken = [ACTIVATIONS[name][1] for name in node.attribute("activations", []) if name in ACTIVATIONS]
    for which in ("alpha", "beta"):
        takes = [which in names for names in taken]
        if node.attribute(f"activation_{which}", None) and any(takes) and not all(takes):
            return [np.ones(r.shape, bool) for r in node.results]
    batch_first = bool(node.attribute("layout", 0))
    steps, batch = node.real(0).shape[:2][:: -1 if batch_first else 1]
    given = node.inputs[4] if node.given(4) else None
    lengths = np.full(batch, steps) if given is None else given
    behind = np.arange(steps) >= lengths[:, None]
    in_y = behind[:, :, None, None] if batch_first else behind.T[:, None, :, None]
    in_state = (lengths == 0)[:, None, None] if batch_first else (lengths == 0)[:, None]
    return [in_y if r.ndim == 4 else in_state for r in node.results]


def mean_of_nothing(node: Node) -> Sequence[Mask]:
    """NegativeLogLikelihoodLoss and SoftmaxCrossEntropyLoss: the mean of no targets, 0/0 by the text, ReduceMean of an empty
    tensor by the function body, which is undefined."""
    empty = node.inputs[1] is not None and node.inputs[1].size == 0 and node.attribute("reduction", "mean") == "mean"
    return [np.ones((), bool) if empty else None]


def dropped(node: Node) -> Sequence[Mask]:
    """Dropout: while training with a ratio above 0 it is random what is dropped; before version 12 nothing says what the mask
    is where nothing is dropped."""
    if node.version < 12:
        training = node.version < 7 and not node.attribute("is_test", 0) and node.attribute("ratio", 0.5) > 0
    else:
        training = node.given(2) and bool(node.real(2)) and (not node.given(1) or float(node.real(1)) > 0)
    everything = np.ones(node.results[0].shape, bool)
    return [everything if training else None, everything if training or node.version < 12 else None]


def attention(node: Node) -> Sequence[Mask]:
    """Attention: a scale of 0 or less, whose root is asked for; NaN and infinities among keys or values that a mask may close;
    from version 24 on a mask whose last axis of length 1 broadcasts or goes on with -inf; a finite mask that is none in a
    narrower softmax_precision."""
    mask = node.inputs[3] if node.given(3) else None
    keys = [x for x in (*node.inputs[1:3], *node.inputs[4:6]) if x is not None]
    narrow = dtypes.FLOATS.get(dtypes.NAMES.get(node.attribute("softmax_precision", 0), ""))
    limited = mask is not None or node.given(6) or node.attribute("is_causal", 0)
    limited = limited or max(node.attribute("left_window_size", -1), node.attribute("right_window_size", -1)) >= 0
    total = keys[0].shape[-2] + (keys[2].shape[2] if node.given(4) else 0)
    marked = (
        (node.attribute("scale", None) is not None and node.attribute("scale", None) <= 0)
        or (limited and not all(np.isfinite(x).all() for x in keys))
        or (node.version >= 24 and mask is not None and mask.ndim > 0 and mask.shape[-1] == 1 and total > 1)
        or (narrow is not None and mask is not None and bool((np.isfinite(mask) & (np.abs(mask) > narrow.largest)).any()))
    )
    return [np.ones((), bool) if marked and i in (0, 3) else None for i in range(len(node.results))]


def padding(node: Node) -> Sequence[Mask]:
    """GroupQueryAttention: output and score rows of padding, and cache rows behind the last token that is kept."""
    rows, total = node.real(0).shape[1], node.real(5).reshape(-1).astype(np.int64) + 1
    new = node.inputs[16] if node.given(16) else np.minimum(rows, total)
    assert new is not None
    behind = np.arange(rows) >= new[:, None]
    kept = total
    if node.attribute("sliding_window_cache", 0):
        kept = contributed_attention.resident(total, node.real(3).shape[2], int(node.attributes["local_window_size"]))
    cache = node.results[1].shape[2] if len(node.results) > 1 else 0
    unused = (np.arange(cache) >= kept[:, None])[:, None, :, None]
    return [behind[:, :, None], unused, unused, behind[:, None, :, None]]
