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

    # Of an extra, and named here for type checkers alone: `__getattr__` asks the table of extras.
    from donewhen.extras.lookalikes import GoalAttempt as GoalAttempt
    from donewhen.extras.lookalikes import GoalContinue as GoalContinue
    from donewhen.extras.lookalikes import GoalController as GoalController
    from donewhen.extras.lookalikes import GoalDone as GoalDone
    from donewhen.extras.lookalikes import GoalLoop as GoalLoop
    from donewhen.extras.lookalikes import GoalMiddleware as GoalMiddleware
    from donewhen.extras.lookalikes import GoalResult as GoalResult
    from donewhen.extras.lookalikes import ValidationOutcome as ValidationOutcome
    from donewhen.library.asking import ajudge_goal as ajudge_goal
    from donewhen.library.asking import judge_goal as judge_goal
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
    "library.handles": ("GoalRun",),
    "library.models": ("AgentConfig", "JudgeConfig"),
    "library.outcomes": ("GoalOutcome", "GoalStatus", "IntegrityOutcome", "RequirementOutcome"),
    "library.running": ("aresume_goal", "arun_goal", "resume_goal", "run_goal", "start_goal"),
}
"""The modules that public names come from: importing `donewhen` imports none of them."""

_MODULES = {name: module for module, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> Any:
    from importlib import import_module

    module = _MODULES.get(name)
    if module is not None:
        found = getattr(import_module(f"{__name__}.{module}"), name)
    else:
        from donewhen.extras import PUBLIC, provided

        if name not in (*PUBLIC, "__all__"):
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        found = provided(name) if name in PUBLIC else sorted((*_MODULES, *PUBLIC))
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__getattr__("__all__")})
