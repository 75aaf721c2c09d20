"""Reductions, arg-reductions, running sums and products, and the largest elements."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping

import numpy as np
from hypothesis import strategies as st

from ..samples import Sample, any_shape, array, call, kind_of, version_of

FLAG = st.sampled_from([None, 0, 1])


def _reduce(operator: str, draw: st.DrawFn, low: float = -4, high: float = 4) -> Sample:
    """Axes as an attribute, later as an input, negative from opset 11 on; left out, empty, some or all. Integers of 64 bits
    also beyond what float64 can hold."""
    version = version_of(draw, operator)
    kind = kind_of(draw, operator, version)
    reach = 2.0**31 if kind.endswith("64") and "int" in kind and draw(st.booleans()) else 1.0
    x = array(draw, any_shape(draw), kind, low * reach, high * reach, specials=True, extremes=True)
    chosen = draw(st.lists(st.integers(0, x.ndim - 1), unique=True)) if x.ndim else []
    axes = [a - x.ndim if version >= 11 and draw(st.booleans()) else a for a in chosen]
    keepdims = draw(FLAG)
    if version < (13 if operator == "ReduceSum" else 18):
        return call(operator, [x], version=version, axes=axes or None, keepdims=keepdims)
    inputs = [x] if not axes and draw(st.booleans()) else [x, np.array(axes, np.int64)]
    return call(operator, inputs, version=version, keepdims=keepdims, noop_with_empty_axes=draw(FLAG))


def _arg(operator: str, draw: st.DrawFn) -> Sample:
    """Along an axis that has elements; many of them are equal."""
    version = version_of(draw, operator)
    shape = any_shape(draw, min_dims=1)
    axis = draw(st.integers(0 if version < 11 else -len(shape), len(shape) - 1))
    shape = tuple(max(n, 1) if i == axis % len(shape) else n for i, n in enumerate(shape))
    x = array(draw, shape, kind_of(draw, operator, version), specials=True, extremes=True)
    x = np.asarray(np.rint(x), x.dtype) if x.dtype.kind == "f" and draw(st.booleans()) else x
    given = axis if axis or draw(st.booleans()) else None
    last = draw(FLAG) if version >= 12 else None
    return call(operator, [x], version=version, axis=given, keepdims=draw(FLAG), select_last_index=last)


def _running(operator: str, draw: st.DrawFn) -> Sample:
    version = version_of(draw, operator)
    shape = any_shape(draw, min_dims=1)
    x = array(draw, shape, kind_of(draw, operator, version), specials=True, extremes=True)
    axis = np.asarray(draw(st.integers(-len(shape), len(shape) - 1)), draw(st.sampled_from(["int32", "int64"])))
    return call(operator, [x, axis], version=version, exclusive=draw(FLAG), reverse=draw(FLAG))


def _top_k(draw: st.DrawFn) -> Sample:
    """k as an attribute before opset 10; along an axis of at least one element."""
    version = version_of(draw, "TopK")
    shape = any_shape(draw, min_dims=1)
    axis = draw(st.integers(0 if version < 11 else -len(shape), len(shape) - 1))
    shape = tuple(max(n, 1) if i == axis % len(shape) else n for i, n in enumerate(shape))
    x = array(draw, shape, kind_of(draw, "TopK", version), specials=True, extremes=True)
    x = np.asarray(np.rint(x), x.dtype) if x.dtype.kind == "f" and draw(st.booleans()) else x
    k = draw(st.integers(1, shape[axis]))
    given = None if axis in (-1, len(shape) - 1) and draw(st.booleans()) else axis
    if version == 1:
        return call("TopK", [x], version=1, outputs=2, axis=given, k=k)
    flags = {"largest": draw(FLAG), "sorted": draw(FLAG)} if version >= 11 else {}
    return call("TopK", [x, np.array([k])], version=version, outputs=2, axis=given, **flags)


DRAW: Mapping[str, Callable[[st.DrawFn], Sample]] = {
    **{
        name: functools.partial(_reduce, name)
        for name in (
            "ReduceL1",
            "ReduceL2",
            "ReduceLogSumExp",
            "ReduceMax",
            "ReduceMean",
            "ReduceMin",
            "ReduceProd",
            "ReduceSum",
            "ReduceSumSquare",
        )
    },
    "ReduceLogSum": functools.partial(_reduce, "ReduceLogSum", low=0, high=9),
    **{name: functools.partial(_arg, name) for name in ("ArgMax", "ArgMin")},
    **{name: functools.partial(_running, name) for name in ("CumSum", "CumProd")},
    "TopK": _top_k,
}
