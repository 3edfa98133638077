"""What programs print, as plain text."""

from __future__ import annotations

import re

# ECMA-48: control sequences (colours, cursor), operating-system commands (titles, links), and two-byte escapes.
_ANSI = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]"
    r"|\x1b[\]PX^_].*?(?:\x07|\x1b\\|$)"
    r"|\x1b[ -/]*[0-~]"
    r"|\x9b[0-?]*[ -/]*[@-~]",
    re.MULTILINE,
)
# Whatever else a terminal would act on; tab and newline stay.
_CONTROL = re.compile(r"[\x01-\x08\x0b\x0c\x0e-\x1f\x7f]")


def strip_ansi(text: str) -> str:
    """Without escape sequences and control characters; a carriage return that redraws a line becomes a newline."""
    plain = _ANSI.sub("", text).replace("\r\n", "\n").replace("\r", "\n")
    return _CONTROL.sub("", plain)


def first_line(text: str, limit: int = 300) -> str:
    """The first line that says something, at most `limit` characters."""
    line = next((line.strip() for line in text.splitlines() if line.strip()), "")
    return line if len(line) <= limit else line[: limit - 1] + "…"


def counted(number: int, noun: str) -> str:
    """`1 test`, `2 tests`."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
