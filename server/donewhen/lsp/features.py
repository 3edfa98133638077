"""What the server offers: the only place where methods and commands are registered with pygls.

`initialize` is answered before anything of the engine is imported: that would take half as long again. All else is
handled by functions `(session, params)`, named here by module and function, once a thread has imported them.
"""

from __future__ import annotations

import asyncio
import inspect
import threading
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, cast

from lsprotocol import types
from pygls.exceptions import JsonRpcInvalidRequest, JsonRpcServerNotInitialized

from donewhen.extras import EXTRAS
from donewhen.lsp.client_profile import ClientProfile, read_profile

if TYPE_CHECKING:
    from donewhen.lsp.host import Host
    from donewhen.lsp.protocol import Server
    from donewhen.lsp.session import Session
    from donewhen.lsp.transport import TokenGuard

Handler = Callable[..., Awaitable[Any] | Any]
"""Takes the session, a command's name if it is of commands, and the params."""


@dataclass(frozen=True, slots=True)
class Feature:
    """One method: its module in this package, its function, and its entry in the answer to `initialize`."""

    module: str
    function: str
    options: Any = None

    def load(self) -> Handler:
        return cast("Handler", getattr(import_module(f"donewhen.lsp.{self.module}"), self.function))


FEATURES: dict[str, Feature] = {
    types.INITIALIZED: Feature("lifecycle", "initialized"),
    types.TEXT_DOCUMENT_DID_OPEN: Feature("synchronizing", "opened"),
    types.TEXT_DOCUMENT_DID_CHANGE: Feature("synchronizing", "changed"),
    types.TEXT_DOCUMENT_DID_SAVE: Feature("synchronizing", "saved", types.SaveOptions(include_text=True)),
    types.TEXT_DOCUMENT_DID_CLOSE: Feature("synchronizing", "closed"),
    types.TEXT_DOCUMENT_DIAGNOSTIC: Feature(
        "synchronizing", "pull", types.DiagnosticOptions(True, False, identifier="donewhen")
    ),
    types.TEXT_DOCUMENT_CODE_LENS: Feature("lenses", "lenses"),
    types.TEXT_DOCUMENT_HOVER: Feature("hover", "hover"),
    types.TEXT_DOCUMENT_INLAY_HINT: Feature("lenses", "hints"),
    types.TEXT_DOCUMENT_DOCUMENT_SYMBOL: Feature("navigation", "symbols"),
    types.TEXT_DOCUMENT_DEFINITION: Feature("navigation", "definition"),
    types.TEXT_DOCUMENT_CODE_ACTION: Feature(
        "actions", "actions", types.CodeActionOptions(["quickfix", "refactor", "source.donewhen"])
    ),
    types.TEXT_DOCUMENT_COMPLETION: Feature("completion", "completion", types.CompletionOptions(["`", ":", " ", "/"])),
    types.TEXT_DOCUMENT_DOCUMENT_LINK: Feature("navigation", "links"),
    types.WORKSPACE_DID_CHANGE_CONFIGURATION: Feature("lifecycle", "configured"),
    types.WORKSPACE_DID_CHANGE_WORKSPACE_FOLDERS: Feature("lifecycle", "folders_changed"),
    types.WORKSPACE_DID_CHANGE_WATCHED_FILES: Feature("lifecycle", "files_changed"),
    "donewhen/didChangeTrust": Feature("synchronizing", "trust_changed"),
    "donewhen/setSecret": Feature("synchronizing", "secret"),
    "donewhen/editorDiagnostics": Feature("synchronizing", "editor_diagnostics"),
}

COMMANDS = (
    "donewhen.goal.set",
    "donewhen.goal.detect",
    "donewhen.goal.propose",
    "donewhen.goal.preflight",
    "donewhen.goal.amend",
    "donewhen.goal.check",
    "donewhen.goal.clear",
    "donewhen.run.start",
    "donewhen.run.pause",
    "donewhen.run.resume",
    "donewhen.run.stop",
    "donewhen.run.answer",
    "donewhen.run.override",
    "donewhen.run.dispute",
    "donewhen.run.acceptIntegrity",
    "donewhen.run.guard",
    "donewhen.run.revert",
    "donewhen.run.status",
    "donewhen.run.children",
    "donewhen.run.iteration",
    "donewhen.run.file",
    "donewhen.run.changes",
    "donewhen.run.proposed",
    "donewhen.run.evidence",
    "donewhen.run.tests",
    "donewhen.run.report",
    "donewhen.run.document",
    "donewhen.run.activity",
    "donewhen.run.hint",
    "donewhen.run.tell",
    *(f"donewhen.{one.folder}.{name}" for one in EXTRAS for name in one.editor),
)

EXECUTE = Feature("commands", "execute")


class Connection:
    """One client, from its first message to its last."""

    def __init__(self, server: Server, host: Host, guard: TokenGuard | None = None) -> None:
        self.server = server
        self.host = host
        self.guard = guard
        """Of a client over TCP, whose runs outlive it."""
        self._profile: ClientProfile | None = None
        """None until `initialize` is admitted: what is sent right behind one that is refused is not served."""
        self._turn = asyncio.Lock()
        self._session: Session | None = None
        self._watching: asyncio.Task[None] | None = None

    def initialize(self, params: types.InitializeParams) -> None:
        """Answers at once."""
        profile = read_profile(params)
        if self.guard is not None and not self.guard.admits(profile.token):
            # The answer goes out first.
            asyncio.get_running_loop().call_later(0.05, self.server.shutdown)
            raise JsonRpcInvalidRequest("initializationOptions.token is not the token that was printed")
        self._profile = profile
        pid = profile.process_id or self.host.client_process_id

        async def end_with(pid: int) -> None:
            await self.host.services.until_gone(pid)
            self.server.shutdown()

        if pid is not None and self.guard is None:
            # As if the client's end of the streams had closed: a child of the client may keep it open.
            self._watching = asyncio.get_running_loop().create_task(end_with(pid))

    async def session(self) -> Session:
        """What serves the client, imported and made once; raises JsonRpcServerNotInitialized where none was admitted.
        The lock lets those who wait go on in the order in which they came, and before all who come later."""
        async with self._turn:
            if self._profile is None:
                raise JsonRpcServerNotInitialized("the server is not initialized")
            if self._session is None:
                make = await asyncio.to_thread(_imported_session)
                self._session = make(self.server, self.host, self._profile, outlived=self.guard is not None)
            return self._session

    async def disconnect(self, reason: str) -> None:
        """The client leaves, or is gone."""
        if self._watching is not None:
            self._watching.cancel()
        async with self._turn:
            session = self._session
        if session is not None:
            await session.disconnect(reason)
        elif self.guard is None:
            await self.host.close(reason)


_IMPORTING = threading.Lock()
"""Held by the thread that imports: it goes on where whoever waited for it is cancelled, and another one waits then."""


def _imported_session() -> type[Session]:
    with _IMPORTING:
        for feature in (EXECUTE, *FEATURES.values()):
            feature.load()
        from donewhen.lsp.session import Session
    return Session


def register(connection: Connection) -> None:
    """Registers everything with the client's server."""
    server = connection.server

    @server.feature(types.INITIALIZE)
    def initialize(params: Any) -> None:
        connection.initialize(params)

    @server.feature(types.SHUTDOWN)
    async def shutdown(_: Any = None) -> None:
        """What must not outlive the client ends before the answer."""
        await connection.disconnect("the editor was closed or restarted the server")

    def handler(feature: Feature, *named: str) -> Callable[..., Awaitable[Any]]:
        async def handle(params: Any = None) -> Any:
            session = await connection.session()
            result = feature.load()(session, *named, params)
            return await result if inspect.isawaitable(result) else result

        return handle

    for method, feature in FEATURES.items():
        server.feature(method, feature.options)(handler(feature))
    for name in COMMANDS:
        server.command(name)(handler(EXECUTE, name))
