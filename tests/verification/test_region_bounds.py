"""Bound of RoiAlign: right for every way to compute it, too narrow for what goes wrong."""

from __future__ import annotations

import numpy as np
import pytest

from reference.evaluator import apply
from tests.verification import formulas, interpolations
from tests.verification.single_nodes import judged, node_of, ratio, stored

SEEDS = range(20)


def regions(seed, dtype, far=False):
    """Images, regions and images of them; attributes."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(2, 2, *rng.integers(5, 20, 2)))
    corners = rng.uniform(-3 if far else 0, 30, (3, 2))
    rois = np.concatenate([corners, corners + rng.uniform(2, 25, (3, 2))], axis=1)
    attributes = {
        "output_height": 3,
        "output_width": 2,
        "spatial_scale": [0.5, 1.0, 0.3][seed % 3],
        "sampling_ratio": [2, 0, 1, 3][seed % 4],
        "coordinate_transformation_mode": ["half_pixel", "output_half_pixel"][seed % 2],
        "mode": "max" if seed % 5 == 4 else "avg",
    }
    return [stored(x, dtype), stored(rois, dtype), rng.integers(0, 2, 3)], attributes


def coordinates(unit, begin, end, length, outputs, attributes):
    """Points of one axis, clipped, (outputs, count), and whether they lie inside."""
    half = attributes["coordinate_transformation_mode"] == "half_pixel"
    scale, offset = unit.const(attributes["spatial_scale"]), -0.5 if half else 0.0
    first, last = (unit.add(unit.mul(v, scale), offset) for v in (begin, end))
    extent = unit.add(last, -first)
    extent = extent if half else np.maximum(extent, 1.0)
    size = unit.div(extent, float(outputs))
    count = attributes["sampling_ratio"] or int(np.ceil(unit.div(extent, float(outputs))))
    bins, steps = np.arange(outputs)[:, None], np.arange(count)[None]
    place = unit.add(unit.add(first, unit.mul(bins, size)), unit.div(unit.mul(steps + 0.5, size), float(count)))
    return np.clip(place, 0, length - 1), (place >= -1) & (place <= length)


def aligned(unit, inputs, attributes, method, *, total_first):
    """RoiAlign in the unit; the sum of a bin's points runs over products or over interpolated points."""
    x, rois, images = (np.asarray(v, np.float64) for v in inputs)
    results = []
    for (x1, y1, x2, y2), image in zip(rois, x[images.astype(int)], strict=True):
        rows, inside = coordinates(unit, y1, y2, x.shape[2], 3, attributes)
        columns, within = coordinates(unit, x1, x2, x.shape[3], 2, attributes)
        y = np.zeros((2, 3, 2))
        for i, j in np.ndindex(3, 2):
            grid = np.meshgrid(rows[i], columns[j], indexing="ij")
            points = [g.reshape(-1) for g in grid]
            there = (inside[i][:, None] & within[j][None]).reshape(-1)
            value = np.where(there, method(unit, image, points), 0.0)
            if attributes["mode"] == "max":
                y[:, i, j] = value.max(axis=1)
                continue
            order = range(value.shape[1]) if total_first else range(value.shape[1])[::-1]
            total = np.zeros(2)
            for k in order:
                total = unit.add(total, value[:, k])
            y[:, i, j] = unit.div(total, float(value.shape[1]))
        results.append(y)
    return np.stack(results)


@pytest.mark.parametrize("dtype", formulas.FORMATS)
@pytest.mark.parametrize("method", [interpolations.by_weights, interpolations.by_steps])
def test_every_way_to_align_regions_stays_within_the_bound(method, dtype):
    version = 22 if dtype == "bfloat16" else 16
    for seed in SEEDS:
        inputs, attributes = regions(seed, dtype, far=seed % 7 == 6)
        node = node_of("RoiAlign", inputs, (dtype,), version, **attributes)
        got = aligned(formulas.Unit(dtype, "random", seed), inputs, attributes, method, total_first=seed % 2)
        assert ratio(node, got, dtype) <= 1


def test_a_bin_whose_number_of_points_is_rounded_is_open():
    x = np.random.default_rng(0).normal(size=(1, 1, 8, 8)).astype(np.float32)
    rois = np.array([[0, 0, 3 * (1 + 2.0**-23), 3], [0, 0, 2.9, 2.9]], np.float32)  # an extent just above 3
    attributes = {"spatial_scale": 1.0, "output_height": 3, "output_width": 3}
    node = node_of("RoiAlign", [x, rois, np.zeros(2, np.int64)], ("float32",), 16, **attributes)
    wrong = node.results[0] + np.array([1.0, 0.0])[:, None, None, None]
    assert ratio(node, wrong, "float32") == 0
    assert ratio(node, node.results[0] + 1e-3, "float32") > 1


FAULTS = {
    "sampling ratio ignored": {"sampling_ratio": 1},
    "half a pixel off": {"coordinate_transformation_mode": "output_half_pixel"},
    "maximum": {"mode": "max"},
    "scale ignored": {"spatial_scale": 1.0},
}


@pytest.mark.parametrize("fault", [*FAULTS, "x and y swapped", "wrong image", "bfloat16 data", "bfloat16 regions"])
def test_faults_of_aligned_regions_fail(fault):
    inputs, attributes = regions(0, "float32")
    x, rois, images = inputs
    wrong = {
        "x and y swapped": [x, rois[:, [1, 0, 3, 2]], images],
        "wrong image": [x, rois, 1 - images],
        "bfloat16 data": [stored(x, "bfloat16"), rois, images],
        "bfloat16 regions": [x, stored(rois, "bfloat16"), images],
    }.get(fault, inputs)
    reals = [np.asarray(v, np.float64) if v.dtype.kind != "i" else v for v in wrong]
    (got,) = apply("RoiAlign", 16, reals, {**attributes, **FAULTS.get(fault, {})})
    assert judged("RoiAlign", inputs, stored(got, "float32"), 16, **attributes).status == "mismatch"
