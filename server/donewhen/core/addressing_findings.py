"""Text that came up during a run and addresses the judge. What stood there before is shown and blocks nothing."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace

from donewhen.core.integrity_facts import (
    AddressingFact,
    FileFact,
    IntegrityFacts,
    IntegrityFinding,
    digest_of,
    finding,
)

STOOD_THERE = "it stood there before the run began"
BY_A_PERSON = "a person wrote it"


def compare_addressing(baseline: IntegrityFacts, now: IntegrityFacts) -> Iterator[IntegrityFinding]:
    """One finding for each such text of a file, a name or an output. What is told twice is the same text."""
    known = {f.quote: f.standing or STOOD_THERE for f in baseline.addressing}
    fallback = now.goal_file.path if now.goal_file is not None else ""
    for fact in now.addressing:
        text = f"{_place(fact)} addresses the judge: “{fact.quote}”. {fact.why[0].upper()}{fact.why[1:]}."
        name = f"{fact.source}:{digest_of(fact.quote)}"
        found = finding("prompt_injection", fact.path or fallback, name, fact.line, text, digest_of(fact.quote))
        standing = fact.standing or known.get(fact.quote, "")
        yield replace(found, message=text, standing=standing) if standing else found


def shown_addressing(
    facts: Sequence[AddressingFact], goal_path: str | None, standing: str
) -> tuple[IntegrityFinding, ...]:
    """Where nothing is compared: all of it, and none of it blocks, for the reason `standing`."""
    now = IntegrityFacts(
        goal_file=None if goal_path is None else FileFact(goal_path, ""),
        addressing=tuple(replace(fact, standing=standing) for fact in facts),
    )
    return tuple(compare_addressing(IntegrityFacts(), now))


def moved_addressing(base: IntegrityFacts, now: IntegrityFacts, wanted: Collection[str]) -> tuple[AddressingFact, ...]:
    """The baseline's, after a person changed the files `wanted`: what those say now is the person's."""
    theirs = [replace(f, standing=f.standing or BY_A_PERSON) for f in now.addressing if f.path and f.path in wanted]
    return (*(f for f in base.addressing if not f.path or f.path not in wanted), *theirs)


def _place(fact: AddressingFact) -> str:
    if not fact.source:
        return fact.path
    return {"name": f"The name of {fact.path}", "test": "The name of a test"}.get(fact.source, fact.source)
