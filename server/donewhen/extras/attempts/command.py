"""`run --attempts N` and `attempts`: pursuing a goal several times at once, comparing the attempts, and keeping one."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from typing import Any

from donewhen.cli.calling import Call, snapshot_text
from donewhen.cli.display import display_for
from donewhen.cli.formatting import duration, one_line, shown_path, when
from donewhen.cli.goal_commands import audited
from donewhen.cli.outcome import COMPLETE, NOT_COMPLETE, PAUSED_BY_CTRL_C, PERSON_NEEDED, exit_code
from donewhen.cli.progress import Log
from donewhen.cli.terminal import OutputClosed, ending_signals
from donewhen.core.answers import answer_example
from donewhen.core.errors import UsageError, WorkspaceError
from donewhen.core.words import counted, listed, money
from donewhen.engine.api import RunView, StartOptions
from donewhen.extras.attempts.comparing import document, lines_changed, met, outcome_in_words, reasons, working_with
from donewhen.extras.attempts.pursuing import Attempt, Attempts, Group, Plan, Standing

LISTED = 8
"""How many changed files are named."""


def attempts_of(call: Call) -> Attempts:
    return Attempts(call.root, call.state_dir, call.settings, opening=call.services.open_runs)


async def run(call: Call, path: str, options: StartOptions) -> int:
    """Pursues the goal several times, keeps one attempt, and returns the exit code of the goal's proof in the
    workspace."""
    given, attempts = call.arguments, attempts_of(call)
    plan = Plan(
        path, given.attempts, given.keep or "first", options, tuple(given.attempt_worker), tuple(given.attempt_model)
    )
    group = await attempts.begin(plan)
    if kept := [one for one in attempts.groups() if not one.proven and one.id != group.id]:
        size = sum([await attempts.bytes_kept(one) for one in kept]) // 1024**2
        told = f"{counted(len(kept), 'earlier group')} of attempts take {size:,} MB:"
        call.terminal.message(f"{told} `donewhen attempts` lists them, `donewhen attempts drop ID` removes one")
    share = attempts.share(plan)
    call.terminal.message(f"{group.id}: {len(group.attempts)} attempts, each in a copy of the workspace")
    each = [
        *([f"${share.budget:g}"] if isinstance(share.budget, float) else []),
        *([f"{share.token_budget:,} tokens"] if isinstance(share.token_budget, int) else []),
    ]
    if each:
        call.terminal.message(f"each may spend an equal share of the budget: {', '.join(each)}")
    return await _pursue_group(call, attempts, group, new=True)


async def _pursue_group(call: Call, attempts: Attempts, group: Group, *, new: bool = False) -> int:
    logs = {one.number: Log() for one in group.attempts}

    def told(attempt: Attempt, view: RunView) -> None:
        if call.json:
            return
        with suppress(OutputClosed):
            for line in logs[attempt.number].lines(view):
                call.terminal.result(f"[{attempt.number}] {line}")

    async def signalled() -> str:
        await ending.wait()
        call.terminal.message(f"{ending.reason}: pausing …")
        return ending.reason

    with ending_signals() as ending:
        group = await attempts.pursue(group, told, signalled, new=new)
        standing = await attempts.standing(group)
    if ending.reason:
        _show_standing(call, group, standing)
        call.terminal.message(f"saved; go on with: {call.typed_here(f'donewhen attempts resume {group.id}')}")
        return PAUSED_BY_CTRL_C if ending.by_ctrl_c else PERSON_NEEDED
    if not any(one.result.proven for one in standing):
        _show_standing(call, group, standing)
        return _none_proven(call, group, standing)
    number = attempts.choice(group, standing)
    if number is None:
        number = await _chosen_attempt(call, group, standing)
        if number is None:
            return PERSON_NEEDED
    elif not call.json:
        _say_all(call, table(group, standing))
    return await _applied(call, attempts, group, number)


def _none_proven(call: Call, group: Group, standing: Sequence[Standing]) -> int:
    """What can be done where no attempt is proven."""
    waiting = [one for one in standing if one.view is not None and not one.view.state.lifecycle.ended]
    for one in waiting:
        for asked in one.view.state.interrupts if one.view is not None else ():
            call.terminal.message(f"attempt {one.attempt.number} waits for a person: {one_line(asked.title)}")
            answer = f"donewhen answer {one.attempt.run_id} {asked.id} {answer_example(asked)}"
            call.terminal.message(f"  {call.typed_here(answer, one.attempt.root)}")
    call.terminal.message(f"no attempt is proven, and nothing was changed here; all are kept as {group.id}:")
    _say_commands(call, f"diff N {group.id}", f"drop {group.id}", *([f"resume {group.id}"] if waiting else []))
    return PERSON_NEEDED if waiting else NOT_COMPLETE


def _say_commands(call: Call, *words: str) -> None:
    for one in words:
        call.terminal.message(f"  {call.typed_here(f'donewhen attempts {one}')}")


async def _chosen_attempt(call: Call, group: Group, standing: Sequence[Standing]) -> int | None:
    """The number that a person chooses; None if nobody is there, or nobody chooses."""
    _show_standing(call, group, standing)
    proven = [one.attempt.number for one in standing if one.result.proven]
    numbers = ", ".join(map(str, proven))
    while call.interactive:
        call.terminal.message(f"which attempt is to be applied ({numbers}; d N shows its diff, empty: none)?")
        typed = (await call.terminal.lines.next() or "").split()
        if not typed:
            break
        number = int(typed[-1]) if typed[-1].isdigit() else 0
        if typed[0] == "d" and group.attempt(number) is not None:
            call.terminal.result((await attempts_of(call).diff(group, number))[1].rstrip("\n"))
        elif len(typed) == 1 and number in proven:
            return number
    call.terminal.message(f"all attempts are kept as {group.id}; choose one with:")
    _say_commands(call, f"diff N {group.id}", f"apply N {group.id}")
    return None


async def _applied(call: Call, attempts: Attempts, group: Group, number: int) -> int:
    """Applies one, and audits the goal in the workspace: that alone says whether it is proven there."""
    try:
        group, changed = await attempts.apply(group, number)
    except WorkspaceError as error:
        if call.json:
            call.terminal.document({**document(group, await attempts.standing(group)), "check": None})
        call.terminal.message(f"attempt {number} was not applied: {error}")
        call.terminal.message("put these files back as they were, or move them away, and apply it then:")
        _say_commands(call, f"apply {number} {group.id}")
        return PERSON_NEEDED
    named = listed([shown_path(path) for path in changed], LISTED)
    call.terminal.message(f"attempt {number} is applied; changed here: {named or 'nothing'}")
    return await _audited_here(call, attempts, group)


async def _audited_here(call: Call, attempts: Attempts, group: Group) -> int:
    """What the goal's audit in the workspace says, once an attempt is applied there."""
    display = display_for(call)
    async with call.runs() as runs:
        view = await audited(runs, group.goal_path, display, shown=call.terminal.live and not call.json)
    if view is None:
        call.terminal.message("it was not checked here: `donewhen check` does")
        return PAUSED_BY_CTRL_C
    code = exit_code(view.state)
    if code == COMPLETE:
        group = await attempts.proven(group)
    if call.json:
        standing = await attempts.standing(group)
        call.terminal.document({**document(group, standing), "check": json.loads(snapshot_text(view, call.root))})
        return code
    with suppress(OutputClosed):
        display.finish(view)
    if code != COMPLETE:
        call.terminal.message(f"its proof doesn't hold here: all attempts are kept as {group.id}")
    return code


# `attempts list|show|diff|apply|resume|drop`


async def attempts(call: Call) -> int:
    """One action on the attempts of this workspace."""
    actions: dict[str, Callable[[Call, Attempts], Awaitable[int]]] = {
        "list": _list_groups, "show": _show_group, "diff": _diff, "apply": _apply, "resume": _resume, "drop": _drop,
    }  # fmt: skip
    if call.arguments.all and call.arguments.action != "drop":
        raise UsageError("--all is of `donewhen attempts drop`")
    return await actions[call.arguments.action](call, attempts_of(call))


def _numbers_and_group(call: Call) -> tuple[list[int], str | None]:
    """The numbers and the id that a call names. Raises UsageError."""
    words: list[str] = call.arguments.which
    numbers = [int(word) for word in words if word.isdigit() and len(word) <= 2]
    names = [word for word in words if not (word.isdigit() and len(word) <= 2)]
    if len(names) > 1:
        raise UsageError(f"name one group of attempts, not {len(names)}: {', '.join(names)}")
    return numbers, names[0] if names else None


def _one_number(call: Call) -> tuple[int, str | None]:
    numbers, name = _numbers_and_group(call)
    if len(numbers) != 1:
        action = call.arguments.action
        raise UsageError(f"name one attempt by its number, such as `donewhen attempts {action} 2`")
    return numbers[0], name


async def _list_groups(call: Call, attempts: Attempts) -> int:
    groups = attempts.groups()
    for folder in attempts.damaged():
        call.terminal.message(f"the record of attempts in {folder} can't be read, and is left alone: if nothing in the"
                              " folder is needed, remove it")  # fmt: skip
    told = [(group, await attempts.standing(group), await attempts.bytes_kept(group)) for group in groups]
    if call.json:
        call.terminal.document([{**document(group, standing), "bytes": size} for group, standing, size in told])
        return 0
    for group, standing, size in told:
        proven = sum(one.result.proven for one in standing)
        kept = f", {group.applied} applied" if group.applied is not None else ""
        numbers = f"{proven} of {counted(len(standing), 'attempt')} proven{kept}"
        goal = shown_path(group.goal_path)
        call.terminal.result(f"{group.id}  {when(group.began)}  {size // 1024**2:,} MB  {numbers}  {goal}")
    if not told:
        call.terminal.message(f"there are no attempts in {call.root}")
    return 0


async def _show_group(call: Call, attempts: Attempts) -> int:
    group = attempts.group(_numbers_and_group(call)[1])
    _show_standing(call, group, await attempts.standing(group))
    return 0


async def _diff(call: Call, attempts: Attempts) -> int:
    number, name = _one_number(call)
    group = attempts.group(name)
    files, text = await attempts.diff(group, number)
    if call.json:
        listed = [{"path": one.path, "before": one.before, "now": one.now} for one in files]
        call.terminal.document({"id": group.id, "number": number, "files": listed, "diff": text})
    elif files:
        call.terminal.result(text.rstrip("\n"))
    else:
        call.terminal.message(f"attempt {number} changed nothing")
    return 0


async def _apply(call: Call, attempts: Attempts) -> int:
    number, name = _one_number(call)
    return await _applied(call, attempts, attempts.group(name), number)


async def _resume(call: Call, attempts: Attempts) -> int:
    numbers, name = _numbers_and_group(call)
    if numbers:
        raise UsageError("all attempts of a group are resumed: name its id, or nothing for the newest")
    group = attempts.group(name)
    if group.applied is not None:
        call.terminal.message(f"attempt {group.applied} is applied already: the goal is checked here")
        return await _audited_here(call, attempts, group)
    return await _pursue_group(call, attempts, group)


async def _drop(call: Call, attempts: Attempts) -> int:
    numbers, name = _numbers_and_group(call)
    if call.arguments.all:
        if numbers or name:
            raise UsageError("name what to drop, or give --all: not both")
        groups = attempts.groups()
    else:
        groups = [attempts.group(name)]
    freed: list[dict[str, Any]] = []
    for group in groups:
        unknown = [number for number in numbers if group.attempt(number) is None]
        if unknown:
            raise UsageError(f"there is no attempt {unknown[0]} among {group.id}")
        before = await attempts.bytes_kept(group)
        left = await attempts.drop(group, numbers or None)
        freed.append({"id": group.id, "numbers": numbers or [one.number for one in group.attempts],
                      "bytes": before - (await attempts.bytes_kept(left) if left is not None else 0)})  # fmt: skip
    if call.json:
        call.terminal.document(freed)
        return 0
    if not freed:
        call.terminal.message(f"there are no attempts in {call.root}")
    for one in freed:
        which = ", ".join(map(str, one["numbers"]))
        call.terminal.result(f"dropped {which} of {one['id']}: {one['bytes'] // 1024**2:,} MB")
    return 0


# The comparison, for people and as JSON.


def _show_standing(call: Call, group: Group, standing: Sequence[Standing]) -> None:
    if call.json:
        call.terminal.document({**document(group, standing), "check": None})
    else:
        _say_all(call, table(group, standing))


def _say_all(call: Call, lines: Sequence[str]) -> None:
    with suppress(OutputClosed):
        for line in lines:
            call.terminal.result(line)


HEADINGS = ("", "outcome", "proven", "files", "lines", "cost", "tokens", "time", "with")


def table(group: Group, standing: Sequence[Standing]) -> list[str]:
    """A row for each attempt, and below it what its proofs are worth and why it ended."""
    rows = [HEADINGS, *(_cells(group, one) for one in standing)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(HEADINGS))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    for one in standing:
        lines += [f"{one.attempt.number}: {one_line(told)}" for told in reasons(one)]
    return lines


def _cells(group: Group, one: Standing) -> tuple[str, ...]:
    number = f"{one.attempt.number}{'*' if group.applied == one.attempt.number else ''}"
    if one.view is None:
        return number, outcome_in_words(one), "", "", "", "", "", "", working_with(one)
    state, usage = one.view.state, one.view.state.usage
    lines = lines_changed(one)
    proven = f"{met(one)} of {len(one.view.views)}"
    spent = (money(usage.usd) if usage.tokens or usage.usd != 0 else "", f"{usage.tokens:,}" if usage.tokens else "")
    return (
        number,
        outcome_in_words(one),
        proven,
        f"{len(one.files)}",
        lines,
        *spent,
        duration(state.elapsed),
        working_with(one),
    )
