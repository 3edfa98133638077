"""`init`, `preflight` and `check`: drafting a goal, examining it before a run, auditing a workspace."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from donewhen.app.services import Look
from donewhen.app.workspace_context import WorkspaceContext
from donewhen.cli.calling import Call
from donewhen.cli.display import Display, display_for
from donewhen.cli.formatting import one_line, shown_path, taken
from donewhen.cli.goal_argument import (
    goal_path,
    read_goal,
    say_problems,
    say_undecided,
    surveyed,
    the_goal,
    write_draft,
    write_new,
)
from donewhen.cli.outcome import PAUSED_BY_CTRL_C, exit_code
from donewhen.cli.outputs import annotate, commands_stopped, outputs_of, write_receipts
from donewhen.cli.terminal import OutputClosed, ending_signals
from donewhen.core.errors import DoneWhenError, UsageError
from donewhen.core.proof_files import Group, ProofBasis
from donewhen.core.words import counted, listed
from donewhen.engine.api import Runs, RunView
from donewhen.goalfile.draft import CHECKS_ALONE, GREEN, draft_from_issue
from donewhen.goalfile.issue import Issue, Taken, read_issue
from donewhen.goalfile.parse import SIZE_LIMIT
from donewhen.goalfile.preflight import hints_of
from donewhen.regular import expanded, read_text
from donewhen.wire.plain import spent_json

if TYPE_CHECKING:
    from donewhen.app.services import Adviser
    from donewhen.core.work import Usage
    from donewhen.goalfile.survey import FoundCheck


T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class AskedAdvice(Generic[T]):
    """What a model said of a goal, and the usage; nothing if none is configured, or it couldn't be asked."""

    said: tuple[T, ...] = ()
    model: str | None = None
    spent: Usage | None = None


async def init(call: Call) -> int:
    """Drafts GOAL.md; refuses if one exists."""
    objective = " ".join(call.arguments.objective).strip()
    path = call.root / "GOAL.md"
    if path.exists():
        raise UsageError(f"{path} already exists, and is left as it is")
    source: str | None = call.arguments.source
    if source is None:
        return await _init(call, objective, path)
    if objective:
        raise UsageError("give an objective, or a text with --from: not both")
    return await _init_from(call, source, path)


async def _init(call: Call, objective: str, path: Path) -> int:
    found = await surveyed(call)
    proposal: AskedAdvice[str] = AskedAdvice()
    if objective:
        # Where there is none, the person writes the requirements.
        proposal = await _advice(
            call,
            lambda adviser: adviser.propose(objective, found.commands),
            purpose=" for requirements",
            failed="no requirements were proposed",
        )
    _, notes = write_draft(call, objective, found, path, proposal.said, proposal.model)
    if call.json:
        checks = [_check_json(check) for check in found.checks]
        proposed = list(proposal.said)
        document = {"goalUri": path.as_uri(), "path": str(path), "checks": checks, "proposed": proposed, "notes": notes}
        call.terminal.document({**document, **_cost_field(proposal.spent)})
        return 0
    call.terminal.result(f"drafted {path}")
    for check in found.checks:
        if check.drafted:
            call.terminal.result(f"  check: {check.command} ({check.why})")
    for note in notes:
        if note != GREEN:
            call.terminal.result(f"  {one_line(note, 500)}")
    if call.settings.pick("judge_model") is None:
        say_undecided(call, _undecided(path), path.name)
    ready = "work on it with" if found.commands and not proposal.said else "edit it, then"
    call.terminal.message(f"{f'{GREEN}, then' if GREEN in notes else ready}: donewhen run")
    return 0


async def _init_from(call: Call, source: str, path: Path) -> int:
    """Drafts it from the text of an issue or a specification. Nothing is executed, and no model is asked."""
    name = "Goal" if source == "-" else Path(source).stem
    text = await _text_of(call, source)
    found = await call.services.survey(Look(call.root, call.settings.state_dir, execute=False))
    issue = read_issue(text, name, frozenset(check.command for check in found.checks))
    judged = call.settings.pick("judge_model") is not None
    write_new(path, draft_from_issue(issue, found.commands))
    if call.json:
        checks = [_check_json(check) for check in found.checks]
        left = [{"line": one.line or None, "text": one.text, "why": one.why} for one in issue.left]
        document = {"goalUri": path.as_uri(), "path": str(path), "checks": checks, "notes": found.notes()}
        call.terminal.document({**document, "taken": list(map(_taken_json, issue.taken)), "left": left})
        return 0
    call.terminal.result(f"drafted {path}")
    _say_what_was_taken(call, issue, path, "for the judge" if judged else "needs a check")
    for note in found.notes():
        call.terminal.result(f"  {one_line(note, 500)}")
    if not judged:
        say_undecided(call, _undecided(path), path.name)
    call.terminal.message("nothing of it was executed: read the file, above all its commands, then: donewhen run")
    return 0


def _say_what_was_taken(call: Call, issue: Issue, path: Path, unchecked: str) -> None:
    goal = read_goal(path)
    own, taken = len(goal.outline) - len(issue.taken), [one.label for one in goal.outline][-len(issue.taken) :]
    for requirement in goal.outline[:own]:
        call.terminal.result(f"  {requirement.label} found here: {one_line(requirement.text)}")
    for label, one in zip(taken, issue.taken, strict=True):
        call.terminal.result(f"  {label} taken from line {one.line}: {one_line(one.text)}")
        proof = ", ".join(check.command for check in one.checks)
        call.terminal.result(f"    {f'check: {one_line(proof)}' if proof else unchecked}")
    for left in issue.left:
        at = f" in line {left.line}" if left.line else ""
        call.terminal.result(f"  left{at}: {one_line(left.text)} ({left.why})")


def _taken_json(one: Taken) -> dict[str, Any]:
    checks = [{"command": check.command, "expectedExit": check.expected_exit} for check in one.checks]
    return {"line": one.line, "text": one.text, "checks": checks, "details": list(one.details)}


async def _text_of(call: Call, source: str) -> str:
    """The text of a file, or of standard input as far as a text may be long. Raises UsageError."""
    if source != "-":
        try:
            return read_text(expanded(source), "utf-8-sig", "replace")
        except OSError as problem:
            raise UsageError(f"{Path(source)} can't be read: {problem.strerror or problem}") from problem
    lines: list[str] = []
    size = 0
    while size <= SIZE_LIMIT and (line := await call.terminal.lines.next()) is not None:
        lines.append(line)
        size += len(line) + 1
    return "\n".join(lines)


def _undecided(path: Path) -> Sequence[str]:
    """The labels of the requirements that neither a check nor an editor decides."""
    goal = read_goal(path).goal
    return [] if goal is None else [one.label for one in goal.requirements if not one.checks and not one.problems]


def _check_json(check: FoundCheck) -> dict[str, Any]:
    return {
        "command": check.command,
        "why": check.why,
        "purpose": check.purpose,
        "drafted": check.drafted,
        "standing": check.standing,
        "reason": check.reason or None,
        "seconds": check.seconds,
        "leftOut": check.left_out,
    }


async def _advice(
    call: Call, ask: Callable[[Adviser], Awaitable[Sequence[T]]], *, purpose: str = "", failed: str
) -> AskedAdvice[T]:
    """What the configured model says. That it can't be asked is reported, and so is the cost, even of calls that
    failed. Raises UsageError for what can't be the name of a model."""
    spent: Usage | None = None
    try:
        async with call.services.open_adviser(call.root, call.settings, WorkspaceContext()) as adviser:
            if adviser is None:
                return AskedAdvice()
            call.terminal.message(f"asking {adviser.model}{purpose} …")
            try:
                said = tuple(await ask(adviser))
            finally:
                spent = adviser.spent
                if spent is not None:
                    call.terminal.message(f"asked {adviser.model}: {taken(spent)}")
            return AskedAdvice(said, adviser.model, spent)
    except DoneWhenError as error:
        if isinstance(error, UsageError) and error.lacks == "model":
            raise  # the name is mistyped: nothing is drafted before that is corrected
        call.terminal.message(f"donewhen: warning: {failed}: {error}")
        return AskedAdvice(spent=spent)


async def preflight(call: Call) -> int:
    """Hints on requirements that are vague, or that nothing can judge; nothing is started."""
    path = _named_goal(call)
    say_problems(call, path, only_errors=True)
    hints = list(hints_of(read_goal(call.root / path)))
    advice = await _advice(
        call,
        lambda adviser: adviser.hints(read_text(path, "utf-8", "replace", within=call.root)),
        failed="the model gave no hints",
    )
    hints += advice.said
    if call.json:
        found = [{"requirementId": one.requirement_id, "number": one.number, "message": one.message} for one in hints]
        call.terminal.document({"hints": found, **_cost_field(advice.spent)})
        return 0
    for hint in hints:
        label = "goal" if hint.number is None else f"R{hint.number}"
        call.terminal.result(f"{label}: {one_line(hint.message, 500)}")
    if not _say_who_decides(call, path) and not hints:
        call.terminal.message("nothing to add: each requirement can be proven as it stands")
    return 0


def _say_who_decides(call: Call, path: str) -> bool:
    """What the checks of the goal don't decide, and who does; True if nobody does as it stands."""
    goal = read_goal(call.root / path).goal
    judge = call.settings.pick("judge_model") or (goal and goal.judge_model)
    if judge is None and (labels := _undecided(call.root / path)):
        say_undecided(call, labels, path)
        return True
    worded = [one.label for one in goal.requirements if not one.sole_check] if goal and judge else []
    words = f"the words of {', '.join(worded)} are decided by the judge, {judge}, and by no check"
    call.terminal.message(words if worded else CHECKS_ALONE if judge else f"no judge is set: {CHECKS_ALONE}")
    return False


def _cost_field(spent: Usage | None) -> dict[str, Any]:
    """The field `cost` of a document; absent if no model was asked."""
    return {} if spent is None else {"cost": spent_json(spent)}


def _named_goal(call: Call) -> str:
    named = call.arguments.goal
    return goal_path(named, call.root) if named else the_goal(call.root)


async def check(call: Call) -> int:
    """One audit; 0 if everything is proven, 1 if something is not."""
    outputs = outputs_of(call)
    path = _named_goal(call)
    say_problems(call, path)
    if call.arguments.explain:
        async with call.runs() as runs:
            return say_what_proof_rests_on(call, path, await runs.rests_on(path))
    display = display_for(call)
    async with call.runs() as runs:
        view = await audited(runs, path, display, shown=call.terminal.live and not call.json)
        if view is None:
            return PAUSED_BY_CTRL_C
        annotations = await write_receipts(call, outputs, runs, view.state.run_id)
    with suppress(OutputClosed):  # the exit code is an answer too
        with commands_stopped(call, outputs):
            display.finish(view)
        annotate(call, annotations)
    if not call.json and exit_code(view.state):
        call.terminal.message(f"receipt: {call.typed_here(f'donewhen report {view.state.run_id}')}")
    return exit_code(view.state)


async def audited(runs: Runs, path: str, display: Display, *, shown: bool) -> RunView | None:
    """The audit of a goal, shown while it goes on; None if a signal ended it."""

    with ending_signals() as ending:

        def changed(view: RunView) -> None:
            # What comes while it is being cancelled is shown no more.
            if ending.signal is None and view.state.mode == "audit" and view.state.goal.path == path:
                display.show(view)

        unsubscribe = runs.subscribe(changed) if shown else lambda: None
        try:
            return await ending.unless_set(runs.check(path))
        finally:
            unsubscribe()


# `check --explain`: what the proof of a goal rests on, for people and as JSON.


SHOWN = 8


def say_what_proof_rests_on(call: Call, path: str, basis: ProofBasis) -> int:
    """Always returns 0: nothing was checked."""
    if call.json:
        call.terminal.document(_document(path, basis))
        return 0
    call.terminal.result(f"What the proof of {shown_path(path)} rests on:")
    for group in basis.groups:
        part = "a part of " if group.partly else ""
        call.terminal.result(f"  {part}{counted(len(group.files), 'file')}: {group.why}")
        for one in group.files[:SHOWN]:
            rule = f"  ({one.rule})" if one.rule else ""
            call.terminal.result(f"    {shown_path(one.path)}{rule}")
        if len(group.files) > SHOWN:
            call.terminal.result(f"    and {len(group.files) - SHOWN} more: --json lists all")
    if not basis.groups:
        call.terminal.result("  no file: nothing here is proof")
    if changing := listed([shown_path(path) for path in basis.may_change], SHOWN):
        call.terminal.result(f"The goal wants these changed (may_change): {changing}")
    _say_by_requirement(call, basis)
    call.terminal.result(
        f"Everything else is product: {counted(basis.product, 'file')}. `proof:` in the goal file adds to the list."
    )
    return 0


def _say_by_requirement(call: Call, basis: ProofBasis) -> None:
    if basis.own:
        call.terminal.result("By what each requirement's own checks run; the goal file and `proof:` are for all:")
    for own in basis.own:
        call.terminal.result(f"  {own.label} ({', '.join(f'`{shown_path(command)}`' for command in own.checks)}):")
        for group in own.groups:
            names = listed([shown_path(one.path) for one in group.files], SHOWN)
            call.terminal.result(f"    {'part of ' if group.partly else ''}{names}")
        if not own.narrowed:
            call.terminal.result("    of the whole goal: all of the above; the commands don't tell what else they run")
        elif not own.groups:
            call.terminal.result("    no file but those for all")


def _document(path: str, basis: ProofBasis) -> dict[str, object]:
    own = [
        {
            "id": one.requirement_id,
            "label": one.label,
            "checks": list(one.checks),
            "narrowed": one.narrowed,
            "proof": _groups(one.groups),
        }
        for one in basis.own
    ]
    return {
        "goal": path,
        "proof": _groups(basis.groups),
        "mayChange": list(basis.may_change),
        "product": basis.product,
        "requirements": own,
    }


def _groups(groups: Sequence[Group]) -> list[dict[str, object]]:
    return [
        {
            "role": group.role,
            "why": group.why,
            "partly": group.partly,
            "files": [{"path": one.path, "rule": one.rule, "ecosystem": one.ecosystem} for one in group.files],
        }
        for group in groups
    ]
