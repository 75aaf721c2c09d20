"""Arithmetic with broadcasting, and functions of one element."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping

import numpy as np
from hypothesis import strategies as st

from ..samples import Array, Sample, any_shape, array, broadcastable, call, kind_of, version_of


def operands(draw: st.DrawFn, kinds: tuple[str, ...], low: float = -4, high: float = 4) -> list[Array]:
    """Tensors of these types that broadcast together, now and then all of one shape."""
    shape = any_shape(draw)
    alike = draw(st.booleans())
    return [
        array(draw, shape if alike else broadcastable(draw, shape), kind, low, high, specials=True, extremes=True)
        for kind in kinds
    ]


def limited(draw: st.DrawFn, operator: str, until: int = 6) -> Sample:
    """Two operands before opset 7: equal shapes, or b is a part of a from `axis` on."""
    version = version_of(draw, operator, until=until)
    kind = kind_of(draw, operator, version)
    shape = any_shape(draw, min_dims=1)
    first = draw(st.integers(0, len(shape) - 1))
    last = draw(st.integers(first + 1, len(shape)))
    equal = draw(st.booleans())
    a, b = array(draw, shape, kind), array(draw, shape if equal else shape[first:last], kind, 1, 4)
    if equal:
        return call(operator, [a, b], version=version)
    axis = None if last == len(shape) and draw(st.booleans()) else first
    return call(operator, [a, b], version=version, broadcast=1, axis=axis)


def binary(operator: str, draw: st.DrawFn) -> Sample:
    """Two operands of one type that broadcast to each other."""
    if draw(st.integers(0, 9)) == 9:
        return limited(draw, operator)
    version = version_of(draw, operator, since=7)
    return call(operator, operands(draw, (kind_of(draw, operator, version),) * 2), version=version)


def _divisible(a: Array, b: Array) -> list[Array]:
    """Without what traps for integers: x / 0 and lowest / −1."""
    if a.dtype.kind not in "iu":
        return [a, b]
    lowest = np.iinfo(a.dtype).min
    a = np.where(a == lowest, a + a.dtype.type(1), a) if a.dtype.kind == "i" else a
    return [a, np.where(b == 0, b.dtype.type(3), b)]


def _div(draw: st.DrawFn) -> Sample:
    if draw(st.integers(0, 9)) == 9:
        return limited(draw, "Div")
    version = version_of(draw, "Div", since=7)
    return call("Div", _divisible(*operands(draw, (kind_of(draw, "Div", version),) * 2)), version=version)


def _mod(draw: st.DrawFn) -> Sample:
    version = version_of(draw, "Mod")
    kind = kind_of(draw, "Mod", version)
    a, b = _divisible(*operands(draw, (kind, kind), -9, 9))
    real = a.dtype.kind not in "iu"
    fmod = 1 if real and version < 28 else draw(st.sampled_from([None, 0, 1]))
    return call("Mod", [a, b], version=version, fmod=fmod)


def _pow(draw: st.DrawFn) -> Sample:
    """Integers stay in the range of 32 bits; reals are powers of any kind."""
    if draw(st.integers(0, 9)) == 9:
        return limited(draw, "Pow", 1)
    version = version_of(draw, "Pow", since=7)
    kinds = [kind_of(draw, "Pow", version, i) for i in (0, 1)]
    if version == 7:
        kinds[1] = kinds[0]
    shape = any_shape(draw)
    x = array(draw, broadcastable(draw, shape), kinds[0], -9, 9, specials=True)
    whole = kinds[0].startswith("int")
    y = array(draw, broadcastable(draw, shape), kinds[1], 0 if whole else -4, 4, specials=not whole)
    return call("Pow", [x, y if y.dtype.kind in "iu" or not whole else np.rint(y)], version=version)


def _variadic(operator: str, draw: st.DrawFn) -> Sample:
    """One to four operands, which broadcast from opset 8 on."""
    version = version_of(draw, operator)
    kinds = (kind_of(draw, operator, version),) * draw(st.integers(1, 4))
    if version >= 8:
        return call(operator, operands(draw, kinds), version=version)
    shape = any_shape(draw)
    return call(operator, [array(draw, shape, kind, specials=True) for kind in kinds], version=version)


def _clip(draw: st.DrawFn) -> Sample:
    """Limits as attributes before opset 11, as inputs after; in the wrong order from opset 13 on only."""
    version = version_of(draw, "Clip")
    kind = kind_of(draw, "Clip", version)
    x = array(draw, any_shape(draw), kind, -9, 9, specials=True, extremes=True)
    limits = [draw(st.sampled_from([None, -3, -1, 0, 2, 5] if not kind.startswith("u") else [None, 0, 2, 5])) for _ in range(2)]
    if version < 13 and None not in limits:
        limits.sort()
    if version < 11:
        low, high = (None if v is None else float(v) for v in limits)
        return call("Clip", [x], version=version, min=low, max=high)
    return call("Clip", [x, *(None if v is None else np.asarray(v).astype(x.dtype) for v in limits)], version=version)


def unary(operator: str, low: float, high: float, draw: st.DrawFn) -> Sample:
    """One operand, some of them outside of the function's domain."""
    version = version_of(draw, operator)
    kind = kind_of(draw, operator, version)
    return call(operator, [array(draw, any_shape(draw), kind, low, high, specials=True, extremes=True)], version=version)


def _where(draw: st.DrawFn) -> Sample:
    version = version_of(draw, "Where")
    kind = kind_of(draw, "Where", version, 1)
    return call("Where", operands(draw, ("bool", kind, kind)), version=version)


DRAW: Mapping[str, Callable[[st.DrawFn], Sample]] = {
    **{name: functools.partial(binary, name) for name in ("Add", "Sub", "Mul")},
    "Div": _div,
    "Mod": _mod,
    "Pow": _pow,
    **{name: functools.partial(_variadic, name) for name in ("Min", "Max", "Sum", "Mean")},
    "Clip": _clip,
    "Where": _where,
    **{name: functools.partial(unary, name, -9, 9) for name in ("Neg", "Abs", "Sign", "Floor", "Ceil", "Round", "Reciprocal")},
    **{name: functools.partial(unary, name, -100, 100) for name in ("Sin", "Cos", "Tan", "Exp", "Sinh", "Cosh", "Asinh")},
    **{name: functools.partial(unary, name, -1.25, 1.25) for name in ("Asin", "Acos", "Atanh")},
    **{name: functools.partial(unary, name, -1, 100) for name in ("Sqrt", "Log", "Acosh")},
    **{name: functools.partial(unary, name, -6, 6) for name in ("Atan", "Erf")},
}
