"""Workers that are Python callables: each becomes a `ports.Worker`."""

from __future__ import annotations

import hashlib
import inspect
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

from donewhen.core.calls import Message, messages_of
from donewhen.core.errors import OverBudget, UsageError, WorkerFailed
from donewhen.core.plugging import Halt, plain_data
from donewhen.core.work import Claim, TurnResult, TurnState
from donewhen.ports import Turn, TurnContext, Worker
from donewhen.threads import Tracked, called, is_async
from donewhen.workers.callables.agents import AgentCall, agent_call, reported
from donewhen.workers.callables.known import answer_of, plain_messages
from donewhen.workers.callables.prompts import prompt_of, retry_made_by

OFFERED = ("turn", "context", "messages", "feedback")
"""What a callable gets besides the prompt, where it has a parameter of that name."""
RETURNED_NOTHING = "the worker returned nothing"
IN_A_THREAD = (
    "the worker is a sync callable, which can't be interrupted: it may still be working in its thread, and what it "
    "returns is dropped"
)


@dataclass(frozen=True, slots=True)
class Blocked:
    """Returned by a worker that can't go on: something outside of its reach is missing. The judge or a person confirms
    it before it ends the run.

    >>> from donewhen import Blocked, run_goal
    >>> def deployed(response, agent):
    ...     return "deployed" in response
    >>> outcome = run_goal("Deploy it", lambda prompt: Blocked("no credentials"), checks=[deployed])
    >>> outcome.status.value, outcome.interrupts[0].title
    ('paused', 'The worker says that it is blocked: no credentials. End the run as blocked?')
    """

    reason: str


@dataclass(frozen=True, slots=True)
class Impossible:
    """Returned by a worker that found the goal to contradict itself, or to be out of anybody's reach. The judge or a
    person confirms it before it ends the run.

    >>> from donewhen import Impossible
    >>> Impossible("the two tests contradict each other").reason
    'the two tests contradict each other'
    """

    reason: str


@dataclass(frozen=True, slots=True)
class Question:
    """Returned by a worker that needs a person to decide something: the run waits, and its next turn gets the answer.

    >>> from donewhen import Question
    >>> Question("Which of the two schemas?").text
    'Which of the two schemas?'
    """

    text: str


class PromptTemplate:
    """A caller's own retry prompt: called with the feedback, it returns a text or content blocks."""

    def __init__(self, template: Callable[[str | None], Any]) -> None:
        self._template = template
        self._made: tuple[str, Any] | None = None

    def prompt_text(self, feedback: str | None) -> str:
        """For the engine, which keeps texts."""
        made = retry_made_by(self._template, feedback)
        self._made = (as_text(made), made)
        return self._made[0]

    def prompt(self, turn: Turn) -> Any:
        """What the worker is called with: the template's own words, and nothing around them."""
        if turn.feedback is None:
            return prompt_of(turn)
        if self._made is not None and self._made[0] == turn.feedback:
            return self._made[1]
        return turn.feedback


class CallableWorker:
    """`ports.Worker` for `worker(prompt)`. What it gets besides, by name: `turn` and `context` (see `donewhen.ports`),
    `messages` (the conversation so far, `{"role", "content"}`, the prompt last), `feedback` (None in the first turn).

    A sync callable runs in a thread. Where the run is cut off it is left behind there, and what it returns is dropped.
    `response` is what it returned in the current turn.
    """

    waits_for_person = False

    def __init__(self, call: Callable[..., Any], template: PromptTemplate | None = None) -> None:
        self._wanted = _parameters(call)
        self._call = tracked(call)
        self._template = template
        self._before = call.agent.kept() if isinstance(call, AgentCall) else None
        self.response: Any = None

    @property
    def name(self) -> str:
        return "callable"

    @property
    def left_behind(self) -> str:
        return left_behind_by(self._call)

    @property
    def said(self) -> Callable[[], Sequence[Message]] | None:
        """What was said so far, as claims; None if nobody sees it."""
        if not isinstance(self._call, AgentCall):
            return None
        agent = self._call.agent
        return lambda: messages_of(plain_messages(agent.messages))

    @property
    def uses_tools(self) -> bool:
        """Only a callable that takes the `context` can make tool calls through the server."""
        return "context" in self._wanted

    async def work(self, turn: Turn, context: TurnContext) -> TurnResult:
        self.response = None
        if isinstance(self._call, AgentCall) and _starts_anew(turn):
            self._call.agent.restore(self._before)
        prompt = prompt_of(turn) if self._template is None else self._template.prompt(turn)
        messages = await self._given_messages(turn, context, prompt) if "messages" in self._wanted else []
        offered = {"turn": turn, "context": context, "feedback": turn.feedback, "messages": messages}
        returned = await worker_called(self._call, prompt, **{name: offered[name] for name in self._wanted})
        result = result_of(returned, silent=turn.goal.about == "workspace")
        if result.response is not None:
            self.response = response_in(returned)
            if "messages" in self._wanted:
                await context.keep(Message("assistant", result.response))
        return result

    async def _given_messages(self, turn: Turn, context: TurnContext, prompt: Any) -> list[dict[str, Any]]:
        """The conversation that a callable with `messages` is given; it is kept with the run. A turn that
        goes on where it was halted was told its prompt before."""
        earlier = [{"role": one.role, "content": one.text} for one in context.conversation]
        if _starts_anew(turn):
            earlier = [{"role": "user", "content": prompt_of(turn, first=True)}]
        if turn.resume is not None and earlier:
            return earlier
        await context.keep(Message("user", as_text(prompt)))
        return [*earlier, {"role": "user", "content": prompt}]


def _starts_anew(turn: Turn) -> bool:
    """Whether the worker is to forget its earlier turns."""
    return not turn.preserve_context and turn.feedback is not None and turn.refinement == 0


def tracked(call: Callable[..., Any]) -> Callable[..., Any]:
    """The callable, which says what of it is left behind where it is cut off."""
    return call if is_async(call) else Tracked(call)


def left_behind_by(call: Callable[..., Any]) -> str:
    """What may still be at work of a callable that was cut off; empty if nothing is."""
    if isinstance(call, AgentCall):
        return call.left_behind
    return IN_A_THREAD if isinstance(call, Tracked) and call.at_work else ""


async def worker_called(call: Callable[..., Any], *given: Any, **named: Any) -> Any:
    """What a worker returns. Whatever it raises, but for a Halt, is a WorkerFailed; so is a Halt with what can't be
    kept."""
    try:
        try:
            return await called(call, *given, **named)
        except Halt as halt:
            halt.data = plain_data(halt)
            raise
    except (Halt, WorkerFailed, OverBudget):
        raise
    except Exception as error:
        raise WorkerFailed(f"{type(error).__name__}: {error}" if str(error) else type(error).__name__) from error


def worker_of(given: Any, template: PromptTemplate | None = None) -> Worker:
    """A caller's worker as the port. Raises UsageError for anything else."""
    if callable(getattr(given, "work", None)) and hasattr(given, "waits_for_person"):
        return cast("Worker", given)
    agent = agent_call(given)
    if agent is not None:
        return CallableWorker(agent, template)
    if callable(given):
        return CallableWorker(given, template)
    raise UsageError(
        "a worker is a callable that takes the prompt, an AgentConfig, an agent of Strands, OpenHands, CubeLoop, "
        "PydanticAI, OpenAI Agents or LangGraph, or an object with the Worker port; "
        f"it is {type(given).__name__}"
    )


def result_of(returned: Any, *, silent: bool = False) -> TurnResult:
    """The end of a turn, from what a callable returned; a failed one where that can't be used. `silent`: it may return
    None, since files count."""
    try:
        match reported(returned):
            case TurnResult() as said:
                return _reported(said, silent)
            case Blocked(reason):
                return _claimed("blocked", reason)
            case Impossible(reason):
                return _claimed("impossible", reason)
            case Question(text):
                return _claimed("question", text)
            case None if silent:
                return TurnResult()
            case _:
                return _turn_result(returned)
    except Exception as error:  # noqa: BLE001  # whatever a value raises that is looked at
        said = f"what the worker returned can't be used: {type(error).__name__}: {error}"
        return TurnResult(error=said, summary=said)


def response_in(returned: Any) -> Any:
    """What validators are given of what a worker returned."""
    said = reported(returned)
    return said.response if isinstance(said, TurnResult) else said


def _reported(said: TurnResult, silent: bool) -> TurnResult:
    """A worker's own TurnResult, with what follows from its response."""
    if said.error is not None or said.claim.state != "finished" or (silent and said.response is None):
        return said
    answer = _turn_result(said.response)
    if answer.error is not None:
        return replace(answer, usage=said.usage, steps=said.steps)
    return replace(
        said,
        claim=said.claim if said.claim.text else answer.claim,
        response_digest=said.response_digest or answer.response_digest,
        summary=said.summary or answer.summary,
        response=answer.response,
    )


def _claimed(state: TurnState, text: object) -> TurnResult:
    if not isinstance(text, str):
        raise TypeError(f"{state.capitalize()} takes some text, not {text!r}")
    return TurnResult(Claim(state, text), summary=text)


def _turn_result(returned: Any) -> TurnResult:
    if inspect.isgenerator(returned) or inspect.isasyncgen(returned):
        error = "the worker returned a generator: have it collect what it yields and return that"
        return TurnResult(error=error, summary=error)
    text = as_text(returned)
    if not text.strip():
        return TurnResult(error=RETURNED_NOTHING, summary=RETURNED_NOTHING)
    kind = "" if isinstance(returned, str) else f"{type(returned).__qualname__}\0"  # a text alone is told by its own
    digest = hashlib.sha256(f"{kind}{text}".encode("utf-8", "replace")).hexdigest()
    line = text.strip().splitlines()[0][:200]
    return TurnResult(Claim("finished", line), response_digest=digest, summary=line, response=text)


def as_text(value: Any) -> str:
    """The text of a response or a prompt: of texts, of messages in the shapes that agents use, else JSON or `str`."""
    if value is None:
        return ""
    if isinstance(value, str):
        return str(value)
    if isinstance(value, Mapping):
        held = cast("Mapping[str, Any]", value)
        if "content" in held:
            return as_text(held["content"])
        if isinstance(held.get("text"), str):
            return held["text"]
        return _sorted_json(held) if held else ""
    if isinstance(value, Sequence) and not isinstance(value, bytes | bytearray):
        return _of_sequence(cast("Sequence[Any]", value))
    answer = answer_of(value)
    if answer is not None:
        return str(answer)
    content = getattr(value, "content", None)
    return content if isinstance(content, str) else str(value)


def _of_sequence(values: Sequence[Any]) -> str:
    """Content blocks are one text; of messages the last one counts, since it is the answer."""
    blocks = [cast("Mapping[str, Any]", one) for one in values if isinstance(one, Mapping)]
    if blocks and len(blocks) == len(values) and all("role" in one for one in blocks):
        return as_text(blocks[-1])
    texts = [one["text"] for one in blocks if isinstance(one.get("text"), str)]
    texts = texts or [one.text for one in values if isinstance(getattr(one, "text", None), str)]
    if texts:
        return "\n".join(texts)
    return _sorted_json(values) if values and len(blocks) < len(values) else ""


def _sorted_json(value: Any) -> str:
    try:
        return json.dumps(value, ensure_ascii=False, sort_keys=True)
    except (TypeError, ValueError):
        return str(value)


def _parameters(call: Callable[..., Any]) -> tuple[str, ...]:
    """Which of the offered names it takes. Raises UsageError for one that can't take the prompt."""
    try:
        known = inspect.signature(call).parameters
    except (TypeError, ValueError):  # built in: nothing is known of it
        return ()
    kinds = inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.VAR_POSITIONAL
    first = next((one.name for one in known.values() if one.kind in kinds), None)
    if first is None:
        raise UsageError("a worker takes the prompt as its first argument: def worker(prompt): ...")
    return tuple(name for name in OFFERED if name in known and name != first)
