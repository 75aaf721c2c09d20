"""The reference against its peers on random models. A disagreement that is not listed with a reason fails, and so does an
operator that a peer never ran."""

from __future__ import annotations

import pickle
import subprocess
import sys
from collections import Counter

import pytest
from hypothesis import given, note, settings
from hypothesis import strategies as st

from reference import table
from reference.evaluator import evaluate

from . import disagreements, families
from .agreement import disagreement
from .known import Disagreement
from .peers import PEERS, VERSIONS, Declined
from .samples import Sample


@pytest.mark.parametrize("operator", sorted(families.ALL))
def test_peers_agree(operator: str, pytestconfig: pytest.Config) -> None:
    compared: Counter[str] = Counter()

    @settings(settings.get_profile(pytestconfig.getoption("--hypothesis-profile") or "quick"))
    @given(data=st.data())
    def sweep(data: st.DataObject) -> None:
        sample = families.ALL[operator](data.draw)
        note(repr(sample))
        evaluate(sample.model, sample.feeds)
        for peer, run in PEERS.items():
            if disagreements.expected_of(peer, sample):
                continue
            try:
                outputs = run(sample.model, sample.feeds)
            except Declined as declined:
                note(f"{peer} declines: {declined}")
                continue
            compared[peer] += 1
            found = disagreement(sample, outputs)
            assert not found, f"{peer} gives {found} for {sample}"

    sweep()
    silent = {peer for peer in PEERS if not compared[peer]}
    assert silent == {peer for peer in PEERS if operator in disagreements.DECLINED.get(peer, {})}


@pytest.mark.parametrize("entry", disagreements.DISAGREEMENTS, ids=lambda d: f"{d.peer}-{d.operators[0]}-{d.what}")
def test_a_listed_disagreement_still_exists(entry: Disagreement) -> None:
    if VERSIONS[entry.peer] != entry.version:
        pytest.skip(f"seen with {entry.peer} {entry.version}, here is {VERSIONS[entry.peer]}")
    sample = entry.example()
    assert disagreements.expected_of(entry.peer, sample)
    if entry.crashes:
        assert _ends_its_process(entry.peer, sample)
        return
    try:
        outputs = PEERS[entry.peer](sample.model, sample.feeds)
    except Declined:
        return
    assert disagreement(sample, outputs) or entry.by_chance


def _ends_its_process(peer: str, sample: Sample) -> bool:
    """Whether the peer ends its process by a signal, tried in one of its own."""
    task = f"import pickle, sys; from {PEERS[peer].__module__} import PEERS; PEERS[{peer!r}](*pickle.load(sys.stdin.buffer))"
    given = pickle.dumps((sample.model, sample.feeds))
    return subprocess.run([sys.executable, "-c", task], input=given, capture_output=True, check=False).returncode < 0


def test_the_documentation_lists_them() -> None:
    text = disagreements.DOCUMENT.read_text(encoding="utf-8")
    assert disagreements.documentation(text) == text, "run python -m tests.reference.differential.disagreements"


WITHOUT_SAMPLES = {"ImageDecoder": "images are no random numbers: tests/reference/test_images.py"}


def test_every_operator_of_the_table_is_drawn() -> None:
    operators = {*table.ONNX, *(f"com.microsoft:{name}" for name in table.MICROSOFT)}
    assert operators - families.ALL.keys() == WITHOUT_SAMPLES.keys()
