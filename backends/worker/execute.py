"""Carry out one request on an opened device. The same code runs in the child and, for in_process backends, here."""

from __future__ import annotations

import contextlib
import dataclasses
import importlib
import time
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Literal, get_args

import numpy as np

from backends.interface import (
    PHASES,
    Backend,
    BackendError,
    Capabilities,
    CompileError,
    Device,
    DeviceInfo,
    DeviceLost,
    Executable,
    NodePlacement,
    OutOfMemory,
    Phase,
    RunError,
    TensorSpec,
    Unsupported,
)
from backends.worker.codec import encode, sendable_dtype
from backends.worker.log import shorten

KIND = Literal["simulated", "emulated", "hardware"]
TEXT_LIMIT = 200  # characters of a field of DeviceInfo

ENDINGS: tuple[tuple[type[BackendError], str], ...] = (
    (Unsupported, "unsupported"),
    (CompileError, "compile_error"),
    (OutOfMemory, "out_of_memory"),
    (DeviceLost, "device_lost"),
    (RunError, "run_error"),
)


class UsageError(Exception):
    """The user asked for a backend, device or option that there is not; the text says so to them."""


class Phases:
    """The phases of one request: which one it is in, seconds spent in each, and `report` called on each entry."""

    def __init__(self, report: Callable[[Phase], None]) -> None:
        self.current: Phase = "discover"
        self.seconds: dict[str, float] = {}
        self._report = report
        self._since: float | None = None

    def enter(self, phase: Phase) -> None:
        self.leave()
        self.current = phase
        self._report(phase)
        self._since = time.perf_counter()

    def leave(self) -> None:
        if self._since is not None:
            spent = time.perf_counter() - self._since
            self.seconds[self.current] = self.seconds.get(self.current, 0.0) + spent
            self._since = None


class PhasedDevice:
    """The device as an exercise sees it: everything is the device's own, and compiling counts as phase "compile".

    What it declines of a compilation with options of the suite's own, or of another model than the case's, counts as phase
    "load": it is no word about the case.
    """

    def __init__(self, device: Device, phases: Phases, model: bytes) -> None:
        self._device = device
        self._phases = phases
        self._model = model

    def __getattr__(self, name: str) -> Any:
        return getattr(self._device, name)

    def compile(self, model: bytes, options: Mapping[str, str] | None = None) -> Executable:
        self._phases.enter("compile")
        try:
            return self._device.compile(model, options)
        except Unsupported as error:
            error.phase = "load" if options or model != self._model else error.phase
            raise
        except ValueError as error:  # by the interface: an option that the backend does not know
            if not options:
                raise
            raise Unsupported(str(error), phase="load", code="option") from error
        finally:
            self._phases.enter("run")


class Server:
    """The opened device, and its partner if there is one, with the requests that can be made to them.

    Every request gives a reply of builtins: `ended`, `phase`, `seconds`, `error`, `code`, `accepted`, `traceback`,
    `notes` and, encoded by `codec`, `outputs`, `placement`, `evidence`. No exception of an adapter leaves `serve`; only
    those of the classes `through` do, being the user's Ctrl-C where we run in their process.
    """

    def __init__(self, through: tuple[type[BaseException], ...] = ()) -> None:
        self.device: Device
        self.partner: Device | None = None
        self._through = through
        self._open: list[tuple[Backend, DeviceInfo, Mapping[str, str]]] = []
        self._requests: dict[str, Callable[..., None]] = {
            "open": self._open_devices,
            "reopen": self._reopen,
            "observe": self._observe,
            "exercise": self._exercise,
            "probe": self._probe,
        }

    def serve(self, kind: str, arguments: Sequence[Any], report: Callable[[Phase], None]) -> dict[str, Any]:
        phases = Phases(report)
        reply: dict[str, Any] = {
            "ended": "ran", "outputs": {}, "placement": None, "evidence": None, "accepted": False,
            "error": "", "code": "", "traceback": "", "notes": [],
        }  # fmt: skip
        try:
            self._requests[kind](reply, phases, *arguments)
        except self._through:
            raise
        except UsageError as error:
            reply.update(ended="usage_error", error=str(error))
        except BaseException as error:  # SystemExit and the like included: an adapter raised it
            reply.update(self._ending(error, phases.current), outputs={}, evidence=None)
        phases.leave()
        reply.setdefault("phase", phases.current)
        reply["seconds"] = phases.seconds
        return reply

    def _ending(self, error: BaseException, phase: Phase) -> dict[str, Any]:
        """What an exception of the adapter says. Its own attributes may raise anything, which is the adapter's error too."""
        try:
            if isinstance(error, BackendError):
                phase = error.phase if error.phase in PHASES else phase
                return {**_failure(error, phase), "phase": phase}
        except self._through:
            raise
        except BaseException as broken:
            error = broken
        try:
            text = "".join(traceback.format_exception(error))
        except self._through:
            raise
        except BaseException:
            text = ""
        return {"ended": "adapter_error", "error": shorten(_describe(error)), "traceback": shorten(text)}

    def close(self) -> None:
        """Close the devices; what they raise is of no interest any more."""
        for device in (self.partner, getattr(self, "device", None)):
            if device is not None:
                with contextlib.suppress(Exception):
                    device.close()

    def _open_devices(
        self,
        reply: dict[str, Any],
        phases: Phases,
        backend: str,
        device: str | None,
        options: Mapping[str, str],
        partner: str | None,
    ) -> None:
        from backends.registry import load

        phases.enter("discover")
        try:
            for spec, name, given in ((backend, device, options), (partner, None, {})):
                if spec is not None:
                    loaded = load(spec)
                    self._open.append((loaded, select(loaded, name), given))
            self._open_all(reply)
        except ValueError as error:  # by the interface: no such backend, or an unknown option
            raise UsageError(str(error)) from error

    def _reopen(self, reply: dict[str, Any], phases: Phases) -> None:
        phases.enter("discover")
        self.close()
        self._open_all(reply)

    def _open_all(self, reply: dict[str, Any]) -> None:
        devices = []
        for backend, info, options in self._open:
            device = backend.open(info, options)
            if not isinstance(device, Device):
                raise TypeError(f"open returned {_type(device)}, not a Device")
            devices.append(device)
        self.device, self.partner = devices[0], devices[1] if devices[1:] else None
        info, capabilities = self.device.info, self.device.capabilities()
        if not isinstance(info, DeviceInfo) or not isinstance(capabilities, Capabilities):
            raise TypeError(f"info is {_type(info)}, capabilities() is {_type(capabilities)}")
        check_info(info)
        check_capabilities(capabilities)
        partner_info = None if self.partner is None else self.partner.info
        reply["evidence"] = encode({"info": info, "capabilities": capabilities, "partner_info": partner_info})

    def _observe(
        self,
        reply: dict[str, Any],
        phases: Phases,
        model: bytes,
        feeds: Mapping[str, np.ndarray],
        options: Mapping[str, str] | None,
        compile_only: bool,
    ) -> None:
        phases.enter("compile")
        executable = self.device.compile(model, options)
        if not isinstance(executable, Executable):
            raise TypeError(f"compile returned {_type(executable)}, not an Executable")
        with _released(executable, reply):
            if compile_only:
                reply["ended"] = "compiled"
            else:
                phases.enter("load")
                check_inputs(executable.inputs, feeds)
                phases.enter("run")
                outputs = executable.run(feeds)
                phases.enter("read")
                check_outputs(outputs, executable.outputs)
                reply["outputs"] = encode(outputs)
            try:
                reply["placement"] = _checked_placement(executable.placement())
            except self._through:
                raise
            except BaseException as error:
                reply["notes"].append(f"placement() failed: {shorten(_describe(error))}")

    def _exercise(
        self,
        reply: dict[str, Any],
        phases: Phases,
        function: str,
        model: bytes,
        feeds: Mapping[str, np.ndarray],
        arguments: Sequence[Any],
    ) -> None:
        phases.enter("run")
        module, name = function.split(":")
        call = getattr(importlib.import_module(module), name)
        partner = {} if self.partner is None else {"partner": self.partner}
        evidence = call(PhasedDevice(self.device, phases, model), model, feeds, *arguments, **partner)
        phases.enter("read")
        reply["evidence"] = encode(evidence)

    def _probe(self, reply: dict[str, Any], phases: Phases) -> None:
        phases.enter("discover")
        fingerprint = self.device.probe()
        if not isinstance(fingerprint, Mapping):
            raise TypeError(f"probe returned {_type(fingerprint)}, not a dict")
        odd = [name for name, value in fingerprint.items() if not (value is None or isinstance(value, bool | int | float))]
        if odd:
            raise TypeError(f"probe returned {_type(fingerprint[odd[0]])} for {odd[0]!r}, not a number, a truth value or None")
        reply["evidence"] = encode(dict(fingerprint))


def select(backend: Backend, name: str | None) -> DeviceInfo:
    """The device of that name, by default the first. Raises UsageError naming those that there are."""
    infos = backend.discover()
    if not infos:
        raise UsageError(f"backend {backend.name} finds no device here")
    for info in infos:
        if name in (None, info.name):
            return info
    raise UsageError(f"backend {backend.name} has no device {name!r}; it has {', '.join(i.name for i in infos)}")


def check_info(info: DeviceInfo) -> None:
    """Raises TypeError or ValueError for a description that no journal could hold."""
    for field in dataclasses.fields(info):
        value = getattr(info, field.name)
        if field.name == "versions":
            if not isinstance(value, Mapping) or not all(isinstance(part, str) for pair in value.items() for part in pair):
                raise TypeError("DeviceInfo.versions is not a mapping of strings to strings")
        elif not isinstance(value, str) or len(value) > TEXT_LIMIT:
            raise TypeError(f"DeviceInfo.{field.name} is not a string of at most {TEXT_LIMIT} characters")
    if info.kind not in get_args(KIND):
        raise ValueError(f"DeviceInfo.kind is {info.kind!r}, not one of {', '.join(get_args(KIND))}")


def check_capabilities(capabilities: Capabilities) -> None:
    """Raises TypeError for declarations of another shape than the interface's."""
    operators, precision = capabilities.operators, capabilities.precision
    if operators is not None and not (
        isinstance(operators, Mapping)
        and all(isinstance(dtypes, frozenset | set) for dtypes in operators.values())
        and all(isinstance(word, str) for operator, dtypes in operators.items() for word in (operator, *dtypes))
    ):
        raise TypeError("Capabilities.operators is not a mapping of operators to sets of dtypes")
    if precision is not None and not (
        isinstance(precision, Mapping) and all(isinstance(rung, str | Mapping) for rung in precision.values())
    ):
        raise TypeError("Capabilities.precision is not a mapping of dtypes to rungs")
    for field, kinds in (
        ("layouts", (frozenset, set)),
        ("memory_kinds", (frozenset, set)),
        ("alignment", (int,)),
        ("size_multiple", (int,)),
        ("max_rank", (int,)),
        ("features", (frozenset, set)),
        ("optimizations", (tuple, list)),
        ("dynamic_shapes", (bool,)),
    ):
        value = getattr(capabilities, field)
        if value is not None and not isinstance(value, kinds):
            raise TypeError(f"Capabilities.{field} is {_type(value)}, not {kinds[0].__name__}")


def check_inputs(specs: Sequence[TensorSpec], feeds: Mapping[str, np.ndarray]) -> None:
    """Every compiled input must be fed. The reverse need not hold: a compiler may drop an input that nothing reads."""
    strangers = [spec for spec in specs if not isinstance(spec, TensorSpec)]
    if strangers:
        raise TypeError(f"executable.inputs holds {_type(strangers[0])}, not TensorSpec")
    missing = [spec.name for spec in specs if spec.name not in feeds]
    if missing:
        raise ValueError(f"executable.inputs names {missing}, which the model's inputs {sorted(feeds)} do not have")


def check_outputs(outputs: object, specs: Sequence[TensorSpec]) -> None:
    """What `run` returned must be a dict of arrays under the executable's output names, of tensor dtypes.

    Shapes and dtypes that differ from the model's are for the judge: they may be the device's doing.
    """
    if not isinstance(outputs, dict):
        raise TypeError(f"run returned {_type(outputs)}, not a dict of arrays")
    expected = [spec.name for spec in specs]
    if len(outputs) != len(expected) or set(outputs) != set(expected):
        raise ValueError(f"run returned outputs named {list(outputs)}, executable.outputs names {expected}")
    for name, array in outputs.items():
        if isinstance(array, np.generic):  # what NumPy makes of an array without dimensions
            outputs[name] = array = np.asarray(array)
        if not isinstance(array, np.ndarray):
            raise TypeError(f"run returned {_type(array)} for output {name!r}, not an array")
        strings = array.dtype.kind != "O" or all(isinstance(item, str | bytes) for item in array.ravel().tolist())
        if not sendable_dtype(array.dtype) or not strings:
            raise TypeError(f"run returned an array of dtype {array.dtype} for output {name!r}, not a tensor")


def _checked_placement(placement: Sequence[NodePlacement] | None) -> Any:
    if placement is None:
        return None
    nodes = list(placement)
    for node in nodes:
        if not isinstance(node, NodePlacement):
            raise TypeError(f"a list of {_type(node)}, not of NodePlacement")
    return encode(nodes)


@contextlib.contextmanager
def _released(executable: Executable, reply: dict[str, Any]) -> Iterator[None]:
    """Release the executable at the end; an error of that is noted and hides nothing."""
    try:
        yield
    finally:
        try:
            executable.release()
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            reply["notes"].append(f"release() failed: {shorten(_describe(error))}")


def _failure(error: BackendError, phase: Phase) -> dict[str, Any]:
    named = [ending for kind, ending in ENDINGS if isinstance(error, kind)]
    before_run = PHASES.index(phase) < PHASES.index("run")
    return {
        "ended": named[0] if named else "compile_error" if before_run else "run_error",
        "error": shorten(str(error.text)),
        "code": shorten(str(error.code)),
        "accepted": bool(getattr(error, "accepted", False)),
    }


def _describe(error: BaseException) -> str:
    """The last line of the traceback and where the exception came from."""
    try:
        text = str(error)
    except KeyboardInterrupt:
        raise
    except BaseException as failed:
        text = f"<its str() raises {type(failed).__name__}>"
    frames = traceback.extract_tb(error.__traceback__)
    where = f" ({frames[-1].filename}:{frames[-1].lineno}, in {frames[-1].name})" if frames else ""
    return f"{type(error).__qualname__}: {shorten(text)}{where}"


def _type(value: object) -> str:
    return type(value).__name__
