"""The tool that writes whole files, and what it has in common with the one that edits them: it overwrites nothing that
the model has not seen, and nothing that a person is editing right now.
"""

from __future__ import annotations

import asyncio
import difflib
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace

from donewhen.core.approval import NOT_WRITTEN
from donewhen.core.errors import ChangedMeanwhile, WorkspaceError
from donewhen.core.feedback import MASK, keep_ends
from donewhen.core.globs import any_matches
from donewhen.core.plugging import ToolOutcome
from donewhen.core.running_files import RUNNING
from donewhen.core.words import counted
from donewhen.ports import FileText
from donewhen.workers.activity import activity_line
from donewhen.workers.tools.reading import PATH, absent
from donewhen.workers.tools.tool import (
    Argument,
    Arguments,
    CallPreview,
    Invocation,
    Permission,
    Tool,
    ToolContext,
    names_of,
    refused,
    version_of,
)

HEAD = 1_500


@dataclass(frozen=True, slots=True)
class Change:
    """What a call would make of a file, which is here as it stands on disk. `refusal` says why nothing is made of it,
    None if something is: `moved`, because it is another one than the model knows. `sensitive` says why a person has to
    allow it."""

    path: str
    file: FileText | None
    content: str = ""
    refusal: str | None = None
    moved: bool = False
    sensitive: str = ""

    @property
    def before(self) -> str:
        return self.file.content if self.file else ""

    @property
    def needless(self) -> bool:
        return self.file is not None and self.file.content == self.content


async def change_of(context: ToolContext, name: str) -> Change:
    """What is there now, and whether it may be changed: not what is protected, not what an editor holds unsaved,
    and not what has changed since the model read it; it is told what stands there instead."""
    path = context.files.path(name)
    names = names_of(name, path)
    why = protected(context, names)
    if why is not None:
        return Change(path, None, refusal=why)
    held = context.unsaved(names)
    if held is not None:
        why = (
            f"a person has unsaved changes to {path} in an editor; it was not written. Work on something else, or "
            f"report a question. The text in the editor is:\n{keep_ends(held, context.largest)}"
        )
        return Change(path, None, refusal=why)
    file = await context.files.read(path)
    moved = _why_outdated(context, path, file)
    return Change(path, file, refusal=moved, moved=moved is not None, sensitive=sensitive(context, names))


async def previewed(
    context: ToolContext, arguments: Arguments, plan: Callable[[ToolContext, Arguments], Awaitable[Change]]
) -> CallPreview:
    """What a person has to see of a change before it is made. Nothing is read for one that nobody has to allow, and
    there is nothing to ask about where nothing would be changed."""
    try:
        name = str(arguments["path"])
        if not sensitive(context, names_of(name, context.files.path(name))):
            return CallPreview()
        change = await plan(context, arguments)
    except WorkspaceError:
        return CallPreview()
    if change.refusal is not None or change.needless:
        return CallPreview()
    permission = Permission(change.path, change.file.digest if change.file else None)
    shown = await asyncio.to_thread(diff, change.path, change.before, change.content)
    return CallPreview(keep_ends(shown, MAX_PREVIEW), change.sensitive, permission)


def denied(context: ToolContext, change: Change, line: str) -> ToolOutcome:
    """Tells why nothing was changed. A file that moved is known as it stands from here on."""
    if change.moved and change.file is not None:
        context.saw(change.file)
    elif change.moved:
        context.known.pop(change.path, None)
    return refused(change.refusal or "nothing was changed", line)


async def replaced(context: ToolContext, invocation: Invocation, change: Change) -> tuple[FileText | None, str]:
    """Writes the new text, if that needs no permission or a person saw exactly this file. Returns None, and why, if it
    was not written."""
    why = _without_permission(context, change, invocation.permission)
    if why is not None:
        return None, why
    # The model copies what it was shown, and was never shown a secret: the mask would be written over it.
    if change.content.count(MASK) > change.before.count(MASK) and context.mask(change.before) != change.before:
        return None, f"error: {change.path} was not written. {_SECRETS}"
    try:
        written = await context.files.write(change.path, change.content, change.file)
    except ChangedMeanwhile as changed_meanwhile:
        return None, _just_changed(context, change.path, changed_meanwhile.current)
    context.saw(written)
    return written, ""


def _without_permission(context: ToolContext, change: Change, permission: Permission | None) -> str | None:
    """Why a change that needs permission is not made: the person was asked about something else."""
    if not change.sensitive:
        return None
    if permission is None or permission.path != change.path:
        return (
            f"{NOT_WRITTEN} {change.path} may be changed only with a person's permission, and nobody was asked about "
            "this change. Send the call once more"
        )
    if permission.digest != (change.file.digest if change.file else None):
        return _just_changed(context, change.path, change.file.content if change.file else None)
    return None


def _just_changed(context: ToolContext, path: str, current: str | None) -> str:
    context.known.pop(path, None)
    return f"error: {path} changed just now and was not written. {_current_text(context, current)}"


def _why_outdated(context: ToolContext, path: str, file: FileText | None) -> str | None:
    known = context.known.get(path)
    if known is None or (file is not None and file.digest == known):
        return None
    if file is None:
        return f"{path} was deleted since you read it. If it should exist again, send the call once more"
    now = _current_text(context, file.content, version_of(file))
    return f"{path} changed since you read it, and was not written. {now}"


def _current_text(context: ToolContext, current: str | None, version: str = "") -> str:
    if current is None:
        return "There is no such file now"
    shown = keep_ends(current, context.largest)
    return f"Check whether your change still fits, then send it again. It holds now{version}:\n{shown}"


def _write_line(arguments: Arguments) -> str:
    return activity_line(f"write {arguments['path']}")


async def _planned(context: ToolContext, arguments: Arguments) -> Change:
    change = replace(await change_of(context, str(arguments["path"])), content=str(arguments["content"]))
    file = change.file
    if change.refusal is None and file is not None and change.path not in context.known:
        why = (
            f"{change.path} already exists, and you have not read it: read it first, then replace it or edit a part. "
            f"It has {_line_count(file)} and begins:\n{file.content[:HEAD]}"
        )
        return replace(change, refusal=why)
    return change


async def _write_file(context: ToolContext, invocation: Invocation) -> ToolOutcome:
    line = _write_line(invocation.arguments)
    context.turn_context.activity(activity_line(f"writing {invocation.arguments['path']}"))
    change = await _planned(context, invocation.arguments)
    if change.refusal is not None:
        return denied(context, change, line)
    if change.needless:
        return ToolOutcome(f"{change.path} holds exactly that already; nothing was written", line)
    written, why = await replaced(context, invocation, change)
    if written is None:
        return ToolOutcome(why, f"{line}: not written", ok=False)
    wrote = f"{'wrote' if change.file else 'made'} {change.path}, {_line_count(written)}"
    return ToolOutcome(f"{wrote}{version_of(written)}{_OTHER if invocation.changed else ''}", wrote)


_SECRETS = (
    f"It contains a secret, which is shown to you as {MASK}, and writing that would replace the secret. Leave those "
    "lines alone: "
    "change the others with edit_file"
)
_OTHER = "\nIts text is not the one that you sent: a person changed it when they allowed it. Read it before you go on"


def _line_count(file: FileText) -> str:
    return counted(file.content.count("\n") + (not file.content.endswith("\n") and bool(file.content)), "line")


WRITE_FILE = Tool(
    "write_file",
    "Creates a text file, or replaces all of one that you have read; missing folders are created. To change "
    "a part of a "
    "file use edit_file. A file that changed since you read it is not written, and you get its current text.",
    (PATH, Argument("content", "the whole new text", aliases=("text", "contents"))),
    _write_line,
    _write_file,
    lambda context, arguments: previewed(context, arguments, _planned),
)


# Which files a worker may not change, and which only with a person's permission.


RUNS = "it makes an editor, a shell, git, a build machine or another agent run something"
MAX_PREVIEW = 20_000


def protected(context: ToolContext, names: Sequence[str]) -> str | None:
    """Why a file may not be changed at all, None if it may."""
    named = next((name for name in names if any_matches(context.turn.goal.protect, name)), None)
    if named is None:
        return None
    return f"{named} is protected by the goal: changing it would keep the goal from completing. Leave it as it is"


def sensitive(context: ToolContext, names: Sequence[str]) -> str:
    """Why a person has to allow a change of it; empty if nobody has to."""
    goal = context.turn.goal.path
    folded = [name.lower() for name in names]
    if goal is not None and goal.lower() in folded:
        return "it is the goal itself"
    return RUNS if any(any_matches(RUNNING, name) for name in folded) else ""


def diff(path: str, before: str, after: str) -> str:
    """What would change, unified."""
    lines = difflib.unified_diff(before.splitlines(), after.splitlines(), f"a/{path}", f"b/{path}", lineterm="", n=3)
    return "\n".join(lines)


# The tool that replaces one piece of a file: exact, and only if it occurs exactly once.


_OTHER_THAN_READ = "; a person changed the edit when they allowed it: read it again"
MAX_PLACES = 10
MAX_SHOWN = 4_000
AROUND = 3
_COMPARED = 5_000
"""Lines of a file that are compared with a text that does not occur in it."""


def _edit_line(arguments: Arguments) -> str:
    return activity_line(f"edit {arguments['path']}")


async def _planned_edit(context: ToolContext, arguments: Arguments) -> Change:
    change = await change_of(context, str(arguments["path"]))
    if change.refusal is not None:
        return change
    if change.file is None:
        return replace(change, refusal=f"{await absent(context, change.path)}. To make a file use write_file")
    old, new = (_in_manner(change.file, str(arguments[name])) for name in ("old", "new"))
    why = await asyncio.to_thread(_refusal, change.file, old, new)
    return replace(change, content=change.before.replace(old, new) if why is None else "", refusal=why)


async def _edit_file(context: ToolContext, invocation: Invocation) -> ToolOutcome:
    line = _edit_line(invocation.arguments)
    context.turn_context.activity(activity_line(f"editing {invocation.arguments['path']}"))
    change = await _planned_edit(context, invocation.arguments)
    file = change.file
    if change.refusal is not None or file is None:
        return denied(context, change, line)
    at = _line_of(file.content, file.content.index(_in_manner(file, str(invocation.arguments["old"]))))
    written, why = await replaced(context, invocation, change)
    if written is None:
        return ToolOutcome(why, f"{line}: not written", ok=False)
    edited = f"edited {written.path} at line {at}"
    return ToolOutcome(f"{edited}{version_of(written)}{_OTHER_THAN_READ if invocation.changed else ''}", edited)


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
    _edit_line,
    _edit_file,
    lambda context, arguments: previewed(context, arguments, _planned_edit),
)
