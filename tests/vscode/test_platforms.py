"""A build for one platform brings all that its server imports: the first start needs no network and no pip."""

from __future__ import annotations

import json
import re
import struct
import sys
import xml.etree.ElementTree as ET
import zipfile
from email.parser import HeaderParser
from pathlib import Path

import pytest
from pip._vendor.packaging.requirements import Requirement

from tests.vscode.codeserver import CodeServer
from tests.vscode.conftest import Opener, environment
from tests.vscode.extension import PLATFORMS, packaged_for
from tests.vscode.site import BAR, project

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]
GOAL = "# Notes\n\n- [ ] `test -f NOTES.md` passes\n"
PYTHONS = ("3.11", "3.12", "3.13", "3.14")
COMPILED = ("pydantic_core/_pydantic_core", "yaml/_yaml", "tree_sitter/_binding")
"""For each Python; the others are for any."""
FOR_ANY = (
    "psutil/",
    "watchfiles/_rust_notify",
    *(f"tree_sitter_{one}/_binding" for one in ("javascript", "python", "rust", "typescript")),
)
ENDINGS = {
    "linux-x64": "{abi}-x86_64-linux-gnu.so",
    "linux-arm64": "{abi}-aarch64-linux-gnu.so",
    "darwin-x64": "{abi}-darwin.so",
    "darwin-arm64": "{abi}-darwin.so",
    "win32-x64": "{abi}-win_amd64.pyd",
}
MACHINES = {
    "linux-x64": 62,
    "linux-arm64": 183,
    "darwin-x64": 0x01000007,
    "darwin-arm64": 0x0100000C,
    "win32-x64": 0x8664,
}
SYSTEMS = {
    "linux": ("linux", "posix", "Linux"),
    "darwin": ("darwin", "posix", "Darwin"),
    "win32": ("win32", "nt", "Windows"),
}


def test_the_first_start_needs_no_network_and_no_pip(
    open_window: Opener, tmp_path_factory: pytest.TempPathFactory, tmp_path: Path
) -> None:
    folder = project(tmp_path / "adder", GOAL)
    place = tmp_path_factory.mktemp("vscode")
    nowhere = "http://127.0.0.1:9"
    own = environment(place) | {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": "", "PIP_CONFIG_FILE": "/dev/null"}
    own |= {name: nowhere for name in ("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY")}
    # A Python that notes each start, makes no environment and has no pip.
    started = place / "started.txt"
    python = place / "bin" / "python3"
    python.write_text(
        f'#!/bin/sh\necho "$*" >> {started}\ncase "$*" in *"-m venv"*|*"-m pip"*) exit 1;; esac\n'
        f'exec "{sys._base_executable}" "$@"\n',  # pyright: ignore[reportAttributeAccessIssue]  # the one without packages
        encoding="utf-8",
    )
    python.chmod(0o755)
    for newer in ("3.14", "3.13", "3.12", "3.11"):
        (place / "bin" / f"python{newer}").symlink_to(python)
    with CodeServer(place, env=own, whole=True) as server:
        server.install(packaged_for("linux-x64"))
        server.start()
        window = open_window(server, folder)
        (process,) = window.until(server.language_servers, "a language server")
        assert process.cmdline()[1:3] == ["-I", "-S"]
        assert Path(process.cmdline()[3]).parent.parent == server.extensions
        assert not list((server.user / "User" / "globalStorage").rglob("environments"))
        (folder / "NOTES.md").write_text("here\n", encoding="utf-8")
        window.palette.run("Done When: Check Now")
        window.notices.wait_bar(BAR, "1 of 1 met")
        assert not re.search("-m (venv|pip)", started.read_text())
        assert not window.screen.read(".notification-list-item-message", "e.innerText")

        window.palette.run("Terminal: Create New Terminal")
        window.page.locator(".terminal-wrapper.active .xterm-helper-textarea").wait_for(state="attached")
        said, whole = place / "said.txt", place / "whole.txt"
        asked = "donewhen --version; donewhen status; command -v donewhen"
        window.page.keyboard.type(f"({asked}) > {said} 2>&1; touch {whole}\n")
        window.until(whole.exists, "an answer in the terminal")
        text = said.read_text()
        assert "donewhen 0.1.0" in text
        assert "1 of 1" in text
        program = Path(text.splitlines()[-1])
        assert program.is_relative_to(server.user)
        assert [path.name for path in program.parent.iterdir()] == ["donewhen"]


@pytest.fixture(scope="module", params=PLATFORMS)
def platform(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def test_it_brings_what_is_compiled_for_each_python_and_that_machine(platform: str, chrome: object) -> None:
    ending = ENDINGS[platform]
    with zipfile.ZipFile(packaged_for(platform)) as package:
        manifest = ET.fromstring(package.read("extension.vsixmanifest"))
        (identity,) = [one for one in manifest.iter() if one.tag.endswith("Identity")]
        assert identity.get("TargetPlatform") == platform
        assert json.loads(package.read("extension/package.json"))["version"] == identity.get("Version")
        files = [name.removeprefix("extension/bundled/") for name in package.namelist() if "/bundled/" in name]
        compiled = [name for name in files if name.endswith((".so", ".pyd", ".dll", ".dylib"))]
        tag = "cp{}" if platform == "win32-x64" else "cpython-{}"
        for python in PYTHONS:
            abi = tag.format(python.replace(".", ""))
            for name in COMPILED:
                assert f"{name}.{ending.format(abi=abi)}" in compiled
        assert [name for name in compiled if not name.startswith((*COMPILED, *FOR_ANY))] == []
        assert all(any(one.startswith(name) for one in compiled) for name in FOR_ANY)
        for name in compiled:
            assert machine_of(package.read(f"extension/bundled/{name}")) == MACHINES[platform], name
        assert missing(package, platform) == []
        assert sum(one.compress_size for one in package.infolist()) < 25_000_000


def missing(package: zipfile.ZipFile, platform: str) -> list[str]:
    """What a package in it needs on that platform, for some Python, and is not in it in that version."""
    metadata = [
        HeaderParser().parsestr(package.read(name).decode())
        for name in package.namelist()
        if re.fullmatch(r"extension/bundled/[^/]+\.dist-info/METADATA", name)
    ]
    versions = {normal(one["Name"]): one["Version"] for one in metadata}
    assert len(versions) == len(metadata), "two versions of a package"
    system, name, kind = SYSTEMS[platform.split("-")[0]]
    lacking: list[str] = []
    for needed in [Requirement(each) for one in metadata for each in one.get_all("Requires-Dist", [])]:
        for python in PYTHONS:
            around = {"python_version": python, "python_full_version": f"{python}.0", "sys_platform": system,
                      "os_name": name, "platform_system": kind, "extra": ""}  # fmt: skip
            wanted = needed.marker is None or needed.marker.evaluate(around)
            if wanted and not needed.specifier.contains(versions.get(normal(needed.name), "0"), prereleases=True):
                lacking.append(f"{needed} for {python}")
    return lacking


def normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def machine_of(content: bytes) -> int:
    """The machine's number in the header of an ELF, Mach-O or PE file."""
    if content.startswith(b"\x7fELF"):
        return int(struct.unpack_from("<H", content, 18)[0])
    if content.startswith(b"\xcf\xfa\xed\xfe"):
        return int(struct.unpack_from("<I", content, 4)[0])
    assert content.startswith(b"MZ")
    (start,) = struct.unpack_from("<I", content, 0x3C)
    return int(struct.unpack_from("<H", content, start + 4)[0])
