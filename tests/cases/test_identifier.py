"""Case ids: every id of the tables reads and writes back; malformed ones are refused in one line that helps."""

from __future__ import annotations

import re

import hypothesis
import pytest
from hypothesis import strategies

from suites.cases import operators
from suites.cases.errors import CaseIdError
from suites.cases.identifier import format, parse, real_text
from suites.cases.node import Parameter, Tensor

pytest_plugins = ["pytester"]


def test_every_id_is_canonical():
    assert len(operators.ALL) == len(set(operators.ALL))
    wrong = [id for id in operators.ALL if format(parse(id).node) != id]
    assert wrong == []


def test_breadth():
    assert 26_000 <= len(operators.ALL) <= 27_000  # what two cores run in little more than a minute
    assert sum(map(len, operators.families().values())) == len(operators.ALL)
    cases = {family: [parse(id) for id in ids] for family, ids in operators.families().items()}
    assert len({case.operator for family in cases.values() for case in family}) >= 190
    for family, members in cases.items():
        assert {case.family for case in members} == {family}


def test_ids_need_no_character_that_pytest_gives_a_meaning():
    assert set("".join(operators.ALL)) <= set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_:.+-")


def test_pytest_selects_a_case_by_its_id(pytester):
    chosen = "Einsum-12.f32.inputs0:3x5.inputs1:5x7.equation:ij+2Cjk-+3Eik.in:normal"
    pytester.makepyfile(
        f"""
        import pytest
        @pytest.mark.parametrize("id", [{chosen!r}, "Clip-13.f32.input:11.min:-5e-1.max:125e-2.in:normal"])
        def test_case(id):
            pass
        """
    )
    result = pytester.runpytest_subprocess("-q", "-p", "no:cacheprovider", "-k", chosen)
    result.assert_outcomes(passed=1, deselected=1)


def test_fields_of_an_id():
    case = parse("Slice-13.f16.data:5x7x11.starts:1_-2.ends:4_9.axes:0_2.feed:starts_ends.in:index")
    assert (case.operator, case.domain, case.opset, case.dtype, case.family, case.recipe) == (
        "Slice", "", 13, "float16", "movement", "index"
    )  # fmt: skip
    assert case.node.input("data") == Tensor("data", (5, 7, 11), "float16")
    assert case.node.input("starts") == Parameter("starts", (1, -2), "int64")
    assert case.node.feed == ("starts", "ends")
    assert parse("ms:Gelu-1.f32.x:3x5.in:normal").domain == "com.microsoft"
    assert parse("Not-1.bool.x:3.in:uniform").opset == 7
    assert dict(parse("Einsum-12.f32.inputs0:3x5.equation:ij-+3Eji.in:normal").node.attributes) == {"equation": "ij->ji"}
    assert dict(parse("Cast-21.f32.input:3.to:bf16.in:normal").node.attributes) == {"to": 16}


def test_names_that_contain_the_separator_are_told_apart():
    id = next(id for id in operators.ALL if id.startswith("QLinearConv-10.u8") and ".b:5." in id)
    assert parse(id).node.const == (
        "x_scale", "x_zero_point", "w", "w_scale", "w_zero_point", "y_scale", "y_zero_point", "b"
    )  # fmt: skip


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1.5, "15e-1"), (1.0, "1"), (10.0, "1e1"), (-0.0, "-0"), (0.0, "0"), (0.01, "1e-2"),
        (3e38, "3e38"), (-125.0, "-125"),
        (float("inf"), "inf"), (float("-inf"), "-inf"), (float("nan"), "nan"),
        (5e-324, "5e-324"), (1 / 3, "3333333333333333e-16"),
    ],
)  # fmt: skip
def test_reals_are_written_without_a_dot(value, text):
    assert real_text(value) == text


CONV = "Conv-22.f32.x:1x3x8x9.w:5x3x3x3"
MALFORMED = {
    "": "expected a text of 1 to 1000 characters",
    "x" * 1001: "expected a text of 1 to 1000 characters",
    "Conv-22 f32": "character ' ' at 7; expected letters, digits and _ : - + .",
    "Conv-22.f32.x:1×3": "expected letters, digits and _ : - + .",
    "Conv-22.f32\n": "character '\\n' at 11",
    "Conv": "field 'Conv': expected an operator and its version, such as Conv-22 or ms:Gelu-1",
    "Convv-22.f32": "field Convv-22: unknown operator Convv; the nearest are Conv",
    "conv-22.f32": "unknown operator conv; the nearest are Conv",
    "Conv-21.f32": "field Conv-21: Conv has no version 21; it has 1, 11, 22",
    "Upsample-10.f32": "field Upsample-10: Upsample is deprecated in version 10; the versions are 1, 7, 9, 10",
    "ai:Conv-22.f32": "unknown domain ai; expected ms or none",
    "ms:Conv-1.f32": "unknown operator ms:Conv; the nearest are",
    "ms:Gelu-2.f32": "ms:Gelu has no version 2; it has 1",
    "Conv-22": "the second field: '' is no dtype; expected one of bf16, f16, f32, f64",
    "Conv-22.float32.x:1x3x8x9": "the second field: 'float32' is no dtype",
    "Conv-22.i8.x:1x3x8x9.w:5x3x3x3.in:normal": "the second field: the schema does not admit i8; expected one of",
    "Conv-22.f32.x:1x3x8x9.in:normal": "missing input w; Conv-22 needs x, w",
    "Conv-22.f32.x": "field 'x': expected name:value",
    "Conv-22.f32.x:": "field 'x:': expected name:value",
    "Conv-22.f32.x:1x3xx9.w:5x3x3x3.in:normal": "field x:1x3xx9: '1x3xx9' is no shape; expected one such as 1x3x8, 5",
    "Conv-22.f32.x:1x-3.w:5x3x3x3.in:normal": "'1x-3' is no shape",
    "Conv-22.f32.x:01x3x8x9.w:5x3x3x3.in:normal": "field x:01x3x8x9: not the canonical spelling or order; expected",
    f"{CONV}.x:1.in:normal": "field x:1: x is given twice",
    f"{CONV}.pad:1_1_1_1.in:normal": "field pad:1_1_1_1: Conv-22 has no pad; its inputs are x, w, b, its attributes",
    f"{CONV}.pads:1_a.in:normal": "field pads:1_a: 'a' is no whole number; expected one such as -1 or 3",
    f"{CONV}.group:1.pads:1_1_1_1.in:normal": "field group:1: not the canonical spelling or order; expected",
    f"{CONV}.in:normal.group:1": "field in:normal: not the canonical spelling or order",
    f"{CONV}.group:99999999999999999999.in:normal": "expected whole numbers of 64 bits",
    CONV: "missing field in:RECIPE; expected one of normal, grid",
    f"{CONV}.in:normale": "field in:normale: unknown recipe; there are normal, grid",
    f"{CONV}.const:w_x.in:normal": "field const:w_x: expected some of x, w, in this order, joined by _",
    f"{CONV}.const:b.in:normal": "field const:b: expected some of x, w, in this order",
    f"{CONV}.feed:w.in:normal": "field feed:w: expected some of none",
    f"{CONV}.outputs:2.in:normal": "field outputs:2: expected a number of outputs, 1 to 1",
    "Conv-22.f32.x:1x3x8x9.w:5x3x3x3:f16.in:normal": "field w: is f16, another input of type T is f32; expected one",
    "Conv-22.f32.x:1x3x8x9:f32.w:5x3x3x3.in:normal": "field x:1x3x8x9:f32: not the canonical spelling",
    "Relu-14.i32.x:3.in:special": "field in:special: a recipe of floating-point types only, not of int32; expected",
    "Abs-13.f32.x:100000x100000.in:normal": "field x:100000x100000: larger than 2147483648 bytes; expected a smaller",
    "Abs-13.f32.x:0x100000x100000.in:normal": "larger than 2147483648 bytes",
    "LeakyRelu-16.f32.x:3.alpha:0.1.in:normal": "field '1': expected name:value",
    "LeakyRelu-16.f32.x:3.alpha:10e-2.in:normal": "field alpha:10e-2: not the canonical spelling or order; expected",
    "LeakyRelu-16.f32.x:3.alpha:1e99.in:normal": "field alpha:1e99: expected numbers of at most",
    "Gather-13.f32.data:3.indices:2:f32.in:index": "field indices:2:f32: the schema does not admit f32; expected one",
    "Gather-13.f32.data:3.indices:2:i64.in:index": "field indices:2:i64: not the canonical spelling",
    "QuantizeLinear-21.f32.x:3.y_scale:scalar.y_zero_point:scalar.in:normal": "the dtype of y_zero_point is open;",
    "Concat-13.f32.inputs0:3.inputs2:3.axis:0.in:index": "missing input inputs1; variadic inputs are numbered from 0",
    "Concat-13.f32.axis:0": "missing input inputs0",
    "Concat-13.f32.inputs0:3.in:index": "missing attribute axis; Concat-13 needs axis",
    "Cast-21.f32.input:3.to:17.in:normal": "field to:17: '17' is no dtype",
    "Einsum-12.f32.inputs0:3x5.equation:ij-+3eji.in:normal": "expected letters, digits, - and _, anything else as +XX",
    "Einsum-12.f32.inputs0:3x5.equation:+C3+28.in:normal": "the bytes written as +XX are not UTF-8",
    "Clip-13.i8.input:3.min:-129.in:normal": "field min:-129: -129 is no int8; expected -128 to 127",
    "Clip-13.f32.input:3.min:none.in:normal": "field min:none: 'none' is no real number; expected mantissa and",
    "Range-11.f32.start:0.limit:1.delta:1.in:zero": "field in:zero: there is no tensor to fill; expected the field to",
    "If-21.bool.cond:scalar.then_branch:x.in:uniform": "attributes of type GRAPH cannot be written; expected",
}


@pytest.mark.parametrize("id", MALFORMED, ids=lambda id: ascii(id)[:60])
def test_malformed_ids_are_refused_with_what_was_expected(id):
    with pytest.raises(CaseIdError) as caught:
        parse(id)
    message = str(caught.value)
    assert MALFORMED[id] in message
    assert "\n" not in message
    assert isinstance(caught.value, ValueError)


def test_an_impossible_node_is_refused_in_one_line():
    with pytest.raises(CaseIdError, match=r"ONNX refuses the node: .*\S") as caught:
        _ = parse("Conv-22.f32.x:1x3x8x9.w:5x3x3.in:normal").model
    assert "\n" not in str(caught.value)


def test_an_output_too_large_is_refused():
    with pytest.raises(CaseIdError, match="output output is larger than 2147483648 bytes"):
        _ = parse("Expand-13.f32.input:1.shape:100000_100000.in:index").model


def assert_only_case_id_errors(id: str) -> None:
    try:
        case = parse(id)
    except CaseIdError as error:
        message = str(error)
    else:
        message = ""
        assert format(case.node) == id
    assert "\n" not in message


@hypothesis.settings(deadline=None, max_examples=200)
@hypothesis.given(strategies.text(max_size=80))
def test_garbage_raises_nothing_else(id):
    assert_only_case_id_errors(id)


_PIECES = sorted({piece for id in operators.ALL[::17] for piece in re.split(r"([.:_x-])", id) if piece})


@hypothesis.settings(deadline=None, max_examples=400)
@hypothesis.given(
    strategies.sampled_from(operators.ALL),
    strategies.lists(strategies.tuples(strategies.integers(0, 40), strategies.sampled_from(_PIECES)), min_size=1, max_size=3),
)
def test_altered_ids_raise_nothing_else(id, changes):
    pieces = [piece for piece in re.split(r"([.:_x-])", id) if piece]
    for at, piece in changes:
        pieces[at % len(pieces)] = piece
    assert_only_case_id_errors("".join(pieces))
