"""Releases of public projects as a worker's turn: what honest work looks like, tests that it changed included."""

from __future__ import annotations

import os
import urllib.error
from pathlib import Path

import pytest

from tests.trials.replaying import KEPT, Release, Replayed, index, releases, replay, unpacked

TOLD = [one for one in releases() if one.told]


@pytest.fixture(scope="module")
def kept() -> Path:
    try:
        unpacked(TOLD[0], TOLD[0].old, KEPT)
    except urllib.error.URLError as error:
        if os.environ.get("CI"):
            raise
        pytest.skip(f"{index()} can't be reached: {error}")
    return KEPT


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize("release", TOLD, ids=lambda one: one.id)
async def test_a_release_is_accepted_or_asked_about_once(release: Release, kept: Path, tmp_path: Path) -> None:
    played: Replayed = await replay(release, kept, tmp_path)
    assert played.end == ("asked" if release.asked else "complete"), (played.reason, played.findings)
    assert played.questions == int(release.asked)
    if release.asked:
        assert {one.partition(" ")[0] for one in played.findings} == {"original_fails"}
