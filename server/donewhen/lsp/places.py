"""From a client's uris to the workspace's paths and back."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from pygls.exceptions import JsonRpcInvalidParams
from pygls.uris import to_fs_path


@dataclass(frozen=True, slots=True)
class Place:
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
    """The file of a uri that a command was given. Raises JsonRpcInvalidParams."""
    path = file_path(uri)
    if path is None or not path.is_absolute():
        raise JsonRpcInvalidParams(f"{field}: {uri!r} is not the uri of a file")
    return path


def is_goal_file(path: Path) -> bool:
    """The document selector: GOAL.md and *.goal.md."""
    return path.name == "GOAL.md" or path.name.endswith(".goal.md")


def locate(path: Path, roots: Iterable[Path]) -> Place | None:
    """The file in the innermost of the folders that holds it; None if none does."""
    found = [place for root in roots if (place := _within(path, root)) is not None]
    return min(found, key=lambda place: len(place.path), default=None)


def _within(path: Path, root: Path) -> Place | None:
    with contextlib.suppress(ValueError):
        return Place(root, path.relative_to(root).as_posix())
    # The client and we may name one folder differently: through a link, or in another case on Windows.
    with contextlib.suppress(ValueError, OSError):
        return Place(root, path.resolve().relative_to(root.resolve()).as_posix())
    return None
