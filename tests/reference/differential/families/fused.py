"""Fused operators of com.microsoft, which only ONNX Runtime has: activations, normalisations with a skip, products."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any

from hypothesis import strategies as st

from ..samples import Array, Sample, any_shape, array, broadcastable, call, length, shapes
from .contributed_attention import DOMAIN

KINDS = ("float32", "float32", "float16", "float64", "bfloat16")

ACTIVATIONS: Mapping[str, list[float] | None] = {
    "Relu": None,
    "Tanh": None,
    "Sigmoid": None,
    "LeakyRelu": [0.1],
    "Clip": [-1.0, 2.0],
    "HardSigmoid": [0.2, 0.5],
    "Silu": None,
}
"""`activation` of FusedConv → its parameters."""


def contributed(operator: str, inputs: list[Array | None], *, outputs: int = 1, **attributes: Any) -> Sample:
    """A node of com.microsoft; inputs that are left out at the end are not named at all."""
    while inputs and inputs[-1] is None:
        inputs = inputs[:-1]
    return call(operator, inputs, version=1, domain=DOMAIN, outputs=outputs, **attributes)


def _activation(operator: str, draw: st.DrawFn) -> Sample:
    """Of x, or with a bias along the last axis of x + bias. Enough elements for large ones, whose size errors are relative to:
    where a gate closes it is 1 less almost 1."""
    kind, shape = draw(st.sampled_from(KINDS)), any_shape(draw, min_dims=1)
    shape = (*shape[:-1], 16 * shape[-1])
    x = array(draw, shape, kind, -12, 12, specials=True)
    alpha = draw(st.sampled_from([None, 1.0, -0.5])) if operator == "QuickGelu" else None
    takes_bias = operator == "BiasGelu" or (operator == "FastGelu" and draw(st.booleans()))
    return contributed(operator, [x, array(draw, shape[-1:], kind) if takes_bias else None], alpha=alpha)


def _skip_normalization(operator: str, draw: st.DrawFn) -> Sample:
    """Of x + skip + bias; skip has x's shape or is shared by the batch."""
    kind = draw(st.sampled_from(KINDS))
    shape = (length(draw, 5), *draw(shapes(1, 2, 1, 5) | shapes(2, 2, 1, 5)))
    skip = draw(st.sampled_from([shape, shape, (1, *shape[1:]), shape[1:]])) if len(shape) == 3 else shape
    inputs = [array(draw, shape, kind), array(draw, skip, kind), array(draw, shape[-1:], kind)]
    optional = [array(draw, shape[-1:], kind) if draw(st.booleans()) else None for _ in range(2)]
    given = [*inputs, *optional] if operator == "SkipLayerNormalization" else [*inputs, optional[0]]
    epsilon = draw(st.sampled_from([None, 1e-5, 0.1]))
    return contributed(operator, given, outputs=draw(st.sampled_from([1, 4])), epsilon=epsilon)


def _stored(shape: tuple[int, ...], trans: int | None, trans_batch: int | None) -> tuple[int, ...]:
    """The shape of a matrix as FusedMatMul takes it, for the one that it multiplies by."""
    if len(shape) < 2:
        return shape
    *batch, rows, columns = shape
    rows, columns = (columns, rows) if trans else (rows, columns)
    return (rows, *batch, columns) if trans_batch else (*batch, rows, columns)


def _matmul(draw: st.DrawFn) -> Sample:
    kind = draw(st.sampled_from(KINDS))
    rows, inner, columns = (length(draw, 4) for _ in range(3))
    stack = draw(shapes(0, 2, 1, 3))
    a, b = ((*broadcastable(draw, stack), *ends) for ends in ((rows, inner), (inner, columns)))
    if not stack and draw(st.integers(0, 4)) == 4:
        a = (inner,)
    if not stack and draw(st.integers(0, 4)) == 4:
        b = (inner,)
    flag = st.sampled_from([None, 0, 1])
    stacked = len(a) == len(b) > 2  # what ONNX Runtime asks for
    flags = {f"trans{of}": draw(flag) if stacked or of in ("A", "B") else None for of in ("A", "B", "BatchA", "BatchB")}
    return contributed(
        "FusedMatMul",
        [
            array(draw, _stored(a, flags["transA"], flags["transBatchA"]), kind),
            array(draw, _stored(b, flags["transB"], flags["transBatchB"]), kind),
        ],
        alpha=draw(st.sampled_from([None, 1.0, 0.25, -1.7])),
        **flags,
    )


def _conv(draw: st.DrawFn) -> Sample:
    """Sums that are small enough for gates to stay open."""
    kind = draw(st.sampled_from(KINDS))
    rank, group = draw(st.integers(1, 3)), draw(st.integers(1, 2))
    kernel, spatial = draw(shapes(rank, rank, 1, 3)), draw(shapes(rank, rank, 3, 5))
    channels, features = draw(st.integers(1, 2)), group * draw(st.integers(1, 3))
    strides = [draw(st.integers(1, 2)) for _ in range(rank)]
    pads = [draw(st.integers(0, 1)) for _ in range(2 * rank)]
    batch = length(draw, 2)
    sizes = zip(spatial, kernel, strides, pads[:rank], pads[rank:], strict=True)
    outputs = [(n + begin + end - k) // s + 1 for n, k, s, begin, end in sizes]
    activation = draw(st.sampled_from([None, *ACTIVATIONS]))
    return contributed(
        "FusedConv",
        [
            array(draw, (batch, group * channels, *spatial), kind, -1, 1),
            array(draw, (features, channels, *kernel), kind, -1, 1),
            array(draw, (features,), kind) if draw(st.booleans()) else None,
            array(draw, (batch, features, *outputs), kind) if draw(st.booleans()) else None,
        ],
        activation=activation,
        activation_params=ACTIVATIONS[activation] if activation else None,
        group=group if group > 1 or draw(st.booleans()) else None,
        strides=strides,
        pads=pads,
        kernel_shape=list(kernel) if draw(st.booleans()) else None,
    )


def _simplified(domain: str, draw: st.DrawFn) -> Sample:
    """ONNX Runtime has it in ONNX's own domain."""
    shape = draw(shapes(1, 3, 1, 5))
    inputs = [array(draw, shape, "float32"), array(draw, shape[-1:], "float32")]
    return call("SimplifiedLayerNormalization", inputs, version=1 if domain else 17, domain=domain)


DRAW: Mapping[str, Callable[[st.DrawFn], Sample]] = {
    f"{DOMAIN}:{name}": draw
    for name, draw in {
        **{name: functools.partial(_activation, name) for name in ("Gelu", "BiasGelu", "FastGelu", "QuickGelu")},
        **{
            name: functools.partial(_skip_normalization, name)
            for name in ("SkipLayerNormalization", "SkipSimplifiedLayerNormalization")
        },
        "SimplifiedLayerNormalization": functools.partial(_simplified, DOMAIN),
        "FusedMatMul": _matmul,
        "FusedConv": _conv,
    }.items()
} | {"SimplifiedLayerNormalization": functools.partial(_simplified, "")}
