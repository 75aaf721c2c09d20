"""Compiled models kept in a folder."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
from onnx import numpy_helper

from suites.cases.case import Case
from suites.device import DeviceUnderTest
from suites.exercises import cache
from suites.judge import verify
from suites.requirement import cases, requirement

WITH_WEIGHTS = (
    "Conv-22.f32.x:1x3x8x9.w:5x3x3x3.pads:1_1_1_1.const:w.in:normal",
    "MatMul-13.f32.a:7x5.b:5x11.const:b.in:normal",
    "Add-14.f32.a:3x5x7.b:5x1.const:b.in:normal",
)
"""Models whose last input is stored in them."""

OF_IMAGES = ("Relu-14.f32.x:2x3x5x7.in:normal", WITH_WEIGHTS[0])
"""Models whose first input may lie in another layout."""


@requirement("CACHE-001")
@cases(WITH_WEIGHTS)
def test_warm_start(case: Case, device: DeviceUnderTest, tmp_path: Path) -> None:
    verify(case, device.exercise(cache.warm, case, str(tmp_path)))


@requirement("CACHE-002")
@cases(WITH_WEIGHTS)
def test_other_weights(case: Case, device: DeviceUnderTest, tmp_path: Path) -> None:
    verify(case, device.exercise(cache.other_weights, case, with_other_weights(case), str(tmp_path)))


@requirement("CACHE-004")
@cases(OF_IMAGES)
def test_other_options(case: Case, device: DeviceUnderTest, tmp_path: Path) -> None:
    verify(case, device.exercise(cache.other_options, case, str(tmp_path)))


@requirement("CACHE-003")
@cases(WITH_WEIGHTS)
def test_damaged_files(case: Case, device: DeviceUnderTest, tmp_path: Path) -> None:
    verify(case, device.exercise(cache.damaged, case, str(tmp_path)))


def with_other_weights(case: Case) -> bytes:
    """The case's model with one weight of its last initialiser changed, far beyond any tolerance."""
    model = onnx.ModelProto()
    model.CopyFrom(case.model)
    tensor = model.graph.initializer[-1]
    values = np.array(numpy_helper.to_array(tensor))
    values.flat[values.size // 2] += 8
    tensor.CopyFrom(numpy_helper.from_array(values, tensor.name))
    return bytes(model.SerializeToString(deterministic=True))
