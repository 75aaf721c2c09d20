"""The catalogue of faults is complete, each fault changes some result, and samples hold the data that they promise."""

from __future__ import annotations

import collections
import contextlib
import functools

import numpy as np
import pytest

from reference import dtypes, magnitudes
from reference.evaluator import EvaluationError
from reference.node import Node
from reference.verify.diagnosis.causes import CAUSES
from tests.verification.data import RECIPES, fill
from tests.verification.faults import CATALOGUE, TIERS, bites, faults_of, right
from tests.verification.samples import sample
from tests.verification.specifications import SPECIFICATIONS


@functools.cache
def node_of(operator, variant, recipe, size=None, dtype="float32"):
    return Node.of(*sample(operator, variant, recipe, size, dtype))


def nodes_for(fault):
    """Nodes that the fault can happen to, on data on which it shows."""
    for operator, variants in SPECIFICATIONS.items():
        dtypes_of = (
            ("float32", "float64", "int64", "int32", "int8") if operator in ("Add", "Mul", "Sub") else ("float32", "float64")
        )
        for variant in variants:
            for dtype in dtypes_of:
                recipe = fault.recipes[0] if fault.recipes else "normal"
                with contextlib.suppress(EvaluationError):  # the operator does not have the type
                    if fault.applies(node := node_of(operator, variant, recipe, dtype=dtype)):
                        yield node


def test_there_is_a_fault_for_every_cause():
    assert not [cause for cause in CAUSES if not faults_of(cause)]


def test_faults_use_the_words_of_diagnosis_and_of_the_verdict():
    for fault in CATALOGUE:
        assert set(fault.causes) <= set(CAUSES), fault.name
        assert fault.tier in TIERS, fault.name
        assert set(fault.recipes) <= set(RECIPES), fault.name
    assert max(collections.Counter(fault.name for fault in CATALOGUE).values()) == 1


@pytest.mark.parametrize("fault", CATALOGUE, ids=lambda fault: fault.name)
def test_a_fault_changes_results_and_depends_on_its_seed_alone(fault):
    changed = 0
    for node in nodes_for(fault):
        outputs = fault.perform(node, np.random.default_rng(1))
        assert len(outputs) == len(node.results)
        for y, dtype in zip(outputs, node.output_types, strict=True):
            assert dtypes.name_of(y.dtype) == dtype
        if not bites(node, outputs):
            continue
        same = fault.perform(node, np.random.default_rng(1))
        assert [y.tobytes() for y in same] == [y.tobytes() for y in outputs]
        tier = fault.expected(node, outputs)
        assert tier in TIERS
        assert (tier == "shape") == any(y.shape != r.shape for y, r in zip(outputs, node.results, strict=True))
        changed += 1
        if changed == 6:
            break
    assert changed


@pytest.mark.parametrize("operator", SPECIFICATIONS)
def test_every_sample_can_be_evaluated_and_is_its_seeds_alone(operator):
    for variant in SPECIFICATIONS[operator]:
        for recipe in RECIPES:
            model, feeds = sample(operator, variant, recipe)
            again, other = sample(operator, variant, recipe)[1], sample(operator, variant, recipe, seed=1)[1]
            assert all(feeds[name].tobytes() == again[name].tobytes() for name in feeds)
            assert any(feeds[name].tobytes() != other[name].tobytes() for name in feeds)
            node = Node.of(model, feeds)
            assert not bites(node, right(node))
            assert operator == "ArgMax" or max(r.size for r in node.results) >= 500


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
@pytest.mark.parametrize("size", [9, 64, 1024])
@pytest.mark.parametrize("operator", ["MatMul", "Gemm", "Conv", "ReduceSum"])
def test_lattices_leave_room_for_every_partial_sum(operator, size, dtype):
    variant = "last" if operator == "ReduceSum" else "plain"
    node = node_of(operator, variant, "lattice", size, dtype)
    found = magnitudes.of(node)
    assert found is not None
    assert found.B.max() <= 2.0 ** dtypes.FLOATS[dtype].precision
    assert np.any(node.results[0])


def test_recipes_hold_what_they_promise():
    rng = np.random.default_rng(0)
    shape = (30, 40)
    grid = fill("grid", shape, "float32", rng).astype(np.float64)
    np.testing.assert_array_equal(dtypes.round_to(grid, "bfloat16"), grid)
    assert np.unique(fill("index", shape, "float32", rng)).size == 1200
    assert fill("positive", shape, "float32", rng).min() >= 0.5
    special = fill("special", shape, "float32", rng)
    for found in (np.isnan(special), np.isposinf(special), np.isneginf(special), special == 0):
        assert found.any()
    small = np.abs(fill("subnormal", shape, "float16", rng).astype(np.float64))
    assert np.mean((small > 0) & (small < 2.0**-14)) > 0.5
    np.testing.assert_array_equal(np.abs(fill("ties", shape, "float32", rng)) % 1, 0.5)
    with pytest.raises(KeyError):
        fill("anything", shape, "float32", rng)
