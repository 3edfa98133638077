"""Names of test files that stand for something else than before: what was imported is defined there now."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from donewhen.core.integrity_facts import IntegrityFacts, IntegrityFinding, TestFileFact
from donewhen.core.integrity_tests import digest_of, finding

_OWN = frozenset({"def", "=", "patched", "package"})
_PATCHED = "patched"
_PACKAGE = "package"


def compare_bindings(baseline: IntegrityFacts, now: IntegrityFacts) -> Iterator[IntegrityFinding]:
    """One finding for each name that the file read at the baseline, from elsewhere, and that something new binds."""
    there = {f.path: f for f in now.tests}
    yield from _patches(baseline, now)
    for file in baseline.tests:
        after = there.get(file.path)
        if after is None or after.bindings == file.bindings:
            continue
        if _in_package(file) and not _in_package(after) and after.collected:
            message = f"A folder of {file.path} is not a package any more: unittest's discovery passes it over."
            yield finding("test_uncollected", file.path, "package", 0, message, digest_of("package", file.path))
        had = {name: sources for name, sources in _by_name(file).items() if not _OWN.issuperset(sources)}
        for name, current in sorted(_by_name(after).items()):
            came = {what: line for what, line in current.items() if what not in had.get(name, {})}
            if name in had and came:
                yield _finding(file.path, name, tuple(had[name]), came)


def _in_package(file: TestFileFact) -> bool:
    return any(what == _PACKAGE for _, _, what in file.bindings)


def _patches(baseline: IntegrityFacts, now: IntegrityFacts) -> Iterator[IntegrityFinding]:
    """What test code gives another value when it is imported, and no test code gave one at the baseline."""
    known = {name for file in baseline.tests for name, _, what in file.bindings if what == _PATCHED}
    for file in now.tests:
        for name, line, what in file.bindings:
            if what == _PATCHED and name not in known:
                told = name.replace(":", ".")
                message = f"{file.path} gives `{told}` another value: tests then prove that, and not the product."
                yield finding("test_modified", file.path, f"patch:{name}", line, message, digest_of(name))


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
