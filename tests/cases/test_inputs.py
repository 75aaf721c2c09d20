"""Inputs: the same bits everywhere, spread as the recipes say, within what operators need."""

from __future__ import annotations

import ast
import dataclasses
import hashlib
import inspect
import json
import math
import os
import pathlib
import subprocess
import sys
import venv

import numpy as np
import onnxruntime
import pytest

from reference import dtypes
from suites.cases import inputs, operators, recipes, roles
from suites.cases.case import Case
from suites.cases.identifier import parse
from suites.cases.recipes import Draw, integer_range, specials
from suites.cases.terms import TERMS

from . import philox

ROOT = pathlib.Path(__file__).parents[2]

HASHES = """
import hashlib, json, sys
import numpy as np
from suites.cases.identifier import parse
ids = json.load(sys.stdin)
def digest(case):
    h = hashlib.sha256(case.model_bytes)
    for name, array in case.feeds.items():
        h.update(name.encode() + str(array.shape).encode() + array.dtype.name.encode())
        h.update(repr(array.tolist()).encode() if array.dtype == object else np.ascontiguousarray(array).tobytes())
    return h.hexdigest()
print(json.dumps({"numpy": np.__version__, "hashes": [digest(parse(id)) for id in ids]}))
"""


def _hashes(python: str, ids: list[str], **environment: str) -> dict[str, object]:
    result = subprocess.run(
        [python, "-c", HASHES],
        input=json.dumps(ids), capture_output=True, text=True, cwd=ROOT, check=True,
        env={**os.environ, "PYTHONPATH": str(ROOT), **environment},
    )  # fmt: skip
    return json.loads(result.stdout)


def test_two_processes_make_the_same_bits():
    ids = list(operators.ALL[::5])
    first, second = (_hashes(sys.executable, ids, PYTHONHASHSEED=seed) for seed in ("1", "2"))
    assert first["hashes"] == second["hashes"]
    alike = {}
    for id, digest in zip(ids, first["hashes"], strict=True):
        alike.setdefault(digest, []).append(id)
    # Two recipes can put the same one number into an input.
    assert [group for group in alike.values() if len(group) > 1 and _elements(group[0]) > 4] == []
    assert len(alike) >= len(ids) - 3


def _elements(id):
    return sum(math.prod(entry.shape) for entry in parse(id).node.inputs)


@pytest.fixture(scope="module")
def older_numpy(tmp_path_factory):
    """A Python with NumPy 1.26 and the same onnx as here."""
    import onnx

    folder = tmp_path_factory.mktemp("numpy1")
    venv.create(folder, with_pip=True)
    python = folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    installed = subprocess.run(
        [python, "-m", "pip", "install", "-q", "numpy<2", f"onnx=={onnx.__version__}", "ml_dtypes"],
        capture_output=True,
        text=True,
    )
    if installed.returncode:
        pytest.skip(f"pip cannot install numpy<2 here: {(installed.stderr.strip().splitlines() or ['no reason given'])[-1]}")
    return str(python)


@pytest.mark.skipif(int(np.__version__.split(".")[0]) < 2, reason="compares NumPy 2 with NumPy 1")
def test_numpy_1_makes_the_same_bits(older_numpy):
    by_kind, by_operator = {}, {}
    for id in operators.ALL:
        case = parse(id)
        by_kind.setdefault((case.recipe, case.dtype), id)
        by_operator[case.operator] = id
    ids = list(dict.fromkeys([*by_kind.values(), *by_operator.values()]))
    assert len(ids) >= 50
    older, newer = _hashes(older_numpy, ids), _hashes(sys.executable, ids)
    assert older["numpy"].startswith("1.")
    assert [id for id, a, b in zip(ids, older["hashes"], newer["hashes"], strict=True) if a != b] == []


@pytest.mark.parametrize("key", [0, 1, 2**64 - 1, 2**127 + 12345, 0x0123456789ABCDEF_FEDCBA9876543210])
def test_raw_words_are_those_of_philox(key):
    assert np.random.Philox(key=key).random_raw(23).tolist() == philox.words(key, 23)


def test_a_draw_is_keyed_by_id_and_tensor():
    key = int.from_bytes(hashlib.blake2b(b"id\0x", digest_size=16).digest(), "little")
    assert Draw("id", "x").words(9).tolist() == philox.words(key, 9)
    assert Draw("id", "y").words(9).tolist() != philox.words(key, 9)


def test_generators_call_no_transcendental_function_and_no_global_generator():
    unsafe = set(
        [
            "exp",
            "log",
            "log2",
            "log10",
            "sin",
            "cos",
            "tan",
            "power",
            "float_power",
            "tanh",
            "cbrt",
            "random",
            "rand",
            "randn",
            "default_rng",
            "pow",
            "hypot",
        ]
    )
    for module in (inputs, recipes, roles):
        calls = {node.attr for node in ast.walk(ast.parse(inspect.getsource(module))) if isinstance(node, ast.Attribute)}
        assert calls & unsafe <= {"random"}, module.__name__  # np.random.Philox
    random = [n for n in ast.walk(ast.parse(inspect.getsource(recipes))) if isinstance(n, ast.Attribute) and n.attr == "Philox"]
    assert len(random) == 1


# Spread of the recipes.


def _values(recipe: str, dtype: str = "f32", n: int = 20_000) -> np.ndarray:
    return parse(f"Identity-21.{dtype}.input:{n}.in:{recipe}").feeds["input"]


@pytest.mark.parametrize("dtype", ["f32", "f16", "bf16", "f64"])
@pytest.mark.parametrize("recipe", ["normal", "grid"])
def test_normal_has_mean_0_and_variance_1(recipe, dtype):
    x = _values(recipe, dtype).astype(np.float64)
    assert abs(x.mean()) < 4 / math.sqrt(x.size)
    assert abs(x.std() - 1) < 4 / math.sqrt(2 * x.size)
    assert np.abs(x).max() < 4.91
    assert 0.66 < np.mean(np.abs(x) < 1) < 0.70


def test_normal_uses_the_whole_mantissa_and_grid_eight_bits():
    mantissas = _values("normal").view(np.uint32) & 0x7FFFFF
    share = [np.mean((mantissas >> bit) & 1) for bit in range(20)]
    assert all(0.45 < s < 0.55 for s in share)
    grid = _values("grid")
    assert not np.any(grid.view(np.uint32) & 0xFFFF)
    for dtype in ("bfloat16", "float16"):
        assert np.array_equal(dtypes.round_to(grid.astype(np.float64), dtype), grid)
    assert len(np.unique(grid)) > 500


def test_uniform_unit_positive_half_tiny_zero():
    uniform = _values("uniform")
    assert -4 <= uniform.min() < uniform.max() <= 4
    assert abs(uniform.std() - 8 / math.sqrt(12)) < 0.03
    for dtype in ("f32", "f16", "bf16", "f8e5m2"):
        unit = _values("unit", dtype).astype(np.float64)
        assert 0.7 < np.abs(unit).max() < 1
    positive = _values("positive")
    assert 2.0**-6 <= positive.min() < np.median(positive) < 2
    assert 2.0**5 < positive.max() <= 2.0**6
    half = _values("half")
    assert np.array_equal(np.abs(half % 1), np.full(half.shape, 0.5))
    assert len(np.unique(half)) == 280
    assert np.array_equal(np.abs(_values("half", "bf16").astype(np.float64) % 1), np.full(20_000, 0.5))
    assert 0 < np.var(_values("tiny").astype(np.float64)) < 1e-5
    assert not _values("zero").any()


@pytest.mark.parametrize("dtype", ["f32", "f16", "bf16", "f8e4m3fn", "i8", "u8", "i32", "i64"])
def test_index_tells_neighbours_apart(dtype):
    x = _values("index", dtype, 500).astype(np.float64)
    period = int(next((i for i in range(1, 500) if x[i] == x[0]), 500))
    assert period == 500 or all(period % d for d in range(2, period))
    assert period >= 13
    assert np.all(x[1:] != x[:-1])
    assert np.sum(np.diff(x) == 1) > 0.9 * len(x) * (1 - 1 / period)


@pytest.mark.parametrize("dtype", ["f32", "f16", "bf16", "f64", "f8e4m3fn", "f8e4m3fnuz", "f8e5m2"])
def test_special_has_every_special_value(dtype):
    x = _values("special", dtype, 210).astype(np.float64)
    wanted = specials(dtypes.SHORT[dtype])
    found = {v.hex() for v in x.tolist()}
    missing = {float(v).hex() for v in wanted.tolist()} - found
    assert missing <= ({"-0x0.0p+0"} if not dtypes.FLOATS[dtypes.SHORT[dtype]].has_negative_zero else set())
    assert np.isnan(x).any()


def test_special_values_are_at_varying_places():
    def places(n):
        return tuple(np.flatnonzero(np.isnan(parse(f"Identity-21.f32.input:{n}.in:special").feeds["input"])))

    assert len({places(n) for n in range(40, 60)}) == 20


@pytest.mark.parametrize("dtype", ["i8", "u8", "i16", "i32", "i64", "u64"])
def test_extreme_integers_have_the_edges(dtype):
    low, high = integer_range(dtypes.SHORT[dtype])
    found = set(_values("extreme", dtype, 210).tolist())
    assert {low, high, high - 1, 0, 1} <= found
    if dtype == "i64":
        assert {2**31 + 1, -(2**31) - 1, 2**33, 2**53 + 1} <= found


@pytest.mark.parametrize("dtype", ["i4", "u4", "i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64"])
def test_uniform_integers_fill_the_type(dtype):
    low, high = integer_range(dtypes.SHORT[dtype])
    x = [int(v) for v in _values("uniform", dtype, 4000)]
    assert low <= min(x) < low + (high - low) / 100 + 1
    assert high - (high - low) / 100 - 1 < max(x) <= high
    assert 0.4 < sum(v > (low + high) / 2 for v in x) / len(x) < 0.6


# Lattice: exact in every order.


def _lattice_ids() -> list[str]:
    return [id for id in operators.ALL if id.endswith(".in:lattice") and parse(id).operator in TERMS]


def test_sums_of_magnitudes_stay_within_the_lattice_limit():
    """Every output of the same operator on magnitudes is at most 2^11 (2^8 for bfloat16), results fit the output type, and
    few sums cancel.
    """
    ids = [id for id in _lattice_ids() if parse(id).dtype in ("float32", "float16", "bfloat16")]
    assert len(ids) > 100
    empty = []
    for id in ids:
        case = parse(id)
        largest, signed = (_in_float32(case, change) for change in (np.abs, np.asarray))
        assert largest.max(initial=0) <= 2.0 ** min(dtypes.FLOATS[case.dtype].precision, 11), id
        assert np.array_equal(dtypes.round_to(signed, case.dtype), signed), id
        few = signed.size < 8 or any(0 in e.shape for e in case.node.inputs)
        terms = np.count_nonzero(largest)  # windows wholly in padding have none
        if not few and terms == 0:
            empty.append(id)
        assert few or np.count_nonzero(signed) >= 0.3 * terms, id
    assert all(id.startswith("CumSum") and "exclusive:1" in id for id in empty)  # along an axis of length 1


def _in_float32(case: Case, change) -> np.ndarray:
    """The case's operator in float32, everything fed, on changed inputs; sums of differences become plain sums of
    magnitudes.
    """
    node = case.node
    wide = [dataclasses.replace(e, dtype="float32") if e.dtype == case.dtype else e for e in node.inputs]
    model = Case("wide", dataclasses.replace(node, dtype="float32", inputs=tuple(wide), const=(), feed=())).model_bytes
    tensors = {e.name: inputs.generate(case.id, node, e) for e in node.inputs if e.name not in node.schema.parameters}
    feeds = {name: np.asarray(change(a.astype(np.float32))) for name, a in tensors.items()}  # a scalar's magnitude is no array
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    return onnxruntime.InferenceSession(model, options).run(None, feeds)[0].astype(np.float64)


# Roles.


def _inputs(id: str) -> dict[str, np.ndarray]:
    node = parse(id).node
    return {e.name: inputs.generate(id, node, e) for e in node.inputs if e.name not in node.schema.parameters}


@pytest.mark.parametrize("id", [id for id in operators.ALL if id.startswith(("Gather-", "GatherElements-"))])
def test_indices_stay_within_their_axis(id):
    node = parse(id).node
    indices = _inputs(id)["indices"]
    length = node.shape("data")[int(node.attribute("axis", 0))]
    assert np.all((indices >= -length) & (indices < length))


def test_negative_indices_occur():
    ids = [id for id in operators.ALL if id.startswith(("Gather", "ScatterElements"))]
    assert sum((_inputs(id)["indices"] < 0).any() for id in ids) > len(ids) / 2


@pytest.mark.parametrize("id", [id for id in operators.ALL if id.startswith("Scatter") and "reduction" not in id])
def test_scattered_indices_do_not_repeat(id):
    node = parse(id).node
    shape, indices = node.shape("data"), _inputs(id)["indices"]
    if node.operator == "ScatterND":
        rows = indices.reshape(-1, indices.shape[-1]).tolist()
        assert len({tuple(row) for row in rows}) == len(rows)
    else:
        axis = int(node.attribute("axis", 0))
        ordered = np.sort(indices % shape[axis], axis=axis)
        assert np.all(np.diff(ordered, axis=axis) > 0)


_SCALED = ("QLinearConv", "QLinearMatMul", "QuantizeLinear", "DequantizeLinear")
_BOUNDED = ("Div", "Mod", "BitShift", "Acosh", "BatchNormalization", *_SCALED)


def test_domains_of_operators():
    assert roles.ROLES.keys() >= set(_BOUNDED)
    for id in operators.ALL:
        if not id.removeprefix("ms:").startswith(_BOUNDED):
            continue
        case = parse(id)
        values = _inputs(id)
        if case.operator in ("Div", "Mod") and not dtypes.is_float(case.dtype):
            assert np.all(values["b"] != 0), id
            assert np.all(values["a"].astype(object) != integer_range(case.dtype)[0]) or case.dtype.startswith("u"), id
        elif case.operator == "BitShift":
            assert np.all(values["y"] < values["y"].dtype.itemsize * 8), id
        elif case.operator == "Acosh" and case.recipe != "special":
            assert np.all(values["input"] >= 1), id
        elif case.operator == "BatchNormalization":
            assert np.all(next(a for name, a in values.items() if name in ("var", "input_var")) > 0), id
        elif case.operator in _SCALED:
            scales = [a for name, a in values.items() if name.endswith("_scale")]
            assert all(np.all(a > 0) for a in scales), id
            assert case.recipe == "half" or all(np.all(np.frexp(a.astype(np.float64))[0] != 0.5) for a in scales), id


def test_integer_arithmetic_overflows_in_recipe_wrap_only():
    exact = {"Add": lambda a, b: a + b, "Sub": lambda a, b: a - b, "Mul": lambda a, b: a * b, "Pow": lambda x, y: x**y}
    checked, small = 0, []
    for id in operators.ALL:
        case = parse(id)
        if case.operator in exact and not any(dtypes.is_float(e.dtype) for e in case.node.inputs):
            low, high = integer_range(case.dtype)
            operands = _inputs(id)
            results = np.asarray(exact[case.operator](*(a.astype(object) for a in operands.values())))
            overflows = not all(low <= r <= high for r in results.flat)
            if case.recipe == "wrap" and not overflows and any(a.size == 1 for a in operands.values()):
                small.append(id)  # the one number happens to be small
            else:
                assert overflows == (case.recipe == "wrap"), id
            checked += 1
        elif case.operator == "Cast" and case.dtype.startswith("float") and case.output_dtypes[0].startswith(("int", "uint")):
            low, high = integer_range(case.output_dtypes[0])
            x = case.feeds["input"].astype(np.float64)
            assert np.all((np.trunc(x) >= low) & (np.trunc(x) <= high)), id
            checked += 1
    assert checked > 50
    assert len(small) <= 2, small


def test_requantisation_fills_the_output():
    """Outputs of quantised products spread over the type without sticking to its ends, but for one in ten: those of few terms,
    or of zero points that lie far from the middle.
    """
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    narrow, checked = [], 0
    for id in operators.ALL:
        case = parse(id)
        if case.operator in ("QLinearConv", "QLinearMatMul") and case.recipe == "uniform":
            checked += 1
            (y,) = onnxruntime.InferenceSession(case.model_bytes, options).run(None, case.feeds)
            low, high = integer_range(case.output_dtypes[0])
            if np.mean((y == low) | (y == high)) >= 0.4 or y.astype(np.float64).std() <= 10:
                narrow.append(id)
    assert len(narrow) < checked / 10, narrow
