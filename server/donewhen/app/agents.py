"""Which of the agents that people have are installed here, and how to get the others."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from donewhen.core.agents import PRESETS


@dataclass(frozen=True, slots=True)
class FoundAgent:
    """A known agent. `program` is where its command line is, None if it isn't; `install` says how to get it. `acp` and
    `acp_install` are the same of what speaks the Agent Client Protocol for it, where anything does."""

    preset: str
    name: str
    program: str | None
    install: str
    acp: str | None
    acp_install: str


def found_agents(environment: Mapping[str, str]) -> Sequence[FoundAgent]:
    """Looks on the PATH of this environment; starts nothing."""
    path = environment.get("PATH", "")

    def place(command: str) -> str | None:
        return shutil.which(command.split()[0], path=path) if command else None

    return [
        FoundAgent(
            agent.preset,
            agent.name,
            place(agent.headless.command if agent.headless is not None else ""),
            agent.install,
            place(agent.acp),
            agent.acp_install,
        )
        for agent in PRESETS.values()
    ]
