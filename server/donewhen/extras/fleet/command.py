"""`fleet`: many goals over many workspaces, on this machine or at a Temporal server."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager, closing
from dataclasses import asdict
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from donewhen.cli.calling import Call
from donewhen.cli.formatting import one_line
from donewhen.cli.outcome import COMPLETE, NOT_COMPLETE, PAUSED_BY_CTRL_C, PERSON_NEEDED
from donewhen.cli.questions import given_answer
from donewhen.cli.terminal import ending_signals
from donewhen.core.answers import answers_usage, checked_answer
from donewhen.core.errors import UsageError
from donewhen.core.words import counted, money
from donewhen.extras.fleet.board import Board, Given, Standing
from donewhen.extras.fleet.iterating import IteratingPlace
from donewhen.extras.fleet.local import LocalAsking, LocalFleet, opened_board
from donewhen.extras.fleet.manifest import DEFAULT_QUEUE, NAME, Fleet, load_manifest
from donewhen.extras.fleet.record import fleet_on_record, open_fleet_record
from donewhen.installation import how_to_get

if TYPE_CHECKING:
    from temporalio.client import Client

    from donewhen.extras.fleet.temporal.client import TemporalAsking

ASKS_EVERY = 1.0
"""Seconds between two looks at a fleet that is followed at a server."""
USES = {
    "run": "fleet run MANIFEST",
    "status": "fleet status FLEET",
    "stop": "fleet stop FLEET [GOAL]",
    "pause": "fleet pause FLEET [GOAL]",
    "resume": "fleet resume FLEET [GOAL]",
    "answer": "fleet answer FLEET GOAL INTERRUPT_ID ANSWER [TEXT]",
    "worker": "fleet worker --temporal ADDRESS --queue NAME",
}
_COUNTS = {"run": (1, 1), "status": (1, 1), "answer": (4, None), "worker": (0, 0)}


async def fleet(call: Call) -> int:
    """Runs one of the actions of USES."""
    action, words = call.arguments.action, list(call.arguments.words)
    if action is None:
        uses = "\n".join(f"  donewhen {use}" for use in USES.values())
        raise UsageError(f"say what to do with a fleet, many goals that are pursued together (docs/scale.md):\n{uses}")
    least, most = _COUNTS.get(action, (1, 2))
    if len(words) < least or (most is not None and len(words) > most):
        few = "needs more than that" if len(words) < least else "takes less than that"
        raise UsageError(f"`donewhen fleet {action}` {few}; use: donewhen {USES[action]}")
    if action == "worker":
        return await _work(call)
    if action == "run":
        return await _run_fleet(call, Path(words[0]))
    async with _asking(call, _fleet_name(words[0])) as asking:
        if action == "status":
            return _finished(call, await asking.board())
        board = await asking.board() if action == "answer" else None
        await asking.ask(action, _act_arguments(words, board))
        call.terminal.message(f"{words[0]}: {action} is on record")
        return COMPLETE


def _act_arguments(words: Sequence[str], board: Board | None) -> dict[str, Any]:
    goal = words[1] if len(words) > 1 else None
    if board is None or goal is None:
        return {"goal": goal}
    questions = board.goals[goal].questions if goal in board.goals else []
    asked = next((one.interrupt for one in questions if one.id == words[2]), None)
    said = given_answer(words[3], " ".join(words[4:]) or None, asked)
    if asked is not None:
        checked_answer(asked, said.response, said.text, said.input, said.reason)
    changed = None if said.input is None else dict(said.input)
    given = Given(words[2], said.response, said.text, changed, said.reason, said.remember)
    return {"goal": goal, "given": asdict(given)}


def _fleet_name(word: str) -> str:
    """A fleet by its name, or by its manifest."""
    if word.endswith(".toml"):
        return load_manifest(Path(word)).name
    if not NAME.fullmatch(word):
        raise UsageError(f"{word!r} is not the name of a fleet: give the one in its manifest, or the manifest itself")
    return word


# ------------------------------------------------------------------------------------------------ run


async def _run_fleet(call: Call, path: Path) -> int:
    given = call.arguments
    wanted = load_manifest(path, parallel=given.parallel, max_cost=given.max_cost)
    if given.temporal is None:
        return await _run_here(call, wanted)
    asking = await _at_server(call, wanted.name)
    await asking.start(wanted, new=given.new)
    if given.detach:
        call.terminal.message(f"{wanted.name} is at {given.temporal}: donewhen fleet status {wanted.name} ...")
        return COMPLETE
    return await _followed(call, asking)


async def _run_here(call: Call, wanted: Fleet) -> int:
    with ending_signals() as ending, closing(open_fleet_record(wanted.name, call.state_dir)) as record:
        record.lead()
        board = opened_board(record, wanted, new=call.arguments.new)
        if board.ended:
            # It may have been killed before it could say so.
            call.terminal.message(f"{wanted.name} has ended, as follows: --new runs it once more")
            return _finished(call, board)
        ended = await ending.unless_set(LocalFleet(record, board, _place(call), _Told(call)).run())
        if ended is None:
            call.terminal.message("interrupted; nothing is lost: run it again to go on")
            return PAUSED_BY_CTRL_C
        return _finished(call, ended)


async def _followed(call: Call, asking: LocalAsking | TemporalAsking) -> int:
    """Shows a fleet at a server until nothing goes on by itself. Ctrl-C ends the looking, not the fleet."""
    from donewhen.extras.fleet.temporal.client import ServerAway

    told, away = _Told(call), False
    with ending_signals() as ending:
        signalled = asyncio.ensure_future(ending.wait())
        while not signalled.done():
            try:
                board = await asking.board()
                away = False
            except ServerAway as error:
                if not away:
                    call.terminal.message(str(error))
                away = True
            else:
                told(board)
                if board.working == 0 and not any(one.state == "ready" for one in board.goals.values()):
                    signalled.cancel()
                    return _finished(call, board)
            await asyncio.wait({signalled}, timeout=ASKS_EVERY)
    call.terminal.message("the fleet goes on at the server; `donewhen fleet stop` stops it")
    return PAUSED_BY_CTRL_C


class _Told:
    """Says what changed of each goal, a line each."""

    def __init__(self, call: Call) -> None:
        self._call, self._said = call, dict[str, tuple[str, str | None, int]]()

    def __call__(self, board: Board) -> None:
        for one in board.goals.values():
            now = (one.state, one.end, one.iteration)
            known = self._said.get(one.goal.id, ("ready", None, 0))
            self._said[one.goal.id] = now
            if now != known and one.state in ("ended", "waiting", "paused") and not self._call.json:
                self._call.terminal.message(_goal_line(one))


def _finished(call: Call, board: Board) -> int:
    """Shows the board, and returns the exit code that it stands for."""
    call.terminal.document(board.document()) if call.json else _show_board(call, board)
    if not board.ended:
        return PERSON_NEEDED if board.working == 0 else NOT_COMPLETE
    return COMPLETE if all(one.end == "complete" for one in board.goals.values()) else NOT_COMPLETE


def _show_board(call: Call, board: Board) -> None:
    counts: dict[str, int] = {}
    for one in board.goals.values():
        word = one.end or one.state
        counts[word] = counts.get(word, 0) + 1
        call.terminal.result(_goal_line(one))
        for question in one.questions:
            call.terminal.result(f"  {question.id} {one_line(question.title)}")
            takes = answers_usage(question.interrupt)
            call.terminal.result(f"  donewhen fleet answer {board.fleet.name} {one.goal.id} {question.id} {takes}")
    told = ", ".join(f"{number} {word}" for word, number in sorted(counts.items()))
    of = f" of {money(board.fleet.max_cost)}" if board.fleet.max_cost is not None else ""
    paused = "; the fleet is paused" if board.paused else ""
    call.terminal.result(f"{board.fleet.name}: {told}; {money(board.spent)}{of}{paused}")


def _goal_line(one: Standing) -> str:
    reason = f": {one_line(one.reason)}" if one.reason and one.end != "complete" else ""
    return f"{one.goal.id}  {one.end or one.state}  run {one.run_id}, {counted(one.iteration, 'iteration')}{reason}"


# ---------------------------------------------------------------------------------------------- where


@asynccontextmanager
async def _asking(call: Call, name: str) -> AsyncGenerator[LocalAsking | TemporalAsking]:
    if call.arguments.temporal is not None:
        yield await _at_server(call, name)
        return
    with closing(fleet_on_record(name, call.state_dir)) as record:
        yield LocalAsking(record, _place(call), name)


def _place(call: Call) -> IteratingPlace:
    return IteratingPlace(call.services, call.state_dir, lambda: dict(call.terminal.environ))


async def _connected(call: Call) -> Client:
    if find_spec("temporalio") is None:
        raise UsageError(f"--temporal needs the fleet extra: {how_to_get('fleet')}")
    from donewhen.extras.fleet.temporal.client import connected  # lazy: nothing else needs temporalio

    return await connected(call.arguments.temporal, call.arguments.namespace)


async def _at_server(call: Call, name: str) -> TemporalAsking:
    client = await _connected(call)
    from donewhen.extras.fleet.temporal.client import TemporalAsking  # lazy, as above

    return TemporalAsking(client, name)


async def _work(call: Call) -> int:
    given = call.arguments
    if given.temporal is None:
        raise UsageError(f"a worker joins a Temporal server: donewhen {USES['worker']}")
    client = await _connected(call)
    from donewhen.extras.fleet.temporal.worker import serve  # lazy, as above

    queues = given.queue or [DEFAULT_QUEUE]
    parallel = given.parallel or max(os.cpu_count() or 1, 1)
    call.terminal.message(f"takes goals of {', '.join(queues)} from {given.temporal}, {parallel} at a time")
    with ending_signals() as ending:
        await ending.unless_set(serve(client, _place(call), queues, parallel))
    return COMPLETE
