"""Col2Im."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

import numpy as np
from hypothesis import strategies as st

from ..samples import Sample, array, call, kinds_of


def _col2im(draw: st.DrawFn) -> Sample:
    """An image of one to three axes whose blocks fit in, with or without every attribute."""
    kinds = [k for k in kinds_of("Col2Im", 18) if k != "str"]
    kind = draw(st.sampled_from([*["float32"] * len(kinds), *kinds]))
    rank = draw(st.integers(1, 3))

    def each(low: int, high: int, n: int = rank) -> list[int]:
        return [draw(st.integers(low, high)) for _ in range(n)]

    block, dilations, strides, pads = each(1, 3), each(1, 2), each(1, 3), each(0, 2, 2 * rank)
    given = [draw(st.booleans()) for _ in range(3)]
    dilations, strides, pads = (
        value if there else default
        for value, there, default in zip(
            (dilations, strides, pads), given, ([1] * rank, [1] * rank, [0] * 2 * rank), strict=True
        )
    )
    reach = [d * (k - 1) + 1 for k, d in zip(block, dilations, strict=True)]
    image = [max(n - pads[i] - pads[rank + i], 1) + extra for i, (n, extra) in enumerate(zip(reach, each(0, 4), strict=True))]
    blocks = [
        (n + pads[i] + pads[rank + i] - r) // s + 1 for i, (n, r, s) in enumerate(zip(image, reach, strides, strict=True))
    ]
    batch, channels = draw(st.integers(1, 3)), draw(st.integers(1, 3))
    return call(
        "Col2Im",
        [
            array(draw, (batch, channels * math.prod(block), math.prod(blocks)), kind),
            np.array(image, np.int64),
            np.array(block, np.int64),
        ],
        version=18,
        dilations=dilations if given[0] else None,
        strides=strides if given[1] else None,
        pads=pads if given[2] else None,
    )


DRAW: Mapping[str, Callable[[st.DrawFn], Sample]] = {"Col2Im": _col2im}
