"""`demo`: a scripted worker pursues the sample's goal, and everything that the server refuses is reported at once."""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

from donewhen.cli.calling import Call
from donewhen.cli.display import Display, JsonDisplay
from donewhen.cli.formatting import duration, one_line
from donewhen.cli.progress import closing, finding_line, requirement_line
from donewhen.cli.pursuing import Pursuit
from donewhen.cli.samples import prepare
from donewhen.cli.terminal import OutputClosed, Terminal
from donewhen.core.integrity import TRIAL_FINDINGS
from donewhen.core.state import KnownFinding, Tried
from donewhen.engine.api import RunStep, RunView, StartOptions
from donewhen.settings.loading import Settings

WIDTH = 72

_COLOURS = {"✓": "32", "✗": "31", "!": "35", "→": "1"}


async def demo(call: Call) -> int:
    """Runs it in a temporary folder, which is removed at the end unless --keep was given."""
    folder = _temporary_folder()
    keep = bool(call.arguments.keep)
    try:
        project = prepare(folder / "sample", pytest=find_spec("pytest") is not None)
        root = project.workspace.resolve()
        path = project.goal.resolve().relative_to(root).as_posix()
        options = StartOptions(worker="scripted", script=str(project.script), approve="deny")
        display: Display = JsonDisplay(call.terminal, root) if call.json else Narration(call.terminal)
        # The person's own settings are for their own work: here they could only spoil the demonstration. It uses this
        # Python, which surely exists, whatever the machine calls it.
        plain = replace(call, settings=Settings())
        async with plain.runs(root, folder / "state", Path(sys.executable)) as runs:
            return await Pursuit(call, runs, display, hints=False).follow(runs.start(path, options))
    finally:
        if not keep:
            shutil.rmtree(folder, ignore_errors=True)
        with suppress(OutputClosed):
            place = f"kept in {folder / 'sample'}" if keep else "removed (--keep keeps it)"
            (call.terminal.message if call.json else call.terminal.result)(f"The sample was {place}.")


def _temporary_folder() -> Path:
    return Path(tempfile.mkdtemp(prefix="donewhen-demo-")).resolve()


class Narration:
    """Reports a run turn by turn: what the worker did and claimed, what the server found, what it refused and why."""

    def __init__(self, terminal: Terminal) -> None:
        self._terminal = terminal
        self._begun = False
        self._told_turns = 0
        self._told_audits = 0
        self._statuses: dict[str, str] = {}
        self._findings: dict[str, KnownFinding] = {}
        self._told_tried: Tried | None = None

    def did(self, steps: Sequence[RunStep]) -> None:
        return

    def hold(self) -> None:
        return

    def note(self, text: str) -> None:
        self._terminal.message(text)

    def show(self, view: RunView) -> None:
        for line in self._new_lines(view):
            # Lines that report a finding have a colour, on a terminal that supports colours.
            colour = _COLOURS.get(line.strip()[:1])
            plain = colour is None or not self._terminal.live or bool(self._terminal.environ.get("NO_COLOR"))
            self._terminal.result(line if plain else f"\x1b[{colour}m{line}\x1b[0m")

    def finish(self, view: RunView) -> None:
        self.show(view)
        self._terminal.result("")
        for line in closing(view):
            self._terminal.result(line)

    def _new_lines(self, view: RunView) -> Iterator[str]:
        if not self._begun:
            self._begun = True
            yield from _introduction(view)
        state = view.state
        if state.turns_ended > self._told_turns and state.progress.iterations:
            self._told_turns = state.turns_ended
            record = state.progress.iterations[-1]
            yield f"\nIteration {record.number} (the worker took {duration(record.seconds)})"
            yield f"  the worker changed: {', '.join(record.changed) or 'nothing'}"
            if record.summary:
                yield f"  the worker claims: {one_line(record.summary)}"
        if state.auditing.count > self._told_audits and state.auditing.open is None:
            self._told_audits = state.auditing.count
            yield from self._audited(view)
        if state.trial.last is not None and state.trial.last != self._told_tried:
            self._told_tried = state.trial.last
            found = state.open_findings
            yield from self._finding_lines(found)
            if found:
                ids = ", ".join(known.id for known in found)
                yield f"  → refused: trials refuse the proof ({ids}); the worker is told"
            else:
                yield "  → everything is proven by fresh evidence"

    def _audited(self, view: RunView) -> Iterator[str]:
        if self._told_turns == 0:
            yield "\nFirst the server runs the checks itself, before any work:"
        for one in view.views:
            if self._statuses.get(one.requirement_id) != one.status:
                self._statuses[one.requirement_id] = one.status
                yield f"  {requirement_line(view, one)}"
        read = [known for known in view.state.open_findings if not _of_trials(known)]
        # Whether what trials found is undone, the next trials say.
        yield from self._finding_lines([*read, *filter(_of_trials, self._findings.values())])
        unproven = [f"R{one.number}" for one in view.views if one.status not in ("met", "waived")]
        if unproven and self._told_turns:
            yield f"  → refused: {', '.join(unproven)} not proven; the worker is told why"
        elif not unproven:
            yield "  everything passes; now each check is tried again, with the tests as they were at the start"

    def _finding_lines(self, open_ones: Sequence[KnownFinding]) -> Iterator[str]:
        yield from (f"  {finding_line(known)}" for known in open_ones if known.id not in self._findings)
        found = {known.id: known for known in open_ones}
        yield from (f"  {identity} is resolved" for identity in self._findings if identity not in found)
        self._findings = found


def _of_trials(known: KnownFinding) -> bool:
    return known.finding.kind in TRIAL_FINDINGS


def _introduction(view: RunView) -> Iterator[str]:
    goal = view.state.goal
    yield f"Goal: {one_line(goal.title)}"
    for requirement in goal.requirements:
        checks = "; ".join(check.command for check in requirement.checks)
        # If the requirement is its check, it already contains the command.
        proof = f"   proven by: {checks}" if checks and not requirement.sole_check else ""
        yield f"  {requirement.label} {one_line(requirement.text, WIDTH)}{proof}"
