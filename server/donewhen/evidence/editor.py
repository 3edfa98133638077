"""What the editor itself complains about, as far as a client forwards it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

from donewhen.core.evidence import EditorReport, Problem
from donewhen.core.goal import Requirement


class EditorDiagnostics:
    """The latest diagnostics per file. `forwarded` is false until a client forwards some, or says that it will."""

    def __init__(self) -> None:
        self._files: dict[str, tuple[int | None, tuple[Problem, ...]]] = {}
        self.forwarded = False

    def forward(self, path: str, version: int | None, problems: Sequence[Problem]) -> None:
        """Replaces a file's diagnostics (posix path relative to the workspace), unless newer ones are known."""
        self.forwarded = True
        known = self._files.get(path)
        if known is not None and known[0] is not None and version is not None and version < known[0]:
            return
        self._files[path] = (version, tuple(problems))

    def close(self, path: str) -> None:
        """The file was closed in the editor: its versions start anew, its diagnostics stay as they were."""
        if path in self._files:
            self._files[path] = (None, self._files[path][1])

    def clear(self) -> None:
        """The client has gone: nothing is known any more."""
        self._files.clear()
        self.forwarded = False

    def report(self, requirement: Requirement) -> EditorReport:
        """What is known about the files of `requirement.problems`, in the order of paths and lines."""
        found = [
            problem
            for path in sorted(self._files)
            if any(_pattern(glob).fullmatch(path) for glob in requirement.problems)
            for problem in sorted(self._files[path][1], key=lambda p: (p.line, p.column))
        ]
        return EditorReport(requirement.id, self.forwarded, tuple(found))


_PARTS = re.compile(r"(\*\*/|\*\*|\*|\?|\[!?[^\]/]+\]|\{[^{}]+\})")


@lru_cache(maxsize=512)
def _pattern(glob: str) -> re.Pattern[str]:
    """A glob of the goal file: `**` crosses folders, `*` and `?` don't; a folder stands for all that is in it."""
    glob = glob.removeprefix("./")
    if glob.endswith("/"):
        glob += "**"
    return re.compile("".join(_translated(part) for part in _PARTS.split(glob)) + "(?:/.*)?")


def _translated(part: str) -> str:
    fixed = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}
    if part in fixed:
        return fixed[part]
    if part.startswith("[") and part.endswith("]") and len(part) > 2:
        negated = part[1] == "!"
        body = part[2:-1] if negated else part[1:-1]
        return f"[{'^' if negated else ''}{body.replace(chr(92), chr(92) * 2)}]"
    if part.startswith("{") and part.endswith("}"):
        return "(?:" + "|".join(re.escape(choice) for choice in part[1:-1].split(",")) + ")"
    return re.escape(part)
