"""A model that helps to write a goal: it proposes requirements and gives hints."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from donewhen.app.engine import open_models
from donewhen.app.resolver import KnownFacts, lacked_extra, refuse_incomplete_name
from donewhen.app.workspace_context import WorkspaceContext, plugins_there
from donewhen.core.errors import GoalFileError, UsageError
from donewhen.core.work import Usage
from donewhen.evidence.text import Masking
from donewhen.goalfile.files import walk_files
from donewhen.goalfile.parse import parse
from donewhen.goalfile.preflight import GoalHint
from donewhen.installation import how_to_get
from donewhen.judges.alone import Account
from donewhen.judges.preflight import hints, propose_requirements
from donewhen.ports import Model
from donewhen.settings.loading import Settings


@dataclass(frozen=True, slots=True)
class ModelAdviser:
    """Asks one model; its answers are proposals. Raises DoneWhenError if the model can't be asked. There is no run, so
    no budget can be exceeded: a person waits for the answer and sees what it cost."""

    root: Path
    asked: Model
    mask: Callable[[str], str]
    account: Account = field(default_factory=Account)

    @property
    def model(self) -> str:
        return self.asked.name

    @property
    def spent(self) -> Usage | None:
        """The usage of all calls so far; None before the first one."""
        return self.account.total if self.account.asked else None

    async def propose(self, objective: str, checks: Sequence[str]) -> Sequence[str]:
        files = await asyncio.to_thread(lambda: sorted(walk_files(self.root)))
        return await propose_requirements(self.asked, objective, files, checks, self.account, self.mask)

    async def hints(self, text: str) -> Sequence[GoalHint]:
        parsed = parse(text, plugged=plugins_there)
        if parsed.goal is None:
            raise GoalFileError(parsed.errors[0].message)
        places = {one.id: one for one in parsed.requirements}
        found = await hints(self.asked, parsed.goal, self.account, self.mask)
        return [GoalHint(name, places[name].number, said, places[name].span.start_line) for name, said in found]


@asynccontextmanager
async def adviser(
    root: Path, settings: Settings, context: WorkspaceContext | None = None, known: KnownFacts | None = None
) -> AsyncGenerator[ModelAdviser | None]:
    """The judge's model, else the agent's, else None: a model that wasn't configured is never asked. Raises UsageError
    if models aren't installed, or if it can't be the name of a model."""
    name = settings.adviser
    if name is None:
        yield None
        return
    refuse_incomplete_name(name)
    judged = settings.pick("judge_model") is not None
    role, base = ("judge", "judge_api_base") if judged else ("worker", "api_base")
    if (extra := lacked_extra(name, settings.pick(base), known or KnownFacts())) is not None:
        raise UsageError(f"{name} needs the {extra} extra", typed=f": {how_to_get(extra)}", lacks="models")
    context = context or WorkspaceContext()
    mask = Masking(context.environment, context.secrets).mask
    models = open_models(settings, context, root, mask)
    try:
        yield ModelAdviser(root, models.model(role, name, settings.pick(base)), mask)
    finally:
        await models.close()
