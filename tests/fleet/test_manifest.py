"""What a manifest says, and what is said about one that is wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from donewhen.core.errors import UsageError
from donewhen.extras.fleet.board import Board
from donewhen.extras.fleet.manifest import load_manifest
from tests.tools import each_row

WHOLE = """
name = "nightly"
parallel = 4
max_cost = 20
[settings]
worker = "command"
worker_command = "agent"
[[goal]]
workspace = "exporter"
[[goal]]
id = "other"
workspace = "/srv/other"
file = "goals/fast.goal.md"
queue = "builder"
settings = { max_iterations = 3, worker_command = "other-agent" }
"""


def written(folder: Path, text: str) -> Path:
    file = folder / "fleet.toml"
    file.write_text(text, encoding="utf-8")
    return file


def test_a_goal_has_the_common_settings_and_its_own(tmp_path: Path) -> None:
    found = load_manifest(written(tmp_path, WHOLE), max_cost=5.0)
    first, second = found.goals
    assert (found.name, found.parallel, found.max_cost) == ("nightly", 4, 5.0)
    assert (first.id, first.workspace, first.file, first.queue) == (
        "exporter", (tmp_path / "exporter").as_posix(), "GOAL.md", "default",
    )  # fmt: skip
    assert first.settings == {"worker": "command", "worker_command": "agent"}
    assert (second.id, second.queue, second.workspace) == ("other", "builder", "/srv/other")
    assert second.settings == {"worker": "command", "worker_command": "other-agent", "max_iterations": "3"}
    assert Board.of(Board(found, "serial").document()).fleet == found


@each_row(
    "text, says",
    [
        ("", "lists no goal"),
        ("goal = 1", "lists no goal"),
        ("[[goal]]", "goal 1 names no workspace"),
        ("[[goal]]\nworkspace = 'a'\nfiel = 'x'", "goal 1 has no key 'fiel'"),
        ("worker = 'x'\n[[goal]]\nworkspace = 'a'", "the manifest has no key 'worker'"),
        ("[[goal]]\nworkspace = 'a'\n[[goal]]\nworkspace = 'b/a'", "two goals are called a"),
        ("parallel = 0\n[[goal]]\nworkspace = 'a'", "parallel must be a whole number"),
        ("max_cost = -1\n[[goal]]\nworkspace = 'a'", "max_cost must be a number above 0"),
        ("max_cost = 1\niteration_cost = 2\n[[goal]]\nworkspace = 'a'", "iteration_cost is more than max_cost"),
        ("name = 'a/b'\n[[goal]]\nworkspace = 'a'", "name must be letters"),
        ("[settings]\nwroker = 'x'\n[[goal]]\nworkspace = 'a'", "takes no setting 'wroker'"),
        ("[settings]\nstate_dir = 'x'\n[[goal]]\nworkspace = 'a'", "takes no setting 'state_dir'"),
        ("[[goal]\n", "can't be read"),
    ],
)
def test_what_is_wrong_is_named(text: str, says: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"fleet\.toml") as refused:
        load_manifest(written(tmp_path, text))
    assert says in str(refused.value)


def test_a_manifest_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="there is no manifest"):
        load_manifest(tmp_path / "none.toml")
