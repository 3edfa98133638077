"""Draws docs/images/agents/*.svg: what a terminal shows when each real agent, with a scripted model, is held to a goal.

`.venv/bin/python -m tests.real_agents.pictures [NAME...]`, after the agents were installed as `.ci/run` does it.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from tests.real_agents.rig import BY_PRESET, Real, Rig, a_lie_first

ROOT = Path(__file__).parents[2]
TARGET = ROOT / "docs" / "images" / "agents"
SHOWN_FROM = "iteration 1/"
sys.path.insert(0, str(ROOT / "docs" / "scripts"))


def picture(real: Real) -> str:
    """One agent's picture: what `donewhen run --worker NAME` prints, from its first iteration on."""
    from record_demo import Cell, draw, screen_lines  # pyright: ignore[reportMissingImports]

    command = f"donewhen run --worker {real.preset}"
    with tempfile.TemporaryDirectory() as folder:
        rig = Rig(Path(folder))
        with real.serve(a_lie_first(real, rig)) as server:
            real.tell(rig, server)
            argv = [sys.executable, "-m", "donewhen", *command.split()[1:]]
            variables = rig.variables() | {"FORCE_COLOR": "1"}
            done = subprocess.run(argv, cwd=rig.root, env=variables, capture_output=True, text=True, check=True)
    printed = done.stdout.splitlines()
    first = next(at for at, line in enumerate(printed) if SHOWN_FROM in line)
    prompt: list[Cell] = [("$", "32"), (" ", ""), *((character, "1") for character in command)]
    lines = [prompt, *(cells for line in printed[first:] for cells in screen_lines(line))]
    return draw([(0.0, cells) for cells in lines], command, still=True)


def main(names: list[str]) -> int:
    TARGET.mkdir(exist_ok=True)
    for name in names or BY_PRESET:
        (TARGET / f"{name}.svg").write_text(picture(BY_PRESET[name]), encoding="utf-8", newline="\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
