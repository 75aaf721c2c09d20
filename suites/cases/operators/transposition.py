"""Axes in another order: Transpose, DepthToSpace and SpaceToDepth."""

from __future__ import annotations

from itertools import permutations

from suites.cases.operators.sizes import NARROW, WIDTHS
from suites.cases.operators.sweep import Sweep, joined
from suites.cases.operators.table import Row


def _orders(*shapes: str) -> str:
    """Every permutation of the axes of each shape."""
    return " ".join(
        f"data:{shape}.perm:{'_'.join(map(str, order))}"
        for shape in shapes
        for order in permutations(range(shape.count("x") + 1))
    )


def _ordered(shape: str, orders: str) -> str:
    return " ".join(f"data:{shape}.perm:{'_'.join(order)}" for order in orders.split())


_ALL_ORDERS = _orders("5x7", "3x5x7", "2x3x5x7")
_UNIT_AXES = _orders("1x5x1x7")
_UNIT_RANK_3 = _orders("1x5x7", "5x1x7", "5x7x1")
_RANK_5 = _ordered("2x3x2x5x3", "43210 02341 04123 10234 01243 20413 02143 34012 01423 12340")
# Blocks of pixels, windows and heads: what exporters write for pixel shuffle, Swin and multi-head attention.
_RANK_6 = _ordered("2x3x2x3x2x5", "013245 014253 034152 543210 024135 120345 015234")
_RANK_7 = _ordered("2x1x3x2x2x3x2", "6543210 0142536 0213546 3456012")
_RANK_8 = _ordered("2x1x2x3x1x2x2x3", "76543210 02461357 10325476 45670123")
_HIGH = f"{_RANK_5} {_RANK_6} {_RANK_7} {_RANK_8}"

# Tiles and their remainders: rows and columns around vector widths.
_MATRICES = " ".join(f"data:{m}x{n}.perm:1_0 data:{n}x{m}.perm:1_0" for m in WIDTHS for n in (3, 8, 17))
_THIN = " ".join(f"data:{m}x{n}.perm:1_0" for m in NARROW for n in (4, 16))
_CHANNELS = " ".join(f"data:2x{c}x3x5.perm:0_2_3_1 data:2x3x5x{c}.perm:0_3_1_2" for c in WIDTHS)
_FEW_CHANNELS = " ".join(f"data:1x{c}x3x2.perm:0_2_3_1 data:1x3x2x{c}.perm:0_3_1_2" for c in NARROW)
_HEADS = " ".join(f"data:2x7x3x{n}.perm:0_2_1_3" for n in NARROW)
_EMPTY = "data:0x3.perm:1_0 data:3x0x5.perm:2_0_1 data:scalar data:2x3x0x5 data:1.perm:0"
_FEW = "data:3x5x7.perm:2_0_1 data:2x3x5x7.perm:0_2_3_1 data:2x3x5x7 data:5x7.perm:1_0"
_PACKED = _orders("3x5x7") + " data:5x7 data:1x9 data:2x3x5x7.perm:0_2_3_1 data:4x6 data:2x3x8.perm:0_2_1 data:2x3x8.perm:1_0_2"
_LARGE = "data:16x64x32x32.perm:0_2_3_1 data:1031x1021.perm:1_0"


def _block(layout: str, batch: int, blocks: int, depth: int, size: str, mode: str) -> str:
    """DepthToSpace of `depth` channels of output, SpaceToDepth of as many of input."""
    height, width = map(int, size.split("x"))
    shape = f"{batch}x{depth * blocks**2}x{height}x{width}"
    if layout == "space":
        shape = f"{batch}x{depth}x{height * blocks}x{width * blocks}"
    return joined(f"input:{shape}", f"blocksize:{blocks}", mode and f"mode:{mode}")


def _to_space(batch: int, blocks: int, depth: int, size: str, mode: str = "") -> str:
    return _block("depth", batch, blocks, depth, size, mode)


def _to_depth(batch: int, blocks: int, depth: int, size: str) -> str:
    return _block("space", batch, blocks, depth, size, "")


_BLOCKS = {
    "blocks": (2, 3, 1, 4),
    "depth": (1, 3, 4, 7, 8),
    "size": ("3x5", "1x1", "1x7", "5x2", "2x9"),
    "batch": (1, 2),
}

CASES = (
    Row("Transpose-21", "f32", "index", f"{_ALL_ORDERS} {_UNIT_AXES} {_UNIT_RANK_3} {_HIGH} {_EMPTY}"),
    # Elements of every width: kernels copy bytes, half words, words and double words.
    Row("Transpose-21", "f16 i8", "index", _ALL_ORDERS),
    Row("Transpose-21", "i64", "index", _orders("3x5x7")),
    Row("Transpose-21", "i8", "index", _HIGH),
    Row("Transpose-21", "bf16 f64 u8 i16 u16 i32 u32 u64 bool str", "index", " ".join(_FEW.split()[:2])),
    Row("Transpose-21", "f8e4m3fn f8e4m3fnuz f8e5m2 f8e5m2fnuz", "index", " ".join(_FEW.split()[:2])),
    # Two elements a byte: an odd number of columns, rows that begin inside a byte.
    Row("Transpose-21", "i4 u4", "index", _PACKED),
    Row("Transpose-25", "i2", "index", _PACKED),
    Row("Transpose-25", "u2 f4e2m1", "index", " ".join(_PACKED.split()[-6:])),
    Row("Transpose-1 Transpose-13 Transpose-25", "f32", "index", _FEW),
    Row("Transpose-23 Transpose-24 Transpose-25", "i8", "index", " ".join(_FEW.split()[:2])),
    Row("Transpose-21", "f32", "index", f"{_MATRICES} {_CHANNELS} {_HEADS}", one_in=2),
    Row("Transpose-21", "i8", "index", f"{_THIN} {_FEW_CHANNELS} {_HEADS}", one_in=3),
    Row("Transpose-21", "f16", "index", _FEW_CHANNELS, one_in=3),
    Row("Transpose-21", "f32 f16", "special", "data:7x9.perm:1_0 data:2x3x5x7.perm:0_3_1_2 data:2x16x3x5.perm:0_2_3_1"),
    Row("Transpose-21", "i32 u32 i16 u16", "extreme", "data:2x3x5x7.perm:0_2_3_1 data:7x9.perm:1_0"),
    Row("Transpose-21", "f32", "index", "data:5x7.const:data data:2x3x5x7.perm:0_2_3_1.const:data"),
    Row("Transpose-21", "f16 i8 u8 i32", "index", _LARGE),
    Sweep("DepthToSpace-13", "f32", "index", _to_space, {**_BLOCKS, "mode": ("", "DCR", "CRD")}),
    Sweep("DepthToSpace-13", "f16 i8", "index", _to_space, {**_BLOCKS, "mode": ("CRD", "DCR")}, one_in=3),
    Sweep("DepthToSpace-11", "f32", "index", _to_space, {**_BLOCKS, "mode": ("CRD", "DCR")}, one_in=4),
    Sweep("DepthToSpace-1", "f32", "index", _to_space, _BLOCKS, one_in=4),
    Sweep("SpaceToDepth-13 SpaceToDepth-1", "f32", "index", _to_depth, _BLOCKS),
    Sweep("SpaceToDepth-13", "f16 i8", "index", _to_depth, _BLOCKS, one_in=3),
    Row("DepthToSpace-13", "i16 u16 u32 u64 bf16", "index", "input:2x12x3x5.blocksize:2.mode:CRD input:2x12x3x5.blocksize:2"),
    Row("SpaceToDepth-13", "i16 u16 u32 u64 bf16", "index", "input:2x3x4x6.blocksize:2"),
    Row("DepthToSpace-13", "f32 u8", "index", "input:0x4x3x5.blocksize:2"),
    Row("DepthToSpace-13", "u8", "index", "input:1x64x128x129.blocksize:2 input:1x64x128x129.blocksize:2.mode:CRD"),
    Row("SpaceToDepth-13", "f32", "index", "input:0x3x4x6.blocksize:2"),
    Row("SpaceToDepth-13", "u8 i8", "index", "input:1x16x256x258.blocksize:2"),
)
