"""The tables of public bugs, and what counts as caught: on journals made up here, without a network or a runtime."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from benchmarks import bug_runs, bug_table, environments, known_bugs
from benchmarks.bug_findings import compare
from benchmarks.bug_table import Bug, TableError
from benchmarks.known_bugs import Row
from results.record import Record, Vendor
from results.verdict import Verdict
from suites.cases import operators

ROOT = Path(__file__).resolve().parents[2]

ROW = """
[[bug]]
id = "A1"
title = "wrong"
url = ["https://example.org/1"]
backend = "onnxruntime"
wrong = ["onnxruntime==1.0"]
operators = ["Max"]
diagnosis = "rounds"
"""


def bug(**changed: object) -> Bug:
    fields: dict[str, object] = {
        "id": "A1",
        "title": "wrong",
        "url": ("https://example.org/1",),
        "backend": "onnxruntime",
        "wrong": ("runtime==1.0",),
        "diagnosis": "rounds",
    }
    return Bug(**{**fields, **changed})  # type: ignore[arg-type]


def journal(**verdicts: Verdict) -> dict[str, Record]:
    """Test → record; what does not pass says that it rounds."""
    return {
        name: Record(name, name, "OPS-001", verdict, diagnosis=[] if verdict is Verdict.PASS else ["it rounds down"])
        for name, verdict in verdicts.items()
    }


def names(records: Sequence[Record]) -> list[str]:
    return [record.id for record in records]


PASS, WRONG = Verdict.PASS, Verdict.MISMATCH


def test_what_fails_only_where_the_bug_is_has_caught_it() -> None:
    wrong = journal(shown=WRONG, elsewhere=WRONG, right=PASS)
    found = compare(bug(right=("runtime==2.0",)), "runtime==1.0", wrong, [journal(shown=PASS, elsewhere=WRONG, right=PASS)])
    assert names(found.caught) == names(found.named) == ["shown"]
    assert names(found.still) == ["elsewhere"]
    assert (found.others, found.ran, found.good) == (1, 3, False)


def test_every_right_environment_must_pass() -> None:
    right = [journal(first=PASS, second=PASS), journal(first=PASS, second=Verdict.UNSUPPORTED)]
    found = compare(bug(right=("a", "b")), "runtime==1.0", journal(first=WRONG, second=WRONG), right)
    assert names(found.caught) == ["first"]
    assert not found.still
    assert found.good


def test_a_case_that_did_not_run_elsewhere_has_caught_nothing() -> None:
    assert not compare(bug(right=("a",)), "runtime==1.0", journal(shown=WRONG), [{}]).caught


def test_a_failure_of_other_words_is_caught_and_not_named() -> None:
    found = compare(bug(right=("a",), diagnosis="saturates"), "x", journal(shown=WRONG), [journal(shown=PASS)])
    assert names(found.caught) == ["shown"]
    assert not found.named
    assert not found.good
    assert known_bugs.Row(bug(), [found], [1]).state == "caught, not named"


def test_without_a_right_environment_only_the_words_count() -> None:
    assert names(compare(bug(), "x", journal(shown=WRONG), []).caught) == ["shown"]
    other = compare(bug(diagnosis="saturates"), "x", journal(shown=WRONG), [])
    assert not other.caught
    assert other.others == 1
    assert Row(bug(), [other]).state == "missed"


def test_verdicts_of_the_row_show_the_bug() -> None:
    declined = journal(shown=Verdict.UNSUPPORTED, mistaken=WRONG)
    row = bug(right=("a",), verdicts=("unsupported",))
    found = compare(row, "x", declined, [journal(shown=PASS, mistaken=PASS)])
    assert names(found.caught) == ["shown"]
    assert found.others == 1


def test_a_mistake_of_the_suite_is_no_catch() -> None:
    assert not compare(bug(right=("a",)), "x", journal(shown=Verdict.HARNESS_ERROR), [journal(shown=PASS)]).caught


def test_vendor_text_and_verdict_may_name_the_bug() -> None:
    record = Record("a", "a", "OPS-001", Verdict.RUN_ERROR, vendor=Vendor("1002: it is full", "E5"))
    for words in ("1002", "^E5$", "^run_error$"):
        assert compare(bug(diagnosis=f"(?m){words}"), "x", {"a": record}, []).named


def test_states() -> None:
    good = compare(bug(right=("a",)), "x", journal(shown=WRONG), [journal(shown=PASS)])
    assert Row(bug(), [good], [1]).state == "caught, clean"
    assert Row(bug(), [good]).state == "caught"
    assert Row(bug(), [good], [1], error="pip failed").state == "not run"
    still = compare(bug(right=("a",)), "x", journal(a=WRONG, b=WRONG), [journal(a=PASS, b=WRONG)])
    assert Row(bug(), [still], [1]).state == "caught, not clean"


def test_page_has_every_row() -> None:
    found = compare(bug(right=("a",)), "runtime==1.0", journal(shown=WRONG), [journal(shown=PASS)])
    page = known_bugs.markdown([Row(bug(right=("runtime==2.0",)), [found], [1], 3.0), Row(bug(id="A2"), error="pip: a | b")])
    assert "1 of 2 caught and named" in page
    assert "| A1 " in page
    assert "[example.org](https://example.org/1)" in page
    assert "`shown`" in page
    assert "it rounds down" in page
    assert "pip: a \\| b" in page


# Tables


@pytest.fixture(scope="module")
def own() -> list[Bug]:
    return bug_table.load_all([bug_table.OWN])


def test_own_table_selects_cases_and_tests_that_there_are(own: list[Bug]) -> None:
    assert len(own) >= 22
    for row in own:
        assert row.tests or sum(map(row.selects, operators.ALL)) > 1, row.id
        for node in row.tests:
            path, _, test = node.partition("::")
            assert f"def {test}(" in (ROOT / path).read_text(encoding="utf-8"), row.id


def test_own_page_has_every_bug(own: list[Bug]) -> None:
    page = (ROOT / "docs" / "known-bugs.md").read_text(encoding="utf-8")
    assert [row.id for row in own if f"| {row.id} " not in page] == []


IDS = ("Max-13.i64.in:wide", "Max-13.f32.in:wide", "Max-13.i64.in:normal", "Maximum-1.i64.in:wide")


def test_selection() -> None:
    assert list(filter(bug(operators=("Max",)).selects, IDS)) == list(IDS[:3])
    assert list(filter(bug(operators=("Max",), dtypes=("int64",)).selects, IDS)) == [IDS[0], IDS[2]]
    assert list(filter(bug(operators=("Max",), dtypes=("i64",), contains=("wide",)).selects, IDS)) == [IDS[0]]


def test_one_run_for_all_bugs_of_the_same_wheels() -> None:
    wide = bug(operators=("Max",), contains=("wide",), right=("runtime==2.0",))
    other = bug(id="A2", operators=("Maximum",), options={"a": "1"}, right=("runtime==2.0",), right_options={})
    tests = bug(id="A3", tests=("suites/test_stability.py",))
    planned = bug_runs.plan([wide, other, tests], IDS)
    assert [(place.packages, place.options, place.tests, cases) for place, cases in planned.items()] == [
        ("runtime==1.0", (), (bug_runs.OPERATORS,), [IDS[0], IDS[1]]),
        ("runtime==2.0", (), (bug_runs.OPERATORS,), [IDS[0], IDS[1], IDS[3]]),
        ("runtime==1.0", (("a", "1"),), (bug_runs.OPERATORS,), [IDS[3]]),
        ("runtime==1.0", (), ("suites/test_stability.py",), []),
    ]
    records = {name: Record(name, name, "OPS-001", PASS) for name in IDS}
    assert list(bug_runs.share(wide, records)) == [IDS[0], IDS[1]]
    assert list(bug_runs.share(tests, records)) == list(IDS)


def test_many_cases_are_spread() -> None:
    many = [str(n) for n in range(1000)]
    chosen = bug_runs.spread(many)
    assert len(chosen) == len(set(chosen)) == bug_runs.MOST
    assert (chosen[0], chosen[-1]) == ("0", "999")
    assert bug_runs.spread(many[:3]) == many[:3]


def test_a_place_that_did_not_run_is_no_catch() -> None:
    row = bug(right=("runtime==2.0",))
    wrong, right = (next(bug_runs.places(row, side)) for side in (False, True))
    ran: dict[bug_runs.Place, bug_runs.Run | str] = {wrong: bug_runs.Run(journal(shown=WRONG), 8.0), right: "pip failed"}
    assert known_bugs.examine(row, ran).state == "not run"
    assert known_bugs.examine(row, ran).error == "pip failed"


def test_time_of_a_row_is_its_share_of_the_runs() -> None:
    row = bug(right=("runtime==2.0",), operators=("Max",))
    first, second = (
        {name: Record(name, name, "OPS-001", verdict, diagnosis=["rounds"]) for name in IDS} for verdict in (WRONG, PASS)
    )
    wrong, right = (next(bug_runs.places(row, side)) for side in (False, True))
    found = known_bugs.examine(row, {wrong: bug_runs.Run(first, 8.0), right: bug_runs.Run(second, 4.0)})
    assert (found.state, found.seconds, list(found.passed)) == ("caught, clean", 9.0, [3])


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("bug = [", "not TOML"),
        ("", "'bug' is a required property"),
        (ROW.replace('id = "A1"', ""), "bug number 1: 'id' is a required property"),
        (ROW + "tier = 3", "bug A1: Additional properties are not allowed ('tier' was unexpected)"),
        (ROW.replace("https", "ftp"), "bug A1, field url.0: "),
        (ROW + 'verdicts = ["bad"]', "bug A1, field verdicts.0: 'bad' is not one of"),
        (ROW.replace("rounds", "(rounds"), "bug A1, field diagnosis: '(rounds' is not a 'regex'"),
        (ROW.replace('operators = ["Max"]', 'tests = ["tests/test_docs.py"]'), "bug A1, field tests.0: "),
        (ROW.replace('operators = ["Max"]', ""), "bug A1: it needs operators or tests, and not both"),
        (ROW + "options = { a = 1 }", "bug A1, field options.a: 1 is not of type 'string'"),
        (ROW + ROW, "bug A1 is there twice"),
    ],
)
def test_errors_of_tables_are_one_line(text: str, said: str, tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(TableError) as caught:
        bug_table.load_all([path])
    assert str(caught.value).startswith(f"{path}: ")
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


def test_only_names_bugs_of_all_tables(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(ROW, encoding="utf-8")
    assert [row.id for row in bug_table.load_all([bug_table.OWN, path], ["A1"])] == ["A1"]
    with pytest.raises(TableError, match="--only: there is no bug B7; there are K1, "):
        bug_table.load_all([bug_table.OWN, path], ["B7"])
    with pytest.raises(TableError, match="No such file"):
        bug_table.load_all([tmp_path / "none.toml"])


# Environments


def test_environments_are_made_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[list[str]] = []
    monkeypatch.setattr(environments, "_install", lambda python, requirements: asked.append(list(requirements)) or "made")
    first = environments.prepare("runtime==1.0 numpy<2", tmp_path)
    assert first == environments.prepare("runtime==1.0 numpy<2", tmp_path)
    assert first.exists()
    assert len(asked) == 1
    assert asked[0][-2:] == ["runtime==1.0", "numpy<2"]
    (first.parent.parent / "complete.txt").unlink()  # as after an interruption
    environments.prepare("runtime==1.0 numpy<2", tmp_path)
    assert len(asked) == 2
    assert environments.folder_name("runtime==1.0 numpy<2") != environments.folder_name("runtime==1.0")


def test_what_pip_says_becomes_one_line(tmp_path: Path) -> None:
    with pytest.raises(environments.InstallError) as caught:
        environments._install(tmp_path / "no-python", ["runtime==1.0"])
    assert "pip cannot install runtime==1.0: " in str(caught.value)
    assert "\n" not in str(caught.value)


def test_worker_starts_in_the_environment_and_in_this_checkout() -> None:
    spec = environments.device_host(Path("/a b/bin/python"))
    assert spec == f"popen//python='/a b/bin/python'//chdir={ROOT.as_posix()}"
