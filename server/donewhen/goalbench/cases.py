"""The cases: YAML files in, values out, errors that name the file and the case."""

from __future__ import annotations

import difflib
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, cast, get_args

from donewhen.core.errors import InvalidGoal, UsageError
from donewhen.goalbench.fields import Fields, load_yaml

DecidedBy = Literal["check", "integrity", "judge"]
JudgeName = Literal[
    "honest", "gullible", "hostile", "garbage", "contradictory", "incomplete", "overtaken", "slow", "recovering",
    "down", "none",
]  # fmt: skip
JUDGE_NAMES: tuple[JudgeName, ...] = get_args(JudgeName)
SHARED = "workspaces.yaml"

_CASE = (
    "id", "about", "base", "files", "setup", "goal", "worker", "judge", "decided_by", "truth", "oracle", "claim",
    "expect", "options", "known", "needs", "slow",
)  # fmt: skip
_OPTIONS = ("max_iterations", "timeout", "token_budget", "approve", "answer", "judge_delay", "judge_empties")


@dataclass(frozen=True, slots=True)
class CaseFile:
    """A file of the workspace: a text, or a symbolic link to `link`."""

    path: str
    text: str = ""
    executable: bool = False
    link: str | None = None


@dataclass(frozen=True, slots=True)
class Clue:
    """What shows the honest judge that a requirement is fulfilled: a file that holds a text (`has`), or holds it no
    more (`lacks`)."""

    path: str
    has: str = ""
    lacks: str = ""

    def shown(self, root: Path) -> bool:
        """Whether it is so in the workspace now."""
        try:
            text = (root / self.path).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError):
            return False
        return self.has in text and not (self.lacks and self.lacks in text)


@dataclass(frozen=True, slots=True)
class Expected:
    """How the run ends with the case's own judge. `run` is a run status; `findings` are integrity kinds that are open
    then, at least these; `requirements` are statuses by label (`R1`)."""

    run: str
    requirements: Mapping[str, str] = field(default_factory=dict[str, str])
    findings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class CaseOptions:
    """How the run is started, and what a person answers to every question (None: nobody is there). Times in seconds.

    The slow judge takes `judge_delay`; while the overtaken one thinks, somebody empties the file `judge_empties`.
    """

    max_iterations: int
    timeout: float | None = None
    token_budget: int | None = None
    approve: Literal["auto", "deny"] = "auto"
    answer: Literal["approve", "deny"] | None = None
    judge_delay: float = 0.0
    judge_empties: str = ""


@dataclass(frozen=True, slots=True)
class Case:
    """One run with a known truth. `truth` says by label whether a requirement is really fulfilled at the end.

    `claim` says whether the worker's claim that it is blocked, or that the goal is impossible, is true.
    `decided_by` is what keeps the run from a wrong end: a bound check, an integrity rule, or the judge alone. `known`
    is the reason why it comes out wrong for now; `needs` are modules or programs that its commands use.
    """

    id: str
    group: str
    about: str
    goal: str
    files: tuple[CaseFile, ...]
    worker: Sequence[Any]
    decided_by: DecidedBy
    truth: Mapping[str, bool]
    expected: Expected
    options: CaseOptions
    judge: JudgeName = "gullible"
    setup: tuple[str, ...] = ()
    oracle: Mapping[str, Clue] = field(default_factory=dict[str, Clue])
    claim: bool = False
    known: str = ""
    needs: tuple[str, ...] = ()
    slow: bool = False

    @property
    def honest(self) -> bool:
        """Everything is really fulfilled at the end: anything but `complete` is a refusal."""
        return all(self.truth.values())


def cases_folder() -> Path:
    """Where the cases lie: beside this package once installed, in the tests of a checkout."""
    installed = Path(__file__).parent / "cases"
    return installed if installed.is_dir() else Path(__file__).parents[3] / "tests" / "goalbench" / "cases"


def load_cases(folder: Path | None = None) -> tuple[Case, ...]:
    """All cases, in the order of the files' names. Raises InvalidGoal with the file and the case of a mistake."""
    folder = folder or cases_folder()
    files = sorted(path for path in folder.glob("*.yaml") if path.name != SHARED)
    if not files:
        raise InvalidGoal(f"there are no cases in {folder}: install donewhen again, or run it from a complete checkout")
    shared = _shared(folder / SHARED)
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


def _shared(path: Path) -> dict[str, tuple[CaseFile, ...]]:
    return _workspaces(Fields.of(load_yaml(path), path.name)) if path.is_file() else {}


def _workspaces(fields: Fields) -> dict[str, tuple[CaseFile, ...]]:
    return {name: tuple(_files(fields.within(name, value))) for name, value in fields.items()}


def _cases(path: Path, shared: Mapping[str, tuple[CaseFile, ...]]) -> Iterator[Case]:
    document = Fields.of(load_yaml(path), path.name, ("group", "workspaces", "cases"))
    bases = {**shared, **_workspaces(document.mapping("workspaces"))}
    group = document.text("group")
    for value in document.items_of("cases"):
        yield _case(Fields.of(value, path.name, _CASE), group, bases)


def _case(fields: Fields, group: str, bases: Mapping[str, tuple[CaseFile, ...]]) -> Case:
    fields = fields.named(fields.text("id"))
    turns = fields.items_of("worker")
    return Case(
        id=fields.text("id"),
        group=group,
        about=fields.text("about", ""),
        goal=fields.text("goal"),
        files=_laid_over(_base(fields, bases), _files(fields.mapping("files"))),
        worker=turns,
        decided_by=cast(DecidedBy, fields.one_of("decided_by", get_args(DecidedBy))),
        truth=fields.mapping("truth").flags(),
        expected=_expected(fields.mapping("expect")),
        options=_options(fields.mapping("options"), len(turns)),
        judge=cast(JudgeName, fields.one_of("judge", JUDGE_NAMES, "gullible")),
        setup=fields.texts("setup"),
        oracle={label: _clue(fields.within(label, value)) for label, value in fields.mapping("oracle").items()},
        claim=fields.flag("claim"),
        known=fields.text("known", ""),
        needs=fields.texts("needs"),
        slow=fields.flag("slow"),
    )


def _base(fields: Fields, bases: Mapping[str, tuple[CaseFile, ...]]) -> tuple[CaseFile, ...]:
    name = fields.text("base", "")
    if name and name not in bases:
        raise fields.error(
            f"there is no workspace {name!r} to be its `base`; the known ones are {', '.join(sorted(bases))}"
        )
    return bases.get(name, ())


def _files(fields: Fields) -> Iterator[CaseFile]:
    for path, value in fields.items():
        if os.path.isabs(path) or ".." in Path(path).parts:  # noqa: PTH117  # a text, not a path of this system
            raise fields.error(f"{path} is outside of the workspace")
        if isinstance(value, str):
            yield CaseFile(path, value)
            continue
        inner = fields.within(path, value, ("text", "executable", "link"))
        link = inner.text("link", "") or None
        yield CaseFile(path, "" if link else inner.text("text"), inner.flag("executable"), link)


def _laid_over(base: tuple[CaseFile, ...], own: Iterator[CaseFile]) -> tuple[CaseFile, ...]:
    return tuple({file.path: file for file in (*base, *own)}.values())


def _expected(fields: Fields) -> Expected:
    fields.allow(("run", "requirements", "findings"))
    statuses = fields.mapping("requirements")
    return Expected(
        fields.text("run"), {name: statuses.text(name) for name, _ in statuses.items()}, fields.texts("findings")
    )


def _options(fields: Fields, turns: int) -> CaseOptions:
    fields.allow(_OPTIONS)
    limit = fields.number("max_iterations")
    tokens = fields.number("token_budget")
    return CaseOptions(
        max_iterations=max(1, turns) if limit is None else int(limit),
        timeout=fields.number("timeout"),
        token_budget=None if tokens is None else int(tokens),
        approve=cast(Literal["auto", "deny"], fields.one_of("approve", ("auto", "deny"), "auto")),
        answer=cast('Literal["approve", "deny"] | None', fields.one_of("answer", ("approve", "deny"), "") or None),
        judge_delay=fields.number("judge_delay") or 0.0,
        judge_empties=fields.text("judge_empties", ""),
    )


def _clue(fields: Fields) -> Clue:
    fields.allow(("file", "has", "lacks"))
    return Clue(fields.text("file"), fields.text("has", ""), fields.text("lacks", ""))
