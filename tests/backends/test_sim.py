"""The healthy simulated device: exact integers, halves rounded once, and a support table that keeps its word."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from onnx import TensorProto, helper

from backends import registry
from backends.interface import CompileError, Unsupported

from . import models

pytest.importorskip("onnxruntime")

CODES = {
    "float64": TensorProto.DOUBLE,
    "float32": TensorProto.FLOAT,
    "float16": TensorProto.FLOAT16,
    "bfloat16": TensorProto.BFLOAT16,
    "int8": TensorProto.INT8,
    "uint8": TensorProto.UINT8,
    "int16": TensorProto.INT16,
    "uint16": TensorProto.UINT16,
    "int32": TensorProto.INT32,
    "uint32": TensorProto.UINT32,
    "int64": TensorProto.INT64,
    "uint64": TensorProto.UINT64,
    "bool": TensorProto.BOOL,
}
INTEGERS = [name for name in CODES if "int" in name]
PRINCIPAL = ["float32", "float16", "int8", "uint8", "int32", "int64", "bool"]


@pytest.fixture(scope="module")
def device():
    backend = registry.load("sim")
    return backend.open(backend.discover()[0], {})


def compute(device, operator, inputs, out, opset=22, **attributes):
    codes = [CODES[x.dtype.name] for x in inputs]
    model = models.single(operator, codes, [x.shape for x in inputs], CODES[out], opset, **attributes)
    return device.compile(model).run({f"x{i}": x for i, x in enumerate(inputs)})["y"]


def edges(name):
    """Two arrays of extreme and ordinary values of an integer type; the second has no zero."""
    limits = np.iinfo(name)
    low, high = int(limits.min), int(limits.max)
    a = [high, low, 5, high - 1, 3, high // 3, low + 1, 7]
    b = [high, -1 if low else 1, 2, high - 2, 7, high // 5, 3, 2]
    return np.array(a, object).astype(name), np.array(b, object).astype(name)


def wrap(values, name):
    """Python integers modulo the type's range."""
    bits = np.iinfo(name).bits
    exact = np.array(values, object)
    unsigned = np.array([int(v) % 2**bits for v in exact.ravel()], object).astype(f"u{bits // 8}")
    return unsigned.view(name).reshape(exact.shape)


def truncated(a, b):
    quotient = abs(a) // abs(b)
    return -quotient if (a < 0) != (b < 0) else quotient


def test_runs_in_process_and_describes_itself(device):
    assert registry.load("sim").in_process
    info = device.info
    assert (info.backend, info.name, info.kind) == ("sim", "generic", "simulated")
    assert info.host
    assert "onnxruntime" in info.runtime
    with pytest.raises(ValueError, match="no option 'fualt'"):
        registry.load("sim").open(info, {"fualt": "x"})


BINARY = {
    "Add": lambda a, b: a + b,
    "Sub": lambda a, b: a - b,
    "Mul": lambda a, b: a * b,
    "Div": truncated,
    "Mod": lambda a, b: a % b,
    "Max": max,
    "Min": min,
    "BitwiseAnd": lambda a, b: a & b,
    "BitwiseOr": lambda a, b: a | b,
    "BitwiseXor": lambda a, b: a ^ b,
}


@pytest.mark.parametrize("name", INTEGERS)
@pytest.mark.parametrize("operator", BINARY)
def test_integer_arithmetic_wraps_exactly(device, operator, name):
    a, b = edges(name)
    expected = wrap([BINARY[operator](int(x), int(y)) for x, y in zip(a, b, strict=True)], name)
    assert device.capabilities().declares(operator, name)
    result = compute(device, operator, [a, b], name)
    assert result.dtype == expected.dtype
    assert result.tolist() == expected.tolist()


def test_int8_wraps():
    backend = registry.load("sim")
    device = backend.open(backend.discover()[0], {})
    a, b = np.array([100, -128, 127], np.int8), np.array([100, -1, 1], np.int8)
    assert compute(device, "Add", [a, b], "int8").tolist() == [-56, 127, -128]
    assert compute(device, "Mul", [a, b], "int8").tolist() == [16, -128, 127]


@pytest.mark.parametrize("name", ["int32", "uint32", "int64", "uint64"])
@pytest.mark.parametrize("operator", ["ReduceSum", "ReduceSumSquare", "ReduceL1", "CumSum", "MatMul", "Gemm"])
def test_integer_sums_do_not_go_through_floats(device, operator, name):
    a, _ = edges(name)
    values = [int(v) for v in a]
    axis = np.array([0], np.int64)
    if operator == "ReduceL1" and name == "uint64":
        assert device.capabilities().declares(operator, name) is False
        return
    if operator in ("MatMul", "Gemm"):
        result = compute(device, operator, [a.reshape(1, 8), a.reshape(8, 1)], name)
        expected = wrap([[sum(v * v for v in values)]], name)
    elif operator == "CumSum":
        result = compute(device, operator, [a, axis.reshape(())], name)
        expected = wrap(np.cumsum(np.array(values, object)), name)
    else:
        terms = {"ReduceSum": values, "ReduceSumSquare": [v * v for v in values], "ReduceL1": [abs(v) for v in values]}
        result = compute(device, operator, [a, axis], name)
        expected = wrap([sum(terms[operator])], name)
    assert result.tolist() == expected.tolist()


@pytest.mark.parametrize("name", ["int32", "int64"])
def test_integer_powers_are_exact(device, name):
    base = np.array([3, -7, 2, 0, 1, -1, 13, 2], name)
    exponent = np.array([40, 25, 62, 0, 9, 13, 17, 64], name)
    expected = wrap([int(b) ** int(e) for b, e in zip(base[:7], exponent[:7], strict=True)], name)
    assert compute(device, "Pow", [base, exponent], name)[:7].tolist() == expected.tolist()


def test_reductions_by_attribute_and_over_nothing(device):
    x = np.array([[2**62, 2**62, 3]], np.int64)
    assert compute(device, "ReduceSumSquare", [x], "int64", opset=13, axes=[1]).tolist() == [[9]]
    empty = np.zeros((2, 0), np.int64)
    assert compute(device, "ReduceSum", [empty, np.array([1])], "int64").tolist() == [[0], [0]]


def test_float16_is_computed_in_float32_and_rounded_after_each_node(device):
    nodes = [helper.make_node("Add", ["x", "x"], ["a"]), helper.make_node("Sub", ["a", "b"], ["y"])]
    half = TensorProto.FLOAT16
    model = models.graph(nodes, [("x", half, [3]), ("b", half, [3])], [("y", half, [3])])
    x, b = np.array([40000, 1024.5, 3], np.float16), np.array([79000 / 2, 2049, 1], np.float16)
    executable = device.compile(model)
    y = executable.run({"x": x, "b": b})["y"]
    with np.errstate(over="ignore"):
        expected = (np.float32(x) + np.float32(x)).astype(np.float16).astype(np.float32) - np.float32(b)
    assert y.dtype == np.float16
    assert y.tolist() == expected.astype(np.float16).tolist()
    assert y[0] == np.inf  # a cast pair that was optimised away would give 40500
    assert [p.engine for p in executable.placement()] == ["float32", "float32"]


@pytest.mark.parametrize("name", ["float16", "bfloat16"])
def test_halves_round_once(device, name):
    dtype = np.dtype(getattr(ml_dtypes, name, name))
    x = np.linspace(-4, 4, 64).astype(dtype)
    exact = x.astype(np.float64)
    cases = {
        "Sigmoid": 1 / (1 + np.exp(-exact)),
        "HardSwish": exact * np.clip(exact / 6 + 0.5, 0, 1),
        "Mish": exact * np.tanh(np.log1p(np.exp(exact))),
        "Softmax": np.exp(exact) / np.exp(exact).sum(),
    }
    for operator, value in cases.items():
        got = compute(device, operator, [x], name).astype(np.float64)
        half_ulp = np.abs(np.spacing(value.astype(dtype)).astype(np.float64)) / 2
        assert (np.abs(got - value) <= 1.02 * half_ulp + 1e-7).all(), operator


@pytest.mark.parametrize("name", CODES)
def test_elements_move_unchanged(device, name):
    if name == "bool":
        x = np.array([[0, 1, 1, 0], [1, 0, 0, 1]], bool)
    elif name in INTEGERS:
        x = edges(name)[0].reshape(2, 4)
    else:
        dtype = getattr(ml_dtypes, name, name)
        x = np.array([[1.5, -2.25, np.nan, np.inf], [0.0, -0.0, -np.inf, 7]]).astype(dtype)
    index = np.array([1, 0], np.int64)
    expected = {
        "Transpose": ([x], {}, x.T),
        "Gather": ([x, index], {}, x[[1, 0]]),
        "Concat": ([x, x], {"axis": 0}, np.concatenate([x, x])),
        "Where": ([np.array([[True], [False]]), x, x[::-1].copy()], {}, np.stack([x[0], x[0]])),
        "Pad": ([x, np.array([0, 1, 0, 0])], {}, np.concatenate([np.zeros((2, 1), x.dtype), x], 1)),
        "Tile": ([x, np.array([2, 1])], {}, np.tile(x, (2, 1))),
        "Expand": ([x, np.array([2, 2, 4])], {}, np.stack([x, x])),
        "Trilu": ([x], {}, np.triu(x)),
        "Slice": ([x, np.array([1]), np.array([4]), np.array([1])], {}, x[:, 1:4]),
        "ScatterND": ([x, np.array([[1]]), x[:1]], {}, np.stack([x[0], x[0]])),
    }
    for operator, (inputs, attributes, result) in expected.items():
        assert device.capabilities().declares(operator, name), operator
        got = compute(device, operator, inputs, name, **attributes)
        assert got.dtype == x.dtype, operator
        assert got.tobytes() == np.ascontiguousarray(result).tobytes(), operator


OPERATORS = [
    "Abs",
    "Acos",
    "Add",
    "And",
    "ArgMax",
    "ArgMin",
    "Asin",
    "Atan",
    "BitwiseNot",
    "Cast",
    "Ceil",
    "Clip",
    "Concat",
    "Conv",
    "Cos",
    "CumSum",
    "DepthToSpace",
    "Div",
    "Equal",
    "Erf",
    "Exp",
    "Expand",
    "Flatten",
    "Floor",
    "Gather",
    "Gelu",
    "Gemm",
    "GlobalAveragePool",
    "Greater",
    "HardSigmoid",
    "HardSwish",
    "Identity",
    "IsNaN",
    "LeakyRelu",
    "Less",
    "Log",
    "LogSoftmax",
    "MatMul",
    "Max",
    "MaxPool",
    "Mean",
    "Min",
    "Mod",
    "Mul",
    "Neg",
    "NonZero",
    "Not",
    "Or",
    "PRelu",
    "Pow",
    "Reciprocal",
    "ReduceMax",
    "ReduceMin",
    "ReduceProd",
    "ReduceSum",
    "Relu",
    "Round",
    "Selu",
    "Sigmoid",
    "Sign",
    "Sin",
    "Softmax",
    "Softplus",
    "SpaceToDepth",
    "Sqrt",
    "Squeeze",
    "Sub",
    "Sum",
    "Tan",
    "Tanh",
    "Tile",
    "Transpose",
    "Trilu",
    "Unique",
    "Unsqueeze",
    "Where",
    "Xor",
]
SECOND = [
    "Add",
    "And",
    "Div",
    "Equal",
    "Greater",
    "Less",
    "MatMul",
    "Max",
    "Mean",
    "Min",
    "Mod",
    "Mul",
    "Or",
    "PRelu",
    "Pow",
    "Sub",
    "Sum",
    "Xor",
    "Concat",
    "Gemm",
]
ATTRIBUTES = {
    "Concat": {"axis": 0},
    "DepthToSpace": {"blocksize": 2},
    "MaxPool": {"kernel_shape": [2, 2]},
    "SpaceToDepth": {"blocksize": 2},
}


def inputs_of(operator, name):
    """Small valid inputs: ones and twos of [1, 4, 2, 2], or of the rank the operator wants."""
    shape = (4, 4) if operator in ("MatMul", "Gemm", "Trilu") else (1, 4, 2, 2)
    x = (np.arange(16) % 2 + (0 if operator in ("Acos", "Asin") else 1)).reshape(shape).astype(name)
    vector = {"CumSum": np.array(1), "Gather": np.array([0]), "Expand": np.array([2, 4, 2, 2])}
    vector |= {"Squeeze": np.array([0]), "Unsqueeze": np.array([0]), "Tile": np.array([2, 1, 1, 1])}
    if operator in SECOND:
        return [x, x]
    if operator == "Where":
        return [np.ones((1,), bool), x, x]
    if operator == "Conv":
        return [x, np.ones((1, 4, 1, 1)).astype(name)]
    return [x, vector[operator]] if operator in vector else [x]


@pytest.mark.parametrize("operator", OPERATORS)
def test_declared_types_run_and_others_are_declined(device, operator):
    """For every principal type: what is declared runs; what is not is declined or no valid model."""
    attributes = dict(ATTRIBUTES.get(operator, {}))
    bools = ("And", "Equal", "Greater", "IsNaN", "Less", "Not", "Or", "Xor")
    for name in PRINCIPAL:
        out = "bool" if operator in bools else "int64" if operator in ("ArgMax", "ArgMin", "NonZero") else name
        if operator == "Cast":
            attributes["to"] = CODES[name]
        if operator == "Mod":
            attributes["fmod"] = int(name.startswith("float"))
        inputs = inputs_of(operator, name)
        if device.capabilities().declares(operator, name):
            result = compute(device, operator, inputs, out, **attributes)
            assert result.dtype == np.dtype(out)
            assert result.size
        else:
            with pytest.raises((Unsupported, CompileError)) as refused:
                compute(device, operator, inputs, out, **attributes)
            if isinstance(refused.value, CompileError):
                assert refused.value.accepted is False


def test_table_declares_what_the_engine_lacks_a_kernel_for(device):
    declares = device.capabilities().declares
    assert declares("Conv", "float16")
    assert declares("Relu", "int16")
    assert declares("HardSwish", "float16")
    assert declares("Where", "bool")
    assert not declares("Conv", "float64")
    assert not declares("ReduceProd", "int64")
    assert not declares("ImageDecoder", "uint8")


def test_division_that_would_trap_the_process(device):
    low = np.array([np.iinfo(np.int64).min, 9], np.int64)
    assert compute(device, "Div", [low, np.array([-1, -1])], "int64").tolist() == [low[0], -9]
    assert compute(device, "Mod", [low, np.array([-1, -1])], "int64").tolist() == [0, 0]


def test_nan_passes_through(device):
    x = np.array([np.nan, -1, 2], np.float32)
    for operator in ("Relu", "Abs", "Sign", "Neg", "Tanh"):
        assert np.isnan(compute(device, operator, [x], "float32")[0]), operator
    for operator in ("Max", "Min", "Add", "Mul"):
        assert np.isnan(compute(device, operator, [x, np.ones(3, np.float32)], "float32")[0]), operator


def test_maxima_and_minima_keep_nan(device):
    x = np.array([[[[1, np.nan], [3, 2]]]], np.float32)
    y = np.array([[[[1, 4], [3, 2]]]], np.float32)
    axes = np.array([2, 3])
    for name in ("float32", "float16"):
        for value, largest, least in ((x, np.nan, np.nan), (y, 4, 1)):
            value = value.astype(name)
            for operator in ("ReduceMax", "ReduceMin"):
                got = compute(device, operator, [value, axes], name, keepdims=0)
                assert np.array_equal(got, [[largest if operator == "ReduceMax" else least]], equal_nan=True)
            got = compute(device, "MaxPool", [value], name, kernel_shape=[2, 2], pads=[1, 1, 1, 1], strides=[2, 2])
            assert np.array_equal(got, [[[[1, value[0, 0, 0, 1]], [3, 2]]]], equal_nan=True)
            assert np.array_equal(compute(device, "GlobalMaxPool", [value], name), [[[[largest]]]], equal_nan=True)
    empty = compute(device, "ReduceMax", [np.zeros((2, 0), np.float32), np.array([1])], "float32")
    assert empty.tolist() == [[-np.inf], [-np.inf]]


def test_discrete_fourier_transform_is_float32_exact(device):
    x = np.arange(100, dtype=np.float32).reshape(1, 100, 1)
    result = compute(device, "DFT", [x], "float32", opset=17, axis=1)
    expected = np.fft.fft(np.arange(100))
    assert np.abs(result[0, :, 0] + 1j * result[0, :, 1] - expected).max() < 2e-4
    assert np.abs(result[0, 50, 1]) < 1e-6


def test_nodes_inside_branches_are_lowered(device):
    half = TensorProto.FLOAT16
    value = helper.make_tensor_value_info("t", half, [2])
    branch = helper.make_graph([helper.make_node("Add", ["x", "x"], ["t"], name="inner")], "then", [], [value])
    other = helper.make_graph([helper.make_node("Neg", ["x"], ["t"], name="other")], "else", [], [value])
    node = helper.make_node("If", ["c"], ["y"], name="if", then_branch=branch, else_branch=other)
    model = models.graph([node], [("c", TensorProto.BOOL, []), ("x", half, [2])], [("y", half, [2])])
    executable = device.compile(model)
    feeds = {"x": np.array([1, 2], np.float16)}
    assert executable.run({"c": np.array(True), **feeds})["y"].tolist() == [2, 4]
    assert executable.run({"c": np.array(False), **feeds})["y"].tolist() == [-1, -2]
    assert {p.node: p.engine for p in executable.placement()} == {"inner": "float32", "other": "float32", "if": ""}


def test_declined_models_say_which_node(device):
    code = TensorProto.DOUBLE
    with pytest.raises(Unsupported) as declined:
        device.compile(models.single("Conv", [code, code], [[1, 1, 3, 3], [1, 1, 1, 1]], code))
    assert declined.value.code == "sim.unsupported"
    assert "Conv" in declined.value.text
    assert "float64" in declined.value.text
    with pytest.raises(CompileError) as broken:
        device.compile(b"no model")
    assert broken.value.accepted is False
