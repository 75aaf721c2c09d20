"""Logic, comparisons and bit operations of the reference: truth tables, NaN, both infinities, shifts by the width."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from reference.evaluator import apply

INF, NAN = np.inf, np.nan
FALSE_TRUE = np.array([False, False, True, True]), np.array([False, True, False, True])


def run(operator: str, *inputs: Any, version: int = 22, **attributes: Any) -> NDArray[Any]:
    (result,) = apply(operator, version, [np.asarray(x) for x in inputs], attributes)
    return result


@pytest.mark.parametrize(
    ("operator", "expected"),
    [("And", [0, 0, 0, 1]), ("Or", [0, 1, 1, 1]), ("Xor", [0, 1, 1, 0]), ("Equal", [1, 0, 0, 1])],
)
def test_truth_tables(operator: str, expected: list[int]) -> None:
    got = run(operator, *FALSE_TRUE)
    assert got.dtype == bool
    assert got.tolist() == [bool(v) for v in expected]
    column, row = np.array([[False], [True]]), np.array([False, True])
    assert run(operator, column, row).reshape(-1).tolist() == got.tolist()


def test_not() -> None:
    assert run("Not", FALSE_TRUE[1]).tolist() == [True, False, True, False]
    assert run("Not", np.zeros((0, 3), bool)).shape == (0, 3)


@pytest.mark.parametrize(
    ("operator", "expected"),
    [
        ("Equal", [0, 1, 1, 0, 1, 0]),
        ("Greater", [0, 0, 0, 0, 0, 1]),
        ("Less", [1, 0, 0, 0, 0, 0]),
        ("GreaterOrEqual", [0, 1, 1, 0, 1, 1]),
        ("LessOrEqual", [1, 1, 1, 0, 1, 0]),
    ],
)
def test_comparisons_of_reals(operator: str, expected: list[int]) -> None:
    got = run(operator, [1.0, 2.0, 0.0, NAN, INF, INF], [2.0, 2.0, -0.0, NAN, INF, -INF])
    assert got.dtype == bool
    assert got.tolist() == [bool(v) for v in expected]


def test_comparisons_of_large_integers_are_exact() -> None:
    a, b = np.array([2**53 + 1, 2**63 - 1], np.int64), np.array([2**53, 2**63 - 2], np.int64)
    assert run("Greater", a, b).tolist() == [True, True]
    assert run("Equal", a, b).tolist() == [False, False]
    assert run("Less", np.array([2**63], np.uint64), np.array([2**63 + 1], np.uint64)).tolist() == [True]


def test_classes_of_reals() -> None:
    x = np.array([[NAN, INF, -INF], [0.0, -1.0, 1e308]])
    assert run("IsNaN", x).tolist() == [[True, False, False], [False, False, False]]
    assert run("IsInf", x).tolist() == [[False, True, True], [False, False, False]]
    assert run("IsInf", x[0], detect_negative=0).tolist() == [False, True, False]
    assert run("IsInf", x[0], detect_positive=0).tolist() == [False, False, True]
    assert run("IsInf", x[0], detect_positive=0, detect_negative=0).tolist() == [False, False, False]


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.uint32, np.uint64])
def test_shifts(dtype: Any) -> None:
    width = np.dtype(dtype).itemsize * 8
    top = 2**width - 1
    x, y = np.array([top, top, top, top, 1], dtype), np.array([0, 1, width - 1, width, 255], dtype)
    left = run("BitShift", x, y, direction="LEFT")
    assert left.dtype == dtype
    assert left.tolist() == [top, top - 1, 2 ** (width - 1), 0, 0]
    assert run("BitShift", x, y, direction="RIGHT").tolist() == [top, top // 2, 1, 0, 0]


def test_shift_directions_are_spelt_out() -> None:
    with pytest.raises(ValueError, match="LEFT or RIGHT"):
        run("BitShift", np.array([1], np.uint8), np.array([1], np.uint8), direction="left")


def test_bits() -> None:
    a, b = np.array([0b1100, -1], np.int8), np.array([0b1010, 0x55], np.int8)
    assert run("BitwiseAnd", a, b).tolist() == [0b1000, 0x55]
    assert run("BitwiseOr", a, b).tolist() == [0b1110, -1]
    assert run("BitwiseXor", a, b).tolist() == [0b0110, -0x56]
    assert run("BitwiseNot", a).tolist() == [-13, 0]
    assert run("BitwiseNot", np.array([0, 255], np.uint8)).tolist() == [255, 0]
    assert run("BitwiseAnd", np.full((2, 1), 6, np.uint64), np.array([3, 4], np.uint64)).tolist() == [[2, 4], [2, 4]]


def test_limited_broadcasting_of_the_first_opsets() -> None:
    a, b = np.zeros((2, 3, 2), np.int32), np.array([0, 1, 0], np.int32)
    got = run("Equal", a, b, version=1, broadcast=1, axis=1)
    assert got.all(axis=(0, 2)).tolist() == [True, False, True]
    with pytest.raises(ValueError, match="is no part of"):
        run("Less", a, b, version=1, broadcast=1)


@pytest.mark.parametrize("dtype", [np.int8, np.int16, np.int32, np.int64])
def test_shifts_of_signed_integers(dtype: Any) -> None:
    width = np.dtype(dtype).itemsize * 8
    low = -(2 ** (width - 1))
    x = np.array([low, -1, 5, -8, -8, 8, 8], dtype)
    y = np.array([width - 1, 1, 1, width, -1, width, -1], dtype)
    right = run("BitShift", x, y, version=28, direction="RIGHT")
    assert right.dtype == dtype
    assert right.tolist() == [-1, -1, 2, -1, -1, 0, 0]
    # 2^(width-2)·2 moves into the sign, the lowest integer past it
    x, y = np.array([2 ** (width - 2), low, -1, -1, 3], dtype), np.array([1, 1, width - 1, width, -1], dtype)
    assert run("BitShift", x, y, version=28, direction="LEFT").tolist() == [low, 0, low, 0, 0]


def test_equality_of_strings_is_by_character() -> None:
    a, b = np.array(["a", "A", "", "é"], object), np.array(["a", "a", "", "e\u0301"], object)
    got = run("Equal", a, b)
    assert got.dtype == bool
    assert got.tolist() == [True, False, True, False]
    assert run("Equal", a.reshape(4, 1), b[:0]).shape == (4, 0)
