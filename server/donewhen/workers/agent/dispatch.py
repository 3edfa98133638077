"""Does what the model asks for in one reply: every call is answered, in their order, and a report comes last."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Literal

from donewhen.core.calls import Message, ToolCall
from donewhen.core.errors import WorkspaceError
from donewhen.core.feedback import keep_ends
from donewhen.core.plugging import ToolOutcome, ToolUse
from donewhen.core.work import Claim, WorkerStep
from donewhen.workers.activity import activity_line
from donewhen.workers.tools.plugged import PluggedTool
from donewhen.workers.tools.tool import (
    Invocation,
    Tool,
    ToolContext,
    WrongArguments,
    read_object,
    refused,
)

MAX_STEPS = 200
MARGIN = 2_000
"""Characters that a result may have beyond the largest: what is said around a text."""
MAX_SUMMARY = 500
LONGEST_NAME = 60
REPORT = "report"
NO_OUTCOMES: Mapping[str, ToolOutcome] = MappingProxyType({})
CIRCLES = "The turn was ended: the same calls were made again and again, with the same results."


@dataclass(frozen=True, slots=True)
class ToolRound:
    """The outcome of a reply's calls: the claim that ends the turn, if one does, and whether they go round in
    circles."""

    claim: Claim | None = None
    looping: bool = False


class ToolRunner:
    """Runs the tools of one turn, within its limit of calls. `steps` are the latest, for people."""

    def __init__(self, context: ToolContext, tools: Mapping[str, Tool | PluggedTool], limit: int) -> None:
        self.steps: deque[WorkerStep] = deque(maxlen=MAX_STEPS)
        self._context = context
        self._tools = tools
        self._limit = limit
        self._count = 0
        self._loops = LoopDetector()

    @property
    def names(self) -> Collection[str]:
        """The tools that are offered."""
        return self._tools.keys()

    async def run(self, calls: Sequence[ToolCall], completed: Mapping[str, ToolOutcome] = NO_OUTCOMES) -> ToolRound:
        """Answers every call. Once the turn is to end, those that are left are answered without being done. What is
        `completed`, by id, is answered with its outcome and not done."""
        ended: Claim | None = None
        looping = False
        known = dict(completed)
        for call in sorted(calls, key=lambda one: one.name == REPORT):
            earlier = known.pop(call.id, None)
            if earlier is not None:
                await self._record_answer(call, earlier)
                ended = earlier.claim or ended
                continue
            if call.name != REPORT:
                ended = ended or self._limit_reached()
            if ended is not None and call.name != REPORT:
                await self.answer_undone(call, ended.text)
                continue
            result, key = await self._done(call)
            await self._record_answer(call, result)
            heard = self._loops.note(key)
            looping = looping or heard == "nudge"
            ended = result.claim or ended or (Claim("finished", CIRCLES) if heard == "end" else None)
        return ToolRound(ended, looping)

    async def answer_undone(self, call: ToolCall, why: str) -> None:
        """Answers a call without making it."""
        await self._record_answer(call, refused(f"not done: {why}", call.name))

    def _limit_reached(self) -> Claim | None:
        self._count += 1
        if self._count <= self._limit:
            return None
        return Claim("finished", f"The turn was ended: its limit of {self._limit:,} tool calls is reached.")

    async def _done(self, call: ToolCall) -> tuple[ToolOutcome, Hashable]:
        """Makes one call, and returns with its result a key that is equal for equal calls."""
        turn, named = self._context.turn_context, self._recorded_call(call)
        tool = self._tools.get(call.name)
        try:
            if tool is None:
                raise WrongArguments(f"there is no tool {named.name!r}: use one of {', '.join(self._tools)}")
            arguments = tool.checked(read_object(call.arguments))
        except WrongArguments as wrong:
            await turn.tool_started(named, f"{named.name} (not understood)")
            return refused(str(wrong), named.name), (call.name, "not understood")
        line = tool.line(arguments)
        await turn.tool_started(call, line)
        preview = await tool.preview(self._context, arguments)

        async def do(use: ToolUse) -> ToolOutcome:
            """Makes the call with the input that the plugins let through, as often as they ask for it."""
            try:
                given = arguments if dict(use.input) == dict(arguments) else tool.checked(use.input)
            except WrongArguments as wrong:
                return refused(f"not done: the call was changed to one that can't be made: {wrong}", use.summary)
            invocation = Invocation(replace(use, input=given), arguments, preview.permission)
            try:
                return await tool.run(self._context, invocation)
            except WorkspaceError as error:
                return refused(str(error), tool.line(given))

        use = ToolUse(call.id, call.name, arguments, line, preview.preview, preview.sensitive)
        result = await turn.use_tool(use, do)
        return result, (call.name, repr(sorted(arguments.items())), result.digest)

    async def _record_answer(self, call: ToolCall, result: ToolOutcome) -> None:
        named = self._recorded_call(call)
        step = WorkerStep(named.name, result.summary[:MAX_SUMMARY], result.ok)
        text = keep_ends(result.text.replace("\0", "␀"), self._context.largest + MARGIN)
        message = Message("tool", text.encode("utf-8", "replace").decode(), answers=call.id)
        self.steps.append(step)
        await self._context.turn_context.tool_finished(named, step, message)

    def _recorded_call(self, call: ToolCall) -> ToolCall:
        """The call as it is recorded: a name that a model made up may have any length."""
        if call.name in self._tools:
            return call
        return replace(call, name=activity_line(call.name)[:LONGEST_NAME] or "(no name)")


# Whether the model goes round in circles.


ROUNDS = 3
"""How many rounds make a circle."""
LONGEST_CIRCLE = 4
MAX_NUDGES = 5


class LoopDetector:
    """Watches the calls of one turn. The first circle is worth a nudge; after the second, or after too many nudges, the
    turn should end."""

    def __init__(self) -> None:
        self._latest: deque[Hashable] = deque(maxlen=ROUNDS * LONGEST_CIRCLE)
        self._nudged: set[frozenset[Hashable]] = set()
        self._nudges = 0

    def note(self, call: Hashable) -> Literal["nudge", "end"] | None:
        """One call with its result, as a key: equal for calls that are the same."""
        self._latest.append(call)
        circle = self._circle()
        if circle is None:
            return None
        self._latest.clear()
        self._nudges += 1
        if circle in self._nudged or self._nudges > MAX_NUDGES:
            return "end"
        self._nudged.add(circle)
        return "nudge"

    def _circle(self) -> frozenset[Hashable] | None:
        calls = list(self._latest)
        for length in range(1, LONGEST_CIRCLE + 1):
            tail = calls[-ROUNDS * length :]
            if len(tail) == ROUNDS * length and tail == tail[-length:] * ROUNDS:
                return frozenset(tail)
        return None
