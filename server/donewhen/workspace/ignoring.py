"""Which files the revision covers: git's ignore rules frozen at one moment, known cache folders, named files."""

from __future__ import annotations

import hashlib
import re
import sys
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from donewhen.core.agents import AGENTS
from donewhen.core.ecosystems import ECOSYSTEMS
from donewhen.core.globs import any_matches, matches
from donewhen.workspace.manifest import encoded

CACHE_FOLDERS = frozenset(
    (*(name for table in ECOSYSTEMS for name in table.caches), *(name for agent in AGENTS for name in agent.leaves))
)
CACHE_FILES = re.compile(r"(?:\.coverage(?:\..+)?|\.DS_Store|Thumbs\.db|\..*\.sw[a-p]|\.#.*)", re.DOTALL)
"""Made by tools and editors while people type; not part of any revision unless git tracks them or the goal names them.
Backups (`x~`) are: they come with a save, and a product might read one."""
_BYTECODE = (".pyc", ".pyo")
"""Outside of its cache folders, Python runs it instead of a source file: it counts whatever the rules say."""

_SEARCHED = {".": ".+", "/": ".+/"}
"""pathspec's shortcuts for searching, written out for matching the whole path."""

_CASELESS = re.IGNORECASE if sys.platform in ("win32", "darwin") else re.NOFLAG


@dataclass(frozen=True)
class Rules:
    """One text of ignore rules, compiled: runs of patterns of one kind, the last first."""

    text: str
    runs: tuple[tuple[bool, re.Pattern[str]], ...]

    def decide(self, path: str) -> bool | None:
        """True if ignored, False if a negation includes it again, None if no rule applies. A folder's path ends with a
        slash."""
        for ignored, pattern in self.runs:
            if pattern.fullmatch(path):
                return ignored
        return None


@lru_cache(maxsize=512)
def compiled(text: str) -> Rules:
    """Compiles rules in the syntax of .gitignore; like git, it skips a line that can't be read."""
    runs: list[tuple[bool, list[str]]] = []
    for line in text.removeprefix("\ufeff").splitlines():
        rule = _regex(line)
        if rule is None:
            continue
        if not runs or runs[-1][0] != rule[0]:
            runs.append((rule[0], []))
        runs[-1][1].append(rule[1])
    joined = [(ignored, re.compile("|".join(parts), re.DOTALL | _CASELESS)) for ignored, parts in reversed(runs)]
    return Rules(text, tuple(joined))


def _regex(line: str) -> tuple[bool, str] | None:
    # GitIgnoreSpec answers only for files, and for everything in a folder that a rule names: after `*` and `!e/` it
    # says that the folder e/ is ignored, after `d/` and `!d/a` that d/a is not. Git says the opposite of both.
    from pathspec.patterns.gitignore.spec import GitIgnoreSpecPattern

    try:
        text, ignored = GitIgnoreSpecPattern.pattern_to_regex(line)
    except ValueError:
        return None
    if text is None or ignored is None:
        return None
    whole = text.replace("(?P<ps_d>/)", "/")
    whole = _SEARCHED.get(whole, whole)
    # `a/**` means the content of the folder, not the folder.
    return ignored, f"(?:{whole}.+)" if line.rstrip().endswith("/**") else f"(?:{whole})"


@dataclass
class IgnoreRules:
    """The rules of one workspace. They are collected while its folders are first listed, then frozen.

    `above` are the rules for the whole workspace, the strongest last, each with the prefix of its paths (a workspace
    may be a folder in a repository).
    """

    above: Sequence[tuple[str, Rules]] = ()
    frozen: bool = False
    _below: dict[str, Rules] = field(default_factory=dict[str, Rules])

    def add(self, place: str, text: str) -> None:
        """Adds the .gitignore of one folder; has no effect once frozen, or if the file has no rules."""
        if not self.frozen and text:
            self._below[place] = compiled(text)

    def freeze(self) -> bytes:
        """Ends the collecting; returns the digest of all rules."""
        self.frozen = True
        whole = hashlib.sha256()
        for place, rules in [*self.above, *sorted(self._below.items())]:
            whole.update(b"%b\0%b\0" % (encoded(place), encoded(rules.text)))
        return whole.digest()

    def texts(self) -> tuple[list[tuple[str, str]], dict[str, str]]:
        """All rules as text: those from above in their order, those of each folder by its path."""
        above = [(prefix, rules.text) for prefix, rules in self.above]
        return above, {place: rules.text for place, rules in self._below.items()}

    @classmethod
    def thawed(cls, above: Sequence[Sequence[str]], below: Mapping[str, str]) -> IgnoreRules:
        """The rules of `texts`, frozen: no present .gitignore adds to them."""
        rules = cls([(prefix, compiled(text)) for prefix, text in above])
        for place, text in below.items():
            rules.add(place, text)
        rules.frozen = True
        return rules

    def ignores(self, path: str) -> bool:
        """Whether the rules ignore this very path, regardless of its folders; a folder's path ends with a slash."""
        place = path.rstrip("/") if self._below else ""
        while place:
            place = place.rpartition("/")[0]
            below = self._below.get(place)
            decision = None if below is None else below.decide(path[len(place) + 1 :] if place else path)
            if decision is not None:
                return decision
        for prefix, rules in reversed(self.above):
            decision = rules.decide(prefix + path)
            if decision is not None:
                return decision
        return False


class Coverage:
    """Decides for each path whether the revision covers it, and remembers its decisions."""

    def __init__(
        self,
        rules: IgnoreRules,
        tracked: Collection[str],
        named: Sequence[str],
        excluded: Sequence[str],
        streams: Collection[str] = (),
    ) -> None:
        self.rules = rules
        self.tracked = frozenset(tracked)
        self.named = tuple(named)
        self.streams = frozenset(streams)
        """The files that the run itself prints to: never part of the revision."""
        self._excluded = frozenset(excluded)
        self._tracked_folders = frozenset(_folders_of(self.tracked))
        self._hidden: dict[str, bool] = {"": False}
        self._nested: set[str] = set()

    def renamed(self, named: Sequence[str]) -> Coverage:
        """The same coverage with other named files."""
        coverage = Coverage(self.rules, self.tracked, named, tuple(self._excluded), self.streams)
        coverage._nested = set(self._nested)
        return coverage

    def covers(self, path: str) -> bool:
        """Whether a file at this path counts."""
        if path in self.streams:
            return False
        if path in self.tracked:
            return True
        place, _, name = path.rpartition("/")
        if not self.visits(place) or name == ".git":
            return False
        naming = [glob for glob in self.named if matches(glob, path)]
        if self.is_hidden(place):
            return _reaches_any(naming, place)
        return bool(naming) or name.endswith(_BYTECODE) or not (CACHE_FILES.fullmatch(name) or self.rules.ignores(path))

    def visits(self, place: str) -> bool:
        """Whether a folder can hold files that count."""
        if not self.is_hidden(place):
            return True
        if place in self._tracked_folders:
            return True
        parts = place.split("/")
        if ".git" in parts or any("/".join(parts[:end]) in self._excluded for end in range(1, len(parts) + 1)):
            return False
        return _reaches_any(self.named, place)

    def nest(self, place: str, nested: bool) -> None:
        """Declares whether a folder is a separate repository: then only tracked or named files in it count."""
        if nested != (place in self._nested):
            self._nested ^= {place}
            self._hidden = {"": False}

    def is_nested(self, place: str) -> bool:
        """Whether the folder was declared a separate repository."""
        return place in self._nested

    def counts_nested(self, place: str) -> bool:
        """Whether a repository at this place counts by its commit."""
        above, _, name = place.rpartition("/")
        return place in self.tracked or not (self.is_hidden(above) or self._hides(place, name))

    def is_hidden(self, place: str) -> bool:
        """Whether a folder is ignored, a known cache, or inside one."""
        known = self._hidden.get(place)
        if known is None:
            above, _, name = place.rpartition("/")
            known = place in self._nested or self.is_hidden(above) or self._hides(place, name)
            self._hidden[place] = known
        return known

    def may_be_output(self, path: str) -> bool:
        """Whether a path may count as a check's output: git doesn't track it, and no check or requirement names it."""
        return path not in self.tracked and not any_matches(self.named, path)

    def _hides(self, place: str, name: str) -> bool:
        if name in CACHE_FOLDERS or name == ".git" or place in self._excluded:
            return True
        return self.rules.ignores(f"{place}/")


def _folders_of(paths: Iterable[str]) -> set[str]:
    folders: set[str] = set()
    for path in paths:
        place = path.rpartition("/")[0]
        while place and place not in folders:
            folders.add(place)
            place = place.rpartition("/")[0]
    return folders


def _reaches_any(globs: Sequence[str], place: str) -> bool:
    parts = tuple(place.split("/"))
    return any(_reaches(glob, parts) for glob in globs)


@lru_cache(maxsize=65536)
def _reaches(glob: str, parts: tuple[str, ...]) -> bool:
    """Whether a glob names files inside a hidden folder on purpose.

    It must spell out a known cache folder; `**` matches ignored folders only after a part that is spelled out, so that
    `**/*.py` doesn't include a virtual environment.
    """
    wanted = glob.removeprefix("./").rstrip("/").split("/")
    for position, part in enumerate(parts):
        if position >= len(wanted):
            return True
        if wanted[position] == "**":
            return position > 0 and not any(rest in CACHE_FOLDERS for rest in parts[position:])
        if not any_matches((wanted[position],), part) or (part in CACHE_FOLDERS and wanted[position] != part):
            return False
    return True
