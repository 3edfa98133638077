"""Reading what a judge is to be shown, before the question is made of it."""

from __future__ import annotations

import asyncio
import heapq
from collections.abc import Sequence

from donewhen.core.errors import WorkspaceError
from donewhen.core.evidence import Evidence, ObservedResponse
from donewhen.core.globs import any_matches
from donewhen.core.goal import Requirement
from donewhen.judges.blocks import Material
from donewhen.judges.normalising import Normaliser
from donewhen.judges.relevance import mentioned, mentions, path_score, requirement_words
from donewhen.ports import AuditContext, JudgeTask

MAX_NAMED = 8
MAX_CHANGED = 16
MAX_GUESSED = 3
MAX_FILES = 60


async def gather(
    task: JudgeTask,
    requirements: tuple[Requirement, ...],
    context: AuditContext,
    normaliser: Normaliser,
    diff: str,
    looks: bool,
) -> Material:
    """The material for these requirements, the files that are worth showing read. `looks`: the judge may look."""
    files, changed = tuple(context.files()), tuple(await context.changed())
    named = MAX_NAMED if task.kept else MAX_FILES  # a judge that is asked alone is shown what it was given
    chosen = await asyncio.to_thread(chosen_files, requirements, files, changed, named)
    contents: dict[str, bytes] = {}
    for path in chosen:
        try:
            contents[path] = await context.read(path)
        except WorkspaceError:
            continue  # it changed meanwhile, or can't be read: it is not evidence then
    return Material(
        requirements,
        task.revision,
        _usable(task),
        files,
        tuple(sorted(changed)),
        diff,
        contents,
        normaliser,
        task.cited,
        looks,
    )


def _usable(task: JudgeTask) -> tuple[Evidence, ...]:
    """A goal that isn't about the response never sees one: it would prove nothing, and persuade."""
    if task.goal.about == "response":
        return task.evidence
    return tuple(one for one in task.evidence if not isinstance(one.observation, ObservedResponse))


def chosen_files(
    requirements: Sequence[Requirement], files: Sequence[str], changed: Sequence[str], most: int = MAX_NAMED
) -> tuple[str, ...]:
    """For each requirement the files that it names; those that changed; where neither gives one, the files whose paths
    share words with a requirement. Bounded, each requirement's first choice before any second one."""
    wanted = [requirement_words(requirement) for requirement in requirements]
    every = frozenset[str]().union(*wanted)
    covered = set(files)
    moved = _best([path for path in changed if path in covered], every, MAX_CHANGED)
    choices = [_named(one, files, own, set(changed), most) for one, own in zip(requirements, wanted, strict=True)]
    if not moved:
        choices = [
            choice or _best([path for path in files if path_score(path, own)], own, MAX_GUESSED)
            for choice, own in zip(choices, wanted, strict=True)
        ]
    in_turn = [choice[place] for place in range(most) for choice in choices if place < len(choice)]
    return tuple(dict.fromkeys((*in_turn[: MAX_FILES - len(moved)], *moved)))


def _named(
    requirement: Requirement, files: Sequence[str], wanted: frozenset[str], changed: set[str], most: int
) -> list[str]:
    said = mentioned(requirement)
    if not said and not requirement.files:
        return []
    found = [path for path in files if mentions(said, path) or any_matches(requirement.files, path)]
    found.sort(key=lambda path: (not mentions(said, path), path not in changed, -path_score(path, wanted), path))
    return found[:most]


def _best(paths: Sequence[str], wanted: frozenset[str], most: int) -> list[str]:
    return heapq.nsmallest(most, paths, key=lambda path: (-path_score(path, wanted), path))
