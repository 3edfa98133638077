"""The record of who supervises a run, and whether that process still lives."""

from __future__ import annotations

import json
import os
import secrets
import time
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, cast

from donewhen.ports import Owner
from donewhen.regular import read_bytes, read_text


@dataclass(frozen=True, slots=True)
class OwnerRecord:
    """Who supervises, or supervised. `birth` tells the process from any other that had or gets its pid."""

    run_id: str
    pid: int
    started: float
    birth: str
    token: str
    released: bool = False
    runtime: str = ""
    """The folder of the key that requests to it are signed with."""

    def alive(self) -> bool:
        """True if that very process lives and hasn't given the run up."""
        return not self.released and self.birth != "" and birth(self.pid) == self.birth

    def owner(self) -> Owner:
        return Owner(self.run_id, self.pid, self.started, self.token)

    def as_released(self) -> OwnerRecord:
        return replace(self, released=True)


def read_record(file: Path) -> OwnerRecord | None:
    """The record, None if there is none that can be read: then nobody can be named."""
    try:
        data = json.loads(read_bytes(file))
        return _record(cast("dict[str, Any]", data))
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return None


def _record(data: dict[str, Any]) -> OwnerRecord:
    return OwnerRecord(
        str(data["run_id"]),
        int(data["pid"]),
        float(data["started"]),
        str(data["birth"]),
        str(data["token"]),
        data.get("released") is True,
        str(data.get("runtime", "")),
    )


def write_record(file: Path, record: OwnerRecord) -> None:
    """Replaces the record as a whole: a reader sees the old one or the new one. Raises OSError."""
    fresh = file.with_name(f"{file.name}.{secrets.token_hex(4)}")
    try:
        # It holds the token of the run: for this user alone.
        with open(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as opened:  # noqa: PTH123  # a descriptor
            opened.write(json.dumps(asdict(record)))
        _replace(fresh, file)
    except OSError:
        fresh.unlink(missing_ok=True)
        raise


def _replace(fresh: Path, file: Path) -> None:
    # Windows refuses while somebody reads the old one, which takes a moment.
    for _ in range(20 if os.name == "nt" else 0):
        with suppress(PermissionError):
            fresh.replace(file)
            return
        time.sleep(0.002)
    fresh.replace(file)


def started(pid: int) -> float:
    """When that process started, epoch seconds; 0 where there is none."""
    import psutil

    try:
        return psutil.Process(pid).create_time()
    except psutil.Error:
        return 0.0


def birth(pid: int) -> str | None:
    """What tells a live process from all others that have or had its pid; None for one that is dead or a zombie."""
    boot = _boot_id()
    return _birth_from_psutil(pid) if boot is None else _birth_from_proc(pid, boot)


def _birth_from_proc(pid: int, boot: str) -> str | None:
    """The start in clock ticks after boot: unlike epoch time, it stays when the clock is set."""
    try:
        text = read_bytes(Path(f"/proc/{pid}/stat"))
    except OSError:
        return None
    # The name in parentheses may itself hold spaces and parentheses.
    fields = text[text.rindex(b")") + 2 :].split()
    return None if fields[0] in (b"Z", b"X") else f"{boot}/{int(fields[19])}"


def _birth_from_psutil(pid: int) -> str | None:
    import psutil

    try:
        process = psutil.Process(pid)
        return None if process.status() == psutil.STATUS_ZOMBIE else repr(process.create_time())
    except psutil.Error:
        return None


@cache
def _boot_id() -> str | None:
    try:
        return read_text(Path("/proc/sys/kernel/random/boot_id"), "ascii").strip()
    except OSError:
        return None
