"""The ledger, and who may supervise a run. See `donewhen.ports`."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol

from donewhen.core.events import Entry, Event
from donewhen.core.evidence import Evidence
from donewhen.core.people import Person, Seen

if TYPE_CHECKING:
    from donewhen.core.acts import Act, ActReply, AskedAct


class Clock(Protocol):
    """The time of day, for people, and the passing of time, for limits; tests bring their own."""

    def now(self) -> float:
        """Epoch seconds. They may jump either way: nothing is decided by their difference."""
        ...

    def monotonic(self) -> float:
        """Seconds from some moment on, which setting the time doesn't change."""
        ...


@dataclass(frozen=True, slots=True)
class RunSummary:
    """One line of `donewhen list`. `status` is None for a bare audit that ended. `unreadable` says why the run can't
    be read, and what to do, where somebody asked for that."""

    run_id: str
    mode: Literal["pursue", "audit"]
    title: str
    goal_path: str | None
    status: str | None
    started_at: float
    updated_at: float
    unreadable: str | None = None


@dataclass(frozen=True, slots=True)
class Trouble:
    """What is wrong with a run on record, and what to do: it can't be read, or it ends `crashed` where something other
    than Done When changed it."""

    status: Literal["unreadable", "crashed"]
    why: str


@dataclass(frozen=True, slots=True)
class Live:
    """Stream chatter of a run that is not an event: what it does now, and the last sign of life of its supervisor: when
    (epoch seconds), and the run's seconds of work by then. `silent`: the seconds that a model which was asked has said
    nothing, which `activity` ends with; 0 in the first."""

    activity: str | None = None
    alive_at: float = 0.0
    elapsed: float = 0.0
    silent: int = 0


class Ledger(Protocol):
    """The durable, append-only record of the runs of one workspace folder.

    `append` returns when the event is on disk (FULL sync), so that an intent precedes its effect. All methods may
    be called from the event loop: none holds it for more than a few milliseconds. Raises LedgerTooNew and
    LedgerUnavailable.
    """

    async def append(
        self,
        run_id: str,
        event: Event,
        at: float,
        *,
        durable: bool = True,
        seconds: float | None = None,
        after: int | None = None,
        alone: bool = False,
    ) -> Entry:
        """Appends with the next sequence of that run; `at` and `seconds` are those of its `Entry`. `durable=False`
        (NORMAL sync) is for results: it outlives this process, and is on disk with the next durable append at the
        latest. With `after`, a sequence, nothing is appended unless that is the run's last: raises Overtaken, whichever
        connection wrote meanwhile. Raises RecordChanged if what is on record of the run is not as it was written, or,
        where this connection writes the run `alone`, if it isn't all there is since its last append: nothing goes on
        from there but a RunEnded that is `broken`, which says so."""
        ...

    async def entries(self, run_id: str, after: int = 0) -> Sequence[Entry]:
        """All entries of a run with a sequence greater than `after`, in order; empty for an unknown run. From the first
        on that is not as it was written, or that is missing, none counts: in its place stands a RunEnded that is
        `broken`. Raises UnreadableRun if that is the first of all, or where one is of a newer version."""
        ...

    async def runs(self) -> Sequence[RunSummary]:
        """All runs, newest first."""
        ...

    async def evidence(self, run_id: str, evidence_id: str) -> Evidence | None: ...

    async def trouble(self, run_id: str) -> Trouble | None:
        """What is wrong with a run that is on the list; None if it is as it was written, and can be read, or if it was
        removed since it was listed."""
        ...

    async def keep(self, run_id: str, on: bool) -> None:
        """Keeps a run until that is taken back: `remove` leaves it alone. Raises UnknownRun."""
        ...

    async def kept(self) -> frozenset[str]:
        """The runs that a person keeps."""
        ...

    async def entry_counts(self) -> Mapping[str, int]:
        """How many entries each run on the list has."""
        ...

    async def trees(self, run_id: str) -> frozenset[str]:
        """The checkpoints that the entries of a run name."""
        ...

    async def remove(self, run_id: str, updated_at: float) -> bool:
        """Removes all that is on record of a run, or, in case of an error, nothing. False, and nothing is removed, if
        the run is not on the list, is kept, or went on after `updated_at`. What is appended to it later by whoever has
        read it raises UnknownRun."""
        ...

    async def compact(self) -> None:
        """Gives the room of what was removed back to the disk. May take as long as copying what is left."""
        ...

    async def set_live(self, run_id: str, live: Live) -> None: ...

    async def live(self, run_id: str) -> Live: ...

    def changes(self, poll: float = 0.1) -> AsyncIterator[None]:
        """Yields whenever another connection may have written, at most once per `poll` seconds."""
        ...

    async def close(self) -> None: ...


@dataclass(frozen=True, slots=True)
class Owner:
    """The process that supervises a run: alive if a process of this pid and start time is."""

    run_id: str
    pid: int
    started: float
    token: str
    door: str = ""
    """Where other processes reach it; empty if they can't."""


class RunLock(Protocol):
    """Who may supervise a run in this workspace folder."""

    def acquire(self, run_id: str, token: str) -> None:
        """Becomes the owner, or raises AlreadyRunning or HeldElsewhere, which name the holder. Returns at once."""
        ...

    def release(self) -> None: ...

    def owner(self) -> Owner | None:
        """The live owner, if there is one; None if it died or there never was one."""
        ...

    def last_owner(self) -> Owner | None:
        """The last owner on record, dead or alive."""
        ...

    async def until_gone(self, owner: Owner) -> None:
        """Returns once that owner's process has ended, at once if it has already. What it lets go of while it lives
        is not heard of here: the ledger says that."""
        ...

    def inherited_descriptors(self) -> tuple[int, ...]:
        """File descriptors that every child of a run inherits (POSIX), so that a restart can't race orphans."""
        ...

    async def end_leftovers(self, token: str) -> int:
        """Ends the processes that carry this run's token, and no others; returns how many there were. Raises
        HeldElsewhere if some stay."""
        ...


# Who acts on a run, and how an act reaches the process that pursues it. See `donewhen.ports`.


TakeAct = Callable[
    ["AskedAct", Callable[[], Awaitable[Seen | None]], Callable[[], Awaitable[bool]]], Awaitable["ActReply | None"]
]
"""How the process that pursues runs takes an act that another one asks for: `take(asked, look, agreed)` gives what
came of it; None if it was not taken: then whoever asked may do it. `look` examines the process that asks; None: nothing
is known of it. Nothing is done before `agreed` returns True: whoever asked hears that the act is taken, and still
waits."""


class People(Protocol):
    """Who acts on a run, from where: this process, and those whose acts it takes."""

    def me(self) -> Person:
        """Who acts through this process."""
        ...

    def inside(self, run_id: str) -> bool:
        """Whether this process was started by that run: by its worker or by one of its checks."""
        ...

    async def ask(self, owner: Owner, act: Act) -> ActReply | None:
        """Has another process act on the run that it pursues, and waits for what comes of it. None if it didn't take
        the act: it may have let the run go. Raises ActRefused where it can't be reached, PersonNeeded where it took the
        act and its reply was lost."""
        ...

    async def listen(self, run_id: str, take: TakeAct) -> None:
        """Takes the acts of other processes on that run from now on, until this process lets go of its lock."""
        ...

    async def replied(self) -> None:
        """Returns once those whose acts were taken have their replies, or after some seconds."""
        ...


# Tracing of runs, for whoever watches them with tools of their own. See `donewhen.ports`.


class Tracer(Protocol):
    """Tells a tracing backend what happens in runs. Nothing that it does can fail a run, or hold it up."""

    @property
    def state(self) -> str:
        """Whether runs are traced, and where to, in one line for people."""
        ...

    def on_entry(self, run_id: str, entry: Entry) -> None:
        """Takes in an entry that was just put on record. In the order of the record, within a run."""
        ...

    def close(self, timeout: float = 1.5) -> None:
        """Ends what is open and hands over what is left, within `timeout` seconds. Blocks: for a thread, or for the
        end of a process."""
        ...


class NoTracer:
    """`Tracer` that traces nothing; `state` says why."""

    def __init__(self, state: str = "off") -> None:
        self.state = state

    def on_entry(self, run_id: str, entry: Entry) -> None:
        return

    def close(self, timeout: float = 1.5) -> None:
        return
