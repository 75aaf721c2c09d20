"""The legitimate implementations compute the operator: in a wide unit they agree with the reference, on lattices exactly."""

from __future__ import annotations

import numpy as np
import pytest

from reference import dtypes
from reference.node import Node
from tests.verification.correct import OPERATORS, implementations
from tests.verification.samples import sample
from tests.verification.specifications import SPECIFICATIONS
from tests.verification.units import UNITS

MODELS = [(operator, variant) for operator in OPERATORS for variant in SPECIFICATIONS[operator]]
NOT_WIDE = {"Attention": ("naive, fma", "online, fma"), "Gemm": ("scaled operand, fma",)}
"""Products of intermediate results: they are exact in float64 only if those have the bits of single precision."""

SUMS = ("Conv", "ConvTranspose", "Gemm", "MatMul", "ReduceSum", "ReduceSumSquare")


def nodes(operator, variant, recipe, size=None):
    node = Node.of(*sample(operator, variant, recipe, size))
    if operator == "Resize" and node.attribute("mode", "nearest") != "linear":
        pytest.skip("other modes than linear have no implementation")
    return node


@pytest.mark.parametrize(("operator", "variant"), MODELS)
def test_implementations_agree_with_the_reference_in_a_wide_unit(operator, variant):
    node = nodes(operator, variant, "normal", 17 if operator in ("ReduceMean", "ReduceSum", "ReduceSumSquare") else None)
    for name, implementation in implementations(operator).items():
        single = name in NOT_WIDE.get(operator, ())
        outputs = implementation(node, UNITS["fp32" if single else "fp64"])
        assert len(outputs) == len(node.results), name
        for y, exact, dtype in zip(outputs, node.results, node.output_types, strict=True):
            assert y.shape == exact.shape, name
            assert dtypes.name_of(y.dtype) == dtype, name
            if not dtypes.is_float(dtype):
                np.testing.assert_allclose(y.astype(float), exact.astype(float), atol=1, err_msg=name)
                assert np.mean(y != exact) < 0.01, name
                continue
            error = np.abs(y.astype(np.float64) - exact)
            stored = dtypes.FLOATS[dtype].unit_roundoff * np.abs(exact)
            assert np.all(error <= stored + (2.0**-16 if single else 2.0**-40) * np.abs(exact).max()), name


@pytest.mark.parametrize("unit", ["fp32", "bf16-in", "fp32-faithful"])
@pytest.mark.parametrize("operator", SUMS)
def test_sums_of_integers_are_exact_in_every_order_and_unit(operator, unit):
    for variant in ("plain", "bias", "groups", "transposed", "last"):
        if variant not in SPECIFICATIONS[operator]:
            continue
        node = nodes(operator, variant, "lattice", 18)
        for name, implementation in implementations(operator).items():
            np.testing.assert_array_equal(implementation(node, UNITS[unit])[0], node.results[0], f"{variant}, {name}")


@pytest.mark.parametrize("operator", ["MatMul", "Softmax", "LayerNormalization", "Attention"])
def test_algorithms_differ_in_their_last_bits(operator):
    node = nodes(operator, "last" if operator == "Softmax" else "plain", "normal")
    results = {implementation(node, UNITS["fp32"])[0].tobytes() for implementation in implementations(operator).values()}
    assert len(results) > len(implementations(operator)) / 2
