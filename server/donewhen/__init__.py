"""Done When: goals that are done when the evidence says so.

    from donewhen import run_goal

    outcome = run_goal("`pytest` passes", worker, workspace=".")

A worker is a callable (or a model, see `AgentConfig`), a goal an objective with checks, validators or a judge. Every
name below has an example in its docstring. Nothing of it is imported before it is used.
"""

from __future__ import annotations

from donewhen.version import __version__ as __version__

TYPE_CHECKING = False  # as in `typing`, which takes as long to import as all that `--version` needs besides
if TYPE_CHECKING:
    from typing import Any

    from donewhen.core.errors import AlreadyRunning as AlreadyRunning
    from donewhen.core.errors import DoneWhenError as DoneWhenError
    from donewhen.core.errors import InvalidGoal as InvalidGoal
    from donewhen.core.errors import JudgeOutage as JudgeOutage
    from donewhen.core.errors import NotResumable as NotResumable
    from donewhen.core.errors import UsageError as UsageError
    from donewhen.core.errors import WorkerFailed as WorkerFailed
    from donewhen.core.goal import Check as Check
    from donewhen.core.goal import Goal as Goal
    from donewhen.core.goal import Limits as Limits
    from donewhen.core.goal import Requirement as Requirement
    from donewhen.core.plugging import Halt as Halt
    from donewhen.core.verdict import GoalVerdict as GoalVerdict
    from donewhen.core.work import Answer as Answer
    from donewhen.core.work import Claim as Claim
    from donewhen.core.work import Interrupt as Interrupt
    from donewhen.core.work import TurnResult as TurnResult
    from donewhen.core.work import Usage as Usage
    from donewhen.library.asking import ajudge_goal as ajudge_goal
    from donewhen.library.asking import judge_goal as judge_goal
    from donewhen.library.compat.controller import GoalContinue as GoalContinue
    from donewhen.library.compat.controller import GoalController as GoalController
    from donewhen.library.compat.controller import GoalDone as GoalDone
    from donewhen.library.compat.loop import GoalLoop as GoalLoop
    from donewhen.library.compat.middleware import GoalMiddleware as GoalMiddleware
    from donewhen.library.compat.response import GoalAttempt as GoalAttempt
    from donewhen.library.compat.response import GoalResult as GoalResult
    from donewhen.library.compat.response import ValidationOutcome as ValidationOutcome
    from donewhen.library.handles import GoalRun as GoalRun
    from donewhen.library.models import AgentConfig as AgentConfig
    from donewhen.library.models import JudgeConfig as JudgeConfig
    from donewhen.library.outcomes import GoalOutcome as GoalOutcome
    from donewhen.library.outcomes import GoalStatus as GoalStatus
    from donewhen.library.outcomes import IntegrityOutcome as IntegrityOutcome
    from donewhen.library.outcomes import RequirementOutcome as RequirementOutcome
    from donewhen.library.running import aresume_goal as aresume_goal
    from donewhen.library.running import arun_goal as arun_goal
    from donewhen.library.running import resume_goal as resume_goal
    from donewhen.library.running import run_goal as run_goal
    from donewhen.library.running import start_goal as start_goal
    from donewhen.workers.callables.judges import AuditTask as AuditTask
    from donewhen.workers.callables.workers import Blocked as Blocked
    from donewhen.workers.callables.workers import Impossible as Impossible
    from donewhen.workers.callables.workers import Question as Question


_HOMES = {
    "workers.callables.judges": ("AuditTask",),
    "workers.callables.workers": ("Blocked", "Impossible", "Question"),
    "core.errors": (
        "AlreadyRunning",
        "DoneWhenError",
        "InvalidGoal",
        "JudgeOutage",
        "NotResumable",
        "UsageError",
        "WorkerFailed",
    ),
    "core.goal": ("Check", "Goal", "Limits", "Requirement"),
    "core.plugging": ("Halt",),
    "core.verdict": ("GoalVerdict",),
    "core.work": ("Answer", "Claim", "Interrupt", "TurnResult", "Usage"),
    "library.asking": ("ajudge_goal", "judge_goal"),
    "library.compat.controller": ("GoalContinue", "GoalController", "GoalDone"),
    "library.compat.loop": ("GoalLoop",),
    "library.compat.middleware": ("GoalMiddleware",),
    "library.compat.response": ("GoalAttempt", "GoalResult", "ValidationOutcome"),
    "library.handles": ("GoalRun",),
    "library.models": ("AgentConfig", "JudgeConfig"),
    "library.outcomes": ("GoalOutcome", "GoalStatus", "IntegrityOutcome", "RequirementOutcome"),
    "library.running": ("aresume_goal", "arun_goal", "resume_goal", "run_goal", "start_goal"),
}
"""The modules that public names come from: importing `donewhen` imports none of them."""

_MODULES = {name: module for module, names in _HOMES.items() for name in names}

__all__ = sorted(_MODULES)  # pyright: ignore[reportUnsupportedDunderAll]  # the names imported above, which a test holds


def __getattr__(name: str) -> Any:
    module = _MODULES.get(name)
    if module is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    found = getattr(import_module(f"{__name__}.{module}"), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *_MODULES})
