"""The chain over the entries of a run. Each entry has a digest of its content and of the digest before it, and only
somebody who has the key can make these digests. They reveal what was changed, inserted or removed afterwards.
"""

from __future__ import annotations

import contextlib
import hmac
import os
import secrets
from pathlib import Path

from donewhen.regular import read_bytes

KEY_BYTES = 32
START = bytes(32)
"""Stands for the digest before a run's first entry."""


class Chain:
    """Digests with one key: 32 bytes each."""

    def __init__(self, key: bytes) -> None:
        self._key = key

    def link(self, before: object, row: tuple[object, ...], body: object) -> bytes:
        """The digest of an entry: `row` is all of it except its text, `before` the digest of the previous entry."""
        if not isinstance(before, bytes) or not isinstance(body, bytes):
            return b""  # the ledger never writes such a row, and no real digest is empty
        return self._digest(before, repr(row).encode("utf-8", "backslashreplace"), body)

    def seal(self, line: tuple[object, ...], last: object) -> bytes:
        """The digest of a run's line in the list, which also covers the point where its chain ends."""
        end = last if isinstance(last, bytes) else START
        return self._digest(end, b"line", repr(line).encode("utf-8", "backslashreplace"))

    def _digest(self, before: bytes, row: bytes, body: bytes) -> bytes:
        return hmac.digest(self._key, b"".join((before, len(row).to_bytes(8, "big"), row, body)), "sha256")


def same(one: bytes, other: object) -> bool:
    """Compares digests in constant time, so that the timing doesn't reveal where they differ."""
    return bool(one) and isinstance(other, bytes) and hmac.compare_digest(one, other)


def key_of(path: Path) -> bytes:
    """The key beside a ledger, created if it doesn't exist. Raises OSError."""
    with contextlib.suppress(FileNotFoundError):
        return _read(path)
    fresh = path.with_name(f"{path.name}.{secrets.token_hex(8)}")
    opened = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o600)
    try:
        with os.fdopen(opened, "wb") as file:
            file.write(secrets.token_bytes(KEY_BYTES))
            file.flush()
            os.fsync(file.fileno())
        # Written whole or not at all, and the first key wins: what it has signed must stay valid.
        with contextlib.suppress(FileExistsError):
            fresh.rename(path) if os.name == "nt" else os.link(fresh, path)
    finally:
        fresh.unlink(missing_ok=True)
    return _read(path)


def key_to_read_with(path: Path) -> bytes:
    """The key beside a ledger that can't be written; without a key, no entry is known to be unchanged."""
    try:
        return _read(path)
    except OSError:
        return secrets.token_bytes(KEY_BYTES)


def _read(path: Path) -> bytes:
    key = read_bytes(path, limit=KEY_BYTES)
    if len(key) != KEY_BYTES:
        raise OSError(f"{path} is not a key: move it away, after which what is on record can no longer be checked")
    return key
