"""The conversation with a client, hardened: every request is answered once, by a code and a message.

pygls gives the types and their converter. Its own protocol class is not used: what it does wrong is what this module
is about, and it could not answer `initialize` before LSP's types are imported, which takes longer than everything
else at the start. Each message becomes a task; tasks begin in the order in which their messages came.
"""

from __future__ import annotations

import asyncio
import enum
import inspect
import json
import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, cast

from donewhen.core.errors import (
    DoneWhenError,
    GoalFileError,
    InvalidGoal,
    UnknownInterrupt,
    UnknownName,
    UnknownRun,
    WrongAnswer,
)
from donewhen.lsp import failures
from donewhen.lsp.failures import ClientSilent, Refused
from donewhen.lsp.hardening_requests import ASK_SECONDS, ServerRequests
from donewhen.lsp.hardening_uris import refuse_unusable

if TYPE_CHECKING:
    from donewhen.lsp.hardening_params import LspTypes
    from donewhen.lsp.transport import Link

logger = logging.getLogger(__name__)

Phase = Literal["new", "ready", "shut"]
JsonObject = Mapping[str, Any]
BAD_VALUES = (UnknownRun, UnknownName, UnknownInterrupt, WrongAnswer, InvalidGoal)
"""What a request names and there isn't: its parameters are wrong. A goal file's own errors are no parameter's."""


@dataclass(frozen=True, slots=True)
class Route:
    """Where a method leads. `raw` handlers get the params as they came and check them themselves."""

    handle: Callable[[Any], Awaitable[Any] | Any]
    raw: bool = False


class Conversation:
    """One conversation with one client, from `initialize` to `exit` or the end of input."""

    def __init__(self, link: Link) -> None:
        self.routes: dict[str, Route] = {}
        self._link = link
        self.phase: Phase = "new"
        self.exit_code: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self._calls: dict[int | str, asyncio.Task[Any]] = {}
        self._notified: set[asyncio.Task[Any]] = set()
        self._requests = ServerRequests(self._send)
        self._types: LspTypes | None = None
        self._importing = asyncio.Lock()
        """Fair, so that messages that wait for the types go on in their order."""

    # ------------------------------------------------------------------------------------ inbound

    def receive(self, body: bytes) -> None:
        """Takes one message body; never raises."""
        try:
            message: Any = json.loads(body)
        except (ValueError, RecursionError):
            self._refuse(None, Refused(failures.PARSE_ERROR, "the message is not JSON"))
            return
        if not isinstance(message, dict):
            self._refuse(None, Refused(failures.INVALID_REQUEST, "a message is one JSON object"))
            return
        self._take(cast("JsonObject", message))

    def lost(self) -> None:
        """The client is gone: the exit code says whether it had said goodbye."""
        self._requests.give_up()
        self._end()

    def _take(self, message: JsonObject) -> None:
        if "method" not in message and ("result" in message or "error" in message):
            self._requests.take_reply(message)
        elif "id" in message:
            self._take_request(message)
        elif isinstance(message.get("method"), str):
            self._take_notification(message)
        else:
            self._refuse(None, Refused(failures.INVALID_REQUEST, "a notification has a method, which is text"))

    def _take_request(self, message: JsonObject) -> None:
        number = message["id"]
        try:
            route = self._admit(message)
        except Refused as refusal:
            self._refuse(number if _is_id(number) else None, refusal)
            return
        task = asyncio.get_running_loop().create_task(self._perform(route, message))
        self._calls[number] = task
        task.add_done_callback(lambda done: self._answer(number, message["method"], done))

    def _admit(self, message: JsonObject) -> Route:
        """Where this request leads, if it may be made now. Raises Refused."""
        number, method = message["id"], message.get("method")
        if (
            not _is_id(number)
            or not isinstance(method, str)
            or message.get("jsonrpc") != "2.0"
            or number in self._calls
        ):
            raise Refused(failures.INVALID_REQUEST, "a request has jsonrpc 2.0, a method and an id not in use")
        if self.phase == "shut":
            raise Refused(failures.INVALID_REQUEST, "the server is shutting down")
        if (method == "initialize") is not (self.phase == "new"):
            if self.phase == "new":
                raise Refused(failures.NOT_INITIALIZED, "the server is not initialized")
            raise Refused(failures.INVALID_REQUEST, "the server is initialized already")
        route = self.routes.get(method)
        if route is None:
            raise Refused(failures.METHOD_NOT_FOUND, f"there is no method {method}")
        if method == "initialize":
            self.phase = "ready"
        elif method == "shutdown":
            self._shut(number)
        return route

    def _take_notification(self, message: JsonObject) -> None:
        method = message["method"]
        if method == "exit":
            self._end()
        elif method == "$/cancelRequest":
            self._cancel(message.get("params"))
        elif self.phase == "ready" and (route := self.routes.get(method)) is not None:
            task = asyncio.get_running_loop().create_task(self._perform(route, message))
            self._notified.add(task)
            task.add_done_callback(lambda done: self._note(method, done))

    async def _perform(self, route: Route, message: JsonObject) -> Any:
        refuse_unusable(message.get("params"))
        params = message.get("params") if route.raw else (await self.types()).params(message)
        result = route.handle(params)
        return await result if inspect.isawaitable(result) else result

    async def settled(self) -> None:
        """Returns when nothing that the client sent is being handled any more."""
        while pending := [*self._calls.values(), *self._notified]:
            await asyncio.wait(pending)

    async def types(self) -> LspTypes:
        """LSP's types, imported beside the loop at the first need."""
        async with self._importing:
            if self._types is None:
                self._types = await asyncio.to_thread(_import_types)
            return self._types

    # ----------------------------------------------------------------------------------- lifecycle

    def _shut(self, number: int | str) -> None:
        """No more requests; the work of those in flight is cancelled, and each is answered."""
        self.phase = "shut"
        self._requests.no_more_withdrawing()
        for other, call in self._calls.items():
            if other != number:
                call.cancel()

    def _end(self) -> None:
        if not self.exit_code.done():
            self.exit_code.set_result(0 if self.phase == "shut" else 1)
        for task in (*self._calls.values(), *self._notified):
            task.cancel()

    def dismiss(self) -> None:
        """Ends the conversation after what is being answered now."""
        asyncio.get_running_loop().call_later(0.05, self._end)

    def expect_greeting(self) -> None:
        """Ends the conversation where nobody introduced themselves."""
        if self.phase == "new":
            self._end()

    def _cancel(self, params: Any) -> None:
        number = cast("JsonObject", params).get("id") if isinstance(params, dict) else None
        call = self._calls.get(number) if isinstance(number, int | str) else None
        if call is not None:
            call.cancel()

    # ------------------------------------------------------------------------------------ outbound

    def _answer(self, number: int | str, method: str, done: asyncio.Task[Any]) -> None:
        self._calls.pop(number, None)
        if done.cancelled():
            self._refuse(number, Refused(failures.REQUEST_CANCELLED, "the request was cancelled"))
            return
        problem = done.exception()
        if problem is not None and method == "initialize":
            self.phase = "new"
        if problem is None:
            self._send({"jsonrpc": "2.0", "id": number, "result": done.result()})
        else:
            self._refuse(number, _refusal(method, problem))

    def _note(self, method: str, done: asyncio.Task[Any]) -> None:
        """A notification has no answer: what went wrong with it goes to the log, not into the user's face."""
        self._notified.discard(done)
        if not done.cancelled() and (problem := done.exception()) is not None:
            expected = isinstance(problem, Refused | DoneWhenError | ClientSilent)
            logger.warning("%s: %s", method, problem, exc_info=None if expected else problem)

    def _refuse(self, number: int | str | None, refusal: Refused) -> None:
        error = {"code": refusal.code, "message": refusal.message}
        self._send({"jsonrpc": "2.0", "id": number, "error": error})

    def _send(self, data: JsonObject) -> None:
        try:
            body = json.dumps(data, default=self._plain, separators=(",", ":"))
        except (TypeError, ValueError) as problem:
            logger.error("a message could not be written", exc_info=problem)
            if "result" in data:
                self._refuse(data["id"], Refused(failures.INTERNAL_ERROR, "the result could not be written"))
            return
        self._link.send(body.encode())

    def _plain(self, data: Any) -> Any:
        """The JSON of an LSP type; anything else that JSON can't hold is a defect of ours."""
        if hasattr(data, "__attrs_attrs__") and self._types is not None:
            return self._types.plain(data)
        if isinstance(data, enum.Enum):
            return data.value
        raise TypeError(f"{type(data).__name__} is nothing that goes over the wire")

    def notify(self, method: str, params: Any | None = None) -> None:
        """Tells the client; LSP's types and plain JSON are both taken as params."""
        self._send({"jsonrpc": "2.0", "method": method, "params": params})

    async def ask(self, method: str, params: Any = None, *, timeout: float | None = ASK_SECONDS) -> Any:
        """Asks the client and returns its typed result. Raises ClientSilent where no usable answer comes."""
        result = await self._requests.ask(method, params, timeout=timeout)
        known = await self.types()
        try:
            return known.result(method, result)
        except Exception as problem:
            raise ClientSilent(f"the client's answer to {method} makes no sense") from problem


def _is_id(number: object) -> bool:
    return isinstance(number, int | str) and not isinstance(number, bool)


def _import_types() -> LspTypes:
    """Runs in a thread."""
    from donewhen.lsp.hardening_params import LspTypes

    return LspTypes()


def _refusal(method: str, problem: BaseException) -> Refused:
    """What the client is told: expected failures in their words, defects without a trace or a path."""
    if isinstance(problem, Refused):
        return problem
    if isinstance(problem, BAD_VALUES) and not isinstance(problem, GoalFileError):
        return Refused(failures.INVALID_PARAMS, str(problem))
    if isinstance(problem, DoneWhenError | ClientSilent):
        return Refused(failures.REQUEST_FAILED, str(problem))
    logger.error("%s failed", method, exc_info=problem)
    name = type(problem).__name__
    return Refused(failures.INTERNAL_ERROR, f"{method} failed with {name}; the server's log has the details")
