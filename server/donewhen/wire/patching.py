"""A unified diff, applied to the text that it is about."""

from __future__ import annotations

import re

_HUNK = re.compile(r"@@ -(\d+)(?:,(\d+))? \+\d+(?:,\d+)? @@")


def patched(text: str, diff: str) -> str | None:
    """The text with the diff applied, its line ends as `\\n`; None where the diff is about another text, or was cut."""
    before = text.replace("\r\n", "\n").replace("\r", "\n").removesuffix("\n").split("\n") if text else []
    after: list[str] = []
    taken = 0
    lines = diff.split("\n")
    starts = [at for at, line in enumerate(lines) if _HUNK.match(line)]
    for start, end in zip(starts, [*starts[1:], len(lines)], strict=True):
        hunk = _HUNK.match(lines[start])
        assert hunk is not None  # as found above
        count = int(hunk[2] or 1)
        first = int(hunk[1]) - (1 if count else 0)
        applied = _applied(before[first : first + count], lines[start + 1 : end])
        if applied is None or first < taken:
            return None
        after += [*before[taken:first], *applied]
        taken = first + count
    after += before[taken:]
    return "".join(f"{line}\n" for line in after)


def _applied(before: list[str], hunk: list[str]) -> list[str] | None:
    """The lines that a hunk leaves; None where those before are others than it says."""
    after: list[str] = []
    at = 0
    for line in hunk:
        sign, rest = line[:1], line[1:]
        if sign not in ("+", "-", " "):
            return None
        if sign != "+":
            if at >= len(before) or before[at] != rest:
                return None
            at += 1
        if sign != "-":
            after.append(rest)
    return after if at == len(before) else None
