"""The tool that runs a command. The server sees it run: that it ran, and how it ended, is evidence."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable

from donewhen.core.evidence import ObservedCommand
from donewhen.core.feedback import keep_ends
from donewhen.core.plugging import ToolOutcome
from donewhen.ports import ProcessResult
from donewhen.workers.activity import activity_line, output_shown, without_control
from donewhen.workers.tools.tool import Argument, Arguments, CallPreview, Invocation, Tool, ToolContext

TIMEOUT = 120.0
LONGEST_TIMEOUT = 3_600.0
MAX_OUTPUT = 30_000
"""Characters of a command's output that the model gets, at most."""
MAX_RECORDED = 4_000
"""Characters of a command's output that are handed over as evidence."""

INSTEAD = "the person changed the command; this ran instead:"

ELSEWHERE = "With `outside` true it runs outside of it, if a person allows that"

_TIMES = re.compile(r"\b\d+(?:\.\d+)?\s?(?:ms|s|sec|secs|seconds|minutes|m)\b|0x[0-9a-fA-F]+")


def _run_line(arguments: Arguments) -> str:
    return activity_line(f"run `{arguments['command']}`")


async def _command_preview(context: ToolContext, arguments: Arguments) -> CallPreview:
    return CallPreview(preview=str(arguments["command"]))


async def _run_command(context: ToolContext, invocation: Invocation) -> ToolOutcome:
    turn, command = context.turn_context, str(invocation.arguments["command"])
    timeout = float(min(invocation.arguments.get("timeout_seconds", TIMEOUT), LONGEST_TIMEOUT))
    turn.activity(activity_line(f"running `{command}`"))
    outside = bool(invocation.arguments.get("outside"))
    processes = context.room.outside if outside else context.room.processes

    def run() -> Awaitable[ProcessResult]:
        return processes.run(
            command,
            cwd=turn.workspace.root,
            environment=context.environment(),
            token=context.turn.token,
            timeout=timeout,
            on_line=output_shown(turn),
            output_limit=4 * MAX_OUTPUT,
        )

    result = await run_observed(context, command, run)
    hint = "" if outside else context.room.hint(result)
    return _command_outcome(context, command, result, changed=command != invocation.sent["command"], hint=hint)


async def run_observed(
    context: ToolContext, command: str, run: Callable[[], Awaitable[ProcessResult]]
) -> ProcessResult:
    """The result of a command that an agent asked for; that it ran, and how it ended, is put on record as evidence."""
    ran: list[ProcessResult] = []

    async def seen() -> ObservedCommand:
        result = await run()
        ran.append(result)
        output = keep_ends(without_control(result.output), MAX_RECORDED)
        return ObservedCommand(command, result.exit_code, result.seconds, output)

    await context.turn_context.observe(seen())
    return ran[0]  # observing runs it to its end, or raises


def _command_outcome(
    context: ToolContext, command: str, result: ProcessResult, *, changed: bool, hint: str
) -> ToolOutcome:
    ended = _how_it_ended(result)
    output = without_control(result.output).strip("\n")
    note = f"{INSTEAD} {command}\n" if changed else ""
    body = f"{note}{keep_ends(output, min(context.largest, MAX_OUTPUT))}" if output else f"{note}(no output)"
    same = _TIMES.sub("#", f"{result.exit_code} {body}")
    more = f"\n({hint[0].upper()}{hint[1:]}. {ELSEWHERE}.)" if hint else ""
    return ToolOutcome(
        f"{ended} after {result.seconds:.1f} s\n{body}{more}",
        activity_line(f"`{command}`: {ended}"),
        ok=result.exit_code == 0,
        repeats=same,
    )


def _how_it_ended(result: ProcessResult) -> str:
    if result.spawn_error is not None:
        return f"could not be started: {result.spawn_error}"
    if result.timed_out:
        return "timed out and was ended, with all that it had started,"
    if result.limit:
        return f"ended, with all that it had started ({result.limit}),"
    if result.exit_code is None:
        return f"killed by signal {result.signal}"
    return f"exit {result.exit_code}"


RUN_COMMAND = Tool(
    "run_command",
    "Runs a command in the platform's shell, in the workspace's root, without a terminal and without input. You get "
    "its exit code and its output, stdout and stderr together, the middle of long output cut. When it ends, all "
    f"processes that it started are ended too. A person may have to allow it first. It is ended after {TIMEOUT:.0f} "
    "seconds unless you give `timeout_seconds`.",
    (
        Argument("command", "the command line", aliases=("cmd",), bounds={"minLength": 1}),
        Argument("timeout_seconds", f"at most {LONGEST_TIMEOUT:.0f}", "number", False, ("timeout",), {"minimum": 0.1}),
        Argument(
            "outside",
            "true: outside of the room, where commands run in one; a person is asked each time",
            "boolean",
            needed=False,
        ),
    ),
    _run_line,
    _run_command,
    _command_preview,
)
