"""Sums, means, norms, extremes and positions along axes; running sums; the largest k."""

from __future__ import annotations

from suites.cases.operators import largest
from suites.cases.operators.table import Entry, Row

_REAL = "ReduceL1-18 ReduceL2-18 ReduceMean-18 ReduceSum-13 ReduceSumSquare-18 ReduceLogSumExp-18"
_AXES = "data:2x3x5x7.axes:1 data:2x3x5x7.axes:-1.keepdims:0 data:2x3x5x7.axes:0_2 data:2x3x5x7.axes:3_1.keepdims:0"
_CORNERS = (
    "data:3x5x7 data:3x5x7.keepdims:0 data:11.axes:0 data:3x5x7.axes:none data:3x5x7.axes:none.noop_with_empty_axes:1 "
    "data:2x3x2x5x3.axes:1_-2 data:3x1x5.axes:1.keepdims:0 data:3x5x7.axes:1.feed:axes"
)
_EXTREMES = "ReduceMax-20 ReduceMin-20"
_POSITIONS = "ArgMax-13 ArgMin-13"
_POSITION_SHAPES = (
    "data:3x5x7 data:3x5x7.axis:1 data:3x5x7.axis:-1.keepdims:0 data:3x5x7.axis:2.select_last_index:1 "
    "data:2x3x5x7.axis:-3.keepdims:0"
)

CASES: tuple[Entry, ...] = (
    Row(_REAL, "f32", "normal grid", _AXES),
    Row(_REAL, "f32", "normal", _CORNERS),
    Row(_REAL, "f32", "special extreme", "data:7x11x5.axes:1"),
    Row(_REAL, "f16", "normal", "data:2x3x5x7.axes:1_2 data:3x5x7.axes:-1.keepdims:0"),
    Row(_REAL, "bf16 f64", "normal", "data:2x3x5x7.axes:1_2"),
    Row("ReduceSum-13 ReduceL1-18 ReduceSumSquare-18", "f32 f16 bf16", "lattice", _AXES),
    Row("ReduceMean-18", "f32 f16 bf16", "lattice", "data:3x8x5x7.axes:1 data:3x8x5x4.axes:1_-1.keepdims:0"),
    Row(
        "ReduceSum-13 ReduceMean-18 ReduceL2-18",
        "f32",
        "normal grid",
        "data:3x1009.axes:1 data:7x4099.axes:-1 data:4099x7.axes:0",
    ),
    Row("ReduceSum-13", "f32", "positive", "data:3x4099.axes:1"),
    Row(
        "ReduceSum-13 ReduceL1-18 ReduceSumSquare-18 ReduceMean-18",
        "i32 i64",
        "uniform",
        "data:2x3x5x7.axes:1_2 data:3x5x7.axes:-1",
    ),
    Row("ReduceSum-13 ReduceProd-18", "i32 i64 u32 u64", "normal", "data:3x5x7.axes:1.keepdims:0"),
    Row("ReduceLogSum-18", "f32", "positive", f"{_AXES} data:3x5x7 data:11.axes:0 data:3x5x7.axes:none"),
    Row("ReduceLogSum-18", "f32", "normal special", "data:7x11x5.axes:1"),
    Row("ReduceLogSum-18", "i32 i64", "positive", "data:3x5x7.axes:1"),
    Row("ReduceL2-18 ReduceLogSumExp-18", "i32 i64", "normal", "data:3x5x7.axes:1"),
    Row("ReduceLogSum-18", "f16 f64", "positive", "data:3x5x7.axes:1"),
    Row("ReduceProd-18", "f32", "normal grid lattice", _AXES),
    Row("ReduceProd-18", "f32", "normal", "data:3x5x7 data:11.axes:0 data:3x5x7.axes:none"),
    Row("ReduceProd-18", "f32", "special", "data:7x11x5.axes:1"),
    Row("ReduceProd-18", "f16 f64", "normal", "data:3x5x7.axes:1"),
    Row(_EXTREMES, "f32", "normal special", _AXES),
    Row(_EXTREMES, "f32", "normal", _CORNERS),
    Row(_EXTREMES, "f16", "normal special", "data:2x3x5x7.axes:1_2 data:3x5x7.axes:-1.keepdims:0"),
    Row(_EXTREMES, "bf16 f64", "normal", "data:3x5x7.axes:1"),
    Row(_EXTREMES, "i8 u8 i32 i64 u32 u64", "extreme", "data:2x3x5x7.axes:1_2"),
    Row(_EXTREMES, "bool", "uniform", "data:3x2x7.axes:1"),
    Row(_POSITIONS, "f32", "normal lattice", _POSITION_SHAPES),
    Row(_POSITIONS, "f32", "normal", "data:11 data:3x1.axis:1 data:2x3x2x5x3.axis:3"),
    Row(_POSITIONS, "f16", "normal lattice", "data:3x5x7.axis:1"),
    Row(_POSITIONS, "i8 u8 i32 i64", "lattice", "data:3x5x7.axis:1 data:3x5x7.axis:1.select_last_index:1"),
    Row(_POSITIONS, "bf16 f64", "lattice", "data:3x5x7.axis:1"),
    Row(
        "CumSum-14",
        "f32",
        "normal grid lattice",
        "x:3x5x7.axis:1 x:3x5x7.axis:-1 x:3x5x7.axis:0.exclusive:1 x:3x5x7.axis:2.reverse:1",
    ),
    Row(
        "CumSum-14",
        "f32",
        "normal",
        "x:11.axis:0 x:3x5x7.axis:1.exclusive:1.reverse:1 x:5x1009.axis:1 x:3x5.axis:1:i32",
    ),
    Row("CumSum-14", "f16 bf16", "normal lattice", "x:3x5x7.axis:1"),
    Row("CumSum-14", "f64 i32 i64", "normal", "x:3x5x7.axis:1 x:3x5x7.axis:0.exclusive:1.reverse:1"),
    Row("CumSum-14", "i32 i64", "uniform", "x:3x5x7.axis:1"),
    Row(
        "TopK-11",
        "f32",
        "normal lattice",
        "x:3x5x7.k:3 x:3x5x7.k:2.axis:1 x:3x5x7.k:4.axis:-1.largest:0 x:11.k:11 x:3x5x7.k:1.axis:0",
    ),
    Row("TopK-11", "f32", "normal", "x:3x257.k:5 x:3x5x7.k:3.feed:k x:3x5.k:1"),
    Row("TopK-11", "f16", "normal", "x:3x5x7.k:3 x:3x5x7.k:2.axis:1.largest:0"),
    Row("TopK-11", "f64 i32 i64 i8 u8", "normal", "x:3x5x7.k:3.axis:1"),
    *largest.CASES,
)
