"""Recurrent layers: directions, activations, lengths and states."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from suites.cases.operators.sweep import Sweep, joined
from suites.cases.operators.table import Entry, Row

# {g}: rows of weights, hidden units times gates; {b}: of biases, those of input and of state.
_LAYERS = (
    "x:5x3x4.w:1x{g}x4.r:1x{g}x5.hidden_size:5 "
    "x:7x2x3.w:1x{g}x3.r:1x{g}x5.b:1x{b}.direction:reverse.hidden_size:5 "
    "x:3x2x4.w:2x{g}x4.r:2x{g}x5.b:2x{b}.direction:bidirectional.hidden_size:5"
)

_GATES = {"RNN": 1, "GRU": 3, "LSTM": 4}
_OUTPUTS = {"RNN": 2, "GRU": 2, "LSTM": 3}

# Names, alphas and betas of one direction; all of a layer's take an alpha, or none, so that ONNX says which takes which.
# A bidirectional layer has them twice, with values of their own.
_ACTIVATIONS: Mapping[str, tuple[tuple[str, str, str], ...]] = {
    "RNN": (
        ("", "", ""),
        ("Relu", "", ""),
        ("Sigmoid", "", ""),
        ("LeakyRelu", "1e-1", ""),
        ("HardSigmoid", "2e-1", "5e-1"),
        ("Affine", "5e-1", "1e-1"),
        ("ScaledTanh", "5e-1", "2"),
        ("Elu", "5e-1", ""),
        ("Softsign", "", ""),
        ("Softplus", "", ""),
        ("ThresholdedRelu", "5e-1", ""),
    ),
    "GRU": (
        ("", "", ""),
        ("Sigmoid_Relu", "", ""),
        ("Tanh_Sigmoid", "", ""),
        ("HardSigmoid_ScaledTanh", "2e-1_5e-1", "5e-1_2"),
        ("HardSigmoid_HardSigmoid", "2e-1_25e-2", "5e-1_4e-1"),
        ("LeakyRelu_Elu", "2e-1_5e-1", ""),
        ("Sigmoid_LeakyRelu", "", ""),
    ),
    "LSTM": (
        ("", "", ""),
        ("Sigmoid_Tanh_Relu", "", ""),
        ("Tanh_Sigmoid_Softsign", "", ""),
        ("HardSigmoid_ScaledTanh_ScaledTanh", "2e-1_5e-1_1", "5e-1_2_5e-1"),
        ("LeakyRelu_Elu_LeakyRelu", "2e-1_5e-1_1e-1", ""),
        ("Sigmoid_Softsign_Elu", "", ""),
    ),
}


def _doubled(text: str, twice: bool) -> str:
    return f"{text}_{text}" if text and twice else text


def _layer(
    operator: str,
    size: tuple[int, int, int, int],
    direction: str,
    activations: tuple[str, str, str],
    bias: bool,
    initial: bool,
    lengths: str,
    clip: str,
    flag: bool,
    peepholes: bool,
    outputs: bool,
    layout: bool,
    const: bool,
) -> str | None:
    """One layer of (steps, batch, inputs, hidden). lengths: "" none, "even" all alike, "odd" decreasing ones, with "fed".

    flag: linear_before_reset of a GRU, input_forget of an LSTM.
    """
    steps, batch, inputs, hidden = size
    twice = direction == "bidirectional"
    directions, rows = 1 + twice, _GATES[operator] * hidden
    names, alphas, betas = activations
    each = [max(steps - i, 1) for i in range(batch)] if "odd" in lengths else [steps] * batch
    state = f"{batch}x{directions}x{hidden}" if layout else f"{directions}x{batch}x{hidden}"
    has_p, has_cell = operator == "LSTM" and peepholes, operator == "LSTM"
    option = {"GRU": "linear_before_reset", "LSTM": "input_forget"}.get(operator)
    after = option == "linear_before_reset"
    return joined(
        f"x:{batch}x{steps}x{inputs}" if layout else f"x:{steps}x{batch}x{inputs}",
        f"w:{directions}x{rows}x{inputs}.r:{directions}x{rows}x{hidden}",
        f"b:{directions}x{2 * rows}" if bias else "",
        f"initial_h:{state}" if initial else "",
        f"initial_c:{state}" if initial and has_cell else "",
        f"p:{directions}x{3 * hidden}" if has_p else "",
        f"sequence_lens:{'_'.join(map(str, each))}" if lengths else "",
        alphas and f"activation_alpha:{_doubled(alphas, twice)}",
        betas and f"activation_beta:{_doubled(betas, twice)}",
        names and f"activations:{_doubled(names, twice)}",
        clip and f"clip:{clip}",
        direction and f"direction:{direction}",
        f"hidden_size:{hidden}",
        f"{option}:1" if flag and option and not after else "",
        "layout:1" if layout else "",
        f"{option}:1" if flag and after else "",
        f"outputs:{_OUTPUTS[operator]}" if outputs else "",
        f"const:w_r{'_b' if bias else ''}{'_p' if has_p else ''}" if const else "",
        "feed:sequence_lens" if "fed" in lengths else "",
    )


_SIZES = ((4, 2, 3, 5), (1, 1, 1, 1), (3, 3, 4, 8), (5, 1, 7, 3), (2, 4, 1, 4), (6, 2, 2, 1))


def _values(operator: str, **changed: Any) -> dict[str, Any]:
    """What the layers of an operator are swept over."""
    return {
        "operator": (operator,),
        "activations": _ACTIVATIONS[operator],
        "direction": ("", "forward", "reverse", "bidirectional"),
        "size": _SIZES,
        "lengths": ("", "even", "odd", "odd fed"),
        "bias": (True, False),
        "initial": (True, False),
        "clip": ("",) if operator == "LSTM" else ("", "5e-1", "3"),
        "flag": (False, True) if operator != "RNN" else (False,),
        "peepholes": (False, True) if operator == "LSTM" else (False,),
        "outputs": (True, False),
        "layout": (False,),
        "const": (True, False),
        **changed,
    }


def _layers(operator: str, steps: int) -> str:
    """A layer of few steps in one direction, and one in both."""
    gates = _GATES[operator]
    return (
        f"x:{steps}x2x3.w:1x{4 * gates}x3.r:1x{4 * gates}x4.b:1x{8 * gates}.hidden_size:4 "
        f"x:{steps}x1x2.w:2x{3 * gates}x2.r:2x{3 * gates}x3.direction:bidirectional.hidden_size:3.outputs:2"
    )


def _sweep(operator: str, version: int, dtypes: str, recipes: str, **changed: Any) -> Sweep:
    return Sweep(f"{operator}-{version}", dtypes, recipes, _layer, _values(operator, **changed))


CASES: tuple[Entry, ...] = (
    Row("GRU-14", "f32", "normal", _LAYERS.format(g=15, b=30)),
    Row("GRU-14", "f32", "normal", "x:5x2x3.w:1x15x3.r:1x15x5.b:1x30.hidden_size:5.linear_before_reset:1"),
    Row("LSTM-14", "f32", "normal", _LAYERS.format(g=20, b=40)),
    Row("RNN-14", "f32", "normal", _LAYERS.format(g=5, b=10)),
    *(_sweep(operator, 14, "f32", "normal unit") for operator in _GATES),
    # pairs again, with the default activations: every two of the other settings meet in more sizes
    *(
        _sweep(
            operator, 14, "f32", "normal", activations=_ACTIVATIONS[operator][:1], direction=("reverse", "bidirectional", "")
        )
        for operator in _GATES
    ),
    *(_sweep(operator, 7, "f32", "unit", activations=_ACTIVATIONS[operator][:2], size=_SIZES[:3]) for operator in _GATES),
    *(_sweep(operator, 22, "f32", "unit", activations=_ACTIVATIONS[operator][:2], size=_SIZES[:3]) for operator in _GATES),
    *(Row(f"{operator}-14", "f64 f16", "unit", _layers(operator, 1)) for operator in _GATES),
    *(Row(f"{operator}-22", "f64 f16 bf16", "unit", _layers(operator, 1)) for operator in _GATES),
    # widths of vectors in the hidden state, and many steps
    *(
        Row(
            f"{operator}-14",
            "f32",
            "unit",
            " ".join(f"x:2x1x3.w:1x{gates * n}x3.r:1x{gates * n}x{n}.hidden_size:{n}" for n in (7, 9, 15, 16, 17, 32, 33)),
        )
        for operator, gates in _GATES.items()
    ),
    *(
        Row(f"{operator}-14", "f32", "unit zero grid", f"x:19x1x2.w:1x{3 * gates}x2.r:1x{3 * gates}x3.hidden_size:3.outputs:2")
        for operator, gates in _GATES.items()
    ),
)
