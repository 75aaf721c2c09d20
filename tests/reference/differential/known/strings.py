"""Known disagreements of the family `families.strings`."""

from __future__ import annotations

import re
from collections.abc import Mapping

import numpy as np

from ..samples import Array, Sample, call
from . import Disagreement


def _texts(sample: Sample) -> list[str]:
    return list(sample.input(0).ravel())


def _other_white_space(sample: Sample) -> bool:
    return not sample.attribute("delimiter") and any(re.search(r"[^\S ]", text) for text in _texts(sample))


def _splits_nothing(sample: Sample) -> bool:
    return bool(sample.attribute("delimiter")) and "" in _texts(sample)


def _white_space_in_the_rest(sample: Sample) -> bool:
    limited = not sample.attribute("delimiter") and sample.attribute("maxsplit") is not None
    return limited and any(text != text.rstrip() for text in _texts(sample))


def _beyond_ascii(sample: Sample) -> bool:
    return not all(text.isascii() for text in _texts(sample))


def _empty_texts(sample: Sample) -> bool:
    return "" in _texts(sample)


def _several_words(sample: Sample) -> bool:
    return bool(sample.attribute("stopwords")) and any(" " in text for text in _texts(sample))


def _stopped_in_any_case(sample: Sample) -> bool:
    same = sample.attribute("case_change_action", "NONE") == "NONE" and not sample.attribute("is_case_sensitive", 0)
    return same and bool(sample.attribute("stopwords"))


def _named_class(sample: Sample) -> bool:
    return "[[:" in sample.attribute("pattern")


def _class_beyond_ascii(sample: Sample) -> bool:
    return _beyond_ascii(sample) and re.search(r"\\[dDwWsSbB]", sample.attribute("pattern")) is not None


def _end_before_a_line_feed(sample: Sample) -> bool:
    return "$" in sample.attribute("pattern") and any(text.endswith("\n") for text in _texts(sample))


def _weights_by_coordinate(sample: Sample) -> bool:
    weighted = sample.attribute("mode") != "TF" and sample.attribute("weights") is not None
    places = sample.attribute("ngram_indexes")
    return weighted and list(places) != list(range(len(places)))


def _pooled_twice(sample: Sample) -> bool:
    pool = sample.attribute("pool_strings") or sample.attribute("pool_int64s")
    ends = [*sample.attribute("ngram_counts")[1:], len(pool)]
    grams: list[tuple[object, ...]] = []
    for n, (start, end) in enumerate(zip(sample.attribute("ngram_counts"), ends, strict=True), 1):
        grams += [tuple(pool[i : i + n]) for i in range(start, end, n)]
    return len(set(grams)) < len(grams)


def _strings(*values: str) -> Array:
    return np.array(values, object)


def _split(*values: str, **attributes: object) -> Sample:
    return call("StringSplit", [_strings(*values)], version=20, outputs=2, **attributes)


def _normalized(*values: str, **attributes: object) -> Sample:
    return call("StringNormalizer", [_strings(*values)], version=10, case_change_action="NONE", **attributes)


def _matched(pattern: str, *values: str) -> Sample:
    return call("RegexFullMatch", [_strings(*values)], version=20, pattern=pattern)


def _counted(**attributes: object) -> Sample:
    lengths = {"min_gram_length": 1, "max_gram_length": 1, "max_skip_count": 0, "ngram_counts": [0]}
    return call("TfIdfVectorizer", [np.array([1, 2])], version=9, **{**lengths, **attributes})


NAMES = np.array([["a"], ["b"]], object)

KNOWN: list[Disagreement] = [
    Disagreement(
        "ONNX Runtime",
        "1.32.0",
        ("StringSplit",),
        "without a delimiter splits at spaces only",
        "the input is split on consecutive whitespace",
        _other_white_space,
        lambda: _split("a\tb"),
    ),
    Disagreement(
        "ONNX Runtime",
        "1.32.0",
        ("StringSplit",),
        "no substring in an empty string beside a delimiter",
        "only without a delimiter are empty substrings dropped; one string without a delimiter in it is one substring",
        _splits_nothing,
        lambda: _split("", delimiter=","),
    ),
    Disagreement(
        "onnx.reference",
        "1.23.2",
        ("StringSplit",),
        "keeps trailing white space in what is left after maxsplit",
        "leading or trailing whitespace is removed in the output",
        _white_space_in_the_rest,
        lambda: _split("a b ", maxsplit=1),
    ),
    Disagreement(
        "onnx.reference",
        "1.23.2",
        ("StringNormalizer",),
        "takes accents off",
        "stop words are removed and cases changed, nothing else",
        _beyond_ascii,
        lambda: _normalized("é"),
    ),
    Disagreement(
        "onnx.reference",
        "1.23.2",
        ("StringNormalizer",),
        "drops empty strings",
        "removes elements specified in stopwords, no others",
        _empty_texts,
        lambda: _normalized("a", ""),
    ),
    Disagreement(
        "onnx.reference",
        "1.23.2",
        ("StringNormalizer",),
        "removes stop words inside of elements, which it splits at spaces",
        "removes elements specified in stopwords",
        _several_words,
        lambda: _normalized("a b", stopwords=["a"], is_case_sensitive=1),
    ),
    Disagreement(
        "onnx.reference",
        "1.23.2",
        ("StringNormalizer",),
        "without a change of case misses stop words of another case although is_case_sensitive is 0",
        "is_case_sensitive tells whether the identification of stop words is case-sensitive",
        _stopped_in_any_case,
        lambda: _normalized("A", "b", stopwords=["a"]),
    ),
    Disagreement(
        "onnx.reference",
        "1.23.2",
        ("StringNormalizer",),
        "takes a tensor of several rows",
        "only accepts [C]- and [1, C]-tensor",
        lambda s: s.input(0).ndim == 2 and len(s.input(0)) != 1,
        lambda: call("StringNormalizer", [NAMES], version=10, case_change_action="NONE"),
    ),
    Disagreement(
        "onnx.reference",
        "1.23.2",
        ("RegexFullMatch",),
        "takes [[:alpha:]] as a class of the characters in it and a bracket",
        "the pattern must follow RE2's syntax",
        _named_class,
        lambda: _matched("[[:alpha:]]", "b"),
    ),
    Disagreement(
        "onnx.reference",
        "1.23.2",
        ("RegexFullMatch",),
        r"letters and digits beyond ASCII in \w, \d, \s and \b",
        "these are ASCII classes in RE2",
        _class_beyond_ascii,
        lambda: _matched(r"\w", "é"),
    ),
    Disagreement(
        "onnx.reference",
        "1.23.2",
        ("RegexFullMatch",),
        "$ also before a line feed at the end",
        "$ is the end of the text in RE2, unless the flag m is set",
        _end_before_a_line_feed,
        lambda: _matched(r"a$\s", "a\n"),
    ),
    Disagreement(
        "onnx.reference",
        "1.23.2",
        ("TfIdfVectorizer",),
        "takes weights by output coordinate",
        "the i-th element in weights is the weight of the i-th n-gram in pool",
        _weights_by_coordinate,
        lambda: _counted(mode="TFIDF", ngram_indexes=[1, 0], weights=[2.0, 3.0], pool_int64s=[1, 5]),
    ),
    Disagreement(
        "onnx.reference",
        "1.23.2",
        ("TfIdfVectorizer",),
        "counts an n-gram that the pool holds twice at one of its coordinates only",
        "Y[ngram_indexes[i]] indicates the times that the i-th n-gram is found",
        _pooled_twice,
        lambda: _counted(mode="TF", ngram_indexes=[0, 1], pool_int64s=[1, 1]),
    ),
]

DECLINED: Mapping[str, Mapping[str, str]] = {}
