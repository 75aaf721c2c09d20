"""Cases with the first dimension of some inputs, and of the outputs, left open."""

from __future__ import annotations

import functools
from collections.abc import Mapping

import onnx

from suites.cases.case import Case

GROWING: Mapping[str, tuple[str, ...]] = {
    "Relu-14.f32.x:3x5x7.in:normal": ("x",),
    "Add-14.f32.a:3x5x7.b:3x5x7.in:normal": ("a", "b"),
    "Neg-13.i32.x:3x5x7.in:uniform": ("x",),
    "Add-14.f16.a:3x5x7.b:3x5x7.in:normal": ("a", "b"),
    "MatMul-13.f32.a:3x7.b:7x5.in:normal": ("a",),
    "Conv-11.f32.x:3x3x7x5.w:4x3x3x3.const:w.in:normal": ("x",),
    "Softmax-13.f32.input:3x5x7.axis:2.in:normal": ("input",),
    "Transpose-21.f32.data:3x5x7.perm:0_2_1.in:normal": ("data",),
}
"""Case → its inputs whose first dimension is that of the output."""


class OpenCase(Case):
    """A case of `GROWING` whose model takes any extent there."""

    @property
    def growing(self) -> tuple[str, ...]:
        return GROWING[self.id]

    @functools.cached_property
    def model(self) -> onnx.ModelProto:
        model = onnx.ModelProto()
        model.CopyFrom(Case(self.id, self.node).model)
        grows = {*self.growing, *(value.name for value in model.graph.output)}
        for value in (*model.graph.input, *model.graph.output):
            if value.name in grows:
                value.type.tensor_type.shape.dim[0].dim_param = "N"
        return model
