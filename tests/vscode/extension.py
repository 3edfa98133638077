"""The packaged extension, built once for each state of its sources and the server's."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.vscode.rig import node_environment, rig

ROOT = Path(__file__).parents[2]
CLIENT = ROOT / "client-vscode"
MADE = {"node_modules", "dist", "out", "__pycache__", "wheel", "bundled"}
"""Folders that builds fill."""


PLATFORMS = ("linux-x64", "linux-arm64", "darwin-x64", "darwin-arm64", "win32-x64")


def packaged() -> Path:
    """The VSIX with the wheel in it: the one that DONEWHEN_VSIX names, else one of the present sources."""
    given = os.environ.get("DONEWHEN_VSIX")
    if given:
        return Path(given)
    kept = rig().parent / "vsix" / f"donewhen-{_digest()}.vsix"
    if not kept.exists():
        build(kept, "package")
    return kept


def packaged_for(platform: str) -> Path:
    """The VSIX of the present sources that brings what the server imports on that platform."""
    kept = rig().parent / "vsix" / f"donewhen-{platform}-{_digest()}.vsix"
    if not kept.exists():
        build(kept, "package:platforms", "--", platform)
    return kept


def build(target: Path, *script: str) -> None:
    """Runs a script that packages, and takes what it made to the target, unless another process did meanwhile."""
    with alone():
        if target.exists():
            return
        if not (CLIENT / "node_modules" / ".package-lock.json").exists():
            npm("ci", "--no-audit", "--no-fund")
        npm("run", *script)
        newest = max(CLIENT.glob("*.vsix"), key=lambda path: path.stat().st_mtime)
        target.parent.mkdir(parents=True, exist_ok=True)
        unfinished = target.with_suffix(".new")
        shutil.copyfile(newest, unfinished)
        unfinished.replace(target)


@contextmanager
def alone() -> Iterator[None]:
    """One process at a time: tests run side by side, and packaging writes into the sources' own folders."""
    import fcntl  # these tests run where there is one

    with (rig().parent / "build.lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def npm(*words: str) -> None:
    done = subprocess.run(
        ["npm", *words], cwd=CLIENT, env=node_environment(), capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, f"npm {' '.join(words)}\n{done.stdout}\n{done.stderr}"


def _digest() -> str:
    digest = hashlib.sha256()
    for path in sorted(_sources()):
        digest.update(f"{path.relative_to(ROOT)}\0".encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def _sources() -> Iterator[Path]:
    yield ROOT / "pyproject.toml"
    for top in (CLIENT, ROOT / "server"):
        for path in top.rglob("*"):
            inside = path.relative_to(top).parts
            if not MADE.intersection(inside) and path.suffix not in {".vsix", ".whl"} and path.is_file():
                yield path
