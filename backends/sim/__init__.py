"""The simulated device: any of the profiles in profiles/, computing with ONNX Runtime's CPU kernels.

`compiler` and what it calls turn a model into a program, `memory` and `buffers` hold tensors, `queue` runs work in order and
gives fences, `clock` says what it costs, `device` and `binding` put them together, `engine` computes.
"""

from __future__ import annotations

import dataclasses

from backends import machine, options, registry
from backends.interface import Backend, Device, DeviceInfo, Options
from backends.sim import faults, profile

FAULT = "fault"
"""Option that names a fault to seed."""


class SimBackend(Backend):
    """A simulated device. It runs in process: it computes with ONNX Runtime's CPU kernels alone."""

    name = "sim"
    needs = "ONNX Runtime, its engine"
    extra = "cpu"
    in_process = True

    def unavailable(self) -> str | None:
        return registry.missing("onnxruntime", "ONNX Runtime, the engine of the simulated device", self.extra)

    def discover(self) -> list[DeviceInfo]:
        return [self._info(name) for name in profile.names()]

    def _info(self, name: str) -> DeviceInfo:
        versions = machine.versions([*registry.providers("onnxruntime"), "numpy", "onnx", "ml_dtypes"])
        engine = next((f"{name} {versions[name]}" for name in versions if name.startswith("onnxruntime")), "onnxruntime")
        simulated = profile.load(name)
        return DeviceInfo(
            backend=self.name,
            name=name,
            kind="simulated",
            vendor=simulated.vendor,
            soc=simulated.soc,
            runtime=f"sim on {engine}",
            compiler=f"sim on {engine}",
            host=machine.host(),
            versions=versions,
        )

    def runs_in_process(self, options: Options) -> bool:
        fault = faults.catalogue().get(options.get(FAULT, ""))
        return self.in_process and not (fault and fault.isolated)

    def open(self, info: DeviceInfo, given: Options) -> Device:
        from backends.sim.device import SimDevice, check_options

        fault = given.get(FAULT)
        if fault is not None and fault not in faults.catalogue():
            hint = options.nearest(fault, faults.catalogue()) or "; npu-cts faults lists them"
            raise ValueError(f"sim has no fault {fault!r}{hint}")
        checked = check_options({key: value for key, value in given.items() if key != FAULT})
        if info.name not in profile.names():
            hint = options.nearest(info.name, profile.names()) or f"; it has {', '.join(profile.names())}"
            raise ValueError(f"sim has no device {info.name!r}{hint}")
        if fault is None:
            return SimDevice(self._info(info.name), profile.load(info.name), checked)
        described = self._info(info.name)
        device = SimDevice(
            dataclasses.replace(described, soc=f"{described.soc}, fault {fault}"), profile.load(info.name), checked
        )
        faults.seed(device, fault)
        return device
