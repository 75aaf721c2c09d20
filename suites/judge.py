"""From what a device left behind to a verdict, on record, and to pytest's outcome."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from backends.interface import Capabilities, Phase
from backends.worker import DeviceGone, Observation
from reference.verify import TensorVerdict
from reference.verify import verify as verify_outputs
from reference.verify.diagnosis import Diagnosis
from reference.verify.graphs import GraphJudge, verify_graph
from results.record import Record, Rerun, Vendor
from results.verdict import Facts, Verdict, decide
from suites.cases.case import Case
from suites.cases.graphs import GraphCase
from suites.device import Run
from suites.exercises.evidence import Evidence
from suites.exercises.graphs import APART, TOGETHER

SEVERITY = ("mismatch", "inconclusive", "pass_reduced", "pass", "implementation_defined")
"""The verdict of a case is that of its worst output; open elements do not spoil a case whose others are right."""


@dataclasses.dataclass(frozen=True)
class Judgement:
    """A verdict with its reasons."""

    verdict: Verdict
    phase: Phase
    reason: str
    notes: tuple[str, ...] = ()
    numbers: dict[str, dict[str, float | int]] = dataclasses.field(default_factory=dict)
    diagnosis: tuple[str, ...] = ()


def judge(run: Run, seen: Observation) -> Judgement:
    """The verdict on one observation of a run; a pure function of case, observation and the session's precision."""
    case, state = run.case, run.state
    told = Evidence.of(seen.evidence) if seen.evidence is not None else None
    tensors: list[TensorVerdict] = []
    if told is not None:
        tensors = _verified_evidence(run, told)
    elif seen.ended == "ran" and isinstance(case, GraphCase):
        tensors = verify_graph(case.model, case.feeds, seen.outputs, state.precision.profile)
    elif seen.ended == "ran":
        tensors = verify_outputs(
            case.model,
            case.feeds,
            seen.outputs,
            state.precision.profile,
            random=case.is_random,
            previous=state.previous,
            before=state.before,
        )
    worst = min((t.status for t in tensors), key=SEVERITY.index, default=None)
    if told is not None and told.undefined and worst == "pass":
        worst = "implementation_defined"
    off_device = [p.node for p in seen.placement or () if not p.on_device]
    decision = decide(
        Facts(
            declared=_declared(run, seen),
            ended=seen.ended,
            accepted=seen.accepted,
            on_device=None if seen.placement is None else not off_device,
            verified=worst,
            compile_only=run.compile_only,
        )
    )
    reasons = [t.message for t in tensors if t.status == worst and t.message]
    if decision.verdict is Verdict.FALLBACK:
        reasons = [f"ran elsewhere: {', '.join(off_device)}"]
    ended = f"{seen.exit} in phase {seen.phase}" if seen.exit and " in phase " not in seen.exit else seen.exit
    story = reasons or [ended or " ".join(seen.error.split())[:300]]
    reason = "; ".join(part for part in (*story, *([] if reasons else [decision.reason])) if part)
    return Judgement(
        decision.verdict,
        "verify" if seen.ended == "ran" else seen.phase,
        reason,
        (*decision.notes, *(told.notes if told else ())),
        {**{t.name: t.numbers for t in tensors if t.numbers}, **(told.numbers if told else {})},
        tuple(f"{f.cause}: {f.sentence(t.name) if t.name else f.text}" for t in tensors for f in t.diagnosis),
    )


def _declared(run: Run, seen: Observation) -> bool | None:
    """Whether the device says that it can do what was asked: of the operator, and of the feature once that was compiled."""
    case, capabilities = run.case, run.state.session.capabilities
    name = case.operator if case.domain in ("", "ai.onnx") else f"{case.domain}:{case.operator}"
    if seen.phase == "compile" or not run.exercise:
        outside = isinstance(case, GraphCase) or _is_outside(case, capabilities)
        return None if outside else capabilities.declares(name, case.dtype)
    feature = run.subject.feature
    if not feature:
        return None
    return None if capabilities.features is None else capabilities.features.issuperset(feature.split())


def _is_outside(case: Case, capabilities: Capabilities) -> bool:
    """Whether a shape of the model is beyond what the device says of shapes: its claims about operators are none about that.

    Dimensions are open where a shape is fed.
    """
    if capabilities.dynamic_shapes is not False and capabilities.max_rank is None:
        return False
    shapes = [v.type.tensor_type.shape.dim for v in (*case.model.graph.input, *case.model.graph.output)]
    is_open = any(not dimension.HasField("dim_value") for shape in shapes for dimension in shape)
    rank = max(map(len, shapes), default=0)
    return (capabilities.dynamic_shapes is False and is_open) or (capabilities.max_rank or rank) < rank


def _verified_evidence(run: Run, told: Evidence) -> list[TensorVerdict]:
    """What an exercise found wrong by itself, then the verdicts on every inference that it made."""
    found = [
        TensorVerdict("", "mismatch", sentence, diagnosis=(Diagnosis(cause, sentence),)) for cause, sentence in told.findings
    ]
    earlier: list[tuple[Any, Any]] = []
    graph = None
    if isinstance(run.case, GraphCase) and told.runs:
        graph = GraphJudge(run.case.model, run.case.feeds, run.state.precision.profile)
    for label, feeds, outputs in told.runs:
        if graph is not None:
            tensors = graph.verify(outputs)
        else:
            tensors = verify_outputs(
                run.case.model,
                feeds,
                outputs,
                run.state.precision.profile,
                previous=[array for _, before in earlier for array in before.values()],
                before=(run.case.model, earlier[-1][0]) if earlier else None,
            )
        earlier.append((feeds, outputs))
        found += [
            dataclasses.replace(t, name=f"{label}: {t.name}", message=t.message and f"{label}: {t.message}") for t in tensors
        ]
    found += [TensorVerdict("", "implementation_defined", text) for text in told.undefined]
    if told.is_empty:
        return [TensorVerdict("", "inconclusive", "nothing could be looked at on this device")]
    return (_fused(found) if graph is not None else found) or [TensorVerdict("", "pass")]


WAYS = {APART: "once every intermediate tensor is an output", TOGETHER: "as it stands"}
"""Way in which a graph ran → how it is spoken of."""


def _fused(found: list[TensorVerdict]) -> list[TensorVerdict]:
    """Of a graph that ran in several ways: what is wrong in some of them alone is the fault of making one of several nodes."""
    right: dict[str, str] = {}
    for tensor in found:
        way, _, name = tensor.name.partition(": ")
        if name and tensor.status in ("pass", "pass_reduced"):
            right.setdefault(name, way)
    judged = []
    for tensor in found:
        other = right.get(tensor.name.partition(": ")[2])
        if tensor.status == "mismatch" and other:
            text = f"it is right {WAYS.get(other, f'with {other}')}"
            tensor = dataclasses.replace(tensor, diagnosis=(Diagnosis("fusion-changes", text),))
        judged.append(tensor)
    return judged


def verify(case: Case, run: Run, closer: Callable[[], Run] | None = None) -> None:
    """Judges a run, records the result, and passes, fails or skips the test.

    closer: runs the same once more so that more of it is seen; a mismatch is judged by that, if it is one there too.

    Crashes, timeouts, mismatches and adapter errors run again in a fresh process, since what ran before may be to blame; the
    latter two only until one of the same operator and type was confirmed there.
    """
    judgement = judge(run, run.observation)
    if judgement.verdict is Verdict.MISMATCH and closer is not None:
        run, judgement = _nearer(run, judgement, closer)
    rerun: Judgement | None = None
    if _suspicious(run, judgement):
        try:
            rerun = judge(run, run.again())
            if rerun.verdict is judgement.verdict:
                run.state.confirmed.add((case.operator, case.dtype, judgement.verdict))
            else:
                judgement = _settle(judgement, rerun, judge(run, run.again()))
        except DeviceGone as error:  # what was seen first stays on record
            run.state.lost = str(error)
            judgement = dataclasses.replace(judgement, notes=(*judgement.notes, "the device did not come back after it"))
    run.state.record = _record(case, run, judgement, rerun)
    if run.observation.ended == "ran":
        run.state.previous = tuple(run.observation.outputs.values())
        run.state.before = (case.model, case.feeds)
    outcome(run.state.record)


def _nearer(run: Run, judgement: Judgement, closer: Callable[[], Run]) -> tuple[Run, Judgement]:
    """The closer look with its judgement, where it finds a mismatch too; else what there was."""
    try:
        near = closer()
    except DeviceGone as error:  # what was seen first stays on record
        run.state.lost = str(error)
        return run, judgement
    seen = judge(near, near.observation)
    return (near, seen) if seen.verdict is Verdict.MISMATCH else (run, judgement)


def _suspicious(run: Run, judgement: Judgement) -> bool:
    """What ran before may be to blame for crashes and timeouts, and for mismatches and adapter errors not confirmed yet; not
    for what is expected."""
    if judgement.verdict in run.state.expected:
        return False
    if judgement.verdict in (Verdict.CRASH, Verdict.TIMEOUT):
        return True
    doubtful = judgement.verdict is Verdict.MISMATCH or run.observation.ended == "adapter_error"
    return doubtful and (run.case.operator, run.case.dtype, judgement.verdict) not in run.state.confirmed


def _settle(first: Judgement, second: Judgement, third: Judgement) -> Judgement:
    """Two passes in fresh processes after a failure in sequence are order_dependent; anything else stays what it was, flaky."""
    passed = (Verdict.PASS, Verdict.PASS_REDUCED)
    if second.verdict in passed and third.verdict in passed:
        reason = f"{first.verdict.value} in sequence, {second.verdict.value} in fresh processes: {first.reason}"
        return dataclasses.replace(first, verdict=Verdict.ORDER_DEPENDENT, reason=reason)
    seen = f"{second.verdict.value} and {third.verdict.value}"
    return dataclasses.replace(first, notes=(*first.notes, f"flaky: {seen} in fresh processes"))


def _record(case: Case, run: Run, judgement: Judgement, rerun: Judgement | None) -> Record:
    """All that the journal keeps; test and requirement are filled in by the plugin."""
    seen = run.observation
    devices = Counter(node.device for node in seen.placement or ())
    return Record(
        id=case.id,
        test="",
        requirement="",
        verdict=judgement.verdict,
        operator=case.operator,
        domain=case.domain,
        opset=case.opset,
        dtype=case.dtype,
        family=run.subject.suite or case.family,
        phase=judgement.phase,
        reason=judgement.reason,
        vendor=Vendor(seen.error or seen.log, seen.code),
        exit=seen.exit,
        placement=None if seen.placement is None else dict(devices),
        fallback=[node.node for node in seen.placement or () if not node.on_device],
        numbers=judgement.numbers,
        seconds={phase: round(duration, 6) for phase, duration in seen.seconds.items()},
        worker=seen.worker,
        rerun=None if rerun is None else Rerun(rerun.verdict, rerun.reason),
        diagnosis=list(judgement.diagnosis),
        notes=[*judgement.notes, *seen.notes, *(note for note in run.state.take_notes() if note not in seen.notes)],
    )


def outcome(record: Record) -> None:
    """Returns for a passing verdict; fails or skips the running test otherwise, without a traceback. Records of expected
    failures are those of a resumed run: otherwise expectations come in after this.
    """
    text = f"{record.verdict.value}: {record.reason}" if record.reason else record.verdict.value
    text = "\n".join([text, *(f"diagnosis: {line}" for line in record.diagnosis)])
    if record.outcome == "failed":
        pytest.fail(text, pytrace=False)
    if record.outcome == "skipped":
        pytest.skip(text)
    if record.outcome == "xfailed":
        pytest.xfail(text)
