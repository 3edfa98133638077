"""A hint: what a person says to a worker unasked, while it works.

It is on record as an answer that no question asked for. The built-in agent reads it before its next call to the model;
any other worker reads it in the prompt of its next turn.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from donewhen.core.calls import Message
from donewhen.core.work import Answer

UNASKED = ""
"""The id of the interrupt that such an answer is given to: no interrupt has it."""
HEADING = "A message from the person who is following your work. Take it into account and carry on:"

ReadWhen = Literal["nextCall", "nextTurn", "resume"]
"""When a hint will be read: before the agent's next call to its model, with the next turn, or once the run goes on."""


def hint(text: str) -> Answer:
    """What is put on record."""
    return Answer("text", text.strip())


def hint_message(text: str) -> Message:
    """The hint as the agent's model is told it in the middle of a turn."""
    return Message("user", f"{HEADING}\n{text}")


def hint_in(message: Message) -> str | None:
    """The hint that `hint_message` made a message of; None for any other message."""
    told = message.role == "user" and message.text.startswith(f"{HEADING}\n")
    return message.text.removeprefix(f"{HEADING}\n") if told else None


def unasked(text: str) -> str:
    """The hint among the answers that a turn begins with."""
    return f"(without being asked) {text}"


def without(hints: Sequence[str], text: str) -> tuple[str, ...]:
    """The hints without the first of that text."""
    left = list(hints)
    if text in left:
        left.remove(text)
    return tuple(left)
