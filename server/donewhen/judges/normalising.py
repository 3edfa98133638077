"""What differs from run to run without meaning anything: the prompt leaves it out, so that equal evidence gives an
equal prompt, byte for byte."""

from __future__ import annotations

import re
from collections.abc import Callable

from donewhen.core.evidence import CheckResult, ObservedCommand
from donewhen.ecosystems import RUNNERS, TOOLS

_COLOURS = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]")
_SCRATCH = re.compile(
    r"(?:(?:/private)?(?:/tmp|/var/tmp|/var/folders/[\w+-]+/[\w+-]+/T)"
    r"|\b[A-Za-z]:\\Users\\[^\\\n]+\\AppData\\Local\\Temp)"
    r"[/\\](?:pytest-of-[\w.-]+[/\\]pytest-\d+|[\w.+-]+)"
)
_NAMES = "|".join(
    command.replace(".", r"\.").replace(" ", r"\s+(?:\w+\s+)?") + (rf"\s+{tool.needs}" if tool.needs else "")
    for tool in RUNNERS
    for command in tool.commands
)
_CARRIERS = r"tox|nox|mvn|gradlew?|(?:npm|pnpm|yarn)\s+(?:run\s+)?t(?:est)?"
_RUN = re.compile(rf"\b(?:{_NAMES}|{_CARRIERS})\b")
_DURATIONS = tuple(
    re.compile(pattern, re.MULTILINE) for pattern in dict.fromkeys(one for tool in TOOLS for one in tool.durations)
)


class Normaliser:
    """Takes out of texts what must not reach a prompt: secrets and where the workspace lies; out of what commands
    print also scratch folders, the run's id and colours. `root` is the workspace's absolute path, empty if it isn't
    known."""

    def __init__(self, root: str = "", run_id: str = "", mask: Callable[[str], str] | None = None) -> None:
        self._mask = mask
        self._run_id = run_id if len(run_id) >= 6 else ""
        roots = "|".join(re.escape(one) for one in _spellings(root))
        self._root = re.compile(rf"(?:{roots})(?![\w-])(?!\.\w)") if roots else None

    def text(self, text: str) -> str:
        """What people or files say: nothing that tells something is changed."""
        if self._mask is not None:
            text = self._mask(text)
        return text if self._root is None else self._root.sub(".", text)

    def printed(self, text: str) -> str:
        """What a command printed."""
        text = self.text(_COLOURS.sub("", text))
        if self._run_id:
            text = text.replace(self._run_id, "(run)")
        return _SCRATCH.sub("(scratch)", text)

    def check_output(self, result: CheckResult) -> str:
        text = self.printed(result.output)
        return untimed(text) if result.is_test_run or result.totals is not None else text

    def command_output(self, command: ObservedCommand) -> str:
        text = self.printed(command.output)
        return untimed(text) if _RUN.search(command.command) else text


def untimed(text: str) -> str:
    """Output of a test runner without the durations that the runner itself adds; no other figure is touched."""
    for pattern in _DURATIONS:
        text = pattern.sub(r"\g<before>(time)", text)
    return text


def _spellings(root: str) -> tuple[str, ...]:
    """How the workspace's path may be written, longest first."""
    path = root.rstrip("/\\")
    if len(path) < 2:
        return ()
    other = path.replace("\\", "/")
    known = {path, other, path.replace("\\", "\\\\"), f"/private{path}" if path.startswith("/") else path}
    return tuple(sorted(known, key=len, reverse=True))
