"""A stack that crashes, hangs, lies or drifts costs its own cases only, and each gets the verdict that fits."""

from __future__ import annotations

import collections
import functools

import pytest

from results.verdict import Verdict
from tests.suites.test_command_line import ROOT, only_journal
from tests.suites.test_command_line import run as run_suite

run = functools.partial(run_suite, suite="suites/test_operators.py")

SOFTMAX = ("Softmax-13.f32.input:3x5x7.axis:1.in:normal", "Softmax-13.f32.input:3x5x7.in:normal")
AROUND = ("Add-14.f32.a:scalar.b:3x5.in:normal", "Add-14.f32.a:5x1.b:1x7.in:normal", "Add-14.f32.a:3x5.b:1.in:normal")
ORDER = (AROUND[0], SOFTMAX[0], AROUND[1], SOFTMAX[1], AROUND[2])


def verdicts(tmp_path, how, *arguments):
    """Runs five cases, two of them Softmax, and gives the records by operator."""
    chosen = [word for case in ORDER for word in ("--case", case)]
    done = run(
        *("--backend-option", f"how={how}"),
        *chosen,
        *arguments,
        results=tmp_path,
        backend=f"{ROOT}/tests/suites/misbehaving.py:Misbehaving",
    )
    read = only_journal(tmp_path)
    assert [r.id for r in read.records] == list(ORDER), done.stdout + done.stderr
    by_operator = collections.defaultdict(list)
    for record in read.records:
        by_operator[record.operator].append(record)
    return done, read, by_operator


@pytest.mark.parametrize(
    ("how", "verdict", "words"),
    [
        ("abort", Verdict.CRASH, "SIGABRT"),
        ("segfault", Verdict.CRASH, "SIGSEGV"),
        ("exit", Verdict.CRASH, "exit code 3"),
        ("sleep", Verdict.TIMEOUT, "deadline"),
        ("spin", Verdict.TIMEOUT, "deadline"),
        ("rubbish", Verdict.HARNESS_ERROR, "list"),
        ("raise", Verdict.HARNESS_ERROR, "KeyError"),
        ("half_an_error", Verdict.HARNESS_ERROR, "phase"),
        ("wrong", Verdict.MISMATCH, "elements wrong"),
        ("compile_error", Verdict.COMPILE_ERROR, "finalisation"),
        ("accepted", Verdict.OVERCLAIM, "finalisation"),
        ("overclaim", Verdict.OVERCLAIM, "no Softmax"),
        ("memory", Verdict.RUN_ERROR, "memory"),
        ("lost", Verdict.RUN_ERROR, "bus"),
    ],
)
@pytest.mark.skipif("os.name == 'nt'", reason="names of signals")
def test_each_misdeed_has_its_verdict_and_touches_no_other_case(tmp_path, how, verdict, words):
    scale = ("--timeout-scale", "0.05") if verdict is Verdict.TIMEOUT else ()
    done, read, records = verdicts(tmp_path, how, *scale)
    assert done.returncode == 1, done.stdout
    assert read.complete
    assert [r.verdict for r in records["Softmax"]] == [verdict] * 2
    assert all(words in r.reason or words in r.exit or words in r.vendor.text for r in records["Softmax"])
    assert [r.verdict for r in records["Add"]] == [Verdict.PASS] * 3


def test_a_declined_operator_is_skipped_not_passed(tmp_path):
    done, _, records = verdicts(tmp_path, "unsupported")
    assert done.returncode == 0
    assert "2 skipped" in done.stdout
    assert [r.verdict for r in records["Softmax"]] == [Verdict.UNSUPPORTED] * 2
    assert records["Softmax"][0].vendor.code == "E_DECLINED"


def test_crashes_are_repeated_in_a_fresh_process(tmp_path):
    _, _, records = verdicts(tmp_path, "abort")
    assert all(r.rerun is not None and r.rerun.verdict is Verdict.CRASH for r in records["Softmax"])


def test_a_failure_that_needs_an_earlier_case_is_order_dependent(tmp_path):
    done, _, records = verdicts(tmp_path, "late")
    assert done.returncode == 1
    assert [r.verdict for r in records["Softmax"]] == [Verdict.PASS, Verdict.ORDER_DEPENDENT]
    assert "fresh" in records["Softmax"][1].reason


def test_a_precision_that_sticks_is_no_fault_of_later_cases(tmp_path):
    _, _, records = verdicts(tmp_path, "sticky")
    first, second, third = records["Add"]
    assert [r.verdict for r in (first, second, third)] == [
        Verdict.PASS,
        Verdict.ORDER_DEPENDENT,
        Verdict.ORDER_DEPENDENT,
    ]


def test_a_silent_downcast_is_inferred_and_passes_only_as_reduced(tmp_path):
    _, read, records = verdicts(tmp_path, "downcast")
    assert read.header["fingerprint"]["mul_1p2m12"] == 1.0
    assert {r.verdict for r in records["Add"]} == {Verdict.PASS_REDUCED}


def test_binary_noise_on_standard_output_belongs_to_the_case(tmp_path):
    done, _, records = verdicts(tmp_path, "noise")
    assert done.returncode == 0
    assert {r.verdict for r in records["Softmax"]} == {Verdict.PASS}
    assert records["Softmax"][0].vendor.text
    assert not records["Add"][1].vendor.text


def test_the_case_that_bricks_the_device_keeps_its_verdict(tmp_path):
    done, read, records = verdicts(tmp_path / "runs", "brick", "--backend-option", f"switch={tmp_path / 'switch'}")
    assert done.returncode == 1
    assert records["Softmax"][0].verdict is Verdict.CRASH
    assert [r.verdict for r in records["Add"]] == [Verdict.PASS, Verdict.NOT_RUN, Verdict.NOT_RUN]
    assert "device lost" in records["Add"][1].reason
    assert read.footer["reason"] == "device_lost"


def test_an_adapter_error_that_an_earlier_case_caused_is_order_dependent(tmp_path):
    _, _, records = verdicts(tmp_path, "damage")
    assert [r.verdict for r in records["Add"]] == [Verdict.PASS, Verdict.ORDER_DEPENDENT, Verdict.ORDER_DEPENDENT]
