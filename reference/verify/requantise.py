"""How a device says that it requantises integers, and how far that may lead from the real value."""

from __future__ import annotations

import dataclasses
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Kind = Literal["float", "double", "fixed", "fixed-double-rounding"]
KINDS: tuple[str, ...] = get_args(Kind)


@dataclasses.dataclass(frozen=True)
class Requantise:
    """How a sum of integers becomes an integer of another scale.

    kind: arithmetic of the multiplier; "fixed-double-rounding" rounds once after the multiplication and once after the right
    shift by `shift` (None: what brings each multiplier into [1/2, 1), as gemmlowp has it). multiplier_bits: of a fixed-point
    multiplier, its sign included. in_float16: the sum, its factor and their product are float16; the factor is made of more
    exact scales.
    """

    kind: Kind = "float"
    shift: int | None = None
    multiplier_bits: int | None = None
    in_float16: bool = False

    @property
    def u(self) -> float:
        """Unit roundoff of the factor and of the product; coarser fixed-point multipliers count in `delta`."""
        return 2.0**-11 if self.in_float16 else 2.0**-24

    @property
    def to_even(self) -> bool:
        """Whether a half-way that is met exactly goes to the even side: fixed-point units add half a step and cut."""
        return self.kind in ("float", "double")

    def delta(self, real: Array, multiplier: Array | None = None) -> Array:
        """How far beyond half a step the result may lie from the real value, per element.

        real: the value before the zero point is added, or the size of its terms. multiplier: output steps in one accumulator
        step; where neither it nor `shift` is known, the worst shift counts, 1.
        """
        narrow = 0.0 if self.multiplier_bits is None else 2.0 ** (1 - self.multiplier_bits) * np.abs(real)
        return np.asarray(self._first_rounding(multiplier) + narrow)

    def _first_rounding(self, multiplier: Array | None) -> Array:
        """Half a step of the intermediate, 2^-(n + 1) after a right shift by n; without a right shift there is none."""
        if self.kind != "fixed-double-rounding":
            return np.zeros(())
        if self.shift is not None:
            shift = np.asarray(self.shift)
        elif multiplier is None:
            shift = np.asarray(1)
        else:
            fraction, exponent = np.frexp(multiplier)
            full = 2.0 ** ((self.multiplier_bits or 32) - 1)
            shift = -exponent - (np.rint(fraction * full) == full)  # a fraction that rounds up to 1 is held as 1/2
        return np.where(shift > 0, 2.0 ** -(shift + 1.0), 0.0)
