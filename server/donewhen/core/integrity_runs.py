"""Whether the tests that proved something at the baseline still run."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import replace

from donewhen.core.integrity_facts import (
    CheckRunFact,
    IntegrityFacts,
    IntegrityFinding,
    simple_name,
    without_parameters,
)
from donewhen.core.integrity_tests import digest_of, finding

Executed = tuple[str, str, str]
_EXECUTED = frozenset({"passed", "failed", "error"})


def compare_runs(
    baseline: IntegrityFacts, now: IntegrityFacts, explained: frozenset[str]
) -> Iterator[IntegrityFinding]:
    """Checks that pass now although they run fewer of the baseline's tests, or none.

    A check that fails proves nothing, whatever it runs. `explained` are the simple names of tests that are known to
    be gone, moved or skipped: they have a finding of their own, or need none.
    """
    before = {r.check_id: r for r in baseline.runs}
    path = baseline.goal_file.path if baseline.goal_file else ""
    for run in sorted(now.runs, key=lambda r: r.check_id):
        was = before.get(run.check_id)
        if was is None or not was.executed:
            continue
        if not run.executed and (run.passed or not _names(now, run.check_id)):
            message = f"{_check(run)} ran {was.executed} tests at the start and runs none now."
            yield finding("no_tests", path, run.check_id, 0, message, digest_of("none"))
        elif run.passed:
            yield from _fewer(baseline, now, was, run, explained)


def moved_runs(
    baseline: IntegrityFacts, now: IntegrityFacts, paths: frozenset[str]
) -> tuple[tuple[CheckRunFact, ...], tuple[Executed, ...]]:
    """The runs and their tests after a person changed `paths`.

    A test file takes its own tests with it; anything else that decides what runs takes all of them.
    """
    both = (baseline, now)
    wide = {f.path for facts in both for f in (*facts.configs, *facts.environment, *facts.shadows)}
    wide |= {d.path for facts in both for d in facts.definitions}
    if wide & paths:
        return now.runs or baseline.runs, now.executed or baseline.executed
    files = {f.path for facts in both for f in facts.tests} & paths
    if not files:
        return baseline.runs, baseline.executed
    old = [(e, _in_files(e[1], files, both)) for e in baseline.executed]
    new = [e for e in now.executed if _in_files(e[1], files, both)]
    executed = tuple(sorted({*(e for e, theirs in old if not theirs), *new}))
    gone = Counter(e[0] for e, theirs in old if theirs and e[2] in _EXECUTED)
    came = Counter(e[0] for e in new if e[2] in _EXECUTED)
    runs = tuple(replace(r, executed=max(0, r.executed - gone[r.check_id] + came[r.check_id])) for r in baseline.runs)
    return runs, executed


def _in_files(name: str, files: set[str], facts: Iterable[IntegrityFacts]) -> bool:
    """Whether a test is one of these files': collected from one, or inherited from one by a class elsewhere."""
    path, found, _ = name.partition("::")
    simple = simple_name(name)
    own = [f for one in facts for f in one.tests if any(t.simple_name == simple for t in f.tests)]
    if found and path.endswith(".py") and (path in files or any(f.path == path for f in own)):
        return path in files
    return any(f.path in files for f in own)


def _fewer(
    baseline: IntegrityFacts, now: IntegrityFacts, was: CheckRunFact, run: CheckRunFact, explained: frozenset[str]
) -> Iterator[IntegrityFinding]:
    before, after = _names(baseline, run.check_id), _names(now, run.check_id)
    if sum(before.values()) < was.executed or sum(after.values()) < run.executed:
        # Some runners name only what failed.
        if run.executed + len(explained) < was.executed:
            message = f"{_check(run)} ran {was.executed} tests at the start and runs {run.executed} now."
            path = baseline.goal_file.path if baseline.goal_file else ""
            yield finding("fewer_tests", path, run.check_id, 0, message, digest_of(str(run.executed)))
        return
    lost = sorted(name for name, count in before.items() if after[name] < count and simple_name(name) not in explained)
    if lost:
        path, line = _where(baseline, now, lost[0])
        some = ", ".join(lost[:3]) + (f" and {len(lost) - 3} more" if len(lost) > 3 else "")
        message = f"{_check(run)} no longer runs tests that it ran at the start: {some}."
        yield finding("fewer_tests", path, run.check_id, line, message, digest_of(*lost))


def _check(run: CheckRunFact) -> str:
    return f"`{run.command}`" if run.command else "The check"


def _names(facts: IntegrityFacts, check_id: str) -> Counter[str]:
    """How many cases of each test a check executed; its cases are told apart by `[...]` at the end of the name."""
    cases = {name for check, name, outcome in facts.executed if check == check_id and outcome in _EXECUTED}
    return Counter(without_parameters(name) for name in cases)


def _where(baseline: IntegrityFacts, now: IntegrityFacts, name: str) -> tuple[str, int]:
    """Where a test stands; the goal file if it isn't known."""
    by_simple: dict[str, list[tuple[str, int]]] = defaultdict(list)
    for file in now.tests:
        for test in file.tests:
            by_simple[test.simple_name].append((file.path, test.line))
    places = by_simple.get(simple_name(name), [])
    preferred = [p for p in places if name.startswith(p[0])] or places
    if preferred:
        return preferred[0]
    return (baseline.goal_file.path if baseline.goal_file else ""), 0
