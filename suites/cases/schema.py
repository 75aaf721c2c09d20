"""What ONNX's operator schemas say, reduced to what a case id needs: formal inputs and outputs, admitted types,
attributes.
"""

from __future__ import annotations

import dataclasses
import difflib
import functools
from collections.abc import Mapping
from typing import Literal

from onnx import defs

from reference import dtypes
from suites.cases import contributed

DOMAINS: Mapping[str, str] = {"": "", "ms": "com.microsoft"}
"""Prefix of a case id's first field → ONNX domain."""

OLDEST_OPSET = 7
"""Runtimes guarantee nothing below it (ONNX Runtime's compatibility page); older operators are imported through it."""

CONTRIBUTED_OPSET = 21
"""Opset of models whose operator stands in ONNX's domain without being ONNX's."""

PARAMETERS: Mapping[str, Mapping[str, int]] = {
    "AffineGrid": {"size": 1},
    "Attention": {"nonpad_kv_seqlen": 1},
    "BlackmanWindow": {"size": 0},
    "CenterCropPad": {"shape": 1},
    "Clip": {"min": 0, "max": 0},
    "Col2Im": {"image_shape": 1, "block_shape": 1},
    "ConstantOfShape": {"input": 1},
    "CumProd": {"axis": 0},
    "CumSum": {"axis": 0},
    "DFT": {"dft_length": 0, "axis": 0},
    "Dropout": {"ratio": 0, "training_mode": 0},
    "Expand": {"shape": 1},
    "GRU": {"sequence_lens": 1},
    "GroupQueryAttention": {"seqlens_k": 1, "total_sequence_length": 0, "query_seqlens": 1},
    "HammingWindow": {"size": 0},
    "HannWindow": {"size": 0},
    "LSTM": {"sequence_lens": 1},
    "MelWeightMatrix": dict.fromkeys(("num_mel_bins", "dft_length", "sample_rate", "lower_edge_hertz", "upper_edge_hertz"), 0),
    "MultiHeadAttention": {"past_sequence_length": 1},
    "MaxUnpool": {"output_shape": 1},
    "NonMaxSuppression": {"max_output_boxes_per_class": 0, "iou_threshold": 0, "score_threshold": 0},
    "OneHot": {"depth": 0},
    "Pad": {"pads": 1, "constant_value": 0, "axes": 1},
    "RNN": {"sequence_lens": 1},
    "Range": {"start": 0, "limit": 0, "delta": 0},
    "ReduceL1": {"axes": 1},
    "ReduceL2": {"axes": 1},
    "ReduceLogSum": {"axes": 1},
    "ReduceLogSumExp": {"axes": 1},
    "ReduceMax": {"axes": 1},
    "ReduceMean": {"axes": 1},
    "ReduceMin": {"axes": 1},
    "ReduceProd": {"axes": 1},
    "ReduceSum": {"axes": 1},
    "ReduceSumSquare": {"axes": 1},
    "Reshape": {"shape": 1},
    "Resize": {"roi": 1, "scales": 1, "sizes": 1},
    "STFT": {"frame_step": 0, "frame_length": 0},
    "Slice": {"starts": 1, "ends": 1, "axes": 1, "steps": 1},
    "Split": {"split": 1},
    "Squeeze": {"axes": 1},
    "Tile": {"repeats": 1},
    "TopK": {"k": 1},
    "Trilu": {"k": 0},
    "Unsqueeze": {"axes": 1},
    "Upsample": {"scales": 1},
}
"""Operator → inputs whose value is part of the operation's meaning → their rank, 0 or 1. An id spells their values."""

DTYPE_ATTRIBUTES = frozenset({"to", "dtype", "output_datatype", "output_dtype", "precision", "stash_type", "softmax_precision"})
"""Integer attributes that hold a TensorProto.DataType."""

RESERVED = ("outputs", "const", "feed", "in")
"""Fields of an id that are neither inputs nor attributes; no schema uses these names for those."""

_WINDOW = ("kernel_shape", "auto_pad", "pads", "strides", "dilations")

_TYPES: Mapping[str, str] = {
    "float": "float32",
    "double": "float64",
    "string": "str",
    "float8e4m3fn": "float8_e4m3fn",
    "float8e4m3fnuz": "float8_e4m3fnuz",
    "float8e5m2": "float8_e5m2",
    "float8e5m2fnuz": "float8_e5m2fnuz",
    "float8e8m0": "float8_e8m0fnu",
    "float4e2m1": "float4_e2m1fn",
}


class SchemaError(ValueError):
    """No such operator or version; the text says what there is instead."""


@dataclasses.dataclass(frozen=True)
class Formal:
    """A formal input or output. `types` are dtype names in the schema's order; `variable` is the type variable, ""
    if the type is fixed.
    """

    name: str
    variable: str
    types: tuple[str, ...]
    option: Literal["single", "optional", "variadic"] = "single"

    @functools.cached_property
    def stem(self) -> str:
        """What the numbers of a variadic tensor are appended to: "data_" for ONNX's "data_0"."""
        return self.name.rstrip("0123456789")


@dataclasses.dataclass(frozen=True)
class Schema:
    """One operator at one since_version. `attributes`: name → AttributeProto type name ("INTS"), window attributes
    first, the others in alphabetical order (ONNX keeps them unordered). `required` names the attributes without
    which no node is valid. `opset`: the import that selects this since_version.
    """

    domain: str
    operator: str
    version: int
    opset: int
    inputs: tuple[Formal, ...]
    outputs: tuple[Formal, ...]
    attributes: Mapping[str, str]
    required: frozenset[str]

    @functools.cached_property
    def main(self) -> Formal:
        """Whose type is the id's dtype: the first input, or else output, that can have several; else the first
        input.
        """
        choices = [f for f in (*self.inputs, *self.outputs) if len(f.types) > 1 and f.variable]
        return choices[0] if choices else (*self.inputs, *self.outputs)[0]

    @property
    def parameters(self) -> Mapping[str, int]:
        """Inputs that an id spells by value → rank."""
        return PARAMETERS.get(self.operator, {})

    @functools.cached_property
    def _named(self) -> Mapping[str, Formal]:
        return {formal.name: formal for formal in self.inputs if formal.option != "variadic"}

    def formal(self, name: str) -> Formal | None:
        """The formal input that a tensor's name in an id belongs to."""
        if name in self._named:
            return self._named[name]
        for formal in self.inputs:
            number = name.removeprefix(formal.stem)
            if formal.option == "variadic" and number != name and number.isdecimal():
                return formal
        return None

    def default_type(self, formal: Formal, dtype: str) -> str | None:
        """The type of a tensor that names none: int64 for index types (int32 or int64), else the id's dtype where it is
        admitted, else the only admitted one; None: it has to be named."""
        if formal.variable == self.main.variable and formal.variable:
            return dtype
        if set(formal.types) == {"int32", "int64"}:
            return "int64"
        if dtype in formal.types:
            return dtype
        return formal.types[0] if len(formal.types) == 1 else None


@functools.cache
def schema(domain: str, operator: str, version: int) -> Schema:
    """The schema introduced at exactly `version`. Raises SchemaError naming the nearest operators or versions."""
    if domain or operator in contributed.DOMAINS[domain]:
        return _contributed(domain, operator, version)
    versions = _versions().get(operator)
    if versions is None:
        raise SchemaError(f"unknown operator {operator}; the nearest are {nearest(operator, _versions())}")
    if version not in versions:
        raise SchemaError(f"{operator} has no version {version}; it has {', '.join(map(str, versions))}")
    opset = next(
        v for v in range(max(version, OLDEST_OPSET), 0, -1) if defs.get_schema(operator, v, "").since_version == version
    )
    found = defs.get_schema(operator, opset, "")
    if found.deprecated:
        raise SchemaError(f"{operator} is deprecated in version {version}; the versions are {', '.join(map(str, versions))}")
    constraints = {c.type_param_str: _tensor_types(c.allowed_type_strs) for c in found.type_constraints}
    attributes = {name: str(a.type).rsplit(".", 1)[-1] for name, a in found.attributes.items()}
    order = [n for n in _WINDOW if n in attributes] + sorted(n for n in attributes if n not in _WINDOW)
    return Schema(
        "",
        operator,
        version,
        opset,
        tuple(_formal(i, constraints) for i in found.inputs),
        tuple(_formal(o, constraints) for o in found.outputs),
        {name: attributes[name] for name in order},
        frozenset(name for name, a in found.attributes.items() if a.required),
    )


def _contributed(domain: str, operator: str, version: int) -> Schema:
    """The schema of an operator that the onnx package does not know. Raises SchemaError as `schema` does."""
    prefix, known = "ms:" if domain else "", contributed.DOMAINS[domain]
    if operator not in known:
        raise SchemaError(f"unknown operator {prefix}{operator}; the nearest are {nearest(operator, known)}")
    if version != 1:
        raise SchemaError(f"{prefix}{operator} has no version {version}; it has 1")
    inputs, outputs, attributes, types = known[operator]
    kinds = dict(text.split(":") for text in attributes.split())
    return Schema(
        domain,
        operator,
        version,
        1 if domain else CONTRIBUTED_OPSET,
        tuple(_written(text, types) for text in inputs.split()),
        tuple(_written(text, types) for text in outputs.split()),
        {name: kind.rstrip("!") for name, kind in kinds.items()},
        frozenset(name for name, kind in kinds.items() if kind.endswith("!")),
    )


def _written(text: str, types: Mapping[str, tuple[str, ...]]) -> Formal:
    """A formal input or output as `contributed` writes it; variadic ones need not be of one type."""
    name, _, kind = text.rstrip("?*").partition(":")
    if text.endswith("*"):
        return Formal(name, "", types[kind], "variadic")
    variable = kind if kind in types else ""
    return Formal(name, variable, types.get(kind, (kind,)), "optional" if text.endswith("?") else "single")


@functools.cache
def _versions() -> Mapping[str, tuple[int, ...]]:
    """ONNX operator → its since_versions, ascending."""
    found: dict[str, list[int]] = {}
    for entry in defs.get_all_schemas_with_history():
        if entry.domain == "":
            found.setdefault(entry.name, []).append(entry.since_version)
    return {name: tuple(sorted(versions)) for name, versions in sorted(found.items())}


def _tensor_types(strings: object) -> tuple[str, ...]:
    names = [s[len("tensor(") : -1] for s in strings if s.startswith("tensor(")]  # type: ignore[attr-defined]
    return tuple(name for name in (_TYPES.get(n, n) for n in names) if name in dtypes.ONNX)


def _formal(parameter: defs.OpSchema.FormalParameter, constraints: Mapping[str, tuple[str, ...]]) -> Formal:
    variable = parameter.type_str if parameter.type_str in constraints else ""
    types = constraints[variable] if variable else _tensor_types([parameter.type_str])
    option = str(parameter.option).rsplit(".", 1)[-1].lower()
    return Formal(parameter.name.lower(), variable, types, option)  # type: ignore[arg-type]


def nearest(word: str, words: object) -> str:
    """The three words most like `word`, for error messages."""
    known = sorted(str(w) for w in words)  # type: ignore[attr-defined]
    folded = {w.lower(): w for w in reversed(known)}
    close = difflib.get_close_matches(word.lower(), folded, n=3, cutoff=0.3)
    return ", ".join(folded[w] for w in close) or ", ".join(known[:3])
