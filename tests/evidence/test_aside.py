"""Blocking code beside the event loop: given up, it holds nobody."""

from __future__ import annotations

import asyncio
import contextvars
import sys
import threading
import time

import pytest

from donewhen.workers.callables.threads import run_in_thread

NAME: contextvars.ContextVar[str] = contextvars.ContextVar("name")


async def test_what_it_returns_or_raises_is_handed_on() -> None:
    NAME.set("mine")
    assert await run_in_thread(lambda: (NAME.get(), threading.current_thread().daemon)) == ("mine", True)
    with pytest.raises(KeyError):
        await run_in_thread(lambda: {}["missing"])
    with pytest.raises(RuntimeError, match="StopIteration"):
        await run_in_thread(lambda: next(iter(())))
    with pytest.raises(RuntimeError, match="SystemExit: 3"):
        await run_in_thread(lambda: sys.exit(3))


@pytest.mark.conformance("C4")
def test_c04_given_up_it_keeps_no_loop_from_closing() -> None:
    release = threading.Event()

    async def impatient() -> None:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.05):
                await run_in_thread(lambda: release.wait(60))

    began = time.monotonic()
    try:
        asyncio.run(impatient())
        assert time.monotonic() - began < 5
    finally:
        release.set()
