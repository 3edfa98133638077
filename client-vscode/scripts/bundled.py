"""Fills `bundled/` with the server and all that it imports on one platform: `bundled.py TARGET`; without one, empties
it.

The folder is started as it is, `python -I -S bundled serve`, by any of the Pythons below: what is compiled is named
after the Python that it is for, so that the files of all of them stand side by side. The server's wheel is taken from
`wheel/`; the rest comes from where pip looks.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

PLATFORMS = {
    "linux-x64": ["manylinux2014_x86_64", "manylinux_2_17_x86_64", "manylinux_2_28_x86_64"],
    "linux-arm64": ["manylinux2014_aarch64", "manylinux_2_17_aarch64", "manylinux_2_28_aarch64"],
    "darwin-x64": ["macosx_11_0_x86_64"],
    "darwin-arm64": ["macosx_11_0_arm64"],
    "win32-x64": ["win_amd64"],
}
"""What `vsce --target` calls a platform, and the wheels that run on each: pip adds those of older systems."""

PYTHONS = ("3.11", "3.12", "3.13", "3.14")
PROGRAM = """\
from donewhen.__main__ import main

if __name__ == "__main__":
    raise SystemExit(main())
"""

CLIENT = Path(__file__).parents[1]


def fill(target: str, folder: Path) -> None:
    (server,) = (CLIENT / "wheel").glob("*.whl")
    wheels = {server.name: server}
    with tempfile.TemporaryDirectory() as name:
        first, *others = PYTHONS
        found = download(target, first, Path(name) / first, [str(server)])
        wheels |= found
        # Of the rest, each Python takes the very versions that the first one got.
        compiled = ["==".join(wheel.split("-")[:2]) for wheel in found if f"-cp{first.replace('.', '')}-" in wheel]
        for python in others:
            wheels |= download(target, python, Path(name) / python, ["--no-deps", *compiled])
        for wheel in wheels.values():
            unpack(wheel, folder)
    (folder / "__main__.py").write_text(PROGRAM, encoding="utf-8")


def download(target: str, python: str, folder: Path, wanted: list[str]) -> dict[str, Path]:
    platforms = [word for platform in PLATFORMS[target] for word in ("--platform", platform)]
    options = ["--quiet", "--disable-pip-version-check", "--only-binary", ":all:", "--implementation", "cp"]
    words = [*options, *platforms, "--python-version", python, "--dest", str(folder), *wanted]
    subprocess.run([sys.executable, "-m", "pip", "download", *words], check=True)
    return {wheel.name: wheel for wheel in folder.glob("*.whl")}


def unpack(wheel: Path, folder: Path) -> None:
    """What a wheel installs beside its packages (programs, headers) is left out: nobody would find it."""
    with zipfile.ZipFile(wheel) as archive:
        for name in archive.namelist():
            if ".data/" in name:
                raise SystemExit(f"{wheel.name} has {name}, which is not a package")
            # Of several wheels of one version, the plain files are the same.
            archive.extract(name, folder)


def main() -> None:
    folder = CLIENT / "bundled"
    shutil.rmtree(folder, ignore_errors=True)
    if len(sys.argv) > 1:
        fill(sys.argv[1], folder)
        print(f"bundled for {sys.argv[1]}: {sum(one.stat().st_size for one in folder.rglob('*')) / 1e6:.0f} MB")


if __name__ == "__main__":
    main()
