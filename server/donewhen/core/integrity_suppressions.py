"""Lines by which a check proves less: linters pass sources over, or a program reaches into the runner that tests it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from donewhen.core.integrity_facts import FileFact, IntegrityFacts, IntegrityFinding
from donewhen.core.integrity_tests import digest_of, finding


def compare_suppressions(baseline: IntegrityFacts, now: IntegrityFacts) -> Iterator[IntegrityFinding]:
    """One finding for each file with such a line that the baseline did not have; lines that went are no finding."""
    old = {(f.path, f.runner): f for f in baseline.suppressions}
    both = set(baseline.runners) & set(now.runners)
    reached = frozenset(x.strip() for f in baseline.suppressions if not f.runner for x in f.text.splitlines())
    for fact in sorted(now.suppressions, key=lambda f: (f.path, f.runner)):
        was = old.get((fact.path, fact.runner))
        # What the project does in another file as well is its own: a plugin of a test runner imports pluggy.
        came = _came(was, fact, frozenset() if fact.runner else reached)
        if came is None or (fact.runner and fact.runner not in both):
            continue
        line, text = came
        if fact.runner:
            message = f"{fact.runner} no longer checks all that it checked: {fact.path} says `{text}` now."
        else:
            message = f"{fact.path} reaches into the test runner that it runs in: `{text}`."
        name = f"{fact.runner}:unchecked" if fact.runner else "reaches"
        yield finding("check_config" if fact.runner else "environment", fact.path, name, line, message, digest_of(text))


def _came(was: FileFact | None, current: FileFact, known: frozenset[str]) -> tuple[int, str] | None:
    had = Counter(line.strip() for line in (was.text if was is not None else "").splitlines())
    for number, line in enumerate(current.text.splitlines()):
        text = line.strip()
        if text and not had[text] and text not in known:
            return current.line + number, text[:120]
        had[text] -= bool(text)
    return None
