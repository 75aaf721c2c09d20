"""What a profile's device declines: operators, types, shapes."""

from __future__ import annotations

from collections.abc import Mapping

import onnx

from backends.sim.lowering import TO_ONNX, allowed_types, first_variable
from backends.sim.profile import Profile
from backends.sim.support import MOVES
from backends.sim.translation import bound_types, types_of

Shapes = Mapping[str, tuple[int, ...] | None]

ANY_RANK = 64
"""More dimensions than NumPy's arrays have: no limit."""


class Declining:
    """Why a device of this profile declines a node. Of its types only the one counts that the support table speaks of: what an
    operator converts to, counts with or selects by is not restricted."""

    def __init__(self, profile: Profile) -> None:
        self._operators = profile.operators
        self._shapes = profile.shapes
        self._everything = self._operators.types.issuperset(TO_ONNX) and not self._operators.declined

    def computes(self, operator: str, dtype: str) -> bool:
        """Whether the operator's first type may be this one."""
        return dtype in self._operators.types or (operator in MOVES and dtype in self._operators.moved)

    def reasons(self, graph: onnx.GraphProto, opsets: Mapping[str, int], shapes: Shapes) -> list[str]:
        """Of every node of a graph: what is declined about it, in words, "" for nothing."""
        if self._everything and not self._shapes.static and self._shapes.max_rank >= ANY_RANK:
            return [""] * len(graph.node)
        return self._graph(graph, opsets, shapes, {}, self._shapes.static)

    def _graph(
        self, graph: onnx.GraphProto, opsets: Mapping[str, int], shapes: Shapes, outer: Mapping[str, str], static: bool
    ) -> list[str]:
        types = {**outer, **types_of(graph)}
        return [self._reason(node, opsets, shapes, types, static) for node in graph.node]

    def _reason(
        self, node: onnx.NodeProto, opsets: Mapping[str, int], shapes: Shapes, types: Mapping[str, str], static: bool
    ) -> str:
        if not self._everything:
            reason = self._operator(node, opsets, types)
            if reason:
                return reason
        tensors = [name for name in (*node.input, *node.output) if name]
        rank = max((len(shape) for name in tensors if (shape := shapes.get(name)) is not None), default=0)
        if rank > self._shapes.max_rank:
            return f"{node.op_type} of rank {rank}: at most {self._shapes.max_rank}"
        unknown = next((name for name in tensors if shapes.get(name) is None), None) if static else None
        if unknown is not None:
            return f"{node.op_type} of dynamic shapes: that of {unknown} is unknown"
        inner = [a.g for a in node.attribute if a.type == onnx.AttributeProto.GRAPH]
        found = (reason for graph in inner for reason in self._graph(graph, opsets, shapes, types, False))
        return next((reason for reason in found if reason), "")

    def _operator(self, node: onnx.NodeProto, opsets: Mapping[str, int], types: Mapping[str, str]) -> str:
        """What is declined about the operator and its types."""
        domain = "" if node.domain == "ai.onnx" else node.domain
        if not domain and node.op_type in self._operators.declined:
            return node.op_type
        if not onnx.defs.has(node.op_type, domain):
            named = [types[name] for name in (*node.input, *node.output) if name in types]
            wrong = [dtype for dtype in named if not self._travels(dtype)]
            return f"{domain}:{node.op_type} of {wrong[0]}" if wrong else ""
        schema = onnx.defs.get_schema(node.op_type, opsets.get(domain, opsets.get(node.domain, 0)), domain)
        if not schema.type_constraints:
            return ""
        first = first_variable(schema)
        dtype = bound_types(node, schema, types).get(first, "")
        element = dtype.rpartition("(")[2].rstrip(")")
        free = len(allowed_types(schema)[first]) == 1 or not dtype
        return "" if free or self.computes(node.op_type, element) else f"{node.op_type} of {dtype}"

    def _travels(self, dtype: str) -> bool:
        return dtype in self._operators.types or dtype in self._operators.moved
