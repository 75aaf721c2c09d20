"""Finds the rows of attribute sweeps, which pairs.json keeps. Write that file anew, after a sweep has changed, by

python -m suites.cases.pairing
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from allpairspy import AllPairs

from suites.cases.operators import sweep
from suites.cases.operators.sweep import DIGITS, Fields, Values, chosen


def paired(fields: Fields, values: Values) -> list[str]:
    """Rows that `fields` makes something of, in which values of different parameters meet in pairs: see `sweep.pairwise`."""
    counts = [len(choices) for choices in values.values()]
    if max(counts) > len(DIGITS):
        raise ValueError(f"a parameter has {max(counts)} values; a sweep can have {len(DIGITS)}")
    if len(counts) == 1:
        return list(DIGITS[: counts[0]])

    def is_valid(row: Sequence[str]) -> bool:
        return len(row) < len(counts) or fields(**chosen(values, "".join(row))) is not None

    return ["".join(row) for row in AllPairs([list(DIGITS[:count]) for count in counts], filter_func=is_valid)]


def current() -> dict[str, str]:
    """What pairs.json has to hold for the tables as they are. Raises ValueError for two sweeps that it cannot tell apart."""
    found: dict[str, str] = {}
    for name, fields, values in sweep.READ:
        rows = " ".join(paired(fields, values))
        if found.setdefault(name, rows) != rows:
            raise ValueError(
                f"two sweeps of {fields} have the same parameters and different rows; give them functions of their own"
            )
    return dict(sorted(found.items()))


if __name__ == "__main__":
    text = json.dumps(current(), indent=0) + "\n"
    Path(sweep.__file__).with_name(sweep.STORED).write_bytes(text.encode())
