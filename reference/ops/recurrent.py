"""RNN, GRU and LSTM: one product of all steps' inputs with their weights, then a loop over time steps.

Shapes: x (steps, batch, inputs), w (directions, gates·hidden, inputs), r (directions, gates·hidden, hidden),
b (directions, 2·gates·hidden): biases of w, then of r; sequence_lens (batch); initial and final states
(directions, batch, hidden); Y (steps, directions, batch, hidden). With layout=1 batch comes first everywhere. The
reverse direction begins at each sequence's own last step. `clip` bounds the argument of every activation, those of
states included, but no state.

Open in ONNX: Y behind the end of a sequence (0 here), the final state of an empty sequence (the initial one here), and
whether an activation without alpha or beta takes a value out of activation_alpha or activation_beta (it does not here).
Raises ValueError for shapes, lengths, directions and activations that do not fit.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reference.ops import activation

Array = NDArray[Any]
Activation = Callable[[Array], Array]
Cell = Callable[..., tuple[Array, ...]]
"""(contribution of the inputs of a step, *states) → new states, the hidden one first."""

BACKWARD: Mapping[str, tuple[bool, ...]] = {"forward": (False,), "reverse": (True,), "bidirectional": (False, True)}
"""Direction → for each direction of the tensors, whether it runs from the end."""


def _affine(x: Array, *, alpha: float = 1.0, beta: float = 0.0) -> Array:
    """alpha·x + beta, with the defaults of the operator Affine, which ONNX has dropped."""
    return alpha * x + beta


def _scaled_tanh(x: Array, *, alpha: float, beta: float) -> Array:
    """alpha·tanh(beta·x)."""
    return np.asarray(alpha * np.tanh(beta * x))


def _thresholded_relu(x: Array, *, alpha: float = 1.0) -> Array:
    """x from alpha on, else 0: unlike the operator of this name, the threshold itself passes."""
    return np.where(x >= alpha, x, 0.0)


ACTIVATIONS: Mapping[str, tuple[Callable[..., Array], tuple[str, ...]]] = {
    "Relu": (activation.relu, ()),
    "Tanh": (activation.tanh, ()),
    "Sigmoid": (activation.sigmoid, ()),
    "Affine": (_affine, ("alpha", "beta")),
    "LeakyRelu": (activation.leaky_relu, ("alpha",)),
    "ThresholdedRelu": (_thresholded_relu, ("alpha",)),
    "ScaledTanh": (_scaled_tanh, ("alpha", "beta")),
    "HardSigmoid": (activation.hard_sigmoid, ("alpha", "beta")),
    "Elu": (activation.elu, ("alpha",)),
    "Softsign": (activation.softsign, ()),
    "Softplus": (activation.softplus, ()),
}
"""Name → function and the values it takes out of activation_alpha and activation_beta, in this order."""


def _activations(
    names: Sequence[str], alphas: Sequence[float] | None, betas: Sequence[float] | None, clip: float | None
) -> list[Activation]:
    """The named functions of arguments in [-clip, clip]. Raises ValueError."""
    if clip is not None and clip < 0:
        raise ValueError(f"clip {clip}, expected a threshold that is not negative")
    left = {"alpha": iter(alphas or ()), "beta": iter(betas or ())}
    chosen: list[Activation] = []
    for name in names:
        if name not in ACTIVATIONS:
            raise ValueError(f"activation {name!r}, expected one of {', '.join(ACTIVATIONS)}")
        function, takes = ACTIVATIONS[name]
        values = {which: value for which in takes if (value := next(left[which], None)) is not None}
        if name == "ScaledTanh" and len(values) < 2:
            raise ValueError("ScaledTanh needs an alpha and a beta, for which ONNX has no default")
        chosen.append(_clipped(functools.partial(function, **values), clip))
    return chosen


def _clipped(function: Activation, clip: float | None) -> Activation:
    return function if clip is None else lambda x: function(np.clip(x, -clip, clip))


@dataclasses.dataclass(frozen=True)
class _Layer:
    """What the three operators share, checked, with steps before batch."""

    x: Array
    w: Array
    r: Array
    w_bias: Array
    r_bias: Array
    lengths: Array | None
    backward: tuple[bool, ...]
    hidden: int
    batch_first: bool

    def initial(self, state: Array | None) -> Array:
        """An initial state (directions, batch, hidden). Raises ValueError."""
        shape = len(self.backward), self.x.shape[1], self.hidden
        if state is None:
            return np.zeros(shape)
        state = state.swapaxes(0, 1) if self.batch_first else state
        _expect("initial state", state, shape)
        return state

    def run(self, cell: Callable[[int], Cell], bias: Array, *initial: Array | None) -> tuple[Array, ...]:
        """Y and the final states. `cell` makes the cell of a direction; `bias` (directions, gates·hidden) goes to the
        contribution of the inputs."""
        steps, batch, inputs = self.x.shape
        rows = self.x.reshape(steps * batch, inputs)
        starts = [self.initial(state) for state in initial]
        shape = steps, batch, self.w.shape[1]
        runs = [
            self._scan(cell(d), (rows @ self.w[d].T + bias[d]).reshape(shape), tuple(state[d] for state in starts), back)
            for d, back in enumerate(self.backward)
        ]
        y = np.stack([run[0] for run in runs], axis=1)
        finals = [np.stack(state) for state in zip(*(run[1] for run in runs), strict=True)]
        if self.batch_first:
            return y.transpose(2, 0, 1, 3), *(state.swapaxes(0, 1) for state in finals)
        return y, *finals

    def _scan(
        self, cell: Cell, contributions: Array, states: tuple[Array, ...], backward: bool
    ) -> tuple[Array, tuple[Array, ...]]:
        """All hidden states (steps, batch, hidden) and the states after the last step of each sequence."""
        steps, batch, _ = contributions.shape
        y = np.zeros((steps, batch, self.hidden))
        for t in reversed(range(steps)) if backward else range(steps):
            new = cell(contributions[t], *states)
            if self.lengths is None:
                y[t], states = new[0], new
            else:
                # Behind its end a sequence waits: forward for the others to finish, backward for its own last step.
                inside = (t < self.lengths)[:, None]
                y[t] = np.where(inside, new[0], 0.0)
                states = tuple(np.where(inside, after, before) for after, before in zip(new, states, strict=True))
        return y, states


def _expect(what: str, tensor: Array, shape: tuple[int, ...]) -> None:
    """Raises ValueError for another shape."""
    if tensor.shape != shape:
        raise ValueError(f"{what} of shape {tensor.shape}, expected {shape}")


def _layer(
    x: Array,
    w: Array,
    r: Array,
    b: Array | None,
    lengths: Array | None,
    *,
    gates: int,
    direction: str,
    hidden_size: int | None,
    layout: int,
) -> _Layer:
    """Raises ValueError for parts that do not fit together."""
    if direction not in BACKWARD:
        raise ValueError(f"direction {direction!r}, expected one of {', '.join(BACKWARD)}")
    if layout not in (0, 1):
        raise ValueError(f"layout {layout}, expected 0 or 1")
    if x.ndim != 3:
        raise ValueError(f"X of shape {x.shape}, expected three axes")
    x = x.swapaxes(0, 1) if layout else x
    steps, batch, inputs = x.shape
    directions = len(BACKWARD[direction])
    hidden = r.shape[-1] if hidden_size is None else hidden_size
    _expect("W", w, (directions, gates * hidden, inputs))
    _expect("R", r, (directions, gates * hidden, hidden))
    b = np.zeros((directions, 2 * gates * hidden)) if b is None else b
    _expect("B", b, (directions, 2 * gates * hidden))
    if lengths is not None:
        _expect("sequence_lens", lengths, (batch,))
        if np.any((lengths < 0) | (lengths > steps)):
            raise ValueError(f"sequence_lens {lengths.tolist()}, expected lengths of 0 to {steps}")
    w_bias, r_bias = np.split(b, 2, axis=1)
    return _Layer(x, w, r, w_bias, r_bias, lengths, BACKWARD[direction], hidden, bool(layout))


def _per_direction(activations: Sequence[str] | None, default: tuple[str, ...], layer: _Layer) -> Sequence[str]:
    """The names for all directions. Raises ValueError for another number of them."""
    needed = len(default) * len(layer.backward)
    names = default * len(layer.backward) if activations is None else activations
    if len(names) != needed:
        raise ValueError(f"{len(names)} activations, expected {needed}")
    return names


def _transposed(weights: Array) -> Array:
    """Laid out anew, since every step multiplies by it."""
    return np.ascontiguousarray(weights.T)


def rnn(
    x: Array,
    w: Array,
    r: Array,
    b: Array | None = None,
    sequence_lens: Array | None = None,
    initial_h: Array | None = None,
    *,
    activation_alpha: Sequence[float] | None = None,
    activation_beta: Sequence[float] | None = None,
    activations: Sequence[str] = ("Tanh", "Tanh"),
    clip: float | None = None,
    direction: str = "forward",
    hidden_size: int | None = None,
    layout: int = 0,
    output_sequence: int = 0,
) -> tuple[Array, ...]:
    """RNN-22 (1, 7, 14 alike): h' = f(x·Wᵀ + h·Rᵀ + b). Y and Y_h. Of two activations, which is what ONNX's default
    has, a single direction takes the first."""
    layer = _layer(x, w, r, b, sequence_lens, gates=1, direction=direction, hidden_size=hidden_size, layout=layout)
    names = _per_direction(activations[: len(layer.backward)], ("Tanh",), layer)
    functions = _activations(names, activation_alpha, activation_beta, clip)

    def cell(d: int) -> Cell:
        f, weights = functions[d], _transposed(layer.r[d])
        return lambda inputs, h: (f(inputs + h @ weights),)

    return layer.run(cell, layer.w_bias + layer.r_bias, initial_h)


def gru(
    x: Array,
    w: Array,
    r: Array,
    b: Array | None = None,
    sequence_lens: Array | None = None,
    initial_h: Array | None = None,
    *,
    activation_alpha: Sequence[float] | None = None,
    activation_beta: Sequence[float] | None = None,
    activations: Sequence[str] | None = None,
    clip: float | None = None,
    direction: str = "forward",
    hidden_size: int | None = None,
    layout: int = 0,
    linear_before_reset: int = 0,
    output_sequence: int = 0,
) -> tuple[Array, ...]:
    """GRU-22 (1, 3, 7, 14 alike), gates z, r, h: h' = (1 - z)·ĥ + z·h with ĥ = g(x·Whᵀ + (r·h)·Rhᵀ + bh), or with
    linear_before_reset g(x·Whᵀ + wbh + r·(h·Rhᵀ + rbh)). Y and Y_h. Activations f of z and r (Sigmoid), g (Tanh)."""
    layer = _layer(x, w, r, b, sequence_lens, gates=3, direction=direction, hidden_size=hidden_size, layout=layout)
    names = _per_direction(activations, ("Sigmoid", "Tanh"), layer)
    functions = _activations(names, activation_alpha, activation_beta, clip)
    two = 2 * layer.hidden

    def reset_first(d: int) -> Cell:
        f, g = functions[2 * d : 2 * d + 2]
        gate_weights, candidate_weights = _transposed(layer.r[d, :two]), _transposed(layer.r[d, two:])

        def step(inputs: Array, h: Array) -> tuple[Array, ...]:
            gates = f(inputs[:, :two] + h @ gate_weights)
            update, reset = gates[:, : layer.hidden], gates[:, layer.hidden :]
            candidate = g(inputs[:, two:] + (reset * h) @ candidate_weights)
            return ((1 - update) * candidate + update * h,)

        return step

    def linear_first(d: int) -> Cell:
        f, g = functions[2 * d : 2 * d + 2]
        weights, bias = _transposed(layer.r[d]), layer.r_bias[d]

        def step(inputs: Array, h: Array) -> tuple[Array, ...]:
            recurrent = h @ weights + bias
            gates = f(inputs[:, :two] + recurrent[:, :two])
            update, reset = gates[:, : layer.hidden], gates[:, layer.hidden :]
            candidate = g(inputs[:, two:] + reset * recurrent[:, two:])
            return ((1 - update) * candidate + update * h,)

        return step

    if linear_before_reset:
        return layer.run(linear_first, layer.w_bias, initial_h)
    return layer.run(reset_first, layer.w_bias + layer.r_bias, initial_h)


def lstm(
    x: Array,
    w: Array,
    r: Array,
    b: Array | None = None,
    sequence_lens: Array | None = None,
    initial_h: Array | None = None,
    initial_c: Array | None = None,
    p: Array | None = None,
    *,
    activation_alpha: Sequence[float] | None = None,
    activation_beta: Sequence[float] | None = None,
    activations: Sequence[str] | None = None,
    clip: float | None = None,
    direction: str = "forward",
    hidden_size: int | None = None,
    input_forget: int = 0,
    layout: int = 0,
    output_sequence: int = 0,
) -> tuple[Array, ...]:
    """LSTM-22 (1, 7, 14 alike), gates i, o, f, c: c' = f·c + i·ĉ, h' = o·h(c'). Y, Y_h and Y_c. Activations f of the
    gates (Sigmoid), g of ĉ and h (Tanh). Peepholes p (directions, 3·hidden) for i, o, f: those of i and f see c, that
    of o sees c'. With input_forget, f = 1 - i."""
    layer = _layer(x, w, r, b, sequence_lens, gates=4, direction=direction, hidden_size=hidden_size, layout=layout)
    names = _per_direction(activations, ("Sigmoid", "Tanh", "Tanh"), layer)
    functions = _activations(names, activation_alpha, activation_beta, clip)
    if p is not None:
        _expect("P", p, (len(layer.backward), 3 * layer.hidden))

    def cell(d: int) -> Cell:
        f, g, h = functions[3 * d : 3 * d + 3]
        weights = _transposed(layer.r[d])
        peepholes = None if p is None else p[d].reshape(3, layer.hidden)

        def step(inputs: Array, hidden: Array, c: Array) -> tuple[Array, ...]:
            gates = (inputs + hidden @ weights).reshape(len(c), 4, layer.hidden)
            if peepholes is None:
                i, o, forget = f(gates[:, :3]).swapaxes(0, 1)
            else:
                i, forget = f(gates[:, 0] + peepholes[0] * c), f(gates[:, 2] + peepholes[2] * c)
            c = (1 - i if input_forget else forget) * c + i * g(gates[:, 3])
            if peepholes is not None:
                o = f(gates[:, 1] + peepholes[1] * c)
            return o * h(c), c

        return step

    return layer.run(cell, layer.w_bias + layer.r_bias, initial_h, initial_c)
