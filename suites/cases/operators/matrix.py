"""Matrix products."""

from __future__ import annotations

from suites.cases.operators import products, quantized_products
from suites.cases.operators.table import Entry, Row

_MATMUL = "a:5x7.b:7x3 a:2x3x5x7.b:2x3x7x11 a:3x1x5x7.b:2x7x3 a:11x13.b:13x17.const:b a:2x5x7.b:7x3.const:b"
_MATMUL_MORE = (
    "a:7.b:7 a:7.b:7x5 a:5x7.b:7 a:7.b:3x7x5 a:2x3x5x7.b:7 a:1x1.b:1x1 a:1x31.b:31x1 a:0x7.b:7x3 "
    "a:3x0.b:0x5 a:2x1x3x5x7.b:3x7x2"
)
_MATMUL_LARGE = "a:13x257.b:257x11 a:5x1031.b:1031x7.const:b a:3x4099.b:4099x2"
_GEMM = (
    "a:5x7.b:7x3 "
    "a:5x7.b:7x3.c:3.const:b_c "
    "a:7x5.b:3x7.c:5x3.transA:1.transB:1.const:b "
    "a:5x7.b:3x7.c:1x3.beta:2.transB:1.const:b_c "
    "a:7x5.b:7x3.c:5x1.alpha:2.transA:1"
)
_GEMM_MORE = (
    "a:5x7.b:7x3.c:scalar a:5x7.b:7x3.c:1.beta:5e-1 a:5x7.b:7x3.c:5x3.alpha:3e-1.beta:-7e-1 "
    "a:5x7.b:7x3.c:3.alpha:0.beta:1 a:1x67.b:31x67.c:31.transB:1.const:b_c a:3x0.b:0x5.c:5"
)
_EINSUM = (
    "inputs0:3x5.inputs1:5x7.equation:ij+2Cjk-+3Eik "
    "inputs0:2x3x5.inputs1:2x5x7.equation:bij+2Cbjk-+3Ebik "
    "inputs0:2x5x3x7.inputs1:2x11x3x7.equation:bihd+2Cbjhd-+3Ebhij "
    "inputs0:3x5.equation:ij-+3Eji "
    "inputs0:3x5x7.equation:ijk-+3Eik "
    "inputs0:5x5.equation:ii-+3Ei"
)
_EINSUM_MORE = (
    "inputs0:5.inputs1:7.equation:i+2Cj-+3Eij "
    "inputs0:2x3x5.inputs1:5x7.equation:+2E+2E+2Ei+2Cij-+3E+2E+2E+2Ej "
    "inputs0:3x5.inputs1:5x7.inputs2:7x2.equation:ij+2Cjk+2Ckl-+3Eil "
    "inputs0:5.inputs1:5.equation:i+2Ci-+3E "
    "inputs0:3x5.inputs1:5x7.equation:ij+2Cjk"
)
# {w}: suffix of the second type, "" where it is the first.
_INTEGER = (
    "a:5x7.b:7x3{w} "
    "a:5x7.b:7x3{w}.a_zero_point:scalar.b_zero_point:scalar{w}.const:b_a_zero_point_b_zero_point "
    "a:2x5x7.b:2x7x3{w}.a_zero_point:scalar.const:a_zero_point"
)

CASES: tuple[Entry, ...] = (
    Row("MatMul-13", "f32", "normal grid lattice", f"{_MATMUL} {_MATMUL_MORE}"),
    Row("MatMul-13", "f32", "normal grid", _MATMUL_LARGE),
    Row("MatMul-13", "f32", "lattice positive", "a:13x257.b:257x11"),
    Row("MatMul-13", "f32", "index", "a:5x7.b:7x3"),
    Row("MatMul-13", "f32 f16", "special", "a:31x17.b:17x3"),
    Row("MatMul-13", "f16", "normal lattice", f"{_MATMUL} a:13x257.b:257x11"),
    Row("MatMul-13", "bf16", "normal lattice", "a:5x7.b:7x3 a:2x3x5x7.b:2x3x7x11 a:13x257.b:257x11"),
    Row("MatMul-13", "f64", "normal", "a:2x3x5x7.b:2x3x7x11"),
    Row("MatMul-13", "i32 i64 u32", "normal uniform", "a:5x7.b:7x3 a:2x3x5x7.b:2x3x7x11"),
    Row("Gemm-13", "f32", "normal grid lattice", _GEMM),
    Row("Gemm-13", "f32", "normal grid", _GEMM_MORE),
    Row("Gemm-13", "f32", "normal", "a:31x509.b:509x67.c:67.const:b_c"),
    Row("Gemm-13", "f16", "normal lattice", _GEMM),
    Row("Gemm-13", "i32 i64", "normal", "a:5x7.b:7x3.c:3.const:b_c a:7x5.b:3x7.transA:1.transB:1"),
    Row("Gemm-13", "bf16 f64", "normal", "a:5x7.b:7x3.c:3.const:b_c"),
    Row("Einsum-12", "f32", "normal lattice", f"{_EINSUM} {_EINSUM_MORE}"),
    Row("Einsum-12", "f32", "grid", _EINSUM),
    Row("Einsum-12", "f16 f64 i8 u8 i32 i64", "normal", "inputs0:2x3x5.inputs1:2x5x7.equation:bij+2Cbjk-+3Ebik"),
    *(
        Row("MatMulInteger-10", dtype, "uniform extreme", _INTEGER.format(w=weights))
        for dtype, weights in (("u8", ""), ("u8", ":i8"), ("i8", ""), ("i8", ":u8"))
    ),
    *products.CASES,
    *quantized_products.INTEGER,
)
