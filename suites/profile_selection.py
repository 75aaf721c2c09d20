"""Must-pass profiles: which tests a device has to pass to be called fit for a use. Each is a file of suites/profiles.

A profile says by rules which tests belong to it, and by number how many they are. The rules read the text of ids and follow the
tables as they grow; the number does not, so that nobody is held to other tests under the same version unawares.
"""

from __future__ import annotations

import argparse
import dataclasses
import fnmatch
import functools
import itertools
import re
import sys
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib import resources
from pathlib import Path
from typing import Any

import pytest
from onnx import defs
from tabulate import tabulate

from backends.options import nearest
from reference.dtypes import SHORT
from results.record import MANDATORY, OF_PROFILE, Record
from suites.cases import operators
from suites.options import usage_error
from suites.requirement import catalogue

OPERATORS = "OPS-001"
"""The requirement that a rule is about where it names none."""

KEYS = ("requirements", "operators", "families", "opsets", "dtypes", "recipes", "fields", "without")
"""What a rule may restrict; each is a text of words. Left out, everything is admitted."""

_CASES = re.compile(r"^cases = \d+$", re.MULTILINE)


class ProfileError(ValueError):
    """A profile that is none, in one line."""


@dataclasses.dataclass(frozen=True)
class Rule:
    """Admits a test if every restriction does; one left at () admits all.

    requirements: globs. operators: without versions, "ms:Gelu" of com.microsoft, "Graph" of graphs. opsets: first
    and last, in one of which the case's version of its operator must hold. fields: globs of an id's fields, or names of fields,
    of which all must be there; `|` stands between choices. without: of which none may be there.
    """

    requirements: tuple[str, ...] = (OPERATORS,)
    operators: frozenset[str] = frozenset()
    families: frozenset[str] = frozenset()
    opsets: tuple[int, int] | None = None
    dtypes: frozenset[str] = frozenset()
    recipes: frozenset[str] = frozenset()
    fields: tuple[re.Pattern[str], ...] = ()
    without: tuple[re.Pattern[str], ...] = ()

    def concerns(self, requirement: str) -> bool:
        """Whether the rule is about tests of that requirement."""
        return any(fnmatch.fnmatchcase(requirement, pattern) for pattern in self.requirements)

    def admits(self, case: str) -> bool:
        """Whether the text of the id does; "" is a test without a case, which only a rule on requirements alone admits."""
        if not case:
            return self == Rule(self.requirements)
        head, dtype, rest = case.split(".", 2)
        operator, _, version = head.rpartition("-")
        return (
            (not self.operators or operator in self.operators)
            and (not self.dtypes or dtype in self.dtypes)
            and (not self.families or _family().get(operator) in self.families)
            and (self.opsets is None or _holds(operator, int(version), *self.opsets))
            and (not self.recipes or rest.rpartition("in:")[2] in self.recipes)
            and all(pattern.search(case) for pattern in self.fields)
            and not any(pattern.search(case) for pattern in self.without)
        )


@dataclasses.dataclass(frozen=True)
class Profile:
    """A must-pass list. features: words of `backends.interface.FEATURES` that a device of this profile must have; tests of
    requirements that ask for others are no part of it, nor are those of optional requirements. cases: how many tests it has.
    """

    name: str
    version: str
    description: str
    source: str
    features: frozenset[str]
    cases: int
    rules: tuple[Rule, ...]

    @property
    def title(self) -> str:
        """Name and version, as journals have them."""
        return f"{self.name} {self.version}"

    def of_requirement(self, requirement: str) -> Callable[[str], bool]:
        """A function of case ids, "" for none: does that case's test of the requirement belong to the profile?"""
        entry = catalogue()[requirement]
        rules = [rule for rule in self.rules if rule.concerns(requirement)]
        if entry["level"] != "mandatory" or not self.features.issuperset(entry.get("feature", "").split()):
            rules = []
        return lambda case: any(rule.admits(case) for rule in rules)

    def has(self, requirement: str, case: str) -> bool:
        """Whether a test belongs to the profile."""
        return self.of_requirement(requirement)(case)

    @functools.cached_property
    def selected(self) -> int:
        """How many tests the rules select of the suites as they are now."""
        return sum(sum(map(self.of_requirement(name), cases)) for name, cases in tests().items())

    def check(self) -> None:
        """Raises ProfileError where the rules do not select the number of tests that the file says."""
        if self.selected != self.cases:
            raise ProfileError(
                f"profile {self.title} is {self.cases} cases, but its rules select {self.selected} of this suite; "
                f"npu-cts profiles --update {self.name} writes the number down"
            )


@functools.cache
def _family() -> Mapping[str, str]:
    """Operator, as ids have it → family."""
    return {case.split(".", 1)[0].rpartition("-")[0]: name for name, cases in operators.families().items() for case in cases}


@functools.cache
def _versions() -> Mapping[str, Sequence[int]]:
    """ONNX operator → its since_versions."""
    found: dict[str, list[int]] = {}
    for schema in defs.get_all_schemas_with_history():
        if not schema.domain:
            found.setdefault(schema.name, []).append(schema.since_version)
    return found


@functools.cache
def _holds(operator: str, version: int, first: int, last: int) -> bool:
    """Whether an operator's version is that of one of the opsets; graphs and other domains have no opsets of their own."""
    later = [other for other in _versions().get(operator, ()) if other > version]
    return operator not in _versions() or (version <= last and min(later, default=last + 1) > first)


@functools.cache
def tests() -> Mapping[str, Sequence[str]]:
    """Requirement → the case of each of its tests, "" for one without."""
    from suites.detection import checks  # which loads every suite

    return {name: [check.case for check in found] for name, found in checks().items()}


# Files


def names() -> list[str]:
    """Of every profile there is."""
    folder = resources.files("suites").joinpath("profiles")
    return sorted(entry.name.removesuffix(".toml") for entry in folder.iterdir() if entry.name.endswith(".toml"))


@functools.cache
def load(name: str) -> Profile:
    """A profile by name. Raises ProfileError."""
    if name not in names():
        raise ProfileError(f"no profile '{name[:80]}'{nearest(name, names()) or '; there are ' + ', '.join(names())}")
    text = resources.files("suites").joinpath("profiles", f"{name}.toml").read_text(encoding="utf-8")
    try:
        return read(text)
    except (tomllib.TOMLDecodeError, KeyError, TypeError, ValueError) as error:
        raise ProfileError(f"profiles/{name}.toml: {error}") from None


def read(text: str) -> Profile:
    """A profile from the text of its file. Raises ValueError, KeyError or TypeError."""
    data = tomllib.loads(text)
    data["features"] = frozenset(data.get("features", "").split())
    data["rules"] = tuple(_rule(entry) for entry in data["rules"])
    return Profile(**data)


def _rule(entry: Mapping[str, str]) -> Rule:
    unknown = next((key for key in entry if key not in KEYS), None)
    if unknown is not None:
        raise ValueError(f"a rule has no {unknown!r}{nearest(unknown, KEYS)}")
    words = {key: text.split() for key, text in entry.items()}
    bad = next((dtype for dtype in words.get("dtypes", ()) if dtype not in SHORT), None)
    if bad is not None:
        raise ValueError(f"{bad!r} is no type{nearest(bad, SHORT)}")
    made: dict[str, Any] = {key: frozenset(found) for key, found in words.items()}
    made["requirements"] = tuple(words.get("requirements", (OPERATORS,)))
    if "opsets" in entry:
        first, last = map(int, entry["opsets"].split("-"))
        made["opsets"] = (first, last)
    made |= {key: tuple(map(_field, words.get(key, ()))) for key in ("fields", "without")}
    return Rule(**made)


def _field(glob: str) -> re.Pattern[str]:
    """Finds a field of an id: "const" by its name, "axis:-1" and "w:*:i8" whole."""
    choices = (choice if ":" in choice or "*" in choice else f"{choice}:*" for choice in glob.split("|"))
    patterns = "|".join(re.escape(choice).replace(r"\*", "[^.]*") for choice in choices)
    return re.compile(rf"\.(?:{patterns})(?=\.|$)")


# Choice


def chosen(text: str | None) -> tuple[Profile, ...]:
    """The profiles of `--profile=int8,fp16`; a version, as journals have it, may follow each name. Raises UsageError."""
    if text is None:
        return ()
    words = [word.split() for word in text.split(",") if word.strip()]
    if not words:
        raise usage_error(f"--profile: no name was given; there are {', '.join(names())}")
    found: dict[str, Profile] = {}
    for name, *version in words:
        try:
            profile = load(name)
        except ProfileError as error:
            raise usage_error(f"--profile: {error}") from None
        if version not in ([], [profile.version]):
            raise usage_error(f"--profile: {name} has version {profile.version}, not {' '.join(version)[:80]}")
        found[name] = profile
    return tuple(found.values())


def holding(text: str | None, requirement: str, case: str) -> list[Profile]:
    """Those of `--profile` that a test belongs to."""
    return [profile for profile in chosen(text) if profile.has(requirement, case)]


def as_must(text: str | None, record: Record, case: str) -> Record:
    """A test's record with notes that name the profiles of `--profile` that it belongs to."""
    belongs = [f"{OF_PROFILE}{profile.name}" for profile in holding(text, record.requirement, case)]
    return dataclasses.replace(record, notes=[*record.notes, MANDATORY, *belongs]) if belongs else record


def described(text: str | None) -> dict[str, int]:
    """The profiles of `--profile` as a journal's header has them: name and version → how many tests it has."""
    return {profile.title: profile.cases for profile in chosen(text)}


# The command `npu-cts profiles`


def main(arguments: Sequence[str]) -> int:
    """Lists profiles, checks their numbers or writes them anew; 1 if a number is not right, 4 for usage errors."""
    parser = argparse.ArgumentParser(prog="npu-cts profiles", description="Must-pass lists of tests: run --profile=NAME.")
    parser.add_argument("names", nargs="*", metavar="NAME", help="only these (default: all)")
    parser.add_argument("--check", action="store_true", help="compare each number of cases with what the rules select")
    parser.add_argument("--update", action="store_true", help="write the number of cases into the files of this checkout")
    try:
        given = parser.parse_args(arguments)
        profiles = [load(name) for name in given.names or names()]
    except SystemExit as ended:
        return int(pytest.ExitCode.USAGE_ERROR) if ended.code else 0
    except ProfileError as error:
        print(f"npu-cts profiles: {error}", file=sys.stderr)
        return int(pytest.ExitCode.USAGE_ERROR)
    if given.update:
        return _update(profiles)
    if given.check:
        problems = list(itertools.chain.from_iterable(map(problems_of, profiles)))
        print("\n".join(problems or [f"{profile.title}: {profile.cases} cases" for profile in profiles]))
        return int(bool(problems))
    rows = [(profile.name, profile.version, profile.cases, profile.description) for profile in profiles]
    print(tabulate(rows, ["profile", "version", "cases", "for"], tablefmt="simple", maxcolwidths=[None, None, None, 80]))
    return 0


def problems_of(profile: Profile) -> Iterable[str]:
    """What is wrong with a profile, a line each: its number, and operators and rules that select nothing."""
    try:
        profile.check()
    except ProfileError as error:
        yield str(error)
    for rule in profile.rules:
        cases = (case for name, of_test in tests().items() if rule.concerns(name) for case in of_test)
        selected = {case.split(".", 1)[0].rpartition("-")[0] for case in cases if rule.admits(case)}
        if not selected:
            about = ", ".join(sorted(rule.operators) or rule.requirements)
            yield f"profile {profile.title}: a rule selects nothing: {about}"
        for operator in sorted(rule.operators - selected if selected else ()):
            yield f"profile {profile.title}: {operator} of operators selects nothing"


def _update(profiles: Iterable[Profile]) -> int:
    for profile in profiles:
        path = Path(str(resources.files("suites").joinpath("profiles", f"{profile.name}.toml")))
        text = path.read_text(encoding="utf-8")
        path.write_text(_CASES.sub(f"cases = {profile.selected}", text, count=1), encoding="utf-8", newline="\n")
        print(f"{profile.title}: {profile.cases} cases, now {profile.selected}")
    return 0
