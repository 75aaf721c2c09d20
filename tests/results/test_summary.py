"""The end of a run stays readable: few groups for hundreds of failures, harmless vendor text, commands to copy."""

from __future__ import annotations

import re
import shlex
import time

import pytest

from results.journal import JournalWriter, counts, read
from results.record import Rerun, Vendor
from results.summary import (
    ESCAPES,
    Layout,
    group_failures,
    normalised,
    rerun_line,
    short_dtype,
    summarise,
    summarise_journal,
    vendor_excerpt,
    visible,
)
from results.verdict import Verdict


def too_wide(text: str, width: int) -> list[str]:
    """Lines that are wider than asked, commands and ids excepted: those must stay whole."""
    return [line for line in text.splitlines() if len(line) > width and "--case" not in line and "  Gelu-" not in line]


@pytest.mark.parametrize("width", [60, 80, 100, 120])
def test_lines_fit(make_header, many_records, width):
    text = summarise(make_header(), many_records(2000), Layout(width))
    assert too_wide(text, width) == []
    assert max(map(len, text.splitlines())) > width // 2


def test_order_of_parts(tmp_path, make_header, many_records):
    text = summarise(make_header(), many_records(500), path=tmp_path / "run.jsonl")
    parts = ["Device: qnn HTP · EMULATED · Qualcomm · SM8650", "family ", "Verdicts: ", "Failures: ", "Journal: "]
    positions = [text.index(part) for part in parts]
    assert positions == sorted(positions)
    assert text.rstrip().endswith("run.jsonl")


def test_table_counts(make_header, make_record):
    records = [
        make_record("a"),
        make_record("b", verdict=Verdict.MISMATCH),
        make_record("c", verdict=Verdict.UNSUPPORTED),
        make_record("d", dtype="bfloat16"),
        make_record("e", family="pooling", operator="MaxPool", dtype="uint8", verdict=Verdict.INCONCLUSIVE),
    ]
    text = summarise(make_header(collected=9), records, Layout(100))
    table = [
        re.split(r"  +", line) for line in text.splitlines() if line.startswith(("family", "convolution", "pooling", "all"))
    ]
    assert table == [
        ["family", "f32", "bf16", "u8", "all"],
        ["convolution", "1/3 !1 ~1", "1/1", "2/4 !1 ~1"],
        ["pooling", "0/1 ~1", "0/1 ~1"],
        ["all", "1/3 !1 ~1", "1/1", "0/1 ~1", "2/5 !1 ~2"],
    ]
    assert "passed/total, !failed, ~skipped" in text
    assert "Verdicts: 2 pass · 1 mismatch · 1 unsupported · 1 inconclusive · 5 of 9 selected" in text


def test_wide_tables_are_split_and_lose_no_column(make_header, many_records):
    text = summarise(make_header(), many_records(2000), Layout(60))
    heads = [line.split() for line in text.splitlines() if line.startswith("family")]
    assert len(heads) > 1
    assert [name for head in heads for name in head[1:]] == [
        "f32",
        "f16",
        "bf16",
        "f8e4m3fn",
        "i64",
        "i8",
        "i4",
        "u8",
        "all",
    ]


def test_hundreds_of_failures_are_a_few_groups(make_header, many_records):
    records = many_records(4000)
    failed = [record for record in records if record.outcome == "failed"]
    groups = group_failures(records)
    assert len(failed) > 150
    assert sum(map(len, groups)) == len(failed)
    assert [group[0].verdict for group in groups] == [Verdict.CRASH, Verdict.MISMATCH]
    text = summarise(make_header(), records, Layout(100))
    for group in groups:
        smallest = min(group, key=lambda record: (len(record.id), record.id))
        assert f'--case "{smallest.id}"' in text
        assert f"… and {len(group) - 1} more like it" in text
    assert text.count("--case") == 2


def test_groups_beyond_the_limit_are_counted(make_header, make_record):
    records = [make_record(f"{op}-1", operator=op, verdict=Verdict.MISMATCH, reason="wrong") for op in "ABCDE"]
    records.append(make_record("E-22", operator="E", verdict=Verdict.MISMATCH, reason="wrong"))
    text = summarise(make_header(), records, Layout(groups=2))
    assert "Failures: 6 in 5 groups" in text
    assert [line.split('"')[1] for line in text.splitlines() if "--case" in line] == ["E-1", "A-1"]
    assert "… and 3 failures in 3 more groups, all in the journal" in text
    text = summarise(make_header(), records[:1], Layout(groups=2))
    assert "Failures: 1 in 1 group\n" in text
    assert "more" not in text


def test_reasons_differ_by_words_not_by_numbers():
    assert normalised("y: 3 of 216 wrong; worst at [0, 1, 2]: 0.5") == normalised("y: 14 of 8 wrong; worst at [3, 1]: -1e-3")
    assert normalised("at 0x7ffe12") == normalised("at 0x0")
    assert normalised("ran elsewhere: Conv_12") == normalised("ran elsewhere: Conv_3")
    assert normalised("shape 1x3x8") == normalised("shape 2x4")
    assert normalised("got nan") == normalised("got 1.5")
    assert normalised("no float16") != normalised("no bfloat16")
    assert normalised("y has shape (1, 2)") != normalised("y has type (1, 2)")


def test_one_failure_in_full(make_header, make_record):
    record = make_record(
        verdict=Verdict.MISMATCH,
        reason="y: 3 of 216 elements outside their bound",
        numbers={"y": {"wrong": 3, "worst_ratio": 9.25, "worst_ulp": 40.5}, "z": {"wrong": 0, "worst_ratio": 1.0}},
        vendor=Vendor("\x1b[31mE: bad\x1b[0m\n\n  more", "1002"),
        diagnosis=["accumulates in float16", "second"],
        rerun=Rerun(Verdict.MISMATCH),
    )
    text = summarise(make_header(), [record], Layout(100))
    assert text[text.index("mismatch  ") :] == (
        "mismatch  Conv-22.f32.x:1x3x8x9\n"
        "    y: 3 of 216 elements outside their bound\n"
        "    worst error: 9.25 times the bound, 40.5 ulp in y\n"
        "    vendor: 1002 E: bad / more\n"
        "    diagnosis: accumulates in float16\n"
        "    rerun: mismatch in a fresh worker\n"
        '    pytest suites --backend=qnn --case "Conv-22.f32.x:1x3x8x9"\n'
    )


def test_vendor_text_cannot_harm_the_terminal(make_header, make_record):
    nasty = "\x1b]0;title\x07\x1b[2J\x1b[31mred\x1b[0m\r\x08\x00 \u202eesrever\u2028 \udcff \x9b31m\n" + "z" * 3_000_000
    record = make_record(verdict=Verdict.CRASH, vendor=Vendor(nasty, "\x1b[5m7"), reason=nasty, exit="signal\x07 SIGSEGV")
    start = time.perf_counter()
    text = summarise(make_header(), [record])
    assert time.perf_counter() - start < 1
    assert all(line.isprintable() for line in text.splitlines())
    assert "red" in text
    assert "title" not in text
    assert len(text) < 2000


def test_vendor_excerpt():
    assert vendor_excerpt("\n\n  first\n\n second \n") == "first / second"
    assert vendor_excerpt("") == ""
    long = vendor_excerpt("word " * 1000)
    assert len(long) <= 200
    assert long.endswith("…")
    assert visible("a\tb\x00c\n") == "a b c"


@pytest.mark.parametrize("encoding", ["ascii", "cp1252", "utf-8", "cp437"])
def test_every_stream_can_encode_it(make_header, make_record, many_records, encoding):
    records = [*many_records(300), make_record("s", verdict=Verdict.CRASH, reason="snow ☃", vendor=Vendor("漢字"))]
    text = summarise(make_header(), records, Layout(encoding=encoding))
    assert text.encode(encoding).decode(encoding) == text
    assert ("☃" in text) == (encoding == "utf-8")
    if encoding == "ascii":
        assert "... and" in text
        assert "qnn HTP | EMULATED" in text


def test_colours_only_where_asked_and_they_change_no_letter(make_header, many_records):
    records = many_records(500)
    plain = summarise(make_header(), records, Layout(90))
    coloured = summarise(make_header(), records, Layout(90, colour=True))
    assert "\x1b" not in plain
    assert "\x1b[31" in coloured
    assert ESCAPES.sub("", coloured) == plain


@pytest.mark.parametrize(
    ("command", "line"),
    [
        (["pytest", "suites", "--backend=qnn"], 'pytest suites --backend=qnn --case "X"'),
        (["npu-cts", "run", "--backend", "qnn"], 'npu-cts run --backend=qnn --case "X"'),
        (
            ["pytest", "suites", "-k", "f32", "--device", "NPU", "--backend-option=a=b", "--budget=30m"],
            'pytest suites --backend=qnn --device=NPU --backend-option=a=b --case "X"',
        ),
        (["pytest", "--backend=chip.py:Chip"], 'pytest suites --backend=chip.py:Chip --case "X"'),
        (["pytest", "--device=My NPU"], 'pytest suites --backend=qnn "--device=My NPU" --case "X"'),
    ],
)
def test_rerun_line(make_header, make_record, command, line):
    assert rerun_line(make_header(command=command), make_record("X")) == line
    assert shlex.split(line)[-2:] == ["--case", "X"]


def test_rerun_line_of_a_test_without_a_model(make_header, make_record):
    record = make_record("open-twice", operator="", opset=None, test="suites/test_open.py::test_open_twice")
    assert rerun_line(make_header(), record) == 'pytest "suites/test_open.py::test_open_twice" --backend=qnn'


def test_a_run_that_did_not_finish_says_so(tmp_path, make_header, make_record):
    path = tmp_path / "run.jsonl"
    writer = JournalWriter.create(path, make_header(), sync=False)
    writer.completed(make_record("a"))
    writer.started("b", "test[b]")
    text = summarise_journal(read(path))
    assert "The run did not end by itself; go on with --resume" in text
    assert "Started, never completed: b" in text
    writer.finish("budget", {})
    assert "Stopped: budget" in summarise_journal(read(path))


def test_no_records_at_all(make_header):
    text = summarise(make_header(collected=3), [])
    assert "No case has a record." in text
    assert "Verdicts: 0 of 3 selected" in text
    assert "Failures" not in text


def test_short_dtypes():
    short = {"float32": "f32", "bfloat16": "bf16", "float8e5m2": "f8e5m2", "int8": "i8", "uint16": "u16", "int4": "i4"}
    for name, expected in {**short, "bool": "bool", "string": "string"}.items():
        assert short_dtype(name) == expected


def test_25_000_records_in_seconds(tmp_path, make_header, many_records):
    records = many_records(25_000)
    start = time.perf_counter()
    text = summarise(make_header(), records, Layout(100))
    assert time.perf_counter() - start < 3
    assert len(text.splitlines()) < 100
    assert f"Failures: {sum(record.outcome == 'failed' for record in records)} in 2 groups" in text
    assert str(counts({record.test: record for record in records})["crash"]) + " crash" in text
