"""`npu-cts coverage`: which operators, versions, attributes, values, pairs, types, ranks and recipes have cases, which not.

Measured are the operators' cases, by the text of their ids, against ONNX's schemas and what suites/coverage.toml adds to them.
An attribute that an id leaves out has its default value. What ONNX does not admit is not missing; what no id can express is.
"""

from __future__ import annotations

import argparse
import dataclasses
import functools
import itertools
import json
import sys
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib import resources
from pathlib import Path
from typing import Any

import pytest
from onnx import AttributeProto, defs

from backends.options import nearest
from reference import dtypes
from suites import options
from suites.cases import contributed, operators
from suites.cases.graphs import HEAD as GRAPH
from suites.cases.identifier import parse
from suites.cases.recipes import RECIPES
from suites.cases.schema import DOMAINS, DTYPE_ATTRIBUTES, OLDEST_OPSET, RESERVED, Schema, SchemaError, schema

ASPECTS = ("versions", "attributes", "values", "attribute pairs", "value pairs", "types", "ranks")
"""What is counted. Versions: since_versions that opset 7 or a later one selects. Attributes: those that an id gives. Values: of
attributes that have few. Pairs: attributes given together, values of two attributes. Types: of each type variable. Ranks: of
the first tensor, 0 to 8, where ONNX admits any."""

RECIPES_OF = "recipes"
"""An aspect beside them: the suite's own ways to fill tensors, of which an operator need not have every one."""

_SHORT = {name: short for short, name in dtypes.SHORT.items()}
_PREFIX = {domain: f"{prefix}:" if prefix else "" for prefix, domain in DOMAINS.items()}


@dataclasses.dataclass(frozen=True)
class Aspect:
    """What of it has cases, with their number, and what has none."""

    covered: Mapping[str, int]
    missing: Sequence[str]

    @property
    def total(self) -> int:
        return len(self.covered) + len(self.missing)

    def __str__(self) -> str:
        return f"{len(self.covered)}/{self.total}" if self.total else ""


@dataclasses.dataclass(frozen=True)
class Coverage:
    """Of one operator. graphs: how many graphs of the suites hold it. reason: why it is to have no case, "" if it should."""

    operator: str
    family: str
    cases: int
    graphs: int
    reason: str
    aspects: Mapping[str, Aspect]

    @property
    def has_none(self) -> bool:
        return not self.cases and not self.graphs


@functools.cache
def data() -> Mapping[str, Any]:
    """suites/coverage.toml."""
    return tomllib.loads(resources.files("suites").joinpath("coverage.toml").read_text(encoding="utf-8"))


# What ONNX admits


@functools.cache
def schemas() -> Mapping[str, Sequence[Schema]]:
    """Operator, as ids have it → its schemas that a model of opset 7 or later can select."""
    found: dict[str, list[Schema]] = {}
    onnx = [("", s.name, s.since_version) for s in defs.get_all_schemas_with_history() if not s.domain]
    others = [(domain, name, 1) for domain, known in contributed.DOMAINS.items() for name in known]
    for domain, name, version in sorted({*onnx, *others}):
        try:
            described = schema(domain, name, version)
        except SchemaError:  # deprecated
            continue
        if described.opset >= OLDEST_OPSET or domain:
            found.setdefault(f"{_PREFIX[domain]}{name}", []).append(described)
    return found


@functools.cache
def _values(operator: str, version: int, attribute: str) -> tuple[str, ...]:
    """The values of an attribute that has few, as ids write them; () for any other."""
    table: Mapping[str, str] = data()["values"]
    since = [v for v in range(version, 0, -1) if f"{operator}-{v}.{attribute}" in table]
    keys = [f"{operator}-{since[0]}.{attribute}"] if since else []
    return tuple(next((table[key].split() for key in (*keys, f"{operator}.{attribute}", attribute) if key in table), ()))


@functools.cache
def _default(domain: str, operator: str, opset: int, attribute: str) -> str | None:
    """The default value of an attribute that has few, as ids write it; None where it has none, or the schema is not ONNX's."""
    if operator in contributed.DOMAINS[domain]:
        return None
    found = defs.get_schema(operator, opset, domain).attributes[attribute].default_value
    if found.type == AttributeProto.INT:
        return str(found.i)
    return found.s.decode() if found.type == AttributeProto.STRING else None


def _excluded(operator: str, pair: Iterable[str]) -> bool:
    table = data()["exclusive"]
    return any(set(pair) <= set(group.split()) for group in (*table["any"], *table.get(operator, ())))


def _admitted(described: Schema) -> dict[str, list[str]]:
    """Aspect → what a version of an operator admits."""
    name = described.operator
    few = {a: _values(name, described.version, a) for a in described.attributes}
    variables = {f.variable: f.types for f in (*described.inputs, *described.outputs) if f.variable and f.types}
    ranks = data()["ranks"]
    lowest = 1 if name in ranks["one_axis"].split() else 0
    is_any = (
        lowest or name in ranks["operators"].split() or operators.family(described.domain, name) in ranks["families"].split()
    )
    return {
        "versions": [str(described.version)],
        "attributes": list(described.attributes),
        "values": [f"{a}:{value}" for a, values in few.items() for value in values],
        "attribute pairs": [
            _pair(*pair) for pair in itertools.combinations(described.attributes, 2) if not _excluded(name, pair)
        ],
        "value pairs": [
            _pair(f"{a}:{x}", f"{b}:{y}")
            for a, b in itertools.combinations([a for a, values in few.items() if values], 2)
            for x, y in itertools.product(few[a], few[b])
            if not _excluded(name, (f"{a}:{x}", f"{b}:{y}"))
        ],
        "types": [f"{variable}:{_SHORT[t]}" for variable, types in variables.items() for t in types],
        "ranks": [str(rank) for rank in range(lowest, 9)] if is_any else [],
        RECIPES_OF: [name for name, recipe in RECIPES.items() if _fits(described, recipe.reals, recipe.integers)],
    }


def _pair(*two: str) -> str:
    return " + ".join(sorted(two))


def _fits(described: Schema, reals: object, integers: object) -> bool:
    """Whether a recipe is for some main type of an operator with tensors."""
    kinds = {dtypes.is_float(t) for t in described.main.types if not t.startswith(("complex", "str"))}
    return any(f.name not in described.parameters for f in described.inputs) and (
        (True in kinds and reals is not None) or (False in kinds and integers is not None)
    )


# What the cases have


@dataclasses.dataclass(frozen=True)
class _Given:
    """A case as its id's text has it."""

    described: Schema
    dtype: str
    inputs: Mapping[str, tuple[str, str]]  # name → text and dtype
    attributes: Mapping[str, str]
    recipe: str


def _given(case: str) -> _Given:
    head, short, *fields = case.split(".")
    name, _, version = head.rpartition("-")
    prefix, _, operator = name.rpartition(":")
    described, dtype = schema(DOMAINS[prefix], operator, int(version)), dtypes.SHORT[short]
    inputs: dict[str, tuple[str, str]] = {}
    attributes: dict[str, str] = {}
    recipe = ""
    for field in fields:
        key, _, text = field.partition(":")
        formal = described.formal(key)
        if formal is not None:
            text, _, suffix = text.partition(":")
            inputs[key] = (text, dtypes.SHORT[suffix] if suffix else described.default_type(formal, dtype) or dtype)
        elif key in described.attributes:
            attributes[key] = text
        elif key in RESERVED:
            recipe = text if key == "in" else recipe
    return _Given(described, dtype, inputs, attributes, recipe)


def _shown(case: str) -> dict[str, set[str]]:
    """Aspect → what a case has of it."""
    given = _given(case)
    described, attributes = given.described, given.attributes
    values = []
    for name in described.attributes:
        few = _values(described.operator, described.version, name)
        text = attributes.get(name) or _default(described.domain, described.operator, described.opset, name)
        items = text.split("_") if text and described.attributes[name].endswith("S") else [text]
        values += [[f"{name}:{item}" for item in items if item in few]]
    tensor = next((text for name, (text, _) in given.inputs.items() if name not in described.parameters), None)
    return {
        "versions": {str(described.version)},
        "attributes": set(attributes),
        "values": {value for group in values for value in group},
        "attribute pairs": {_pair(*pair) for pair in itertools.combinations(attributes, 2)},
        "value pairs": {_pair(x, y) for a, b in itertools.combinations(values, 2) for x, y in itertools.product(a, b)},
        "types": {f"{variable}:{_SHORT[t]}" for variable, t in _types(case, given).items()},
        "ranks": set() if tensor is None else {str(0 if tensor == "scalar" else tensor.count("x") + 1)},
        RECIPES_OF: {given.recipe} - {""},
    }


def _types(case: str, given: _Given) -> dict[str, str]:
    """Type variable → its type in a case; where only the model can tell, the model is built."""
    described = given.described
    bound = {described.main.variable: given.dtype}
    for name, (_, dtype) in given.inputs.items():
        formal = described.formal(name)
        assert formal is not None
        bound.setdefault(formal.variable, dtype)
    outputs = [formal for formal in described.outputs if formal.variable and formal.variable not in bound]
    named = [text for name, text in given.attributes.items() if name in DTYPE_ATTRIBUTES and name not in ("stash_type",)]
    for i, formal in enumerate(outputs):
        if len(formal.types) == 1:
            bound[formal.variable] = formal.types[0]
        elif len(outputs) == len(named) == 1:
            bound[formal.variable] = dtypes.SHORT[named[0]]
        elif i < len(known := parse(case).output_dtypes):
            bound[formal.variable] = (
                known[described.outputs.index(formal)] if described.outputs.index(formal) < len(known) else ""
            )
    return {variable: dtype for variable, dtype in bound.items() if variable and dtype}


def _in_graphs() -> Counter[str]:
    """Operator → how many graphs of the suites hold it."""
    from suites.profile_selection import tests  # which loads every suite

    graphs = {case.split(".")[2]: case for cases in tests().values() for case in cases if case.startswith(f"{GRAPH}-")}
    found: Counter[str] = Counter()
    for case in graphs.values():
        found.update({f"{_PREFIX.get(node.domain, '')}{node.op_type}" for node in _nodes(parse(case).model.graph)})
    return found


def _nodes(graph: Any) -> Iterator[Any]:
    """The nodes of a graph and of the graphs in it."""
    for node in graph.node:
        yield node
        for attribute in node.attribute:
            for inner in (*attribute.graphs, *([attribute.g] if attribute.HasField("g") else [])):
                yield from _nodes(inner)


def measure() -> dict[str, Coverage]:
    """Operator → what of it has cases."""
    cases: dict[str, list[str]] = {}
    for case in operators.ALL:
        cases.setdefault(case.split(".", 1)[0].rpartition("-")[0], []).append(case)
    graphs = _in_graphs()
    return {name: _measured(name, described, cases.get(name, []), graphs[name]) for name, described in schemas().items()}


def _measured(name: str, described: Sequence[Schema], cases: Sequence[str], graphs: int) -> Coverage:
    counts: dict[str, Counter[str]] = {aspect: Counter() for aspect in (*ASPECTS, RECIPES_OF)}
    for case in cases:
        for aspect, found in _shown(case).items():
            counts[aspect].update(found)
    aspects: dict[str, Aspect] = {}
    for aspect, seen in counts.items():
        admitted = dict.fromkeys(item for version in described for item in _admitted(version)[aspect])
        covered = {item: seen[item] for item in admitted if seen[item]}
        if aspect == "ranks" and not admitted:  # nothing says which there are
            covered = dict(sorted(seen.items()))
        aspects[aspect] = Aspect(covered, [item for item in admitted if not seen[item]])
    first = described[0]
    return Coverage(
        name,
        operators.family(first.domain, first.operator),
        len(cases),
        graphs,
        data()["reasons"].get(name, ""),
        aspects,
    )


def total(found: Iterable[Coverage], aspect: str) -> Aspect:
    """An aspect over several operators; items are named after their operators."""
    chosen = [(each.operator, each.aspects[aspect]) for each in found]
    return Aspect(
        {f"{name} {item}": count for name, part in chosen for item, count in part.covered.items()},
        [f"{name} {item}" for name, part in chosen for item in part.missing],
    )


# The command


def main(arguments: Sequence[str]) -> int:
    """Prints what is covered, writes it where asked; 4 for usage errors."""
    from suites import coverage_report  # which needs what is above

    parser = argparse.ArgumentParser(
        prog="npu-cts coverage", description="What of ONNX's operators has cases, and what has none."
    )
    parser.add_argument("--ops", metavar="A,B", help="show these operators in full")
    parser.add_argument("--html", type=Path, metavar="FILE", help="also write one page for a browser")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write everything as JSON")
    try:
        given = parser.parse_args(arguments)
    except SystemExit as ended:
        return int(pytest.ExitCode.USAGE_ERROR) if ended.code else 0
    unknown = next((name for name in sorted(options.names(given.ops) or ()) if name not in schemas()), None)
    if unknown is not None or (given.ops is not None and not options.names(given.ops)):
        said = f"no operator '{unknown[:80]}'{nearest(unknown, schemas())}" if unknown else "no name was given"
        print(f"npu-cts coverage: --ops: {said}", file=sys.stderr)
        return int(pytest.ExitCode.USAGE_ERROR)
    found = measure()
    try:
        for path, text in ((given.html, coverage_report.html), (given.json, as_json)):
            if path is not None:
                path.write_text(text(found), encoding="utf-8", newline="\n")
    except OSError as error:
        print(f"npu-cts coverage: {error.strerror}: {error.filename}", file=sys.stderr)
        return int(pytest.ExitCode.USAGE_ERROR)
    shown = options.names(given.ops)
    if shown is None:
        print(coverage_report.summary(found))
    else:
        print("\n\n".join(coverage_report.detail(each) for name, each in found.items() if name in shown))
    return 0


def as_json(found: Mapping[str, Coverage]) -> str:
    """Everything, for other programs."""
    everything = {
        "onnx": defs.onnx_opset_version(),
        "domains": data()["domains"],
        "operators": [dataclasses.asdict(each) for each in found.values()],
    }
    return json.dumps(everything, indent=1, ensure_ascii=False) + "\n"
