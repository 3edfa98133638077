"""The tool that reads a file, as an editor has it where somebody edits it right now."""

from __future__ import annotations

import asyncio
import difflib
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import PurePosixPath

from donewhen.core.errors import WorkspaceError
from donewhen.core.plugging import ToolOutcome
from donewhen.core.words import counted
from donewhen.workers.activity import activity_line
from donewhen.workers.tools.tool import (
    Argument,
    Arguments,
    Invocation,
    Tool,
    ToolContext,
    names_of,
    refused,
    version_of,
)

MAX_LINES = 2_000
MAX_TEXT = 60_000
"""Characters of a file that one call gives, at most."""

UNSAVED = (
    "the text in the editor, which is not saved yet: the one on disk differs; you can't change this "
    "file until it is saved"
)

FROM_1 = {"minimum": 1}
PATH = Argument("path", "relative to the workspace's root", aliases=("file_path", "filename", "file"))


def _read_line(arguments: Arguments) -> str:
    return activity_line(f"read {arguments['path']}")


async def _read_file(context: ToolContext, invocation: Invocation) -> ToolOutcome:
    arguments = invocation.arguments
    name = str(arguments["path"])
    path = context.files.path(name)
    context.turn_context.activity(activity_line(f"reading {path}"))
    held = context.unsaved(names_of(name, path))
    file = None if held is not None else await context.files.read(path)
    if file is None and held is None:
        return refused(await absent(context, path), _read_line(arguments))
    if file is not None:
        context.saw(file)
    content = held if held is not None else file.content if file is not None else ""
    note = f"[{UNSAVED}]\n" if held is not None else ""
    first, last = arguments.get("start_line", 1), arguments.get("end_line")
    title, text = _lines_within(content, first, last, min(context.largest, MAX_TEXT))
    version = version_of(file) if file is not None else ""
    return ToolOutcome(f"{path}, {title}{version}:\n{note}{text}", f"read {path}, {title}")


def _lines_within(content: str, first: int, last: int | None, largest: int) -> tuple[str, str]:
    """Which lines are shown, in words, and these."""
    lines = content.split("\n")
    if lines[-1] == "":
        lines.pop()
    total = len(lines)
    if first > max(total, 1) or (last is not None and last < first):
        raise WorkspaceError(f"there are no lines {first} to {last or 'the end'}: the file has {total}")
    end = total if last is None else min(last, total)
    shown = _lines_that_fit(lines[first - 1 : min(end, first - 1 + MAX_LINES)], largest)
    if shown and len(shown[0]) > largest:
        shown[0] = f"{shown[0][:largest]} [{len(shown[0]) - largest:,} more characters in this line]"
    to = first + len(shown) - 1
    more = f"\n[cut here: go on with start_line {to + 1}]" if to < end else ""
    return f"lines {first}-{to} of {total}" if total else "empty", "\n".join(shown) + more


async def absent(context: ToolContext, path: str) -> str:
    """Says that there is no such file, and which ones may have been meant."""
    near = await asyncio.to_thread(_near, path, await context.files.list())
    return f"there is no file {path or '.'}{f'; did you mean {near}?' if near else ''}"


def _near(path: str, paths: Sequence[str]) -> str:
    wanted = PurePosixPath(path)
    same_name = [one for one in paths if one == wanted.name or one.endswith(f"/{wanted.name}")][:3]
    folder = "" if str(wanted.parent) == "." else f"{wanted.parent}/"
    beside = [one for one in paths if one.startswith(folder) and "/" not in one[len(folder) :]][:500]
    close = difflib.get_close_matches(path, beside, n=3, cutoff=0.6)
    return ", ".join(dict.fromkeys([*same_name, *close]))


READ_FILE = Tool(
    "read_file",
    f"Reads a text file of the workspace, at most {MAX_LINES:,} lines at once. The first line of the answer names the "
    "file and the lines; what follows is the text as it is. Read a file before you replace it.",
    (
        PATH,
        Argument("start_line", "the first line, from 1", "integer", False, ("offset",), FROM_1),
        Argument("end_line", "the last line, included", "integer", False, bounds=FROM_1),
    ),
    _read_line,
    _read_file,
)


# The tools that list the workspace's files and search in them.


MAX_FILES = 1_000
MAX_HITS = 200

FOLDER = Argument("path", "a folder or file, relative to the root", needed=False, aliases=("folder", "directory"))
GLOB = Argument(
    "glob", "only paths that match, such as `*.py` or `src/**/*.ts`", needed=False, aliases=("include", "file_pattern")
)


def _where(arguments: Arguments) -> str:
    said = [str(arguments[name]) for name in ("path", "glob") if name in arguments]
    return f" in {' '.join(said)}" if said else ""


def _list_line(arguments: Arguments) -> str:
    return activity_line(f"list files{_where(arguments)}")


async def _list_files(context: ToolContext, invocation: Invocation) -> ToolOutcome:
    arguments = invocation.arguments
    context.turn_context.activity(_list_line(arguments))
    folder = context.files.path(str(arguments.get("path", "")))
    paths = await context.files.list(folder, arguments.get("glob"))
    if not paths and folder and not await context.files.list(folder):
        return refused(
            f"{await absent(context, folder)}. No folder of that name contains files either", _list_line(arguments)
        )
    shown = _lines_that_fit(paths[:MAX_FILES], context.largest)
    rest = len(paths) - len(shown)
    more = [f"[{rest:,} more: narrow it by path or glob]"] if rest else []
    return ToolOutcome(
        "\n".join([f"{counted(len(paths), 'file')}:", *shown, *more]), f"{_list_line(arguments)}: {len(paths):,}"
    )


def _search_line(arguments: Arguments) -> str:
    return activity_line(f"search `{arguments['pattern']}`{_where(arguments)}")


async def _search(context: ToolContext, invocation: Invocation) -> ToolOutcome:
    arguments = invocation.arguments
    context.turn_context.activity(_search_line(arguments))
    folder = context.files.path(str(arguments.get("path", "")))
    pattern, glob = str(arguments["pattern"]), arguments.get("glob")
    if not pattern:
        return refused("the pattern is empty: send a regular expression", "search nothing")
    found = await context.files.search(pattern, folder, glob, limit=MAX_HITS)
    shown = _lines_that_fit((f"{hit.path}:{hit.line}: {hit.text}" for hit in found.hits), context.largest)
    cut = found.more or len(shown) < len(found.hits)
    more = ["[more lines match: narrow it by pattern, path or glob]"] if cut else []
    count = f"{counted(len(shown), 'hit')}{', there are more' if cut else ''}"
    return ToolOutcome("\n".join([f"{count}:", *shown, *more]), f"{_search_line(arguments)}: {count}")


def _lines_that_fit(lines: Iterable[str], largest: int) -> list[str]:
    """The first lines that fit into so many characters, but one at least."""
    shown: list[str] = []
    left = largest
    for line in lines:
        left -= len(line) + 1
        if left < 0 and shown:
            break
        shown.append(line)
    return shown


LIST_FILES = Tool(
    "list_files",
    "Lists the files of the workspace, sorted; ignored files are left out.",
    (FOLDER, GLOB),
    _list_line,
    _list_files,
)
SEARCH = Tool(
    "search",
    "Finds the lines that match a regular expression, as `path:line: text`; ignored files are left out.",
    (
        Argument("pattern", "a regular expression, within one line", aliases=("query", "regex")),
        replace(FOLDER, aliases=(*FOLDER.aliases, "file")),
        GLOB,
    ),
    _search_line,
    _search,
)
