"""What an agent of a known package answered, in one shape."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from donewhen.core.work import Usage


class Answer(str):
    """The text of an answer, which also has what the package's own result has: `answer["content"]` where that is a
    mapping, `answer.output` where it is an object. So validators written for the package work, and those that read a
    text do, too.

    `result` is the package's own, None if it returns none. `keyed` is what `answer["..."]` looks into. `usage` is
    what the answer cost, None if the result doesn't tell.
    """

    result: Any
    keyed: Mapping[str, Any]
    usage: Usage | None

    def __new__(
        cls, text: str, result: Any = None, keyed: Mapping[str, Any] | None = None, usage: Usage | None = None
    ) -> Answer:
        made = super().__new__(cls, text)
        made.result, made.keyed, made.usage = result, keyed if keyed is not None else {}, usage
        return made

    def __str__(self) -> str:
        return str.__str__(self)  # the text alone, without what hangs on it

    def __getitem__(self, key: Any) -> Any:
        return self.keyed[key] if isinstance(key, str) else super().__getitem__(key)

    def __getattr__(self, name: str) -> Any:
        """Only asked for what a text has not."""
        if name.startswith("__") or name in Answer.__annotations__:
            raise AttributeError(name)
        for one in (self.result, self.keyed):
            if hasattr(one, name):
                return getattr(one, name)
        raise AttributeError(f"the agent's answer has no {name!r}")
