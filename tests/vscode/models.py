"""Models for the agent and its judge, played on loopback: each test says what they answer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.scripted_models import ModelCall, Reply, ScriptedModels, fails

Part = Callable[[ModelCall], Reply]


class Models:
    """`play` takes what each model answers from now on, by its name."""

    def __init__(self) -> None:
        self._parts: dict[str, Part] = {}
        self.served = ScriptedModels(self._answer)

    def play(self, **parts: Part) -> None:
        self._parts = dict(parts)

    def _answer(self, call: ModelCall) -> Reply:
        part = self._parts.get(call.model)
        return fails(400, f"{call.model} has no part") if part is None else part(call)

    def settings(self) -> dict[str, Any]:
        """The settings of a person who works with these models, and is asked."""
        return {
            "donewhen.worker": "agent",
            "donewhen.model": "openai/worker",
            "donewhen.apiBase": self.served.base_url,
            "donewhen.judgeModel": "openai/judge",
            "donewhen.judgeApiBase": self.served.base_url,
            "donewhen.approve": "ask",
            "donewhen.sandbox": "off",  # so that commands ask
            "donewhen.showTimelineOnStart": "never",
        }


def answers(call: ModelCall) -> list[str]:
    """What the tools answered so far, oldest first."""
    return [one.text for one in call.messages if one.role == "tool"]


def in_turn(*replies: Reply) -> Part:
    """The first reply where no tool has answered yet, the next after the first answer, and so on; then the last."""

    def part(call: ModelCall) -> Reply:
        return replies[min(len(answers(call)), len(replies) - 1)]

    return part


def one_by_one(*replies: Reply) -> Part:
    """The replies in their order, whatever is asked; then none is left."""
    left = list(replies)
    return lambda call: left.pop(0) if left else fails(400, "nothing is left to say")
