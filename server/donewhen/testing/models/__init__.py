"""A scripted OpenAI-compatible server for tests: models that say what the script says, and fail as it says.

    async with ScriptedModels({"worker": [calls("run_command", command="pytest"), says("It is done.")]}) as server:
        ...  # a client with server.base_url
    server.verify()

As a program: `python -m donewhen.testing.models SCRIPT.yaml`.
"""

from donewhen.testing.models.calls import Message, ModelCall, ToolCall
from donewhen.testing.models.exchanges import Exchange
from donewhen.testing.models.expectations import Expectation
from donewhen.testing.models.failures import (
    breaks,
    context_exceeded,
    drops,
    fails,
    hangs,
    html,
    never_ends,
    out_of_quota,
    truncated,
    unsupported,
    verbatim,
)
from donewhen.testing.models.reading import BadScript, read_script, script_of
from donewhen.testing.models.replies import Answer, Reply, TokenCounts, calls, calls_all, raw_tool, says, tool
from donewhen.testing.models.script import ANY_MODEL, Part, Prebuilt, Script
from donewhen.testing.models.server import ScriptedModels

__all__ = [
    "ANY_MODEL",
    "Answer",
    "BadScript",
    "Exchange",
    "Expectation",
    "Message",
    "ModelCall",
    "Part",
    "Prebuilt",
    "Reply",
    "Script",
    "ScriptedModels",
    "TokenCounts",
    "ToolCall",
    "breaks",
    "calls",
    "calls_all",
    "context_exceeded",
    "drops",
    "fails",
    "hangs",
    "html",
    "never_ends",
    "out_of_quota",
    "raw_tool",
    "read_script",
    "says",
    "script_of",
    "tool",
    "truncated",
    "unsupported",
    "verbatim",
]
