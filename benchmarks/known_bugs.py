"""Public bugs of real runtimes, and whether the suites see them: caught with the wheels that have a bug, gone with those that
have not.

    python -m benchmarks.known_bugs --only K1,K3
    python -m benchmarks.known_bugs --markdown > docs/known-bugs.md

Each set of wheels is installed once, into a virtual environment of its own, and the device worker runs there; harness and
reference run here. So that an old runtime needs no old harness.
"""

from __future__ import annotations

import argparse
import dataclasses
import re
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from tabulate import tabulate

from benchmarks import bug_runs, bug_table, environments
from benchmarks.bug_findings import Finding, compare
from benchmarks.bug_runs import OPERATORS, Place, Run
from benchmarks.bug_table import Bug, TableError
from results.summary import visible

TEXT_LIMIT = 180
EXAMPLES = 3

INTRODUCTION = (
    "# Known bugs of real runtimes",
    "<!-- generated: python -m benchmarks.known_bugs --markdown > docs/known-bugs.md -->",
    "Does the suite see the bugs that people have met? Each row is a public report about a runtime whose wheels run on an "
    "ordinary Linux x86-64 machine. The same cases run with wheels that have the bug and, where there are any, with wheels "
    "that have not. A case has *caught* the bug where it fails with the first and passes with the second; it has *named* it "
    "where its record says what is wrong in the words that the table expects. Where no wheel is right, only cases that name "
    "it count.",
    "`python -m benchmarks.known_bugs --only K1,K3` repeats rows. Each set of wheels is installed once, into `--environments "
    "DIR` or the user's cache; the device worker runs there, harness and reference in this Python. `--journals DIR` keeps the "
    "journals, and takes those of the same runs that are there. `--table FILE` reads further tables of the form of "
    "benchmarks/known_bugs.toml:",
    "| field | |\n|---|---|\n"
    "| `id`, `title`, `url` | `url` is a list |\n"
    "| `backend`, `options` | as `--backend` and `--backend-option` take them |\n"
    "| `wrong`, `right` | what pip is given for each environment that has the bug, and for each that has not |\n"
    "| `right_options` | instead of `options` where the bug is gone |\n"
    "| `operators`, `dtypes`, `contains` | which cases must see it: exact names, types, texts that an id contains |\n"
    "| `tests` | or which tests, as pytest names them |\n"
    "| `verdicts` | those that show the bug; failing ones by default |\n"
    "| `diagnosis` | a regular expression for what the record of such a case says |",
)


@dataclasses.dataclass
class Row:
    """What became of one bug."""

    bug: Bug
    findings: Sequence[Finding] = ()
    passed: Sequence[int] = ()  # of each right environment
    seconds: float = 0.0
    error: str = ""

    @property
    def good(self) -> bool:
        return not self.error and all(finding.good for finding in self.findings)

    @property
    def state(self) -> str:
        """In a word or two."""
        if self.error:
            return "not run"
        if not all(finding.caught for finding in self.findings):
            return "missed"
        if not all(finding.named for finding in self.findings):
            return "caught, not named"
        if any(finding.still for finding in self.findings):
            return "caught, not clean"
        return "caught, clean" if self.passed else "caught"


def examine(bug: Bug, ran: Mapping[Place, Run | str]) -> Row:
    """Compares what a bug's places gave."""
    row = Row(bug)
    sides = [[ran[place] for place in bug_runs.places(bug, right)] for right in (False, True)]
    row.error = next((run for side in sides for run in side if isinstance(run, str)), "")
    if row.error:
        return row
    runs = [[run for run in side if isinstance(run, Run)] for side in sides]
    wrong, right = ([bug_runs.share(bug, run.records) for run in side] for side in runs)
    row.findings = [compare(bug, packages, records, right) for packages, records in zip(bug.wrong, wrong, strict=True)]
    row.passed = [sum(record.outcome == "passed" for record in records.values()) for records in right]
    shares = zip([*runs[0], *runs[1]], [*wrong, *right], strict=True)
    row.seconds = sum(run.seconds * len(records) / max(len(run.records), 1) for run, records in shares)
    return row


def _told(place: Place, cases: Sequence[str], run: Run | str) -> str:
    count = f"{len(cases)} cases" if cases else " ".join(place.tests)
    return f"{place.packages}: {count}: {run if isinstance(run, str) else f'{run.seconds:.0f} s'}"


def plain(row: Row) -> str:
    """A row as the terminal shows it."""
    head = f"{row.bug.id}  {row.state}  {row.bug.title}  ({row.seconds:.0f} s)"
    return "\n    ".join([head, *([row.error] if row.error else []), *_lines(row)])


def _lines(row: Row) -> Iterator[str]:
    for finding in row.findings:
        counts = f"{len(finding.caught)} caught, {len(finding.named)} named, {finding.others} others of {finding.ran} fail"
        yield f"{finding.packages}: {counts}"
        for record in (finding.named or finding.caught)[:EXAMPLES]:
            yield f"  {record.verdict.value}  {_name(record.test, record.id)}"
        if finding.caught:
            yield f"    {_said(row.bug, finding)}"
        for record in finding.still[:EXAMPLES]:
            yield f"  still wrong where it must be right: {_name(record.test, record.id)}"
    for packages, passed in zip(row.bug.right, row.passed, strict=False):
        yield f"{packages}: {passed} pass"


def _name(test: str, case_id: str) -> str:
    return case_id if test.startswith(OPERATORS) else test


def _said(bug: Bug, finding: Finding) -> str:
    """The line of the smallest record that names the bug: its diagnosis rather than its reason or the vendor's words."""
    record = next(iter(finding.named or finding.caught))
    texts = [
        visible(text) for text in (*record.diagnosis, record.reason, *record.notes, record.vendor.text, record.exit) if text
    ]
    text = next((text for text in texts if bug_table.fits(bug, text)), texts[0] if texts else record.verdict.value)
    return text if len(text) <= TEXT_LIMIT else text[: TEXT_LIMIT - 1].rstrip() + "…"


def markdown(rows: Sequence[Row]) -> str:
    """docs/known-bugs.md."""
    head = ["id", "bug", "wrong", "right", "", "cases", "smallest case that names it", "what the suite says", "s"]
    table = []
    for row in rows:
        finding = row.findings[0] if row.findings else None
        links = ", ".join(f"[{_short(url)}]({url})" for url in row.bug.url)
        first = next(iter(finding.named or finding.caught), None) if finding else None
        counts = " / ".join(f"{len(found.caught)} ({len(found.named)} named)" for found in row.findings)
        table.append(
            [
                row.bug.id,
                f"{row.bug.title} ({links})",
                "; ".join(row.bug.wrong),
                "; ".join(row.bug.right) + _with(row.bug) or "–",
                row.state,
                counts,
                f"`{_name(first.test, first.id)}`" if first else row.error,
                _said(row.bug, finding).replace("<", "\\<") if finding and first else "",
                f"{row.seconds:.0f}",
            ]
        )
    escaped = [[str(cell).replace("|", "\\|") for cell in line] for line in table]
    good = sum(row.good for row in rows)
    total = f"{good} of {len(rows)} caught and named" + "; the rest is in the table." * (good < len(rows))
    return "\n\n".join([*INTRODUCTION, total, tabulate(escaped, head, tablefmt="github", disable_numparse=True)])


def _with(bug: Bug) -> str:
    given = bug.right_options
    return "" if given is None else " with " + (", ".join(f"{k}={v}" for k, v in given.items()) or "default options")


def _short(url: str) -> str:
    """ "onnxruntime 25280" for a GitHub thread, else the host."""
    match = re.match(r"https://github\.com/[^/]+/([^/]+)/(?:issues|pull)/(\d+)", url)
    return f"{match[1]} {match[2]}" if match else url.split("/")[2]


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.known_bugs", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--table", action="append", default=[], type=Path, metavar="FILE", help="a further table of bugs")
    parser.add_argument("--only", default="", metavar="A,B", help="these bugs alone")
    parser.add_argument("--environments", default=None, type=Path, metavar="DIR", help="where virtual environments are kept")
    parser.add_argument(
        "--journals", default=None, type=Path, metavar="DIR", help="keep journals, and take those that are there"
    )
    parser.add_argument("--markdown", action="store_true", help="print what docs/known-bugs.md holds")
    given = parser.parse_args()
    try:
        names = [name.strip() for name in given.only.split(",") if name.strip()]
        bugs = bug_table.load_all([bug_table.OWN, *given.table], names)
    except TableError as error:
        parser.error(str(error))
    from suites.cases import operators  # seconds: it builds every id, which a mistake in a table should not wait for

    ran: dict[Place, Run | str] = {}
    with tempfile.TemporaryDirectory(prefix="npu-cts-") as temporary:
        wanted = bug_runs.plan(bugs, operators.ALL)
        for place, run in bug_runs.run_all(
            wanted, given.environments or environments.cache(), given.journals or Path(temporary)
        ):
            ran[place] = run
            print(_told(place, wanted[place], run), file=sys.stderr, flush=True)
    rows = [examine(bug, ran) for bug in bugs]
    for row in rows:
        print(plain(row), file=sys.stderr if given.markdown else sys.stdout)
    if given.markdown:
        print(markdown(rows))
    return 0 if all(row.good for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
