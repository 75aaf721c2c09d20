"""EXPLICIT bounds: softmax, normalisations, activations and other compositions, one formula per operator.

Every formula bounds |computed − real| for any sensible evaluation order in a unit of roundoff u (docs/numerics.md derives
them). c_* are the limits of the elementary functions in ulp, k_t the roundings of an argument before exp.
"""

from __future__ import annotations

import numpy as np

from reference import ingredients
from reference.dtypes import FLOATS, is_float, quantum
from reference.node import Array, Node
from reference.verify.functions import ULPS, conversion
from reference.verify.setting import Setting

K_T = 3.0


def _c(operator: str, setting: Setting) -> float:
    return ULPS[operator][setting.half]


def _root(setting: Setting) -> float:
    """c_r: division, square root and reciprocal square root."""
    return _c("Div", setting)


def _with_conversion(node: Node, setting: Setting, error: Array) -> list[Array]:
    return [error + conversion(node, setting)] if setting.u_in else [error]


def sigmoid(node: Node, setting: Setting) -> list[Array]:
    """Sigmoid as 1/(1+exp(−x)), or by tanh or a rational function, which have an absolute error."""
    x, y = node.real(0), node.results[0]
    return _with_conversion(node, setting, _sigmoid(x, y, setting))


def _sigmoid(x: Array, y: Array, setting: Setting) -> Array:
    u = setting.u
    return y * ((1 - y) * (2 * _c("Exp", setting) + K_T * np.abs(x)) + 2 * _root(setting) + 2) * u + 4 * u


def swish(node: Node, setting: Setting) -> list[Array]:
    """Swish (SiLU): x·sigmoid(αx)."""
    x, y = node.real(0), node.results[0]
    z = float(node.attribute("alpha", 1.0)) * x
    s = 0.5 * (1 + np.tanh(z / 2))
    error = np.abs(x) * _sigmoid(z, s, setting) + 2 * setting.u * np.abs(y)
    if "alpha" in node.attributes:
        error = error + setting.u_attribute * np.abs(z) * np.abs(y)
    return _with_conversion(node, setting, error)


def exponential_unit(node: Node, setting: Setting) -> list[Array]:
    """Elu, Selu, Celu: a·(exp(x/b) − 1) on the negative side, a product on the positive one."""
    u, x, y = setting.u, node.real(0), node.results[0]
    alpha = float(node.attribute("alpha", 1.67326319217681884765625 if node.operator == "Selu" else 1.0))
    gain = float(node.attribute("gamma", 1.05070102214813232421875)) if node.operator == "Selu" else 1.0
    t = x / alpha if node.operator == "Celu" else x
    e = np.exp(np.minimum(t, 0))
    scale = abs(alpha * gain)
    negative = scale * ((2 * _c("Exp", setting) + K_T * np.abs(np.minimum(t, 0))) * u * e + u) + 4 * u * np.abs(y)
    positive = (0.0 if gain == 1 else 3 * u) * np.abs(y)
    # alpha, gamma: a factor each; Celu's alpha also divides the argument.
    held = setting.u_attribute * (2 + np.abs(np.minimum(t, 0))) * np.abs(y)
    positive = positive if gain == 1 else positive + held
    return _with_conversion(node, setting, np.where(x > 0, positive, negative + held))


def _softplus(x: Array, y: Array, setting: Setting) -> Array:
    """log(1 + exp(x)): exp's error weighted by the derivative, the rounding of 1 + e, and log's own."""
    s = 0.5 * (1 + np.tanh(x / 2))
    return (2 * _c("Exp", setting) * s + 1 + (2 * _c("Log", setting) + 2) * np.abs(y)) * setting.u


def softplus(node: Node, setting: Setting) -> list[Array]:
    return _with_conversion(node, setting, _softplus(node.real(0), node.results[0], setting))


def mish(node: Node, setting: Setting) -> list[Array]:
    """x·tanh(softplus(x))."""
    u, x, y = setting.u, node.real(0), node.results[0]
    p = np.logaddexp(0, x)
    t = np.tanh(p)
    error = np.abs(x) * ((1 - t * t) * _softplus(x, p, setting) + 2 * _c("Tanh", setting) * u * t) + 2 * u * np.abs(y)
    return _with_conversion(node, setting, error)


def softsign(node: Node, setting: Setting) -> list[Array]:
    """x/(1 + |x|)."""
    return _with_conversion(node, setting, (2 * _root(setting) + 2) * setting.u * np.abs(node.results[0]))


def hard_sigmoid(node: Node, setting: Setting) -> list[Array]:
    """max(0, min(1, αx + β)): attributes rounded to the tensor's type, a product and a sum."""
    x, u = node.real(0), setting.u
    alpha, beta = float(node.attribute("alpha", 0.2)), float(node.attribute("beta", 0.5))
    own = quantum(np.asarray(1.0), setting.dtype) if is_float(setting.dtype) else 0.0
    linear = np.abs(alpha * x) + abs(beta)
    error = (2 * u + 0.5 * own) * linear + u * np.abs(alpha * x + beta)
    saturated = np.abs(alpha * x + beta - 0.5) > 0.5 + error
    return _with_conversion(node, setting, np.where(saturated, 0.0, error))


def hard_swish(node: Node, setting: Setting) -> list[Array]:
    """x·max(0, min(1, x/6 + 1/2)), or x·relu6(x + 3)/6."""
    x, y, u = node.real(0), node.results[0], setting.u
    inner = (3 * np.abs(x) / 6 + 1) * u
    error = np.where(np.abs(x) > 3 + 8 * u, 0.0, np.abs(x) * inner) + 3 * u * np.abs(y)
    error = np.where(6 * np.abs(x) > FLOATS[setting.arithmetic.compute].largest, np.inf, error)  # x·relu6(x + 3) overflows
    return _with_conversion(node, setting, error)


def gelu(node: Node, setting: Setting) -> list[Array]:
    """Gelu by erf or by the tanh approximation, as the attribute says."""
    u, x, y = setting.u, node.real(0), node.results[0]
    inside = ingredients.of(node)
    z, f = inside["argument"], inside["function"]
    if node.attribute("approximate", "none") == "tanh":
        inner = 2 * _c("Tanh", setting) * u * np.abs(f) + 6 * u * np.abs(z) * (1 - f * f) + u * (1 + np.abs(f))
    else:
        slope = 2 / np.sqrt(np.pi) * np.exp(-z * z)
        inner = 2 * _c("Erf", setting) * u * np.abs(f) + 2 * u * np.abs(z) * slope + u * (1 + np.abs(f))
    with np.errstate(invalid="ignore"):
        error = np.abs(x) / 2 * inner + 3 * u * np.abs(y)
    return _with_conversion(node, setting, np.nan_to_num(error, nan=0.0, posinf=np.inf))


def softmax(node: Node, setting: Setting) -> list[Array]:
    """Softmax and LogSoftmax with the maximum subtracted, in one pass (online) or two."""
    u, x = setting.u, node.real(0)
    if x.size == 0:
        return [np.zeros(node.results[0].shape)]
    axes = ingredients.softmax_axes(node)
    n = float(np.prod([x.shape[a] for a in axes]))
    inside = ingredients.of(node)
    m, t, s, p = (inside[name] for name in ("maximum", "shifted", "sum", "probability"))
    with np.errstate(all="ignore"):
        h = (K_T * np.abs(t) + 2 * _c("Exp", setting)) * u + 2 * setting.u_in * np.maximum(np.abs(x), np.abs(m))
        spread = (p * np.where(p == 0, 0.0, h)).sum(axes, keepdims=True)
        least = max(setting.eta, _c("Exp", setting) * FLOATS[setting.arithmetic.compute].smallest_subnormal)  # exp underflows
        common = spread + setting.gamma(n) + (2 * _c("Exp", setting) + 1) * (1 + np.log(n)) * u + n * least
        if node.operator == "Softmax":
            bound = p * (np.where(p == 0, 0.0, h) + common + (2 * _root(setting) + 2) * u) + least / s
        else:
            y = t - np.log(s)
            bound = u * (np.abs(t) + np.abs(y)) + common + 2 * _c("Log", setting) * u * np.abs(np.log(s))
            bound = bound + u * (np.abs(x) + np.abs(m + np.log(s))) + 2 * setting.u_in * np.maximum(np.abs(x), np.abs(m))
    return [np.nan_to_num(bound, nan=0.0, posinf=np.inf)]


def _normalised(
    x: Array,
    axes: tuple[int, ...],
    gain: Array,
    epsilon: float,
    y: Array,
    setting: Setting,
    *,
    centred: bool = True,
) -> Array:
    """Bound of gain·(x − μ)/√(V + ε) + shift with moments over `axes`, in one pass or two; infinite where Σx² overflows, and
    where one pass loses all digits of V + ε."""
    u, c_r = setting.u, _root(setting)
    inside = ingredients.moments(x, axes)
    a = setting.gamma(inside["terms"]) + setting.u_in
    mean = inside["mean"] if centred else np.zeros_like(inside["mean"])
    d_mean = (a + 2 * u) * inside["mean_magnitude"] if centred else np.zeros_like(mean)
    d = x - mean
    v = inside["variance"] if centred else inside["mean_square"]
    d_v = (a + 6 * u) * v + d_mean**2 + 2 * setting.u_in * v + 2 * setting.eta_in * np.sqrt(v)
    if centred:
        d_v = d_v + (a + 4 * u) * (v + mean**2) + 2 * np.abs(mean) * d_mean
    with np.errstate(divide="ignore", invalid="ignore"):
        q = d_v / (2 * (v + epsilon)) + (2 * c_r + 2) * u
        q = q * (1 + 2 * q)
        s = np.sqrt(v + epsilon)
        normal = d / s
        d_x = u * np.abs(d) + setting.u_in * np.abs(x) + 2 * setting.eta_in
        core = np.abs(gain) * ((d_mean + d_x) / s * (1 + q) + np.abs(normal) * q)
        scaled = np.abs(gain * normal)
        y = np.where(np.isfinite(y), y, 0.0)
        # The shift may be added to −gain·μ/s first: its rounding counts like the result's.
        core = core + 2 * u * scaled + u * np.abs(y) + u * (np.abs(y) + scaled) + 2 * setting.u_in * (scaled + np.abs(y))
        finite = np.where(np.isfinite(x), x, 0.0)
        overflows = (finite * finite).sum(axes, keepdims=True) > FLOATS[setting.arithmetic.compute].largest
        cancels = centred and 4 * u * (v + mean**2) > v + epsilon  # a mean of squares less a square may be −ε
    core = np.nan_to_num(np.asarray(core), nan=0.0, posinf=np.inf)
    return np.where(overflows | cancels, np.inf, core)


def layer_normalization(node: Node, setting: Setting) -> list[Array]:
    """LayerNormalization-17 and RMSNormalization-23; the optional outputs Mean and InvStdDev have bounds of their own."""
    x, gain, y = node.real(0), node.real(1), node.results[0]
    axis = int(node.attribute("axis", -1)) % x.ndim
    axes = tuple(range(axis, x.ndim))
    epsilon = float(node.attribute("epsilon", 1e-5))
    centred = node.operator == "LayerNormalization"
    bounds = [_normalised(x, axes, gain, epsilon, y, setting, centred=centred)]
    u, n = setting.u, float(np.prod([x.shape[a] for a in axes]))
    if len(node.results) > 1:
        bounds.append((setting.gamma(n) + 2 * u + setting.u_in) * ingredients.moments(x, axes)["mean_magnitude"])
    if len(node.results) > 2:
        unit = np.ones_like(x)
        whole = _normalised(x, axes, unit, epsilon, unit, setting)
        bounds.append(np.abs(node.results[2]) * whole.max(axes, keepdims=True, initial=0.0))
    return bounds


def instance_normalization(node: Node, setting: Setting) -> list[Array]:
    """InstanceNormalization: moments per sample and channel."""
    x, y = node.real(0), node.results[0]
    gain = node.real(1).reshape(1, -1, *[1] * (x.ndim - 2))
    return [_normalised(x, tuple(range(2, x.ndim)), gain, float(node.attribute("epsilon", 1e-5)), y, setting)]


def group_normalization(node: Node, setting: Setting) -> list[Array]:
    """GroupNormalization: moments per sample and group; scale per group in version 18, per channel from 21 on."""
    x, y, groups = node.real(0), node.results[0], int(node.attributes["num_groups"])
    n, c = x.shape[:2]
    grouped = x.reshape(n, groups, c // groups, -1)
    gain = node.real(1)
    gain = np.repeat(gain, c // groups) if gain.size == groups and node.version < 21 else gain
    gain = gain.reshape(1, groups, c // groups, 1)
    epsilon = float(node.attribute("epsilon", 1e-5))
    return [_normalised(grouped, (2, 3), gain, epsilon, y.reshape(grouped.shape), setting).reshape(x.shape)]


def mean_variance_normalization(node: Node, setting: Setting) -> list[Array]:
    """MeanVarianceNormalization-13: (x − μ)/(σ + 1e-9), as its function body says."""
    x, y = node.real(0), node.results[0]
    axes = tuple(int(a) % x.ndim for a in node.attribute("axes", [0, 2, 3]))
    return [_normalised(x, axes, np.ones(()), 1e-18, y, setting)]


def _by_channel(parameter: Array, rank: int) -> Array:
    """(C) along axis 1 of a tensor of that rank; C is 1 for one axis."""
    return parameter.reshape(1, -1, *[1] * (rank - 2)) if rank > 1 else parameter


def batch_normalization(node: Node, setting: Setting) -> list[Array]:
    """Inference: (x − μ)·g/√(V + ε) + b as it stands, or folded into a·x + c."""
    x = node.real(0)
    if not node.attribute("spatial", 1):
        return [np.full(r.shape, np.nan) for r in node.results]  # opset below 9: no bound for parameters of each element
    before_14 = len(node.results) > 1 or (node.version < 7 and not node.attribute("is_test", 0))
    if node.attribute("training_mode", 0) if node.version >= 14 else before_14:
        return _batch_training(node, x, setting)
    gain, shift, mean, variance = (_by_channel(node.real(i), x.ndim) for i in range(1, 5))
    a = gain / np.sqrt(variance + float(node.attribute("epsilon", 1e-5)))
    size = np.abs(a * x) + np.abs(a * mean) + np.abs(shift)
    size = np.where(np.isfinite(size), size, 0.0)
    return [((2 * _root(setting)) * 2 + 8) * setting.u * size + 4 * setting.u_in * size]


def _batch_training(node: Node, x: Array, setting: Setting) -> list[Array]:
    """BatchNormalization-15 with training_mode: moments of the batch, and running means of both."""
    u, axes, y = setting.u, (0, *range(2, x.ndim)), node.results[0]
    gain, inside = _by_channel(node.real(1), x.ndim), ingredients.moments(x, axes)
    bounds = [_normalised(x, axes, gain, float(node.attribute("epsilon", 1e-5)), y, setting)]
    new = 1 - float(node.attribute("momentum", 0.9))
    relative = setting.gamma(inside["terms"]) + 10 * u + 3 * setting.u_in
    magnitude, variance = (inside[name].reshape(-1) for name in ("mean_magnitude", "variance"))
    sizes = magnitude, variance + magnitude**2
    for old, size in zip((node.real(3), node.real(4)), sizes, strict=True):
        bounds.append(relative * (abs(1 - new) * np.abs(old) + abs(new) * size))
    return [*bounds, *(relative * size for size in sizes)]  # below version 14: the saved moments too


def lp_normalization(node: Node, setting: Setting) -> list[Array]:
    """x/‖x‖ along one axis."""
    x = node.real(0)
    n = x.shape[int(node.attribute("axis", -1))]
    relative = setting.gamma(n + 1) + (4 * _root(setting) + 4) * setting.u + 4 * setting.u_in
    return [relative * np.abs(node.results[0])]


def lrn(node: Node, setting: Setting) -> list[Array]:
    """LRN: x/(bias + α/size·Σx²)^β by pow."""
    beta = float(node.attribute("beta", 0.75))
    relative = 2 * _c("Pow", setting) * setting.u + abs(beta) * setting.gamma(int(node.attributes["size"]) + 4)
    return [(relative + (2 * _root(setting) + 2) * setting.u + 4 * setting.u_in) * np.abs(node.results[0])]


def _reduced(node: Node) -> float:
    """Terms in each result of a reduction."""
    return node.real(0).size / max(1, node.results[0].size)


def norm_two(node: Node, setting: Setting) -> list[Array]:
    """ReduceL2: √Σx²."""
    a = setting.gamma(_reduced(node))
    x, *axes = node.inputs
    assert x is not None
    with np.errstate(over="ignore"):
        squares = node.again([np.where(np.isfinite(x), x, 0.0), *axes])[0] ** 2
    a = np.where(squares > FLOATS[setting.arithmetic.compute].largest, np.inf, a)  # plain squares overflow before the root
    size = np.where(np.isfinite(node.results[0]), np.abs(node.results[0]), 0.0)
    relative = (a + setting.u) / 2 + 2 * _root(setting) * setting.u + 2 * setting.u_in
    return [np.where(np.isinf(relative), np.inf, relative * size)]


def log_sum(node: Node, setting: Setting) -> list[Array]:
    """ReduceLogSum: log Σx."""
    x, *axes = node.inputs
    y = node.results[0]
    with np.errstate(all="ignore"):
        magnitude = np.exp(node.again([None if x is None else np.abs(x), *axes])[0])
        relative = (setting.gamma(_reduced(node)) + setting.u_in) * magnitude / np.abs(np.exp(y))
        bound = -np.log1p(-np.minimum(relative, 1.0)) + 2 * _c("Log", setting) * setting.u * np.abs(y)
    return [np.nan_to_num(bound, nan=0.0, posinf=np.inf)]


def log_sum_exp(node: Node, setting: Setting) -> list[Array]:
    """ReduceLogSumExp with the maximum subtracted, or without it where nothing overflows (then exp's argument is x itself)."""
    x, y, u = node.real(0), node.results[0], setting.u
    n = _reduced(node)
    with np.errstate(all="ignore"):
        largest = np.nan_to_num(np.abs(x), posinf=0.0).max(initial=0.0)
        h = (K_T * 2 * largest + 2 * _c("Exp", setting)) * u + 2 * setting.u_in * largest
        common = h + setting.gamma(n) + (2 * _c("Exp", setting) + 1) * (1 + np.log(max(n, 1))) * u
        bound = common + 2 * _c("Log", setting) * u * (np.abs(y) + largest) + u * np.abs(y)
    return [np.nan_to_num(bound, nan=0.0, posinf=np.inf)]


def lp_pool(node: Node, setting: Setting) -> list[Array]:
    """LpPool and GlobalLpPool: (Σ|x|^p)^(1/p); p = 1 and 2 are sums and roots, others go through pow. Powers that underflow
    lose digits on the way; where they overflow, the result is open."""
    p, y = float(node.attribute("p", 2)), np.abs(node.results[0])
    window = float(np.prod(node.attribute("kernel_shape", [_reduced(node)])))
    power = (2 * _c("Pow", setting) * 2 if p not in (1, 2) else 4 * _root(setting)) * setting.u
    relative = (setting.gamma(window + 1) + p * setting.u_in) / p + power + 2 * setting.u
    if p == 1:
        return [relative * y]
    total = y**p
    lost = window * setting.eta
    moved = (total + lost) ** (1 / p) - np.maximum(total - lost, 0.0) ** (1 / p)
    return [np.where(total > FLOATS[setting.arithmetic.compute].largest, np.inf, relative * y + moved)]


def resize(node: Node, setting: Setting) -> list[Array]:
    """Resize: nearest moves data; linear and cubic weigh neighbours by coordinates that the unit may compute in single
    precision, whose error acts through the largest difference between neighbours."""
    if node.attribute("mode", "nearest") == "nearest":
        return [np.zeros(node.results[0].shape)]
    x = node.real(0)
    axes = [a for a in range(x.ndim) if x.shape[a] != node.results[0].shape[a]] or [x.ndim - 1]
    taps = (4 if node.attribute("mode", "nearest") == "cubic" else 2) ** len(axes)
    with np.errstate(all="ignore"):
        finite = np.abs(x[np.isfinite(x)])
        largest = float(finite.max(initial=0.0))
        reach = sum(max(x.shape[a], node.results[0].shape[a]) for a in axes)
    gain = 1.5 ** len(axes) if taps > 2 ** len(axes) else 1.0
    u32 = max(setting.u, 2.0**-24)
    bound = gain * largest * (setting.gamma(taps + 2) + 4 * u32 * reach * 2 + setting.u_in)
    return [np.full(node.results[0].shape, bound)]
