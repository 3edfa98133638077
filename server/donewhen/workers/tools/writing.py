"""The tool that writes whole files, and what it has in common with the one that edits them: nothing is overwritten
that the model has not seen, and nothing that a person edits right now (A20)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from donewhen.core.errors import ChangedMeanwhile
from donewhen.core.feedback import MASK, keep_ends
from donewhen.ports import FileText
from donewhen.workers.activity import activity_line
from donewhen.workers.tools.arguments import Argument, Arguments
from donewhen.workers.tools.guarding import allowed, asks, protected
from donewhen.workers.tools.reading import PATH
from donewhen.workers.tools.tool import Desk, Tool, ToolResult, counted, names_of, refused

HEAD = 1_500


@dataclass(frozen=True, slots=True)
class Standing:
    """A file that is to be changed, as it stands on disk; `refusal` says why it may not be, None where it may. `asks`
    says that a person has to allow it."""

    path: str
    file: FileText | None
    refusal: str | None = None
    asks: bool = False


async def standing(desk: Desk, name: str) -> Standing:
    """What stands there now, and whether it may be changed: not what is protected, not what an editor holds unsaved,
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
    return Standing(path, file, _moved(desk, path, file), asks(desk, names))


async def replaced(
    desk: Desk, tool: str, given: Mapping[str, Any], now: Standing, content: str
) -> tuple[FileText | None, str]:
    """Writes the new text, with a person's leave where that is needed. None, and why, where it was not written."""
    before = now.file.content if now.file else ""
    if now.asks:
        leave = await allowed(desk, tool, given, now.path, before, content)
        if not leave.given:
            return None, f"not written: {leave.told}"
        changed = _edited(leave.edited, given, before, content)
        if changed is None:
            return None, "not written: the person changed the edit to one that does not apply; read the file again"
        content = changed
    if _loses_secrets(desk, before, content):
        return None, f"error: {now.path} was not written. {_SECRETS}"
    try:
        written = await desk.files.write(now.path, content, now.file)
    except ChangedMeanwhile as changed_meanwhile:
        desk.known.pop(now.path, None)
        current = changed_meanwhile.current
        return None, f"error: {now.path} changed just now and was not written. {_shown(desk, current)}"
    desk.saw(written)
    return written, ""


def _loses_secrets(desk: Desk, before: str, content: str) -> bool:
    """Whether the mask would be written over a secret: the model copies what it was shown, and was never shown that."""
    return content.count(MASK) > before.count(MASK) and desk.mask(before) != before


def _edited(edited: Mapping[str, Any] | None, given: Mapping[str, Any], before: str, content: str) -> str | None:
    """The text with what the person made of the call; None where that can't be applied."""
    if edited is None:
        return content
    if not set(edited) & set(given):
        return None  # what they meant can't be told, and what stood there they did not let through
    call = {**given, **edited}
    if isinstance(call.get("content"), str):
        return str(call["content"])
    old, new = call.get("old"), call.get("new")
    if isinstance(old, str) and isinstance(new, str) and old and before.count(old) == 1:
        return before.replace(old, new)
    return None


def _moved(desk: Desk, path: str, file: FileText | None) -> str | None:
    known = desk.known.get(path)
    if known is None or (file is not None and file.digest == known):
        return None
    if file is None:
        del desk.known[path]
        return f"{path} was deleted since you read it. If it is to be there again, send the call once more"
    desk.saw(file)
    return f"{path} changed since you read it, and was not written. {_shown(desk, file.content)}"


def _held(desk: Desk, path: str, text: str) -> str:
    return (
        f"a person has unsaved changes of {path} in an editor; it was not written. Work on something else, or report "
        f"a question. The text in the editor is:\n{keep_ends(text, desk.largest)}"
    )


def _shown(desk: Desk, current: str | None) -> str:
    if current is None:
        return "There is no such file now"
    return f"Look whether your change still fits, then send it again. It holds now:\n{keep_ends(current, desk.largest)}"


def _line(arguments: Arguments) -> str:
    return activity_line(f"write {arguments['path']}")


async def _write_file(desk: Desk, arguments: Arguments) -> ToolResult:
    name, content = str(arguments["path"]), str(arguments["content"])
    desk.context.activity(activity_line(f"writing {name}"))
    now = await standing(desk, name)
    if now.refusal is not None:
        return refused(now.refusal, _line(arguments))
    if now.file is not None and now.path not in desk.known:
        return refused(_unread(now.file), _line(arguments))
    if now.file is not None and now.file.content == content:
        return ToolResult(f"{now.path} holds exactly that already; nothing was written", _line(arguments))
    given = {"path": now.path, "content": content}
    written, why = await replaced(desk, "write_file", given, now, content)
    if written is None:
        return ToolResult(why, f"{_line(arguments)}: not written", ok=False)
    verb = "wrote" if now.file else "made"
    return ToolResult(_told(verb, written, content), f"{verb} {now.path}, {_lines(written)}")


def _unread(file: FileText) -> str:
    return (
        f"{file.path} is there already, and you have not read it: read it first, then replace it or edit a part. It "
        f"has {_lines(file)} and begins:\n{file.content[:HEAD]}"
    )


def _told(verb: str, written: FileText, wanted: str) -> str:
    other = "" if written.content == wanted.replace("\r\n", "\n") or written.content == wanted else _OTHER
    return f"{verb} {written.path}, {_lines(written)}{other}"


_SECRETS = (
    f"It holds a secret, which you are shown as {MASK}, and that would stand in its place. Leave those lines alone: "
    "change the others with edit_file"
)
_OTHER = "\nIts text is not the one that you sent: a person changed it when they allowed it. Read it before you go on"


def _lines(file: FileText) -> str:
    return counted(file.content.count("\n") + (not file.content.endswith("\n") and bool(file.content)), "line")


WRITE_FILE = Tool(
    "write_file",
    "Makes a text file, or replaces all of one that you have read; missing folders are made. To change a part of a "
    "file use edit_file. A file that changed since you read it is not written, and you get its present text.",
    (PATH, Argument("content", "the whole new text", aliases=("text", "contents"))),
    _line,
    _write_file,
)
