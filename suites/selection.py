"""Which cases run, and in which order."""

from __future__ import annotations

import collections
import difflib
from collections.abc import Iterable, Sequence

import pytest

from reference.dtypes import SHORT
from reference.evaluator import evaluate
from suites import options, profile_selection, quick
from suites.cases import identifier
from suites.cases.errors import CaseIdError
from suites.cases.graphs import HEAD as GRAPH
from suites.cases.identifier import parse
from suites.cases.operators import ALL, family
from suites.cases.schema import DOMAINS

WITHOUT_CASE = ""
"""Stands for the case of a test that has none."""


def _head(case_id: str) -> tuple[str, str]:
    """(operator, short dtype), read off the id without building anything."""
    operator, dtype, *_ = case_id.split(".", 2)
    return operator.rpartition("-")[0], dtype


def _family(case_id: str) -> str:
    name, _ = _head(case_id)
    prefix, _, operator = name.rpartition(":")
    return parse(case_id).family if name in identifier.HEADS else family(DOMAINS[prefix], operator)


def is_narrowed(config: pytest.Config) -> bool:
    """Whether the user asked for cases by what they are; tests without a case have no part in that."""
    option = config.option
    return bool(option.case) or any(given is not None for given in (option.ops, option.dtype, option.family))


def select(config: pytest.Config, ids: Sequence[str], requirement: str) -> list[str]:
    """The ids of a requirement's test that the options leave, in order; the operators' test takes ids of no table too."""
    if config.option.case:
        given = dict.fromkeys(config.option.case)
        of_operators = [case_id for case_id in given if not case_id.startswith(f"{GRAPH}-")]
        return of_operators if ids is ALL else [case_id for case_id in given if case_id in ids]
    left = list(ids)
    if config.option.quick:
        kept = quick.subset(tuple(ids), by_operator=ids is ALL)
        left = [case_id for case_id in left if case_id in kept]
    if config.option.profile is not None:
        belong = [profile.of_requirement(requirement) for profile in profile_selection.chosen(config.option.profile)]
        left = [case_id for case_id in left if any(belongs(case_id) for belongs in belong)]
    operators, dtypes, families = (options.names(t) for t in (config.option.ops, config.option.dtype, config.option.family))
    if operators is dtypes is families is None:
        return left
    return [
        case_id
        for case_id in left
        if (operators is None or _head(case_id)[0] in operators)
        and (dtypes is None or not dtypes.isdisjoint({_head(case_id)[1], SHORT[_head(case_id)[1]]}))
        and (families is None or _family(case_id) in families)
    ]


def keeps(config: pytest.Config, requirement: str) -> bool:
    """Whether the options leave a requirement's test that has no case."""
    profile = config.option.profile
    return not is_narrowed(config) and (profile is None or bool(profile_selection.holding(profile, requirement, WITHOUT_CASE)))


def check_profiles(config: pytest.Config) -> None:
    """Raises UsageError for a profile that does not exist, or that is not as many cases as it says."""
    for profile in profile_selection.chosen(config.option.profile):
        try:
            profile.check()
        except profile_selection.ProfileError as error:
            raise options.usage_error(f"--profile: {error}") from None


def check(config: pytest.Config, ids: Sequence[str], families: Iterable[str]) -> None:
    """Raises UsageError for a name that no case has, for a selection that is empty, and for a --case that means nothing."""
    option = config.option
    known = {
        "--ops": (option.ops, {_head(i)[0] for i in ids}),
        "--dtype": (option.dtype, {n for s in {_head(i)[1] for i in ids} for n in (s, SHORT[s])}),
        "--family": (option.family, set(families)),
    }
    given = [name for name, (text, _) in known.items() if text is not None]
    others = [name for name in ("--profile", "--quick") if getattr(option, name[2:])]
    if option.case and (given or others):
        raise options.usage_error(f"--case names the cases itself; leave out {', '.join([*given, *others])}")
    for case_id in option.case:
        _check_case(case_id)
    for name, (text, valid) in known.items():
        if text is not None and not options.names(text):
            raise options.usage_error(f"{name}: no name was given")
        for word in sorted(options.names(text) or ()):
            if word not in valid:
                near = difflib.get_close_matches(word, valid, 3, 0.5) or sorted(valid)[:12]
                raise options.usage_error(f"{name}: no case has '{word[:80]}'; there are for example {', '.join(near)}")
    if not option.case and not any(select(config, cases, of) for of, cases in _tests(config, ids)):
        raise options.usage_error(f"no case has what {', '.join([*given, *others])} ask for together")


def _tests(config: pytest.Config, ids: Sequence[str]) -> Iterable[tuple[str, Sequence[str]]]:
    """The tests in which a selection must leave something: the operators'; of a profile, any."""
    yield profile_selection.OPERATORS, ids
    if config.option.profile is not None:
        yield from ((of, cases) for of, cases in profile_selection.tests().items() if of != profile_selection.OPERATORS)


def _check_case(case_id: str) -> None:
    """Raises UsageError for an id that is malformed, or whose model is none that ONNX gives a meaning."""
    try:
        case = parse(case_id)
        evaluate(case.model, case.feeds)
    except CaseIdError as error:
        raise options.usage_error(f"--case: {error}") from None
    except Exception as error:  # of the reference, which evaluates every valid model
        reason = f"{type(error).__name__}: {error}"
        raise options.usage_error(f"--case: {case_id[:200]}: the reference cannot evaluate this: {reason}") from None


def informative_first(items: list[pytest.Item]) -> list[pytest.Item]:
    """A deterministic order in which every prefix covers as much as it can: one case of each operator and type in turn."""
    seen: collections.Counter[tuple[str, str]] = collections.Counter()
    per_operator: collections.Counter[str] = collections.Counter()
    keyed = []
    for position, item in enumerate(items):
        case_id = id_of(item)
        head = _head(case_id) if case_id and "." in case_id else (item.name, "")
        if not seen[head]:
            per_operator[head[0]] += 1
        round_, of_type = seen[head], per_operator[head[0]]
        seen[head] += 1
        keyed.append((round_, of_type, position, item))
    return [item for *_, item in sorted(keyed, key=lambda row: row[:3])]


def id_of(item: pytest.Item) -> str:
    """The case id of a test item, "" for a test without one."""
    callspec = getattr(item, "callspec", None)
    case = callspec.params.get("case") if callspec is not None else None
    return case if isinstance(case, str) else ""  # pytest's NOTSET where a selection leaves a test no case
