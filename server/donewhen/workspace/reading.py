"""Reads one file of the workspace into an entry: never follows links, never blocks on a pipe, never crashes."""

from __future__ import annotations

import hashlib
import os
import stat
import sys
import time

from donewhen.regular import read_start
from donewhen.workspace.manifest import EXECUTABLE, FILE, LINK, NESTED, UNREADABLE, Entry, StatKey

_CHUNK = 1 << 20
_FLAGS = (
    os.O_RDONLY
    | getattr(os, "O_NOFOLLOW", 0)
    | getattr(os, "O_NONBLOCK", 0)
    | getattr(os, "O_CLOEXEC", 0)
    | getattr(os, "O_BINARY", 0)
)
_FINE_NS = 50_000_000
_COARSE_NS = 2_000_000_000
_CTIME_IS_CHANGE = sys.platform != "win32"


def stat_key(status: os.stat_result) -> StatKey:
    """What a file's stat says of its content."""
    return (status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino, status.st_mode)


def read_entry(path: str, *, regular: bool = False) -> Entry | None:
    """The entry of the file at an absolute path; None if there is no file or link.

    `regular` says that a listing just called it a regular file. A file that can't be read has an entry that says so:
    that it exists still counts.
    """
    before = time.time_ns()
    try:
        if regular:
            return _read_file(path, before)
        status = os.lstat(path)
        if stat.S_ISREG(status.st_mode):
            return _read_file(path, before)
        if stat.S_ISLNK(status.st_mode):
            return _entry(LINK, os.fsencode(os.readlink(path)), status, before)  # noqa: PTH115 - the text as it is
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError:
        return read_entry(path) if regular else unreadable_entry(path)
    return None


def blob_id(content: bytes) -> bytes:
    """The id that git gives to this content."""
    return hashlib.sha1(b"blob %d\0%b" % (len(content), content), usedforsecurity=False).digest()


def _read_file(path: str, before: int) -> Entry | None:
    descriptor = os.open(path, _FLAGS)
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            return None
        content = os.read(descriptor, min(status.st_size, _CHUNK) + 1)
        if len(content) == status.st_size:
            return _entry(_mode(status), content, status, before)
        return _stream(descriptor, content, status, before)
    finally:
        os.close(descriptor)


def _entry(mode: str, content: bytes, status: os.stat_result, before: int) -> Entry:
    digest = hashlib.sha256(content).digest()
    return Entry(mode, digest, digest, blob_id(content), stat_key(status), _is_racy(status, before))


def _stream(descriptor: int, start: bytes, status: os.stat_result, before: int) -> Entry:
    whole = hashlib.sha256(start)
    blob = hashlib.sha1(b"blob %d\0%b" % (status.st_size, start), usedforsecurity=False)
    size = len(start)
    while content := os.read(descriptor, _CHUNK):
        whole.update(content)
        blob.update(content)
        size += len(content)
    digest = whole.digest()
    # Of another size than it said: it is being written, and will be read again.
    racy = size != status.st_size or _is_racy(status, before)
    return Entry(_mode(status), digest, digest, blob.digest(), stat_key(status), racy)


def unreadable_entry(path: str) -> Entry:
    """The entry of what exists and can't be read."""
    try:
        key = stat_key(os.lstat(path))
    except OSError:
        key = (0, 0, 0, 0, 0)
    return _marker(UNREADABLE, key)


def nested_entry(path: str) -> Entry:
    """The entry of a repository inside the workspace: the commit that it has checked out, as its files say."""
    place = os.path.join(path, ".git")  # noqa: PTH118 - names that are not UTF-8 stay as they are
    head = _text(place)
    if head.startswith("gitdir:"):
        place = os.path.normpath(os.path.join(path, head[7:].strip()))  # noqa: PTH118
    head = _text(os.path.join(place, "HEAD"))  # noqa: PTH118
    if head.startswith("ref:"):
        name = head[4:].strip()
        loose = _text(os.path.join(place, *name.split("/")))  # noqa: PTH118
        head += loose or _text(os.path.join(place, "packed-refs"))  # noqa: PTH118
    return _marker(b"nested\0" + head.encode("utf-8", "surrogateescape"), (0, 0, 0, 0, 0))


def _marker(content: bytes, key: StatKey) -> Entry:
    digest = hashlib.sha256(content).digest()
    return Entry(NESTED, digest, digest, hashlib.sha1(content, usedforsecurity=False).digest(), key, True)


def _text(path: str) -> str:
    try:
        return read_start(path, 1 << 20).decode("utf-8", "surrogateescape")
    except OSError:
        return ""


def _mode(status: os.stat_result) -> str:
    return EXECUTABLE if status.st_mode & 0o100 and sys.platform != "win32" else FILE


def _is_racy(status: os.stat_result, before: int) -> bool:
    """git's rule: a file touched within the clock's grain before it was read may change again unseen."""
    last = max(status.st_mtime_ns, status.st_ctime_ns) if _CTIME_IS_CHANGE else status.st_mtime_ns
    grain = _COARSE_NS if last % 1_000_000_000 == 0 else _FINE_NS
    return last >= before - grain
