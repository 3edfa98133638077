"""Reading files that somebody else may have put there: a pipe, a device or an endless link never holds up a reader."""

from __future__ import annotations

import errno
import os
import stat

LIMIT = 256 * 1024 * 1024
TEXT_LIMIT = 64 * 1024 * 1024
"""Bytes; nothing that is read as a whole is larger than that by right."""

_CHUNK = 1024 * 1024
_FLAGS = os.O_RDONLY | sum(getattr(os, name, 0) for name in ("O_NONBLOCK", "O_CLOEXEC", "O_NOCTTY", "O_BINARY"))


def read_bytes(path: str | os.PathLike[str], limit: int = LIMIT) -> bytes:
    """The content of a regular file. Raises OSError for anything else, and for more than `limit` bytes."""
    data = read_start(path, limit + 1)
    if len(data) > limit:
        raise OSError(errno.EFBIG, f"it is larger than {limit:,} bytes", os.fspath(path))
    return data


def read_start(path: str | os.PathLike[str], size: int) -> bytes:
    """The first `size` bytes of a regular file, all of one that is shorter. Raises OSError for anything else."""
    descriptor = os.open(path, _FLAGS)
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(errno.EINVAL, "it is not a regular file", os.fspath(path))
        parts: list[bytes] = []
        while size > 0 and (part := os.read(descriptor, min(size, _CHUNK))):
            parts.append(part)
            size -= len(part)
        return b"".join(parts)
    finally:
        os.close(descriptor)


def read_text(
    path: str | os.PathLike[str], encoding: str = "utf-8", errors: str = "strict", *, limit: int = TEXT_LIMIT
) -> str:
    """The text of a regular file, its line ends as `\\n`. Raises OSError and UnicodeDecodeError."""
    text = read_bytes(path, limit).decode(encoding, errors)
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text
