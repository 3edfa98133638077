"""Whether and how a run can go on."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

from donewhen.core.approval import Approve
from donewhen.core.errors import NotResumable, UsageError
from donewhen.core.goal import Limits
from donewhen.core.proof import satisfied
from donewhen.core.state import KeptTree, RunState

_LIMIT_OF = {"capped": "max_iterations", "timed_out": "timeout", "over_budget": "budget"}
_GOES_ON = ("stalled", "crashed", "blocked", "impossible")


def goal_gone(path: str | None) -> str:
    """Why a run stands still whose goal file is gone."""
    return f"the goal file {path} is gone: put it back, then resume; nothing else is lost"


def goal_kept(state: RunState) -> int | None:
    """The iteration whose files have the goal file, while the run stands still and that is gone, or was changed by the
    worker; else None."""
    gone = state.status == "paused" and state.lifecycle.reason == goal_gone(state.goal.path)
    changed = any(one.finding.kind == "goal_file" for one in state.open_findings)
    kept = _with_goal_file(state)
    stands_still = state.status not in (None, "running", "waiting", "complete", "cancelled")
    return kept.iteration if kept is not None and (gone or (changed and stands_still)) else None


def _with_goal_file(state: RunState) -> KeptTree | None:
    """The last files that were kept before the worker changed the goal file; else the last ones."""
    changed = (one.before for one in state.open_findings if one.finding.kind == "goal_file")
    return next((before for before in changed if before is not None), state.files.last_checkpoint)


def putting_back(state: RunState) -> str:
    """The command that puts the goal file back; empty where none was kept."""
    kept = _with_goal_file(state)
    return "" if kept is None else f"donewhen revert {state.run_id} {kept.iteration} {state.goal.path} --force"


def check_resumable(state: RunState, limits: Limits) -> None:
    """Raises NotResumable with the reason, unless the run can go on with these limits."""
    status = state.status
    if state.mode == "audit":
        raise NotResumable("an audit can't be resumed: check again")
    if state.lifecycle.broken:
        raise NotResumable(f"run {state.run_id} can't go on: {state.lifecycle.reason}")
    # An agent elsewhere goes on in the same session after what was asked of it is proven.
    if status == "cancelled" or (status == "complete" and not state.works_elsewhere):
        raise NotResumable(f"run {state.run_id} is {status}: start a new one")
    if status in ("running", "waiting") and not state.halted:
        raise NotResumable(f"run {state.run_id} is {status} already")
    # What a person waived or accepted since may have been all that was left.
    if status in _LIMIT_OF and not satisfied(state) and not _raised(state, limits):
        raise NotResumable(f"run {state.run_id} is {status}: resume it with a higher {_LIMIT_OF[status]}")


def ending_once_resumed(state: RunState) -> str:
    """How a run that stands still ends once it is resumed, where a person's answer has settled that; else empty."""
    if state.lifecycle.ended or state.lifecycle.ending is None:
        return ""
    status, reason = state.lifecycle.ending
    return f"{reason}; once the run is resumed, it ends as {status}"


def of_a_program(state: RunState, workspace: str) -> str | None:
    """How to resume a run whose worker, judge or validators only the program that started it has; None for any other
    run."""
    options = state.options
    validators = any(check.kind == "validator" for check in state.goal.checks)
    judged = options.judge is not None and options.judging is None
    missing = ["worker"] if options.worker == "callable" else []
    missing += ["validators"] if validators else []
    if not missing:
        return None
    given = ["worker"] if options.worker == "callable" else ["None"] if judged else []
    given += ["judge"] if judged else []
    more = [f"workspace={workspace!r}"]
    more += ["checks=[...]"] if validators else []
    more += [f"max_iterations={state.iteration + 10}"] if state.status == "capped" else []
    call = f"resume_goal({', '.join([repr(state.run_id), *given, *more])})"
    return (
        f"run {state.run_id} was started by a Python program, and only that has its {' and '.join(missing)}. Resume it "
        f"from there, with the same state_dir if one was given:\n  from donewhen import resume_goal\n  {call}"
    )


_STRICTER: tuple[Approve, ...] = ("auto", "ask", "deny")


def tightened(state: RunState, wanted: Approve | None) -> Approve | None:
    """The approval to go on with, None if it stays. Raises UsageError if it would be loosened: safety settings
    are frozen when a run starts and can only tighten."""
    now = state.options.approve
    if wanted is None or wanted == now:
        return None
    if _STRICTER.index(wanted) < _STRICTER.index(now):
        raise UsageError(f"run {state.run_id} was started with approve = {now}, which can only be tightened")
    return wanted


def refuse_another_sandbox(state: RunState, wanted: Literal["auto", "on", "off"] | None) -> None:
    """Raises UsageError if it is now asked to contain what the worker runs, or no longer to, and the run was started
    otherwise: what may run without asking depends on it."""
    contained = state.options.contained
    if (wanted == "on" and not contained and state.options.worker != "human") or (wanted == "off" and contained):
        how = "sandboxed" if contained else "not sandboxed"
        raise UsageError(
            f"run {state.run_id} was started with its commands {how}, and stays so: start a new run for that",
            typed=", or leave out --sandbox",
        )


def _raised(state: RunState, limits: Limits) -> bool:
    """True if the limit that ended the run leaves room now."""
    raised = replace(state, goal=replace(state.goal, limits=limits))
    if state.status == "capped":
        cap = raised.limit("max_iterations")
        return cap is None or cap > state.iteration
    if state.status == "timed_out":
        timeout = raised.limit("timeout")
        return timeout is None or timeout > state.elapsed
    money = limits.budget is None or limits.budget > state.spend.known_usd
    tokens = limits.token_budget is None or limits.token_budget > state.usage.tokens
    return money and tokens


def resumable(state: RunState) -> bool:
    """True if `resume` without an id may choose it: not ended for good, and not running."""
    stands = ("paused", "interrupted", *_LIMIT_OF, *_GOES_ON)
    if state.works_elsewhere:
        return False  # the agent's own hook lets it go on
    return state.mode == "pursue" and not state.lifecycle.broken and (state.halted or state.status in stands)
