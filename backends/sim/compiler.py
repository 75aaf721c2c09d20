"""Compiler of the simulated device: from a model to a program, one method a stage, so that each can be replaced alone.

check → place → fuse → translate and round (`translation`, `rounding`) → lay out (`layout`) → function bodies → program.
"""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import itertools
import json
import pathlib
from collections.abc import Mapping, Sequence
from importlib import resources

import onnx
import onnx.inliner

from backends import options as options_of
from backends.interface import CompileError, Options, Unsupported
from backends.sim import cache, cost, fusion, layout, partition, ports, rounding
from backends.sim.decompositions import Names, Nodes
from backends.sim.layout import Form, Step
from backends.sim.lowering import support_table
from backends.sim.placement import Declining
from backends.sim.profile import Profile
from backends.sim.rounding import Shapes
from backends.sim.translation import DECLINED, Translation, declare_initializers, label_of, types_of

MAX_EXPANSIONS = 4
"""Function bodies within function bodies: no operator of ONNX goes deeper."""

NEWER = (18, 13)
"""Opsets that an older model is raised to where that changes none of its operators, the first that fits."""

RESHAPE = 5
"""Opset from which on images can be laid out: Reshape took its shape as an attribute before."""

OPTIONS = ("cache", "cpu_fallback", "optimization")
LAYOUT = "layout."
"""Prefix of the option that asks for the layout of an input or output."""


@dataclasses.dataclass(frozen=True)
class Node:
    """A node of the model as the user wrote it. `engine` says in which type it was translated, or "fused:NODE" with which other
    it is computed; "" for its own. partition: None on the host."""

    name: str
    operator: str
    engine: str
    on_device: bool = True
    partition: int | None = 0


@dataclasses.dataclass(frozen=True)
class Program:
    """What the engine runs, serialised, and the user's nodes. operations: multiply-adds, the most of them in `dtype`; traffic:
    bytes between memory and units; both as far as shapes are known. conversions: tensors that change their layout at a border.
    cached: whether it came out of a cache."""

    model: bytes
    nodes: Sequence[Node]
    operations: int = 0
    traffic: int = 0
    dtype: str = "float32"
    conversions: Sequence[str] = ()
    cached: bool = False


class Compiler:
    """Compiles for one profile."""

    def __init__(self, profile: Profile) -> None:
        self.profile = profile
        self.declining = Declining(profile)

    def support_table(self) -> Mapping[str, frozenset[str]]:
        """Operator of ai.onnx → types of its first type constraint that the device supports."""
        own = {
            name: frozenset(filter(functools.partial(self.declining.computes, name), t)) for name, t in support_table().items()
        }
        return {name: types for name, types in own.items() if types and name not in self.profile.operators.declined}

    def compile(self, model: bytes, options: Options) -> Program:
        """Raises Unsupported for what is declined, CompileError for broken models, ValueError for an option that is none."""
        checked = options_of.check(options, OPTIONS, "sim", (LAYOUT,))
        if "cache" not in checked:
            return self.build(model, checked)
        folder, name = pathlib.Path(checked["cache"]), self.cache_key(model, checked)
        stored = self.cache_load(folder, name)
        if stored is not None:
            return dataclasses.replace(_unpacked(stored), cached=True)
        program = self.build(model, checked)
        try:
            self.cache_store(folder, name, _packed(program))
        except OSError as error:
            raise CompileError(f"the cache {folder} cannot be written: {error}", code="sim.cache") from error
        return program

    def cache_key(self, model: bytes, options: Options) -> str:
        """What a stored program depends on: model, options, profile, and the versions of engine and compiler."""
        rest = sorted((key, value) for key, value in options.items() if key != "cache")
        return cache.key(model, repr(rest).encode(), self.profile.fingerprint, self.engine_version().encode(), _sources())

    def engine_version(self) -> str:
        import onnxruntime

        return f"{onnxruntime.__version__} {onnx.__version__}"

    cache_load = staticmethod(cache.load)
    cache_store = staticmethod(cache.store)

    def prepare(self, model: onnx.ModelProto) -> onnx.ModelProto:
        """The user's model as it goes into the compiler: unchanged."""
        return model

    def build(self, model: bytes, options: Options) -> Program:
        """Compiles without the cache."""
        try:
            parsed = self.prepare(onnx.load_from_string(model))
            raised = _raise_opset(parsed)
            static = self.profile.shapes.static
            inferred = onnx.shape_inference.infer_shapes(parsed, check_type=True, data_prop=static)
        except Exception as error:
            raise CompileError(str(error), code=type(error).__name__) from error
        return Build(self, parsed, inferred, options, raised).program()

    def place(self, graph: onnx.GraphProto, opsets: Mapping[str, int], shapes: Shapes, fallback: bool) -> list[int | None]:
        """Partition of every node, None on the host. Raises Unsupported for a declined node without `fallback`."""
        reasons = self.declining.reasons(graph, opsets, shapes)
        if any(reasons) and not fallback:
            node, reason = next((n, r) for n, r in zip(graph.node, reasons, strict=True) if r)
            raise Unsupported(f"{self.profile.name} does not support {reason} (node {label_of(node)})", code=DECLINED)
        return partition.partitions(graph.node, [not reason for reason in reasons])

    def fuse(
        self, graph: onnx.GraphProto, placed: Sequence[int | None], types: Mapping[str, str], shapes: Shapes
    ) -> tuple[dict[int, int], dict[str, str]]:
        """(node → the leader that it is fused with, tensor that is not stored → its type on the way)."""
        return fusion.fuse(graph, placed, self.profile.operators.fused, types, shapes)

    def forms(self, types: Mapping[str, str], shapes: Shapes) -> dict[str, Form]:
        """Tensor → how it lies inside the device if it is an image."""
        return layout.forms(self.profile, types, shapes)

    def port_form(self, port: str, wanted: str, types: Mapping[str, str], shapes: Shapes) -> Form:
        """How an input or output lies in memory with the option `layout.PORT`. Raises Unsupported."""
        block = layout.block_of(self.profile.layout, types.get(port, "float32"))
        return ports.port_form(port, wanted, self.profile.layout.offered, block, types, shapes)

    def to_layout(self, source: str, target: str, form: Form, name: Names) -> Nodes:
        """The conversion where an image comes into the device's layout."""
        return layout.to_layout(source, target, form, name)

    def from_layout(self, source: str, target: str, form: Form, name: Names) -> Nodes:
        """The conversion where an image leaves the device's layout."""
        return layout.from_layout(source, target, form, name)

    def round(self, source: str, target: str, form: str, flushes: bool, name: Names) -> Nodes:
        """The conversion of a float32 tensor to the format in which it is stored, or accumulated."""
        return rounding.rounded(source, target, form, flushes, name)


class Build:
    """One compilation."""

    def __init__(
        self, compiler: Compiler, parsed: onnx.ModelProto, inferred: onnx.ModelProto, options: Options, raised: bool
    ) -> None:
        self.compiler = compiler
        self.options = options
        self.parsed = parsed
        self.model = inferred
        self.changed = raised
        self.types = types_of(inferred.graph)
        self.shapes = shapes_of(inferred.graph)
        self.opsets = {opset.domain: opset.version for opset in inferred.opset_import}
        self.opset = self.opsets.get("", self.opsets.get("ai.onnx", 0))
        self.fresh = itertools.count()
        self.conversions: list[str] = []
        self.nodes: list[Node] = []

    def program(self) -> Program:
        graph = self.model.graph
        placed = self.compiler.place(graph, self.opsets, self.shapes, self.options.get("cpu_fallback") == "1")
        apart = self.options.get("optimization") == "none"
        leaders, held = ({}, {}) if apart else self.compiler.fuse(graph, placed, self.types, self.shapes)
        operations, traffic, dtype = cost.of(graph, self.types, self.shapes, self.compiler.profile.precision, held)
        translation, steps = self._translate(placed, leaders, held)
        laid = self._lay_out(steps, held)
        if self.changed or translation.functions:
            del graph.node[:]
            graph.node.extend(laid)
            kept = [value for value in graph.value_info if value.name not in held]
            del graph.value_info[:]
            graph.value_info.extend(kept)
        self._lay_out_ports(translation.name)
        self._expand(translation)
        serialised = (self.model if self.changed else self.parsed).SerializeToString()
        return Program(serialised, self.nodes, operations, traffic, dtype, self.conversions)

    def _translate(
        self, placed: Sequence[int | None], leaders: Mapping[int, int], held: Mapping[str, str]
    ) -> tuple[Translation, list[Step]]:
        graph, names = self.model.graph, [label_of(node) for node in self.model.graph.node]
        translation = Translation(self.opsets, self.fresh, held)
        units = self.compiler.profile.precision
        rounds = rounding.Rounding(units, self.shapes, held, translation.name, self.opset, self.compiler.round)
        steps = []
        for index, node in enumerate(graph.node):
            number = placed[index]
            around = rounds.around if rounds.needed and number is not None else None
            lowered = translation.node(node, self.types, around)
            leader = leaders.get(index)
            for label, operator, engine in translation.engines:
                fused = f"fused:{names[leader]}" if leader is not None else engine
                self.nodes.append(Node(label, operator, fused, number is not None, number))
            translation.engines.clear()
            steps.append(Step(node, lowered, number, None if leader is None else graph.node[leader]))
        self.changed |= translation.changed
        return translation, steps

    def _lay_out(self, steps: Sequence[Step], held: Mapping[str, str]) -> list[onnx.NodeProto]:
        forms = self.compiler.forms(self.types, self.shapes)
        if not forms or self.opset < RESHAPE:
            return [node for step in steps for node in step.placed]
        numbers = {name for name, shape in self.shapes.items() if shape == ()}
        convert = (self.compiler.to_layout, self.compiler.from_layout)
        assignment = layout.Assignment(forms, held, numbers, Translation(self.opsets, self.fresh).name, *convert)
        nodes = assignment.apply(steps, [value.name for value in self.model.graph.output])
        self.conversions = assignment.conversions
        self.changed |= bool(assignment.laid)
        return nodes

    def _lay_out_ports(self, name: Names) -> None:
        """Inputs and outputs in the layouts that the options ask for."""
        graph = self.model.graph
        wanted = {key.removeprefix(LAYOUT): value for key, value in self.options.items() if key.startswith(LAYOUT)}
        for port in wanted.keys() - {value.name for value in (*graph.input, *graph.output)}:
            raise CompileError(f"option {LAYOUT}{port}: the model has no input or output {port}", code="sim.option")
        if wanted:
            forms = {port: self.compiler.port_form(port, form, self.types, self.shapes) for port, form in wanted.items()}
            ports.lay_out_ports(self.model, forms, name, self.compiler.to_layout, self.compiler.from_layout)
            self.changed = True

    def _expand(self, translation: Translation) -> None:
        """ONNX's bodies in place of the operators that they stand in for, translated in turn: a half's was already cast to
        float32, so it rounds once."""
        for _ in range(MAX_EXPANSIONS):
            if not translation.functions:
                return
            typed = onnx.shape_inference.infer_shapes(self.model)
            declare_initializers(typed.graph)
            functions = sorted(translation.functions)
            expanded = onnx.inliner.inline_selected_functions(typed, functions, inline_schema_functions=True)
            self.model = onnx.shape_inference.infer_shapes(expanded)
            translation = Translation({opset.domain: opset.version for opset in self.model.opset_import}, self.fresh)
            translation.changed = self.changed = True
            translation.graph(self.model.graph, {})


def shapes_of(graph: onnx.GraphProto) -> dict[str, tuple[int, ...] | None]:
    """Tensor → its shape, None where a dimension is unknown; for everything that is a tensor of known rank."""
    found: dict[str, tuple[int, ...] | None] = {tensor.name: tuple(tensor.dims) for tensor in graph.initializer}
    for value in (*graph.input, *graph.output, *graph.value_info):
        if value.type.HasField("tensor_type") and value.type.tensor_type.HasField("shape"):
            sizes = [d.dim_value if d.HasField("dim_value") else -1 for d in value.type.tensor_type.shape.dim]
            found[value.name] = None if -1 in sizes else tuple(sizes)
    return found


def _raise_opset(model: onnx.ModelProto) -> bool:
    """Import the newest of `NEWER` in which every node still has the version that it has; whether there was one.

    What stands in for a node is written in operators that old opsets lack.
    """
    default = next((opset for opset in model.opset_import if opset.domain in ("", "ai.onnx")), None)
    if default is None:
        return False
    for newer in (version for version in NEWER if version > default.version):
        nodes = [node for node in model.graph.node if node.domain in ("", "ai.onnx")]
        if all(
            onnx.defs.has(node.op_type, newer, "")
            and onnx.defs.has(node.op_type, default.version, "")
            and onnx.defs.get_schema(node.op_type, newer, "").since_version
            == onnx.defs.get_schema(node.op_type, default.version, "").since_version
            and not any(attribute.HasField("g") for attribute in node.attribute)
            for node in nodes
        ):
            default.version = newer
            return True
    return False


def _packed(program: Program) -> bytes:
    facts = dataclasses.asdict(program) | {"model": "", "nodes": [dataclasses.astuple(node) for node in program.nodes]}
    head = json.dumps(facts).encode()
    return len(head).to_bytes(8, "little") + head + program.model


def _unpacked(content: bytes) -> Program:
    start = 8 + int.from_bytes(content[:8], "little")
    facts = json.loads(content[8:start])
    nodes = [Node(*node) for node in facts["nodes"]]
    return Program(**{**facts, "model": content[start:], "nodes": nodes})


@functools.cache
def _sources() -> bytes:
    """The compiler's version: a digest of its source."""
    files = sorted((f for f in resources.files("backends.sim").iterdir() if f.name.endswith(".py")), key=lambda f: f.name)
    return hashlib.sha256(b"\0".join(file.name.encode() + b"\0" + file.read_bytes() for file in files)).digest()
