"""Pooling by windows and over all spatial axes, and its inverse."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping

import numpy as np
from hypothesis import strategies as st

from ..samples import Sample, any_shape, array, call, common_kind, length, version_of
from .convolution import one_each, windows

NAMES: Mapping[str, Mapping[int, tuple[str, ...]]] = {
    "AveragePool": {
        7: ("count_include_pad",),
        10: ("count_include_pad", "ceil_mode"),
        19: ("count_include_pad", "ceil_mode", "dilations"),
    },
    "MaxPool": {8: ("storage_order",), 10: ("storage_order", "ceil_mode", "dilations")},
    "LpPool": {1: ("p",), 18: ("p", "ceil_mode", "dilations")},
}
"""Operator → version → its attributes beyond those that all pools have."""


def _power(draw: st.DrawFn, *, whole: bool) -> float | None:
    p = draw(st.sampled_from([None, 1, 2, 3, 4]))
    return p if whole or p is None else draw(st.sampled_from([float(p), 0.5, 1.5]))


def _pool(operator: str, draw: st.DrawFn) -> Sample:
    version = version_of(draw, operator)
    kind = common_kind(draw, operator, version)
    names = max(((v, n) for v, n in NAMES[operator].items() if v <= version), default=(0, ()))[1]
    sizes, attributes = windows(draw, draw(st.sampled_from([1, 2, 2, 3])), names)
    for name in ("count_include_pad", "storage_order"):
        if name in names:
            attributes[name] = draw(st.sampled_from([None, 0, 1]))
    if "p" in names:
        attributes["p"] = _power(draw, whole=version > 1)
    x = array(draw, (length(draw, 2), length(draw, 3), *sizes), kind, specials=draw(st.integers(0, 4)) == 4, extremes=True)
    x = np.rint(x) if kind == "float32" and draw(st.booleans()) else x
    outputs = draw(st.integers(1, 2)) if "storage_order" in names else 1
    return call(operator, [x], version=version, outputs=outputs, **attributes)


def _global_pool(operator: str, draw: st.DrawFn) -> Sample:
    version = version_of(draw, operator)
    x = array(draw, any_shape(draw, 2), common_kind(draw, operator, version), specials=draw(st.booleans()))
    p = {"p": _power(draw, whole=version > 1)} if operator == "GlobalLpPool" else {}
    return call(operator, [x], version=version, **p)


def _max_unpool(draw: st.DrawFn) -> Sample:
    """Indices of a tensor as large as kernel, strides and pads make it, or larger."""
    version = version_of(draw, "MaxUnpool")
    batch, channels, *lengths = any_shape(draw, 3, 5, 3)
    shape = (batch, channels, *(max(n, 1) for n in lengths))
    rank = len(lengths)
    kernel = draw(st.lists(st.integers(1, 3), min_size=rank, max_size=rank))
    strides = one_each(draw, rank, 3)
    pads = draw(st.lists(st.integers(0, 1), min_size=2 * rank, max_size=2 * rank)) if draw(st.booleans()) else None
    full = [
        (n - 1) * stride + k - (pads[i] + pads[rank + i] if pads else 0)
        for i, (n, k, stride) in enumerate(zip(shape[2:], kernel, strides or [1] * rank, strict=True))
    ]
    if min(full) < 1:
        pads, full = None, [n + (pads[i] + pads[rank + i] if pads else 0) for i, n in enumerate(full)]
    sizes = [n + draw(st.integers(0, 2)) for n in full] if draw(st.booleans()) else None
    total = math.prod((*shape[:2], *(sizes or full)))
    order = np.random.default_rng(draw(st.integers(0, 99))).permutation(max(total, 1))
    indices = np.resize(order, shape).astype(np.int64)
    wanted = [] if sizes is None else [np.array([*shape[:2], *sizes])]
    x = array(draw, shape, common_kind(draw, "MaxUnpool", version), specials=True)
    return call("MaxUnpool", [x, indices, *wanted], version=version, kernel_shape=kernel, strides=strides, pads=pads)


DRAW: Mapping[str, Callable[[st.DrawFn], Sample]] = {
    **{name: functools.partial(_pool, name) for name in NAMES},
    **{name: functools.partial(_global_pool, name) for name in ("GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool")},
    "MaxUnpool": _max_unpool,
}
