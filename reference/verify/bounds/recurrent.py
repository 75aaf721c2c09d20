"""EXPLICIT bounds of RNN, GRU and LSTM: the error of the states is carried through the gates from step to step.

Sums of a gate may be taken in any order, biases before or after; gates pass through their activations on the whole interval
that they may lie in; states pass through memory in the tensor's type, as Y does. What the recurrence amplifies the bound
amplifies too, elementwise by |R|, so that it grows with the number of steps.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from reference.dtypes import FLOATS
from reference.node import Array, Node
from reference.ops.recurrent import ACTIVATIONS, BACKWARD
from reference.verify.bounds import explicit, functions
from reference.verify.bounds.functions import K_T, function_error, ulps
from reference.verify.bounds.running_error import (
    Computed,
    Function,
    add,
    apply,
    exactly,
    mixed,
    multiply,
    operator,
    products,
    read,
    stored,
)
from reference.verify.setting import Setting

Cell = Callable[..., tuple[Computed, ...]]
"""(inputs of a step, *states) → new states, the hidden one first."""

Activation = Callable[[Computed], Computed]

OPERATORS: Mapping[str, Callable[[Node, Setting], list[Array]]] = {
    "Elu": explicit.exponential_unit,
    "HardSigmoid": explicit.hard_sigmoid,
    "LeakyRelu": functions.ulp_real,
    "Sigmoid": explicit.sigmoid,
    "Softplus": explicit.softplus,
    "Softsign": explicit.softsign,
}
"""Activations that are operators with a bound."""

DEFAULTS = {"Affine": (1.0, 0.0), "ThresholdedRelu": (1.0,)}
"""alpha and beta of the others."""


def _tanh_error(x: Array, t: Array, setting: Setting) -> Array:
    """tanh inside a gate: by its own function, or by exp as 1 − 2/(1 + exp(2x)), which errs absolutely near 0."""
    quotient = (1 - np.abs(t)) / 2 * (2 * ulps("Exp", setting) + 2 * K_T * np.abs(x)) + 2 * ulps("Div", setting) + 2
    by_exp = ((1 + np.abs(t)) * np.where(np.isfinite(x), quotient, 2 * ulps("Div", setting) + 2) + 1) * setting.u
    return np.maximum(function_error("Tanh", t, setting), by_exp)


def _activation(name: str, values: Mapping[str, float], setting: Setting) -> Function:
    """An activation with its alpha and beta."""
    evaluate = functools.partial(ACTIVATIONS[name][0], **values)
    if name in OPERATORS:
        return operator(name, OPERATORS[name], evaluate, setting, **values)
    u, held = setting.u, setting.u_attribute + setting.u_in
    alpha, beta = (*(values[k] for k in ("alpha", "beta") if k in values), *DEFAULTS.get(name, ())[len(values) :], 0.0, 0.0)[:2]

    def function(x: Array) -> tuple[Array, Array]:
        y = np.asarray(evaluate(x))
        if name == "Affine":
            return y, (u + held) * (np.abs(alpha * x) + abs(beta)) + u * np.abs(y)
        if name == "Tanh":
            return y, _tanh_error(x, y, setting) + setting.u_in * np.abs(x) * (1 - y * y)
        if name == "ScaledTanh":
            t = np.tanh(beta * x)
            own = _tanh_error(beta * x, t, setting)
            return y, abs(alpha) * own + (u + held) * np.abs(y) + (u + held) * np.abs(alpha * beta * x) * (1 - t * t)
        if name == "ThresholdedRelu":  # the threshold itself may be rounded
            at = np.abs(x - alpha) <= held * abs(alpha)
            return y, np.where(at, np.abs(x), 0.0)
        return y, np.zeros(y.shape)

    return function


def _clipped(function: Function, name: str, values: Mapping[str, float], clip: float, setting: Setting) -> Activation:
    """An activation of arguments in [-clip, clip]."""

    def inside(x: Array) -> tuple[Array, Array]:
        return np.clip(x, -clip, clip), np.where(np.abs(x) < clip, 0.0, setting.u_attribute * clip)

    def whole(x: Computed) -> Computed:
        x = x if clip == np.inf else apply(inside, x)
        y = apply(function, x)
        if name == "ThresholdedRelu" and values.get("alpha", 1.0) < 0:  # not monotonous: it jumps down
            low = np.maximum(np.abs(x.value) + x.error, abs(values["alpha"]))
            jumps = np.abs(x.value - values["alpha"]) <= x.error
            y = Computed(y.value, np.where(jumps, y.error + low, y.error))
        return y

    return whole


def _activations(node: Node, default: Sequence[str], directions: int, setting: Setting) -> list[Activation]:
    names = list(node.attribute("activations", list(default) * directions))
    left = {which: iter(node.attribute(f"activation_{which}", None) or ()) for which in ("alpha", "beta")}
    chosen = []
    for name in names[: len(default) * directions]:
        values = {w: float(v) for w in ACTIVATIONS[name][1] if (v := next(left[w], None)) is not None}
        clip = float(node.attribute("clip", np.inf))
        chosen.append(_clipped(_activation(name, values, setting), name, values, clip, setting))
    return chosen


def _where(mask: Array, new: Computed, old: Computed) -> Computed:
    return Computed(np.where(mask, new.value, old.value), np.where(mask, new.error, old.error))


def _scan(
    cell: Cell, x: Array, states: tuple[Computed, ...], lengths: Array | None, setting: Setting, *, backward: bool
) -> tuple[Array, tuple[Computed, ...]]:
    """Errors of all hidden states (steps, batch, hidden), and the last states of each sequence."""
    errors = np.zeros((len(x), *states[0].value.shape))
    last = states
    for t in reversed(range(len(x))) if backward else range(len(x)):
        new = cell(exactly(x[t]), *states)
        if lengths is None:
            errors[t], last = new[0].error, new
            states = tuple(stored(setting, s) for s in new)
        else:
            inside = (t < lengths)[:, None]
            errors[t] = np.where(inside, new[0].error, 0.0)
            last = tuple(_where(inside, after, before) for after, before in zip(new, last, strict=True))
            states = tuple(_where(inside, stored(setting, a), b) for a, b in zip(new, states, strict=True))
    return errors, last


def _bounds(node: Node, cells: Callable[[int], Cell], initial: Sequence[int], setting: Setting) -> list[Array]:
    """Bounds of Y and of the last states. initial: the inputs that hold the first states."""
    batch_first = bool(node.attribute("layout", 0))
    x = node.real(0).swapaxes(0, 1) if batch_first else node.real(0)
    directions, _, hidden = node.real(2).shape
    lengths = node.inputs[4] if node.given(4) else None
    starts = []
    for i in initial:
        state = node.real(i) if node.given(i) else None
        state = np.zeros((directions, x.shape[1], hidden)) if state is None else state.swapaxes(0, 1) if batch_first else state
        starts.append(state)
    runs = [
        _scan(cells(d), x, tuple(exactly(s[d]) for s in starts), lengths, setting, backward=back)
        for d, back in enumerate(BACKWARD[node.attribute("direction", "forward")])
    ]
    y = np.stack([run[0] for run in runs], axis=1)
    finals = [np.stack([s.error for s in state]) for state in zip(*(run[1] for run in runs), strict=True)]
    if batch_first:
        y, finals = y.transpose(2, 0, 1, 3), [state.swapaxes(0, 1) for state in finals]
    return [y, *finals]


def _gates(node: Node, d: int, first: int, last: int, setting: Setting) -> Callable[[Computed, Computed, bool], Computed]:
    """The sums of gates `first` to `last` of a direction: x·Wᵀ + h·Rᵀ + both biases, or without `recurrent` x·Wᵀ + Wb."""
    hidden = node.real(2).shape[2]
    rows = slice(first * hidden, last * hidden)
    w, r = exactly(node.real(1)[d, rows].T), exactly(node.real(2)[d, rows].T)
    biases = [exactly(part[rows]) for part in np.split(node.real(3)[d], 2)] if node.given(3) else []

    def sums(x: Computed, h: Computed, recurrent: bool = True) -> Computed:
        if recurrent:
            return products(setting, [(x, w), (h, r)], *(read(setting, b) for b in biases))
        return products(setting, [(x, w)], *(read(setting, b) for b in biases[:1]))

    return sums


def rnn(node: Node, setting: Setting) -> list[Array]:
    """RNN: h' = f(x·Wᵀ + h·Rᵀ + b)."""
    directions = node.real(2).shape[0]
    f = _activations(node, ("Tanh",), directions, setting)

    def cells(d: int) -> Cell:
        sums = _gates(node, d, 0, 1, setting)
        return lambda x, h: (f[d](sums(x, h, True)),)

    return _bounds(node, cells, (5,), setting)


def gru(node: Node, setting: Setting) -> list[Array]:
    """GRU: h' = (1 − z)·ĥ + z·h, with the reset before the product with R or after it."""
    directions, _, hidden = node.real(2).shape
    functions_ = _activations(node, ("Sigmoid", "Tanh"), directions, setting)

    def cells(d: int) -> Cell:
        f, g = functions_[2 * d : 2 * d + 2]
        gate_sums, candidate_sums = _gates(node, d, 0, 2, setting), _gates(node, d, 2, 3, setting)
        weights = exactly(node.real(2)[d, 2 * hidden :].T)
        bias = [read(setting, exactly(node.real(3)[d, 5 * hidden :]))] if node.given(3) else []

        def step(x: Computed, h: Computed) -> tuple[Computed, ...]:
            gates = f(gate_sums(x, h, True))
            update, reset = gates.at(np.s_[:, :hidden]), gates.at(np.s_[:, hidden:])
            if node.attribute("linear_before_reset", 0):
                recurrent = products(setting, [(h, weights)], *bias)
                candidate = add(setting, candidate_sums(x, h, False), multiply(setting, reset, recurrent))
            else:
                candidate = candidate_sums(x, multiply(setting, reset, h), True)
            return (mixed(setting, update, g(candidate), h),)

        return step

    return _bounds(node, cells, (5,), setting)


def lstm(node: Node, setting: Setting) -> list[Array]:
    """LSTM: c' = f·c + i·ĉ, h' = o·h(c'), with peepholes and coupled gates."""
    directions, _, hidden = node.real(2).shape
    functions_ = _activations(node, ("Sigmoid", "Tanh", "Tanh"), directions, setting)

    def cells(d: int) -> Cell:
        f, g, h_of = functions_[3 * d : 3 * d + 3]
        sums = _gates(node, d, 0, 4, setting)
        peepholes = [exactly(part) for part in np.split(node.real(7)[d], 3)] if node.given(7) else None

        def gate(total: Computed, which: int, c: Computed) -> Computed:
            return f(total if peepholes is None else add(setting, total, multiply(setting, peepholes[which], c)))

        def step(x: Computed, hidden_: Computed, c: Computed) -> tuple[Computed, ...]:
            i, o, forget, candidate = (sums(x, hidden_, True).at(np.s_[:, k * hidden : (k + 1) * hidden]) for k in range(4))
            i = gate(i, 0, c)
            new = g(candidate)
            if node.attribute("input_forget", 0):
                c = mixed(setting, i, c, new)
            else:
                c = add(setting, multiply(setting, gate(forget, 2, c), c), multiply(setting, i, new))
            return multiply(setting, gate(o, 1, c), h_of(c)), c

        return step

    bounds = _bounds(node, cells, (5, 6), setting)
    open_ = FLOATS[setting.arithmetic.compute].largest
    return [np.where(b > open_, np.inf, b) for b in bounds]
