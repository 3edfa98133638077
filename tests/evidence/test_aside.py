"""Blocking code beside the event loop: given up, it holds nobody."""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextvars
import sys
import threading
import time

import pytest

from donewhen.threads import run_in_thread, run_sync

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


def test_a_caller_without_await_may_itself_be_in_a_coroutine_that_one_runs() -> None:
    async def inner() -> str:
        return NAME.get()

    async def outer() -> str:
        return run_sync(inner())

    NAME.set("mine")
    assert (run_sync(inner()), run_sync(outer())) == ("mine", "mine")


def test_what_ends_a_program_ends_no_other_call_that_has_no_await() -> None:
    async def leaves() -> None:
        sys.exit(3)

    with pytest.raises(SystemExit):
        run_sync(leaves())
    assert run_sync(asyncio.sleep(0, "still here")) == "still here"


async def test_calls_that_follow_each_other_are_made_in_one_thread() -> None:
    """As connections of sqlite3 need it, and what keeps something in a thread-local."""
    kept = threading.local()

    def count() -> int:
        kept.calls = getattr(kept, "calls", 0) + 1
        return kept.calls

    assert [await run_in_thread(count) for _ in range(3)] == [1, 2, 3]


async def test_what_a_pool_of_threads_cancelled_is_an_error_like_any_other() -> None:
    def cancelled() -> None:
        raise concurrent.futures.CancelledError

    with pytest.raises(RuntimeError, match="CancelledError"):
        await run_in_thread(cancelled)


def test_nothing_waits_for_the_loop_below_a_call_that_holds_it() -> None:
    async def inner() -> str:
        return await run_in_thread(lambda: run_sync(asyncio.sleep(0, "inside")))

    async def outer() -> str:
        return run_sync(inner())

    assert run_sync(outer()) == "inside"
