"""`GoalController`: the decisions of a run, for callers who drive their own conversation. No I/O: it folds events and
calls `decide`, as the engine does."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from donewhen.core import events as e
from donewhen.core.calls import messages_of
from donewhen.core.decide import (
    Action,
    Ask,
    AskJudge,
    AwaitPerson,
    Confirm,
    Pause,
    RunAudit,
    RunTrials,
    RunWorker,
    Stop,
    decide,
)
from donewhen.core.errors import InvalidGoal, UsageError
from donewhen.core.evidence import Evidence, Observation, ObservedResponse, check_evidence, proves
from donewhen.core.feedback import feedback_text, outputs_of
from donewhen.core.fold.dispatch import begin, fold
from donewhen.core.goal import Goal, Limits, Requirement
from donewhen.core.proof import assess
from donewhen.core.verdict import GoalVerdict
from donewhen.core.work import TurnResult
from donewhen.extras.lookalikes.adapter import about_response
from donewhen.library.asking import judge_goal
from donewhen.library.goals import refuse_without_workspace, with_stated, without_prefix
from donewhen.library.models import JudgeLike
from donewhen.library.outcomes import GoalOutcome, outcome_of
from donewhen.ports import Judgement
from donewhen.workers.callables.agents import claims_of
from donewhen.workers.callables.judges import AuditTask, judgement_of
from donewhen.workers.callables.prompts import objective_of
from donewhen.workers.callables.workers import as_text, result_of


@dataclass(frozen=True, slots=True)
class GoalContinue:
    """The worker should continue: `followup` says what is unproven, and why. `outcome` says where the goal stands.

    >>> from donewhen import GoalContinue, GoalController, GoalVerdict
    >>> controller = GoalController("The tests pass")
    >>> prompt = controller.start()
    >>> step = controller.on_turn_finished(GoalVerdict(0.3, False, "two tests fail"))
    >>> isinstance(step, GoalContinue), "two tests fail" in step.followup, step.outcome.iterations
    (True, True, 1)
    """

    followup: str
    outcome: GoalOutcome


@dataclass(frozen=True, slots=True)
class GoalDone:
    """The goal is proven, or given up: `outcome` says which.

    >>> from donewhen import GoalController, GoalDone, GoalVerdict
    >>> controller = GoalController("The tests pass", max_iterations=1)
    >>> prompt = controller.start()
    >>> step = controller.on_turn_finished(GoalVerdict(0.3, False, "two tests fail"))
    >>> isinstance(step, GoalDone), str(step.outcome.status), step.outcome.verdict.score
    (True, 'capped', 0.3)
    """

    outcome: GoalOutcome


_INSTEAD = "give a Goal with a check of it, whose results are evidence, or use run_goal(..., workspace=FOLDER)"


class GoalController:
    """Decides whether a worker continues, while the caller talks to it. It measures no time and calls nobody: limits
    other than `max_iterations` (None: the goal's own, else 10) don't apply.

    A goal in words is about the response. A Goal about a workspace, which is the default for a Goal, is proven by
    `evidence` alone. A goal with checks takes their results as evidence, and no verdict overrides a failed check.

    >>> from donewhen import GoalController, GoalVerdict
    >>> controller = GoalController("Write a haiku", max_iterations=3)
    >>> controller.start()
    'Write a haiku'
    >>> step = controller.on_turn_finished(GoalVerdict(1.0, True, ""), response="an old silent pond")
    >>> print(step.outcome.status, step.outcome.iterations)
    complete 1
    """

    def __init__(self, goal: Goal | str, judge: JudgeLike | None = None, max_iterations: int | None = None) -> None:
        self._judge = judge
        wanted = _controlled_goal(goal, max_iterations)
        judged = any(not one.sole_check for one in wanted.requirements)
        options = e.RunOptions(worker="callable", judge="the caller" if judged else None, attended=False, metered=False)
        started = e.RunStarted("", "pursue", wanted, options, "turn 0")
        self._state = begin(e.Entry(1, 0.0, started))
        self._response: Any = None
        self._given: tuple[Observation, ...] = ()
        self._seen: list[Evidence] = []
        """The evidence of the turn that is being audited; only this can be cited."""
        self._said: Any = None

    @property
    def outcome(self) -> GoalOutcome:
        """Where the goal stands."""
        return outcome_of(self._state, self._response)

    def start(self) -> str:
        """The first prompt: the objective. Raises UsageError if it was already started."""
        if self._state.turn is not None or self._state.turns_ended:
            raise UsageError("this goal was started already: make a new GoalController for another run")
        self._advance()
        return objective_of(self._state.goal)

    def on_turn_finished(
        self,
        verdict: Any = None,
        *,
        evidence: Sequence[Observation] = (),
        response: Any = "",
        error: str | None = None,
    ) -> GoalContinue | GoalDone:
        """What follows a turn of the worker. `verdict` is a judge's: a GoalVerdict, a Verdict, a dict `{score,
        complete, missing}` or a bool; anything else proves nothing. `evidence` are check results and other
        observations, `response` is what the worker said, or a Blocked, Impossible or Question. `error`: the turn
        failed, and nothing of it is judged. Raises UsageError if no turn is open, and for anything that is not
        evidence.
        """
        state = self._state
        if state.turn is None:
            raise UsageError("no turn is open: call start() first; nothing follows GoalDone")
        check_evidence(evidence, state.goal.about)
        self._said, self._given, self._response = verdict, tuple(evidence), response
        # Files are not visible here: each turn may have changed anything, so no older result counts.
        self._append(e.RevisionChanged(f"turn {state.turn.iteration}", (), "worker"))
        if error is not None:
            result = TurnResult(error=error or "the turn failed", summary=f"failed: {error}")
        else:
            result = TurnResult() if response in ("", None) else result_of(response)
        self._append(e.TurnFinished(state.turn.iteration, result))
        self._seen.clear()
        if result.error is None and self._about_response:
            self._record_evidence(_observed(result.response or ""))
        return self._advance()

    def on_run_finished(self, messages: Sequence[Any], evidence: Sequence[Observation] = ()) -> GoalContinue | GoalDone:
        """Like `on_turn_finished`, with a verdict on the evidence from the controller's own judge, which reads the
        messages, or the events of a known package such as `conversation.state.events`, as claims. For a goal about the
        response, the agent's last message is the response. This calls the judge, and waits for it. Raises UsageError
        without a judge."""
        if self._judge is None:
            raise UsageError("the controller has no judge: give one, or call on_turn_finished with a verdict")
        messages = claims_of(messages)
        messages_of(messages)  # refuses by name anything that is not a message
        said = [as_text(one.get("content")) for one in messages if one.get("role") in ("assistant", "ai")]
        response = said[-1] if said else ""
        shown = [*evidence, _observed(response)] if self._about_response else evidence
        verdict = judge_goal(self._judge, self._state.goal, shown, messages=messages)
        return self.on_turn_finished(verdict, evidence=evidence, response=response)

    @property
    def _about_response(self) -> bool:
        return self._state.goal.about == "response"

    def _advance(self) -> GoalContinue | GoalDone:
        """Follows the decisions up to the next turn, or the end."""
        while not isinstance(action := decide(self._state, 0.0), RunWorker):
            if not self._follow(action):
                return GoalDone(self.outcome)
        state, outcome = self._state, self.outcome
        views = assess(state)
        followup = feedback_text(state.goal, views, outputs=outputs_of(views, {e.id: e for e in state.check_evidence}))
        if state.last_turn.error:
            followup = f"The last turn failed: {state.last_turn.error}\n\n{followup}"
        self._append(e.TurnStarted(action.iteration, None))
        return GoalContinue(followup, outcome)

    def _follow(self, action: Action) -> bool:
        """Performs the decision; False if nothing is left to do."""
        revision = self._state.revision
        match action:
            case RunAudit(iteration):
                self._append(e.AuditStarted(iteration, revision))
                for observation in self._given:
                    self._record_evidence(observation)
                self._append(e.AuditFinished(iteration, revision))
            case AskJudge(requirements):
                self._judge_claim(requirements)
            case Confirm():
                self._append(e.RevisionConfirmed(revision))
            case Ask(interrupts):
                for interrupt in interrupts:
                    self._append(e.InterruptOpened(interrupt))
            case Stop(status, reason):
                self._append(e.RunEnded(status, reason))
            case Pause(reason, by):
                self._append(e.RunPaused(reason, by))
            case AwaitPerson() | RunWorker() | RunTrials():  # its runs have no rooms: `RunOptions.trials`
                return False
        return self._state.active

    def _record_evidence(self, observation: Observation) -> None:
        state = self._state
        number = f"E{state.evidence.count + 1}"
        evidence = Evidence(number, state.revision, state.revision, state.turns_ended, observation)
        self._append(e.EvidenceRecorded(evidence))
        self._seen.append(evidence)

    def _judge_claim(self, requirements: tuple[Requirement, ...]) -> None:
        state = self._state
        asked = tuple(one.id for one in requirements)
        if not asked:
            self._append(e.ClaimJudged(None, "nobody judged the claim"))
            return
        known = tuple(one for one in self._seen if proves(one.observation))
        reply = Judgement(None, reason="no verdict was given")
        if self._said is not None:
            said = _cited(self._said, asked, tuple(one.id for one in known))
            reply = judgement_of(said, AuditTask(state.goal, requirements, known))
        self._append(e.JudgeStarted(asked, state.revision))
        revision = state.revision
        self._append(
            e.JudgeFinished(asked, revision, revision, reply.verdict, reply.usage, reply.reason, score=reply.score)
        )

    def _append(self, event: e.Event) -> None:
        self._state = fold(self._state, e.Entry(self._state.sequence + 1, 0.0, event))


def _controlled_goal(goal: Goal | str, max_iterations: int | None) -> Goal:
    limits = goal.limits if isinstance(goal, Goal) else Limits(stall_after=None)
    cap = limits.max_iterations if max_iterations is None else max_iterations
    limits = replace(limits, max_iterations=cap, timeout=None, budget=None, token_budget=None)
    if isinstance(goal, Goal):
        if goal.about == "response":
            for text in (goal.objective, *(one.text for one in goal.requirements)):
                refuse_without_workspace(text, instead=_INSTEAD)
            return replace(goal, limits=limits)
        return replace(with_stated(goal), limits=limits)
    if not isinstance(goal, str):  # pyright: ignore[reportUnnecessaryIsInstance]  # callers are not always type-checked
        raise InvalidGoal(f"goal must be text or a Goal; it is {type(goal).__name__}")
    text = without_prefix(goal).strip()
    if not text:
        raise InvalidGoal("the objective must not be blank: say what should be true when it is done")
    return about_response(text, limits, instead=_INSTEAD)


def _cited(said: Any, asked: tuple[str, ...], known: tuple[str, ...]) -> Any:
    """A verdict from elsewhere numbers its evidence in its own way: here it cites everything that was seen."""
    if not isinstance(said, GoalVerdict) or not said.findings:
        return said
    findings = [one for one in said.findings if one.requirement_id in asked]
    return replace(
        said, findings=tuple(replace(one, evidence_ids=known if one.evidence_ids else ()) for one in findings)
    )


def _observed(text: str) -> ObservedResponse:
    return ObservedResponse(hashlib.sha256(text.encode("utf-8", "replace")).hexdigest(), text, len(text))
