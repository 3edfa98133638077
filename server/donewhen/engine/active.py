"""One run in this process: its state, its ledger, and the parts that it uses."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import json
from collections.abc import Callable, Coroutine, Generator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar, cast

from donewhen.core.calls import CallStarted
from donewhen.core.changing import replace
from donewhen.core.errors import DoneWhenError, LedgerError, Overtaken, RecordChanged, RecordGone
from donewhen.core.events import (
    Entry,
    Event,
    EvidenceRecorded,
    InterruptOpened,
    Requested,
    RevisionChanged,
    RunEnded,
    RunOptions,
    RunStarted,
)
from donewhen.core.evidence import Evidence, Observation
from donewhen.core.feedback import keep_ends
from donewhen.core.fold.dispatch import begin, fold
from donewhen.core.goal import Goal
from donewhen.core.integrity import ChangedProof
from donewhen.core.plugging import PluginOff, PluginState, PluginStateSet, ToolOutcome
from donewhen.core.state import SIGN_OF_LIFE, RunState
from donewhen.core.words import shortened
from donewhen.core.work import Actor, Answer, Interrupt, Usage
from donewhen.engine.setup import EngineSetup
from donewhen.engine.tasks import Preemption, cancel_all, result_of
from donewhen.ports import (
    Clock,
    Judge,
    Live,
    Plugins,
    TreeState,
    Worker,
    Workspace,
)

T = TypeVar("T")
MAX_PATHS = 200
MAX_PERSONS_PATHS = 5_000
"""What a person changed becomes the original that the proof is tried against."""
LENT_FOR = 5.0
"""Seconds that a run which ended keeps its workspace open for somebody who still looks at it."""
MAX_STREAMED = 20_000
"""Characters of what is streamed in one call or turn that are kept: head and tail."""
MAX_STREAMS = 50
STREAM_EVERY = 0.1
"""Seconds between two notifications to the front ends about streamed output."""
MAX_ACTIVITY = 200
MAX_LINE = 4_096
"""Characters in which the latest line of streamed output is looked for."""


def turn_stream(iteration: int) -> str:
    """What a worker streams outside of its calls, such as the output of a command that is the worker."""
    return f"turn {iteration}"


@dataclass(frozen=True, slots=True)
class Parts:
    """What one run works with: the parts of the engine, and its own. `worker` is None for a bare audit and on guard,
    `judge` where none is configured."""

    setup: EngineSetup
    workspace: Workspace
    worker: Worker | None = None
    judge: Judge | None = None
    plugins: Plugins | None = None


class ActiveRun:
    """A run that this process supervises. Appending an event is the only way to change its state (invariant 2)."""

    def __init__(self, parts: Parts, token: str, on_change: Callable[[ActiveRun], None], state: RunState) -> None:
        self.parts = parts
        self.token = token
        self.state = state
        self.watch = Stopwatch(parts.setup.clock)
        self.activity: str | None = None
        self._asked_at: float | None = None
        """When a model was asked that has said nothing since."""
        self.checkpointed: tuple[str, str] | None = None
        """The revision of the last checkpoint, and its id: an unchanged tree is not kept twice."""
        self.touched: set[str] = set()
        """The paths that changed since the turn began."""
        self.changed_proof: ChangedProof | None = None
        """The proof files that the worker changed; None until a turn has ended."""
        self.goal_edited = False
        """A person changed the goal file, and the goal wasn't read again since."""
        self.walked = False
        """True if the whole workspace was walked, and nobody could change it since."""
        self.outputs: dict[str, set[str]] = {}
        """The files that each check writes each time, by check id."""
        self.no_affected: set[str] = set()
        """The checks whose affected tests aren't run alone: they write files that count."""
        self.made_at_start: set[str] = set()
        """Files that came while checks ran before the first turn: a check made them, so they are nobody's data."""
        self.reserved: dict[str, Usage] = {}
        """What calls to models that are just being put on record may cost, by call id."""
        self.completed: dict[str, ToolOutcome] = {}
        """Calls whose tool has run, and whose wrappers have not returned yet."""
        self.last_turn: int | None = None
        """The iteration after which it pauses: whoever resumed it asked for so many turns. None: it goes on."""
        self.alone = False
        """This process pursues the run: an entry that another one appends is not Done When's."""
        self.failed = False
        """The record itself could not be kept: this process does nothing more with the run."""
        self.leftovers = False
        """Set by recovery: processes of the run had outlived its supervisor, and may have written files."""
        self.streamed: dict[str, str] = {}
        """What was streamed, the latest last: by the id of the call, or by `turn_stream`."""
        self._streaming = ""
        self._line_untold = False
        """Something was streamed since the activity was set."""
        self._stream_told: asyncio.TimerHandle | None = None
        self._evidence_count = state.evidence.count
        self._call_count = state.calls.count
        self._on_change = on_change
        self._changed = asyncio.Event()
        self.record_lost: RecordChanged | RecordGone | None = None
        """What became of the record, whoever met it: the run can't go on."""
        self.lost = asyncio.Event()
        self._borrowers = 0
        self._given_back = asyncio.Event()
        self._given_back.set()
        self._stirred = asyncio.Event()
        """Set with every change, and where it does something else now."""
        self._preemption: Preemption | None = None
        self._used: set[tuple[int, str]] = set()
        """The late answers that turns of this process got, by turn number and subject."""
        self._answers: dict[str, asyncio.Future[Answer]] = {}

    @classmethod
    async def begin(
        cls, parts: Parts, token: str, on_change: Callable[[ActiveRun], None], started: RunStarted
    ) -> ActiveRun:
        """Records a new run."""
        entry = await parts.setup.ledger.append(started.run_id, started, parts.setup.clock.now(), seconds=0.0)
        run = cls(parts, token, on_change, begin(entry))
        parts.setup.observe(started.run_id, entry)
        on_change(run)
        return run

    def limit_turns(self, turns: int | None) -> None:
        """Lets the worker have so many turns from now on, one that was cut off included; None: as many as it needs."""
        redo = self.state.redo
        done = self.state.iteration if redo is None else redo.iteration - 1
        self.last_turn = None if turns is None else done + turns

    @property
    def out_of_turns(self) -> bool:
        """True where the next turn would be one too many."""
        redo = self.state.redo
        coming = self.state.iteration + 1 if redo is None else redo.iteration
        return self.last_turn is not None and coming > self.last_turn

    @cached_property
    def host(self) -> RunHost:
        """What its plugins may use."""
        return RunHost(self)

    @property
    def run_id(self) -> str:
        return self.state.run_id

    async def append(self, event: Event, *, durable: bool = True) -> RunState:
        """Records an event, then applies it to the state. Once begun it ends, even if the caller is cancelled: what is
        on disk is always in the state too."""
        return await asyncio.shield(asyncio.ensure_future(self._append(event, durable)))

    async def append_next(self, event: Event) -> bool:
        """Records an event that follows from the state as it is now, like `append`; False, and nothing is recorded, if
        anything else has come first. The state has that then."""
        return await asyncio.shield(asyncio.ensure_future(self._append_next(event)))

    async def _append_next(self, event: Event) -> bool:
        try:
            await self._append(event, durable=True, after=self.state.sequence)
        except Overtaken:
            await self._read_on()
            return False
        return True

    async def _append(self, event: Event, durable: bool, after: int | None = None) -> RunState:
        now, seconds = self.parts.setup.clock.now(), self.watch.lap()
        try:
            entry = await self.parts.setup.ledger.append(
                self.run_id, event, now, durable=durable, seconds=seconds, after=after, alone=self.alone
            )
        except BaseException as error:
            self.watch.add(seconds)  # they were worked, though this is not on record
            if isinstance(error, RecordChanged):
                self.lose_record(error)
            raise
        return await self._apply_entry(entry)

    async def _apply_entry(self, entry: Entry) -> RunState:
        """The state with this entry, and with those that others had put on record before it: somebody acted on the run
        in the moment in which it was resumed."""
        if entry.sequence == self.state.sequence + 1:
            return self._appended(entry)
        await self._read_on()
        return self.state

    async def _read_on(self) -> None:
        """Brings the state up to the record."""
        for one in await self.parts.setup.ledger.entries(self.run_id, self.state.sequence):
            if one.sequence > self.state.sequence:
                self._appended(one)

    def _appended(self, entry: Entry) -> RunState:
        self.state = fold(self.state, entry)
        if isinstance(entry.event, CallStarted):
            self._asked_at = entry.at
        self.parts.setup.observe(self.run_id, entry)
        self.touch()
        return self.state

    def touch(self) -> None:
        """Wakes whoever waits for a change, and notifies the front ends."""
        self._changed.set()
        self._changed = asyncio.Event()
        self._stirred.set()
        if self._preemption is not None:
            self._preemption.look()
        self._on_change(self)

    def set_activity(self, activity: str | None) -> None:
        """What it is doing now, in one line; not an event."""
        self._line_untold = False
        shown = None if activity is None else self.parts.setup.mask(activity)
        if shown != self.activity:
            self.activity, self._asked_at = shown, None
            self._stirred.set()
            self._on_change(self)

    def streams(self, key: str) -> None:
        """What is streamed from now on belongs to this call, or to this turn as a whole (`turn_stream`)."""
        self._streaming = key
        self.streamed.pop(key, None)
        while len(self.streamed) > MAX_STREAMS:
            self.streamed.pop(next(iter(self.streamed)))

    def stream(self, text: str, *, whole: bool) -> None:
        """What the worker's command prints or its model says, as it comes: bounded, and no event. Its latest line is
        what the worker is doing now."""
        before = "" if whole else self.streamed.get(self._streaming, "")
        # Cut well above the bound, so that a flood of output isn't copied for each of its lines.
        now = before + self.parts.setup.mask(text)
        self.streamed[self._streaming] = keep_ends(now, MAX_STREAMED) if len(now) > 2 * MAX_STREAMED else now
        self._line_untold = True
        if self._stream_told is None:
            self._stream_told = asyncio.get_running_loop().call_later(STREAM_EVERY, self._tell_stream)

    def _tell_stream(self) -> None:
        self._stream_told = None
        before, lines = self.activity, self.streamed.get(self._streaming, "")[-MAX_LINE:].strip().splitlines()
        if self._line_untold and lines:
            self.set_activity(shortened(" ".join(lines[-1].split()), MAX_ACTIVITY))
        if self.activity == before:
            self._on_change(self)

    async def changed(self, since: int, timeout: float | None = None) -> None:
        """Returns once the state is a later one than that of sequence `since`, after `timeout` seconds, or where the
        run has `failed`."""
        deadline = None if timeout is None else asyncio.get_running_loop().time() + timeout
        while self.state.sequence == since and not self.failed:
            left = None if deadline is None else deadline - asyncio.get_running_loop().time()
            try:
                # Not wait_for: before Python 3.12 it loses a cancellation that comes together with the change.
                async with asyncio.timeout(left):
                    await self._changed.wait()
            except TimeoutError:
                return

    async def record(
        self,
        observed: Observation,
        before: str,
        after: str | None = None,
        *,
        turn: int | None = None,
        durable: bool = False,
    ) -> Evidence:
        """Puts on record what was seen from the revision `before` to the revision `after`, the present one if not
        given, and in which turn that began. Its id is given out once, even where checks run side by side."""
        state = self.state
        self._evidence_count = max(self._evidence_count, state.evidence.count) + 1
        begun_in = state.turns_ended if turn is None else turn
        evidence = Evidence(f"E{self._evidence_count}", before, after or state.revision, begun_in, observed)
        await self.append(EvidenceRecorded(evidence), durable=durable)
        return evidence

    def call_id(self) -> str:
        """The next free one for a call to a model."""
        self._call_count = max(self._call_count, self.state.calls.count) + 1
        return f"M{self._call_count}"

    # ------------------------------------------------------------------------------------ workspace

    async def look(self, by: Actor, *, everywhere: bool = False) -> tuple[str, ...]:
        """Looks at the workspace (a full walk with `everywhere`) and records what changed."""
        workspace = self.parts.workspace
        tree = await (workspace.confirm() if everywhere else workspace.current())
        self.walked = self.walked or everywhere
        return await self.record_tree(tree, by)

    async def record_tree(self, tree: TreeState, by: Actor) -> tuple[str, ...]:
        """Records a new revision. A path is the person's where what is on disk is what the editor saved; in doubt it
        is `by`'s."""
        self.touched.update(tree.changed)
        if tree.revision == self.state.revision:
            return ()
        workspace = self.parts.workspace
        persons = tuple(path for path in tree.changed if by == "person" or workspace.is_persons(path))
        others = tuple(path for path in tree.changed if path not in set(persons))
        # Before it is on record: that may end the step which would have read it.
        self.goal_edited |= self.state.goal.path in persons
        if persons:
            await self._record_revision(tree.revision, persons, "person")
        if others or not persons:
            await self._record_revision(tree.revision, others, by)
        return tree.changed

    async def _record_revision(self, revision: str, paths: tuple[str, ...], by: Actor) -> None:
        self.parts.setup.editor_activity.note()
        kept = paths[: MAX_PERSONS_PATHS if by == "person" else MAX_PATHS]
        await self.append(RevisionChanged(revision, kept, by, len(paths)), durable=False)

    # ----------------------------------------------------------------------------------- interrupts

    async def ask(self, interrupt: Interrupt) -> Answer:
        """Opens an interrupt and waits for a person's answer, however long. One that came after the turn which
        asked was cut off is taken; one that is open still, since the turn goes on from there, is not asked twice."""
        opened = self.numbered(interrupt)
        late = self.state.steering.late_answers.get(opened.subject)
        once = (self.state.turns_ended, opened.subject)
        if late is not None and once not in self._used:
            self._used.add(once)
            return late
        asked = next((one for one in self.state.interrupts if one.subject == opened.subject), None)
        again = asked is not None and asked.id not in self._answers
        number = asked.id if asked is not None and again else opened.id
        future: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        self._answers[number] = future
        try:
            if not again:
                await self.append(InterruptOpened(opened))
            answer = await future
            self._used.add(once)
            return answer
        finally:
            self._answers.pop(number, None)

    def numbered(self, interrupt: Interrupt) -> Interrupt:
        """The interrupt with the next free id and the time."""
        number, mask = self.state.asking.count + 1, self.parts.setup.mask
        return replace(
            interrupt,
            id=f"I{number}",
            title=mask(interrupt.title),
            input=masked_input(interrupt.input, mask),
            preview=mask(interrupt.preview),
            asked_at=self.parts.setup.clock.now(),
        )

    def deliver(self, interrupt_id: str, answer: Answer) -> None:
        """Delivers a recorded answer to whoever waits for it."""
        future = self._answers.get(interrupt_id)
        if future is not None and not future.done():
            future.set_result(answer)

    # ---------------------------------------------------------------------------------- preemption

    async def unless_preempted(self, step: Coroutine[Any, Any, T]) -> T | None:
        """Does a step unless a stop, a pause or the time limit comes first: then the step is cancelled, and has ended
        with all its processes when this returns None."""
        task = asyncio.ensure_future(step)
        self._preemption = preemption = Preemption(lambda: self.state, self.watch.look)
        try:
            await asyncio.wait({task, preemption.came}, return_when=asyncio.FIRST_COMPLETED)
            return result_of(task) if task.done() else None
        finally:
            self._preemption = None
            preemption.close()
            await cancel_all(task)
            if not task.cancelled():
                task.exception()  # nobody waits for the error of a step that fails while it is being cut off

    @property
    def live(self) -> Live:
        """What it is doing now, how long a model has said nothing meanwhile, and since when."""
        now = self.parts.setup.clock.now()
        retrying, activity, silent = self.state.calls.retrying, self.activity, 0
        if retrying is not None:
            activity = retrying.text(now)
        elif activity is not None and self._asked_at is not None and self.state.calls.open:
            silent = max(0, int(now - self._asked_at))
            activity = f"{activity}, {silent} s" if silent else activity
        return Live(activity, now, self.state.elapsed_after(self.watch.look()), silent)

    async def heartbeat(self) -> None:
        """Keeps the time, and leaves a sign of life and the activity for followers in other processes, until it is
        cancelled. A count-down, or how long a model says nothing, is told to the front ends as it goes on. Raises
        RecordGone."""
        told: str | None = None
        while True:
            live, activity = self.live, self.activity
            if live.activity not in (activity, told):
                told = live.activity
                self._on_change(self)
            # If it can't be written, the next append fails with the reason and ends the run; a record that is gone
            # doesn't come back.
            try:
                await self.parts.setup.ledger.set_live(self.run_id, live)
            except RecordGone:
                raise
            except LedgerError:
                pass
            if self.state.time_counts:
                for _ in range(10):
                    await asyncio.sleep(SIGN_OF_LIFE / 20)
                    self.watch.look()
                    if self._preemption is not None:
                        self._preemption.look()
                    if self.activity != activity:
                        break
            else:
                # While a person is awaited there is no time to keep, and whatever changes is the person's: until then
                # nothing wakes.
                while not self.state.time_counts and self.activity == activity:
                    self._stirred.clear()
                    await self._stirred.wait()

    @contextlib.contextmanager
    def lent_workspace(self) -> Generator[Workspace]:
        """The workspace for somebody who looks at its files: it stays open meanwhile, though the run may end."""
        self._borrowers += 1
        self._given_back.clear()
        try:
            yield self.parts.workspace
        finally:
            self._borrowers -= 1
            if not self._borrowers:
                self._given_back.set()

    async def close_workspace(self) -> None:
        """Once nobody looks at its files any more, or after some seconds."""
        try:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(LENT_FOR):
                    await self._given_back.wait()
        finally:
            await self.parts.workspace.close()

    def lose_record(self, error: RecordChanged | RecordGone) -> None:
        """Ends the run, whatever it waits for."""
        self.record_lost = error
        self.lost.set()

    async def crash(self, error: RecordChanged) -> None:
        """What is on record of the run was changed by something else: the run ends there, for whoever reads it later
        too. An entry that was added shows by nothing else that it isn't Done When's."""
        now, ended = self.parts.setup.clock.now(), RunEnded("crashed", error.why, broken=True)
        with contextlib.suppress(DoneWhenError):
            await self.parts.setup.ledger.append(self.run_id, ended, now, seconds=0.0)
        self.state = fold(self.state, Entry(self.state.sequence + 1, now, ended, 0.0))
        self.touch()

    def fail(self, reason: str, *, crashed: bool = False) -> None:
        """The record itself can't be kept: the run stops here, and shows as interrupted, or as `crashed`. What is on
        disk stays."""
        why: dict[str, Any] = {"ended": True, "end_status": "crashed"} if crashed else {"interrupted": reason}
        # Not by what `fold` uses: that may be what fails.
        self.state = dataclasses.replace(
            self.state,
            lifecycle=dataclasses.replace(self.state.lifecycle, reason=reason, **why),
            worker_turn=self.state.redo,
            auditing=dataclasses.replace(self.state.auditing, open=None),
        )
        self.failed = True
        self.touch()


def masked_input(value: Any, mask: Callable[[str], str]) -> Any:
    """A tool's input without its secrets."""
    if isinstance(value, str):
        return mask(value)
    if isinstance(value, Mapping):
        return {key: masked_input(one, mask) for key, one in cast("Mapping[str, Any]", value).items()}
    if isinstance(value, list | tuple):
        return [masked_input(one, mask) for one in cast("list[Any]", value)]
    return value


# The seconds in which this process worked on a run, whatever happens to its clocks.


GAP = 2.0
"""The most seconds that count between two looks: in a longer gap the process, or the whole machine, was suspended."""


class Stopwatch:
    """Adds up the steps of the monotonic clock from one look to the next. It has to be looked at more often than every
    GAP seconds. A step that is longer, or backward, is a machine that was suspended, a process that was stopped or a
    clock that was moved: of that no more than GAP counts. So it makes no difference that some systems' monotonic clocks
    go on while the machine is suspended (Windows) and others' don't (Linux, macOS)."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._last = clock.monotonic()
        self._seconds = 0.0

    def look(self) -> float:
        """The seconds since the last lap."""
        now = self._clock.monotonic()
        self._seconds += min(max(0.0, now - self._last), GAP)
        self._last = now
        return self._seconds

    def lap(self) -> float:
        """The seconds since the last lap, which ends here."""
        seconds = self.look()
        self._seconds = 0.0
        return seconds

    def add(self, seconds: float) -> None:
        """Counts seconds of an earlier lap to this one."""
        self._seconds += seconds


# What the plugins of one run may use (`ports.PluginHost`).


class RunHost:
    """Implements `ports.PluginHost` on one run."""

    def __init__(self, run: ActiveRun) -> None:
        self._run = run

    @property
    def run_id(self) -> str:
        return self._run.run_id

    @property
    def goal(self) -> Goal:
        return self._run.state.goal

    @property
    def options(self) -> RunOptions:
        return self._run.state.options

    @property
    def off(self) -> frozenset[str]:
        return frozenset(self._run.state.plugins.off)

    @property
    def root(self) -> str:
        return str(self._run.parts.workspace.root)

    def activity(self, line: str) -> None:
        self._run.set_activity(line)

    def state_of(self, plugin: str) -> PluginState | None:
        return self._run.state.plugins.states.get(plugin)

    async def keep_state(self, plugin: str, state: PluginState | None) -> None:
        if state is not None:
            json.dumps(state.value, allow_nan=False)
        if self.state_of(plugin) != state:
            await self._run.append(PluginStateSet(plugin, state))

    async def ask(self, interrupt: Interrupt) -> Answer:
        return await self._run.ask(interrupt)

    async def switch_off(self, plugin: str, hook: str, reason: str, *, essential: bool = False) -> None:
        said = self._run.parts.setup.mask(reason)
        if plugin not in self.off:
            await self._run.append(PluginOff(plugin, hook, said))
        if essential and self._run.state.lifecycle.pause_requested is None:
            pause = f"the plugin {plugin}, which this run can't continue without, failed in {hook}: {said}"
            await self._run.append(Requested("pause", pause))
