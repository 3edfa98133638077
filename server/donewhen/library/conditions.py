"""What `/goal CONDITION` means: its text form, the run that it starts, its worker and its evaluator."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

from donewhen.core.errors import UsageError
from donewhen.core.goal import Goal, Limits, Requirement, requirement_id
from donewhen.core.proof import assess
from donewhen.core.state import RunState
from donewhen.core.verdict import RequirementVerdict, RequirementView, Verdict
from donewhen.core.work import TurnResult
from donewhen.library.arguments import limits
from donewhen.library.assembling import RunParts
from donewhen.library.goals import refuse_without_workspace, wanted_goal
from donewhen.library.handles import OnInterrupt
from donewhen.library.judging import AuditTask, JudgeConfig, JudgeLike, judge_of, verdict_from
from donewhen.library.looped import Asked, LoopedWorker
from donewhen.library.response import feedback_of
from donewhen.library.threads import called
from donewhen.library.workers import as_text
from donewhen.ports import Judge, Judgement, Turn, TurnContext

MAX_SHOWN = 20
"""How many messages, or responses, an evaluator reads."""
PREFIX = "/goal"
COMMANDS = ("status", "pause", "resume", "stop", "clear")


def goal_command(message: Any) -> tuple[str, str] | None:
    """What a message asks for, a text or a user's message object: `start` with its condition, or one of COMMANDS. None
    for one that is no goal (C22)."""
    if not isinstance(message, str):
        named = isinstance(message, Mapping)
        content: Any = message.get("content") if named else getattr(message, "content", None)  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
        role: Any = message.get("role") if named else getattr(message, "role", "user")  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
        if role not in ("user", "human") or not isinstance(content, str | list | tuple):
            return None
        message = as_text(content)
    text = message.strip()
    rest = text.removeprefix(PREFIX)
    if not text.startswith(PREFIX) or (rest and not rest[0].isspace()):
        return None
    rest = rest.strip()
    if not rest:
        return "status", ""
    word = rest.lower()
    return (word, "") if word in COMMANDS else ("start", rest)


@dataclass(frozen=True, slots=True)
class Pursuing:
    """How conditions are pursued; None is unlimited. `workspace` None: by what the agent says alone."""

    evaluator: Judge | JudgeConfig
    max_evaluations: int | None
    timeout: float | None
    workspace: Path | None
    plugins: tuple[object, ...]
    state_dir: Path | None
    on_interrupt: OnInterrupt | None

    def goal(self, condition: str, evaluated: int = 0) -> Goal:
        """A condition as a goal: in a workspace the commands that it names are checks. `evaluated`: how often it was
        judged before. Raises InvalidGoal."""
        root = self.workspace
        left = None if self.max_evaluations is None else max(1, self.max_evaluations - evaluated)
        bounds = limits(left, self.timeout)
        return _about_response(condition, bounds) if root is None else _about_files(condition, root, bounds)

    def parts(self, goal: Goal | None, worker: GoalWorker, agent: Any) -> RunParts:
        """One run of one condition; None: of one that is on record."""
        root = self.workspace
        return RunParts(
            goal=goal,
            worker=worker,
            judge=self.evaluator,
            agent=agent,
            workspace=root,
            durable=root is not None,
            state_dir=self.state_dir,
            plugins=self.plugins,
            attended=self.on_interrupt is not None,
        )


def _about_response(condition: str, bounds: Limits) -> Goal:
    refuse_without_workspace(condition, instead="GoalMiddleware(..., workspace=FOLDER)")
    requirement = Requirement(requirement_id(condition), 1, " ".join(condition.split()))
    return Goal("", condition, (requirement,), bounds, about="response")


def _about_files(condition: str, root: Path, bounds: Limits) -> Goal:
    goal = wanted_goal(condition, judged=True, workspace=root).goal
    return replace(goal, limits=bounds)


class GoalWorker(LoopedWorker):
    """The agent in pursuit of a condition: told the condition, then what is still missing. `told` gets the count of
    evaluations and the last one's reason whenever there is a new one."""

    def __init__(
        self,
        worker: Callable[..., Any],
        asked: Asked,
        told: Callable[[int, str], None],
        *,
        about_files: bool,
        evaluations: int = 0,
    ) -> None:
        super().__init__(worker, asked, retry=_go_on)
        self._told = told
        self._about_files = about_files
        self._responses: list[str] = []
        self._counted = 0
        self.evaluations = evaluations
        self.reason = ""

    async def work(self, turn: Turn, context: TurnContext) -> TurnResult:
        if not turn.refinement:
            self._evaluated(turn.views)
        result = await super().work(turn, context)
        if result.error is not None or self._about_files:
            return result
        return replace(result, response=self._seen(result.response or ""))

    def settled(self, state: RunState) -> None:
        """The run stands still: its last turn may have been evaluated, too."""
        whole = state.turn is None and state.redo is None and not state.audit_due and not state.judging
        if whole and not state.outages:
            self._evaluated(assess(state))

    def _evaluated(self, views: Sequence[RequirementView]) -> None:
        """Counts the attempt that was evaluated since; a turn that failed was not."""
        if not self.attempts or self.attempts[-1].error is not None or self.attempts[-1].attempt == self._counted:
            return
        self._counted = self.attempts[-1].attempt
        self.evaluations += 1
        self.reason = reason_of(views)
        self._told(self.evaluations, self.reason)

    def _seen(self, response: str) -> str:
        """What the evaluator reads: the last messages where the agent shows them, else its last responses."""
        self._responses = [*self._responses, response][-MAX_SHOWN:]
        if self.messages is not None:
            return "\n\n".join(f"{one.role}: {one.text}" for one in self.said[-MAX_SHOWN:])
        if len(self._responses) == 1:
            return response
        return "\n\n".join(f"response {number}:\n{one}" for number, one in enumerate(self._responses, 1))


def _go_on(feedback: str | None) -> str:
    """What the agent is told where the condition doesn't hold yet."""
    return f"The goal is not met yet: {feedback or 'the evaluator gave no reason'}\n\nContinue working on it."


def reason_of(views: Sequence[RequirementView]) -> str:
    """Why the condition doesn't hold, or why it does."""
    return feedback_of(tuple(views), ()) or "\n".join(dict.fromkeys(view.reason for view in views if view.reason))


def evaluator_of(given: JudgeLike) -> Judge | JudgeConfig:
    """The evaluator as a judge. A callable may also return `{"achieved": bool, "reason": str}`. Raises UsageError for
    what is none."""
    if given is None:  # pyright: ignore[reportUnnecessaryComparison]  # callers are not always type-checked
        raise UsageError("an evaluator is needed: a model's name, a JudgeConfig, a callable or a Judge")
    port = callable(getattr(given, "judge", None)) and hasattr(given, "identity")
    judge = judge_of(_achieving(given) if callable(given) and not port else given)
    assert judge is not None  # only None is no judge
    return judge


def _achieving(ask: Callable[..., Any]) -> Callable[[AuditTask], Any]:
    async def evaluator(task: AuditTask) -> Any:
        said: Any = await called(ask, task)
        if isinstance(said, Mapping) and "achieved" in said:
            return _verdict(cast("Mapping[str, Any]", said), task)
        return cast("Any", said)

    evaluator.__qualname__ = str(getattr(ask, "__qualname__", type(ask).__name__))
    return evaluator


def _verdict(said: Mapping[str, Any], task: AuditTask) -> Any:
    """Strictly: anything but a real boolean is no verdict (A1), nor is what contradicts itself."""
    achieved, reason = said["achieved"], said.get("reason", "")
    if not isinstance(achieved, bool) or not isinstance(reason, str):
        return _unusable("achieved must be True or False, and reason a text")
    if said.get("complete", achieved) is not achieved:
        return _unusable(f"achieved is {achieved}, and complete is {said['complete']!r}")
    whole = verdict_from({"score": float(achieved), "missing": "", **said, "complete": achieved})
    if isinstance(whole, str):
        return _unusable(whole)
    cited = tuple(one.id for one in task.evidence)
    finding = "met" if achieved else "unmet"
    reason = reason.strip() or ("achieved" if achieved else "not achieved yet")
    return Verdict(tuple(RequirementVerdict(one.id, finding, reason, cited) for one in task.requirements))


def _unusable(why: str) -> Judgement:
    return Judgement(None, reason=f"the judge's verdict can't be used: {why}")
