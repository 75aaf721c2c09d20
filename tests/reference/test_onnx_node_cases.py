"""The reference against ONNX's own node cases: every single-node model of ai.onnx whose operator the reference has."""

from __future__ import annotations

import functools
import warnings
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import numpy_helper

from reference import dtypes, table
from reference.evaluator import evaluate

EXCLUDED: dict[str, str] = dict.fromkeys(
    (
        "test_cast_e8m0_FLOAT16_to_FLOAT8E8M0",
        "test_cast_e8m0_FLOAT8E8M0_to_FLOAT",
        "test_cast_e8m0_FLOAT8E8M0_to_FLOAT16",
        "test_cast_e8m0_FLOAT_to_FLOAT8E8M0",
    ),
    "float8_e8m0fnu, a scale without sign or zero, is no tensor type of the reference",
) | {
    "test_resize_downsample_scales_linear_align_corners": "the stored output takes length·scale unrounded for "
    "length_resized, which the text calls the length of the resized tensor; such elements are open in verification",
    "test_resize_downsample_scales_cubic_align_corners": "as test_resize_downsample_scales_linear_align_corners",
    "test_dynamicquantizelinear": "one element is an exact tie, which the stored output breaks by float32 arithmetic; "
    "verification accepts both neighbours",
    "test_averagepool_2d_ceil_last_window_starts_on_pad": "the stored output is typed with four decimals",
}
"""Case name → why the reference is not held to ONNX's stored output."""

TOLERANCE = {"float64": 1e-7, "float32": 1e-5, "float16": 4e-3, "bfloat16": 2e-2}
"""Relative, and absolute near 1: the stored outputs are computed in the type of the case, rounding at each step."""


@functools.cache
def node_cases() -> dict[str, Any]:
    """Case name → onnx.backend.test.case.test_case.TestCase."""
    from onnx.backend.test.case.node import collect_testcases

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        collected = collect_testcases(None)
    return {
        case.name: case
        for case in collected
        if len(case.model.graph.node) == 1
        and case.model.graph.node[0].domain in ("", "ai.onnx")
        and case.model.graph.node[0].op_type in table.ONNX
    }


def array(value: Any) -> np.ndarray[Any, Any]:
    """A stored input or output, which may be a NumPy scalar or a TensorProto, as an array."""
    return numpy_helper.to_array(value) if isinstance(value, onnx.TensorProto) else np.asarray(value)


def assert_agrees(got: np.ndarray[Any, Any], expected: np.ndarray[Any, Any], name: str) -> None:
    """Equal shape, equal values: exactly for integers and narrow floats, else within TOLERANCE."""
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


def test_cases_are_found() -> None:
    assert len(node_cases()) > 600


def test_exclusions_are_cases() -> None:
    assert not EXCLUDED.keys() - node_cases().keys()


@pytest.mark.parametrize("name", sorted(node_cases().keys() - EXCLUDED.keys()))
def test_node_case(name: str) -> None:
    case = node_cases()[name]
    graph = case.model.graph
    for inputs, outputs in case.data_sets:
        feeds = {v.name: array(x) for v, x in zip(graph.input, inputs, strict=True)}
        got = evaluate(case.model, feeds)
        for value, expected in zip(graph.output, outputs, strict=True):
            assert_agrees(got[value.name], array(expected), value.name)
