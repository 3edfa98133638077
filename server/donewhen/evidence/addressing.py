"""Looks for text that addresses the judge wherever the judge may come across it: in the files that requirements
name and those that changed, in their names, in tests' names and messages, and in what checks and commands printed.

What is read is bounded, and kept by its content: an unchanged workspace is read once.
"""

from __future__ import annotations

import asyncio
import hashlib
import re
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from donewhen.core.addressing import Addressed, addressed, addressed_name
from donewhen.core.addressing_findings import STOOD_THERE
from donewhen.core.addressing_letters import neutral
from donewhen.core.evidence import CheckResult, ObservedCommand
from donewhen.core.goal import Goal
from donewhen.core.integrity import AddressingFact
from donewhen.ports import Workspace
from donewhen.regular import read_bytes

MOST = 60
"""Facts in all."""
_FILES, _BYTES = 2_000, 8_000_000  # that one audit reads again
_HALF = 200_000  # bytes: of what is larger than twice that, the head and the tail
_SEARCHED_FILES, _SEARCHED_BYTES = 2_000, 20_000_000
_KEPT = 500
_NUMBERED = re.compile(r"^(?:[^\s:][^:\n]{0,200}:\d+[:-]|\s*\d+[\s|:→]\s?|[+>|]\s?)")  # grep -n, cat -n, a diff


@dataclass(frozen=True, slots=True)
class _Printed:
    """What was printed, and by what. `path` and `line` say where, if that is known."""

    source: str
    text: str
    path: str = ""
    line: int = 0


class Addressing:
    """The facts of one workspace folder. `since` is the checkpoint before the worker's first turn: what stood there is
    told apart from what came since. One audit reads at most `files` files of `size` characters in all afresh; the next
    one goes on there."""

    def __init__(self, files: int = _FILES, size: int = _BYTES) -> None:
        self._limits = files, size
        self._files: dict[str, tuple[str, tuple[Addressed, ...]]] = {}
        self._names: dict[str, str | None] = {}
        self._texts: dict[bytes, tuple[Addressed, ...]] = {}
        self._standing: set[str] = set()

    async def facts(
        self,
        goal: Goal,
        workspace: Workspace,
        results: Sequence[CheckResult],
        since: str | None,
        commands: Sequence[ObservedCommand],
    ) -> tuple[AddressingFact, ...]:
        """At most MOST. A text in a file is not reported again for each output that shows it."""
        changed = frozenset(await workspace.changed_between(since, None)) if since is not None else frozenset[str]()
        paths = [p for p in _paths(goal, workspace, changed) if p != goal.path]
        digests = {path: workspace.digest(path) or "" for path in paths}
        read = await asyncio.to_thread(self._read, workspace.root, digests)
        found = [await _dated(fact, workspace, since, changed) for fact in read]
        printed = await asyncio.to_thread(lambda: list(self._printed(results, commands)))
        quotes = {fact.quote for fact in found}
        for fact, raw in printed:
            if fact.quote not in quotes and len(found) < MOST:
                quotes.add(fact.quote)
                stood = since is not None and await self._stood_there(raw, workspace, since, changed)
                found.append(replace(fact, standing=STOOD_THERE) if stood else fact)
        return tuple(found[:MOST])

    def _read(self, root: Path, digests: dict[str, str]) -> list[AddressingFact]:
        left, size = self._limits
        facts: list[AddressingFact] = []
        for path, digest in digests.items():
            why = self._name(path)
            if why is not None:
                facts.append(AddressingFact(path, 0, neutral(path), why, "name"))
            known = self._files.get(path)
            if known is None or known[0] != digest:
                if left <= 0 or size <= 0:
                    continue
                text = _text(root / path)
                left, size = left - 1, size - len(text)
                known = self._files[path] = (digest, addressed(text))
                time.sleep(0)  # lets the event loop's thread run
            facts += [AddressingFact(path, *one) for one in known[1]]
        return facts

    def _name(self, name: str) -> str | None:
        if name not in self._names:
            self._names[name] = addressed_name(name)
        return self._names[name]

    # ---------------------------------------------------------------------------------------- what was printed

    def _printed(
        self, results: Sequence[CheckResult], commands: Sequence[ObservedCommand]
    ) -> Iterator[tuple[AddressingFact, str]]:
        """The facts, each with the line as it was printed."""
        for result in results:
            for test in result.tests:
                why = self._name(test.name)
                if why is not None:
                    fact = AddressingFact(test.path or "", test.line or 0, neutral(test.name), why, "test")
                    yield fact, test.name.rpartition("::")[2]
        for one in _texts(results, commands):
            lines = one.text.split("\n")
            for hit in self._in(one.text):
                yield AddressingFact(one.path, one.line, hit.quote, hit.why, one.source), lines[hit.line].strip()

    def _in(self, text: str) -> tuple[Addressed, ...]:
        key = hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()
        if key not in self._texts:
            while len(self._texts) >= _KEPT:
                del self._texts[next(iter(self._texts))]
            self._texts[key] = addressed(text)
            time.sleep(0)
        return self._texts[key]

    async def _stood_there(self, raw: str, workspace: Workspace, since: str, changed: frozenset[str]) -> bool:
        """Whether a file had that line before the run began: then nobody in this run is responsible for printing it."""
        line = _NUMBERED.sub("", raw).strip()
        if line in self._standing:
            return True
        unchanged = [path for path in workspace.files() if path not in changed]
        stood = await asyncio.to_thread(_holds, workspace.root, unchanged, line)
        for path in sorted(changed)[:_SEARCHED_FILES] if not stood else ():
            before = await workspace.file_at(since, path)
            stood = stood or (before is not None and line in before.decode("utf-8", "replace"))
        if stood:
            self._standing.add(line)
        return stood


def _paths(goal: Goal, workspace: Workspace, changed: frozenset[str]) -> Iterable[str]:
    """What requirements name comes first, because the judge is shown it."""
    globs = [glob for requirement in goal.requirements for glob in requirement.files]
    named = workspace.files(globs) if globs else ()
    present = (path for path in sorted(changed) if workspace.digest(path) is not None)
    return dict.fromkeys((*named, *present))


async def _dated(
    fact: AddressingFact, workspace: Workspace, since: str | None, changed: frozenset[str]
) -> AddressingFact:
    """With the reason why nobody in this run is responsible for it, if that is so."""
    if since is None:
        return fact
    if fact.path not in changed:
        return replace(fact, standing=STOOD_THERE)
    before = await workspace.file_at(since, fact.path)
    if before is None:
        return fact
    stood = fact.source == "name" or fact.quote in {one.quote for one in addressed(_decoded(before))}
    return replace(fact, standing=STOOD_THERE) if stood else fact


def _texts(results: Sequence[CheckResult], commands: Sequence[ObservedCommand]) -> Iterator[_Printed]:
    for result in results:
        yield _Printed(f"The output of `{result.command}`", result.output)
        for test in result.tests:
            if test.message:
                yield _Printed(f"What a test of `{result.command}` says", test.message, test.path or "", test.line or 0)
    for command in commands:
        yield _Printed(f"The output of the worker's `{neutral(command.command, 80)}`", command.output)


def _holds(root: Path, paths: Sequence[str], line: str) -> bool:
    left = _SEARCHED_BYTES
    for path in paths[:_SEARCHED_FILES]:
        text = _text(root / path)
        left -= len(text)
        if line and line in text:
            return True
        if left <= 0:
            break
        time.sleep(0)
    return False


def _text(path: Path) -> str:
    try:
        return _decoded(read_bytes(path)) if path.is_file() else ""
    except OSError:
        return ""


def _decoded(content: bytes) -> str:
    """Empty for what is not text. What is left out of the middle of a long one counts its lines."""
    if b"\0" in content[:8192]:
        return ""
    if len(content) > 2 * _HALF:
        lines = content.count(b"\n", _HALF, len(content) - _HALF)
        content = content[:_HALF] + b"\n" * lines + content[-_HALF:]
    return content.decode("utf-8-sig", "replace")
