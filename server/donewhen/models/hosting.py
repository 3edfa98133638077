"""The server's side of the model host: starts it when needed, passes calls to it, and survives its end."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from donewhen.core.decoding import ByteLines
from donewhen.core.errors import ModelFailed
from donewhen.installation import how_to_get
from donewhen.models.keys import without_keys
from donewhen.models.protocol import Answered, Call, CallFailed, Failure, answered_in, call_out, line
from donewhen.models.silence import Silence, limited_silence
from donewhen.ports import Processes, ProcessResult

COMMAND = (sys.executable, "-P", "-m", "donewhen.models.host")
"""`-P`: a `litellm.py` in the current folder is not mistaken for the library."""

_ERRORS_KEPT = 8_192
_ERRORS_SHOWN = 500
_NO_PROXY = ("localhost", "127.0.0.1", "::1")


class ModelHost:
    """One host process for all models, started lazily; after a crash the next call restarts it.

    `environment` is the server's: keys are removed from it, but what providers' credential chains and proxies need
    stays. `processes` give it no lock to inherit. `ready_within` is the limit for importing litellm, in seconds;
    `grace` is how many seconds the host may exceed a call's timeout before it counts as hung.
    """

    def __init__(
        self,
        processes: Processes,
        environment: Mapping[str, str],
        *,
        command: Sequence[str] = COMMAND,
        mask: Callable[[str], str] = lambda text: text,
        ready_within: float = 90.0,
        grace: float = 15.0,
    ) -> None:
        self._processes = processes
        self._environment = host_environment(environment)
        self._command = tuple(command)
        self._mask = mask
        self._ready_within, self._grace = ready_within, grace
        self._session: _Session | None = None
        self._lives: set[asyncio.Task[None]] = set()

    def warm(self, model: str = "", api_base: str | None = None) -> None:
        """Starts the host, which is one for all models, in the background; a failure shows at the next call."""
        if self._session is None or self._session.over:
            self._session = session = _Session(self._mask)
            session.life = asyncio.ensure_future(session.live(self._run))
            self._lives.add(session.life)
            session.life.add_done_callback(self._lives.discard)

    async def ready(self) -> None:
        """Waits until litellm is imported. Raises ModelFailed."""
        await self._ready_session()

    async def ask(self, call: Call, on_text: Callable[[str], None] | None = None) -> Answered:
        """See `hosted.Transport`; ModelFailed is raised if the host can't be used, CallFailed if it ended meanwhile."""
        session = await self._ready_session()
        async with _bounded(call.timeout + self._grace, session, call.silence + self._grace) as heard:
            number, future = session.begin(call, on_text, heard)
            try:
                return await future
            finally:
                session.finish(number)

    async def close(self) -> None:
        """Ends the process within 2 s; a later call starts it again."""
        session, self._session = self._session, None
        if session is not None:
            session.end(ModelFailed("the model host was closed"))
        if self._lives:
            await asyncio.wait(self._lives)

    async def _ready_session(self) -> _Session:
        """The session that answers; whoever asks it after it was closed meanwhile fails, and starts no other."""
        self.warm()
        session = self._session
        assert session is not None
        async with _bounded(self._ready_within, session):
            await asyncio.shield(session.ready)
        return session

    async def _run(self, session: _Session) -> ProcessResult:
        return await self._processes.run(
            self._command,
            cwd=Path(sys.executable).parent,
            environment=self._environment,
            token=self._environment.get("DONEWHEN_RUN_TOKEN", ""),
            output_limit=_ERRORS_KEPT,
            dialogue=session,
        )


@asynccontextmanager
async def _bounded(seconds: float, session: _Session, between: float = 0.0) -> AsyncGenerator[Callable[[], None]]:
    """Ends a host that is silent for far too long; every waiting caller gets an outage."""
    try:
        async with limited_silence(seconds, between) as heard:
            yield heard
    except Silence:
        silent = ModelFailed("the model host doesn't answer; it was ended")
        session.end(silent)
        raise silent from None


@dataclass(slots=True)
class _Pending:
    future: asyncio.Future[Answered]
    on_text: Callable[[str], None] | None
    alive: Callable[[], None]

    def pass_on(self, text: str) -> None:
        """An exception of one listener fails its own call: raised here, it would break the pipe for all calls."""
        if self.on_text is None or self.future.done():
            return
        try:
            self.on_text(text)
        except Exception as error:  # noqa: BLE001 # passed on to what awaits the call
            self.future.set_exception(error)

    def end(self, said: Mapping[str, Any]) -> None:
        if self.future.done():
            return
        if "reply" in said:
            self.future.set_result(answered_in(said["reply"]))
        else:
            self.future.set_exception(CallFailed(Failure(**said["failed"])))


class _Session:
    """One life of the host process; `ports.Dialogue` with it."""

    def __init__(self, mask: Callable[[str], str]) -> None:
        self._mask = mask
        self._write: Callable[[bytes], None] = lambda line: None
        self._lines = ByteLines()
        self._pending: dict[int, _Pending] = {}
        self._last = 0
        self.over = False
        self._why: ModelFailed | CallFailed = ModelFailed("the model host ended")
        self.ready: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        # Read here, since often nothing awaits an exception; what does still gets it.
        self.ready.add_done_callback(lambda done: done.cancelled() or done.exception())
        self.life: asyncio.Task[None] | None = None

    async def live(self, run: Callable[[_Session], Awaitable[ProcessResult]]) -> None:
        """Runs until the process ends; then every waiting call has failed, and the child processes are gone."""
        try:
            result = await run(self)
        except Exception as error:  # noqa: BLE001  # such as no descriptors left: whoever waits is told
            self._fail(ModelFailed(f"the model host can't be started: {error}"))
            return
        last = self._mask(result.output).strip()[-_ERRORS_SHOWN:]
        ended = f"exit code {result.exit_code}" if result.signal is None else f"signal {result.signal}"
        if result.spawn_error is not None:
            self._fail(ModelFailed(f"the model host can't be started: {result.spawn_error}"))
        # The module that `-m` names is not there: this server was brought by an extension, which has no support.
        elif "ModuleNotFoundError" in last:
            self._fail(_lacking())
        else:
            why = f"the model host ended ({ended}) {last}".strip()
            started = self.ready.done() and not self.ready.cancelled() and self.ready.exception() is None
            # A host that had started is started again by the next try of a call; one that never did is not.
            self._fail(
                CallFailed(Failure("BrokenOffError", why, network="broken_off")) if started else ModelFailed(why)
            )

    def end(self, why: ModelFailed) -> None:
        """Whoever waits fails so; the process is ended, with its children, by the time that its `life` is over."""
        self._fail(why)
        if self.life is not None:
            self.life.cancel()

    # ports.Dialogue

    def began(self, send: Callable[[bytes], None]) -> None:
        self._write = send

    def heard(self, data: bytes) -> None:
        for raw in self._lines.add(data):
            try:
                said = json.loads(raw)
            except ValueError:
                continue  # not from the host, which writes whole lines of JSON
            if "id" in said:
                self._hear(said)
            elif "ready" in said and not self.ready.done():
                self.ready.set_result(None)
            elif "unusable" in said:
                self._fail(_unusable(said["unusable"]))

    def ended(self) -> None:
        """Its end is heard of in `live`."""

    def begin(
        self, call: Call, on_text: Callable[[str], None] | None, alive: Callable[[], None]
    ) -> tuple[int, asyncio.Future[Answered]]:
        self._last += 1
        pending = _Pending(asyncio.get_running_loop().create_future(), on_text, alive)
        if self.over:
            pending.future.set_exception(self._why)
            return self._last, pending.future
        self._pending[self._last] = pending
        self._send({"ask": self._last, **call_out(call)})
        return self._last, pending.future

    def finish(self, number: int) -> None:
        """Nobody waits for the call any more; if it still runs, it is cancelled."""
        if self._pending.pop(number, None) is not None:
            self._send({"cancel": number})

    def _hear(self, said: Mapping[str, Any]) -> None:
        pending = self._pending.get(said["id"])
        if pending is None:
            return  # the call was cancelled in the meantime
        if "text" in said or "alive" in said:
            pending.alive()
            if "text" in said:
                pending.pass_on(said["text"])
        else:
            del self._pending[said["id"]]
            pending.end(said)

    def _fail(self, why: ModelFailed | CallFailed) -> None:
        self.over, self._why = True, why
        waiting = [pending.future for pending in self._pending.values()]
        self._pending.clear()
        for future in (self.ready, *waiting):
            if not future.done():
                future.set_exception(why)

    def _send(self, value: Mapping[str, Any]) -> None:
        self._write(line(value))


def host_environment(environment: Mapping[str, str]) -> dict[str, str]:
    """The server's environment without keys, and without proxies for this machine itself."""
    found = without_keys(environment)
    for name in ("NO_PROXY", "no_proxy"):
        told = [one.strip() for one in found.get(name, "").split(",") if one.strip()]
        found[name] = ",".join([*told, *(one for one in _NO_PROXY if one not in told)])
    return found


def _unusable(why: str) -> ModelFailed:
    if why.startswith("ModuleNotFoundError") and "'litellm'" in why:
        return _lacking()
    return ModelFailed(
        f"litellm can't be loaded: {why}", "support_missing", typed=f"; install it again: {how_to_get('litellm')}"
    )


def _lacking() -> ModelFailed:
    return ModelFailed("this model needs the litellm extra", "support_missing", typed=f": {how_to_get('litellm')}")
