"""Columns: ours count Unicode code points from 0, a client's count units of the negotiated encoding.

Lines end as LSP says, at \n, \r\n or \r and nowhere else: `str.splitlines` would also cut at form feeds.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from pygls.exceptions import JsonRpcInvalidParams
from pygls.uris import to_fs_path

Encoding = Literal["utf-8", "utf-16", "utf-32"]
DEFAULT_ENCODING: Encoding = "utf-16"
KNOWN_ENCODINGS: tuple[Encoding, ...] = ("utf-8", "utf-16", "utf-32")

_LINE = re.compile(r"\r\n|\n|\r")
_OTHER_ENDS = "\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029"
"""Where `str.splitlines` cuts, and LSP doesn't."""


def choose_encoding(offered: Iterable[object]) -> Encoding:
    """The first of the client's encodings that we know; utf-16 if it names none, as LSP requires."""
    for name in offered:
        for known in KNOWN_ENCODINGS:
            if name == known:
                return known
    return DEFAULT_ENCODING


def split_lines(text: str) -> list[str]:
    """The lines without their ends; a text that ends in a line break has an empty last line."""
    return _LINE.split(text) if "\r" in text else text.split("\n")


def units(text: str, encoding: Encoding) -> int:
    """How many units of `encoding` the text takes."""
    if encoding == "utf-32" or text.isascii():
        return len(text)
    if encoding == "utf-8":
        return len(text.encode("utf-8", "surrogatepass"))
    return len(text) + sum(character > "\uffff" for character in text)


def to_client(line: str, column: int, encoding: Encoding) -> int:
    """Converts our column in `line` to the client's; columns past the end become the end."""
    if line.isascii():
        return max(0, min(column, len(line)))
    return units(line[: max(0, column)], encoding)


def from_client(line: str, character: int, encoding: Encoding) -> int:
    """Converts the client's `character` in `line` to our column.

    Past the end: the end. Within a character: that character's start.
    """
    if encoding == "utf-32" or line.isascii():
        return max(0, min(character, len(line)))
    used = 0
    for column, text in enumerate(line):
        used += units(text, encoding)
        if used > character:
            return column
    return len(line)


def split_keeping_ends(text: str) -> list[str]:
    """The lines with their ends, none of them empty: a text that ends in a line break has no line after it here."""
    if not any(end in text for end in _OTHER_ENDS):
        return text.splitlines(keepends=True)
    ends = [match.end() for match in _LINE.finditer(text)]
    if not ends or ends[-1] < len(text):
        ends.append(len(text))
    return [text[start:end] for start, end in zip([0, *ends], ends, strict=False)]


# From a client's uris to the workspace's paths and back.


@dataclass(frozen=True, slots=True)
class FilePlace:
    """A file in a workspace folder; `path` is relative to `root`, with forward slashes."""

    root: Path
    path: str

    @property
    def absolute(self) -> Path:
        return self.root / self.path


def file_path(uri: str) -> Path | None:
    """The file of a `file:` uri; None for every other scheme."""
    if not uri.startswith("file:"):
        return None
    with contextlib.suppress(ValueError):
        text = to_fs_path(uri)
        return Path(text) if text else None
    return None


def required_path(uri: str, field: str) -> Path:
    """The file of the uri in a command's argument. Raises JsonRpcInvalidParams."""
    path = file_path(uri)
    if path is None or not path.is_absolute():
        raise JsonRpcInvalidParams(f"{field}: {uri!r} is not the uri of a file")
    return path


def path_within(root: Path, uri: str, whose: str) -> str:
    """The path in a workspace folder of the file that a command's argument names. Raises JsonRpcInvalidParams."""
    place = locate(required_path(uri, "uri"), (root,))
    if place is None:
        raise JsonRpcInvalidParams(f"uri: the file is not in the workspace folder of {whose}")
    return place.path


def is_goal_file(path: Path) -> bool:
    """The document selector: GOAL.md and *.goal.md."""
    return path.name == "GOAL.md" or path.name.endswith(".goal.md")


def locate(path: Path, roots: Iterable[Path]) -> FilePlace | None:
    """The file in the innermost of the folders that contain it; None if none does.

    By name, if one does. Else the client and we may name one folder differently, through a link or with different case
    on Windows: then it counts what they really are.
    """
    roots = tuple(roots)
    found = [FilePlace(root, inside) for root in roots if (inside := _path_below(path, root)) is not None]
    if not found:
        with contextlib.suppress(OSError):
            real = path.resolve()
            found = [
                FilePlace(root, inside) for root in roots if (inside := _path_below(real, root.resolve())) is not None
            ]
    return min(found, key=lambda place: len(place.path), default=None)


def _path_below(path: Path, root: Path) -> str | None:
    try:
        return path.relative_to(root).as_posix()
    except ValueError:
        return None
