"""README's second command on a plain machine: minimal Debian 12, a user without sudo, Debian's own Python 3.11.2, no
`python`, no namespaces.

The machine is a folder that `mmdebstrap` fills and `chroot` enters: in one, the kernel lets no user make a namespace.
What pip installs there lies beside it, so that it needs no network. Of the suite it runs what machines differ in
(processes, rooms, and what the gate, the command line and the library start), and collects the rest.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.tools import needs

ROOT = Path(__file__).parents[2]
TRIED = (
    *(f"tests/cli/test_{name}.py" for name in ("collecting", "completion", "processes", "start_up")),
    *(f"tests/gate/test_{name}.py" for name in ("hook", "installing")),
    *(f"tests/library/test_{name}.py" for name in ("folder", "interrupting", "library_docs")),
    "tests/attempts/test_command.py", "tests/processes", "tests/rooms",
)  # fmt: skip
"""What starts programs, or asks for what a system has; the rest does the same on every machine."""
ENTER = """
set -e
root=$1; shift
mount --make-rprivate /
mount -t proc proc "$root/proc"
mount --rbind /dev "$root/dev"
mount -t tmpfs tmpfs "$root/tmp"
[ -z "${WITHOUT_VENV:-}" ] || mount --bind "$root/opt/none" "$root/usr/lib/python3.11/ensurepip"
exec chroot --userspec=1000:1000 "$root" env -i HOME=/home/plain PATH=/usr/bin:/bin PIP_NO_INDEX=1 \
  PIP_FIND_LINKS=/opt/wheels sh -c 'cd ~/clone && "$@"' sh "$@"
"""
pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(1800),
    pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root makes another root"),
    needs("mmdebstrap"),
]


@pytest.fixture(scope="module")
def machine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    root = tmp_path_factory.mktemp("plain") / "root"
    included = "python3,python3.11-venv,git,ca-certificates"
    # Nothing of it has to outlive a power failure: unpacking waits for no disk.
    options = ["--variant=minbase", f"--include={included}", "--dpkgopt=force-unsafe-io"]
    call("mmdebstrap", "--quiet", *options, "bookworm", str(root))
    try:
        (root / "opt" / "none").mkdir()
        (root / "opt" / "none" / "__init__.py").write_text("raise ImportError\n")
        pip = [sys.executable, "-m", "pip", "download", "--quiet", "--dest", str(root / "opt" / "wheels")]
        pip += ["--python-version", "3.11", "--only-binary", ":all:"]
        call(*pip, f"{ROOT}[dev]", "hatchling", "editables")
        call("git", "clone", "--quiet", str(ROOT), str(root / "home" / "plain" / "clone"))
        call("chown", "-R", "1000:1000", str(root / "home" / "plain"))
        yield root
    finally:
        shutil.rmtree(root)


def call(*words: str) -> None:
    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=900)
    assert done.returncode == 0, f"{words}: {done.stdout[-2000:]}{done.stderr[-2000:]}"


def inside(root: Path, *words: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """As the plain user, in a mount and a process namespace that end with it."""
    enter = ["unshare", "--mount", "--pid", "--fork", "--kill-child", "sh", "-c", ENTER, "sh", str(root)]
    return subprocess.run(
        [*enter, *words], capture_output=True, text=True, check=False, timeout=1500, env={**os.environ, **variables}
    )


def test_what_to_ask_root_for_is_said_in_one_line(machine: Path) -> None:
    done = inside(machine, "sh", ".ci/setup", "test", WITHOUT_VENV="1")
    asked = "setup: python3 can't make virtual environments. Ask root for: apt-get install python3.11-venv\n"
    assert (done.returncode, done.stdout, done.stderr) == (1, "", asked)


def test_the_suite_is_green_there_and_says_what_it_skips(machine: Path) -> None:
    done = inside(machine, "sh", ".ci/setup", "test", "-n", "2", "-p", "no:cacheprovider", *TRIED)
    told = "".join(line for line in done.stdout.splitlines(keepends=True) if not line.startswith("SKIPPED"))
    assert done.returncode == 0, told[-20000:] + done.stderr[-2000:]
    assert "setup: installing donewhen and what its tests need into .venv: about " in done.stderr
    assert "bubblewrap opens no room here" in done.stdout
    collected = inside(machine, ".venv/bin/python", "-m", "pytest", "--collect-only", "-qq", "-p", "no:cacheprovider")
    assert collected.returncode == 0, collected.stdout[-2000:]
