"""Plays the cases that the selected tests ask for, two at a time, in a thread beside the tests; prints the table."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from donewhen.app.bench import laboratory
from donewhen.goalbench.cases import Case, JudgeName, load_cases
from donewhen.goalbench.playing import OWN, Laboratory, Played, play
from donewhen.goalbench.scoring import judge_table, rows, table
from donewhen.goalbench.selecting import missing, with_any_judge
from donewhen.goalbench.verdicts import scripted_judge

CASES = load_cases()
QUICK = [case for case in CASES if not case.slow]
JUDGED = [case for case in with_any_judge(CASES) if case.decided_by == "judge"]
AT_ONCE = 2

HERE = Path(__file__).parent

Wanted = tuple[Case, str]


@dataclass
class Bench:
    """Hands out each case's end when it is there."""

    wanted: Sequence[Wanted]
    ended: dict[tuple[str, str], Future[Played]] = field(default_factory=dict)
    stopped: bool = False

    def __post_init__(self) -> None:
        self.ended = {(case.id, judge): Future() for case, judge in self.wanted}
        self.thread = threading.Thread(target=lambda: asyncio.run(self._play_all()), name="goalbench")

    def of(self, case: Case, judge: str = OWN) -> Played:
        return self.ended[case.id, judge].result(timeout=110)

    def all_of(self, cases: Sequence[Case], judge: str) -> list[Played]:
        return [self.of(case, judge) for case in cases if not missing(case)]

    def there(self, judge: str) -> list[Played]:
        """What was played with that judge, as far as it ended well."""
        done = [f for (_, name), f in self.ended.items() if name == judge and f.done() and not f.exception()]
        return [future.result() for future in done]

    async def _play_all(self) -> None:
        async with laboratory() as made:
            left = iter(self.wanted)
            await asyncio.gather(*(self._play_some(left, made) for _ in range(AT_ONCE)))

    async def _play_some(self, left: Iterator[Wanted], made: Laboratory) -> None:
        for case, judge in left:
            if self.stopped:
                return
            future = self.ended[case.id, judge]
            try:
                future.set_result(await self._play(case, judge, made))
            except Exception as error:  # noqa: BLE001  # the test that waits for it fails with it
                future.set_exception(error)

    async def _play(self, case: Case, judge: str, made: Laboratory) -> Played:
        name: JudgeName = case.judge if judge == OWN else judge  # type: ignore[assignment]  # the tests name judges
        return await play(case, made, lambda one, root: scripted_judge(name, one, root), name=judge)


KEY: pytest.StashKey[Bench] = pytest.StashKey()


@pytest.fixture(scope="session")
def bench(request: pytest.FixtureRequest) -> Iterator[Bench]:
    made = Bench(_wanted(request.session.items))
    request.config.stash[KEY] = made
    made.thread.start()
    yield made
    made.stopped = True
    made.thread.join()


@pytest.fixture
def whole_table(bench: Bench) -> list[Played]:
    """Every case but the slow ones, with its own judge."""
    return bench.all_of(QUICK, OWN)


def _wanted(items: Sequence[pytest.Item]) -> list[Wanted]:
    """What the selected tests will ask for, in their order."""
    wanted: dict[tuple[str, str], Wanted] = {}
    for item in items:
        if HERE not in item.path.parents:
            continue  # other suites have cases and judges too
        given = item.callspec.params if isinstance(item, pytest.Function) and hasattr(item, "callspec") else {}
        if "case" in given:
            wanted[given["case"].id, OWN] = (given["case"], OWN)
        if isinstance(item, pytest.Function) and "whole_table" in item.fixturenames:
            wanted.update({(case.id, OWN): (case, OWN) for case in QUICK})
        if "judge" in given:
            wanted.update({(case.id, given["judge"]): (case, given["judge"]) for case in JUDGED})
    return [one for one in wanted.values() if not missing(one[0])]


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    made = config.stash.get(KEY, None)
    if made is None or os.environ.get("GOALBENCH_TABLE") == "no":
        return
    write = terminalreporter.write_line
    terminalreporter.section("GoalBench")
    for line in table(rows(made.there(OWN))):
        write(line)
    by_judge = [(name, rows(made.there(name))[-1]) for name in dict.fromkeys(j for _, j in made.wanted) if name != OWN]
    for line in judge_table(by_judge) if by_judge else []:
        write(line)
    for case, _ in made.wanted:
        if case.known:
            write(f"known: {case.id}: {case.known}")
