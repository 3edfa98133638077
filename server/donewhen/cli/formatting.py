"""Values in a form for people, safe for a terminal."""

from __future__ import annotations

import re
from datetime import datetime

from donewhen.core.words import counted, money, shortened
from donewhen.core.work import Usage

_CONTROL = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b[@-_]|[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]"
)
_SPACE = re.compile(r"\s+")

SYMBOLS = {"met": "✓", "unmet": "✗", "unverified": "?", "stale": "~", "waived": "!", "regressed": "✗"}


def one_line(text: str, width: int = 200) -> str:
    """Text from files and programs on one line, without terminal control sequences."""
    line = _SPACE.sub(" ", plain(text)).strip()
    return shortened(line, width)


def plain(text: str) -> str:
    """Text of several lines without terminal control sequences."""
    return _CONTROL.sub("", text)


def shown_path(path: str) -> str:
    """A path that can be printed: control characters, line breaks and invalid bytes are escaped."""
    return "".join(one if one.isprintable() else _escaped(one) for one in path)


def _escaped(one: str) -> str:
    # A byte of the file's name that is not UTF-8 (PEP 383).
    if "\udc80" <= one <= "\udcff":
        return f"\\x{ord(one) - 0xDC00:02x}"
    return one.encode("unicode_escape", "backslashreplace").decode("ascii")


def duration(seconds: float) -> str:
    """`0.4s`, `12s`, `3m 20s`, `1h 05m`."""
    if seconds < 10:
        return f"{seconds:.1f}s"
    whole = int(seconds)
    if whole < 60:
        return f"{whole}s"
    minutes, rest = divmod(whole, 60)
    if minutes < 60:
        return f"{minutes}m {rest:02d}s" if rest else f"{minutes}m"
    return f"{minutes // 60}h {minutes % 60:02d}m"


def spending(usage: Usage) -> list[str]:
    """The usage of models: `$0.12`, `45.2k tokens (30k cached)`; nothing if no model was asked."""
    if not usage.tokens:
        return [] if usage.usd == 0 else [money(usage.usd)]
    cached = f" ({_thousands(usage.cached_tokens)} cached)" if usage.cached_tokens else ""
    return [money(usage.usd), f"{_thousands(usage.tokens)} tokens{cached}"]


def taken(usage: Usage) -> str:
    """The exact usage of a single call: `1,234 tokens, $0.01`, `1,234 tokens, cost unknown`."""
    small = usage.usd is not None and 0 < usage.usd < 0.01
    return f"{usage.tokens:,} tokens, {'less than $0.01' if small else money(usage.usd)}"


def _thousands(number: int) -> str:
    """`950`, `45.2k`, `3M`."""
    for size, letter in ((1_000_000, "M"), (1_000, "k")):
        if number >= size:
            return f"{number / size:.1f}".removesuffix(".0") + letter
    return str(number)


def bounded(text: str, lines: int) -> list[str]:
    """As many lines of a preview as fit, with a mark for the cut."""
    shown = plain(text).rstrip().splitlines()
    cut = len(shown) - lines
    return shown if cut <= 0 else [*shown[:lines], f"… {counted(cut, 'more line')}"]


def when(at: float) -> str:
    """A moment in local time."""
    return datetime.fromtimestamp(at).astimezone().strftime("%Y-%m-%d %H:%M:%S")
