"""The part of a long text that fits: its head, its tail, and what matters between, every cut marked."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence

from donewhen.core.ecosystems import RUNNERS, TOOLS
from donewhen.core.evidence import CheckResult, ObservedCommand
from donewhen.core.words import byte_length, counted
from donewhen.judges.fencing import clipped, neutralised

LONGEST_LINE = 400
_AROUND = 3
_MARK = 34  # the length of about "[... 12,345 lines cut ...]", with its prefix


def fitted(text: str, room: int) -> str:
    """At most `room` bytes (at least 60) of a text: head and tail, with a mark for the cut between them."""
    if byte_length(text) <= room:
        return text
    raw = text.encode("utf-8", "replace")
    left = max(room - 40, 20)
    head = raw[: left // 2].decode("utf-8", "ignore")
    tail = raw[len(raw) - left // 2 :].decode("utf-8", "ignore")
    return f"{head}[... {len(raw) - left:,} bytes cut ...]{tail}"


class Lines:
    """Untrusted lines as they are shown: prefixed, neutralised, bounded; made only when needed."""

    def __init__(self, raw: Sequence[str], numbered: bool = False) -> None:
        self.raw = raw
        self._numbered = numbered
        self._made: dict[tuple[int, int], str] = {}
        digits = len(str(len(raw))) if numbered else 0
        self.need = sum(min(byte_length(line), LONGEST_LINE) + 3 + digits for line in raw)
        """A lower bound for the size of all lines; exact for plain text."""

    @classmethod
    def of(cls, text: str, numbered: bool = False) -> Lines:
        lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
        if lines and not lines[-1]:
            lines.pop()
        return cls(lines, numbered)

    def __len__(self) -> int:
        return len(self.raw)

    def shown_line(self, at: int, width: int = LONGEST_LINE) -> str:
        key = (at, width)
        if key not in self._made:
            text = fitted(neutralised(clipped(self.raw[at], width)).replace("\n", "\\n"), width)
            prefix = f"{at + 1}| " if self._numbered else "| "
            self._made[key] = f"{prefix}{text}".rstrip(" ")
        return self._made[key]


def excerpt(lines: Lines, room: int, highlights: Sequence[int] = (), head: float = 0.2, tail: float = 0.4) -> str:
    """At most `room` bytes of the lines: all if they fit, else head and tail (their shares of the room) and, between
    them, the highlighted lines with those around them. The last line is always included."""
    count = len(lines)
    if not count:
        return ""
    if lines.need <= room * 2:
        whole = "\n".join(lines.shown_line(at) for at in range(count))
        if byte_length(whole) <= room:
            return whole
    width = max(60, min(LONGEST_LINE, room // 3 - 20))
    chosen = {count - 1}
    left = room - 2 * _MARK - byte_length(lines.shown_line(count - 1, width)) - 1

    def take(order: Iterable[int], most: int) -> None:
        """Adds lines in this order until `most` bytes, or all that is left, is used up."""
        nonlocal left
        least = max(left - most, 0)
        for at in order:
            cost = byte_length(lines.shown_line(at, width)) + 1
            if at in chosen:
                continue
            if left - cost < least:
                return
            left -= cost
            chosen.add(at)

    take(range(count - 2, -1, -1), int(room * tail))
    take(range(count), int(room * head))
    for at in highlights:
        if left < 2 * _MARK:
            break
        left -= 0 if at in chosen else _MARK
        near = range(max(at - _AROUND, 0), min(at + _AROUND + 1, count))
        take(sorted(near, key=lambda one: abs(one - at)), left)
    take(range(count), left)
    return fitted("\n".join(_with_cuts(lines, chosen, width)), max(room, 60))


def _with_cuts(lines: Lines, chosen: Iterable[int], width: int) -> Iterator[str]:
    before = -1
    for at in sorted(chosen):
        if cut := at - before - 1:
            yield f"[... {counted(cut, 'line')} cut ...]"
        yield lines.shown_line(at, width)
        before = at


# Differences between runs that mean nothing: the prompt leaves them out, so that equal evidence gives an equal prompt,
# byte for byte.


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
    """Removes from texts what must not reach a prompt: secrets and the path of the workspace; from the output of
    commands also scratch folders, the run's id and colours. `root` is the workspace's absolute path, empty if it is
    unknown."""

    def __init__(self, root: str = "", run_id: str = "", mask: Callable[[str], str] | None = None) -> None:
        self._mask = mask
        self._run_id = run_id if len(run_id) >= 6 else ""
        roots = "|".join(re.escape(one) for one in _spellings(root))
        self._root = re.compile(rf"(?:{roots})(?![\w-])(?!\.\w)") if roots else None

    def clean_text(self, text: str) -> str:
        """Text from people or files: nothing meaningful is changed."""
        if self._mask is not None:
            text = self._mask(text)
        return text if self._root is None else self._root.sub(".", text)

    def printed(self, text: str) -> str:
        """The output of a command."""
        text = self.clean_text(_COLOURS.sub("", text))
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
    """Output of a test runner without the durations that the runner adds; no other number is changed."""
    for pattern in _DURATIONS:
        text = pattern.sub(r"\g<before>(time)", text)
    return text


def _spellings(root: str) -> tuple[str, ...]:
    """The possible spellings of the workspace's path, longest first."""
    path = root.rstrip("/\\")
    if len(path) < 2:
        return ()
    other = path.replace("\\", "/")
    known = {path, other, path.replace("\\", "\\\\"), f"/private{path}" if path.startswith("/") else path}
    return tuple(sorted(known, key=len, reverse=True))
