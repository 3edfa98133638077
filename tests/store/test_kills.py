"""kill -9 and other processes: nothing acknowledged is lost, nothing is handed out twice."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from donewhen.store.faults import fault_from_environment
from donewhen.store.sqlite import SqliteLedger
from tests import forked
from tests.tools import each_row

APPENDER = Path(__file__).with_name("appender.py")

pytestmark = pytest.mark.conformance("A13")


def append_until_killed(path: Path, after: int, **environment: str) -> int:
    """Kills an appender after it acknowledged `after` entries, or lets it kill itself; the last acknowledged one."""
    process = forked.start(
        [sys.executable, str(APPENDER), str(path)],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, **environment},
    )
    assert process.stdout is not None
    last = 0
    for line in process.stdout:
        last = int(line)
        if last >= after and process.poll() is None:
            process.send_signal(signal.SIGKILL)
    process.stdout.close()
    assert process.wait(60) == -signal.SIGKILL
    return last


async def kill_and_read(path: Path, kills: int, seed: int) -> None:
    chance = random.Random(seed)
    acknowledged = 0
    for _ in range(kills):
        acknowledged = append_until_killed(path, acknowledged + chance.randint(1, 60))
        ledger = await SqliteLedger.open(path)
        kept = await ledger.entries("a")
        await ledger.close()
        assert ledger.notices == ()
        assert [entry.sequence for entry in kept] == list(range(1, len(kept) + 1))
        # One more may have been kept and not acknowledged any more.
        assert len(kept) in (acknowledged, acknowledged + 1)


async def test_killed_appenders_lose_nothing_acknowledged(tmp_path: Path) -> None:
    await kill_and_read(tmp_path / "ledger.sqlite", 3, seed=1)


@pytest.mark.slow
async def test_twenty_killed_appenders_lose_nothing_acknowledged(tmp_path: Path) -> None:
    await kill_and_read(tmp_path / "ledger.sqlite", 20, seed=2)


@pytest.mark.parametrize("after", [1, 2, 5])
async def test_the_injected_fault_kills_right_after_that_append(tmp_path: Path, after: int) -> None:
    append_until_killed(tmp_path / "l", 10**6, DONEWHEN_FAULT_AFTER=str(after))
    ledger = await SqliteLedger.open(tmp_path / "l")
    assert len(await ledger.entries("a")) + len(await ledger.entries("chatter")) == after
    await ledger.close()


@each_row("text", [None, "", "0", "-1", "soon", "1.5"])
def test_without_a_number_there_is_no_fault(text: str | None) -> None:
    assert fault_from_environment({} if text is None else {"DONEWHEN_FAULT_AFTER": text}) is None
