"""One call of an agent's hook: checks whether the goal is proven, and answers in the agent's own form.

It never ends with the exit code by which agents take a hook to block them. A call that it can't read holds the agent
once, with the reason; what goes wrong after that lets it stop: a gate that can't look must not hold an agent for ever.
"""

from __future__ import annotations

import json
from argparse import Namespace
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from donewhen.app.gate import (
    GateRecord,
    GateSession,
    Standing,
    agent_above,
    alive_above,
    keep_record,
    read_record,
    unchanged,
)
from donewhen.cli.calling import Call, call_of
from donewhen.cli.gate.forms import (
    HookCall,
    NotAHook,
    block_unread,
    event_of,
    folders_of,
    form_of,
    read_call,
    session_of,
)
from donewhen.core.errors import AlreadyRunning, DoneWhenError, HeldElsewhere, UnknownRun, UnreadableRun

if TYPE_CHECKING:  # a fresh proof is told without the engine
    from donewhen.engine.api import Runs, RunView

MOST_BLOCKS = 10
"""Times that one session is sent back, unless the goal's own `max_iterations` says otherwise."""
SHOWN = 9_000
"""Characters that an agent is sent: some cut longer ones themselves."""
IN_A_RUN = "DONEWHEN_RUN_TOKEN"
PROJECT_VARIABLES = ("CLAUDE_PROJECT_DIR", "GEMINI_PROJECT_DIR", "CURSOR_PROJECT_DIR")
_ONCE_MORE = 2
UNCHANGED = "nothing changed since it was last sent back"
UNREAD = "the hook's call could not be read"


@dataclass(frozen=True, slots=True)
class Found:
    """What a look found. `said` is what is unproven, for the agent; None: there is nothing to send it back for, and
    `note` tells the person why. `let_go`: why it may stop although something is unproven that it could go on with."""

    said: str | None
    note: str = ""
    let_go: str = ""


async def gate(call: Call) -> int:
    """`donewhen gate` reads a hook's call and prints the answer; 0, or 1 where nothing could be read. Its two actions
    are for settings."""
    if call.arguments.action is not None:
        from donewhen.cli.gate import installing  # a hook's call needs none of it

        return await (installing.install if call.arguments.action == "install" else installing.uninstall)(call)
    named: str | None = call.arguments.agent
    sent = await _sent_by_hook(call)
    if isinstance(sent, str):
        return await _unread(call, named, {}, f"the gate got {sent}")
    form = form_of(sent, named)
    try:
        asked = read_call(form, sent)
        found = await _looked(call, asked)
    except NotAHook as wrong:
        return await _unread(call, named, sent, str(wrong))
    except DoneWhenError as error:
        # The agent may stop: the person reads that nothing was proven, and why.
        found = Found(None, f"Done When could not check whether the goal is proven: {error}")
        call.terminal.message(f"donewhen: error: {error}")
    call.terminal.document(form.answer(found.said, found.note))
    return 0


async def _unread(call: Call, named: str | None, sent: dict[str, Any], wrong: str) -> int:
    """The answer to a call that no form knows. It may be an agent that stops: so where there is a goal, each session is
    held once for each of its events, and told why."""
    if call.terminal.interactive:  # no agent asks: there is nobody to hold
        call.terminal.message(f"`donewhen gate` is started by an agent's hook. {_HOW}")
        return 1
    call.terminal.message(f"donewhen: error: {wrong}. {_HOW}")
    try:
        held = None if call.terminal.environ.get(IN_A_RUN) else await _held_unread(call, sent, wrong)
    except DoneWhenError as error:
        held = None
        call.terminal.message(f"donewhen: error: {error}")
    call.terminal.document({} if held is None else block_unread(named, held))
    return 1 if held is None else 0


async def _held_unread(call: Call, sent: dict[str, Any], wrong: str) -> str | None:
    """What the agent gets to read; None if it may stop, because it was held once already,
    which its run says from then on."""
    placed = await _placed(call, folders_of(sent))
    if placed is None:
        return None
    call, goal = placed
    record = read_record(call.root, call.state_dir)
    name = f"unread {event_of(sent)} of {session_of(sent) or agent_above()}"
    session = record.session(name)
    first = not session.blocks and sent.get("stop_hook_active") is not True
    if first and _keep_session(call, record.with_session(name, replace(session, blocks=1))):
        return _HELD.format(wrong=wrong, goal=goal)
    await _let_unseen_stop(call, record, goal, UNREAD)
    return None


_HELD = (
    "Done When could not read what this agent's hook sent: {wrong}. So it is not known whether the goal in {goal} "
    "is proven. Run `donewhen check {goal}`, keep going until everything is met, and tell the person to set the hook "
    "up again with `donewhen gate install AGENT`. After that you may stop: you are held only once for this."
)
_HOW = "It expects the JSON that the agent's hook sends on standard input: `donewhen gate install AGENT` sets that up"


async def _sent_by_hook(call: Call) -> dict[str, Any] | str:
    """What the hook sent; a text says what is wrong with it."""
    lines: list[str] = []
    if not call.terminal.interactive:
        while (line := await call.terminal.lines.next()) is not None:
            lines.append(line)
    text = "\n".join(lines).lstrip("\ufeff").strip()
    if not text:
        return "nothing on standard input"
    try:
        sent = json.loads(text)
    except ValueError as error:
        return f"something that isn't JSON ({error})"
    return cast("dict[str, Any]", sent) if isinstance(sent, dict) else "JSON that is not an object"


async def _looked(call: Call, asked: HookCall) -> Found:
    if call.terminal.environ.get(IN_A_RUN):
        return Found(None)  # the run that started this agent looks itself, with a start of its own
    placed = await _placed(call, asked.folders, begins=asked.event == "start")
    if placed is None:
        return Found(None)
    call, goal = placed
    record = read_record(call.root, call.state_dir)
    if asked.event == "start":
        await _begin_session(call, goal, record, asked)
        return Found(None)
    try:
        return await _stopped(call, goal, record, asked)
    except DoneWhenError as error:
        with suppress(DoneWhenError):  # what kept it from looking may keep it from this too
            await _let_unseen_stop(call, record, goal, f"it could not be checked: {error}")
        raise


async def _placed(call: Call, folders: tuple[str, ...], *, begins: bool = False) -> tuple[Call, str] | None:
    """The workspace that the agent works in, and its goal; None where there is none, or several to choose from.
    `begins`: a session begins."""
    environ = call.terminal.environ
    if getattr(call.arguments, "workspace", None) or environ.get("DONEWHEN_WORKSPACE"):
        goal = await _goal_of(call, begins=begins)
        return None if goal is None else (call, goal)
    named = [environ.get(name, "") for name in PROJECT_VARIABLES]
    for folder in dict.fromkeys([*filter(None, named), *folders, str(call.root)]):
        for root in _possible_roots(Path(folder), call.state_dir):
            arguments = Namespace(**{**vars(call.arguments), "workspace": str(root)})
            there = call if root == call.root else call_of(arguments, call.terminal, call.services, call.serve)
            goal = await _goal_of(there, begins=begins)
            if goal is not None:
                return there, goal
    return None


def _possible_roots(folder: Path, state_dir: Path | None) -> list[Path]:
    """The folder itself and those above it, no further than its repository, that hold a goal or had one."""
    found: list[Path] = []
    with suppress(OSError, RuntimeError):
        start = folder.resolve()
        for place in (start, *start.parents):
            if _goal_in(place) is not None or read_record(place, state_dir).runs:
                found.append(place)
            if (place / ".git").exists():
                break
    return found


async def _goal_of(call: Call, *, begins: bool) -> str | None:
    """The goal that the agent is held to: the one that is there. Where that was deleted, renamed, or joined or replaced
    by another one, it is the goal of the one run of an agent that isn't over; a new agent may begin with another."""
    goal, record = _goal_in(call.root), read_record(call.root, call.state_dir)
    if goal is not None and (goal in record.runs or (begins and not alive_above(record))):
        return goal
    if not record.runs:
        return goal
    async with call.runs() as runs:
        known = [(path, await _known_run(runs, record, path)) for path in record.runs]
    pursued = [path for path, view in known if view is not None and not _is_over(view)]
    return pursued[0] if len(pursued) == 1 else goal


def _goal_in(root: Path) -> str | None:
    if (root / "GOAL.md").is_file():
        return "GOAL.md"
    others = sorted(path.name for path in root.glob("*.goal.md") if path.is_file())
    return others[0] if len(others) == 1 else None


# ---- a session begins


async def _begin_session(call: Call, goal: str, record: GateRecord, asked: HookCall) -> None:
    """Keeps how things stand before the agent works: the tree, and what each check says. A start that is known stays:
    an agent that has worked on something must not begin anew from what it made."""
    inside = alive_above(record)
    session = replace(record.session(asked.session), agent=agent_above())
    record = record.with_session(asked.session, session)
    standing = record.standing.get(goal)
    fresh = standing is not None and not standing.said and unchanged(call.root, call.state_dir, standing)
    if not fresh and not (inside and goal in record.runs):
        async with call.runs() as runs:
            known = await _known_run(runs, record, goal)
            if known is None or _is_over(known):
                with suppress(AlreadyRunning):  # a run of a person's: what it proves is asked for when the agent stops
                    record, _ = await _started(runs, record, goal)
    _keep_session(call, record)


async def _started(runs: Runs, record: GateRecord, goal: str) -> tuple[GateRecord, RunView]:
    """A new run, as far as it goes before the agent has worked: it keeps the tree, and what each check says."""
    from donewhen.core.workers import GATE
    from donewhen.engine.api import LimitChanges, StartOptions

    limits = LimitChanges(max_iterations="unlimited")
    begun = await runs.start(goal, StartOptions(worker=GATE, approve="ask", askable=True, limits=limits))
    view = await _settled(runs, begun.state.run_id)
    record = record.with_run(goal, view.state.run_id).with_standing(goal, _standing_of(view))
    return record, view


# ---- an agent wants to stop


async def _stopped(call: Call, goal: str, record: GateRecord, asked: HookCall) -> Found:
    if not asked.open:
        return Found(None)  # a person stopped it, or asked for a plan alone
    session = record.session(asked.session)
    standing = record.standing.get(goal)
    if standing is not None and unchanged(call.root, call.state_dir, standing):
        if not standing.said:
            return Found(None, standing.note)
        if standing.signature == session.last:
            async with call.runs() as runs:
                return await _let_agent_stop(runs, record, goal, _given_up(standing, UNCHANGED))
    async with call.runs() as runs:
        try:
            record, view = await _audited(runs, record, goal)
            record = record.with_standing(goal, standing := _standing_of(view))
        except AlreadyRunning:  # a run of a person's: only how things stand can be told beside it
            standing = _standing_of(view := await runs.check(goal))
        found = _decision(view, standing, session, _most(call, goal))
        if session.agent is None:
            session = replace(session, agent=agent_above())
        if found.said is not None:
            session = replace(session, blocks=session.blocks + 1, last=standing.signature)
        kept = _keep_session(call, record.with_session(asked.session, session))
        if found.said is not None and asked.again and not kept:
            found = _given_up(standing, "how often it was sent back can't be kept")
        return await _let_agent_stop(runs, record, goal, found)


async def _let_agent_stop(runs: Runs, record: GateRecord, goal: str, found: Found) -> Found:
    """Says at the run, until the next look, that the agent stopped unproven: nobody may have seen the hook's note."""
    view = await _known_run(runs, record, goal) if found.let_go else None
    if view is not None and view.state.halted and view.state.lifecycle.paused is None:
        at = datetime.now().astimezone().strftime("%H:%M")
        with suppress(DoneWhenError):  # another hook may be looking at this moment
            await runs.pause(view.state.run_id, f"the agent stopped unproven at {at}: {found.let_go}", "run")
    return found


async def _let_unseen_stop(call: Call, record: GateRecord, goal: str, why: str) -> None:
    """The same where nothing could be looked at."""
    if goal in record.runs:
        async with call.runs() as runs:
            await _let_agent_stop(runs, record, goal, Found(None, let_go=why))


async def _audited(runs: Runs, record: GateRecord, goal: str) -> tuple[GateRecord, RunView]:
    """The run of the agent's work after one more look. Without a start there is nothing to compare with: then things
    are looked at as they stand."""
    view = await _known_run(runs, record, goal)
    if view is None:
        return await _started(runs, record, goal)
    if view.state.status == "cancelled" or (
        view.state.lifecycle.paused is not None and view.state.lifecycle.paused_by == "person"
    ):
        return record, view
    turns = view.state.turns_ended
    for _ in range(_ONCE_MORE):  # after its end, or where it was cut off, it first comes to stand in a turn
        view = await _on(runs, view.state.run_id)
        if view.state.turns_ended > turns or not view.state.halted:
            break
    return record, view


async def _on(runs: Runs, run_id: str) -> RunView:
    """Lets the run go on until it stands still. Another hook may be looking at the same moment: its look is waited
    for."""
    from donewhen.engine.api import StartOptions

    for _ in range(_ONCE_MORE):
        try:
            await runs.resume(run_id, options=StartOptions(askable=True))
        except (AlreadyRunning, HeldElsewhere) as busy:
            if isinstance(busy, AlreadyRunning) and busy.run_id != run_id:
                raise
            async for _ in runs.follow(run_id):
                pass
            continue
        return await _settled(runs, run_id)
    return await runs.view(run_id)


async def _settled(runs: Runs, run_id: str) -> RunView:
    """The run once it stands still: it ended, waits for the agent, or for a person. A question stays open: nobody
    waits for its answer here."""
    from donewhen.core.answers import WAITS

    view = await runs.view(run_id)
    async for view in runs.follow(run_id):
        if view.state.interrupts and view.state.active and not view.state.auditing.due:
            return await runs.pause(run_id, WAITS, "run")
    return view


async def _known_run(runs: Runs, record: GateRecord, goal: str) -> RunView | None:
    run_id = record.runs.get(goal)
    if run_id is None:
        return None
    try:
        return await runs.view(run_id)
    except (UnknownRun, UnreadableRun):
        return None


# ---- what that means


def _is_over(view: RunView) -> bool:
    return view.state.status in ("complete", "cancelled")


def _standing_of(view: RunView) -> Standing:
    from donewhen.core.proof import unmet_signature
    from donewhen.engine.results import result_name

    state = view.state
    said = "" if _proven(view) else _unproven(view)
    return Standing(state.revision, result_name(state), unmet_signature(state), said, _note(view))


def _proven(view: RunView) -> bool:
    """Complete, or nothing has been done since everything was proven at the start."""
    from donewhen.core.proof import satisfied
    from donewhen.core.verdict import PROVEN

    state = view.state
    if state.mode == "audit":
        return satisfied(state)
    if state.status == "complete":
        return True
    waits = state.halted and not state.turns_ended
    return waits and not state.open_findings and all(one.status in PROVEN for one in view.views)


def _decision(view: RunView, standing: Standing, session: GateSession, most: int) -> Found:
    state = view.state
    # Where it is paused or over, only a person can decide, or change anything.
    if not standing.said or state.lifecycle.paused is not None or (state.lifecycle.ended and state.mode == "pursue"):
        return Found(None, standing.note)
    if session.last == standing.signature:
        return _given_up(standing, UNCHANGED)
    if session.blocks >= most:
        often = "once" if most == 1 else f"{most} times"
        return _given_up(standing, f"it was sent back {often} in this session")
    return Found(standing.said, standing.note)


def _most(call: Call, goal: str) -> int:
    """How often one session is sent back: the goal's own limit of turns, where it has one."""
    from donewhen.cli.goal_argument import read_goal

    try:
        read = read_goal(call.root / goal).goal
    except OSError:
        read = None
    own = read.limits.max_iterations if read is not None and "max_iterations" in read.explicit_limits else None
    return MOST_BLOCKS if own is None else own


def _unproven(view: RunView) -> str:
    from donewhen.core.feedback import feedback_text, keep_ends, outputs_of

    state = view.state
    known = {one.id: one for one in state.audit_evidence}
    findings = [one.finding for one in state.open_findings]
    text = feedback_text(
        state.goal, view.views, view.locations, findings=findings, outputs=outputs_of(view.views, known)
    )
    path = state.goal.path or "the goal"
    begun = f"The goal in {path} is not proven yet; Done When ran its checks itself. Keep going until it is."
    return keep_ends(f"{begun}\n\n{text}", SHOWN)


def _note(view: RunView) -> str:
    """For the person, in one line."""
    state, met = view.state, sum(one.status in ("met", "waived") for one in view.views)
    count = f"{met} of {len(view.views)} requirements proven"
    report = f"donewhen report {state.run_id}"
    if _proven(view):
        return f"Done When: the goal is proven ({count}; {report})"
    if state.status == "cancelled":
        return f"Done When: NOT proven ({count}): a person stopped the run; {report}"
    if state.interrupts:
        from donewhen.core.answers import answers_usage

        asked = state.interrupts[0]
        return (
            f"Done When: NOT proven ({count}): a person is asked: {asked.title} "
            f"(`donewhen status {state.run_id}`, `donewhen answer {state.run_id} {asked.id} {answers_usage(asked)}`)"
        )
    why = f": {state.lifecycle.reason}" if state.lifecycle.ended and state.lifecycle.reason else ""
    return f"Done When: NOT proven ({count}){why}; {report}"


def _given_up(standing: Standing, why: str) -> Found:
    return Found(None, f"{standing.note}. The agent may stop: {why}", why)


def _keep_session(call: Call, record: GateRecord) -> bool:
    try:
        keep_record(call.root, call.state_dir, record)
    except (OSError, DoneWhenError) as error:
        call.terminal.message(f"donewhen: warning: what the gate knows about this session can't be saved: {error}")
        return False
    return True
