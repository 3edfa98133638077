"""What the proof of a goal rests on, in a workspace: which files are proof, and why."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from posixpath import dirname

from donewhen.core.goal import Check, Goal
from donewhen.core.proof_files import ProofFiles, has_role, holds_tests, mentioned_files, named_files
from donewhen.core.resting import Resting, resting
from donewhen.core.test_data import data_of_tests, is_data, is_source, may_be_data
from donewhen.ports import Workspace

MAX_TASK_FILE = 262_144
MAX_SOURCES = 5_000


async def scripts_of(
    workspace: Workspace, checks: Iterable[Check], known: Collection[str], base: str | None = None
) -> frozenset[str]:
    """The scripts of the workspace that checks run, by their names or by what those stand for; with `base` also by
    what they stood for then. `known` are the paths there are."""
    found = set(named_files(checks, known.__contains__))
    for path in sorted(known):
        if not has_role(path, "task", "shared"):
            continue
        texts = [await asyncio.to_thread(workspace.read, path)]
        texts += [await workspace.file_at(base, path)] if base is not None else []
        for text in dict.fromkeys(texts):
            if text is not None and len(text) <= MAX_TASK_FILE:
                found |= mentioned_files(text.decode("utf-8", "replace"), dirname(path), known.__contains__)
    return frozenset(found)


async def data_of(
    workspace: Workspace, candidates: Iterable[str], known: Collection[str], before: Mapping[str, bytes | None]
) -> frozenset[str]:
    """The files among the candidates that the tests of the workspace name, and its product doesn't. `known` are the
    paths there are, `before` the files that changed as they were: what came to name a file since counts for nothing.
    None where there is more code than is read."""
    wanted = [path for path in candidates if may_be_data(path)]
    if not wanted:
        return frozenset()
    there = {
        *(path for path in known if path not in before),
        *(path for path, was in before.items() if was is not None),
    }
    sources = [path for path in there if is_source(path)]
    tests = [path for path in there if has_role(path, "test", "runner") and not is_data(path)]
    if len(sources) > MAX_SOURCES or len(tests) > MAX_SOURCES:
        return frozenset()

    def texts(paths: Iterable[str]) -> Iterator[str]:
        for path in paths:
            content = before[path] if path in before else workspace.read(path)
            yield (content or b"")[:MAX_TASK_FILE].decode("utf-8", "replace")

    return await asyncio.to_thread(lambda: data_of_tests(wanted, sources, texts(tests), texts(sources)))


async def rests_on(goal: Goal, workspace: Workspace, paths: Sequence[str]) -> Resting:
    """What the goal's proof rests on among the covered `paths`."""
    known = frozenset(paths)
    files = replace(
        ProofFiles.of(goal, await scripts_of(workspace, goal.checks, known)),
        data=await data_of(workspace, known, known, {}),
    )
    inline = [path for path in paths if files.standing(path).role == "inline"]
    holding = await asyncio.to_thread(lambda: {path for path in inline if _holds(workspace, path)})
    return resting(files, paths, holding)


def _holds(workspace: Workspace, path: str) -> bool:
    text = workspace.read(path)
    return text is not None and holds_tests(path, text.decode("utf-8", "replace"))
