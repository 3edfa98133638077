"""A rate limiter: at most so many tool calls in so many seconds; the next call waits."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from fnmatch import fnmatchcase

from donewhen.plugins import Halt, PluginContext, ToolDoer, ToolOutcome, ToolUse, hookimpl


class RateLimiter:
    """At most `calls` calls of `tools` (names, `*` matches) in any `seconds`. A call waits for its turn, and stops
    waiting at once if it is cancelled; if it would have to wait longer than `max_wait`, the run is halted instead.

    The count starts at zero if a run continues in another process."""

    def __init__(
        self,
        calls: int,
        seconds: float,
        tools: Sequence[str] = ("*",),
        *,
        max_wait: float = 60.0,
        name: str = "rate-limiter",
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
    ) -> None:
        if calls < 1 or not 0 < seconds < float("inf"):
            raise ValueError(
                f"the limit must be at least 1 call in more than 0 seconds; it is {calls!r} calls in {seconds!r} s"
            )
        self.name = name
        self._calls, self._seconds, self._tools, self._max_wait = calls, seconds, tuple(tools), max_wait
        self._clock, self._sleep = clock, sleep
        self._made: deque[float] = deque()
        """When the latest calls begin, including those that wait."""

    @hookimpl
    async def wrap_tool(self, use: ToolUse, proceed: ToolDoer, context: PluginContext) -> ToolOutcome:
        if not any(fnmatchcase(use.tool, pattern) for pattern in self._tools):
            return await proceed(use)
        now = self._clock()
        while self._made and self._made[0] <= now - self._seconds:
            self._made.popleft()
        begins = max(now, self._made[-self._calls] + self._seconds) if len(self._made) >= self._calls else now
        wait = begins - now
        if wait > self._max_wait:
            raise Halt(
                f"{use.tool} would have to wait {wait:.0f} s: more than {self._calls} calls in {self._seconds:g} s",
                {"tool": use.tool, "wait": round(wait, 3)},
            )
        self._made.append(begins)  # before it waits, so that later calls wait longer
        if wait > 0:
            context.activity(f"{use.tool} waits {wait:.0f} s: at most {self._calls} calls in {self._seconds:g} s")
        try:
            while wait > 0:
                await self._sleep(wait)
                wait = begins - self._clock()
        except asyncio.CancelledError:
            self._made.remove(begins)
            raise
        return await proceed(use)
