"""Text that is meant for the judge rather than for readers of the code: orders, imitated delimiters and verdicts.

One sign alone is common in honest work ("requirements are met", a chat template, "reviewer:"), so most need a second
one nearby. Nothing here decides a verdict: what is found is shown, and blocks until it is gone or a person accepts it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from donewhen.core.addressing_letters import neutral, plain, undigited
from donewhen.core.addressing_patterns import (
    ANCHOR_WORDS,
    ANCHORS,
    FOLLOWING,
    FOREIGN,
    FOREIGN_ORDERS,
    LEADING,
    REPLY,
    SCOPED,
    Kind,
)

MOST = 10
"""Findings of one text: more say nothing new."""
_BEFORE, _AFTER = 160, 320
_NEAR, _STEP = 240, 120  # characters that one thought spans
_MIXED = re.compile(r"[a-z][013457@$]+[a-z]|(?<![a-z0-9])[013457@$][a-z]{2}")  # digits that may stand for letters
_VERDICT = re.compile(r"judge?ment|finding|final")
_ALONE: frozenset[Kind] = frozenset({"override", "closing", "verdict", "order"})
_TOGETHER = frozenset(
    {
        frozenset({"address", "aside"}),
        frozenset({"address", "role"}),
        frozenset({"bidding", "address"}),
        frozenset({"bidding", "aside"}),
        frozenset({"bidding", "role"}),
        frozenset({"aside", "role"}),
        frozenset({"delimiter", "address"}),
        frozenset({"delimiter", "aside"}),
        frozenset({"delimiter", "role"}),
    }
)


class Addressed(NamedTuple):
    """A place that addresses the judge: `line` is 0-based, `quote` the line as it may be shown, `why` half a
    sentence."""

    line: int
    quote: str
    why: str


class _Sign(NamedTuple):
    start: int
    end: int
    kind: Kind
    why: str


def addressed(text: str) -> tuple[Addressed, ...]:
    """Where the text addresses the judge, closes or imitates delimiters, or imitates a verdict, by line.

    At most one for each line, and MOST in all. Look-alike letters, hidden characters, entities, digits for letters
    and comment marks between the lines make no difference.
    """
    read = plain(text)
    found = dict(_found(read))
    for start, end in _windows(match.start() for match in _MIXED.finditer(read)):
        first = read.count("\n", 0, start)
        for line, why in _found(undigited(read[start:end])):
            found.setdefault(first + line, why)
    for words in (read,) if text.isascii() else (read, text.lower()):
        for line in _foreign(words):
            found.setdefault(line, "it tells whoever reads it to ignore instructions")
    if not found:
        return ()
    lines = text.split("\n")
    return tuple(Addressed(n, neutral(lines[n].strip()), found[n]) for n in sorted(found)[:MOST])


def addressed_name(name: str) -> str | None:
    """Why a name (of a file, of a test) addresses the judge; None if it doesn't. Its words may be joined."""
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", name)
    found = addressed(" ".join(re.split(r"[\s_]+", words))) or addressed(" ".join(re.split(r"[\s_.\-/+]+", words)))
    return found[0].why if found else None


def _foreign(words: str) -> Iterator[int]:
    if any(orders in words for orders in FOREIGN_ORDERS):
        yield from (words.count("\n", 0, match.start()) for match in FOREIGN.finditer(words))


def _found(read: str) -> Iterator[tuple[int, str]]:
    signs = sorted(sign for start, end in _windows(_anchors(read)) for sign in _leading(read, start, end))
    looked: dict[tuple[int, bool], str | None] = {}
    for number, sign in enumerate(signs):
        why = _by_itself(read, sign) or _together(sign, signs[max(0, number - 4) : number + 5])
        if why is None:
            place = (sign.start // _STEP, sign.kind == "bidding")
            if place not in looked:
                nearby = _around(read, place[0] * _STEP, (place[0] + 1) * _STEP)
                looked[place] = _following(nearby, sign.kind)
            follows = looked[place]
            why = None if follows is None else f"{sign.why} {follows}"
        if why is not None:
            said = read[sign.start : sign.end]
            yield read.count("\n", 0, sign.start + len(said) - len(said.lstrip("\n \t#/*"))), why


def _by_itself(read: str, sign: _Sign) -> str | None:
    scoped = sign.kind == "override" and SCOPED.match(read, sign.end) is not None
    return sign.why if sign.kind in _ALONE and not scoped else None


def _leading(read: str, start: int, end: int) -> Iterator[_Sign]:
    window = read[start:end]
    for pattern in LEADING:
        if any(stem in window for stem in pattern.stems):
            for match in pattern.pattern.finditer(window):
                sign = _Sign(start + match.start(), start + match.end(), pattern.kind, pattern.why)
                if pattern.kind != "verdict" or _is_verdict(read, sign):
                    yield sign


def _is_verdict(read: str, sign: _Sign) -> bool:
    """A status alone is any program's; a verdict's says of what, or by what."""
    said = read[sign.start : sign.end]
    return (
        "verdict" in said
        or _VERDICT.search(said) is not None
        or REPLY.search(_around(read, sign.start, sign.end, 160)) is not None
    )


def _windows(places: Iterable[int]) -> Iterator[tuple[int, int]]:
    """What is worth a closer look: around each place, and together where they are near each other."""
    start = end = -1
    for place in sorted(places):
        if end < 0 or place > end - _BEFORE:
            if end >= 0:
                yield start, end
            start = max(place - _BEFORE, 0)
        end = place + _AFTER
    if end >= 0:
        yield start, end


def _anchors(read: str) -> Iterator[int]:
    for stem in ANCHORS:
        at = read.find(stem)
        while at >= 0:
            yield at
            at = read.find(stem, at + _BEFORE)
    for word in ANCHOR_WORDS:
        at, size = read.find(word), len(word)
        while at >= 0:
            if not read[at - 1 : at].isalnum() and not read[at + size : at + size + 1].isalnum():
                yield at
            at = read.find(word, at + size)


def _together(sign: _Sign, others: Sequence[_Sign]) -> str | None:
    """Why a sign and one next to it are more than chance; None if they are not."""
    for other in others:
        near = sign.start - _NEAR <= other.start <= sign.end + _NEAR
        if near and frozenset({sign.kind, other.kind}) in _TOGETHER:
            return f"{sign.why}, {other.why}" if other.why != sign.why else sign.why
    return None


def _around(read: str, start: int, end: int, near: int = _NEAR) -> str:
    return read[max(start - near, 0) : end + near]


def _following(nearby: str, kind: Kind) -> str | None:
    # To ask for a verdict is an outcome by itself, and to ask not to look closer is nothing by itself.
    wanted = ("claim", "urging") if kind == "bidding" else ("outcome", "claim")
    return next((p.why for p in FOLLOWING if p.kind in wanted and p.pattern.search(nearby)), None)
