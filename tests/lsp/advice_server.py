"""The real server with a model that knows its answers, or never gives one."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from donewhen.app.services import Adviser, Services
from donewhen.app.workspace_context import WorkspaceContext
from donewhen.core.errors import JudgeOutage
from donewhen.core.work import Usage
from donewhen.goalfile.preflight import GoalHint
from donewhen.lsp.host import Host
from donewhen.lsp.server import Connect, serve_streams
from donewhen.settings.loading import Settings


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
async def open_adviser(root: Path, settings: Settings, around: WorkspaceContext) -> AsyncGenerator[Adviser | None]:
    model = settings.pick("model")
    try:
        yield Scripted(model) if model else None
    finally:
        logging.getLogger(__name__).warning("adviser closed")


async def _no_workspace(*_: object) -> Any:
    raise RuntimeError("no workspace is opened here")


SERVICES = Services(open_runs=_no_workspace, open_adviser=open_adviser)


async def advised(connect: Connect) -> int:
    return await serve_streams(Host(SERVICES), connect)
