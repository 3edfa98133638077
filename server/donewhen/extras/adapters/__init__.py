"""Agents of packages that are known, handed in as they are: Strands, OpenHands, CubeLoop, PydanticAI, OpenAI Agents,
LangGraph. None of the packages is imported: an agent, a result or a message is told by what it has.

One module for each package holds all that is known of it: how to call it (awaiting it, where that is possible), how to
stop it, its answer as text, its messages, what it cost, and its model.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, cast

from donewhen.extras.adapters import cubeloop, langgraph, openai_agents, openhands, pydantic_ai, strands
from donewhen.extras.adapters.agent import Answer, KnownAgent, KnownModel, has, message, part, several, text_at, texts

AGENTS: tuple[type[KnownAgent], ...] = (
    strands.StrandsAgent,
    openhands.OpenHandsConversation,
    cubeloop.CubeLoopAgent,
    pydantic_ai.PydanticAgent,
    langgraph.CompiledGraph,
    openai_agents.OpenAIAgent,
)
_RESULTS = (strands.result, pydantic_ai.result, openai_agents.result, langgraph.result)
_SPOKEN = (openhands.spoken, cubeloop.spoken, pydantic_ai.spoken, langgraph.spoken, openai_agents.spoken)


def known_agent(given: Any) -> KnownAgent | None:
    """What is known of an agent, for one run; of a method by which its package calls it, as `agent.run`, too. None for
    anything else."""
    agent, name = getattr(given, "__self__", None), getattr(given, "__name__", None)
    if agent is None or getattr(given, "__func__", None) is None:
        agent, name = given, None
    found = next((one for one in AGENTS if one.knows(agent)), None)
    return found(agent) if found is not None and (name is None or name in found.ways) else None


def answer_of(returned: Any) -> Answer | None:
    """The answer in a result of a known package, or in the messages of one; None for any other value."""
    if isinstance(returned, Answer):
        return returned
    if returned is None or isinstance(returned, str | bytes):
        return None
    said = several(returned)
    if said:
        return _last_said(said)
    return next((found for read in _RESULTS if (found := read(returned)) is not None), None)


def _last_said(messages: Sequence[Any]) -> Answer | None:
    """Of messages as mappings nobody says that they are a known package's."""
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
    for read in _SPOKEN:
        found = read(one)
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


__all__ = ["AGENTS", "Answer", "KnownAgent", "KnownModel", "answer_of", "known_agent", "plain_messages"]
