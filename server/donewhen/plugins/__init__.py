"""What a plugin is written with: the points (`donewhen.plugins.points`), their arguments and the possible answers.

    from donewhen.plugins import Halt, hookimpl

    class OfficeHours:
        @hookimpl
        def before_turn(self, turn, context):
            if turn.iteration > 5:
                raise Halt("five iterations are enough without a look")

docs/plugins.md teaches every point. Everything that a plugin may rely on is exported here.
"""

from __future__ import annotations

from donewhen.core.calls import Message, ToolCall
from donewhen.core.errors import PluginConflict, UsageError
from donewhen.core.events import RunOptions
from donewhen.core.goal import Goal
from donewhen.core.plugging import Halt, Refine, ResumeDirective, ToolOutcome, ToolUse
from donewhen.core.work import Answer, Claim, TurnResult, Usage
from donewhen.plugins.context import PluginContext
from donewhen.plugins.points import HOOKS, hookimpl
from donewhen.plugins.records import NewCheck, NewJudge, NewTool, NewWorker
from donewhen.plugins.registering import in_thread
from donewhen.plugins.stating import StateError
from donewhen.ports import AuditAhead, Stopping, ToolDoer, TurnAhead, TurnBehind, VerdictReport

__all__ = [
    "HOOKS",
    "Answer",
    "AuditAhead",
    "Claim",
    "Goal",
    "Halt",
    "Message",
    "NewCheck",
    "NewJudge",
    "NewTool",
    "NewWorker",
    "PluginConflict",
    "PluginContext",
    "Refine",
    "ResumeDirective",
    "RunOptions",
    "StateError",
    "Stopping",
    "ToolCall",
    "ToolDoer",
    "ToolOutcome",
    "ToolUse",
    "TurnAhead",
    "TurnBehind",
    "TurnResult",
    "Usage",
    "UsageError",
    "VerdictReport",
    "hookimpl",
    "in_thread",
]
