"""Goals pursued from a program: `run_goal`, `arun_goal`, `start_goal`, `resume_goal`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

from donewhen.core.errors import UnknownRun, UsageError
from donewhen.core.events import Approve
from donewhen.core.goal import Goal
from donewhen.engine.api import HaltAnswer, LimitChanges, StartOptions
from donewhen.engine.runs import changed_limits
from donewhen.library import arguments
from donewhen.library.arguments import Time, duration
from donewhen.library.assembling import RunParts, judge_name, open_session
from donewhen.library.goals import CheckLike, GoalLike, refuse_missing, validators_of, wanted_goal
from donewhen.library.handles import GoalRun, OnEvent, OnInterrupt, answer_of, callbacks_of
from donewhen.library.judging import JudgeLike, judge_of
from donewhen.library.outcomes import GoalOutcome
from donewhen.library.sessions import Session
from donewhen.library.threads import run_sync
from donewhen.library.workers import AgentConfig, CallableWorker, PromptTemplate, worker_of
from donewhen.ports import Worker

Unlimited = Literal["unlimited"]
WorkerLike = Worker | AgentConfig | Callable[..., Any]
"""A callable that takes the prompt, an AgentConfig, or the Worker port."""


def run_goal(
    goal: GoalLike,
    worker: WorkerLike,
    judge: JudgeLike | None = None,
    *,
    workspace: str | Path | None = None,
    checks: Sequence[CheckLike] = (),
    max_iterations: int | Unlimited | None = None,
    timeout: Time | None = None,
    budget: float | Unlimited | None = None,
    token_budget: int | Unlimited | None = None,
    stall_after: int | None = None,
    check_timeout: Time | None = None,
    agent: Any = None,
    preserve_context: bool = True,
    resume_prompt_template: Callable[[str | None], Any] | None = None,
    approve: Approve = "deny",
    plugins: Sequence[object] = (),
    on_event: OnEvent | None = None,
    on_interrupt: OnInterrupt | None = None,
    durable: bool = True,
    state_dir: str | Path | None = None,
) -> GoalOutcome:
    """Pursues a goal until it is proven, or a limit ends it; works inside of a running event loop, too (a notebook).

    `goal` is an objective, a Goal, or the path of a goal file. `worker` is called with a prompt each iteration; `judge`
    decides what no check does. `checks` are commands, which run in `workspace`, and validators
    `(response, agent, **kwargs)`. Without a workspace the goal is about what the worker returns, and nothing is kept.

    Limits that are None are the goal's: 10 iterations, an hour, no budget (US dollars), `stall_after` off. Times are
    seconds, or texts such as "30m". Ctrl-C pauses the run. Questions go to `on_interrupt`; without it the run pauses at
    the first. `on_event` gets each new outcome.

    Raises InvalidGoal and UsageError before anything starts; whatever happens later is in the outcome.

    >>> from donewhen import run_goal
    >>> def worker(prompt):
    ...     return "short" if "too long" in prompt else "a very long answer"
    >>> def is_short(response, agent):
    ...     return {"passed": len(response) < 10, "feedback": "too long"}
    >>> outcome = run_goal("Answer briefly", worker, checks=[is_short], max_iterations=3)
    >>> print(outcome.status, outcome.iterations, outcome.response)
    complete 2 short
    """
    runs: list[GoalRun] = []
    given = dict(locals())
    del given["runs"]

    async def pursue() -> GoalOutcome:
        async with await start_goal(**given) as run:
            runs.append(run)
            return await run.outcome()

    return run_sync(pursue(), lambda: any(run.pause_soon("Ctrl-C") for run in runs))


async def arun_goal(
    goal: GoalLike,
    worker: WorkerLike,
    judge: JudgeLike | None = None,
    *,
    workspace: str | Path | None = None,
    checks: Sequence[CheckLike] = (),
    max_iterations: int | Unlimited | None = None,
    timeout: Time | None = None,
    budget: float | Unlimited | None = None,
    token_budget: int | Unlimited | None = None,
    stall_after: int | None = None,
    check_timeout: Time | None = None,
    agent: Any = None,
    preserve_context: bool = True,
    resume_prompt_template: Callable[[str | None], Any] | None = None,
    approve: Approve = "deny",
    plugins: Sequence[object] = (),
    on_event: OnEvent | None = None,
    on_interrupt: OnInterrupt | None = None,
    durable: bool = True,
    state_dir: str | Path | None = None,
) -> GoalOutcome:
    """As `run_goal`, for callers with `await`. Cancelled, it ends all that the run had started, and the run is
    `interrupted`: where it is durable, `resume_goal` goes on.

    >>> import asyncio
    >>> from donewhen import arun_goal
    >>> async def worker(prompt):
    ...     return "a haiku"
    >>> asyncio.run(arun_goal("Write a haiku", worker, lambda task: "haiku" in task.response)).status.value
    'complete'
    """
    given = dict(locals())
    async with await start_goal(**given) as run:
        return await run.outcome()


async def start_goal(
    goal: GoalLike,
    worker: WorkerLike,
    judge: JudgeLike | None = None,
    *,
    workspace: str | Path | None = None,
    checks: Sequence[CheckLike] = (),
    max_iterations: int | Unlimited | None = None,
    timeout: Time | None = None,
    budget: float | Unlimited | None = None,
    token_budget: int | Unlimited | None = None,
    stall_after: int | None = None,
    check_timeout: Time | None = None,
    agent: Any = None,
    preserve_context: bool = True,
    resume_prompt_template: Callable[[str | None], Any] | None = None,
    approve: Approve = "deny",
    plugins: Sequence[object] = (),
    on_event: OnEvent | None = None,
    on_interrupt: OnInterrupt | None = None,
    durable: bool = True,
    state_dir: str | Path | None = None,
) -> GoalRun:
    """Starts a run and returns at once: the handle steers it. The arguments are those of `run_goal`. A second run in
    the same workspace raises AlreadyRunning.

    >>> import asyncio
    >>> from donewhen import start_goal
    >>> async def main():
    ...     async with await start_goal("Say hello", lambda prompt: "hello", lambda task: True) as run:
    ...         return (await run.outcome()).status.value
    >>> asyncio.run(main())
    'complete'
    """
    callbacks_of(on_event, on_interrupt)
    parts = parts_of(
        goal, worker, judge, workspace=workspace, checks=checks, agent=agent, preserve_context=preserve_context,
        resume_prompt_template=resume_prompt_template, approve=approve, plugins=plugins,
        attended=on_interrupt is not None, durable=durable, state_dir=state_dir,
    )  # fmt: skip
    limits = LimitChanges(max_iterations, duration("timeout", timeout), budget, token_budget)
    return await started(limited(parts, limits, stall_after, check_timeout), on_event, on_interrupt)


async def started(parts: RunParts, on_event: OnEvent | None = None, on_interrupt: OnInterrupt | None = None) -> GoalRun:
    """A run of these parts, just begun."""
    start = parts.start
    session = await open_session(parts)
    try:
        await session.start(start)
    except BaseException:
        await session.close()
        raise
    return GoalRun(session, on_event, on_interrupt)


def resume_goal(
    run_id: str | None,
    worker: WorkerLike | None = None,
    judge: JudgeLike | None = None,
    *,
    workspace: str | Path,
    checks: Sequence[Callable[..., Any]] = (),
    plugin: str | None = None,
    data: Any = None,
    answers: Mapping[str, Any] | None = None,
    max_iterations: int | Unlimited | None = None,
    timeout: Time | None = None,
    budget: float | Unlimited | None = None,
    token_budget: int | Unlimited | None = None,
    agent: Any = None,
    resume_prompt_template: Callable[[str | None], Any] | None = None,
    plugins: Sequence[object] = (),
    on_event: OnEvent | None = None,
    on_interrupt: OnInterrupt | None = None,
    state_dir: str | Path | None = None,
) -> GoalOutcome:
    """Lets a run go on that is paused, was halted, interrupted by a crash, or ended by a limit that is raised now;
    None: the newest one of the workspace. Its count, time, cost and history go on, nothing that was done is done again.

    What is no data is given again: a callable worker, a callable judge (the same one), validators, plugins. `data` goes
    to the `plugin` that halted the run, `answers` are for open interrupts, by id. Raises NotResumable, UnknownRun.

    >>> from tempfile import mkdtemp
    >>> from donewhen import resume_goal, run_goal
    >>> places = {"workspace": mkdtemp(), "state_dir": mkdtemp()}
    >>> def done(response, agent):
    ...     return response == "done"
    >>> capped = run_goal("Do it", lambda prompt: "tried", checks=[done], max_iterations=1, **places)
    >>> outcome = resume_goal(capped.run_id, lambda prompt: "done", checks=[done], max_iterations=5, **places)
    >>> print(capped.status, outcome.status, outcome.iterations)
    capped complete 2
    """
    runs: list[GoalRun] = []
    given = dict(locals())
    del given["runs"]

    async def pursue() -> GoalOutcome:
        async with await resume_run(**given) as run:
            runs.append(run)
            return await run.outcome()

    return run_sync(pursue(), lambda: any(run.pause_soon("Ctrl-C") for run in runs))


async def aresume_goal(
    run_id: str | None,
    worker: WorkerLike | None = None,
    judge: JudgeLike | None = None,
    **options: Any,
) -> GoalOutcome:
    """As `resume_goal`, which names the options, for callers with `await`.

    >>> import asyncio
    >>> from tempfile import mkdtemp
    >>> from donewhen import aresume_goal
    >>> asyncio.run(aresume_goal("4711", lambda prompt: "done", workspace=mkdtemp(), state_dir=mkdtemp()))
    Traceback (most recent call last):
        ...
    donewhen.core.errors.UnknownRun: there is no run 4711 in this workspace: `donewhen list` shows all
    """
    async with await resume_run(run_id, worker, judge, **options) as run:
        return await run.outcome()


async def resume_run(
    run_id: str | None,
    worker: WorkerLike | None = None,
    judge: JudgeLike | None = None,
    *,
    workspace: str | Path,
    checks: Sequence[Callable[..., Any]] = (),
    plugin: str | None = None,
    data: Any = None,
    answers: Mapping[str, Any] | None = None,
    max_iterations: int | Unlimited | None = None,
    timeout: Time | None = None,
    budget: float | Unlimited | None = None,
    token_budget: int | Unlimited | None = None,
    agent: Any = None,
    resume_prompt_template: Callable[[str | None], Any] | None = None,
    plugins: Sequence[object] = (),
    on_event: OnEvent | None = None,
    on_interrupt: OnInterrupt | None = None,
    state_dir: str | Path | None = None,
) -> GoalRun:
    """As `resume_goal`, but returns at once: the handle steers the run."""
    callbacks_of(on_event, on_interrupt)
    parts = parts_of(
        None, worker, judge, workspace=workspace, agent=agent, plugins=plugins, state_dir=state_dir,
        resume_prompt_template=resume_prompt_template, attended=on_interrupt is not None,
    )  # fmt: skip
    parts = replace(parts, validators=validators_of(arguments.several("checks", checks)))
    limits = LimitChanges(max_iterations, duration("timeout", timeout), budget, token_budget)
    halt = HaltAnswer(plugin, data) if plugin is not None or data is not None else None
    session = await open_session(parts)
    try:
        known = await _known(session, run_id, parts)
        for interrupt_id, said in (answers or {}).items():
            await session.runs.answer(known, interrupt_id, answer_of(said))
        await session.resume(known, limits, halt, StartOptions(askable=on_interrupt is not None))
    except BaseException:
        await session.close()
        raise
    return GoalRun(session, on_event, on_interrupt)


async def _known(session: Session, run_id: str | None, parts: RunParts) -> str:
    """The run that is meant, which what the caller gave again has to fit. Raises UsageError."""
    if run_id is None:
        summaries = await session.runs.summaries()
        summaries = [one for one in summaries if one.mode == "pursue" and one.unreadable is None]
        if not summaries:
            raise UnknownRun(f"there is no run to resume in {parts.workspace}")
        run_id = summaries[0].run_id
    state = (await session.runs.view(run_id)).state
    refuse_missing(state.goal, parts.validators)
    judge = judge_name(parts.judge)
    if judge is None and state.options.judge is not None and state.options.judging is None:
        raise UsageError(f"run {run_id} is judged by {state.options.judge}: give it as judge")
    if judge is not None and judge != state.options.judge:
        raise UsageError(f"run {run_id} is judged by {state.options.judge or 'nobody'}, and that stays: not by {judge}")
    return run_id


def parts_of(
    goal: GoalLike | None,
    worker: WorkerLike | None,
    judge: JudgeLike | None = None,
    *,
    workspace: str | Path | None = None,
    checks: Sequence[CheckLike] = (),
    resume_prompt_template: Callable[[str | None], Any] | None = None,
    state_dir: str | Path | None = None,
    **others: Any,
) -> RunParts:
    """A caller's arguments as parts of a run; `others` are those of RunParts. Raises InvalidGoal, UsageError."""
    root = arguments.resolved("workspace", workspace)
    judging = judge_of(judge)
    own = arguments.callback("resume_prompt_template", resume_prompt_template)
    template = None if own is None else PromptTemplate(own)
    made = worker if worker is None or isinstance(worker, AgentConfig) else worker_of(worker, template)
    wanted = None if goal is None else wanted_goal(goal, checks=checks, judged=judging is not None, workspace=root)
    return RunParts(
        wanted.goal if wanted is not None else None,
        made,
        judging,
        wanted.validators if wanted is not None else {},
        workspace=root,
        template=template,
        said=made.said if isinstance(made, CallableWorker) else None,
        state_dir=arguments.folder("state_dir", state_dir),
        **_checked(others),
    )


def _checked(others: Mapping[str, Any]) -> dict[str, Any]:
    """Raises UsageError that names the argument."""
    found = {**others, "plugins": arguments.several("plugins", others.get("plugins", ()))}
    for name in ("preserve_context", "durable"):
        arguments.flag(name, others.get(name, True))
    arguments.checked("approve", "approve", others.get("approve", "deny"))
    return found


def limited(
    parts: RunParts, changes: LimitChanges, stall_after: int | None = None, check_timeout: Time | None = None
) -> RunParts:
    """The parts with limits over the goal's own. Raises InvalidGoal for one that can't be (C1)."""
    goal = parts.goal
    if goal is None:
        return parts
    limits = changed_limits(goal.limits, changes)
    if stall_after is not None:
        limits = replace(limits, stall_after=stall_after)
    if check_timeout is not None:
        limits = replace(limits, check_timeout=duration("check_timeout", check_timeout))
    return replace(parts, goal=_with(goal, limits))


def _with(goal: Goal, limits: Any) -> Goal:
    return replace(goal, limits=limits)
