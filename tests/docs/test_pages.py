"""The docs say what is so: what is generated is fresh, links lead somewhere, and what is printed happens."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest

from donewhen.settings.loading import load_settings
from tests import forked
from tests.tools import each_row, needs

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
SCRIPTS = DOCS / "scripts"
PAGES = sorted(path for path in DOCS.rglob("*.md"))
BLOCK = re.compile(r"^( *)```(\w*)\n(.*?)^\1```$", re.M | re.S)
LINK = re.compile(r"\]\((?!https?:|mailto:|#)([^)#\s]+)")


def script(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("name", ["generate_reference.py", pytest.param("draw_pictures.py", marks=pytest.mark.slow)])
def test_what_is_generated_is_as_fresh_as_its_source(name: str) -> None:
    done = forked.run([sys.executable, str(SCRIPTS / name), "--check"], timeout=100)
    assert done.returncode == 0, f"run docs/scripts/{name} with this Python: {done.stderr}"


@each_row(
    "page",
    [*PAGES, *(ROOT / f"{name}.md" for name in ("README", "CONTRIBUTING", "AGENTS", "SECURITY"))],
    ids=lambda path: path.relative_to(ROOT).as_posix(),
)
def test_every_link_leads_to_a_file_that_is_there(page: Path) -> None:
    text = BLOCK.sub("", page.read_text(encoding="utf-8"))
    missing = [link for link in LINK.findall(text) if not (page.parent / link).exists()]
    assert not missing


def test_every_page_stands_in_the_navigation() -> None:
    site = (DOCS / "site" / "mkdocs.yml").read_text(encoding="utf-8")
    absent = [name for page in PAGES if f": {(name := page.relative_to(DOCS).as_posix())}\n" not in site]
    assert not absent


def test_each_walk_of_contributing_leads_to_files_that_are_there() -> None:
    """ "Where to go" saves a newcomer's search only while it is true."""
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    walks = text.partition("## Where to go")[2].partition("## How a release is made")[0]
    named = set(re.findall(r"`((?:[\w-]+/)+[\w.*-]*)", walks))
    assert len(named) > 20
    roots = (ROOT / "server" / "donewhen", ROOT)
    assert not [one for one in named if not any(list(root.glob(one.replace("NAME", "*"))) for root in roots)]


# ------------------------------------------------------------------------------------------------- the tutorial


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[str, str, str]]:
    """Each block of commands of the tutorial: the commands, what stands below them, and what they really printed."""
    blocks = [(kind, text) for _, kind, text in BLOCK.findall((DOCS / "tutorial.md").read_text(encoding="utf-8"))]
    assert {kind for kind, _ in blocks} == {"sh", "text"}
    home = tmp_path_factory.mktemp("tutorial")
    output = "block-{}.out"
    steps = [(number, text) for number, (kind, text) in enumerate(blocks) if kind == "sh"]
    program = "".join(f'{{\n{text}}} > "$HOME/{output.format(number)}" 2>&1\n' for number, text in steps)
    own = {name: value for name, value in os.environ.items() if not name.startswith("DONEWHEN_")}
    path = os.pathsep.join([str(Path(sys.executable).parent), own["PATH"]])
    environment = {**own, "HOME": str(home), "XDG_STATE_HOME": str(home / "state"), "PATH": path}
    subprocess.run(["sh", "-c", program], cwd=home, env=environment, stdin=subprocess.DEVNULL, timeout=100, check=True)
    found: list[tuple[str, str, str]] = []
    for number, text in steps:
        below = blocks[number + 1][1] if blocks[number + 1 : number + 2] and blocks[number + 1][0] == "text" else ""
        found.append((text, below, (home / output.format(number)).read_text(encoding="utf-8")))
    return found


@pytest.mark.slow
@needs("sh")
def test_the_tutorial_prints_what_stands_below_its_commands(told: list[tuple[str, str, str]]) -> None:
    """Each line that is shown begins a line of the output, in that order; some that come between are left out."""
    assert len(told) >= 8
    for commands, shown, printed in told:
        lines = iter(printed.splitlines())
        for line in shown.splitlines():
            assert any(one.startswith(line) for one in lines), f"{commands}\ndid not print {line!r} there:\n{printed}"


@pytest.mark.slow
@needs("sh")
def test_no_command_of_the_tutorial_fails_unsaid(told: list[tuple[str, str, str]]) -> None:
    for commands, _, printed in told:
        for bad in ("not found", "Traceback", "donewhen: ", "usage:"):
            assert bad not in printed, f"{commands}\n{printed}"


# --------------------------------------------------------------------------------------------------- the guides


def test_settings_that_the_guides_show_can_be_read(tmp_path: Path) -> None:
    shown = [
        text
        for page in (DOCS / "how-to").glob("*.md")
        for _, kind, text in BLOCK.findall(page.read_text(encoding="utf-8"))
        if kind == "toml"
    ]
    assert len(shown) == 2
    for text in shown:
        file = tmp_path / "config.toml"
        file.write_text(text, encoding="utf-8")
        assert not load_settings({}, {}, None, user_file=file).warnings


def test_the_line_that_the_guide_has_a_command_end_with_is_json() -> None:
    text = (DOCS / "how-to" / "hold-your-agent.md").read_text(encoding="utf-8")
    (line,) = (block for _, kind, block in BLOCK.findall(text) if kind == "json")
    assert set(json.loads(line)["donewhen"]) == {"state", "text"}


# ------------------------------------------------------------------------------------------------------- types

LEFT_OUT = (
    "MissingImports", "MissingParameterType", "MissingTypeArgument", "UnknownArgumentType", "UnknownLambdaType",
    "UnknownMemberType", "UnknownParameterType", "UnknownVariableType", "MatchNotExhaustive",
)  # fmt: skip
"""What strict checking asks of a reader's own code, and of packages that are not installed here."""


@pytest.mark.slow
@pytest.mark.timeout(180)
def test_what_the_examples_do_with_our_types_is_right(tmp_path: Path) -> None:
    for page in PAGES:
        for number, (_, kind, code) in enumerate(BLOCK.findall(page.read_text(encoding="utf-8"))):
            if kind == "python":
                (tmp_path / f"{page.stem}_{number}.py").write_text(code, encoding="utf-8")
    rules = {f"report{name}": False for name in LEFT_OUT}
    (tmp_path / "pyrightconfig.json").write_text(json.dumps({"typeCheckingMode": "strict", **rules}))
    call = [sys.executable, "-m", "pyright", "--project", tmp_path, "--pythonpath", sys.executable]
    done = subprocess.run(call, capture_output=True, text=True, timeout=170, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


# --------------------------------------------------------------------------------------------- picture and site


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="there are no pseudo-terminals")
def test_the_moving_picture_is_what_the_demonstration_prints() -> None:
    recorder = script(SCRIPTS / "record_demo.py")
    lines = [
        "".join(character for character, _ in cells)
        for _, line in recorder.record([sys.executable, "-m", "donewhen", "demo"])
        for cells in recorder.screen_lines(line)
    ]
    text = recorder.TARGET.read_text(encoding="utf-8")
    assert len(text) < 200_000
    drawn = re.findall(r"<text [^>]*>(.*?)</text>", text)[1:]
    shown = [
        re.sub(r"<[^>]+>", "", line).replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&") for line in drawn
    ]
    # Seconds differ, and so does whether commands run in rooms here.
    assert _bare(shown) == _bare([line for line in lines if line.strip()])


def _bare(lines: list[str]) -> list[str]:
    varies = r"\[E\d+\]|\((?:the worker took )?\d.*?\)| · \d[\dms .]*(?: · commands .*)?$"
    return [re.sub(varies, "", line).strip() for line in lines]


@each_row(
    "written, read",
    [
        ("Text:\n- a\n- b\n", "Text:\n\n- a\n- b\n"),
        ("- a\n  - b\n  more\n", "- a\n    - b\n    more\n"),
        ("- a\n\n  ```toml\n  x = 1\n  ```\n", "- a\n\n    ```toml\n    x = 1\n    ```\n"),
        ("```sh\n- a\n```\n", "```sh\n- a\n```\n"),
        ("1. a\n   b\n\n   c\n", "1. a\n    b\n\n    c\n"),
        ("- a\n\ntext\n  more\n", "- a\n\ntext\n  more\n"),
        ("| `a\\|b` | c\\|d |\n", "| `a|b` | c\\|d |\n"),
        ("[a](../README.md) [b](protocol.md)\n",
         "[a](https://github.com/donewhen/donewhen/blob/main/README.md) [b](protocol.md)\n"),
    ],
)  # fmt: skip
def test_the_site_reads_markdown_as_github_does(written: str, read: str) -> None:
    hooks = script(DOCS / "site" / "hooks.py")
    page = SimpleNamespace(file=SimpleNamespace(src_uri="page.md"))
    assert hooks.on_page_markdown(written, page=page) == read
