"""The tool that ends a turn: how it ended, in the worker's own words. A claim, never evidence."""

from __future__ import annotations

from donewhen.core.plugging import ToolOutcome
from donewhen.core.work import TURN_STATES, Claim
from donewhen.workers.activity import activity_line
from donewhen.workers.tools.tool import Argument, Arguments, Invocation, Tool, ToolContext


def _report_line(arguments: Arguments) -> str:
    return activity_line(f"report {arguments['state']}: {arguments['text']}")


async def _report(context: ToolContext, invocation: Invocation) -> ToolOutcome:
    claim = Claim(invocation.arguments["state"], invocation.arguments["text"])
    return ToolOutcome("noted; the turn ends", _report_line(invocation.arguments), claim=claim)


REPORT = Tool(
    "report",
    "Ends your turn; call it last. finished: you believe that the goal is reached, or have done what you can in this "
    "turn; the server then proves it. blocked: something outside your reach is missing. impossible: the goal "
    "contradicts itself or can't be reached. question: a person has to decide; ask in `text`.",
    (
        Argument("state", "how the turn ended", aliases=("status",), bounds={"enum": list(TURN_STATES)}),
        Argument("text", "what you did, what is missing, or the question", aliases=("message", "summary")),
    ),
    _report_line,
    _report,
)
