"""`@requirement` and `@cases`: what a test proves, and on which cases."""

from __future__ import annotations

import functools
import tomllib
from collections.abc import Callable, Sequence
from importlib import resources
from typing import TypedDict

import pytest


class Requirement(TypedDict):
    """One entry of requirements.toml."""

    sentence: str
    level: str  # "mandatory" or "optional"
    source: str


@functools.cache
def catalogue() -> dict[str, Requirement]:
    """Requirement id → entry, from suites/requirements.toml."""
    text = resources.files("suites").joinpath("requirements.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)


def requirement(name: str) -> pytest.MarkDecorator:
    """Marks a test with the requirement that it proves. Raises KeyError for one that the catalogue lacks."""
    if name not in catalogue():
        raise KeyError(f"requirement {name} is not in suites/requirements.toml")
    return pytest.mark.requirement(name)


def cases(source: Callable[[], Sequence[str]] | Sequence[str]) -> pytest.MarkDecorator:
    """Parametrises a test's `case` argument with case ids; the id is also the pytest parameter id."""
    return pytest.mark.cases(source)
