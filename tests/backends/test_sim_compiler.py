"""The compiler of the simulated device: layouts, fusion, arithmetic, placement and the cache, through the engine alone."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper
from onnx import load_from_string as load

from backends.interface import CompileError, Unsupported
from backends.sim import profile
from backends.sim.compiler import Compiler, Program
from backends.sim.engine import Engine

from . import models

pytest.importorskip("onnxruntime")

FLOAT, HALF, INT32 = TensorProto.FLOAT, TensorProto.FLOAT16, TensorProto.INT32
NPUS = ("hexagon-htp", "intel-npu", "ascend-310p", "apple-ane")


def compiler(name="generic", **tables):
    """A compiler for a profile, with other values in some of its tables."""
    known = profile.load(name)
    changed = {table: dataclasses.replace(getattr(known, table), **values) for table, values in tables.items()}
    return Compiler(dataclasses.replace(known, **changed))


def unit(**values):
    """Float32 computed as said, in a device that is generic otherwise."""
    exact = profile.Unit("float32", "float32", 0, False, "fp32")
    known = profile.load("generic")
    return Compiler(dataclasses.replace(known, precision={"float32": dataclasses.replace(exact, **values)}))


def run(program: Program, feeds: Mapping[str, np.ndarray]):
    return Engine(program.model).run(feeds)


def operators(program):
    return [node.op_type for node in load(program.model).graph.node]


def with_constants(model, **constants):
    """A serialised model with initialisers in place of inputs of these names."""
    proto = load(model)
    kept = [value for value in proto.graph.input if value.name not in constants]
    del proto.graph.input[:]
    proto.graph.input.extend(kept)
    proto.graph.initializer.extend(numpy_helper.from_array(array, name) for name, array in constants.items())
    return proto.SerializeToString()


def conv_chain(channels=5, depth=3, kernel=1, code=FLOAT):
    """Conv, bias Add, Relu on images of 4 × 6 pixels, and random constants for it."""
    nodes = [
        helper.make_node("Conv", ["x", "w"], ["c"], name="conv"),
        helper.make_node("Add", ["c", "b"], ["a"], name="add"),
        helper.make_node("Relu", ["a"], ["y"], name="relu"),
    ]
    shape = [1, channels, 5 - kernel, 7 - kernel]
    model = models.graph(
        nodes,
        [("x", code, [1, depth, 4, 6]), ("w", code, [channels, depth, kernel, kernel]), ("b", code, [1, channels, 1, 1])],
        [("y", code, shape)],
    )
    dtype = helper.tensor_dtype_to_np_dtype(code)
    random = np.random.default_rng(7)
    w = random.normal(size=(channels, depth, kernel, kernel)).astype(dtype)
    b = random.normal(size=(1, channels, 1, 1)).astype(dtype)
    return with_constants(model, w=w, b=b), random.normal(size=(1, depth, 4, 6)).astype(dtype), w, b


def half(x):
    """Float32 rounded to float16."""
    return np.asarray(x, np.float32).astype(np.float16).astype(np.float32)


# Layouts


@pytest.mark.parametrize("channels", [1, 7, 13, 17, 31])
@pytest.mark.parametrize("layout", ["NHWC", "NC1HWC0"])
def test_ports_have_the_shape_of_their_layout(layout, channels):
    """An identity: what goes in as NHWC or in blocks comes out as the model has it, and the other way round."""
    node = helper.make_node("Identity", ["x"], ["y"])
    model = models.graph([node], [("x", HALF, [2, channels, 3, 5])], [("y", HALF, [2, channels, 3, 5])])
    x = np.arange(2 * channels * 15).reshape(2, channels, 3, 5).astype(np.float16)
    c0 = 16
    blocks = -(-channels // c0)
    padded = np.pad(x, [(0, 0), (0, blocks * c0 - channels), (0, 0), (0, 0)])
    laid = {
        "NHWC": x.transpose(0, 2, 3, 1),
        "NC1HWC0": padded.reshape(2, blocks, c0, 3, 5).transpose(0, 1, 3, 4, 2),
    }[layout]
    device = compiler("ascend-310p")
    taken = device.compile(model, {"layout.x": layout})
    assert Engine(taken.model).inputs[0].shape == laid.shape
    dirty = laid.copy()
    if layout == "NC1HWC0":
        dirty[:, -1, :, :, channels - (blocks - 1) * c0 :] = 9  # what lies in the padding does not count
    assert np.array_equal(run(taken, {"x": dirty})["y"], x)
    given = device.compile(model, {"layout.y": layout})
    assert np.array_equal(run(given, {"x": x})["y"], laid)


def test_weights_have_the_shape_of_their_layout():
    model = models.graph(
        [helper.make_node("MatMul", ["a", "b"], ["y"])], [("a", FLOAT, [2, 3]), ("b", FLOAT, [3, 5])], [("y", FLOAT, [2, 5])]
    )
    a, b = np.arange(6, dtype=np.float32).reshape(2, 3), np.arange(15, dtype=np.float32).reshape(3, 5)
    program = compiler().compile(model, {"layout.b": "NK"})
    assert np.array_equal(run(program, {"a": a, "b": np.ascontiguousarray(b.T)})["y"], a @ b)
    program = compiler().compile(models.conv_relu_sigmoid(), {"layout.w": "OHWI"})
    assert Engine(program.model).inputs[1].shape == (4, 3, 3, 3)


def test_layouts_that_are_not_offered_or_do_not_fit_are_declined():
    model = models.conv_relu_sigmoid()
    for options in ({"layout.x": "NC1HWC0"}, {"layout.x": "NK"}, {"layout.x": "nhwc"}):
        with pytest.raises(Unsupported, match="layout") as declined:
            compiler().compile(model, options)
        assert declined.value.code == "sim.unsupported"
    with pytest.raises(CompileError, match="no input or output q"):
        compiler().compile(model, {"layout.q": "NHWC"})
    with pytest.raises(ValueError, match="layuot"):
        compiler().compile(model, {"layuot": "NHWC"})


@pytest.mark.parametrize("name", NPUS)
@pytest.mark.parametrize("channels", [1, 7, 13, 37])
def test_images_are_converted_at_the_borders_alone(name, channels):
    """Conv → Sigmoid → Conv: in at the input, out at the output, nothing between."""
    nodes = [
        helper.make_node("Conv", ["x", "w"], ["c"]),
        helper.make_node("Sigmoid", ["c"], ["s"]),
        helper.make_node("Conv", ["s", "v"], ["y"]),
    ]
    code, spatial = HALF, [3, 5]
    model = models.graph(
        nodes,
        [("x", code, [1, 3, *spatial]), ("w", code, [channels, 3, 1, 1]), ("v", code, [2, channels, 1, 1])],
        [("y", code, [1, 2, *spatial])],
    )
    random = np.random.default_rng(1)
    feeds = {n: random.integers(-2, 3, s).astype(np.float16) for n, s in (("x", (1, 3, 3, 5)), ("w", (channels, 3, 1, 1)))}
    feeds["v"] = random.integers(-1, 2, (2, channels, 1, 1)).astype(np.float16)
    program = compiler(name).compile(model, {})
    assert program.conversions == ["x", "y"]
    exact = compiler().compile(model, {})
    assert exact.conversions == []
    assert np.allclose(run(program, feeds)["y"], run(exact, feeds)["y"], atol=0.05)
    assert [spec.shape for spec in Engine(program.model).outputs] == [(1, 2, 3, 5)]


def test_operators_that_need_the_models_layout_are_surrounded_by_conversions():
    nodes = [
        helper.make_node("Conv", ["x", "w"], ["c"]),
        helper.make_node("Softmax", ["c"], ["s"], axis=1),
        helper.make_node("Conv", ["s", "v"], ["y"]),
    ]
    shape = [1, 3, 2, 2]
    weights = [("w", FLOAT, [3, 3, 1, 1]), ("v", FLOAT, [3, 3, 1, 1])]
    model = models.graph(nodes, [("x", FLOAT, shape), *weights], [("y", FLOAT, shape)])
    program = compiler("hexagon-htp").compile(model, {})
    assert program.conversions == ["x", "c", "s", "y"]


def test_an_input_may_be_read_in_both_layouts():
    shape = [1, 3, 2, 2]
    nodes = [helper.make_node("Conv", ["x", "w"], ["y"]), helper.make_node("Softmax", ["x"], ["z"], axis=1)]
    outputs = [("y", FLOAT, shape), ("z", FLOAT, shape)]
    model = models.graph(nodes, [("x", FLOAT, shape), ("w", FLOAT, [3, 3, 1, 1])], outputs)
    program = compiler("apple-ane").compile(model, {})
    assert program.conversions == ["x", "y"]
    x = np.arange(12, dtype=np.float32).reshape(shape)
    got = run(program, {"x": x, "w": np.eye(3, dtype=np.float32).reshape(3, 3, 1, 1)})
    assert np.array_equal(got["y"], x)
    assert np.allclose(got["z"].sum(axis=1), 1, atol=2**-10)


# Fusion


@pytest.mark.parametrize("code", [FLOAT, HALF])
def test_fused_intermediates_are_not_rounded(code):
    model, x, w, b = conv_chain(code=code)
    fused = compiler("hexagon-htp").compile(model, {})
    assert [node.engine.partition(":")[0] for node in fused.nodes][1:] == ["fused", "fused"]
    assert fused.nodes[2].engine == "fused:conv"
    apart = compiler("hexagon-htp", operators={"fused": frozenset()}).compile(model, {})
    assert not any("fused" in node.engine for node in apart.nodes)
    sums = np.einsum("nchw,mc->nmhw", half(x), half(w)[:, :, 0, 0])
    once = np.maximum(half(sums + half(b)), 0)
    twice = np.maximum(half(half(sums) + half(b)), 0)
    assert np.array_equal(run(fused, {"x": x})["y"], once)
    assert np.array_equal(run(apart, {"x": x})["y"], twice)
    assert not np.array_equal(once, twice)


def test_intermediates_that_somebody_else_reads_are_stored():
    nodes = [
        helper.make_node("MatMul", ["a", "b"], ["m"], name="mm"),
        helper.make_node("Relu", ["m"], ["y"]),
        helper.make_node("Relu", ["m"], ["z"]),
    ]
    values = [("a", FLOAT, [2, 3]), ("b", FLOAT, [3, 2])]
    shape = [2, 2]
    two_readers = models.graph(nodes, values, [("y", FLOAT, shape), ("z", FLOAT, shape)])
    an_output = models.graph(nodes[:2], values, [("y", FLOAT, shape), ("m", FLOAT, shape)])
    alone = models.graph(nodes[:2], values, [("y", FLOAT, shape)])
    device = compiler("hexagon-htp")
    assert [node.engine for node in device.compile(two_readers, {}).nodes] == ["", "", ""]
    assert device.compile(an_output, {}).nodes[1].engine == ""
    assert device.compile(alone, {}).nodes[1].engine == "fused:mm"


# Arithmetic


def test_float32_is_stored_as_the_unit_stores_it():
    model = models.graph(
        [helper.make_node("Mul", ["a", "b"], ["m"]), helper.make_node("Exp", ["m"], ["y"])],
        [("a", FLOAT, [4]), ("b", FLOAT, [4])],
        [("y", FLOAT, [4])],
    )
    a, b = np.array([1 + 2**-12, 1.1, 300, 2**-20], np.float32), np.array([1, 1.3, 300, 2**-9], np.float32)
    got = run(unit(storage="float16").compile(model, {}), {"a": a, "b": b})["y"]
    with np.errstate(over="ignore"):
        assert np.array_equal(got, half(np.exp(half(half(a) * half(b)))))
    assert got[0] == half(np.e)
    assert got[2] == np.inf
    exact = run(unit().compile(model, {}), {"a": a, "b": b})["y"]
    assert exact[0] != got[0]


def test_what_only_moves_keeps_all_bits():
    x = np.array([[1 + 2**-12, 1e-30], [-1.1, 1e30]], np.float32)
    for node in (helper.make_node("Transpose", ["x"], ["y"], perm=[0, 1]), helper.make_node("Max", ["x", "x"], ["y"])):
        model = models.graph([node], [("x", FLOAT, [2, 2])], [("y", FLOAT, [2, 2])])
        assert np.array_equal(run(unit(storage="float16").compile(model, {}), {"x": x})["y"], x)


@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_subnormals_become_zero_where_the_unit_flushes(dtype):
    model = models.single("Mul", [helper.np_dtype_to_tensor_dtype(np.dtype(dtype))] * 2, [[3], [3]], HALF)
    if dtype == "float32":
        model = models.single("Mul", [FLOAT] * 2, [[3], [3]], FLOAT)
    known = profile.load("generic")
    a, b = np.array([2.0**-20, -(2.0**-9), 2.0**-14], dtype), np.array([1, 2.0**-9, 1], dtype)
    for flushes, expected in ((False, [2.0**-20, -(2.0**-18), 2.0**-14]), (True, [0, 0, 2.0**-14])):
        flushing = {dtype: profile.Unit("float16", "float32", 0, flushes, "fp16")}
        device = Compiler(dataclasses.replace(known, precision=flushing))
        got = run(device.compile(model, {}), {"x0": a, "x1": b})["y"]
        assert got.tolist() == expected


SUM = 64
"""Products of 1: a float16 sum that begins with 2048 stands still; blocks of 16 move it on by 16 at a time."""


@pytest.mark.parametrize(("block", "expected"), [(0, 2048 + SUM), (1, 2048), (16, 2048 + SUM), (2, 2048 + SUM)])
def test_narrow_accumulators_lose_what_they_must(block, expected):
    """Blocks of one: every 1 is half an ulp of 2048 and rounds away, to even. Blocks of two and more are whole ulps."""
    first = max(block, 1)
    a = np.zeros((1, first + SUM), np.float32)
    a[0, 0], a[0, first:] = 2048, 1
    values = [("a", FLOAT, list(a.shape)), ("b", FLOAT, [a.shape[1], 1])]
    accumulator = "float16" if block else "float32"
    device = unit(accumulator=accumulator, block=block)
    for node, extra in (("MatMul", {}), ("Gemm", {})):
        model = models.graph([helper.make_node(node, ["a", "b"], ["y"], **extra)], values, [("y", FLOAT, [1, 1])])
        got = run(device.compile(model, {}), {"a": a, "b": np.ones((a.shape[1], 1), np.float32)})["y"]
        assert got.tolist() == [[expected]], node
    image = a.reshape(1, -1, 1, 1)
    conv = models.single("Conv", [FLOAT, FLOAT], [image.shape, image.shape], FLOAT)
    got = run(device.compile(conv, {}), {"x0": image, "x1": np.ones_like(image)})["y"]
    assert got.ravel().tolist() == [expected]


def sequential(a, b, block):
    """a @ b with sums of blocks rounded to float16, one after the other."""
    total = np.zeros((*np.broadcast_shapes(a.shape[:-2], b.shape[:-2]), a.shape[-2], b.shape[-1]), np.float32)
    for start in range(0, a.shape[-1], block):
        part = a[..., start : start + block].astype(np.float64) @ b[..., start : start + block, :].astype(np.float64)
        total = half(total + part.astype(np.float32))
    return total


@pytest.mark.parametrize(
    ("left", "right"),
    [((3, 13), (13, 5)), ((2, 3, 13), (13, 5)), ((13,), (13, 5)), ((2, 1, 3, 13), (4, 13, 5)), ((13,), (13,))],
)
def test_products_of_any_rank_are_summed_in_blocks(left, right):
    random = np.random.default_rng(3)
    a, b = half(random.normal(size=left)), half(random.normal(size=right))
    model = models.single("MatMul", [FLOAT, FLOAT], [left, right], FLOAT)
    got = run(unit(accumulator="float16", block=4).compile(model, {}), {"x0": a, "x1": b})["y"]
    two_a, two_b = (a[None] if a.ndim == 1 else a), (b[:, None] if b.ndim == 1 else b)
    assert np.array_equal(got, sequential(two_a, two_b, 4).reshape(np.matmul(a, b).shape))


def test_convolutions_are_summed_in_blocks_of_channels():
    """Grouped, strided, padded, biased: three taps of 5 channels a group, in blocks of two channels."""
    random = np.random.default_rng(4)
    x, w, b = (half(random.normal(size=s)) for s in ((2, 10, 9), (6, 5, 3), (6,)))
    node = helper.make_node("Conv", ["x", "w", "b"], ["y"], group=2, strides=[2], pads=[1, 1])
    values = [("x", FLOAT, x.shape), ("w", FLOAT, w.shape), ("b", FLOAT, b.shape)]
    model = models.graph([node], values, [("y", FLOAT, [2, 6, 5])])
    got = run(unit(accumulator="float16", block=6).compile(model, {}), {"x": x, "w": w, "b": b})["y"]
    windows = np.lib.stride_tricks.sliding_window_view(np.pad(x, [(0, 0), (0, 0), (1, 1)]), 3, axis=2)[:, :, ::2]
    expected = np.zeros((2, 6, 5), np.float32)
    for out in range(6):
        group = windows[:, out // 3 * 5 : out // 3 * 5 + 5]
        for start in range(0, 5, 2):
            taken = group[:, start : start + 2].astype(np.float64)
            part = np.einsum("nclk,ck->nl", taken, w[out, start : start + 2].astype(np.float64))
            expected[:, out] = half(expected[:, out] + part.astype(np.float32))
    assert np.array_equal(got, expected + b[None, :, None])


def test_gemm_in_blocks_keeps_its_attributes():
    random = np.random.default_rng(5)
    a, b, c = (half(random.integers(-4, 5, s)) for s in ((7, 3), (5, 7), (5,)))
    node = helper.make_node("Gemm", ["a", "b", "c"], ["y"], transA=1, transB=1, alpha=0.5, beta=2.0)
    values = [("a", FLOAT, a.shape), ("b", FLOAT, b.shape), ("c", FLOAT, c.shape)]
    model = models.graph([node], values, [("y", FLOAT, [3, 5])])
    got = run(unit(accumulator="float16", block=2).compile(model, {}), {"a": a, "b": b, "c": c})["y"]
    assert np.array_equal(got, 0.5 * (a.T @ b.T) + 2 * c)


# Placement


def chain(*types):
    """Relu of float32, then CumSum and Relu in turn."""
    names = [f"t{i}" for i in range(len(types) + 1)]
    nodes = [
        helper.make_node(operator, [names[i], *(["axis"] if operator == "CumSum" else [])], [names[i + 1]], name=f"n{i}")
        for i, operator in enumerate(types)
    ]
    model = models.graph(nodes, [(names[0], FLOAT, [4]), ("axis", INT32, [])], [(names[-1], FLOAT, [4])])
    return with_constants(model, axis=np.array(0, np.int32))


def test_declined_nodes_fall_back_only_where_that_is_allowed():
    device = compiler(operators={"declined": frozenset(["CumSum"])})
    model = chain("Relu", "CumSum", "Relu", "Neg")
    with pytest.raises(Unsupported, match=r"CumSum \(node n1\)") as declined:
        device.compile(model, {})
    assert declined.value.code == "sim.unsupported"
    program = device.compile(model, {"cpu_fallback": "1"})
    placed = [(node.name, node.on_device, node.partition) for node in program.nodes]
    assert placed == [("n0", True, 0), ("n1", False, None), ("n2", True, 1), ("n3", True, 1)]
    assert run(program, {"t0": np.array([1, -2, 3, 4], np.float32)})["t4"].tolist() == [-1, -1, -4, -8]


def test_the_host_does_not_round():
    known = compiler(operators={"declined": frozenset(["Exp"])}).profile
    device = Compiler(dataclasses.replace(known, precision={"float32": profile.Unit("float16", "float32", 0, False, "fp16")}))
    x = np.array([1.1, 0.3, 2, 4], np.float32)
    program = device.compile(chain("Exp"), {"cpu_fallback": "1"})
    assert np.array_equal(run(program, {"t0": x})["t1"], run(compiler().compile(chain("Exp"), {}), {"t0": x})["t1"])
    program = device.compile(chain("Exp", "Sqrt"), {"cpu_fallback": "1"})
    assert np.array_equal(run(program, {"t0": x})["t2"], half(np.sqrt(half(np.exp(x)))))


def test_partitions_never_wait_for_each_other():
    """a and d share an edge, but host node h stands between them; b hangs on a alone."""
    nodes = [
        helper.make_node("Relu", ["x"], ["a"], name="a"),
        helper.make_node("Neg", ["a"], ["b"], name="b"),
        helper.make_node("CumSum", ["a", "axis"], ["h"], name="h"),
        helper.make_node("Add", ["a", "h"], ["d"], name="d"),
        helper.make_node("Relu", ["x"], ["e"], name="e"),
    ]
    outputs = [(name, FLOAT, [4]) for name in "bde"]
    model = models.graph(nodes, [("x", FLOAT, [4]), ("axis", INT32, [])], outputs)
    device = compiler(operators={"declined": frozenset(["CumSum"])})
    program = device.compile(model, {"cpu_fallback": "1"})
    assert {node.name: node.partition for node in program.nodes} == {"a": 0, "b": 0, "h": None, "d": 1, "e": 2}


def test_shapes_and_types_that_the_device_lacks_are_declined():
    device = compiler("apple-ane")
    for model, why in (
        (models.add(["n", 4]), "dynamic shapes"),
        (models.add([1, 1, 1, 1, 2, 2]), "rank 6"),
        (models.single("Neg", [TensorProto.INT64], [[3]], TensorProto.INT64), "int64"),
    ):
        with pytest.raises(Unsupported, match=why):
            device.compile(model, {})
    device.compile(models.add([1, 1, 1, 2, 2]), {})
    assert run(compiler().compile(models.add(["n", 4]), {}), {"x": np.ones((3, 4), np.float32)})["y"].tolist() == [[2] * 4] * 3


@pytest.mark.parametrize("name", profile.names())
def test_the_table_says_what_the_profile_says(name):
    device = compiler(name)
    table = device.support_table()
    assert "float32" in table["Conv"]
    assert not table.keys() & device.profile.operators.declined
    for operator, types in table.items():
        assert types
        assert all(device.declining.computes(operator, dtype) for dtype in types)
    if name in NPUS:
        assert "int64" not in table["Add"]
        assert "int64" in table["Gather"]


def test_costs_are_counted():
    model, *_ = conv_chain(channels=5, depth=3, kernel=2)
    program = compiler("hexagon-htp").compile(model, {})
    assert program.operations == 5 * 3 * 5 * 3 * 4
    assert program.dtype == "float16"
    tensors = 3 * 24 + 5 * 3 * 4 + 5 + 5 * 15  # x, w, b and y; what lies between them stays in the unit
    assert program.traffic == 2 * tensors
    assert compiler().compile(model, {}).traffic > program.traffic


# Replacing a stage


def test_stages_can_be_replaced_one_by_one():
    model, x, *_ = conv_chain()
    device = compiler("hexagon-htp")
    right = run(device.compile(model, {}), {"x": x})["y"]

    def without_bias(proto):
        del proto.graph.node[1]
        proto.graph.node[1].input[0] = "c"
        return proto

    device.prepare = without_bias
    assert not np.array_equal(run(device.compile(model, {}), {"x": x})["y"], right)


# The cache


@pytest.fixture
def stored(tmp_path):
    """(compiler, model, options, the entry) after one compilation with a cache."""
    device, model = compiler("hexagon-htp"), models.add([4])
    options = {"cache": str(tmp_path)}
    assert not device.compile(model, options).cached
    (entry,) = tmp_path.iterdir()
    return device, model, options, entry


def test_a_second_compilation_finds_the_first(stored):
    device, model, options, _ = stored
    again = device.compile(model, options)
    assert again == dataclasses.replace(device.compile(model, {}), cached=True)
    assert compiler("hexagon-htp").compile(model, options).cached


def test_what_differs_is_compiled_anew(stored):
    device, model, options, entry = stored
    assert not device.compile(models.add([5]), options).cached
    assert not device.compile(model, {**options, "cpu_fallback": "1"}).cached
    assert not compiler("intel-npu").compile(model, options).cached
    assert not compiler("hexagon-htp", shapes={"max_rank": 4}).compile(model, options).cached
    device.engine_version = lambda: "another"
    assert not device.compile(model, options).cached
    assert len(list(entry.parent.iterdir())) == 6


def test_damaged_entries_are_replaced(stored):
    device, model, options, entry = stored
    whole = entry.read_bytes()
    flipped = bytearray(whole)
    flipped[-3] ^= 1
    for damaged in (bytes(flipped), whole[:-1], whole[: len(whole) // 2], b"", whole + b"\0"):
        entry.write_bytes(damaged)
        program = device.compile(model, options)
        assert not program.cached
        assert entry.read_bytes() == whole
    assert device.compile(model, options).cached


def test_an_entry_under_another_name_is_not_used(stored):
    device, _, options, entry = stored
    other = models.add([5])
    entry.rename(entry.with_name(f"{device.cache_key(other, options)}.sim"))
    assert not device.compile(other, options).cached


def test_a_cache_that_cannot_be_written_is_an_error_of_one_line(tmp_path):
    file = tmp_path / "file"
    file.write_bytes(b"")
    with pytest.raises(CompileError, match="cannot be written") as error:
        compiler().compile(models.add([4]), {"cache": str(file)})
    assert "\n" not in str(error.value)
