"""The steps of a run, for whoever follows it: made from its entries, from what its worker is streaming, and from its
files. It works for the runs of any process, and records nothing."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from donewhen.core import events as e
from donewhen.core.answers import WAITS
from donewhen.core.calls import CallFinished, CallRetried, CallStarted, MessageKept, ToolCall, ToolFinished, ToolStarted
from donewhen.core.errors import DoneWhenError
from donewhen.core.evidence import AffectedRun, CheckResult, Trial
from donewhen.core.feedback import changed_lines, keep_ends
from donewhen.core.fold.acts import ACTS, Acted, act_words
from donewhen.core.goal import Goal
from donewhen.core.hints import UNASKED, hint_in
from donewhen.core.lost_tests import LOST_TESTS
from donewhen.core.people import REFUSED
from donewhen.core.plugging import RunHalted
from donewhen.core.trials.outcome import TRIED
from donewhen.core.words import sentence
from donewhen.engine.active import ActiveRun, turn_stream
from donewhen.engine.api import RunStep, RunSteps, StepKind, StepState
from donewhen.ports import Workspace
from donewhen.regular import read_text

MAX_STEPS = 500
"""The latest steps of a run that are kept."""
MAX_TEXT = 20_000
"""Characters of one step's text, and of its diff: head and tail."""
MAX_TITLE = 300
LARGEST_FILE = 400_000
"""Bytes of a file whose edits are shown as diffs."""

MAX_FOLLOWED = 8
"""Runs whose steps are kept in memory."""

_KINDS: Mapping[str, StepKind] = {
    "run_command": "runs",
    "edit_file": "edits",
    "write_file": "edits",
    "read_file": "reads",
    "list_files": "reads",
    "search": "reads",
    "report": "reports",
}


_UNKNOWN = ToolCall("", "", "")


@dataclass(frozen=True, slots=True)
class _Edit:
    """One edit whose diff is to be worked out: by `step`, of `path`, from the tree `base` on. `made` gives the new text
    from the old one, None if that can't be told; then `tree` says it, which was kept soon after, or the file. One that
    no tool was seen to make is no step yet: it came `at` that time, `by` somebody."""

    step: str
    path: str
    base: str | None
    made: Callable[[str | None], str | None] | None = None
    tree: str | None = None
    at: float = 0.0
    by: str = ""

    def title(self, word: str) -> str:
        return f"{'you ' if self.by == 'person' else ''}{word} {self.path}"


class Steps:
    """The steps of one run, read on from its entries."""

    def __init__(self, root: Path, mask: Callable[[str], str]) -> None:
        self._root = root
        self._mask = mask
        self._steps: dict[str, RunStep] = {}
        self._version = 0
        self.sequence = 0
        self._goal: Goal | None = None
        self._command: str | None = None
        self._iteration = 0
        self._base: str | None = None
        self._turn: str | None = None
        self._calls: dict[str, tuple[str, float]] = {}
        """Calls to models that are open: the step of each, and when it began."""
        self._wanted: dict[str, ToolCall] = {}
        """What the model asked for last, by the id of the call."""
        self._tools: dict[str, str] = {}
        self._streams: dict[str, str] = {}
        """The step of each stream whose text isn't on record."""
        self._spoke = False
        """True if what the worker says in this turn is on record message by message."""
        self._checks: dict[str, str] = {}
        self._hints: list[tuple[str, str]] = []
        """Hints that were not read yet: step and text."""
        self._texts: dict[str, str | None] = {}
        """What files hold as far as it is known; None: there is no such file."""
        self._edits: list[_Edit] = []
        self._by_tool: set[str] = set()
        """The files that tools edited in the current turn."""
        self._judge: str | None = None
        self._says_steps = True
        """False if the agent's calls are on record one by one."""

    def since(self, after: int) -> RunSteps:
        """See `engine.api.Runs.steps`."""
        found = (step for step in self._steps.values() if step.version > after)
        return RunSteps(self._version, tuple(sorted(found, key=lambda step: step.order)))

    def take(self, entry: e.Entry) -> None:
        """Adds what an entry says. Diffs follow with `work_out`."""
        self.sequence = entry.sequence
        event, at = entry.event, entry.at
        take = _TAKES.get(type(event))
        if take is not None:
            take(self, event, at)

    def look(self, run: ActiveRun) -> None:
        """Adds what the worker streams, or streamed, as far as it isn't on record."""
        for call, (step, at) in self._calls.items():
            if run.streamed.get(call, "").strip():
                self._put(step, at, "says", "", "running", text=run.streamed[call])
        for key, step in self._streams.items():
            if run.streamed.get(key, "").strip():
                self._change(step, text=run.streamed[key])

    @property
    def edited(self) -> bool:
        """True if there are edits whose diffs are to be worked out."""
        return bool(self._edits)

    async def work_out(self, files: Workspace, *, live: bool) -> None:
        """Works out the diffs of the edits that were added since. The files on disk tell only what the latest edit of
        each made of it, and only while the run is `live`."""
        edits, self._edits = self._edits, []
        latest = {edit.path: at for at, edit in enumerate(edits)}
        for at, edit in enumerate(edits):
            if edit.made is None and latest[edit.path] != at:
                continue  # the later one shows both
            try:
                before = await self._text_in_tree(edit.base, edit.path, files, known=True)
                after = edit.made(before) if edit.made is not None else None
                if after is None and latest[edit.path] != at:
                    raise ValueError("the file contains something else by now")
                if after is None and edit.tree is not None:
                    after = await self._text_in_tree(edit.tree, edit.path, files)
                elif after is None and live:
                    after = await asyncio.to_thread(self._on_disk, edit.path)
                elif after is None:
                    raise ValueError("the file may contain something else by now")
            except (DoneWhenError, OSError, ValueError):
                self._texts.pop(edit.path, None)
                gone = live and not await asyncio.to_thread(os.path.lexists, self._root / edit.path)
                if edit.by and edit.path not in self._by_tool:  # what a tool edited is a step already
                    title = edit.title("deleted" if gone else "changed")
                    self._put(edit.step, edit.at, "edits", title, path=edit.path)
                continue
            self._texts[edit.path] = after
            if before != after:
                await self._show_diff(edit, before, after)

    async def _text_in_tree(self, tree: str | None, path: str, files: Workspace, *, known: bool = False) -> str | None:
        """What a file holds in a tree, or as it was last `known`. Raises ValueError if that is not text to show."""
        if known and path in self._texts:
            return self._texts[path]
        if tree is None:
            raise ValueError("the files from before were not kept")
        data = await files.file_at(tree, path)
        if data is not None and (len(data) > LARGEST_FILE or b"\0" in data):
            raise ValueError("it is not text, so it can't be shown")
        return None if data is None else _plain_lines(data.decode("utf-8"))

    def _on_disk(self, path: str) -> str | None:
        try:
            place = self._root / path
            if place.is_symlink():
                return str(place.readlink())  # as the trees have it
            return read_text(path, limit=LARGEST_FILE, within=self._root)
        except FileNotFoundError:
            return None

    async def _show_diff(self, edit: _Edit, before: str | None, after: str | None) -> None:
        hunks = await asyncio.to_thread(changed_lines, (before or "").splitlines(), (after or "").splitlines())
        added = sum(line.startswith("+") for line in hunks)
        removed = sum(line.startswith("-") for line in hunks)
        shown = keep_ends(self._mask("\n".join(hunks)), MAX_TEXT)
        # A change that no tool was seen to make is a step only where something is different now.
        if edit.by:
            word = "created" if before is None else "deleted" if after is None else "edited"
            self._put(edit.step, edit.at, "edits", edit.title(word))
        self._change(edit.step, diff=shown, added=added, removed=removed, path=edit.path)

    # ------------------------------------------------------------------------------------- the events

    def started(self, event: e.RunStarted, at: float) -> None:
        self._goal, self._command = event.goal, event.options.worker_command
        self._says_steps = event.options.agent is None

    def amended(self, event: e.GoalAmended, at: float) -> None:
        self._goal = event.goal

    def turn_started(self, event: e.TurnStarted, at: float) -> None:
        self._iteration, self._base = event.iteration, event.checkpoint
        if event.checkpoint is not None:
            self._texts.clear()  # the tree says it
        self._by_tool.clear()
        self._put(self._next("t"), at, "turn", f"Iteration {event.iteration}")
        for step, _ in self._hints:
            self._change(step, state="done")
        self._hints.clear()
        self._turn = None
        self._spoke = False
        if self._command is not None:
            self._turn = self._next("w")
            self._put(self._turn, at, "runs", self._command, "running")
            self._streams[turn_stream(event.iteration)] = self._turn

    def turn_finished(self, event: e.TurnFinished, at: float) -> None:
        result = event.result
        if self._turn is not None:
            shown = self._steps.get(self._turn)
            text = "" if self._spoke else (shown.text if shown is not None else "") or result.claim.text
            self._change(self._turn, state="failed" if result.error else "done", text=text)
        elif self._says_steps and not result.error:
            for number, step in enumerate(result.steps):
                kind: StepKind = "runs" if step.kind in ("run", "command") else "tool"
                first, _, rest = step.summary.partition("\n")
                title = f"{step.kind} {first}"
                self._put(f"{self._next('s')}.{number}", at, kind, title, "done" if step.ok else "failed", text=rest)
            if result.claim.text:
                self._put(self._next("y"), at, "reports", "", text=result.claim.text)
        if result.error:
            self._put(self._next("z"), at, "end", f"The worker failed: {result.error}", "failed")
        self._over("done")

    def abandoned(self, event: e.Abandoned, at: float) -> None:
        match event.what:
            case "turn" if event.reason.startswith(WAITS):
                self._over("done")
                self._put(self._next("z"), at, "end", f"The turn {event.reason}")
            case "turn":
                self._over("failed")
                if event.trouble is None:  # else the pause says it
                    title = ": ".join(filter(None, ("The turn was cut off", event.reason)))
                    self._put(self._next("z"), at, "end", title, "failed")
            case "audit":
                self.audit_over(event, at)
            case "judge":
                self._end_judging(at, "failed", event.reason)
            case "trials":
                pass

    def _over(self, state: StepState) -> None:
        """The turn has ended: nothing of it is under way."""
        for step in (*self._tools.values(), *(step for step, _ in self._calls.values())):
            self._change(step, state=state)
        if self._turn is not None and state == "failed":
            self._change(self._turn, state=state)
        self._tools.clear()
        self._calls.clear()
        self._wanted.clear()
        self._turn = None

    def call_started(self, event: CallStarted, at: float) -> None:
        if event.role == "worker":
            self._calls[event.call_id] = (self._next("c"), at)

    def call_finished(self, event: CallFinished, at: float) -> None:
        step, _ = self._calls.pop(event.call_id, (None, 0.0))
        if step is None:
            return
        if event.error is not None:
            self._put(step, at, "says", f"The call to the model failed: {event.error}", "failed")
        elif event.message is not None:
            self._wanted.update({call.id: call for call in event.message.calls})
            if event.message.text.strip():
                self._spoke = True
                self._put(step, at, "says", "", text=event.message.text.strip())

    def call_retried(self, event: CallRetried, at: float) -> None:
        failed = event.failed
        title = f"{failed.trouble.brief}: try {failed.next_try} of {failed.tries} follows in {failed.wait:.0f} s"
        self._put(self._next("t"), at, "end", sentence(title), "failed", text=failed.trouble.said)

    def message_kept(self, event: MessageKept, at: float) -> None:
        read = hint_in(event.message)
        found = next((one for one in self._hints if one[1] == read), None)
        if found is not None:
            self._hints.remove(found)
            self._change(found[0], state="done")

    def tool_started(self, event: ToolStarted, at: float) -> None:
        kind = _KINDS.get(event.tool, "tool")
        step = self._tools[event.call_id] = self._streams[event.call_id] = self._next("x")
        arguments = self._wanted.get(event.call_id, _UNKNOWN).given
        path = arguments.get("path")
        text = str(arguments.get("text") or "") if event.tool == "report" else ""
        title = "" if text else event.summary
        self._put(step, at, kind, title, "running", text=text, path=path if isinstance(path, str) else None)

    def tool_finished(self, event: ToolFinished, at: float) -> None:
        step = self._tools.pop(event.call_id, None)
        self._streams.pop(event.call_id, None)
        if step is None or step not in self._steps:
            return
        arguments, kind = self._wanted.pop(event.call_id, _UNKNOWN).given, self._steps[step].kind
        shown, ok = event.step, event.step.ok
        title = {} if kind in ("reads", "reports") and ok else {"title": shown.summary}
        text = {} if kind == "reports" or (kind == "edits" and ok) else {"text": event.message.text}
        self._change(step, state="done" if ok else "failed", **title, **text)
        path = arguments.get("path", arguments.get("file_path"))
        if kind == "edits" and ok and isinstance(path, str):
            edited = _entry_path(path, self._root)
            self._by_tool.add(edited)
            self._edits.append(_Edit(step, edited, self._base, _maker(shown.kind, arguments)))

    def checkpoint_taken(self, event: e.CheckpointTaken, at: float) -> None:
        self._edits = [edit if edit.tree is not None else replace(edit, tree=event.checkpoint) for edit in self._edits]

    def revision_changed(self, event: e.RevisionChanged, at: float) -> None:
        if self._iteration == 0:
            return
        for number, path in enumerate(event.paths):
            self._edits.append(_Edit(f"{self._next('f')}.{number}", path, self._base, at=at, by=event.by))

    def check_started(self, event: e.CheckStarted, at: float) -> None:
        step = self._checks[event.check_id] = self._next("k")
        known = {check.id: check.command for check in self._goal.checks} if self._goal is not None else {}
        self._put(step, at, "check", known.get(event.check_id, event.check_id), "running")

    def recorded(self, event: e.EvidenceRecorded, at: float) -> None:
        """A run of a check is a step, whole, in part or as a trial; other evidence is not."""
        seen = event.evidence.observation
        step = self._next("k")
        match seen:
            case CheckResult():
                step = self._checks.pop(seen.check_id, None) or step
                title, text, good = seen.command, _reason_and_output(seen), seen.passed
            case AffectedRun(result=result):
                title, text, good = f"{result.command}, affected tests", _reason_and_output(result), not seen.failed
            case Trial(result=result):
                title = f"{seen.command}, {TRIED[seen.tried]}"
                text = seen.reason if result is None else _reason_and_output(result)
                good = seen.passed == (seen.tried in ("original", "control", "forced"))
            case _:
                return
        state: StepState = "done" if good else "failed"
        self._put(step, at, "check", title, state, text=text, evidence_id=event.evidence.id)

    def audit_over(self, event: e.AuditFinished | e.Abandoned, at: float) -> None:
        for step in self._checks.values():
            self._change(step, state="failed")
        self._checks.clear()

    def judge_started(self, event: e.JudgeStarted, at: float) -> None:
        goal = self._goal
        found = [goal.requirement(one) for one in event.requirement_ids] if goal is not None else []
        labels = ", ".join(one.label for one in found if one is not None)
        self._judge = self._next("j")
        self._put(self._judge, at, "judge", f"The judge is asked about {labels}", "running")

    def judge_finished(self, event: e.JudgeFinished, at: float) -> None:
        found = event.verdict.findings if event.verdict is not None else ()
        said = [f"{self._label(one.requirement_id)}: {one.reason}" for one in found]
        self._end_judging(at, "done" if event.verdict is not None else "failed", "\n".join(said) or event.reason)

    def _end_judging(self, at: float, state: StepState, text: str) -> None:
        step, self._judge = self._judge or self._next("j"), None
        known = self._steps.get(step)
        title = "The judge was asked" if known is None else known.title.replace(" is asked", " was asked", 1)
        self._put(step, at, "judge", title, state, text=text)

    def _label(self, requirement_id: str) -> str:
        found = self._goal.requirement(requirement_id) if self._goal is not None else None
        return requirement_id if found is None else found.label

    def interrupt_opened(self, event: e.InterruptOpened, at: float) -> None:
        asked = event.interrupt
        self._put(f"i{asked.id}", at, "asks", asked.title, "running", text=asked.preview)

    def answered(self, event: e.InterruptAnswered, at: float) -> None:
        answer = event.answer
        if answer is None:
            self._change(f"i{event.interrupt_id}", state="done")
            return
        by = "" if event.person is None else f", {event.person.user}, {event.person.where}"
        if event.interrupt_id == UNASKED:
            step = self._next("h")
            self._put(step, at, "hint", "", "running", text=answer.text)
            self._hints.append((step, answer.text))
            return
        said = ": ".join(part for part in (answer.response, answer.text or answer.reason) if part)
        known = self._steps.get(f"i{event.interrupt_id}")
        if known is not None:
            self._change(known.id, state="done", title=f"{known.title} ({said}{by})")

    def acted(self, event: Acted, at: float) -> None:
        """What a person did, and who it was."""
        if event.person is not None:
            what, said = act_words(event, self._label)
            title = f"{event.person.user} {what} ({event.person.where})" + (f": {said}" if said else "")
            self._put(self._next("p"), at, "act", title)

    def warned(self, event: e.Warned, at: float) -> None:
        if event.code in (REFUSED, LOST_TESTS):
            self._put(self._next("p"), at, "act", event.message, "failed")

    def stopped(self, event: e.RunPaused | e.RunInterrupted | RunHalted | e.RunEnded, at: float) -> None:
        good = isinstance(event, e.RunPaused)
        match event:
            case e.RunEnded(status):
                word, good = (status or "checked").replace("_", " ").capitalize(), status in ("complete", None)
                for step, _ in self._hints:
                    self._change(step, state="failed")
            case e.RunPaused():
                word = "Paused"
            case e.RunInterrupted():
                word = "Interrupted"
                self._over("failed")
            case RunHalted():
                word = "Halted"
        reason = event.halt.reason if isinstance(event, RunHalted) else event.reason
        title = f"{word}: {reason}" if reason else word
        self._put(self._next("z"), at, "end", title, "done" if good else "failed")

    def resumed(self, event: e.RunResumed, at: float) -> None:
        self._put(self._next("z"), at, "end", "Resumed")

    # ------------------------------------------------------------------------------------ the steps

    def _next(self, letter: str) -> str:
        return f"{letter}{self.sequence}"

    def _put(
        self,
        step: str,
        at: float,
        kind: StepKind,
        title: str,
        state: StepState = "done",
        *,
        text: str = "",
        **more: Any,
    ) -> None:
        known = self._steps.get(step)
        numbered = step[1:].partition(".")[0]
        order = int(numbered) if numbered.isdecimal() else self.sequence
        made = RunStep(step, order, 0, at, self._iteration, kind, "")
        self._steps[step] = made if known is None else known
        self._change(step, title=title, state=state, text=text, **more)
        while len(self._steps) > MAX_STEPS:
            del self._steps[next(iter(self._steps))]

    def _change(self, step: str, **fields: Any) -> None:
        known = self._steps.get(step)
        if known is None:
            return
        if "text" in fields:
            fields["text"] = keep_ends(fields["text"].strip("\n"), MAX_TEXT)
        if "title" in fields:
            fields["title"] = " ".join(fields["title"].split())[:MAX_TITLE]
        changed = replace(known, **fields)
        if changed != known or known.version == 0:
            self._version += 1
            self._steps[step] = replace(changed, version=self._version)


def _maker(tool: str, sent: Mapping[str, Any]) -> Callable[[str | None], str | None] | None:
    """What the call makes of a text, where its arguments say so."""
    old, new, content = sent.get("old"), sent.get("new"), sent.get("content")
    if tool == "write_file" and isinstance(content, str):
        return lambda before: _plain_lines(content)
    if tool == "edit_file" and isinstance(old, str) and isinstance(new, str):
        was, now = _plain_lines(old), _plain_lines(new)
        return lambda before: before.replace(was, now) if before is not None and before.count(was) == 1 else None
    return None


def _reason_and_output(result: CheckResult) -> str:
    return f"{result.reason}\n\n{result.output}".strip()


def _entry_path(path: str, root: Path) -> str:
    """The path in a tool's arguments, as entries name it."""
    try:
        return (root / path).relative_to(root).as_posix()
    except ValueError:
        return path


def _plain_lines(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n")


_TAKES: Mapping[type, Callable[[Steps, Any, float], None]] = {
    **dict.fromkeys(ACTS, Steps.acted),
    e.Warned: Steps.warned,
    e.RunStarted: Steps.started,
    e.GoalAmended: Steps.amended,
    e.TurnStarted: Steps.turn_started,
    e.TurnFinished: Steps.turn_finished,
    e.Abandoned: Steps.abandoned,
    CallStarted: Steps.call_started,
    CallRetried: Steps.call_retried,
    CallFinished: Steps.call_finished,
    MessageKept: Steps.message_kept,
    ToolStarted: Steps.tool_started,
    ToolFinished: Steps.tool_finished,
    e.CheckpointTaken: Steps.checkpoint_taken,
    e.RevisionChanged: Steps.revision_changed,
    e.CheckStarted: Steps.check_started,
    e.EvidenceRecorded: Steps.recorded,
    e.AuditFinished: Steps.audit_over,
    e.JudgeStarted: Steps.judge_started,
    e.JudgeFinished: Steps.judge_finished,
    e.InterruptOpened: Steps.interrupt_opened,
    e.InterruptAnswered: Steps.answered,
    e.RunPaused: Steps.stopped,
    e.RunInterrupted: Steps.stopped,
    RunHalted: Steps.stopped,
    e.RunEnded: Steps.stopped,
    e.RunResumed: Steps.resumed,
}  # fmt: skip


class Followers:
    """The steps of the runs of one folder that somebody follows: the latest few are kept."""

    def __init__(self, make: Callable[[], Steps]) -> None:
        self._make = make
        self._kept: dict[str, tuple[Steps, asyncio.Lock]] = {}

    def of(self, run_id: str) -> tuple[Steps, asyncio.Lock]:
        """The run's steps, and what is held while they are read on."""
        kept = self._kept.pop(run_id, None) or (self._make(), asyncio.Lock())
        self._kept[run_id] = kept
        while len(self._kept) > MAX_FOLLOWED:
            del self._kept[next(iter(self._kept))]
        return kept
