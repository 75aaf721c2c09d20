"""The error function against values of 30 digits (Abramowitz and Stegun 7.1; the tails by their asymptotic series)."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from reference.ops.error_function import STEPS, erf, erfc

BETWEEN = [0.5 / STEPS, 1.5 / STEPS, 1 + 0.5 / STEPS]
"""As far from the points of the table as can be."""


def exact_erf(x: Fraction) -> Fraction:
    """√π/2·erf(x) by its Taylor series in exact fractions, to better than 1e-25 for |x| <= 3."""
    term, total = x, x
    for n in range(1, 120):
        term = -term * x * x / n
        total += term / (2 * n + 1)
    return total


@pytest.mark.parametrize("x", [*BETWEEN, 1e-300, 1e-8, 0.1, 0.4999, 0.5, 0.75, 0.9999999, 1.0, 1.0000001, 1.5, 2.25, 3.0])
def test_erf_equals_its_series(x: float) -> None:
    expected = float(exact_erf(Fraction(x))) * 2 / math.sqrt(math.pi)
    np.testing.assert_allclose(erf(np.array([x, -x])), [expected, -expected], rtol=1e-15)


@pytest.mark.parametrize(
    ("x", "expected"),
    [
        (0.5, 0.479500122186953462317253346108),
        (1.0, 0.157299207050285130658779364917),
        (2.0, 0.00467773498104726583793074363275),
        (5.0, 1.53745979442803485018834348538e-12),
        (10.0, 2.08848758376254475700078629496e-45),
        (-2.0, 1.99532226501895273416206925637),
    ],
)
def test_erfc_keeps_its_digits_in_the_tail(x: float, expected: float) -> None:
    np.testing.assert_allclose(erfc(np.array([x])), [expected], rtol=2e-15)


def test_both_add_up_to_one() -> None:
    x = np.linspace(-6, 6, 1201)
    np.testing.assert_allclose(erf(x) + erfc(x), 1, rtol=3e-16)


def test_agrees_with_the_mathematics_library() -> None:
    x = np.linspace(-27, 26, 5301)
    np.testing.assert_allclose(erf(x), [math.erf(v) for v in x], rtol=2e-15)
    np.testing.assert_allclose(erfc(x), [math.erfc(v) for v in x], rtol=2e-14)


def test_special_values_keep_sign_and_shape() -> None:
    x = np.array([[0.0, -0.0, np.inf], [-np.inf, np.nan, 40.0]])
    np.testing.assert_array_equal(erf(x), [[0, 0, 1], [-1, np.nan, 1]])
    np.testing.assert_array_equal(np.signbit(erf(x[0, :2])), [False, True])
    np.testing.assert_array_equal(erfc(x), [[1, 1, 0], [2, np.nan, 0]])
    assert erf(np.zeros((2, 0))).shape == (2, 0)
