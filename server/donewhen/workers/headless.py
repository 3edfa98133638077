"""Agents that people have, driven by their own command lines: one run of the program for each turn.

`core/agents.py` says by which words each is started and its session continued; a form here reads what it prints: JSON
lines in which it tells what it does, what that cost, and how it ended. None of that is evidence.
"""

from __future__ import annotations

import asyncio
import re
import shlex
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, cast

from acp import (
    plan_entry,
    schema,
    start_tool_call,
    update_agent_message_text,
    update_agent_thought_text,
    update_plan,
    update_tool_call,
)

from donewhen.core.agents import PRESETS, Agent, Form
from donewhen.core.calls import Message
from donewhen.core.decoding import ByteLines, json_object
from donewhen.core.errors import OverBudget, UsageError, WorkerFailed
from donewhen.core.work import TurnResult, Usage
from donewhen.ports import LiveRoom, ProcessResult, Turn, TurnContext
from donewhen.workers import WorkerParts
from donewhen.workers.activity import activity_line, seen_through, turn_room, without_control
from donewhen.workers.command import IN_A_ROOM, NOT_FOUND, call_with, tail_of, unfinished
from donewhen.workers.prompt import command_prompt
from donewhen.workers.updates import SESSION, Update, Updates, output_text, session_of

LONGEST_LINE = 64 * 1024 * 1024
"""Bytes of a line that is read; what is longer is not an agent's report."""


class HeadlessWorker:
    """Runs an agent's command once a turn, in the workspace's root, in a room of its own.

    A session of an earlier turn is continued where the agent can: if that fails before anything happened, the turn
    begins a new one, since the prompt holds all that an agent has to know.
    """

    waits_for_person = False

    def __init__(self, agent: Agent, parts: WorkerParts) -> None:
        if agent.headless is None:
            raise UsageError(f"{agent.name} has no command line of its own here")
        self._agent = agent
        self._headless = agent.headless
        self._parts = parts

    @property
    def name(self) -> str:
        return self._agent.preset

    async def work(self, turn: Turn, context: TurnContext) -> TurnResult:
        """One run of the agent. Raises WorkerFailed if it did not start, failed, or was ended."""
        context.activity(activity_line(f"starting {self._agent.name}"))
        variables = self._parts.environment
        async with turn_room(self._parts.rooms, self._parts.grants, turn) as room:
            session = session_of(context.conversation)
            if session and self._headless.goes_on:
                command = self._headless.goes_on.replace("{session}", shlex.quote(session))
                going_on = _Run(self._agent, command, turn, context, room, variables, known=session)
                try:
                    return await going_on.play()
                except WorkerFailed:
                    if going_on.begun:
                        raise
            return await _Run(self._agent, self._headless.command, turn, context, room, variables).play()


def make(parts: WorkerParts) -> HeadlessWorker:
    """The command is the one that the run began with, whatever the table says by now."""
    agent = PRESETS[parts.options.worker or ""]
    if agent.headless is not None and parts.options.worker_command:
        agent = replace(agent, headless=replace(agent.headless, command=parts.options.worker_command))
    return HeadlessWorker(agent, parts)


@dataclass(frozen=True, slots=True)
class Ended:
    """How an agent says that its turn ended. `text` is its last word where that was not said before; `error` is what
    went wrong; `adds`: what it says of its use counts beside what it said before."""

    text: str = ""
    error: str = ""
    usage: Usage | None = None
    adds: bool = False


@dataclass(frozen=True, slots=True)
class AgentSession:
    """The id by which the session is continued."""

    id: str


@dataclass(frozen=True, slots=True)
class Noise:
    """A line that is not one of the agent's reports; shown if the agent fails."""

    text: str


Told = Update | AgentSession | Ended | Noise


class _Run:
    """One run of the program (`ports.Dialogue`): its output is read line by line."""

    def __init__(
        self,
        agent: Agent,
        command: str,
        turn: Turn,
        context: TurnContext,
        room: LiveRoom,
        environment: Callable[[], Mapping[str, str]],
        known: str = "",
    ) -> None:
        self.begun = False
        """It said or did something."""
        self._agent = agent
        self._command = command
        self._turn = turn
        self._context = context
        self._room = room
        self._environment = environment
        self._session = self._known = known
        self._read = FORMS[agent.headless.form if agent.headless is not None else "aider"]
        self._updates = Updates(context, f"{agent.preset}-{turn.iteration}-{len(context.conversation)}", agent.name)
        self._lines = ByteLines(LONGEST_LINE)
        self._usage: Usage | None = None
        self._error = self._last = ""
        self._noise: list[str] = []

    # ports.Dialogue

    def began(self, send: Callable[[bytes], None]) -> None:
        pass  # the prompt is all that it is told

    def heard(self, data: bytes) -> None:
        for line in self._lines.add(data):
            self._take_line(line)

    def ended(self) -> None:
        if line := self._lines.rest():
            self._take_line(line)

    def _take_line(self, line: bytes) -> None:
        for told in self._read(without_control(line.decode(errors="replace"))):
            match told:
                case AgentSession(session):
                    self._session = session or self._session
                case Noise(text):
                    self._noise = [*self._noise[-20:], text]
                case Ended(usage=usage):
                    self._last, self._error = told.text or self._last, told.error or self._error
                    if usage is not None:
                        self._usage = usage + self._usage if told.adds and self._usage is not None else usage
                        self._updates.refuse_overspending(self._usage.usd)
                case _:
                    self.begun = True
                    self._updates.take(told)

    # the turn

    async def play(self) -> TurnResult:
        call = call_with(self._command, command_prompt(self._turn))
        process = asyncio.ensure_future(
            self._room.processes.run(
                call.command,
                cwd=self._context.workspace.root,
                environment={**self._environment(), **call.environment},
                token=self._turn.token,
                stdin=call.stdin or b"",
                dialogue=self,
                output_limit=65_536,
            )
        )
        following = asyncio.ensure_future(self._updates.follow())
        failing = asyncio.ensure_future(self._updates.failed.wait())
        try:
            await asyncio.wait((process, failing), return_when=asyncio.FIRST_COMPLETED)
            if not process.done():
                if isinstance(self._updates.failure, OverBudget):
                    return TurnResult(usage=self._spent(), summary=f"stopped: {self._updates.failure}")
                raise self._updates.failure or WorkerFailed("the agent could not be followed")
            await self._updates.caught_up()
            await self._updates.close()
            if self._session and self._session != self._known:
                await self._context.keep(Message("system", f"{SESSION}{self._session}"))
            return self._result(process.result())
        finally:
            await seen_through(_end(process, following, failing))

    def _result(self, result: ProcessResult) -> TurnResult:
        name, spent = self._agent.name, self._spent()
        tail = tail_of("\n".join([*self._noise, without_control(result.output)]))
        if result.exit_code in NOT_FOUND:
            raise self._failed(
                f"{name} was not found: install it ({self._agent.install}), or name its command with "
                f"--worker command: {self._command}{tail}"
            )
        why = unfinished(name, self._command, result)
        if why:
            raise self._failed(f"{why}{tail}")
        if self._error:
            raise self._failed(f"{name} failed: {self._error}")
        if result.exit_code != 0:
            raise self._failed(f"{name} exited with {result.exit_code}{tail}")
        return self._updates.result((self._last or self._updates.said).strip(), spent)

    def _failed(self, why: str) -> WorkerFailed:
        return WorkerFailed(f"{why}\n({IN_A_ROOM})" if self._room.contained else why, usage=self._spent())

    def _spent(self) -> Usage:
        return self._usage or Usage(usd=None)


async def _end(process: asyncio.Future[ProcessResult], *beside: asyncio.Future[Any]) -> None:
    process.cancel()  # it ends with all that it started
    await asyncio.wait([process])
    for one in beside:
        one.cancel()


# What the agents print. Each reader takes a line and gives what it tells.


KINDS: Mapping[str, schema.ToolKind] = {
    **dict.fromkeys(("bash", "shell", "run_shell_command", "execute_bash", "terminal", "powershell"), "execute"),
    **dict.fromkeys(("edit", "multiedit", "write", "write_file", "replace", "notebookedit", "patch"), "edit"),
    **dict.fromkeys(("apply_patch", "str_replace_editor", "file_editor"), "edit"),
    **dict.fromkeys(("read", "read_file", "read_many_files", "notebookread", "list", "ls", "list_directory"), "read"),
    **dict.fromkeys(("grep", "glob", "search", "search_file_content", "grep_search"), "search"),
}
"""The kinds of the tools of these agents, by their names in lower case."""


def begins(call: str, tool: str, given: Any, title: str = "") -> Update:
    """A tool call with its input."""
    subjects = [_at(given, one) for one in ("file_path", "path", "filePath", "pattern")]
    subject = next((one for one in subjects if isinstance(one, str) and one), "")
    return start_tool_call(
        call,
        title or f"{tool} {subject}".strip(),
        kind=KINDS.get(tool.casefold(), "other"),
        status="in_progress",
        raw_input=given,
    )


def ends(call: str, *, ok: bool, output: object = "") -> Update:
    """The end of a tool call."""
    return update_tool_call(call, status="completed" if ok else "failed", raw_output=_shown_text(output))


def _shown_text(output: object) -> str:
    """A text, or one in parts."""
    if isinstance(output, list):
        return "\n".join(str(_at(one, "text") or "") for one in cast("list[Any]", output))
    return output_text(output)


def _at(value: Any, *path: str) -> Any:
    """What stands there in a JSON value; None where nothing does."""
    for name in path:
        value = cast("Mapping[str, Any]", value).get(name) if isinstance(value, dict) else None
    return value


def _said_last(text: str) -> Iterator[Told]:
    yield update_agent_message_text(text)
    yield Ended(text)


def _why(event: Any, *path: str) -> str:
    return str(_at(event, *path) or "it does not say why")


def _count(used: Any, *names: str) -> int:
    values = [_at(used, name) for name in names]
    return sum(value for value in values if isinstance(value, int) and not isinstance(value, bool) and value > 0)


def _reported_dollars(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) and value >= 0 else None


def _claude(event: Any) -> Iterator[Told]:
    match event:
        case {"type": "system", "subtype": "init", "session_id": str(session)}:
            yield AgentSession(session)
        case {"type": "assistant" | "user", "message": {"content": list()}}:
            for block in event["message"]["content"]:
                yield from _claude_block(block)
        case {"type": "result"}:
            used = event.get("usage")
            usage = Usage(
                _count(used, "input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens"),
                _count(used, "output_tokens"),
                _count(used, "cache_read_input_tokens"),
                _reported_dollars(event.get("total_cost_usd")),
            )
            said, subtype = str(event.get("result") or ""), str(event.get("subtype") or "")
            failed = event.get("is_error") is True or subtype.startswith("error")
            error = (said or subtype or "it does not say why") if failed else ""
            yield Ended("" if failed else said, error, usage)
        case _:
            pass


def _claude_block(block: Any) -> Iterator[Told]:
    match block:
        case {"type": "text", "text": str(text)}:
            yield update_agent_message_text(text)
        case {"type": "thinking", "thinking": str(text)}:
            yield update_agent_thought_text(text)
        case {"type": "tool_use", "id": str(call), "name": str(tool)}:
            yield begins(call, tool, block.get("input"))
        case {"type": "tool_result", "tool_use_id": str(call)}:
            yield ends(call, ok=block.get("is_error") is not True, output=block.get("content"))
        case _:
            pass


def _codex(event: Any) -> Iterator[Told]:
    match event:
        case {"type": "thread.started", "thread_id": str(session)}:
            yield AgentSession(session)
        case {"type": "item.started" | "item.updated" | "item.completed" as kind, "item": dict()}:
            yield from _codex_item(event["item"], done=kind == "item.completed", begun=kind == "item.started")
        case {"type": "turn.completed"}:
            used = event.get("usage")
            cached = _count(used, "cached_input_tokens")
            yield Ended(usage=Usage(_count(used, "input_tokens"), _count(used, "output_tokens"), cached, None))
        case {"type": "turn.failed"}:
            yield Ended(error=_why(event, "error", "message"))
        case _:
            pass


def _codex_item(item: Any, *, done: bool, begun: bool) -> Iterator[Told]:
    call, ok = str(item.get("id") or ""), item.get("status") == "completed"
    match item:
        case {"type": "agent_message", "text": str(text)} if done:
            yield from _said_last(text)
        case {"type": "reasoning", "text": str(text)} if done:
            yield update_agent_thought_text(text)
        case {"type": "command_execution", "command": command}:
            if begun or done:
                yield begins(call, "shell", {"command": command}, title=str(command))
            if done:
                yield ends(call, ok=item.get("exit_code") == 0, output=item.get("aggregated_output"))
        case {"type": "file_change", "changes": list()} if done:
            for number, one in enumerate(item["changes"]):
                yield begins(f"{call}.{number}", "edit", {"path": _at(one, "path")})
                yield ends(f"{call}.{number}", ok=ok)
        case {"type": "todo_list", "items": list()}:
            told = [(str(_at(one, "text") or ""), _at(one, "completed") is True) for one in item["items"]]
            yield update_plan(plan_entry(text, status="completed" if over else "pending") for text, over in told)
        case {"type": "mcp_tool_call", "tool": str(tool)} if done:
            yield begins(call, tool, item.get("arguments"))
            yield ends(call, ok=ok, output=item.get("result"))
        case _:
            pass


def _gemini(event: Any) -> Iterator[Told]:
    match event:
        case {"type": "init", "session_id": str(session)}:
            yield AgentSession(session)
        case {"type": "message", "role": "assistant", "content": str(text)}:
            yield update_agent_message_text(text)
        case {"type": "tool_use", "tool_id": str(call), "tool_name": str(tool)}:
            yield begins(call, tool, event.get("parameters"))
        case {"type": "tool_result", "tool_id": str(call)}:
            output = event.get("output") or _at(event, "error", "message")
            yield ends(call, ok=event.get("status") == "success", output=output)
        case {"type": "result"}:
            stats = event.get("stats")
            cached = _count(stats, "cached")
            usage = Usage(_count(stats, "input_tokens"), _count(stats, "output_tokens"), cached, None)
            failed = event.get("status") != "success"
            yield Ended(error=_why(event, "error", "message") if failed else "", usage=usage)
        case _:
            pass


def _opencode(event: Any) -> Iterator[Told]:
    if isinstance(event.get("sessionID"), str):
        yield AgentSession(event["sessionID"])
    part = event.get("part")
    match event:
        case {"type": "text", "part": {"text": str(text)}}:
            yield from _said_last(text)
        case {"type": "reasoning", "part": {"text": str(text)}}:
            yield update_agent_thought_text(text)
        case {"type": "tool_use", "part": {"tool": str(tool), "state": dict()}}:
            state, call = part["state"], str(part.get("callID") or part.get("id") or "")
            yield begins(call, tool, state.get("input"))
            yield ends(call, ok=state.get("status") == "completed", output=state.get("output") or state.get("error"))
        case {"type": "step_finish"}:
            used = _at(part, "tokens")
            cache = _at(used, "cache")
            usage = Usage(
                _count(used, "input") + _count(cache, "read", "write"),
                _count(used, "output", "reasoning"),
                _count(cache, "read"),
                _reported_dollars(_at(part, "cost")) or None,  # 0 is what it says where it knows no price
            )
            yield Ended(usage=usage, adds=True)
        case {"type": "error"}:
            yield Ended(error=str(_at(event, "error", "data", "message") or _why(event, "error", "name")))
        case _:
            pass


def _openhands(event: Any) -> Iterator[Told]:
    """The events of its conversation, as its agent server names them."""
    match event:
        case {"kind": "MessageEvent", "source": "agent"}:
            yield from _said_last(_shown_text(_at(event, "llm_message", "content")))
        case {"kind": "ActionEvent"}:
            if thought := _shown_text(event.get("thought")):
                yield update_agent_thought_text(thought)
            if event.get("tool_name") == "finish":
                yield from _said_last(str(_at(event, "action", "message") or ""))
            else:
                tool, call = str(event.get("tool_name") or ""), str(event.get("tool_call_id") or "")
                yield begins(call, tool, event.get("action"))
        case {"kind": "ObservationEvent", "tool_call_id": str(call), "tool_name": str(tool)} if tool != "finish":
            ok = _at(event, "observation", "is_error") is not True
            yield ends(call, ok=ok, output=_at(event, "observation", "content"))
        case {"kind": "ConversationErrorEvent" | "AgentErrorEvent"} if not event.get("tool_call_id"):
            yield Ended(error=str(event.get("detail") or _why(event, "error")))
        case _:
            pass


def _of_lines(read: Callable[[Any], Iterator[Told]]) -> Callable[[str], Iterator[Told]]:
    def told(line: str) -> Iterator[Told]:
        event = json_object(line) if line.lstrip().startswith("{") else None
        if event:
            yield from read(event)
        elif line.strip():
            yield Noise(line)

    return told


_AIDER = re.compile(
    r"Tokens: (?P<sent>[\d.]+k?) sent(?:, (?P<written>[\d.]+k?) cache write)?(?:, (?P<hit>[\d.]+k?) cache hit)?, "
    r"(?P<received>[\d.]+k?) received\.(?: Cost: \$[\d.]+ message, \$(?P<cost>[\d.]+) session)?"
)


_AIDER_STARTS = re.compile(
    r"Aider v\d|(?:Main model|Weak model|Editor model|Model|Git repo|Repo-map): |Update git (?:name|email) with: "
)
"""What it prints of itself before it works."""


_OPENHANDS_SESSION = re.compile(r"openhands --resume ([0-9a-f-]{36})")


def _openhands_line(line: str) -> Iterator[Told]:
    """Its events, and beside them the line that says how the conversation is continued."""
    found = _OPENHANDS_SESSION.search(line)
    if found is not None:
        yield AgentSession(found[1])
    else:
        yield from _of_lines(_openhands)(line)


def _aider(line: str) -> Iterator[Told]:
    """Plain text, in which it reports what the message took so far."""
    if _AIDER_STARTS.match(line):
        yield Noise(line)
        return
    yield update_agent_message_text(f"{line}\n")
    found = _AIDER.search(line)
    if found is not None:
        sent, written, hit, received = (_thousands(found[name]) for name in ("sent", "written", "hit", "received"))
        cost = float(found["cost"]) if found["cost"] else None
        yield Ended(usage=Usage(sent + written + hit, received, hit, cost))


def _thousands(text: str | None) -> int:
    return 0 if not text else int(float(text[:-1]) * 1_000) if text.endswith("k") else int(float(text))


FORMS: Mapping[Form, Callable[[str], Iterator[Told]]] = {
    "claude": _of_lines(_claude),
    "codex": _of_lines(_codex),
    "gemini": _of_lines(_gemini),
    "opencode": _of_lines(_opencode),
    "openhands": _openhands_line,
    "aider": _aider,
}
