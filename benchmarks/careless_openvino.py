"""OpenVINO as a hurried program uses it, to hold the suites to what that meets (benchmarks/known_bugs.toml, K10 and K11)."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np

from backends.interface import Capabilities, DeviceInfo, Executable, Options
from backends.openvino import OpenVinoBackend, OpenVinoDevice, OpenVinoExecutable, translate
from backends.ovtensor import wrap


class DefaultPrecisionBackend(OpenVinoBackend):
    """Leaves the arithmetic of float32 models to OpenVINO, unless option precision says otherwise, and calls it float32."""

    name = "openvino-default"

    def open(self, info: DeviceInfo, options: Options) -> DefaultPrecisionDevice:
        device = super().open(info, options)
        assert isinstance(device, OpenVinoDevice)
        return DefaultPrecisionDevice(self, device.core, device.info, options)

    def config(self, core: Any, device: str, given: Options) -> dict[str, str]:
        config = super().config(core, device, given)
        if "precision" not in given:
            config.pop("INFERENCE_PRECISION_HINT", None)
        return config


class DefaultPrecisionDevice(OpenVinoDevice):
    """Declares float32 whatever it computes in."""

    def capabilities(self) -> Capabilities:
        return dataclasses.replace(super().capabilities(), precision={"float32": "fp32"})


class LiveViewBackend(OpenVinoBackend):
    """One inference request, whose outputs are handed out as the arrays that it shares: `get_tensor(port).data` is a view
    that the next inference overwrites.
    """

    name = "openvino-views"

    def open(self, info: DeviceInfo, options: Options) -> LiveViewDevice:
        device = super().open(info, options)
        assert isinstance(device, OpenVinoDevice)
        return LiveViewDevice(self, device.core, device.info, options)


class LiveViewDevice(OpenVinoDevice):
    """Compiles to executables that hand out views."""

    def compile(self, model: bytes, options: Options | None = None) -> Executable:
        executable = super().compile(model, options)
        assert isinstance(executable, OpenVinoExecutable)
        return LiveViewExecutable(self, executable.compiled, model)


class LiveViewExecutable(OpenVinoExecutable):
    """A compiled model with one request for all runs."""

    def run(self, feeds: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        try:
            self.request = getattr(self, "request", None) or self.compiled.create_infer_request()
            for name, array in feeds.items():
                self.request.set_tensor(self.input_ports[name], wrap(array, self.input_ports[name]))
            self.request.infer()
            return {name: self.request.get_tensor(port).data for name, port in self.output_ports.items()}
        except Exception as error:
            raise translate(error, "run") from error
