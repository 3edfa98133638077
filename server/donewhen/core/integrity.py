"""Whether what the proof rests on, apart from the files that trials divide, is still what it was.

Tests, their data and the configuration of their runners are tried, not read (`core/trials.py`). What no trial can put
back is compared: the goal file, files that the goal protects, programs and packages that the workspace's revisions
don't cover. `compare` holds the facts at the run's baseline against those now.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import replace

from donewhen.core.addressing_findings import compare_addressing, moved_addressing
from donewhen.core.goal import Goal
from donewhen.core.integrity_facts import (
    AddressingFact,
    FileFact,
    FindingKind,
    IntegrityFacts,
    IntegrityFinding,
    ProgramFact,
    digest_of,
    finding,
    first_change,
)
from donewhen.core.masks import swallowed
from donewhen.core.work import RunWarning

__all__ = [
    "AddressingFact",
    "FileFact",
    "FindingKind",
    "IntegrityFacts",
    "IntegrityFinding",
    "ProgramFact",
    "baseline_warnings",
    "compare",
    "moved",
]


def compare(baseline: IntegrityFacts, now: IntegrityFacts) -> tuple[IntegrityFinding, ...]:
    """What changed since the baseline, ordered by path and line; empty if nothing did.

    Pure, and independent of the order of the facts. Each finding's key is stable; its `fact` changes with what is
    found.
    """
    found = [
        *_compare_programs(baseline, now),
        *_compare_files("environment", baseline.environment, now.environment, _environment_message),
        *_compare_settings(baseline.settings, now.settings),
        *_compare_goal_file(baseline.goal_file, now.goal_file),
        *compare_addressing(baseline, now),
    ]
    merged = _with_protected(found, _compare_protected(baseline, now))
    return tuple(sorted(merged.values(), key=lambda f: (f.path, f.line, f.kind, f.key)))


def moved(baseline: IntegrityFacts, now: IntegrityFacts, paths: Collection[str]) -> IntegrityFacts:
    """The baseline after a person changed `paths`: their facts are those of `now`, all others stay.

    A change of the goal file also brings what is looked for now: the programs of new checks, other protected files.
    """
    wanted = frozenset(paths)
    base = _amended(baseline, now) if now.goal_file is not None and now.goal_file.path in wanted else baseline
    return replace(
        base,
        protected=_swapped(base.protected, now.protected, wanted),
        environment=_swapped(base.environment, now.environment, wanted),
        programs=_swapped_programs(base.programs, now.programs, wanted),
        addressing=moved_addressing(base, now, wanted),
    )


def baseline_warnings(goal: Goal) -> tuple[RunWarning, ...]:
    """The goal is its person's: a command in it that passes no matter what it checks is a warning, not a finding."""
    return tuple(
        RunWarning(
            "masked_check",
            f"`{check.command}` passes no matter what it checks ({', '.join(names)}): it proves little. "
            "Remove that from the goal's command if it is not intended.",
        )
        for check in goal.checks
        if check.kind == "command" and (names := swallowed(check.command))
    )


# -------------------------------------------------------------------------------------- moving the baseline


def _swapped(base: Sequence[FileFact], now: Sequence[FileFact], wanted: frozenset[str]) -> tuple[FileFact, ...]:
    kept = [f for f in base if f.path not in wanted]
    return tuple(sorted([*kept, *(f for f in now if f.path in wanted)], key=lambda f: f.path))


def _swapped_programs(
    base: Sequence[ProgramFact], now: Sequence[ProgramFact], wanted: frozenset[str]
) -> tuple[ProgramFact, ...]:
    """A program may be another file now: it is the person's if either is."""
    theirs = {(p.check_id, p.name): p for p in now}
    return tuple(
        current if (current := theirs.get((p.check_id, p.name))) is not None and {p.path, current.path} & wanted else p
        for p in base
    )


def _amended(baseline: IntegrityFacts, now: IntegrityFacts) -> IntegrityFacts:
    known = {p.check_id for p in baseline.programs}
    covered = {f.path for f in baseline.protected}
    other_globs = baseline.protect != now.protect
    return replace(
        baseline,
        goal_file=now.goal_file,
        programs=(*baseline.programs, *(p for p in now.programs if p.check_id not in known)),
        protected=(*baseline.protected, *(f for f in now.protected if other_globs and f.path not in covered)),
        protect=now.protect,
    )


# ----------------------------------------------------------------------------------------------- files


def _compare_files(
    kind: FindingKind, before: Iterable[FileFact], after: Iterable[FileFact], message: Callable[[str, str], str]
) -> Iterator[IntegrityFinding]:
    old, new = {f.path: f for f in before}, {f.path: f for f in after}
    for path in sorted(old.keys() | new.keys()):
        was, current = old.get(path), new.get(path)
        if was is not None and current is not None and was.digest == current.digest:
            continue
        change = "added" if was is None else "deleted" if current is None else "changed"
        fact = digest_of("gone" if current is None else current.digest)
        yield finding(kind, path, "", 0, message(path, change), fact)


def _compare_settings(before: Iterable[FileFact], after: Iterable[FileFact]) -> Iterator[IntegrityFinding]:
    """Files that were looked for both times."""
    old = {f.path: f for f in before}
    for current in sorted(after, key=lambda f: f.path):
        was = old.get(current.path)
        if was is not None and was.digest != current.digest:
            change = "added" if not was.digest else "deleted" if not current.digest else "changed"
            installed = "node_modules/" in current.path
            what = "it is part of a test runner" if installed else "it tells tools that check things what to do"
            message = f"{current.path} was {change}: {what}."
            yield finding("environment", current.path, "", 0, message, digest_of("settings", current.digest))


def _environment_message(path: str, change: str) -> str:
    return f"{path} was {change}: it runs inside every check or is part of its test runner."


def _protected_message(path: str, change: str) -> str:
    return f"{path} is protected by the goal and was {change}."


def _compare_goal_file(was: FileFact | None, current: FileFact | None) -> Iterator[IntegrityFinding]:
    if was is None or (current is not None and current.path == was.path and current.digest == was.digest):
        return
    change = "deleted" if current is None or not current.digest else "changed"
    message = f"The goal file {was.path} was {change} by the worker: this does not amend the goal."
    fact = digest_of("gone" if current is None else current.digest)
    line = first_change(was.text, "" if current is None else current.text)
    yield finding("goal_file", was.path, "", line, message, fact)


def _compare_protected(baseline: IntegrityFacts, now: IntegrityFacts) -> list[IntegrityFinding]:
    """Where the globs themselves changed, only what both times were looked at tells of a change."""
    before, after = baseline.protected, now.protected
    if baseline.protect != now.protect:
        both = {f.path for f in before} & {f.path for f in after}
        before, after = (tuple(f for f in side if f.path in both) for side in (before, after))
    return list(_compare_files("protected_file", before, after, _protected_message))


def _with_protected(
    found: Iterable[IntegrityFinding], protected: Iterable[IntegrityFinding]
) -> dict[str, IntegrityFinding]:
    """A protected file's one finding stands for all others of that file; it takes their first line."""
    by_path: dict[str, list[IntegrityFinding]] = defaultdict(list)
    for one in found:
        by_path[one.path].append(one)
    for one in protected:
        others = by_path.pop(one.path, [])
        line = min((o.line for o in others), default=one.line)
        by_path[one.path] = [replace(one, line=line)]
    return {one.key: one for group in by_path.values() for one in group}


# -------------------------------------------------------------------------------------------- programs


def _compare_programs(baseline: IntegrityFacts, now: IntegrityFacts) -> Iterator[IntegrityFinding]:
    """Programs of checks that were bound both times; one that several checks start is one finding."""
    old = {(p.check_id, p.name): p for p in baseline.programs}
    fallback = baseline.goal_file.path if baseline.goal_file else ""
    seen: set[str] = set()
    for current in sorted(now.programs, key=lambda p: (p.check_id, p.name)):
        was = old.get((current.check_id, current.name))
        if was is None or current.name in seen or (was.digest == current.digest and was.path == current.path):
            continue
        outside = current.path.startswith("/") or ":" in current.path
        # One that was not installed and is now, outside the workspace or by its package manager, is not a change.
        if not was.digest and (outside or "node_modules/" in current.path):
            continue
        seen.add(current.name)
        path = fallback if outside or not current.path else current.path
        fact = digest_of(current.path, current.digest)
        yield finding("check_program", path, current.name, 0, _program_message(was, current), fact)


def _program_message(was: ProgramFact, current: ProgramFact) -> str:
    if not current.digest:
        return f"The program `{current.name}`, which was {was.path}, is gone."
    if was.path != current.path:
        return f"The program `{current.name}` is {current.path} now; it was {was.path or 'not there'}."
    return f"The program `{current.name}` ({current.path}) has different content than before."
