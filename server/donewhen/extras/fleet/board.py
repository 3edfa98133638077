"""Where every goal of a fleet stands, and which has its next iteration when: pure, the same on this machine and on
Temporal.

Money is set aside before an iteration begins and settled when it has ended, so that the budget of the fleet is never
passed by calls that a run can bound.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from donewhen.core.approval import COMMAND_TOOL
from donewhen.core.errors import UsageError
from donewhen.core.work import Interrupt, InterruptKind
from donewhen.extras.fleet.manifest import Fleet, FleetGoal

State = Literal["ready", "working", "waiting", "paused", "ended"]
"""`waiting`: for a person; `paused`: by a person; `ready`: for its turn."""
_FOR_GOOD = ("complete", "cancelled")
_LEAST = 1e-6
"""US dollars: less is nothing."""


@dataclass(slots=True)
class Question:
    """An open interrupt of a run, as far as a person must see it to answer."""

    id: str
    title: str
    tool: str | None = None
    preview: str = ""
    kind: InterruptKind = "approval"
    about: str = ""

    @property
    def interrupt(self) -> Interrupt:
        """As it was asked, as far as an answer depends on it."""
        given = {"command": self.preview} if self.tool == COMMAND_TOOL else {}
        return Interrupt(self.id, self.kind, self.title, self.about, self.tool, given)


@dataclass(slots=True)
class Given:
    """A person's answer to the interrupt of that id: the fields of `core.work.Answer`."""

    interrupt_id: str
    response: str
    text: str = ""
    input: dict[str, Any] | None = None
    reason: str = ""
    remember: str = ""


@dataclass(slots=True)
class Grant:
    """Leave for one iteration of a goal: with so much money (None: no bound by the fleet), and these answers."""

    goal: FleetGoal
    run_id: str
    number: int
    usd: float | None = None
    answers: list[Given] = field(default_factory=list[Given])


@dataclass(slots=True)
class Outcome:
    """How an iteration ended. `state` is `ready` where the goal wants another one. `usd` is what the run has cost so
    far. `short`: it ended because the money that was set aside for it was not enough."""

    goal_id: str
    number: int
    state: State
    end: str | None = None
    reason: str = ""
    iteration: int = 0
    usd: float = 0.0
    tokens: int = 0
    questions: list[Question] = field(default_factory=list[Question])
    short: bool = False


@dataclass(slots=True)
class Standing:
    """One goal of the fleet as it stands. `number` counts its grants."""

    goal: FleetGoal
    run_id: str
    state: State = "ready"
    end: str | None = None
    reason: str = ""
    iteration: int = 0
    usd: float = 0.0
    tokens: int = 0
    reserved: float = 0.0
    wanted: float = 0.0
    refused: float = 0.0
    """What was set aside for an iteration that could not even begin with it."""
    number: int = 0
    questions: list[Question] = field(default_factory=list[Question])
    answers: list[Given] = field(default_factory=list[Given])
    stopping: bool = False
    pausing: bool = False

    @property
    def open(self) -> bool:
        return self.state != "ended"


@dataclass(slots=True)
class Board:
    """The goals of one fleet. `serial` tells this fleet from others that had its name."""

    fleet: Fleet
    serial: str
    paused: bool = False
    goals: dict[str, Standing] = field(default_factory=dict[str, Standing])

    def __post_init__(self) -> None:
        self._add(self.fleet)

    def _add(self, fleet: Fleet) -> None:
        for goal in fleet.goals:
            known = self.goals.get(goal.id)
            if known is None:
                self.goals[goal.id] = Standing(goal, run_id_of(self.serial, goal.id))
            else:
                known.goal = goal

    def document(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def of(cls, document: Mapping[str, Any]) -> Board:
        from pydantic import TypeAdapter  # lazy: start-up time, and only a board that was kept needs it

        return TypeAdapter(cls).validate_python(document)

    # ------------------------------------------------------------------------------------ what is next

    @property
    def spent(self) -> float:
        return sum(one.usd for one in self.goals.values())

    @property
    def working(self) -> int:
        return sum(one.state == "working" for one in self.goals.values())

    @property
    def ended(self) -> bool:
        return not any(one.open for one in self.goals.values())

    @property
    def available(self) -> float | None:
        """What is neither spent nor set aside, in US dollars; None without a budget."""
        if self.fleet.max_cost is None:
            return None
        return self.fleet.max_cost - self.spent - sum(one.reserved for one in self.goals.values())

    def grants(self) -> Iterator[Grant]:
        """The iterations that may begin now; each counts as begun."""
        if self.paused:
            return
        lines: set[tuple[str, str]] = set()
        room = self.fleet.parallel - self.working
        for one in self.goals.values():
            if not one.open or one.goal.line in lines:
                continue
            lines.add(one.goal.line)  # the first that is open has its workspace
            if one.state != "ready" or room <= 0:
                continue
            granted = self._granted(one)
            if granted is not None:
                room -= 1
                yield granted

    def _granted(self, one: Standing) -> Grant | None:
        available, usd = self.available, None
        if available is not None:
            # Never less than an iteration is said to cost: a worker that bounds nothing itself would pass it.
            usd = min(max(one.wanted, self.fleet.iteration_cost), available)
            if usd < self.fleet.iteration_cost - _LEAST or usd <= one.refused + _LEAST:
                if self.working == 0:
                    spent = f"the fleet's budget of ${self.fleet.max_cost or 0:.2f} is spent"
                    self._end(one, "over_budget", f"{spent}: run it again with a higher max_cost")
                return None
            one.reserved = usd
        one.state, one.number, one.reason = "working", one.number + 1, ""
        answers, one.answers = one.answers, []
        return Grant(one.goal, one.run_id, one.number, usd, answers)

    def settle(self, outcome: Outcome) -> None:
        """Takes what an iteration came to. One that was settled already changes nothing."""
        one = self.goals.get(outcome.goal_id)
        if one is None or one.state != "working" or outcome.number != one.number:
            return
        # Twice what was not enough, so that an iteration that costs more than expected gets on.
        one.wanted = 2 * one.reserved if outcome.short else 0.0
        one.refused = one.reserved if outcome.short and outcome.usd - one.usd < _LEAST else 0.0
        one.reserved, one.usd, one.tokens = 0.0, outcome.usd, outcome.tokens
        one.iteration, one.reason, one.questions = outcome.iteration, outcome.reason, outcome.questions
        one.state = outcome.state
        if outcome.state == "ended":
            self._end(one, outcome.end or "failed", outcome.reason)
        elif one.answers:
            one.state = "ready"
        elif outcome.state == "ready" and one.pausing:
            one.state = "paused"
        one.pausing = False

    def _end(self, one: Standing, end: str, reason: str) -> None:
        one.state, one.end, one.reason, one.questions, one.stopping = "ended", end, reason, [], False

    # -------------------------------------------------------------------------------- what people say

    def standing(self, goal_id: str) -> Standing:
        """Raises UsageError for a goal that the fleet hasn't."""
        if goal_id not in self.goals:
            few = ", ".join(list(self.goals)[:8])
            raise UsageError(f"the fleet {self.fleet.name} has no goal {goal_id} (it has {few})")
        return self.goals[goal_id]

    def pause(self, goal_id: str | None) -> None:
        """No further iteration begins, of one goal or of any; those that are at work end first."""
        if goal_id is None:
            self.paused = True
            return
        one = self.standing(goal_id)
        if not one.open:
            raise UsageError(f"nothing to pause: {goal_id} has ended ({one.end})")
        if one.state == "working":
            one.pausing = True
        elif one.state == "ready":
            one.state = "paused"

    def resume(self, goal_id: str | None) -> None:
        """Lets it go on. A goal is also taken up again after an end that isn't for good."""
        if goal_id is None:
            self.paused = False
            for one in self.goals.values():
                if one.state == "paused":
                    one.state = "ready"
            return
        one = self.standing(goal_id)
        if one.state == "ended" and one.end in _FOR_GOOD:
            raise UsageError(f"{goal_id} is {one.end}: there is nothing to go on with")
        if one.state == "ended":
            one.end, one.wanted, one.refused = None, 0.0, 0.0
        one.pausing = False
        if one.state != "working":
            one.state, one.reason = "ready", ""

    def answer(self, goal_id: str, given: Given) -> None:
        """Raises UsageError if nothing of that id is asked."""
        one = self.standing(goal_id)
        asked = [question.id for question in one.questions]
        if one.state != "waiting" or given.interrupt_id not in asked:
            known = ", ".join(asked) or "nothing is asked"
            raise UsageError(f"{goal_id} has no open question {given.interrupt_id} ({known})")
        one.answers.append(given)
        one.questions = [question for question in one.questions if question.id != given.interrupt_id]
        if not one.questions:
            one.state = "ready"

    def stop(self, goal_id: str | None) -> list[Standing]:
        """The goals whose runs are to be ended now: whoever drives the board does, and settles."""
        asked = list(self.goals.values()) if goal_id is None else [self.standing(goal_id)]
        if goal_id is not None and not asked[0].open:
            raise UsageError(f"nothing to stop: {goal_id} has ended ({asked[0].end})")
        stopped: list[Standing] = []
        for one in asked:
            if not one.open or one.stopping:
                continue
            if one.number == 0:
                self._end(one, "cancelled", "stopped before it began")
                continue
            if one.state != "working":
                one.number, one.state = one.number + 1, "working"
            one.stopping = True
            stopped.append(one)
        return stopped

    def again(self, fleet: Fleet) -> None:
        """The manifest was read again: new goals join, settings and bounds are the new ones, and what a budget of the
        fleet ended goes on if there is money now."""
        self.fleet = fleet
        self._add(fleet)
        for one in self.goals.values():
            if one.state == "ended" and one.end == "over_budget" and one.reason.startswith("the fleet's budget"):
                one.state, one.end, one.wanted, one.refused = "ready", None, 0.0, 0.0


def run_id_of(serial: str, goal_id: str) -> str:
    """The id of the goal's run: the same whenever an iteration is tried again."""
    return hashlib.sha256(f"{serial}\n{goal_id}".encode()).hexdigest()[:12]
