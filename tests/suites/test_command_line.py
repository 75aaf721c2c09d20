"""What a user types and sees: selection, exit codes, one-line errors, interruption, resumption."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from results import journal
from results.verdict import Verdict

ROOT = Path(__file__).resolve().parents[2]
ADD = "Add-14.f32.a:2x3x5x7.b:3x1x7.in:normal"
FEW = ("--ops", "Add,Softmax")
MISBEHAVING = f"{ROOT}/tests/suites/misbehaving.py:Misbehaving"


def executed(command, cwd=ROOT, env=None):
    """A command in a process of its own: its output and exit code."""
    return subprocess.run(
        command, cwd=cwd, env={**os.environ, **(env or {})}, capture_output=True, text=True, timeout=300, check=False
    )


def run(*arguments, results, backend="sim", suite="suites"):
    """`pytest suites`, or one suite of them, executed."""
    command = [sys.executable, "-m", "pytest", suite, f"--backend={backend}", "-p", "no:cacheprovider", "-q"]
    return executed([*command, f"--results={results}", *arguments])


def only_journal(folder):
    """The journal that the run left, which must be valid."""
    (path,) = Path(folder).glob("*.jsonl")
    assert list(journal.validate(path)) == []
    return journal.read(path)


def errors(done):
    """The lines that pytest marks as errors."""
    return [line for line in (done.stderr + done.stdout).splitlines() if line.startswith("ERROR: ")]


def test_a_run_leaves_a_complete_journal_and_a_summary(tmp_path):
    done = run(*FEW, results=tmp_path)
    assert done.returncode == 0, done.stdout
    read = only_journal(tmp_path)
    assert read.complete
    assert len(read.records) > 20
    assert {r.verdict for r in read.records} <= {Verdict.PASS, Verdict.IMPLEMENTATION_DEFINED, Verdict.UNSUPPORTED}
    assert {r.requirement for r in read.records} > {"OPS-001", "LAYOUT-006"}
    assert {r.operator for r in read.records} == {"Add", "Softmax"}
    assert "SIMULATED" in done.stdout
    assert "elementwise" in done.stdout
    assert read.header["device"]["kind"] == "simulated"


def test_one_case_by_its_id(tmp_path):
    done = run("--case", ADD, results=tmp_path)
    assert done.returncode == 0, done.stdout
    assert [r.id for r in only_journal(tmp_path).records] == [ADD]


def test_a_valid_id_that_no_table_holds_runs_all_the_same(tmp_path):
    done = run("--case", "Add-14.f32.a:2x13.b:13.in:uniform", results=tmp_path)
    assert done.returncode == 0, done.stdout
    assert len(only_journal(tmp_path).records) == 1


def test_fragments_of_ids_select(tmp_path):
    done = run("-k", "Softmax-13.f32.input:3x5x7", results=tmp_path)
    assert done.returncode == 0, done.stdout
    ids = [r.id for r in only_journal(tmp_path).records]
    assert ids
    assert all("Softmax-13.f32.input:3x5x7" in i for i in ids)


@pytest.mark.parametrize("name", ["i8", "int8"])
def test_types_select_by_short_and_long_name(tmp_path, name):
    done = run("--ops", "Add,Sub", "--dtype", name, results=tmp_path)
    assert done.returncode == 0, done.stdout
    assert {r.dtype for r in only_journal(tmp_path).records} == {"int8"}


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--backend=simm"], ["simm", "sim"]),
        (["--backend=nowhere.py:Thing"], ["nowhere.py"]),
        (["--device=quantum"], ["quantum", "generic"]),
        (["--backend-option", "colour=red"], ["colour"]),
        (["--case", "Addd-14.f32.a:2.b:2.in:normal"], ["Addd", "Add"]),
        (["--case", "Add-14.f32.a:2.b:2.in:norml"], ["norml", "normal"]),
        (["--case", "\N{SNOWMAN}"], ["case id"]),
        (["--case", ""], ["case id"]),
        (["--ops", "Con"], ["Con", "Conv"]),
        (["--dtype", "f23"], ["f23"]),
        (["--family", "elementwize"], ["elementwise"]),
        (["--resume", "nothing.jsonl"], ["nothing.jsonl"]),
        (["--case", ADD, "--ops", "Add"], ["--case", "--ops"]),
        (["--ops", ""], ["--ops"]),
        (["--dtype", ","], ["--dtype"]),
        (["--ops", "Add", "--family", "convolution"], ["--ops", "--family"]),
        (["--case", "Add-14.f32.a:3x5.b:4.in:normal"], ["Add-14.f32.a:3x5.b:4"]),
        (["--case", "Conv-22.f32.x:1x4x8x9.w:5x4x3x3.group:7.in:normal"], ["group:7"]),
        (["--resume="], ["--resume"]),
        (["--resume", "a" * 100_000], ["--resume", "too long"]),
        (["--case", "GatherND-13.i16.data:3x5x7.indices:3x2x1.batch_dims:-2.in:index"], ["batch_dims"]),
        (["--device-host="], ["--device-host"]),
        (["--backend=" + "a" * 5000 + ".py:B"], ["path"]),
        (["--device-host=popen//python=/does/not/exist"], ["/does/not/exist"]),
    ],
)
def test_bad_input_is_a_usage_error_in_one_line(tmp_path, arguments, words):
    done = run(*arguments, results=tmp_path)
    assert done.returncode == 4, done.stdout + done.stderr
    (line,) = errors(done)
    assert all(word in line for word in words), line
    assert "Traceback" not in done.stdout + done.stderr
    assert not list(tmp_path.glob("*.jsonl"))


@pytest.mark.parametrize("arguments", [["--budget", "soon"], ["--backend-option", "red"], ["--timeout-scale", "-1"]])
def test_malformed_options_are_usage_errors(tmp_path, arguments):
    done = run(*arguments, results=tmp_path)
    assert done.returncode == 4
    assert arguments[0] in done.stderr


def test_a_results_path_that_is_a_file_is_named(tmp_path):
    file = tmp_path / "taken"
    file.write_text("")
    done = run(*FEW, results=file)
    assert done.returncode == 4
    (line,) = errors(done)
    assert "taken" in line


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root writes everywhere")
def test_a_read_only_results_folder_is_named(tmp_path):
    tmp_path.chmod(0o500)
    done = run(*FEW, results=tmp_path)
    assert done.returncode == 4
    assert "Permission denied" in errors(done)[0]


def test_a_journal_of_a_newer_schema_is_refused(tmp_path):
    run("--case", ADD, results=tmp_path)
    (path,) = tmp_path.glob("*.jsonl")
    changed(path, lambda head: head.update(schema=head["schema"] + 1))
    done = run("--case", ADD, "--resume", str(path), results=tmp_path)
    assert done.returncode == 4
    assert "schema" in errors(done)[0]
    assert "upgrade" in errors(done)[0]


def changed(path, change):
    """The journal with its header changed in place."""
    lines = path.read_text(encoding="utf-8").splitlines()
    head = json.loads(lines[0])
    change(head)
    path.write_text("\n".join([json.dumps(head), *lines[1:]]) + "\n", encoding="utf-8")


def test_a_resumed_run_takes_over_the_selection_and_runs_nothing_twice(tmp_path):
    run("--ops", "Softmax", results=tmp_path)
    (path,) = tmp_path.glob("*.jsonl")
    before = len(journal.read(path).records)
    done = run("--resume", str(path), results=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    read = only_journal(tmp_path)
    assert len(read.records) == before
    assert len(read.resumed) == 1


def test_a_run_started_otherwise_is_resumed_by_the_command_of_the_package(tmp_path):
    run("--ops", "Softmax", results=tmp_path)
    (path,) = tmp_path.glob("*.jsonl")
    before = len(journal.read(path).records)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    command = [sys.executable, "-m", "suites.cli", "run", "--backend=sim", f"--resume={path}"]
    done = executed(command, cwd=elsewhere, env={"PYTHONPATH": str(ROOT)})
    assert done.returncode == 0, done.stdout + done.stderr
    assert len(journal.read(path).records) == before


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda head: head["device"].update(runtime="sim on onnxruntime 1.0"), "runtime"),
        (lambda head: head["device"].update(name="other"), "device"),
        (lambda head: head["suite"].update(version="0.0.1"), "version"),
        (lambda head: head["selection"].update(options={"ops": "Conv"}), "selected"),
        (lambda head: head["selection"].update(options={"verbose": "q"}), "selection"),
        (lambda head: head["selection"].update(options={"ops": {}}), "selection"),
        (lambda head: head["selection"].update(collected=7), "7 tests"),
    ],
)
def test_a_resumed_run_must_be_the_same_run(tmp_path, change, words):
    run("--ops", "Softmax", results=tmp_path)
    (path,) = tmp_path.glob("*.jsonl")
    changed(path, change)
    done = run("--ops", "Softmax", "--resume", str(path), results=tmp_path)
    assert done.returncode == 4, done.stdout
    assert words in errors(done)[0]


def test_the_rerun_line_names_the_command_that_was_used(tmp_path):
    entry = "import sys; sys.argv[0] = 'npu-cts'; from suites.cli import main; sys.exit(main())"
    words = ["run", "--backend=tests/suites/misbehaving.py:Misbehaving", "--backend-option", "how=wrong"]
    case = ["--case", "Softmax-13.f32.input:3x5x7.in:normal", f"--results={tmp_path}"]
    done = executed([sys.executable, "-c", entry, *words, *case], env={"PYTHONPATH": str(ROOT)})
    assert done.returncode == 1, done.stdout + done.stderr
    assert "npu-cts run --backend=tests/suites/misbehaving.py:Misbehaving --backend-option=how=wrong --case" in done.stdout


def test_listing_backends_says_what_each_needs(tmp_path):
    done = run("--list-backends", results=tmp_path)
    assert done.returncode == 0
    for name in ("sim", "onnxruntime", "openvino", "qnn"):
        assert name in done.stdout


@pytest.mark.skipif(os.name == "nt", reason="sends SIGINT to one process")
@pytest.mark.parametrize("processes", ["0", "2"])
def test_control_c_leaves_a_valid_interrupted_journal(tmp_path, processes):
    process = subprocess.Popen(
        [
            sys.executable,
            "-m",
            "pytest",
            "suites",
            "--backend=sim",
            "--ops=Gemm,MatMul,Transpose",
            "-n",
            processes,
            "-q",
            "-p",
            "no:cacheprovider",
            f"--results={tmp_path}",
        ],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        found = list(tmp_path.glob("*.jsonl"))
        if found and found[0].read_bytes().count(b"\n") > 50:
            break
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)
    assert process.returncode == 2
    read = only_journal(tmp_path)
    assert read.footer is not None
    assert read.footer["reason"] == "interrupted"
    whole = len(read.records)
    done = run("--resume", str(read.path), results=tmp_path)
    assert done.returncode == 0, done.stdout[-2000:]
    after = only_journal(tmp_path)
    assert after.complete
    assert len(after.by_test) > whole
    assert len(after.records) == len(after.by_test), "a case ran twice"


def test_a_budget_runs_a_deterministic_informative_prefix(tmp_path):
    done = run("--ops", "Add,Conv,Softmax", "--budget", "0.4s", results=tmp_path / "a")
    assert done.returncode in (0, 1), done.stdout
    read = only_journal(tmp_path / "a")
    assert read.footer["reason"] in ("budget", "finished")
    ran = [r for r in read.records if r.verdict is not Verdict.NOT_RUN]
    left = [r for r in read.records if r.verdict is Verdict.NOT_RUN]
    assert {r.operator for r in ran[:3]} == {"Add", "Conv", "Softmax"}
    assert all(r.reason == "budget spent" for r in left)
    again = run("--ops", "Add,Conv,Softmax", "--budget", "1h", results=tmp_path / "b")
    assert again.returncode == 0
    assert [r.id for r in only_journal(tmp_path / "b").records[: len(ran)]] == [r.id for r in ran]


def test_stopping_at_the_first_failure_is_no_finished_run(tmp_path):
    done = run(*FEW, "-x", "--backend-option", "how=wrong", results=tmp_path, backend=MISBEHAVING)
    assert done.returncode == 1
    assert only_journal(tmp_path).footer["reason"] == "interrupted"


def test_two_runs_cannot_write_one_journal(tmp_path):
    run("--case", ADD, results=tmp_path)
    (path,) = tmp_path.glob("*.jsonl")
    writer = journal.JournalWriter.resume(path)
    done = run("--resume", str(path), results=tmp_path)
    writer.close()
    assert done.returncode == 4
    assert "another run" in errors(done)[0]


def test_parallel_processes_repeat_nothing_of_a_resumed_run(tmp_path):
    options = ("--backend-option", "how=wrong")
    assert run(*FEW, *options, results=tmp_path, backend=MISBEHAVING).returncode == 1
    (path,) = tmp_path.glob("*.jsonl")
    before = journal.read(path)
    done = run("--resume", str(path), "-n", "2", *options, results=tmp_path, backend=MISBEHAVING)
    assert done.returncode == 1, done.stdout
    after = only_journal(tmp_path)
    assert len(after.records) == len(before.records)
    assert after.footer["counts"] == before.footer["counts"]


def test_a_resumed_run_of_other_tests_is_refused(tmp_path):
    assert run(*FEW, "-x", "--backend-option", "how=wrong", results=tmp_path, backend=MISBEHAVING).returncode == 1
    (path,) = tmp_path.glob("*.jsonl")
    done = run(
        "suites/test_device.py", "--resume", str(path), "--backend-option", "how=wrong", results=tmp_path, backend=MISBEHAVING
    )
    assert done.returncode == 4
    assert only_journal(tmp_path).footer["reason"] == "interrupted"


@pytest.mark.skipif(os.name == "nt", reason="sends SIGINT to one process")
def test_two_interrupts_are_one(tmp_path):
    process = started(tmp_path)
    process.send_signal(signal.SIGINT)
    time.sleep(0.1)
    process.send_signal(signal.SIGINT)
    assert process.wait(30) == 2
    assert only_journal(tmp_path).footer["reason"] == "interrupted"


def started(folder):
    """A run on the slow device of tests/suites, once 20 lines are written."""
    command = [sys.executable, "-m", "pytest", "suites", f"--backend={MISBEHAVING}", "--backend-option", "how=slow", "-q"]
    process = subprocess.Popen([*command, "-p", "no:cacheprovider", f"--results={folder}"], cwd=ROOT, stdout=subprocess.DEVNULL)
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and sum(p.read_bytes().count(b"\n") for p in folder.glob("*.jsonl")) < 20:
        time.sleep(0.05)
    return process


def test_a_spent_budget_is_said_by_parallel_processes_too(tmp_path):
    done = run("--ops", "Add,Conv,Softmax", "--budget", "0.05s", "-n", "2", results=tmp_path)
    assert done.returncode == 0, done.stdout
    assert only_journal(tmp_path).footer["reason"] == "budget"


@pytest.mark.skipif(os.name == "nt", reason="SIGTERM, SIGHUP")
@pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP"])
def test_termination_is_an_interruption(tmp_path, name):
    process = started(tmp_path)
    process.send_signal(getattr(signal, name))
    assert process.wait(30) == 2
    assert only_journal(tmp_path).footer["reason"] == "interrupted"


def test_parallel_processes_share_one_journal(tmp_path):
    done = run(*FEW, "-n", "2", results=tmp_path / "two")
    assert done.returncode == 0, done.stdout + done.stderr
    alone = run(*FEW, results=tmp_path / "one")
    assert alone.returncode == 0
    two, one = only_journal(tmp_path / "two"), only_journal(tmp_path / "one")
    assert {r.test: r.verdict for r in two.records} == {r.test: r.verdict for r in one.records}
    assert two.complete


def test_junit_names_the_verdict(tmp_path):
    done = run("--case", ADD, f"--junit-xml={tmp_path / 'junit.xml'}", results=tmp_path)
    assert done.returncode == 0
    assert 'name="verdict" value="pass"' in (tmp_path / "junit.xml").read_text()
