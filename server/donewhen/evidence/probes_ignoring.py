"""Which lines of `.gitignore`, `.ignore` and `.git/info/exclude` leave out which files, by git's rules."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from posixpath import dirname

from donewhen.regular import read_text

_LEVELS = 12  # folders above the workspace: as far as its repository may begin
_LARGEST = 262_144


@dataclass(frozen=True)
class IgnoreFile:
    """`path` is relative to the workspace, `base` the folder that its lines are about, with `/` at its end.

    For a folder above the workspace, `below` leads from there to the workspace.
    """

    path: str
    text: str
    base: str = ""
    below: str = ""

    def deciding(self, files: Iterable[str]) -> list[int]:
        """The 0-based lines that leave out any of the files; of several lines for a file, the last decides."""
        found: set[int] = set()
        for file in files:
            if not file.startswith(self.base):
                continue
            name = self.below + file[len(self.base) :]
            if self._any.match(name) and (line := self._last(name)) is not None:
                found.add(line)
        return sorted(found)

    def _last(self, name: str) -> int | None:
        for number, ignores, pattern in reversed(self._rules):
            if pattern.match(name):
                return number if ignores else None
        return None

    @cached_property
    def _rules(self) -> list[tuple[int, bool, re.Pattern[str]]]:
        lines = enumerate(self.text.splitlines())
        return [(n, not line.startswith("!"), p) for n, line in lines if (p := _pattern(line)) is not None]

    @cached_property
    def _any(self) -> re.Pattern[str]:
        return re.compile("|".join(p.pattern for _, ignores, p in self._rules if ignores) or r"(?!)", re.DOTALL)


def ignore_files(root: Path, sources: Sequence[str], dot_ignore: bool) -> Iterator[IgnoreFile]:
    """Those that can be about the sources. They are looked for on disk: one may ignore itself."""
    names = (".gitignore", ".ignore") if dot_ignore else (".gitignore",)
    for folder in sorted(_folders(sources)):
        base = f"{folder}/" if folder else ""
        for name in names:
            yield from _read(root / base / name, f"{base}{name}", base)
    above, below, place = "", "", root
    for _ in range(_LEVELS):
        if ".gitignore" in names and (place / ".git").exists():
            yield from _read(_exclude(place / ".git"), f"{above}.git/info/exclude", "", below)
            names = names[1:]  # git's own files end with its repository
        if place.parent == place:
            return
        above, below, place = f"../{above}", f"{place.name}/{below}", place.parent
        for name in names:
            yield from _read(place / name, f"{above}{name}", "", below)


def _read(file: Path, path: str, base: str, below: str = "") -> Iterator[IgnoreFile]:
    try:
        if file.stat().st_size <= _LARGEST:
            yield IgnoreFile(path, read_text(file, "utf-8", "replace"), base, below)
    except OSError:
        return


def _exclude(git: Path) -> Path:
    """Of a repository, or of the one that a worktree's `.git` file belongs to."""
    try:
        if git.is_file():
            git = (git.parent / read_text(git, "utf-8", "replace").removeprefix("gitdir:").strip()).resolve()
        common = git / "commondir"
        if common.is_file():
            git = git / read_text(common, "utf-8", "replace").strip()
    except OSError:
        pass
    return git / "info" / "exclude"


def _folders(sources: Sequence[str]) -> set[str]:
    found = {""}
    for folder in {dirname(path) for path in sources}:
        while folder and folder not in found:
            found.add(folder)
            folder = dirname(folder)
    return found


@lru_cache(maxsize=4096)
def _pattern(line: str) -> re.Pattern[str] | None:
    """Matches a file that the line is about, itself or through a folder that it is in."""
    text = line.rstrip().removeprefix("!")
    if not text or text.startswith("#"):
        return None
    only_folders = text.endswith("/")
    text = text.rstrip("/")
    start = "" if "/" in text else r"(?:.*/)?"
    end = r"/.+" if only_folders else r"(?:/.+)?"
    try:
        return re.compile(f"{start}{_glob(text.lstrip('/'))}{end}\\Z", re.DOTALL)
    except re.error:
        return None


_PART = re.compile(r"\*\*/|/\*\*|\*+|\?|\[!?[^\]]+\]|\\?.", re.DOTALL)


def _glob(text: str) -> str:
    parts: list[str] = []
    for part in _PART.findall(text):
        if part == "**/":
            parts.append(r"(?:.*/)?")
        elif part == "/**":
            parts.append(r"/.*")
        elif part.startswith("*"):
            parts.append(r"[^/]*")
        elif part == "?":
            parts.append(r"[^/]")
        elif part.startswith("[") and len(part) > 1:
            parts.append(f"[^{part[2:]}" if part[1] == "!" else part)
        else:
            parts.append(re.escape(part.removeprefix("\\") or part))
    return "".join(parts)
