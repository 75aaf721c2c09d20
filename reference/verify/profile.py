"""The precision profile: which arithmetic a device declares for which operators and tensor types.

In a capability file it is a table from "TYPE" or "CLASS:TYPE" to the name of a rung, or to a rung with further declarations:

    {"float32": "fp32", "linear:float32": {"rung": "fp32", "rounding": "toward-zero", "fused": {"fraction": 24, "fan_in": 4}}}
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any

from reference import dtypes
from reference.verify.arithmetic import ROUNDINGS, RUNGS, Arithmetic, Fused
from reference.verify.bounds.limits import PROFILES
from reference.verify.requantise import KINDS, Requantise

Declared = str | Mapping[str, Any]

CLASSES = ("linear", "elementwise", "function", "normalization", "softmax", "quantization", "movement")
"""Classes of operators that units compute alike: sums of products, correctly rounded arithmetic, elementary functions and
activations, normalisations, softmax and attention, requantisation, and what only moves or compares data."""

Rule = tuple[str, Callable[[Any], bool]]
"""What a value must be, in words, and whether it is."""


def _one_of(*words: str) -> Rule:
    return f"one of {', '.join(words)}", lambda value: isinstance(value, str) and value in words


def _whole(low: int, high: int) -> Rule:
    return f"a whole number from {low} to {high}", lambda value: type(value) is int and low <= value <= high


YES_NO: Rule = ("true or false", lambda value: isinstance(value, bool))
FORMATS = _one_of("float64", "float32", "bf16x3", "tf32", "float16", "bfloat16")
FUSED: dict[str, Rule] = {"fraction": _whole(1, 60), "fan_in": _whole(1, 4096)}
REQUANTISE: dict[str, Rule] = {
    "kind": _one_of(*KINDS),
    "shift": _whole(0, 62),
    "multiplier_bits": _whole(2, 64),
    "in_float16": YES_NO,
}
FIELDS: dict[str, Rule] = {
    "inputs": FORMATS,
    "input_rounding": _one_of(*ROUNDINGS),
    "rounding": _one_of(*ROUNDINGS),
    "bits": _whole(2, 53),
    "fused": ("a table of fraction and fan_in", lambda value: isinstance(value, Mapping)),
    "products": _one_of("rounded", "exact"),
    "intermediates": FORMATS,
    "functions": _one_of(*PROFILES),
    "requantise": (f"a table of {', '.join(REQUANTISE)}", lambda value: isinstance(value, Mapping)),
    "flushes": YES_NO,
    "saturates": YES_NO,
}
"""What may be declared beside the rung, and its values."""


@dataclasses.dataclass(frozen=True)
class Profile:
    """(class or "", tensor type) → arithmetic; "" stands for all classes that are not named."""

    arithmetics: Mapping[tuple[str, str], Arithmetic] = dataclasses.field(default_factory=dict)

    @classmethod
    def of(cls, declared: Mapping[str, Declared] | None) -> Profile:
        """The profile of a capability file. Raises ValueError that names the entry."""
        if declared is not None and not isinstance(declared, Mapping):
            raise ValueError(f"precision is a table of types, not {_short(declared)}")
        return cls({_key(key): _arithmetic(key, value) for key, value in (declared or {}).items()})

    def arithmetic(self, kind: str, dtype: str) -> Arithmetic | None:
        """What is declared for a class of operators and a tensor type, None if nothing is."""
        return self.arithmetics.get((kind, dtype)) or self.arithmetics.get(("", dtype))


def _key(key: object) -> tuple[str, str]:
    if not isinstance(key, str):
        raise ValueError(f"precision {_short(key)}: a key is a type or CLASS:TYPE, such as 'float32' or 'linear:float32'")
    kind, colon, dtype = key.rpartition(":")
    if colon and kind not in CLASSES:
        raise ValueError(f"precision {_short(key)}: {_short(kind)} is no class of operators; they are {', '.join(CLASSES)}")
    if dtype not in TYPES:
        raise ValueError(f"precision {_short(key)}: {_short(dtype)} is no type of tensors; they are {', '.join(TYPES)}")
    return kind, dtype


TYPES = tuple(name for name in dtypes.ONNX if dtypes.is_float(name) or dtypes.is_integer(name))


def _arithmetic(key: object, declared: object) -> Arithmetic:
    entry = {"rung": declared} if isinstance(declared, str) else declared
    if not isinstance(entry, Mapping) or "rung" not in entry:
        raise ValueError(
            f"precision {_short(key)}: give the name of a rung, or a table with 'rung'; rungs are {', '.join(RUNGS)}"
        )
    rung = entry["rung"]
    if not isinstance(rung, str) or rung not in RUNGS:
        raise ValueError(f"precision {_short(key)}: {_short(rung)} is no rung; they are {', '.join(RUNGS)}")
    rest = _checked(_short(key), {name: value for name, value in entry.items() if name != "rung"}, FIELDS)
    if "fused" in rest:
        fused = _checked(f"{_short(key)} fused", rest["fused"], FUSED)
        if missing := FUSED.keys() - fused.keys():
            raise ValueError(f"precision {_short(key)} fused: {min(missing)!r} is missing")
        rest["fused"] = Fused(**fused)
    if "requantise" in rest:
        rest["requantise"] = Requantise(**_checked(f"{_short(key)} requantise", rest["requantise"], REQUANTISE))
    found = dataclasses.replace(RUNGS[rung], **rest)
    if found.precision > dtypes.FLOATS[found.compute].precision and not found.fused:
        raise ValueError(f"precision {_short(key)}: {rung} has fewer than {found.precision} bits")
    return found


def _checked(where: str, entry: Mapping[Any, Any], rules: Mapping[str, Rule]) -> dict[str, Any]:
    """The entries of a table, each a known one with a possible value. Raises ValueError."""
    for name, value in entry.items():
        if name not in rules:
            raise ValueError(f"precision {where}: {_short(name)} cannot be declared; what can is {', '.join(rules)}")
        words, fits = rules[name]
        if not fits(value):
            raise ValueError(f"precision {where}: {name} is {words}, not {_short(value)}")
    return dict(entry)


def _short(value: object) -> str:
    """A value in one short line."""
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
