"""Device profiles: every number has a source, and what is wrong with a profile is said in one line."""

from __future__ import annotations

import copy
import dataclasses
import tomllib

import pytest

from backends.interface import LAYOUTS
from backends.ortvalue import ELEMENTS
from backends.sim import profile
from reference.verify import RUNGS

NAMES = ("generic", "apple-ane", "ascend-310p", "hexagon-htp", "intel-npu", "mapped-discrete")


def tables(name):
    return tomllib.loads(profile.FOLDER.joinpath(f"{name}.toml").read_text(encoding="utf-8"))


def numbers(value, prefix=""):
    """Dotted names of all numbers of a profile."""
    for key, inner in value.items():
        if isinstance(inner, dict) and key != "sources":
            yield from numbers(inner, f"{prefix}{key}.")
        elif isinstance(inner, int | float) and not isinstance(inner, bool):
            yield f"{prefix}{key}"


def source(name, sources):
    """The source of a number: its own; that of its table only for tables of numbers of one kind."""
    return sources.get(name) or (sources.get(name.rpartition(".")[0]) if name.startswith("clock.operations.") else None)


def test_all_profiles_are_there_the_default_first():
    assert profile.names() == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_every_number_and_every_table_has_a_source(name):
    data = tables(name)
    sources = data["sources"]
    assert [number for number in numbers(data) if not source(number, sources)] == []
    kinds = [table for table in ("memory", "layout", "operators", "precision") if not sources.get(table)]
    assert kinds == []
    for key, text in sources.items():
        where = data
        for part in key.split("."):
            assert part in where, f"{key} is the source of nothing"
            where = where[part]
        assert len(text) > len("chosen: ")
        assert not text.startswith("as ") or text.removeprefix("as ") in sources


@pytest.mark.parametrize("name", NAMES)
def test_profiles_speak_the_words_of_the_interface(name):
    known = profile.load(name)
    assert known.layout.offered <= {*LAYOUTS, "NC1HWC0"}
    types = {element.name for element in ELEMENTS.values()}
    assert known.operators.types | known.operators.moved <= types
    assert set(known.rungs.values()) <= RUNGS.keys()
    assert known.precision.keys() <= known.operators.types
    assert {unit.storage for unit in known.precision.values()} & known.clock.operations.keys()


def test_devices_of_vendors_are_told_apart():
    assert profile.load("ascend-310p").memory.discrete
    assert profile.load("hexagon-htp").memory.alignment == 4096
    assert profile.load("hexagon-htp").rungs["float32"] == "fp16"
    assert profile.load("hexagon-htp").rungs["movement:float32"] == "fp32"
    assert profile.load("apple-ane").precision["float16"].accumulator == "float16"
    assert "movement:float32" not in profile.load("generic").rungs


def test_transfers_take_as_long_as_reported():
    """Copies on a Snapdragon X2 Elite, as a field report has them, to a sixth; 64 MB to an Ascend."""
    clock = profile.load("hexagon-htp").clock
    for nbytes, seconds in ((12 * 128 * 128 * 4, 0.32e-3), (12 * 128 * 768 * 4, 0.48e-3), (12 * 768 * 768 * 4, 0.85e-3)):
        assert clock.transfer_latency + nbytes / clock.transfer_bandwidth == pytest.approx(seconds, rel=1 / 6)
    clock = profile.load("mapped-discrete").clock
    assert 8e-3 < clock.transfer_latency + 64 * 2**20 / clock.transfer_bandwidth < 15e-3
    assert clock.map <= 1e-4


@pytest.mark.parametrize(
    ("table", "key", "value", "message"),
    [
        ("memory", "alignment", 48, r"memory.alignment is 48, no power of two"),
        ("memory", "alignment", 0, r"memory.alignment is 0, no power of two"),
        ("memory", "alignment", True, "alignment: True is not"),
        ("memory", "unaligned", "ignore", "unaligned: 'ignore' is not"),
        ("memory", "colour", 1, "differs in colour"),
        ("layout", "offered", "NHWC", "offered: 'NHWC' is not"),
        ("layout", "channels", 0, "layout.channels is 0"),
        ("clock", "operations", {}, "clock.operations names no type"),
        ("clock", "fence", "soon", "fence: 'soon' is not"),
        ("shapes", "max_rank", 4.5, "max_rank: 4.5 is not"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(table, key, value, message):
    data = copy.deepcopy(tables("ascend-310p"))
    data[table][key] = value
    with pytest.raises(ValueError, match=message) as error:
        profile.parse("ascend-310p", data)
    assert "\n" not in str(error.value)
    assert "ascend-310p" in str(error.value)


def test_formats_and_missing_tables_are_named():
    data = tables("generic")
    data["precision"]["float32"]["storage"] = "float8"
    with pytest.raises(ValueError, match=r"precision\.float32: storage 'float8' is none of"):
        profile.parse("generic", data)
    data["precision"]["float32"]["storage"] = "float32"
    data["precision"]["float64"]["storage"] = "float32"
    with pytest.raises(ValueError, match="only arithmetic in float64 itself"):
        profile.parse("generic", data)
    del data["clock"]
    with pytest.raises(ValueError, match="differs in clock"):
        profile.parse("generic", data)


def test_fingerprints_tell_profiles_apart():
    known = profile.load("generic")
    again = profile.parse("generic", tables("generic"))
    assert known.fingerprint == again.fingerprint
    assert len({profile.load(name).fingerprint for name in NAMES}) == len(NAMES)
    other = dataclasses.replace(known, shapes=dataclasses.replace(known.shapes, max_rank=4))
    assert other.fingerprint != known.fingerprint
