"""Whether what the proof rests on, apart from the files that trials divide, is still what it was.

Tests, their data and the configuration of their runners are tried, not read (`core.trials`). What no trial can put
back is compared: the goal file, files that the goal protects, programs and packages that the workspace's revisions
don't cover. `compare` holds the facts at the run's baseline against those now.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from donewhen.core.evidence import Problem
from donewhen.core.goal import Goal
from donewhen.core.words import sentence
from donewhen.core.work import RunWarning

# What the proof rests on, apart from the files that trials divide, as values: protected files, programs, the
# environment.
#
# Facts are kept in the ledger as a run's baseline, so they are small: digests, lines, and short texts where a person
# is to be shown what changed.


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
"""What trials found, not what was read (`core.trials`); `not_tried`: no trial could tell, and the proof changed;
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
    into after a turn; `lost` the names of the tests that are nowhere any more (`core.lost_tests`), by the file that
    they were in."""

    lines: Mapping[str, int] = field(default_factory=dict[str, int])
    came: frozenset[str] = frozenset()
    gone: tuple[str, ...] = ()
    unread: tuple[str, ...] = ()
    lost: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])


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


# Text that came up during a run and addresses the judge. What stood there before is shown and blocks nothing.


STOOD_THERE = "it was there before the run began"
BY_A_PERSON = "a person wrote it"


def compare_addressing(baseline: IntegrityFacts, now: IntegrityFacts) -> Iterator[IntegrityFinding]:
    """One finding for each such text of a file, a name or an output. What is told twice is the same text."""
    known = {f.quote: f.standing or STOOD_THERE for f in baseline.addressing}
    fallback = now.goal_file.path if now.goal_file is not None else ""
    for fact in now.addressing:
        where = fact.path
        if fact.source:
            by_source = {"name": f"The name of {fact.path}", "test": "The name of a test"}
            where = by_source.get(fact.source, fact.source)
        text = f"{where} addresses the judge: “{fact.quote}”. {sentence(fact.why)}."
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


# Ways in which a command passes no matter what it checks: exit codes that are swallowed, tests that don't run.


# An exit code of 0 whatever happened, or nothing run at all: no person writes these into a proof without saying so.
_SWALLOWED: tuple[tuple[str, str], ...] = (
    ("|| true", r"\|\|\s*(?:/(?:usr/)?bin/)?(?:true|:|echo|printf|exit\s+0)(?=[\s;)'\"]|$)"),
    ("; true", r";\s*(?:/(?:usr/)?bin/)?(?:true|:)\s*[;)'\"]?\s*$"),
    ("exit 0", r"(?:^|[;&\s{(])exit\s+0(?=[\s;)}'\"]|$)"),
    ("--collect-only", r"(?<![\w-])--(?:collect-only|collectonly|co)(?![\w-])"),
    ("--exit-zero", r"(?<![\w-])--exit-zero(?![\w])"),
    ("--passWithNoTests", r"--passWithNoTests|--suppress-no-test-exit-code|--pass-with-no-tests"),
    ("--no-run", r"(?<![\w-])--no-run(?![\w-])"),
    ("--listTests", r"(?<![\w-])--list-?[Tt]ests(?![\w-])"),
)
"""By the names that a person knows them by."""


# Compares what is there now with the baseline, and moves it where a person changed something.


def compare(baseline: IntegrityFacts, now: IntegrityFacts) -> tuple[IntegrityFinding, ...]:
    """What changed since the baseline, ordered by path and line; empty if nothing did.

    Pure, and independent of the order of the facts. Each finding's key is stable; its `fact` changes with what is
    found.
    """
    found = [
        *_compare_programs(baseline, now),
        *_compare_files("environment", baseline.environment, now.environment),
        *_compare_settings(baseline.settings, now.settings),
        *_compare_goal_file(baseline.goal_file, now.goal_file),
        *compare_addressing(baseline, now),
    ]
    before, after = baseline.protected, now.protected
    if baseline.protect != now.protect:
        # The globs themselves changed: only what both times were looked at tells of a change.
        both = {f.path for f in before} & {f.path for f in after}
        before, after = (tuple(f for f in side if f.path in both) for side in (before, after))
    protected = {one.path: one for one in _compare_files("protected_file", before, after)}
    # A protected file's one finding stands for all others of that file; it takes their first line.
    first: dict[str, int] = {}
    for one in found:
        first[one.path] = min(one.line, first.get(one.path, one.line))
    merged = {one.key: one for one in found if one.path not in protected}
    merged |= {one.key: replace(one, line=first.get(path, one.line)) for path, one in protected.items()}
    return tuple(sorted(merged.values(), key=lambda f: (f.path, f.line, f.kind, f.key)))


def moved(baseline: IntegrityFacts, now: IntegrityFacts, paths: Collection[str]) -> IntegrityFacts:
    """The baseline after a person changed `paths`: their facts are those of `now`, all others stay.

    A change of the goal file also brings what is looked for now: the programs of new checks, other protected files.
    """
    wanted = frozenset(paths)
    base = _amended(baseline, now) if now.goal_file is not None and now.goal_file.path in wanted else baseline
    # A program may be another file now: it is the person's if either is.
    programs = list(base.programs)
    found = {(p.check_id, p.name): p for p in now.programs}
    for at, was in enumerate(programs):
        current = found.get((was.check_id, was.name))
        if current is not None and {was.path, current.path} & wanted:
            programs[at] = current
    # What addresses the judge in those files is the person's now.
    theirs = [replace(f, standing=f.standing or BY_A_PERSON) for f in now.addressing if f.path and f.path in wanted]
    return replace(
        base,
        protected=_swapped(base.protected, now.protected, wanted),
        environment=_swapped(base.environment, now.environment, wanted),
        programs=tuple(programs),
        addressing=(*(f for f in base.addressing if not f.path or f.path not in wanted), *theirs),
    )


def baseline_warnings(goal: Goal) -> tuple[RunWarning, ...]:
    """The goal is its person's: a command in it that passes no matter what it checks is a warning, not a finding."""
    warnings: list[RunWarning] = []
    for check in goal.checks:
        masks = [name for name, pattern in _SWALLOWED if re.search(pattern, check.command)]
        if check.kind == "command" and masks:
            told = f"`{check.command}` passes no matter what it checks ({', '.join(masks)}): it proves little."
            remedy = "Remove that from the goal's command if it is not intended."
            warnings.append(RunWarning("masked_check", f"{told} {remedy}"))
    return tuple(warnings)


# -------------------------------------------------------------------------------------- moving the baseline


def _swapped(base: Sequence[FileFact], now: Sequence[FileFact], wanted: frozenset[str]) -> tuple[FileFact, ...]:
    kept = [f for f in base if f.path not in wanted]
    return tuple(sorted([*kept, *(f for f in now if f.path in wanted)], key=lambda f: f.path))


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
    kind: Literal["environment", "protected_file"], before: Iterable[FileFact], after: Iterable[FileFact]
) -> Iterator[IntegrityFinding]:
    old, new = {f.path: f for f in before}, {f.path: f for f in after}
    for path in sorted(old.keys() | new.keys()):
        was, current = old.get(path), new.get(path)
        if was is not None and current is not None and was.digest == current.digest:
            continue
        change = "added" if was is None else "deleted" if current is None else "changed"
        fact = digest_of("gone" if current is None else current.digest)
        message = f"{path} was {change}: it runs inside every check or is part of its test runner."
        if kind == "protected_file":
            message = f"{path} is protected by the goal and was {change}."
        yield finding(kind, path, "", 0, message, fact)


def _compare_settings(before: Iterable[FileFact], after: Iterable[FileFact]) -> Iterator[IntegrityFinding]:
    """Files that were looked for both times."""
    old = {f.path: f for f in before}
    for current in sorted(after, key=lambda f: f.path):
        was = old.get(current.path)
        if was is not None and was.digest != current.digest:
            change = "added" if not was.digest else "deleted" if not current.digest else "changed"
            installed = "node_modules/" in current.path
            what = "it is part of a test runner" if installed else "it configures the tools that check"
            message = f"{current.path} was {change}: {what}."
            yield finding("environment", current.path, "", 0, message, digest_of("settings", current.digest))


def _compare_goal_file(was: FileFact | None, current: FileFact | None) -> Iterator[IntegrityFinding]:
    if was is None or (current is not None and current.path == was.path and current.digest == was.digest):
        return
    change = "deleted" if current is None or not current.digest else "changed"
    message = f"The goal file {was.path} was {change} by the worker, which does not amend the goal."
    fact = digest_of("gone" if current is None else current.digest)
    line = first_change(was.text, "" if current is None else current.text)
    yield finding("goal_file", was.path, "", line, message, fact)


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
        if not current.digest:
            message = f"The program `{current.name}`, which was {was.path}, is gone."
        elif was.path != current.path:
            message = f"The program `{current.name}` is {current.path} now; it was {was.path or 'not there'}."
        else:
            message = f"The program `{current.name}` ({current.path}) has changed."
        yield finding("check_program", path, current.name, 0, message, digest_of(current.path, current.digest))
