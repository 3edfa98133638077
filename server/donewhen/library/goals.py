"""Turns what a library caller wants into a goal: an objective, commands, callables, limits."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from donewhen.core.errors import InvalidGoal, UsageError
from donewhen.core.goal import Check, Goal, Limits, Requirement, requirement_id
from donewhen.goalfile.stated import stated_commands, stated_files
from donewhen.library.arguments import several

CheckLike = str | Callable[..., Any]
"""A command that has to pass, or a validator."""
GoalLike = Goal | str | os.PathLike[str]
"""An objective, a goal, or the path of a goal file."""

_PREFIX = re.compile(r"\s*/goal(?:\s+|$)")
_TITLE = 100
_BOX = re.compile(r"\[[ xX]?\]")
GIVE_WORKSPACE = "give workspace=FOLDER"
UNDECIDABLE = "nothing can decide this goal: give a judge, or checks (commands, callables)"


@dataclass(frozen=True, slots=True)
class WantedGoal:
    """A goal, and the callables behind its checks of kind `validator`, by check id."""

    goal: Goal
    validators: Mapping[str, Callable[..., Any]] = field(default_factory=dict[str, Callable[..., Any]])


@dataclass(frozen=True, slots=True)
class _Draft:
    """A goal that may not have a requirement yet. `of` is what it was made from."""

    title: str
    objective: str
    requirements: tuple[Requirement, ...]
    of: Goal | None = None

    def goal(self, requirements: Sequence[Requirement]) -> Goal:
        if self.of is not None:
            return replace(self.of, requirements=tuple(requirements))
        return Goal(self.title, self.objective, tuple(requirements), Limits(stall_after=None))


def wanted_goal(
    given: GoalLike, *, checks: Sequence[CheckLike] = (), judged: bool = False, workspace: Path | None = None
) -> WantedGoal:
    """The caller's goal, with further checks. A path, or the name of an existing file that ends in `.md`, is a goal
    file. `judged`: there is a judge, so that the objective's own words must be proven too.

    Raises InvalidGoal for a blank objective and for a goal that nothing can decide, GoalFileError, UsageError.
    """
    checks = several("checks", checks)
    if workspace is None:
        for text in _goal_texts(given):
            refuse_without_workspace(text, judged=judged)
    elif isinstance(given, Goal):
        given = with_stated(given)
    draft = _drafted(given, judged, workspace)
    validators = validators_of(one for one in checks if not isinstance(one, str))
    names = iter(validators)
    known = {check.id for requirement in draft.requirements for check in requirement.checks}
    requirements = list(draft.requirements)
    for one in checks:
        if isinstance(one, str):
            if not one.strip():
                raise InvalidGoal("checks must not contain a blank command")
            check = Check.of(one)
        else:
            identity = next(names)
            check = Check(identity, identity.removeprefix("v-"), kind="validator")
        if check.id not in known:
            requirements.append(_requiring(check, len(requirements) + 1))
    if not requirements:
        raise InvalidGoal(UNDECIDABLE)
    goal = draft.goal(requirements)
    if workspace is None:
        goal = replace(goal, about="response")
    _refuse_undecidable(goal, judged, workspace)
    refuse_missing(goal, validators)
    return WantedGoal(goal, validators)


def without_prefix(text: str) -> str:
    """The objective of `/goal OBJECTIVE`; any other text as it is."""
    found = _PREFIX.match(text)
    return text if found is None else text[found.end() :]


def _goal_texts(given: GoalLike) -> tuple[str, ...]:
    """What a goal says in words."""
    if isinstance(given, Goal):
        return (given.title, given.objective, *(one.text for one in given.requirements))
    return (without_prefix(given),) if isinstance(given, str) else ()


def refuse_without_workspace(text: str, *, judged: bool = True, instead: str = GIVE_WORKSPACE) -> None:
    """The guard of every entry: without a workspace, only the worker's word shows that a command passes, or what a file
    holds. Raises InvalidGoal for a text that names a command or a file; `instead` says what to do. `judged` false:
    nobody decides on the text itself, and it may name files."""
    said = next((one.said for one in stated_commands(text)), None) or _bound_in_list(text)
    if said is not None:
        raise InvalidGoal(f"the objective says {said!r}, and commands run in a workspace: {instead}")
    files = stated_files(text) if judged else ()
    if files:
        raise InvalidGoal(f"the objective names {files[0]}, and files are in a workspace: {instead}")


def asked_goal(text: str) -> Goal | str:
    """A text for a judge that is asked on its own. A text that names a command or a file is about a workspace, which no
    response shows, and a command is proven by its result alone."""
    text = without_prefix(text).strip()
    if stated_commands(text) or _bound_in_list(text) is not None:
        draft = _from_text(text, judged=True)
        return draft.goal(draft.requirements)
    if stated_files(text):
        said = " ".join(text.split())
        return Goal("", text, (Requirement(requirement_id(said), 1, said),))
    return text


def _bound_in_list(text: str) -> str | None:
    """What a task list in the text binds, as in a goal file."""
    if not _BOX.search(text):
        return None
    from donewhen.goalfile.parse import parse  # lazy: Markdown is needed for marked-up texts only

    bound = [one for one in parse(text).requirements if one.requirement.checks or one.files or one.problems]
    return bound[0].requirement.text if bound else None


def with_stated(goal: Goal) -> Goal:
    """Binds the commands that the goal's words say must pass."""
    known = {check.command for check in goal.checks}
    requirements = list(goal.requirements)
    for text in dict.fromkeys(_goal_texts(goal)):
        for stated in stated_commands(text):
            if stated.command not in known:
                known.add(stated.command)
                requirements.append(_requiring(Check.of(stated.command, stated.exit_code), len(requirements) + 1))
    return replace(goal, requirements=tuple(requirements))


def validators_of(callables: Iterable[Callable[..., Any]]) -> dict[str, Callable[..., Any]]:
    """Validators by check id. They take the callable's name, so that a run that is resumed finds them again."""
    found: dict[str, Callable[..., Any]] = {}
    for call in callables:
        if not callable(call):
            raise UsageError(f"a check is a command or a callable; it is {type(call).__name__}")
        name = getattr(call, "__name__", type(call).__name__)
        name = "the validator" if name == "<lambda>" else name
        number = 2
        chosen = name
        while f"v-{chosen}" in found:
            chosen, number = f"{name} {number}", number + 1
        found[f"v-{chosen}"] = call
    return found


def refuse_missing(goal: Goal, validators: Mapping[str, Callable[..., Any]]) -> None:
    """Raises UsageError for a validator of the goal that isn't given."""
    for check in goal.checks:
        if check.kind == "validator" and check.id not in validators:
            raise UsageError(f"the goal needs the validator {check.command}: give it in checks")


def _requiring(check: Check, number: int) -> Requirement:
    text = f"`{check.command}` passes" if check.kind == "command" else f"{check.command} accepts the result"
    if check.expected_exit:
        text = f"`{check.command}` exits with {check.expected_exit}"
    return Requirement(requirement_id(text), number, text, (check,), sole_check=True)


def _drafted(given: GoalLike, judged: bool, root: Path | None) -> _Draft:
    if isinstance(given, Goal):
        return _Draft(given.title, given.objective, given.requirements, given)
    if not isinstance(given, str | os.PathLike):  # pyright: ignore[reportUnnecessaryIsInstance]  # callers are not always type-checked
        raise UsageError(f"goal must be text, a Goal or the path of a goal file; it is {type(given).__name__}")
    if not isinstance(given, str) or _names_file(given, root):
        goal = _from_file(Path(given), root)
        return _Draft(goal.title, goal.objective, goal.requirements, goal)
    text = without_prefix(given).strip()
    if not text:
        raise InvalidGoal("the objective must not be blank: say what should be true when it is done")
    if root is not None and ("`" in text or _BOX.search(text) or stated_commands(text)):
        return _from_text(text, judged)
    line = text.splitlines()[0].strip()
    title = line if len(line) <= _TITLE else line[:_TITLE].rsplit(" ", 1)[0].rstrip(" ,;:") + "…"
    said = " ".join(text.split())
    return _Draft(title, text, (Requirement(requirement_id(said), 1, said),) if judged else ())


def _from_text(text: str, judged: bool) -> _Draft:
    """Reads a text like `donewhen run TEXT`: commands that must pass according to the text are bound, task lists are
    read. Without a judge the objective's own words need no further proof."""
    from donewhen.goalfile.draft import draft  # lazy: Markdown is needed for marked-up texts only
    from donewhen.goalfile.parse import parse

    goal = parse(draft(text, ())).goal
    if goal is None:
        raise InvalidGoal("the objective can't be read as a goal: write it as plain text")
    kept = [one for one in goal.requirements if judged or one.sole_check or one.text != goal.title]
    numbered = tuple(replace(one, number=number) for number, one in enumerate(kept, 1))
    return _Draft(goal.title, text, numbered)


def _names_file(given: str, root: Path | None) -> bool:
    if root is None or not given.endswith(".md") or "\n" in given:
        return False
    return (root / given).is_file()


def _from_file(path: Path, root: Path | None) -> Goal:
    from donewhen.goalfile.files import WorkspaceGoalFiles

    if root is None:
        raise UsageError(f"the goal file {path} is not in a workspace: give workspace=FOLDER")
    if path.is_absolute():
        found = path.parent.resolve() / path.name
        if not found.is_relative_to(root):
            raise UsageError(f"the goal file {path} is not in the workspace {root}")
        path = found.relative_to(root)
    # The program provides the worker: the file's own choice is ignored.
    return WorkspaceGoalFiles(root, lambda: True).load(path.as_posix())


def _refuse_undecidable(goal: Goal, judged: bool, root: Path | None) -> None:
    commands = [check.command for check in goal.checks if check.kind == "command"]
    if commands and root is None:
        raise InvalidGoal(f"`{commands[0]}` runs in a workspace: give workspace=FOLDER")
    if not judged and not any(one.checks or one.problems for one in goal.requirements):
        raise InvalidGoal(UNDECIDABLE)
