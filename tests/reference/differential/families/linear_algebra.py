"""Determinants."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from hypothesis import strategies as st

from ..samples import Sample, any_shape, array, call, kinds_of, version_of


def _det(draw: st.DrawFn) -> Sample:
    version = version_of(draw, "Det")
    kind = draw(st.sampled_from(kinds_of("Det", version)))
    size = draw(st.sampled_from([1, 2, 3, 4, 5, 8, 25, 0]))
    return call("Det", [array(draw, (*any_shape(draw, 0, 3, 3), size, size), kind, specials=True)], version=version)


DRAW: Mapping[str, Callable[[st.DrawFn], Sample]] = {"Det": _det}
