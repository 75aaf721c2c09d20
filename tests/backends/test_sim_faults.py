"""The faults of the simulated device's compiler and units: seeding one has the effect that it tells of, and no other."""

from __future__ import annotations

import functools
from collections.abc import Iterator

import numpy as np
import pytest
from onnx import TensorProto, helper

from backends import registry
from backends.sim import faults
from backends.sim.faults import compiler, numerics
from backends.worker import DeviceSession, Observation
from suites.cases import graphs, operators
from suites.cases.identifier import parse

from . import models

pytest.importorskip("onnxruntime")

HERE = {name: fault for name, fault in faults.catalogue().items() if fault.part in ("compiler", "numerics")}
UNTOUCHED = "BitwiseNot-18.i32.x:2x3x5x7.in:extreme"
"""A case that no fault here has any business with."""

DOUBLE, FLOAT, HALF, INT64, INT8, UINT8 = (
    TensorProto.DOUBLE,
    TensorProto.FLOAT,
    TensorProto.FLOAT16,
    TensorProto.INT64,
    TensorProto.INT8,
    TensorProto.UINT8,
)


def test_every_fault_is_in_the_catalogue_and_can_be_seeded():
    assert HERE.keys() == {*compiler.FAULTS, *numerics.FAULTS}
    assert set(HERE) <= set(faults.SEEDS)


def session(name: str, device: str = "generic", **options: str) -> DeviceSession:
    isolated = options.get("fault", "") in HERE and HERE[options["fault"]].isolated
    deadlines = {"run": 1.0} if isolated else None
    return DeviceSession("sim", device, options, in_process=not isolated, deadlines=deadlines)


@functools.cache
def healthy(device: str) -> DeviceSession:
    return DeviceSession("sim", device, in_process=True)


@functools.cache
def right(device: str, case_id: str) -> Observation:
    case = parse(case_id)
    return healthy(device).observe(case.model_bytes, case.feeds)


def candidates(fault: faults.Fault) -> Iterator[str]:
    """Cases that may show a fault: those of its operators, or all graphs of nodes that become one."""
    if not fault.operators:
        yield from graphs.ids(graphs.FUSED)
    yield from (i for i in operators.ALL if i.split(".", 1)[0].rpartition("-")[0] in fault.operators)


def same(a: Observation, b: Observation) -> bool:
    """Whether both ended alike, in the same places and with the same bits."""
    alike = a.ended == b.ended and a.placement == b.placement and a.outputs.keys() == b.outputs.keys()
    return alike and all(bits(a.outputs[n]) == bits(b.outputs[n]) for n in a.outputs)


def bits(x: np.ndarray) -> object:
    return (x.dtype, x.shape, x.tolist() if x.dtype == object else x.tobytes())


@pytest.mark.parametrize("name", [name for name, fault in HERE.items() if not fault.isolated])
def test_a_fault_shows_on_its_operators_and_not_elsewhere(name):
    fault = HERE[name]
    with session(name, fault.device, fault=name) as device:
        assert any(not same(device.observe(case.model_bytes, case.feeds), right(fault.device, i))
                   for i in candidates(fault) for case in [parse(i)])  # fmt: skip
        case = parse(UNTOUCHED)
        assert same(device.observe(case.model_bytes, case.feeds), right(fault.device, UNTOUCHED))


@pytest.mark.parametrize(
    ("name", "case_id", "ended"),
    [
        ("relu-rank-5-crashes", "Relu-14.f32.x:2x3x2x5x3.in:uniform", "crash"),
        ("empty-tensor-crashes", "Ceil-13.f32.x:0x3.in:half", "crash"),
        ("gemm-hangs", "Gemm-13.f32.a:5x7.b:7x3.c:3.alpha:0.beta:1.in:normal", "timeout"),
    ],
)
def test_faults_that_end_or_block_the_process(name, case_id, ended):
    case = parse(case_id)
    with session(name, fault=name) as device:
        assert device.observe(case.model_bytes, case.feeds).ended == ended


def outputs(fault: str, model: bytes, feeds):
    """What the generic device with a fault returns."""
    backend = registry.load("sim")
    device = backend.open(next(info for info in backend.discover() if info.name == "generic"), {"fault": fault})
    try:
        return device.compile(model).run(feeds)
    finally:
        device.close()


def compute(fault: str, operator: str, inputs, types, out: int, opset: int, **attributes):
    """One node on the generic device with a fault."""
    model = models.single(operator, types, [np.shape(x) for x in inputs], out, opset, **attributes)
    kinds = [helper.tensor_dtype_to_np_dtype(code) for code in types]
    return outputs(fault, model, {f"x{i}": np.array(x, k) for i, (x, k) in enumerate(zip(inputs, kinds, strict=True))})["y"]


def test_int64_max_of_onnxruntime_25280():
    a, b = [2**33 + 1, -5, 2**31, 7], [2**33, -7, 3, 2**40]
    assert compute("int64-extremes-in-32-bits", "Max", [a, b], [INT64] * 2, INT64, 13)[2] == 3
    assert compute("int64-extremes-in-32-bits", "Sign", [[2**31]], [INT64], INT64, 13).tolist() == [-1]


def test_nearest_tie_of_openvino_36023():
    node = helper.make_node("Resize", ["x", "", "", "sizes"], ["y"], mode="nearest", nearest_mode="round_prefer_ceil")
    model = models.graph([node], [("x", FLOAT, [1, 1, 1, 20]), ("sizes", INT64, [4])], [("y", FLOAT, None)], 13)
    feeds = {"x": np.arange(20, dtype=np.float32).reshape(1, 1, 1, 20), "sizes": np.array([1, 1, 1, 6])}
    assert outputs("resize-ties-down", model, feeds)["y"].reshape(-1)[4] == 14


def test_float16_quantisation_of_onnxruntime_18576():
    x = [0.6, -0.6, 1.5, 2.5, -1.7, 3.99]
    found = compute("quantize-float16-truncates", "QuantizeLinear", [x, 1, 0], [HALF, HALF, INT8], INT8, 19)
    assert found.tolist() == [0, 0, 1, 2, -1, 3]


def test_saturating_sums_of_openvino_35647():
    found = compute("int8-saturates", "Add", [[200, 100, 255, 128], [100, 200, 10, 200]], [UINT8] * 2, UINT8, 14)
    assert found.tolist() == [255] * 4


def test_antialias_of_openvino_35893():
    image = np.arange(36).reshape(1, 1, 6, 6)
    inputs, types = [image, [], [1, 1, 0.5, 0.5]], [FLOAT] * 3
    found = [
        compute("resize-antialias-ignored", "Resize", inputs, types, FLOAT, 18, mode="linear", antialias=antialias)
        for antialias in (0, 1)
    ]
    assert np.array_equal(*found)


def test_extents_of_an_ignored_auto_pad():
    inputs = [np.ones((1, 1, 3, 3)), np.arange(9).reshape(1, 1, 3, 3)]
    found = compute(
        "convtranspose-auto-pad-ignored", "ConvTranspose", inputs, [FLOAT] * 2, FLOAT, 11, strides=[2, 2], auto_pad="SAME_UPPER"
    )
    assert found.shape == (1, 1, 7, 7)


def test_default_bfloat16_of_openvino():
    assert compute("default-bfloat16", "Mul", [[0.05263158], [1]], [FLOAT] * 2, FLOAT, 14).tolist() == [0.052734375]


def test_reciprocal_of_zero_on_the_htp_emulator():
    assert compute("reciprocal-of-zero-255", "Reciprocal", [[0.0, -0.0, 2.0]], [FLOAT], FLOAT, 13).tolist() == [255, -255, 0.5]


def test_padding_of_a_maximum_with_zero():
    image = np.full((1, 1, 4, 4), -1.0)
    found = compute("maxpool-pads-with-zero", "MaxPool", [image], [FLOAT], FLOAT, 12, kernel_shape=[3, 3], pads=[1] * 4)
    assert found[0, 0].tolist() == [[0, 0, 0, 0], [0, -1, -1, 0], [0, -1, -1, 0], [0, 0, 0, 0]]


@pytest.mark.parametrize("opset", [2, 8, 10, 11, 22])
def test_padding_with_zero_at_every_opset(opset):
    """The widths of Pad are attributes before opset 11."""
    image = np.full((1, 1, 2, 2), -1.0)
    found = compute("maxpool-pads-with-zero", "MaxPool", [image], [FLOAT], FLOAT, opset, kernel_shape=[2, 2], pads=[1, 0, 0, 0])
    assert found[0, 0].tolist() == [[0], [-1]]


@pytest.mark.parametrize(
    "attributes",
    [
        {"kernel_shape": [1, 3], "pads": [0, 1, 0, 1]},
        {"kernel_shape": [1, 5]},
        {"kernel_shape": [1, 3], "strides": [1, 2], "auto_pad": "SAME_UPPER"},
    ],
)
def test_windows_that_cannot_be_turned_are_left_alone(attributes):
    image = np.arange(20.0).reshape(1, 1, 4, 5)
    turned, right = (
        compute(fault, "MaxPool", [image], [FLOAT], FLOAT, 22, **attributes)
        for fault in ("pool-kernel-swapped", "sinh-sign-flipped")
    )
    assert np.array_equal(turned, right)


def test_a_window_that_can_be_turned_is():
    image = np.arange(20.0).reshape(1, 1, 4, 5)
    assert compute("pool-kernel-swapped", "MaxPool", [image], [FLOAT], FLOAT, 22, kernel_shape=[1, 3]).shape == (1, 1, 2, 5)


@pytest.mark.parametrize(("opset", "axes"), [(11, (1, 2)), (13, (2,))])
def test_softmax_of_small_numbers_needs_no_maximum(opset, axes):
    """Right in both meanings of the axis, and in double precision, as long as no exponential overflows."""
    x = np.random.default_rng(1).standard_normal((2, 3, 4))
    e = np.exp(x)
    found = compute("softmax-unshifted", "Softmax", [x], [DOUBLE], DOUBLE, opset)
    assert np.allclose(found, e / e.sum(axes, keepdims=True), rtol=1e-14, atol=0)
    assert np.isnan(compute("softmax-unshifted", "Softmax", [x + 800], [DOUBLE], DOUBLE, opset)).all()


def test_row_of_a_broadcast_sum_repeated_in_order():
    a, b = np.zeros((2, 3, 4)), np.arange(2).reshape(2, 1, 1)
    found = compute("binary-broadcast-cyclic", "Add", [a, b], [FLOAT] * 2, FLOAT, 14)
    assert found.reshape(-1)[:4].tolist() == [0, 1, 0, 1]


def test_single_precision_hides_a_double():
    assert compute("float64-in-single", "Add", [[1 + 2**-40], [0]], [DOUBLE] * 2, DOUBLE, 14).tolist() == [1.0]
