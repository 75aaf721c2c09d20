"""EXPLICIT bounds: activations, norms and other compositions, one formula per operator.

Every formula bounds |computed − real| for any sensible evaluation order in a unit of roundoff u (docs/numerics.md derives
them). c_* are the limits of the elementary functions in ulp, k_t the roundings of an argument before exp.
"""

from __future__ import annotations

import numpy as np

from reference import ingredients
from reference.dtypes import FLOATS, is_float
from reference.node import Array, Node
from reference.verify.bounds import accumulation, limits, sum_error
from reference.verify.bounds.functions import K_T, conversion, function_error, ulps
from reference.verify.setting import Setting


def _root(setting: Setting) -> float:
    """c_r: division, square root and reciprocal square root."""
    return ulps("Div", setting)


def _constant(setting: Setting) -> float:
    """Rounding of constants that ONNX's text has as reals and its function body as float32: float64 may follow either."""
    return 2.0**-24 if setting.u < 2.0**-24 else 0.0


def _with_conversion(node: Node, setting: Setting, error: Array) -> list[Array]:
    """An activation's error, with what underflowing steps and the conversion of its input add; exact elements stay exact."""
    error = np.where(error == 0, 0.0, error + (2 * _root(setting) + 3) * setting.eta)
    return [error + conversion(node, setting)] if setting.u_in else [error]


def sigmoid(node: Node, setting: Setting) -> list[Array]:
    """Sigmoid as 1/(1+exp(−x)), or by tanh or a rational function, which have an absolute error."""
    x, y = node.real(0), node.results[0]
    return _with_conversion(node, setting, _sigmoid(x, y, setting))


def _sigmoid(x: Array, y: Array, setting: Setting) -> Array:
    """The relative error of 1/(1+exp(−x)), whose denominator may overflow, and what (1+tanh(x/2))/2 or a rational function
    leaves absolutely: no model says which form a unit uses."""
    u, largest = setting.u, FLOATS[setting.arithmetic.compute].largest
    relative = (1 - y) * (2 * ulps("Exp", setting) + K_T * np.abs(x)) + 2 * _root(setting) + 2
    lost = np.where(-x > np.log(largest) * (1 - 4 * u), y, 0.0)
    return y * relative * u + limits.form("Sigmoid", setting.functions) * u + lost


def swish(node: Node, setting: Setting) -> list[Array]:
    """Swish (SiLU): x·sigmoid(αx), or x/(1+exp(−αx))."""
    x, y = node.real(0), node.results[0]
    z = float(node.attribute("alpha", 1.0)) * x
    s = 0.5 * (1 + np.tanh(z / 2))
    error = np.abs(x) * _sigmoid(z, s, setting) + 2 * setting.u * np.abs(y)
    if "alpha" in node.attributes:
        error = error + (setting.u_attribute + setting.u_in) * np.abs(z) * (1 - s) * np.abs(y)
    return _with_conversion(node, setting, error)


def exponential_unit(node: Node, setting: Setting) -> list[Array]:
    """Elu, Selu, Celu: g·a·(exp(x/b) − 1) on the negative side, by exp or by expm1, x or a product on the positive one."""
    u, x, y = setting.u, node.real(0), node.results[0]
    alpha = float(node.attribute("alpha", 1.67326319217681884765625 if node.operator == "Selu" else 1.0))
    gain = float(node.attribute("gamma", 1.05070102214813232421875)) if node.operator == "Selu" else 1.0
    divided = node.operator == "Celu" and alpha != 1
    t = np.minimum(x / alpha if divided else x, 0)
    e, size = np.exp(t), np.abs(alpha * gain)
    by_exp = function_error("Exp", e, setting) + u * e  # a·e − a rounds a·e
    by_expm1 = function_error("Expm1", np.expm1(t), setting)
    argument = (K_T + (2 * _root(setting) if divided else 0)) * u * np.abs(t) * e
    held = setting.u_attribute + setting.u_in  # alpha and gamma, factors or Celu's divisor, in the unit's or the tensor's type
    negative = size * (np.maximum(by_exp, by_expm1) + argument) + (3 * u + 2 * held) * np.abs(y) + held * size * np.abs(t) * e
    positive = (2 * u + held) * np.abs(y) if node.operator == "Selu" else np.zeros_like(y)
    if node.operator == "Celu":  # max(0, x) + min(0, a·(exp(x/a) − 1)), where an inexact exp may be below 1
        near = x / alpha <= 2 * function_error("Exp", np.ones(()), setting)
        positive = np.where(near, size * function_error("Exp", np.ones(()), setting) + u * np.abs(y), 0.0)
    return _with_conversion(node, setting, np.where(x > 0, positive, negative))


def _softplus(x: Array, y: Array, setting: Setting) -> Array:
    """log(1 + exp(x)): exp's error weighted by the derivative, the rounding of 1 + e, and log's own."""
    s = 0.5 * (1 + np.tanh(x / 2))
    rounded = limits.form("Softplus", setting.functions)
    log = 2 * max(limits.limit(name, setting.functions).ulp for name in ("Log", "Log1p"))
    return ((2 * ulps("Exp", setting) + K_T * np.abs(x)) * s + rounded + (log + 2) * np.abs(y)) * setting.u


def softplus(node: Node, setting: Setting) -> list[Array]:
    """log(1 + exp(x)), by log1p, or as max(x, 0) + log1p(exp(−|x|))."""
    return _with_conversion(node, setting, _softplus(node.real(0), node.results[0], setting))


def mish(node: Node, setting: Setting) -> list[Array]:
    """x·tanh(softplus(x)), or with n = w(w + 2) and w = exp(x) as x·n/(n + 2)."""
    u, x, y = setting.u, node.real(0), node.results[0]
    p = np.logaddexp(0, x)
    t = np.tanh(p)
    by_tanh = (1 - t * t) * _softplus(x, p, setting) + function_error("Tanh", t, setting)
    # n/(n + 2) = t, so that its relative error is that of n times 1 − t; n = w² + 2w errs at most twice as much as w.
    by_quotient = t * ((1 - t) * (2 * (2 * ulps("Exp", setting) + K_T * np.abs(x)) + 2) + 2 + 2 * _root(setting)) * u
    error = np.abs(x) * np.maximum(by_tanh, by_quotient) + 2 * u * np.abs(y)
    return _with_conversion(node, setting, error)


def softsign(node: Node, setting: Setting) -> list[Array]:
    """x/(1 + |x|)."""
    return _with_conversion(node, setting, (2 * _root(setting) + 2) * setting.u * np.abs(node.results[0]))


def hard_sigmoid(node: Node, setting: Setting) -> list[Array]:
    """max(0, min(1, αx + β)), also as α(x + β/α): a product, a sum, constants rounded to the unit's or the tensor's type."""
    x, u = node.real(0), setting.u
    alpha, beta = float(node.attribute("alpha", 0.2)), float(node.attribute("beta", 0.5))
    held = setting.u_attribute + setting.u_in
    error = (u + held) * (np.abs(alpha * x) + abs(beta)) + u * np.abs(alpha * x + beta)
    saturated = np.abs(alpha * x + beta - 0.5) > 0.5 + error
    return _with_conversion(node, setting, np.where(saturated, 0.0, error))


def hard_swish(node: Node, setting: Setting) -> list[Array]:
    """x·max(0, min(1, x/6 + 1/2)), or x·relu6(x + 3)/6; a sixth is a quotient or a rounded factor."""
    x, y, u = node.real(0), node.results[0], setting.u
    sixth = max(2.0, 2 * _root(setting)) * u + _constant(setting)
    by_sum = x * x / 6 * sixth + 2 * u * np.abs(y)
    by_product = (sixth + 2 * u) * np.abs(y)
    error = np.where(np.abs(x) > 3 * (1 + sixth + 2 * u), by_product, np.maximum(by_sum, by_product))
    error = np.where(6 * np.abs(x) > FLOATS[setting.arithmetic.compute].largest, np.inf, error)  # x·relu6(x + 3) overflows
    return _with_conversion(node, setting, error)


def gelu(node: Node, setting: Setting) -> list[Array]:
    """Gelu by erf or erfc, or by the tanh approximation, whose tanh may be a sigmoid, as the attribute says."""
    u, x, y = setting.u, node.real(0), node.results[0]
    inside = ingredients.of(node)
    z, f = inside["argument"], inside["function"]
    with np.errstate(all="ignore"):
        if node.attribute("approximate", "none") == "tanh":
            cube = 0.044715 * x * x
            slope = np.where(np.abs(f) == 1, 0.0, np.abs(z) * (1 - f * f))
            by_pow = 2 * ulps("Pow", setting) * cube / (1 + cube)
            moved = np.where(slope == 0, 0.0, ((6 + by_pow) * u + 2 * _constant(setting)) * slope)  # by errors of z
            by_sigmoid = 2 * _sigmoid(2 * z, 0.5 * (1 + f), setting)
            inner = moved + np.maximum(function_error("Tanh", f, setting) + u * (1 + np.abs(f)), by_sigmoid)
        else:
            slope = np.abs(z) * 2 / np.sqrt(np.pi) * np.exp(-np.minimum(z * z, 700.0))
            moved = ((2 * _root(setting) + 1) * u + _constant(setting)) * slope
            by_erf = function_error("Erf", f, setting) + u * (1 + np.abs(f))
            inner = moved + np.maximum(by_erf, function_error("Erfc", 1 + f, setting))
        error = np.abs(x) / 2 * inner + 3 * u * np.abs(y)
        error = np.where(
            2 * np.abs(x) > FLOATS[setting.arithmetic.compute].largest, np.inf, error
        )  # x·(1 + erf) before the half
    return _with_conversion(node, setting, np.nan_to_num(error, nan=0.0, posinf=np.inf))


def _reduced(node: Node) -> float:
    """Terms in each result of a reduction."""
    return node.real(0).size / max(1, node.results[0].size)


def norm_two(node: Node, setting: Setting) -> list[Array]:
    """ReduceL2: √Σx² of plain squares, which may overflow or underflow before the root."""
    x, y = node.real(0), np.abs(node.results[0])
    axes = ingredients.reduced_axes(node)
    finite = np.where(np.isfinite(x), x, 0.0)
    with np.errstate(all="ignore"):
        squares = finite * finite
        total = squares.sum(axes, keepdims=True)
        lost = np.count_nonzero(finite, axis=axes, keepdims=True) * setting.eta
        moved = sum_error.relative_error(squares, axes, setting, finite) + setting.u + 4 * setting.u_in
        up, down = total * (1 + moved) + lost, np.maximum(total * (1 - moved) - lost, 0.0)
        error = np.maximum(np.sqrt(up) - np.sqrt(total), np.sqrt(total) - np.sqrt(down)).reshape(y.shape)
        error = error + 2 * ulps("Sqrt", setting) * setting.u * (y + error)
        error = np.where((total > FLOATS[setting.arithmetic.compute].largest).reshape(y.shape), np.inf, error)
    return [np.where(np.isfinite(y), error, 0.0)]


def mean(node: Node, setting: Setting) -> list[Array]:
    """ReduceMean: the bound of any sum of products, or of random data, whose errors behave like random ones."""
    (bound,) = accumulation.means(node, setting)
    if not setting.random or not is_float(setting.dtype):
        return [bound]
    sizes, axes = np.abs(node.real(0)), ingredients.reduced_axes(node)
    relative = sum_error.relative_error(sizes, axes, setting) + 2 * setting.u + setting.u_in
    with np.errstate(all="ignore"):
        magnitude = sizes.sum(axes, keepdims=True) * (node.results[0].size / max(1, sizes.size))
        typical = (relative * magnitude).reshape(bound.shape) + 2 * setting.eta
    return [np.where((bound == 0) | np.isinf(bound), bound, np.fmin(bound, typical))]


def log_sum(node: Node, setting: Setting) -> list[Array]:
    """ReduceLogSum: log Σx."""
    x, *axes = node.inputs
    y = node.results[0]
    with np.errstate(all="ignore"):
        magnitude = node.again([None if x is None else np.abs(x), *axes])[0]  # its logarithm, as y is the sum's
        relative = (setting.gamma(_reduced(node)) + setting.u_in) * np.exp(magnitude - y)
        bound = -np.log1p(-np.minimum(relative, 1.0)) + 2 * ulps("Log", setting) * setting.u * np.abs(y)
        largest = np.log(FLOATS[setting.arithmetic.compute].largest)
        bound = np.where(magnitude + relative > largest, np.inf, bound)
    return [np.nan_to_num(bound, nan=0.0, posinf=np.inf)]


def lp_pool(node: Node, setting: Setting) -> list[Array]:
    """LpPool and GlobalLpPool: (Σ|x|^p)^(1/p); p = 1 and 2 are sums and roots, others go through pow. Powers that underflow
    lose digits on the way; where they overflow, the result is open."""
    p, y = float(node.attribute("p", 2)), np.abs(node.results[0])
    window = float(np.prod(node.attribute("kernel_shape", [_reduced(node)])))
    power = (2 * ulps("Pow", setting) * 2 if p not in (1, 2) else 4 * _root(setting)) * setting.u
    relative = (setting.gamma(window + 1) + p * setting.u_in) / p + power + 2 * setting.u
    if p == 1:
        return [relative * y]
    total = y**p
    lost = window * setting.eta
    moved = (total + lost) ** (1 / p) - np.maximum(total - lost, 0.0) ** (1 / p)
    return [np.where(total > FLOATS[setting.arithmetic.compute].largest, np.inf, relative * y + moved)]
