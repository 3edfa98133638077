"""Removes what the policy doesn't keep. `core/retention.py` decides which runs go.

The order makes a crash harmless: first the run leaves the ledger, in one transaction; then go its evidence files, which
are made from the ledger; then the content that only its trees held. What is left over belongs to no run, and goes the
next time.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import secrets
import time
from collections.abc import Collection, Mapping
from dataclasses import replace
from pathlib import Path

from donewhen.core.errors import AlreadyRunning, DoneWhenError, HeldElsewhere
from donewhen.core.retention import Because, OnRecord, Plan, Retention, plan
from donewhen.engine.api import Collected
from donewhen.engine.records import EVIDENCE, Records
from donewhen.engine.setup import EngineSetup
from donewhen.ports import RunSummary

OPEN = ("running", "waiting", "paused", "interrupted")
LEFT_ALONE = 86_400.0
"""Seconds: an evidence file that an editor may show, and a check without a sign of life, are left alone so long."""
EVERY = 3_600.0
"""Seconds between two looks at what is old."""
_DUE = "collect.due"
"""A file that says that runs were removed, and perhaps not yet the content that only they needed."""
_DONE = "collect.done"
_NO_RECORD = frozenset({"attempts", "rooms", "scratch"})
"""Folders, in that of a workspace's state, of copies in which is worked: they are not of the record, and what they take
is not a reason to remove runs."""


class Collector:
    """What is on record of the runs of one workspace, and how it stays bounded."""

    def __init__(self, setup: EngineSetup, records: Records) -> None:
        self._setup = setup
        self._records = records
        self._folder = setup.state_folder

    def is_due(self) -> bool:
        """Whether a run that has just ended is an occasion. Costs a look into a few folders."""
        if self._setup.retention is None:
            return False
        if (self._folder / _DUE).exists():
            return True
        try:
            since = time.time() - (self._folder / _DONE).stat().st_mtime
        except OSError:
            return True
        return not 0 <= since < EVERY

    async def collect(
        self, policy: Retention, pursued: Collection[str], *, thorough: bool = True, dry_run: bool = False
    ) -> Collected:
        """`pursued` are the runs of this process. `thorough`: content that nothing needs is looked for and the ledger
        is made smaller, however little that saves."""
        owner = self._setup.lock.owner()
        busy = next(iter(pursued), None) or (owner.run_id if owner is not None else None)
        if busy is not None and not dry_run:
            return Collected(busy=f"run {busy} is being worked on: try again once it has ended")
        lock = self._setup.collect_lock
        if dry_run or lock is None:
            return await self._collected(policy, thorough, dry_run)
        try:
            lock.acquire("collecting", secrets.token_hex(16))
        except (AlreadyRunning, HeldElsewhere):
            return Collected(busy="another process is doing this now: try again")
        try:
            return await self._collected(policy, thorough, dry_run)
        finally:
            lock.release()

    async def _collected(self, policy: Retention, thorough: bool, dry_run: bool) -> Collected:
        files, size = await asyncio.to_thread(_measured, self._folder)
        decided, updated = await self._plan(policy, size)
        told = Collected(decided.going, decided.staying, 0, files, files, size, size)
        if dry_run:
            freed = sum(one.bytes for one in decided.going)
            return replace(told, bytes_after=size - freed)
        gone: set[str] = set()
        problem = ""
        try:
            gone = await self._remove(decided, updated)
            # Evidence files that nobody needs now are written again when somebody asks for one.
            listed = {run.run_id for run in await self._setup.ledger.runs()}
            shown = {run_id for run_id, because in decided.staying if because in ("newest", "open", "in use")}
            old = time.time() - LEFT_ALONE
            swept = await asyncio.to_thread(_swept, self._folder / EVIDENCE, listed, shown, old)
            told = replace(told, evidence=swept)
            await self._prune(thorough)
            if thorough:
                await self._setup.ledger.compact()
            (self._folder / _DONE).touch()
        except (DoneWhenError, OSError) as error:
            problem = f"{error}"
        files, size = await asyncio.to_thread(_measured, self._folder)
        going = tuple(one for one in decided.going if one.run_id in gone)
        return replace(told, going=going, files_after=files, bytes_after=size, problem=problem)

    async def _plan(self, policy: Retention, size: int) -> tuple[Plan, Mapping[str, float]]:
        """What goes, and when each run that was looked at was last updated: one that went on since is another one."""
        ledger = self._setup.ledger
        summaries, counts, kept = await ledger.runs(), await ledger.entry_counts(), await ledger.kept()
        needed = {state.run_id for state in await self._records.newest()}
        used = set(self._setup.in_use())
        every = max(1, sum(counts.values()))

        async def on_record(run: RunSummary) -> OnRecord:
            stays: Because | None = None
            if run.run_id in kept:
                stays = "kept"
            elif run.run_id in used:
                stays = "in use"
            elif run.run_id in needed:
                stays = "newest"
            elif await self._is_open(run):
                stays = "open"
            share = size * counts.get(run.run_id, 0) // every
            return OnRecord(run.run_id, run.goal_path, run.mode, run.updated_at, share, stays)

        decided = plan([await on_record(one) for one in summaries], policy, self._setup.clock.now())
        return decided, {one.run_id: one.updated_at for one in summaries}

    async def _is_open(self, run: RunSummary) -> bool:
        """A check whose process was killed stays `running` for ever: what wasn't heard of for a day is over."""
        if run.status not in OPEN:
            return False
        live = await self._setup.ledger.live(run.run_id)
        heard = max(run.updated_at, live.alive_at)
        return not (run.mode == "audit" and self._setup.clock.now() - heard > LEFT_ALONE)

    async def _remove(self, decided: Plan, updated: Mapping[str, float]) -> set[str]:
        ledger, gone = self._setup.ledger, set[str]()
        if decided.going:
            (self._folder / _DUE).touch()
        for one in decided.going:
            # What something else changed is left for a person to look at.
            if await ledger.trouble(one.run_id) is not None:
                continue
            if await ledger.remove(one.run_id, updated[one.run_id]):
                gone.add(one.run_id)
                self._records.forget(one.run_id)
            await asyncio.sleep(0)
        return gone

    async def _prune(self, thorough: bool) -> None:
        trees = self._setup.trees
        if trees is None or not (thorough or (self._folder / _DUE).exists()):
            return
        needed: set[str] = set()
        for run in await self._setup.ledger.runs():
            needed |= await self._setup.ledger.trees(run.run_id)
        await trees.prune(needed)
        (self._folder / _DUE).unlink(missing_ok=True)


def _measured(folder: Path) -> tuple[int, int]:
    """Files and bytes."""
    files = size = 0
    for place, below, names in os.walk(folder):
        if place == str(folder):
            below[:] = [name for name in below if name not in _NO_RECORD]
        for name in names:
            with contextlib.suppress(OSError):
                size += (Path(place) / name).stat().st_size
                files += 1
    return files, size


def _swept(folder: Path, listed: Collection[str], shown: Collection[str], before: float) -> int:
    removed = 0
    for run in sorted(folder.glob("*")):
        if run.name in shown:
            continue
        for one in run.glob("*.md"):
            with contextlib.suppress(OSError):
                if run.name not in listed or one.stat().st_mtime < before:
                    removed += 1
                    one.unlink()
        with contextlib.suppress(OSError):
            run.rmdir()
    return removed
