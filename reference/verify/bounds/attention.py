"""EXPLICIT bounds of Attention and RotaryEmbedding (ai.onnx), and of the weighted mean that all attention operators share.

Scores s_j = scale·Σ q·k err by what a sum of products errs, softcap and mask pass that on, exp turns an absolute error into a
relative one, A_j. The result Σ p_j·v_j of probabilities p then errs by Σ p_j·A_j·|v_j| for the weights, |O|·Σ p_j·A_j for
their sum, and by the roundings of the weighted sum. Any algorithm is covered: scores as a tensor or in blocks with an online
softmax; the scale on q, on the scores, or as a root on q and on k; probabilities divided before or after the weighted sum.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import numpy as np

from reference import dtypes, evaluator
from reference.node import Array, Node
from reference.ops.attention import PRECISIONS, attention_steps, merge_heads, shared_product
from reference.verify.bounds import functions, softmax, sum_error
from reference.verify.bounds.running_error import Computed, apply, settled
from reference.verify.setting import Setting

SCALE = 4.0
"""Roundings of 1/√d and its root, constants that are computed once, as an error of the scores. ONNX's function body computes
them in float32 whatever the type."""

LOST = 4.0
"""Weights below this many u may vanish in a sum of random data."""


@dataclasses.dataclass(frozen=True)
class Heads:
    """What an attention multiplies: q (batch, heads, rows, size), k and v (batch, shared heads, columns, size)."""

    q: Computed
    k: Computed
    v: Computed
    scale: float


def scores(heads: Heads, setting: Setting) -> Computed:
    """scale·Σ q·k."""
    q, k = heads.q, heads.k
    size = abs(heads.scale) * shared_product(q.size, k.size.swapaxes(2, 3))
    value = heads.scale * shared_product(q.value, k.value.swapaxes(2, 3))
    brought = shared_product(np.abs(q.value), k.error.swapaxes(2, 3)) + shared_product(q.error, k.size.swapaxes(2, 3))
    roundings = q.value.shape[3] + 2
    error = abs(heads.scale) * brought + sum_error.random_walk(roundings, setting) * size + roundings * setting.eta * (size > 0)
    error = error + (2 * setting.u_in + setting.u_in**2) * size + setting.u_storage * np.abs(value)
    rooted = np.sqrt(np.float32(abs(heads.scale))).astype(np.float64) ** 2 == abs(heads.scale)
    single = setting.u if rooted else max(setting.u, 2.0**-24)
    error = error + (SCALE * single + 2 * setting.u_attribute) * np.abs(value)
    if setting.eta_in:
        columns = abs(heads.scale) * setting.eta_in
        error = error + columns * (q.size.sum(-1)[..., None] + _shared(k.size.sum(-1), heads)[..., None, :])
    open_ = size * max(1.0, 1 / abs(heads.scale or 1.0)) > dtypes.FLOATS[setting.arithmetic.compute].largest
    return settled(setting, value, np.where(open_, np.inf, error))


def _shared(x: Array, heads: Heads) -> Array:
    """(batch, shared heads, …) for every head that uses it."""
    return np.repeat(x, heads.q.value.shape[1] // max(1, x.shape[1]), axis=1)


def capped(x: Computed, softcap: float, setting: Setting) -> Computed:
    """softcap·tanh(x/softcap)."""
    if not softcap:
        return x
    u, c = setting.u, 2 * functions.ulps("Div", setting) * setting.u + setting.u_attribute

    def function(points: Array) -> tuple[Array, Array]:
        z = points / softcap
        y = np.tanh(z)
        own = functions.function_error("Tanh", y, setting)
        return softcap * y, abs(softcap) * (own + (u + setting.u_attribute) * np.abs(y) + c * np.abs(z) * (1 - y * y))

    return apply(function, x)


def biased(x: Computed, setting: Setting, *biases: Array) -> Computed:
    """x + biases, in any order; -inf closes a key."""
    with np.errstate(invalid="ignore"):
        sizes = sum((np.abs(bias) for bias in biases), np.zeros(()))
        value = x.value + sum(biases, np.zeros(()))
        added = (sizes != 0) * (len(biases) * setting.u * (x.size + sizes) + setting.u_in * sizes)
        error = x.error + added + setting.u_storage * np.abs(value)
        return settled(setting, value, np.where(np.isfinite(value), error, 0.0))


@dataclasses.dataclass(frozen=True)
class Weighted:
    """Bounds of the probabilities (batch, heads, rows, columns) and of their weighted sums (batch, heads, rows, size)."""

    probabilities: Array
    output: Array


def weighted(logits: Computed, v: Computed, output: Array, closed: Array, setting: Setting) -> Weighted:
    """Softmax of the logits along the last axis, and the mean of v that it weighs; `closed` rows (…, 1) give 0 exactly."""
    u = setting.u
    inside = softmax.exponentials(logits.value, (-1,), setting, np.where(np.isfinite(logits.value), logits.error, 0.0))
    with np.errstate(all="ignore"):
        p = inside.probability
        divided = (2 * functions.ulps("Div", setting) + 3) * u + setting.u_storage
        seen = np.count_nonzero(p, axis=-1, keepdims=True)
        numerator = p * inside.relative + inside.least / inside.total * (p > 0)
        size = shared_product(p + numerator, np.abs(v.value))
        kept = shared_product(numerator, np.abs(v.value)) + shared_product(p + numerator, v.error)
        conversions = 2 * setting.u_in + setting.u_in**2
        sums = sum_error.random_walk(seen + 1, setting) + inside.rescaled + divided + conversions
        lost = setting.eta_in * (shared_product(np.ones_like(p), np.abs(v.value)) + 1)
        core = kept + sums * size + np.abs(output) * inside.in_sum + seen * setting.eta + lost
        if sum_error.walks(setting):  # weights that are lost whole
            core = core + shared_product(np.where(p < LOST * u, p, 0.0), np.abs(v.value))
        core = np.where(inside.in_sum < 1, core / (1 - inside.in_sum), np.nan)
        lonely = softmax.probability_error(inside, setting) + (setting.u_storage + setting.u_in) * p
        # A row that may overflow, upwards or to nothing but -inf, is open.
        lowest = inside.maximum - np.where(np.isfinite(logits.error), logits.error, 0.0).max(-1, keepdims=True, initial=0.0)
        open_ = np.isinf(logits.error).any(-1, keepdims=True)
        open_ |= np.isfinite(inside.maximum) & (lowest < -dtypes.FLOATS[setting.arithmetic.compute].largest)
        core, lonely = np.where(open_, np.inf, core), np.where(open_, np.inf, lonely)
    return Weighted(np.where(closed, 0.0, lonely), np.where(closed, 0.0, core))


def softmax_setting(node: Node, setting: Setting) -> tuple[Setting, float]:
    """The unit that `softmax_precision` allows, and the roundoff of the conversion to it; a wider type than the unit's own
    format changes nothing here: the unit is what is declared."""
    named = PRECISIONS.get(node.attribute("softmax_precision", 0), "float64")
    if dtypes.FLOATS[named].unit_roundoff <= dtypes.FLOATS[setting.arithmetic.compute].unit_roundoff:
        return setting, 0.0
    narrow = dataclasses.replace(setting.arithmetic, compute=named, bits=None)
    return dataclasses.replace(setting, arithmetic=narrow), 2 * dtypes.FLOATS[named].unit_roundoff


def attention(node: Node, setting: Setting) -> list[Array]:
    """Attention-23, -24: Y, the present keys and values, which are copies, and the scores of `qk_matmul_output_mode`."""
    mode = node.attribute("qk_matmul_output_mode", 0)
    attributes = {k: v for k, v in node.attributes.items() if k != "qk_matmul_output_mode"}
    with np.errstate(all="ignore"):
        steps = attention_steps(*node.inputs, short_masks=node.version >= 24, dtypes=node.types, **attributes)  # type: ignore[arg-type]
        zeros = (np.zeros(x.shape) for x in (steps.q, steps.k, steps.v))
        q, k, v = (Computed(x, z) for x, z in zip((steps.q, steps.k, steps.v), zeros, strict=True))
        found = scores(Heads(q, k, v, steps.scale), setting)
        cap = capped(found, float(node.attribute("softcap", 0.0)), setting)
        bias = np.where(np.isneginf(steps.logits), -np.inf, steps.logits - steps.capped)
        logits = biased(cap, setting, bias)
        inner, converted = softmax_setting(node, setting)
        rounded = Computed(logits.value, logits.error + converted * np.where(np.isfinite(logits.value), logits.size, 0.0))
        closed = (steps.probabilities == 0).all(-1, keepdims=True)
        result = weighted(rounded, v, steps.y, closed, inner)
    packed = node.inputs[0] is not None and node.inputs[0].ndim == 3
    shown = (found.error, cap.error, logits.error, result.probabilities)[mode]
    y = merge_heads(result.output) if packed else result.output
    return [y, np.zeros(steps.k.shape), np.zeros(steps.v.shape), shown]


def turned(evaluate: Callable[[Array, Array, Array], Array], x: Array, cos: Array, sin: Array, setting: Setting) -> Array:
    """Bound of the rotation `evaluate` of x by angles: |a·cos| + |b·sin| of every element that is turned, 0 of the others."""
    size = np.maximum(*(evaluate(np.abs(x), np.abs(cos), sign * np.abs(sin)) for sign in (1.0, -1.0)))
    still = evaluate(np.ones_like(x), np.zeros_like(cos), np.zeros_like(sin)) != 0
    bound = (setting.gamma(2) + 2 * setting.u_in) * size + 2 * setting.eta + 2 * setting.eta_in
    return np.where(still | ~np.isfinite(size), 0.0, bound)


def rotary_embedding(node: Node, setting: Setting) -> list[Array]:
    """RotaryEmbedding of both domains: pairs (a·cos − b·sin, a·sin + b·cos)."""
    at = (1, 2) if node.domain in ("", "ai.onnx") else (2, 3)

    def evaluate(x: Array, cos: Array, sin: Array) -> Array:
        given = {0: x, at[0]: cos, at[1]: sin}
        inputs = [given.get(i, old) for i, old in enumerate(node.inputs)]
        y = evaluator.apply(node.operator, node.version, inputs, node.attributes, domain=node.domain, types=node.types)
        return np.asarray(y[0])

    return [turned(evaluate, node.real(0), node.real(at[0]), node.real(at[1]), setting)]
