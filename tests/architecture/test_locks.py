"""Every dependency has an upper bound, and what the extension installs is fixed by hashes."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from tests.tools import each_row

ROOT = Path(__file__).parents[2]
CLIENT = ROOT / "client-vscode"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
LISTS = {
    "the package": PROJECT["project"]["dependencies"],
    "the build": PROJECT["build-system"]["requires"],
    **PROJECT["project"]["optional-dependencies"],
}


@each_row("name", LISTS)
def test_every_dependency_has_an_upper_bound(name: str) -> None:
    wanted = [Requirement(one) for one in LISTS[name]]
    open_ended = [
        str(one)
        for one in wanted
        if one.name != "donewhen" and not {"<", "<=", "==", "~="} & {part.operator for part in one.specifier}
    ]
    assert not open_ended


def test_the_locks_are_of_what_the_package_asks_for_now() -> None:
    words = [sys.executable, str(CLIENT / "scripts" / "lock.py"), "--check"]
    done = subprocess.run(words, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, f"run client-vscode/scripts/lock.py: {done.stderr}"


@pytest.mark.parametrize(("name", "extras"), [("server.txt", []), ("models.txt", ["models", "litellm"])])
def test_a_lock_holds_a_version_within_bounds_and_hashes_of_everything(name: str, extras: list[str]) -> None:
    text = (CLIENT / "locks" / name).read_text(encoding="utf-8")
    entries = text.replace("\\\n", " ").splitlines()[1:]
    assert not [one for one in entries if "--hash=sha256:" not in one]
    assert not re.search(r"https?://|--index|--find-links", text)
    locked = {one.partition("==")[0]: one.partition("==")[2].split()[0] for one in entries}
    for wanted in [*LISTS["the package"], *(one for extra in extras for one in LISTS[extra])]:
        requirement = Requirement(wanted)
        assert requirement.specifier.contains(locked[requirement.name.lower()]), wanted
