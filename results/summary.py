"""The end of a run as text: device, operator families by dtype, verdicts, failures grouped by cause, journal."""

from __future__ import annotations

import dataclasses
import functools
import math
import os
import re
import shlex
import textwrap
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

from tabulate import tabulate

from results.journal import Journal
from results.record import EXPECTED, OF_PROFILE, Record
from results.verdict import OUTCOME, Verdict

Colour = Literal["red", "green", "yellow", "bold", "dim"]
COLOURS: dict[Colour, str] = {"red": "31", "green": "32", "yellow": "33", "bold": "1", "dim": "2"}
OUTCOME_COLOUR: dict[str, Colour] = {"passed": "green", "failed": "red", "skipped": "yellow"}

# What stands for our own signs on a stream that cannot encode them, such as a Windows console.
ASCII_SIGNS = {"…": "...", "·": "|"}

VENDOR_LIMIT = 200  # characters of vendor text shown; the journal has all of it
REASON_LIMIT = 400  # characters of a reason shown
SKIP_GROUPS = 8  # kinds of skipped cases named
IN_FLIGHT_LIMIT = 5
SAID = {"passed": "passed", "xfailed": "failed as expected"}  # outcome → how a profile's line speaks of it
NOT_PASSED = (Verdict.UNSUPPORTED, Verdict.INCONCLUSIVE, Verdict.NOT_RUN)  # named apart from failures

OPERATOR_TESTS = "suites/test_operators.py::"  # whose cases `--case` runs, also those of no table

# Options that a failing case needs again to fail in the same way.
RERUN_OPTIONS = (
    *("--backend", "--device", "--ep", "--ep-option", "--backend-option", "--partner", "--device-host"),
    *("--profile", "--capabilities", "--fault", "--timeout-scale", "--expectations"),
)

ESCAPES = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b.")
# Digits within a word stay, as in float16; node names such as Conv_12 lose theirs.
NUMBERS = re.compile(r"0x[0-9a-f]+|(?<![a-z\d])[-+]?\d+(?:(?:x\d+)+|(?:\.\d*)?(?:e[-+]?\d+)?)|\b(?:nan|inf)\b", re.IGNORECASE)
NUMBER_LISTS = re.compile(r"#(?:[\s,]*#)+")


@dataclasses.dataclass(frozen=True)
class Layout:
    """How the text is set: columns available, colours or not, the encoding of the stream, groups of failures shown."""

    width: int = 80
    colour: bool = False
    encoding: str = "utf-8"
    groups: int = 10

    def paint(self, text: str, *colours: Colour) -> str:
        """`text` in colours where they are asked for."""
        if not self.colour or not text:
            return text
        return f"\x1b[{';'.join(COLOURS[name] for name in colours)}m{text}\x1b[0m"

    def wrap(self, text: str, indent: str = "", first: str | None = None) -> str:
        """Lines of at most `width` columns; words such as ids stay whole."""
        start = indent if first is None else first
        return textwrap.fill(
            text,
            self.width,
            initial_indent=start,
            subsequent_indent=indent,
            break_long_words=False,
            break_on_hyphens=False,
        )

    def flow(self, items: Iterable[str], first: str) -> str:
        """Items with dots between them, on lines of at most `width` columns where an item allows."""
        lines = [""]
        for item in items:
            longer = f"{lines[-1]} · {item}" if lines[-1] else item
            if lines[-1] and len(first) + len(ESCAPES.sub("", longer)) > self.width:
                lines.append(item)
            else:
                lines[-1] = longer
        return first + ("\n" + " " * len(first)).join(lines)

    def encodable(self, text: str) -> str:
        """`text` with nothing in it that the stream cannot encode."""
        try:
            text.encode(self.encoding)
            return text
        except UnicodeEncodeError:
            for sign, replacement in ASCII_SIGNS.items():
                try:
                    sign.encode(self.encoding)
                except UnicodeEncodeError:
                    text = text.replace(sign, replacement)
            return text.encode(self.encoding, "backslashreplace").decode(self.encoding)


def summarise_journal(journal: Journal, layout: Layout | None = None) -> str:
    """The summary of a journal that was read; the last record of each test counts."""
    header = journal.resumed[-1] if journal.resumed else journal.header
    return summarise(
        header,
        list(journal.by_test.values()),
        layout,
        path=journal.path,
        in_flight=journal.in_flight,
        stopped="no footer" if journal.footer is None else str(journal.footer["reason"]),
    )


def summarise(
    header: Mapping[str, Any],
    records: Sequence[Record],
    layout: Layout | None = None,
    *,
    path: str | os.PathLike[str] | None = None,
    in_flight: Sequence[str] = (),
    stopped: str = "finished",
) -> str:
    """The summary of records, one for each test. `stopped` is the footer's reason, "no footer" without one."""
    layout = layout or Layout()
    parts = [
        _device(header, layout),
        _families(records, layout),
        _verdicts(header, records, layout),
        _profiles(header, records, layout),
        _skipped(records, layout),
        _expected(header, records, layout),
        _failures(header, records, layout),
        _ending(in_flight, stopped, layout),
        f"Journal: {os.fspath(path)}" if path else "",
    ]
    return layout.encodable("\n\n".join(part for part in parts if part) + "\n")


def _device(header: Mapping[str, Any], layout: Layout) -> str:
    device = header["device"]
    words = [f"{header['backend']} {device.get('name', '')}".strip(), str(device.get("kind", "")).upper()]
    words += [str(device.get(field, "")) for field in ("vendor", "soc")]
    for field in ("firmware", "driver", "runtime", "compiler", "power_mode"):
        if device.get(field):
            words.append(f"{field.replace('_', ' ')} {device[field]}")
    precision = header.get("precision", {"rungs": {}, "inferred": []})
    for dtype, rung in precision["rungs"].items():
        rung = rung if isinstance(rung, str) else " ".join(f"{name}={value}" for name, value in rung.items())
        words.append(f"{dtype} as {rung}{' (inferred)' if dtype in precision['inferred'] else ''}")
    suite = header["suite"]
    commit = str(suite.get("commit") or "")[:10]
    version = f"NPU-CTS {suite.get('version', '')}" + (f" ({commit}{'+' if suite.get('dirty') else ''})" if commit else "")
    return layout.flow([*(visible(word) for word in words if word), version], "Device: ")


def short_dtype(dtype: str) -> str:
    """The short name of a dtype, as ids write it: float32 → f32, bfloat16 → bf16, uint8 → u8."""
    return re.sub(r"^(b?)float(?=\d)", r"\1f", re.sub(r"^(u?)int(?=\d)", lambda m: m[1] or "i", dtype))


def _dtype_order(dtype: str) -> tuple[int, int, bool, str]:
    """Floats before integers before the rest, the widest first; float16 before bfloat16."""
    kinds = ("float", "int", "uint")
    kind, bits = re.match(r"b?([a-z]*)(\d*)", dtype).groups()  # type: ignore[union-attr]  # matches anything
    return (kinds.index(kind) if kind in kinds else len(kinds), -int(bits or 0), dtype.startswith("b"), dtype)


def _cell(outcomes: Counter[str], layout: Layout) -> str:
    total = outcomes.total()
    if not total:
        return ""
    text = f"{outcomes['passed']}/{total}"
    failed = layout.paint(f" !{outcomes['failed']}", "red", "bold") if outcomes["failed"] else ""
    skipped = layout.paint(f" ~{outcomes['skipped']}", "yellow") if outcomes["skipped"] else ""
    expected = layout.paint(f" ={outcomes['xfailed']}", "yellow") if outcomes["xfailed"] else ""
    return (layout.paint(text, "green") if outcomes["passed"] == total else text) + failed + skipped + expected


def _families(records: Sequence[Record], layout: Layout) -> str:
    """Operator family by dtype, in as many tables as the width asks for."""
    if not records:
        return "No case has a record."
    counts: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    for record in records:
        family, dtype, result = record.family or "(no family)", record.dtype or "(no dtype)", record.outcome
        for key in ((family, dtype), (family, "all"), ("all", dtype), ("all", "all")):
            counts[key][result] += 1
    families = [*sorted({family for family, _ in counts} - {"all"}), "all"]
    dtypes = [*sorted({dtype for _, dtype in counts} - {"all"}, key=_dtype_order), "all"]
    columns = {dtype: [_cell(counts[family, dtype], layout) for family in families] for dtype in dtypes}
    tables = []
    for block in _blocks(columns, max(map(len, families)), layout.width):
        rows = [
            [family, *cells]
            for family, *cells in zip(families, *(columns[dtype] for dtype in block), strict=True)
            if any(cells)
        ]
        head = ["family", *map(short_dtype, block)]
        tables.append(tabulate(rows, head, tablefmt="simple", disable_numparse=True))
    expected = ", =failed as expected" if counts["all", "all"]["xfailed"] else ""
    return "\n\n".join(tables) + "\n" + layout.paint(f"passed/total, !failed, ~skipped{expected}", "dim")


def _blocks(columns: Mapping[str, list[str]], first: int, width: int) -> Iterable[list[str]]:
    """Names of columns that fit side by side, beside a first column of `first` characters."""
    block: list[str] = []
    used = first
    for name, cells in columns.items():
        needed = 2 + max(len(short_dtype(name)), *(len(ESCAPES.sub("", cell)) for cell in cells))
        if block and used + needed > width:
            yield block
            block, used = [], first
        block.append(name)
        used += needed
    yield block


def _verdicts(header: Mapping[str, Any], records: Sequence[Record], layout: Layout) -> str:
    counts = Counter(record.verdict for record in records)
    items = [
        layout.paint(f"{counts[verdict]} {verdict}", OUTCOME_COLOUR[OUTCOME[verdict].pytest])
        for verdict in OUTCOME
        if counts[verdict]
    ]
    collected = header["selection"].get("collected", 0)
    total = f"{len(records)} of {collected} selected" if collected > len(records) else f"{len(records)} in all"
    return layout.flow([*items, total], "Verdicts: ")


def _profiles(header: Mapping[str, Any], records: Sequence[Record], layout: Layout) -> str:
    """A line for each must-pass profile of the run: how many of its cases passed, and what became of the others."""
    options = header["selection"].get("options", {})
    profiles = options.get("profile")
    if not isinstance(profiles, Mapping):
        return ""
    narrowed = sorted(set(options) - {"profile", "budget", "expectations"})
    lines = []
    for title, must in profiles.items():
        note = OF_PROFILE + title.partition(" ")[0]
        counts = Counter(
            SAID.get(r.outcome) or (r.verdict.value if r.verdict in NOT_PASSED else "failed")
            for r in records
            if note in r.notes
        )
        asked = counts.total() if narrowed else must
        counts["without a result"] = asked - counts.total()
        rest = ", ".join(f"{count} {word}" for word, count in sorted(counts.items()) if count and word != "passed")
        which = f"{asked} cases" if narrowed else f"{asked} must-pass cases"
        part = f"; run in part ({', '.join(narrowed)}), of {must} must-pass cases" if narrowed else ""
        line = f"profile {visible(title)}: {counts['passed']} of {which} passed{f' ({rest})' if rest else ''}{part}"
        lines.append(layout.paint(layout.wrap(line, indent="    ", first=""), "green" if counts["passed"] == asked else "red"))
    return "\n".join(lines)


def _skipped(records: Sequence[Record], layout: Layout) -> str:
    """What was skipped, by verdict and operator, the most frequent first."""
    kinds = Counter((r.verdict, r.operator or r.id) for r in records if r.outcome == "skipped")
    if not kinds:
        return ""
    items = [f"{operator} {count} {verdict}" for (verdict, operator), count in kinds.most_common(SKIP_GROUPS)]
    rest = len(kinds) - SKIP_GROUPS
    return layout.flow([*items, *([f"{_count(rest, 'more kind')}, all in the journal"] if rest > 0 else [])], "Skipped: ")


def _expected(header: Mapping[str, Any], records: Sequence[Record], layout: Layout) -> str:
    """How many failed as expected, by finding, and which entries of the expectations are past their date."""
    notes = (
        note.removeprefix(EXPECTED) for r in records if r.outcome == "xfailed" for note in r.notes if note.startswith(EXPECTED)
    )
    counts = Counter(_cut(note.rpartition(" ")[0]) for note in notes)
    lines = []
    if counts:
        title = f"Expected failures: {counts.total()} in {_count(len(counts), 'finding')}"
        items = ", ".join(f"{finding} {count}" for finding, count in counts.most_common())
        lines.append(layout.wrap(f"{title}: {items}", indent="    ", first=""))
    for file in header["selection"].get("options", {}).get("expectations", ()):
        if file["expired"]:
            expired = ", ".join(file["expired"])
            text = f"Expectations: {file['name']}: expired: {expired}; look whether each still holds, then renew or remove it"
            lines.append(layout.paint(layout.wrap(visible(text), indent="    ", first=""), "yellow"))
    return "\n".join(lines)


@functools.lru_cache(maxsize=4096)
def normalised(reason: str) -> str:
    """A reason without its numbers, so that the same fault at other sizes reads the same."""
    return NUMBER_LISTS.sub("#", NUMBERS.sub("#", visible(reason)))


def group_failures(records: Iterable[Record]) -> list[list[Record]]:
    """Failures by (verdict, operator, normalised reason), the vendor's first line where there is no reason.

    The worst verdicts come first, passes that were expected to fail last; then the largest groups; within a group the
    smallest id.
    """
    groups: dict[tuple[Verdict, str, str], list[Record]] = defaultdict(list)
    for record in records:
        if record.outcome == "failed":
            reason = record.reason or record.vendor.text[:VENDOR_LIMIT].partition("\n")[0]
            groups[record.verdict, record.operator, normalised(reason)].append(record)
    for members in groups.values():
        members.sort(key=lambda record: (len(record.id), record.id))
    severity = {verdict: (row.pytest == "passed", rank) for rank, (verdict, row) in enumerate(OUTCOME.items())}
    return sorted(groups.values(), key=lambda g: (severity[g[0].verdict], -len(g), len(g[0].id), g[0].id))


def _failures(header: Mapping[str, Any], records: Sequence[Record], layout: Layout) -> str:
    groups = group_failures(records)
    if not groups:
        return ""
    total = sum(map(len, groups))
    title = f"Failures: {total} in {_count(len(groups), 'group')}"
    parts = [layout.paint(title, "bold"), *(_group(header, group, layout) for group in groups[: layout.groups])]
    hidden = groups[layout.groups :]
    if hidden:
        count = sum(map(len, hidden))
        parts.append(f"… and {_count(count, 'failure')} in {_count(len(hidden), 'more group')}, all in the journal")
    return "\n\n".join(parts)


def _count(number: int, thing: str) -> str:
    return f"{number} {thing}{'' if number == 1 else 's'}"


def _group(header: Mapping[str, Any], group: Sequence[Record], layout: Layout) -> str:
    """The smallest case of a group: id, reason, worst error, vendor text, diagnosis, the line that reruns it."""
    record = group[0]
    lines = [f"{layout.paint(record.verdict.value, 'red', 'bold')}  {layout.paint(record.id, 'bold')}"]
    details = [
        ("", _cut(record.reason, REASON_LIMIT)),
        ("worst error: ", worst_error(record)),
        ("vendor: ", _vendor(record)),
        ("exit: ", visible(record.exit)),
        *(("diagnosis: ", _cut(line)) for line in record.diagnosis[:1]),
        ("requirement: ", "" if record.test.startswith(OPERATOR_TESTS) else visible(record.requirement)),
        *(("rerun: ", f"{record.rerun.verdict} in a fresh worker") for _ in [0] if record.rerun),
    ]
    lines += [layout.wrap(label + text, indent="      ", first="    ") for label, text in details if text]
    lines.append("    " + layout.paint(rerun_line(header, record), "dim"))
    if len(group) > 1:
        lines.append(f"    … and {len(group) - 1} more like it")
    return "\n".join(lines)


def _cut(text: str, limit: int = VENDOR_LIMIT) -> str:
    text = visible(text[: 4 * limit])
    return text if len(text) <= limit else text[: limit - 1].rstrip() + "…"


def visible(text: str) -> str:
    """One line without escape sequences, control, formatting or lone surrogate characters."""
    text = ESCAPES.sub("", text)
    if not text.isprintable():
        text = "".join(" " if unicodedata.category(sign)[0] in "CZ" else sign for sign in text)
    return " ".join(text.split())


def _vendor(record: Record) -> str:
    """The vendor's code and text, the text only as far as the reason does not quote it already."""
    excerpt = vendor_excerpt(record.vendor.text)
    quoted = "".join(excerpt.replace(" / ", " ").split())[:60] in "".join(record.reason.split())
    return " ".join(filter(None, (visible(record.vendor.code), "" if quoted else excerpt)))


def vendor_excerpt(text: str) -> str:
    """The first lines of a vendor's text that say something, at most `VENDOR_LIMIT` characters; not the Python stack that
    faulthandler prints when a process dies, which only the adapter's author needs."""
    excerpt = ""
    text = text.partition("Fatal Python error: ")[0]
    # A page is enough to find them in; vendor texts run to megabytes.
    for line in ESCAPES.sub("", text[:8192]).splitlines():
        line = visible(line)
        if line:
            excerpt += (" / " if excerpt else "") + line
        if len(excerpt) > VENDOR_LIMIT:
            break
    return _cut(excerpt)


def worst_error(record: Record) -> str:
    """The largest error of any wrong output: as multiple of its bound, in ulp of its type, or as difference of integers."""
    wrong = {name: numbers for name, numbers in record.numbers.items() if numbers.get("wrong")}
    if not wrong:
        return ""
    name, numbers = max(wrong.items(), key=lambda entry: entry[1].get("worst_ratio", 0.0))
    words = {"worst_ratio": "{:.4g} times the bound", "worst_ulp": "{:.4g} ulp", "worst_error": "off by {:.4g}"}
    said = [text.format(numbers[key]) for key, text in words.items() if math.isfinite(numbers.get(key, math.inf))]
    return f"{', '.join(said)} in {visible(name)}" if said else ""


def rerun_line(header: Mapping[str, Any], record: Record) -> str:
    """The command that runs one record's case again on the same device."""
    program, *words = header["command"] or ["pytest"]
    start = "npu-cts run" if program == "npu-cts" else "pytest suites"
    kept = [] if any(word.partition("=")[0] == "--backend" for word in words) else [f"--backend={header['backend']}"]
    for word, following in zip(words, [*words[1:], ""], strict=True):
        name, equals, _ = word.partition("=")
        if name in RERUN_OPTIONS:
            kept.append(_quoted(word if equals else f"{word}={following}"))
    options = " ".join(kept)
    if record.test.startswith(OPERATOR_TESTS):
        return f'{start} {options} --case "{record.id}"'
    return f'{start.removesuffix(" suites")} "{record.test}" {options}'


def _quoted(word: str) -> str:
    if '"' in word:  # as a POSIX shell reads it
        return shlex.quote(word)
    return f'"{word}"' if re.search(r"[^\w.,:=/@%+~-]", word) else word


def _ending(in_flight: Sequence[str], stopped: str, layout: Layout) -> str:
    """What is missing from a run that did not finish, and how to go on."""
    lines = []
    if stopped != "finished":
        why = {"no footer": "The run did not end by itself", "device_lost": "Stopped: the device was lost"}
        lines.append(f"{why.get(stopped, f'Stopped: {stopped}')}; go on with --resume and this journal.")
    if in_flight:
        shown = ", ".join(in_flight[:IN_FLIGHT_LIMIT])
        more = f", … and {len(in_flight) - IN_FLIGHT_LIMIT} more" if len(in_flight) > IN_FLIGHT_LIMIT else ""
        lines.append(layout.wrap(f"Started, never completed: {shown}{more}", indent="    ", first=""))
    return layout.paint("\n".join(lines), "yellow")
