"""Means, maxima and norms of windows and of whole planes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from suites.cases.operators.sweep import joined
from suites.cases.operators.table import Entry, Row
from suites.cases.operators.windows import SAME, Numbers, Padding, Windows, shape, staggered, swept, uneven

_WINDOWS = (
    "x:1x3x7x5.kernel_shape:3_2 "
    "x:2x3x9x11.kernel_shape:3_3.pads:1_1_1_1.strides:2_2 "
    "x:1x5x9x8.kernel_shape:3_2.pads:1_0_2_1.strides:3_2 "
    "x:1x3x9x7.kernel_shape:3_3.strides:2_2.ceil_mode:1 "
    "x:1x3x8x10.kernel_shape:3_3.pads:1_1_1_1.strides:2_3.ceil_mode:1"
)
_MORE = (
    "x:1x3x9x7.kernel_shape:3_2.auto_pad:SAME_UPPER.strides:2_2 "
    "x:1x3x9x8.kernel_shape:4_3.auto_pad:SAME_LOWER "
    "x:1x3x9x7.kernel_shape:3_2.auto_pad:VALID.strides:2_1 "
    "x:1x3x11x9.kernel_shape:3_2.dilations:2_3 "
    "x:1x3x11x9.kernel_shape:3_3.pads:2_1_0_1.strides:2_1.dilations:2_1.ceil_mode:1 "
    "x:2x3x17.kernel_shape:4.pads:1_2.strides:3 "
    "x:1x2x5x7x6.kernel_shape:2_3_2.pads:0_1_1_1_0_0.strides:2_2_1 "
    "x:1x3x5x7.kernel_shape:5_7 "
    "x:1x3x7x5.kernel_shape:1_1.strides:2_3"
)
_INCLUDING = (
    "x:1x3x7x5.kernel_shape:3_3.pads:1_1_1_1.count_include_pad:1 "
    "x:1x3x9x8.kernel_shape:3_2.pads:1_0_2_1.strides:3_2.count_include_pad:1 "
    "x:1x3x8x10.kernel_shape:3_3.pads:1_1_1_1.strides:2_3.ceil_mode:1.count_include_pad:1"
)
_POWERS_OF_TWO = "x:1x3x7x5.kernel_shape:2_2 x:2x3x9x11.kernel_shape:4_2.strides:2_3 x:1x3x17.kernel_shape:4.strides:3"
_GLOBAL = "x:2x3x5x7 x:1x5x11 x:1x2x3x4x5 x:3x7x1x1 x:1x3x37x41"
_INDICES = (
    "x:2x3x9x11.kernel_shape:3_3.pads:1_1_1_1.strides:2_2.outputs:2 "
    "x:1x3x7x5.kernel_shape:3_2.strides:2_1.storage_order:1.outputs:2"
)


def _pool(
    kernel: Numbers,
    padding: Padding,
    strides: Numbers,
    rest: int,
    counts: Numbers,
    batch: Numbers = (1, 2),
    dilations: Numbers = (),
    ceil_mode: bool = False,
    own: str = "",
    version: int = 22,
) -> str:
    """Windows of a pool that leave `rest` elements over, which ceil_mode makes one more window of; own: what only this
    operator has. Padding is shorter than the kernel, and there are no dilations with SAME, which many runtimes refuse."""
    windows = Windows(kernel, padding, strides, () if padding in SAME else dilations).within_kernel()
    lengths = windows.lengths(counts, rest)
    rounded = ceil_mode and (version >= 22 or not windows.begins_outside(lengths))
    return joined(f"x:{shape(*batch, *lengths)}", windows.fields(), "ceil_mode:1" if rounded else "", own)


_PADS = ((1, 1), (0, 1), (1, 0), (2, 2), (2, 0))


def _layouts(rank: int, kernels: Numbers, counts: Sequence[Numbers]) -> dict[str, Sequence[Any]]:
    """What pools of version 7 have in common."""
    return {
        "kernel": [*staggered(kernels, rank), (3,) * rank],
        "padding": [(), *uneven(_PADS, rank), *SAME, "VALID"],
        "strides": [(2,) * rank, (), *staggered((1, 3, 2), rank)],
        "rest": (0, 1, 2),
        "counts": counts,
        "batch": ((1, 2), (2, 1), (1, 5)),
    }


_AXES = {
    1: _layouts(1, (3, 2, 5, 1), ((4,), (1,), (9,))),
    2: _layouts(2, (3, 2, 4, 1), ((3, 4), (1, 1), (5, 2), (1, 8))),
    3: _layouts(3, (2, 3, 1), ((2, 3, 2), (1, 1, 3))),
}
_ROUNDED = {"ceil_mode": (True, False)}


def _stretched(rank: int) -> dict[str, Sequence[Any]]:
    """What version 10 of MaxPool and versions 18 and 19 of the others add."""
    return {"dilations": [(), *staggered((1, 2, 3), rank)], **_ROUNDED}


def _pools(version: int, own: Sequence[str] = ("",), ranks: Numbers = (1, 2, 3)) -> str:
    """Layouts for so many dimensions; own: what only this operator has."""
    return " ".join(swept(_pool, {**_AXES[rank], **_stretched(rank), "own": own, "version": (version,)}) for rank in ranks)


def _early(own: Sequence[str] = ("",), *, rounded: bool = False) -> str:
    """Layouts of images in versions without dilations, and before 10 without ceil_mode too."""
    return swept(_pool, {**_AXES[2], **(_ROUNDED if rounded else {}), "own": own, "version": (10,)})


_COUNTED = ("", "count_include_pad:1")
_INDEXED = ("outputs:2", "storage_order:1.outputs:2")
_POWERS = ("", "p:1", "p:3")

_WIDTHS = (1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 128, 129, 255, 256, 257)
_CHANNELS = (1, 3, 4, 7, 8, 9, 15, 16, 17, 31, 32, 33, 64, 65)
_OF_WIDTHS = " ".join(f"x:1x1x2x{n}.kernel_shape:2_{min(n, 3)}" for n in _WIDTHS)
_STRIDED_WIDTHS = " ".join(f"x:1x2x{n}.kernel_shape:2.strides:2" for n in _WIDTHS[1:])
_OF_CHANNELS = " ".join(f"x:1x{n}x4x5.kernel_shape:3_2.pads:1_0_1_1.strides:2_2" for n in _CHANNELS)
# The last window begins in the tensor's last element, in the padding behind it (and is left out), or right behind that.
_LAST_WINDOWS = " ".join(
    f"x:1x2x{n}.kernel_shape:{kernel}.pads:{begin}_{end}.strides:{stride}.ceil_mode:1"
    for n, kernel, begin, end, stride in (
        *((n, 2, 1, 1, 2) for n in (2, 3, 4, 5)),
        *((n, 3, 0, 2, 3) for n in (4, 5, 6, 7)),
        *((n, 3, 1, 2, 4) for n in (5, 6, 7, 8, 9)),
        *((n, 2, 0, 1, 3) for n in (4, 5, 6, 7)),
        *((n, 4, 3, 3, 5) for n in (6, 7, 8, 9)),
    )
)
_EMPTY = "x:0x3x7x5.kernel_shape:3_2 x:0x2x9.kernel_shape:4.strides:3"
_HUGE = "x:1x1x1048583.kernel_shape:3.strides:64 x:1x2x1024x513.kernel_shape:2_1.strides:16_8"

_PLANES = " ".join(f"x:1x2x{n}" for n in (*_WIDTHS, 1031)) + " " + " ".join(f"x:1x{n}x2x3" for n in _CHANNELS)
_RANKS = "x:3x5x2x3x4 x:1x1x1x1 x:5x1x7x1 x:0x3x5x7"
_HUGE_PLANES = "x:2x3x174763 x:1x8x362x363"


def _unpooled(kernel: Numbers, strides: Numbers, pads: Numbers, counts: Numbers, batch: Numbers) -> str:
    """The inverse of a pool, with no more padding than leaves room for every element."""
    rank = len(kernel)
    begins = [min(pad, k - 1) for pad, k in zip(pads[:rank], kernel, strict=False)]
    ends = [min(pad, k - 1 - begin) for pad, k, begin in zip(pads[rank:], kernel, begins, strict=False)]
    x = shape(*batch, *counts)
    return joined(f"x:{x}.i:{x}", Windows(kernel, (*begins, *ends), strides).fields())


def _unpool(rank: int, counts: Sequence[Numbers]) -> str:
    layout = {"kernel": [(2,) * rank, *staggered((3, 2, 1), rank)], "strides": [(2,) * rank, (), *staggered((3, 1, 2), rank)]}
    return swept(_unpooled, {**layout, "pads": [(), *uneven(_PADS[:3], rank)], "counts": counts, "batch": ((1, 2), (2, 3))})


_UNPOOLED = f"{_unpool(1, ((4,), (1,), (7,)))} {_unpool(2, ((2, 3), (1, 4)))} {_unpool(3, ((2, 1, 2),))}"

_SWEEPS = (
    Row("AveragePool-22", "f32", "normal", _pools(22, _COUNTED)),
    Row("AveragePool-22", "f16 bf16", "normal", _pools(22, _COUNTED, (2,))),
    Row("AveragePool-19", "f32", "normal", _pools(19, _COUNTED, (2, 3)), one_in=4),
    Row("AveragePool-7", "f32", "normal", _early(_COUNTED), one_in=4),
    Row("AveragePool-10 AveragePool-11", "f32", "normal", _early(_COUNTED, rounded=True), one_in=4),
    Row("AveragePool-22", "f32", "lattice", f"{_OF_WIDTHS} {_STRIDED_WIDTHS} {_OF_CHANNELS}", one_in=2),
    Row("AveragePool-22 MaxPool-22 LpPool-22", "f32", "normal", f"{_LAST_WINDOWS} {_EMPTY}"),
    Row("MaxPool-22", "f32 u8", "index", _pools(22)),
    Row("MaxPool-22", "f16 bf16", "normal", _pools(22, ranks=(2,))),
    Row("MaxPool-22", "f32", "index", _pools(22, _INDEXED), one_in=2),
    Row("MaxPool-12", "i8", "extreme", _pools(12, ranks=(2,)), one_in=2),
    Row("MaxPool-12", "f32", "normal", _pools(12, _INDEXED, (2, 3)), one_in=4),
    Row("MaxPool-1 MaxPool-8", "f32", "normal", _early(), one_in=4),
    Row("MaxPool-8", "f32", "index", _early(_INDEXED), one_in=4),
    Row("MaxPool-10 MaxPool-11", "f32", "normal", _early(rounded=True), one_in=4),
    Row("MaxPool-22", "f32 u8", "index", f"{_OF_WIDTHS} {_STRIDED_WIDTHS} {_OF_CHANNELS}"),
    Row("MaxPool-12", "i8", "extreme", _OF_WIDTHS, one_in=2),
    Row("MaxPool-12", "f32", "extreme", f"{_WINDOWS} {_MORE}"),
    Row("LpPool-22", "f32", "normal", _pools(22, _POWERS), one_in=2),
    Row("LpPool-22", "f16 bf16", "normal", _pools(22, _POWERS, (1,)), one_in=2),
    Row("LpPool-18", "f32", "normal", _pools(18, _POWERS, (2,)), one_in=4),
    Row("LpPool-2 LpPool-11", "f32", "normal", _early(_POWERS), one_in=4),
    Row("MaxPool-12 AveragePool-19 LpPool-18", "f32", "index", _HUGE),
    Row("MaxPool-12", "u8", "index", _HUGE),
    Row("AveragePool-22", "f16", "uniform", _HUGE),
    Row("GlobalAveragePool-22 GlobalMaxPool-22", "f32", "normal", f"{_PLANES} {_RANKS}"),
    Row("GlobalAveragePool-22 GlobalMaxPool-22", "f16 bf16", "normal", f"{_GLOBAL} {_RANKS}"),
    Row("GlobalAveragePool-1", "f32", "uniform", _PLANES, one_in=4),
    Row("GlobalMaxPool-1", "f32", "extreme", _PLANES, one_in=4),
    Row("GlobalLpPool-2", "f32", "normal", _PLANES, one_in=3),
    Row("GlobalLpPool-2", "f32", "normal", _RANKS),
    Row(
        "GlobalLpPool-2", "f32", "normal positive", " ".join(f"{middle}.p:{p}" for middle in _GLOBAL.split() for p in (1, 2, 3))
    ),
    Row("GlobalLpPool-22", "f32 f16 bf16 f64", "normal", _GLOBAL),
    Row("GlobalMaxPool-1", "f32", "index", _HUGE_PLANES),
    Row("GlobalAveragePool-1", "f32", "uniform", _HUGE_PLANES),
    Row("MaxUnpool-22 MaxUnpool-11 MaxUnpool-9", "f32", "index", _UNPOOLED),
    Row("MaxUnpool-22", "bf16", "index", _UNPOOLED, one_in=8),
)

CASES: tuple[Entry, ...] = (
    Row(
        "AveragePool-19",
        "f32 f16",
        "normal",
        "x:2x1x7x5.kernel_shape:3_3.pads:1_1_1_1 x:1x16x24x24.kernel_shape:3_3.pads:1_1_1_1",
    ),
    Row("AveragePool-19", "f32", "normal", f"{_WINDOWS} {_MORE} {_INCLUDING}"),
    Row("AveragePool-19", "f32", "grid", f"{_WINDOWS} {_INCLUDING}"),
    Row("AveragePool-19", "f32 f16", "lattice", _POWERS_OF_TWO),
    Row("AveragePool-19", "f32", "special", "x:2x3x9x11.kernel_shape:3_3.pads:1_1_1_1.strides:2_2"),
    Row("AveragePool-19", "f16", "normal", f"{_WINDOWS} {_INCLUDING}"),
    Row("AveragePool-19", "f64", "normal", "x:1x3x7x5.kernel_shape:3_2"),
    Row("MaxPool-12", "f32", "normal special", f"{_WINDOWS} {_MORE}"),
    Row("MaxPool-12", "f32", "index", f"{_WINDOWS} {_INDICES}"),
    Row("MaxPool-12", "f32 f64", "normal", _INDICES),
    Row("MaxPool-12", "f16", "normal special", _WINDOWS),
    Row("MaxPool-12", "i8 u8", "uniform extreme", _WINDOWS),
    Row("AveragePool-22 MaxPool-22", "f32", "normal", _WINDOWS),
    Row("AveragePool-22 MaxPool-22", "bf16", "normal", "x:2x3x9x11.kernel_shape:3_3.pads:1_1_1_1.strides:2_2"),
    Row("LpPool-18", "f32", "normal grid", f"{_WINDOWS} x:1x3x7x5.kernel_shape:3_2.p:1 x:1x3x7x5.kernel_shape:3_2.p:3"),
    Row("LpPool-18", "f16", "normal", "x:1x3x7x5.kernel_shape:3_2 x:1x3x7x5.kernel_shape:3_2.p:1"),
    Row("GlobalAveragePool-1", "f32", "normal grid", _GLOBAL),
    Row("GlobalAveragePool-1", "f32 f16", "lattice", "x:2x3x4x8 x:1x5x16"),
    Row("GlobalMaxPool-1", "f32", "normal special", _GLOBAL),
    Row("GlobalAveragePool-1 GlobalMaxPool-1", "f16 f64", "normal", "x:2x3x5x7"),
    *_SWEEPS,
)
