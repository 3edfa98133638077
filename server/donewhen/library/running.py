"""Goals pursued from a program: `run_goal`, `arun_goal`, `start_goal`, `resume_goal`."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, TypedDict, TypeVar, Unpack

from donewhen.app.program import RunParts, judge_name
from donewhen.core.approval import Approve
from donewhen.core.errors import UnknownRun, UsageError
from donewhen.engine.api import HaltAnswer, LimitChanges, StartOptions
from donewhen.engine.runs import changed_limits
from donewhen.library import arguments
from donewhen.library.arguments import Time, duration
from donewhen.library.goals import CheckLike, GoalLike, refuse_missing, validators_of, wanted_goal
from donewhen.library.handles import GoalRun, OnEvent, OnInterrupt, answer_of
from donewhen.library.models import AgentConfig, JudgeLike, WorkerLike, judge_of, keys_of, options_of
from donewhen.library.outcomes import GoalOutcome
from donewhen.library.sessions import Session, open_session
from donewhen.threads import run_sync
from donewhen.workers.callables.workers import CallableWorker, PromptTemplate, worker_of

Unlimited = Literal["unlimited"]
FunctionT = TypeVar("FunctionT", bound=Callable[..., Any])


class _CommonArguments(TypedDict, total=False):
    max_iterations: int | Unlimited | None
    timeout: Time | None
    budget: float | Unlimited | None
    token_budget: int | Unlimited | None
    agent: Any
    resume_prompt_template: Callable[[str | None], Any] | None
    plugins: Sequence[object]
    on_event: OnEvent | None
    on_interrupt: OnInterrupt | None
    state_dir: str | Path | None


class RunArguments(_CommonArguments, total=False):
    """The keyword arguments of `run_goal`, `arun_goal` and `start_goal`; `run_goal` says what each means."""

    workspace: str | Path | None
    checks: Sequence[CheckLike]
    stall_after: int | None
    check_timeout: Time | None
    preserve_context: bool
    approve: Approve
    durable: bool


class _Recorded(TypedDict):
    workspace: str | Path


class ResumeArguments(_CommonArguments, _Recorded, total=False):
    """The keyword arguments of `resume_goal` and `aresume_goal`; the workspace is required."""

    checks: Sequence[Callable[..., Any]]
    plugin: str | None
    data: Any
    answers: Mapping[str, Any] | None


DEFAULTS: Mapping[str, Any] = {
    "workspace": None,
    "checks": (),
    "plugin": None,
    "data": None,
    "answers": None,
    "max_iterations": None,
    "timeout": None,
    "budget": None,
    "token_budget": None,
    "stall_after": None,
    "check_timeout": None,
    "agent": None,
    "preserve_context": True,
    "resume_prompt_template": None,
    "approve": "deny",
    "plugins": (),
    "on_event": None,
    "on_interrupt": None,
    "durable": True,
    "state_dir": None,
}
"""The default of each argument, in the order in which help and editors show them."""


def _spelled_out(function: FunctionT) -> FunctionT:
    """Adds a signature that names each argument and its default, for `help`, notebooks and `inspect.signature`."""
    signature = inspect.signature(function)
    (*positional, options) = signature.parameters.values()
    kind = RunArguments if "RunArguments" in str(options.annotation) else ResumeArguments
    named = [
        inspect.Parameter(
            name,
            inspect.Parameter.KEYWORD_ONLY,
            default=inspect.Parameter.empty if name in kind.__required_keys__ else default,
            annotation=getattr(kind.__annotations__[name], "__forward_arg__", kind.__annotations__[name]),
        )
        for name, default in DEFAULTS.items()
        if name in kind.__annotations__
    ]
    vars(function)["__signature__"] = signature.replace(parameters=[*positional, *named])
    return function


def _given(function: Callable[..., Any], options: Mapping[str, Any]) -> dict[str, Any]:
    """All named arguments of a call. Raises TypeError for an unknown or a missing one."""
    named = {
        one.name: one
        for one in inspect.signature(function).parameters.values()
        if one.kind is inspect.Parameter.KEYWORD_ONLY
    }
    for name in options:
        if name not in named:
            raise TypeError(f"{function.__name__}() got an unexpected keyword argument {name!r}")
    for name, one in named.items():
        if one.default is inspect.Parameter.empty and name not in options:
            raise TypeError(f"{function.__name__}() is missing the keyword argument {name!r}")
    return {**{name: one.default for name, one in named.items()}, **options}


@_spelled_out
def run_goal(
    goal: GoalLike, worker: WorkerLike, judge: JudgeLike | None = None, **options: Unpack[RunArguments]
) -> GoalOutcome:
    """Pursues a goal until it is proven, or a limit ends it; also works inside a running event loop (a notebook).

    `goal` is an objective, a Goal, or the path of a goal file. `worker` is called with a prompt each iteration; `judge`
    decides what no check decides. `checks` are commands, which run in `workspace`, and validators
    `(response, agent, **kwargs)`. Without a workspace the goal is about the worker's return value, and nothing is kept.

    Limits that are None come from the goal: 10 iterations, an hour, no budget (US dollars), `stall_after` off. Times
    are seconds, or texts such as "30m". Ctrl-C pauses the run. Questions go to `on_interrupt`; without it the run
    pauses at the first question. `on_event` gets each new outcome.

    Raises InvalidGoal and UsageError before anything starts; later problems are in the outcome.

    >>> from donewhen import run_goal
    >>> def worker(prompt):
    ...     return "short" if "too long" in prompt else "a very long answer"
    >>> def is_short(response, agent):
    ...     return {"passed": len(response) < 10, "feedback": "too long"}
    >>> outcome = run_goal("Answer briefly", worker, checks=[is_short], max_iterations=3)
    >>> print(outcome.status, outcome.iterations, outcome.response)
    complete 2 short
    """
    _given(run_goal, options)
    return _to_its_end(lambda: start_goal(goal, worker, judge, **options))


@_spelled_out
async def arun_goal(
    goal: GoalLike, worker: WorkerLike, judge: JudgeLike | None = None, **options: Unpack[RunArguments]
) -> GoalOutcome:
    """Like `run_goal`, for callers with `await`. If it is cancelled, it ends everything that the run started, and the
    run is `interrupted`: if it is durable, `resume_goal` continues it.

    >>> import asyncio
    >>> from donewhen import arun_goal
    >>> async def worker(prompt):
    ...     return "a haiku"
    >>> asyncio.run(arun_goal("Write a haiku", worker, lambda task: "haiku" in task.response)).status.value
    'complete'
    """
    _given(arun_goal, options)
    async with await start_goal(goal, worker, judge, **options) as run:
        return await run.outcome()


@_spelled_out
async def start_goal(
    goal: GoalLike, worker: WorkerLike, judge: JudgeLike | None = None, **options: Unpack[RunArguments]
) -> GoalRun:
    """Starts a run and returns at once: the handle controls it. The arguments are those of `run_goal`. A second run in
    the same workspace raises AlreadyRunning.

    >>> import asyncio
    >>> from donewhen import start_goal
    >>> async def main():
    ...     async with await start_goal("Say hello", lambda prompt: "hello", lambda task: True) as run:
    ...         return (await run.outcome()).status.value
    >>> asyncio.run(main())
    'complete'
    """
    given = _given(start_goal, options)
    on_event, on_interrupt = (arguments.callback(name, given.pop(name)) for name in ("on_event", "on_interrupt"))
    changes, stall_after, check_timeout = _limits(given), given.pop("stall_after"), given.pop("check_timeout")
    parts = parts_of(goal, worker, judge, attended=on_interrupt is not None, **given)
    parts = limited(parts, changes, stall_after, check_timeout)
    start = parts.start
    return await opened(parts, lambda session: session.start(start), on_event, on_interrupt)


async def opened(
    parts: RunParts,
    begin: Callable[[Session], Awaitable[Any]],
    on_event: OnEvent | None = None,
    on_interrupt: OnInterrupt | None = None,
) -> GoalRun:
    """A run of these parts, once `begin` has started it, or gone on with it."""
    session = await open_session(parts)
    try:
        await begin(session)
    except BaseException:
        await session.close()
        raise
    return GoalRun(session, on_event, on_interrupt)


@_spelled_out
def resume_goal(
    run_id: str | None,
    worker: WorkerLike | None = None,
    judge: JudgeLike | None = None,
    **options: Unpack[ResumeArguments],
) -> GoalOutcome:
    """Continues a run that is paused, was halted, interrupted by a crash, or ended by a limit that is raised now; None:
    the newest one of the workspace. Its count, time, cost and history continue, and nothing is done twice.

    Whatever is not data must be given again: a callable worker, a callable judge (the same one), validators, plugins.
    `data` goes to the `plugin` that halted the run, `answers` are for open interrupts, by id. Raises NotResumable,
    UnknownRun.

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
    _given(resume_goal, options)
    return _to_its_end(lambda: _resumed(run_id, worker, judge, options))


@_spelled_out
async def aresume_goal(
    run_id: str | None,
    worker: WorkerLike | None = None,
    judge: JudgeLike | None = None,
    **options: Unpack[ResumeArguments],
) -> GoalOutcome:
    """Like `resume_goal`, for callers with `await`.

    >>> import asyncio
    >>> from tempfile import mkdtemp
    >>> from donewhen import aresume_goal
    >>> asyncio.run(aresume_goal("4711", lambda prompt: "done", workspace=mkdtemp(), state_dir=mkdtemp()))
    Traceback (most recent call last):
        ...
    donewhen.core.errors.UnknownRun: there is no run 4711 in this workspace: `donewhen list` shows all
    """
    _given(aresume_goal, options)
    async with await _resumed(run_id, worker, judge, options) as run:
        return await run.outcome()


def _to_its_end(start: Callable[[], Coroutine[Any, Any, GoalRun]]) -> GoalOutcome:
    """The outcome of a run, for a caller without `await`. Ctrl-C pauses it."""
    runs: list[GoalRun] = []

    async def pursue() -> GoalOutcome:
        async with await start() as run:
            runs.append(run)
            return await run.outcome()

    return run_sync(pursue(), lambda: any(run.pause_soon("Ctrl-C") for run in runs))


async def _resumed(
    run_id: str | None, worker: WorkerLike | None, judge: JudgeLike | None, options: Mapping[str, Any]
) -> GoalRun:
    """The run that has just continued."""
    given = _given(resume_goal, options)
    on_event, on_interrupt = (arguments.callback(name, given.pop(name)) for name in ("on_event", "on_interrupt"))
    limits, checks = _limits(given), given.pop("checks")
    plugin, data = given.pop("plugin"), given.pop("data")
    answers: Mapping[str, Any] = given.pop("answers") or {}
    parts = parts_of(None, worker, judge, attended=on_interrupt is not None, **given)
    parts = replace(parts, validators=validators_of(arguments.several("checks", checks)))
    halt = HaltAnswer(plugin, data) if plugin is not None or data is not None else None

    async def go_on(session: Session) -> None:
        known = await _run_to_resume(session, run_id, parts)
        asked = {one.id: one for one in (await session.runs.view(known)).state.interrupts} if answers else {}
        for interrupt_id, said in answers.items():
            await session.runs.answer(known, interrupt_id, answer_of(said, asked.get(interrupt_id)))
        await session.resume(known, limits, halt, StartOptions(askable=on_interrupt is not None))

    return await opened(parts, go_on, on_event, on_interrupt)


def _limits(given: dict[str, Any]) -> LimitChanges:
    """The limits among the arguments, which are removed from them."""
    names = ("max_iterations", "timeout", "budget", "token_budget")
    iterations, timeout, budget, tokens = (given.pop(name) for name in names)
    return LimitChanges(iterations, duration("timeout", timeout), budget, tokens)


async def _run_to_resume(session: Session, run_id: str | None, parts: RunParts) -> str:
    """The requested run; whatever the caller gave again must fit it. Raises UsageError."""
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
        raise UsageError(
            f"run {run_id} is judged by {state.options.judge or 'nobody'}, and that can't "
            f"change: it can't be judged by {judge}"
        )
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
    state = arguments.folder("state_dir", state_dir)
    plugins = arguments.several("plugins", others.pop("plugins", ()))
    for name in ("preserve_context", "durable"):
        arguments.flag(name, others.get(name, True))
    arguments.checked("approve", "approve", others.get("approve", "deny"))
    return RunParts(
        wanted.goal if wanted is not None else None,
        options_of(made),
        options_of(judging),
        wanted.validators if wanted is not None else {},
        keys_of(made, judging),
        workspace=root,
        template=template,
        said=made.said if isinstance(made, CallableWorker) else None,
        state_dir=state,
        plugins=plugins,
        **others,
    )


def limited(
    parts: RunParts, changes: LimitChanges, stall_after: int | None = None, check_timeout: Time | None = None
) -> RunParts:
    """The parts, with limits that override the goal's. Raises InvalidGoal for an impossible limit."""
    goal = parts.goal
    if goal is None:
        return parts
    limits = changed_limits(goal.limits, changes)
    if stall_after is not None:
        limits = replace(limits, stall_after=stall_after)
    if check_timeout is not None:
        limits = replace(limits, check_timeout=duration("check_timeout", check_timeout))
    return replace(parts, goal=replace(goal, limits=limits))
