"""One client: what it said, its open documents, and the folders that it looks at."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import Awaitable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from lsprotocol import types

from donewhen.app.workspace_context import WorkspaceContext, plugins_there
from donewhen.core.errors import NotTrusted
from donewhen.goalfile.files import goal_name
from donewhen.goalfile.parse import parse
from donewhen.goalfile.source import ParsedGoalFile
from donewhen.goalfile.survey import Survey
from donewhen.lsp.client_profile import ClientProfile
from donewhen.lsp.documents import EditorState, OpenDocuments, Texts, Unsaved
from donewhen.lsp.host import Folder, Host
from donewhen.lsp.opening import OpenWorkspace
from donewhen.lsp.positions import FilePlace, file_path, is_goal_file, locate
from donewhen.lsp.proof_basis import ProofBases
from donewhen.lsp.protocol import ClientSilent, Server
from donewhen.ports import EditorSilent, no_editor_to_ask

logger = logging.getLogger(__name__)

AnswerT = TypeVar("AnswerT")
LONG_TEXT = 20_000
"""Longer goal files are parsed in a thread, so that the loop is not blocked."""


class Client:
    """What is known of one client, for all that shows it something. Everything that outlives it is in the host."""

    def __init__(self, server: Server, host: Host, profile: ClientProfile) -> None:
        self.server = server
        self.host = host
        self.profile = profile
        paths = (file_path(uri) for uri in profile.folders)
        self.roots = tuple(path for path in paths if path is not None)
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
        host.settings = profile.settings
        host.unsaved = self.unsaved.unsaved_text
        host.editor = self.editor.view
        host.ask_editor = self._ask_model
        host.trusted = profile.trusted
        self.editor.forwarded = profile.editor_diagnostics
        for root in self.roots:
            host.readmit(root)

    @property
    def documents(self) -> OpenDocuments:
        return self.server.workspace

    async def _ask_model(self, asked: Mapping[str, Any], timeout: float) -> object:
        """See `ports.AskEditor`. A client that leaves answers nothing any more."""
        if not self.profile.language_models:
            return await no_editor_to_ask(asked, timeout)
        question = self.server.protocol.send_request_async("donewhen/model/complete", asked, timeout=timeout)
        asking = asyncio.ensure_future(question)
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

    async def answered(self, question: Awaitable[AnswerT]) -> AnswerT | None:
        """What the client answers to a question of ours; None where it doesn't, or refuses."""
        try:
            return await question
        except ClientSilent as problem:
            logger.info("%s", problem)
            return None

    def later(self, work: Any, name: str) -> asyncio.Task[Any]:
        """Runs a coroutine independently of the client's requests; its errors are logged."""

        def over(task: asyncio.Task[Any]) -> None:
            self.background.discard(task)
            if not task.cancelled() and (problem := task.exception()) is not None:
                logger.warning("%s: %s", name, problem, exc_info=problem)

        task: asyncio.Task[Any] = asyncio.get_running_loop().create_task(work, name=name)
        self.background.add(task)
        task.add_done_callback(over)
        return task

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
        """The parameters for opening the folder; settings and trust are queried again whenever they matter, also when
        another client has come."""
        host, state_dir = self.host, self.profile.state_dir
        context = WorkspaceContext(
            trusted=lambda: host.trusted,
            secrets=host.secrets,
            unsaved=lambda path: host.unsaved(root / path),
            where="editor",
            editor=lambda: host.editor(root),
            ask_editor=lambda asked, timeout: host.ask_editor(asked, timeout),
        )
        return OpenWorkspace(root, lambda: host.settings, context, Path(state_dir) if state_dir else host.state_dir)

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

    def changed_at(self, root: Path, paths: Iterable[str]) -> dict[str, float]:
        """When these files last changed, on disk or in the editor; epoch seconds."""
        found: dict[str, float] = {}
        for path in paths:
            found[path] = self._edited_at.get(root / path, 0.0)
            with contextlib.suppress(OSError):
                found[path] = max(found[path], (root / path).stat().st_mtime)
        return found
