"""What the composition root hands to the language server."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from donewhen.engine.api import Runs
    from donewhen.lsp.goal_text import GoalFileFeatures


@dataclass(frozen=True, slots=True)
class OpenWorkspace:
    """A workspace folder to open.

    `settings` gives the editor's settings now (section `donewhen`, camelCase), `trusted` whether anything may be
    executed now, `secrets` what the editor handed over (name to value): kept in memory only.
    """

    root: Path
    settings: Callable[[], Mapping[str, Any]]
    trusted: Callable[[], bool]
    secrets: Callable[[], Mapping[str, str]]
    state_dir: Path | None = None


@dataclass(frozen=True, slots=True)
class LspServices:
    """Factories, so that nothing is imported or opened before it is needed."""

    open_workspace: Callable[[OpenWorkspace], Awaitable[Runs]]
    goal_files: Callable[[], GoalFileFeatures]
