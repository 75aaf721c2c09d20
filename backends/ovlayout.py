"""Layouts of inputs and outputs other than the model's, through OpenVINO's preprocessing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from backends.interface import Options, Unsupported

OPTION = "layout."
"""Prefix of the option of `compile` that asks for the layout of one input or output."""

MODEL_LAYOUTS = {"NHWC": "NCHW", "OHWI": "OIHW", "NK": "KN"}
"""Layout that can be asked for → the model's own, as OpenVINO writes it."""


def split(options: Options) -> tuple[dict[str, str], dict[str, str]]:
    """Tensor → layout, and the other options."""
    layouts = {key.removeprefix(OPTION): value for key, value in options.items() if key.startswith(OPTION)}
    return layouts, {key: value for key, value in options.items() if not key.startswith(OPTION)}


def laid_out(graph: Any, layouts: Mapping[str, str]) -> Any:
    """The model with a transposition behind each of these inputs or before each output. Raises what OpenVINO raises, and
    Unsupported for a layout that it is not asked for."""
    from openvino import Layout
    from openvino.preprocess import PrePostProcessor

    inputs = {name for port in graph.inputs for name in port.get_names()}
    processor = PrePostProcessor(graph)
    for tensor, layout in layouts.items():
        if layout not in MODEL_LAYOUTS:
            raise Unsupported(f"layout {layout} of {tensor}: this adapter has {', '.join(MODEL_LAYOUTS)}", code="layout")
        end = processor.input(tensor) if tensor in inputs else processor.output(tensor)
        end.tensor().set_layout(Layout(layout))
        end.model().set_layout(Layout(MODEL_LAYOUTS[layout]))
    return processor.build()
