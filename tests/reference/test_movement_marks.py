"""What ONNX leaves open in data movement, strings and scans, by hand."""

import numpy as np
import pytest

from reference import marks
from reference.node import Node

from .differential.samples import Sample, call, written

NAN = np.nan


def open_elements(sample: Sample):
    """The mask of every output, in its shape, as lists."""
    node = Node.of(sample.model, sample.feeds)
    masks = [marks.left_open(node, i) for i in range(len(node.results))]
    return [np.broadcast_to(False if m is None else m, r.shape).tolist() for m, r in zip(masks, node.results, strict=True)]


def strings(*values):
    return np.array(values, object)


@pytest.mark.parametrize("reduction", ["min", "max", "add"])
def test_nan_among_scattered_candidates(reduction):
    x, updates = np.array([NAN, 1, 2, 3], np.float32), np.array([5, NAN, 5], np.float32)
    indices = np.array([0, 1, 2])
    wanted = [reduction != "add"] * 2 + [False, False]
    assert open_elements(call("ScatterElements", [x, indices, updates], version=18, reduction=reduction)) == [wanted]
    assert open_elements(call("ScatterND", [x, indices[:, None], updates], version=18, reduction=reduction)) == [wanted]


def test_values_without_an_order():
    assert open_elements(call("Unique", [np.array([1, NAN])], version=11, outputs=2)) == [[True, True]] * 2
    assert open_elements(call("Unique", [np.array([2, 1.0])], version=11)) == [[False, False]]
    for sorted, wanted in ((1, True), (0, False)):
        assert open_elements(call("Unique", [np.array([2j, 1])], version=11, sorted=sorted)) == [[wanted] * 2]


def test_strings_that_are_zero():
    assert open_elements(call("NonZero", [strings("a")], version=13)) == [[[True]]]
    assert open_elements(call("NonZero", [np.array([1])], version=13)) == [[[False]]]


def test_grams_that_share_a_coordinate():
    lengths = {"min_gram_length": 1, "max_gram_length": 1, "max_skip_count": 0, "ngram_counts": [0], "mode": "TF"}
    sample = call("TfIdfVectorizer", [np.array([[1]])], version=9, pool_int64s=[1, 2, 3], ngram_indexes=[0, 2, 2], **lengths)
    assert open_elements(sample) == [[[False, False, True]]]


def normalized(*words, **attributes):
    return open_elements(call("StringNormalizer", [strings(*words)], version=10, **attributes))[0]


def test_cases_of_letters_beyond_ascii():
    assert normalized("é", "a") == [False, False]
    assert normalized("é", "a", case_change_action="LOWER") == [True, True]
    assert normalized("b", "a", case_change_action="LOWER") == [False, False]
    assert normalized("b", "a", stopwords=["É"]) == [True, True]
    assert normalized("b", "a", stopwords=["É"], is_case_sensitive=1) == [False, False]


def test_white_space_beyond_ascii():
    wide = strings("a\u00a0b")
    assert open_elements(call("StringSplit", [wide], version=20, outputs=2)) == [[[True, True]], [True]]
    assert open_elements(call("StringSplit", [wide], version=20, outputs=2, delimiter="a")) == [[[False, False]], [False]]
    assert open_elements(call("StringSplit", [strings("a b")], version=20, outputs=2)) == [[[False, False]], [False]]


def test_scan_outputs_behind_a_sequence():
    text = """g (int64[2] n, float[2] s, float[2, 3] x) => (float[2] t, float[2, 3] y) {
        t, y = Scan<num_scan_inputs = 1, body = b (float a, float e) => (float u, float o) { u = Neg(a) o = Neg(e) }>(n, s, x)
    }"""
    feeds = {"n": np.array([1, 3]), "s": np.zeros(2, np.float32), "x": np.zeros((2, 3), np.float32)}
    assert open_elements(written(text, 8, feeds)) == [[False, False], [[False, True, True], [False] * 3]]
