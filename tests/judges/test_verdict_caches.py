"""What verdict caches keep, in memory and in files (`ports.proving.VerdictCache`)."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from donewhen.ports.proving import VerdictCache
from donewhen.store.verdicts import FileVerdicts, MemoryVerdicts

KEY, OTHER = "a" * 64, "b" * 64


@pytest.fixture(params=["memory", "files"])
def cache(request: pytest.FixtureRequest, tmp_path: Path) -> VerdictCache:
    return MemoryVerdicts() if request.param == "memory" else FileVerdicts(tmp_path / "state" / "verdicts")


def test_it_keeps_the_latest_text_by_key(cache: VerdictCache) -> None:
    assert cache.get(KEY) is None
    cache.put(KEY, "one ü")
    cache.put(KEY, "two ü")
    cache.put(OTHER, "three")
    assert (cache.get(KEY), cache.get(OTHER)) == ("two ü", "three")


def test_files_last_and_the_oldest_go(tmp_path: Path) -> None:
    kept = FileVerdicts(tmp_path, kept=3)
    for number in range(6):
        kept.put(f"{number:064x}", str(number))
        os.utime(tmp_path / f"{number:064x}", ns=(number, number))
    again = FileVerdicts(tmp_path, kept=3)
    assert [again.get(f"{number:064x}") for number in range(6)] == [None, None, None, "3", "4", "5"]
    assert len(list(tmp_path.iterdir())) == 3


def test_a_folder_that_cannot_be_used_keeps_nothing_and_fails_nothing(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    broken = FileVerdicts(tmp_path / "file")
    broken.put(KEY, "x")
    assert broken.get(KEY) is None


def test_spoilt_text_is_not_read(tmp_path: Path) -> None:
    kept = FileVerdicts(tmp_path)
    (tmp_path / KEY).write_bytes(b"\xff\xfe")
    assert kept.get(KEY) is None


def test_a_key_is_no_path(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="digest"):
        FileVerdicts(tmp_path).put("../../etc/passwd", "x")
