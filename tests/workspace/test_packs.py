"""Packs that several threads read at once, as the checks of one audit do."""

from __future__ import annotations

import sys
from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import pytest

from donewhen.workspace.objects import Packs

THREADS = 4
ROUNDS = 300


@pytest.fixture
def often_switched() -> Generator[None]:
    """Threads take turns after nearly every instruction, so that a race that is there is met."""
    usual = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(usual)


@pytest.mark.usefixtures("often_switched")
def test_what_is_kept_is_found_by_each_of_several_readers_at_once(tmp_path: Path) -> None:
    with Packs(tmp_path).writing() as writer:
        name = writer.add("blob", b"kept\n")
    start = Barrier(THREADS)

    def read(packs: Packs) -> bytes | None:
        start.wait()
        return packs.read(name)

    with ThreadPoolExecutor(THREADS) as pool:
        for _ in range(ROUNDS):
            assert list(pool.map(read, [Packs(tmp_path)] * THREADS)) == [b"kept\n"] * THREADS
