"""Random operators: pure functions of seed and shape, in the right type, with the words of Philox."""

import hashlib
import itertools
import struct

import numpy as np
import pytest

from reference.ops import random

FLOAT, INT32, INT64, BOOL, FLOAT16, DOUBLE, BFLOAT16 = 1, 6, 7, 9, 10, 11, 16


def words(key, n):
    return np.random.Philox(key=int.from_bytes(hashlib.blake2b(key, digest_size=16).digest(), "little")).random_raw(n)


def test_values_come_from_the_words_of_seed_and_operator():
    expected = [int(w >> np.uint64(40)) / 2**24 for w in words(b"RandomUniform" + struct.pack("<f", 1.5), 4)]
    assert random.random_uniform(shape=[2, 2], seed=1.5).ravel().tolist() == expected
    unseeded = [int(w >> np.uint64(11)) / 2**53 for w in words(b"RandomUniform", 3)]
    assert random.random_uniform(shape=[3], dtype=DOUBLE).tolist() == unseeded
    like = [int(w >> np.uint64(53)) / 2**11 * 4 - 2 for w in words(b"RandomUniformLike", 3)]
    assert random.random_uniform_like(np.zeros(3), dtypes=("float16",), low=-2.0, high=2.0).tolist() == like


def test_normal_values_are_box_and_mullers():
    u = [int(w >> np.uint64(11)) / 2**53 for w in words(b"RandomNormal", 2)]
    expected = 3 + 0.5 * np.sqrt(-2 * np.log(1 - u[0])) * np.cos(2 * np.pi * u[1])
    assert random.random_normal(shape=[], mean=3.0, scale=0.5) == pytest.approx(expected, rel=1e-14)


CALLS = {
    "bernoulli": lambda **a: random.bernoulli(np.full((40, 5), 0.5), dtypes=("float32",), **a),
    "multinomial": lambda **a: random.multinomial(np.zeros((40, 9)), sample_size=5, **a),
    "random_normal": lambda **a: random.random_normal(shape=[40, 5], **a),
    "random_normal_like": lambda **a: random.random_normal_like(np.zeros((40, 5)), dtypes=("float32",), **a),
    "random_uniform": lambda **a: random.random_uniform(shape=[40, 5], **a),
    "random_uniform_like": lambda **a: random.random_uniform_like(np.zeros((40, 5)), dtypes=("float32",), **a),
}


@pytest.mark.parametrize("name", CALLS)
def test_the_same_seed_gives_the_same_values(name):
    call = CALLS[name]
    results = [call(), call(seed=0.0), call(seed=1.0), call(seed=1.5), call(seed=float(2**24))]
    for seed, result in zip((None, 0.0, 1.0, 1.5, 2.0**24), results, strict=True):
        again = call() if seed is None else call(seed=seed)
        assert (again == result).all()
    for one, other in itertools.combinations(results, 2):
        assert (one != other).any()


def test_likes_take_shape_and_type_from_attribute_or_input():
    x = np.zeros((2, 0, 3), np.int8)
    assert random.random_normal_like(x, dtypes=("int8",), dtype=BFLOAT16).shape == (2, 0, 3)
    strings = np.array(["a", "b"], object)
    assert random.random_uniform_like(strings, dtypes=("str",), dtype=DOUBLE).shape == (2,)
    for function in (random.random_normal_like, random.random_uniform_like):
        with pytest.raises(ValueError, match="int8"):
            function(x, dtypes=("int8",))
    with pytest.raises(ValueError, match="dtype 0"):
        random.random_normal(shape=[1], dtype=0)


@pytest.mark.parametrize(("dtype", "precision"), [(FLOAT, 24), (FLOAT16, 11), (BFLOAT16, 8), (DOUBLE, 53)])
def test_uniform_values_fit_their_type(dtype, precision):
    scaled = random.random_uniform(shape=[5000], dtype=dtype) * 2.0**precision
    assert (scaled == np.floor(scaled)).all()
    assert 0 <= scaled.min() < scaled.max() < 2.0**precision


def test_bernoulli_types_and_certain_outcomes():
    p = np.array([0.0, 1.0] * 50)
    assert (random.bernoulli(p, dtypes=("float16",)) == p).all()
    for dtype, kind in ((BOOL, np.bool_), (INT64, np.int64), (BFLOAT16, np.float64)):
        y = random.bernoulli(p, dtypes=("float32",), dtype=dtype)
        assert (y == p).all()
        assert y.dtype == kind
    assert random.bernoulli(np.zeros((0, 2)), dtypes=("float32",)).shape == (0, 2)


def test_bernoulli_follows_its_text():
    """1 with probability p: the function body would draw a mean of 0.8."""
    assert random.bernoulli(np.full(10000, 0.2), dtypes=("float32",)).mean() == pytest.approx(0.2, abs=0.03)


@pytest.mark.parametrize("p", [-0.1, 1.1, np.nan])
def test_bernoulli_refuses_what_is_no_probability(p):
    with pytest.raises(ValueError, match="probability"):
        random.bernoulli(np.array([p]), dtypes=("float32",))


def test_multinomial_draws_possible_classes():
    x = np.array([[-np.inf, 800.0, -np.inf, -900.0], [5.0, -np.inf, 5.0, -np.inf]])
    y = random.multinomial(x, sample_size=500)
    assert (y.shape, y.dtype) == ((2, 500), np.int32)
    assert set(y[0]) == {1}  # e^-1700 is 0
    assert set(y[1]) == {0, 2}
    assert random.multinomial(x, dtype=INT64).dtype == np.int64
    assert random.multinomial(np.zeros((0, 3)), sample_size=2).shape == (0, 2)
    assert random.multinomial(np.zeros((3, 1)), sample_size=0).shape == (3, 0)


@pytest.mark.parametrize("x", [np.zeros(3), np.zeros((2, 0)), [[-np.inf]], [[np.inf, 0]], [[np.nan, 0]]])
def test_multinomial_refuses(x):
    with pytest.raises(ValueError, match="log-probabilities"):
        random.multinomial(np.array(x))
