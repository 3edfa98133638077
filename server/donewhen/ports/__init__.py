"""The protocols that the engine works through. Adapters implement them; none of them knows another.

Paths are posix, relative to the workspace's root, unless a name says otherwise. Times are seconds.
"""

from __future__ import annotations

from donewhen.ports.folder import Processes, ProcessResult, TreeState, Workspace
from donewhen.ports.proving import (
    Checker,
    GoalFiles,
    Judge,
    Judgement,
    JudgeTask,
    OnChange,
    Probes,
    Turn,
    TurnContext,
    Worker,
)
from donewhen.ports.records import Clock, Ledger, Live, Owner, Reply, Request, RunLock, RunSummary

__all__ = [
    "Checker",
    "Clock",
    "GoalFiles",
    "Judge",
    "JudgeTask",
    "Judgement",
    "Ledger",
    "Live",
    "OnChange",
    "Owner",
    "Probes",
    "ProcessResult",
    "Processes",
    "Reply",
    "Request",
    "RunLock",
    "RunSummary",
    "TreeState",
    "Turn",
    "TurnContext",
    "Worker",
    "Workspace",
]
