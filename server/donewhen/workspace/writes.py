"""Guarded writes: atomic, inside the workspace, and never over content that the writer has not seen."""

from __future__ import annotations

import codecs
import contextlib
import errno
import hashlib
import os
import re
import secrets
import stat
import sys
from collections.abc import Generator, Sequence
from pathlib import Path

import psutil

from donewhen.core.errors import ChangedMeanwhile, WorkspaceError
from donewhen.ports import FileText
from donewhen.regular import LIMIT, read_bytes

_UNSEEN = dict.fromkeys((*range(0x200C, 0x2010), *range(0x202A, 0x202F), *range(0x206A, 0x2070), 0xFEFF))
"""Characters that make no difference in a name on HFS+."""

_OPENED = Path("/proc/self/fd")
TEMPORARY = ".donewhen-tmp"
"""The suffix of our temporary files."""
_OURS = re.compile(rf"\.(?P<pid>[0-9]+)-[a-z0-9_]{{8}}{re.escape(TEMPORARY)}")
_UNDER_WAY: set[str] = set()
"""The names of the temporary files that this process is writing."""


def write_guarded(root: Path, path: str, data: bytes, expected_digest: str | None) -> None:
    """Replaces a file in one step, if its content still matches `expected_digest` (sha256; None: no file).

    Keeps the file's mode; creates missing folders. Raises ChangedMeanwhile with the current text, and WorkspaceError
    for a path outside of the workspace or inside `.git`.
    """
    top, named = root.resolve(), inside(root, path)
    target = top / named
    if target.is_dir():
        raise WorkspaceError(f"{path or '.'} is a folder; nothing was written")
    try:
        present = read_bytes(target, within=root)
    except FileNotFoundError:
        present = None
    except OSError as error:
        raise WorkspaceError(f"{path} can't be read ({error.strerror}); nothing was written") from error
    if (None if present is None else hashlib.sha256(present).hexdigest()) != expected_digest:
        raise ChangedMeanwhile(path, None if present is None else present.decode("utf-8", "replace"))
    try:
        with real_folder(top, named, make=True) as folder:
            file, mode = folder / target.name, None
            with contextlib.suppress(OSError):
                mode = stat.S_IMODE(file.stat().st_mode)
            replace_file(file, data, mode)
    except OSError as error:
        raise WorkspaceError(f"{path} can't be written ({error.strerror}): check its folder") from error


def inside(root: Path, path: str) -> str:
    """What a path means, links resolved: relative to the workspace, empty for its root. Raises WorkspaceError if that
    is outside, or git's."""
    top = root.resolve()
    if "\0" in path:
        raise WorkspaceError(f"{path!r} names no file: give a path relative to the workspace")
    try:
        parts = (top / path).resolve().relative_to(top).parts
    except (ValueError, OSError, RuntimeError) as error:
        raise WorkspaceError(f"{path} lies outside of the workspace: give a path relative to its root") from error
    if belongs_to_git(top, parts):
        raise WorkspaceError(f"{path} belongs to git: use git's own commands for it")
    return Path(*parts).as_posix() if parts else ""


def belongs_to_git(top: Path, parts: Sequence[str]) -> bool:
    """Whether a path below `top`, links resolved, belongs to git: by a name, or because the file system gives a part of
    the path the same identity as the `.git` of the workspace, or the one next to it."""
    if any(_names_git(part) for part in parts):
        return True
    place = top
    for part in parts:
        place /= part
        if not os.path.lexists(place):
            return False  # nothing is below it
        if _is_same(place, top / ".git") or _is_same(place, place.with_name(".git")):
            return True
    return False


def _names_git(name: str) -> bool:
    """Also true for names that mean `.git` only on a Mac or on Windows: git itself accepts such names nowhere."""
    plain = name.translate(_UNSEEN).lower().partition(":")[0].rstrip(". ")
    return plain in (".git", "git~1")


def _is_same(place: Path, other: Path) -> bool:
    try:
        return place.samefile(other)
    except OSError:
        return False


@contextlib.contextmanager
def real_folder(root: Path, path: str, *, make: bool = False) -> Generator[Path]:
    """The folder that a file is in, `path` being relative to `root`, with slashes. No folder above the file may be a
    link. On Linux what is given stays that very folder, even if somebody puts a link in its place meanwhile. With
    `make`, missing folders are made. Raises OSError."""
    parts = path.split("/")[:-1]
    if sys.platform != "linux" or not _OPENED.is_dir():
        place = root
        for part in parts:
            place /= part
            if make:
                with contextlib.suppress(FileExistsError):
                    place.mkdir()
            if not stat.S_ISDIR(place.lstat().st_mode):
                raise NotADirectoryError(errno.ENOTDIR, f"{part} is not a folder now")
        yield place
        return
    flags = os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC
    folder = os.open(root, flags)
    try:
        for part in parts:
            if make:
                with contextlib.suppress(FileExistsError):
                    os.mkdir(part, dir_fd=folder)
            above, folder = folder, os.open(part, flags | os.O_NOFOLLOW, dir_fd=folder)
            os.close(above)
        yield _OPENED / str(folder)
    finally:
        os.close(folder)


def replace_file(target: Path, data: bytes, mode: int | None = None) -> None:
    """Puts a whole file in place in one step; until then the old one stays whole."""
    place = target.with_name(f".{os.getpid()}-{secrets.token_hex(4)}{TEMPORARY}")
    _UNDER_WAY.add(place.name)
    try:
        descriptor = os.open(place, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
        place.chmod(_default_mode() if mode is None else mode)
        place.replace(target)
    except BaseException:
        with contextlib.suppress(OSError):
            place.unlink()
        raise
    finally:
        _UNDER_WAY.discard(place.name)


def is_temporary(path: str) -> bool:
    """Whether a file, by its absolute path, is one that this process is just writing, which is part of no revision.
    What a process that was killed left of its own is removed. Any other file of such a name counts: nothing can be
    hidden by it."""
    name = os.path.basename(path)  # noqa: PTH119 # a scan has thousands of them: no Path for each
    found = _OURS.fullmatch(name) if name.endswith(TEMPORARY) else None
    if found is None or name in _UNDER_WAY:
        return found is not None
    if int(found["pid"]) != os.getpid() and psutil.pid_exists(int(found["pid"])):
        return False
    with contextlib.suppress(OSError):
        os.unlink(path)  # noqa: PTH108 # likewise
    return not os.path.lexists(path)


def encoded_like(text: FileText, content: str) -> bytes:
    """The bytes of new content, in the file's own format. Raises WorkspaceError if its encoding can't represent it."""
    try:
        return text.mark + content.replace("\n", text.newline).encode(text.encoding)
    except UnicodeEncodeError as error:
        raise WorkspaceError(
            f"the file's encoding, {text.encoding}, can't hold {error.object[error.start]!r}"
        ) from error


_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)


def read_text_keeping(root: Path, path: str, limit: int = LIMIT) -> FileText:
    """Reads a text of the workspace `root` so that it can be written back in its encoding and with its line ends.

    Raises WorkspaceError for a file that is not text, has more than `limit` bytes, or can't be read. A text with mixed
    line ends keeps each one.
    """
    try:
        data = read_bytes(path, limit, within=root)
    except OSError as error:
        raise WorkspaceError(f"{path} can't be read: {error.strerror}") from error
    digest = hashlib.sha256(data).hexdigest()
    mark, encoding = next(((mark, name) for mark, name in _MARKS if data.startswith(mark)), (b"", ""))
    if not encoding and b"\0" in data:
        raise WorkspaceError(f"{path} is not a text file")
    content, encoding = _decode(data[len(mark) :], encoding, path)
    crlf = content.count("\r\n")
    if crlf and crlf == content.count("\n"):
        return FileText(path, content.replace("\r\n", "\n"), digest, encoding, mark, "\r\n")
    return FileText(path, content, digest, encoding, mark)


def _decode(data: bytes, encoding: str, name: str) -> tuple[str, str]:
    for candidate in (encoding,) if encoding else ("utf-8", "latin-1"):
        with contextlib.suppress(UnicodeDecodeError):
            return data.decode(candidate), candidate
    raise WorkspaceError(f"{name} is not valid {encoding} text")


def _default_mode() -> int:
    # The mask can be read only by setting it; the two calls follow each other at once.
    mask = os.umask(0o022)
    os.umask(mask)
    return 0o666 & ~mask
