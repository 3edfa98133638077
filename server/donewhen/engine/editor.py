"""Records what the editor reports: in audits, and while a run waits, whenever it differs."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace

from donewhen.core.events import CheckFinished, InterruptClosed
from donewhen.core.evidence import EditorReport, Evidence
from donewhen.core.goal import Requirement
from donewhen.core.proof import assess, undecidable
from donewhen.engine.active import ActiveRun
from donewhen.engine.tasks import cancelled
from donewhen.ports import TreeState


async def read_editor(run: ActiveRun, requirements: Sequence[Requirement]) -> None:
    """Records the reports of these requirements, once the editor's tools had time for the current text."""
    if not requirements:
        return
    run.say("waiting for the editor's diagnostics")
    settled = await run.parts.news.quiet()
    run.say(None)
    for requirement in requirements:
        report = await run.parts.checker.editor_report(requirement)
        await _record(run, report if settled else replace(report, settled=False))


async def renew_editor(run: ActiveRun) -> bool:
    """Records the reports that differ from those on record; True if one of them passes now and didn't before.

    One that is in doubt is left: what is on record was seen of the files as they are on the disk.
    """
    watched = [one for one in run.state.goal.requirements if one.problems and one.id in run.state.editor]
    if not watched or not await run.parts.news.quiet():
        return False
    passes = False
    for requirement in watched:
        known = run.state.editor[requirement.id].observation
        report = await run.parts.checker.editor_report(requirement)
        if report.doubt or not isinstance(known, EditorReport) or _same(known, report):
            continue
        await _record(run, report)
        passes = passes or (report.passed and not known.passed)
    await withdraw_questions(run)
    return passes


async def follow_editor(run: ActiveRun) -> None:
    """Renews the reports at all news, until it is cancelled, or the end of the turn is due: something passes now, and
    either all is proven or the judge is to be asked."""
    news = run.parts.news
    while True:
        seen = news.count
        passes = await renew_editor(run)
        if passes and run.state.turn is not None and (run.state.options.judge is not None or _all_met(run)):
            return
        await news.after(seen)


async def settled_or_proven(run: ActiveRun) -> TreeState:
    """The next settled change of the workspace; or what there is, once the editor's word is what was missing."""
    settled = asyncio.ensure_future(run.parts.workspace.settled())
    follow = asyncio.ensure_future(follow_editor(run))
    try:
        await asyncio.wait({settled, follow}, return_when=asyncio.FIRST_COMPLETED)
        if settled.done():
            return settled.result()
        follow.result()
    finally:
        await cancelled(settled, follow)
    return await run.parts.workspace.current()


async def withdraw_questions(run: ActiveRun) -> None:
    """Closes the questions about requirements that only a person could decide before the editor said more."""
    for requirement in run.state.goal.requirements:
        if not requirement.problems or undecidable(run.state, requirement):
            continue
        for interrupt in run.state.interrupts:
            if interrupt.about == f"requirement:{requirement.id}":
                await run.append(InterruptClosed(interrupt.id, "the editor's diagnostics decide it now"))


async def _record(run: ActiveRun, report: EditorReport) -> None:
    revision = run.state.revision
    await run.append(CheckFinished(Evidence(run.evidence_id(), revision, revision, run.state.turns_ended, report)))


def _same(known: EditorReport, report: EditorReport) -> bool:
    """True if no more than the number of files that are open differs."""
    return replace(known, files=report.files) == report


def _all_met(run: ActiveRun) -> bool:
    return all(view.status in ("met", "waived") for view in assess(run.state))
