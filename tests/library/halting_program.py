"""A program of a library caller's: it pursues a goal in a folder, is halted by its plugin, or waits to be killed.

Run as a process of its own: `python halting_program.py WORKSPACE STATE_DIR (halt|hang)`; prints the run id.
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Any

from donewhen import GoalOutcome, Halt, arun_goal
from donewhen.plugins import PluginContext, ResumeDirective, TurnAhead, hookimpl


class Quota:
    """Halts before the second turn, until it was told otherwise."""

    name = "quota"

    def __init__(self) -> None:
        self.told: list[Any] = []

    @hookimpl
    def before_turn(self, turn: TurnAhead, context: PluginContext) -> None:
        if turn.iteration == 2 and not self.told:
            raise Halt("the quota is used up", {"left": 0})

    @hookimpl
    def on_resume(self, data: Any, context: PluginContext) -> ResumeDirective:
        self.told.append(data)
        return ResumeDirective()


def both_lines(response: Any, agent: Any) -> Any:
    """Named here, so that whoever resumes the run finds it by the same name."""
    written = Path(agent).read_text() if Path(agent).exists() else ""
    return {"passed": written == "one\ntwo\n", "feedback": f"there is {written!r}"}


def writer(workspace: Path) -> Any:
    def worker(prompt: str) -> str:
        with (workspace / "log.txt").open("a") as file:
            file.write("one\n" if not (workspace / "log.txt").read_text() else "two\n")
        return "written"

    return worker


async def main(workspace: Path, state: Path, how: str) -> None:
    def tell(outcome: GoalOutcome) -> None:
        print(outcome.run_id, outcome.status, outcome.iterations, flush=True)

    async def hang(prompt: str) -> str:
        writer(workspace)(prompt)
        print("hanging", flush=True)
        await asyncio.Event().wait()
        return ""

    (workspace / "log.txt").touch()
    await arun_goal(
        "Write both lines",
        writer(workspace) if how == "halt" else hang,
        checks=[both_lines],
        agent=str(workspace / "log.txt"),
        workspace=workspace,
        state_dir=state,
        plugins=[Quota()] if how == "halt" else [],
        on_event=tell,
    )
    if how == "halt":
        print("halted", flush=True)
        await asyncio.Event().wait()  # until it is killed


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3]))
