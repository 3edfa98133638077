"""The tool that writes whole files, and what it has in common with the one that edits them: it overwrites nothing that
the model has not seen, and nothing that a person is editing right now."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from donewhen.core.approval import NOT_WRITTEN
from donewhen.core.errors import ChangedMeanwhile, WorkspaceError
from donewhen.core.feedback import MASK, keep_ends
from donewhen.core.plugging import ToolOutcome
from donewhen.ports import FileText
from donewhen.workers.activity import activity_line
from donewhen.workers.tools.arguments import Argument, Arguments
from donewhen.workers.tools.guarding import protected, sensitive, shown
from donewhen.workers.tools.reading import PATH
from donewhen.workers.tools.tool import Ahead, Desk, Job, Leave, Tool, counted, names_of, refused

HEAD = 1_500
HOLDS_NOW = "It holds now:"


@dataclass(frozen=True, slots=True)
class Standing:
    """A file that is to be changed, as it stands on disk; `refusal` says why it may not be, None if it may: `moved`,
    because it is another one than the model knows. `sensitive` says why a person has to allow it."""

    path: str
    file: FileText | None
    refusal: str | None = None
    moved: bool = False
    sensitive: str = ""


@dataclass(frozen=True, slots=True)
class Change:
    """What a call would make of a file; `refusal` says why nothing is made of it, None if something is."""

    now: Standing
    content: str = ""
    refusal: str | None = None

    @property
    def before(self) -> str:
        return self.now.file.content if self.now.file else ""

    @property
    def needless(self) -> bool:
        return self.now.file is not None and self.now.file.content == self.content


async def standing(desk: Desk, name: str) -> Standing:
    """What is there now, and whether it may be changed: not what is protected, not what an editor holds unsaved,
    and not what has changed since the model read it; it is told what stands there instead."""
    path = desk.files.path(name)
    names = names_of(name, path)
    why = protected(desk, names)
    if why is not None:
        return Standing(path, None, why)
    held = desk.unsaved(names)
    if held is not None:
        return Standing(path, None, _held(desk, path, held))
    file = await desk.files.read(path)
    moved = _moved(desk, path, file)
    return Standing(path, file, moved, moved is not None, sensitive(desk, names))


async def look(desk: Desk, arguments: Arguments, plan: Callable[[Desk, Arguments], Awaitable[Change]]) -> Ahead:
    """What a person has to see of a change before it is made. Nothing is read for one that nobody has to allow, and
    there is nothing to ask about where nothing would be changed."""
    try:
        name = str(arguments["path"])
        if not sensitive(desk, names_of(name, desk.files.path(name))):
            return Ahead()
        change = await plan(desk, arguments)
    except WorkspaceError:
        return Ahead()
    now = change.now
    if change.refusal is not None or change.needless:
        return Ahead()
    leave = Leave(now.path, now.file.digest if now.file else None)
    return Ahead(await shown(now.path, change.before, change.content), now.sensitive, leave)


def turned_down(desk: Desk, change: Change, line: str) -> ToolOutcome:
    """Tells why nothing was changed. A file that moved is known as it stands from here on."""
    now = change.now
    if now.moved and now.file is not None:
        desk.saw(now.file)
    elif now.moved:
        desk.known.pop(now.path, None)
    return refused(change.refusal or "nothing was changed", line)


async def replaced(desk: Desk, job: Job, change: Change) -> tuple[FileText | None, str]:
    """Writes the new text, if that needs no permission or a person saw exactly this file. Returns None, and why, if it
    was not written."""
    now, content = change.now, change.content
    why = _without_leave(desk, now, job.leave)
    if why is not None:
        return None, why
    if _loses_secrets(desk, change.before, content):
        return None, f"error: {now.path} was not written. {_SECRETS}"
    try:
        written = await desk.files.write(now.path, content, now.file)
    except ChangedMeanwhile as changed_meanwhile:
        return None, _just_changed(desk, now.path, changed_meanwhile.current)
    desk.saw(written)
    return written, ""


def _without_leave(desk: Desk, now: Standing, leave: Leave | None) -> str | None:
    """Why a change that needs permission is not made: the person was asked about something else."""
    if not now.sensitive:
        return None
    if leave is None or leave.path != now.path:
        return (
            f"{NOT_WRITTEN} {now.path} may be changed only with a person's permission, and nobody was asked about this "
            "change. Send the call once more"
        )
    if leave.digest != (now.file.digest if now.file else None):
        return _just_changed(desk, now.path, now.file.content if now.file else None)
    return None


def _just_changed(desk: Desk, path: str, current: str | None) -> str:
    desk.known.pop(path, None)
    return f"error: {path} changed just now and was not written. {_shown(desk, current)}"


def _loses_secrets(desk: Desk, before: str, content: str) -> bool:
    """Whether the mask would be written over a secret: the model copies what it was shown, and was never shown that."""
    return content.count(MASK) > before.count(MASK) and desk.mask(before) != before


def _moved(desk: Desk, path: str, file: FileText | None) -> str | None:
    known = desk.known.get(path)
    if known is None or (file is not None and file.digest == known):
        return None
    if file is None:
        return f"{path} was deleted since you read it. If it should exist again, send the call once more"
    return f"{path} changed since you read it, and was not written. {_shown(desk, file.content)}"


def _held(desk: Desk, path: str, text: str) -> str:
    return (
        f"a person has unsaved changes to {path} in an editor; it was not written. Work on something else, or report "
        f"a question. The text in the editor is:\n{keep_ends(text, desk.largest)}"
    )


def _shown(desk: Desk, current: str | None) -> str:
    if current is None:
        return "There is no such file now"
    return f"Check whether your change still fits, then send it again. {HOLDS_NOW}\n{keep_ends(current, desk.largest)}"


def _line(arguments: Arguments) -> str:
    return activity_line(f"write {arguments['path']}")


async def _planned(desk: Desk, arguments: Arguments) -> Change:
    content = str(arguments["content"])
    now = await standing(desk, str(arguments["path"]))
    if now.refusal is None and now.file is not None and now.path not in desk.known:
        return Change(now, content, _unread(now.file))
    return Change(now, content, now.refusal)


async def _look(desk: Desk, arguments: Arguments) -> Ahead:
    return await look(desk, arguments, _planned)


async def _write_file(desk: Desk, job: Job) -> ToolOutcome:
    line = _line(job.arguments)
    desk.context.activity(activity_line(f"writing {job.arguments['path']}"))
    change = await _planned(desk, job.arguments)
    if change.refusal is not None:
        return turned_down(desk, change, line)
    now = change.now
    if change.needless:
        return ToolOutcome(f"{now.path} holds exactly that already; nothing was written", line)
    written, why = await replaced(desk, job, change)
    if written is None:
        return ToolOutcome(why, f"{line}: not written", ok=False)
    wrote = f"{'wrote' if now.file else 'made'} {now.path}, {_lines(written)}"
    return ToolOutcome(f"{wrote}{_OTHER if job.changed else ''}", wrote)


def _unread(file: FileText) -> str:
    return (
        f"{file.path} already exists, and you have not read it: read it first, then replace it or edit a part. It "
        f"has {_lines(file)} and begins:\n{file.content[:HEAD]}"
    )


_SECRETS = (
    f"It contains a secret, which is shown to you as {MASK}, and writing that would replace the secret. Leave those "
    "lines alone: "
    "change the others with edit_file"
)
_OTHER = "\nIts text is not the one that you sent: a person changed it when they allowed it. Read it before you go on"


def _lines(file: FileText) -> str:
    return counted(file.content.count("\n") + (not file.content.endswith("\n") and bool(file.content)), "line")


WRITE_FILE = Tool(
    "write_file",
    "Creates a text file, or replaces all of one that you have read; missing folders are created. To change "
    "a part of a "
    "file use edit_file. A file that changed since you read it is not written, and you get its current text.",
    (PATH, Argument("content", "the whole new text", aliases=("text", "contents"))),
    _line,
    _write_file,
    _look,
)
