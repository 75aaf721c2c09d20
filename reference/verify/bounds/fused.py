"""EXPLICIT bounds of ONNX Runtime's fused operators (com.microsoft) and of SwiGLU: the bounds of their parts, one after the
other, with the inner result kept in the unit's format."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping

import numpy as np

from reference.dtypes import FLOATS
from reference.node import Array, Node
from reference.ops import activation, convolution, fused, matrix
from reference.ops.block_quantization import matmul_n_bits_weights
from reference.verify.bounds import accumulation, explicit, functions, sum_error
from reference.verify.bounds.normalization import moments, normalised
from reference.verify.bounds.running_error import Computed, add, apply, exactly, multiply, operator, read, settled
from reference.verify.setting import Setting

GELU_CURVATURE = 0.8
"""Largest |f''| of Gelu: 2·φ(0), taken a little larger for the approximation by tanh."""


def _biased(node: Node, setting: Setting) -> Computed:
    """The first input and, if there is a second, its sum with that."""
    x = read(setting, exactly(node.real(0)))
    return add(setting, x, read(setting, exactly(np.broadcast_to(node.real(1), x.value.shape)))) if node.given(1) else x


def bias_gelu(node: Node, setting: Setting) -> list[Array]:
    """BiasGelu: Gelu by erf of a + b."""
    gelu = operator("Gelu", explicit.gelu, activation.gelu, setting)
    return [apply(gelu, _biased(node, setting), GELU_CURVATURE).error]


def fast_gelu(node: Node, setting: Setting) -> list[Array]:
    """FastGelu: Gelu by tanh of x + bias, with the six digits of the text or with √(2/π) and 0.044715·√(2/π)."""
    tanh = functools.partial(activation.gelu, approximate="tanh")
    z = _biased(node, setting)
    found = apply(operator("Gelu", explicit.gelu, tanh, setting, approximate="tanh"), z, GELU_CURVATURE)
    with np.errstate(all="ignore"):
        between = np.abs(found.value - fused.fast_gelu(z.value))
    return [found.error + np.where(np.isfinite(between), between, 0.0)]


def quick_gelu(node: Node, setting: Setting) -> list[Array]:
    """QuickGelu: x·sigmoid(alpha·x)."""
    alpha = float(node.attribute("alpha", fused.QUICK_GELU_ALPHA))
    evaluate = functools.partial(activation.swish, alpha=alpha)
    return [apply(operator("Swish", explicit.swish, evaluate, setting, alpha=alpha), exactly(node.real(0))).error]


def swiglu(node: Node, setting: Setting) -> list[Array]:
    """SwiGLU: swish(gate)·value."""
    alpha = float(node.attribute("alpha", 1.0))
    attributes = {} if alpha == 1 else {"alpha": alpha}
    evaluate = functools.partial(activation.swish, alpha=alpha)
    gate = apply(operator("Swish", explicit.swish, evaluate, setting, **attributes), exactly(node.real(0)))
    return [multiply(setting, gate, exactly(node.real(1))).error]


def simplified_layer_normalization(node: Node, setting: Setting) -> list[Array]:
    """SimplifiedLayerNormalization: Y and 1/√(mean of x² + ε)."""
    x, epsilon = node.real(0), float(node.attribute("epsilon", 1e-5))
    axes = tuple(range(int(node.attribute("axis", -1)) % x.ndim, x.ndim))
    found = moments(x, axes, epsilon, setting, centred=False)
    y = normalised(x, axes, node.real(1), epsilon, node.results[0], setting, centred=False)
    return [y, np.where(found.open, np.inf, found.root * found.deviation)]


def skip_layer_normalization(node: Node, setting: Setting) -> list[Array]:
    """SkipLayerNormalization and SkipSimplifiedLayerNormalization: of s = x + skip + bias; mean, 1/√(V + ε) and s besides."""
    centred = node.operator == "SkipLayerNormalization"
    x, last = node.real(0), 4 if centred else 3
    given = [node.real(i) for i in (0, 1, last) if node.given(i)]
    total = add(setting, *(read(setting, exactly(np.broadcast_to(t, x.shape))) for t in given))
    epsilon, axes = float(node.attribute("epsilon", fused.SKIP_EPSILON)), (x.ndim - 1,)
    found = moments(total.value, axes, epsilon, setting, centred=centred, error=total.error)
    gain, y = node.real(2), node.results[0]
    bound = normalised(total.value, axes, gain, epsilon, y, setting, centred=centred, error=total.error)
    return [bound, found.mean_error, np.where(found.open, np.inf, found.root * found.deviation), total.error]


def _part(node: Node, name: str, inputs: list[Array], value: Array, attributes: Mapping[str, object]) -> Node:
    """A linear operator of ONNX inside a fused one."""
    return Node(name, "", 24, tuple(inputs), (node.types[0],) * len(inputs), attributes, (node.output_types[0],), (value,))


def fused_matmul(node: Node, setting: Setting) -> list[Array]:
    """FusedMatMul: alpha·A'·B', alpha on either operand or on the product."""
    a, b, alpha = node.real(0), node.real(1), float(node.attribute("alpha", 1.0))
    a = fused.transposed(a, node.attribute("transA", 0), node.attribute("transBatchA", 0))
    b = fused.transposed(b, node.attribute("transB", 0), node.attribute("transBatchB", 0))
    product = _part(node, "MatMul", [a, b], matrix.matmul(a, b), {})
    (error,) = accumulation.products(product, setting)
    if abs(alpha) == 1:
        return [error]
    size = matrix.matmul(*(np.where(np.isfinite(x), np.abs(x), 0.0) for x in (a, b)))
    rounded = (2 * setting.u + setting.u_attribute + setting.u_in) * size
    open_ = size * max(1.0, abs(alpha)) > FLOATS[setting.arithmetic.compute].largest
    return [np.where(open_, np.inf, abs(alpha) * (error * (1 + 2 * setting.u) + rounded) + setting.eta)]


def _exact(evaluate: Callable[[Array], Array]) -> Callable[[Array], tuple[Array, Array]]:
    def function(points: Array) -> tuple[Array, Array]:
        values = np.asarray(evaluate(points))
        return values, np.zeros(values.shape)

    return function


APPLIED: Mapping[str, tuple[str, Callable[[Node, Setting], list[Array]]]] = {
    "HardSigmoid": ("HardSigmoid", explicit.hard_sigmoid),
    "LeakyRelu": ("LeakyRelu", functions.ulp_real),
    "Sigmoid": ("Sigmoid", explicit.sigmoid),
    "Silu": ("Swish", explicit.swish),
    "Tanh": ("Tanh", functions.ulp_real),
}
"""FusedConv's `activation` → the operator that it is, and its bound."""


def fused_conv(node: Node, setting: Setting) -> list[Array]:
    """FusedConv: activation(Conv(x, w, b) + z)."""
    inputs = [node.real(i) for i in range(3) if node.given(i)]
    names = ("activation", "activation_params")
    layout = {k: v for k, v in node.attributes.items() if k not in names}
    y = convolution.conv(*inputs, **layout)
    total = Computed(y, accumulation.products(_part(node, "Conv", inputs, y, layout), setting)[0])
    if node.given(3):
        total = add(setting, total, read(setting, exactly(np.broadcast_to(node.real(3), y.shape))))
    name = node.attribute("activation", "")
    values = [float(v) for v in node.attribute("activation_params", ())]
    _, evaluate = fused.ACTIVATIONS[name]
    chosen = functools.partial(_with_parameters, evaluate, values)
    if name in ("", "Relu", "Clip"):
        held = setting.u_attribute * max((abs(v) for v in values if np.isfinite(v)), default=0.0)
        found = apply(_exact(chosen), total)
        return [np.where(found.value == total.value, found.error, found.error + held)]
    attributes = dict(zip(("alpha", "beta"), values, strict=False))
    operator_name, bound = APPLIED[name]
    function = operator(operator_name, bound, chosen, setting, **attributes)
    return [apply(function, total, 0.5 if name == "Silu" else 0.0).error]


def _with_parameters(evaluate: Callable[..., Array], values: list[float], x: Array) -> Array:
    return np.asarray(evaluate(x, *values))


LEVELS = {2: "float16", 3: "bfloat16"}
"""MatMulNBits' `accuracy_level` → the least exact type that A may be brought into; 4 is int8 by blocks."""


def _operand_error(a: Array, level: int, block: int) -> Array:
    """How far A may be moved by what `accuracy_level` allows, elementwise."""
    error = np.zeros(a.shape)
    for allowed, name in LEVELS.items():
        if level >= allowed:
            error = FLOATS[name].unit_roundoff * np.abs(a)
    if level >= 4:
        padding = -a.shape[-1] % block
        blocks = np.pad(np.abs(a), [(0, 0)] * (a.ndim - 1) + [(0, padding)]).reshape(*a.shape[:-1], -1, block)
        step = np.repeat(blocks.max(-1), block, axis=-1)[..., : a.shape[-1]] / 127
        error = np.maximum(error, 0.5 * step * (1 + 2.0**-10))
    return error


def matmul_n_bits(node: Node, setting: Setting) -> list[Array]:
    """MatMulNBits: weights dequantised one by one, or sums of quantised numbers by blocks with the zero point's share taken off
    afterwards. A keeps its type unless `accuracy_level` allows less: 2 float16, 3 bfloat16, 4 int8 with a scale per block."""
    a, (b, scales, *optional) = node.real(0), node.inputs[1:3] + (*node.inputs[3:], None, None, None)[:3]
    layout = {k: int(node.attribute(k, 4)) for k in ("K", "N", "block_size", "bits")}
    assert b is not None
    assert scales is not None
    if not b.size:
        return [np.zeros(node.results[0].shape)]
    zero_points, groups, bias = optional
    w = matmul_n_bits_weights(b, scales, zero_points, groups, **layout)
    # (q − z)·s as q·s and z·s apart.
    zeros = w - matmul_n_bits_weights(b, scales, np.zeros(scales.shape), groups, **layout)
    whole = np.abs(w) + 2 * np.abs(zeros)
    size = np.matmul(np.abs(a), whole.T)
    bias_size = 0.0 if bias is None else np.abs(bias)
    error = sum_error.random_walk(layout["K"] + 4, setting) * (size + bias_size) + (2 * setting.u_in + setting.u_in**2) * size
    own = FLOATS[setting.dtype].unit_roundoff
    kept = own * np.matmul(np.abs(a), np.abs(w).T) if own > setting.arithmetic.u else 0.0  # weights in the tensor's type
    moved = np.matmul(_operand_error(a, int(node.attribute("accuracy_level", 0)), layout["block_size"]), np.abs(w).T)
    total = error + kept + moved * (1 + 2.0**-8) + layout["K"] * setting.eta
    return [settled(setting, node.results[0], np.where(size > FLOATS[setting.arithmetic.compute].largest, np.inf, total)).error]
