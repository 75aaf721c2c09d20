"""The arithmetic that a device declares for a tensor type: the rungs that a verdict can stand on.

Only roundings matter here: of the inputs on their way into the unit, inside the unit, and of the stored result.
"""

from __future__ import annotations

import dataclasses

from reference.dtypes import FLOATS


@dataclasses.dataclass(frozen=True)
class Arithmetic:
    """One rung. Formats are names of `reference.dtypes.FLOATS`.

    inputs: format that operands are converted to first, None: they keep the tensor's own. compute: format of accumulators and
    of function evaluation. faithful: each operation may return either neighbour (directed or truncating units, HVX qf32);
    otherwise it rounds to nearest. flushes: subnormal numbers may be replaced by zero.
    """

    name: str
    inputs: str | None
    compute: str
    faithful: bool = False
    flushes: bool = False

    @property
    def u(self) -> float:
        """Unit roundoff of the unit."""
        return FLOATS[self.compute].unit_roundoff

    @property
    def rho(self) -> float:
        """Roundoff of one operation in units of u: 1 for round to nearest, 2 for faithful rounding."""
        return 2.0 if self.faithful else 1.0

    def input_roundoff(self, dtype: str) -> float:
        """Relative error that converting a tensor of `dtype` to the unit's input format adds; 0 where it fits."""
        own = FLOATS[dtype].unit_roundoff
        unit = FLOATS[self.inputs or self.compute].unit_roundoff
        return unit if unit > own else 0.0


RUNGS: dict[str, Arithmetic] = {
    a.name: a
    for a in (
        Arithmetic("fp64", None, "float64"),
        Arithmetic("fp32", None, "float32"),
        Arithmetic("fp32-faithful", None, "float32", faithful=True, flushes=True),
        Arithmetic("tf32", "tf32", "float32", faithful=True),
        Arithmetic("fp16-in", "float16", "float32", faithful=True, flushes=True),
        Arithmetic("bf16-in", "bfloat16", "float32", faithful=True, flushes=True),
        Arithmetic("fp16", "float16", "float16"),
        Arithmetic("fp16-faithful", "float16", "float16", faithful=True, flushes=True),
        Arithmetic("bf16", "bfloat16", "bfloat16"),
        Arithmetic("bf16-faithful", "bfloat16", "bfloat16", faithful=True, flushes=True),
    )
}
"""Rung name → arithmetic, the most exact first; these are the words that `Capabilities.precision` uses."""

DEFAULT: dict[str, str] = {"float64": "fp64", "float32": "fp32", "float16": "fp16", "bfloat16": "bf16"}
"""The rung a tensor type is held to where nothing is declared or inferred: arithmetic of the type itself. A device that
declares a more exact unit inside is held to that; right at a lower rung than this one is pass_reduced."""

LADDER: dict[str, tuple[str, ...]] = {
    "float32": ("fp32", "fp32-faithful", "tf32", "fp16-in", "bf16-in", "fp16", "fp16-faithful", "bf16-faithful"),
    "float64": ("fp64", "fp32", "fp32-faithful", "fp16-faithful"),
    "float16": ("fp32", "fp16", "fp16-faithful"),
    "bfloat16": ("fp32", "bf16", "bf16-faithful"),
}
"""Tensor type → the rungs that units use for it, the most exact first."""
