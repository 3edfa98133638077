"""What others include: the action, the GitLab job and the pre-commit hook, as those who read them do."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.tools import needs

ROOT = Path(__file__).parents[2]
ACTION = ROOT / "action.yml"
GITLAB = ROOT / "ci" / "donewhen.gitlab-ci.yml"
HOOKS = ROOT / ".pre-commit-hooks.yaml"
GOAL = "# The answer is there\n\n- [ ] `test -f answer.txt` succeeds\n"


def action() -> Any:
    return yaml.safe_load(ACTION.read_text(encoding="utf-8"))


def test_no_script_of_the_action_has_an_input_in_its_text() -> None:
    """An expression is text of the script before a shell reads it: a hostile input would be a command."""
    for step in action()["runs"]["steps"]:
        assert "${{" not in step.get("run", "")
    expressions = re.findall(r"\$\{\{ *([\w.-]+) *\}\}", ACTION.read_text(encoding="utf-8"))
    named = {one.removeprefix("inputs.") for one in expressions if one.startswith("inputs.")}
    assert named <= set(action()["inputs"])


def step(name: str, folder: Path, **inputs: str) -> subprocess.CompletedProcess[str]:
    """Runs a step of the action as the runner does, with `donewhen` where the step before would have installed it."""
    (found,) = (one for one in action()["runs"]["steps"] if one["name"] == name)
    values = {key: one["default"] for key, one in action()["inputs"].items()} | inputs
    given = {
        key: re.sub(r"\$\{\{ inputs\.([\w-]+) \}\}", lambda m: values[m[1]], text) for key, text in found["env"].items()
    }
    own = {key: value for key, value in os.environ.items() if not key.startswith(("DONEWHEN_", "GITHUB_"))}
    temporary = folder / "runner"
    (temporary / "donewhen").mkdir(parents=True, exist_ok=True)
    if not (temporary / "donewhen" / "bin").exists():
        (temporary / "donewhen" / "bin").symlink_to(Path(sys.executable).parent)
    environment = own | given | {
        "GITHUB_ACTIONS": "true",
        "GITHUB_OUTPUT": str(folder / "output"),
        "GITHUB_STEP_SUMMARY": str(folder / "summary.md"),
        "RUNNER_TEMP": str(temporary),
    }  # fmt: skip
    job = folder / "job"
    job.mkdir(exist_ok=True)
    words = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", found["run"]]
    return subprocess.run(words, cwd=job, env=environment, capture_output=True, text=True, timeout=100, check=False)


@pytest.mark.slow
@needs("bash")
def test_the_action_checks_a_goal_and_writes_its_receipts(tmp_path: Path) -> None:
    job = tmp_path / "job"
    job.mkdir()
    (job / "GOAL.md").write_text(GOAL, encoding="utf-8")
    red = step("Check the goal", tmp_path)
    assert red.returncode == 1, red.stderr
    assert "::error file=GOAL.md,line=3," in red.stdout
    assert "❌ unmet" in (tmp_path / "summary.md").read_text(encoding="utf-8")
    assert "exit-code=1\n" in (tmp_path / "output").read_text(encoding="utf-8")
    assert len(json.loads((job / "donewhen-reports" / "donewhen.sarif").read_text())["runs"][0]["results"]) == 1
    (job / "answer.txt").write_text("42", encoding="utf-8")
    green = step("Check the goal", tmp_path)
    assert green.returncode == 0, green.stderr
    assert "exit-code=0\n" in (tmp_path / "output").read_text(encoding="utf-8")
    assert json.loads((job / "donewhen-reports" / "donewhen.sarif").read_text())["runs"][0]["results"] == []


@pytest.mark.slow
@needs("bash")
@pytest.mark.parametrize("name", ["goal", "workspace", "judge-model", "reports"])
def test_a_hostile_input_of_the_action_runs_nothing(tmp_path: Path, name: str) -> None:
    job = tmp_path / "job"
    job.mkdir()
    (job / "GOAL.md").write_text(GOAL, encoding="utf-8")
    said = '$(touch pwned); "`touch pwned`" || touch pwned\nexit-code=0\n--version'
    done = step("Check the goal", tmp_path, **{name: said})
    assert not list(tmp_path.rglob("pwned"))
    assert done.returncode != 0
    lines = (tmp_path / "output").read_text(encoding="utf-8").splitlines()
    assert lines[0] == f"exit-code={done.returncode}"


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "file"), [("github-actions", ACTION), ("gitlab-ci", GITLAB)])
def test_what_forges_read_follows_their_schemas(kind: str, file: Path) -> None:
    words = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", f"vendor.{kind}", str(file)]
    done = subprocess.run(words, capture_output=True, text=True, timeout=100, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.slow
@needs("sh")
def test_the_job_of_gitlab_checks_a_goal_and_writes_its_reports(tmp_path: Path) -> None:
    job = yaml.safe_load(GITLAB.read_text(encoding="utf-8"))[".donewhen"]
    lines = [line.replace("/tmp/donewhen-state", "state").replace("/tmp/donewhen/bin", str(Path(sys.executable).parent))
             for line in job["script"] if "venv" not in line and "pip install" not in line]  # fmt: skip
    work = tmp_path / "work"
    work.mkdir()
    (work / "GOAL.md").write_text(GOAL, encoding="utf-8")
    own = {key: value for key, value in os.environ.items() if not key.startswith(("DONEWHEN_", "GITHUB_"))}
    words = ["sh", "-e", "-c", "\n".join(lines)]

    def run(package: str) -> subprocess.CompletedProcess[str]:
        given = own | job["variables"] | {"DONEWHEN_INPUT_PACKAGE": package}
        return subprocess.run(words, cwd=work, env=given, capture_output=True, text=True, timeout=100, check=False)

    unset = run("")
    assert unset.returncode != 0
    assert "DONEWHEN_INPUT_PACKAGE: set it to the path of a wheel" in unset.stderr
    done = run("donewhen.whl")
    assert done.returncode == 1, done.stderr
    assert "::error" not in done.stdout
    for name in (*job["artifacts"]["paths"], *job["artifacts"]["reports"].values()):
        assert (work / name).stat().st_size > 2


@pytest.mark.slow
@needs("git")
def test_the_hook_is_run_by_pre_commit(tmp_path: Path) -> None:
    """With the program that is installed here: what pre-commit would install is a package of this name."""
    program = shutil.which("pre-commit", path=str(Path(sys.executable).parent))
    assert program is not None, "install the package with its dev extra"
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    own = {key: value for key, value in os.environ.items() if not key.startswith(("DONEWHEN_", "GITHUB_", "GIT_"))}
    environment = own | {
        "PATH": path,
        "PRE_COMMIT_HOME": str(tmp_path / "home"),
        "XDG_STATE_HOME": str(tmp_path / "state"),
    }
    work = tmp_path / "work"
    work.mkdir()

    def called(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            words, cwd=work, env=environment, capture_output=True, text=True, timeout=100, check=False
        )

    assert called(program, "validate-manifest", str(HOOKS)).returncode == 0
    (hook,) = yaml.safe_load(HOOKS.read_text(encoding="utf-8"))
    local = {"repos": [{"repo": "local", "hooks": [hook | {"language": "system"}]}]}
    (work / ".pre-commit-config.yaml").write_text(yaml.safe_dump(local), encoding="utf-8")
    (work / "GOAL.md").write_text(GOAL, encoding="utf-8")
    for words in (("init", "-q"), ("add", ".")):
        assert called("git", *words).returncode == 0
    red = called(program, "run", "--all-files")
    assert red.returncode == 1
    assert "exit code: 1" in red.stdout
    (work / "answer.txt").write_text("42", encoding="utf-8")
    called("git", "add", ".")
    assert called(program, "run", "--all-files").returncode == 0
