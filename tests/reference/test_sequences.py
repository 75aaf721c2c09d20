"""Sequences and optionals: positions at both ends and beyond, parts that do not divide, what is empty."""

import numpy as np
import onnx
import pytest

from reference.evaluator import evaluate_typed
from reference.ops import sequences

A, B, C = (np.array([i]) for i in (1, 2, 3))


def position(index: int) -> np.ndarray:
    return np.array(index, np.int32)


def values(sequence):
    return [item.tolist() for item in sequence]


def test_construction_and_length():
    assert sequences.sequence_empty(dtype=onnx.TensorProto.INT64) == []
    assert values(sequences.sequence_construct(A, B)) == [[1], [2]]
    length = sequences.sequence_length([A, B, C])
    assert length == 3
    assert length.shape == ()
    assert length.dtype == np.int64
    assert sequences.sequence_length([]) == 0


@pytest.mark.parametrize(
    ("index", "wanted"), [(0, [3, 1, 2]), (1, [1, 3, 2]), (2, [1, 2, 3]), (-1, [1, 3, 2]), (-2, [3, 1, 2]), (None, [1, 2, 3])]
)
def test_insert(index, wanted):
    got = sequences.sequence_insert([A, B], C, None if index is None else position(index))
    assert values(got) == [[v] for v in wanted]


def test_insert_leaves_its_input_alone():
    given = [A]
    assert len(sequences.sequence_insert(given, B)) == 2
    assert len(given) == 1
    assert values(sequences.sequence_insert([], A, position(0))) == [[1]]


@pytest.mark.parametrize(("index", "wanted"), [(0, [2, 3]), (2, [1, 2]), (-1, [1, 2]), (-3, [2, 3]), (None, [1, 2])])
def test_erase(index, wanted):
    got = sequences.sequence_erase([A, B, C], None if index is None else position(index))
    assert values(got) == [[v] for v in wanted]


@pytest.mark.parametrize(("index", "wanted"), [(0, 1), (2, 3), (-1, 3), (-3, 1)])
def test_at(index, wanted):
    assert sequences.sequence_at([A, B, C], position(index)).tolist() == [wanted]


def test_positions_out_of_range():
    for index in (-3, 3):
        with pytest.raises(ValueError, match=rf"position {index} is outside \[-2, 2\] of a sequence of 2 tensors"):
            sequences.sequence_insert([A, B], C, position(index))
    for index in (-3, 2):
        with pytest.raises(ValueError, match=rf"position {index} is outside \[-2, 1\]"):
            sequences.sequence_erase([A, B], position(index))
        with pytest.raises(ValueError, match=rf"position {index} is outside \[-2, 1\]"):
            sequences.sequence_at([A, B], position(index))
    with pytest.raises(ValueError, match="a sequence of 0 tensors"):
        sequences.sequence_erase([])
    with pytest.raises(ValueError, match=r"the position in a sequence has shape \(2,\), expected one element"):
        sequences.sequence_at([A, B], np.array([0, 1]))


X = np.arange(10).reshape(2, 5)


@pytest.mark.parametrize(
    ("split", "wanted"),
    [
        (None, [[0, 1, 2, 3, 4]]),
        (1, [[0], [1], [2], [3], [4]]),
        (2, [[0, 1], [2, 3], [4]]),
        (5, [[0, 1, 2, 3, 4]]),
        (9, [[0, 1, 2, 3, 4]]),
        ([5], [[0, 1, 2, 3, 4]]),
        ([1, 0, 4], [[0], [], [1, 2, 3, 4]]),
    ],
)
@pytest.mark.parametrize("axis", [1, -1])
def test_split_to_sequence(split, wanted, axis):
    if split is None:
        got = sequences.split_to_sequence(X, axis=axis)
        assert [part.shape for part in got] == [(2, 1)] * 5
    else:
        # keepdims is ignored beside `split`
        got = sequences.split_to_sequence(X, np.array(split), axis=axis, keepdims=0)
        assert [part[0].tolist() for part in got] == wanted


def test_split_to_sequence_drops_the_axis_on_request():
    got = sequences.split_to_sequence(X, axis=-2, keepdims=0)
    assert values(got) == [[0, 1, 2, 3, 4], [5, 6, 7, 8, 9]]
    assert sequences.split_to_sequence(np.zeros((0, 2))) == []
    assert sequences.split_to_sequence(np.zeros((0, 2)), np.array(3)) == []
    assert [part.shape for part in sequences.split_to_sequence(np.zeros((0, 2)), np.array([0]))] == [(0, 2)]


def test_split_to_sequence_refuses():
    with pytest.raises(ValueError, match=r"parts \[2, 2\] do not make up an axis of length 5"):
        sequences.split_to_sequence(X, np.array([2, 2]), axis=1)
    with pytest.raises(ValueError, match=r"parts \[6, -1\] do not make up"):
        sequences.split_to_sequence(X, np.array([6, -1]), axis=1)
    with pytest.raises(ValueError, match="the length of the parts must be positive, not 0"):
        sequences.split_to_sequence(X, np.array(0), axis=1)


def test_concat_from_sequence():
    rows = [np.array([[1, 2]]), np.array([[3, 4], [5, 6]])]
    assert sequences.concat_from_sequence(rows, axis=-2).tolist() == [[1, 2], [3, 4], [5, 6]]
    assert sequences.concat_from_sequence([A, B], axis=-1, new_axis=1).tolist() == [[1, 2]]
    assert sequences.concat_from_sequence([A, B], axis=-2, new_axis=1).tolist() == [[1], [2]]
    with pytest.raises(ValueError, match="an empty sequence cannot be concatenated"):
        sequences.concat_from_sequence([], axis=0)
    with pytest.raises(ValueError, match="must match exactly"):
        sequences.concat_from_sequence(rows, axis=1)


def test_optionals():
    kind = onnx.helper.make_tensor_type_proto(onnx.TensorProto.FLOAT, [])
    assert sequences.optional(A) is A
    assert sequences.optional(type=kind) is None
    assert sequences.optional_get_element(A) is A
    assert sequences.optional_get_element([]) == []
    for value, there in ((A, True), ([], True), (None, False)):
        got = sequences.optional_has_element(value)
        assert got == there
        assert got.shape == ()
        assert got.dtype == bool
    assert not sequences.optional_has_element()
    with pytest.raises(ValueError, match="needs an input or the attribute type"):
        sequences.optional()
    with pytest.raises(ValueError, match="the optional is empty"):
        sequences.optional_get_element(None)


def test_in_a_model():
    text = """g (float16[n] x, int64 at) => (float16[a] y, int64 n, bool h) {
        s = SplitToSequence<axis = 0>(x) t = SequenceInsert(s, x, at) u = SequenceErase(t)
        y = ConcatFromSequence<axis = 0>(u) n = SequenceLength(u) o = Optional(u) h = OptionalHasElement(o)
    }"""
    model = onnx.parser.parse_model(f'<ir_version: 10, opset_import: ["" : 21]> {text}')
    got = evaluate_typed(model, {"x": np.array([1, 2, 3], np.float16), "at": np.int64(-2)})
    assert got["y"].data.tolist() == [1, 1, 2, 3, 2]
    assert got["y"].type == "float16"
    assert got["n"].data == 3
    assert got["h"].data
