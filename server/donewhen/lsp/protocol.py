"""pygls' protocol, corrected: every request is answered once, by a code and a message.

Each override here works around a defect of pygls 2.1; docs/upstream.md describes each defect and what pygls could
change. Everything else is pygls' own: registry, typed messages, documents, progress. Each message becomes a task; tasks
begin in the order in which their messages came.
"""

from __future__ import annotations

import asyncio
import inspect
import itertools
import json
import linecache
import logging
import os
import re
from collections.abc import Callable, Generator, Iterable, Mapping
from enum import Enum
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import unquote_to_bytes

import cattrs
from lsprotocol import types
from pygls.exceptions import (
    JsonRpcException,
    JsonRpcInternalError,
    JsonRpcInvalidParams,
    JsonRpcInvalidRequest,
    JsonRpcParseError,
    JsonRpcRequestCancelled,
    JsonRpcServerNotInitialized,
)
from pygls.lsp.server import LanguageServer
from pygls.protocol import LanguageServerProtocol, default_converter, lsp_method

from donewhen.core.errors import (
    AlreadyRunning,
    DoneWhenError,
    GoalFileError,
    InvalidGoal,
    UnknownInterrupt,
    UnknownName,
    UnknownRun,
    WrongAnswer,
)
from donewhen.lsp.client_profile import JsonObject, at, client_encoding, object_or_empty
from donewhen.lsp.documents import OpenDocuments
from donewhen.lsp.transport import BrokenFrame
from donewhen.version import __version__

if TYPE_CHECKING:
    from cattrs import Converter
    from pygls.server import ServerErrors

    from donewhen.lsp.transport import Reader, Writer


logger = logging.getLogger(__name__)

MsgId = int | str
ASK_SECONDS = 10.0
REQUEST_FAILED = -32803
BAD_VALUES = (UnknownRun, UnknownName, UnknownInterrupt, WrongAnswer, InvalidGoal)
"""A request names something that doesn't exist: its parameters are wrong. Errors in a goal file are not the
request's."""


class ClientSilent(Exception):
    """The client did not answer a request of ours in time, refused it, or is gone."""


class Protocol(LanguageServerProtocol):
    """The protocol of one client, from `initialize` to `exit` or the end of input."""

    _server: Server  # pyright: ignore[reportIncompatibleVariableOverride]  # set once, in __init__
    _initialized = False
    """On the class, because pygls reads every property of the protocol before `__init__` is over."""
    spoken_to = False
    """Whether a message came, be it one that is refused or broken."""

    def __init__(self, server: Server, converter: Converter) -> None:
        super().__init__(server, converter)
        self._numbers = itertools.count(1)
        self._tasks: set[asyncio.Task[Any]] = set()
        self._asked: dict[MsgId, asyncio.Task[Any]] = {}
        """What the client waits for; `_request_futures` has what we ask it."""

    # ------------------------------------------------------------------------------------ inbound

    def take(self, body: bytes) -> None:
        """Handles one message as it came; never raises."""
        self.spoken_to = True
        try:
            message = json.loads(body)
        except (ValueError, RecursionError):
            self._refuse(None, JsonRpcParseError("the message is not JSON"))
            return
        try:
            self.handle_message(message)
        except Exception:
            logger.exception("a message could not be handled")
            self._refuse(None, JsonRpcInternalError("the message could not be handled"))

    def handle_message(self, message: object) -> None:
        """Handles one message. pygls drops messages that it can't structure, serves requests before `initialize`, and
        doesn't answer those after `shutdown`."""
        if not isinstance(message, dict):
            self._refuse(None, JsonRpcInvalidRequest("a message is one JSON object"))
            return
        given = cast("JsonObject", message)
        if "method" not in given and ("result" in given or "error" in given):
            self._take_reply(given)
        elif "id" in given:
            self._take_request(given)
        elif isinstance(given.get("method"), str):
            self._take_notification(given)
        else:
            self._refuse(None, JsonRpcInvalidRequest("a notification has a method, which is text"))

    def _take_request(self, message: JsonObject) -> None:
        number, method = message["id"], cast("str", message.get("method"))
        try:
            self._admit(number, method, message)
            params = self._params(message)
        except JsonRpcException as refusal:
            self._refuse(number if _is_id(number) else None, refusal)
            return
        if method == types.SHUTDOWN:
            self._shutdown = True
            for task in self._tasks:
                if not task.cancelling():  # what a cancelled one cleans up is not cut off
                    task.cancel()
        asked = cast("MsgId", number)
        self._asked[asked] = self._begin(method, params)
        self._asked[asked].add_done_callback(lambda done: self._answer(asked, done))

    def _admit(self, number: object, method: object, message: JsonObject) -> None:
        """Raises JsonRpcException if the request is not allowed, or not now."""
        if (
            not _is_id(number)
            or not isinstance(method, str)
            or message.get("jsonrpc") != self.VERSION
            or number in self._asked
        ):
            raise JsonRpcInvalidRequest("a request has jsonrpc 2.0, a method and an id not in use")
        if self._shutdown:
            raise JsonRpcInvalidRequest("the server is shutting down")
        if (method == types.INITIALIZE) is self._initialized:
            if self._initialized:
                raise JsonRpcInvalidRequest("the server is already initialized")
            raise JsonRpcServerNotInitialized("the server is not initialized")
        self._get_handler(method)

    def _take_notification(self, message: JsonObject) -> None:
        method = message["method"]
        if method == types.CANCEL_REQUEST:
            number = object_or_empty(message.get("params")).get("id")
            task = self._asked.get(cast("MsgId", number)) if _is_id(number) else None
            if task is not None and not task.cancelling():
                task.cancel()
        elif method == types.EXIT:
            self._begin(method, None)
        elif self._initialized and not self._shutdown:
            try:
                self._get_handler(method)
                params = self._params(message)
            except JsonRpcException as problem:
                logger.warning("%s: %s", method, problem)
                return
            self._begin(method, params).add_done_callback(_log_failure)

    def _params(self, message: JsonObject) -> Any:
        """The params, typed if LSP knows the method, else unchanged: pygls requires them to exist, makes named tuples
        of them, and doesn't answer if they are wrong. Raises JsonRpcInvalidParams."""
        method, params = message["method"], message.get("params")
        refuse_unusable(params)
        if method == types.INITIALIZE:
            return initialize_params(params)
        known = self.get_message_type(method)
        if known is None:
            return params
        try:
            return self._converter.structure({**message, "params": params}, known).params
        except Exception as problem:
            # Without Python's names of types.
            field = cattrs.transform_error(problem)[0].rpartition(" @ $.")[2]
            raise JsonRpcInvalidParams(f"{method}: the value of {field} is missing or of the wrong type") from problem

    # ------------------------------------------------------------------------- handlers as tasks

    def _begin(self, method: str, params: Any) -> asyncio.Task[Any]:
        """Every handler is one task, so that cancelling its request cancels whatever it awaits. pygls runs generators,
        and so every command, outside of the future that it cancels, and calls functions that are not coroutines at
        once, before the handlers of earlier messages."""
        work = _performed(self._get_handler(method), (params,), {})
        task = asyncio.get_running_loop().create_task(work, name=method)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def settled(self) -> None:
        """Returns when nothing that the client sent is being handled."""
        while self._tasks:
            await asyncio.wait(self._tasks)

    def _answer(self, number: MsgId, done: asyncio.Task[Any]) -> None:
        """Answers expected failures in their own words, and defects without a trace or a path."""
        del self._asked[number]
        if done.cancelled():
            self._refuse(number, JsonRpcRequestCancelled("the request was cancelled"))
        elif (problem := done.exception()) is not None:
            self._refuse(number, _refusal(done.get_name(), problem))
        else:
            self._send_response(number, done.result())

    # ----------------------------------------------------------------------------------- lifecycle

    @lsp_method(types.INITIALIZE)
    def lsp_initialize(self, params: types.InitializeParams) -> Generator[Any, Any, types.InitializeResult]:
        result = yield from super().lsp_initialize(params)
        self._workspace = OpenDocuments.of(self.workspace)
        if at(params.capabilities.experimental, "workspace.diagnostics.refreshSupport") is not True:
            # A client that can't be asked to pull again (Neovim 0.11) would keep what it pulled beside what is pushed.
            result.capabilities.diagnostic_provider = None
        # Not before it is admitted, which is before the next message is read: what a client sends at the heels of an
        # `initialize` that is refused meets a server that is not initialized.
        self._initialized = True
        return result

    @lsp_method(types.EXIT)
    def lsp_exit(self, *_: object) -> Generator[Any, Any, None]:
        """Ends the reading loop: pygls calls `sys.exit` in the middle of a loop that still has work to do."""
        self._server.shutdown()
        yield from ()

    @property
    def exit_code(self) -> int:
        """The exit code of the process, also at the end of input: 0 once the client said `shutdown`."""
        return 0 if self._shutdown else 1

    @property
    def initialized(self) -> bool:
        return self._initialized

    def lost(self) -> None:
        """The client is gone: nobody waits for answers, and nobody gives any."""
        for future in list(self._request_futures.values()):
            if not future.done():
                future.set_exception(ClientSilent("the client is gone"))
        for task in list(self._tasks):
            task.cancel()

    @lsp_method(types.WORKSPACE_EXECUTE_COMMAND)
    def lsp_workspace__execute_command(self, params: types.ExecuteCommandParams) -> Generator[Any, Any, Any]:
        """Each command takes one object, which it reads itself: pygls drops misspelled fields, and coerces types."""
        commands = cast("dict[str, Callable[..., Any]]", self.fm.commands)  # pyright: ignore[reportUnknownMemberType]  # pygls annotates it in part
        command = commands.get(params.command)
        if command is None:
            raise JsonRpcInvalidParams(f"there is no command {params.command!r}")
        if len(params.arguments or ()) > 1:
            raise JsonRpcInvalidParams(f"{params.command} takes one object as its argument")
        return (yield command, tuple(params.arguments or ({},)), None)

    # ------------------------------------------------------------------------------------ outbound

    def _send_data(self, data: Any) -> None:
        """Writes one message. A result that can't be written becomes an error; pygls would leave the request
        unanswered."""
        try:
            body = json.dumps(data, default=self._serialize_message, separators=(",", ":")).encode()
        except Exception as problem:
            logger.error("a message could not be written", exc_info=problem)
            if isinstance(data, dict) and "result" in data:
                self._refuse(data["id"], JsonRpcInternalError("the result could not be written"))  # pyright: ignore[reportUnknownArgumentType]  # our own
            return
        if self.writer is not None:
            self.writer.write(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))

    def _send_response(
        self, msg_id: MsgId | None, result: Any | None = None, error: types.ResponseError | None = None
    ) -> None:
        """The data of pygls' internal errors are tracebacks, which are not sent."""
        answer = {"jsonrpc": self.VERSION, "id": msg_id}
        if error is None:
            self._send_data({**answer, "result": result})
        else:
            told: dict[str, Any] = {"code": error.code, "message": error.message}
            if error.data is not None and error.code != JsonRpcInternalError.CODE:
                told["data"] = error.data
            self._send_data({**answer, "error": told})

    def _refuse(self, msg_id: MsgId | None, refusal: JsonRpcException) -> None:
        self._send_response(msg_id, error=refusal.to_response_error())

    async def send_request_async(  # pyright: ignore[reportIncompatibleMethodOverride]  # both are awaited alone
        self,
        method: str,
        params: Any | None = None,
        msg_id: MsgId | None = None,
        *,
        timeout: float | None = ASK_SECONDS,
    ) -> Any:
        """The client's typed result. A client may never answer, and pygls would wait for ever. Raises ClientSilent;
        cancelling withdraws the question."""
        number = f"donewhen-{next(self._numbers)}" if msg_id is None else msg_id
        future = self.send_request(method, params, msg_id=number)
        try:
            async with asyncio.timeout(timeout):
                return await asyncio.wrap_future(future)
        except TimeoutError:
            self._withdraw(number)
            raise ClientSilent(f"the client did not answer {method} within {timeout} s") from None
        except asyncio.CancelledError:
            self._withdraw(number)
            raise
        finally:
            self._request_futures.pop(number, None)
            self._result_types.pop(number, None)

    def _withdraw(self, number: MsgId) -> None:
        # After `shutdown` a client needn't know that nobody waits for its answers.
        if not self._shutdown:
            self.notify(types.CANCEL_REQUEST, types.CancelParams(number))

    def _take_reply(self, message: JsonObject) -> None:
        """Ends the answered request, if anybody still waits: in pygls a late reply raises InvalidStateError."""
        number = message.get("id")
        future = self._request_futures.get(cast("MsgId", number)) if _is_id(number) else None
        if future is None or future.done():
            logger.info("ignored a reply that no request was waiting for")
        elif "error" in message:
            error = message["error"]
            text = cast("JsonObject", error).get("message") if isinstance(error, dict) else error
            future.set_exception(ClientSilent(f"the client refused: {text}"))
        elif (wanted := self._result_types.get(cast("MsgId", number))) is None:
            future.set_result(message.get("result"))
        else:
            try:
                typed = self._converter.structure({**message, "jsonrpc": self.VERSION}, wanted)
            except Exception:  # noqa: BLE001 - whatever is wrong with it, the caller gets the error
                future.set_exception(ClientSilent("the client's answer is not a valid response"))
            else:
                future.set_result(typed.result)


class Server(LanguageServer):
    """pygls' server of one client, with the corrected protocol."""

    protocol: Protocol  # pyright: ignore[reportIncompatibleVariableOverride]  # set once, in __init__

    def __init__(self) -> None:
        super().__init__(  # pyright: ignore[reportUnknownMemberType]  # pygls annotates it in part
            "donewhen", __version__, protocol_cls=Protocol, converter_factory=lsp_converter
        )
        self._over = asyncio.Event()

    @property
    def workspace(self) -> OpenDocuments:
        return cast("OpenDocuments", super().workspace)

    async def read(self, reader: Reader, writer: Writer) -> None:
        """Handles the client's messages until it says `exit` or is gone, or `shutdown` is called."""
        self.protocol.set_writer(cast("Any", writer))

        async def serve_reader() -> None:
            try:
                while (body := await reader.body()) is not None:
                    self.protocol.take(body)
                    # Its task runs first: many messages that arrive at once must not block the loop.
                    await asyncio.sleep(0)
            except BrokenFrame as problem:
                self.protocol.spoken_to = True
                logger.error("the client's input is not an LSP message: %s", problem)

        reading, over = (asyncio.ensure_future(work) for work in (serve_reader(), self._over.wait()))
        try:
            await asyncio.wait((reading, over), return_when=asyncio.FIRST_COMPLETED)
            self.protocol.lost()
        finally:
            reading.cancel()
            over.cancel()

    def shutdown(self) -> None:
        """Ends the session: pygls would keep reading until the next message comes."""
        self._over.set()

    def report_server_error(self, error: Exception, source: ServerErrors) -> None:
        """Logs the error: pygls would open a message in the editor."""
        logger.warning("%s", error)


async def _performed(handler: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The result of a handler of any kind; the handlers that a generator yields run one after the other within it."""
    result = handler(*args, **kwargs)
    if not inspect.isgenerator(result):
        return await result if inspect.isawaitable(result) else result
    generator = cast("Generator[Any, Any, Any]", result)
    value: Any = None
    while True:
        try:
            inner, inner_args, inner_kwargs = generator.send(value)
        except StopIteration as end:
            return end.value
        value = await _performed(inner, inner_args, inner_kwargs or {})


def _log_failure(done: asyncio.Task[Any]) -> None:
    """A notification has no answer: its errors go to the log, not into the user's face."""
    if not done.cancelled() and (problem := done.exception()) is not None:
        expected = isinstance(problem, JsonRpcException | DoneWhenError | ClientSilent)
        logger.warning("%s: %s", done.get_name(), problem, exc_info=None if expected else problem)


def _is_id(number: object) -> bool:
    return isinstance(number, int | str) and not isinstance(number, bool)


def _refusal(method: str, problem: BaseException) -> JsonRpcException:
    """The error that the client gets for a failed request."""
    if isinstance(problem, JsonRpcException):
        return problem
    said = problem.said if isinstance(problem, DoneWhenError) else str(problem)
    if isinstance(problem, BAD_VALUES) and not isinstance(problem, GoalFileError):
        return JsonRpcInvalidParams(said, data=_about(problem))
    if isinstance(problem, DoneWhenError | ClientSilent):
        return JsonRpcException(said, REQUEST_FAILED, _about(problem))
    if isinstance(problem, UnicodeEncodeError):
        return JsonRpcInvalidParams(f"{problem.object[problem.start : problem.end]!r} is half a character, and no text")
    if isinstance(problem, OSError):  # of a file that the request names, or of the machine
        logger.warning("%s failed: %s", method, problem)
        return JsonRpcException(f"{method} failed: {problem.strerror or type(problem).__name__}", REQUEST_FAILED)
    logger.error("%s failed", method, exc_info=problem)
    name = type(problem).__name__
    return JsonRpcInternalError(f"{method} failed with {name}; the server's log has the details")


def _about(problem: BaseException) -> dict[str, Any] | None:
    """What a client needs to offer a way out, so that it needn't parse the message."""
    if isinstance(problem, AlreadyRunning):
        return {"activeRunId": problem.run_id}
    if isinstance(problem, GoalFileError):
        return None if problem.line is None else {"line": problem.line}
    return {"lacks": problem.lacks} if isinstance(problem, DoneWhenError) and problem.lacks is not None else None


# Between JSON and the types of LSP.


# attrs keeps the source of every method that it generated for lsprotocol's classes: 1.4 MB that nothing reads.
linecache.clearcache()

_NAMED = re.compile(r"(?:^|[a-z])uris?$|^(?:root|file)?[pP]aths?$", re.IGNORECASE)


def lsp_converter() -> cattrs.Converter:
    """lsprotocol's own, but null is no text: a document would hold "None"."""
    converter = default_converter()
    converter.register_structure_hook(str, _text)
    converter.register_structure_hook(types.DidChangeConfigurationParams, _configuration)
    # LSP's named numbers and words are read as they are, and sent back unchanged, for example in a diagnostic.
    converter.register_unstructure_hook_func(
        lambda wanted: isinstance(wanted, type) and issubclass(wanted, Enum),
        lambda value: value.value if isinstance(value, Enum) else value,
    )
    return converter


def _text(value: object, _: object) -> str:
    if not isinstance(value, str):
        raise ValueError("not text")
    return value


def _configuration(given: Mapping[str, Any], _: object) -> types.DidChangeConfigurationParams:
    """Clients without settings to push leave them out: the server then requests them."""
    return types.DidChangeConfigurationParams(given.get("settings"))


def initialize_params(params: object) -> types.InitializeParams:
    """What a client says about itself; its capabilities as they came, which `read_profile` reads: LSP grows, and no
    client is refused because of an ability that lsprotocol doesn't know, or of a field that nothing depends on. Raises
    JsonRpcInvalidParams if an essential field is malformed."""
    if not isinstance(params, dict):
        raise JsonRpcInvalidParams("initialize: params must be an object")
    given = cast("dict[str, Any]", params)
    for name, kind, wanted in _UNDERSTOOD:
        value: object = given.get(name)
        if value is not None and type(value) is not kind:
            raise JsonRpcInvalidParams(f"initialize: {name} must be {wanted} or null")
    named = cast("list[object]", given.get("workspaceFolders") or [])
    uris = [object_or_empty(one).get("uri") for one in named]
    able = object_or_empty(given.get("capabilities"))
    encodings = types.GeneralClientCapabilities(position_encodings=[client_encoding(able)])
    return types.InitializeParams(
        capabilities=types.ClientCapabilities(general=encodings, experimental=able),
        process_id=given.get("processId"),
        root_uri=given.get("rootUri") or None,
        root_path=given.get("rootPath") or None,
        workspace_folders=[types.WorkspaceFolder(uri, "") for uri in uris if isinstance(uri, str) and uri],
        initialization_options=given.get("initializationOptions") or {},
    )


_UNDERSTOOD: tuple[tuple[str, type, str], ...] = (
    ("capabilities", dict, "an object"),
    ("processId", int, "a whole number"),
    ("rootUri", str, "text"),
    ("rootPath", str, "text"),
    ("workspaceFolders", list, "a list"),
    ("initializationOptions", dict, "an object"),
)


def refuse_unusable(params: object) -> None:
    """Refuses params that no method can take: neither object nor list, or with a uri that can't be a file's, at any
    depth. Raises JsonRpcInvalidParams, which names the field."""
    if params is not None and not isinstance(params, dict | list):
        raise JsonRpcInvalidParams("params must be an object or a list")
    waiting: list[tuple[str, Any]] = [("params", cast("Any", params))]
    while waiting:
        name, value = waiting.pop()
        if isinstance(value, dict):
            waiting += cast("Iterable[tuple[str, Any]]", value.items())  # pyright: ignore[reportUnknownMemberType]  # a client's JSON
        elif isinstance(value, list):
            waiting += ((name, one) for one in cast("list[Any]", value))
        elif isinstance(value, str) and _NAMED.search(name) and not _is_usable(value):
            raise JsonRpcInvalidParams(f"{name}: {value[:200]!r} can't be the name of a file")


def _is_usable(text: str) -> bool:
    try:
        if not text.startswith("file:"):
            return "\0" not in text and bool(os.fsencode(text) or True)
        name = unquote_to_bytes(text)
        return b"\0" not in name and bool(name.decode("utf-8") or True)
    except UnicodeError:
        return False
