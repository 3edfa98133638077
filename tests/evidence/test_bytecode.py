"""Which bytecode checks may use: a folder that several workspaces share, and that a worker can write to."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from donewhen.evidence.bytecode import Bytecode

PYTEST = "usr/lib/site-packages/_pytest/python.cpython-311.pyc"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "workspace"
    folder.mkdir()
    return folder


@pytest.fixture
def prefix(tmp_path: Path) -> Path:
    """A cache that held bytecode of pytest when the process began."""
    write(tmp_path / "pycache" / PYTEST, "compiled")
    return tmp_path / "pycache"


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def a_check(bytecode: Bytecode, *compiled: Path) -> None:
    with bytecode.check():
        bytecode.sweep()
        for path in compiled:
            write(path, "compiled by a check")
        bytecode.keep()


def before_a_check(bytecode: Bytecode) -> None:
    with bytecode.check():
        bytecode.sweep()


def test_what_was_there_and_what_a_check_wrote_stays(prefix: Path, root: Path) -> None:
    bytecode = Bytecode(prefix, root)
    a_check(bytecode, prefix / "usr/lib/json.pyc")
    before_a_check(Bytecode(prefix, root))
    assert (prefix / PYTEST).exists()
    assert (prefix / "usr/lib/json.pyc").exists()


@pytest.mark.conformance("A8")
def test_what_a_worker_wrote_is_deleted(prefix: Path, root: Path) -> None:
    bytecode = Bytecode(prefix, root)
    a_check(bytecode)
    times = (prefix / PYTEST).stat()
    forged = write(prefix / PYTEST, "COMPILED")
    os.utime(forged, ns=(times.st_atime_ns, times.st_mtime_ns))  # the same size and times
    added = write(prefix / "usr/lib/ast.pyc", "forged")
    before_a_check(bytecode)
    assert not forged.exists()
    assert not added.exists()


@pytest.mark.conformance("A8")
def test_forged_before_the_first_check(prefix: Path, root: Path) -> None:
    bytecode = Bytecode(prefix, root)
    forged = write(prefix / PYTEST, "forged")
    before_a_check(bytecode)
    assert not forged.exists()


@pytest.mark.conformance("A8")
@pytest.mark.skipif(os.name == "nt", reason="links and modes are POSIX's")
def test_a_folder_that_a_worker_replaced_or_closed(prefix: Path, root: Path, tmp_path: Path) -> None:
    other = write(prefix / "usr/lib/json.pyc", "compiled")
    bytecode = Bytecode(prefix, root)
    package = (prefix / PYTEST).parent
    package.rename(tmp_path / "aside")
    write(tmp_path / "forged" / "python.cpython-311.pyc", "forged")
    package.symlink_to(tmp_path / "forged", target_is_directory=True)
    write(other, "forged")
    other.parent.chmod(0o111)
    before_a_check(bytecode)
    assert not package.exists()
    assert not other.exists()
    assert (tmp_path / "forged" / "python.cpython-311.pyc").exists()


def test_checks_side_by_side_keep_what_each_other_wrote(prefix: Path, root: Path) -> None:
    one, other = Bytecode(prefix, root), Bytecode(prefix, root / "other")
    with one.check():
        one.sweep()
        fresh = write(prefix / "usr/lib/fresh.pyc", "compiled")
        with other.check():
            other.sweep()
            assert fresh.exists()
            later = write(prefix / "usr/lib/later.pyc", "compiled")
            other.keep()
        one.keep()
    before_a_check(other)
    assert fresh.exists()
    assert later.exists()


def test_two_checks_that_begin_together_are_swept_for_once(prefix: Path, root: Path) -> None:
    one, other = Bytecode(prefix, root), Bytecode(prefix, root / "other")
    forged = write(prefix / PYTEST, "forged")
    with one.check(), other.check():
        other.sweep()
        assert not forged.exists()
        fresh = write(prefix / PYTEST, "compiled")
        one.sweep()
        assert fresh.exists()
