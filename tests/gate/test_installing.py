"""The settings of agents: what is added is shown first, and taken out again without a trace."""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from donewhen.cli.gate.forms import FORMS
from donewhen.cli.gate.installing import with_hooks, without_hooks
from donewhen.cli.parser import AGENTS
from donewhen.core.globs import any_matches
from donewhen.core.running_files import RUNNING
from tests.gate.place import Place
from tests.tools import each_row, examples


def test_no_worker_changes_the_hooks_of_any_agent() -> None:
    assert all(any_matches(RUNNING, form.project) for form in FORMS.values())


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=8,
)
filled = st.dictionaries(st.text(max_size=6), values, max_size=4)


@given(
    settings=filled,
    hooks=st.dictionaries(
        st.sampled_from(["Stop", "SessionStart", "stop", "PreToolUse"]), st.lists(values, min_size=1, max_size=3)
    ),
    agent=st.sampled_from(AGENTS),
)
@examples(200)
def test_any_settings_come_back(settings: dict[str, Any], hooks: dict[str, list[Any]], agent: str) -> None:
    form = FORMS[agent]
    document = {**settings, "z": 1, **({"hooks": hooks} if hooks else {})}
    added = with_hooks(document, form, f"donewhen gate --agent {agent}")
    assert {event: added["hooks"][event][:-1] for event in form.names.values()} == {
        event: hooks.get(event, []) for event in form.names.values()
    }
    assert list(added)[: len(document)] == list(document)
    assert without_hooks(added, form) == document


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


def test_all_else_of_a_file_stays_in_its_order_and_indented_as_it_was(place: Place, tmp_path: Path) -> None:
    file = tmp_path / "home" / FORMS["gemini"].user
    file.parent.mkdir(parents=True)
    before = '{\n\t"theme": "dück",\n\t"hooks": {\n\t\t"AfterAgent": [\n\t\t\t1\n\t\t]\n\t},\n\t"a": 1\n}\n'
    file.write_text(before, encoding="utf-8")
    assert place.call("gate", "install", "gemini", "--user", "--yes").code == 0
    assert file.read_text(encoding="utf-8").startswith(
        '{\n\t"theme": "dück",\n\t"hooks": {\n\t\t"AfterAgent": [\n\t\t\t1,\n'
    )
    assert place.call("gate", "uninstall", "gemini", "--user", "--yes").code == 0
    assert file.read_text(encoding="utf-8") == before


def test_an_option_of_the_agent_s_own_among_the_hooks_stays(place: Place) -> None:
    before = '{\n  "hooks": {\n    "enabled": true\n  }\n}\n'
    file = place.root / FORMS["gemini"].project
    place.write(FORMS["gemini"].project, before)
    assert place.call("gate", "install", "gemini", "--yes").code == 0
    hooks = json.loads(file.read_text())["hooks"]
    assert (hooks["enabled"], set(hooks)) == (True, {"enabled", "SessionStart", "AfterAgent"})
    assert place.call("gate", "uninstall", "gemini", "--yes").code == 0
    assert file.read_text() == before


@each_row("text", ['{"hooks": ', "{}\n// mine\n", "[]", '{"hooks": []}', '{"hooks": {"Stop": {}}}', "{} {}"])
def test_settings_that_can_not_be_read_are_left_alone(place: Place, text: str) -> None:
    place.write(FORMS["claude"].project, text)
    for action in ("install", "uninstall"):
        said = place.call("gate", action, "claude", "--yes")
        assert said.code == 2
        assert "fix it" in said.err
    assert (place.root / FORMS["claude"].project).read_text() == text


def test_settings_with_comments_are_left_alone_and_what_to_add_is_said(place: Place) -> None:
    place.write(FORMS["claude"].project, "{} // mine")
    said = place.call("gate", "install", "claude", "--yes")
    assert '"hooks": {"SessionStart": [' in said.err
