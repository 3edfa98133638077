"""`gc`: what of the record goes, and what a person keeps."""

from __future__ import annotations

from collections import Counter
from typing import Any

from donewhen.cli.calling import Call
from donewhen.cli.formatting import one_line
from donewhen.cli.outcome import COMPLETE, NOT_COMPLETE
from donewhen.core.errors import UsageError
from donewhen.core.retention import Because, Reason
from donewhen.core.words import counted
from donewhen.engine.api import Collected
from donewhen.settings.loading import retention

_REASONS: dict[Reason, str] = {
    "runs": "beyond the newest of its goal (--keep-runs)",
    "age": "too old (--older-than)",
    "size": "the record is too large (--max-size)",
}
_STAYS: dict[Because, str] = {
    "open": "not over yet: `donewhen stop` ends one",
    "newest": "the newest run or check of its goal",
    "kept": "kept by you (--keep)",
    "in use": "the work of an agent that calls the gate",
    "recent": "within what the settings keep",
}
_MOST = 20


async def collect(call: Call) -> int:
    """Removes what the settings don't keep, or keeps one run."""
    given = call.arguments
    if given.keep or given.unkeep:
        if given.dry_run:
            raise UsageError("--keep and --unkeep remove nothing: leave --dry-run out")
        run_id, on = given.keep or given.unkeep, bool(given.keep)
        async with call.runs() as runs:
            await runs.keep(run_id, on)
        if call.json:
            call.terminal.document({"runId": run_id, "kept": on})
        else:
            said = f"run {run_id} stays, however old it gets" if on else f"run {run_id} goes when it is old enough"
            call.terminal.message(said)
        return COMPLETE
    async with call.runs() as runs:
        done = await runs.collect(retention(call.settings), dry_run=given.dry_run)
    if call.json:
        call.terminal.document(_document(done, dry_run=given.dry_run))
    else:
        _show_collected(call, done, dry_run=given.dry_run)
    return NOT_COMPLETE if done.busy or done.problem else COMPLETE


def _show_collected(call: Call, done: Collected, *, dry_run: bool) -> None:
    if done.busy:
        call.terminal.message(f"nothing was done: {done.busy}")
        return
    for one in done.going[:_MOST]:
        call.terminal.result(f"{one.run_id}  {_megabytes(one.bytes)}  {_REASONS[one.reason]}")
    if len(done.going) > _MOST:
        call.terminal.result(f"and {len(done.going) - _MOST} more")
    word = "would be removed" if dry_run else "removed"
    call.terminal.message(f"{counted(len(done.going), 'run')} {word}")
    reasons: Counter[Because] = Counter(because for _, because in done.staying)
    for because, number in reasons.most_common():
        call.terminal.message(f"{number} {'stays' if number == 1 else 'stay'}: {_STAYS[because]}")
    if not dry_run:
        files = f"{counted(done.files_before, 'file')} to {done.files_after}"
        call.terminal.message(f"{files}, {_megabytes(done.bytes_before)} to {_megabytes(done.bytes_after)}")
    if done.problem:
        call.terminal.message(f"not all could be done, and nothing else is lost: {one_line(done.problem, 500)}")


def _megabytes(number: int) -> str:
    return f"{number / 1024**2:.1f} MB" if number >= 1024**2 else f"{number / 1024:.0f} KB"


def _document(done: Collected, *, dry_run: bool) -> dict[str, Any]:
    return {
        "dryRun": dry_run,
        "removed": [{"runId": one.run_id, "reason": one.reason, "bytes": one.bytes} for one in done.going],
        "stays": [{"runId": run_id, "because": because} for run_id, because in done.staying],
        "files": {"before": done.files_before, "after": done.files_after},
        "bytes": {"before": done.bytes_before, "after": done.bytes_after},
        "busy": done.busy or None,
        "problem": done.problem or None,
    }
