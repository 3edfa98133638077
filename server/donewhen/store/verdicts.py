"""Verdicts that a judge gave before, by the digest of all that it was asked (`ports.proving.VerdictCache`)."""

from __future__ import annotations

import contextlib
import os
import re
from pathlib import Path

from donewhen.ports.proving import VerdictCache
from donewhen.regular import read_text, write_whole

KEPT = 2_000
_KEY = re.compile(r"[0-9a-f]{16,128}")


class FileVerdicts(VerdictCache):
    """One small file for each verdict, in a folder of the state folder; beyond `kept` files, the oldest are deleted."""

    def __init__(self, folder: Path, kept: int = KEPT) -> None:
        self._folder = folder
        self._kept = kept

    def get(self, key: str) -> str | None:
        try:
            return read_text(self._path(key))
        except (OSError, UnicodeDecodeError):
            return None

    def put(self, key: str, text: str) -> None:
        path = self._path(key)
        with contextlib.suppress(OSError):
            self._folder.mkdir(parents=True, exist_ok=True)
            write_whole(path, text)
            with os.scandir(self._folder) as entries:
                known = [entry.path for entry in entries]
            if len(known) > self._kept:
                known.sort(key=lambda one: Path(one).stat().st_mtime_ns)
                for old in known[: len(known) - self._kept]:
                    Path(old).unlink(missing_ok=True)

    def _path(self, key: str) -> Path:
        if _KEY.fullmatch(key) is None:
            raise ValueError(f"a key is a digest in hexadecimal; it is {key!r}")
        return self._folder / key


class MemoryVerdicts(VerdictCache):
    """Keeps verdicts as long as the process lives."""

    def __init__(self) -> None:
        self._known: dict[str, str] = {}

    def get(self, key: str) -> str | None:
        return self._known.get(key)

    def put(self, key: str, text: str) -> None:
        self._known[key] = text
