"""`python -m tests.simulation`: many seeds, or one with all that happens in it."""

from __future__ import annotations

import argparse
import gc
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor

from tests.simulation.simulation import Outcome, simulate

PIECE = 50


def replay(seed: int) -> str:
    """The command that runs a seed again."""
    return f"python -m tests.simulation --seed {seed} --trace"


def several(seeds: Iterable[int]) -> list[Outcome]:
    gc.set_threshold(50_000)  # most of what is looked through stays: it takes an eighth of the time
    return [simulate(seed) for seed in seeds]


def many(first: int, number: int, processes: int) -> Iterator[Outcome]:
    """The outcomes of so many seeds, in their order."""
    pieces = [range(at, min(at + PIECE, first + number)) for at in range(first, first + number, PIECE)]
    if processes == 1:
        for piece in pieces:
            yield from several(piece)
        return
    with ProcessPoolExecutor(processes) as pool:
        for outcomes in pool.map(several, pieces):
            yield from outcomes


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser("python -m tests.simulation", description=__doc__)
    parser.add_argument("--seeds", type=int, default=1000, help="how many (1000)")
    parser.add_argument("--from", type=int, default=0, dest="first", help="the first of them (0)")
    parser.add_argument("--processes", type=int, default=2, help="how many run at once (2)")
    parser.add_argument("--seed", type=int, help="only this one")
    parser.add_argument("--trace", action="store_true", help="with --seed: print all that happens in it")
    chosen = parser.parse_args(arguments)
    if chosen.seed is not None:
        outcome = simulate(chosen.seed, trace=chosen.trace)
        print("\n".join([*outcome.trace, f"seed {outcome.seed}: {outcome.status}, record {outcome.digest[:16]}"]))
        print("\n".join(f"BROKEN: {text}" for text in outcome.broken) or "everything holds")
        return 1 if outcome.broken else 0
    return _many(chosen.first, chosen.seeds, chosen.processes)


def _many(first: int, number: int, processes: int) -> int:
    began, ends, broken, entries, deaths = time.monotonic(), Counter[str](), 0, 0, 0
    for outcome in many(first, number, processes):
        ends[outcome.status] += 1
        entries, deaths = entries + outcome.entries, deaths + outcome.deaths
        if outcome.broken:
            broken += 1
            print(f"seed {outcome.seed}: {'; '.join(outcome.broken)}\n  {replay(outcome.seed)}", flush=True)
    seconds = time.monotonic() - began
    told = ", ".join(f"{count} {status}" for status, count in ends.most_common())
    print(f"{number} seeds in {seconds:.1f} s ({number / seconds:.0f} a second): {told}")
    print(f"{entries} entries, {deaths} deaths of the supervising process, {broken} seeds broken")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
