"""Axes and single numbers as operators are given them, checked in one place: NumPy takes some that ONNX does not."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


def axis_in(axis: int, rank: int) -> int:
    """`axis` in [-rank, rank) as a number in [0, rank). Raises ValueError."""
    if not -rank <= axis < rank:
        raise ValueError(f"axis {axis} of a tensor of rank {rank}")
    return axis % rank


def axes_in(axes: Iterable[Any], rank: int) -> tuple[int, ...]:
    """Each axis as in `axis_in`. Raises ValueError, also for an axis that comes twice."""
    given = [int(a) for a in axes]
    found = tuple(axis_in(a, rank) for a in given)
    if len(set(found)) < len(found):
        raise ValueError(f"axes {given} name an axis twice")
    return found


def border_in(axis: int, rank: int) -> int:
    """`axis` in [-rank, rank], where the axes before it end, as a number in [0, rank]. Raises ValueError."""
    if not -rank <= axis <= rank:
        raise ValueError(f"axis {axis} of a tensor of rank {rank}")
    return axis + rank if axis < 0 else axis


def single(x: Array, what: str) -> Array:
    """The only element of x as a scalar. Raises ValueError for another number of them; `what` names x there."""
    x = np.asarray(x)
    if x.size != 1:
        raise ValueError(f"{what} has shape {x.shape}, expected one element")
    return x.reshape(())
