"""Which goal a command is about: a goal file, an objective to draft one from, or a `/goal` command."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from donewhen.app.services import Look
from donewhen.app.workspace_context import plugins_there
from donewhen.cli.calling import Call
from donewhen.cli.formatting import one_line, shown_path
from donewhen.core.errors import GoalFileError, UsageError
from donewhen.core.words import counted, listed
from donewhen.goalfile.draft import draft, draft_notes, draft_path, draft_without_objective
from donewhen.goalfile.files import find_goals
from donewhen.goalfile.parse import parse
from donewhen.goalfile.source import FileProblem, ParsedGoalFile, Span
from donewhen.regular import expanded, read_bytes

if TYPE_CHECKING:
    from donewhen.goalfile.survey import Survey

Verb = Literal["status", "pause", "resume", "stop", "clear"]
VERBS: tuple[Verb, ...] = ("status", "pause", "resume", "stop", "clear")

_MOST_NAMED = 8
_PREFIX = re.compile(r"/goal(?:\s+|$)")


@dataclass(frozen=True, slots=True)
class GoalVerb:
    """`/goal status` and similar: a command for the workspace's newest run."""

    verb: Verb


@dataclass(frozen=True, slots=True)
class Objective:
    """Text to draft a goal file from."""

    text: str


@dataclass(frozen=True, slots=True)
class GoalPath:
    """An existing goal file, relative to the workspace (posix)."""

    path: str


GoalArgument = GoalVerb | Objective | GoalPath


def understand(words: Sequence[str], root: Path) -> GoalArgument:
    """The meaning of `donewhen run WORDS`. Raises UsageError for a goal file that doesn't exist."""
    text = " ".join(words).strip()
    if words and not text:
        raise UsageError("the objective is blank: say what is to be achieved, or name a goal file")
    prefix = _PREFIX.match(text)
    if prefix is not None:
        rest = text[prefix.end() :].strip()
        if rest in VERBS:
            return GoalVerb(rest)
        return Objective(rest) if rest else GoalVerb("status")
    if not text:
        return GoalPath(the_goal(root))
    names_file = _exists(Path(text)) or _exists(root / text) or text.endswith(".md")
    return GoalPath(goal_path(text, root)) if names_file else Objective(text)


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except (OSError, ValueError):  # a whole paragraph is not a file name
        return False


def goal_path(text: str, root: Path) -> str:
    """A goal file in the engine's form: relative to the workspace. Raises UsageError."""
    for candidate in (expanded(text), root / text):
        if candidate.is_file():
            # The file itself may be a link: whether it may lead there is not decided here.
            found = candidate.parent.resolve() / candidate.name
            if found.is_relative_to(root):
                return found.relative_to(root).as_posix()
            raise UsageError(f"{text} is not in the workspace {root}: give its folder with --workspace")
    if Path(text).is_dir() or (root / text).is_dir():
        raise UsageError(f"{text} is a folder, not a goal file; with --workspace {text} its goal is pursued")
    if _exists(expanded(text)) or _exists(root / text):
        raise UsageError(f"{text} is not a regular file: name a goal file")
    found = [shown_path(path) for path in find_goals(root)]
    if not found:
        raise UsageError(f"there is no goal file {text}: `donewhen init` drafts one")
    here = "file here is" if len(found) == 1 else "files here are"
    raise UsageError(f"there is no goal file {text}: the goal {here} {listed(found, _MOST_NAMED)}")


def the_goal(root: Path) -> str:
    """The workspace's goal file if none is named: GOAL.md, or the only `*.goal.md`. Raises UsageError."""
    if (root / "GOAL.md").is_file():
        return "GOAL.md"
    if os.path.lexists(root / "GOAL.md"):
        what = "not a regular file" if _exists(root / "GOAL.md") else "a link that leads nowhere"
        raise UsageError(f"{root / 'GOAL.md'} is {what}: put a goal file in its place, or name another one")
    others = sorted(path.name for path in root.glob("*.goal.md") if path.is_file())
    if len(others) == 1:
        return others[0]
    if others:
        raise UsageError(f"there are several goals here: name one of {', '.join(others)}")
    raise UsageError(f"there is no goal in {root}: `donewhen init` drafts one")


async def surveyed(call: Call) -> Survey:
    """The checks of the workspace; those of a draft are tried unless the person declined it."""
    # Trying a draft's checks opens no rooms: if checks must run in rooms, none is tried.
    tries = not call.arguments.no_try and not call.settings.contains_checks
    if tries:
        call.terminal.message("trying the checks found here, for at most a minute each (--no-try skips this) …")
    return await call.services.survey(Look(call.root, call.settings.state_dir, tries=tries))


def write_draft(
    call: Call,
    objective: str,
    found: Survey,
    path: Path | None = None,
    proposed: Sequence[str] = (),
    model: str | None = None,
) -> tuple[Path, tuple[str, ...]]:
    """Drafts a goal file for `objective`, and says what a person should know about it; never overwrites. `proposed`
    are requirements from a model. Raises UsageError."""
    target = path or draft_path(call.root, objective)
    judged = call.settings.pick("judge_model") is not None
    if objective:
        text = draft(objective, found.commands, proposed, judged=judged, proposed_by=model)
    else:
        text = draft_without_objective(call.root.name, found.commands)
    return write_new(target, text), draft_notes(text, found, judged=judged, proposed_by=model, requirements=proposed)


def write_new(target: Path, text: str) -> Path:
    """Writes a file that isn't there yet. Raises UsageError."""
    try:
        with target.open("x", encoding="utf-8", errors="replace", newline="\n") as file:
            file.write(text)
    except FileExistsError:
        raise UsageError(f"{target} already exists, and is left as it is") from None
    except OSError as problem:
        raise UsageError(f"{target} can't be written: {problem.strerror or problem}") from problem
    return target


def read_goal(path: Path) -> ParsedGoalFile:
    """Parses a goal file. Raises OSError."""
    return parse(read_bytes(path), path=path.name, name=path.stem, plugged=plugins_there)


def say_problems(call: Call, path: str, *, only_errors: bool = False) -> None:
    """Prints the problems of a goal file, line by line, to standard error. Raises GoalFileError if it is unusable."""
    try:
        problems = read_goal(call.root / path).problems
    except OSError as error:
        problems = (FileProblem(Span(0, 0, 0, 0), "error", "unreadable", f"the goal file can't be read: {error}"),)
    said = ("error",) if only_errors else ("error", "warning")
    for problem in problems:
        if problem.severity in said:
            place = f"{shown_path(path)}:{problem.span.start_line + 1}"
            call.terminal.message(f"{place}: {problem.severity}: {one_line(problem.message, 1000)}")
    errors = sum(problem.severity == "error" for problem in problems)
    if errors:
        raise GoalFileError(f"nothing was started: {shown_path(path)} has {counted(errors, 'error')}, shown above")


def say_undecided(call: Call, labels: Sequence[str], path: str) -> None:
    """Names requirements that neither a check nor a judge decides: a person is asked in the end."""
    if labels:
        it, them = ("it", "it") if len(labels) == 1 else ("each", "them")
        call.terminal.message(
            f"no check decides {', '.join(labels)}, and no judge is configured: write a check below {it} in "
            f"{shown_path(path)} (  - check: `COMMAND`), or you are asked about {them} once the rest is proven"
        )
