"""This user's folder for files that live as long as a session: the key that signs requests."""

from __future__ import annotations

import contextlib
import os
import secrets
import stat
from collections.abc import Mapping
from pathlib import Path

from donewhen.regular import read_bytes

KEY_BYTES = 32
_KEY = "requests.key"


def runtime_folder(environment: Mapping[str, str], state: Path) -> Path:
    """`donewhen` in the system's runtime folder of this user, else `runtime` in the folder of all state. Creates
    nothing."""
    named = environment.get("XDG_RUNTIME_DIR", "")
    candidates = [Path(named)] if named else []
    if os.name != "nt":
        candidates.append(Path(f"/run/user/{os.getuid()}"))
    found = next((one for one in candidates if one.is_absolute() and _is_ours(one)), None)
    return state / "runtime" if found is None else found / "donewhen"


def asking_folder(runtime: Path) -> Path:
    """Where a process that asks something of a run keeps a file open while it waits."""
    return runtime / "asking"


def runtime_key(runtime: Path) -> bytes:
    """The key, created if there is none. Raises OSError if the folder, or the key, is not this user's alone."""
    for folder in (runtime, asking_folder(runtime)):
        folder.mkdir(mode=0o700, exist_ok=True, parents=True)
        _refuse_others(folder)
    file = runtime / _KEY
    if not file.exists():
        _make(file)
    _refuse_others(file)
    key = read_bytes(file, KEY_BYTES)
    if len(key) != KEY_BYTES:
        raise OSError(f"{file} is not a key: delete it")
    return key


def _make(file: Path) -> None:
    fresh = file.with_name(f"{_KEY}.{secrets.token_hex(8)}")
    descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o600)
    try:
        with os.fdopen(descriptor, "wb") as opened:
            opened.write(secrets.token_bytes(KEY_BYTES))
        # Written whole or not at all, and the first one wins.
        with contextlib.suppress(FileExistsError):
            fresh.rename(file) if os.name == "nt" else os.link(fresh, file)
    finally:
        fresh.unlink(missing_ok=True)


def _refuse_others(path: Path) -> None:
    if os.name == "nt":
        return  # the folder of the user's own profile
    status = path.lstat()
    if status.st_uid != os.getuid() or status.st_mode & 0o077 or stat.S_ISLNK(status.st_mode):
        raise PermissionError(f"{path} must be yours alone: `chmod go= {path}`")


def _is_ours(folder: Path) -> bool:
    try:
        return (
            folder.is_dir() and (os.name == "nt" or folder.stat().st_uid == os.getuid()) and os.access(folder, os.W_OK)
        )
    except OSError:
        return False
