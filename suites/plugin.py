"""The pytest plugin: options, fixtures and hooks of the suites, each delegating to a small module."""

from __future__ import annotations

import dataclasses
import gc
import itertools
import signal
import sys
import threading
import time
from collections.abc import Generator, Sequence
from typing import Any

import pytest
from _pytest import runner
from tabulate import tabulate

from backends import registry
from backends.sim import faults
from backends.worker import DeviceGone, DeviceSession
from results import summary
from results.record import Record
from results.verdict import Verdict
from suites import expectation_use, options, parallel, profile_selection, recording, selection
from suites.cases import operators
from suites.cases.case import Case
from suites.cases.identifier import parse
from suites.device import DeviceUnderTest, RunState, Subject
from suites.judge import outcome
from suites.progress import Progress
from suites.requirement import catalogue

STATE = pytest.StashKey[RunState]()
RECORDER = pytest.StashKey[recording.Recorder]()
RESUMED = pytest.StashKey[dict[str, Record]]()


LOOKING = ("collectonly", "setupplan", "setuponly", "showfixtures", "show_fixtures_per_test")
"""pytest's options that run no test."""


def pytest_addoption(parser: pytest.Parser) -> None:
    options.add(parser)


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "requirement(id): the requirement of suites/requirements.toml that the test proves")
    config.addinivalue_line("markers", "cases(ids): the case ids that the test runs")
    options.check_given(config)
    recording.take_over_selection(config)
    if not hasattr(config, "workerinput"):
        selection.check_profiles(config)
    expectation_use.configure(config)
    if config.option.backend is not None:
        _backend(config)
    if selection.is_narrowed(config):
        selection.check(config, operators.ALL, operators.families())


@pytest.hookimpl(tryfirst=True)
def pytest_cmdline_main(config: pytest.Config) -> int | None:
    if not config.option.list_backends:
        parallel.choose(config)
        return None
    asked = [config.option.backend] if config.option.backend else []
    found = registry.available(asked)
    rows = [(row.name, row.needs, "yes" if row.usable else "no", row.reason or "") for row in found]
    print(tabulate(rows, ["backend", "needs", "runs here", "why not"], tablefmt="simple", maxcolwidths=[None, 40, None, 60]))
    return int(pytest.ExitCode.OK)


def _spec(config: pytest.Config) -> str:
    return config.option.backend or "sim"


def _backend(config: pytest.Config) -> Any:
    """The backend object, checked. Raises UsageError with one line when it does not exist or cannot run here."""
    try:
        backend = registry.load(_spec(config))
    except registry.BackendNotFound as error:
        raise options.usage_error(error) from None
    reason = None if config.option.device_host else registry.why_not(backend)
    if reason:
        raise options.usage_error(f"--backend={_spec(config)}: {reason}")
    return backend


# Collection


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    marker = metafunc.definition.get_closest_marker("cases")
    if marker is None:
        return
    (source,) = marker.args
    ids = source() if callable(source) else source
    requirement = metafunc.definition.get_closest_marker("requirement")
    chosen = selection.select(metafunc.config, ids, requirement.args[0] if requirement else "")
    metafunc.parametrize("case", chosen, ids=chosen, indirect=True)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    ours = [item for item in items if item.get_closest_marker("requirement")]
    if not ours:
        return
    expectation_use.check_collected(config, [item.nodeid for item in ours])
    left_out = {item for item in ours if not selection.id_of(item) and not _is_kept_without_case(config, item)}
    if left_out:
        config.hook.pytest_deselected(items=[item for item in ours if item in left_out])
        items[:] = [item for item in items if item not in left_out]
    if config.option.budget is not None:
        items[:] = selection.informative_first(items)


def _is_kept_without_case(config: pytest.Config, item: pytest.Item) -> bool:
    """Whether a test is one without cases, and is left by the options; others have none because the options left them none."""
    (requirement,) = item.iter_markers("requirement")
    return item.get_closest_marker("cases") is None and selection.keeps(config, requirement.args[0])


def pytest_collection_finish(session: pytest.Session) -> None:
    """Opens the device and the journal, once it is known that there is something to run on them."""
    config = session.config
    ours = [item for item in session.items if item.get_closest_marker("requirement")]
    looking = any(getattr(config.option, name, False) for name in LOOKING)
    if looking or not ours:
        return
    _end_politely()
    _compact(config)
    gc.freeze()  # the tests live to the end; going through them all again and again would cost as much as running them
    gc.set_threshold(*COLLECTED)
    config.stash[RESUMED] = recording.settled(recording.previous(config))
    config.stash[STATE] = _open(config)
    if not hasattr(config, "workerinput"):
        _record(config, config.stash[STATE], len(ours))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_node_collection_finished(node: Any, ids: Sequence[str]) -> None:
    """Under pytest-xdist the controller runs nothing: it only learns what the device is, and keeps the journal."""
    config: pytest.Config = node.config
    ours = [nodeid for nodeid in ids if recording.belongs(config, nodeid)]
    if ours and RECORDER not in config.stash:
        _end_politely()
        _compact(config)
        expectation_use.check_collected(config, ours)
        state = _open(config)
        state.session.close()
        _record(config, state, len(ours))


def _end_politely() -> None:
    """Schedulers end a job by SIGTERM, a closed terminal by SIGHUP: both end a run as Ctrl-C does, journal included."""
    if threading.current_thread() is threading.main_thread():
        for name in ("SIGTERM", "SIGHUP"):
            if hasattr(signal, name):
                signal.signal(getattr(signal, name), signal.default_int_handler)


@pytest.hookimpl(tryfirst=True)
def pytest_keyboard_interrupt(excinfo: pytest.ExceptionInfo[BaseException]) -> None:
    """A second Ctrl-C must not cut the clean-up short, which ends by itself: the worker is killed, the footer written."""
    if threading.current_thread() is threading.main_thread() and isinstance(excinfo.value, KeyboardInterrupt):
        signal.signal(signal.SIGINT, signal.SIG_IGN)


def _compact(config: pytest.Config) -> None:
    """The summary lists failures by kind; pytest's own listings would say the same thousands of times."""
    if getattr(config.option, "tbstyle", "") == "auto":
        config.option.tbstyle = "no"
    terminal: Any = config.pluginmanager.get_plugin("terminalreporter")
    if terminal is not None and getattr(config.option, "reportchars", "") == "fE":
        terminal.reportchars = ""


def _device(config: pytest.Config) -> str | None:
    """The device asked for; for a fault of the simulated device by default the profile that can show it."""
    fault = faults.catalogue().get(config.option.fault or "")
    return config.option.device or (fault.device if fault and _spec(config) == "sim" else None)


def _open(config: pytest.Config) -> RunState:
    backend = _backend(config)
    session = None
    try:
        session = DeviceSession(
            _spec(config),
            _device(config),
            options.backend_options(config),
            partner=config.option.partner,
            place=config.option.device_host or "popen",
            timeout_scale=config.option.timeout_scale,
            reset_command=config.option.reset_command,
        )
        state = RunState(session)
    except (ValueError, DeviceGone) as error:
        if session is not None:
            session.close()
        named = str(error) if str(error).startswith("--backend") else f"--backend={backend.name}: {error}"
        raise options.usage_error(named) from None
    if config.option.budget is not None:
        state.ends = time.monotonic() + config.option.budget
    return state


def _record(config: pytest.Config, state: RunState, collected: int) -> None:
    facts = {
        "backend": state.session.info.backend,
        "device": state.session.info,
        "capabilities": state.session.capabilities,
        "fingerprint": state.fingerprint,
        "options": options.backend_options(config),
        "precision": state.precision.rungs,
        "inferred": sorted(state.precision.inferred),
        "collected": collected,
        "selection": {**recording.selection_of(config), **expectation_use.described(config)},
    }
    try:
        if expectation_use.EXPECTATIONS in config.stash:
            config.stash[expectation_use.EXPECTATIONS].check_device(state.session.info)
        recorder = recording.Recorder.open(config, facts, sync=state.session.info.kind != "simulated")
    except BaseException:
        state.session.close()
        raise
    config.stash[RECORDER] = recorder
    config.pluginmanager.register(recorder, "npu-cts-recorder")
    terminal: Any = config.pluginmanager.get_plugin("terminalreporter")
    if terminal is not None and config.option.verbose <= 0:
        config.pluginmanager.register(Progress(terminal, collected), "npu-cts-progress")


# Fixtures


@pytest.fixture
def case(request: pytest.FixtureRequest) -> Case:
    """The case whose id is the parameter."""
    return parse(request.param)


@pytest.fixture(scope="session")
def run_state(pytestconfig: pytest.Config) -> RunState:
    """The opened device of this session."""
    return pytestconfig.stash[STATE]


@pytest.fixture
def device(request: pytest.FixtureRequest, run_state: RunState) -> DeviceUnderTest:
    """The device under test; skips with verdict not_run once it is lost or the budget is spent."""
    return _device_of(request.node, run_state)


def _device_of(item: pytest.Item, state: RunState) -> DeviceUnderTest:
    marker = item.get_closest_marker("requirement")
    feature = catalogue()[marker.args[0]].get("feature", "") if marker else ""
    suite = item.path.stem.removeprefix("test_")
    return DeviceUnderTest(state, Subject("" if suite == "operators" else suite, feature))


# Running


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> bool | None:
    """A test of the suites has one report, that of its call unless another phase failed: three to each of many thousand tests
    cost as much as the tests, above all under pytest-xdist, which sends every one. JUnit files and -v need them all.
    """
    option = item.config.option
    if option.verbose > 0 or getattr(option, "xmlpath", None) or not item.get_closest_marker("requirement"):
        return None
    plain = _plain(item)
    if plain is None or not hasattr(item.config, "workerinput"):  # a worker that dies is reported with its test by pytest-xdist
        item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
    reports = [_called(plain, nextitem)] if plain else runner.runtestprotocol(item, log=False, nextitem=nextitem)
    for report in reports:
        if report.when == "call" or not report.passed:
            item.ihook.pytest_runtest_logreport(report=report)
    return True


COLLECTED = (20_000, 20, 100)
"""Thresholds of the garbage collector: a case makes thousands of objects that go by themselves."""

SETTLED = 1000
"""Reports after which they, the records and whatever else stays to the end are no more gone through by the garbage collector,
which would take a third of a long run's time."""

_reported = itertools.count(1)


@pytest.hookimpl(trylast=True)
def pytest_runtest_logreport() -> None:
    if next(_reported) % SETTLED == 0:
        gc.collect()
        gc.freeze()


OWN_FIXTURES = frozenset({"case", "device", "run_state", "pytestconfig", "request"})
OWN_MARKS = frozenset({"requirement", "cases", "parametrize"})


def _plain(item: pytest.Item) -> pytest.Function | None:
    """The test, if it asks pytest for nothing but a case and the device, as the thousands of operators' do: then there is
    nothing to set up, to capture or to tear down; None otherwise.
    """
    if not isinstance(item, pytest.Function) or item.config.option.usepdb or item.config.option.setupshow:
        return None
    asks = item.function.__code__.co_varnames[: item.function.__code__.co_argcount] == ("case", "device")
    has_none = OWN_FIXTURES.issuperset(item.fixturenames) and OWN_MARKS.issuperset(mark.name for mark in item.iter_markers())
    return item if asks and has_none else None


def _called(item: pytest.Function, nextitem: pytest.Item | None) -> pytest.TestReport:
    """The report of a plain test's call."""
    file, line = _place(item)
    vars(item)["location"] = file, line, item.name  # which pytest would look up in the source again for each case

    def function() -> None:
        if pytest_pyfunc_call(item) is None:
            item.obj(case=parse(selection.id_of(item)), device=_device_of(item, item.config.stash[STATE]))

    call = pytest.CallInfo.from_call(function, "call", reraise=(pytest.exit.Exception, KeyboardInterrupt))
    report: pytest.TestReport = item.ihook.pytest_runtest_makereport(item=item, call=call)
    report.keywords = {}  # nobody reads them, and pytest-xdist would send them all
    if nextitem is None or nextitem.parent is not item.parent:
        item.session._setupstate.teardown_exact(nextitem)  # what tests before left for others of this module
    return report


PLACES: dict[object, tuple[str, int | None]] = {}
"""Test function → file and line, as pytest reports them."""


def _place(item: pytest.Function) -> tuple[str, int | None]:
    if item.function not in PLACES:
        PLACES[item.function] = item.location[:2]
    return PLACES[item.function]


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Takes verdicts from a resumed journal, and says not_run where nothing can run any more."""
    previous = _resumed(pyfuncitem)
    if previous is not None:
        outcome(previous)
        return True
    state = pyfuncitem.config.stash.get(STATE, None)
    if state is None or not pyfuncitem.get_closest_marker("requirement"):
        return None
    state.record = None
    expected = expectation_use.of(pyfuncitem)
    state.expected = () if expected is None else expected.verdicts
    if state.blocked:
        state.record = _bare(pyfuncitem, Verdict.NOT_RUN, state.blocked)
        outcome(state.record)
    return None


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[Any]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Attaches the test's record to its report, which carries it to the journal, also across pytest-xdist."""
    report = yield
    marker = item.get_closest_marker("requirement")
    ended = call.when == "call" or (call.when == "setup" and not report.passed)
    if marker is None or not ended or _resumed(item) is not None:
        return report
    record = _record_of(item, call)
    if record.verdict is Verdict.NOT_RUN:  # a lost device ends the test by an exception; it is no fault of the test's
        report.outcome = "skipped"
        report.longrepr = (str(item.path), item.location[1] or 0, record.reason)
    record = dataclasses.replace(record, test=recording.canonical(item.nodeid), requirement=marker.args[0])
    record = profile_selection.as_must(item.config.option.profile, record, selection.id_of(item))
    expected = expectation_use.of(item)
    if expected is not None:
        record = expected.applied(record)
    if expected is not None or record.outcome != report.outcome:
        expectation_use.report_as(report, record)
    report.npu_cts = record.to_line()  # type: ignore[attr-defined]
    if not getattr(item.config.option, "xmlpath", None):
        return report
    item.user_properties.append(("verdict", record.verdict.value))  # JUnit reads them off the teardown's report
    if item.config.stash.get(STATE, None) is not None:
        info = item.config.stash[STATE].session.info
        item.user_properties.append(("device", f"{info.backend} {info.name} ({info.kind})"))
    return report


def _record_of(item: pytest.Item, call: pytest.CallInfo[Any]) -> Record:
    """What the test left on record; for a test without a case its outcome, for any other exception an error of the harness."""
    state = item.config.stash.get(STATE, None)
    error = call.excinfo.value if call.excinfo is not None else None
    if isinstance(error, DeviceGone) and state is not None:
        state.lost = str(error)
        return _bare(item, Verdict.NOT_RUN, state.blocked)
    if state is not None and state.record is not None and call.when == "call":
        return state.record
    if error is None:
        return _bare(item, Verdict.PASS, "")
    if isinstance(error, pytest.skip.Exception):
        return _bare(item, Verdict.INCONCLUSIVE, str(error))
    if isinstance(error, AssertionError) and not selection.id_of(item):
        return _bare(item, Verdict.MISMATCH, str(error).splitlines()[0] if str(error) else "an assertion failed")
    return _bare(item, Verdict.HARNESS_ERROR, _one_line(error))


def _resumed(item: pytest.Item) -> Record | None:
    """The record that a resumed journal already holds for this test."""
    return item.config.stash.get(RESUMED, {}).get(recording.canonical(item.nodeid))


def _one_line(error: BaseException | None) -> str:
    return f"{type(error).__name__}: {error}".splitlines()[0]


def _bare(item: pytest.Item, verdict: Verdict, reason: str) -> Record:
    """A record of a test that left none: it has no case, or ended before it was judged."""
    return recording.bare(item.nodeid, verdict, reason)


# The end


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    config = session.config
    state = config.stash.get(STATE, None)
    if state is not None:
        state.session.close()
    recorder = config.stash.get(RECORDER, None)
    if recorder is None:
        return
    recorder.finish(int(exitstatus))
    if recorder.stopped == "device_lost" and exitstatus == pytest.ExitCode.OK:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED  # a run that lost its device between two cases has not passed


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    recorder = config.stash.get(RECORDER, None)
    if recorder is None:
        return
    writer = config.get_terminal_writer()
    layout = summary.Layout(writer.fullwidth, writer.hasmarkup, getattr(sys.stdout, "encoding", None) or "utf-8")
    terminalreporter.write_line("")
    terminalreporter.write(recorder.summary(layout))


def pytest_report_header(config: pytest.Config) -> Sequence[str]:
    return [] if config.option.backend is None else [f"npu-cts: backend {_spec(config)}"]
