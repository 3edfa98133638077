"""What front ends ask of the composition root, as values, so that a test can replace any of them in memory.

Nothing behind them is imported before it is asked for, and then in a thread: `initialize`, `--version` and a quick look
at the record don't need the engine, and importing it would block the event loop for longer than a handler may.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from donewhen.app.doctor import DoctorReport
    from donewhen.app.workspace_context import WorkspaceContext
    from donewhen.core.work import Usage
    from donewhen.engine.api import Runs
    from donewhen.goalfile.preflight import GoalHint
    from donewhen.goalfile.survey import Survey
    from donewhen.settings.loading import Settings


class Adviser(Protocol):
    """A model that helps to write a goal: its answers are proposals and start nothing. All methods raise DoneWhenError
    if the model can't be asked."""

    @property
    def model(self) -> str: ...

    @property
    def spent(self) -> Usage | None:
        """The usage of all calls so far, for the person who waited; None if there were none."""
        ...

    def propose(self, objective: str, checks: Sequence[str]) -> Coroutine[Any, Any, Sequence[str]]:
        """Requirements for an objective, besides the existing checks."""
        ...

    def hints(self, text: str) -> Coroutine[Any, Any, Sequence[GoalHint]]:
        """What is vague about a goal file, or can't be judged."""
        ...


@dataclass(frozen=True, slots=True)
class Look:
    """An examination of a workspace folder before a goal is drafted for it. Without `execute` nothing at all is run;
    with `tries` each check of the draft runs once, for at most `patience` seconds. `interpreter` is the Python that is
    selected for the folder."""

    root: Path
    state_dir: Path | None = None
    execute: bool = True
    tries: bool = False
    patience: float = 60.0
    interpreter: Path | None = None


# Each function imports what it calls when it is called, for the reason given at the top of the file.


async def open_runs(
    root: Path, state_dir: Path | None, settings: Settings | Callable[[], Settings], context: WorkspaceContext
) -> Runs:
    """See `app.engine.open_engine`."""
    await _loaded("engine")
    from donewhen.app.engine import open_engine

    return await open_engine(root, state_dir, settings, context)


@asynccontextmanager
async def open_adviser(root: Path, settings: Settings, context: WorkspaceContext) -> AsyncGenerator[Adviser | None]:
    """See `app.advice.adviser`."""
    if settings.adviser is None:
        yield None
        return
    await _loaded("advice")
    from donewhen.app.advice import adviser

    async with adviser(root, settings, context) as opened:
        yield opened


async def survey(look: Look) -> Survey:
    """See `app.drafts.survey`."""
    await _loaded("drafts")
    from donewhen.app.drafts import place_of, survey

    place = place_of(look.root, look.state_dir, look.interpreter)
    return await survey(place, execute=look.execute, tries=look.tries, patience=look.patience)


def examined(root: Path, settings: Settings, environ: Mapping[str, str]) -> DoctorReport:
    """See `app.doctor.examined`."""
    from donewhen.app.doctor import examined

    return examined(root, settings, environ)


def has_record(root: Path, state_dir: Path | None) -> bool:
    """Whether runs of a workspace folder are on record, even if the folder itself is gone."""
    from donewhen.store.folders import has_record

    return has_record(root, state_dir)


def secrets_masked(text: str, environ: Mapping[str, str]) -> str:
    """The text without the values of variables that hold keys, and without what looks like a key."""
    from donewhen.evidence.text import Masker

    return Masker.of(environ).mask(text)


async def until_gone(pid: int) -> None:
    """See `workspace.processes.ending.until_gone`."""
    from donewhen.workspace.processes.ending import until_gone

    await until_gone(pid)


async def _loaded(module: str) -> None:
    await asyncio.to_thread(import_module, f"donewhen.app.{module}")


@dataclass(frozen=True, slots=True)
class Services:
    """All folders are absolute. The runs that `open_runs` returns end with their `close`; `settings` may be a function,
    which is called at each start. `open_adviser` returns None if no model is configured."""

    open_runs: Callable[[Path, Path | None, Settings | Callable[[], Settings], WorkspaceContext], Awaitable[Runs]] = (
        open_runs
    )
    open_adviser: Callable[[Path, Settings, WorkspaceContext], AbstractAsyncContextManager[Adviser | None]] = (
        open_adviser
    )
    survey: Callable[[Look], Coroutine[Any, Any, Survey]] = survey
    examined: Callable[[Path, Settings, Mapping[str, str]], DoctorReport] = examined
    has_record: Callable[[Path, Path | None], bool] = has_record
    secrets_masked: Callable[[str, Mapping[str, str]], str] = secrets_masked
    until_gone: Callable[[int], Awaitable[None]] = until_gone
