"""Images put together of blocks and cut to a size: Col2Im, CenterCropPad."""

from __future__ import annotations

import math

from suites.cases.operators.sweep import joined
from suites.cases.operators.table import Row
from suites.cases.operators.windows import PAIRS, Numbers, Windows, listed, shape, staggered, swept, uneven


def _folded(
    kernel: Numbers, pads: Numbers, strides: Numbers, dilations: Numbers, counts: Numbers, rest: int, batch: Numbers
) -> str:
    """Col2Im of as many blocks as fit along each axis of an image that has `rest` elements more; batch: images, channels."""
    windows = Windows(kernel, pads, strides, dilations)
    image = windows.lengths(counts, rest)
    blocks = shape(batch[0], batch[1] * math.prod(kernel), math.prod(windows.counts(image)))
    return joined(
        f"input:{blocks}.image_shape:{listed(image)}.block_shape:{listed(kernel)}", windows.fields(kernel_shape=False)
    )


def _folds(rank: int, kernels: Numbers, counts: tuple[Numbers, ...], dilations: tuple[Numbers, ...]) -> str:
    return swept(
        _folded,
        {
            "kernel": staggered(kernels, rank),
            "pads": [(), *uneven(PAIRS, rank)],
            "strides": [(), *staggered((1, 2, 3), rank)],
            "dilations": [(), *dilations],
            "counts": counts,
            "rest": (0, 1, 2),
            "batch": ((1, 2), (2, 1), (1, 1)),
        },
    )


_IMAGES = _folds(2, (2, 3, 1), ((3, 4), (2, 2), (5, 3)), ((2, 2), (1, 2), (3, 1)))
_LINES = _folds(1, (3, 2, 1), ((4,), (7,)), ())
_VOLUMES = _folds(3, (2, 1, 3), ((2, 3, 3), (3, 2, 2)), ())


def _cut(x: str, sizes: str, axes: str) -> str:
    return joined(f"input_data:{x}.shape:{sizes}", f"axes:{axes}" if axes else "")


_ROWS = (
    *(
        ("5x7", "3_9", ""),
        ("5x7", "4_4", ""),
        ("5x7", "5_7", ""),
        ("6x8", "9_3", "1_0"),
        ("6x8", "3", "-1"),
        ("6x8", "11", "0"),
    ),
    *(("2x3x5x7", "2_4", "2_3"), ("2x3x5x7", "8_2", "-2_-1"), ("2x3x5x7", "1_3_5_8", ""), ("2x3x5x7", "7_6", "3_1")),
    *(("11", "4", ""), ("11", "16", ""), ("1x1x1", "2_3_4", ""), ("3x4x5", "3_1", "0_-1"), ("2x2x2x2x2", "3_1_2_5_2", "")),
    *(("9x9", "8_10", ""), ("8x8", "7_9", ""), ("8x8", "5_13", "-1_0")),
)
_CUTS = " ".join(_cut(*row) for row in _ROWS)
_EMPTY = "input_data:0x5.shape:0_3 input_data:5x7.shape:0_3 input_data:0x5.shape:2_7"

_HUGE = "input_data:1024x1031.shape:37_41 input_data:7x149797.shape:3_64.axes:0_1"

CASES = (
    Row("Col2Im-18", "f32", "normal", _IMAGES),
    Row("Col2Im-18", "f32", "lattice", f"{_IMAGES} {_LINES} {_VOLUMES}", one_in=2),
    Row("Col2Im-18", "f16 bf16", "lattice", _IMAGES),
    Row("Col2Im-18", "i32", "lattice", " ".join(_LINES.split()[:4])),
    Row("CenterCropPad-18", "f32", "index special", f"{_CUTS} {_EMPTY}"),
    Row("CenterCropPad-18", "f32 u8", "index", _HUGE),
    Row("CenterCropPad-18", "f16 bf16 f64 i8 u8 i32 i64 bool", "index", _CUTS),
)
