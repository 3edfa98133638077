"""Who acts when no other process can reach a run: the program itself (ports.People)."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from typing import Any

from donewhen.core.acts import Person, Seen
from donewhen.ports import Request


class OneProgram:
    """Of a record that is in memory alone; `person` is the one who acts."""

    def __init__(self, person: Person | None = None) -> None:
        self._person = person or Person("this program", "program")

    def me(self) -> Person:
        return self._person

    def inside(self, run_id: str) -> bool:
        return False

    @asynccontextmanager
    async def asking(
        self, run_id: str, operation: str, arguments: Mapping[str, Any]
    ) -> AsyncGenerator[Mapping[str, object]]:
        yield {}

    async def look(self, request: Request) -> Seen:
        return Seen(self._person)
