"""Fourier transforms as libraries compute them, every operation rounded to the unit's format. Lines are complex float64 (…, N)
with parts that the unit holds."""

from __future__ import annotations

import numpy as np


def rounded(unit, z):
    return unit.rounded(z.real) + 1j * unit.rounded(z.imag)


def product(unit, a, b):
    real = unit.add(unit.mul(a.real, b.real), -unit.mul(a.imag, b.imag))
    return real + 1j * unit.add(unit.mul(a.real, b.imag), unit.mul(a.imag, b.real))


def roots(unit, index, n, sign=-1):
    """exp(sign·2πi·index/n): of an angle in the unit, or for 16-bit units a rounded table."""
    angle = sign * 2 * np.pi * (np.asarray(index) % n) / n
    if unit.form == "float32":
        angle = unit.rounded(angle)
        return unit.function("Cos", np.cos(angle)) + 1j * unit.function("Sin", np.sin(angle))
    return rounded(unit, np.exp(1j * angle))


def direct(unit, x, sign=-1, order=None):
    """Σ x[n]·ω^(kn), term by term."""
    n = x.shape[-1]
    total = np.zeros(x.shape, complex)
    for k in np.arange(n) if order is None else order:
        term = product(unit, x[..., k : k + 1], roots(unit, k * np.arange(n), n, sign))
        total = rounded(unit, total + term)
    return total


def reversed_direct(unit, x, sign=-1):
    return direct(unit, x, sign, np.arange(x.shape[-1])[::-1])


def recursive(unit, x, sign=-1):
    """Cooley and Tukey's decimation in time by the smallest prime factor."""
    n = x.shape[-1]
    radix = next(p for p in range(2, n + 1) if n % p == 0) if n > 1 else 1
    if radix == n:
        return direct(unit, x, sign) if n > 1 else x
    parts = [recursive(unit, x[..., r::radix], sign) for r in range(radix)]
    wide = [np.concatenate([part] * radix, axis=-1) for part in parts]
    total = wide[0]
    for r in range(1, radix):
        total = rounded(unit, total + product(unit, wide[r], roots(unit, r * np.arange(n), n, sign)))
    return total


def bluestein(unit, x, sign=-1):
    """The transform as a convolution with a chirp, by three transforms of a power of two."""
    n = x.shape[-1]
    m = 1 << (2 * n - 1).bit_length()
    chirp = roots(unit, np.arange(n) ** 2, 2 * n, sign)
    a = np.zeros((*x.shape[:-1], m), complex)
    a[..., :n] = product(unit, x, chirp)
    b = np.zeros(m, complex)
    b[:n] = chirp.conj()
    b[m - n + 1 :] = chirp[1:][::-1].conj()
    both = product(unit, recursive(unit, a), recursive(unit, b))
    back = rounded(unit, recursive(unit, both, 1) / m)
    return product(unit, back[..., :n], chirp)


ALGORITHMS = {"direct": direct, "reversed": reversed_direct, "recursive": recursive, "bluestein": bluestein}
