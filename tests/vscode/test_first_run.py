"""Nothing is configured: the extension makes an environment of its own from the wheel that it brings."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.agent.site import judge_says
from tests.scripted_models import fails
from tests.vscode.codeserver import CodeServer
from tests.vscode.conftest import Opener, environment
from tests.vscode.models import Models
from tests.vscode.packages import of_version
from tests.vscode.site import BAR, project

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]
GOAL = "# Notes\n\n- [ ] `test -f NOTES.md` passes\n"
LONG = 150
ALL_OF_IT = 400
"""Model support is 450 MB: a minute on a machine that does nothing else."""
JUDGED = "---\nworker: human\njudge_model: openai/judge\n---\n# Read well\n\n- [ ] The notes are pleasant\n"


def program(path: Path, script: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    path.chmod(0o755)
    return path


def test_the_server_runs_from_an_environment_that_the_extension_made(
    vsix: Path, open_window: Opener, models: Models, tmp_path_factory: pytest.TempPathFactory, tmp_path: Path
) -> None:
    folder = project(tmp_path / "adder", GOAL)
    place = tmp_path_factory.mktemp("vscode")
    judged = {"donewhen.judgeApiBase": models.served.base_url}
    with CodeServer(place, machine=judged, env=environment(place), whole=True) as server:
        server.install(vsix)
        server.start()
        window = open_window(server, folder)
        (process,) = window.until(server.language_servers, "a language server", LONG)
        assert str(server.user) in process.cmdline()[0]
        assert str(server.user) in process.cwd()
        (folder / "NOTES.md").write_text("here\n", encoding="utf-8")
        window.palette.run("Done When: Check Now")
        window.notices.wait_bar(BAR, "1 of 1 met")

        # A goal that asks a judge needs what calls models, which this environment lacks; with it the run goes on.
        (folder / "judged.goal.md").write_text(JUDGED, encoding="utf-8")
        window.editor.open("judged.goal.md")
        window.palette.run("Done When: Start")
        window.notices.press("needs the models extra", "Install Model Support")
        window.until(lambda: any("Pause" in one for one in window.editor.lenses()), "the goal started", ALL_OF_IT)
        # A run that stands still for want of it goes on after the same button.
        models.play(judge=lambda call: fails(500, "No module named 'boto3'"))
        (folder / "NOTES.md").write_text("pleasant\n", encoding="utf-8")
        window.notices.wait("“Read well” is paused", 60)
        models.play(judge=judge_says("met"))
        window.notices.press("“Read well” is paused", "Install Model Support")
        window.notices.wait("“Read well” is complete", 60)


@pytest.fixture(scope="module")
def wheelhouse(vsix: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the server needs, without the server: that is in the extension."""
    place = tmp_path_factory.mktemp("wheels")
    with zipfile.ZipFile(vsix) as package:
        (name,) = [one for one in package.namelist() if one.endswith(".whl")]
        wheel = Path(package.extract(name, place))
    options = ["--quiet", "--disable-pip-version-check", "--only-binary", ":all:", "--dest", str(place / "house")]
    subprocess.run([sys.executable, "-m", "pip", "download", *options, str(wheel)], check=True, timeout=200)
    (place / "house" / wheel.name).unlink()
    return place / "house"


def test_each_thing_that_is_missing_is_told_with_what_to_do(
    vsix: Path, wheelhouse: Path, open_window: Opener, tmp_path_factory: pytest.TempPathFactory, tmp_path: Path
) -> None:
    folder = project(tmp_path / "adder", GOAL)
    place = tmp_path_factory.mktemp("vscode")
    path, pip = place / "programs", place / "pip.conf"
    path.mkdir()
    pip.write_text("[global]\nno-index = true\n", encoding="utf-8")
    own = {"PATH": str(path), "PIP_CONFIG_FILE": str(pip), "PIP_NO_INDEX": "", "PIP_FIND_LINKS": ""}
    with CodeServer(place, env={**environment(place), **own}) as server:
        server.install(vsix)
        server.start()
        window = open_window(server, folder)
        needs = "Done When needs Python 3.11 or newer."
        told = window.notices.wait(needs)
        assert all(button in told for button in ("Choose Python…", "How to Install", "Try Again", "Show Logs"))

        program(path / "python3", """echo '{"version": [3, 9], "donewhen": null}'""")
        window.notices.press(needs, "Try Again")
        window.notices.wait(f"{needs} Only 3.9 was found.")

        program(path / "python3", f'exec "{sys.executable}" "$@"')
        window.notices.press(needs, "Try Again")
        failed = "Done When could not be installed. The log says why."
        window.notices.wait(failed, LONG)
        assert any("No matching distribution found" in text for text in server.logs().values())

        window.notices.press(failed, "Try Again")
        setting_up = "Setting up a Python environment"
        window.notices.press(setting_up, "Cancel")
        window.notices.wait("Setting up Done When was cancelled.")

        pip.write_text(f"[global]\nno-index = true\nfind-links = {wheelhouse}\n", encoding="utf-8")
        window.notices.press("was cancelled", "Try Again")
        window.until(server.language_servers, "a language server", LONG)
        window.notices.wait_bar(BAR, "Goal")


def test_an_update_brings_another_environment_and_the_one_before_stays(
    vsix: Path, wheelhouse: Path, open_window: Opener, tmp_path_factory: pytest.TempPathFactory, tmp_path: Path
) -> None:
    folder = project(tmp_path / "adder", GOAL)
    # What a stranger would like to have run instead.
    for name in ("python3", "python"):
        program(folder / ".venv" / "bin" / name, f"touch {folder}/ran.txt; exit 1")
    place = tmp_path_factory.mktemp("vscode")
    own = environment(place)
    own |= {"PATH": f"{folder}/.venv/bin:{own['PATH']}", "PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(wheelhouse)}
    with CodeServer(place, env=own, trust=False) as server:
        server.install(vsix)
        server.start()
        window = open_window(server, folder)
        (first,) = window.until(server.language_servers, "a language server", LONG)
        program_of_first = first.cmdline()[0]

        server.install(of_version(vsix, tmp_path / "newer.vsix", "0.1.1"))
        window.reload()

        def updated() -> str | None:
            programs = [one.cmdline()[0] for one in server.language_servers()]
            return next((one for one in programs if one != program_of_first), None)

        second = window.until(updated, "the server of the newer extension", LONG)
        said = subprocess.run(
            [second, "-I", "-c", "from donewhen.version import __version__; print(__version__)"],
            capture_output=True, text=True, check=True,
        )  # fmt: skip
        assert said.stdout.strip() == "0.1.1"
        assert Path(program_of_first).exists()
        assert not (folder / "ran.txt").exists()
