"""Strings: empty ones, white space at the ends, letters beyond ASCII; n-grams of strings and integers."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from hypothesis import strategies as st

from ..samples import Array, Sample, any_shape, broadcastable, call, shapes

INT64, INT32 = np.int64, np.int32


def _texts(draw: st.DrawFn, shape: tuple[int, ...], alphabet: str, longest: int = 6) -> Array:
    """Strings of letters of the alphabet."""
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    result = np.full(shape, "", object)
    for i in range(result.size):
        result.flat[i] = "".join(random.choice(list(alphabet), random.integers(0, longest, endpoint=True)))
    return result


def _concat(draw: st.DrawFn) -> Sample:
    shape = any_shape(draw, max_dims=3)
    x, y = _texts(draw, shape, "ab é"), _texts(draw, broadcastable(draw, shape), "cß")
    return call("StringConcat", [x, y] if draw(st.booleans()) else [y, x], version=20)


def _split(draw: st.DrawFn) -> Sample:
    delimiter = draw(st.sampled_from([None, "", ",", "a", "ab", " "]))
    maxsplit = draw(st.none() | st.integers(0, 3))
    x = _texts(draw, any_shape(draw, max_dims=3, max_side=3), draw(st.sampled_from(["ab, ", "ab,é \t\n"])), 8)
    return call("StringSplit", [x], version=20, outputs=2, delimiter=delimiter, maxsplit=maxsplit)


def _normalize(draw: st.DrawFn) -> Sample:
    """Words that differ by their case only, and with some locales empty ones, two at once and letters beyond ASCII."""
    locale = draw(st.sampled_from([None, "en_US", "C", "C"]))
    words = ["a", "A", "the", "The", "b", "B"] + ([] if locale == "C" else ["", "b c", "é", "É", "straße"])
    x = np.array(draw(st.lists(st.sampled_from(words), min_size=1, max_size=6)), object)
    return call(
        "StringNormalizer",
        [x[None] if draw(st.booleans()) else x],
        version=10,
        stopwords=draw(st.lists(st.sampled_from(words), unique=True)) or None,
        is_case_sensitive=draw(st.sampled_from([None, 0, 1])),
        case_change_action=draw(st.sampled_from([None, "NONE", "LOWER", "UPPER"])),
        locale=locale,
    )


ATOMS = ("a", "b", "1", ".", "é", "[ab]", "[^a]", r"\d", r"\w", r"\s", r"\D", r"\.", "[[:alpha:]]", r"\pL", "(?i:b)")
BORDERS = ("^", "$", r"\b")


def _pattern(draw: st.DrawFn, depth: int = 2) -> str:
    """A regular expression of RE2: a sequence of atoms and groups, some of them repeated, some with alternatives."""
    parts = []
    for _ in range(draw(st.integers(0, 3))):
        inside = depth and draw(st.integers(0, 3)) == 3
        atom = f"({_pattern(draw, depth - 1)})" if inside else draw(st.sampled_from(ATOMS))
        parts.append(atom + draw(st.sampled_from(["", "", "*", "+", "?", "{1,2}", "*?", *BORDERS])))
    return "".join(parts) + (f"|{_pattern(draw, 0)}" if draw(st.integers(0, 3)) == 3 else "")


def _full_match(draw: st.DrawFn) -> Sample:
    x = _texts(draw, (draw(st.integers(1, 12)),), draw(st.sampled_from(["ab1", "abB1é. \n"])), 4)
    return call("RegexFullMatch", [x], version=20, pattern=_pattern(draw))


def _pool(draw: st.DrawFn, vocabulary: list[Any], longest: int) -> tuple[list[Any], list[int], int]:
    """n-grams of each length up to the longest, now and then one twice; where each length begins; how many there are."""
    pool: list[Any] = []
    starts, count = [], 0
    for n in range(1, longest + 1):
        every = list(itertools.product(vocabulary, repeat=n))
        chosen = draw(st.lists(st.sampled_from(every), min_size=int(n == 1), max_size=3, unique=draw(st.integers(0, 7)) < 7))
        starts.append(len(pool))
        pool += [token for gram in chosen for token in gram]
        count += len(chosen)
    return pool, starts, count


def _tf_idf(draw: st.DrawFn) -> Sample:
    text = draw(st.booleans())
    vocabulary: list[Any] = ["", "a", "é"] if text else [1, 2, -3]
    longest = draw(st.integers(1, 3))
    pool, starts, count = _pool(draw, vocabulary, longest)
    places = draw(st.permutations(range(count + draw(st.integers(0, 1)))))[:count]
    if draw(st.integers(0, 7)) == 7:
        places[0] = places[-1]
    least = draw(st.integers(1, longest))
    weights = draw(st.none() | st.lists(st.sampled_from([0.5, 1.0, 2.0, -3.0]), min_size=count, max_size=count))
    tokens = [*vocabulary, "z" if text else 9]
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    x = np.array(tokens, object)[random.integers(0, len(tokens), draw(shapes(1, 2, 1, 8)))]
    return call(
        "TfIdfVectorizer",
        [x if text else x.astype(draw(st.sampled_from([INT64, INT32])))],
        version=9,
        mode=draw(st.sampled_from(["TF", "IDF", "TFIDF"])),
        min_gram_length=least,
        max_gram_length=draw(st.integers(least, longest)),
        max_skip_count=draw(st.integers(0, 3)),
        ngram_counts=starts,
        ngram_indexes=places,
        weights=weights,
        **{"pool_strings" if text else "pool_int64s": pool},
    )


DRAW: Mapping[str, Callable[[st.DrawFn], Sample]] = {
    "RegexFullMatch": _full_match,
    "StringConcat": _concat,
    "StringNormalizer": _normalize,
    "StringSplit": _split,
    "TfIdfVectorizer": _tf_idf,
}
