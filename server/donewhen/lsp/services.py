"""What the composition root hands to the language server."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from donewhen.engine.api import Runs


@dataclass(frozen=True, slots=True)
class OpenWorkspace:
    """A workspace folder to open. `settings` are the editor's (section `donewhen`), in the editor's camelCase."""

    root: Path
    settings: Mapping[str, Any] = field(default_factory=dict[str, Any])
    state_dir: Path | None = None


@dataclass(frozen=True, slots=True)
class LspServices:
    """Factories, so that nothing is imported or opened before it is needed."""

    open_workspace: Callable[[OpenWorkspace], Awaitable[Runs]]
    goal_files: Callable[[], Any]
