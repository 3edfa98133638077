"""The workspace folder, and the processes that run in it. See `donewhen.ports`."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NotRequired, Protocol, TypedDict

from donewhen.core.evidence import Problem


@dataclass(frozen=True, slots=True)
class TreeState:
    """The workspace's content at one moment: its revision, and the paths that differ from the previous TreeState."""

    revision: str
    changed: tuple[str, ...] = ()


class KeptTrees(Protocol):
    """The trees that the runs of a workspace kept. Other processes may keep, and read, trees meanwhile."""

    async def prune(self, needed: Collection[str]) -> None:
        """Removes what neither these trees hold nor any that was kept lately. Raises WorkspaceError; then nothing is
        removed, and it goes the next time."""
        ...


class Workspace(Protocol):
    """The folder that a run works on: its revision, its files, its checkpoints."""

    @property
    def root(self) -> Path: ...

    @property
    def notices(self) -> Sequence[tuple[str, str]]:
        """What a person should know of this folder, as (code, message): changes are noticed late, files too large to
        be kept."""
        ...

    async def open(self, named: Sequence[str], frozen: str | None = None) -> TreeState:
        """Freezes the ignore rules, reads everything, starts watching. `named` are globs of files that count even
        where they are ignored. Under the name `frozen` the rules are kept: opening under it again takes those."""
        ...

    async def name(self, named: Sequence[str]) -> None:
        """Replaces the globs of named files: the goal was amended."""
        ...

    async def current(self) -> TreeState:
        """The state as far as watching tells: cheap. Re-reads what a watcher reported and what looks changed there."""
        ...

    async def confirm(self) -> TreeState:
        """The state after a full stat walk: for the moments that decide (after a turn, before `complete`)."""
        ...

    async def settled(self) -> TreeState:
        """Waits until the content changed since the last TreeState and then stayed quiet for a moment."""
        ...

    async def moved(self) -> TreeState:
        """As `settled`, without waiting for quiet."""
        ...

    async def remember(self, name: str) -> None:
        """Keeps, beyond this process, what the last TreeState was made of: the rules, the named files, the declared
        outputs, each file's identity. Raises OSError."""
        ...

    async def recall(self, name: str, revision: str, named: Sequence[str], frozen: str) -> TreeState:
        """Opens with what was remembered under that name at that revision; `changed` are the paths that count
        otherwise since. Where nothing of it was kept, opens with `named` and the rules under `frozen`, if they were
        kept, and writes nothing."""
        ...

    def departed(self) -> Sequence[str] | None:
        """The paths that count otherwise than in what was remembered or recalled last, as of the last TreeState; None
        where that isn't known."""
        ...

    def files(self, globs: Sequence[str] | None = None) -> Sequence[str]:
        """The paths that the revision covers (and that match), sorted."""
        ...

    def digest(self, path: str) -> str | None:
        """sha256 of a covered file's bytes as of the last TreeState; None if it is absent or not covered."""
        ...

    def read(self, path: str) -> bytes | None:
        """A file's bytes as they are now; None if there is none or it can't be read. Blocks: for a thread."""
        ...

    def volatile(self, check_id: str, paths: Sequence[str]) -> Sequence[str]:
        """Declares that a check, running alone, wrote these paths and will write others each time: while their
        content is what it last wrote, they count as its output. Returns the paths that may not be (tracked by git,
        named, source or configuration): those keep counting by content."""
        ...

    async def checkpoint(self) -> str:
        """Keeps the tree outside the workspace and returns its id."""
        ...

    async def restore(
        self, checkpoint: str, paths: Sequence[str] | None = None, keep: Sequence[str] = ()
    ) -> Sequence[str]:
        """Puts files back as they were (all, or `paths`), but for `keep`. Returns the paths that it changed."""
        ...

    async def changed_between(self, before: str, after: str | None, *, revision: str | None = None) -> Sequence[str]:
        """Paths that differ between two checkpoints, or between one and the current tree. Raises OtherRevision if
        that tree is not of `revision`."""
        ...

    async def file_at(self, checkpoint: str, path: str) -> bytes | None: ...

    async def commit(self) -> str | None:
        """The id of the commit in which every covered file is as it is now; None if the folder is in no repository, or
        differs from what was committed last. Raises WorkspaceError."""
        ...

    async def lay(self, checkpoint: str, paths: Sequence[str], target: Path) -> Sequence[str]:
        """Writes files as a checkpoint has them into another folder; returns those that it has not. Raises
        WorkspaceError where one was not captured, or can't be written."""
        ...

    async def diff(self, before: str, after: str | None, limit: int = 60_000, *, revision: str | None = None) -> str:
        """A unified diff, bounded, its cut marked. Of the current tree it raises OtherRevision where that is not of
        `revision`, and where a file changes while it is read."""
        ...

    def saved_by_client(self, path: str, text: str) -> None:
        """The editor saved this text: content that equals it is the person's (product.md, "Who did it")."""
        ...

    def is_persons(self, path: str) -> bool:
        """True if what is on disk equals what the client last saved for that file."""
        ...

    def changed_after(self, at: float, paths: Sequence[str]) -> Sequence[str]:
        """Those of `paths` whose content changed on disk after the epoch time `at`."""
        ...

    async def close(self) -> None: ...


@dataclass(frozen=True, slots=True)
class ProcessResult:
    """How a process ended. `output` is stdout and stderr together, bounded: head and tail kept, the cut marked.

    `exit_code` is None if it was ended by `signal`, timed out, or never started (`spawn_error` says why).
    `output_digest` is sha256 of all of the output, `output_bytes` its size. `limit` says for which limit of the room
    that it ran in it was ended.
    """

    exit_code: int | None
    output: str
    output_bytes: int
    output_digest: str
    seconds: float
    started_at: float
    signal: int | None = None
    timed_out: bool = False
    spawn_error: str | None = None
    limit: str = ""


class Dialogue(Protocol):
    """Whoever talks with a process while it runs, in the place of its standard input and output."""

    def began(self, send: Callable[[bytes], None]) -> None:
        """The process has started. `send` queues bytes for its input, and does nothing once that is closed."""
        ...

    def heard(self, data: bytes) -> None:
        """What it wrote to its output, in pieces as they come."""
        ...

    def ended(self) -> None:
        """Nothing more will be heard. May be called again."""
        ...


class ProcessOptions(TypedDict):
    """What `Processes.run` takes by name, as one value: for what hands a command on to another `Processes`."""

    cwd: Path
    environment: Mapping[str, str]
    token: str
    timeout: NotRequired[float | None]
    stdin: NotRequired[bytes | None]
    on_line: NotRequired[Callable[[str], None] | None]
    output_limit: NotRequired[int]
    dialogue: NotRequired[Dialogue | None]


class Processes(Protocol):
    """Starts every process of the project (only `workspace/` does) and ends every one of its children.

    Each runs in a process group of its own, in the folder `cwd`, without a terminal; its environment carries
    DONEWHEN_RUN_TOKEN=`token`. When it ends, times out or is cancelled, whatever it left behind is ended too, daemons
    included (found by the token), within 2 s.
    """

    async def run(
        self,
        command: str | Sequence[str],
        *,
        cwd: Path,
        environment: Mapping[str, str],
        token: str,
        timeout: float | None = None,
        stdin: bytes | None = None,
        on_line: Callable[[str], None] | None = None,
        output_limit: int = 262_144,
        dialogue: Dialogue | None = None,
    ) -> ProcessResult:
        """Text is run by the platform's shell, a sequence as it is. No `stdin`: the null device. With a `dialogue`,
        input and output are its own, and the result's output is what came on stderr."""
        ...


# What a client's editor shows. See `donewhen.ports`.


@dataclass(frozen=True, slots=True)
class EditorView:
    """One workspace folder as the editor shows it now; paths are relative to it, with forward slashes.

    `problems` has every file that the editor's tools ever said something about, `opened` those that are open. Of them
    `unsaved` hold text that isn't on the disk, and `outdated` were last reported on at an older text.
    """

    problems: Mapping[str, Sequence[Problem]]
    opened: Collection[str] = ()
    unsaved: Collection[str] = ()
    outdated: Collection[str] = ()
