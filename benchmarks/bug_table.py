"""Tables of public bugs of real runtimes: which wheels have one, which do not, and which part of the suite must see it."""

from __future__ import annotations

import dataclasses
import re
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import jsonschema

from reference.dtypes import SHORT
from results.verdict import Verdict, outcome

OWN = Path(__file__).with_name("known_bugs.toml")

TEXTS = {"type": "array", "items": {"type": "string", "minLength": 1}, "uniqueItems": True}
SOME = {**TEXTS, "minItems": 1}
OPTIONS = {"type": "object", "additionalProperties": {"type": "string"}}

SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "required": ["bug"],
    "additionalProperties": False,
    "properties": {
        "bug": {
            "type": "array",
            "minItems": 1,
            "items": {
                "type": "object",
                "required": ["id", "title", "url", "backend", "wrong", "diagnosis"],
                "additionalProperties": False,
                "properties": {
                    "id": {"type": "string", "pattern": "^[A-Za-z][A-Za-z0-9-]*$"},
                    "title": {"type": "string", "minLength": 1},
                    "url": {**SOME, "items": {"type": "string", "pattern": "^https://"}},
                    "backend": {"type": "string", "minLength": 1},
                    "wrong": SOME,
                    "right": TEXTS,
                    "options": OPTIONS,
                    "right_options": OPTIONS,
                    "tests": {**SOME, "items": {"type": "string", "pattern": r"^suites/\w+\.py"}},
                    "operators": SOME,
                    "dtypes": SOME,
                    "contains": SOME,
                    "verdicts": {**SOME, "items": {"enum": [verdict.value for verdict in Verdict]}},
                    "diagnosis": {"type": "string", "minLength": 1, "format": "regex"},
                },
            },
        }
    },
}
"""`docs/known-bugs.md` explains the fields."""

FAILING = tuple(v.value for v in Verdict if outcome(v).pytest == "failed" and v is not Verdict.HARNESS_ERROR)


class TableError(ValueError):
    """A table that means nothing; the text is one line that names the file, the bug and the field."""


@dataclasses.dataclass(frozen=True)
class Bug:
    """A row. wrong, right: requirements of pip, one text for each environment. right_options: instead of `options` there.
    tests: pytest nodes; without them the cases of the operators' suite that operators, dtypes and contains (texts that an id
    has) leave. verdicts: those that show the bug. diagnosis: a regular expression for what the record of such a case says.
    """

    id: str
    title: str
    url: tuple[str, ...]
    backend: str
    wrong: tuple[str, ...]
    diagnosis: str
    right: tuple[str, ...] = ()
    options: Mapping[str, str] = dataclasses.field(default_factory=dict)
    right_options: Mapping[str, str] | None = None
    tests: tuple[str, ...] = ()
    operators: tuple[str, ...] = ()
    dtypes: tuple[str, ...] = ()
    contains: tuple[str, ...] = ()
    verdicts: tuple[str, ...] = FAILING

    def selects(self, case_id: str) -> bool:
        """Whether a case of the operators' suite is one that has to see the bug."""
        operator, dtype, _ = case_id.split(".", 2)
        return (
            operator.rpartition("-")[0] in self.operators
            and (not self.dtypes or SHORT[dtype] in self.dtypes or dtype in self.dtypes)
            and all(text in case_id for text in self.contains)
        )

    def options_where(self, right: bool) -> Mapping[str, str]:
        """The backend's options where the bug is gone, or where it is."""
        return self.right_options if right and self.right_options is not None else self.options


def load(path: Path) -> list[Bug]:
    """The bugs of one table. Raises TableError."""
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise TableError(f"{path}: {error.strerror or error}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise TableError(f"{path}: not TOML: {error}") from None
    checker = jsonschema.Draft202012Validator(SCHEMA, format_checker=jsonschema.FormatChecker(["regex"]))
    problem = jsonschema.exceptions.best_match(checker.iter_errors(data))
    if problem is not None:
        raise TableError(f"{path}: {_place(data, list(problem.absolute_path))}{problem.message}")
    bugs = [
        Bug(**{key: tuple(value) if isinstance(value, list) else value for key, value in row.items()}) for row in data["bug"]
    ]
    for bug in bugs:
        if bool(bug.operators) == bool(bug.tests):
            raise TableError(f"{path}: bug {bug.id}: it needs operators or tests, and not both")
    return bugs


def _place(data: Mapping[str, Any], path: list[Any]) -> str:
    """ "bug K3, field url: " for where a problem lies."""
    if len(path) < 2:
        return ""
    row = data["bug"][path[1]]
    name = row.get("id") if isinstance(row, dict) else None
    field = f", field {'.'.join(map(str, path[2:]))}" if path[2:] else ""
    return f"bug {name or f'number {path[1] + 1}'}{field}: "


def load_all(paths: Iterable[Path], only: Iterable[str] = ()) -> list[Bug]:
    """The bugs of several tables, or those of them that `only` names. Raises TableError."""
    found: dict[str, Bug] = {}
    for path in paths:
        for bug in load(path):
            if bug.id in found:
                raise TableError(f"{path}: bug {bug.id} is there twice; ids must differ in all tables together")
            found[bug.id] = bug
    wanted = list(only)
    unknown = [name for name in wanted if name not in found]
    if unknown:
        raise TableError(f"--only: there is no bug {unknown[0]}; there are {', '.join(found)}")
    return [bug for bug in found.values() if not wanted or bug.id in wanted]


def fits(bug: Bug, said: str) -> bool:
    """Whether what a record says names the bug."""
    return re.search(bug.diagnosis, said) is not None
