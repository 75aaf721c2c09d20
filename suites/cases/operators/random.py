"""Random numbers, judged by range, type, distribution and independence; enough of them that both halves of a tensor tell."""

from __future__ import annotations

from suites.cases.operators.table import Row

_MOMENTS = (
    "",
    "mean:3",
    "scale:2",
    "mean:-1.scale:5e-1",
    "mean:1e2.scale:1e-2",
    "scale:1e3",
    "mean:-5e-1.scale:1e-3",
)
_RANGES = ("", "high:2", "low:-1", "high:1e2.low:-1e2", "high:5e-1.low:25e-2", "high:-1.low:-3", "high:1e-3", "high:1e3.low:1")
_SHAPES = ("23x31", "512", "7x1x13x5", "1x3x257", "64x16", "300x1", "2x2x2x2x2x2x2x2")


def _fields(attributes: str, seed: str) -> str:
    """Attributes in alphabetical order."""
    named = sorted(f for f in (*attributes.split("."), seed and f"seed:{seed}") if f)
    return "".join(f".{field}" for field in named)


def _free(ends: tuple[str, ...], dtype: str) -> str:
    """Middles of operators without input: every shape with the plain distribution, every distribution with the first one."""
    pairs = [("", shape) for shape in _SHAPES] + [(end, _SHAPES[0]) for end in ends[1:]]
    made = []
    for i, (end, shape) in enumerate(pairs):
        fields = [
            f
            for f in (f"dtype:{dtype}", *end.split("."), f"seed:{i}" if i % 2 else "", f"shape:{shape.replace('x', '_')}")
            if f
        ]
        made.append(".".join(sorted(fields)))
    return " ".join(made)


def _like(ends: tuple[str, ...]) -> str:
    return " ".join(
        [f"input:{shape}{_fields('', '3' if i % 2 else '')}" for i, shape in enumerate(_SHAPES)]
        + [f"input:{_SHAPES[0]}{_fields(end, '')}" for end in ends[1:]]
        + [f"input:{_SHAPES[1]}{_fields(end, '5')}" for end in ends[1:4]]
    )


_NEW = "RandomNormal-22 RandomUniform-22"
_ALIKE_NEW = "RandomNormalLike-22 RandomUniformLike-22"

CASES = (
    *(Row("RandomNormal-1", kind, "", _free(_MOMENTS, kind)) for kind in ("f32", "f64")),
    Row("RandomNormal-1", "f32", "", "dtype:f32.mean:3.scale:0.shape:5_7"),  # nothing is left to chance
    *(Row("RandomUniform-1", kind, "", _free(_RANGES, kind)) for kind in ("f32", "f64")),
    *(Row(f"RandomNormal-1 RandomUniform-1 {_NEW}", kind, "", f"dtype:{kind}.shape:23_31") for kind in ("f16", "f32")),
    Row(_NEW, "bf16", "", "dtype:bf16.seed:1.shape:23_31"),
    Row("RandomNormalLike-1", "f32", "normal", _like(_MOMENTS)),
    Row("RandomUniformLike-1", "f32", "normal", _like(_RANGES)),
    # the type is the input's unless an attribute names one
    Row("RandomNormalLike-1 RandomUniformLike-1", "f64 f16", "normal", "input:23x31"),
    Row("RandomNormalLike-1 RandomUniformLike-1", "i32 u8 bool", "index", "input:23x31.dtype:f32 input:7x67.dtype:f64.seed:1"),
    Row(_ALIKE_NEW, "f32 bf16", "normal", "input:23x31"),
    Row("Bernoulli-15", "f32", "normal zero", " ".join(f"input:{shape}" for shape in _SHAPES[:4])),
    Row("Bernoulli-15", "f32", "normal", " ".join(f"input:23x31.dtype:{kind}" for kind in ("i32", "bool", "f64", "u8", "i64"))),
    Row("Bernoulli-15", "f64", "normal", "input:23x31"),
    Row("Bernoulli-22", "f32", "normal zero", "input:23x31.seed:4"),
    Row(
        "Multinomial-7",
        "f32",
        "normal zero uniform",
        "input:3x5.sample_size:300 input:1x2.sample_size:500 input:17x3.sample_size:31 input:2x257.sample_size:64 "
        "input:4x1.sample_size:9 input:3x5.dtype:i64.sample_size:200 input:3x5.sample_size:200.seed:2 input:2x7",
    ),
    Row("Multinomial-7 Multinomial-22", "f16", "normal", "input:3x5.sample_size:300"),
    Row("Multinomial-22", "f32", "normal", "input:3x5.sample_size:300"),
)
