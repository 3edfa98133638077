"""The views that show things to a client, for the session: imported and made only when there is something to show."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lsprotocol import types

    from donewhen.engine.api import RunView
    from donewhen.lsp.host import Folder


class DiagnosticsView(Protocol):
    """The diagnostics of every file."""

    def at(self, path: Path) -> list[types.Diagnostic]: ...

    async def pull(self, path: Path) -> list[types.Diagnostic]: ...

    def closed(self, path: Path) -> None: ...


class ProgressView(Protocol):
    """The progress reports in the editor."""

    async def cancel(self, token: object) -> None:
        """The person cancelled a progress: its run is paused."""
        ...


class InterruptsView(Protocol):
    """The messages that ask a person."""

    def ask_again(self, folder: Folder, view: RunView, interrupt_id: str) -> None: ...

    def offer_resume(self, folder: Folder, view: RunView) -> None: ...

    def offer_overwrite(self, folder: Folder, run_id: str, finding_id: str, kept: Sequence[str]) -> None: ...


class ClientViews(Protocol):
    """Everything that one client is shown."""

    @property
    def diagnostics(self) -> DiagnosticsView: ...

    @property
    def progress(self) -> ProgressView: ...

    @property
    def interrupts(self) -> InterruptsView: ...

    def run_changed(self, folder: Folder, view: RunView) -> None: ...

    def goal_changed(self, root: Path, path: str) -> None: ...

    def follow(self, folder: Folder, run_id: str, version: int | None) -> None:
        """From now on the client gets every new step of the run since `version`; None ends that."""
        ...

    def ask_to_pull_again(self) -> None: ...

    async def settle_diagnostics(self) -> None: ...

    async def close(self) -> None: ...
