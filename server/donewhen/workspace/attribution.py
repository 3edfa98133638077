"""Who wrote what is on disk: what the editor saved last, what changed after a moment, and what checks write."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from donewhen.workspace.manifest import FileEntry, Manifest

_BOM = b"\xef\xbb\xbf"


class ClientSaves:
    """What the client last saved for each file, whatever its line ends and encoding mark on the disk."""

    def __init__(self) -> None:
        self._digests: dict[str, bytes] = {}

    def note(self, path: str, text: str) -> None:
        """The editor saved this text."""
        self._digests[path] = _plain_digest(text.encode("utf-8", "surrogatepass"))

    def __contains__(self, path: str) -> bool:
        return path in self._digests

    def holds(self, path: str, content: bytes) -> bool:
        """Whether the content is what the client last saved."""
        return path in self._digests and self._digests[path] == _plain_digest(content)


def _plain_digest(content: bytes) -> bytes:
    plain = content.removeprefix(_BOM).replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    return hashlib.sha256(plain).digest()


def changed_after(root: Path, at: float, paths: Sequence[str]) -> tuple[str, ...]:
    """Those of `paths` that changed on disk after the epoch time `at`: mtime can be set back, ctime can't."""
    return tuple(path for path in paths if _last_change(root, path) > at)


def _last_change(root: Path, path: str) -> float:
    place = root / path
    try:
        status = place.lstat()
    except OSError:
        # The file is gone: its folder, or the nearest existing one above it, changed at that moment.
        while place not in (root, place.parent):
            place = place.parent
            with suppress(OSError):
                return place.lstat().st_mtime
        return 0.0
    return max(status.st_mtime, status.st_ctime) if os.name != "nt" else status.st_mtime


# Files that a check rewrites each time: which may count as its output, and what then stands for their content.


_SUFFIXES = """
.py .pyi .pyx .pth .ipynb .js .jsx .mjs .cjs .ts .tsx .mts .cts .vue .svelte .go .rs .c .h .cc .hh .cpp .hpp .cxx .m
.mm .java .kt .kts .scala .groovy .rb .erb .php .pl .pm .lua .r .jl .swift .cs .fs .vb .dart .ex .exs .erl .hs .ml
.mli .clj .elm .zig .nim .sh .bash .zsh .fish .ps1 .bat .cmd .sql .proto .graphql .css .scss .toml .cfg .ini .conf
.json .jsonc .json5 .yaml .yml .lock .mod .sum .gradle .properties .mk .cmake .bazel .bzl .nix .tf .env .md .rst .ambr
.snap
"""
_NAMES = """
makefile gnumakefile justfile dockerfile containerfile rakefile gemfile procfile vagrantfile jenkinsfile cmakelists.txt
build workspace conftest.py requirements.txt constraints.txt go.mod go.sum
"""
_SOURCE_SUFFIXES = frozenset(_SUFFIXES.split())
_SOURCE_NAMES = frozenset(_NAMES.split())


_REPORT_SUFFIXES = frozenset({".json", ".md", ".yaml", ".yml"})
_REPORT = re.compile(r"report|coverage|result|junit|timing|duration|benchmark|metrics|stats|summary|output")
"""Formats of both configuration and reports: a report's name says that it is one."""


def looks_like_source(path: str) -> bool:
    """Whether a path is source or configuration by its name: such a file is never a check's output."""
    name = path.rpartition("/")[2].lower()
    dot = name.rfind(".")
    if name in _SOURCE_NAMES or (name.startswith(".") and dot == 0):
        return True
    if dot < 0 or name[dot:] not in _SOURCE_SUFFIXES:
        return False
    return not (name[dot:] in _REPORT_SUFFIXES and _REPORT.search(name[:dot]))


Written = tuple[str, bytes]
"""The id of the check that wrote a file, and the digest of what it wrote."""


class Outputs:
    """The content that a check, running alone, last wrote to each of its output files."""

    def __init__(self, written: Mapping[str, Written] | None = None) -> None:
        self._written: dict[str, Written] = dict(written or {})

    @property
    def written(self) -> Mapping[str, Written]:
        """What was last written, by path."""
        return dict(self._written)

    def attributed(self, path: str, entry: FileEntry) -> FileEntry:
        """The entry as it counts: by the check's token while its content is what that check last wrote."""
        written = self._written.get(path)
        if written is None or written[1] != entry.digest:
            return entry if entry.counted == entry.digest else entry._replace(counted=entry.digest)
        return entry._replace(counted=f"output-of:{written[0]}".encode())

    def recounted(self, manifest: Manifest) -> Manifest:
        """The manifest with each declared file counted again."""
        found = {path: manifest.get(path) for path in self._written}
        return manifest.with_entries({path: self.attributed(path, entry) for path, entry in found.items() if entry})

    def declare(
        self,
        check_id: str,
        paths: Sequence[str],
        may: Callable[[str], bool],
        read: Callable[[str], FileEntry | None],
    ) -> tuple[Mapping[str, FileEntry | None], tuple[str, ...]]:
        """Declares present content to be the check's output; returns the changed entries, and the refused paths."""
        entries: dict[str, FileEntry | None] = {}
        refused: list[str] = []
        for path in paths:
            if looks_like_source(path) or not may(path):
                refused.append(path)
                continue
            entry = read(path)
            if entry is None:
                self._written.pop(path, None)
            else:
                self._written[path] = (check_id, entry.digest)
                entry = self.attributed(path, entry)
            entries[path] = entry
        return entries, tuple(refused)
