"""Random numbers, whose distribution is judged."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any

from hypothesis import strategies as st

from reference import dtypes

from ..samples import INTEGERS, Sample, array, call, kinds_of, version_of

REALS = ("float32", "float64", "float16", "bfloat16")

PARAMETERS = {
    "Normal": [{}, {"mean": 3.0}, {"mean": -1000.0, "scale": 0.5}, {"scale": 0.0, "mean": 2.5}],
    "Uniform": [{}, {"low": -3.0, "high": 0.25}, {"low": 1000.0, "high": 1001.0}, {"low": 2.0, "high": 2.0}],
}


def _shape(draw: st.DrawFn) -> list[int]:
    """Often with enough elements to tell a distribution."""
    return draw(st.sampled_from([[], [0], [3], [2, 0, 3], [1, 7], [40, 50], [2, 3, 400]]))


def _type(draw: st.DrawFn, names: tuple[str, ...]) -> int | None:
    name = draw(st.sampled_from([None, *names]))
    return None if name is None else dtypes.ONNX[name]


def _seed(draw: st.DrawFn) -> float | None:
    return draw(st.sampled_from([None, 0.0, 1.0, 7.5]))


def _generated(distribution: str, draw: st.DrawFn) -> Sample:
    operator = f"Random{distribution}"
    version = version_of(draw, operator)
    names = REALS if version >= 22 else REALS[:3]
    parameters: dict[str, Any] = draw(st.sampled_from(PARAMETERS[distribution]))
    return call(operator, [], version=version, shape=_shape(draw), dtype=_type(draw, names), seed=_seed(draw), **parameters)


def _alike(distribution: str, draw: st.DrawFn) -> Sample:
    operator = f"Random{distribution}Like"
    version = version_of(draw, operator)
    names = REALS if version >= 22 else REALS[:3]
    kind = draw(st.sampled_from([*names, "int32", "uint8", "bool"]))
    dtype = _type(draw, names)
    if dtype is None and kind not in names:
        dtype = dtypes.ONNX["float32"]
    parameters: dict[str, Any] = draw(st.sampled_from(PARAMETERS[distribution]))
    x = array(draw, tuple(_shape(draw)), kind)
    return call(operator, [x], version=version, dtype=dtype, seed=_seed(draw), **parameters)


def _bernoulli(draw: st.DrawFn) -> Sample:
    version = version_of(draw, "Bernoulli")
    kind = draw(st.sampled_from(["float32", *kinds_of("Bernoulli", version)]))
    low, high = draw(st.sampled_from([(0, 1), (0.1, 0.2), (0.5, 0.5), (0, 0), (1, 1)]))
    x = array(draw, tuple(_shape(draw)), kind, low, high)
    names = ("bool", *REALS, *INTEGERS)
    return call("Bernoulli", [x], version=version, dtype=_type(draw, names), seed=_seed(draw))


def _multinomial(draw: st.DrawFn) -> Sample:
    version = version_of(draw, "Multinomial")
    kind = draw(st.sampled_from(["float32", "float32", *kinds_of("Multinomial", version)]))
    shape = draw(st.integers(1, 4)), draw(st.integers(1, 6))
    return call(
        "Multinomial",
        [array(draw, shape, kind, -3, 1)],
        version=version,
        dtype=_type(draw, ("int32", "int64")),
        sample_size=draw(st.sampled_from([None, 1, 5, 1000])),
        seed=_seed(draw),
    )


DRAW: Mapping[str, Callable[[st.DrawFn], Sample]] = {
    **{f"Random{name}": functools.partial(_generated, name) for name in PARAMETERS},
    **{f"Random{name}Like": functools.partial(_alike, name) for name in PARAMETERS},
    "Bernoulli": _bernoulli,
    "Multinomial": _multinomial,
}
