"""Models of the operator cases: valid ONNX, and inputs of the declared shapes and types."""

from __future__ import annotations

import math
import re

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, numpy_helper

from reference import dtypes
from suites.cases import operators
from suites.cases.identifier import parse


@pytest.mark.parametrize("family", operators.families())
def test_models_are_valid_and_inputs_fit(family):
    for id in operators.families()[family]:
        case = parse(id)
        model = onnx.load_model_from_string(case.model_bytes)
        if case.domain or onnx.defs.has(case.operator):
            onnx.checker.check_model(model, full_check=True)
        assert model == case.model
        assert [e.version for e in model.opset_import if e.domain == case.domain] == [case.opset]
        declared = {
            v.name: (
                dtypes.NAMES[v.type.tensor_type.elem_type],
                tuple(d.dim_value for d in v.type.tensor_type.shape.dim),
            )
            for v in model.graph.input
        }
        assert {name: (dtypes.name_of(a.dtype), a.shape) for name, a in case.feeds.items()} == declared, id
        assert list(case.feeds) == [v.name for v in model.graph.input]
        assert len(case.output_dtypes) == len(model.graph.output)


def test_the_schema_of_the_named_version_is_used():
    for id in {id.split(".")[0]: id for id in operators.ALL}.values():
        case = parse(id)
        if onnx.defs.has(case.operator, case.domain):
            found = onnx.defs.get_schema(case.operator, case.opset, case.domain)
            assert found.since_version == case.node.version, id


def test_sizes_stay_small():
    sizes = [sum(math.prod(e.shape) for e in parse(id).node.inputs) for id in operators.ALL]
    assert max(sizes) <= 2_200_000
    assert sum(size > 200_000 for size in sizes) <= 220
    assert sum(size > 20_000 for size in sizes) <= 400


def test_initialisers_are_those_that_the_id_names():
    case = parse("Conv-11.f32.x:1x3x7x5.w:4x3x3x3.b:4.const:b.in:normal")
    assert [t.name for t in case.model.graph.initializer] == ["b"]
    assert [v.name for v in case.model.graph.input] == ["x", "w"]
    fed = parse("Reshape-21.f32.data:2x3x5.shape:5_1_6.feed:shape.in:index")
    assert [v.name for v in fed.model.graph.input] == ["data", "shape"]
    assert fed.feeds["shape"].tolist() == [5, 1, 6]
    stored = parse("Reshape-21.f32.data:2x3x5.shape:5_1_6.in:index")
    assert numpy_helper.to_array(stored.model.graph.initializer[0]).tolist() == [5, 1, 6]


def test_optional_inputs_left_out_keep_their_place():
    case = parse("Clip-13.f32.input:2x3x5x7.max:6.in:normal")
    assert list(case.model.graph.node[0].input) == ["input", "", "max"]
    resize = parse("Resize-19.f32.x:1x2x5x7.sizes:1_2_3_4.in:index")
    assert list(resize.model.graph.node[0].input) == ["x", "", "", "sizes"]


@pytest.mark.parametrize(
    ("id", "names"),
    [
        ("Split-18.f32.input:7x5.num_outputs:3.in:index", ["outputs0", "outputs1", "outputs2"]),
        ("Split-18.f32.input:7x5.split:3_4.in:index", ["outputs0", "outputs1"]),
        ("MaxPool-12.f32.x:1x3x7x5.kernel_shape:3_2.in:index", ["y"]),
        ("MaxPool-12.f32.x:1x3x7x5.kernel_shape:3_2.outputs:2.in:index", ["y", "indices"]),
        ("BatchNormalization-9.f32.x:2x3x5.scale:3.b:3.mean:3.var:3.in:normal", ["y"]),
    ],
)
def test_names_of_outputs(id, names):
    assert [output.name for output in parse(id).model.graph.output] == names


def test_types_of_outputs():
    assert parse("ms:Gelu-1.f16.x:3x5.in:normal").output_dtypes == ("float16",)
    assert parse("Cast-21.f32.input:3.to:i4.in:normal").output_dtypes == ("int4",)


def test_values_of_parameters():
    clip = parse("Clip-13.f16.input:3.min:-1e-1.max:inf.feed:min_max.in:normal")
    assert clip.feeds["min"].dtype == np.float16
    assert clip.feeds["min"].shape == ()
    assert clip.feeds["min"] == np.float16(-0.1)
    assert np.isinf(clip.feeds["max"])
    constant = parse("ConstantOfShape-21.i64.input:2_3.value:9007199254740993")
    assert numpy_helper.to_array(constant.model.graph.node[0].attribute[0].t).tolist() == [2**53 + 1]


UNFED = ("str", "int4", "uint4", "int2", "uint2", "float4_e2m1fn", "float8_e8m0fnu")

BACKWARDS = re.compile(r"Slice-13\..*ends:(9223372036854775807|2147483647).*steps:-")
"""Slices that step back from before the end: ONNX Runtime 1.32 takes the largest number for the beginning of the axis."""

ABORTS = re.compile(r"ms:QLinear(Sigmoid|LeakyRelu)-1\..*x_scale:scalar\.y_scale|RandomNormal-1\..*scale:0\.")
"""ONNX Runtime 1.32 ends the process: it takes zero points that may be left out as given, and no deviation of 0."""

UNIMPLEMENTED = (
    "NOT_IMPLEMENTED",
    "data type is not supported",
    "is not currently registered or supported",  # complex numbers
    "not defined for empty set with bool type",  # ReduceMax and ReduceMin, which ONNX defines as false and true
    "size_ % 2 == 1 was false",  # LRN: it takes odd sizes only
    "INVALID_GRAPH : This is an invalid model. Type Error",
    "not implemented for CPU",  # MultiHeadAttention's packed inputs
    "not supported",  # recurrent layers with batches first, GroupQueryAttention's normalisation
    "does not support double yet",  # recurrent layers, which have kernels of that type all the same
    "[TypeInferenceError] Input data type does not match the expected data type",  # QLinearAdd without a zero point
    "dynamic_quantize_matmul.cc:97",  # zero points per column of a batched matrix
    "running If node",  # AffineGrid's function body, of float16
)


@pytest.mark.parametrize("family", operators.families())
def test_onnx_runtime_takes_what_it_implements(family):
    """No model fails in ONNX Runtime other than for what it does not implement, few fail of an operator and types that it takes
    elsewhere, and shapes are as inferred.
    """
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 4
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    ran, declined, has = 0, {}, set()
    for id in operators.families()[family]:
        case = parse(id)
        if ABORTS.match(id) or any(dtypes.name_of(a.dtype) in UNFED for a in case.feeds.values()):
            continue  # its Python binding takes no such arrays through OrtValue
        try:
            session = onnxruntime.InferenceSession(case.model_bytes, options, providers=["CPUExecutionProvider"])
            outputs = session.run_with_ort_values(None, {name: _ort_value(a) for name, a in case.feeds.items()})
        except Exception as error:
            declined[id] = str(error)
            continue
        ran += 1
        has.add(_types(case))
        for output, value in zip(case.model.graph.output, outputs, strict=True):
            tensor = output.type.tensor_type
            if tensor.HasField("shape") and not BACKWARDS.match(id):
                known = [d.dim_value if d.HasField("dim_value") else None for d in tensor.shape.dim]
                assert len(known) == len(value.shape()), id
                assert all(d in (None, got) for d, got in zip(known, value.shape(), strict=True)), id
            assert value.element_type() == tensor.elem_type
    assert {i: e for i, e in declined.items() if not any(word in e for word in UNIMPLEMENTED)} == {}
    assert len(declined) < ran / 3
    assert sum(_types(parse(id)) in has for id in declined) < ran / 25


def _types(case):
    """What a kernel is registered for."""
    return case.operator, case.node.version, *(e.dtype for e in case.node.inputs), *case.output_dtypes


def _ort_value(array):
    code = dtypes.ONNX[dtypes.name_of(array.dtype)]
    if code in (TensorProto.BFLOAT16, *range(TensorProto.FLOAT8E4M3FN, TensorProto.FLOAT8E5M2FNUZ + 1)):
        raw = array.view(np.uint16 if array.dtype.itemsize == 2 else np.uint8)
        return onnxruntime.OrtValue.ortvalue_from_numpy_with_onnx_type(raw, code)
    return onnxruntime.OrtValue.ortvalue_from_numpy(array)
