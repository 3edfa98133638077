"""Does what the model asks for in one reply: every call is answered, in their order, and a report comes last."""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace

from donewhen.core.calls import Message, ToolCall
from donewhen.core.errors import WorkspaceError
from donewhen.core.feedback import keep_ends
from donewhen.core.work import Claim, WorkerStep
from donewhen.workers.activity import activity_line
from donewhen.workers.agent_loops import Loops
from donewhen.workers.tools import TOOLS
from donewhen.workers.tools.arguments import Arguments, WrongArguments, read_arguments
from donewhen.workers.tools.tool import Desk, Tool, ToolResult, refused

MAX_STEPS = 200
MARGIN = 2_000
"""Characters that a result may have beyond the largest: what is said around a text."""
LONGEST_NAME = 60
REPORT = "report"
CIRCLES = "The turn was ended: the same calls were made again and again, with the same results."


@dataclass(frozen=True, slots=True)
class Done:
    """What came of a reply's calls: the claim that ends the turn, if one does, and whether they go round in circles."""

    claim: Claim | None = None
    looping: bool = False


class Hands:
    """The tools of one turn at work, within its limit of calls. `steps` are the latest, for people."""

    def __init__(self, desk: Desk, limit: int) -> None:
        self.steps: deque[WorkerStep] = deque(maxlen=MAX_STEPS)
        self._desk = desk
        self._limit = limit
        self._count = 0
        self._loops = Loops()

    async def do(self, calls: Sequence[ToolCall]) -> Done:
        """Answers every call. Once the turn is to end, those that are left are answered without being done."""
        ended: Claim | None = None
        looping = False
        for call in sorted(calls, key=lambda one: one.name == REPORT):
            if call.name != REPORT:
                ended = ended or self._limit_reached()
            if ended is not None and call.name != REPORT:
                await self._answered(call, refused(f"not done: {ended.text}", call.name))
                continue
            result, key = await self._done(call)
            await self._answered(call, result)
            heard = self._loops.heard(key)
            looping = looping or heard == "nudge"
            ended = result.claim or ended or (Claim("finished", CIRCLES) if heard == "end" else None)
        return Done(ended, looping)

    def _limit_reached(self) -> Claim | None:
        self._count += 1
        if self._count <= self._limit:
            return None
        return Claim("finished", f"The turn was ended: its limit of {self._limit:,} tool calls is reached.")

    async def _done(self, call: ToolCall) -> tuple[ToolResult, Hashable]:
        """Does one call; with its result comes a key that is equal for calls which are the same."""
        try:
            tool, arguments = understood(call)
        except WrongArguments as wrong:
            await self._desk.context.tool_started(_named(call), f"{_named(call).name} (not understood)")
            return refused(str(wrong), _named(call).name), (call.name, "not understood")
        line = tool.line(arguments)
        await self._desk.context.tool_started(call, line)
        try:
            result = await tool.does(self._desk, arguments)
        except WorkspaceError as error:
            result = refused(str(error), line)
        return result, (call.name, repr(sorted(arguments.items())), result.digest)

    async def _answered(self, call: ToolCall, result: ToolResult) -> None:
        step = WorkerStep(_named(call).name, result.summary, result.ok)
        text = keep_ends(result.text.replace("\0", "␀"), self._desk.largest + MARGIN)
        message = Message("tool", text.encode("utf-8", "replace").decode(), answers=call.id)
        self.steps.append(step)
        await self._desk.context.tool_finished(_named(call), step, message)


def _named(call: ToolCall) -> ToolCall:
    """The call as it is put on record: what a model made up for a name may be of any length."""
    return call if call.name in TOOLS else replace(call, name=activity_line(call.name)[:LONGEST_NAME] or "(no name)")


def understood(call: ToolCall) -> tuple[Tool, Arguments]:
    """The tool that a call names and its arguments. Raises WrongArguments with what to send."""
    tool = TOOLS.get(call.name)
    if tool is None:
        raise WrongArguments(f"there is no tool {_named(call).name!r}: use one of {', '.join(TOOLS)}")
    return tool, read_arguments(call.arguments, tool.arguments)
