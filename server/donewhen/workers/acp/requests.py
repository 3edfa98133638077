"""Answers what an agent asks for: permissions go to the person, under their rules; files and terminals go through
ours, with what the editor holds unsaved, the room, and its limits.
"""

from __future__ import annotations

import asyncio
import contextlib
import shlex
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from acp import RequestError, schema
from pydantic import BaseModel, ValidationError

from donewhen.core.approval import COMMAND_TOOL, FILE_TOOLS, SAID
from donewhen.core.errors import WorkspaceError
from donewhen.core.feedback import keep_ends
from donewhen.core.plugging import ToolOutcome, ToolUse
from donewhen.ports import ProcessResult
from donewhen.workers.activity import activity_line, without_control
from donewhen.workers.tools.commands import run_observed
from donewhen.workers.tools.tool import Invocation, ToolContext, names_of
from donewhen.workers.tools.writing import WRITE_FILE, protected, sensitive
from donewhen.workers.updates import AgentTool, Updates, relative

MAX_TERMINALS = 32
TERMINAL_SECONDS = 3_600.0
MAX_TERMINAL_OUTPUT = 1_000_000
OUTSIDE = "it lies outside of the workspace"
CHANGED = "a person changed it, which this agent can't be told: it was not allowed as it stood"
_CANCELLED: Mapping[str, Any] = {"outcome": {"outcome": "cancelled"}}

T = TypeVar("T")


@dataclass(slots=True)
class Printed:
    """The end of what a command printed; `limit` is in bytes."""

    limit: int
    output: str = ""
    truncated: bool = False

    def add_line(self, line: str) -> None:
        self.output += f"{without_control(line)}\n"
        data = self.output.encode()
        if len(data) > self.limit:
            self.output = data[-self.limit :].decode(errors="ignore")
            self.truncated = True


@dataclass(frozen=True, slots=True)
class Terminal:
    """A command that the agent started."""

    printed: Printed
    running: asyncio.Task[ProcessResult]

    def exit_status(self) -> dict[str, Any] | None:
        """How it ended; None while it runs."""
        if not self.running.done():
            return None
        if self.running.cancelled() or self.running.exception() is not None:
            return {"exitCode": None, "signal": "SIGKILL"}
        result = self.running.result()
        signal = f"signal {result.signal}" if result.signal is not None else None
        if result.timed_out or result.limit:
            signal = result.limit or "timed out"
        return {"exitCode": result.exit_code if result.spawn_error is None else 127, "signal": signal}


class Requests:
    """The requests of one turn. `cancelled` is set once the turn is to end: whatever is still asked is answered so."""

    def __init__(self, tools: ToolContext, updates: Updates) -> None:
        self.cancelled = asyncio.Event()
        self.busy = 0
        """Requests that wait for something: a person, a command."""
        self.told: list[str] = []
        """What a person said instead of allowing something, for the next prompt."""
        self._tools = tools
        self._context = tools.turn_context
        self._root = tools.turn_context.workspace.root
        self._updates = updates
        self._allowed: Counter[tuple[str, str]] = Counter()
        self._terminals: dict[str, Terminal] = {}
        self._methods: Mapping[str, tuple[type[BaseModel], Callable[[Any], Awaitable[Any]]]] = {
            "session/request_permission": (schema.RequestPermissionRequest, self._permission),
            "fs/read_text_file": (schema.ReadTextFileRequest, self._read_text_file),
            "fs/write_text_file": (schema.WriteTextFileRequest, self._write_text_file),
            "terminal/create": (schema.CreateTerminalRequest, self._create),
            "terminal/output": (schema.TerminalOutputRequest, self._output),
            "terminal/wait_for_exit": (schema.WaitForTerminalExitRequest, self._wait),
            "terminal/kill": (schema.KillTerminalRequest, self._kill),
            "terminal/release": (schema.ReleaseTerminalRequest, self._release),
        }

    async def handle(self, method: str, params: Any, is_notification: bool) -> Any:
        """See `acp.connection.MethodHandler`. What is not the agent's fault ends the turn."""
        if is_notification:
            return None
        if method not in self._methods:
            raise RequestError.method_not_found(method)
        form, answer = self._methods[method]
        self.busy += 1
        try:
            return await answer(form.model_validate(params))
        except ValidationError as wrong:
            raise RequestError.invalid_params({"details": str(wrong)[:2_000]}) from wrong
        except WorkspaceError as refused:
            raise RequestError(-32000, str(refused)) from refused
        except RequestError:
            raise
        except Exception as error:
            # A plugin's halt is among these, which must be let through.
            self._updates.fail(error)
            raise RequestError.internal_error({"details": "the turn ends"}) from error
        finally:
            self.busy -= 1

    async def close(self) -> None:
        """Ends every terminal."""
        self.cancelled.set()
        for terminal in self._terminals.values():
            terminal.running.cancel()
        running = [terminal.running for terminal in self._terminals.values()]
        await asyncio.gather(*running, return_exceptions=True)

    # ---- permissions

    async def _permission(self, request: schema.RequestPermissionRequest) -> Mapping[str, Any]:
        if self.cancelled.is_set():
            return _CANCELLED
        await self._updates.caught_up()
        tool = self._updates.tool(request.tool_call)
        await self._updates.start(tool)
        name, given = tool.name(), tool.input(self._root)
        preview = keep_ends(tool.command() if name == COMMAND_TOOL else tool.preview(), 20_000)
        use = ToolUse(tool.id, name, given, tool.summary(self._root), preview, self._sensitive(name, given))
        outcome = await self._unless_cancelled(self._with_permission(use, self._barred(tool, use)))
        if outcome is None:
            return _CANCELLED
        if outcome.ok:
            self._allowed[name, str(given.get("command", given.get("path", "")))] += 1
        elif SAID in outcome.text:
            self.told.append(f"About `{use.summary}`: {outcome.text.partition(SAID)[2].strip()}")
        wanted = ("allow_once", "allow_always") if outcome.ok else ("reject_once", "reject_always")
        options = {option.kind: option.option_id for option in reversed(request.options)}
        chosen = next((options[kind] for kind in wanted if kind in options), None)
        return _CANCELLED if chosen is None else {"outcome": {"outcome": "selected", "optionId": chosen}}

    def _sensitive(self, name: str, given: Mapping[str, Any]) -> str:
        """Why a person should be asked about a tool that may run unasked elsewhere."""
        if name not in FILE_TOOLS:
            return ""
        path = str(given.get("path", ""))
        if not path:
            return "" if name == "search" else "it names no file"
        try:
            real = self._tools.files.path(path)
        except WorkspaceError:
            return OUTSIDE
        return sensitive(self._tools, names_of(path, real)) if name in ("write_file", "edit_file") else ""

    def _barred(self, tool: AgentTool, use: ToolUse) -> str:
        """Why nobody is even asked."""
        path = tool.path(self._root)
        if not path or use.tool in ("read_file", "search"):
            return ""
        try:
            return protected(self._tools, names_of(path, self._tools.files.path(path))) or ""
        except WorkspaceError:
            return ""

    async def _with_permission(self, use: ToolUse, barred: str) -> ToolOutcome:
        if barred:
            return ToolOutcome(barred, f"{use.summary}: {barred}", ok=False)

        async def allowed(given: ToolUse) -> ToolOutcome:
            if any(given.input.get(name) != value for name, value in use.input.items()):
                self.told.append(f"About `{use.summary}`: {CHANGED}. What they would allow: {dict(given.input)}")
                return ToolOutcome(CHANGED, f"{use.summary}: {CHANGED}", ok=False)
            return ToolOutcome("allowed", use.summary)

        return await self._context.use_tool(use, allowed)

    async def _unless_cancelled(self, asking: Awaitable[T]) -> T | None:
        """What is asked for; None if the turn is cancelled first."""
        asked = asyncio.ensure_future(asking)
        ended = asyncio.ensure_future(self.cancelled.wait())
        try:
            await asyncio.wait((asked, ended), return_when=asyncio.FIRST_COMPLETED)
            return asked.result() if asked.done() else None
        finally:
            ended.cancel()
            if not asked.done():
                asked.cancel()
                with contextlib.suppress(asyncio.CancelledError):
                    await asked

    # ---- files

    async def _read_text_file(self, request: schema.ReadTextFileRequest) -> Mapping[str, Any]:
        path = self._tools.files.path(self._path_in_workspace(request.path))
        found: list[str] = []

        async def read(given: ToolUse) -> ToolOutcome:
            held = self._tools.unsaved(names_of(path, path))
            file = None if held is not None else await self._tools.files.read(path)
            if file is not None:
                self._tools.saw(file)
            text = held if held is not None else file.content if file is not None else None
            if text is None:
                raise WorkspaceError(f"there is no file {path}")
            found.append(self._tools.mask(text))
            return ToolOutcome(text, f"read {path}")

        use = ToolUse(self._updates.new_id(), "read_file", {"path": path}, f"read {path}")
        outcome = await self._unless_cancelled(self._context.use_tool(use, read))
        if outcome is None or not found:
            raise _not_done(outcome)
        if request.line is None and request.limit is None:
            return {"content": found[0]}
        begin = max((request.line or 1) - 1, 0)
        end = None if request.limit is None else begin + request.limit
        return {"content": "".join(found[0].splitlines(keepends=True)[begin:end])}

    async def _write_text_file(self, request: schema.WriteTextFileRequest) -> Mapping[str, Any]:
        path = self._tools.files.path(self._path_in_workspace(request.path))
        await self._updates.caught_up()
        current = await self._tools.files.read(path)
        if current is not None:
            self._tools.saw(current)  # what it replaces it has read itself, from the disk or through us
        sent = {"path": path, "content": request.content}
        preview = await WRITE_FILE.preview(self._tools, sent)

        async def write(given: ToolUse) -> ToolOutcome:
            return await WRITE_FILE.run(self._tools, Invocation(given, sent, preview.permission))

        use = ToolUse(
            self._updates.new_id(), "write_file", sent, WRITE_FILE.line(sent), preview.preview, preview.sensitive
        )
        before = self._take_permission(("write_file", path)) or self._take_permission(("edit_file", path))
        doing = write(use) if before else self._context.use_tool(use, write)
        outcome = await self._unless_cancelled(doing)
        if outcome is None or not outcome.ok:
            raise _not_done(outcome)
        return {}

    def _path_in_workspace(self, path: str) -> str:
        """A path as the guarded files take it. Raises WorkspaceError for one outside of the workspace."""
        found = relative(path, self._root)
        if Path(found).is_absolute():
            raise WorkspaceError(f"{path} lies outside of the workspace, which is all that is served here")
        return found

    def _take_permission(self, subject: tuple[str, str]) -> bool:
        """Whether a person's permission for exactly this was given before, which holds once."""
        if self._allowed[subject] <= 0:
            return False
        self._allowed[subject] -= 1
        return True

    # ---- terminals

    async def _create(self, request: schema.CreateTerminalRequest) -> Mapping[str, Any]:
        if self.cancelled.is_set():
            raise _not_done(None)
        if sum(not one.running.done() for one in self._terminals.values()) >= MAX_TERMINALS:
            raise RequestError(-32000, f"{MAX_TERMINALS} commands run already: end one of them first")
        command = shlex.join([request.command, *request.args]) if request.args else request.command
        cwd = self._root / self._tools.files.path(self._path_in_workspace(request.cwd)) if request.cwd else self._root
        await self._updates.caught_up()
        name = self._updates.new_id()
        variables = {one.name: one.value for one in request.env or []}
        limit = min(request.output_byte_limit or MAX_TERMINAL_OUTPUT, MAX_TERMINAL_OUTPUT)

        async def run(given: ToolUse) -> ToolOutcome:
            line = str(given.input["command"])
            self._context.activity(activity_line(f"running `{line}`"))
            processes = self._tools.room.outside if given.input.get("outside") else self._tools.room.processes
            printed = Printed(limit)
            running = run_observed(
                self._tools,
                line,
                lambda: processes.run(
                    line,
                    cwd=cwd,
                    environment={**self._tools.environment(), **variables},
                    token=self._tools.turn.token,
                    timeout=TERMINAL_SECONDS,
                    on_line=printed.add_line,
                ),
            )
            self._terminals[name] = Terminal(printed, asyncio.ensure_future(running))
            return ToolOutcome("started", f"`{line}`: started")

        use = ToolUse(name, COMMAND_TOOL, {"command": command}, activity_line(f"run `{command}`"), command)
        before = self._take_permission((COMMAND_TOOL, command))
        outcome = await self._unless_cancelled(run(use) if before else self._context.use_tool(use, run))
        if outcome is None or name not in self._terminals:
            raise _not_done(outcome)
        return {"terminalId": name}

    async def _output(self, request: schema.TerminalOutputRequest) -> Mapping[str, Any]:
        terminal = self._terminal(request.terminal_id)
        told = {"output": self._tools.mask(terminal.printed.output), "truncated": terminal.printed.truncated}
        ended = terminal.exit_status()
        return told if ended is None else {**told, "exitStatus": ended}

    async def _wait(self, request: schema.WaitForTerminalExitRequest) -> Mapping[str, Any]:
        terminal = self._terminal(request.terminal_id)
        await self._unless_cancelled(asyncio.wait([terminal.running]))
        return terminal.exit_status() or {"exitCode": None, "signal": "cancelled"}

    async def _kill(self, request: schema.KillTerminalRequest | schema.ReleaseTerminalRequest) -> Mapping[str, Any]:
        terminal = self._terminal(request.terminal_id)
        terminal.running.cancel()
        await asyncio.wait([terminal.running])
        return {}

    async def _release(self, request: schema.ReleaseTerminalRequest) -> Mapping[str, Any]:
        ended = await self._kill(request)
        self._terminals.pop(request.terminal_id, None)
        return ended

    def _terminal(self, name: str) -> Terminal:
        found = self._terminals.get(name)
        if found is None:
            raise RequestError(-32002, f"there is no terminal {name}")
        return found


def _not_done(outcome: ToolOutcome | None) -> RequestError:
    return RequestError(-32000, outcome.text if outcome is not None else "the turn was cancelled")
