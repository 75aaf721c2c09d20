"""Philox4x64-10 in plain integers, after Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC'11."""

from __future__ import annotations

MASK = 2**64 - 1
MULTIPLIERS = (0xD2E7470EE14C6C93, 0xCA5A826395121157)
WEYL = (0x9E3779B97F4A7C15, 0xBB67AE8584CAA73B)
ROUNDS = 10


def words(key: int, n: int) -> list[int]:
    """The first n words for a 128-bit key; as in NumPy, the 256-bit counter starts at 1."""
    return [word for block in range(1, n // 4 + 2) for word in _block(key, block)][:n]


def _block(key: int, counter: int) -> tuple[int, int, int, int]:
    k0, k1 = key & MASK, key >> 64
    c0, c1, c2, c3 = ((counter >> (64 * i)) & MASK for i in range(4))
    for _ in range(ROUNDS):
        p0, p1 = MULTIPLIERS[0] * c0, MULTIPLIERS[1] * c2
        c0, c1, c2, c3 = (p1 >> 64) ^ c1 ^ k0, p1 & MASK, (p0 >> 64) ^ c3 ^ k1, p0 & MASK
        k0, k1 = (k0 + WEYL[0]) & MASK, (k1 + WEYL[1]) & MASK
    return c0, c1, c2, c3
