"""What the models play: a part each, with its replies in order or a callable that answers."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, cast

from tests.scripted_models.calls import ModelCall
from tests.scripted_models.replies import Reply, fails

Answering = Callable[[ModelCall], Reply | Awaitable[Reply]]
ANY_MODEL = "*"


@dataclass(frozen=True, slots=True)
class Part:
    """What one model plays. After the last reply comes status 500 (`fail`), or that reply again."""

    replies: Sequence[Reply] | Answering
    when_out: Literal["fail", "repeat_last"] = "fail"


Playable = Part | Sequence[Reply] | Answering
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
        taken = self._taken
        self._taken += 1
        replies = self.part.replies
        found = await _ask(replies, call) if callable(replies) else self._scripted(replies, taken)
        if isinstance(found, str):
            return _told(call, found)
        wrong = found.expectation.failures(call) if found.expectation else []
        return _told(call, f"request {call.number}: {'; '.join(wrong)}") if wrong else (found, "")

    def _scripted(self, replies: Sequence[Reply], taken: int) -> Reply | str:
        if taken < len(replies):
            return replies[taken]
        if replies and self.part.when_out == "repeat_last":
            return replies[-1]
        return f"the script ran out: it has {len(replies)} replies, this is request {taken + 1}"


def parts(script: Script) -> dict[str, Playing]:
    """The parts by model, ready to be played."""
    named = cast("Mapping[str, Playable]", script) if isinstance(script, Mapping) else {ANY_MODEL: script}
    return {name: Playing(part if isinstance(part, Part) else Part(part)) for name, part in named.items()}


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
