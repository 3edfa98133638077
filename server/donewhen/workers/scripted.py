"""A worker that plays a recording: for demonstrations and tests, without any model."""

from __future__ import annotations

import asyncio
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path

from donewhen.core.errors import ChangedMeanwhile, UsageError, WorkerFailed, WorkspaceError
from donewhen.core.work import Claim, Interrupt, TurnResult, TurnState, Usage, WorkerStep
from donewhen.ports import FileText, Turn, TurnContext
from donewhen.workers import WorkerParts
from donewhen.workers import script as recorded
from donewhen.workers.activity import output_shown

MAX_TAIL = 400


class ScriptedWorker:
    """Plays one turn of a recording per iteration; iteration 3 is the third turn, also after a crash or a resume.

    `source` is a YAML file, or YAML text of more than one line. Raises InvalidGoal with the line of a mistake.
    """

    name = "scripted"
    waits_for_person = False

    def __init__(self, source: Path | str, parts: WorkerParts) -> None:
        self._script = recorded.load_script(source)
        self._parts = parts

    async def work(self, turn: Turn, context: TurnContext) -> TurnResult:
        """Plays the turn of this iteration. Raises WorkerFailed if a step fails or the script ran out."""
        if not 1 <= turn.iteration <= len(self._script.turns):
            raise WorkerFailed(f"the script has no turn {turn.iteration}: it ran out")
        played = self._script.turns[turn.iteration - 1]
        playing = _Playing(turn, context, self._parts, played)
        await playing.remember()
        for step in played.steps:
            await playing.play(step)
        return playing.turn_result()


def make(parts: WorkerParts) -> ScriptedWorker:
    """Raises UsageError without a recording, InvalidGoal for a wrong one."""
    if not parts.options.script:
        raise UsageError("worker scripted needs a recording", typed=": --script FILE")
    return ScriptedWorker(Path(parts.options.script), parts)


class _Playing:
    """One turn being played, and what it said and did so far."""

    def __init__(self, turn: Turn, context: TurnContext, parts: WorkerParts, played: recorded.ScriptTurn) -> None:
        self._turn = turn
        self._context = context
        self._parts = parts
        self._played = played
        self._files = parts.files(turn, context)
        self._known: dict[str, FileText | None] = {}
        """The files that the turn changes, as this worker knows them: nobody else's change is overwritten."""
        self._said: list[str] = []
        self._state: TurnState = "finished"
        self._usage = Usage()
        self._steps: list[WorkerStep] = []

    async def remember(self) -> None:
        """Takes what the files hold now as known: as the turn begins, and after a command of the worker's own."""
        for step in self._played.steps:
            for kind, path in _changes(step):
                with self._failing(kind, path):
                    self._known[path] = await self._files.read(path)

    def turn_result(self) -> TurnResult:
        text = "\n".join(self._said)
        summary = text.split("\n", 1)[0] or self._played.name or f"steps: {len(self._steps)}"
        return TurnResult(Claim(self._state, text), self._usage, steps=tuple(self._steps), summary=summary)

    async def play(self, step: recorded.Step) -> None:
        match step:
            case recorded.Step(run=str(command)):
                await self._run_command(command)
            case recorded.Step(say=str(text)):
                self._said.append(text.strip())
            case recorded.Step(state=str(state)):
                self._state = state
            case recorded.Step(usage=recorded.Spend(usage=usage)):
                self._usage += usage
            case recorded.Step(ask=recorded.Ask(interrupt=interrupt)):
                await self._ask_interrupt(interrupt, step.expect)
            case recorded.Step(pause=float(seconds)):
                self._context.activity(self._played.name or "working")
                await asyncio.sleep(seconds)
            case recorded.Step(hang=True):
                self._context.activity("waiting until it is cancelled")
                await asyncio.get_running_loop().create_future()
            case recorded.Step(fail=str(message)):
                raise WorkerFailed(message)
            case _:
                await self._change(step)

    async def _change(self, step: recorded.Step) -> None:
        kind, path = next(_changes(step))
        self._context.activity(f"{kind} {path}")
        known = self._known.get(path)
        with self._failing(kind, path):
            if known is None and step.write is None:
                raise WorkspaceError("there is no such file")
            if step.write is not None:
                self._known[path] = await self._files.write(path, step.write.text, known)
            elif step.edit is not None and known is not None:
                old, new = step.edit.old, step.edit.new
                if (count := known.content.count(old)) != 1:
                    raise WorkspaceError(f"the text to replace is there {count} times, not once: {old!r}")
                self._known[path] = await self._files.write(path, known.content.replace(old, new), known)
            else:
                if await self._files.read(path) != known:
                    raise ChangedMeanwhile(path, None)
                (self._context.workspace.root / path).unlink()
                self._known[path] = None
        self._steps.append(WorkerStep(kind, path))

    @contextmanager
    def _failing(self, kind: str, path: str) -> Generator[None]:
        try:
            yield
        except (WorkspaceError, OSError) as error:
            raise WorkerFailed(f"{kind} {path}: {error}") from error

    async def _run_command(self, command: str) -> None:
        self._context.activity(f"run {command}")
        result = await self._parts.processes().run(
            command,
            cwd=self._context.workspace.root,
            environment=self._parts.environment(),
            token=self._turn.token,
            on_line=output_shown(self._context),
        )
        await self.remember()
        ended = result.spawn_error or f"exit {result.exit_code}"
        tail = result.output.strip()[-MAX_TAIL:]
        summary = f"{command}: {ended}\n{tail}".rstrip()
        self._steps.append(WorkerStep("run", summary, result.exit_code == 0))

    async def _ask_interrupt(self, interrupt: Interrupt, expected: str | None) -> None:
        answer = await self._context.ask(interrupt)
        said = f"{answer.response} {answer.text}".strip()
        self._steps.append(WorkerStep("ask", f"{interrupt.title}: {said}"))
        if expected is not None and answer.response != expected:
            raise WorkerFailed(f"the script expected the answer {expected}; it was {answer.response}")


def _changes(step: recorded.Step) -> Iterator[tuple[str, str]]:
    """What a step does to which file: one pair, none for a step that changes no file."""
    for kind, change in (("write", step.write), ("edit", step.edit), ("delete", step.delete)):
        if change:
            yield kind, change.path
