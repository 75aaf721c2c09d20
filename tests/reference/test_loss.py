"""Losses and Dropout of the reference: weights, ignored targets, reductions; the laws that hold of any random mask."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from reference.evaluator import apply

INF, NAN = np.inf, np.nan
NLL, SCE = "NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss"

# Two samples of three classes at two places; the targets choose -8, -2, -1, -16.
X = -np.array([[[1.0, 2.0], [4.0, 2.0], [8.0, 32.0]], [[1.0, 0.5], [2.0, 4.0], [64.0, 16.0]]])
TARGET = np.array([[2, 0], [0, 2]])
WEIGHT = np.array([0.5, 1.0, 4.0])


def nll(x: Any, target: Any, weight: Any = None, version: int = 22, **attributes: Any) -> NDArray[Any]:
    inputs = [None if v is None else np.asarray(v) for v in (x, target, weight)]
    (result,) = apply(NLL, version, inputs, attributes)
    return result


@pytest.mark.parametrize("version", [12, 13, 22])
@pytest.mark.parametrize("target", [TARGET, TARGET.astype(np.int32)])
def test_reductions(version: int, target: NDArray[Any]) -> None:
    np.testing.assert_array_equal(nll(X, target, version=version, reduction="none"), [[8, 2], [1, 16]])
    assert nll(X, target, version=version, reduction="sum").item() == 27
    mean = nll(X, target, version=version)
    assert (mean.shape, mean.item()) == ((), 27 / 4)


def test_weights_of_classes() -> None:
    """Weights 4, 1/2, 1/2 and 4: 32 + 1 + 1/2 + 64 by 9."""
    np.testing.assert_array_equal(nll(X, TARGET, WEIGHT, reduction="none"), [[32, 1], [0.5, 64]])
    assert nll(X, TARGET, WEIGHT, reduction="sum").item() == 97.5
    assert nll(X, TARGET, WEIGHT).item() == 97.5 / 9


@pytest.mark.parametrize("ignore_index", [1, -1, -100, 3, 1000])
@pytest.mark.parametrize("weight", [None, WEIGHT])
def test_ignored_targets_have_neither_loss_nor_weight(ignore_index: int, weight: NDArray[Any] | None) -> None:
    x = X.copy()
    x[0, :, 1] = NAN
    target = np.array([[2, ignore_index], [0, 2]])
    total, weights = (25, 3) if weight is None else (96.5, 8.5)
    attributes = {"ignore_index": ignore_index}
    assert nll(x, target, weight, reduction="none", **attributes)[0, 1] == 0
    assert nll(x, target, weight, reduction="sum", **attributes).item() == total
    assert nll(x, target, weight, **attributes).item() == total / weights


def test_nothing_but_ignored_targets_and_nothing_at_all() -> None:
    for x, target in ((X[:, :0], np.full((2, 2), 7)), (X, np.full((2, 2), 7)), (X[:0], TARGET[:0])):
        np.testing.assert_array_equal(nll(x, target, reduction="none", ignore_index=7), np.zeros(target.shape))
        assert nll(x, target, reduction="sum", ignore_index=7).item() == 0
        assert math.isnan(nll(x, target, ignore_index=7).item())


def test_samples_without_places() -> None:
    np.testing.assert_array_equal(nll([[-1.0, -2.0], [-4.0, -8.0]], [1, 0], reduction="none"), [2, 4])


@pytest.mark.parametrize(
    ("target", "weight", "attributes", "message"),
    [
        (TARGET, None, {"reduction": "max"}, "reduction 'max', expected none, sum or mean"),
        (TARGET[:, :1], None, {}, r"targets of shape \(2, 1\) for scores of shape \(2, 3, 2\)"),
        (TARGET, WEIGHT[:2], {}, r"weights of shape \(2,\) for 3 classes"),
        (TARGET + 1, None, {}, "a target outside the 3 classes is not ignore_index"),
        (TARGET - 1, None, {"ignore_index": 3}, "a target outside the 3 classes is not ignore_index"),
    ],
)
def test_what_does_not_fit(target: Any, weight: Any, attributes: dict[str, Any], message: str) -> None:
    for operator in (NLL, SCE):
        with pytest.raises(ValueError, match=message):
            apply(operator, 13, [X, target, weight], attributes)


@pytest.mark.parametrize("version", [12, 13])
def test_cross_entropy_with_its_logarithms(version: int) -> None:
    """Probabilities 1/4, 3/4 and 1/2, 1/2."""
    scores = np.array([[0.0, math.log(3)], [5.0, 5.0]])
    logarithms = -np.log([[4, 4 / 3], [2, 2]])
    for attributes, expected in (
        ({"reduction": "none"}, -logarithms[:, 1]),
        ({"reduction": "sum"}, -logarithms[:, 1].sum()),
        ({}, -logarithms[:, 1].sum() / 2),
        ({"ignore_index": 1, "reduction": "sum"}, 0),
    ):
        loss, log_prob = apply(SCE, version, [scores, np.array([1, 1])], attributes, n_outputs=2)
        np.testing.assert_allclose(loss, expected, rtol=1e-15)
        np.testing.assert_allclose(log_prob, logarithms, rtol=1e-15)


def test_cross_entropy_with_weights_and_without_overflow() -> None:
    """Losses 1000 and 2000 of weights 3 and 1."""
    scores = np.array([[[1000.0, 0.0], [0.0, 2000.0]]])
    loss, _ = apply(SCE, 13, [scores, np.array([[1, 0]]), np.array([1.0, 3.0])], {})
    assert loss.item() == 5000 / 4
    with pytest.raises(ValueError, match=r"scores of shape \(3,\)"):
        apply(SCE, 13, [np.zeros(3), np.array(1)], {})


TRUE = np.array(True)
DATA = np.array([1.0, -2.0, INF, NAN, 0.0])


@pytest.mark.parametrize(
    ("version", "attributes", "rest", "dtype"),
    [
        (1, {"is_test": 1}, [], np.float64),
        (6, {"is_test": 1, "ratio": 0.9}, [], np.float64),
        (7, {}, [], np.float64),
        (10, {"ratio": 0.9}, [], bool),
        (12, {}, [], bool),
        (13, {}, [np.array(0.9)], bool),
        (22, {"seed": 3}, [np.array(0.9), np.array(False)], bool),
        (22, {}, [np.array(0.0), TRUE], bool),
        (22, {}, [np.array(9.0), np.array(False)], bool),
    ],
)
def test_dropout_outside_training_is_a_copy(version: int, attributes: dict[str, Any], rest: list[Any], dtype: Any) -> None:
    y, mask = apply("Dropout", version, [DATA, *rest], attributes, n_outputs=2)
    np.testing.assert_array_equal(y, DATA)
    np.testing.assert_array_equal(mask, np.ones(5))
    assert mask.dtype == dtype


@pytest.mark.parametrize(
    ("version", "attributes", "rest", "ratio"),
    [
        (1, {}, [], 0.5),
        (6, {"ratio": 0.25}, [], 0.25),
        (12, {}, [None, TRUE], 0.5),
        (13, {"seed": -1}, [np.array(0.25, np.float16), TRUE], 0.25),
        (22, {"seed": 2**40}, [np.array(0.75), TRUE], 0.75),
    ],
)
def test_dropout_in_training(version: int, attributes: dict[str, Any], rest: list[Any], ratio: float) -> None:
    x = np.linspace(1, 2, 10_000).reshape(100, 100)
    y, mask = apply("Dropout", version, [x, *rest], attributes, n_outputs=2)
    np.testing.assert_array_equal(y, x * mask / (1 - ratio))
    # Within five standard deviations of a binomial distribution.
    assert abs(mask.mean() - (1 - ratio)) < 5 * math.sqrt(ratio * (1 - ratio) / x.size)
    again, _ = apply("Dropout", version, [x, *rest], attributes)
    np.testing.assert_array_equal(again, y)


def test_another_seed_is_another_mask() -> None:
    x = np.ones(100)
    first, second = (apply("Dropout", 22, [x, None, TRUE], {"seed": seed})[0] for seed in (1, 2))
    assert np.any(first != second)


@pytest.mark.parametrize("ratio", [1.0, -0.5, NAN])
def test_ratios(ratio: float) -> None:
    with pytest.raises(ValueError, match="expected 0 up to 1, not 1 itself"):
        apply("Dropout", 22, [DATA, np.array(ratio), TRUE], {})
