"""Nothing leads anybody to a package that is not published: whoever took the name in an index would be run."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

from donewhen.installation import way
from donewhen.version import PUBLISHED
from tests.tools import each_row

ROOT = Path(__file__).parents[2]
TEXTS = (
    "*.md", "*.yml", "*.yaml", ".ci/*", "ci/*", ".github/**/*", "docs/**/*.md", "server/donewhen/**/*.py",
    "client-vscode/*.md", "client-vscode/*.json", "client-vscode/src/**/*.ts", "client-vscode/l10n/*",
    "client-vscode/walkthrough/*.md", "pyproject.toml",
)  # fmt: skip
INSTALLS = r"(?:pip3? install|pipx (?:install|run)|uvx|uv tool (?:install|run))"
NAMES = re.compile(
    rf"""\b{INSTALLS} (?:[^\n#`&|;]*[\s'"])?donewhen(?:\[|==|[\s'"`,;.)]|$)"""
    r"""|\buses: donewhen/|repo: https?://|PACKAGE: *["']?donewhen|\bdonewhen=="""
)


@each_row(
    "line, names",
    [
        ("pip install 'donewhen[models]'", True),
        ("with `pipx install donewhen`, and", True),
        ("uv tool install donewhen", True),
        ("- uses: donewhen/donewhen@main", True),
        ("    DONEWHEN_INPUT_PACKAGE: donewhen", True),
        ("pip install '.[models]'  # in a clone of donewhen's", False),
        ("/tmp/donewhen/bin/python -m pip install -- \"$DONEWHEN_INPUT_PACKAGE\"", False),
        ("python -m pip install '/clone/donewhen[models]'", False),
    ],
)  # fmt: skip
def test_what_names_the_package_to_an_installer_is_known(line: str, names: bool) -> None:
    assert bool(NAMES.search(line)) is names


def test_no_text_names_the_package_to_an_installer_before_it_is_published() -> None:
    files = {file for glob in TEXTS for file in ROOT.glob(glob) if file.is_file() and "node_modules" not in file.parts}
    assert len(files) > 400
    found = [
        f"{file.relative_to(ROOT)}:{number}: {line.strip()}"
        for file in sorted(files)
        for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1)
        if NAMES.search(line)
    ]
    assert PUBLISHED or not found


@each_row(
    "kind, published, said",
    [
        ("clone", False, "{python} -m pip install '{clone}[models]'"),
        ("editable", False, "{python} -m pip install -e '{clone}[models]'"),
        ("wheel", True, "{python} -m pip install '{clone}/donewhen-1-py3-none-any.whl[models]'"),
        ("clone that is gone", False, "in a clone of Done When, run `{python} -m pip install '.[models]'`"),
        ("index", False, "in a clone of Done When, run `{python} -m pip install '.[models]'`"),
        ("index", True, "{python} -m pip install 'donewhen[models]'"),
        ("extension", True, "in VS Code, run the command `Done When: Install Model Support`"),
        ("folder", True, "in VS Code, run the command `Done When: Install Model Support`"),
    ],
)
def test_how_to_get_an_extra_is_said_for_this_installation(
    tmp_path: Path, kind: str, published: bool, said: str
) -> None:
    clone, here, prefix = tmp_path / "clone", tmp_path / "here", tmp_path / "prefix"
    for folder in (clone, here, prefix):
        folder.mkdir()
    (clone / "donewhen-1-py3-none-any.whl").touch()
    origin: dict[str, Any] = {
        "clone": {"url": clone.as_uri(), "dir_info": {}},
        "editable": {"url": clone.as_uri(), "dir_info": {"editable": True}},
        "wheel": {"url": (clone / "donewhen-1-py3-none-any.whl").as_uri(), "archive_info": {}},
        "clone that is gone": {"url": (tmp_path / "gone").as_uri(), "dir_info": {}},
    }.get(kind, {})
    if kind == "extension":
        (prefix / "ready").touch()
    if kind == "folder":
        (here / "__main__.py").touch()
    found = way("models", origin, here, prefix, published=published)
    assert found == said.format(python=sys.executable, clone=clone)


def test_the_extension_marks_its_environments_as_the_server_expects() -> None:
    client = ROOT / "client-vscode"
    assert "const READY = 'ready';" in (client / "src" / "managedEnvironment.ts").read_text(encoding="utf-8")
    titles = json.loads((client / "package.nls.json").read_text(encoding="utf-8"))
    assert titles["command.installModels"] == "Install Model Support"
