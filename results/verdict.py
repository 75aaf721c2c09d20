"""The verdicts, and the one table that decides them.

(declared, queried, compiled, ran, verified) → verdict → pytest outcome, JUnit element, exit code. The tables are
published as docs/verdicts.md: `python -m results.verdict > docs/verdicts.md`.
"""

from __future__ import annotations

import dataclasses
import enum
import sys
from collections.abc import Iterable
from typing import Literal, get_args


class Verdict(enum.StrEnum):
    """What is said of one case on one device."""

    PASS = "pass"
    PASS_REDUCED = "pass_reduced"
    COMPILED = "compiled"
    MISMATCH = "mismatch"
    COMPILE_ERROR = "compile_error"
    RUN_ERROR = "run_error"
    CRASH = "crash"
    TIMEOUT = "timeout"
    FALLBACK = "fallback"
    OVERCLAIM = "overclaim"
    UNSUPPORTED = "unsupported"
    IMPLEMENTATION_DEFINED = "implementation_defined"
    INCONCLUSIVE = "inconclusive"
    ORDER_DEPENDENT = "order_dependent"
    NOT_RUN = "not_run"
    HARNESS_ERROR = "harness_error"


Ended = Literal[
    "compiled",
    "ran",
    "unsupported",
    "compile_error",
    "run_error",
    "out_of_memory",
    "device_lost",
    "crash",
    "timeout",
    "adapter_error",
]
Verified = Literal["pass", "pass_reduced", "mismatch", "implementation_defined", "inconclusive"]

ENDED: tuple[Ended, ...] = get_args(Ended)
VERIFIED: tuple[Verified, ...] = get_args(Verified)


@dataclasses.dataclass(frozen=True)
class Facts:
    """What is known of one case once the device has answered; all that a verdict may depend on.

    declared: the capability file says yes (True), no (False) or nothing (None) about the operator and dtype.
    ended: how the request to the device ended.
    accepted: the runtime's own query had claimed the model.
    on_device: every node ran on the device under test (True), some did not (False), no evidence either way (None).
    verified: what verification said of the outputs, None where there was nothing to verify.
    compile_only: no run was asked for, because the user or the backend stops after compiling.
    """

    declared: bool | None
    ended: Ended
    accepted: bool
    on_device: bool | None
    verified: Verified | None
    compile_only: bool

    @property
    def claimed(self) -> bool:
        """The capability file or the runtime's own query said that the device can do this."""
        return self.declared is True or self.accepted


@dataclasses.dataclass(frozen=True)
class Decision:
    """A verdict, machine-readable notes to go with it, and in a few words why: the start of the record's reason."""

    verdict: Verdict
    notes: tuple[str, ...]
    reason: str


@dataclasses.dataclass(frozen=True)
class Row:
    """Conditions → verdict. A condition left at None holds always; `verified` may be "any" (there is one) or "none"."""

    verdict: Verdict
    reason: str  # goes to the record
    why: str  # goes to docs/verdicts.md
    ended: tuple[Ended, ...]
    claimed: bool | None = None
    compile_only: bool | None = None
    on_device: bool | None = None
    verified: tuple[Verified, ...] | Literal["any", "none"] | None = None

    def matches(self, facts: Facts) -> bool:
        """Whether every condition of this row holds."""
        return (
            facts.ended in self.ended
            and self.claimed in (None, facts.claimed)
            and self.compile_only in (None, facts.compile_only)
            and (self.on_device is None or facts.on_device is self.on_device)
            and self._verification_matches(facts.verified)
        )

    def _verification_matches(self, verified: Verified | None) -> bool:
        match self.verified:
            case None:
                return True
            case "any":
                return verified is not None
            case "none":
                return verified is None
            case wanted:
                return verified in wanted


NOTHING_RAN: tuple[Ended, ...] = tuple(ended for ended in ENDED if ended != "ran")

ROWS: tuple[Row, ...] = (
    Row(
        Verdict.CRASH,
        "the process died",
        "Whatever was claimed: a crash is the worst answer and never a skip.",
        ("crash",),
    ),
    Row(Verdict.TIMEOUT, "deadline passed", "As a crash: a hang is never a skip.", ("timeout",)),
    Row(
        Verdict.HARNESS_ERROR,
        "adapter error",
        "An exception that is none of the interface's errors is the adapter's mistake, not the device's.",
        ("adapter_error",),
    ),
    Row(
        Verdict.RUN_ERROR,
        "device lost",
        "The case that lost the device fails; only the cases that could not be tried after it are `not_run`.",
        ("device_lost",),
    ),
    Row(
        Verdict.HARNESS_ERROR,
        "verified though nothing ran",
        "Outputs cannot be right or wrong where there are none: the suite contradicts itself.",
        NOTHING_RAN,
        verified="any",
    ),
    Row(
        Verdict.RUN_ERROR,
        "out of memory",
        "Claims are about operators and dtypes, never about sizes: running out of memory breaks no claim.",
        ("out_of_memory",),
    ),
    Row(
        Verdict.OVERCLAIM,
        "claimed, then declined",
        "The capability file or the query said yes, the runtime then said no.",
        ("unsupported",),
        claimed=True,
    ),
    Row(
        Verdict.UNSUPPORTED,
        "declined by the runtime",
        "Declined by the runtime's own query or a documented code, and nobody had claimed it.",
        ("unsupported",),
    ),
    Row(
        Verdict.OVERCLAIM,
        "claimed, then failed to compile",
        "The capability file or the query said yes, the compiler then failed.",
        ("compile_error",),
        claimed=True,
    ),
    Row(
        Verdict.COMPILE_ERROR,
        "failed to compile",
        "Nobody had claimed it, but nobody declined it either.",
        ("compile_error",),
    ),
    Row(
        Verdict.OVERCLAIM,
        "claimed, then failed to run",
        "No result at all where one was claimed. A wrong result is a mismatch, never an overclaim. "
        "Having compiled is not a claim: only the capability file and the query are.",
        ("run_error",),
        claimed=True,
    ),
    Row(Verdict.RUN_ERROR, "failed to run", "It compiled, nobody had claimed it, and no result came.", ("run_error",)),
    Row(
        Verdict.HARNESS_ERROR,
        "a run was asked for, only compiled",
        "Compile-only evidence counts only where compiling was all that was asked for.",
        ("compiled",),
        compile_only=False,
    ),
    Row(
        Verdict.FALLBACK,
        "compiled for another device",
        "The runtime's own placement says that the device under test did not take all of it.",
        ("compiled",),
        on_device=False,
    ),
    Row(Verdict.COMPILED, "compiled, not run", "Compile-only evidence: kept visibly apart from a pass.", ("compiled",)),
    Row(
        Verdict.HARNESS_ERROR,
        "ran, but nothing was verified",
        "Outputs that nobody looked at are no pass.",
        ("ran",),
        verified="none",
    ),
    Row(
        Verdict.MISMATCH,
        "wrong result",
        "Wherever it ran: the user gets a wrong result.",
        ("ran",),
        verified=("mismatch",),
    ),
    Row(
        Verdict.INCONCLUSIVE,
        "no bound can decide",
        "Not known to be right, so neither a pass nor a fallback.",
        ("ran",),
        verified=("inconclusive",),
    ),
    Row(
        Verdict.FALLBACK,
        "right, but not on the device",
        "The result says nothing about the device under test; this holds for values that ONNX leaves open, too.",
        ("ran",),
        on_device=False,
        verified=("pass", "pass_reduced", "implementation_defined"),
    ),
    Row(Verdict.PASS, "right", "Right at the declared precision.", ("ran",), verified=("pass",)),
    Row(
        Verdict.PASS_REDUCED,
        "right at a lower precision, declared or inferred",
        "The rung is declared, or was found by the probe, or the reason names it.",
        ("ran",),
        verified=("pass_reduced",),
    ),
    Row(
        Verdict.IMPLEMENTATION_DEFINED,
        "ONNX leaves the value open",
        "The value is recorded, nothing is judged.",
        ("ran",),
        verified=("implementation_defined",),
    ),
)


@dataclasses.dataclass(frozen=True)
class NoteRow:
    """A note that goes with some verdicts under some conditions. Unlike verdicts, all that match are given."""

    note: str
    why: str
    verdicts: tuple[Verdict, ...]
    declared: bool | None = None
    on_device: bool | None = None

    def matches(self, verdict: Verdict, facts: Facts) -> bool:
        """Whether the note is to be given."""
        return (
            verdict in self.verdicts
            and (self.declared is None or facts.declared is self.declared)
            and (self.on_device is None or facts.on_device is self.on_device)
        )


NOTES: tuple[NoteRow, ...] = (
    NoteRow(
        "underclaim",
        "The capability file says no, yet it works.",
        (Verdict.PASS, Verdict.PASS_REDUCED, Verdict.IMPLEMENTATION_DEFINED),
        declared=False,
    ),
    NoteRow("declared", "The capability file says yes, yet another device did the work.", (Verdict.FALLBACK,), declared=True),
    NoteRow(
        "not on the device",
        "The result is another device's.",
        (Verdict.MISMATCH, Verdict.INCONCLUSIVE),
        on_device=False,
    ),
)


def decide(facts: Facts) -> Decision:
    """The verdict of the first row of `ROWS` whose conditions all hold."""
    for row in ROWS:
        if row.matches(facts):
            notes = tuple(note.note for note in NOTES if note.matches(row.verdict, facts))
            return Decision(row.verdict, notes, row.reason)
    raise AssertionError(f"no row for {facts}")


@dataclasses.dataclass(frozen=True)
class Outcome:
    """What a verdict is to pytest, to JUnit XML ("": a testcase without a child) and to the exit code."""

    pytest: Literal["passed", "failed", "skipped", "xfailed"]
    junit: Literal["", "failure", "error", "skipped"]
    exit_code: Literal[0, 1]
    meaning: str


PASSED: tuple[Literal["passed"], Literal[""], Literal[0]] = ("passed", "", 0)
FAILED: tuple[Literal["failed"], Literal["failure"], Literal[1]] = ("failed", "failure", 1)
SKIPPED: tuple[Literal["skipped"], Literal["skipped"], Literal[0]] = ("skipped", "skipped", 0)

OUTCOME: dict[Verdict, Outcome] = {
    Verdict.PASS: Outcome(*PASSED, "Right, at the precision that the device declares or was found to have."),
    Verdict.PASS_REDUCED: Outcome(
        *PASSED, "Right at a lower rung: one that the device declares or was found to have, or one that the reason names."
    ),
    Verdict.COMPILED: Outcome(*PASSED, "Compile-only evidence: it compiles; nothing ran."),
    Verdict.IMPLEMENTATION_DEFINED: Outcome(*PASSED, "ONNX leaves the value open; what the device gave is recorded."),
    Verdict.CRASH: Outcome(*FAILED, "The process that held the device died."),
    Verdict.TIMEOUT: Outcome(*FAILED, "No answer within the deadline of the phase."),
    Verdict.MISMATCH: Outcome(*FAILED, "A result outside the derived tolerance, or a requirement that is not met."),
    Verdict.RUN_ERROR: Outcome(*FAILED, "No result came: the run failed, memory ran out or the device was lost."),
    Verdict.COMPILE_ERROR: Outcome(*FAILED, "The compiler failed on something that it had not declined."),
    Verdict.OVERCLAIM: Outcome(*FAILED, "The capability file or the runtime's query claims it, then it cannot."),
    Verdict.FALLBACK: Outcome(*FAILED, "Right, but not on the device under test."),
    Verdict.ORDER_DEPENDENT: Outcome(*FAILED, "Fails in sequence, passes in a fresh process."),
    Verdict.HARNESS_ERROR: Outcome("failed", "error", 1, "A mistake of the suite or the adapter, not of the device."),
    Verdict.UNSUPPORTED: Outcome(
        *SKIPPED, "Declined by the runtime's own query or a documented code. Fails inside the profile's mandatory set."
    ),
    Verdict.INCONCLUSIVE: Outcome(
        *SKIPPED, "No bound can decide. Never a pass, and no fault of the device: skipped, counted apart."
    ),
    Verdict.NOT_RUN: Outcome(
        *SKIPPED, "Not tried, for a reason on record: budget, device lost. A run that lost its device exits with 1."
    ),
}


EXPECTABLE: frozenset[Verdict] = frozenset(verdict for verdict, row in OUTCOME.items() if row.pytest == "failed")
"""The verdicts that an expectation may name."""

Expectation = Literal["", "met", "stale"]
"""What became of an expectation: nothing, or none was given; the case failed as expected; it passed though it must fail."""

MET = Outcome("xfailed", "skipped", 0, "It fails as expected. The verdict stays what it is and is counted apart.")
STALE = Outcome(*FAILED, "It passes, though the entry says that it always fails: remove the entry or narrow it.")


def outcome(verdict: Verdict, *, mandatory: bool = False, expectation: Expectation = "") -> Outcome:
    """`OUTCOME`, except that an unsupported case of the profile's mandatory set fails, and that expectations turn failures into
    expected ones and passes into failures.
    """
    if mandatory and verdict is Verdict.UNSUPPORTED:
        return Outcome(*FAILED, "Declined, though the profile makes it mandatory.")
    if expectation == "met" and verdict in EXPECTABLE:
        return MET
    if expectation == "stale" and OUTCOME[verdict].pytest == "passed":
        return STALE
    return OUTCOME[verdict]


def _markdown_table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    head = list(head)
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", r"\|") for cell in line) + " |" for line in lines)


def _words(value: bool | None) -> str:
    return {None: "", True: "yes", False: "no"}[value]


def _verification_words(row: Row) -> str:
    match row.verified:
        case None:
            return ""
        case "any":
            return "any"
        case "none":
            return "not verified"
        case wanted:
            return ", ".join(f"`{word}`" for word in wanted)


def markdown() -> str:
    """The whole of docs/verdicts.md."""
    outcomes = _markdown_table(
        ("verdict", "meaning", "pytest", "JUnit element", "exit code"),
        (
            (f"`{verdict}`", row.meaning, row.pytest, f"`<{row.junit}>`" if row.junit else "none", str(row.exit_code))
            for verdict, row in OUTCOME.items()
        ),
    )
    expectations = _markdown_table(
        ("the case ends with", "outcome", "pytest", "JUnit element", "exit code"),
        (
            (ends, row.meaning, row.pytest, f"`<{row.junit}>`", str(row.exit_code))
            for ends, row in (
                ("a verdict that the entry names", MET),
                ("`pass`, `pass_reduced`, `compiled` or `implementation_defined`, unless the entry says `sometimes`", STALE),
            )
        ),
    )
    decisions = _markdown_table(
        ("#", "ended", "claimed", "compile only", "on device", "verified", "verdict", "reason", "why"),
        (
            (
                str(number),
                "anything but `ran`" if row.ended == NOTHING_RAN else ", ".join(f"`{word}`" for word in row.ended),
                _words(row.claimed),
                _words(row.compile_only),
                _words(row.on_device),
                _verification_words(row),
                f"**`{row.verdict}`**",
                row.reason,
                row.why,
            )
            for number, row in enumerate(ROWS, 1)
        ),
    )
    notes = _markdown_table(
        ("note", "with verdict", "declared", "on device", "why"),
        (
            (
                f"`{row.note}`",
                ", ".join(f"`{verdict}`" for verdict in row.verdicts),
                _words(row.declared),
                _words(row.on_device),
                row.why,
            )
            for row in NOTES
        ),
    )
    return f"""# Verdicts

<!-- generated: python -m results.verdict > docs/verdicts.md -->

Every case ends with one verdict. This page is the whole of how it comes about and of what follows from it.

## What a verdict means, and what follows

{outcomes}

The exit code of a run is the largest of its cases' exit codes, unless pytest itself has another to give
(2 interrupted, 3 internal error, 4 usage error, 5 nothing collected).

## What an expectation does

A run with `--expectations` knows failures beforehand ([expectations](expectations.md)). Every case runs all the same and its
record has its true verdict. For cases that an entry claims, these rows go first:

{expectations}

Any other verdict has the outcome of the first table, and the reason of a failure says what was expected instead.

## How it is decided

The first row whose conditions all hold decides; an empty cell holds always.

- **ended**: how the request to the device ended.
- **claimed**: the capability file declares the operator with this dtype, or the runtime's own query accepted the model.
- **compile only**: compiling was all that was asked for.
- **on device**: the runtime's own placement puts every node on the device under test (*yes*), some elsewhere (*no*).
- **verified**: what verification said of the outputs.

{decisions}

`order_dependent` and `not_run` are not decided by what one request left behind: the first comes from a rerun in a fresh
process, the second from the session.

## Notes

Notes go beside a verdict and change nothing about it.

{notes}"""


if __name__ == "__main__":
    sys.stdout.buffer.write((markdown() + "\n").encode())
