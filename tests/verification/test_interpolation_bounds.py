"""Bounds of GridSample, AffineGrid and DeformConv: right for every way to compute them, too narrow for what goes wrong."""

from __future__ import annotations

import numpy as np
import pytest

from reference import marks
from reference.evaluator import apply
from tests.verification import formulas, interpolations
from tests.verification.single_nodes import judged, node_of, ratio, stored

SEEDS = range(20)
PADDINGS = ("zeros", "border", "reflection")
SAMPLINGS = [
    *((mode, padding) for mode in ("linear", "nearest") for padding in PADDINGS),
    ("cubic", "zeros"),
    ("cubic", "border"),
]


def drawn(seed, rank, dtype, reach=1.4):
    """x (2, 2, spatial) and a grid of 30 points for each image."""
    rng = np.random.default_rng([seed, rank])
    spatial = tuple(rng.integers(2, 24 if rank < 3 else 7, rank))
    x = rng.normal(size=(2, 2, *spatial))
    if seed % 4 == 1:
        x = x * 2.0 ** rng.integers(-6, 7, x.shape)
    if seed % 4 == 2:
        x = x + 100
    outputs = {1: (30,), 2: (5, 6), 3: (5, 3, 2)}[rank]
    return stored(x, dtype), stored(rng.uniform(-reach, reach, (2, *outputs, rank)), dtype)


def sampled(unit, x, grid, corners, padding, mode, variant):
    """GridSample in the unit."""
    rank, results = x.ndim - 2, []
    for image, points in zip(x.astype(np.float64), grid.astype(np.float64).reshape(2, -1, rank), strict=True):
        s = [interpolations.location(unit, points[:, rank - 1 - a], n, corners, variant) for a, n in enumerate(x.shape[2:])]
        if mode != "cubic" or padding == "reflection":
            pairs = zip(s, x.shape[2:], strict=True)
            s = [interpolations.padded_location(unit, v, n, corners, padding) for v, n in pairs]
        if mode == "nearest":
            results.append(interpolations.element(image, [np.rint(v) for v in s]))
        elif mode == "cubic":
            place = (lambda i, n: np.clip(i, 0, n - 1)) if padding == "border" else (lambda i, n: i)
            results.append(interpolations.cubic(unit, image, s, place))
        else:
            results.append({"sum": interpolations.by_weights, "product": interpolations.by_steps}[variant](unit, image, s))
    return np.stack(results).reshape(2, 2, *grid.shape[1:-1])


@pytest.mark.parametrize("dtype", formulas.FORMATS)
@pytest.mark.parametrize(("mode", "padding"), SAMPLINGS)
def test_every_way_to_sample_a_grid_stays_within_the_bound(mode, padding, dtype):
    for seed in SEEDS:
        x, grid = drawn(seed, 1 + seed % 3 if mode != "cubic" else 2, dtype)
        corners = seed // 3 % 2
        attributes = {"mode": mode, "padding_mode": padding, "align_corners": corners}
        node = node_of("GridSample", [x, grid], (dtype,), 22, **attributes)
        open_ = marks.left_open(node, 0)  # cubic at the border
        for variant in ("sum", "product"):
            got = sampled(formulas.Unit(dtype, "random", seed), x, grid, corners, padding, mode, variant)
            judged_ = got if open_ is None else np.where(open_, node.results[0], got)
            assert ratio(node, judged_, dtype) <= 1


def test_locations_far_outside_are_zero_with_padding_and_open_with_reflection():
    x, grid = drawn(0, 2, "float32")
    far = np.where(np.arange(grid.size).reshape(grid.shape) % 2 == 0, 1e9, -1e30).astype(np.float32)
    node = node_of("GridSample", [x, far], ("float32",), 20, padding_mode="zeros")
    assert ratio(node, np.zeros(node.results[0].shape), "float32") == 0
    assert ratio(node, np.full(node.results[0].shape, 1e-3), "float32") > 1
    node = node_of("GridSample", [x, far], ("float32",), 20, padding_mode="reflection")
    assert ratio(node, np.full(node.results[0].shape, x.mean()), "float32") <= 1


def test_an_infinite_neighbour_leaves_an_element_open():
    x = np.array([1, np.inf, 2, 3], np.float32).reshape(1, 1, 4)
    grid = np.array([-0.75, 0.75], np.float32).reshape(1, 2, 1)  # locations 0 and 3 of length 4
    node = node_of("GridSample", [x, grid], ("float32",), 20, align_corners=0)
    assert ratio(node, np.array([[[np.nan, 3.0]]]), "float32") == 0


GRID_FAULTS = {
    "other corners": lambda x, g, a: (x, g, {**a, "align_corners": 1 - a["align_corners"]}),
    "padding ignored": lambda x, g, a: (x, g, {**a, "padding_mode": "border" if a["padding_mode"] == "zeros" else "zeros"}),
    "nearest": lambda x, g, a: (x, g, {**a, "mode": "nearest"}),
    "coordinates swapped": lambda x, g, a: (x, g[..., ::-1], a),
    "half an element off": lambda x, g, a: (x, g + 1 / x.shape[-1], a),
    "transposed": lambda x, g, a: (x, g.swapaxes(1, 2), a),
    "bfloat16 data": lambda x, g, a: (stored(x, "bfloat16"), g, a),
    "bfloat16 locations": lambda x, g, a: (x, stored(g, "bfloat16"), a),
    "float16 locations": lambda x, g, a: (x, stored(g, "float16"), a),
}


@pytest.mark.parametrize("fault", list(GRID_FAULTS))
@pytest.mark.parametrize("padding", PADDINGS)
@pytest.mark.parametrize("corners", [0, 1])
def test_faults_of_grid_sample_fail(fault, padding, corners):
    rng = np.random.default_rng(5)
    x = rng.normal(size=(1, 2, 9, 9)).astype(np.float32)
    grid = rng.uniform(-1.3, 1.3, (1, 6, 6, 2)).astype(np.float32)
    attributes = {"align_corners": corners, "padding_mode": padding, "mode": "linear"}
    x2, grid2, changed = GRID_FAULTS[fault](x, grid, attributes)
    (got,) = apply("GridSample", 20, [np.asarray(x2, np.float64), np.asarray(grid2, np.float64)], changed)
    assert judged("GridSample", [x, grid], stored(got, "float32"), 20, **attributes).status == "mismatch"


@pytest.mark.parametrize("dtype", formulas.FORMATS)
@pytest.mark.parametrize("corners", [0, 1])
def test_every_way_to_make_an_affine_grid_stays_within_the_bound(corners, dtype):
    for seed in SEEDS:
        rng = np.random.default_rng(seed)
        h, w = rng.integers(2, 300, 2)
        theta = stored(rng.normal(size=(2, 2, 3)), dtype)
        node = node_of("AffineGrid", [theta, np.array([2, 1, h, w])], (dtype,), 20, align_corners=corners)
        unit = formulas.Unit(dtype, "random", seed)
        for steps in (linear_space, centred_space):
            y, x = np.meshgrid(steps(unit, h, corners), steps(unit, w, corners), indexing="ij")
            t = theta.astype(np.float64)[:, None, None]
            got = unit.add(unit.add(unit.mul(t[..., 0], x[..., None]), unit.mul(t[..., 1], y[..., None])), t[..., 2])
            assert ratio(node, got, dtype) <= 1


def linear_space(unit, n, corners):
    step = unit.div(2.0, float(unit.rounded(n - 1 if corners else n)))
    first = -1.0 if corners else unit.add(-1.0, unit.div(step, 2.0))
    return unit.add(first, unit.mul(unit.rounded(np.arange(n)), step))


def centred_space(unit, n, corners):
    return unit.div(unit.rounded(2.0 * np.arange(n) - (n - 1)), float(unit.rounded(n - 1 if corners else n)))


@pytest.mark.parametrize("fault", ["other corners", "transposed", "theta transposed", "bfloat16"])
def test_faults_of_an_affine_grid_fail(fault):
    theta = np.random.default_rng(3).normal(size=(1, 2, 3)).astype(np.float32)
    size = np.array([1, 1, 8, 8])
    (right,), (other,) = (apply("AffineGrid", 20, [theta.astype(float), size], {"align_corners": c}) for c in (0, 1))
    got = {
        "other corners": other,
        "transposed": right.swapaxes(1, 2),
        "theta transposed": right[..., ::-1],
        "bfloat16": stored(right, "bfloat16"),
    }[fault]
    assert judged("AffineGrid", [theta, size], stored(right, "float32"), 20).status == "pass"
    assert judged("AffineGrid", [theta, size], stored(got, "float32"), 20).status == "mismatch"


def convolution(seed, dtype, masked=True):
    """Inputs and attributes of a DeformConv with padding wide enough that no location is outside of it."""
    rng = np.random.default_rng(seed)
    x, w = rng.normal(size=(2, 4, 7, 6)), rng.normal(size=(3, 2 if seed % 2 else 4, 3, 2))
    attributes = {"pads": [3, 3, 3, 3], "group": 2 if seed % 2 else 1, "offset_group": 2, "dilations": [1 + seed % 2, 1]}
    w = rng.normal(size=(4, *w.shape[1:])) if seed % 2 else w
    outputs = (7 + 6 - (2 * (1 + seed % 2) + 1) + 1, 6 + 6 - 1)
    offset = rng.uniform(-1.5, 1.5, (2, 2 * 6 * 2, *outputs))
    mask = rng.uniform(0, 1, (2, 2 * 6, *outputs)) if masked else None
    inputs = [x, w, offset, rng.normal(size=len(w)), mask]
    return [None if v is None else stored(v, dtype) for v in inputs], attributes


def deformed(unit, inputs, attributes, method):
    """DeformConv in the unit: columns, the mask, and a chain of products."""
    x, w, offset, bias, mask = (v.astype(np.float64) for v in inputs)
    groups, taps, outputs = attributes["offset_group"], w.shape[2] * w.shape[3], offset.shape[2:]
    moved = offset.reshape(2, groups, w.shape[2], w.shape[3], 2, *outputs)
    columns = np.zeros((2, x.shape[1], taps, *outputs))
    each = x.shape[1] // groups
    for n, g, i, j in np.ndindex(2, groups, *w.shape[2:]):
        row = np.arange(outputs[0])[:, None] - 3.0 + i * attributes["dilations"][0]
        column = np.arange(outputs[1])[None] - 3.0 + j * attributes["dilations"][1]
        s = [unit.add(base, moved[n, g, i, j, a]).reshape(-1) for a, base in enumerate((row, column))]
        value = method(unit, x[n, g * each : (g + 1) * each], s).reshape(each, *outputs)
        factor = mask.reshape(2, groups, *w.shape[2:], *outputs)[n, g, i, j]
        columns[n, g * each : (g + 1) * each, i * w.shape[3] + j] = unit.mul(value, factor)
    split = attributes["group"]
    flat = columns.reshape(2, split, -1, *outputs)
    matrix = w.reshape(split, len(w) // split, -1)
    total = np.zeros((2, split, len(w) // split, *outputs))
    for k in range(matrix.shape[-1]):
        total = unit.add(total, unit.mul(matrix[None, :, :, k, None, None], flat[:, :, None, k]))
    return unit.add(total.reshape(2, len(w), *outputs), bias[:, None, None])


@pytest.mark.parametrize("dtype", formulas.FORMATS)
def test_every_way_to_convolve_deformed_windows_stays_within_the_bound(dtype):
    for seed in SEEDS:
        inputs, attributes = convolution(seed, dtype)
        node = node_of("DeformConv", inputs, (dtype,), 22, **attributes)
        for method in (interpolations.by_weights, interpolations.by_steps):
            got = deformed(formulas.Unit(dtype, "random", seed), inputs, attributes, method)
            assert ratio(node, got, dtype) <= 1


def swapped(offset):
    return offset.reshape(2, -1, 2, *offset.shape[2:])[:, :, ::-1].reshape(offset.shape)


DEFORM_FAULTS = {
    "mask ignored": lambda i, a: ([*i[:4], None], a),
    "offset order swapped": lambda i, a: ([*i[:2], swapped(i[2]), *i[3:]], a),
    "offsets ignored": lambda i, a: ([*i[:2], np.zeros_like(i[2]), *i[3:]], a),
    "offsets rounded": lambda i, a: ([*i[:2], np.rint(i[2]), *i[3:]], a),
    "offset groups swapped": lambda i, a: ([*i[:2], np.roll(i[2], 12, axis=1), *i[3:]], a),
    "no bias": lambda i, a: ([*i[:3], None, i[4]], a),
    "one weight dropped": lambda i, a: ([i[0], np.where(np.arange(i[1].size).reshape(i[1].shape) == 5, 0, i[1]), *i[2:]], a),
    "bfloat16 data": lambda i, a: ([stored(i[0], "bfloat16"), *i[1:]], a),
    "bfloat16 offsets": lambda i, a: ([*i[:2], stored(i[2], "bfloat16"), *i[3:]], a),
}


@pytest.mark.parametrize("fault", list(DEFORM_FAULTS))
@pytest.mark.parametrize("seed", [0, 1])
def test_faults_of_a_deformable_convolution_fail(fault, seed):
    inputs, attributes = convolution(seed, "float32")
    wrong, changed = DEFORM_FAULTS[fault](inputs, attributes)
    reals = [None if v is None else np.asarray(v, np.float64) for v in wrong]
    (got,) = apply("DeformConv", 19, reals, changed)
    assert judged("DeformConv", inputs, stored(got, "float32"), 19, **attributes).status == "mismatch"
