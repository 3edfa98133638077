"""What outlives a client's session: the opened workspace folders and their runs."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from donewhen.app.services import Services
    from donewhen.engine.api import Runs, RunView
    from donewhen.lsp.board import Board
    from donewhen.lsp.opening import OpenWorkspace
    from donewhen.ports import EditorView

logger = logging.getLogger(__name__)

CLOSING_SECONDS = 4.0
"""Children end within 2 s; recording it may take a little longer."""


class Folder:
    """One opened workspace folder."""

    def __init__(self, root: Path, runs: Runs, board: Board) -> None:
        self.root = root
        self.runs = runs
        self.board = board


Listener = Callable[[Folder, "RunView"], None]


class Host:
    """The workspace folders of this process, each opened once, when something first needs it."""

    def __init__(self, services: Services, state_dir: Path | None = None, client_process_id: int | None = None) -> None:
        self.services = services
        self.client_process_id = client_process_id
        """What the command line says of the client's process; None: nothing."""
        self._state_dir = state_dir
        self.listener: Listener | None = None
        """Whoever shows the runs to a client now; nobody between two clients."""
        self.trusted = False
        self.settings: Mapping[str, Any] = {}
        self.secrets: dict[str, str] = {}
        self.unsaved: Callable[[Path], str | None] = nothing_unsaved
        """What the client of now holds of a file and hasn't saved."""
        self.editor: Callable[[Path], EditorView | None] = no_editor
        """What the client of now shows of a folder."""
        self._folders: dict[Path, Folder] = {}
        self._opening: dict[Path, asyncio.Task[Folder]] = {}
        self._unsubscribe: list[Callable[[], None]] = []
        self._closing: asyncio.Task[None] | None = None

    def opened(self) -> Sequence[Folder]:
        return tuple(self._folders.values())

    def folder_if_open(self, root: Path) -> Folder | None:
        return self._folders.get(root)

    def wanted(self, root: Path, state_dir: Path | None) -> OpenWorkspace:
        """What opens a folder; settings and trust are asked for again whenever they matter."""
        from donewhen.lsp.opening import OpenWorkspace  # lazy: settings are read once a folder is opened

        return OpenWorkspace(
            root,
            lambda: self.settings,
            lambda: self.trusted,
            lambda: self.secrets,
            state_dir or self._state_dir,
            lambda path: self.unsaved(root / path),
            lambda: self.editor(root),
        )

    async def folder(self, wanted: OpenWorkspace) -> Folder:
        """The folder, opened if need be. A failure is raised to everybody who waits, and tried again next time."""
        known = self._folders.get(wanted.root)
        if known is not None:
            return known
        task = self._opening.get(wanted.root)
        if task is None:
            task = asyncio.get_running_loop().create_task(self._open(wanted))
            self._opening[wanted.root] = task
            task.add_done_callback(lambda done: self._opened(wanted.root, done))
        return await asyncio.shield(task)

    async def close(self, reason: str) -> None:
        """Ends every child process within two seconds, and records the active runs as interrupted.

        It goes on where whoever asked is cancelled: a client may close its end while it waits for `shutdown`.
        """
        if self._closing is None:
            self._closing = asyncio.get_running_loop().create_task(self._close(reason))
        await asyncio.shield(self._closing)

    async def _close(self, reason: str) -> None:
        folders, self._folders = self.opened(), {}
        for task in self._opening.values():
            task.cancel()
        for unsubscribe in self._unsubscribe:
            unsubscribe()
        self._unsubscribe.clear()
        self.listener = None
        if folders:
            await asyncio.gather(*(_close(folder.runs, reason) for folder in folders))

    async def _open(self, wanted: OpenWorkspace) -> Folder:
        board_module = await asyncio.to_thread(_import_board)
        from donewhen.lsp.opening import open_runs  # lazy: as above

        runs = await open_runs(self.services, wanted)
        folder = Folder(wanted.root, runs, board_module())
        self._unsubscribe.append(runs.subscribe(lambda view: self._changed(folder, view)))
        with contextlib.suppress(asyncio.CancelledError):
            await runs.recover()
        folder.board.replace(await runs.views(compare=False))
        self._folders[wanted.root] = folder
        await runs.watch()
        return folder

    def _opened(self, root: Path, done: asyncio.Task[Folder]) -> None:
        self._opening.pop(root, None)
        if not done.cancelled() and (problem := done.exception()) is not None:
            logger.warning("%s could not be opened: %s", root, problem)

    def _changed(self, folder: Folder, view: RunView) -> None:
        if folder.board.take(view) and self.listener is not None:
            self.listener(folder, view)


def nothing_unsaved(path: Path) -> str | None:
    return None


def no_editor(root: Path) -> EditorView | None:
    return None


def _import_board() -> type[Board]:
    """What the engine's views need is imported in a thread, so that the loop goes on meanwhile."""
    import donewhen.wire.snapshot
    from donewhen.lsp.board import Board

    assert donewhen.wire.snapshot
    return Board


async def _close(runs: Runs, reason: str) -> None:
    try:
        async with asyncio.timeout(CLOSING_SECONDS):
            await runs.close(reason)
    except Exception as problem:  # noqa: BLE001 - the process ends; what could not be closed is only told
        logger.warning("closing: %s", problem)
