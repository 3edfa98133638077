"""What a worker needs to take a turn: a goal, a folder as the workspace, a person who answers."""

from __future__ import annotations

import asyncio
import os
import shlex
import sys
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Unpack

import pytest

from donewhen.core.goal import Check, Goal, Requirement, requirement_id
from donewhen.core.verdict import RequirementView
from donewhen.core.work import Answer, Interrupt, TurnResult
from donewhen.ports import ProcessOptions, ProcessResult, TreeState, Turn

SECONDS = 10.0


def requirement(number: int, text: str, *commands: str, **more: object) -> Requirement:
    checks = tuple(Check.of(command) for command in commands)
    return Requirement(requirement_id(text), number, text, checks, **more)


GOAL = Goal(
    "Ship the CSV exporter",
    "Exports must open in a spreadsheet.\nKeep \"quotes\", 'ticks' and $(dollars) as they are.",
    (requirement(1, "the tests pass", "python -m pytest -q"), requirement(2, "quotes are doubled")),
)


def turn(iteration: int = 1, goal: Goal = GOAL, **more: object) -> Turn:
    views = tuple(RequirementView(r.id, r.number, "unverified", "") for r in goal.requirements)
    given: dict[str, object] = {"views": views, "feedback": None, "token": "t-1", **more}
    return Turn("run-1", iteration, goal, **given)


@dataclass
class Folder:
    """The part of `ports.Workspace` that workers use."""

    root: Path


@dataclass
class Context:
    """`ports.TurnContext` with a person who gives `answers` in turn."""

    workspace: Folder
    answers: list[Answer] = field(default_factory=list)
    activities: list[str] = field(default_factory=list)
    asked: list[Interrupt] = field(default_factory=list)
    heard: asyncio.Event = field(default_factory=asyncio.Event)
    changes: asyncio.Queue[TreeState] = field(default_factory=asyncio.Queue)
    streamed: str = ""
    hints: list[str] = field(default_factory=list)

    def activity(self, line: str) -> None:
        self.activities.append(line)
        self.heard.set()

    def stream(self, text: str, *, whole: bool = False) -> None:
        self.streamed = text if whole else self.streamed + text
        self.heard.set()

    async def settled(self) -> TreeState:
        return await self.changes.get()

    async def ask(self, interrupt: Interrupt) -> Answer:
        self.asked.append(interrupt)
        return self.answers.pop(0)

    def inherited_descriptors(self) -> tuple[int, ...]:
        return ()

    async def hears(self, text: str) -> None:
        """Returns once an activity line, or what is streamed, contains `text`."""
        async with asyncio.timeout(SECONDS):
            while not any(text in line for line in (*self.activities, *self.streamed.splitlines())):
                self.heard.clear()
                await self.heard.wait()


def environment() -> Mapping[str, str]:
    return {key: value for key, value in os.environ.items() if not key.startswith("DONEWHEN_")}


def python(code: str) -> str:
    """A command for the platform's shell that runs Python code."""
    return f"{shlex.quote(sys.executable)} -c {shlex.quote(code)}"


@dataclass
class Recorder:
    """`ports.Processes` that starts nothing: it keeps the calls and gives one result."""

    result: ProcessResult
    lines: Sequence[str] = ()
    calls: list[dict[str, object]] = field(default_factory=list)

    async def run(
        self, command: str | Sequence[str], *, on_line: Callable[[str], None] | None = None, **call: object
    ) -> ProcessResult:
        self.calls.append({"command": command, **call})
        for line in self.lines:
            if on_line:
                on_line(line)
        return self.result


def ended(output: str = "", exit_code: int | None = 0, **more: object) -> ProcessResult:
    return ProcessResult(exit_code, output, len(output), f"digest of {len(output)}", 1.0, 0.0, **more)


class Lingering:
    """`ports.Processes` with a process that takes its time to end."""

    def __init__(self) -> None:
        self.begun = asyncio.Event()
        self.gone = False

    async def run(self, command: str | Sequence[str], **options: Unpack[ProcessOptions]) -> ProcessResult:
        self.begun.set()
        try:
            return await asyncio.get_running_loop().create_future()
        finally:
            await asyncio.sleep(0.3)
            self.gone = True

    async def outlives(self, work: Coroutine[Any, Any, TurnResult]) -> bool:
        """Whether the process is still there after a turn that was cancelled again and again."""
        working = asyncio.create_task(work)
        await self.begun.wait()
        for _ in range(3):
            working.cancel()
            await asyncio.sleep(0.01)
        with pytest.raises(asyncio.CancelledError):
            await working
        return not self.gone
