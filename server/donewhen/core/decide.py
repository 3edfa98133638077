"""What happens next: `decide(state, seconds)`, pure, and short enough to be read in one go."""

from __future__ import annotations

from dataclasses import dataclass

from donewhen.core.events import EndStatus, PausedBy
from donewhen.core.goal import Requirement
from donewhen.core.integrity import TRIAL_FINDINGS
from donewhen.core.proof import (
    assess,
    findings_alone,
    needed_judgements,
    proven,
    satisfied,
    trials_due,
    undecidable,
    unmet_signature,
    unsettled_reason,
    weakly_met,
)
from donewhen.core.questions import MAX_LISTED, findings_preview, heard_of_trials, unaccepted, worker_says
from donewhen.core.state import MAX_OUTAGES, RunState
from donewhen.core.verdict import PROVEN
from donewhen.core.words import counted, listed
from donewhen.core.work import Interrupt

UNPROVEN = "something is not proven"
"""The reason of a check that has nothing else to say."""
MAX_FAILURES = 3


@dataclass(frozen=True, slots=True)
class RunWorker:
    """The worker's turn: a new iteration, or one that was cut off, again."""

    iteration: int


@dataclass(frozen=True, slots=True)
class RunAudit:
    """The bound checks that need a result, and the integrity facts."""

    iteration: int


@dataclass(frozen=True, slots=True)
class AskJudge:
    """What the judge is asked: about requirements; without any, whether the evidence confirms the worker's claim that
    it is blocked, or the goal impossible."""

    requirements: tuple[Requirement, ...]


@dataclass(frozen=True, slots=True)
class Confirm:
    """Everything is proven at the revision that is known: walk the whole workspace once more."""


@dataclass(frozen=True, slots=True)
class RunTrials:
    """Everything is proven, as far as reading goes: try the checks in rooms (`core/trials/outcome.py`)."""


@dataclass(frozen=True, slots=True)
class Ask:
    """Questions that only a person can answer."""

    interrupts: tuple[Interrupt, ...]


@dataclass(frozen=True, slots=True)
class AwaitPerson:
    """Nothing to do until a person answers, edits or lets the run go on."""


@dataclass(frozen=True, slots=True)
class Pause:
    reason: str
    by: PausedBy = "run"


@dataclass(frozen=True, slots=True)
class Stop:
    """The run ends. `status` is None for a bare audit."""

    status: EndStatus | None
    reason: str


_LIMITED = ("capped", "timed_out", "over_budget", "stalled")

Action = RunWorker | RunAudit | AskJudge | RunTrials | Confirm | Ask | AwaitPerson | Pause | Stop


def decide(state: RunState, seconds: float = 0.0) -> Action:
    """The next action of a run that is not ended, so many seconds of work after its last entry. The order of the rules
    is the rule."""
    action = (
        _asked_for(state)
        or _completed(state, seconds)
        or _out_of(state, seconds)
        or _elsewhere(state)
        or _unsettled(state, seconds)
        or _audit(state)
        or _unaffordable(state)
        or _judgement(state)
        or _bare(state)
        or _person(state)
        or _ask_about_findings(state)
        or _given_up(state)
        or _questions(state)
        or _next_turn(state)
    )
    if isinstance(action, Stop) and action.status in _LIMITED and state.last_turn.error is not None:
        # Whichever limit came first: what the worker last ran into is why.
        return Stop(action.status, f"{action.reason}; the worker's last turn failed: {state.last_turn.error}")
    return action


def _asked_for(state: RunState) -> Action | None:
    if state.lifecycle.stop_requested is not None:
        return Stop("cancelled", state.lifecycle.stop_requested)
    if state.lifecycle.pause_requested is not None:
        return Pause(state.lifecycle.pause_requested, state.lifecycle.paused_by)
    if state.plugins.halt is not None and not state.plugins.halt.resumable:
        return Stop("blocked", f"{state.plugins.halt.plugin}: {state.plugins.halt.reason}")
    return None if state.active else AwaitPerson()


def _completed(state: RunState, seconds: float) -> Action | None:
    if not proven(state):
        return None
    if trials_due(state):
        # What is proven ends `complete`, however late it is; but the time limit would cut trials off at once, for ever.
        return _out_of_time(state, seconds) or RunTrials()
    if state.works_elsewhere and not state.turns_ended:
        return None  # what an agent elsewhere is about to do is compared with how things stood before
    if not state.files.confirmed:
        return Confirm()
    return Stop("complete", _why_complete(state))


def _why_complete(state: RunState) -> str:
    """An override is always shown as such, never as proven."""
    views = assess(state)
    trusted = [f"R{view.number}" for view in views if view.grade == "person"]
    if not any(view.on_a_persons_word for view in views):
        told = "every requirement is proven" + (" or waived by a person" if trusted else "")
    elif len(trusted) == len(views):
        told = "every requirement is on a person's word"
    else:
        told = f"every requirement is proven or on a person's word ({listed(trusted, MAX_LISTED)})"
    weak = [f"R{view.number}" for view in views if view.grade == "weak_judge"]
    if weak:
        told = f"{told.replace('proven', 'proven or on the word of a weak judge', 1)} ({listed(weak, MAX_LISTED)})"
    accepted = [known.id for known in state.present_findings if known.by_a_person]
    return told + (f"; a person accepted {listed(accepted, MAX_LISTED)}" if accepted else "")


def _out_of(state: RunState, seconds: float) -> Action | None:
    """Time and money, whatever else is open."""
    out_of_time = _out_of_time(state, seconds)
    if out_of_time is not None:
        return out_of_time
    budget, tokens = state.goal.limits.budget, state.goal.limits.token_budget
    if budget is not None and state.spend.known_usd >= budget:
        return Stop("over_budget", f"the budget of ${budget:.2f} is spent")
    if tokens is not None and state.usage.tokens >= tokens:
        return Stop("over_budget", f"the budget of {tokens:,} tokens is spent")
    return None


def _out_of_time(state: RunState, seconds: float) -> Action | None:
    timeout = state.limit("timeout")
    if timeout is None or state.elapsed_after(seconds) < timeout:
        return None
    return Stop("timed_out", f"the time limit of {timeout:g} s is reached")


def _elsewhere(state: RunState) -> Action | None:
    """An agent elsewhere worked on after its run had ended: that is a turn of its own, and is audited as one."""
    resumed = state.works_elsewhere and state.turns_ended > 0 and not state.progress.open and state.redo is None
    return _next_turn(state) if resumed else None


def _unsettled(state: RunState, seconds: float) -> Action | None:
    """Another audit would find what the last ones found: files that go on changing by nobody's hand."""
    if state.turn is not None or state.redo is not None:
        return None
    reason = unsettled_reason(state, seconds)
    return Stop("blocked", reason) if reason is not None else None


def _audit(state: RunState) -> Action | None:
    return RunAudit(state.iteration) if state.auditing.due and state.turn is None and state.redo is None else None


def _unaffordable(state: RunState) -> Action | None:
    """A call that could pass a budget was not made, and what needs no model is done."""
    return Stop("over_budget", state.calls.unaffordable) if state.calls.unaffordable is not None else None


def _judgement(state: RunState) -> Action | None:
    if state.turn is not None or state.redo is not None:
        return None
    wanted, claim = needed_judgements(state), state.last_turn.claim
    about_claim = (
        claim is not None
        and claim.state in ("blocked", "impossible")
        and state.options.judge is not None
        and state.last_turn.claim_judged is None
        and not state.open_findings
    )
    if not wanted and not about_claim:
        return None
    if state.judge.outages >= MAX_OUTAGES:
        if about_claim:
            return None  # a person can tell, too, and is asked
        return Pause(f"the judge could not be asked: {state.judge.outage_reason}")
    return AskJudge(wanted)


def _bare(state: RunState) -> Action | None:
    if state.mode != "audit":
        return None
    return Stop(None, with_untried("everything is proven", state) if satisfied(state) else UNPROVEN)


def held_out_untried(state: RunState) -> str:
    """What an audit says of the checks that are held out from workers, which only a run tries; empty without any."""
    held = len(state.options.hidden_checks) if state.mode == "audit" else 0
    them = "1 hidden check was" if held == 1 else f"{held} hidden checks were"
    return f"{them} not tried: only a run tries {'it' if held == 1 else 'them'}" if held else ""


def with_untried(text: str, state: RunState) -> str:
    """How something ended, with `held_out_untried`."""
    return "; ".join(filter(None, (text, held_out_untried(state))))


def _person(state: RunState) -> Action | None:
    """An open interrupt is never skipped by the loop itself; a confirmed ending ends the run."""
    if state.lifecycle.ending is not None:
        return Stop(*state.lifecycle.ending)
    if state.redo is not None and state.redo.stage == "suspended":
        return None  # the turn goes on, and waits for the answer itself
    if state.interrupts:
        return AwaitPerson()
    claim = state.last_turn.claim
    if claim is None or (heard_of_trials(state) and findings_alone(state)):
        return None  # what it says to what trials refuse is asked about together with that
    titles = {
        "blocked": f"The worker says that it is blocked: {claim.text}. End the run as blocked?",
        "impossible": f"The worker says that it can't be done: {claim.text}. End the run as impossible?",
    }
    title = titles.get(claim.state, claim.text or "The worker has a question")
    return Ask((Interrupt(f"I{state.asking.count + 1}", "question", title, about=f"claim:{claim.state}"),))


def _ask_about_findings(state: RunState) -> Action | None:
    """Once only integrity findings remain, the worker is not called again: a person decides about all of them at once.
    A worker whose last turn failed may still be at it."""
    if state.redo is not None or state.stall.failures or state.undoing or not findings_alone(state):
        return None
    if _hears_of_trials(state):
        return None
    if state.works_elsewhere and not state.turns_ended:
        return None  # its first turn begins first: what it does is compared with how things stood before
    if not state.options.askable:
        return Stop("blocked", unaccepted(state))
    return Ask((_findings_question(state),))


def _hears_of_trials(state: RunState) -> bool:
    """What a trial refuses, the worker hears once: it may have meant no harm, and can mend it without a person. An
    agent elsewhere begins its first turn before it can be told anything."""
    cap = state.limit("max_iterations")
    if (
        state.options.worker is None
        or state.last_turn.claim is not None
        or (cap is not None and state.iteration >= cap)
    ):
        return False
    known = state.open_findings
    tried = [one for one in known if one.finding.kind in TRIAL_FINDINGS and one.finding.kind != "not_tried"]
    unheard = 1 if state.works_elsewhere else 0
    return len(tried) == len(known) and any(max(one.since, unheard) >= state.turns_ended for one in tried)


def _given_up(state: RunState) -> Action | None:
    """At equal counts the cap wins over the stall."""
    cap, stall = state.limit("max_iterations"), state.limit("stall_after")
    if state.redo is not None:
        return None
    if state.last_turn.fatal is not None:
        return Stop("crashed", state.last_turn.fatal)
    if state.stall.failures >= MAX_FAILURES:
        return Stop("crashed", f"the worker failed {state.stall.failures} times in a row: {state.last_turn.error}")
    if cap is not None and state.iteration >= cap:
        return Stop("capped", f"the limit of {counted(int(cap), 'iteration')} is reached")
    # A person who wants the findings undone has granted a turn for that.
    if stall is None or state.undoing or state.turns_ended == 0 or state.judge.outages:
        return None
    repeats = state.stall.count + 1 if unmet_signature(state) == state.stall.signature else 1
    if repeats >= stall:
        return Stop("stalled", f"{stall} iterations in a row ended with the same files and the same unmet requirements")
    return None


def _questions(state: RunState) -> Action | None:
    """Once only requirements remain that nothing can decide, the worker is not called again."""
    remaining = {view.requirement_id for view in assess(state) if view.status not in ("met", "waived")}
    open_ones = [r for r in state.goal.requirements if r.id in remaining]
    if not open_ones or state.open_findings or not all(undecidable(state, r) for r in open_ones):
        return None
    # A person is not asked about what a turn left behind that failed: the worker may still do it.
    if state.redo is not None or (state.stall.failures and state.options.judge is not None):
        return None
    weakly = [r.label for r in open_ones if weakly_met(state, r)]
    if weakly and not state.options.askable:
        told = f"only a weak judge says that {', '.join(weakly)} is met, which a person has to confirm"
        ways = "bind a check to it, set another judge_model, waive it, or set accept_weak_judge"
        return Stop("blocked", f"{told}: {ways}")
    if not (state.options.attended or weakly) and state.options.judge is not None:
        return None
    asked = [r for r in open_ones if f"requirement:{r.id}" not in state.asking.dismissed]
    if not asked:
        labels = ", ".join(r.label for r in open_ones)
        return Stop("blocked", f"nothing can prove {labels}, and a person did not waive it")
    return Ask(tuple(_requirement_question(state, r, n) for n, r in enumerate(asked, state.asking.count + 1)))


def _next_turn(state: RunState) -> Action:
    if state.options.worker is None:
        return AwaitPerson()
    if state.options.summary and state.started is None:
        number = f"I{state.asking.count + 1}"
        return Ask((Interrupt(number, "approval", "Start this run?", about="start", preview=state.options.summary),))
    return RunWorker(state.redo.iteration if state.redo is not None else state.iteration + 1)


def _findings_question(state: RunState) -> Interrupt:
    known, cap = state.open_findings, state.limit("max_iterations")
    unsettled = any(view.status not in PROVEN for view in assess(state))
    rest = "Nothing else is left for the worker" if unsettled else "Everything else is proven"
    ids = ", ".join(one.id for one in known)
    accept = "Accept that" if len(known) == 1 else f"Accept all {len(known)} changes"
    tried = all(one.finding.kind in TRIAL_FINDINGS for one in known)
    what = f"trials refuse the proof ({ids})" if tried else f"the proof itself was changed ({ids})"
    title = f"{rest}, but {what}. {accept}, have the worker undo it, or end the run?"
    if tried and state.trial.last is not None and state.trial.last.advice:
        title += f" {state.trial.last.advice}"
    if cap is not None and state.iteration >= cap:
        title += f" The worker has no turns left: the limit of {counted(int(cap), 'iteration')} is reached."
    title += worker_says(state)
    return Interrupt(
        f"I{state.asking.count + 1}",
        "question",
        title,
        about="findings",
        input={"findings": [one.id for one in known]},
        preview=findings_preview(known),
    )


def _requirement_question(state: RunState, requirement: Requirement, number: int) -> Interrupt:
    ways = "Add a check below it in the goal file"
    if state.options.judge is None:
        ways += ", or choose a judge there (judge_model): this run picks up either. Or waive it on your own word."
    else:
        ways += ", which this run picks up. Or waive it on your own word."
    nothing = "Only a weak judge says that it is met, so nothing" if weakly_met(state, requirement) else "Nothing"
    title = f"{nothing} can decide {requirement.label}: {requirement.text.rstrip('.')}. {ways}"
    return Interrupt(f"I{number}", "question", title, about=f"requirement:{requirement.id}")
