"""What linters pass over although they checked it before: sources that became ignored, or that ask for silence."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from pathlib import Path

from donewhen.core.integrity import FileFact
from donewhen.evidence.probes_configs import excerpt
from donewhen.evidence.probes_ignoring import IgnoreFile, ignore_files
from donewhen.regular import read_text

_LARGEST = 1_000_000  # bytes: no person writes a source larger than this
_PYTHON = (".py", ".pyi")
_SCRIPT = (".js", ".jsx", ".ts", ".tsx", ".mjs", ".cjs", ".mts", ".cts", ".vue", ".svelte")
_ENDINGS = {
    **dict.fromkeys(("ruff", "flake8", "mypy", "pyright", "pylint", "black"), _PYTHON),
    **dict.fromkeys(("eslint", "tsc", "biome", "prettier"), _SCRIPT),
}
_READ_GITIGNORE = frozenset({"ruff", "black", "eslint", "biome", "prettier"})
_SILENCED = {
    "ruff": r"^\s*#\s*(?:ruff|flake8):\s*noqa\b|^\s*#\s*ruff:\s*disable\b",
    "flake8": r"^\s*#\s*flake8[:=]\s*noqa\b",
    "mypy": r"^#\s*mypy:\s*.*(?:ignore[-_]errors|disable[-_]error[-_]code)|\A#\s*type:\s*ignore\b",
    "pyright": r"^\s*#\s*pyright:\s*(?:basic|ignore\s*$|\w+\s*=\s*(?:false|none))|\A#\s*type:\s*ignore\b",
    "pylint": r"^\s*#\s*pylint:\s*(?:skip-file|disable-all|disable\s*=\s*all)\b",
    "eslint": r"/\*\s*eslint-disable(?!-)\b|/\*\s*eslint\s+[\w@/-]+\s*:\s*(?:0|[\"']?off)",
    "tsc": r"^\s*//\s*@ts-nocheck\b",
    "biome": r"^\s*//\s*biome-ignore-all\b",
}
# Code of the workspace that reaches into the test runner, or ends it: it runs inside of the check.
_REACHES = re.compile(
    r"^\s*(?:from|import)\s+(?:_pytest|pluggy)\b(?!\.\w+\s+import\s+(?:(?:MonkeyPatch|LogCaptureFixture|"
    r"CaptureFixture|FixtureRequest|TempPathFactory)(?:,\s*|\s*$))+)"  # names for annotations
    r"|^\s*(?:_pytest|pytest|unittest)(?:\.\w+)+\s*=(?!=)|^\s*TestCase\.\w+\s*=(?!=)"
    r"|\bsetattr\(\s*(?:_pytest|pytest|unittest|TestCase)\b|\bsys\.modules\[\s*[\"'](?:_?pytest|pluggy|unittest)\b"
    r"|\bos\._exit\s*\(|^\s*from\s+os\s+import\b.*\b_exit\b",
    re.MULTILINE,
)
_COMPILED = {name: re.compile(pattern, re.IGNORECASE | re.MULTILINE) for name, pattern in _SILENCED.items()}


class Unchecked:
    """Of the sources that there were when it first looked: what is added later was never checked.

    Files are read again only where stat says so.
    """

    def __init__(self) -> None:
        self._sources: tuple[str, ...] | None = None
        self._read: dict[tuple[str, str], tuple[tuple[int, int, int], FileFact | None]] = {}
        self._ignored: dict[tuple[str, IgnoreFile], FileFact | None] = {}

    def facts(self, root: Path, covered: Sequence[str], runners: Collection[str]) -> tuple[FileFact, ...]:
        """One fact for each file that keeps a linter of `runners` from checking; its text are the lines that do. And
        for each that reaches into a test runner, with no linter's name: those may be new."""
        if self._sources is None:
            self._sources = tuple(p for p in covered if p.endswith((*_PYTHON, *_SCRIPT)))
        linters = sorted(_ENDINGS.keys() & set(runners))
        return (
            *self._ignoring(root, self._sources, linters),
            *self._silenced(root, self._sources, linters),
            *self._matching(root, [p for p in covered if p.endswith(".py")], "", _REACHES),
        )

    def _ignoring(self, root: Path, sources: Sequence[str], linters: Sequence[str]) -> Iterator[FileFact]:
        readers = [name for name in linters if name in _READ_GITIGNORE]
        if not readers:
            return
        endings = tuple(ending for name in readers for ending in _ENDINGS[name])
        concerned = [p for p in sources if p.endswith(endings)]
        for file in ignore_files(root, concerned, "ruff" in readers):
            key = (readers[0], file)
            if key not in self._ignored:
                self._ignored[key] = _ignoring_fact(root, file, concerned, readers[0])
            fact = self._ignored[key]
            if fact is not None:
                yield fact

    def _silenced(self, root: Path, sources: Sequence[str], linters: Sequence[str]) -> Iterator[FileFact]:
        for linter in linters:
            if linter in _COMPILED:
                paths = [path for path in sources if path.endswith(_ENDINGS[linter])]
                yield from self._matching(root, paths, linter, _COMPILED[linter])

    def _matching(self, root: Path, paths: Iterable[str], name: str, pattern: re.Pattern[str]) -> Iterator[FileFact]:
        for path in paths:
            fact = self._matched(root, path, name, pattern)
            if fact is not None:
                yield fact

    def _matched(self, root: Path, path: str, name: str, pattern: re.Pattern[str]) -> FileFact | None:
        file = os.path.join(root, path)  # noqa: PTH118  # called for each source: Path takes longer than stat
        try:
            stat = os.stat(file)  # noqa: PTH116
            signature = (stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns)
            known = self._read.get((path, name))
            if known is not None and known[0] == signature:
                return known[1]
            text = "" if stat.st_size > _LARGEST else read_text(Path(file), "utf-8-sig", "replace")
        except OSError:
            return None
        fact = _matching_fact(path, name, pattern, text)
        self._read[path, name] = (signature, fact)
        return fact


def _matching_fact(path: str, name: str, pattern: re.Pattern[str], text: str) -> FileFact | None:
    places = (match.start() + len(match[0]) - len(match[0].lstrip()) for match in pattern.finditer(text))
    return _fact(path, name, text.split("\n"), [text.count("\n", 0, place) for place in places])


def _ignoring_fact(root: Path, file: IgnoreFile, sources: Sequence[str], linter: str) -> FileFact | None:
    there = [p for p in sources if (root / p).exists()]
    return _fact(file.path, linter, file.text.splitlines(), file.deciding(there))


def _fact(path: str, name: str, lines: Sequence[str], picked: Iterable[int]) -> FileFact | None:
    start, text = excerpt(lines, picked)
    if not text:
        return None
    return FileFact(path, hashlib.sha256(text.encode()).hexdigest()[:16], start, text, name)
