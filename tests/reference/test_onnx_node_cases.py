"""The reference against ONNX's own node cases: every model of domain ai.onnx, of one node or of a function's expansion."""

from __future__ import annotations

import functools
import re
import warnings
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import onnx
import pytest
from onnx import numpy_helper

from reference import dtypes, evaluator, oracle, propagation, random_properties
from reference.evaluator import evaluate
from reference.node import Node

EXCLUDED: dict[str, str] = {
    "test_resize_downsample_scales_linear_align_corners": "the stored output takes length·scale unrounded for "
    "length_resized, which the text calls the length of the resized tensor; such elements are open in verification",
    "test_resize_downsample_scales_cubic_align_corners": "as test_resize_downsample_scales_linear_align_corners",
    "test_dynamicquantizelinear": "one element is an exact tie, which the stored output breaks by float32 arithmetic; "
    "verification accepts both neighbours",
    "test_dynamicquantizelinear_expanded": "as test_dynamicquantizelinear",
    "test_averagepool_2d_ceil_last_window_starts_on_pad": "the stored output is typed with four decimals",
    "test_gridsample_bicubic": "the stored output is typed with four decimals",
    "test_roialign_aligned_false": "the stored output is typed with four decimals",
    "test_roialign_aligned_true": "the stored output is typed with four decimals",
    "test_roialign_mode_max": "the stored output is the largest product of an element and its weight; the text interpolates "
    "first (github.com/onnx/onnx/issues/4764)",
    "test_maxunpool_export_with_output_shape": "the stored output takes indices as those of a smaller tensor, of the shape "
    "without output_shape, so that it does not invert MaxPool (github.com/onnx/onnx/issues/2398)",
}
"""Case name → why the reference is not held to ONNX's stored output. docs/reference.md lists them too."""

TOLERANCE = {"float64": 1e-7, "float32": 1e-5, "float16": 4e-3, "bfloat16": 2e-2}
"""Relative, and absolute near 1: the stored outputs are computed in the type of the case, rounding at each step."""


@functools.cache
def node_cases() -> dict[str, Any]:
    """Case name → onnx.backend.test.case.test_case.TestCase."""
    from onnx.backend.test.case.node import collect_testcases

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        collected = collect_testcases(None)
    return {case.name: case for case in collected if {node.domain for node in case.model.graph.node} <= {"", "ai.onnx"}}


NARROW = re.compile(r"test_cast(like)?_FLOAT(16)?_to_U?INT[24](_expanded)?")
"""Casts of reals to types that hold few of them: ONNX leaves open what becomes of those out of range, and what it stores for
them depends on the version of ml_dtypes.
"""

RANDOM = frozenset(name for name in node_cases() if re.match("test_(bernoulli|training_dropout)(?!.*zero_ratio)", name))
"""Cases whose stored output is one of many right ones: judged by property."""


def value(stored: Any) -> Any:
    """A stored input or output, which may be a NumPy scalar, a TensorProto, or a list of them, as the evaluator takes it."""
    if stored is None:
        return None
    if isinstance(stored, list):
        return [value(item) for item in stored]
    return numpy_helper.to_array(stored) if isinstance(stored, onnx.TensorProto) else np.asarray(stored)


def assert_agrees(got: Any, expected: Any, name: str) -> None:
    """Equal shape, equal values: exactly for integers and narrow floats, else within TOLERANCE."""
    if expected is None or isinstance(expected, list):
        assert type(got) is type(expected), f"{name}: {got!r} in place of {expected!r}"
        for one, other in zip(got or [], expected or [], strict=True):
            assert_agrees(one, other, name)
        return
    kind = dtypes.name_of(expected.dtype)
    assert got.shape == expected.shape, f"{name}: shape {got.shape} in place of {expected.shape}"
    if dtypes.is_float(kind):
        tolerance = TOLERANCE.get(kind, 0.0)
        np.testing.assert_allclose(
            dtypes.round_to(got, kind), expected.astype(np.float64), rtol=tolerance, atol=tolerance, err_msg=name
        )
    else:
        assert dtypes.name_of(got.dtype) == kind, f"{name}: {got.dtype} in place of {kind}"
        np.testing.assert_array_equal(got, expected, err_msg=name)


def test_all_cases_are_there() -> None:
    if onnx.__version__ == "1.23.2":
        assert len(node_cases()) == 1858
    assert len(RANDOM) >= 10
    assert len(EXCLUDED) < 0.01 * len(node_cases())


def test_exclusions_are_cases_and_are_documented() -> None:
    assert not EXCLUDED.keys() - node_cases().keys()
    text = (Path(__file__).parents[2] / "docs" / "reference.md").read_text(encoding="utf-8")
    assert not [name for name in EXCLUDED if name not in text]


@pytest.mark.parametrize("name", sorted(node_cases().keys() - EXCLUDED.keys() - RANDOM))
def test_node_case(name: str) -> None:
    case = node_cases()[name]
    graph = case.model.graph
    for inputs, outputs in case.data_sets:
        feeds = {v.name: value(x) for v, x in zip(graph.input, inputs, strict=True)}
        got = evaluate(case.model, feeds)
        for output, expected in zip(graph.output, outputs, strict=True):
            stored = value(expected)
            if NARROW.fullmatch(name):
                inside = within(value(inputs[0]), dtypes.name_of(stored.dtype))
                assert 0 < np.count_nonzero(inside) < inside.size
                assert got[output.name].shape == stored.shape
                assert_agrees(got[output.name][inside], stored[inside], output.name)
            else:
                assert_agrees(got[output.name], stored, output.name)


def within(x: Any, kind: str) -> Any:
    """Where an integer type holds the whole part of a real."""
    info = ml_dtypes.iinfo(dtypes.numpy_dtype(kind))
    whole = np.trunc(x.astype(np.float64))
    return (int(info.min) <= whole) & (whole <= int(info.max))


def test_errors_are_followed_through_every_case() -> None:
    for case in node_cases().values():
        for inputs, _ in case.data_sets:
            feeds = {v.name: value(x) for v, x in zip(case.model.graph.input, inputs, strict=True)}
            for name, variance in propagation.variances(case.model, feeds).items():
                assert not np.any(variance < 0), f"{case.name}: {name}"


def test_every_case_has_an_oracle() -> None:
    for case in node_cases().values():
        for inputs, _ in case.data_sets:
            feeds = {v.name: value(x) for v, x in zip(case.model.graph.input, inputs, strict=True)}
            for node in Node.each(case.model, feeds):
                for result in oracle.results(node):
                    for mask in (result.open, result.ties):
                        assert mask is None or np.broadcast_shapes(mask.shape, result.value.shape) == result.value.shape, (
                            case.name
                        )


@pytest.mark.parametrize("name", sorted(EXCLUDED))
def test_an_excluded_case_still_differs(name: str) -> None:
    with pytest.raises(AssertionError):
        test_node_case(name)


@pytest.mark.parametrize("name", sorted(n for n in RANDOM if "bernoulli" in n))
def test_bernoulli_by_property(name: str) -> None:
    case = node_cases()[name]
    attributes = evaluator.attributes_of(node_cases()[name.removesuffix("_expanded")].model.graph.node[0])
    for (x,), (expected,) in case.data_sets:
        got = evaluate(case.model, {"x": value(x)})["y"]
        kind = dtypes.name_of(expected.dtype)
        drawn = dtypes.cast(got, kind) if dtypes.is_float(kind) else got
        for output in (expected, drawn):
            assert random_properties.violations("Bernoulli", [x], attributes, output) == []


@pytest.mark.parametrize("name", sorted(n for n in RANDOM if "dropout" in n))
def test_dropout_in_training_by_property(name: str) -> None:
    case = node_cases()[name]
    names = [v.name for v in case.model.graph.output]
    for inputs, outputs in case.data_sets:
        feeds = {v.name: value(x) for v, x in zip(case.model.graph.input, inputs, strict=True)}
        x, ratio = feeds["x"].astype(np.float64), float(feeds["r"])
        for y, *mask in (outputs, [evaluate(case.model, feeds)[n] for n in names]):
            kept = y != 0 if not mask else np.asarray(mask[0])
            np.testing.assert_allclose(y, np.where(kept, x / (1 - ratio), 0.0), rtol=1e-6)
            assert 0 < kept.mean() < 1
