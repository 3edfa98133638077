"""A goal on guard: what was proven is proven again after each edit, and what fails then has regressed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from donewhen.core.work import Actor

MAX_EDITS = 50
MAX_PATHS = 200


@dataclass(frozen=True, slots=True)
class Edit:
    """Files that changed while a goal was on guard, and the revision that this made."""

    revision: str
    paths: tuple[str, ...]
    by: Actor
    total: int = 0


@dataclass(frozen=True, slots=True)
class Regression:
    """Since when a requirement that was met fails: the last revision at which it was met, the first at which it no
    longer is, and what changed between them. `by` is None if it isn't known, or several did it."""

    good: str
    bad: str
    at: float
    paths: tuple[str, ...] = ()
    total: int = 0
    by: Actor | None = None


@dataclass(frozen=True, slots=True)
class Guard:
    """The guard of a run that is over. `since` is epoch seconds.

    `good` is the revision at which each requirement was met last, by requirement id, `edits` what changed since the
    oldest of them, `failed` how often each check has failed at the current revision.
    """

    since: float
    by: str = "person"
    good: Mapping[str, str] = field(default_factory=dict[str, str])
    edits: tuple[Edit, ...] = ()
    regressions: Mapping[str, Regression] = field(default_factory=dict[str, Regression])
    failed: Mapping[str, int] = field(default_factory=dict[str, int])

    def between(self, good: str, bad: str, at: float) -> Regression:
        """What is known of how the one revision became the other."""
        last = max((n for n, edit in enumerate(self.edits, 1) if edit.revision == good), default=0)
        since = self.edits[last:]
        paths = tuple(dict.fromkeys(path for edit in since for path in edit.paths))
        cut = sum(max(0, edit.total - len(edit.paths)) for edit in since)
        actors = {edit.by for edit in since}
        by = since[0].by if len(actors) == 1 else None
        return Regression(good, bad, at, paths[:MAX_PATHS], len(paths) + cut, None if by == "check" else by)
