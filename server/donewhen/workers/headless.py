"""Agents that people have, driven by their own command lines: one run of the program for each turn.

`core/agents.py` says by which words each is started and its session continued; a form here reads what it prints: JSON
lines in which it tells what it does, what that cost, and how it ended. None of that is evidence.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import re
import shlex
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, cast

from donewhen.core.agents import PRESETS, Agent, Form
from donewhen.core.calls import Message
from donewhen.core.decoding import ByteLines, json_object
from donewhen.core.errors import OverBudget, UsageError, WorkerFailed
from donewhen.core.feedback import keep_ends
from donewhen.core.work import Claim, TurnResult, Usage, WorkerStep
from donewhen.ports import LiveRoom, ProcessResult, Turn, TurnContext
from donewhen.workers import WorkerParts
from donewhen.workers.activity import activity_line, seen_through, turn_room, without_control
from donewhen.workers.command import (
    IN_A_ROOM,
    MAX_TAIL,
    NOT_FOUND,
    EndLine,
    call_with,
    end_line,
    tail_of,
    unfinished,
)
from donewhen.workers.prompt import command_prompt
from donewhen.workers.updates import SESSION, Fields, Updates, fields_of, items_of, session_of, text_of

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


Told = Mapping[str, Any] | AgentSession | Ended
"""An update in the words of the Agent Client Protocol, which `Updates` follows, or one of the above."""


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
        text = without_control(line.decode(errors="replace"))
        for told in self._read(text):
            if isinstance(told, AgentSession):
                self._session = told.id or self._session
            elif isinstance(told, Ended):
                self._last, self._error = told.text or self._last, told.error or self._error
                if told.usage is not None:
                    self._usage = told.usage + self._usage if told.adds and self._usage is not None else told.usage
                    self._updates.refuse_overspending(self._usage.usd)
            elif told.get("sessionUpdate") == NOISE:
                self._noise = [*self._noise[-20:], text_of(told.get("text"))]
            else:
                self.begun = True
                self._updates.take({"update": told})

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
        said = (self._last or self._updates.said).strip()
        end = end_line(said) or EndLine(Claim("finished", keep_ends(said, MAX_TAIL)))
        notes = [WorkerStep("note", end.note, ok=False)] if end.note else []
        lines = end.claim.text.strip().splitlines() or ["it said nothing"]
        prefix = "" if end.claim.state == "finished" else f"{end.claim.state}: "
        return TurnResult(
            claim=end.claim,
            usage=spent,
            response_digest=hashlib.sha256(said.encode("utf-8", "replace")).hexdigest(),
            steps=(*self._updates.steps, *notes),
            summary=activity_line(prefix + lines[0]),
        )

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


NOISE = "noise"
"""A line that is none of the agent's reports; shown where it fails."""

KINDS: Mapping[str, str] = {
    **dict.fromkeys(("bash", "shell", "run_shell_command", "execute_bash", "terminal", "powershell"), "execute"),
    **dict.fromkeys(("edit", "multiedit", "write", "write_file", "replace", "notebookedit", "patch"), "edit"),
    **dict.fromkeys(("apply_patch", "str_replace_editor", "file_editor"), "edit"),
    **dict.fromkeys(("read", "read_file", "read_many_files", "notebookread", "list", "ls", "list_directory"), "read"),
    **dict.fromkeys(("grep", "glob", "search", "search_file_content", "grep_search"), "search"),
}
"""The kinds of the tools of these agents, by their names in lower case."""


def says(text: str) -> Mapping[str, Any]:
    return {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": text}}


def thinks(text: str) -> Mapping[str, Any]:
    return {"sessionUpdate": "agent_thought_chunk", "content": {"type": "text", "text": text}}


def begins(call: str, tool: str, given: object) -> Mapping[str, Any]:
    """A tool call with its input."""
    fields = fields_of(given)
    subjects = [fields[one] for one in ("file_path", "path", "filePath", "pattern") if fields.get(one)]
    return {
        "sessionUpdate": "tool_call",
        "toolCallId": call,
        "title": f"{tool} {text_of(subjects[0]) if subjects else ''}".strip(),
        "kind": KINDS.get(tool.casefold(), "other"),
        "status": "in_progress",
        "rawInput": dict(fields),
    }


def ends(call: str, *, ok: bool, output: object = "") -> Mapping[str, Any]:
    """The end of a tool call."""
    content = [{"type": "content", "content": {"type": "text", "text": _output_text(output)}}]
    status = "completed" if ok else "failed"
    return {"sessionUpdate": "tool_call_update", "toolCallId": call, "status": status, "content": content}


def plans(entries: list[tuple[str, bool]]) -> Mapping[str, Any]:
    told = [{"content": text, "status": "completed" if done else "pending"} for text, done in entries]
    return {"sessionUpdate": "plan", "entries": told}


def _output_text(output: object) -> str:
    if isinstance(output, list):
        return "\n".join(text_of(fields_of(one).get("text")) for one in cast("list[Any]", output))
    return output if isinstance(output, str) else json.dumps(output, ensure_ascii=False) if output else ""


def _count(fields: Fields, *names: str) -> int:
    values = [fields.get(name) for name in names]
    return sum(value for value in values if isinstance(value, int) and not isinstance(value, bool) and value > 0)


def _reported_dollars(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) and value >= 0 else None


def _claude(event: Fields) -> Iterator[Told]:
    match event.get("type"):
        case "system" if event.get("subtype") == "init":
            yield AgentSession(text_of(event.get("session_id")))
        case "assistant" | "user":
            for one in items_of(fields_of(event.get("message")).get("content")):
                yield from _claude_block(fields_of(one))
        case "result":
            used = fields_of(event.get("usage"))
            usage = Usage(
                _count(used, "input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens"),
                _count(used, "output_tokens"),
                _count(used, "cache_read_input_tokens"),
                _reported_dollars(event.get("total_cost_usd")),
            )
            said = text_of(event.get("result"))
            failed = event.get("is_error") is True or text_of(event.get("subtype")).startswith("error")
            error = (said or text_of(event.get("subtype")) or "it does not say why") if failed else ""
            yield Ended("" if failed else said, error, usage)
        case _:
            pass


def _claude_block(block: Fields) -> Iterator[Told]:
    match block.get("type"):
        case "text":
            yield says(text_of(block.get("text")))
        case "thinking":
            yield thinks(text_of(block.get("thinking")))
        case "tool_use":
            yield begins(text_of(block.get("id")), text_of(block.get("name")), block.get("input"))
        case "tool_result":
            ok = block.get("is_error") is not True
            yield ends(text_of(block.get("tool_use_id")), ok=ok, output=block.get("content"))
        case _:
            pass


def _codex(event: Fields) -> Iterator[Told]:
    kind, item = text_of(event.get("type")), fields_of(event.get("item"))
    match kind:
        case "thread.started":
            yield AgentSession(text_of(event.get("thread_id")))
        case "item.started" | "item.updated" | "item.completed":
            yield from _codex_item(item, done=kind == "item.completed", begun=kind == "item.started")
        case "turn.completed":
            used = fields_of(event.get("usage"))
            cached = _count(used, "cached_input_tokens")
            yield Ended(usage=Usage(_count(used, "input_tokens"), _count(used, "output_tokens"), cached, None))
        case "turn.failed":
            yield Ended(error=text_of(fields_of(event.get("error")).get("message")) or "it does not say why")
        case _:
            pass


def _codex_item(item: Fields, *, done: bool, begun: bool) -> Iterator[Told]:
    call = text_of(item.get("id"))
    match item.get("type"):
        case "agent_message" if done:
            yield says(text_of(item.get("text")))
            yield Ended(text_of(item.get("text")))
        case "reasoning" if done:
            yield thinks(text_of(item.get("text")))
        case "command_execution":
            if begun or done:
                yield {**begins(call, "shell", {"command": item.get("command")}), "title": item.get("command")}
            if done:
                yield ends(call, ok=item.get("exit_code") == 0, output=item.get("aggregated_output"))
        case "file_change" if done:
            for number, one in enumerate(items_of(item.get("changes"))):
                path = text_of(fields_of(one).get("path"))
                yield begins(f"{call}.{number}", "edit", {"path": path})
                yield ends(f"{call}.{number}", ok=item.get("status") == "completed")
        case "todo_list":
            entries = [fields_of(one) for one in items_of(item.get("items"))]
            yield plans([(text_of(one.get("text")), one.get("completed") is True) for one in entries])
        case "mcp_tool_call" if done:
            yield begins(call, text_of(item.get("tool")), item.get("arguments"))
            yield ends(call, ok=item.get("status") == "completed", output=item.get("result"))
        case _:
            pass


def _gemini(event: Fields) -> Iterator[Told]:
    match event.get("type"):
        case "init":
            yield AgentSession(text_of(event.get("session_id")))
        case "message" if event.get("role") == "assistant":
            yield says(text_of(event.get("content")))
        case "tool_use":
            yield begins(text_of(event.get("tool_id")), text_of(event.get("tool_name")), event.get("parameters"))
        case "tool_result":
            output = event.get("output") or fields_of(event.get("error")).get("message")
            yield ends(text_of(event.get("tool_id")), ok=event.get("status") == "success", output=output)
        case "result":
            stats = fields_of(event.get("stats"))
            cached = _count(stats, "cached")
            usage = Usage(_count(stats, "input_tokens"), _count(stats, "output_tokens"), cached, None)
            failed = event.get("status") != "success"
            error = text_of(fields_of(event.get("error")).get("message")) or "it does not say why"
            yield Ended(error=error if failed else "", usage=usage)
        case _:
            pass


def _opencode(event: Fields) -> Iterator[Told]:
    part = fields_of(event.get("part"))
    if event.get("sessionID"):
        yield AgentSession(text_of(event.get("sessionID")))
    match event.get("type"):
        case "text":
            yield says(text_of(part.get("text")))
            yield Ended(text_of(part.get("text")))
        case "reasoning":
            yield thinks(text_of(part.get("text")))
        case "tool_use":
            state, call = fields_of(part.get("state")), text_of(part.get("callID")) or text_of(part.get("id"))
            yield begins(call, text_of(part.get("tool")), state.get("input"))
            yield ends(call, ok=state.get("status") == "completed", output=state.get("output") or state.get("error"))
        case "step_finish":
            used = fields_of(part.get("tokens"))
            cache = fields_of(used.get("cache"))
            usage = Usage(
                _count(used, "input") + _count(cache, "read", "write"),
                _count(used, "output", "reasoning"),
                _count(cache, "read"),
                _reported_dollars(part.get("cost")) or None,  # 0 is what it says where it knows no price
            )
            yield Ended(usage=usage, adds=True)
        case "error":
            error = fields_of(event.get("error"))
            yield Ended(error=text_of(fields_of(error.get("data")).get("message")) or text_of(error.get("name")))
        case _:
            pass


def _openhands(event: Fields) -> Iterator[Told]:
    """The events of its conversation, as its agent server names them."""
    call = text_of(event.get("tool_call_id"))
    match event.get("kind"):
        case "MessageEvent" if event.get("source") == "agent":
            said = _output_text(fields_of(event.get("llm_message")).get("content"))
            yield says(said)
            yield Ended(said)
        case "ActionEvent":
            thought = _output_text(event.get("thought"))
            if thought:
                yield thinks(thought)
            action = fields_of(event.get("action"))
            if event.get("tool_name") == "finish":
                yield says(text_of(action.get("message")))
                yield Ended(text_of(action.get("message")))
            else:
                yield begins(call, text_of(event.get("tool_name")), action)
        case "ObservationEvent" if event.get("tool_name") != "finish":
            seen = fields_of(event.get("observation"))
            yield ends(call, ok=seen.get("is_error") is not True, output=seen.get("content"))
        case "ConversationErrorEvent" | "AgentErrorEvent" if not call:
            yield Ended(error=text_of(event.get("detail")) or text_of(event.get("error")))
        case _:
            pass


def _of_lines(read: Callable[[Fields], Iterator[Told]]) -> Callable[[str], Iterator[Told]]:
    def told(line: str) -> Iterator[Told]:
        event = json_object(line) if line.lstrip().startswith("{") else None
        if event:
            yield from read(event)
        elif line.strip():
            yield {"sessionUpdate": NOISE, "text": line}

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
        yield {"sessionUpdate": NOISE, "text": line}
        return
    yield says(f"{line}\n")
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
