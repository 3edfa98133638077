"""The program that every room begins with whose commands are contained: it gives up what namespaces leave, and becomes
the room's mounter.

Neither it nor anything that it starts can regain what it gives up: the person's keys in the kernel's session keyring,
new privileges, kinds of sockets that no namespace contains, typing into a terminal's input, setting a file's bit for
its owner's rights, calls that the filter of calls can't look into, and, if the kernel can (Linux 6.12), sockets without
a path and signals that leave the room. It needs nothing but the standard library.
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
_ALLOW, _REFUSE, _UNKNOWN = 0x7FFF0000, 0x00050000 | errno.EPERM, 0x00050000 | errno.ENOSYS
_LOAD, _EQUAL, _AT_LEAST, _ANY_OF, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_NUMBER, _ARCHITECTURE, _ARGUMENTS = 0, 4, 16
_TIOCSTI, _TIOCLINUX = 0x5412, 0x541C
_CREATES = os.O_CREAT | (os.O_TMPFILE & ~os.O_DIRECTORY)
_AS_OWNER, _AS_GROUP = 0o4000, 0o2000
_FAMILIES = (1, 2, 10, 16)
"""AF_UNIX, AF_INET, AF_INET6 and AF_NETLINK: the kinds that namespaces contain."""
_SYSTEMS = {
    "x86_64": (
        0xC000003E,
        {"socket": 41, "ioctl": 16, "add_key": 248, "request_key": 249, "keyctl": 250, "bpf": 321, "chmod": 90}
        | {"fchmod": 91, "fchmodat": 268, "open": 2, "openat": 257, "creat": 85, "mknod": 133, "mknodat": 259},
    ),
    "aarch64": (
        0xC00000B7,
        {"socket": 198, "ioctl": 29, "add_key": 217, "request_key": 218, "keyctl": 219, "bpf": 280}
        | {"fchmod": 52, "fchmodat": 53, "openat": 56, "mknodat": 33},
    ),
}
"""By machine: the kernel's name for it, and the numbers of the calls that are looked at."""
_EVERYWHERE = {"io_uring_setup": 425, "io_uring_enter": 426, "io_uring_register": 427, "openat2": 437, "fchmodat2": 452}
_NO_CALLS = {
    **dict.fromkeys(("add_key", "request_key", "keyctl", "bpf"), _REFUSE),
    # What they do stands in memory, where no filter can look. Programs go on without them, as on older kernels.
    **dict.fromkeys(("io_uring_setup", "io_uring_enter", "io_uring_register", "openat2"), _UNKNOWN),
}
_CHANGES_MODE = {"chmod": 1, "fchmod": 1, "fchmodat": 2, "fchmodat2": 2}
"""Which argument is the mode. A folder may have the bit of its group, and no filter knows it from a file."""
_MAKES_FILE = {"open": 2, "openat": 3, "creat": 1, "mknod": 1, "mknodat": 2}
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
    for name, number in (numbers | _EVERYWHERE).items():
        found = _filter_of_call(name)
        words += [_step(_EQUAL, number, 0, len(found) + 1), *found, _step(_RETURN, _ALLOW)]
    words += [_step(_RETURN, _ALLOW)]
    program = ctypes.create_string_buffer(b"".join(words))
    described = struct.pack("HxxxxxxP", len(words), ctypes.addressof(program))
    _libc.prctl(_SECCOMP, _FILTER, ctypes.c_char_p(described), 0, 0)


def _filter_of_call(name: str) -> list[bytes]:
    """The steps for one call: they end with its refusal, or at what follows them."""
    if name in _NO_CALLS:
        return [_step(_RETURN, _NO_CALLS[name])]
    if name in _CHANGES_MODE:
        return [_argument(_CHANGES_MODE[name]), _step(_ANY_OF, _AS_OWNER, 0, 1), _step(_RETURN, _REFUSE)]
    if name in _MAKES_FILE:
        mode = _MAKES_FILE[name]
        makes = [_argument(mode), _step(_ANY_OF, _AS_OWNER | _AS_GROUP, 0, 1), _step(_RETURN, _REFUSE)]
        # Without the flag nothing is made, and the mode says nothing.
        return [_argument(mode - 1), _step(_ANY_OF, _CREATES, 0, 3), *makes] if name.startswith("open") else makes
    if name == "socket":
        families = [_step(_EQUAL, one, len(_FAMILIES) - at, 0) for at, one in enumerate(_FAMILIES)]
        return [_argument(0), *families, _step(_RETURN, _REFUSE)]
    terminal = [_step(_EQUAL, _TIOCSTI, 1, 0), _step(_EQUAL, _TIOCLINUX, 0, 1), _step(_RETURN, _REFUSE)]
    return [_argument(1), *terminal]


def _argument(number: int) -> bytes:
    return _step(_LOAD, _ARGUMENTS + 8 * number)


def _step(code: int, value: int, if_true: int = 0, if_false: int = 0) -> bytes:
    return struct.pack("HBBI", code, if_true, if_false, value)


if __name__ == "__main__":
    main(sys.argv[1:])
