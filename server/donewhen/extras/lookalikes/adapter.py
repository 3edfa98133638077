"""What the interfaces of other systems share: a worker that is called with its caller's prompt first and then with
what was missing, limits in the form of those systems, and following a run until it stops."""

from __future__ import annotations

import asyncio
import contextlib
import copy
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, cast

from donewhen.core.calls import Message, messages_of
from donewhen.core.errors import DoneWhenError, JudgeOutage, UsageError, WorkerFailed
from donewhen.core.goal import Goal, Limits, Requirement, requirement_id
from donewhen.core.state import RunState
from donewhen.core.work import TurnResult
from donewhen.extras.lookalikes.response import (
    GoalAttempt,
    RetryPrompt,
    feedback_of,
    joined,
    retry_prompt,
    with_earlier,
)
from donewhen.library.goals import refuse_without_workspace
from donewhen.library.handles import GoalRun
from donewhen.ports import Turn, TurnContext
from donewhen.threads import to_its_end
from donewhen.workers.callables.agents import AgentCall, own_result
from donewhen.workers.callables.known import KnownAgent, plain_messages
from donewhen.workers.callables.prompts import retry_made_by
from donewhen.workers.callables.workers import as_text, left_behind_by, response_in, result_of, tracked, worker_called

MAX_ROUNDS = 10
TIMEOUT = 3600.0


@dataclass(frozen=True, slots=True)
class Asked:
    """The call that started a goal loop: the prompt, and the other arguments that the worker gets each time."""

    prompt: Any
    others: tuple[Any, ...] = ()
    named: Mapping[str, Any] = field(default_factory=dict[str, Any])


class LoopedWorker:
    """`ports.Worker` for one call of one worker. `attempts` grows with its turns; `response` is the return value of the
    present turn, `last` that of the latest turn that returned, `failure` the exception of the present one. `extras` is
    kept up to date: it tells validators which attempt they examine.

    A worker with a list `messages` keeps its own conversation; one that takes `messages` gets the conversation; any
    other worker gets its task and its last answer again. Without `preserve_context` each retry starts from the state
    before the first attempt, with only the latest feedback.
    """

    waits_for_person = False

    def __init__(
        self,
        worker: Callable[..., Any],
        asked: Asked,
        *,
        preserve_context: bool = True,
        template: RetryPrompt | None = None,
        checks: tuple[str, ...] = (),
        extras: dict[str, Any] | None = None,
        retry: Callable[[str | None], str] = retry_prompt,
    ) -> None:
        self._worker = tracked(worker)
        self._asked = asked
        self._preserve = preserve_context
        self._template = template
        self._checks = checks
        self._extras = extras if extras is not None else {}
        self._retry = retry
        self._conversation = conversation_of(worker, asked)
        self._first = self._conversation.kept()
        self.attempts: list[GoalAttempt] = []
        self.response: Any = None
        self.last: Any = None
        self.failure: BaseException | None = None
        self._exchanged: list[Any] = []

    @property
    def name(self) -> str:
        return "callable"

    @property
    def left_behind(self) -> str:
        return left_behind_by(self._worker)

    async def work(self, turn: Turn, context: TurnContext) -> TurnResult:
        if not turn.refinement:
            self.found(feedback_of(turn.views, self._checks), False)
        self.failure = self.response = None
        self._extras["attempt"] = turn.iteration
        prompt = self._prompt(turn)
        if turn.notes:  # of plugins
            prompt = joined(prompt, "\n\n".join(turn.notes))
        before = self._conversation.kept()
        try:
            named = {**self._asked.named, **self._conversation.keywords(prompt, self._preserve)}
            returned = await worker_called(self._worker, prompt, *self._asked.others, **named)
        except BaseException as error:
            if not isinstance(self._worker, AgentCall):  # which has done so, where it could
                self._conversation.restore(before)
            if isinstance(error, WorkerFailed):
                self.failure = error.__cause__ or error
                self._attempt(GoalAttempt(turn.iteration, False, error=str(error)))
            raise
        return self._record_turn(turn, prompt, returned)

    @property
    def _has_tried(self) -> bool:
        """Whether there was a turn that feedback can be about."""
        return self.last is not None or any(one.error is None for one in self.attempts)

    @property
    def messages(self) -> list[Any] | None:
        """The conversation so far, if it is visible."""
        return self._conversation.messages

    @property
    def said(self) -> tuple[Message, ...]:
        """The conversation so far, as a judge reads it: the worker's own messages, else the prompts and answers seen
        here."""
        held = self.messages
        return tuple(one for message in (self._exchanged if held is None else held) if (one := read_message(message)))

    def feedback(self, turn: Turn) -> str | None:
        """The worker's feedback on its last attempt; in a workspace it includes everything that the checks printed."""
        if turn.goal.about == "workspace" and turn.feedback:
            return turn.feedback
        return feedback_of(turn.views, self._checks)

    def found(self, feedback: str | None, passed: bool) -> None:
        """Notes the result of the validator or the judge for the last attempt."""
        if self.attempts and self.attempts[-1].error is None:
            self.attempts[-1] = replace(self.attempts[-1], passed=passed, feedback=feedback)

    def returned(self, state: RunState) -> Any:
        """What the caller gets once the run has stopped: the last response. Raises WorkerFailed if it crashed,
        JudgeOutage if the judge could not be asked."""
        if state.status == "crashed":
            raise WorkerFailed(state.lifecycle.reason) from self.failure
        if state.lifecycle.paused and state.judge.outages:
            raise JudgeOutage(state.lifecycle.paused)
        return own_result(self.last)

    def _attempt(self, attempt: GoalAttempt) -> None:
        """A turn that is refined, or that runs again, is one attempt."""
        if self.attempts and self.attempts[-1].attempt == attempt.attempt:
            self.attempts.pop()
        self.attempts.append(attempt)

    def _record_turn(self, turn: Turn, prompt: Any, returned: Any) -> TurnResult:
        result, response = result_of(returned, silent=turn.goal.about == "workspace"), response_in(returned)
        self._attempt(GoalAttempt(turn.iteration, False, None, response, result.error))
        if result.error is None and result.response is not None:
            self.response = self.last = response
            self._exchanged += [
                {"role": "user", "content": as_text(prompt)},
                {"role": "assistant", "content": result.response},
            ]
            self._conversation.answered(prompt, response)
        return result

    # ------------------------------------------------------------------------- what it is called with

    def _prompt(self, turn: Turn) -> Any:
        """The caller's own prompt until there is an answer, then what is missing in the answer."""
        asked = self._asked.prompt
        taken_up = not self._has_tried and turn.goal.about == "workspace" and bool(turn.feedback)
        if not self._has_tried and not taken_up:
            return asked
        feedback = turn.feedback if turn.refinement else self.feedback(turn)
        retry: Any = self._retry(feedback) if self._template is None else retry_made_by(self._template, feedback)
        if taken_up:
            return joined(asked, retry)  # a run from another process: this worker has seen nothing yet
        if not self._preserve:
            self._conversation.restore(self._first)
            return retry if self._conversation.given else joined(asked, retry)
        if self._conversation.remembers or self._template is not None:
            return retry
        return with_earlier(asked, self.last, retry)


def read_message(message: Any) -> Message | None:
    """A message of an agent's own, a mapping or an object with `role` and `content`, with the tools that it calls and
    their results. None for a system message, and for anything without a role."""
    if not isinstance(message, Mapping):
        message = {name: getattr(message, name, None) for name in ("role", "content", "tool_calls")}
    try:
        return next(iter(messages_of([cast("Mapping[str, Any]", message)])), None)
    except UsageError:
        return None


# -------------------------------------------------------------------------------------- conversations


class Unknown:
    """A worker whose memory isn't visible: it may have none."""

    remembers = False
    given = False

    @property
    def messages(self) -> list[Any] | None:
        """The conversation so far; None if it isn't visible."""
        return None

    def kept(self) -> Any:
        """What `restore` puts back: the conversation as it is now."""
        return None

    def restore(self, kept: Any) -> None:
        """Puts the conversation back, as far as the worker lets one."""

    def keywords(self, prompt: Any, preserve: bool) -> dict[str, Any]:
        return {}

    def answered(self, prompt: Any, returned: Any) -> None:
        """A turn produced an answer."""


class Own(Unknown):
    """A worker with a list `messages`, to which it adds by itself."""

    remembers = True

    def __init__(self, host: Any) -> None:
        self._host = host

    @property
    def messages(self) -> list[Any]:
        return cast("list[Any]", self._host.messages)

    def kept(self) -> Any:
        return _copied(self.messages)

    def restore(self, kept: Any) -> None:
        self.messages[:] = _copied(kept)


class Known(Unknown):
    """An agent of a known kind, which has its own conversation."""

    remembers = True

    def __init__(self, agent: KnownAgent) -> None:
        self._agent = agent

    @property
    def messages(self) -> list[Any]:
        return plain_messages(self._agent.messages)

    def kept(self) -> Any:
        return self._agent.kept()

    def restore(self, kept: Any) -> None:
        self._agent.restore(kept)


class Given(Unknown):
    """A worker that takes `messages`: the whole conversation, with its prompt last."""

    remembers = True
    given = True

    def __init__(self, original: list[Any], prompt: Any) -> None:
        self._first: list[Any] = [*original, {"role": "user", "content": prompt}]
        self._said: list[Any] = []

    @property
    def messages(self) -> list[Any]:
        return self._said

    def keywords(self, prompt: Any, preserve: bool) -> dict[str, Any]:
        if not self._said:
            return {"messages": _copied(self._first)}
        earlier = self._said if preserve else self._first
        return {"messages": [*_copied(earlier), {"role": "user", "content": prompt}]}

    def answered(self, prompt: Any, returned: Any) -> None:
        asked: list[Any] = [*self._said, {"role": "user", "content": prompt}] if self._said else self._first
        self._said = [*asked, {"role": "assistant", "content": as_text(returned)}]


def conversation_of(worker: Callable[..., Any], asked: Asked) -> Unknown:
    """How the worker remembers."""
    if isinstance(worker, AgentCall):
        return Known(worker.agent)
    given = asked.named.get("messages")
    if _takes_messages(worker):
        original = cast("list[Any]", given) if isinstance(given, list) else []
        return Given(_copied(original), asked.prompt)
    host = host_of(worker)
    return Own(host) if isinstance(getattr(host, "messages", None), list) else Unknown()


def _copied(messages: list[Any]) -> list[Any]:
    """A deep copy if possible: agents change messages in place."""
    try:
        return copy.deepcopy(messages)
    except Exception:  # noqa: BLE001  # whatever a message is, its list can be copied
        return list(messages)


def _takes_messages(worker: Callable[..., Any]) -> bool:
    try:
        parameters = list(inspect.signature(worker).parameters.values())
    except (TypeError, ValueError):
        return False
    return any(one.name == "messages" for one in parameters[1:])


def host_of(worker: Any) -> Any:
    """The worker's object: a bound method is created at each access, but its object stays the same."""
    owner = getattr(worker, "__self__", None)
    return owner if owner is not None and getattr(worker, "__func__", None) is not None else worker


def name_of(worker: Any) -> str:
    """The worker's name in messages."""
    return str(getattr(worker, "__qualname__", None) or type(worker).__name__)


# ------------------------------------------------------------------------------------- goals and limits


def about_response(condition: str, limits: Limits, *, instead: str) -> Goal:
    """A goal of one requirement, which only the response can meet. Raises InvalidGoal for a condition that names a
    command or a file; `instead` says what to do."""
    refuse_without_workspace(condition, instead=instead)
    said = " ".join(condition.split())
    return Goal("", condition, (Requirement(requirement_id(said), 1, said),), limits, about="response")


# ----------------------------------------------------------------------------------------------- one run


async def pursued(run: GoalRun) -> RunState:
    """The run's state once it goes no further. If this is cancelled, it ends the run, so that nothing more is spent."""
    try:
        await run.outcome()
    except asyncio.CancelledError:
        with contextlib.suppress(DoneWhenError):
            await to_its_end(run.stop("the caller was cancelled"))
        raise
    return run.state
