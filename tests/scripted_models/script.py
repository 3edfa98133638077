"""What the models play: a part each, with its replies in order or a callable that answers."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, cast, get_args

from tests.scripted_models.calls import ModelCall
from tests.scripted_models.replies import Endless, Reply, context_exceeded, fails, unsupported
from tests.scripted_models.shapes import Plan, plan

Answering = Callable[[ModelCall], Reply | Awaitable[Reply]]
WhenOut = Literal["fail", "repeat_last", "repeat_all"]
WHEN_OUT: tuple[WhenOut, ...] = get_args(WhenOut)
ANY_MODEL = "*"


@dataclass(frozen=True, slots=True)
class Part:
    """What one model plays.

    After the last reply, `when_out` says what comes: status 500 (`fail`), the last reply or all of them again.
    `unsupported` names parameters, or types of `response_format`, that the model refuses with status 400. `window` is
    in tokens, as estimated: a longer conversation exceeds the context. Both leave the replies untouched.
    """

    replies: Sequence[Reply] | Answering
    when_out: WhenOut = "fail"
    unsupported: tuple[str, ...] = ()
    window: int | None = None


class Prebuilt:
    """A part for benchmarks: its replies, all of them over and over, are bytes before the first request comes.

    As the whole script of a server, it also spares the parsing of requests. A token count that isn't given is 0 for
    the prompt. Delays and paces hold; expectations are not looked at.
    """

    def __init__(self, *replies: Reply, model: str = "scripted") -> None:
        if not replies or any(isinstance(reply.act, Endless) for reply in replies):
            raise ValueError("a prebuilt part needs at least one reply, and each must end")
        self._plain = _built(replies, model, {})
        self._stream = _built(replies, model, {"stream": True, "stream_options": {"include_usage": True}})
        self._played = 0

    def next(self, streams: bool) -> Plan:
        plans = self._stream if streams else self._plain
        self._played += 1
        return plans[(self._played - 1) % len(plans)]


Playable = Part | Prebuilt | Sequence[Reply] | Answering
Script = Playable | Mapping[str, Playable]
"""Parts by the name of the model, `*` for any other; a single part is played by every model."""


class Playing:
    """A part while it is played."""

    def __init__(self, part: Part) -> None:
        self.part = part
        self.asked = 0
        """How many requests came to this model."""
        self._taken = 0

    @property
    def left(self) -> int:
        """The replies that nobody asked for."""
        replies = self.part.replies
        return 0 if callable(replies) else max(0, len(replies) - self._taken)

    async def reply(self, call: ModelCall) -> tuple[Reply, str]:
        """The reply to a request, and what is wrong: a text, empty if nothing is."""
        refusal = self._refusal(call)
        if refusal:
            return refusal, ""
        taken = self._taken
        self._taken += 1
        replies = self.part.replies
        found = await _ask(replies, call) if callable(replies) else self._scripted(replies, taken)
        if isinstance(found, str):
            return _told(call, found)
        wrong = found.expectation.failures(call) if found.expectation else []
        return _told(call, f"request {call.number}: {'; '.join(wrong)}") if wrong else (found, "")

    def _refusal(self, call: ModelCall) -> Reply | None:
        kind = (call.response_format or {}).get("type")
        for name in self.part.unsupported:
            if call.body.get(name) is not None or kind == name:
                return unsupported("response_format" if kind == name else name)
        window = self.part.window
        if window is not None and call.prompt_tokens > window:
            return context_exceeded(window, call.prompt_tokens)
        return None

    def _scripted(self, replies: Sequence[Reply], taken: int) -> Reply | str:
        if taken < len(replies):
            return replies[taken]
        if replies and self.part.when_out != "fail":
            return replies[-1 if self.part.when_out == "repeat_last" else taken % len(replies)]
        return f"the script ran out: it has {len(replies)} replies, this is request {taken + 1}"


def parts(script: Script) -> dict[str, Playing | Prebuilt]:
    """The parts by model, ready to be played."""
    named = cast("Mapping[str, Playable]", script) if isinstance(script, Mapping) else {ANY_MODEL: script}
    return {name: _playing(part) for name, part in named.items()}


def _playing(playable: Playable) -> Playing | Prebuilt:
    if isinstance(playable, Prebuilt):
        return playable
    return Playing(playable if isinstance(playable, Part) else Part(playable))


async def _ask(answering: Answering, call: ModelCall) -> Reply | str:
    """The callable's reply; its defect, as text."""
    try:
        found = answering(call)
        return _as_reply(await found if inspect.isawaitable(found) else found)
    except Exception as error:  # noqa: BLE001 - whatever a test's callable raises must reach the test, not the server
        return f"the scripted callable raised {type(error).__name__}: {error}"


def _as_reply(found: object) -> Reply | str:
    return found if isinstance(found, Reply) else f"the scripted callable returned {type(found).__name__}, not a Reply"


def _told(call: ModelCall, problem: str) -> tuple[Reply, str]:
    message = f"model {call.model}: {problem}"
    return fails(500, message, code="script"), message


def _built(replies: Sequence[Reply], model: str, body: Mapping[str, Any]) -> list[Plan]:
    made = [plan(reply, ModelCall(model, number, body), 0) for number, reply in enumerate(replies, 1)]
    return [replace(one, pieces=tuple(one.pieces)) for one in made]
