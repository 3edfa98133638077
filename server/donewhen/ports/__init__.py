"""The protocols that the engine works through. Adapters implement them; none of them knows another.

Paths are posix, relative to the workspace's root, unless a name says otherwise. Times are seconds.
"""

from __future__ import annotations

from donewhen.ports.editing import EditorView
from donewhen.ports.files import FilesOf, FileText, Found, GuardedFiles, Hit
from donewhen.ports.folder import (
    Companion,
    CompanionEnd,
    Companions,
    Processes,
    ProcessResult,
    TreeState,
    Workspace,
)
from donewhen.ports.models import Model, ModelFacts, ModelReply, ModelRequest, Price, ToolSpec
from donewhen.ports.people import People
from donewhen.ports.plugging import (
    AuditAhead,
    PluginHost,
    Plugins,
    PluginTool,
    Stopping,
    ToolDoer,
    TurnAhead,
    TurnBehind,
    VerdictReport,
)
from donewhen.ports.proving import (
    AuditContext,
    Budgeted,
    Calls,
    Checker,
    GoalFiles,
    Judge,
    Judgement,
    JudgeTask,
    LeavesBehind,
    Left,
    OnChange,
    Probes,
    Turn,
    TurnContext,
    Worker,
)
from donewhen.ports.records import Clock, Ledger, Live, Owner, Reply, Request, RunLock, RunSummary, Trouble
from donewhen.ports.rooms import Grants, Laid, LiveRoom, LiveRooms, Room, RoomLimits, Rooms
from donewhen.ports.tracing import Tracer

__all__ = [
    "AuditAhead",
    "AuditContext",
    "Budgeted",
    "Calls",
    "Checker",
    "Clock",
    "Companion",
    "CompanionEnd",
    "Companions",
    "EditorView",
    "FileText",
    "FilesOf",
    "Found",
    "GoalFiles",
    "Grants",
    "GuardedFiles",
    "Hit",
    "Judge",
    "JudgeTask",
    "Judgement",
    "Laid",
    "LeavesBehind",
    "Ledger",
    "Left",
    "Live",
    "LiveRoom",
    "LiveRooms",
    "Model",
    "ModelFacts",
    "ModelReply",
    "ModelRequest",
    "OnChange",
    "Owner",
    "People",
    "PluginHost",
    "PluginTool",
    "Plugins",
    "Price",
    "Probes",
    "ProcessResult",
    "Processes",
    "Reply",
    "Request",
    "Room",
    "RoomLimits",
    "Rooms",
    "RunLock",
    "RunSummary",
    "Stopping",
    "ToolDoer",
    "ToolSpec",
    "Tracer",
    "TreeState",
    "Trouble",
    "Turn",
    "TurnAhead",
    "TurnBehind",
    "TurnContext",
    "VerdictReport",
    "Worker",
    "Workspace",
]
