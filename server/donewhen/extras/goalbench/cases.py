"""The cases: YAML files in, values out, errors that name the file and the line."""

from __future__ import annotations

import difflib
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar, get_args

from pydantic import AfterValidator, BeforeValidator, Field

from donewhen.core.errors import InvalidGoal, UsageError
from donewhen.regular import read_text
from donewhen.yaml_shapes import Count, Items, Number, Shape, read

DecidedBy = Literal["check", "integrity", "judge"]
JudgeName = Literal[
    "honest", "gullible", "hostile", "garbage", "contradictory", "incomplete", "overtaken", "slow", "recovering",
    "down", "none",
]  # fmt: skip
JUDGE_NAMES: tuple[JudgeName, ...] = get_args(JudgeName)
SHARED = "workspaces.yaml"
T = TypeVar("T")


class Content(Shape):
    """What a file of a workspace holds: a text, or a symbolic link to `link`."""

    text: str = ""
    executable: bool = False
    link: str = ""


def _text_alone(value: object) -> object:
    return {"text": value} if isinstance(value, str) else value


def _path_in_workspace(path: str) -> str:
    if os.path.isabs(path) or ".." in Path(path).parts:  # noqa: PTH117  # a text, not a path of this system
        raise ValueError(f"{path} is outside of the workspace")
    return path


Files = dict[Annotated[str, AfterValidator(_path_in_workspace)], Annotated[Content, BeforeValidator(_text_alone)]]
"""The files of a workspace, by path."""


class Clue(Shape):
    """What shows the honest judge that a requirement is fulfilled: a file that holds a text (`has`), or holds it no
    more (`lacks`)."""

    file: str
    has: str = ""
    lacks: str = ""

    def is_found_in(self, root: Path) -> bool:
        """Whether it is so in the workspace now."""
        try:
            text = (root / self.file).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError):
            return False
        return self.has in text and not (self.lacks and self.lacks in text)


class Expected(Shape):
    """How the run ends with the case's own judge. `run` is a run status; `findings` are integrity kinds that are open
    then, at least these; `requirements` are statuses by label (`R1`)."""

    run: str
    requirements: dict[str, str] = Field(default_factory=dict[str, str])
    findings: Items[str] = ()


class CaseOptions(Shape):
    """How the run is started, and what a person answers to every question (None: nobody is there). Times in seconds.

    Without `max_iterations` there is one for each turn of the worker. The slow judge takes `judge_delay`; while the
    overtaken one thinks, somebody empties the file `judge_empties`.
    """

    max_iterations: Count | None = None
    timeout: Number | None = None
    token_budget: Count | None = None
    approve: Literal["auto", "deny"] = "auto"
    answer: Literal["approve", "deny"] | None = None
    judge_delay: Number = 0.0
    judge_empties: str = ""


def _says_something(truth: dict[str, bool]) -> dict[str, bool]:
    if not truth:
        raise ValueError("say of each requirement whether it is true")
    return truth


class Case(Shape):
    """One run with a known truth. `truth` says by label whether a requirement is really fulfilled at the end.

    `claim` says whether the worker's claim that it is blocked, or that the goal is impossible, is true.
    `decided_by` is what keeps the run from a wrong end: a bound check, an integrity rule, or the judge alone. `known`
    is the reason why it comes out wrong for now; `needs` are modules or programs that its commands use.
    """

    id: str
    group: str = ""
    """The file's, where a case names none."""
    about: str = ""
    base: str = ""
    """The workspace over whose files `files` are laid."""
    files: Files = Field(default_factory=dict)
    setup: Items[str] = ()
    goal: str
    worker: list[Any]
    judge: JudgeName = "gullible"
    decided_by: DecidedBy
    truth: Annotated[dict[str, bool], AfterValidator(_says_something)]
    oracle: dict[str, Clue] = Field(default_factory=dict[str, Clue])
    claim: bool = False
    expect: Expected
    options: CaseOptions = CaseOptions()
    known: str = ""
    needs: Items[str] = ()
    slow: bool = False

    @property
    def max_iterations(self) -> int:
        limit = self.options.max_iterations
        return max(1, len(self.worker)) if limit is None else limit

    @property
    def honest(self) -> bool:
        """Everything is really fulfilled at the end: anything but `complete` is a refusal."""
        return all(self.truth.values())


class _File(Shape):
    group: str
    workspaces: dict[str, Files] = Field(default_factory=dict[str, Files])
    cases: Items[Case]


def cases_folder() -> Path:
    """Where the cases lie: beside this package once installed, in the tests of a checkout."""
    installed = Path(__file__).parent / "cases"
    return installed if installed.is_dir() else Path(__file__).parents[4] / "tests" / "goalbench" / "cases"


def load_cases(folder: Path | None = None) -> tuple[Case, ...]:
    """All cases, in the order of the files' names. Raises InvalidGoal with the file and the case of a mistake."""
    folder = folder or cases_folder()
    files = sorted(path for path in folder.glob("*.yaml") if path.name != SHARED)
    if not files:
        raise InvalidGoal(f"there are no cases in {folder}: install donewhen again, or run it from a whole checkout")
    shared = _read_yaml(dict[str, Files], folder / SHARED) if (folder / SHARED).is_file() else {}
    cases = tuple(case for file in files for case in _cases(file, shared))
    twice = sorted({case.id for case in cases if sum(other.id == case.id for other in cases) > 1})
    if twice:
        raise InvalidGoal(f"several cases are called {', '.join(twice)}: give each an id of its own")
    return cases


def chosen(cases: Sequence[Case], ids: Sequence[str]) -> tuple[Case, ...]:
    """The cases of these ids or groups, all without any. Raises UsageError for an id that isn't there."""
    if not ids:
        return tuple(cases)
    known = {case.id for case in cases} | {case.group for case in cases}
    unknown = [name for name in ids if name not in known]
    if unknown:
        near = difflib.get_close_matches(unknown[0], sorted(known), n=1)
        hint = f"did you mean {near[0]!r}? " if near else ""
        raise UsageError(f"there is no case {unknown[0]!r}: {hint}`donewhen bench --list` shows them")
    return tuple(case for case in cases if case.id in ids or case.group in ids)


def _read_yaml(shape: type[T], path: Path) -> T:
    try:
        text = read_text(path)
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidGoal(f"{path.name} can't be read: {error}") from error
    return read(shape, text, path.name)


def _cases(path: Path, shared: Mapping[str, Files]) -> Iterator[Case]:
    document = _read_yaml(_File, path)
    bases = {"": {}, **shared, **document.workspaces}
    for case in document.cases:
        if case.base not in bases:
            known = ", ".join(sorted(filter(None, bases)))
            raise InvalidGoal(
                f"{path.name}: {case.id}: there is no workspace {case.base!r} to be its `base`; known are {known}"
            )
        files = {**bases[case.base], **case.files}
        yield case.model_copy(update={"group": case.group or document.group, "files": files})
