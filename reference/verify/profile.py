"""The precision profile: which arithmetic a device declares for which operators and tensor types.

In a capability file it is a table from "TYPE" or "CLASS:TYPE" to the name of a rung, or to a rung with further declarations:

    {"float32": "fp32", "linear:float32": {"rung": "fp32", "rounding": "toward-zero", "fused": {"fraction": 24, "fan_in": 4}}}
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from reference.verify.arithmetic import RUNGS, Arithmetic, Fused
from reference.verify.requantise import Requantise

Declared = str | Mapping[str, Any]

CLASSES = ("linear", "elementwise", "function", "normalization", "softmax", "quantization", "movement")
"""Classes of operators that units compute alike: sums of products, correctly rounded arithmetic, elementary functions and
activations, normalisations, softmax and attention, requantisation, and what only moves or compares data."""

FIELDS = {field.name: field for field in dataclasses.fields(Arithmetic)}


@dataclasses.dataclass(frozen=True)
class Profile:
    """(class or "", tensor type) → arithmetic; "" stands for all classes that are not named."""

    arithmetics: Mapping[tuple[str, str], Arithmetic] = dataclasses.field(default_factory=dict)

    @classmethod
    def of(cls, declared: Mapping[str, Declared] | None) -> Profile:
        """The profile of a capability file. Raises ValueError that names the entry."""
        return cls({_key(key): _arithmetic(key, value) for key, value in (declared or {}).items()})

    def arithmetic(self, kind: str, dtype: str) -> Arithmetic | None:
        """What is declared for a class of operators and a tensor type, None if nothing is."""
        return self.arithmetics.get((kind, dtype)) or self.arithmetics.get(("", dtype))


def _key(key: str) -> tuple[str, str]:
    kind, _, dtype = key.rpartition(":")
    if kind and kind not in CLASSES:
        raise ValueError(f"precision {key}: {kind!r} is no class of operators; they are {', '.join(CLASSES)}")
    return kind, dtype


def _arithmetic(key: str, declared: Declared) -> Arithmetic:
    entry: Mapping[str, Any] = {"rung": declared} if isinstance(declared, str) else declared
    rung = entry.get("rung")
    if rung not in RUNGS:
        raise ValueError(f"precision {key}: {rung!r} is no rung; they are {', '.join(RUNGS)}")
    rest = {name: value for name, value in entry.items() if name != "rung"}
    if unknown := sorted(rest.keys() - FIELDS.keys() | (rest.keys() & {"name", "compute"})):
        raise ValueError(f"precision {key}: {unknown[0]!r} cannot be declared; what can is {', '.join(_declarable())}")
    try:
        if "fused" in rest:
            rest["fused"] = Fused(**rest["fused"])
        if "requantise" in rest:
            rest["requantise"] = Requantise(**rest["requantise"])
        return dataclasses.replace(RUNGS[rung], **rest)
    except (TypeError, ValueError) as error:
        raise ValueError(f"precision {key}: {error}") from None


def _declarable() -> list[str]:
    return [name for name in FIELDS if name not in ("name", "compute")]
