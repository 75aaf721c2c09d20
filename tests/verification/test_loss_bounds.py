"""Bounds of losses over classes: right for every order and formula, too narrow for what goes wrong."""

from __future__ import annotations

import numpy as np
import pytest

from reference.evaluator import apply
from tests.verification import formulas
from tests.verification.single_nodes import judged, node_of, ratio, stored

SEEDS = range(20)
REDUCTIONS = ("none", "sum", "mean")


def targets(seed, dtype, scale=1.0):
    """Scores (n, C, d), labels (n, d), weights (C)."""
    rng = np.random.default_rng(seed)
    classes, shape = int(rng.integers(2, 30)), (int(rng.integers(1, 40)), int(rng.integers(1, 6)))
    x = rng.normal(size=(shape[0], classes, shape[1])) * scale + (20 if seed % 4 == 1 else 0)
    return stored(x, dtype), rng.integers(0, classes, shape), stored(rng.uniform(0.25, 2, classes), dtype)


def chain(unit, terms, order=1):
    total = 0.0
    for term in terms.reshape(-1)[::order]:
        total = unit.add(total, term)
    return total


def reduced(unit, chosen, weights, reduction, variant):
    """A loss of chosen values and their weights, by one of two orders."""
    loss = unit.mul(-chosen, weights)
    if reduction == "none":
        return loss
    order = 1 if variant else -1
    if reduction == "sum":
        return chain(unit, loss, order)
    count = chain(unit, weights, order)
    if variant:
        return unit.div(chain(unit, loss, order), count)
    return chain(unit, unit.div(loss, count), order)


@pytest.mark.parametrize("dtype", formulas.FORMATS)
@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize("weighted", [False, True])
def test_every_order_of_a_likelihood_loss_stays_within_the_bound(reduction, weighted, dtype):
    for seed in SEEDS:
        x, labels, weights = targets(seed, dtype)
        inputs = [x, labels, weights] if weighted else [x, labels]
        attributes = {"reduction": reduction} | ({"ignore_index": 0} if seed % 3 == 0 else {})
        node = node_of("NegativeLogLikelihoodLoss", inputs, (dtype,), 22, **attributes)
        chosen = np.take_along_axis(x.astype(np.float64), labels[:, None], axis=1)[:, 0]
        factor = weights.astype(np.float64)[labels] if weighted else np.ones(labels.shape)
        used = labels != attributes.get("ignore_index", -1)
        if not used.any():
            continue
        for variant in (True, False):
            unit = formulas.Unit(dtype, "random", seed)
            got = reduced(unit, np.where(used, chosen, 0), np.where(used, factor, 0), reduction, variant)
            assert ratio(node, got, dtype) <= 1


def log_softmax(unit, x, variant):
    largest = x.max(axis=1, keepdims=True)
    shifted = unit.add(x, -largest)
    e = unit.exp(shifted)
    total = np.zeros(largest.shape)
    for k in range(x.shape[1]):
        total = unit.add(total, e[:, k : k + 1])
    if variant:
        return unit.add(shifted, -unit.log(total))
    return unit.add(x, -unit.add(largest, unit.log(total)))


@pytest.mark.parametrize("dtype", formulas.FORMATS)
@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize("weighted", [False, True])
def test_every_formula_of_cross_entropy_stays_within_the_bound(reduction, weighted, dtype):
    for seed in SEEDS:
        x, labels, weights = targets(seed, dtype, scale=1.0 + seed % 3)
        inputs = [x, labels, weights] if weighted else [x, labels]
        node = node_of("SoftmaxCrossEntropyLoss", inputs, (dtype, dtype), 13, reduction=reduction)
        factor = weights.astype(np.float64)[labels] if weighted else np.ones(labels.shape)
        for variant in (True, False):
            unit = formulas.Unit(dtype, "random", seed)
            inner = log_softmax(unit, x.astype(np.float64), variant)
            chosen = np.take_along_axis(inner, labels[:, None], axis=1)[:, 0]
            assert ratio(node, inner, dtype, 1) <= 1
            assert ratio(node, reduced(unit, chosen, factor, reduction, variant), dtype) <= 1


LOSSES = ("NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss")
FAULTS = {
    "weights ignored": lambda i, a: ([*i[:2], None], a),
    "ignore_index ignored": lambda i, a: (i, {k: v for k, v in a.items() if k != "ignore_index"}),
    "mean by number": lambda i, a: (i, a),
    "one target dropped": lambda i, a: ([i[0][:-1], i[1][:-1], i[2]], a),
    "summed": lambda i, a: (i, {**a, "reduction": "sum"}),
    "weights of a neighbour": lambda i, a: ([*i[:2], np.roll(i[2], 1)], a),
    "bfloat16": lambda i, a: ([stored(i[0], "bfloat16"), *i[1:]], a),
}


@pytest.mark.parametrize("operator", LOSSES)
@pytest.mark.parametrize("fault", list(FAULTS))
def test_faults_of_a_loss_fail(operator, fault):
    rng = np.random.default_rng(8)
    inputs = [rng.normal(size=(9, 6, 3)).astype(np.float32), rng.integers(0, 6, (9, 3)), rng.uniform(0.2, 3, 6).astype("f4")]
    attributes = {"reduction": "mean", "ignore_index": 2}
    wrong, changed = FAULTS[fault](inputs, attributes)
    reals = [None if v is None else np.asarray(v, np.float64) if v.dtype.kind != "i" else v for v in wrong]
    got = apply(operator, 13, reals, changed, n_outputs=1)[0]
    if fault == "mean by number":
        got = apply(operator, 13, reals, {**attributes, "reduction": "sum"}, n_outputs=1)[0] / inputs[1].size
    assert judged(operator, inputs, stored(got, "float32"), 13, **attributes).status == "mismatch"


def test_a_sum_of_weights_that_may_be_zero_is_open():
    x, labels = np.ones((2, 2), np.float32), np.array([0, 1])
    weights = np.array([1, -1 - 2.0**-23], np.float32)
    node = node_of("NegativeLogLikelihoodLoss", [x, labels, weights], ("float32",), 13)
    assert ratio(node, np.asarray(123.0), "float32") == 0
