"""Follows what an agent tells of its work: what it says and thinks, its plan, its tools, what it used.

Updates are taken in at once and worked off one after the other, so that what is on record has the agent's own order.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import shlex
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from acp import schema, update_agent_message_text, update_agent_thought_text

from donewhen.core.calls import Message, ToolCall
from donewhen.core.errors import OverBudget
from donewhen.core.feedback import keep_ends
from donewhen.core.work import Claim, TurnResult, Usage, WorkerStep
from donewhen.ports import TurnContext
from donewhen.workers.activity import activity_line, without_control
from donewhen.workers.command import MAX_TAIL, EndLine, end_line

MAX_WAITING = 5_000
"""Updates that wait to be worked off; of more, those that only say how something goes on are left out."""
MAX_RECORDED = 500
"""Tool calls, thoughts and plans of one turn that are put on record."""
MAX_TEXT = 20_000
MAX_TOOL_TEXT = 4_000
MAX_STEPS = 200
MAX_SAID = 200_000
NO_RESULT = "it had no result when the turn ended"
SESSION = "session of the agent: "
"""How the message begins that keeps the agent's session with the run."""

TOOLS: Mapping[str, str] = {
    "execute": "run_command",
    "read": "read_file",
    "search": "search",
    "delete": "delete_file",
    "move": "move_file",
}
"""The tools that rules know, by the protocol's kinds; an edit is `write_file` or `edit_file`."""

ToolNews = schema.ToolCallStart | schema.ToolCallProgress | schema.ToolCallUpdate
Update = (
    schema.AgentMessageChunk
    | schema.AgentThoughtChunk
    | schema.ToolCallStart
    | schema.ToolCallProgress
    | schema.AgentPlanUpdate
    | schema.UsageUpdate
)
"""What agents tell, in the types of the Agent Client Protocol; what others of its updates say is of no use here."""


@dataclass(slots=True)
class AgentTool:
    """A tool call of the agent, by the id under which it is on record; `known` is all that was said of it."""

    id: str
    known: schema.ToolCallUpdate = field(default_factory=lambda: schema.ToolCallUpdate(tool_call_id=""))
    started: bool = False
    finished: bool = False

    def learn(self, said: ToolNews) -> None:
        for name in ("kind", "status", "title", "content", "locations", "raw_input", "raw_output"):
            if (value := getattr(said, name)) is not None:
                setattr(self.known, name, value)

    @property
    def kind(self) -> str:
        return self.known.kind or "other"

    @property
    def given(self) -> Mapping[str, Any]:
        """Its input, where that is an object."""
        given: object = self.known.raw_input
        return cast("Mapping[str, Any]", given) if isinstance(given, dict) else {}

    @property
    def diffs(self) -> list[schema.FileEditToolCallContent]:
        return [one for one in self.known.content or () if isinstance(one, schema.FileEditToolCallContent)]

    def name(self) -> str:
        """The tool as rules and the timeline name it."""
        if self.kind == "edit":
            return "write_file" if any(one.old_text is None for one in self.diffs) else "edit_file"
        return TOOLS.get(self.kind, self.kind)

    def command(self) -> str:
        """The command line of a call that runs one: what its input says, else its title."""
        given = self.given.get("command")
        if isinstance(given, list):
            words = [str(one) for one in cast("list[Any]", given)]
            shell = len(words) == 3 and words[0].rsplit("/", 1)[-1] in ("sh", "bash", "zsh") and words[1] in _SHELL
            return words[2] if shell else shlex.join(words)
        return given if isinstance(given, str) and given else (self.known.title or "").strip("`")

    def path(self, root: Path) -> str:
        """The file that it is about, relative to the workspace where it lies there; empty if it names none."""
        changes = self.given.get("changes")
        places = [
            *(one.path for one in (*(self.known.locations or ()), *self.diffs)),
            *(self.given.get(name) for name in ("file_path", "path", "abs_path", "filePath")),
            *(cast("Mapping[str, Any]", changes) if isinstance(changes, dict) else ()),
        ]
        found = next((place for place in places if isinstance(place, str) and place), "")
        return relative(found, root) if found else ""

    def input(self, root: Path) -> dict[str, Any]:
        """What a person, and a rule, is shown of it."""
        if self.kind == "execute":
            return {"command": self.command()}
        path = self.path(root)
        return {"path": path} if path else {"title": self.title()}

    def title(self) -> str:
        return activity_line(self.known.title or "") or self.kind

    def summary(self, root: Path) -> str:
        """A line for people, which names files of the workspace by their place in it."""
        if self.kind == "execute":
            return activity_line(f"run `{self.command()}`")
        shown = self.title()
        for base in (root, root.resolve()):
            shown = shown.replace(f"{base}{os.sep}", "")
        return shown

    def result_text(self) -> str:
        """What it showed of its result."""
        blocks = [one.content for one in self.known.content or () if isinstance(one, schema.ContentToolCallContent)]
        found = "\n".join(one.text for one in blocks if isinstance(one, schema.TextContentBlock) and one.text)
        return found or output_text(self.known.raw_output)

    def preview(self) -> str:
        """What a person should see before it is done: the change that it would make."""
        for one in self.diffs:
            old, new = one.old_text, one.new_text
            return f"{one.path}\n--- before\n{old}\n--- after\n{new}" if old else new
        given = self.known.raw_input
        return json.dumps(given, indent=2, ensure_ascii=False) if given else self.title()


def output_text(output: object) -> str:
    """A result as text: as it is, or as its JSON."""
    return output if isinstance(output, str) else json.dumps(output, ensure_ascii=False) if output else ""


_SHELL = ("-c", "-lc", "-ic")


def relative(path: str, root: Path) -> str:
    """A path as the workspace's entries name it; as it was given where it lies outside."""
    place = Path(path) if Path(path).is_absolute() else root / path
    for base in (root, root.resolve()):
        if place.is_relative_to(base):
            return place.relative_to(base).as_posix()
    return path


class Updates:
    """The updates of one turn. `replaying`: an earlier session is played again. Nothing of it is put on record, and
    what it had cost is where this turn's cost begins."""

    def __init__(self, context: TurnContext, naming: str, agent: str) -> None:
        self.replaying = False
        self.said = ""
        """What it said since the last prompt, in one text."""
        self.cost: float | None = None
        """US dollars that the session had cost when it was last said."""
        self.base: float | None = None
        """The same before the turn."""
        self.steps: deque[WorkerStep] = deque(maxlen=MAX_STEPS)
        self.failure: BaseException | None = None
        self.failed = asyncio.Event()
        self._context = context
        self._naming = naming
        self._agent = agent
        self._waiting: deque[Update | asyncio.Future[None]] = deque()
        self._woken = asyncio.Event()
        self._tools: dict[str, AgentTool] = {}
        self._number = 0
        self._recorded = 0
        self._call: str | None = None
        self._segment = ""
        self._thought = ""
        self._plan = ""

    # ---- taking in

    def take(self, update: Update) -> None:
        """An update as it came. Called on the event loop; never fails."""
        last = self._waiting[-1] if self._waiting else None
        if isinstance(update, schema.AgentMessageChunk) and isinstance(last, schema.AgentMessageChunk):
            self._waiting[-1] = update_agent_message_text((_chunk(last) + _chunk(update))[-MAX_SAID:])
        elif isinstance(update, schema.AgentThoughtChunk) and isinstance(last, schema.AgentThoughtChunk):
            self._waiting[-1] = update_agent_thought_text((_chunk(last) + _chunk(update))[-MAX_SAID:])
        elif len(self._waiting) < MAX_WAITING or getattr(update, "status", None) in _ENDS:
            self._waiting.append(update)
        self._woken.set()

    async def caught_up(self) -> None:
        """Waits until what came so far is worked off."""
        reached: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(reached)
        self._woken.set()
        await reached

    async def follow(self) -> None:
        """Works off updates until it is cancelled. What goes wrong in that is kept as `failure`."""
        while True:
            while not self._waiting:
                self._woken.clear()
                await self._woken.wait()
            update = self._waiting.popleft()
            if isinstance(update, asyncio.Future):
                if not update.done():
                    update.set_result(None)
                continue
            if self.replaying and not isinstance(update, schema.UsageUpdate):
                continue
            try:
                await self._work_off(update)
            except Exception as error:  # noqa: BLE001  # whatever it is ends the turn, which raises it
                self.fail(error)

    def refuse_overspending(self, spent: float | None) -> None:
        """Ends the turn where the agent has spent more in it, in US dollars, than was left."""
        left = self._context.calls.left().usd
        if left is not None and spent is not None and spent > left:
            self.fail(OverBudget(f"the agent has spent ${spent:.4f} in this turn, and ${left:.4f} were left"))

    def fail(self, error: BaseException) -> None:
        """Ends the turn with this error."""
        if self.failure is None:
            self.failure = error
        self.failed.set()

    # ---- working off

    async def _work_off(self, update: Update) -> None:
        match update:
            case schema.AgentMessageChunk():
                await self._says(_chunk(update))
            case schema.AgentThoughtChunk():
                await self._thinks(_chunk(update))
            case schema.ToolCallStart() | schema.ToolCallProgress():
                await self._tool_told(update)
            case schema.AgentPlanUpdate():
                await self._plans(update.entries)
            case schema.UsageUpdate():
                if update.cost is not None and update.cost.currency == "USD" and update.cost.amount >= 0:
                    self.cost = update.cost.amount
                    self.base = self.cost if self.replaying else self.base
                    self.refuse_overspending(self.spent)

    @property
    def spent(self) -> float | None:
        """US dollars of this turn; None if the agent does not say."""
        return None if self.cost is None else max(0.0, self.cost - (self.base or 0.0))

    async def _says(self, text: str) -> None:
        if not text:
            return
        await self._thought_over()
        if self._call is None:
            self._call = await self._context.calls.begin(self._agent, Usage(), Usage())
        shown = without_control(text)
        self.said = (self.said + shown)[-MAX_SAID:]
        self._segment = (self._segment + shown)[-MAX_SAID:]
        self._context.stream(shown)

    async def _record_segment(self, *calls: ToolCall) -> None:
        """Puts what it said on record, and the tool calls that follow from it."""
        if not self._segment.strip() and not calls:
            return
        call = self._call or await self._context.calls.begin(self._agent, Usage(), Usage())
        self._call = None
        text, self._segment = keep_ends(self._segment.strip(), MAX_TEXT), ""
        await self._context.calls.end(call, Usage(), Message("assistant", text, calls))

    async def _thinks(self, text: str) -> None:
        if not self._thought and text:
            await self._record_segment()
        self._thought = (self._thought + without_control(text))[-MAX_SAID:]
        self._context.activity("thinking")

    async def _thought_over(self) -> None:
        text, self._thought = self._thought.strip(), ""
        if text:
            first = activity_line(text.partition("\n")[0])
            await self._recorded_step("think", f"thought: {first}", text)

    async def _plans(self, entries: Sequence[schema.PlanEntry]) -> None:
        text = "\n".join(f"[{_MARKS.get(one.status, ' ')}] {without_control(one.content)}" for one in entries)
        if text == self._plan or not entries:
            return
        self._plan = text
        done = sum(one.status == "completed" for one in entries)
        now = next((without_control(one.content) for one in entries if one.status == "in_progress"), "")
        line = activity_line(f"plan: {done} of {len(entries)} done{f', now {now}' if now else ''}")
        self._context.activity(line)
        await self._thought_over()
        await self._recorded_step("plan", line, text)

    async def _recorded_step(self, tool: str, summary: str, text: str) -> None:
        if self._recorded >= MAX_RECORDED:
            return
        self._recorded += 1
        call = ToolCall(self.new_id(), tool, "{}")
        await self._record_segment(call)
        await self._context.tool_started(call, summary)
        message = Message("tool", keep_ends(text, MAX_TOOL_TEXT), answers=call.id)
        await self._context.tool_finished(call, WorkerStep(tool, summary), message)

    # ---- tools

    def new_id(self) -> str:
        """An id for what is put on record: agents use theirs twice."""
        self._number += 1
        return f"{self._naming}-{self._number}"

    def tool(self, said: ToolNews) -> AgentTool:
        """The tool call that an update, or a request, is about, with what it says of it."""
        tool = self._tools.get(said.tool_call_id)
        if tool is None or (tool.finished and isinstance(said, schema.ToolCallStart)):
            tool = self._tools[said.tool_call_id] = AgentTool(self.new_id())
        tool.learn(said)
        return tool

    async def start(self, tool: AgentTool) -> None:
        """Puts a tool call on record before it has an effect, once."""
        if tool.started or self._recorded >= MAX_RECORDED:
            return
        tool.started = True
        self._recorded += 1
        await self._thought_over()
        root = self._context.workspace.root
        call = ToolCall(tool.id, tool.name(), json.dumps(tool.input(root), ensure_ascii=False))
        await self._record_segment(call)
        self._context.activity(tool.summary(root))
        await self._context.tool_started(call, tool.summary(root))

    async def _tool_told(self, update: ToolNews) -> None:
        tool = self.tool(update)
        if tool.finished:
            return
        status = tool.known.status
        # Some agents announce a call before they know what is in it: its input comes with a later update.
        if status != "pending" or tool.known.raw_input:
            await self.start(tool)
        if status in _ENDS:
            await self._finish(tool, ok=status == "completed")

    async def _finish(self, tool: AgentTool, *, ok: bool, text: str = "") -> None:
        tool.finished = True
        root = self._context.workspace.root
        step = WorkerStep(tool.name(), tool.summary(root)[:500] + ("" if ok else ": failed"), ok)
        self.steps.append(step)
        if not tool.started:
            return
        message = Message(
            "tool", keep_ends(without_control(text or tool.result_text()), MAX_TOOL_TEXT), answers=tool.id
        )
        await self._context.tool_finished(ToolCall(tool.id, tool.name(), "{}"), step, message)

    async def close(self) -> None:
        """Puts what is left on record: nothing more comes."""
        await self._thought_over()
        for tool in self._tools.values():
            if tool.started and not tool.finished:
                await self._finish(tool, ok=False, text=NO_RESULT)
        await self._record_segment()

    def result(self, said: str, usage: Usage, note: str = "") -> TurnResult:
        """The turn's result after the agent's last word. `note` says what else ended it."""
        end = end_line(said) or EndLine(Claim("finished", keep_ends(said, MAX_TAIL)))
        note = note or end.note
        notes = [WorkerStep("note", note, ok=False)] if note else []
        lines = end.claim.text.strip().splitlines() or [note or "it said nothing"]
        # The last word of work that is done, the first of anything else.
        telling = lines[-1] if end.claim.state == "finished" else f"{end.claim.state}: {lines[0]}"
        return TurnResult(
            claim=end.claim,
            usage=usage,
            response_digest=hashlib.sha256(said.encode("utf-8", "replace")).hexdigest(),
            steps=(*self.steps, *notes),
            summary=activity_line(telling),
        )


_ENDS = ("completed", "failed")
_MARKS = {"completed": "x", "in_progress": ">"}


def session_of(conversation: tuple[Message, ...]) -> str:
    """The agent's session that was kept last; empty if there is none."""
    kept = [one.text for one in conversation if one.role == "system" and one.text.startswith(SESSION)]
    return kept[-1].removeprefix(SESSION) if kept else ""


def _chunk(update: schema.AgentMessageChunk | schema.AgentThoughtChunk) -> str:
    return update.content.text if isinstance(update.content, schema.TextContentBlock) else ""
