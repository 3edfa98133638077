"""The server: an OpenAI-compatible API on loopback that plays a script and remembers what it was asked."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self, cast

from aiohttp import web

from tests.scripted_models.calls import ModelCall
from tests.scripted_models.replies import Failure
from tests.scripted_models.script import ANY_MODEL, Playing, Script, parts
from tests.scripted_models.shapes import Plan, failure_plan, models_body, plan, whole

HOST = "127.0.0.1"
MAX_BODY = 512 * 1024 * 1024
STOPPING_SECONDS = 0.05


@dataclass
class Exchange:
    """A request, and what became of it. Times are in seconds, sizes in bytes."""

    method: str
    path: str
    headers: Mapping[str, str]
    """Their names are in lower case."""
    raw: bytes
    """The body as it came."""
    arrived: float
    """On the monotonic clock, when its last byte was there."""
    time: float
    """The same since 1970."""
    number: int = 0
    """Which request to its model it is, from 1; 0 for what no script answers."""
    status: int = 0
    """0 while nothing was answered, and where nothing ever is."""
    sent: int = 0
    """What went out of the reply's body."""
    seconds: float = 0.0
    ended: bool = False
    """Whether the server is through with it."""
    disconnected: bool = False
    """Whether the client left before the reply had ended."""
    failure: str = ""
    """What the script found wrong with it."""

    @property
    def key(self) -> str:
        """The API key that came as a bearer token."""
        return self.headers.get("authorization", "").removeprefix("Bearer ")

    @cached_property
    def body(self) -> dict[str, Any]:
        """The parsed JSON, empty where there is none (or bodies aren't kept)."""
        try:
            parsed = json.loads(self.raw)
        except ValueError:
            return {}
        return cast(dict[str, Any], parsed) if isinstance(parsed, dict) else {}

    @property
    def model(self) -> str:
        return str(self.body.get("model", ""))

    @property
    def call(self) -> ModelCall:
        """The same as scripted callables see it."""
        return ModelCall(self.model, self.number, self.body, self.key)

    def forget(self) -> None:
        """Drops the body."""
        self.raw = b""
        self.__dict__.pop("body", None)


class ScriptedModels:
    """Plays a script to whoever asks: `async with` serves in the running loop, `with` in a thread of its own.

    `key` is the API key without which requests get status 401. `keep_bodies=False` forgets the bodies of requests
    once they are answered (for benchmarks).
    """

    def __init__(
        self,
        script: Script,
        *,
        port: int = 0,
        key: str | None = None,
        keep_bodies: bool = True,
    ) -> None:
        self.requests: list[Exchange] = []
        """What was asked so far, oldest first."""
        self.failures: list[str] = []
        """What the script found wrong: expectations that failed, replies it ran out of, callables that raised."""
        self.port = port
        self._parts = parts(script)
        self._key = key
        self._keep_bodies = keep_bodies
        self._runner: web.AppRunner | None = None
        self._stopping = False
        self._thread: _LoopThread | None = None

    @property
    def base_url(self) -> str:
        return f"http://{HOST}:{self.port}/v1"

    @property
    def unplayed(self) -> dict[str, int]:
        """How many replies are left, by model."""
        return {name: part.left for name, part in self._parts.items() if part.left}

    def verify(self) -> None:
        """Raises AssertionError for failures, and for replies that nobody asked for."""
        problems = [*self.failures, *(f"model {name}: {left} replies unplayed" for name, left in self.unplayed.items())]
        if problems:
            raise AssertionError("\n".join(problems))

    # ---- life

    async def start(self) -> None:
        """Listens on loopback. Raises OSError where the port is taken, OverflowError where there is no such port."""
        application = web.Application(client_max_size=MAX_BODY)
        application.router.add_route("*", "/{path:.*}", self._answer)
        # A handler is cancelled when its client leaves, and soon after the server is to stop: some replies never end.
        self._runner = web.AppRunner(
            application, access_log=None, handler_cancellation=True, shutdown_timeout=STOPPING_SECONDS
        )
        await self._runner.setup()
        try:
            await web.TCPSite(self._runner, HOST, self.port).start()
        except BaseException:
            await self._runner.cleanup()
            raise
        self.port = self._runner.addresses[0][1]

    async def stop(self) -> None:
        """Ends all connections, hanging ones too."""
        self._stopping = True
        if self._runner:
            await self._runner.cleanup()

    async def until(self, condition: Callable[[Self], bool], within: float = 60.0) -> None:
        """Waits until the condition holds for this server. Raises TimeoutError after `within` seconds."""
        async with asyncio.timeout(within):
            while not condition(self):  # noqa: ASYNC110 - a condition looks at anything: no event tells of it all
                await asyncio.sleep(0.002)

    def wait(self, condition: Callable[[Self], bool], within: float = 60.0) -> None:
        """As `until`, for threads."""
        deadline = time.monotonic() + within
        while not condition(self):
            if time.monotonic() > deadline:
                raise TimeoutError
            time.sleep(0.002)

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.stop()

    def __enter__(self) -> Self:
        self._thread = _LoopThread(self)
        self._thread.start()
        return self

    def __exit__(self, *exc: object) -> None:
        if self._thread:
            self._thread.stop()

    # ---- answers

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        exchange = await _arrived(request)
        if exchange.method != "GET":  # who looks what is served asks no model
            self.requests.append(exchange)
        try:
            return await _send(await self._plan(exchange), exchange, request)
        except (ConnectionError, asyncio.CancelledError):
            exchange.disconnected = not self._stopping
            raise
        finally:
            self._end(exchange)

    def _end(self, exchange: Exchange) -> None:
        exchange.seconds = time.monotonic() - exchange.arrived
        exchange.ended = True
        if not self._keep_bodies:
            exchange.forget()

    async def _plan(self, exchange: Exchange) -> Plan:
        method, path = exchange.method, exchange.path.rstrip("/")
        if self._key is not None and exchange.key != self._key:
            return failure_plan(Failure(401, "Incorrect API key provided.", code="invalid_api_key"))
        if (method, path) == ("GET", "/v1/models"):
            return whole(200, models_body(name for name in self._parts if name != ANY_MODEL))
        if (method, path) == ("POST", "/v1/chat/completions"):
            return await self._completion(exchange)
        return failure_plan(Failure(404, f"Unknown request URL: {method} {exchange.path}.", code="unknown_url"))

    async def _completion(self, exchange: Exchange) -> Plan:
        if not isinstance(exchange.body.get("messages"), list) or not exchange.model:
            return failure_plan(Failure(400, "We could not parse the JSON body of your request, or it lacks fields."))
        part = self._parts.get(exchange.model, self._parts.get(ANY_MODEL))
        if part is None:
            message = f"The model `{exchange.model}` does not exist or you do not have access to it."
            return failure_plan(Failure(404, message, code="model_not_found"))
        return await self._played(part, exchange)

    async def _played(self, part: Playing, exchange: Exchange) -> Plan:
        part.asked += 1
        exchange.number = part.asked
        call = exchange.call
        reply, exchange.failure = await part.reply(call)
        if exchange.failure:
            self.failures.append(exchange.failure)
        return plan(reply, call, int(exchange.time))


async def _arrived(request: web.Request) -> Exchange:
    raw = await request.read()
    headers = {name.lower(): value for name, value in request.headers.items()}
    return Exchange(request.method, request.path, headers, raw, time.monotonic(), time.time())


async def _send(made: Plan, exchange: Exchange, request: web.Request) -> web.StreamResponse:
    """Carries out a plan, and notes in the exchange what went out."""
    if made.delay:
        await asyncio.sleep(made.delay)
    response = web.StreamResponse(status=made.status or 200, headers=made.headers)
    if made.status is not None:
        exchange.status = made.status
        response.content_length = made.length
        if made.length is None:
            response.enable_chunked_encoding()
        await response.prepare(request)
    for piece in made.pieces:
        if exchange.sent:
            # A stream without pauses may go on for ever: it must not keep the loop for itself.
            await asyncio.sleep(made.pace)
        await response.write(piece)
        exchange.sent += len(piece)
    if made.ending == "hang":
        await asyncio.get_running_loop().create_future()
    if made.ending == "drop" and request.transport is not None:
        request.transport.close()
    return response


class _LoopThread:
    """A thread with a loop that serves until it is told to stop."""

    def __init__(self, server: ScriptedModels) -> None:
        self._server = server
        self._ready = Future[None]()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._run()), name="scripted-models", daemon=True)

    def start(self) -> None:
        self._thread.start()
        self._ready.result()

    def stop(self) -> None:
        self._loop.call_soon_threadsafe(self._stopping.set)
        self._thread.join()

    async def _run(self) -> None:
        self._loop, self._stopping = asyncio.get_running_loop(), asyncio.Event()
        try:
            await self._server.start()
        except (OSError, OverflowError) as error:
            self._ready.set_exception(error)
            return
        self._ready.set_result(None)
        await self._stopping.wait()
        await self._server.stop()
