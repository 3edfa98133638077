"""How tests changed: deleted, skipped, weakened, no longer collected, or expecting something else.

Honest work adds tests, moves and renames them, formats them and names things better: none of that is a finding.
"""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from donewhen.core.integrity_facts import (
    FindingKind,
    IntegrityFacts,
    IntegrityFinding,
    SkipFact,
    TestFact,
    TestFileFact,
    enclosing,
)

RESOLVE = "Undo the change, or accept it if it is meant."
SEPARATOR = "\x1f"
_TEST_FOLDERS = frozenset({"test", "tests", "testing", "spec", "specs", "__tests__", "e2e"})


def digest_of(*parts: str) -> str:
    """A short identity of texts."""
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]


def finding(kind: FindingKind, path: str, name: str, line: int, message: str, fact: str) -> IntegrityFinding:
    """A finding whose key is its kind, its path and its name."""
    return IntegrityFinding(f"{kind}:{path}:{name}", kind, path, max(line, 0), f"{message} {RESOLVE}", fact)


@dataclass(frozen=True, slots=True)
class _Place:
    """A function and the file that it stands in."""

    file: TestFileFact
    test: TestFact

    @property
    def path(self) -> str:
        return self.file.path

    @property
    def collected(self) -> bool:
        return self.file.collected and self.test.collected


_Pair = tuple[_Place, _Place | None]


def compare_tests(baseline: IntegrityFacts, now: IntegrityFacts) -> tuple[list[IntegrityFinding], frozenset[str]]:
    """What became of the baseline's tests, and the simple names of those that went, moved or have a finding."""
    pairs = _pairs(baseline.tests, now.tests)
    found = [*_deleted_files(pairs, now.tests)]
    whole = {f.path for f in found}
    skips, skipped = _skips(baseline.tests, now.tests, pairs)
    keys = {s.key for s in skips}
    touched: set[str] = set()
    for before, after in pairs:
        # What a skipped test asserts doesn't matter: one cause is one finding.
        quiet = before.path in whole or (after is not None and _is_skipped(after, keys))
        findings = [] if quiet else list(_changes(before, after))
        found += findings
        if findings or before.path in whole or after is None or _identity(after) != _identity(before):
            touched.add(before.test.simple_name)
    return [*found, *skips], frozenset(touched | skipped)


def _is_skipped(place: _Place, keys: set[str]) -> bool:
    return any(
        _skip_finding(place.file, skip).key in keys for skip in place.file.skips if skip.scope == place.test.name
    )


def compare_called(baseline: IntegrityFacts, now: IntegrityFacts) -> Iterator[IntegrityFinding]:
    """Functions of files without tests, in the folders of tests, that assert less than before: tests call them."""
    there = {f.path: f for f in now.tests}
    for file in baseline.tests:
        after = there.get(file.path)
        among = not _TEST_FOLDERS.isdisjoint(file.path.split("/")[:-1])
        if not among or file.collected or after is None or after.collected or after == file:
            continue
        current = {t.name: t for t in after.tests}
        for test in file.tests:
            if test.expected and (same := current.get(test.name)) is not None and same.body != test.body:
                yield from _weaker(test, _Place(after, same))


# ------------------------------------------------------------------------------- which test is which


def _identity(place: _Place) -> tuple[str, str]:
    return place.path, place.test.name


def _places(files: Iterable[TestFileFact]) -> dict[tuple[str, str], _Place]:
    return {(f.path, t.name): _Place(f, t) for f in files for t in f.tests}


def _pairs(baseline: Sequence[TestFileFact], now: Sequence[TestFileFact]) -> list[_Pair]:
    """Each test that was collected at the baseline, with what it is now; None where it is gone."""
    old, new = {f.path: f for f in baseline}, {f.path: f for f in now}
    unread = {f.path for f in now if not f.parsed}
    had = _places(f for f in baseline if new.get(f.path) != f)
    there = _places(f for f in now if old.get(f.path) != f)
    fresh = _Fresh([p for key, p in there.items() if key not in had or not had[key].collected])
    return [
        (place, _counterpart(place, there.get(key), fresh))
        for key, place in sorted(had.items())
        if place.collected and place.path not in unread
    ]


def _counterpart(before: _Place, at_home: _Place | None, fresh: _Fresh) -> _Place | None:
    if at_home is not None and at_home.collected:
        return at_home
    return fresh.take(before) or at_home


class _Fresh:
    """Functions that were not there before: where a test that is gone may have moved to. Each is taken once."""

    def __init__(self, places: Sequence[_Place]) -> None:
        self._left = {_identity(p): p for p in sorted(places, key=lambda p: (not p.collected, *_identity(p)))}
        self._index: dict[tuple[str, str], list[tuple[str, str]]] = defaultdict(list)
        for key, place in self._left.items():
            for feature in _features(place):
                self._index[feature].append(key)

    def take(self, before: _Place) -> _Place | None:
        """The same body under any name, the same name in another place, or the same expectations in the same file."""
        for feature in _features(before):
            for key in self._index.get(feature, []):
                place = self._left.get(key)
                if place is not None and (place.collected or feature[0] == "body"):
                    return self._left.pop(key)
        return None


def _features(place: _Place) -> Iterator[tuple[str, str]]:
    test = place.test
    if not test.empty:
        yield "body", test.body
    yield "name", test.simple_name
    if test.expected:
        yield "expected", digest_of(place.path, *sorted(test.expected), *test.cases)


# ---------------------------------------------------------------------------------- what became of it


def _deleted_files(pairs: Sequence[_Pair], now: Sequence[TestFileFact]) -> Iterator[IntegrityFinding]:
    """One finding for a whole file that is gone, with all its tests, rather than one for each."""
    there = {f.path for f in now}
    gone: dict[str, list[_Pair]] = defaultdict(list)
    for before, after in pairs:
        if before.path not in there:
            gone[before.path].append((before, after))
    for path, members in sorted(gone.items()):
        if any(after is not None for _, after in members):
            continue
        count = f"{len(members)} test{'s' if len(members) > 1 else ''}"
        fact = digest_of("gone", path, *(b.test.body for b, _ in members))
        yield finding("test_deleted", path, "", 0, f"{path} and its {count} were deleted.", fact)


def _changes(before: _Place, after: _Place | None) -> Iterator[IntegrityFinding]:
    name = before.test.name
    if after is None:
        fact = digest_of("gone", before.test.body)
        yield finding("test_deleted", before.path, name, before.test.line, f"The test {name} was deleted.", fact)
    elif not after.collected:
        where = "" if _identity(after) == _identity(before) else f" (it is {after.test.name} in {after.path} now)"
        message = f"The test {name} is no longer collected{where}."
        fact = digest_of(after.path, after.test.name, after.test.body)
        yield finding("test_uncollected", after.path, name, after.test.line, message, fact)
    elif before.test.body != after.test.body or before.test != after.test:
        yield from _weaker(before.test, after)


def _weaker(before: TestFact, after: _Place) -> Iterator[IntegrityFinding]:
    test = after.test
    fact = digest_of(test.body, *test.expected, *test.cases)
    reason = _weakness(before, test)
    if reason:
        message = f"The test {test.name} proves less than before: {reason}."
        yield finding("test_weakened", after.path, test.name, test.line, message, fact)
        return
    change = _changed_expectation(before, test)
    if change:
        line, detail = change
        message = f"The test {test.name} expects something else than before: {detail}."
        yield finding("test_modified", after.path, test.name, line, message, fact)


def _weakness(before: TestFact, after: TestFact) -> str:
    if after.empty and not before.empty:
        return "its body does nothing now"
    if after.asserts < before.asserts and len(after.expected) >= len(before.expected):
        return "what it asserts runs only under a condition now"
    if after.asserts < before.asserts:
        return f"{before.asserts} assertion{'s' if before.asserts > 1 else ''} before, {after.asserts} now"
    if len(after.cases) < len(before.cases):
        return f"{len(before.cases)} cases before, {len(after.cases)} now"
    return ""


def _changed_expectation(before: TestFact, after: TestFact) -> tuple[int, str] | None:
    """The line and a description of what is expected differently; None where nothing that was expected is gone.

    Literals may move from an assertion into a variable: then the body as a whole has the same ones.
    """
    lost_cases = Counter(before.cases) - Counter(after.cases)
    lost = Counter(_flat(before.expected)) - Counter(_flat(after.expected))
    if not lost_cases and (not lost or (before.tokens == after.tokens and not _added(before, after))):
        return None
    came = Counter(after.cases) - Counter(before.cases) if lost_cases else _added(before, after)
    line = after.line + (0 if lost_cases else _changed_assertion(before, after))
    return line, f"{_named(lost_cases or lost)} went" + (f", {_named(came)} came" if came else "")


_SIGNS = {
    "Eq": "==",
    "NotEq": "!=",
    "Lt": "<",
    "LtE": "<=",
    "Gt": ">",
    "GtE": ">=",
    "Is": "is",
    "IsNot": "is not",
    "In": "in",
    "NotIn": "not in",
    "Not": "not",
}


def _named(tokens: Counter[str]) -> str:
    """For a person: the literals before the comparisons, and not more than three."""
    words = [f"`{_SIGNS.get(t, t)}`" for t in sorted(tokens, key=lambda t: (t in _SIGNS, t))]
    return ", ".join(words[:3]) + (f" and {len(words) - 3} more" if len(words) > 3 else "")


def _added(before: TestFact, after: TestFact) -> Counter[str]:
    return Counter(_flat(after.expected)) - Counter(_flat(before.expected))


def _flat(expected: Sequence[str]) -> list[str]:
    return [token for one in expected for token in one.split(SEPARATOR) if token]


def _changed_assertion(before: TestFact, after: TestFact) -> int:
    had = Counter(before.expected)
    for text, offset in zip(after.expected, after.lines, strict=False):
        if not had[text]:
            return offset
        had[text] -= 1
    return 0


# --------------------------------------------------------------------------------------------- skips


def _skips(
    baseline: Sequence[TestFileFact], now: Sequence[TestFileFact], pairs: Sequence[_Pair]
) -> tuple[list[IntegrityFinding], set[str]]:
    """Skips that the baseline did not have, of what the baseline did have; and the simple names of those tests."""
    came_from = _origins(pairs)
    old = {f.path: f for f in baseline}
    found: list[IntegrityFinding] = []
    names: set[str] = set()
    for file in sorted(now, key=lambda f: f.path):
        before = old.get(file.path)
        if before is not None and before.skips == file.skips:
            continue
        told: set[tuple[str, str]] = set()
        for skip in _new_skips(file, old, came_from):
            if (skip.scope, skip.text) not in told:
                found.append(_skip_finding(file, skip))
            told.add((skip.scope, skip.text))
            names |= {t.simple_name for t in file.tests if _covers(skip, t.name)}
    return found, names


def _origins(pairs: Sequence[_Pair]) -> dict[tuple[str, str], tuple[str, str]]:
    """Where each of today's tests and classes was at the baseline."""
    origins: dict[tuple[str, str], tuple[str, str]] = {}
    for before, after in pairs:
        if after is None:
            continue
        origins[_identity(after)] = _identity(before)
        scope, old_scope = enclosing(after.test.name), enclosing(before.test.name)
        origins.setdefault((after.path, scope), (before.path, old_scope))
    return origins


def _new_skips(
    file: TestFileFact, old: dict[str, TestFileFact], came_from: dict[tuple[str, str], tuple[str, str]]
) -> Iterator[SkipFact]:
    had: Counter[tuple[str, str, str]] = Counter(
        (f.path, s.scope, s.text) for f in old.values() for s in f.skips if f.path in _sources(file, came_from)
    )
    for skip in file.skips:
        origin = came_from.get((file.path, skip.scope), (file.path, skip.scope))
        if had[(*origin, skip.text)]:
            had[(*origin, skip.text)] -= 1
        elif _was_there(skip, origin, old):
            yield skip


def _sources(file: TestFileFact, came_from: dict[tuple[str, str], tuple[str, str]]) -> set[str]:
    return {file.path} | {before[0] for after, before in came_from.items() if after[0] == file.path}


def _was_there(skip: SkipFact, origin: tuple[str, str], old: dict[str, TestFileFact]) -> bool:
    before = old.get(origin[0])
    if before is None:
        return False
    if skip.always or not skip.scope:
        return bool(before.tests)
    return any(_covers_name(origin[1], t.name) for t in before.tests)


def _covers(skip: SkipFact, name: str) -> bool:
    return skip.always or not skip.scope or _covers_name(skip.scope, name)


def _covers_name(scope: str, name: str) -> bool:
    return name == scope or name.startswith((f"{scope}.", f"{scope} > "))


def _skip_finding(file: TestFileFact, skip: SkipFact) -> IntegrityFinding:
    what = f"{skip.scope} is" if skip.scope else "The tests of this file are"
    name = f"{skip.scope}:{skip.text}"
    return finding("test_skipped", file.path, name, skip.line, f"{what} skipped now: {skip.text}.", digest_of(name))
