"""`@requirement` and `@cases`: what a test proves, and on which cases."""

from __future__ import annotations

import functools
import re
import sys
import tomllib
from collections.abc import Callable, Mapping, Sequence
from importlib import resources
from typing import NotRequired, TypedDict

import pytest


class Requirement(TypedDict):
    """One entry of requirements.toml."""

    sentence: str
    level: str  # "mandatory" or "optional"
    source: str
    feature: NotRequired[str]  # words of `backends.interface.FEATURES`, all of which a device must have that it holds for


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


GROUPS = {
    "DEV": "The device",
    "OPS": "Operators",
    "DTYPE": "Types",
    "LAYOUT": "Layouts",
    "ALIGN": "Alignment",
    "ZC": "Zero-copy",
    "STAB": "Stability",
    "GRAPH": "Graphs",
    "CACHE": "Compile cache",
    "REF": "Refusals and robustness",
}
"""First part of a requirement's id → what it is about, in the order of docs/requirements.md."""


def markdown(tests: Mapping[str, Sequence[str]]) -> str:
    """The whole of docs/requirements.md; `tests` are those of each requirement."""
    parts = [
        "# Requirements",
        "<!-- generated: python -m suites.requirement > docs/requirements.md -->",
        f"What a device is held to: {len(catalogue())} requirements. Each test names the one that it proves; `--case` and "
        "the other filters choose cases, `pytest suites/test_layout.py` a group. *Mandatory* ones hold for every device, "
        "*optional* ones are good practice; where a **feature** stands, they hold for devices that have it "
        "(`Capabilities.features`, [writing a backend](writing-a-backend.md)), and are `unsupported` elsewhere.",
    ]
    for prefix, title in GROUPS.items():
        entries = {name: entry for name, entry in catalogue().items() if name.startswith(f"{prefix}-")}
        rows = [
            (name, entry["sentence"], entry["level"], entry.get("feature", ""), entry["source"], ", ".join(tests[name]))
            for name, entry in entries.items()
        ]
        head = ("id", "requirement", "level", "feature", "source", "test")
        lines = [head, ("---",) * len(head), *rows]
        table = ("| " + " | ".join(cell.replace("|", r"\|") for cell in line) + " |" for line in lines)
        parts += [f"## {title}", "\n".join(table)]
    return "\n\n".join(parts)


def proofs() -> dict[str, list[str]]:
    """Requirement → the tests that name it, as `file::function`."""
    found: dict[str, list[str]] = {}
    folder = resources.files("suites")
    for path in sorted((entry for entry in folder.iterdir() if entry.name.startswith("test_")), key=lambda entry: entry.name):
        text = path.read_text(encoding="utf-8")
        for name, test in re.findall(r'^@requirement\("([^"]+)"\)\n(?:@.*\n(?:[ )].*\n)*)*def (test_\w+)', text, re.MULTILINE):
            found.setdefault(name, []).append(f"`{path.name}::{test}`")
    return found


if __name__ == "__main__":
    sys.stdout.buffer.write((markdown(proofs()) + "\n").encode())
