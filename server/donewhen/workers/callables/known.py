"""What is known of an agent, whatever package it is of."""

from __future__ import annotations

import inspect
import json
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, cast

from donewhen.core.work import Usage
from donewhen.extras import provided

# Telling objects by what they have, without importing who made them, and without running their code.


_MISSING = object()


def has(value: Any, *names: str) -> bool:
    """Whether it really has these: what it only makes up when it is asked, as mocks and proxies do, doesn't count."""
    return all(inspect.getattr_static(value, name, _MISSING) is not _MISSING for name in names)


def part(value: Any, *path: str) -> Any:
    """What stands at the end of the path of attributes or keys; None if it breaks off or can't be read."""
    for name in path:
        try:
            value = cast("Mapping[str, Any]", value)[name] if isinstance(value, Mapping) else getattr(value, name, None)
        except Exception:  # noqa: BLE001  # a property of somebody else's may raise anything
            return None
        if value is None:
            return None
    return value


def text_at(value: Any, *path: str) -> str:
    """As `part`, where that is a text, or a secret that tells its text; else empty."""
    found = part(value, *path)
    secret = part(found, "get_secret_value")
    found = secret() if callable(secret) else found
    return found.strip() if isinstance(found, str) else ""


def count(value: Any, *path: str) -> int:
    """As `part`, where that is a count; else 0."""
    found = part(value, *path)
    return found if isinstance(found, int) and not isinstance(found, bool) and found > 0 else 0


def several(value: Any) -> Sequence[Any]:
    """The parts of a list; none where it isn't one."""
    if isinstance(value, str | bytes | Mapping) or not isinstance(value, Sequence):
        return ()
    return cast("Sequence[Any]", value)


def texts(content: Any) -> str:
    """The text of a message's content: a text, or blocks, as objects or mappings, that have one each."""
    if isinstance(content, str):
        return content
    found = [one if isinstance(one, str) else part(one, "text") for one in several(content)]
    return "\n".join(one for one in found if isinstance(one, str) and one)


def as_json(value: Any) -> str:
    """Arguments of a tool call as JSON text; a text is taken for that."""
    if isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False, default=str)


def message(role: str, content: str, calls: Iterable[tuple[str, str, Any]] = (), answers: str = "") -> dict[str, Any]:
    """A message in the one shape in which all others are read: role, content, `tool_calls`, `tool_call_id`. `calls` are
    id, name and arguments."""
    made: dict[str, Any] = {"role": role, "content": content}
    called = [
        {"id": call_id, "type": "function", "function": {"name": name, "arguments": as_json(arguments)}}
        for call_id, name, arguments in calls
    ]
    if called:
        made["tool_calls"] = called
    if answers:
        made["tool_call_id"] = answers
    return made


def called(value: Any, name: str, *given: Any) -> Any:
    """What a method returns; None if there is none."""
    method: Callable[..., Any] | None = part(value, name)
    return method(*given) if callable(method) else None


# What an agent of a known package answered, in one shape.


class Answer(str):
    """The text of an answer, which also has what the package's own result has: `answer["content"]` where that is a
    mapping, `answer.output` where it is an object. So validators written for the package work, and those that read a
    text do, too.

    `result` is the package's own, None if it returns none. `keyed` is what `answer["..."]` looks into. `usage` is
    what the answer cost, None if the result doesn't tell.
    """

    result: Any
    keyed: Mapping[str, Any]
    usage: Usage | None

    def __new__(
        cls, text: str, result: Any = None, keyed: Mapping[str, Any] | None = None, usage: Usage | None = None
    ) -> Answer:
        made = super().__new__(cls, text)
        made.result, made.keyed, made.usage = result, keyed if keyed is not None else {}, usage
        return made

    def __str__(self) -> str:
        return str.__str__(self)  # the text alone, without what hangs on it

    def __getitem__(self, key: Any) -> Any:
        return self.keyed[key] if isinstance(key, str) else super().__getitem__(key)

    def __getattr__(self, name: str) -> Any:
        """Only asked for what a text has not."""
        if name.startswith("__") or name in Answer.__annotations__:
            raise AttributeError(name)
        for one in (self.result, self.keyed):
            if hasattr(one, name):
                return getattr(one, name)
        raise AttributeError(f"the agent's answer has no {name!r}")


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
    `plain_messages` reads.
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
        self.said: Any = None
        """The conversation where the agent remembers none: it is given on from turn to turn."""

    @staticmethod
    def knows(value: Any) -> bool:
        raise NotImplementedError

    @staticmethod
    def result(value: Any) -> Answer | None:
        """The answer in a result of the package; None for any other value."""
        return None

    @staticmethod
    def spoken(value: Any) -> Iterable[dict[str, Any]] | None:
        """A message, event or item of the package as plain messages; None for any other value."""
        return None

    async def blocks(self) -> bool:
        """Whether this very agent can't be awaited."""
        return False

    def call(self, prompt: Any, *others: Any, **named: Any) -> Awaitable[Any]:
        raise NotImplementedError

    def call_blocking(self, prompt: Any, *others: Any, **named: Any) -> Any:
        """As `call`, where the agent `blocks`."""
        raise NotImplementedError

    def stop(self) -> bool:
        return False

    def answer(self, returned: Any) -> Answer:
        """What the last call came to."""
        return self.result(returned) or Answer(str(returned), returned)

    def spent(self) -> Usage | None:
        """All that the agent has cost so far; None if it keeps no account: then the answers tell."""
        return None

    @property
    def model(self) -> KnownModel | None:
        """The agent's own model, where litellm has a name for it."""
        return None

    @property
    def messages(self) -> Sequence[Any]:
        return self.said or ()

    def kept(self) -> Any:
        """What `restore` puts back: the conversation as it is now."""
        return self.said

    def restore(self, kept: Any) -> None:
        """Puts the conversation back, as far as the agent lets one."""
        self.said = kept


def known_model(provider: str, name: str, place: Any = None, key: Any = None) -> KnownModel | None:
    """The model in litellm's words; None without both a provider that it knows and a name."""
    if not provider or not name:
        return None
    base = str(place).rstrip("/") if place else ""
    return KnownModel(f"{provider}/{name}", base or None, key_of(key))


def key_of(key: Any) -> str | None:
    return text_at(key) or None


# Which packages are known: an extra says so.


def _packages() -> tuple[type[KnownAgent], ...]:
    return provided("PACKAGES") or ()


def known_agent(given: Any) -> KnownAgent | None:
    """What is known of an agent, for one run; of a method by which its package calls it, as `agent.run`, too. None for
    anything else."""
    agent, name = getattr(given, "__self__", None), getattr(given, "__name__", None)
    if agent is None or getattr(given, "__func__", None) is None:
        agent, name = given, None
    found = next((one for one in _packages() if one.knows(agent)), None)
    return found(agent) if found is not None and (name is None or name in found.ways) else None


def answer_of(returned: Any) -> Answer | None:
    """The answer in a result of a known package, or in the messages of one; None for any other value."""
    if isinstance(returned, Answer):
        return returned
    if returned is None or isinstance(returned, str | bytes):
        return None
    messages = several(returned)
    if not messages:
        return next((found for one in _packages() if (found := one.result(returned)) is not None), None)
    # Messages that are plain mappings may be anybody's: nothing says that they are a known package's.
    if isinstance(messages[-1], Mapping | str) or not has(messages[-1], "__dict__"):
        return None
    plain = plain_messages(messages)
    if not all(isinstance(one, Mapping) and "role" in one for one in plain):
        return None
    return Answer(next((one["content"] for one in reversed(plain) if one["role"] == "assistant"), ""), messages)


def plain_messages(given: Iterable[Any]) -> list[Any]:
    """Messages, events and items of the known packages as mappings with role and content; a mapping that has a role
    stays as it is, and so does what nobody knows."""
    return [plain for one in given for plain in _as_messages(one)]


def _as_messages(one: Any) -> Iterator[Any]:
    for package in _packages():
        found = package.spoken(one)
        if found is not None:
            yield from found
            return
    yield one if isinstance(one, Mapping) or not has(one, "role", "content") else _openai_message(one)


def _openai_message(one: Any) -> dict[str, Any]:
    """An object of the shape that OpenAI's own client has."""
    calls = [
        (text_at(call, "id"), text_at(call, "function", "name"), part(call, "function", "arguments") or "")
        for call in several(part(one, "tool_calls"))
    ]
    return message(cast("str", one.role), texts(one.content), calls, text_at(one, "tool_call_id"))
