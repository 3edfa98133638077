"""How counts, lists and long texts are put in sentences, for people and for models. Pure."""

from __future__ import annotations

import math
from collections.abc import Sequence


def byte_length(text: str) -> int:
    """How much of a budget a text takes: bytes in UTF-8, since other scripts need more tokens per character."""
    return len(text) if text.isascii() else len(text.encode("utf-8", "replace"))


def counted(number: int, noun: str, plural: str = "") -> str:
    """`1 test`, `1,204 tests`; the plural is given where it isn't the noun with an `s`."""
    return f"{number:,} {noun if number == 1 else plural or f'{noun}s'}"


def listed(names: Sequence[str], most: int = 3, by: str = ", ") -> str:
    """`a, b, c and 3 more`; empty without names."""
    more = len(names) - most
    return by.join(names[:most]) + (f" and {more:,} more" if more > 0 else "")


def quoted(names: Sequence[str], most: int = 3) -> str:
    """The same with each name as code: `` `a` and 2 more ``."""
    return listed([f"`{name}`" for name in names], most)


def one_line(text: str, most: int) -> str:
    """White space as single blanks, and the end of what is longer than `most` characters replaced by an ellipsis."""
    return shortened(" ".join(text.split()), most)


def shortened(text: str, most: int) -> str:
    """At most `most` characters: the end of what is longer is replaced by an ellipsis."""
    return text if len(text) <= most else f"{text[: most - 1]}…"


def sentence(text: str) -> str:
    """With a capital first."""
    return text[:1].upper() + text[1:]


def money(usd: float | None) -> str:
    """US dollars and cents, of less than a cent the first digits: neither that nor an unknown amount is shown as 0."""
    if usd is None:
        return "cost unknown"
    if 0 < usd < 0.00005:
        return "less than $0.0001"
    return f"${usd:.4f}" if usd != 0 and usd < 0.01 else f"${usd:.2f}"


def duration(seconds: float) -> str:
    """`1 h 02 min`, `3 min 20 s` or `41 s`."""
    whole = math.floor(seconds + 0.5)
    if whole < 60:
        return f"{whole} s"
    minutes = whole // 60
    return f"{minutes} min {whole % 60:02} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60:02} min"
