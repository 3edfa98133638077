"""Reads runs from the ledger, whoever owns them: states, iterations, files as they were."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncGenerator, Sequence
from dataclasses import replace
from pathlib import Path

from donewhen.core import events as e
from donewhen.core.calls import CallFinished, CallStarted, ToolFinished
from donewhen.core.errors import (
    LedgerUnavailable,
    UnknownName,
    UnknownRun,
    UnreadableRun,
    no_such_run,
)
from donewhen.core.evidence import CheckResult, PastResult
from donewhen.core.fold.audit import remembered
from donewhen.core.fold.dispatch import fold_read
from donewhen.core.markdown import evidence_markdown
from donewhen.core.proof import assess
from donewhen.core.state import IterationRecord, KeptTree, RunState
from donewhen.core.verdict import RequirementView
from donewhen.core.work import Claim, TurnResult
from donewhen.engine.api import CallSummary, CheckSummary, IterationDetail
from donewhen.ports import Ledger, RunSummary
from donewhen.regular import read_text, write_whole

PIECE = 100
MAX_STEPS = 200
EVIDENCE = "evidence"
"""The folder, in that of a workspace's state, of evidence as files: made when somebody asks for one."""


class Records:
    """The runs of one ledger, folded as far as they were read: reading again costs only what is new."""

    def __init__(self, folder: Path, ledger: Ledger) -> None:
        self._folder = folder
        self._ledger = ledger
        self._states: dict[str, RunState] = {}
        self._readable: dict[str, float] = {}
        """Runs that were found readable, with the time of their last entry then."""

    async def state(self, run_id: str) -> RunState:
        """Raises UnknownRun and UnreadableRun."""
        known = self._states.get(run_id)
        since = known.sequence if known else 0
        async for entry in in_pieces(await self._ledger.entries(run_id, since)):
            known = fold_read(run_id, known, entry)
        if known is None:
            raise no_such_run(run_id)
        kept = self._states.get(run_id)
        if kept is None or kept.sequence < known.sequence:
            self._states[run_id] = known
        return known

    async def newest(self) -> Sequence[RunState]:
        """The newest run and the newest audit of each goal, newest first; audits only where newer than the run. What
        can't be read is passed over: see `summaries`; so is what was removed since it was listed."""
        found: list[RunState] = []
        seen: set[tuple[str | None, str]] = set()
        for summary in await self._ledger.runs():
            key = (summary.goal_path, summary.mode)
            superseded = summary.mode == "audit" and (summary.goal_path, "pursue") in seen
            if key not in seen and not superseded:
                with contextlib.suppress(UnreadableRun, UnknownRun):
                    found.append(await self.state(summary.run_id))
                    seen.add(key)
        return found

    async def summaries(self) -> Sequence[RunSummary]:
        """All runs, newest first; those that can't be read have the status `unreadable` and say why, those that were
        changed by something else are `crashed`."""
        found: list[RunSummary] = []
        for summary in await self._ledger.runs():
            trouble = None
            if self._readable.get(summary.run_id) != summary.updated_at:
                trouble = await self._ledger.trouble(summary.run_id)
            if trouble is None:
                self._readable[summary.run_id] = summary.updated_at
                found.append(summary)
            else:
                why = trouble.why if trouble.status == "unreadable" else None
                found.append(replace(summary, status=trouble.status, unreadable=why))
        return found

    def remember(self, state: RunState) -> None:
        """A run that has ended stays known, however much of it a ledger in memory keeps."""
        self._states[state.run_id] = state

    def forget(self, run_id: str) -> None:
        """It is read again: what was read before may have been changed since."""
        self._states.pop(run_id, None)

    async def test_runs(self, goal_path: str | None) -> frozenset[str]:
        """The checks that reported a test in the history of that goal; each run inherits them from the last."""
        known: frozenset[str] = frozenset()
        for state in await self.newest():
            if state.goal.path == goal_path:
                known |= {key for key, record in state.checks.items() if record.is_test_run}
        return known

    async def past(self, goal_path: str | None) -> tuple[PastResult, ...]:
        """What each check of that goal said last, in the newest run or audit that ran it."""
        known: dict[str, PastResult] = {}
        states = [state for state in await self.newest() if state.goal.path == goal_path]
        for state in sorted(states, key=lambda one: one.updated_at):
            for key, record in state.checks.items():
                last = remembered(record.latest, record.streak) if record.latest is not None else None
                if result := last or record.earlier:
                    known[key] = result
        return tuple(known.values())

    async def iteration(self, run_id: str, number: int) -> IterationDetail:
        """One iteration in full; 0 is the baseline audit. Raises UnknownName if there is none."""
        await self.state(run_id)
        found: list[e.Entry] = []
        state: RunState | None = None
        verdict: tuple[RequirementView, ...] = ()
        current, begun, seconds = 0, 0, 0.0
        async for entry in in_pieces(await self._ledger.entries(run_id)):
            state = fold_read(run_id, state, entry)
            if isinstance(entry.event, e.TurnStarted):
                current, begun = entry.event.iteration, len(found) if entry.event.iteration == number else begun
            if current == number:
                found.append(entry)
                if isinstance(entry.event, e.AuditFinished | e.JudgeFinished):
                    verdict, done = assess(state), state.progress.iterations
                    seconds = done[-1].seconds if number and done else state.elapsed
        if not found:
            raise UnknownName(f"run {run_id} has no iteration {number}")
        return _detail_of(number, found, begun, seconds, verdict)

    async def in_full(self, run_id: str) -> RunState:
        """The state with the records of all iterations, not of the last ones only: for a receipt."""
        state: RunState | None = None
        known: dict[int, IterationRecord] = {}
        async for entry in in_pieces(await self._ledger.entries(run_id)):
            state = fold_read(run_id, state, entry)
            known.update({record.number: record for record in state.progress.iterations[-1:]})
        if state is None:
            raise no_such_run(run_id)
        return replace(
            state, progress=replace(state.progress, iterations=tuple(known[number] for number in sorted(known)))
        )

    async def answered_at(self, run_id: str, interrupt_id: str, sequence: int | None) -> bool:
        """True if that entry is the answer that counts: of a run without an owner, several processes may answer."""
        if sequence is None:
            return True
        for entry in await self._ledger.entries(run_id):
            if isinstance(entry.event, e.InterruptAnswered) and entry.event.interrupt_id == interrupt_id:
                return entry.sequence == sequence
        return False

    async def evidence_file(self, run_id: str, evidence_id: str) -> Path | None:
        """The evidence as a read-only Markdown file in the state folder; None for an unknown id."""
        evidence = await self._ledger.evidence(run_id, evidence_id)
        if evidence is None:
            return None
        path = self._folder / EVIDENCE / run_id / f"{evidence_id}.md"
        if not path.exists():
            try:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(evidence_markdown(evidence), encoding="utf-8")
                path.chmod(0o444)
            except OSError as error:
                raise LedgerUnavailable(
                    f"{path} can't be written ({error}): choose another state folder",
                    typed=" (--state-dir)",
                ) from error
        return path

    # -------------------------------------------------------------------------------- cleared goals

    def cleared(self) -> dict[str, float]:
        """When the results of a goal were last cleared (epoch seconds), by goal path."""
        try:
            found = json.loads(read_text(self._folder / "cleared.json"))
            return {str(key): float(value) for key, value in found.items()}
        except (OSError, ValueError, TypeError, AttributeError):
            return {}

    def clear(self, goal_path: str, at: float) -> None:
        known = {**self.cleared(), goal_path: at}
        write_whole(self._folder / "cleared.json", json.dumps(known))


async def in_pieces(entries: Sequence[e.Entry]) -> AsyncGenerator[e.Entry]:
    """The entries, with the loop let go now and then: a long run of an agent has thousands."""
    for number, entry in enumerate(entries, 1):
        yield entry
        if number % PIECE == 0:
            await asyncio.sleep(0)


def kept_after(state: RunState, iteration: int) -> KeptTree:
    """The tree after an iteration. Raises UnknownName if none was kept."""
    kept = state.files.tree_after(iteration)
    if kept is None:
        raise UnknownName(f"run {state.run_id} kept no files after iteration {iteration}")
    return kept


def _detail_of(
    number: int, entries: Sequence[e.Entry], begun: int, seconds: float, verdict: tuple[RequirementView, ...]
) -> IterationDetail:
    """What the entries of one iteration add up to, whose turn last began with the one at `begun`."""
    events = [entry.event for entry in entries]
    latest = events[begun:]
    seen = {one.evidence.id: one.evidence.observation for one in latest if isinstance(one, e.EvidenceRecorded)}
    calls: dict[str, CallSummary] = {}
    for one in events:
        if isinstance(one, CallStarted):
            calls[one.call_id] = CallSummary(one.call_id, one.role, one.model, None)
        elif isinstance(one, CallFinished) and one.call_id in calls:
            calls[one.call_id] = replace(calls[one.call_id], usage=one.usage, error=one.error)
    turn = next((one for one in reversed(events) if isinstance(one, e.TurnFinished)), None)
    result = turn.result if turn is not None else TurnResult(Claim())
    return IterationDetail(
        number=number,
        started_at=entries[begun].at,
        seconds=seconds,
        claim=result.claim,
        error=result.error,
        steps=result.steps or tuple(one.step for one in latest if isinstance(one, ToolFinished))[-MAX_STEPS:],
        checks=tuple(
            CheckSummary(one.check_id, one.command, one.passed, one.reason, key)
            for key, one in seen.items()
            if isinstance(one, CheckResult)
        ),
        verdict=verdict,
        changed=turn.changed if turn is not None else (),
        calls=tuple(calls.values()),
    )
