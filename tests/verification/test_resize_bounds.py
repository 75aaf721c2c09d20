"""Bound of Resize: right for every way to compute locations and weights, too narrow for what goes wrong."""

from __future__ import annotations

import numpy as np
import pytest

from reference.evaluator import apply
from tests.verification import formulas, interpolations
from tests.verification.single_nodes import judged, node_of, ratio, stored

SEEDS = range(24)
TRANSFORMATIONS = ("half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel")


def locations(unit, length, resized, mode, *, reciprocal):
    """Where the results of one axis lie, in the unit; a scale is the quotient of the lengths, or its reciprocal is."""
    i = np.arange(resized, dtype=float)
    if mode == "align_corners":
        if resized == 1:
            return np.zeros(1)
        if reciprocal:
            return unit.mul(i, unit.div(float(length - 1), float(resized - 1)))
        return unit.div(unit.mul(i, float(length - 1)), float(resized - 1))
    half = 0.0 if mode == "asymmetric" else 0.5
    if mode == "pytorch_half_pixel" and resized == 1:
        return np.zeros(1)
    if reciprocal:
        return unit.add(unit.mul(unit.add(i, half), unit.div(float(length), float(resized))), -half)
    return unit.add(unit.div(unit.add(i, half), unit.div(float(resized), float(length))), -half)


def case(seed, dtype):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(1, 2, *rng.integers(3, 20, 2)))
    x = x + 50 if seed % 4 == 3 else x
    sizes = np.array([1, 2, *rng.integers(2, 30, 2)])
    return stored(x, dtype), sizes


@pytest.mark.parametrize("dtype", formulas.FORMATS)
@pytest.mark.parametrize("transformation", TRANSFORMATIONS)
@pytest.mark.parametrize("mode", ["linear", "cubic"])
def test_every_way_to_resize_stays_within_the_bound(mode, transformation, dtype):
    for seed in SEEDS:
        x, sizes = case(seed, dtype)
        unit = formulas.Unit(dtype, "random", seed)
        attributes = {"mode": mode, "coordinate_transformation_mode": transformation}
        node = node_of("Resize", [x, None, None, sizes], (dtype,), 19, **attributes)
        along = [
            locations(unit, n, int(m), transformation, reciprocal=seed % 2) for n, m in zip(x.shape[2:], sizes[2:], strict=True)
        ]
        grid = [g.reshape(-1) for g in np.meshgrid(*along, indexing="ij")]
        image = x[0].astype(np.float64)
        if mode == "cubic":
            got = interpolations.cubic(unit, image, grid, lambda i, n: np.clip(i, 0, n - 1))
        else:
            inside = [np.clip(g, 0, n - 1) for g, n in zip(grid, x.shape[2:], strict=True)]
            got = (interpolations.by_weights if seed % 3 else interpolations.by_steps)(unit, image, inside)
        got = got.reshape(node.results[0].shape)
        assert ratio(node, got, dtype) <= 1


FAULTS = {
    "other transformation": {"coordinate_transformation_mode": "asymmetric"},
    "corners aligned": {"coordinate_transformation_mode": "align_corners"},
    "nearest": {"mode": "nearest"},
    "antialiased": {"antialias": 1},
    "other coefficient": {"cubic_coeff_a": -0.5},
    "outside excluded": {"exclude_outside": 1},
}


@pytest.mark.parametrize(
    ("mode", "fault"),
    [(m, f) for m in ("linear", "cubic") for f in FAULTS if m == "cubic" or f not in ("other coefficient", "outside excluded")],
)
def test_faults_of_resize_fail(mode, fault):
    x = np.random.default_rng(2).normal(size=(1, 2, 9, 8)).astype(np.float32)
    inputs, attributes = [x, None, None, np.array([1, 2, 5, 13])], {"mode": mode}
    (got,) = apply("Resize", 19, [x.astype(float), *inputs[1:]], {**attributes, **FAULTS[fault]})
    assert judged("Resize", inputs, stored(got, "float32"), 19, **attributes).status == "mismatch"


@pytest.mark.parametrize("antialias", [0, 1])
@pytest.mark.parametrize("excluded", [0, 1])
@pytest.mark.parametrize("mode", ["linear", "cubic"])
def test_sixteen_bit_data_fail_with_every_kernel(mode, excluded, antialias):
    x = np.random.default_rng(6).normal(size=(1, 2, 12, 11)).astype(np.float32)
    attributes = {"mode": mode, "exclude_outside": excluded, "antialias": antialias}
    inputs = [x, None, None, np.array([1, 2, 5, 23])]
    right, wrong = (apply("Resize", 19, [np.asarray(v, float), *inputs[1:]], attributes)[0] for v in (x, stored(x, "bfloat16")))
    assert judged("Resize", inputs, stored(right, "float32"), 19, **attributes).status == "pass"
    assert judged("Resize", inputs, stored(wrong, "float32"), 19, **attributes).status == "mismatch"
