"""Strings: object arrays of str in and out, and counts."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reference.ops.regular_expressions import translate

Array = NDArray[Any]


def _each(function: Callable[[str], Any], x: Array) -> Array:
    """The function of each string, an object array of x's shape."""
    return np.asarray(np.frompyfunc(function, 1, 1)(x), object)


def string_concat(x: Array, y: Array) -> Array:
    """StringConcat-20: each string of x followed by the one of y, broadcast."""
    return np.asarray(np.add(x.astype(object), y.astype(object)), object)


def string_split(x: Array, *, delimiter: str = "", maxsplit: int | None = None) -> tuple[Array, Array]:
    """StringSplit-20: (x.shape + (most parts,), parts padded with ""), and the int64 number of parts of each string.

    Without a delimiter, runs of white space separate, and count for nothing at both ends, so that "" has no parts; with one,
    "" has one. After `maxsplit` separators the rest stays in one part. Open in ONNX: which characters beyond ASCII are white
    space (Unicode's here).
    """
    limit = -1 if maxsplit is None else maxsplit
    parts = [text.split(delimiter, limit) if delimiter else text.strip().split(None, limit) for text in x.ravel()]
    counts = np.array([len(p) for p in parts], np.int64).reshape(x.shape)
    width = counts.max(initial=0)
    padded = np.full((*x.shape, width), "", object)
    padded[np.arange(width) < counts[..., None]] = list(itertools.chain.from_iterable(parts))
    return padded, counts


def _lower(text: str, dotless: bool) -> str:
    """Lower case; Turkish and Azeri have two letters I, with and without a dot (Unicode's SpecialCasing.txt)."""
    return text.replace("İ", "i").replace("I\u0307", "i").replace("I", "ı").lower() if dotless else text.lower()


def _upper(text: str, dotless: bool) -> str:
    return text.replace("i", "İ").upper() if dotless else text.upper()


def string_normalizer(
    x: Array,
    *,
    case_change_action: str = "NONE",
    is_case_sensitive: int = 0,
    locale: str = "en_US",
    stopwords: Sequence[str] = (),
) -> Array:
    """StringNormalizer-10: x (C) or (1, C) without the stop words, then in LOWER or UPPER case, or as it is (NONE).

    Where nothing is left, one empty string, shape (1) or (1, 1). Open in ONNX: how cases are told apart and changed; here
    stop words compare in lower case, cases change as Unicode says in full ("ß" to "SS"), and `locale` matters only for
    Turkish and Azeri. Raises ValueError for other shapes and actions.
    """
    if x.ndim not in (1, 2) or (x.ndim == 2 and x.shape[0] != 1):
        raise ValueError(f"the input must have shape (C) or (1, C), not {x.shape}")
    if case_change_action not in ("NONE", "LOWER", "UPPER"):
        raise ValueError(f"case_change_action must be NONE, LOWER or UPPER, not {case_change_action}")
    dotless = re.split("[-_.]", locale)[0] in ("az", "tr")

    def key(word: str) -> str:
        return word if is_case_sensitive else _lower(word, dotless)

    stopped = {key(word) for word in stopwords}
    kept = np.array([word for word in x.ravel() if key(word) not in stopped] or [""], object)
    if case_change_action != "NONE":
        change = _lower if case_change_action == "LOWER" else _upper
        kept = _each(lambda word: change(word, dotless), kept)
    return kept[None] if x.ndim == 2 else kept


def regex_full_match(x: Array, *, pattern: str | None = None) -> Array:
    """RegexFullMatch-20: bool of x's shape, whether all of a string matches `pattern`, in RE2's syntax.

    Raises ValueError for patterns that are absent, invalid, or beyond `regular_expressions.translate`. What differs from RE2:
    Python's version of Unicode decides cases and categories, and the time of a match is not linear.
    """
    if pattern is None:
        raise ValueError("the attribute pattern is missing")
    try:
        compiled = re.compile(translate(pattern))
    except re.error as error:
        raise ValueError(f"the regular expression {pattern!r} is invalid: {error}") from None
    return _each(lambda text: compiled.fullmatch(text) is not None, x).astype(bool)


def _grams(pool: Sequence[Any], ngram_counts: Sequence[int], n: int) -> Sequence[Sequence[Any]]:
    """The n-grams of a pool that starts with all 1-grams; ngram_counts[n-1] is where those of length n begin."""
    if n > len(ngram_counts):
        return []
    start, end = [*ngram_counts, len(pool)][n - 1 : n + 1]
    if (end - start) % n:
        raise ValueError(f"{end - start} entries of the pool from {start} on do not make up {n}-grams")
    return [pool[i : i + n] for i in range(start, end, n)]


def _occurrences(tokens: Array, grams: Array, strides: Sequence[int]) -> Array:
    """How often each n-gram (K, n) occurs in each row of tokens (N, C) with one of the strides between its items: (N, K)."""
    rows, length = tokens.shape
    k, n = grams.shape
    windows = [np.zeros((rows, 0, n), tokens.dtype)]
    for stride in strides:
        count = max(length - (n - 1) * stride, 0)
        windows.append(np.stack([tokens[:, i * stride : i * stride + count] for i in range(n)], -1))
    every = np.concatenate(windows, 1)
    _, number = np.unique(np.concatenate([grams, every.reshape(-1, n)]), axis=0, return_inverse=True)
    number = number.reshape(-1)
    kinds = int(number.max(initial=-1)) + 1
    position = number[k:].reshape(every.shape[:2]) + np.arange(rows)[:, None] * kinds
    found = np.bincount(position.ravel(), minlength=rows * kinds).reshape(rows, kinds)
    return np.asarray(found[:, number[:k]])


def tf_idf_vectorizer(
    x: Array,
    *,
    max_gram_length: int,
    max_skip_count: int,
    min_gram_length: int,
    mode: str,
    ngram_counts: Sequence[int],
    ngram_indexes: Sequence[int],
    pool_int64s: Sequence[int] | None = None,
    pool_strings: Sequence[str] | None = None,
    weights: Sequence[float] | None = None,
) -> Array:
    """TfIdfVectorizer-9: x (C) or (N, C) → float (max(ngram_indexes)+1) or (N, that): how often the pool's n-grams occur.

    The i-th n-gram of the pool counts at ngram_indexes[i]. Between its items lie 0 to max_skip_count others, equally many each;
    1-grams are counted once. Mode TF: the count; IDF: 1 if it occurs; TFIDF: the count; the latter two times its weight. Open
    in ONNX: several n-grams with one index (their sum here). Raises ValueError for other ranks, pools and modes.
    """
    if x.ndim not in (1, 2):
        raise ValueError(f"the input must have shape (C) or (N, C), not {x.shape}")
    if mode not in ("TF", "IDF", "TFIDF"):
        raise ValueError(f"mode must be TF, IDF or TFIDF, not {mode}")
    pool = pool_int64s if pool_strings is None else pool_strings
    if pool is None or (pool_int64s is not None and pool_strings is not None):
        raise ValueError("either pool_int64s or pool_strings must be given")
    if list(ngram_counts) != sorted(ngram_counts) or not all(0 <= n <= len(pool) for n in ngram_counts):
        raise ValueError(f"ngram_counts are ascending positions in a pool of {len(pool)}, not {list(ngram_counts)[:8]}")
    if min(ngram_indexes, default=0) < 0 or max_skip_count < 0:
        raise ValueError("ngram_indexes and max_skip_count cannot be negative")
    skips = min(max_skip_count, x.shape[-1])  # a longer one finds nothing
    sizes = range(1, len(ngram_counts) + 1)
    grams = {n: _grams(pool, ngram_counts, n) for n in sizes}
    if sum(map(len, grams.values())) != len(ngram_indexes):
        raise ValueError(f"the pool has {sum(map(len, grams.values()))} n-grams, but ngram_indexes {len(ngram_indexes)}")
    factors = np.ones(len(ngram_indexes)) if mode == "TF" or not weights else np.array(weights, np.float64)
    code = {token: i for i, token in enumerate(dict.fromkeys(pool))}
    tokens = _each(lambda token: code.get(token, -1), np.atleast_2d(x)).astype(np.int64)
    places = np.array(ngram_indexes, np.int64)
    result = np.zeros((len(tokens), places.max() + 1))
    first = 0
    for n, pooled in grams.items():
        if pooled and min_gram_length <= n <= max_gram_length:
            coded = np.array([[code[token] for token in gram] for gram in pooled], np.int64)
            counts = _occurrences(tokens, coded, range(1, skips + 2) if n > 1 else [1])
            scaled = (np.minimum(counts, 1) if mode == "IDF" else counts) * factors[first : first + len(pooled)]
            np.add.at(result.T, places[first : first + len(pooled)], scaled.T)
        first += len(pooled)
    return result[0] if x.ndim == 1 else result
