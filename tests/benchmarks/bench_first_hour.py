"""The first hour of a new user: `python -m tests.benchmarks.bench_first_hour [python node go]`.

A released project in which one line was broken, and twice a fresh profile with the packaged extension. Counted and
timed is what it takes from Set Goal to the first squiggle and, from saving the right line, to the first proof, and from
Set Goal to the first squiggle once more in another window of that profile, where everything is set up; then, in the
other profile, to the first proof by an agent whose model is played on loopback. An input is a command of the
palette, an Enter that sends a text or takes what is proposed, or a choice; the objective itself is not counted, nor are
edits of the project. Needs `.ci/setup-vscode`, the extra `vscode`, and the registries: pip's, npm's, and for Go `go` on
the PATH and Debian's packages. A project that can't be had here is left out, with a word on why.
"""

from __future__ import annotations

import contextlib
import os
import platform
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from tests.scripted_models import calls
from tests.vscode.codeserver import CodeServer
from tests.vscode.extension import packaged, packaged_for
from tests.vscode.models import Models, in_turn
from tests.vscode.rig import what_is_missing
from tests.vscode.site import BAR

if TYPE_CHECKING:
    from tests.vscode.workbench import Workbench

OBJECTIVE = "The tests pass again"
LONG = 400.0
PROVEN = r"\b(\d+) of \1 met"


Opening: TypeAlias = "Callable[[], contextlib.AbstractContextManager[Workbench]]"


class NotHere(Exception):
    """A project that can't be had on this machine; the text says why."""


@dataclass(frozen=True, slots=True)
class Project:
    """A release, the line of it that is broken, and the check that is detected in it."""

    name: str
    fetch: Callable[[Path], Path]
    file: str
    right: str
    wrong: str
    check: str

    def broken(self, folder: Path) -> None:
        path = folder / self.file
        text = path.read_text(encoding="utf-8")
        assert text.count(self.right) == 1, f"{self.file} has changed: {self.right}"
        path.write_text(text.replace(self.right, self.wrong), encoding="utf-8")

    def mended(self, folder: Path) -> str:
        return (folder / self.file).read_text(encoding="utf-8").replace(self.wrong, self.right)

    def alone(self, folder: Path) -> float:
        """Seconds that its check takes by hand, right or broken."""
        path = os.pathsep.join((str(folder / ".venv" / "bin"), os.environ["PATH"]))
        began = time.monotonic()
        subprocess.run(
            self.check, shell=True, cwd=folder, env={**os.environ, "PATH": path}, check=False, timeout=LONG,
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        return time.monotonic() - began


def _run(*words: str, cwd: Path) -> None:
    if shutil.which(words[0]) is None:
        raise NotHere(f"there is no {words[0]}")
    done = subprocess.run(
        words, cwd=cwd, check=False, capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=LONG
    )
    if done.returncode != 0:
        said = (done.stderr or done.stdout).strip().rpartition("\n")[2]
        raise NotHere(f"`{' '.join(words[:3])}` failed: {said}")


def _unpacked(folder: Path, pattern: str) -> Path:
    (archive,) = folder.glob(pattern)
    with tarfile.open(archive) as opened:
        opened.extractall(folder, filter="data")
    archive.unlink()
    (found,) = [path for path in folder.iterdir() if path.is_dir()]
    return found


def _tinydb(folder: Path) -> Path:
    quiet = ("--quiet", "--disable-pip-version-check")
    _run(sys.executable, "-m", "pip", "download", *quiet, "--no-deps", "--no-binary", "tinydb", "tinydb==4.8.2",
         cwd=folder)  # fmt: skip
    project = _unpacked(folder, "tinydb*.tar.gz")
    _run(sys.executable, "-m", "venv", ".venv", cwd=project)
    _run(str(project / ".venv/bin/python"), "-m", "pip", "install", *quiet, "pytest", "pyyaml", "-e", ".", cwd=project)
    return project


def _split2(folder: Path) -> Path:
    _run("npm", "pack", "--silent", "split2@4.2.0", cwd=folder)
    project = _unpacked(folder, "split2*.tgz")
    _run("npm", "install", "--ignore-scripts", "--no-audit", "--no-fund", cwd=project)
    return project


def _uuid(folder: Path) -> Path:
    if shutil.which("go") is None:
        raise NotHere("there is no go")
    _run("apt-get", "download", "golang-github-google-uuid-dev", cwd=folder)
    (package,) = folder.glob("*.deb")
    _run("dpkg", "-x", str(package), "unpacked", cwd=folder)
    project = folder / "uuid"
    shutil.copytree(folder / "unpacked/usr/share/gocode/src/github.com/google/uuid", project)
    return project


PROJECTS = {
    "python": Project(
        "tinydb 4.8.2", _tinydb, "tinydb/queries.py", "value: value in items", "value: value not in items",
        "python -m pytest -q",
    ),
    "node": Project("split2 4.2.0", _split2, "index.js", "= list.pop()", "= list.shift()", "npm test"),
    "go": Project("google/uuid 1.3.0", _uuid, "uuid.go", "return RFC4122", "return RFC4122 + 1", "go test ./..."),
}  # fmt: skip


@dataclass
class Person:
    """Counts what is done to a window, and how long it takes until what was wanted came of it."""

    window: Workbench
    project: str
    inputs: int = 0
    began: float = field(default_factory=time.monotonic)

    @property
    def seconds(self) -> float:
        return time.monotonic() - self.began

    def picture(self, what: str) -> None:
        pictures = os.environ.get("DONEWHEN_VSCODE_PICTURES")
        if pictures:
            self.window.screenshot(Path(pictures) / f"{self.project.split()[0].replace('/', '-')}-{what}.png")

    def run(self, command: str) -> None:
        self.inputs += 1
        self.window.palette.run(command, LONG)

    def says(self, objective: str) -> None:
        self.window.palette.answer(objective)

    def types(self, title: str, text: str) -> None:
        self.inputs += 1
        self.window.until(lambda: title in self.window.palette.title(), f"the question {title!r}", LONG)
        self.window.palette.answer(text)

    def accepts(self, *parts: str) -> None:
        """Enter, as soon as what it would take holds these words."""
        self.inputs += 1
        self.offered(*parts)
        self.window.palette.accept()

    def picks(self, text: str) -> None:
        self.inputs += 1
        self.window.palette.pick(text, LONG)

    def presses(self, dialog: str, button: str) -> None:
        self.inputs += 1
        self.window.notices.press_dialog(dialog, button, LONG)

    def offered(self, *parts: str) -> None:
        def shown() -> bool:
            return any(all(part in option for part in parts) for option in self.window.palette.options())

        self.window.until(shown, f"an entry with {parts}", LONG)


def extension() -> Path:
    """The extension as it is installed from a registry: the build for this platform, where there is one."""
    ours = sys.platform == "linux" and platform.machine() == "x86_64" and "DONEWHEN_VSIX" not in os.environ
    return packaged_for("linux-x64") if ours else packaged()


@contextlib.contextmanager
def fresh(vsix: Path, work: Path, models: Models) -> Iterator[Opening]:
    """Opens windows on the project, drawn but without our server, in a profile that knows nothing at first."""
    from tests.vscode.workbench import browser, opened

    with tempfile.TemporaryDirectory(prefix="dwh-") as place:
        folder = Path(place)
        own = {name: str(folder / name.lower()) for name in ("XDG_STATE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME")}
        # As a provider's address: a person who has an account there is asked for the key and nothing else.
        own["OPENAI_BASE_URL"] = own["OPENAI_API_BASE"] = models.served.base_url
        own["PYTHONDONTWRITEBYTECODE"] = ""  # As on a person's machine.
        with CodeServer(folder / "code", env=own) as server:
            server.install(vsix)
            server.start()
            with browser() as chrome:
                yield lambda: opened(chrome, server, work)


def to_squiggle(window: Workbench, project: Project) -> str:
    person = Person(window, project.name)
    person.run("Done When: Set Goal")
    window.palette.box.wait_for()
    asked = person.seconds
    person.picture("objective")
    person.says(OBJECTIVE)
    person.offered(project.check)
    person.picture("checks")
    person.accepts("Set Goal and Start")
    window.editor.wait_marked(project.check, within=LONG)
    took = person.seconds
    person.picture("squiggle")
    return f"{person.inputs} inputs, {took:.1f} s, {asked:.1f} of it until the window asks"


def to_proof(window: Workbench, project: Project, work: Path) -> str:
    text = (work / project.file).read_text(encoding="utf-8").splitlines()
    number = next(n for n, line in enumerate(text, 1) if project.wrong in line)
    window.editor.open(project.file)
    window.editor.replace_line(number, text[number - 1].strip().replace(project.wrong, project.right))
    window.editor.save()
    saved = time.monotonic()
    window.notices.wait_bar(BAR, PROVEN, LONG)
    took = time.monotonic() - saved
    Person(window, project.name).picture("proven")
    return f"{took:.1f} s"


def with_an_agent(window: Workbench, models: Models, project: Project, work: Path) -> list[str]:
    models.play(
        worker=in_turn(
            calls("read_file", path=project.file),
            calls("write_file", path=project.file, content=project.mended(work)),
            calls("report", state="finished", text="The line is right again."),
        )
    )
    person = Person(window, project.name)
    person.run("Done When: Set Goal")
    person.says(OBJECTIVE)
    person.offered(project.check)
    person.picks("The built-in agent")
    person.accepts("Set Goal and Start", "The built-in agent")
    person.types("built-in agent", "openai/worker")
    person.types("API key", "sk-of-the-worker")
    person.presses("Start this run?", "Start")
    began = time.monotonic()
    person.picture("agent")
    window.notices.wait_bar(BAR, PROVEN, LONG)
    person.picture("agent-proven")
    return [f"{person.inputs} inputs, {person.seconds:.1f} s", f"{time.monotonic() - began:.1f} s"]


def measured(name: str, vsix: Path) -> list[str]:
    """The cells of the project's row; raises `NotHere` where it can't be had."""
    project, models = PROJECTS[name], Models()
    with tempfile.TemporaryDirectory(prefix="dwh-") as place, models.served:
        work = project.fetch(Path(place))
        project.alone(work)  # What it compiles once is compiled.
        project.broken(work)
        before = (work / project.file).read_text(encoding="utf-8")
        alone = project.alone(work)

        def undone() -> None:
            (work / project.file).write_text(before, encoding="utf-8")
            (work / "GOAL.md").unlink()

        with fresh(vsix, work, models) as opens:
            with opens() as window:
                cells = [to_squiggle(window, project), to_proof(window, project, work)]
            undone()
            with opens() as window:
                cells.insert(1, to_squiggle(window, project))
            undone()
        with fresh(vsix, work, models) as opens, opens() as window:
            cells += with_an_agent(window, models, project, work)
    return [f"{project.name}, `{project.check}`", f"{alone:.1f} s", *cells]


def main(names: list[str]) -> None:
    missing = what_is_missing()
    if missing:
        print(f"not measured: {missing}")
        return
    vsix = extension()
    print("| project, its check | the check by hand | Set Goal to the first squiggle "
          "| ... in the next window | save to the first proof "
          "| Set Goal to the first proof by an agent | of that, after the consent |")  # fmt: skip
    print("|---|---|---|---|---|---|---|")
    for name in names or [*PROJECTS]:
        try:
            print(f"| {' | '.join(measured(name, vsix))} |", flush=True)
        except NotHere as why:
            print(f"left out: {PROJECTS[name].name}: {why}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
