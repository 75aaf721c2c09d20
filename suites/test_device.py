"""What a device says about itself, and whether it is well, before any case is run on it."""

from __future__ import annotations

import pytest

from reference.verify import Profile
from suites.device import DeviceUnderTest
from suites.precision import contradictions, infer_float32
from suites.requirement import requirement


@requirement("DEV-001")
def test_identity(device: DeviceUnderTest) -> None:
    info = device.info
    assert info.kind in ("simulated", "emulated", "hardware")
    assert info.backend, "the device does not name its backend"
    assert info.name, "the device has no name"
    assert info.runtime, "the device does not say which runtime version runs it"


@requirement("DEV-002")
def test_exact_convolution(device: DeviceUnderTest) -> None:
    conv = device.fingerprint.get("conv")
    if conv is None:
        pytest.skip("the device declines a float32 convolution")
    assert conv, "a convolution of small integers is wrong on a device just opened"


@requirement("DEV-003")
def test_declared_precision(device: DeviceUnderTest) -> None:
    declared = {k: v for k, v in (device.capabilities.precision or {}).items() if k.endswith("float32")}
    if not declared or infer_float32(device.fingerprint) is None:
        pytest.skip("nothing is declared about float32" if not declared else "the device declines the probe's models")
    found = contradictions(Profile.of(declared), device.fingerprint)
    assert not found, f"float32 is declared as {declared}, but {'; '.join(found)}"
