"""Reductions of the reference: axes old and new, empty sets, wrapping integers, infinities, ties."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from reference.evaluator import apply

INF, NAN = np.inf, np.nan
REDUCTIONS = ["ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceSumSquare", "ReduceL1"]
REDUCTIONS += ["ReduceL2", "ReduceLogSum", "ReduceLogSumExp"]
AXIS_1 = np.array([1], np.int64)
NO_AXES = np.array([], np.int64)


def run(operator: str, *inputs: Any, version: int = 24, **attributes: Any) -> NDArray[Any]:
    (result,) = apply(operator, version, [None if x is None else np.asarray(x) for x in inputs], attributes)
    return result


def assert_close(got: NDArray[Any], expected: Any, rtol: float = 1e-15) -> None:
    np.testing.assert_allclose(got, expected, rtol=rtol, atol=0)


@pytest.mark.parametrize(
    ("operator", "expected"),
    [
        ("ReduceSum", [2.0, 12.0]),
        ("ReduceMean", [2 / 3, 4.0]),
        ("ReduceMax", [3.0, 5.0]),
        ("ReduceMin", [-2.0, 3.0]),
        ("ReduceProd", [-6.0, 60.0]),
        ("ReduceSumSquare", [14.0, 50.0]),
        ("ReduceL1", [6.0, 12.0]),
        ("ReduceL2", [math.sqrt(14), math.sqrt(50)]),
        ("ReduceLogSum", [math.log(2), math.log(12)]),
        ("ReduceLogSumExp", [math.log(math.e + math.e**-2 + math.e**3), math.log(math.e**3 + math.e**4 + math.e**5)]),
    ],
)
def test_values_and_axes(operator: str, expected: list[float]) -> None:
    x = np.array([[1.0, -2.0, 3.0], [3.0, 4.0, 5.0]])
    assert_close(run(operator, x, AXIS_1, keepdims=0), expected)
    assert_close(run(operator, x, AXIS_1 - 2), np.array(expected)[:, None])
    assert_close(run(operator, x, version=11, axes=[-1], keepdims=0), expected)
    assert_close(run(operator, x.T[:, :, None], np.array([-3, 2], np.int64), keepdims=0), expected)
    assert run(operator, x).shape == (1, 1)
    assert run(operator, x, NO_AXES, keepdims=0).shape == ()
    assert_close(run(operator, x, np.array([0, 1], np.int64)), run(operator, x.reshape(1, 6), AXIS_1))
    with pytest.raises(ValueError, match="axis 2 of a tensor of rank 2"):
        run(operator, x, np.array([2], np.int64))


@pytest.mark.parametrize(
    ("operator", "expected"),
    [
        ("ReduceSumSquare", [[4.0, 9.0]]),
        ("ReduceL1", [[2.0, 3.0]]),
        ("ReduceL2", [[2.0, 3.0]]),
        ("ReduceLogSum", [[NAN, math.log(3)]]),
    ]
    + [(o, [[-2.0, 3.0]]) for o in REDUCTIONS if o not in ("ReduceSumSquare", "ReduceL1", "ReduceL2", "ReduceLogSum")],
)
def test_no_axes_to_reduce_leaves_the_elementwise_part(operator: str, expected: list[list[float]]) -> None:
    for axes in (None, NO_AXES):
        assert_close(run(operator, [[-2.0, 3.0]], axes, noop_with_empty_axes=1, keepdims=0), expected)


@pytest.mark.parametrize(
    ("operator", "expected"),
    [
        ("ReduceSum", 0.0),
        ("ReduceMean", NAN),
        ("ReduceMax", -INF),
        ("ReduceMin", INF),
        ("ReduceProd", 1.0),
        ("ReduceSumSquare", 0.0),
        ("ReduceL1", 0.0),
        ("ReduceL2", 0.0),
        ("ReduceLogSum", -INF),
        ("ReduceLogSumExp", -INF),
    ],
)
def test_empty_sets(operator: str, expected: float) -> None:
    assert_close(run(operator, np.zeros((2, 0, 3)), AXIS_1), np.full((2, 1, 3), expected))
    assert run(operator, np.zeros((2, 0, 3)), np.array([2], np.int64), keepdims=0).shape == (2, 0)


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int32, np.uint32, np.int64, np.uint64])
def test_empty_sets_of_integers(dtype: Any) -> None:
    x = np.zeros((0,), dtype)
    info = np.iinfo(dtype)
    for operator, expected in (("ReduceMax", info.min), ("ReduceMin", info.max), ("ReduceSum", 0), ("ReduceProd", 1)):
        got = run(operator, x, keepdims=0)
        assert got.dtype == dtype
        assert int(got) == expected, operator
    assert int(run("ReduceMean", x, keepdims=0)) == 0


def test_booleans() -> None:
    x = np.array([[False, True], [False, False]])
    assert run("ReduceMax", x, AXIS_1, keepdims=0).tolist() == [True, False]
    assert run("ReduceMin", x, np.array([0], np.int64)).tolist() == [[False, False]]
    assert run("ReduceMax", x[:, :0], AXIS_1, keepdims=0).tolist() == [False, False]
    got = run("ReduceMin", x[:, :0], AXIS_1, keepdims=0)
    assert got.dtype == bool
    assert got.tolist() == [True, True]


def test_scalars_and_repeated_reduction() -> None:
    for operator in REDUCTIONS:
        assert run(operator, np.array(2.0)).shape == (), operator
        assert run(operator, np.array(2.0), keepdims=0).shape == (), operator


@pytest.mark.parametrize("operator", REDUCTIONS)
def test_nan_wins(operator: str) -> None:
    x = np.array([[1.0, NAN, -INF], [1.0, 2.0, 3.0]])
    got = run(operator, x, AXIS_1, keepdims=0)
    assert np.isnan(got[0])
    assert np.isfinite(got[1])


def test_infinities() -> None:
    x = np.array([[INF, 1.0], [-INF, 1.0], [-INF, -INF], [INF, -INF]])
    assert_close(run("ReduceSum", x, AXIS_1, keepdims=0), [INF, -INF, -INF, NAN])
    assert_close(run("ReduceLogSumExp", x, AXIS_1, keepdims=0), [INF, 1.0, -INF, INF])
    assert_close(run("ReduceL2", x, AXIS_1, keepdims=0), [INF, INF, INF, INF])
    assert_close(run("ReduceLogSum", [[-1.0], [0.0], [INF]], AXIS_1, keepdims=0), [NAN, -INF, INF])


def test_large_and_small_values_stay_in_range() -> None:
    assert_close(run("ReduceL2", [[3e200, 4e200], [3e-200, 4e-200], [3.0, 4.0]], AXIS_1, keepdims=0), [5e200, 5e-200, 5.0])
    assert_close(
        run("ReduceLogSumExp", [[1000.0, 1000.0], [-1000.0, -1000.0]], AXIS_1, keepdims=0),
        [1000.6931471805599, -999.3068528194401],
    )


def test_integer_sums_wrap_and_large_ones_are_exact() -> None:
    assert run("ReduceSum", np.array([2**31 - 1, 1], np.int32)).tolist() == [-(2**31)]
    assert run("ReduceSum", np.array([2**62, 2**62, -1], np.int64)).tolist() == [2**63 - 1]
    assert run("ReduceProd", np.array([2**31, 2], np.uint32)).tolist() == [0]
    assert run("ReduceSumSquare", np.array([65536, 3], np.int32)).tolist() == [9]
    assert run("ReduceL1", np.array([-(2**31), 0], np.int32)).tolist() == [-(2**31)]
    assert run("ReduceMax", np.array([2**53, 2**53 + 1], np.int64)).tolist() == [2**53 + 1]


def test_integer_means_truncate_the_exact_mean() -> None:
    rows = np.array([[7, 8], [-7, -8], [-1, 0], [2**31 - 1, 2**31 - 1], [-(2**31), -(2**31)]], np.int32)
    got = run("ReduceMean", rows, AXIS_1, keepdims=0)
    assert got.dtype == np.int32
    assert got.tolist() == [7, -7, 0, 2**31 - 1, -(2**31)]
    assert run("ReduceMean", np.array([2**63 - 1, 2**63 - 2, 2**63 - 3], np.int64)).tolist() == [2**63 - 2]
    assert run("ReduceMean", np.array([2**64 - 1, 2**64 - 2], np.uint64)).tolist() == [2**64 - 2]


def test_integer_norms_and_logarithms_truncate() -> None:
    assert run("ReduceL2", np.array([[3, 4], [1, 1]], np.int32), AXIS_1, keepdims=0).tolist() == [5, 1]
    assert run("ReduceLogSum", np.array([20, 1], np.int64)).tolist() == [3]
    assert run("ReduceLogSumExp", np.array([5, 5], np.uint32)).tolist() == [5]


def test_positions_of_extremes() -> None:
    x = np.array([[1.0, 3.0, 3.0], [-INF, -INF, -5.0]])
    got = run("ArgMax", x, axis=1)
    assert got.dtype == np.int64
    assert got.tolist() == [[1], [2]]
    assert run("ArgMax", x, axis=-1, keepdims=0, select_last_index=1).tolist() == [2, 2]
    assert run("ArgMin", x, axis=-1, keepdims=0).tolist() == [0, 0]
    assert run("ArgMin", x, axis=1, keepdims=0, select_last_index=1).tolist() == [0, 1]
    assert run("ArgMax", x, keepdims=0).tolist() == [0, 0, 0]
    assert run("ArgMin", np.array([3, 2**53 + 1, 2**53], np.uint64)).tolist() == [0]
    assert run("ArgMax", np.array([2**53, 2**53 + 1], np.uint64)).tolist() == [1]
    assert run("ArgMax", np.zeros((3, 0)), axis=0).shape == (1, 0)
    with pytest.raises(ValueError, match="empty"):
        run("ArgMax", np.zeros((3, 0)), axis=1)


@pytest.mark.parametrize(
    ("attributes", "expected"),
    [
        ({}, [1, 3, 6]),
        ({"exclusive": 1}, [0, 1, 3]),
        ({"reverse": 1}, [6, 5, 3]),
        ({"exclusive": 1, "reverse": 1}, [5, 3, 0]),
    ],
)
def test_running_sums(attributes: dict[str, int], expected: list[int]) -> None:
    for axis in (np.array(0, np.int32), np.array([-1], np.int64)):
        got = run("CumSum", np.array([1, 2, 3], np.int32), axis, **attributes)
        assert got.dtype == np.int32
        assert got.tolist() == expected
    columns = np.array([[1.0, 10.0], [2.0, 20.0], [3.0, 30.0]])
    assert_close(run("CumSum", columns, np.array(-2), **attributes), np.outer(expected, [1, 10]))


def test_running_sums_at_the_edges() -> None:
    assert run("CumSum", np.array([2**31 - 1, 1], np.int32), np.array(0)).tolist() == [2**31 - 1, -(2**31)]
    assert_close(run("CumSum", [1.0, INF, 2.0], np.array(0), exclusive=1), [0.0, 1.0, INF])
    assert run("CumSum", np.zeros((0, 2)), np.array(0), exclusive=1).shape == (0, 2)
    with pytest.raises(ValueError, match="axis 1 of a tensor of rank 1"):
        run("CumSum", [1.0], np.array(1))


@pytest.mark.parametrize(
    ("attributes", "expected"),
    [
        ({}, [2, 6, 24]),
        ({"exclusive": 1}, [1, 2, 6]),
        ({"reverse": 1}, [24, 12, 4]),
        ({"exclusive": 1, "reverse": 1}, [12, 4, 1]),
    ],
)
def test_running_products(attributes: dict[str, int], expected: list[int]) -> None:
    for axis in (np.array(0, np.int32), np.array(-1, np.int64)):
        got = run("CumProd", np.array([2, 3, 4], np.int32), axis, version=26, **attributes)
        assert got.dtype == np.int32
        assert got.tolist() == expected
    columns = np.array([[2.0, 1.0], [3.0, 1.0], [4.0, 1.0]])
    products = run("CumProd", columns, np.array(-2), version=26, **attributes)
    assert_close(products, np.stack([expected, np.ones(3)], axis=1))


def test_running_products_at_the_edges() -> None:
    assert run("CumProd", np.array([2**31, 2], np.uint32), np.array(0), version=26).tolist() == [2**31, 0]
    assert_close(run("CumProd", [2.0, 0.0, INF, 3.0], np.array(0), version=26), [2.0, 0.0, NAN, NAN])
    assert_close(run("CumProd", [2.0, 0.0, 5.0], np.array(0), version=26, exclusive=1), [1.0, 2.0, 0.0])
    assert run("CumProd", np.zeros((0, 2)), np.array(0), version=26, exclusive=1).shape == (0, 2)


def top_k(x: Any, k: int, version: int = 24, **attributes: Any) -> tuple[list[Any], list[Any]]:
    values, indices = apply("TopK", version, [np.asarray(x), np.array([k], np.int64)], attributes)
    assert values.dtype == np.asarray(x).dtype
    assert indices.dtype == np.int64
    return values.tolist(), indices.tolist()


def test_top_k_orders_equals_by_index() -> None:
    x = [3.0, 1.0, 3.0, 2.0, 3.0]
    assert top_k(x, 4) == ([3.0, 3.0, 3.0, 2.0], [0, 2, 4, 3])
    assert top_k(x, 3, largest=0) == ([1.0, 2.0, 3.0], [1, 3, 0])
    assert top_k(x, 2, version=10) == ([3.0, 3.0], [0, 2])
    assert top_k(x, 0) == ([], [])
    assert top_k([0.0, -0.0, 0.0], 3) == ([0.0, -0.0, 0.0], [0, 1, 2])


def test_top_k_along_other_axes_and_of_integers() -> None:
    x = np.array([[1, 9], [200, 9], [7, 255]], np.uint8)
    assert top_k(x, 2, axis=0) == ([[200, 255], [7, 9]], [[1, 2], [2, 0]])
    assert top_k(x, 1, axis=-2, largest=0) == ([[1, 9]], [[0, 0]])
    lowest = np.array([-(2**63), 0, 2**63 - 1], np.int64)
    assert top_k(lowest, 3) == ([2**63 - 1, 0, -(2**63)], [2, 1, 0])
    assert top_k([INF, -INF, 0.0], 3) == ([INF, 0.0, -INF], [0, 2, 1])


def test_top_k_with_k_as_attribute() -> None:
    values, indices = apply("TopK", 1, [np.array([[1.0, 3.0, 2.0]])], {"k": 2})
    assert values.tolist() == [[3.0, 2.0]]
    assert indices.tolist() == [[1, 2]]
    with pytest.raises(ValueError, match="k = 4 of an axis of 3"):
        apply("TopK", 1, [np.array([[1.0, 3.0, 2.0]])], {"k": 4})


def test_integer_norms_and_logarithms_beyond_float64() -> None:
    big = 2**53 + 1
    assert run("ReduceL2", np.array([big, 0], np.int64)).tolist() == [big]
    assert run("ReduceL2", np.array([3 * 2**61, 2**63], np.uint64)).tolist() == [5 * 2**61]
    assert run("ReduceL2", np.array([2**31 - 1, 0], np.int32)).tolist() == [2**31 - 1]
    assert run("ReduceLogSum", np.array([2**62 + 20, -(2**62)], np.int64), version=18).tolist() == [2]  # ln 20 = 2.99
    assert run("ReduceLogSum", np.array([2**63, 2**63], np.uint64), version=18).tolist() == [44]  # 64·ln 2 = 44.36
    assert run("ReduceLogSumExp", np.array([big, big - 1], np.int64), version=18).tolist() == [big]
    # three equal values add ln 3 = 1.0986: toward zero from -1.9
    assert run("ReduceLogSumExp", np.array([-3, -3, -3], np.int32), version=18).tolist() == [-1]
    assert run("ReduceLogSumExp", np.array([3, 3, 3], np.uint32), version=18).tolist() == [4]
    lowest = -(2**63)
    assert run("ReduceLogSumExp", np.array([lowest, 2**63 - 1], np.int64), version=18).tolist() == [2**63 - 1]


def test_axes_that_do_not_fit() -> None:
    x = np.zeros((2, 3))
    with pytest.raises(ValueError, match="name an axis twice"):
        run("ReduceSum", x, np.array([1, -1], np.int64))
    for operator in ("ArgMax", "ArgMin"):
        with pytest.raises(ValueError, match="axis -3 of a tensor of rank 2"):
            run(operator, x, axis=-3)
    with pytest.raises(ValueError, match="axis 2 of a tensor of rank 2"):
        run("TopK", x, np.array([1], np.int64), axis=2)
    with pytest.raises(ValueError, match=r"K has shape \(2,\)"):
        run("TopK", x, np.array([1, 1], np.int64))
    with pytest.raises(ValueError, match=r"axis has shape \(2,\)"):
        run("CumSum", x, np.array([0, 1]))
    assert run("ReduceSum", np.array(5.0), version=1).tolist() == 5.0
