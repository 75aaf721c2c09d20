"""Layouts: where images lie otherwise inside the device than in the model, and the conversions at every border."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Collection, Mapping, Sequence

import numpy as np
import onnx
from onnx import helper, numpy_helper

from backends.interface import LAYOUTS
from backends.ortvalue import ELEMENTS
from backends.sim import profile
from backends.sim.decompositions import Names, Nodes
from backends.sim.lowering import TO_ONNX
from backends.sim.partition import tensors_of
from backends.sim.rounding import Shape, Shapes, rename

IMAGES = frozenset(
    [
        *("AveragePool", "BatchNormalization", "Conv", "ConvTranspose", "DepthToSpace", "GlobalAveragePool", "GlobalMaxPool"),
        *("InstanceNormalization", "LRN", "LpPool", "GlobalLpPool", "MaxPool", "Resize", "SpaceToDepth", "Upsample"),
    ]
)
"""Operators on images, batch and channels first in the model, that read and write the device's layout."""

ELEMENTWISE = frozenset(
    [
        *("Abs", "Add", "Ceil", "Clip", "Cos", "Elu", "Erf", "Exp", "Floor", "Gelu", "HardSigmoid", "HardSwish"),
        *("Identity", "LeakyRelu", "Log", "Max", "Mean", "Min", "Mish", "Mul", "Neg", "Reciprocal", "Relu", "Round"),
        *("Selu", "Sigmoid", "Sign", "Sin", "Softplus", "Softsign", "Sqrt", "Sub", "Sum", "Tanh"),
    ]
)
"""Operators that take any layout, as long as all their tensors lie in the same. Not Div: 0 / 0 in the padding of integers would
trap."""

ODD = frozenset(["str", "int4", "uint4", "int2", "uint2", "float4_e2m1fn"])
"""Types that have no layout but the model's: those without a fixed number of bytes an element."""

WIDTHS = {element.name: element.bits // 8 for element in ELEMENTS.values()}
"""Type → bytes of an element."""


@dataclasses.dataclass(frozen=True)
class Form:
    """How one tensor lies. block: channels of a block, or that channels are padded to a multiple of, 0 for none."""

    layout: str
    block: int
    shape: Shape  # the model's
    element: int  # TensorProto.DataType

    @property
    def padded(self) -> int:
        """Channels with padding."""
        return -(-self.shape[1] // self.block) * self.block if self.block else self.shape[1]

    @property
    def stored(self) -> Shape:
        """The shape in memory."""
        if self.layout == "NC1HWC0":
            n, _, h, w = self.shape
            return (n, self.padded // self.block, h, w, self.block)
        filled = (self.shape[0], self.padded, *self.shape[2:])
        return tuple(filled[axis] for axis in LAYOUTS[self.layout])


Convert = Callable[[str, str, Form, Names], Nodes]


def to_layout(source: str, target: str, form: Form, name: Names) -> Nodes:
    """`target` = `source`, laid out; channels that the model does not have are zero."""
    n, _, *rest = form.shape
    if form.padded != form.shape[1]:
        zeros, filled = name(target), name(target)
        missing = (n, form.padded - form.shape[1], *rest)
        size = math.prod(missing) * helper.tensor_dtype_to_np_dtype(form.element).itemsize
        value = helper.make_tensor(zeros, form.element, missing, bytes(size), raw=True)
        yield helper.make_node("Constant", [], [zeros], value=value)
        yield helper.make_node("Concat", [source, zeros], [filled], axis=1)
        source = filled
    if form.layout == "NC1HWC0":
        blocks, shape = name(target), name(target)
        yield _integers([n, form.padded // form.block, form.block, *rest], shape)
        yield helper.make_node("Reshape", [source, shape], [blocks])
        yield helper.make_node("Transpose", [blocks], [target], perm=[0, 1, 3, 4, 2])
    else:
        yield helper.make_node("Transpose", [source], [target], perm=LAYOUTS[form.layout])


def from_layout(source: str, target: str, form: Form, name: Names) -> Nodes:
    """`target` = `source`, in the model's layout; the channels that the model does not have are dropped."""
    filled = name(target) if form.padded != form.shape[1] else target
    if form.layout == "NC1HWC0":
        blocks, shape = name(target), name(target)
        n, _, *rest = form.shape
        yield helper.make_node("Transpose", [source], [blocks], perm=[0, 1, 4, 2, 3])
        yield _integers([n, form.padded, *rest], shape)
        yield helper.make_node("Reshape", [blocks, shape], [filled])
    else:
        yield helper.make_node("Transpose", [source], [filled], perm=[int(i) for i in np.argsort(LAYOUTS[form.layout])])
    if filled != target:
        channels = name(target)
        yield _integers(list(range(form.shape[1])), channels)
        yield helper.make_node("Gather", [filled, channels], [target], axis=1)


def _integers(values: Sequence[int], name: str) -> onnx.NodeProto:
    return helper.make_node("Constant", [], [name], value=numpy_helper.from_array(np.array(values, np.int64)))


@dataclasses.dataclass
class Step:
    """A node of the user's, what was placed for it, its partition, and whether it only goes on with an image's operator."""

    node: onnx.NodeProto
    placed: list[onnx.NodeProto]
    partition: int | None
    fused: onnx.NodeProto | None = None


class Assignment:
    """Gives the images of a program the device's layout. `conversions` are the tensors converted at a border.

    An operator on images reads and writes the layout itself, though the engine's kernel knows the model's only; where another
    operator, the host or the user meets the tensor, it is converted (`enter`, `leave`). numbers: tensors of one element and no
    dimension.
    """

    def __init__(
        self,
        forms: Mapping[str, Form],
        held: Collection[str],
        numbers: Collection[str],
        name: Names,
        enter: Convert = to_layout,
        leave: Convert = from_layout,
    ) -> None:
        self.conversions: list[str] = []
        self.laid: dict[str, str] = {}
        self._forms = forms
        self._held = held
        self._numbers = numbers
        self._name = name
        self._enter = enter
        self._leave = leave
        self._read: dict[str, str] = {}
        self._known: set[str] = set()  # tensors that are laid out and there in the model's layout too
        self._nodes: list[onnx.NodeProto] = []

    def apply(self, steps: Sequence[Step], results: Sequence[str]) -> list[onnx.NodeProto]:
        """All nodes with their conversions; `results` are the graph's outputs."""
        for step in steps:
            if self._is_image(step):
                self._image(step)
            elif self._is_elementwise(step):
                self._elementwise(step)
            else:
                for name in tensors_of(step.node):
                    self._in_model(name)
                self._nodes.extend(step.placed)
        for name in results:
            self._in_model(name)
        return self._nodes

    def _is_image(self, step: Step) -> bool:
        node = step.fused or step.node
        return step.partition is not None and node.op_type in IMAGES and step.node.output[0] in self._forms

    def _is_elementwise(self, step: Step) -> bool:
        """Whether all tensors have the output's form but for single numbers, and one of them is laid out already."""
        node, form = step.node, self._forms.get(step.node.output[0])
        if step.partition is None or node.op_type not in ELEMENTWISE or form is None or len(node.output) != 1:
            return False
        images = [name for name in node.input if name and name in self._forms]
        alike = all(self._forms[name].shape == form.shape and name not in self._held for name in images)
        others = all(name in self._forms or name in self._numbers for name in node.input if name)
        return alike and others and node.output[0] not in self._held and any(name in self.laid for name in images)

    def _image(self, step: Step) -> None:
        names: dict[str, str] = {}
        for index, name in enumerate(step.node.input):
            if index == 0 and not step.fused and name in self._forms:
                names[name] = self._kernel_in(name)
            elif name and name not in self._held:
                self._in_model(name)
        result = step.node.output[0]
        if result in self._held:
            self._nodes.extend(rename(step.placed, names))
            return
        raw, self.laid[result] = self._name(result), self._name(result)
        self._nodes.extend(rename(step.placed, {**names, result: raw}))
        self._nodes.extend(to_layout(raw, self.laid[result], self._forms[result], self._name))

    def _elementwise(self, step: Step) -> None:
        names = {name: self._in_device(name) for name in step.node.input if name in self._forms}
        result = step.node.output[0]
        self.laid[result] = names[result] = self._name(result)
        self._nodes.extend(rename(step.placed, names))

    def _kernel_in(self, name: str) -> str:
        """The tensor as the engine's kernel reads it out of the layout."""
        if name not in self._read:
            self._read[name] = self._name(name)
            laid = self._in_device(name)
            self._nodes.extend(from_layout(laid, self._read[name], self._forms[name], self._name))
        return self._read[name]

    def _in_device(self, name: str) -> str:
        """The tensor in the device's layout; a conversion where it is not."""
        if name not in self.laid:
            self.laid[name] = self._name(name)
            self._known.add(name)
            self.conversions.append(name)
            self._nodes.extend(self._enter(name, self.laid[name], self._forms[name], self._name))
        return self.laid[name]

    def _in_model(self, name: str) -> None:
        """Sees to it that the tensor is there in the model's layout; a conversion where it is not."""
        if name in self.laid and name not in self._known:
            self._known.add(name)
            self.conversions.append(name)
            self._nodes.extend(self._leave(self.laid[name], name, self._forms[name], self._name))


def forms(device: profile.Profile, types: Mapping[str, str], shapes: Shapes) -> dict[str, Form]:
    """Tensor → how it lies inside the device, for everything that can be an image; {} where the device keeps to the model's
    layout. A block of channels has as many bytes in the format that the type is stored in."""
    if not device.layout.internal:
        return {}
    found = {}
    for name, shape in shapes.items():
        dtype = types.get(name, "")
        if shape is not None and len(shape) == 4 and 0 not in shape and dtype in TO_ONNX and dtype not in ODD:
            unit = device.precision.get(dtype)
            block = block_of(device.layout, unit.storage if unit else dtype)
            found[name] = Form(device.layout.internal, block, shape, TO_ONNX[dtype])
    return found


def block_of(rules: profile.Layout, dtype: str) -> int:
    """Channels of a block, or that channels are padded to a multiple of, in tensors of a type."""
    return max(1, rules.channels // WIDTHS[dtype]) if rules.channels else 0
