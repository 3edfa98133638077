"""What lies at a path. What can't even be looked at isn't there: `pathlib` raises then."""

from __future__ import annotations

import os
from pathlib import Path


def is_there(place: Path) -> bool:
    return os.path.exists(place)  # noqa: PTH110


def is_folder(place: Path) -> bool:
    return os.path.isdir(place)  # noqa: PTH112


def is_file(place: Path) -> bool:
    return os.path.isfile(place)  # noqa: PTH113


def is_link(place: Path) -> bool:
    return os.path.islink(place)  # noqa: PTH114
