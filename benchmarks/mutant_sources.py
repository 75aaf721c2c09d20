"""Mutants of the simulated device: mutmut's own operators on its functions, one change each.

Left out by rule is what cannot change a device's behaviour: annotations, docstrings and decorators (mutmut leaves those out
itself), text and code of errors, strings of several words, labels of tensors that get a fresh name (`name("sum")`), and data of
modules and classes. backends/sim/faults is no part of the device.
"""

from __future__ import annotations

import ast
import collections
import dataclasses
import difflib
import functools
import itertools
from collections.abc import Iterator, Mapping
from pathlib import Path

import libcst as cst
from libcst.metadata import MetadataWrapper, ParentNodeProvider, PositionProvider
from mutmut.mutation.file_mutation import Mutation, MutationVisitor, deep_replace
from mutmut.mutation.mutators import mutation_operators
from mutmut.mutation.pragma_handling import IgnoredCode

FOLDER = Path(__file__).resolve().parent.parent / "backends" / "sim"
PACKAGE = "backends.sim"
REACHED = "__reached__"
"""Global of an instrumented module: the set of places that were reached."""

Place = tuple[str, int]
"""(module, line of a statement)"""


@dataclasses.dataclass(frozen=True)
class Mutant:
    """One change. place: the statement that has to run for it to matter. source: of the whole module."""

    module: str
    function: str
    place: Place
    old: str
    new: str
    source: str = dataclasses.field(repr=False)

    @property
    def key(self) -> str:
        """What names it as long as the code around it stays as it is."""
        return f"{self.module.removeprefix(PACKAGE + '.')}:{self.function}: {self.old} → {self.new}"


def sources() -> dict[str, str]:
    """Module → its text, of every module of the simulated device."""
    names = {path: PACKAGE if path.stem == "__init__" else f"{PACKAGE}.{path.stem}" for path in sorted(FOLDER.glob("*.py"))}
    return {name: path.read_text(encoding="utf-8") for path, name in names.items()}


class Functions(MutationVisitor):
    """mutmut's visitor, that goes into decorated functions too: what it leaves them out for is its way of storing mutants."""

    def _skip_node_and_children(self, node: cst.CSTNode) -> bool:
        return not isinstance(node, cst.FunctionDef) and bool(super()._skip_node_and_children(node))


class Module:
    """The mutations of one module: function and number → mutation."""

    def __init__(self, name: str, source: str) -> None:
        self.name = name
        self.source = source
        wrapper = MetadataWrapper(cst.parse_module(source))
        self.tree = wrapper.module
        self._parents: Mapping[cst.CSTNode, cst.CSTNode] = wrapper.resolve(ParentNodeProvider)
        self._positions = wrapper.resolve(PositionProvider)
        visitor = Functions(mutation_operators, IgnoredCode(set(), set(), set()))
        wrapper.visit(visitor)
        self.mutations: dict[str, Mutation] = {}
        numbers: collections.Counter[str] = collections.Counter()
        for mutation in visitor.mutations:
            function = self._function(mutation)
            if function is not None and not self._is_text(mutation):
                name = self._qualified(function)
                self.mutations[f"{name} {numbers[name]}"] = mutation
                numbers[name] += 1

    def mutant(self, label: str) -> Mutant | None:
        """The mutant of one of `mutations`; None where the change makes no other program, or none at all."""
        mutation = self.mutations[label]
        mutated = deep_replace(self.tree, mutation.original_node, mutation.mutated_node)
        assert isinstance(mutated, cst.Module)
        function = self._function(mutation)
        assert function is not None
        try:
            if ast.dump(ast.parse(mutated.code)) == ast.dump(self._ast):
                return None
        except SyntaxError:
            return None
        old, new = _difference(self.source, mutated.code)
        start = self._positions[mutation.original_node].start if mutation.original_node in self._positions else None
        inner = self._statement(start.line, start.column) if start else self._statement(self._line(mutation.original_node), 0)
        return Mutant(self.name, self._qualified(function), (self.name, inner), old, new, mutated.code)

    @functools.cached_property
    def _ast(self) -> ast.Module:
        return ast.parse(self.source)

    def _line(self, node: cst.CSTNode) -> int:
        """The line of the next node around this one that has one."""
        while node not in self._positions:
            node = self._parents[node]
        return int(self._positions[node].start.line)

    def _around(self, node: cst.CSTNode) -> Iterator[cst.CSTNode]:
        while node in self._parents:
            node = self._parents[node]
            yield node

    def _function(self, mutation: Mutation) -> cst.FunctionDef | None:
        around = self._around(mutation.original_node)
        return next((node for node in around if isinstance(node, cst.FunctionDef)), None)

    def _qualified(self, function: cst.FunctionDef) -> str:
        names = [n.name.value for n in self._around(function) if isinstance(n, cst.FunctionDef | cst.ClassDef)]
        return ".".join([*reversed(names), function.name.value])

    def _is_text(self, mutation: Mutation) -> bool:
        """Whether only words change: those of an error, a string of several, the label of a fresh name."""
        node = mutation.original_node
        if isinstance(node, cst.SimpleString) and " " in node.value:
            return True
        if isinstance(node, cst.Call) and _is_naming(node) and isinstance(mutation.mutated_node, cst.Call):
            return len(mutation.mutated_node.args) == len(node.args)
        if self._is_message(node):
            return True
        path = [node, *self._around(node)]
        for inner, outer in itertools.pairwise(path):
            if _is_naming(outer.elt if isinstance(outer, cst.GeneratorExp) else outer) and isinstance(node, cst.SimpleString):
                return True
            if isinstance(outer, cst.Raise) and isinstance(inner, cst.Call) and inner is node:
                assert isinstance(mutation.mutated_node, cst.Call)
                return _words_only(inner, mutation.mutated_node)
            if isinstance(outer, cst.Call) and isinstance(inner, cst.Arg) and self._is_raised(outer):
                return inner.keyword is None or inner.keyword.value == "code"
            if self._is_message(outer):
                return True
            if isinstance(outer, cst.FunctionDef):
                return False
        return False

    def _is_raised(self, call: cst.Call) -> bool:
        return isinstance(self._parents[call], cst.Raise)

    def _is_message(self, assignment: cst.CSTNode) -> bool:
        """Whether a variable is set that errors alone read."""
        if not isinstance(assignment, cst.Assign) or not isinstance(assignment.targets[0].target, cst.Name):
            return False
        name = assignment.targets[0].target.value
        function = next((n for n in self._around(assignment) if isinstance(n, cst.FunctionDef)), None)
        if function is None:
            return False
        reads = [n for n in _walk(function) if isinstance(n, cst.Name) and n.value == name and not self._is_target(n)]
        return bool(reads) and all(any(isinstance(outer, cst.Raise) for outer in self._around(read)) for read in reads)

    def _is_target(self, name: cst.Name) -> bool:
        parent = self._parents[name]
        return isinstance(parent, cst.AssignTarget) or (isinstance(parent, cst.AugAssign) and parent.target is name)

    def _statement(self, line: int, column: int) -> int:
        """The line of the innermost statement around a position; of the first one inside for the head of a function."""
        found: ast.stmt | None = None
        for node in ast.walk(self._ast):
            if isinstance(node, ast.stmt) and (node.lineno, node.col_offset) <= (line, column):
                end = (node.end_lineno or 0, node.end_col_offset or 0)
                if (line, column) < end and (
                    found is None or (node.lineno, node.col_offset) >= (found.lineno, found.col_offset)
                ):
                    found = node
        if isinstance(found, ast.FunctionDef):
            found = next(statement for statement in found.body if not _is_docstring(statement))
        return found.lineno if found is not None else line


def _walk(node: cst.CSTNode) -> Iterator[cst.CSTNode]:
    yield node
    for child in node.children:
        yield from _walk(child)


def _is_naming(node: cst.CSTNode) -> bool:
    """Whether a name that nothing else has is made here: a call of `name`."""
    if not isinstance(node, cst.Call):
        return False
    called = node.func.attr if isinstance(node.func, cst.Attribute) else node.func
    return isinstance(called, cst.Name) and called.value == "name"


def _words_only(before: cst.Call, after: cst.Call) -> bool:
    """Whether two calls of an error's class differ in its text or code alone, and both are calls of it."""
    changed = next((arg for arg in before.args if arg not in after.args), None)
    if changed is None or not (changed.keyword is None or changed.keyword.value == "code"):
        return False
    return len(after.args) == len(before.args) or changed.keyword is not None


def _difference(old: str, new: str) -> tuple[str, str]:
    """The lines that differ, in one line each."""
    lines = list(difflib.ndiff(old.splitlines(), new.splitlines()))
    before, after = ([line[2:].strip() for line in lines if line.startswith(sign)] for sign in ("- ", "+ "))
    return " ".join(before), " ".join(after)


def instrumented(name: str, source: str) -> ast.Module:
    """The module with a note of every statement of its functions in the set `REACHED` before it runs."""
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            for inner in ast.walk(node):
                _mark(inner, name)
    return ast.fix_missing_locations(tree)


def _mark(node: ast.AST, name: str) -> None:
    for field in ("body", "orelse", "finalbody"):
        body = getattr(node, field, None)
        if not isinstance(body, list) or getattr(body[0] if body else None, "is_mark", False):
            continue
        marked: list[ast.stmt] = []
        for statement in body:
            if not _is_docstring(statement):
                mark = ast.parse(f"{REACHED}.add(({name!r}, {statement.lineno}))").body[0]
                mark.is_mark = True  # type: ignore[attr-defined]
                marked.append(ast.copy_location(mark, statement))
            marked.append(statement)
        body[:] = marked


def _is_docstring(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
