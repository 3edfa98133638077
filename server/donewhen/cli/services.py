"""What the command line needs and may not import: the composition root hands it in."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Protocol

from donewhen.config import Settings

if TYPE_CHECKING:  # the engine's records cost start-up time, which `serve` must not pay
    from donewhen.core.survey import Survey
    from donewhen.core.work import Usage
    from donewhen.engine.api import Runs
    from donewhen.goalbench.playing import Laboratory


@dataclass(frozen=True, slots=True)
class ServeOptions:
    """How the language server listens: on loopback where `tcp` is a port, else on standard input and output."""

    tcp: int | None = None
    state_dir: Path | None = None
    client_process_id: int | None = None


@dataclass(frozen=True, slots=True)
class GoalProblem:
    """A problem of a goal file; `line` is 0-based."""

    line: int
    severity: Literal["error", "warning", "information"]
    message: str


class GoalHint(Protocol):
    """What could be better about a requirement of a goal, or about the goal where it names none."""

    @property
    def requirement_id(self) -> str | None: ...

    @property
    def number(self) -> int | None: ...

    @property
    def message(self) -> str: ...


class Adviser(Protocol):
    """A model that helps with writing a goal: whatever it says is a proposal, and starts nothing. Everything raises
    DoneWhenError where the model can't be asked."""

    @property
    def model(self) -> str: ...

    @property
    def spent(self) -> Usage | None:
        """What its calls took so far, for the person who waited; None where none was made."""
        ...

    async def propose(self, objective: str, checks: Sequence[str]) -> Sequence[str]:
        """Requirements for an objective, besides the checks that are there."""
        ...

    async def hints(self, text: str) -> Sequence[GoalHint]:
        """What is vague about a goal file, or can't be judged."""
        ...


class DemoProject(Protocol):
    """A copy of the sample that `donewhen demo` works on: its folder, its goal file, what its worker plays."""

    @property
    def workspace(self) -> Path: ...

    @property
    def goal(self) -> Path: ...

    @property
    def script(self) -> Path: ...


@dataclass(frozen=True, slots=True)
class CheckProgram:
    """The program that a check's command resolves to where checks run; None where it is not installed."""

    command: str
    program: str | None


@dataclass(frozen=True, slots=True)
class ConfiguredModel:
    """A model that is configured. `served` is its API base, None: its provider. `price` is a text, None where unknown;
    `key` the variable that holds its key, None where none of `wanted` is set; `window` is in tokens."""

    role: Literal["worker", "judge"]
    model: str
    served: str | None = None
    window: int | None = None
    price: str | None = None
    key: str | None = None
    wanted: tuple[str, ...] = ()
    needs_key: bool = True


@dataclass(frozen=True, slots=True)
class ModelsFacts:
    """What there is of models: litellm's version (None: not installed), whether that version works here, what is
    configured, and the variables with keys that are set, by name."""

    installed: str | None = None
    usable: bool = False
    configured: tuple[ConfiguredModel, ...] = ()
    keys: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PluginFacts:
    """A plugin as runs here would have it. `source` says where it comes from, `provides` the points that it has to do
    with; `problem` why it can't be used, and `how` what to do about it."""

    name: str
    source: str = ""
    provides: tuple[str, ...] = ()
    problem: str = ""
    how: str = ""


@dataclass(frozen=True, slots=True)
class DoctorFacts:
    """What checks run in here. `interpreter` is the Python that comes first on `path`, and `why` says why it;
    `goals` are the goal files of the workspace folder itself, whose checks are looked at."""

    interpreter: str | None = None
    why: str = ""
    path: tuple[str, ...] = ()
    checks: tuple[CheckProgram, ...] = ()
    watcher: str = ""
    watcher_hindrance: str = ""
    state_folder: str = ""
    problems: tuple[str, ...] = ()
    goals: tuple[str, ...] = ()
    goals_elsewhere: int = 0
    models: ModelsFacts = ModelsFacts()
    plugins: tuple[PluginFacts, ...] = ()
    """In the order in which they are called."""
    rooms: str = ""
    """How rooms are made here, empty where that isn't known; `rooms_hindrance` says why not as overlays."""
    rooms_hindrance: str = ""
    rooms_owners: str = ""
    """What in the workspace can't be changed in a room, since somebody else owns it."""
    contains: str | None = None
    """Why commands can't be contained in rooms here; empty where they can, None where that isn't known."""


class OpenRuns(Protocol):
    async def __call__(
        self, root: Path, state_dir: Path | None, settings: Settings, interpreter: Path | None = None
    ) -> Runs: ...


@dataclass(frozen=True, slots=True)
class CliServices:
    """What the commands call. All folders are absolute.

    `open_runs(root, state_dir, settings)` opens the runs of a workspace folder; their `close` ends it. Checks run with
    the Python of an `interpreter` that is given, whatever PATH says.
    `survey(root, settings, tries)` finds the checks of a folder, and with `tries` runs those of a draft once.
    `draft(root, objective, survey, proposed, model, judged)` is the text of a new goal file, with the requirements that
    a model proposed, and for a judge where one is configured; `draft_path(root, objective)` is where it goes.
    `demo_project(folder)` puts the sample into an empty folder.
    `goal_hints(path)` are the hints that need no model, `open_adviser(root, settings)` is the model that gives others:
    None where none is configured.
    `undecided(path)` are the labels of the requirements that no check and no editor decides.
    `laboratory(settings)` is what GoalBench is played with; where the settings name a judge's model, it judges.
    `has_record(root, state_dir)` tells of a workspace folder, be it gone itself, whether runs of it are on record.
    """

    open_runs: OpenRuns
    serve: Callable[[ServeOptions], int]
    survey: Callable[[Path, Settings, bool], Awaitable[Survey]]
    draft: Callable[[Path, str, Survey, Sequence[str], str | None, bool], str]
    draft_path: Callable[[Path, str], Path]
    demo_project: Callable[[Path], DemoProject]
    doctor_facts: Callable[[Path, Settings], DoctorFacts]
    goal_problems: Callable[[Path], Sequence[GoalProblem]]
    has_record: Callable[[Path, Path | None], bool]
    laboratory: Callable[[Settings], AbstractAsyncContextManager[Laboratory]]
    goal_hints: Callable[[Path], Sequence[GoalHint]]
    undecided: Callable[[Path], Sequence[str]]
    open_adviser: Callable[[Path, Settings], AbstractAsyncContextManager[Adviser | None]]
