"""Files that somebody else owns: a user namespace maps one user and one group, and an overlay refuses to change what
belongs to any other."""

from __future__ import annotations

import os
from pathlib import Path

SHOWN = 3


def others_files(root: Path) -> str:
    """What to know of them, a sentence; empty if everything in the folder is this user's and their group's. It looks
    at every file: a second for some 100,000."""
    user, group = os.geteuid(), os.getegid()
    found: list[str] = []
    left = [str(root)]
    while left:
        try:
            with os.scandir(left.pop()) as entries:
                for entry in entries:
                    status = entry.stat(follow_symlinks=False)
                    if (status.st_uid, status.st_gid) != (user, group):
                        found.append(entry.path)
                    if entry.is_dir(follow_symlinks=False):
                        left.append(entry.path)
        except OSError:
            continue  # what can't be looked at is nobody's to change
    if not found:
        return ""
    shown = ", ".join(sorted(Path(path).relative_to(root).as_posix() for path in found)[:SHOWN])
    more = f" and {len(found) - SHOWN} more" if len(found) > SHOWN else ""
    return (
        "files that belong to another user or group can't be changed in the rooms in which checks are tried: "
        f"{shown}{more}. A check that writes to them proves nothing there; if one does, `chown` them"
    )
