"""`GoalMiddleware`: an agent that takes messages also takes `/goal CONDITION`, and works until the condition holds."""

from __future__ import annotations

import contextlib
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

from donewhen.app.program import RunParts
from donewhen.core.errors import DoneWhenError, UsageError
from donewhen.core.goal import Goal
from donewhen.core.proof import assess
from donewhen.core.state import RunState
from donewhen.core.verdict import RequirementVerdict, RequirementView, Verdict
from donewhen.core.work import TurnResult
from donewhen.engine.api import LimitChanges
from donewhen.extras.lookalikes.adapter import (
    MAX_ROUNDS,
    TIMEOUT,
    Asked,
    LoopedWorker,
    about_response,
    host_of,
    name_of,
    pursued,
)
from donewhen.extras.lookalikes.response import feedback_of
from donewhen.library.arguments import callback, finite, folder, limits, resolved, several
from donewhen.library.goals import wanted_goal
from donewhen.library.handles import GoalRun, OnInterrupt
from donewhen.library.models import JudgeConfig, JudgeLike, judge_of, keys_of, options_of
from donewhen.library.running import opened
from donewhen.library.sessions import Session, open_session
from donewhen.ports import Judge, Judgement, Turn, TurnContext
from donewhen.threads import called, run_sync
from donewhen.workers.callables.agents import agent_call
from donewhen.workers.callables.judges import AuditTask, verdict_from
from donewhen.workers.callables.workers import as_text

GOAL = "goal"
_STATUSES = {
    "complete": "achieved",
    "cancelled": "stopped",
    "crashed": "failed",
    "blocked": "failed",
    "impossible": "failed",
    "paused": "paused",
    "waiting": "paused",
}
"""A waiting goal was halted by a plugin; every other status is a limit."""
_GOES_ON = ("paused", "waiting")
MAX_SHOWN = 20
"""How many messages, or responses, an evaluator reads."""
PREFIX = "/goal"
COMMANDS = ("status", "pause", "resume", "stop", "clear")


class GoalMiddleware:
    """Lets an agent pursue `/goal CONDITION` until `evaluator` finds the condition achieved.

    `evaluator` is a model's name, a JudgeConfig, a callable that takes an AuditTask, or a Judge; it is asked after each
    of the agent's turns, at most `max_evaluations` times. Without `workspace` it reads the agent's last 20 messages or,
    if those aren't visible, its last 20 responses: it has only these claims. With `workspace` the commands that the
    condition names are checks, which run there after each turn, and the agent's words don't count. `timeout` is for a
    whole goal, in seconds. `plugins` are your own hooks. Questions, for example whether to keep edits made in the
    meantime, go to `on_interrupt` (True, False or a text answers); without it they pause the goal.

    >>> import asyncio
    >>> from donewhen import GoalMiddleware
    >>> answers = iter(["Not yet.", "The answer is 42."])
    >>> async def worker(prompt):
    ...     return next(answers)
    >>> goal = GoalMiddleware(evaluator=lambda task: {"achieved": "42" in task.response, "reason": "looked for 42"})
    >>> agent = goal.attach(worker)
    >>> asyncio.run(agent.prompt("/goal find the answer"))
    'The answer is 42.'
    >>> agent.state.extra["goal"]["status"], agent.state.extra["goal"]["evaluations"]
    ('achieved', 2)
    """

    def __init__(
        self,
        evaluator: JudgeLike,
        max_evaluations: int | str = MAX_ROUNDS,
        *,
        workspace: str | Path | None = None,
        timeout: float | str = TIMEOUT,
        plugins: tuple[object, ...] = (),
        state_dir: str | Path | None = None,
        on_interrupt: OnInterrupt | None = None,
    ) -> None:
        self.evaluator = evaluator_of(evaluator)
        self.max_evaluations: int | None = finite("max_evaluations", "max_iterations", max_evaluations)
        self.timeout: float | None = finite("timeout", "timeout", timeout)
        self.workspace = resolved("workspace", workspace)
        self.plugins = several("plugins", plugins)
        self.state_dir = folder("state_dir", state_dir)
        self.on_interrupt = callback("on_interrupt", on_interrupt)

    def attach(self, worker: Any) -> GoalAgent:
        """The agent with `/goal`. `worker` is a callable that takes the prompt, or an object with a method `prompt`;
        sync or async. Raises UsageError for anything else."""
        known = agent_call(worker)
        call = known.native if known is not None else worker if callable(worker) else getattr(worker, "prompt", None)
        if not callable(call):
            raise UsageError(
                "an agent is a callable that takes the prompt, has a method `prompt`, or is one of Strands, OpenHands, "
                f"CubeLoop, PydanticAI, OpenAI Agents or LangGraph; it is {type(worker).__name__}"
            )
        return GoalAgent(self, worker, call)

    def __call__(self, worker: Any) -> GoalAgent:
        return self.attach(worker)

    def goal(self, condition: str, evaluated: int = 0) -> Goal:
        """A condition as a goal: in a workspace the commands that it names are checks. `evaluated`: how often it has
        been judged before. Raises InvalidGoal."""
        root = self.workspace
        left = None if self.max_evaluations is None else max(1, self.max_evaluations - evaluated)
        bounds = limits(left, self.timeout)
        if root is None:
            return about_response(condition, bounds, instead="GoalMiddleware(..., workspace=FOLDER)")
        return replace(wanted_goal(condition, judged=True, workspace=root).goal, limits=bounds)

    def parts(self, goal: Goal | None, worker: GoalWorker, agent: Any) -> RunParts:
        """One run of one condition; None: the run on record."""
        root = self.workspace
        return RunParts(
            goal=goal,
            worker=worker,
            judge=options_of(self.evaluator),
            secrets=keys_of(None, self.evaluator),
            agent=agent,
            workspace=root,
            durable=root is not None,
            state_dir=self.state_dir,
            plugins=self.plugins,
            attended=self.on_interrupt is not None,
        )


@dataclass(slots=True)
class _Pursuit:
    """A goal that is in progress, or paused."""

    working: GoalWorker
    run: GoalRun | None = None
    """None until it has begun."""
    running: bool = True


class GoalAgent:
    """An agent that takes `/goal`. `state.extra["goal"]` says where its goal stands:
    `{"status", "condition", "evaluations", "max_evaluations", "last_reason"}`, with the status "active", "achieved",
    "exhausted" (a limit is reached), "paused" (also by a plugin that halts it), "stopped" or "failed" (it crashed, or
    can't be met). The agent's other attributes are available here, too.
    """

    def __init__(self, goals: GoalMiddleware, worker: Any, call: Callable[..., Any]) -> None:
        self._goals = goals
        self._worker = worker
        self._call = call
        self._pursuit: _Pursuit | None = None
        own = getattr(host_of(worker), "state", None)
        self.state: Any = own if isinstance(getattr(own, "extra", None), dict) else SimpleNamespace(extra={})

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self._worker, name)

    def __repr__(self) -> str:
        return f"GoalAgent({name_of(self._worker)})"

    async def prompt(self, message: Any, /, *others: Any, **named: Any) -> Any:
        """Any message that isn't a goal goes to the agent unchanged, and ends a goal in progress by taking its place.
        `/goal CONDITION` works until the condition holds and returns the last response; `/goal`, `/goal status` and the
        other commands return the goal's state, None if there is no goal. `/goal resume` continues a paused goal, even
        one that is on record in the workspace or in the agent's `state.extra`, and returns like `/goal CONDITION`.

        Raises UsageError for a command that makes no sense now, WorkerFailed if the agent failed three times in a row,
        JudgeOutage if the evaluator could not be asked (the goal is then paused)."""
        command = goal_command(message)
        if command is None:
            await self._superseded()
            return await called(self._call, message, *others, **named)
        word, condition = command
        if word == "start":
            return await self._start_goal(Asked(condition, others, named))
        if word == "resume":
            return await self._resume()
        if word == "status" and self._goal_entry is None:
            await self._recorded()
        if word in ("pause", "stop"):
            await self._halt(word)
        elif word == "clear":
            if self._pursuit is not None:
                with contextlib.suppress(DoneWhenError):
                    await self._halt("stop")
            self.state.extra.pop(GOAL, None)
        return self._goal_entry

    def prompt_sync(self, message: Any, /, *others: Any, **named: Any) -> Any:
        """Like `prompt`, for callers without `await`."""
        return run_sync(self.prompt(message, *others, **named))

    @property
    def _goal_entry(self) -> dict[str, Any] | None:
        return cast("dict[str, Any] | None", self.state.extra.get(GOAL))

    def _update_entry(self, **changes: Any) -> None:
        goal = self._goal_entry
        if goal is not None:
            goal.update(changes)

    # ----------------------------------------------------------------------------------- the commands

    async def _start_goal(self, asked: Asked, evaluated: int = 0) -> Any:
        condition = cast("str", asked.prompt)
        if self._pursuit is not None:
            how = "under way" if self._pursuit.running else "paused"
            raise UsageError(f"a goal is {how}: `/goal stop` or `/goal clear` first")
        working = self._working(asked, evaluated)
        parts = self._goals.parts(self._goals.goal(condition, evaluated), working, host_of(self._worker))
        self._write_entry(condition, "active", evaluated)
        return await self._begin(parts, working, lambda session: session.start(parts.start), "failed")

    async def _begin(
        self, parts: RunParts, working: GoalWorker, begin: Callable[[Session], Awaitable[Any]], unbegun: str
    ) -> Any:
        """Pursues a goal that isn't open here yet; `unbegun` is its status if it can't begin."""
        self._pursuit = pursuit = _Pursuit(working)
        try:
            pursuit.run = await opened(parts, begin, on_interrupt=self._goals.on_interrupt)
        except BaseException:
            self._pursuit = None
            self._update_entry(status=unbegun)
            raise
        return await self._pursue_until_stop(pursuit, pursuit.run)

    def _working(self, asked: Asked, evaluated: int) -> GoalWorker:
        about_files = self._goals.workspace is not None
        call = agent_call(self._worker) or self._call
        return GoalWorker(call, asked, self._evaluated, about_files=about_files, evaluations=evaluated)

    def _write_entry(self, condition: str, status: str, evaluations: int, reason: str = "") -> None:
        self.state.extra[GOAL] = {
            "status": status,
            "condition": condition,
            "evaluations": evaluations,
            "max_evaluations": self._goals.max_evaluations,
            "last_reason": reason,
        }

    async def _recorded(self) -> RunState | None:
        """The goal on record in this workspace that can continue, begun by another process or another middleware; its
        state is written down. None if there is none."""
        if self._goals.workspace is None:
            return None
        session = await open_session(self._goals.parts(None, self._working(Asked(""), 0), host_of(self._worker)))
        try:
            newest = next((one for one in await session.runs.summaries() if one.mode == "pursue"), None)
            state = None if newest is None else (await session.runs.view(newest.run_id)).state
        finally:
            await session.close()
        if state is None or state.goal.path is not None or state.status not in (*_GOES_ON, "interrupted", "running"):
            return None
        self._write_entry(state.goal.objective, "paused", _evaluations(state), reason_of(assess(state)))
        return state

    async def _take_up(self) -> Any:
        """Continues a goal that is on record: in the workspace, else in the agent's own state."""
        state = await self._recorded()
        kept = self._goal_entry
        if state is None:
            if self._goals.workspace is None and kept is not None and kept.get("status") in ("active", "paused"):
                return await self._start_goal(Asked(kept["condition"]), kept.get("evaluations", 0))
            raise UsageError("no goal is paused here: nothing to resume")
        working = self._working(Asked(state.goal.objective), _evaluations(state))

        async def go_on(session: Session) -> None:
            self._update_entry(status="active")
            await session.resume(state.run_id, LimitChanges())

        parts = self._goals.parts(None, working, host_of(self._worker))
        return await self._begin(parts, working, go_on, "paused")

    async def _superseded(self) -> None:
        """A person's message takes the place of a goal in progress."""
        pursuit = self._pursuit
        if pursuit is not None and pursuit.run is not None and pursuit.running:
            await pursuit.run.stop("a message took the goal's place")
            self._update_entry(status="stopped")

    async def _resume(self) -> Any:
        pursuit = self._pursuit
        if pursuit is None:
            return await self._take_up()
        if pursuit.running or pursuit.run is None:
            raise UsageError("the goal is under way: nothing to resume")
        pursuit.running = True
        self._update_entry(status="active")
        try:
            await pursuit.run.resume()
        except BaseException:
            pursuit.running = False
            self._update_entry(status="paused")
            raise
        return await self._pursue_until_stop(pursuit, pursuit.run)

    async def _halt(self, word: str) -> None:
        """Pauses or ends the goal at once, whoever waits for it, even while the agent works."""
        pursuit = self._pursuit
        if pursuit is None or pursuit.run is None or (word == "pause" and not pursuit.running):
            raise UsageError(f"no goal is {'pursued' if pursuit is None else 'under way'} here: nothing to {word}")
        if word == "pause":
            await pursuit.run.pause("/goal pause")
            self._update_entry(status="paused")
            return
        await pursuit.run.stop("/goal stop")
        self._update_entry(status="stopped")
        if not pursuit.running:
            await self._closed(pursuit, pursuit.run)

    # ------------------------------------------------------------------------------------- pursuing it

    async def _pursue_until_stop(self, pursuit: _Pursuit, run: GoalRun) -> Any:
        """Pursues the goal until it stops. A paused goal is kept; an ended one is closed, and leaves nothing behind for
        the next prompt."""
        mine = self._goal_entry
        try:
            state = await pursued(run)
        finally:
            pursuit.running = False
            _settle(mine, run.state, pursuit.working)
            if run.state.status not in _GOES_ON:
                await self._closed(pursuit, run)
        return pursuit.working.returned(state)

    def _evaluated(self, evaluations: int, reason: str) -> None:
        self._update_entry(evaluations=evaluations, last_reason=reason)

    async def _closed(self, pursuit: _Pursuit, run: GoalRun) -> None:
        if self._pursuit is pursuit:
            self._pursuit = None
        await run.close()


def _evaluations(state: RunState) -> int:
    """How often a goal on record was judged: failed turns were not."""
    return sum(one.error is None for one in state.progress.iterations)


def _settle(goal: dict[str, Any] | None, state: RunState, working: GoalWorker) -> None:
    """Writes down how the goal stands. `goal` is the record of this very goal, even if it has been cleared since."""
    if goal is None:
        return
    working.settled(state)
    # The evaluator's last reason; if the goal ended for another reason, that one.
    reason = state.lifecycle.reason or state.lifecycle.paused or working.reason
    if state.status in ("complete", "capped", "paused") and not state.judge.outages and state.last_turn.error is None:
        reason = reason_of(assess(state)) if working.evaluations else working.reason
    status = _STATUSES.get(state.status or "", "exhausted")
    goal.update(status=status, evaluations=working.evaluations, last_reason=reason)


# ------------------------------------------------------------------------ a condition, its worker, its evaluator


def goal_command(message: Any) -> tuple[str, str] | None:
    """What a message asks for, a text or a user's message object: `start` with its condition, or one of COMMANDS. None
    if it is not a goal."""
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


class GoalWorker(LoopedWorker):
    """The agent in pursuit of a condition: it gets the condition, then what is still missing. `told` is called with the
    count of evaluations and the last reason whenever there is a new one."""

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
        return replace(result, response=self._responses_to_judge(result.response or ""))

    def settled(self, state: RunState) -> None:
        """The run has stopped: its last turn may have been evaluated, too."""
        whole = state.turn is None and state.redo is None and not state.auditing.due and not state.judge.deciding
        if whole and not state.judge.outages:
            self._evaluated(assess(state))

    def _evaluated(self, views: Sequence[RequirementView]) -> None:
        """Counts an attempt that was evaluated since; a failed turn was not."""
        if not self.attempts or self.attempts[-1].error is not None or self.attempts[-1].attempt == self._counted:
            return
        self._counted = self.attempts[-1].attempt
        self.evaluations += 1
        self.reason = reason_of(views)
        self._told(self.evaluations, self.reason)

    def _responses_to_judge(self, response: str) -> str:
        """What the evaluator reads: the last messages if the agent shows them, else its last responses."""
        self._responses = [*self._responses, response][-MAX_SHOWN:]
        if self.messages is not None:
            return "\n\n".join(f"{one.role}: {one.text}" for one in self.said[-MAX_SHOWN:])
        if len(self._responses) == 1:
            return response
        return "\n\n".join(f"response {number}:\n{one}" for number, one in enumerate(self._responses, 1))


def _go_on(feedback: str | None) -> str:
    """The agent's prompt while the condition doesn't hold yet."""
    return f"The goal is not met yet: {feedback or 'the evaluator gave no reason'}\n\nContinue working on it."


def reason_of(views: Sequence[RequirementView]) -> str:
    """Why the condition doesn't hold, or why it does."""
    return feedback_of(tuple(views), ()) or "\n".join(dict.fromkeys(view.reason for view in views if view.reason))


def evaluator_of(given: JudgeLike) -> Judge | JudgeConfig:
    """The evaluator as a judge. A callable may also return `{"achieved": bool, "reason": str}`. Raises UsageError for
    anything else."""
    if given is None:  # pyright: ignore[reportUnnecessaryComparison]  # callers are not always type-checked
        raise UsageError("an evaluator is needed: a model's name, a JudgeConfig, a callable or a Judge")
    port = callable(getattr(given, "judge", None)) and hasattr(given, "identity")
    judge = judge_of(_achieving(given) if callable(given) and not port else given)
    assert judge is not None  # only None is not a judge
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
    """Strictly: anything but a real boolean is not a verdict, nor is a contradiction."""
    achieved, reason = said["achieved"], said.get("reason", "")
    if not isinstance(achieved, bool) or not isinstance(reason, str):
        return _unusable("achieved must be True or False, and reason must be text")
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
