"""What the proof rests on, apart from the files that trials divide, as values: protected files, programs, the
environment.

Facts are kept in the ledger as a run's baseline, so they are small: digests, lines, and short texts where a person
is to be shown what changed.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from donewhen.core.evidence import Problem

FindingKind = Literal[
    "protected_file",
    "check_program",
    "environment",
    "goal_file",
    "prompt_injection",
    "original_fails",
    "passes_without_work",
    "failure_unreported",
    "nothing_run",
    "held_out_fails",
    "proof_rewritten",
    "not_tried",
    "suppressed",
    "special_case",
]
FormerKind = Literal[
    "test_deleted",
    "test_modified",
    "test_weakened",
    "test_skipped",
    "test_uncollected",
    "fewer_tests",
    "no_tests",
    "check_config",
    "exit_masked",
]
"""What was found by reading before trials were made: older records have such findings, and nothing makes new ones."""

KnownKind = Literal[FindingKind, FormerKind]

TRIAL_FINDINGS: frozenset[FindingKind] = frozenset((
    "original_fails", "passes_without_work", "failure_unreported", "nothing_run", "held_out_fails", "proof_rewritten",
    "not_tried", "suppressed", "special_case",
))  # fmt: skip
"""What trials found, not what was read (`core/trials.py`); `not_tried`: no trial could tell, and the proof changed;
`suppressed`: there are more comments by which a check's tool passes over something, `special_case`: the product looks
at its tests; no trial sees either."""

PROOF_FINDINGS: frozenset[FindingKind] = TRIAL_FINDINGS - {"suppressed", "special_case", "held_out_fails"}
"""Those that are about the proof: who accepts one takes the proof as it is for the original."""


@dataclass(frozen=True, slots=True)
class IntegrityFinding:
    """One way in which the proof was changed. `key` is its identity: the same finding again has the same key.

    `path` is relative to the workspace, `line` 0-based. `fact` is a digest of what is found now: an acceptance holds
    for that fact only. `standing` says why it is shown but nobody's doing in this run: it counts as accepted. `diff`
    is how its file changed since the last tree that was kept before it, bounded; empty if that isn't known. `places`
    (bounded) are the tests that failed in a trial, where they stand in the current files; empty if none is known.
    """

    key: str
    kind: KnownKind
    path: str
    line: int
    message: str
    fact: str = ""
    standing: str = ""
    diff: str = ""
    places: tuple[Problem, ...] = ()


def digest_of(*parts: str) -> str:
    """A short identity of texts."""
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]


def finding(kind: FindingKind, path: str, name: str, line: int, message: str, fact: str) -> IntegrityFinding:
    """A finding whose key is its kind, its path and its name."""
    resolve = "Undo the change, or accept it if it is intended."
    return IntegrityFinding(f"{kind}:{path}:{name}", kind, path, max(line, 0), f"{message} {resolve}", fact)


def first_change(before: str, after: str) -> int:
    """The line of a changed text, 0-based, that came first; where none came, the first that another one stood at."""
    old, new = before.splitlines(), after.splitlines()
    had = {line.strip() for line in old}
    added = (i for i, line in enumerate(new) if line.strip() and line.strip() not in had)
    other = (i for i, (a, b) in enumerate(zip(old, new, strict=False)) if a != b)
    return next(added, next(other, 0))


@dataclass(frozen=True, slots=True)
class ChangedProof:
    """The proof files that a worker has changed so far. `lines` are those that are there, with the line, 0-based, that
    differs first; `came` those of them that are new; `gone` those that were there; `unread` those beyond what is looked
    into after a turn."""

    lines: Mapping[str, int] = field(default_factory=dict[str, int])
    came: frozenset[str] = frozenset()
    gone: tuple[str, ...] = ()
    unread: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class FileFact:
    """A file whose content counts: a protected file, the goal file, what runs inside every check.

    `path` is relative to the workspace, absolute outside of it. `digest` is empty for a file that isn't there; `text`
    is what it says, bounded, where a person is shown which line changed.
    """

    path: str
    digest: str
    text: str = ""


@dataclass(frozen=True, slots=True)
class ProgramFact:
    """What a check starts by a name: where that program is, and a digest of its content; both are empty if there is
    none. `path` is relative to the workspace, absolute outside of it."""

    check_id: str
    name: str
    digest: str = ""
    path: str = ""


@dataclass(frozen=True, slots=True)
class AddressingFact:
    """Text that addresses the judge, quoted so that it can do no harm.

    `source` is empty for a file's text, `name` for its name, `test` for a test's, and otherwise says what printed it;
    then `path` may be empty. `why` is half a sentence. `standing` is as in IntegrityFinding.
    """

    path: str
    line: int
    quote: str
    why: str
    source: str = ""
    standing: str = ""


@dataclass(frozen=True, slots=True)
class IntegrityFacts:
    """What was read at one moment. `environment` are the files that run inside every check unasked, and the packages
    of test runners; `settings` the files in the user's home that tools read, each with an empty digest where it isn't
    there, and packages that may be installed on the way; `protect` are the globs that the protected files were looked
    for by."""

    goal_file: FileFact | None = None
    protected: tuple[FileFact, ...] = ()
    programs: tuple[ProgramFact, ...] = ()
    environment: tuple[FileFact, ...] = ()
    settings: tuple[FileFact, ...] = ()
    protect: tuple[str, ...] = ()
    addressing: tuple[AddressingFact, ...] = ()
