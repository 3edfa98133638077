"""`kill -9` after every event that is on record, then `resume`: the same run as if nothing had happened (A13)."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.faults.site import KILLED, Ended, Site


@dataclass(frozen=True)
class Story:
    """All of a run that must not depend on how often it was killed."""

    status: str
    iteration: int
    iterations_total: int
    cost: dict[str, Any]
    counts: dict[str, int]
    records: tuple[dict[str, Any], ...]
    findings: tuple[str, ...]
    warnings: tuple[str, ...]
    files: dict[str, bytes]


def story(site: Site, ended: Ended) -> Story:
    last = ended.last
    kept = ("number", "met", "total", "score", "usd", "changedFiles", "summary", "revision")
    return Story(
        status=last["status"],
        iteration=last["iteration"],
        iterations_total=last["iterationsTotal"],
        cost=last["cost"],
        counts=last["counts"],
        records=tuple({key: record[key] for key in kept} for record in last["iterations"]),
        findings=tuple(one["message"] for one in last["integrity"]),
        warnings=tuple(one["code"] for one in last["warnings"]),
        files=site.files(),
    )


@dataclass(frozen=True)
class Undisturbed:
    story: Story
    appends: int


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Undisturbed:
    site = Site.make(tmp_path_factory.mktemp("undisturbed") / "site")
    ended = site.run()
    assert (ended.code, ended.last["status"]) == (0, "complete"), ended.errors
    assert ended.last["cost"]["usd"] == 0.875
    assert site.read("effects.txt") == "first\nsecond\nthird\n"
    return Undisturbed(story(site, ended), len(site.entries()))


def killed_after(folder: Path, boundaries: Sequence[int]) -> Story | None:
    """The story of a run that is killed after so many appends, and so many more in each resumption but the last;
    None where it had ended before the first."""
    site = Site.make(folder)
    try:
        ended = site.run(fault=boundaries[0])
        if ended.code == 0:
            return None
        for boundary in boundaries[1:]:
            assert ended.code == KILLED, ended.errors
            ended = goes_on(site, boundary)
            if ended.code == 0:
                return story(site, ended)
        assert ended.code == KILLED, ended.errors
        ended = goes_on(site)
        assert ended.code == 0, f"exit {ended.code}: {ended.errors}"
        return story(site, ended)
    finally:
        site.clean_up()


def goes_on(site: Site, fault: int | None = None) -> Ended:
    """Resumes a run; one that was killed right after its end was on record is complete as it is."""
    if site.events()[-1] == "RunEnded":
        return site.inside("status")
    return site.inside("resume") if fault is None else site.call("resume", fault=fault)


def matrix(folder: Path, cases: Sequence[Sequence[int]], expected: Undisturbed) -> None:
    """Runs the cases and tells all that end otherwise than the undisturbed run."""

    def one(boundaries: Sequence[int]) -> str | None:
        try:
            told = killed_after(folder / "_".join(map(str, boundaries)), boundaries)
        except AssertionError as error:
            return f"killed after {boundaries}: {error}"
        return None if told in (None, expected.story) else f"killed after {boundaries}: {differences(told, expected)}"

    failed = [failure for failure in map(one, cases) if failure is not None]
    assert not failed, "\n".join(failed)


def differences(told: Story | None, expected: Undisturbed) -> str:
    fields = Story.__dataclass_fields__
    apart = [name for name in fields if getattr(told, name) != getattr(expected.story, name)]
    return "; ".join(f"{n}: {getattr(told, n)!r} is not {getattr(expected.story, n)!r}" for n in apart)


@pytest.mark.conformance("A13", "C20", "C21")
def test_a_run_that_was_killed_goes_on_as_if_nothing_had_happened(tmp_path: Path, undisturbed: Undisturbed) -> None:
    """In the middle of the run; the slow test below takes every event."""
    matrix(tmp_path, [[undisturbed.appends // 2]], undisturbed)


@pytest.mark.slow
@pytest.mark.timeout(1200)
@pytest.mark.conformance("A13", "C20", "C21")
def test_after_every_event(tmp_path: Path, undisturbed: Undisturbed) -> None:
    matrix(tmp_path, [[n] for n in range(1, undisturbed.appends + 1)], undisturbed)


@pytest.mark.slow
@pytest.mark.timeout(1200)
@pytest.mark.conformance("A13")
def test_killed_again_while_it_recovers(tmp_path: Path, undisturbed: Undisturbed) -> None:
    chosen = random.Random(13)  # which boundaries, always the same
    cases = [[chosen.randint(1, undisturbed.appends), chosen.randint(1, 12), chosen.randint(1, 12)] for _ in range(5)]
    matrix(tmp_path, cases, undisturbed)
