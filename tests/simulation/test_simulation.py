"""Whatever fails, what the engine promises holds: over many seeds, each of which gives one run, again and again."""

from __future__ import annotations

import os
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

from tests.simulation.__main__ import many, replay
from tests.simulation.simulation import Outcome, simulate
from tests.simulation.virtual_time import Stuck, VirtualLoop

ROOT = Path(__file__).resolve().parents[2]
SEEDS = 60
ALL_SEEDS = int(os.environ.get("SIMULATION_SEEDS", "1500"))
"""Of the slow suite; a person can ask for more."""


@cache
def outcome(seed: int) -> Outcome:
    """Of the seed, which several tests look at."""
    return simulate(seed)


def told(outcomes: list[Outcome]) -> str:
    return "\n".join(f"{replay(one.seed)}: {'; '.join(one.broken)}" for one in outcomes)


def test_whatever_fails_what_is_promised_holds() -> None:
    outcomes = [outcome(seed) for seed in range(SEEDS)]
    broken = [one for one in outcomes if one.broken]
    assert not broken, told(broken)


def test_the_seeds_reach_every_way_in_which_a_run_ends_or_waits() -> None:
    seen = {outcome(seed).status for seed in range(SEEDS)}
    assert {"complete", "capped", "stalled", "over_budget", "timed_out", "cancelled", "waiting"} <= seen
    assert sum(outcome(seed).deaths for seed in range(20)) > 5


def test_a_seed_gives_the_same_record_byte_for_byte() -> None:
    for seed in range(10):
        first, again = outcome(seed), simulate(seed)
        assert (first.digest, first.seconds, first.status) == (again.digest, again.seconds, again.status), seed
        assert first.entries


def test_another_process_replays_a_seed_whatever_its_hashes_are() -> None:
    program = "from tests.simulation.simulation import simulate; print(*(simulate(n).digest for n in range(8)))"
    salt = "2" if os.environ.get("PYTHONHASHSEED") == "1" else "1"
    made = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, env={**os.environ, "PYTHONHASHSEED": salt}, capture_output=True,
        text=True,
    )  # fmt: skip
    assert made.stdout.split() == [outcome(seed).digest for seed in range(8)], made.stderr


def test_time_jumps_and_nothing_waits_for_a_clock() -> None:
    """The longest simulated run takes a minute and more, none of which passes."""
    assert max(outcome(seed).seconds for seed in range(10)) > 10.0


def test_a_loop_in_which_nothing_can_happen_any_more_says_so() -> None:
    loop = VirtualLoop()
    with pytest.raises(Stuck, match="nothing is left to happen"):
        loop.run_until_complete(loop.create_future())
    loop.close()


@pytest.mark.slow
@pytest.mark.timeout(2400)
def test_whatever_fails_what_is_promised_holds_for_every_seed() -> None:
    broken = [one for one in many(0, ALL_SEEDS, processes=2) if one.broken]
    assert not broken, told(broken)
