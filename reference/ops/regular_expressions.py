r"""RE2's regular expressions in terms of Python's, for matches of a whole string.

Syntax: https://github.com/google/re2/wiki/Syntax. What both spell alike but mean differently is rewritten: \d, \s, \w and
\b know ASCII alone, $ is the end of the text, \Q…\E quotes, flags apply from where they stand to the end of their group.
Groups need no names or numbers and repetitions no preference, since only whether all of a string matches is asked.
"""

from __future__ import annotations

import functools
import re
import sys
import unicodedata
from itertools import groupby

PERL = {"d": "0-9", "s": r"\t\n\f\r ", "w": "0-9A-Za-z_"}
"""Perl's character classes as RE2 has them."""

POSIX = {
    "alnum": "0-9A-Za-z",
    "alpha": "A-Za-z",
    "ascii": r"\x00-\x7f",
    "blank": r"\t ",
    "cntrl": r"\x00-\x1f\x7f",
    "digit": "0-9",
    "graph": "!-~",
    "lower": "a-z",
    "print": " -~",
    "punct": r"!-/:-@\[-`{-~",
    "space": r"\t\n\v\f\r ",
    "upper": "A-Z",
    "word": "0-9A-Za-z_",
    "xdigit": "0-9A-Fa-f",
}
"""POSIX character classes, [:name:]."""

CONTROL = {"a": "\a", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}

CHARACTER = re.compile(
    r"""\\x\{(?P<braced>[0-9A-Fa-f]+)\} | \\x(?P<hexadecimal>[0-9A-Fa-f]{2}) | \\(?P<octal>0[0-7]{0,2}|[1-7][0-7]{1,2})
      | \\(?P<control>[afnrtv]) | \\(?P<escaped>[\x00-/:-@\[-`{-\x7f]) | (?P<plain>[^\\])""",
    re.VERBOSE | re.DOTALL,
)
CLASS = re.compile(
    r"\\(?P<perl>[dDsSwW])|\\(?P<sign>[pP])(?:\{(?P<inverse>\^?)(?P<name>\w+)\}|(?P<letter>[A-Z]))|\[:(?P<not>\^?)(?P<posix>\w+):\]"
)
QUOTED = re.compile(r"\\Q(.*?)(?:\\E|\Z)", re.DOTALL)
REPETITION = re.compile(r"(?:[*+?]|\{([0-9]+)(?:,([0-9]*))?\})\??")
GROUP = re.compile(r"\((?!\?)|\(\?P?<\w+>|\(\?(?P<on>[imsU]*)(?:-(?P<off>[imsU]+))?(?P<end>[:)])")


@functools.cache
def _category(name: str) -> str:
    """The characters of a Unicode general category (one or two letters, or Any), as the inside of a bracket."""
    if name == "Any":
        return r"\x00-\U0010ffff"
    if not re.fullmatch("C[cfos]?|L[lmotu]?|M[cen]?|N[dlo]?|P[cdefios]?|S[ckmo]?|Z[lps]?", name):
        raise ValueError(f"the Unicode property {name} of a regular expression is not in the reference")
    categories = map(unicodedata.category, map(chr, range(sys.maxunicode + 1)))
    # Cn, unassigned, belongs to no category of RE2.
    codes = (code for code, category in enumerate(categories) if category.startswith(name) and category != "Cn")
    runs = [[code for _, code in run] for _, run in groupby(enumerate(codes), lambda pair: pair[1] - pair[0])]
    return "".join(f"\\U{run[0]:08x}-\\U{run[-1]:08x}" for run in runs)


def _class(found: re.Match[str]) -> str:
    """A named class as a bracket of Python's."""
    if letter := found["perl"]:
        inside, inverse = PERL[letter.lower()], letter.isupper()
    elif found["sign"]:
        inside = _category(found["name"] or found["letter"])
        inverse = (found["sign"] == "P") != bool(found["inverse"])
    else:
        if found["posix"] not in POSIX:
            raise ValueError(f"a regular expression has no class [:{found['posix']}:]")
        inside, inverse = POSIX[found["posix"]], bool(found["not"])
    return f"[{'^' * inverse}{inside}]"


def _character(pattern: str, at: int) -> tuple[str, int]:
    """The character that is written at `at`, and where its text ends."""
    found = CHARACTER.match(pattern, at)
    if not found:
        raise ValueError(f"the escape {pattern[at : at + 2]} of the regular expression {pattern!r} is not known")
    text = found["control"] or found["escaped"] or found["plain"]
    if found["control"]:
        text = CONTROL[text]
    elif not text:
        text = chr(int(found["octal"], 8) if found["octal"] else int(found["braced"] or found["hexadecimal"], 16))
    return text, found.end()


def _bracket(pattern: str, at: int) -> tuple[str, int]:
    """The class whose [ is at `at`, and where its text ends: one bracket of Python's for each class named in it.

    They are kept apart because a class that ignores case is folded before it is inverted.
    """
    inverse = pattern.startswith("^", at + 1)
    first = at = at + 1 + inverse
    ranges, named = "", []
    while at == first or not pattern.startswith("]", at):
        if at >= len(pattern):
            raise ValueError(f"a [ of the regular expression {pattern!r} is not closed")
        if found := CLASS.match(pattern, at):
            named.append(_class(found))
            at = found.end()
            continue
        low, at = _character(pattern, at)
        high = low
        if pattern.startswith("-", at) and not pattern.startswith("-]", at):
            high, at = _character(pattern, at + 1)
        if high < low:
            raise ValueError(f"the range {low}-{high} of the regular expression {pattern!r} is empty")
        ranges += f"\\U{ord(low):08x}-\\U{ord(high):08x}"
    either = "|".join([f"[{ranges}]"] * bool(ranges) + named)
    return (f"(?:(?!{either})(?s:.))" if inverse else f"(?:{either})"), at + 1


def _atom(pattern: str, at: int, flags: frozenset[str]) -> tuple[str, int]:
    """What matches one character, or one position, and where its text ends."""
    anchors = {"^": "(?m:^)" if "m" in flags else r"\A", "$": "(?m:$)" if "m" in flags else r"\Z"}
    anchors |= {r"\A": r"\A", r"\z": r"\Z", r"\b": r"(?a:\b)", r"\B": r"(?!(?a:\b))"}
    for text in (pattern[at], pattern[at : at + 2]):
        if text in anchors:
            return f"(?:{anchors[text]})", at + len(text)
    if pattern[at] == ".":
        return ("(?s:.)" if "s" in flags else r"[^\n]"), at + 1
    if pattern[at] == "[":
        atom, end = _bracket(pattern, at)
    elif found := CLASS.match(pattern, at):
        atom, end = _class(found), found.end()
    else:
        character, end = _character(pattern, at)
        atom = re.escape(character)
    return _folded(atom, flags), end


def _folded(atom: str, flags: frozenset[str]) -> str:
    return f"(?i:{atom})" if "i" in flags else atom


def translate(pattern: str) -> str:
    """A Python pattern that matches the whole of a string where RE2's does.

    Raises ValueError for what RE2 has not (backreferences, look-around, possessive repetition, more than 1,000 repetitions)
    and for what Python has not (single bytes, Unicode scripts).
    """
    flags: frozenset[str] = frozenset()
    outer: list[frozenset[str]] = []
    result, at, repeated = "", 0, False
    while at < len(pattern):
        if found := REPETITION.match(pattern, at):
            if repeated or any(int(count) > 1000 for count in found.groups() if count):
                raise ValueError(f"the regular expression {pattern!r} repeats with {found[0]} where RE2 does not")
            result, at, repeated = result + found[0], found.end(), True
            continue
        repeated = False
        if found := QUOTED.match(pattern, at):
            result += "".join(_folded(re.escape(character), flags) for character in found[1])
            at = found.end()
        elif pattern[at] == "(":
            if not (found := GROUP.match(pattern, at)):
                raise ValueError(f"the group {pattern[at : at + 3]} of the regular expression {pattern!r} is none of RE2's")
            if found["end"] != ")":
                outer.append(flags)
                result += "(?:"
            flags = (flags | set(found["on"] or "")) - set(found["off"] or "")
            at = found.end()
        elif pattern[at] == ")":
            if not outer:
                raise ValueError(f"a ) of the regular expression {pattern!r} closes no group")
            flags, result, at = outer.pop(), result + ")", at + 1
        elif pattern[at] == "|":
            result, at = result + "|", at + 1
        else:
            atom, at = _atom(pattern, at, flags)
            result += atom
    if outer:
        raise ValueError(f"a group of the regular expression {pattern!r} is not closed")
    return result
