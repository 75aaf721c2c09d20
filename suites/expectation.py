"""Expectations: the known failures of a backend, so that a run fails for others alone (docs/expectations.md).

A file, of suites/expectations or a user's own, says whose failures they are; each entry claims tests by globs of their ids and
says with which verdict they end, why, and until when that is believed. A test that passes instead fails, a file with an entry
that claims nothing is refused: what is written down stays true.
"""

from __future__ import annotations

import dataclasses
import datetime
import functools
import hashlib
import os
import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from importlib import resources
from pathlib import Path
from typing import Any

from backends.interface import DeviceInfo
from backends.options import nearest
from results.header import shorten
from results.record import EXPECTED, STALE, Record
from results.summary import OPERATOR_TESTS
from results.verdict import EXPECTABLE, Verdict
from suites.cases import operators
from suites.options import usage_error

OPERATOR_TEST = f"{OPERATOR_TESTS}test_operator["
"""Begins the id of a test of the operators; its case follows."""

OF_FILE = {"backend": True, "device": False, "runtime": False, "expect": True}
OF_ENTRY = {
    "cases": True,
    "verdict": True,
    "reason": True,
    "url": True,
    "expires": True,
    "finding": False,
    "sometimes": False,
}
"""Key → whether it must be there."""

WORDS = ("backend", "finding", "url")
"""Keys whose text has no spaces."""


class ExpectationError(ValueError):
    """A file that cannot be used, in one line."""


@dataclasses.dataclass(frozen=True)
class Expectation:
    """An entry. cases: globs of case ids of the operators' test, or, with "::", of whole test ids. where: its place, for
    messages. sometimes: whether the tests may pass as well. expires: the last day on which the entry is believed.
    """

    where: str
    cases: tuple[str, ...]
    verdicts: tuple[Verdict, ...]
    reason: str
    url: str
    expires: datetime.date
    finding: str = ""
    sometimes: bool = False

    @property
    def title(self) -> str:
        """What it is known by."""
        return self.finding or self.reason

    @property
    def expired(self) -> bool:
        return self.expires < datetime.date.today()

    def applied(self, record: Record) -> Record:
        """The record of a test that the entry claims, with a note if it failed as expected or passes, else a longer reason."""
        note = f"{self.title} {self.url}"
        if record.verdict in self.verdicts:
            return dataclasses.replace(record, notes=[*record.notes, f"{EXPECTED}{note}"])
        said = f"expected {' or '.join(self.verdicts)} ({self.title})"
        if record.outcome == "passed" and not self.sometimes:
            right = "" if record.verdict is Verdict.PASS else record.reason  # which says no more than that
            reason = _joined(right, f"{said}, but it passes: remove the entry or narrow it")
            return dataclasses.replace(record, reason=reason, notes=[*record.notes, f"{STALE}{note}"])
        if record.verdict in EXPECTABLE:
            return dataclasses.replace(record, reason=_joined(record.reason, said))
        return record

    @functools.cached_property
    def pattern(self) -> str:
        """A regular expression of the test ids that it claims."""
        return "|".join(map(_pattern, self.cases))


def _joined(*parts: str) -> str:
    return "; ".join(part for part in parts if part)


def _pattern(glob: str) -> str:
    """A regular expression of the test ids that a glob of an entry claims."""
    return _translated(glob) if "::" in glob else f"{re.escape(OPERATOR_TEST)}{_translated(glob)}\\]"


def _translated(glob: str) -> str:
    """As fnmatch reads it, without classes of characters: ids are full of brackets."""
    return "".join({"*": ".*", "?": "."}.get(sign, re.escape(sign)) for sign in glob)


@dataclasses.dataclass(frozen=True)
class File:
    """The failures of one backend; device and runtime are globs, "*" where the file names none."""

    name: str
    sha256: str
    backend: str
    device: str
    runtime: str
    entries: tuple[Expectation, ...]

    def described(self) -> dict[str, Any]:
        """As a journal's header has it."""
        expired = [entry.title for entry in self.entries if entry.expired]
        return {"name": shorten(self.name), "sha256": self.sha256, "entries": len(self.entries), "expired": expired}


class Expectations:
    """What the files of one run say together."""

    def __init__(self, files: Sequence[File]) -> None:
        self.files = files
        self.entries = [entry for file in files for entry in file.entries]
        self._any = re.compile("|".join(entry.pattern for entry in self.entries) or "(?!)")
        self._claims = [(entry, glob, re.compile(_pattern(glob))) for entry in self.entries for glob in entry.cases]
        self._idle = dict.fromkeys((entry.where, glob) for entry, glob, _ in self._claims)

    def of(self, test: str) -> Expectation | None:
        """The entry that claims a test, by its id as journals have it."""
        if not self._any.fullmatch(test):
            return None
        return next(entry for entry, _, pattern in self._claims if pattern.fullmatch(test))

    def check_tests(self, tests: Iterable[str]) -> None:
        """Raises UsageError where entries claim one of the tests with different verdicts; remembers which globs claim any."""
        for test in tests:
            if self._any.fullmatch(test):
                claims = [(entry, glob) for entry, glob, pattern in self._claims if pattern.fullmatch(test)]
                for entry, glob in claims:
                    self._idle.pop((entry.where, glob), None)
                    if set(entry.verdicts) != set(claims[0][0].verdicts):
                        raise usage_error(
                            f"--expectations: {claims[0][0].where} and {entry.where} claim {test} with different verdicts; "
                            "narrow one of them"
                        )

    def check_operators(self) -> None:
        """Raises UsageError as `check_tests`, and for a glob that claims none of the operators' tests and no other's either."""
        self.check_tests(f"{OPERATOR_TEST}{case_id}]" for case_id in operators.ALL)
        self._check_idle([glob for glob in self._idle if "::" not in glob[1] or glob[1].startswith(OPERATOR_TESTS)])

    def check_all(self, tests: Iterable[str]) -> None:
        """The same once all tests there are have been collected, but those of the operators."""
        self.check_tests(test for test in tests if not test.startswith(OPERATOR_TEST))
        self._check_idle([*self._idle])

    def _check_idle(self, idle: Sequence[tuple[str, str]]) -> None:
        if idle:
            (where, glob), more = idle[0], len(idle) - 1
            rest = f" (and {more} more like it)" if more else ""
            raise usage_error(
                f"--expectations: {where}: '{glob[:200]}' claims no test of the suites{rest}; correct or remove it"
            )

    def check_device(self, info: DeviceInfo) -> None:
        """Raises UsageError for a file about another device."""
        for file in self.files:
            for what, wanted, found in (
                ("backend", file.backend, info.backend),
                ("device", file.device, info.name),
                ("runtime", file.runtime, info.runtime),
            ):
                if wanted != found if what == "backend" else not re.fullmatch(_translated(wanted), found):
                    raise usage_error(
                        f"--expectations: {file.name} is about {what} '{wanted}', this one is '{found}'; "
                        "take the file of this one, or none"
                    )

    def check_dates(self) -> None:
        """Raises UsageError for entries past their date."""
        expired = [entry for entry in self.entries if entry.expired]
        if expired:
            rest = f" (and {len(expired) - 1} more)" if len(expired) > 1 else ""
            raise usage_error(
                f"--expectations: {expired[0].where} expired on {expired[0].expires}{rest}, and --strict was given; "
                "look whether it still holds, then renew or remove it"
            )


# Files


def names() -> list[str]:
    """Of the expectations that come with the suite."""
    folder = resources.files("suites").joinpath("expectations")
    if not folder.is_dir():
        return []
    return sorted(entry.name.removesuffix(".toml") for entry in folder.iterdir() if entry.name.endswith(".toml"))


def load(text: str) -> Expectations:
    """The files of `--expectations=NAME,FILE`. Raises UsageError."""
    given = [text] if os.path.isfile(os.path.expanduser(text)) else [part.strip() for part in text.split(",") if part.strip()]
    try:
        if not given:
            raise ExpectationError(f"no name was given{_offer()}")
        return Expectations([_file(name) for name in dict.fromkeys(given)])
    except ExpectationError as error:
        raise usage_error(f"--expectations: {error}") from None


def _file(name: str) -> File:
    path = os.path.expanduser(name)
    if name in names():
        return read(name, resources.files("suites").joinpath("expectations", f"{name}.toml").read_bytes())
    if not os.path.isfile(path):
        raise ExpectationError(f"no expectations '{name[:200]}' and no such file{nearest(name, names()) or _offer()}")
    try:
        return read(name, Path(path).read_bytes())
    except OSError as error:
        raise ExpectationError(f"{name}: {error.strerror}; give a file that can be read") from None


def _offer() -> str:
    return f"; there are {', '.join(names())}, or give a file" if names() else "; none comes with the suite, give a file"


def read(name: str, content: bytes) -> File:
    """A file from its content; `name` is for messages and the journal. Raises ExpectationError."""
    try:
        data = tomllib.loads(content.decode("utf-8-sig").replace("\r\n", "\n"))
    except UnicodeDecodeError:
        raise ExpectationError(f"{name} is not UTF-8; save it as that") from None
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise ExpectationError(f"{name} is no TOML: {error}; correct it there") from None
    _check_keys(data, OF_FILE, name, "the file")
    for key in ("backend", "device", "runtime"):
        _text(data, key, name)
    if not isinstance(data["expect"], list) or not all(isinstance(entry, dict) for entry in data["expect"]):
        raise ExpectationError(f"{name}: expect must be tables; write [[expect]] above each entry")
    entries = tuple(_entry(f"{name}: entry {number}", entry) for number, entry in enumerate(data["expect"], 1))
    about = (data["backend"], data.get("device", "*"), data.get("runtime", "*"))
    return File(name, hashlib.sha256(content).hexdigest(), *about, entries)


def _entry(where: str, data: Mapping[str, Any]) -> Expectation:
    if isinstance(data.get("finding"), str):
        where = f"{where} ({data['finding']})"
    _check_keys(data, OF_ENTRY, where, "an entry")
    for key in ("reason", "url", "finding"):
        _text(data, key, where)
    globs = data["cases"]
    if not isinstance(globs, list) or not globs or not all(isinstance(glob, str) and glob.strip() for glob in globs):
        raise ExpectationError(f'{where}: cases must be a list of globs of ids, such as ["Cos-7.f64.*"]')
    if type(data["expires"]) is not datetime.date:
        raise ExpectationError(f"{where}: expires must be a date without quotes, such as 2027-06-01")
    if not isinstance(data.get("sometimes", False), bool):
        raise ExpectationError(f"{where}: sometimes must be true or false")
    return Expectation(
        where,
        tuple(glob.strip() for glob in globs),
        _verdicts(data["verdict"], where),
        " ".join(data["reason"].split()),
        data["url"],
        data["expires"],
        data.get("finding", ""),
        data.get("sometimes", False),
    )


def _check_keys(data: Mapping[str, Any], known: Mapping[str, bool], where: str, what: str) -> None:
    for key in data:
        if key not in known:
            raise ExpectationError(
                f"{where}: {what} has no key '{key[:80]}'{nearest(key, known) or '; it has ' + ', '.join(known)}"
            )
    for key, needed in known.items():
        if needed and key not in data:
            raise ExpectationError(f"{where}: key '{key}' is missing; add it (docs/expectations.md)")


def _text(data: Mapping[str, Any], key: str, where: str) -> None:
    value = data.get(key, "-")
    if not isinstance(value, str) or not value.strip() or (key in WORDS and len(value.split()) != 1):
        raise ExpectationError(f"{where}: {key} must be {'one word' if key in WORDS else 'a text'} in quotes")


def _verdicts(given: object, where: str) -> tuple[Verdict, ...]:
    words = [given] if isinstance(given, str) else given
    if not isinstance(words, list) or not words or not all(isinstance(word, str) for word in words):
        raise ExpectationError(f'{where}: verdict must be one in quotes or a list of them, such as "mismatch"')
    can_be = sorted(verdict.value for verdict in EXPECTABLE)
    for word in words:
        if word not in can_be:
            known = word in Verdict.__members__.values()
            wrong = f"'{word}' is no failure and cannot be expected" if known else f"there is no verdict '{word[:80]}'"
            hint = "" if known else nearest(word, can_be)
            raise ExpectationError(f"{where}: {wrong}{hint or '; it can be ' + ', '.join(can_be)}")
    return tuple(map(Verdict, dict.fromkeys(words)))
