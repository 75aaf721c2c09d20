"""Checks the user's `--backend-option key=value` against the options that a backend knows."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping


def nearest(name: str, known: Iterable[str]) -> str:
    """ "; did you mean a, b?" with the known names closest to `name`, or "" when none is close."""
    close = difflib.get_close_matches(name, sorted(known), n=3, cutoff=0.5)
    return f"; did you mean {', '.join(close)}?" if close else ""


def check(options: Mapping[str, str], known: Iterable[str], backend: str, prefixes: Iterable[str] = ()) -> dict[str, str]:
    """The options as a dict. Raises ValueError for a key that is neither known nor starts with one of `prefixes`."""
    known = tuple(known)
    for key in options:
        if key not in known and not key.startswith(tuple(prefixes)):
            offered = ", ".join([*sorted(known), *(f"{prefix}NAME" for prefix in prefixes)]) or "none"
            hint = nearest(key, known) or f"; it knows {offered}"
            raise ValueError(f"backend {backend} has no option {key!r}{hint}")
    return dict(options)


def choice(options: Mapping[str, str], key: str, choices: Iterable[str], default: str) -> str:
    """The value of one option, which must be among `choices`. Raises ValueError naming them."""
    choices = tuple(choices)
    value = options.get(key, default)
    if value not in choices:
        raise ValueError(f"option {key}={value}: must be one of {', '.join(choices)}{nearest(value, choices)}")
    return value


def integer(options: Mapping[str, str], key: str, default: int) -> int:
    """The value of one option as a non-negative integer. Raises ValueError."""
    text = options.get(key, str(default))
    if not text.isdecimal():
        raise ValueError(f"option {key}={text}: must be a non-negative integer")
    return int(text)
