"""Names of test files that stand for something else than before: what was imported is defined there now."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from donewhen.core.integrity_facts import IntegrityFacts, IntegrityFinding, TestFileFact
from donewhen.core.integrity_tests import digest_of, finding

_OWN = frozenset({"def", "="})


def compare_bindings(baseline: IntegrityFacts, now: IntegrityFacts) -> Iterator[IntegrityFinding]:
    """One finding for each name that the file read at the baseline, from elsewhere, and that something new binds."""
    there = {f.path: f for f in now.tests}
    for file in baseline.tests:
        after = there.get(file.path)
        if after is None or after.bindings == file.bindings:
            continue
        had = {name: sources for name, sources in _by_name(file).items() if not _OWN.issuperset(sources)}
        for name, current in sorted(_by_name(after).items()):
            came = {what: line for what, line in current.items() if what not in had.get(name, {})}
            if name in had and came:
                yield _finding(file.path, name, tuple(had[name]), came)


def _finding(path: str, name: str, had: tuple[str, ...], came: dict[str, int]) -> IntegrityFinding:
    what, line = max(came.items(), key=lambda item: item[1])
    now = {"=": "assigned in the file", "def": "defined in the file"}.get(what, f"`{what}`")
    was = "Python's own" if had == ("builtin",) else " or ".join(f"`{h}`" for h in had)
    message = f"`{name}`, which tests of {path} use, was {was} and is {now} now."
    return finding("test_modified", path, f"name:{name}", line, message, digest_of(name, *sorted(came)))


def _by_name(file: TestFileFact) -> dict[str, dict[str, int]]:
    found: dict[str, dict[str, int]] = defaultdict(dict)
    for name, line, what in file.bindings:
        found[name][what] = line
    return found
