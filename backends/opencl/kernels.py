"""OpenCL C source of the kernels, made from a few shapes of computation.

Every kernel walks one index space, one work item an element (a line, for Softmax), and finds its operands through descriptors:
(rank, offset, then extent and stride of each axis from the last to the first), all in elements. So broadcasts, transposes,
layouts and strided buffers are the same kernel with other numbers. Argument 0 holds (count, slot, descriptors, one every
`slot` numbers): first the output's, then those of the inputs, then those of inner loops.

`FP_CONTRACT OFF` keeps a·b + c at two roundings, as the rung fp32 declares.
"""

from __future__ import annotations

from collections.abc import Sequence

from backends.opencl.elements import BITS, SCALARS, load, store

PRELUDE = """
#pragma OPENCL FP_CONTRACT OFF
static long at(__global const long *d, long i) {
    long place = d[1];
    for (long k = 0; k < d[0]; k++) { place += (i % d[2 + 2 * k]) * d[3 + 2 * k]; i /= d[2 + 2 * k]; }
    return place;
}
static long extent(__global const long *d) {
    long count = 1;
    for (long k = 0; k < d[0]; k++) count *= d[2 + 2 * k];
    return count;
}
static ushort to_bfloat16(float f) {
    uint u = as_uint(f);
    return (ushort)(isnan(f) ? (u >> 16) | 0x40 : (u + 0x7fff + ((u >> 16) & 1)) >> 16);
}
"""
"""`to_bfloat16` rounds to nearest, ties to even, and keeps NaN quiet."""

ODD = """
static float odd({wide} x) {{
    float f = convert_float_rtz(x);
    return ({wide})f == x ? f : as_float(as_uint(f) | 1);
}}
"""
"""Rounds a wide number to the odd float beside it, so that rounding on to 16 bits is not a second rounding (Boldo and
Melquiond, Emulation of FMA and correctly rounded sums: proved algorithms using rounding to odd, 2008)."""

ODD_FROM = frozenset({"float64", "int32", "uint32", "int64", "uint64"})
NARROW = frozenset({"float16", "bfloat16"})


def _kernel(inputs: Sequence[str], output: str, body: str, extra: str = "") -> str:
    """A kernel `run` whose pointers are called x0, x1, … and y; types are those in memory."""
    pointers = "".join(f"__global const {stored} *x{n}, " for n, stored in enumerate(inputs))
    fp64 = "#pragma OPENCL EXTENSION cl_khr_fp64 : enable" if "double" in {*inputs, output} else ""
    return f"""{fp64}{PRELUDE}{extra}
__kernel void run(__global const long *shape, {pointers}__global {output} *y) {{
    const long i = get_global_id(0), slot = shape[1];
    if (i >= shape[0]) return;
    __global const long *d = shape + 2;
    {body}
}}
"""


def move(width: int) -> str:
    """Elements of `width` bits from one place to another."""
    stored = BITS[width]
    return _kernel([stored], stored, "y[at(d, i)] = x0[at(d + slot, i)];")


def elementwise(expression: str, dtype: str, arity: int) -> str:
    """`expression` of a, b, c in the type C of arithmetic, whose wrapping twin is W."""
    scalar = SCALARS[dtype]
    values = "".join(f"const C {'abc'[n]} = {load(dtype, f'x{n}', f'at(d + {n + 1} * slot, i)')};\n    " for n in range(arity))
    types = f"typedef {scalar.computed} C;\ntypedef {scalar.wraps} W;\n"
    return _kernel([scalar.stored] * arity, scalar.stored, values + store(dtype, "y", "at(d, i)", expression), types)


def cast(source: str, target: str) -> str:
    """Cast: reals to integers truncate, integers wrap, reals round to nearest even, whatever is not 0 is true."""
    wide = source in ODD_FROM and target in NARROW
    value = load(source, "x0", "at(d + slot, i)")
    target_type = SCALARS[target].computed
    value = f"odd({value})" if wide else value if target == "bool" else f"({target_type})({value})"
    extra = ODD.format(wide=SCALARS[source].computed) if wide else ""
    return _kernel([SCALARS[source].stored], SCALARS[target].stored, store(target, "y", "at(d, i)", value), extra)


def contraction(dtype: str, *, bias: bool = False) -> str:
    """One sum of products, of a matrix product or a convolution, from a bias on; terms are added one after the other."""
    scalar = SCALARS[dtype]
    start = load(dtype, "x2", "at(d + 3 * slot, i)") if bias else "0"
    left, right = ("d + 4 * slot", "d + 5 * slot") if bias else ("d + 3 * slot", "d + 4 * slot")
    body = f"""{scalar.wraps} sum = {start};
    const long a = at(d + slot, i), b = at(d + 2 * slot, i), terms = extent({left});
    for (long k = 0; k < terms; k++)
        sum += ({scalar.wraps}){load(dtype, "x0", f"a + at({left}, k)")} * \
({scalar.wraps}){load(dtype, "x1", f"b + at({right}, k)")};
    {store(dtype, "y", "at(d, i)", "sum")}"""
    return _kernel([scalar.stored] * (3 if bias else 2), scalar.stored, body)


def reduce_sum(dtype: str) -> str:
    """One sum; the terms are added one after the other."""
    scalar = SCALARS[dtype]
    body = f"""{scalar.wraps} sum = 0;
    const long a = at(d + slot, i), terms = extent(d + 2 * slot);
    for (long k = 0; k < terms; k++) sum += ({scalar.wraps}){load(dtype, "x0", "a + at(d + 2 * slot, k)")};
    {store(dtype, "y", "at(d, i)", "sum")}"""
    return _kernel([scalar.stored], scalar.stored, body)


def softmax(dtype: str) -> str:
    """One line, in three passes: maximum, sum, quotients. `max` of OpenCL C may drop NaN, the comparison keeps it."""
    scalar = SCALARS[dtype]
    value = load(dtype, "x0", "a + at(d + 2 * slot, k)")
    body = f"""typedef {scalar.computed} C;
    const long a = at(d + slot, i), start = at(d, i), terms = extent(d + 2 * slot);
    C top = -INFINITY, sum = 0;
    for (long k = 0; k < terms; k++) {{ const C v = {value}; top = v <= top ? top : v; }}
    for (long k = 0; k < terms; k++) sum += exp({value} - top);
    for (long k = 0; k < terms; k++) {store(dtype, "y", "start + at(d + 3 * slot, k)", f"exp({value} - top) / sum")}"""
    return _kernel([scalar.stored], scalar.stored, body)
