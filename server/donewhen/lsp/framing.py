"""The base protocol of LSP: messages as bytes behind a `Content-Length` header."""

from __future__ import annotations

MAX_HEADER = 8 * 1024
MAX_BODY = 256 * 1024 * 1024
MAX_DIGITS = 20
KNOWN_HEADERS = frozenset({b"content-length", b"content-type"})


class BrokenFrame(Exception):
    """The bytes are no LSP message; nothing after them can be understood."""


def frame(body: bytes) -> bytes:
    """One message as it goes over the wire."""
    return b"Content-Length: %d\r\n\r\n%b" % (len(body), body)


class FrameReader:
    """Cuts a stream of bytes into message bodies.

    `strict` refuses every header but Content-Length and Content-Type as soon as its line is complete: what a browser
    sends to a loopback port is never taken for a message.
    """

    def __init__(self, *, strict: bool = False) -> None:
        self._buffer = bytearray()
        self._strict = strict
        self._length: int | None = None
        self._in_body = False

    def feed(self, data: bytes) -> list[bytes]:
        """Takes the next bytes and returns the bodies that they complete. Raises BrokenFrame."""
        self._buffer += data
        bodies: list[bytes] = []
        while True:
            if not self._in_body and not self._read_header():
                return bodies
            length = self._length or 0
            if len(self._buffer) < length:
                return bodies
            bodies.append(bytes(self._buffer[:length]))
            del self._buffer[:length]
            self._in_body, self._length = False, None

    def _read_header(self) -> bool:
        """Consumes header lines; true when the body begins."""
        while True:
            end = self._buffer.find(b"\n")
            if end < 0:
                if len(self._buffer) > MAX_HEADER:
                    raise BrokenFrame("a header line is too long")
                return False
            line = bytes(self._buffer[:end]).rstrip(b"\r")
            del self._buffer[: end + 1]
            if line:
                self._take_header(line)
            elif self._length is not None:
                self._in_body = True
                return True
            elif self._strict:
                raise BrokenFrame("no Content-Length header")

    def _take_header(self, line: bytes) -> None:
        name, colon, value = line.partition(b":")
        name = name.strip().lower()
        if self._strict and (not colon or name not in KNOWN_HEADERS):
            raise BrokenFrame("a header that no language client sends")
        if name != b"content-length":
            return
        text = value.strip()
        # Python itself refuses to read numbers of thousands of digits.
        if not text.isdigit() or len(text) > MAX_DIGITS or int(text) > MAX_BODY:
            raise BrokenFrame("Content-Length is not a usable number")
        self._length = int(text)
