"""An agent in a session of its own as the worker: a turn is what it does until its hook calls `donewhen gate`.

Nobody here starts it, and no process waits for it: the run stands still in its turn, as at any halt, and goes on when
the hook says that the agent wants to stop.
"""

from __future__ import annotations

from donewhen.core.plugging import Halt
from donewhen.core.work import UNKNOWN, Claim, TurnResult
from donewhen.ports import Turn, TurnContext
from donewhen.workers import WorkerParts

AT_WORK = "an agent works on it in a session of its own; `donewhen gate` looks when it stops"


class GateWorker:
    """What it says is not asked: that it stops is all that is known, and the audit tells the rest."""

    name = "gate"
    waits_for_person = False

    async def work(self, turn: Turn, context: TurnContext) -> TurnResult:
        """Returns at once where the agent stopped. Raises Halt where it is about to work."""
        if turn.resume is None:
            raise Halt(AT_WORK)
        return TurnResult(Claim(), UNKNOWN, summary="the agent stopped")


def make(parts: WorkerParts) -> GateWorker:
    return GateWorker()
