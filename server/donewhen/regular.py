"""Reading files that somebody else may have put there: a pipe, a device or an endless link never holds up a reader, and
with `within` no link leads one out of a folder.

This is the one door by which files of a workspace are read. With `within` a path is relative to that folder: each part
of it is opened without following links, and a link is followed as far as it stays inside, whatever changes meanwhile.
`write_whole` is how what we keep is written.
"""

from __future__ import annotations

import errno
import os
import secrets
import stat
from contextlib import suppress
from pathlib import Path

LIMIT = 256 * 1024 * 1024
TEXT_LIMIT = 64 * 1024 * 1024
"""Bytes; nothing that is read as a whole is larger than that by right."""

_CHUNK = 1024 * 1024
_MOST_LINKS = 40
_BESIDES = sum(getattr(os, name, 0) for name in ("O_NONBLOCK", "O_CLOEXEC", "O_NOCTTY", "O_BINARY"))
_FLAGS = os.O_RDONLY | _BESIDES
_NO_LINK = getattr(os, "O_NOFOLLOW", 0)
_FOLDER = _NO_LINK | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_PATH", os.O_RDONLY)

Place = str | os.PathLike[str]


class LeadsOut(OSError):
    """A path, or a link on its way, leads out of the folder that is read."""

    def __init__(self, path: Place) -> None:
        super().__init__(errno.ELOOP, "it leads out of the folder", os.fspath(path))


def expanded(path: Place) -> Path:
    """The path with a home folder in place of its leading `~`, which stays where this system knows no such home: there
    is no file of that name, while `Path.expanduser` raises. What is written at such a path is refused (`homeless`)."""
    return Path(os.path.expanduser(path))  # noqa: PTH111


def homeless(path: Path) -> bool:
    """Whether a path still begins with the `~` of a home that this system doesn't know."""
    return path.parts[:1] != () and path.parts[0].startswith("~")


def read_bytes(path: Place, limit: int = LIMIT, *, within: Place | None = None) -> bytes:
    """The content of a regular file. Raises OSError for anything else, and for more than `limit` bytes."""
    data = _read_regular(path, limit, within, whole=True)
    if len(data) > limit:
        raise _too_large(path, limit)
    return data


def read_start(path: Place, size: int, *, within: Place | None = None) -> bytes:
    """The first `size` bytes of a regular file, all of one that is shorter. Raises OSError for anything else."""
    return _read_regular(path, size, within, whole=False)


def read_text(
    path: Place,
    encoding: str = "utf-8",
    errors: str = "strict",
    *,
    limit: int = TEXT_LIMIT,
    within: Place | None = None,
) -> str:
    """The text of a regular file, its line ends as `\\n`. Raises OSError and UnicodeDecodeError."""
    text = read_bytes(path, limit, within=within).decode(encoding, errors)
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text


def write_whole(path: Path, text: str) -> None:
    """Replaces a file of ours, for this user alone: whoever reads it, after a crash too, finds the old text or the new
    one. Raises OSError, and then the old one stands."""
    fresh = path.with_name(f"{path.name}.{secrets.token_hex(4)}")
    try:
        with open(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:  # noqa: PTH123  # a descriptor
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        fresh.replace(path)
    except BaseException:
        with suppress(OSError):
            fresh.unlink(missing_ok=True)
        raise


def _read_regular(path: Place, size: int, within: Place | None, *, whole: bool) -> bytes:
    """At most `size` bytes; one more of a `whole` file that grows while it is read."""
    descriptor = os.open(path, _FLAGS) if within is None else _open_below(os.fspath(within), os.fspath(path))
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise OSError(errno.EINVAL, "it is not a regular file", os.fspath(path))
        if whole and status.st_size > size:
            raise _too_large(path, size)  # before anything of it is in memory
        left = size + whole
        parts: list[bytes] = []
        while left > 0 and (part := os.read(descriptor, min(left, _CHUNK))):
            parts.append(part)
            left -= len(part)
        return b"".join(parts)
    finally:
        os.close(descriptor)


def _too_large(path: Place, limit: int) -> OSError:
    return OSError(errno.EFBIG, f"it is larger than {limit:,} bytes", os.fspath(path))


def _open_below(root: str, path: str) -> int:
    """A descriptor of what stands at `path` below `root`. Raises LeadsOut."""
    if os.open not in os.supports_dir_fd:  # Windows: as good as it can be told there
        real, top = Path(root, path).resolve(), Path(root).resolve()
        if not real.is_relative_to(top):
            raise LeadsOut(path)
        return os.open(real, _FLAGS)
    folders, left, links = [os.open(root, _FOLDER & ~_NO_LINK)], _parts(path, root), 0
    try:
        while left:
            name = left.pop()
            if name == "..":
                os.close(folders.pop())
            elif (leads := _link(name, folders[-1])) is None:
                folders.append(os.open(name, _FOLDER if left else _FLAGS | _NO_LINK, dir_fd=folders[-1]))
            else:
                links += 1
                if leads.startswith("/"):  # from the top again
                    _close(folders[1:])
                    del folders[1:]
                left += _parts(leads, root)
            if not folders:
                raise LeadsOut(path)
            if links > _MOST_LINKS:
                raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), path)
        return folders.pop()
    finally:
        _close(folders)


def _close(descriptors: list[int]) -> None:
    for descriptor in descriptors:
        os.close(descriptor)


def _parts(path: str, root: str) -> list[str]:
    """The names on the way, the last one first; of an absolute path those below the folder `root`."""
    if path.startswith("/"):
        tops = (os.path.abspath(root), os.path.realpath(root))  # noqa: PTH100 - names that are not UTF-8 stay as they are
        top = next((one for one in tops if f"{path}/".startswith(f"{one.rstrip('/')}/")), None)
        if top is None:
            raise LeadsOut(path)
        path = path[len(top) :]
    return [name for name in reversed(path.split("/")) if name not in ("", ".")]


def _link(name: str, folder: int) -> str | None:
    """What a link names; None if it is not a link."""
    try:
        return os.readlink(name, dir_fd=folder)
    except OSError as error:
        if error.errno != errno.EINVAL:
            raise
        return None
