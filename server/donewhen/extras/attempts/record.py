"""What is kept of attempts at a goal: which group they are, where each works, and which run is its own.

A group is a folder of the workspace's own state folder, with a file that says what is in it. How far an attempt came is
on record in its own ledger, and nowhere here.
"""

from __future__ import annotations

import json
import os
import re
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from donewhen.core.errors import LedgerUnavailable
from donewhen.extras.attempts.choosing import KEEPS, Keep
from donewhen.regular import read_text, write_whole
from donewhen.store.folders import workspace_kept_in

FOLDER = "attempts"
FILE = "group.json"
LOCK = "group.lock"
_ID = re.compile(r"[0-9a-f]{6}")


@dataclass(frozen=True, slots=True)
class Attempt:
    """One attempt: `root` is the folder that it works on, a workspace like any other, and `base` the checkpoint of it
    before any work. `worker` and `model` are those that it was given apart from the others, `options` all that it
    starts with, as JSON; `error` says why it didn't start."""

    number: int
    root: Path
    base: str
    run_id: str | None = None
    worker: str | None = None
    model: str | None = None
    error: str | None = None
    options: Mapping[str, Any] = field(default_factory=dict[str, Any])


@dataclass(frozen=True, slots=True)
class Group:
    """Attempts at one goal that began together, at `began` (epoch seconds). `applied` is the number of the attempt
    whose changes are in the workspace, and `proven` whether the goal was proven there afterwards."""

    id: str
    folder: Path
    goal_path: str
    keep: Keep
    began: float
    attempts: tuple[Attempt, ...] = ()
    applied: int | None = None
    proven: bool = False

    def attempt(self, number: int) -> Attempt | None:
        return next((one for one in self.attempts if one.number == number), None)

    def having(self, attempt: Attempt) -> Group:
        """The group with that attempt in place of the one of its number."""
        return replace(self, attempts=tuple(attempt if one.number == attempt.number else one for one in self.attempts))


class Groups:
    """The groups of one workspace, whose state is in `folder`."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder / FOLDER

    def new(self, goal_path: str, keep: Keep, began: float) -> Group:
        """A group of a new id, whose folder exists and whose record doesn't yet. Raises LedgerUnavailable."""
        try:
            self._folder.mkdir(mode=0o700, exist_ok=True)
            while True:
                name = secrets.token_hex(3)
                folder = self._folder / name
                if not folder.exists():
                    folder.mkdir(mode=0o700)
                    return Group(name, folder, goal_path, keep, began)
        except OSError as error:
            raise LedgerUnavailable(f"attempts can't be kept in {self._folder} ({error.strerror})") from error

    def keep(self, group: Group) -> None:
        """Writes the record, whole or not at all. Raises LedgerUnavailable."""
        document = asdict(replace(group, folder=Path()))
        del document["folder"]
        try:
            write_whole(group.folder / FILE, json.dumps(document, default=os.fspath) + "\n")
        except OSError as error:
            raise LedgerUnavailable(f"attempts can't be kept in {group.folder} ({error.strerror})") from error

    def all(self) -> Sequence[Group]:
        """The groups on record, the newest first; those whose record can't be read are `damaged`."""
        found = [group for folder in self._folders() if (group := _read_group(folder)) is not None]
        return sorted(found, key=lambda one: one.began, reverse=True)

    def strays(self) -> Sequence[Path]:
        """Folders of groups that have no record yet: they were cut off while they were made."""
        return [folder for folder in self._folders() if not os.path.lexists(folder / FILE)]

    def damaged(self) -> Sequence[Path]:
        """Folders of groups whose record is there and can't be read, such as one of a later version: there may be work
        in them, which a person looks at."""
        recorded = [folder for folder in self._folders() if os.path.lexists(folder / FILE)]
        return [folder for folder in recorded if _read_group(folder) is None]

    def _folders(self) -> list[Path]:
        try:
            return [folder for folder in sorted(self._folder.iterdir()) if _ID.fullmatch(folder.name)]
        except OSError:
            return []


def group_of_copy(root: Path) -> tuple[Group, Path] | None:
    """The group whose attempt works in that folder, and the workspace that it is a group of; None if none is known."""
    root = root.resolve()
    for folder in root.parents:
        if folder.parent.name != FOLDER or not _ID.fullmatch(folder.name):
            continue
        group, workspace = _read_group(folder), workspace_kept_in(folder.parents[1])
        if group is not None and workspace is not None and root in (one.root for one in group.attempts):
            return group, workspace
    return None


def _read_group(folder: Path) -> Group | None:
    try:
        held: dict[str, Any] = json.loads(read_text(folder / FILE, "utf-8", "surrogateescape"))
        kept: list[dict[str, Any]] = held.pop("attempts")
        attempts = tuple(Attempt(root=Path(one.pop("root")), **one) for one in kept)
        group = Group(**held, folder=folder, attempts=attempts)
    except (OSError, ValueError, TypeError, KeyError):
        return None
    return group if group.keep in KEEPS else None
