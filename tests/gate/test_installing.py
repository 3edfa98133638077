"""The settings of agents: what is added is shown first, and taken out again without a trace."""

from __future__ import annotations

import json
import re
import shlex
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from donewhen.cli.gate.forms import FORMS
from donewhen.cli.gate.json_edits import NotJson, with_item, without_items
from donewhen.cli.parser import AGENTS
from donewhen.core.globs import any_matches
from donewhen.core.running_files import RUNNING
from tests.gate.place import Place
from tests.tools import each_row, examples

ITEM = {"type": "command", "command": "donewhen gate --agent x"}
PATH = ("hooks", "Stop")
SETTINGS = [
    '{"model": "opus"}',
    '{\n  "model": "opus",\n  "permissions": {"allow": ["Bash(ls:*)"]}\n}\n',
    '// mine\n{\n  // which model\n  "model": "opus", // the large one\n}\n',
    '{\n\t"hooks": {\n\t\t"Stop": [\n\t\t\t{"hooks": [{"command": "say done"}]} // loud\n\t\t]\n\t}\n}\n',
    '{"hooks": {"Stop": [{"hooks": []}], "Start": [1, 2]}, "z": "}"}',
    '{"hooks": {"PreToolUse": [] /* none */}, "n": -1.5e3, "t": true, "x": null}',
    '{\n  "hooks": {\n    "Stop": [\n      {"a": 1},\n    ],\n  },\n}',
]


def ours(item: str) -> bool:
    return "gate --agent x" in item


@each_row("text", SETTINGS)
def test_all_else_stays_as_it_was_written(text: str) -> None:
    added = with_item(text, PATH, ITEM, {})
    assert json.loads(plain(added))["hooks"]["Stop"][-1] == ITEM
    for comment in re.findall(r"//[^\n]*|/\*.*?\*/", text):
        assert comment in added
    assert without_items(added, ("hooks",), ours) == text


def test_no_worker_changes_the_hooks_of_any_agent() -> None:
    assert all(any_matches(RUNNING, form.project) for form in FORMS.values())


def test_what_others_added_later_stays() -> None:
    text = with_item(with_item('{\n  "a": 1\n}\n', PATH, ITEM, {}), PATH, {"command": "say done"}, {})
    left = json.loads(without_items(text, ("hooks",), ours))
    assert left == {"a": 1, "hooks": {"Stop": [{"command": "say done"}]}}


@each_row("text", ["[]", "{", '{"hooks": []}', '{"hooks": {"Stop": {}}}', '{"a": }', "{} {}"])
def test_a_file_that_is_not_such_settings_is_left_alone(text: str) -> None:
    with pytest.raises(NotJson):
        with_item(text, PATH, ITEM, {})


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=8,
)
filled = st.dictionaries(st.text(max_size=6), values, max_size=4)


@given(
    settings=filled,
    stops=st.none() | st.lists(values, min_size=1, max_size=3),
    others=st.dictionaries(st.sampled_from(["Start", "Pre"]), st.lists(values, min_size=1, max_size=2), max_size=2),
    indent=st.sampled_from([None, 2, 4]),
)
@examples(200)
def test_any_settings_come_back(settings: dict, stops: list | None, others: dict, indent: int | None) -> None:  # type: ignore[type-arg]
    hooks = {**others, **({"Stop": stops} if stops is not None else {})}
    document = {**settings, **({"hooks": hooks} if hooks else {})}
    if not hooks:
        document.pop("hooks", None)
    text = json.dumps(document, indent=indent)
    added = with_item(text, PATH, ITEM, {})
    wanted = {**document, "hooks": {**hooks, "Stop": [*(stops or []), ITEM]}}
    assert json.loads(added) == wanted
    assert json.loads(without_items(added, ("hooks",), ours)) == document


def plain(text: str) -> str:
    """Without comments and trailing commas, of texts that have none of these in strings."""
    text = re.sub(r"//[^\n]*|/\*.*?\*/", "", text)
    return re.sub(r",(\s*[]}])", r"\1", text)


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Place:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))  # where a person's own settings are is the system's business
    return Place(tmp_path)


@pytest.mark.parametrize("agent", AGENTS)
def test_each_agent_gets_both_hooks_and_they_go_without_a_trace(place: Place, agent: str) -> None:
    form = FORMS[agent]
    file = place.root / form.project
    said = place.call("gate", "install", agent, "--yes")
    assert said.code == 0, said.err
    assert f"+++ {file}" in said.out
    hooks = json.loads(file.read_text())["hooks"]
    assert set(hooks) == set(form.names.values())
    assert all(f"gate --agent {agent}" in json.dumps(one) for one in hooks.values())
    again = place.call("gate", "install", agent, "--yes")
    assert "already" in again.err
    assert place.call("gate", "uninstall", agent, "--yes").code == 0
    assert not file.exists()


def test_a_hook_names_the_program_only_where_every_program_finds_it(
    place: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An editor that is started without the terminal's environment runs the hook too."""
    monkeypatch.setenv("CONDA_PREFIX", str(tmp_path / "conda"))
    for folder in ("own", "installed", "conda"):
        program = tmp_path / folder / "donewhen"
        program.parent.mkdir()
        program.write_text("#!/bin/sh\n")
        program.chmod(0o700)
    monkeypatch.setattr("sys.prefix", str(tmp_path / "own"))
    here = f"{shlex.quote(sys.executable)} -m donewhen"
    for path, words, calls in (
        ("installed", (), "donewhen"),
        ("installed", ("--user",), here),
        ("own", (), here),
        ("conda", (), here),
        ("nowhere", (), here),
    ):
        monkeypatch.setenv("PATH", str(tmp_path / path))
        said = place.call("gate", "install", "claude", "--yes", *words)
        written = Path(said.out.splitlines()[1].split()[1])
        command = json.loads(written.read_text())["hooks"]["Stop"][0]["hooks"][0]["command"]
        assert command.startswith(f"{calls} --state-dir "), (path, words)
        assert place.call("gate", "uninstall", "claude", "--yes", *words).code == 0


def test_nothing_is_written_before_a_person_agreed(place: Place) -> None:
    file = place.root / FORMS["claude"].project
    alone = place.call("gate", "install", "claude")
    assert (alone.code, file.exists()) == (2, False)
    assert "--yes" in alone.err
    assert place.call("gate", "install", "claude", typed=["n"]).code == 1
    assert not file.exists()
    assert place.call("gate", "install", "claude", typed=["y"]).code == 0
    assert file.exists()


def test_a_persons_own_settings_keep_their_comments(place: Place, tmp_path: Path) -> None:
    file = tmp_path / "home" / FORMS["gemini"].user
    file.parent.mkdir(parents=True)
    before = '{\n  // the theme\n  "theme": "dark",\n  "hooks": {"AfterAgent": [{"hooks": []}]}\n}\n'
    file.write_text(before)
    assert place.call("gate", "install", "gemini", "--user", "--yes").code == 0
    assert "// the theme" in file.read_text()
    assert place.call("gate", "uninstall", "gemini", "--user", "--yes").code == 0
    assert file.read_text() == before


def test_settings_that_can_not_be_read_are_left_alone(place: Place) -> None:
    place.write(FORMS["claude"].project, '{"hooks": ')
    said = place.call("gate", "install", "claude", "--yes")
    assert said.code == 2
    assert "fix it" in said.err
    assert (place.root / FORMS["claude"].project).read_text() == '{"hooks": '
