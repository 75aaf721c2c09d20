"""OpenCL's errors as the interface's; code and text stay the vendor's own."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from backends.interface import BackendError, CompileError, DeviceLost, OutOfMemory, Phase, RunError

NAMES = {
    -2: "CL_DEVICE_NOT_AVAILABLE",
    -4: "CL_MEM_OBJECT_ALLOCATION_FAILURE",
    -5: "CL_OUT_OF_RESOURCES",
    -6: "CL_OUT_OF_HOST_MEMORY",
    -61: "CL_INVALID_BUFFER_SIZE",
    -9999: "CL_NV_ILLEGAL_ADDRESS",
}
EXHAUSTED = frozenset({-4, -5, -6, -61})
"""Memory or another resource ran out. -61: larger than CL_DEVICE_MAX_MEM_ALLOC_SIZE (OpenCL 1.2, clCreateBuffer)."""

LOST = frozenset({-2, -9999})
"""The device answers no more. NVIDIA's driver gives the undocumented -9999 after a kernel's bad access, for good."""


def translate(error: Exception, phase: Phase) -> BackendError:
    """The interface's error for one of pyopencl."""
    number = getattr(error, "code", None)
    text = str(error)
    if number is None:
        code = type(error).__name__
        return CompileError(text, code=code, accepted=True) if phase == "compile" else RunError(text, phase=phase, code=code)
    code = NAMES.get(number, _word(text) or str(number))
    if number in EXHAUSTED:
        return OutOfMemory(text, phase=phase, code=code)
    if number in LOST:
        return DeviceLost(text, phase=phase, code=code)
    if phase == "compile":  # the table of operators had said yes
        return CompileError(text, code=code, accepted=True)
    return RunError(text, phase=phase, code=code)


def _word(text: str) -> str:
    """INVALID_VALUE of "clEnqueueMapBuffer failed: INVALID_VALUE - with a remark"."""
    words = text.partition("failed: ")[2].split()
    return f"CL_{words[0]}" if words else ""


@contextlib.contextmanager
def translated(phase: Phase) -> Iterator[None]:
    """Whatever pyopencl raises inside becomes the interface's error."""
    import pyopencl

    try:
        yield
    except pyopencl.Error as error:
        raise translate(error, phase) from error
    except MemoryError as error:
        raise OutOfMemory(str(error), phase=phase, code="MemoryError") from error
