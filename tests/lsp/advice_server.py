"""The real server with a model that knows its answers, or never gives one."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from typing import Any

from donewhen.composition_goal_text import goal_texts
from donewhen.core.errors import JudgeOutage
from donewhen.core.work import Usage
from donewhen.goalfile.preflight import GoalHint
from donewhen.lsp.server import Connect, serve_streams
from donewhen.lsp.services import Adviser, LspServices, OpenWorkspace


class Scripted:
    """`settings.model` says how it behaves: `willing`, `down`, or `silent`."""

    def __init__(self, model: str) -> None:
        self.model = model
        self.spent: Usage | None = None

    async def propose(self, objective: str, checks: Sequence[str]) -> Sequence[str]:
        await self._think()
        return [f"{objective} is documented", f"{len(checks)} checks are enough"]

    async def hints(self, text: str) -> Sequence[GoalHint]:
        await self._think()
        return [GoalHint("r-1", 1, f"the text has {len(text.splitlines())} lines", 0)]

    async def _think(self) -> None:
        self.spent = Usage(1_200, 34, 100, None)
        if self.model == "down":
            raise JudgeOutage("the model can't be asked")
        if self.model == "silent":
            await asyncio.sleep(3600)


@asynccontextmanager
async def open_adviser(wanted: OpenWorkspace) -> AsyncGenerator[Adviser | None]:
    model = wanted.settings().get("model")
    try:
        yield Scripted(model) if model else None
    finally:
        logging.getLogger(__name__).warning("adviser closed")


async def _no_workspace(wanted: OpenWorkspace) -> Any:
    raise RuntimeError("no workspace is opened here")


SERVICES = LspServices(_no_workspace, goal_texts, open_adviser, judged=lambda wanted: True)


async def advised(connect: Connect) -> int:
    return await serve_streams(SERVICES, connect)
