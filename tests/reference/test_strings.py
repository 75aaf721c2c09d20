"""Strings against values worked out by hand: white space, empty strings, letters that change their number, skipped grams."""

import numpy as np
import pytest

from reference.ops import strings
from reference.ops.regular_expressions import translate


def text(*values) -> np.ndarray:
    return np.array(values, object)


def test_concat_broadcasts():
    assert strings.string_concat(text("a", "é"), text("", "ß")).tolist() == ["a", "éß"]
    assert strings.string_concat(text(["a"], ["b"]), text("x", "")).tolist() == [["ax", "a"], ["bx", "b"]]
    y = strings.string_concat(np.array("a", object), np.array("b", object))
    assert y.shape == ()
    assert y.dtype == object
    assert strings.string_concat(np.zeros((0, 1), object), text("x", "y")).shape == (0, 2)


@pytest.mark.parametrize(
    ("attributes", "x", "parts", "counts"),
    [
        ({}, ("a b", "  a\t\tb\nc ", "", " "), [["a", "b", ""], ["a", "b", "c"], ["", "", ""], ["", "", ""]], [2, 3, 0, 0]),
        ({"delimiter": ""}, ("a  b",), [["a", "b"]], [2]),
        ({"delimiter": ","}, (",a,,b", "", ","), [["", "a", "", "b"], ["", "", "", ""], ["", "", "", ""]], [4, 1, 2]),
        ({"delimiter": "ab"}, ("xabab",), [["x", "", ""]], [3]),
        ({"delimiter": ",", "maxsplit": 1}, ("a,b,c", "a"), [["a", "b,c"], ["a", ""]], [2, 1]),
        ({"delimiter": ",", "maxsplit": 0}, ("a,b",), [["a,b"]], [1]),
        # white space at the end is removed from what is left over, too
        ({"maxsplit": 1}, (" a b  c ",), [["a", "b  c"]], [2]),
        ({"maxsplit": 0}, (" a b ", " "), [["a b"], [""]], [1, 0]),
        ({}, ("", " "), [[], []], [0, 0]),
    ],
)
def test_split(attributes, x, parts, counts):
    y, z = strings.string_split(text(*x), **attributes)
    assert y.tolist() == parts
    assert y.shape == (len(parts), len(parts[0]))
    assert z.tolist() == counts
    assert z.dtype == np.int64


def test_split_of_other_ranks():
    y, z = strings.string_split(text(["a b", "c"], ["", "d"]))
    assert y.tolist() == [[["a", "b"], ["c", ""]], [["", ""], ["d", ""]]]
    assert z.tolist() == [[2, 1], [0, 1]]
    y, z = strings.string_split(np.array("a b", object))
    assert y.tolist() == ["a", "b"]
    assert z.shape == ()
    y, z = strings.string_split(np.zeros((2, 0), object))
    assert y.shape == (2, 0, 0)
    assert z.shape == (2, 0)


@pytest.mark.parametrize(
    ("attributes", "wanted"),
    [
        ({}, ["Stop", "stop", "Go", "", "straße"]),
        ({"stopwords": ["STOP"]}, ["Go", "", "straße"]),
        ({"stopwords": ["Stop"], "is_case_sensitive": 1}, ["stop", "Go", "", "straße"]),
        # the words are compared before their case changes
        ({"stopwords": ["stop"], "is_case_sensitive": 1, "case_change_action": "LOWER"}, ["stop", "go", "", "straße"]),
        ({"stopwords": ["Go", "", "STOP"], "case_change_action": "UPPER"}, ["STRASSE"]),
        ({"stopwords": ["go", "", "STOP", "STRAßE"]}, [""]),
    ],
)
def test_normalizer(attributes, wanted):
    x = text("Stop", "stop", "Go", "", "straße")
    assert strings.string_normalizer(x, **attributes).tolist() == wanted
    assert strings.string_normalizer(x[None], **attributes).tolist() == [wanted]


def test_normalizer_knows_the_letters_i_of_turkish():
    x = text("I", "İ", "i", "ı", "I\u0307")
    assert strings.string_normalizer(x, case_change_action="LOWER", locale="tr_TR").tolist() == ["ı", "i", "i", "ı", "i"]
    assert strings.string_normalizer(x, case_change_action="UPPER", locale="az").tolist()[:4] == ["I", "İ", "İ", "I"]
    assert strings.string_normalizer(x[:1], case_change_action="LOWER", locale="en_US").tolist() == ["i"]
    assert strings.string_normalizer(text("IN", "x"), stopwords=["ın"], locale="tr_TR.UTF-8").tolist() == ["x"]


def test_normalizer_of_nothing_and_refusals():
    assert strings.string_normalizer(np.zeros(0, object)).tolist() == [""]
    with pytest.raises(ValueError, match=r"must have shape \(C\) or \(1, C\), not \(2, 1\)"):
        strings.string_normalizer(text(["a"], ["b"]))
    with pytest.raises(ValueError, match="must be NONE, LOWER or UPPER, not TITLE"):
        strings.string_normalizer(text("a"), case_change_action="TITLE")


@pytest.mark.parametrize(
    ("pattern", "matched", "others"),
    [
        ("a|ab", ["a", "ab"], ["b", "aba", ""]),
        ("", [""], ["a", "\n"]),
        ("a$", ["a"], ["a\n"]),
        ("(?m)a$\nb", ["a\nb"], ["a\n"]),
        ("(?m)a\n^b", ["a\nb"], []),
        ("a.b", ["axb", "aéb"], ["a\nb", "ab"]),
        ("(?s)a.b", ["a\nb"], []),
        (r"\d+", ["12"], ["٣", ""]),
        (r"\D", ["٣", "\n", "a"], ["1"]),
        (r"\s", [" ", "\n"], ["\v", "\u00a0", "\u2028"]),
        (r"\w", ["a", "_"], ["é"]),
        (r"a\b.", ["a ", "aé"], ["ab"]),
        (r"\B", [""], []),
        ("[[:alpha:]1]", ["b", "1"], ["é", ":"]),
        ("[^[:alpha:]]", ["é", "1"], ["b"]),
        ("[]a]", ["]", "a"], ["b"]),
        (r"[^\W\d]", ["a", "_"], ["1", "-"]),
        (r"\pL\p{Lu}\P{L}", ["aÉ1"], ["aé1", "aÉé"]),
        (r"\p{^L}[\pN]", ["_٣"], ["a1"]),
        ("(?i)É|b", ["é", "B"], ["e"]),
        ("(a(?i)b|c)D", ["aBD", "CD"], ["ABD", "CDd", "CDx", "CDD"]),
        ("(?i:a)b(?i-i)c", ["Abc"], ["ABc", "AbC"]),
        # a class is folded before it is inverted: ſ folds to s, so neither is outside of \w
        (r"(?i)\W", ["é"], ["s", "ſ", "S"]),
        (r"(?i)[^\w]", ["é"], ["s", "ſ", "S"]),
        (r"\Qa.*\E+", ["a.*", "a.**"], ["ab", "a.*a.*"]),
        ("a{,2}", ["a{,2}"], ["aa"]),
        ("(?P<x>a)(?<y>b)(?:c)?", ["ab", "abc"], ["a"]),
        (r"\x41\x{1F600}\101\0", ["A😀A\0"], []),
        (r"(?U)a+?", ["aaa"], []),
    ],
)
def test_regular_expressions(pattern, matched, others):
    got = strings.regex_full_match(text(*matched, *others), pattern=pattern)
    assert got.dtype == bool
    assert got.tolist() == [True] * len(matched) + [False] * len(others)


def test_regular_expressions_keep_the_shape():
    assert strings.regex_full_match(text(["a", "b"]), pattern="a").tolist() == [[True, False]]
    assert strings.regex_full_match(np.array("a", object), pattern="a").shape == ()
    assert strings.regex_full_match(np.zeros((0, 3), object), pattern="a").shape == (0, 3)


@pytest.mark.parametrize(
    "pattern",
    [
        r"(a)\1",
        "(?=a)",
        "(?<!a)",
        "(?>a)",
        "(?P=x)",
        "(?x)a",
        "a++",
        "a**",
        "a{2}{3}",
        "a{1001}",
        "*a",
        "(a",
        "a)",
        "[a",
        "[b-a]",
        r"[a-\d]",
        "[[:letter:]]",
        r"\Z",
        r"\C",
        r"\q",
        r"\p{Greek}",
        "a\\",
    ],
)
def test_regular_expressions_that_are_none(pattern):
    with pytest.raises(ValueError, match="regular expression"):
        strings.regex_full_match(text("a"), pattern=pattern)


def test_regular_expression_must_be_given():
    with pytest.raises(ValueError, match="the attribute pattern is missing"):
        strings.regex_full_match(text("a"))


def test_translation_of_flags_ends_with_their_group():
    assert translate("(?i)a") == "(?i:a)"
    assert translate("((?i)a)b") == "(?:(?i:a))b"


# Unigrams 1, 2; bigrams (1, 2), (1, 1); trigram (1, 2, 1).
POOL = {
    "pool_int64s": [1, 2, 1, 2, 1, 1, 1, 2, 1],
    "ngram_counts": [0, 2, 6],
    "ngram_indexes": [0, 1, 2, 3, 4],
    "mode": "TF",
    "min_gram_length": 1,
    "max_gram_length": 3,
    "max_skip_count": 0,
}
X = np.array([1, 2, 1, 7, 1, 1])


@pytest.mark.parametrize(
    ("changed", "wanted"),
    [
        ({}, [4, 1, 1, 1, 1]),
        ({"min_gram_length": 2, "max_gram_length": 2}, [0, 0, 1, 1, 0]),
        # pairs at a distance of 2: 1 1, 2 7, 1 1, 7 1; no triple (1, 2, 1) at 2
        ({"max_skip_count": 1}, [4, 1, 1, 3, 1]),
        # and at 3: 1 7, 2 1, 1 1; triples do not fit
        ({"max_skip_count": 2}, [4, 1, 1, 4, 1]),
        ({"max_skip_count": 99}, [4, 1, 1, 6, 1]),  # at 4: 1 1, 2 1; at 5: 1 1
        ({"mode": "IDF", "max_skip_count": 1}, [1, 1, 1, 1, 1]),
        ({"mode": "IDF", "weights": [0.5, 1, 2, 4, 8]}, [0.5, 1, 2, 4, 8]),
        ({"mode": "TFIDF", "weights": [0.5, 1, 2, 4, 8]}, [2, 1, 2, 4, 8]),
        ({"mode": "TF", "weights": [0.5, 1, 2, 4, 8]}, [4, 1, 1, 1, 1]),
        # weights belong to n-grams, not to places of the result
        ({"mode": "TFIDF", "weights": [0.5, 1, 2, 4, 8], "ngram_indexes": [6, 0, 1, 2, 3]}, [1, 2, 4, 8, 0, 0, 2]),
        ({"ngram_indexes": [0, 0, 0, 0, 0]}, [8]),
    ],
)
def test_tf_idf(changed, wanted):
    y = strings.tf_idf_vectorizer(X, **{**POOL, **changed})
    assert y.dtype == np.float64
    assert y.tolist() == wanted


def test_tf_idf_takes_rows_apart():
    y = strings.tf_idf_vectorizer(X.reshape(2, 3).astype(np.int32), **POOL)
    assert y.tolist() == [[2, 1, 1, 0, 1], [2, 0, 0, 1, 0]]
    assert strings.tf_idf_vectorizer(np.zeros((0, 3), np.int64), **POOL).shape == (0, 5)
    assert strings.tf_idf_vectorizer(np.zeros(0, np.int64), **POOL).tolist() == [0] * 5


def test_tf_idf_of_strings_and_of_an_n_gram_that_is_pooled_twice():
    pool = {**POOL, "pool_int64s": None, "pool_strings": ["a", "b", "a"], "ngram_counts": [0], "ngram_indexes": [0, 1, 2]}
    assert strings.tf_idf_vectorizer(text("a", "a", "c", "b"), **pool).tolist() == [2, 1, 2]


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"mode": "BM25"}, "mode must be TF, IDF or TFIDF, not BM25"),
        ({"pool_int64s": None}, "either pool_int64s or pool_strings must be given"),
        ({"pool_strings": ["a"]}, "either pool_int64s or pool_strings must be given"),
        ({"ngram_indexes": [0, 1]}, "the pool has 5 n-grams, but ngram_indexes 2"),
        ({"ngram_counts": [0, 3, 6]}, "3 entries of the pool from 3 on do not make up 2-grams"),
    ],
)
def test_tf_idf_refuses(changed, message):
    with pytest.raises(ValueError, match=message):
        strings.tf_idf_vectorizer(X, **{**POOL, **changed})
    with pytest.raises(ValueError, match="must have shape"):
        strings.tf_idf_vectorizer(np.array(1), **POOL)


def test_pools_that_do_not_fit_their_counts_are_refused():
    common = {"max_gram_length": 2, "min_gram_length": 1, "max_skip_count": 2**40, "mode": "TF", "pool_int64s": [1, 2, 3, 4]}
    for counts in ([2, 0], [0, 2**40], [-(2**63), 0]):
        with pytest.raises(ValueError, match="ngram_counts are ascending positions in a pool of 4"):
            strings.tf_idf_vectorizer(np.array([1, 2]), ngram_counts=counts, ngram_indexes=[0, 1, 2], **common)
    # skips beyond the input's length find nothing more
    assert strings.tf_idf_vectorizer(np.array([3, 9, 4]), ngram_counts=[0, 2], ngram_indexes=[0, 1, 2], **common).tolist() == [
        0,
        0,
        1,
    ]
