"""Attributes that are ignored, misread or mistaken are recognised: axes, windows, groups, coordinates, defaults, values."""

from __future__ import annotations

import numpy as np
import pytest

from tests.verification.broken import Fault, assert_named, assert_noise_is_unexplained, assert_right_passes, normal

CAUSES = frozenset(
    [
        *("axis-wrong", "axis-negative", "pads-side", "pads-off-by-one", "pads-ignored", "pads-value", "stride-ignored"),
        *("dilation-ignored", "ceil-mode", "count-include-pad", "groups-mixed", "coordinates", "attribute-default"),
        "attribute-value",
    ]
)

A = normal(3, 4, 5, 6)
X, W, B = normal(2, 3, 9, 8), normal(4, 3, 3, 2), normal(4)
IMAGE = normal(1, 2, 5, 4)
GROUPED = (normal(2, 6, 5, 4), normal(6, 2, 3, 2), normal(6))
HEADS = (normal(2, 6, 5, 8), normal(2, 3, 7, 8), normal(2, 3, 7, 8, seed=1))


def changed(word, operator, inputs, attributes, new, text="", **options):
    """The device computes the node with other attributes."""
    return Fault(word, operator, inputs, lambda run, *x: run(*x, **new), attributes, text=text, **options)


def conv(word, new, text="", **attributes):
    return changed(word, "Conv", (X, W, B), attributes, new, text)


def pad(x, value):
    return np.pad(x, [(0, 0), (0, 0), (1, 1), (1, 1)], constant_values=np.float32(value))


def divided(pads, other):
    """Of 9x8 under windows of 4x4, 2 apart: the elements of each that count, over those that would for other pads."""

    def counts(pads):
        ends = zip((9, 8), pads[:2], pads[2:], strict=True)
        per_axis = [[min(4, size + end + begin - at) for at in range(0, 10, 2)] for size, begin, end in ends]
        return np.multiply.outer(*(np.array(n, np.float32) for n in per_axis))

    return counts(pads) / counts(other)


AXES = [
    changed("axis-wrong", "Softmax", (A,), {"axis": 2}, {"axis": 1}, "axis 1 instead of 2"),
    changed("axis-negative", "LogSoftmax", (A,), {"axis": -2}, {"axis": 0}, "axis 0 instead of -2"),
    changed(
        "axis-negative", "ReduceMean", (normal(4, 4, 4),), {"axes": [-1]}, {"axes": [0]}, "axes (0) instead of (-1)", version=13
    ),
    Fault("axis-wrong", "CumSum", (A, np.int64(2)), lambda run, x, axis: run(x, np.int64(1)), text="axis 1 instead of 2"),
    Fault(
        "axis-wrong", "ReduceSum", (normal(4, 4, 4), np.array([1])), lambda run, x, axes: run(x, np.array([2])), text="axes (2)"
    ),
    Fault("axis-negative", "ReduceMax", (normal(4, 4, 4), np.array([-1])), lambda run, x, axes: run(x, np.array([1]))),
    changed("axis-wrong", "ReduceMean", (A,), {"axes": [2, 3], "keepdims": 0}, {"axes": [1, 2, 3]}, "(1,2,3)", version=13),
    changed("axis-wrong", "Concat", (A, A[::-1].copy()), {"axis": 1}, {"axis": 2}),
    Fault(
        "axis-wrong",
        "Concat",
        (normal(5, 5, 3), normal(5, 5, 3, seed=1)),
        lambda run, x, y: run(x, y, axis=2).reshape(5, 10, 3),
        {"axis": 1},
        text="its elements in order",
    ),
    Fault(
        "axis-wrong",
        "DequantizeLinear",
        (np.arange(-60, 60, dtype=np.int8).reshape(4, 5, 6), np.linspace(0.1, 0.9, 5, dtype=np.float32)),
        lambda run, x, s: run(x, np.resize(s, 6), axis=2),
        {"axis": 1},
        text="axis 2 instead of 1",
    ),
    changed("axis-wrong", "TopK", (normal(4, 4), np.array([2])), {"axis": 1}, {"axis": 0}, outputs=("float32", "int64")),
    Fault("axis-wrong", "LRN", (A,), lambda run, x: np.moveaxis(run(np.moveaxis(x, 3, 1)), 1, 3), {"size": 3, "alpha": 0.5}),
    Fault(
        "axis-wrong",
        "Softmax",
        (normal(3, 4, 5),),
        lambda run, x: np.exp(np.float64(x)) / np.exp(np.float64(x)).sum((1, 2), keepdims=True),
        {"axis": 1},
        text="before opset 13",
    ),
    changed(
        "axis-wrong",
        "ReverseSequence",
        (normal(4, 4, 3), np.array([1, 2, 3, 4])),
        {"time_axis": 0, "batch_axis": 1},
        {"time_axis": 1, "batch_axis": 0},
    ),
]

WINDOWS = [
    conv("pads-side", {"pads": [0, 1, 2, 1]}, "pads (0,1,2,1) instead of (2,1,0,1)", pads=[2, 1, 0, 1]),
    conv("pads-side", {"pads": [0, 0, 3, 1]}, pads=[2, 1, 1, 0]),
    conv("pads-side", {"auto_pad": "SAME_UPPER"}, auto_pad="SAME_LOWER", strides=[2, 1]),
    Fault(
        "pads-side",
        "Pad",
        (A, np.array([0, 0, 1, 2, 0, 0, 0, 0])),
        lambda run, x, p: run(x, np.array([0, 0, 0, 0, 0, 0, 1, 2])),
    ),
    Fault(
        "pads-side",
        "Pad",
        (A, np.array([1, 2, 0, 3, 1, 0, 2, 1])),
        lambda run, x, p: run(x, np.array([1, 2, 3, 0, 1, 0, 1, 2])),
        text="pads (1,2,3,0,1,0,1,2)",
    ),
    changed("pads-side", "MaxPool", (X,), {"kernel_shape": [3, 2], "pads": [2, 0, 0, 1]}, {"pads": [0, 1, 2, 0]}),
    conv("pads-off-by-one", {"pads": [2, 2, 0, 0]}, "pads (2,2,0,0)", pads=[1, 1, 1, 1], strides=[1, 1]),
    changed("pads-off-by-one", "ConvTranspose", (X, normal(3, 4, 4, 3)), {"pads": [1, 2, 1, 0]}, {"pads": [2, 2, 0, 0]}),
    conv("pads-ignored", {"pads": None}, "(0,0,0,0)", pads=[1, 1, 1, 1]),
    Fault(
        "pads-value",
        "MaxPool",
        (-np.abs(X),),
        lambda run, x: run(pad(x, 0), pads=None),
        {"kernel_shape": [3, 2], "pads": [1, 1, 1, 1]},
        text="with 0",
    ),
    Fault(
        "pads-value",
        "Conv",
        (X, W, B),
        lambda run, x, w, b: run(np.pad(x, [(0, 0), (0, 0), (1, 1), (1, 1)], "edge"), w, b, pads=None),
        {"pads": [1, 1, 1, 1]},
        text="border",
    ),
    Fault(
        "pads-value",
        "Pad",
        (IMAGE, np.array([0, 0, 1, 2, 0, 0, 2, 1]), np.float32(3)),
        lambda run, x, p, v: run(x, p, np.float32(0)),
    ),
    Fault(
        "pads-value",
        "Pad",
        (IMAGE, np.array([0, 0, 1, 2, 0, 0, 2, 1])),
        lambda run, x, p: run(x, p, mode="edge"),
        {"mode": "reflect"},
    ),
    conv("stride-ignored", {"strides": None}, "strides (1,1) instead of (2,3)", strides=[2, 3]),
    Fault("stride-ignored", "Conv", (X, W, B), lambda run, *x: run(*x, strides=None)[:, :, :4, :3], {"strides": [2, 3]}),
    Fault(
        "stride-ignored",
        "ConvTranspose",
        (X, normal(3, 4, 3, 2)),
        lambda run, x, w: np.pad(run(x, w, strides=None), ((0, 0), (0, 0), (0, 8), (0, 14))),
        {"strides": [2, 3]},
        text="and 0 beyond it",
    ),
    changed("stride-ignored", "MaxPool", (X,), {"kernel_shape": [2, 2], "strides": [2, 3]}, {"strides": [3, 2]}),
    Fault("dilation-ignored", "Conv", (X, W, B), lambda run, *x: run(*x, dilations=None)[:, :, :5, :6], {"dilations": [2, 2]}),
    conv("dilation-ignored", {"dilations": [2, 3]}, "dilations (2,3) instead of (3,2)", dilations=[3, 2]),
    changed(
        "ceil-mode",
        "MaxPool",
        (X,),
        {"kernel_shape": [3, 3], "strides": [2, 2], "ceil_mode": 1},
        {"ceil_mode": 0},
        "ceil_mode 0",
    ),
    changed("ceil-mode", "AveragePool", (X,), {"kernel_shape": [3, 3], "strides": [2, 2]}, {"ceil_mode": 1}, "ceil_mode 1"),
    changed("count-include-pad", "AveragePool", (X,), {"kernel_shape": [3, 3], "pads": [1, 1, 1, 1]}, {"count_include_pad": 1}),
    changed(
        "count-include-pad",
        "AveragePool",
        (X,),
        {"kernel_shape": [3, 3], "pads": [1] * 4, "count_include_pad": 1},
        {"count_include_pad": 0},
    ),
    Fault(
        "pads-side",
        "AveragePool",
        (X,),
        lambda run, x: run(x) * divided([2, 1, 0, 2], [2, 1, 1, 2]),
        {"kernel_shape": [4, 4], "pads": [2, 1, 0, 2], "count_include_pad": 1, "ceil_mode": 1, "strides": [2, 2]},
        text="divided by counts for pads (2,1,1,2) instead of (2,1,0,2)",
    ),
]

GROUPS = [
    Fault(
        "groups-mixed", "Conv", GROUPED, lambda run, x, w, b: run(x[:, [0, 1, 0, 1, 0, 1]], w, b), {"group": 3}, text="ignored"
    ),
    Fault(
        "groups-mixed",
        "Conv",
        GROUPED,
        lambda run, x, w, b: run(x[:, [0, 3, 1, 4, 2, 5]], w, b),
        {"group": 3},
        text="interleaved",
    ),
    Fault(
        "groups-mixed",
        "Conv",
        GROUPED,
        lambda run, x, w, b: run(x, w, b)[:, [0, 2, 4, 1, 3, 5]],
        {"group": 3},
        text="output channels",
    ),
    Fault(
        "groups-mixed",
        "Conv",
        (normal(2, 3, 5, 4), normal(6, 1, 3, 2)),
        lambda run, x, w: run(x, w.reshape(2, 3, 1, 3, 2).swapaxes(0, 1).reshape(w.shape)),
        {"group": 3},
        text="weights",
    ),
    Fault(
        "groups-mixed",
        "Attention",
        HEADS,
        lambda run, q, k, v: run(q, k[:, [0, 1, 2, 0, 1, 2]], v[:, [0, 1, 2, 0, 1, 2]]),
        version=23,
        text="head h mod 3",
    ),
]

COORDINATES = [
    Fault(
        "coordinates",
        "Resize",
        (IMAGE, None, np.array([1, 1, 2.5, 1.75], np.float32)),
        lambda run, *x, rule=rule: run(*x, coordinate_transformation_mode=rule),
        {"mode": "linear"},
        text=f"{rule}",
    )
    for rule in ("asymmetric", "align_corners")
]
COORDINATES += [
    changed(
        "coordinates", "Resize", (IMAGE, None, np.array([1, 1, 2, 2], np.float32)), {"mode": "cubic"}, {"cubic_coeff_a": -0.5}
    ),
    changed(
        "coordinates",
        "Resize",
        (IMAGE, None, np.array([1, 1, 1.6, 2.5], np.float32)),
        {"coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"},
        {"nearest_mode": "ceil"},
        "nearest_mode",
    ),
    changed("coordinates", "GridSample", (IMAGE, normal(1, 3, 4, 2) / 2), {"mode": "linear"}, {"align_corners": 1}),
    changed("coordinates", "AffineGrid", (normal(2, 2, 3), np.array([2, 3, 4, 5])), {}, {"align_corners": 1}),
    changed(
        "coordinates",
        "RoiAlign",
        (normal(1, 2, 8, 9), np.array([[0, 1, 6, 5], [2, 2, 7.5, 6.5]], np.float32), np.array([0, 0])),
        {"output_height": 3, "output_width": 2, "sampling_ratio": 2},
        {"coordinate_transformation_mode": "output_half_pixel"},
    ),
]

VALUES = [
    changed("attribute-default", "LeakyRelu", (A,), {"alpha": 0.3}, {"alpha": None}, "the default alpha 0.01 instead of 0.3"),
    changed(
        "attribute-default", "HardSigmoid", (A,), {"alpha": 0.3, "beta": 0.1}, {"alpha": None, "beta": None}, "alpha and beta"
    ),
    Fault(
        "attribute-default",
        "Transpose",
        (A,),
        lambda run, x: x.transpose(3, 2, 1, 0).reshape(5, 3, 6, 4),
        {"perm": [2, 0, 3, 1]},
        text="which is its default",
    ),
    changed("attribute-default", "LayerNormalization", (A * 0.01, normal(6)), {"epsilon": 0.01}, {"epsilon": None}),
    changed("attribute-default", "Gemm", (normal(3, 4), normal(4, 5), normal(5)), {"alpha": 0.7, "beta": 0.2}, {"alpha": None}),
    changed(
        "attribute-default",
        "ScatterElements",
        (normal(4, 5), np.zeros((1, 5), int), normal(1, 5)),
        {"reduction": "add"},
        {"reduction": None},
    ),
    changed(
        "attribute-value",
        "Gemm",
        (normal(3, 4), normal(4, 5), normal(5)),
        {"alpha": 0.7, "beta": 0.2},
        {"alpha": 0.2, "beta": 0.7},
        "swapped",
    ),
    changed("attribute-value", "LeakyRelu", (A,), {"alpha": 0.3}, {"alpha": 0.27}, "alpha 0.27 instead of 0.3"),
    changed("attribute-value", "Celu", (A,), {"alpha": 1.5}, {"alpha": 0.77}, "alpha 0.77 instead of 1.5"),
    changed(
        "attribute-value",
        "Gemm",
        (normal(30, 20), normal(20, 41), normal(41)),
        {"alpha": 0.7, "beta": 1.7},
        {"beta": 1.45},
        "beta 1.45 instead of 1.7",
    ),
    changed("attribute-value", "LRN", (A,), {"size": 3, "alpha": 0.5}, {"beta": 0.6}, "beta 0.6 instead of 0.75"),
    changed(
        "attribute-value",
        "LayerNormalization",
        (normal(40, 64) * np.float32(0.01), normal(64)),
        {"epsilon": 0.01},
        {"epsilon": 3.3e-7},
        "epsilon 3.3e-07 instead of 0.01",
    ),
    changed("attribute-value", "Attention", HEADS, {"scale": 0.3}, {"scale": 0.21}, "scale 0.21 instead of 0.3", version=23),
    changed("attribute-value", "CumSum", (A, np.int64(1)), {}, {"exclusive": 1}, "exclusive 1 instead of 0"),
    changed("attribute-value", "CumSum", (A, np.int64(1)), {}, {"reverse": 1}, "reverse"),
    changed("attribute-value", "DepthToSpace", (normal(2, 12, 3, 4),), {"blocksize": 2}, {"mode": "CRD"}, "CRD instead of DCR"),
    changed("attribute-value", "TopK", (A, np.array([3])), {}, {"largest": 0}, "largest 0", outputs=("float32", "int64")),
    changed(
        "attribute-value", "GridSample", (IMAGE, normal(1, 3, 4, 2)), {}, {"padding_mode": "border"}, "border instead of zeros"
    ),
    changed("attribute-value", "Gelu", (A,), {}, {"approximate": "tanh"}),
    changed("attribute-value", "Attention", HEADS, {}, {"scale": 1 / 8}, "scale 0.125 instead of 1/√d", version=23),
    changed("attribute-value", "Attention", HEADS, {}, {"is_causal": 1}, "is_causal", version=23),
    changed("attribute-value", "LRN", (A,), {"size": 3, "alpha": 0.5}, {"alpha": 1.5}, "alpha 1.5 instead of 0.5"),
    changed(
        "attribute-value",
        "BatchNormalization",
        (A, *(np.abs(normal(4, seed=i)) * np.float32(0.01) for i in range(4))),
        {},
        {"epsilon": 0.0},
    ),
    Fault(
        "attribute-value",
        "LayerNormalization",
        (A * np.float32(0.1), normal(6)),
        lambda run, x, s: (x - x.mean(-1, keepdims=True, dtype=float)) / (np.float64(x).std(-1, keepdims=True) + 0.01) * s,
        {"epsilon": 0.01},
        text="added to the standard deviation",
    ),
    Fault(
        "attribute-value",
        "Clip",
        (normal(3, 5, 7, dtype="float16"), None, np.float16(1.5)),
        lambda run, x, low, high: run(x, np.float16(0), high),
        outputs=("float16",),
        text="0 for min, which is not given",
    ),
    Fault(
        "attribute-value",
        "Clip",
        (np.arange(21, dtype=np.int32) * 8 % 21 - 9,),
        lambda run, x: run(x, np.int32(0)),
        outputs=("int32",),
        text="0 for min, which is not given",
    ),
    Fault(
        "attribute-value",
        "Gather",
        (normal(5, 4), np.array([-1, 2, -2])),
        lambda run, x, i: run(x, np.maximum(i, 0)),
        text="clamped",
    ),
    Fault(
        "attribute-value",
        "Slice",
        (normal(7, 6), np.array([-2, 1]), np.array([7, 4])),
        lambda run, x, starts, ends: x[:, 1:4],
        text="starts clamped",
    ),
    Fault(
        "attribute-value",
        "Trilu",
        (normal(4, 5), np.int64(1)),
        lambda run, x, k: run(x, np.int64(-1)),
        text="k -1 instead of 1",
    ),
]

FAULTS = [*AXES, *WINDOWS, *GROUPS, *COORDINATES, *VALUES]


def name(fault):
    return f"{fault.word}-{fault.operator}"


@pytest.mark.parametrize("fault", FAULTS, ids=name)
def test_the_cause_is_named(fault):
    assert_named(fault)


@pytest.mark.parametrize("fault", FAULTS, ids=name)
def test_a_right_output_passes(fault):
    assert_right_passes(fault)


@pytest.mark.parametrize("fault", FAULTS, ids=name)
def test_noise_comes_from_no_attribute(fault):
    assert_noise_is_unexplained(fault, CAUSES)


def test_every_cause_has_a_fault():
    assert {fault.word for fault in FAULTS} == CAUSES
