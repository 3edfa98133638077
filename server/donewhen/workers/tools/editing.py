"""The tool that replaces one piece of a file: exact, and only if it occurs exactly once."""

from __future__ import annotations

import asyncio
import difflib

from donewhen.core.feedback import keep_ends
from donewhen.core.plugging import ToolOutcome
from donewhen.ports import FileText
from donewhen.workers.activity import activity_line
from donewhen.workers.tools.arguments import Argument, Arguments
from donewhen.workers.tools.reading import PATH, absent
from donewhen.workers.tools.tool import Ahead, Desk, Job, Tool
from donewhen.workers.tools.writing import Change, look, replaced, standing, turned_down

_OTHER = "; a person changed the edit when they allowed it: read it again"
MAX_PLACES = 10
MAX_SHOWN = 4_000
AROUND = 3
_COMPARED = 5_000
"""Lines of a file that are compared with a text that does not occur in it."""


def _line(arguments: Arguments) -> str:
    return activity_line(f"edit {arguments['path']}")


async def _planned(desk: Desk, arguments: Arguments) -> Change:
    now = await standing(desk, str(arguments["path"]))
    if now.refusal is not None:
        return Change(now, refusal=now.refusal)
    if now.file is None:
        return Change(now, refusal=f"{await absent(desk, now.path)}. To make a file use write_file")
    old, new = (_in_manner(now.file, str(arguments[name])) for name in ("old", "new"))
    why = await asyncio.to_thread(_refusal, now.file, old, new)
    return Change(now, now.file.content.replace(old, new) if why is None else "", why)


async def _look(desk: Desk, arguments: Arguments) -> Ahead:
    return await look(desk, arguments, _planned)


async def _edit_file(desk: Desk, job: Job) -> ToolOutcome:
    line = _line(job.arguments)
    desk.context.activity(activity_line(f"editing {job.arguments['path']}"))
    change = await _planned(desk, job.arguments)
    if change.refusal is not None or change.now.file is None:
        return turned_down(desk, change, line)
    file = change.now.file
    at = _line_of(file.content, file.content.index(_in_manner(file, str(job.arguments["old"]))))
    written, why = await replaced(desk, job, change)
    if written is None:
        return ToolOutcome(why, f"{line}: not written", ok=False)
    edited = f"edited {written.path} at line {at}"
    return ToolOutcome(f"{edited}{_OTHER if job.changed else ''}", edited)


def _in_manner(file: FileText, text: str) -> str:
    return text.replace("\r\n", "\n") if file.newline == "\r\n" else text


def _refusal(file: FileText, old: str, new: str) -> str | None:
    """Why the edit can't be made, with what is there instead; None if it can."""
    if not old:
        return "`old` is empty: send the piece of text that is to be replaced, or use write_file"
    count = file.content.count(old)
    if count > 1:
        return _ambiguous(file, old, count)
    if count == 0:
        return f"`old` does not occur in {file.path}; nothing was written.{_nearest(file, old)}"
    return "`old` and `new` are the same: nothing would change" if old == new else None


def _ambiguous(file: FileText, old: str, count: int) -> str:
    places: list[int] = []
    at = file.content.find(old)
    while at != -1 and len(places) < MAX_PLACES:
        places.append(_line_of(file.content, at))
        at = file.content.find(old, at + len(old))
    lines = ", ".join(str(line) for line in places) + (", ..." if count > len(places) else "")
    return (
        f"`old` occurs in {file.path} {count} times, at the lines {lines}; nothing was written. Include "
        "more of the lines "
        "around it in `old`, so that it occurs only once"
    )


def _nearest(file: FileText, old: str) -> str:
    """The lines that resemble the text most, with their numbers."""
    lines = file.content.split("\n")
    wanted = [line.strip() for line in old.strip("\n").split("\n")]
    anchor = max(wanted, key=len)
    at = _closest(lines, anchor)
    if at is None:
        return f" No line of it resembles `{activity_line(anchor)}`: read the file again"
    first = max(0, at - wanted.index(anchor) - AROUND)
    shown = lines[first : at - wanted.index(anchor) + len(wanted) + AROUND]
    numbered = "\n".join(f"{first + number}: {line}" for number, line in enumerate(shown, 1))
    return f" The nearest text is this, with the line number before each line:\n{keep_ends(numbered, MAX_SHOWN)}"


def _closest(lines: list[str], anchor: str) -> int | None:
    stripped = [line.strip()[:500] for line in lines[:_COMPARED]]
    if anchor in stripped:
        return stripped.index(anchor)
    inside = [number for number, line in enumerate(stripped) if anchor and anchor in line]
    if inside:
        return inside[0]
    close = difflib.get_close_matches(anchor[:500], [line for line in stripped if line], n=1, cutoff=0.5)
    return stripped.index(close[0]) if close else None


def _line_of(content: str, at: int) -> int:
    return content.count("\n", 0, at) + 1


EDIT_FILE = Tool(
    "edit_file",
    "Replaces one piece of a text file. `old` must occur there exactly once, character for character, with its "
    "indentation and line ends; include lines around it if it would not be unique.",
    (
        PATH,
        Argument("old", "the text to replace", aliases=("old_text", "old_string", "old_str")),
        Argument("new", "the text that replaces it", aliases=("new_text", "new_string", "new_str")),
    ),
    _line,
    _edit_file,
    _look,
)
