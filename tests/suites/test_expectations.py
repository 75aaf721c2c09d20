"""Known failures do not fail a run, and what is written about them stays true: files out of date are refused."""

from __future__ import annotations

import dataclasses
import datetime
import hashlib
import os
import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from backends.interface import DeviceInfo
from results import journal, summary
from results.record import EXPECTED, MANDATORY, STALE, Record
from results.verdict import EXPECTABLE, OUTCOME, Verdict, outcome
from suites import cli, expectation, recording
from suites.cases import operators
from suites.expectation import OPERATOR_TEST, ExpectationError, Expectations, load, read

ROOT = Path(__file__).resolve().parents[2]
SUB = next(case for case in operators.ALL if case.startswith("Sub-14.f32.") and case.endswith("in:normal"))
ADD = next(case for case in operators.ALL if case.startswith("Add-14.f32.") and case.endswith("in:normal"))
SWAPPED = ("--fault", "sub-operands-swapped")
GRAPH = "suites/test_graphs.py::test_fused_nodes[Graph-21.f32.conv-relu.in:normal]"

ENTRY = {
    "cases": [SUB],
    "verdict": "mismatch",
    "finding": "SIM-1",
    "reason": "operands are swapped",
    "url": "https://example.org/1",
    "expires": datetime.date(2999, 1, 1),
}


def toml(value):
    match value:
        case bool():
            return str(value).lower()
        case list():
            return f"[{', '.join(map(toml, value))}]"
        case str():
            return f"'{value}'"
    return str(value)


def text(*entries, **head):
    """A file; keys of None are left out."""
    parts = [head if "backend" in head else {"backend": "sim", **head}, *({**ENTRY, **entry} for entry in entries)]
    lines = ["\n".join(f"{key} = {toml(v)}" for key, v in part.items() if v is not None) for part in parts]
    return "\n\n[[expect]]\n".join(lines) + "\n"


def written(path, *entries, **head):
    path.write_text(text(*entries, **head), encoding="utf-8")
    return path


def entries(*given, **head):
    return read("x.toml", text(*given, **head).encode()).entries


def run(path, *arguments, results, environment=None):
    """`pytest suites/test_operators.py` on the simulated device, executed."""
    command = [sys.executable, "-m", "pytest", "suites/test_operators.py", "--backend=sim", "-p", "no:cacheprovider", "-q"]
    given = [] if path is None else [f"--expectations={path}"]
    return subprocess.run(
        [*command, *given, f"--results={results}", *arguments],
        cwd=ROOT,
        env={**os.environ, **(environment or {})},
        capture_output=True,
        encoding="utf-8",
        timeout=300,
        check=False,
    )


def only_journal(folder):
    """The journal that the run left, which must be valid."""
    (path,) = Path(folder).glob("*.jsonl")
    assert list(journal.validate(path)) == []
    return journal.read(path)


def error(done):
    """The one line that pytest marks as an error."""
    assert done.returncode == 4, done.stdout + done.stderr
    assert "Traceback" not in done.stdout + done.stderr
    (line,) = [line for line in (done.stderr + done.stdout).splitlines() if line.startswith("ERROR: ")]
    return line


# Files


def test_a_file_is_read():
    (entry,) = entries({"verdict": ["mismatch", "run_error"], "sometimes": True}, device="gen*", runtime="sim *")
    assert entry.cases == (SUB,)
    assert entry.verdicts == (Verdict.MISMATCH, Verdict.RUN_ERROR)
    assert entry.sometimes
    assert not entry.expired
    assert entry.title == "SIM-1"
    assert dataclasses.replace(entry, finding="").title == ENTRY["reason"]
    content = text({}).replace("\n", "\r\n").encode("utf-8-sig")  # as editors on Windows leave it
    file = read("x.toml", content)
    assert (file.backend, file.device, file.runtime, len(file.entries)) == ("sim", "*", "*", 1)
    assert file.sha256 == hashlib.sha256(content).hexdigest()


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("backend = 3 4", ["no TOML", "line 1"]),
        ("[" * 5000, ["no TOML"]),
        (b"backend = '\xff'", ["UTF-8"]),
        (text(backend=None), ["backend", "missing"]),
        ("backend = 'sim'\n", ["expect", "missing"]),
        ("backend = 'sim'\nexpect = 1\n", ["[[expect]]"]),
        ("backend = 3\nexpect = []\n", ["backend", "word"]),
        (text({}, devise="x"), ["devise", "device"]),
        (text({}, runtime=""), ["runtime"]),
        (text({"case": [SUB]}), ["entry 1 (SIM-1)", "'case'", "cases"]),
        (text({}, {"cases": None}), ["entry 2 (SIM-1)", "cases", "missing"]),
        (text({"cases": []}), ["cases", "list"]),
        (text({"cases": SUB}), ["cases", "list"]),
        (text({"cases": [""]}), ["cases", "list"]),
        (text({"verdict": None}), ["verdict", "missing"]),
        (text({"verdict": "mismach"}), ["mismach", "mismatch"]),
        (text({"verdict": []}), ["verdict"]),
        (text({"verdict": ["mismatch", 3]}), ["verdict"]),
        (text({"verdict": "pass"}), ["'pass'", "cannot be expected", "mismatch"]),
        (text({"verdict": ["mismatch", "unsupported"]}), ["'unsupported'", "cannot be expected"]),
        (text({"verdict": "not_run"}), ["cannot be expected"]),
        (text({"reason": None}), ["reason", "missing"]),
        (text({"reason": " "}), ["reason"]),
        (text({"url": None}), ["url", "missing"]),
        (text({"url": "two words"}), ["url", "one word"]),
        (text({"finding": "two words"}), ["finding", "one word"]),
        (text({"finding": None, "expires": None}), ["entry 1:", "expires", "missing"]),
        (text({"expires": "2027-06-01"}), ["expires", "date"]),
        (text({"expires": "2027-06-01"}).replace("'2027-06-01'", "2027-06-01T00:00:00"), ["expires", "date"]),
        (text({"sometimes": "yes"}), ["sometimes", "true"]),
    ],
)
def test_files_that_are_none_are_refused_in_one_line(content, words):
    with pytest.raises(ExpectationError) as caught:
        read("x.toml", content if isinstance(content, bytes) else content.encode())
    assert "\n" not in str(caught.value)
    assert all(word in str(caught.value) for word in ("x.toml", *words)), caught.value


def test_names_and_files_that_do_not_exist_are_named(tmp_path, monkeypatch):
    for given, words in (("nothing.toml", ["nothing.toml"]), (",", ["no name"]), (str(tmp_path), [str(tmp_path)])):
        with pytest.raises(pytest.UsageError) as caught:
            load(given)
        assert all(word in str(caught.value) for word in ("--expectations", *words))
    monkeypatch.setattr(expectation, "names", lambda: ["onnxruntime", "openvino"])
    with pytest.raises(pytest.UsageError, match="did you mean onnxruntime"):
        load("onxruntime")
    with pytest.raises(pytest.UsageError, match="there are onnxruntime, openvino"):
        load("zzz")
    with pytest.raises(pytest.UsageError):
        load("a" * 100_000)


def test_several_files_and_paths_of_any_letters(tmp_path, monkeypatch):
    first = written(tmp_path / "größe, 測試.toml", {})
    second = written(tmp_path / "b.toml", {"cases": [ADD]})
    assert len(load(str(first)).entries) == 1
    assert [file.name for file in load(f"{second}, {second}").files] == [str(second)]
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    assert len(load("~/b.toml").entries) == 1
    assert len(load(f"~/b.toml,{second}").entries) == 2


def test_what_comes_with_the_suite_is_of_the_findings():
    rows = set(re.findall(r"^\| ([A-Z]+-\d+) \|", (ROOT / "docs" / "findings.md").read_text("utf-8"), re.MULTILINE))
    for name in expectation.names():
        (file,) = load(name).files
        assert file.backend == name
        assert {entry.finding for entry in file.entries} <= rows
        Expectations([file]).check_operators()


# Which tests an entry claims


def of_operators(case):
    return f"{OPERATOR_TEST}{case}]"


@pytest.mark.parametrize(
    ("glob", "test", "claimed"),
    [
        ("Sub-14.f32.*", of_operators(SUB), True),
        ("Sub-14.f16.*", of_operators(SUB), False),
        ("sub-14.f32.*", of_operators(SUB), False),
        ("Sub-1?.f32.*in:normal", of_operators(SUB), True),
        ("Sub-14", of_operators(SUB), False),
        ("Sub-14xf32*", of_operators(SUB), False),
        ("*", of_operators(SUB), True),
        ("*", GRAPH, False),
        (GRAPH, GRAPH, True),
        ("suites/test_graphs.py::*[Graph-21.f32.conv-*]", GRAPH, True),
        ("suites/test_graphs.py::*[[]Graph-21.f32.conv-*]", GRAPH, False),
        ("suites/*::*", of_operators(SUB), True),
        (of_operators("Sub-*"), of_operators(SUB), True),
        ("suites/test_device.py::test_x", "suites/test_device.py::test_x", True),
    ],
)
def test_globs(glob, test, claimed):
    found = Expectations([read("x.toml", text({"cases": [glob]}).encode())])
    assert (found.of(test) is not None) == claimed


def test_a_file_without_entries_claims_nothing():
    assert Expectations([read("x.toml", b"backend = 'sim'\nexpect = []\n")]).of(of_operators(SUB)) is None


def checked(*given):
    return Expectations([read("x.toml", text(*given).encode())])


def test_a_glob_that_claims_nothing_is_an_error():
    checked({}, {"cases": ["Add-14.f32.*", GRAPH]}).check_operators()
    for globs in (["Nothing-1.*"], [SUB, "Nothing-1.*", "Nothing-2.*"], [of_operators("Nothing-1.*")]):
        with pytest.raises(pytest.UsageError, match=r"entry 2 \(SIM-1\): '.*Nothing-1\.\*\]?' claims no test"):
            checked({"cases": [ADD]}, {"cases": globs}).check_operators()
    found = checked({"cases": [SUB, GRAPH]})
    found.check_operators()
    found.check_all([of_operators(SUB), GRAPH])
    found = checked({"cases": [SUB, GRAPH]})
    found.check_operators()
    with pytest.raises(pytest.UsageError, match="claims no test"):
        found.check_all([of_operators(SUB)])


def test_two_entries_must_not_disagree():
    checked({}, {"cases": ["Sub-14.f32.*"], "finding": "SIM-2"}).check_operators()
    with pytest.raises(pytest.UsageError) as caught:
        checked({}, {"cases": ["Sub-14.f32.*"], "verdict": "crash", "finding": "SIM-2"}).check_operators()
    assert all(word in str(caught.value) for word in ("entry 1 (SIM-1)", "entry 2 (SIM-2)", SUB, "different"))


@pytest.mark.parametrize(
    ("head", "words"),
    [
        ({"backend": "qnn"}, ["backend 'qnn'", "'sim'"]),
        ({"device": "HTP*"}, ["device 'HTP*'", "'generic'"]),
        ({"runtime": "sim on onnxruntime 1.31*"}, ["runtime", "1.31*", "1.32.0"]),
        ({"backend": "sim", "device": "gen*", "runtime": "*1.32*"}, []),
    ],
)
def test_files_about_another_device_are_refused(head, words):
    info = DeviceInfo("sim", "generic", "simulated", runtime="sim on onnxruntime 1.32.0")
    found = Expectations([read("x.toml", text({}, **head).encode())])
    if not words:
        found.check_device(info)
        return
    with pytest.raises(pytest.UsageError) as caught:
        found.check_device(info)
    assert all(word in str(caught.value) for word in ("x.toml", *words))


def test_dates():
    today = datetime.date.today()
    assert not entries({"expires": today})[0].expired
    assert entries({"expires": today - datetime.timedelta(days=1)})[0].expired
    with pytest.raises(pytest.UsageError, match=r"entry 2 \(SIM-1\) expired on 2020-01-01 \(and 1 more\)"):
        checked({}, *[{"expires": datetime.date(2020, 1, 1)}] * 2).check_dates()


# What becomes of a record


def record(verdict, *notes, reason="why"):
    return Record(SUB, of_operators(SUB), "OPS-001", verdict, reason=reason, notes=list(notes))


def test_outcomes():
    assert {verdict for verdict in Verdict if OUTCOME[verdict].exit_code} == EXPECTABLE
    for verdict in Verdict:
        met, stale = outcome(verdict, expectation="met"), outcome(verdict, expectation="stale")
        assert (met.pytest == "xfailed" and met.exit_code == 0) == (verdict in EXPECTABLE)
        assert (stale.pytest == "failed") == (OUTCOME[verdict].pytest in ("passed", "failed"))
    assert outcome(Verdict.UNSUPPORTED, mandatory=True, expectation="met").pytest == "failed"


def test_records():
    (entry,) = entries({})
    met = entry.applied(record(Verdict.MISMATCH, "a note"))
    assert met.notes == ["a note", "expected: SIM-1 https://example.org/1"]
    assert (met.outcome, met.verdict, met.reason) == ("xfailed", Verdict.MISMATCH, "why")
    assert Record.from_line(met.to_line()).outcome == "xfailed"
    stale = entry.applied(record(Verdict.PASS, reason="right"))
    assert stale.notes == ["expected to fail: SIM-1 https://example.org/1"]
    assert (stale.outcome, stale.verdict) == ("failed", Verdict.PASS)
    assert stale.reason == "expected mismatch (SIM-1), but it passes: remove the entry or narrow it"
    other = entry.applied(record(Verdict.CRASH))
    assert (other.outcome, other.notes, other.reason) == ("failed", [], "why; expected mismatch (SIM-1)")
    for verdict in (Verdict.UNSUPPORTED, Verdict.INCONCLUSIVE, Verdict.NOT_RUN):
        assert entry.applied(record(verdict)) == record(verdict)
    must = record(Verdict.UNSUPPORTED, MANDATORY)
    assert entry.applied(must) == must
    (chance,) = entries({"sometimes": True, "finding": None})
    assert chance.applied(record(Verdict.PASS)).outcome == "passed"
    assert chance.applied(record(Verdict.MISMATCH)).notes == [f"{EXPECTED}operands are swapped https://example.org/1"]


def test_the_summary_counts_them_apart():
    (entry,) = entries({})
    others = dataclasses.replace(entry, finding="SIM-2")
    wrong, right = record(Verdict.MISMATCH), record(Verdict.PASS)
    records = [entry.applied(wrong), entry.applied(wrong), others.applied(wrong), entry.applied(right), right]
    named = [{"name": "x.toml", "sha256": "0", "entries": 3, "expired": ["SIM-1"]}]
    options = {"expectations": named, "profile": {"core 1.0": 1}}
    head = {"selection": {"options": options}, "backend": "sim", "device": {}, "suite": {}, "command": ["pytest", "suites"]}
    said = summary.summarise(head, records, summary.Layout(width=200))
    assert "Expected failures: 3 in 2 findings: SIM-1 2, SIM-2 1\n" in said
    assert "Expectations: x.toml: expired: SIM-1; look" in said
    assert "1/5 !1 =3" in said
    assert "passed/total, !failed, ~skipped, =failed as expected" in said
    assert "Failures: 1 in 1 group" in said
    assert "run in part" not in said
    marked = [dataclasses.replace(r, notes=[*r.notes, MANDATORY, "profile core"]) for r in records[:1]]
    assert "0 of 1 must-pass cases passed (1 failed as expected)" in summary.summarise(head, marked, summary.Layout(200))


# Runs


@pytest.mark.parametrize("options", [(), ("-n", "2"), ("-v",)])
def test_an_expected_failure_does_not_fail_the_run(tmp_path, options):
    path = written(tmp_path / "größe 測試.toml", {}, {"cases": [ADD], "sometimes": True, "finding": "SIM-2"})
    done = run(path, *SWAPPED, "--case", SUB, "--case", ADD, *options, results=tmp_path / "runs")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "1 passed, 1 xfailed" in done.stdout
    assert "Expected failures: 1 in 1 finding: SIM-1 1" in done.stdout
    assert "Failures:" not in done.stdout
    read = only_journal(tmp_path / "runs")
    by_id = read.by_id
    assert (by_id[SUB].verdict, by_id[SUB].outcome) == (Verdict.MISMATCH, "xfailed")
    assert by_id[SUB].notes[-1] == "expected: SIM-1 https://example.org/1"
    assert (by_id[ADD].verdict, by_id[ADD].notes) == (Verdict.PASS, [])
    (file,) = read.header["selection"]["options"]["expectations"]
    assert (file["entries"], file["expired"]) == (2, [])
    assert file["sha256"] == hashlib.sha256(path.read_bytes()).hexdigest()


def test_junit_has_it_as_skipped(tmp_path):
    path = written(tmp_path / "x.toml", {}, {"cases": [ADD], "finding": "SIM-2"})
    xml = tmp_path / "junit.xml"
    done = run(path, *SWAPPED, "--case", SUB, "--case", ADD, f"--junit-xml={xml}", results=tmp_path / "runs")
    assert done.returncode == 1
    content = xml.read_text(encoding="utf-8")
    assert 'failures="1" skipped="1"' in content
    assert '<skipped type="pytest.xfail" message="expected: SIM-1 https://example.org/1"' in content
    assert "expected mismatch (SIM-2), but it passes" in content
    assert 'name="verdict" value="mismatch"' in content


@pytest.mark.parametrize("options", [(), ("-n", "2")])
def test_what_passes_or_fails_otherwise_fails_the_run(tmp_path, options):
    path = written(tmp_path / "x.toml", {"verdict": "crash"}, {"cases": [ADD], "finding": "SIM-2"})
    done = run(path, *SWAPPED, "--case", SUB, "--case", ADD, *options, results=tmp_path / "runs")
    assert done.returncode == 1, done.stdout + done.stderr
    assert "2 failed" in done.stdout
    assert "Failures: 2 in 2 groups" in done.stdout
    by_id = only_journal(tmp_path / "runs").by_id
    assert by_id[SUB].verdict is Verdict.MISMATCH
    assert by_id[SUB].reason.endswith("; expected crash (SIM-1)")
    assert by_id[ADD].verdict is Verdict.PASS
    assert by_id[ADD].notes == [f"{STALE}SIM-2 https://example.org/1"]
    assert "expected mismatch (SIM-2), but it passes: remove the entry" in done.stdout


def test_without_the_option_nothing_is_expected(tmp_path):
    done = run(None, *SWAPPED, "--case", SUB, results=tmp_path)
    assert done.returncode == 1
    assert "expectations" not in only_journal(tmp_path).header["selection"]["options"]


def test_entries_past_their_date_hold_but_under_strict(tmp_path):
    path = written(tmp_path / "x.toml", {"expires": datetime.date(2020, 1, 1)})
    strict = run(path, *SWAPPED, "--case", SUB, "--strict", results=tmp_path / "strict")
    assert all(word in error(strict) for word in ("entry 1 (SIM-1)", "2020-01-01", "--strict"))
    done = run(path, *SWAPPED, "--case", SUB, results=tmp_path / "runs")
    assert done.returncode == 0, done.stdout
    assert "expired: SIM-1" in done.stdout
    assert only_journal(tmp_path / "runs").header["selection"]["options"]["expectations"][0]["expired"] == ["SIM-1"]


@pytest.mark.parametrize("options", [(), ("-n", "2")])
def test_a_file_about_another_backend_ends_the_run(tmp_path, options):
    path = written(tmp_path / "x.toml", {}, backend="qnn")
    line = error(run(path, "--case", SUB, *options, results=tmp_path / "runs"))
    assert "x.toml is about backend 'qnn', this one is 'sim'" in line
    assert not list(tmp_path.glob("runs/*.jsonl"))


def test_an_option_without_a_value_is_refused(tmp_path):
    assert "--expectations: no value" in error(run("", "--case", SUB, results=tmp_path))


def test_a_resumed_run_takes_the_same_file_and_no_other(tmp_path):
    path = written(tmp_path / "x.toml", {}, {"cases": [ADD], "finding": "SIM-2", "sometimes": True})
    given = (*SWAPPED, "--case", SUB, "--case", ADD)
    assert run(path, *given, results=tmp_path / "runs").returncode == 0
    before = only_journal(tmp_path / "runs")
    resume = ("--resume", str(before.path))
    done = run(None, *given, *resume, results=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "1 passed, 1 xfailed" in done.stdout
    after = only_journal(tmp_path / "runs")
    assert len(after.records) == 2
    assert after.resumed[0]["selection"]["options"]["expectations"] == before.header["selection"]["options"]["expectations"]
    moved = path.rename(tmp_path / "moved.toml")
    assert "no such file" in error(run(None, *given, *resume, results=tmp_path))
    assert run(moved, *given, *resume, "-n", "2", results=tmp_path).returncode == 0
    moved.write_text(text({}), encoding="utf-8")
    assert "with expectations" in error(run(moved, *given, *resume, results=tmp_path))
    assert after.path.read_bytes().count(b'"completed"') == 2


def test_a_crash_that_is_expected_is_not_repeated(tmp_path):
    case = next(case for case in operators.ALL if re.match(r"Relu-14\.\w+\.x:\d+(x\d+){4}\.in:", case))
    path = written(tmp_path / "x.toml", {"cases": [case], "verdict": "crash"})
    done = run(path, "--fault", "relu-rank-5-crashes", "--case", case, results=tmp_path / "runs")
    assert done.returncode == 0, done.stdout + done.stderr
    (found,) = only_journal(tmp_path / "runs").records
    assert (found.verdict, found.outcome, found.rerun) == (Verdict.CRASH, "xfailed", None)


def test_a_timeout_that_is_expected_is_short_and_not_repeated(tmp_path):
    case = next(case for case in operators.ALL if case.startswith("Gemm-13.f32.") and ".alpha:0." in case)
    path = written(tmp_path / "x.toml", {"cases": [case], "verdict": "timeout"})
    done = run(path, "--fault", "gemm-hangs", "--case", case, "--timeout-scale", "0.1", results=tmp_path / "runs")
    assert done.returncode == 0, done.stdout + done.stderr
    (found,) = only_journal(tmp_path / "runs").records
    assert (found.verdict, found.outcome, found.rerun) == (Verdict.TIMEOUT, "xfailed", None)
    assert found.exit.startswith("deadline 1 s")


def test_globs_of_other_suites_are_checked_where_everything_is_collected(tmp_path):
    path = written(tmp_path / "x.toml", {"cases": [SUB, "suites/test_graphs.py::*", "suites/test_nothing.py::*"]})
    command = [sys.executable, "-m", "pytest", "suites", "--collect-only", "-q", "-p", "no:cacheprovider"]
    done = subprocess.run([*command, f"--expectations={path}"], cwd=ROOT, capture_output=True, encoding="utf-8", check=False)
    assert "'suites/test_nothing.py::*' claims no test" in error(done)
    done = subprocess.run(
        [*command, f"--expectations={path}", "--ops=Sub"], cwd=ROOT, capture_output=True, encoding="utf-8", check=False
    )
    assert done.returncode == 0, done.stdout[-2000:]


@pytest.mark.parametrize(
    ("arguments", "options", "everything"),
    [
        (["suites"], {}, True),
        (["."], {}, True),
        (["suites", "tests"], {"budget": 3.0}, True),
        (["suites"], {"quick": True}, False),
        (["suites"], {"keyword": "x"}, False),
        (["suites"], {"ignore": ["suites/test_cache.py"]}, False),
        (["suites/test_graphs.py"], {}, False),
        (["suites::x"], {}, False),
        (["tests"], {}, False),
    ],
)
def test_what_collects_everything(arguments, options, everything):
    config = SimpleNamespace(args=arguments, option=SimpleNamespace(**options), invocation_params=SimpleNamespace(dir=ROOT))
    assert recording.has_everything(config) is everything


def test_the_package_takes_a_path_below_suites_as_a_file(monkeypatch):
    seen = []
    monkeypatch.setattr(cli.pytest, "main", lambda words: seen.extend(words) or 0)
    cli.run(["--expectations", "suites/expectations/x.toml", "suites/test_graphs.py"])
    assert "suites/expectations/x.toml" in seen
    assert str(ROOT / "suites/test_graphs.py") in seen
