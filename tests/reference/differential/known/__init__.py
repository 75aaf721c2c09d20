"""Known disagreements with the peers: what one is, and one module for each family of operators."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping

from ..samples import Sample


@dataclasses.dataclass(frozen=True)
class Disagreement:
    """One cause. peer and version: who it was seen with. operators: named as in families.ALL. when: whether a sample of an
    operator may show it; such samples are not compared with that peer. example: a sample that does show it, so that the
    entry goes when the peer is corrected. what and why: what the peer gives, and what the specification or exact arithmetic
    says. crashes: whether the peer takes its process with it. by_chance: whether the example shows it only now and then, since
    it depends on what is in memory."""

    peer: str
    version: str
    operators: tuple[str, ...]
    what: str
    why: str
    when: Callable[[Sample], bool]
    example: Callable[[], Sample]
    crashes: bool = False
    by_chance: bool = False


Declines = Mapping[str, Mapping[str, str]]
"""Peer → operator → why the peer never runs what the sweep draws."""
