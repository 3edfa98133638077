"""Where the state of Done When lives: outside every workspace, where no worker may write (invariant 9)."""

from __future__ import annotations

import hashlib
import json
import os
import re
from contextlib import closing
from pathlib import Path

from donewhen.core.errors import LedgerUnavailable
from donewhen.regular import read_text, write_whole

WORKSPACE_FILE = "workspace.json"
LEDGER_FILE = "ledger.sqlite"
TREES = "checkpoints"
"""The folder of a workspace's kept trees, and of what its results were made of."""


def state_folder(override: Path | None = None) -> Path:
    """The folder of all of this user's state, or `override`; created with mode 0700. Raises LedgerUnavailable."""
    return private_folder(_state_path(override))


def _state_path(override: Path | None) -> Path:
    if override is not None:
        return override.expanduser().absolute()
    # platformdirs is needed only if no folder was configured.
    from platformdirs import user_state_path

    try:
        return user_state_path("donewhen", appauthor=False)
    except RuntimeError as error:
        raise LedgerUnavailable(
            "this user has no home folder to keep runs in: set HOME, or name a state folder",
            typed=" (--state-dir)",
        ) from error


def workspace_folder(state: Path, root: Path) -> Path:
    """The folder of one workspace's state; its `workspace.json` names the workspace. Raises LedgerUnavailable.

    Every spelling of the same path (relative, through a symbolic link) gives the same folder.
    """
    resolved = root.resolve()
    folder = private_folder(state / "workspaces" / _folder_name(resolved))
    file, text = folder / WORKSPACE_FILE, json.dumps({"root": str(resolved)}) + "\n"
    try:
        if file.exists() and read_text(file, "utf-8", "replace") == text:  # one that was damaged is written anew
            return folder
        write_whole(file, text)
    except OSError as error:
        raise LedgerUnavailable(f"the state folder {folder} can't be written: {error}") from error
    return folder


def has_record(root: Path, override: Path | None = None) -> bool:
    """True if runs of that folder are on record, even if the folder itself is gone; also true if only really opening
    the ledger could tell. Creates nothing."""
    file = ledger_file(kept_folder(root, override))
    try:
        return file.is_file() and _holds_a_run(file)
    except PermissionError:
        return True


def may_be_written(folder: Path) -> bool:
    """True unless something permanent prevents writing to a workspace's state; a full disk, for example, may pass."""
    return all(os.access(place, os.W_OK) for place in (folder.parents[1], folder, ledger_file(folder)))


def kept_folder(root: Path, override: Path | None = None) -> Path:
    """Where the state of a workspace is, if there is any. Creates nothing."""
    return _state_path(override) / "workspaces" / _folder_name(root.resolve())


def _holds_a_run(file: Path) -> bool:
    import sqlite3  # lazy: most callers open the ledger itself next

    try:
        with closing(sqlite3.connect(f"{file.absolute().as_uri()}?mode=ro", uri=True, timeout=0)) as connection:
            return connection.execute("SELECT 1 FROM runs LIMIT 1").fetchone() is not None
    except sqlite3.Error:
        return True


def folders_below(state: Path, place: Path) -> list[Path]:
    """The folders of the workspaces that are, or were, in `place`."""
    found: list[Path] = []
    for file in sorted((state / "workspaces").glob(f"*/{WORKSPACE_FILE}")):
        root = workspace_kept_in(file.parent)
        if root is not None and root.is_relative_to(place):
            found.append(file.parent)
    return found


def workspace_kept_in(folder: Path) -> Path | None:
    """The workspace whose state is in `folder`; None if that can't be read there."""
    try:
        return Path(json.loads(read_text(folder / WORKSPACE_FILE))["root"])
    except (OSError, ValueError, TypeError, KeyError):
        return None


def ledger_file(folder: Path) -> Path:
    """The ledger of the workspace whose state is in `folder`."""
    return folder / LEDGER_FILE


def private_folder(path: Path) -> Path:
    """Creates a folder and its missing parents for this user alone. Raises LedgerUnavailable with what to do."""
    try:
        # Parents too: the `parents` option of mkdir would give them the default permissions.
        for folder in reversed((path, *path.parents)):
            if not folder.is_dir():
                folder.mkdir(mode=0o700, exist_ok=True)
        if not os.access(path, os.W_OK | os.X_OK):
            raise PermissionError(f"no permission to write to {path}")  # one message for all causes
    except OSError as error:
        raise LedgerUnavailable(
            f"the state folder {path} can't be used: {_hindrance(path, error)}; choose another state folder",
            typed=" (--state-dir)",
        ) from error
    return path


def _hindrance(path: Path, error: OSError) -> str:
    """The cause in words: the system's own message mentions a file or folder without naming it."""
    nearest = next((one for one in (path, *path.parents) if os.path.lexists(one)), path)
    if not nearest.is_dir():
        return f"{nearest} is {'a file' if nearest.is_file() else 'not a folder'}"
    if not os.access(nearest, os.W_OK | os.X_OK):
        return f"you may not write to {nearest}"
    return f"nothing can be created in {nearest} ({error.strerror or error})"


def _folder_name(root: Path) -> str:
    """A readable name that differs for every root."""
    # Equal paths on Windows may differ in case.
    digest = hashlib.sha256(os.path.normcase(root).encode("utf-8", "surrogateescape")).hexdigest()[:16]
    readable = re.sub(r"[^A-Za-z0-9._-]+", "-", root.name or "root").strip(".-")[:40] or "x"
    return f"{readable}-{digest}"
