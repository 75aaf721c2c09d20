"""Shapes that tables of several families share: lengths around the widths of vectors, ranks, patterns of broadcasting."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

LENGTHS = "1 2 3 7 8 9 15 16 17 31 32 33 63 64 65 127 128 129 255 256 257"
"""Around whole vectors of 128 to 512 bits, and blocks of several of them, for elements of 1 to 8 bytes."""

TAILS = "1 3 7 15 17 31 33 65 129 257"
"""Some of them, mostly with a remainder, where a kernel is the same for all types but for the width."""

LONG = "1021 1024 1031"
"""Around a page of 4-byte elements; primes on either side."""

RANKS = "scalar 13 7x5 1x1x1 5x1x7 3x0x5 2x3x5x7 2x3x2x5x3 2x1x3x2x1x5 1x2x1x3x2x1x5 2x1x3x1x2x1x2x3"
"""Each rank from 0 to 8; unit and empty dimensions."""

FLOATS = "f32 f16 bf16 f64"
SIGNED = "i8 i16 i32 i64"
UNSIGNED = "u8 u16 u32 u64"
INTEGERS = f"{SIGNED} {UNSIGNED}"

Pairs = tuple[tuple[str, str], ...]

SCALARS: Pairs = (
    ("scalar", "scalar"),
    ("scalar", "3x5x7"),
    ("3x5x7", "scalar"),
    ("1", "3x17"),
    ("3x17", "1"),
    ("1x1x1", "5x7"),
    ("257", "scalar"),
    ("1", "257"),
)
"""One element on one side."""

TRAILING: Pairs = (
    ("2x3x5x7", "7"),
    ("7", "2x3x5x7"),
    ("3x5x16", "5x16"),
    ("3x17", "17"),
    ("33", "5x33"),
    ("2x3x5x7", "1x1x5x7"),
    ("5x64", "1x64"),
)
"""The last dimensions, as a bias of rows is."""

LEADING: Pairs = (
    ("5x3x7", "5x1x1"),
    ("5x1x1", "5x3x7"),
    ("7x16", "7x1"),
    ("7x1", "7x33"),
    ("2x3x5x7", "2x3x1x1"),
)
"""The first dimensions: one element for a whole row of the other side."""

MIDDLE: Pairs = (
    ("2x5x3x7", "5x1x1"),
    ("1x5x1x1", "2x5x3x7"),
    ("2x5x3x7", "5x3x1"),
    ("2x3x5x7", "2x1x1x7"),
    ("2x1x5x1", "2x3x5x7"),
    ("2x3x5x7", "1x3x1x7"),
    ("2x3x2x5x3", "2x1x2x1x3"),
)
"""Channels, runs of dimensions apart from each other."""

BOTH: Pairs = (
    ("5x1", "1x7"),
    ("1x9", "8x1"),
    ("1x5x1x7", "2x1x3x1"),
    ("3x1x5", "7x1"),
    ("2x1x1x3", "5x1"),
    ("4x1", "3x1x5"),
)
"""Either side is stretched."""

RANKED: Pairs = (
    ("2x1x3x1x2x1x2x3", "3"),
    ("2x1", "2x1x3x1x2x1x2x3"),
    ("2x1x2x1x2x1x2x1", "1x3x1x2x1x3x1x2"),
    ("2x3x2x5x3", "2x1x3"),
    ("3x1x2x1x5", "2x3x2x2x2x5"),
    ("2x1x3x2x1x2x3", "1x2x3"),
    ("scalar", "1x2x1x3x1x2x1x2"),
)
"""Ranks up to 8, up to 8 apart."""

UNIT: Pairs = (("1", "1"), ("1x1x1", "1"), ("scalar", "1x1x1x1"), ("1x1x7", "1x5x1"), ("1x1", "3x1x1"))
"""Nothing but units on one side."""

EMPTY: Pairs = (("0", "0"), ("0", "1"), ("scalar", "0x2"), ("3x0x5", "1x5"), ("2x0x3", "2x1x3"), ("0x3", "3"))
"""No elements: a dimension of 0 stays, one of 1 becomes 0."""

EQUAL: Pairs = tuple((shape, shape) for shape in RANKS.split() if shape not in ("scalar", "1x1x1", "3x0x5"))

CONSTANT: Mapping[str, Pairs] = {
    "right": (("2x3x5x7", "7"), ("2x5x3x7", "5x1x1"), ("3x5", "scalar"), ("3x17", "3x17"), ("5x7", "2x1x7"), ("65", "1")),
    "left": (("7", "2x3x5x7"), ("5x1x1", "2x5x3x7"), ("scalar", "3x5"), ("3x17", "3x17"), ("2x1x7", "5x7"), ("1", "65")),
}
"""One side is stored, where runtimes fold, prepack or swap."""

BROADCAST: Pairs = (*SCALARS, *TRAILING, *LEADING, *MIDDLE, *BOTH, *RANKED, *UNIT, *EMPTY, *EQUAL)

CHIEF: Pairs = tuple(
    pair for group in (SCALARS[1:3], TRAILING[:3], LEADING, MIDDLE, BOTH[:3], RANKED, EMPTY[3:]) for pair in group[:3]
)
"""A few of each pattern, where types matter more."""


def each(name: str, shapes: str) -> str:
    """`name:shape` for each of the shapes."""
    return " ".join(f"{name}:{shape}" for shape in shapes.split())


def two(first: str, second: str, pairs: Iterable[tuple[str, str]]) -> str:
    """Middles of ids of operators with two operands."""
    return " ".join(f"{first}:{a}.{second}:{b}" for a, b in pairs)


def constants(first: str, second: str) -> str:
    """As `two`, one operand stored."""
    right = (f"{first}:{a}.{second}:{b}.const:{second}" for a, b in CONSTANT["right"])
    left = (f"{first}:{a}.{second}:{b}.const:{first}" for a, b in CONSTANT["left"])
    return " ".join([*right, *left])


def lengths(first: str, second: str, of: str = LENGTHS) -> str:
    """Both operands of each length."""
    return two(first, second, ((n, n) for n in of.split()))
