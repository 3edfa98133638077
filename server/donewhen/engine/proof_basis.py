"""What the proof of a goal rests on, in a workspace: which files are proof, and why."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from posixpath import basename, dirname

from donewhen.core.goal import Check, Goal
from donewhen.core.proof_files import (
    ProofBasis,
    ProofFiles,
    data_of_tests,
    has_role,
    holds_tests,
    is_data,
    is_prose,
    may_be_data,
    mentioned_files,
    named_files,
    names_files,
    proof_basis,
)
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
    workspace: Workspace,
    goal: Goal,
    candidates: Iterable[str],
    known: Collection[str],
    before: Mapping[str, bytes | None],
) -> frozenset[str]:
    """The files among the candidates that the tests of the workspace name, and its product doesn't; what a check's own
    script names is more often what it checks. `known` are the paths there are, `before` the files that changed as they
    were: what came to name a file since counts for nothing, and prose that the goal names is what it is about. None
    where there is more code than is read."""

    def text(path: str) -> str:
        content = before[path] if path in before else workspace.read(path)
        return (content or b"")[:MAX_TASK_FILE].decode("utf-8", "replace")

    def may_be() -> list[str]:
        likely = [path for path in candidates if is_data(path) or path in before]
        return [path for path in likely if may_be_data(path, None if is_data(path) else text(path))]

    said = [goal.title, goal.objective, *(f"{one.text} {' '.join(one.files)}" for one in goal.requirements)]
    told = " ".join(said).casefold()
    possible = await asyncio.to_thread(may_be)
    wanted = [path for path in possible if not (is_prose(path) and basename(path).casefold() in told)]
    if not wanted:
        return frozenset()
    there = {
        *(path for path in known if path not in before),
        *(path for path, was in before.items() if was is not None),
    }
    mine = frozenset(wanted)
    sources = [path for path in there if names_files(path) and path not in mine]
    tests = [path for path in there if has_role(path, "test", "runner") and not is_data(path)]
    if len(sources) > MAX_SOURCES or len(tests) > MAX_SOURCES:
        return frozenset()

    return await asyncio.to_thread(lambda: data_of_tests(wanted, sources, map(text, tests), map(text, sources)))


async def proof_basis_of(goal: Goal, workspace: Workspace, paths: Sequence[str]) -> ProofBasis:
    """What the goal's proof rests on among the covered `paths`."""
    known = frozenset(paths)
    scripts = await scripts_of(workspace, goal.checks, known)
    files = replace(ProofFiles.of(goal, scripts), data=await data_of(workspace, goal, known, known, {}))
    inline = [path for path in paths if files.classify(path).role == "inline"]
    holding = await asyncio.to_thread(lambda: {path for path in inline if _holds(workspace, path)})
    return proof_basis(files, paths, holding, goal.requirements)


def _holds(workspace: Workspace, path: str) -> bool:
    text = workspace.read(path)
    return text is not None and holds_tests(path, text.decode("utf-8", "replace"))
