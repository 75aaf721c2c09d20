"""What the coverage report counts: ids as they read, ONNX's schemas as they admit."""

from __future__ import annotations

import json
from html.parser import HTMLParser

import pytest

from suites import coverage, coverage_report

IDS = (
    "Conv-11.f32.x:1x3x7x5.w:4x3x3x3.const:w.in:normal",
    "Conv-22.bf16.x:1x3x9x7.w:2x3x5x3.auto_pad:SAME_UPPER.strides:2_2.in:lattice",
    "Cast-13.f32.input:3x5.to:i8.in:normal",
    "LSTM-14.f32.x:5x2x3.w:1x16x3.r:1x16x4.hidden_size:4.in:normal",
    "QuantizeLinear-21.f32.x:3.y_scale:scalar.const:y_scale.in:normal",
    "ms:Gelu-1.f16.x:3x5.in:normal",
)


@pytest.fixture
def found(monkeypatch):
    monkeypatch.setattr(coverage.operators, "ALL", IDS)
    monkeypatch.setattr(coverage, "_in_graphs", lambda: coverage.Counter({"If": 2}))
    return coverage.measure()


def test_versions_types_and_attributes_are_those_of_the_ids(found):
    conv = found["Conv"].aspects
    assert found["Conv"].cases == 2
    assert conv["versions"].covered == {"11": 1, "22": 1}
    assert conv["versions"].missing == ["1"]
    assert conv["types"].covered == {"T:f32": 1, "T:bf16": 1}
    assert set(conv["types"].missing) == {"T:f16", "T:f64"}
    assert conv["attributes"].covered == {"auto_pad": 1, "strides": 1}
    assert set(conv["attributes"].missing) == {"kernel_shape", "pads", "dilations", "group"}


def test_a_default_counts_as_a_value_and_not_as_an_attribute(found):
    conv = found["Conv"].aspects
    assert conv["values"].covered == {"auto_pad:NOTSET": 1, "auto_pad:SAME_UPPER": 1}
    assert set(conv["values"].missing) == {"auto_pad:SAME_LOWER", "auto_pad:VALID"}


def test_pairs_that_onnx_does_not_admit_are_not_missing(found):
    pairs = found["Conv"].aspects["attribute pairs"]
    assert pairs.covered == {"auto_pad + strides": 1}
    assert "auto_pad + pads" not in pairs.missing
    assert "dilations + pads" in pairs.missing
    assert not any("value_float" in pair for pair in found["Constant"].aspects["attribute pairs"].missing)


def test_types_of_outputs_follow_from_attributes_and_from_the_model(found):
    assert found["Cast"].aspects["types"].covered == {"T1:f32": 1, "T2:i8": 1}
    assert found["QuantizeLinear"].aspects["types"].covered.keys() >= {"T1:f32", "T2:u8"}


def test_values_of_lists_count_one_by_one(found):
    assert "activations:Tanh" in found["LSTM"].aspects["values"].missing
    assert "direction:forward" in found["LSTM"].aspects["values"].covered


def test_versions_below_the_oldest_opset_are_no_gap(found):
    assert set(found["Add"].aspects["versions"].missing) == {"7", "13", "14"}
    assert "1" in found["Softmax"].aspects["versions"].missing  # holds until 11


def test_ranks_are_missing_only_where_onnx_admits_any(found):
    assert found["Relu"].aspects["ranks"].missing == [str(rank) for rank in range(9)]
    assert found["Softmax"].aspects["ranks"].missing == [str(rank) for rank in range(1, 9)]
    assert found["Conv"].aspects["ranks"] == coverage.Aspect({"4": 2}, [])


def test_states_and_reasons(found):
    assert coverage_report.state(found["Conv"]) == "cases"
    assert coverage_report.state(found["ms:Gelu"]) == "cases"
    assert coverage_report.state(found["If"]) == "graphs"
    assert coverage_report.state(found["StringConcat"]) == "out of scope"
    assert coverage_report.state(found["Relu"]) == "none"
    text = " ".join(coverage_report.summary(found).split())
    assert "5 have cases, 1 more are tested within graphs" in text
    assert "Relu" in text.partition("Nothing, and no reason")[2]
    assert "If (2)" in text
    assert "auto_pad:VALID" in coverage_report.detail(found["Conv"])


def test_the_table_beside_the_schemas_names_what_exists():
    table = coverage.data()
    attributes = {(n, s.version, a) for n, found in coverage.schemas().items() for s in found for a in s.attributes}
    for key in table["values"]:
        owner, _, attribute = key.rpartition(".")
        operator, _, version = owner.partition("-")
        assert any(a == attribute and operator in ("", n) and int(version or 0) in (0, v) for n, v, a in attributes), (
            f"{key} is of no schema"
        )
    ranks = table["ranks"]
    assert {*ranks["operators"].split(), *ranks["one_axis"].split(), *table["reasons"]} <= set(coverage.schemas())
    assert set(ranks["families"].split()) <= set(coverage.operators.families())


class Page(HTMLParser):
    """Counts rows, notices tags that are not closed and addresses that are fetched."""

    def __init__(self):
        super().__init__()
        self.open, self.rows, self.fetched = [], 0, []

    def handle_starttag(self, tag, attrs):
        self.rows += tag == "tr"
        self.fetched += [value for name, value in attrs if name in ("src", "href")]
        if tag not in ("meta", "input"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        if tag == "option" and self.open[-1] != "option":
            return
        assert self.open.pop() == tag


def test_page_is_whole_and_fetches_nothing(found):
    page = Page()
    page.feed(coverage_report.html(found))
    assert page.open == []
    assert page.fetched == []
    assert page.rows == len(found) + len(coverage.ASPECTS) + 2


def test_json_holds_everything(found):
    read = json.loads(coverage.as_json(found))
    (conv,) = (each for each in read["operators"] if each["operator"] == "Conv")
    assert conv["aspects"]["versions"] == {"covered": {"11": 1, "22": 1}, "missing": ["1"]}


@pytest.mark.parametrize(
    ("arguments", "words"),
    [(["--ops", "Convv"], ["Convv", "Conv"]), (["--ops", ""], ["no name"]), (["--html", "missing/folder/x.html"], ["x.html"])],
)
def test_mistakes_are_told_in_one_line(found, capsys, monkeypatch, arguments, words):
    monkeypatch.setattr(coverage, "measure", lambda: found)
    assert coverage.main(arguments) == 4
    (line,) = capsys.readouterr().err.splitlines()
    assert all(word in line for word in words)


def test_command_writes_what_is_asked(found, capsys, monkeypatch, tmp_path):
    monkeypatch.setattr(coverage, "measure", lambda: found)
    assert coverage.main(["--html", str(tmp_path / "a.html"), "--json", str(tmp_path / "a.json"), "--ops", "Conv"]) == 0
    assert (tmp_path / "a.html").read_text(encoding="utf-8").startswith("<!DOCTYPE html>")
    assert "Conv (convolution): 2 cases" in capsys.readouterr().out
