"""docs/migrating.md: every example runs as it is printed, and prints what stands below it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.agent.site import asked, citable, verdict
from tests.scripted_models import ModelCall, Reply, ScriptedModels, calls, says

DOCUMENT = Path(__file__).parents[2] / "docs" / "migrating.md"
_EXAMPLE = re.compile(r"^```python\n(.*?)^```\n```text\n(.*?)^```$", re.MULTILINE | re.DOTALL)
MATHX = "def add(a, b):\n    return a + b\n"
TEST = "from mathx import add\n\n\ndef test_add():\n    assert add(2, 3) == 5\n"


@dataclass(frozen=True)
class Example:
    """One example of the document. `name` is its heading."""

    name: str
    code: str
    printed: str

    @property
    def asks_a_model(self) -> bool:
        return "openai/" in self.code


def examples() -> Iterator[Example]:
    text = DOCUMENT.read_text(encoding="utf-8")
    for match in _EXAMPLE.finditer(text):
        headings = re.findall(r"^#{2,3} (.*)$", text[: match.start()], re.MULTILINE)
        yield Example(headings[-1], match[1], match[2])


_THEIRS = re.compile(r"^from (strands|openhands|cubeloop|pydantic_ai|agents|langgraph)\b", re.MULTILINE)
ALL = [one for one in examples() if not _THEIRS.search(one.code)]
REAL = [one for one in examples() if _THEIRS.search(one.code)]
"""Those with an agent of another package, which `tests/adapters` has."""


def test_every_block_of_code_is_an_example_that_runs() -> None:
    assert (len(ALL), len(REAL)) == (3, 4)
    assert len(ALL) + len(REAL) == DOCUMENT.read_text(encoding="utf-8").count("```python")


# ------------------------------------------------------------------------------- what the models play


def finds(call: ModelCall, status: str, reason: str) -> Reply:
    """The judge's verdict on all that it is asked."""
    return says(verdict(call, status).replace(f"seen: {status}", reason))


def judge(call: ModelCall) -> Reply:
    """Plays the judge of every example, by what it is shown."""
    assert asked(call)
    if "10-year-old" in call.text:
        return finds(call, *(("unmet", "a child does not know 'dispersion'") if "Dispersion" in shown(call) else MET))
    if "seven colours" in call.text:
        return finds(call, *(("met", "all seven are named") if "indigo" in shown(call) else ("unmet", "four are left")))
    assert citable(call)
    return finds(call, *MET)


MET = ("met", "it is there")


def shown(call: ModelCall) -> str:
    """The response that the judge is shown, without the conversation that follows as claims."""
    return call.text.split("the response itself", 1)[1].split("# Claims, not evidence", 1)[0]


WORKER = (
    calls("write_file", path="mathx.py", content=MATHX),
    says("mathx.py adds, and everything passes."),
    calls("write_file", path="test_mathx.py", content=TEST),
    says("There is a test for it now."),
)


# -------------------------------------------------------------------------------------- running them


def environment(state: Path, models: str = "") -> dict[str, str]:
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("DONEWHEN_", "OPENAI_", "ANTHROPIC_", "OTEL_")) and "proxy" not in name.casefold()
    }
    places = {name: str(state) for name in ("HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME")}
    path = f"{Path(sys.executable).parent}{os.pathsep}{kept.get('PATH', '')}"
    served = {"OPENAI_BASE_URL": models, "OPENAI_API_KEY": "sk-of-nobody-0123456789abcdef"} if models else {}
    return {**kept, **places, **served, "PATH": path, "PYTHONDONTWRITEBYTECODE": "1"}


def run(example: Example, folder: Path, models: str = "", python: str = sys.executable, **more: str) -> str:
    """What the example prints, run as a script in an empty folder. `more` are variables."""
    script, work = folder / "example.py", folder / "work"
    script.write_text(example.code, encoding="utf-8")
    work.mkdir()
    done = subprocess.run(
        [python, str(script)], cwd=work, env={**environment(folder / "state", models), **more}, capture_output=True,
        text=True, timeout=40 if python == sys.executable else 200, stdin=subprocess.DEVNULL, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


def check_printed(printed: str, wanted: str) -> None:
    """As documented; `...` stands for anything within a line."""
    pattern = re.escape(wanted).replace(r"\.\.\.", r"[^\n]+")
    assert re.fullmatch(pattern, printed), printed


@pytest.mark.slow  # the default suite has the examples of docs/library.md
@pytest.mark.conformance("C2", "C5", "C6", "C15", "C17", "C22")
@pytest.mark.parametrize("example", [one for one in ALL if not one.asks_a_model], ids=lambda one: one.name)
def test_an_example_without_models(example: Example, tmp_path: Path) -> None:
    check_printed(run(example, tmp_path), example.printed)


@pytest.mark.slow
@pytest.mark.conformance("C2", "C16", "C22")
@pytest.mark.parametrize(
    "example",
    [one for one in ALL if one.asks_a_model],
    ids=lambda one: one.name,
)
def test_an_example_with_models(example: Example, tmp_path: Path) -> None:
    with ScriptedModels({"gpt-5.5": WORKER, "gpt-5.5-mini": judge}) as models:
        printed = run(example, tmp_path, models.base_url)
        assert not models.failures
    check_printed(printed, example.printed)
    if "mathx.py" in example.code and "AgentConfig" in example.code:
        assert (tmp_path / "work" / "goal_demo" / "test_mathx.py").read_text() == TEST
