"""The built-in workers: one row each, which settings, goal files, the start of a run, its summary, the doctor and the
command line read.

To add one: its row here, and a module of its name in `donewhen.workers` with `make(parts: WorkerParts) -> Worker`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal


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
    runs is contained: where rooms can be opened, where a person asks for it, or never. `instead` is set for one that is
    promised and not there yet: what to use in its place.
    """

    name: str
    detail: str
    introduced: str = ""
    needs: Need | None = None
    asks: bool = False
    recorded: bool = False
    accounted: bool = False
    rooms: Literal["auto", "asked", "never"] = "asked"
    instead: str = ""

    @property
    def available(self) -> bool:
        return not self.instead


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
        ),
        WorkerKind(
            "acp",
            "not available in this version",
            instead="use command to run an agent's own command line",
        ),
        WorkerKind(
            "scripted",
            "a recording: --worker scripted --script FILE",
            "the recording {script}",
            Need("script", "recording", "--script FILE"),
            recorded=True,
            accounted=True,
        ),
    )
}
"""By name, in the order in which they are offered."""


def unavailable(kind: WorkerKind) -> str:
    """Why a worker that is promised can't be used yet; empty for any other."""
    return f"worker {kind.name} is not available in this version: {kind.instead}" if kind.instead else ""
