"""What a glob of a goal file may be: relative to the workspace, in the syntax of .gitignore, no negation."""

from __future__ import annotations

import re
from collections.abc import Callable

_DRIVE = re.compile(r"^[A-Za-z]:")
_BRACES = re.compile(r"\{[^{}]*,[^{}]*\}")


def glob_problem(glob: str) -> str | None:
    """Why the glob can't be used and what to do, None where it can."""
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


def _is_absolute(glob: str) -> bool:
    return glob.startswith(("/", "~")) or bool(_DRIVE.match(glob))


def _leaves_workspace(glob: str) -> bool:
    return ".." in glob.split("/")


def _unbalanced(glob: str) -> bool:
    """True where a bracket that opens a set of characters is never closed."""
    position = 0
    while (position := glob.find("[", position)) >= 0:
        # A bracket right after the opening one (or after its negation) belongs to the set.
        first = position + 2 if glob[position + 1 : position + 2] in ("!", "^") else position + 1
        closing = glob.find("]", first + 1)
        if closing < 0:
            return True
        position = closing + 1
    return False


def _has_control(glob: str) -> bool:
    return any(ord(character) < 32 or 0xD800 <= ord(character) < 0xE000 for character in glob)


def _has_backslash(glob: str) -> bool:
    return "\\" in glob


def _is_negated(glob: str) -> bool:
    return glob.startswith("!")


def _has_braces(glob: str) -> bool:
    return _BRACES.search(glob) is not None


def _names_root(glob: str) -> bool:
    return plain_glob(glob) in ("", ".")


_FAULTS: tuple[tuple[Callable[[str], bool], str], ...] = (
    (_has_control, "holds a control character: remove it"),
    (_is_absolute, "is absolute: write it relative to the workspace folder"),
    (_has_backslash, "holds a backslash: separate folders with `/`"),
    (_leaves_workspace, "leads out of the workspace: remove `..`"),
    (_is_negated, "starts with `!`: globs can't be negated here"),
    (_unbalanced, "has a `[` that is never closed: add `]`"),
    (_has_braces, "uses braces, which are not expanded: write one glob for each"),
    (_names_root, "names the workspace folder itself: write `**` for all files"),
)
