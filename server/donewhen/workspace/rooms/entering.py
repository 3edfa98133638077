"""The program that `unshare` starts in new namespaces: it mounts a room, and becomes what runs in it.

It gets a plan as JSON and the command, needs nothing but the standard library, and ends with a message if the room
can't be made: an incomplete room is never used.
"""

from __future__ import annotations

import ctypes
import json
import os
import socket
import struct
import sys
from typing import Any

_BIND, _RECURSIVE, _DETACH = 0x1000, 0x4000, 2
_MOUNT_SETATTR, _AT_FDCWD, _READ_ONLY = 442, -100, 1
_SET_FLAGS, _UP = 0x8914, 1
_DEVICES = ("null", "zero", "full", "random", "urandom", "tty")
_LINKS = {"fd": "/proc/self/fd", "stdin": "fd/0", "stdout": "fd/1", "stderr": "fd/2", "ptmx": "pts/ptmx"}
_libc = ctypes.CDLL(None, use_errno=True)


def main(arguments: list[str]) -> None:
    plan, command = json.loads(arguments[0]), arguments[1:]
    try:
        _make(plan)
        os.chdir(plan["cwd"])
    except OSError as error:
        sys.exit(f"the room can't be made: {error}")
    os.environ.update(plan["variables"])
    os.execvp(command[0], command)  # noqa: S606  # the purpose of this program


def _make(plan: dict[str, Any]) -> None:
    if plan["loopback"]:
        _bring_up_loopback()
    if not plan["namespaces"]:
        # One more is made when privileges are given up.
        _write_proc("/proc/sys/user/max_user_namespaces", "1")
    stage = os.path.join(plan["folder"], "stage")  # noqa: PTH118  # pathlib would take a third of a room's time
    os.makedirs(stage, exist_ok=True)  # noqa: PTH103
    places = _mounted()
    _mount("/", stage, _BIND | _RECURSIVE)
    # From there, everything looks as before, and what is shown is taken from it. In the end nobody can see it.
    os.chdir(stage)
    old = os.open(".", os.O_PATH | os.O_CLOEXEC)
    for place in places:
        _make_read_only(place)
    for place in plan["kernel"]:
        if os.path.exists(place):  # noqa: PTH110
            _mount(place, place, _BIND | _RECURSIVE)
            _make_read_only(place)
    _make_devices(plan["memory"])
    for kind, place, shown, size in plan["mounts"]:
        if plan["within"] and place.startswith(plan["within"]) and kind in ("seen", "written"):
            _bind(kind, place, shown)  # it is there: if a link came just now, nothing is made where that leads
        else:
            _mount_one(plan["folder"], kind, place, shown, size)
    _make_read_only("/dev")
    os.chdir(old)
    _raise_errno(_libc.umount2(b".", _DETACH), "the old tree")


def _mount_one(folder: str, kind: str, place: str, shown: str, size: int) -> None:
    """Mounts one thing. The current folder is the root of the old tree, in which everything looks as before."""
    source = f".{shown}"
    if kind == "masked":
        if os.path.lexists(place):
            try:
                _mount("./dev/null", place, _BIND | _RECURSIVE)
                _make_read_only(place)
            except FileNotFoundError:
                pass  # a socket may be gone by now
        return
    if kind in ("empty", "vain", "layered") or os.path.isdir(source):  # noqa: PTH112
        os.makedirs(place, exist_ok=True)  # noqa: PTH103
    elif not os.path.lexists(place):
        os.makedirs(os.path.dirname(place), exist_ok=True)  # noqa: PTH103, PTH120
        _write_proc(place, "")
    if kind == "empty":
        _mount("tmpfs", place, 0, "tmpfs", f"mode=0755,size={size}" if size else "mode=0755")
    elif kind == "vain":
        vain = f".{folder}/vain/{os.urandom(6).hex()}"
        os.makedirs(f"{vain}/upper")  # noqa: PTH103
        os.makedirs(f"{vain}/work")  # noqa: PTH103
        _overlay([source], f"{vain}/upper", f"{vain}/work", place)
    elif kind == "layered":
        _overlay([f".{folder}/layer", source], f".{folder}/upper", f".{folder}/work", place)
    else:
        _bind(kind, place, shown)


def _bind(kind: str, place: str, shown: str) -> None:
    _mount(f".{shown}", place, _BIND | _RECURSIVE)
    if kind != "written":
        _make_read_only(place)


def _overlay(below: list[str], upper: str, work: str, place: str) -> None:
    lower = ":".join(_option(one, ":") for one in below)
    options = f"lowerdir={lower},upperdir={_option(upper)},workdir={_option(work)},userxattr"
    _mount("overlay", place, 0, "overlay", options)


def _option(path: str, more: str = "") -> str:
    """A path for the options of an overlay: separators are escaped."""
    return "".join(f"\\{char}" if char in f"\\,{more}" else char for char in path)


def _make_devices(memory: int) -> None:
    """Devices without anybody's data, and no terminal except those opened in the room."""
    _mount("tmpfs", "/dev", 0, "tmpfs", "mode=0755")
    for name in _DEVICES:
        _write_proc(f"/dev/{name}", "")
        _mount(f"./dev/{name}", f"/dev/{name}", _BIND)
    for name, target in _LINKS.items():
        os.symlink(target, f"/dev/{name}")  # noqa: PTH211
    for name in ("pts", "shm"):
        os.mkdir(f"/dev/{name}")  # noqa: PTH102
    _mount("devpts", "/dev/pts", 0, "devpts", "newinstance,ptmxmode=0666,mode=620")
    _mount("tmpfs", "/dev/shm", 0, "tmpfs", f"mode=1777,size={memory}" if memory else "mode=1777")  # noqa: S108  # its own


def _bring_up_loopback() -> None:
    import fcntl

    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
        fcntl.ioctl(one, _SET_FLAGS, struct.pack("16sh14x", b"lo", _UP))


def _mounted() -> list[str]:
    """Every mount point, except those for processes."""
    with open("/proc/self/mountinfo", encoding="utf-8", errors="surrogateescape") as file:  # noqa: PTH123
        places = [_unescaped(line.split(" ")[4]) for line in file]
    return [place for place in dict.fromkeys(places) if place != "/proc" and not place.startswith("/proc/")]


def _unescaped(field: str) -> str:
    for code, char in ((r"\040", " "), (r"\011", "\t"), (r"\012", "\n"), (r"\134", "\\")):
        field = field.replace(code, char)
    return field


def _make_read_only(place: str) -> None:
    attributes = struct.pack("QQQQ", _READ_ONLY, 0, 0, 0)
    done = _libc.syscall(_MOUNT_SETATTR, _AT_FDCWD, os.fsencode(place), 0, attributes, len(attributes))
    if done != 0 and os.access(place, os.F_OK):  # what can't even be reached can't be written
        _raise_errno(done, f"{place} can't be made read-only")


def _mount(source: str, place: str, flags: int, kind: str = "", options: str = "") -> None:
    words = [os.fsencode(one) if one else None for one in (source, place, kind)]
    done = _libc.mount(*words, ctypes.c_ulong(flags), os.fsencode(options) if options else None)
    _raise_errno(done, place)


def _raise_errno(done: int, what: str) -> None:
    if done != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), what)


def _write_proc(file: str, text: str) -> None:
    with open(file, "w", encoding="ascii") as opened:  # noqa: PTH123
        opened.write(text)


if __name__ == "__main__":
    main(sys.argv[1:])
