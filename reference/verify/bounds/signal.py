"""EXPLICIT bounds of Fourier transforms, the windows cut out for them, and the mel scale.

A transform is a sum of N products with roots of unity: E = c·Σ|x|, whatever the algorithm. c counts the roundings that an
element meets: 2N for the direct sum; for a fast transform log2 N stages of a rounded twiddle factor, a complex product and a
sum each (Higham, Accuracy and Stability, 2nd ed., ch. 24, whose normwise bound holds for every output by the triangle
inequality, Σ|x| in place of √N·‖x‖₂). Bluestein's convolution runs through three fast transforms of a longer signal, and its
error is normwise: Parseval's identity bounds what the inverse transform adds up by ‖x‖₂·‖chirp‖₂ = ‖x‖₂·√(2N).

On random data the roundings of direct and fast transforms add up like random ones; partial sums of a direct one grow in
proportion to the largest value where that is a tone, and to √k for noise.
"""

from __future__ import annotations

import math

import numpy as np

from reference.dtypes import FLOATS
from reference.node import Array, Node
from reference.ops import signal as transforms
from reference.verify.bounds.functions import ulps
from reference.verify.setting import Setting

BUTTERFLY = 4.0
"""Roundings of a complex product, √2·γ_2, and of a sum, in units of u (Higham, lemma 3.5 and section 24.1)."""

ROUNDING, RARE = 0.43, 6.0
"""Root mean square of a rounding error in units of u·|value| (√0.18, as in `reference.propagation`), and how many of it random
data stay within: 2·10^-9 of a normal distribution lie beyond, and each of the root mean squares below is at least double what
the algorithms have."""

ANGLE = 9.0
"""Roundings of a window's angle 2π·n/N in the unit: π, n, N, a product, and a quotient of 2.5 ulp, in units of u."""

MEL_MOVE = 64.0
"""How far 1 + f/700 may be off in the unit, in units of u: two logarithms of up to 8, a product, and an exponential."""


def _twiddle(setting: Setting) -> float:
    """Error of a root of unity: an angle up to 2π that was rounded once, and a sine or cosine; 16-bit units take it from a
    table of rounded values."""
    return (2.0 if setting.half else 2 * math.pi + 2.0) * setting.u


def _modulus(x: Array) -> Array:
    """|x| without the axis of real and imaginary parts; 0 for what is infinite or NaN, whose lines are open."""
    finite = np.where(np.isfinite(x), x, 0.0)
    return np.asarray(np.sqrt((finite * finite).sum(axis=-1)))


def _line_error(total: Array, square: Array, peak: Array, n: int, setting: Setting) -> Array:
    """Bound on each part of each value of a transform of length n, by Σ|x|, Σ|x|² and the largest |value| of its line;
    infinite where a partial sum may overflow."""
    u, twiddle, stages = setting.u, _twiddle(setting), math.ceil(math.log2(max(n, 2))) + 2
    error = max(float(setting.gamma(2 * n + 1)) + twiddle, stages * (twiddle + BUTTERFLY * u)) * total
    if setting.random:
        along = np.sqrt(n * (peak * peak + square) / 2)  # root of the sum of squared partial sums
        direct = RARE * ROUNDING * u * along + np.minimum(RARE * twiddle / 2 * np.sqrt(square), twiddle * total)
        fast = RARE * math.sqrt(stages) * (twiddle / 2 + 2 * ROUNDING * u) * np.sqrt(square + peak * peak)
        error = np.minimum(error, np.maximum(direct, fast))
    if n & (n - 1) and not setting.half:
        longer = math.ceil(math.log2(2 * n))
        chirps = 3 * (longer + 1) * (twiddle + BUTTERFLY * u)
        error = np.maximum(error, chirps * math.sqrt(2 * n) * np.sqrt(square))
    error = error + setting.u_in * total + n * (setting.eta_in + 4 * stages * setting.eta)
    return np.where(total > FLOATS[setting.arithmetic.compute].largest, np.inf, error)


def _peak(y: Array, axis: int) -> Array:
    """The largest |value| of each line of a result, where there is one."""
    return np.asarray(_modulus(y)[..., None].max(axis=axis, keepdims=True, initial=0.0))


def fourier(node: Node, setting: Setting) -> list[Array]:
    """DFT: the line that a value comes from is cut or padded to the transform's length; half a spectrum counts twice. The
    inverse's division by N may come first or last."""
    x, y = node.real(0), node.results[0]
    if y.size == 0:
        return [np.zeros(y.shape)]
    axis = (int(node.real(2).reshape(())) if node.given(2) else -2) if node.version >= 20 else int(node.attribute("axis", 1))
    inverse, half = bool(node.attribute("inverse", 0)), bool(node.attribute("onesided", 0))
    axis %= x.ndim
    default = 2 * (x.shape[axis] - 1) if inverse and half else x.shape[axis]
    n = int(node.real(1).reshape(())) if node.given(1) else default
    kept = np.take(x, np.arange(min(x.shape[axis], n // 2 + 1 if inverse and half else n)), axis)
    twice = 2.0 if inverse and half else 1.0
    size = _modulus(kept)[..., None]
    total = twice * size.sum(axis=axis, keepdims=True)
    peak = _peak(y, axis) * (n if inverse else 1)
    error = _line_error(total, twice * (size * size).sum(axis=axis, keepdims=True), peak, n, setting)
    if inverse:
        error = error / n + 3 * setting.u * np.abs(y) + setting.eta * n
    return [np.broadcast_to(error, y.shape)]


def short_time(node: Node, setting: Setting) -> list[Array]:
    """STFT: the transform of every frame times the window, which is rounded once more."""
    signal, y = node.real(0), node.results[0]
    if y.size == 0:
        return [np.zeros(y.shape)]
    step = int(node.real(1).reshape(()))
    default = node.real(2).shape[0] if node.given(2) else signal.shape[1]
    n = int(node.real(3).reshape(())) if node.given(3) else default
    size = _modulus(signal)
    frames = np.lib.stride_tricks.sliding_window_view(size, n, axis=1)[:, ::step]
    weighted = frames * np.abs(node.real(2)) if node.given(2) else frames
    total = weighted.sum(axis=-1)
    error = _line_error(total, (weighted * weighted).sum(axis=-1), _peak(y, 2)[..., 0, 0], n, setting)
    error = error + (setting.u + setting.u_in) * total
    return [np.broadcast_to(error[..., None, None], y.shape)]


WINDOWS: dict[str, tuple[float, ...]] = {
    "BlackmanWindow": (0.42, 0.5, 0.08),
    "HammingWindow": (25 / 46, 21 / 46),
    "HannWindow": (0.5, 0.5),
}
"""Operator → sizes of the coefficients of cos(0), cos(2πn/N), cos(4πn/N)."""


def window(node: Node, setting: Setting) -> list[Array]:
    """Sums of cosines, or for HannWindow a squared sine: the angle's error times the slope, the functions' own, and the sum's.
    To second order, since the slope is 0 at the ends."""
    size, u = int(node.real(0).reshape(())), setting.u
    period = max(size if node.attribute("periodic", 1) else size - 1, 1)
    angle = 2 * np.pi * np.arange(size) / period
    first, *rest = WINDOWS[node.operator]
    error = np.full(size, first * 2 * u) + 2 * u * (first + sum(rest))
    c = 2 * ulps("Cos", setting) * u
    for k, coefficient in enumerate(rest, 1):
        off = ANGLE * u * k * angle
        error = error + coefficient * (np.abs(np.sin(k * angle)) * off + off * off / 2 + c + 2 * u)
    if node.operator == "HannWindow":
        error = error + (2 * ulps("Sin", setting) + 1) * u * np.abs(node.results[0])  # a square doubles the sine's
    return [error]


def mel(node: Node, setting: Setting) -> list[Array]:
    """MelWeightMatrix: quotients of whole numbers, or one less such a quotient; columns are left open whose edges are so close
    to a whole bin that the unit may find another one."""
    y = node.results[0]
    between = np.where((y > 0) & (y < 1), 2 * setting.u, 0.0)
    error = (2 * ulps("Div", setting) + 1) * setting.u * np.abs(y) + between
    limits = [node.real(i).astype(np.int64) if i < 3 else node.real(i) for i in range(5)]
    moved = transforms.mel_ties(*limits, move=max(transforms.MEL_MOVE, MEL_MOVE * setting.u))
    return [np.where(moved, np.inf, error)]
