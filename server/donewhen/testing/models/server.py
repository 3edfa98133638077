"""The server: an OpenAI-compatible API on loopback that plays a script and remembers what it was asked."""

from __future__ import annotations

import asyncio
import re
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from typing import Self

from donewhen.testing.models.exchanges import Exchange, send
from donewhen.testing.models.http1 import BadRequest, Request, WatchedReader, read_request
from donewhen.testing.models.replies import Failure
from donewhen.testing.models.script import ANY_MODEL, Playing, Prebuilt, Script, parts
from donewhen.testing.models.shapes import Plan, failure_plan, models_body, plan, whole

HOST = "127.0.0.1"
_STREAMS = re.compile(rb'"stream"\s*:\s*true')


class ScriptedModels:
    """Plays a script to whoever asks: `async with` serves in the running loop, `with` in a thread of its own.

    `key` is the API key without which requests get status 401. `keep_bodies=False` forgets the bodies of requests
    once they are answered (for benchmarks). `heard` is told of every exchange that has ended, in the server's thread.
    """

    def __init__(
        self,
        script: Script,
        *,
        port: int = 0,
        key: str | None = None,
        keep_bodies: bool = True,
        heard: Callable[[Exchange], None] | None = None,
    ) -> None:
        self.requests: list[Exchange] = []
        """What was asked so far, oldest first."""
        self.failures: list[str] = []
        """What the script found wrong: expectations that failed, replies it ran out of, callables that raised."""
        self.port = port
        self._parts = parts(script)
        self._key = key
        self._keep_bodies = keep_bodies
        self._heard = heard
        self._server: asyncio.Server | None = None
        self._connections: set[asyncio.Task[None]] = set()
        self._thread: _LoopThread | None = None

    @property
    def base_url(self) -> str:
        return f"http://{HOST}:{self.port}/v1"

    @property
    def unplayed(self) -> dict[str, int]:
        """How many replies are left, by model."""
        playing = {name: part.left for name, part in self._parts.items() if isinstance(part, Playing)}
        return {name: left for name, left in playing.items() if left}

    def verify(self) -> None:
        """Raises AssertionError for failures, and for replies that nobody asked for."""
        problems = [*self.failures, *(f"model {name}: {left} replies unplayed" for name, left in self.unplayed.items())]
        if problems:
            raise AssertionError("\n".join(problems))

    # ---- life

    async def start(self) -> None:
        """Listens on loopback. Raises OSError where the port is taken, OverflowError where there is no such port."""
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(self._protocol, HOST, self.port)
        self.port = self._server.sockets[0].getsockname()[1]

    async def stop(self) -> None:
        """Ends all connections, hanging ones too."""
        if self._server:
            self._server.close()
        for task in list(self._connections):
            task.cancel()
        await asyncio.gather(*self._connections, return_exceptions=True)

    async def until(self, condition: Callable[[Self], bool], within: float = 10.0) -> None:
        """Waits until the condition holds for this server. Raises TimeoutError after `within` seconds."""
        async with asyncio.timeout(within):
            while not condition(self):  # noqa: ASYNC110 - a condition looks at anything: no event tells of it all
                await asyncio.sleep(0.002)

    def wait(self, condition: Callable[[Self], bool], within: float = 10.0) -> None:
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

    # ---- connections

    def _protocol(self) -> asyncio.StreamReaderProtocol:
        return asyncio.StreamReaderProtocol(WatchedReader(), self._connected)

    def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        assert isinstance(reader, WatchedReader)
        task = asyncio.get_running_loop().create_task(self._serve(reader, writer))
        self._connections.add(task)
        task.add_done_callback(self._connections.discard)

    async def _serve(self, reader: WatchedReader, writer: asyncio.StreamWriter) -> None:
        try:
            while request := await read_request(reader, writer):
                stays = await self._answer(request, reader, writer)
                if not (stays and request.keeps_alive):
                    break
        except BadRequest as problem:
            (message,) = failure_plan(Failure(400, str(problem)), {"Connection": "close"}).pieces
            writer.write(message)
        finally:
            writer.close()

    async def _answer(self, request: Request, reader: WatchedReader, writer: asyncio.StreamWriter) -> bool:
        """Whether the connection can serve another request."""
        exchange = Exchange(request, time.monotonic(), time.time())
        self.requests.append(exchange)
        try:
            made = await self._plan(exchange)
            await send(made, exchange, reader, writer)
        finally:
            self._end(exchange)
        return made.ending == "end" and not exchange.disconnected

    def _end(self, exchange: Exchange) -> None:
        exchange.seconds = time.monotonic() - exchange.arrived
        exchange.ended = True
        if self._heard:
            self._heard(exchange)
        if not self._keep_bodies:
            exchange.forget()

    # ---- answers

    async def _plan(self, exchange: Exchange) -> Plan:
        method, path = exchange.request.method, exchange.path.rstrip("/")
        if self._key is not None and exchange.key != self._key:
            return failure_plan(Failure(401, "Incorrect API key provided.", code="invalid_api_key"))
        if (method, path) == ("GET", "/v1/models"):
            return whole(200, models_body(name for name in self._parts if name != ANY_MODEL))
        if (method, path) == ("POST", "/v1/chat/completions"):
            return await self._completion(exchange)
        return failure_plan(Failure(404, f"Unknown request URL: {method} {exchange.path}.", code="unknown_url"))

    async def _completion(self, exchange: Exchange) -> Plan:
        anyone = self._parts.get(ANY_MODEL)
        if isinstance(anyone, Prebuilt) and len(self._parts) == 1:
            return anyone.next(_STREAMS.search(exchange.request.body) is not None)
        if not isinstance(exchange.body.get("messages"), list) or not exchange.model:
            return failure_plan(Failure(400, "We could not parse the JSON body of your request, or it lacks fields."))
        part = self._parts.get(exchange.model, anyone)
        if part is None:
            message = f"The model `{exchange.model}` does not exist or you do not have access to it."
            return failure_plan(Failure(404, message, code="model_not_found"))
        if isinstance(part, Prebuilt):
            return part.next(exchange.call.streams)
        return await self._played(part, exchange)

    async def _played(self, part: Playing, exchange: Exchange) -> Plan:
        part.asked += 1
        exchange.number = part.asked
        call = exchange.call
        reply, exchange.failure = await part.reply(call)
        if exchange.failure:
            self.failures.append(exchange.failure)
        return plan(reply, call, int(exchange.time))


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
