"""What judges keep between audits. See `donewhen.ports`."""

from __future__ import annotations

from typing import Protocol


class VerdictCache(Protocol):
    """Replies of judges by the digest of all that they were asked. Losing it costs money, nothing else: it never
    raises for what is not there or can't be kept. Called from threads."""

    def get(self, key: str) -> str | None: ...

    def put(self, key: str, text: str) -> None: ...
