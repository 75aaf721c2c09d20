"""The table of limits: the reference is right, correct functions pass, worse ones fail, and faulty tables are refused."""

from __future__ import annotations

import dataclasses
import importlib.resources

import mpmath
import numpy as np
import pytest

from reference import dtypes
from reference.verify import modes
from reference.verify.arithmetic import RUNGS
from reference.verify.bounds import limits
from reference.verify.bounds.functions import ULPS, ulp_real
from reference.verify.setting import Setting
from tests.verification.formulas import ALPHA, GAMMA, judged, node_of, ratio

mpmath.mp.dps = 40

REAL = {
    "Acos": mpmath.acos,
    "Acosh": mpmath.acosh,
    "Asin": mpmath.asin,
    "Asinh": mpmath.asinh,
    "Atan": mpmath.atan,
    "Atanh": mpmath.atanh,
    "Cos": mpmath.cos,
    "Cosh": mpmath.cosh,
    "Div": mpmath.fdiv,
    "Erf": mpmath.erf,
    "Exp": mpmath.exp,
    "Log": mpmath.log,
    "Mul": mpmath.fmul,
    "Pow": mpmath.power,
    "Reciprocal": lambda x: 1 / x,
    "Sin": mpmath.sin,
    "Sinh": mpmath.sinh,
    "Sqrt": mpmath.sqrt,
    "Tan": mpmath.tan,
    "Tanh": mpmath.tanh,
}
"""Operators judged by their limit, from a library of arbitrary precision."""

COMPOSITES = {
    "Sigmoid": lambda x: 1 / (1 + mpmath.exp(-x)),
    "Softplus": lambda x: mpmath.log1p(mpmath.exp(x)),
    "Mish": lambda x: x * mpmath.tanh(mpmath.log1p(mpmath.exp(x))),
    "Gelu": lambda x: x * mpmath.erfc(-x / mpmath.sqrt(2)) / 2,
    "Elu": lambda x: x if x > 0 else mpmath.expm1(x),
    "Selu": lambda x: GAMMA * (x if x > 0 else ALPHA * mpmath.expm1(x)),
    "Celu": lambda x: x if x > 0 else mpmath.expm1(x),
    "Swish": lambda x: x / (1 + mpmath.exp(-x)),
    "Softsign": lambda x: x / (1 + abs(x)),
}

DOMAINS = {
    "Acos": (-1, 1),
    "Acosh": (1, 1e6),
    "Asin": (-1, 1),
    "Atanh": (-0.999, 0.999),
    "Cosh": (-88, 88),
    "Exp": (-87, 88),
    "Log": (1e-37, 1e37),
    "Pow": (0.01, 30),
    "Sinh": (-88, 88),
    "Sqrt": (0, 1e37),
}
"""Operator → where its results are normal numbers of float32; elsewhere arguments reach from −3e4 to 3e4."""


def points(operator, form):
    """Arguments in a format: over the domain, of every magnitude in it, and next to the function's zeros and poles."""
    low, high = DOMAINS.get(operator, (-3e4, 3e4))
    rng = np.random.default_rng(3)
    spread = np.exp(rng.uniform(np.log(1e-4), np.log(max(high, 2)), 60)) * rng.choice([-1, 1], 60)
    zeros = np.outer(np.pi / 2 * np.array([1, 2, 3, 4, 5, 11, 22, 355, 710]), [-1.0, 1.0]).ravel()
    ones = np.outer([-1.0, 1.0], 1 + np.ldexp([0, 1, -1, 2, -3, 100, -2000], -24)).ravel()
    ends = [low, high, low + (high - low) * 2.0**-20, high - (high - low) * 2.0**-20]
    x = dtypes.round_to(np.concatenate([np.linspace(low, high, 41), rng.uniform(-4, 4, 60), spread, zeros, ones, ends]), form)
    x = x[(x >= low) & (x <= high) & (x != 0)]
    with np.errstate(all="ignore"):
        y = node_of(operator, [x] * (2 if operator in ("Div", "Mul", "Pow") else 1), form).results[0]
    size = np.abs(y)
    return x[(size >= dtypes.FLOATS[form].smallest_normal) & (size < dtypes.FLOATS[form].largest / 2)]


def operands(operator, form):
    """Points for each operand; the second of two goes through the first's in another order."""
    x = points(operator, form)
    if operator not in ("Div", "Mul", "Pow"):
        return [x]
    second = np.random.default_rng(4).permutation(x)
    if operator != "Pow":
        return [x, second]
    second = dtypes.round_to(np.random.default_rng(5).uniform(-2, 2, x.size), form)
    return [x, second]


def exactly(function, inputs):
    """The function by mpmath, each result as its nearest float64 and the rest of it."""
    y = [function(*map(mpmath.mpf, values)) for values in zip(*inputs, strict=True)]
    return np.array([float(v) for v in y]), y


@pytest.mark.parametrize("operator", [*REAL, *COMPOSITES])
def test_the_reference_errs_by_a_millionth_of_the_bound_of_float32(operator):
    inputs = operands(operator, "float32")
    node = node_of(operator, inputs, "float32")
    _, real = exactly({**REAL, **COMPOSITES}[operator], inputs)
    (bound,) = modes.BOUNDS[operator](node, Setting(RUNGS["fp32"], "float32"))
    bound = np.where(bound == 0, 2.0**-24 * np.abs(node.results[0]), bound)
    error = np.array([float(abs(mpmath.mpf(float(y)) - r)) for y, r in zip(node.results[0], real, strict=True)])
    assert np.max(error / bound) < 2.0**-20


@pytest.mark.parametrize("form", ["float32", "float16"])
@pytest.mark.parametrize("operator", REAL)
def test_correct_rounding_passes_and_one_ulp_beyond_the_limit_fails(operator, form):
    inputs = operands(operator, form)
    node = node_of(operator, inputs, form)
    real, _ = exactly(REAL[operator], inputs)
    assert ratio(node, dtypes.round_to(real, form), form) <= 1
    step, c = dtypes.quantum(real, form), ULPS[operator][form == "float16"]
    for side in (-1, 1):
        inside, beyond = (dtypes.round_to(real + side * by * step, form) for by in (max(c - 0.5, 0), c + 1))
        regular = dtypes.quantum(beyond, form) == step  # the spacing is the same all the way
        assert ratio(node, np.where(regular, inside, dtypes.round_to(real, form)), form) <= 1
        for i in np.flatnonzero(regular)[:: max(1, regular.sum() // 20)]:
            mutant = dtypes.round_to(real, form)
            mutant[i] = beyond[i]
            assert ratio(node, mutant, form) > 1


@pytest.mark.parametrize("operator", ["Exp", "Sin", "Cos", "Tan", "Log", "Sqrt", "Tanh", "Erf", "Atan", "Asinh"])
def test_float32_results_pass_by_verify_and_float16_ones_do_not(operator):
    (x,) = operands(operator, "float32")
    real, _ = exactly(REAL[operator], [x])
    assert judged(operator, [x], real, "float32").status == "pass"
    assert judged(operator, [x], dtypes.round_to(real, "float16"), "float32").status == "mismatch"


@pytest.mark.parametrize(("start", "limit", "delta"), [(-100, 100, 0.1), (0, 1, 0.001), (-1, 1, 0.01), (5, -5, -0.3)])
def test_a_range_may_be_a_sum_of_products_or_of_steps(start, limit, delta):
    node = node_of("Range", [start, limit, delta], "float32")
    first, step = np.float32(start), np.float32(delta)
    count = node.results[0].size
    products = first + np.arange(count, dtype=np.float32) * step
    steps = np.add.accumulate(np.concatenate([[first], np.full(count - 1, step)]), dtype=np.float32)
    for right in (products, steps):
        assert ratio(node, right.astype(np.float64), "float32") <= 1
    for wrong in (products + step, first + np.arange(count) * float(np.float16(1.001 * delta))):
        assert ratio(node, np.asarray(wrong, np.float64), "float32") > 2


def setting(profile, compute="float32"):
    rung = RUNGS["fp32" if compute == "float32" else "fp16"]
    return Setting(dataclasses.replace(rung, functions=profile), compute)


def test_a_device_is_held_to_the_profile_that_it_declares():
    x = np.array([-30.0, 0.5, 60.0])
    node = node_of("Exp", [x], "float32")
    step = dtypes.quantum(node.results[0], "float32")
    for profile, limit in (("full", [3, 3, 3]), ("embedded", [4, 4, 4]), ("relaxed", [63, 4, 123]), ("ieee", [0.5] * 3)):
        assert (ulp_real(node, setting(profile))[0] / step == limit).all()
    half = node_of("Exp", [[-3.0, 0.5]], "float16")
    assert (ulp_real(half, setting("embedded", "float16"))[0] / dtypes.quantum(half.results[0], "float16") == 2).all()


def test_relaxed_limits_are_absolute_or_open_where_the_source_says_so():
    sine = node_of("Sin", [[3.0, 0.5, 4.0]], "float32")
    assert (ulp_real(sine, setting("relaxed"))[0] == [2.0**-11, 2.0**-11, np.inf]).all()
    log = node_of("Log", [[1.0000001, 1000.0]], "float32")
    assert (ulp_real(log, setting("relaxed"))[0] == [2.0**-21, 3 * 2.0**-21]).all()
    assert np.isinf(ulp_real(node_of("Pow", [[1.5], [2.0]], "float32"), setting("relaxed"))[0]).all()
    quotient = node_of("Div", [[1.0, 1.0], [3.0, 2.0**70]], "float32")
    assert np.isinf(ulp_real(quotient, setting("relaxed"))[0]).tolist() == [False, True]
    gelu = node_of("Gelu", [[-1.0, 0.0, 100.0]], "float32", approximate="tanh")
    assert np.isinf(modes.BOUNDS["Gelu"](gelu, setting("relaxed"))[0]).tolist() == [True, False, False]


@pytest.mark.parametrize("operator", ["Celu", "Elu", "Mish", "Selu", "Sigmoid", "Softplus", "Swish"])
def test_activations_of_a_relaxed_device_are_bounded_and_more_widely(operator):
    node = node_of(operator, [[-3.0, -0.1, -1e-3]], "float32")
    full, relaxed = (modes.BOUNDS[operator](node, setting(profile))[0] for profile in ("full", "relaxed"))
    assert (relaxed > full).all()
    assert (relaxed < 0.01).all()


def test_an_unfaithful_limit_is_doubled_only_below_one_ulp():
    one = np.ones(1)
    assert limits.limit("Add", "full").error(one, [one, one], "float32", 2.0) == 2.0**-23
    assert limits.limit("Exp", "full").error(one, [one], "float32", 2.0) == 3 * 2.0**-23


SOURCE = importlib.resources.files("reference.verify.bounds").joinpath("functions.toml").read_text("utf-8")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('source = "OpenCL C 3.0.19, 7.4, erf"', "", r"\[operator.Erf\] has no source"),
        ("[operator.Erf]\nfull = 16", "[operator.Erf]", r"\[operator.Erf\] needs the profiles full and half"),
        ("[operator.Erf]\nfull = 16", "[operator.Erf]\nfull = -1", r"\[operator.Erf\] full is -1, not a finite"),
        ("[operator.Erf]\nfull = 16", "[operator.Erf]\nfull = true", r"\[operator.Erf\] full is True, not a finite"),
        ("[operator.Erf]\nfull = 16", '[operator.Erf]\nfull = "16"', r"\[operator.Erf\] full is '16', not a finite"),
        ("[operator.Erf]\nfull = 16", "[operator.Erf]\nfast = 2\nfull = 16", r"\[operator.Erf\] has a key 'fast'"),
        ("per_argument = 2", "slope = 2", r"\[operator.Exp\] relaxed has a key 'slope'"),
        ("{ absolute = 8192, within", "{ per_argument = 1, within", r"\[operator.Cos\] relaxed has neither ulp nor absolute"),
        ("within = [0.0, 88.0]", "within = [88.0, 0.0]", r"\[operator.Cosh\] relaxed.within is \[88.0, 0.0\], an empty range"),
        ("within = [0.0, 88.0]", "within = 88.0", r"\[operator.Cosh\] relaxed.within is 88.0, not a range"),
        ("[inner.Erfc]", "[inner.Erf]", r"\[inner.Erf\] is there twice"),
        ("[inner.Erfc]", "[outer.Erfc]", r"no section \[outer\]"),
        ('embedded = "OpenCL', 'embedding = "OpenCL', r"\[profile\] must give a source for each of full"),
    ],
)
def test_a_faulty_table_is_refused_in_one_line_that_names_the_entry(old, new, message):
    assert old in SOURCE
    with pytest.raises(ValueError, match=message) as error:
        limits.parse(SOURCE.replace(old, new, 1))
    assert "\n" not in str(error.value)


def test_every_entry_names_document_and_section():
    for name, entry in limits.parse(SOURCE).items():
        assert any(document in entry.source for document in ("OpenCL C 3.0", "IEEE 754", "ONNX", "Derived")), name
