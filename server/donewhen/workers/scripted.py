"""A worker that plays a recording: for demonstrations and tests, without any model."""

from __future__ import annotations

import asyncio
import hashlib
import os
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from donewhen.core.errors import ChangedMeanwhile, UsageError, WorkerFailed, WorkspaceError
from donewhen.core.work import Claim, Interrupt, TurnResult, TurnState, Usage, WorkerStep
from donewhen.ports import Processes, Turn, TurnContext
from donewhen.regular import read_bytes
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

    def __init__(self, source: Path | str, processes: Processes, environment: Callable[[], Mapping[str, str]]) -> None:
        self._script = recorded.load_script(source)
        self._processes = processes
        self._environment = environment

    async def work(self, turn: Turn, context: TurnContext) -> TurnResult:
        """Plays the turn of this iteration. Raises WorkerFailed if a step fails or the script ran out."""
        if not 1 <= turn.iteration <= len(self._script.turns):
            raise WorkerFailed(f"the script has no turn {turn.iteration}: it ran out")
        played = self._script.turns[turn.iteration - 1]
        playing = _Playing(turn, context, self._processes, self._environment, played)
        for step in played.steps:
            await playing.play(step)
        return playing.turn_result()


def make(parts: WorkerParts) -> ScriptedWorker:
    """Raises UsageError without a recording, InvalidGoal for a wrong one."""
    if not parts.options.script:
        raise UsageError("worker scripted needs a recording", typed=": --script FILE")
    return ScriptedWorker(Path(parts.options.script), parts.processes(), parts.environment)


class _Playing:
    """One turn being played, and what it said and did so far."""

    def __init__(
        self,
        turn: Turn,
        context: TurnContext,
        processes: Processes,
        environment: Callable[[], Mapping[str, str]],
        played: recorded.ScriptTurn,
    ) -> None:
        self._turn = turn
        self._context = context
        self._processes = processes
        self._environment = environment
        self._name = played.name
        self._files = RecordedFiles(
            context.workspace.root, tuple(dict.fromkeys(path for step in played.steps for _, path in _changes(step)))
        )
        self._said: list[str] = []
        self._state: TurnState = "finished"
        self._usage = Usage()
        self._steps: list[WorkerStep] = []

    def turn_result(self) -> TurnResult:
        text = "\n".join(self._said)
        summary = text.split("\n", 1)[0] or self._name or f"steps: {len(self._steps)}"
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
                self._context.activity(self._name or "working")
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
        try:
            match step:
                case recorded.Step(write=recorded.Write(text=text)):
                    await asyncio.to_thread(self._files.write, path, text)
                case recorded.Step(edit=recorded.Edit(old=old, new=new)):
                    await asyncio.to_thread(self._files.edit, path, old, new)
                case _:
                    await asyncio.to_thread(self._files.delete, path)
        except (WorkspaceError, OSError) as error:
            raise WorkerFailed(f"{kind} {path}: {error}") from error
        self._steps.append(WorkerStep(kind, path))

    async def _run_command(self, command: str) -> None:
        self._context.activity(f"run {command}")
        with output_shown(self._context) as take_line:
            result = await self._processes.run(
                command,
                cwd=self._context.workspace.root,
                environment=self._environment(),
                token=self._turn.token,
                on_line=take_line,
            )
        self._files.remember()
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


# File changes of a worker that plays a recording: inside the workspace, whole or not at all, never over a person's.


class RecordedFiles:
    """Changes files under `root`, each only while it is as this worker knows it.

    `paths` are those that will be changed; their present content is what is known. Raises ChangedMeanwhile if
    somebody else changed one since, WorkspaceError for a path outside or a file that is not as it should be.
    """

    def __init__(self, root: Path, paths: Sequence[str]) -> None:
        self._root = root.resolve()
        self._paths = tuple(paths)
        self._known: dict[Path, str | None] = {}
        self.remember()

    def remember(self) -> None:
        """Takes the present content as known: after a command of the worker's own ran."""
        for path in self._paths:
            target = self._target(path)
            if target is not None:
                self._known[target] = _digest(_content_or_none(target))

    def write(self, path: str, text: str) -> None:
        """Creates or replaces a file; missing folders are created."""
        target = self._target_inside(path)
        self._refuse_changed(path, target)
        self._replace(target, text.encode())

    def edit(self, path: str, old: str, new: str) -> None:
        """Replaces `old`, which must occur exactly once."""
        target = self._target_inside(path)
        content = self._refuse_changed(path, target)
        if content is None:
            raise WorkspaceError("there is no such file")
        before = old.encode()
        count = content.count(before)
        if count != 1:
            raise WorkspaceError(f"the text to replace is there {count} times, not once: {old!r}")
        self._replace(target, content.replace(before, new.encode()))

    def delete(self, path: str) -> None:
        """Deletes a file, which must be there."""
        target = self._target_inside(path)
        if self._refuse_changed(path, target) is None:
            raise WorkspaceError("there is no such file")
        target.unlink()
        self._known[target] = None

    def _target_inside(self, path: str) -> Path:
        target = self._target(path)
        if target is None:
            raise WorkspaceError(f"{path} is not a file inside the workspace; nothing was changed")
        return target

    def _target(self, path: str) -> Path | None:
        """The file that a path stands for, links followed; None if that is outside or a folder."""
        target = (self._root / path).resolve()
        return target if target.is_relative_to(self._root) and not target.is_dir() else None

    def _refuse_changed(self, path: str, target: Path) -> bytes | None:
        content = _content_or_none(target)
        if target in self._known and self._known[target] != _digest(content):
            raise ChangedMeanwhile(path, None if content is None else content.decode(errors="replace"))
        return content

    def _replace(self, target: Path, content: bytes) -> None:
        target.parent.mkdir(parents=True, exist_ok=True)
        mode = target.stat().st_mode & 0o777 if target.exists() else 0o644
        handle, temporary = tempfile.mkstemp(prefix=f".{target.name}.", suffix=".tmp", dir=target.parent)
        try:
            with os.fdopen(handle, "wb") as stream:
                stream.write(content)
            Path(temporary).chmod(mode)
            Path(temporary).replace(target)
        except BaseException:
            Path(temporary).unlink(missing_ok=True)
            raise
        self._known[target] = _digest(content)


def _content_or_none(target: Path) -> bytes | None:
    try:
        return read_bytes(target)
    except FileNotFoundError:
        return None


def _digest(content: bytes | None) -> str | None:
    return None if content is None else hashlib.sha256(content).hexdigest()
