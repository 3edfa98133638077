"""The one VSIX of a build: what is in it, and what a marketplace asks of it."""

from __future__ import annotations

import json
import re
import struct
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.vscode.extension import CLIENT, alone, npm

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]
EXPECTED = re.compile(
    r"extension\.vsixmanifest|\[Content_Types\]\.xml|extension/("
    r"package(\.nls)?\.json|readme\.md|changelog\.md|LICENSE\.txt|THIRD_PARTY\.txt|dist/extension\.js|"
    r"dist/timeline/\w+\.(js|css)|media/(icon\.png|preview\.css|view\.svg)|walkthrough/\w+\.(md|png)|"
    r"locks/(server|models)\.txt|"
    r"wheel/donewhen-[^/]+\.whl)"
)
CATEGORIES = {"AI", "Testing"}


@pytest.fixture(scope="module")
def package(vsix: Path) -> Iterator[zipfile.ZipFile]:
    with zipfile.ZipFile(vsix) as package:
        yield package


@pytest.fixture(scope="module")
def manifest(package: zipfile.ZipFile) -> dict[str, Any]:
    return json.loads(package.read("extension/package.json"))


def test_it_holds_what_runs_and_nothing_of_its_making(package: zipfile.ZipFile) -> None:
    assert [name for name in package.namelist() if not EXPECTED.fullmatch(name)] == []
    assert "sourceMappingURL" not in package.read("extension/dist/extension.js").decode()
    rest = [one for one in package.infolist() if not one.filename.endswith(".whl")]
    assert len(package.infolist()) == len(rest) + 1
    assert sum(one.compress_size for one in rest) < 1_000_000


def test_the_licence_of_each_package_that_is_bundled_is_in_it(package: zipfile.ZipFile) -> None:
    said = package.read("extension/THIRD_PARTY.txt").decode()
    with alone():
        npm("run", "bundle")
        inputs = json.loads((CLIENT / "dist" / "meta.json").read_text())["inputs"]
    bundled = {found[1] for name in inputs if (found := re.search(r".*node_modules/((?:@[^/]+/)?[^/]+)/", name))}
    assert "vscode-languageclient" in bundled
    missing = [
        name for name in bundled if not re.search(rf"^{re.escape(name)} \d+\.\d+\.\d+ \(.+\)$", said, re.MULTILINE)
    ]
    assert missing == []
    assert "Apache License" in package.read("extension/LICENSE.txt").decode()


def test_a_marketplace_takes_it(package: zipfile.ZipFile, manifest: dict[str, Any]) -> None:
    assert set(manifest["categories"]) == CATEGORIES
    assert len(manifest["keywords"]) <= 5
    assert manifest["engines"]["vscode"].startswith("^1.101")
    assert manifest["extensionKind"] == ["workspace"]
    icon = package.read(f"extension/{manifest['icon']}")
    assert icon.startswith(b"\x89PNG")
    assert min(struct.unpack(">II", icon[16:24])) >= 128
    readme = package.read("extension/readme.md").decode()
    assert re.findall(r"!\[[^\]]*\]\((?!https://)", readme) == []


def test_it_says_what_it_does_where_nobody_trusts_the_workspace(manifest: dict[str, Any]) -> None:
    assert manifest["capabilities"]["virtualWorkspaces"]["supported"] is False
    untrusted = manifest["capabilities"]["untrustedWorkspaces"]
    assert untrusted["supported"] == "limited"
    assert untrusted["description"]
    assert {"donewhen.serverPath", "donewhen.interpreter"} < set(untrusted["restrictedConfigurations"])
