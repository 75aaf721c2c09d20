"""A journal can be read whatever became of the run that wrote it, and says in one line why when it cannot."""

from __future__ import annotations

import errno
import gzip
import json
import os
import re
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from results import journal as journal_module
from results.header import SCHEMA
from results.journal import LINE_TYPES, JournalError, JournalWriter, counts, read, schema, validate
from results.record import PHASES, Record
from results.verdict import Verdict

ROOT = Path(__file__).parents[2]


@pytest.fixture
def finished(tmp_path, make_header, make_record) -> Path:
    """A journal of three cases, one of them crashed and run again."""
    path = tmp_path / "run.jsonl"
    writer = JournalWriter.create(path, make_header(), sync=False)
    records = [
        make_record("a"),
        make_record("b", verdict=Verdict.CRASH, exit="signal SIGSEGV"),
        make_record("c"),
        make_record("b", verdict=Verdict.ORDER_DEPENDENT),
    ]
    for record in records:
        writer.started(record.id, record.test)
        writer.completed(record)
    writer.finish("finished", {"pass": 2, "order_dependent": 1})
    return path


@pytest.mark.parametrize("sync", [False, True])
def test_what_is_written_is_read(tmp_path, make_header, make_record, sync):
    path = tmp_path / "new" / "folder" / "run.jsonl"
    header, record = make_header(), make_record()
    writer = JournalWriter.create(path, header, sync=sync)
    writer.started(record.id, record.test)
    writer.completed(record)
    before = read(path)
    assert (before.footer, before.complete, before.torn) == (None, False, False)
    writer.finish("finished", counts({record.test: record}))
    journal = read(path)
    assert journal.header == header
    assert journal.records == [record]
    assert journal.by_id == {record.id: record}
    assert journal.footer["counts"] == {"pass": 1}
    assert journal.complete
    assert list(validate(path)) == []


def test_each_line_is_one_write_and_synced_when_asked(tmp_path, make_header, make_record, monkeypatch):
    written: list[bytes] = []
    synced: list[int] = []
    real_write = os.write
    monkeypatch.setattr(os, "write", lambda fd, data: (written.append(bytes(data)), real_write(fd, data))[1])
    monkeypatch.setattr(os, "fdatasync", synced.append, raising=False)
    for sync, expected in ((False, 0), (True, 4)):
        written.clear()
        writer = JournalWriter.create(tmp_path / f"{sync}.jsonl", make_header(), sync=sync)
        writer.started("a", "t")
        writer.completed(make_record())
        writer.finish("budget", {})
        assert len(written) == 4
        assert all(line.endswith(b"\n") and line.count(b"\n") == 1 for line in written)
        assert len(synced) == expected


def test_fsync_where_there_is_no_fdatasync(tmp_path, make_header, monkeypatch):
    monkeypatch.delattr(os, "fdatasync", raising=False)
    writer = JournalWriter.create(tmp_path / "run.jsonl", make_header(), sync=True)
    monkeypatch.setattr(os, "fsync", lambda fd: (_ for _ in ()).throw(OSError(errno.EIO, "Input/output error")))
    with pytest.raises(OSError, match="cannot write to the journal"):
        writer.started("a", "t")
    writer.close()


def test_short_writes_are_continued(tmp_path, make_header, make_record, monkeypatch):
    real_write = os.write
    monkeypatch.setattr(os, "write", lambda fd, data: real_write(fd, data[:100]))
    writer = JournalWriter.create(tmp_path / "run.jsonl", make_header(), sync=False)
    writer.completed(make_record())
    writer.close()
    assert read(writer.path).records == [make_record()]


def test_the_last_record_of_a_case_holds_and_all_are_kept(finished):
    journal = read(finished)
    assert [record.id for record in journal.records] == ["a", "b", "c", "b"]
    assert journal.by_id["b"].verdict is Verdict.ORDER_DEPENDENT
    assert counts(journal.by_test) == {"pass": 2, "order_dependent": 1}
    assert list(validate(finished)) == []


def test_two_tests_of_one_case_are_two_results(tmp_path, make_header, make_record):
    path = tmp_path / "run.jsonl"
    writer = JournalWriter.create(path, make_header(), sync=False)
    for test in ("test_operator[a]", "test_layout[a]"):
        writer.started("a", test)
    writer.completed(make_record("a", test="test_operator[a]"))
    writer.close()
    journal = read(path)
    assert journal.in_flight == ["a"]
    assert list(journal.by_test) == ["test_operator[a]"]


def test_every_truncation_of_a_journal_is_readable(finished):
    content = finished.read_bytes()
    whole = len(read(finished).records)
    first = content.index(b"\n") + 1
    for end in range(first, len(content), 7):
        finished.write_bytes(content[:end])
        journal = read(finished)
        assert journal.torn == (content[end - 1 : end] != b"\n")
        assert len(journal.records) == content[:end].count(b'"type":"completed"') - (
            b'"type":"completed"' in content[:end].rpartition(b"\n")[2]
        )
        assert len(journal.records) <= whole
        assert not journal.complete


def test_resuming_cuts_a_torn_line_and_goes_on(finished, make_header, make_record):
    content = finished.read_bytes()
    lines = content.splitlines(keepends=True)
    finished.write_bytes(b"".join(lines[:4]) + lines[4][:30])
    assert read(finished).torn
    assert read(finished).in_flight == ["b"]
    writer = JournalWriter.resume(finished)
    writer.resumed(make_header(collected=7))
    assert not read(finished).torn
    writer.started("b", make_record("b").test)
    writer.completed(make_record("b"))
    writer.finish("finished", {"pass": 2})
    journal = read(finished)
    assert [header["selection"]["collected"] for header in journal.resumed] == [7]
    assert [record.id for record in journal.records] == ["a", "b"]
    assert journal.complete
    assert list(validate(finished)) == []


def test_resuming_a_whole_journal_keeps_all_of_it(finished, make_header):
    before = finished.read_bytes()
    writer = JournalWriter.resume(finished, sync=True)
    writer.close()
    assert finished.read_bytes() == before
    writer = JournalWriter.resume(finished)
    writer.resumed(make_header())
    writer.close()
    # The footer of the earlier run says nothing about the later one.
    assert read(finished).footer is None


def test_zeros_after_a_power_cut_are_a_torn_line(finished):
    with finished.open("ab") as file:
        file.write(b"\0" * 4096)
    assert read(finished).torn
    JournalWriter.resume(finished).close()
    assert not read(finished).torn


KILLED = """
import json, sys
from results.journal import JournalWriter
from results.record import Record
from results.verdict import Verdict
writer = JournalWriter.create(sys.argv[1], json.loads(sys.argv[2]), sync=False)
number = 0
while True:
    writer.started(f"case {number}", f"test[{number}]")
    writer.completed(Record(f"case {number}", f"test[{number}]", "OPS-001", Verdict.PASS, reason="x" * 20000))
    number += 1
"""


def test_a_killed_run_loses_only_the_case_in_flight(tmp_path, make_header):
    path = tmp_path / "run.jsonl"
    command = [sys.executable, "-c", KILLED, str(path), json.dumps(make_header())]
    with subprocess.Popen(command, cwd=ROOT) as process:
        deadline = time.monotonic() + 30
        while not (path.exists() and path.stat().st_size > 500_000):
            assert time.monotonic() < deadline
            assert process.poll() is None
            time.sleep(0.01)
        process.kill()
    journal = read(path)
    assert len(journal.records) > 10
    assert len(journal.in_flight) <= 1
    assert [record.id for record in journal.records] == [f"case {n}" for n in range(len(journal.records))]
    assert journal.footer is None


def test_readers_see_whole_records_while_a_run_writes(tmp_path, make_header, make_record):
    path = tmp_path / "run.jsonl"
    writer = JournalWriter.create(path, make_header(), sync=False)
    seen: list[list[int]] = [[], []]
    errors: list[Exception] = []
    done = threading.Event()

    def watch(lengths: list[int]) -> None:
        while not done.is_set():
            try:
                lengths.append(len(read(path).records))
            except Exception as error:
                errors.append(error)

    readers = [threading.Thread(target=watch, args=(lengths,)) for lengths in seen]
    for reader in readers:
        reader.start()
    for number in range(500):
        writer.completed(make_record(f"case {number}", reason="☃" * 2000))
    done.set()
    for reader in readers:
        reader.join()
    writer.close()
    assert errors == []
    assert all(lengths and lengths == sorted(lengths) for lengths in seen)
    assert len(read(path).records) == 500


def broken(content: bytes, number: int, line: bytes) -> bytes:
    lines = content.splitlines(keepends=True)
    lines[number - 1] = line
    return b"".join(lines)


def changed(content: bytes, number: int, **changes: object) -> bytes:
    value = json.loads(content.splitlines()[number - 1])
    kept = {key: item for key, item in {**value, **changes}.items() if item is not ...}
    return broken(content, number, json.dumps(kept).encode() + b"\n")


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda c: b"", r": empty file; the run died before its first line, start it again"),
        (lambda c: c[:50], r":1: the header is cut short; the run died at once, start it again"),
        (lambda c: gzip.compress(c), r":1: not a journal \(binary file\); give the .jsonl file"),
        (
            lambda c: b"id,verdict\nConv,pass\n",
            r":1: not a journal \(its first line is no JSON object\); give the .jsonl",
        ),
        (lambda c: b'{"a": 1}\n', r":1: not a journal \(it starts with no header\); give the .jsonl"),
        (lambda c: c.split(b"\n", 1)[1], r":1: not a journal \(it starts with no header\)"),
        (
            lambda c: changed(c, 1, schema=SCHEMA + 2),
            rf":1: written by schema {SCHEMA + 2}, this version reads up to {SCHEMA}: upgrade npu-cts$",
        ),
        (lambda c: changed(c, 1, schema="1"), r":1: not a journal \(no schema number\)"),
        (lambda c: changed(c, 1, device=...), r":1: field device is missing; .*restore it"),
        (lambda c: broken(c, 3, b'{"type":"comp\n'), r":3: corrupt line \(.*\); .*restore it, or remove that line"),
        (lambda c: broken(c, 3, b"\n"), r":3: corrupt line"),
        (lambda c: broken(c, 3, b"[1]\n"), r":3: corrupt line \(no JSON object\)"),
        (lambda c: broken(c, 3, b'{"type":"started","id":NaN}\n'), r":3: corrupt line \(NaN is not JSON\)"),
        (lambda c: broken(c, 3, b"\xff\xfe\n"), r":3: not UTF-8; .*restore it"),
        (lambda c: broken(c, 3, b"[" * 100_000 + b"\n"), r":3: corrupt line"),
        (lambda c: broken(c, 2, b'{"type":"started","id":"a"}\n'), r":2: field test is missing; .*restore it"),
        (lambda c: broken(c, 2, b'{"type":"greeting"}\n'), r':2: unknown type "greeting"; .*restore it'),
        (lambda c: changed(c, 3, verdict="splendid"), r":3: field verdict is not a verdict; .*restore it"),
        (lambda c: changed(c, 3, extra=1), r":3: field extra is unknown; .*restore it"),
        (lambda c: changed(c, 3, id=...), r":3: field id is missing; .*restore it"),
        (lambda c: changed(c, 10, reason="lunch"), r':10: unknown reason "lunch"; .*restore it'),
        (lambda c: c + c, r":11: a second header: two runs were put into one file; split it there"),
    ],
)
def test_damage_is_named_in_one_line(finished, damage, message):
    finished.write_bytes(damage(finished.read_bytes()))
    with pytest.raises(JournalError, match=message) as caught:
        read(finished)
    text = str(caught.value)
    assert text.startswith(str(finished))
    assert "\n" not in text
    assert list(validate(finished)), "validate finds nothing wrong with what read refuses"


def test_no_file_and_a_folder(tmp_path):
    with pytest.raises(JournalError, match=r"no such file; give the .jsonl file that a run wrote"):
        read(tmp_path / "none.jsonl")
    with pytest.raises(JournalError, match=r"is a folder; give the .jsonl file that a run wrote"):
        read(tmp_path)
    with pytest.raises(JournalError, match="no such file"):
        JournalWriter.resume(tmp_path / "none.jsonl")
    assert not (tmp_path / "none.jsonl").exists()


def test_windows_line_ends_and_byte_order_mark(finished):
    finished.write_bytes(b"\xef\xbb\xbf" + finished.read_bytes().replace(b"\n", b"\r\n"))
    assert len(read(finished).records) == 4


def test_an_existing_journal_is_never_overwritten(finished, make_header):
    before = finished.read_bytes()
    with pytest.raises(FileExistsError, match=r"cannot create the journal: .*; resume it or choose another path"):
        JournalWriter.create(finished, make_header(), sync=False)
    assert finished.read_bytes() == before


def test_a_folder_that_cannot_be_written_to(tmp_path, make_header, monkeypatch):
    (tmp_path / "file").write_text("")
    with pytest.raises(OSError, match=r"cannot create the journal: .*; choose a path in a folder"):
        JournalWriter.create(tmp_path / "file" / "run.jsonl", make_header(), sync=False)

    def refuse(*arguments: object) -> int:
        raise PermissionError(errno.EACCES, "Permission denied", "run.jsonl")

    monkeypatch.setattr(os, "open", refuse)
    with pytest.raises(PermissionError, match="cannot create the journal: Permission denied; choose a path"):
        JournalWriter.create(tmp_path / "run.jsonl", make_header(), sync=False)


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="the superuser may write anywhere")
def test_a_read_only_folder(tmp_path, make_header):
    tmp_path.chmod(0o500)
    try:
        with pytest.raises(PermissionError, match="cannot create the journal"):
            JournalWriter.create(tmp_path / "run.jsonl", make_header(), sync=False)
    finally:
        tmp_path.chmod(0o700)


def test_a_full_disk_says_so(tmp_path, make_header, make_record, monkeypatch):
    writer = JournalWriter.create(tmp_path / "run.jsonl", make_header(), sync=False)

    def full(*arguments: object) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "write", full)
        with pytest.raises(OSError, match="No space left on device; free some space"):
            writer.completed(make_record())
    writer.close()


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda c: changed(c, 3, seconds={"run": "fast"}), r":3: seconds.run: .*fast"),
        (lambda c: changed(c, 3, opset="22"), r":3: opset: '22' is not of type"),
        (lambda c: changed(c, 3, placement={"NPU": -1}), r":3: placement.NPU: -1 is less than"),
        (lambda c: changed(c, 1, started="yesterday"), r":1: started: 'yesterday' does not match"),
        (lambda c: changed(c, 1, user="ada"), r":1: header: .*'user' was unexpected"),
        (lambda c: changed(c, 10, counts={"pass": 3}), r": the footer counts \{'pass': 3\}, the records"),
        (lambda c: c[: c.rindex(b'{"type":"footer"')], r": no footer: the run did not end by itself"),
        (lambda c: c[:-1], r":10: the last line is cut short"),
    ],
)
def test_validate_finds(finished, damage, message):
    finished.write_bytes(damage(finished.read_bytes()))
    problems = list(validate(finished))
    assert any(re.search(message, problem) for problem in problems), problems


def test_code_and_schema_agree(make_record, make_header):
    document = schema()
    definitions = document["$defs"]
    assert [entry["$ref"] for entry in document["oneOf"]] == [f"#/$defs/{name}" for name in LINE_TYPES]
    assert definitions["verdict"]["enum"] == [verdict.value for verdict in Verdict]
    assert definitions["phase"]["enum"] == list(PHASES)
    assert definitions["footer"]["properties"]["reason"]["enum"] == list(journal_module.REASONS)
    assert list(definitions["completed"]["properties"]) == list(make_record().to_json())[:3] + [
        name for name in definitions["completed"]["properties"] if name not in ("type", "id", "test")
    ]
    assert set(definitions["completed"]["properties"]) == set(make_record().to_json())
    assert set(definitions["header"]["properties"]) == {"type", *journal_module.HEADER_FIELDS} == set(make_header())
    assert definitions["resumed"]["properties"].keys() == definitions["header"]["properties"].keys()
    assert definitions["header"]["properties"]["schema"]["maximum"] == SCHEMA
    assert document["$id"] == f"urn:npu-cts:journal-{SCHEMA}"


def objects(definition: dict, path: str = "") -> list[tuple[str, dict]]:
    found = [(path, definition)] if "properties" in definition else []
    for name, member in definition.get("properties", {}).items():
        found += objects(member, f"{path}.{name}" if path else name)
    return found


def test_every_object_of_the_schema_is_closed():
    for name in LINE_TYPES:
        for path, definition in objects(schema()["$defs"][name]):
            assert definition["additionalProperties"] is False, (name, path)


def test_every_field_is_documented():
    page = (ROOT / "docs" / "journal.md").read_text("utf-8")
    sections = dict(re.findall(r"^## (\w+)\n(.*?)(?=^## |\Z)", page, re.MULTILINE | re.DOTALL))
    for name in LINE_TYPES:
        definition = schema()["$defs"][name]
        assert definition["description"] in sections[name]
        if name == "resumed":  # its fields are the header's
            continue
        documented = dict(re.findall(r"^\| `([\w.]+)` \| [^|]+ \| (.*) \|$", sections[name], re.MULTILINE))
        in_schema = {
            f"{path}.{field}" if path else field: member["description"]
            for path, parent in objects(definition)
            for field, member in parent["properties"].items()
        }
        assert documented == in_schema
    for name in ("verdict", "phase"):
        for value in schema()["$defs"][name]["enum"]:
            assert f"`{value}`" in sections["Values"]


def test_25_000_records_in_seconds(tmp_path, make_header, many_records):
    records: list[Record] = many_records(25_000)
    path = tmp_path / "run.jsonl"
    start = time.perf_counter()
    writer = JournalWriter.create(path, make_header(), sync=False)
    for record in records:
        writer.started(record.id, record.test)
        writer.completed(record)
    writer.finish("finished", {})
    written = time.perf_counter()
    journal = read(path)
    done = time.perf_counter()
    assert journal.records == records
    assert written - start < 10
    assert done - written < 10
