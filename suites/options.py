"""The command line: options of `pytest suites` and `npu-cts run`, and what is wrong with them in one line."""

from __future__ import annotations

import argparse
import re

import pytest

DURATION = re.compile(r"([0-9]+(?:\.[0-9]+)?)(s|m|h)?")
UNITS = {"s": 1.0, "m": 60.0, "h": 3600.0}


def duration(text: str) -> float:
    """Seconds from "90", "90s", "30m" or "1.5h"."""
    match = DURATION.fullmatch(text.strip())
    if not match or not float(match[1]):
        raise argparse.ArgumentTypeError(f"'{text}' is not a duration; write for example 90s, 30m or 1.5h")
    return float(match[1]) * UNITS[match[2] or "s"]


def positive(text: str) -> float:
    """A finite positive number."""
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < 1e6:
        raise argparse.ArgumentTypeError(f"'{text}' is not a positive number")
    return value


def key_value(text: str) -> tuple[str, str]:
    """("key", "value") from "key=value"."""
    key, separator, value = text.partition("=")
    if not separator or not key:
        raise argparse.ArgumentTypeError(f"'{text}' is not of the form key=value")
    return key, value


def add(parser: pytest.Parser) -> None:
    """Adds the suite's options in a group of their own."""
    group = parser.getgroup("npu-cts", "device conformance")
    add_option = group.addoption
    add_option("--backend", default=None, metavar="X", help="device stack: a name, file.py:Class or entry point (default: sim)")
    add_option("--device", default=None, metavar="NAME", help="device of that stack (default: its first)")
    add_option("--ep", default=None, metavar="PROVIDER", help="execution provider, for --backend=onnxruntime")
    add_option(
        "--ep-option",
        action="append",
        default=[],
        type=key_value,
        metavar="K=V",
        help="option of the execution provider",
    )
    add_option(
        "--backend-option",
        action="append",
        default=[],
        type=key_value,
        metavar="K=V",
        help="option of the backend, repeatable",
    )
    add_option(
        "--fault", default=None, metavar="NAME", help="seed a fault into the simulated device (npu-cts faults lists them)"
    )
    add_option("--partner", default=None, metavar="X", help="second backend opened in the same worker, for shared memory")
    add_option(
        "--device-host",
        default=None,
        metavar="SPEC",
        help="run the device worker there: an execnet spec, ssh=user@board",
    )
    add_option("--list-backends", action="store_true", help="print every backend, what it needs and whether it can run here")
    add_option("--case", action="append", default=[], metavar="ID", help="run just this case, repeatable")
    add_option("--ops", default=None, metavar="A,B", help="only these operators (exact names)")
    add_option("--dtype", default=None, metavar="A,B", help="only these types (f32 or float32)")
    add_option("--family", default=None, metavar="A,B", help="only these operator families")
    add_option("--profile", default=None, metavar="A,B", help="only what these profiles make a must (npu-cts profiles)")
    add_option("--quick", action="store_true", help="a small part of every suite that has something of everything")
    add_option(
        "--expectations",
        default=None,
        metavar="NAME|FILE",
        help="known failures, which do not fail the run, comma-separated; with --strict none may be past its date",
    )
    add_option("--results", default=None, metavar="DIR", help="where the journal goes (default: results/runs)")
    add_option("--resume", default=None, metavar="JOURNAL", help="go on with an interrupted run, in the same journal")
    add_option(
        "--budget",
        default=None,
        type=duration,
        metavar="30m",
        help="most informative cases first, stop after this long",
    )
    add_option("--timeout-scale", default=1.0, type=positive, metavar="N", help="multiplies every deadline")
    add_option("--reset-command", default=None, metavar="CMD", help="run when neither reopening nor a new process helps")


def usage_error(text: object) -> pytest.UsageError:
    """A user's mistake, in one line of readable length whatever the text quotes."""
    line = " ".join(str(text).split())
    return pytest.UsageError(line if len(line) <= 600 else f"{line[:299]} … {line[-299:]}")


NEVER_EMPTY = (
    "backend",
    "device",
    "ep",
    "fault",
    "partner",
    "device_host",
    "results",
    "resume",
    "reset_command",
    "expectations",
)


def check_given(config: pytest.Config) -> None:
    """Raises UsageError for an option that was given without a value, as an unset shell variable gives it."""
    for name in NEVER_EMPTY:
        if getattr(config.option, name) == "":
            raise usage_error(f"--{name.replace('_', '-')}: no value was given")


def names(text: str | None) -> frozenset[str] | None:
    """A comma-separated list, None where the option was not given."""
    return None if text is None else frozenset(part.strip() for part in text.split(",") if part.strip())


def backend_options(config: pytest.Config) -> dict[str, str]:
    """What `Backend.open` receives."""
    given = [key for key, _ in config.option.backend_option]
    twice = sorted({key for key in given if given.count(key) > 1})
    if twice:
        raise usage_error(f"--backend-option: {twice[0]} is given twice")
    options = dict(config.option.backend_option)
    for name in ("ep", "fault"):
        if getattr(config.option, name):
            options[name] = getattr(config.option, name)
    options.update({f"ep.{key}": value for key, value in config.option.ep_option})
    return options
