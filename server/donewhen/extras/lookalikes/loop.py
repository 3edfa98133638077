"""`GoalLoop`: a worker is asked again, with what was missing, until its response meets a goal."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Generic, TypeVar

from donewhen.app.program import RunParts
from donewhen.core.errors import InvalidGoal, UsageError
from donewhen.core.goal import Check, Goal, Requirement, requirement_id
from donewhen.core.proof import assess
from donewhen.core.state import RunState
from donewhen.extras.lookalikes.adapter import (
    MAX_ROUNDS,
    TIMEOUT,
    Asked,
    LoopedWorker,
    host_of,
    name_of,
    pursued,
)
from donewhen.extras.lookalikes.response import (
    GoalResult,
    RetryPrompt,
    feedback_of,
    fresh_prompt,
    retry_prompt,
    stop_reason_of,
)
from donewhen.goalfile.stated import stated_commands
from donewhen.library.arguments import callback, finite, flag, folder, limits, resolved, several
from donewhen.library.goals import refuse_without_workspace, wanted_goal
from donewhen.library.models import JudgeConfig, JudgeLike, judge_of, keys_of, options_of
from donewhen.library.running import opened
from donewhen.ports import Judge
from donewhen.threads import is_async, run_sync
from donewhen.workers.callables.agents import agent_call
from donewhen.workers.callables.known import KnownModel, known_agent
from donewhen.workers.callables.workers import as_text

T = TypeVar("T")


class ByWorker(Generic[T]):
    """Values by worker, distinguished by identity: two equal workers have two values. A value disappears with its
    worker; if the worker can't be referenced weakly, the value stays."""

    def __init__(self) -> None:
        self._held: dict[tuple[int, int], tuple[T, Any]] = {}

    def get(self, worker: Any) -> T | None:
        found = self._held.get(_identity(worker))
        return None if found is None else found[0]

    def set(self, worker: Any, value: T) -> None:
        key, host = _identity(worker), host_of(worker)
        try:
            self._held[key] = value, weakref.ref(host, lambda gone: self._held.pop(key, None))
        except TypeError:
            self._held[key] = value, host  # its identity is no other's as long as it is there

    def drop(self, worker: Any) -> None:
        self._held.pop(_identity(worker), None)


def _identity(worker: Any) -> tuple[int, int]:
    """The identity that distinguishes a worker from every other live one."""
    host = host_of(worker)
    return (id(host), 0 if host is worker else id(worker.__func__))


NAME = "donewhen:goal-loop"
_CHECK = "v-goal"
_LOOPS: ByWorker[weakref.ref[GoalLoop]] = ByWorker()
"""The loop of each worker. It holds no state of any run, and keeps neither worker nor loop alive."""


class GoalLoop:
    """Asks a worker again, with what was missing, until its response meets the goal, or a limit ends it.

    `goal` is what must be true of the response: a text, which `judge` decides (a JudgeConfig, a model's name, a
    callable or a Judge; by default the model in the worker's attribute `model`), or a validator, called as
    `validator(response, agent, **kwargs)`, sync or async, which returns True, False, a ValidationOutcome or a dict with
    `passed` and `feedback`.

    With `workspace` the goal is about that folder: the commands that its text names run there after each attempt and
    decide, a judge sees their output and the files, and the response doesn't count; the run is on record, in
    `state_dir` if given. Without a workspace, a text that names a command or a file is refused.

    `max_attempts` (10) and `timeout` (3600 seconds for the whole run) are finite unless they are infinite or
    "unlimited" on purpose, which warns. With `preserve_context` False each retry starts from the original conversation
    and the latest feedback alone. `resume_prompt_template` makes the retry prompt from the feedback (None if there is
    none). `name` identifies the loop in messages; `plugins` are your own hooks, such as a critic that refines each
    attempt from inside. Raises InvalidGoal with the name of the field.

    >>> from donewhen import GoalLoop
    >>> def short(response, agent):
    ...     return True if len(response.split()) <= 3 else {"passed": False, "feedback": "Three words at most."}
    >>> answers = iter(["Light bends in every raindrop.", "Raindrops bend light."])
    >>> def worker(prompt):
    ...     return next(answers)
    >>> loop = GoalLoop(short, max_attempts=3)
    >>> loop(worker)("Explain how rainbows form.")
    'Raindrops bend light.'
    >>> result = loop.last_result(worker)
    >>> result.stop_reason, [attempt.feedback for attempt in result.attempts]
    ('satisfied', ['Three words at most.', None])
    """

    def __init__(
        self,
        goal: str | Callable[..., Any],
        *,
        judge: JudgeLike | None = None,
        max_attempts: float | str = MAX_ROUNDS,
        timeout: float | str = TIMEOUT,
        name: str = NAME,
        preserve_context: bool = True,
        resume_prompt_template: RetryPrompt | None = None,
        plugins: Sequence[object] = (),
        workspace: str | Path | None = None,
        state_dir: str | Path | None = None,
    ) -> None:
        self.workspace = resolved("workspace", workspace)
        self.state_dir = folder("state_dir", state_dir)
        self.goal = _checked_goal(goal, self.workspace)
        # A JudgeConfig without a model uses the worker's: that is known only once there is a worker.
        judging = judge if isinstance(judge, JudgeConfig) else judge_of(judge)
        self.judge = judging if isinstance(goal, str) else None
        self.limits = limits(
            finite("max_attempts", "max_iterations", max_attempts), finite("timeout", "timeout", timeout)
        )
        self.name = _checked_name(name)
        self.preserve_context = flag("preserve_context", preserve_context)
        self.template = callback("resume_prompt_template", resume_prompt_template)
        self.plugins = several("plugins", plugins)
        self._runs: ByWorker[_Latest] = ByWorker()

    def __repr__(self) -> str:
        return f"GoalLoop(name={self.name!r})"

    def attach(self, worker: Callable[..., Any]) -> Looped:
        """The worker in this loop, called like the worker itself: with `await` if it is async. Any number of workers
        can be in one loop at the same time. Raises UsageError for a worker that is already in another loop."""
        bare = _bare(worker)
        agent = known_agent(bare)
        if agent is None and not callable(bare):
            raise UsageError(
                "a worker is a callable that takes the prompt, or an agent of Strands, OpenHands, CubeLoop, "
                f"PydanticAI, OpenAI Agents or LangGraph; it is {type(bare).__name__}"
            )
        other = _loop_of(bare)
        if other is not None and other is not self:
            raise UsageError(
                f"{name_of(bare)} is in the goal loop {other.name!r} already, and a worker is in one at most: "
                "detach it there first"
            )
        _LOOPS.set(bare, weakref.ref(self))
        latest = self._runs.get(bare)
        if latest is None:
            latest = _Latest()
            self._runs.set(bare, latest)
        awaited = agent.awaited if agent is not None and host_of(bare) is bare else is_async(bare)
        return (AsyncLooped if awaited else Looped)(self, bare, latest)

    def __call__(self, worker: Callable[..., Any]) -> Looped:
        return self.attach(worker)

    def detach(self, worker: Callable[..., Any]) -> None:
        """Removes the worker from this loop, so that it may join another one."""
        bare = _bare(worker)
        if _loop_of(bare) is self:
            _LOOPS.drop(bare)
        self._runs.drop(bare)

    def last_result(self, worker: Callable[..., Any]) -> GoalResult | None:
        """How the latest run of this worker ended; the argument is the worker itself, or the result of `attach`. None
        before its first run has ended, and during a run."""
        latest = self._runs.get(_bare(worker))
        return latest.result if latest is not None else None


@dataclass(slots=True)
class _Latest:
    """The latest run of one worker in one loop."""

    result: GoalResult | None = None
    running: bool = False


class Looped:
    """A sync worker in a goal loop: called like the worker itself, it returns the last response. The worker's other
    attributes are available here, too.

    Raises UsageError if a run of the worker is in progress, WorkerFailed if the run crashed, JudgeOutage if the judge
    could not be asked. The run's result is in `loop.last_result` in any case.
    """

    def __init__(self, loop: GoalLoop, worker: Callable[..., Any], latest: _Latest) -> None:
        self.loop = loop
        self.worker = worker
        self._latest = latest

    def __call__(self, prompt: Any, /, *others: Any, **named: Any) -> Any:
        return run_sync(self._run_once(Asked(prompt, others, named)))

    def __getattr__(self, name: str) -> Any:
        """The worker's attribute. The methods by which an agent is called, such as `run` or `invoke_async`, go through
        the loop, too."""
        if name.startswith("__"):
            raise AttributeError(name)
        found = getattr(self.worker, name)
        agent = known_agent(self.worker)
        if agent is None or name not in agent.ways:
            return found
        return (AsyncLooped if is_async(found) else Looped)(self.loop, self.worker, self._latest)

    def __repr__(self) -> str:
        return f"{self.loop!r} around {name_of(self.worker)}"

    async def _run_once(self, asked: Asked) -> Any:
        if self._latest.running:
            raise UsageError(f"a run of {name_of(self.worker)} in {self.loop.name!r} is under way: wait until it ends")
        self._latest.result, self._latest.running = None, True
        try:
            return await _pursue_on_engine(self.loop, self.worker, asked, self._latest)
        finally:
            self._latest.running = False


class AsyncLooped(Looped):
    """An async worker in a goal loop: like `Looped`, but awaited. Cancelling it ends the run."""

    async def __call__(self, prompt: Any, /, *others: Any, **named: Any) -> Any:  # type: ignore[override]  # as its worker is
        return await self._run_once(Asked(prompt, others, named))


def _bare(worker: Any) -> Any:
    return worker.worker if isinstance(worker, Looped) else worker


def _loop_of(worker: Any) -> GoalLoop | None:
    known = _LOOPS.get(worker)
    return known() if known is not None else None


# ------------------------------------------------------------------------------------------- one run


async def _pursue_on_engine(loop: GoalLoop, worker: Callable[..., Any], asked: Asked, latest: _Latest) -> Any:
    """One run, on the engine, with its own parts. Its result is kept however it ends."""
    judge = None if callable(loop.goal) else judge_from(worker, loop)
    goal = goal_of(loop, asked.prompt, judged=judge is not None)
    checks = tuple(check.command for check in goal.checks)
    extras: dict[str, Any] = {}
    working = LoopedWorker(
        agent_call(worker) or worker,
        asked,
        preserve_context=loop.preserve_context,
        template=loop.template,
        checks=checks,
        extras=extras,
        retry=retry_prompt if loop.preserve_context else fresh_prompt,
    )
    validators = {_CHECK: loop.goal} if callable(loop.goal) else {}
    parts = RunParts(
        goal=goal,
        worker=working,
        judge=options_of(judge),
        secrets=keys_of(None, judge),
        validators=validators,
        agent=host_of(worker),
        extras=extras,
        strict=True,
        preserve_context=loop.preserve_context,
        plugins=loop.plugins,
        workspace=loop.workspace,
        durable=loop.workspace is not None,
        said=lambda: working.said,
        state_dir=loop.state_dir,
    )

    start = parts.start

    def keep_result(state: RunState) -> None:
        passed = state.status == "complete"
        working.found(None if passed else feedback_of(assess(state), checks), passed)
        reason = state.lifecycle.reason or state.lifecycle.paused or ""
        latest.result = GoalResult(passed, stop_reason_of(state), list(working.attempts), reason, state.plugins.halt)

    async with await opened(parts, lambda session: session.start(start)) as run:
        try:
            return working.returned(await pursued(run))
        finally:
            keep_result(run.state)


def goal_of(loop: GoalLoop, prompt: Any, *, judged: bool) -> Goal:
    """The goal of one run: about the response to the prompt, or about the workspace."""
    task = as_text(prompt).strip()
    if not task:
        raise UsageError("the prompt must not be blank: say what the worker is to do")
    wanted, root = loop.goal, loop.workspace
    if isinstance(wanted, str) and root is not None:
        requirements = wanted_goal(wanted, judged=judged, workspace=root).goal.requirements
    elif isinstance(wanted, str):
        requirements = (Requirement(requirement_id(wanted), 1, wanted.strip()),)
    else:
        name = str(getattr(wanted, "__name__", type(wanted).__name__))
        check = Check(_CHECK, "the validator" if name == "<lambda>" else name, kind="validator")
        text = f"{check.command} accepts the response"
        requirements = (Requirement(requirement_id(text), 1, text, (check,), sole_check=True),)
    return Goal("", task, requirements, loop.limits, about="response" if root is None else "workspace")


def judge_from(worker: Callable[..., Any], loop: GoalLoop) -> Judge | JudgeConfig | None:
    """The judge that was given, else the worker's own model. None if commands alone decide. Raises UsageError if nobody
    can judge."""
    wanted = loop.judge
    if wanted is not None and not (isinstance(wanted, JudgeConfig) and not wanted.model):
        return wanted
    agent = known_agent(worker)
    found = _own_model(worker) if agent is None else agent.model
    if found is not None:
        base = wanted or JudgeConfig(found.name)
        placed = base.api_base is not None or base.api_key is not None
        place = {} if placed else {"api_base": found.api_base, "api_key": found.api_key}
        return replace(base, model=found.name, **place)
    if loop.workspace is not None and isinstance(loop.goal, str) and stated_commands(loop.goal):
        return None
    why = f"{name_of(worker)} has no attribute `model` to take one from"
    if agent is not None:
        why = f"the model of this {agent.kind} has no name that is known here"
    raise UsageError(f'a goal in words needs a judge, and {why}: GoalLoop(goal, judge=JudgeConfig("provider/model"))')


def _own_model(worker: Callable[..., Any]) -> KnownModel | None:
    """The attribute `model` of an object of an unknown kind."""
    model = getattr(host_of(worker), "model", None)
    for name in (model, *(getattr(model, key, None) for key in ("model", "model_id", "name"))):
        if isinstance(name, str) and name.strip():
            return KnownModel(name)
    return None


# ------------------------------------------------------------------------------------------ settings


def _checked_goal(goal: Any, workspace: Path | None) -> str | Callable[..., Any]:
    if isinstance(goal, str):
        if not goal.strip():
            raise InvalidGoal("goal must not be blank: say what has to be true of the response")
        if workspace is None:
            refuse_without_workspace(goal, instead="GoalLoop(..., workspace=FOLDER)")
        return goal
    if callable(goal):
        return goal
    raise InvalidGoal(f"goal must be text or a validator; it is {type(goal).__name__}")


def _checked_name(name: Any) -> str:
    if not isinstance(name, str) or not name.strip():
        raise InvalidGoal(f"name must not be blank; it is {name!r}")
    return name
