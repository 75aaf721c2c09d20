"""Attention: with all scores at once, and online over blocks of keys."""

from __future__ import annotations

import functools

import numpy as np

from reference.node import Array, Node
from tests.verification.correct.kind import Implementation
from tests.verification.correct.normal import exponential
from tests.verification.orders import sum_products, sum_terms
from tests.verification.units import Unit, add, convert, divide, multiply, round_to, store, subtract


def _scores(node: Node, unit: Unit, order: str, scaled: str) -> tuple[Array, Array]:
    """(scores after the causal mask, values) of Q, K, V (batch, heads, length, size); the scale goes to the scores, to Q, or
    its root to Q and K."""
    q, k, v = (convert(node.real(i), unit) for i in range(3))
    scale = node.attribute("scale", None)
    scale = 1 / np.sqrt(q.shape[-1]) if scale is None else scale
    factor = round_to(np.asarray(np.sqrt(scale) if scaled == "both" else scale), unit.precision, "nearest", unit.emin)
    if scaled in ("queries", "both"):
        q = multiply(q, factor, unit)
    if scaled == "both":
        k = multiply(k, factor, unit)
    scores = sum_products(q, k.swapaxes(2, 3), unit, order)
    if scaled == "scores":
        scores = multiply(scores, factor, unit)
    if node.attribute("is_causal", 0):
        rows, columns = scores.shape[2:]
        scores = np.where(np.arange(columns) <= np.arange(rows)[:, None], scores, -np.inf)
    return scores, v


def naive(node: Node, unit: Unit, order: str = "chain", scaled: str = "both") -> list[Array]:
    """Scores, softmax, and probabilities times values."""
    scores, v = _scores(node, unit, order, scaled)
    e = exponential(subtract(scores, scores.max(-1, keepdims=True), unit), unit)
    total = sum_terms(np.moveaxis(e, -1, 0), unit, order)[..., None]
    return [store(sum_products(divide(e, total, unit), v, unit, order), node.output_types[0], unit)]


def online(node: Node, unit: Unit, block: int = 5, order: str = "chain") -> list[Array]:
    """Blocks of keys: sums and outputs are rescaled whenever the maximum grows (Dao and others, FlashAttention, 2022)."""
    scores, v = _scores(node, unit, order, "scores")
    largest = np.full((*scores.shape[:-1], 1), -np.inf)
    total, y = np.zeros_like(largest), np.zeros((*scores.shape[:-1], v.shape[-1]))
    for start in range(0, scores.shape[-1], block):
        part = scores[..., start : start + block]
        grown = np.maximum(largest, part.max(-1, keepdims=True))
        kept = exponential(subtract(largest, grown, unit), unit)
        e = exponential(subtract(part, grown, unit), unit)
        total = add(multiply(total, kept, unit), sum_terms(np.moveaxis(e, -1, 0), unit, order)[..., None], unit)
        y = add(multiply(y, kept, unit), sum_products(e, v[:, :, start : start + block], unit, order), unit)
        largest = grown
    return [store(divide(y, total, unit), node.output_types[0], unit)]


IMPLEMENTATIONS: dict[str, dict[str, Implementation]] = {
    "Attention": {
        **{f"naive, {order}": functools.partial(naive, order=order) for order in ("chain", "pairwise", "fma", "simd8")},
        **{f"naive, scale on {scaled}": functools.partial(naive, scaled=scaled) for scaled in ("scores", "queries")},
        "online": online,
        "online, one key": functools.partial(online, block=1),
        "online, fma": functools.partial(online, block=8, order="fma"),
    }
}
"""Operator → algorithm → implementation."""
