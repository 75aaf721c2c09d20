"""A part of the false-alarm campaign: right results of fresh data by several algorithms are never a mismatch."""

from __future__ import annotations

import pytest

from tests.verification.false_alarms import emulated_trials, native_trials


@pytest.mark.parametrize("seed", [3, 14])
def test_right_results_of_numpy_s_arithmetic_pass(seed):
    seen = list(native_trials(seed, 100))
    assert len(seen) > 400
    assert [f"{t.what}: {t.verdict.message}" for t in seen if t.verdict.status == "mismatch"] == []
    assert sum(t.verdict.status == "pass" for t in seen) > 0.9 * len(seen)


def test_right_results_of_emulated_units_pass():
    seen = list(emulated_trials(15))
    assert len(seen) > 100
    assert [f"{t.what}: {t.verdict.message}" for t in seen if t.verdict.status == "mismatch"] == []
    assert sum(t.verdict.status in ("pass", "pass_reduced") for t in seen) > 0.5 * len(seen)
