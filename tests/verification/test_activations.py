"""The bounds of activations: every usual formula passes at the limits of its functions, and what is wrong by more fails."""

from __future__ import annotations

import functools
from functools import partial

import numpy as np
import pytest

from reference import dtypes
from reference.verify import modes
from reference.verify.arithmetic import RUNGS
from reference.verify.setting import Setting
from tests.verification.formulas import (
    ALPHA,
    ERRORS,
    FORMATS,
    FORMULAS,
    Unit,
    arguments,
    by_expm1,
    elu,
    formula_name,
    gelu_erf,
    gelu_tanh,
    hard_sigmoid_plain,
    judged,
    node_of,
    ratio,
    softplus_log1p,
    swish_product,
    usable,
)

every_formula = pytest.mark.parametrize(
    ("operator", "attributes", "formula"),
    FORMULAS,
    ids=lambda v: formula_name(v) if callable(v) else v if isinstance(v, str) else "",
)


@functools.cache
def worst(index, form):
    """Largest ratio of a formula's error to its bound, with its functions right and at their limits."""
    operator, attributes, formula = FORMULAS[index]
    x = usable(formula, arguments(form), form)
    node = node_of(operator, [x], form, **attributes)
    with np.errstate(all="ignore"):
        return max(ratio(node, formula(Unit(form, error), x), form) for error in ERRORS)


@pytest.mark.parametrize(
    ("index", "form"),
    [
        pytest.param(i, form, id=f"{operator}.{formula_name(formula)}.{form}")
        for i, (operator, _, formula) in enumerate(FORMULAS)
        for form in (FORMATS[:1] if operator == "Celu" else FORMATS)  # ONNX has Celu for float32 only
    ],
)
def test_every_formula_of_an_activation_passes_with_its_functions_at_their_limits(index, form):
    assert worst(index, form) <= 1


@pytest.mark.parametrize("operator", sorted({operator for operator, _, _ in FORMULAS}))
def test_the_bound_of_an_activation_is_nearly_reached(operator):
    reached = [worst(i, "float32") for i, (o, _, _) in enumerate(FORMULAS) if o == operator]
    assert max(reached) > 0.45


@every_formula
def test_float16_inside_fails_the_bound_of_float32(operator, attributes, formula):
    x = dtypes.round_to(np.linspace(-8, 8, 4001), "float16")
    node = node_of(operator, [x], "float32", **attributes)
    with np.errstate(all="ignore"):
        got = formula(Unit("float16"), x)
    assert ratio(node, got, "float32") > 50
    assert ratio(node, got, "float32", "fp16") <= 1


@every_formula
def test_an_error_of_four_bounds_is_a_mismatch(operator, attributes, formula):
    x = dtypes.round_to(np.linspace(-5, 5, 801), "float32")
    node = node_of(operator, [x], "float32", **attributes)
    (bound,) = modes.BOUNDS[operator](node, Setting(RUNGS["fp32"], "float32"))
    with np.errstate(all="ignore"):
        got = formula(Unit("float32"), x)
    assert judged(operator, [x], got, "float32", **attributes).status == "pass"
    got[250] = node.results[0][250] + 4 * bound[250] + 2 * dtypes.quantum(got[250], "float32")
    assert judged(operator, [x], got, "float32", **attributes).status == "mismatch"


SUBSTITUTES = [
    ("Sigmoid", {}, FORMATS, hard_sigmoid_plain),
    ("Softplus", {}, FORMATS[:1], lambda v, x: np.where(x > 5, x, softplus_log1p(v, x))),
    ("Mish", {}, FORMATS, swish_product),
    ("Gelu", {}, FORMATS[:1], gelu_tanh),
    ("Gelu", {"approximate": "tanh"}, FORMATS[:1], gelu_erf),
    ("Gelu", {}, FORMATS[:2], partial(swish_product, alpha=1.702)),
    ("Elu", {"alpha": 0.3}, FORMATS, partial(elu, alpha=1.0, grow=by_expm1)),
    ("Celu", {"alpha": 0.3}, FORMATS[:1], partial(elu, alpha=0.3, grow=by_expm1)),
    ("Selu", {}, FORMATS[:1], lambda v, x: v.mul(1.0507, np.where(x > 0, x, v.mul(1.6733, v.expm1(x))))),
    ("Selu", {}, FORMATS, partial(elu, alpha=ALPHA, grow=by_expm1)),
    ("Swish", {"alpha": 1.702}, FORMATS[:1], partial(swish_product, alpha=1.7)),
    ("Swish", {"alpha": 1.702}, FORMATS, swish_product),
    ("HardSwish", {}, FORMATS, lambda v, x: v.mul(x, hard_sigmoid_plain(v, x))),
    ("HardSigmoid", {}, FORMATS, partial(hard_sigmoid_plain, alpha=1 / 6)),
]
"""Operator, attributes, the formats that tell, and a formula that is sometimes put in its place."""


@pytest.mark.parametrize(
    ("operator", "attributes", "form", "wrong"),
    [pytest.param(o, a, form, f, id=f"{o}.{form}.{i}") for i, (o, a, forms, f) in enumerate(SUBSTITUTES) for form in forms],
)
def test_the_values_of_a_substitute_are_out_of_bounds(operator, attributes, form, wrong):
    x = dtypes.round_to(np.linspace(-6, 6, 2001), form)
    assert ratio(node_of(operator, [x], form, **attributes), wrong(Unit(form), x), form) > 1.2
