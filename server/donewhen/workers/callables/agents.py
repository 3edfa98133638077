"""Agents of known packages as workers: called on a loop, stopped when they are cut off, with what they cost."""

from __future__ import annotations

import asyncio
from typing import Any

from donewhen.core.errors import WorkerFailed
from donewhen.core.plugging import Halt
from donewhen.core.work import TurnResult, Usage
from donewhen.threads import BackgroundCall, run_in_thread, to_its_end
from donewhen.workers.callables.known import Answer, KnownAgent, answer_of, known_agent, plain_messages, several, texts

ENDS_BY_ITSELF = 1.0
"""Seconds that an agent has to end, once it was asked to, before its call is cancelled."""
ENDS_CANCELLED = 0.5


class AgentCall:
    """A known agent as an async callable, for one run. It returns a TurnResult whose response is an Answer.

    `left_behind` says what may still be at work of a call that was cut off.
    """

    def __init__(self, agent: KnownAgent) -> None:
        self.agent = agent
        self.left_behind = ""

    async def __call__(self, prompt: Any, /, *others: Any, **named: Any) -> Any:
        agent, before, kept = self.agent, self.agent.spent(), self.agent.kept()
        self.left_behind = ""
        try:
            answer = agent.answer(await self.native(prompt, *others, **named))
        except (Halt, asyncio.CancelledError):
            self._take_back(kept)  # the turn runs again
            raise
        except Exception as error:
            self._take_back(kept)
            said = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
            raise WorkerFailed(said, usage=_since(before, agent.spent())) from error
        usage = _since(before, agent.spent()) or answer.usage or Usage(usd=None)
        return TurnResult(response=answer if answer.strip() else None, usage=usage)

    async def native(self, prompt: Any, /, *others: Any, **named: Any) -> Any:
        """What the package's own call returns."""
        agent = self.agent
        asked = prompt if isinstance(prompt, str) or agent.takes_blocks else texts(prompt)
        if await BackgroundCall(agent.blocks).result():
            try:
                return await run_in_thread(lambda: agent.call_blocking(asked, *others, **named))
            except asyncio.CancelledError:
                await to_its_end(self._asked_to_end())
                raise
        call = BackgroundCall(lambda: agent.call(asked, *others, **named))
        try:
            return await call.result()
        except asyncio.CancelledError:
            await to_its_end(self._stopped(call))
            raise

    async def _asked_to_end(self) -> None:
        """A stop may wait for the agent's present step: nobody waits for the stop."""
        ending = asyncio.ensure_future(run_in_thread(self.agent.stop))
        await asyncio.wait({ending}, timeout=ENDS_CANCELLED)
        told = not ending.done() or ending.result()
        self.left_behind = self._still("was asked to stop, and ends after its current step" if told else CANT)

    async def _stopped(self, call: BackgroundCall) -> None:
        if self.agent.stop():
            await call.ends(ENDS_BY_ITSELF)
        call.cancel()
        if not await call.ends(ENDS_CANCELLED):
            self.left_behind = self._still("was asked to stop, and hasn't yet")

    def _still(self, how: str) -> str:
        return f"the {self.agent.kind} {how}: it may still be working, and what it returns is dropped"

    def _take_back(self, kept: Any) -> None:
        """What a turn left half said goes, unless the agent is still at it."""
        if not self.left_behind:
            self.agent.restore(kept)


CANT = "can't be interrupted"


def agent_call(given: Any) -> AgentCall | None:
    """A known agent to be called; None for any other worker."""
    agent = known_agent(given)
    return None if agent is None else AgentCall(agent)


def own_result(response: Any) -> Any:
    """What the agent's package returned, where it returned something."""
    return response.result if isinstance(response, Answer) and response.result is not None else response


def reported(returned: Any) -> Any:
    """A result of a known package as a TurnResult; anything else as it is."""
    answer = answer_of(returned)
    if answer is None:
        return returned
    return TurnResult(response=answer, usage=answer.usage or Usage(usd=None))


def claims_of(messages: Any) -> Any:
    """Messages of known packages in the shape of all others; what is not a sequence is left to be refused."""
    return plain_messages(messages) if several(messages) else messages


def _since(before: Usage | None, after: Usage | None) -> Usage | None:
    if before is None or after is None:
        return None
    usd = None if before.usd is None or after.usd is None else max(after.usd - before.usd, 0.0)
    return Usage(
        max(after.input_tokens - before.input_tokens, 0),
        max(after.output_tokens - before.output_tokens, 0),
        max(after.cached_tokens - before.cached_tokens, 0),
        usd,
    )
