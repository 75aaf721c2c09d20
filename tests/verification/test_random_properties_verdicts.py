"""Verdicts on random operators: correct generators pass, wrong ones are told."""

from __future__ import annotations

import numpy as np
import pytest

from reference import random_properties
from reference.verify import properties
from tests.verification.single_nodes import node_of, stored

ATTRIBUTES = {
    "RandomNormal": {"shape": [20, 30], "mean": 1.0, "scale": 2.0},
    "RandomUniform": {"shape": [20, 30], "low": -1.0, "high": 3.0},
}


def normal(rng, dtype="float32"):
    return stored(rng.normal(1, 2, (20, 30)), dtype)


def uniform(rng, dtype="float32"):
    return stored(np.clip(rng.uniform(-1, 3, (20, 30)), -1, 3), dtype)


def verdict(operator, got, inputs=(), version=22, **attributes):
    node = node_of(operator, list(inputs), [g.dtype.name for g in got], version, **attributes)
    return properties.verify_random(node, got)


@pytest.mark.parametrize(("operator", "draw"), [("RandomNormal", normal), ("RandomUniform", uniform)])
def test_correct_generators_are_recorded_and_not_judged(operator, draw):
    for seed in range(30):
        (found,) = verdict(operator, [draw(np.random.default_rng(seed))], **ATTRIBUTES[operator])
        assert (found.status, found.numbers["open"]) == ("implementation_defined", 600)


@pytest.mark.parametrize("fault", ["constant", "other distribution", "out of range", "repeated rows", "scale ignored"])
def test_wrong_generators_are_mismatches(fault):
    rng = np.random.default_rng(3)
    y = uniform(rng)
    got = {
        "constant": np.full_like(y, 0.5),
        "other distribution": stored(np.clip(rng.normal(1, 0.5, y.shape), -1, 3), "float32"),
        "out of range": y + 1,
        "repeated rows": np.broadcast_to(y[:1], y.shape).copy(),
        "scale ignored": stored(rng.uniform(0, 1, y.shape), "float32"),
    }[fault]
    (found,) = verdict("RandomUniform", [got], **ATTRIBUTES["RandomUniform"])
    assert (found.status, found.tier) == ("mismatch", "properties")
    assert found.message.startswith("y0: ")


def test_probabilities_reach_the_check_in_their_own_type():
    p = stored(np.linspace(0, 1, 400).reshape(20, 20), "float16")
    right = (np.random.default_rng(1).uniform(size=p.shape) < p).astype(np.float16)
    assert verdict("Bernoulli", [right], [p])[0].status == "implementation_defined"
    assert verdict("Bernoulli", [1 - right], [p])[0].status == "mismatch"
    logits = np.log(np.array([[0.1, 0.2, 0.7]], np.float32))
    drawn = np.random.default_rng(1).choice(3, (1, 500), p=[0.1, 0.2, 0.7]).astype(np.int32)
    assert verdict("Multinomial", [drawn], [logits], sample_size=500)[0].status == "implementation_defined"
    assert verdict("Multinomial", [2 - drawn], [logits], sample_size=500)[0].status == "mismatch"


def dropout(got, mask, x, ratio=0.25):
    return verdict("Dropout", [got, mask], [x, np.array(ratio, np.float32), np.array(True)])


def test_a_dropout_that_trains_is_random_and_judged_by_its_mask():
    rng = np.random.default_rng(5)
    x = rng.normal(size=(30, 20)).astype(np.float32)
    mask = rng.uniform(size=x.shape) >= 0.25
    y = stored(x.astype(float) * mask / 0.75, "float32")
    assert [v.status for v in dropout(y, mask, x)] == ["implementation_defined"] * 2
    assert dropout(stored(x * mask, "float32"), mask, x)[0].status == "mismatch"
    assert dropout(x / 0.75, np.ones_like(mask), x)[0].status == "mismatch"
    assert dropout(stored(x.astype(float) * ~mask / 0.75, "float32"), ~mask, x)[0].status == "mismatch"


def test_a_dropout_at_rest_is_not_random():
    x = np.ones((2, 3), np.float32)
    at_rest = node_of("Dropout", [x, np.array(0.5, np.float32), np.array(False)], ("float32",), 13)
    keeping = node_of("Dropout", [x, np.array(0.0, np.float32), np.array(True)], ("float32",), 13)
    assert not properties.is_random(at_rest)
    assert not properties.is_random(keeping)
    assert properties.is_random(node_of("Dropout", [x], ("float32",), 6, ratio=0.5))
    with pytest.raises(ValueError, match="not random"):
        properties.verify_random(at_rest, [x])


def test_false_alarms_stay_rare_over_a_whole_run():
    assert random_properties.FALSE_ALARM * 25_000 < 0.01
