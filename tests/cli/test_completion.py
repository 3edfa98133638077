"""`donewhen completion`: the scripts, in real shells where they are installed."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from donewhen.cli.completion import SHELLS, completed
from donewhen.cli.parser import COMMANDS, build
from donewhen.wire.reports import FORMATS
from tests.cli.fakes import desk
from tests.tools import needs

TRIED = "_tried() { COMP_WORDS=(\"$@\"); COMP_CWORD=$(($# - 1)); _donewhen; printf '%s ' ${COMPREPLY[@]}; echo; }\n"
"""Stands for the Tab key after these words."""


@needs("bash")
def test_bash_completes_commands_options_and_choices(tmp_path: Path) -> None:
    cases = {
        "donewhen pref": "preflight",
        "donewhen run --worker co": "command codex",
        "donewhen run --worker = co": "command codex",
        "donewhen report --format git": "github gitlab",
        "donewhen --workspace there report run-1 --form": "--format",
        "donewhen settings room_": "room_writes room_reads room_processes room_memory room_disk",
        "donewhen help res": "resume",
        "donewhen gate install cod": "codex",
        "donewhen gate uninstall cl": "claude",
        "donewhen gate ins": "install",
        "donewhen gate install ins": "",
        "donewhen run --model anth": "",
        "donewhen nothing x": "",
    }
    script = SHELLS["bash"](completed()) + TRIED + "".join(f"_tried {words}\n" for words in cases)
    done = subprocess.run(
        ["bash", "--norc", "-c", script], cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.stderr == ""
    assert dict(zip(cases, map(str.strip, done.stdout.splitlines()), strict=True)) == cases


@pytest.mark.parametrize("shell", SHELLS)
def test_each_script_has_all_commands_and_choices(shell: str, tmp_path: Path) -> None:
    call = desk(tmp_path)
    assert call("completion", shell) == 0
    assert all(name in call.out for name in (*COMMANDS, *FORMATS))


@pytest.mark.parametrize(
    "shell",
    [
        pytest.param("bash", marks=needs("bash")),
        pytest.param("zsh", marks=[needs("zsh"), pytest.mark.slow]),  # which `.ci/run` installs
        pytest.param("fish", marks=[needs("fish"), pytest.mark.slow]),
    ],
)
def test_each_shell_takes_its_script(shell: str, tmp_path: Path) -> None:
    (tmp_path / "script").write_text(SHELLS[shell](completed()))
    done = subprocess.run([shell, "-n", tmp_path / "script"], capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_every_option_of_every_command_is_completed() -> None:
    found = completed()
    for name, parser in build()[1].items():
        offered = {one for option in found[name].options for one in option.names}
        assert {"--json", "--help"} <= offered
        assert all(option in parser.format_help() for option in offered)
    values = {name: option.values for option in found["run"].options for name in option.names}
    assert values["--sandbox"] == ("off", "auto", "on")


def test_a_shell_that_is_not_known_is_refused_with_those_that_are(tmp_path: Path) -> None:
    call = desk(tmp_path)
    assert call("completion", "tcsh") == 2
    assert "bash" in call.err
