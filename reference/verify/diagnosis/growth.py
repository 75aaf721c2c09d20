"""Hypotheses that would make far more than the node does: extents, repeats, padding and scales come as inputs, which devices
misread as any others, and a result of a wrong extent may not fit into memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from reference.node import Array, Node

EXTENTS: Mapping[str, tuple[int, ...]] = {
    "AffineGrid": (1,),
    "BlackmanWindow": (0,),
    "CenterCropPad": (1,),
    "Col2Im": (1, 2),
    "ConstantOfShape": (0,),
    "DFT": (1,),
    "Expand": (1,),
    "HammingWindow": (0,),
    "HannWindow": (0,),
    "Loop": (0,),
    "MaxUnpool": (2,),
    "MelWeightMatrix": (0, 1),
    "OneHot": (1,),
    "Pad": (1,),
    "Resize": (1, 2, 3),
    "STFT": (1, 3),
    "Tile": (1, 2),
    "Upsample": (1,),
}
"""Operator → the inputs that say how large its result is; of those of Range their quotient does."""

GROWTH, SMALL = 16.0, 2.0**16
"""How many times the node's own result, and up to how many elements beyond that, a hypothesis may ask for."""


def excessive(node: Node, inputs: Sequence[Array | None]) -> bool:
    """Whether other inputs ask for far more than the node's own do."""
    with np.errstate(all="ignore"):
        asked = (
            [(_count(node.inputs), _count(inputs))]
            if node.operator == "Range"
            else [(_product(node.inputs[i]), _product(inputs[i])) for i in EXTENTS.get(node.operator, ()) if i < len(inputs)]
        )
    return any(not new <= GROWTH * old + SMALL for old, new in asked)


def _product(x: Array | None) -> float:
    """Of magnitudes, none below 1."""
    if not isinstance(x, np.ndarray) or x.dtype.kind not in "iuf":
        return 1.0
    return float(np.prod(np.maximum(np.abs(x.astype(np.float64)), 1.0)))


def _count(inputs: Sequence[Array | None]) -> float:
    """Elements of Range's result, infinite for steps of 0."""
    start, limit, step = (np.asarray(x, np.float64).reshape(-1)[0] for x in inputs[:3])
    return float(np.maximum((limit - start) / step, 0.0)) if step else float("inf")
