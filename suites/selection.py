"""Which cases run, and in which order."""

from __future__ import annotations

import collections
import difflib
from collections.abc import Iterable, Sequence

import pytest

from reference.dtypes import SHORT
from reference.evaluator import evaluate
from suites import options
from suites.cases.errors import CaseIdError
from suites.cases.graphs import HEAD as GRAPH
from suites.cases.identifier import parse
from suites.cases.operators import ALL


def _head(case_id: str) -> tuple[str, str]:
    """(operator, short dtype), read off the id without building anything."""
    operator, dtype, *_ = case_id.split(".", 2)
    return operator.rpartition("-")[0], dtype


def select(config: pytest.Config, ids: Sequence[str]) -> list[str]:
    """The ids that --case, --ops, --dtype and --family leave, in order; the operators' test takes ids of no table too."""
    if config.option.case:
        given = dict.fromkeys(config.option.case)
        of_operators = [case_id for case_id in given if not case_id.startswith(f"{GRAPH}-")]
        return of_operators if ids is ALL else [case_id for case_id in given if case_id in ids]
    wanted = [options.names(text) for text in (config.option.ops, config.option.dtype, config.option.family)]
    operators, dtypes, families = wanted
    if wanted == [None, None, None]:
        return list(ids)
    return [
        case_id
        for case_id in ids
        if (operators is None or _head(case_id)[0] in operators)
        and (dtypes is None or not dtypes.isdisjoint({_head(case_id)[1], SHORT[_head(case_id)[1]]}))
        and (families is None or parse(case_id).family in families)
    ]


def check(config: pytest.Config, ids: Sequence[str], families: Iterable[str]) -> None:
    """Raises UsageError for a name that no case has, for a selection that is empty, and for a --case that means nothing."""
    option = config.option
    known = {
        "--ops": (option.ops, {_head(i)[0] for i in ids}),
        "--dtype": (option.dtype, {n for s in {_head(i)[1] for i in ids} for n in (s, SHORT[s])}),
        "--family": (option.family, set(families)),
    }
    given = [name for name, (text, _) in known.items() if text is not None]
    if option.case and given:
        raise options.usage_error(f"--case names the cases itself; leave out {', '.join(given)}")
    for case_id in option.case:
        _check_case(case_id)
    for name, (text, valid) in known.items():
        if text is not None and not options.names(text):
            raise options.usage_error(f"{name}: no name was given")
        for word in sorted(options.names(text) or ()):
            if word not in valid:
                near = difflib.get_close_matches(word, valid, 3, 0.5) or sorted(valid)[:12]
                raise options.usage_error(f"{name}: no case has '{word[:80]}'; there are for example {', '.join(near)}")
    if not option.case and not select(config, ids):
        raise options.usage_error(f"no case has what {', '.join(given)} ask for together")


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
