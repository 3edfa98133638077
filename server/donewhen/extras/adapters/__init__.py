"""Agents of packages that are known, handed in as they are: Strands, OpenHands, CubeLoop, PydanticAI, OpenAI Agents,
LangGraph. None of the packages is imported: an agent, a result or a message is told by what it has.

One module for each package holds all that is known of it: how to call it (awaiting it, where that is possible), how to
stop it, its answer as text, its messages, what it cost, and its model.
"""

from __future__ import annotations

from donewhen.extras.adapters.cubeloop import CubeLoopAgent
from donewhen.extras.adapters.langgraph import CompiledGraph
from donewhen.extras.adapters.openai_agents import OpenAIAgent
from donewhen.extras.adapters.openhands import OpenHandsConversation
from donewhen.extras.adapters.pydantic_ai import PydanticAgent
from donewhen.extras.adapters.strands import StrandsAgent

PACKAGES = (StrandsAgent, OpenHandsConversation, CubeLoopAgent, PydanticAgent, CompiledGraph, OpenAIAgent)
