"""A scripted OpenAI-compatible server for tests: models that say what the script says, and fail as it says.

async with ScriptedModels({"worker": [calls("run_command", command="pytest"), says("It is done.")]}) as server:
    ...  # a client with server.base_url
server.verify()
"""

from tests.scripted_models.calls import Expectation, Message, ModelCall, ToolCall
from tests.scripted_models.replies import (
    Answer,
    Reply,
    TokenCounts,
    breaks,
    calls,
    calls_all,
    context_exceeded,
    drops,
    fails,
    hangs,
    html,
    never_ends,
    out_of_quota,
    raw_tool,
    says,
    tool,
    truncated,
    unsupported,
    verbatim,
)
from tests.scripted_models.script import ANY_MODEL, Part, Script
from tests.scripted_models.server import Exchange, ScriptedModels

__all__ = [
    "ANY_MODEL",
    "Answer",
    "Exchange",
    "Expectation",
    "Message",
    "ModelCall",
    "Part",
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
    "says",
    "tool",
    "truncated",
    "unsupported",
    "verbatim",
]
