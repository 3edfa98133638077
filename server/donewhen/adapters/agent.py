"""What is known of an agent, whatever package it is of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from donewhen.adapters.answer import Answer
from donewhen.adapters.shapes import text
from donewhen.core.work import Usage


@dataclass(frozen=True, slots=True)
class KnownModel:
    """A model as litellm names it, and where and with what it is reached, where the agent says so."""

    name: str
    api_base: str | None = None
    api_key: str | None = None

    def __repr__(self) -> str:
        return f"KnownModel({self.name!r})"  # without the key


class KnownAgent:
    """An agent of a package that is known, for one run of it. Nothing of it knows the package: it is told by what it
    has, and called as its package documents it.

    `call` is awaited; where the agent `blocks`, `call_blocking` returns when it is done. `stop` asks the agent to end
    soon, and says whether it was told. `messages` are its conversation so far, in any shape that
    `adapters.plain_messages` reads.
    """

    kind: ClassVar[str]
    ways: ClassVar[tuple[str, ...]]
    """The methods by which callers call it: each means the agent."""
    awaited: ClassVar[bool] = False
    """Callers await the agent itself."""
    takes_blocks: ClassVar[bool] = False
    """Its prompt may be content blocks."""

    def __init__(self, agent: Any) -> None:
        self.agent = agent

    @staticmethod
    def knows(value: Any) -> bool:
        raise NotImplementedError

    async def blocks(self) -> bool:
        """Whether this very agent can't be awaited."""
        return False

    def call(self, prompt: Any, *others: Any, **named: Any) -> Any:
        raise NotImplementedError

    def call_blocking(self, prompt: Any, *others: Any, **named: Any) -> Any:
        """As `call`, where the agent `blocks`."""
        raise NotImplementedError

    def stop(self) -> bool:
        return False

    def answer(self, returned: Any) -> Answer:
        """What the last call came to."""
        raise NotImplementedError

    def spent(self) -> Usage | None:
        """All that the agent has cost so far; None if it keeps no account: then the answers tell."""
        return None

    @property
    def model(self) -> KnownModel | None:
        """The agent's own model, where litellm has a name for it."""
        return None

    @property
    def messages(self) -> Sequence[Any]:
        return ()

    def kept(self) -> Any:
        """What `restore` puts back: the conversation as it is now."""
        return None

    def restore(self, kept: Any) -> None:
        """Puts the conversation back, as far as the agent lets one."""


def known_model(provider: str, name: str, place: Any = None, key: Any = None) -> KnownModel | None:
    """The model in litellm's words; None without both a provider that it knows and a name."""
    if not provider or not name:
        return None
    base = str(place).rstrip("/") if place else ""
    return KnownModel(f"{provider}/{name}", base or None, key_of(key))


def key_of(key: Any) -> str | None:
    return text(key) or None
