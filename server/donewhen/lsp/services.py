"""What the composition root hands to the language server."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from donewhen.core.survey import Survey

if TYPE_CHECKING:
    from donewhen.core.work import Usage
    from donewhen.engine.api import Runs
    from donewhen.lsp.goal_text import GoalFileFeatures, GoalHint
    from donewhen.ports import EditorView


@dataclass(frozen=True, slots=True)
class OpenWorkspace:
    """A workspace folder to open.

    `settings` gives the editor's settings now (section `donewhen`, camelCase), `trusted` whether anything may be
    executed now, `secrets` what the editor handed over (name to value): kept in memory only. `unsaved` is the editor's
    text of a file (posix, relative to the root) where a person has something in it that isn't saved; `editor` is what
    the editor shows of the folder, None where it forwards no diagnostics.
    """

    root: Path
    settings: Callable[[], Mapping[str, Any]]
    trusted: Callable[[], bool]
    secrets: Callable[[], Mapping[str, str]]
    state_dir: Path | None = None
    unsaved: Callable[[str], str | None] = lambda path: None
    editor: Callable[[], EditorView | None] = lambda: None


class Adviser(Protocol):
    """A model that helps with writing a goal: whatever it says is a proposal, and starts nothing. Everything raises
    DoneWhenError where the model can't be asked."""

    @property
    def model(self) -> str: ...

    @property
    def spent(self) -> Usage | None:
        """What its calls took so far, for the person who waited; None where none was made."""
        ...

    def propose(self, objective: str, checks: Sequence[str]) -> Coroutine[Any, Any, Sequence[str]]:
        """Requirements for an objective, besides the checks that are there."""
        ...

    def hints(self, text: str) -> Coroutine[Any, Any, Sequence[GoalHint]]:
        """What is vague about a goal file, or can't be judged."""
        ...


def no_adviser(wanted: OpenWorkspace) -> AbstractAsyncContextManager[Adviser | None]:
    return nullcontext()


def no_judge(wanted: OpenWorkspace) -> bool:
    return False


async def no_survey(wanted: OpenWorkspace, tries: bool) -> Survey:
    return Survey()


@dataclass(frozen=True, slots=True)
class LspServices:
    """Factories, so that nothing is imported or opened before it is needed. `open_adviser` gives None where no model is
    configured. `survey` finds the checks of a folder, and with `tries` runs those of a draft once, where the workspace
    is trusted. `judged` tells whether a judge is configured. `client_process_id` is what the command line says of the
    client's process, None: nothing."""

    open_workspace: Callable[[OpenWorkspace], Awaitable[Runs]]
    goal_files: Callable[[], GoalFileFeatures]
    open_adviser: Callable[[OpenWorkspace], AbstractAsyncContextManager[Adviser | None]] = no_adviser
    survey: Callable[[OpenWorkspace, bool], Coroutine[Any, Any, Survey]] = no_survey
    client_process_id: int | None = None
    judged: Callable[[OpenWorkspace], bool] = no_judge
