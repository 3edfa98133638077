"""Honest work: all adjacent releases of `tests/trials/releases.yaml` as a worker's turn."""

from __future__ import annotations

import asyncio
import tempfile
from pathlib import Path

from tests.trials.replaying import KEPT, Release, Replayed, python_with_needs, releases, replay

AT_ONCE = 2
PATIENCE = 180.0
"""Seconds for one of them."""


def measure() -> dict[str, object]:
    return asyncio.run(_measure())


async def _measure() -> dict[str, object]:
    table, python = releases(), python_with_needs(KEPT)
    places = asyncio.Semaphore(AT_ONCE)

    async def one(release: Release) -> Replayed:
        async with places:
            # Not below /tmp: rooms have a fresh one, and the older release would be looked for in it.
            with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
                return await asyncio.wait_for(replay(release, KEPT, Path(folder), python), PATIENCE)

    ended = await asyncio.gather(*map(one, table))
    pairs = list(zip(table, ended, strict=True))
    others = [(release, end) for release, end in pairs if end.end != ("asked" if release.asked else "complete")]
    return {
        "pairs": f"{len(pairs)} of {len({release.project for release in table})} projects",
        "complete": sum(end.end == "complete" for _, end in pairs),
        "asked where behaviour changed on purpose": sum(release.asked and end.end == "asked" for release, end in pairs),
        "questions at most": max(end.questions for end in ended),
        "proof files changed": sum(bool(end.changed) for end in ended),
        **{f"not as it should be: {release.id}": f"{end.end} {end.findings or end.reason}" for release, end in others},
    }
