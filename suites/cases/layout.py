"""Cases of the layout suite: values that tell where they come from, extents that are prime, channels that fill no block."""

from __future__ import annotations

from suites.cases.operators.table import Row, ids

IMAGES = tuple(
    ids(
        [
            Row("Relu-14", "f32", "place", "x:2x3x5x7 x:1x1x5x7 x:1x17x3x2 x:2x37x1x5"),
            Row("Relu-14", "f16", "place", "x:2x19x5x3"),
            Row("Add-14", "i32 u8", "index", "a:2x3x5x7.b:3x1x1"),
            Row("MaxPool-12", "f32", "place", "x:1x5x7x11.kernel_shape:3_2.pads:1_0_1_1"),
            Row("MaxPool-12", "f32", "place", " ".join(f"x:1x3x{h}x5.kernel_shape:1_2" for h in (8, 16, 32, 64))),
            Row("AveragePool-19", "f32", "place", "x:1x3x5x7.kernel_shape:2_3"),
            Row("Conv-11", "f32", "lattice", "x:1x3x7x11.w:5x3x3x2.pads:1_1_0_1.const:w"),
            Row("Conv-11", "f32", "lattice", "x:1x17x5x3.w:19x17x2x1.const:w x:1x6x7x5.w:6x1x3x2.group:6.const:w"),
            Row("ConvTranspose-11", "f32", "lattice", "x:1x3x5x7.w:3x5x2x3.const:w"),
        ]
    )
)
"""The first input and the first output are images; weights are constants. Some are as high as a block of channels is large."""

WEIGHTS = tuple(
    ids(
        [
            Row("Conv-11", "f32 f16", "lattice", "x:1x3x7x11.w:5x3x3x2"),
            Row("Conv-11", "f32", "lattice", "x:1x17x5x3.w:1x17x3x2 x:1x6x7x5.w:4x3x2x3.group:2 x:1x5x7x3.w:5x1x3x2.group:5"),
            Row("ConvTranspose-11", "f32", "lattice", "x:1x3x5x7.w:3x5x2x3"),
        ]
    )
)
"""The second input are weights of an image operator, fed."""

MATRICES = tuple(
    ids(
        [
            Row("MatMul-13", "f32 f16", "lattice", "a:5x7.b:7x3 a:1x17.b:17x1"),
            Row("MatMul-13", "i32", "lattice", "a:3x5.b:5x7"),
            Row("Gemm-13", "f32", "lattice", "a:5x7.b:7x3 a:7x5.b:7x3.c:3.transA:1"),
        ]
    )
)
"""The second input is a matrix [K, N], fed."""

STRIDED = tuple(
    ids(
        [
            Row("Relu-14", "f32", "place", "x:2x3x5x7 x:17"),
            Row("Add-14", "f32", "place", "a:2x3x5x7.b:5x7"),
            Row("Transpose-21", "f32", "place", "data:2x3x5x7.perm:0_2_3_1"),
            Row("MatMul-13", "f32", "lattice", "a:5x7.b:7x3"),
            Row("Conv-11", "f32", "lattice", "x:1x3x7x11.w:5x3x3x2"),
            Row("Add-14", "f16", "place", "a:3x5x7.b:7"),
            Row("Add-14", "i32", "index", "a:3x5x7.b:7"),
            Row("Reshape-21", "bf16", "place", "data:3x5x7.shape:7_15"),
            Row("Reshape-21", "u8 i64", "index", "data:3x5x7.shape:7_15"),
            Row("Not-1", "bool", "index", "x:3x5x7"),
        ]
    )
)
"""Fed as views of other memory; every input has a rank of at least 1."""

PITCHED = tuple(
    ids(
        [
            Row("Relu-14", "f32", "place", "x:2x3x5x7 x:3x17"),
            Row("Add-14", "f32", "place", "a:2x3x5x7.b:5x7"),
            Row("Add-14", "f16", "place", "a:3x5x7.b:7"),
            Row("Add-14", "i32", "index", "a:3x5x7.b:7"),
            Row("MatMul-13", "f32", "lattice", "a:5x7.b:7x3"),
            Row("Transpose-21", "u8", "index", "data:3x5x7.perm:2_0_1"),
        ]
    )
)
"""Rows whose length is no multiple of anything."""

_SHAPES = (
    "scalar",
    "7",
    "3x5",
    "2x3x5",
    "2x3x5x7",
    "2x3x1x5x7",
    "2x1x3x2x5x3",
    "2x3x1x2x3x1x5",
    "2x1x3x2x1x3x2x3",
)
"""Of rank 0 to 8."""

_OTHERS = ("scalar", "1", "5", "2x1x5", "5x1", "3x1x7", "3x1x2x1x3", "2x1x3x1x5", "2x3x1x1x3")
"""What each of them is broadcast with."""

RANKS = tuple(
    ids(
        [
            Row("Identity-21", "f32", "place", " ".join(f"input:{shape}" for shape in _SHAPES)),
            Row("Relu-14", "f32", "place", " ".join(f"x:{shape}" for shape in _SHAPES)),
            Row("Transpose-21", "f32", "place", " ".join(f"data:{shape}" for shape in _SHAPES[1:])),
            Row("Add-14", "f32", "place", " ".join(f"a:{a}.b:{b}" for a, b in zip(_SHAPES, _OTHERS, strict=True))),
        ]
    )
)
"""Every rank from 0 to 8, of one operand or of both."""
