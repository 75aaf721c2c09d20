"""The arithmetic that a device declares: the rungs that a verdict can stand on, and what may be said beyond them.

Only roundings matter here: of the inputs on their way into the unit, inside the unit, and of the stored result.
"""

from __future__ import annotations

import dataclasses
from typing import Literal, get_args

from reference.dtypes import FLOATS
from reference.verify.requantise import Requantise

Rounding = Literal["nearest", "toward-zero", "faithful"]
ROUNDINGS: tuple[str, ...] = get_args(Rounding)


@dataclasses.dataclass(frozen=True)
class Fused:
    """Products are added in blocks, as in tensor cores: `fan_in` of them and the accumulator, aligned to the largest exponent
    among them, cut below `fraction` bits, and added without further rounding (Fasi et al., PeerJ Computer Science 7, 2021)."""

    fraction: int
    fan_in: int


@dataclasses.dataclass(frozen=True)
class Arithmetic:
    """A rung, or a rung with further declarations. Formats are names of `reference.dtypes.FLOATS`.

    name: the rung. inputs: format that operands are converted to first, None: they keep the tensor's own. compute: format of
    accumulators and of function evaluation. rounding: of each operation; "faithful" may give either neighbour (directed
    units, HVX qf32). input_rounding: of the conversion of operands. flushes: subnormal numbers may be replaced by zero.
    bits: significand bits of the accumulator where it has others than `compute`. fused: how products are added in blocks.
    products: whether each product is rounded before it is added. intermediates: format in which scores, probabilities and
    moments are stored between steps, None: as they are computed. functions: accuracy profile of elementary functions
    (functions.toml). requantise: how integers are requantised. saturates: infinity may be the largest finite number.
    """

    name: str
    inputs: str | None
    compute: str
    rounding: Rounding = "nearest"
    flushes: bool = False
    input_rounding: Rounding = "nearest"
    bits: int | None = None
    fused: Fused | None = None
    products: Literal["rounded", "exact"] = "rounded"
    intermediates: str | None = None
    functions: str = "full"
    requantise: Requantise = dataclasses.field(default_factory=Requantise)
    saturates: bool = False

    @property
    def precision(self) -> int:
        """Significand bits of the accumulator, the leading one included."""
        return self.bits or FLOATS[self.compute].precision

    @property
    def u(self) -> float:
        """Unit roundoff of the unit."""
        return 2.0**-self.precision

    @property
    def faithful(self) -> bool:
        """Whether an operation may be off by a whole ulp."""
        return self.rounding != "nearest"

    @property
    def rho(self) -> float:
        """Roundoff of one operation in units of u: 1 for round to nearest, 2 for faithful rounding."""
        return 2.0 if self.faithful else 1.0

    def input_roundoff(self, dtype: str) -> float:
        """Relative error that converting a tensor of `dtype` to the unit's input format adds; 0 where it fits."""
        own = FLOATS[dtype].unit_roundoff
        unit = FLOATS[self.inputs or self.compute].unit_roundoff
        directed = 1.0 if self.input_rounding == "nearest" else 2.0
        return directed * unit if unit > own else 0.0


def _rung(name: str, inputs: str | None, compute: str, rounding: Rounding = "nearest", *, flushes: bool = False) -> Arithmetic:
    return Arithmetic(name, inputs, compute, rounding, flushes, input_rounding=rounding)


RUNGS: dict[str, Arithmetic] = {
    a.name: a
    for a in (
        _rung("fp64", None, "float64"),
        _rung("fp32", None, "float32"),
        _rung("fp32-faithful", None, "float32", "faithful", flushes=True),
        _rung("bf16x3", "bf16x3", "float32", "faithful", flushes=True),
        _rung("tf32", "tf32", "float32", "faithful"),
        _rung("fp16-in", "float16", "float32", "faithful", flushes=True),
        _rung("bf16-in", "bfloat16", "float32", "faithful", flushes=True),
        _rung("fp16", "float16", "float16"),
        _rung("fp16-faithful", "float16", "float16", "faithful", flushes=True),
        _rung("bf16", "bfloat16", "bfloat16"),
        _rung("bf16-faithful", "bfloat16", "bfloat16", "faithful", flushes=True),
    )
}
"""Rung name → arithmetic, the most exact first; these are the words that `Capabilities.precision` uses."""

DEFAULT: dict[str, str] = {"float64": "fp64", "float32": "fp32", "float16": "fp16", "bfloat16": "bf16"}
"""The rung a tensor type is held to where nothing is declared or inferred: arithmetic of the type itself. A device that
declares a more exact unit inside is held to that; right at a lower rung than this one is pass_reduced."""

LADDER: dict[str, tuple[str, ...]] = {
    "float32": ("fp32", "fp32-faithful", "bf16x3", "tf32", "fp16-in", "bf16-in", "fp16", "fp16-faithful", "bf16-faithful"),
    "float64": ("fp64", "fp32", "fp32-faithful", "fp16-faithful"),
    "float16": ("fp32", "fp16", "fp16-faithful"),
    "bfloat16": ("fp32", "bf16", "bf16-faithful"),
}
"""Tensor type → the rungs that units use for it, the most exact first."""

ORDER = tuple(RUNGS)


def exactness(arithmetic: Arithmetic) -> int:
    """Place on the ladder, 0 for the most exact."""
    return ORDER.index(arithmetic.name)
