"""Values between the elements of a tensor, at locations that are data: GridSample, AffineGrid, DeformConv."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from suites.cases.operators.sweep import joined
from suites.cases.operators.table import Row
from suites.cases.operators.windows import Numbers, Windows, shape, staggered, swept, uneven


def _sampled(x: str, outputs: str, align: str, mode: str, padding: str, kind: str = "") -> str:
    """GridSample of an image or a volume x (N, C, lengths) at a grid of `outputs`; kind: type of the grid, where another."""
    batch, rank = x.split("x")[0], x.count("x") - 1
    return joined(
        f"x:{x}.grid:{batch}x{outputs}x{rank}{kind}",
        f"align_corners:{align}" if align else "",
        f"mode:{mode}" if mode else "",
        f"padding_mode:{padding}" if padding else "",
    )


_IMAGES = ("1x2x5x7", "2x1x4x3", "1x3x1x6", "1x1x9x1", "2x4x8x8", "1x5x2x17")
_VOLUMES = ("1x2x3x4x5", "2x1x2x3x1", "1x1x1x4x3")
_GRIDS = ("3x4", "1x1", "6x2", "1x9", "5x7")
_PADDING = ("", "zeros", "border", "reflection")
_ALIGN = ("", "1", "0")


def _modes(*names: str) -> str:
    """Images: every mode under every padding, and pairs of the rest."""
    return swept(_sampled, {"x": _IMAGES, "outputs": _GRIDS, "align": _ALIGN, "mode": ("", *names), "padding": _PADDING})


_EVERY_MODE = " ".join(
    _sampled("1x2x5x7", "4x5", align, mode, padding)
    for mode in ("linear", "nearest", "cubic")
    for padding in _PADDING[1:]
    for align in _ALIGN[1:]
)
_NEAREST = swept(_sampled, {"x": _IMAGES, "outputs": _GRIDS, "align": _ALIGN, "mode": ("nearest",), "padding": _PADDING})
_OF_VOLUMES = swept(
    _sampled,
    {
        "x": _VOLUMES,
        "outputs": ("2x3x4", "1x1x5", "4x1x2"),
        "align": _ALIGN,
        "mode": ("", "linear", "nearest"),
        "padding": _PADDING,
    },
)
_WIDER_GRIDS = " ".join(
    _sampled("1x2x5x7", "4x5", align, mode, padding, ":f32")
    for mode, paddings in (("linear", ("zeros", "border")), ("nearest", _PADDING[1:]))
    for padding in paddings
    for align in _ALIGN[1:]
)
_EDGES = "x:0x2x5x7.grid:0x3x4x2 x:1x2x5x7.grid:1x0x4x2 x:1x33x3x3.grid:1x1x1x2 x:3x1x16x16.grid:3x4x4x2"
_HUGE = "x:1x1x1024x1025.grid:1x3x5x2 x:2x4x360x365.grid:2x2x2x2.mode:nearest"


def _affine(size: Sequence[int], align: str) -> str:
    rank = len(size) - 2
    lengths = "_".join(map(str, size))
    return joined(f"theta:{size[0]}x{rank}x{rank + 1}.size:{lengths}", f"align_corners:{align}" if align else "")


_AFFINE = swept(
    _affine,
    {
        "size": (
            *((2, 3, 4, 5), (1, 1, 7, 2), (3, 2, 2, 9), (1, 4, 16, 17), (1, 1, 3, 3), (1, 2, 8, 6)),
            *((1, 2, 3, 4, 5), (2, 1, 2, 2, 3), (1, 1, 5, 7, 2)),
        ),
        "align": _ALIGN,
    },
)
_ONE_LONG = "theta:1x2x3.size:1_1_1_1 theta:2x2x3.size:2_1_1_5 theta:1x3x4.size:1_1_1_2_3"


def _deformed(
    kernel: Numbers,
    pads: Numbers,
    strides: Numbers,
    dilations: Numbers,
    counts: Numbers,
    channels: Numbers,
    inputs: tuple[str, ...],
    batch: int,
) -> str:
    """DeformConv; channels: of the image and of the result, groups, groups of offsets; inputs: the optional ones."""
    windows, (inside, outside, group, offset_group) = Windows(kernel, pads, strides, dilations), channels
    taps = offset_group
    for k in kernel:
        taps *= k
    x = (batch, inside, *windows.lengths(counts))
    counts = windows.counts(x[2:])
    return joined(
        f"x:{shape(*x)}.w:{shape(outside, inside // group, *kernel)}.offset:{shape(batch, len(kernel) * taps, *counts)}",
        f"b:{outside}" if "b" in inputs else "",
        f"mask:{shape(batch, taps, *counts)}" if "mask" in inputs else "",
        windows.fields(kernel_shape=False),
        f"group:{group}" if group > 1 else "",
        f"offset_group:{offset_group}" if offset_group > 1 else "",
        "const:w",
    )


_DEFORMED: dict[str, Sequence[Any]] = {
    "kernel": [(3, 3), *staggered((2, 1, 3), 2), (1, 1)],
    "pads": [(1, 1, 1, 1), *uneven(((1, 2), (3, 1), (1, 1)), 2)],  # ONNX leaves open what lies just outside of the padding
    "strides": [(), (2, 2), (1, 2)],
    "dilations": [(), (2, 1), (2, 2)],
    "counts": ((3, 4), (1, 1), (5, 2)),
    "channels": ((2, 3, 1, 1), (4, 2, 2, 1), (4, 4, 1, 2), (4, 2, 2, 2), (1, 1, 1, 1)),
    "inputs": ((), ("b",), ("mask",), ("b", "mask")),
    "batch": (1, 2),
}
_DEFORMED_IMAGES = swept(_deformed, _DEFORMED)

CASES = (
    Row("GridSample-22 GridSample-20", "f32", "normal", f"{_EVERY_MODE} {_modes('linear', 'nearest', 'cubic')} {_OF_VOLUMES}"),
    Row("GridSample-22", "f16 bf16", "normal", _WIDER_GRIDS),
    Row("GridSample-22", "f64", "normal", _EVERY_MODE),
    Row("GridSample-16", "f32", "normal", _modes("bilinear", "nearest", "bicubic")),
    Row("GridSample-22", "f32", "index special", _NEAREST),
    Row("GridSample-22", "f32", "normal", _EDGES),
    Row("GridSample-22", "f32", "index", _HUGE),
    Row("AffineGrid-20", "f32", "normal", _AFFINE),
    Row("AffineGrid-20", "f16 bf16 f64", "normal", _AFFINE),
    Row("AffineGrid-20", "f32", "normal grid", _ONE_LONG),
    Row("DeformConv-19", "f32", "normal grid", _DEFORMED_IMAGES),
    Row("DeformConv-19", "f32", "index", " ".join(middle for middle in _DEFORMED_IMAGES.split() if "x1x1." not in middle)),
    Row("DeformConv-22", "f32 f16 bf16 f64", "normal", _DEFORMED_IMAGES),
)
