"""Bounds of CumProd, Col2Im and TfIdfVectorizer."""

from __future__ import annotations

import numpy as np
import pytest

from reference.evaluator import apply
from reference.verify import modes
from tests.verification import formulas
from tests.verification.single_nodes import judged, node_of, ratio, stored

SEEDS = range(20)


def running(unit, x):
    y = x.copy()
    for k in range(1, x.shape[-1]):
        y[..., k] = unit.mul(y[..., k - 1], x[..., k])
    return y


def scanned(unit, x):
    """By doubling distances (Hillis and Steele)."""
    y, distance = x.copy(), 1
    while distance < x.shape[-1]:
        y[..., distance:] = unit.mul(y[..., distance:], y[..., :-distance])
        distance *= 2
    return y


@pytest.mark.parametrize("dtype", formulas.FORMATS)
@pytest.mark.parametrize("method", [running, scanned])
def test_every_order_of_a_running_product_stays_within_the_bound(method, dtype):
    for seed in SEEDS:
        rng = np.random.default_rng(seed)
        x = stored(rng.normal(size=(3, int(rng.integers(1, 30)))) + [0.0, 1.0, 2.0][seed % 3], dtype)
        x[0, 0] = 0 if seed % 7 == 0 else x[0, 0]
        real, unit = x.astype(np.float64), formulas.Unit(dtype)
        for reverse in (0, 1):
            flipped = real[:, ::-1] if reverse else real
            y = method(unit, np.ascontiguousarray(flipped))
            for exclusive in (0, 1):
                got = np.concatenate([np.ones((3, 1)), y[:, :-1]], axis=1) if exclusive else y
                node = node_of("CumProd", [x, np.array(1)], (dtype,), 26, reverse=reverse, exclusive=exclusive)
                assert ratio(node, got[:, ::-1] if reverse else got, dtype) <= 1


@pytest.mark.parametrize("fault", ["sum", "other direction", "exclusive", "last factor dropped", "bfloat16"])
def test_faults_of_a_running_product_fail(fault):
    x = (np.random.default_rng(1).normal(size=(2, 9)) + 2).astype(np.float32)
    real = x.astype(np.float64)
    got = {
        "sum": np.cumsum(real, axis=1),
        "other direction": np.cumprod(real[:, ::-1], axis=1)[:, ::-1],
        "exclusive": np.concatenate([np.ones((2, 1)), np.cumprod(real, axis=1)[:, :-1]], axis=1),
        "last factor dropped": np.cumprod(np.where(np.arange(9) < 8, real, 1), axis=1),
        "bfloat16": np.cumprod(stored(x, "bfloat16").astype(float), axis=1),
    }[fault]
    assert modes.mode_of("CumProd") == "PRODUCT"
    assert judged("CumProd", [x, np.array(1)], stored(got, "float32"), 26).status == "mismatch"


def folded(unit, x, image, block, strides, order):
    """Col2Im of one channel, blocks added in the order of their numbers or from the last on."""
    total = np.zeros(image)
    rows, columns = ((n - k) // s + 1 for n, k, s in zip(image, block, strides, strict=True))
    for number in list(np.ndindex(rows, columns, *block))[::order]:
        i, j, a, b = number
        where = i * strides[0] + a, j * strides[1] + b
        total[where] = unit.add(total[where], x[a * block[1] + b, i * columns + j])
    return total


@pytest.mark.parametrize("dtype", formulas.FORMATS)
def test_every_order_of_folding_stays_within_the_bound(dtype):
    for seed in SEEDS:
        rng = np.random.default_rng(seed)
        image, block, strides = (8, 7), (3, 2), (1 + seed % 3, 1 + seed % 2)
        blocks = ((8 - 3) // strides[0] + 1) * ((7 - 2) // strides[1] + 1)
        x = stored(rng.normal(size=(1, 6, blocks)), dtype)
        inputs = [x, np.array(image), np.array(block)]
        node = node_of("Col2Im", inputs, (dtype,), 18, strides=list(strides))
        for order in (1, -1):
            got = folded(formulas.Unit(dtype), x[0].astype(np.float64), image, block, strides, order)
            assert ratio(node, got[None, None], dtype) <= 1


@pytest.mark.parametrize("fault", ["overwritten", "strides ignored", "block transposed", "mean", "bfloat16"])
def test_faults_of_folding_fail(fault):
    x = np.random.default_rng(1).normal(size=(1, 4, 16)).astype(np.float32)
    image, block = np.array([5, 5]), np.array([2, 2])
    inputs = [x, image, block]
    (right,) = apply("Col2Im", 18, [x.astype(float), image, block], {})
    (counts,) = apply("Col2Im", 18, [np.ones(x.shape), image, block], {})
    got = {
        "overwritten": right - (counts > 1) * 0.25,
        "strides ignored": np.roll(right, 1, axis=-1),
        "block transposed": apply("Col2Im", 18, [x[:, [0, 2, 1, 3]].astype(float), image, block], {})[0],
        "mean": right / counts,
        "bfloat16": apply("Col2Im", 18, [stored(x, "bfloat16").astype(float), image, block], {})[0],
    }[fault]
    assert judged("Col2Im", inputs, stored(right, "float32"), 18).status == "pass"
    assert judged("Col2Im", inputs, stored(got, "float32"), 18).status == "mismatch"


GRAMS = {
    "max_gram_length": 2,
    "min_gram_length": 1,
    "max_skip_count": 2,
    "ngram_counts": [0, 3],
    "ngram_indexes": [0, 1, 2, 3, 4],
    "pool_int64s": [1, 2, 3, 1, 2, 2, 3],
    "weights": [0.1, 0.7, 1.3, 2.9, 0.05],
}


@pytest.mark.parametrize("mode", ["TF", "IDF", "TFIDF"])
def test_counts_of_grams_are_exact_and_weights_nearly(mode):
    tokens = np.random.default_rng(2).integers(1, 4, (3, 40))
    node = node_of("TfIdfVectorizer", [tokens], ("float32",), 9, **GRAMS, mode=mode)
    right = node.results[0]
    assert judged("TfIdfVectorizer", [tokens], stored(right, "float32"), 9, **GRAMS, mode=mode).status == "pass"
    for wrong in (right + 1, np.roll(right, 1, axis=1), right * (1 + 2.0**-10)):
        assert judged("TfIdfVectorizer", [tokens], stored(wrong, "float32"), 9, **GRAMS, mode=mode).status == "mismatch"


def test_weights_may_be_added_up_one_by_one():
    tokens = np.random.default_rng(2).integers(1, 4, (3, 40))
    node = node_of("TfIdfVectorizer", [tokens], ("float32",), 9, **GRAMS, mode="TFIDF")
    times = node_of("TfIdfVectorizer", [tokens], ("float32",), 9, **GRAMS, mode="TF").results[0]
    unit, got = formulas.Unit("float32"), np.zeros(times.shape)
    for k in range(int(times.max())):
        got = np.where(k < times, unit.add(got, np.float32(GRAMS["weights"]).astype(float)), got)
    assert ratio(node, got, "float32") <= 1
