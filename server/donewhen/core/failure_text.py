"""What a failed test says, on one line. Pure."""

from __future__ import annotations

import re

from donewhen.core.words import shortened

LONGEST = 200
"""Characters of one message."""


def clipped(text: str) -> str:
    """The first line that says something, bounded."""
    line = next((" ".join(line.split()) for line in text.splitlines() if line.strip()), "")
    return shortened(line, LONGEST)


def failure_text(message: str) -> str:
    """The two values that differ, where the message names them and its first line does not show both; else that line.

    Of a doctest, with its example.
    """
    return shortened(_failure_text(message), LONGEST)


def _failure_text(message: str) -> str:
    if (named := _NAMED_VALUES.search(message)) is not None:
        values = (_on_one_line(named[key] or "nothing") for key in ("expected", "actual"))
        return expected_and_got(*values) + _of_example(message[: named.start()])
    if (raised := _EXAMPLE_RAISED.search(message)) is not None:
        return clipped(raised["short"] or raised["whole"]) + _of_example(message[: raised.start()])
    first = clipped(message)
    if not _SHOWS_NO_VALUES.search(first):
        return first
    if (pair := _PAIR.search(message)) is not None:
        where = f"at index {pair['index']}: " if pair["index"] else ""
        return where + expected_and_got(pair["expected"], pair["actual"])
    if (more := _MORE.search(message)) is not None:
        return f"{first}: {_on_one_line(more[1])[:LONGEST]}"
    lines = [line for line in map(_DIFF_LINE.fullmatch, message.splitlines()) if line is not None]
    removed, added = (next((line["text"] for line in lines if line["sign"] == sign), None) for sign in "-+")
    return first if removed is None or added is None else expected_and_got(removed, added)


def expected_and_got(expected: str, actual: str) -> str:
    expected, actual = around_difference(expected, actual)
    return f"expected {expected}, got {actual}"


def around_difference(one: str, other: str, longest: int = 70) -> tuple[str, str]:
    """Both texts, each clipped to `longest` characters around the first place where they differ."""
    same = next((at for at, pair in enumerate(zip(one, other, strict=False)) if pair[0] != pair[1]), len(one))
    return _window(one, same, longest), _window(other, same, longest)


def _window(text: str, at: int, longest: int) -> str:
    start = max(min(at - longest // 3, len(text) - longest), 0)
    end = start + longest
    return ("…" if start else "") + text[start:end] + ("…" if end < len(text) else "")


def _of_example(before: str) -> str:
    examples = _EXAMPLE.findall(before)
    return f", from `{examples[-1]}`" if examples else ""


def _on_one_line(text: str) -> str:
    return " ".join(line.strip() for line in text.splitlines() if line.strip())


_NAMED_VALUES = re.compile(
    r"^ *Expected(?: nothing|: *(?P<expected>\S.*|(?:\n {4}.*)+))\n+"
    r" *(?:Got|Received)(?: nothing|: *(?P<actual>\S.*|(?:\n {4}.*)+))",
    re.MULTILINE,
)
"""As doctest prints them, and the expectations of JavaScript."""
_EXAMPLE_RAISED = re.compile(
    r"^UNEXPECTED EXCEPTION: (?P<short>.+)|^Exception raised:\n(?: {4}.*\n)*? {4}(?P<whole>(?!Traceback)\w.*)",
    re.MULTILINE,
)
_EXAMPLE = re.compile(r"^(?:\d{3,} +>>> |Failed example:\n {4})(.+)", re.MULTILINE)
"""The source of a doctest."""
_SHOWS_NO_VALUES = re.compile(r"\.\.\.|…|\bexpect\(.*\)\.|Expected values to be|Expected inputs to be")
"""Values that pytest or chai cut, or a message that is the same whatever they are."""
_PAIR = re.compile(
    r"^ *(?:Differing items:\n *|At index (?P<index>\d+) diff: |(?=.* !== ))(?P<actual>.+) !==? (?P<expected>.+)$",
    re.MULTILINE,
)
_MORE = re.compile(r"^ *((?:Left|Right) contains .+(?:(?<=:)\n.+)?)$", re.MULTILINE)
_DIFF_LINE = re.compile(r" *(?P<sign>[-+]) +(?P<text>(?!Expected\b|Received\b|actual\b).*)")
"""Of pytest, and of what prints `+ actual - expected` in JavaScript."""
