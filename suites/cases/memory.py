"""Case ids of the suites on memory and state: small models that most devices run, so that what is tested is the memory."""

from __future__ import annotations

ELEMENTWISE: tuple[str, ...] = (
    "Relu-14.f32.x:2x3x5x7.in:normal",
    "Add-14.f32.a:2x3x5x7.b:2x3x5x7.in:normal",
    "Mul-14.f32.a:2x3x5x7.b:2x3x5x7.in:grid",
    "Neg-13.i32.x:3x5x7.in:uniform",
)
"""Of the same shape in as out."""

MIXED: tuple[str, ...] = (
    "Relu-14.f32.x:2x3x5x7.in:normal",
    "Add-14.f32.a:2x3x5x7.b:2x3x5x7.in:normal",
    "MatMul-13.f32.a:5x7.b:7x3.in:normal",
    "Transpose-21.f32.data:2x3x5x7.perm:0_2_3_1.in:normal",
    "Conv-11.f32.x:1x3x7x5.w:4x3x3x3.const:w.in:normal",
)
"""Elements alone, rows, all elements and windows."""

FEW: tuple[str, ...] = (MIXED[0], MIXED[2], "Neg-13.i32.x:3x5x7.in:uniform")
"""For what depends little on the operator."""

LENGTHS = (1, 3, 15, 16, 17, 31, 33, 63, 64, 65, 255, 257, 1023, 1024, 1025)
"""Elements around multiples of vectors, cache lines and pages."""

SIZES: tuple[str, ...] = (
    *(f"Relu-14.f32.x:{n}.in:normal" for n in LENGTHS),
    "Add-14.f32.a:65.b:65.in:normal",
    "Add-14.f16.a:33.b:33.in:normal",
    "Neg-13.i32.x:33.in:uniform",
    "MatMul-13.f32.a:5x7.b:7x3.in:normal",
)

ROWS: tuple[str, ...] = (
    "Relu-14.f32.x:3x5x7.in:normal",
    "Add-14.f32.a:4x16.b:4x16.in:normal",
    "Neg-13.i32.x:3x17.in:uniform",
)
"""With more than one row."""

NOT_IN_PLACE: tuple[str, ...] = (
    "Transpose-21.f32.data:7x7.in:normal",
    "MatMul-13.f32.a:5x5.b:5x5.in:normal",
    "Softmax-13.f32.input:3x5x7.axis:1.in:normal",
)
"""Of the same shape in as out, but an element of the output needs others of the input than its own."""

SQUARE: tuple[str, ...] = ("Neg-13.f32.x:64x64.in:normal", "Transpose-21.f32.data:64x64.in:normal")
"""What the output of one run may be the input of another."""

SLOW: tuple[str, ...] = ("Transpose-21.f32.data:256x256.in:normal",)
"""The same, with enough to do that who does not wait is seen."""

SAME_PORTS = {
    "Conv-11.f32.x:1x3x7x5.w:4x3x3x3.const:w.in:normal": "Conv-11.f32.x:1x3x7x5.w:4x3x3x3.const:w.in:grid",
    "MatMul-13.f32.a:5x7.b:7x3.const:b.in:normal": "MatMul-13.f32.a:5x7.b:7x3.const:b.in:grid",
}
"""Case → another with the same inputs and outputs and other constants."""

TWO_OUTPUTS: tuple[str, ...] = ("Split-18.f32.input:6x4.axis:0.num_outputs:2.outputs:2.in:normal",)

THREE_OF_MANY = "Slice-13.f32.data:1024x1024.starts:3.ends:6.axes:0.in:normal"
THREE_OF_FEW = "Slice-13.f32.data:8x1024.starts:3.ends:6.axes:0.in:normal"
"""What a run needs of them is three rows; a copy of all of it shows in its time."""

LARGE = "Relu-14.f32.x:1024x1024.in:grid"
"""Of 4 MiB, so that some hundreds exhaust a small device."""

OTHER_TYPE = {
    "Relu-14.f32.x:3x5x7.in:normal": "Neg-13.i32.x:3x5x7.in:uniform",
    "Neg-13.i32.x:3x5x7.in:uniform": "Relu-14.f32.x:3x5x7.in:normal",
    "Neg-13.f32.x:3x5x7.in:normal": "Neg-13.f16.x:3x5x7.in:normal",
}
"""Case → another of the same shapes and another type."""
