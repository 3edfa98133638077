"""A model that helps with writing a goal: what it proposes and hints at, for both front ends."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from donewhen.composition import Surroundings
from donewhen.config import Settings
from donewhen.core.panel import panel

if TYPE_CHECKING:
    from donewhen.goalfile.preflight import GoalHint


@dataclass(frozen=True, slots=True)
class ModelAdviser:
    """Asks one model; what it says is a proposal. Raises DoneWhenError where it can't be asked."""

    root: Path
    model: str

    async def propose(self, objective: str, checks: Sequence[str]) -> Sequence[str]:
        raise NotImplementedError

    async def hints(self, path: str) -> Sequence[GoalHint]:
        raise NotImplementedError


@asynccontextmanager
async def adviser(
    root: Path, settings: Settings, around: Surroundings | None = None
) -> AsyncGenerator[ModelAdviser | None]:
    """The judge's model, else the agent's, else None: nobody is asked who wasn't configured."""
    yield None


def adviser_model(settings: Settings) -> str | None:
    judges = panel(settings.pick("judge_model") or "")
    return judges[0] if judges else settings.pick("model")
