"""The environment of GoalBench: the real engine, with the given judges or a model as the judge."""

from __future__ import annotations

import os
import sys
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

from donewhen.app.engine import engine_setup, open_models
from donewhen.app.resolver import judge_identity, judging_of
from donewhen.app.workspace_context import WorkspaceContext
from donewhen.core.events import RunOptions
from donewhen.core.goal import Goal
from donewhen.engine.api import StartOptions
from donewhen.engine.runs import Supervisor
from donewhen.engine.setup import EngineSetup, Start
from donewhen.extras.goalbench.playing import BenchEnvironment, temporary_folder
from donewhen.ports import Judge, Measured, ModelNote
from donewhen.settings.loading import Settings
from donewhen.store.folders import state_folder, workspace_folder
from donewhen.store.memory import MemoryLedger
from donewhen.store.model_notes import KeptModelNotes
from donewhen.workspace.processes.running import SystemProcesses


@asynccontextmanager
async def bench_environment(
    settings: Settings | None = None, environ: Mapping[str, str] | None = None
) -> AsyncGenerator[BenchEnvironment]:
    """Cases run with this interpreter, and without the settings for the person's own projects.

    If `settings` name a judge's model, that model judges every case; else the given judges do.
    """

    def environment() -> dict[str, str]:
        """Done When's interpreter comes first, so that `python` surely exists; pytest plugins that happen to be
        installed are kept out."""
        left_out = ("PYTEST_", "PYTHON", "VIRTUAL_ENV")
        given = os.environ if environ is None else environ
        mine = {name: value for name, value in given.items() if not name.startswith(left_out)}
        path = os.pathsep.join((str(Path(sys.executable).parent), mine.get("PATH", os.defpath)))
        return {**mine, "PATH": path, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}

    settings = settings or Settings()
    context = WorkspaceContext(environment=environment, watch=False)
    async with temporary_folder() as folder:
        models = open_models(settings, context, folder) if settings.given.judge_model else None

        async def open_runs(root: Path, state: Path, judge: Judge | None) -> Supervisor:
            # All cases share the bytecode of the standard library and the model host.
            own = workspace_folder(state_folder(state), root)
            bytecode = folder / "bytecode"
            setup = engine_setup(root, own, bytecode, MemoryLedger(), settings, context, models=models)
            return Supervisor(_judged_by(setup, judge) if models is None else replace(setup, closing=_nothing))

        try:
            yield BenchEnvironment(open_runs, SystemProcesses(), environment)
        finally:
            if models is not None:
                await models.close()


def note_measured(settings: Settings, state_dir: Path | None, measured: Measured) -> None:
    """Keeps how the judge of the settings did. Raises LedgerUnavailable if the state folder can't be used."""
    judging = judging_of(settings)
    if judging is not None:
        place = (judge_identity(judging), judging.api_base)
        KeptModelNotes(state_folder(state_dir)).add(*place, ModelNote(measured=measured))


async def _nothing() -> None:
    """Closes nothing: the models outlive each case."""


def _judged_by(setup: EngineSetup, judge: Judge | None) -> EngineSetup:
    def settled(goal: Goal, options: StartOptions) -> Start:
        start = setup.settle(goal, options)
        return replace(start, options=replace(start.options, judge=judge.identity if judge is not None else None))

    def judging(options: RunOptions) -> Judge | None:
        return judge

    return replace(setup, judge=judging, settle=settled)
