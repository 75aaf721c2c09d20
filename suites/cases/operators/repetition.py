"""Elements repeated: Expand and Tile."""

from __future__ import annotations

from suites.cases.operators.sizes import WIDTHS
from suites.cases.operators.table import Row

_BYTES = "f16 i8 i64 bool"
_OTHERS = "bf16 f64 u8 i16 u16 i32 u32 u64 str"

# Lengths of one at every place, on either side, and more axes on either side.
_EXPANDED = {
    "3x1": "3_4 3_1 1_4 1_1 2_3_4 2_1_4 1_3_1 2_1_1_4 1 4",
    "1x5": "3_5 3_1 1_1 2_3_5 2_3_1 5 1",
    "1": "1 7 3_5 2_3_4 1_1_1_1 2_1_3 0",
    "scalar": "none 1 7 3_5 2_3_4_5",
    "1x1x1": "2_3_5 2_1_5 1_3_1 1_1_5",
    "2x1x3x1": "2_4_3_5 1_4_1_5 2_1_3_5 4_1_1 2_2_4_3_5",
    "1x3x1x5": "2_3_4_5 2_1_4_1 7_2_1_1_1 1_1_1_1 3_1_5",
    "5x7": "5_7 1_7 5_1 7 2_5_7 3_1_1_7 1_1_1_1_5_7",
    "2x1x2x1x2": "1_3_1_3_1 2_3_2_3_2",
    "1x0": "3_0 3_1 2_1_0",
    "0": "3_0 1 2_1",
    "2x1x1x1x1x1x1x3": "2_1_1_2_1_1_2_3 1_2_1_2_1_2_1_1",
}
_EXPANSIONS = " ".join(f"input:{data}.shape:{s}" for data, shapes in _EXPANDED.items() for s in shapes.split())
_FED_EXPANSIONS = " ".join(f"{middle}.feed:shape" for middle in _EXPANSIONS.split()[::4])
_EXPANDED_WIDTHS = " ".join(f"input:3x1.shape:3_{w} input:1x{w}.shape:3_{w} input:{w}x1.shape:{w}_3" for w in WIDTHS)
_SOME_EXPANSIONS = "input:3x1.shape:2_3_5 input:1x5.shape:3_1 input:2x1x3x1.shape:2_4_3_5"

_TILED = {
    "2x3x5": "1_1_1 2_1_1 1_2_1 1_1_2 3_2_1 2_2_2 1_3_4 0_1_1 1_1_0",
    "7": "1 2 5 0 17",
    "1": "1 9 64",
    "1x1x1": "2_3_4 1_5_1",
    "3x5": "2_1 1_2 3_3 1_17 16_1",
    "2x3x1x5": "1_1_4_1 2_1_1_3 3_2_2_1 1_2_1_1",
    "2x1x3x1x2": "1_3_1_2_1 2_1_2_1_2",
    "2x1x2x1x2x1x1x3": "1_2_1_2_1_2_1_1 1_1_1_1_1_1_3_2",
    "0x3": "2_2 0_1",
}
_TILES = " ".join(f"input:{data}.repeats:{r}" for data, repeats in _TILED.items() for r in repeats.split())
_TILED_WIDTHS = " ".join(f"input:2x{w}.repeats:2_3 input:{w}.repeats:2" for w in WIDTHS)
_FED_TILES = " ".join(f"{middle}.feed:repeats" for middle in _TILES.split()[::4])
_SOME_TILES = "input:2x3x5.repeats:1_2_3 input:3x5.repeats:3_3 input:7.repeats:5"

CASES = (
    Row("Expand-13", "f32", "index", f"{_EXPANSIONS} {_FED_EXPANSIONS}"),
    Row("Expand-8", "f32", "index", " ".join(_EXPANSIONS.split()[::3])),
    Row("Expand-13", "f32", "index", _EXPANDED_WIDTHS, one_in=2),
    Row("Expand-13", f"{_BYTES} {_OTHERS}", "index", _SOME_EXPANSIONS),
    Row("Expand-8", "i8 f64 i64", "index", _SOME_EXPANSIONS),
    Row("Expand-13", "f32 f16", "special", "input:17x1.shape:3_17_2 input:33.shape:3_33"),
    Row("Expand-13", "f32", "index", "input:3x1.shape:3_5.const:input input:3x5.shape:2_1_1.const:input"),
    Row("Expand-13", "f16 i8 u8 i32 bool", "index", "input:1x1024.shape:1024_1024 input:1031x1.shape:1031_1024"),
    Row("Tile-13", "f32", "index", f"{_TILES} {_FED_TILES}"),
    Row("Tile-6", "f32", "index", " ".join(_TILES.split()[::3])),
    Row("Tile-13", "f32 i8", "index", _TILED_WIDTHS),
    Row("Tile-13", f"{_BYTES} {_OTHERS}", "index", _SOME_TILES),
    Row("Tile-6", "i8 f64 i64", "index", _SOME_TILES),
    Row("Tile-13", "f32 f16", "special", "input:35.repeats:3 input:3x17.repeats:2_1"),
    Row("Tile-13", "f16 i8 u8 i32", "index", "input:4x128x257.repeats:2_1_4"),
)
