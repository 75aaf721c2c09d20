"""Convolutions and their transposes, of one to three dimensions; integer convolution."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from suites.cases.operators.sweep import joined
from suites.cases.operators.table import Entry, Row
from suites.cases.operators.windows import PAIRS, SAME, Numbers, Padding, Windows, listed, shape, staggered, swept, uneven

# The image is fed, weights and bias are stored unless the line says otherwise.
_MAIN = (
    "x:1x3x7x5.w:4x3x3x3.const:w "
    "x:2x3x8x9.w:5x3x3x3.b:5.pads:1_1_1_1.const:w_b "
    "x:1x5x9x11.w:7x5x3x5.b:7.pads:1_0_2_3.strides:2_3.const:w_b "
    "x:1x6x11x7.w:8x3x3x3.pads:2_2_2_2.dilations:2_2.group:2.const:w "
    "x:2x5x7x9.w:5x1x3x3.b:5.pads:1_1_1_1.group:5.const:w_b"
)
_MORE = (
    "x:1x3x7x5.w:4x3x1x1.b:4.const:w_b "
    "x:1x7x13x5.w:3x7x1x1.strides:2_2.const:w "
    "x:1x3x9x7.w:2x3x5x3.auto_pad:SAME_UPPER.strides:2_2.const:w "
    "x:1x3x9x8.w:2x3x4x3.auto_pad:SAME_LOWER.const:w "
    "x:1x3x9x7.w:2x3x3x2.auto_pad:VALID.strides:1_2.const:w "
    "x:1x3x13x11.w:4x3x3x2.pads:0_1_2_0.strides:3_2.dilations:2_3.const:w "
    "x:1x4x9x7.w:8x1x3x3.pads:1_1_1_1.strides:2_1.group:4.const:w "
    "x:1x3x7x5.w:4x3x3x3.b:4 "
    "x:1x3x7x5.w:4x3x3x3.b:4.const:b "
    "x:1x3x7x5.w:4x3x3x2.kernel_shape:3_2.const:w "
    "x:1x1x5x5.w:1x1x5x5.const:w "
    "x:3x2x5x7.w:3x2x7x3.pads:3_1_3_1.const:w "
    "x:1x3x17.w:5x3x4.b:5.pads:2_1.strides:2.const:w_b "
    "x:2x6x19.w:6x1x5.dilations:2.group:6.const:w "
    "x:1x2x5x7x6.w:3x2x3x2x3.b:3.pads:1_0_1_1_1_0.strides:2_1_2.const:w_b "
    "x:1x3x5x4x7.w:2x3x1x3x2.dilations:1_1_2.const:w"
)
_LARGE = (
    "x:1x67x13x11.w:31x67x3x3.b:31.pads:1_1_1_1.const:w_b x:1x257x7x5.w:65x257x1x1.const:w "
    "x:1x3x97x89.w:16x3x7x7.pads:3_3_3_3.strides:2_2.const:w"
)

_TRANSPOSED = (
    "x:1x3x5x4.w:3x2x3x3.const:w "
    "x:2x3x5x4.w:3x5x3x2.b:5.pads:1_0_0_1.strides:2_3.const:w_b "
    "x:1x4x5x7.w:4x3x3x3.b:6.pads:1_1_1_1.strides:2_2.group:2.output_padding:1_1.const:w_b "
    "x:1x3x4x5.w:3x2x2x3.dilations:2_2.const:w"
)
_TRANSPOSED_MORE = (
    "x:1x3x5x4.w:3x2x3x3.auto_pad:SAME_UPPER.strides:2_2.const:w "
    "x:1x3x5x4.w:3x2x4x3.auto_pad:SAME_LOWER.strides:2_3.const:w "
    "x:1x3x5x4.w:3x2x3x3.strides:2_2.output_shape:11_9.const:w "
    "x:1x3x5x4.w:3x2x3x3.strides:2_2.output_shape:10_8.const:w "
    "x:1x5x5x4.w:5x1x3x3.pads:1_1_1_1.strides:2_1.group:5.const:w "
    "x:1x3x5x4.w:3x2x3x3.b:2 "
    "x:1x3x7.w:3x4x5.b:4.pads:1_2.strides:3.const:w_b "
    "x:1x2x3x4x5.w:2x3x2x3x2.strides:1_2_2.const:w"
)

# {w}: suffix of the weights' type, "" where it is the image's.
_INTEGER = (
    "x:1x3x7x5.w:4x3x3x3{w}.const:w "
    "x:1x3x7x5.w:4x3x3x3{w}.x_zero_point:scalar.w_zero_point:scalar{w}.pads:1_0_1_2.strides:2_1"
    ".const:w_x_zero_point_w_zero_point "
    "x:1x6x7x5.w:4x3x3x3{w}.x_zero_point:scalar.dilations:1_2.group:2.const:w_x_zero_point"
)


class _Form(NamedTuple):
    """Images in the batch; whether there is a bias; what is stored; whether the node names its kernel_shape."""

    batch: int
    bias: bool
    stored: str
    named: bool


_FORMS = (_Form(1, False, "w", False), _Form(2, True, "w_b", False), _Form(1, True, "", True), _Form(3, True, "b", True))
_CHANNELS = ((3, 4, 1), (1, 1, 1), (4, 4, 4), (6, 4, 2), (5, 7, 1), (3, 6, 3), (8, 9, 1), (2, 1, 1), (9, 6, 3))
"""Channels of the image and of the result, groups: plain, one channel, depthwise with and without multiplier, grouped."""

_WIDTHS = (1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 128, 129, 255, 256, 257)
_AROUND_VECTORS = (1, 3, 4, 7, 8, 15, 16, 17, 31, 32, 33, 64, 65)


def _operands(x: Numbers, w: Numbers, outside: int, form: _Form) -> str:
    return joined(f"x:{shape(*x)}", f"w:{shape(*w)}", f"b:{outside}" if form.bias else "")


def _endings(group: int, form: _Form, *fields: str) -> str:
    return joined(f"group:{group}" if group > 1 else "", *fields, f"const:{form.stored}" if form.stored else "")


def _convolution(
    kernel: Numbers,
    padding: Padding,
    strides: Numbers,
    dilations: Numbers,
    counts: Numbers,
    channels: Numbers,
    form: _Form = _FORMS[1],
    rest: int = 1,
) -> str:
    """A convolution whose axes are as long as `counts` windows need that leave `rest` elements over.

    No dilations with SAME, which many runtimes refuse."""
    dilations = () if padding in SAME else dilations
    windows, (inside, outside, group) = Windows(kernel, padding, strides, dilations), channels
    x = (form.batch, inside, *windows.lengths(counts, rest))
    weights = (outside, inside // group, *kernel)
    return joined(_operands(x, weights, outside, form), windows.fields(kernel_shape=form.named), _endings(group, form))


def _layouts(rank: int, kernels: Numbers, padding: Sequence[Padding] = ()) -> dict[str, Sequence[Any]]:
    """What the windows of a convolution of that rank are laid out by."""
    return {
        "kernel": [(3,) * rank, *staggered(kernels, rank), (1,) * rank],
        "padding": [(), *uneven(PAIRS, rank), *SAME, "VALID", *padding],
        "strides": [(), (2,) * rank, *staggered((1, 2, 3), rank)],
        "dilations": [(), *staggered((1, 2, 3), rank), (2,) * rank],
    }


def _sweep(rank: int, kernels: Numbers, counts: Sequence[Numbers], channels: Sequence[Numbers]) -> dict[str, Sequence[Any]]:
    return {**_layouts(rank, kernels), "counts": counts, "channels": channels, "form": _FORMS}


_IMAGES = swept(_convolution, _sweep(2, (3, 1, 2, 5, 4), ((3, 4), (1, 1), (5, 2), (1, 7)), _CHANNELS))
_LINES = swept(_convolution, _sweep(1, (2, 3, 5, 4, 9), ((5,), (1,), (8,), (3,)), _CHANNELS))
_VOLUMES = swept(
    _convolution, _sweep(3, (2, 1, 3), ((2, 3, 2), (1, 1, 1), (1, 4, 2)), ((2, 3, 1), (1, 1, 1), (2, 2, 2), (4, 2, 2)))
)
_DEPTHWISE = swept(
    _convolution,
    {
        **_layouts(2, (3, 5, 2)),
        "counts": ((3, 5), (1, 4), (4, 8)),
        "channels": [
            *((n, n, n) for n in (1, 3, 4, 8, 15, 16, 17, 32, 33)),
            *((n, many * n, n) for many in (2, 3) for n in (2, 5, 8)),
        ],
        "form": _FORMS[:2],
    },
)
# The last windows leave over as many elements as they can.
_REST = swept(
    _convolution,
    {
        "kernel": ((3, 3), (2, 5)),
        "strides": ((2, 3), (3, 4), (5, 2)),
        "padding": ((), (1, 0, 2, 1)),
        "rest": (0, 1, 2, 3),
        "counts": ((1, 2), (3, 3)),
        "channels": ((2, 3, 1),),
        "dilations": ((), (2, 1)),
    },
)
_WHOLLY_PADDED = swept(
    _convolution,
    {
        "kernel": ((2, 2), (1, 3), (3, 1)),
        "padding": ((3, 3, 3, 3), (4, 0, 0, 4), (0, 3, 5, 0), (0, 7, 0, 0)),
        "strides": ((), (2, 2), (1, 3)),
        "dilations": ((), (2, 2)),
        "counts": ((9, 10),),
        "channels": ((3, 2, 1), (2, 2, 2)),
    },
)


def _pointwise(inside: int, outside: int, size: str, bias: bool) -> str:
    return joined(f"x:1x{inside}x{size}.w:{outside}x{inside}x1x1", f"b:{outside}.const:w_b" if bias else "const:w")


_POINTWISE = swept(
    _pointwise,
    {"inside": _AROUND_VECTORS, "outside": _AROUND_VECTORS, "size": ("3x5", "1x1", "4x4", "1x17"), "bias": (False, True)},
)
_OF_WIDTHS = " ".join(f"x:1x2x3x{n}.w:3x2x2x{min(n, 3)}.const:w" for n in _WIDTHS)
_OF_HEIGHTS = " ".join(f"x:1x2x{n}x3.w:3x2x{min(n, 3)}x2.pads:1_0_1_0.const:w" for n in _WIDTHS[3:15])
_OF_CHANNELS = " ".join(f"x:1x{n}x4x3.w:{m}x{n}x3x3.pads:1_1_1_1.const:w" for n in _AROUND_VECTORS for m in (2, 17))
_OF_RESULTS = " ".join(f"x:1x3x4x5.w:{n}x3x3x3.b:{n}.pads:1_1_1_1.const:w_b" for n in _AROUND_VECTORS)
_OF_BATCHES = " ".join(f"x:{n}x3x5x4.w:4x3x3x3.const:w" for n in (4, 5, 7, 8, 16, 17))
_EMPTY = "x:0x3x7x5.w:4x3x3x3.const:w x:0x3x7.w:4x3x3.b:4"
# Few multiplications an element, so that large images cost little.
_HUGE = (
    "x:1x1x1024x1024.w:1x1x1x1.strides:8_8.const:w x:1x1x1048583.w:1x1x3.strides:64.const:w "
    "x:1x4x512x521.w:1x4x1x1.strides:16_16.const:w x:1x16x256x257.w:3x16x1x2.strides:16_15.const:w"
)


def _transposed(
    kernel: Numbers,
    padding: Padding,
    strides: Numbers,
    dilations: Numbers,
    counts: Numbers,
    channels: Numbers,
    form: _Form,
    extra: Numbers = (),
) -> str:
    """A transposed convolution: `counts` are the lengths of its image; `extra` is output_padding where the strides are larger
    than it. Pads cut no more than there is."""
    rank, (inside, outside, group) = len(kernel), channels
    windows = Windows(kernel, padding, strides, dilations)
    added = tuple(min(e, step - 1) for e, step in zip(extra, strides or (1,) * rank, strict=False))
    if padding and not isinstance(padding, str):
        full = [e + (n - 1) * s for e, n, s in zip(windows.extents, counts, strides or (1,) * rank, strict=True)]
        windows = windows._replace(padding=tuple(min(p, (full[i % rank] - 1) // 2) for i, p in enumerate(padding)))
    if padding in SAME:  # the kernel reaches as far as a stride: what it does not reach, ONNX leaves open
        added = ()
        windows = windows._replace(strides=tuple(min(s, e) for s, e in zip(strides, windows.extents, strict=False)))
    w = (inside, outside // group, *kernel)
    return joined(
        _operands((form.batch, inside, *counts), w, outside, form),
        windows.fields(kernel_shape=form.named),
        _endings(group, form, f"output_padding:{listed(added)}" if any(added) else ""),
    )


_TRANSPOSED_CHANNELS = ((3, 2, 1), (1, 1, 1), (4, 4, 4), (4, 6, 2), (5, 7, 1), (3, 6, 3), (8, 3, 1))
_BACK_IMAGES = swept(
    _transposed,
    {
        **_sweep(2, (3, 1, 2, 5, 4), ((3, 4), (1, 1), (5, 2)), _TRANSPOSED_CHANNELS),
        "extra": ((), (1, 1), (0, 1), (2, 0)),
    },
)
_BACK_LINES = swept(
    _transposed, {**_sweep(1, (2, 3, 5, 4), ((5,), (1,), (8,)), _TRANSPOSED_CHANNELS), "extra": ((), (1,), (2,))}
)
_BACK_VOLUMES = swept(
    _transposed,
    {
        **_sweep(3, (2, 1, 3), ((2, 3, 2), (1, 1, 1)), ((2, 3, 1), (2, 2, 2), (4, 2, 2))),
        "extra": ((), (1, 0, 1)),
    },
)


def _shaped(kernel: Numbers, strides: Numbers, dilations: Numbers, less: Numbers, auto_pad: str, group: int) -> str:
    """output_shape asks for some elements less than the taps reach, cut as auto_pad says."""
    full = [e + (n - 1) * s for e, n, s in zip(Windows(kernel, (), (), dilations).extents, (3, 4), strides, strict=True)]
    wanted = [max(f - cut, n) for f, cut, n in zip(full, less, (3, 4), strict=True)]  # ONNX infers none below the image's
    return joined(
        f"x:1x2x3x4.w:2x{2 // group}x{shape(*kernel)}",
        Windows(kernel, auto_pad or (), strides, dilations).fields(kernel_shape=False),
        f"group:{group}" if group > 1 else "",
        f"output_shape:{listed(wanted)}.const:w",
    )


_SHAPED = swept(
    _shaped,
    {
        "kernel": ((3, 3), (2, 4), (5, 3), (4, 4)),
        "strides": ((1, 1), (2, 2), (3, 2), (1, 3)),
        "dilations": ((), (2, 1), (2, 2)),
        "less": ((0, 0), (1, 1), (2, 1), (1, 2), (3, 2)),
        "auto_pad": ("", *SAME),
        "group": (1, 2),
    },
)


def _integer(
    kernel: Numbers, padding: Padding, strides: Numbers, dilations: Numbers, channels: Numbers, zero_points: str
) -> str:
    """An integer convolution; zero_points: of the image ("x"), of the weights ("w")."""
    windows, (inside, outside, group) = Windows(kernel, padding, strides, () if padding in SAME else dilations), channels
    stored = ["w", *(f"{name}_zero_point" for name in zero_points)]
    return joined(
        f"x:{shape(2, inside, *windows.lengths((3, 4), 1))}.w:{shape(outside, inside // group, *kernel)}{{w}}",
        "x_zero_point:scalar" if "x" in zero_points else "",
        "w_zero_point:scalar{w}" if "w" in zero_points else "",
        windows.fields(kernel_shape=False),
        f"group:{group}" if group > 1 else "",
        f"const:{'_'.join(stored)}",
    )


_INTEGER_MORE = swept(
    _integer,
    {
        **_layouts(2, (3, 1, 2)),
        "channels": ((3, 4, 1), (4, 4, 4), (6, 4, 2), (17, 9, 1), (1, 1, 1)),
        "zero_points": ("x", "xw", "", "w"),
    },
)

_SWEEPS = (
    Row("Conv-11", "f32", "normal", f"{_IMAGES} {_LINES} {_VOLUMES} {_DEPTHWISE}"),
    Row("Conv-11", "f16", "normal", _DEPTHWISE, one_in=4),
    Row("Conv-11", "f64", "normal", _LINES, one_in=8),
    Row("Conv-22", "f32", "lattice", f"{_IMAGES} {_LINES} {_VOLUMES} {_DEPTHWISE}", one_in=4),
    Row("Conv-22", "f16 bf16", "lattice", _IMAGES, one_in=2),
    Row("Conv-1", "f32", "lattice", _LINES, one_in=4),
    Row("Conv-11", "f32", "lattice", f"{_REST} {_WHOLLY_PADDED}"),
    Row("Conv-11", "f32", "lattice", _POINTWISE, one_in=3),
    Row("Conv-11", "f32 f16", "lattice", f"{_OF_WIDTHS} {_OF_HEIGHTS} {_OF_CHANNELS} {_OF_RESULTS} {_OF_BATCHES}"),
    Row("Conv-11", "f32 f16", "normal", _EMPTY),
    Row("Conv-11", "f32", "uniform", _HUGE),
    Row("Conv-22", "f16", "uniform", " ".join(_HUGE.split()[2:])),
    Row("ConvInteger-10", "u8", "uniform", _HUGE),
    Row("ConvTranspose-11", "f32", "normal", f"{_BACK_IMAGES} {_BACK_LINES} {_BACK_VOLUMES}"),
    Row("ConvTranspose-22", "f32 f16 bf16", "lattice", _BACK_IMAGES, one_in=2),
    Row("ConvTranspose-1", "f32", "lattice", _BACK_LINES, one_in=4),
    Row("ConvTranspose-11", "f32 f16", "lattice", _SHAPED),
    *(
        Row("ConvInteger-10", dtype, recipe, _INTEGER_MORE.format(w=weights), one_in)
        for dtype, weights, recipe, one_in in (
            ("u8", "", "uniform", 1),
            ("u8", ":i8", "extreme", 4),
            ("i8", "", "extreme", 4),
            ("i8", ":u8", "uniform", 4),
        )
    ),
)

CASES: tuple[Entry, ...] = (
    Row("Conv-11", "f32", "normal", f"{_MAIN} {_MORE}"),
    Row("Conv-11", "f32", "grid lattice", _MAIN),
    Row("Conv-11", "f32", "normal", _LARGE),
    Row("Conv-11", "f32", "grid", "x:1x257x7x5.w:65x257x1x1.const:w"),
    Row("Conv-11", "f32", "index positive", "x:1x3x7x5.w:4x3x3x3.pads:1_1_1_1.const:w"),
    Row("Conv-11", "f32 f16", "special", "x:1x3x19x17.w:4x3x2x2.const:w"),
    Row(
        "Conv-11",
        "f16",
        "normal lattice",
        f"{_MAIN} x:1x3x17.w:5x3x4.b:5.pads:2_1.strides:2.const:w_b x:1x257x7x5.w:65x257x1x1.const:w",
    ),
    Row("Conv-11", "f64", "normal", "x:2x3x8x9.w:5x3x3x3.b:5.pads:1_1_1_1.const:w_b"),
    Row("Conv-22", "f32", "normal grid lattice", _MAIN),
    Row(
        "Conv-22",
        "f16 bf16",
        "normal lattice",
        "x:2x3x8x9.w:5x3x3x3.b:5.pads:1_1_1_1.const:w_b x:2x5x7x9.w:5x1x3x3.b:5.pads:1_1_1_1.group:5.const:w_b",
    ),
    Row("ConvTranspose-11", "f32", "normal", f"{_TRANSPOSED} {_TRANSPOSED_MORE}"),
    Row("ConvTranspose-11", "f32", "grid lattice", f"{_TRANSPOSED} {_TRANSPOSED_MORE}"),
    Row("ConvTranspose-11", "f16", "normal lattice", _TRANSPOSED),
    Row("ConvTranspose-11", "f64", "normal", "x:1x3x5x4.w:3x2x3x3.const:w"),
    Row("ConvTranspose-22", "f32", "normal lattice", _TRANSPOSED),
    *(
        Row("ConvInteger-10", dtype, "uniform extreme", _INTEGER.format(w=weights))
        for dtype, weights in (("u8", ""), ("u8", ":i8"), ("i8", ""), ("i8", ":u8"))
    ),
    *_SWEEPS,
)
