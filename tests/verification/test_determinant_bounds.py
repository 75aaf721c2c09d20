"""Bound of Det: right for elimination with several pivots, reflections and the explicit formula, too narrow for faults."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from tests.verification import formulas
from tests.verification.single_nodes import judged, node_of, ratio, stored

SEEDS = range(24)


def matrices(seed, n, dtype):
    rng = np.random.default_rng(seed)
    a = rng.normal(size=(n, n))
    if seed % 5 == 1:
        a = np.rint(a * 4)
    elif seed % 5 == 2:
        a[-1] = a[:-1].sum(axis=0)  # singular but for rounding
    elif seed % 5 == 3:
        a = a * 2.0 ** rng.integers(-4, 5, (n, 1))
    elif seed % 5 == 4:
        a = np.arange(n * n).reshape(n, n) + 1.0  # of rank 2
    return stored(a, dtype)


def eliminated(unit, a, pivot):
    """LU, the pivot chosen in the column ("row") or everywhere ("complete"), and the product of the diagonal."""
    a, sign, y = a.copy(), 1.0, 1.0
    n = len(a)
    for k in range(n):
        size = np.abs(a[k:, k:] if pivot == "complete" else a[k:, k : k + 1])
        i, j = np.unravel_index(size.argmax(), size.shape)
        if i:
            a[[k, k + i]], sign = a[[k + i, k]], -sign
        if j:
            a[:, [k, k + j]], sign = a[:, [k + j, k]], -sign
        if a[k, k] == 0:
            return 0.0
        factor = unit.rounded(a[k + 1 :, k] / a[k, k])
        a[k + 1 :, k + 1 :] = unit.add(a[k + 1 :, k + 1 :], -unit.mul(factor[:, None], a[k, k + 1 :]))
        y = unit.mul(y, a[k, k])
    return float(sign * y)


def reflected(unit, a):
    """Householder's reflections; each turns the sign."""
    a, y = a.copy(), 1.0
    n = len(a)
    for k in range(n - 1):
        v = a[k:, k].copy()
        norm = 0.0
        for x in v:
            norm = unit.add(norm, unit.mul(x, x))
        norm = float(unit.rounded(np.sqrt(norm)))
        if norm == 0:
            return 0.0
        alpha = -norm if v[0] >= 0 else norm
        v[0] = unit.add(v[0], -alpha)
        scale = unit.rounded(1 / unit.rounded(norm * (norm + abs(a[k, k]))))
        for j in range(k + 1, n):
            dot = 0.0
            for x, z in zip(v, a[k:, j], strict=True):
                dot = unit.add(dot, unit.mul(x, z))
            a[k:, j] = unit.add(a[k:, j], -unit.mul(v, unit.mul(dot, scale)))
        y = unit.mul(y, -alpha)
    return float(unit.mul(y, a[-1, -1]))


def expanded(unit, a):
    """Laplace's expansion along the first row."""
    if len(a) == 1:
        return float(a[0, 0])
    total = 0.0
    for j in range(len(a)):
        minor = expanded(unit, np.delete(a[1:], j, axis=1))
        total = unit.add(total, (-1) ** j * unit.mul(a[0, j], minor))
    return float(total)


def summed(unit, a):
    """Leibniz' formula."""
    total, n = 0.0, len(a)
    for p in itertools.permutations(range(n)):
        sign, term = np.linalg.det(np.eye(n)[list(p)]), 1.0
        for i, j in enumerate(p):
            term = unit.mul(term, a[i, j])
        total = unit.add(total, round(sign) * term)
    return float(total)


@pytest.mark.parametrize("dtype", formulas.FORMATS)
@pytest.mark.parametrize("n", [1, 2, 3, 4, 7, 16])
def test_every_way_to_find_a_determinant_stays_within_the_bound(n, dtype):
    version = 22 if dtype == "bfloat16" else 11
    for seed in SEEDS:
        a, unit = matrices(seed, n, dtype), formulas.Unit(dtype)
        node = node_of("Det", [a], (dtype,), version)
        real = a.astype(np.float64)
        ways = [eliminated(unit, real, "row"), eliminated(unit, real, "complete")]
        ways += [reflected(unit, real)] if dtype != "float16" else []  # squares overflow
        ways += [expanded(unit, real), summed(unit, real)] if n <= 4 else []
        ways += [eliminated(unit, real.T, "row")]
        for got in ways:
            assert ratio(node, np.asarray(got), dtype) <= 1
            assert seed % 5 or ratio(node, np.asarray(got), dtype, random=True) <= 1


@pytest.mark.parametrize("n", [2, 3, 4, 8, 16])
@pytest.mark.parametrize("fault", ["sign", "row dropped", "last pivot dropped", "bfloat16", "float16", "one element changed"])
def test_faults_of_a_determinant_fail(n, fault):
    a = np.random.default_rng(n).normal(size=(n, n)).astype(np.float32)
    real = a.astype(np.float64)
    right = np.linalg.det(real)
    changed = real.copy()
    changed[0, 0] *= 1 + 2.0**-8
    got = {
        "sign": -right,
        "row dropped": np.linalg.det(real[1:, 1:]),
        "last pivot dropped": np.linalg.det(real[:-1, :-1]),
        "bfloat16": np.linalg.det(stored(a, "bfloat16").astype(float)),
        "float16": np.linalg.det(stored(a, "float16").astype(float)),
        "one element changed": np.linalg.det(changed),
    }[fault]
    assert judged("Det", [a], stored(right, "float32"), 11).status == "pass"
    assert judged("Det", [a], stored(got, "float32"), 11, random=True).status == "mismatch"


def test_a_determinant_that_may_overflow_on_the_way_is_open():
    a = np.diag([300.0, 300.0, 2.0**-14, 2.0**-3]).astype(np.float16)
    node = node_of("Det", [a], ("float16",), 11)
    assert ratio(node, np.asarray(np.inf), "float16") == 0


def test_a_batch_is_judged_matrix_by_matrix():
    a = np.stack([matrices(s, 3, "float32") for s in range(4)])
    right = node_of("Det", [a], ("float32",), 11).results[0]
    assert judged("Det", [a], stored(right, "float32"), 11).status == "pass"
    assert judged("Det", [a], stored(right[[1, 0, 2, 3]], "float32"), 11).status == "mismatch"
