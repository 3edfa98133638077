"""Whether the proof is still the proof that was agreed on (A10).

`IntegrityFacts` is what probes read of a workspace: tests, protected files, what each check's name stands for, the
programs and the environment that it resolves to. `compare` holds the facts at the run's baseline against those now.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TypeVar

from donewhen.core.goal import Goal
from donewhen.core.integrity_addressing import compare_addressing, moved_addressing
from donewhen.core.integrity_bindings import compare_bindings
from donewhen.core.integrity_facts import (
    AddressingFact,
    CheckRunFact,
    DefinitionFact,
    FileFact,
    FindingKind,
    IntegrityFacts,
    IntegrityFinding,
    SkipFact,
    TestFact,
    TestFileFact,
)
from donewhen.core.integrity_masks import gained, swallowed
from donewhen.core.integrity_runs import compare_runs, moved_runs
from donewhen.core.integrity_suppressions import compare_suppressions
from donewhen.core.integrity_tests import compare_called, compare_tests, digest_of, finding
from donewhen.core.work import RunWarning

__all__ = [
    "AddressingFact",
    "CheckRunFact",
    "DefinitionFact",
    "FileFact",
    "FindingKind",
    "IntegrityFacts",
    "IntegrityFinding",
    "SkipFact",
    "TestFact",
    "TestFileFact",
    "baseline_warnings",
    "compare",
    "moved",
]

F = TypeVar("F", TestFileFact, FileFact)


def compare(baseline: IntegrityFacts, now: IntegrityFacts) -> tuple[IntegrityFinding, ...]:
    """What changed about the proof since the baseline, ordered by path and line; empty where it is the same proof.

    Pure, and independent of the order of the facts. Each finding's key is stable; its `fact` changes with what is
    found.
    """
    tests, touched = compare_tests(baseline, now)
    found = [
        *tests,
        *compare_runs(baseline, now, touched),
        *_compare_configs(baseline, now),
        *compare_suppressions(baseline, now),
        *compare_bindings(baseline, now),
        *compare_called(baseline, now),
        *_compare_definitions(baseline, now),
        *_compare_files("check_program", baseline.shadows, now.shadows, _shadow_message),
        *_compare_files("environment", baseline.environment, now.environment, _environment_message),
        *_compare_goal_file(baseline.goal_file, now.goal_file),
        *compare_addressing(baseline, now),
    ]
    merged = _with_protected(found, _compare_protected(baseline, now))
    return tuple(sorted(merged.values(), key=lambda f: (f.path, f.line, f.kind, f.key)))


def moved(baseline: IntegrityFacts, now: IntegrityFacts, paths: Collection[str]) -> IntegrityFacts:
    """The baseline after a person changed `paths`: their facts are those of `now`, all others stay.

    A change of the goal file also brings what is looked for now: new checks, their runners, other protected files.
    """
    wanted = frozenset(paths)
    base = _amended(baseline, now) if now.goal_file is not None and now.goal_file.path in wanted else baseline
    runs, executed = moved_runs(base, now, wanted)
    return replace(
        base,
        tests=_swapped(_collected_anew(base, now, wanted), now.tests, wanted),
        configs=_swapped(base.configs, now.configs, wanted),
        suppressions=_swapped(base.suppressions, now.suppressions, wanted),
        protected=_swapped(base.protected, now.protected, wanted),
        definitions=_swapped_definitions(base.definitions, now.definitions, wanted),
        environment=_swapped(base.environment, now.environment, wanted),
        shadows=_swapped(base.shadows, now.shadows, wanted),
        runs=runs,
        executed=executed,
        addressing=moved_addressing(base, now, wanted),
    )


def baseline_warnings(goal: Goal) -> tuple[RunWarning, ...]:
    """The goal is its person's: a command in it that passes whatever it checks is a warning, not a finding."""
    return tuple(
        RunWarning(
            "masked_check",
            f"`{check.command}` passes whatever it checks ({', '.join(names)}): it proves little. "
            "Take that out of the goal's command if it is not meant.",
        )
        for check in goal.checks
        if check.kind == "command" and (names := swallowed(check.command))
    )


# -------------------------------------------------------------------------------------- moving the baseline


def _swapped(base: Sequence[F], now: Sequence[F], wanted: frozenset[str]) -> tuple[F, ...]:
    kept = [f for f in base if f.path not in wanted]
    return tuple(sorted([*kept, *(f for f in now if f.path in wanted)], key=lambda f: f.path))


def _collected_anew(base: IntegrityFacts, now: IntegrityFacts, wanted: frozenset[str]) -> tuple[TestFileFact, ...]:
    """A configuration, a package or the goal's commands may change what is a test in files that are the same."""
    decides = {f.path for f in (*base.configs, *now.configs)} | ({now.goal_file.path} if now.goal_file else set[str]())
    packages = any(path.endswith("__init__.py") for path in wanted)
    if not decides & wanted and not packages:
        return base.tests
    current = {f.path: f for f in now.tests}
    return tuple(same if (same := current.get(f.path)) and same.digest == f.digest else f for f in base.tests)


def _swapped_definitions(
    base: Sequence[DefinitionFact], now: Sequence[DefinitionFact], wanted: frozenset[str]
) -> tuple[DefinitionFact, ...]:
    """A definition may move to another file: it is the person's if either end is."""
    theirs = {_name(d): d for d in now}
    out: list[DefinitionFact] = []
    for definition in base:
        current = theirs.get(_name(definition))
        if current is not None and (definition.path in wanted or current.path in wanted):
            out.append(current)
        else:
            out.append(definition)
    return tuple(out)


def _amended(baseline: IntegrityFacts, now: IntegrityFacts) -> IntegrityFacts:
    new_checks = {d.check_id for d in now.definitions} - {d.check_id for d in baseline.definitions}
    new_runners = frozenset(now.runners) - frozenset(baseline.runners)
    known = {f.path for f in baseline.protected}
    other_globs = baseline.protect != now.protect
    return replace(
        baseline,
        goal_file=now.goal_file,
        definitions=(*baseline.definitions, *(d for d in now.definitions if d.check_id in new_checks)),
        configs=(*baseline.configs, *(f for f in now.configs if f.runner in new_runners)),
        suppressions=(*baseline.suppressions, *(f for f in now.suppressions if f.runner in new_runners)),
        protected=(*baseline.protected, *(f for f in now.protected if other_globs and f.path not in known)),
        runners=tuple(sorted({*baseline.runners, *now.runners})),
        protect=now.protect,
    )


# ------------------------------------------------------------------------------------- files that decide


def _compare_configs(baseline: IntegrityFacts, now: IntegrityFacts) -> Iterator[IntegrityFinding]:
    """Configurations of runners that were looked for both times; those of an empty runner always."""
    both = {"", *(set(baseline.runners) & set(now.runners))}
    before = [f for f in baseline.configs if f.runner in both]
    after = [f for f in now.configs if f.runner in both]
    yield from _compare_files("check_config", before, after, _config_message)


def _compare_files(
    kind: FindingKind,
    before: Iterable[FileFact],
    after: Iterable[FileFact],
    message: Callable[[str, str, FileFact], str],
) -> Iterator[IntegrityFinding]:
    old = {(f.path, f.runner): f for f in before}
    new = {(f.path, f.runner): f for f in after}
    for key in sorted(old.keys() | new.keys()):
        was, current = old.get(key), new.get(key)
        if was is not None and current is not None and was.digest == current.digest:
            continue
        change = "added" if was is None else "deleted" if current is None else "changed"
        line, came = _first_change(was, current)
        fact = current or FileFact(key[0], "gone")
        text = message(change, came, replace(fact, runner=key[1]))
        yield finding(kind, key[0], key[1], line, text, digest_of(fact.digest))


def _first_change(was: FileFact | None, current: FileFact | None) -> tuple[int, str]:
    """The first line that differs, 0-based in the file, and what stands there now, without its spaces."""
    if current is None:
        return 0, ""
    old = [] if was is None else _lines(was.text)
    new = _lines(current.text)
    had = set(old)
    first = next((i for i, line in enumerate(new) if line and line not in had), None)
    if first is not None:
        return current.line + first, "" if was is None else new[first][:120]
    return current.line + next((i for i, (a, b) in enumerate(zip(old, new, strict=False)) if a != b), 0), ""


def _lines(text: str) -> list[str]:
    return [line.strip() for line in text.splitlines()]


def _config_message(change: str, came: str, fact: FileFact) -> str:
    what = f"the configuration of {fact.runner} in {fact.path}" if fact.runner else f"{fact.path}, which checks read,"
    return f"{what[0].upper()}{what[1:]} was {change}" + (f": `{came}`." if came else ".")


def _shadow_message(change: str, came: str, fact: FileFact) -> str:
    del came
    return f"{fact.path} was {change}: it would stand in for the program or module that a check means."


def _environment_message(change: str, came: str, fact: FileFact) -> str:
    del came
    return f"{fact.path} was {change}: it runs inside of every check or is part of its test runner."


def _compare_goal_file(was: FileFact | None, current: FileFact | None) -> Iterator[IntegrityFinding]:
    if was is None or (current is not None and current.path == was.path and current.digest == was.digest):
        return
    gone = current is None or not current.digest
    message = (
        f"The goal file {was.path} was {'deleted' if gone else 'changed'} by the worker: it is not amended by that."
    )
    fact = digest_of("gone" if current is None else current.digest)
    yield finding("goal_file", was.path, "", 0 if current is None else _first_change(was, current)[0], message, fact)


def _compare_protected(baseline: IntegrityFacts, now: IntegrityFacts) -> list[IntegrityFinding]:
    """Where the globs themselves changed, only what both times were looked at tells of a change."""
    before, after = baseline.protected, now.protected
    if baseline.protect != now.protect:
        both = {f.path for f in before} & {f.path for f in after}
        before, after = (tuple(f for f in side if f.path in both) for side in (before, after))
    return list(_compare_files("protected_file", before, after, _protected_message))


def _protected_message(change: str, came: str, fact: FileFact) -> str:
    del came
    return f"{fact.path} is protected by the goal and was {change}."


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


# ------------------------------------------------------------------------- what a check's name stands for


def _name(definition: DefinitionFact) -> tuple[str, str, str]:
    return definition.check_id, definition.kind, definition.name


def _compare_definitions(baseline: IntegrityFacts, now: IntegrityFacts) -> Iterator[IntegrityFinding]:
    """Definitions of checks that were bound both times; what several checks share is one finding."""
    old = {_name(d): d for d in baseline.definitions}
    both = {d.check_id for d in baseline.definitions} & {d.check_id for d in now.definitions}
    fallback = baseline.goal_file.path if baseline.goal_file else ""
    seen: set[tuple[str, str]] = set()
    for current in sorted(now.definitions, key=_name):
        if current.check_id not in both or (current.kind, current.name) in seen:
            continue
        was = old.get(_name(current))
        if was is None or (was.digest == current.digest and was.path == current.path):
            continue
        seen.add((current.kind, current.name))
        if current.kind == "program":
            yield from _program_finding(was, current, fallback)
        else:
            yield _definition_finding(was, current)


def _program_finding(was: DefinitionFact, current: DefinitionFact, fallback: str) -> Iterator[IntegrityFinding]:
    """A program that was not installed and now is, outside the workspace or by its package manager, is no change."""
    outside = current.path.startswith("/") or ":" in current.path
    if not was.digest and (outside or "node_modules/" in current.path):
        return
    if not current.digest:
        message = f"The program `{current.name}`, which was {was.path}, is gone."
    elif was.path != current.path:
        message = f"The program `{current.name}` is {current.path} now; it was {was.path or 'not there'}."
    else:
        message = f"The program `{current.name}` ({current.path}) has another content than before."
    path = fallback if outside or not current.path else current.path
    yield finding("check_program", path, current.name, 0, message, digest_of(current.path, current.digest))


def _definition_finding(was: DefinitionFact, current: DefinitionFact) -> IntegrityFinding:
    fact = digest_of(current.path, current.digest)
    masks = gained(was.text, current.text)
    if masks:
        offset = masks[0][1]
        names = ", ".join(dict.fromkeys(f"`{name}`" for name, _ in masks))
        message = f"`{current.name}` hides failures now: {names} was added."
        return finding("exit_masked", current.path, current.name, current.line + offset, message, fact)
    change = "is defined now" if not was.digest else "is no longer defined" if not current.digest else "has changed"
    line, came = _first_change(
        FileFact(was.path, was.digest, was.line, was.text),
        FileFact(current.path, current.digest, current.line, current.text),
    )
    message = f"What the check `{current.name}` stands for {change}" + (f": `{came}`." if came else ".")
    return finding("check_config", current.path or was.path, current.name, line, message, fact)
