"""A fleet on this machine: the grants of its board are carried out in this process, and its record outlives it.

What people ask of it from other processes comes through the record, and is taken while it runs, or when it runs next.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from donewhen.core.errors import UsageError
from donewhen.extras.fleet.board import Board, Given, Grant, Outcome, Standing
from donewhen.extras.fleet.iterating import PASSES, IteratingPlace
from donewhen.extras.fleet.manifest import Fleet
from donewhen.extras.fleet.record import FleetRecord, FleetRequest, unknown_fleet

LOOKS_EVERY = 0.2
"""Seconds between two looks at what was asked in other processes."""
FIRST_RETRY, LAST_RETRY = 0.5, 30.0
"""Seconds before an iteration is tried again that something was in the way of."""


def opened_board(record: FleetRecord, fleet: Fleet, *, new: bool = False) -> Board:
    """The board of the fleet: as it was left, with what the manifest says now, also if it has ended; or a new one.
    Raises UsageError for a new one while the last has not ended."""
    kept = record.board()
    if kept is None:
        return Board(fleet, secrets.token_hex(8))
    board = Board.of(kept)
    if new:
        if not board.ended:
            raise UsageError(f"the fleet {fleet.name} has not ended: run it without --new, or stop it first")
        return Board(fleet, secrets.token_hex(8))
    for one in board.goals.values():
        if one.state == "working":  # the process that ran it is gone, and its run goes on as its ledger says
            one.state, one.reserved, one.stopping = "ready", 0.0, False
    board.again(fleet)
    return board


class LocalFleet:
    """Drives one board. `told` is called with it after every change."""

    def __init__(
        self,
        record: FleetRecord,
        board: Board,
        place: IteratingPlace,
        told: Callable[[Board], None] = lambda board: None,
    ) -> None:
        self._record, self._board, self._place, self._told = record, board, place, told
        self._tasks: dict[str, asyncio.Task[Outcome]] = {}

    async def run(self) -> Board:
        """Returns when nothing goes on by itself: all has ended, or waits for a person. Cancelling it interrupts what
        is at work, to be gone on with by the next run. Raises UsageError, and puts nothing on record, where a goal that
        is to begin or to go on now lacks its worker or a model."""
        for one in self._board.goals.values():
            if one.state == "ready":
                await self._place.refuse_unready(one.goal)
        self._keep_board()
        try:
            while True:
                self._take_requests()
                for grant in self._board.grants():
                    self._begin_iteration(grant, self._place.iterate)
                self._keep_board()
                if not self._tasks:
                    return self._board
                # Once settled it is kept, so that a kill at any time costs at most a look at the ledger.
                await asyncio.wait(self._tasks.values(), timeout=LOOKS_EVERY, return_when=asyncio.FIRST_COMPLETED)
                self._settle()
        finally:
            left = list(self._tasks.values())
            for task in left:
                task.cancel()
            await asyncio.gather(*left, return_exceptions=True)
            self._settle(closing=True)

    def _begin_iteration(self, grant: Grant, perform: Callable[[Grant], Awaitable[Outcome]]) -> None:
        self._tasks[grant.goal.id] = asyncio.ensure_future(_patiently(perform, grant))

    def _settle(self, *, closing: bool = False) -> None:
        for goal_id, task in list(self._tasks.items()):
            if not task.done():
                continue
            del self._tasks[goal_id]
            one = self._board.goals[goal_id]
            outcome = None if task.cancelled() else task.result()
            if one.stopping and not closing and (outcome is None or outcome.state != "ended"):
                self._begin_iteration(Grant(one.goal, one.run_id, one.number), self._place.end)
            elif outcome is not None:
                self._board.settle(outcome)
        self._keep_board()

    def _keep_board(self) -> None:
        self._record.keep(self._board.document())
        self._told(self._board)

    def _take_requests(self) -> None:
        for request in self._record.take():
            try:
                for one in apply(self._board, request.operation, request.arguments):
                    if one.goal.id in self._tasks:
                        self._tasks[one.goal.id].cancel()
                    else:
                        self._begin_iteration(Grant(one.goal, one.run_id, one.number), self._place.end)
            except UsageError:
                continue  # it was possible when it was asked, and something came first


class LocalAsking:
    """What people in other processes than the fleet's ask of it. Where nobody drives it, it is done at once."""

    def __init__(self, record: FleetRecord, place: IteratingPlace, name: str) -> None:
        self._record, self._place, self._name = record, place, name

    async def board(self) -> Board:
        """Raises UsageError for a fleet that never ran here."""
        kept = self._record.board()
        if kept is None:
            raise unknown_fleet(self._name)
        return Board.of(kept)

    async def ask(self, operation: str, arguments: Mapping[str, Any]) -> None:
        """Raises UsageError for what makes no sense as the fleet stands."""
        board = await self.board()
        stopped = apply(board, operation, arguments)
        if self._record.led:
            self._record.ask(FleetRequest(operation, arguments))
            return
        self._record.lead()
        for one in stopped:
            board.settle(await self._place.end(Grant(one.goal, one.run_id, one.number)))
        self._record.keep(board.document())


def apply(board: Board, operation: str, arguments: Mapping[str, Any]) -> list[Standing]:
    """What a person asks of a fleet; returns the goals whose runs are to be ended. Raises UsageError."""
    goal = arguments.get("goal")
    if operation == "stop":
        return board.stop(goal)
    if operation == "pause":
        board.pause(goal)
    elif operation == "resume":
        board.resume(goal)
    elif operation == "answer":
        board.answer(str(goal), Given(**arguments["given"]))
    else:
        raise UsageError(f"a fleet can't {operation}")
    return []


async def _patiently(perform: Callable[[Grant], Awaitable[Outcome]], grant: Grant) -> Outcome:
    """Tries again for as long as something that passes is in the way. A defect is that goal's end alone."""
    wait = FIRST_RETRY
    while True:
        try:
            return await perform(grant)
        except PASSES:
            await asyncio.sleep(wait)
            wait = min(2 * wait, LAST_RETRY)
        except Exception as error:  # noqa: BLE001  # other goals go on
            return Outcome(grant.goal.id, grant.number, "ended", "crashed", f"{type(error).__name__}: {error}")
