"""The built-in workers: one row each, which settings, goal files, the start of a run, its summary, the doctor and the
command line read.

To add one: its row here, and a module of its name in `donewhen.workers` with `make(parts: WorkerParts) -> Worker`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from donewhen.core.agents import PRESETS


@dataclass(frozen=True, slots=True)
class Need:
    """A setting that a worker can't start without: what that is, and how it is given."""

    setting: str
    what: str
    how: str


@dataclass(frozen=True, slots=True)
class WorkerKind:
    """A built-in worker. `detail` is what the doctor says of it; `introduced` names it before a run starts, with
    `{worker_command}` and `{script}` as the run has them.

    `asks`: it uses tools that a person may be asked about; any other one was named by a person with all that it does.
    `recorded`: what it does is known beforehand. `accounted`: what it costs is known here. `rooms` says when what it
    runs is contained: where rooms can be opened, where a person asks for it, or never. `program`: it is a program of
    the person's own, which asks its model itself and gets the keys for that. `module` makes it, if that is not the one
    of its name. A person can't choose one that isn't `offered`: runs begin with it by other
    means.
    """

    name: str
    detail: str
    introduced: str = ""
    needs: Need | None = None
    asks: bool = False
    recorded: bool = False
    accounted: bool = False
    rooms: Literal["auto", "asked", "never"] = "asked"
    offered: bool = True
    program: bool = False
    module: str = ""


GATE = "gate"
"""The worker of runs that an agent's own hook drives."""

WORKERS: Mapping[str, WorkerKind] = {
    one.name: one
    for one in (
        WorkerKind("agent", "a model with tools", asks=True, accounted=True, rooms="auto"),
        WorkerKind(
            "human", "you edit, and the goal is checked after each change", asks=True, accounted=True, rooms="never"
        ),
        WorkerKind(
            "command",
            "an agent's own command line: --worker-command 'CMD {prompt}'",
            "the command `{worker_command}`",
            Need("worker_command", "command", "--worker-command CMD"),
            program=True,
        ),
        WorkerKind(
            "acp",
            "an agent that speaks the Agent Client Protocol: --worker acp --agent-command claude",
            "the agent `{worker_command}`",
            Need("agent_command", "agent", "--agent-command claude, or a command of your own"),
            asks=True,
            program=True,
        ),
        WorkerKind(
            "scripted",
            "a recording: --worker scripted --script FILE",
            "the recording {script}",
            Need("script", "recording", "--script FILE"),
            recorded=True,
            accounted=True,
        ),
        WorkerKind(
            GATE,
            "an agent in a session of its own, which calls `donewhen gate` when it stops",
            "an agent in a session of its own, which calls `donewhen gate` when it stops",
            rooms="never",
            offered=False,
        ),
        *(
            WorkerKind(
                agent.preset,
                f"{agent.name}, by its own command line",
                f"{agent.name}, by the command `{{worker_command}}`",
                program=True,
                module="headless",
            )
            for agent in PRESETS.values()
            if agent.headless is not None
        ),
    )
}
"""By name, in the order in which they are offered."""


def is_program(worker: str | None) -> bool:
    """Whether a run's worker is a program of the person's own."""
    kind = WORKERS.get(worker or "")
    return kind is not None and kind.program
