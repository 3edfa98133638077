"""How a request is refused on the wire: a code of JSON-RPC or LSP and a message that says what to do."""

from __future__ import annotations

PARSE_ERROR = -32700
INVALID_REQUEST = -32600
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
INTERNAL_ERROR = -32603
NOT_INITIALIZED = -32002
REQUEST_FAILED = -32803
REQUEST_CANCELLED = -32800


class Refused(Exception):
    """A request that is answered with an error; `code` is one of this module's."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


class InvalidParams(Refused):
    """The parameters are not what the method or command takes; the message names the field."""

    def __init__(self, message: str) -> None:
        super().__init__(INVALID_PARAMS, message)


class ClientSilent(Exception):
    """The client did not answer a request of ours in time, refused it, or is gone."""
