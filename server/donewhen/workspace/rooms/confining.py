"""The program that every live room begins with: it gives up what namespaces leave, and becomes the room's mounter.

Neither it nor anything that it starts can regain what it gives up: the person's keys in the kernel's session keyring,
new privileges, kinds of sockets that no namespace contains, typing into a terminal's input, and, if the kernel can
(Linux 6.12), sockets without a path and signals that leave the room. It needs nothing but the standard library.
"""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import struct
import sys

_NO_NEW_PRIVS, _SECCOMP, _FILTER = 38, 22, 2
_NEW_KEYRING = 1
_RULESET, _RESTRICT, _VERSION_ASKED, _SCOPES, _SCOPES_SINCE = 444, 446, 1, 0b11, 6
_ALLOW, _REFUSE = 0x7FFF0000, 0x00050000 | 1
_LOAD, _EQUAL, _AT_LEAST, _RETURN = 0x20, 0x15, 0x35, 0x06
_NUMBER, _ARCHITECTURE, _FIRST, _SECOND = 0, 4, 16, 24
_TIOCSTI, _TIOCLINUX = 0x5412, 0x541C
_FAMILIES = (1, 2, 10, 16)
"""AF_UNIX, AF_INET, AF_INET6 and AF_NETLINK: the kinds that namespaces contain."""
_SYSTEMS = {
    "x86_64": (0xC000003E, {"socket": 41, "ioctl": 16, "add_key": 248, "request_key": 249, "keyctl": 250, "bpf": 321}),
    "aarch64": (
        0xC00000B7,
        {"socket": 198, "ioctl": 29, "add_key": 217, "request_key": 218, "keyctl": 219, "bpf": 280},
    ),
}
"""By machine: the kernel's name for it, and the numbers of the refused calls."""
_libc = ctypes.CDLL(None, use_errno=True)


def main(arguments: list[str]) -> None:
    """`arguments` are the file for joining a control group, or an empty text, and the command."""
    group, *command = arguments
    if group:
        _join(group)
    machine = platform.machine()
    if machine in _SYSTEMS:
        _libc.syscall(_SYSTEMS[machine][1]["keyctl"], _NEW_KEYRING, None)
    _libc.prctl(_NO_NEW_PRIVS, 1, 0, 0, 0)
    _keep_in()
    if machine in _SYSTEMS:
        _refuse(*_SYSTEMS[machine])
    os.execvp(command[0], command)  # noqa: S606  # the purpose of this program


def _join(group: str) -> None:
    try:
        file = os.open(group, os.O_WRONLY)
        os.write(file, b"0")
        os.close(file)
    except OSError as error:
        if error.errno in (errno.ENOENT, errno.ENODEV):
            sys.exit("donewhen: nothing was run, since the control group of this room is gone: run the command again")
        return  # this user may not join it, and there are other limits


def _keep_in() -> None:
    """Prevents connecting to outside sockets without a path, and signals to processes outside."""
    if _libc.syscall(_RULESET, None, 0, _VERSION_ASKED) < _SCOPES_SINCE:
        return
    attributes = struct.pack("QQQ", 0, 0, _SCOPES)
    ruleset = _libc.syscall(_RULESET, attributes, len(attributes), 0)
    if ruleset >= 0:
        _libc.syscall(_RESTRICT, ruleset, 0)
        os.close(ruleset)


def _refuse(architecture: int, numbers: dict[str, int]) -> None:
    """Filters system calls, in the language of the kernel's packet filters. Calls of another architecture, such as
    those of 32-bit programs, have different numbers, and are refused."""
    words = [_step(_LOAD, _ARCHITECTURE), _step(_EQUAL, architecture, 1, 0), _step(_RETURN, _REFUSE)]
    words += [_step(_LOAD, _NUMBER)]
    if architecture == _SYSTEMS["x86_64"][0]:
        words += [_step(_AT_LEAST, 0x40000000, 0, 1), _step(_RETURN, _REFUSE)]
    for name in ("add_key", "request_key", "keyctl", "bpf"):
        words += [_step(_EQUAL, numbers[name], 0, 1), _step(_RETURN, _REFUSE)]
    families = [_step(_EQUAL, one, len(_FAMILIES) - at, 0) for at, one in enumerate(_FAMILIES)]
    words += [_step(_EQUAL, numbers["socket"], 0, len(families) + 3), _step(_LOAD, _FIRST)]
    words += [*families, _step(_RETURN, _REFUSE), _step(_RETURN, _ALLOW)]
    words += [_step(_EQUAL, numbers["ioctl"], 0, 4), _step(_LOAD, _SECOND)]
    words += [_step(_EQUAL, _TIOCSTI, 1, 0), _step(_EQUAL, _TIOCLINUX, 0, 1), _step(_RETURN, _REFUSE)]
    words += [_step(_RETURN, _ALLOW)]
    program = ctypes.create_string_buffer(b"".join(words))
    described = struct.pack("HxxxxxxP", len(words), ctypes.addressof(program))
    _libc.prctl(_SECCOMP, _FILTER, ctypes.c_char_p(described), 0, 0)


def _step(code: int, value: int, if_true: int = 0, if_false: int = 0) -> bytes:
    return struct.pack("HBBI", code, if_true, if_false, value)


if __name__ == "__main__":
    main(sys.argv[1:])
