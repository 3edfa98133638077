"""This user's folder for files that live as long as a session: the doors of runs."""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path


def runtime_folder(environment: Mapping[str, str], state: Path) -> Path:
    """`donewhen` in the system's runtime folder of this user, else `runtime` in the folder of all state. Creates
    nothing."""
    named = environment.get("XDG_RUNTIME_DIR", "")
    candidates = [Path(named)] if named else []
    if os.name != "nt":
        candidates.append(Path(f"/run/user/{os.getuid()}"))
    for one in candidates:
        with suppress(OSError):
            ours = os.name == "nt" or one.stat().st_uid == os.getuid()
            if ours and one.is_absolute() and one.is_dir() and os.access(one, os.W_OK):
                return one / "donewhen"
    return state / "runtime"


def private_runtime(runtime: Path) -> Path:
    """The folder, made if there is none. Raises OSError if it is not this user's alone."""
    runtime.mkdir(mode=0o700, exist_ok=True, parents=True)
    status = runtime.lstat()
    others = status.st_uid != os.getuid() or status.st_mode & 0o077 if os.name != "nt" else False  # the user's profile
    if others or stat.S_ISLNK(status.st_mode):
        raise PermissionError(f"{runtime} must be yours alone: `chmod go= {runtime}`")
    return runtime
