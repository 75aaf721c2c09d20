"""The verdict table means what the vocabulary of the design says, for every combination of facts."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path

import pytest

from results.verdict import ENDED, OUTCOME, ROWS, VERIFIED, Facts, Verdict, decide, markdown, outcome

DOCS = Path(__file__).parents[2] / "docs"


def every_combination() -> Iterator[Facts]:
    for values in itertools.product(
        (True, False, None), ENDED, (True, False), (True, False, None), (*VERIFIED, None), (True, False)
    ):
        yield Facts(*values)


def meaning(facts: Facts) -> str:
    """The verdict by the vocabulary, written as prose would put it and not as the table does."""
    nothing_ran = facts.ended != "ran"
    claimed = facts.declared is True or facts.accepted
    straight = {
        "crash": "crash",
        "timeout": "timeout",
        "adapter_error": "harness_error",
        "device_lost": "run_error",
    }
    if facts.ended in straight:
        return straight[facts.ended]
    if nothing_ran and facts.verified is not None:
        return "harness_error"
    if facts.ended == "out_of_memory":
        return "run_error"
    if nothing_ran and facts.ended != "compiled":
        return "overclaim" if claimed else facts.ended
    if facts.ended == "compiled":
        if not facts.compile_only:
            return "harness_error"
        return "fallback" if facts.on_device is False else "compiled"
    if facts.verified is None:
        return "harness_error"
    if facts.verified in ("mismatch", "inconclusive"):
        return facts.verified
    return "fallback" if facts.on_device is False else facts.verified


def test_every_combination_has_the_verdict_that_the_vocabulary_gives_it():
    seen = set()
    for facts in every_combination():
        decision = decide(facts)
        assert decision.verdict == meaning(facts), facts
        assert decision.reason
        seen.add(decision.verdict)
    # The session and the rerun give these two; every other verdict is reached.
    assert seen == set(Verdict) - {Verdict.ORDER_DEPENDENT, Verdict.NOT_RUN}


def test_every_row_decides_some_combination():
    first = {next(row for row in ROWS if row.matches(facts)) for facts in every_combination()}
    assert first == set(ROWS)


def test_a_wrong_result_is_never_an_overclaim_and_a_crash_never_hidden():
    for facts in every_combination():
        verdict = decide(facts).verdict
        if facts.ended == "ran" and facts.verified == "mismatch":
            assert verdict is Verdict.MISMATCH
        if facts.ended in ("crash", "timeout"):
            assert OUTCOME[verdict].pytest == "failed"


def test_nothing_passes_but_verified_or_asked_compile_only_evidence():
    for facts in every_combination():
        if OUTCOME[decide(facts).verdict].pytest == "passed":
            assert facts.on_device is not False
            if facts.ended == "compiled":
                assert facts.compile_only
            else:
                assert facts.ended == "ran"
                assert facts.verified in ("pass", "pass_reduced", "implementation_defined")


def test_only_the_runtimes_own_decline_is_skipped_as_unsupported():
    for facts in every_combination():
        if decide(facts).verdict is Verdict.UNSUPPORTED:
            assert facts.ended == "unsupported"
            assert not facts.claimed


@pytest.mark.parametrize(
    ("facts", "notes"),
    [
        (Facts(False, "ran", False, True, "pass", False), ("underclaim",)),
        (Facts(False, "ran", False, None, "pass_reduced", False), ("underclaim",)),
        (Facts(None, "ran", False, True, "pass", False), ()),
        (Facts(True, "ran", False, True, "pass", False), ()),
        (Facts(False, "ran", False, False, "pass", False), ()),
        (Facts(True, "ran", False, False, "pass", False), ("declared",)),
        (Facts(None, "ran", False, False, "mismatch", False), ("not on the device",)),
        (Facts(False, "ran", False, True, "mismatch", False), ()),
    ],
)
def test_notes(facts: Facts, notes: tuple[str, ...]):
    assert decide(facts).notes == notes


def test_outcomes():
    assert set(OUTCOME) == set(Verdict)
    by_outcome = {
        name: {verdict.value for verdict, row in OUTCOME.items() if row.pytest == name} for name in ("passed", "skipped")
    }
    assert by_outcome["passed"] == {"pass", "pass_reduced", "compiled", "implementation_defined"}
    assert by_outcome["skipped"] == {"unsupported", "inconclusive", "not_run"}
    junit = {"passed": {""}, "skipped": {"skipped"}, "failed": {"failure", "error"}}
    for verdict, row in OUTCOME.items():
        assert row.exit_code == (row.pytest == "failed"), verdict
        assert row.junit in junit[row.pytest], verdict
    assert OUTCOME[Verdict.HARNESS_ERROR].junit == "error"


def test_unsupported_fails_where_it_is_mandatory_and_nothing_else_changes():
    assert outcome(Verdict.UNSUPPORTED).pytest == "skipped"
    assert outcome(Verdict.UNSUPPORTED, mandatory=True).pytest == "failed"
    for verdict in set(Verdict) - {Verdict.UNSUPPORTED}:
        assert outcome(verdict, mandatory=True) == OUTCOME[verdict]


def test_the_published_table_is_current():
    published = (DOCS / "verdicts.md").read_text("utf-8")
    assert published == markdown() + "\n", "run: python -m results.verdict > docs/verdicts.md"
