"""What a failed check says in its output, and what helps if the cause is known."""

from __future__ import annotations

import re

from donewhen.core.why import clipped
from donewhen.ecosystems import ECOSYSTEMS
from donewhen.ecosystems.output import multiline

_ERROR = re.compile(
    r"^(?:E\s+)?(?:(?:[A-Za-z_][\w.]*\.)?[A-Z]\w*(?:Error|Exception|Exit)\b(?::.*)?"
    r"|(?:\S+: )?(?:fatal|error|ERROR|Error|FAIL|FAILED|panic)\b.*"
    r"|.*\b(?:not found|No such file|[Pp]ermission denied|No module named|[Cc]annot|[Cc]ould not)\b.*"
    r"|.*\b(?:unrecognized|refused)\b.*)$"
)
_NOISE = re.compile(
    r"^(?:\W*|make(?:\[\d+\])?: \*\*\*.*"
    r"|npm (?:ERR!|error) (?:A complete log.*|code \S+|errno \S+|path .*|command .*|Lifecycle.*)"
    r"|error Command failed with exit code.*|error: Recipe .*|exit status \d+|Error: Process completed.*|ELIFECYCLE.*)$"
)


def telling_line(output: str, *, errors_only: bool = False) -> str:
    """The last line that says that something is wrong, else the last line; empty if there is none."""
    lines = [line.strip() for line in output.splitlines()[-400:]]
    lines = [line for line in lines if not _NOISE.fullmatch(line)]
    wrong = next(
        (line for line in reversed(lines) if _ERROR.fullmatch(line)), lines[-1] if lines and not errors_only else ""
    )
    return clipped(wrong.removeprefix("E ") if wrong.startswith("E  ") else wrong)


_CAUSES = tuple(
    cause
    for ecosystem in ECOSYSTEMS
    for cause in (*ecosystem.causes, *(one for tool in ecosystem.tools for one in tool.causes))
)


def hint_for(output: str, command: str) -> str:
    """What helps against the first known cause, as a clause; empty if no cause is known."""
    for cause in _CAUSES:
        match = multiline(cause.says).search(output)
        if match is None:
            continue
        helps = match.expand(cause.helps) if isinstance(cause.helps, str) else cause.helps(match, command)
        if helps:
            return clipped(helps)
    return ""


NOTHING_COLLECTED = (
    "no test was found there: look at the paths, at `-k` and `-m`, and at what the configuration collects"
)
