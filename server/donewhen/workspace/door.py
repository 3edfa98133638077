"""The door of a run: where other processes of this user reach the one that pursues it. The kernel says who stands
there.

A door is a socket in the runtime folder, which no room shows. Where there are no such sockets (Windows) it is a pipe
with a name that nobody can guess, which this user alone may write to.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import secrets
import socket
import struct
import sys
import tempfile
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Literal

from donewhen.workspace.runtime import private_runtime

Called = Callable[[asyncio.StreamReader, asyncio.StreamWriter], None]
Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]
End = Literal["Client", "Server"]

LONGEST_LINE = 8 * 1024**2
"""Bytes: what comes without an end is read no further."""
_LONGEST_PATH = 100
"""Bytes of a path that a socket can have everywhere."""
_NOBODY = 2**32 - 1


class SocketDoor:
    """Raises OSError where it can't be made. `folder` is that of the workspace whose runs are reached here."""

    _server: asyncio.Server | None = None

    def __init__(self, runtime: Path, folder: Path) -> None:
        name = f"{hashlib.sha256(os.fsencode(folder)).hexdigest()[:16]}.sock"
        self._path = private_runtime(runtime) / name
        if len(os.fsencode(self._path)) > _LONGEST_PATH and sys.platform != "linux":  # there `_short` helps
            self._path = private_runtime(Path(tempfile.gettempdir()) / f"donewhen-{os.getuid()}") / name
        self.address = str(self._path)
        self._socket = socket.socket(socket.AF_UNIX)
        try:
            with suppress(FileNotFoundError):
                self._path.unlink()  # that of a process that was killed: this one holds the lock
            with _short(self._path) as path:
                self._socket.bind(path)
            self._path.chmod(0o600)  # nobody can connect before the next line
            self._socket.listen(64)  # from now on whoever asks waits, however long the run takes to begin
        except OSError:
            self._socket.close()
            raise

    async def open(self, called: Called) -> None:
        # From Python 3.13 on asyncio would look for the socket's file by the path that it was bound to.
        more: dict[str, Any] = {"cleanup_socket": False} if sys.version_info >= (3, 13) else {}
        more |= {"start_serving": False}  # else a cancellation leaves a server that nobody can close
        self._server = await asyncio.start_unix_server(called, sock=self._socket, limit=LONGEST_LINE, **more)
        await self._server.start_serving()

    def close(self) -> None:
        if self._server is not None:
            self._server.close()
        self._socket.close()
        with suppress(OSError):
            self._path.unlink()

    @staticmethod
    async def connect(address: str) -> Streams:
        """Raises OSError."""
        with _short(Path(address)) as path:
            return await asyncio.open_unix_connection(path, limit=LONGEST_LINE)

    @staticmethod
    def pid(writer: asyncio.StreamWriter, end: End) -> int:
        """The process at the other end; 0 for one of another user, or of another container. Raises OSError."""
        peer: socket.socket = writer.get_extra_info("socket")
        if sys.platform == "darwin":
            return int.from_bytes(peer.getsockopt(0, 2, 4), sys.byteorder)  # SOL_LOCAL, LOCAL_PEERPID
        pid, user, _ = struct.unpack("iII", peer.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
        if user == _NOBODY:  # so many wait there that asyncio only believes to be connected
            raise ConnectionRefusedError
        return pid if user == os.getuid() else 0


@contextmanager
def _short(path: Path) -> Generator[str]:
    """A path that a socket can have: what is longer goes through the folder, where the system can say that."""
    if len(os.fsencode(path)) <= _LONGEST_PATH or sys.platform != "linux":
        yield str(path)
        return
    folder = os.open(path.parent, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        yield f"/proc/self/fd/{folder}/{path.name}"
    finally:
        os.close(folder)


class PipeDoor:
    """As `SocketDoor`, on Windows."""

    _servers: Sequence[Any] = ()

    def __init__(self, runtime: Path, folder: Path) -> None:
        self.address = rf"\\.\pipe\donewhen-{secrets.token_hex(16)}"

    async def open(self, called: Called) -> None:
        loop = _loop_with_pipes()
        self._servers = await loop.start_serving_pipe(
            lambda: asyncio.StreamReaderProtocol(asyncio.StreamReader(LONGEST_LINE), called), self.address
        )

    def close(self) -> None:
        for server in self._servers:
            server.close()

    @staticmethod
    async def connect(address: str) -> Streams:
        loop = _loop_with_pipes()
        reader = asyncio.StreamReader(LONGEST_LINE)
        protocol = asyncio.StreamReaderProtocol(reader)
        transport, _ = await loop.create_pipe_connection(lambda: protocol, address)
        return reader, asyncio.StreamWriter(transport, protocol, reader, loop)

    @staticmethod
    def pid(writer: asyncio.StreamWriter, end: End) -> int:
        import ctypes  # most systems need it nowhere

        kernel: Any = ctypes
        found = ctypes.c_ulong()
        handle = writer.get_extra_info("pipe").handle
        asked = getattr(kernel.windll.kernel32, f"GetNamedPipe{end}ProcessId")
        return found.value if asked(ctypes.c_void_p(handle), ctypes.byref(found)) else 0


def _loop_with_pipes() -> Any:
    """The running loop. Raises OSError for one that knows no pipes, such as that of a notebook."""
    loop: Any = asyncio.get_running_loop()
    if not hasattr(loop, "start_serving_pipe"):
        raise OSError("this event loop knows no pipes")
    return loop


Door = PipeDoor if os.name == "nt" else SocketDoor
