"""Lengths at which kernels take another path: around the widths of vector registers, and primes."""

from __future__ import annotations

WIDTHS = (1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 128, 129, 255, 256, 257)
"""A vector register's number of elements, for every register and element, one less and one more."""

NARROW = WIDTHS[:15]
"""Those for tensors that have a second axis of some length."""
