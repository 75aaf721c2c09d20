"""The grammar of case ids: `parse` makes a case of an id, `format` writes the one id of a single-operator node.

    Conv-22.f32.x:1x3x8x9.w:5x3x3x3.pads:1_1_1_1.group:1.in:normal

Fields are joined by "." and written in this order:

    [domain:]Operator-version   the operator and its since_version; "ms:" is com.microsoft
    dtype                       short name of the main type (`Schema.main`)
    name:SHAPE[:dtype]          a tensor, by its formal name in lower case, variadic ones numbered; 1x3x8, 5, "scalar";
                                the dtype only where it is not `Schema.default_type`
    name:VALUES[:dtype]         an input of `schema.PARAMETERS`, by value: 1_-1, "none" for an empty list
    name:value                  an attribute: whole numbers; reals as mantissa and exponent (15e-1, inf, -inf, nan);
                                texts with characters outside [A-Za-z0-9_-] written +XX (UTF-8, hexadecimal), an empty
                                one "+"; lists joined by "_"; types by short name; TENSOR as the number that fills it
    outputs:N                   how many outputs the node has, where optional ones are asked for
    const:names                 tensors that are initialisers, joined by "_"
    feed:names                  parameters that are graph inputs
    in:RECIPE                   how tensors get their values (`recipes.RECIPES`); there if and only if there is a tensor

Every character is one that pytest's `-k` accepts. An id that is not written canonically is an error, so that equal
cases have equal ids.
"""

from __future__ import annotations

import decimal
import math
import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from reference import dtypes
from suites.cases.case import Case
from suites.cases.errors import CaseIdError
from suites.cases.node import Node, Parameter, Tensor
from suites.cases.recipes import RECIPES, integer_range
from suites.cases.schema import DOMAINS, DTYPE_ATTRIBUTES, RESERVED, Formal, Schema, SchemaError, schema

LONGEST = 1000
"""Characters of an id."""

LARGEST = 2**31
"""Bytes of a tensor."""

HEADS: dict[str, Callable[[str], Case]] = {}
"""First field of an id, up to its "-" → reader of that family of ids; every other id is an operator's."""

_PREFIX = {domain: prefix for prefix, domain in DOMAINS.items()}
_SHORT = {name: short for short, name in dtypes.SHORT.items()}
_HEAD = re.compile(r"(?:([a-z]+):)?([A-Za-z][A-Za-z0-9]*)-([1-9][0-9]{0,3})")
_INTEGER = re.compile(r"-?[0-9]{1,20}")
_REAL = re.compile(r"-?[0-9]{1,20}(e-?[0-9]{1,4})?|-?inf|nan")
_DIMENSIONS = re.compile(r"[0-9]{1,10}(x[0-9]{1,10})*")
_TEXT = re.compile(r"(?:[A-Za-z0-9_-]|\+[0-9A-F]{2})+|\+")


def parse(id: str) -> Case:
    """The case of an id. Raises CaseIdError, one line that names the field, what was expected and the nearest valid
    thing.
    """
    try:
        if not isinstance(id, str) or not 0 < len(id) <= LONGEST:
            raise CaseIdError(f"expected a text of 1 to {LONGEST} characters")
        wrong = re.search(r"[^A-Za-z0-9_:+.-]", id)
        if wrong:
            raise CaseIdError(f"character {wrong[0]!a} at {wrong.start()}; expected letters, digits and _ : - + .")
        return HEADS.get(id.split(".")[0].split("-")[0], _operator_case)(id)
    except CaseIdError as error:
        raise CaseIdError(f"case id {ascii(id)[:120]}: {error}") from None


def format(node: Node) -> str:
    """The id of a node."""
    fields = [f"{_prefix(node.domain)}{node.operator}-{node.version}", _SHORT[node.dtype]]
    described = node.schema
    for entry in sorted(node.inputs, key=lambda entry: isinstance(entry, Parameter)):
        formal = described.formal(entry.name)
        assert formal is not None, f"{node.operator} has no input {entry.name}"
        suffix = "" if entry.dtype == described.default_type(formal, node.dtype) else f":{_SHORT[entry.dtype]}"
        text = _numbers(entry) if isinstance(entry, Parameter) else _shape(entry.shape)
        fields.append(f"{entry.name}:{text}{suffix}")
    fields += [f"{name}:{_attribute_text(name, described.attributes[name], value)}" for name, value in node.attributes]
    fields += [f"outputs:{node.outputs}"] if node.outputs is not None else []
    fields += [f"{name}:{'_'.join(names)}" for name, names in (("const", node.const), ("feed", node.feed)) if names]
    fields += [f"in:{node.recipe}"] if node.recipe is not None else []
    return ".".join(fields)


def _operator_case(id: str) -> Case:
    node = _read(id)
    canonical = format(node)
    if canonical != id:
        given, wanted = id.split("."), canonical.split(".")
        first = next((a for a, b in zip(given, wanted, strict=False) if a != b), given[-1])
        raise CaseIdError(f"field {first}: not the canonical spelling or order; expected {canonical}")
    return Case(id, node)


def _prefix(domain: str) -> str:
    return f"{_PREFIX[domain]}:" if domain else ""


def _read(id: str) -> Node:
    """Every field read and checked against the schema, spelling aside."""
    fields = id.split(".")
    described = _head(fields[0])
    main = _dtype(fields[1] if len(fields) > 1 else "", "the second field", described.main.types)
    tensors: dict[str, Tensor | Parameter] = {}
    attributes: dict[str, Any] = {}
    reserved: dict[str, str] = {}
    for field in fields[2:]:
        name, colon, value = field.partition(":")
        if not colon or not name or not value:
            raise CaseIdError(f"field {field!r}: expected name:value")
        if name in tensors or name in attributes or name in reserved:
            raise CaseIdError(f"field {field}: {name} is given twice")
        formal = described.formal(name)
        if formal is not None:
            tensors[name] = _input(field, name, value, formal, described, main)
        elif name in described.attributes:
            attributes[name] = _attribute(field, name, value, described.attributes[name], main)
        elif name in RESERVED:
            reserved[name] = value
        else:
            known = [f"{f.stem}0" if f.option == "variadic" else f.name for f in described.inputs]
            raise CaseIdError(
                f"field {field}: {described.operator}-{described.version} has no {name}; its inputs are "
                f"{', '.join(known) or 'none'}, its attributes {', '.join(described.attributes) or 'none'}"
            )
    _complete(described, tensors, attributes)
    ordered = _ordered(described, tensors.values())
    return Node(
        described.domain,
        described.operator,
        described.version,
        main,
        ordered,
        tuple((name, attributes[name]) for name in described.attributes if name in attributes),
        _outputs(reserved.get("outputs"), described),
        _names("const", reserved.get("const"), [e.name for e in ordered if isinstance(e, Tensor)]),
        _names("feed", reserved.get("feed"), [e.name for e in ordered if isinstance(e, Parameter)]),
        _recipe(reserved.get("in"), main, any(isinstance(e, Tensor) for e in ordered)),
    )


def _head(field: str) -> Schema:
    match = _HEAD.fullmatch(field)
    if not match:
        raise CaseIdError(f"field {field!r}: expected an operator and its version, such as Conv-22 or ms:Gelu-1")
    prefix, operator, version = match[1] or "", match[2], int(match[3])
    if prefix not in DOMAINS or (match[1] is not None and not prefix):
        raise CaseIdError(f"field {field}: unknown domain {prefix}; expected {', '.join(d for d in DOMAINS if d)} or none")
    try:
        found = schema(DOMAINS[prefix], operator, version)
    except SchemaError as error:
        raise CaseIdError(f"field {field}: {error}") from None
    if not found.outputs or not any(f.types for f in found.outputs):
        raise CaseIdError(f"field {field}: {operator} has no tensor output; expected an operator on tensors")
    return found


def _dtype(text: str, where: str, types: Sequence[str]) -> str:
    """The dtype name of a short name that is among `types`."""
    shorts = ", ".join(_SHORT[name] for name in types)
    if text not in dtypes.SHORT:
        raise CaseIdError(f"{where}: {text!r} is no dtype; expected one of {shorts}")
    if dtypes.SHORT[text] not in types:
        raise CaseIdError(f"{where}: the schema does not admit {text}; expected one of {shorts}")
    return dtypes.SHORT[text]


def _input(field: str, name: str, value: str, formal: Formal, described: Schema, main: str) -> Tensor | Parameter:
    text, colon, suffix = value.partition(":")
    default = described.default_type(formal, main)
    if colon:
        dtype = _dtype(suffix, f"field {field}", formal.types)
    elif default is None:
        choices = ", ".join(_SHORT[t] for t in formal.types)
        raise CaseIdError(f"field {field}: the dtype of {name} is open; expected {name}:{text}: and one of {choices}")
    else:
        dtype = default
    if name in described.parameters:
        return Parameter(name, _values(field, text, described.parameters[name], dtype), dtype)
    if text != "scalar" and not _DIMENSIONS.fullmatch(text):
        raise CaseIdError(f"field {field}: {text!r} is no shape; expected one such as 1x3x8, 5 or scalar")
    shape = () if text == "scalar" else tuple(int(d) for d in text.split("x"))
    if math.prod(d for d in shape if d) * dtypes.numpy_dtype(dtype).itemsize > LARGEST:
        raise CaseIdError(f"field {field}: larger than {LARGEST} bytes; expected a smaller shape")
    return Tensor(name, shape, dtype)


def _values(field: str, text: str, rank: int, dtype: str) -> int | float | tuple[int | float, ...]:
    """A parameter's number or numbers."""
    if dtype == "str" or dtype.startswith("complex"):
        raise CaseIdError(f"field {field}: values of type {dtype} cannot be written; expected a number type")
    items = [] if rank and text == "none" else text.split("_") if rank else [text]
    read = _real if dtypes.is_float(dtype) else _integer
    numbers = tuple(read(field, item) for item in items)
    if not dtypes.is_float(dtype):
        low, high = integer_range(dtype)
        for number in numbers:
            if not low <= number <= high:
                raise CaseIdError(f"field {field}: {number} is no {dtype}; expected {low} to {high}")
    return numbers if rank else numbers[0]


def _integer(field: str, text: str) -> int:
    if not _INTEGER.fullmatch(text):
        raise CaseIdError(f"field {field}: {text!r} is no whole number; expected one such as -1 or 3")
    return int(text)


def _real(field: str, text: str) -> float:
    if not _REAL.fullmatch(text):
        raise CaseIdError(
            f"field {field}: {text!r} is no real number; expected mantissa and exponent such as 15e-1, inf or nan"
        )
    return float(text)


def _attribute(field: str, name: str, text: str, kind: str, main: str) -> Any:
    """An attribute's value by the schema's attribute type."""
    if name in DTYPE_ATTRIBUTES and kind == "INT":
        return dtypes.ONNX[_dtype(text, f"field {field}", tuple(dtypes.SHORT.values()))]
    if kind in ("INT", "INTS"):
        numbers = [_integer(field, item) for item in _items(text, kind)]
        if any(not -(2**63) <= number < 2**63 for number in numbers):
            raise CaseIdError(f"field {field}: expected whole numbers of 64 bits")
        return numbers if kind == "INTS" else numbers[0]
    if kind in ("FLOAT", "FLOATS"):
        reals = [_real(field, item) for item in _items(text, kind)]
        if any(math.isfinite(real) and abs(real) > dtypes.FLOATS["float32"].largest for real in reals):
            raise CaseIdError(
                f"field {field}: expected numbers of at most {dtypes.FLOATS['float32'].largest}, as float32 holds"
            )
        return reals if kind == "FLOATS" else reals[0]
    if kind in ("STRING", "STRINGS"):
        texts = [_text(field, item) for item in _items(text, kind)]
        return texts if kind == "STRINGS" else texts[0]
    if kind == "TENSOR":
        return _values(field, text, 0, main)
    raise CaseIdError(f"field {field}: attributes of type {kind} cannot be written; expected {name} to be left out")


def _items(text: str, kind: str) -> list[str]:
    if not kind.endswith("S"):
        return [text]
    return [] if text == "none" else text.split("_")


def _text(field: str, text: str) -> str:
    if not _TEXT.fullmatch(text):
        raise CaseIdError(f"field {field}: expected letters, digits, - and _, anything else as +XX in hexadecimal")
    plain = re.sub(r"\+([0-9A-F]{2})?", lambda m: chr(int(m[1], 16)) if m[1] else "", text)
    try:
        return plain.encode("latin-1").decode()
    except UnicodeDecodeError:
        raise CaseIdError(f"field {field}: the bytes written as +XX are not UTF-8; expected UTF-8") from None


def _complete(described: Schema, tensors: dict[str, Tensor | Parameter], attributes: dict[str, Any]) -> None:
    """Nothing that the schema requires is missing, variadic inputs are numbered from 0, type variables have one
    type.
    """
    head = f"{described.operator}-{described.version}"
    for formal in described.inputs:
        if formal.option == "single" and formal.name not in tensors:
            raise CaseIdError(f"missing input {formal.name}; {head} needs {_required(described)}")
        if formal.option == "variadic":
            count = sum(described.formal(name) is formal for name in tensors)
            gap = next((i for i in range(max(count, 1)) if f"{formal.stem}{i}" not in tensors), None)
            if gap is not None:
                raise CaseIdError(f"missing input {formal.stem}{gap}; variadic inputs are numbered from 0 without gaps")
    for name in sorted(described.required - attributes.keys()):
        raise CaseIdError(f"missing attribute {name}; {head} needs {', '.join(sorted(described.required))}")
    bound: dict[str, str] = {}
    for entry in tensors.values():
        found = described.formal(entry.name)
        variable = found.variable if found else ""
        if variable and bound.setdefault(variable, entry.dtype) != entry.dtype:
            raise CaseIdError(
                f"field {entry.name}: is {_SHORT[entry.dtype]}, another input of type {variable} is "
                f"{_SHORT[bound[variable]]}; expected one type"
            )


def _required(described: Schema) -> str:
    return ", ".join(f"{f.stem}0" if f.option == "variadic" else f.name for f in described.inputs if f.option != "optional")


def _ordered(described: Schema, entries: Iterable[Tensor | Parameter]) -> tuple[Tensor | Parameter, ...]:
    """Inputs in the schema's order, variadic ones by number."""
    positions = {formal.name: i for i, formal in enumerate(described.inputs)}

    def position(entry: Tensor | Parameter) -> tuple[int, int]:
        formal = described.formal(entry.name)
        assert formal is not None
        number = entry.name.removeprefix(formal.stem)
        return positions[formal.name], int(number) if formal.option == "variadic" else 0

    return tuple(sorted(entries, key=position))


def _outputs(text: str | None, described: Schema) -> int | None:
    if text is None:
        return None
    most = 64 if described.outputs[-1].option == "variadic" else len(described.outputs)
    if not _INTEGER.fullmatch(text) or not 1 <= int(text) <= most:
        raise CaseIdError(f"field outputs:{text}: expected a number of outputs, 1 to {most}")
    return int(text)


def _names(field: str, text: str | None, known: Sequence[str]) -> tuple[str, ...]:
    """Names joined by "_", which names themselves may contain: read as a subsequence of the known ones."""
    if text is None:
        return ()

    def read(rest: str, known: Sequence[str]) -> tuple[str, ...] | None:
        for i, name in enumerate(known):
            if rest == name:
                return (name,)
            if rest.startswith(f"{name}_"):
                more = read(rest[len(name) + 1 :], known[i + 1 :])
                if more is not None:
                    return (name, *more)
        return None

    names = read(text, known)
    if names is None:
        raise CaseIdError(f"field {field}:{text}: expected some of {', '.join(known) or 'none'}, in this order, joined by _")
    return names


def _recipe(text: str | None, main: str, needed: bool) -> str | None:
    if text is None:
        if needed:
            raise CaseIdError(f"missing field in:RECIPE; expected one of {', '.join(RECIPES)}")
        return None
    if not needed:
        raise CaseIdError(f"field in:{text}: there is no tensor to fill; expected the field to be left out")
    if text not in RECIPES:
        raise CaseIdError(f"field in:{text}: unknown recipe; there are {', '.join(RECIPES)}")
    kind = "reals" if dtypes.is_float(main) or main.startswith("complex") else "integers"
    if getattr(RECIPES[text], kind) is None:
        usable = ", ".join(name for name, recipe in RECIPES.items() if getattr(recipe, kind) is not None)
        other = "floating-point" if kind == "integers" else "integer"
        raise CaseIdError(f"field in:{text}: a recipe of {other} types only, not of {main}; expected one of {usable}")
    return text


def _shape(shape: Sequence[int]) -> str:
    return "x".join(map(str, shape)) if shape else "scalar"


def _numbers(entry: Parameter) -> str:
    write = real_text if dtypes.is_float(entry.dtype) else str
    if isinstance(entry.values, tuple):
        return "_".join(write(v) for v in entry.values) or "none"
    return write(entry.values)


def real_text(value: float) -> str:
    """A real as mantissa and exponent: 1.5 → 15e-1, 1 → 1, 0.01 → 1e-2, inf, -inf, nan, -0."""
    if not math.isfinite(value):
        return "nan" if math.isnan(value) else "inf" if value > 0 else "-inf"
    sign, digits, exponent = decimal.Decimal(repr(float(value))).as_tuple()
    mantissa = "".join(map(str, digits)).lstrip("0")
    stripped = mantissa.rstrip("0")
    power = int(exponent) + len(mantissa) - len(stripped)
    return f"{'-' if sign else ''}{stripped or '0'}{f'e{power}' if power and stripped else ''}"


def _attribute_text(name: str, kind: str, value: Any) -> str:
    if name in DTYPE_ATTRIBUTES and kind == "INT":
        return _SHORT[dtypes.NAMES[value]]
    if kind == "TENSOR":
        return real_text(value) if isinstance(value, float) else str(value)
    writers: dict[str, Callable[[Any], str]] = {"INT": str, "FLOAT": real_text, "STRING": _escaped}
    write = writers[kind.removesuffix("S")]
    if not kind.endswith("S"):
        return write(value)
    return "_".join(write(v).replace("_", "+5F") for v in value) or "none"


def _escaped(text: str) -> str:
    return re.sub(rb"[^A-Za-z0-9_-]", lambda m: b"+%02X" % m[0][0], text.encode()).decode() or "+"
