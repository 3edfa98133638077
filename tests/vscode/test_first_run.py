"""Nothing is configured: the extension makes an environment of its own from the wheel that it brings."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING

import psutil
import pytest

from tests.agent.site import judge_says
from tests.scripted_models import fails
from tests.vscode.codeserver import CodeServer
from tests.vscode.conftest import Opener, environment
from tests.vscode.models import Models
from tests.vscode.site import BAR, project

if TYPE_CHECKING:
    from tests.vscode.workbench import Workbench

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]
GOAL = "# Notes\n\n- [ ] `test -f NOTES.md` passes\n"
OLDER = """\
import sys
import donewhen.version
donewhen.version.__version__ = "0.0.7"
from donewhen.__main__ import main
sys.argv[0] = "donewhen"
sys.exit(main())
"""
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
    # What a stranger would like to have run instead.
    strange = folder / ".venv" / "bin"
    for name in ("python3", "python"):
        program(strange / name, f": > {folder}/ran.txt; exit 1")
    place = tmp_path_factory.mktemp("vscode")
    path, pip = place / "programs", place / "pip.conf"
    path.mkdir()
    pip.write_text("[global]\nno-index = true\n", encoding="utf-8")
    own = {"PATH": f"{strange}:{path}", "PIP_CONFIG_FILE": str(pip), "PIP_NO_INDEX": "", "PIP_FIND_LINKS": ""}
    with CodeServer(place, env={**environment(place), **own}, trust=False) as server:
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
        assert not (folder / "ran.txt").exists()
        a_server_that_is_none_is_told_and_ended(window, server, place)
        a_server_of_another_version_is_told_and_used(window, server, place)


def a_server_that_is_none_is_told_and_ended(window: Workbench, server: CodeServer, place: Path) -> None:
    chatty = program(place / "chatty", "printf 'hello\\r\\n\\r\\n'; exec /bin/sleep 300.25")
    server.configure(machine={"donewhen.serverPath": str(chatty)})
    told = window.notices.wait("chatty could not be started. The log says more.")
    assert all(button in told for button in ("Try Again", "Open Settings", "Use an Environment of Its Own"))
    window.until(lambda: not sleepers(), "rid of the program that was no server")


def sleepers() -> list[psutil.Process]:
    return [one for one in psutil.process_iter(["cmdline"]) if "300.25" in (one.info["cmdline"] or [])]


def a_server_of_another_version_is_told_and_used(window: Workbench, server: CodeServer, place: Path) -> None:
    script = place / "donewhen_0_0_7.py"
    script.write_text(OLDER, encoding="utf-8")
    older = program(place / "older", f'exec "{sys.executable}" -P {script} "$@"')
    server.configure(machine={"donewhen.serverPath": str(older)})
    assert "0.0.7" in window.notices.wait("older than")
    assert window.until(server.language_servers, "a language server")
