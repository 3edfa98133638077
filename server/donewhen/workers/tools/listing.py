"""The tools that list the workspace's files and search in them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from donewhen.core.plugging import ToolOutcome
from donewhen.workers.activity import activity_line
from donewhen.workers.tools.arguments import Argument, Arguments
from donewhen.workers.tools.reading import absent
from donewhen.workers.tools.tool import Desk, Job, Tool, counted, refused

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


async def _list_files(desk: Desk, job: Job) -> ToolOutcome:
    arguments = job.arguments
    desk.context.activity(_list_line(arguments))
    folder = desk.files.path(str(arguments.get("path", "")))
    paths = await desk.files.list(folder, arguments.get("glob"))
    if not paths and folder and not await desk.files.list(folder):
        return refused(
            f"{await absent(desk, folder)}. No folder of that name contains files either", _list_line(arguments)
        )
    shown = _bounded(paths[:MAX_FILES], desk.largest)
    rest = len(paths) - len(shown)
    more = [f"[{rest:,} more: narrow it by path or glob]"] if rest else []
    return ToolOutcome(
        "\n".join([f"{counted(len(paths), 'file')}:", *shown, *more]), f"{_list_line(arguments)}: {len(paths):,}"
    )


def _search_line(arguments: Arguments) -> str:
    return activity_line(f"search `{arguments['pattern']}`{_where(arguments)}")


async def _search(desk: Desk, job: Job) -> ToolOutcome:
    arguments = job.arguments
    desk.context.activity(_search_line(arguments))
    folder = desk.files.path(str(arguments.get("path", "")))
    pattern, glob = str(arguments["pattern"]), arguments.get("glob")
    if not pattern:
        return refused("the pattern is empty: send a regular expression", "search nothing")
    found = await desk.files.search(pattern, folder, glob, limit=MAX_HITS)
    shown = _bounded((f"{hit.path}:{hit.line}: {hit.text}" for hit in found.hits), desk.largest)
    cut = found.more or len(shown) < len(found.hits)
    more = ["[more lines match: narrow it by pattern, path or glob]"] if cut else []
    count = f"{counted(len(shown), 'hit')}{', there are more' if cut else ''}"
    return ToolOutcome("\n".join([f"{count}:", *shown, *more]), f"{_search_line(arguments)}: {count}")


def _bounded(lines: Iterable[str], largest: int) -> list[str]:
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
