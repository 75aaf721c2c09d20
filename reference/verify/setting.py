"""Where a bound is computed: the unit's arithmetic and the tensor's type."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reference import dtypes
from reference.verify.arithmetic import Arithmetic

Array = NDArray[Any]


@dataclasses.dataclass(frozen=True)
class Setting:
    """Where a bound is computed: the unit's arithmetic and the tensor's type.

    random: whether the data has no order and no structure, so that errors behave like random ones. storage: format that inner
    tensors (scores, probabilities) pass through between operations, None: the unit's own.
    """

    arithmetic: Arithmetic
    dtype: str
    random: bool = False
    storage: str | None = None

    @property
    def u(self) -> float:
        """Unit roundoff of the unit; directed or faithful rounding doubles it."""
        return self.arithmetic.rho * self.arithmetic.u

    @property
    def u_in(self) -> float:
        """Relative error of the conversion of inputs, 0 where they fit the unit's format and where none is a real."""
        return self.arithmetic.input_roundoff(self.dtype) if dtypes.is_float(self.dtype) else 0.0

    @property
    def u_border(self) -> float:
        """Relative error of bringing a result from a coarser, faithful unit into the tensor's type: Qualcomm's HTP returns
        1 + 2^-23 for a float16 1. 0 where the unit is not coarser or rounds to nearest."""
        own = dtypes.FLOATS[self.dtype].unit_roundoff if dtypes.is_float(self.dtype) else 1.0
        return 2 * own if self.arithmetic.faithful and own < self.arithmetic.u else 0.0

    @property
    def eta_in(self) -> float:
        """Absolute error of converting an input that underflows in the unit's input format; 0 where it has the same range."""
        if not dtypes.is_float(self.dtype):
            return 0.0
        own, unit = dtypes.FLOATS[self.dtype], dtypes.FLOATS[self.arithmetic.inputs or self.arithmetic.compute]
        if unit.emin <= own.emin:
            return 0.0
        return unit.smallest_normal if self.arithmetic.flushes else 0.5 * unit.smallest_subnormal

    def moved(self, x: Array, dtype: str, sign: float) -> Array:
        """An input of `dtype`, moved by its conversion error in the direction of `sign`."""
        if not dtypes.is_float(dtype) or not self.arithmetic.input_roundoff(dtype):
            return x
        return x + sign * (np.abs(x) * self.arithmetic.input_roundoff(dtype) + self.eta_in)

    @property
    def u_attribute(self) -> float:
        """Relative error of a floating-point attribute that the unit may hold in the tensor's own type; 0 for float32."""
        own = dtypes.FLOATS[self.dtype].unit_roundoff if dtypes.is_float(self.dtype) else 0.0
        return own if own > 2.0**-24 else 0.0

    @property
    def eta(self) -> float:
        """Absolute error of one operation whose result underflows."""
        form = dtypes.FLOATS[self.arithmetic.compute]
        return form.smallest_normal if self.arithmetic.flushes else 0.5 * form.smallest_subnormal or form.smallest_subnormal

    @property
    def u_storage(self) -> float:
        """Relative error of an inner tensor's storage; 0 where it is the unit's own format."""
        kept = dtypes.FLOATS[self.storage or self.arithmetic.compute].unit_roundoff
        return kept if kept > self.arithmetic.u else 0.0

    @property
    def half(self) -> bool:
        """Whether functions are evaluated in a 16-bit format, to which OpenCL's half-precision limits apply."""
        return self.arithmetic.compute in ("float16", "bfloat16")

    @property
    def functions(self) -> str:
        """Accuracy profile of elementary functions (functions.toml)."""
        return "half" if self.half else self.arithmetic.functions

    def gamma(self, n: Array | float) -> Array:
        """γ_n = n·u/(1 − n·u): relative error of n successive roundings (Higham, ch. 3); infinite where n·u ≥ 1."""
        t = np.asarray(n, np.float64) * self.u
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(t < 1, t / (1 - t), np.inf)
