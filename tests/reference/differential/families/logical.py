"""Logic, comparisons, classification and bit operations."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping

import numpy as np
from hypothesis import strategies as st

from ..samples import Sample, any_shape, array, call, kind_of, version_of
from .elementwise import binary, operands, unary


def _since(operator: str, draw: st.DrawFn) -> Sample:
    """Two operands of an operator that always had broadcasting; 64-bit integers also beyond what float64 can tell apart."""
    version = version_of(draw, operator)
    return call(operator, operands(draw, (kind_of(draw, operator, version),) * 2), version=version)


def _is_inf(draw: st.DrawFn) -> Sample:
    version = version_of(draw, "IsInf")
    x = array(draw, any_shape(draw), kind_of(draw, "IsInf", version), specials=True)
    flags = st.sampled_from([None, 0, 1])
    return call("IsInf", [x], version=version, detect_negative=draw(flags), detect_positive=draw(flags))


def _bit_shift(draw: st.DrawFn) -> Sample:
    """By less than the width, and in opset 28, which says what that means, by more and by negative amounts."""
    version = version_of(draw, "BitShift")
    kind = kind_of(draw, "BitShift", version)
    x, amount = operands(draw, (kind, kind), 0, 200)
    width = x.dtype.itemsize * 8
    if version < 28:
        amount = np.asarray(amount % x.dtype.type(width))
    return call("BitShift", [x, amount], version=version, direction=draw(st.sampled_from(["LEFT", "RIGHT"])))


DRAW: Mapping[str, Callable[[st.DrawFn], Sample]] = {
    **{name: functools.partial(binary, name) for name in ("And", "Or", "Xor", "Equal", "Greater", "Less")},
    **{
        name: functools.partial(_since, name)
        for name in ("GreaterOrEqual", "LessOrEqual", "BitwiseAnd", "BitwiseOr", "BitwiseXor")
    },
    **{name: functools.partial(unary, name, -4, 4) for name in ("Not", "IsNaN", "BitwiseNot")},
    "IsInf": _is_inf,
    "BitShift": _bit_shift,
}
