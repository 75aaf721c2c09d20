"""Matrix products and Einstein sums."""

from __future__ import annotations

import string
from collections.abc import Callable, Mapping

from hypothesis import strategies as st

from ..samples import Array, Sample, any_shape, array, broadcastable, call, common_kind, length, version_of


def operands(draw: st.DrawFn, kinds: tuple[str, str]) -> list[Array]:
    """Matrices with leading axes that broadcast, or vectors."""
    rows, inner, columns = (length(draw, 5) for _ in range(3))
    batch = any_shape(draw, 0, 3, 3)
    left = (inner,) if draw(st.integers(0, 4)) == 4 else (*broadcastable(draw, batch), rows, inner)
    right = (inner,) if draw(st.integers(0, 4)) == 4 else (*broadcastable(draw, batch), inner, columns)
    specials = draw(st.integers(0, 4)) == 4
    return [
        array(draw, shape, kind, -9, 9, specials=specials, extremes=True)
        for shape, kind in zip((left, right), kinds, strict=True)
    ]


def _matmul(draw: st.DrawFn) -> Sample:
    version = version_of(draw, "MatMul")
    return call("MatMul", operands(draw, (common_kind(draw, "MatMul", version),) * 2), version=version)


def _matmul_integer(draw: st.DrawFn) -> Sample:
    """Zero points of the whole matrix, of each row of a and of each column of b."""
    kinds = (draw(st.sampled_from(["uint8", "int8"])), draw(st.sampled_from(["uint8", "int8"])))
    a, b = operands(draw, kinds)
    shapes: list[list[tuple[int, ...]]] = [[(), (1,)], [(), (1,)]]
    if a.ndim == 2:
        shapes[0].append(a.shape[:1])
    if a.ndim >= 2:
        shapes[0].append((*a.shape[:-1], 1))
    if b.ndim == 2:
        shapes[1].append(b.shape[1:])
    if b.ndim >= 2:
        shapes[1].append((*b.shape[:-2], 1, b.shape[-1]))
    zero_points = [
        array(draw, draw(st.sampled_from(options)), kind, -9, 9) if draw(st.booleans()) else None
        for options, kind in zip(shapes, kinds, strict=True)
    ]
    return call("MatMulInteger", [a, b, *zero_points], version=10)


def _gemm(draw: st.DrawFn) -> Sample:
    """alpha and beta are whole for integers; C is left out from version 11 on, and is as large as Y without broadcast."""
    version = version_of(draw, "Gemm")
    kind = common_kind(draw, "Gemm", version)
    rows, inner, columns = (length(draw, 5) for _ in range(3))
    trans = [draw(st.sampled_from([None, 0, 1])) for _ in range(2)]
    factors = [None, 0.0, 1.0, -2.0, 3.0] if "int" in kind else [None, 0.0, 0.5, 1.0, -2.0, 1.7]
    factors = [f for f in factors if f is None or f >= 0] if kind.startswith("uint") else factors
    broadcast = draw(st.sampled_from([None, 0, 1])) if version < 7 else None
    spread = broadcast == 1 or version >= 7
    shape = (rows, columns) if not spread or draw(st.booleans()) else broadcastable(draw, (rows, columns))
    specials = draw(st.integers(0, 4)) == 4
    a = array(draw, (inner, rows) if trans[0] else (rows, inner), kind, -9, 9, specials=specials, extremes=True)
    b = array(draw, (columns, inner) if trans[1] else (inner, columns), kind, -9, 9, extremes=True)
    c = array(draw, shape, kind, -9, 9, extremes=True)
    return call(
        "Gemm",
        [a, b, None if version >= 11 and draw(st.booleans()) else c],
        version=version,
        alpha=draw(st.sampled_from(factors)),
        beta=draw(st.sampled_from(factors)),
        transA=trans[0],
        transB=trans[1],
        broadcast=broadcast,
    )


def _einsum(draw: st.DrawFn) -> Sample:
    """One to three operands with labels that they share or repeat, ellipses, and outputs named or left out."""
    version = version_of(draw, "Einsum")
    kind = common_kind(draw, "Einsum", version)
    labels = draw(st.permutations(string.ascii_letters))[:4]
    lengths = {label: length(draw, 3) for label in labels}
    terms = draw(st.lists(st.lists(st.sampled_from(labels), max_size=3), min_size=1, max_size=3))
    batch = any_shape(draw, 0, 2, 3) if draw(st.integers(0, 3)) == 3 else None
    spread = [batch is not None and draw(st.booleans()) for _ in terms]
    inputs = []
    for i, (term, dots) in enumerate(zip(terms, spread, strict=True)):
        shape = [lengths[label] for label in term]
        if dots:
            assert batch is not None
            at = draw(st.integers(0, len(term)))
            shape[at:at] = [n if draw(st.booleans()) else 1 for n in batch]
            terms[i] = [*term[:at], "...", *term[at:]]
        inputs.append(array(draw, tuple(shape), kind, extremes=True))
    equation = ",".join(map("".join, terms))
    if any(spread) or draw(st.booleans()):
        used = sorted({label for term in terms for label in term} - {"..."})
        output = draw(st.lists(st.sampled_from(used), unique=True)) if used else []
        if any(spread):
            output.insert(draw(st.integers(0, len(output))), "...")
        equation += "->" + "".join(output)
    if draw(st.booleans()):
        equation = equation.replace(",", " , ").replace("->", " -> ")
    return call("Einsum", inputs, version=version, equation=equation)


DRAW: Mapping[str, Callable[[st.DrawFn], Sample]] = {
    "MatMul": _matmul,
    "MatMulInteger": _matmul_integer,
    "Gemm": _gemm,
    "Einsum": _einsum,
}
