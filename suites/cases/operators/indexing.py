"""Elements chosen and replaced by index."""

from __future__ import annotations

from suites.cases.operators import gathering, scattering, selection
from suites.cases.operators.table import Row

_TYPES = "f16 bf16 f64 i8 u8 i16 i32 i64 bool"
_GATHER = (
    "data:5x7x3.indices:4 data:5x7x3.indices:2x3.axis:1 data:5x7x3.indices:2x3.axis:-1 "
    "data:5x7x3.indices:scalar.axis:1 "
    "data:5x7.indices:3x2:i32 data:11.indices:2x3 data:5x7.indices:0 "
    "data:5x7.indices:4.axis:1.const:indices data:5x7.indices:0.const:indices data:101x17.indices:3x5.const:data"
)
_GATHER_ELEMENTS = (
    "data:3x5x7.indices:2x5x7 data:3x5x7.indices:3x4x7.axis:1 data:3x5x7.indices:3x5x9.axis:-1 "
    "data:5x7.indices:3x2:i32 data:11.indices:17"
)
_GATHER_ND = (
    "data:3x5x7.indices:4x2 data:3x5x7.indices:2x3x3 data:3x5x7.indices:4x1 data:3x5x7.indices:3x2x1.batch_dims:1 "
    "data:2x3x5x7.indices:2x3x1.batch_dims:2"
)
_SCATTER_ELEMENTS = (
    "data:3x5x7.indices:2x5x7.updates:2x5x7 data:3x5x7.indices:3x4x7.updates:3x4x7.axis:1 "
    "data:5x7.indices:3x2:i32.updates:3x2 "
    "data:3x5x7.indices:2x3x4.updates:2x3x4.axis:-1 data:11.indices:5.updates:5"
)
_SCATTER_REDUCED = " ".join(
    f"data:3x5x7.indices:3x9x7.updates:3x9x7.axis:1.reduction:{r}" for r in ("add", "mul", "max", "min")
)
_SCATTER_ND = (
    "data:5x7x3.indices:3x1.updates:3x7x3 data:5x7x3.indices:4x2.updates:4x3 "
    "data:5x7x3.indices:2x3x3.updates:2x3 data:11.indices:4x1.updates:4"
)
_SCATTER_ND_REDUCED = " ".join(f"data:5x7x3.indices:9x1.updates:9x7x3.reduction:{r}" for r in ("add", "mul", "max", "min"))
_COMPRESS = (
    "input:3x5x7.condition:5.axis:1 input:3x5x7.condition:7.axis:-1 input:3x5.condition:15 "
    "input:3x5.condition:2.axis:0 input:11.condition:11"
)

CASES = (
    Row("NonZero-13", "f32 i32 bool", "lattice", "x:3x5x7 x:11 x:0x3"),
    Row("Gather-13", "f32", "index", _GATHER),
    Row("Gather-13", "f32", "special", "data:5x7x3.indices:4"),
    Row("Gather-13", f"{_TYPES} str", "index", "data:5x7x3.indices:2x3.axis:1 data:5x7.indices:3x2:i32"),
    Row("GatherElements-13", "f32", "index", _GATHER_ELEMENTS),
    Row("GatherElements-13", _TYPES, "index", "data:3x5x7.indices:3x4x7.axis:1"),
    Row("GatherND-13", "f32", "index", _GATHER_ND),
    Row("GatherND-13", _TYPES, "index", "data:3x5x7.indices:3x2x1.batch_dims:1"),
    Row("ScatterElements-18", "f32", "index special", _SCATTER_ELEMENTS),
    Row("ScatterElements-18", _TYPES, "index", "data:3x5x7.indices:3x4x7.updates:3x4x7.axis:1"),
    Row("ScatterElements-18", "f32 i32 i64", "lattice", _SCATTER_REDUCED),
    Row("ScatterElements-18", "f16", "lattice", " ".join(_SCATTER_REDUCED.split()[::2])),
    Row("ScatterND-18", "f32", "index special", _SCATTER_ND),
    Row("ScatterND-18", _TYPES, "index", "data:5x7x3.indices:4x2.updates:4x3"),
    Row("ScatterND-18", "f32 i32 i64", "lattice", _SCATTER_ND_REDUCED),
    Row("ScatterND-18", "f16", "lattice", " ".join(_SCATTER_ND_REDUCED.split()[::2])),
    Row("Compress-11", "f32", "index", _COMPRESS),
    Row("Compress-11", "f16 f64 i8 u8 i32 i64 bool", "index", "input:3x5x7.condition:5.axis:1"),
    Row(
        "OneHot-11",
        "i64 i32",
        "normal",
        "indices:5.values:2:f32.depth:7 indices:2x3.values:2:f32.depth:5.axis:1 "
        "indices:2x3.values:2:f32.depth:5.axis:0 "
        "indices:2x3.values:2:f32.depth:5.axis:-2 indices:3.values:2:f32.depth:1",
    ),
    Row(
        "OneHot-11",
        "i64",
        "normal",
        "indices:2x3.values:2.depth:5 indices:2x3.values:2:f16.depth:5 indices:5.values:2:bool.depth:7",
    ),
    Row("OneHot-11", "i64", "normal", "indices:5.values:2:f32.depth:7.feed:depth"),
    Row("OneHot-11", "f32", "normal", "indices:5.values:2.depth:7 indices:5.values:2.depth:7:i64"),
    Row("OneHot-11", "f16 i8", "normal", "indices:5.values:2:f32.depth:7"),
    Row("OneHot-11", "u8", "normal", "indices:5.values:2:f32.depth:7"),
    *gathering.CASES,
    *scattering.CASES,
    *selection.CASES,
)
