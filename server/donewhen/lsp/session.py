"""One client's session: what it said, its open documents, and what is shown to it."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from lsprotocol import types

from donewhen.app.workspace_context import plugins_there
from donewhen.core.errors import NotTrusted
from donewhen.goalfile.files import goal_name
from donewhen.lsp.client_profile import ClientProfile
from donewhen.lsp.documents import EditorState, Texts, Unsaved
from donewhen.lsp.host import no_editor, nobody_to_ask, nothing_shown, nothing_unsaved
from donewhen.lsp.positions import FilePlace, file_path, is_goal_file, locate
from donewhen.lsp.proof_basis import ProofBases
from donewhen.lsp.protocol import ClientSilent
from donewhen.ports import EditorSilent, no_editor_to_ask

if TYPE_CHECKING:
    from donewhen.engine.api import RunView
    from donewhen.goalfile.source import ParsedGoalFile
    from donewhen.goalfile.survey import Survey
    from donewhen.lsp.documents import OpenDocuments
    from donewhen.lsp.host import Folder, Host
    from donewhen.lsp.opening import OpenWorkspace
    from donewhen.lsp.protocol import Server
    from donewhen.lsp.transport import TokenGuard

logger = logging.getLogger(__name__)

LONG_TEXT = 20_000
"""Longer goal files are parsed in a thread, so that the loop is not blocked."""


# The views that show things to the client: imported and made only when there is something to show.


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


class Session:
    """The state of one client. Everything that outlives it is in the host."""

    def __init__(
        self,
        server: Server,
        host: Host,
        make_views: Callable[[Session], ClientViews],
        guard: TokenGuard | None = None,
    ) -> None:
        self._make_views = make_views
        self.server = server
        self.host = host
        self.guard = guard
        self.profile = ClientProfile()
        self.roots: tuple[Path, ...] = ()
        self.texts = Texts(lambda: self.documents)
        self.unsaved = Unsaved(self.texts)
        self.editor = EditorState(lambda: self.documents, self.unsaved, self.place)
        self.background: set[asyncio.Task[Any]] = set()
        self.told: set[str] = set()
        """Messages that have been shown, and need not be shown again."""
        self.proof_bases = ProofBases()
        self.tried: dict[Path, tuple[float, Survey]] = {}
        """The results of a folder's checks when they were tried for a draft, and the time of that (monotonic)."""
        self._edited_at: dict[Path, float] = {}
        self._parsed: dict[Path, tuple[str, ParsedGoalFile]] = {}
        self._views: ClientViews | None = None
        self._beginning: asyncio.Task[None] | None = None
        self._changed_early: set[tuple[Path, str]] = set()

    # ----------------------------------------------------------------------------- beginning and end

    def introduce(self, profile: ClientProfile) -> None:
        self.profile = profile
        self.host.settings = profile.settings
        self.host.unsaved = self.unsaved.unsaved_text
        self.host.editor = self.editor.view
        self.host.ask_editor = self._ask_model
        self.editor.forwarded = profile.editor_diagnostics
        self.host.trusted = profile.trusted
        self.set_roots(profile.folders)

    def set_roots(self, uris: Iterable[str]) -> None:
        paths = (file_path(uri) for uri in uris)
        self.roots = tuple(path for path in paths if path is not None)
        for root in self.roots:
            self.host.readmit(root)

    @property
    def documents(self) -> OpenDocuments:
        """Available once the client has introduced itself."""
        return self.server.workspace

    @property
    def views(self) -> ClientViews:
        """Available once the session has begun."""
        assert self._views is not None
        return self._views

    @property
    def diagnostics(self) -> DiagnosticsView:
        return self.views.diagnostics

    async def begin(self) -> None:
        """Returns once things can be shown. The necessary modules are imported in a thread, once."""
        if self._beginning is None:
            self._beginning = asyncio.get_running_loop().create_task(self._begin_views())
        await asyncio.shield(self._beginning)

    async def _begin_views(self) -> None:
        self._views = await asyncio.to_thread(self._make_views, self)
        self.host.listener = self._views.run_changed
        self.host.closed = self._folder_closed
        pending, self._changed_early = self._changed_early, set()
        for root, path in pending:
            self._views.goal_changed(root, path)

    def _folder_closed(self, folder: Folder) -> None:
        """Nothing more is known of its goals: their diagnostics go."""
        for view in folder.snapshots.newest_first():
            if view.state.goal.path is not None:
                self.goal_changed(folder.root, view.state.goal.path)

    def goal_changed(self, root: Path, path: str) -> None:
        """With the next update, shows a goal file again that changed, or about which something new is known."""
        if self._views is None:
            self._changed_early.add((root, path))
        else:
            self._views.goal_changed(root, path)

    async def disconnect(self, reason: str) -> None:
        """The client leaves. Its runs end with it, unless it is connected over TCP."""
        self.host.listener = None
        self.host.closed = nothing_shown
        self.host.unsaved = nothing_unsaved
        self.host.editor = no_editor
        self.host.ask_editor = nobody_to_ask
        for folder in self.host.open_folders():
            folder.runs.editor_changed()
        for task in self.background:
            task.cancel()
        if self._views is not None:
            await self._views.close()
        if self.guard is None:
            await self.host.close(reason)

    async def _ask_model(self, asked: Mapping[str, Any], timeout: float) -> object:
        """See `ports.AskEditor`. A client that leaves answers nothing any more."""
        if not self.profile.language_models:
            return await no_editor_to_ask(asked, timeout)
        asking = asyncio.ensure_future(
            self.server.protocol.send_request_async("donewhen/model/complete", asked, timeout=timeout)
        )
        self.background.add(asking)
        asking.add_done_callback(self.background.discard)
        try:
            return await asking
        except ClientSilent as silent:
            raise EditorSilent(str(silent)) from silent
        except asyncio.CancelledError:
            here = asyncio.current_task()
            if here is not None and here.cancelling():
                raise
            raise EditorSilent("the editor's window was closed before its model answered") from None

    def later(self, work: Any, name: str) -> asyncio.Task[Any]:
        """Runs a coroutine independently of the client's requests; its errors are logged."""
        task: asyncio.Task[Any] = asyncio.get_running_loop().create_task(work, name=name)
        self.background.add(task)
        task.add_done_callback(self._over)
        return task

    def _over(self, task: asyncio.Task[Any]) -> None:
        self.background.discard(task)
        if not task.cancelled() and (problem := task.exception()) is not None:
            logger.warning("%s: %s", task.get_name(), problem, exc_info=problem)

    def show_message(self, kind: types.MessageType, message: str) -> None:
        """Shows a message to the person."""
        self.server.window_show_message(types.ShowMessageParams(kind, message))

    def require_trust(self) -> None:
        """Raises NotTrusted: an untrusted workspace executes nothing."""
        if not self.host.trusted:
            raise NotTrusted

    # -------------------------------------------------------------------------------------- folders

    def place(self, path: Path) -> FilePlace:
        """Where a file belongs: the innermost workspace folder that contains it, else its own folder."""
        return locate(path, self.roots) or FilePlace(path.parent, path.name)

    async def folder(self, root: Path) -> Folder:
        """The opened workspace folder. Raises whatever the engine raises."""
        return await self.host.folder(self.wanted(root))

    def release(self, root: Path) -> None:
        """Has a folder closed that the client has neither as a workspace folder nor any more as an open goal file."""
        files = (file_path(uri) for uri in self.documents.text_documents)
        if root not in (*self.roots, *(self.place(path).root for path in files if path and is_goal_file(path))):
            self.host.remove(root)

    def wanted(self, root: Path) -> OpenWorkspace:
        """The parameters for opening the folder."""
        state_dir = self.profile.state_dir
        return self.host.wanted(root, Path(state_dir) if state_dir else None)

    async def all_folders(self) -> Sequence[Folder]:
        """Every workspace folder of this client that can be opened, and those already open."""
        for root in self.roots:
            with contextlib.suppress(Exception):
                await self.folder(root)
        return self.host.open_folders()

    # ----------------------------------------------------------------------------------- goal files

    async def parsed(self, path: Path, relative: str) -> ParsedGoalFile | None:
        """The goal file as the client shows it; None if it can't be read. Parsed once per text."""
        text = self.texts.text(path)
        if text is None:
            return None
        known = self._parsed.get(path)
        if known is not None and known[0] == text:
            return known[1]
        await self.begin()
        from donewhen.goalfile.parse import parse  # lazy: `begin` has imported it in a thread

        name = goal_name(relative)
        if len(text) > LONG_TEXT:
            parsed = await asyncio.to_thread(parse, text, path=relative, name=name, plugged=plugins_there)
        else:
            parsed = parse(text, path=relative, name=name, plugged=plugins_there)
        if len(self._parsed) > 32:
            self._parsed.clear()
        self._parsed[path] = (text, parsed)
        return parsed

    async def parsed_uri(self, uri: str) -> tuple[FilePlace, ParsedGoalFile] | None:
        """The goal file of a uri; None for other files, or if it can't be read."""
        path = file_path(uri)
        if path is None or not is_goal_file(path):
            return None
        self.texts.named(uri)
        place = self.place(path)
        parsed = await self.parsed(path, place.path)
        return None if parsed is None else (place, parsed)

    # -------------------------------------------------------------------------------------- changes

    def editor_changed(self, path: Path) -> None:
        """The client's text or diagnostics of this file changed."""
        folder = self.host.folder_if_open(self.place(path).root)
        if folder is not None:
            folder.runs.editor_changed()

    def edited(self, path: Path) -> None:
        """The client changed a document: the disk differs from what the person sees."""
        self._edited_at[path] = time.time()

    def discarded(self, path: Path) -> None:
        """The document was closed or saved: from now on, the disk says when it changed."""
        self._edited_at.pop(path, None)

    def closed(self, path: Path) -> None:
        """The document is no longer open."""
        self.discarded(path)
        if self._views is not None:
            self._views.diagnostics.closed(path)

    def changed_at(self, root: Path, paths: Iterable[str]) -> dict[str, float]:
        """When these files last changed, on disk or in the editor; epoch seconds."""
        return {path: max(_modified(root / path), self._edited_at.get(root / path, 0.0)) for path in paths}


def _modified(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0
