"""Agents of packages that are known, handed in as they are: Strands, OpenHands, CubeLoop, PydanticAI, OpenAI Agents,
LangGraph. None of the packages is imported: an agent, a result or a message is told by what it has.

One module for each package holds all that is known of it: how to call it (awaiting it, where that is possible), how to
stop it, its answer as text, its messages, what it cost, and its model.
"""

from __future__ import annotations

from donewhen.extras.adapters import cubeloop, langgraph, openai_agents, openhands, pydantic_ai, strands
from donewhen.workers.callables.known import Packages

PACKAGES = Packages(
    agents=(
        strands.StrandsAgent,
        openhands.OpenHandsConversation,
        cubeloop.CubeLoopAgent,
        pydantic_ai.PydanticAgent,
        langgraph.CompiledGraph,
        openai_agents.OpenAIAgent,
    ),
    results=(strands.result, pydantic_ai.result, openai_agents.result, langgraph.result),
    spoken=(openhands.spoken, cubeloop.spoken, pydantic_ai.spoken, langgraph.spoken, openai_agents.spoken),
)
