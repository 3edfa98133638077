"""The state of a long run, as its entries added up to it: who reads the run goes on from there.

A snapshot is a cache. It counts only if it is as it was written, after an entry that is, by the same code: else all
entries are read, as if there were none.
"""

from __future__ import annotations

import hashlib
import json
from functools import cache
from pathlib import Path
from typing import cast

from donewhen.core.shapes import ShapeError, shape_of
from donewhen.core.state import RunState
from donewhen.regular import read_bytes
from donewhen.store.codec import CODEC_VERSION

FOLDED_BY = "core"
"""The package that decides what entries add up to."""


@cache
def fold_version() -> str:
    """Differs for each version of the code that folds, released or not."""
    package = Path(__file__).parents[1]
    digest = hashlib.sha256(str(CODEC_VERSION).encode())
    for file in sorted((package / FOLDED_BY).rglob("*.py")):
        digest.update(file.relative_to(package).as_posix().encode() + b"\0")
        digest.update(hashlib.sha256(read_bytes(file)).digest())
    return digest.hexdigest()


def write_state(state: RunState) -> bytes:
    """Raises ValueError for a state that couldn't be read back."""
    return json.dumps(shape_of(RunState).write(state), allow_nan=False, separators=(",", ":")).encode("ascii")


def read_state(body: bytes) -> RunState | None:
    """None for what isn't a state."""
    try:
        return cast("RunState", shape_of(RunState).read(json.loads(body)))
    except (ShapeError, ValueError, TypeError, RecursionError):
        return None
