"""Known disagreements of the family `families.sampling`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from reference import dtypes

from ..samples import Sample, call
from . import Disagreement


def _interpolates(sample: Sample) -> bool:
    return sample.attribute("mode", "linear") != "nearest"


def _grid_sample(x: Any, *points: float, **attributes: Any) -> Sample:
    """A line x sampled at some points."""
    grid = np.array(points, np.asarray(x).dtype if np.asarray(x).dtype.kind == "f" else np.float32)
    return call("GridSample", [np.asarray(x)[None, None], grid[None, :, None]], version=20, **attributes)


KNOWN: list[Disagreement] = [
    Disagreement(
        "onnx.reference",
        "1.23.2",
        ("GridSample",),
        "integers weighed by weights that are cut to integers",
        "Half-way between 5 and 6 lies 5.5, not 0.",
        lambda s: _interpolates(s) and s.input(0).dtype.kind in "iu",
        lambda: _grid_sample(np.array([5, 6]), 0.0),
    ),
    Disagreement(
        "onnx.reference",
        "1.23.2",
        ("GridSample",),
        "float64 and complex128 interpolated at float32 locations",
        "The location 0.1 of four elements is 1.65.",
        lambda s: _interpolates(s) and s.input(0).dtype in (np.float64, np.complex128),
        lambda: _grid_sample(np.arange(4.0), 0.1, align_corners=1),
    ),
    Disagreement(
        "onnx.reference",
        "1.23.2",
        ("GridSample",),
        "nearest to locations that are rounded to float16 or bfloat16 with the grid",
        "0.30005 is at 6.5002 of eleven elements, not at 6.5.",
        lambda s: not _interpolates(s) and dtypes.name_of(s.input(1).dtype) in ("float16", "bfloat16"),
        lambda: call(
            "GridSample",
            [np.arange(11, dtype=np.float32)[None, None], np.full((1, 1, 1), 0.3, np.float16)],
            version=22,
            mode="nearest",
            align_corners=1,
        ),
    ),
    Disagreement(
        "onnx.reference",
        "1.23.2",
        ("AffineGrid",),
        "float32 for every other type",
        "The grid has the type of theta.",
        lambda s: s.input(0).dtype != np.float32,
        lambda: call("AffineGrid", [np.ones((1, 2, 3)), np.array([1, 1, 2, 2])], version=20),
    ),
    Disagreement(
        "onnx.reference",
        "1.23.2",
        ("DeformConv",),
        "float64 interpolated at float32 locations",
        "The location 0.1 of an axis with the values 0 and 1 has the value 0.1.",
        lambda s: s.input(0).dtype == np.float64,
        lambda: call(
            "DeformConv",
            [np.arange(16.0).reshape(1, 1, 4, 4), np.ones((1, 1, 1, 1)), np.full((1, 2, 4, 4), 0.1)],
            version=19,
        ),
    ),
]

DECLINED: Mapping[str, Mapping[str, str]] = {}
