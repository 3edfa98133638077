"""Several attempts at one goal, each by the engine of any run, in a copy of the workspace and with a ledger of its own.

A group is begun (`begin`), pursued (`pursue`, again after it was cut off), compared (`standing`), and one of its
attempts is applied to the workspace (`apply`). That proves nothing there: whoever applies audits the goal again.
Nothing is thrown away but by `drop`.
"""

from __future__ import annotations

import asyncio
import os
import shlex
import shutil
import sys
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager, nullcontext, suppress
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, cast

from donewhen.app.services import open_runs
from donewhen.app.workspace_context import WorkspaceContext
from donewhen.core.answers import WAITS
from donewhen.core.errors import AlreadyRunning, DoneWhenError, NotResumable, UsageError, WorkspaceError
from donewhen.core.questions import place as place_of
from donewhen.core.resume import resumable
from donewhen.core.work import Usage
from donewhen.engine.api import ChangedFile, LimitChanges, Runs, RunView, StartOptions
from donewhen.engine.runs import changed_limits
from donewhen.engine.tasks import cancel_all
from donewhen.extras.attempts.applying import Change, apply, standing
from donewhen.extras.attempts.choosing import MOST, Keep, Result, chosen, shares
from donewhen.extras.attempts.duplicating import duplicate, size_of
from donewhen.extras.attempts.record import LOCK, Attempt, Group, Groups
from donewhen.goalfile.files import WorkspaceGoalFiles
from donewhen.ports import ProcessOptions
from donewhen.settings.loading import Settings, goal_with_settings
from donewhen.store.folders import TREES, folders_below, kept_folder, state_folder, workspace_folder
from donewhen.workspace.checkpoints import Content
from donewhen.workspace.folder import FolderWorkspace
from donewhen.workspace.locks import open_lock_file, try_lock
from donewhen.workspace.manifest import LINK
from donewhen.workspace.processes.reaping import command
from donewhen.workspace.processes.running import SystemProcesses
from donewhen.workspace.rooms.places import remove
from donewhen.workspace.shielding import shielded

__all__ = ["Attempt", "Attempts", "Group", "Plan", "Standing"]

OpenRuns = Callable[[Path, Path | None, Settings, WorkspaceContext], Awaitable[Runs]]
Told = Callable[[Attempt, RunView], None]
SPARE = 256 * 1024 * 1024
"""Bytes of the disk that copies leave free."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What a group is begun with. `workers` and `models` are taken in turn: the first attempt has the first; where
    there are none, all attempts work as `options` say."""

    goal_path: str
    attempts: int
    keep: Keep = "first"
    options: StartOptions = field(default_factory=StartOptions)
    workers: Sequence[str] = ()
    models: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Standing:
    """One attempt as it is now. `view` is None if it never started; `files` are those that it changed, `added` and
    `removed` count lines, of a long diff those of its beginning (`cut`)."""

    attempt: Attempt
    view: RunView | None = None
    files: Sequence[ChangedFile] = ()
    added: int = 0
    removed: int = 0
    cut: bool = False
    gone: bool = False
    """Its folder isn't there any more."""

    @property
    def result(self) -> Result:
        if self.view is None or self.gone:
            return Result(self.attempt.number, False, Usage(), 0.0)
        state = self.view.state
        proven = state.status == "complete" and not self.view.stale
        return Result(self.attempt.number, proven, state.usage, self.view.elapsed)


class Attempts:
    """The attempts of one workspace folder. `settings` are those of the workspace itself, for each attempt too."""

    def __init__(
        self,
        root: Path,
        state_dir: Path | None,
        settings: Settings,
        *,
        opening: OpenRuns = open_runs,
        environment: Callable[[], Mapping[str, str]] = lambda: dict(os.environ),
        trusted: Callable[[], bool] = lambda: True,
    ) -> None:
        self._root = root.resolve()
        self._state_dir = state_dir
        self._settings = settings
        self._opening = opening
        self._environment = environment
        self._trusted = trusted
        self._folder = kept_folder(self._root, state_dir)
        self._groups = Groups(self._folder)

    def groups(self) -> Sequence[Group]:
        """All groups on record, the newest first."""
        return self._groups.all()

    def damaged(self) -> Sequence[Path]:
        """Folders of groups whose record can't be read: nothing here touches them."""
        return self._groups.damaged()

    def group(self, named: str | None) -> Group:
        """The group of that id, else the newest. Raises UsageError."""
        found = [one for one in self.groups() if named in (None, one.id)]
        if not found:
            what = "there are no attempts here" if named is None else f"there are no attempts {named!r} here"
            raise UsageError(what, typed=": `donewhen run --attempts N` makes some, `donewhen attempts` lists them")
        return found[0]

    # ------------------------------------------------------------------------------------ beginning

    async def begin(self, plan: Plan) -> Group:
        """Makes the copies; nothing runs in them yet. Raises what the start of any of the attempts would raise for what
        is not here, WorkspaceError and LedgerUnavailable, and leaves nothing behind then."""
        if not 2 <= plan.attempts <= MOST:
            raise UsageError(f"--attempts takes a number from 2 to {MOST}; it is {plan.attempts}")
        async with self._runs_at_home() as runs:
            for number in range(1, plan.attempts + 1):
                await _refuse_unready(runs, plan.goal_path, self._started_with(plan, *_in_turn(plan, number)))
        self._folder = workspace_folder(state_folder(self._state_dir), self._root)
        self._groups = Groups(self._folder)
        await self._tidy()
        group = self._groups.new(plan.goal_path, plan.keep, time.time())
        try:
            with self._held(group):
                made: list[Attempt] = []
                for number in range(1, plan.attempts + 1):
                    # All begin alike, whoever edits meanwhile: the others are copies of the first.
                    source = made[0].root if made else self._root
                    made.append(await self._make_attempt(group, plan, number, source))
                group = replace(group, attempts=tuple(made))
                self._groups.keep(group)
        except BaseException:
            await shielded(self._removed(group, group.attempts))
            raise
        return group

    def share(self, plan: Plan) -> LimitChanges:
        """The limits of each attempt: an equal share of the goal's budgets, which hold for all together; the time and
        the number of iterations are each attempt's own. Raises UsageError, InvalidGoal and GoalFileError."""
        goal = WorkspaceGoalFiles(self._root).load(plan.goal_path)
        settled, _ = goal_with_settings(goal, self._settings)
        usd, tokens = shares(changed_limits(settled.limits, plan.options.limits), plan.attempts)
        given = plan.options.limits
        return replace(
            given,
            budget=given.budget if usd is None else usd,
            token_budget=given.token_budget if tokens is None else tokens,
        )

    async def _make_attempt(self, group: Group, plan: Plan, number: int, original: Path) -> Attempt:
        place, everything = group.folder / str(number), self._folder.parents[1]
        source = FolderWorkspace(original, self._folder / TREES, watch=False, excluded=(everything,))
        try:
            await source.open(())
            root = await duplicate(source, place, group.folder / "look", without=everything)
        finally:
            await source.close()
        if number == 1:
            await self._refuse_full_disk(group, place, plan.attempts - 1)
        async with self._opened_workspace(root) as workspace:
            base = await workspace.checkpoint()
        worker, model = _in_turn(plan, number)
        options = self._started_with(plan, worker, model)
        return Attempt(number, root, base, worker=worker, model=model, options=asdict(options))

    async def _refuse_full_disk(self, group: Group, place: Path, more: int) -> None:
        size = await asyncio.to_thread(size_of, place)
        free = shutil.disk_usage(group.folder).free - SPARE
        if size * more > free:
            needed, left = size * more // 1024**2, max(free, 0) // 1024**2
            raise WorkspaceError(
                f"{more} more copies of the workspace need {needed:,} MB, and {left:,} MB are free in {group.folder}:"
                " free some, drop old attempts, or make fewer"
            )

    @asynccontextmanager
    async def _opened_workspace(self, root: Path) -> AsyncGenerator[FolderWorkspace]:
        state = workspace_folder(state_folder(self._state_dir), root)
        workspace = FolderWorkspace(root, state / TREES, watch=False, excluded=(state.parents[1],))
        try:
            await workspace.open(())
            yield workspace
        finally:
            await workspace.close()

    async def _tidy(self) -> None:
        """Removes what nobody needs: groups whose choice is proven in the workspace, and copies that were cut off."""
        done = [one for one in self.groups() if one.proven]
        for group in done:
            with suppress(UsageError), self._held(group):
                await self._removed(group, group.attempts)
        for folder in self._groups.strays():
            stray = Group(folder.name, folder, "", "first", 0.0)
            with suppress(UsageError), self._held(stray):
                await self._removed(stray, ())

    # ------------------------------------------------------------------------------------- pursuing

    async def pursue(
        self, group: Group, told: Told, ended: Callable[[], Awaitable[str]], *, new: bool = False
    ) -> Group:
        """Pursues every attempt that isn't over, until all are, and returns the group with their runs: those that never
        started start now. With `keep` first the first that is proven stops the others.

        When `ended` returns, which says why, all are paused. An attempt that waits for a person is paused, too. Raises
        what kept the attempts from starting, if none did; of `new` ones nothing is left then.
        """
        with self._held(group):
            async with AsyncExitStack() as stack:
                await stack.enter_async_context(self._reaped(group))
                pursuit = _Pursuit(group, self._groups, told)
                for attempt in group.attempts:
                    if attempt.root.is_dir():
                        runs = await stack.enter_async_context(self._runs(attempt))
                        pursuit.pursue_attempt(attempt, runs)
                group = await pursuit.to_the_end(ended)
            if pursuit.refused is not None:
                if new:
                    await shielded(self._removed(group, group.attempts))
                raise pursuit.refused
            return group

    @asynccontextmanager
    async def _reaped(self, group: Group) -> AsyncGenerator[None]:
        """If this process is killed during the block, another one ends what runs in the copies: nobody may look at them
        for long, and several workers cost more than one."""
        folders = [kept_folder(one.root, self._state_dir) for one in group.attempts]
        waiting = _Waiting()
        options = ProcessOptions(
            cwd=Path(sys.executable).parent, environment=self._environment(), token="", dialogue=waiting
        )
        reaper = asyncio.ensure_future(SystemProcesses().run(command(folders), **options))
        begun = asyncio.ensure_future(waiting.begun.wait())
        try:
            await asyncio.wait({reaper, begun}, return_when=asyncio.FIRST_COMPLETED)
            if not waiting.begun.is_set():
                why = (await reaper).spawn_error
                raise WorkspaceError(f"the process that cleans up if this one is killed can't be started: {why}")
            yield
        finally:
            await cancel_all(reaper, begun)

    def _started_with(self, plan: Plan, worker: str | None, model: str | None) -> StartOptions:
        # Nobody can be asked by several runs at once.
        approve = "deny" if plan.options.approve == "ask" else plan.options.approve
        options = replace(plan.options, limits=self.share(plan), approve=approve, askable=False)
        return replace(options, worker=worker or options.worker, model=model or options.model)

    @asynccontextmanager
    async def _runs(self, attempt: Attempt) -> AsyncGenerator[Runs]:
        """The runs of an attempt's folder. What the environment says of the workspace it says of the copy there."""
        context = WorkspaceContext(
            environment=lambda: _environment_of_copy(self._environment(), self._root, attempt.root),
            trusted=self._trusted,
        )
        runs = await self._opening(attempt.root, self._state_dir, self._settings, context)
        try:
            yield runs
        finally:
            await runs.close("the command ended")

    # ------------------------------------------------------------------------------------ comparing

    async def standing(self, group: Group) -> Sequence[Standing]:
        """Each attempt as it is now, in the order of their numbers."""
        return [await self._attempt_standing(attempt) for attempt in group.attempts]

    async def _attempt_standing(self, attempt: Attempt) -> Standing:
        if not attempt.root.is_dir():
            return Standing(attempt, gone=True)
        async with self._runs(attempt) as runs:
            await runs.recover()
            run_id = await _run_of(attempt, runs)
            if run_id is None:
                return Standing(attempt)
            view = (await runs.standing()).get(run_id) or await runs.view(run_id)
            try:
                files, text = await runs.changes(run_id), await runs.diff(run_id)
            except DoneWhenError:  # it was cut off before it kept anything
                files, text = (), ""
        lines = text.split("\n")
        added = sum(line.startswith("+") and not line.startswith("+++ ") for line in lines)
        removed = sum(line.startswith("-") and not line.startswith("--- ") for line in lines)
        found = replace(attempt, run_id=run_id)
        return Standing(found, view, files, added, removed, cut="\n[... diff cut: " in text)

    async def diff(self, group: Group, number: int) -> tuple[Sequence[ChangedFile], str]:
        """The files that an attempt changed, and their unified diff, bounded. Raises UsageError."""
        attempt = _one_of(group, number)
        async with self._runs(attempt) as runs:
            run_id = await _run_of(attempt, runs)
            if run_id is None:
                raise UsageError(f"attempt {number} of {group.id} never started, and changed nothing")
            return await runs.changes(run_id), await runs.diff(run_id)

    async def file_text(self, group: Group, number: int, path: str, *, after: bool) -> str | None:
        """A file before the attempt, or as it is in its folder; None if there is none, or it isn't text. `path` is
        relative to the workspace. Raises UsageError, and WorkspaceError for what can't be read."""
        attempt = _one_of(group, number)
        if after:
            content = await _standing_of(attempt, path)
        else:
            async with self._opened_workspace(attempt.root) as workspace:
                content = await workspace.kept_at(attempt.base, path)
        try:
            return None if content is None else content.data.decode()
        except UnicodeDecodeError:
            return None

    def choice(self, group: Group, standing: Sequence[Standing]) -> int | None:
        """The number of the attempt that is kept by the group's own rule; None if a person chooses, or none is
        proven."""
        return chosen(group.keep, [one.result for one in standing])

    # ------------------------------------------------------------------------------------- applying

    async def apply(self, group: Group, number: int, at_home: Runs | None = None) -> tuple[Group, Sequence[str]]:
        """Brings the changes of an attempt into the workspace, all or none, and returns the paths that were changed
        there. Whether the goal is proven there is for an audit to say (`proven`). `at_home` are the runs of the
        workspace, where they are open already.

        Raises WorkspaceError with the files that are not as they were when the attempt began: nothing is changed then,
        and the attempt is kept. Raises AlreadyRunning while a run is pursued in the workspace, and UsageError for an
        attempt with open findings: its run knows what its proof was before, and the audit here would not.
        """
        attempt = _one_of(group, number)
        with self._held(group):
            async with self._runs_at_home() if at_home is None else nullcontext(at_home) as runs:
                for summary in await runs.summaries():
                    if summary.mode == "pursue" and summary.status in ("running", "waiting"):
                        raise AlreadyRunning(summary.run_id)
            await self._refuse_findings(attempt)
            files, _ = await self.diff(group, number)
            changes = await self._changes(attempt, [one.path for one in files])
            try:
                changed = await shielded(asyncio.to_thread(apply, self._root, changes))
            except WorkspaceError as error:
                shown = f": `donewhen attempts diff {number} {group.id}` shows its changes"
                raise WorkspaceError(f"{error}. Attempt {number} is kept", typed=shown) from error
            group = replace(group, applied=number, proven=False)
            self._groups.keep(group)
        return group, changed

    async def proven(self, group: Group) -> Group:
        """Puts on record that the goal was proven in the workspace after an attempt was applied. The others go, if
        nobody was to choose among them; what a person chooses from stays until it is dropped."""
        group = replace(group, proven=True)
        self._groups.keep(group)
        others = [one.number for one in group.attempts if one.number != group.applied]
        if group.keep == "ask" or not others:
            return group
        return await self.drop(group, others) or group

    async def _refuse_findings(self, attempt: Attempt) -> None:
        async with self._runs(attempt) as runs:
            run_id = await _run_of(attempt, runs)
            found = (await runs.view(run_id)).state.open_findings if run_id is not None else ()
        if found:
            named = ", ".join(f"{one.id} {one.finding.kind}{place_of(one.finding)}" for one in found[:5])
            places = {"--workspace": attempt.root, "--state-dir": self._state_dir}
            where = " ".join(f"{name} {shlex.quote(str(one))}" for name, one in places.items() if one is not None)
            accept = f'donewhen accept {where} {run_id} --all --reason "..."'
            raise UsageError(
                f"attempt {attempt.number} changed what proves the goal, which a person has to settle first: {named}",
                typed=f". Accept it with `{accept}`, then apply it",
            )

    async def _changes(self, attempt: Attempt, paths: Sequence[str]) -> Sequence[Change]:
        changes: list[Change] = []
        async with self._opened_workspace(attempt.root) as workspace:
            for path in paths:
                after = await _standing_of(attempt, path)
                before = await workspace.kept_at(attempt.base, path)
                changes.append(Change(path, self._at_home(attempt, before), self._at_home(attempt, after)))
        return changes

    def _at_home(self, attempt: Attempt, content: Content | None) -> Content | None:
        """The same in the workspace: there, a link by an absolute path into the copy leads into the workspace."""
        if content is None or content.mode != LINK:
            return content
        leads = Path(os.fsdecode(content.data))
        if not leads.is_absolute() or not leads.is_relative_to(attempt.root):
            return content
        return Content(LINK, os.fsencode(self._root / leads.relative_to(attempt.root)))

    @asynccontextmanager
    async def _runs_at_home(self) -> AsyncGenerator[Runs]:
        context = WorkspaceContext(environment=self._environment, trusted=self._trusted, watch=False)
        runs = await self._opening(self._root, self._state_dir, self._settings, context)
        try:
            await runs.recover()
            yield runs
        finally:
            await runs.close("the command ended")

    # ------------------------------------------------------------------------------------- dropping

    async def drop(self, group: Group, numbers: Sequence[int] | None = None) -> Group | None:
        """Removes the folders and the records of these attempts, or of all. Returns what is left; None if nothing is.
        Raises UsageError while the group is pursued."""
        with self._held(group):
            gone = [one for one in group.attempts if numbers is None or one.number in numbers]
            for one in gone:
                await self._end_run(one)
            left = tuple(one for one in group.attempts if one not in gone)
            if not left:
                await shielded(self._removed(group, group.attempts))
                return None
            kept = replace(group, attempts=left)
            self._groups.keep(kept)
            await shielded(self._removed(group, gone, whole=False))
            return kept

    async def _end_run(self, attempt: Attempt) -> None:
        """Ends its run, with whatever a process that was killed left running in its folder."""
        if not attempt.root.is_dir():
            return
        async with self._runs(attempt) as runs:
            await runs.recover()
            run_id = await _run_of(attempt, runs)
            if run_id is not None:
                with suppress(UsageError):  # it has ended already
                    await runs.stop(run_id, "the attempt was dropped")

    async def bytes_kept(self, group: Group) -> int:
        """The bytes of its folders and records."""
        places = [group.folder, *(kept_folder(one.root, self._state_dir) for one in group.attempts)]
        return sum([await asyncio.to_thread(size_of, place) for place in places])

    async def _removed(self, group: Group, attempts: Sequence[Attempt], *, whole: bool = True) -> None:
        for one in attempts:
            await asyncio.to_thread(remove, kept_folder(one.root, self._state_dir))
            await asyncio.to_thread(remove, group.folder / str(one.number))
        if whole:
            # Those too that were made before the group was on record.
            for state in await asyncio.to_thread(folders_below, self._folder.parents[1], group.folder.resolve()):
                await asyncio.to_thread(remove, state)
            await asyncio.to_thread(remove, group.folder)

    @contextmanager
    def _held(self, group: Group) -> Generator[None]:
        """The group is this process's for the duration of the block. Raises UsageError if it is another one's."""
        try:
            lock = open_lock_file(group.folder / LOCK)
        except OSError as error:
            left = ": `donewhen attempts` lists those that are left"
            raise UsageError(f"the attempts {group.id} are gone", typed=left) from error
        try:
            if not try_lock(lock):
                raise UsageError(f"the attempts {group.id} are at work in another process: end that first")
            yield
        finally:
            os.close(lock)


class _Pursuit:
    """Attempts that are pursued side by side."""

    def __init__(self, group: Group, groups: Groups, told: Told) -> None:
        self._group = group
        self._groups = groups
        self._told = told
        self._runs: dict[int, Runs] = {}
        self._tasks: dict[int, asyncio.Task[RunView | None]] = {}
        self._ending = ""
        self.refused: DoneWhenError | None = None
        """Why none of them started."""

    def pursue_attempt(self, attempt: Attempt, runs: Runs) -> None:
        self._runs[attempt.number] = runs
        self._tasks[attempt.number] = asyncio.ensure_future(self._one(attempt, runs))

    async def to_the_end(self, ended: Callable[[], Awaitable[str]]) -> Group:
        signalled = asyncio.ensure_future(ended())
        try:
            while running := {one for one in self._tasks.values() if not one.done()}:
                waited = running if signalled.done() else {*running, signalled}
                await asyncio.wait(waited, return_when=asyncio.FIRST_COMPLETED)
                await self._stop_others()
                if signalled.done() and not self._ending:
                    self._ending = signalled.result()
                    await self._pause_all(self._ending)
        finally:
            for task in (signalled, *self._tasks.values()):
                task.cancel()
            await asyncio.gather(signalled, *self._tasks.values(), return_exceptions=True)
        self._look_who_failed()
        return self._group

    async def _one(self, attempt: Attempt, runs: Runs) -> RunView | None:
        """Its last view; None if there was nothing to go on with."""
        begun = await self._begin_attempt(attempt, runs)
        if begun is None:
            return None
        run_id = begun.state.run_id
        self._group = self._group.having(replace(attempt, run_id=run_id, error=None))
        self._groups.keep(self._group)
        last = begun
        async for view in runs.follow(run_id):
            last = view
            self._told(attempt, view)
            state = view.state
            if state.active and state.interrupts and state.lifecycle.pause_requested is None:
                with suppress(DoneWhenError):  # it may have ended by itself
                    await runs.pause(run_id, f"{WAITS}: {state.interrupts[0].id}", "run")
        return last

    async def _begin_attempt(self, attempt: Attempt, runs: Runs) -> RunView | None:
        await runs.recover()
        run_id = await _run_of(attempt, runs)
        if run_id is None:
            if self._ending:
                return None
            limits = LimitChanges(**attempt.options.get("limits", {}))
            options = StartOptions(**cast("dict[str, Any]", {**attempt.options, "limits": limits}))
            await _refuse_unready(runs, self._group.goal_path, options)
            return await runs.start(self._group.goal_path, options)
        if not resumable((await runs.view(run_id)).state):
            return None
        try:
            return await runs.resume(run_id)
        except NotResumable:  # it needs a raised limit, or a person's answer
            return None

    async def _stop_others(self) -> None:
        """With `keep` first: one that is proven ends the others."""
        if self._group.keep != "first":
            return
        first = next((number for number, task in self._tasks.items() if _is_proven(task)), None)
        if first is None:
            return
        for number, task in self._tasks.items():
            if not task.done():
                await self._each(number, lambda runs, run_id: runs.stop(run_id, f"attempt {first} was proven first"))

    async def _pause_all(self, reason: str) -> None:
        for number, task in self._tasks.items():
            if not task.done():
                await self._each(number, lambda runs, run_id: runs.pause(run_id, reason, "person"))

    async def _each(self, number: int, do: Callable[[Runs, str], Awaitable[RunView]]) -> None:
        attempt = self._group.attempt(number)
        if attempt is None or attempt.run_id is None:
            self._tasks[number].cancel()  # it is still starting
            return
        with suppress(DoneWhenError):  # it may have ended by itself
            await do(self._runs[number], attempt.run_id)

    def _look_who_failed(self) -> None:
        """Puts on record what kept attempts from starting. Raises what was not expected."""
        failed: list[DoneWhenError] = []
        for number, task in self._tasks.items():
            error = None if task.cancelled() else task.exception()
            attempt = self._group.attempt(number)
            if error is None or attempt is None:
                continue
            if not isinstance(error, DoneWhenError):
                raise error
            failed.append(error)
            self._group = self._group.having(replace(attempt, error=str(error)))
        if failed:
            self._groups.keep(self._group)
        if failed and len(failed) == len(self._tasks):
            self.refused = failed[0]


def _in_turn(plan: Plan, number: int) -> tuple[str | None, str | None]:
    """The worker and the model of the attempt of that number."""
    worker = plan.workers[(number - 1) % len(plan.workers)] if plan.workers else None
    model = plan.models[(number - 1) % len(plan.models)] if plan.models else None
    return worker, model


async def _refuse_unready(runs: Runs, goal_path: str, options: StartOptions) -> None:
    if (await runs.ready(goal_path, options)).worker == "human":
        raise UsageError("attempts need a worker that works by itself: give --worker, or --model for the agent")


class _Waiting:
    """`ports.Dialogue` with a process that only waits for the end of its input."""

    def __init__(self) -> None:
        self.begun = asyncio.Event()

    def began(self, send: Callable[[bytes], None]) -> None:
        self.begun.set()

    def heard(self, data: bytes) -> None:
        """It says nothing."""

    def ended(self) -> None:
        """It is over with its process."""


def _is_proven(task: asyncio.Task[RunView | None]) -> bool:
    if not task.done() or task.cancelled() or task.exception() is not None:
        return False
    view = task.result()
    return view is not None and view.state.status == "complete"


async def _run_of(attempt: Attempt, runs: Runs) -> str | None:
    """The attempt's run, also if it was cut off before its group knew of it; None if it never started."""
    if attempt.run_id is not None:
        return attempt.run_id
    return next((one.run_id for one in await runs.summaries() if one.mode == "pursue"), None)


def _one_of(group: Group, number: int) -> Attempt:
    attempt = group.attempt(number)
    if attempt is None:
        there = ", ".join(str(one.number) for one in group.attempts)
        raise UsageError(f"there is no attempt {number} among {group.id}; there are {there}")
    if not attempt.root.is_dir():
        raise UsageError(
            f"the folder of attempt {number} is gone", typed=f"; `donewhen attempts drop {number}` forgets it"
        )
    return attempt


async def _standing_of(attempt: Attempt, path: str) -> Content | None:
    try:
        return await asyncio.to_thread(standing, attempt.root, path)
    except OSError as error:
        raise WorkspaceError(f"{path} of attempt {attempt.number} can't be read ({error.strerror})") from error


def _environment_of_copy(environment: Mapping[str, str], before: Path, now: Path) -> dict[str, str]:
    """Variables with paths of the workspace, alone or in a list (PATH, VIRTUAL_ENV, PYTHONPATH), name the copy's."""

    def of_the_copy(text: str) -> str:
        place = Path(text)
        inside = place.is_absolute() and place.is_relative_to(before)
        return str(now / place.relative_to(before)) if inside else text

    return {name: os.pathsep.join(map(of_the_copy, value.split(os.pathsep))) for name, value in environment.items()}
