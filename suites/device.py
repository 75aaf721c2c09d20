"""The `device` of a test: runs cases on the device under test and keeps what is needed to judge and to repeat them."""

from __future__ import annotations

import dataclasses
import functools
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from backends.interface import Capabilities, DeviceInfo, Phase
from backends.worker import DeviceGone, DeviceSession, Observation
from results.record import Record
from results.verdict import Verdict
from suites.cases.case import Case
from suites.function_probe import right_bits
from suites.precision import Precision, settle

LOST = "device lost"
"""Begins the reason of cases that were not run because the device did not come back."""

SHORT: Mapping[Phase, float] = {"compile": 10.0, "load": 10.0, "run": 10.0, "read": 10.0}
"""Deadlines of a case that is expected to miss them, in seconds."""


@dataclasses.dataclass
class RunState:
    """What one test session shares: the opened device, its precision, and what was seen so far."""

    session: DeviceSession
    precision: Precision = dataclasses.field(init=False)
    ends: float | None = None  # time.monotonic() at which the budget is spent
    lost: str = ""  # the story of a device that did not come back
    record: Record | None = None  # of the test that is running, once it is judged
    previous: tuple[Any, ...] = ()  # outputs of the case before, which a stale buffer would still hold
    before: tuple[Any, Any] | None = None  # model and feeds of that case, whose result may come one run late
    confirmed: set[tuple[str, str, Verdict]] = dataclasses.field(default_factory=set)  # (operator, type, verdict) seen twice
    expected: Sequence[Verdict] = ()  # of the test that is running, by the expectations

    def __post_init__(self) -> None:
        undeclared = "float32" not in (self.session.capabilities.precision or {})
        self.precision = settle(self.session.capabilities, self.fingerprint if undeclared else self.session.fingerprint)

    @functools.cached_property
    def fingerprint(self) -> dict[str, Any]:
        """What the probe saw when the device was opened, and how exact its functions are."""
        try:
            return {**self.session.fingerprint, **right_bits(self.session)} if self.session.fingerprint else {}
        except DeviceGone as error:
            self.lost = str(error)
            return self.session.fingerprint

    def take_notes(self) -> list[str]:
        """What the session had to say since the last case, such as a failed probe."""
        notes, self.session.notes[:] = list(self.session.notes), []
        return notes

    @property
    def blocked(self) -> str:
        """Why no further case can run, "" while they can."""
        if self.lost:
            return f"{LOST}: {self.lost}"
        return "budget spent" if self.ends is not None and time.monotonic() > self.ends else ""


@dataclasses.dataclass(frozen=True)
class Subject:
    """What the running test is about. suite: its module, "" for operators. feature: that its requirement asks of the device."""

    suite: str = ""
    feature: str = ""


@dataclasses.dataclass(frozen=True)
class Run:
    """One case on the device: what was observed, and the way to do the same again in a fresh process."""

    state: RunState
    case: Case
    observation: Observation
    perform: Callable[[], Observation]
    compile_only: bool = False
    exercise: bool = False
    subject: Subject = dataclasses.field(default_factory=lambda: Subject())

    def again(self) -> Observation:
        """The same request in a new worker process."""
        self.state.session.restart()
        return self.perform()


class DeviceUnderTest:
    """What tests call. Outputs and evidence are judged by `suites.judge.verify`."""

    def __init__(self, state: RunState, subject: Subject | None = None) -> None:
        self.state = state
        self.subject = subject or Subject()

    @property
    def info(self) -> DeviceInfo:
        return self.state.session.info

    @property
    def capabilities(self) -> Capabilities:
        return self.state.session.capabilities

    @property
    def fingerprint(self) -> dict[str, Any]:
        """What the probes saw."""
        return self.state.fingerprint

    def run(self, case: Case) -> Run:
        """Compile and run a case with its own inputs."""
        return self._run(case, lambda: self.state.session.observe(case.model_bytes, case.feeds, deadlines=self._deadlines))

    def compile(self, case: Case) -> Run:
        """Compile a case without running it."""
        return self._run(
            case,
            lambda: self.state.session.observe(case.model_bytes, case.feeds, compile_only=True, deadlines=self._deadlines),
            compile_only=True,
        )

    def exercise(self, function: Callable[..., Any], case: Case, *arguments: int | float | str | bytes | np.ndarray) -> Run:
        """Call a module-level `function(device, model, feeds, *arguments)` next to the device.

        It returns what an `exercises.evidence.Evidence` holds.
        """
        return self._run(
            case,
            lambda: self.state.session.exercise(function, case.model_bytes, case.feeds, *arguments, deadlines=self._deadlines),
            exercise=True,
        )

    @property
    def _deadlines(self) -> Mapping[Phase, float] | None:
        return SHORT if Verdict.TIMEOUT in self.state.expected else None

    def _run(
        self, case: Case, perform: Callable[[], Observation], *, compile_only: bool = False, exercise: bool = False
    ) -> Run:
        return Run(self.state, case, perform(), perform, compile_only, exercise, self.subject)
