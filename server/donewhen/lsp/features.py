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
"""Takes the session and the params."""


@dataclass(frozen=True, slots=True)
class Feature:
    """One method or command: its module, in this package if it is no other's, its function, and its entry in the answer
    to `initialize`."""

    module: str
    function: str
    options: Any = None

    def load(self) -> Handler:
        module = self.module if "." in self.module else f"donewhen.lsp.{self.module}"
        return cast("Handler", getattr(import_module(module), self.function))


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

COMMANDS: dict[str, Feature] = {
    "donewhen.goal.set": Feature("goal_commands", "set_goal"),
    "donewhen.goal.detect": Feature("goal_commands", "detect_checks"),
    "donewhen.goal.propose": Feature("goal_commands", "propose_goals"),
    "donewhen.goal.preflight": Feature("goal_commands", "preflight"),
    "donewhen.goal.amend": Feature("goal_commands", "amend_goal"),
    "donewhen.goal.check": Feature("goal_commands", "check_goal"),
    "donewhen.goal.clear": Feature("goal_commands", "clear_goal"),
    "donewhen.run.start": Feature("commands", "start"),
    "donewhen.run.pause": Feature("commands", "pause"),
    "donewhen.run.resume": Feature("commands", "resume"),
    "donewhen.run.stop": Feature("commands", "stop"),
    "donewhen.run.answer": Feature("commands", "answer"),
    "donewhen.run.override": Feature("commands", "override"),
    "donewhen.run.dispute": Feature("commands", "dispute"),
    "donewhen.run.acceptIntegrity": Feature("commands", "accept_integrity"),
    "donewhen.run.guard": Feature("commands", "guard"),
    "donewhen.run.revert": Feature("commands", "revert"),
    "donewhen.run.status": Feature("commands", "status"),
    "donewhen.run.children": Feature("commands", "children"),
    "donewhen.run.iteration": Feature("commands", "iteration"),
    "donewhen.run.file": Feature("commands", "file_text"),
    "donewhen.run.changes": Feature("commands", "changes"),
    "donewhen.run.proposed": Feature("commands", "proposed"),
    "donewhen.run.evidence": Feature("commands", "evidence"),
    "donewhen.run.tests": Feature("commands", "tests"),
    "donewhen.run.report": Feature("commands", "report"),
    "donewhen.run.document": Feature("commands", "document"),
    "donewhen.run.activity": Feature("commands", "activity"),
    "donewhen.run.hint": Feature("commands", "hint"),
    "donewhen.run.tell": Feature("commands", "answer_in_chat"),
    **{
        f"donewhen.{one.folder}.{name}": Feature(one.editor_module, function)
        for one in EXTRAS
        for name, function in one.editor.items()
    },
}
"""The functions of these take `(session, argument)`, and say of what type that is."""


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
        for feature in (*COMMANDS.values(), *FEATURES.values()):
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

    def handler(feature: Feature, *, command: bool = False) -> Callable[..., Awaitable[Any]]:
        async def handle(params: Any = None) -> Any:
            session, perform = await connection.session(), feature.load()
            if command:
                from donewhen.lsp.arguments import argument_of, read  # not above: they know the engine

                params = read(argument_of(perform), params)
            result = perform(session, params)
            return await result if inspect.isawaitable(result) else result

        return handle

    for method, feature in FEATURES.items():
        server.feature(method, feature.options)(handler(feature))
    for name, feature in COMMANDS.items():
        server.command(name)(handler(feature, command=True))
