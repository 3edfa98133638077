"""Text of others in Markdown: it is shown as it stands, whatever marks it holds."""

from __future__ import annotations

import re

_SPAN = re.compile(r"(?<!`)(`+)(?!`).+?(?<!`)\1(?!`)")
_MARKS = re.compile(r"[\\`*\[\]<~|@]|(?<!\w)_|_(?!\w)|&(?=#?\w+;)|:(?=//)|(?<=www)\.")
_START = re.compile(r"^(\d*)([#+\-=>:]|(?<=\d)[.)])")


def prose(text: str) -> str:
    """A paragraph of the same lines. What stands between backticks is code, as the server's own messages have it;
    all else is text: no link, no address, no HTML, no list or heading."""
    lines = (line.strip() for line in text.splitlines())
    return "  \n".join(_line(line) for line in lines if line)


def code(text: str) -> str:
    """A span of code on one line."""
    line = " ".join(text.splitlines())
    ticks = "`" * (_longest(line) + 1)
    pad = " " if line.startswith("`") or line.endswith("`") else ""
    return f"{ticks}{pad}{line}{pad}{ticks}"


def block(text: str) -> str:
    """Lines of output: the fence is longer than any run of backticks inside."""
    fence = "`" * max(3, _longest(text) + 1)
    return f"{fence}text\n{text}\n{fence}"


def _line(line: str) -> str:
    parts: list[str] = []
    end = 0
    for span in _SPAN.finditer(line):
        parts += [_escaped(line[end : span.start()]), span.group()]
        end = span.end()
    return _START.sub(r"\1\\\2", "".join([*parts, _escaped(line[end:])]))


def _escaped(text: str) -> str:
    return _MARKS.sub(lambda found: f"\\{found.group()}", text)


def _longest(text: str) -> int:
    return max((len(run) for run in re.findall("`+", text)), default=0)
