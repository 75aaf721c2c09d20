"""The devices as a test's process sees them: one session per (backends, device, options).

A crash or a hang costs one request. After it the session climbs a ladder (reopen the device, new worker, the user's
reset command) until the device answers its probe as it did at first, or gives up with `DeviceGone`.
"""

from __future__ import annotations

import dataclasses
import subprocess
import weakref
from collections.abc import Callable, Mapping
from typing import Any, Literal

import numpy as np

from backends.interface import Capabilities, DeviceInfo, NodePlacement, Phase
from backends.probe import differences
from backends.worker.codec import decode
from backends.worker.link import InProcessLink, WorkerEnded, WorkerLink
from backends.worker.log import shorten

Ended = Literal[
    "compiled", "ran", "unsupported", "compile_error", "run_error", "out_of_memory", "device_lost", "crash", "timeout",
    "adapter_error",
]  # fmt: skip
DEADLINES: Mapping[Phase, float] = {  # seconds; discover is opening or probing the device, vendor libraries loaded cold
    "discover": 120.0, "compile": 600.0, "load": 60.0, "run": 30.0, "read": 30.0,
}  # fmt: skip
GRACE = 5.0  # seconds after which the parent ends a worker whose own deadline did not
PROBE_EVERY = 200  # requests that went well
RESET_LIMIT = 300.0  # seconds for the user's reset command
Rung = Literal["reopen", "new worker", "reset command"]
RUNGS: tuple[Rung, ...] = ("reopen", "new worker", "reset command")


class DeviceGone(Exception):
    """The device does not come back; the text tells what was tried."""


@dataclasses.dataclass
class Observation:
    """What one request to a device left behind.

    phase: the last one entered, or the one that the adapter's error names. outputs: {} unless ended == "ran". evidence:
    what an exercise returned. accepted: a compile error after the runtime's own query had claimed the model. error,
    code: the vendor's text and code, verbatim. seconds: spent in each phase. log: what was printed on file descriptors
    1 and 2, and the traceback of an adapter error, capped. exit: for crash and timeout, e.g. "signal SIGSEGV",
    "exit code 3", "deadline 30 s in phase run". worker: generation number of the worker that served it. notes: anything
    else that happened, such as a fresh worker taking over.
    """

    ended: Ended
    phase: Phase
    outputs: dict[str, np.ndarray] = dataclasses.field(default_factory=dict)
    placement: list[NodePlacement] | None = None
    evidence: object = None
    accepted: bool = False
    error: str = ""
    code: str = ""
    seconds: dict[Phase, float] = dataclasses.field(default_factory=dict)
    log: str = ""
    exit: str = ""
    worker: int = 0
    notes: list[str] = dataclasses.field(default_factory=list)


class _RungFailed(Exception):
    """This rung of the ladder did not bring the device back."""


class DeviceSession:
    """One opened device, in a worker process or, for a backend with `in_process`, here.

    backend, partner: specs for `backends.registry.load`; the partner's default device is opened in the same process.
    device: its name, None for the first. place: execnet spec of where the worker runs, see `Transport`.
    deadlines: seconds by phase, overriding DEADLINES; all are multiplied by timeout_scale.
    in_process: None asks the backend (which never applies to a place other than "popen").
    Raises ValueError, in the backend's words, if there is no such backend, device or option; DeviceGone if the device
    cannot be opened.
    """

    def __init__(
        self,
        backend: str,
        device: str | None = None,
        options: Mapping[str, str] | None = None,
        partner: str | None = None,
        *,
        place: str = "popen",
        timeout_scale: float = 1.0,
        deadlines: Mapping[Phase, float] | None = None,
        grace: float = GRACE,
        probe_every: int = PROBE_EVERY,
        reset_command: str | None = None,
        in_process: bool | None = None,
    ) -> None:
        self.info: DeviceInfo
        self.capabilities: Capabilities
        self.partner_info: DeviceInfo | None
        self.fingerprint: dict[str, Any] = {}
        self.notes: list[str] = []
        self.worker = 0
        self._arguments = (backend, device, dict(options or {}), partner)
        self._place = place
        self._grace = grace
        self._probe_every = probe_every
        self._reset_command = reset_command
        self._deadlines = _scaled({**DEADLINES, **(deadlines or {})}, timeout_scale)
        self._scale = timeout_scale
        self._in_process = _in_process(backend, partner, place, self._arguments[2]) if in_process is None else in_process
        self._link: WorkerLink | InProcessLink | None = None
        self._kill: weakref.finalize[..., DeviceSession] | None = None
        self._gone: DeviceGone | None = None
        self._served = 0  # requests by the current worker
        self._passes = 0
        try:
            self._new_worker()
        except _RungFailed as error:
            self.close()
            raise DeviceGone(f"{backend}: the device could not be opened: {error}") from error
        except BaseException:
            self.close()
            raise
        self._first_fingerprint()

    def observe(
        self,
        model: bytes,
        feeds: Mapping[str, np.ndarray],
        *,
        options: Mapping[str, str] | None = None,
        compile_only: bool = False,
        deadlines: Mapping[Phase, float] | None = None,
    ) -> Observation:
        """Compile a serialised model and, unless compile_only, run it once. `deadlines` (seconds) are for this request.

        Raises DeviceGone once the device does not come back from an earlier request.
        """
        compile_options = None if options is None else dict(options)
        return self._perform("observe", [model, dict(feeds), compile_options, compile_only], deadlines)

    def exercise(
        self,
        function: Callable[..., object],
        model: bytes,
        feeds: Mapping[str, np.ndarray],
        *args: object,
        deadlines: Mapping[Phase, float] | None = None,
    ) -> Observation:
        """Run `function(device, model, feeds, *args)` next to the device; `evidence` is what it returned.

        A module-level function of a module that the worker can import. With a partner it gets `partner=` as well.
        Arguments and evidence are builtins, arrays and the interface's records. Time outside `device.compile` counts as
        phase "run".
        """
        name = f"{function.__module__}:{function.__qualname__}"
        if function.__module__ == "__main__" or "." in function.__qualname__:
            raise ValueError(f"{name} is not a module-level function that a worker could import")
        return self._perform("exercise", [name, model, dict(feeds), list(args)], deadlines)

    def probe(self) -> dict[str, Any]:
        """The device's fingerprint now. A sticky change has been acted on (fresh worker, notes) when this returns."""
        self._ready()
        return self._check()

    def restart(self) -> None:
        """A fresh worker, unless the current one has not served a request yet. Raises DeviceGone if none opens."""
        if self._gone:
            raise self._gone
        if self._link is None or self._link.exit or self._served:
            self._climb("new worker")
            self._ready()

    def close(self) -> None:
        """End the worker. Idempotent; no process remains."""
        if self._link is not None:
            self._link.close()
            self._link = None
        if self._kill is not None:
            self._kill.detach()

    def __enter__(self) -> DeviceSession:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _perform(self, kind: str, arguments: list[Any], deadlines: Mapping[Phase, float] | None) -> Observation:
        limits = {**self._deadlines, **_scaled(deadlines or {}, self._scale)}
        noted = len(self.notes)
        self._ready()
        try:
            observation = self._attempt(kind, arguments, limits)
        except WorkerEnded as ended:  # before it took up this request, which is therefore not to blame
            self._note(f"worker {self.worker} ended between requests: {ended.exit}")
            self._climb("new worker")
            self._ready()
            try:
                observation = self._attempt(kind, arguments, limits)
            except WorkerEnded as again:
                observation = Observation("crash", "discover", exit=again.exit, log=again.log, worker=self.worker)
        self._after(observation)
        observation.notes += self.notes[noted:]
        return observation

    def _attempt(self, kind: str, arguments: list[Any], limits: Mapping[Phase, float]) -> Observation:
        """One request. Raises WorkerEnded only if the worker had not begun with it."""
        served_by = self.worker
        self._served += 1
        try:
            reply = self._request(kind, arguments, limits)
        except WorkerEnded as ended:
            if not ended.begun:
                raise
            return Observation(
                "timeout" if ended.timed_out else "crash",
                ended.phase,
                seconds=ended.seconds,
                log=ended.log,
                exit=ended.exit,
                worker=served_by,
            )
        for name in ("outputs", "placement", "evidence"):
            reply[name] = decode(reply[name])
        reply["log"] = reply.pop("traceback") + reply["log"]
        return Observation(**reply, worker=served_by)

    def _after(self, observation: Observation) -> None:
        """Make sure that what this request did to the device stays its own."""
        match observation.ended:
            case "ran" | "compiled":
                self._passes += 1
                if self._passes % self._probe_every == 0:
                    self._check()
            case "unsupported":
                pass
            case "crash" | "timeout":
                self._climb("new worker")
            case "device_lost":
                self._climb("reopen")
            case _:
                self._check()

    def _ready(self) -> None:
        """Have a worker. Raises DeviceGone."""
        if self._gone:
            raise self._gone
        if self._link is None or self._link.exit:
            if self._link is not None:
                self._note(f"worker {self.worker} ended between requests: {self._link.exit}")
            self._climb("new worker")
            if self._gone:
                raise self._gone

    def _check(self) -> dict[str, Any]:
        """Probe; where the answer is not the first one, climb the ladder."""
        if not self.fingerprint:
            return {}
        now: dict[str, Any] = {}
        try:
            now = self._probe_once()
        except _RungFailed as error:
            self._note(f"the probe failed in worker {self.worker}: {error}")
            self._climb("new worker")
            return now
        changed = differences(self.fingerprint, now)
        if changed:
            self._note(f"the device's fingerprint changed in worker {self.worker}: {'; '.join(changed)}")
            self._climb("new worker")
        return now

    def _climb(self, first: Rung) -> None:
        """Bring the device back, from rung `first` up; else remember in `_gone` that it is lost."""
        story = []
        changed: list[str] = []
        now: dict[str, Any] = {}
        for rung in RUNGS[RUNGS.index(first) :]:
            if rung == "reset command" and self._reset_command is None:
                continue
            try:
                self._step(rung)
                now = self._probe_once() if self.fingerprint else {}
                changed = differences(self.fingerprint, now)
            except (_RungFailed, ValueError) as error:
                story.append(f"{rung}: {error}")
                changed = []
                continue
            if not changed:
                self._note(f"{rung}: worker {self.worker} goes on")
                return
            story.append(f"{rung}: the fingerprint differs from the first: {'; '.join(changed)}")
        if changed and not any(text.startswith("conv") for text in changed):
            # Right results in another precision: the device lives, and its verdicts will show the precision.
            self._note(f"{'; '.join(story)}; worker {self.worker} goes on with it")
            self.fingerprint = now
            return
        self._note(f"device lost: {'; '.join(story)}")
        self._gone = DeviceGone(f"{self._arguments[0]}: the device is lost. {'; '.join(story)}")
        self.close()

    def _step(self, rung: Rung) -> None:
        if rung == "reopen":
            self._take(self._asked("reopen", []))
            return
        if rung == "reset command":
            self.close()
            self._reset()
        self._new_worker()

    def _reset(self) -> None:
        assert self._reset_command is not None
        try:
            done = subprocess.run(
                self._reset_command, shell=True, capture_output=True, timeout=RESET_LIMIT, stdin=subprocess.DEVNULL
            )
        except subprocess.TimeoutExpired as error:
            raise _RungFailed(f"{self._reset_command} did not end in {RESET_LIMIT:g} s") from error
        if done.returncode:
            text = shorten((done.stderr + done.stdout).decode("utf-8", "backslashreplace"), 500)
            raise _RungFailed(f"{self._reset_command} ended with exit code {done.returncode}: {text}")

    def _new_worker(self) -> None:
        """End the worker, start another, open the devices in it."""
        self.close()
        self.worker += 1
        self._served = 0
        try:
            link = InProcessLink() if self._in_process else WorkerLink(self._place, self._grace)
        except WorkerEnded as error:
            raise _RungFailed(str(error)) from error
        self._link = link
        self._kill = weakref.finalize(self, link.close)  # also when the interpreter exits without close()
        self._take(self._asked("open", list(self._arguments)))

    def _take(self, opened: dict[str, Any]) -> None:
        self.info, self.capabilities = opened["info"], opened["capabilities"]
        self.partner_info = opened["partner_info"]

    def _first_fingerprint(self) -> None:
        try:
            self.fingerprint = self._probe_once()
        except _RungFailed as error:
            self._note(f"no fingerprint, the device's health will not be checked: {error}")
            if self._link is None or self._link.exit:
                self._climb("new worker")

    def _probe_once(self) -> dict[str, Any]:
        return dict(self._asked("probe", []))

    def _asked(self, kind: str, arguments: list[Any]) -> dict[str, Any]:
        """The evidence of a request of the session's own. Raises _RungFailed if it did not end well."""
        try:
            reply = self._request(kind, arguments, self._deadlines)
        except WorkerEnded as ended:
            raise _RungFailed(f"{kind} ended by {ended.exit} {_tail(ended.log)}".rstrip()) from ended
        if reply["ended"] == "ran":
            evidence: dict[str, Any] = decode(reply["evidence"])
            return evidence
        if reply["ended"] == "usage_error":
            raise ValueError(reply["error"])
        raise _RungFailed(f"{kind} ended in {reply['ended']}: {reply['error']} {reply['code']}".rstrip())

    def _request(self, kind: str, arguments: list[Any], limits: Mapping[Phase, float]) -> dict[str, Any]:
        assert self._link is not None
        try:
            return self._link.request(kind, arguments, limits)
        except WorkerEnded:
            self.close()
            raise
        except KeyboardInterrupt:
            if not self._in_process:
                self.close()
            raise

    def _note(self, text: str) -> None:
        self.notes.append(text)


def _scaled(deadlines: Mapping[Phase, float], scale: float) -> dict[Phase, float]:
    return {phase: seconds * scale for phase, seconds in deadlines.items()}


def _in_process(backend: str, partner: str | None, place: str, options: Mapping[str, str]) -> bool:
    """Whether every backend asks for it. Loading a backend's class loads no vendor library."""
    from backends.registry import load

    given = [(backend, options), *([(partner, {})] if partner is not None else [])]
    return place == "popen" and all(load(spec).runs_in_process(of_it) for spec, of_it in given)


def _tail(text: str, limit: int = 500) -> str:
    return f"(it printed: …{text[-limit:].strip()})" if text.strip() else ""
