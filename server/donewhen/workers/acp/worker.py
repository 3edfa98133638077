"""One turn of an agent that speaks the Agent Client Protocol: its process, its session, its prompts."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Coroutine, Mapping
from typing import Any, TypeVar, cast

from acp import PROTOCOL_VERSION, RequestError, schema
from acp.connection import Connection
from pydantic import BaseModel, Field, ValidationError

from donewhen.core.agents import agents_in
from donewhen.core.calls import Message
from donewhen.core.errors import OverBudget, UsageError, WorkerFailed
from donewhen.core.feedback import keep_ends
from donewhen.core.hints import hint_message
from donewhen.core.work import TurnResult, Usage
from donewhen.ports import LiveRoom, ProcessResult, Turn, TurnContext
from donewhen.version import __version__
from donewhen.workers import WorkerParts
from donewhen.workers.acp.link import Link
from donewhen.workers.acp.requests import Requests
from donewhen.workers.activity import activity_line, seen_through, turn_room, without_control
from donewhen.workers.command import IN_A_ROOM, MAX_TAIL, NOT_FOUND, unfinished
from donewhen.workers.prompt import command_prompt, item
from donewhen.workers.tools.tool import ToolContext
from donewhen.workers.updates import SESSION, Update, Updates, session_of

STARTING = 90.0
"""Seconds for each step before the first prompt: some agents install themselves then."""
SILENCE = 1_800.0
"""Seconds without a word, outside of what a person or a command is waited for."""
GRACE = 0.5
"""Seconds in which an agent may end a cancelled turn by itself."""
GOING = 1.0
"""Seconds until an agent that is done has to be gone."""
MAX_PROMPTS = 6
"""Prompts of one turn: the task, then what a person said meanwhile."""
AUTH_REQUIRED = -32000
CAPABILITIES = {"fs": {"readTextFile": True, "writeTextFile": True}, "terminal": True}
MEANWHILE = "Your turn continues. The person who follows it says:"
ENDS: Mapping[str, str] = {
    "max_tokens": "the agent stopped: its model's reply reached the limit of tokens",
    "max_turn_requests": "the agent stopped: it reached its limit of requests in one turn",
}


Answer = TypeVar("Answer", bound=BaseModel)


class TurnEnd(schema.PromptResponse):
    """How the agent answers a prompt. A reason that nobody here knows, or none, ends a turn all the same."""

    stop_reason: str = Field(default="", alias="stopReason")  # pyright: ignore[reportIncompatibleVariableOverride]  # read only


class AcpWorker:
    """Starts the agent for each turn, in a room of its own, and takes up its session where it can. `starting` and
    `silence` are in seconds. Raises UsageError without a command."""

    name = "acp"
    waits_for_person = False

    def __init__(self, parts: WorkerParts, starting: float = STARTING, silence: float = SILENCE) -> None:
        command = parts.options.worker_command
        if not command:
            raise UsageError(
                "worker acp needs the agent's command", typed=": --agent-command claude, or a command of your own"
            )
        if not command.strip():
            raise UsageError("the agent's command is empty: name one", typed=", for example --agent-command claude")
        self._parts = parts
        self._command = command
        self._starting = starting
        self._silence = silence

    async def work(self, turn: Turn, context: TurnContext) -> TurnResult:
        """One turn. Raises WorkerFailed if the agent can't be started, breaks the protocol, falls silent or dies."""
        parts = self._parts
        context.activity(activity_line(f"starting {self._command}"))
        async with turn_room(parts.rooms, parts.grants, turn) as room:
            files = parts.files(turn, context)
            tools = ToolContext(turn, context, files, room, parts.environment, mask=parts.mask)
            playing = _AcpTurn(self._command, turn, tools, self._starting, self._silence)
            try:
                return await playing.play()
            except WorkerFailed as failed:
                if not room.contained:
                    raise
                raise WorkerFailed(f"{failed}\n({IN_A_ROOM})", final=failed.final, usage=failed.usage) from failed


def make(parts: WorkerParts) -> AcpWorker:
    return AcpWorker(parts)


class _AcpTurn:
    """The agent's process in one turn, from its start to its end."""

    def __init__(self, command: str, turn: Turn, tools: ToolContext, starting: float, silence: float) -> None:
        self._command = command
        self._turn = turn
        self._tools = tools
        self._context = tools.turn_context
        self._room: LiveRoom = tools.room
        self._starting = starting
        self._silence = silence
        # Ids of an earlier process of the same turn would be taken for answers to these.
        naming = f"acp-{turn.iteration}-{len(self._context.conversation)}"
        known = agents_in(command)
        agent = known[0].name if known else activity_line(command.split()[0])
        self._updates = Updates(self._context, naming, agent)
        self._requests = Requests(tools, self._updates)
        self._session = ""
        self._link = Link(self._take_update)
        self._connection = Connection(self._requests.handle, self._link)

    async def play(self) -> TurnResult:
        self._process = process = asyncio.ensure_future(self._run())
        process.add_done_callback(lambda _: self._link.ended())
        following = asyncio.ensure_future(self._updates.follow())
        try:
            return await self._prompted(await self._initialize())
        except OverBudget as reached:
            # What it has done so far is audited, since it may be enough.
            return TurnResult(usage=self._with_spending(Usage()), summary=f"stopped: {reached}")
        except RequestError as refused:
            raise WorkerFailed(f"the agent failed before it was asked anything: {_refusal_text(refused)}") from refused
        except asyncio.CancelledError:
            await self._cancelled()
            raise
        finally:
            await seen_through(self._end(following))

    async def _run(self) -> ProcessResult:
        return await self._room.processes.run(
            self._command,
            cwd=self._context.workspace.root,
            environment=self._tools.environment(),
            token=self._turn.token,
            dialogue=self._link,
            output_limit=65_536,
        )

    def _take_update(self, params: dict[str, Any]) -> None:
        update = params.get("update")
        if isinstance(update, dict):  # what a turn costs counts, whether or not its context is measured with it
            params = {"sessionId": "", **params, "update": {**cast("dict[str, Any]", update), "used": 0, "size": 0}}
        try:
            told = schema.SessionNotification.model_validate(params)
        except ValidationError:
            return  # of a kind, or in a form, that nobody knows
        if not self._session or told.session_id in ("", self._session):
            self._updates.take(cast("Update", told.update))

    # ---- before the first prompt

    async def _initialize(self) -> str:
        info = {"name": "donewhen", "title": "Done When", "version": __version__}
        given = {"protocolVersion": PROTOCOL_VERSION, "clientCapabilities": CAPABILITIES, "clientInfo": info}
        initialized = await self._send_request("initialize", given, schema.InitializeResponse, self._starting)
        if initialized.protocol_version != PROTOCOL_VERSION:
            raise WorkerFailed(
                f"the agent speaks version {initialized.protocol_version} of the Agent Client Protocol, and version "
                f"{PROTOCOL_VERSION} is spoken here: install a version of it that does: {self._command}",
                final=True,
            )
        able = initialized.agent_capabilities or schema.AgentCapabilities()
        where = {"cwd": str(self._context.workspace.root), "mcpServers": list[Any]()}
        earlier = session_of(self._context.conversation)
        opened = await self._taken_up(earlier, able, where) if earlier else None
        session = earlier
        if opened is None:
            opened = await self._new_session(where, initialized)
            session = opened.session_id
            if not session:
                raise WorkerFailed(f"the agent opened a session without an id: {self._command}")
            await self._context.keep(Message("system", f"{SESSION}{session}"))
        self._session = session
        # The mode in which a person is asked, for an agent that begins in another.
        asking = next((agent.acp_mode for agent in agents_in(self._command) if agent.acp_mode), "")
        modes = opened.modes
        if modes and modes.current_mode_id != asking and asking in [one.id for one in modes.available_modes]:
            given = {"sessionId": session, "modeId": asking}
            await self._send_request("session/set_mode", given, schema.SetSessionModeResponse, self._starting)
        return session

    async def _taken_up(
        self, session: str, able: schema.AgentCapabilities, where: Mapping[str, Any]
    ) -> schema.LoadSessionResponse | None:
        """The agent's answer where it goes on with the session of an earlier turn, None where it can't. What it tells
        of that again is passed over."""
        if able.load_session:
            method = "session/load"
        elif able.session_capabilities and able.session_capabilities.resume is not None:
            method = "session/resume"
        else:
            return None
        self._updates.replaying = True
        given = {**where, "sessionId": session}
        try:
            answer = await self._send_request(method, given, schema.LoadSessionResponse, self._starting)
            await self._updates.caught_up()
        except RequestError:
            return None  # it was cleaned away, or belongs to another home folder: a new one does as well
        finally:
            self._updates.replaying = False
        return answer

    async def _new_session(
        self, where: Mapping[str, Any], initialized: schema.InitializeResponse
    ) -> schema.NewSessionResponse:
        try:
            return await self._send_request("session/new", where, schema.NewSessionResponse, self._starting)
        except RequestError as refused:
            if refused.code != AUTH_REQUIRED:
                raise WorkerFailed(f"the agent could not open a session: {_refusal_text(refused)}") from refused
            names = [method.name for method in initialized.auth_methods or ()]
            ways = f" (it offers: {', '.join(names)})" if names else ""
            raise WorkerFailed(
                f"the agent is not logged in{ways}: start it once by itself and log in, or pass its key "
                f"(pass_env): {self._command}",
                final=True,
            ) from refused

    # ---- prompts

    async def _prompted(self, session: str) -> TurnResult:
        prompt, usage = command_prompt(self._turn), Usage()
        said = stop = ""
        for _ in range(MAX_PROMPTS):
            await self._context.keep(Message("user", prompt))
            self._updates.said = ""
            given = {"sessionId": session, "prompt": [{"type": "text", "text": prompt}]}
            self._context.activity("thinking")
            try:
                answer = await self._send_request("session/prompt", given, TurnEnd)
            except RequestError as refused:
                await self._updates.close()
                raise WorkerFailed(
                    f"the agent failed: {_refusal_text(refused)}", usage=self._with_spending(usage)
                ) from refused
            await self._updates.caught_up()
            usage += _reported_usage(answer.usage)
            said, stop = self._updates.said.strip() or said, answer.stop_reason
            meanwhile = await self._meanwhile()
            if stop != "end_turn" or not meanwhile:
                break
            prompt = "\n".join([MEANWHILE, *map(item, meanwhile)])
        await self._updates.close()
        self._raise_failure()
        spent = self._with_spending(usage)
        if stop == "refusal":
            why = f": {keep_ends(said, 500)}" if said else ""
            raise WorkerFailed(f"the agent refused to go on{why}", usage=spent)
        if stop == "cancelled":
            raise WorkerFailed("the agent cancelled its turn by itself", usage=spent)
        return self._updates.result(said, spent, ENDS.get(stop, ""))

    async def _meanwhile(self) -> list[str]:
        """What a person said during the turn, which the agent has not read."""
        told, self._requests.told = self._requests.told, []
        for hint in self._context.hints:
            await self._context.keep(hint_message(hint))
            told.append(hint)
        return told

    def _with_spending(self, counted: Usage) -> Usage:
        spent = self._updates.spent
        return Usage(counted.input_tokens, counted.output_tokens, counted.cached_tokens, spent)

    # ---- requests to the agent

    async def _send_request(
        self, method: str, params: Mapping[str, Any], form: type[Answer], within: float | None = None
    ) -> Answer:
        """The agent's answer. Raises RequestError if it refuses, WorkerFailed if none will come, or a wrong one."""
        sending = cast("Coroutine[Any, Any, Any]", self._connection.send_request(method, dict(params)))
        request = asyncio.ensure_future(sending)
        failing = asyncio.ensure_future(self._updates.failed.wait())
        begun = asyncio.get_running_loop().time()
        try:
            while True:
                await asyncio.wait(
                    (request, failing), timeout=min(1.0, within or self._silence), return_when=asyncio.FIRST_COMPLETED
                )
                if failing.done():
                    self._raise_failure()
                if request.done():
                    return form.model_validate(request.result() or {})
                if self._link.broken:
                    raise WorkerFailed(f"the agent broke the protocol: {self._link.broken}: {self._command}")
                self._refuse_silence(method, begun, within)
        except ConnectionError:
            raise await self._died(method) from None
        except ValidationError as wrong:
            fields = ", ".join(".".join(map(str, one["loc"])) for one in wrong.errors())
            why = f"its answer to {method} has none, or a wrong one, of: {fields}"
            raise WorkerFailed(
                f"the agent broke the protocol: {why}: {self._command}",
                final=form is schema.InitializeResponse,  # it speaks another one, and will the next time
                usage=self._with_spending(Usage()),
            ) from wrong
        finally:
            failing.cancel()
            request.cancel()
            with contextlib.suppress(asyncio.CancelledError, ConnectionError, RequestError):
                await request

    def _refuse_silence(self, method: str, begun: float, within: float | None) -> None:
        now = asyncio.get_running_loop().time()
        noise = f"; it printed: {self._link.noise}" if self._link.noise else ""
        if within is not None and now - begun > within:
            raise WorkerFailed(
                f"the agent did not answer {method} within {within:.0f} s: is it a command that speaks the Agent "
                f"Client Protocol?{noise}: {self._command}"
            )
        if within is None and not self._requests.busy and now - max(self._link.last_heard, begun) > self._silence:
            raise WorkerFailed(f"the agent said nothing for {self._silence:.0f} s, and was ended: {self._command}")

    def _raise_failure(self) -> None:
        if self._updates.failure is not None:
            raise self._updates.failure

    async def _died(self, method: str) -> WorkerFailed:
        """Why there is nobody to answer any longer."""
        process = self._process
        if self._link.broken:
            return WorkerFailed(f"the agent broke the protocol: {self._link.broken}: {self._command}")
        with contextlib.suppress(asyncio.TimeoutError, TimeoutError):
            async with asyncio.timeout(GOING):
                await asyncio.shield(process)
        if not process.done():
            return WorkerFailed(f"the agent closed its output and can't be heard any longer: {self._command}")
        await self._updates.caught_up()
        await self._updates.close()
        error = process.exception()
        if error is not None:
            return WorkerFailed(f"the agent could not be started: {error}: {self._command}")
        result = process.result()
        usage = self._with_spending(Usage())
        tail = without_control(result.output).strip()[-MAX_TAIL:]
        told = f":\n{tail}" if tail else (f": {self._link.noise}" if self._link.noise else ", without a word")
        if why := unfinished("the agent", self._command, result):
            return WorkerFailed(f"{why}{told}", usage=usage)
        if result.exit_code in NOT_FOUND:
            installs = " or ".join(agent.acp_install for agent in agents_in(self._command) if agent.acp_install)
            how = f"install it ({installs})" if installs else "install it or correct it"
            return WorkerFailed(f"the agent's command was not found: {how}: {self._command}{told}", usage=usage)
        when = "before it answered" if method == "initialize" else "in the middle of its turn"
        return WorkerFailed(f"the agent ended {when}, with exit code {result.exit_code}{told}", usage=usage)

    # ---- its end

    async def _end(self, following: asyncio.Future[None]) -> None:
        await self._requests.close()
        self._process.cancel()  # it ends with all that it started
        await asyncio.wait([self._process])
        following.cancel()
        await self._connection.close()

    async def _cancelled(self) -> None:
        """Asks the agent to stop, and gives it a moment: what it has written by then is on the disk."""
        self._requests.cancelled.set()
        if not self._session or self._link.broken:
            return
        self._link.replied.clear()
        with contextlib.suppress(ConnectionError):
            await self._connection.send_notification("session/cancel", {"sessionId": self._session})
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(GRACE):
                await self._link.replied.wait()


def _reported_usage(told: schema.Usage | None) -> Usage:
    if told is None:
        return Usage(usd=None)
    read = told.cached_read_tokens or 0
    return Usage(told.input_tokens + read + (told.cached_write_tokens or 0), told.output_tokens, read, None)


def _refusal_text(refused: RequestError) -> str:
    data: Any = refused.data
    known = cast("Mapping[str, Any]", data) if isinstance(data, dict) else {"details": data}
    details = known.get("details") or known.get("message")
    more = f": {details}" if isinstance(details, str) and details and details not in str(refused) else ""
    return without_control(f"{refused}{more}")[:MAX_TAIL]
