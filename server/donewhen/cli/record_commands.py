"""`status`, `list`, `diff` and `report`: what is on record."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

from donewhen.cli.calling import Call
from donewhen.cli.display import display_for
from donewhen.cli.formatting import one_line, when
from donewhen.cli.progress import closing, finding_line, preview_lines, requirement_line, stale_lines
from donewhen.cli.pursuing import Pursuit, what_next
from donewhen.core.answers import answers_usage
from donewhen.engine.api import Runs, RunView
from donewhen.ports import RunSummary
from donewhen.wire.reports import receipt
from donewhen.wire.snapshot import shown_halt


async def status(call: Call) -> int:
    return await show_status(call, call.arguments.run_id, follow=call.arguments.follow)


async def show_status(call: Call, run_id: str | None, *, follow: bool = False) -> int:
    """The present state of a run; without any run `null` and 1."""
    async with call.runs() as runs:
        view = await runs.view(run_id) if run_id else await newest(call, runs)
        if view is None:
            call.terminal.result("null") if call.json else call.say_no_run()
            return 1
        if follow:

            async def seen() -> RunView:
                return view

            # As a watcher: the exit code is that of the run's end, or 0 if the watcher left first.
            return await Pursuit(call, runs, display_for(call), supervised=False).follow(seen())
        checked = await _checked_since(runs, view)
    if call.json:
        call.show(view)
    else:
        for line in status_lines(view, checked):
            call.terminal.result(line)
        for line in steering(call, view) if view.state.active else what_next(view, call.typed_here):
            call.terminal.message(line)
    return 0


async def _checked_since(runs: Runs, view: RunView) -> RunView | None:
    """A later check of a stale run's goal on the files as they are."""
    if not view.stale or view.state.mode == "audit":
        return None
    checks = [
        one for one in await runs.views(view.state.goal.path) if one.state.mode == "audit" and one.state.auditing.count
    ]
    same = (one for one in checks if one.state.goal.requirements == view.state.goal.requirements)
    return next((one for one in same if one.present is not None and not one.stale), None)


def steering(call: Call, view: RunView) -> list[str]:
    """The commands that reach a run which continues elsewhere."""
    run_id = view.state.run_id
    if view.state.mode == "audit":
        return []
    answers = [f"answer {run_id} {i.id} {answers_usage(i)}" for i in view.state.interrupts]
    words = (*answers, f"status {run_id} --follow", f"pause {run_id}", f"stop {run_id}")
    return [
        "it goes on in another process; steer it with:",
        *(f"  {call.typed_here(f'donewhen {one}')}" for one in words),
    ]


async def newest(call: Call, runs: Runs) -> RunView | None:
    """The newest readable run; the newest audit if nothing has been pursued yet."""
    summaries = await runs.summaries()
    for summary in readable(call, sorted(summaries, key=lambda one: one.mode == "audit")):
        return await runs.view(summary.run_id)
    return None


def readable(call: Call, summaries: Iterable[RunSummary]) -> Iterator[RunSummary]:
    """The readable runs; an unreadable one is reported in its place."""
    for summary in summaries:
        if summary.unreadable is None:
            yield summary
        else:
            call.terminal.message(unreadable_line(summary))


def unreadable_line(summary: RunSummary) -> str:
    return f"run {summary.run_id} can't be read: {one_line(summary.unreadable or '', 500)}"


def status_lines(view: RunView, checked: RunView | None = None) -> list[str]:
    """A run as text, its status first: its requirements, findings and questions."""
    state = view.state
    stale = (", on guard" if state.guard is not None else "") + (", stale now" if view.stale else "")
    lines = [f"{state.run_id} {state.status or 'check'}{stale} · {one_line(state.goal.title)}"]
    lines += [f"warning: {one_line(warning.message)}" for warning in state.warnings]
    lines += [requirement_line(view, one) for one in view.views]
    lines += [finding_line(known) for known in state.present_findings]
    halt = shown_halt(state)
    if halt is not None and halt.data:
        # As JSON: an answer may need it.
        lines.append(f"{halt.plugin} says: {one_line(json.dumps(dict(halt.data), ensure_ascii=False), 500)}")
    for asked in state.interrupts:
        lines += [f"{asked.id} {asked.kind}: {one_line(asked.title, 500)}", *preview_lines(asked)]
    lines += [f"now: {one_line(view.live.activity)}"] if state.active and view.live.activity else []
    # Its first line already has the word for how it ended.
    return [
        *lines,
        *closing(view)[1 if state.active and not state.lifecycle.reason else 0 :],
        *stale_lines(view, checked),
    ]


async def list_runs(call: Call) -> int:
    async with call.runs() as runs:
        summaries = await runs.summaries()
        standing = await runs.standing()
    if call.json:
        call.terminal.document([_summary(call, summary, standing.get(summary.run_id)) for summary in summaries])
        return 0
    for one in summaries:
        view = standing.get(one.run_id)
        word = (one.status or "check") + (", stale" if view is not None and view.stale else "")
        call.terminal.result(f"{one.run_id}  {word:<15}  {when(one.started_at)}  {one_line(one.title, 80)}")
    for one in summaries:
        if one.unreadable is not None:
            call.terminal.message(unreadable_line(one))
    if not summaries:
        call.say_no_run()
    return 0


def _summary(call: Call, summary: RunSummary, view: RunView | None) -> dict[str, Any]:
    """`freshness` as in a snapshot; null for a run in progress, or one that a newer run of its goal has superseded."""
    from donewhen.wire.snapshot import freshness_of, wire_time  # lazy: pydantic costs start-up time

    path = summary.goal_path
    freshness = freshness_of(view) if view is not None else None
    return {
        "runId": summary.run_id,
        "mode": summary.mode,
        "title": summary.title,
        "goalUri": (call.root / path).as_uri() if path else None,
        "status": summary.status,
        "startedAt": wire_time(summary.started_at),
        "updatedAt": wire_time(summary.updated_at),
        "freshness": freshness.model_dump(mode="json", by_alias=True) if freshness is not None else None,
        "unreadable": summary.unreadable,
    }


async def diff(call: Call) -> int:
    """What the newest run, or the one that is named, changed, and what was changed since."""
    async with call.runs() as runs:
        run_id = await _chosen(call, runs)
        if run_id is None:
            return 1
        files = await runs.changes(run_id)
        text = await runs.diff(run_id)
    if call.json:
        listed = [{"path": one.path, "before": one.before, "now": one.now} for one in files]
        call.terminal.document({"runId": run_id, "files": listed, "diff": text})
    elif files:
        call.terminal.result(text.rstrip("\n"))
    else:
        call.terminal.message("nothing is changed: the files are as they were before the first turn")
    return 0


async def _chosen(call: Call, runs: Runs) -> str | None:
    """The run that is named, else the newest; where there is none, it is said."""
    named: str | None = call.arguments.run_id
    if named is not None:
        return named
    known = await newest(call, runs)
    if known is None:
        call.say_no_run()
        return None
    return known.state.run_id


async def report(call: Call) -> int:
    """The receipt, in a form for people or for machines."""
    asked = call.arguments.format or ("json" if call.json else "markdown")
    async with call.runs() as runs:
        run_id = await _chosen(call, runs)
        if run_id is None:
            return 1
        text = await receipt(runs, run_id, asked, call.root)
    if call.json and asked != "json":
        call.terminal.document({"text": text})
    else:
        call.terminal.result(text.rstrip("\n"))
    return 0
