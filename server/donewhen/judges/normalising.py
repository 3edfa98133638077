"""What differs from run to run without meaning anything: the prompt leaves it out, so that equal evidence gives an
equal prompt, byte for byte (A17)."""

from __future__ import annotations

import re
from collections.abc import Callable

from donewhen.core.evidence import CheckResult, ObservedCommand

_COLOURS = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]")
_SCRATCH = re.compile(
    r"(?:(?:/private)?(?:/tmp|/var/tmp|/var/folders/[\w+-]+/[\w+-]+/T)"
    r"|\b[A-Za-z]:\\Users\\[^\\\n]+\\AppData\\Local\\Temp)"
    r"[/\\](?:pytest-of-[\w.-]+[/\\]pytest-\d+|[\w.+-]+)"
)
_SECONDS = r"\d+(?:\.\d+)?"
_RUNNERS = re.compile(
    r"\b(?:py\.?test|unittest|tox|nox|jest|vitest|mocha|ava|go\s+test|cargo\s+(?:\w+\s+)?test|nextest|rspec|mvn|gradlew?"
    r"|dotnet\s+test|ctest|phpunit|node\s+--test|npm\s+(?:run\s+)?t(?:est)?|yarn\s+test|pnpm\s+test)\b"
)
# Bounded, and never over the end of a line: what a test prints must not decide how long reading it takes.
_FEW, _LONG = r"[^\n]{0,120}", r"[^\n]{0,1000}"
_COUNTED = r"(?:passed|failed|errors?|skipped|deselected|xfailed|xpassed|warnings?|no tests ran)"
_DURATIONS = tuple(
    re.compile(pattern, re.MULTILINE)
    for pattern in (
        rf"(?P<before>\b{_COUNTED}\b{_FEW}? in ){_SECONDS}s(?: \(\d+:\d\d:\d\d\))?",  # pytest
        rf"(?P<before>^Ran \d+ tests? in ){_SECONDS}s",  # unittest
        rf"(?P<before>^[ \t]*Time: +){_SECONDS} ?m?s(?:, estimated {_SECONDS} ?m?s)?",  # jest
        rf"(?P<before>^[ \t]*Duration:? +){_SECONDS} ?m?s(?: \([^)\n]*\))?",  # vitest, dotnet
        r"(?P<before>^[ \t]*Start at +)\d+:\d\d:\d\d",  # vitest
        rf"(?P<before>^[ \t]*[\u2713\u2714\u2715\u2717\u221a\u00d7]{_LONG}? \(?){_SECONDS} ?m?s(?=\)?$)",  # jest, mocha
        rf"(?P<before>^[ \t]*\d+ (?:passing|failing|pending) \(){_SECONDS}m?s(?=\))",  # mocha
        rf"(?P<before>^[ \t]*--- (?:PASS|FAIL|SKIP): {_LONG}?\(){_SECONDS}s(?=\))",  # go
        rf"(?P<before>^(?:ok|FAIL)[ \t]+\S+[ \t]+){_SECONDS}s",  # go
        rf"(?P<before>\bfinished in ){_SECONDS}s",  # cargo
        rf"(?P<before>\bFinished `[^`\n]+` profile {_FEW}? in ){_SECONDS}s",  # cargo
        rf"(?P<before>^Finished in ){_SECONDS} seconds?(?: \(files took {_SECONDS} seconds? to load\))?",  # rspec
        rf"(?P<before>\bduration_ms:? ){_SECONDS}",  # node
        rf"(?P<before>\bTime elapsed: ){_SECONDS} s\b",  # maven
        rf"(?P<before>^BUILD \w+ in ){_SECONDS}m?s",  # gradle
        rf"(?P<before>^# time=){_SECONDS}m?s",  # tap
    )
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
        return untimed(text) if _RUNNERS.search(command.command) else text


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
