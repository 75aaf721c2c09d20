"""Faults of integers: overflow, rounding, scales and zero points."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from reference import dtypes
from reference.node import Array, Node
from tests.verification.correct.windows import columns
from tests.verification.faults.kind import Fault, again, data, on, right, with_first

Random = np.random.Generator
REQUANTISED = ("QLinearConv", "QLinearMatMul", "QuantizeLinear")
ZERO_POINTS = {"DequantizeLinear": (2,), "QLinearConv": (2, 7), "QLinearMatMul": (2, 5, 7), "QuantizeLinear": (2,)}
SCALES = {"DequantizeLinear": 1, "QLinearConv": 4, "QLinearMatMul": 4, "QuantizeLinear": 1}
ARITHMETIC: dict[str, Any] = {"Add": np.add, "Mul": np.multiply, "Sub": np.subtract}


def _per_channel(x: Array, like: Array, axis: int) -> Array:
    return x.reshape(-1, *[1] * (like.ndim - 1 - axis % like.ndim)) if x.ndim == 1 else x


def before_rounding(node: Node) -> Array:
    """Real value r + zero point of a requantised output, float64: computed here, not by the reference."""
    if node.operator == "QuantizeLinear":
        x, scale, zero = (node.real(i) for i in range(3))
        axis = node.attribute("axis", 1)
        return x / _per_channel(scale, x, axis) + _per_channel(zero, x, axis)
    a_scale, w_scale, y_scale, y_zero = (node.real(i) for i in (1, 4, 6, 7))
    if node.operator == "QLinearMatMul":
        sums = (node.real(0) - node.real(2)) @ (node.real(3) - node.real(5))
        return sums * (a_scale * w_scale / y_scale) + y_zero
    x, w = node.real(0) - node.real(2), node.real(3) - _per_channel(node.real(5), node.real(3), 0)
    sums = _convolved(node, x, w)
    if node.given(8):
        sums = sums + node.real(8)[:, None, None]
    return sums * (a_scale * _per_channel(w_scale, sums, 1) / y_scale) + y_zero


def _convolved(node: Node, x: Array, w: Array) -> Array:
    found = columns(node, x, w.shape[2:])
    y = w.reshape(len(w), -1) @ found.values.reshape(len(x), -1, found.values.shape[-1])
    return y.reshape(len(x), len(w), *found.extents)


def half_up(r: Array) -> Array:
    """Halves towards plus infinity."""
    return np.floor(r + 0.5)


def half_away(r: Array) -> Array:
    """Halves away from zero."""
    return np.copysign(np.floor(np.abs(r) + 0.5), r)


def _range(node: Node) -> tuple[int, int]:
    info = np.iinfo(dtypes.numpy_dtype(node.output_types[0]))
    return int(info.min), int(info.max)


def _rounded(node: Node, rng: Random, rounding: Callable[[Array], Array]) -> list[Array]:
    """Another rounding of the quotient, which the zero point is then added to."""
    if node.operator == "Round":
        return with_first(node, rounding(node.real(0)).astype(right(node)[0].dtype))
    if node.operator == "Cast":
        with np.errstate(all="ignore"):
            return with_first(node, rounding(node.real(0)).astype(right(node)[0].dtype))
    real = before_rounding(node)
    zero = node.real(2 if node.operator == "QuantizeLinear" else 7)
    zero = _per_channel(zero, real, node.attribute("axis", 1))
    y = np.clip(rounding(real - zero) + zero, *_range(node))
    return with_first(node, y.astype(right(node)[0].dtype))


def _rounding(name: str, cause: str, f: Callable[[Array], Array], *operators: str, recipes: tuple[str, ...] = ()) -> Fault:
    perform = functools.partial(_rounded, rounding=f)
    return Fault(name, (cause,), "tier 1", on(*operators, when=_fractional), perform, recipes)


def _fractional(node: Node) -> bool:
    """Whether there is anything to round: a conversion rounds reals to integers only."""
    return node.operator != "Cast" or (dtypes.is_integer(node.output_types[0]) and dtypes.is_float(node.types[0] or ""))


def _unsigned(node: Node) -> bool:
    return node.operator in REQUANTISED and node.output_types[0].startswith("u")


def _wrapped(node: Node, rng: Random) -> list[Array]:
    y = np.rint(before_rounding(node)).astype(np.int64)
    return with_first(node, y.astype(right(node)[0].dtype))


def _saturated(node: Node, rng: Random) -> list[Array]:
    """Sums, products and conversions of integers, clipped."""
    wide = [x.astype(object) if x is not None and x.dtype.itemsize == 8 else node.inputs[i] for i, x in enumerate(node.inputs)]
    if node.operator == "Cast":
        exact = wide[0]
    else:
        a, b = (np.asarray(x).astype(object) for x in wide[:2])
        exact = ARITHMETIC[node.operator](a, b)
    return with_first(node, np.clip(exact, *_range(node)).astype(right(node)[0].dtype))


def _one_parameter(node: Node, rng: Random, index: int) -> list[Array]:
    p = data(node, index)
    return again(node, {index: np.full_like(p, p[0])})


def _zero_point_index(node: Node) -> int:
    return SCALES[node.operator] + 1


def _many(index: Callable[[Node], int]) -> Callable[[Node], bool]:
    return lambda node: (
        node.given(index(node)) and data(node, index(node)).ndim == 1 and len(set(data(node, index(node)).tolist())) > 1
    )


def _ignored(node: Node, rng: Random, which: int) -> list[Array]:
    index = ZERO_POINTS[node.operator][which]
    return again(node, {index: np.zeros_like(data(node, index))})


def _off_by_one(node: Node, rng: Random, share: float) -> list[Array]:
    y = right(node)[0].astype(np.int64)
    moved = y + rng.choice([-1, 1], y.shape) * (rng.random(y.shape) < share) if share < 1 else y + 1
    return with_first(node, np.clip(moved, *_range(node)).astype(right(node)[0].dtype))


def _in_32_bits(node: Node, rng: Random) -> list[Array]:
    """64-bit operands lose their upper half."""
    with np.errstate(all="ignore"):
        a, b = (data(node, i).astype(np.int32) for i in (0, 1))
        return with_first(node, ARITHMETIC[node.operator](a, b).astype(np.int64))


def _in_floats(node: Node, rng: Random, dtype: str) -> list[Array]:
    with np.errstate(all="ignore"):
        a, b = (data(node, i).astype(dtype) for i in (0, 1))
        y = ARITHMETIC[node.operator](a, b).astype(np.float64)
        low, high = _range(node)
        held = np.clip(y, low, np.nextafter(float(high), 0.0) if high > 2**53 else high)
        return with_first(node, held.astype(right(node)[0].dtype))


def _integers_of(*names: str) -> Callable[[Node], bool]:
    return lambda node: node.output_types[0] in names and dtypes.is_integer(node.types[0] or "")


def _nibbles_swapped(node: Node, rng: Random) -> list[Array]:
    """Two 4-bit integers share a byte, the first in its low half; the last byte of an odd number is half empty."""
    x = data(node)
    pairs = np.zeros(x.size + x.size % 2, x.dtype)
    pairs[: x.size] = x.reshape(-1)
    return again(node, {0: pairs.reshape(-1, 2)[:, ::-1].reshape(-1)[: x.size].reshape(x.shape)})


def _sign_misread(node: Node, rng: Random, index: int) -> list[Array]:
    """The bits of an 8-bit integer, read with or without a sign."""
    x = data(node, index)
    return again(node, {index: x.view(np.uint8 if x.dtype == np.int8 else np.int8).astype(np.int16)})


def _input_of(*names: str, index: int = 0) -> Callable[[Node], bool]:
    return lambda node: len(node.types) > index and node.types[index] in names


FRACTIONS = ("normal", "grid", "positive", "wide", "special", "subnormal")
"""Recipes on which rounding up shows: of odd halves alone, rounding halves up makes the same; of the negative numbers that
quantised lattices give, truncation."""

NARROW = ("int8", "uint8", "int16", "uint16", "int32")

FAULTS: tuple[Fault, ...] = (
    Fault("wraps around", ("wraps",), "tier 1", on(*REQUANTISED), _wrapped, ("wide",)),
    Fault("saturates", ("saturates",), "tier 1", on("Add", "Cast", "Mul", "Sub", when=_integers_of(*NARROW)), _saturated),
    Fault("saturates in 64 bits", ("saturates",), "tier 1", on("Add", "Mul", when=_integers_of("int64")), _saturated),
    _rounding("rounds towards zero", "rounding-truncates", np.trunc, *REQUANTISED, "Round"),
    Fault("rounds down", ("rounding-down",), "tier 1",
          on("Cast", "Round", *REQUANTISED, when=lambda n: _fractional(n) and not _unsigned(n)),
          functools.partial(_rounded, rounding=np.floor)),
    # With an unsigned zero point added no number is negative, and truncation rounds down.
    Fault("rounds down to unsigned numbers", ("rounding-down", "rounding-truncates"), "tier 1",
          on(*REQUANTISED, when=_unsigned), functools.partial(_rounded, rounding=np.floor)),
    _rounding("rounds up", "rounding-up", np.ceil, *REQUANTISED, "Round", "Cast", recipes=FRACTIONS),
    _rounding("rounds halves away from zero", "rounding-half-away", half_away, "QuantizeLinear", "Round", recipes=("ties",)),
    _rounding("rounds halves up", "rounding-half-up", half_up, "QuantizeLinear", "Round", recipes=("ties",)),
    _rounding("rounds to nearest where it should cut", "rounding-half-even", np.rint, "Cast"),
    Fault("one scale for all channels", ("scale-per-tensor",), "tier 1",
          on(*SCALES, when=_many(lambda n: SCALES[n.operator])),
          lambda node, rng: _one_parameter(node, rng, SCALES[node.operator])),
    Fault("one zero point for all channels", ("zero-point-per-tensor",), "tier 1",
          on(*SCALES, when=_many(_zero_point_index)),
          lambda node, rng: _one_parameter(node, rng, _zero_point_index(node))),
    Fault("first zero point ignored", ("zero-point-ignored",), "tier 1",
          on(*ZERO_POINTS, when=lambda n: n.given(ZERO_POINTS[n.operator][0])), functools.partial(_ignored, which=0)),
    Fault("last zero point ignored", ("zero-point-ignored",), "tier 1", on("QLinearConv", "QLinearMatMul"),
          functools.partial(_ignored, which=-1)),
    Fault("nibbles swapped", ("nibbles-swapped",), "tier 1",
          on("Cast", "DequantizeLinear", when=_input_of("int4", "uint4")), _nibbles_swapped),
    Fault("sign of the input misread", ("sign-misread",), "tier 1",
          on("Cast", "DequantizeLinear", "MatMulInteger", "QLinearConv", "QLinearMatMul", when=_input_of("int8", "uint8")),
          functools.partial(_sign_misread, index=0)),
    Fault("sign of the weights misread", ("sign-misread",), "tier 1",
          on("QLinearConv", "QLinearMatMul", when=_input_of("int8", "uint8", index=3)),
          functools.partial(_sign_misread, index=3), (*FRACTIONS, "ties")),  # of lattices every output would be 0
    Fault("some one step off", ("requantised-off-by-one",), "tier 1", on(*REQUANTISED),
          functools.partial(_off_by_one, share=0.2)),
    Fault("all one step up", ("requantised-off-by-one", "constant-offset", "rounding-up"), "tier 1", on(*REQUANTISED),
          functools.partial(_off_by_one, share=1.0)),
    Fault("64 bits computed in 32", ("int64-as-int32",), "tier 1", on("Add", "Mul", "Sub", when=_integers_of("int64")),
          _in_32_bits),
    Fault("integers computed in float32", ("integers-as-float",), "tier 1",
          on("Add", "Mul", "Sub", when=_integers_of("int32", "int64")), functools.partial(_in_floats, dtype="float32")),
    Fault("integers computed in float64", ("integers-as-float",), "tier 1",
          on("Add", "Mul", "Sub", when=_integers_of("int64")), functools.partial(_in_floats, dtype="float64")),
)  # fmt: skip
"""Wrong integers."""
