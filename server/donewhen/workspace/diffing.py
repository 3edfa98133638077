"""A bounded unified diff, with its cut marked."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

_LARGEST = 400_000


@dataclass(frozen=True)
class Change:
    """One file before and after; None if there is none. `unread`: beyond the limit, so its content is not known."""

    path: str
    before: bytes | None
    after: bytes | None
    mode_before: str | None = None
    mode_after: str | None = None
    unread: bool = False

    @property
    def size(self) -> int:
        """About how many bytes the diff of it has."""
        return abs(_size(self.after) - _size(self.before)) + 80


def unified(changes: Sequence[Change], limit: int) -> str:
    """The diff of these changes, of at most about `limit` characters; says how many files were left out or cut."""
    parts: list[str] = []
    size = 0
    for number, change in enumerate(changes):
        text = "" if change.unread or size >= limit else "".join(_lines(change))
        if not text:
            parts.append(f"[... diff cut: {len(changes) - number} more changed files ...]\n")
            break
        if size + len(text) > limit:
            left_out = size + len(text) - limit
            text = f"{text[: limit - size]}\n[... diff cut: {left_out} more characters of {change.path} ...]\n"
        parts.append(text)
        size += len(text)
    return "".join(parts)


def _lines(change: Change) -> Iterator[str]:
    path = change.path.encode("utf-8", "replace").decode()
    yield f"diff --git a/{path} b/{path}\n"
    yield from _mode_lines(change)
    if change.before == change.after:
        return
    if _is_binary(change.before) or _is_binary(change.after):
        yield f"Binary files differ ({_size(change.before)} to {_size(change.after)} bytes)\n"
        return
    before, after = _split(change.before), _split(change.after)
    old = "/dev/null" if change.before is None else f"a/{path}"
    new = "/dev/null" if change.after is None else f"b/{path}"
    for line in difflib.unified_diff(before, after, old, new):
        yield line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"


def _mode_lines(change: Change) -> Iterator[str]:
    if change.mode_before is None:
        yield f"new file mode {change.mode_after}\n"
    elif change.mode_after is None:
        yield f"deleted file mode {change.mode_before}\n"
    elif change.mode_before != change.mode_after:
        yield f"old mode {change.mode_before}\nnew mode {change.mode_after}\n"


def _split(content: bytes | None) -> list[str]:
    *lines, rest = (content or b"").decode("utf-8", "replace").split("\n")
    return [f"{line}\n" for line in lines] + ([rest] if rest else [])


def _is_binary(content: bytes | None) -> bool:
    return content is not None and (len(content) > _LARGEST or b"\0" in content[:8192])


def _size(content: bytes | None) -> int:
    return len(content or b"")
