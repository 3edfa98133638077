"""Writes `locks/`: what the environments that the extension makes hold beside the server's wheel, each package with
its version and the hashes of its files, for every platform and Python.

    .venv/bin/python client-vscode/scripts/lock.py            with `uv` on PATH; asks the package index
    .venv/bin/python client-vscode/scripts/lock.py --check    whether they are of today's pyproject.toml; asks nobody
"""

from __future__ import annotations

import hashlib
import subprocess
import sys
import tomllib
from pathlib import Path

CLIENT = Path(__file__).parents[1]
PROJECT = CLIENT.parent / "pyproject.toml"
LOCKS = {"server.txt": (), "models.txt": ("models", "litellm")}
"""By which extras."""
OLDEST = "3.11"


def wanted(extras: tuple[str, ...]) -> list[str]:
    project = tomllib.loads(PROJECT.read_text(encoding="utf-8"))["project"]
    optional = project["optional-dependencies"]
    return sorted([*project["dependencies"], *(one for extra in extras for one in optional[extra])])


def head(extras: tuple[str, ...]) -> str:
    """The first line of a lock: what it was made of."""
    digest = hashlib.sha256("\n".join(wanted(extras)).encode()).hexdigest()
    return f"# scripts/lock.py, of requirements {digest[:16]}\n"


def write(name: str, extras: tuple[str, ...]) -> None:
    options = [
        "--universal",
        "--python-version",
        OLDEST,
        "--generate-hashes",
        "--no-header",
        "--no-annotate",
        "--quiet",
    ]
    done = subprocess.run(
        ["uv", "pip", "compile", *options, "-"], input="\n".join(wanted(extras)), stdout=subprocess.PIPE, text=True,
        check=True,
    )  # fmt: skip
    (CLIENT / "locks" / name).write_text(head(extras) + done.stdout, encoding="utf-8")


def main() -> int:
    if "--check" not in sys.argv:
        for name, extras in LOCKS.items():
            write(name, extras)
        return 0
    stale = [
        name for name, one in LOCKS.items() if not (CLIENT / "locks" / name).read_text("utf-8").startswith(head(one))
    ]
    if stale:
        print(f"stale: {', '.join(stale)}", file=sys.stderr)
    return 1 if stale else 0


if __name__ == "__main__":
    raise SystemExit(main())
