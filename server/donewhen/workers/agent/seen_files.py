"""What a resumed turn has seen of each file: read from its conversation, and compared with what is there now.

Digests don't outlive the process in which a turn began, but the conversation says what was seen of each file.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from donewhen.core.calls import Message, ToolCall
from donewhen.core.errors import WorkspaceError
from donewhen.workers.agent.compaction import arguments_of, call_of
from donewhen.workers.prompt import begins_turn
from donewhen.workers.tools.reading import UNSAVED
from donewhen.workers.tools.tool import Arguments, ToolContext
from donewhen.workers.tools.writing import HOLDS_NOW

ANOTHER = ""
"""Matches no file: the model has seen something other than what is there now."""

_READ = re.compile(r"(.+), (?:lines (\d+)-(\d+) of (\d+)|empty):")
_WROTE = re.compile(r"(?:made|wrote) (.+), [\d,]+ lines?")
_EDITED = re.compile(r"edited (.+) at line \d+")
_SAME = re.compile(r"(.+) holds exactly that already; nothing was written")
_MOVED = re.compile(r"error: (.+?) (?:changed since you read it, and|changed just now and) was not written\. .*")
_CUT = re.compile(r"\n\[\.\.\. [\d,]+ characters cut \.\.\.\]\n|\[[\d,]+ more characters in this line\]")


@dataclass(frozen=True, slots=True)
class SeenFile:
    """The lines of a file that were seen, by number; all of them where they are `total`."""

    lines: Mapping[int, str]
    total: int

    @classmethod
    def whole(cls, text: str) -> SeenFile | None:
        """A text as the tools give it, with one kind of line ends; None for one with several, which can't be told
        from what was shown."""
        plain = text.replace("\r\n", "\n") if text.count("\r\n") == text.count("\n") else text
        lines = lines_of(plain)
        return cls(dict(enumerate(lines, 1)), len(lines)) if "\r" not in plain else None

    @property
    def whole_text(self) -> str | None:
        """All of it, None if only a part was seen."""
        return "\n".join(self.lines[at] for at in sorted(self.lines)) if len(self.lines) == self.total else None

    def joined(self, more: SeenFile) -> SeenFile:
        """Combines two parts of the same file; takes the later one if they don't fit together."""
        fits = self.total == more.total and all(more.lines.get(at, line) == line for at, line in self.lines.items())
        return SeenFile({**self.lines, **more.lines}, more.total) if fits else more

    def fits(self, text: str) -> bool:
        lines = lines_of(text)
        return len(lines) == self.total and all(lines[at - 1] == line for at, line in self.lines.items())


async def restore_seen_files(context: ToolContext) -> None:
    """Makes the context of a turn that goes on know what the model has seen: a file that is as it saw it may be
    replaced; of one that is not it is told so once. What was seen in part, and fits, has to be read again before it is
    replaced."""
    for path, seen in seen_in(context.turn_context.conversation).items():
        try:
            file = await context.files.read(path)
        except WorkspaceError:
            continue
        if file is None or not seen.fits(context.mask(file.content)):
            context.known[path] = ANOTHER
        elif seen.whole_text is not None:
            context.saw(file)


def seen_in(conversation: Sequence[Message]) -> Mapping[str, SeenFile]:
    """What the model saw of each file in the turn that the conversation ends with."""
    begun = max((at for at, message in enumerate(conversation) if begins_turn(message)), default=-1)
    seen: dict[str, SeenFile] = {}
    open_calls: list[ToolCall] = []
    for message in conversation[begun + 1 :]:
        if message.role == "assistant":
            open_calls = list(message.calls)
        elif message.role == "tool" and open_calls:
            call = call_of(message, open_calls)
            first, _, rest = message.text.partition("\n")
            told = _file_in_answer(call.name, arguments_of(call) or {}, first, rest, seen)
            if told is None:
                continue
            path, now = told
            if now is None or _CUT.search(message.text):
                seen.pop(path, None)
            elif call.name == "read_file" and path in seen:
                seen[path] = seen[path].joined(now)
            else:
                seen[path] = now
    return seen


def lines_of(text: str) -> list[str]:
    """The lines of a text; a line end at its end begins no further one."""
    lines = text.split("\n")
    return lines[:-1] if lines[-1] == "" else lines


def _file_in_answer(
    tool: str, arguments: Arguments, first: str, rest: str, seen: Mapping[str, SeenFile]
) -> tuple[str, SeenFile | None] | None:
    """The file that an answer is about, and what is known of it after it, None if that can't be told."""
    moved = _MOVED.fullmatch(first)
    if moved:
        return moved[1], SeenFile.whole(rest) if first.endswith(HOLDS_NOW) else None
    if tool == "read_file":
        return _file_read(first, rest)
    if tool == "write_file":
        found = _WROTE.fullmatch(first) or _SAME.fullmatch(first)
        return (found[1], None if rest else SeenFile.whole(str(arguments.get("content", "")))) if found else None
    found = _EDITED.match(first) if tool == "edit_file" else None
    if not found:
        return None
    return found[1], _edited(seen.get(found[1]), arguments) if _EDITED.fullmatch(first) else None


def _file_read(first: str, rest: str) -> tuple[str, SeenFile | None] | None:
    found = _READ.fullmatch(first)
    if not found:
        return None
    if found[2] is None:
        return found[1], SeenFile({}, 0)
    begin, end, total = (int(found[number]) for number in (2, 3, 4))
    lines = rest.split("\n")[: end - begin + 1]
    if UNSAVED in rest[: len(UNSAVED) + 2] or "\r" in rest or len(lines) <= end - begin:
        return found[1], None
    return found[1], SeenFile(dict(enumerate(lines, begin)), total)


def _edited(seen: SeenFile | None, arguments: Arguments) -> SeenFile | None:
    text = seen.whole_text if seen is not None else None
    old, new = (str(arguments.get(name, "")) for name in ("old", "new"))
    if text is None or not old or "\r" in old + new:
        return None
    # Whether the file ends in a line end was not shown, and an edit may reach to it.
    ends = [one for one in (text, f"{text}\n") if one.count(old) == 1]
    found = [SeenFile.whole(one.replace(old, new)) for one in ends]
    return found[0] if found and all(one == found[0] for one in found) else None
