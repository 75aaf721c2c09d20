"""The journal of a run: JSON Lines, written so that a crash, a kill or a power cut loses at most the case in flight.

Lines: one header; "started" before and "completed" after each case; "resumed" where a later run went on; a footer. The
format is results/schema/journal-1.schema.json, explained in docs/journal.md.
"""

from __future__ import annotations

import contextlib
import dataclasses
import errno
import functools
import json
import os
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from importlib import resources
from pathlib import Path
from typing import Any, Literal, get_args

from results.header import SCHEMA, now
from results.record import Record
from results.strict_json import decode, encode, plain

Reason = Literal["finished", "interrupted", "device_lost", "budget"]
REASONS: tuple[Reason, ...] = get_args(Reason)


class JournalError(ValueError):
    """A file that cannot be read as a journal: one line naming the file, the line, what is wrong and what to do."""


class JournalWriter:
    """Appends lines, each with one write of the whole line; with `sync` each is on the disk when its method returns."""

    def __init__(self, descriptor: int, path: Path, sync: bool) -> None:
        self.path = path
        self._descriptor = descriptor
        self._sync = sync

    @classmethod
    def create(cls, path: str | os.PathLike[str], header: Mapping[str, Any], sync: bool) -> JournalWriter:
        """A new journal with its header; makes missing folders. Raises OSError, also where the file exists."""
        path = Path(path)
        with _explained(path, "cannot create the journal"):
            path.parent.mkdir(parents=True, exist_ok=True)
            writer = cls(_open(path, os.O_CREAT | os.O_EXCL), path, sync)
        try:
            writer._write(plain({**header, "type": "header"}, []))
        except OSError:
            writer.close()
            path.unlink()
            raise
        if sync:
            _sync_folder(path.parent)
        return writer

    @classmethod
    def resume(cls, path: str | os.PathLike[str], sync: bool = False) -> JournalWriter:
        """An existing journal, to append to; a torn last line is cut. Raises JournalError, OSError."""
        path = Path(path)
        if not os.path.isfile(path):
            read(path)  # which says why it cannot
        with _explained(path, "cannot append to the journal"):
            descriptor = _open(path, 0)
        try:
            read(path)
        except JournalError:
            os.close(descriptor)
            raise
        content = path.read_bytes()
        os.ftruncate(descriptor, content.rfind(b"\n") + 1)
        return cls(descriptor, path, sync)

    def resumed(self, header: Mapping[str, Any]) -> None:
        """Another run goes on here; `header` is what `create` takes."""
        self._write(plain({**header, "type": "resumed"}, []))

    def started(self, case_id: str, test: str) -> None:
        """The case is about to run: should the run die now, this names the culprit."""
        self._write(plain({"type": "started", "id": case_id, "test": test}, []))

    def completed(self, record: Record | str) -> None:
        """The case has its record, or the line that `Record.to_line` made of it. What cannot be stored of it is left out with a
        note; only writing may fail.
        """
        self._append((record.to_line() if isinstance(record, Record) else record).encode("ascii") + b"\n")

    def finish(self, reason: Reason, counts: Mapping[str, int]) -> None:
        """The footer: why the run ended and how many cases have each verdict. Closes the file."""
        self._write({"type": "footer", "reason": reason, "ended": now(), "counts": dict(counts)})
        self.close()

    def close(self) -> None:
        """Close the file without a footer, as an interrupted run leaves it. Idempotent."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def _write(self, line: Mapping[str, Any]) -> None:
        self._append(encode(line))

    def _append(self, data: bytes) -> None:
        with _explained(self.path, "cannot write to the journal"):
            written = os.write(self._descriptor, data)
            while written < len(data):  # a full disk or a signal; the next write raises what was wrong
                written += os.write(self._descriptor, data[written:])
            if self._sync:
                getattr(os, "fdatasync", os.fsync)(self._descriptor)  # neither Windows nor macOS has fdatasync


def _open(path: Path, flags: int) -> int:
    descriptor = os.open(path, os.O_RDWR | os.O_APPEND | flags | getattr(os, "O_BINARY", 0), 0o644)
    try:
        _lock(descriptor)
    except OSError:
        os.close(descriptor)
        raise BlockingIOError(errno.EAGAIN, "another run is writing it", str(path)) from None
    return descriptor


def _lock(descriptor: int) -> None:
    """Makes this process the only writer, until it closes the file or dies. Raises OSError if another one is."""
    if sys.platform == "win32":
        import msvcrt

        os.lseek(descriptor, 2**40, os.SEEK_SET)  # far behind the contents: a lock there keeps nobody from reading
        msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
    else:
        import fcntl

        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)


def _sync_folder(folder: Path) -> None:
    """Make a new file's name survive a power cut. Windows cannot open folders and needs no such thing."""
    if hasattr(os, "O_DIRECTORY"):
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            with contextlib.suppress(OSError):  # some network file systems refuse to
                os.fsync(descriptor)
        finally:
            os.close(descriptor)


@contextlib.contextmanager
def _explained(path: Path, what: str) -> Iterator[None]:
    """An OSError of the same class that says what could not be done with which file, and what to do."""
    advice = {
        errno.EEXIST: "resume it or choose another path",
        errno.ENOSPC: "free some space",
        errno.EAGAIN: "wait for that run, or start a new one",
    }
    try:
        yield
    except OSError as error:
        # EEXIST of a file on the way to the folder is not the journal's own.
        own = error.errno != errno.EEXIST or error.filename in (str(path), path)
        hint = advice.get(error.errno or 0) if own else None
        text = f"{what}: {error.strerror or error}; {hint or 'choose a path in a folder that you may write to'}"
        raise type(error)(error.errno, text, str(path)) from error


@dataclasses.dataclass(frozen=True)
class Journal:
    """A journal that was read.

    records: in the order of completion, repetitions included; several tests may share a case. in_flight: ids that were
    started and never completed. footer: None where the last run left none. torn: the last line was cut short.
    """

    path: Path
    header: dict[str, Any]
    resumed: list[dict[str, Any]]
    records: list[Record]
    in_flight: list[str]
    footer: dict[str, Any] | None
    torn: bool

    @functools.cached_property
    def by_id(self) -> dict[str, Record]:
        """The last record of each case id."""
        return {record.id: record for record in self.records}

    @functools.cached_property
    def by_test(self) -> dict[str, Record]:
        """The last record of each pytest node id."""
        return {record.test: record for record in self.records}

    @property
    def complete(self) -> bool:
        """Whether the run went to its end and every case that was started has its record."""
        return self.footer is not None and self.footer["reason"] == "finished" and not self.in_flight


def counts(records: Mapping[str, Record]) -> dict[str, int]:
    """How many have each verdict, as the footer stores it; `records` is a journal's `by_test`."""
    return dict(Counter(record.verdict.value for record in records.values()))


def read(path: str | os.PathLike[str]) -> Journal:
    """The journal at `path`, which another process may be writing. Raises JournalError."""
    path = Path(path)
    lines, torn = _lines(path)
    header = _header(path, lines[0])
    resumed: list[dict[str, Any]] = []
    records: list[Record] = []
    open_cases: dict[str, str] = {}  # test → case id
    footer: dict[str, Any] | None = None
    for number, line in enumerate(lines[1:], 2):
        value = _object(path, number, line)
        footer = None
        try:
            match value.get("type"):
                case "started":
                    open_cases[value["test"]] = value["id"]
                case "completed":
                    record = Record.from_json(value)
                    records.append(record)
                    open_cases.pop(record.test, None)
                case "footer":
                    footer = _footer(value)
                case "resumed":
                    _check_header(path, number, value)
                    resumed.append(value)
                case "header":
                    raise ValueError("a second header: two runs were put into one file; split it there")
                case other:
                    raise ValueError(f"unknown type {json.dumps(other)[:40]}; {RESTORE}")
        except KeyError as error:
            raise JournalError(f"{path}:{number}: field {error.args[0]} is missing; {RESTORE}") from None
        except JournalError:
            raise
        except (TypeError, AttributeError) as error:
            raise JournalError(f"{path}:{number}: corrupt line ({error}); {RESTORE}") from None
        except ValueError as error:
            hint = "" if ";" in str(error) else f"; {RESTORE}"
            raise JournalError(f"{path}:{number}: {error}{hint}") from None
    return Journal(path, header, resumed, records, list(dict.fromkeys(open_cases.values())), footer, torn)


HEADER_FIELDS = (
    *("schema", "suite", "command", "started", "backend", "device"),
    *("capabilities", "fingerprint", "precision", "options", "environment", "selection"),
)
RESTORE = "the file was edited or damaged: restore it, or remove that line"


def _lines(path: Path) -> tuple[list[str], bool]:
    """Whole lines of a text file, at least one, and whether a torn one followed."""
    try:
        if path.exists() and not path.is_file() and not path.is_dir():  # reading a pipe would wait for ever
            raise JournalError(f"{path}: no regular file; give the .jsonl file that a run wrote")
        content = path.read_bytes()
    except FileNotFoundError:
        raise JournalError(f"{path}: no such file; give the .jsonl file that a run wrote") from None
    except OSError as error:
        what = "is a folder" if isinstance(error, IsADirectoryError) else f"cannot be read ({error.strerror or error})"
        raise JournalError(f"{path}: {what}; give the .jsonl file that a run wrote") from None
    if not content:
        raise JournalError(f"{path}: empty file; the run died before its first line, start it again")
    content = content.removeprefix(b"\xef\xbb\xbf")
    if not content.lstrip().startswith(b"{"):
        raise JournalError(f"{path}:1: not a journal ({_looks_like(content)}); give the .jsonl file that a run wrote")
    *lines, rest = content.split(b"\n")
    if not lines:
        raise JournalError(f"{path}:1: the header is cut short; the run died at once, start it again")
    decoded = []
    for number, line in enumerate(lines, 1):
        try:
            decoded.append(line.decode("utf-8"))
        except UnicodeDecodeError:
            raise JournalError(f"{path}:{number}: not UTF-8; {RESTORE}") from None
    return decoded, bool(rest)


def _looks_like(content: bytes) -> str:
    control = any(byte < 32 and byte not in b"\t\r\n\f\x1b" for byte in content[:512])
    return "binary file" if control else "its first line is no JSON object"


def _object(path: Path, number: int, line: str) -> dict[str, Any]:
    try:
        value = decode(line.strip())
    except (ValueError, RecursionError) as error:
        what = error.msg if isinstance(error, json.JSONDecodeError) else str(error)
        raise JournalError(f"{path}:{number}: corrupt line ({what}); {RESTORE}") from None
    if not isinstance(value, dict):
        raise JournalError(f"{path}:{number}: corrupt line (no JSON object); {RESTORE}")
    return value


def _header(path: Path, line: str) -> dict[str, Any]:
    value = _object(path, 1, line)
    if value.get("type") != "header":
        raise JournalError(f"{path}:1: not a journal (it starts with no header); give the .jsonl file that a run wrote")
    _check_header(path, 1, value)
    return value


def _check_header(path: Path, number: int, header: Mapping[str, Any]) -> None:
    schema = header.get("schema")
    if not isinstance(schema, int) or isinstance(schema, bool) or schema < 1:
        raise JournalError(f"{path}:{number}: not a journal (no schema number); give the .jsonl file that a run wrote")
    if schema > SCHEMA:
        raise JournalError(f"{path}:{number}: written by schema {schema}, this version reads up to {SCHEMA}: upgrade npu-cts")
    missing = [field for field in HEADER_FIELDS if field not in header]
    if missing:
        raise JournalError(f"{path}:{number}: field {missing[0]} is missing; {RESTORE}")
    for field in HEADER_FIELDS:
        kind = {"schema": int, "command": list, "started": str, "backend": str}.get(field, dict)
        if not isinstance(header[field], kind):
            raise JournalError(f"{path}:{number}: field {field} is no {kind.__name__}; {RESTORE}")


def _footer(value: dict[str, Any]) -> dict[str, Any]:
    if value["reason"] not in REASONS:
        raise ValueError(f"unknown reason {json.dumps(value['reason'])[:40]}")
    return value


def schema() -> dict[str, Any]:
    """The JSON Schema (2020-12) of a journal's lines; one definition per type of line."""
    text = resources.files("results").joinpath("schema", f"journal-{SCHEMA}.schema.json").read_text("utf-8")
    document: dict[str, Any] = json.loads(text)
    return document


LINE_TYPES = ("header", "started", "completed", "resumed", "footer")


def validate(path: str | os.PathLike[str]) -> Iterator[str]:
    """Everything that is wrong with a journal, one line each. Goes on where `read` gives up."""
    import jsonschema  # only who validates needs it

    path = Path(path)
    try:
        lines, torn = _lines(path)
    except JournalError as error:
        yield str(error)
        return
    document = schema()
    definition = {
        name: jsonschema.Draft202012Validator({"$ref": f"#/$defs/{name}", "$defs": document["$defs"]}) for name in LINE_TYPES
    }
    sound = True
    for number, line in enumerate(lines, 1):
        try:
            value = _object(path, number, line)
        except JournalError as error:
            sound = False
            yield str(error)
            continue
        name = value.get("type")
        if name not in LINE_TYPES:
            sound = False
            yield f"{path}:{number}: unknown type {json.dumps(name)[:40]}"
            continue
        for problem in definition[name].iter_errors(value):
            sound = False
            where = ".".join(map(str, problem.absolute_path)) or name
            yield f"{path}:{number}: {where}: {problem.message[:200]}"
    if torn:
        yield f"{path}:{len(lines) + 1}: the last line is cut short; `--resume` repairs it"
    if sound:
        yield from _contradictions(path)


def _contradictions(path: Path) -> Iterator[str]:
    """What no schema can see: the order of lines, and a footer that counts otherwise than its records."""
    try:
        journal = read(path)
    except JournalError as error:
        yield str(error)
        return
    if journal.footer is None:
        yield f"{path}: no footer: the run did not end by itself; go on with `--resume`"
    elif journal.footer["counts"] != counts(journal.by_test):
        yield f"{path}: the footer counts {journal.footer['counts']}, the records {counts(journal.by_test)}"
