"""A run as plain lines: one for each relevant change, suitable for a log."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from donewhen.cli.formatting import SYMBOLS, bounded, duration, one_line, plain, shown_path, spending
from donewhen.core.decide import with_untried
from donewhen.core.evidence import CheckResult, reason_lines
from donewhen.core.goal import Requirement
from donewhen.core.integrity import TRIAL_FINDINGS
from donewhen.core.proof import satisfied
from donewhen.core.state import IterationRecord, KnownFinding, RunState
from donewhen.core.summary import room_text
from donewhen.core.verdict import RequirementView, graded
from donewhen.core.words import counted, money
from donewhen.core.work import Interrupt
from donewhen.engine.api import RunStep, RunView
from donewhen.wire.snapshot import halt_text, shown_halt

MAX_REASON = 300
"""Characters in one line of a reason."""
SILENT = 15
"""Seconds without a word of the model after which a line says so."""
STILL = "its server may be stuck, or still be reading the prompt; `model_silence` limits the wait"
MAX_PREVIEW = 12
"""Lines of a preview among other lines; a question shows more."""


class Log:
    """Turns the views of one run into lines; each change is reported once."""

    def __init__(self) -> None:
        self._before: RunView | None = None
        self._told: dict[str, tuple[str, str]] = {}
        self._said: set[str] = set()
        self._silent = 0
        self._untried: dict[str, bool] = {}
        """What trials found in a tree that is no more, and whether it was told that it is tried again."""

    def lines(self, view: RunView, did: Sequence[RunStep] = ()) -> list[str]:
        """What is new in `view`, in order of relevance; the first call begins with the run's subject. `did` are the
        worker's steps since the previous view."""
        before, self._before = self._before, view
        silent, self._silent = self._silent, view.live.silent
        if before is None:
            lines = opening(view)
        else:
            new = [warning for warning in view.state.warnings if warning not in before.state.warnings]
            lines = [f"warning: {one_line(warning.message)}" for warning in new]
        lines += self._turns(before, view, did)
        lines += _retried(before, view)
        if silent < SILENT <= self._silent:  # once for each silence
            lines.append(f"  the model has said nothing for {self._silent} s: {STILL}")
        lines += self._requirement_changes(view)
        lines += self._finding_changes(before, view)
        known = {one.id for one in before.state.interrupts} if before else set[str]()
        for asked in view.state.interrupts:
            if asked.id not in known:
                lines += [f"{asked.id} {asked.kind}: {one_line(asked.title)}", *preview_lines(asked)]
        return lines

    def _turns(self, before: RunView | None, after: RunView, did: Sequence[RunStep]) -> Iterator[str]:
        """Each turn that began, the steps in it, and how it ended."""
        state = after.state
        known = {record.number for record in before.state.progress.iterations} if before else set[int]()
        cap = state.limit("max_iterations")
        begun = state.turn if before is None or before.state.turn != state.turn else None
        finished = before is not None and before.state.turns_ended < state.turns_ended
        ended = {
            record.number: record
            for record in state.progress.iterations
            if record.number not in known or (finished and record.number == state.iteration)
        }
        starts = set[int]() if begun is None else {begun.iteration}
        for number in sorted({*ended, *starts, *(step.iteration for step in did)}):
            if number in starts:
                yield f"iteration {number}{f'/{cap}' if cap is not None else ''}"
            for step in did:
                if step.iteration == number:
                    self._said.add(one_line(step.text))
                    yield from (line.text for line in step_lines(step))
            if number in ended:
                says = "you" if state.waits_for_person else "the worker says:"
                redo, record = state.redo, ended[number]
                waits = redo is not None and redo.iteration == number and record.error is None
                yield from self._turn_ended(record, says, waits=waits)

    def _turn_ended(self, record: IterationRecord, says: str, *, waits: bool) -> Iterator[str]:
        """The worker's last words are not repeated. `waits`: it goes on once a person has answered."""
        if waits:
            yield "  the turn waits for a person"
            return
        if record.error:
            yield f"  the worker failed: {one_line(record.error)}"
        elif record.summary and not any(said.startswith(one_line(record.summary)) for said in self._said):
            yield f"  {says} {one_line(record.summary)}"
        if changed := record.changed:
            more = f" and {len(changed) - 5} more" if len(changed) > 5 else ""
            yield f"  changed: {one_line(', '.join(map(shown_path, changed[:5])))}{more}"
        elif not record.error:
            yield "  changed: nothing"

    def _requirement_changes(self, view: RunView) -> Iterator[str]:
        """Reports nothing before the first look, nor during a renewal: the last result stands until there is a new
        one."""
        for one in view.views:
            unknown = view.state.auditing.count == 0 and one.status == "unverified"
            word = (one.status, one.reason)
            if not one.renewing and not unknown and self._told.get(one.requirement_id) != word:
                self._told[one.requirement_id] = word
                yield requirement_line(view, one)

    def _finding_changes(self, before: RunView | None, after: RunView) -> Iterator[str]:
        """A change of the files alone undoes nothing that trials found: the next trials say whether it is."""
        state, earlier = after.state, before.state.present_findings if before else ()
        known = {(f.id, f.accepted) for f in earlier}
        yield from (finding_line(f) for f in state.present_findings if (f.id, f.accepted) not in known)
        remaining = {f.id for f in state.present_findings}
        gone = [f for f in earlier if f.id not in remaining]
        yield from (f"{f.id} is resolved" for f in gone if f.finding.kind not in TRIAL_FINDINGS)
        self._untried.update({f.id: False for f in gone if f.finding.kind in TRIAL_FINDINGS})
        tried = state.trial.last is not None and state.trial.last.revision == state.revision
        for identity, told in tuple(self._untried.items()):
            if tried or identity in remaining:
                del self._untried[identity]
                if identity not in remaining:
                    yield f"{identity} is resolved"
            elif not told and satisfied(state):
                # As long as anything else is unproven, nothing is tried.
                self._untried[identity] = True
                yield f"retrying {identity}"


def opening(view: RunView) -> list[str]:
    """What the run is about."""
    state = view.state
    lines = [f"goal: {one_line(state.goal.title)}", f"run: {state.run_id} · {_under_limits(view)}"]
    return [*lines, *(f"warning: {one_line(warning.message)}" for warning in state.warnings)]


def closing(view: RunView) -> list[str]:
    """How it ended, and what remains."""
    state = view.state
    counts = met_of_total(view)
    if state.mode == "audit" and state.lifecycle.end_status == "crashed":
        return [f"the check broke off: {one_line(state.lifecycle.reason, 500)}"]
    if state.mode == "audit":
        word = "proven" if _all_settled(view) else "not proven"
        return [with_untried(" · ".join((f"{word}: {counts}", *spending(state.spend.judge))), state)]
    spent = [f"{counted(state.iteration, 'iteration')}", duration(state.elapsed), *spending(state.usage)]
    # The run's own reason was true at its end: the counts beside it are the present ones.
    changed = state.status == "complete" and (view.stale or not _all_settled(view))
    halt = shown_halt(state)
    if changed:
        ended = "was complete until files changed"
    elif halt is not None and halt.resumable:
        ended = one_line(halt_text(halt), 500)
    else:
        ended = f"{state.status}: {one_line(state.lifecycle.reason)}" if state.lifecycle.reason else f"{state.status}"
    worked = [where] if (where := room_text(state.options)) else []
    return [
        ended,
        f"{counts} · {' · '.join([*spent, *worked])}",
        *([] if state.lifecycle.broken else graded(view.views)),
        *_apart(state),
    ]


def stale_lines(view: RunView, checked: RunView | None = None) -> list[str]:
    """That its result is about other content than the present one, and what changed; nothing if it isn't. `checked` is
    a later check of its goal on the present files."""
    if view.present is None or not view.stale:
        return []
    changed = [shown_path(path) for path in view.present.changed or ()]
    more = f" and {len(changed) - 5} more" if len(changed) > 5 else ""
    what = f": {one_line(', '.join(changed[:5]))}{more}" if changed else ""
    if view.state.guard is not None and view.state.auditing.due:
        return []  # it is being proven again
    then = "run `donewhen check` to check again"
    if checked is not None:
        proven = "proved the goal" if _all_settled(checked) else "did not prove the goal"
        then = f"a later check {proven} on the present files: donewhen report {checked.state.run_id}"
    return [f"stale: files changed since this result{what}; {then}"]


def _apart(state: RunState) -> list[str]:
    """Worker and judge separately, if both asked models."""
    told = [(who, spending(usage)) for who, usage in (("worker", state.worker_usage), ("judge", state.spend.judge))]
    if not all(parts for _, parts in told):
        return []
    return [" · ".join(f"{who} {', '.join(parts)}" for who, parts in told)]


def met_of_total(view: RunView) -> str:
    """`2 of 5 met, 1 waived`."""
    met = sum(one.status == "met" for one in view.views)
    waived = sum(one.status == "waived" for one in view.views)
    return f"{met} of {len(view.views)} met" + (f", {waived} waived" if waived else "")


def requirement_line(view: RunView, one: RequirementView) -> str:
    """`✓ R1 met: its text (its reason) [E3]`; details of a failure follow on separate lines."""
    text = requirement_of(view, one).text
    cited = f" [{', '.join(one.evidence_ids)}]" if one.evidence_ids else ""
    flaky = " (flaky)" if one.flaky else ""
    told, *wrong = reason_told(view, one)
    reason = f": {told}" if told else ""
    line = f"{SYMBOLS[one.status]} R{one.number} {one.status}{flaky} · {one_line(text, 100)}{reason}{cited}"
    return "\n".join([line, *(f"    {each}" for each in wrong)])


def requirement_of(view: RunView, one: RequirementView) -> Requirement:
    return next(r for r in view.state.goal.requirements if r.id == one.requirement_id)


def reason_told(view: RunView, one: RequirementView) -> list[str]:
    """The reason, without the command of its only check, which the requirement or the evidence already names; then the
    first messages of a failed check, one per line."""
    checks = requirement_of(view, one).checks
    command = f"`{checks[0].command}`: " if len(checks) == 1 else ""
    reason = one.reason.removeprefix(command)
    cited = (evidence.observation for evidence in view.state.check_evidence if evidence.id in one.evidence_ids)
    failed = next((seen for seen in cited if isinstance(seen, CheckResult) and not seen.passed), None)
    return [one_line(line, MAX_REASON) for line in (reason_lines(reason, failed) if failed is not None else [reason])]


def finding_line(known: KnownFinding) -> str:
    """`! F1 test_skipped tests/test_x.py:12: its message`."""
    finding = known.finding
    accepted = f" (accepted: {one_line(known.reason)})" if known.accepted else ""
    place = f"{shown_path(finding.path)}:{finding.line + 1}" if finding.path else "workspace"
    return f"! {known.id} {finding.kind} · {place}: {one_line(finding.message)}{accepted}"


def _under_limits(view: RunView) -> str:
    state = view.state
    if state.mode == "audit":
        return "a check without a worker"
    cap, timeout = state.limit("max_iterations"), state.limit("timeout")
    options, limits = state.options, state.goal.limits
    parts = [f"worker {options.worker}" + (f" ({options.agent.model})" if options.agent is not None else "")]
    parts += [f"judge {options.judge}"] if options.judge else []
    parts += [f"at most {counted(int(cap), 'iteration')}"] if cap is not None else []
    parts += [duration(timeout)] if timeout is not None else []
    parts += [money(limits.budget)] if limits.budget is not None else []
    parts += [f"{limits.token_budget:,} tokens"] if limits.token_budget is not None else []
    return ", ".join(parts)


def _all_settled(view: RunView) -> bool:
    return not view.state.open_findings and all(one.status in ("met", "waived") for one in view.views)


def _retried(before: RunView | None, after: RunView) -> Iterator[str]:
    """That the model could not be asked, once for each try, and first what its server said."""
    retrying = after.state.calls.retrying
    if retrying is not None and (before is None or before.state.calls.retrying != retrying):
        if retrying.failed.next_try == FIRST_REPETITION:
            said, _, advice = retrying.failed.trouble.said.rpartition("; ")
            yield f"  {one_line(said or advice)}"
        yield f"  {retrying.text(retrying.at - retrying.failed.wait)}"


def preview_lines(interrupt: Interrupt) -> list[str]:
    """What an approval would do, as far as a few lines can show it."""
    return [f"    {line}" for line in bounded(interrupt.preview, MAX_PREVIEW)] if interrupt.kind == "approval" else []


# What a worker reads, runs, edits and says, as lines for people.


SHOWN = ("says", "reads", "runs", "edits", "tool", "hint")
"""The kinds of steps that get lines; the picture of the run shows the others."""
FIRST_REPETITION = 2
"""The number of the try that is made when the first one has failed."""
MAX_DIFF = 20
MAX_OUTPUT = 8
"""Lines of one step: the last ones of a command's output."""
MAX_SAID = 5
STYLES = {"+": "green", "-": "red", "@": "dim"}


@dataclass(frozen=True, slots=True)
class StepLine:
    """One line, and its style on a terminal."""

    text: str
    style: str = ""


class StepLines:
    """Reports each step once, when it has ended; `doing` is the present step."""

    def __init__(self) -> None:
        self._told: set[str] = set()
        self.doing: RunStep | None = None

    def take(self, steps: Sequence[RunStep]) -> list[StepLine]:
        """The lines of the steps that have ended and were not reported yet."""
        return [line for step in self.over(steps) for line in step_lines(step)]

    def over(self, steps: Sequence[RunStep]) -> list[RunStep]:
        """The steps that have ended and were not reported yet."""
        over: list[RunStep] = []
        for step in steps:
            if step.kind not in SHOWN:
                continue
            if step.state == "running" and step.kind != "hint":
                self.doing = step
                continue
            if self.doing is not None and self.doing.id == step.id:
                self.doing = None
            # A change of a file is reported once its content is known.
            if step.id not in self._told and (step.kind != "hint" or step.state == "done"):
                self._told.add(step.id)
                over.append(step)
        return over

    def now(self) -> list[StepLine]:
        """The last lines of the present step, if it has any."""
        if self.doing is None or not self.doing.text.strip():
            return []
        return [StepLine(f"    {line}", "dim") for line in _tail(self.doing.text, MAX_OUTPUT)]


def step_lines(step: RunStep) -> list[StepLine]:
    """One step: what it was, then its diff, the end of its output, or what was said."""
    if step.kind == "says" and step.state == "failed":
        return []  # the call to the model failed: the line of how the turn ended says why
    style = "red" if step.state == "failed" else ""
    counts = f" +{step.added} -{step.removed}" if step.diff else ""
    said = {"says": "the worker:", "hint": "you:"}.get(step.kind, "")
    head = " ".join(part for part in (said, one_line(step.title)) if part)
    lines = [StepLine(f"  {head}{counts}", style)] if head else []
    if step.diff:
        return [*lines, *(StepLine(f"    {line}", STYLES.get(line[:1], "")) for line in bounded(step.diff, MAX_DIFF))]
    if step.kind in ("says", "hint"):
        return [*lines, *(StepLine(f"    {line}") for line in bounded(step.text, MAX_SAID))]
    if step.kind == "reads":
        return lines
    return [*lines, *(StepLine(f"    {line}", "dim") for line in _tail(step.text, MAX_OUTPUT))]


def _tail(text: str, lines: int) -> list[str]:
    found = plain(text).strip().splitlines()
    cut = len(found) - lines
    return found if cut <= 0 else [f"… {counted(cut, 'line')} before", *found[-lines:]]
