"""Reading one file: what is trusted of its stat, and what becomes of what can't be read."""

from __future__ import annotations

import hashlib
import os
import time
from pathlib import Path

import pytest

from donewhen.workspace.manifest import EXECUTABLE, FILE, LINK, NESTED
from donewhen.workspace.scanning import read_entry


def test_a_file_has_the_digests_of_sha256_and_of_git(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"hello\n")
    entry = read_entry(str(tmp_path / "a"))
    assert entry is not None
    assert (entry.mode, entry.digest) == (FILE, hashlib.sha256(b"hello\n").digest())
    assert entry.blob.hex() == "ce013625030ba8dba906f756967f9e9ca394464a"


def test_modes_and_links(tmp_path: Path) -> None:
    (tmp_path / "run").write_bytes(b"")
    (tmp_path / "run").chmod(0o755)
    (tmp_path / "link").symlink_to("absent")
    assert [getattr(read_entry(str(tmp_path / name)), "mode", None) for name in ("run", "link", "absent")] == [
        EXECUTABLE,
        LINK,
        None,
    ]


def test_a_file_that_became_a_link_since_it_was_listed_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "secret").write_bytes(b"1")
    (tmp_path / "a").symlink_to("secret")
    entry = read_entry(str(tmp_path / "a"), regular=True)
    assert entry is not None
    assert (entry.mode, entry.digest) == (LINK, hashlib.sha256(b"secret").digest())


def test_what_cannot_be_looked_at_has_an_entry_that_is_never_trusted(tmp_path: Path) -> None:
    entry = read_entry(str(tmp_path / ("x" * 5000)))
    assert entry is not None
    assert entry.mode == NESTED
    assert entry.racy


@pytest.mark.conformance("A9")
@pytest.mark.parametrize("ahead", [0, 3_600_000_000_000])
def test_a_file_touched_as_it_is_read_is_read_again(tmp_path: Path, ahead: int) -> None:
    place = tmp_path / "a"
    place.write_bytes(b"1")
    now = time.time_ns() + ahead
    os.utime(place, ns=(now, now))
    entry = read_entry(str(place))
    assert entry is not None
    assert entry.racy


@pytest.mark.conformance("A9")
def test_a_file_that_rests_is_trusted(tmp_path: Path) -> None:
    place = tmp_path / "a"
    place.write_bytes(b"1")
    deadline = time.monotonic() + 10
    while (entry := read_entry(str(place))) is not None and entry.racy:
        assert time.monotonic() < deadline
        time.sleep(0.01)
    assert entry is not None
