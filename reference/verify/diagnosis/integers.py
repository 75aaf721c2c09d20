"""Integer arithmetic gone wrong: overflow, rounding, scales and zero points, narrower integers, packed nibbles, signs."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence

import numpy as np

from reference import dtypes
from reference.node import Array, Node
from reference.verify import integers as intervals
from reference.verify.diagnosis import rounding
from reference.verify.diagnosis.finding import Diagnosis
from reference.verify.diagnosis.hypothesis import REFUSALS, Hypothesis, Question
from reference.verify.diagnosis.ranges import bits_of, limits_of, saturated, stored, wrapped

SCALES: dict[str, tuple[tuple[int, ...], tuple[int, ...]]] = {
    "ConvInteger": ((), (2, 3)),
    "DequantizeLinear": ((1,), (2,)),
    "MatMulInteger": ((), (2, 3)),
    "QLinearConv": ((1, 4, 6), (2, 5, 7)),
    "QLinearMatMul": ((1, 4, 6), (2, 5, 7)),
    "QuantizeLinear": ((1,), (2,)),
}
"""Operator → numbers of the inputs that are (scales, zero points)."""

ONE_STEP = 0.95
"""Share of the wrong elements that must be exactly one step off."""

WRAPPING = frozenset(
    [
        *("Abs", "Add", "BitShift", "Cast", "CastLike", "ConvInteger", "CumSum", "Einsum", "Gemm", "MatMul", "MatMulInteger"),
        *("Mul", "Neg", "ReduceL1", "ReduceProd", "ReduceSum", "ReduceSumSquare", "Sub", "Sum"),
    ]
)
"""Operators whose integer results wrap around modulo 2^n."""


ALL_DATA = frozenset(
    [
        *(
            "Add",
            "BitShift",
            "BitwiseAnd",
            "BitwiseOr",
            "BitwiseXor",
            "Clip",
            "Concat",
            "ConvInteger",
            "Div",
            "Einsum",
            "Equal",
        ),
        *(
            "Gemm",
            "Greater",
            "GreaterOrEqual",
            "Less",
            "LessOrEqual",
            "MatMul",
            "Max",
            "Mean",
            "Min",
            "Mod",
            "Mul",
            "Pow",
            "Sub",
            "Sum",
        ),
        *("Where", *SCALES),
    ]
)
"""Operators all of whose integer inputs are data; of others it is the first only: the rest are extents, axes and indices."""

NO_DATA = ("ConstantOfShape", "Loop", "MelWeightMatrix", "Range", "Window")
"""Parts of the names of operators whose first input says how large the output is."""


def hypotheses(question: Question) -> Iterator[Hypothesis]:
    """Rounding first, which real outputs have too; the rest where integers go in or come out."""
    yield from rounding.hypotheses(question)
    node = question.node
    if question.same_shape and dtypes.is_integer(question.expected.dtype):
        yield from _overflows(question)
    if node.operator in SCALES:
        yield from _parameters(question, *SCALES[node.operator])
    if question.same_shape and question.expected.value.dtype != object and _has_integers(node):
        yield from _narrow(question)
        yield from _nibbles(question)
        yield from _signs(question)


def _has_integers(node: Node) -> bool:
    return any(t is not None and dtypes.is_integer(t) for t in (*node.types, *node.output_types))


def _integers(node: Node) -> list[int]:
    """Numbers of the inputs that are integers to compute with."""
    if any(name in node.operator for name in NO_DATA):
        return []
    n = None if node.operator in ALL_DATA else 1
    types = enumerate(zip(node.inputs[:n], node.types, strict=False))
    return [i for i, (x, t) in types if isinstance(x, np.ndarray) and t is not None and dtypes.is_integer(t)]


def again(question: Question, inputs: Sequence[Array | None]) -> Array | None:
    """The output on other inputs, whatever type it comes in; None where there is none of the right shape."""
    try:
        with np.errstate(all="ignore"):
            y = question.node.again(inputs)[question.index]
    except REFUSALS:
        return None
    return y if isinstance(y, np.ndarray) and y.shape == question.got.shape else None


def _replaced(node: Node, chosen: Sequence[int], change: Callable[[Array], Array]) -> list[Array | None]:
    return [change(x) if i in chosen and isinstance(x, np.ndarray) else x for i, x in enumerate(node.inputs)]


def _overflows(question: Question) -> Iterator[Hypothesis]:
    """Requantised results that wrap around; sums and products that do not."""
    node, dtype = question.node, question.expected.dtype
    if node.operator in intervals.REAL and question.index == 0:
        try:
            real = np.rint(np.asarray(intervals.REAL[node.operator](*node.inputs, **node.attributes), np.float64))
        except REFUSALS:
            return
        low, high = limits_of(dtype)
        if np.any((real < low) | (real > high)):
            text = f"the reference with results beyond [{low}, {high}] that wrap around modulo 2^{bits_of(dtype)}"
            yield from question.of_value("wraps", text, wrapped(np.nan_to_num(real), dtype))
    if node.operator in WRAPPING:
        wide = _unbounded(question)
        if wide is not None:
            text = f"the reference with results clipped to [{limits_of(dtype)[0]}, {limits_of(dtype)[1]}]"
            yield from question.of_value("saturates", text, saturated(wide, dtype))


def _unbounded(question: Question) -> Array | None:
    """The whole numbers that the operator would give if there were no limits: in Python's integers, or in float64."""
    node = question.node
    if node.operator in ("Cast", "CastLike"):
        x = node.inputs[0]
        return x.astype(object) if isinstance(x, np.ndarray) and x.dtype.kind in "iu" else None
    if node.operator == "BitShift":
        x, y = node.inputs[:2]
        shifted = node.attributes.get("direction") == "LEFT" and x is not None and y is not None
        return x.astype(object) * 2 ** y.astype(object) if shifted else None  # type: ignore[union-attr]
    for kind in (object, np.float64):
        wide = again(
            question, [x.astype(kind) if i in _integers(node) and x is not None else x for i, x in enumerate(node.inputs)]
        )
        if wide is not None and wide.dtype == kind:
            return wide
    return None


def _parameters(question: Question, scales: tuple[int, ...], zero_points: tuple[int, ...]) -> Iterator[Hypothesis]:
    """One scale or zero point in place of many; no zero point."""
    node = question.node
    many = [i for i in (*scales, *zero_points) if node.given(i) and node.real(i).size > 1]
    for which, pick in (("first", lambda x: x.reshape(-1)[0]), ("largest", np.max), ("last", lambda x: x.reshape(-1)[-1])):
        for i in many:
            cause = "scale-per-tensor" if i in scales else "zero-point-per-tensor"
            kind = "scale" if i in scales else "zero point"
            one = _replaced(node, [i], lambda x, pick=pick: np.full_like(x, pick(x)))  # type: ignore[misc]
            text = f"the reference computed with the {which} {kind} of input {i} for all"
            yield from question.of_inputs(cause, text, one)
        if len(many) > 1:
            one = _replaced(node, many, lambda x, pick=pick: np.full_like(x, pick(x)))  # type: ignore[misc]
            text = f"the reference computed with the {which} scale and zero point for all"
            yield from question.of_inputs("scale-per-tensor", text, one)
    present = [i for i in zero_points if node.given(i) and np.any(node.real(i))]
    for chosen in [[i] for i in present] + ([present] if len(present) > 1 else []):
        which = f"the zero point of input {chosen[0]}" if len(chosen) == 1 else "any zero point"
        text = f"the reference computed without {which}"
        yield from question.of_inputs("zero-point-ignored", text, _replaced(node, chosen, np.zeros_like))


NARROW: dict[str, tuple[str, Callable[[Array], Array]]] = {
    "int32": ("int64", lambda x: x.astype(np.int32).astype(x.dtype)),
    "clipped int32": ("int64", lambda x: np.clip(x, -(2**31), 2**31 - 1)),
    "uint32": ("int64", lambda x: x & 0xFFFFFFFF),
    "uint32 ": ("uint64", lambda x: x & np.uint64(0xFFFFFFFF)),
    "int32 ": ("uint64", lambda x: x.astype(np.int32).astype(x.dtype)),
}
"""What is left of a 64-bit integer → (its type, how)."""


def _narrow(question: Question) -> Iterator[Hypothesis]:
    """64-bit integers held in 32 bits, and integers held in a floating-point format: inputs, results or both."""
    node, dtype = question.node, question.expected.dtype
    for name, (wide, narrow) in NARROW.items():
        chosen = [i for i in _integers(node) if node.types[i] == wide]
        kind = name.strip()
        inputs = _replaced(node, chosen, narrow)
        changed = any(np.any(a != b) for a, b in zip(inputs, node.inputs, strict=True) if a is not None and a is not b)
        if changed:
            yield from question.of_inputs("int64-as-int32", f"the reference computed on inputs cut to {kind}", inputs)
        if dtype == wide:
            text = f"the reference with results cut to {kind}"
            yield from question.of_value("int64-as-int32", text, narrow(question.reference))
            y = again(question, inputs) if changed else None
            if y is not None and y.dtype == question.reference.dtype:
                text = f"the reference computed in {kind}"
                yield from question.of_value("int64-as-int32", text, narrow(y))
    yield from _by_halves(question)
    if dtypes.is_integer(dtype):
        for form in ("float32", "float64", "float16", "bfloat16"):
            yield from _as_float(question, form)
        for form in ("float32", "float64"):
            yield from _by_int32(question, form)


ORDERED = frozenset(
    [
        *("ArgMax", "ArgMin", "Clip", "Greater", "GreaterOrEqual", "Less", "LessOrEqual", "Max", "Min", "ReduceMax"),
        *("ReduceMin", "Relu", "Sign", "TopK"),
    ]
)
"""Operators that do nothing but compare: their inputs with each other or, `Relu` and `Sign`, with 0."""

POSITIONS = frozenset(["ArgMax", "ArgMin"])
"""Those of them whose results are no elements of their inputs, though integers."""


def _by_halves(question: Question) -> Iterator[Hypothesis]:
    """64-bit integers compared by halves, the lower one with a sign as well, as vectors without a comparison of 64 bits do it:
    so order is that of the integers with bit 31 flipped."""
    node = question.node
    chosen = [i for i in _integers(node) if node.types[i] in ("int64", "uint64")]
    if node.operator not in ORDERED or not chosen:
        return
    x, value = node.inputs[0], None
    if node.operator in ("Relu", "Sign"):
        assert x is not None
        zero = x.dtype.type(2**31)
        above, below = _bit_31_flipped(x) > zero, _bit_31_flipped(x) < zero
        value = np.where(above, x if node.operator == "Relu" else 1, 0) - (below if node.operator == "Sign" else 0)
    else:
        value = again(question, _replaced(node, chosen, _bit_31_flipped))
        if value is not None and question.index == 0 and value.dtype.kind in "iu" and node.operator not in POSITIONS:
            value = _bit_31_flipped(value)
    if value is not None:
        text = "the reference with integers compared by their halves, the lower one as int32"
        yield from question.of_value("int64-as-int32", text, value.astype(question.reference.dtype))


def _bit_31_flipped(x: Array) -> Array:
    return np.asarray(x ^ x.dtype.type(2**31))


def _as_float(question: Question, form: str) -> Iterator[Hypothesis]:
    """Integers that pass through a floating-point format, where that rounds any."""
    node, dtype = question.node, question.expected.dtype
    held = [node.inputs[i] for i in _integers(node)] + [question.reference]
    if max((float(np.abs(x.astype(np.float64)).max(initial=0.0)) for x in held if x is not None), default=0.0) < 2.0 ** (
        dtypes.FLOATS[form].precision
    ):
        return
    y = again(question, _replaced(node, _integers(node), lambda x: dtypes.round_to(x.astype(np.float64), form)))
    if y is None or y.dtype.kind not in "fiu":
        return
    result = dtypes.round_to(y.astype(np.float64), form)
    value = saturated(np.trunc(result), dtype)
    if _constant(value, question):
        return
    text = f"the reference computed in {form}"
    yield from question.of_value("integers-as-float", text, value)
    rounded = dtypes.round_to(question.reference.astype(np.float64), form)
    text = f"the reference with results that pass through {form}"
    yield from question.of_value("integers-as-float", text, saturated(rounded, dtype))


def _by_int32(question: Question, form: str) -> Iterator[Hypothesis]:
    """Integers cut to int32, computed in a floating-point format that goes beyond it, and converted back to int32: what is too
    large becomes −2^31 on x86 and is clipped elsewhere."""
    node, dtype = question.node, question.expected.dtype
    if dtype not in ("int32", "int64"):
        return

    def held(x: Array) -> Array:
        return dtypes.round_to(x.astype(np.int32).astype(np.float64), form)

    y = again(question, _replaced(node, [i for i in _integers(node) if node.types[i] in ("int32", "int64")], held))
    if y is None or y.dtype.kind not in "fiu":
        return
    result = np.trunc(dtypes.round_to(y.astype(np.float64), form))
    inside = (result >= -(2.0**31)) & (result < 2.0**31)
    cause = "int64-as-int32" if dtype == "int64" else "integers-as-float"
    for text, value in (
        ("−2^31 for results beyond int32", np.where(inside, result, -(2.0**31))),
        ("results clipped to int32", saturated(result, "int32")),
    ):
        if not inside.all() and not _constant(value, question):
            yield from question.of_value(cause, f"the reference computed in {form}, with {text}", stored(value, dtype))


def _constant(value: Array, question: Question) -> bool:
    """Whether nothing is left of the reference's numbers: what else is constant, as memory that nobody wrote, fits as well."""
    return bool(np.all(value == value.reshape(-1)[:1]) and np.any(question.reference != question.reference.reshape(-1)[:1]))


def _swapped(x: Array, per_byte: int, along: int | None) -> Array:
    """Neighbours that share a byte in reverse order, the last byte filled up with 0; rows apart where `along` is −1."""
    flat = x.reshape(1, -1) if along is None or x.ndim == 0 else x.reshape(-1, x.shape[-1])
    missing = -flat.shape[1] % per_byte
    full = np.concatenate([flat, np.zeros((flat.shape[0], missing), x.dtype)], axis=1)
    back = full.reshape(flat.shape[0], -1, per_byte)[:, :, ::-1].reshape(full.shape)
    return np.ascontiguousarray(back[:, : flat.shape[1]]).reshape(x.shape)


def _nibbles(question: Question) -> Iterator[Hypothesis]:
    """4-bit and 2-bit integers (and float4) unpacked from the wrong end of a byte."""
    node = question.node
    per_byte = {"int4": 2, "uint4": 2, "float4_e2m1fn": 2, "int2": 4, "uint2": 4}
    for along, rows in ((None, ""), (-1, " of each row")):
        for i, (x, t) in enumerate(zip(node.inputs, node.types, strict=False)):
            if isinstance(x, np.ndarray) and t in per_byte and x.size > 1:
                inputs = _replaced(node, [i], functools.partial(_swapped, per_byte=per_byte[t], along=along))
                which = f"the {per_byte[t]} elements{rows} that share a byte"
                text = f"the reference computed with {which} of input {i} in reverse order"
                yield from question.of_inputs("nibbles-swapped", text, inputs)
        if question.expected.dtype in per_byte:
            n = per_byte[question.expected.dtype]
            text = f"the reference with the {n} elements{rows} that share a byte in reverse order"
            yield from question.of_value("nibbles-swapped", text, _swapped(question.reference, n, along))


def _signs(question: Question) -> Iterator[Hypothesis]:
    """Signed integers read as unsigned ones or the other way round, by their bits or by an offset of half the range."""
    node, dtype = question.node, question.expected.dtype
    here = [i for i in _integers(node) if node.types[i] not in ("int64", "uint64")]
    for chosen in [[i] for i in here] + ([here] if len(here) > 1 else []):
        which = f"input {chosen[0]}" if len(chosen) == 1 else "all inputs"
        for how, change in (("read with the other sign", _other_sign), ("off by half the range", _other_half)):
            y = again(question, [change(x, node.types[i]) if i in chosen else x for i, x in enumerate(node.inputs)])
            if y is None:
                continue
            if dtypes.is_integer(dtype) and y.dtype.kind in "iu":
                y = wrapped(y.astype(np.int64), dtype)
            if y.dtype == question.reference.dtype and not _constant(y, question):
                yield from question.of_value("sign-misread", f"the reference computed with {which} {how}", y)
    if dtypes.is_integer(dtype) and dtype not in ("int64", "uint64"):
        half = (limits_of(dtype)[1] + 1 - limits_of(dtype)[0]) // 2
        value = wrapped(question.reference.astype(np.int64) + half, dtype)
        yield from question.of_value("sign-misread", f"the reference with the sign bit flipped ({half} off)", value)


def _other_sign(x: Array | None, dtype: str | None) -> Array | None:
    """The same bits as an unsigned or signed integer; int32 holds those of narrower types."""
    if x is None or dtype is None:
        return x
    bits = bits_of(dtype)
    value = x.astype(np.int64)
    moved = (
        np.where(value < 0, value + 2**bits, value)
        if dtype.startswith("i")
        else np.where(value >= 2 ** (bits - 1), value - 2**bits, value)
    )
    return np.asarray(moved.astype(np.int32 if bits < 32 else np.int64))


def _other_half(x: Array | None, dtype: str | None) -> Array | None:
    if x is None or dtype is None:
        return x
    bits = bits_of(dtype)
    sign = 1 if dtype.startswith("i") else -1
    return np.asarray(x.astype(np.int64) + sign * 2 ** (bits - 1)).astype(np.int32 if bits < 32 else np.int64)


def described(question: Question) -> Iterator[Diagnosis]:
    """Requantised integers that are one step off, some up and some down."""
    got, expected = question.got, question.expected
    if not question.same_shape or dtypes.name_of(got.dtype) != expected.dtype:
        return
    if dtypes.is_integer(expected.dtype) and dtypes.numpy_dtype(expected.dtype).itemsize < 8 and expected.interval is not None:
        wrong = question.wrong
        error = got.astype(np.int64) - expected.value.astype(np.int64)
        near = np.abs(error) <= 1
        count = int(np.count_nonzero(wrong))
        if count and np.count_nonzero(near & wrong) >= ONE_STEP * count:
            above, below = (int(np.count_nonzero(wrong & (error == step))) for step in (1, -1))
            text = f"the reference within one step ({above:,} elements one above, {below:,} one below)"
            right, exact = int(np.count_nonzero(near)), int(np.count_nonzero(error == 0))
            yield Diagnosis("requantised-off-by-one", text, right, exact, got.size)
