"""Follows a run from its start or resumption to its end, pause or Ctrl-C."""

from __future__ import annotations

import asyncio
import shlex
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass

from donewhen.app.repairs import by_hand
from donewhen.cli.calling import Call
from donewhen.cli.display import Display
from donewhen.cli.formatting import one_line
from donewhen.cli.outcome import COMPLETE, PAUSED_BY_CTRL_C, PERSON_NEEDED, exit_code
from donewhen.cli.questions import Questions
from donewhen.cli.terminal import Ending, OutputClosed, ending_signals
from donewhen.core.answers import WAITS, answer_example, answers_hint
from donewhen.core.errors import DoneWhenError
from donewhen.core.events import PausedBy
from donewhen.core.proof import findings_alone
from donewhen.core.resume import ending_once_resumed, goal_kept, putting_back
from donewhen.core.state import RunState
from donewhen.core.verdict import PROVEN
from donewhen.core.words import listed
from donewhen.engine.api import Runs, RunView

MAX_OPEN = 12
Typed = Callable[[str], str]
PAUSE_SECONDS = 15.0
"""Seconds that a run may take to pause: its children get 2 s, a large workspace its last checkpoint."""


@dataclass(frozen=True, slots=True)
class Pursuit:
    """What following needs. `supervised`: signals pause the run, questions are asked, and a run that waits without a
    person to ask is paused. `hints`: at the end, the next possible commands are shown."""

    call: Call
    runs: Runs
    display: Display
    supervised: bool = True
    hints: bool = True

    async def follow(self, beginning: Awaitable[RunView]) -> int:
        """Awaits the run's first view, follows, and returns the exit code."""
        since = time.time() if self.supervised else 0.0
        with ending_signals() as ending:
            first = await ending.unless_set(beginning)
            if first is None:  # reading a large workspace takes time
                self.call.terminal.message(f"{ending.reason}: ended before the run went on; `donewhen status` shows it")
                return PAUSED_BY_CTRL_C if ending.by_ctrl_c else PERSON_NEEDED
            last = await self._to_the_end(first, ending, since)
        with suppress(OutputClosed):
            self.display.finish(last)
        if self.supervised and self.hints:
            for line in what_next(last, self.call.typed_here):
                self.call.terminal.message(line)
        if ending.by_ctrl_c and not last.state.lifecycle.ended:
            return PAUSED_BY_CTRL_C if self.supervised else 0
        return exit_code(last.state)

    async def _to_the_end(self, first: RunView, ending: Ending, since: float) -> RunView:
        run_id = first.state.run_id
        following = asyncio.create_task(self._show_all(first, since))
        signalled = asyncio.create_task(ending.wait())
        try:
            await asyncio.wait({following, signalled}, return_when=asyncio.FIRST_COMPLETED)
            if following.done():
                return following.result()
            if not self.supervised:
                return await self.runs.view(run_id)
            self.display.note(f"{ending.reason}: pausing …")
            paused = await self._pause(run_id, ending.reason, "person" if ending.by_ctrl_c else "run")
            await asyncio.wait({following}, timeout=PAUSE_SECONDS)
            return following.result() if following.done() and following.exception() is None else paused
        except OutputClosed:
            # Nobody watches any more: as with a closed terminal, nothing continues unseen.
            if self.supervised:
                return await self._pause(run_id, "standard output was closed", "run")
            return await self.runs.view(run_id)
        finally:
            # Nothing may be written after the last line.
            following.cancel()
            signalled.cancel()
            await asyncio.gather(following, signalled, return_exceptions=True)

    async def _pause(self, run_id: str, reason: str, by: PausedBy) -> RunView:
        with suppress(DoneWhenError):  # it may have ended by itself
            await self.runs.pause(run_id, reason, by)
        return await self.runs.view(run_id)

    async def _show_all(self, first: RunView, since: float) -> RunView:
        """Shows every view until the last, which it returns; also the worker's steps from `since` on, in epoch
        seconds."""
        last, run_id, version = first, first.state.run_id, 0
        asks = self.supervised and self.call.interactive
        questions = Questions(self.runs, run_id, self.call.terminal, self.display) if asks else None
        try:
            async for view in self.runs.follow(run_id):
                last = view
                if questions is not None:
                    questions.update(view)
                if questions is None or not questions.asking:
                    did = await self.runs.steps(run_id, version)
                    version = did.version
                    # Its steps before a resumption were reported then; but a hint may be read only now.
                    self.display.did([one for one in did.steps if one.at >= since or one.kind == "hint"])
                    self.display.show(view)
                if self._nobody_can_answer(view):
                    asked = view.state.interrupts[0]
                    await self.runs.pause(run_id, f"{WAITS}: {asked.id} {one_line(asked.title, 100)}", "run")
        finally:
            if questions is not None:
                questions.close()
        return last

    def _nobody_can_answer(self, view: RunView) -> bool:
        state = view.state
        waiting = state.active and bool(state.interrupts) and state.lifecycle.pause_requested is None
        return self.supervised and waiting and not self.call.interactive


def what_next(view: RunView, typed: Typed = str) -> list[str]:
    """What a person can do now, as commands, each as it is `typed` here."""
    state = view.state
    run_id = state.run_id
    answers = ["  " + typed(f"donewhen answer {run_id} {i.id} {answer_example(i)}") for i in state.interrupts]
    receipt = f"receipt: {typed(f'donewhen report {run_id}')}"
    if exit_code(state) == PERSON_NEEDED:
        # The plugin's reason and data say what it takes; the worker takes nothing.
        data = " --data JSON" if state.plugins.halt is not None and state.plugins.halt.plugin != "worker" else ""
        takes = [f"{i.id} takes {answers_hint(i)}" for i in state.interrupts]
        if state.works_elsewhere:
            asked = ["\n".join(["answer with:", *answers])] if answers else []
            goes_on = (
                "start the agent again to continue"
                if state.lifecycle.paused
                else "the agent continues in its own session"
            )
            return [*asked, *takes, f"{goes_on}: the goal is checked when it next stops"]
        acts = "\n".join([*answers, *_acts(state, f"donewhen resume {run_id}{data}", typed)])
        goes_on = "end the run" if ending_once_resumed(state) else "go on"
        return [f"saved; {goes_on} with:\n{acts}", *takes]
    if not state.lifecycle.ended or state.status in ("complete", "cancelled"):
        return [receipt] if state.lifecycle.ended else []
    if state.mode == "audit" and exit_code(state) == COMPLETE:
        return [receipt]
    if state.mode == "audit":
        goal = "" if state.goal.path in (None, "GOAL.md") else f" {shlex.quote(state.goal.path)}"
        return [_still_open(view), f"work on it with: {typed(f'donewhen run{goal}')}", receipt]
    return [_still_open(view), *_to_go_on(state, typed), receipt]


def _acts(state: RunState, resume: str, typed: Typed) -> list[str]:
    """What to type about why it stands still, and that it goes on, in the order in which an editor has its buttons."""
    acts = [] if state.calls.trouble is None else [*by_hand(state, state.calls.trouble)]
    if goal_kept(state) is not None:
        acts.append((putting_back(state), "put it back"))
    if resume not in (act for act, _ in acts):
        acts.append((resume, "then go on"))
    if len(acts) == 1:
        return [f"  {typed(resume)}"]
    acts = [(typed(act) if act.startswith("donewhen ") else act, why) for act, why in acts]
    longest = max(len(act) for act, _ in acts)
    return [f"  {act:<{longest}}   # {why}" for act, why in acts]


def _still_open(view: RunView) -> str:
    """What prevents the goal from being complete, such as `R2 unmet, R3 unverified, F1 test_skipped`."""
    left = [f"R{one.number} {one.status}" for one in view.views if one.status not in PROVEN]
    left += [f"{known.id} {known.finding.kind}" for known in view.state.open_findings]
    return f"still open: {listed(left, MAX_OPEN) or 'nothing'}"


def _to_go_on(state: RunState, typed: Typed) -> list[str]:
    """What a person can do about a run that ended without its goal, as commands."""
    run_id, findings = state.run_id, state.open_findings
    if state.lifecycle.broken:
        return []  # a run with such a record can't continue, and its reason says so
    accept = [f"donewhen accept {run_id} --all --reason TEXT"] if findings else []
    undo = f"accept {', '.join(one.id for one in findings)}, or undo what was changed" if findings else ""
    back = [] if goal_kept(state) is None else [putting_back(state)]

    def commands(*before: str, option: str = "") -> str:
        return "".join(f"\n  {typed(one)}" for one in (*before, *accept, *back, f"donewhen resume {run_id}{option}"))

    if state.status in ("capped", "timed_out", "over_budget"):
        spent = "--budget USD" if state.goal.limits.budget is not None else "--token-budget N"
        option = {"capped": "--max-iterations N", "timed_out": "--timeout T"}.get(state.status, spent)
        also = f"; {undo}" if undo else ""
        return [f"nothing is lost; raise the limit to go on{also}:{commands(option=f' {option}')}"]
    unproven = [r.label for r in state.goal.requirements if f"requirement:{r.id}" in state.asking.dismissed]
    if state.status == "blocked" and unproven:
        waive = (f"donewhen waive {run_id} {one} --reason TEXT" for one in unproven)
        go_on = f"nothing is lost; write a check below {', '.join(unproven)} in the goal file, or waive it, and go on:"
        return [f"{go_on}{commands(*waive)}"]
    if findings_alone(state):
        return [f"nothing is lost; {undo}, and go on:{commands()}"]
    advice = {
        "stalled": "the worker repeats itself: change the goal, the files or what it works with",
        "blocked": "remove what blocks it",
        "impossible": "change the goal, if it can be done otherwise",
        "crashed": "fix what failed",
    }.get(state.status or "", "")
    return [f"nothing is lost; {'; '.join(part for part in (advice, undo) if part)}; then go on:{commands()}"]
