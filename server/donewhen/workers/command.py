"""Any command-line program as the worker. Its exit code and its output are claims, never evidence."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, cast

from donewhen.core.decoding import json_object
from donewhen.core.errors import InvalidGoal, UsageError, WorkerFailed
from donewhen.core.work import TURN_STATES, Claim, TurnResult, WorkerStep
from donewhen.ports import Grants, LiveRooms, ProcessResult, Turn, TurnContext
from donewhen.workers import WorkerParts
from donewhen.workers.activity import activity_line, output_shown, turn_room, without_control
from donewhen.workers.prompt import command_prompt

PLACEHOLDER = "{prompt}"
PROMPT_VARIABLE = "DONEWHEN_PROMPT"
MAX_ARGUMENT = 100_000
"""Bytes of a prompt inside a command: Linux takes at most 131,072 in one argument, the shell's text included."""
MAX_TAIL = 2_000
IN_A_ROOM = (
    "it ran in a room, where your home folder is empty except for toolchains and the folders of known agents: "
    "`room_writes` and `room_reads` of your settings show it more, and --sandbox auto runs it outside"
)
NOT_FOUND = (127, 9009)
"""The exit codes of a POSIX shell and of cmd.exe if they did not find the program."""

_QUOTED_PLACEHOLDER = re.compile(r"\"\{prompt\}\"|'\{prompt\}'|\{prompt\}")


class CommandWorker:
    """Runs one command per turn in the workspace's root, with the prompt on standard input or for `{prompt}`.

    It runs in one of the `rooms`, with these `grants`. `environment` gives the variables for each turn.
    Raises InvalidGoal at once for a command that can't be run as written.
    """

    name = "command"
    waits_for_person = False

    def __init__(
        self,
        command: str,
        rooms: LiveRooms,
        environment: Callable[[], Mapping[str, str]],
        grants: Grants | None = None,
    ) -> None:
        if not command.strip():
            raise InvalidGoal(
                "the worker command is empty: name a program", typed=", for example --worker-command 'my-agent'"
            )
        _refuse_embedded_placeholder(command)
        self._command = command
        self._rooms = rooms
        self._grants = grants or Grants()
        self._environment = environment

    async def work(self, turn: Turn, context: TurnContext) -> TurnResult:
        """One run of the command. Raises WorkerFailed if it did not start, failed without an end line, or hung."""
        call = call_with(self._command, command_prompt(turn))
        context.activity(activity_line(f"running {self._command}"))
        async with turn_room(self._rooms, self._grants, turn) as room:
            result = await room.processes.run(
                call.command,
                cwd=context.workspace.root,
                environment={**self._environment(), **call.environment},
                token=turn.token,
                stdin=call.stdin,
                on_line=output_shown(context, silent=lambda line: end_line(line) is not None),
            )
        try:
            return self._result(result)
        except WorkerFailed as failed:
            if not room.contained:
                raise
            hint = room.hint(result)
            raise WorkerFailed(f"{failed}\n({f'{hint}; ' if hint else ''}{IN_A_ROOM})", final=failed.final) from failed

    def _result(self, result: ProcessResult) -> TurnResult:
        output = without_control(result.output)
        end, tail = end_line(output), tail_of(output)
        why = unfinished("the worker command", self._command, result)
        if why:
            raise WorkerFailed(why if result.spawn_error is not None else f"{why}{tail}")
        if result.exit_code in NOT_FOUND and end is None:
            raise WorkerFailed(f"the worker command was not found: install it or correct it: {self._command}{tail}")
        if result.exit_code != 0 and (end is None or end.note):
            raise WorkerFailed(f"the worker command exited with {result.exit_code}{tail}")
        claim = end.claim if end else Claim("finished", output.strip()[-MAX_TAIL:])
        steps = [WorkerStep("command", f"{self._command}: exit {result.exit_code}", result.exit_code == 0)]
        if end and end.note:
            steps.append(WorkerStep("note", end.note, ok=False))
        lines = claim.text.strip().splitlines() or [f"exit {result.exit_code}, no output"]
        summary = activity_line(lines[-1] if claim.state == "finished" else lines[0])
        return TurnResult(claim, response_digest=result.output_digest, steps=tuple(steps), summary=summary)


def make(parts: WorkerParts) -> CommandWorker:
    """Raises UsageError without a command, InvalidGoal for one that can't be run as written."""
    command = parts.options.worker_command
    if not command:
        raise UsageError(
            "worker command needs the command to run", typed=": --worker-command 'my-agent --prompt {prompt}'"
        )
    return CommandWorker(command, parts.rooms, parts.environment, parts.grants)


def unfinished(what: str, command: str, result: ProcessResult) -> str:
    """Why a command did not come to its own end; empty if it did."""
    if result.spawn_error is not None:
        return f"{what} could not be started: {result.spawn_error}: {command}"
    if result.limit:
        return f"{what} was ended: {result.limit}"
    return f"{what} was killed by signal {result.signal}" if result.exit_code is None else ""


@dataclass(frozen=True, slots=True)
class EndLine:
    """The line that a command worker may end its output with. `note` says what is wrong with it."""

    claim: Claim
    note: str = ""


def end_line(output: str) -> EndLine | None:
    """Reads the last line of plain output as `{"donewhen": {"state", "text"}}`; None if it is something else.

    Strict: a state that is none of the four counts as finished, with a note.
    """
    lines = output.rstrip().rsplit("\n", 1)
    last = lines[-1].strip()
    if not last.startswith("{") or '"donewhen"' not in last:
        return None
    document = json_object(last)
    if document is None or "donewhen" not in document:
        return None
    body: Any = document["donewhen"]
    if not isinstance(body, dict):
        return EndLine(Claim(), "the end line's donewhen is not an object; treated as finished")
    fields = cast("dict[str, Any]", body)
    state, text = fields.get("state"), fields.get("text", "")
    said = text[-MAX_TAIL:] if isinstance(text, str) else ""
    if state not in TURN_STATES:
        known = ", ".join(TURN_STATES)
        wrong = f"the end line's state {state!r} is not one of {known}; treated as finished"
        return EndLine(Claim("finished", said), wrong)
    if not isinstance(text, str):
        return EndLine(Claim(state), "the end line's text is not text; left out")
    return EndLine(Claim(state, said))


@dataclass(frozen=True, slots=True)
class Call:
    """A command line, what it gets on standard input, and the variables that it needs besides."""

    command: str
    stdin: bytes | None
    environment: Mapping[str, str]


def call_with(command: str, prompt: str) -> Call:
    """The command with its prompt: a word of it, or on standard input."""
    text = prompt.replace("\x00", "")
    if PLACEHOLDER not in command:
        return Call(command, text.encode(errors="replace"), {})
    if os.name == "nt":
        # cmd.exe expands %NAME% before it parses, so that text in the prompt could become a command. !NAME! is expanded
        # after parsing; only a double quote could still end the argument.
        inner = _QUOTED_PLACEHOLDER.sub(lambda _: f'"!{PROMPT_VARIABLE}!"', command)
        safe = text.replace('"', "'")[:30_000]
        return Call(f'cmd /V:ON /D /S /C "{inner}"', None, {PROMPT_VARIABLE: safe})
    word, keep = shlex.quote(text), len(text)
    while len(word.encode(errors="replace")) > MAX_ARGUMENT:  # the middle goes first
        keep = keep * 3 // 4
        cut = f"[... {len(text) - keep} characters cut: too long for an argument ...]"
        word = shlex.quote(f"{text[: keep // 2]}\n{cut}\n{text[-(keep // 2) :]}")
    return Call(_QUOTED_PLACEHOLDER.sub(lambda _: word, command), None, {})


def _refuse_embedded_placeholder(command: str) -> None:
    """Inside a longer quoted text another program would parse the prompt again: it could run what is in it."""
    quote, at = "", 0
    while at < len(command):
        alone = None if quote else _QUOTED_PLACEHOLDER.match(command, at)
        if alone:
            at = alone.end()
            continue
        if command.startswith(PLACEHOLDER, at) or (command.startswith("<<", at) and PLACEHOLDER in command):
            raise InvalidGoal(
                "the worker command has {prompt} inside a quoted text: write {prompt} as a word of its own, "
                "or leave it out to get the prompt on standard input"
            )
        character = command[at]
        if character == quote:
            quote = ""
        elif not quote and character in "\"'":
            quote = character
        at += 2 if character == "\\" and quote != "'" else 1


def tail_of(output: str) -> str:
    """The end of what a failed command printed, to follow why it failed."""
    text = output.strip()
    return f":\n{text[-MAX_TAIL:]}" if text else ", no output"
