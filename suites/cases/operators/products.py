"""Matrix products in all their shapes: MatMul, Gemm, Einsum, Det."""

from __future__ import annotations

from suites.cases.operators.sizes import WIDTHS
from suites.cases.operators.sweep import Sweep, joined
from suites.cases.operators.table import Row

# MatMul

# Batches on either side, broadcast against each other; "" is a matrix, vectors stand in _VECTORS.
_BATCHES = (
    ("", ""), ("2", "2"), ("2", ""), ("", "3"), ("1", "3"), ("2", "1"), ("2x3", "2x3"), ("2x1", "1x3"), ("3", "2x3"),
    ("2x3", "3"), ("1x1", "2x2"), ("2x1x3", "2x1"), ("1x2x1", "3x1x2"), ("0", "1"), ("2x1", "0"),
)  # fmt: skip
_SIZES = ("5x7x3", "1x7x3", "5x7x1", "1x1x1", "4x4x4", "5x1x3", "8x16x8", "3x0x2", "17x9x5", "2x33x31")
_VECTORS = (
    "a:7.b:7 a:7.b:7x5 a:5x7.b:7 a:7.b:3x7x5 a:3x5x7.b:7 a:1.b:1 a:1.b:1x5 a:5x1.b:1 a:2x3x5x7.b:7 a:7.b:2x3x7x5 "
    "a:257.b:257 a:1031.b:1031x3 a:3x1031.b:1031 a:7.b:7x1 a:1x7.b:7"
)


def _batched(batches: tuple[str, str], sizes: str, const: str) -> str:
    m, k, n = sizes.split("x")
    a, b = (
        "x".join([*batch.split("x"), *matrix]) if batch else "x".join(matrix)
        for batch, matrix in zip(batches, ((m, k), (k, n)), strict=True)
    )
    return joined(f"a:{a}.b:{b}", const and f"const:{const}")


_MATMUL = {"batches": _BATCHES, "sizes": _SIZES, "const": ("", "b", "a", "a_b")}
_MATMUL_FEW = {"batches": _BATCHES[:8], "sizes": _SIZES[:7], "const": ("", "b")}
# Blocks and remainders of each of the three lengths.
_INNER = " ".join(f"a:3x{k}.b:{k}x5" for k in (*WIDTHS, 1031, 4099))
_OUTER = " ".join(f"a:{n}x9.b:9x5 a:5x9.b:9x{n}.const:b" for n in WIDTHS)
_SUMS = "a:2x4096.b:4096x3 a:1x8192.b:8192x2.const:b a:2x16384.b:16384x1"
_LARGE = "a:128x256.b:256x300.const:b a:4x2048.b:2048x65.const:b"

# Gemm

_BIASES = ("", "n", "1xn", "mxn", "mx1", "1x1", "scalar", "1")


def _gemm(sizes: str, turned: str, bias: str, alpha: str, beta: str, const: str) -> str | None:
    """Gemm; `turned` names the operands that are stored transposed."""
    if (const.endswith("c") or beta) and not bias:
        return None
    m, k, n = sizes.split("x")
    a = f"{k}x{m}" if "a" in turned else f"{m}x{k}"
    b = f"{n}x{k}" if "b" in turned else f"{k}x{n}"
    return joined(
        f"a:{a}.b:{b}",
        bias and f"c:{bias.replace('m', m).replace('n', n) if bias != 'scalar' else bias}",
        alpha and f"alpha:{alpha}",
        beta and f"beta:{beta}",
        "transA:1" if "a" in turned else "",
        "transB:1" if "b" in turned else "",
        const and f"const:{const}",
    )


_GEMM = {
    "sizes": ("5x7x3", "1x7x3", "5x7x1", "1x1x1", "17x9x5", "4x16x8", "2x33x31", "5x1x3", "3x257x2"),
    "turned": ("", "b", "a", "ab"),
    "bias": _BIASES,
    "alpha": ("", "1", "5e-1", "-2", "3e-1"),
    "beta": ("", "1", "5e-1", "-1", "0", "7e-1"),
    "const": ("", "b", "b_c", "c", "a_b_c"),
}
_PLAIN = {"alpha": ("",), "beta": ("",)}
_GEMM_OLD = {**_GEMM, "bias": _BIASES[1:]}
_GEMM_FEW = {**_GEMM, "sizes": ("5x7x3", "2x33x31", "17x9x5"), "const": ("", "b_c")}
_GEMM_WIDTHS = " ".join(
    f"a:3x{k}.b:5x{k}.c:5.transB:1.const:b_c a:{k}x3.b:{k}x5.transA:1 a:3x9.b:9x{k}.c:{k}.const:b_c" for k in WIDTHS
)
_GEMM_SUMS = "a:2x4096.b:3x4096.c:3.transB:1.const:b_c a:1x8192.b:8192x2.c:2"
_GEMM_LARGE = "a:4x2048.b:65x2048.c:65.transB:1.const:b_c"

# Einsum: equations as they are written, escaped for an id.

_EQUATIONS = (
    # One operand: transposes, sums, diagonals, traces.
    ("ij->ij", "3x5"), ("ij->j", "3x5"), ("ij->i", "3x5"), ("ij->", "3x5"), ("i->", "7"), ("i->i", "7"), ("ii->", "5x5"),
    ("ijk->kji", "2x3x5"), ("ijk->jk", "2x3x5"), ("ijk->j", "2x3x5"), ("ijk->", "2x3x5"), ("ijkl->ilkj", "2x3x4x5"),
    ("iij->ij", "3x3x5"), ("iij->j", "3x3x5"), ("iji->ij", "3x5x3"), ("iii->i", "3x3x3"), ("ijij->ij", "2x3x2x3"),
    ("...ij->...ji", "2x3x5"), ("...i->...", "2x3x5"), ("...->...", "2x3"), ("ba", "3x5"),
    ("...ii->...i", "2x3x3"), ("i...j->j...i", "2x3x4x5"),
    # Two: products of vectors, of matrices, of batches; elementwise ones; sums over one operand alone.
    ("i,i->i", "7", "7"), ("i,j->ij", "3", "5"), ("i,j->ji", "3", "5"), ("i,->i", "5", "scalar"), (",->", "scalar", "scalar"),
    ("ij,ij->ij", "3x5", "3x5"), ("ij,ji->ij", "3x5", "5x3"), ("ij,ij->", "3x5", "3x5"), ("ij,j->i", "3x5", "5"),
    ("i,ij->j", "3", "3x5"), ("ij,kj->ik", "3x5", "7x5"), ("ji,jk->ik", "5x3", "5x7"), ("ji,kj->ik", "5x3", "7x5"),
    ("ij,jk->ki", "3x5", "5x7"), ("bij,bjk->bik", "2x3x4", "2x4x5"), ("bij,bkj->bik", "2x3x4", "2x5x4"),
    ("bji,bjk->bki", "2x4x3", "2x4x5"), ("bij,jk->bik", "2x3x4", "4x5"), ("ij,bjk->bik", "3x4", "2x4x5"),
    ("bhid,bhjd->bhij", "2x2x3x4", "2x2x5x4"), ("bhij,bhjd->bhid", "2x2x3x5", "2x2x5x4"),
    ("bhij,bjhd->bihd", "2x2x3x5", "2x5x2x4"),
    ("abc,cd->abd", "2x3x4", "4x5"), ("abc,bcd->ad", "2x3x4", "3x4x5"), ("abcd,cdef->abef", "2x2x3x2", "3x2x2x3"),
    ("ij,kl->ijkl", "2x3", "3x2"), ("ij,kl->", "2x3", "3x2"), ("ij,k->i", "3x5", "7"), ("ijk,k->ij", "2x3x5", "5"),
    ("ii,ij->j", "3x3", "3x5"), ("...ij,...jk->...ik", "2x3x4", "2x4x5"), ("...ij,...jk->...ik", "2x1x3x4", "1x3x4x5"),
    ("...ij,jk->...ik", "2x2x3x4", "4x5"), ("i...,i...->...", "3x4", "3x4"), ("...,...->...", "2x3", "2x1"),
    ("...i,...i", "2x5", "2x5"),
    ("bi,bj->bij", "2x3", "2x5"), ("ab,bc", "3x5", "5x2"), ("bqd,bkd->bqk", "1x3x8", "1x5x8"),
    # Three and four.
    ("i,i,i->i", "5", "5", "5"), ("i,j,k->ijk", "2", "3", "4"), ("ij,jk,kl->il", "2x3", "3x4", "4x5"),
    ("ij,jk,ki->", "2x3", "3x4", "4x2"),
    ("bn,anm,bm->ba", "2x3", "4x3x5", "2x5"), ("ij,j,jk->ik", "3x4", "4", "4x5"),
    ("ij,jk,kl,lm->im", "2x3", "3x2", "2x3", "3x2"),
    ("...ij,...jk,...kl->...il", "2x2x3", "2x3x2", "2x2x3"),
)  # fmt: skip
_ESCAPES = str.maketrans({",": "+2C", ">": "+3E", ".": "+2E"})


def _einsum(equation: str, *shapes: str) -> str:
    inputs = [f"inputs{i}:{shape}" for i, shape in enumerate(shapes)]
    return joined(*inputs, f"equation:{equation.translate(_ESCAPES)}")


_EINSUM = " ".join(_einsum(*words) for words in _EQUATIONS)
_SPACED = "inputs0:3x5.inputs1:5x7.equation:+20ij+20+2C+20jk+20-+3E+20ik+20 inputs0:3x5.inputs1:5x7.equation:aB+2CBc-+3Eac"

# Det: one to five rows, in batches.
_SQUARES = " ".join(
    f"x:{s}" for s in ("1x1", "2x2", "3x3", "4x4", "5x5", "7x7", "2x3x3", "3x1x1", "2x3x2x2", "1x4x4", "0x3x3", "9x9")
)

CASES = (
    Sweep("MatMul-13", "f32", "normal", _batched, _MATMUL),
    Sweep("MatMul-13", "f16", "normal", _batched, _MATMUL_FEW, one_in=2),
    Sweep("MatMul-13", "f32", "lattice", _batched, {**_MATMUL_FEW, "const": ("",)}, one_in=2),
    Sweep("MatMul-13", "f64 i32", "normal", _batched, {**_MATMUL_FEW, "batches": _BATCHES[:3], "const": ("",)}),
    Sweep("MatMul-1 MatMul-9", "f32", "normal", _batched, {**_MATMUL_FEW, "sizes": _SIZES[:3], "const": ("",)}, one_in=4),
    Row("MatMul-13", "f32", "normal lattice", f"{_VECTORS} {_INNER}"),
    Row("MatMul-13", "f32", "grid", _INNER, one_in=3),
    Row("MatMul-13", "f32", "normal", _OUTER),
    Row("MatMul-13", "f16", "normal", _INNER),
    Row("MatMul-13", "bf16", "lattice", " ".join(_INNER.split()[:15])),
    Row("MatMul-13", "f16 i32", "normal", _VECTORS),
    Row("MatMul-9", "i32 i64 u32 u64", "normal uniform", "a:5x7.b:7x3 a:2x5x7.b:7x3.const:b a:7.b:7x3"),
    Row("MatMul-13", "u64 u32 i32 i64", "uniform lattice", "a:5x33.b:33x3 a:3x2x9.b:9x4 a:9.b:9"),
    Row("MatMul-13", "f32", "tiny wide positive", "a:5x17.b:17x3 a:2x5x7.b:2x7x3"),
    Row("MatMul-13", "f32", "normal grid", _SUMS),
    Row("MatMul-13", "f16", "normal", _SUMS),
    Row("MatMul-13", "f32", "normal", _LARGE),
    Sweep("Gemm-13", "f32", "normal", _gemm, _GEMM),
    Sweep("Gemm-13", "f32", "lattice", _gemm, {**_GEMM, **_PLAIN}, one_in=3),
    Sweep("Gemm-11", "f32", "normal", _gemm, _GEMM_FEW, one_in=3),
    Sweep(
        "Gemm-7", "f32", "normal", _gemm, {**_GEMM_OLD, "sizes": ("5x7x3", "2x33x31", "17x9x5"), "const": ("", "b_c")}, one_in=3
    ),
    Sweep("Gemm-13", "f16", "normal", _gemm, _GEMM_FEW),
    Sweep("Gemm-13", "f64", "normal", _gemm, {**_GEMM_FEW, "const": ("",)}, one_in=4),
    Sweep("Gemm-13", "i32", "normal", _gemm, {**_GEMM_FEW, **_PLAIN}, one_in=2),
    Row("Gemm-13", "f32", "normal", _GEMM_WIDTHS),
    Row("Gemm-13", "f16", "normal", " ".join(_GEMM_WIDTHS.split()[::4])),
    Row("Gemm-13", "bf16", "lattice", "a:5x7.b:7x3.c:3 a:5x33.b:3x33.c:5x3.transB:1 a:9x5.b:9x3.transA:1"),
    Row("Gemm-9 Gemm-11 Gemm-13", "i32 u32 i64 u64", "normal", "a:5x7.b:7x3.c:5x3 a:7x5.b:3x7.c:3.transA:1.transB:1"),
    Row("Gemm-13", "f32", "normal grid", _GEMM_SUMS),
    Row("Gemm-13", "f32", "normal", _GEMM_LARGE),
    Row("Einsum-12", "f32", "normal lattice", f"{_EINSUM} {_SPACED}"),
    Row("Einsum-12", "f16", "normal", " ".join(_EINSUM.split()[::2]), one_in=2),
    Row("Einsum-12", "f64 i64", "normal", " ".join(_EINSUM.split()[::3]), one_in=3),
    Row("Det-11 Det-22", "f32", "normal lattice", _SQUARES),
    Row("Det-11", "f64", "normal", "x:3x3 x:2x4x4"),
    Row("Det-22", "f16 bf16", "normal", "x:3x3 x:2x2x2"),
)
