"""How linters came to check less: lines that ignore sources which they checked, or that ask them for silence."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from donewhen.core.integrity_facts import FileFact, IntegrityFacts, IntegrityFinding
from donewhen.core.integrity_tests import digest_of, finding


def compare_suppressions(baseline: IntegrityFacts, now: IntegrityFacts) -> Iterator[IntegrityFinding]:
    """One finding for each file with such a line that the baseline did not have; lines that went are no finding."""
    old = {(f.path, f.runner): f for f in baseline.suppressions}
    both = set(baseline.runners) & set(now.runners)
    for fact in sorted(now.suppressions, key=lambda f: (f.path, f.runner)):
        was = old.get((fact.path, fact.runner))
        came = _came(was, fact)
        if fact.runner not in both or came is None:
            continue
        line, text = came
        message = f"{fact.runner} no longer checks all that it checked: {fact.path} says `{text}` now."
        yield finding("check_config", fact.path, f"{fact.runner}:unchecked", line, message, digest_of(fact.digest))


def _came(was: FileFact | None, current: FileFact) -> tuple[int, str] | None:
    had = Counter(line.strip() for line in (was.text if was is not None else "").splitlines())
    for number, line in enumerate(current.text.splitlines()):
        text = line.strip()
        if text and not had[text]:
            return current.line + number, text[:120]
        had[text] -= bool(text)
    return None
