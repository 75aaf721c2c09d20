"""EXPLICIT bounds of the normalisations: layer, RMS, instance, group, batch, mean-variance (docs/numerics.md).

Moments may come from two passes, from Welford's updates, or from one pass as E[x²] − μ². ONNX forbids none of them, so the
bounds hold for one pass too, which costs much where |μ| is large against the deviation: the variance may then be off by
3·a(N)·μ², and where that exceeds V + ε no digit is left and the elements are open. Data with means near zero decide.
"""

from __future__ import annotations

import dataclasses
import math

import numpy as np

from reference import ingredients
from reference.dtypes import FLOATS
from reference.node import Array, Node
from reference.verify.bounds import sum_error
from reference.verify.bounds.functions import ulps
from reference.verify.setting import Setting


@dataclasses.dataclass(frozen=True)
class Moments:
    """Errors of the moments over some axes, which have length 1. deviation: of 1/√(V + ε), relative; root: that value; open:
    where Σx² may overflow or one pass loses all digits of V + ε."""

    mean: Array
    variance: Array
    mean_error: Array
    variance_error: Array
    root: Array
    deviation: Array
    open: Array


def moments(
    x: Array, axes: tuple[int, ...], epsilon: float, setting: Setting, *, centred: bool = True, error: Array | float = 0.0
) -> Moments:
    """Moments of x, whose elements may have an absolute error already; not `centred`: μ = 0 and V is the mean of x²."""
    u, inside = setting.u, ingredients.moments(x, axes)
    terms = float(inside["terms"])
    with np.errstate(all="ignore"):
        given = error + setting.u_in * np.where(np.isfinite(x), np.abs(x), 0.0) + setting.eta_in * (x != 0)
        mean = inside["mean"] if centred else np.zeros_like(inside["mean"])
        v = inside["variance"] if centred else inside["mean_square"]
        d_mean = np.zeros_like(mean)
        if centred:
            a = sum_error.relative_error(np.abs(x), axes, setting)
            d_mean = (a + 2 * u) * inside["mean_magnitude"] + _mean(np.broadcast_to(given, x.shape), axes)
        squares = sum_error.relative_error(x * x, axes, setting, x)
        d_v = (squares + 6 * u) * v + d_mean**2 + 2 * setting.eta
        d_v = d_v + 2 * _mean(np.abs(x - mean) * given, axes) + _mean(given * given + np.zeros_like(x), axes)
        if centred:
            d_v = d_v + (squares + 4 * u) * (v + mean**2) + 2 * np.abs(mean) * d_mean
        lost = d_v / (v + epsilon)
        rounded = 2 * (ulps("Sqrt", setting) + ulps("Div", setting)) * u + u
        q = np.where(lost < 1, 1 / np.sqrt(1 - np.minimum(lost, 1.0)), np.inf) * (1 + rounded) - 1
        finite = np.where(np.isfinite(x), x, 0.0)
        large = (finite * finite).sum(axes, keepdims=True) > FLOATS[setting.arithmetic.compute].largest
        open_ = large | (lost >= 1)
    return Moments(mean, v, d_mean, d_v, 1 / np.sqrt(v + epsilon), np.where(np.isnan(lost), np.nan, q), open_ & (terms > 0))


def _mean(x: Array, axes: tuple[int, ...]) -> Array:
    return np.asarray(x.sum(axes, keepdims=True) / max(1, math.prod(x.shape[a] for a in axes)))


def normalised(
    x: Array,
    axes: tuple[int, ...],
    gain: Array,
    epsilon: float,
    y: Array,
    setting: Setting,
    *,
    centred: bool = True,
    error: Array | float = 0.0,
) -> Array:
    """Bound of y = gain·(x − μ)/√(V + ε) + shift with moments over `axes`, as it stands or folded into a·x + c; infinite where
    `Moments.open`. error: what the elements of x have already."""
    u, found = setting.u, moments(x, axes, epsilon, setting, centred=centred, error=error)
    with np.errstate(all="ignore"):
        d, q = x - found.mean, found.deviation
        d_x = u * np.abs(d) + error + setting.u_in * np.abs(x) + setting.eta_in * (x != 0)
        factor = np.abs(gain) * found.root
        scaled = factor * np.abs(d)
        core = factor * (found.mean_error + d_x) * (1 + q) + scaled * q
        y = np.where(np.isfinite(y), y, 0.0)
        core = core + (2 * u + 2 * setting.u_in) * scaled * (1 + q) + (u + 2 * setting.u_in) * np.abs(y)
        if centred:
            # Folded: a·x, a·μ and shift − a·μ are rounded.
            core = core + u * (factor * (np.abs(x) + 2 * np.abs(found.mean)) * (1 + q) + np.abs(y) + scaled)
        lost = setting.eta * (np.abs(d) + np.abs(gain) + 1)  # a product of two factors that underflows, times the third
        core = np.where(np.isfinite(x), np.where(core == 0, 0.0, core + lost), 0.0)
    return np.where(found.open, np.inf, core)


def layer_normalization(node: Node, setting: Setting) -> list[Array]:
    """LayerNormalization-17 and RMSNormalization-23; the optional outputs Mean and InvStdDev have bounds of their own."""
    x, gain = node.real(0), node.real(1)
    axes = tuple(range(int(node.attribute("axis", -1)) % x.ndim, x.ndim))
    epsilon = float(node.attribute("epsilon", 1e-5))
    centred = node.operator == "LayerNormalization"
    bounds = [normalised(x, axes, gain, epsilon, node.results[0], setting, centred=centred)]
    if len(node.results) > 1:
        found = moments(x, axes, epsilon, setting)
        bounds += [found.mean_error, np.where(found.open, np.inf, found.root * found.deviation)]
    return bounds


def instance_normalization(node: Node, setting: Setting) -> list[Array]:
    """InstanceNormalization: moments per sample and channel."""
    x, y = node.real(0), node.results[0]
    gain = node.real(1).reshape(1, -1, *[1] * (x.ndim - 2))
    bound = normalised(x, tuple(range(2, x.ndim)), gain, float(node.attribute("epsilon", 1e-5)), y, setting)
    return [bound]


def group_normalization(node: Node, setting: Setting) -> list[Array]:
    """GroupNormalization: moments per sample and group; scale per group in version 18, per channel from 21 on."""
    x, y, groups = node.real(0), node.results[0], int(node.attributes["num_groups"])
    n, c = x.shape[:2]
    grouped = x.reshape(n, groups, c // groups, -1)
    gain = node.real(1)
    gain = np.repeat(gain, c // groups) if gain.size == groups and node.version < 21 else gain
    gain = gain.reshape(1, groups, c // groups, 1)
    epsilon = float(node.attribute("epsilon", 1e-5))
    bound = normalised(grouped, (2, 3), gain, epsilon, y.reshape(grouped.shape), setting).reshape(x.shape)
    return [bound]


def mean_variance_normalization(node: Node, setting: Setting) -> list[Array]:
    """MeanVarianceNormalization-13: (x − μ)/(σ + 1e-9), as its function body says."""
    x, y = node.real(0), node.results[0]
    axes = tuple(int(a) % x.ndim for a in node.attribute("axes", [0, 2, 3]))
    return [normalised(x, axes, np.ones(()), 1e-18, y, setting)]


def _by_channel(parameter: Array, rank: int) -> Array:
    """(C), or (C, spatial) of BatchNormalization-7, from axis 1 on of a tensor of that rank; C is 1 for one axis."""
    return parameter.reshape((1, *parameter.shape, *[1] * (rank - 1 - parameter.ndim))) if rank > 1 else parameter


def batch_normalization(node: Node, setting: Setting) -> list[Array]:
    """Inference: (x − μ)·g/√(V + ε) + b as it stands, or folded into a·x + c."""
    x = node.real(0)
    before_14 = len(node.results) > 1 or (node.version < 7 and not node.attribute("is_test", 0))
    if node.attribute("training_mode", 0) if node.version >= 14 else before_14:
        if not node.attribute("spatial", 1):
            return [np.full(r.shape, np.nan) for r in node.results]  # opset below 9: no bound for a moment of each element
        return _batch_training(node, x, setting)
    gain, shift, mean, variance = (_by_channel(node.real(i), x.ndim) for i in range(1, 5))
    with np.errstate(all="ignore"):
        root = 1 / np.sqrt(variance + float(node.attribute("epsilon", 1e-5)))
        a = gain * root
        size = np.abs(a * x) + np.abs(a * mean) + np.abs(shift)
        finite = np.isfinite(x) & np.isfinite(gain) & np.isfinite(shift) & np.isfinite(mean) & np.isfinite(variance)
        difference = np.abs(x) + np.abs(mean)
        most = np.maximum(np.maximum(size, np.abs(a)), difference * np.maximum(1.0, root))
        open_ = finite & ~(most <= FLOATS[setting.arithmetic.compute].largest)  # a product or a difference may overflow
        size = np.where(np.isfinite(size), size, 0.0)
        lost = setting.eta * (
            np.where(np.isfinite(difference), difference, 0.0) + np.abs(gain) + np.abs(a) + 1
        )  # may underflow
    relative = (2 * (ulps("Sqrt", setting) + ulps("Div", setting)) + 8) * setting.u + 4 * setting.u_in
    return [np.where(open_, np.inf, np.where(size == 0, 0.0, relative * size + np.where(np.isfinite(lost), lost, 0.0)))]


def _batch_training(node: Node, x: Array, setting: Setting) -> list[Array]:
    """BatchNormalization-15 with training_mode: moments of the batch, and running means of both."""
    u, axes, y = setting.u, (0, *range(2, x.ndim)), node.results[0]
    epsilon = float(node.attribute("epsilon", 1e-5))
    bounds = [normalised(x, axes, _by_channel(node.real(1), x.ndim), epsilon, y, setting)]
    found = moments(x, axes, epsilon, setting)
    new = 1 - float(node.attribute("momentum", 0.9))
    errors = found.mean_error.reshape(-1), found.variance_error.reshape(-1)
    values = found.mean.reshape(-1), found.variance.reshape(-1)
    for old, value, error in zip((node.real(3), node.real(4)), values, errors, strict=True):
        size = abs(1 - new) * np.abs(old) + abs(new) * (np.abs(value) + error)
        bounds.append(abs(new) * error + (8 * u + 3 * setting.u_in) * size)
    bounds += [error + (4 * u + setting.u_in) * np.abs(value) for value, error in zip(values, errors, strict=True)]
    return bounds


def lp_normalization(node: Node, setting: Setting) -> list[Array]:
    """x/‖x‖ along one axis."""
    x = node.real(0)
    axis = int(node.attribute("axis", -1))
    n, form = x.shape[axis], FLOATS[setting.arithmetic.compute]
    rounded = (2 * (ulps("Sqrt", setting) + ulps("Div", setting)) + 4) * setting.u
    relative = setting.gamma(n + 1) + rounded + 4 * setting.u_in
    finite = np.where(np.isfinite(x), np.abs(x), 0.0)
    with np.errstate(over="ignore"):
        total = (finite if node.attribute("p", 2) == 1 else finite * finite).sum(axis, keepdims=True)
    lost = n * setting.eta  # squares may overflow or underflow
    with np.errstate(divide="ignore", invalid="ignore"):
        relative = relative + np.where(total > 0, lost / total, 0.0)
    open_ = (total * (1 + setting.gamma(n)) > form.largest) | ((total > 0) & (total < 4 * lost))
    return [np.where(open_, np.inf, relative * np.abs(node.results[0]))]


def lrn(node: Node, setting: Setting) -> list[Array]:
    """LRN: x/(bias + α/size·Σx²)^β by pow."""
    beta = float(node.attribute("beta", 0.75))
    size = int(node.attributes["size"])
    relative = 2 * ulps("Pow", setting) * setting.u + abs(beta) * setting.gamma(size + 4)
    bound = (relative + (2 * ulps("Div", setting) + 2) * setting.u + 4 * setting.u_in) * np.abs(node.results[0])
    finite = np.where(np.isfinite(node.real(0)), node.real(0), 0.0)
    with np.errstate(over="ignore"):
        overflows = (
            size * np.max(finite * finite, axis=1, keepdims=True, initial=0.0) > FLOATS[setting.arithmetic.compute].largest
        )
    return [np.where(overflows, np.inf, bound)]
