"""What a failed check says in its output, and what helps if the cause is known."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import cast

from donewhen.core.commands.wrapped import Segment
from donewhen.core.decoding import json_object
from donewhen.core.ecosystems import ECOSYSTEMS, TOOLS
from donewhen.core.ecosystems.javascript import MANAGERS
from donewhen.core.ecosystems.output import multiline
from donewhen.core.failure_text import clipped
from donewhen.regular import read_text

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


# Distinguishes "not installed here" from "failed", and says how to install what is missing.


_NOT_FOUND = (
    re.compile(r"^(?:\S*/)?(?:ba|da|k|z|a)?sh: (?:line )?(?:\d+: )?(?P<name>[^:\n]+): (?:command )?not found$", re.M),
    re.compile(r"^zsh:(?:\d+:)? command not found: (?P<name>\S+)$", re.M),
    re.compile(r"^'(?P<name>[^'\n]+)' is not recognized as an internal or external command", re.M),
    re.compile(r"^env: [‘']?(?P<name>[^’':\n]+)[’']?: No such file or directory$", re.M),
)
_NO_MODULE = re.compile(r"^\S*(?:python|pypy)\S*: No module named (?P<name>[A-Za-z0-9_]+)$", re.M)
_HOW = {
    **{name: how for ecosystem in ECOSYSTEMS for name, how in ecosystem.installs},
    **{name: tool.install for tool in TOOLS if tool.install for name in tool.names},
}
"""By program."""
_MODULES = frozenset(name for name, how in _HOW.items() if "pip install" in how)
"""Programs that are modules of Python, too; any other module is the workspace's own business."""


def not_installed(
    output: str, exit_code: int | None, parts: Sequence[Segment], which: Callable[[str], str | None], root: Path
) -> str | None:
    """What is missing and how to get it; None if nothing is known to be missing.

    A file of the workspace that is missing (`./check.sh`) is not a program to install.
    """
    for name in (match["name"].strip() for pattern in _NOT_FOUND for match in pattern.finditer(output)):
        if "/" in name or which(name) is not None:
            continue
        # In `missing || other`, only the other one counts.
        needed = any(name in part.words and part.then != "||" for part in parts)
        if needed or exit_code == 127:
            return f"`{name}` is not installed here: {how_to_get(name, root)}"
    for match in _NO_MODULE.finditer(output):
        name = match["name"]
        if name in _MODULES and any(part.tool[:1] == (name,) and part.then != "||" for part in parts):
            return f"`{name}` is not installed here: {how_to_get(name, root)}"
    return None


def how_to_get(name: str, root: Path) -> str:
    """What to do for a program that is missing in the workspace, as the end of a sentence."""
    how = _HOW.get(name, "")
    if {name, *re.findall(r"--save-dev ([^`]+)", how)} & _listed_packages(root):
        manager = next((one for one in MANAGERS if any((root / lock).is_file() for lock in one.locks)), MANAGERS[-1])
        return f"`{manager.name} install`"
    return how or "install it, or put its folder on PATH before Done When is started"


def _listed_packages(root: Path) -> frozenset[str]:
    """What the workspace's package.json depends on."""
    try:
        package = json_object(read_text("package.json", "utf-8", "replace", within=root)) or {}
    except OSError:
        return frozenset()
    listed = (package.get(key) for key in ("dependencies", "devDependencies"))
    return frozenset(name for names in listed if isinstance(names, dict) for name in cast("dict[str, object]", names))
