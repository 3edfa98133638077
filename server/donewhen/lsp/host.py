"""What outlives a client's session: the opened workspace folders and their runs."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import sys
from collections.abc import AsyncGenerator, Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from donewhen.core.errors import UsageError

if TYPE_CHECKING:
    from donewhen.app.services import Services
    from donewhen.engine.api import Runs, RunView
    from donewhen.lsp.goal_diagnostics import Memory
    from donewhen.lsp.opening import OpenWorkspace
    from donewhen.ports import AskEditor, EditorView


logger = logging.getLogger(__name__)

CLOSING_SECONDS = 4.0
"""Child processes end within 2 s; recording that may take a little longer."""
RELEASE_SECONDS = 1.0
"""From when nothing is at work in a removed folder until it is closed: requests about it may be on their way."""
AT_ONCE = 4
PATIENCE = 1.0
"""Folders that begin something at once, and the seconds after which one that is still at it lets the next begin: what
begins (processes, files) holds the loop, not a check that is waited for, and requests are to be answered meanwhile."""
DESCRIPTORS, SPARE_DESCRIPTORS = 9, 64
"""That a folder keeps open once it was checked, and that checks and everything else take."""


class Folder:
    """One opened workspace folder."""

    def __init__(self, root: Path, runs: Runs, snapshots: SnapshotStore) -> None:
        self.root = root
        self.runs = runs
        self.snapshots = snapshots
        self.unsubscribe: Callable[[], None] = lambda: None

    @property
    def at_work(self) -> bool:
        """True while this process pursues or checks something in it."""
        return any(view.owned and view.state.active for view in self.snapshots.newest_first())


Listener = Callable[[Folder, "RunView"], None]


class Host:
    """The workspace folders of this process, each opened once, when it is first needed."""

    listener: Listener | None
    """The session that shows the runs to a client now; None between two clients."""
    closed: Callable[[Folder], None]
    """Hears of each folder that was closed because the client had removed it."""
    unsaved: Callable[[Path], str | None]
    """The present client's unsaved text of a file."""
    editor: Callable[[Path], EditorView | None]
    """What the present client shows of a folder."""
    ask_editor: AskEditor
    """Asks the models that the present client offers."""

    def __init__(self, services: Services, state_dir: Path | None = None, client_process_id: int | None = None) -> None:
        self.services = services
        self.client_process_id = client_process_id
        """The client's process according to the command line; None if it is not given."""
        self.state_dir = state_dir
        """The one of the command line; a client may name its own."""
        self.trusted = False
        self.settings: Mapping[str, Any] = {}
        self.secrets: dict[str, str] = {}
        """Those that the editor gave, in memory only: changed, and never replaced."""
        self._folders: dict[Path, Folder] = {}
        self._opening: dict[Path, asyncio.Task[Folder]] = {}
        self._beginning = 0
        self._turns = asyncio.Semaphore(AT_ONCE)
        self._removed: set[Path] = set()
        self._releasing: dict[Path, asyncio.Task[None]] = {}
        self._closing: asyncio.Task[None] | None = None
        self.client_left()

    def client_left(self) -> None:
        """Until the next client comes, nobody is shown anything, and nobody answers."""
        self.listener = None
        self.closed = lambda _: None
        self.unsaved = lambda _: None
        self.editor = lambda _: None
        self.ask_editor = nobody_to_ask

    def open_folders(self) -> Sequence[Folder]:
        return tuple(self._folders.values())

    def folder_if_open(self, root: Path) -> Folder | None:
        return self._folders.get(root)

    async def folder(self, wanted: OpenWorkspace) -> Folder:
        """The folder, opened if necessary. A failure is raised to every waiting caller, and the next call tries
        again."""
        known = self._folders.get(wanted.root)
        if known is not None:
            return known
        task = self._opening.get(wanted.root)
        if task is None:

            def ended(done: asyncio.Task[Folder]) -> None:
                self._opening.pop(wanted.root, None)
                if not done.cancelled() and (problem := done.exception()) is not None:
                    logger.warning("%s could not be opened: %s", wanted.root, problem)

            task = self._opening[wanted.root] = asyncio.get_running_loop().create_task(self._open_folder(wanted))
            task.add_done_callback(ended)
        return await asyncio.shield(task)

    @contextlib.asynccontextmanager
    async def turn(self) -> AsyncGenerator[None]:
        """Begins something in a folder when no more than a few others do."""
        await self._turns.acquire()
        over = asyncio.get_running_loop().call_later(PATIENCE, self._turns.release)
        try:
            yield
        finally:
            if asyncio.get_running_loop().time() < over.when():
                over.cancel()
                self._turns.release()

    def remove(self, root: Path) -> None:
        """The client has the folder no longer: it is closed as soon as nothing is pursued or checked in it. It is
        opened again for whoever asks after that."""
        self._removed.add(root)
        self._release(root)

    def readmit(self, root: Path) -> None:
        """The client has the folder, perhaps again."""
        self._removed.discard(root)

    async def close(self, reason: str) -> None:
        """Ends every child process within two seconds, and records the active runs as interrupted.

        It continues even if the caller is cancelled: a client may close its end while it waits for `shutdown`.
        """
        if self._closing is None:
            self._closing = asyncio.get_running_loop().create_task(self._close(reason))
        await asyncio.shield(self._closing)

    async def _close(self, reason: str) -> None:
        folders, self._folders = self.open_folders(), {}
        for task in (*self._opening.values(), *self._releasing.values()):
            task.cancel()
        for folder in folders:
            folder.unsubscribe()
        self.listener = None
        await asyncio.gather(*(_close(folder.runs, reason) for folder in folders))

    async def _open_folder(self, wanted: OpenWorkspace) -> Folder:
        async with self.turn():
            _refuse_one_too_many(len(self._folders) + self._beginning)
            self._beginning += 1
            try:
                runs = await wanted.open_runs(self.services)
                folder = Folder(wanted.root, runs, SnapshotStore())
                folder.unsubscribe = runs.subscribe(lambda view: self._run_changed(folder, view))
                with contextlib.suppress(asyncio.CancelledError):
                    await runs.recover()
                folder.snapshots.replace(await runs.views(compare=False))
                self._folders[folder.root] = folder
                await runs.watch()
                runs.warm()
            finally:
                self._beginning -= 1
        return folder

    def _run_changed(self, folder: Folder, view: RunView) -> None:
        if folder.snapshots.take(view) and self.listener is not None:
            self.listener(folder, view)
        if folder.root in self._removed:
            self._release(folder.root)

    def _release(self, root: Path) -> None:
        if root not in self._releasing:
            task = self._releasing[root] = asyncio.get_running_loop().create_task(self._released(root))
            task.add_done_callback(lambda _: self._releasing.pop(root, None))

    async def _released(self, root: Path) -> None:
        if (opening := self._opening.get(root)) is not None:
            await asyncio.wait({opening})
        await asyncio.sleep(RELEASE_SECONDS)
        folder = self._folders.get(root)
        if folder is not None and root in self._removed and not folder.at_work:
            del self._folders[root]
            folder.unsubscribe()
            await _close(folder.runs, "its folder was removed from the editor")
            self.closed(folder)


async def nobody_to_ask(asked: Mapping[str, Any], timeout: float) -> object:
    from donewhen.ports import EditorSilent  # not above: the host is there before `initialize` is answered

    raise EditorSilent("no editor window that offers models is connected: open one, and resume the run if it paused")


def _refuse_one_too_many(opened: int) -> None:
    """Raises UsageError where another folder would take the descriptors that the open ones need for their checks."""
    if sys.platform != "win32":
        import resource  # exists only there

        limit, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
        most = (limit - SPARE_DESCRIPTORS) // DESCRIPTORS
        if limit != resource.RLIM_INFINITY and opened >= most:
            raise UsageError(
                f"this process may have {limit} files open at once, which is enough for {most} folders: raise the limit"
                " (`ulimit -Hn 4096`) for whatever starts the editor, or remove folders from the workspace"
            )


async def _close(runs: Runs, reason: str) -> None:
    try:
        async with asyncio.timeout(CLOSING_SECONDS):
            await runs.close(reason)
    except Exception as problem:  # noqa: BLE001 - the process ends; what could not be closed is only reported
        logger.warning("closing: %s", problem)


# The latest known runs of one workspace folder, and which of them a goal file shows.


class SnapshotStore:
    """Keeps, for each goal, its active run and its newest ended run and audit."""

    def __init__(self) -> None:
        self._views: dict[str, RunView] = {}
        self.memories: dict[str, Memory] = {}
        """Each goal's last settled diagnostics, by goal path."""

    def replace(self, views: Iterable[RunView]) -> None:
        """Starts over from what the engine knows."""
        self._views.clear()
        for view in views:
            self.take(view)

    def take(self, view: RunView) -> bool:
        """Keeps a view unless a later one of that run is already kept; true if it was kept."""
        run_id = view.state.run_id
        known = self._views.get(run_id)
        if known is not None and known.state.sequence > view.state.sequence:
            return False
        path, mode, began = view.state.goal.path, view.state.mode, view.state.started_at
        if known is None and path is not None:
            for old in self._views_of_goal(path):
                if old.state.lifecycle.ended and old.state.mode == mode and old.state.started_at <= began:
                    del self._views[old.state.run_id]
        self._views[run_id] = view
        return True

    def forget(self, goal_path: str) -> None:
        """The ended runs of a goal are no longer shown."""
        gone = [v.state.run_id for v in self._views_of_goal(goal_path) if v.state.lifecycle.ended]
        for run_id in gone:
            del self._views[run_id]
        self.memories.pop(goal_path, None)

    def latest(self, view: RunView) -> RunView:
        """The view of a run as it was read, unless the run stopped because its record can't grow: then the record
        doesn't say so."""
        known = self._views.get(view.state.run_id)
        if known is None or known.state.sequence < view.state.sequence or known.state.lifecycle.interrupted is None:
            return view
        return known if view.state.active else view

    def of_run(self, run_id: str) -> RunView | None:
        return self._views.get(run_id)

    def of_goal(self, goal_path: str) -> RunView | None:
        """The run that the goal file shows: the unfinished one, else the newest."""

        def rank(view: RunView) -> tuple[bool, bool, float]:
            state = view.state
            return state.mode == "pursue" and not state.lifecycle.ended, state.guard is not None, state.started_at

        return max(self._views_of_goal(goal_path), key=rank, default=None)

    def newest_first(self) -> Sequence[RunView]:
        return sorted(self._views.values(), key=lambda view: view.state.started_at, reverse=True)

    def _views_of_goal(self, goal_path: str) -> list[RunView]:
        return [view for view in self._views.values() if view.state.goal.path == goal_path]
