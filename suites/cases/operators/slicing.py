"""Parts of tensors put together, cut out and turned round: Concat, Split, Slice, ReverseSequence."""

from __future__ import annotations

from suites.cases.operators.sizes import WIDTHS
from suites.cases.operators.sweep import Sweep, joined
from suites.cases.operators.table import Row

_BYTES = "f16 i8 i64 bool"
_OTHERS = "bf16 f64 u8 i16 u16 i32 u32 u64 str"

# Concat


def _concatenated(axis: int, shape: str, lengths: str, const: str = "") -> str:
    """Inputs of `shape` with each of the lengths along the axis."""
    dimensions = shape.split("x")
    inputs = []
    for i, length in enumerate(lengths.split("_")):
        dimensions[axis] = length
        inputs.append(f"inputs{i}:{'x'.join(dimensions)}")
    stored = "_".join(f"inputs{i}" for i in map(int, const))
    return joined(*inputs, f"axis:{axis}", stored and f"const:{stored}")


def _concat(shape: str, axis: int, lengths: str, const: str) -> str | None:
    rank, count = shape.count("x") + 1, lengths.count("_") + 1
    if not -rank <= axis < rank or any(int(i) >= count for i in const):
        return None
    return _concatenated(axis, shape, lengths, const)


_CONCAT = {
    "axis": (1, 0, -1, 2, -2, 3, -4, -5),
    "lengths": ("3_4", "1_1", "5", "2_3_1", "0_3", "3_0_2", "1_2_3_4_5", "7_1_9", "0_0", "1_1_1_1_1_1_1_1_1"),
    "shape": ("2x3x5x7", "3x5", "7", "2x3x5", "1x1x3", "2x1x3x1x2"),
    "const": ("", "0", "1", "01"),
}
_CONCAT_OLD = {**_CONCAT, "axis": (1, 0, 2, 3), "const": ("",)}
_JOINED_WIDTHS = " ".join(
    f"inputs0:3x{w}.inputs1:3x{v}.axis:1 inputs0:{w}x3.inputs1:{v}x3.axis:0"
    for w, v in zip(WIDTHS, WIDTHS[5:] + WIDTHS, strict=False)
)
_SOME_CONCAT = "inputs0:2x3x5.inputs1:2x7x5.axis:1 inputs0:2x3x5.inputs1:2x3x1.inputs2:2x3x4.axis:2 inputs0:5.inputs1:3.axis:0"

# Split


def _split(shape: str, axis: int, lengths: str, version: int, feed: bool) -> str | None:
    """Parts of named lengths; the axis is as long as they are together."""
    dimensions = shape.split("x")
    if not -len(dimensions) <= axis < len(dimensions):
        return None
    dimensions[axis] = str(sum(map(int, lengths.split("_"))))
    data = f"input:{'x'.join(dimensions)}"
    if version < 13:
        return joined(data, f"axis:{axis}", f"split:{lengths}")
    return joined(data, f"split:{lengths}", f"axis:{axis}", "feed:split" if feed else "")


def _equal(shape: str, axis: int, parts: int, each: int, short: int) -> str | None:
    """Equal parts, the last one shorter by `short`."""
    dimensions = shape.split("x")
    if not -len(dimensions) <= axis < len(dimensions) or short >= each:
        return None
    dimensions[axis] = str(parts * each - short)
    return f"input:{'x'.join(dimensions)}.axis:{axis}"


def _equal_18(parts: int, **values: object) -> str | None:
    middle = _equal(parts=parts, **values)  # type: ignore[arg-type]
    return middle and f"{middle}.num_outputs:{parts}"


def _equal_13(parts: int, **values: object) -> str | None:
    middle = _equal(parts=parts, short=0, **values)  # type: ignore[arg-type]
    return middle and f"{middle}.outputs:{parts}"


_AXES = (1, 0, -1, 2, -2, -3)
_SPLIT = {
    "axis": _AXES,
    "lengths": ("2_3", "1_1_1", "5", "4_1", "1_7", "0_3", "3_0_2", "2_0", "1_2_3_4", "16_1", "1_1_1_1_1_1_1_1"),
    "shape": ("2x3x5", "3x5x7", "7", "3x5", "1x3x1x5"),
}
_EQUAL = {"axis": _AXES, "parts": (2, 3, 1, 4, 7), "each": (2, 1, 3, 8), "shape": ("2x3x5", "7", "3x5", "2x3x2x3")}
_SPLIT_OLD = {**_SPLIT, "axis": (1, 0, 2)}
_SPLIT_13 = {**_SPLIT, "version": (13,), "feed": (False, True)}
_UNFED = {"version": (2,), "feed": (False,)}
_SPLIT_WIDTHS = " ".join(f"input:3x{w + 3}.split:{w}_3.axis:1 input:3x{w + 3}.split:3_{w}.axis:1" for w in WIDTHS)
_SOME_SPLIT = "input:7x6x5.split:1_2_3.axis:1 input:8x3.split:3_5 input:3x9.split:4_5.axis:-1"

# Slice

_ENDLESS = {"i64": 2**63 - 1, "i32": 2**31 - 1}
_STARTS = ("1", "0", "-1", "-3", "6", "7", "12", "-7", "-12", "least", "most")
_ENDS = ("5", "-1", "most", "0", "7", "1", "12", "-4", "-7", "-12", "least")
_STEPS = ("1", "-1", "2", "-2", "3", "-3", "7", "-12", "most", "-most")


def _bound(text: str, dtype: str) -> str:
    """A number of the type of indices; "least" and "most" are its ends."""
    most = _ENDLESS[dtype]
    return text.replace("least", str(-most - 1)).replace("most", str(most))


def _slice(start: str, end: str, step: str, axes: str, indices: str, feed: str) -> str | None:
    """Slice-10 on of a tensor whose axes have length 7, so that bounds mean the same on each."""
    count = axes.count("_") + 1 if axes else 2
    suffix = ":i32" if indices == "i32" else ""
    names = ["starts", "ends", *(["axes"] if axes else []), *(["steps"] if step else [])]
    if any(name not in names for name in feed.split("_") if feed):
        return None

    def field(name: str, first: str) -> str:
        """The value under test on the first axis, another on the others."""
        other = {"starts": "2", "ends": "6", "steps": "1"}[name]
        return f"{name}:{'_'.join([_bound(first, indices), *[other] * (count - 1)])}{suffix}"

    return joined(
        "data:7x7x7",
        field("starts", start),
        field("ends", end),
        axes and f"axes:{axes}{suffix}",
        step and field("steps", step),
        feed and f"feed:{feed}",
    )


def _slice_10(start: str, end: str, step: str, **values: str) -> str | None:
    """Without the largest number as an end of a slice that steps back, of which only Slice-13 says that it is cut."""
    return None if step.startswith("-") and end == "most" else _slice(start, end, step, **values)


def _slice_1(start: str, end: str, axes: str) -> str:
    return joined("data:7x7x7", axes and f"axes:{axes}", f"ends:{_bound(end, 'i64')}", f"starts:{_bound(start, 'i64')}")


_SLICE = {
    "start": _STARTS,
    "end": _ENDS,
    "step": (*_STEPS, ""),
    "axes": ("0", "2", "-1", "1", "-3", "2_0", "0_1_2", "-1_-2", ""),
    "indices": ("i64", "i32"),
    "feed": ("", "starts", "starts_ends", "ends", "starts_ends_axes_steps", "steps"),
}
_STORED = {**_SLICE, "feed": ("",)}
_SLICE_1 = {"start": _STARTS, "end": _ENDS, "axes": ("0", "2")}
_SLICE_1_AXES = {"start": ("1", "-3", "0"), "end": ("5", "-1", "most"), "axes": ("2",)}
_SLICED_WIDTHS = " ".join(
    f"data:3x{w + 2}.starts:1.ends:{w + 1}.axes:1 data:3x{w}.starts:{w}.ends:{-w - 1}.axes:1.steps:-1 "
    f"data:3x{2 * w}.starts:0.ends:{2 * w}.axes:1.steps:2"
    for w in WIDTHS
)
_SLICED_RANKS = (
    "data:11.starts:2.ends:9 data:2x3x2x5x3.starts:1_1_0.ends:2_3_2.axes:1_3_4 "
    "data:2x3x2x3x2x3.starts:1_-1.ends:9_-9.axes:1_5.steps:1_-1 data:2x2x2x2x2x2x2x3.starts:1.ends:-9.axes:7.steps:-1 "
    "data:1x1x1.starts:0_0_0.ends:1_1_1 data:0x3.starts:0.ends:2.axes:1 data:0x3.starts:0.ends:5.axes:0 "
    "data:3x5.starts:0_0.ends:3_5 data:3x5.starts:0_0.ends:0_0 data:3x5x7.starts:0.ends:1.axes:2"
)
_SOME_SLICES = (
    "data:5x7x11.starts:-1_-2.ends:-100_1.axes:1_-1.steps:-1_-3 data:5x7x11.starts:1_1.ends:1000_-1 "
    "data:7x9.starts:8.ends:-10.axes:1.steps:-2 data:7x9.starts:3.ends:8.axes:-1.steps:2"
)

# ReverseSequence: batch axis 1 and time axis 0 unless attributes say otherwise.
_REVERSED = " ".join(
    f"input:{shape}.sequence_lens:{batch}{axes}"
    for time, batch in ((5, 3), (1, 4), (7, 1), (17, 2))
    for tail in ("", "x3", "x2x5", "x1")
    for shape, axes in (
        (f"{time}x{batch}{tail}", ""),
        (f"{time}x{batch}{tail}", ".batch_axis:1.time_axis:0"),
        (f"{batch}x{time}{tail}", ".batch_axis:0.time_axis:1"),
    )
)
_SOME_REVERSED = "input:5x3x2.sequence_lens:3 input:3x5.sequence_lens:3.batch_axis:0.time_axis:1"

CASES = (
    Sweep("Concat-13", "f32", "index", _concat, _CONCAT),
    Sweep("Concat-13", "i8", "index", _concat, {**_CONCAT, "const": ("",)}, one_in=4),
    Sweep("Concat-4", "f32", "index", _concat, _CONCAT_OLD, one_in=4),
    Row("Concat-13", "f32", "index", _JOINED_WIDTHS),
    Row("Concat-13", "u16 u32 u64 bool f16 i8", "index", _SOME_CONCAT),
    Row("Concat-4 Concat-11", "i8 i64 bool", "index", _SOME_CONCAT),
    Row("Concat-13", "f16 i8 u8 i32 bool", "index", "inputs0:4x512x300.inputs1:4x512x212.axis:2"),
    Sweep("Split-18", "f32", "index", _split, _SPLIT_13),
    Sweep("Split-13", "f32", "index", _split, _SPLIT_13, one_in=4),
    Sweep("Split-11", "i64", "index", _split, {**_SPLIT, **_UNFED}, one_in=4),
    Sweep("Split-2", "f32", "index", _split, {**_SPLIT_OLD, **_UNFED}, one_in=4),
    Sweep("Split-18", "f32", "index", _equal_18, {**_EQUAL, "short": (0, 1)}),
    Sweep("Split-13", "f32", "index", _equal_13, _EQUAL, one_in=4),
    Sweep("Split-2", "f32", "index", _equal_13, {**_EQUAL, "axis": (1, 0, 2)}),
    Row("Split-18", "i8", "index", _SPLIT_WIDTHS),
    Row("Split-18", "u16 u32 u64 str f16 i64", "index", _SOME_SPLIT),
    Row("Split-18", "i8 u8", "index", "input:4x512x512.axis:2.num_outputs:3"),
    Sweep("Slice-13", "f32", "index", _slice, _SLICE),
    Sweep("Slice-13", "i8", "index", _slice, _STORED, one_in=4),
    Sweep("Slice-10", "f32", "index", _slice_10, _STORED, one_in=4),
    Sweep("Slice-1", "f32", "index", _slice_1, _SLICE_1, one_in=4),
    Sweep("Slice-1", "i8 f16 i64 bool", "index", _slice_1, _SLICE_1_AXES, one_in=4),
    Row("Slice-13", "f32", "index", f"{_SLICED_WIDTHS} {_SLICED_RANKS}"),
    Row("Slice-13", "i8", "index", _SLICED_WIDTHS, one_in=3),
    Row("Slice-13", "u16 u32 u64 str bf16 f64 u8 i16 i32 bool f16 i64", "index", " ".join(_SOME_SLICES.split()[:2])),
    Row("Slice-10 Slice-11", "f32 i8 i64", "index", _SOME_SLICES),
    Row("Slice-13", "f16 i8 u8 i32", "index", "data:4x512x513.starts:1_3.ends:512_512.axes:1_2"),
    Row("Slice-13", "f32", "index", "data:1024x1024.starts:-1_0.ends:-1025_1024.axes:0_1.steps:-2_3"),
    Row("ReverseSequence-10", "f32", "index", _REVERSED),
    Row("ReverseSequence-10", f"{_BYTES} f64 u8 i16 u16 i32 u32 u64 str", "index", _SOME_REVERSED),
)
