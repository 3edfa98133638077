"""The life of the host process: lazy, warmed in the background, ended with its children, survived when it crashes."""

from __future__ import annotations

import asyncio
import os
import sys
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import psutil
import pytest

from donewhen.core.calls import Message
from donewhen.core.errors import ModelFailed
from donewhen.models.failures import kind_of
from donewhen.models.hosting import ModelHost
from donewhen.models.protocol import Call, CallFailed
from donewhen.ports import Dialogue, ProcessResult
from donewhen.workspace.processes.running import SystemProcesses
from tests.models.conftest import model, request, scripted, until
from tests.scripted_models import hangs, says
from tests.tools import below, runs

STUB = str(Path(__file__).with_name("stub_host.py"))
CALL = Call("openai/stub", (Message("user", "hello"),))


class Watched(SystemProcesses):
    """Starts real processes, and remembers them: their ids, and what came of them."""

    def __init__(self) -> None:
        super().__init__()
        self.started: list[int] = []
        self.results: list[ProcessResult] = []

    async def run(self, command: Any, *, dialogue: Dialogue | None = None, **options: Any) -> ProcessResult:
        assert dialogue is not None
        began, before = dialogue.began, {one.pid for one in below(os.getpid())}

        def noted(send: Callable[[bytes], None]) -> None:
            self.started += [one.pid for one in below(os.getpid()) if one.pid not in before]
            began(send)

        dialogue.began = noted  # type: ignore[method-assign]
        result = await super().run(command, dialogue=dialogue, **options)
        self.results.append(result)
        return result


@asynccontextmanager
async def stub(*kind: str, **options: object) -> AsyncIterator[tuple[ModelHost, Watched]]:
    watched = Watched()
    host = ModelHost(watched, os.environ, command=(sys.executable, STUB, *kind), **options)  # type: ignore[arg-type]
    try:
        yield host, watched
    finally:
        await host.close()


async def gone(pid: int) -> None:
    await until(lambda: not runs(pid))


async def test_nothing_is_started_before_it_is_needed_and_then_once() -> None:
    async with stub("echo") as (host, watched):
        assert not watched.started
        await asyncio.gather(*(host.ask(CALL) for _ in range(5)))
        assert len(watched.started) == 1


async def test_what_a_library_prints_corrupts_nothing() -> None:
    async with stub("noisy") as (host, _):
        assert (await host.ask(CALL)).message.text == "hello"


@pytest.mark.conformance("A6")
async def test_a_crash_is_an_outage_and_the_next_call_starts_it_anew() -> None:
    async with stub("exit", mask=lambda text: text.replace("library", "***")) as (host, watched):
        for _ in range(2):
            with pytest.raises(CallFailed, match=r"(?s)exit code 7.*the \*\*\* crashed") as caught:
                await host.ask(CALL)
            assert kind_of(caught.value.failure) == "failing"
        assert len(watched.started) == 2


async def test_a_host_that_ended_while_idle_is_replaced_unnoticed() -> None:
    async with stub("echo") as (host, watched):
        await host.ask(CALL)
        os.kill(watched.started[0], 9)
        await until(lambda: bool(watched.results))
        assert (await host.ask(CALL)).message.text == "hello"


@pytest.mark.parametrize("kind", [RuntimeError, TimeoutError])
async def test_a_listener_that_fails_ends_its_own_call_only(kind: type[Exception]) -> None:
    def broken(_: str) -> None:
        raise kind("the view is gone")

    async with stub("begins") as (host, _):
        with pytest.raises(kind, match="the view is gone"):
            await host.ask(CALL, broken)
        assert (await host.ask(CALL)).message.text == "hello"


async def test_a_host_that_is_never_ready_is_ended() -> None:
    async with stub("mute", ready_within=0.2) as (host, watched):
        with pytest.raises(ModelFailed, match="doesn't answer"):
            await host.ask(CALL)
        await gone(watched.started[0])


async def test_a_host_that_hangs_in_a_call_is_ended() -> None:
    async with stub("silent", grace=0.1) as (host, watched):
        with pytest.raises(ModelFailed, match="doesn't answer"):
            await host.ask(replace(CALL, timeout=0.1))
        await gone(watched.started[0])


async def test_without_litellm_it_is_told_what_to_install() -> None:
    async with stub("unusable", "ModuleNotFoundError: No module named 'litellm'") as (host, _):
        with pytest.raises(ModelFailed, match=r"needs the litellm extra: .*\[litellm\]") as caught:
            await host.ask(CALL)
        assert caught.value.kind == "support_missing"


async def test_a_program_that_is_not_there_is_an_outage() -> None:
    host = ModelHost(SystemProcesses(), os.environ, command=("no-such-program",))
    with pytest.raises(ModelFailed, match="no-such-program"):
        await host.ask(CALL)
    await host.close()


async def test_closing_ends_it_with_its_children_and_fails_who_waits() -> None:
    async with stub("silent") as (host, watched):
        waiting = asyncio.ensure_future(host.ask(CALL))
        await until(lambda: bool(watched.started))
        await host.ready()
        begun = time.monotonic()
        await host.close()
        assert time.monotonic() - begun < 20
        with pytest.raises(ModelFailed, match="closed"):
            await waiting
        await gone(watched.started[0])


@pytest.mark.parametrize("kind", ["child", "stays"])
async def test_no_process_is_left_behind(kind: str) -> None:
    async with stub(kind) as (host, watched):
        await host.ready()
        pid = watched.started[0]
        children = [pid, *(one.pid for one in below(pid))]
        begun = time.monotonic()
        await host.close()
        assert time.monotonic() - begun < 20
        for one in children:
            await gone(one)


async def test_a_reply_of_any_size_arrives() -> None:
    async with stub("echo") as (host, _):
        for size in (0, 5, 300_000):
            text = "x" * size
            assert (await host.ask(replace(CALL, messages=(Message("user", text),)))).message.text == text


# With the real host: one process for all of it.


@pytest.mark.slow
async def test_the_real_host_is_quiet_offline_and_keeps_keys_to_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It takes no library and no `.env` that lies around; if it ends in a call, that is made again."""
    (tmp_path / "litellm.py").write_text("raise RuntimeError('the wrong litellm')")
    (tmp_path / ".env").write_text("OPENAI_BASE_URL=http://127.0.0.1:9\n")
    monkeypatch.chdir(tmp_path)
    guard = tmp_path / "guard"
    guard.mkdir()
    (guard / "sitecustomize.py").write_text(GUARD)
    watched = Watched()
    host = ModelHost(watched, {**os.environ, "PYTHONPATH": str(guard), "OPENAI_API_KEY": "sk-environment"})
    async with scripted(says("well"), hangs(), says("again")) as server:
        stalls = asyncio.ensure_future(longest_stalls())
        host.warm()
        asked = model(host, server, key=lambda: "sk-on-the-pipe")
        assert (await asked.complete(request())).message.text == "well"
        stalls.cancel()
        busy, late = await stalls
        assert busy < 0.05
        assert late < 2  # a machine that is busy; what imports litellm here takes longer
        process = psutil.Process(watched.started[0])
        assert "sk-" not in str(process.cmdline()) + str(process.environ())

        waiting = asyncio.ensure_future(asked.complete(request()))
        await until(lambda: len(server.requests) == 2)
        process.kill()
        assert (await waiting).message.text == "again"
        await until(lambda: bool(watched.results))
        said = watched.results[0].output
        assert "sk-" not in said
        assert "the guard stands" in said
        assert "GUARD" not in said
        assert "printed by a library" in said
    await host.close()


GUARD = """
import os
import sys
def hook(event, arguments):
    if event == "import" and arguments[0] == "openai":
        os.write(1, b"printed by a library\\n")
    if event in ("socket.connect", "socket.getaddrinfo", "socket.gethostbyname"):
        if not any(local in str(arguments) for local in ("127.0.0.1", "localhost", "::1")):
            print("GUARD", event, arguments, file=sys.stderr, flush=True)
sys.addaudithook(hook)
print("the guard stands", file=sys.stderr, flush=True)
"""


async def longest_stalls() -> tuple[float, float]:
    """Until it is cancelled: the longest that the loop's thread was busy, and the longest that it was late, which on a
    busy machine is longer."""
    busy = late = 0.0
    try:
        while True:
            at, worked = time.perf_counter(), time.thread_time()
            await asyncio.sleep(0.005)
            late = max(late, time.perf_counter() - at - 0.005)
            busy = max(busy, time.thread_time() - worked)
    except asyncio.CancelledError:
        return busy, late
