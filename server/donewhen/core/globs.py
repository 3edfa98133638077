"""Paths of a workspace: the folders that they are in, and globs over them: `*` and `?` within a folder, `**` over
folders, `[...]`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache


def folders_above(path: str) -> Iterator[str]:
    """The folders that a path (posix, relative) is in, from the inside out."""
    while path := path.rpartition("/")[0]:
        yield path


def all_folders(paths: Iterable[str]) -> frozenset[str]:
    """The folders that any of these is in."""
    return frozenset(folder for path in paths for folder in folders_above(path))


def matches(glob: str, path: str) -> bool:
    """True if `path` (posix, relative) matches; a glob that names a folder matches all that it holds."""
    return _pattern(glob).fullmatch(path) is not None


def any_matches(globs: Iterable[str], path: str) -> bool:
    return any(matches(glob, path) for glob in globs)


def literal(path: str) -> str:
    """The glob that matches this path and what is in it, and nothing else."""
    return "".join(f"[{char}]" if char in "*?[" else char for char in path)


@lru_cache(maxsize=1024)
def _pattern(glob: str) -> re.Pattern[str]:
    text = glob.removeprefix("./").rstrip("/")
    out: list[str] = []
    at = 0
    while at < len(text):
        char, size = text[at], 1
        if text.startswith("**/", at):
            piece, size = r"(?:.*/)?", 3
        elif text.startswith("**", at):
            piece, size = r".*", 2
        elif char in "*?":
            piece = r"[^/]*" if char == "*" else r"[^/]"
        elif char == "[" and (end := text.find("]", at + 2)) != -1:
            body = text[at + 1 : end].replace("\\", r"\\").replace("[", r"\[")
            piece, size = f"[{'^' + body[1:] if body[0] == '!' else body}]", end + 1 - at
        else:
            piece = re.escape(char)
        out.append(piece)
        at += size
    return re.compile("".join(out) + r"(?:/.*)?", re.DOTALL)


# --------------------------------------------------------------------------- globs that people write

_DRIVE = re.compile(r"^[A-Za-z]:")
_BRACES = re.compile(r"\{[^{}]*,[^{}]*\}")


def glob_problem(glob: str) -> str | None:
    """Why a glob of a goal file or a setting can't be used and what to do, None if it can: it is relative to the
    workspace, in the syntax of .gitignore, and never negated."""
    if not glob.strip():
        return "the glob is empty: name a file or a pattern such as `src/**`"
    for wrong, why in _FAULTS:
        if wrong(glob):
            return f"the glob `{glob[:80]}` {why}"
    return None


def plain_glob(glob: str) -> str:
    """The glob as it is matched: no leading `./`, no space around it."""
    bare = glob.strip()
    while bare.startswith("./"):
        bare = bare[2:].lstrip("/")
    return bare


def _unbalanced(glob: str) -> bool:
    """True if a bracket that opens a set of characters is never closed."""
    position = 0
    while (position := glob.find("[", position)) >= 0:
        # A bracket right after the opening one (or after its negation) belongs to the set.
        first = position + 2 if glob[position + 1 : position + 2] in ("!", "^") else position + 1
        closing = glob.find("]", first + 1)
        if closing < 0:
            return True
        position = closing + 1
    return False


_FAULTS: tuple[tuple[Callable[[str], bool], str], ...] = (
    (
        lambda glob: any(ord(character) < 32 or 0xD800 <= ord(character) < 0xE000 for character in glob),
        "contains a control character: remove it",
    ),
    (
        lambda glob: glob.startswith(("/", "~")) or bool(_DRIVE.match(glob)),
        "is absolute: write it relative to the workspace folder",
    ),
    (lambda glob: "\\" in glob, "contains a backslash: separate folders with `/`"),
    (lambda glob: ".." in glob.split("/"), "leads out of the workspace: remove `..`"),
    (lambda glob: glob.startswith("!"), "starts with `!`: globs can't be negated here"),
    (_unbalanced, "has a `[` that is never closed: add `]`"),
    (lambda glob: bool(_BRACES.search(glob)), "uses braces, which are not expanded: write one glob for each"),
    (lambda glob: plain_glob(glob) in ("", "."), "names the workspace folder itself: write `**` for all files"),
)
