"""What a model adds to a goal, from the command line to the model and back."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from donewhen.app.advice import adviser
from donewhen.app.resolver import KnownFacts
from donewhen.app.services import Services
from donewhen.cli.calling import ServeOptions
from donewhen.cli.main import main
from donewhen.core.errors import GoalFileError, UsageError
from donewhen.settings.loading import Settings
from donewhen.settings.table import Choices
from tests.scripted_models import ScriptedModels, says


@pytest.fixture(autouse=True)
def _here(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("DONEWHEN_MODEL", "DONEWHEN_JUDGE_MODEL", "DONEWHEN_API_BASE", "DONEWHEN_JUDGE_API_BASE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("DONEWHEN_JUDGE_API_KEY", "sk-test-1234567890")


def _no_server(options: ServeOptions) -> int:
    raise AssertionError("nothing is served here")


def donewhen(root: Path, server: ScriptedModels, *argv: str) -> int:
    options = ["--judge-model", "openai/advises", "--judge-api-base", server.base_url]
    return main([*argv, "--workspace", str(root), *options], Services(), _no_server, user_file=root / "none.toml")


@pytest.mark.slow
def test_a_goal_is_drafted_with_proposals_and_then_looked_at(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    proposals = {"requirements": ["Quotes in a field are doubled", "The README shows an example"]}
    hints = {"hints": [{"id": "R2", "hint": "Say which example"}]}
    (tmp_path / "export.py").write_text("pass\n")
    with ScriptedModels({"advises": [says(json.dumps(proposals)), says(json.dumps(hints))]}) as server:
        assert donewhen(tmp_path, server, "init", "Ship the exporter") == 0
        assert "proposed by openai/advises: Quotes in a field are doubled" in capsys.readouterr().out
        text = (tmp_path / "GOAL.md").read_text()
        assert "<!--" not in text
        assert text.endswith("- [ ] Quotes in a field are doubled\n- [ ] The README shows an example\n")
        assert donewhen(tmp_path, server, "preflight", "--json") == 0
        printed = capsys.readouterr()
        document = json.loads(printed.out)
        told, cost = document["hints"], document["cost"]
        assert cost["inputTokens"] > 0
        assert cost["usd"] is None
        assert "asked openai/advises: " in printed.err
        assert "cost unknown" in printed.err
        assert [one["message"] for one in told if one["number"] == 2][-1] == "Say which example"
        server.verify()
        asked = json.dumps([exchange.body for exchange in server.requests])
    assert "export.py" in asked
    assert "Quotes in a field are doubled" in asked


async def test_nobody_is_asked_who_isnt_configured(tmp_path: Path) -> None:
    async with adviser(tmp_path, Settings()) as found:
        assert found is None


async def test_models_that_arent_installed_are_said_before_anything_starts(tmp_path: Path) -> None:
    absent = KnownFacts(extra_lacked=lambda *_: "models")
    with pytest.raises(UsageError, match=r"openai/m needs the models extra: .*\[models\]"):
        async with adviser(tmp_path, Settings(given=Choices(model="openai/m")), known=absent):
            pass


@pytest.mark.parametrize(
    ("choices", "model"),
    [
        (Choices(model="openai/w"), "openai/w"),
        (Choices(model="openai/w", judge_model="openai/j"), "openai/j"),
        (Choices(judge_model="2*openai/j,openai/k"), "openai/j"),
    ],
)
async def test_the_judge_helps_before_the_agent_does(choices: Choices, model: str, tmp_path: Path) -> None:
    async with adviser(tmp_path, Settings(configured=choices)) as found:
        assert found is not None
        assert found.model == model
        assert found.spent is None
        with pytest.raises(GoalFileError):
            await found.hints("")


@pytest.mark.parametrize("name", ["mistyped", "openai/"])
def test_a_name_that_is_no_models_is_refused_before_anything_is_asked_or_drafted(
    tmp_path: Path, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    def typed(*argv: str) -> int:
        user_file = tmp_path / "none.toml"
        return main([*argv, "--workspace", str(tmp_path), "--model", name], Services(), _no_server, user_file=user_file)

    assert typed("init", "Ship it") == 2
    assert not (tmp_path / "GOAL.md").exists()
    (tmp_path / "GOAL.md").write_text("# Speed\n\n- [ ] The export is fast\n")
    assert typed("preflight") == 2
    printed = capsys.readouterr()
    assert printed.err.count(f"`{name}` names no ") == 2
    assert "asked" not in printed.err
